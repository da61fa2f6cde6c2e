"""16.9: the shape, dtype and device of a linear layer's result, without its data.

The answer's tensor is inspected in the answer's process; its description can cross to another one.
"""

from collections.abc import Sequence
from random import Random

from tutorlib.checking.graded_run import more_for_points
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case, attempt
from tutorlib.exercises.n16_fusion.judge.fake_tensors import Given, Told, told_of_fake, told_of_symbols
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.problem import Shape
from tutorlib.problems.wrong import Wrong


def faked(name: str, x: Shape, weight: Shape, dtype: str = "float32", device: str = "cpu") -> Case:
    """A case that is right when the answer makes a tensor like the result from tensors without data."""
    known = Given(x, weight, dtype, device)

    def judge(answer: Served) -> Wrong | None:
        tried = known, *more_for_points(known.drawn_anew, 1)
        return next(filter(None, (wrong_fake(answer, given) for given in tried)), None)

    return Case(name, judge)


class FakeFlaw(FailureKind):
    """Errors of a fake."""

    NO_TENSOR = "no tensor"
    SHAPE = "not like the result"
    STRIDES = "strides"
    ASKS = "asks for a size"
    COMPUTES = "computes"


def wrong_fake(answer: Served, given: Given) -> Wrong | None:
    told, wrong = attempt(answer.through(told_of_fake), (given,))
    if wrong is not None:
        return Wrong(wrong.what.partition(" raised ")[2])
    what = f"x {given.x} and weight {given.weight}, {given.dtype} on {given.device}: "
    if "shape" not in told:
        return Wrong(Flaw(f"{what}it returns {told.get('value')}, which is no tensor.", FakeFlaw.NO_TENSOR))
    if told["data"]:
        return Wrong(f"{what}it returns a tensor with data. A fake's inputs have none, and neither has its result.")
    if told["computing"]:
        return computes(told, what)
    shape = (*given.x[:-1], given.weight[0])
    want = shown(shape, given.dtype, given.device)
    if (like := shown(told["shape"], told["dtype"], told["device"])) != want:
        return Wrong(Flaw(f"{what}it returns {like}; the result is {want}.", FakeFlaw.SHAPE))
    if tuple(told["strides"]) != rows_first(shape):
        strides = f"{what}its strides are {tuple(told['strides'])}; the operator's result is contiguous."
        return Wrong(Flaw(strides, FakeFlaw.STRIDES))
    if told["input"]:
        given_back = f"{what}it returns one of its inputs, or a view of it; the result is a new tensor."
        return Wrong(Flaw(given_back, FakeFlaw.SHAPE))
    return None


def computes(told: Told, what: str = "") -> Wrong:
    computing = f"{what}it computes, by {told['computing']}. A fake only describes the result."
    return Wrong(Flaw(computing, FakeFlaw.COMPUTES))


def rows_first(shape: Shape) -> Shape:
    """The strides of a contiguous tensor."""
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return tuple(strides)


def shown(shape: Sequence[int], dtype: str, device: str) -> str:
    return f"{tuple(shape)}, {dtype} on {device}"


def other_sizes(rng: Random) -> tuple[Shape, int]:
    """The shape of x, of another rank than in a notebook's check, and the number of features of the result."""
    out, *x = rng.sample(range(3, 24), rng.choice((3, 5, 6)))
    return tuple(x), out


def symbolic(name: str) -> Case:
    """A case that is right when sizes may be symbols, as torch.compile passes them."""

    def judge(answer: Served) -> Wrong | None:
        x, out = next(iter(more_for_points(other_sizes, 1)), ((5, 7, 11), 13))
        told, wrong = attempt(answer.through(told_of_symbols), (x, (out, x[-1])))
        if wrong is not None:
            return Wrong(wrong.what.partition(" raised ")[2])
        if told["computing"]:
            return computes(told)
        if told["asked"]:
            asks = f"it asks for a size's value ({told['asked']}), so torch.compile recompiles for each size."
            return Wrong(Flaw(asks, FakeFlaw.ASKS))
        if "shape" not in told:
            return Wrong(Flaw(f"it returns {told.get('value')}, which is no tensor.", FakeFlaw.NO_TENSOR))
        symbols, of_weight = told["given"]
        if len(symbols) != len(x) or told["shape"] != [*symbols[:-1], of_weight[0]]:
            return Wrong(f"from x {symbols} and weight {of_weight} it makes {told['shape']}.")
        return None

    return Case(name, judge)

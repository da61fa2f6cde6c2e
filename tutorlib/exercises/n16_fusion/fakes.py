"""16.9: what a linear layer's result is like, told without data.

What the answer makes is looked at where the answer lives, and described: a description can cross to another process.
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple
from functools import partial, update_wrapper
from typing import Any

from tutorlib.checking.exercise import Answer
from tutorlib.checking.library_use import Elsewhere
from tutorlib.checking.randomness import fresh_dice
from tutorlib.checking.values import Case, attempt
from tutorlib.exercises.n16_fusion.judge.fake_tensors import Given, Told, told_of_fake, told_of_symbols
from tutorlib.problems.problem import Shape
from tutorlib.problems.wrong import Wrong


def faked(name: str, x: Shape, weight: Shape, dtype: str = "float32", device: str = "cpu") -> Case:
    """A case that is right when the answer says what the result is like, from tensors that have no data."""
    known = Given(x, weight, dtype, device)

    def judge(answer: Answer) -> Wrong | None:
        if isinstance(answer, Elsewhere):
            tried = (known, known.drawn_anew())
            return next(filter(None, (wrong_fake(partial(ask_for_fake, answer), one) for one in tried)), None)
        return wrong_fake(update_wrapper(partial(told_of_fake, answer), answer), known)

    return Case(name, judge)


def ask_for_fake(answer: Elsewhere, given: Given) -> Told:
    told: Told = answer.ask("fake", *astuple(given))
    return told


def wrong_fake(tell: Any, given: Given) -> Wrong | None:
    """tell: takes what is given, returns what is told of the result."""
    told, wrong = attempt(tell, (given,))
    if wrong is not None:
        return Wrong(wrong.what.partition(" raised ")[2])
    what = f"x {given.x} and weight {given.weight}, {given.dtype} on {given.device}: "
    if "shape" not in told:
        return Wrong(f"{what}it gives {told.get('value')}, and no tensor.")
    if told["data"]:
        return Wrong(f"{what}it gives a tensor with data. Where nothing is computed, nothing is to be stored.")
    shape = (*given.x[:-1], given.weight[0])
    want = shown(shape, given.dtype, given.device)
    if (like := shown(told["shape"], told["dtype"], told["device"])) != want:
        return Wrong(f"{what}it gives {like}; the result is {want}.")
    if tuple(told["strides"]) != rows_first(shape):
        return Wrong(f"{what}it gives strides {tuple(told['strides'])}; the operator's result is contiguous.")
    if told["input"]:
        return Wrong(f"{what}it gives one of its inputs back; the result is a tensor of its own.")
    return None


def rows_first(shape: Shape) -> Shape:
    """The strides of a contiguous tensor."""
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return tuple(strides)


def shown(shape: Sequence[int], dtype: str, device: str) -> str:
    return f"{tuple(shape)}, {dtype} on {device}"


def symbolic(name: str) -> Case:
    """A case that is right when sizes may be unknown: torch.compile asks with symbols for numbers."""

    def judge(answer: Answer) -> Wrong | None:
        tell: Callable[..., Told] = update_wrapper(partial(told_of_symbols, answer), answer)
        x: Shape = (5, 7, 11)
        out = 13
        if isinstance(answer, Elsewhere):
            dice, tell = fresh_dice(), partial(answer.ask, "symbols")
            out, *rows = dice.sample(range(3, 24), dice.choice((3, 5, 6)))  # another rank than every check tries
            x = tuple(rows)
        told, wrong = attempt(tell, (x, (out, x[-1])))
        if wrong is not None:
            return Wrong(wrong.what.partition(" raised ")[2])
        if told["asked"]:
            return Wrong(f"it asks for a size's value ({told['asked']}); torch.compile then compiles for each.")
        if "shape" not in told:
            return Wrong(f"it gives {told.get('value')}, and no tensor.")
        symbols, of_weight = told["given"]
        if len(symbols) != len(x) or told["shape"] != [*symbols[:-1], of_weight[0]]:
            return Wrong(f"of x {symbols} and weight {of_weight} it makes {told['shape']}.")
        return None

    return Case(name, judge)

"""16.14: a Llama MLP as two GEMMs, the first of them gated, whose weights are interleaved once."""

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from tutorlib.checking.graded_run import rng_of_run
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case, attempt
from tutorlib.exercises.n16_fusion.judge.gated_modules import told_of_gated
from tutorlib.exercises.n16_fusion.operators import draw, is_close, it_raised
from tutorlib.exercises.n16_fusion.parts import sources
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.wrong import Wrong

if TYPE_CHECKING:
    from torch import Tensor

PIECE = 8  # as the operator has it


class GatedFlaw(FailureKind):
    """Errors of a module with a gated operator."""

    NO_MODULE = "no module"
    CALLS = "calls of the operator"
    PARAMETERS = "other parameters"
    ROWS = "rows of gate_up"
    DOWN = "another down"
    RESULT = "another result"
    GRADIENTS = "no gradient"
    COPIES = "copies of activations"
    PLAIN = "plain module changed"
    DEVICE = "another device"


def product(factor: float, x: "Tensor", gate_up: "Tensor") -> "Tensor":
    """(…, F): gate · up of what is interleaved by PIECE, with a factor; shapes are those of the gated operator."""
    both = (x @ gate_up.mT).unflatten(-1, (-1, 2, PIECE))
    return factor * both.prod(-2).flatten(-2)


def gated(name: str, dtype: str = "float64", besides: bool = False) -> Case:
    """besides: what the module does besides is judged, too."""

    def judge(answer: Served) -> Wrong | None:
        return wrong_module(answer, rng_of_run(14), dtype, besides)

    return Case(name, judge)


def wrong_module(answer: Served, rng: Random, dtype: str, besides: bool) -> Wrong | None:
    import torch

    hidden, features, factor = rng.randint(3, 20), PIECE * rng.randint(3, 9), rng.uniform(0.5, 2.0)
    shapes = (features, hidden), (features, hidden), (hidden, features), (2, 5, hidden)
    gate, up, down, x = draw(*shapes, seed=rng.getrandbits(32), dtype=dtype)
    called = partial(product, factor)
    told, wrong = attempt(answer.through(told_of_gated), ((gate, up, down), x, called))
    if wrong is not None:
        return it_raised(wrong)
    if "instead" in told:
        return Wrong(Flaw(f"it makes a {told['instead']}, which is not an nn.Module.", GatedFlaw.NO_MODULE))
    parameters, given = told["parameters"], told["given"]
    if len(given) != 1:
        return Wrong(Flaw(f"a forward pass calls gated_linear {len(given)} times; once is enough.", GatedFlaw.CALLS))
    if told["down_calls"] > 1:
        return Wrong(Flaw(f"a forward pass calls down {told['down_calls']} times; once is enough.", GatedFlaw.CALLS))
    if not given[0]:
        what = (
            "the weights that gated_linear gets are no parameter of the module, so no optimizer trains them, and "
            ".to(device) and state_dict() pass them over."
        )
        return Wrong(Flaw(what, GatedFlaw.PARAMETERS))
    stacked, mine = torch.cat((gate, up)), parameters[given[0]]
    wanted = stacked[sources(features, PIECE)]
    if mine.dtype != wanted.dtype or mine.shape != wanted.shape:
        what = f"gate_up is {as_text(mine)} and should be {as_text(wanted)}."
        return Wrong(Flaw(what, GatedFlaw.ROWS))
    if not mine.equal(wanted):
        at = next(n for n in range(len(wanted)) if not mine[n].equal(wanted[n]))
        is_row = next((row_text(n, features) for n, row in enumerate(stacked) if row.equal(mine[at])), "none of theirs")
        what = f"gate_up's row {at} should be {row_text(sources(features, PIECE)[at], features)}; it is {is_row}."
        return Wrong(Flaw(what, GatedFlaw.ROWS))
    if not is_close(told["result"], called(x, wanted) @ down.mT):
        return Wrong(Flaw("its result is not down of what gated_linear returned.", GatedFlaw.RESULT))
    if (held := sum(one.numel() for one in parameters.values())) != 3 * gate.numel():
        what = f"its parameters have {held:,} numbers in all, and the plain module's {3 * gate.numel():,}."
        return Wrong(Flaw(what, GatedFlaw.PARAMETERS))
    if not told["down"]:
        what = "down's weight is another tensor now. It is used as it was: keep the layer, down_proj."
        return Wrong(Flaw(what, GatedFlaw.DOWN))
    if told["kept"]:
        what = "it keeps gate's or up's weights besides gate_up, so that they take memory a second time."
        return Wrong(Flaw(what, GatedFlaw.PARAMETERS))
    if not told["trained"]:
        return Wrong(Flaw("some of its parameters, or x, get no gradient.", GatedFlaw.GRADIENTS))
    return wrong_besides(told) if besides else None


def wrong_besides(told: dict[str, Any]) -> Wrong | None:
    if told["copied"]:
        what = f"forward copies {told['copied']:,} numbers of its activations; pass them on as they are."
        return Wrong(Flaw(what, GatedFlaw.COPIES))
    if not is_close(told["second"], told["result"][0]):
        return Wrong(Flaw("a second call, with x[0] for x, does not return the result for x[0].", GatedFlaw.RESULT))
    if not told["intact"]:
        return Wrong(Flaw("afterwards the plain module no longer computes what it did.", GatedFlaw.PLAIN))
    if not told["follows"]:
        what = "of a plain module on another device, it makes parameters that are not on that device."
        return Wrong(Flaw(what, GatedFlaw.DEVICE))
    return None


def row_text(n: int, features: int) -> str:
    """A row of gate stacked on up."""
    return f"{'up' if n >= features else 'gate'}'s row {n % features}"


def as_text(tensor: "Tensor") -> str:
    return f"{tuple(tensor.shape)} in {str(tensor.dtype).removeprefix('torch.')}"

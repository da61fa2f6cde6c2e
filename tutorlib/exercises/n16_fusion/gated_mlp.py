"""16.14: a Llama MLP as two GEMMs, the first of them gated, whose weights are interleaved once."""

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from tutorlib.checking.scenario import judged_by_record
from tutorlib.exercises.n16_fusion.interleaving import sources
from tutorlib.exercises.n16_fusion.judge.gated_modules import PIECE, GatedFlaw, gated_module, product
from tutorlib.exercises.n16_fusion.judge.gradients import draw, is_close
from tutorlib.failure import Flaw

if TYPE_CHECKING:
    from torch import Tensor


def drawn(rows: tuple[int, ...], dtype: str, rng: Random) -> tuple:
    """Arguments of `gated_module`. rows: the leading modes of x."""
    hidden, features = rng.randint(3, 20), PIECE * rng.randint(3, 9)
    shapes = (features, hidden), (features, hidden), (hidden, features), (*rows, hidden)
    *weights, x = draw(*shapes, seed=rng.getrandbits(32), dtype=dtype)
    return weights, x, rng.uniform(0.5, 2.0)


def wrong_module(record: dict[str, Any], weights: "list[Tensor]", x: "Tensor", factor: float) -> str:
    """What is wrong with a module of these weights, or ""."""
    import torch

    gate, up, down = weights
    parameters, given = record["parameters"], record["given"]
    if len(given) != 1:
        return Flaw(f"a forward pass calls gated_linear {len(given)} times; once is enough.", GatedFlaw.CALLS)
    if not given[0]:
        what = "the weights that gated_linear gets are no parameter of the module, so no optimizer trains them."
        return Flaw(what, GatedFlaw.PARAMETERS)
    mine, wanted = parameters[given[0]], torch.cat((gate, up))[sources(len(gate), PIECE)]
    if (mine.dtype, mine.shape) != (wanted.dtype, wanted.shape):
        what = f"gate_up is {tuple(mine.shape)} in {mine.dtype} and should be {tuple(wanted.shape)} in {wanted.dtype}."
        return Flaw(what, GatedFlaw.ROWS)
    if not mine.equal(wanted):
        at = next(n for n, row in enumerate(wanted) if not mine[n].equal(row))
        half, row = divmod(sources(len(gate), PIECE)[at], len(gate))
        return Flaw(f"gate_up's row {at} should be {'up' if half else 'gate'}'s row {row}.", GatedFlaw.ROWS)
    if not is_close(record["result"], product(factor, x, wanted) @ down.mT):
        return Flaw("its result is not down of what gated_linear returned.", GatedFlaw.RESULT)
    if (held := sum(one.numel() for one in parameters.values())) != 3 * gate.numel():
        what = f"its parameters have {held:,} numbers in all, and the plain module's {3 * gate.numel():,}."
        return Flaw(what, GatedFlaw.PARAMETERS)
    if not record["down"]:
        return Flaw("down's weight is another tensor now. It is used as it was: keep the layer.", GatedFlaw.DOWN)
    return "" if record["trained"] else Flaw("some of its parameters, or x, get no gradient.", GatedFlaw.GRADIENTS)


GATED_MLPS = (
    judged_by_record("an MLP", gated_module, partial(drawn, (2, 5), "float64"), wrong_module),
    judged_by_record("an MLP in bf16, and a matrix", gated_module, partial(drawn, (5,), "bfloat16"), wrong_module),
)

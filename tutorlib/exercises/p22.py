"""Exercises of notebook 22: attention in tiles, forward, and for one query."""

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

from tutorlib.checking.cutile import CutileExercise
from tutorlib.checking.facts import at_most, issued
from tutorlib.checking.library_use import of_course
from tutorlib.checking.randomness import beside
from tutorlib.compiling.spec import DType
from tutorlib.exercises.values import value_exercise
from tutorlib.failure import Fail, Flaw
from tutorlib.kernels.cpp import tiles
from tutorlib.problems.attention import AttentionProblem, attention_problem
from tutorlib.problems.catalogue import UNIT_ROUNDOFF
from tutorlib.problems.differences import count
from tutorlib.problems.problem import Operand, Problem, Shape

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from tutorlib.checking.cutile_evidence import Planned


# Problems whose inputs depend on each other, or would let a constant pass for -inf.

FAR = 2.0**40


class FarBelow(Problem):
    """softmax(q kᵀ · D^-0.5) v, (…, tokens, D) each."""

    def pattern(self, shape: Shape, device: str) -> "tuple[Tensor, ...]":
        """All scores of every other query are -FAR² · D^-0.5, exactly: no mask of -10,000 or -1e9 hides anything."""
        q, k, v = super().pattern(shape, device)
        q[..., 1::2, :], q[..., ::2, 0] = 0, 0
        q[..., 1::2, 0], k[..., 0] = FAR, -FAR
        return q, k, v


class WithHeads(FarBelow, AttentionProblem):
    """The same with a batch, heads and groups."""


# The functions that the kernels of notebook 22 compute. Scores are multiples of log2(e) where a kernel uses exp2.

LOG2_E = math.log2(math.e)
BF16 = UNIT_ROUNDOFF["bf16"]
TINY = 1e-6  # that a flushed exponential may lose


def one_head() -> Problem:
    """o (M, D) = softmax(q kᵀ · D^-0.5) v of one head, in bf16.

    The bound is that of `problems.attention`: P is rounded to bf16 before it multiplies v; errors of either sign add
    up as the root of their squares, of which six standard deviations are allowed; u for rounding o.
    """

    def weights(q: "Tensor", k: "Tensor") -> "Tensor":
        return (q @ k.mT * q.shape[1] ** -0.5).softmax(-1)

    def bound(result: "Tensor", inputs: "tuple[Tensor, ...]", out: DType) -> "Tensor":
        q, k, v = inputs
        return BF16 * (result.abs() + 6 * (weights(q, k).square() @ v.square()).sqrt()) + TINY

    return FarBelow(
        name="one_head",
        dims="QKD",
        inputs=(Operand("q", "QD", "bf16", pattern="identity"), Operand("k", "KD", "bf16"), Operand("v", "KD", "bf16")),
        output=Operand("o", "QD", "bf16"),
        reference=lambda q, k, v: weights(q, k) @ v,
        bound=bound,
    )


def seen(shape: Shape, tm: int, tn: int) -> int:
    """The elements of K that the blocks of a causal head must load: up to each block's last query, in whole tiles."""
    queries, keys, d = shape
    return sum(min(keys, -(-(m + tm) // tn) * tn) for m in range(0, queries, tm)) * d


COURSE_ATTENTION = of_course("attention.tiles", *("tile_forward", "decode_parts", "decode_add", "scores"))
OF_E = issued("fma.rm.f32") <= 0  # rounded down: ct.exp splits its argument with it
SELECTS = "selp.f32|cvt.rn.f32.u32"  # a bool becomes a number, which may mask, too
DIVISIONS = "div|rcp"
EXPONENTIALS = (issued("ex2.approx.f32") <= 0, OF_E)


def tile_of(shape: Shape) -> tuple[int, int]:
    """Queries and keys, different ones, so that a number shows in place of either, or one in place of the other."""
    return (16, 32) if shape[-3] == 64 else (32, 16)


def scale_of(d: int) -> float:
    """Of the scores, as multiples of log2(e)."""
    return d**-0.5 * LOG2_E


# 22.2 key_tiles -------------------------------------------------------------------------------------------------


def key_tiles(m: int, tm: int, tn: int, keys: int) -> tuple[int, int]:
    return min(m * tm + 1, keys) // tn, tiles(min(keys, (m + 1) * tm), tn)


def head_of_keys(rng: Random) -> tuple[int, int, int, int]:
    tm, tn = (rng.choice((16, 32, 64, 128)) for _ in range(2))
    return rng.randint(0, 20), tm, tn, rng.randint(1, 2000)


# m, tm, tn, keys
LONG_HEADS = [
    (1, 1, 2, 64),
    (7, 1, 4, 64),
    (0, 64, 64, 512),
    (3, 64, 64, 512),
    (2, 128, 64, 1024),
    (5, 32, 128, 512),
    (1, 128, 32, 4096),
]
SHORT_HEADS = [(3, 64, 64, 200), (7, 64, 32, 100), (0, 128, 64, 17), (2, 64, 64, 130), (9, 16, 64, 128)]
# 22.3 attention -------------------------------------------------------------------------------------------------


def longest_first(shape: Shape, writers: "np.ndarray") -> str | None:
    """Why the blocks of a head do not begin with the longest rows, or None. writers: (batch, heads, queries, d)."""
    tm, _ = tile_of(shape)
    numbers = writers[:, :, ::tm, 0]
    for batch, heads in enumerate(numbers.tolist()):
        for head, blocks in enumerate(heads):
            for m, (one, later) in enumerate(pairwise(blocks)):
                if one < later:
                    what = (
                        f"batch {batch}, head {head}: block {one} has the queries from {m * tm} on and block {later}, "
                        f"which starts after it, those from {(m + 1) * tm} on, which see more keys."
                    )
                    return Flaw(what, Fail.SLOW)
    return None


def keys_loaded(shape: Shape) -> dict[int, int]:
    batch, heads, _, queries, keys, d = shape
    each = batch * heads * seen((queries, keys, d), *tile_of(shape))
    return {0: batch * heads * queries * d, 1: each, 2: each}


def tile_of_keys(shape: Shape) -> dict[int, int]:
    return dict.fromkeys((1, 2), tile_of(shape)[1] * shape[-1])


def one_on_each(shape: Shape, launched: "Sequence[Planned]", sms: int) -> str | None:
    """Whether the keys are split among as many blocks as there are SMs, and no more; a part has a tile of 64 keys."""
    batch, _, kv_heads, _, keys, _ = shape
    blocks, enough = math.prod(launched[0].grid), max(1, min(sms // (batch * kv_heads), tiles(keys, 64)))
    if blocks == batch * kv_heads * enough:
        return None
    return (
        f"with {batch * kv_heads} heads of K and V in all, and {keys} keys in tiles of 64, a GPU of {sms} SMs (as "
        f"torch.cuda.get_device_properties says) has a place for {count(enough, 'split')} of each, and the launch has "
        f"{count(blocks, 'block')}"
    )


def keys_each(shape: Shape) -> dict[int, int]:
    return dict.fromkeys((1, 2), shape[0] // tile_of(shape)[0] * shape[1] * shape[2])


kernel_exercise = partial(CutileExercise.of, library=COURSE_ATTENTION, all_blocks=True)
EXERCISES = (
    kernel_exercise(
        ("22.1", "attend", 4),
        problem=one_head(),
        shapes=((64, 64, 64), (32, 96, 16), (96, 16, 32)),
        simulated_shapes=((32, 96, 16),),
        rules=(
            *at_most({"mma.sync": 48, "cvt.rn.bf16": 60, "cvt.rn.f16": 0}),
            *EXPONENTIALS,
            issued("ex2") <= 200,
            issued(DIVISIONS) <= 32,
            issued("mma.sync") >= 40,
        ),
        grid=lambda shape: (tiles(shape[0], tile_of(shape)[0]),),
        constants=lambda shape: (scale_of(shape[2]), *tile_of(shape), shape[2]),
        loads=lambda shape: {0: shape[0] * shape[2], **keys_each(shape)},
        tiles=tile_of_keys,
    ),
    value_exercise(
        ("22.2", "key_tiles", 3),
        key_tiles,
        {
            "more keys than queries see": beside(LONG_HEADS, head_of_keys, n=20),
            "the end of K": beside(SHORT_HEADS, head_of_keys, n=20),
        },
    ),
    kernel_exercise(
        ("22.3", "attention", 8),
        problem=WithHeads(**vars(attention_problem(causal=True))),
        shapes=((1, 2, 2, 64, 64, 16), (2, 4, 2, 70, 70, 16), (1, 6, 2, 40, 100, 32), (1, 3, 1, 70, 50, 16)),
        simulated_shapes=((1, 2, 1, 120, 130, 16),),
        rules=(
            *at_most({"mma.sync": 320, SELECTS: 560, "cvt.rn.bf16": 400}),
            *EXPONENTIALS,
            issued("ex2") <= 1000,
            issued(DIVISIONS) <= 200,
            issued("mma.sync") >= 300,
        ),
        grid=lambda shape: (tiles(shape[3], tile_of(shape)[0]), shape[1], shape[0]),
        constants=lambda shape: (scale_of(shape[5]), shape[1] // shape[2], *tile_of(shape), shape[5]),
        loads=keys_loaded,
        order=longest_first,
    ),
    CutileExercise.of(
        ("22.4", "decode", 4),
        problem=WithHeads(**vars(attention_problem())),
        shapes=((1, 4, 2, 1, 200, 16), (1, 3, 1, 1, 500, 32), (2, 6, 3, 1, 70, 16), (1, 2, 1, 1, 256, 16)),
        simulated_shapes=((1, 4, 1, 1, 200, 16),),
        rules=(issued("mma.sync") <= 40,),
        unlike=one_on_each,
        library=COURSE_ATTENTION,
    ),
)

"""Exercises of notebook 19: attention in tiles, forward, for one query, and backward.

Only 19.1 refuses the course's `online_step`: a reader who is stuck there can go on with it.
"""

import math
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

from tutorlib.checking.cutile import CutileExercise
from tutorlib.checking.drawn import beside
from tutorlib.checking.exercise import Remedy
from tutorlib.checking.library_use import InModule
from tutorlib.checking.values import Mistake, ValueExercise, equals
from tutorlib.checking.work_limits import WorkLimits
from tutorlib.exercises.n19_attention_tiles.problems import (
    LOG2_E,
    combined,
    gradient_of_queries,
    many_heads,
    one_head,
    seen,
    soft_average,
)
from tutorlib.failure import Difference, Fail, Hazard
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from torch import Tensor

COURSE_ATTENTION = {
    name: InModule("tutorlib.kernels.attention.tiles", name)
    for name in (
        *("tile_forward", "decode_parts", "decode_add", "backward_keys", "backward_queries"),
        *("scores", "keys_step", "queries_step"),
    )
}
ONLINE_STEP = {name: InModule("tutorlib.kernels.attention.tiles", name) for name in ("online_step", "scaled_step")}
FP32 = Remedy(
    Fail.TOO_MANY(instruction="cvt.rn.bf16"),
    "One operand of each product is rounded for the tensor cores, and the result at the end: scores, total and "
    "accumulator stay fp32.",
)
FP16 = Remedy(
    Fail.TOO_MANY(instruction="cvt.rn.f16"), "K and V are bf16, which holds numbers that fp16 does not: beyond 65,504."
)
TILE_BY_TILE = Remedy(
    Fail.TOO_MANY(instruction="tile"), "Tiles of tn keys in a loop: one tile for all keys fits no longer sequence."
)
ONE_INSTRUCTION = (
    Remedy(
        Fail.TOO_MANY(instruction="ex2.approx.f32"),
        "ex2.approx.f32 preserves subnormal results, at four more instructions: exp2 with flush_to_zero=True.",
    ),
    Remedy(
        Fail.TOO_MANY(instruction="fma.rm.f32"),
        "ct.exp multiplies its argument by log2(e), and splits it. With log2(e) in their scale, the scores are "
        "exponents of two: ct.exp2.",
    ),
)
OF_E = ("fma.rm.f32", 0)  # rounded down: ct.exp splits its argument with it
SELECTS = "selp.f32|cvt.rn.f32.u32"  # a bool becomes a number, which may mask, too
DIVISIONS = "div|rcp"
EXPONENTIALS = (("ex2.approx.f32", 0), OF_E)


def tiles(n: int, tile: int) -> int:
    return -(-n // tile)


def tile_of(shape: Shape) -> tuple[int, int]:
    """Queries and keys, different ones, so that a number shows in place of either, or one in place of the other."""
    return (16, 32) if shape[-3] == 64 else (32, 16)


def scale_of(d: int) -> float:
    """Of the scores, as multiples of log2(e)."""
    return d**-0.5 * LOG2_E


# 19.3 key_tiles -------------------------------------------------------------------------------------------------


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
TILE_MISTAKES = (
    Mistake(
        "A tile of keys that ends beyond K needs a mask too.",
        lambda m, tm, tn, keys: (min((m * tm + 1) // tn, tiles(keys, tn)), key_tiles(m, tm, tn, keys)[1]),
    ),
    Mistake(
        "Which tiles does the block's *first* query see whole? Its last one sees more.",
        lambda m, tm, tn, keys: (min((m + 1) * tm, keys) // tn, key_tiles(m, tm, tn, keys)[1]),
    ),
    Mistake(
        "The first query sees its own key, too: m·tm + 1 keys.",
        lambda m, tm, tn, keys: (min(m * tm, keys) // tn, key_tiles(m, tm, tn, keys)[1]),
    ),
    Mistake(
        "That is the first query's last tile; the block's last query, m·tm + tm - 1, sees more.",
        lambda m, tm, tn, keys: (key_tiles(m, tm, tn, keys)[0], tiles(min(keys, m * tm + 1), tn)),
    ),
    Mistake(
        "There are no keys beyond K's end.",
        lambda m, tm, tn, keys: (key_tiles(m, tm, tn, keys)[0], tiles((m + 1) * tm, tn)),
    ),
    Mistake(
        "All tiles of K: those beyond the block's last query are wholly masked.",
        lambda m, tm, tn, keys: (key_tiles(m, tm, tn, keys)[0], tiles(keys, tn)),
    ),
)

# 19.5 attention -------------------------------------------------------------------------------------------------


def longest_first(shape: Shape, writers: "Tensor") -> str | None:
    """Why the blocks of a head do not begin with the longest rows, or None. writers: (batch, heads, queries, d)."""
    tm, _ = tile_of(shape)
    numbers = writers[:, :, ::tm, 0]
    for batch, heads in enumerate(numbers.tolist()):
        for head, blocks in enumerate(heads):
            for m, (one, later) in enumerate(pairwise(blocks)):
                if one < later:
                    return (
                        f"batch {batch}, head {head}: block {one} has the queries from {m * tm} on and block {later}, "
                        f"which starts after it, those from {(m + 1) * tm} on, which see more keys"
                    )
    return None


def keys_loaded(shape: Shape) -> dict[int, int]:
    batch, heads, _, queries, keys, d = shape
    each = batch * heads * seen((queries, keys, d), *tile_of(shape))
    return {0: batch * heads * queries * d, 1: each, 2: each}


def keys_of_head(shape: Shape) -> dict[int, int]:
    return {0: shape[0] * shape[2], **dict.fromkeys((1, 2), seen(shape, *tile_of(shape)))}


def tiles_of_head(shape: Shape) -> list[tuple[int, int]]:
    """(whole, visited) of each block of a causal head. shape: (…, queries, keys, d)."""
    tm, tn = tile_of(shape)
    return [key_tiles(m, tm, tn, shape[-2]) for m in range(tiles(shape[-3], tm))]


def masked(shape: Shape) -> int:
    return math.prod(shape[:-3][:2]) * sum(visited - whole for whole, visited in tiles_of_head(shape))


def products(shape: Shape) -> int:
    """Of a causal kernel's two GEMMs, in whole tiles."""
    tile = math.prod(tile_of(shape)) * shape[-1]
    return 2 * math.prod(shape[:-3][:2]) * sum(visited for _, visited in tiles_of_head(shape)) * tile


def tile_of_keys(shape: Shape) -> dict[int, int]:
    return dict.fromkeys((1, 2), tile_of(shape)[1] * shape[-1])


def splits_of(shape: Shape) -> int:
    return 1 << (shape[0] - 1).bit_length()


def keys_each(shape: Shape) -> dict[int, int]:
    return dict.fromkeys((1, 2), shape[0] // tile_of(shape)[0] * shape[1] * shape[2])


EXERCISES = (
    CutileExercise(
        id="19.1",
        title="online_step",
        points=4,
        problem=soft_average(),
        library=COURSE_ATTENTION | ONLINE_STEP,
        once=True,
        all_blocks=True,
        shapes=((32, 64), (36, 70), (16, 300)),
        simulated_shapes=((36, 70),),
        grid=lambda shape: (tiles(shape[0], 16),),
        constants=lambda shape: (16, 32),
        loads=lambda shape: {0: math.prod(shape), 1: tiles(shape[0], 16) * shape[1]},
        limits=WorkLimits(at_most=(*EXPONENTIALS, ("ex2", 432), ("max.f32", 1200))),
        hints=(
            "The new maximum is a column: of the old one, and of ct.max(s, 1, keepdims=True).",
            "Everything so far was computed with the old maximum: which power of two corrects it?",
            "factor = ct.exp2(largest - new), p = ct.exp2(s - new).",
            "The total is total * factor + ct.sum(p, 1, keepdims=True).",
        ),
        remedies=(
            Remedy(Difference.WRONG(got="nan"), "Is every exponent at most 0? Subtract the *new* maximum."),
            *ONE_INSTRUCTION,
        ),
    ),
    CutileExercise(
        id="19.2",
        title="attend",
        points=4,
        problem=one_head(),
        library=COURSE_ATTENTION,
        once=True,
        all_blocks=True,
        shapes=((64, 64, 64), (32, 96, 16), (96, 16, 32)),
        simulated_shapes=((32, 96, 16),),
        limits=WorkLimits(
            at_least=(("mma.sync", 40),),
            at_most=(
                *(("mma.sync", 48), ("cvt.rn.bf16", 60), ("cvt.rn.f16", 0), *EXPONENTIALS),
                *(("ex2", 200), (DIVISIONS, 32)),
            ),
        ),
        remedies=(FP32, FP16, TILE_BY_TILE, *ONE_INSTRUCTION),
        grid=lambda shape: (tiles(shape[0], tile_of(shape)[0]),),
        constants=lambda shape: (scale_of(shape[2]), *tile_of(shape), shape[2]),
        loads=lambda shape: {0: shape[0] * shape[2], **keys_each(shape)},
        widest=tile_of_keys,
        products=lambda shape: 2 * math.prod(shape),
        hints=(
            "A step: a tile of K, its scores, online_step, a tile of V.",
            "ct.mma wants three tiles: zeros for the scores, (tm, tn), and the accumulator for the second product.",
            "The accumulator so far has the old maximum: acc * factor, before the new product is added.",
            "p is fp32 and v is bf16; both operands of ct.mma need one dtype: p.astype(v.dtype).",
            "After the loop: acc / total, in o's dtype.",
        ),
    ),
    ValueExercise(
        id="19.3",
        title="key_tiles",
        points=3,
        cases=(
            equals("more keys than queries see", beside(LONG_HEADS, head_of_keys, n=20), key_tiles, TILE_MISTAKES),
            equals("the end of K", beside(SHORT_HEADS, head_of_keys, n=20), key_tiles, TILE_MISTAKES),
        ),
        hints=(
            "The block's queries are m·tm … m·tm + tm - 1. Which keys does the first of them see, which the last?",
            "A tile needs no mask if the first query sees all of it: its last key is at most m·tm, and exists.",
            "The first query sees min(m·tm + 1, keys) keys. How many whole tiles is that?",
            "The last query sees min((m + 1)·tm, keys) keys: the tiles that cover them are ct.cdiv of it.",
        ),
    ),
    CutileExercise(
        id="19.4",
        title="causal",
        points=5,
        problem=one_head(causal=True),
        library=COURSE_ATTENTION,
        once=True,
        all_blocks=True,
        shapes=((64, 64, 64), (70, 70, 16), (40, 100, 32), (100, 50, 16)),
        simulated_shapes=((128, 128, 16), (70, 50, 16)),
        limits=WorkLimits(
            at_least=(("mma.sync", 120),),
            at_most=(
                *(("mma.sync", 192), (SELECTS, 280), ("cvt.rn.bf16", 200), *EXPONENTIALS),
                *(("ex2", 560), (DIVISIONS, 128)),
            ),
        ),
        grid=lambda shape: (tiles(shape[0], tile_of(shape)[0]),),
        constants=lambda shape: (scale_of(shape[2]), *tile_of(shape), shape[2]),
        loads=keys_of_head,
        products=products,
        masked=masked,
        hints=(
            "Two loops over the same steps: the first without masks, the second with them.",
            "row = m * tm + ct.arange(tm, dtype=ct.int32)[:, None], and a column of keys alike, with [None, :].",
            "ct.where((column <= row) & (column < keys), s, -math.inf), before online_step.",
            "Loads of the last tile need padding_mode=ZERO, V's too: 0 times undetermined may be NaN.",
        ),
        remedies=(
            FP32,
            *ONE_INSTRUCTION,
            Remedy(
                Fail.TOO_MANY(instruction="ct.where"),
                "The tiles before the diagonal need no mask: a loop of their own.",
            ),
            Remedy(Difference.WRONG, "Is a masked score below every score that is seen? Only -math.inf always is."),
            Remedy(Fail.TOO_MANY(instruction="ct.load"), "The loops end where the block's last query does: key_tiles."),
        ),
    ),
    CutileExercise(
        id="19.5",
        title="attention",
        points=6,
        problem=many_heads(),
        library=COURSE_ATTENTION,
        once=True,
        all_blocks=True,
        shapes=((1, 2, 2, 64, 64, 16), (2, 4, 2, 70, 70, 16), (1, 6, 2, 40, 100, 32), (1, 3, 1, 70, 50, 16)),
        simulated_shapes=((1, 2, 1, 120, 130, 16),),
        limits=WorkLimits(
            at_least=(("mma.sync", 240),),
            at_most=(
                *(("mma.sync", 384), (SELECTS, 560), ("cvt.rn.bf16", 400), *EXPONENTIALS),
                *(("ex2", 1120), (DIVISIONS, 256)),
            ),
        ),
        remedies=(FP32, *ONE_INSTRUCTION),
        grid=lambda shape: (tiles(shape[3], tile_of(shape)[0]), shape[1], shape[0]),
        constants=lambda shape: (scale_of(shape[5]), shape[1] // shape[2], *tile_of(shape), shape[5]),
        loads=keys_loaded,
        products=products,
        masked=masked,
        placed=longest_first,
        hints=(
            "Your kernel of 19.4 with four indices: batch = ct.bid(2), head = ct.bid(1).",
            "ct.load(k, (batch, head // group, n, 0), (1, 1, tn, d), …), then ct.reshape to (tn, d).",
            "The store has four sizes too: ct.reshape(…, (1, 1, tm, d)).",
            "Blocks start in the order of ct.bid(0). The longest first: m = ct.num_blocks(0) - 1 - ct.bid(0).",
        ),
    ),
    CutileExercise(
        id="19.6",
        title="combine",
        points=4,
        problem=combined(),
        library=COURSE_ATTENTION,
        once=True,
        all_blocks=True,
        shapes=((4, 4, 16), (3, 5, 32), (1, 2, 16), (70, 3, 64)),
        simulated_shapes=((3, 5, 32),),
        limits=WorkLimits(at_most=(OF_E,)),
        grid=lambda shape: (shape[1],),
        constants=lambda shape: (splits_of(shape), shape[2]),
        loads=lambda shape: {0: math.prod(shape), 1: shape[0] * shape[1]},
        widest=lambda shape: {0: splits_of(shape) * shape[2], 1: splits_of(shape)},
        hints=(
            "Block ct.bid(0) has one row: of lse a tile (splits, 1), of parts a tile (splits, 1, d).",
            "A part that does not exist must have weight 0. Which lse has weight 0?",
            "weights = ct.exp2(logs - ct.max(logs)): each part's denominator, relative to the largest.",
            "Σ weight · part / Σ weight; ct.reshape the parts to (splits, d) first, the sum to (1, d).",
        ),
        remedies=(
            Remedy(Hazard.OUTSIDE, "One row in a block: the tile of lse is (0, row) in tiles of (splits, 1)."),
            Remedy(Fail.TOO_MANY(instruction="fma.rm.f32"), "lse is to base 2: ct.exp2, without a factor."),
        ),
    ),
    CutileExercise(
        id="19.7",
        title="grad_q",
        points=4,
        problem=gradient_of_queries(),
        library=COURSE_ATTENTION,
        once=True,
        all_blocks=True,
        shapes=((64, 64, 64), (32, 96, 16), (96, 16, 32)),
        simulated_shapes=((32, 96, 16),),
        limits=WorkLimits(
            at_least=(("mma.sync", 60),),
            at_most=(("mma.sync", 72), ("cvt.rn.bf16", 60), ("cvt.rn.f16", 0), *EXPONENTIALS, ("ex2", 140)),
        ),
        remedies=(FP32, FP16, TILE_BY_TILE, *ONE_INSTRUCTION),
        grid=lambda shape: (tiles(shape[0], tile_of(shape)[0]),),
        constants=lambda shape: (shape[2] ** -0.5, *tile_of(shape), shape[2]),
        loads=lambda shape: {**dict.fromkeys((0, 3), shape[0] * shape[2]), **keys_each(shape)},
        widest=tile_of_keys,
        products=lambda shape: 3 * math.prod(shape),
        hints=(
            "Three products in a step: S = Q Kᵀ, dP = dO Vᵀ, and dS K, which accumulates.",
            "P needs no maximum and no sum: lse has both. p = ct.exp2(s * (scale * LOG2_E) - logs, …).",
            "logs and shared are columns: ct.load(lse, (m,), (tm,))[:, None].",
            "ds = p * (dp - shared), in bf16 for ct.mma; the factor scale once, after the loop.",
        ),
    ),
)

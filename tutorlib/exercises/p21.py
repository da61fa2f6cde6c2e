"""Exercises of notebook 21: the reader diagnoses a broken kernel, fixes it, or both.

`lines` are those that a diagnosis may name: the faulty one, or, where a statement is missing, those around the gap.
A fix's instructions are counted over all warps. A warp idles if it neither loads from global memory nor stores to it:
one that does the others' part in shared memory, or all stores after their loads, loses no point.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import Exercise
from tutorlib.checking.facts import at_most, busy, issued, overlap, reloaded, restored
from tutorlib.exercises.judges.p21 import DiagnosisExercise, false_promise, fix_of
from tutorlib.failure import Fail, Flaw
from tutorlib.kernels.bugs.catalogue import BUGS
from tutorlib.models.l2 import blocks, grouped
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    import numpy as np


BARRIERS = "bar.sync|bar.warp.sync|bar.red|barrier"
FENCES = issued("membar|fence") <= 0  # where a barrier orders all that must be ordered
FP64 = issued("cvt.f64") <= 0  # more digits than anyone asked for, at a fraction of the speed


def diagnose(id: str, name: str, **asked: Any) -> Exercise:
    """asked: lines, cause, small."""
    return DiagnosisExercise(id=id, title=f"diagnose {name}", points=4, bug=BUGS[name], **asked)


def fix(id: str, name: str, **asked: Any) -> Exercise:
    """asked: what else the fixed kernel must have: requires, forbids, rules, order."""
    return fix_of(BUGS[name], id=id, title=f"fix {name}", points=2, patterned=False, **asked)


def out_of_groups(shape: Shape, storers: "np.ndarray") -> str | None:
    """Why `linear`'s blocks lost their order, as a sentence, or None. storers: (M, N), in tiles of 32×32."""
    by_tile = storers[::32, ::32]
    tiles = blocks(by_tile.shape, partial(grouped, group=2))
    got, tile = next(((by_tile[tile], tile) for n, tile in enumerate(tiles) if by_tile[tile] != n), (None, None))
    if tile is None:
        return None
    what = (
        f"the tile {tile} of y was block {tiles.index(tile)}'s and is now block {got}'s. GROUP rows of tiles at a time "
        "is what keeps their part of x in L2: leave the order of the blocks as it was."
    )
    return Flaw(what, Fail.SLOW)


EXERCISES = (
    diagnose(
        "21.1",
        "linear",
        lines=("sums = ct.mma(tile_x, tile_w, sums)", "tile_w = ct.load(w, (column, step), (T, T), padding_mode=ZERO)"),
        cause="majors swapped",
        small=32,
    ),
    fix(
        "21.2",
        "linear",
        requires=("tensor cores",),
        rules=(issued("mma") <= 240, reloaded <= 0.0, restored <= 0),
        order=out_of_groups,
    ),
    diagnose(
        "21.3",
        "matmul_fp32",
        lines=("tile_a = ct.load(", "tile_b = ct.load("),
        cause="inputs rounded",
    ),
    fix(
        "21.4",
        "scale_rows",
        requires=("ld.global.v4", "st.global.v4"),
        forbids=("a product of 32 bits (mul.lo.s32)",),  # row times pitch
        faults=(false_promise(known=4),),
        rules=(busy >= 1.0, *at_most({BARRIERS: 0, "ld.global": 13, "st.global": 13})),
    ),
    diagnose(
        "21.5",
        "rms_norm",
        lines=(
            "squares = warp_sum(squares);",
            "if (t % 32 == 0) partial[t / 32] = squares;",
            "total += partial[warp];",
            "const float scale",
            "out[i] = in[i] * scale;",
            *(14, 28),  # where the loop over rows repeats, with no barrier
        ),
        cause="overwritten too early",
    ),
    fix(
        "21.6",
        "rms_norm",
        rules=(
            busy >= 1.0,
            *at_most({BARRIERS: 108, "ld.global": 336, "st.global": 126, "shfl": 320, "sqrt": 64, "div.rn": 64}),
            FENCES,
        ),
    ),
    diagnose(
        "21.7",
        "stream",
        lines=("cute.arch.mbarrier_wait(full + stage, tile % 2)",),
        cause="wrong phase",
    ),
    fix(
        "21.8",
        "stream",
        requires=("cp.async.bulk.tensor", "mbarrier"),
        rules=(
            *at_most({"bar.sync": 0, BARRIERS: 8, "fence.proxy|membar": 0, "st.global": 240, "ld.shared": 240}),
            overlap >= 0.4,
        ),
    ),
    diagnose(
        "21.9",
        "column_sums",
        lines=(
            "partial[slice][column] = sum;",
            15,
            "last = atomicAdd(",
            18,
            "if (!last) return;",
            "sum += partial[other][column];",
        ),
        cause="blocks not ordered",
    ),
    fix(
        "21.10",
        "column_sums",
        rules=(*at_most({BARRIERS: 66, "membar": 64, "ld.global": 900, "st.global": 63}), FP64),
        requires=("atom",),
        forbids=("atomic additions of floats",),
    ),
    diagnose(
        "21.11",
        "softmax",
        lines=("return of_warp(lane < WARPS ? partial[lane] : 0.0f, op);", "top = of_block(top, Max(), tops);"),
        cause="wrong identity",
    ),
)

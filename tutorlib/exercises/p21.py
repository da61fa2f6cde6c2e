"""Exercises of notebook 21: the reader diagnoses each broken kernel, then fixes it.

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


def pair(number: int, name: str, lines: tuple[str | int, ...], cause: str, **asked: Any) -> tuple[Exercise, Exercise]:
    """A bug's diagnosis, and its fix. number: of the bug on the page, from 1 on.

    asked: what else the fixed kernel must have: requires, forbids, rules, order; and symptom_told.
    """
    bug = BUGS[name]
    return (
        DiagnosisExercise(
            id=f"21.{2 * number - 1}", title=f"diagnose {name}", points=4, bug=bug, lines=lines, cause=cause
        ),
        fix_of(bug, id=f"21.{2 * number}", title=f"fix {name}", points=2, **{"patterned": False} | asked),
    )


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
    *pair(
        1,
        "linear",
        lines=("sums = ct.mma(tile_x, tile_w, sums)", "tile_w = ct.load(w, (column, step), (T, T), padding_mode=ZERO)"),
        cause="majors swapped",
        requires=("tensor cores",),
        rules=(issued("mma") <= 240, reloaded <= 0.0, restored <= 0),
        order=out_of_groups,
    ),
    *pair(
        2,
        "histogram",
        lines=("if (t < BINS) mine[t] = 0;",),
        cause="uninitialized",
        rules=(issued(BARRIERS) <= 56, FENCES, *at_most({"st.shared": 48, "ld.global": 36, "atom|red": 110})),
        requires=("ld.shared",),
    ),
    *pair(
        3,
        "matmul_fp32",
        lines=("tile_a = ct.load(", "tile_b = ct.load("),
        cause="inputs rounded",
        rules=(issued("cp.async") <= 1200, issued("mul.rn.f32") <= 16_000, FP64, issued("st.global") <= 30),
    ),
    *pair(
        4,
        "largest",
        lines=("if t < half:", 26),
        cause="barrier in a branch",
        rules=at_most({BARRIERS: 250, "ld.shared": 300, "ld.global": 160, "st.global": 60}),
        requires=("bar.sync",),
    ),
    *pair(
        5,
        "gemv",
        lines=(
            "int stage = 0;",
            "fetch(step + 1, stage ^ 1)",
            "sum += sX[stage][warp][i] * sW[stage][i];",
            28,
            "for (int lanes = 16;",
            "for (int step = 0; step < steps; step++) {",
        ),
        cause="wrong stage",
        rules=(
            *at_most({BARRIERS: 80, "ld.shared": 360, "cp.async.cg|cp.async.ca": 52, "ld.global": 0, "shfl": 90}),
            FP64,
            overlap >= 0.4,
        ),
        requires=("cp.async", "ld.shared"),
    ),
    *pair(
        6,
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
        rules=(
            busy >= 1.0,
            *at_most({BARRIERS: 108, "ld.global": 336, "st.global": 126, "shfl": 320, "sqrt": 64, "div.rn": 64}),
            FENCES,
        ),
    ),
    *pair(
        7,
        "stream",
        lines=("cute.arch.mbarrier_wait(full + stage, tile % 2)",),
        cause="wrong phase",
        requires=("cp.async.bulk.tensor", "mbarrier"),
        rules=(
            *at_most({"bar.sync": 0, BARRIERS: 8, "fence.proxy|membar": 0, "st.global": 240, "ld.shared": 240}),
            overlap >= 0.4,
        ),
    ),
    *pair(
        8,
        "scale_rows",
        lines=("pitch = cutlass.Int64(x.shape[1])", "layout = cute.make_layout("),
        cause="lost divisibility",
        requires=("ld.global.v4", "st.global.v4"),
        forbids=("a product of 32 bits (mul.lo.s32)",),  # row times pitch
        faults=(false_promise(known=4),),
        rules=(busy >= 1.0, *at_most({BARRIERS: 0, "ld.global": 13, "st.global": 13})),
    ),
    *pair(
        9,
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
        rules=(*at_most({BARRIERS: 66, "membar": 64, "ld.global": 900, "st.global": 63}), FP64),
        requires=("atom",),
        forbids=("atomic additions of floats",),
    ),
    *pair(
        10,
        "softmax",
        lines=("return of_warp(lane < WARPS ? partial[lane] : 0.0f, op);", "top = of_block(top, Max(), tops);"),
        cause="wrong identity",
        rules=(
            busy >= 1.0,
            issued(BARRIERS) <= 36,
            FENCES,
            *at_most({"ld.global": 240, "st.global": 60, "ex2": 100, "shfl": 360}),
            FP64,
        ),
        requires=("shfl.sync", "ld.shared"),
        patterned=True,
        symptom_told=False,
    ),
)

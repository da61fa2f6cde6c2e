"""Exercises of notebook 21: the reader diagnoses a broken kernel, fixes it, or both.

`lines` are those that a diagnosis may name: the faulty one, or, where a statement is missing, those around the gap.
A fix's instructions are counted over all warps. A warp idles if it neither loads from global memory nor stores to it:
one that does the others' part in shared memory, or all stores after their loads, loses no point.
"""

from typing import Any

from tutorlib.checking.exercise import Exercise
from tutorlib.checking.facts import at_most, busy, issued, overlap
from tutorlib.exercises.judges.p21 import DiagnosisExercise, false_promise, fix_of
from tutorlib.kernels.bugs.catalogue import BUGS

BARRIERS = "bar.sync|bar.warp.sync|bar.red|barrier"
FENCES = issued("membar|fence") <= 0  # where a barrier orders all that must be ordered
FP64 = issued("cvt.f64") <= 0  # more digits than anyone asked for, at a fraction of the speed


def diagnose(id: str, name: str, **asked: Any) -> Exercise:
    """asked: lines, cause, small."""
    return DiagnosisExercise(id=id, title=f"diagnose {name}", points=4, bug=BUGS[name], **asked)


def fix(id: str, name: str, **asked: Any) -> Exercise:
    """asked: what else the fixed kernel must have: requires, forbids, rules."""
    return fix_of(BUGS[name], id=id, title=f"fix {name}", points=2, patterned=False, **asked)


EXERCISES = (
    diagnose(
        "21.1",
        "linear",
        lines=("sums = ct.mma(tile_x, tile_w, sums)", "tile_w = ct.load(w, (column, step), (T, T), padding_mode=ZERO)"),
        cause="majors swapped",
        small=6,
    ),
    fix(
        "21.2",
        "scale_rows",
        requires=("ld.global.v4", "st.global.v4"),
        forbids=("a product of 32 bits (mul.lo.s32)",),  # row times pitch
        faults=(false_promise(known=4),),
        rules=(busy >= 1.0, *at_most({BARRIERS: 0, "ld.global": 13, "st.global": 13})),
    ),
    diagnose(
        "21.3",
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
        small=10,
    ),
    fix(
        "21.4",
        "rms_norm",
        rules=(
            busy >= 1.0,
            *at_most({BARRIERS: 108, "ld.global": 336, "st.global": 126, "shfl": 320, "sqrt": 64, "div.rn": 64}),
            FENCES,
        ),
    ),
    diagnose(
        "21.5",
        "stream",
        lines=("cute.arch.mbarrier_wait(full + stage, tile % 2)",),
        cause="wrong phase",
        small=4096,
    ),
    fix(
        "21.6",
        "stream",
        requires=("cp.async.bulk.tensor", "mbarrier"),
        rules=(
            *at_most({"bar.sync": 0, BARRIERS: 8, "fence.proxy|membar": 0, "st.global": 240, "ld.shared": 240}),
            overlap >= 0.4,
        ),
    ),
    fix(
        "21.7",
        "column_sums",
        rules=(*at_most({BARRIERS: 66, "membar": 64, "ld.global": 900, "st.global": 63}), FP64),
        requires=("atom",),
        forbids=("atomic additions of floats",),
    ),
    diagnose(
        "21.8",
        "softmax",
        lines=("return of_warp(lane < WARPS ? partial[lane] : 0.0f, op);", "top = of_block(top, Max(), tops);"),
        cause="wrong identity",
        small=2,
    ),
)

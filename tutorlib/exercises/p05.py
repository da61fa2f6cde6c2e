"""Exercises of notebook 05: the ladder of copy kernels.

Every rung is timed on 1 GiB, against torch's copy of as many bytes. Where a kernel guards its edges, its shapes have
tiles partly outside; where it does not, they are made of whole tiles.
"""

from functools import partial

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import NOTHING_SHARED, Rule, at_most, busy, issued, lean, unrolled
from tutorlib.machine.features import TMA
from tutorlib.problems.catalogue import copy, transpose

BENCH_BF16 = (32768, 16384)
BENCH_FP32 = (16384, 16384)
RAGGED = ((256, 256), (129, 250), (1, 67))
STACKS = ((192, 256), (300, 1048), (7, 72))  # of three tiles, and of fewer
WHOLE_TURNS = ((256, 256), (128, 320), (64, 576))

# What the simulator runs: the same kinds of sizes, with fewer blocks; four at least in one of them.
FEW_RAGGED = ((128, 128), (270, 67))
FEW_STACKS = ((192, 128), (260, 136))
FEW_TURNS = ((128, 128), (64, 192))


# A warp for each 32 elements takes 512 stores, one of each instruction for each of 8 warps.
STORED_ONCE_UNROLLED = (
    busy >= 1.0,
    issued("st.global") <= 760,
    issued("ld.global") <= 760,
    NOTHING_SHARED,
    unrolled("st.global") <= 8,
)
# Predicates keep the warps without an element from busy: 603 stores by rows, 810 along them; 1,536 without.
GUARDED: dict[tuple[int, ...], tuple[Rule, ...]] = {FEW_RAGGED[1]: (issued("st.global") <= 1000,)}

copy_exercise = partial(CuteExercise.of, problem=copy("bf16"), bench_shape=BENCH_BF16)
EXERCISES = (
    copy_exercise(
        ("05.1", "coalesced copy", 3),
        shapes=RAGGED,
        simulated_shapes=FEW_RAGGED,
        tiers=(0.7,),
        rules=(lean("ld.global", "st.global"), *STORED_ONCE_UNROLLED),
        rules_at=GUARDED,
    ),
    copy_exercise(
        ("05.2", "copy by TMA", 5),
        needs=TMA,
        shapes=STACKS,
        simulated_shapes=FEW_STACKS,
        tiers=(0.7, 0.9),
        requires=("cp.async.bulk.tensor",),
        rules=(issued("cp.async.bulk.tensor") <= 6,),
    ),
    copy_exercise(
        ("05.3", "transpose", 5),
        problem=transpose("fp32"),
        shapes=WHOLE_TURNS,
        simulated_shapes=FEW_TURNS,
        bench_shape=BENCH_FP32,
        tiers=(0.7, 0.9),
        requires=("cp.async", "ld.shared"),
        forbids=("ld.global",),
        rules=(
            lean("cp.async", "ld.shared", "st.global"),
            busy >= 1.0,
            *at_most({"cp.async.ca": 760, "st.global": 760, "bar.sync": 48}),
        ),
    ),
)

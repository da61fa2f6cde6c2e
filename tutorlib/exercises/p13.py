"""Exercises of notebook 13: any number of stages, what they cost, and a column-major A."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from random import Random

from tutorlib.checking import facts
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.part import Small, inside
from tutorlib.checking.randomness import beside
from tutorlib.exercises.judges.ampere import COURSE_LOOPS, ampere
from tutorlib.exercises.judges.p13 import tuned
from tutorlib.exercises.values import value_exercise
from tutorlib.models.memory import A100, H100, SM, blocks_per_sm
from tutorlib.problems.catalogue import gemm, gemm_m_major

BENCH = (4096, 4096, 4096)
SHAPES = ((256, 256, 256), (384, 128, 64), (129, 200, 72))
# Eight K tiles in 16 warps, where work is counted; whole tiles; fewer K tiles than stages; two stages.
STAGES: Small = {
    (65, 72, 456): {"tile": (64, 64, 64), "stages": 3},
    (64, 64, 320): {"tile": (64, 64, 32), "stages": 4},
    (64, 64, 64): {"tile": (64, 64, 32), "stages": 5},
    (65, 64, 200): {"tile": (64, 64, 64), "stages": 2},
}
COPIES = "cp.async.ca|cp.async.cg"
READS = "ldmatrix|ld.shared"
PIPELINED = (facts.looped("mma.sync") >= 2, facts.ahead >= 1.7, facts.overlap >= 0.5)

# 13.2 blocks_per_sm ---------------------------------------------------------------------------------------------

UNLIKE_THEM = SM(
    shared=100 * 1024, reserved=2048, registers=32768, register_unit=512, partitions=2, threads=1536, blocks=24
)


def kernels(*, smem: tuple[int, ...], registers: tuple[int, ...], threads: tuple[int, ...]) -> list[tuple]:
    return list(product((A100, H100, UNLIKE_THEM), smem, registers, threads))


def kernel(smem: int, registers: Sequence[int], threads: int = 256) -> Callable[[Random], tuple]:
    """Calls on any GPU, with blocks of at most `smem` bytes of shared memory and `threads` threads."""

    def draw(rng: Random) -> tuple:
        sm = rng.choice((A100, H100, UNLIKE_THEM))
        sm = replace(sm, blocks=rng.randint(8, 32), register_unit=rng.choice((128, 256, 512)))
        return sm, rng.randint(0, smem), rng.choice(registers), 32 * rng.randint(1, threads // 32)

    return draw


# The kernels ----------------------------------------------------------------------------------------------------------

gemm_exercise = partial(CuteExercise.of, problem=gemm("bf16"), bench_shape=BENCH)
EXERCISES = (
    gemm_exercise(
        ("13.1", "multistage", 5),
        part=inside(ampere, "main_loop", small=STAGES, stages=3),
        shapes=SHAPES,
        rules=(facts.issued("bar.sync") <= 144, *PIPELINED, facts.fetched >= 0.7),
        tiers=(0.9,),
        requires=("cp.async", "ldmatrix", "mma.sync", "bar.sync"),
        library=COURSE_LOOPS,
    ),
    value_exercise(
        ("13.2", "blocks_per_sm", 3),
        blocks_per_sm,
        {
            "shared memory": beside(
                kernels(smem=(32768, 65536, 98304, 116736), registers=(32,), threads=(128,)),
                kernel(smem=228 * 1024, registers=(32,)),
            ),
            "registers": beside(
                kernels(smem=(0, 4096), registers=(33, 60, 73, 100, 129, 220, 236, 255), threads=(64, 128, 256)),
                kernel(smem=4096, registers=range(24, 256)),
            ),
            "small blocks": beside(
                kernels(smem=(0,), registers=(16,), threads=(32, 128, 1024)),
                kernel(smem=0, registers=(16, 24, 32), threads=32),
            ),
        },
        library={"occupancy.blocks_per_sm": blocks_per_sm},
    ),
    gemm_exercise(
        ("13.3", "A column-major", 5),
        part=inside(tuned, "a", jit=False),
        requires=("cp.async", "ldmatrix.trans", "mma.sync"),
        shared_rules=(facts.lean("cp.async", "ldmatrix", "ld.shared", "st.shared"),),
        spills=False,
        problem=gemm_m_major("bf16"),
        shapes=((128, 256, 64), (256, 512, 192), (384, 768, 320)),
        simulated_shapes=((128, 256, 64), (256, 512, 192)),
        counted=(256, 512, 192),
        rules=facts.at_most({COPIES: 1_200, READS: 4_000}),
        tiers=(0.8, 0.95),
    ),
)

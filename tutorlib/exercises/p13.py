"""Exercises of notebook 13: any number of stages, what they cost, slow configurations, and a column-major A."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from random import Random
from typing import Any

from tensor_layouts import Layout, mode, size

from tutorlib.checking import facts
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import Small, inside
from tutorlib.checking.randomness import beside
from tutorlib.exercises.judges.ampere import COURSE_LOOPS, ampere
from tutorlib.exercises.judges.p13 import Configured, InGroups, between_mmas, narrow_copies
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


# 13.1, 13.3 to 13.6 ---------------------------------------------------------------------------------------------------


def m_major(threads: int) -> tuple:
    return ((8, 1), (1, 0)), ((8, threads // 8), (1, 8)), ((64, 8), (1, 64))


def wrong_layouts(got: Any, threads: int) -> str | None:
    """What is wrong with a result of `m_major`, or None."""
    try:
        values, lanes, atom = (Layout(*plain(pair)) for pair in got)
        shapes = [tuple(size(mode(layout, n)) for n in range(2)) for layout in (values, lanes, atom)]
    except Exception:
        return "it should give three layouts of two modes, each a pair (shape, stride)"
    if shapes[0] != (8, 1) or [values(m, 0) for m in range(8)] != list(range(8)):
        return "values should number eight neighbors along M, whose 16 bytes are one copy"
    places = {lanes(m, k): (m, k) for m, k in product(*map(range, shapes[1]))}
    if size(lanes) != threads or set(places) != set(range(threads)):
        return "lanes should name each thread of the block once"
    for thread in range(threads):
        (m, k), (first, of) = places[thread], places[thread // 8 * 8]
        if first % 8 or (m, k) != (first + thread % 8, of):
            return f"threads {thread // 8 * 8} and {thread} should copy parts of the same 128 bytes of A"
    offsets = {place: atom(*place) for place in product(range(64), range(8))}
    vectors = all(offsets[m, k] == offsets[m // 8 * 8, k] + m % 8 for m, k in offsets)
    if shapes[2] != (64, 8) or set(offsets.values()) != set(range(512)) or not vectors:
        return "atom should be (64, 8), without gaps, eight neighbors along M next to each other"
    for m in range(0, 64, 8):
        if len({(offsets[m, k] >> 3 ^ offsets[m, k] >> 6) % 8 for k in range(8)}) < 8:
            return f"the eight vectors of one ldmatrix, m = {m} at eight k, should be in different banks once swizzled"
    return None


def plain(nested: Any) -> Any:
    return tuple(map(plain, nested)) if isinstance(nested, list | tuple) else int(nested)


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
        ("13.3", "tuned", 3),
        arch="90",  # an A100's shared memory would refuse what is fastest on an H100
        spills=False,
        part=Configured(),
        shapes=((512, 512, 512), (129, 200, 72)),
        simulated_shapes=((129, 200, 136),),
        tiers=(0.98,),  # page 11's configuration has 0.973 (figures/data/sweeps/h200_gemm_stages.json)
        requires=("cp.async", "ldmatrix", "mma.sync"),
    ),
    gemm_exercise(
        ("13.4", "your kernel", 4),
        part=InGroups(),
        requires=("cp.async", "ldmatrix", "mma.sync", "bar.sync", "st.global.v4"),
        shared_rules=(facts.stored_once,),
        spills=False,
        shapes=((256, 256, 256), (129, 200, 72), (384, 264, 136)),
        simulated_shapes=((256, 512, 192),),  # 2×2 tiles, more K tiles than stages: 13.1 and 13.3 have seen the rest
        rules=(
            # 12,288 where tiles divide C
            facts.issued("mma.sync") <= 18_432,
            facts.reread <= 0.15,
            facts.issued("bar.sync") <= facts.issued("cp.async.commit_group"),
            facts.overlap >= 0.5,
            between_mmas,
        ),
        tiers=(0.8, 0.97),
        library=of_course("ampere.gemm", "in_eights") | COURSE_LOOPS,
    ),
    value_exercise(
        ("13.5", "m_major", 3),
        m_major,
        {"blocks": beside([(128,), (256,)], lambda rng: (64 * rng.randint(1, 16),))},
        holds=wrong_layouts,
    ),
    gemm_exercise(
        ("13.6", "A column-major", 8),
        part=InGroups(),
        faults=(narrow_copies,),
        requires=("cp.async", "ldmatrix.trans", "mma.sync", "bar.sync"),
        shared_rules=(facts.lean("cp.async", "ldmatrix", "ld.shared", "st.shared", "st.global"), facts.stored_once),
        spills=False,
        problem=gemm_m_major("bf16"),
        shapes=((128, 256, 64), (256, 512, 192), (384, 768, 320)),
        simulated_shapes=((128, 256, 64), (256, 512, 448)),  # fewer K tiles than stages; more, and 2×2 tiles
        counted=(256, 512, 448),
        rules=(
            # in tiles of 128×128, the last one of K three times
            # 32×32 for each warp, and C once
            *facts.at_most({"mma.sync": 28_672, COPIES: 4_608, "ld.global": 0, READS: 16_384, "st.global": 1_024}),
            facts.reloaded <= 0.24,
            facts.restored <= 0,
            facts.reread <= 0.15,
            facts.issued("bar.sync") <= facts.issued("cp.async.commit_group"),
            *PIPELINED,
        ),
        tiers=(0.8, 0.95),
        library=COURSE_LOOPS
        | of_course("ampere.gemm", "make_gemm")
        | of_course("ampere.thread_share", "Steps", "GlobalToShared", "Accumulators", "Operand", "make_operands"),
    ),
)

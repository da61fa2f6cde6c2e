"""Exercises of notebook 12: any number of stages, what they cost, and the fastest configuration."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from random import Random

from tutorlib.checking.ampere_loop import AMPERE_TIMED, COURSE_KERNEL, COURSE_LOOPS, AmpereLoop
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.drawn import beside
from tutorlib.checking.exercise import Remedy
from tutorlib.checking.rehearsing.unsafe import LoopFlaw
from tutorlib.checking.values import Mistake, ValueExercise, equals
from tutorlib.checking.work_limits import WorkLimits
from tutorlib.exercises.n12_three_stages.judge.configured import Configured
from tutorlib.exercises.n12_three_stages.judge.whole_kernel import OfTuned, down_the_group
from tutorlib.failure import Fail
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.models.occupancy import A100, H100, SM, blocks_per_sm
from tutorlib.problems.catalogue import gemm

BENCH = (4096, 4096, 4096)
SHAPES = ((256, 256, 256), (384, 128, 64), (129, 200, 72))

# 12.2 blocks_per_sm ---------------------------------------------------------------------------------------------


def four_limits(sm: SM, smem_bytes: int, registers: int, threads: int) -> tuple[int, int, int, int]:
    """Blocks by shared memory, registers, threads, and blocks."""
    warps = sm.registers // sm.partitions // (-(-32 * registers // sm.piece) * sm.piece) * sm.partitions
    by_registers = warps // (threads // 32)
    return sm.shared // (smem_bytes + sm.reserved), by_registers, sm.threads // threads, sm.blocks


def without_limit(*left_out: int) -> Callable[..., int]:
    """blocks_per_sm that forgets some of the four limits."""
    return lambda *args: min(limit for n, limit in enumerate(four_limits(*args)) if n not in left_out)


LIMITS = (
    Mistake(
        "Every block loses `sm.reserved` bytes of shared memory beyond its own.",
        lambda sm, smem_bytes, *rest: min(sm.shared // max(smem_bytes, 1), blocks_per_sm(sm, 0, *rest)),
    ),
    Mistake(
        "`sm.reserved` bytes are lost to every block, not once.",
        lambda sm, smem_bytes, *rest: min((sm.shared - sm.reserved) // max(smem_bytes, 1), blocks_per_sm(sm, 0, *rest)),
    ),
    Mistake(
        "A warp's registers are allocated in units: 32 * registers, rounded up to a multiple of `sm.piece`.",
        lambda sm, smem_bytes, registers, threads: min(
            sm.registers // (registers * threads), without_limit(1)(sm, smem_bytes, registers, threads)
        ),
    ),
    Mistake(
        "A warp has its registers in one partition of the SM: count the warps that fit in `sm.registers // "
        "sm.partitions`, then those of all partitions.",
        lambda sm, smem_bytes, registers, threads: min(
            sm.registers // (threads // 32 * (-(-32 * registers // sm.piece) * sm.piece)),
            without_limit(1)(sm, smem_bytes, registers, threads),
        ),
    ),
    Mistake("Registers limit the number of blocks, too.", without_limit(1)),
    Mistake("Shared memory limits the number of blocks, too.", without_limit(0)),
    Mistake(
        "An SM has no more than `sm.threads` threads and `sm.blocks` blocks, however small they are.",
        without_limit(2, 3),
    ),
    Mistake("An SM has no more than `sm.blocks` blocks, however small they are.", without_limit(3)),
    Mistake("An SM has no more than `sm.threads` threads, however little they need.", without_limit(2)),
    Mistake(
        "That is the largest of the four limits. All of them hold at once: the smallest decides.",
        lambda *args: max(four_limits(*args)),
    ),
)


UNLIKE_THEM = SM(shared=100 * 1024, reserved=2048, registers=32768, piece=512, partitions=2, threads=1536, blocks=24)


def kernels(*, smem: tuple[int, ...], registers: tuple[int, ...], threads: tuple[int, ...]) -> list[tuple]:
    return list(product((A100, H100, UNLIKE_THEM), smem, registers, threads))


def kernel(smem: int, registers: Sequence[int], threads: int = 256) -> Callable[[Random], tuple]:
    """Calls on any GPU with blocks of up to so many bytes of shared memory and up to so many threads."""

    def draw(rng: Random) -> tuple:
        sm = rng.choice((A100, H100, UNLIKE_THEM))
        sm = replace(sm, blocks=rng.randint(8, 32), piece=rng.choice((128, 256, 512)))
        return sm, rng.randint(0, smem), rng.choice(registers), 32 * rng.randint(1, threads // 32)

    return draw


# 12.3 tuned -----------------------------------------------------------------------------------------------------


LOOPING = (
    Remedy(
        (LoopFlaw.UNWAITED, LoopFlaw.EMPTY),
        "Count groups, not tiles. At most stages - 2 may stay in flight at each wait, and that names the right tile "
        "only if one group was committed for each step before, also where nothing was left to load.",
    ),
    Remedy(
        (LoopFlaw.OVERWRITTEN(what="needed"), LoopFlaw.OVERWRITTEN(what="loading")),
        "One buffer is always being read, so stages - 1 tiles are ahead: the prologue issues the loads of tiles 0 to "
        "stages - 2, and step k that of tile k + stages - 1.",
    ),
    Remedy(
        LoopFlaw.OVERWRITTEN(what="being read"),
        "In step k the free buffer is the one that tile k - 1 was read from, (k + stages - 1) % stages; the barrier at "
        "the end of step k - 1 freed it.",
    ),
    Remedy(
        LoopFlaw.IDLE, "wait_group(stages - 2), and not 0, before and in the loop: the newest groups stay in flight."
    ),
    Remedy(LoopFlaw.TWICE, "When does the buffer to read change? Once in a step, before its last fetch."),
)

EXERCISES = (
    CuteExercise(
        id="12.1",
        title="multistage",
        points=5,
        archs=AMPERE_TIMED,
        part=AmpereLoop(config=GemmConfig(stages=3), stages=(2, 3, 4, 5), prefetched=True),
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=((129, 128, 264),),  # edges, and more K tiles than stages; the rehearsal has seen the rest
        limits=WorkLimits(at_most=(("bar.sync", 48),), overlap=0.5),
        bench_shape=BENCH,
        tiers=(0.9,),
        requires=("cp.async", "ldmatrix", "mma.sync", "bar.sync"),
        library=COURSE_LOOPS,
        hints=(
            "Prologue: tiles 0 to stages - 2 (those that exist), a commit after each; then wait, barrier, fetch(0, 0).",
            "In step k, load tile k + stages - 1 into buffer (k + stages - 1) % stages.",
            "Count groups, not tiles: commit in every step, also where there was nothing left to load. Then the tile "
            "that is needed next is always the one before the newest stages - 2 groups.",
        ),
        remedies=LOOPING,
    ),
    ValueExercise(
        id="12.2",
        title="blocks_per_sm",
        points=3,
        cases=(
            equals(
                "shared memory",
                beside(
                    kernels(smem=(32768, 65536, 98304, 116736), registers=(32,), threads=(128,)),
                    kernel(smem=228 * 1024, registers=(32,)),
                ),
                blocks_per_sm,
                LIMITS,
            ),
            equals(
                "registers",
                beside(
                    kernels(smem=(0, 4096), registers=(33, 60, 73, 100, 129, 220, 236, 255), threads=(64, 128, 256)),
                    kernel(smem=4096, registers=range(24, 256)),
                ),
                blocks_per_sm,
                LIMITS,
            ),
            equals(
                "small blocks",
                beside(
                    kernels(smem=(0,), registers=(16,), threads=(32, 128, 1024)),
                    kernel(smem=0, registers=(16, 24, 32), threads=32),
                ),
                blocks_per_sm,
                LIMITS,
            ),
        ),
        hints=(
            "Four limits, and the smallest counts: shared memory, registers, threads, blocks.",
            "A warp has 32 * registers of them, rounded up to a multiple of sm.piece. How many warps fit in one "
            "partition, and in all? A block has threads // 32 warps.",
            "sm.shared // (smem_bytes + sm.reserved) is the first of the four.",
        ),
        library={"occupancy.blocks_per_sm": blocks_per_sm},
    ),
    CuteExercise(
        id="12.3",
        title="tuned",
        points=3,
        archs=("90",),  # an A100's shared memory would refuse what is fastest on an H100
        spills=False,
        part=Configured(),
        problem=gemm("bf16"),
        shapes=((512, 512, 512), (129, 200, 72)),
        simulated_shapes=((129, 200, 136),),
        bench_shape=BENCH,
        tiers=(0.95,),
        requires=("cp.async", "ldmatrix", "mma.sync"),
        hints=(
            "A larger tile does more arithmetic per byte; its accumulators take registers, so it needs more warps.",
            "A shorter step along K (32) makes room for more stages in the same shared memory.",
            "Look at the heat map: 128×256×32 with 2×4 warps.",
        ),
        remedies=(
            Remedy(
                Fail.SPILLS,
                "Accumulators, and the operands of two K blocks, in 255 registers: more warps, or a smaller tile.",
            ),
        ),
    ),
    CuteExercise(
        id="12.4",
        title="your kernel",
        points=6,
        archs=AMPERE_TIMED,
        part=OfTuned(),
        requires=("cp.async", "ldmatrix", "mma.sync", "bar.sync", "st.global.v4"),
        lean=("cp.async", "ldmatrix", "st.global"),
        once=True,
        spills=False,
        problem=gemm("bf16"),
        shapes=((256, 256, 256), (129, 200, 72), (384, 264, 136)),
        # Whole; 2×2 tiles, more K tiles than stages, and of A's edges those along K alone; those of rows alone.
        simulated_shapes=((128, 256, 64), (256, 272, 144), (129, 136, 64)),
        counted=(256, 272, 144),
        limits=WorkLimits(in_step=(("bar.sync", "cp.async.commit_group"),), overlap=0.4),
        order=down_the_group,
        bench_shape=BENCH,
        tiers=(0.8, 0.95),
        library={**COURSE_KERNEL, **COURSE_LOOPS},
        hints=(
            "Each function is one that you have: 09.2, 09.4, 09.5, 09.7, 09.8 and 11.4. Copy them over.",
            "The kernel is 09.9's, with the tile from in_groups and with multistage as its loop.",
            "config.stages goes into smem_layout and into Steps; config.threads into the launch.",
        ),
    ),
)

"""Exercises of notebook 12: any number of stages, what they cost, and the fastest configuration."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from random import Random

from tutorlib.checking.ampere_loop import AMPERE_TIMED, COURSE_KERNEL, COURSE_LOOPS, COURSE_SHARES, AmpereLoop
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.drawn import beside
from tutorlib.checking.exercise import Remedy
from tutorlib.checking.library_use import InModule
from tutorlib.checking.rehearsing.unsafe import LoopFlaw
from tutorlib.checking.values import Mistake, ValueExercise, equals
from tutorlib.checking.work_limits import WorkLimits
from tutorlib.dsl.refusals import RefusalKind
from tutorlib.exercises.n11_grid_swizzle.judge.block_order import OrderFlaw
from tutorlib.exercises.n12_three_stages.judge.configured import Configured
from tutorlib.exercises.n12_three_stages.judge.limits import four_limits
from tutorlib.exercises.n12_three_stages.judge.torch_host import HostFlaw, TorchHost
from tutorlib.exercises.n12_three_stages.judge.whole_kernel import OfTuned, WholeFlaw
from tutorlib.failure import Fail
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.models.occupancy import A100, H100, SM, blocks_per_sm
from tutorlib.problems.catalogue import gemm, gemm_m_major

BENCH = (4096, 4096, 4096)
SHAPES = ((256, 256, 256), (384, 128, 64), (129, 200, 72))
COPIES = "cp.async.ca|cp.async.cg"
READS = "ldmatrix|ld.shared"

# 12.2 blocks_per_sm ---------------------------------------------------------------------------------------------


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
        "A warp's registers are allocated in units: 32 * registers, rounded up to a multiple of `sm.register_unit`.",
        lambda sm, smem_bytes, registers, threads: min(
            sm.registers // (registers * threads), without_limit(1)(sm, smem_bytes, registers, threads)
        ),
    ),
    Mistake(
        "A warp has its registers in one partition of the SM: count the warps that fit in `sm.registers // "
        "sm.partitions`, then those of all partitions.",
        lambda sm, smem_bytes, registers, threads: min(
            sm.registers // (threads // 32 * (-(-32 * registers // sm.register_unit) * sm.register_unit)),
            without_limit(1)(sm, smem_bytes, registers, threads),
        ),
    ),
    Mistake(
        "A warp's registers are rounded up: 32 * registers, to a multiple of `sm.register_unit`.",
        lambda sm, smem_bytes, registers, threads: min(
            sm.registers // sm.partitions // (32 * registers) * sm.partitions // (threads // 32),
            without_limit(1)(sm, smem_bytes, registers, threads),
        ),
    ),
    Mistake(
        "A block's warps may be in any of the partitions: count warps on the SM, then divide by those of a block.",
        lambda sm, smem_bytes, registers, threads: min(
            sm.registers
            // sm.partitions
            // (-(-32 * registers // sm.register_unit) * sm.register_unit)
            // -(-threads // 32 // sm.partitions),
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


# 12.1, 12.3 to 12.6 ---------------------------------------------------------------------------------------------------


TRANSPOSED = (
    Mistake(
        "That is 03.8's answer: rows along K. Here 16 bytes are eight elements along M, at one k.",
        lambda lane: (lane % 16, lane // 16 * 8),
    ),
    Mistake(
        "That is (k, m): m comes first.",
        lambda lane: trans_row(lane)[::-1],
    ),
    Mistake(
        "Matrices 1 and 2 are exchanged: register 1 has the lower eight m, at k = 0 to 7.",
        lambda lane: (lane // 16 * 8, lane % 16),
    ),
)

IN_GROUPS = Remedy(
    OrderFlaw.TRAFFIC, "in_groups is 11.4: groups of 8 rows wherever there are many rows of tiles, on every grid."
)
EMPTY_CELL = (
    Remedy(
        Fail.WASTE(space="shared"),
        "Eight lanes of an ldmatrix read one m at eight k: without Swizzle(3, 3, 3) on an atom of (64, 8):(1, 64) they "
        "meet in one group of banks.",
    ),
    Remedy(
        Fail.WASTE(space="global"),
        "A's eight values and its consecutive threads run along M, B's along K. C: permute the columns as in 09.7.",
    ),
    Remedy(
        (RefusalKind.MAJOR, Fail.LACKS(instruction="ldmatrix.trans")),
        "warp.LdMatrix8x8x16bOp(transpose=True, num_matrices=4) for A, transpose=False for B.",
    ),
    Remedy(Fail.NO_OVERLAP, "wait_group(stages - 2), with stages - 1 tiles issued ahead: 12.1's loop."),
    Remedy(
        (HostFlaw.OTHER_SHAPE, HostFlaw.ANEW),
        "The key of a kept kernel is all that was known when it was compiled: M, N and K.",
    ),
    Remedy(HostFlaw.ALIGNMENT, "from_dlpack(x, assumed_align=16)"),
    Remedy(
        Fail.TOO_MANY(instruction=COPIES),
        "A row of blocks loads all of B once more, a column of blocks all of A: make C's tile 128×128 or larger.",
    ),
    Remedy(Fail.TOO_MANY(instruction="ld.global"), "cp.async copies A and B past the registers, in every stage."),
    Remedy(
        Fail.TOO_MANY(instruction=READS),
        "LdMatrix8x8x16bOp(transpose, num_matrices=4), for A and for B: an instruction for 16×16 elements.",
    ),
    IN_GROUPS,
    Remedy(WholeFlaw.RASTER, "m, n = in_groups(block, tiles in M, tiles in N), with your in_groups of 12.4."),
)


def trans_row(lane: int) -> tuple[int, int]:
    return lane // 8 % 2 * 8, lane // 16 * 8 + lane % 8


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
        LoopFlaw.IDLE(why="waited"),
        "wait_group(stages - 2), and not 0, before and in the loop: the newest groups stay in flight.",
    ),
    Remedy(
        LoopFlaw.IDLE(why="late"),
        "stages - 1 tiles are ahead: the prologue issues the loads of tiles 0 to stages - 2, and step k that of tile "
        "k + stages - 1, before it multiplies.",
    ),
    Remedy(LoopFlaw.FETCHED_AGAIN, "One fetch of each K block, while the block before it is multiplied."),
    Remedy(LoopFlaw.TWICE, "When does the buffer to read change? Once in a step, before its last fetch."),
)

EXERCISES = (
    CuteExercise(
        id="12.1",
        title="multistage",
        points=5,
        archs=AMPERE_TIMED,
        part=AmpereLoop(config=GemmConfig(stages=3), stages=(2, 3, 4, 5), prefetched=True, k_blocks=(4, 2)),
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=((129, 128, 264),),  # edges, and more K tiles than stages; the rehearsal has seen the rest
        limits=WorkLimits(at_most=(("bar.sync", 48),), overlap=0.5, ahead=1.7),
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
            "A warp has 32 * registers of them, rounded up to a multiple of sm.register_unit. How many warps fit in "
            "one partition, and in all? A block has threads // 32 warps.",
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
        tiers=(0.98,),  # page 10's configuration has 0.973 (figures/data/sweeps/h200_gemm_stages.json)
        requires=("cp.async", "ldmatrix", "mma.sync"),
        hints=(
            "A larger share of the tile for each warp is more arithmetic per byte; its accumulators take registers.",
            "A shorter step along K (32) makes room for more stages in the same shared memory.",
            "Look at the heat map: 128×256×32 with 2×4 warps.",
        ),
        remedies=(
            Remedy(
                Fail.SLOW,
                "A larger share of a warp has more FLOP per byte. More stages, or a second block, have more in flight.",
            ),
            Remedy(
                Fail.SPILLS,
                "Accumulators, and the operands of two K blocks, in 255 registers: more warps, or a smaller tile.",
            ),
        ),
    ),
    CuteExercise(
        id="12.4",
        title="your kernel",
        points=4,
        archs=AMPERE_TIMED,
        part=OfTuned(),
        requires=("cp.async", "ldmatrix", "mma.sync", "bar.sync", "st.global.v4"),
        once=True,
        spills=False,
        problem=gemm("bf16"),
        shapes=((256, 256, 256), (129, 200, 72), (384, 264, 136)),
        simulated_shapes=((256, 512, 192),),  # 2×2 tiles, more K tiles than stages: 12.1 and 12.3 have seen the rest
        limits=WorkLimits(
            at_most=(("mma.sync", 18_432),),  # 12,288 where tiles divide C
            in_step=(("bar.sync", "cp.async.commit_group"),),
            overlap=0.4,
            reread=0.15,
        ),
        bench_shape=BENCH,
        tiers=(0.8, 0.95),
        library={"in_eights": InModule("tutorlib.kernels.ampere.block_order", "in_eights"), **COURSE_LOOPS},
        hints=(
            "in_groups is 11.4: groups of 8 rows where there are many rows of tiles.",
            "make_gemm(…) returns a @cute.jit function of a, b and c. Call it in my_gemm.",
            "make_gemm(tuned(), multistage, in_groups)(a, b, c)",
        ),
        remedies=(
            Remedy(WholeFlaw.NOT_TUNED, "The first argument of make_gemm is tuned(), called in my_gemm."),
            IN_GROUPS,
            Remedy(WholeFlaw.RASTER, "The third argument of make_gemm is the order: in_groups."),
        ),
    ),
    ValueExercise(
        id="12.5",
        title="trans_row",
        points=2,
        cases=(
            equals("matrix 0, lanes 0 to 7", [(lane,) for lane in range(8)], trans_row, TRANSPOSED),
            equals("matrix 1, lanes 8 to 15", [(lane,) for lane in range(8, 16)], trans_row, TRANSPOSED),
            equals("matrices 2 and 3, lanes 16 to 31", [(lane,) for lane in range(16, 32)], trans_row, TRANSPOSED),
        ),
        hints=(
            "Which matrix does a lane serve, and which of its rows of 16 bytes? Such a row is one k.",
            "Matrix j begins at m = 8 * (j % 2) and k = 8 * (j // 2), where j is lane // 8.",
            "Within a matrix, lane % 8 is added to k.",
        ),
        remedies=(
            Remedy(
                Fail.CASE(name="matrix 0, lanes 0 to 7"),
                "The eight elements are neighbors along M. The next lane's are at the next k.",
            ),
            Remedy(
                Fail.CASE(name="matrix 1, lanes 8 to 15"),
                "Matrix 1 fills register 1, which holds m = 8 to 15 at k = 0 to 7.",
            ),
        ),
    ),
    CuteExercise(
        id="12.6",
        title="A column-major",
        points=8,
        archs=AMPERE_TIMED,
        part=TorchHost(),
        requires=("cp.async", "ldmatrix.trans", "mma.sync", "bar.sync"),
        lean=("cp.async", "ldmatrix", "ld.shared", "st.shared", "st.global"),
        once=True,
        spills=False,
        problem=gemm_m_major("bf16"),
        shapes=((128, 256, 64), (256, 512, 192), (384, 768, 320)),
        simulated_shapes=((128, 256, 64), (256, 512, 448)),  # fewer K tiles than stages; more, and 2×2 tiles
        counted=(256, 512, 448),
        limits=WorkLimits(
            at_most=(
                ("mma.sync", 28_672),
                (COPIES, 4_608),  # in tiles of 128×128, the last one of K three times
                ("ld.global", 0),
                (READS, 16_384),  # 32×32 for each warp, and C once
                ("st.global", 1_024),
            ),
            looped=(("mma.sync", 2),),
            in_step=(("bar.sync", "cp.async.commit_group"),),
            overlap=0.5,
            ahead=1.7,
            reread=0.15,
            reloaded=0.24,
            restored=False,
        ),
        bench_shape=BENCH,
        tiers=(0.8, 0.95),
        library={**COURSE_KERNEL, **COURSE_LOOPS, **COURSE_SHARES},
        hints=(
            "Begin with 09.9, and change three things for A, as in the table above: tiled copy, atom of sA, ldmatrix.",
            "sA: cute.make_layout((64, 8)) under Swizzle(3, 3, 3). A's copy: threads "
            "cute.make_layout((8, config.threads // 8)), values cute.make_layout((8, 1)).",
            "A: cute.make_tiled_copy_A(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=True, num_matrices=4), "
            "dtype), mma). The rest of the operands is 09.6.",
        ),
        remedies=EMPTY_CELL,
    ),
)

"""Exercises of notebook 17: tensor memory, three roles, the kernel around them, pairs of blocks."""

from collections.abc import Callable
from functools import partial
from random import Random

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import at_most, blocks, issued, no_padding
from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import Small, inside
from tutorlib.checking.randomness import beside
from tutorlib.exercises.judges import p17 as judge
from tutorlib.exercises.values import value_exercise
from tutorlib.kernels.blackwell.config import band
from tutorlib.machine.features import TCGEN05
from tutorlib.models.memory import tmem_columns
from tutorlib.problems.catalogue import gemm


def accumulators(*numbers: int) -> Callable[[Random], tuple]:
    """Calls of `tmem_columns` with any N."""
    return lambda rng: (8 * rng.randint(1, 32), rng.choice(numbers))


def bands(rng: Random) -> tuple:
    """A call of `band` with any tile."""
    return (64 * rng.randint(1, 4), 32 * rng.randint(1, 8), 64), rng.randint(1, 99), rng.randint(1, 160)


SHAPES = ((512, 512, 512), (384, 1024, 192), (129, 200, 72))
SIMULATED = ((129, 264, 136),)  # six tiles of three K tiles, with all edges
NARROW: Small = {SIMULATED[0]: {"tile": (128, 64, 64)} | judge.FEW_SMS}
HALF: Small = {SIMULATED[0]: {"tile": (128, 128, 64)} | judge.FEW_SMS}  # tiles half as wide
LOOPS: Small = {  # where work is counted; five tiles of two K tiles, two stages, three accumulators of one part
    **HALF,
    (129, 264, 72): {"tile": (128, 64, 64), "stages": 2, "accumulators": 3} | judge.FEW_SMS,
}

ALONE_AND_PAIR: Small = {
    SIMULATED[0]: {"tile": (128, 128, 64), "halves": True} | judge.FEW_SMS,
    (129, 264, 72): {"tile": (256, 128, 64), "pair": True, "halves": True} | judge.FEW_SMS,
}
PAIRS: Small = {
    SIMULATED[0]: {"tile": (256, 128, 64), "pair": True} | judge.FEW_SMS,
    (129, 264, 72): {"tile": (256, 64, 64), "pair": True, "stages": 2, "accumulators": 3} | judge.FEW_SMS,
}


ALLOCATOR = {"NVIDIA's TmemAllocator": "TmemAllocator"}
WHOLE = of_course("blackwell.gemm", "make_blackwell_gemm", "blackwell_kernel", "course_parts")
WHOLE_TILES = (256, 384, 128)  # no load of it is padding alone
ONE_TILE = (100, 72, 128)  # fewer tiles than SMs
EPILOGUE = at_most({"cp.async.bulk.wait_group": 64, "tcgen05.wait::ld": 48})
# No barriers but those of the kernel around the loop; a wait for each K tile and for each tile, by each role. A branch
# for lane 0 splits its warp, which then waits for each stage twice.
NO_BARRIERS = issued("bar.sync|barrier") <= 24
WAITS, SPLIT = issued("mbarrier.try_wait") <= 74, issued("mbarrier.try_wait") <= 90
LOOP_INSTRUCTIONS = ("tcgen05", "tcgen05.ld", "tcgen05.commit", "cp.async.bulk.tensor")


blackwell_exercise = partial(
    CuteExercise.of,
    needs=TCGEN05,
    spills=False,
    faults=(judge.other_columns(pair=False),),
    problem=gemm("bf16"),
    shapes=SHAPES,
)
loop_exercise = partial(blackwell_exercise, requires=LOOP_INSTRUCTIONS, shared_rules=(judge.freed_late,))
EXERCISES = (
    value_exercise(
        ("17.1", "tmem_columns", 2),
        tmem_columns,
        {
            "one accumulator": beside([(n, 1) for n in (256, 128, 96, 64, 32)], accumulators(1)),
            "few columns": beside([(n, 1) for n in (8, 16, 24)], accumulators(1)),
            "several": beside([(256, 2), (160, 2), (96, 5), (128, 3), (24, 3), (48, 5)], accumulators(2, 3, 4)),
            "too many": beside([(256, 3), (192, 3), (520, 1)], accumulators(2, 3, 4, 5)),
        },
    ),
    blackwell_exercise(
        ("17.2", "tensor_memory", 3),
        requires=("tcgen05", "tcgen05.alloc", "tcgen05.dealloc"),
        part=inside(judge.blackwell, "allocate", "release", small=NARROW),
        library={**ALLOCATOR, **of_course("blackwell.parts", "allocate", "release")},
        shared_rules=(judge.relinquished_late,),
        # of two blocks
        rules=at_most({"bar.sync|barrier": 36, "tcgen05.relinquish_alloc_permit": 2}),
    ),
    loop_exercise(
        ("17.4", "produce", 2),
        part=inside(judge.blackwell, "produce", small=LOOPS),
        library=of_course("blackwell.parts", "produce_tiles"),
        rules=(NO_BARRIERS, SPLIT),
    ),
    loop_exercise(
        ("17.5", "multiply", 5),
        part=inside(judge.blackwell, "multiply", small=LOOPS),
        library=of_course("blackwell.parts", "multiply_tiles"),
        rules=(NO_BARRIERS, WAITS),
    ),
    loop_exercise(
        ("17.6", "store", 4),
        part=inside(judge.blackwell, "store", small=LOOPS),
        library=of_course("blackwell.parts", "store_tiles"),
        rules=(issued("bar.sync") <= 36, issued("barrier") <= 0, WAITS, *EPILOGUE),
    ),
    blackwell_exercise(
        ("17.3", "issue", 2),
        requires=("tcgen05",),
        part=inside(judge.blackwell, "issue", small=ALONE_AND_PAIR),
        library=of_course("blackwell.parts", "issue"),
        rules=(issued("tcgen05.mma") <= 72,),  # 4 for each of 18 K tiles
    ),
    blackwell_exercise(
        ("17.9", "pair", 6),
        part=inside(judge.blackwell, "produce", "multiply", "store", small=PAIRS, pair=True),
        faults=(judge.other_columns(pair=True),),
        shared_rules=(judge.freed_late,),
        library=of_course("blackwell.parts", "produce_tiles", "multiply_tiles", "store_tiles"),
        requires=("tcgen05 pairs", "tcgen05.ld", "tcgen05.commit", "cp.async.bulk.tensor"),
        rules=(*at_most({"bar.sync": 0, "mbarrier.try_wait": 84, "mbarrier.arrive.shared::cluster": 24}), *EPILOGUE),
    ),
    value_exercise(
        ("17.7", "band", 2),
        band,
        {
            "a block and a pair of 8192³": beside(
                [((128, 256, 64), 64, 148), ((256, 256, 64), 32, 74), ((128, 64, 64), 64, 148)], bands
            ),
            "few tiles along M": beside([((128, 256, 64), rows, 148) for rows in (1, 3, 8, 12, 16)], bands),
            "few at a time": beside([((128, 256, 64), 64, blocks) for blocks in (1, 2, 5, 16, 33)], bands),
        },
        library=of_course("blackwell.config", "band"),
    ),
    blackwell_exercise(
        ("17.8", "make_gemm", 5),
        requires=LOOP_INSTRUCTIONS,
        part=judge.WholeKernel(),
        faults=(judge.other_threads, judge.other_columns(pair=False)),
        shapes=SHAPES[::-1],
        simulated_shapes=(*SIMULATED, WHOLE_TILES, ONE_TILE),
        counted=WHOLE_TILES,
        shared_rules=(no_padding,),
        library=WHOLE,
        rules=(
            # of 2 SMs; loops may ask before they wait
            blocks >= 2,
            blocks <= 2,
            *at_most({"bar.sync|barrier": 36, "tcgen05.mma": 48, "mbarrier.try_wait": 96}),
        ),
        rules_at={ONE_TILE: (blocks <= 1,), SIMULATED[0]: (blocks >= 3, blocks <= 3)},  # of 3
    ),
)

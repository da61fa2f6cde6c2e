"""Exercises of notebook 17: tensor memory, three roles, the kernel around them, pairs of blocks."""

from functools import partial

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import at_most, issued, no_padding
from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import Small, inside
from tutorlib.exercises.judges import p17 as judge
from tutorlib.machine.features import TCGEN05
from tutorlib.problems.catalogue import gemm

SHAPES = ((512, 512, 512), (384, 1024, 192), (129, 200, 72))
SIMULATED = ((129, 264, 136),)  # six tiles of three K tiles, with all edges
NARROW: Small = {SIMULATED[0]: {"tile": (128, 64, 64)} | judge.FEW_SMS}
HALF: Small = {SIMULATED[0]: {"tile": (128, 128, 64)} | judge.FEW_SMS}  # tiles half as wide
LOOPS: Small = {  # where work is counted; five tiles of two K tiles, two stages, three accumulators of one part
    **HALF,
    (129, 264, 72): {"tile": (128, 64, 64), "stages": 2, "accumulators": 3} | judge.FEW_SMS,
}
PAIRS: Small = {
    SIMULATED[0]: {"tile": (256, 128, 64), "pair": True} | judge.FEW_SMS,
    (129, 264, 72): {"tile": (256, 64, 64), "pair": True, "stages": 2, "accumulators": 3} | judge.FEW_SMS,
}

ALLOCATOR = {"NVIDIA's TmemAllocator": "TmemAllocator"}
WHOLE = of_course("blackwell.gemm", "make_blackwell_gemm", "blackwell_kernel", "initialize", "course_parts")
WHOLE_TILES = (256, 384, 128)  # no load of it is padding alone
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
loop_exercise = partial(blackwell_exercise, requires=LOOP_INSTRUCTIONS)
EXERCISES = (
    blackwell_exercise(
        ("17.1", "tensor_memory", 3),
        requires=("tcgen05", "tcgen05.alloc", "tcgen05.dealloc"),
        part=inside(judge.blackwell, "allocate", "release", small=NARROW),
        library={**ALLOCATOR, **of_course("blackwell.parts", "allocate", "release")},
        shared_rules=(judge.relinquished_late,),
        # of two blocks
        rules=at_most({"bar.sync|barrier": 36, "tcgen05.relinquish_alloc_permit": 2}),
    ),
    loop_exercise(
        ("17.2", "produce", 2),
        part=inside(judge.blackwell, "produce", small=LOOPS),
        library=of_course("blackwell.parts", "produce_tiles"),
        rules=(NO_BARRIERS, SPLIT),
    ),
    loop_exercise(
        ("17.3", "multiply", 5),
        part=inside(judge.blackwell, "multiply", small=LOOPS),
        library=of_course("blackwell.parts", "multiply_tiles"),
        rules=(NO_BARRIERS, WAITS),
    ),
    blackwell_exercise(
        ("17.4", "make_gemm", 5),
        requires=LOOP_INSTRUCTIONS,
        part=judge.WholeKernel(),
        shapes=SHAPES[::-1],
        simulated_shapes=(*SIMULATED, WHOLE_TILES, judge.PAIRED),
        counted=WHOLE_TILES,
        shared_rules=(no_padding,),
        library=WHOLE,
        # of 2 SMs; loops may ask before they wait
        rules=at_most({"bar.sync|barrier": 36, "tcgen05.mma": 48, "mbarrier.try_wait": 96}),
    ),
    blackwell_exercise(
        ("17.5", "pair_multiply", 4),
        part=inside(judge.blackwell, "multiply", small=PAIRS, pair=True),
        faults=(judge.other_columns(pair=True),),
        library=of_course("blackwell.parts", "multiply_tiles"),
        requires=("tcgen05 pairs", "tcgen05.ld", "tcgen05.commit", "cp.async.bulk.tensor"),
        rules=at_most({"bar.sync": 0, "mbarrier.try_wait": 84}),
    ),
)

"""Exercises of notebook 15: tensor memory, three roles, the kernel around them, pairs of blocks, block formats."""

from itertools import product

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.drawn import beside
from tutorlib.checking.library_use import InModule
from tutorlib.checking.values import ValueExercise, equals
from tutorlib.checking.work_limits import WorkLimits
from tutorlib.exercises.n15_blackwell_gemm.formats import (
    NV,
    SCALING,
    SUMMING,
    a_row_each,
    mirrored,
    nv_calls,
    renumbered,
    rows_of,
    scaling_blocks,
)
from tutorlib.exercises.n15_blackwell_gemm.judge.kernel_parts import (
    ReadTensorMemory,
    RoleLoops,
    TensorMemory,
    Umma,
    WholeKernel,
)
from tutorlib.exercises.n15_blackwell_gemm.memory import ALLOCATING, PLACES, accumulators, places
from tutorlib.machine.features import TCGEN05
from tutorlib.models.block_formats import quantize_mx, quantize_nv, scaled_dot
from tutorlib.models.tensor_memory import accumulator_place, tmem_columns
from tutorlib.problems.catalogue import gemm

BENCH = (8192, 8192, 8192)
SHAPES = ((512, 512, 512), (384, 1024, 192), (129, 200, 72))
SIMULATED = ((129, 264, 136),)  # six tiles of three K tiles, with all edges
LOOPS_SIMULATED = (  # where work is counted; and five tiles of two K tiles, two stages, three accumulators of one part
    (SIMULATED[0], {"tile": (128, 128, 64)}),
    ((129, 264, 72), {"tile": (128, 64, 64), "stages": 2, "accumulators": 3}),
)
ALONE_AND_PAIR = (
    (SIMULATED[0], {"tile": (128, 128, 64)}),
    ((129, 264, 72), {"tile": (256, 128, 64), "pair": True}),
)
PAIRS_SIMULATED = (
    (SIMULATED[0], {"tile": (256, 128, 64)}),
    ((129, 264, 72), {"tile": (256, 64, 64), "stages": 2, "accumulators": 3}),
)


def course(module: str, *names: str) -> dict[str, InModule]:
    """The course's own functions that do what an exercise asks for."""
    return {f"the course's {name}": InModule(f"tutorlib.kernels.blackwell.{module}", name) for name in names}


DATA_CENTER = ("100", "103")  # Blackwell's GPUs with tensor memory
ALLOCATOR = {"NVIDIA's TmemAllocator": "TmemAllocator"}
WHOLE = course("gemm", "make_blackwell_gemm", "blackwell_kernel", "course_parts")
WHOLE_TILES = (256, 384, 128)  # no load of it is padding alone
ONE_TILE = (100, 72, 128)  # fewer tiles than SMs
EPILOGUE = ("cp.async.bulk.wait_group", 64), ("tcgen05.wait::ld", 48), ("tcgen05.fence::before_thread_sync", 48)
# No barriers but those of the kernel around the loop; a wait for each K tile and for each tile, by each role. A branch
# for lane 0 splits its warp, which then waits for each stage twice.
NO_BARRIERS, WAITS, SPLIT = ("bar.sync|barrier", 24), ("mbarrier.try_wait", 74), ("mbarrier.try_wait", 90)
LOOP_INSTRUCTIONS = ("tcgen05", "tcgen05.ld", "tcgen05.commit", "cp.async.bulk.tensor")

EXERCISES = (
    ValueExercise(
        id="15.1",
        title="tmem_columns",
        points=2,
        cases=(
            equals(
                "one accumulator",
                beside([(n, 1) for n in (256, 128, 96, 64, 32)], accumulators(1)),
                tmem_columns,
                ALLOCATING,
            ),
            equals("few columns", beside([(n, 1) for n in (8, 16, 24)], accumulators(1)), tmem_columns, ALLOCATING),
            equals(
                "several",
                beside([(256, 2), (160, 2), (96, 5), (128, 3), (24, 3), (48, 5), (16, 5)], accumulators(2, 3, 4)),
                tmem_columns,
                ALLOCATING,
            ),
            equals(
                "too many", beside([(256, 3), (192, 3), (520, 1)], accumulators(2, 3, 4, 5)), tmem_columns, ALLOCATING
            ),
        ),
    ),
    ValueExercise(
        id="15.2",
        title="accumulator_place",
        points=2,
        cases=(
            equals(
                "one block's rows",
                beside(list(product((0, 1, 31, 32, 100, 127), (0, 5, 255), (0,), (256,))), places(range(128), (0,))),
                accumulator_place,
                PLACES,
            ),
            equals(
                "the second accumulator",
                beside([(m, n, 1, 128) for m in (0, 33, 127) for n in (0, 77)], places(range(128), (1,))),
                accumulator_place,
                PLACES,
            ),
            equals(
                "one of three",
                beside([(64, 9, accumulator, 96) for accumulator in range(3)], places(range(128), (0, 1, 2))),
                accumulator_place,
                PLACES,
            ),
            equals(
                "the other block's",
                beside(list(product((128, 160, 255), (0, 200), (0, 1), (256,))), places(range(128, 256), (0, 1))),
                accumulator_place,
                PLACES,
            ),
        ),
    ),
    CuteExercise(
        id="15.3",
        title="tensor_memory",
        points=3,
        needs=TCGEN05,
        archs=DATA_CENTER,
        spills=False,
        requires=("tcgen05", "tcgen05.alloc", "tcgen05.dealloc"),
        part=TensorMemory(small=((SIMULATED[0], {"tile": (128, 64, 64)}),)),
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=SIMULATED,
        library={**ALLOCATOR, **course("parts", "allocate", "release", "pair_allocate", "pair_release")},
        limits=WorkLimits(  # of two blocks
            at_most=(("bar.sync|barrier", 36), ("tcgen05.relinquish_alloc_permit", 2)),
            at_least=(("tcgen05.relinquish_alloc_permit", 2),),
        ),
    ),
    CuteExercise(
        id="15.4",
        title="produce",
        points=3,
        needs=TCGEN05,
        archs=DATA_CENTER,
        spills=False,
        requires=LOOP_INSTRUCTIONS,
        part=RoleLoops(loop="produce", small=LOOPS_SIMULATED),
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=tuple(shape for shape, _ in LOOPS_SIMULATED),
        library=course("loops", "produce_tiles"),
        limits=WorkLimits(at_most=(NO_BARRIERS, SPLIT)),
    ),
    CuteExercise(
        id="15.5",
        title="multiply",
        points=5,
        needs=TCGEN05,
        archs=DATA_CENTER,
        spills=False,
        requires=LOOP_INSTRUCTIONS,
        part=RoleLoops(loop="multiply", small=LOOPS_SIMULATED),
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=tuple(shape for shape, _ in LOOPS_SIMULATED),
        library=course("loops", "multiply_tiles"),
        limits=WorkLimits(at_most=(NO_BARRIERS, WAITS)),
    ),
    CuteExercise(
        id="15.6",
        title="store",
        points=4,
        needs=TCGEN05,
        archs=DATA_CENTER,
        spills=False,
        requires=LOOP_INSTRUCTIONS,
        part=RoleLoops(loop="store", small=LOOPS_SIMULATED),
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=tuple(shape for shape, _ in LOOPS_SIMULATED),
        library=course("loops", "store_tiles"),
        limits=WorkLimits(at_most=(("bar.sync", 36), ("barrier", 0), WAITS, *EPILOGUE)),
    ),
    CuteExercise(
        id="15.7",
        title="mma",
        points=3,
        needs=TCGEN05,
        archs=DATA_CENTER,
        spills=False,
        requires=("tcgen05",),
        part=Umma(small=ALONE_AND_PAIR),
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=tuple(shape for shape, _ in ALONE_AND_PAIR),
        library=course("parts", "make_umma", "issue"),
        limits=WorkLimits(at_most=(("tcgen05.mma", 72),)),  # 4 for each of 18 K tiles
    ),
    CuteExercise(
        id="15.8",
        title="pair",
        points=7,
        needs=TCGEN05,
        archs=DATA_CENTER,
        spills=False,
        part=RoleLoops(loop="all", pair=True, small=PAIRS_SIMULATED),
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=tuple(shape for shape, _ in PAIRS_SIMULATED),
        library=course("loops", "produce_tiles", "multiply_tiles", "store_tiles"),
        bench_shape=BENCH,
        tiers=(0.9,),
        requires=("tcgen05 pairs", "tcgen05.ld", "tcgen05.commit", "cp.async.bulk.tensor"),
        limits=WorkLimits(
            at_most=(
                *(("bar.sync", 0), ("mbarrier.try_wait", 80), ("mbarrier.arrive.shared::cluster", 24)),
                *EPILOGUE,
            )
        ),
    ),
    ValueExercise(
        id="15.9",
        title="quantize_mx",
        points=3,
        cases=(
            equals("exact numbers", renumbered(scaling_blocks("exact")), quantize_mx, SCALING),
            equals("random numbers", renumbered(scaling_blocks("random")), quantize_mx, SCALING),
            equals("ties, small and large ones", renumbered(scaling_blocks("edges")), quantize_mx, SCALING),
            equals("zeros, and the ends of ue8m0", mirrored(scaling_blocks("ends")), quantize_mx, SCALING),
        ),
    ),
    ValueExercise(
        id="15.10",
        title="quantize_nv",
        points=3,
        cases=(
            equals("every value of e2m1", mirrored(nv_calls("values")), quantize_nv, NV),
            equals("random numbers", mirrored(nv_calls("random")), quantize_nv, NV),
            equals("ties", mirrored(nv_calls("ties")), quantize_nv, NV),
            equals("zeros, and scales at the ends", mirrored(nv_calls("ends")), quantize_nv, NV),
        ),
    ),
    ValueExercise(
        id="15.11",
        title="scaled_dot",
        points=2,
        cases=(
            equals("one block", beside(rows_of(1, 32), lambda rng: a_row_each(rng, 1, 32)), scaled_dot, SUMMING),
            equals(
                "several",
                beside(rows_of(4, 32) + rows_of(8, 16), lambda rng: a_row_each(rng, rng.randint(2, 9), 16)),
                scaled_dot,
                SUMMING,
            ),
        ),
    ),
    CuteExercise(
        id="15.12",
        title="make_t2r",
        points=3,
        needs=TCGEN05,
        archs=DATA_CENTER,
        spills=False,
        requires=("tcgen05.ld",),
        part=ReadTensorMemory(),
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=SIMULATED,
        library=course("parts", "make_t2r"),
        limits=WorkLimits(at_most=(("tcgen05.ld", 48),)),
    ),
    CuteExercise(
        id="15.13",
        title="make_gemm",
        points=5,
        needs=TCGEN05,
        archs=DATA_CENTER,
        spills=False,
        requires=LOOP_INSTRUCTIONS,
        part=WholeKernel(),
        problem=gemm("bf16"),
        shapes=SHAPES[::-1],
        simulated_shapes=(*SIMULATED, WHOLE_TILES, ONE_TILE),
        counted=WHOLE_TILES,
        padded=False,
        library=WHOLE,
        limits=WorkLimits(  # of 2 SMs; loops may ask before they wait
            blocks=2, most_blocks=2, at_most=(("bar.sync|barrier", 36), ("tcgen05.mma", 48), ("mbarrier.try_wait", 96))
        ),
        limits_at={ONE_TILE: WorkLimits(most_blocks=1), SIMULATED[0]: WorkLimits(blocks=3, most_blocks=3)},  # of 3
    ),
    CuteExercise(
        id="15.14",
        title="make_pair_gemm",
        points=4,
        needs=TCGEN05,
        archs=DATA_CENTER,
        spills=False,
        requires=("tcgen05 pairs", *LOOP_INSTRUCTIONS[1:]),
        part=WholeKernel(pair=True),
        problem=gemm("bf16"),
        shapes=SHAPES[::-1],
        simulated_shapes=(*SIMULATED, WHOLE_TILES, ONE_TILE),
        counted=WHOLE_TILES,
        padded=False,
        library={**ALLOCATOR, **WHOLE, **course("parts", "pair_allocate", "pair_release")},
        limits=WorkLimits(  # 4 SMs: 24 warps
            blocks=4,
            most_blocks=4,
            at_most=(
                *(("tcgen05.relinquish_alloc_permit", 4), ("bar.sync|barrier.cluster.arrive", 72)),
                *(("tcgen05.mma", 24), ("mbarrier.try_wait", 138)),
            ),
            at_least=(("tcgen05.relinquish_alloc_permit", 4),),
        ),
        limits_at={ONE_TILE: WorkLimits(most_blocks=2), SIMULATED[0]: WorkLimits(blocks=6, most_blocks=6)},  # of 6
    ),
)

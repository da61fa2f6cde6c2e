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
from tutorlib.exercises.n15_blackwell_gemm.remedies import BLACKWELL_REMEDIES
from tutorlib.machine.features import TCGEN05
from tutorlib.models.block_formats import quantize_mx, quantize_nv, scaled_dot
from tutorlib.models.tensor_memory import accumulator_place, tmem_columns
from tutorlib.problems.catalogue import gemm

BENCH = (8192, 8192, 8192)
SHAPES = ((512, 512, 512), (384, 1024, 192), (129, 200, 72))
SIMULATED = ((129, 264, 136),)  # six tiles of three K tiles, with all edges


def course(module: str, *names: str) -> dict[str, InModule]:
    """The course's own functions that do what an exercise asks for."""
    return {f"the course's {name}": InModule(f"tutorlib.kernels.blackwell.{module}", name) for name in names}


DATA_CENTER = ("100", "103")  # Blackwell's GPUs with tensor memory
ALLOCATOR = {"NVIDIA's TmemAllocator": "TmemAllocator"}
WHOLE = course("gemm", "make_blackwell_gemm", "blackwell_kernel", "course_parts")
WHOLE_TILES = (256, 384, 128)  # no load of it is padding alone
ONE_TILE = (100, 72, 128)  # fewer tiles than SMs
EPILOGUE = ("cp.async.bulk.wait_group", 64), ("tcgen05.wait::ld", 48), ("tcgen05.fence::before_thread_sync", 48)
NO_BARRIERS = WorkLimits(at_most=(("bar.sync|barrier", 24),))  # but those of the kernel around the loop
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
        hints=(
            "An fp32 accumulator takes one column in its row's lane, so a 128×n tile takes n columns.",
            "The next power of two is 1 << (needed - 1).bit_length().",
            "First check that they fit into 512 columns; then allocate at least 32.",
        ),
        remedies=BLACKWELL_REMEDIES["15.1"],
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
        hints=(
            "A row's lane is its number within its block. The pair's second block has rows 128 to 255.",
            "Each warp reads 32 consecutive lanes: warp 0 lanes 0 to 31, and so on.",
        ),
        remedies=BLACKWELL_REMEDIES["15.2"],
    ),
    CuteExercise(
        id="15.3",
        title="tensor_memory",
        points=3,
        needs=TCGEN05,
        archs=DATA_CENTER,
        spills=False,
        requires=("tcgen05", "tcgen05.alloc", "tcgen05.dealloc"),
        part=TensorMemory(),
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=SIMULATED,
        library={**ALLOCATOR, **course("parts", "allocate", "release", "pair_allocate", "pair_release")},
        limits=WorkLimits(  # of two blocks
            at_most=(("bar.sync|barrier", 36), ("tcgen05.relinquish_alloc_permit", 2)),
            at_least=(("tcgen05.relinquish_alloc_permit", 2),),
        ),
        hints=(
            "One whole warp allocates and relinquishes: `if warp == 4:`, without elect_one().",
            "All warps synchronize between the allocation and the pointer, and again between their work and the end.",
            "Outside the branch: cute.arch.sync_threads(), then `return cute.arch.retrieve_tmem_ptr(Float32, 16, "
            "address)`. In `release` the barrier comes first.",
        ),
        remedies=BLACKWELL_REMEDIES["15.3"],
    ),
    CuteExercise(
        id="15.4",
        title="produce",
        points=3,
        needs=TCGEN05,
        archs=DATA_CENTER,
        spills=False,
        requires=LOOP_INSTRUCTIONS,
        part=RoleLoops(loop="produce"),
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=SIMULATED,
        library=course("loops", "produce_tiles"),
        limits=NO_BARRIERS,
        hints=(
            "It is 14.1 with a loop around it: for each tile, for each K tile.",
            "Make the state once, before both loops: the ring does not start over at a new tile.",
            "make_pipeline_state(PipelineUserType.Producer, steps.stages); wait for empty; announce; "
            "steps.load(number, k_tile, state.index); advance.",
        ),
        remedies=BLACKWELL_REMEDIES["15.4"],
    ),
    CuteExercise(
        id="15.5",
        title="multiply",
        points=5,
        needs=TCGEN05,
        archs=DATA_CENTER,
        spills=False,
        requires=LOOP_INSTRUCTIONS,
        part=RoleLoops(loop="multiply"),
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=SIMULATED,
        library=course("loops", "multiply_tiles"),
        limits=NO_BARRIERS,
        hints=(
            "It has two states: a consumer's for stages and a producer's for accumulators.",
            "For each tile, wait until its accumulator is free. For each K tile, wait for full, multiply with "
            "`k_tile == 0` as first, commit to empty, advance. Then commit to ready and advance.",
            "with cute.arch.elect_one(): tcgen05.commit(steps.empty + stage.index)",
        ),
        remedies=BLACKWELL_REMEDIES["15.5"],
    ),
    CuteExercise(
        id="15.6",
        title="store",
        points=4,
        needs=TCGEN05,
        archs=DATA_CENTER,
        spills=False,
        requires=LOOP_INSTRUCTIONS,
        part=RoleLoops(loop="store"),
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=SIMULATED,
        library=course("loops", "store_tiles"),
        limits=WorkLimits(at_most=(("bar.sync", 36), ("barrier", 0), *EPILOGUE)),
        hints=(
            "For each tile, wait for ready. For each part, read, wait for the tcgen05.ld, write. Then advance.",
            "cute.arch.fence_view_async_tmem_load() waits for the tcgen05.ld.",
            "After the last part's wait and before its write: fence_before(), then one lane of each warp arrives at "
            "steps.free.",
        ),
        remedies=BLACKWELL_REMEDIES["15.6"],
    ),
    CuteExercise(
        id="15.7",
        title="mma",
        points=3,
        needs=TCGEN05,
        archs=DATA_CENTER,
        spills=False,
        requires=("tcgen05",),
        part=Umma(),
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=SIMULATED,
        library=course("parts", "make_umma", "issue"),
        limits=WorkLimits(at_most=(("tcgen05.mma", 72),)),  # 4 for each of 18 K tiles
        hints=(
            "The page's `accepted` makes such an op. Its M and N are the tile's, its K is 16.",
            "cute.size(tCrA, mode=[2]) is the number of K blocks; tCrA[None, None, k_block] is one of them.",
            "Only the first K block may overwrite: for the others ACCUMULATE is True. For the first one it is the "
            "opposite of `first`, which may be a run-time value: Boolean(first) == Boolean(False).",
        ),
        remedies=BLACKWELL_REMEDIES["15.7"],
    ),
    CuteExercise(
        id="15.8",
        title="pair",
        points=7,
        needs=TCGEN05,
        archs=DATA_CENTER,
        spills=False,
        part=RoleLoops(loop="all", pair=True),
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=SIMULATED,
        library=course("loops", "produce_tiles", "multiply_tiles", "store_tiles"),
        bench_shape=BENCH,
        tiers=(0.9,),
        requires=("tcgen05 pairs", "tcgen05.ld", "tcgen05.commit", "cp.async.bulk.tensor"),
        limits=WorkLimits(at_most=(("bar.sync", 0), *EPILOGUE)),
        hints=(
            "produce: both blocks load; the leader alone announces the bytes, which are those of both.",
            "multiply: only the leading block issues. Its commits to empty and to ready arrive in both blocks: "
            "tcgen05.commit(barrier, steps.both, tcgen05.CtaGroup.TWO).",
            "store: `free` is in the leader, so arrive there: cute.arch.mbarrier_arrive(steps.free + i, steps.leader).",
        ),
        remedies=BLACKWELL_REMEDIES["15.8"],
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
        hints=(
            "math.frexp(x) returns (m, e) with x = m · 2^e and 0.5 ≤ m < 1, so floor(log2 x) is e - 1.",
            "torch.tensor(x).clamp(-448, 448).to(torch.float8_e4m3fn) rounds to the nearest, ties to even.",
            "If all are zero, the exponent is -127. Clamp it to -127 … 127 in any case.",
        ),
        remedies=BLACKWELL_REMEDIES["15.9"],
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
        hints=(
            "First compute the scale, largest / 6 / tensor_scale, and round it to the nearest e4m3. Divide the "
            "elements by the *rounded* scale.",
            "e2m1 has eight magnitudes: take the nearest, and in a tie the one with the even code.",
            "If the scale rounds to 0, all elements are 0: do not divide by it.",
        ),
        remedies=BLACKWELL_REMEDIES["15.10"],
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
        hints=("For each block, multiply the sum of products by both scales. Then add up the blocks.",),
        remedies=BLACKWELL_REMEDIES["15.11"],
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
        hints=(
            "parts = cute.flat_divide(acc, (128, 64)); parts[None, None, 0, 0, 0] is one part, for make_tmem_copy.",
            "mine = t2r.get_slice(thread). Its source is mine.partition_S of parts[None, None, 0, None, None], which "
            "keeps the last two modes.",
            "tTrC = cute.make_rmem_tensor(mine.partition_D(cute.make_identity_tensor((128, 64))).shape, Float32)",
        ),
        remedies=BLACKWELL_REMEDIES["15.12"],
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
        hints=(
            "Every warp calls parts.allocate and parts.release; between them are three branches on block.warp.",
            "Warp 5: parts.produce(steps), await_empty(steps). Warp 4: parts.multiply(steps). Warps 0 to 3: "
            "parts.store(steps), cute.arch.cp_async_bulk_wait_group(0, read=True).",
            "blocks = min(tiles_m * tiles_n, sms), as the last of sizes and as the grid. A block has 192 threads.",
        ),
        remedies=BLACKWELL_REMEDIES["15.13"],
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
        hints=(
            "All three functions for tensor memory take is_two_cta=True; a cluster barrier replaces sync_threads().",
            "cute.arch.cluster_arrive(), then cute.arch.cluster_wait(), in all warps of both blocks.",
            "clusters = min(tiles_m * tiles_n, sms // 2); grid=(2 * clusters, 1, 1), cluster=(2, 1, 1).",
        ),
        remedies=BLACKWELL_REMEDIES["15.14"],
    ),
)

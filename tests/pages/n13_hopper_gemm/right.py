"""Unusual answers to notebook 13 that are right."""

import cutlass
import numpy as np
from cutlass import BFloat16, Float32, cute
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.cute.nvgpu.warpgroup import SmemLayoutAtomKind

from tests.pages.change import copy_of, derive, swap
from tests.pages.n13_hopper_gemm import right_hopper_loops as loops
from tutorlib.course.answers import load_answers
from tutorlib.kernels.hopper import first
from tutorlib.kernels.hopper.first_share import Accumulators

# 13.1 ring_layout -----------------------------------------------------------------------------------------------

BITS = {64: 3, 32: 2, 16: 1}


def swizzled_by_hand(rows, k, stages):
    """Without make_smem_layout_atom."""
    atom = cute.make_composed_layout(cute.make_swizzle(BITS[k], 4, 3), 0, cute.make_layout((8, k), stride=(k, 1)))
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))


def in_one_piece(rows, k, stages):
    """No atom repeated: rows and stages simply follow each other."""
    plain = cute.make_layout((rows, k, stages), stride=(k, 1, rows * k))
    return cute.make_composed_layout(cute.make_swizzle(BITS[k], 4, 3), 0, plain)


def k_last(rows, k, stages):
    """Repeated over the stages before K, of which there is one; an order and a shape by name, a table of kinds."""
    kinds = {64: SmemLayoutAtomKind.K_SW128, 32: SmemLayoutAtomKind.K_SW64, 16: SmemLayoutAtomKind.K_SW32}
    return cute.tile_to_shape(
        atom=warpgroup.make_smem_layout_atom(kinds[k], BFloat16), trg_shape=(rows, k, stages), order=(0, 2, 1)
    )


def stage_by_stage(rows, k, stages):
    """The rows of a stage first, then its stages: two steps, early returns."""
    if k == 64:
        return tiled(SmemLayoutAtomKind.K_SW128, rows, k, stages)
    if k == 32:
        return tiled(SmemLayoutAtomKind.K_SW64, rows, k, stages)
    return tiled(SmemLayoutAtomKind.K_SW32, rows, k, stages)


def tiled(kind, rows, k, stages):
    one = cute.tile_to_shape(warpgroup.make_smem_layout_atom(kind, BFloat16), (rows, k), (0, 1))
    return cute.append(one, cute.make_layout(stages, stride=rows * k), up_to_rank=3)


# 13.2 tma_bytes -------------------------------------------------------------------------------------------------


def by_the_elements(shape, tile, place):
    """Counts the rows and the columns that are inside, one by one."""
    inside = [sum(at * step + n < size for n in range(step)) for size, step, at in zip(shape, tile, place, strict=True)]
    return 2 * inside[0] * inside[1], 2 * tile[0] * tile[1]


def by_ranges(shape, tile, place):
    """What two ranges have in common."""
    (rows, columns), counted = tile, 2
    for step in tile:
        counted *= step
    down = range(shape[0])[rows * place[0] : rows * (place[0] + 1)]
    across = range(shape[1])[columns * place[1] : columns * (place[1] + 1)]
    return len(down) * len(across) * 2, counted


def clipped_by_numpy(shape, tile, place):
    """NumPy's integers, and its clip; bits over 8."""
    size, step, at = map(np.array, (shape, tile, place))
    return np.clip(size - step * at, 0, step).prod() * 16 // 8, np.prod(step) << 1


# 13.3 boxes -----------------------------------------------------------------------------------------------------


def a_list_of_boxes(tma, s, g):
    """A list; modes counted from the tensors' ranks."""
    both = [cute.group_modes(tensor, 0, cute.rank(tensor) - 1) for tensor in (s, g)]
    return list(cpasync.tma_partition(tma, 0, cute.make_layout((1, 1)), *both))


def by_name(tma, s, g):
    """Two names, taken apart and put together again; the matrix is grouped first."""
    matrix = cute.group_modes(g, 0, 2)
    one_block = cute.make_layout((1,))
    in_shared, in_matrix = cpasync.tma_partition(tma, 0, one_block, cute.group_modes(s, 0, 2), matrix)
    return in_shared, in_matrix


def in_a_helper(tma, s, g):
    """A lambda that groups."""
    box = lambda tensor: cute.group_modes(tensor, begin=0, end=2)  # noqa: E731
    return tuple(part for part in cpasync.tma_partition(tma, 0, cute.make_layout(1), box(s), box(g)))


# 13.4 holder ----------------------------------------------------------------------------------------------------


def as_the_operand_a(m, n):
    """As an A fragment of mma.sync: two pieces side by side are 16 columns."""
    register = n % 2 + 2 * (m % 16 // 8) + 4 * (n % 16 // 8) + 8 * (n // 16)
    return 32 * (m // 16) + 4 * (m % 8) + n % 8 // 2, register


def by_bits(m, n):
    """Shifts and masks."""
    return (m >> 4) << 5 | (m & 7) << 2 | (n & 7) >> 1, (n >> 3) << 2 | (m >> 3 & 1) << 1 | n & 1


def by_a_layout(m, n):
    """The inner product of coordinates and strides, in NumPy."""
    coordinates = np.array([m % 8, m // 8 % 2, m // 16, n % 2, n // 2 % 4, n // 8])
    return coordinates @ np.array([4, 0, 32, 0, 1, 0]), coordinates @ np.array([0, 2, 0, 1, 0, 4])


TABLE: dict[tuple[int, int], tuple[int, int]] = {}


def looked_up(m, n):
    """A table of all, made once the other way round: from threads and registers."""
    if not TABLE:
        for thread in range(128):
            for register in range(128):
                row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (register // 2 % 2)
                TABLE[row, 8 * (register // 4) + 2 * (thread % 4) + register % 2] = thread, register
    return TABLE[m, n]


# 13.5 fragments -------------------------------------------------------------------------------------------------


def sums_by_the_mma(tiled_mma, thread, sA, sB):
    """make_fragment_C, which takes the shape and makes fp32; a list."""
    math = tiled_mma.get_slice(thread)
    tile = cute.size(sA, mode=[0]), cute.size(sB, mode=[0])
    a, b = tiled_mma.make_fragment_A(math.partition_A(sA)), tiled_mma.make_fragment_B(math.partition_B(sB))
    return [a, b, tiled_mma.make_fragment_C(tiled_mma.partition_shape_C(tile))]


def sums_that_begin_with_0(tiled_mma, thread, sA, sB):
    """Fills the accumulators, which the first wgmma forgets; shapes of nested modes by product_each."""
    math = tiled_mma.get_slice(thread)
    (m, *_), (n, *_) = (cute.product_each(s.shape) for s in (sA, sB))
    tCrC = cute.make_rmem_tensor(tiled_mma.partition_shape_C((m, n)), Float32)
    tCrC.fill(0.0)
    return (math.make_fragment_A(math.partition_A(sA)), math.make_fragment_B(math.partition_B(sB)), tCrC)


def as_other_operands(tiled_mma, thread, sA, sB):
    """A helper for each operand; the accumulators before the descriptors."""

    def operand(make, partition, s):
        return make(partition(s))

    math = tiled_mma.get_slice(thread)
    shape = tiled_mma.partition_shape_C(tuple(cute.size(s, mode=[0]) for s in (sA, sB)))
    acc = cute.make_rmem_tensor(layout_or_shape=shape, dtype=cutlass.Float32)
    tCrB = operand(tiled_mma.make_fragment_B, math.partition_B, sB)
    return operand(tiled_mma.make_fragment_A, math.partition_A, sA), tCrB, acc


# 13.6 ring ------------------------------------------------------------------------------------------------------


def step_by_step(step, stages, producer):
    """Walks there, as a PipelineState does."""
    index, phase = 0, int(producer)
    for _ in range(step):
        index += 1
        if index == stages:
            index, phase = 0, phase ^ 1
    return index, phase


def within_two_rounds(step, stages, producer):
    """Two rounds are the period: the place in them has both."""
    place = (step + (stages if producer else 0)) % (2 * stages)
    return (place, 0) if place < stages else (place - stages, 1)


def by_numpy(step, stages, producer):
    """NumPy's divmod, and &."""
    turn, index = np.divmod(np.int32(step), np.int32(stages))
    return index, turn & 1 ^ np.int32(producer)


# 13.8 epilogue --------------------------------------------------------------------------------------------------


@cute.jit
def box_by_box(acc: Accumulators):
    """Each box is sent as soon as it is written."""
    acc.tRrC.store(acc.tCrC.load().to(BFloat16))
    cute.arch.sync_threads()
    for box in cutlass.range_constexpr(4):
        for part in cutlass.range_constexpr(4 * box, 4 * box + 4):
            one = ((None, part), None, None)
            cute.copy(acc.stmatrix, acc.tRrC[one], acc.tRsC[one])
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_warp()
        cute.copy(acc.tma, acc.tSsC[None, box], acc.tSgC[None, box])
        cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def fence_after_the_meeting(acc: Accumulators):
    """The warp meets, and then the thread that sends fences."""
    acc.tRrC.store(acc.tCrC.load().to(BFloat16))
    cute.arch.sync_threads()
    cute.copy(acc.stmatrix, acc.tRrC, acc.tRsC)
    cute.arch.sync_warp()
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.copy(acc.tma, acc.tSsC, acc.tSgC)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def one_lane_sends(acc: Accumulators):
    """elect_one around the copy; meets first and rounds then; a fence of all that is asynchronous."""
    cute.arch.barrier()
    rounded = acc.tCrC.load().to(BFloat16)
    acc.tRrC.store(rounded)
    cute.copy(acc.stmatrix, acc.tRrC, acc.tRsC)
    cute.arch.fence_proxy("async")
    cute.arch.sync_warp()
    with cute.arch.elect_one():
        cute.copy(acc.tma, acc.tSsC, acc.tSgC)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def number_by_number(acc: Accumulators):
    """Each sum is rounded by itself, in a loop; a helper sends box after box, all of them in one group."""
    for n in cutlass.range_constexpr(cute.size(acc.tCrC)):
        acc.tRrC[n] = acc.tCrC[n].to(BFloat16)
    cute.arch.sync_threads()
    cute.copy(acc.stmatrix, acc.tRrC, acc.tRsC)
    cute.arch.fence_proxy("async.shared", space="cluster")
    cute.arch.sync_warp()
    send(acc)
    cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def send(acc: Accumulators):
    for box in cutlass.range_constexpr(cute.size(acc.tSsC, mode=[1])):
        cute.copy(acc.tma, acc.tSsC[None, box], acc.tSgC[None, box])
    cute.arch.cp_async_bulk_commit_group()


# 13.10 multiply -------------------------------------------------------------------------------------------------


@cute.jit
def a_condition_for_each_block(tiled_mma, tCrA, tCrB, tCrC, adds):
    """ACCUMULATE set before every wgmma; the compiler's loop; the fields from another name."""
    accumulate = cute.nvgpu.warpgroup.Field.ACCUMULATE
    cute.nvgpu.warpgroup.fence()
    for k_block in cutlass.range_constexpr(tCrA.shape[2]):
        tiled_mma.set(accumulate, adds if k_block == 0 else True)
        cute.gemm(tiled_mma, tCrC, tCrA[None, None, k_block], tCrB[None, None, k_block], tCrC)
    cute.nvgpu.warpgroup.commit_group()


def first_block_apart(tiled_mma, tCrA, tCrB, tCrC, adds):
    """K block 0 before the loop; the fence after ACCUMULATE is set."""
    step = lambda k: cute.gemm(tiled_mma, tCrC, tCrA[None, None, k], tCrB[None, None, k], tCrC)  # noqa: E731
    tiled_mma.set(warpgroup.Field.ACCUMULATE, adds)
    warpgroup.fence()
    step(0)
    tiled_mma.set(warpgroup.Field.ACCUMULATE, True)
    for k_block in range(1, cute.size(tCrB, mode=[2])):
        step(k_block)
    warpgroup.commit_group()


def last_block_first(tiled_mma, tCrA, tCrB, tCrC, adds):
    """From the last K block to the first; arguments by name."""
    blocks = list(range(cute.size(tCrA, mode=[2])))
    warpgroup.fence()
    for number, k_block in enumerate(reversed(blocks)):
        tiled_mma.set(warpgroup.Field.ACCUMULATE, True if number else adds)
        a, b = (operand[None, None, k_block] for operand in (tCrA, tCrB))
        cute.gemm(atom=tiled_mma, d=tCrC, a=a, b=b, c=tCrC)
    warpgroup.commit_group()


def a_plain_function(tiled_mma, tCrA, tCrB, tCrC, adds):
    """No @cute.jit: Python's loop runs while the kernel is compiled; slices by slice_."""
    warpgroup.fence()
    tiled_mma.set(warpgroup.Field.ACCUMULATE, adds)
    for k in range(cute.size(tCrA, mode=[2])):
        coordinate = (None, None, k)
        cute.gemm(tiled_mma, tCrC, cute.slice_(tCrA, coordinate), cute.slice_(tCrB, coordinate), tCrC)
        tiled_mma.set(warpgroup.Field.ACCUMULATE, True)
    warpgroup.commit_group()


@cute.jit
def all_at_once(tiled_mma, tCrA, tCrB, tCrC, adds):
    """One cute.gemm, which loops over the K blocks and lets all but the first add."""
    warpgroup.fence()
    tiled_mma.set(warpgroup.Field.ACCUMULATE, adds)
    cute.gemm(tiled_mma, tCrC, tCrA, tCrB, tCrC)
    warpgroup.commit_group()


# 13.11 init_barriers --------------------------------------------------------------------------------------------


@cute.jit
def a_thread_for_each_stage(full, empty, stages: cutlass.Constexpr, warps: cutlass.Constexpr, thread):
    """Each stage's thread initializes its two mbarriers, and fences its own."""
    if thread < stages:
        cute.arch.mbarrier_init(full + thread, 1)
        cute.arch.mbarrier_init(empty + thread, warps)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()


@cute.jit
def elected(full, empty, stages: cutlass.Constexpr, warps: cutlass.Constexpr, thread):
    """The elected lane of warp 1; all threads fence; a barrier by its other name."""
    if cute.arch.make_warp_uniform(thread // 32) == 1:
        with cute.arch.elect_one():
            for stage in cutlass.range_constexpr(stages):
                cute.arch.mbarrier_init(empty + stage, cnt=warps)
                cute.arch.mbarrier_init(full + stage, cnt=1)
    cute.arch.mbarrier_init_fence()
    cute.arch.barrier()


@cute.jit
def one_kind_after_the_other(full, empty, stages: cutlass.Constexpr, warps: cutlass.Constexpr, thread):
    """The last thread; a helper for each kind, a loop of the run; a proxy fence, which does what the fence does."""
    if thread == 255:
        initialize(full, stages, 1)
        initialize(empty, stages, warps)
        cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()


@cute.jit
def initialize(barriers, stages: cutlass.Constexpr, arrivals: cutlass.Constexpr):
    for stage in cutlass.range(stages, unroll=1):
        cute.arch.mbarrier_init(barriers + stage, arrivals)


# 13.9 gemm ------------------------------------------------------------------------------------------------------

PAGE = load_answers("13_hopper_gemm")["13.9"]
OWN = copy_of(first)  # as if it were the reader's
three_stages = OWN.make_first_gemm(stages=3)
three_stages.__name__, three_stages.__doc__ = "three_stages", "A function that makes the host function; three stages."

LOADS = "warp == 0, a, b, tiled_mma, tCrA, tCrB, tCrC, multiply)"
TILES = "tiles = cute.ceil_div(c.shape[0], bM), cute.ceil_div(c.shape[1], bN)"
KERNELS = [
    three_stages,
    derive(
        PAGE,
        "a_grid_by_ceil_div",
        "The grid from the shape as a whole, keyword arguments, lists.",
        swap(TILES, "tiles = cute.ceil_div((c.shape[0], c.shape[1]), (bM, bN))"),
        swap(
            "grid=(tiles[0] * tiles[1], 1, 1), block=(THREADS, 1, 1)",
            "block=[THREADS, 1, 1], grid=[cute.size(tiles), 1, 1]",
        ),
    ),
    derive(
        PAGE,
        "another_warp_loads",
        "The last warp has the loads; the number of K tiles from the whole matrix.",
        swap("warp == 0, a, b", "warp == THREADS // 32 - 1, a, b"),
        swap("cute.size(gA, mode=[2])", "cute.ceil_div(mA.shape[1], bK)"),
        within="hopper_kernel",
    ),
    derive(
        PAGE,
        "arguments_by_name",
        "Steps by name; B's boxes before A's.",
        swap(
            "main_loop(Steps(k_tiles, full, empty, " + LOADS + ")",
            "steps = Steps(k_tiles=k_tiles, empty=empty, full=full, loads_too=warp == 0, b=b, a=a, tiled_mma=tiled_mma, "
            "tCrA=tCrA, tCrB=tCrB, tCrC=tCrC, math=multiply)\n    main_loop(steps)",
        ),
        swap(
            "    a = BoxCopy(tma_a, *boxes(tma_a, sA, gA))\n    b = BoxCopy(tma_b, *boxes(tma_b, sB, gB))",
            "    b, a = (BoxCopy(tma, *boxes(tma, s, g)) for tma, s, g in ((tma_b, sB, gB), (tma_a, sA, gA)))",
        ),
        within="hopper_kernel",
    ),
    derive(
        PAGE,
        "any_thread_of_the_group",
        "The thread itself for the first one of its warpgroup.",
        swap("group * 128", "thread // 128 * 128"),
        within="hopper_kernel",
    ),
]

RIGHT = {
    "13.1": [swizzled_by_hand, in_one_piece, k_last, stage_by_stage],
    "13.2": [by_the_elements, by_ranges, clipped_by_numpy],
    "13.3": [a_list_of_boxes, by_name, in_a_helper],
    "13.4": [as_the_operand_a, by_bits, by_a_layout, looked_up],
    "13.5": [sums_by_the_mma, sums_that_begin_with_0, as_other_operands],
    "13.6": [step_by_step, within_two_rounds, by_numpy],
    "13.7": [
        *(loops.counts_by_itself, loops.flips_its_phase, loops.expects_in_parts, loops.a_class_of_its_own),
        *(loops.one_loop_for_all, loops.a_condition_of_the_run, loops.waits_by_polling, loops.one_lane_waits),
    ],
    "13.8": [box_by_box, fence_after_the_meeting, one_lane_sends, number_by_number],
    "13.9": KERNELS,
    "13.10": [a_condition_for_each_block, first_block_apart, last_block_first, a_plain_function, all_at_once],
    "13.11": [a_thread_for_each_stage, elected, one_kind_after_the_other],
    "13.12": [loops.flips_a_bit, loops.loads_at_the_end, loops.frees_by_empty, loops.first_tile_apart],
}

"""Page 13: answers that are whole functions, and what rows of p13.txt are made of."""

import cutlass
import numpy as np
from cutlass import BFloat16, Float32, Int32, cute
from cutlass.cute.arch import elect_one, mbarrier_arrive, mbarrier_wait
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.cute.nvgpu.warpgroup import SmemLayoutAtomKind, wait_group

from tests.pages.change import copy_of
from tests.pages.table import right, wrong
from tutorlib.exercises.n13_hopper_gemm import exercises as n13_hopper_gemm
from tutorlib.kernels.hopper import first, first_parts
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.first_parts import (
    Accumulators,
    boxes,
    init_barriers,
    main_loop,
    multiply,
    one_stage,
    ring_layout,
    store_by_tma,
    wgmma_fragments,
)
from tutorlib.kernels.hopper.layouts import smem_layout
from tutorlib.kernels.hopper.specialized import load_steps, make_specialized, multiply_steps
from tutorlib.kernels.ladder import LADDER

OWN = copy_of(first_parts)  # as if it were the reader's


@wrong("13.7", "library")
@cute.jit
def the_courses_loop(steps):
    """Leans on the course's own."""
    main_loop(steps)


@wrong("13.7", "not jit")
def not_compiled(steps):
    """No @cute.jit."""
    OWN.main_loop(steps)


BITS = {64: 3, 32: 2, 16: 1}


@right("13.1")
def swizzled_by_hand(rows, k, stages):
    """Without make_smem_layout_atom."""
    atom = cute.make_composed_layout(cute.make_swizzle(BITS[k], 4, 3), 0, cute.make_layout((8, k), stride=(k, 1)))
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))


@right("13.1")
def in_one_piece(rows, k, stages):
    """No atom repeated: rows and stages simply follow each other."""
    plain = cute.make_layout((rows, k, stages), stride=(k, 1, rows * k))
    return cute.make_composed_layout(cute.make_swizzle(BITS[k], 4, 3), 0, plain)


@right("13.1")
def k_last(rows, k, stages):
    """Repeated over the stages before K, of which there is one; an order and a shape by name, a table of kinds."""
    kinds = {64: SmemLayoutAtomKind.K_SW128, 32: SmemLayoutAtomKind.K_SW64, 16: SmemLayoutAtomKind.K_SW32}
    return cute.tile_to_shape(
        atom=warpgroup.make_smem_layout_atom(kinds[k], BFloat16), trg_shape=(rows, k, stages), order=(0, 2, 1)
    )


@right("13.2")
def by_the_elements(shape, tile, place):
    """Counts the rows and the columns that are inside, one by one."""
    inside = [sum(at * step + n < size for n in range(step)) for size, step, at in zip(shape, tile, place, strict=True)]
    return 2 * inside[0] * inside[1], 2 * tile[0] * tile[1]


@right("13.2")
def by_ranges(shape, tile, place):
    """What two ranges have in common."""
    (rows, columns), counted = tile, 2
    for step in tile:
        counted *= step
    down = range(shape[0])[rows * place[0] : rows * (place[0] + 1)]
    across = range(shape[1])[columns * place[1] : columns * (place[1] + 1)]
    return len(down) * len(across) * 2, counted


@right("13.2")
def clipped_by_numpy(shape, tile, place):
    """NumPy's integers, and its clip; bits over 8."""
    size, step, at = map(np.array, (shape, tile, place))
    return np.clip(size - step * at, 0, step).prod() * 16 // 8, np.prod(step) << 1


@right("13.3")
def a_list_of_boxes(tma, s, g):
    """A list; modes counted from the tensors' ranks."""
    both = [cute.group_modes(tensor, 0, cute.rank(tensor) - 1) for tensor in (s, g)]
    return list(cpasync.tma_partition(tma, 0, cute.make_layout((1, 1)), *both))


@right("13.3")
def by_name(tma, s, g):
    """Two names, taken apart and put together again; the matrix is grouped first."""
    matrix = cute.group_modes(g, 0, 2)
    one_block = cute.make_layout((1,))
    in_shared, in_matrix = cpasync.tma_partition(tma, 0, one_block, cute.group_modes(s, 0, 2), matrix)
    return in_shared, in_matrix


@right("13.3")
def in_a_helper(tma, s, g):
    """A lambda that groups."""
    box = lambda tensor: cute.group_modes(tensor, begin=0, end=2)  # noqa: E731
    return tuple(part for part in cpasync.tma_partition(tma, 0, cute.make_layout(1), box(s), box(g)))


@right("13.4")
def as_the_operand_a(m, n):
    """As an A fragment of mma.sync: two pieces side by side are 16 columns."""
    register = n % 2 + 2 * (m % 16 // 8) + 4 * (n % 16 // 8) + 8 * (n // 16)
    return 32 * (m // 16) + 4 * (m % 8) + n % 8 // 2, register


@right("13.4")
def by_a_layout(m, n):
    """The inner product of coordinates and strides, in NumPy."""
    coordinates = np.array([m % 8, m // 8 % 2, m // 16, n % 2, n // 2 % 4, n // 8])
    return coordinates @ np.array([4, 0, 32, 0, 1, 0]), coordinates @ np.array([0, 2, 0, 1, 0, 4])


@right("13.5")
def sums_by_the_mma(tiled_mma, thread, sA, sB):
    """make_fragment_C, which takes the shape and makes fp32; a list."""
    math = tiled_mma.get_slice(thread)
    tile = cute.size(sA, mode=[0]), cute.size(sB, mode=[0])
    a, b = tiled_mma.make_fragment_A(math.partition_A(sA)), tiled_mma.make_fragment_B(math.partition_B(sB))
    return [a, b, tiled_mma.make_fragment_C(tiled_mma.partition_shape_C(tile))]


@right("13.5")
def sums_that_begin_with_0(tiled_mma, thread, sA, sB):
    """Fills the accumulators, which the first wgmma forgets; shapes of nested modes by product_each."""
    math = tiled_mma.get_slice(thread)
    (m, *_), (n, *_) = (cute.product_each(s.shape) for s in (sA, sB))
    tCrC = cute.make_rmem_tensor(tiled_mma.partition_shape_C((m, n)), Float32)
    tCrC.fill(0.0)
    return (math.make_fragment_A(math.partition_A(sA)), math.make_fragment_B(math.partition_B(sB)), tCrC)


@right("13.5")
def as_other_operands(tiled_mma, thread, sA, sB):
    """A helper for each operand; the accumulators before the descriptors."""

    def operand(make, partition, s):
        return make(partition(s))

    math = tiled_mma.get_slice(thread)
    shape = tiled_mma.partition_shape_C(tuple(cute.size(s, mode=[0]) for s in (sA, sB)))
    acc = cute.make_rmem_tensor(layout_or_shape=shape, dtype=cutlass.Float32)
    tCrB = operand(tiled_mma.make_fragment_B, math.partition_B, sB)
    return operand(tiled_mma.make_fragment_A, math.partition_A, sA), tCrB, acc


@right("13.6")
def step_by_step(step, stages, producer):
    """Walks there, as a PipelineState does."""
    index, phase = 0, int(producer)
    for _ in range(step):
        index += 1
        if index == stages:
            index, phase = 0, phase ^ 1
    return index, phase


@right("13.6")
def within_two_rounds(step, stages, producer):
    """Two rounds are the period: the place in them has both."""
    place = (step + (stages if producer else 0)) % (2 * stages)
    return (place, 0) if place < stages else (place - stages, 1)


@right("13.6")
def by_numpy(step, stages, producer):
    """NumPy's divmod, and &."""
    turn, index = np.divmod(np.int32(step), np.int32(stages))
    return index, turn & 1 ^ np.int32(producer)


@right("13.8")
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


@right("13.8")
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


@right("13.8")
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


@right("13.10")
@cute.jit
def a_condition_for_each_block(tiled_mma, tCrA, tCrB, tCrC, adds):
    """ACCUMULATE set before every wgmma; the compiler's loop; the fields from another name."""
    accumulate = cute.nvgpu.warpgroup.Field.ACCUMULATE
    cute.nvgpu.warpgroup.fence()
    for k_block in cutlass.range_constexpr(tCrA.shape[2]):
        tiled_mma.set(accumulate, adds if k_block == 0 else True)
        cute.gemm(tiled_mma, tCrC, tCrA[None, None, k_block], tCrB[None, None, k_block], tCrC)
    cute.nvgpu.warpgroup.commit_group()


@right("13.10")
def last_block_first(tiled_mma, tCrA, tCrB, tCrC, adds):
    """From the last K block to the first; arguments by name."""
    blocks = list(range(cute.size(tCrA, mode=[2])))
    warpgroup.fence()
    for number, k_block in enumerate(reversed(blocks)):
        tiled_mma.set(warpgroup.Field.ACCUMULATE, True if number else adds)
        a, b = (operand[None, None, k_block] for operand in (tCrA, tCrB))
        cute.gemm(atom=tiled_mma, d=tCrC, a=a, b=b, c=tCrC)
    warpgroup.commit_group()


@right("13.10")
@cute.jit
def all_at_once(tiled_mma, tCrA, tCrB, tCrC, adds):
    """One cute.gemm, which loops over the K blocks and lets all but the first add."""
    warpgroup.fence()
    tiled_mma.set(warpgroup.Field.ACCUMULATE, adds)
    cute.gemm(tiled_mma, tCrC, tCrA, tCrB, tCrC)
    warpgroup.commit_group()


@right("13.11")
@cute.jit
def a_thread_for_each_stage(full, empty, stages: cutlass.Constexpr, warps: cutlass.Constexpr, thread):
    """Each stage's thread initializes its two mbarriers, and fences its own."""
    if thread < stages:
        cute.arch.mbarrier_init(full + thread, 1)
        cute.arch.mbarrier_init(empty + thread, warps)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()


@right("13.11")
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


@right("13.11")
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


def fill(steps, k_tile, stage):
    """As on the page."""
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)
    steps.load(k_tile, stage)


@right("13.7")
@cute.jit
def counts_by_itself(steps):
    """No PipelineState: a step's stage is its remainder, its round the quotient."""
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
            fill(steps, k_tile, k_tile)
    cute.arch.mbarrier_wait(steps.full, 0)
    steps.multiply(0, True)
    for k_tile in cutlass.range(1, steps.k_tiles, unroll=1):
        stage, phase = k_tile % steps.stages, k_tile // steps.stages % 2
        cute.arch.mbarrier_wait(steps.full + stage, phase)
        steps.multiply(stage, False)
        warpgroup.wait_group(1)
        last, over = (k_tile - 1) % steps.stages, (k_tile - 1) // steps.stages % 2
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.empty + last)
        if steps.loads_too and k_tile - 1 + steps.stages < steps.k_tiles:
            cute.arch.mbarrier_wait(steps.empty + last, over)
            fill(steps, k_tile - 1 + steps.stages, last)
    warpgroup.wait_group(0)


def in_parts(steps, k_tile, stage):
    steps.load(k_tile=k_tile, stage=stage)
    with elect_one():
        for part in (steps.stage_bytes // 3, steps.stage_bytes - steps.stage_bytes // 3):
            cute.arch.mbarrier_expect_tx(steps.full + stage, part)
        mbarrier_arrive(steps.full + stage)


class Ring:
    """Stage and parity of a K tile, and what is done there."""

    @staticmethod
    def place(steps, k_tile):
        return k_tile % steps.stages, k_tile // steps.stages & 1

    @classmethod
    def take(cls, steps, k_tile, first):
        stage, phase = cls.place(steps, k_tile)
        mbarrier_wait(steps.full + stage, phase)
        steps.multiply(stage, first)

    @classmethod
    def give_back(cls, steps, k_tile):
        with elect_one():
            mbarrier_arrive(steps.empty + cls.place(steps, k_tile)[0])

    @classmethod
    def wait_until_read(cls, steps, k_tile):
        stage, phase = cls.place(steps, k_tile)
        mbarrier_wait(steps.empty + stage, phase)


@right("13.7")
@cute.jit
def a_class_of_its_own(steps):
    """What is done to a stage in methods of a class; from the last K tile to the first."""
    last = steps.k_tiles - 1
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
            fill(steps, last - k_tile, k_tile)
    Ring.take(steps, 0, first=True)
    for k_tile in cutlass.range(1, steps.k_tiles, unroll=1):
        Ring.take(steps, k_tile, first=False)
        wait_group(1)
        Ring.give_back(steps, k_tile - 1)
        ahead = k_tile - 1 + steps.stages
        if steps.loads_too and ahead < steps.k_tiles:
            Ring.wait_until_read(steps, k_tile - 1)
            fill(steps, last - ahead, Ring.place(steps, ahead)[0])
    wait_group(0)


@right("13.12")
@cute.jit
def flips_a_bit(steps):
    """A phase that is turned by hand; a barrier by its other name."""
    phase = Int32(0)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        if steps.loads_too:
            fill(steps, k_tile, 0)
        mbarrier_wait(steps.full, phase)
        steps.multiply(0, k_tile < 1)
        phase ^= 1
        wait_group(0)
        cute.arch.barrier()


@right("13.12")
@cute.jit
def frees_by_empty(steps):
    """An `empty` mbarrier in place of the block's barrier."""
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        if steps.loads_too:
            mbarrier_wait(steps.empty, (k_tile + 1) % 2)
            fill(steps, k_tile, 0)
        mbarrier_wait(steps.full, k_tile & 1)
        steps.multiply(0, k_tile == 0)
        wait_group(0)
        with elect_one():
            mbarrier_arrive(steps.empty)


@right("13.12")
@cute.jit
def first_tile_apart(steps):
    """K tile 0 before the loop, and a while loop for the others; the bytes are announced after the load."""
    alone(steps, 0, True)
    k_tile = Int32(1)
    while k_tile < steps.k_tiles:
        alone(steps, k_tile, False)
        k_tile += 1


@cute.jit
def alone(steps, k_tile, first):
    if steps.loads_too:
        in_parts(steps, k_tile, 0)
    mbarrier_wait(steps.full, k_tile % 2)
    steps.multiply(0, first)
    wait_group(0)
    cute.arch.sync_threads()


@wrong("13.10", "library")
def the_courses_multiply(tiled_mma, tCrA, tCrB, tCrC, adds):
    """Leans on the course's own."""
    multiply(tiled_mma, tCrA, tCrB, tCrC, adds)


@wrong("13.10", "lacks")
def issues_nothing(tiled_mma, tCrA, tCrB, tCrC, adds):
    """A fence and a commit, with no wgmma between them."""
    warpgroup.fence()
    warpgroup.commit_group()


@wrong("13.11", "library")
@cute.jit
def the_courses_init(full, empty, stages, warps, thread):
    """Leans on the course's own."""
    init_barriers(full, empty, stages, warps, thread)


@wrong("13.12", "library")
@cute.jit
def the_courses_one_stage(steps):
    """Leans on the course's own."""
    one_stage(steps)


@wrong("13.8", "lacks", lesson=True)
@cute.jit
def vectors(acc: Accumulators):
    """Ordinary stores to shared memory."""
    acc.tRrC.store(acc.tCrC.load().to(BFloat16))
    cute.arch.sync_threads()
    cute.autovec_copy(acc.tRrC, acc.tRsC)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    cute.copy(acc.tma, acc.tSsC, acc.tSgC)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


@wrong("13.8", "library")
@cute.jit
def the_courses_epilogue(acc: Accumulators):
    """Leans on the course's own."""
    store_by_tma(acc)


FIRST = copy_of(first)  # as if it were the reader's


@wrong("13.9", "does not compile, launches nothing")
@cute.jit
def launches_nothing(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """No kernel."""


RIGHT_ONES = copy_of(n13_hopper_gemm)
right_holder, right_bytes, right_ring = RIGHT_ONES.holder, RIGHT_ONES.tma_bytes, RIGHT_ONES.ring

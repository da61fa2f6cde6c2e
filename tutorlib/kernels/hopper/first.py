"""The GEMM of notebook 14, without what that notebook asks for: the reader's parts go in.

C (M, N) = A (M, K) · Bᵀ with B (N, K), all row-major bf16, accumulators in fp32. One block of two warpgroups for
each tile of C. TMA loads into a ring of stages, wgmma multiplies from there, stmatrix and TMA store the accumulators;
elements outside a matrix arrive as zeros and are not stored. Tensors are named by where they live: m a matrix, g the
block's tiles of it, s shared memory, r registers; tAsA is sA as A's TMA cuts it, tCrA the MMA's operand.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cutlass
from cutlass import BFloat16, Boolean, Float32, Int32, Int64, cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
from cutlass.cute.nvgpu.warp import StMatrix8x8x16bOp
from cutlass.cute.nvgpu.warpgroup import OperandSource, SmemLayoutAtomKind
from cutlass.memory import SmemAllocator
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tutorlib.models.l2 import grouped

TILE = (128, 256, 64)  # of C along M and N, and one step along K
THREADS = 256  # two warpgroups: each has 64 rows of the tile
STAGES = 4
BOX = (16, 64)  # of C: a warp's rows, and the 128 bytes that a swizzle permutes
ALIGNMENT = 1024  # bytes after which a swizzle of 8 rows of 128 bytes begins again


@dataclass(frozen=True)
class BoxCopy:
    """An operand's TMA load. tma: its descriptor. tXsX: (box, stages); tXgX: (box, K tiles)."""

    tma: cute.CopyAtom
    tXsX: cute.Tensor
    tXgX: cute.Tensor

    @property
    def box_bytes(self) -> int:
        return cute.size(self.tXsX, mode=[0]) * BFloat16.width // 8

    def load(self, k_tile: Any, stage: Any, full: cute.Pointer) -> None:
        """Issue the TMA load; `full` counts its bytes. cute.copy elects the issuing thread by itself."""
        cute.copy(self.tma, self.tXgX[None, k_tile], self.tXsX[None, stage], tma_bar_ptr=full)


@dataclass(frozen=True)
class Steps:
    """The parts of a warp's main loop.

    k_tiles: steps along K. full, empty: the first of `stages` mbarriers each. full: 1 arrival, and the bytes that it
    announces; empty: `consumers` arrivals, one from each warp. loads_too: whether this warp also loads.
    tCrA, tCrB: (1, 1, K blocks, stages), descriptors of shared memory. tCrC: ((2, 2, N/8), 1, 1), the accumulators.
    math: issues the wgmmas of one stage as a group: (tiled_mma, its tCrA, its tCrB, tCrC, adds).
    """

    k_tiles: int
    full: cute.Pointer
    empty: cute.Pointer
    loads_too: Boolean
    a: BoxCopy
    b: BoxCopy
    tiled_mma: cute.TiledMma
    tCrA: cute.Tensor
    tCrB: cute.Tensor
    tCrC: cute.Tensor
    math: Callable[..., None]

    @property
    def stages(self) -> int:
        return cute.size(self.tCrA, mode=[3])

    @property
    def stage_bytes(self) -> int:
        """The bytes that TMA loads into one stage."""
        return self.a.box_bytes + self.b.box_bytes

    @property
    def consumers(self) -> int:
        return THREADS // 32

    def load(self, k_tile: Any, stage: Any) -> None:
        """Issue the loads of A's and B's K tile; full + stage counts their bytes."""
        self.a.load(k_tile, stage, self.full + stage)
        self.b.load(k_tile, stage, self.full + stage)

    def multiply(self, stage: Any, first: Any) -> None:
        """Issue a stage's wgmmas, from fence to commit. first: discard what was in the accumulators."""
        mma = self.tiled_mma.with_()  # a copy: `set` may be called in a run-time branch
        tCrA, tCrB = self.tCrA[None, None, None, stage], self.tCrB[None, None, None, stage]  # (1, 1, K blocks)
        self.math(mma, tCrA, tCrB, self.tCrC, Boolean(first) == Boolean(False))


@dataclass(frozen=True)
class Accumulators:
    """What an epilogue works on: one thread's accumulators, and the copies that store them.

    tCrC: the accumulators in fp32. stmatrix: the copy of a warp's accumulators into shared memory, as the MMA has them.
    tRsC: this thread's elements there; tRrC: bf16 registers in the same order, to be filled.
    tma: C's descriptor. tSsC, tSgC: (box, boxes of this warp) of 16 × 64, in shared memory and of C.
    """

    tCrC: cute.Tensor
    stmatrix: cute.TiledCopy
    tRrC: cute.Tensor
    tRsC: cute.Tensor
    tma: cute.CopyAtom
    tSsC: cute.Tensor
    tSgC: cute.Tensor


# The parts -------------------------------------------------------------------------------------------------------


def ring_layout(rows: int, k: int, stages: int) -> cute.ComposedLayout:
    """(rows, K, stages) of bf16, rows swizzled over the bytes that they have: 128, 64 or 32."""
    atom = warpgroup.make_smem_layout_atom(SmemLayoutAtomKind[f"K_SW{2 * k}"], BFloat16)
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))


def boxes(tma: cute.CopyAtom, s: cute.Tensor, g: cute.Tensor) -> tuple[cute.Tensor, cute.Tensor]:
    """(box, stages) of shared memory s (rows, K, stages) and (box, K tiles) of g (rows, K, K tiles)."""
    alone = cute.make_layout(1)  # no other block of a cluster shares the load
    return cpasync.tma_partition(tma, 0, alone, cute.group_modes(s, 0, 2), cute.group_modes(g, 0, 2))


def wgmma_fragments(
    tiled_mma: cute.TiledMma, thread: Any, sA: cute.Tensor, sB: cute.Tensor
) -> tuple[cute.Tensor, cute.Tensor, cute.Tensor]:
    """(tCrA, tCrB, tCrC): descriptors (1, 1, K blocks, stages) of both operands, registers ((2, 2, N/8), 1, 1)."""
    math = tiled_mma.get_slice(thread)
    tCrA = tiled_mma.make_fragment_A(math.partition_A(sA))
    tCrB = tiled_mma.make_fragment_B(math.partition_B(sB))
    tile = (cute.size(sA, mode=[0]), cute.size(sB, mode=[0]))
    return tCrA, tCrB, cute.make_rmem_tensor(tiled_mma.partition_shape_C(tile), Float32)


@cute.jit
def multiply(tiled_mma: cute.TiledMma, tCrA: cute.Tensor, tCrB: cute.Tensor, tCrC: cute.Tensor, adds: Any) -> None:
    """Issue the wgmmas of one stage as a group. tCrA, tCrB: (1, 1, K blocks). adds: keep what was in tCrC."""
    warpgroup.fence()
    tiled_mma.set(warpgroup.Field.ACCUMULATE, adds)
    for k_block in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
        cute.gemm(tiled_mma, tCrC, tCrA[None, None, k_block], tCrB[None, None, k_block], tCrC)
        tiled_mma.set(warpgroup.Field.ACCUMULATE, True)
    warpgroup.commit_group()


@cute.jit
def init_barriers(
    full: cute.Pointer, empty: cute.Pointer, stages: cutlass.Constexpr, warps: cutlass.Constexpr, thread: Any
) -> None:
    """Initialize `stages` mbarriers each: full for one arrival, empty for one from each warp."""
    if thread == 0:
        for stage in range(stages):
            cute.arch.mbarrier_init(full + stage, 1)
            cute.arch.mbarrier_init(empty + stage, warps)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()


def fill_stage(steps: Steps, k_tile: Any, stage: Any) -> None:
    """Announce the bytes of a stage and issue the load."""
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)
    steps.load(k_tile, stage)


@cute.jit
def one_stage(steps: Steps) -> None:
    """Stage 0 alone, K tile after K tile: the copies and the tensor cores take turns."""
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        if steps.loads_too:
            fill_stage(steps, k_tile, 0)
        cute.arch.mbarrier_wait(steps.full, k_tile % 2)
        steps.multiply(0, k_tile == 0)
        warpgroup.wait_group(0)
        cute.arch.sync_threads()


@cute.jit
def main_loop(steps: Steps) -> None:
    """Every warp multiplies. One also loads: all stages before, then each as soon as it has been read."""
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
            fill_stage(steps, k_tile, k_tile)
    state = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
    steps.multiply(state.index, True)
    for k_tile in cutlass.range(1, steps.k_tiles, unroll=1):
        before = state.clone()
        state.advance()
        cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
        steps.multiply(state.index, False)
        warpgroup.wait_group(1)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.empty + before.index)
        ahead = k_tile - 1 + steps.stages
        if steps.loads_too and ahead < steps.k_tiles:
            cute.arch.mbarrier_wait(steps.empty + before.index, before.phase)
            fill_stage(steps, ahead, before.index)
    warpgroup.wait_group(0)


@cute.jit
def store_by_tma(acc: Accumulators) -> None:
    """Round, stmatrix into the warp's boxes, and TMA from there."""
    acc.tRrC.store(acc.tCrC.load().to(BFloat16))
    cute.arch.sync_threads()
    cute.copy(acc.stmatrix, acc.tRrC, acc.tRsC)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    cute.copy(acc.tma, acc.tSsC, acc.tSgC)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


# The kernel -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parts:
    """The functions that the kernel is made of; each may be the reader's. order: as `models.l2` has them."""

    ring_layout: Callable[[int, int, int], cute.ComposedLayout] = ring_layout
    boxes: Callable[..., tuple[cute.Tensor, cute.Tensor]] = boxes
    fragments: Callable[..., tuple[cute.Tensor, cute.Tensor, cute.Tensor]] = wgmma_fragments
    multiply: Callable[..., None] = multiply
    barriers: Callable[..., None] = init_barriers
    main_loop: Callable[[Steps], None] = main_loop
    epilogue: Callable[[Accumulators], None] = store_by_tma
    order: Callable[..., tuple[Any, Any]] = grouped


def make_wgmma(columns: int = TILE[1]) -> cute.TiledMma:
    """wgmma of 64 × columns × 16 on each of two warpgroups, one above the other; both operands from shared memory."""
    k_major = OperandMajorMode.K
    op = warpgroup.MmaF16BF16Op(BFloat16, Float32, (64, columns), OperandSource.SMEM, k_major, k_major)
    return cute.make_tiled_mma(cute.make_mma_atom(op), (2, 1, 1))


def make_accumulators(
    tCrC: cute.Tensor, tiled_mma: cute.TiledMma, thread: Any, tma: Any, sC: Any, gC: Any, boxes: Any = boxes
) -> Accumulators:
    """sC, gC: (tile M, tile N)."""
    atom = cute.make_copy_atom(StMatrix8x8x16bOp(transpose=False, num_matrices=4), BFloat16)
    stmatrix = cute.make_tiled_copy_C(atom, tiled_mma)
    mine = stmatrix.get_slice(thread)
    row = cute.arch.make_warp_uniform(thread // 32)
    tSsC, tSgC = boxes(tma, cute.local_tile(sC, BOX, (row, None)), cute.local_tile(gC, BOX, (row, None)))
    tRrC = cute.make_rmem_tensor(tCrC.shape, BFloat16)
    return Accumulators(tCrC, stmatrix, mine.retile(tRrC), mine.partition_D(sC), tma, tSsC, tSgC)


def out_layout(rows: int, columns: int) -> cute.ComposedLayout:
    """A tile of C in shared memory: 64 columns after 64 columns, rows of 128 bytes swizzled."""
    atom = warpgroup.make_smem_layout_atom(SmemLayoutAtomKind.K_SW128, BFloat16)
    return cute.tile_to_shape(atom, (rows, columns), (0, 1))


def described(matrix: cute.Tensor) -> cute.Tensor:
    """The matrix as TMA's descriptor takes it. Raises ValueError if TMA cannot take it.

    The number of rows is known at run time only: a mode of extent 1 that the compiler knows would be dropped from the
    descriptor, and with it the 127 rows of zeros below.
    """
    rows, columns = matrix.shape
    if columns % 8:
        raise ValueError(f"rows of {columns} elements: TMA needs them at multiples of 16 bytes, so a multiple of 8")
    return cute.make_tensor(matrix.iterator, cute.make_layout((Int32(rows), columns), stride=(columns, 1)))


@cute.kernel
def first_kernel(
    a: tuple[cute.CopyAtom, cute.Tensor],
    b: tuple[cute.CopyAtom, cute.Tensor],
    c: tuple[cute.CopyAtom, cute.Tensor],
    tiled_mma: cute.TiledMma,
    layouts: tuple[cute.ComposedLayout, ...],
    tiles: cutlass.Constexpr,
    stages: cutlass.Constexpr,
    bK: cutlass.Constexpr,
    parts: cutlass.Constexpr,
):
    """a, b, c: (TMA's descriptor, the matrix as it takes it). layouts: of sA, sB and sC."""
    (tma_a, mA), (tma_b, mB), (tma_c, mC), (layout_a, layout_b, layout_c) = a, b, c, layouts
    bM, bN, _ = TILE
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    warp, group = (cute.arch.make_warp_uniform(thread // size) for size in (32, 128))
    if warp == 0:
        for tma in (tma_a, tma_b, tma_c):
            cpasync.prefetch_descriptor(tma)
    m, n = parts.order(block, *tiles)  # of C's tiles (M, N); neighbors have the same rows of B
    gA = cute.local_tile(mA, (bM, bK), (m, None))  # (bM, bK, K tiles)
    gB = cute.local_tile(mB, (bN, bK), (n, None))  # (bN, bK, K tiles)
    gC = cute.local_tile(mC, (bM, bN), (m, n))  # (bM, bN)

    memory = SmemAllocator()
    sA = memory.allocate_tensor(BFloat16, layout_a.outer, ALIGNMENT, layout_a.inner)  # (bM, bK, stages)
    sB = memory.allocate_tensor(BFloat16, layout_b.outer, ALIGNMENT, layout_b.inner)  # (bN, bK, stages)
    sC = cute.make_tensor(cute.recast_ptr(sA.iterator, layout_c.inner, BFloat16), layout_c.outer)  # over A and B
    full, empty = (memory.allocate_array(Int64, stages) for _ in range(2))
    parts.barriers(full, empty, stages, THREADS // 32, thread)

    steps = Steps(
        cute.size(gA, mode=[2]),
        full,
        empty,
        warp == 0,
        BoxCopy(tma_a, *parts.boxes(tma_a, sA, gA)),
        BoxCopy(tma_b, *parts.boxes(tma_b, sB, gB)),
        tiled_mma,
        *parts.fragments(tiled_mma, group * 128, sA, sB),
        math=parts.multiply,
    )
    parts.main_loop(steps)
    parts.epilogue(make_accumulators(steps.tCrC, tiled_mma, thread, tma_c, sC, gC, parts.boxes))


def make_first_gemm(parts: Parts = Parts(), stages: int = STAGES, bK: int = TILE[2]) -> Callable[..., None]:
    """The host function gemm(a, b, c) of these parts, for cute.Tensors of static shape.

    bK: columns of a K tile, 64, 32 or 16. Raises ValueError for fewer than 2 stages.
    """
    if stages < 2:
        raise ValueError(f"{stages} stage: a tile of C takes the room of two")

    @cute.jit
    def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
        bM, bN, _ = TILE
        load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
        layout_a, layout_b = parts.ring_layout(bM, bK, stages), parts.ring_layout(bN, bK, stages)
        stage_a, stage_b = cute.select(layout_a, [0, 1]), cute.select(layout_b, [0, 1])
        matrices = (
            cpasync.make_tiled_tma_atom(load, described(a), stage_a, (bM, bK)),
            cpasync.make_tiled_tma_atom(load, described(b), stage_b, (bN, bK)),
            cpasync.make_tiled_tma_atom(store, described(c), out_layout(*BOX), BOX),
        )
        tiles = cute.ceil_div(c.shape[0], bM), cute.ceil_div(c.shape[1], bN)
        layouts = layout_a, layout_b, out_layout(bM, bN)
        kernel = first_kernel(*matrices, make_wgmma(), layouts, tiles, stages, bK, parts)
        kernel.launch(grid=(tiles[0] * tiles[1], 1, 1), block=(THREADS, 1, 1))

    return gemm

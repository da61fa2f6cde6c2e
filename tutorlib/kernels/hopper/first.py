"""The GEMM of notebook 13, without what that notebook asks for: the reader's parts go in.

C (M, N) = A (M, K) · Bᵀ with B (N, K), all row-major bf16, accumulators in fp32. One block of two warpgroups for
each tile of C. TMA loads into a ring of stages, wgmma multiplies from there, stmatrix and TMA store the accumulators;
elements outside a matrix arrive as zeros and are not stored. Tensors are named by where they live: m a matrix, g the
block's tiles of it, s shared memory, r registers; tAsA is sA as A's TMA cuts it, tCrA the MMA's operand.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cutlass
from cutlass import BFloat16, Float32, Int32, Int64, cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
from cutlass.cute.nvgpu.warp import StMatrix8x8x16bOp
from cutlass.cute.nvgpu.warpgroup import OperandSource, SmemLayoutAtomKind
from cutlass.memory import SmemAllocator

from tutorlib.kernels.hopper.first_parts import (
    ALIGNMENT,
    BOX,
    STAGES,
    THREADS,
    TILE,
    Accumulators,
    BoxCopy,
    Steps,
    boxes,
    init_barriers,
    main_loop,
    multiply,
    ring_layout,
    store_by_tma,
    wgmma_fragments,
)
from tutorlib.models.l2 import grouped


@dataclass(frozen=True)
class Parts:
    """The functions that the kernel is made of; each may be the reader's."""

    ring_layout: Callable[[int, int, int], cute.ComposedLayout] = ring_layout
    boxes: Callable[..., tuple[cute.Tensor, cute.Tensor]] = boxes
    fragments: Callable[..., tuple[cute.Tensor, cute.Tensor, cute.Tensor]] = wgmma_fragments
    multiply: Callable[..., None] = multiply
    barriers: Callable[..., None] = init_barriers
    main_loop: Callable[[Steps], None] = main_loop
    epilogue: Callable[[Accumulators], None] = store_by_tma


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
    tma_a: cute.CopyAtom,
    mA: cute.Tensor,
    tma_b: cute.CopyAtom,
    mB: cute.Tensor,
    tma_c: cute.CopyAtom,
    mC: cute.Tensor,
    tiled_mma: cute.TiledMma,
    layout_a: cute.ComposedLayout,
    layout_b: cute.ComposedLayout,
    layout_c: cute.ComposedLayout,
    tiles: cutlass.Constexpr,
    stages: cutlass.Constexpr,
    bK: cutlass.Constexpr,
    parts: cutlass.Constexpr,
):
    bM, bN, _ = TILE
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    warp, group = (cute.arch.make_warp_uniform(thread // size) for size in (32, 128))
    if warp == 0:
        for tma in (tma_a, tma_b, tma_c):
            cpasync.prefetch_descriptor(tma)
    m, n = grouped(block, *tiles)  # of C's tiles (M, N); neighbors have the same rows of B
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
        tma_a, mA = cpasync.make_tiled_tma_atom(load, described(a), stage_a, (bM, bK))
        tma_b, mB = cpasync.make_tiled_tma_atom(load, described(b), stage_b, (bN, bK))
        tma_c, mC = cpasync.make_tiled_tma_atom(store, described(c), out_layout(*BOX), BOX)
        tiles = cute.ceil_div(c.shape[0], bM), cute.ceil_div(c.shape[1], bN)
        first_kernel(
            tma_a,
            mA,
            tma_b,
            mB,
            tma_c,
            mC,
            make_wgmma(),
            layout_a,
            layout_b,
            out_layout(bM, bN),
            tiles,
            stages,
            bK,
            parts,
        ).launch(grid=(tiles[0] * tiles[1], 1, 1), block=(THREADS, 1, 1))

    return gemm

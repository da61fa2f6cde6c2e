"""The GEMM of notebooks 10 to 13, with its main loop and its order of blocks as arguments.

C (M, N) = A (M, K) · Bᵀ with B (N, K), all row-major bf16, accumulators in fp32; sm_80 instructions. Tensors are named
by their memory, as is usual in CuTe code: m a matrix, g the block's tile of it in global memory, s shared memory, r
registers; tAgA is gA partitioned for the threads of a copy, tCrA the registers of A in the MMA's view.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import cutlass
from cutlass import cute
from cutlass.memory import SmemAllocator

from tutorlib.kernels.ampere.config import VECTOR, GemmConfig
from tutorlib.kernels.ampere.thread_share import (
    Accumulators,
    Epilogue,
    GlobalToShared,
    MainLoop,
    Operand,
    Steps,
    make_copy_g2s,
    make_mma,
    make_operands,
    n_order,
    smem_layout,
    with_rest,
)
from tutorlib.models.l2 import grouped, raster

# Epilogues: from the accumulators of each thread to C -----------------------------------------------------------------


@cute.jit
def store(acc: Accumulators) -> None:
    """Page 10: from registers to C, 8 neighbors as one store of 128 bits where C's rows are aligned."""
    registers = acc.rounded()
    if cutlass.const_expr(acc.whole):
        cute.autovec_copy(registers, acc.tCgC)
    else:
        (_, rows), atoms, (_, rest) = registers.shape
        for m in cutlass.range_constexpr(atoms):
            for row in cutlass.range_constexpr(rows):
                for n in cutlass.range_constexpr(rest):
                    eight = ((None, row), m, (None, n))
                    if cutlass.const_expr(not acc.aligned):
                        store_elements(registers[eight], acc.tCgC[eight], acc.coordinates[eight], acc.shape)
                    elif cute.elem_less(acc.coordinates[(0, row), m, (0, n)], acc.shape):
                        cute.autovec_copy(registers[eight], acc.tCgC[eight])


@cute.jit
def store_elements(
    registers: cute.Tensor, target: cute.Tensor, coordinates: cute.Tensor, shape: cutlass.Constexpr
) -> None:
    """Store the elements that are inside C, one at a time."""
    for n in cutlass.range_constexpr(cute.size(registers)):
        if cute.elem_less(coordinates[n], shape):
            target[n] = registers[n]


# The kernel -----------------------------------------------------------------------------------------------------------

Order = Callable[[Any, int, int], tuple[Any, Any]]
SmemLayout = Callable[[int, int, int], cute.ComposedLayout]
Dtype = type[cutlass.Numeric]


def in_eights(block: Any, rows: int, columns: int) -> tuple[Any, Any]:
    """Notebook 12: groups of 8 rows of tiles, but raster order up to 32, where L2 keeps most of A."""
    return grouped(block, rows, columns, 8 if rows > 32 else rows)


@dataclass(frozen=True)
class GemmParts:
    """The functions that the kernel calls.

    smem: rows, K, stages → the layout of a tile's buffers. g2s, mma: who copies and who multiplies.
    operands: the views of the registers. copies, steps: the class whose method loads, and the one whose methods fetch
        and multiply. columns: the order in which the MMA takes the columns of C.
    a: configuration, dtype, MMA → the layout of A's buffers, who copies them, and A's ldmatrix; None: all as B's.
    order: a block's number, rows and columns of tiles → its tile.
    gated: the epilogue makes one column of C of two columns of accumulators; see notebook 18.
    """

    main_loop: MainLoop
    order: Order = raster
    epilogue: Epilogue = store
    smem: SmemLayout = smem_layout
    g2s: Callable[[GemmConfig, Dtype], cute.TiledCopy] = make_copy_g2s
    mma: Callable[[GemmConfig, Dtype], cute.TiledMma] = make_mma
    operands: Callable[..., tuple[Operand, Operand]] = make_operands
    copies: type[GlobalToShared] = GlobalToShared
    steps: type[Steps] = Steps
    columns: Callable[[GemmConfig], cute.Layout] = n_order
    a: Callable[..., tuple[cute.ComposedLayout, cute.TiledCopy, cute.TiledCopy]] | None = None
    gated: bool = False

    def out(self, config: GemmConfig) -> GemmConfig:
        """How a block's tile of C is cut."""
        m, n, k = config.tile
        return replace(config, tile=(m, n // 2, k)) if self.gated else config

    def accumulators(self, tiled_mma: cute.TiledMma, tCgC: cute.Tensor) -> cute.Tensor:
        """A thread's accumulators, in registers. Gated: those of the tile's left half, then those of its right half."""
        if not self.gated:
            return tiled_mma.make_fragment_C(tCgC)
        pairs, atoms, (neighbors, rest) = tCgC.shape
        return cute.make_rmem_tensor((pairs, atoms, (neighbors, 2 * rest)), cutlass.Float32)


@cute.kernel
def gemm_kernel(
    mA: cute.Tensor,
    mB: cute.Tensor,
    mC: cute.Tensor,
    mD: cute.Tensor | None,
    config: cutlass.Constexpr,
    parts: cutlass.Constexpr,
) -> None:
    """mD: what the epilogue reads beside the accumulators, as a matrix of C's shape; None where it reads nothing."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    bM, bN, bK = config.tile
    dtype = mA.element_type
    m, n = parts.order(block, *config.grid(mA.shape[0], mB.shape[0]))

    columns = parts.columns(config)
    gA = cute.local_tile(mA, (bM, bK), (m, None))  # (bM, bK, k_tiles)
    gB = cute.composition(cute.local_tile(mB, (bN, bK), (n, None)), (columns, None, None))  # (bN, bK, k_tiles)
    out = parts.out(config)
    gC = cute.local_tile(mC, out.tile[:2], (m, n))  # (bM, bN), half as wide where gated
    cA = cute.local_tile(cute.make_identity_tensor(mA.shape), (bM, bK), (m, None))
    cB = cute.local_tile(cute.make_identity_tensor(mB.shape), (bN, bK), (n, None))
    cB = cute.composition(cB, (columns, None, None))
    cC = cute.local_tile(cute.make_identity_tensor(mC.shape), out.tile[:2], (m, n))

    tiled_mma = parts.mma(config, dtype)
    math = tiled_mma.get_slice(thread)
    g2s = parts.g2s(config, dtype)
    smem_a, g2s_a, s2r_a = parts.smem(bM, bK, config.stages), g2s, None
    if cutlass.const_expr(parts.a is not None):
        smem_a, g2s_a, s2r_a = parts.a(config, dtype, tiled_mma)
    memory = SmemAllocator()
    sA = memory.allocate_tensor(dtype, smem_a, byte_alignment=128)
    sB = memory.allocate_tensor(dtype, parts.smem(bN, bK, config.stages), byte_alignment=128)

    def global_to_shared(
        g2s: cute.TiledCopy, matrix: cute.Tensor, g: cute.Tensor, s: cute.Tensor, c: cute.Tensor, rows: int
    ) -> GlobalToShared:
        copies = g2s.get_slice(thread)
        whole = matrix.shape[0] % rows == 0 and matrix.shape[1] % bK == 0
        places, limit = (None, None) if whole else (copies.partition_S(c), matrix.shape)
        return parts.copies(g2s, copies.partition_S(g), copies.partition_D(s), places, limit)

    def mine(tile: cute.Tensor) -> cute.Tensor:
        """A thread's share of a tile as large as C's."""
        return with_rest(math.partition_C(cute.composition(tile, (None, parts.columns(out)))))

    tCgC = mine(gC)
    tCrC = parts.accumulators(tiled_mma, tCgC)
    tCrC.fill(0.0)
    a, b = global_to_shared(g2s_a, mA, gA, sA, cA, bM), global_to_shared(g2s, mB, gB, sB, cB, bN)
    rA, rB = parts.operands(tiled_mma, thread, sA, sB)
    if cutlass.const_expr(s2r_a is not None):
        mine_a = s2r_a.get_slice(thread)
        rA = Operand(rA.tCrX, s2r_a, mine_a.partition_S(sA), mine_a.retile(rA.tCrX))
    parts.main_loop(parts.steps(cute.size(gA, mode=[2]), a, b, rA, rB, tiled_mma, tCrC))
    tCgD = None if mD is None else mine(cute.local_tile(mD, out.tile[:2], (m, n)))
    parts.epilogue(Accumulators(tCrC, tCgC, mine(cC), gC, mC.shape, out, math, tCgD))


def launch(a: Any, b: Any, c: Any, d: Any, config: GemmConfig, parts: GemmParts) -> None:
    """Within a host function: a block for each tile of A·Bᵀ. d: as `gemm_kernel` takes mD."""
    grid_m, grid_n = config.grid(a.shape[0], b.shape[0])
    gemm_kernel(a, b, c, d, config, parts).launch(grid=(grid_m * grid_n, 1, 1), block=(config.threads, 1, 1))


def make_gemm(config: GemmConfig, main_loop: MainLoop, order: Order = raster, **others: Any) -> Callable[..., None]:
    """The host function gemm(a, b, c) of these parts, for cute.Tensors of static shape. others: as GemmParts has them.

    It raises ValueError while it is compiled where rows of A and B do not start at multiples of 16 bytes.
    """
    parts = GemmParts(main_loop, order, **others)

    @cute.jit
    def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
        k = a.shape[1]
        if cutlass.const_expr(k % VECTOR != 0):
            raise ValueError(f"K = {k}: rows must start at multiples of 16 bytes, so K must be a multiple of {VECTOR}")
        launch(a, b, c, None, config, parts)

    return gemm

"""The GEMM of notebooks 09 to 12, with its main loop and its order of blocks as arguments.

C (M, N) = A (M, K) · Bᵀ with B (N, K), all row-major bf16, accumulators in fp32; sm_80 instructions. Tensors are named
by their memory, as is usual in CuTe code: m a matrix, g the block's tile of it in global memory, s shared memory, r
registers; tAgA is gA partitioned for the threads of a copy, tCrA the registers of A in the MMA's view.
"""

from collections.abc import Callable
from typing import Any

import cutlass
from cutlass import cute
from cutlass.memory import SmemAllocator

from tutorlib.kernels.ampere.config import VECTOR, GemmConfig
from tutorlib.kernels.ampere.layouts import with_rest
from tutorlib.kernels.ampere.parts import GemmParts, MainLoop, Order
from tutorlib.kernels.ampere.thread_share import Accumulators, GlobalToShared
from tutorlib.models.l2 import raster


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

    memory = SmemAllocator()
    sA = memory.allocate_tensor(dtype, parts.smem(bM, bK, config.stages), byte_alignment=128)
    sB = memory.allocate_tensor(dtype, parts.smem(bN, bK, config.stages), byte_alignment=128)

    g2s = parts.g2s(config, dtype)
    copies = g2s.get_slice(thread)

    def global_to_shared(
        matrix: cute.Tensor, g: cute.Tensor, s: cute.Tensor, c: cute.Tensor, rows: int
    ) -> GlobalToShared:
        whole = matrix.shape[0] % rows == 0 and matrix.shape[1] % bK == 0
        places, limit = (None, None) if whole else (copies.partition_S(c), matrix.shape)
        return parts.copies(g2s, copies.partition_S(g), copies.partition_D(s), places, limit)

    tiled_mma = parts.mma(config, dtype)
    math = tiled_mma.get_slice(thread)

    def mine(tile: cute.Tensor) -> cute.Tensor:
        """A thread's share of a tile as large as C's."""
        return with_rest(math.partition_C(cute.composition(tile, (None, parts.columns(out)))))

    tCgC = mine(gC)
    tCrC = parts.accumulators(tiled_mma, tCgC)
    tCrC.fill(0.0)
    a, b = global_to_shared(mA, gA, sA, cA, bM), global_to_shared(mB, gB, sB, cB, bN)
    rA, rB = parts.operands(tiled_mma, thread, sA, sB)
    parts.main_loop(parts.steps(cute.size(gA, mode=[2]), a, b, rA, rB, tiled_mma, tCrC))
    tCgD = None if mD is None else mine(cute.local_tile(mD, out.tile[:2], (m, n)))
    parts.epilogue(Accumulators(tCrC, tCgC, mine(cC), gC, mC.shape, out, math, tCgD))


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
        grid_m, grid_n = config.grid(*c.shape)
        gemm_kernel(a, b, c, None, config, parts).launch(grid=(grid_m * grid_n, 1, 1), block=(config.threads, 1, 1))

    return gemm

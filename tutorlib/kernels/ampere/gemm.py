"""The GEMM of notebooks 09 to 12 without what those notebooks are about: a main loop and an order of blocks go in.

C (M, N) = A (M, K) · Bᵀ with B (N, K), all row-major bf16, sums in fp32; sm_80 instructions. Tensors are named by
where they live, as CuTe code does: m in global memory, g the block's tile of it, s in shared memory, r in registers;
tAgA is gA as cut for the threads of a copy, tCrA the registers of A as the MMA wants them.
"""

from collections.abc import Callable
from typing import Any

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import warp
from cutlass.memory import SmemAllocator

from tutorlib.kernels.ampere.config import VECTOR, GemmConfig
from tutorlib.kernels.ampere.epilogues import store
from tutorlib.kernels.ampere.layouts import permuted, smem_layout, with_rest
from tutorlib.kernels.ampere.thread_share import GlobalToShared, Steps, Sums, make_copy_g2s, make_mma
from tutorlib.models.l2 import raster

MainLoop = Callable[[Steps], None]
Order = Callable[[Any, int, int], tuple[Any, Any]]
Epilogue = Callable[[Sums], None]
SmemLayout = Callable[[int, int, int], cute.ComposedLayout]


@cute.kernel
def gemm_kernel(
    mA: cute.Tensor,
    mB: cute.Tensor,
    mC: cute.Tensor,
    config: cutlass.Constexpr,
    main_loop: cutlass.Constexpr,
    order: cutlass.Constexpr,
    epilogue: cutlass.Constexpr,
    smem: cutlass.Constexpr,
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    bM, bN, bK = config.tile
    dtype = mA.element_type
    m, n = order(block, *config.grid(*mC.shape))

    gA = cute.local_tile(mA, (bM, bK), (m, None))  # (bM, bK, k_tiles)
    gB = permuted(cute.local_tile(mB, (bN, bK), (n, None)), 0, config)  # (bN, bK, k_tiles)
    gC = cute.local_tile(mC, (bM, bN), (m, n))  # (bM, bN)
    cA = cute.local_tile(cute.make_identity_tensor(mA.shape), (bM, bK), (m, None))
    cB = permuted(cute.local_tile(cute.make_identity_tensor(mB.shape), (bN, bK), (n, None)), 0, config)
    cC = cute.local_tile(cute.make_identity_tensor(mC.shape), (bM, bN), (m, n))

    memory = SmemAllocator()
    sA = memory.allocate_tensor(dtype, smem(bM, bK, config.stages), byte_alignment=128)
    sB = memory.allocate_tensor(dtype, smem(bN, bK, config.stages), byte_alignment=128)

    g2s = make_copy_g2s(config, dtype)
    copies = g2s.get_slice(thread)

    def global_to_shared(
        matrix: cute.Tensor, g: cute.Tensor, s: cute.Tensor, c: cute.Tensor, rows: int
    ) -> GlobalToShared:
        whole = matrix.shape[0] % rows == 0 and matrix.shape[1] % bK == 0
        places, limit = (None, None) if whole else (copies.partition_S(c), matrix.shape)
        return GlobalToShared(g2s, copies.partition_S(g), copies.partition_D(s), places, limit)

    tiled_mma = make_mma(config, dtype)
    math = tiled_mma.get_slice(thread)
    tCrA = tiled_mma.make_fragment_A(math.partition_A(sA)[None, None, None, 0])  # (8, M atoms, k_blocks)
    tCrB = tiled_mma.make_fragment_B(math.partition_B(sB)[None, None, None, 0])  # (4, N atoms, k_blocks)
    tCgC = with_rest(math.partition_C(permuted(gC, 1, config)))
    tCrC = tiled_mma.make_fragment_C(tCgC)
    tCrC.fill(0.0)

    ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), dtype)
    s2r_a, s2r_b = cute.make_tiled_copy_A(ldmatrix, tiled_mma), cute.make_tiled_copy_B(ldmatrix, tiled_mma)
    steps = Steps(
        k_tiles=cute.size(gA, mode=[2]),
        k_blocks=cute.size(tCrA, mode=[2]),
        stages=config.stages,
        a=global_to_shared(mA, gA, sA, cA, bM),
        b=global_to_shared(mB, gB, sB, cB, bN),
        s2r_a=s2r_a,
        s2r_b=s2r_b,
        tXsA=s2r_a.get_slice(thread).partition_S(sA),
        tXrA=s2r_a.get_slice(thread).retile(tCrA),
        tXsB=s2r_b.get_slice(thread).partition_S(sB),
        tXrB=s2r_b.get_slice(thread).retile(tCrB),
        tiled_mma=tiled_mma,
        tCrA=tCrA,
        tCrB=tCrB,
        tCrC=tCrC,
    )
    main_loop(steps)
    coordinates = with_rest(math.partition_C(permuted(cC, 1, config)))
    epilogue(Sums(tCrC, tCgC, coordinates, gC, mC.shape, config, math))


def make_gemm(
    config: GemmConfig,
    main_loop: MainLoop,
    order: Order = raster,
    epilogue: Epilogue = store,
    smem: SmemLayout = smem_layout,
) -> Callable[..., None]:
    """The host function gemm(a, b, c) of these parts, for cute.Tensors of static shape.

    It raises ValueError while it is compiled where rows of A and B do not start at multiples of 16 bytes.
    """

    @cute.jit
    def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
        k = a.shape[1]
        if cutlass.const_expr(k % VECTOR != 0):
            raise ValueError(f"K = {k}: rows must start at multiples of 16 bytes, so K must be a multiple of {VECTOR}")
        grid_m, grid_n = config.grid(*c.shape)
        gemm_kernel(a, b, c, config, main_loop, order, epilogue, smem).launch(
            grid=(grid_m * grid_n, 1, 1), block=(config.threads, 1, 1)
        )

    return gemm

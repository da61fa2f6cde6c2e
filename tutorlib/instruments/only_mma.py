"""mma.sync alone: the ceiling of the GEMMs of notebooks 09 to 12, without loads."""

import cutlass
from cutlass import Float32, cute

from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.thread_share import make_mma

CONFIG = GemmConfig()  # 128 accumulators a thread; two blocks fit on an SM, eight warps
K = 16  # of one mma


@cute.kernel
def only_mma_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, steps: cutlass.Constexpr) -> None:
    """Every block multiplies the same A (128, 16) by the same B (128, 16) into its own accumulators, `steps` times."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    tiled_mma = make_mma(CONFIG, mA.element_type)
    math = tiled_mma.get_slice(thread)
    tCgA, tCgB = math.partition_A(mA), math.partition_B(mB)  # (8 or 4, M or N atoms, 1)
    tCrA, tCrB = tiled_mma.make_fragment_A(tCgA), tiled_mma.make_fragment_B(tCgB)
    cute.autovec_copy(tCgA, tCrA)
    cute.autovec_copy(tCgB, tCrB)
    tCrC = cute.make_rmem_tensor(tiled_mma.partition_shape_C(CONFIG.tile[:2]), Float32)
    tCrC.fill(0.0)
    for _ in cutlass.range(steps, unroll=1):
        cute.gemm(tiled_mma, tCrC, tCrA, tCrB, tCrC)
    tCgC = math.partition_C(mC[None, None, block])
    cute.autovec_copy(tCrC, tCgC)


@cute.jit
def only_mma(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, steps: cutlass.Constexpr) -> None:
    """c (128, 128, blocks) = steps × a (128, 16) · bᵀ with b (128, 16), for each of its blocks; c in fp32."""
    only_mma_kernel(a, b, c, steps).launch(grid=(cute.size(c, mode=[2]), 1, 1), block=(CONFIG.threads, 1, 1))


def flops(blocks: int, steps: int) -> int:
    """Operations of a launch."""
    m, n, _ = CONFIG.tile
    return 2 * m * n * K * steps * blocks

"""CuTe kernels for tests of what happens where there is no GPU."""

import cutlass
from cutlass import cute
from cutlass.memory import SmemAllocator


@cute.kernel
def mbarrier_kernel(src: cute.Tensor, dst: cute.Tensor):
    cute.arch.mbarrier_init(SmemAllocator().allocate_array(cutlass.Int64, 1), 1)
    dst[0, 0] = src[0, 0]


@cute.jit
def makes_an_mbarrier(src: cute.Tensor, dst: cute.Tensor):
    """Uses what the simulator lacks."""
    mbarrier_kernel(src, dst).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def hello_kernel():
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    cute.printf("thread {} of block {}", thread, block)


@cute.jit
def hello():
    hello_kernel().launch(grid=(2, 1, 1), block=(3, 1, 1))

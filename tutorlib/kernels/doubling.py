"""The least of kernels, y = 2x for vectors of any size: what is left of a call is what a launch costs."""

from cuda.bindings.driver import CUstream
from cutlass import cute

THREADS = 128


@cute.kernel
def double_kernel(x: cute.Tensor, y: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(x):
        y[i] = x[i] + x[i]


@cute.jit
def double(x: cute.Tensor, y: cute.Tensor, stream: CUstream) -> None:
    blocks = cute.ceil_div(cute.size(x), THREADS)
    double_kernel(x, y).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1), stream=stream)


@cute.jit
def double_columns_on_cpu(x: cute.Tensor, y: cute.Tensor) -> None:
    """The same for matrices, without a kernel, in one thread of the CPU's."""
    for n in range(x.shape[1]):
        for m in range(x.shape[0]):
            y[m, n] = x[m, n] + x[m, n]


@cute.jit
def double_on_cpu(x: cute.Tensor, y: cute.Tensor) -> None:
    """The same for vectors."""
    for i in range(cute.size(x)):
        y[i] = x[i] + x[i]

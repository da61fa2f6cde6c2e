"""Kernels that are right and unlike what the course writes: the checker must take them all."""

import cutlass
from cutlass import cute
from cutlass.memory import SmemAllocator

from tests.gpu_kernels import COPY, GEMM, THREADS, blocks, plain_kernel, thread_index


@cute.jit
def one_thread_per_element(src: cute.Tensor, dst: cute.Tensor):
    size = cute.size(dst)
    plain_kernel(src, dst, size).launch(grid=(blocks(size), 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def tile_kernel(src: cute.Tensor, dst: cute.Tensor):
    x, y, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    row, column = down * 4 + y, across * 64 + x
    if row < dst.shape[0] and column < dst.shape[1]:
        dst[row, column] = src[row, column]


@cute.jit
def tiles_of_4_by_64(src: cute.Tensor, dst: cute.Tensor):
    m, n = dst.shape
    tile_kernel(src, dst).launch(grid=(cute.ceil_div(n, 64), cute.ceil_div(m, 4), 1), block=(64, 4, 1))


@cute.kernel
def stride_kernel(src: cute.Tensor, dst: cute.Tensor):
    threads = cute.arch.grid_dim()[0] * THREADS
    n = dst.shape[1]
    for i in range(thread_index(), cute.size(dst), threads):
        dst[i // n, i % n] = src[i // n, i % n]


@cute.jit
def grid_stride_loop(src: cute.Tensor, dst: cute.Tensor):
    stride_kernel(src, dst).launch(grid=(20, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def twice_kernel(src: cute.Tensor, dst: cute.Tensor):
    n = dst.shape[1]
    i = thread_index() // 2  # two threads write each element
    if i < cute.size(dst):
        dst[i // n, i % n] = src[i // n, i % n]


@cute.jit
def writes_everything_twice(src: cute.Tensor, dst: cute.Tensor):
    twice_kernel(src, dst).launch(grid=(blocks(2 * cute.size(dst)), 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def shared_kernel(src: cute.Tensor, dst: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    buffer = SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
    i, n = thread_index(), dst.shape[1]
    if i < cute.size(dst):
        buffer[thread] = src[i // n, i % n]
    cute.arch.barrier()
    other = thread ^ 1  # each thread writes what its neighbor read
    j = i - thread + other
    if j < cute.size(dst):
        dst[j // n, j % n] = buffer[other]


@cute.jit
def through_shared_memory(src: cute.Tensor, dst: cute.Tensor):
    shared_kernel(src, dst).launch(grid=(blocks(cute.size(dst)), 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def sum_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, parts: cutlass.Constexpr):
    i = thread_index()
    m, n = c.shape
    k_size = a.shape[1]
    if i < m * n:
        total = cutlass.Float32(0)
        for part in cutlass.range_constexpr(parts):
            partial = cutlass.Float32(0)
            for step in range(part, k_size, parts):
                k = k_size - 1 - step
                partial += a[i // n, k].to(cutlass.Float32) * b[i % n, k].to(cutlass.Float32)
            total += partial
        c[i // n, i % n] = total.to(cutlass.BFloat16)


@cute.jit
def sums_in_five_parts(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    sum_kernel(a, b, c, 5).launch(grid=(blocks(cute.size(c)), 1, 1), block=(THREADS, 1, 1))


RIGHT = (
    (COPY, one_thread_per_element),
    (COPY, tiles_of_4_by_64),
    (COPY, grid_stride_loop),
    (COPY, writes_everything_twice),
    (COPY, through_shared_memory),
    (GEMM, sums_in_five_parts),
)

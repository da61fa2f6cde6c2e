"""y = x / (largest magnitude of its row). One block a row, and a tree of maxima in shared memory."""

import cutlass
from cutlass import cute
from cutlass.memory import SmemAllocator

THREADS = 128


@cute.kernel
def by_largest_kernel(x: cute.Tensor, y: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    largest = SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))

    mine = cutlass.Float32(0.0)
    for column in cutlass.range(t, x.shape[1], THREADS):
        mine = cute.arch.fmax(mine, cute.arch.fmax(x[row, column], -x[row, column]))
    largest[t] = mine
    cute.arch.sync_threads()

    for turn in cutlass.range_constexpr(7):
        half = THREADS >> (turn + 1)
        if t < half:
            largest[t] = cute.arch.fmax(largest[t], largest[t + half])
            cute.arch.sync_threads()

    for column in cutlass.range(t, x.shape[1], THREADS):
        y[row, column] = x[row, column] / largest[0]


@cute.jit
def by_largest(x: cute.Tensor, y: cute.Tensor) -> None:
    by_largest_kernel(x, y).launch(grid=(x.shape[0], 1, 1), block=(THREADS, 1, 1))

"""y = 2 · x for large tensors: x and y (M, N), N a multiple of 4. A thread moves 16 bytes at a time."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

THREADS, VECTOR = 64, 4


@cute.kernel
def scale_rows_kernel(x: cute.Tensor, y: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    wide = cute.make_copy_atom(CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    gX = cute.local_tile(x, (1, VECTOR), (row, None))  # (1, VECTOR, N / VECTOR)
    gY = cute.local_tile(y, (1, VECTOR), (row, None))
    mine = cute.make_rmem_tensor(VECTOR, cutlass.Float32)
    for vector in cutlass.range(t, x.shape[1] // VECTOR, THREADS):
        cute.copy(wide, gX[0, None, vector], mine)
        mine.store(mine.load() * 2.0)
        cute.copy(wide, mine, gY[0, None, vector])


@cute.jit
def scale_rows(x: cute.Tensor, y: cute.Tensor) -> None:
    pitch = cutlass.Int64(x.shape[1])  # a row can begin beyond 2^31 elements
    layout = cute.make_layout(x.shape, stride=(pitch, 1))
    scale_rows_kernel(cute.make_tensor(x.iterator, layout), cute.make_tensor(y.iterator, layout)).launch(
        grid=(x.shape[0], 1, 1), block=(THREADS, 1, 1)
    )

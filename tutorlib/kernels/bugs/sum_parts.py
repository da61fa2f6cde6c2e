"""sums (N) = the sum of parts (S, N) over S, the end of a split-K GEMM; N is a multiple of 256. Three stages."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync
from cutlass.memory import SmemAllocator

THREADS, VECTOR, STAGES = 64, 4, 3


@cute.kernel
def sum_parts_kernel(parts: cute.Tensor, sums: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    layout = cute.make_layout((VECTOR, THREADS, STAGES))
    ring = SmemAllocator().allocate_tensor(cutlass.Float32, layout, 16)
    load = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    gP = cute.local_tile(parts, (1, VECTOR), (None, block * THREADS + t))  # (1, VECTOR, S)
    gS = cute.local_tile(sums, (VECTOR,), (block * THREADS + t,))
    total = cute.make_rmem_tensor(VECTOR, cutlass.Float32)
    total.fill(0.0)
    count = parts.shape[0]

    for part in cutlass.range_constexpr(STAGES - 1):
        if part < count:
            cute.copy(load, gP[0, None, part], ring[None, t, part])
        cute.arch.cp_async_commit_group()

    for part in cutlass.range(count, unroll=1):
        coming = part + STAGES - 1
        if coming < count:
            cute.copy(load, gP[0, None, coming], ring[None, t, coming % STAGES])
            cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(STAGES - 1)
        total.store(total.load() + ring[None, t, part % STAGES].load())
    gS.store(total.load())


@cute.jit
def sum_parts(parts: cute.Tensor, sums: cute.Tensor) -> None:
    sum_parts_kernel(parts, sums).launch(grid=(sums.shape[0] // (THREADS * VECTOR), 1, 1), block=(THREADS, 1, 1))

"""Kernels whose shared memory has names, each with a fault."""

import cutlass
from cutlass import cute
from cutlass.memory import SmemAllocator

ONE_BLOCK = {"grid": (1, 1, 1), "block": (32, 1, 1)}


@cute.struct
class Storage:
    before: cute.struct.MemRange[cutlass.Int64, 3]
    values: cute.struct.Align[cute.struct.MemRange[cutlass.Float32, 64], 128]


@cute.kernel
def reads_unwritten_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    memory = SmemAllocator()
    other = memory.allocate_tensor(cutlass.Float32, cute.make_layout(33))
    tile = memory.allocate_tensor(cutlass.Float32, cute.make_layout(32), byte_alignment=128)
    other[thread] = x[thread]
    y[thread] = other[thread] + tile[thread]


@cute.jit
def reads_unwritten(x: cute.Tensor, y: cute.Tensor):
    reads_unwritten_kernel(x, y).launch(**ONE_BLOCK)


@cute.kernel
def races_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    memory = SmemAllocator()
    memory.allocate(8)
    storage = memory.allocate(Storage)
    values = storage.values.get_tensor(cute.make_layout(64))
    values[thread] = x[thread % 32]
    y[thread % 32] = values[63 - thread]


@cute.jit
def races(x: cute.Tensor, y: cute.Tensor):
    races_kernel(x, y).launch(grid=(1, 1, 1), block=(64, 1, 1))


@cute.kernel
def waits_for_ever_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    full = SmemAllocator().allocate_array(cutlass.Int64, 2)
    if thread == 0:
        cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init(full + 1, 1)
    cute.arch.sync_threads()
    cute.arch.mbarrier_wait(full + 1, 0)
    y[thread] = x[thread]


@cute.jit
def waits_for_ever(x: cute.Tensor, y: cute.Tensor):
    waits_for_ever_kernel(x, y).launch(**ONE_BLOCK)


@cute.kernel
def in_a_loop_kernel(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    for i in cutlass.range(n):
        if thread > i:
            y[thread + n] = x[thread]


@cute.jit
def in_a_loop(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    in_a_loop_kernel(x, y, n).launch(grid=(1, 1, 1), block=(32, 1, 1))

"""CuTe and torch, as a project outside of the course has them; at the end, shared memory with names and faults."""

import os
import signal

import cuda.bindings.driver as driver
import cutlass
import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack
from cutlass.experimental.cuda import create_tensor_map_tiled_from_view
from cutlass.memory import SmemAllocator


@cute.kernel
def reverse_kernel(src: cute.Tensor, dst: cute.Tensor, threads: cutlass.Constexpr, waits: cutlass.Constexpr):
    """Each block reverses its own elements in shared memory."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    memory = cutlass.memory.SmemAllocator()
    tile = memory.allocate_tensor(cutlass.Float32, cute.make_layout(threads))
    tile[thread] = src[block * threads + thread]
    if cutlass.const_expr(waits):
        cute.arch.sync_threads()
    dst[block * threads + thread] = tile[threads - 1 - thread]


@cute.jit
def reverse(src: cute.Tensor, dst: cute.Tensor, threads: cutlass.Constexpr, stream: driver.CUstream):
    blocks = cute.size(src) // threads
    reverse_kernel(src, dst, threads, True).launch(grid=(blocks, 1, 1), block=(threads, 1, 1), stream=stream)


@cute.jit
def with_a_descriptor(src: cute.Tensor, dst: cute.Tensor):
    """Its descriptor for TMA asserts that the driver made it, which calls the DSL's own runtime."""
    create_tensor_map_tiled_from_view(src, box_dims=(64,), stride_order=(0,))
    reverse_kernel(src, dst, 64, True).launch(grid=(cute.size(src) // 64, 1, 1), block=(64, 1, 1))


def crashes(src):
    os.kill(os.getpid(), signal.SIGSEGV)


class Reverse:
    """The same, with the choice in an object."""

    def __init__(self, threads: int, waits: bool):
        self.threads, self.waits = threads, waits

    @cute.jit
    def __call__(self, src: cute.Tensor, dst: cute.Tensor):
        blocks = cute.size(src) // self.threads
        reverse_kernel(src, dst, self.threads, self.waits).launch(grid=(blocks, 1, 1), block=(self.threads, 1, 1))


@cute.jit
def launches_nothing(src: cute.Tensor):
    pass


def reverse_here(src):
    """As a project calls it: a torch tensor in, a torch tensor out."""
    dst = torch.empty_like(src, device="cuda")
    stream = driver.CUstream(torch.cuda.current_stream().cuda_stream)
    tensors = [from_dlpack(x, assumed_align=16).mark_layout_dynamic() for x in (src, dst)]
    compiled = cute.compile(reverse, *tensors, 64, stream)
    compiled(*tensors, stream)
    return dst


def reverse_twice(src, waits):
    """Two direct calls, one after the other."""
    between, dst = torch.empty_like(src), torch.empty_like(src)
    host = Reverse(64, waits)
    host(from_dlpack(src), from_dlpack(between))
    host(from_dlpack(between), from_dlpack(dst))
    return dst


def reversed_blocks(src, threads):
    return src.view(-1, threads).flip(1).reshape(-1)


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

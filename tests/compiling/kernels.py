"""Small CuTe kernels, each with something to be seen in what the compiler makes of it."""

import cutlass
from cutlass import cute
from cutlass.memory import SmemAllocator


def launch(kernel, threads=128):
    """A host function with one tensor that launches one block of the kernel."""

    @cute.jit
    def host(a: cute.Tensor):
        kernel(a).launch(grid=(1, 1, 1), block=(threads, 1, 1))

    return host


@cute.kernel
def double_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    a[t] = a[t] + a[t]


@cute.kernel
def wide_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    four = cute.local_tile(a, (4,), (t,))
    cute.autovec_copy(cute.local_tile(a, (4,), (t + 128,)), four)


@cute.kernel
def shared_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    smem = SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(128), byte_alignment=16)
    smem[t] = a[t]
    cute.arch.barrier()
    a[t] = smem[127 - t]


@cute.kernel
def spilling_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    kept = cute.make_rmem_tensor((300,), cutlass.Float32)
    for i in cutlass.range(300, unroll_full=True):
        kept[i] = a[t + i]
    cute.arch.barrier()
    for i in cutlass.range(300, unroll_full=True):
        a[t + i] = kept[i] * kept[(i * 7) % 300]


@cute.kernel
def local_array_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    array = cute.make_rmem_tensor((64,), cutlass.Float32)
    array.fill(0.0)
    for i in cutlass.range(64):
        array[cutlass.Int32(a[i])] = a[t]  # which element is known at run time only, and registers have no addresses
    a[t] = array[cutlass.Int32(a[t + 64])]


@cute.kernel
def printing_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    cute.printf("thread {} has {}", t, a[t])

"""CuTe host functions whose threads hand over values, each with the order that it needs and without."""

import cutlass
from cutlass import cute

THREADS = 32  # of a warp


class InCluster:
    """Through global memory, from block to block of a cluster."""

    def __init__(self, ordered):
        self.ordered = ordered

    @cute.kernel
    def kernel(self, x: cute.Tensor, tmp: cute.Tensor, y: cute.Tensor):
        t, _, _ = cute.arch.thread_idx()
        b, _, _ = cute.arch.block_idx()
        tmp[b * THREADS + t] = x[b * THREADS + t]
        if cutlass.const_expr(self.ordered):
            cute.arch.cluster_arrive()
            cute.arch.cluster_wait()
        y[b * THREADS + t] = tmp[(1 - b) * THREADS + t]

    @cute.jit
    def __call__(self, x: cute.Tensor, tmp: cute.Tensor, y: cute.Tensor):
        self.kernel(x, tmp, y).launch(grid=(2, 1, 1), block=(THREADS, 1, 1), cluster=(2, 1, 1))


class Dependent(InCluster):
    """From launch to launch, the second of which begins early."""

    @cute.kernel
    def first(self, x: cute.Tensor, tmp: cute.Tensor):
        t, _, _ = cute.arch.thread_idx()
        cute.arch.griddepcontrol_launch_dependents()
        tmp[t] = x[t]

    @cute.kernel
    def second(self, tmp: cute.Tensor, y: cute.Tensor):
        t, _, _ = cute.arch.thread_idx()
        if cutlass.const_expr(self.ordered):
            cute.arch.griddepcontrol_wait()
        y[t] = tmp[t]

    @cute.jit
    def __call__(self, x: cute.Tensor, tmp: cute.Tensor, y: cute.Tensor):
        self.first(x, tmp).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))
        self.second(tmp, y).launch(grid=(1, 1, 1), block=(THREADS, 1, 1), use_pdl=True)


class Named(InCluster):
    """From one warp to the next at a named barrier, twice. ordered: whether the first waits before it comes again."""

    @cute.kernel
    def kernel(self, x: cute.Tensor, y: cute.Tensor):
        t, _, _ = cute.arch.thread_idx()
        tile = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((THREADS, 2)))
        for k in cutlass.range(2, unroll=1):
            if cute.arch.make_warp_uniform(t // THREADS) == 0:
                tile[t, k] = x[k * THREADS + t]
                cute.arch.barrier_arrive(barrier_id=1, number_of_threads=2 * THREADS)
                if cutlass.const_expr(self.ordered):
                    cute.arch.barrier(barrier_id=2, number_of_threads=2 * THREADS)
            else:
                cute.arch.barrier(barrier_id=1, number_of_threads=2 * THREADS)
                y[k * THREADS + t - THREADS] = tile[t - THREADS, k]
                if cutlass.const_expr(self.ordered):
                    cute.arch.barrier_arrive(barrier_id=2, number_of_threads=2 * THREADS)

    @cute.jit
    def __call__(self, x: cute.Tensor, y: cute.Tensor):
        self.kernel(x, y).launch(grid=(1, 1, 1), block=(2 * THREADS, 1, 1))


class Arrival(InCluster):
    """From one warp to the next at an mbarrier. ordered: whether the warp meets before its first lane arrives for it.

    waits: whether the other warp waits, or tries once and reads whatever the answer.
    """

    def __init__(self, ordered, waits=True):
        self.ordered, self.waits = ordered, waits

    @cute.kernel
    def kernel(self, x: cute.Tensor, y: cute.Tensor):
        t, _, _ = cute.arch.thread_idx()
        allocator = cutlass.memory.SmemAllocator()
        tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
        full = allocator.allocate_array(cutlass.Int64, 1)
        if t == 0:
            cute.arch.mbarrier_init(full, 1)
        cute.arch.sync_threads()
        if t < THREADS:
            tile[t] = x[t]
            if cutlass.const_expr(self.ordered):
                cute.arch.sync_warp()
            if t == 0:
                cute.arch.mbarrier_arrive(full)
        else:
            if cutlass.const_expr(self.waits):
                cute.arch.mbarrier_wait(full, 0)
            else:
                cute.arch.mbarrier_try_wait(full, 0)
            y[t - THREADS] = tile[2 * THREADS - 1 - t]

    @cute.jit
    def __call__(self, x: cute.Tensor, y: cute.Tensor):
        self.kernel(x, y).launch(grid=(1, 1, 1), block=(2 * THREADS, 1, 1))

"""Kernels that the checker must refuse, each for its own reason. WRONG says what it must say of each."""

import math
from functools import cache

import cutlass
import torch
from cutlass import cute

from tutorlib.checking.cute import CuteExercise
from tutorlib.problems.catalogue import copy, gemm

THREADS = 128

COPY = CuteExercise(
    id="99.1", title="copy", points=6, problem=copy("fp32"), shapes=((256, 256), (192, 320), (64, 448)), dynamic=True
)


class NotSimulated(CuteExercise):
    """One whose kernels the GPU alone judges: the simulator would find some out before they are timed."""

    simulated = False


COPY_TIMED = NotSimulated(**{**vars(COPY), "bench_shape": (4096, 4096)})
GEMM = CuteExercise(
    id="99.2", title="gemm", points=6, problem=gemm("bf16"), shapes=((64, 64, 64), (96, 64, 160)), dynamic=True
)


@cute.jit
def blocks(size: cutlass.Int32) -> cutlass.Int32:
    return cute.ceil_div(size, THREADS)


def thread_index():
    """This thread's number in the whole grid."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    return block * THREADS + thread


def constant(tensor: torch.Tensor) -> cute.Tensor:
    """The memory of a torch tensor, its address a constant of the kernel."""
    pointer = cute.make_ptr(cutlass.Float32, tensor.data_ptr(), cute.AddressSpace.gmem, assumed_align=16)
    return cute.make_tensor(pointer, cute.make_layout(tensor.numel()))


def somewhere(size: int, value: float) -> torch.Tensor:
    return torch.full((size,), value, device="cuda" if torch.cuda.is_available() else "cpu")


LARGEST = max(math.prod(shape) for shape in COPY.shapes)


@cute.kernel
def unwritten_kernel(src: cute.Tensor, dst: cute.Tensor):
    raise NotImplementedError("Exercise 99.1")  # as students get it


@cute.jit
def unwritten(src: cute.Tensor, dst: cute.Tensor):
    unwritten_kernel(src, dst).launch(grid=(1, 1, 1), block=(1, 1, 1))


# Kernels of one thread for each element ---------------------------------------------------------------------------


@cute.kernel
def nothing_kernel(src: cute.Tensor, dst: cute.Tensor):
    if thread_index() < 0:
        dst[0, 0] = src[0, 0]


@cute.jit
def writes_nothing(src: cute.Tensor, dst: cute.Tensor):
    nothing_kernel(src, dst).launch(grid=(blocks(cute.size(dst)), 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def plain_kernel(src: cute.Tensor, dst: cute.Tensor, size: cutlass.Int32):
    i = thread_index()
    if i < size:
        n = dst.shape[1]
        dst[i // n, i % n] = src[i // n, i % n]


@cute.kernel
def overrun_kernel(src: cute.Tensor, dst: cute.Tensor):
    i = thread_index()
    m, n = src.shape
    if i < m * n:
        dst[i // n, i % n] = src[i // n, i % n]
    else:
        dst[i // n, i % n] = cutlass.Float32(0)


@cute.jit
def writes_past_the_end(src: cute.Tensor, dst: cute.Tensor):
    overrun_kernel(src, dst).launch(grid=(blocks(cute.size(dst)) + 1, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def before_kernel(src: cute.Tensor, dst: cute.Tensor):
    i = thread_index()
    m, n = src.shape
    if i < m * n:
        dst[i // n, i % n] = src[i // n, i % n]
        if i == 0:
            dst[0, -5] = cutlass.Float32(0)


@cute.jit
def writes_before_the_start(src: cute.Tensor, dst: cute.Tensor):
    before_kernel(src, dst).launch(grid=(blocks(cute.size(dst)), 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def scribble_kernel(src: cute.Tensor, dst: cute.Tensor):
    i = thread_index()
    m, n = src.shape
    if i < m * n:
        dst[i // n, i % n] = src[i // n, i % n]
        src[i // n, i % n] = cutlass.Float32(0)


@cute.jit
def modifies_its_input(src: cute.Tensor, dst: cute.Tensor):
    scribble_kernel(src, dst).launch(grid=(blocks(cute.size(dst)), 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def remember_kernel(src: cute.Tensor, dst: cute.Tensor, known: cute.Tensor, calls: cute.Tensor):
    i = thread_index()
    m, n = src.shape
    if i < m * n:
        row, column = i // n, i % n
        if calls[i] > 1.5:  # two honest calls for each element, then what the second one gave
            dst[row, column] = known[i]
        else:
            known[i] = src[row, column]
            dst[row, column] = src[row, column]
            calls[i] = calls[i] + 1


KNOWN, CALLS = somewhere(LARGEST, 0.0), somewhere(LARGEST, 0.0)


@cute.jit
def returns_an_earlier_output(src: cute.Tensor, dst: cute.Tensor):
    kernel = remember_kernel(src, dst, constant(KNOWN), constant(CALLS))
    kernel.launch(grid=(blocks(cute.size(dst)), 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def replay_kernel(dst: cute.Tensor, learnt: cute.Tensor):
    i = thread_index()
    m, n = dst.shape
    if i < m * n:
        dst[i // n, i % n] = learnt[i]


LEARNT = somewhere(LARGEST, 0.0).copy_(copy("fp32").random((1, LARGEST), torch.Generator().manual_seed(0))[0][0])


@cute.jit
def right_for_one_seed(src: cute.Tensor, dst: cute.Tensor):
    replay_kernel(dst, constant(LEARNT)).launch(grid=(blocks(cute.size(dst)), 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def tiring_kernel(src: cute.Tensor, dst: cute.Tensor, calls: cute.Tensor):
    i = thread_index()
    m, n = src.shape
    if i < m * n and calls[i] < 15.5:
        dst[i // n, i % n] = src[i // n, i % n]
        calls[i] = calls[i] + 1


@cache
def tiring_calls() -> torch.Tensor:
    return somewhere(4096 * 4096, 0.0)


@cute.jit
def tires_after_15_calls(src: cute.Tensor, dst: cute.Tensor):
    kernel = tiring_kernel(src, dst, constant(tiring_calls()))
    kernel.launch(grid=(blocks(cute.size(dst)), 1, 1), block=(THREADS, 1, 1))


def returns_the_reference(src, dst):
    dst.copy_(src)


@cute.jit
def launches_nothing(src: cute.Tensor, dst: cute.Tensor):
    cute.size(dst)


@cute.jit
def asks_for_too_many_threads(src: cute.Tensor, dst: cute.Tensor):
    plain_kernel(src, dst, cute.size(dst)).launch(grid=(1, 1, 1), block=(2048, 1, 1))


# Kernels that end the process's CUDA context ----------------------------------------------------------------------


@cute.kernel
def wild_kernel(src: cute.Tensor, dst: cute.Tensor):
    dst[thread_index() + (1 << 30), 0] = src[0, 0]


@cute.jit
def writes_to_an_illegal_address(src: cute.Tensor, dst: cute.Tensor):
    wild_kernel(src, dst).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def endless_kernel(src: cute.Tensor, dst: cute.Tensor):
    turns = cutlass.Int64(0)
    while turns < (1 << 62):
        dst[0, thread_index()] = src[0, 0] + turns.to(cutlass.Float32)
        turns += 1


@cute.jit
def never_ends(src: cute.Tensor, dst: cute.Tensor):
    endless_kernel(src, dst).launch(grid=(1, 1, 1), block=(32, 1, 1))


# GEMMs of one thread for each element of C ------------------------------------------------------------------------


@cute.kernel
def square_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    i = thread_index()
    m, n = c.shape
    if i < m * n:
        total = cutlass.Float32(0)
        for k in range(n):  # and not a.shape[1]
            total += a[i // n, k].to(cutlass.Float32) * b[i % n, k].to(cutlass.Float32)
        c[i // n, i % n] = total.to(cutlass.BFloat16)


@cute.jit
def right_for_square_sizes(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    square_kernel(a, b, c).launch(grid=(blocks(cute.size(c)), 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def half_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    i = thread_index()
    m, n = c.shape
    if i < m * n:
        total = cutlass.Float16(0)
        for k in range(a.shape[1]):
            product = a[i // n, k].to(cutlass.Float32) * b[i % n, k].to(cutlass.Float32)
            total = (total.to(cutlass.Float32) + product).to(cutlass.Float16)
        c[i // n, i % n] = total.to(cutlass.Float32).to(cutlass.BFloat16)


@cute.jit
def accumulates_in_fp16(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    half_kernel(a, b, c).launch(grid=(blocks(cute.size(c)), 1, 1), block=(THREADS, 1, 1))


# What the checker must say ----------------------------------------------------------------------------------------

WRONG = (
    (COPY, writes_nothing, "dst[0, 0] is still NaN: the kernel never wrote it. Unwritten: all 65,536 elements"),
    (COPY, writes_past_the_end, "wrote outside dst: 128 elements after its end, the first 1 past the last one"),
    (
        COPY,
        writes_before_the_start,
        "wrote outside dst: 1 element before its start, the nearest 5 before the first one",
    ),
    (COPY, modifies_its_input, "the kernel changed its input src"),
    (COPY, returns_an_earlier_output, "It is the right result for the inputs of the call before"),
    (COPY, right_for_one_seed, "Wrong: all 65,536 elements"),
    (COPY_TIMED, tires_after_15_calls, "right when checked, wrong while it was timed: dst[0, 0] is still NaN"),
    (COPY, returns_the_reference, "returns_the_reference is not a @cute.jit function"),
    (COPY, launches_nothing, "launches no kernel"),
    (COPY, asks_for_too_many_threads, "could not be launched"),
    (GEMM, right_for_square_sizes, "It is right at 64×64×64, where all sizes agree"),
    (GEMM, accumulates_in_fp16, "Is every intermediate value in fp32"),
)

FATAL = (
    (COPY, writes_to_an_illegal_address, "error", "it read or wrote outside its tensors (illegal memory access)"),
    (COPY, never_ends, "timeout", "it is still running after"),
)

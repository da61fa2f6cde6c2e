# ---
# jupyter:
#   tutorlib:
#     minutes: 70
#     appendix: 20
#     summary: What a launch costs; caches of compiled kernels, CUDA graphs, kernels saved for other GPUs.
# ---

# %% [markdown]
# # 17 · Compile once
#
# The first call of a GEMM costs the host hundreds of milliseconds. A later call of even the smallest kernel can cost
# 45 µs. The host launches ahead of the GPU, so its time is hidden as long as each kernel runs longer than its
# launch takes. A 5 µs kernel whose launch takes 45 µs leaves the GPU idle for 40 of them.
#
# Notebooks 05 to 16 were about GPU time; this one is about host time. Where does the first call spend its time, how
# much of that does the second call repeat, and how cheap can a launch be?
#
# > **After this page you can** say what each step of a first call adds to the average call, predict which calls
# > recompile, cache compiled kernels under a key that is neither too coarse nor too fine, launch as cheaply as PyTorch
# > does, capture launches in a CUDA graph and replay them, and save kernels for the next process and for GPUs that you
# > do not have. After the appendix (exercises 17.7 and 17.8), you can also lay out shared memory with structs and call
# > PTX instructions that the DSL does not wrap.
# >
# > **It takes** about 70 minutes, on any machine; its appendix about 20 more. Do the exercises in the order of the
# > page, which is not always that of their numbers.

# %%
import os

import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings.driver import CUstream

from tutorlib import (
    TensorSpec, check, compilations, compile_cute, run_on_gpu, show_later_calls, show_new_processes,
    show_stages,
)  # fmt: skip

# %% [markdown]
# ## Where a first call's time goes
#
# This kernel computes y = 2x and does almost no work, so the overhead dominates:

# %%
THREADS = 128


@cute.kernel
def double_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(x):
        y[i] = x[i] + x[i]


@cute.jit
def double(x: cute.Tensor, y: cute.Tensor, stream: CUstream):
    blocks = cute.ceil_div(cute.size(x), THREADS)
    double_kernel(x, y).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1), stream=stream)


# %% [markdown]
# Its first call goes through these steps, where **IR** is the compiler's intermediate representation:
#
# | step | what happens | needs a GPU |
# |---|---|---|
# | tracing | your Python runs, and the DSL records its operations as IR (notebook 04: `print` happens here) | no |
# | lowering | the compiler's passes turn layouts, copies and loops into LLVM IR | no |
# | machine code | LLVM writes PTX, and `ptxas` assembles it | no |
# | host code | the host function becomes your CPU's machine code, linked into this process | if it launches a kernel |
# | loading | the driver puts the kernel on the GPU | yes |
# | launch | arguments are packed and passed to the driver | yes |
#
# The first three need no GPU, so the next cell measures them on *your* machine. `show_stages` is part of this course:
# it times the DSL's own functions and has MLIR report the time of each pass (`enable_timing` of its PassManager).
# **Predict**: which of the three takes longest for such a small kernel, and which shrinks most when you compile the
# same function again? The last two lines of the output answer.

# %%
from cutlass.cute.runtime import from_dlpack, make_fake_stream

# %%
vector = TensorSpec((1024,), dynamic=True)
first, second = (
    show_stages(attempt, double, vector.fake(), vector.fake(), make_fake_stream()) for attempt in ("first", "second")
)
stages = ("trace", "lower", "machine_code")
print("longest, first call:", max(stages, key=lambda stage: getattr(first, stage)))
print("shrinks most:", max(stages, key=lambda stage: getattr(first, stage) - getattr(second, stage)))

# %% [markdown]
# The second compilation is shorter because some work happens once per process: the DSL rewrites your source, and the
# compiler loads its own code. But it is not free: `cute.compile` caches nothing and compiles every time you call it.
# Next comes a real kernel, the GEMM of notebook 12:

# %%
from tutorlib.kernels.ladder import AMPERE_RUNGS

gemm = AMPERE_RUNGS[-1].host
matrix = TensorSpec((4096, 4096), "bf16")
_ = show_stages("GEMM", gemm, *[matrix.fake() for _ in range(3)], arch="sm_80")

# %% [markdown]
# On a GPU, two more steps follow: loading the machine code, and the launch itself. The launch takes microseconds, and
# is all that you want.
#
# So do everything before the launch only once. Once per process, or once for all processes?
#
# **Exercise 17.1** (about 6 lines). Write `per_call(way, calls, trace, compile, load, launch)`: the average µs per call
# over the first `calls` calls of a process. The last four arguments are the µs that each step takes; `compile` is
# lowering, machine code and host code together. There are four ways:
#
# - `"nothing kept"`: every call goes through all four steps;
# - `"traced each time"`: a direct call of a `@cute.jit` function. The DSL caches compiled functions that are loaded,
#   and looks them up *by their IR*. What must it do to get the IR?
# - `"kept"`: `cute.compile` runs once, and you keep the result;
# - `"loaded"`: an earlier process compiled the function and saved it; this one only loads it.


# %%
def per_call(way, calls, trace, compile, load, launch):
    ### BEGIN SOLUTION (about 6 lines)
    every, once = {
        "nothing kept": (trace + compile + load + launch, 0),
        "traced each time": (trace + launch, compile + load),
        "kept": (launch, trace + compile + load),
        "loaded": (launch, load),
    }[way]
    return every + once / calls
    ### END SOLUTION


# %%
check("17.1", per_call)

# %% [markdown]
# Here are the averages over a thousand calls. 73 ms for tracing and 241.5 ms for compiling are from a talk of NVIDIA's
# on the CuTe DSL, for a GEMM on a B100; 10 µs for a launch and 1,000 µs for loading are round numbers. (The first load
# of a new process takes longer; the section *Compiled once and for all* looks at its steps.)

# %%
for way in ("nothing kept", "traced each time", "kept", "loaded"):
    print(f"{way:18}{per_call(way, 1000, 73_000, 241_500, 1_000, 10):12,.1f} µs a call")

# %% [markdown]
# The second line is the default. The DSL does have a cache, and yet every call costs 73 ms, because the DSL must trace
# your function to learn that nothing has changed.
#
# ## What compiles again
#
# To cache compiled functions yourself, you must know which calls can share one. The DSL knows, so ask it: a direct call
# compiles exactly when its IR is new, and `scale` below runs on the CPU. Notebook 04 compared static and dynamic
# layouts; this cell adds the other cases. **Predict** the number of compilations on each line before you run it.


# %%
@cute.jit
def scale(x: cute.Tensor, factor: cutlass.Constexpr):
    for i in range(cute.size(x)):
        x[i] = (x[i] * factor).to(x.element_type)


def compiles(what, calls):
    before = compilations()
    for view, factor in calls:
        scale(view, factor)
    print(f"{what:40}{compilations() - before} of {len(calls)}")


def rows(m, n, dtype=torch.float32, align=None):
    return from_dlpack(torch.zeros(m, n, dtype=dtype), assumed_align=align)


def free(m, n, **options):
    return rows(m, n, **options).mark_layout_dynamic()


def free_rows(m, n):
    return rows(m, n).mark_compact_shape_dynamic(mode=0, stride_order=(0, 1))


sizes = (8, 16), (12, 16), (8, 32), (8, 16)
compiles("static, four sizes", [(rows(m, n), 2.0) for m, n in sizes])
compiles("mark_layout_dynamic, the same sizes", [(free(m, n), 2.0) for m, n in sizes])
compiles("mode 0 dynamic, the same sizes", [(free_rows(m, n), 2.0) for m, n in sizes])
compiles("fp16, bf16", [(free(8, 16, dtype=dtype), 2.0) for dtype in (torch.float16, torch.bfloat16)])
compiles("aligned to 8 bytes, to 16", [(free(8, 16, align=align), 2.0) for align in (8, 16)])
compiles("factors 3.0, 2, 3.0, 2.0", [(free(8, 16), factor) for factor in (3.0, 2, 3.0, 2.0)])

# %% [markdown]
# The code depends on the type of each tensor and on the constants:
#
# - A **static** layout puts every size and stride into the type.
# - **`mark_layout_dynamic`** keeps only the rank and the mode with stride 1.
# - **`mark_compact_shape_dynamic(mode=0)`** makes the size of one mode dynamic. The other sizes and the order of the
#   strides stay static. This suits a GEMM whose N and K come from a layer's weights and whose M is the batch. (A
#   `divisibility=` for the dynamic mode is part of the type, too.)
# - The **dtype** is part of the type, and so is the **alignment** that CuTe may assume. A float alone guarantees 4
#   bytes; 16 allows vector accesses.
# - A **Constexpr** is a constant in the code. The last line counts only 3.0 and 2, because 2.0 was compiled on the
#   second line. So 2 and 2.0 produce different code, although they are the same key of a Python dictionary.
#
# **Exercise 17.2** (about 10 lines). Write `compilations_of(calls)`: how many compilations a sequence of direct calls
# `f(x, factor)` needs in a new process. `x` is a matrix without gaps, no size is 1, and `factor` is a Constexpr. A call
# is a tuple `(dtype, shape, stride, align, marked, factor)`; `marked` is `"static"`, `"layout"` for
# `mark_layout_dynamic`, or the number of the mode given to `mark_compact_shape_dynamic`; `align` is a number of bytes,
# never None.


# %%
def compilations_of(calls):
    ### BEGIN SOLUTION (about 10 lines)
    types = set()
    for dtype, shape, stride, align, marked, factor in calls:
        layout = shape, stride
        if marked == "layout":
            layout = len(shape), stride.index(1)
        elif marked != "static":
            others = tuple(size for mode, size in enumerate(shape) if mode != marked)
            layout = others, sorted(range(len(shape)), key=lambda mode: stride[mode]) == [0, 1]
        types.add((dtype, align, marked, layout, type(factor), factor))
    return len(types)
    ### END SOLUTION


# %%
check("17.2", compilations_of)

# %% [markdown]
# Variables that the function captures from outside become constants of the IR, too: a global of the notebook, or a
# local of the enclosing function (a *closure*). **Predict** the two results:

# %%
SCALE = 2.0


@cute.jit
def scale_by_global(x: cute.Tensor):
    for i in range(cute.size(x)):
        x[i] = x[i] * SCALE


ones = [torch.ones(3), torch.ones(3)]
kept = cute.compile(scale_by_global, from_dlpack(ones[0]))
SCALE = 10.0
kept(from_dlpack(ones[0]))
scale_by_global(from_dlpack(ones[1]))
print("kept:", ones[0], "called directly:", ones[1])

# %% [markdown]
# The direct call traced again and saw the new value; the compiled function kept the old one. So pass any value that can
# change as an argument: either a run-time argument, or a Constexpr, which then belongs in the key of your cache.
#
# ## The key
#
# From here on, compile with dynamic layouts, for any size. Only one property of the sizes and addresses still matters:
# `ld.global.v4` (notebook 04) and 16-byte `cp.async` (notebook 05) need aligned addresses. So a kernel treats each
# tensor in one of two ways, and the compiled code differs: if the tensor's address and the start of every row (or
# column, if columns are contiguous) are multiples of 16 bytes, the kernel accesses it 16 bytes at a time, and otherwise
# element by element.
#
# **Exercise 17.3** (about 8 lines). Write `cache_key(tensors, constants, arch)`: a key for a dictionary. `tensors` are
# torch tensors, each with exactly one stride of 1 and no size of 1; `constants` is a tuple, the Constexpr arguments;
# `arch` is the GPU architecture, such as `"sm_90a"`. Calls that can share a compilation must have equal keys; all
# others must have different ones. So the sizes and strides themselves do not belong in the key.
#
# `t.data_ptr()` is a tensor's address, `t.element_size()` an element's bytes, and `t.stride()` counts elements.


# %%
def cache_key(tensors, constants, arch):
    ### BEGIN SOLUTION (about 8 lines)
    def tensor_key(t):
        leading = t.stride().index(1)
        steps = [step for mode, step in enumerate(t.stride()) if mode != leading]
        starts = [t.data_ptr(), *(step * t.element_size() for step in steps)]
        return t.dtype, t.ndim, leading, all(start % 16 == 0 for start in starts)

    return arch, tuple(map(tensor_key, tensors)), tuple((type(c), c) for c in constants)
    ### END SOLUTION


# %%
check("17.3", cache_key)

# %% [markdown]
# A key that is too coarse runs the wrong code: notebook 04's `total_of_6` trusted its static layout and gave no error.
# A key that is too fine compiles too often, and in a service that sees a new sequence length every second, the cache
# leaks memory.
#
# **Exercise 17.4** (about 5 lines). Write the cache. You call an instance of `CompiledKernels(compile, key)` with
# tensors. `key(*tensors)` returns their key and `compile(*tensors)` a compiled function; the instance compiles only for
# a new key, calls the function with the tensors, and returns its result. Each instance has its own cache, and keeps
# no tensor alive.


# %%
class CompiledKernels:
    def __init__(self, compile, key):
        ### BEGIN SOLUTION (about 1 line)
        self.compile, self.key, self.kept = compile, key, {}
        ### END SOLUTION

    def __call__(self, *tensors):
        ### BEGIN SOLUTION (about 4 lines)
        key = self.key(*tensors)
        if key not in self.kept:
            self.kept[key] = self.compile(*tensors)
        return self.kept[key](*tensors)
        ### END SOLUTION


# %%
check("17.4", CompiledKernels)

# %% [markdown]
# Now use `cache_key` and `CompiledKernels` on the CPU. How many compilations do these twelve tensors need?


# %%
@cute.jit
def negate(x: cute.Tensor):
    for i in range(cute.size(x)):
        x[i] = -x[i]


def compile_negate(x):
    print("compiling for", x.dtype, tuple(x.shape))
    compiled = cute.compile(negate, from_dlpack(x).mark_layout_dynamic())
    return lambda x: compiled(from_dlpack(x).mark_layout_dynamic())


negated = CompiledKernels(compile_negate, lambda x: cache_key([x], (), "cpu"))
for dtype in (torch.float32, torch.float16):
    for n in (8, 24, 64, 1000, 8, 24):
        x = torch.ones(n, dtype=dtype)
        negated(x)
        assert x.eq(-1).all()

# %% [markdown]
# Two, one for each dtype: the sizes are not in the key, and all of these tensors begin at multiples of 16 bytes.
#
# ## A bound, and threads
#
# `CompiledKernels` never evicts a function, so in a service that keeps meeting new keys it grows without limit. A
# service therefore bounds its cache and evicts the **least recently used** function (LRU). If every call moves its key
# to the end of an `OrderedDict`, that function is the first one: `kept.popitem(last=False)` removes it.
#
# The DSL unloads a kernel from the GPU when the last reference to its compiled function is gone. So eviction frees
# memory only if the cache holds the last reference. Conversely, hold a reference as long as you need the kernel.
#
# Services are multithreaded, too. Between the lookup and the insertion, a second thread can look up the same key, and
# both compile. One lock around the whole call prevents this, but then a compilation in one thread stalls all others,
# and no two functions run at the same time. So take two locks: one for the dictionary, held only for a lookup or an
# insertion, and one for compiling. A thread that has waited for the second lock looks up its key again, because the
# thread before it may have compiled it. This is *double-checked locking*:
#
#     look up the key; if it is missing:
#         with the compiling lock: look it up again; if it is still missing: compile, insert, evict
#     call, and hold no lock
#
# ## What is left of a call
#
# The dictionary removes tracing and compiling. What is left? The next cell computes y = αx + y for four elements on
# your CPU, in four ways and with PyTorch's own operator. **Predict** the order of magnitude of each.


# %%
import time


@cute.jit
def axpy(alpha: cutlass.Float32, x: cute.Tensor, y: cute.Tensor):
    for i in range(cute.size(x)):
        y[i] = alpha * x[i] + y[i]


def view(tensor, **options):
    return from_dlpack(tensor, **options).mark_layout_dynamic()


def time_call(name, call, calls):
    call()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    print(f"{name:36}{(time.perf_counter() - start) / calls * 1e6:12,.1f} µs")


x, y = torch.ones(4), torch.ones(4)
alpha = cutlass.Float32(0.0)
x_view, y_view = view(x), view(y)
compiled = cute.compile(axpy, alpha, x_view, y_view)
stand_ins = view(x, enable_tvm_ffi=True), view(y, enable_tvm_ffi=True)
with_ffi = cute.compile(axpy, alpha, *stand_ins, options="--enable-tvm-ffi")

time_call("called directly", lambda: axpy(alpha, view(x), view(y)), 20)
time_call("compiled, tensors through DLPack", lambda: compiled(0.0, view(x), view(y)), 2000)
time_call("compiled, views kept, too", lambda: compiled(0.0, x_view, y_view), 2000)
time_call("compiled with --enable-tvm-ffi", lambda: with_ffi(0.0, x, y), 2000)
time_call("torch: y.add_(x, alpha=0)", lambda: y.add_(x, alpha=0.0), 2000)

# %% [markdown]
# Most of the time of a compiled call is Python: wrapping each tensor (DLPack), then packing the arguments. **TVM-FFI**
# is a calling convention in which you pass torch tensors directly and compiled code unpacks them. It needs a compile
# option and the package `apache-tvm-ffi`. The compiled code also checks each tensor's dtype, rank, strides and more:

# %%
for wrong in ((x.half(), y), (x.reshape(2, 2), y), (torch.ones(8)[::2], y)):
    try:
        with_ffi(0.0, *wrong)
    except Exception as error:
        print(f"{type(error).__name__}: {str(error).splitlines()[0]}")

# %% [markdown]
# **Exercise 17.5** (about 6 lines). Write `for_torch(host, *arguments)`: compile a `@cute.jit` function, and return a
# function that takes torch tensors of any size directly. `arguments` are examples of the arguments in later calls:
# replace each torch tensor with a dynamic view (made with `enable_tvm_ffi=True`) that has the same contiguous mode, and
# leave `assumed_align` at its default, an element's size, so that any address will do. Pass all other arguments to
# `cute.compile` unchanged.
#
# A launch needs a *stream*. With TVM-FFI, the compiled function can look up torch's current stream itself: the caller
# passes `make_fake_stream(use_tvm_ffi_env_stream=True)` as one of `arguments`, and omits it in later calls.


# %%
def for_torch(host, *arguments):
    ### BEGIN SOLUTION (about 6 lines)
    views = [
        from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic(leading_dim=a.stride().index(1))
        if isinstance(a, torch.Tensor)
        else a
        for a in arguments
    ]
    return cute.compile(host, *views, options="--enable-tvm-ffi")
    ### END SOLUTION


# %%
check("17.5", for_torch)

# %% [markdown]
# ## Replaying launches
#
# You can avoid even the launch. A **CUDA graph** holds launches, and one driver call **replays** them all, without the
# Python between them. You fill it by a **capture**: the driver records the work that you put on a stream, and runs none
# of it.
#
#     graph = torch.cuda.CUDAGraph()
#     with torch.cuda.graph(graph):  # makes a new stream torch's current one, and captures it
#         …                          # launches
#     graph.replay()                 # runs them, on the current stream
#
# - **The stream.** Only work on the capturing stream gets into the graph. A function with a stream among its arguments,
#   such as `double` above, takes the driver's handle: `CUstream(torch.cuda.current_stream().cuda_stream)`. Ask for it
#   inside the `with`, where the current stream is the capturing one. During a capture, CUDA refuses launches on the
#   default stream.
# - **The first launch** of a kernel loads it, which may allocate memory or wait for the GPU, and neither is allowed in
#   a capture. So launch once before it.
# - **The memory.** A graph holds addresses. Every replay reads the same `x` and writes the same `y`, so a graph needs
#   buffers of its own that live as long as it does. Copy each new input into them, then replay.
# - **The host.** Python runs during the capture only. It cannot wait for a result there, because the kernels do not
#   run. Nor does it have to wait around a replay: the copy, the graph, and the kernels that read `y` later are in order
#   on one stream.
#
# **Exercise 17.9** (about 14 lines). Write `graphed(launches, x, y)`. `launches(x, y, stream)` launches kernels that
# read `x` and write `y`; `stream` is a `CUstream`. Capture them once, and return a function that takes another `x` of
# this shape, replays the kernels on it, and returns their `y`, which the next replay may overwrite. The `x` and `y`
# passed to `graphed` are examples: leave them as they are.
#
# The check needs no GPU: a stand-in for `torch.cuda` runs the launches on CPU tensors and applies the rules above.


# %%
def graphed(launches, x, y):
    ### BEGIN SOLUTION (about 14 lines)
    x, y = x.clone(), torch.empty_like(y)

    def launch():
        launches(x, y, CUstream(torch.cuda.current_stream().cuda_stream))

    launch()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch()

    def replay(new):
        x.copy_(new)
        graph.replay()
        return y

    return replay
    ### END SOLUTION


# %%
check("17.9", graphed)

# %% [markdown]
# The table shows the cost per launch of `double` on a GPU machine. **host** is the time until the call returns. **until
# done** is the total time of a long series of launches, until the GPU has finished the last, divided by their number.
# "Kept" is a compiled function in a variable, "kept in a dictionary" one in `CompiledKernels`. **Predict**: which ways
# cost the host less than PyTorch's own launch, and in which does the GPU set the pace?

# %%
show_later_calls()

# %% [markdown]
# Only TVM-FFI without the dictionary and the two graphs are cheaper than `torch.add`. Down the table you save
# compiling, tracing, wrapping the tensors, packing the arguments, and in the end the launch itself. The dictionary adds
# a cost to its two rows: building the key is Python, and takes about as long as the TVM-FFI launch that follows. If a
# loop calls one kernel a thousand times, look it up once, before the loop.
#
# In all rows but one, *until done* is about the host's time: the GPU waits for the host. Only in the graph of 20
# launches does the GPU set the pace: a launch costs the host 0.12 µs, and a kernel that does almost nothing costs the
# GPU 1.0 µs.

# %% [markdown]
# ## Compiled once and for all
#
# The next process starts from scratch. `export_to_c` writes a compiled function, host code and kernel, to an object
# file; `cute.runtime.load_module` loads it.
#
# **Exercise 17.6** (about 8 lines). Write `load_or_compile(folder, name, compile)`: load the function from the file
# `folder / f"{name}.o"`; if the file does not exist, call `compile()` and save the result there first. `folder` is a
# `Path` that may not exist yet, and `compile()` returns a function compiled with `--enable-tvm-ffi`. You need:
#
#     compiled.export_to_c(str(file), name)
#     cute.runtime.load_module(str(file), enable_tvm_ffi=True)[name]
#
# One more requirement: if a process dies while it writes, no partial file may remain under the final name.
# `os.replace(a, b)` renames atomically within one file system, so write the temporary file to `folder`, too, under a
# name that no other process uses. Leave no other file there.


# %%
def load_or_compile(folder, name, compile):
    ### BEGIN SOLUTION (about 8 lines)
    file = folder / f"{name}.o"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        half = folder / f"{name}.{os.getpid()}.o"
        compile().export_to_c(str(half), name)
        os.replace(half, file)
    return cute.runtime.load_module(str(file), enable_tvm_ffi=True)[name]
    ### END SOLUTION


# %%
check("17.6", load_or_compile)

# %% [markdown]
# The name should encode the whole key plus the versions of the DSL and of your source: nothing else detects a stale
# file. Now call `axpy` from a process that does not have its source. How long does that process need, once it has
# imported torch and CuTe?

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    load_or_compile(Path(folder), "axpy", lambda: for_torch(axpy, alpha, x, y))
    code = f"""
import time, torch
from cutlass import cute
start = time.perf_counter()
axpy = cute.runtime.load_module("{folder}/axpy.o", enable_tvm_ffi=True)["axpy"]
y = torch.ones(3)
axpy(10.0, torch.arange(3.0), y)
print(y, f"after {{(time.perf_counter() - start) * 1e3:.0f}} ms")
"""
    print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)

# %% [markdown]
# Here is the recorded time for `double` and its kernel in a new process, until the first call has finished on the GPU.
# Both numbers leave out the start of CUDA and the imports of torch and CuTe.

# %%
show_new_processes()

# %% [markdown]
# *Compiled and saved* compiles the host code again for TVM-FFI, and once more for the file, and then loads
# the file. But what takes the 69 ms of *loaded*? Look at the host's share, on *your* machine: a new process loads
# the `negate` of this page step by step. **Predict** which step takes longest:

# %%
steps = """
import sys, time, torch
from cutlass import cute

def end_of(step):
    global start
    print(f"{step:20}{(time.perf_counter() - start) * 1e3:8.2f} ms")
    start = time.perf_counter()

x = torch.ones(8)
start = time.perf_counter()
import tvm_ffi
end_of("import tvm_ffi")
module = cute.runtime.load_module(sys.argv[1], enable_tvm_ffi=True)
end_of("load_module")
negate = module["negate"]
end_of("find the function")
negate(x)
end_of("first call")
negate(x)
end_of("second call")
"""
with tempfile.TemporaryDirectory() as folder:
    load_or_compile(Path(folder), "negate", lambda: for_torch(negate, torch.ones(8)))
    new = [sys.executable, "-c", steps, f"{folder}/negate.o"]
    print(subprocess.run(new, capture_output=True, text=True, check=True).stdout)

# %% [markdown]
# The longest step loads no kernel at all: it imports the package `tvm_ffi`, which `load_module` would otherwise do at
# its first call. A process does that once, for all its kernels. `load_module` itself links the host code, for one file.
#
# The kernel reaches the GPU later. The object file holds the cubin as data, and its host code passes it to the driver
# in the first call. By default (`CUDA_MODULE_LOADING=LAZY`) the driver then only records the kernel, and copies its
# code to the GPU at the first launch; with `EAGER` it copies at once.
#
# A process pays for these steps once. Let it pay before the service takes requests: import, load, and call each kernel
# once.
#
# ## For a GPU that you do not have
#
# Compiling needs no GPU. Nor does saving, which writes the host code to the file and does not link it into this
# process. So a machine without a GPU can build the kernels for all of your GPUs. Pass stand-ins for the tensors, such
# as `vector.fake()` with the `vector` of this page's first cells, and name the **target** with `--gpu-arch`; without it
# the DSL compiles for the GPU of the machine. The next cell saves `double` for three generations on your machine, and
# reads the target from the PTX and from byte 49 of the machine code's ELF header:

# %%
with tempfile.TemporaryDirectory() as folder:
    for target in ("sm_80", "sm_90a", "sm_100a"):
        keep = f"--keep-ptx --keep-cubin --dump-dir {folder}"
        arguments = vector.fake(), vector.fake(), make_fake_stream()
        built = cute.compile(double, *arguments, options=f"--enable-tvm-ffi --gpu-arch {target} {keep}")
        built.export_to_c(f"{folder}/double.{target}.o", "double")
        (named,) = [line for line in built.__ptx__.splitlines() if line.startswith(".target")]
        print(f"{named}; machine code for {built.__cubin__[49]}, {len(built.__cubin__):,} bytes")
    print(*sorted(file.name for file in Path(folder).glob("*.o")))

# %% [markdown]
# Machine code for sm_80 runs on every GPU of compute capability 8.x, but not on 9.0. A target with an `a` has the
# instructions that only this architecture offers (`wgmma` on sm_90a, `tcgen05` on sm_100a), and its code runs on no
# other. So a kernel for A100, H100 and B200 takes three files, and the program that loads one of them chooses by its
# GPU.
#
# ## What to remember
#
# - Host time is hidden as long as kernels run longer than their launches take.
# - A first call is tracing, lowering, machine code, host code, loading and launch. If you keep the compiled function, a
#   later call is only the launch.
# - The DSL's own cache is keyed by the IR, so a direct call always traces. Compile once and keep the result.
# - A key contains everything the code depends on: dtype, rank, contiguous mode, alignment, constants with their types,
#   architecture. With dynamic layouts it contains no sizes.
# - A compiled function does not see changes to the variables that it captured.
# - A cache in a service has a bound and two locks: hold none while a function runs, and look again before you compile.
# - TVM-FFI takes torch tensors directly and checks them.
# - A CUDA graph replays many launches with one call. Launch once before the capture, on the current stream in it, and
#   copy each input into the graph's own buffer.
# - Save under a temporary name, then rename. The name encodes the key, the target and the versions.
# - A first load includes work that a process does once: do it before the first request. You can compile for a GPU that
#   you do not have.
#
# The appendix has two more exercises: structs for shared memory, and PTX instructions that the DSL does not wrap.
#
# ## Test yourself
#
# <details><summary>1. A service calls a GEMM with M from 1 to 4,096, N and K fixed, both 4,096. Which layouts do you
# choose, and how many compilations do they need?</summary>
#
# Only M dynamic (<code>mark_compact_shape_dynamic(mode=0)</code> for A and C), and B static. One compilation is enough,
# and the compiler still knows N and K. With static layouts there would be up to 4,096.
#
# </details>
#
# <details><summary>2. A cache is keyed by dtype and leading mode only. A caller passes <code>x[:, 1:]</code>, of fp16.
# What happens?</summary>
#
# Its address is 2 bytes past a multiple of 16. If the cached kernel was compiled for 16-byte accesses, it fails with a
# misaligned-address error, after which the process cannot use the GPU. With the alignment in the key, the call gets a
# kernel of its own. (If the kernel was compiled with <code>assumed_align=16</code>, TVM-FFI checks the address, and
# raises an exception before the launch.)
#
# </details>
#
# <details><summary>3. You change a helper function that the kernel calls, and the results stay the same. Where do you
# look?</summary>
#
# In every cache whose key ignores the source: the dictionary of a running notebook, and the folder of object files. A
# direct call would have traced the new source.
#
# </details>

# %% [markdown]
# ## Appendix: Structs
#
# A pipelined kernel keeps several objects in shared memory: the tiles of each stage and a pair of mbarriers per stage.
# Computing their offsets by hand is error-prone: TMA with the 128-byte swizzle needs its tile at a multiple of 1,024
# bytes, an mbarrier needs a multiple of 8, and an extra stage moves everything. `cute.struct` computes them:


# %%
@cute.struct
class Mixed:
    flag: cutlass.Int8
    barrier: cutlass.Int64
    scales: cute.struct.MemRange[cutlass.BFloat16, 3]
    tile: cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, 8], 128]
    count: cutlass.Int32


# %% [markdown]
# The rules are C's. A member begins at the next multiple of its alignment, which is its own size for a number, the
# element's size for a `MemRange` (an array), and at least n for `Align[…, n]`. The struct's alignment is the strictest
# of its members', and its size is rounded up to a multiple of that. **Predict** the offsets of the five members and the
# size of the struct:

# %%
print(Mixed._offsets, "size", Mixed.__sizeof__(), "alignment", Mixed.__alignof__())

# %% [markdown]
# **Exercise 17.7** (about 8 lines). Write `struct_layout(members)` for members given as `(bytes, alignment)`, in order.
# Return a pair: a tuple of their offsets, and the struct's size.


# %%
def struct_layout(members):
    ### BEGIN SOLUTION (about 8 lines)
    offsets, end = [], 0
    for size, align in members:
        start = -(-end // align) * align
        offsets.append(start)
        end = start + size
    strictest = max(align for _, align in members)
    return tuple(offsets), -(-end // strictest) * strictest
    ### END SOLUTION


# %%
check("17.7", struct_layout)

# %% [markdown]
# In a kernel you pass the struct to the allocator, `storage = SmemAllocator().allocate(Storage)`, and access members by
# name: `storage.full.data_ptr()` is a pointer to barriers, and `storage.sA.get_tensor(layout)` a tensor, swizzled if
# you pass `swizzle=` or a composed layout.
#
# The struct of a GEMM with 128×256×64 tiles in bf16 and four stages has two arrays of mbarriers (64 bits each) and the
# tiles of all stages. Only the tiles need `Align`; one gap of less than 1,024 bytes aligns them both:


# %%
@cute.struct
class Storage:
    full: cute.struct.MemRange[cutlass.Int64, 4]
    empty: cute.struct.MemRange[cutlass.Int64, 4]
    sA: cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, 128 * 64 * 4], 1024]
    sB: cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, 256 * 64 * 4], 1024]


# %% [markdown]
# In the next kernel, thread 0 initializes two of the barriers, and each thread writes one element of a swizzled tile.
# **Predict** the offsets of `full[3]`, `empty[0]` and `sB` in the PTX. The struct has no run-time
# cost: its offsets are constants in the instructions. (The report's total is 1,024 bytes more than the struct: CUDA
# reserves them in each block that uses shared memory.)


# %%
from cutlass.memory import SmemAllocator


@cute.kernel
def storage_kernel(y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    storage = SmemAllocator().allocate(Storage)
    if thread == 0:
        cute.arch.mbarrier_init(storage.full.data_ptr() + 3, 1)
        cute.arch.mbarrier_init(storage.empty.data_ptr(), 8)
    tile = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((128, 64), stride=(64, 1)))
    sB = storage.sB.get_tensor(tile)
    sB[thread, 0] = cutlass.BFloat16(1.0)
    cute.arch.sync_threads()
    y[thread] = sB[thread, 0].to(cutlass.Float32)


@cute.jit
def use_storage(y: cute.Tensor):
    storage_kernel(y).launch(grid=(1, 1, 1), block=(128, 1, 1))


in_use = compile_cute(use_storage, [TensorSpec((128,))], "sm_90a")
print(in_use, Storage._offsets, sep="\n")
print(*[line for line in in_use.body.splitlines() if "mbarrier" in line or "shared" in line], sep="\n")

# %% [markdown]
# ## Appendix: Below the DSL
#
# NVIDIA's GPUs have instructions that the DSL does not wrap. There are two ways to reach them, and both give you a
# function like any other. The first is inline PTX: the instruction as text. To keep the examples simple, they use
# instructions for which `cute.arch` already has functions (`exp2`, `lop3`, `warp_redux_sync`):


# %%
from cutlass._mlir.dialects import llvm, nvvm
from cutlass.cutlass_dsl import T, dsl_user_op


# %%
@dsl_user_op
def exp2_approx(a, *, loc=None, ip=None):
    return cutlass.Float32(
        llvm.inline_asm(
            T.f32(),  # the result's type
            [cutlass.Float32(a).ir_value(loc=loc, ip=ip)],  # $1, $2, …
            "ex2.approx.ftz.f32 $0, $1;",
            "=f,f",  # a float out, a float in; r: 32-bit integer, l: 64-bit, h: 16-bit
            has_side_effects=False,  # or the compiler keeps it even if its result is unused
            loc=loc,
            ip=ip,
        )
    )


@cute.kernel
def powers_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    y[thread] = exp2_approx(x[thread])


@cute.jit
def powers(x: cute.Tensor, y: cute.Tensor):
    powers_kernel(x, y).launch(grid=(1, 1, 1), block=(8, 1, 1))


device = "cuda" if torch.cuda.is_available() else "cpu"
x, y = torch.arange(8.0, device=device), torch.empty(8, device=device)
if run_on_gpu(powers, x, y):
    print(y)

# %% [markdown]
# `ir_value` returns the IR value of a DSL number, and `cutlass.Float32(…)` wraps an IR value as a DSL number. `loc` and
# `ip` are an operation's source location and its insertion point in the IR; `dsl_user_op` fills them in. `$0` is the
# result. The compiler does not parse the text. Only `ptxas` can reject a wrong type or a missing operand, and it does
# not detect every mistake.
#
# **lop3** computes *any* function of three bits, at 32 bit positions at once. Its last operand is the function's truth
# table. To compute the table, evaluate your function on a = 0xF0, b = 0xCC and c = 0xAA: their eight bit positions hold
# all eight combinations. For a ^ b ^ c:

# %%
a, b, c = 0xF0, 0xCC, 0xAA
print(hex(a ^ b ^ c))

# %% [markdown]
# **Exercise 17.8** (about 9 lines). Write `majority_of(a, b, c)` for three Int32: each bit of the result is the value
# that at least two of the three inputs have. Use one `lop3.b32`, as inline PTX, and not `cute.arch.lop3`. Its operands
# are the result, a, b, c and the table; the table is a constant in the text.


# %%
@dsl_user_op
def majority_of(a, b, c, *, loc=None, ip=None):
    ### BEGIN SOLUTION (about 9 lines)
    return cutlass.Int32(
        llvm.inline_asm(
            T.i32(),
            [v.ir_value(loc=loc, ip=ip) for v in (a, b, c)],
            "lop3.b32 $0, $1, $2, $3, 0xE8;",
            "=r,r,r,r",
            has_side_effects=False,
            loc=loc,
            ip=ip,
        )
    )
    ### END SOLUTION


@cute.kernel
def majority_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(y):
        y[i] = majority_of(a[i], b[i], c[i])


@cute.jit
def majority(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, y: cute.Tensor):
    blocks = cute.ceil_div(cute.size(y), THREADS)
    majority_kernel(a, b, c, y).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1))


# %%
check("17.8", majority)

# %% [markdown]
# The second way is a **native op**: the compiler's own operation for an instruction, in the MLIR dialects `nvvm` and
# `llvm`. The compiler knows the operands, types and semantics of a native op; of inline text it knows only the
# operands' registers. Many of the DSL's own functions are built this way; `cute.arch.lane_idx()`, for example, is
# roughly this:


# %%
@dsl_user_op
def my_lane(*, loc=None, ip=None):
    return cutlass.Int32(nvvm.read_ptx_sreg_laneid(T.i32(), loc=loc, ip=ip))


print(len([name for name in dir(nvvm) if name[0].islower()]), "names in nvvm; with redux:")
print([name for name in dir(nvvm) if "redux" in name.lower()], [kind.name for kind in nvvm.ReductionKind])

# %% [markdown]
# `redux.sync` (from sm_80 on) sums one integer per lane over a warp in a single instruction; notebook 04's tree took
# five steps. In `nvvm.redux_sync(value, kind, mask)`, `value` and `mask` are IR values, and `kind` is a
# `ReductionKind`. The mask has a bit for each lane that takes part.


# %%
@dsl_user_op
def warp_total(v, *, loc=None, ip=None):
    """The sum of an Int32 over all 32 lanes, in every lane."""
    all_lanes = cutlass.Int32(-1).ir_value(loc=loc, ip=ip)
    value = v.ir_value(loc=loc, ip=ip)
    return cutlass.Int32(nvvm.redux_sync(value, nvvm.ReductionKind.ADD, all_lanes, loc=loc, ip=ip))


@cute.kernel
def row_totals_kernel(x: cute.Tensor, totals: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    total = warp_total(x[row, lane])
    if lane == 0:
        totals[row] = total


@cute.jit
def row_totals(x: cute.Tensor, totals: cute.Tensor):
    row_totals_kernel(x, totals).launch(grid=(x.shape[0], 1, 1), block=(32, 1, 1))


totals = compile_cute(row_totals, [TensorSpec((7, 32), "int32"), TensorSpec((7,), "int32")], "sm_80")
print(*[line for line in totals.body.splitlines() if "redux" in line], sep="\n")

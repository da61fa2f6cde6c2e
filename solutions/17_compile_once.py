# ---
# jupyter:
#   tutorlib:
#     minutes: 95
#     summary: What a launch costs, keeping what was compiled, structs, and instructions of your own.
# ---

# %% [markdown]
# # 17 · Compile once
#
# A kernel that takes 80 µs is of little use if each call of it costs you a third of a second, or even 50 µs. Notebooks
# 09 to 14 were about the GPU's time; this one is about the host's. Where does the first call spend its time, which of
# that is spent again in the second, and how little can a launch cost?
#
# > **After this page you can** measure a kernel's first call stage by stage, say which calls compile anew, keep
# > compiled kernels under a key that is neither too coarse nor too fine, save them for the next process, launch as
# > cheaply as PyTorch does, lay out shared memory as a struct, and use a PTX instruction that the DSL has no name
# > for.
# >
# > **It takes** about 95 minutes, on any machine. A GPU is needed only to time launches, two points.

# %%
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings.driver import CUstream
from cutlass._mlir.dialects import llvm, nvvm
from cutlass.cute.runtime import from_dlpack, make_fake_stream
from cutlass.cutlass_dsl import T, dsl_user_op
from cutlass.memory import SmemAllocator

from tutorlib import check
from tutorlib.compiling.cute import compilations, compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.notebook.launches import show_first_calls, show_later_calls, show_new_processes, show_stages
from tutorlib.notebook.measured import show_figure
from tutorlib.notebook.trials import run_on_gpu

# %% [markdown]
# ## Where a first call's time goes
#
# The kernel of this page does next to nothing, so that only the overhead is left to see:

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
# Its first call goes through these stages:
#
# | stage | what happens | needs a GPU |
# |---|---|---|
# | tracing | your Python is executed, and recorded as IR (page 04: `print` happens here) | no |
# | lowering | the compiler's passes turn layouts, copies and loops into LLVM's IR | no |
# | machine code | LLVM writes PTX, `ptxas` assembles it | no |
# | host code | the host function, too, becomes machine code, of your CPU | yes, here |
# | loading | the driver puts the kernel on the GPU | yes |
# | launch | arguments are packed, and the driver is called | yes |
#
# The first three need no GPU, so here they are on *your* machine, measured now. `show_stages` is this course's: it
# stops the time around the DSL's own steps, and has MLIR report what each pass took (`enable_timing` of its
# PassManager). Which of the three is the longest for so small a kernel, and what changes when the same function is
# compiled a second time?

# %%
vector = TensorSpec((1024,), dynamic=True)
for attempt in ("first", "second"):
    show_stages(attempt, double, vector.fake(), vector.fake(), make_fake_stream())

# %% [markdown]
# The second time is shorter because some things happen once in a process: the compiler warms up, your source is
# rewritten. But `cute.compile` compiles whenever it is called; it keeps nothing. And a kernel that does something, the
# GEMM of notebook 12, about a hundred lines of yours:

# %%
from tutorlib.kernels.ladder import AMPERE_RUNGS

gemm = AMPERE_RUNGS[-1].host
matrix = TensorSpec((4096, 4096), "bf16")
_ = show_stages("GEMM", gemm, *[matrix.fake() for _ in range(3)], arch="sm_80")

# %% [markdown]
# Below, the same as it was recorded, with loading and launch where there was a GPU; each number is the median of
# three processes. The last row is not ours: NVIDIA published it for a GEMM on a B100, and said nothing about its
# other stages.

# %%
show_first_calls()

# %% [markdown]
# The launch is what you want; all the rest together is thousands of times as long. For a GEMM the machine code takes
# the largest part of it. For the smallest kernel, on a GPU, it is the code for your *CPU*, a part that depends little
# on the kernel.
#
# So everything before the launch should happen once, and the question of this page is: once a call, once a process, or
# once and for all?
#
# **Exercise 17.1** (about 6 lines). Write `per_call(way, calls, trace, compile, load, launch)`: µs of a call, on
# average over the first so many `calls` of a process. `compile` is lowering, machine code and host code together. The
# ways:
#
# - `"nothing kept"`: every call goes through all four;
# - `"traced each time"`: a `@cute.jit` function called directly. The DSL keeps what it compiled and finds it again *by
#   its IR*. What does it need to have the IR?
# - `"kept"`: `cute.compile` once, and the result is kept;
# - `"loaded"`: an earlier process has saved it.


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
# With the published numbers, and round ones for the two that were not published (1,000 µs for loading, 10 µs for a
# launch), after a thousand calls:

# %%
for way in ("nothing kept", "traced each time", "kept", "loaded"):
    print(f"{way:18}{per_call(way, 1000, 73_000, 241_500, 1_000, 10):12,.1f} µs a call")

# %% [markdown]
# The second line is what you get when you do nothing about it: "the DSL has a cache" is true, and the calls still cost
# 73 ms. The IR is how it knows that nothing has changed.
#
# ## What compiles again
#
# To keep compiled functions yourself you must know which calls may share one. The DSL knows, so ask it. This function
# runs on the CPU; a direct call compiles exactly if there is something new in the IR. Page 04 did this for static and
# dynamic layouts. Here is the rest: say for each line whether it compiles, before you run it.


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
# One by one:
#
# - a **static** layout is in the type, with every size and stride;
# - **`mark_layout_dynamic`** leaves the rank and which stride is 1;
# - **`mark_compact_shape_dynamic(mode=0)`** frees the size of one mode. The others stay, and the order of the
#   strides: right for a GEMM whose N and K are those of a layer's weights, and whose M is the batch. (What
#   `divisibility=` says about the free mode is in the type, too.)
# - the **dtype**, of course;
# - the **alignment** that CuTe may assume. A float has 4 bytes by itself; 16 allows vectors;
# - a **Constexpr** is a constant of the code (2.0 was known from the second line). 2 and 2.0 are different code, though
#   to Python they are equal, and so would they be as keys of a dictionary. Keep that in mind.
#
# **Exercise 17.2** (about 10 lines). Write `compilations_of(calls)`: how many compilations direct calls `f(x, factor)`
# need, one after the other, `factor` being a Constexpr. A call is a tuple `(dtype, shape, stride, align, marked,
# factor)`; `marked` is `"static"`, `"layout"` for `mark_layout_dynamic`, or the number of the mode given to
# `mark_compact_shape_dynamic`. Tensors are compact (no gaps), no size is 1.


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
# What your function takes from around it is part of the IR just as well: a variable of the notebook, one of the
# function around it (a *closure*). A direct call notices when it has changed, since it traces. What was compiled and
# kept cannot. What do the two prints say?

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
# So what can change belongs into the arguments: as a Constexpr, and into the key.
#
# ## The key
#
# From here on we compile with dynamic layouts, for any size. For each tensor the caller makes one decision: if its
# address and the beginning of every row (or column: whatever is contiguous) are multiples of 16 bytes, a kernel with
# accesses of 16 bytes is compiled, else one that goes element by element. Notebook 04 saw that `cp.async` and
# `ld.global.v4` need this; 18.12 will be a kernel that got it wrong.
#
# **Exercise 17.3** (about 8 lines). Write `cache_key(tensors, constants, arch)`: a key for a dictionary. `tensors` are
# torch tensors, each with one stride that is 1; `constants` is a tuple, the Constexpr arguments; `arch` names the GPU's
# architecture, `"sm_90a"`. Calls that one compilation serves must have equal keys, others different ones. So sizes do
# not belong into it, and neither does the pitch of the rows, but...
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
# Too coarse a key runs the wrong code: page 04's `total_of_6` believed its layout, and gave no error. Too fine a key
# compiles too often, and in a service that meets a new sequence length every second that is a memory leak, too.
#
# **Exercise 17.4** (about 5 lines). Write the class that keeps them. `CompiledKernels(compile, key)` is called with
# tensors; both functions take the tensors of a call. `compile(*tensors)` gives a function to be called with tensors,
# `key(*tensors)` what to keep it under. Each instance keeps its own.


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
# Both at work, on the CPU. Twelve tensors: how many compilations?


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
# ## What is left of a call
#
# The dictionary takes tracing and compiling away. What is left? Here is one function, y = αx + y on four elements,
# called in four ways, on your CPU, with PyTorch's own beside it. Guess the order of magnitude of each.


# %%
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
# Most of what is left is Python's: wrapping each tensor (DLPack), and packing arguments. **TVM-FFI** is a calling
# convention for compiled functions, in which torch tensors are passed as they are and unpacked by compiled code.
# It costs a compile option and the package `apache-tvm-ffi`. It looks at what it is given, too: all that the key is
# about, and more.

# %%
for wrong in ((x.half(), y), (x.reshape(2, 2), y), (torch.ones(8)[::2], y)):
    try:
        with_ffi(0.0, *wrong)
    except Exception as error:
        print(f"{type(error).__name__}: {str(error).splitlines()[0]}")

# %% [markdown]
# **Exercise 17.5** (about 6 lines). Write `for_torch(host, *arguments)`: compiles a `@cute.jit` function so that what
# you return takes torch tensors as they are, of every size. `arguments` are like those of the calls to come: each torch
# tensor is replaced by a dynamic view (made with `enable_tvm_ffi=True`) in which the contiguous mode is what it is in
# the tensor; all other arguments go to `cute.compile` unchanged.
#
# A kernel needs to know on which *stream* it is launched. With TVM-FFI it can find torch's current stream by itself: an
# argument `make_fake_stream(use_tvm_ffi_env_stream=True)` says so when compiling, and is not passed in a call.
#
# Three points on the CPU. On a GPU the checker times a launch of `double` beside `torch.add`: one point if you need no
# more than four times its time, and one if you need no more than it.


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
# One thing makes a launch cheaper still: not to make it. A **CUDA graph** records launches, and replays them all with
# one call of the driver's. Replaying it runs no Python at all. It keeps the addresses, too: a replay reads the same
# memory, and new inputs are copied there.
#
# Here is all of that on a GPU, in µs of the host's time for each launch of `double`. Which ways are cheaper than
# PyTorch's own launch? (The figure's axis is logarithmic, the dashed line is `torch.add`.)

# %%
show_later_calls()

# %%
show_figure("launches")

# %% [markdown]
# From the top to the bottom each way keeps one thing more: what was compiled, what was traced, the wrapped tensors, the
# recorded launch. The dictionary has a price, too: making the key is Python, and takes about as long as the launch by
# TVM-FFI that follows. A loop that calls one kernel a thousand times takes it out of the dictionary once, before it
# begins. And where a graph holds many launches, the host has next to nothing left to do: then a launch costs what the
# GPU needs from one kernel to the next, which no host can hide.

# %% [markdown]
# ## Compiled once and for all
#
# The next process starts from nothing. `export_to_c` writes a compiled function into an object file, host code and
# kernel; `cute.runtime.load_module` loads it. (Saving works without a GPU, too, if you name the target:
# `options="--gpu-arch sm_90a"`. Loading a file that has a kernel needs the GPU it was compiled for.)
#
# **Exercise 17.6** (about 8 lines). Write `load_or_compile(folder, name, compile)`: the function of this name from the
# file `folder / f"{name}.o"`; where there is none, from `compile()`, saved under that name. `folder` is a `Path` that
# may not exist yet, and `compile()` gives a function made with `--enable-tvm-ffi`. What you need:
#
#     compiled.export_to_c(str(file), name)
#     cute.runtime.load_module(str(file), enable_tvm_ffi=True)[name]
#
# One more thing, which is the difference between a cache and trouble: if a process dies while it writes, no half file
# may be left under the name. `os.replace(a, b)` renames at once.


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
# The name should say all that the key says, and the versions of the DSL and of your source: nothing else will notice
# that a file is out of date. Now a process that has never seen `axpy`'s source:

# %%
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
# And on a GPU, `double` with its kernel, until the first call is done:

# %%
show_new_processes()

# %% [markdown]
# ## Structs
#
# A kernel with a pipeline keeps several things in shared memory: tiles in stages, a pair of mbarriers for each. Laid
# out by hand, each begins at a sum of the sizes of those before it, and everyone who has done that has got it wrong
# once: TMA with the 128-byte swizzle wants its tile at a multiple of 1,024 bytes, an mbarrier at a multiple of 8, and
# a stage more moves everything. `cute.struct` does the sums:


# %%
@cute.struct
class Mixed:
    flag: cutlass.Int8
    barrier: cutlass.Int64
    scales: cute.struct.MemRange[cutlass.BFloat16, 3]
    tile: cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, 8], 128]
    count: cutlass.Int32


# %% [markdown]
# The rules are C's. A member begins at the next multiple of its alignment: its own size for a number, an element's
# for a `MemRange` (an array), and for `Align[…, n]` at least n. The struct's alignment is the strictest of its
# members', and its size a multiple of that. Where do the five begin, and how large is it? The next cell looks into
# the struct.

# %%
print(Mixed._offsets, "size", Mixed.__sizeof__(), "alignment", Mixed.__alignof__())

# %% [markdown]
# **Exercise 17.7** (about 8 lines). Write `struct_layout(members)`: members are `(bytes, alignment)` in order; return a
# tuple of their offsets, and the size.


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
# In a kernel the allocator takes the struct, `storage = SmemAllocator().allocate(Storage)`, and members are reached by
# name: `storage.full.data_ptr()` is a pointer to barriers, `storage.sA.get_tensor(layout)` a tensor; with a
# `swizzle=`, or with a composed layout, a swizzled one.
#
# **Exercise 17.8** (about 8 lines). Write `shared_storage(stages)`, which returns the struct for a GEMM with 128×256×64
# tiles in bf16: `full` and `empty`, an mbarrier (64 bits) for each stage; `sA`, 128×64 elements a stage; and `sB`,
# 256×64. Both tiles begin at a multiple of 1,024 bytes.


# %%
def shared_storage(stages):
    ### BEGIN SOLUTION (about 8 lines)
    @cute.struct
    class SharedStorage:
        full: cute.struct.MemRange[cutlass.Int64, stages]
        empty: cute.struct.MemRange[cutlass.Int64, stages]
        sA: cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, 128 * 64 * stages], 1024]
        sB: cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, 256 * 64 * stages], 1024]

    return SharedStorage
    ### END SOLUTION


# %%
check("17.8", shared_storage)

# %% [markdown]
# In use: thread 0 sets up the barriers, all threads write a swizzled tile. Look for the offsets in the PTX. The struct
# itself costs nothing: all that is left of it are constants.

# %%
Storage = shared_storage(4)


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
# ## Below the DSL
#
# NVIDIA's GPUs have instructions that the DSL has no function for. Two ways lead to them, and both give a function that
# you use like any other. The first inlines PTX, as text:


# %%
@dsl_user_op
def exp2_approx(a, *, loc=None, ip=None):
    return cutlass.Float32(
        llvm.inline_asm(
            T.f32(),  # the result's type
            [cutlass.Float32(a).ir_value(loc=loc, ip=ip)],  # $1, $2, …
            "ex2.approx.ftz.f32 $0, $1;",
            "=f,f",  # a float out, a float in; r: 32-bit integer, l: 64-bit, h: 16-bit
            has_side_effects=False,  # else it stays even where nobody uses its result
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
# `ir_value` is what a number of the DSL's stands for in the IR, and `cutlass.Float32(…)` goes the other way. `loc` and
# `ip` say where in the source and in the IR an operation belongs; `dsl_user_op` fills them in. `$0` is the result. The
# compiler does not look into the text: a wrong type, a register too few, and `ptxas` will refuse it, or not.
#
# **lop3** computes *any* function of three bits, for 32 of them at once: its last operand is the function's table. The
# trick to write it down: evaluate your function on a = 0xF0, b = 0xCC, c = 0xAA, which between them hold all eight
# combinations. For a ^ b ^ c:

# %%
a, b, c = 0xF0, 0xCC, 0xAA
print(hex(a ^ b ^ c))

# %% [markdown]
# **Exercise 17.9** (about 9 lines). Write `majority_of(a, b, c)` for three Int32: each bit of the result is what at
# least two of the three have. One `lop3.b32`; its operands are the result, a, b, c and the table, a constant in the
# text.


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
check("17.9", majority)

# %% [markdown]
# The second way is a **native op**: what the compiler itself has for an instruction, in MLIR's dialects `nvvm` and
# `llvm`. There are more of them than the DSL has functions; the compiler knows what they do, and chooses registers and
# types. This is how the DSL's own functions are made. `cute.arch.lane_idx()`, for example, is about this:


# %%
@dsl_user_op
def my_lane(*, loc=None, ip=None):
    return cutlass.Int32(nvvm.read_ptx_sreg_laneid(T.i32(), loc=loc, ip=ip))


print(len([name for name in dir(nvvm) if name[0].islower()]), "names in nvvm; with redux:")
print([name for name in dir(nvvm) if "redux" in name.lower()], [kind.name for kind in nvvm.ReductionKind])

# %% [markdown]
# `redux.sync` (from sm_80 on) adds up an integer of each lane of a warp in one instruction, where page 04's tree took
# five steps. `nvvm.redux_sync(value, kind, mask)`: the value and the mask of the lanes that take part are values of the
# IR, the kind is a `ReductionKind`.
#
# **Exercise 17.10** (about 5 lines). Write `warp_total(v)` with it: the sum of an Int32 over all 32 lanes, which every
# lane then has. (The DSL does have a function for this one, `cute.arch.warp_redux_sync`: pretend that it has not.)


# %%
@dsl_user_op
def warp_total(v, *, loc=None, ip=None):
    ### BEGIN SOLUTION (about 5 lines)
    everybody = cutlass.Int32(-1).ir_value(loc=loc, ip=ip)
    value = v.ir_value(loc=loc, ip=ip)
    return cutlass.Int32(nvvm.redux_sync(value, nvvm.ReductionKind.ADD, everybody, loc=loc, ip=ip))
    ### END SOLUTION


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


# %%
check("17.10", row_totals)

# %% [markdown]
# ## What to remember
#
# - A first call is tracing, lowering, machine code, loading, launch. Only the last has to be in the second call.
# - The DSL's own cache is found by the IR, so a direct call always traces. Compile once and keep the result.
# - A key has what is in the code: dtype, rank, contiguous mode, alignment, constants with their types, architecture. It
#   has no sizes where layouts are dynamic.
# - What is kept does not notice that a variable around it has changed.
# - TVM-FFI takes torch's tensors as they are and checks them. A CUDA graph makes many launches one.
# - Save under another name, then rename. The name says the key and the versions.
# - A struct does the arithmetic of shared memory, and its strictest member aligns it.
# - Inline PTX is text that the compiler does not check; a native op it knows. Both look like functions.
#
# ## Test yourself
#
# <details><summary>1. A service calls a GEMM with M from 1 to 4,096, N and K fixed, both 4,096. Which layouts, and how
# many compilations?</summary>
#
# M dynamic alone (<code>mark_compact_shape_dynamic(mode=0)</code> for A and C), B static: one compilation, and the
# compiler still knows N and K. All static: up to 4,096 compilations.
#
# </details>
#
# <details><summary>2. A kernel is kept under its dtype and leading mode. A caller passes <code>x[:, 1:]</code>, of
# fp16. What happens?</summary>
#
# Its address is 2 bytes off. The kept kernel was told that 16 bytes divide it and loads vectors: an error about a
# misaligned address, which ends the process's use of the GPU. With TVM-FFI, or with the alignment in the key, it does
# not come to that.
#
# </details>
#
# <details><summary>3. After a change of a helper function that the kernel calls, the results stay as before. Where do
# you look?</summary>
#
# Whatever is kept without looking at the source: the dictionary of a notebook that still runs, and the folder of object
# files. A direct call would have traced, and noticed.
#
# </details>

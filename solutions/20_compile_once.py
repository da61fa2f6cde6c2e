# ---
# jupyter:
#   tutorlib:
#     minutes: 71
#     appendix: 31
#     summary: What a launch costs; caches of compiled kernels, CUDA graphs, kernels saved for other GPUs.
# ---

# %% [markdown]
# # 20 · Compile once
#
# Notebooks 05 to 19 were about GPU time; this one is about host time, which every launch costs. The first call of a
# kernel compiles it. The cost of a later call depends on what you keep, and often exceeds the kernel's time.
#
# > **After this page you can** predict which calls recompile, cache compiled kernels under a key that is neither too
# > coarse nor too fine, launch about as cheaply as PyTorch does, replay launches from a CUDA graph, and save kernels
# > for the next process and for other GPUs.
# >
# > **It takes** about 71 minutes, on any machine; its appendix about 31 more.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings.driver import CUstream
from cutlass.cute.runtime import from_dlpack, make_fake_stream

from tutorlib import (
    TensorSpec, check, compilations, show_later_calls, show_launches, show_pairs, show_sweep,
)  # fmt: skip

# %% [markdown]
# ## When does host time matter?
#
# The host launches ahead of the GPU. In the picture a tick is 5 µs and a color is a call; where it is hatched, the GPU
# waits for the host.

# %%
show_launches(
    {
        "5 µs kernels, launched in 45 µs": (9, 1),
        "5 µs kernels, launched in 5 µs": (1, 1),
        "60 µs kernels, launched in 45 µs": (9, 12),
    }
)

# %% [markdown]
# After the first launch, host time is hidden if each kernel runs at least as long as a launch takes. A 5 µs kernel
# whose launch takes 45 µs leaves the GPU idle for 40 of every 45 µs.
#
# ## Ways to call a kernel
#
# | way | what every call repeats |
# |---|---|
# | compiled at every call | all of it |
# | called directly: traced at every call | your Python function runs (*tracing*), to learn that nothing changed |
# | kept in a dictionary, through DLPack | looking it up by a key; wrapping each tensor; packing the arguments |
# | kept, with views made once | packing the arguments |
# | kept in a dictionary, TVM-FFI | looking it up by a key; checking and unpacking as in the next row |
# | kept, TVM-FFI | checking and unpacking torch's tensors, in compiled code |
# | CUDA graph of 1 launch, of 20 launches | one call for all of its launches |
#
# **Predict** the host's time for each, to a factor of ten, and which are cheaper than `torch.add`. The kernel is
# `double` of the next section, on 1,024 floats. *host* is the time until a call returns; for a graph, one replay's
# time divided by its launches. *until done* is the time until the GPU has finished all launches, divided by their
# number. It comes from a separate run. It can therefore be below *host*:

# %%
show_later_calls("NVIDIA H200")

# %% [markdown]
# Only *kept, TVM-FFI* and the two graphs are cheaper than `torch.add`. *Kept in a dictionary, through DLPack* is close
# to the picture's top row. *Kept, TVM-FFI* just suffices for 5 µs kernels. A graph of 20 launches suffices for
# 1 µs kernels: the host takes 0.13 µs a launch, and the GPU 0.99.
#
# ## What a first call does
#
# This kernel computes y = 2x, so the overhead dominates:

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
# Its first call *traces* it: your Python runs, and the DSL records its operations as **IR**, the compiler's
# intermediate representation. The compiler lowers layouts, copies and loops to LLVM IR. LLVM writes PTX, `ptxas`
# assembles it, and the host function becomes your CPU's machine code. None of this needs a GPU. At last the driver
# loads the kernel and launches it.
#
# `cute.compile` caches nothing: each call goes through every step again. On the H200's machine tracing takes at most
# 8.3 ms of the table's 64: a direct call traces, and finds the rest in its cache by its IR.
#
# ## What compiles again
#
# A direct call compiles exactly when its IR is new, so direct calls show what can share a compiled function.
# `from_dlpack` makes a *static* layout: all sizes and strides are constants in the code. Two functions make them
# *dynamic*, known only at run time: `mark_layout_dynamic` marks all sizes and strides, except for strides of 0 and 1;
# `mark_compact_shape_dynamic(mode=m)` marks the size of one mode, and the strides that follow from it. **Predict** the
# number of compilations on each line; all lines share one cache.


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


def rows(m, n, align=None):
    return from_dlpack(torch.zeros(m, n), assumed_align=align)


def free(m, n, **options):
    return rows(m, n, **options).mark_layout_dynamic()


def free_rows(m, n):
    return rows(m, n).mark_compact_shape_dynamic(mode=0, stride_order=(0, 1))  # the outermost mode first


sizes = (8, 16), (12, 16), (8, 32), (8, 16)
compiles("static, four sizes", [(rows(m, n), 2.0) for m, n in sizes])
compiles("mark_layout_dynamic, the same sizes", [(free(m, n), 2.0) for m, n in sizes])
compiles("mode 0 dynamic, the same sizes", [(free_rows(m, n), 2.0) for m, n in sizes])
one_row = from_dlpack(torch.zeros(16).expand(8, 16)).mark_layout_dynamic()  # eight times: a stride of 0
compiles("a dynamic stride, a stride of 0", [(view, 2.0) for view in (free(8, 16), one_row)])
compiles("aligned to 8 bytes, to 16", [(free(8, 16, align=align), 2.0) for align in (8, 16)])
compiles("factors 3.0, 2, 3.0, 2.0", [(free(8, 16), factor) for factor in (3.0, 2, 3.0, 2.0)])

# %% [markdown]
# The code depends on the type of each tensor and on the constants:
#
# | | is part of the type |
# |---|---|
# | static layout | every size and stride |
# | `mark_layout_dynamic()` | only the rank, and which modes have strides 0 and 1 |
# | `mark_compact_shape_dynamic(mode=0)` | which mode, the sizes of the others, and the order of the strides |
# | dtype, alignment | both; the alignment is what CuTe may assume, by default an element's size |
# | Constexpr | the value, a constant in the code |
#
# The last line counts only 3.0 and 2: 2.0 was compiled on the second line. So 2 and 2.0 produce different code,
# although they are one key of a Python dictionary. A variable from outside the function, such as a global one, becomes
# a constant of the IR, too: a kept function goes on with the old value. So your key must contain every Constexpr, and
# every outside value that can change.
#
# ## The key
#
# Static sizes let the compiler unroll loops and leave out checks at the edges; they cost a compilation for each size.
# The cache of this section has dynamic layouts. One property of strides and addresses still matters: whether the code
# may access 16 bytes at a time, as `ld.global.v4` does. So each tensor can double the number of versions. A
# **contiguous run** is the elements along the mode whose stride is 1: a row of a row-major matrix. One version accesses
# a run 16 bytes at a time, and its remainder element by element. This version needs 16-byte-aligned starts, of the
# tensor and of each run. Other tensors get the one that accesses single elements.
#
# **Exercise 20.1** (about 8 lines). Write `cache_key(tensors, constants, arch)`: a key for a dictionary. `tensors` are
# torch tensors of any rank, each with one stride of 1, none of 0, and no size of 1; `constants` is a tuple of numbers
# and strings, the Constexpr arguments, without −0.0 and NaN. `arch` names the architecture: `"sm_90"`. Calls that
# can share a compilation must have equal keys; all others must have different ones. Torch has `t.data_ptr()`, an
# address, `t.stride()` and `t.element_size()`.


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
check("20.1", cache_key)

# %% [markdown]
# Too coarse a key runs the wrong code; too fine a key compiles too often, and the cache leaks memory. Building the key
# takes about as long as the launch (in the table, 8.3 µs in place of 4.4). So look a kernel up before a loop that
# cannot change its key.

# %% [markdown]
# ## Torch's tensors, without Python
#
# With **TVM-FFI**, a calling convention, you pass torch tensors directly. Compiled code unpacks them, and checks each
# one's dtype, rank, strides and address. `assumed_align=16` requests the 16-byte version; the default is an element's
# size. A matrix must promise that its rows are aligned, too: as their stride, `make_fake_tensor` takes
# `cute.sym_int64(divisibility=4)`. In fp32 this is a multiple of 16 bytes, and each call checks it.
#
# A launch needs a *stream*. With `make_fake_stream(use_tvm_ffi_env_stream=True)` among the arguments, the compiled
# function looks up torch's current stream itself, and calls omit it. This is the whole launch, for vectors:


# %%
kept = {}


def alignment(t):
    return 16 if t.data_ptr() % 16 == 0 else t.element_size()


def launch(x, y):
    arch = "sm_{}{}".format(*torch.cuda.get_device_capability(x.device))
    key = cache_key((x, y), (), arch)
    if key not in kept:
        views = [from_dlpack(t, assumed_align=alignment(t), enable_tvm_ffi=True).mark_layout_dynamic() for t in (x, y)]
        stream = make_fake_stream(use_tvm_ffi_env_stream=True)
        kept[key] = cute.compile(double, *views, stream, options="--enable-tvm-ffi")
    kept[key](x, y)


if torch.cuda.is_available():
    x, y = torch.arange(1024.0, device="cuda"), torch.empty(1024, device="cuda")
    for size, skip in ((1024, 0), (1000, 0), (1000, 1)):
        launch(x[skip:size], y.zero_()[skip:size])
        print(f"y[{size - 1}] = {y[size - 1].item():.0f}, {len(kept)} compiled")

# %% [markdown]
# The third call compiles: element 1 is not 16-byte aligned.
#
# ## Saved for other processes and GPUs
#
# `export_to_c` writes a compiled function, host code and kernel, to an object file. Compiling needs no GPU, so one
# machine can build kernels for all of your GPUs, if their hosts have the same CPU architecture. Name the **target**,
# and pass stand-ins: `.fake()` of a tensor's specification, and `make_fake_stream()`.
#
# Several processes or threads may save at once, and any of them may be killed while it writes. So each saves under a
# name of its own, which `mkstemp` finds, and renames the file: `os.replace` is atomic within a file system, so a file
# with the final name is complete. (`mkstemp` makes files that only their owner can read: if others run them, `os.chmod`
# before the rename.)

# %%
import os
import tempfile
from pathlib import Path

vector = TensorSpec((1024,), dynamic=True)


def save(file, target):
    options = f"--enable-tvm-ffi --gpu-arch {target}"
    compiled = cute.compile(double, vector.fake(), vector.fake(), make_fake_stream(), options=options)
    handle, half = tempfile.mkstemp(suffix=".half", dir=file.parent)
    os.close(handle)
    compiled.export_to_c(half, "double")
    os.replace(half, file)


with tempfile.TemporaryDirectory() as folder:
    for target in ("sm_80", "sm_90a", "sm_100a"):
        save(Path(folder, f"double.{target}.o"), target)
    print(*sorted(file.name for file in Path(folder).iterdir()))

# %% [markdown]
# Machine code for sm_80 runs on GPUs of compute capability 8.x. A target with an `a` also has its generation's
# own instructions, such as `wgmma` on sm_90a and `tcgen05` on sm_100a. Code for it runs on no other architecture.
#
# A process on a GPU of the target loads the file. It passes a stream, because `save` made the fake stream without
# `use_tvm_ffi_env_stream`:
#
# ```python
# double = cute.runtime.load_module("double.sm_90a.o", enable_tvm_ffi=True)["double"]
# double(x, y, CUstream(torch.cuda.current_stream().cuda_stream))
# ```
#
# The file's name should encode the whole key plus the versions of the DSL and of your source: nothing else detects a
# stale file. Load and call each kernel once before the service takes requests.
#
# ## Replaying launches
#
# A **CUDA graph** holds launches, and one driver call **replays** them all. You fill it by a **capture**: the driver
# records the work that you put on the current stream, and runs none of it. A kernel's first launch loads it, which a
# capture does not allow, so `captured` launches once first:


# %%
def captured(launches, x, y):
    """A graph of what launches(x, y, stream) launches."""

    def launch():
        launches(x, y, CUstream(torch.cuda.current_stream().cuda_stream))

    launch()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # makes another stream torch's current one, and captures it
        launch()
    return graph


# %% [markdown]
# `captured(…).replay()` runs them on the current stream. A graph holds addresses: every replay reads the same `x` and
# writes the same `y`. One stream's work is in order, so the host need not wait around a replay.
#
# **Exercise 20.2** (about 15 lines). Write `replayed(compile, key)`. It returns a function of a tensor x, which returns
# y, a tensor of x's shape and dtype. A later call may overwrite a y of the same shape and dtype.
#
# - `key(x)` is a key like that of 20.1: it has the dtype and the alignment of x, and no sizes
# - `compile(x, y)` returns a function `launches(x, y, stream)`, which launches several kernels that read x and write y.
#   `launches` serves every x with the same key
#
# Compile once for each key. Decide whose: the caller's tensor's, or that of the tensor that your kernels read. Capture
# once for each dtype and shape (of one GPU): a later call with an x of the same dtype and shape costs a copy and a
# replay. It launches nothing else, and never waits. The caller's tensors are only read, and a replay must be right even
# after the caller has freed or changed them.
#
# The check needs no GPU: a stand-in for `torch.cuda` applies CUDA's rules to CPU tensors.


# %%
def replayed(compile, key):
    ### BEGIN SOLUTION (about 15 lines)
    compiled, graphs = {}, {}

    def call(x):
        place = x.dtype, x.shape
        if place not in graphs:
            own_x, y = x.clone(), torch.empty_like(x)
            name = key(own_x)
            if name not in compiled:
                compiled[name] = compile(own_x, y)
            graphs[place] = captured(compiled[name], own_x, y), own_x, y
        graph, own_x, y = graphs[place]
        own_x.copy_(x)
        graph.replay()
        return y

    return call
    ### END SOLUTION


# %%
check("20.2", replayed)

# %% [markdown]
# A graph holds a grid for one size, so graphs suit a service with a few fixed shapes. The kernels read your buffer, not
# the caller's x. So the buffer's key decides what to compile: it is aligned where the caller's x may not be.
#
# ## What to remember
#
# - Host time is hidden as long as kernels run at least as long as their launches take.
# - A direct call always traces. Compile once and keep the result; save it under a temporary name, then rename.
# - A key contains everything the code depends on: dtype, rank, contiguous mode, alignment, constants with their types,
#   outside values, architecture. It contains no dynamic sizes.
# - A CUDA graph replays many launches with one call. Launch once before the capture, on the current stream in it, and
#   copy each input into the graph's own buffer.
#
# Next: [21](21_bug_hunt.ipynb), where the kernels are broken.
#
# ## Test yourself
#
# <details><summary>1. A service calls a GEMM with M from 16 to 4,096, N and K fixed, both 4,096. Which layouts do you
# choose, and how many compilations do they need?</summary>
#
# Only M dynamic (<code>mark_compact_shape_dynamic(mode=0, stride_order=(0, 1))</code> for A and C), and B static. One
# compilation is enough, and the compiler still knows N and K.
#
# </details>
#
# <details><summary>2. You change a helper function that the kernel calls, and the results stay the same. Where do you
# look?</summary>
#
# In every cache whose key ignores the source: the dictionary of a running notebook, and the folder of object files.
#
# </details>
#
# <details><summary>3. A replay gives the result of the first input again. What is missing?</summary>
#
# The copy into the graph's own buffer.
#
# </details>

# %% [markdown]
# ## Appendix: the next kernel, before this one has ended
#
# Between two kernels of one stream the GPU pauses: the second starts when the first has ended. With **programmatic
# dependent launch** (PDL, from Hopper on), `use_pdl=True`, the second may start when every block of the first has
# called `griddepcontrol_launch_dependents()`, or has ended. `cute.arch.griddepcontrol_wait()` in the second returns
# when *all* of the first has ended and its stores are visible, including those made after the signal. So the first
# kernel may give the signal as its very first instruction:
#
# ```python
# @cute.kernel
# def positive_kernel(x: cute.Tensor, y: cute.Tensor):
#     thread, _, _ = cute.arch.thread_idx()
#     block, _, _ = cute.arch.block_idx()
#     cute.arch.griddepcontrol_launch_dependents()
#     column = block * THREADS + thread
#     for row in cutlass.range_constexpr(x.shape[0]):
#         y[row, column] = cute.arch.fmax(x[row, column], 0.0)
# ```
#
# **Exercise 20.3** (about 7 lines). Write `scale_kernel(w, x, y)`, launched after it with `use_pdl=True`. It multiplies
# y by the weights w, and sets x to 0 for the next batch. Let it do before the wait all work that is safe there. All
# three are (rows, columns), and there are as many threads as columns. `values = w[None, column].load()` reads a column
# into registers, `y[None, column].store(values)` stores one, and `x[None, column].fill(0.0)` fills one. `check`
# simulates both kernels, and reports accesses that nothing orders.


# %%
@cute.kernel
def scale_kernel(w: cute.Tensor, x: cute.Tensor, y: cute.Tensor):
    ### BEGIN SOLUTION (about 7 lines)
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    weights = w[None, i].load()
    cute.arch.griddepcontrol_wait()
    y[None, i].store(y[None, i].load() * weights)
    x[None, i].fill(0.0)
    ### END SOLUTION


# %%
check("20.3", scale_kernel)

# %% [markdown]
# Before the wait, the first kernel may not yet have written y or read x, even if the result is right on your GPU.
# **Predict** what PDL gains for y = max(x, 0) · w in fp32, with 16 rows and 135,168 columns. One call launches both
# kernels; in a graph the host has no part in the time:

# %%
show_pairs("NVIDIA H200")

# %% [markdown]
# Even if the second kernel waits first, PDL takes 12% less time in a stream, where the host's part counts, and 4% less
# in a graph. Loading the weights before the wait shows no gain here: the last two rows' ranges overlap.
#
# The course's Hopper GEMM initializes its mbarriers, then waits, and gives no signal. Here are calls in a row, each of
# which waits for the one before; the numbers are speeds as fractions of cuBLAS's:

# %%
show_sweep("gemm_pdl")

# %% [markdown]
# At 256×768×768 a call is 7% faster with PDL; in the two longer calls the difference is within noise.
#
# In a chain of three kernels whose third needs the first's results, the second must wait even if it needs nothing from
# the first. The third waits only for the second. If the second did not wait, it could end while the first still
# runs, and the third would read unfinished results.

# %% [markdown]
# ## Appendix: structs, and below the DSL
#
# A pipelined kernel keeps several objects in shared memory, at offsets that must be aligned: a tile with TMA's 128-byte
# swizzle to 1,024 bytes, where the pattern begins, and an mbarrier to 8. `cute.struct` computes them, by C's rules: a
# member begins at the next multiple of its alignment, which is its own size for a number, the element's size for a
# `MemRange` (an array), and at least n for `Align[…, n]`. Here is the struct of a GEMM with 128×256×64 tiles and four
# stages. A kernel allocates it by `SmemAllocator().allocate(Storage)`.


# %%
@cute.struct
class Storage:
    full: cute.struct.MemRange[cutlass.Int64, 4]
    empty: cute.struct.MemRange[cutlass.Int64, 4]
    sA: cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, 128 * 64 * 4], 1024]
    sB: cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, 256 * 64 * 4], 1024]


print(Storage._offsets, "size", Storage.__sizeof__(), "alignment", Storage.__alignof__())

# %% [markdown]
# NVIDIA's GPUs have instructions that the DSL does not wrap. **Inline PTX** is the instruction as text.
# `llvm.inline_asm` takes the result's type, the operands as IR values, the text and the constraints, a letter for each
# operand: `=f` is a float out and `f` a float in; `r` a 32-bit integer, `l` a 64-bit one, `h` a 16-bit one. In the text
# `$0` is the result, and `$1`, `$2`, … are the operands. 2ˣ, which the DSL does wrap, would be
# `"ex2.approx.ftz.f32 $0, $1;"` with `"=f,f"`. Only `ptxas` checks the text.
#
# **lop3** computes *any* function of three bits, at 32 bit positions at once. Its last operand is the function's truth
# table: your function, evaluated on a = 0xF0, b = 0xCC and c = 0xAA, whose eight bit positions hold all eight
# combinations. For a ^ b ^ c it is 0x96.
#
# **Exercise 20.4** (about 1 line). Complete `majority_of(a, b, c)` for three Int32: each bit of the result is the value
# that at least two of the three inputs have. Use one `lop3.b32`, whose operands are the result, a, b, c and the table,
# a constant in the text.

# %%
from cutlass._mlir.dialects import llvm
from cutlass.cutlass_dsl import T, dsl_user_op


# %%
@dsl_user_op
def majority_of(a, b, c, *, loc=None, ip=None):
    operands = [v.ir_value(loc=loc, ip=ip) for v in (a, b, c)]
    ### BEGIN SOLUTION (about 1 line)
    text, constraints = "lop3.b32 $0, $1, $2, $3, 0xE8;", "=r,r,r,r"
    ### END SOLUTION
    # without side effects: the compiler may drop it if its result is unused
    found = llvm.inline_asm(T.i32(), operands, text, constraints, has_side_effects=False, loc=loc, ip=ip)
    return cutlass.Int32(found)  # a number of the DSL


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
check("20.4", majority)

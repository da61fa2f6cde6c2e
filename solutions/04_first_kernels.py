# ---
# jupyter:
#   tutorlib:
#     minutes: 85
#     summary: Host and device, compile time and run time, coalescing, and five kernels of your own in CuTe.
# ---

# %% [markdown]
# # 04 · First kernels
#
# So far a layout was a function you called from Python, one coordinate at a time. A **kernel** is a function that
# thousands of threads call at once, each with its own coordinate. On this page you write your first ones in CuTe DSL:
# Python that is compiled, with no C++ compiler involved.
#
# > **After this page you can** write and launch a kernel over vectors and matrices of any size, tell compile time from
# > run time, keep a warp's accesses coalesced, and let a block's threads compute one result together.
# >
# > **It takes** about 85 minutes, on any machine. Without a GPU the compiled kernels are *simulated*: instruction by
# > instruction, on NumPy, far slower than on a GPU, with the same results.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack
from cutlass.memory import SmemAllocator

from tutorlib import (
    TensorSpec, check, compilations, compile_cute, explain, run_on_gpu, show_layout, show_machine, show_reduction,
    show_sweep, show_tv,
)  # fmt: skip

device = "cuda" if torch.cuda.is_available() else "cpu"

# %% [markdown]
# ## Your first kernel
#
# Here is a whole program for a GPU. It squares 1,024 numbers, one thread for each:

# %%
THREADS = 128


@cute.kernel
def square_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    y[i] = x[i] * x[i]


@cute.jit
def square(x: cute.Tensor, y: cute.Tensor):
    square_kernel(x, y).launch(grid=(cute.size(x) // THREADS, 1, 1), block=(THREADS, 1, 1))


# %% [markdown]
# Run it, and compare the result with torch's. (`run_on_gpu` belongs to the course: it makes CuTe tensors of x and y by
# `from_dlpack`, which comes below, compiles the host function for their shapes, calls it, and waits for the GPU.
# Without a GPU it simulates the kernel, and says so.)

# %%
x = torch.randn(1024, device=device)
y = torch.zeros_like(x)
if run_on_gpu(square, x, y):
    torch.testing.assert_close(y, x * x)
    print("agrees with torch")

# %% [markdown]
# Now break it. Replace `cute.size(x)` with `cute.size(x) - 1`, predict how many elements will be wrong, and run both
# cells again. Then put it back: the rest of the page explains every line.
#
# ## Host and device
#
# The two decorators separate two machines:
#
# - `@cute.kernel` is the **device** side: the code of one thread. It can ask which thread it is.
# - `@cute.jit` is the **host** side: the CPU's code, which chooses the number of threads and launches them.
#
# Threads come in **blocks**. A launch gives the number of blocks (`grid`) and the number of threads in each (`block`):
# above, 8 blocks of 128 threads. (With `cute.size(x) - 1` the division gave 7 blocks, and the last 128 elements of y
# remained zeros.) Both have three dimensions; for now we use the first and leave the others at 1.


# %%
@cute.kernel
def hello_kernel():
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    cute.printf("hello from thread {} of block {}", thread, block)


@cute.jit
def hello():
    hello_kernel().launch(grid=(2, 1, 1), block=(4, 1, 1))


# %% [markdown]
# How many lines will it print, and in which order? Decide, then run.

# %%
_ = run_on_gpu(hello)
# %% [markdown]
# Eight threads, eight lines. Blocks run in no guaranteed order, and code that relies on one is broken even where it
# seems to work.
#
# ## Where threads run
#
# A GPU is a set of processors, the **SMs**, in front of one memory. The picture has the numbers of
# an H200, on which this page was measured.

# %%
show_machine()

# %% [markdown]
# Read it from the right, the way a kernel sees it:
#
# - a thread computes in **registers**. They are private: no other thread can read them;
# - 32 threads form a **warp** and execute each instruction together, each on its own data;
# - a block's warps share their SM's **shared memory**. It is small, fast, and yours to lay out;
# - everything else is in **device memory**, behind the L2 cache. All blocks see it, and it is slow to reach: a load
#   takes several hundred cycles.
#
# A block is assigned to an SM and stays there until it finishes. Blocks do not wait for each other: a launch may have a
# thousand times more of them than fit at once, and new ones start as others finish.
#
# ## Compile time and run time
#
# Your function's Python is executed once, *at compile time*, with stand-ins for the values that are not known yet. This
# is called **tracing**: the operations on the stand-ins are recorded, and the record becomes machine code. So there are
# two ways to print:
#
# - `print` runs at compile time. It shows what the compiler knows, and `?` for what it does not.
# - `cute.printf` is recorded, and runs each time that the machine code does.
#
# A parameter marked `cutlass.Constexpr` is known at compile time; any other number is not. The function below launches
# nothing, so it is plain CPU code and runs on your laptop too.


# %%
@cute.jit
def scaled(n: cutlass.Int32, factor: cutlass.Constexpr):
    print("compiling: n =", n, "and factor =", factor)
    cute.printf("running: n = {} and n * factor = {}", n, n * factor)


# %% [markdown]
# `cute.compile` compiles and does not run. Only the type of the 1 matters; the 3 goes into the machine code. Which line
# appears?

# %%
triple = cute.compile(scaled, 1, 3)

# %% [markdown]
# And now? The compiled function takes the arguments that are not Constexpr.

# %%
for n in (5, 7):
    triple(n)

# %% [markdown]
# You can also call a jitted function directly, without `cute.compile`. Then your Python is traced at *every* call, and
# the record is compiled only if it is new. `compilations()` counts the compilations.


# %%
@cute.jit
def silent(n: cutlass.Int32, factor: cutlass.Constexpr):
    print("  traced: n =", n, "and factor =", factor)


def try_calls(number, calls):
    for n, factor in calls:
        before = compilations()
        print(f"silent({number.__name__}({n}), {factor})")
        silent(number(n), factor)
        print("  compilations:", compilations() - before)


try_calls(cutlass.Int32, [(5, 3), (7, 3), (7, 4), (9, 4)])

# %% [markdown]
# Four calls, two compilations: another `n` is a different argument to the same code; another `factor` is different
# code.
#
# And if you pass plain Python numbers? The code is the same, with `n` still unknown at compile time. Yet:

# %%
try_calls(int, [(5, 3), (7, 3)])

# %% [markdown]
# In this version of the DSL (4.8.1) a compiled function is cached under a key that contains the value of each plain
# number, so each new value costs a compilation. In a direct call, pass `cutlass.Int32(n)`; or compile once and keep the
# result, as `triple` does.
#
# ## Tensors without copies
#
# A `cute.Tensor` is a pointer and a layout. `from_dlpack` makes one from a PyTorch tensor (or a NumPy array) without
# copying anything: it takes over the address, the shape, and the strides.

# %%
x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
for name, view in {"x": from_dlpack(x), "x.T": from_dlpack(x.T)}.items():
    print(f"{name:4} {view.shape}:{view.stride} of {view.element_type.__name__}")


# %%
@cute.jit
def put_42(a: cute.Tensor):
    a[1, 0] = 42.0


put_42(from_dlpack(x))
print(x)

# %% [markdown]
# The 42 is in PyTorch's own memory. Older code passes `x` itself; today that is refused:

# %%
try:
    put_42(x)
except Exception as error:
    print(f"{type(error).__name__}: {error.message}")

# %% [markdown]
# A loop over the elements needs their number, `cute.size(a)`. This one adds the elements one after another, on the CPU.


# %%
@cute.jit
def total(a: cute.Tensor, out: cute.Tensor):
    s = a[0]
    for i in range(1, cute.size(a)):
        s += a[i]
    out[0] = s


a, out = torch.arange(1, 101, dtype=torch.float32), torch.zeros(1)
total(from_dlpack(a), from_dlpack(out))
print(out.item(), a.sum().item())

# %% [markdown]
# **Exercise 04.1** (about 2 lines). Write `axpy(alpha, x, y)`, named after the BLAS routine: it adds alpha·x to y in
# place, for vectors of any length.


# %%
@cute.jit
def axpy(alpha: cutlass.Float32, x: cute.Tensor, y: cute.Tensor):
    ### BEGIN SOLUTION (about 2 lines)
    for i in range(cute.size(x)):
        y[i] = alpha * x[i] + y[i]
    ### END SOLUTION


# %%
check("04.1", axpy)

# %% [markdown]
# ## Loops and branches at compile time and at run time
#
# `for i in range(…)` in a jitted function becomes a loop in the machine code. Its body is traced once, with a stand-in
# for `i`. `cutlass.range_constexpr` is Python's own loop: its body is traced once for each `i`, so the loop is fully
# unrolled. What do the two loops print at compile time?


# %%
@cute.jit
def two_loops():
    for i in range(3):
        print("range, i =", i)
    for i in cutlass.range_constexpr(3):
        print("range_constexpr, i =", i)


two_loops()

# %% [markdown]
# Branches follow the same rule. An `if` on a run-time value becomes a branch in the machine code, so both sides are
# traced. `cutlass.const_expr` asks for Python's own `if`, and then the side not taken is not even traced.


# %%
@cute.jit
def two_branches(n: cutlass.Int32, wide: cutlass.Constexpr):
    if n > 2:
        print("n is large")
    else:
        print("n is small")
    if cutlass.const_expr(wide):
        print("wide")
    else:
        print("narrow")


two_branches(5, True)

# %% [markdown]
# That is why a run-time branch cannot leave the function early: both sides are recorded, and both continue with the
# code after the branch:


# %%
@cute.jit
def leave_early(n: cutlass.Int32):
    if n > 2:
        return
    cute.printf("small")


try:
    leave_early(5)
except Exception as error:
    print(error.message)

# %% [markdown]
# In C++ this is the job of templates. A kernel takes its sizes, its number of buffers, and its epilogue (the arithmetic
# applied to a result before it is stored) as `Constexpr`, and its loops over them are `range_constexpr`; at run time
# none of that costs anything.
#
# **Exercise 04.2** (about 5 lines). Write `polynomial(coefficients, x, y)`: for every element,
# y[i] = c₀ + c₁·x[i] + c₂·x[i]² + …, with the coefficients, a tuple (c₀, c₁, …), known at compile time. Use Horner's
# rule, from the last coefficient down: one multiplication and one addition for each. Which of the two loops must be
# `range_constexpr`?


# %%
@cute.jit
def polynomial(coefficients: cutlass.Constexpr, x: cute.Tensor, y: cute.Tensor):
    ### BEGIN SOLUTION (about 5 lines)
    for i in range(cute.size(x)):
        value = coefficients[-1]
        for power in cutlass.range_constexpr(len(coefficients) - 2, -1, -1):
            value = value * x[i] + coefficients[power]
        y[i] = value
    ### END SOLUTION


# %%
check("04.2", polynomial)

# %% [markdown]
# The loop over the coefficients must be the `range_constexpr`: a tuple cannot be indexed with a stand-in.
#
# ## Static layouts, dynamic layouts
#
# Is a tensor's size known at compile time? With `from_dlpack` it is: shape and stride are part of the tensor's
# *type*. Here five vectors of three different lengths go through one function. How many times will it be compiled?


# %%
@cute.jit
def negate(a: cute.Tensor):
    print("  compiling for", a.layout)
    for i in range(cute.size(a)):
        a[i] = -a[i]


def count(views):
    before = compilations()
    for view in views:
        negate(view)
    return compilations() - before


vectors = [torch.ones(n) for n in (3, 5, 3, 100, 5)]
print("static layouts, compilations:", count([from_dlpack(v) for v in vectors]))

# %% [markdown]
# (The line appears at every call: each call is traced, as with `silent`.) One compilation per shape.
# `mark_layout_dynamic` takes the sizes out of the type and makes them run-time values. Now the same five:

# %%
print("dynamic layouts, compilations:", count([from_dlpack(v).mark_layout_dynamic() for v in vectors]))

# %% [markdown]
# One for all. What remains in the type? A `?` is a number supplied at run time, in 64 bits if marked `{i64}`. The
# stride 1 is kept, because a load of several elements at once is possible only if they are contiguous. In two
# dimensions:


# %%
@cute.jit
def look(a: cute.Tensor):
    print("  ", a.layout)


m = torch.zeros(4, 6)
for name, view in {"rows": m, "columns": m.T, "a window": m[:, :5]}.items():
    print(name)
    look(from_dlpack(view))
    look(from_dlpack(view).mark_layout_dynamic())

# %% [markdown]
# One trap. A function compiled for a static layout *trusts* it. Six elements went into the type here; what is the
# result for eight?

# %%
total_of_6 = cute.compile(total, from_dlpack(torch.ones(6)), from_dlpack(out))
total_of_6(from_dlpack(torch.ones(8)), from_dlpack(out))
print(out.item())

# %% [markdown]
# No error. If you cache compiled functions yourself, make the layout part of the key.
#
# **Exercise 04.3** (about 3 lines). Write `compilations_for(layouts, dynamic)`: the number of compilations when a
# function is called once for each tensor of a list, each passed by `from_dlpack`, and with `mark_layout_dynamic` if
# `dynamic` is true. A layout is given as a pair, `((4, 6), (6, 1))`, shape and stride; each has exactly one stride that
# is 1. All tensors hold floats. Which parts of the printed types above can differ between two calls?


# %%
def compilations_for(layouts, dynamic):
    ### BEGIN SOLUTION (about 3 lines)
    if dynamic:
        layouts = [(len(shape), stride.index(1)) for shape, stride in layouts]
    return len(set(layouts))
    ### END SOLUTION


# %%
check("04.3", compilations_for)

# %% [markdown]
# ## Which element is mine?
#
# Back to the device, and to `square_kernel`. We have n numbers and want a thread for each. A thread knows its block and
# its index in the block, and a layout maps the two to its element. For blocks of 8 threads it is

# %%
show_layout("(8,5):(1,8)", "thread (down), block (across) → element")

# %% [markdown]
# or `block * 8 + thread`, the line `i = …` of `square_kernel`. As a function it serves the next kernels too. (A
# `@cute.jit` function runs where its caller runs: called by a kernel, it is device code.)


# %%
@cute.jit
def my_element():
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    return block * THREADS + thread


# %% [markdown]
# How does the compiler translate `square_kernel`? Below are all the instructions of one thread, in PTX, NVIDIA's
# virtual assembly language. Look for the four steps: find the element (`%tid` is the thread, `%ctaid` the block), load,
# multiply, store. (`compile_cute` belongs to the course and needs no GPU: it compiles a host function for sm_80, or for
# another GPU that you name. A `TensorSpec` stands for a tensor: its shape, its dtype, fp32 unless you say otherwise,
# and no data.)

# %%
vector = TensorSpec((1024,))
print(compile_cute(square, [vector, vector]).body)

# %% [markdown]
# A shift instead of a multiplication by 128, an `or` instead of an addition (a thread's index is below 128, so the two
# share no bit), and no trace of a layout: it was evaluated at compile time. With a dynamic layout the compiler knows
# less. Compare the address arithmetic for the element (i, i) of a matrix:


# %%
@cute.kernel
def diagonal_kernel(a: cute.Tensor):
    i = my_element()
    a[i, i] = 1.0


@cute.jit
def diagonal(a: cute.Tensor):
    diagonal_kernel(a).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


for dynamic in (False, True):
    compiled = compile_cute(diagonal, [TensorSpec((128, 128), dynamic=dynamic)])
    print("dynamic:" if dynamic else "static:", compiled.body, sep="\n")

# %% [markdown]
# The listings are equally long; the instructions differ. Static: the stride is part of the code, so 129·i, the offset
# of (i, i), takes shifts and additions in 32 bits. (`mul.wide` turns an element's number into bytes.) Dynamic: the
# stride arrives as a second parameter (`[param_0+16]`) and costs a 64-bit multiplication (`mad.lo.s64`). That is cheap,
# and it saves a compilation for every new shape. So matrices are often dynamic; tiles, whose layouts carry the
# structure of a kernel, are static.
#
# **Exercise 04.4** (about 3 lines). Write the two halves of a vector addition, c = a + b. Sizes are multiples of 128.
# Use `THREADS` and, if you like, `my_element`.


# %%
@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    ### BEGIN SOLUTION (about 2 lines)
    i = my_element()
    c[i] = a[i] + b[i]
    ### END SOLUTION


@cute.jit
def vector_add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    ### BEGIN SOLUTION (about 1 line)
    add_kernel(a, b, c).launch(grid=(cute.size(c) // THREADS, 1, 1), block=(THREADS, 1, 1))
    ### END SOLUTION


# %%
check("04.4", vector_add)

# %% [markdown]
# ## Sizes that do not divide
#
# Twenty elements and blocks of eight: two blocks have too few threads, three have too many. Launch three, and let the
# threads that have no element do nothing. They are outlined here.

# %%
show_layout("(8,3):(1,8)", "20 elements, 3 blocks of 8", highlight=range(20, 24))

# %% [markdown]
# The test that keeps them out, `i < size`, is called a **predicate**. Without it, those four threads of a vector
# addition read past the end of `a` and `b`, and write past the end of `c`, into other data. Nothing warns you: the
# memory behind a tensor usually belongs to your process too. The check puts guard bands around its outputs to catch
# it.
#
# Be careful about the code inside the `if`. At a barrier, threads wait until all threads of the block have arrived. A
# barrier in a branch that some threads do not take is therefore an error, and the compiler does not catch it:


# %%
@cute.kernel
def half_a_barrier_kernel(a: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    if thread < 64:
        cute.arch.barrier()
    a[thread] = 1.0


@cute.jit
def half_a_barrier(a: cute.Tensor):
    half_a_barrier_kernel(a).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


print(compile_cute(half_a_barrier, [TensorSpec((128,))]).body)

# %% [markdown]
# Read the third to fifth lines: threads above 63 jump over `bar.sync`, where the others wait for them. The kernel may
# hang, or seem to work for years. Put the barrier outside the `if`. You will hunt one of these down in notebook 18.
#
# **Exercise 04.5** (about 4 lines). Write a vector addition for any size, compiled once: the check passes dynamic
# layouts. `cute.ceil_div(a, b)` divides and rounds up.


# %%
@cute.kernel
def add_any_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    i = my_element()
    ### BEGIN SOLUTION (about 2 lines)
    if i < cute.size(c):
        c[i] = a[i] + b[i]
    ### END SOLUTION


@cute.jit
def vector_add_any(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    ### BEGIN SOLUTION (about 2 lines)
    blocks = cute.ceil_div(cute.size(c), THREADS)
    add_any_kernel(a, b, c).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1))
    ### END SOLUTION


# %%
check("04.5", vector_add_any)

# %% [markdown]
# ## Several elements at once: TensorSSA
#
# A thread that owns one float loads 4 bytes. One instruction can load 16. So give each thread four consecutive
# elements. Eight threads then own 32:

# %%
show_tv("(8,4):(4,1)", (1, 32), "thread (T) and value (V): four elements a thread")

# %% [markdown]
# In the kernel, `load()` reads a whole (static) tensor into a **TensorSSA**: a value in registers. You compute with it
# as with a NumPy array, element by element; `cute.where` chooses between two of them. `store()` writes it back. A
# TensorSSA is immutable: an operation returns a new one. This works on the CPU too:


# %%
@cute.jit
def relu(x: cute.Tensor, y: cute.Tensor):
    v = x.load()
    print(v.shape, v.dtype)
    y.store(cute.where(v > 0, v, cute.full_like(v, 0)))


x, y = torch.linspace(-3, 3, 7), torch.zeros(7)
relu(from_dlpack(x), from_dlpack(y))
print(x, y, sep="\n")


# %%
@cute.jit
def overwrite(x: cute.Tensor):
    v = x.load()
    v[0] = 1.0


try:
    overwrite(from_dlpack(x))
except TypeError as error:
    print(error)

# %% [markdown]
# How does a thread get its four elements? By notebook 02's ⊘: `cute.local_tile(x, (4,), (i,))` divides x into tiles of
# four and takes tile i. The tile is a tensor with the static layout `4:1`, even where x itself is dynamic, so `load()`
# accepts it.
#
# The wide instruction has one more condition: its address must be a multiple of 16, and the compiler has to know that.
# By itself `from_dlpack(x)` promises no more than a multiple of the element's 4 bytes, and `load()` becomes four loads.
# The check passes `from_dlpack(x, assumed_align=16)`, and every tile of four floats then begins at a multiple of 16,
# too.
#
# **Exercise 04.6** (about 6 lines). Write `leaky_relu`: y = x where x > 0, and x/8 elsewhere. Layouts are dynamic; a
# size is a multiple of 4, but not always of 4 · `THREADS`. Each thread computes one tile of four elements, with one
# load and one store; the check looks for `ld.global.v4` and `st.global.v4` in the PTX.


# %%
@cute.kernel
def leaky_relu_kernel(x: cute.Tensor, y: cute.Tensor):
    i = my_element()  # this thread's tile of four
    ### BEGIN SOLUTION (about 4 lines)
    if 4 * i < cute.size(x):
        four = cute.local_tile(x, (4,), (i,)).load()
        leaked = cute.where(four > 0, four, four * 0.125)
        cute.local_tile(y, (4,), (i,)).store(leaked)
    ### END SOLUTION


@cute.jit
def leaky_relu(x: cute.Tensor, y: cute.Tensor):
    ### BEGIN SOLUTION (about 2 lines)
    blocks = cute.ceil_div(cute.size(x), 4 * THREADS)
    leaky_relu_kernel(x, y).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1))
    ### END SOLUTION


# %%
check("04.6", leaky_relu)

# %% [markdown]
# ## Two dimensions
#
# A launch can have rows and columns as a matrix does: `thread_idx()` and `block_idx()` give three numbers, x, y and z.
# A block of 32×8 threads is `block=(32, 8, 1)`.
#
# Which threads of it form a warp? Those with the same y: **x varies fastest**. So x belongs to the contiguous
# direction, along the rows of a row-major matrix, and `(x, y)` is the reverse of the order in `a[row, column]`. In a
# miniature of 8×4 threads, where a warp would have 8, the thread numbers are

# %%
show_layout("(4,8):(8,1)", "y (down), x (across) → thread in its block")

# %% [markdown]
# The smallest grid that covers a matrix of M rows and N columns with such blocks has `ceil_div(N, 32)` of them in x and
# `ceil_div(M, 8)` in y. Most of these blocks are full; those at the right and lower edges extend past the matrix, and
# the corner block does so in both dimensions.
#
# **Exercise 04.7** (about 7 lines). Write `add_bias`: y[m, n] = x[m, n] + bias[n], for x and y of any M×N and a bias of
# N numbers. Blocks have 32×8 threads, and a thread owns one element. `x.shape` is (M, N); a thread has to test both of
# its coordinates, with `and`.

# %%
BLOCK = (32, 8, 1)


@cute.kernel
def add_bias_kernel(x: cute.Tensor, bias: cute.Tensor, y: cute.Tensor):
    across, down, _ = cute.arch.thread_idx()
    block_across, block_down, _ = cute.arch.block_idx()
    ### BEGIN SOLUTION (about 4 lines)
    m = block_down * BLOCK[1] + down
    n = block_across * BLOCK[0] + across
    if m < x.shape[0] and n < x.shape[1]:
        y[m, n] = x[m, n] + bias[n]
    ### END SOLUTION


@cute.jit
def add_bias(x: cute.Tensor, bias: cute.Tensor, y: cute.Tensor):
    ### BEGIN SOLUTION (about 3 lines)
    rows, columns = x.shape
    grid = (cute.ceil_div(columns, BLOCK[0]), cute.ceil_div(rows, BLOCK[1]), 1)
    add_bias_kernel(x, bias, y).launch(grid=grid, block=BLOCK)
    ### END SOLUTION


# %%
check("04.7", add_bias)

# %% [markdown]
# ## Coalescing: a warp reads together
#
# Why does it matter that x is the contiguous direction? A warp executes a load as one instruction with 32 addresses,
# and device memory is accessed in **sectors** of 32 bytes. If neighboring threads read neighboring floats, a warp's 128
# bytes are 4 sectors: the access is **coalesced**. If neighboring threads read down a column, each float is in a sector
# of its own, and the warp moves 32 sectors to use 4 bytes of each. These two copies differ only in the index that a
# warp's threads run along:


# %%
@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor, along_rows: cutlass.Constexpr):
    thread_x, thread_y, _ = cute.arch.thread_idx()
    block_x, block_y, _ = cute.arch.block_idx()
    i, j = block_y * BLOCK[1] + thread_y, block_x * BLOCK[0] + thread_x  # a warp's threads differ in j
    m, n = (i, j) if cutlass.const_expr(along_rows) else (j, i)
    y[m, n] = x[m, n]


@cute.jit
def copy_along_rows(x: cute.Tensor, y: cute.Tensor):
    rows, columns = x.shape
    copy_kernel(x, y, True).launch(grid=(columns // BLOCK[0], rows // BLOCK[1], 1), block=BLOCK)


@cute.jit
def copy_down_columns(x: cute.Tensor, y: cute.Tensor):
    rows, columns = x.shape
    copy_kernel(x, y, False).launch(grid=(rows // BLOCK[0], columns // BLOCK[1], 1), block=BLOCK)


# %% [markdown]
# `explain` simulates a kernel on any machine and counts, for each line, the sectors that its accesses moved, beside the
# number that the same bytes need. (It also looks for **hazards**: two threads that access the same memory, at least one
# of them writing, with nothing that orders the two.) How many will each copy of a 64×64 matrix take?

# %%
x, y = torch.randn(64, 64), torch.zeros(64, 64)
for copy in (copy_along_rows, copy_down_columns):
    print(copy.__name__)
    explain(copy, x, y)

# %% [markdown]
# Eight times the sectors. Is it eight times slower? Here is the measured speed of these two copies, as a fraction of
# `torch`'s own copy, for a matrix of 1 GiB. Here and in later tables, a kernel and its rival are timed in turns, and
# each *pair* of times gives one ratio; *cool* means in short rounds, between which the GPU rests.

# %%
show_sweep("coalescing")

# %% [markdown]
# Exchanging two indices costs more than a factor of four. (A likely reason why it is not the full eight: the eight
# warps of a block read the eight floats of the same sectors, and a cache may hold a sector until the next warp asks.)
# The coalesced copy is not yet as fast as `torch`'s either; each thread moves a single float. The next page closes both
# gaps.
#
# ## Threads that cooperate
#
# So far every thread had its own element. A **reduction** combines many numbers into one: a sum, a maximum. One thread
# per row would be easy, and slow: at each step the 32 threads of a warp would read down a column. So assign a whole
# block to each row:
#
# 1. Thread t visits elements t, t + 128, t + 256, … and keeps the largest in a register. Neighboring threads read
#    neighboring elements: coalesced.
# 2. Now each of 128 threads holds a number in a register, which no other thread can read. So each writes its number to
#    **shared memory**.
# 3. Half of the threads each combine their number with one of the other half; then a quarter, and so on: seven steps
#    for 128 threads.

# %%
show_reduction(8)

# %% [markdown]
# In step 3 a thread reads a number that *another* thread wrote. Warps of a block do not run in lockstep: one may have
# finished before another starts. `cute.arch.sync_threads()` is the **barrier**, the same `bar.sync 0` as
# `cute.arch.barrier()` above: no thread continues before all threads of the block have arrived, and everything they
# wrote before it is then visible to all. Put one wherever the picture has a thick line.
#
# You need two more things. Shared memory is allocated with a layout, and is a tensor like any other:
#
#     partial = SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS), byte_alignment=16)
#
# And a variable that a run-time loop assigns must exist before the loop, with the type that the loop gives it: a sum of
# floats that begins with `0`, an Int32, does not compile. Here thread 0 adds up the numbers 0, 3, 6, … below n:


# %%
@cute.kernel
def every_third_kernel(n: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    total = cutlass.Int32(0)
    for i in range(thread, n, 3):
        total = total + i
    if thread == 0:
        cute.printf("{}", total)


@cute.jit
def every_third():
    every_third_kernel(10).launch(grid=(1, 1, 1), block=(3, 1, 1))


_ = run_on_gpu(every_third)

# %% [markdown]
# **Exercise 04.8** (about 12 lines). Write `row_max`: maxima[m] = the largest number of row m, for x of any M×N. Block
# m has 128 threads for row m. A row may be shorter than 128, and may hold nothing but -∞: with which value should a
# thread start? (`cutlass.Float32(…)` turns a Python float into a run-time one.) The steps of the tree are
# known at compile time: use `range_constexpr`. `max(a, b)` compares two run-time numbers.


# %%
@cute.kernel
def row_max_kernel(x: cute.Tensor, maxima: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    partial = SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS), byte_alignment=16)
    ### BEGIN SOLUTION (about 12 lines)
    largest = -cutlass.Float32.inf
    for n in range(thread, x.shape[1], THREADS):
        largest = max(largest, x[row, n])
    partial[thread] = largest
    cute.arch.sync_threads()
    for step in cutlass.range_constexpr(1, THREADS.bit_length()):
        half = THREADS >> step
        if thread < half:
            partial[thread] = max(partial[thread], partial[thread + half])
        cute.arch.sync_threads()
    if thread == 0:
        maxima[row] = partial[0]
    ### END SOLUTION


@cute.jit
def row_max(x: cute.Tensor, maxima: cute.Tensor):
    row_max_kernel(x, maxima).launch(grid=(x.shape[0], 1, 1), block=(THREADS, 1, 1))


# %%
check("04.8", row_max)

# %% [markdown]
# Where did you put the barrier of the loop? Inside the `if`, the threads that skip it would leave the others waiting.
#
# `explain` again: it counts device memory in sectors and shared memory in notebook 03's wavefronts, and draws the steps
# of the first block's warps. In the first step of the tree two warps read and write; after that, only warp 0 does. All
# warps arrive at every barrier. A cell may stand for several accesses: successive ones of a kind by the same warps
# share it, so the first L is two loads of every warp, and the second the third load of warps 0 and 1. The numbers in
# the row *buffer 0* count what it has held: each step of the tree writes it anew.

# %%
explain("04.8", row_max, shape=(2, 320))

# %% [markdown]
# The last five steps happen within one warp, whose threads can exchange registers directly, without shared memory:
# `cute.arch.warp_reduction_max` does that. The GEMMs of the next notebooks need no reduction of their own (the tensor
# cores add), so we leave this one as it is.
#
# ## What to remember
#
# - Your Python is traced at compile time; the recorded operations run later. `print` belongs to compile time,
#   `cute.printf` to run time.
# - `Constexpr`, `range_constexpr`, and `const_expr` are resolved at compile time; everything else at run time.
# - A static layout is part of the type: one compilation for each. A dynamic one keeps its rank and its stride 1.
# - A thread's element is a layout of (thread, block). If it may be outside the tensor, use a predicate.
# - x varies fastest: give it the contiguous direction, and a warp's accesses are coalesced.
# - Read another thread's writes to shared memory only after a barrier, at which all threads of the block must arrive.
# - Four floats per thread are one load. The next page shows how far that goes: a copy at memory speed.
#
# ## Test yourself
#
# <details><summary>1. A function takes <code>n: cutlass.Int32</code> and <code>k: cutlass.Constexpr</code>.
# It is called, with Int32 numbers, for n in 1, 2, 3 and each of k = 8, 16. How many compilations?</summary>
#
# Two: k is part of the code, n is not.
#
# </details>
#
# <details><summary>2. A kernel over 1,000 elements is launched with 8 blocks of 128 threads and has no predicate. What
# happens?</summary>
#
# 24 threads of the last block read and write past the ends. Usually you notice nothing: the memory behind the tensors
# belongs to your process, and the writes destroy other data.
#
# </details>
#
# <details><summary>3. In <code>row_max</code>, which barriers could you remove without a wrong result?</summary>
#
# The one after the last step, if you have it: only thread 0 reads then, and it reads its own write. Each of the others
# separates a write from another thread's read. (Below 32 threads writer and reader are in one warp. Even there lockstep
# is not guaranteed, and the code needs at least `sync_warp`.)
#
# </details>

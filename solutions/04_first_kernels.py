# ---
# jupyter:
#   tutorlib:
#     minutes: 85
#     summary: Host and device, compile time and run time, and five kernels of your own in CuTe, a reduction among them.
# ---

# %% [markdown]
# # 04 · First kernels
#
# So far a layout was a function you called from Python, one coordinate at a time. A **kernel** is a function that
# thousands of threads call at once, each with its own coordinate. On this page you write your first ones in CuTe DSL:
# Python that is compiled, without a C++ compiler in sight.
#
# > **After this page you can** write and launch a kernel over vectors and matrices of any size, tell what happens while
# > compiling from what happens while running, read a kernel's PTX, and let a block's threads work out one result
# > together.
# >
# > **It takes** about 85 minutes, on any machine. Without a GPU the compiled kernels are *simulated*: instruction by
# > instruction, on NumPy, thousands of times slower, with the same results.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack
from cutlass.memory import SmemAllocator

from tutorlib import check, explain
from tutorlib.compiling.cute import compilations, compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.draw import show_layout, show_machine, show_reduction, show_tv
from tutorlib.notebook.trials import run_on_gpu

device = "cuda" if torch.cuda.is_available() else "cpu"

# %% [markdown]
# ## Host and device
#
# Two decorators, two places:
#
# - `@cute.kernel` is the **device** side: the code of one thread. It may ask which thread it is.
# - `@cute.jit` is the **host** side: the code of the CPU that decides how many threads there are, and launches them.
#
# Threads come in **blocks**, and a launch says how many blocks (`grid`) of how many threads (`block`). Both have three
# directions; for now we use the first and leave the others at 1.


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
# How many lines will it print, and in which order? Decide, then run. (`run_on_gpu` is this course's: it compiles a
# host function, calls it and waits for the GPU. Without a GPU it simulates it, and says so.)

# %%
_ = run_on_gpu(hello)
# %% [markdown]
# Eight threads, eight lines. Nothing promises an order between blocks, and code that relies on one is broken even
# where it seems to work.
#
# Two things to keep in mind when you compare this with older slides and articles, where names were still moving. The
# launch hangs on the call, `kernel(…).launch(grid=…, block=…)`; and a thread learns its number from
# `cute.arch.thread_idx()`, a tuple of three. Some names that you may meet elsewhere are not there:

# %%
for name in ("from_numpy", "to_numpy", "thread_idx", "block_idx", "syncthreads"):
    print(f"cute.{name:12}", "exists" if hasattr(cute, name) else "does not exist")

# %% [markdown]
# ## Where they live
#
# A GPU is a row of processors, the **SMs** (each a *streaming multiprocessor*), in front of one memory. The picture has
# the numbers of the GPU that this course was measured on.

# %%
show_machine()

# %% [markdown]
# Read it from the right, the way a kernel sees it:
#
# - a thread computes in **registers**. They are its own: no other thread can see them;
# - 32 threads are a **warp** and take each step together: one instruction, 32 places of data;
# - a block's warps share their SM's **shared memory**. It is small, near, and yours to lay out;
# - everything else lies in **device memory**, behind the L2 cache. All blocks see it, and it is far away: a load takes
#   some hundred cycles.
#
# A block is put on an SM and stays there until it is done. Blocks do not wait for each other: there may be a thousand
# times more of them than fit at once, and the others begin as these end.
#
# ## Two times: while compiling, while running
#
# Your function's Python is executed once, *while it is compiled*, with stand-ins for the values that are not known yet.
# The operations on the stand-ins are recorded, and the record becomes machine code. So there are two ways to print:
#
# - `print` happens while compiling. It shows what the compiler knows, and `?` for what it does not.
# - `cute.printf` is recorded, and happens each time that the machine code runs.
#
# A parameter marked `cutlass.Constexpr` is known while compiling; any other is not. The function below launches
# nothing, so it is plain CPU code and runs on your laptop too.


# %%
@cute.jit
def scaled(n: cutlass.Int32, factor: cutlass.Constexpr):
    print("compiling: n =", n, "and factor =", factor)
    cute.printf("running: n = {} and n * factor = {}", n, n * factor)


# %% [markdown]
# `cute.compile` compiles and does not run. The 1 is there for its type alone; the 3 goes into the machine code. Which
# line appears?

# %%
triple = cute.compile(scaled, 1, 3)

# %% [markdown]
# And now? The result takes what is left to be given at run time.

# %%
for n in (5, 7):
    triple(n)

# %% [markdown]
# You can also call a jitted function directly, without `cute.compile`. Then your Python is executed at *every* call, to
# see what it records, and compiled only where nothing like it has been compiled before. `compilations()` counts those.


# %%
@cute.jit
def silent(n: cutlass.Int32, factor: cutlass.Constexpr):
    print("  traced: n =", n, "and factor =", factor)


def try_calls(number, calls):
    for n, factor in calls:
        before = compilations()
        print(f"silent({number.__name__}({n}), {factor})")
        silent(number(n), factor)
        print("  compiled anew:", compilations() - before)


try_calls(cutlass.Int32, [(5, 3), (7, 3), (7, 4), (9, 4)])

# %% [markdown]
# Four calls, two compilations: another `n` is only another number for the same code, another `factor` is other code.
#
# And if you pass plain Python numbers? The code is the same, with `n` still unknown to it. Yet:

# %%
try_calls(int, [(5, 3), (7, 3)])

# %% [markdown]
# In this version of the DSL (4.8.1) a plain number takes part in the search for a compiled function, so each new value
# costs a compilation. In a direct call, say `cutlass.Int32(n)`; or compile once and keep the result, as `triple` does.
#
# ## Tensors without copies
#
# A `cute.Tensor` is a pointer and a layout. `from_dlpack` makes one from a tensor of PyTorch (or an array of NumPy)
# without copying anything: it takes the address, the shape and the strides.

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
# The 42 is in PyTorch's own memory. Passing `x` itself is refused; slides from the DSL's first days do it, so here is
# what happens today:

# %%
try:
    put_42(x)
except Exception as error:
    print(f"{type(error).__name__}: {error.message}")

# %% [markdown]
# A loop over the elements needs their number, which is `cute.size(a)`. This one adds them up, one after the other, on
# the CPU.


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
# **Exercise 04.1** (about 2 lines). Write `axpy(alpha, x, y)`, which is what BLAS calls it: it adds alpha·x to y, in
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
# ## Loops and branches of either time
#
# `for i in range(…)` in a jitted function becomes a loop in the machine code. Its body is executed once while
# compiling, with a stand-in for `i`. `cutlass.range_constexpr` is Python's own loop: its body is executed, and
# recorded, once for each `i`, and no loop is left. What do the two loops print while compiling?


# %%
@cute.jit
def two_loops():
    for i in range(3):
        print("range, i =", i)
    for i in cutlass.range_constexpr(3):
        print("range_constexpr, i =", i)


two_loops()

# %% [markdown]
# Branches are the same. An `if` on something that only the run knows becomes a branch of the machine code, so both
# sides are executed while compiling. `cutlass.const_expr` asks for Python's own `if`, and then the side not taken is
# not even looked at.


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
# That is why a run-time branch cannot leave the function early. Both sides are recorded, and what comes after them
# belongs to both:


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
# This is what templates are for in C++. A kernel takes its tile sizes, its number of stages, the operation at its
# end as `Constexpr`, loops over them with `range_constexpr`, and all of that is gone before the first thread starts.
#
# **Exercise 04.2** (about 5 lines). Write `polynomial(coefficients, x, y)`: for every element,
# y[i] = c₀ + c₁·x[i] + c₂·x[i]² + …, with the coefficients, a tuple (c₀, c₁, …), known while compiling. Do it by
# Horner's rule, from the last coefficient down: one multiplication and one addition for each. Which loop is of which
# kind?


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
# ## Static layouts, dynamic layouts
#
# Is a tensor's size known while compiling? With `from_dlpack` it is: shape and stride are part of the tensor's
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
# (The line appears at every call, as `silent` taught us; compiled is only what is new.) One compilation for each
# shape. `mark_layout_dynamic` takes the sizes out of the type again and leaves them to the run. Now the same five:

# %%
print("dynamic layouts, compilations:", count([from_dlpack(v).mark_layout_dynamic() for v in vectors]))

# %% [markdown]
# One for all. What is left in the type? A `?` is a number that the run brings along, with `{i64}` one of 64 bits. The
# stride 1 is kept: that elements lie next to each other is worth knowing, since it is what allows a load of several
# elements at once. In two dimensions:


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
# One trap. A function compiled for a static layout *believes* it. Six elements went into the type here; what does it
# answer for eight?

# %%
total_of_6 = cute.compile(total, from_dlpack(torch.ones(6)), from_dlpack(out))
total_of_6(from_dlpack(torch.ones(8)), from_dlpack(out))
print(out.item())

# %% [markdown]
# No error. Where you keep compiled functions yourself, the layout belongs in the key under which you keep them.
#
# **Exercise 04.3** (about 3 lines). Write `compilations_for(layouts, dynamic)`: how many compilations a function needs
# that is called once for each tensor of a list. A layout is given as a pair, `((4, 6), (6, 1))`, shape and stride;
# each has exactly one stride that is 1. All tensors hold floats.


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
# ## A kernel with data
#
# Now to the device. We have n numbers and want a thread for each. A thread knows its block and its place in the block,
# and its element is a layout of the two: for blocks of 8 threads

# %%
show_layout("(8,5):(1,8)", "thread (down), block (across) → element")

# %% [markdown]
# which is `block * 8 + thread`. In code, with 128 threads to a block:

# %%
THREADS = 128


@cute.jit
def my_element():
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    return block * THREADS + thread


@cute.kernel
def square_kernel(x: cute.Tensor, y: cute.Tensor):
    i = my_element()
    y[i] = x[i] * x[i]


@cute.jit
def square(x: cute.Tensor, y: cute.Tensor):
    square_kernel(x, y).launch(grid=(cute.size(x) // THREADS, 1, 1), block=(THREADS, 1, 1))


# %% [markdown]
# (`my_element` is called by a kernel, so it becomes device code. A `@cute.jit` function runs where its caller runs.)
#
# Always compare with something that you trust:

# %%
x = torch.randn(1024, device=device)
y = torch.empty_like(x)
if run_on_gpu(square, x, y):
    torch.testing.assert_close(y, x * x)
    print("agrees with torch")

# %% [markdown]
# What has the compiler made of it? Below is all that one thread does, in PTX, the assembly language of NVIDIA's GPUs.
# Look for the four steps: where am I (`%tid` is the thread, `%ctaid` the block), load, multiply, store.

# %%
vector = TensorSpec((1024,))
print(compile_cute(square, [vector, vector]).body)

# %% [markdown]
# A shift instead of a multiplication by 128, and no trace of a layout: it was all worked out while compiling. With a
# dynamic layout the compiler has less to work with. Compare what it takes to find the element (i, i) of a matrix:


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
# Static: shifts by constants and additions, in 32 bits. Dynamic: the stride arrives as a parameter (`[param_0+16]`),
# and is multiplied with in 64 bits. That is little, and it saves a compilation for every new shape. So matrices are
# often dynamic; tiles, whose layouts carry the structure of a kernel, are static.
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
# Twenty elements and blocks of eight: two blocks leave four elements over, three have too many threads. Launch the
# third, and let the threads that have no element do nothing. Outlined are those threads.

# %%
show_layout("(8,3):(1,8)", "20 elements, 3 blocks of 8", highlight=range(20, 24))

# %% [markdown]
# Such a guard is called a **predicate**. Without one, those four threads read past the end of `a` and `b`, and write
# past the end of `c`, into whatever lies there. Nothing warns you: the memory behind a tensor usually belongs to your
# process too. The checker puts a guarded band around its outputs to catch it.
#
# Mind what you put inside the `if`. All threads of a block have to meet at a barrier, so a barrier inside a branch that
# some threads do not take is an error, and the compiler lets you make it:


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
# Read the third to fifth line: threads above 63 jump over `bar.sync`, where the others wait for them. That kernel may
# hang, or it may seem to work until the day when it does not. The barrier goes outside the `if`. You will hunt one of
# these down in notebook 18.
#
# **Exercise 04.5** (about 4 lines). A vector addition for any size, compiled once: the checker passes dynamic
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
# A thread that has one float loads 4 bytes. One instruction can load 16. So give each thread four elements in a row.
# Eight threads then have 32:

# %%
show_tv("(8,4):(4,1)", (1, 32), "thread (T) and value (V): four elements a thread")

# %% [markdown]
# In the kernel, `load()` reads a whole (static) tensor into a value, with which you compute as with a NumPy array:
# element by element, with `cute.where` for a choice. `store()` writes it back. Such a value is a **TensorSSA**. It
# lives in registers, and it never changes: an operation gives a new one. Again this works on the CPU too:


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
# Where do a thread's four elements come from? From ⊘: `cute.local_tile(x, (4,), (i,))` divides x into pieces of four
# and takes piece i. The piece is a tensor with the static layout `4:1`, even where x itself is dynamic, so `load()`
# can have it.
#
# **Exercise 04.6** (about 6 lines). Write `leaky_relu`: y = x where x > 0, and x/8 elsewhere. Sizes are multiples of
# 4, not of 512, and dynamic. Each thread computes one piece of four elements, with one load and one store; the
# checker looks into the PTX for `ld.global.v4` and `st.global.v4`.


# %%
@cute.kernel
def leaky_relu_kernel(x: cute.Tensor, y: cute.Tensor):
    i = my_element()  # which piece of four is this thread's
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
# ## Two directions
#
# A matrix has rows and columns, and a launch can have them too: `thread_idx()` and `block_idx()` give three numbers, x,
# y and z. A block of 32×8 threads is `block=(32, 8, 1)`.
#
# Which threads of it are a warp? Those with the same y: **x runs fastest**. So x belongs to the direction that is
# contiguous in memory, the columns of a row-major matrix, and the order of the numbers is the reverse of what you
# write in `a[row, column]`. In a miniature of 8×4 threads, where a warp would have 8, thread numbers are

# %%
show_layout("(4,8):(8,1)", "y (down), x (across) → thread in its block")

# %% [markdown]
# The smallest grid that covers a matrix of M rows and N columns with such blocks has `ceil_div(N, 32)` of them in x and
# `ceil_div(M, 8)` in y. Most of these blocks are whole; those at the right and at the lower edge extend past the
# matrix, and the corner does so in both directions.
#
# **Exercise 04.7** (about 7 lines). Write `add_bias`: y[m, n] = x[m, n] + bias[n], for x and y of any M×N and a bias of
# N numbers. Blocks have 32×8 threads, and a thread has one element. `x.shape` is (M, N); a thread has to ask about
# both, with `and`.

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
# ## Threads that work together
#
# So far every thread minded its own element. A **reduction** makes one number of many: a sum, a maximum. One thread per
# row would be easy, and slow: at each step the 32 threads of a warp would read from 32 places far apart. Let a whole
# block have a row:
#
# 1. thread t goes through elements t, t + 128, t + 256, … and keeps the largest in a register. Neighbors in the row
#    are neighboring threads, as in every kernel of this page;
# 2. now 128 threads hold a number each, in registers that no other thread can see. So each writes its own to **shared
#    memory**;
# 3. half of the threads take in a number of the other half; then a quarter, and so on. Seven steps for 128 threads.

# %%
show_reduction(8)

# %% [markdown]
# In step 3 a thread reads what *another* thread wrote. Warps of a block do not run in step: a warp may be through while
# the next one has not begun. `cute.arch.sync_threads()` is the **barrier**: no thread goes on before all threads of the
# block have arrived, and everything they wrote before it is then visible to all. One belongs wherever the thick lines
# are.
#
# Two pieces that you need. Shared memory is allocated with a layout, and is a tensor like any other:
#
#     partial = SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS), byte_alignment=16)
#
# And a loop of the run can change a variable if the variable has its type from the start. Here thread 0 adds up the
# numbers 0, 3, 6, … below n:


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
# m has row m and 128 threads. Rows may be shorter than that: what should a thread start from that has no element? (Any
# float of Python's becomes one of the kernel's by `cutlass.Float32(…)`.) The steps of the tree are known while
# compiling, `range_constexpr`; `max(a, b)` compares two numbers of the run.


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
# Where did you put the barrier of the loop? Inside the `if`, a part of the threads would wait for the others forever.
#
# `explain` simulates a kernel on any machine: what each line's accesses cost, device memory in *sectors* of 32 bytes,
# shared memory in notebook 03's wavefronts; and what the warps of the first block did, step by step. In the first step
# of the tree two warps read and write, after that warp 0 alone. All warps come to every barrier.

# %%
explain("04.8", row_max, shape=(2, 320))

# %% [markdown]
# The last five steps happen within one warp, which can pass numbers from register to register:
# `cute.arch.warp_reduction_max` does that without shared memory. The kernels of the next notebooks need no reduction
# of their own (the tensor cores sum), so this one may stay as it is.
#
# ## What to remember
#
# - Your Python runs while compiling. What it does to stand-ins is what runs later. `print` belongs to the first time,
#   `cute.printf` to the second.
# - `Constexpr`, `range_constexpr` and `const_expr` are the compiler's; everything else is the run's.
# - A static layout is part of the type: one compilation for each. A dynamic one keeps its rank and its stride 1.
# - A thread's element is a layout of (thread, block). Where it may lie outside, there is a predicate.
# - x runs fastest: it belongs to the direction that is contiguous in memory.
# - What another thread wrote to shared memory may be read after a barrier, and a barrier is for all threads.
# - Four floats a thread are one load. How far that gets you is the next page: a copy at the speed of the memory.
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
# 24 threads of the last block read and write past the ends. Mostly nothing is seen to happen: the memory behind belongs
# to your process, and other data is overwritten.
#
# </details>
#
# <details><summary>3. In <code>row_max</code>, which barriers could go without a wrong result?</summary>
#
# The last one: after the last step only thread 0 reads, and what it reads it has written itself. Each of the others
# stands between a write and another thread's read. (Below 32 threads writer and reader are in one warp. They still do
# not run in step by any promise, and `sync_warp` is what such a place needs at least.)
#
# </details>

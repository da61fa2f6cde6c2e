# ---
# jupyter:
#   tutorlib:
#     minutes: 73
#     summary: Your first kernels in CuTe, coalescing, compile time and run time, and a reduction from an empty cell.
# ---

# %% [markdown]
# # 02 · First kernels
#
# A **kernel** is a function that thousands of threads call at once, each with a coordinate of its own. On this page you
# write your first ones in CuTe DSL: Python that is compiled.
#
# > **After this page you can** write and launch a kernel over vectors and matrices of any size, keep a warp's accesses
# > coalesced, tell compile time from run time, and let a block's threads compute one result together.
# >
# > **It takes** about 73 minutes, on any machine. Without a GPU the compiled kernels are *simulated*: far slower, with
# > the same results.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass.memory import SmemAllocator

from tutorlib import (
    check, explain, run_on_gpu, show_layout, show_machine, show_reduction, show_sweep, show_tv,
)  # fmt: skip

device = "cuda" if torch.cuda.is_available() else "cpu"

# %% [markdown]
# ## Your first kernel
#
# This program squares 1,024 numbers on a GPU, one thread for each:

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
# Run it, and compare the result with torch's.

# %%
x = torch.randn(1024, device=device)
y = torch.zeros_like(x)
if run_on_gpu(square, x, y):
    torch.testing.assert_close(y, x * x)
    print("y agrees with torch")

# %% [markdown]
# On a GPU `run_on_gpu(square, x, y)` is short for
#
# ```python
# tensors = [from_dlpack(tensor) for tensor in (x, y)]
# compiled = cute.compile(square, *tensors)
# compiled(*tensors)
# torch.cuda.synchronize()  # wait for the GPU
# ```
#
# A `cute.Tensor` is a pointer and a layout. `from_dlpack` makes one of a PyTorch tensor without copying anything.
# Without a GPU `run_on_gpu` simulates the kernel and prints a line that says so; it returns False if it cannot.
#
# Now break it. Replace `cute.size(x)` with `cute.size(x) - 1`, predict how many elements will be wrong, and run both
# cells again. Then restore it.
#
# ## Host and device
#
# The two decorators separate two machines:
#
# - `@cute.kernel` is the **device** side: the code of one thread. It can ask which thread it is.
# - `@cute.jit` is the **host** side: the CPU's code, which chooses the number of threads and launches them. (Called by
#   a kernel, a `@cute.jit` function is a part of the kernel, and device code.)
#
# Threads come in **blocks**. A launch gives the number of blocks (`grid`) and the number of threads in each (`block`):
# above, 8 blocks of 128 threads. With `cute.size(x) - 1` the division gave 7 blocks, and the last 128 elements of y
# remained zeros. Blocks run in no guaranteed order. Both `grid` and `block` have three dimensions; for now the last two
# are 1.
#
# ## Which element is mine?
#
# A thread knows its block and its index in the block, and a layout maps the two to its element. For blocks of 128 it is
# (128,blocks):(1,128), which is `square_kernel`'s line `i = …`. Here it is as a function, for the next kernels:


# %%
@cute.jit
def my_element():
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    return block * THREADS + thread


# %% [markdown]
# ## Sizes that do not divide
#
# Twenty elements and blocks of eight: two blocks have too few threads, three have too many. Launch three, and let the
# threads that have no element do nothing. They are outlined here.

# %%
show_layout("(8,3):(1,8)", "20 elements, 3 blocks of 8", highlight=range(20, 24))

# %% [markdown]
# The test that keeps them out is called a **predicate**. Without it, those four threads read and write past the end,
# in other data.
#
# **Exercise 02.1** (about 5 lines). Your first kernel: a vector addition, c = a + b, for any size, one element for each
# thread. Write both sides, device and host, with as many blocks as it takes and none to spare. `cute.ceil_div(a, b)`
# divides and rounds up. (CuTe refuses a `return` under a run-time condition.)


# %%
@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    ### BEGIN SOLUTION (about 3 lines)
    i = my_element()
    if i < cute.size(c):
        c[i] = a[i] + b[i]
    ### END SOLUTION


@cute.jit
def vector_add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    ### BEGIN SOLUTION (about 2 lines)
    blocks = cute.ceil_div(cute.size(c), THREADS)
    add_kernel(a, b, c).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1))
    ### END SOLUTION


# %%
check("02.1", vector_add)

# %% [markdown]
# ## Where threads run
#
# A GPU is a set of processors, the **SMs**, in front of one memory. The picture has an H200's numbers.

# %%
show_machine()

# %% [markdown]
# Read the picture from right to left, as a thread sees it:
#
# - a thread computes in **registers**. They are private: no other thread can read them;
# - 32 threads form a **warp** and execute each instruction together, each on its own data;
# - a block has a part of its SM's **shared memory**, which only its own warps can access (or, in notebook 15, those of
#   its cluster). It is small, fast, and yours to lay out;
# - everything else is in **device memory**, behind the L2 cache. All blocks see it, and it is slow to reach: a load
#   takes several hundred cycles.
#
# A block stays on its SM until it finishes. If a launch has more blocks than fit, the others start as these finish.
#
# ## Two dimensions
#
# A launch can have rows and columns as a matrix does: `thread_idx()` and `block_idx()` give three numbers, x, y and z.
# A block of 32×8 threads is `block=(32, 8, 1)`.
#
# Which threads of it form a warp? **x varies fastest**, so in a block 32 wide they are those with the same y. So let x
# count the columns of a row-major matrix and y its rows: the element of thread (x, y) is `a[y, x]`.
#
# ## Coalescing: a warp reads together
#
# A warp executes a load as one instruction with 32 addresses, and the caches fetch **sectors** of 32 bytes. If
# neighboring threads read neighboring floats, a warp's 128 bytes are 4 sectors: the access is **coalesced**. If
# neighboring threads read down a column, each float is in a sector of its own, and the load touches 32 sectors to use 4
# bytes of each.
#
# The kernel below copies a matrix that its blocks divide, its threads' x along the rows. The second host function gives
# the *same* kernel the layouts with their modes exchanged, so its warps run down the columns.

# %%
BLOCK = (32, 8, 1)


@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor):
    across, down, _ = cute.arch.thread_idx()
    block_across, block_down, _ = cute.arch.block_idx()
    m, n = block_down * BLOCK[1] + down, block_across * BLOCK[0] + across
    y[m, n] = x[m, n]


@cute.jit
def copy_along_rows(x: cute.Tensor, y: cute.Tensor):
    rows, columns = x.shape
    copy_kernel(x, y).launch(grid=(columns // BLOCK[0], rows // BLOCK[1], 1), block=BLOCK)


@cute.jit
def copy_down_columns(x: cute.Tensor, y: cute.Tensor):
    turned_x = cute.make_tensor(x.iterator, cute.select(x.layout, mode=[1, 0]))  # iterator: the tensor's pointer
    turned_y = cute.make_tensor(y.iterator, cute.select(y.layout, mode=[1, 0]))
    copy_along_rows(turned_x, turned_y)


# %% [markdown]
# For each line, `explain` prints two numbers: the sectors that its accesses touched, and the fewest that could hold
# these bytes. It marks a line that touched more with `!`. **Predict:** how many sectors will each copy of a 64×64
# matrix take?

# %%
x, y = torch.randn(64, 64), torch.zeros(64, 64)
for copy in (copy_along_rows, copy_down_columns):
    print(copy.__name__)
    explain(copy, x, y)

# %% [markdown]
# Eight times the sectors. **Predict:** how much slower is it, for a matrix of 1 GiB? In this and later tables the last
# column is the speed as a fraction of a rival's, here torch's own copy. The two are timed in turns. Each *pair* of
# times gives one ratio; the table has the median of the ratios, not the quotient of two printed times. *Cool* means in
# short rounds, between which the GPU rests.

# %%
show_sweep("coalescing")

# %% [markdown]
# Exchanging two indices costs a factor of 4.6. The two rows named *transpose* compute y[n, m] = x[m, n] by the same
# kernel, with the modes of only one tensor exchanged. Column-wise loads alone cost a factor of 1.5, column-wise stores
# alone 5.1. The probable reason: a load brings its sectors into the SM's L1 cache, where the block's other warps find
# them; a store is not kept there. (*Several elements at once*, below, is about the 0.61.)
#
# **Exercise 02.2** (about 8 lines). PyTorch's `x.T` is column-major: a pointer and the layout (M,N):(1,M). Write
# `add_bias`: y[m, n] = x[m, n] + bias[n], for column-major x and y of any M×N and a bias of N numbers. A thread owns
# one element, and each load and each store touches only the sectors that it needs. `x.shape` is (M, N). Blocks at both
# edges and in the corner extend past the matrix; conditions combine with `and`.


# %%
@cute.kernel
def add_bias_kernel(x: cute.Tensor, bias: cute.Tensor, y: cute.Tensor):
    ### BEGIN SOLUTION (about 5 lines)
    down, across, _ = cute.arch.thread_idx()
    block_down, block_across, _ = cute.arch.block_idx()
    m, n = block_down * BLOCK[0] + down, block_across * BLOCK[1] + across
    if m < x.shape[0] and n < x.shape[1]:
        y[m, n] = x[m, n] + bias[n]
    ### END SOLUTION


@cute.jit
def add_bias(x: cute.Tensor, bias: cute.Tensor, y: cute.Tensor):
    ### BEGIN SOLUTION (about 3 lines)
    rows, columns = x.shape
    grid = (cute.ceil_div(rows, BLOCK[0]), cute.ceil_div(columns, BLOCK[1]), 1)
    add_bias_kernel(x, bias, y).launch(grid=grid, block=BLOCK)
    ### END SOLUTION


# %%
check("02.2", add_bias)

# %% [markdown]
# ## Compile time and run time
#
# The GPU never executes your function's Python. Python executes it *at compile time*, with stand-ins for values not yet
# known. This is called **tracing**: the operations on the stand-ins are recorded, and the record becomes machine code.
# So there are two ways to print:
#
# - `print` runs at compile time. It shows what the compiler knows, and `?` for what it does not.
# - `cute.printf` is recorded, and runs each time that the machine code does.
#
# A parameter marked `cutlass.Constexpr` is known at compile time; any other number is not. The function below launches
# nothing, so it is CPU code. `cute.compile` only compiles. Of the argument 1 it takes only the type, Int32; the
# argument 3 is `Constexpr` and becomes part of the machine code. **Predict:** which line does each of the two cells
# print?


# %%
@cute.jit
def scaled(n: cutlass.Int32, factor: cutlass.Constexpr):
    print("compiling: n =", n, "and factor =", factor)
    cute.printf("running: n = {} and n * factor = {}", n, n * factor)


triple = cute.compile(scaled, 1, 3)

# %%
for n in (5, 7):  # the compiled function takes the arguments that are not Constexpr
    triple(n)

# %% [markdown]
# Python decides an `if` at once. How can one be recorded? The decorator rewrites the function's syntax tree before
# Python executes it:
#
# - The body of `for i in range(…)` becomes a function, which is traced once, with a stand-in for `i`. The machine code
#   has the loop.
# - Each side of `if n > 2` becomes a function. If the condition is a stand-in, both are traced, and the machine code
#   branches.
# - `cutlass.range_constexpr`, `if cutlass.const_expr(…)`, and a `for` over a tuple remain Python's own. Such a loop's
#   body is traced once for each value, and a side not taken is not traced at all.
#
# Two rules follow. A run-time `if` cannot contain a `return`: it would return from the traced piece only, not from
# your function. A variable that a run-time loop assigns must exist before the loop, with the type that the loop gives
# it: start a sum of floats with 0.0, not 0. **Predict** the printed lines:


# %%
@cute.jit
def two_loops():
    for i in range(3):
        print("range, i =", i)
    for i in cutlass.range_constexpr(3):
        print("range_constexpr, i =", i)


two_loops()

# %% [markdown]
# A kernel takes its tile sizes as `Constexpr`, and its loops over them are Python's: no instruction is left that counts
# or decides, but the code grows with the number of iterations.
#
# ## Static layouts, dynamic layouts
#
# Is a tensor's size known at compile time? With `from_dlpack` it is: shape and stride are part of the tensor's *type*,
# and a function is compiled anew for each. `mark_layout_dynamic` makes sizes and strides run-time values, so one
# compilation is enough (notebook 20 counts them). Strides are then 64-bit numbers. Only those of 0 and 1 stay in the
# type: a wide load, for one, needs to know that its elements are contiguous.
#
# A function compiled for a static layout *trusts* it. If six elements went into its type and you call it with eight, it
# uses six, without an error. If you cache compiled functions, make the layout part of the key (notebook 20).
#
# ## Several elements at once: TensorSSA
#
# The coalesced copy above reached 0.61 of the speed of torch's. Each of its threads loads 4 bytes at once, and one
# instruction can load 16. So give each thread four consecutive floats. Eight threads then own 32:

# %%
show_tv("(8,4):(4,1)", (1, 32), "thread (T) and value (V): four elements a thread")

# %% [markdown]
# The pieces:
#
# - `cute.local_tile(x, (4,), (i,))` cuts x into tiles of four and takes tile i: a tensor with the static layout `4:1`,
#   even if x is dynamic.
# - `tile.load()` reads all of a static tensor into a **TensorSSA**: an immutable value in registers. You compute with
#   it as with a NumPy array; `cute.where(condition, v, w)` chooses between two of them, element by element.
# - `tile.store(v)` writes it back.
#
# The wide instruction has one more condition: its address must be a multiple of 16, and the compiler has to know that.
# Tile i begins 16·i bytes after the start of its tensor, so the addresses of x and y must be such multiples.
# `from_dlpack(x)` promises only a multiple of the element's 4 bytes, so the check passes both with `assumed_align=16`.
#
# **Exercise 02.3** (about 6 lines). Write `leaky_relu`: y = x where x > 0, and x/8 elsewhere. Layouts are dynamic; a
# size is a multiple of 4, but not always of 4 · `THREADS`. Each thread computes one tile of four elements, with one
# load and one store. The check looks for `ld.global.v4` and `st.global.v4` in the compiled kernel's PTX, NVIDIA's
# assembly language.


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
check("02.3", leaky_relu)

# %% [markdown]
# Here is the copy of 1 GiB along the rows again, with one float and with four for each thread:

# %%
show_sweep("wide_copy")

# %% [markdown]
# With four floats for each thread, the copy is as fast as torch's. Probable reasons: each thread has 16 bytes in flight
# instead of 4, and the copy takes a quarter of the loads and stores.
#
# ## Threads that cooperate
#
# A **reduction** combines many numbers into one: a sum, a maximum. One thread per row would be slow: at each step the
# 32 threads of a warp would read down a column. So assign a block to each row. Each of its threads reduces a part of
# the row in a register, and writes its number to **shared memory**, where others can read it. Then half of the threads
# each combine their number with one of the other half; then a quarter, and so on: seven steps for 128 threads.

# %%
show_reduction(8)

# %% [markdown]
# In each step a thread reads a number that *another* thread wrote, and one warp may have finished before another
# starts. In the smallest case, a block reverses 128 numbers through shared memory. Each thread executes
# `allocate_tensor`, but the block gets one tensor, which begins at a multiple of 16 bytes. `explain` also looks for
# **hazards**: two threads that access the same memory, at least one of them writing, with nothing that orders the two.
# (A wavefront is one pass over shared memory.)


# %%
@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    turned = SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS), byte_alignment=16)
    turned[THREADS - 1 - thread] = x[thread]
    y[thread] = turned[thread]


@cute.jit
def reverse(x: cute.Tensor, y: cute.Tensor):
    reverse_kernel(x, y).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


_ = explain(reverse, torch.randn(THREADS), torch.zeros(THREADS))

# %% [markdown]
# What is missing is a **barrier**, `cute.arch.sync_threads()`, in PTX `bar.sync`: no thread continues before **all**
# threads of the block have arrived, and everything they wrote before it is then visible to all. Put it where it
# belongs, and run the cell again.
#
# The compiler does not catch a barrier inside an `if` that some threads skip. The kernel may hang.
#
# ## From an empty cell
#
# **Exercise 02.4** (about 17 lines). Write `row_max(x, maxima)`, the kernel and its host function: maxima[m] is the
# largest number of row m, for x of any M×N. Block m has `THREADS` threads for row m.
#
# - Each element is loaded once, coalesced. In the halving steps, thread t writes only element t of shared memory.
# - A row may be shorter than 128, and may hold nothing but -∞.
# - At most eight barriers; a single thread stores the result.
#
# At hand: shared memory as in `reverse_kernel`; `max(a, b)` of two run-time numbers; `cutlass.Float32.inf`, a run-time
# infinity, which takes a sign; `range(first, end, step)`, which takes run-time numbers.


# %%
# row_max(x, maxima): x (M, N):(N, 1), maxima (M), fp32.
### BEGIN SOLUTION (about 16 lines)
@cute.kernel
def row_max_kernel(x: cute.Tensor, maxima: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    partial = SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS), byte_alignment=16)
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
    ### BEGIN SOLUTION (about 1 line)
    row_max_kernel(x, maxima).launch(grid=(x.shape[0], 1, 1), block=(THREADS, 1, 1))
    ### END SOLUTION


# %%
check("02.4", row_max)

# %% [markdown]
# ## What to remember
#
# - A thread's element is a layout of (thread, block). If it may be outside the tensor, use a predicate.
# - x varies fastest: give it the contiguous direction, and a warp's accesses are coalesced.
# - Your Python is traced at compile time, after `for … in range` and `if` are rewritten so that they can be recorded.
#   Values that are known then are resolved at compile time; all others become run-time values.
# - A static layout is part of the type: one compilation for each. A dynamic one keeps its rank and its strides 0 and 1.
# - Read another thread's writes to shared memory only after a barrier, at which all threads of the block must arrive.
#
# Next: [03](03_layout_algebra.ipynb), the operators behind `local_tile`.
#
# ## Test yourself
#
# <details><summary>1. A function takes <code>x: cute.Tensor</code> and <code>k: cutlass.Constexpr</code>. It is called
# for each of three row-major matrices of different sizes with k = 8 and with k = 16. How many compilations, with static
# and with dynamic layouts?</summary>
#
# Six and two: k is part of the code, and a static layout part of the type.
#
# </details>
#
# <details><summary>2. A kernel over 1,000 elements is launched with 8 blocks of 128 threads and has no predicate. What
# happens?</summary>
#
# 24 threads of the last block read and write past the ends. Usually you notice nothing.
#
# </details>
#
# <details><summary>3. In <code>row_max</code>, which barriers could you remove without a wrong result?</summary>
#
# The one after the last step, if you have it: only thread 0 reads then, and it reads its own write. Each of the others
# separates a write from another thread's read.
#
# </details>

# ---
# jupyter:
#   tutorlib:
#     minutes: 12
#     summary: How an exercise, its check and its hints work, with a first answer of one line.
# ---

# %% [markdown]
# # 00 · Start here
#
# In this course you write fast matrix kernels for NVIDIA GPUs, in Python. You begin with *layouts*, which map the
# elements of a matrix to memory and to threads. In notebook 10 you write a GEMM (a matrix product) for the tensor
# cores, and in notebooks 14 and 15 two for Hopper GPUs. The course's version of notebook 15's runs at 1.01 times the
# speed of cuBLAS, NVIDIA's library (4096×4096×4096, bf16, on an H200). You need Python, NumPy and a little PyTorch; no
# CUDA. Without a GPU, each kernel is *simulated*, thread by thread.
#
# > **After this page you can** solve an exercise with the help of its check and its hints, and let the simulator find
# > the line at which a kernel goes wrong.
# >
# > **It takes** about 12 minutes, without a GPU.
#
# Run the cells from the top (Shift-Enter), and again after you restart the notebook's kernel.

# %%
from tutorlib import check, explain, hint, show_layout

# %% [markdown]
# ## A first question
#
# A GPU program, a **kernel**, cuts its data into tiles. One block of threads works on each tile. The code that starts
# the kernel must say how many blocks. Take 10 elements in tiles of 4. Each column below is one tile. Elements 8 and 9
# need a third tile, whose places 10 and 11 (outlined) are past the end of the data. Notebook 01 explains the string in
# this cell.

# %%
show_layout("(4,3):(1,4)", title="10 elements in tiles of 4", highlight=[(2, 2), (3, 2)])

# %% [markdown]
# **Exercise 00.1** (about 1 line). Write `ceil_div(n, tile)`, the number of tiles of `tile` elements that cover `n`
# elements. Stay with integers: a size can be too large for a float to hold exactly.
#
# Write your answer in place of `YOUR CODE HERE` and of the line that raises. First give a wrong answer on purpose,
# `return n // tile`. Run its cell and the check below it, and read what the check says. Then repair the answer.


# %%
def ceil_div(n, tile):
    ### BEGIN SOLUTION (about 1 line)
    return (n + tile - 1) // tile
    ### END SOLUTION


# %%
check("00.1", ceil_div)

# %% [markdown]
# For a wrong answer the check names a call that failed, and the mistake if it recognizes it:
#
#     ✗ 00.1 ceil_div: 1 of 3 cases right
#       a last tile partly filled: ceil_div(130, 64) gives 2: it should give 3.
#       The last, partly filled tile is missing: // rounds down.
#
# One case of 3 right earns a third of the 2 points, rounded down to a multiple of ½: here ½. Check as often as you
# like. Each run of `hint` shows the next hint; the last nearly tells the answer.

# %%
hint("00.1")

# %% [markdown]
# ## What the simulator sees
#
# Below, your `ceil_div` starts three blocks of four threads, and each thread squares one number. `@cute.kernel` is the
# code of one thread; `y[i]` is its element. (Notebook 02 explains every line.) **Predict:** will y be right? Will
# `explain` report an error?

# %%
import torch
from cutlass import cute

TILE = 4


@cute.kernel
def square_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * TILE + thread
    y[i] = x[i] * x[i]


@cute.jit
def square(x: cute.Tensor, y: cute.Tensor):
    blocks = ceil_div(cute.size(x), TILE)
    square_kernel(x, y).launch(grid=(blocks, 1, 1), block=(TILE, 1, 1))


x, y = torch.arange(10.0), torch.zeros(10)
_ = explain(square, x, y)
print(y)

# %% [markdown]
# y is right, so a test of the result passes. On a GPU two threads could read and overwrite other data, without an
# error. `explain` reports the first bad access: block, thread, element and line. Notebook 02 explains the lines
# `ld.global` and `st.global`.
#
# Repair the kernel: a thread without an element should do nothing (`cute.size(x)` is the number of elements). Run the
# cell again. It then prints `✓ no hazard, no access out of bounds, no undefined value`.
#
# <details><summary>The repair</summary>
#
# Put `if i < cute.size(x):` in front of the last line of `square_kernel`, and indent that line.
#
# </details>
#
# ## The rules
#
# - An answer may use Python, NumPy, what its page imports, and your functions from other cells. It earns no points if
#   it calls the course's own kernels, or a library function that does the whole job, as `cute.ceil_div` does in 00.1.
# - A check that needs a GPU, such as a timing, is reported as *not run* on a machine without one: neither passed nor
#   failed. Tables of speeds then show the course's own runs.
# - Your points stay on this machine; the [contents page](contents.ipynb) shows them. In a terminal,
#   `.venv/bin/tutor grade notebooks` grades all notebooks, with further random inputs.
# - Don't delete or duplicate an answer cell.
#
# ## What to remember
#
# - A grid must *cover* the data: divide by the tile size and round up, in integers.
# - The last tile may extend past the end. A right result does not show that its threads stayed inside.
#
# Next: [01](01_layouts.ipynb), layouts; or, if you would rather work with whole tiles than with threads,
# [06](06_cutile_tiles.ipynb). The [contents page](contents.ipynb) has three paths through the course.
#
# ## Test yourself
#
# <details><summary>1. How many tiles of 128 cover 4097 rows, and how many rows of the last are past the end?</summary>
#
# 33 tiles: 32 of them cover 4096 rows, and one row is left. The last tile contains that row and 127 past the end, which
# a kernel must not touch.
#
# </details>
#
# <details><summary>2. Why is <code>math.ceil(n / tile)</code> wrong for n = 2**53 + 1 and tile = 1?</summary>
#
# `n / tile` is a float, which holds 53 bits: 2⁵³ + 1 is rounded to 2⁵³ before `ceil` sees it. `//` never leaves the
# integers.
#
# </details>
#
# <details><summary>3. A program rounds the number of blocks down. Which sizes would you test to find the
# error?</summary>
#
# Any size that the tile does not divide. With multiples of the tile, such as 4096, the program is right.
#
# </details>

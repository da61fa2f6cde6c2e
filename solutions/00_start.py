# ---
# jupyter:
#   tutorlib:
#     minutes: 10
#     summary: How an exercise, its check and its hints work, with a first answer of one line.
# ---

# %% [markdown]
# # 00 · Start here
#
# In this course you write fast matrix kernels for NVIDIA GPUs, in Python. You begin with *layouts*, which map the
# elements of a matrix to memory and to threads. In notebook 10 you write a GEMM (a matrix product) for the tensor
# cores, and in notebook 15 yours has 1.01 times the speed of NVIDIA's cuBLAS on an H200, a Hopper GPU, for
# 4096×4096×4096 in bf16. In the first kernel that you run, in notebook 02, each thread squares one number:
#
# ```python
# @cute.kernel
# def square_kernel(x: cute.Tensor, y: cute.Tensor):
#     thread, _, _ = cute.arch.thread_idx()
#     block, _, _ = cute.arch.block_idx()
#     i = block * THREADS + thread
#     y[i] = x[i] * x[i]
# ```
#
# > **After this page you can** solve an exercise with the help of its check and its hints.
# >
# > **It takes** about 10 minutes, without a GPU.
#
# Run the cells from the top (Shift-Enter), and again after you restart the notebook's kernel.

# %%
from tutorlib import check, hint, show_layout

# %% [markdown]
# ## A first question
#
# A kernel cuts its data into tiles. A launch starts a block of threads for each tile, so it must say how many tiles
# there are. Take 10 elements in tiles of 4. Each column below is one tile. Elements 8 and 9 need a third tile, whose
# places 10 and 11 (outlined) are past the end of the data. (01 explains the string.)

# %%
show_layout("(4,3):(1,4)", title="10 elements in tiles of 4", highlight=[(2, 2), (3, 2)])

# %% [markdown]
# **Predict:** for which of 10, 12 and 0 elements is `//` wrong? (On every page, say it before you run the cell.)

# %%
print(10 // 4, 12 // 4, 0 // 4)

# %% [markdown]
# Only the first is wrong, one tile short: two blocks never touch the last two elements.
#
# **Exercise 00.1** (about 1 line). Write `ceil_div(n, tile)`, the number of tiles of `tile` elements that cover `n`
# elements. Stay with integers: a size can be too large for a float to hold exactly.
#
# Write your answer in place of `YOUR CODE HERE` and of the line that raises. First answer wrongly, with
# `return n // tile`: run the cell, then the check below it, and read what the check says. Then repair the answer.


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
# One case of 3 earns a third of 2 points, rounded down to a half. For a right answer the check prints one line, with
# all points. Check as often as you like.
#
# From the second failure on, a check may add a hint. `hint` has more, from a question to nearly the answer: each run
# shows the next.

# %%
hint("00.1")

# %% [markdown]
# ## What an answer may use
#
# An answer may use Python, NumPy, what its page imports, and functions of yours from other cells. It earns no points if
# it, or a function of yours that it calls, calls the course's own kernels or a library function that does the whole
# job: in 00.1 `ct.cdiv`, which later answers may use.
#
# ## What this machine can check
#
# | exercises | right or wrong | how fast |
# |---|---|---|
# | layouts | on any machine | – |
# | kernels | on any machine, simulated where there is no GPU | on a GPU, Ampere or newer, against cuBLAS or torch |
# | Hopper's TMA and WGMMA | on any machine, simulated where there is no Hopper GPU | on a Hopper GPU |
# | Blackwell's tcgen05 | on any machine, simulated where there is no Blackwell GPU | on a Blackwell GPU |
#
# *Any machine* means Linux, Windows with WSL, or a Linux container on a Mac. Tables of speeds hold the course's runs.
#
# A part of a check that your machine cannot run, such as the timing of a kernel, is reported as *not run*: neither
# passed nor failed. "Right, simulated; speed not run" earns all points but those for speed.
#
# ## Points
#
# The course keeps your points on this machine. The [contents page](contents.ipynb) shows your best attempt at each
# exercise. In a terminal, `tutor grade notebooks` grades the answers that the notebooks contain now, with further
# random inputs. (If you began with `make lab`, type `.venv/bin/tutor` for `tutor`, in the course's folder.) You may add
# cells, rename the file, and write anywhere else; but don't delete or duplicate an answer cell.
#
# ## What to remember
#
# - A grid must *cover* the data: divide by the tile size and round up, in integers.
# - *Not run* means that this machine lacks what the check needs, mostly a GPU.
#
# Next: [01](01_layouts.ipynb) or, for tiles without threads, [06](06_cutile_tiles.ipynb).
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
# Any size that the tile does not divide. With multiples of the tile, such as 4096, the program is right. So the checks
# of this course include sizes that the tile does not divide.
#
# </details>

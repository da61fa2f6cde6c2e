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
# elements of a matrix to memory and to threads. In notebook 02 you run your first kernels, in notebook 10 you write a
# GEMM for the tensor cores, and in notebook 15 yours has 1.02 times the speed of cuBLAS on an H200, a Hopper GPU, for
# 4096×4096×4096 in bf16.
#
# > **After this page you can** solve an exercise with the help of its check and its hints.
# >
# > **It takes** about 10 minutes, without a GPU.
#
# Click into a cell and press Shift-Enter to run it. Run the cells from the top, and again from the top after you
# restart the notebook's kernel.

# %%
from tutorlib import check, hint, show_layout

# %% [markdown]
# ## A first question
#
# A kernel cuts its matrix into tiles, and its launch names the number of tiles. Take 10 elements in tiles of 4. Each
# column below is one tile. Elements 8 and 9 need a third tile, whose places 10 and 11 (outlined) are past the end of
# the data.

# %%
show_layout("(4,3):(1,4)", title="10 elements in tiles of 4", highlight=[(2, 2), (3, 2)])

# %% [markdown]
# **Predict:** what does this print? (On every page, say it before you run the cell.)

# %%
print(10 // 4, 12 // 4, 0 // 4)

# %% [markdown]
# The first is one tile short: a grid of two tiles never touches the last two elements.
#
# **Exercise 00.1** (about 1 line). Write `ceil_div(n, tile)`, the number of tiles of `tile` elements that cover `n`
# elements. Stay with integers: a size can be too large for a float to hold exactly. Call no library function that does
# the whole job. Write your answer in place of `YOUR CODE HERE` and of the line that raises, run the cell, then run the
# check below it.


# %%
def ceil_div(n, tile):
    ### BEGIN SOLUTION (about 1 line)
    return (n + tile - 1) // tile
    ### END SOLUTION


# %%
check("00.1", ceil_div)

# %% [markdown]
# For a right answer the check prints one line, with the points. For a wrong one it names the call that failed, and the
# mistake if it recognizes it. For an answer that rounds down it says:
#
#     ✗ 00.1 ceil_div: 1 of 3 cases right
#       a last tile partly filled: ceil_div(130, 64) gives 2: it should give 3.
#       The last, partly filled tile is missing: // rounds down.
#
# This answer earns a part of the points. Change an answer and check it as often as you like.
#
# From the second failure on, a check adds a hint if it has one. You can also ask for hints, from a question to nearly
# the answer. Each run of this cell shows the next one.

# %%
hint("00.1")

# %% [markdown]
# ## What an answer may use
#
# An answer may use Python, NumPy, everything that its page imports, and functions of yours from other cells. It may not
# call a library function that does what the exercise asks you to write. For `return ct.cdiv(n, tile)`, on a page that
# imports cuTile as `ct`, the check says:
#
#     ✗ 00.1 ceil_div: it uses ct.cdiv, which does what you are asked to write.
#       Page 00 says what an answer may use.
#
# Such an answer earns no points. The check searches your answer, its whole cell, and your functions that it calls. An
# answer may not call the course's own kernels or checks either: they contain the answers. In *later* exercises you may
# use the library's function, this one solved or not.
#
# NumPy numbers and arrays count as Python's do, and so does a list where the exercise asks for a tuple.
#
# ## What this machine can check
#
# | exercises | right or wrong | how fast |
# |---|---|---|
# | layouts | on any machine | – |
# | kernels | on any machine, simulated where there is no GPU | on a GPU, against cuBLAS or torch |
# | Hopper's TMA and WGMMA | on any machine, simulated where there is no Hopper GPU | on a Hopper GPU |
# | Blackwell's tcgen05 | on any machine, simulated where there is no Blackwell GPU | on a Blackwell GPU |
#
# *Any machine* means Linux, or Windows with WSL: NVIDIA's compilers have no macOS version.
#
# A part of a check that your machine cannot run, such as the timing of a kernel, is reported as *not run*: never as
# passed, never as failed. "Right, simulated; speed not run" earns all points but those for speed.
#
# ## Points
#
# The course keeps your points on this machine. The [contents page](contents.ipynb) shows them, and so does `tutor
# progress` in a terminal. (If you began with `make lab`, type `.venv/bin/tutor` for `tutor`, in the course's folder.)
# On both, your best attempt counts.
#
# `tutor grade notebooks` grades your answers as the notebooks contain them now. It calls an answer with further random
# inputs, so an answer that only looks up the check's own calls earns nothing. You may add cells, rename the file, and
# write anywhere else; but don't delete or duplicate an answer cell.
#
# ## What to remember
#
# - A grid must *cover* the data: divide by the tile size and round up, in integers.
# - *Not run* means that this machine lacks what the check needs, mostly a GPU.
#
# ## Test yourself
#
# Say the answer, then open it.
#
# <details><summary>1. How many tiles of 128 cover 4097 rows, and how many rows of the last are past the end?</summary>
#
# 33 tiles: 32 of them cover 4096 rows, and one row is left. The last tile contains that row and 127 past the end, which
# a kernel must not touch.
#
# </details>
#
# <details><summary>2. A check gave 2 of 2 points. You break the answer and check again. How many points does the
# contents page show, and how many does <code>tutor grade</code> give?</summary>
#
# The contents page still shows 2, your best attempt. `tutor grade` grades the broken answer.
#
# </details>
#
# <details><summary>3. You have no GPU, and a check says "not run". Is your kernel wrong?</summary>
#
# Read the whole line. After *right, simulated; speed not run* the simulator has found your kernel right, and only its
# speed has not been judged. Otherwise the check has not judged it at all: it is neither right nor wrong.
#
# </details>

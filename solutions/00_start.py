# ---
# jupyter:
#   tutorlib:
#     minutes: 5
#     summary: How an exercise, its check and its hints work, with a first answer of one line.
# ---

# %% [markdown]
# # 00 · Start here
#
# You will write matrix kernels for the GPU in Python, and check each one in its notebook. In notebook 09 you write a
# GEMM for the tensor cores; by 14 yours is level with cuBLAS on a Hopper GPU. Notebooks 01 to 03 prepare for the
# kernels: they are about *layouts*, the small algebra with which a kernel in CuTe, NVIDIA's library for such kernels,
# assigns elements to threads.
#
# > **After this page you can** solve an exercise with the help of its check and its hints.
# >
# > **It takes** about 5 minutes, without a GPU.
#
# Every page opens like this one, and closes with what to remember and three questions to test yourself.

# %% [markdown]
# ## Run the cells from the top
#
# Click into a cell and press Shift-Enter. Most cells are short enough to predict, and you learn most if you do: say
# what a cell prints before you run it. If you restart the notebook's kernel, run the page again from the top. (*Run
# All* stops at the first check that you have not solved; continue from there with Shift-Enter.)

# %%
from tutorlib import check, hint, show_layout

# %% [markdown]
# ## A first question
#
# A kernel cuts its matrix into tiles, and its launch has to say how many tiles there are. Take 10 elements in tiles of
# 4 each. Below, each column is one tile. Elements 8 and 9 need the third tile; its places 10 and 11 (outlined) are past
# the end of the data.

# %%
show_layout("(4,3):(1,4)", title="10 elements in tiles of 4", highlight=[(2, 2), (3, 2)])

# %% [markdown]
# What does this print?

# %%
print(10 // 4, 12 // 4, 0 // 4)

# %% [markdown]
# The first is one tile short: a grid of that size never touches the last two elements.
#
# **Exercise 00.1** (about 1 line). Write `ceil_div(n, tile)`: how many tiles of `tile` elements cover `n` elements.
# Stay with integers: a size can be too large for a float to hold exactly.


# %%
def ceil_div(n, tile):
    ### BEGIN SOLUTION (about 1 line)
    return (n + tile - 1) // tile
    ### END SOLUTION


# %%
check("00.1", ceil_div)

# %% [markdown]
# A check that you have not run says *not run yet*. For a right answer it prints one line, with the points. For a wrong
# one it raises, and the message names the call that failed, the value that your answer returned, and the expected
# value. If the check recognizes a common mistake, it names that, too. This is the message for an answer that rounds
# down:
#
#     ✗ 00.1 ceil_div: 1 of 3 cases right
#       a last tile partly filled: ceil_div(130, 64) gives 2: it should give 3.
#       The last, partly filled tile is missing: // rounds down.
#
# That answer earns part of the points: an exercise divides its points equally among its cases and rounds down to a
# multiple of ½. Here 1 of 3 cases of a 2-point exercise gives ½. You can change an answer and check it as often as you
# like.
#
# From the second failure on, a check adds a hint if it has one for that failure. You can also ask for hints. They range
# from a nudge to nearly the answer, and each run of this cell shows the next one.

# %%
hint("00.1")

# %% [markdown]
# ## What an answer may use
#
# An answer may use Python, NumPy, everything that its page imports, and functions of yours from other cells. It may not
# call a library function, CuTe's, NumPy's or another, that does the very thing the exercise asks for. Where the
# exercise says *write `compose`*, `return tl.compose(a, b)` is not an answer (`tl` is the layout library of notebook
# 02), and the check says so:
#
#     ✗ 02.2 compose: it calls tl.compose, which does what you are asked to write.
#       Page 00 says what an answer may use.
#
# The check searches the code of your answer, its whole cell and your functions that it calls for these names; to
# compare results with the library's, use a cell of its own. Nor may an answer call the course's own kernels or checks,
# which contain the answers. An answer that does earns no points, neither from `check` nor from `tutor grade`. In the
# *next* exercise you may use `tl.compose` like any other function, whether or not you have solved this one.
#
# NumPy numbers and arrays count as Python's do, and so does a list where the exercise asks for a tuple.
#
# ## What this machine can check
#
# | exercises | right or wrong | how fast |
# |---|---|---|
# | layouts (00–03) | on any machine | – |
# | kernels (04–12, 16–19) | on any machine, simulated where there is no GPU | on a GPU, against cuBLAS or torch |
# | Hopper's TMA and WGMMA (05, 13, 14, 20) | on any machine, simulated where there is no Hopper GPU | on a Hopper GPU |
# | Blackwell's tcgen05 (15) | on any machine, simulated where there is no Blackwell GPU | on a Blackwell GPU |
#
# *Any machine* here means Linux, or Windows with WSL: NVIDIA's compilers, which notebooks 01 to 03 call as well, have
# no macOS version.
#
# A part of a check that your machine cannot run, such as the timing of a kernel, is reported as *not run*: never as
# passed, never as failed. A kernel that the simulator finds right says so, as in "right, simulated; speed not run", and
# earns all points but those for speed. (*Not run yet* is something else: you have not run that check.)
#
# ## Points
#
# The course keeps your points on this machine. The [contents page](contents.ipynb) shows them, and so does `tutor
# progress` in a terminal (after `make lab` the command is `.venv/bin/tutor`). There your best attempt counts: a later
# one takes nothing away.
#
# `tutor grade notebooks` in a terminal grades your answers as the notebooks contain them now; it also takes the name of
# a single notebook. The grader copies your answer cells, and those of your cells that they use, into a fresh copy of
# the page and runs it. It calls an answer with further random inputs, so a table of the calls that a check makes earns
# nothing. You may add cells, rename the file, and write anywhere else; but don't delete or duplicate an answer cell.
#
# ## What to remember
#
# - Write the answer where it says YOUR CODE HERE, run the cell, run the check below it.
# - A grid must *cover* the data: divide by the tile size and round up, in integers.
# - *Not run* means that this machine lacks what the check needs, mostly a GPU: neither right nor wrong.
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

# ---
# jupyter:
#   tutorlib:
#     minutes: 5
#     summary: How an exercise, its check and its hints work, with a first answer of one line.
# ---

# %% [markdown]
# # 00 · Start here
#
# You will write matrix kernels for the GPU, in Python, and have each one checked as you go. By the last notebooks
# yours run on Hopper's tensor cores and are timed beside cuBLAS. The first four need no GPU at all: they are about
# *layouts*, the small algebra with which every one of those kernels says which thread touches which element.
#
# > **After this page you can** solve an exercise, read what its check says, and tell what an answer may lean on and
# > how points are counted.
# >
# > **It takes** about 5 minutes, on any machine.
#
# Every page begins like that, and ends with what to remember and three questions to test yourself.

# %% [markdown]
# ## A page is read from the top
#
# Run the cells in order: click into one and press Shift-Enter. Most are short enough to predict, and predicting is
# the point: say what a cell prints before you run it. If you restart the kernel, run the page again from the top.
# (*Run All* stops at the first check that is not solved yet; Shift-Enter goes on from there.)

# %%
from tutorlib import check, hint
from tutorlib.draw import show_layout

# %% [markdown]
# ## A first question
#
# A kernel cuts its matrix into tiles, and its launch has to say how many tiles there are. Take 10 elements and tiles of
# 4. Below, each column is one tile. Cells 10 and 11 (outlined) are past the end of the data, and yet the third tile is
# needed for elements 8 and 9.

# %%
show_layout("(4,3):(1,4)", title="10 elements in tiles of 4", highlight=[(2, 2), (3, 2)])

# %% [markdown]
# What does this print?

# %%
print(10 // 4, 12 // 4, 0 // 4)

# %% [markdown]
# The first one is a tile short. A grid launched with that number leaves the last elements of the matrix untouched,
# which is the most common bug in a first kernel.
#
# **Exercise 00.1** (about 1 line). Write `ceil_div(n, tile)`: how many tiles of `tile` elements cover `n` elements.
# Stay with integers: sizes can be larger than what a float holds exactly.


# %%
def ceil_div(n, tile):
    ### BEGIN SOLUTION (about 1 line)
    return (n + tile - 1) // tile
    ### END SOLUTION


# %%
check("00.1", ceil_div)

# %% [markdown]
# Until you run a check, the page says *not run yet* below it. Run it: a right answer prints one line, with the points,
# and any other makes the check raise. Then the message says which call went wrong, what your answer gave and what it
# should have given. If your answer looks like a common mistake, it says so too. Here is one that rounds down:
#
#     ✗ 00.1 ceil_div: 1 of 3 cases right
#       a last tile partly filled: ceil_div(130, 64) gives 2: it should give 3.
#       The last, partly filled tile is missing: // rounds down.
#
# That answer has part of the points: an exercise shares its points equally among its cases, rounded down to half a
# point. You can change an answer and check it as often as you like.
#
# From the second failure on, a check adds a hint where it knows one for that failure. And there are hints that you ask
# for, from a nudge to nearly the answer. Run this cell more than once.

# %%
hint("00.1")

# %% [markdown]
# ## What an answer may lean on
#
# An answer may call all of Python, NumPy, whatever its page imports, and functions of your own from other cells. One
# thing it may not call is a library's function for the very thing that the exercise asks for. To an exercise that says
# *write `compose`*, `return tl.compose(a, b)` is no answer, and its check says so:
#
#     ✗ 02.2 compose: it calls tl.compose, which does what you are asked to write.
#       Page 00 says what an answer may lean on.
#
# The course's own kernels are such a library, too, and so are the checks: what knows the answers is no tool.
# There are no points for that, from `check` as from `tutor grade`: the two always agree. In the *next* exercise
# `tl.compose` is a tool like any other, whether or not you have solved this one.
#
# NumPy's integers, truth values and arrays are as good as Python's. A list is no tuple, though.
#
# ## What this machine can check
#
# | exercises | right or wrong | how fast |
# |---|---|---|
# | layouts (00–03) | on any machine | – |
# | kernels (04–12) | on any machine, simulated where there is no GPU | on a GPU, beside cuBLAS or torch's copy |
# | Hopper's TMA and WGMMA | on any machine, simulated where there is no Hopper GPU | on a Hopper GPU |
#
# What your machine cannot run is reported as *not run*: never as passed, never as failed.
#
# ## Points
#
# What a check gives you is kept on this machine. The [contents page](contents.ipynb) shows your points so far, and so
# does `tutor progress` in a terminal. The best attempt counts: a later one takes nothing away. The notebook also
# records, invisibly, when you tried each exercise, for your class's report.
#
# `make grade` in a terminal grades the solved notebooks that come with the course. To grade your own, name a notebook
# or the folder: `tutor grade notebooks`. The grader takes your answer cells and the cells of your own that they use,
# puts them into a fresh copy of each page and runs that, so you are free to add cells, rename the file or scribble
# anywhere else. Just don't delete or copy an answer cell.
#
# ## What to remember
#
# - Write the answer where it says YOUR CODE HERE, run the cell, run the check below it.
# - A grid is as many tiles as *cover* the data: divide and round up, in integers.
# - What was not run is neither right nor wrong.
#
# ## Test yourself
#
# Say the answer, then open it.
#
# <details><summary>1. How many tiles of 128 cover 4097 rows, and how many rows of the last are past the end?</summary>
#
# 33 tiles, since 32 · 128 = 4096 leaves one row. The last tile has that row and 127 that are not yours: a kernel must
# not touch them.
#
# </details>
#
# <details><summary>2. A check gave 1.5 of 2 points. You break the answer and check again. What do you have?</summary>
#
# Still 1.5. The best attempt counts.
#
# </details>
#
# <details><summary>3. You have no GPU, and a check says "not run". Is your kernel wrong?</summary>
#
# Nobody knows yet. A simulator looks at everything that it can run without one; what is left waits for a GPU.
#
# </details>

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
# *layouts*, the small algebra in which every one of those kernels says which thread touches which element.
#
# > **After this page you can** solve an exercise, read its check's message, and tell which tools an answer may use and
# > how points are counted.
# >
# > **It takes** about 5 minutes, on any machine.
#
# Every page opens like this one, and closes with what to remember and three questions to test yourself.

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
# The first is one tile short. A grid launched with that number leaves the last elements of the matrix untouched,
# the most common bug in a first kernel.
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
# Until you run a check, the page says *not run yet* below it. Run it: for a right answer it prints one line, with the
# points; for any other it raises, and the message names the call that went wrong, the value that your answer returned
# and the value expected. If the check recognizes a common mistake, it says so too. Here is an answer that rounds down:
#
#     ✗ 00.1 ceil_div: 1 of 3 cases right
#       a last tile partly filled: ceil_div(130, 64) gives 2: it should give 3.
#       The last, partly filled tile is missing: // rounds down.
#
# That answer earns part of the points: an exercise divides its points equally among its cases, and the total is rounded
# down to half a point. You can change an answer and check it as often as you like.
#
# From the second failure on, a check adds a hint if it has one for that failure. You can also ask for hints, which go
# from a nudge to nearly the answer. Run this cell more than once.

# %%
hint("00.1")

# %% [markdown]
# ## What an answer may use
#
# An answer may use Python, NumPy, everything that its page imports, and functions of yours from other cells. It may not
# call a library function that does the very thing the exercise asks for. Where the exercise says *write `compose`*,
# `return tl.compose(a, b)` is not an answer, and the check says so:
#
#     ✗ 02.2 compose: it calls tl.compose, which does what you are asked to write.
#       Page 00 says what an answer may use.
#
# The same holds for the course's own kernels and for the checks: they contain the answers. Such an answer earns no
# points, from `check` or from `tutor grade`: the two always agree. In the *next* exercise `tl.compose` is a tool like
# any other, whether or not you have solved this one.
#
# NumPy's numbers and arrays are as good as Python's, and so is a list where a tuple is asked for.
#
# ## What this machine can check
#
# | exercises | right or wrong | how fast |
# |---|---|---|
# | layouts (00–03) | on any machine | – |
# | kernels (04–12, 16–18) | on any machine, simulated where there is no GPU | on a GPU, beside cuBLAS or torch |
# | Hopper's TMA and WGMMA (05, 13, 14) | on any machine, simulated where there is no Hopper GPU | on a Hopper GPU |
# | Blackwell's tcgen05 (15) | on any machine, simulated where there is no Blackwell GPU | on a Blackwell GPU |
#
# A check that your machine cannot run is reported as *not run*: never as passed, never as failed.
#
# ## Points
#
# Your points are kept on this machine. The [contents page](contents.ipynb) shows them, and so does `tutor progress` in
# a terminal. Your best attempt counts: a later one takes nothing away. The notebook also records, invisibly, when you
# tried each exercise, for your class's report.
#
# `make grade` in a terminal grades the solved notebooks that come with the course. To grade your own, name a notebook
# or a folder: `tutor grade notebooks`. The grader takes your answer cells and the cells of yours that they use, puts
# them into a fresh copy of the page and runs that. So you are free to add cells, rename the file or scribble anywhere
# else. Just don't delete or copy an answer cell.
#
# ## What to remember
#
# - Write the answer where it says YOUR CODE HERE, run the cell, run the check below it.
# - A grid has as many tiles as it takes to *cover* the data: divide and round up, in integers.
# - *Not run* means neither right nor wrong.
#
# ## Test yourself
#
# Say the answer, then open it.
#
# <details><summary>1. How many tiles of 128 cover 4097 rows, and how many rows of the last are past the end?</summary>
#
# 33 tiles, since 32 · 128 = 4096 leaves one row. The last tile holds that row and 127 past the end, which a kernel must
# not touch.
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
# It is neither right nor wrong yet. A simulator judges all that it can run without a GPU; the rest waits for one.
#
# </details>

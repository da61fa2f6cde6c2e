# ---
# jupyter:
#   tutorlib:
#     minutes: 90
#     summary: Compose, complement, divide, repeat. You write them; their laws and CuTe judge.
# ---

# %% [markdown]
# # 02 · An algebra of layouts
#
# One kernel, four thread blocks, a row-major matrix: which element does thread 17 of block 2 load? You can derive the
# formula, with its divisions and remainders. Then somebody pads the rows, or wants tiles of another size, and you
# derive it again.
#
# There is a better way. A layout is a function, and functions can be composed, cut and repeated. Six operators do all
# of it, each takes layouts and gives a layout, and each obeys a law of one line. On this page you write them, in two
# to seventeen lines each, and every kernel of this course is built with them.

# %%
import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tutorlib import check
from tutorlib.draw import show_complement, show_compose, show_divide, show_layouts, show_memory, show_product
from tutorlib.layouts.notation import layout, text
from tutorlib.layouts.oracle import Refused, ask

# %% [markdown]
# `tl` is a library with all the operators in it. That lets you use the earlier ones in later exercises whether or not
# you have solved them: where an exercise wants `coalesce`, use `tl.coalesce`. (Returning `tl.compose` from the
# exercise that asks you to write `compose` will pass, and teach you nothing.)
#
# Your answers meet two judges. One is the operator's law, on layouts drawn at random. The other is CuTe itself: its
# layout algebra runs while a kernel is compiled, on the CPU, so we can ask it. The first question imports `cutlass`,
# which takes a few seconds; after that an answer takes milliseconds.


# %%
def cute(operation, *args):
    """What CuTe answers, as text."""
    (answer,) = ask([(operation, *args)])
    return f"refused: {answer.why}" if isinstance(answer, Refused) else text(answer)


print(cute("composition", layout("(8,4):(4,1)"), layout("(4,8):(8,1)")))

# %% [markdown]
# ## Coalesce: say it with fewer modes
#
# `(4,8):(1,4)` walks down four places, then moves on by four: it goes through 32 places in order. So does `32:1`.
# **Coalesce** finds the shortest layout that is the same function of the index:
#
# > coalesce(L)(i) = L(i) for every index i, with as few modes as possible
#
# Two neighbours `s:d` and `t:e` continue each other exactly when e = s·d.

# %%
show_layouts({"column-major": "(4,8):(1,4)", "its coalesce": "32:1"})

# %% [markdown]
# Now a nested one. Say what it prints before you run it: which neighbours continue each other, and what becomes of the
# mode of extent 1?

# %%
print(text(tl.coalesce(layout("(2,(1,6),4):(1,(9,2),16)"))))

# %% [markdown]
# 2 and 6 became 12:1, because 2 = 2·1. The 4:16 stays, because 16 is not 12. And the mode of extent 1 never moves
# anything, whatever its stride.
#
# **Exercise 02.1** (about 11 lines). Write `coalesce(layout)`. `flatten(layout.shape)` gives a flat tuple, also of a
# plain number. Where one mode is left write it as CuTe does, `Layout(32, 1)`; where none is left, `Layout(1, 0)`.


# %%
def coalesce(layout):
    ### BEGIN SOLUTION (about 11 lines)
    modes = []
    for extent, stride in zip(flatten(layout.shape), flatten(layout.stride), strict=True):
        if extent == 1:
            continue
        if modes and stride == modes[-1][0] * modes[-1][1]:
            modes[-1] = (modes[-1][0] * extent, modes[-1][1])
        else:
            modes.append((extent, stride))
    if len(modes) < 2:
        return Layout(*(modes or [(1, 0)])[0])
    return Layout(*zip(*modes, strict=True))
    ### END SOLUTION


# %%
check("02.1", coalesce)

# %% [markdown]
# **Keep this:** coalesce changes how a layout is written, never what it does. When you wonder whether a copy can be
# one long vector load, coalesce both sides and look at the first mode: if it is `n:1`, n elements lie side by side.
#
# ## Composition: A after B
#
# Composition is what it is for any functions: ask B first, then A. B's offsets are A's indices.
#
# > (A ∘ B)(i) = A(B(i)) for every i, and the result has B's modes
#
# Read it as "B chooses, A stores". A is a matrix in memory; B picks elements out of it, by index, in the order it
# likes; A ∘ B says where in memory they are. Here A is a row-major 4×8, and B = (4,4):(2,8) takes every second index.

# %%
show_compose("(4,8):(8,1)", "(4,4):(2,8)")

# %% [markdown]
# Indices run down the columns, first mode fastest. So every second index is rows 0 and 2 of each column in turn. The
# mode `4:2` of B gets rows 0 and 2 of one column, then rows 0 and 2 of the next. That takes two strides, 16 and 1: the
# one mode of B has become two, `(2,2):(16,1)`.
#
# Most of the algorithm is in this example. Work through one more with a pencil: A = (4,8):(8,1) again, B = 4:8. How far
# does B step in terms of A's first mode, whose extent is 4?

# %%
A = layout("(4,8):(8,1)")
print(text(tl.compose(A, layout("4:8"))))
print([A(8 * i) for i in range(4)])

# %% [markdown]
# Eight indices are two whole columns, so B never moves along the rows at all, and steps by 2 in the second mode.
#
# When B has several modes, each is composed on its own: A ∘ (B₀, B₁) = (A ∘ B₀, A ∘ B₁). So the cell below does that
# and leaves you the case of one mode, `extent:stride`.
#
# **Exercise 02.2** (about 17 lines). Complete `compose(a, b)`. Walk over the modes of `tl.coalesce(a)` from the first
# to the last. In each, B either steps over the mode, or takes some of its elements, or has its last ones there. The
# last mode of A takes whatever is left. Raise `ValueError` where B's steps do not go evenly into A's modes: then no
# layout is the answer.


# %%
def compose(a, b):
    if isinstance(b.shape, tuple):
        return Layout(*(compose(a, mode(b, n)) for n in range(rank(b))))
    left, step = b.shape, b.stride  # elements still to be placed, and how far apart they are in the present mode
    if left == 1 or step == 0:
        return Layout(left, 0)
    ### BEGIN SOLUTION (about 17 lines)
    a = tl.coalesce(a)
    *modes, (_, last) = zip(flatten(a.shape), flatten(a.stride), strict=True)
    taken = []
    for extent, stride in modes:
        if step % extent == 0:  # over the whole mode
            step //= extent
            continue
        if (left - 1) * step < extent:  # all that is left is here
            take = left
        elif extent % step == 0 and left % (extent // step) == 0:
            take = extent // step
        else:
            raise ValueError(f"{left}:{step} does not go evenly into {extent}:{stride}")
        taken.append((take, step * stride))
        left, step = left // take, 1
        if left == 1:
            break
    if left > 1:
        taken.append((left, step * last))
    return Layout(*taken[0]) if len(taken) == 1 else Layout(*zip(*taken, strict=True))
    ### END SOLUTION


# %%
check("02.2", compose)

# %% [markdown]
# Now see where it ends. Let A be `(6,2):(8,2)` and B be `3:4`. B picks the indices 0, 4 and 8:

# %%
A, B = layout("(6,2):(8,2)"), layout("3:4")
print([A(B(i)) for i in range(3)])

# %% [markdown]
# No layout of three elements gives that: its offsets would be 0, d, 2d. Your `compose` raises. What does CuTe do? It
# refuses some such requests, and others not:

# %%
print(cute("composition", layout("(4,6):(1,10)"), layout("5:3")))
print(cute("composition", A, layout("4:4")))
(R,) = ask([("composition", A, layout("4:4"))])
print("wanted:", [A(4 * i) for i in range(3)], " CuTe's answer:", [R(i) for i in range(3)])

# %% [markdown]
# The second answer is wrong, and nobody said so. The condition "steps go evenly into modes" is yours to keep. It is one
# reason why sizes in fast kernels are powers of two, and why it pays to know the law: it is a test you can run.
#
# There is one more way out of the law. Composing mode by mode is right only while B's modes don't carry into each
# other, as 5 + 7 carries into the tens. In `(4,3):(1,1)` they do: indices 3 and 2 add up to 5, in another column.

# %%
A, B = layout("(4,2):(2,1)"), layout("(4,3):(1,1)")
R = tl.compose(A, B)
print(text(R), " CuTe:", cute("composition", A, B))
print("A(B(3, 2)) =", A(B(3, 2)), " R(3, 2) =", R(3, 2))

# %% [markdown]
# CuTe makes the same assumption. Powers of two keep you safe here too: where all extents and strides are powers of two
# and B's offsets don't repeat, each mode has bits of its own and nothing can carry.
#
# ### What composition is for
#
# Any B that lists indices in another order gives another view of A. Take the pairs of columns that lie four apart in
# the row-major 4×8. An index moves by 4 to the next column, so by 16 to the column four further on: B =
# `(4,(2,4)):(1,(16,4))` is (row, (which of the two, which pair)). Where is row 1, second column of pair 3?

# %%
A = layout("(4,8):(8,1)")
pairs = tl.compose(A, layout("(4,(2,4)):(1,(16,4))"))
print(text(pairs), pairs(1, (1, 3)))

# %% [markdown]
# Row 1, column 3 + 4 = 7: 1·8 + 7 = 15. You never wrote that formula.
#
# **Exercise 02.3** (about 2 lines). Transpose by composition. For a layout with two modes, write `transposed(layout)`
# so that `transposed(L)(j, i) == L(i, j)`. Turning the shape and the stride round would do for a plain matrix; a
# composition does it for every layout, nested or not. What is B?


# %%
def transposed(layout):
    ### BEGIN SOLUTION (about 2 lines)
    rows, columns = size(mode(layout, 0)), size(mode(layout, 1))
    return tl.compose(layout, Layout((columns, rows), (rows, 1)))
    ### END SOLUTION


# %%
check("02.3", transposed)

# %% [markdown]
# **Keep this:** A ∘ B is A's memory read in B's order. What you want to pick goes on the right, where it lives on the
# left. In the next notebook the left side will be a swizzle.
#
# ## Complement: what a layout leaves out
#
# Take the layout `4:2`. It reaches the offsets 0, 2, 4, 6. Suppose 24 places are to be filled with copies of it. Where
# do the copies begin?

# %%
show_complement("4:2", 24)

# %% [markdown]
# One at 1, in the holes. Those two fill 0 to 7; then the same again at 8 and 16. The starts are 0, 1, 8, 9, 16, 17: the
# layout `(2,3):(1,8)`. That is the **complement** of 4:2 in 24, and its law is:
#
# > every offset below the bound is L(i) + R(j) in exactly one way, and R's offsets ascend
#
# What is the complement of 8:1 in 24? And of 8:3? The second has no room after its last element.

# %%
print(text(tl.complement(layout("8:1"), 24)), " ", text(tl.complement(layout("8:3"), 24)))

# %% [markdown]
# **Exercise 02.4** (about 9 lines). Write `complement(layout, bound)`. Sort the modes by stride and fill the gaps from
# the smallest up; at the end repeat as often as the bound needs, rounded up. Modes of extent 1 and of stride 0 reach
# nothing new. Raise `ValueError` where the modes get in each other's way, as in `(4,2):(2,3)`.


# %%
def complement(layout, bound):
    ### BEGIN SOLUTION (about 9 lines)
    gaps, reach = [], 1  # all offsets below reach are filled
    modes = zip(flatten(layout.stride), flatten(layout.shape), strict=True)
    for stride, extent in sorted((stride, extent) for stride, extent in modes if extent > 1 and stride > 0):
        if stride % reach:
            raise ValueError(f"{extent}:{stride} begins inside what is already filled, 0 to {reach - 1}")
        gaps.append((stride // reach, reach))
        reach = extent * stride
    gaps.append((-(-bound // reach), reach))
    return tl.coalesce(Layout(*zip(*gaps, strict=True)))
    ### END SOLUTION


# %%
check("02.4", complement)

# %% [markdown]
# CuTe does not check that the layout leaves clean holes. `(4,2):(2,3)` reaches 0, 2, 4, 6 and 3, 5, 7, 9. No copy of
# it can fill place 1: it would land on 3 as well. So there is no complement, and CuTe answers all the same:

# %%
show_memory("(4,2):(2,3)")

# %%
print(cute("complement", layout("(4,2):(2,3)"), 24))

# %% [markdown]
# A mode of extent 0 is all the warning you get. In a kernel it would be an empty loop. Give such a layout to CuTe's
# `logical_product`, and it divides by that 0: the Python process ends. (`ask` looks first, and does not pass such
# questions on.)
#
# **Keep this:** L says where a piece lies, its complement says where all the other pieces lie. Together they name every
# place once. That is a division, and it is next.
#
# ## Logical divide: cut into tiles
#
# Put the two together. B says which indices belong to tile 0. Its complement B\* in size(A) says where the tiles begin.
# So (B, B\*) lists every index of A, tile after tile, and A ∘ (B, B\*) is A cut into tiles:
#
# > (A ⊘ B)(i, j) = A(B(i) + B\*(j)): element i of tile j
#
# It has two modes, (inside the tile, which tile). Nothing moves in memory. Every load loop you will write begins here.

# %%
show_divide("(4,6):(6,1)", "4:2")

# %% [markdown]
# The tile need not be contiguous: 4:2 takes every second index. So one tile has rows 0 and 2 of two columns, the next
# one rows 1 and 3, and so on through the pairs of columns: six tiles.
#
# Eight elements 3 apart, divided by 4:2. Which offsets are in tile 1? Say it before you run it.

# %%
halves = tl.logical_divide(layout("8:3"), layout("4:2"))
print(text(halves), [halves(i, 1) for i in range(4)])

# %% [markdown]
# **Exercise 02.5** (about 2 lines). Write `logical_divide(layout, tile)`, where the tile is a Layout. You have all the
# parts: `tl.compose`, `tl.complement`, and `Layout(a, b)`, which makes two layouts the modes of a new one.


# %%
def logical_divide(layout, tile):
    ### BEGIN SOLUTION (about 2 lines)
    starts = tl.complement(tile, size(layout))
    return tl.compose(layout, Layout(tile, starts))
    ### END SOLUTION


# %%
check("02.5", logical_divide)

# %% [markdown]
# ### When the tile does not divide
#
# Ten elements, tiles of four. CuTe rounds up to three tiles, and the third one sticks out:

# %%
ragged = ask([("logical_divide", layout("10:1"), layout("4:1"))])[0]
print(text(ragged), "tile 2:", [ragged(i, 2) for i in range(4)])

# %% [markdown]
# Offsets 10 and 11 are not yours. Whoever uses the tile has to compare each coordinate with the true size before
# touching memory: that is the predicate you will meet in the first kernels.
#
# That was one mode. With two, a flat tile of 4 runs over the end of a column of 10 into the next one, and there is no
# layout for that. `tl` refuses. CuTe?

# %%
A, B = layout("(10,2):(2,1)"), layout("4:1")
wrong = ask([("logical_divide", A, B)])[0]
print(text(wrong), " element (0, 3):", wrong(0, 3), " but index 12 is at", A(12))
try:
    tl.logical_divide(A, B)
except ValueError as error:
    print("tl:", error)

# %% [markdown]
# Another silent wrong answer. The cure is to cut each mode on its own, so that what sticks out does so at the edge.
#
# **Keep this:** ⊘ gives (inside the tile, which tile). Tiles that don't divide are rounded up, and the rest is on you.
#
# ## Mode by mode: zipped and tiled divide
#
# A matrix is cut along rows and columns. So a tiler is a tuple, `(4,4)`, one tile for each mode, and each mode is
# divided on its own. That gives ((inside, outside) of the rows, (inside, outside) of the columns).
#
# A thread block wants it sorted another way: here my tile, there the grid of tiles. **Zipped divide** gathers the
# insides and the outsides:
#
# > (A,B,C) ⊘ (a,b,c) = ((a,b,c), (A/a,B/b,C/c))
#
# That line is about shapes; the law of the function is
#
# > R((i₀,i₁), (j₀,j₁)) = A(i₀ + a·j₀, i₁ + b·j₁)

# %%
show_divide("(16,8):(8,1)", (4, 4))

# %%
A = layout("(16,8):(8,1)")
print("logical:", text(tl.logical_divide(A, (4, 4))))
print("zipped: ", text(tl.zipped_divide(A, (4, 4))))
print("tiled:  ", text(tl.tiled_divide(A, (4, 4))))

# %% [markdown]
# Three spellings of one function: the same offsets, in other brackets. **Tiled divide** keeps the tile in one mode and
# gives the grid's modes one each, so that `tiled(tile, x, y)` reads like a kernel. And the strides? Row 4 begins at
# 4·8 = 32, and there stands 32.
#
# One trap before you write it. A plain number n as a tile means n:1 to CuTe. To `tl` it means the same on a plain mode,
# but on a nested one it divides only the first part. These should be equal, and are not:

# %%
rows = layout("(4,2):(1,32)")
print("CuTe, by 2:  ", cute("logical_divide", rows, 2))
print("tl, by 2:1:  ", text(tl.logical_divide(rows, Layout(2, 1))))
print("tl, by 2:    ", text(tl.logical_divide(rows, 2)))

# %% [markdown]
# The last one has lost the tile count: its second mode is still the layout's own. So write `Layout(2, 1)`.
#
# **Exercise 02.6** (about 4 lines). Write `zipped_divide(layout, tiler)`, for a tiler with one number for each mode.
# `tl.logical_divide(mode(layout, 0), Layout(4, 1))` divides one mode.


# %%
def zipped_divide(layout, tiler):
    ### BEGIN SOLUTION (about 4 lines)
    parts = [tl.logical_divide(mode(layout, n), Layout(tile, 1)) for n, tile in enumerate(tiler)]
    inside = Layout(*(mode(part, 0) for part in parts))
    outside = Layout(*(mode(part, 1) for part in parts))
    return Layout(inside, outside)
    ### END SOLUTION


# %%
check("02.6", zipped_divide)

# %% [markdown]
# Now it earns its keep. The 16×8 matrix is worked on by 4×2 thread blocks, each with a 4×4 tile. A block needs two
# things: the offset at which its tile begins, and the layout inside. The first differs from block to block, and the
# second doesn't. In CuTe kernels it is the line you will write first: `gA = local_tile(mA, tile, block)`.
#
# **Exercise 02.7** (about 2 lines). Write `block_tile(layout, tile, block)`: the pair (offset, Layout of the tile),
# where `block` is (tile row, tile column). It should work for nested modes too; mind the trap above.


# %%
def block_tile(layout, tile, block):
    ### BEGIN SOLUTION (about 2 lines)
    tiles = tl.zipped_divide(layout, tuple(Layout(extent, 1) for extent in tile))
    return tiles(((0, 0), block)), mode(tiles, 0)
    ### END SOLUTION


# %%
check("02.7", block_tile)

# %% [markdown]
# A tiler's parts may be layouts too. `(4, 2:4)` takes four rows, and two columns that lie four apart: the pairs of
# columns from above, this time by division. Which offsets does the first tile hold?

# %%
tiles = tl.zipped_divide(layout("(4,8):(8,1)"), (4, layout("2:4")))
print(text(tiles))
print([tiles(i, 0) for i in range(8)])

# %% [markdown]
# **Keep this:** zipped divide is ((tile), (grid)). Index the second mode with your block, and you have your tile.
#
# ## Logical product: repeat a block
#
# Division takes a large layout apart; the product builds one. You have a small block, and want copies of it arranged as
# a grid. Where may copies begin? Where the complement says. In which order? As the grid says:
#
# > A ⊗ B = (A, A\* ∘ B), so (A ⊗ B)(i, j) = A(i) + A\*(B(j)): element i of copy j
#
# where A\* is the complement of A in size(A)·cosize(B), room for as many blocks as the grid reaches.

# %%
show_product("(2,2):(4,1)", "(2,3):(1,2)")

# %% [markdown]
# This block has holes, and the copies go there first: the second copy begins at 2, inside the first. A tempting short
# cut multiplies the grid's strides by the size of the block. When is that right? Predict both lines:

# %%
for block in (layout("4:1"), layout("4:2")):
    short_cut = Layout(block, Layout(4, 1 * size(block)))
    print(text(block), " product:", text(tl.logical_product(block, layout("4:1"))), " short cut:", text(short_cut))

# %% [markdown]
# With `4:2` the short cut puts its second copy at 4, on top of the block's third element.
#
# **Exercise 02.8** (about 2 lines). Write `logical_product(block, grid)`.


# %%
def logical_product(block, grid):
    ### BEGIN SOLUTION (about 2 lines)
    places = tl.complement(block, size(block) * cosize(grid))
    return Layout(block, tl.compose(places, grid))
    ### END SOLUTION


# %%
check("02.8", logical_product)

# %% [markdown]
# The product inherits the limits of what it is made of. Three copies of 4:2 would need the places 0, 1, 8: the
# complement `(2,2):(1,8)` has four places, and three of them are no layout.

# %%
print(cute("logical_product", layout("4:2"), layout("3:1")))

# %% [markdown]
# **Keep this:** a product is how thread layouts are made: a warp of 8×4 threads, repeated 2×2 times. Divide what is in
# memory, multiply what works on it, and compose the two.
#
# ## All of it on one page
#
# | operator | law | in a kernel |
# |---|---|---|
# | coalesce(A) | same function, fewest modes | how wide may a vector load be? |
# | A ∘ B | R(i) = A(B(i)) | read A in another order; put a swizzle before it |
# | complement(A, n) | A(i) + R(j) is every offset below n, once | where the other tiles begin |
# | A ⊘ B | R(i, j) = A(B(i) + B\*(j)) | tiles for blocks, fragments for threads |
# | zipped, tiled | ((a,b),(A/a,B/b)); ((a,b),A/a,B/b) | `local_tile` |
# | A ⊗ B | R(i, j) = A(i) + A\*(B(j)) | warps out of threads, tiles out of atoms |
#
# Each law was a test that you could run, and three times it found an answer of CuTe's that breaks it. When a kernel
# gives the right number of wrong elements, write down the law of the line you doubt, and run it.

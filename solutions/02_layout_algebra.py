# ---
# jupyter:
#   tutorlib:
#     minutes: 130
#     summary: Compose, complement, divide, repeat, invert. You write them; their laws and the real CuTe check them.
# ---

# %% [markdown]
# # 02 · An algebra of layouts
#
# One kernel, four thread blocks, a row-major matrix: which element does thread 17 of block 2 load? You can derive the
# formula, with its divisions and remainders. Then the rows are padded, or the tile size changes, and you derive it
# again.
#
# There is a better way. A layout is a function, and functions can be composed, cut, repeated and inverted. A few
# operators do all of it. Each takes layouts and returns a layout, and each obeys a law of one line. On this page you
# write them, in two to seventeen lines each; every kernel of this course is built with them. The last section comes
# back to thread 17.
#
# > **After this page you can** cut a matrix into tiles, repeat a block over a grid, predict the results of CuTe's
# > operators and tell when they are wrong, find the widest possible copy, and build the layout by which threads share a
# > tile.
# >
# > **It takes** about 130 minutes, on any machine. After exercise 02.8 is a good place to stop and come back.

# %%
import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tutorlib import check
from tutorlib.draw import (
    show_complement,
    show_compose,
    show_divide,
    show_layouts,
    show_memory,
    show_product,
    show_tv,
)
from tutorlib.explorers.layouts import explore_compose, explore_divide
from tutorlib.explorers.tiled_copy import explore_tv
from tutorlib.layouts.notation import layout, text
from tutorlib.layouts.oracle import Refused, ask
from tutorlib.layouts.tiled_copy import tiled_copy_view

# %% [markdown]
# `tl` is a library with all the operators in it. That lets you use the earlier ones in later exercises whether or not
# you have solved them: where an exercise wants `coalesce`, use `tl.coalesce`. An exercise may not call the operator
# that it asks you to write; its check detects that.
#
# Two judges look at your answers. One is the operator's law, on random layouts. The other is CuTe itself: its layout
# algebra runs on the CPU while a kernel is compiled, so we can ask it. The first question imports `cutlass`, which
# takes a few seconds; each later one takes milliseconds.


# %%
def cute(operation, *args):
    """CuTe's answer, as text."""
    (answer,) = ask([(operation, *args)])
    return f"refused: {answer.why}" if isinstance(answer, Refused) else text(answer)


print(cute("composition", layout("(8,4):(4,1)"), layout("(4,8):(8,1)")))

# %% [markdown]
# ## Coalesce: say it with fewer modes
#
# `(4,8):(1,4)` walks down four elements, then moves on by four: it visits 32 elements in order. So does `32:1`.
# **Coalesce** finds the shortest layout that is the same function of the index:
#
# > coalesce(L)(i) = L(i) for every index i, with as few modes as possible
#
# Two neighbors `s:d` and `t:e` continue each other exactly when e = s·d.

# %%
show_layouts({"column-major": "(4,8):(1,4)", "its coalesce": "32:1"})

# %% [markdown]
# Now a nested one. Say what it prints before you run it: which neighbors continue each other, and what becomes of the
# mode of extent 1?

# %%
print(text(tl.coalesce(layout("(2,(1,6),4):(1,(9,2),16)"))))

# %% [markdown]
# 2 and 6 became 12:1, because 2 = 2·1. The 4:16 stays, because 16 is not 12. A mode of extent 1 never contributes to
# the offset, whatever its stride.
#
# **Exercise 02.1** (about 11 lines). Write `coalesce(layout)`. `flatten(layout.shape)` gives a flat tuple, also of a
# plain number. If one mode remains, write it as CuTe does, without brackets: `Layout(32, 1)`; if none remains,
# `Layout(1, 0)`.


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
# **Keep this:** coalesce changes how a layout is written, never the function that it is. Where a mode `n:1` remains, n
# elements are contiguous in memory. How many of them one instruction can move is the question at the end of this page.
#
# ## Composition: A after B
#
# Layouts compose as any functions do: B first, then A. B's offsets are A's indices.
#
# > (A ∘ B)(i) = A(B(i)) for every i, and B's coordinates stay valid
#
# Read it as "B chooses, A stores". A is a matrix in memory; B picks elements of it, by index, in an order of its own;
# A ∘ B gives their offsets in memory. Here A is a row-major 4×8, and B = (4,4):(2,8) takes every second index.

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
# Eight indices are two whole columns, so B stays in row 0: it skips A's first mode and takes every second column.
#
# Try another one: click a cell of the result to see which index of A it is.

# %%
explore_compose("(4,8):(8,1)", "8:2")

# %% [markdown]
# When B has several modes, each is composed on its own: A ∘ (B₀, B₁) = (A ∘ B₀, A ∘ B₁). So the cell of the exercise
# does that and leaves you the case of one mode, `extent:stride`. Here is how the one above is split, step by step:
# A = (4,8):(8,1) and B = 8:2, eight elements, two indices apart.
#
# | mode of A | elements to place | B's step here | what fits | the result so far |
# |---|---|---|---|---|
# | 4:8 | 8 | 2 | 4 / 2 = 2 of them, 2·8 apart | 2:16 |
# | 8:1, the last | 8 / 2 = 4 | 1: it enters each column at row 0 | all 4, 1·1 apart | (2,4):(16,1) |
#
# **Exercise 02.2** (about 17 lines). Complete `compose(a, b)`. Walk over the modes of `tl.coalesce(a)` from the first
# to the last, with two numbers: how many elements are left to place, and B's step in the present mode.
#
# - The last mode comes before every other rule: it takes all that is left, whatever the step, even past its end.
#   8:3 ∘ 16:1 is 16:3.
# - Where the step is a multiple of the mode's extent, B steps over the mode: in the next one its step is step /
#   extent.
# - Where all that is left fits into the mode, (left - 1) · step < extent, place it there and stop.
# - Otherwise fill the mode: it takes extent / step elements, and the rest go on in the next mode with step 1. Both
#   divisions, of extent by step and of left by the number taken, must have no remainder. If one has, raise
#   `ValueError`.


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
# No layout of three elements gives that: its offsets would be 0, d, 2d. Your `compose` raises. (Two elements always
# form a layout, `2:d`; if they lie in two modes of A, `compose` raises all the same, as CuTe does.) CuTe refuses this
# one too. Does it refuse every such pair? Two more: `5:3` of another layout, and A again with one more index, 0, 4, 8
# and 12, the last of them past its end:

# %%
print(cute("composition", layout("(4,6):(1,10)"), layout("5:3")))
print(cute("composition", A, layout("4:4")))
(R,) = ask([("composition", A, layout("4:4"))])
print("wanted:", [A(4 * i) for i in range(3)], " CuTe's answer:", [R(i) for i in range(3)])

# %% [markdown]
# The second answer is wrong, without any error. The condition that steps divide modes is yours to keep. It is one
# reason why sizes in fast kernels are powers of two, and why it pays to know the law: it is a test that you can run.
#
# The law can break in one more way. Composing mode by mode is right only while B's modes don't carry into each other,
# as 5 + 7 carries into the tens. In `(4,3):(1,1)` they do: coordinates 3 and 2 add up to index 5, in another column.

# %%
A, B = layout("(4,2):(2,1)"), layout("(4,3):(1,1)")
R = tl.compose(A, B)
print(text(R), " CuTe:", cute("composition", A, B))
print("A(B(3, 2)) =", A(B(3, 2)), " R(3, 2) =", R(3, 2))

# %% [markdown]
# CuTe makes the same assumption, and this is its second answer that breaks the law. Powers of two keep you safe here
# too: if all extents and strides are powers of two and B's offsets don't repeat, each mode has bits of its own and
# nothing can carry.
#
# ### What composition is for
#
# Any B that lists indices in another order gives another view of A. Take the pairs of columns that are four apart in
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
# so that `transposed(L)(j, i) == L(i, j)`. Exchanging the two modes by hand works just as well, but think about B: in
# which order must it list the indices of L?


# %%
def transposed(layout):
    ### BEGIN SOLUTION (about 2 lines)
    rows, columns = size(mode(layout, 0)), size(mode(layout, 1))
    return tl.compose(layout, Layout((columns, rows), (rows, 1)))
    ### END SOLUTION


# %%
check("02.3", transposed)

# %% [markdown]
# **Keep this:** A ∘ B is A's memory read in B's order. The right operand picks, the left one stores. In the next
# notebook the left one is a swizzle.
#
# ## Complement: what a layout leaves out
#
# Take the layout `4:2`. It covers the offsets 0, 2, 4, 6. Suppose you want to fill 24 offsets with copies of it. Where
# do the copies begin?

# %%
show_complement("4:2", 24)

# %% [markdown]
# One begins at 1, in the holes. Those two fill 0 to 7; then the same again at 8 and 16. The starts are 0, 1, 8, 9, 16,
# 17: the layout `(2,3):(1,8)`. That is the **complement** of 4:2 in 24, and its law is:
#
# > every offset below the bound is L(i) + R(j) in exactly one way, and R's offsets ascend
#
# What is the complement of 8:1 in 24? And of 8:3? The second has no room after its last element.

# %%
print(text(tl.complement(layout("8:1"), 24)), " ", text(tl.complement(layout("8:3"), 24)))

# %% [markdown]
# **Exercise 02.4** (about 9 lines). Write `complement(layout, bound)`. Sort the modes by stride and fill the gaps from
# the smallest up; at the end repeat as often as the bound needs, rounded up. Modes of extent 1 and of stride 0 add no
# offset. Raise `ValueError` if two modes collide, as in `(4,2):(2,3)`.


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
# CuTe does not check that copies of the layout fit into its holes. `(4,2):(2,3)` covers 0, 2, 4, 6 and 3, 5, 7, 9. No
# copy of it can fill offset 1, because it would land on 3 as well. So there is no complement, and CuTe answers all the
# same:

# %%
show_memory("(4,2):(2,3)")

# %%
print(cute("complement", layout("(4,2):(2,3)"), 24))

# %% [markdown]
# The third wrong answer, and a mode of extent 0 is the only warning. In a kernel it would be an empty loop. CuTe's
# `logical_product` divides by that 0, and the Python process dies. (`ask` checks first, and does not pass such a
# question on.)
#
# **Keep this:** L covers one tile, its complement gives the starts of all the others. Together they name every offset
# once. That is a division, and it is next.
#
# ## Logical divide: cut into tiles
#
# Put the two together. B lists the indices of tile 0. Its complement B\* in size(A) lists the tiles' starts. So (B,
# B\*) lists every index of A, tile after tile, and A ∘ (B, B\*) is A cut into tiles:
#
# > (A ⊘ B)(i, j) = A(B(i) + B\*(j)): element i of tile j
#
# It has two modes, (inside the tile, which tile). Nothing moves in memory. Every load loop you will write begins here.

# %%
show_divide("(4,6):(6,1)", "4:2")

# %% [markdown]
# The tile need not be contiguous: 4:2 takes every second index. So one tile has rows 0 and 2 of two columns, the next
# one rows 1 and 3, and so on through the pairs of columns: six tiles in all.
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
# Offsets 10 and 11 are not yours. A kernel that uses the tile has to compare each coordinate with the true size before
# it touches memory: that is the predicate of page 04.
#
# That was one mode. With two, a flat tile of 4 runs over the end of a column of 10 into the next one, and no layout
# describes that. `tl` refuses. Does CuTe?

# %%
A, B = layout("(10,2):(2,1)"), layout("4:1")
wrong = ask([("logical_divide", A, B)])[0]
print(text(wrong), " element (0, 3):", wrong(0, 3), " but index 12 is at", A(12))
try:
    tl.logical_divide(A, B)
except ValueError as error:
    print("tl:", error)

# %% [markdown]
# The fourth wrong answer, as silent as the others. The cure is to cut each mode on its own, so that only the edge tiles
# stick out.
#
# **Keep this:** ⊘ gives (inside the tile, which tile). The number of tiles is rounded up, and the edge tiles are your
# responsibility.
#
# ## Mode by mode: zipped and tiled divide
#
# A matrix is cut along rows and columns. So a tiler is a tuple, `(4,4)`, one tile for each mode, and each mode is
# divided on its own. That gives ((inside, outside) of the rows, (inside, outside) of the columns).
#
# A thread block wants another grouping: its tile in one mode, the grid of tiles in the other. **Zipped divide** gathers
# the insides and the outsides:
#
# > (M,N,K) ⊘ (a,b,c) = ((a,b,c), (M/a,N/b,K/c))
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
# The same modes, in other brackets. **Tiled divide** keeps the tile in one mode and leaves the grid's modes separate,
# so that `tiled(tile, x, y)` reads like a kernel; `flat_divide` removes the tile's brackets, too. Zipped, tiled and
# flat are even the same function of the index, because their modes come in one order: tile first. Logical is not: its
# index 4 is outside the tile; it is row 4, which begins at 4·8 = 32. That is the 32 in its strides.
#
# Here the last tiles stick out. Click a cell on either side to find it on the other; try a hatched one, too.

# %%
explore_divide("(10,8):(8,1)", "(4,4)")

# %% [markdown]
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
# Now it earns its keep. 4×2 thread blocks share the 16×8 matrix, each with a 4×4 tile. A block needs two things: the
# offset at which its tile begins, and the layout inside. The first differs from block to block, the second does not. In
# CuTe kernels this is the first line that you will write: `gA = local_tile(mA, tile, block)`.
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
# A tiler's parts may be layouts too. `(4, 2:4)` takes four rows, and two columns that are four apart: the pairs of
# columns from above, this time by division. Which offsets does the first tile hold?

# %%
tiles = tl.zipped_divide(layout("(4,8):(8,1)"), (4, layout("2:4")))
print(text(tiles))
print([tiles(i, 0) for i in range(8)])

# %% [markdown]
# The same brackets mean *mode by mode* in a composition: `A ∘ ⟨B, C⟩` composes A's first mode with B and its second
# with C, where `A ∘ (B, C)`, one layout of two modes, would take indices of all of A. Which rows and columns are
# these?

# %%
corners = tl.compose(layout("(16,8):(8,1)"), (layout("4:2"), layout("2:4")))
print(text(corners), [corners(0, column) for column in range(2)], [corners(row, 0) for row in range(4)])

# %% [markdown]
# Rows 0, 2, 4, 6 of columns 0 and 4. A zipped divide by the same tiler has this as its first mode: tile 0. The
# composition picks one tile, the division lists them all.
#
# **Keep this:** zipped divide is ((tile), (grid)). Index the second mode with your block, and you have your tile.
#
# ## Logical product: repeat a block
#
# Division takes a large layout apart; the product builds one. You have a small block, and want copies of it arranged as
# a grid. The complement gives the offsets at which copies may begin, and the grid gives their order:
#
# > A ⊗ B = (A, A\* ∘ B), so (A ⊗ B)(i, j) = A(i) + A\*(B(j)): element i of copy j
#
# where A\* is the complement of A in size(A)·cosize(B), room for all the blocks of the grid.

# %%
show_product("(2,2):(4,1)", "(2,3):(1,2)")

# %% [markdown]
# This block has holes, and the copies go there first: the second copy begins at 2, inside the first. A tempting
# shortcut multiplies the grid's strides by the size of the block. When is that right? Predict both lines:

# %%
for block in (layout("4:1"), layout("4:2")):
    shortcut = Layout(block, Layout(4, 1 * size(block)))
    print(text(block), " product:", text(tl.logical_product(block, layout("4:1"))), " shortcut:", text(shortcut))

# %% [markdown]
# With `4:2` the shortcut puts its second copy at 4, on top of the block's third element. It is right only for a block
# without holes.
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
# The product inherits the limits of complement and composition. Three copies of 4:2 would have to begin at 0, 1 and 8:
# the complement `(2,2):(1,8)` has four starts, and its first three do not form a layout.

# %%
print(cute("logical_product", layout("4:2"), layout("3:1")))

# %% [markdown]
# **Keep this:** thread layouts are products: a warp of 8×4 threads, repeated 2×2 times. Divide the data, multiply the
# threads, and compose the two.
#
# ## Blocked and raked: a product you can index by row and column
#
# ⊗ gives (inside the block, which copy). As a matrix you want (row, column). When block and grid are both matrices,
# pair their modes: rows with rows, columns with columns. There are two ways to do it. **Blocked** runs inside the block
# first, so each block stays in one piece. **Raked** runs over the copies first, so the blocks are interleaved like the
# teeth of a rake. Where are the numbers 0 to 3, the first block, in each?

# %%
block, grid = layout("(2,2):(1,2)"), layout("(2,3):(3,1)")
blocked, raked = tl.blocked_product(block, grid), tl.raked_product(block, grid)
show_layouts({"blocked": blocked, "raked": raked})

# %% [markdown]
# > blocked((i, p), (j, q)) = (A ⊗ B)((i, j), (p, q)), and raked((p, i), (q, j)) is the same
#
# **Exercise 02.9** (about 4 lines). Write `blocked_product(block, grid)` for two matrices. `tl.logical_product` has all
# the strides already, in other brackets. `mode(mode(product, 0), 1)` is the block's columns.


# %%
def blocked_product(block, grid):
    ### BEGIN SOLUTION (about 4 lines)
    product = tl.logical_product(block, grid)
    inside, copies = mode(product, 0), mode(product, 1)
    return Layout(*(Layout(mode(inside, n), mode(copies, n)) for n in range(2)))
    ### END SOLUTION


# %%
check("02.9", blocked_product)

# %% [markdown]
# **Keep this:** blocked keeps a block together, raked spreads it. Take threads as the block and values as the grid:
# the raked product spreads the threads, so that each thread's own values are contiguous.
#
# ## Inverses: from the offset to the index
#
# A layout leads from an index to an offset. Sometimes you need the way back: which index is at offset 5? For a compact
# layout the answer is a layout again. The **right inverse** covers the part of memory, from offset 0 on, that is filled
# without a gap:
#
# > L(R(k)) = k for every k below size(R), and R is as long as it can be

# %%
L = layout("(4,8):(8,1)")
R = tl.right_inverse(L)
print(text(R), [R(k) for k in range(10)], [L(R(k)) for k in range(10)])

# %% [markdown]
# Offsets 0 to 7 are the columns of row 0, whose indices are 4 apart: 8:4. After them comes the next row, one index
# further: 4:1. With rows padded to 16, no index is at offset 8, so R stops there. The **left inverse** inverts the
# other way round, R(L(i)) = i for every index, and its value at an unused offset means nothing:

# %%
padded = layout("(4,8):(16,1)")
print("right:", text(tl.right_inverse(padded)), "  left:", text(tl.left_inverse(padded)))

# %% [markdown]
# **Exercise 02.10** (about 9 lines). Write `right_inverse(layout)`, for layouts that send no two indices to one offset.
# Take the flat modes, each with its distance *in indices*: 1 for the first, its extent for the second, the product of
# the first two extents for the third. Sort them by stride, and keep them as long as they fill memory without a gap:
# stride 1 first, then always extent · stride of the one before. Modes of extent 1 don't count. Coalesce at the end.


# %%
def right_inverse(layout):
    ### BEGIN SOLUTION (about 9 lines)
    modes, apart = [], 1  # (stride, extent, how far apart as indices)
    for extent, stride in zip(flatten((layout.shape,)), flatten((layout.stride,)), strict=True):
        modes.append((stride, extent, apart))
        apart *= extent
    kept, reach = [(1, 0)], 1
    for stride, extent, apart in sorted(kind for kind in modes if kind[1] > 1):
        if stride != reach:
            break
        kept.append((extent, apart))
        reach *= extent
    return tl.coalesce(Layout(*zip(*kept, strict=True)))
    ### END SOLUTION


# %%
check("02.10", right_inverse)

# %% [markdown]
# ## How wide may a copy be?
#
# A thread moves up to 16 bytes with one instruction (32 from sm_100 on), if the elements are contiguous in *both* the
# source and the destination, in the same order. So walk through A's memory in order and find the same elements in B:
# B ∘ R, where R is the right inverse of A, maps A's offsets to B's. As long as it counts 0, 1, 2, … the two agree.

# %%
column_major, row_major, row_padded = layout("(4,8):(1,4)"), layout("(4,8):(8,1)"), layout("(4,8):(16,1)")
for name, b in {"itself": row_major, "padded rows": row_padded, "columns": column_major}.items():
    steps = tl.compose(b, tl.right_inverse(row_major))
    together = tl.max_common_vector(row_major, b)
    print(f"rows to {name:12} {text(tl.coalesce(steps)):15} {together:3} elements together")

# %% [markdown]
# After coalescing, a first mode `n:1` means that n elements stay together; any other first mode, that not even two do.
# Row-major to padded rows is as wide as a row. Row-major to column-major is one element at a time, whatever the tile:
# that is half the trouble with a transpose. The other half is that on one side neighboring threads are a whole row
# apart.
#
# **Exercise 02.11** (about 4 lines). Write `common_vector(a, b)`: the number of elements, from offset 0 on, that are
# contiguous in both. CuTe calls it `max_common_vector`.


# %%
def common_vector(a, b):
    ### BEGIN SOLUTION (about 4 lines)
    steps = tl.coalesce(tl.compose(b, tl.right_inverse(a)))
    extent, stride = flatten((steps.shape,))[0], flatten((steps.stride,))[0]
    return extent if stride == 1 else 1
    ### END SOLUTION


# %%
check("02.11", common_vector)

# %% [markdown]
# That is the upper limit. A kernel takes the least of three: this number, the widest access, and the width that the
# *alignment* allows. An access of 16 bytes needs an address that is a multiple of 16, and so must be the pointer and,
# in bytes, every stride outside the vector. With rows of 65 values of bf16, row 1 begins at byte 130:

# %%
for stride in (64, 65, 66, 68, 72):
    row_bytes = 2 * stride
    print(f"rows of {stride} bf16: {min(16, row_bytes & -row_bytes):2} bytes at once")

# %% [markdown]
# ## Thread-value layouts: which thread copies which element
#
# One step remains: threads that share a tile. Two small matrices describe it. `threads` arranges the threads, `values`
# the elements that each takes at a time. Here 8×4 threads, numbered by rows, take four neighbors of a row each:

# %%
threads, values = layout("(8,4):(4,1)"), layout("(1,4):(4,1)")
print(text(tl.raked_product(threads, values)))

# %% [markdown]
# That is their raked product: it maps a (row, column) of the tile to the number thread + 32 · value. A kernel needs the
# inverse: "I am thread t; which element is my value v?" Split the index of that inverse, k = t + 32 · v, into (t, v),
# and you have a **thread-value layout**, TV for short. You will meet it again in notebook 03; CuTe's `make_layout_tv`
# builds it:
#
# > TV(t, v) = the index in the tile, first mode fastest, at which the raked product has t + size(threads) · v
#
# **Exercise 02.12** (about 2 lines). Write `layout_tv(threads, values)`, for matrices that number their cells from 0 on
# without a gap.


# %%
def layout_tv(threads, values):
    ### BEGIN SOLUTION (about 2 lines)
    inverse = tl.right_inverse(tl.raked_product(threads, values))
    return tl.compose(inverse, Layout((size(threads), size(values))))
    ### END SOLUTION


# %%
check("02.12", layout_tv)

# %%
TV = tiled_copy_view(threads, values, (8, 16)).layout
show_tv(TV, (8, 16), title=f"{text(TV)}: who holds what of an 8×16 tile")

# %% [markdown]
# A CuTe `TiledCopy` is just this: a copy instruction of some width, and a TV layout that assigns elements to threads.
# Change the threads to `(8,4):(1,8)` and see which of them then read one row.

# %%
explore_tv("(8,4):(4,1)", "(1,4):(4,1)", "(8,16)")

# %% [markdown]
# ## Thread 17 of block 2
#
# Now the question from the top of the page. The matrix is 16×32, stored by rows. Four blocks, each with a tile of 8×16
# and those 32 threads. Which elements does thread 17 of block 2 load? Say it before you run it: where in the grid is
# block 2, and where in the tile is thread 17?

# %%
A = layout("(16,32):(32,1)")
tiles = tl.zipped_divide(A, (Layout(8, 1), Layout(16, 1)))
mine = tl.compose(mode(tiles, 0), TV)
print("block 2 begins at", tiles((0, 2)))
print("its thread 17 loads", [tiles((0, 2)) + mine(17, v) for v in range(4)])

# %% [markdown]
# Block 2 is (0, 1), the first mode fastest: column 16. Thread 17 is in row 4, and its four values begin at column 4. So
# its first element is (4, 20), at 4·32 + 20. Three lines, and none of them is a formula. When the rows are padded to 40
# elements, only the first line changes:

# %%
tiles = tl.zipped_divide(layout("(16,32):(40,1)"), (Layout(8, 1), Layout(16, 1)))
print([tiles((0, 2)) + tl.compose(mode(tiles, 0), TV)(17, v) for v in range(4)])

# %% [markdown]
# ## What to remember
#
# | operator | law | in a kernel |
# |---|---|---|
# | coalesce(A) | same function, fewest modes | find contiguous elements |
# | A ∘ B | R(i) = A(B(i)) | read A in another order; a swizzle on the left of it |
# | complement(A, n) | A(i) + R(j) is every offset below n, once | the starts of the other tiles |
# | A ⊘ B | R(i, j) = A(B(i) + B\*(j)) | tiles for blocks, fragments for threads |
# | zipped, tiled | ((a,b),(A/a,B/b)); ((a,b),A/a,B/b) | `local_tile` |
# | A ⊗ B | R(i, j) = A(i) + A\*(B(j)) | warps out of threads, tiles out of atoms |
# | blocked, raked | the same, by row and column | a block in one piece, or interleaved |
# | right inverse | A(R(k)) = k | the index at a given offset |
# | layout_tv(T, V) | right inverse of the raked product | a `TiledCopy`'s threads and values |
#
# - Each law is a test that you can run. Four times on this page CuTe's answer broke one. When a kernel gives wrong
#   elements, write down the law of the line you doubt, and run it.
# - Extents and strides that are powers of two, with offsets that don't repeat, keep you clear of all four.
# - A copy is as wide as both layouts, the alignment, and the widest instruction allow.
#
# ## Test yourself
#
# <details><summary>1. What is (4,8):(8,1) ∘ 8:4, and in which order does it read the matrix?</summary>
#
# 8:1. B takes every fourth index, which is row 0 of each column in turn: the first row, from left to right.
#
# </details>
#
# <details><summary>2. You divide 100 elements by 16:1. How many tiles are there, and what does the law say
# about element (5, 6)?</summary>
#
# Seven tiles. Element 5 of tile 6 is index 101, which the layout does not have: the law says nothing about it, and a
# kernel must not touch it.
#
# </details>
#
# <details><summary>3. 32 threads copy a row-major 8×16 tile of fp32. Which <code>values</code> let each of them use one
# 16-byte load, and which <code>threads</code> put neighboring threads on neighboring 16-byte chunks of a row?</summary>
#
# `values` = (1,4):(4,1), four neighbors of a row. With `threads` = (8,4):(4,1) threads 0 to 3 take row 0, 64 bytes in
# one piece; with (8,4):(1,8) neighboring threads would be a row apart.
#
# </details>

# ---
# jupyter:
#   tutorlib:
#     minutes: 130
#     summary: Compose, complement, divide, repeat, invert. You write them; their laws check them.
# ---

# %% [markdown]
# # 02 · An algebra of layouts
#
# One kernel, four thread blocks, a row-major matrix: which element does thread 17 of block 2 load? You can derive the
# formula, full of `//` and `%`. Then the rows are padded, or the tile size changes, and you derive it again.
#
# There is a better way. A layout is a function, so you can compose it, cut it, repeat it and invert it. A few operators
# are enough. Each takes layouts and returns a layout, and each obeys a law of one line. On this page you write them, in
# two to seventeen lines each; the course's CuTe kernels are built with them. The last section returns to thread 17.
#
# > **After this page you can** cut a matrix into tiles, repeat a block over a grid, predict the results of CuTe's
# > operators and tell when they are wrong, find the widest possible copy, and build the layout by which threads share a
# > tile.
# >
# > **It takes** about 130 minutes, without a GPU. After exercise 02.8 is a good place to stop and come back.

# %%
import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tutorlib import (
    Refused, ask, check, explore_compose, explore_divide, explore_tv, layout, show_complement, show_compose,
    show_divide, show_layouts, show_memory, show_product, show_tv, text, tiled_copy_view,
)  # fmt: skip

# %% [markdown]
# `tl` is `tensor_layouts`, Meta's version of CuTe's layout algebra in plain Python. It has all the operators, and this
# page says where its answers differ from CuTe's. You can use the operators of earlier exercises in later ones whether
# or not you have solved them: where an exercise needs `coalesce`, use `tl.coalesce`. An answer may not call the
# operator that the exercise asks for, nor one that is built on it; the check detects both.
#
# The checks test your answers in two ways. They test the operator's law on random layouts, and they compare with CuTe
# itself, whose layout algebra runs on the CPU. You can ask it, too: `cute("name", arguments)`. The first question
# imports `cutlass`, which takes a few seconds; each later one takes milliseconds.


# %%
def cute(operation, *args):
    """CuTe's answer, as text."""
    (answer,) = ask([(operation, *args)])
    return f"refused: {answer.why}" if isinstance(answer, Refused) else text(answer)


print(cute("size", layout("(4,3):(5,1)")), cute("cosize", layout("(4,3):(5,1)")))

# %% [markdown]
# ## Coalesce: the same function with fewer modes
#
# Read by index, `(4,8):(1,4)` visits the offsets 0 to 31 in order. So does `32:1`.
# To **coalesce** a layout is to find the shortest layout that is the same function of the index:
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
# 2:1 and 6:2 became 12:1, because 2 = 2·1. The 4:16 remains, because 16 is not 12. The mode of extent 1 is gone: its
# coordinate is always 0, so it never contributes to the offset, whatever its stride.
#
# **Exercise 02.1** (about 11 lines). Write `coalesce(layout)`. `flatten(layout.shape)` gives a flat tuple, also for a
# shape that is a plain number. If one mode remains, return it as CuTe does, without brackets: `Layout(32, 1)`; if none
# remains, `Layout(1, 0)`.


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
# **Keep this:** coalesce changes the notation of a layout, never the function. If the first mode is then `n:1`, n
# consecutive elements are contiguous in memory. A later section asks how many of them one instruction can move.
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
# mode `4:2` of B takes rows 0 and 2 of one column, then rows 0 and 2 of the next. Their offsets need two strides, 16
# and 1, so the one mode of B becomes two, `(2,2):(16,1)`.
#
# This example contains most of the algorithm. Work through one more with a pencil: A = (4,8):(8,1) again, B = 4:8. A's
# first mode has extent 4. Where does a step of 8 indices lead?

# %%
A = layout("(4,8):(8,1)")
print(text(tl.compose(A, layout("4:8"))))
print([A(8 * i) for i in range(4)])

# %% [markdown]
# Eight indices are two whole columns, so B stays in row 0: it skips A's first mode and takes every second column.
#
# Here is another one. Click a cell of the result to see which index of A it reads.

# %%
explore_compose("(4,8):(8,1)", "8:2")

# %% [markdown]
# If B has several modes, each is composed on its own: A ∘ (B₀, B₁) = (A ∘ B₀, A ∘ B₁). The exercise's cell does that,
# and returns at once for a single element or a stride of 0. You write the case of one mode, `extent:stride`. These are
# the steps for A = (4,8):(8,1) and B = 8:2 above, eight elements that are two indices apart:
#
# | mode of A | elements to place | B's step here | elements that fit | the result so far |
# |---|---|---|---|---|
# | 4:8 | 8 | 2 | 4 / 2 = 2 of them, 2·8 apart | 2:16 |
# | 8:1, the last | 8 / 2 = 4 | 1: the next one is in the next column, at row 0 | all 4, 1·1 apart | (2,4):(16,1) |
#
# **Exercise 02.2** (about 17 lines). Complete `compose(a, b)`. Walk over the modes of `tl.coalesce(a)` from the first
# to the last, with two numbers: `left`, the number of elements still to place, and `step`, B's step in the current
# mode. Elements placed in a mode of A become a mode of the result, whose stride is step · A's stride.
#
# - In the last mode of A no other rule applies: it takes all elements that are left, whatever the step, even past its
#   end. 8:3 ∘ 16:1 is 16:3.
# - If the step is a multiple of the mode's extent, B steps over the mode: place nothing, and continue in the next mode
#   with step / extent.
# - If all elements that are left fit into the mode, (left - 1) · step < extent, place them there and stop.
# - Otherwise fill the mode: it takes extent / step elements. Continue in the next mode with left / (extent / step)
#   elements and step 1. If one of these divisions has a remainder, raise `ValueError`.
#
# Return a single mode without brackets, `Layout(2, 16)`.


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
# Not every pair can be composed. Let A be `(6,2):(8,2)` and B be `3:4`. B picks the indices 0, 4 and 8:

# %%
A, B = layout("(6,2):(8,2)"), layout("3:4")
print([A(B(i)) for i in range(3)])

# %% [markdown]
# No layout of three elements gives that: its offsets would be 0, d, 2d. Your `compose` raises, and CuTe refuses, too.
# (Two elements always form a layout, `2:d`; but if they are in two modes of A, `compose` raises all the same, as CuTe
# does.) Does CuTe refuse every such pair? Here are two more: A = (4,6):(1,10) with B = 5:3, and the A above with B =
# 4:4, which adds index 12, past A's end:

# %%
print(cute("composition", layout("(4,6):(1,10)"), layout("5:3")))
print(cute("composition", A, layout("4:4")))
(R,) = ask([("composition", A, layout("4:4"))])
print("wanted:", [A(4 * i) for i in range(3)], " CuTe's answer:", [R(i) for i in range(3)])

# %% [markdown]
# The last line is CuTe's first wrong answer on this page, and it reports no error. You are responsible for the
# condition that steps and extents divide each other. It is one reason why sizes in fast kernels are powers of two, and
# why the law is worth knowing: it is a test that you can run.
#
# The law can break in another way. Composing mode by mode is right only if B's modes do not carry into each other, as
# 5 + 7 carries into the tens. In `(4,3):(1,1)` they do: coordinates 3 and 2 add up to index 5, in another column of A.

# %%
A, B = layout("(4,2):(2,1)"), layout("(4,3):(1,1)")
R = tl.compose(A, B)
print(text(R), " CuTe:", cute("composition", A, B))
print("A(B(3, 2)) =", A(B(3, 2)), " R(3, 2) =", R(3, 2))

# %% [markdown]
# CuTe makes the same assumption, so this is its second wrong answer. (Its documentation claims the rule only where B
# maps no two coordinates to one offset, and this B maps several; CuTe does not check that.) Powers of two help here,
# too: if all extents and strides are powers of two and B's offsets don't repeat, each mode has bits of its own and
# nothing can carry.
#
# ### A use of composition
#
# Any B that lists indices in another order gives another view of A. Take the row-major 4×8 again, and pair each of its
# columns 0 to 3 with the column four further right. The next column is 4 indices away, so the partner is 16 away: B =
# `(4,(2,4)):(1,(16,4))` is (row, (which of the two, which pair)). Where is row 1, second column of pair 3?

# %%
A = layout("(4,8):(8,1)")
pairs = tl.compose(A, layout("(4,(2,4)):(1,(16,4))"))
print(text(pairs), pairs(1, (1, 3)))

# %% [markdown]
# Row 1, column 3 + 4 = 7: 1·8 + 7 = 15. You never wrote that formula.
#
# **Exercise 02.3** (about 1 line). A transpose is a composition, too: one B turns *every* layout L of `rows` rows and
# `columns` columns, whatever its strides. Write `transposing(rows, columns)`, which returns that B, such that
# (L ∘ B)(j, i) = L(i, j).


# %%
def transposing(rows, columns):
    ### BEGIN SOLUTION (about 1 line)
    return Layout((columns, rows), (rows, 1))
    ### END SOLUTION


# %%
check("02.3", transposing)

# %% [markdown]
# **Keep this:** A ∘ B reads A's memory in B's order. The right operand chooses, the left one stores. In the next
# notebook the left one is a swizzle.
#
# ## Complement: where copies of a layout begin
#
# Take the layout `4:2`. It covers the offsets 0, 2, 4, 6. Suppose you want to fill 24 offsets with copies of it. Where
# do the copies begin?

# %%
show_complement("4:2", 24)

# %% [markdown]
# The second one begins at 1, in the holes of the first. Together they fill 0 to 7. Two more begin at 8 and 9, and two
# at 16 and 17. The starts 0, 1, 8, 9, 16, 17 are the layout `(2,3):(1,8)`. It is the **complement** of 4:2 in 24, and
# its law is:
#
# > every offset below the bound is L(i) + R(j) in exactly one way, and R's offsets ascend
#
# What is the complement of 8:1 in 24? And of 8:3, whose last element is at offset 21?

# %%
print(text(tl.complement(layout("8:1"), 24)), " ", text(tl.complement(layout("8:3"), 24)))

# %% [markdown]
# **Exercise 02.4** (about 9 lines). Write `complement(layout, bound)`. Sort the modes by stride, and fill the gap below
# each stride with copies, from the smallest stride up; at the end repeat all of it as often as the bound needs, rounded
# up. Modes of extent 1 and of stride 0 add no offset. Raise `ValueError` if the copies cannot fill a gap exactly, as in
# `(4,2):(2,3)`: the mode 4:2 and its copy fill offsets 0 to 7, and 3 is no multiple of 8.


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
# CuTe does not check that copies of the layout fit into its holes. `(4,2):(2,3)` covers 0, 2, 4, 6 and 3, 5, 7, 9. A
# copy that begins at offset 1 would cover 3 a second time. So there is no complement, but CuTe returns one:

# %%
show_memory("(4,2):(2,3)")

# %%
print(cute("complement", layout("(4,2):(2,3)"), 24))

# %% [markdown]
# This is the third wrong answer, and a mode of extent 0 is the only warning. In a kernel it would be an empty loop.
# CuTe's `logical_product` divides by that 0, and the Python process dies. (`ask` never passes such a question on.)
#
# **Keep this:** a layout covers one tile, and its complement gives the starts of all tiles. Together they name each
# offset once. The next operator, division, is built from the two.
#
# ## Logical divide: cut into tiles
#
# Let B list the indices of tile 0. Its complement B\* in size(A) lists the starts of all tiles. So (B, B\*) lists every
# index of A, tile after tile, and A ∘ (B, B\*) is A cut into tiles:
#
# > (A ⊘ B)(i, j) = A(B(i) + B\*(j)): element i of tile j
#
# The result has two modes, (inside the tile, which tile). Nothing moves in memory. In a CuTe kernel, loads begin with
# such a division.

# %%
show_divide("(4,6):(6,1)", "4:2")

# %% [markdown]
# The tile need not be contiguous: 4:2 takes every second index. So the first tile has rows 0 and 2 of two columns, the
# second one rows 1 and 3 of the same columns, and so on through the pairs of columns: six tiles in all.
#
# A layout takes its coordinate as arguments or as one tuple: `L((i, j))` is `L(i, j)`. Now divide eight elements that
# are 3 apart by 4:2. Which offsets are in tile 1? Say it before you run it.

# %%
halves = tl.logical_divide(layout("8:3"), layout("4:2"))
print(text(halves), [halves(i, 1) for i in range(4)])

# %% [markdown]
# **Exercise 02.5** (about 2 lines). Write `logical_divide(layout, tile)`, where the tile is a Layout. You need
# `tl.compose`, `tl.complement`, and `Layout(a, b)`, which makes two layouts the modes of a new one.


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
# Ten elements, tiles of four. CuTe rounds up to three tiles, and the third one extends past the end:

# %%
ragged = ask([("logical_divide", layout("10:1"), layout("4:1"))])[0]
print(text(ragged), "tile 2:", [ragged(i, 2) for i in range(4)])

# %% [markdown]
# Offsets 10 and 11 are not part of the matrix. A kernel that uses the tile has to compare each coordinate with the true
# size before it touches memory: that is the predicate of notebook 04.
#
# That was one mode. With two, a tile of 4 indices can start in one column of 10 and end in the next, and no layout
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
# This is the fourth wrong answer, as silent as the others. The cure is to cut each mode on its own, so that only the
# edge tiles extend past the end.
#
# **Keep this:** ⊘ gives (inside the tile, which tile). It rounds the number of tiles up, and you are responsible for
# the edge tiles.
#
# ## Mode by mode: zipped and tiled divide
#
# You cut a matrix along rows and columns. So a **tiler** is a tuple, `(4,4)`, with one tile for each mode, and each
# mode is divided on its own. That gives ((inside, outside) of the rows, (inside, outside) of the columns).
#
# A thread block needs another grouping: its tile in one mode, the grid of tiles in the other. **Zipped divide** groups
# the insides in one mode and the outsides in the other. (With a tiler on its right, ⊘ is zipped divide here, also in
# the pictures. M/a and N/b are rounded up.)
#
# > (M,N) ⊘ (a,b) = ((a,b), (M/a,N/b))
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
# All three have the same four modes, grouped differently. **Tiled divide** keeps the tile in one mode and leaves the
# grid's modes separate, so that a kernel can write `tiled(tile, x, y)`; `flat_divide` removes the tile's brackets, too.
# Zipped, tiled and flat divide give the same function of the index, because their modes are in the same order, the
# tile's first. Logical divide does not: its index 4 is already row 4, in the next tile, at offset 4·8 = 32.
#
# In the next picture the last tiles extend past the end. Click a cell on either side to find it on the other; try a
# hatched one, too.

# %%
explore_divide("(10,8):(8,1)", "(4,4)")

# %% [markdown]
# There is a trap. To CuTe, a plain number n as a tile means n:1. To `tl` it means the same on a flat mode, but in a
# nested mode it divides only the first part. These three should be equal:

# %%
rows = layout("(4,2):(1,32)")
print("CuTe, by 2:  ", cute("logical_divide", rows, 2))
print("tl, by 2:1:  ", text(tl.logical_divide(rows, Layout(2, 1))))
print("tl, by 2:    ", text(tl.logical_divide(rows, 2)))

# %% [markdown]
# In the last one the second mode does not count tiles: it is still the second mode of the layout. So write
# `Layout(2, 1)`.
#
# **Exercise 02.6** (about 4 lines). Write `zipped_divide(layout, tiler)`, for a tiler with one number for each mode of
# the layout. `tl.logical_divide(mode(layout, 0), Layout(4, 1))` divides mode 0.


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
# Now put it to use. 4×2 thread blocks share the 16×8 matrix, each with a 4×4 tile. A block needs two things: the offset
# at which its tile begins, and the layout inside. The first differs from block to block, the second does not. Many CuTe
# kernels begin with this step: `gA = local_tile(mA, tile, block)`.
#
# **Exercise 02.7** (about 2 lines). Write `block_tile(layout, tile, block)`: the pair (offset, Layout of the tile).
# `tile` is (rows, columns), `block` is (tile row, tile column). It has to work for nested modes, too: mind the trap.


# %%
def block_tile(layout, tile, block):
    ### BEGIN SOLUTION (about 2 lines)
    tiles = tl.zipped_divide(layout, tuple(Layout(extent, 1) for extent in tile))
    return tiles(((0, 0), block)), mode(tiles, 0)
    ### END SOLUTION


# %%
check("02.7", block_tile)

# %% [markdown]
# A tiler may contain layouts. `(4, 2:4)` takes four rows, and two columns that are four apart: the pairs of columns
# from above, this time by division. Which offsets does the first tile contain?

# %%
tiles = tl.zipped_divide(layout("(4,8):(8,1)"), (4, layout("2:4")))
print(text(tiles))
print([tiles(i, 0) for i in range(8)])

# %% [markdown]
# A composition with a tiler also works *mode by mode*: `A ∘ ⟨B, C⟩` composes A's first mode with B and its second with
# C. In contrast, `A ∘ (B, C)`, with one layout of two modes, takes indices of all of A. Which rows and columns does
# this select?

# %%
corners = tl.compose(layout("(16,8):(8,1)"), (layout("4:2"), layout("2:4")))
print(text(corners), [corners(0, column) for column in range(2)], [corners(row, 0) for row in range(4)])

# %% [markdown]
# Rows 0, 2, 4, 6 of columns 0 and 4. This is the first mode of a zipped divide by the same tiler, tile 0. The
# composition picks one tile; the division lists them all.
#
# **Keep this:** zipped divide gives ((tile), (grid)). Index the second mode with your block, and you have your tile.
#
# ## Logical product: repeat a block
#
# Division takes a large layout apart; the product builds one from copies of a small one, the block, arranged as a grid.
# The complement gives the offsets at which copies can begin, and the grid gives their order:
#
# > A ⊗ B = (A, A\* ∘ B), so (A ⊗ B)(i, j) = A(i) + A\*(B(j)): element i of copy j
#
# where A\* is the complement of A in size(A)·cosize(B), which has room for all copies.

# %%
show_product("(2,2):(4,1)", "(2,3):(1,2)")

# %% [markdown]
# This block has holes, and copies fill them first: the second copy begins at 2, between elements of the first. A
# tempting shortcut multiplies the grid's strides by the size of the block. When is that right? Predict both lines:

# %%
for block in (layout("4:1"), layout("4:2")):
    shortcut = Layout(block, Layout(4, 1 * size(block)))
    print(text(block), " product:", text(tl.logical_product(block, layout("4:1"))), " shortcut:", text(shortcut))

# %% [markdown]
# With `4:2` the shortcut puts its second copy at 4, on top of the block's third element. It is right only for a block
# without holes.
#
# **Exercise 02.8** (about 2 lines). Write `logical_product(block, grid)` for two Layouts.


# %%
def logical_product(block, grid):
    ### BEGIN SOLUTION (about 2 lines)
    places = tl.complement(block, size(block) * cosize(grid))
    return Layout(block, tl.compose(places, grid))
    ### END SOLUTION


# %%
check("02.8", logical_product)

# %% [markdown]
# The product inherits the limits of complement and composition. Three copies of 4:2 would have to begin at 0, 1 and 8,
# the first three of the starts `(2,2):(1,8)`, and these do not form a layout:

# %%
print(cute("logical_product", layout("4:2"), layout("3:1")))

# %% [markdown]
# **Keep this:** thread layouts are products, such as a warp, 32 threads that run together, arranged as 8×4 and repeated
# 2×2 times. Divide the data, multiply the threads, and compose the two.
#
# ## Blocked and raked: a product you can index by row and column
#
# ⊗ gives (inside the block, which copy). To use the result as a matrix you need (row, column). If block and grid are
# both matrices, pair their modes: rows with rows, columns with columns. There are two orders. A **blocked product**
# runs inside the block first, so each block stays in one piece. A **raked product** runs over the copies first, so the
# blocks are interleaved like the teeth of rakes. Where are the numbers 0 to 3, the first block, in each?

# %%
block, grid = layout("(2,2):(1,2)"), layout("(2,3):(3,1)")
blocked, raked = tl.blocked_product(block, grid), tl.raked_product(block, grid)
show_layouts({"blocked": blocked, "raked": raked})

# %% [markdown]
# > blocked((i, p), (j, q)) = (A ⊗ B)((i, j), (p, q)), and raked((p, i), (q, j)) is the same
#
# **Exercise 02.9** (about 4 lines). Write `blocked_product(block, grid)` for two matrices. `tl.logical_product` already
# has all modes, in other brackets: `mode(mode(product, 0), 1)`, for example, is the block's columns.


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
# **Keep this:** a blocked product keeps each block together, a raked one interleaves them. With the threads as the
# block and the values as the grid, a raked product puts the values of one thread side by side.
#
# ## Inverses: from the offset to the index
#
# A layout maps an index to an offset. Sometimes you need the inverse: which index is at offset 5? For a compact layout
# the inverse is again a layout. In general the **right inverse** covers the offsets from 0 up to the first gap:
#
# > L(R(k)) = k for every k below size(R), and R is as long as it can be

# %%
L = layout("(4,8):(8,1)")
R = tl.right_inverse(L)
print(text(R), [R(k) for k in range(10)], [L(R(k)) for k in range(10)])

# %% [markdown]
# Offsets 0 to 7 are the columns of row 0, whose indices are 4 apart: 8:4. The next row is one index further: 4:1. If
# the rows are padded to 16, no index is at offset 8, so R ends there. For the **left inverse** R(L(i)) = i for every
# index i; its value at an unused offset has no meaning:

# %%
padded = layout("(4,8):(16,1)")
print("right:", text(tl.right_inverse(padded)), "  left:", text(tl.left_inverse(padded)))

# %% [markdown]
# **Exercise 02.10** (about 9 lines). Write `right_inverse(layout)`, for layouts that map no two indices to one offset.
# List the flat modes, each with its distance *in indices*, the product of the extents before it. Sort them by stride,
# and keep them as long as they fill memory without a gap: the first has stride 1, and each further one the stride
# extent · stride of the one before. A kept mode contributes extent : distance. Skip modes of extent 1. If no mode is
# kept, return `Layout(1, 0)`.


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
# A thread moves up to 16 bytes with one instruction (32 from sm_100 on) if the elements are contiguous in *both* the
# source A and the destination B, in the same order. So walk through A's memory in order and find the same elements in
# B: B ∘ R, where R is the right inverse of A, maps A's offsets to B's. As long as it counts 0, 1, 2, …, they agree.

# %%
column_major, row_major, row_padded = layout("(4,8):(1,4)"), layout("(4,8):(8,1)"), layout("(4,8):(16,1)")
for name, b in {"itself": row_major, "padded rows": row_padded, "columns": column_major}.items():
    steps = tl.compose(b, tl.right_inverse(row_major))
    together = tl.max_common_vector(row_major, b)
    print(f"rows to {name:12} {text(tl.coalesce(steps)):15} {together:3} contiguous in both")

# %% [markdown]
# After coalescing, a first mode `n:1` means that n elements stay together; with any other first mode not even two do.
# From rows to padded rows, a copy can be as wide as a row. From rows to columns it moves one element at a time,
# whatever the tile: that is half the trouble with a transpose. The other half is that the addresses of neighboring
# threads are a whole row apart, in the source or in the destination.
#
# **Exercise 02.11** (about 4 lines). Write `common_vector(a, b)`: the number of elements, from offset 0 on, that are
# contiguous and in the same order in both. CuTe calls it `max_common_vector`.


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
# That is an upper limit. A kernel takes the least of three widths: this number, the widest instruction, and what the
# *alignment* allows. An access of 16 bytes needs an address that is a multiple of 16. So the pointer must be a multiple
# of 16 bytes, and so must every stride outside the vector. With rows of 65 values of bf16, row 1 begins at byte 130.
# (`n & -n` is the largest power of two that divides n.)

# %%
for stride in (64, 65, 66, 68, 72):
    row_bytes = 2 * stride
    print(f"rows of {stride} bf16: {min(16, row_bytes & -row_bytes):2} bytes at once")

# %% [markdown]
# ## Thread-value layouts: which thread copies which element
#
# The last step distributes a tile over threads. Two small matrices describe it: `threads` arranges the threads,
# `values` the elements of each thread. Here 8×4 threads, numbered by rows, take four neighbors of a row each:

# %%
threads, values = layout("(8,4):(4,1)"), layout("(1,4):(4,1)")
print(text(tl.raked_product(threads, values)))

# %% [markdown]
# That is their raked product: it maps a (row, column) of the tile to the number thread + 32 · value. A kernel needs the
# inverse: given a thread t, which element is its value v? Take the right inverse and split its index k = t + 32 · v
# into (t, v): the result is a **thread-value layout**, TV for short. CuTe's `make_layout_tv` builds it:
#
# > TV(t, v) = the index in the tile, first mode fastest, at which the raked product has t + size(threads) · v
#
# **Exercise 02.12** (about 2 lines). Write `layout_tv(threads, values)` for two matrices that are compact: their cells
# have the numbers from 0 on, without a gap. (The next picture draws the course's own answer: T is the thread, V the
# number of its value; the colors repeat after eight threads.)


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
# A CuTe `TiledCopy` combines a copy instruction of some width with a TV layout that assigns elements to threads. Change
# the threads to `(8,4):(1,8)` and see which of them then read row 0: 0, 8, 16 and 24.

# %%
explore_tv("(8,4):(4,1)", "(1,4):(4,1)", "(8,16)")

# %% [markdown]
# ## Thread 17 of block 2
#
# Now the question from the top of the page. The matrix is 16×32, stored by rows. Each of four blocks has a tile of 8×16
# and those 32 threads. Which elements does thread 17 of block 2 load? Say it before you run it: where in the grid is
# block 2, and where in the tile is thread 17?

# %%
A = layout("(16,32):(32,1)")
tiles = tl.zipped_divide(A, (Layout(8, 1), Layout(16, 1)))
mine = tl.compose(mode(tiles, 0), TV)
print("block 2 begins at", tiles((0, 2)))
print("its thread 17 loads", [tiles((0, 2)) + mine(17, v) for v in range(4)])

# %% [markdown]
# Block 2 is (0, 1), first mode fastest, so its tile begins at column 16. Thread 17 is in row 4 of the tile, and its
# four values begin at column 4. So its first element is (4, 20), at 4·32 + 20 = 148. You wrote none of these formulas.
# When the rows are padded to 40 elements, only the matrix's layout changes:

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
# | complement(A, n) | A(i) + R(j) is every offset below n, once | the starts of the tiles |
# | A ⊘ B | R(i, j) = A(B(i) + B\*(j)) | tiles for blocks, fragments for threads |
# | zipped, tiled | (M,N) becomes ((a,b),(M/a,N/b)) or ((a,b),M/a,N/b) | `local_tile` |
# | A ⊗ B | R(i, j) = A(i) + A\*(B(j)) | warps out of threads, tiles out of atoms |
# | blocked, raked | the same, by row and column | a block in one piece, or interleaved |
# | right inverse | A(R(k)) = k | the index at an offset |
# | layout_tv(T, V) | right inverse of the raked product | a `TiledCopy`'s threads and values |
#
# - Each law is a test that you can run. Four times on this page the answer of CuTe (nvidia-cutlass-dsl 4.8.1) broke
#   one. When a kernel reads wrong elements, write down the law of the line that you doubt, and test it.
# - None of the four can happen if extents and strides are powers of two and offsets don't repeat.
# - A copy is as wide as both layouts, the alignment, and the widest instruction allow.
#
# ## Test yourself
#
# <details><summary>1. What is (4,8):(8,1) ∘ 8:4, and in which order does it read the matrix?</summary>
#
# 8:1. B takes every fourth index, which is row 0 of each column in turn. So it reads the first row from left to right.
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

# ---
# jupyter:
#   tutorlib:
#     minutes: 75
#     summary: Compose, divide, repeat, invert. You write the operators that cut a matrix for blocks and threads.
# ---

# %% [markdown]
# # 03 · An algebra of layouts
#
# Four thread blocks share a row-major matrix. Which elements does thread 17 of block 1 load? You can derive a formula
# full of `//` and `%`. Then the rows are padded, or the tile size changes, and you derive it again.
#
# Notebook 02 had a better way: `cute.local_tile` computes a tile from the layout of the whole. It is built from
# operators on layouts: compose, divide, repeat, invert. Each obeys a law of one line.
#
# > **After this page you can** cut a matrix into tiles, arrange threads over a tile, predict the results of CuTe's
# > operators, and test whether they are right.
# >
# > **It takes** about 75 minutes, without a GPU. Kernels need zipped divide, thread-value layouts and 03.4 most.

# %%
import tensor_layouts as tl
from tensor_layouts import Layout, flatten, mode, rank, size

from tutorlib import (
    ask, check, explore_compose, explore_divide, layout, show_complement, show_divide, show_layouts, show_picked,
    show_tv, text, tiled_copy_view,
)  # fmt: skip

# %% [markdown]
# `tl` is `tensor_layouts`, which has all operators in Python.
#
# ## Composition: read a matrix in another order
#
# Layouts compose as functions do: B first, then A. B's offsets are A's indices.
#
# > (A ∘ B)(i) = A(B(i)) for every i, and a coordinate of B can be used on A ∘ B as well
#
# A is a matrix in memory. B picks elements of it, by index, in its own order. Here A is a row-major 4×8, and B takes
# every second index, which is rows 0 and 2 of each column in turn. B(0, 1) is 8. Counted down the columns, index 8 of A
# is its cell (0, 2), at offset 2. Click a cell of a∘b to see where it comes from.

# %%
explore_compose("(4,8):(8,1)", "(4,4):(2,8)")

# %% [markdown]
# **Exercise 03.1** (about 1 line). A transpose is a composition, too. Write `transposing(rows, columns)`. It returns
# one B for all layouts L of `rows` rows and `columns` columns, whatever their strides, so that L ∘ B is L transposed:
# (L ∘ B)(j, i) = L(i, j).


# %%
def transposing(rows, columns):
    ### BEGIN SOLUTION (about 1 line)
    return Layout((columns, rows), (rows, 1))
    ### END SOLUTION


# %%
check("03.1", transposing)

# %% [markdown]
# ## How a composition is computed
#
# If B has several modes, each is composed on its own: A ∘ (B₀, B₁) = (A ∘ B₀, A ∘ B₁). So the work is in one mode of B:
# n elements, a fixed number of indices apart. They are distributed over the modes of A, from the first to the last.
# Here are four such B in a 4×8 matrix A. Elements are numbered in B's order, and each column has a color:

# %%
show_picked("(4,8):(8,1)", ["2:1", "4:8", "8:2", "5:3"])

# %% [markdown]
# Let A be (4,8):(8,1), by rows. 2:1 ends inside the first column and gives 2:8. 4:8 steps over whole columns, two at a
# time, and gives 4:2. 8:2 runs through several columns. `left` elements are still to be placed; they are `step` apart,
# in units of this mode:
#
# | mode of A | left | step | |
# |---|---|---|---|
# | 4:8 | 8 | 2 | a column has room for two, rows 0 and 2: append 2:16 |
# | 8:1 | 4 | 1 | they fill four neighboring columns: append 4:1 |
#
# So the result is (2,4):(16,1). 5:3 has no result: rows 0 and 3 are 24 apart, and the next element is back in row 2.
#
# First the given code **coalesces** A: it rewrites A with as few modes as possible, as the same function of the index.
# Neighbors s:d and t:e become one mode if e = s·d, as (4,8):(1,4) becomes 32:1; modes of extent 1 are dropped.
#
# **Exercise 03.2** (about 9 lines). Complete `compose(a, b)`. For each mode of A but the last, do one of three things:
#
# - set `take`, the number of elements that this mode takes;
# - change `step` and go on to the next mode;
# - raise `ValueError`, where no layout obeys the law for this mode of B.
#
# The last mode of A, not in the loop, takes all that is left, even past A's end. Where neither of `step` and `extent`
# divides the other, and the elements do not all fit in the column, you may always raise, even if a layout exists: 2:6
# has 2:17.


# %%
def compose(a, b):
    if isinstance(b.shape, tuple):
        return Layout(*(compose(a, mode(b, n)) for n in range(rank(b))))
    left, step = b.shape, b.stride
    if left == 1 or step == 0:
        return Layout(left, 0)
    a = tl.coalesce(a)
    extents, strides = flatten(a.shape), flatten(a.stride)
    taken = []  # modes (extent, stride) of the result
    for extent, stride in zip(extents[:-1], strides[:-1], strict=True):
        ### BEGIN SOLUTION (about 9 lines)
        if step % extent == 0:  # over the whole mode
            step //= extent
            continue
        if (left - 1) * step < extent:  # all that is left is here
            take = left
        elif extent % step == 0 and left % (extent // step) == 0:
            take = extent // step
        else:
            raise ValueError(f"{left}:{step} does not go evenly into {extent}:{stride}")
        ### END SOLUTION
        taken.append((take, step * stride))
        left, step = left // take, 1  # the next element is the next one of the next mode
        if left == 1:
            break
    if left > 1:
        taken.append((left, step * strides[-1]))
    results = [Layout(extent, stride) for extent, stride in taken]
    return results[0] if len(results) == 1 else Layout(*results)


# %%
check("03.2", compose)

# %% [markdown]
# ## Logical divide: cut into tiles
#
# A tile is a layout, too: `4:2` is four elements, two apart. To cut 24 elements into such tiles, you need to know where
# the other tiles begin. The second begins at 1, in the gaps of the first; then 8, 9, 16, 17. With 0 these six starts
# are a layout, the **complement** of 4:2 in 24. **Predict** its two modes:

# %%
show_complement("4:2", 24)

# %% [markdown]
# > Every offset below the bound is L(i) + L\*(j) in exactly one way, and the offsets of the complement L\* ascend.
#
# In (2,3):(1,8), 2:1 fills the gap between the tile's elements; 3:8 repeats the filled block of eight. (2,2):(1,3) has
# no complement: its elements are 0, 1, 3, 4, and a copy that begins at 2 collides at 3.
#
# **Logical divide**, A ⊘ B, cuts A into tiles. Tile 0 is B, a list of indices of A. The complement B\* lists the
# indices at which the tiles begin:
#
# > (A ⊘ B)(i, j) = A(B(i) + B\*(j)): element i of tile j
#
# The result has two modes, (inside the tile, which tile). Strided tiles occur where neighboring threads take
# neighboring elements: each thread's own are a stride apart. **Predict:** which four cells of a row-major 4×6 are tile
# 0 of 4:2?

# %%
show_divide("(4,6):(6,1)", "4:2")

# %% [markdown]
# Indices run down the columns, so tile 0 has rows 0 and 2 of two columns.
#
# The complement's bound is the *size* of A, since B lists indices. If the tile does not divide A, the number of tiles
# is rounded up: 10:1 ⊘ 4:1 has three, and the third reaches past the end, so a kernel needs a predicate.
#
# ## Zipped divide: a tile for each block
#
# A **tiler** such as `(4,3)` has one tile for each mode. **Zipped divide** cuts each mode on its own, then groups the
# insides in one mode and the outsides in the other. (The pictures write ⊘ for it, too.)
#
# > Z((i₀, i₁), (j₀, j₁)) = A(i₀ + a·j₀, i₁ + b·j₁) for the tiler (a,b)
#
# A thread block indexes the second mode, the grid of tiles, and keeps the first, the tile.

# %%
explore_divide("(10,8):(8,1)", "(4,4)")

# %% [markdown]
# The cells of an edge tile that are outside the matrix are hatched.
#
# Most CuTe kernels begin with `gA = cute.local_tile(mA, tile, block)`. It returns the block's tile as a tensor:
# the offset at which the tile begins, and the layout inside, the same for all tiles.
#
# ## When CuTe is wrong
#
# Each law is a test that you can run. CuTe (nvidia-cutlass-dsl 4.8.1) sometimes breaks one without an error. Here `ask`
# puts a question to it:

# %%
A, B = layout("(6,3):(8,2)"), layout("4:4")
[R] = ask([("composition", A, B)])
print("CuTe:   ", text(R), [R(i) for i in range(4)])
print("A(B(i)):", [A(B(i)) for i in range(4)])
try:
    print("yours:  ", compose(A, B))
except (ValueError, NotImplementedError) as error:
    print("yours:  ", error)

# %% [markdown]
# No layout is right here: 4 does not divide 6, and CuTe rounds the quotient up, to two elements in a column. So test
# the law before you rely on a result: `all(R(i) == A(B(i)) for i in range(size(B)))`.
#
# ## Products: repeat a pattern
#
# A product builds a layout from copies. Say four threads share a 2×8 tile, four elements each. `threads`, (2,2):(2,1),
# is a 2×2 pattern with one element for each thread. Four copies of it cover the tile. Copy v, counted by `values`, adds
# 4·v, so each place has the number thread + 4 · value.
#
# A **blocked product** keeps each copy in one piece. A **raked product** interleaves the copies. The numbers of thread
# 0 are outlined. Which product gives a thread four neighbors, which it can load at once?

# %%
threads, values = layout("(2,2):(2,1)"), layout("(1,4):(4,1)")
products = {"blocked": tl.blocked_product(threads, values), "raked": tl.raked_product(threads, values)}
show_layouts(products, outlined=range(0, 16, 4))

# %% [markdown]
# The raked one, so it is the one for threads.
#
# ## Inverses: from the offset to the index
#
# Which index is at offset 5? For a compact layout the inverse is again a layout. If no offset repeats, the **right
# inverse** covers the offsets from 0 up to the first gap:
#
# > L(R(k)) = k for every k below size(R), which is the first gap

# %%
L = layout("(4,8):(8,1)")
R = tl.right_inverse(L)
print(text(R), [R(k) for k in range(10)], [L(R(k)) for k in range(10)])

# %% [markdown]
# Offsets 0 to 7 are the columns of row 0, whose indices are 4 apart: 8:4. The next row is one index further: 4:1.
#
# ## Thread-value layouts: which thread copies which element
#
# The last step distributes a tile over threads. Here 8×4 threads, numbered by rows, take four neighbors of a row each.
# Their raked product maps (row, column) to the number thread + 32 · value:

# %%
threads, values = layout("(8,4):(4,1)"), layout("(1,4):(4,1)")
print(text(tl.raked_product(threads, values)))

# %% [markdown]
# Take row 4, column 6. In the mode `(1,8)` row 4 is (0,4); in `(4,4)` column 6 is (2,1). So the number is
# 4·4 + 2·32 + 1·1 = 81, which is 17 + 32·2: value 2 of thread 17.
#
# A kernel asks the other way round: which element is value v of thread t? The answer is a **thread-value layout**, TV
# for short:
#
# > TV(t, v) = the index in the tile at which the raked product has t + size(threads) · v
#
# `tiled_copy_view` of tutorlib computes it:

# %%
TV = tiled_copy_view(threads, values, (8, 16)).layout
show_tv(TV, (8, 16), title=f"{text(TV)}: who holds what of an 8×16 tile")

# %% [markdown]
# **Exercise 03.3** (about 2 lines). Write `layout_tv(threads, values)`, the TV of two compact layouts: the offsets of
# each are 0, 1, 2, …


# %%
def layout_tv(threads, values):
    ### BEGIN SOLUTION (about 2 lines)
    inverse = tl.right_inverse(tl.raked_product(threads, values))
    return tl.compose(inverse, Layout((size(threads), size(values))))
    ### END SOLUTION


# %%
check("03.3", layout_tv)

# %% [markdown]
# CuTe calls it `make_layout_tv`; notebook 05 combines it with a copy instruction to a `TiledCopy`.
#
# ## Thread 17 of block 1
#
# The matrix is 16×32, stored by rows. Each of four blocks has a tile of 8×16 and the 32 threads of the picture. Block 1
# has tile (0, 1), which begins at column 16. **Predict** with the picture: at which offsets are the four elements of
# thread 17?
#
# `thread_tile` composes the tile's layout with TV. The element of (thread, value) is at offset + share(thread, value).


# %%
def thread_tile(matrix, tile, block, threads, values):
    """(offset, share) of a block's tile in a matrix. tile: (rows, columns); block: (tile row, tile column)."""
    tiles = tl.zipped_divide(matrix, tile)
    share = tl.compose(mode(tiles, 0), tiled_copy_view(threads, values, tile).layout)
    return tiles(((0, 0), block)), share


# %%
begin, share = thread_tile(layout("(16,32):(32,1)"), (8, 16), (0, 1), threads, values)
print([begin + share(17, value) for value in range(4)])

# %% [markdown]
# In the picture, thread 17 is in row 4 and begins at column 4, so its first element is (4, 20), at 4·32 + 20 = 148. If
# the rows are padded to 40 elements, only `matrix` changes.
#
# **Exercise 03.4** (about 6 lines). The tiles of a real matrix need not divide it. Write `loads(matrix, tile, block,
# threads, values, thread)`: the offsets in memory of the elements that this thread loads, as a list in the order of its
# values. It loads none outside the matrix. The threads' values cover the tile, each element once. `matrix` has two
# modes, each an integer, and any strides.


# %%
def loads(matrix, tile, block, threads, values, thread):
    ### BEGIN SOLUTION (about 6 lines)
    offset, share = thread_tile(matrix, tile, block, threads, values)
    rows_at, rows = thread_tile(Layout(matrix.shape, (1, 0)), tile, block, threads, values)
    columns_at, columns = thread_tile(Layout(matrix.shape, (0, 1)), tile, block, threads, values)
    places = [(rows_at + rows(thread, value), columns_at + columns(thread, value)) for value in range(size(values))]
    inside = [row < size(mode(matrix, 0)) and column < size(mode(matrix, 1)) for row, column in places]
    return [offset + share(thread, value) for value in range(size(values)) if inside[value]]
    ### END SOLUTION


# %%
check("03.4", loads)

# %% [markdown]
# In CuTe a kernel cuts the tensor of coordinates as it cuts the data, and compares the coordinates with the shape.
#
# ## What to remember
#
# | operator | law | in a kernel |
# |---|---|---|
# | A ∘ B | (A ∘ B)(i) = A(B(i)) | read A in another order; memory ∘ TV |
# | complement L\* | L(i) + L\*(j): every offset once | where tiles begin |
# | A ⊘ B | (A ⊘ B)(i, j) = A(B(i) + B\*(j)) | tiles for blocks |
# | zipped divide | Z(inside, outside) = A(inside + tile · outside) | `local_tile` |
# | raked product | thread + size(threads) · value at each place | threads and their values over a tile |
# | right inverse | L(R(k)) = k | from a picture of threads to their elements |
#
# - Whether an element exists is a question of its coordinates, not of its offset.
#
# Next: [04](04_swizzles.ipynb), how a tile lies in shared memory.
#
# ## Test yourself
#
# <details><summary>1. What is (4,8):(8,1) ∘ 8:4, and in which order does it read the matrix?</summary>
#
# 8:1. B takes every fourth index, which is row 0 of each column in turn. So it reads the first row from left to right.
#
# </details>
#
# <details><summary>2. You divide 100 elements by 16:1. How many tiles are there, and which index is element
# (5, 6)?</summary>
#
# Seven. Element 5 of tile 6 is index 101, which the layout does not have; a kernel must not touch it.
#
# </details>
#
# <details><summary>3. 64 threads copy a row-major 8×64 tile of bf16. Which <code>values</code> let each of them use one
# 16-byte load, and which <code>threads</code> put neighboring threads on neighboring 16-byte chunks of a row?</summary>
#
# `values` = (1,8):(8,1): 16 bytes are eight neighbors. A row has eight such chunks, so `threads` = (8,8):(8,1): threads
# 0 to 7 take row 0, 128 bytes in one piece.
#
# </details>

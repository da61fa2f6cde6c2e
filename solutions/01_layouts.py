# ---
# jupyter:
#   tutorlib:
#     minutes: 50
#     summary: A shape and a stride give the address of each element. Shapes nest.
# ---

# %% [markdown]
# # 01 · A layout is a function
#
# Memory is a linear array of addresses. A matrix has rows and columns. Something has to map row 2, column 1 to an
# address. In most programs a formula does this, repeated in many places:
#
#     element = ptr[row * stride + col]
#
# CuTe, the layout library of NVIDIA's CUTLASS, makes the mapping a value that you can name, print, draw and compute
# with: a **layout**. The cells import layouts from
# [tensor_layouts](https://github.com/facebookresearch/tensor-layouts), Meta's version of CuTe's layout algebra in plain
# Python.
#
# > **After this page you can** compute an element's offset, write the layout of a picture or of a description, take a
# > tile out of a tensor, and tell when 32 bits are too few for its offsets.
# >
# > **It takes** about 50 minutes, without a GPU.

# %%
import numpy as np
from tensor_layouts import Layout, Tensor, size

from tutorlib import check, explore_layout, layout, show_layout, show_layouts, show_memory, show_pictures, text

# %% [markdown]
# ## shape : stride
#
# A layout is a pair, written `shape:stride`. The shape says which coordinates there are; the stride says how many
# elements you move in memory when a coordinate goes up by one. `(4,3):(3,1)` is a matrix of 4 rows and 3 columns: the
# next row is 3 elements away, the next column is 1.
#
# Each cell of the picture is a coordinate, and the number in it is its **offset** in memory.

# %%
show_layout("(4,3):(3,1)")

# %% [markdown]
# `layout(text)` makes a `Layout` of this notation, and you call a Layout like a function. What is the offset of row 2,
# column 1?

# %%
L = layout("(4,3):(3,1)")
print(L(2, 1), "=", 2 * 3 + 1 * 1)

# %% [markdown]
# This sum of products, coordinate times stride, is all that a layout computes. One entry of a shape, with its stride,
# is called a **mode**. A matrix has two modes.
#
# ## Two orders, and the trap between them
#
# The same 4×3 shape can be stored row after row or column after column. Only the stride differs.

# %%
show_layouts({"row-major": "(4,3):(3,1)", "column-major": "(4,3):(1,4)"})

# %% [markdown]
# NumPy and PyTorch default to row-major; CuTe defaults to column-major, like Fortran and cuBLAS. Both are **compact**:
# the 12 elements fill 12 consecutive addresses. So a mix-up does not crash: you read the wrong elements. Below, `a` is
# stored by rows, and CuTe's default layout of the shape reads it.

# %%
a = np.arange(12).reshape(4, 3)
memory = a.ravel()
wrong = Layout((4, 3))
print(a, "\n\nread by", text(wrong))
print(np.array([[memory[wrong(row, col)] for col in range(3)] for row in range(4)]))

# %% [markdown]
# **Exercise 01.1** (about 6 lines). Write `compact_strides(shape, order)`: the strides of a compact array, as a tuple.
# `order` is `"row"` (last mode contiguous) or `"column"` (first mode contiguous); the shape may have any number of
# modes. The strides count elements. The check compares them with those of an array that NumPy allocates.


# %%
def compact_strides(shape, order):
    ### BEGIN SOLUTION (about 6 lines)
    fastest_first = shape if order == "column" else shape[::-1]
    strides, step = [], 1
    for extent in fastest_first:
        strides.append(step)
        step *= extent
    return tuple(strides if order == "column" else strides[::-1])
    ### END SOLUTION


# %%
check("01.1", compact_strides)

# %% [markdown]
# ## One number for a coordinate
#
# A thread often has one linear index, not a row and a column. So a layout also takes a plain **index** and first
# converts it into a coordinate. In CuTe the **first mode varies fastest**, whatever the strides are: index 1 is row 1,
# column 0. So the coordinate of an index depends on the shape alone. **Predict** the offsets of the indices 0, 1, 2, …

# %%
L = layout("(4,3):(3,1)")
print([L(index) for index in range(size(L))])

# %% [markdown]
# They go up by 3, from row to row; NumPy's `ravel` would have walked along the row. On a GPU the order matters: if 32
# neighboring threads walk down a row-major matrix like this, its copy takes 4.6 times as long on an H200 (measured in
# notebook 02).

# %% [markdown]
# ## Views: the same memory under another layout
#
# In NumPy a transpose moves no data. Neither does a slice with steps, nor a row broadcast to many rows. NumPy shows you
# the layout of each, but its strides count *bytes*; a layout's count elements.

# %%
a = np.arange(24, dtype=np.float32).reshape(4, 6)
views = {"a": a, "a.T": a.T, "a[::2, 1:]": a[::2, 1:], "a[::-1]": a[::-1], "broadcast": np.broadcast_to(a[0], (4, 6))}
for name, view in views.items():
    print(f"{name:11}", text(Layout(view.shape, tuple(step // view.itemsize for step in view.strides))))

# %% [markdown]
# A stride can be 0: every row of the last view *is* the first row. It can also be negative: `a[::-1]` begins at the
# last row of `a`, and its other rows have lower addresses.
#
# ## A mode can be a layout
#
# Suppose a 4×8 matrix is stored as four 2×4 tiles, each contiguous and column-major, the tiles themselves in row-major
# order. No pair of strides describes that: from row 0 to row 1 the offset grows by 1, from row 1 to row 2 by 15.
#
# So let a mode be a layout of its own. The rows become `(2,2)`: two rows in a tile, two tiles; the columns become
# `(4,2)`:
#
# > ((2,2),(4,2)) : ((1,16),(2,8))
#
# Thick lines in the picture are the borders of the inner modes. You can still ask for row 3, column 5: each is an index
# into its mode. In the mode `(2,2)`, whose first number varies fastest, index 3 is (1, 1); in `(4,2)`, index 5 is
# (1, 1), too. What is the offset? Click the cell to check your answer.

# %%
explore_layout("((2,2),(4,2)):((1,16),(2,8))")

# %% [markdown]
# It is 1·1 + 1·16 + 1·2 + 1·8 = 27.
#
# **Exercise 01.2** (about 7 lines). Write `offset_at(index, shape, stride)`: the offset of a plain index in a layout
# whose modes may be nested to any depth. `shape` and `stride` are both integers, or tuples of the same nesting;
# `size(shape)` is the number of coordinates of a shape. Don't call a Layout. Begin with a flat shape: which coordinate
# has index 5 in `(4, 3)`?


# %%
def offset_at(index, shape, stride):
    ### BEGIN SOLUTION (about 7 lines)
    if isinstance(shape, int):
        return index * stride
    total = 0
    for part, step in zip(shape, stride, strict=True):
        total += offset_at(index % size(part), part, step)
        index //= size(part)
    return total
    ### END SOLUTION


# %%
check("01.2", offset_at)

# %% [markdown]
# CuTe's `crd2idx` does this, and takes a coordinate, too. More terms:
#
# - **extent**: the size of a mode. **rank**: the number of modes at the top level; (4,(2,3)) has rank 2.
# - **congruent**: nested alike, bracket for bracket. A shape and its stride always are.
# - **compatible**: (4,8) is compatible with ((2,2),(4,2)), which only splits its modes. So a coordinate (3, 5) is valid
#   for both. The reverse is not true: ((1,1),(1,1)) is no coordinate of (4,8).

# %% [markdown]
# ## From a picture to its layout
#
# A paper or the PTX manual often gives you the picture, and you need the layout. Picture C below is one. A warp, 32
# threads, loads an 8×8 matrix by one instruction, `ldmatrix` (notebook 10), and each cell has the number of the
# *thread* that receives the element: a layout can lead to threads as well as to memory.

# %%
show_pictures()

# %% [markdown]
# **Exercise 01.3** (about 5 lines). Write `picture(name)`, which returns the `Layout` that draws picture `"A"`, `"B"`
# or `"C"`. Any layout that puts the same number into every cell is right.


# %%
def picture(name):
    ### BEGIN SOLUTION (about 5 lines)
    return {
        "A": layout("(4,6):(8,1)"),
        "B": layout("(4,(2,3)):(2,(1,8))"),
        "C": layout("(8,(2,4)):(4,(0,1))"),
    }[name]
    ### END SOLUTION


# %%
check("01.3", picture)

# %% [markdown]
# ## From a description to its layout
#
# More often you have only words.
#
# **Exercise 01.4** (about 6 lines). Write `described(what, m, n)`, the `Layout` of each of these. The first two are
# views of a row-major M×N matrix.
#
# - `"diagonal"` (M ≤ N): element i is the matrix's (i, i).
# - `"windows"`, three modes: element (i, j, k) is the matrix's (i, j + k). Each row has N - 3 windows of four
#   neighbors; j chooses the window, k the neighbor.
# - `"tiles"`: the M×N matrix itself, but stored in contiguous tiles of 2×4, each row-major, the tiles in column-major
#   order. (2 divides M, and 4 divides N.)


# %%
def described(what, m, n):
    ### BEGIN SOLUTION (about 6 lines)
    if what == "diagonal":
        return Layout(m, n + 1)
    if what == "windows":
        return Layout((m, n - 3, 4), (n, 1, 1))
    return Layout(((2, m // 2), (4, n // 4)), ((4, 8), (1, 4 * m)))
    ### END SOLUTION


# %%
check("01.4", described)

# %% [markdown]
# ## A tensor is a pointer and a layout
#
# A layout gives the distance of an element from the first one. Add the address of the first, and you have a **tensor**:
# a pointer and a layout. In the next cell the memory is a list, and the pointer an offset into it.
#
# Fix one coordinate and leave the other free, and you have a **slice**: again a tensor, over the same memory. CuTe
# writes a free coordinate as `_` in C++ and as `None` in Python. (NumPy writes `:`; there, `None` would add an axis.)
# The fixed coordinates move the pointer, and the free modes remain. So row 2 is `5:1`, starting at offset 10.
# **Predict** column 1.

# %%
A = Tensor(layout("(4,5):(5,1)"), data=[f"m{place}" for place in range(20)])
row, column = A[2, None], A[None, 1]
print("row 2:   ", text(row.layout), "from", row.offset, [row[n] for n in range(5)])
print("column 1:", text(column.layout), "from", column.offset, [column[m] for m in range(4)])

# %% [markdown]
# This is how a thread block gets its tile. In a kernel, `cute.zipped_divide(mA, (4, 4))` gives the matrix `mA` two
# modes, (inside the tile, which tile), and a block fixes the second. Below is a row-major 16×8 matrix in 4×4 tiles.
# **Predict:** where does tile 5 begin, and what is its layout?

# %%
tiles = Tensor(layout("((4,4),(4,2)):((8,1),(32,4))"), data=range(128))
tile = tiles[None, 5]
print(text(tile.layout), "from", tile.offset)

# %% [markdown]
# Index 5 of `(4,2)` is tile (1, 1), which begins at 1·32 + 1·4 = 36: row 4, column 4. Inside, a row is 8 apart, as in
# the matrix. So each block has a pointer of its own, and all have one layout.

# %% [markdown]
# ## How far do the offsets reach?
#
# The **size** of a layout is the number of its coordinates. Its **cosize** is the memory that it spans, from its
# smallest offset to its largest; allocate that much for a tile. Padding makes the cosize larger than the size. A stride
# of 0 makes it smaller. Here are a layout's coordinates in the order of memory, unused elements hatched:

# %%
show_memory("(4,3):(5,1)", title="(4,3):(5,1): padding between the rows, cosize 18")

# %% [markdown]
# **Exercise 01.5** (about 4 lines). Write `offset_range(shape, stride)`: the pair (smallest offset, largest offset).
# Shape and stride are flat tuples; a stride may be negative. A shape can be too large to try all its coordinates.


# %%
def offset_range(shape, stride):
    ### BEGIN SOLUTION (about 4 lines)
    ends = [(extent - 1) * step for extent, step in zip(shape, stride, strict=True)]
    smallest = sum(end for end in ends if end < 0)
    largest = sum(end for end in ends if end > 0)
    return smallest, largest
    ### END SOLUTION


# %%
check("01.5", offset_range)

# %% [markdown]
# ### Past 2³¹
#
# A GPU's registers have 32 bits, and 64-bit arithmetic costs extra instructions. A matrix of 70000×70000 has small
# strides, but its largest offset is beyond 2³¹ - 1. Below, CuTe computes that offset on your CPU, twice: with the
# strides (70000, 1) known when it compiles, and with a stride that is a 64-bit number at run time. The coordinates are
# 32-bit numbers, as a thread's number is. (Notebook 02 explains `@cute.jit`.) **Predict** which of the two are right.

# %%
import cutlass
from cutlass import cute


@cute.jit
def last_offset(n: cutlass.Int32, wide: cutlass.Int64):
    static = cute.make_layout((70000, 70000), stride=(70000, 1))
    wide_stride = cute.make_layout((n, n), stride=(wide, 1))
    cute.printf("strides known when it compiles: {}", cute.crd2idx((n - 1, n - 1), static))
    cute.printf("64-bit run-time stride:         {}", cute.crd2idx((n - 1, n - 1), wide_stride))


print("largest offset:", offset_range((70000, 70000), (70000, 1))[1], " 2³¹ - 1:", 2**31 - 1)
last_offset(70000, 70000)

# %% [markdown]
# The first wrapped, to 4899999999 - 2³²: the offset of another element of the matrix, so no bounds check notices it. A
# test of the strides alone, `all(step < 2**31 for step in stride)`, accepts this matrix. Test `offset_range`, and where
# it is too large, make the strides 64-bit run-time values, as notebook 02's `mark_layout_dynamic` does.
#
# ## What to remember
#
# - A layout maps a coordinate to an offset by one sum of products. Changing the layout moves no data.
# - Shapes nest. An index becomes a coordinate with the first mode fastest.
# - The size counts coordinates, the cosize memory.
# - A tensor is a pointer and a layout. A slice moves the pointer and keeps the free modes.
# - Whether 32 bits are enough depends on the extreme offsets, not on the strides.
#
# Next: [02](02_first_kernels.ipynb), where a layout maps threads to elements.
#
# ## Test yourself
#
# <details><summary>1. Which layout has a 128×64 tile stored by rows, each padded to 72? And which, stored by columns,
# each padded to 136?</summary>
#
# `(128,64):(72,1)` and `(128,64):(1,136)`. The padded length is the stride of the *other* mode, the one that steps from
# row to row or from column to column.
#
# </details>
#
# <details><summary>2. Which index is the coordinate (1,(0,2)) in the shape (4,(2,3)), and which offset is it in
# (4,(2,3)):(6,(1,2))?</summary>
#
# The first mode is fastest: 1 + 4·(0 + 2·2) = 17. The offset is 1·6 + 0·1 + 2·2 = 10. The index depends on the shape
# alone, the offset on the strides too.
#
# </details>
#
# <details><summary>3. Every row of a tensor is the same row in memory. What are its size and its cosize, for 32 rows of
# 64?</summary>
#
# `(32,64):(0,1)`: size 2048, cosize 64. A read is a broadcast; a write is a race of 32 rows for the same 64 elements.
#
# </details>

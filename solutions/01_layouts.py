# ---
# jupyter:
#   tutorlib:
#     minutes: 60
#     summary: A shape and a stride give the address of each element. Shapes nest.
# ---

# %% [markdown]
# # 01 · A layout is a function
#
# Memory is a linear array of addresses. A matrix has rows and columns. Something has to map row 2, column 1 to an
# address, and in most programs that something is a formula scattered over many lines:
#
#     element = ptr[row * stride + col]
#
# CuTe, the library under NVIDIA's fastest kernels, makes it a value that you can name, print, draw and compute with:
# a **layout**. On this page you write its handful of functions yourself and see what each is for.
#
# > **After this page you can** compute an element's offset, read a layout from a picture, describe any NumPy view as
# > one, take a row or a tile out of a tensor, and tell when 32 bits are too few.
# >
# > **It takes** about 60 minutes, on any machine.

# %%
import numpy as np
from tensor_layouts import Layout, Tensor, compatible, congruent, cosize, idx2crd, mode, rank, size

from tutorlib import check
from tutorlib.draw import show_layout, show_layouts, show_memory
from tutorlib.layouts.notation import layout

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
# In Python a layout is an object that you call like the function it is. Which number is in row 2, column 1?

# %%
L = layout("(4,3):(3,1)")
print(L(2, 1))

# %% [markdown]
# The rule is one line: multiply each coordinate by the stride of its mode, and add. Here 2·3 + 1·1 = 7. (A **mode** is
# one entry of a shape, with its stride. A matrix has two modes.)
#
# **Exercise 01.1** (about 1 line). Write `offset(coord, stride)` for tuples of any length.


# %%
def offset(coord, stride):
    ### BEGIN SOLUTION (about 1 line)
    return sum(c * d for c, d in zip(coord, stride, strict=True))
    ### END SOLUTION


# %%
check("01.1", offset)

# %% [markdown]
# ## Two orders, and the trap between them
#
# The same 4×3 shape can be stored row after row or column after column. Only the stride differs.

# %%
show_layouts({"row-major": "(4,3):(3,1)", "column-major": "(4,3):(1,4)"})

# %% [markdown]
# NumPy and PyTorch default to row-major; CuTe defaults to column-major, like Fortran and cuBLAS. Both are compact: 12
# elements at 12 addresses. So nothing crashes when you mix them up; you read the right number of wrong elements, and
# adjacent threads may access addresses that are far apart, which costs a large factor of bandwidth. Look at the two
# defaults side by side:

# %%
print("NumPy:", np.empty((4, 3), dtype=np.int8).strides)
print("CuTe: ", Layout((4, 3)).stride)

# %% [markdown]
# Here is what the mix-up looks like. `a` is stored by rows; we read it through the column-major layout.

# %%
a = np.arange(12).reshape(4, 3)
memory = a.ravel()
wrong = Layout((4, 3), (1, 4))
print(a, "\n\nread with the other order:")
print(np.array([[memory[wrong(row, col)] for col in range(3)] for row in range(4)]))

# %% [markdown]
# **Exercise 01.2** (about 6 lines). Write `compact_strides(shape, order)`: the strides of a matrix without gaps, as a
# tuple. `order` is `"row"` (last mode contiguous) or `"column"` (first mode contiguous); the shape may have any
# number of modes. Your answer is compared with what NumPy itself allocates.


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
check("01.2", compact_strides)

# %% [markdown]
# ## One number for a coordinate
#
# A thread is often identified by one linear index, not by a row and a column. So a layout also takes a plain index and
# first turns it into a coordinate. In which order? In CuTe the **first mode varies fastest**, whatever the strides are:
# index 1 is row 1, column 0.

# %%
L = layout("(4,3):(3,1)")
print([L(index) for index in range(size(L))])

# %% [markdown]
# The offsets go up by 3, the distance from row to row of a row-major matrix. NumPy's `ravel` would have walked along
# the row. Neither is wrong; they are two conventions, and this course uses CuTe's.
#
# **Exercise 01.3** (about 5 lines). Write `coordinate(index, shape)`: the tuple of coordinates for an index, first
# mode fastest. For `(4, 3)` index 5 is `(1, 1)`.


# %%
def coordinate(index, shape):
    ### BEGIN SOLUTION (about 5 lines)
    coord = []
    for extent in shape:
        coord.append(index % extent)
        index //= extent
    return tuple(coord)
    ### END SOLUTION


# %%
check("01.3", coordinate)

# %% [markdown]
# ## Views: the same memory under another layout
#
# A transpose moves nothing. Neither does a slice with steps, or a row broadcast to many rows. Each is the same memory
# under another layout, and NumPy will tell you which, with one difference: its strides count *bytes*.

# %%
a = np.arange(24, dtype=np.float32).reshape(4, 6)
for name, view in {"a": a, "a.T": a.T, "a[::2, 1:]": a[::2, 1:], "broadcast": np.broadcast_to(a[0], (4, 6))}.items():
    print(f"{name:11} shape {view.shape}  strides {view.strides} bytes")

# %% [markdown]
# A stride of 0 in the last line: every row *is* the first row.
#
# **Exercise 01.4** (about 2 lines). Write `layout_of(array)`: the `Layout(shape, stride)` of a NumPy array or view, in
# elements. It is checked by its law: element `c` of the view lies `offset(c)` elements after its first one.


# %%
def layout_of(array):
    ### BEGIN SOLUTION (about 2 lines)
    stride = tuple(step // array.itemsize for step in array.strides)
    return Layout(array.shape, stride)
    ### END SOLUTION


# %%
check("01.4", layout_of)

# %% [markdown]
# ## A mode can be a layout
#
# Now the step that makes CuTe more than a stride calculator. Suppose a 4×8 matrix is stored as four 2×4 blocks, each
# contiguous and column-major, the blocks themselves in row-major order. No pair of strides describes that: going down
# the rows you move by 1, then jump to the next block.
#
# So let a mode be a shape of its own. The rows become `(2,2)`: two rows in a block, two blocks; the columns `(4,2)`:
#
# > ((2,2),(4,2)) : ((1,16),(2,8))
#
# The thick lines in the picture are the borders of the inner modes.

# %%
show_layout("((2,2),(4,2)):((1,16),(2,8))")

# %% [markdown]
# You can still ask for row 3, column 5. The 3 is an index into the mode `(2,2)`, and an index becomes a coordinate
# the way you wrote above: first mode fastest, so (1, 1). And 5, in `(4,2)`, is (1, 1) as well. Which offset is that?

# %%
blocked = layout("((2,2),(4,2)):((1,16),(2,8))")
print(blocked(3, 5), blocked((1, 1), (1, 1)))

# %% [markdown]
# **Exercise 01.5** (about 7 lines). Write `offset_at(index, shape, stride)`: the offset of a plain index in a layout
# whose modes may be nested to any depth. `shape` and `stride` are both integers, or tuples of the same nesting.


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
check("01.5", offset_at)

# %% [markdown]
# Play with it before you go on. Type a layout, click a cell, and read how its offset comes about. Try
# `(4,8):(8,1)`, then `(4,8):(1,4)`, then the blocked one, then one with a stride of 0.

# %%
from tutorlib.explorers.layouts import explore_layout

explore_layout("((2,2),(4,2)):((1,16),(2,8))")

# %% [markdown]
# ## Reading a picture backwards
#
# You will often have the picture, from a paper or the PTX manual, and need the layout.

# %%
from tutorlib.draw.unnamed import show_pictures

show_pictures()

# %% [markdown]
# **Exercise 01.6** (about 5 lines). Write `picture(name)`, which returns the `Layout` that draws picture `"A"`, `"B"`
# or `"C"`. Any layout that puts the same number into every cell is right. `layout("(2,2):(1,2)")` reads one from
# text.


# %%
def picture(name):
    ### BEGIN SOLUTION (about 5 lines)
    return {
        "A": layout("(4,6):(8,1)"),
        "B": layout("(4,(2,3)):(2,(1,8))"),
        "C": layout("((2,2),(2,2)):((1,4),(2,8))"),
    }[name]
    ### END SOLUTION


# %%
check("01.6", picture)

# %% [markdown]
# C is the *Morton* or Z order: cells that are close in the matrix mostly stay close in memory. You will meet its cousin
# on page 11, where thread blocks share data in the L2 cache.
#
# ## Size and cosize
#
# The **size** of a layout is the number of its coordinates. Its **cosize** is the memory that it spans: its largest
# offset plus one. Picture A has 24 cells and a cosize above 24, because every row is followed by two elements that it
# never touches. Here is a smaller one, drawn in the order of memory:

# %%
show_memory("(4,3):(5,1)", title="(4,3):(5,1): padding after each row")

# %%
L = layout("(4,3):(5,1)")
print("size", size(L), " cosize", cosize(L))

# %% [markdown]
# Padding makes the cosize larger than the size. A stride of 0 makes it smaller: many coordinates share one offset. When
# you allocate shared memory for a tile, allocate its cosize.
#
# **Exercise 01.7** (about 3 lines). Write `cosize_of(shape, stride)` for strides that are not negative; shapes may be
# nested. `flatten` from `tensor_layouts` turns `(4, (2, 3))` into `(4, 2, 3)`.

# %%
from tensor_layouts import flatten


def cosize_of(shape, stride):
    ### BEGIN SOLUTION (about 3 lines)
    modes = zip(flatten(shape), flatten(stride), strict=True)
    return 1 + sum((extent - 1) * step for extent, step in modes)
    ### END SOLUTION


# %%
check("01.7", cosize_of)

# %% [markdown]
# ## Past 2³¹
#
# Offsets are integers, and on a GPU an integer is 32 bits unless you ask for more: registers are that wide, and
# 64-bit arithmetic costs extra instructions. Take a matrix of 70000×70000. Its strides are small numbers. Its last
# offset is not:

# %%
big = Layout((70000, 70000), (70000, 1))
last = big(69999, 69999)
print(f"{last:,} against {2**31 - 1:,}; squeezed into 32 bits: {np.int64(last).astype(np.int32):,}")

# %% [markdown]
# That is a wild address, and a kernel that computes it crashes or silently reads another matrix. The real CuTe is no
# safer. Below, the same layout is made three times on your CPU: with everything known at compile time, with a 32-bit
# stride that arrives at run time, and with a 64-bit one. (The import takes a few seconds.) Which of them overflow?

# %%
import cutlass
from cutlass import cute


@cute.jit
def last_offset(n: cutlass.Int32, wide: cutlass.Int64):
    static = cute.make_layout((70000, 70000), stride=(70000, 1))
    narrow_stride = cute.make_layout((n, n), stride=(n, 1))
    wide_stride = cute.make_layout((n, n), stride=(wide, 1))
    print("static:", static, "→", cute.crd2idx((69999, 69999), static))
    cute.printf("32-bit stride: {}", cute.crd2idx((n - 1, n - 1), narrow_stride))
    cute.printf("64-bit stride: {}", cute.crd2idx((n - 1, n - 1), wide_stride))


last_offset(70000, 70000)

# %% [markdown]
# So a stride has a value *and* a type, and they are separate facts. Only the 32-bit run-time stride overflowed; the
# static layout and the 64-bit stride are right. Libraries stumble over the type as well: CUTLASS 4.5.1 fixed how CuTe
# derives the divisibility of a 64-bit stride, for arrays from JAX.
#
# The guard that comes to mind first is `all(stride <= 2**31 - 1)`. It lets the matrix above through.
#
# **Exercise 01.8** (about 4 lines). Write `fits_int32(shape, stride)`: True if every offset of the layout fits in a
# signed 32-bit integer. Shapes and strides are flat tuples here; a stride may be negative.


# %%
def fits_int32(shape, stride):
    ### BEGIN SOLUTION (about 4 lines)
    ends = [(extent - 1) * step for extent, step in zip(shape, stride, strict=True)]
    largest = sum(end for end in ends if end > 0)
    smallest = sum(end for end in ends if end < 0)
    return smallest >= -(2**31) and largest <= 2**31 - 1
    ### END SOLUTION


# %%
check("01.8", fits_int32)

# %% [markdown]
# ## A tensor is a pointer and a layout
#
# A layout gives the distance of an element from the first one. Add the address of the first, and you have a **tensor**:
# a pointer and a layout, and nothing else. By convention a tensor's name begins with its memory space: `mA` is the
# whole matrix in global memory, `gA` a tile of it, `sA` a tile in shared memory, `rA` a fragment in registers. Here the
# memory is a list, the pointer an offset.

# %%
memory = [f"m{place}" for place in range(20)]
A = Tensor(layout("(4,5):(5,1)"), data=memory)
print(A[2, 1], "at", A(2, 1))

# %% [markdown]
# Fix one coordinate and leave the other free, and you have a **slice**: a tensor again, over the same memory. CuTe
# writes the free one `_` in C++ and `None` in Python. The fixed coordinates move the pointer; the free modes stay. So
# row 2 is `5:1`, starting at offset 10. What is column 1?

# %%
row, column = A[2, None], A[None, 1]
print("A[2, _]:", row.layout, "from", row.offset)
print("A[_, 1]:", column.layout, "from", column.offset)

# %%
show_layout("(4,5):(5,1)", title="A[2, _]: five cells, 1 apart, from 10 on", highlight=[(2, n) for n in range(5)])

# %% [markdown]
# This is how a kernel gets its tile. The tiles of a matrix form one tensor of two modes, (inside the tile, which tile);
# `tiles[None, block]` is the tile of one block: each block has a pointer of its own, and all share one layout.
#
# **Exercise 01.9** (about 5 lines). Write `sliced(layout, coord)`: the pair (offset, Layout) of the slice. `coord` has
# an entry for each mode of the layout, a number where it is fixed and `None` where it is free; a mode may be nested. At
# least one is free. `mode(layout, n)` is mode n as a layout. If one mode is free, the slice is that mode; if several
# are, combine them with `Layout(first, second, …)`.


# %%
def sliced(layout, coord):
    ### BEGIN SOLUTION (about 5 lines)
    modes = [mode(layout, n) for n in range(rank(layout))]
    offset = sum(fixed(at) for fixed, at in zip(modes, coord, strict=True) if at is not None)
    free = [kept for kept, at in zip(modes, coord, strict=True) if at is None]
    return offset, free[0] if len(free) == 1 else Layout(*free)
    ### END SOLUTION


# %%
check("01.9", sliced)

# %% [markdown]
# ## The words of the field
#
# You have met most of them. `crd2idx` and `idx2crd` are CuTe's names for what you wrote as `offset_at` and
# `coordinate`: a coordinate through a layout to an offset, and an index through a shape to its coordinate.

# %%
shape = (4, (2, 3))
print("rank", rank(shape), " size", size(shape), " index 22 is", idx2crd(22, shape))

# %% [markdown]
# - **mode**: one entry of a shape. **rank**: how many modes there are at the top. **depth**: how deep they nest.
# - **extent**: the size of a mode. **index**: one number for a coordinate. **offset**: what the layout makes of it.
# - **congruent**: nested alike, bracket for bracket. A shape and its stride always are.
# - **compatible**: shape S with shape T, when they have the same size and every coordinate of S is also one of T. T may
#   split a mode that S leaves whole.
#
# 8 is compatible with (4,2): they have the same size, and any index below 8 is an index of (4,2). Not the other way:
# (3,1) is no coordinate of 8. Which of these are compatible, and which congruent?

# %%
for one, other in [(24, (4, 6)), ((4, 6), (4, (2, 3))), ((4, 6), (6, 4)), ((4, (2, 3)), (1, (4, 8)))]:
    print(f"{one} and {other}: compatible {compatible(one, other)}, congruent {congruent(one, other)}")

# %% [markdown]
# Composition, on the next page, keeps this promise: it may split one of your modes into two, and your coordinates
# remain valid.
#
# ## What to remember
#
# - A layout maps a coordinate to an offset by one sum of products. Nothing about it moves data.
# - Shapes nest. An index becomes a coordinate with the first mode fastest.
# - The size counts coordinates, the cosize memory; padding and stride 0 pull the two apart.
# - A tensor is a pointer and a layout. A slice moves the pointer and keeps the free modes.
# - Whether 32 bits are enough depends on the extreme offsets, not on the strides.
#
# Next: layouts can be composed, cut and repeated, and the results are layouts again.
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

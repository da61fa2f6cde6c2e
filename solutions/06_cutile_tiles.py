# ---
# jupyter:
#   tutorlib:
#     minutes: 68
#     summary: Kernels of a few lines that name blocks and tiles, and no threads; up to a softmax of rows of any length.
# ---

# %% [markdown]
# # 06 · Arrays, tiles, blocks
#
# Notebooks 02 to 05 program every thread. In *cuTile* you do not mention threads at all: you write what one **block**
# does with whole **tiles**, and the compiler chooses threads, shared memory, copies and tensor cores. The same notation
# brings the GEMM of the next page close to cuBLAS.
#
# You need no GPU here. `run` interprets a kernel block by block on torch tensors; `check` does the same, and also
# launches your kernel where there is a GPU, for which cuTile needs driver 580 or newer (CUDA 13).
#
# > **After this page you can** write a kernel in tiles, choose the values that pad a tile beyond an array's edge,
# > compute a softmax of rows of any length, and launch your kernel so that its blocks fill the GPU.
# >
# > **It takes** about 68 minutes, on any machine.

# %%
import cuda.tile as ct
import torch

from tutorlib import (
    TensorSpec, check, compile_cutile, explore_tile_space, run, run_host, show_rescaling, show_speeds,
)  # fmt: skip

# %% [markdown]
# ## Three different things
#
# - An **array** is memory: a torch tensor that the host made. It can have any shape.
# - A **tile** is a value inside a kernel, like a number, only larger. It has no address and cannot be changed. Its
#   sizes are known when the kernel is compiled, and each is a power of two.
# - A **block** is one execution of the kernel's body. The host launches a *grid* of them, and each asks for its own
#   index with `ct.bid(axis)`.
#
# *Tile space* connects them. Cut an array into tiles of one shape and number the tiles: `ct.load(array, (i, j), shape)`
# is the tile with number (i, j). An index counts **tiles**, never elements. Below, an array is cut into tiles; those at
# the end may extend past the edge (hatched). Click an element to see its tile. Find sizes for which more than half of
# the tiles' area is outside the array.

# %%
explore_tile_space()

# %% [markdown]
# `ct.Constant` marks a parameter that is known when the kernel is compiled, as tile shapes must be. Below, each block
# works on the tile that has the block's own index. Before you run the cell: which numbers does block (1, 0) move?


# %%
@ct.kernel
def double(x, y, tm: ct.Constant[int], tn: ct.Constant[int]):
    place = (ct.bid(0), ct.bid(1))
    tile = ct.load(x, place, (tm, tn))
    ct.store(y, place, tile * 2)


x = torch.arange(6 * 8, dtype=torch.float32).reshape(6, 8)
y = torch.full_like(x, torch.nan)
report = run(double, (3, 2), (x, y, 2, 4))  # kernel, grid, arguments
print(report.blocks, "blocks ran;", "y is 2x:", torch.equal(y, 2 * x))

# %% [markdown]
# Block (1, 0) moved rows 2 and 3 of columns 0 to 3.
#
# **Exercise 06.1** (about 3 lines). Write the kernel `transpose(x, y, tm, tn)`: y[n, m] = x[m, n]. Block (i, j) has
# tile (i, j) of x, of shape (tm, tn), and tiles at the end may extend past the edge. `ct.transpose(tile)` exchanges the
# axes of a tile. Replace the whole `raise` line; a kernel cannot contain an ordinary `raise`.


# %%
@ct.kernel
def transpose(x, y, tm: ct.Constant[int], tn: ct.Constant[int]):
    ### BEGIN SOLUTION (about 3 lines)
    i, j = ct.bid(0), ct.bid(1)
    tile = ct.load(x, (i, j), (tm, tn))
    ct.store(y, (j, i), ct.transpose(tile))
    ### END SOLUTION


# %%
check("06.1", transpose)

# %% [markdown]
# The last tiles need no guard: an array knows its size, and a store skips the elements outside.
#
# A grid that does not fit is another matter. If it is too small, elements keep their old values, here NaN. If it is too
# large, a tile is *wholly* outside, which is undefined. The interpreter reports the first block outside for each array:

# %%
for grid in [(2, 2), (4, 2)]:
    y = torch.full_like(x, torch.nan)
    report = run(double, grid, (x, y, 2, 4))
    print(f"grid {grid}: {y.isnan().sum()} elements are still NaN")
    for finding in report.findings:
        print("   ", finding.message)

# %% [markdown]
# A GPU reports neither; `check` looks for both.
#
# ## Padding
#
# A tile's sizes are powers of two, so a row of 100 elements is loaded as a tile of 128, and 28 of its elements have no
# data. A store skips them. An operation that *combines* elements includes them, so you choose their value with
# `padding_mode`. Without one the value is **undetermined**: a kernel that relies on it may be right on one GPU and
# wrong on the next. The interpreter puts NaN there, so that you notice.


# %%
@ct.kernel
def look(x):
    print("no padding mode:", ct.load(x, (1,), (4,)))
    print("ZERO:           ", ct.load(x, (1,), (4,), padding_mode=ct.PaddingMode.ZERO))
    print("NEG_INF:        ", ct.load(x, (1,), (4,), padding_mode=ct.PaddingMode.NEG_INF))


report = run(look, (1,), (torch.arange(6.0),))

# %% [markdown]
# ## The launch
#
# You do not call a kernel; the host *launches* it:
#
#     ct.launch(stream, grid, kernel, arguments)
#
# - The **stream** is the queue that the launch joins: `torch.cuda.current_stream()` is torch's own.
# - The **grid** is a tuple: the number of blocks along each axis of `ct.bid`.
# - The **arguments** are a tuple: tensors on the GPU, numbers, and the constants that the kernel is compiled for.
#
# A host function chooses the tile and the number of blocks. `run_host` calls it; without a GPU it interprets the
# launch:


# %%
def doubled(x, y):
    m, n = x.shape
    grid = (ct.cdiv(m, 32), ct.cdiv(n, 32))
    ct.launch(torch.cuda.current_stream(), grid, double, (x, y, 32, 32))


device = "cuda" if torch.cuda.is_available() else "cpu"
x, y = torch.randn(100, 70, device=device), torch.empty(100, 70, device=device)
run_host(doubled, x, y)
print("y is 2x:", torch.equal(y, 2 * x))

# %% [markdown]
# ## A softmax
#
# softmax(x)ₙ = exp(xₙ) / Σ exp(xₖ) for every row. exp(89) overflows fp32, so every softmax subtracts the row's maximum
# first; the factor exp(-max) cancels.
#
# `ct.sum(tile, axis)` and `ct.max(tile, axis)` combine a tile's elements along an axis and remove it, unless you add
# `keepdims=True`; without an axis they combine the whole tile. Shapes broadcast as in NumPy.
#
# Below, block i computes row i in one tile, whose width is the smallest power of two that holds the row. The padding
# must affect neither maximum nor sum: -∞ is below every element, and exp(-∞) is 0.


# %%
@ct.kernel
def softmax(x, y, tile: ct.Constant[int]):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, tile), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp(row - ct.max(row))
    ct.store(y, (i, 0), e / ct.sum(e))


x, y = torch.randn(5, 100) + 1000, torch.empty(5, 100)
report = run(softmax, (5,), (x, y, 128))
print("y is the softmax of x:", torch.allclose(y, x.softmax(1)))

# %% [markdown]
# ## A row longer than a tile
#
# A tile that holds a whole row lives in registers, and a row of 65,536 floats does not fit: an SM, one of an H200's 132
# processors, has exactly that many, and would have none left. So a block must loop over its row. Read literally, the
# formula needs three passes: for the maximum, the sum, and the results.
#
# Can the first two be one? In the picture, a row of twelve elements arrives in three tiles, one color each. A bar is
# exp(x - m), where m is the largest element *so far*. When a tile brings a larger m, all earlier bars are too
# tall: they were computed with the old one.

# %%
show_rescaling([1.0, 0.2, 1.5, 0.7, 0.9, 1.4, 1.3, 0.1, 1.8, 0.6, 2.0, 2.9], 4)

# %% [markdown]
# They all shrink by the same factor:
#
# exp(x - new) = exp(x - old) · exp(old - new)
#
# So a block keeps only their sum, which shrinks by the same factor. This is the **online softmax** ([Milakov and
# Gimelshein, 2018](https://arxiv.org/abs/1805.02867)), and FlashAttention is built on it.
#
# **Exercise 06.2** (about 10 lines). Write the kernel `long_softmax(x, y, tile)`: block i computes row i, of any
# length, in tiles of shape (1, tile); x and y are fp32. It loads each element of the row twice, no more. Some elements
# of x may be -∞, as where attention masks a key, but not a whole row. `ct.num_tiles(x, axis, shape)` is the number of
# tiles along an axis, and an ordinary `for` loop visits them. `ct.full(shape, value, ct.float32)` makes a tile,
# `ct.maximum` compares two.


# %%
@ct.kernel
def long_softmax(x, y, tile: ct.Constant[int]):
    i = ct.bid(0)
    ### BEGIN SOLUTION (about 10 lines)
    largest = ct.full((1, 1), -3.4e38, ct.float32)  # below every element but -∞: exp(-∞ - largest) is 0
    total = ct.full((1, 1), 0.0, ct.float32)
    for j in range(ct.num_tiles(x, 1, (1, tile))):
        part = ct.load(x, (i, j), (1, tile), padding_mode=ct.PaddingMode.NEG_INF)
        new = ct.maximum(largest, ct.max(part, 1, keepdims=True))
        total = total * ct.exp(largest - new) + ct.sum(ct.exp(part - new), 1, keepdims=True)
        largest = new
    for j in range(ct.num_tiles(x, 1, (1, tile))):
        part = ct.load(x, (i, j), (1, tile), padding_mode=ct.PaddingMode.NEG_INF)
        ct.store(y, (i, j), ct.exp(part - largest) / total)
    ### END SOLUTION


# %%
check("06.2", long_softmax)

# %% [markdown]
# ## What limits them
#
# The table gives the speed of these kernels and of `torch.softmax` in TB/s, counting each element as read once and
# written once. Each matrix has 256 MiB; a column names its rows × the length of a row. **Predict** first: at which
# lengths is one tile per row faster than the loops?

# %%
show_speeds("softmax_rows")

# %% [markdown]
# One tile per row reads memory once, and is faster up to 16,384 elements (at 4,096, by 3%). The loops read each element
# twice, so their 1.31 TB/s are up to 1.97 TB/s of traffic. At 1,024, one tile per row is six times slower than torch.
#
# An SM has 65,536 **registers** for the threads of all blocks that it runs at the same time; what does not fit a
# thread's share is *spilled* to memory, its *stack*. `compile_cutile` compiles a kernel for a GPU that this machine
# need not have. How many blocks of `softmax` can an H200's SM run?

# %%
for columns in (1024, 4096, 16384, 65536):
    matrix = TensorSpec((2**26 // columns, columns))
    print(f"rows of {columns:6,}:", compile_cutile(softmax, [matrix, matrix, columns], "sm_90"))

# %% [markdown]
# Without a hint the compiler gives each thread 255 registers, the most that it can address. 256 threads take 65,280 of
# 65,536, so an SM runs *one block at a time*. While it computes, no load is in flight. At 1,024 and 0.64
# TB/s each of 132 SMs takes 1.7 µs for a row, from its load to its store.
#
# Two things put more rows in flight:
#
# - Several short rows share a tile. Then a block loads them at the same time, and computes them at the same time.
# - A kernel asks for more blocks on an SM, by `kernel.replace_hints(occupancy=8)`: the compiler then gives each thread
#   fewer registers. While one block computes, the rows of others are in flight.
#
# ## From an empty cell
#
# **Exercise 06.3** (about 11 lines: 6 in the kernel, 5 in the host function). Write `softmax_of(x, y)` and the kernel
# that it launches, `short_softmax(x, y, tm, tile)`, for fp32 matrices of any size whose rows are short. A block
# computes `tm` whole rows in one tile, whose width `tile` is the smallest power of two that holds a row. For rows of
# 1,024 and of 4,096, choose the height and the occupancy so that an H200's SM runs as many blocks as it can, of 1, 2, 4
# and 8, while no register is spilled. Other widths may take any height and occupancy. The host function launches once,
# in torch's current stream, on x and y themselves.


# %%
# The kernel that softmax_of launches
### BEGIN SOLUTION (about 6 lines)
@ct.kernel
def short_softmax(x, y, tm: ct.Constant[int], tile: ct.Constant[int]):
    i = ct.bid(0)
    rows = ct.load(x, (i, 0), (tm, tile), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp(rows - ct.max(rows, 1, keepdims=True))
    ct.store(y, (i, 0), e / ct.sum(e, 1, keepdims=True))


### END SOLUTION
def softmax_of(x, y):
    ### BEGIN SOLUTION (about 5 lines)
    rows, columns = x.shape
    tile = 1 << (columns - 1).bit_length()
    tm = max(2, 2048 // tile)
    kernel = short_softmax.replace_hints(occupancy=8 if tile <= 1024 else 4)
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(rows, tm),), kernel, (x, y, tm, tile))
    ### END SOLUTION


# %%
check("06.3", softmax_of)

# %% [markdown]
# Find your choice, in TB/s, with the registers of a thread and the bytes of its stack:

# %%
show_speeds("softmax_occupancy").iloc[[0, 1, 3, 6, 7, 9, 10, 11, 12, 13, 14]]

# %% [markdown]
# Two rows a tile, with eight blocks at 1,024 and four at 4,096, are the fastest: as fast as torch at 1,024, and more
# than 40% faster at 4,096, a length at which torch has only 2.53 TB/s. With the same 32 KB on an SM, one block of eight
# rows has 1.67 TB/s, four of two rows 2.65, and eight of one row 3.80: blocks overlap, the rows of one tile do not.
#
# At eight blocks a thread has 32 registers. A tile of 4,096 elements has 16 for each of 256 threads, and a softmax
# needs two values for each, the element and its exponential. So it spills, and is slower than at four blocks.
#
# ## What to remember
#
# - An array is memory, a tile is a value, a block is a run of the body. An index counts tiles.
# - A store skips elements past the edge; a load pads with a value that you choose: 0 for a sum, -∞ for a maximum.
# - A softmax of rows longer than a tile needs two passes: rescale the running sum whenever the maximum grows.
# - A block that waits or computes must not have the SM to itself: ask for more blocks, until registers spill.
#
# **Next:** [notebook 07](07_cutile_gemm.ipynb), where the same notation multiplies matrices.
#
# ## Test yourself
#
# <details><summary>1. A kernel multiplies the elements of each row. Which value must pad a row of 100 in a tile of
# 128?</summary>
#
# 1, and no `padding_mode` provides it: `ct.where(valid, tile, 1.0)` takes 1.0 where `valid` is False.
#
# </details>
#
# <details><summary>2. A whole row of x is -∞, as where attention masks all keys. What does <code>long_softmax</code>
# compute, if its maximum starts from a finite number?</summary>
#
# 0 / 0, NaN: the total is 0. torch's softmax is NaN there, too.
#
# </details>
#
# <details><summary>3. A grid is larger than the array needs, and the result is right. What have you shown?</summary>
#
# Nothing: blocks wholly outside are undefined.
#
# </details>

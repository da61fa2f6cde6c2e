# ---
# jupyter:
#   tutorlib:
#     minutes: 75
#     summary: Kernels of a few lines that name blocks and tiles, and no threads; up to a softmax of rows of any length.
# ---

# %% [markdown]
# # 06 · Arrays, tiles, blocks
#
# So far you programmed every thread. In *cuTile* you do not mention threads at all: you write what one **block** does
# with whole **tiles**, and the compiler chooses threads, shared memory, copies and tensor cores. The kernels of this
# page are five to ten lines long, and they are not toys: the same notation brings the GEMM of the next page close to
# cuBLAS.
#
# You need no GPU here. `run` below interprets a kernel block by block on ordinary torch tensors; on a GPU,
# `ct.launch` runs the same kernel, and at the end of the page you write that line yourself. `check` interprets your
# kernels, and launches them too where there is a GPU.
#
# > **After this page you can** write a kernel in tiles, choose the values that pad a tile beyond an array's edge,
# > reduce and broadcast, compute a softmax of rows of any length, and launch your kernel from a function of your own.
# >
# > **It takes** about 75 minutes, on any machine.

# %%
import cuda.tile as ct
import torch

from tutorlib import TensorSpec, check, compile_cutile, explore_tile_space, run, run_host, show_sweep, show_tile_space

# %% [markdown]
# ## Three different things
#
# - An **array** is memory: a torch tensor that the host made. It can have any shape.
# - A **tile** is a value inside a kernel, like a number, only larger. It has no address and cannot be changed; its
#   sizes are known when the kernel is compiled, and each is a power of two.
# - A **block** is one execution of the kernel's body. The host launches a *grid* of them, and each asks for its own
#   index with `ct.bid(axis)`.
#
# *Tile space* connects them. Cut an array into tiles of one shape, number the tiles, and `ct.load(array, (i, j),
# shape)` is the tile with number (i, j): an index counts **tiles**, never elements. Below, a 10×20 array is cut into
# tiles of 4×8. Tiles at the end extend past the edge (hatched): the array need not be a multiple of them.

# %%
show_tile_space((10, 20), (4, 8))

# %% [markdown]
# Try other sizes. Click an element: which tile has it, and at which position? Find sizes for which more than half of
# the area that the tiles cover is outside the array.

# %%
explore_tile_space()

# %% [markdown]
# (One answer: an array of 5×9 in tiles of 4×8. Its four tiles cover 128 elements, and only 45 exist.)
#
# A block usually works on the tile that has the block's own index. That is a convention, not a law: the grid of blocks
# and the grid of tiles are different things, and on the next page we permute one against the other.
#
# Here is a whole kernel. `ct.Constant` marks a parameter that is known when the kernel is compiled, as tile shapes
# must be. Before you run the cell: which numbers does block (1, 0) move?


# %%
@ct.kernel
def double(x, y, tm: ct.Constant[int], tn: ct.Constant[int]):
    place = (ct.bid(0), ct.bid(1))
    tile = ct.load(x, place, (tm, tn))
    ct.store(y, place, tile * 2)


x = torch.arange(12 * 16, dtype=torch.float32).reshape(12, 16)
y = torch.full_like(x, torch.nan)
report = run(double, (3, 2), (x, y, 4, 8))  # on a GPU: ct.launch(stream, (3, 2), double, (x, y, 4, 8))
print(report.blocks, "blocks ran;", "y is 2x:", torch.equal(y, 2 * x))

# %% [markdown]
# Block (1, 0) moved rows 4 to 7 of columns 0 to 7.
#
# ## Vector addition
#
# **Exercise 06.1** (about 4 lines). Write the kernel `add(a, b, c, tile)`: c = a + b for vectors of any length. The
# grid has one block for every `tile` elements, and the last block's tile may extend past the end.


# %%
@ct.kernel
def add(a, b, c, tile: ct.Constant[int]):
    ### BEGIN SOLUTION (about 4 lines)
    i = ct.bid(0)
    ta = ct.load(a, (i,), (tile,))
    tb = ct.load(b, (i,), (tile,))
    ct.store(c, (i,), ta + tb)
    ### END SOLUTION


# %%
check("06.1", add)

# %% [markdown]
# You wrote no guard for the last tile, and none was needed: an array knows its size, and a store skips the elements
# outside (one exception follows exercise 06.4). That is the first benefit of not using pointers. The second: the
# interpreter sees when a grid does not fit its arrays. If it is too small, some elements are never stored; if it is too
# large, a block accesses a tile *wholly* outside, which cuTile does not allow. Here is one of each:

# %%
for grid in [(2, 2), (4, 2)]:
    for finding in run(double, grid, (x, y, 4, 8)).findings:
        print(f"grid {grid}: {finding.message}")

# %% [markdown]
# Of the two blocks outside, (3, 0) and (3, 1), the interpreter reports the first. A GPU reports neither problem: in
# cuTile the behavior of the extra blocks is undefined, and a result that is right by luck looks like one that is right.
#
# ## Powers of two
#
# A tile is distributed over the registers of a block's threads, in a layout that the compiler chooses among those whose
# sizes are powers of two. Ask for 48 rows, and cuTile refuses:

# %%
try:
    run(double, (1, 2), (x, y, 48, 8))
except ct.TileError as error:
    print(error.message)

# %% [markdown]
# So a row of 100 elements is loaded as a tile of 128, and 28 of its elements have no data. Which values do they get? A
# store skips them, so it does not matter. For every operation that *combines* elements it does, and you choose the
# value with `padding_mode`. Without one the value is **undetermined**: cuTile promises nothing, and a kernel that
# relies on it may be right on one GPU and wrong on the next. The interpreter puts NaN there, so that you notice.


# %%
@ct.kernel
def look(x):
    print("no padding mode:", ct.load(x, (1,), (4,)))
    print("ZERO:           ", ct.load(x, (1,), (4,), padding_mode=ct.PaddingMode.ZERO))
    print("NEG_INF:        ", ct.load(x, (1,), (4,), padding_mode=ct.PaddingMode.NEG_INF))


report = run(look, (1,), (torch.arange(6.0),))

# %% [markdown]
# Which of the three do you need to sum a row? And to find its largest element? Keep your answers: you need both before
# the page ends.
#
# ## Broadcasting
#
# Arithmetic on two tiles aligns their shapes at the **right** end. A missing size counts as 1, a size of 1 is repeated,
# and any other difference is an error: the same rule as in NumPy, and as easy to get wrong. What is the result for a
# tile of (32, 1, 64) and one of (64, 2)?
#
#     (32, 1, 64)
#     (    64, 2)
#
# It is tempting to match the two 64s. But aligned at the right, 64 meets 2, and neither is 1:


# %%
@ct.kernel
def clash(x):
    ct.zeros((32, 1, 64), ct.float32) + ct.zeros((64, 2), ct.float32)


try:
    run(clash, (1,), (x,))
except ct.TileError as error:
    print(error.message)

# %% [markdown]
# **Exercise 06.2** (about 5 lines). Write `broadcast_shape(x, y)` in plain Python: the shape of the result for two
# shapes (tuples of any length, the empty one too), or `None` if they are incompatible.


# %%
def broadcast_shape(x, y):
    ### BEGIN SOLUTION (about 5 lines)
    rank = max(len(x), len(y))
    x, y = (1,) * (rank - len(x)) + x, (1,) * (rank - len(y)) + y
    if any(a != b and 1 not in (a, b) for a, b in zip(x, y, strict=True)):
        return None
    return tuple(max(a, b) for a, b in zip(x, y, strict=True))
    ### END SOLUTION


# %%
check("06.2", broadcast_shape)

# %% [markdown]
# When the shapes do not align by themselves, you add the 1 where you want it: `t[:, None]` turns (4,) into (4, 1).
#
# **Exercise 06.3** (about 4 lines). Write the kernel `scale_rows(x, s, y, tm, tn)`: y[m, n] = x[m, n] · s[m]. The
# grid is two-dimensional, block (i, j) for tile (i, j) of x.


# %%
@ct.kernel
def scale_rows(x, s, y, tm: ct.Constant[int], tn: ct.Constant[int]):
    ### BEGIN SOLUTION (about 4 lines)
    i, j = ct.bid(0), ct.bid(1)
    tile = ct.load(x, (i, j), (tm, tn))
    scale = ct.load(s, (i,), (tm,))
    ct.store(y, (i, j), tile * scale[:, None])
    ### END SOLUTION


# %%
check("06.3", scale_rows)

# %% [markdown]
# ## A block may loop over tiles
#
# A block is not limited to one tile. `ct.num_tiles(x, axis, shape)` is the number of tiles along an axis, and an
# ordinary `for` loop visits them, `for j in range(ct.num_tiles(x, 1, (tm, tn))):`. The GEMM of the next page is such a
# loop.
#
# To accumulate, a block needs **reductions**, which combine the elements of a tile into a smaller one. `ct.sum(tile,
# 1)` and `ct.max(tile, 1)` reduce along axis 1 and remove it; without an axis they reduce the whole tile. Other
# functions work on each element: `ct.exp`, `ct.sqrt`, arithmetic, and `tile.astype(dtype)`, which converts. `x` below
# is bf16. Before you run the cell: 1 + 256 + 1 + 1 is 259. What does bf16 give, with its 8 significant bits?


# %%
@ct.kernel
def reduce(x):
    tile = ct.load(x, (0, 0), (2, 4))
    print("tile:             ", tile)
    print("max along axis 1: ", ct.max(tile, 1))
    print("sum along axis 1: ", ct.sum(tile, 1))
    print("sum of all:       ", ct.sum(tile))
    print("in fp32, by axis: ", ct.sum(tile.astype(ct.float32), 1))


report = run(reduce, (1,), (torch.tensor([[1, 256, 1, 1], [1, 2, 3, 4]]).bfloat16(),))

# %% [markdown]
# A reduction keeps the dtype of its tile, and so does an accumulator that you carry from tile to tile. So convert
# first, and accumulate in fp32: keep numbers narrow in memory and wide in arithmetic. (From 256 to 512, bf16 has only
# the even numbers. The 258 depends on the order in which the reduction adds; another order can give 256 or 260.)
#
# **Exercise 06.4** (about 6 lines). Write the kernel `row_sums(x, sums, tm, tn)`: sums[m] = Σₙ x[m, n]. Block i owns
# the tm rows from i·tm on and loops over them in tiles of (tm, tn); it stores its sums once. x is bf16 here, sums is
# fp32: accumulate in fp32. The last tile of a row may extend past its end.


# %%
@ct.kernel
def row_sums(x, sums, tm: ct.Constant[int], tn: ct.Constant[int]):
    ### BEGIN SOLUTION (about 6 lines)
    i = ct.bid(0)
    total = ct.zeros((tm,), ct.float32)
    for j in range(ct.num_tiles(x, 1, (tm, tn))):
        tile = ct.load(x, (i, j), (tm, tn), padding_mode=ct.PaddingMode.ZERO)
        total += ct.sum(tile.astype(ct.float32), 1)
    ct.store(sums, (i,), total)
    ### END SOLUTION


# %%
check("06.4", row_sums)

# %% [markdown]
# `check` puts guard bands around its outputs, as in notebook 04, and they found a trap here. On Hopper the compiler
# stores a one-dimensional tile by TMA, the copy engine of notebook 05, which writes whole units of 16 bytes. With
# cuda-tile 1.7.0 on an H200, such a store wrote past the end of a `sums` whose length is not a multiple of four fp32.
# You do not notice while that memory is unused, as the end of an allocation often is; in a view into a larger tensor
# the store destroys data. The lengths of the check's `sums` are multiples of four; keep your outputs in multiples of
# 16 bytes, too.
#
# ## A softmax
#
# softmax(x)ₙ = exp(xₙ) / Σ exp(xₖ) for every row. Computed like this it fails for a row with a number of 89 or more,
# since exp(89) overflows fp32. So every softmax subtracts the row's maximum first. In exact arithmetic that changes
# nothing: the factor exp(-max) cancels.
#
# **Exercise 06.5** (about 4 lines). Write the kernel `softmax(x, y, tile)`; x and y are fp32. A block computes one row,
# in one tile of shape (1, tile), where `tile` is the smallest power of two that holds a row. The elements beyond the
# row must affect neither the maximum nor the sum: one `padding_mode` is right for both.


# %%
@ct.kernel
def softmax(x, y, tile: ct.Constant[int]):
    ### BEGIN SOLUTION (about 4 lines)
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, tile), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp(row - ct.max(row))
    ct.store(y, (i, 0), e / ct.sum(e))
    ### END SOLUTION


# %%
check("06.5", softmax)

# %% [markdown]
# ## The launch
#
# You do not call a kernel; the host *launches* it. That takes one line, which you have seen in a comment:
#
#     ct.launch(stream, grid, kernel, arguments)
#
# - The **stream** is the queue that the launch joins. Launches in one stream run in order, and the host does not wait
#   for them. `torch.cuda.current_stream()` is the stream of torch's own kernels.
# - The **grid** is a tuple of one to three numbers: the number of blocks along each axis of `ct.bid`.
# - The **arguments** are a tuple: tensors on the GPU, numbers, and the constants that the kernel is compiled for. The
#   first launch with a new constant compiles the kernel, which takes about a second; the result is cached.
#
# The rest of a host function makes the kernel usable for callers that know nothing of tiles: it chooses the tile and
# the number of blocks. For `double`, in tiles of 32×32:


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
# (`run_host` calls the function. Where there is no GPU it interprets what the function launches, and says so.)
#
# **Exercise 06.6** (about 4 lines). Write the host function `softmax_of(x, y)`, which launches your `softmax` once, in
# torch's current stream, on a matrix of any size: one block for each row, and as `tile` the smallest power of two that
# holds a row.


# %%
def softmax_of(x, y):
    ### BEGIN SOLUTION (about 4 lines)
    rows, columns = x.shape
    tile = 1 << (columns - 1).bit_length()
    ct.launch(torch.cuda.current_stream(), (rows,), softmax, (x, y, tile))
    ### END SOLUTION


# %%
check("06.6", softmax_of)

# %% [markdown]
# ## A row longer than a tile
#
# A tile that holds a whole row lives in registers, and a row of 65,536 floats does not fit: an entire SM has exactly
# that many registers, for everything that it runs. So a block loops over its row, as in `row_sums`. Read literally, the
# formula needs three passes: one for the maximum, one for the sum, one for the results. Each pass loads the row again.
#
# The first two can be one. Let m be the largest element so far and s the sum of exp(x - m) so far. When a tile brings a
# larger m′, every term of s was computed with the old maximum, and each is off by the same factor:
#
# exp(x - m′) = exp(x - m) · exp(m - m′)
#
# So multiply s by exp(m - m′), and add the new tile's terms. This is the **online softmax** ([Milakov and Gimelshein,
# 2018](https://arxiv.org/abs/1805.02867)), and FlashAttention is built on it.
#
# **Exercise 06.7** (about 8 lines). Write the kernel `long_softmax(x, y, tile)`: block i computes row i, of any length,
# in tiles of shape (1, tile); x and y are fp32. It loads the row twice. Start from the largest element -∞ and the sum
# 0, both of shape (1, 1); `ct.max(part, 1, keepdims=True)` has that shape too, and `ct.maximum` compares two tiles.


# %%
@ct.kernel
def long_softmax(x, y, tile: ct.Constant[int]):
    i = ct.bid(0)
    largest = ct.full((1, 1), float("-inf"), ct.float32)
    total = ct.zeros((1, 1), ct.float32)
    ### BEGIN SOLUTION (about 8 lines)
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
check("06.7", long_softmax)

# %% [markdown]
# (One caution before you reuse it in an attention kernel: if a row begins with a whole tile of -∞, as a masked one may,
# the new maximum is -∞ too, and -∞ - (-∞) is NaN. The check's rows are finite.)
#
# How fast is it? The table has the speed of such kernels, written as on this page, as a fraction of `torch.softmax`'s,
# for matrices of 256 MiB with rows of different lengths. (As in notebook 04, a kernel and its rival are timed in turns,
# in pairs; *cool* means in short rounds, between which the GPU rests.) **Predict** first: where does one tile per row
# win, and where does it lose?

# %%
show_sweep("softmax_rows")

# %% [markdown]
# - **One tile per row** reads memory once, and beats the loops as long as a row fits in the registers. A row of 65,536
#   elements does not fit, so the compiler has to spill, and the online kernel leads.
# - **Short rows** are slow in every kernel that gives a block one row: 4 KB of work hardly repay the cost of starting a
#   block, and a tile of 4,096 elements is three quarters empty.
#
# `torch.softmax` has a kernel of its own for short rows, and is ahead at every length. Notebook 07 shows how to tune
# tiles and hints.
#
# ## The compiler's output
#
# `compile_cutile` compiles a kernel for a GPU that this machine need not have. This is `double` for Hopper, with arrays
# of 4096×4096 and tiles of 64×64. You wrote a load and a store, and mentioned neither threads nor vectors.

# %%
matrix = TensorSpec((4096, 4096))
compiled = compile_cutile(double, [matrix, matrix, 64, 64], "sm_90")
print(compiled)
print(*sorted(compiled.instructions), sep="\n")

# %% [markdown]
# The bytes of stack hold the registers that were spilled: none here. (To see the last section's spill, compile your
# `softmax` in the same way for arrays of 1024×65536, with a tile of 65,536.)
#
# `ld.global.v4` and `st.global.v4` are the 128-bit accesses that you arranged by hand in notebook 05: four words of 32
# bits. The short names match every load and store, v4 included; there are no others here. And `ld.global after
# st.global` is no instruction but the course's note for what exercise 05.4 forbids: at least one load comes after a
# store. In cuTile you no longer choose the order of your accesses; notebook 07 shows what is left to choose.
#
# ## What to remember
#
# - An array is memory, a tile is a value, a block is a run of the body. An index counts tiles.
# - A store skips elements past the edge; a load pads with a value that you choose: 0 for a sum, -∞ for a maximum. A
#   tile wholly outside is not allowed: the interpreter reports it, a GPU does not.
# - Tile sizes are powers of two, known when the kernel is compiled. Shapes align at the right.
# - A reduction keeps its tile's dtype: convert to fp32 before you add, and accumulate in fp32.
# - A softmax of any length needs two passes: rescale the running sum whenever the maximum grows.
# - `ct.launch(stream, grid, kernel, arguments)`; the grid is a tuple, and the host divides and rounds up.
#
# ## Test yourself
#
# <details><summary>1. A kernel multiplies the elements of each row. Which value must pad a row of 100 in a tile of 128,
# and which padding mode provides it?</summary>
#
# 1, and no `padding_mode` provides it. So mask by hand: `ct.where(valid, tile, 1.0)`, where `valid` compares
# `ct.arange(128, dtype=ct.int32)` with the number of columns.
#
# </details>
#
# <details><summary>2. x has the shape (64, 64), t the shape (64,), tiles are 64 wide. <code>x_tile * t_tile</code>
# compiles. What does it compute, and what is <code>x_tile * t_tile[:, None]</code>?</summary>
#
# Shapes align at the right, so the first multiplies column n with t[n]. The second one multiplies row m with t[m]. For
# square tiles the compiler cannot tell which you meant.
#
# </details>
#
# <details><summary>3. A grid is larger than the array needs, and the result is right on your GPU. What have you
# shown?</summary>
#
# Nothing. A load or store wholly outside is undefined; on another GPU, or with another version of the compiler, it may
# write into the memory behind the array.
#
# </details>

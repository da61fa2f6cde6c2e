# ---
# jupyter:
#   tutorlib:
#     minutes: 75
#     summary: Kernels of a few lines that name blocks and tiles, and no threads; up to a softmax of rows of any length.
# ---

# %% [markdown]
# # 06 · Arrays, tiles, blocks
#
# So far you told every thread what to do. In *cuTile* you do not mention threads at all: you write what one **block**
# does with whole **tiles**, and the compiler finds threads, shared memory, copies and tensor cores for it. The kernels
# of this page are five to ten lines long, and they are the real thing: the same notation carries the GEMM of the next
# page to cuBLAS's speed.
#
# You need no GPU here. `run` below interprets a kernel block by block on ordinary torch tensors; on a GPU,
# `ct.launch` runs the same kernel, and at the end of the page you write that line yourself. `check` interprets your
# kernels, and launches them too where there is a GPU.
#
# > **After this page you can** write a kernel in tiles, say what stands in a tile beyond an array's edge, reduce and
# > broadcast, and launch what you wrote from a function of your own.
# >
# > **It takes** about 75 minutes, on any machine.

# %%
import cuda.tile as ct
import torch

from tutorlib import check
from tutorlib.compiling.cutile import compile_cutile
from tutorlib.compiling.spec import TensorSpec
from tutorlib.draw.tile_space import show_tile_space
from tutorlib.explorers.tile_space import explore_tile_space
from tutorlib.notebook.measured import show_sweep
from tutorlib.notebook.trials import run_host
from tutorlib.simulate.cutile import run

# %% [markdown]
# ## Three different things
#
# - An **array** is memory: a torch tensor that the host made. It has any shape you like.
# - A **tile** is a value inside a kernel, like a number, only larger. It has no address and cannot be changed; its
#   sizes are known when the kernel is compiled, and each is a power of two.
# - A **block** is one run of the kernel's body. The host launches a *grid* of them, and each asks for its own index
#   with `ct.bid(axis)`.
#
# What connects them is *tile space*. Cut an array into tiles of one shape, number the tiles, and `ct.load(array, (i,
# j), shape)` is the tile with number (i, j): an index counts **tiles**, never elements. Below, a 10×20 array is cut
# into tiles of 4×8. Tiles at the end extend past the edge (hatched): the array need not be a multiple of them.

# %%
show_tile_space((10, 20), (4, 8))

# %% [markdown]
# You can try other sizes here. Click an element: which tile has it, and at which place? Find sizes at which more than
# half of all that the tiles cover is outside.

# %%
explore_tile_space()

# %% [markdown]
# That a block works on the tile that has the block's own index is a habit and no law: the two grids are
# different things, and on the next page we shuffle one against the other.
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
# ## Vector addition
#
# **Exercise 06.1** (about 4 lines). Write the kernel `add(a, b, c, tile)`: c = a + b for vectors of any length. The
# grid has one block for every `tile` elements, and the last block's tile extends past the end.


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
# You wrote no guard for the last tile, and none was needed. An array knows its size: a store drops what would fall
# outside. That is the first thing you get for not using pointers. The second is that a tile which lies *wholly*
# outside is a fault, and the interpreter says so. Here are a grid that is too small and one that is too large:

# %%
for grid in [(2, 2), (4, 2)]:
    for finding in run(double, grid, (x, y, 4, 8)).findings:
        print(f"grid {grid}: {finding.message}")

# %% [markdown]
# A GPU reports neither: cuTile leaves it undefined what a block too many does there, and a result that is complete
# by luck looks like one that is right.
#
# ## Powers of two
#
# A tile is spread over the registers of a block's threads, in a layout that the compiler picks, and it only picks
# among layouts whose sizes are powers of two. Ask for 48 rows, and cuTile refuses:

# %%
try:
    run(double, (1, 2), (x, y, 48, 8))
except ct.TileError as error:
    print(error.message)

# %% [markdown]
# So a row of 100 elements is loaded as a tile of 128, and 28 of its places hold no data. What do they hold? For a
# store it does not matter. For anything that *combines* elements it does, and you choose it with `padding_mode`.
# Without one the value is **undetermined**: cuTile promises nothing, and a kernel that relies on it may be right on
# one GPU and wrong on the next. The interpreter puts NaN there, so that you notice.


# %%
@ct.kernel
def look(x):
    print("no padding mode:", ct.load(x, (1,), (4,)))
    print("ZERO:           ", ct.load(x, (1,), (4,), padding_mode=ct.PaddingMode.ZERO))
    print("NEG_INF:        ", ct.load(x, (1,), (4,), padding_mode=ct.PaddingMode.NEG_INF))


report = run(look, (1,), (torch.arange(6.0),))

# %% [markdown]
# Which of the three do you need to sum a row? And to find its largest element? Keep your answers: you need both
# before the page ends.
#
# ## Broadcasting
#
# Arithmetic on two tiles aligns their shapes at the **right** end. A missing size counts as 1, a size of 1 is
# repeated, and any other difference is an error. As in NumPy, and as often got wrong. What about a tile of
# (32, 1, 64) and one of (64, 2)?
#
#     (32, 1, 64)
#     (    64, 2)
#
# It is tempting to see the two 64s and match them. But 64 stands above 2, and neither is 1:


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
# shapes (tuples of any length, the empty one too), or `None` where they do not fit.


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
# When the ends do not align by themselves, you add the 1 where you want it: `t[:, None]` turns (4,) into (4, 1).
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
# ## A block may walk
#
# Nothing says that a block touches one tile. `ct.num_tiles(x, axis, shape)` is the size of the tile space along an
# axis, and an ordinary `for` loop goes through it. Loops of this form are the whole GEMM of the next page.
#
# To add up what it meets on the way, a block needs functions that make a small tile of a large one. `ct.sum(tile, 1)`
# and `ct.max(tile, 1)` run along axis 1 and leave it out; without an axis they take the whole tile. Others work on each
# element: `ct.exp`, `ct.sqrt`, arithmetic, and `tile.astype(dtype)`, which converts. `x` below is bf16. Before you run
# the cell: 1 + 256 + 1 + 1 is 259. What will bf16 make of it, with 8 significant bits?


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
# A reduction keeps the dtype of its tile, and so does a sum that you carry from tile to tile. So convert first, and
# carry fp32: memory is where numbers are small, arithmetic is where they are exact.
#
# **Exercise 06.4** (about 6 lines). Write the kernel `row_sums(x, sums, tm, tn)`: sums[m] = Σₙ x[m, n]. Block i owns
# rows i·tm to (i+1)·tm and walks along them in tiles of (tm, tn); it stores its sums once. x is bf16 here, sums is
# fp32: add up in fp32.


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
# A warning from the checker's guard bands. On Hopper the compiler stores a one-dimensional tile by TMA, the copy engine
# of notebook 05, and that writes whole 16 bytes. With cuda-tile 1.7.0 on an H200, a `sums` whose length is not a
# multiple of four fp32 was overrun by the last of those 16 bytes. That goes unnoticed as long as no data is there,
# since allocations are padded; in a view into a larger tensor there is some. The checker's `sums` are multiples of four
# long, and you should keep outputs in multiples of 16 bytes.
#
# ## A softmax
#
# softmax(x)ₙ = exp(xₙ) / Σ exp(xₖ) for every row. Written like this it fails for any row with a number above 88,
# since exp(89) is more than fp32 holds. So every softmax subtracts the row's maximum first, which changes nothing in
# exact arithmetic: it cancels.
#
# **Exercise 06.5** (about 4 lines). Write the kernel `softmax(x, y, tile)`. A block does one row, in one tile of shape
# (1, tile), where `tile` is the smallest power of two that holds a row. Neither the maximum nor the sum may notice
# the padding: there is one padding mode that is right for both.


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
# Nobody calls a kernel: the host *launches* it. That takes one line, and you have seen it in a comment:
#
#     ct.launch(stream, grid, kernel, arguments)
#
# - The **stream** is the queue that the launch is put into. Launches in one stream run in order, and the host does not
#   wait for them. `torch.cuda.current_stream()` is the queue that torch's own kernels are in.
# - The **grid** is a tuple of one to three numbers: how many blocks there are along each axis of `ct.bid`.
# - The **arguments** are a tuple: tensors on the GPU, numbers, and the constants that the kernel is compiled for. A
#   constant that you have not used before compiles the kernel anew, which takes a second; after that it is cached.
#
# Around that line stands what makes a kernel a function for others: which tile, how many blocks. For `double`, in tiles
# of 32×32:


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
# **Exercise 06.6** (about 4 lines). Write the host function `softmax_of(x, y)`, which launches your `softmax` on a
# matrix of any size: one block for each row, and the smallest power of two that holds a row.


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
# A tile that holds a whole row lives in registers, and a row of 65,536 floats does not fit: the registers of an entire
# SM have room for just that many. So a block walks along its row, as in `row_sums`. Read literally, the formula needs
# three passes: one for the maximum, one for the sum, one for the results. Each pass reads the row from memory again.
#
# The first two can be one. Let m be the largest element so far and s the sum of exp(x - m) so far. When a tile brings a
# larger m′, every term of s was taken with the wrong maximum, by the same factor:
#
# exp(x - m′) = exp(x - m) · exp(m - m′)
#
# So s is multiplied by exp(m - m′), and the new tile's terms are added. This is the **online softmax** ([Milakov and
# Gimelshein, 2018](https://arxiv.org/abs/1805.02867)), and FlashAttention is built on it.
#
# **Exercise 06.7** (about 8 lines). Write the kernel `long_softmax(x, y, tile)`: block i computes row i, of any length,
# in tiles of shape (1, tile). It loads the row twice. Start from the largest element -∞ and the sum 0, both of shape
# (1, 1); `ct.max(part, 1, keepdims=True)` has that shape too, and `ct.maximum` compares two tiles.


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
# How fast is it? The table has the speed of such kernels, written as on this page, as a fraction of
# `torch.softmax`, for matrices of 256 MiB with rows of different lengths. **Predict** first: where does one tile a row
# win, where does it lose, and what does the third pass cost?

# %%
show_sweep("softmax_rows")

# %% [markdown]
# One tile a row reads memory once, and wins as long as a row fits in the registers; at 65,536 elements it does not, and
# the compiler spills. There the online kernel leads, and its lead over three passes is the pass that it saves, less the
# arithmetic that it adds. Short rows are slow in all of them: a block with 4 KB of work hardly pays for its own start,
# and a tile of 4,096 elements is three quarters padding. With several rows in one tile the short rows gain most.
# `torch` has a kernel of its own for short rows, and is ahead at every length: notebook 07 tunes tiles and hints.
#
# ## What the compiler made of it
#
# `compile_cutile` compiles a kernel for a GPU that need not be here. This is `double` for Hopper, with arrays of
# 4096×4096 and tiles of 64×64. You asked for a load and a store, and said nothing of threads or of vectors.

# %%
matrix = TensorSpec((4096, 4096))
compiled = compile_cutile(double, [matrix, matrix, 64, 64], "sm_90")
print(compiled)
print(*sorted(compiled.instructions))

# %% [markdown]
# `ld.global.v4` and `st.global.v4` are the 128-bit accesses that you arranged by hand in notebook 05: four words of 32
# bits. (`ld.global` and `st.global` are the names that they begin with. All of them here go on with v4.)
#
# ## What to remember
#
# - An array is memory, a tile is a value, a block is a run of the body. An index counts tiles.
# - A store drops what is past the edge; a load pads it, with a value that you choose: 0 for a sum, -∞ for a maximum. A
#   tile that lies wholly outside is a fault.
# - Tile sizes are powers of two, known when the kernel is compiled. Shapes align at the right.
# - A reduction keeps its tile's dtype: convert to fp32 before you add, and carry fp32.
# - `ct.launch(stream, grid, kernel, arguments)`; the grid is a tuple, and it is the host that divides and rounds up.
#
# ## Test yourself
#
# <details><summary>1. A kernel takes the product of each row's elements. With what must a row of 100 be padded in a
# tile of 128, and which padding mode does that?</summary>
#
# With 1, and none does. So mask by hand: `ct.where(there, tile, 1.0)`, where `there` compares `ct.arange(128)` with the
# number of columns.
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
# Nothing. What a block does that loads and stores wholly outside is undefined; on another GPU, or with another version
# of the compiler, it may write into what lies behind the array.
#
# </details>

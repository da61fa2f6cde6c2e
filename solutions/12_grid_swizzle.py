# ---
# jupyter:
#   tutorlib:
#     minutes: 90
#     summary: Which tiles are computed together, what L2 then has to hold, and what that is worth.
# ---

# %% [markdown]
# # 12 · Which block computes which tile
#
# The blocks of a GEMM are independent: any order of them gives the same C. But a few hundred blocks run at the same
# time, and the tiles that they read compete for the L2 cache. A few lines at the top of the kernel choose which tiles
# are computed *together*. At 8192³ the best order reads less than half as much from an H200's memory as the default.
# This gains 2% in one kernel and 14% in another; this page counts why.
#
# > **After this page you can** count the tiles that a wave of blocks reads, test that an order of blocks computes each
# > tile once, remap the blocks of a kernel, also onto a triangle, compute the L2 traffic of an order, say whether it
# > matters, and predict which sizes lose speed to the last wave.
# >
# > **It takes** about 90 minutes, on any machine, best in two sittings: stop after 12.3. A GPU times exercise 12.2.

# %%
from collections import Counter
from contextlib import suppress
from functools import partial
from math import ceil

import cutlass

from tutorlib import (
    MEMORY_READ, all_sweep_results, by, check, explore_block_order, hardware_of, l2, show_block_order, show_figure,
    show_source, show_speeds,
)  # fmt: skip

# %% [markdown]
# ## The tiles that a wave reads
#
# In practice blocks start in the order of their numbers; CUDA does not promise it. An H200 has 132 SMs; with two blocks
# on each, 264 run at a time: a *wave*. In each step along K every block needs a tile of A, which all blocks in its row
# of C share, and a tile of B, which all blocks in its column share. The first block to ask fetches it from device
# memory; the others find it in L2.
#
# In `make_gemm`, the kernel of notebooks 10 and 11, block numbers run down a column of tiles, then down the next:
# **raster order**. Here is a small grid: 16×16 tiles of C, 32 blocks at a time. A number is a block, and a color is a
# wave. The first wave reads the tiles that are marked A and B in the margins.

# %%
show_block_order((16, 16), {"raster": l2.raster}, 32)

# %% [markdown]
# In this step that is every tile of A and two of B. Is there a better set of 32 tiles? In one step along K a wave
# reads:


# %%
def footprint(tiles):
    """The tiles of A and of B, together, if each is fetched once."""
    rows, columns = zip(*tiles, strict=True)
    return len(set(rows)) + len(set(columns))


# %% [markdown]
# A rectangle of *r* × *c* tiles has a footprint of *r* + *c*. With *r* · *c* fixed, a square is best. So take
# **groups** of rows: down `group` rows, on to the next column, down again, until the group is done. Such an order is
# also called a *grid swizzle*.

# %%
show_block_order((16, 16), {"raster": l2.raster, "groups of 4": partial(l2.grouped, group=4)}, 32)

# %% [markdown]
# ## A published remapping
#
# Eric Schreiber's [ladder](https://schreibereric.substack.com/p/demystifying-cute-how-to-write-a) has a step that
# remaps the blocks. As published, it takes the kernel from 111% to 112% of cuBLAS at 2048³ on an A100.
# This is its mapping:

# %%
show_source(l2.as_published)

# %% [markdown]
# Before you time an order of blocks, verify one thing: does every tile get exactly one block?
#
# **Exercise 12.1** (about 5 lines). Write `visits(order, rows, columns)` for a function `order(block, rows, columns)` →
# `(m, n)`. Blocks are numbered from 0 to rows · columns − 1. Return two sorted lists: the tiles of the grid that no
# block computes, and the tiles, inside the grid or outside, that more than one block computes. Each tile is listed
# once.


# %%
def visits(order, rows, columns):
    ### BEGIN SOLUTION (about 5 lines)
    taken = Counter(order(block, rows, columns) for block in range(rows * columns))
    never = [(m, n) for m in range(rows) for n in range(columns) if (m, n) not in taken]
    often = sorted(tile for tile, times in taken.items() if times > 1)
    return never, often
    ### END SOLUTION


# %%
check("12.1", visits)

# %% [markdown]
# Apply it to the published order:

# %%
with suppress(NotImplementedError):  # until you have written visits
    for rows in (8, 12, 16, 17, 64):
        never, often = visits(l2.as_published, rows, 16)
        raster = all(l2.as_published(b, rows, 16) == l2.raster(b, rows, 16) for b in range(rows * 16))
        print(f"{rows} rows: {len(never)} tiles without a block, {len(often)} with several; raster order: {raster}")

# %% [markdown]
# Where 8 divides the rows, as at the published size, it is raster order, so the order does not explain the step from
# 111 to 112%. Elsewhere it rounds the rows up to a multiple of 8, and returns to raster order past the edge:

# %%
show_block_order((12, 8), {"as published": l2.as_published}, 24)

# %% [markdown]
# Outlined tiles get two blocks, hatched ones none.
#
# ## How high should a group be?
#
# `l2.grouped(block, rows, columns, group)` is the order in groups. A square wave reads least, and 264 blocks are a
# square of about 16 × 16. **Predict:** is 16 then right for any C? For a tall and narrow one? For a small one? Here are
# the tiles that all waves read together, by the height of a group:

# %%
for grid in ((64, 64), (16, 64), (64, 16), (8, 8)):
    heights = [height for height in (1, 2, 4, 8, 16, 32, 64) if height <= grid[0]]
    orders = {height: partial(l2.grouped, group=height) for height in heights}
    read = {height: sum(map(footprint, l2.waves(grid, order, 264))) for height, order in orders.items()}
    print(f"{by(grid)} tiles:", ", ".join(f"{tiles} in groups of {height}" for height, tiles in read.items()))

# %% [markdown]
# The small C is one wave: its order does not matter. In the tall, narrow C one row is best. Here is a smaller one, with
# 24 blocks at a time:

# %%
show_block_order((16, 5), {f"groups of {n}": partial(l2.grouped, group=n) for n in (4, 1)}, 24)

# %% [markdown]
# With groups of one row, a wave covers about five rows, and the next wave continues where it ends. With groups of four,
# waves begin and end inside a group: 45 tiles in all, in place of 39.
#
# ## In the kernel
#
# The top of `make_gemm`'s kernel is `m, n = order(block, rows, columns)`, and everything below it uses only *m* and
# *n*. Raster order is `block % rows, block // rows`. Now you write `order`, without `l2.grouped`.
#
# `rows` and `columns` are known while the kernel is compiled, the block's number at run time only:
#
# | works at run time | needs the value while the kernel is compiled |
# |---|---|
# | `//`, `%`, `*`, `+`, `-`, `cutlass.min(a, b)` | Python's `min`, `divmod`, `int()` |
# | `if` under `@cute.jit` or `@cute.kernel`, which rewrite it (notebook 11) | `if` without a decorator, as in `order` |
#
# **Exercise 12.2** (about 5 lines). Write `in_groups(block, rows, columns)` → `(m, n)`: groups of rows, with a height
# that you choose.
#
# - Each tile gets exactly one block on every grid, also where the height does not divide the rows, and where there are
#   fewer rows than one group. Which of your numbers change in a last group with fewer rows?
# - On a grid of 64×64 tiles, and on a random large one, the first 264 blocks read at most three quarters of the tiles
#   that they read in raster order.
#
# A GPU times it at 8192³, in `make_gemm` with notebook 11's two stages.


# %%
def in_groups(block, rows, columns):
    ### BEGIN SOLUTION (about 5 lines)
    group = 8 if rows > 32 else rows  # up to 4096 rows of A, raster order is as good
    first = block // (group * columns) * group  # row of the group
    place = block % (group * columns)
    height = cutlass.min(group, rows - first)  # the last group may be lower
    return first + place % height, place // height
    ### END SOLUTION


# %%
check("12.2", in_groups)

# %% [markdown]
# ## From footprint to traffic
#
# The footprint treats each wave by itself. L2 may still hold a tile when the next wave asks for it. To count that, send
# all loads through a model of L2.
#
# **Exercise 12.3** (about 6 lines). Write `tiles_fetched(waves, steps, room)`: how many tiles are fetched from device
# memory. `waves` is a list as `l2.waves` returns it. The blocks of a wave walk along K in lockstep: in each of the
# `steps`, every block, in the order of the list, loads its tile of A and then its tile of B. When a wave has made all
# steps, the next one starts. `l2.Lru(room)` is a cache that evicts the least recently used entry; its `load(key, 1)`
# returns the tiles that this load fetches from memory: 1, or 0 where L2 still holds it. Your keys decide which loads
# are of the same tile.


# %%
def tiles_fetched(waves, steps, room):
    ### BEGIN SOLUTION (about 6 lines)
    cache, fetched = l2.Lru(room), 0
    for wave in waves:
        for step in range(steps):
            for m, n in wave:
                fetched += cache.load(("A", m, step), 1) + cache.load(("B", n, step), 1)
    return fetched
    ### END SOLUTION


# %%
check("12.3", tiles_fetched)

# %% [markdown]
# Now let your function count for an H200, with room in half of its L2: on data-center GPUs since the A100 a line that
# SMs of both sides read is kept in both halves.

# %%
h200 = hardware_of("NVIDIA H200")
ORDERS = {name: l2.ORDERS[name] for name in ("raster", "groups of 4", "groups of 8", "groups of 16")}
TILE_BYTES = 128 * 64 * 2


def in_lockstep(size, order, blocks=2):
    """The share of the loads that hit L2, and the GB from memory; blocks: on each SM."""
    grid, steps = (size // 128, size // 128), size // 64
    fetched = tiles_fetched(l2.waves(grid, order, blocks * h200.sms), steps, h200.l2 // 2 // TILE_BYTES)
    return 1 - fetched / (2 * grid[0] * grid[1] * steps), fetched * TILE_BYTES / 1e9


with suppress(NotImplementedError):  # until you have written tiles_fetched
    for name, order in ORDERS.items():
        hit_rate, gigabytes = in_lockstep(8192, order)
        print(f"8192³, {name:12} hit rate {hit_rate:.0%}, {gigabytes:.2f} GB from memory")

# %% [markdown]
# Over all its steps a wave reads more than half of L2 can hold. So the next wave finds nothing, and the bytes are your
# footprints times the steps. Groups of 8 raise the hit rate from 87 to 92% and take more than a third off the bytes.
#
# **Predict:** how much slower is raster order than groups of 8? How long do the bytes take at the datasheet's
# bandwidth, 4.8 TB/s, and how long does the arithmetic take, at the 623 TFLOP/s of `mma.sync` alone?
#
# ## Measured
#
# By the GPU's counters, and on its clock:


# %%
def beside_counters(name, blocks):
    """Your count, the GPU's, and the times, at 8192³."""
    for swept in all_sweep_results(name):
        took = {p.name: p.measurement for p in swept.points if p.measurement.shape == (8192, 8192, 8192)}
        for name, order in ORDERS.items():
            one, counted = took[name], swept.counters[name][MEMORY_READ]
            gain = took["raster"].median_us / one.median_us - 1
            print(
                f"{name:12} GB: yours {in_lockstep(8192, order, blocks)[1]:.2f}, counted {counted / 1e9:.2f}, alone "
                f"{1e6 * counted / h200.bandwidth:5,.0f} µs; kernel {one.median_us:,.0f} µs, {gain:+.1%}"
            )


with suppress(NotImplementedError):
    print(f"arithmetic alone {2 * 8192**3 / 623e6:,.0f} µs")
    beside_counters("gemm_orders", blocks=2)

# %% [markdown]
# For groups of 4 and 8 your count is within 3% of the counters. For raster order they say 3.31 GB, not 2.31, and for
# groups of 16 1.44, not 1.19. A possible cause: blocks do not run in lockstep, so L2 may drop a tile before the last
# block that shares it has asked. In the explorer, *drift* is the difference in pace between the slowest block and the
# fastest: set raster order and a small L2, and move it.

# %%
explore_block_order(rows=32, columns=32, in_flight=128, l2_mb=30)

# %% [markdown]
# **Fewer bytes are not more speed.** Groups of 8 read less than half as much as raster order and gain 1.6%. Groups of 4
# read a quarter less and lose 1.0%; the counters do not say why. (These runs, of one session, spread by less than 0.4%;
# sessions differ by more.) In every order the arithmetic alone takes more than twice as long as the bytes, and the
# copies run beside it. As long as they arrive in time, it does not matter whether from L2 or from memory. Notebook 13
# looks for the other 530 to 590 µs.
#
# ## Where it pays
#
# An order is worth your time where memory is close to being the limit. Notebook 07's kernel multiplies by WGMMA, at up
# to 989 TFLOP/s, and has tiles of 128×128, too: the same loads, with 0.63 of the arithmetic's time. **Predict** its
# gain.

# %%
with suppress(NotImplementedError):
    print(f"arithmetic alone {2 * 8192**3 / 989e6:,.0f} µs")
    beside_counters("tile_orders", blocks=1)

# %% [markdown]
# Groups of 8 are 14% faster. One block fits on an SM, so the waves are half as large, and your count is within 4% of
# the counters for all four orders. In raster order the bytes alone take 0.94 ms at the datasheet's bandwidth, and the
# arithmetic 1.11: too close for one to hide the other, since loads come in bursts. Notebook 14's kernel has tiles of
# 128×256, which need fewer bytes: timed with this table, groups gain 3.6% there (2.42 → 1.49 GB).
#
# ## Is it partition camping?
#
# Schreiber's article gives another reason to remap blocks, on an A100: **partition camping**, when neighboring blocks
# keep reading from the *same* memory channel, and the others idle. With K = 8192 a row is 2¹⁴ bytes, a power of two. If
# a few bits of the address selected the channel, 8192 would be slower than its neighbors, most of all with a tall A,
# which memory limits more. In TFLOP/s:

# %%
show_speeds("gemm_pitch")

# %% [markdown]
# On this GPU there is no dip at K = 8192, neither with the tall A nor in the square.
#
# ## A size a little larger, and much slower
#
# The ladder's figure, at the end of this page, dips at 3072. Count waves:

# %%
for size in (2560, 2816, 2944, 3072, 3328, 3584, 3840):
    tiles = (-(-size // 128)) ** 2
    waves = tiles / (2 * h200.sms)
    print(f"{size}: {tiles} tiles are {waves:.2f} waves; of {ceil(waves)} waves' places {waves / ceil(waves):.0%} work")

# %% [markdown]
# At 2816 the second wave fills most of the places. One tile more in each direction, and a third wave begins, of a
# single block, while the other SMs are idle. That is **wave quantization**. By this count 2944 is the slowest size.
#
# But two blocks on an SM share its tensor cores. A block that has an SM to itself can be up to twice as fast, so a last
# wave of no more than 132 blocks lasts half a wave, at best. The number that matters is how many blocks an *SM* gets,
# from the first wave to the last.
#
# **Exercise 12.4** (about 3 lines). Write `busy(m, n, tile, sms)`: the largest share of the kernel's time in which the
# GPU's tensor cores can do useful work. C is m×n, and each block computes a tile of `tile` = (M, N) elements. Blocks go
# to the SMs as evenly as possible. Five blocks keep an SM busy five times as long as one, however many of them are
# resident at once; the kernel ends with the last SM. The part of a tile that is outside C is no useful work.


# %%
def busy(m, n, tile, sms):
    ### BEGIN SOLUTION (about 3 lines)
    tiles = ceil(m / tile[0]) * ceil(n / tile[1])
    on_an_sm = ceil(tiles / sms)
    return m * n / (on_an_sm * sms * tile[0] * tile[1])
    ### END SOLUTION


# %%
check("12.4", busy)

# %% [markdown]
# **Predict** which size is the slowest. Then look at the measurement, in TFLOP/s: this page's kernel with two stages,
# notebook 13's with three, and cuBLAS:

# %%
show_speeds("gemm_waves")

# %% [markdown]
# Your count beside both kernels, relative to 3584:

# %%
with suppress(NotImplementedError):  # until you have written busy
    for swept in all_sweep_results("gemm_waves"):
        three, two = (
            {point.measurement.shape[0]: point.measurement.tflops for point in swept.of_kernel(name)}
            for name in ("13 three stages", "12 grid swizzle")
        )
        for size in sorted(three):
            share, whole = (busy(n, n, (128, 128), hardware_of(swept.gpu).sms) for n in (size, 3584))
            measured = f"three stages {three[size] / three[3584]:.2f}, two {two[size] / two[3584]:.2f}"
            print(f"{swept.gpu}, {size}: predicted {share / whole:.2f}, {measured}")

# %% [markdown]
# Three lines of counting predict the three-stage kernel within 3%, and its slowest size. With two stages the kernel is
# 0.05 to 0.11 below the prediction where the last wave has at most 132 blocks, at 2944, 3072 and 3840. A likely cause:
# there no other block on the SM fills a pause.
#
# ## Your kernel: half of a symmetric matrix
#
# C = A · Aᵀ holds the products of all pairs of A's rows, and it is symmetric: tiles (m, n) and (n, m) have the same
# numbers. Of T × T tiles, T · (T + 1) / 2 have to be computed.
#
# **Exercise 12.5** (about 20 lines). Write the kernel of `gram(a, c)`, and its map from a block's number to its tile.
# a is (M, K) and c (M, M), row-major fp32; M is a multiple of 16. A block has 16×16 threads and computes one tile of
# 16×16: each thread sums one element, directly from global memory.
#
# - There are T · (T + 1) / 2 blocks, for an even T and for an odd one. Each computes one tile, and stores it in both of
#   its places. No element of C is stored by two blocks.
# - The map from a block's number to its tile, m ≥ n, is integer arithmetic, without a square root. Row m of the
#   triangle has m + 1 tiles: which rows of different lengths make rows of equal length? Test it in Python, as in 12.1,
#   before the kernel uses it.
# - On the diagonal both places are in the block's own tile. Two threads may store one element there: their sums have
#   the same products in the same order.
# - `cute.arch.thread_idx()` is (x, y, 0).
#
# The check counts blocks and stores; the loads are not coalesced.


# %%
import cutlass.cute as cute
from cutlass import Float32


# %%
# gram_kernel(a, c, side): a (M, K), c (M, M), row-major fp32; side is T.
### BEGIN SOLUTION (about 20 lines)
def folded(block, side):
    """Row `fold` of the triangle, appended to row side - 1 - fold: every fold has side + 1 tiles."""
    fold, place = block // (side + 1), block % (side + 1)
    over = place // (side - fold)  # 1 past the end of the long row
    m = (1 - over) * (side - 1 - fold) + over * fold
    return m, place - over * (side - fold)


@cute.kernel
def gram_kernel(a: cute.Tensor, c: cute.Tensor, side: cutlass.Constexpr):
    x, y, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    m, n = folded(block, side)
    row, column = 16 * m + y, 16 * n + x
    total = Float32(0.0)
    for k in range(a.shape[1]):
        total += a[row, k] * a[column, k]
    c[row, column] = total
    c[column, row] = total


### END SOLUTION


@cute.jit
def gram(a: cute.Tensor, c: cute.Tensor):
    side = a.shape[0] // 16
    gram_kernel(a, c, side).launch(grid=(side * (side + 1) // 2, 1, 1), block=(16, 16, 1))


# %%
check("12.5", gram)

# %% [markdown]
# ## The ladder so far
#
# *12 grid swizzle* covers *11 two buffers* up to 4096: there the course's order is raster order. At 6144 groups are 1%
# slower, at 8192 2% faster.

# %%
show_figure("gemm_ladder_12")

# %% [markdown]
# ## What to remember
#
# - An order of blocks is a bijection. Test that it is one, also on grids whose rows the group's height does not divide.
# - A wave reads its rows of A plus its columns of B. Squares read least, but a wave begins where the last one ended.
# - A hit rate is not a speed. Work out first whether the kernel waits for the bytes: at 8192³ the same order gained 2%
#   with mma.sync and 14% with WGMMA.
# - Before you blame anything else for a dip, count the blocks that each SM gets.
#
# ## Test yourself
#
# <details><summary>1. A wave of 128 blocks computes 8 rows × 16 columns of tiles. How many tiles of A and B does it
# read in a step along K? How many in raster order, with 64 rows of tiles?</summary>
#
# 8 + 16 = 24. In raster order it reads 64 rows and 2 columns: 66.
#
# </details>
#
# <details><summary>2. The same kernel, with arithmetic twice as fast and the memory as it is. What does the order of
# blocks bring now?</summary>
#
# Probably more. The bytes take as long as before, now a larger share of the kernel's time. Where they take longer than
# the arithmetic, fewer bytes are less time.
#
# </details>
#
# <details><summary>3. You time a kernel at 4096 only, where C has 32×32 tiles, and two blocks fit on each of 132 SMs.
# What does that hide?</summary>
#
# 1024 tiles are 3.88 waves of 264: nearly full. At 4.1 waves some SMs have nine blocks instead of eight, for hardly
# more work. And an order of blocks that is wrong where 8 does not divide the rows would pass.
#
# </details>

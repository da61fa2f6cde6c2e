# ---
# jupyter:
#   tutorlib:
#     minutes: 70
#     summary: Which tiles are computed together, what L2 then has to hold, and what that is worth.
# ---

# %% [markdown]
# # 12 · Which block computes which tile
#
# The blocks of a GEMM are independent: any order of them gives the same C. But a few hundred blocks run at the same
# time, and the tiles that they read compete for the L2 cache. A few lines at the top of the kernel choose which tiles
# are computed *together*. At 8192³ a good order reads less than half as much from an H200's memory as the default. That
# gains 2% in one kernel and 14% in another. This page compares the time of the bytes with that of the arithmetic.
#
# > **After this page you can** count the tiles that a wave of blocks reads, find an order that reads fewer, count what
# > it fetches from device memory, say whether that matters, predict which sizes lose speed to the last wave, and map
# > blocks onto a triangle.
# >
# > **It takes** about 70 minutes, on any machine: 10 to read, 15 for cells and pictures, 45 for the exercises. A GPU
# > times your order and your kernel.

# %%
from contextlib import suppress
from functools import partial
from math import ceil

import cutlass

from tutorlib import MEMORY_READ, all_sweep_results, check, hardware_of, l2, show_block_order

# %% [markdown]
# ## The tiles that a wave reads
#
# In practice blocks start in the order of their numbers; CUDA does not promise it. An H200 has 132 SMs; with two blocks
# on each, 264 run at a time: a *wave*. In each step along K every block needs a tile of A, which all blocks in its row
# of C share, and a tile of B, which all blocks in its column share. The first block to ask fetches it from device
# memory; the others find it in L2.
#
# The course's `make_gemm` (notebooks 10 and 11) runs down a column of tiles, then down the next: **raster order**.
# Notebook 07's kernel took strips of rows instead, here called **groups**: down `group` rows, on to the next column,
# until the group is done. Such an order is also called a *grid swizzle*. Here are both on 16×16 tiles of C, with 32
# blocks at a time. A number is a block, a color is a wave, and the margins mark the tiles of A and B that the first
# wave reads.

# %%
show_block_order((16, 16), {"raster": l2.raster, "groups of 4": partial(l2.grouped, group=4)}, 32)

# %% [markdown]
# The first wave has a **footprint** of 18 tiles in raster order, all of A's and two of B's, and of 12 in groups. A
# rectangle of *r* × *c* tiles has the footprint *r* + *c*, so with *r* · *c* fixed a square is best.
#
# An order must also be a bijection: each tile gets exactly one block.
#
# ## An order that reads less
#
# 264 blocks are a square of about 16 × 16. **Predict:** is 16 the best height of a group also for a tall and narrow C?
# Here are the tiles that all waves together read in a step along K:


# %%
def read_by_waves(order, grid, in_flight=264):
    """The rows of A's tiles and the columns of B's that the waves read, all added up."""
    waves = l2.waves(grid, order, in_flight)
    return sum(len({m for m, _ in wave}) + len({n for _, n in wave}) for wave in waves)


print("height of a group ", *(f"{height:6}" for height in (1, 4, 8, 16, 32)))
for grid in ((64, 64), (64, 16), (8, 8)):
    read = [read_by_waves(partial(l2.grouped, group=height), grid) for height in (1, 4, 8, 16, 32)]
    print(f"{grid[0]:2}×{grid[1]:2} tiles of C    ", *(f"{tiles:6}" for tiles in read))

# %% [markdown]
# The small C is one wave: its order does not matter. On 64×16 tiles one row is best: a wave then covers about sixteen
# whole rows, and the next wave continues where it ends. With a height of 16, waves begin and end inside a group. The
# picture shows such a wave on a smaller scale: groups of 4 rows, waves of 40 blocks, the second wave.

# %%
show_block_order((16, 16), {"groups of 4": partial(l2.grouped, group=4)}, 40, wave=1)

# %% [markdown]
# It spans two groups and reads 18 tiles.
#
# **Exercise 12.1** (about 5 lines). Write `in_groups(block, rows, columns)` → `(m, n)`, without `l2.grouped`: an order
# that reads less than groups of any height. On 64×64 tiles, all waves of 264 blocks together read fewer than 568 tiles.
# Look at the wave above: which tiles should its second half compute?
#
# - Each tile gets exactly one block on every grid, also where the height of your groups does not divide the rows, and
#   where there are fewer rows than one group.
# - On a random grid with sides of 57 or more it reads less than groups of 8.
# - `rows` and `columns` are known while the kernel is compiled, the block's number only when it runs. The DSL does not
#   rewrite a plain function, so Python's `min`, `divmod` and `if` would need its value at compile time. Use `//`, `%`,
#   `*`, `+`, `-` and `cutlass.min(a, b)`.
#
# A GPU times it at 8192³, in `make_gemm` with notebook 11's two stages.


# %%
def in_groups(block, rows, columns):
    ### BEGIN SOLUTION (about 5 lines)
    group = 16
    first, place = block // (group * columns) * group, block % (group * columns)
    height = cutlass.min(group, rows - first)  # the last group may be lower
    m, n = first + place % height, place // height
    return m, n + first // group % 2 * (columns - 1 - 2 * n)  # every second group turns back
    ### END SOLUTION


# %%
check("12.1", in_groups)

# %% [markdown]
# ## From footprint to traffic
#
# The footprint treats each wave by itself. L2 may still hold a tile when the next wave asks for it. To count that, send
# all loads through a model of L2.
#
# **Exercise 12.2** (about 6 lines). Write `tiles_fetched(waves, steps, room)`: how many tiles are fetched from device
# memory. `waves` is a list of lists of tiles (m, n). The blocks of a wave walk along K in lockstep: in each of the
# `steps`, every block, in the order of the list, loads its tile of A and then its tile of B. `l2.Lru(room)` is a cache
# that evicts the least recently used entry; its `load(key, 1)` returns the tiles that this load fetches from memory:
# 1, or 0 where L2 still holds it. Which key makes two loads the same tile, and how long does the cache live?


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
check("12.2", tiles_fetched)

# %% [markdown]
# Now let your function count for an H200, with room in half of its L2. Since the A100 it has two partitions, and each
# [caches what the SMs connected to it access](https://developer.nvidia.com/blog/nvidia-ampere-architecture-in-depth/).
# We assume that a line read from both sides is kept twice. **Predict:** the arithmetic alone takes 1.76 ms at 8192³, at
# the 623 TFLOP/s that page 10 measured for `mma.sync`. How much faster than raster order is an order that reads half as
# much?
#
# *alone* is how long the counted bytes take at the datasheet's 4.8 TB/s. Compare times only within a table: other days
# differ by as much as these orders.

# %%
h200 = hardware_of("NVIDIA H200")
ORDERS = {name: l2.ORDERS[name] for name in ("raster", "groups of 4", "groups of 8", "groups of 16")}
TILE_BYTES = 128 * 64 * 2
GRID, STEPS, ROOM = (64, 64), 128, h200.l2 // 2


def beside_counters(name, blocks):
    """Your count of the GB from memory, the GPU's, and the times, at 8192³. blocks: on each SM."""
    for swept in all_sweep_results(name):
        took = {p.name: p.measurement.median_us for p in swept.points if p.measurement.shape[0] == 8192}
        for name, order in (ORDERS | {"groups of 16, there and back": in_groups}).items():
            if name not in took:
                continue
            fetched = tiles_fetched(l2.waves(GRID, order, blocks * h200.sms), STEPS, ROOM // TILE_BYTES)
            counted, gain = swept.counters[name][MEMORY_READ], took["raster"] / took[name] - 1
            print(
                f"{name:12}  your count {fetched * TILE_BYTES / 1e9:.2f} GB, the GPU's {counted / 1e9:.2f}, alone "
                f"{1e6 * counted / h200.bandwidth:3.0f} µs; kernel {took[name]:,.0f} µs, {gain:+.1%}"
            )


with suppress(NotImplementedError):  # until you have written tiles_fetched
    beside_counters("gemm_orders", blocks=2)

# %% [markdown]
# In the last row the count is of *your* order, counter and time of the course's. Turning back saves only 0.02 GB and
# 6 µs.
#
# In each of its 128 steps a full wave reads at least 33 tiles of 16 KiB, 69 MB in all. An H200 has 60 MiB of L2
# (`h200.l2`), and half is 31 MB. So the next wave finds nothing, and your count is the footprints times the steps. For
# groups of 4 and 8 the GPU's counters agree within 3%. For groups of 16 they say 1.35 GB, not 1.19, and for raster
# order 3.3 GB, not 2.3.
#
# Do blocks leave the lockstep? A block that lags may ask for a tile that L2 has dropped. `l2.traffic` is your model
# with a `drift`: the difference in pace between the slowest block and the fastest. If drift is the cause, *one* value
# must give the counters of all orders.

# %%
print("two blocks on an SM:", *ORDERS, sep="   ")
for drift in (0, 0.05, 0.074, 0.1, 0.15):
    sent = [l2.traffic(GRID, order, STEPS, (TILE_BYTES,) * 2, 2 * h200.sms, ROOM, drift) for order in ORDERS.values()]
    print(f"drift {drift:5.1%}, GB:   ", *(f"{one.fetched / 1e9:6.2f}      " for one in sent))

# %% [markdown]
# No value does. A drift of 7.4%, fitted to raster order, leaves groups of 16 at 1.19 GB, so drift is at most part of
# the cause.
#
# **Fewer bytes are not more speed.** Groups of 8 read less than half as much as raster order and gain 1.6%. Groups of
# 4 read a quarter less and gain nothing. The arithmetic takes more than twice as long as the bytes, in every order,
# and the copies run beside it.
#
# ## Where it pays
#
# An order is worth your time where memory is close to being the limit. Notebook 07's kernel multiplies by WGMMA. Its
# tiles are 128×128, too, so it has the same loads, and less time for them: at the datasheet's 989 TFLOP/s the
# arithmetic takes 1.11 ms, and cuBLAS needs about 1.36 ms for the whole GEMM.

# %%
with suppress(NotImplementedError):
    beside_counters("tile_orders", blocks=1)

# %% [markdown]
# Groups of 8 are 14% faster. One block fits on an SM, so the waves are half as large, and more tiles are fetched. Your
# count, without drift, is within 4% of the counters in every order. Both kernels in raster order:
#
# | | bytes alone | arithmetic | ratio | gain of groups of 8 |
# |---|---|---|---|---|
# | `mma.sync` | 0.70 ms | 1.76 ms, measured | 39% | 1.6% |
# | WGMMA | 0.94 ms | between 1.11 ms (datasheet) and 1.36 ms (cuBLAS) | 69% to 85% | 14% |
#
# The higher the ratio, the less a late byte can hide behind arithmetic. That fits both gains, but it does not prove
# the cause.
#
# ## A size a little larger, and much slower
#
# At 2816³ C has 484 tiles. With 264 at a time the second wave fills most of the places. At 2944³ there are 529 tiles,
# and a third wave begins, of a single block, while the other SMs are idle. That is **wave quantization**.
#
# But two blocks on an SM share its tensor cores. A block alone on its SM can be up to twice as fast, so a last wave of
# at most 132 blocks lasts half a wave, at best. What matters is how many blocks each *SM* gets in all.
#
# **Exercise 12.3** (about 3 lines). Write `busy(m, n, tile, sms)`: at most what share of the kernel's time the tensor
# cores of all SMs spend on elements of C. C is m×n, and each block computes a tile of `tile` = (M, N) elements. Blocks
# go to the SMs as evenly as possible. Five blocks keep an SM busy five times as long as one, however many are resident
# at once. The part of a tile that is outside C is not useful work.


# %%
def busy(m, n, tile, sms):
    ### BEGIN SOLUTION (about 3 lines)
    tiles = ceil(m / tile[0]) * ceil(n / tile[1])
    on_an_sm = ceil(tiles / sms)
    return m * n / (on_an_sm * sms * tile[0] * tile[1])
    ### END SOLUTION


# %%
check("12.3", busy)

# %% [markdown]
# **Predict** which size reaches the fewest TFLOP/s: 2560, 2816, 2944, 3072, 3328, 3584 or 3840. Then compare your count
# with the course's kernel in two stages and in notebook 13's three; all are relative to 3584³:

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
# It is 2560: its 400 tiles are three for each SM, and four more. Three lines of counting predict the three-stage
# kernel within 3%. Two stages are as slow at 2944. They stay 0.06 to 0.10 below the prediction at 2944, 3072 and 3840,
# elsewhere at most 0.04. At these three sizes the last wave has at most 132 blocks: each is alone on its SM, and two
# buffers do not keep a lone block busy (notebook 11).
#
# ## Your kernel: half of a symmetric matrix
#
# C = A · Aᵀ holds the products of all pairs of A's rows, and it is symmetric: tiles (m, n) and (n, m) have the same
# numbers. Here is a plain kernel that computes them both. A block has 16×16 threads and one tile of 16×16, and each
# thread sums one element, directly from global memory:

# %%
import cutlass.cute as cute


@cute.kernel
def square_kernel(a: cute.Tensor, c: cute.Tensor, side: cutlass.Constexpr):
    x, y, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    row, column = 16 * (block // side) + y, 16 * (block % side) + x
    total = cutlass.Float32(0.0)
    for k in range(a.shape[1]):
        total += a[row, k] * a[column, k]
    c[row, column] = total


@cute.jit
def square(a: cute.Tensor, c: cute.Tensor):
    side = a.shape[0] // 16
    square_kernel(a, c, side).launch(grid=(side * side, 1, 1), block=(16, 16, 1))


# %% [markdown]
# **Exercise 12.4** (about 20 lines). Write the kernel of `gram(a, c)`, which computes only half of the tiles: of T × T
# tiles, T · (T + 1) / 2. a is (M, K) and c (M, M), row-major fp32; M is a multiple of 16.
#
# - There are T · (T + 1) / 2 blocks, for an even T and for an odd one. Each computes one tile and stores it in both of
#   its places. No element of C is stored by two blocks. On the diagonal, two threads of a block may store one element,
#   since their sums are equal.
# - The map from a block's number to its tile needs only integer arithmetic. Row m of the triangle has m + 1 tiles:
#   which rows of different lengths make rows of equal length?


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
    total = cutlass.Float32(0.0)
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
check("12.4", gram)

# %% [markdown]
# Are half of the tiles half of the time? On a GPU, for 2,048 rows of 512:

# %%
import torch
from cutlass.cute.runtime import from_dlpack

if torch.cuda.is_available():
    a, c = torch.randn(2048, 512, device="cuda"), torch.empty(2048, 2048, device="cuda")
    views = [from_dlpack(tensor, assumed_align=16) for tensor in (a, c)]
    with suppress(NameError):  # until you have written gram_kernel
        for name, host in {"every tile": square, "yours": gram}.items():
            compiled = cute.compile(host, *views)
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            for n in range(23):
                if n == 3:
                    start.record()
                compiled(*views)
            end.record()
            end.synchronize()
            print(f"{torch.cuda.get_device_name()}, {name}: {start.elapsed_time(end) / 20 * 1000:,.0f} µs")
else:
    print("not run: no GPU here")

# %% [markdown]
# On an H200, 0.51 of the time. Your blocks load and multiply half as much in all, but they store as much: each stores
# its tile twice.
#
# ## What to remember
#
# - An order of blocks is a bijection. Test that it is one, also on grids whose rows the group's height does not divide.
# - A wave reads its rows of A plus its columns of B. Squares read least, and an order that turns back at the end of a
#   group shares columns across it.
# - Fewer bytes are not more speed. Work out first whether the kernel waits for them.
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
# <details><summary>2. The arithmetic becomes twice as fast, the memory stays as it is. What does the order bring
# now?</summary>
#
# Probably more: the bytes take a larger share of the kernel's time.
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

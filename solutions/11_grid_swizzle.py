# ---
# jupyter:
#   tutorlib:
#     minutes: 60
#     summary: Which tiles are computed together, what L2 then has to hold, and what that is worth.
# ---

# %% [markdown]
# # 11 · Which block computes which tile
#
# The blocks of a GEMM are independent: any order of them gives the same C. But a few hundred blocks run at the same
# time, and the tiles that they read compete for the L2 cache. A few lines at the top of the kernel choose which tiles
# are computed *together*. Nothing else changes, neither the loop nor the layouts.
#
# This page has a surprise about a published remapping, a lesson about cache hit rates, and an explanation of why a
# slightly larger matrix can be much slower.
#
# > **After this page you can** count the tiles that a wave of blocks reads, test that an order of blocks computes each
# > tile once, remap the blocks of a kernel, compute the L2 hit rate of an order, and predict which sizes lose speed to
# > the last wave.
# >
# > **It takes** about 60 minutes, on any machine; a GPU times exercise 11.4.

# %%
from collections import Counter, OrderedDict
from contextlib import suppress
from functools import partial

import torch

from tutorlib import (
    MEMORY_READ, TensorSpec, all_sweep_results, by, check, compile_cute, explain, explore_block_order, hardware_of, l2,
    show_block_order, show_figure, show_ladder, show_source, show_speeds, story,
)  # fmt: skip
from tutorlib.kernels.ampere import GemmConfig, in_eights, make_gemm, multistage

# %% [markdown]
# ## The tiles that a wave reads
#
# Blocks start in the order of their numbers. An H200 has 132 SMs; with two blocks on each, 264 run at a time: a *wave*.
# In each step along K every block needs a tile of A, which all blocks in its row of C share, and a tile of B, which all
# blocks in its column share. The first block to ask fetches it from device memory; the others find it in L2.
#
# In `make_gemm`, the kernel of notebook 10, block 1 computes the tile below that of block 0: block numbers run down a
# column of tiles, then down the next (**raster order**; in your kernel of 09.9 they run along rows). Here is a small
# grid: 16×16 tiles of C, 32 blocks at a time. A number is a block, and a color is a wave. The first wave reads the
# tiles that are marked A and B in the margins.

# %%
show_block_order((16, 16), {"raster": l2.raster}, 32)

# %% [markdown]
# That is all of A, and two columns of B. Is there a better set of 32 tiles?
#
# **Exercise 11.1** (about 2 lines). The blocks of a wave compute the tiles `(m, n)` of C in `tiles`. Write
# `footprint(tiles)`: how many tiles of A and of B, together, they read in one step along K, if each is fetched once.


# %%
def footprint(tiles):
    ### BEGIN SOLUTION (about 2 lines)
    rows, columns = zip(*tiles, strict=True)
    return len(set(rows)) + len(set(columns))
    ### END SOLUTION


# %%
check("11.1", footprint)

# %% [markdown]
# A rectangle of *r* × *c* tiles has a footprint of *r* + *c*. With *r* · *c* fixed, a square is best. So take
# **groups** of rows: down `group` rows, on to the next column, down again, until the group is done. (Such an order is
# also called a *grid swizzle*; the figures and tables below use that name for this page's kernel.)

# %%
show_block_order((16, 16), {"raster": l2.raster, "groups of 4": partial(l2.grouped, group=4)}, 32)

# %% [markdown]
# ## A published remapping
#
# Schreiber's [ladder](https://schreibereric.substack.com/p/demystifying-cute-how-to-write-a), which these pages follow,
# has a step that remaps the blocks. As published, it takes the ladder from 111% to 112% of cuBLAS on an A100.
# `l2.as_published` computes the same mapping, with the published factor of 8. Before you time an order of blocks,
# verify one thing: does every tile get exactly one block?
#
# **Exercise 11.2** (about 5 lines). Write `visits(order, rows, columns)` for a function `order(block, rows, columns)` →
# `(m, n)`. Blocks are numbered from 0 to rows · columns − 1. Return two sorted lists: the tiles of the grid that no
# block computes, and the tiles, inside the grid or outside, that more than one block computes.


# %%
def visits(order, rows, columns):
    ### BEGIN SOLUTION (about 5 lines)
    taken = Counter(order(block, rows, columns) for block in range(rows * columns))
    never = [(m, n) for m in range(rows) for n in range(columns) if (m, n) not in taken]
    often = sorted(tile for tile, times in taken.items() if times > 1)
    return never, often
    ### END SOLUTION


# %%
check("11.2", visits)

# %% [markdown]
# Now look at the published order, first where 8 divides the rows, then where it does not. No block computes the hatched
# tiles; several blocks compute those with a red outline.

# %%
show_block_order((16, 16), {"as published, 16 rows": l2.as_published}, 32)

# %%
show_block_order((12, 16), {"as published, 12 rows": l2.as_published, "groups of 8": l2.grouped}, 32)

# %% [markdown]
# Here is the code (`coverage`, in its docstring, is the course's own `visits`), and then two findings:

# %%
show_source(l2.as_published)

# %% [markdown]
# **Where 8 divides the rows, it is raster order.** With outer = block // 8 and inner = block % 8, the row is outer %
# (rows / 8) · 8 + inner. That is block % rows: the number is split into digits and put together again. The published
# size, 2048³, is such a case, so the order of the blocks does not explain the step from 111 to 112%.
#
# **Where 8 does not divide the rows, it is wrong.** A block whose tile would be below the last row falls back to its
# raster tile, which another block computes as well; other tiles are left out. At square powers of two, where such
# kernels are usually measured, the bug never shows.
#
# Anyone can make this mistake, and five lines find it: an order of blocks maps one small set to another, so you can
# test all of it. The first finding can be tested in the same way, on grids of powers of two:

# %%
powers = [(2**i, 2**j) for i in range(3, 7) for j in range(3, 7)]
print(all(l2.as_published(b, *grid) == l2.raster(b, *grid) for grid in powers for b in range(grid[0] * grid[1])))

# %% [markdown]
# ## How high should a group be?
#
# `l2.grouped(block, rows, columns, group)` is the order of notebook 07, written with arithmetic alone, so that a CuTe
# kernel can call it, too. A square wave reads least, and 264 blocks are a square of about 16 × 16. **Guess** before you
# go on: is 16 then right for any C? For a tall and narrow one? For a small one?
#
# Count before you believe a rule. `l2.waves((rows, columns), order, in_flight)` returns the tiles of every wave, and
# your `footprint` counts the tiles that each wave reads. As `order`, pass `partial(l2.grouped, group=…)`. The section
# *Measured* compares this count with the counters of an H200.
#
# **Exercise 11.3** (about 6 lines). Write `best_group(rows, columns, in_flight)`: of the heights 1, 2, 4, … (all powers
# of two below `rows`) and `rows` itself, the one with which all waves together read the fewest tiles; of several that
# are equally good, the smallest. This is ordinary Python, with `min` and `if` as you like: all its numbers are known
# before a kernel is compiled. 11.4 is different: there the block's number is known only at run time.


# %%
def best_group(rows, columns, in_flight):
    ### BEGIN SOLUTION (about 6 lines)
    def tiles_read(group):
        order = partial(l2.grouped, group=group)
        return sum(footprint(wave) for wave in l2.waves((rows, columns), order, in_flight))

    heights = [2**n for n in range(rows.bit_length()) if 2**n < rows] + [rows]
    return min(heights, key=tiles_read)
    ### END SOLUTION


# %%
check("11.3", best_group)

# %% [markdown]
# What does your function return for 64×64 tiles, for 16×64 and for 64×16, with 264 blocks at a time, and for 8×8? A
# tall, narrow C has a surprise.
#
# <details><summary>The four heights</summary>
#
# 16, 16, 1 and 1. In a C of 64×16 tiles, 264 blocks in groups of one row are about 16×16 tiles, too. In a C of 8×8 all
# blocks run in one wave, so every height reads the same tiles, and the smallest is returned.
#
# </details>
#
# Here is a smaller grid, tall and narrow, with 24 blocks at a time:

# %%
show_block_order((16, 5), {f"groups of {n}": partial(l2.grouped, group=n) for n in (4, 1)}, 24)

# %% [markdown]
# With groups of one row, a wave covers about five rows, and the next wave continues where it ends. With groups of four,
# waves begin and end inside a group, and each reads a few rows more. The usual group heights, 8 and 16, are for large
# squares.
#
# ## In the kernel
#
# In 09.9 you wrote `m, n = block // tiles_n, block % tiles_n` at the top of the kernel. In `make_gemm`'s kernel that
# line is `m, n = order(block, rows, columns)`, and `order` is what you write here. Everything below it uses only *m*
# and *n*.
#
# Here the block's number is known only at run time. Python's `if`, `min`, `divmod` and `int()` would need its value at
# compile time. Arithmetic is traced into the kernel: `//`, `%`, `*`, and `cutlass.min`. If you need a branch, decorate
# the function with `@cute.jit`: then its `if` becomes one of the kernel's. (For these, first `import cutlass` and
# `import cutlass.cute as cute`.)
#
# **Exercise 11.4** (about 2 lines). Write `in_groups(block, rows, columns)`, for the kernel: `l2.grouped` with the
# group that you think best. `rows` and `columns` are known while the kernel is compiled, so the group may depend on
# them, and you may call your `best_group` (`in_flight` is two blocks for each SM, on an H200 264). The check first
# tries it on whole grids, with a block's number that is known only at run time. On two large ones, 64×64 tiles and a
# random one, the first 264 blocks must read at most three quarters of the tiles that they read in raster order. Then
# the check compiles it into the two-stage kernel of notebook 10, which a GPU times at 8192³.


# %%
def in_groups(block, rows, columns):
    ### BEGIN SOLUTION (about 2 lines)
    group = 8 if rows > 32 else rows  # up to 4096 rows of A, raster order is as good
    return l2.grouped(block, rows, columns, group)
    ### END SOLUTION


# %%
check("11.4", in_groups)

# %%
gemm = make_gemm(GemmConfig(stages=2), multistage, order=in_groups)

# %% [markdown]
# That is notebook 10's kernel with your order of blocks; only `order=…` is new.
#
# What does it cost? First see what stays the same. `explain` counts all the traffic of a launch, here for 12×2 tiles of
# 64×64: in raster order, then in groups of 4. Before you run it: which of its lines will differ?

# %%
small = GemmConfig((64, 64, 64), stages=2)
a, b, c = torch.randn(768, 64).bfloat16(), torch.randn(128, 64).bfloat16(), torch.zeros(768, 128).bfloat16()
_ = explain(make_gemm(small, multistage, l2.raster), a, b, c)

# %%
_ = explain(make_gemm(small, multistage, partial(l2.grouped, group=4)), a, b, c)

# %% [markdown]
# Only the first: there are more instructions. Every copy, every wavefront and every sector is there as before, because
# a block reads the same amount whichever tile it has. The order changes which blocks read at the same time. The
# simulator has no L2, so it cannot see that; `l2.traffic` can.
#
# The new instructions compute the order. The grid is known at compile time, so the divisions become shifts and
# multiplications, and each thread executes them once. Compare the number of PTX instructions before the first copy, and
# the sequence after it. (`in_eights` is the course's order: groups of 8 where C has more than 32 rows of tiles, else
# raster order.)

# %%
SQUARE = [TensorSpec((8192, 8192), "bf16")] * 3
for name, order in {"raster": l2.raster, "groups": in_eights}.items():
    compiled = compile_cute(make_gemm(GemmConfig(stages=2), multistage, order), SQUARE)
    lines = compiled.body.splitlines()
    ahead = next(n for n, line in enumerate(lines) if "cp.async" in line)
    print(
        f"{name}: {ahead} instructions before the first copy; {compiled.registers} registers\n  {story(compiled.ptx)}"
    )

# %% [markdown]
# ## From footprint to traffic
#
# The footprint treats each wave by itself. But where L2 still holds a tile when the next wave asks for it, memory need
# not send it again. To know how much L2 saves, replay all loads through a model of it.
#
# **Exercise 11.5** (about 9 lines). Write `tiles_fetched(waves, steps, room)`: how many tiles device memory sends.
# `waves` is a list as `l2.waves` returns it. The blocks of a wave walk along K in lockstep: in each of the `steps`,
# every block, in the order of the list, loads its tile of A, (m, step), and then its tile of B, (n, step). When a wave
# has made all steps, the next one starts. L2 holds `room` tiles of both matrices together; once it is full, it evicts
# the least recently *used* tile. At the start it is empty. (In an `OrderedDict`, `move_to_end(key)` makes a key the
# newest one, and `popitem(last=False)` removes the oldest. `functools.lru_cache` would count for you: leave it.)


# %%
def tiles_fetched(waves, steps, room):
    ### BEGIN SOLUTION (about 9 lines)
    held, fetched = OrderedDict(), 0
    for wave in waves:
        for step in range(steps):
            for m, n in wave:
                for tile in (("A", m, step), ("B", n, step)):
                    fetched += tile not in held
                    held[tile] = True
                    held.move_to_end(tile)
                    if len(held) > room:
                        held.popitem(last=False)
    return fetched
    ### END SOLUTION


# %%
check("11.5", tiles_fetched)

# %% [markdown]
# Now let your function count for an H200. Its L2 has two halves, and both keep a line that SMs of both sides read; so
# the model's L2 has half of the bytes. **Predict** the hit rates before you run the cell: between which two of these
# orders is the difference largest, and at which size?

# %%
h200 = hardware_of("NVIDIA H200")
ORDERS = {name: l2.ORDERS[name] for name in ("raster", "groups of 4", "groups of 8", "groups of 16")}
TILE_BYTES = 128 * 64 * 2


def in_lockstep(size, order):
    """The share of the loads that hit L2, and the bytes from memory."""
    grid, steps = (size // 128, size // 128), size // 64
    fetched = tiles_fetched(l2.waves(grid, order, 2 * h200.sms), steps, h200.l2 // 2 // TILE_BYTES)
    return 1 - fetched / (2 * grid[0] * grid[1] * steps), fetched * TILE_BYTES


with suppress(NotImplementedError):  # until you have written tiles_fetched
    for size in (4096, 8192):
        for name, order in ORDERS.items():
            hit_rate, from_memory = in_lockstep(size, order)
            print(f"{size}: {name:12} hit rate {hit_rate:.0%}, {from_memory / 1e9:4.2f} GB from memory")

# %% [markdown]
# At 8192 the bytes are your footprints times the 128 steps: a wave reads more than L2 holds, so the next one finds
# nothing that it needs. The largest difference is at this size, too: 86% for groups of 4, 93% for groups of 16.
# Groups of 8 raise raster order's hit rate from 87 to 92%, which sounds like little, and take more than a third off
# the bytes: look at the misses.
#
# Real blocks do not stay in lockstep. `l2.traffic` is your function with one refinement: the paces of the blocks differ
# by up to an eighth, so they drift apart, and a tile may be evicted before the last block of its wave asks for it.


# %%
def drifting(size, order):
    """The bytes from memory where blocks drift apart."""
    grid, steps = (size // 128, size // 128), size // 64
    return l2.traffic(grid, order, steps, (TILE_BYTES,) * 2, 2 * h200.sms, h200.l2 // 2, drift=1 / 8).fetched


for size in (4096, 8192):
    print(f"{size}: " + ", ".join(f"{name} {drifting(size, order) / 1e9:.2f} GB" for name, order in ORDERS.items()))

# %% [markdown]
# Drift matters for raster order at 8192 alone. There the blocks that share a tile of A start 64 places apart, and L2
# may have dropped it before the later ones ask. In groups of 4 they start 4 apart.
#
# **Predict.** At 8192, by this count, raster order reads two to five times as much from memory as groups do. How much
# slower is it? Work it out: how long do these bytes take at the datasheet's bandwidth, 4.8 TB/s, and how long does the
# arithmetic take? (The ladder's figure, at the end of this page, has a dotted line for `mma.sync` alone: 623 TFLOP/s.)
# Write your number down; the measurement is below. In the explorer you can change the grid, the order and the size of
# L2; once its cell has run, its caption has the hit rate and the bytes from memory:

# %%
explore_block_order(rows=32, columns=32, in_flight=128, l2_mb=30)

# %% [markdown]
# ## Measured: the prediction
#
# Here is the same two-stage kernel with its blocks in other orders: on the left its speed, on the right its traffic
# from memory at 8192, by the GPU's counters.

# %%
show_figure("gemm_orders")

# %% [markdown]
# On the right the bars differ a lot; on the left the lines hardly do. (The black strokes, *model* in the legend, are
# the count with drift.)
#
# Now the numbers: first each order's speed relative to raster order, with the spread of the measurement; then, at 8192,
# the bytes from memory, by your count in lockstep, by the count with drift, and by the GPU's counters. *Alone* is the
# time that the counted bytes would take at the datasheet's bandwidth.

# %%
with suppress(NotImplementedError):  # until you have written tiles_fetched
    for swept in all_sweep_results("gemm_orders"):
        times = {
            name: {point.measurement.shape: point.measurement for point in swept.of_kernel(name)} for name in ORDERS
        }
        for shape in sorted(swept.shapes):
            base = times["raster"][shape]
            print(f"{swept.gpu}, {by(shape)}: raster {base.median_us:,.0f} µs, spread {base.spread:.1%}")
            for name in list(ORDERS)[1:]:
                took = times[name][shape]
                print(f"  {name:12} speed {base.median_us / took.median_us - 1:+.1%}, spread {took.spread:.1%}")
        for name, order in ORDERS.items():
            lockstep, drift = in_lockstep(8192, order)[1], drifting(8192, order)
            counted = swept.counters[name][MEMORY_READ]
            alone = 1e6 * counted / hardware_of(swept.gpu).bandwidth
            print(
                f"{name:12} {lockstep / 1e9:.2f} GB in lockstep, {drift / 1e9:.2f} with drift, {counted / 1e9:.2f} "
                f"counted: {alone:3.0f} µs alone, the kernel {times[name][shape].median_us:,.0f} µs"
            )

# %% [markdown]
# **A count is as good as its assumptions.** For groups of 4 and 8 both counts are within 3% of the counters, for
# groups of 16 they are a sixth too low, and for raster order the counters say 3.31 GB, between lockstep's 2.31 and
# drift's 5.88. In lockstep groups of 4 would read more than raster order; by the counters they read a quarter less.
# Count to find candidates; let the counters choose.
#
# **Fewer bytes are not more speed.** At 8192 groups of 4 read a quarter less than raster order, and are slower by more
# than the spread. Groups of 8 read less than half as much, and gain under 2%. At 4096 groups of 8 lose about as much,
# and at 2048 all differences are within the spread. Groups of 16, the height that counting chose in 11.3, read least at
# 8192, but their speed differs from that of groups of 8 by less than its spread.
#
# At 8192 the bytes alone take less time than the kernel, in every order. The copies run beside the arithmetic, and as
# long as they arrive in time, their origin does not matter. So twice the traffic costs a percent or two, not twice the
# time. Why does it cost anything? A likely reason, which this page does not test: copies arrive in time *on average*. A
# tile from memory takes longer than one from L2, and now and then it arrives after the tensor cores are ready for it;
# two buffers cannot cover that.
#
# So a better hit rate is worth your time where memory is close to being the limit: on a GPU with a smaller L2, less
# bandwidth or faster arithmetic. Pages 13 and 14 bring faster arithmetic, and ask the question again.
#
# ## Is it partition camping?
#
# The hit rate is one reason to remap blocks. Schreiber's article gives another for its step. Memory has many channels,
# and L2 has many slices. If neighboring blocks keep reading addresses that belong to the *same* channel, that channel
# queues while the others idle: **partition camping**. NVIDIA described it in 2009, in a note on transposing matrices:
# on the GPUs of that time a few bits of the address selected the channel, so rows a power of two apart met in one.
#
# You can test that without any remapping. Take a tall A and a narrow C, so that memory is close to being the limit. All
# blocks walk along K at the same time, so at each moment they read addresses that differ by multiples of a row. With K
# = 8192 a row is 2¹⁴ bytes; with K = 8128 or 8256 it is not a power of two. **If** a few bits of the address selected
# the channel, 8192 would be slower than its neighbors. The table is in TFLOP/s, and its column *8192* is 8192³
# (`tutor sweep gemm_pitch`):

# %%
show_speeds("gemm_pitch")

# %% [markdown]
# Look along each row for a dip at K = 8192, in the columns of the tall A and, for comparison, of a square C. There is
# none. (Today's GPUs probably hash many bits of the address into the channel; the table cannot tell.) The explanation
# was right once and is still repeated; a row of five numbers tests it.
#
# The order of blocks does change the traffic from memory, as you counted above.
#
# ## A size a little larger, and much slower
#
# The ladder's figure, at the end of this page, dips at 3072. The cache is not to blame. Count waves: two blocks fit on
# each of 132 SMs.

# %%
from math import ceil

# %%
for size in (2560, 2816, 2944, 3072, 3328, 3584, 3840):
    tiles = (-(-size // 128)) ** 2
    waves = tiles / (2 * h200.sms)
    print(f"{size}: {tiles} tiles are {waves:.2f} waves; of {ceil(waves)} waves' places {waves / ceil(waves):.0%} work")

# %% [markdown]
# At 2816 the second wave fills most of the places. One tile more in each direction, and a third wave begins, of a
# single block, while the other SMs are idle. That is **wave quantization**. By this count 2944 is the slowest size.
#
# But the count takes all places as equal, and they are not. Two blocks on an SM share its tensor cores. A block that
# has an SM to itself can be up to twice as fast, so a last wave of no more than 132 blocks lasts half a wave, at best.
# What counts is the number of blocks that an *SM* gets, from the first wave to the last.
#
# **Exercise 11.6** (about 3 lines). Write `busy(m, n, tile, sms)`: the largest share of the kernel's time in which the
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
check("11.6", busy)

# %% [markdown]
# **Predict** which size is the slowest, and how much slower than 3584 it is. Then look at the measurement, in TFLOP/s:
# this page's kernel with two stages, notebook 12's with three, and cuBLAS (`tutor sweep gemm_waves`):

# %%
show_speeds("gemm_waves")

# %% [markdown]
# The step after 2816 is there. But the slowest size is 2560; the count of waves said 2944. Here is your prediction
# beside the three-stage kernel, both in units of their value at 3584:

# %%
with suppress(NotImplementedError):  # until you have written busy
    for swept in all_sweep_results("gemm_waves"):
        speeds = {point.measurement.shape[0]: point.measurement.tflops for point in swept.of_kernel("12 three stages")}
        sms = hardware_of(swept.gpu).sms
        for size in sorted(speeds):
            predicted = busy(size, size, (128, 128), sms) / busy(3584, 3584, (128, 128), sms)
            print(f"{swept.gpu}, {size}: predicted {predicted:.2f}, measured {speeds[size] / speeds[3584]:.2f}")

# %% [markdown]
# Three lines of counting predict the speed of the three-stage kernel within 3%, the slowest size included. This page's
# kernel falls furthest short of the count at 2944, 3072 and 3840: compare the first two rows of the table. A block
# alone on its SM has no other block that fills its pauses while it waits for memory, so with two stages it gains less
# from having the tensor cores to itself. Where the last wave has at most 132 blocks, as at these three sizes, the third
# stage of notebook 12 brings most; at the other sizes it brings little. cuBLAS can choose among several tile sizes, and
# so among several counts of waves; notebook 14 cuts the last wave into equal parts.
#
# ## The ladder so far
#
# 11.4 is timed at 8192³ and the rows above it at 4096³, so its row has no gain; *Measured* has it, +1.6% over raster
# order. In the figure *11 grid swizzle* covers *10 two buffers* up to 4096: there the course's order is raster order.

# %%
show_ladder("09", "10", "11")

# %%
show_figure("gemm_ladder_11")

# %% [markdown]
# ## What to remember
#
# - An order of blocks is a bijection. Test that it is one, also on grids whose rows the group's height does not divide.
# - A wave reads its rows of A plus its columns of B. Squares read least, but a wave begins where the last one ended.
#   Replay the loads through an LRU cache to find candidates; let counters choose.
# - A hit rate is not a speed. Work out first whether the kernel waits for the bytes.
# - Turn an explanation into a prediction: partition camping says which size is slow, and that size is not.
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
# Probably more. The bytes take as long as before, which is now a larger share of the kernel's time. Where they take
# longer than the arithmetic, the kernel waits for memory, and fewer bytes are less time. Work out which it is before
# you expect a gain; notebook 14 measures.
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

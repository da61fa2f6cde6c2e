# ---
# jupyter:
#   tutorlib:
#     minutes: 50
#     summary: Which tiles are computed together, what L2 then has to hold, and what that is worth.
# ---

# %% [markdown]
# # 11 · Which block does which tile
#
# A GEMM's blocks are independent: any order of them gives the same C. But some hundred of them run at the same time,
# and what they read together is what the L2 cache has to hold. Which tiles are computed *together* is our choice, and
# it costs three lines at the top of the kernel. Nothing else changes: not the loop, not the layouts.
#
# This page has a surprise in it, about a remapping that was published, and a lesson about cache hit rates.
#
# > **After this page you can** count what a wave of blocks reads, test an order of blocks, choose one, tell a hit rate
# > from a speed, and say why a size a little larger can be much slower.
# >
# > **It takes** about 50 minutes, on any machine; a GPU times the last exercise.

# %%
from collections import Counter
from functools import partial
from math import ceil

import torch

from tutorlib import check, explain
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.ptx import story
from tutorlib.compiling.spec import TensorSpec
from tutorlib.draw import show_block_order
from tutorlib.explorers.block_order import explore_block_order
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.gemm import make_gemm
from tutorlib.kernels.ampere.main_loops import multistage
from tutorlib.kernels.ladder import in_eights
from tutorlib.machine.hardware import hardware_of
from tutorlib.measuring.counters import MEMORY_READ
from tutorlib.measuring.results import all_sweep_results
from tutorlib.models import l2
from tutorlib.notebook.measured import show_figure, show_ladder, show_speeds
from tutorlib.problems.wrong import by

# %% [markdown]
# ## What a wave reads
#
# Blocks start in the order of their numbers. With 132 SMs and two blocks on each, 264 run at a time: a *wave*. In each
# step along K every one of them wants a tile of A, the same for all blocks in its row of C, and a tile of B, the same
# for all in its column. Who comes first fetches it from device memory, the others find it in L2.
#
# So far the block number runs down the rows of C first (**raster order**). In a small picture: 16×16 tiles of C, 32
# blocks at a time. Green is what the first wave reads.

# %%
show_block_order((16, 16), {"raster": l2.raster}, 32)

# %% [markdown]
# All of A, and two columns of B. Is there a better set of 32 tiles?
#
# **Exercise 11.1** (about 2 lines). Write `footprint(tiles)`: how many tiles of A and of B, together, the blocks with
# these tiles `(m, n)` of C read in one step along K, if each is fetched once.


# %%
def footprint(tiles):
    ### BEGIN SOLUTION (about 2 lines)
    rows, columns = zip(*tiles, strict=True)
    return len(set(rows)) + len(set(columns))
    ### END SOLUTION


# %%
check("11.1", footprint)

# %% [markdown]
# For a rectangle of *r* × *c* tiles the footprint is *r* + *c*, and *r* · *c* is fixed: a square is best. So take
# **groups** of rows: down `group` rows, next column, down again, until the group is done.

# %%
show_block_order((16, 16), {"raster": l2.raster, "groups of 4": partial(l2.grouped, group=4)}, 32)

# %% [markdown]
# ## A remapping that was published
#
# Schreiber's [ladder](https://schreibereric.substack.com/p/demystifying-cute-how-to-write-a), which these notebooks
# follow, has such a step. As published it brings 111 % → 112 % of cuBLAS on an A100. The code is in
# `tutorlib/models/l2.py`, as `as_published`, with a factor of 8. Before one trusts an order of blocks, one thing has to
# be known: does every tile get exactly one block?
#
# **Exercise 11.2** (about 5 lines). Write `visits(order, rows, columns)` for a function `order(block, rows, columns)` →
# `(m, n)`. Blocks are numbered from 0 to rows · columns − 1. Return two sorted lists: the tiles of the grid that no
# block computes, and the tiles that more than one does (also where they lie outside of the grid).


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
# tiles; several compute the red ones.

# %%
show_block_order((16, 16), {"as published, 16 rows": l2.as_published}, 32)

# %%
show_block_order((12, 16), {"as published, 12 rows": l2.as_published, "groups of 8": l2.grouped}, 32)

# %% [markdown]
# Two findings.
#
# **Where 8 divides the rows, it is raster order.** Follow the code: the row is outer % (rows / 8) · 8 + inner, with
# outer = block // 8 and inner = block % 8. That is block % rows. The digits are taken apart and put together again, to
# the same number. So the step from 111 to 112 % was not due to the order of the blocks.
#
# **Where 8 does not divide the rows, it is wrong.** The blocks that would land below the last row fall back to their
# raster tile, which another block computes as well; and other tiles are left over. At square powers of two, where such
# kernels are usually measured, the bug never shows.
#
# It is no shame to write this, and five lines find it: an order of blocks is a function from a small set to itself, and
# one can simply try all of it. That it is raster order on grids of powers of two, too:

# %%
powers = [(2**i, 2**j) for i in range(3, 7) for j in range(3, 7)]
print(all(l2.as_published(b, *grid) == l2.raster(b, *grid) for grid in powers for b in range(grid[0] * grid[1])))

# %% [markdown]
# ## How high should a group be?
#
# `l2.grouped(block, rows, columns, group)` is the order of notebook 07, made of arithmetic alone, so that a CuTe kernel
# can call it too. A wave that is a square reads least, and 264 blocks are a square of about 16 × 16. **Guess** before
# you go on: is 16 then right for any C? What of one that is tall and narrow, and what of small ones?
#
# Count before you believe a rule; the counters of an H200 have the last word further down. `l2.waves((rows, columns),
# order, in_flight)` gives the tiles of every wave, and your `footprint` says what each reads.
#
# **Exercise 11.3** (about 6 lines). Write `best_group(rows, columns, in_flight)`: of the heights 1, 2, 4, … (all powers
# of two below `rows`) and `rows` itself, the one with which all waves together read the fewest tiles; of several that
# are equally good, the smallest. This is ordinary Python, with `min` and `if` as you like: all its numbers are known
# before a kernel is compiled. In 11.4 one number is not.


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
# What does your function say of 64×64 tiles, of 16×64 and of 64×16? A tall, narrow C has a surprise. Here is a small
# one, 24 blocks at a time:

# %%
show_block_order((16, 5), {f"groups of {n}": partial(l2.grouped, group=n) for n in (4, 1)}, 24)

# %% [markdown]
# With groups of one row, a wave is five rows and ends where the next one goes on; with groups of four, waves begin and
# end inside of groups, and each reads a few rows more. The rule of thumb, 8 or 16, is one for large squares.
#
# ## What L2 makes of it
#
# The picture of waves says how much is read at one moment. How much comes from device memory in the end depends on what
# L2 still holds when it is asked for again. `l2.traffic` plays all loads of a GEMM through a cache that forgets what
# was used longest ago. Two things had to go into it before it agreed with the counters of an H200 (the tests compare):
# L2 has two halves, which keep copies of the same lines, so half of its size counts; and blocks do not stay in step, so
# the loads of a "wave" are spread out.

# %%
h200 = hardware_of("NVIDIA H200")
for size in (4096, 8192):
    grid, k_tiles = (size // 128, size // 128), size // 64
    for group in (0, 4, 8, 16):
        order = partial(l2.grouped, group=group) if group else l2.raster
        seen = l2.traffic(grid, order, k_tiles, (128 * 64 * 2, 128 * 64 * 2), 2 * h200.sms, h200.l2 // 2, drift=0.125)
        name = f"groups of {group}" if group else "raster"
        print(f"{size}: {name:12} {seen.fetched / 1e9:5.2f} GB from memory, hit rate {seen.hit_rate:.0%}")
    print(f"{size}: {'the least':12} {seen.least / 1e9:5.2f} GB")

# %% [markdown]
# Read the two sizes apart. At 4096 no group saves much: when raster order comes to the next column of tiles, most of A
# is still in L2. At 8192 A is four times as large, and much of it has gone by then.
#
# **Predict.** At 8192 raster order reads several times as much from memory. How much slower is it? Work it out: how
# long do these bytes take at the datasheet's bandwidth, and how long does the arithmetic take? Write your number down;
# it is settled below.

# %%
explore_block_order(rows=32, columns=32, in_flight=128, l2_mb=30)

# %% [markdown]
# ## In the kernel
#
# The place is the line `m, n = order(block, …)` at the top of `gemm_kernel`. All that follows is made of *m* and *n*.
#
# Here the block's number is known at run time only. Python's `if`, `min`, `divmod` and `int()` want to know it at
# once, while the kernel is compiled, and cannot. Arithmetic can wait: `//`, `%`, `*`, and `cutlass.min`. If you want a
# branch, put `@cute.jit` over the function: then its `if` becomes one of the kernel's. (This page has not imported
# them: `import cutlass` and `import cutlass.cute as cute`.)
#
# **Exercise 11.4** (about 2 lines). Write `in_groups(block, rows, columns)`, for the kernel: `l2.grouped` with the
# group that you think best. `rows` and `columns` are known while the kernel is compiled, so the group may depend on
# them; your `best_group` may be asked. It is first tried on whole grids, with a block that is known at run time, then
# compiled into the two-stage kernel of notebook 10, and timed at 8192³.


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
# That is notebook 10's kernel with your order of blocks; `order=…` is all that is new.
#
# What does it cost? Look first at what it leaves alone. `explain` counts all that a launch moves, here for 12×2 tiles
# of 64×64: in raster order, then in groups of 4. Before you run it: which of its lines will differ?

# %%
small = GemmConfig((64, 64, 64), stages=2)
a, b, c = torch.randn(768, 64).bfloat16(), torch.randn(128, 64).bfloat16(), torch.zeros(768, 128).bfloat16()
_ = explain(make_gemm(small, multistage, l2.raster), a, b, c)

# %%
_ = explain(make_gemm(small, multistage, partial(l2.grouped, group=4)), a, b, c)

# %% [markdown]
# Only the first: a few more instructions. Every copy, every wavefront and every sector is there as before: a block asks
# for the same things whichever tile it has. What changes is who asks at the same time. The simulator has no L2, so it
# cannot see that; `l2.traffic` can.
#
# The new instructions are those of the order. The grid is known when the kernel is compiled, so its divisions become
# multiplications, once in a block's life. Compare the PTX up to the first copy, and the story after it. (`in_eights` is
# the course's order: groups of 8 where C has more than 32 rows of tiles, raster order where it has fewer.)

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
# ## Measured: the prediction
#
# The same two-stage kernel with its blocks in other orders. On the left its speed, on the right the traffic from memory
# at 8192, by the GPU's counters.

# %%
show_figure("gemm_orders")

# %% [markdown]
# The bars on the right differ a lot, the lines on the left hardly. (The strokes are the model of above. For groups they
# meet the bars. For raster order it expects more than was counted: its blocks drift apart further than these did.)
#
# Now your prediction, from the same measurements. *Alone* is the time that the bytes would take at the datasheet's
# bandwidth if nothing else happened, at 8192, where they were counted.

# %%
for swept in all_sweep_results("gemm_orders"):
    slow, fast = (
        {point.measurement.shape: point.measurement for point in swept.of_kernel(name)}
        for name in ("raster", "groups of 8")
    )
    for shape in sorted(slow.keys() & fast.keys()):
        print(
            f"{swept.gpu}, {by(shape)}: groups of 8 are {slow[shape].median_us / fast[shape].median_us - 1:+.1%} faster"
        )
    for name in swept.counters.keys() & {"raster", "groups of 8"}:
        alone = 1e6 * swept.counters[name][MEMORY_READ] / hardware_of(swept.gpu).bandwidth
        took = {"raster": slow, "groups of 8": fast}[name][max(swept.shapes)].median_us
        print(f"  {name}: the bytes alone {alone:,.0f} µs, the kernel {took:,.0f} µs")

# %% [markdown]
# At 8192 the bytes alone take less time than the kernel, in both orders: the copies run beside the arithmetic, and as
# long as they arrive in time, it does not matter where they came from. That is why a multiple of the traffic costs a
# few percent and not a multiple of the time. Why does it cost anything? A likely reason, which this page does not test:
# "in time" holds on average. A tile from memory takes longer than one from L2, and now and then it arrives after the
# tensor cores are ready for it; two buffers cannot cover that. At the smaller sizes L2 holds most of A in any order;
# there is little to save, and the groups are not faster.
#
# So a hit rate is worth its time where memory is close to being the limit: on a GPU with a smaller L2 or less
# bandwidth, and with faster arithmetic. Notebooks 13 and 14 bring the latter, and there the question is asked again.
# (It also saves energy, which a GPU at its power limit can turn into clock.)
#
# ## Is it partition camping?
#
# The article gives another reason for its step. Memory has many channels, and L2 has many slices. If neighboring
# blocks keep asking for addresses that belong to the *same* channel, that one queues while the others idle: **partition
# camping**. GPUs of 2008 had it badly, whenever the rows of a matrix were a power of two apart, since the channel was a
# few bits of the address.
#
# That can be tested, without any remapping. Take a tall A and a narrow C, so that memory is close to being the limit.
# All blocks walk along K at the same time, so at each moment their addresses are a multiple of a row apart. With K =
# 8192 a row is 2¹⁴ bytes. With K = 8128 or 8256 it is not a power of two. **If** channels were bits of the address,
# 8192 would be the slow one. (`tutor sweep gemm_pitch`)

# %%
show_speeds("gemm_pitch")

# %% [markdown]
# Look along each row for a dip at K = 8192, in the columns of the tall A and, for comparison, of a square C. On the
# GPUs measured here there is none: they compute the channel from many bits of the address, hashed, so that no stride
# you are likely to meet falls on one channel. An explanation that was right once is still being repeated; a row of
# five numbers tells.
#
# What the order of blocks changes is what L2 has to fetch again, as you counted above.
#
# ## A size a little larger, and much slower
#
# The ladder's figure dips at 3072. No cache is to blame; count waves. C has 24×24 tiles there, and two blocks fit on
# each of 132 SMs.

# %%
for size in (2560, 2816, 2944, 3072, 3328, 3584, 3840):
    tiles = (-(-size // 128)) ** 2
    waves = tiles / (2 * h200.sms)
    print(f"{size}: {tiles} tiles are {waves:.2f} waves; of {ceil(waves)} waves' places {waves / ceil(waves):.0%} work")

# %% [markdown]
# At 2816 the last wave is nearly full. One tile more in each direction, and a third wave begins that is nearly empty:
# almost all SMs wait for a few. That is **wave quantisation**. **Predict** which size is the slowest, then look (`tutor
# sweep gemm_waves`):

# %%
show_speeds("gemm_waves")

# %% [markdown]
# The step after 2816 is there. But with two stages 2560 is about as slow as 2944, and the count did not say so: it
# knows the places that work, and not what a block pays whatever its K, for its launch, its first load and its results.
#
# And where the last wave has no more blocks than there are SMs, each block has an SM to itself: no other block fills
# its pauses while it waits for memory. There the third stage of notebook 12 is worth most. cuBLAS has several tile
# sizes and picks one whose waves come out full; notebook 14 cuts the last wave into equal parts.
#
# ## The ladder so far
#
# 11.4 is timed at 8192³, the rows above it at 4096³: between two sizes no gain is printed.

# %%
show_ladder("09", "10", "11")

# %%
show_figure("gemm_ladder_11")

# %% [markdown]
# ## What to remember
#
# - An order of blocks is a bijection. Test that it is one, on grids that nothing divides.
# - What a wave reads is its rows of A plus its columns of B: squares read least, and waves begin where they begin.
# - A hit rate is not a speed. Work out first whether the bytes are what the kernel waits for.
# - An explanation is a prediction: partition camping says which size is slow, and that size is not.
# - Count waves before you blame anything else for a dip.
#
# ## Test yourself
#
# <details><summary>1. A wave of 128 blocks computes 8 rows × 16 columns of tiles. How many tiles of A and B does it
# read in a step along K? How many in raster order, with 64 rows of tiles?</summary>
#
# 8 + 16 = 24. In raster order it is 64 rows and 2 columns: 66.
#
# </details>
#
# <details><summary>2. The same kernel, with arithmetic twice as fast and the memory as it is. What does the order of
# blocks bring now?</summary>
#
# More, as far as one can tell without measuring. The bytes take as long as before, which is now twice the share of the
# kernel's time. Where they take longer than the arithmetic, the kernel waits for memory, and fewer bytes are less time.
# Work out which it is before you expect a gain; notebook 14 measures.
#
# </details>
#
# <details><summary>3. You time a kernel at 4096 only, where C has 32×32 tiles, and two blocks fit on each of 132 SMs.
# What does that hide?</summary>
#
# 1024 tiles are 3.88 waves of 264: nearly full. A size with 4.1 waves takes as long as five, for hardly more work, and
# an order of blocks that is wrong where 8 does not divide the rows would pass.
#
# </details>

# ---
# jupyter:
#   tutorlib:
#     minutes: 180
#     summary: One lever after the other, each predicted and then measured, until a GEMM chooses its own configuration.
# ---

# %% [markdown]
# # 14 · Beat cuBLAS
#
# Notebook 13's kernel has all of Hopper's instructions. What is between it and cuBLAS, and beyond, is who does what
# when: who loads, who multiplies, which tiles are computed together, who writes results while others work. There is
# hardly a new instruction on this page, and there are some ten levers. For each of them: what do you expect? Say it,
# in percent, before you look. Some bring nothing, and some cost at one size what they bring at another.
#
# At the end a function of yours picks the configuration for any shape, and that is what is timed.
#
# > **After this page you can** give warps roles and registers, share tiles in a cluster, keep blocks busy from the
# > first tile to the last, say before you measure what each of these is worth, and choose a configuration for a shape
# > that nobody has timed.
# >
# > **It takes** about 180 minutes, on any machine, where the kernels are simulated; a Hopper GPU times them.

# %%
from collections import Counter
from contextlib import suppress
from functools import cache
from itertools import product
from math import ceil

import cutlass
import cutlass.cute as cute
import pandas
import torch
from cutlass.cute.nvgpu import warpgroup
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tutorlib import check
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.draw import show_roles, show_work
from tutorlib.kernels.hopper.config import ConfigError, HopperConfig
from tutorlib.kernels.hopper.specialised import RoleSteps, load_steps, make_specialised, multiply_steps
from tutorlib.machine import device
from tutorlib.machine.features import WGMMA
from tutorlib.models import hopper_gemm as course
from tutorlib.models import l2, work
from tutorlib.models.work import Sm
from tutorlib.notebook.measured import show_figure, show_gains, show_ladder, show_levers, show_sustained, show_sweep
from tutorlib.notebook.trials import compare_on_gpu
from tutorlib.notebook.tuner import show_model, tune_hopper

# %% [markdown]
# ## Where the time goes
#
# Here is a block of notebook 13's kind, as a cartoon: three tiles of C, one after the other. Two warpgroups share each
# tile, and one of their warps also starts the loads. Hatched: the tensor cores have nothing to do.

# %%
show_roles("plain")

# %% [markdown]
# Two gaps in each tile. The first multiplication waits for the tile's first bytes, and no load for them has been issued
# yet: the warps that could issue it are busy with the epilogue. After the last multiplication come those results.
#
# The first gap goes away as soon as *another warp* issues the loads.

# %%
show_roles("cooperative")

# %% [markdown]
# ## Two roles
#
# So one more warpgroup joins the block, the **producer**. A single warp of it does all loads, and never waits for
# anything but a free stage. The **consumers** multiply, and never load. What connects them is notebook 13's ring:
# each stage has two mbarriers, `full` and `empty`.
#
# | | producer | consumers |
# |---|---|---|
# | waits for | `empty[stage]`: all have read it | `full[stage]`: the bytes are there |
# | then | announces bytes, starts TMA | fence, wgmma, commit |
# | tells | `full[stage]`, by TMA | `empty[stage]`, when its wgmma has *read* the stage |
#
# Compare with notebook 13: the waits are the same, but each is in another warp's program. No `if` decides any more
# whether there is a next tile to load. The producer's loop is as simple as a loop can be, and its lead over the
# consumers is as long as the ring.
#
# Both loops are run once for each tile, on `steps`:
#
# - `steps.k_tiles`, `steps.stages`, `steps.stage_bytes`
# - `steps.full + s`, `steps.empty + s`: the mbarriers of stage `s`. A phase of `full` ends with one arrival and the
#   bytes that it announces; one of `empty` with an arrival of *each warp* that multiplies, `steps.consumers` in all.
# - `steps.load(k_tile, s)` starts the copies of A's and B's tile; their bytes count for `full[s]`.
# - `steps.multiply(s, first)` issues the wgmmas of a stage. `first`, True or False in Python: discard the old
#   accumulators.
#
# `make_pipeline_state(PipelineUserType.Producer, stages)` counts for you: `.index`, `.phase`, `.advance()`, `.clone()`.
# A producer's phase starts at 1, so that it finds all stages empty.
#
# **Exercise 14.1** (about 7 lines). Write `produce(steps)`. All lanes of one warp run it. One lane arrives (`with
# cute.arch.elect_one():`); `steps.load` elects its own. The calls are those of notebook 13's main loop:
# `mbarrier_wait`, `mbarrier_arrive_and_expect_tx`.


# %%
@cute.jit
def produce(steps: RoleSteps):
    ### BEGIN SOLUTION (about 7 lines)
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
        steps.load(k_tile, state.index)
        state.advance()
    ### END SOLUTION


# %%
check("14.1", produce)

# %% [markdown]
# The consumers' loop has one trap. `commit_group` says that a multiplication was *issued*. That it has read its stage,
# you know after `wait_group`. If you wait for each one before the next is issued, the tensor cores run dry between
# them. So leave one group in flight until the next is issued, and free the stage of the one *before*.
#
# **Exercise 14.2** (about 20 lines). Write `consume(steps)`, run by every warp that multiplies. At `empty` one lane of
# each warp arrives. When `consume` returns, no wgmma may be in flight: the accumulators are rounded next. The rehearsal
# plays it beside a producer, with 2, 3 and 4 stages, and assumes the worst that the mbarriers allow.


# %%
@cute.jit
def consume(steps: RoleSteps):
    ### BEGIN SOLUTION (about 20 lines)
    state = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
    warpgroup.fence()
    steps.multiply(state.index, True)
    warpgroup.commit_group()
    before = state.clone()
    state.advance()
    for _ in cutlass.range(steps.k_tiles - 1, unroll=1):
        cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
        warpgroup.fence()
        steps.multiply(state.index, False)
        warpgroup.commit_group()
        warpgroup.wait_group(1)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.empty + before.index)
        before = state.clone()
        state.advance()
    warpgroup.wait_group(0)
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive(steps.empty + before.index)
    ### END SOLUTION


# %%
check("14.2", consume)

# %% [markdown]
# The kernel around them is in `tutorlib/kernels/hopper/specialised.py`; its parts are notebook 13's. There every tile
# has mbarriers of its own, so that your loops can count from 0; what you will see later carries index and phase on from
# tile to tile.
#
# **Predict:** with tiles of 128×128, half as large, how much slower is it? There are more stages then, and more tiles
# to hide the ends of others behind.

# %%
large, small = (make_specialised(HopperConfig((128, n, 64)), load_steps, multiply_steps) for n in (256, 128))
SQUARE = [TensorSpec((4096, 4096), "bf16")] * 3
compiled = compile_cute(large, SQUARE, "sm_90a")
print(compiled)
compare_on_gpu({"128×256": large, "128×128": small}, [2048, 4096], needs=WGMMA)

# %% [markdown]
# (On the course's H200 it is 5 or 6 percent slower, at both sizes. What the small tile pays is counted further down,
# in *What a step asks for*.)
#
# ## Registers move
#
# Look at the line about registers again: 384 threads with 168 of them each. A consumer thread holds 128 accumulators,
# and needs more than 168 registers as soon as it holds rounded results as well. The producer's threads count stages,
# and need two dozen. But a block starts with the same number for every thread.
#
# For this there is an instruction: `setmaxnreg`. A warpgroup gives registers back to the block's pool
# (`setmaxregister_decrease`), and another takes them (`setmaxregister_increase`), waiting until they are there.

# %%
print(*(line.strip() for line in compiled.ptx.splitlines() if "setmaxnreg" in line), sep="\n")

# %% [markdown]
# The rules: an SM has 65,536 registers. A block of *w* warpgroups that multiply and one that loads starts with 65,536
# over all its threads, for each of them, rounded down to a multiple of 8. That is the pool, and not a register more.
# `setmaxnreg` takes multiples of 8, 24 at least.
#
# **Exercise 14.3** (about 4 lines). Write `register_split(warpgroups, need)` → (producer, consumers), the registers of
# each thread afterwards: for the producer what it needs, for the others all that they can have. There are at least two
# of these warpgroups.


# %%
def register_split(warpgroups, need):
    ### BEGIN SOLUTION (about 4 lines)
    start = 65_536 // (128 * (warpgroups + 1)) // 8 * 8
    producer = max(24, -(-need // 8) * 8)
    consumer = ((warpgroups + 1) * start - producer) // warpgroups // 8 * 8
    return producer, consumer
    ### END SOLUTION


# %%
check("14.3", register_split)

# %%
for warpgroups in (2, 3):
    for need in (24, 40, 56):
        print(f"{warpgroups} multiply, the producer needs {need}: {course.register_split(warpgroups, need)}")

# %% [markdown]
# With three of them each has 160. That is enough for the accumulators of 64×256 (128 registers), but ptxas refuses: a
# wgmma must fit into the registers that a thread *starts* with, and that is 128 for 512 threads.
#
# What happens with the two calls the wrong way round? The consumers ask for registers that no warp gives back, and wait
# forever. A hang, then, and not a wrong number.
#
# ## The other gap: results
#
# Rounding 128×256 accumulators and handing them to TMA takes time, and meanwhile both warpgroups leave the tensor cores
# idle. (They do not wait for each other: every warp puts its own 16 rows into shared memory, by `stmatrix`, and starts
# its own TMA store. That is the least that a warp can do, and it needs no barrier.)
#
# There are two ways out. **Ping-pong**: each warpgroup has a tile of its own; while one multiplies, the other deals
# with results. **Deferred stores**: the 128 accumulators become 64 registers of bf16 at once, the next tile's first
# wgmmas are issued, and only then are the results stored, under the multiplication. That is what all the registers are
# for.

# %%
show_roles("cooperative", "deferred stores", "ping-pong")

# %% [markdown]
# In the cartoon ping-pong wins. **Predict** before you read on: what does it cost? A single warpgroup holds all of a
# tile's accumulators, so a tile cannot be as large.
#
# Here is what warps really did: timestamps of the SM's clock, written by each role inside the kernel, at 4096³, from
# the last K tiles of one tile of C to the first of the next (`tutor sweep hopper_timeline`). The cost of the timestamps
# themselves is printed above each.

# %%
show_figure("hopper_timeline")

# %% [markdown]
# The numbers count a block's K tiles from its first one on. At K = 4096 each tile of C has 64 of them, so with 128 the
# third tile begins.
#
# - *plain*: the loads for 128 (red) go out when the results have, and both warpgroups wait for memory's latency.
# - *cooperative*: the producer issued the load of 128 long before; its next stroke comes as soon as a stage is free.
#   What is left is the gap of the results, which both warpgroups have at nearly the same time.
# - *ping-pong*: that gap is gone, too. One warpgroup multiplies from the moment that the other stops.
#
# And yet ping-pong takes longest. Its tile is 128×192, so a K tile is three quarters of the others' work; but in cycles
# (above each) it is more than three quarters. Why?
#
# ## What a step asks for
#
# A step along K moves a certain number of bytes, through three paths, each with a bandwidth of its own. You know the
# tensor cores' rate: 4,096 operations in a cycle on each SM, 1,024 cycles for 128×256×64. Are the others fast enough?
#
# **Shared memory** moves 128 bytes in a cycle. TMA writes both tiles into it. And each wgmma reads its 64 rows of A
# once, and *all* of B's tile: two warpgroups with 64 rows each read B twice.
#
# **L2** has to bring A's and B's tile. In a **cluster** of *m*×*n* blocks, blocks in one row want the same tile of A:
# each loads one *n*-th of it, and multicasts it to all *n*. It is the same for B along a column. Each block still gets
# whole tiles into its own shared memory, but L2 sends fewer bytes.
#
# **Exercise 14.4** (about 4 lines). Write `step_bytes(tile, cluster)` → (shared memory's bytes, L2's bytes) of one
# block in one step along K, for bf16. `tile` is (M, N, K), `cluster` (M, N) in blocks.


# %%
def step_bytes(tile, cluster):
    ### BEGIN SOLUTION (about 4 lines)
    (m, n, k), (cluster_m, cluster_n) = tile, cluster
    written = m + n
    read = m // 64 * (64 + n)
    return (written + read) * k * 2, (m // cluster_n + n // cluster_m) * k * 2
    ### END SOLUTION


# %%
check("14.4", step_bytes)

# %%
print("tile      cluster  cycles of the tensor cores  shared memory, bytes in a cycle   L2, bytes in a cycle")
for tile in [(128, 256, 64), (256, 128, 64), (256, 192, 64), (128, 192, 64), (128, 128, 64), (64, 256, 64)]:
    for cluster in [(1, 1), (2, 1), (2, 2)]:
        cycles = 2 * tile[0] * tile[1] * tile[2] / 4096
        smem, from_l2 = (bytes / cycles for bytes in course.step_bytes(tile, cluster))
        print(f"{tile[0]:3}×{tile[1]:3}   {cluster[0]}×{cluster[1]} {cycles:18.0f} {smem:28.0f} {from_l2:26.0f}")

# %% [markdown]
# Read the first line. At the tensor cores' full rate a tile of 128×256 takes *all* of shared memory's 128 bytes, and 48
# bytes in every cycle from L2, for each of 132 SMs at once. Smaller tiles need more bandwidth from both, and that is
# the price of ping-pong: its tiles are 128×192 or 64×256. Anything that reduces L2 traffic is welcome.
#
# Take shared memory's column with a grain of salt. Nsight Compute's counter for shared memory's bandwidth (L1/TEX in
# `ncu --section SpeedOfLight`) agrees with wgmma's reads alone, as if TMA's writes took none of it. So more than 128 in
# that column need not cost anything.
#
# ## Clusters
#
# **Predict** what a cluster of 2×1 brings over none: L2 sends a third less. And 2×2, where it sends half?
#
# Blocks of a cluster have a rank: along M first, so block (*m*, *n*) has rank *m* + *n* · cluster[0]. TMA's multicast
# takes a mask, with bit *r* set where the block with rank *r* is to receive.
#
# **Exercise 14.5** (about 5 lines). Write `multicast(rank, cluster, rows, mode)` → (first row, rows, mask): the part of
# a shared tile that this block loads, and for whom. `mode` 0 is A's tile: it is the same for all blocks with this one's
# *m*, and they divide its `rows` among them in the order of *n*. `mode` 1 is B's, the other way round.


# %%
def multicast(rank, cluster, rows, mode):
    ### BEGIN SOLUTION (about 5 lines)
    place = rank % cluster[0], rank // cluster[0]
    part = rows // cluster[1 - mode]
    ranks = range(cluster[0] * cluster[1])
    mask = sum(1 << r for r in ranks if (r % cluster[0], r // cluster[0])[mode] == place[mode])
    return place[1 - mode] * part, part, mask
    ### END SOLUTION


# %%
check("14.5", multicast)

# %%
for rank in range(4):
    (a_first, a_rows, a_mask), (b_first, b_rows, b_mask) = (
        course.multicast(rank, (2, 2), n, i) for i, n in enumerate((128, 256))
    )
    print(
        f"block {rank} of 2×2 loads rows {a_first:3} to {a_first + a_rows - 1:3} of A for {a_mask:04b}, "
        f"and {b_first:3} to {b_first + b_rows - 1:3} of B for {b_mask:04b}"
    )

# %% [markdown]
# There is a price again. A stage is free when *all* blocks have read it that receive its rows: `empty` waits for
# arrivals from other SMs. And a cluster's blocks start together, on neighboring SMs.
#
# ## Waves
#
# 132 SMs, and 2048×2048 is 128 tiles of 128×256. It could not fit better. What of other sizes, and of clusters?
#
# **Exercise 14.6** (about 3 lines). Write `count_waves(m, n, tile, cluster, at_once)` → (waves, clusters at work in the
# last one), where the GPU holds `at_once` clusters at a time. A cluster works on `cluster[0]` × `cluster[1]` tiles.


# %%
def count_waves(m, n, tile, cluster, at_once):
    ### BEGIN SOLUTION (about 3 lines)
    clusters = ceil(m / (tile[0] * cluster[0])) * ceil(n / (tile[1] * cluster[1]))
    waves = ceil(clusters / at_once)
    return waves, clusters - (waves - 1) * at_once
    ### END SOLUTION


# %%
check("14.6", count_waves)

# %%
rows = {}
for size in (1024, 2048, 3072, 4096, 8192):
    for tile in [(128, 256, 64), (128, 192, 64), (256, 192, 64)]:
        waves, last = course.count_waves(size, size, tile, (2, 1), 66)
        area = tile[0] * tile[1]
        rows.setdefault(f"{size}", {})[f"{tile[0]}×{tile[1]}"] = (
            f"waves: {waves}, {last} in the last: {size * size / (waves * 132 * area):.0%}"
        )
pandas.DataFrame.from_dict(rows, orient="index")

# %% [markdown]
# The percent are the tensor cores' useful time at best. At 2048 a tile of 128×192 loses a third before it has begun.
#
# One more thing is in these waves. An H200's SMs come in groups (GPCs), and not all groups have as many. A cluster
# lives in one group, so of clusters with four blocks a GPU may hold fewer than 132 / 4 = 33. **Predict:** at 2048, 128
# tiles are 32 clusters of 2×2. What happens where the GPU holds 31?

# %%
for at_once in (33, 32, 31):
    print(f"{at_once} clusters of 2×2 at a time: {course.count_waves(2048, 2048, (128, 256, 64), (2, 2), at_once)}")
if reason := device.why_not(WGMMA):
    print(f"how many this GPU holds: {reason}")
else:
    from tutorlib.kernels.hopper.launch import max_clusters

    print(f"this GPU holds {max_clusters(2)} clusters of two blocks, {max_clusters(4)} of four")

# %% [markdown]
# ## Persistent blocks
#
# Cooperative, deferred, ping-pong: all of them need a block to have a *next* tile. So the kernel launches as many
# blocks as fit, and each takes tile after tile. Then the order of tiles is ours, and no longer the hardware's.
#
# **Exercise 14.7** (about 4 lines). Write `walk(block, cluster, clusters, grid, group)`: the tiles (*m*, *n*) of C that
# a block computes, in order. `clusters` of them run; blocks are numbered cluster by cluster, and in each by rank. C has
# `grid` = (rows, columns) *cluster* tiles, and `l2.grouped(number, rows, columns, group)` says where the number-th
# lies. Clusters that work at the same time should be neighbors in that order.


# %%
def walk(block, cluster, clusters, grid, group):
    ### BEGIN SOLUTION (about 4 lines)
    number, rank = divmod(block, cluster[0] * cluster[1])
    rows, columns = grid
    places = [l2.grouped(tile, rows, columns, group) for tile in range(number, rows * columns, clusters)]
    return [(m * cluster[0] + rank % cluster[0], n * cluster[1] + rank // cluster[0]) for m, n in places]
    ### END SOLUTION


# %%
check("14.7", walk)

# %%
for block in (0, 1, 2, 131):
    print(f"block {block:3} at 4096³, clusters of 2×1: {course.walk(block, (2, 1), 66, (16, 16), 8)}")

# %% [markdown]
# Nothing is handed out while the kernel runs: who does what is arithmetic, so the producer and the consumers work it
# out each for themselves, and need not talk about it. That is why `consume` could start anew with every tile.
#
# ### Where the order of tiles comes back
#
# In notebook 11 a better hit rate brought little. Now the arithmetic is twice as fast. Two more switches belong here.
# `zigzag`: K runs backwards in every other tile, so what was loaded last is asked for first. `stagger`: neighbors
# begin K at different places. All blocks in a row of tiles want the *same* lines of A, and as they walk along K in
# step, they want them at the same moment. **Predict:** is that a hot spot in L2 that `stagger` takes away, or one
# fetch that serves them all? It is in the table below, and with it two more rows that need a name. *Tile order* is
# `raster="m"` and `snake=True`: tiles follow one another in the other direction, and every other band of them is
# walked backwards. *Polling* is `polls=True`: a warp that waits asks its mbarrier again and again, and does not sleep
# in between.
#
# ## The last wave
#
# 4096 has 512 tiles of 128×256 for 132 SMs: 3.88 waves, which take as long as 4. In the last one, 16 SMs are idle.
# **Stream-K**: lay the K tiles of all tiles end to end, and cut that line into equal parts, one for each cluster. Where
# a cut goes through a tile, one cluster hands its accumulators to another, which adds them.
#
# **Exercise 14.8** (about 10 lines). Write `stream_k(cluster, clusters, tiles, k_tiles)`: the list of
# `(tile, first K tile, end)` that this cluster works on; all are counted from 0, and `end` is one past the last.
# Together the clusters must cover everything once, their shares differ by one K tile at most, and no tile is cut
# without need.


# %%
def stream_k(cluster, clusters, tiles, k_tiles):
    ### BEGIN SOLUTION (about 10 lines)
    share, longer = divmod(tiles * k_tiles, clusters)
    begin = cluster * share + min(cluster, longer)
    end = begin + share + (1 if cluster < longer else 0)
    items = []
    while begin < end:
        tile, first = divmod(begin, k_tiles)
        last = min(k_tiles, first + end - begin)
        items.append((tile, first, last))
        begin += last - first
    return items
    ### END SOLUTION


# %%
check("14.8", stream_k)

# %%
show_work({"whole tiles": work.whole_tiles, "stream-K": work.stream_k}, clusters=4, tiles=6, k_tiles=6)

# %% [markdown]
# A quarter less time here. And it is not free: the accumulators of a 128×256 tile are 128 KiB in fp32, which are
# written to L2 and read back by a block that waits for them. **Predict:** at which of 2048, 4096, 8192 is it worth
# that? (The kernel shares only as many tiles as the last wave has, and one wave more where these are few. The rest stay
# whole.)
#
# ### Few tiles, long K
#
# At 768×1280×16384 there are 30 tiles of 128×256, and 132 SMs. Smaller tiles would give everyone something to do. But
# then count what they ask for:

# %%
for tile in [(128, 256, 64), (128, 128, 64), (64, 128, 64), (64, 64, 64)]:
    tiles, (_, from_l2) = ceil(768 / tile[0]) * ceil(1280 / tile[1]), course.step_bytes(tile, (1, 1))
    print(f"{tile[0]:3}×{tile[1]:3}: {tiles:3} tiles, {tiles * from_l2 / 2**20:.1f} MiB from L2 for 64 of K")

# %% [markdown]
# The other way is to keep the large tile and cut K: **split-K**, the switch `split_k=4`. Four blocks have a quarter of
# the tile's K each and form one cluster, so their partial results need no detour through L2. Each block adds up a
# quarter of the tile. It sends its accumulators of the other three quarters to the blocks that add those, straight from
# registers into *their* shared memory (`st.async`), and an mbarrier there counts the bytes that have arrived, as it
# does for TMA. No block collects alone: each stores the quarter of C that it has added.
#
# Where do those partial results find room? Once a block has read its last stage, in its stages. So there is a second
# mbarrier, on which the other blocks arrive when they are ready; a block that sends earlier writes where a wgmma still
# reads.
#
# **Predict:** a block is sent three quarters of 128 KiB. How long is that beside its K tiles, if SMs exchange some 32
# bytes in a cycle? And with eight parts?

# %%
for parts in (1, 2, 4, 8):
    config, k_tiles = HopperConfig(persistent=False, split_k=parts), ceil(16384 / 64 / parts)
    print(
        f"split_k={parts}: {k_tiles:3} K tiles, {k_tiles * 1024:7,} cycles; is sent {config.given_bytes // 1024:3} KiB"
    )

# %% [markdown]
# ## The levers, measured
#
# Each row with a + adds one lever to a row above it (which one, the picture below shows as a tree), and the percent
# are its gain over that row. The numbers are speeds relative to cuBLAS at 2048³, 4096³ and 8192³, timed in turns in one
# run. `cycles` are timestamps taken inside the kernel: what a K tile took. The floor is 1,024 for a tile of 128×256,
# 768 for 128×192 and 1,536 for 256×192. It is no speed: where results leave under a multiplication, K tiles may take
# longer, and the kernel less.

# %%
show_levers()

# %% [markdown]
# And the same as gains. Where two levers work on the same gap, the second brings less, whichever that is: so some stand
# here in both orders. Look for such a pair.

# %%
show_gains()

# %%
show_figure("hopper_levers")

# %% [markdown]
# How good was your list? At 2048 there is one wave, so nothing that hides behind a *next* tile can help: persistent,
# deferred, tile order; and stream-K, which cuts tiles that would have fitted, costs most. Clusters of 2×2 have no row:
# where a GPU holds fewer than 32 of them, they need a second wave at 2048, as you counted. At 4096 it is persistence
# that counts. At 8192, with 16 waves, three things bring something: persistence, zigzag, and stream-K in the last wave.
# And the last row, with another tile, is the best of all at 8192 and the worst of all at 2048. So there is no list of
# levers to pull: for each shape there is something to choose, and that is where this page ends.
#
# And multicast, for which L2 sends a third less? Next to nothing. Probably blocks in step are each other's cache: they
# ask for the same lines at the same moment, and one answer serves them all, cluster or not. That may also be why
# `stagger`, which sounds so right, costs something: out of step, lines are asked for again, and have to stay in L2 for
# longer. It depends on who is whose neighbor, though. A launch *without* clusters puts blocks on other SMs than one of
# clusters with a single block each, and as such the same kernel was often slower. So the course's kernel says nothing
# of clusters where there are none (`geometry` in `tutorlib/kernels/hopper/gemm.py`).
#
# ### In watts
#
# That was a GPU that may cool down between two rounds. Under a long load it runs into its power limit, and lowers the
# clock until it fits. Then the kernel is faster that needs fewer *joules*: bytes that are not moved, and SMs that do
# not wait with everything switched on. A lever that saves cycles and no joules should bring less. "In turn" is beside
# cuBLAS, where both share one clock; "alone" is each by itself, at the clock that it finds. Is it the thriftier one
# that gets a higher clock? Read *energy* (joules beside cuBLAS's) and *MHz* together before you believe it, and then
# the sizes apart. (*multicast* and *zigzag, polling* have all levers of the tree's rows above them; *chosen* is what
# the function at the end of this page picks.)

# %%
show_sustained()

# %% [markdown]
# No: at 4096 and 8192 no kernel runs at a higher clock than cuBLAS. Where the limit holds all draw the same watts, so a
# launch's joules are its time once more, as far as the meter can tell (cuBLAS's own joules, whose row is the middle one
# of its runs, differ by 2 to 3 percent from run to run). A kernel that needs fewer cycles has more at work in each:
# each costs more, and the clock goes down until it is paid for. That is why *alone* says less than *in turn* there.
#
# ## FP8: 320 rows
#
# Notebook 07 left off here: A has 320 rows, B is a weight matrix of 32576×7168, both e4m3. Its idea was to put B's rows
# where wgmma has its 64, and A's 320 where any multiple of 8 will do. Here this is a switch, `transposed=True`: tiles
# of Cᵀ, 256×160 or 128×160, and 320 is 2 × 160, with nothing left over. A cluster of two shares B's tile.

# %%
for at in [(128, 256), (64, 256), (160, 256), (160, 128)]:
    tile = (*at, 128)
    waves, last = course.count_waves(320, 32576, tile, (1, 1), 132)
    print(f"{at[0]:3}×{at[1]:3}: {waves} waves, at best {320 * 32576 / (waves * 132 * at[0] * at[1]):.0%}")

# %% [markdown]
# **Scales.** e4m3 has three bits after the point and ends at 448, so a tensor in it comes with scales. The simplest
# contract: one for each matrix. DeepGEMM's is finer: A has one for every 1×128 (a token, 128 of K), B one for every
# 128×128. With one scale each, C is scaled once at the end. With block scales, every 128 of K have a scale of their
# own, so the tensor cores' result after 128 steps must be scaled and added to a second accumulator, by ordinary
# instructions: in a tile of 128×160 each thread has 80 accumulators, and adds to each of them 56 times.
#
# Either needs a reference that one can believe. The simplest one undoes the quantisation, and multiplies in fp32.
#
# **Exercise 14.9** (about 3 lines). Write `dequantise(x, scales, block)`: `x` (rows, columns) in e4m3, of which every
# `block` = (rows, columns) shares one of `scales`, a tensor with a place for each block down and across. Blocks at the
# edge may be cut off. The result is in fp32.


# %%
def dequantise(x, scales, block):
    ### BEGIN SOLUTION (about 3 lines)
    rows, columns = x.shape
    spread = scales.repeat_interleave(block[0], 0).repeat_interleave(block[1], 1)
    return x.float() * spread[:rows, :columns]
    ### END SOLUTION


# %%
check("14.9", dequantise)

# %% [markdown]
# With it, quantise a matrix in which one number is large, and see what block scales are for. **Predict:** numbers
# around 1, and one of 30. And one of 30,000? (e4m3 is a floating-point format. What does a scale cost it, and when?)

# %%
BLOCKS = {"one scale": (256, 512), "128×128": (128, 128), "1×128": (1, 128)}
torch.manual_seed(0)
exact = torch.randn(256, 512)
for outlier, (name, block) in product((30.0, 30_000.0), BLOCKS.items()):
    exact[3, 5] = outlier
    tiles = exact.unflatten(0, (-1, block[0])).unflatten(2, (-1, block[1]))  # (blocks, rows, blocks, columns)
    scales = tiles.abs().amax((1, 3)) / 448
    small = (tiles / scales[:, None, :, None]).flatten(2).flatten(0, 1).to(torch.float8_e4m3fn)
    off = (course.dequantise(small, scales, block) - exact).abs().median()
    print(f"{name:9}: {scales.numel():5} scales; beside {outlier:,.0f} the others are off by {off:.3f}")

# %% [markdown]
# A scale only moves the exponent, so beside 30 the others keep their three bits. Beside 30,000 they fall below e4m3's
# smallest exponent, where steps no longer shrink with the number: there a scale of their own helps.
#
# Measured at 320×32576×7168, beside cuBLASLt with one scale for each matrix and fast accumulation. **Predict** the
# price of block scales from the number of instructions above: a step of 128×160×128 keeps the tensor cores busy for
# 640 cycles. (In the row *turns*, the two warpgroups multiply one after the other, so that one adds meanwhile.)

# %%
show_sweep("hopper_fp8")

# %% [markdown]
# With one scale no kernel here is ahead of cuBLASLt. And beware of the row *A stays in L2*, whose loads ask L2 to keep
# A's lines: by its µs it is no faster than the row above it, only its ratio is better. It stands beside another
# cuBLASLt than all other rows, one that runs while those lines are still kept. A pairing is fair if neither leaves the
# other anything.
#
# Block scales: 80 additions of 256 threads are 160 cycles of the SM's 128 lanes, a quarter of 640, and the table says
# more. A warpgroup may not add accumulators before their wgmmas are complete, and until it has added them, their
# registers cannot take the next ones. So each warpgroup stops at every step, and its tensor cores have only the other
# one's work; waiting for turns costs more than it brings.
#
# ## What to choose when
#
# No configuration is the best at every shape. What decides can be counted, and you have counted most of it:
#
# > time ≈ start + rounds · (K tiles · step + results) + what sharing costs
#
# A **step** takes as long as the slower of tensor cores and shared memory. L2's bytes come beside that, but not for
# nothing: TMA writes where wgmma reads, and now and then a warp waits. So they add a little, in proportion. **Rounds**
# are waves for whole tiles; for stream-K tiles / clusters, not rounded, but no part is shorter than 4 K tiles. With
# split-K a round has fewer K tiles, and its results take longer. And nothing is faster than device memory, which brings
# A and B and takes C. What is left are numbers that one measures. For an H200 these:

# %%
print(Sm())

# %% [markdown]
# **Exercise 14.10** (about 18 lines). Write `cost(config, m, n, k, sm)`, in µs:
#
# - Where `config.transposed`, A and B have changed places: M and N as well.
# - A step's cycles: `2 · tile M · tile N · tile K` operations over `sm.flops`, or shared memory's bytes over
#   `sm.smem_bytes` if that is more; and L2's bytes over `sm.l2_bytes` on top. Your `step_bytes` has both, for
#   `config.tile` and `config.cluster`.
# - `sm.at_once(blocks)` clusters of so many blocks run at a time; a cluster has `config.split_k` blocks for each tile,
#   and each of them an equal part of its K, rounded up to whole K tiles.
#   Tiles are counted as in 14.6, by clusters: *tiles* over *clusters* are groups of `cluster[0]` × `cluster[1]`.
# - Each round ends with `sm.store` cycles for results, and with split-K `sm.exchange` more, times the tile's area over
#   128×256. Stream-K adds `sm.share` times that area, and where a tile has several parts (rounds < 1), once for each
#   part: 1 / rounds of them.
# - `sm.start` µs, and the larger of cycles / `sm.clock` and `2 · (M K + N K + M N)` bytes / `sm.hbm_bytes`.


# %%
def cost(config, m, n, k, sm):
    ### BEGIN SOLUTION (about 18 lines)
    if config.transposed:
        m, n = n, m
    (tile_m, tile_n, tile_k), (cluster_m, cluster_n) = config.tile, config.cluster
    smem, from_l2 = step_bytes(config.tile, config.cluster)
    step = max(2 * tile_m * tile_n * tile_k / sm.flops, smem / sm.smem_bytes) + from_l2 / sm.l2_bytes
    tiles = ceil(m / (tile_m * cluster_m)) * ceil(n / (tile_n * cluster_n))
    k_tiles = ceil(k / tile_k / config.split_k)
    clusters = sm.at_once(cluster_m * cluster_n * config.split_k)
    area, results = tile_m * tile_n / (128 * 256), sm.store
    if config.stream_k:
        rounds = max(tiles / clusters, 4 / k_tiles)
        shared = sm.share * area * max(1, 1 / rounds)
    else:
        rounds, shared = ceil(tiles / clusters), 0
    if config.split_k > 1:
        results += sm.exchange
    cycles = rounds * (k_tiles * step + results * area) + shared
    return sm.start + max(cycles / sm.clock, 2 * (m * k + n * k + m * n) / sm.hbm_bytes)
    ### END SOLUTION


# %%
check("14.10", cost)

# %% [markdown]
# Ten numbers, and how far do they carry? Here are the levers' times as they were measured, and the formula's as a
# multiple of them. (It knows nothing of some of the switches: for those it says the same, and the times differ.)

# %%
show_model("hopper_levers", lambda config, m, n, k: course.gemm_time(config, m, n, k, Sm()))

# %% [markdown]
# ### A tuner that says why
#
# The space: tiles, clusters, whole tiles or shared ones, either matrix first. Most of it never needs to run. Some
# combinations break a rule, which `HopperConfig` states. Of the others a model says how long they should take. (Here
# it is the course's; `lambda config, m, n, k: cost(config, m, n, k, Sm())` puts yours in its place.)

# %%
TILES = [(m, n, 64) for m in (64, 128, 256) for n in range(32, 257, 16)]
WAYS = [
    {"stream_k": stream, "defer_stores": defer, "split_k": 1, "persistent": True}
    for stream, defer in product((False, True), (True, False))
] + [{"stream_k": False, "defer_stores": False, "split_k": parts, "persistent": False} for parts in (2, 4)]
CHANGES = [
    {"tile": tile, "cluster": cluster, "transposed": transposed} | way
    for tile, cluster, transposed, way in product(TILES, [(1, 1), (2, 1), (1, 2)], (False, True), WAYS)
]
SPACE, refused = [], Counter()
for changes in CHANGES:
    try:
        SPACE.append(HopperConfig(**changes))
    except ConfigError as rule:
        refused[str(rule).split(":")[0]] += 1
print(f"{len(CHANGES)} combinations; {dict(refused)} break a rule; {len(SPACE)} are left")

# %%
square = [changes for changes in CHANGES if not changes["transposed"]]  # a square has nothing to exchange
table = tune_hopper(square, (4096, 4096, 4096), lambda config, m, n, k: course.gemm_time(config, m, n, k, Sm()))
table.round(1).head(12)

# %%
table.why.str.replace(r"[\d.]+", "…", regex=True).value_counts()

# %% [markdown]
# On a GPU the first rows have times, and the order in which they come may differ from the model's by a few percent.
# That is what a model is for: not to be right, but to leave out what need not be tried.
#
# **Exercise 14.11** (about 3 lines). Write `fastest()`, which returns the `HopperConfig` that is fastest at 4096³ on
# your GPU. All switches are yours, also those that the model does not know: `raster`, `group`, `snake`, `zigzag`,
# `stagger`, `lag`, `polls`. `help(HopperConfig)` explains them.


# %%
def fastest():
    ### BEGIN SOLUTION (about 3 lines)
    order = {"raster": "m", "snake": True, "zigzag": True}
    return HopperConfig(tile=(128, 256, 64), cluster=(2, 1), defer_stores=True, **order)
    ### END SOLUTION


# %%
check("14.11", fastest)

# %% [markdown]
# ## Any shape
#
# **Exercise 14.12** (about 6 lines). Write `choose(m, n, k)`, which returns a `HopperConfig` for any shape; your `cost`
# and `SPACE` are there. Where the model cannot tell some of them apart, as where device memory is the limit, think of
# watts. It is tried on several shapes, none of them a square, and the one at which it does worst beside cuBLAS counts.
# Rules of your own are welcome, a list of sizes is not: each check draws other shapes at random and judges your choice
# by the course's model.


# %%
@cache
def choose(m, n, k):
    ### BEGIN SOLUTION (about 6 lines)
    def bytes_from_l2(config):
        rows, columns = (n, m) if config.transposed else (m, n)
        tiles = ceil(rows / config.tile[0]) * ceil(columns / config.tile[1])
        return tiles * step_bytes(config.tile, config.cluster)[1]

    return min(SPACE, key=lambda config: (round(cost(config, m, n, k, Sm()), 1), bytes_from_l2(config)))
    ### END SOLUTION


# %%
check("14.12", choose)

# %% [markdown]
# And this is the function that the course has promised, yours from the choice to the launch: compiled once for each
# configuration, for all shapes; choosing costs the host nothing the second time.


# %%
@cache
def launch(m, n, k):
    from tutorlib.kernels.hopper.launch import launcher

    return launcher(choose(m, n, k), m, n, k)


def gemm(a, b, c):
    """C (M, N) = A (M, K) · Bᵀ with B (N, K), bf16."""
    launch(a.shape[0], b.shape[0], a.shape[1])(a, b, c)
    return c


# %%
with suppress(NotImplementedError):  # until you have written it
    for shape in [(4096, 4096, 4096), (2048, 2048, 2048), (320, 8192, 4096), (512, 512, 8192), (64, 8192, 8192)]:
        config = choose(*shape)
        tile, blocks = (f"{x}×{y}" for x, y in (config.tile[:2], config.cluster))
        way = "stream-K" if config.stream_k else f"K in {config.split_k} parts" if config.split_k > 1 else "whole tiles"
        way += ", A and B exchanged" * config.transposed
        expected = course.gemm_time(config, *shape, Sm())
        print(f"{'×'.join(map(str, shape)):15} tile {tile}, cluster {blocks}, {way}: {expected:.0f} µs expected")
    if not device.why_not(WGMMA):
        a, b = (torch.randn(size, 1000, device="cuda").bfloat16() for size in (1234, 568))
        c = gemm(a, b, torch.empty(1234, 568, dtype=torch.bfloat16, device="cuda"))
        print(f"1234×568×1000: largest error {(c.float() - a.float() @ b.float().T).abs().max():.3f}")

# %% [markdown]
# (An error of up to 0.5 is bf16's own: the largest of these results are beyond 128, where neighboring bf16 numbers are
# 1 apart.)
#
# The course's own function of this kind has a finer model (`tutorlib/kernels/hopper/choose.py`). Beside your terms it
# knows what K does to L2: where rows of A or B are no multiple of 128 bytes, a K tile's part of a row lies in two
# lines, and where they are no multiple of 32 it begins in mid-sector, so that a sector more has to come. Blocks without
# a cluster meet on their way to L2 only while they are at the same place of K: stream-K's are not, and round by round
# all others fall out of step too. And ping-pong hides a tile's stores only as long as the other tile multiplies, which
# with a small K is not long. Its constants are fitted to kernels that were timed, at squares and at random shapes.
#
# A fit can look well where it was made, and be worth nothing elsewhere. So there are two lots of forty random shapes
# up to 8192 (`tutor sweep gemm_any`): those of seed 2026 are among the ones that it was fitted to, as the squares are,
# and those of seed 1971 it has never seen. **Predict** how much worse it is there.

# %%
show_figure("gemm_any")

# %% [markdown]
# Each point is one shape. Read the medians, and then the spread on both sides: the median is ahead of cuBLAS by about a
# percent, and more than a third of the shapes are slower.
#
# cuBLAS is not the only reference. QuACK's GEMM is written in the same DSL, and tries its configurations at
# a shape until it has the fastest. Both were timed beside cuBLAS on an H200, at three squares (`tutor sweep
# gemm_quack`, which wants `quack-kernels`; the numbers are in `figures/data/sweeps/h200_gemm_quack.json`). At 8192 the
# course's function was ahead of it. At 4096 and 2048, too, but by less than the pairs of a measurement differ among
# themselves. No other shape was tried.
#
# ## The ladder, to its end
#
# (The picture has the rungs that its sweep has timed; `tutor sweep gemm_rungs --resume` adds the others. In the table
# `choose` stands with the shape at which it did worst.)

# %%
show_ladder("13", "14")

# %%
show_figure("gemm_ladder")

# %% [markdown]
# ## What to remember
#
# - The tensor cores are never faster than the slowest of what feeds them, and never busier than the schedule lets them
#   be. Count both before you tune: bytes for a step, waves for a shape.
# - What is left after that is the power limit, and it is paid in bytes as well.
# - A lever that brings something at one size may cost it at another: a rule that chooses needs both.
#
# ## Test yourself
#
# <details><summary>1. A consumer arrives at <code>empty</code> right after <code>commit_group</code>. What can go
# wrong, and do more stages mend it?</summary>
#
# The wgmma was issued, and may still read the stage when the producer's next bytes land in it: wrong numbers, now and
# then. More stages make that rarer. Only `wait_group` rules it out.
#
# </details>
#
# <details><summary>2. 4096×4096 in tiles of 128×256, clusters of 2×1, 66 at a time. What can stream-K bring at
# best?</summary>
#
# 256 clusters are 3.88 waves, which take as long as 4: 3 percent, before the traffic of partial results is paid for.
# Look in the table at what was left of it.
#
# </details>
#
# <details><summary>3. What does ping-pong with tiles of 128×192 pay for hiding its epilogues?</summary>
#
# A step has three quarters of the arithmetic of one with 128×256, and five sixths of its bytes. In every cycle L2 has
# to send 53 bytes in place of 48, and shared memory to move 139 in place of 128.
#
# </details>

# ---
# jupyter:
#   tutorlib:
#     minutes: 74
#     appendix: 40
#     summary: Warps with roles, persistent blocks, clusters and stream-K, counted, written and measured beside cuBLAS.
# ---

# %% [markdown]
# # 15 · Warp roles
#
# In notebook 14's kernel the tensor cores are idle at three places: at the start of each tile of C, at its end, and in
# the last wave of tiles, where SMs have no tile left. This page shows what closing each gap is worth.
#
# > **After this page you can** give warps roles and registers, keep a block busy from its first tile to its last, free
# > a stage across a cluster, and count which of these pays at a given size.
# >
# > **It takes** about 74 minutes, on any machine; its appendix about 40 more. Without a Hopper GPU the kernels are
# > simulated; with one they are timed.

# %%
from math import ceil

import cutlass
from cutlass import Int32, cute
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tutorlib import (
    Sm, check, hopper_gemm as course, show_levers, show_multicast, show_roles, show_work,
)  # fmt: skip
from tutorlib.kernels.hopper import HopperConfig, Parts

# %% [markdown]
# ## Two gaps in every tile
#
# The drawing *plain* shows one SM that computes three tiles of C as notebook 14 does. Each color is one tile. The rows
# `load` and `store` are TMA's copies, `wg 0` and `wg 1` the two warpgroups that share a tile, and `mma` the tensor
# cores, hatched while they are idle. Orange is the epilogue, in which a warpgroup rounds and stores.
#
# A tick is the time to multiply a K tile. Drawn are 8 K tiles for each tile of C (64 at 4096³) and a ring of 4 stages.
# The gaps are exaggerated: the wait for a tile's first bytes takes 3 ticks, and so does the epilogue; on the H200,
# about 1.3 and ⅓.

# %%
show_roles("plain", "cooperative")

# %% [markdown]
# The gap at a tile's start closes if the block stays for the next tile *and* a warp that has no epilogue issues the
# loads, as far ahead as the ring has stages. CUTLASS calls this schedule
# [cooperative](https://docs.nvidia.com/cutlass/media/docs/cpp/efficient_gemm.html).
#
# ## Two roles
#
# One more warpgroup joins the block, the **producer**; one of its warps issues all loads. The other warpgroups are the
# **consumers**, which multiply. Notebook 14's ring of stages connects them:
#
# | | producer | consumers |
# |---|---|---|
# | waits for | `empty[stage]`: all have read it | `full[stage]`: the bytes have landed |
# | then | issues the TMA loads | issue wgmmas |
# | arrives at | `full[stage]`, announcing the loads' bytes | `empty[stage]`, once the wgmmas have *read* it |
#
# The block's 384 threads start with 168 registers each. A consumer thread needs more: 128 for its accumulators and,
# while it also holds them rounded to bf16, 64 more. `setmaxnreg` moves registers:
# `cute.arch.setmaxregister_decrease(24)` returns the producer's to the block's pool, and
# `cute.arch.setmaxregister_increase(240)` takes them for the consumers, and waits until there are enough. All four
# warps of a warpgroup must execute it, also the producer's three idle ones.
#
# ## Persistent blocks
#
# A block that stays for the next tile is **persistent**. The kernel launches only as many blocks as fit on the GPU, and
# a block's number says which tiles it computes. One ring serves all of them. This is the producer warp:
#
# ```python
# state = make_pipeline_state(PipelineUserType.Producer, loads.stages)  # stage 0, phase 1
# for number in cutlass.range(tiles.items(), unroll=1):
#     item = tiles.take(number)  # a tile of C
#     for step in cutlass.range(item.k_tiles, unroll=1):
#         loads.issue(item.tile, item.k_tile(step), state.index, state.phase)  # waits at empty, then loads
#         state.advance()
# loads.finish(state)  # waits until all stages have been read
# ```
#
# A colleague makes the state in the outer loop, so that each tile starts with stage 0 and phase 1. His consumers keep
# their state from tile to tile. With four stages his kernel is right at 4096³, and at 4160³ it hangs.
#
# **Exercise 15.1** (about 1 line). For which tiles is his kernel right? Write `new_state_works(stages, k_tiles)`.
# `k_tiles` is a tuple: the number of K tiles of each tile that a block computes, in order. Return True if such a block
# computes all its tiles correctly and ends.


# %%
def new_state_works(stages, k_tiles):
    ### BEGIN SOLUTION (about 1 line)
    return all(count % (2 * stages) == 0 for count in k_tiles[:-1])
    ### END SOLUTION


# %%
check("15.1", new_state_works)

# %% [markdown]
# At 4160³ a tile has 65 K tiles: the last one, number 64, is in stage 0. For the second tile the producer waits at
# `empty[0]` for parity 1 again. If the consumers have read K tile 64, the current phase has parity 1, and it waits
# forever. If not, it overwrites K tile 64 before they read it, and hangs later: the consumers go on at stage 1, the
# producer at stage 0.
#
# ## The other gap: the epilogue
#
# With **deferred stores** a thread rounds its 128 accumulators to 64 registers at once, issues the next tile's first
# wgmmas, and stores while they run (row `store`):

# %%
show_roles("deferred stores")

# %% [markdown]
# Rounding still takes one tick a tile; `time` below counts it as zero. In **ping-pong**, each warpgroup has a smaller
# tile of its own, and one multiplies while the other stores. This page's kernel defers; notebook 18 times ping-pong.
#
# The next cell is 14.2's loop along K, from a tile's second step on. `multiply.step(state, first)` waits for `full`,
# issues a stage's wgmmas and commits them as one group. `first` is a Python `True`, to overwrite the accumulators, or
# `False`, to add to them. `multiply.retire(pending, state)` waits until at most `pending` groups are in flight, then
# arrives at `empty` of that state's stage.


# %%
@cute.jit
def other_steps(multiply, state, k_tiles):
    """A tile's steps after the first, until all its wgmmas are complete; returns the state for the next tile."""
    before = state.clone()
    state.advance()
    for _ in cutlass.range(k_tiles - 1, unroll=1):
        multiply.step(state, False)
        multiply.retire(1, before)
        before = state.clone()
        state.advance()
    multiply.retire(0, before)
    return state


# %% [markdown]
# **Exercise 15.2** (about 8 lines). Complete `consume_tiles(tiles, multiply, out, defer)`, the loop of a consumer warp:
# it multiplies and stores all tiles of its block. Store each tile while the next one's first wgmmas are in flight, and
# before the warp waits for them. Each block has at least one tile. `check` simulates the kernel on a GPU of two SMs;
# a Hopper GPU also times it at 4096³.
#
# - `tiles.items()`, `tiles.take(number).k_tiles`: as in the producer
# - `multiply.step(state, first)`, `other_steps(multiply, state, k_tiles)`: above
# - `out.round(number)`: rounds the accumulators of this tile into registers, which hold one tile
# - `out.store(number)`: stores the rounded tile by TMA, through shared memory that only this warp uses. It first waits
#   until TMA has read the previous tile there, so no barrier of the block is needed
# - `out.drain()`: waits until TMA has read the block's shared memory; once, at the end
# - `defer` is the lever's setting, here `True`: your function need not use it


# %%
@cute.jit
def consume_tiles(tiles, multiply, out, defer: cutlass.Constexpr):
    state = make_pipeline_state(PipelineUserType.Consumer, multiply.stages)
    ### BEGIN SOLUTION (about 8 lines)
    for number in cutlass.range(tiles.items(), unroll=1):
        multiply.step(state, True)
        if number > 0:
            out.store(number - 1)
        state = other_steps(multiply, state, tiles.take(number).k_tiles)
        out.round(number)
    out.store(tiles.items() - 1)
    out.drain()
    ### END SOLUTION


# %%
check("15.2", consume_tiles)

# %% [markdown]
# ## Clusters
#
# The blocks of a **cluster** start together, in one GPC (graphics processing cluster), a group of SMs. They can access
# each other's shared memory, then called **distributed shared memory**, and each other's mbarriers. Here that serves to
# share loads: the blocks of one row of a cluster need the same tile of A, and those of one column the same tile of B.
# Each loads a slice and sends it to all that need it, by **multicast**: it lands at the same offset in the shared
# memory of each receiver, where the mbarrier at the same offset counts its bytes. So `full` expects a whole stage's
# bytes, as before, though several blocks send them.
#
# Block (*m*, *n*) of a cluster has the **rank** *m* + *n* · cluster[0]. Each line of the picture is a block's stage,
# and the number in a slice is the rank of the block that loads it:

# %%
show_multicast((2, 2), (128, 256))

# %% [markdown]
# Before a producer overwrites its slice, *every* block that received it must have read it. So `empty` needs arrivals
# from other SMs: one from each consumer warp of each such block. `mbarrier_arrive(pointer, rank)` arrives at the
# mbarrier at this offset in the block of that rank. The arrival has **cluster scope**: what the waiting producer writes
# comes after this warp's reads.
#
# A colleague lets each lane of a consumer warp arrive at one block's `empty`:
#
# ```python
# lane = cute.arch.lane_idx()
# m, n = lane % ring.cluster[0], lane // ring.cluster[0]
# if n < ring.cluster[1]:
#     cute.arch.mbarrier_arrive(ring.empty + stage, ring.first + lane)
# ```
#
# `ring.first` is the rank of the block that the drawing calls 0.
#
# **Exercise 15.3** (about 2 lines). The code is right in clusters of 2×1 and of 1×4. In a 2×2 cluster, stages are
# overwritten before they are read. Which arrivals are wrong there? Mend it; `ring.block` is this block's (*m*, *n*).


# %%
@cute.jit
def free_stage(ring, stage):
    lane = cute.arch.lane_idx()
    m, n = lane % ring.cluster[0], lane // ring.cluster[0]
    ### BEGIN SOLUTION (about 2 lines)
    if n < ring.cluster[1] and (m == ring.block[0] or n == ring.block[1]):
        cute.arch.mbarrier_arrive(ring.empty + stage, ring.first + lane)
    ### END SOLUTION


# %%
check("15.3", free_stage)

# %% [markdown]
# The block across the diagonal loads nothing that this one reads. With this arrival its `empty` would complete before
# its last reader is done.
#
# ## The last wave: stream-K
#
# 4096×4096 is 512 tiles of 128×256, for 132 SMs: 3.88 waves, which take as long as 4.
# **[Stream-K](https://arxiv.org/abs/2301.03598)** lays the K tiles of all tiles end to end and cuts that line into
# equal shares, one for each cluster. In the drawing each row is a cluster, each color a tile. Where a cut goes through
# a tile, one cluster hands its accumulators over to another, which adds them (the arrows). A cluster begins with the
# part that it gives away, so that the adder need not wait.

# %%
show_work({"whole tiles": course.whole_tiles, "stream-K": course.stream_k}, clusters=4, tiles=6, k_tiles=6)

# %% [markdown]
# A hand-over is not free: the fp32 accumulators of a tile of 128×256 are 128 KiB, written to L2 by one block and read
# back by another. So the course's kernel, unlike the drawing's, cuts only the tiles of the last wave, or of the last
# two if the last is less than half full.
#
# ## Count, then measure
#
# An SM has time for ⌈waves⌉ tiles and on average computes `waves` of them. `gap` is the difference, which stream-K
# fills.


# %%
def waves(config, m, n):
    (tile_m, tile_n, _), (cluster_m, cluster_n) = config.tile, config.cluster
    clusters = ceil(m / (tile_m * cluster_m)) * ceil(n / (tile_n * cluster_n))
    return clusters / Sm().at_once(cluster_m * cluster_n)  # the clusters that the GPU runs at a time


def gap(config, m, n, k):
    """An SM's idle time in the last wave, on average, in K tiles."""
    return (ceil(waves(config, m, n)) - waves(config, m, n)) * ceil(k / config.tile[2])


# %% [markdown]
# A **lever** changes the schedule, not what is computed, up to rounding. `time` counts an SM's cycles with a set of
# levers. Its constants are in cycles of an H200:
#
# - A K tile takes 1,239, by page 16's `repaired` model; at the datasheet's rate the tensor cores would need 1,024. The
#   fit of its constants, to 200 kernels timed before those below, also has 400 for an epilogue and 12,000 for a
#   hand-over.
# - A tile's first bytes take 1,625, an estimate: in notebook 14's appendix a step of *1 stage*, which waits for its
#   bytes and for a barrier, takes 1,625 cycles more than a step of *wgmma alone*.
#
# *plain* is notebook 14's kernel, and each row adds one lever to the row above. Two levers are new. *Zigzag K*: every
# other tile walks K backwards, so that a block first asks for what it loaded last. *Polling*: a warp tests an mbarrier
# in a loop, instead of a wait that may suspend it.
#
# Read the next table so: *persistent* at 4096 has 1.003 ±0.6% of cuBLAS's speed. It is 3.0% faster than the row above,
# and `time` counts 1.5%. A gain within the noise is left out. **Predict**: at which sizes does stream-K lose?

# %%
STEP, EPILOGUE, HAND_OVER, FIRST_BYTES = 1_239, 400, 12_000, 1_625


def time(levers, m, n, k):
    """Cycles of an SM, with the tile of `HopperConfig`, 128×256×64."""
    tiles = ceil(waves(HopperConfig(), m, n))
    first_bytes = FIRST_BYTES * (1 if "persistent" in levers else tiles)
    epilogues = EPILOGUE * (1 if "deferred stores" in levers else tiles)
    handed_over = HAND_OVER - STEP * gap(HopperConfig(), m, n, k) if "stream-K" in levers else 0
    return tiles * ceil(k / 64) * STEP + first_bytes + epilogues + handed_over


show_levers("hopper_levers", time).iloc[:8]  # the table goes on with other orders of the levers

# %% [markdown]
# So at 4096 the levers without stream-K make notebook 14's kernel **4.0% faster**: 0.975 of cuBLAS's speed becomes
# 1.014. Most of these steps are within the noise by themselves. Persistent blocks bring 3.0%, twice what is counted,
# perhaps because `time` does not count a block's launch and setup, which a persistent block needs only once.
#
# Stream-K loses at 2048 and 4096, where the gap is shorter than a hand-over. At 8192 it gains 1.0%, and 2.6% are
# counted: the reason is not known.
#
# Deferred stores gain nothing measurable here. With 4 K tiles in a tile, an epilogue weighs more. Both rows are
# persistent:

# %%
show_levers("hopper_short", lambda levers, *shape: time(levers | {"persistent"}, *shape))

# %% [markdown]
# At 8192×8192×256 deferred stores gain less than is counted, perhaps because writing C, 128 MiB, takes device memory
# about half of the time. In both tables, all gains and losses outside the noise have the sign of their count, except
# zigzag's at 8192, which is counted as 0. Caches and the clock are not counted.
#
# **Multicast** gains nothing measurable, although a block of a 2×1 cluster loads 32 KiB from L2 in each step, instead
# of 48. Page 16 finds why.
#
# ## What to remember
#
# - A warp that only loads runs ahead by as many stages as the ring has, also from one tile into the next.
# - A warp may overwrite memory only when it knows that the last reader is done. `empty` says so of a stage, on any SM
#   of the cluster.
# - Before you write a lever, count the gap that it closes, as a share of the time, and what closing it costs.
#
# Next: [16](16_choose.ipynb), a configuration for every size.
#
# ## Test yourself
#
# <details><summary>1. A consumer arrives at <code>empty</code> right after <code>commit_group</code>. What can go
# wrong?</summary>
#
# The wgmma may still read the stage when the next bytes land in it. Only <code>wait_group</code> rules it out.
#
# </details>
#
# <details><summary>2. What happens if the producer does not execute
# <code>setmaxregister_decrease</code>?</summary>
#
# The consumers wait forever. Take one thread of each warpgroup: together they start with 3 · 168 = 504 registers. The
# two consumer threads need 480, and the producer thread still holds 168: 648 in all.
#
# </details>
#
# <details><summary>3. How many arrivals does <code>empty</code> expect in a cluster of 2×4 whose blocks have 8 consumer
# warps each?</summary>
#
# 40: a block's slices go to 2 + 4 − 1 blocks, itself among them, with 8 warps each.
#
# </details>

# %% [markdown]
# ## Appendix: your kernel
#
# `Parts` are the slots of the course's kernel: `Parts(consume=…, free=…)` has your functions in two, and the course's
# in the others. `HopperConfig` has the levers.
#
# **Exercise 15.4** (about 6 lines). Write `my_gemm(m, n, k)`, which returns the pair (config, parts) of your kernel for
# this size. It has all levers of the first table, but stream-K only where the gap is longer than a hand-over:
#
# ```python
# HopperConfig(cluster=(2, 1), defer_stores=True, zigzag=True, polls=True, stream_k=...)
# ```
#
# The check asks at nine sizes, and one wrong answer loses a point: with a gap below 8 K tiles stream-K must be off,
# from 20 on it must be on. The check simulates your functions together, with deferred stores in a 2×2 cluster and with
# stream-K. A Hopper GPU times 4096³, and the last point needs 98% of the course's speed.


# %%
def my_gemm(m, n, k):
    ### BEGIN SOLUTION (about 6 lines)
    levers = {"cluster": (2, 1), "defer_stores": True, "zigzag": True, "polls": True}
    config = HopperConfig(**levers)
    config = HopperConfig(**levers, stream_k=gap(config, m, n, k) * STEP > HAND_OVER)
    return config, Parts(consume=consume_tiles, free=free_stage)
    ### END SOLUTION


# %%
check("15.4", my_gemm)

# %% [markdown]
# Count waves in clusters, not in blocks. At 4224×4096 single blocks fill four waves exactly. Clusters of 2×1 need 17
# rows for the 33 rows of tiles: the last row of clusters is half outside C, and four waves become 4.12.
#
# ## Appendix: the hand-over
#
# Stream-K cuts a tile along K. The block that has the tile's last K tiles adds; another gives. They share no barrier,
# so each giving warp has a **flag** in global memory, 0 at first. Two rules of [PTX's memory
# model](https://docs.nvidia.com/cuda/parallel-thread-execution/#memory-consistency-model) say what a flag orders, lane
# by lane:
#
# - A store with **release** semantics comes after everything that *its own lane* did before.
# - A load with **acquire** semantics that reads the released value comes before everything that *its own lane* does
#   afterwards.
#
# Both hold for lanes within the `scope` of the two accesses. A `sync_warp` orders what the lanes of a warp did before
# it before what any of them does after it.
#
# **Exercise 15.5** (about 12 lines in both). Write `give_part(part)` and `add_part(part)`. All 32 lanes of a consumer
# warp run them: the one in the block that gives, the other in the block that adds, once for each block that gives.
# Leave every flag at 0, so that the next launch needs no reset from the host.
#
# - `part.flag`: a pointer to the giving warp's flag
# - `part.write()`: writes this lane's accumulators to global memory
# - `part.add(slice)`: loads one of `part.slices` slices of what the giver's lane of the same number wrote, and adds it.
#   `slice` is a Python number: loop over `cutlass.range_constexpr(part.slices)`
# - `cute.arch.store(pointer, Int32(1), sem=…, scope=…)`, `cute.arch.load(pointer, Int32, sem=…, scope=…)`: `sem` is
#   `"relaxed"`, `"release"` or `"acquire"`; `scope` is `"cta"`, `"cluster"` or `"gpu"`
# - `with cute.arch.elect_one():` is for one lane. `cute.arch.make_warp_uniform(x)` is lane 0's value for every lane; a
#   `while` loop must end for all lanes at once


# %%
@cute.jit
def give_part(part):
    ### BEGIN SOLUTION (about 4 lines)
    part.write()
    cute.arch.sync_warp()
    with cute.arch.elect_one():
        cute.arch.store(part.flag, Int32(1), sem="release", scope="gpu")
    ### END SOLUTION


@cute.jit
def add_part(part):
    ### BEGIN SOLUTION (about 8 lines)
    given = Int32(0)
    while given == 0:
        given = cute.arch.make_warp_uniform(cute.arch.load(part.flag, Int32, sem="acquire", scope="gpu"))
    cute.arch.sync_warp()
    for number in cutlass.range_constexpr(part.slices):
        part.add(number)
    with cute.arch.elect_one():
        cute.arch.store(part.flag, Int32(0), sem="relaxed", scope="gpu")
    ### END SOLUTION


hand_over = give_part, add_part

# %%
check("15.5", hand_over)

# %% [markdown]
# In the loop's last turn, other lanes than lane 0 may still have loaded 0. Then only lane 0's load acquired, and the
# `sync_warp` after the loop orders what the other lanes add.

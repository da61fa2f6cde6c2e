# ---
# jupyter:
#   tutorlib:
#     minutes: 115
#     summary: Warps with roles, persistent blocks, clusters and stream-K, each written, then measured beside cuBLAS.
# ---

# %% [markdown]
# # 15 · Warp roles
#
# In notebook 14's kernel the tensor cores are idle at three places: at the start of each tile of C, at its end, and in
# the last wave of tiles, where SMs have no tile left. This page closes these gaps and leaves the arithmetic as it is.
# Whether that pays depends on how long a gap is beside the work.
#
# > **After this page you can** give warps roles and registers, keep a block busy from its first tile to its last, free
# > a stage across a cluster, hand accumulators from one block to another, and count which of these pays at a given
# > size.
# >
# > **It takes** about 115 minutes, on any machine; after 15.2 is a good place for a break. Without a Hopper GPU the
# > kernels are simulated; with one they are timed.

# %%
from math import ceil

import cutlass
from cutlass import Int32, cute
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tutorlib import (
    Sm, check, hopper_gemm as course, show_ladder, show_levers, show_multicast, show_roles, show_work, stream_k_pairs,
)  # fmt: skip
from tutorlib.kernels.hopper import HopperConfig, Parts

# %% [markdown]
# ## Two gaps in every tile
#
# The drawing shows one SM that computes three tiles of C as notebook 14 does. Each color is one tile. The rows `load`
# and `store` are TMA's copies, `wg 0` and `wg 1` the two warpgroups that share a tile, and `mma` the tensor cores,
# hatched while they are idle. Orange is the epilogue, in which a warpgroup rounds and stores.
#
# A tick is the time to multiply a K tile. Drawn are 8 K tiles for each tile of C (64 at 4096³) and a ring of 4 stages.
# The first bytes take 3 ticks. The epilogue, also 3, is exaggerated: page 16 fits 0.3.

# %%
show_roles("plain")

# %% [markdown]
# A tile's first multiplication waits for its first bytes, and during its epilogue nothing multiplies.
#
# The first gap closes if the block stays for the next tile *and* a warp that has no epilogue issues the loads, as far
# ahead as the ring has stages. CUTLASS calls this schedule
# [cooperative](https://docs.nvidia.com/cutlass/media/docs/cpp/efficient_gemm.html):

# %%
show_roles("cooperative")

# %% [markdown]
# ## Two roles
#
# One more warpgroup joins the block, the **producer**; one of its warps issues all loads. The others are the
# **consumers**, which multiply. Notebook 14's ring of stages connects them:
#
# | | producer | consumers |
# |---|---|---|
# | waits for | `empty[stage]`: all have read it | `full[stage]`: the bytes have landed |
# | then | issues the TMA loads | issue wgmmas |
# | arrives at | `full[stage]`, which also counts TMA's bytes | `empty[stage]`, once the wgmmas have *read* the stage |
#
# The block's 384 threads start with 168 registers each. A consumer thread needs more: 128 for its accumulators, and 64
# while it also holds them rounded to bf16. A producer thread needs hardly any. `setmaxnreg` moves registers:
# `setmaxregister_decrease(n)` returns a warpgroup's registers to the block's pool until each thread has *n*;
# `setmaxregister_increase(n)` takes registers from the pool, and waits until there are enough. All four warps of the
# warpgroup must execute it:
#
# ```python
# if me.group == producer_group:
#     cute.arch.setmaxregister_decrease(24)
#     if me.warp == 0:
#         produce()
# else:
#     cute.arch.setmaxregister_increase(240)
#     consume()
# ```
#
# Without the decrease, the consumers wait forever. Take one thread of each warpgroup: together they start with
# 3 · 168 = 504 registers. The two consumer threads need 480, and the producer thread still holds 168: 648 in all.
#
# ## Persistent blocks
#
# A block that stays for the next tile is **persistent**. The kernel launches only as many blocks as fit on the GPU, and
# a block's number says which tiles it computes. You write parts of this kernel; `check` fills the other slots and
# simulates it on a GPU of two SMs.
#
# One ring serves all tiles of a block. A colleague's producer makes a new pipeline state for each tile:
#
# ```python
# for number in cutlass.range(tiles.items(), unroll=1):
#     state = make_pipeline_state(PipelineUserType.Producer, loads.stages)  # stage 0, phase 1
#     ...  # the loop along K
# ```
#
# His consumers carry their state from tile to tile. With four stages his kernel is right at 2048³, 4096³ and 8192³. At
# 4160³ it hangs.
#
# **Exercise 15.1** (about 7 lines). For which K is his kernel right? Then write `produce_tiles(tiles, loads)` for the
# producer warp: it loads all K tiles of all tiles of the block, and between two tiles it waits for nothing but an empty
# stage.
#
# - `tiles.items()`: the number of tiles of C that this block computes, at least 1; loop over
#   `cutlass.range(tiles.items(), unroll=1)`
# - `item = tiles.take(number)`: one of them, with `item.tile`, its place (M, N), and `item.k_tiles`, its steps along K
# - `item.k_tile(step)`: the K tile of a step, which is not always `step`: a block may begin in the middle of K
# - `loads.stages`, and `loads.issue(tile, k_tile, stage, phase)`: waits at `empty[stage]` for this phase, announces the
#   bytes at `full[stage]` and issues the loads of A and B
# - `state.index`, `state.phase`, `state.advance()`: of a pipeline state. A producer's phase starts at 1, so that its
#   first waits find every stage empty
# - `loads.finish(state)`: waits until all stages have been read. A block must not end before that: other blocks of its
#   cluster still arrive at its mbarriers


# %%
@cute.jit
def produce_tiles(tiles, loads):
    ### BEGIN SOLUTION (about 7 lines)
    state = make_pipeline_state(PipelineUserType.Producer, loads.stages)
    for number in cutlass.range(tiles.items(), unroll=1):
        item = tiles.take(number)
        for step in cutlass.range(item.k_tiles, unroll=1):
            loads.issue(item.tile, item.k_tile(step), state.index, state.phase)
            state.advance()
    loads.finish(state)
    ### END SOLUTION


# %%
check("15.1", produce_tiles)

# %% [markdown]
# A new state, stage 0 and phase 1, is right for a block's first tile. For the next ones, the tile before must end after
# an even number of rounds of the ring: with four stages, after a multiple of 8 K tiles, 512 of K. At 4160³ a tile has
# 65. The second tile's first load goes to stage 0 with phase 1, which counts as complete although K tile 64 there may
# be unread. Over two tiles stage 1 is filled 32 times and waited for 33 times: the last wait never ends.
#
# ## The other gap: the epilogue
#
# With **deferred stores** a thread rounds its 128 accumulators to 64 registers at once, issues the next tile's first
# wgmmas, and stores while they run. (In **ping-pong**, each warpgroup has a smaller tile of its own, and one multiplies
# while the other stores.)

# %%
show_roles("deferred stores")

# %% [markdown]
# The consumers' loop has at hand:
#
# - `multiply.step(state, first)` waits for `full`, fences, issues a stage's wgmmas and commits them as one group.
#   `first`, a Python `True` or `False`: discard the old accumulators
# - `multiply.retire(pending, state)` waits until at most `pending` groups are in flight, then arrives at `empty` of
#   that state's stage
# - `multiply.stages`; `tiles` as in 15.1; `state.clone()` is a copy: `retire` frees the stage of an earlier step than
#   the one just issued
# - `out.round_and_store(number)` is the epilogue of a tile. It is also two calls: `out.round(number)` frees the
#   accumulators and keeps the rounded tile in registers; `out.store(number)` stores it
# - `out.drain()`, once at the end, waits until TMA has read the block's shared memory
#
# **Exercise 15.2** (about 19 lines). Write `consume_tiles(tiles, multiply, out, defer)`. As in notebook 14, one group
# stays in flight while the next one is issued, and a stage is freed as soon as its wgmmas have read it, never earlier.
# The ring goes on into the next tile, so every stage must be freed, a tile's last one too. If `defer` is False, each
# tile has its epilogue when it is complete. If it is True, every tile but the block's last is stored while the next
# tile's first wgmmas run. `defer` is known at compile time: `if cutlass.const_expr(defer):` leaves no branch in the
# kernel.


# %%
@cute.jit
def consume_tiles(tiles, multiply, out, defer: cutlass.Constexpr):
    ### BEGIN SOLUTION (about 19 lines)
    state = make_pipeline_state(PipelineUserType.Consumer, multiply.stages)
    for number in cutlass.range(tiles.items(), unroll=1):
        multiply.step(state, True)
        if cutlass.const_expr(defer) and number > 0:
            out.store(number - 1)
        before = state.clone()
        state.advance()
        for _ in cutlass.range(tiles.take(number).k_tiles - 1, unroll=1):
            multiply.step(state, False)
            multiply.retire(1, before)
            before = state.clone()
            state.advance()
        multiply.retire(0, before)
        if cutlass.const_expr(defer):
            out.round(number)
        else:
            out.round_and_store(number)
    if cutlass.const_expr(defer):
        out.store(tiles.items() - 1)
    out.drain()
    ### END SOLUTION


# %%
check("15.2", consume_tiles)

# %% [markdown]
# On the course's H200 this check's kernel runs 4096³ about 1% faster than cuBLAS. Notebook 14's was 3% slower.
#
# ## Clusters
#
# The blocks of a **cluster** start together, in one GPC (graphics processing cluster), a group of SMs. They can access
# each other's shared memory, then called **distributed shared memory**, and each other's mbarriers. Here that serves to
# share loads: in a cluster of *m*×*n* blocks, those of one row need the same tile of A, and those of one column the
# same tile of B. Each loads a slice and sends it to all that need it, by **multicast**: it lands at the same offset in
# the shared memory of each receiver, where the mbarrier at the same offset counts its bytes.
#
# Block (*m*, *n*) of a cluster has the **rank** *m* + *n* · cluster[0]. In the picture each row is a block's stage, and
# the number in a slice is the rank of the block that loads it:

# %%
show_multicast((2, 2), (128, 256))

# %% [markdown]
# Before a producer overwrites its slice, *every* block that received it must have read it. So `empty` needs arrivals
# from other SMs: one from each consumer warp of each such block. `mbarrier_arrive(pointer, rank)` arrives at the
# mbarrier at this offset in the block of that rank. It orders the warp's reads before the next write at **cluster
# scope**, which is wider than a block and narrower than the GPU.
#
# A colleague lets each lane of a consumer warp tell one block:
#
# ```python
# lane = cute.arch.lane_idx()
# m, n = lane % ring.cluster[0], lane // ring.cluster[0]
# if n < ring.cluster[1]:
#     cute.arch.mbarrier_arrive(ring.empty + stage, ring.first + lane)
# ```
#
# `ring.first` is the rank of the block that the drawing calls 0. It is not 0 where several such groups form one
# cluster, as in page 16's split-K.
#
# **Exercise 15.3** (about 2 lines). It is right in clusters of 2×1 and of 1×4, and in 2×2 stages are overwritten before
# they are read. Which arrivals are wrong there? Mend it; `ring.block` is this block's (*m*, *n*).


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
# The block across the diagonal loads nothing that this one reads: its `empty` would complete one reader early.
#
# ## The last wave: stream-K
#
# 4096×4096 is 512 tiles of 128×256, for 132 SMs: 3.88 waves, which take as long as 4.
# **[Stream-K](https://arxiv.org/abs/2301.03598)** lays the K tiles of all tiles end to end and cuts that line into
# equal shares, one for each cluster. In the drawing a row is a cluster, a color a tile. Where a cut goes through a
# tile, one cluster passes its accumulators to another, which adds them (the arrows). A cluster runs its share from the
# end backwards: it gives first, so that the adder need not wait.

# %%
show_work({"whole tiles": course.whole_tiles, "stream-K": course.stream_k}, clusters=4, tiles=6, k_tiles=6)

# %% [markdown]
# The drawing also cuts a tile of the first wave. But the fp32 accumulators of a tile of 128×256 are 128 KiB, written to
# L2 by one block and read back by another. So the kernel cuts only the tiles of the last wave, or of the last two if
# the last is less than half full.
#
# The block that has the tile's last K tiles adds. The two blocks share no barrier, so each giving warp has a **flag**
# in global memory, 0 at first. Two rules of [PTX's memory
# model](https://docs.nvidia.com/cuda/parallel-thread-execution/#memory-consistency-model) say what the flag orders,
# lane by lane:
#
# - A store with **release** semantics comes after everything that *its own lane* did before. If the warp has met in a
#   `sync_warp` before the store, it also comes after what the other lanes did before that.
# - A load with **acquire** semantics that reads the released value comes before everything that *its own lane* does
#   afterwards. If the warp meets in a `sync_warp` after the load, it also comes before what the other lanes do then.
#
# **Exercise 15.4** (about 12 lines in both). Write `give_part(part)` and `add_part(part)`. All 32 lanes of a consumer
# warp run them: the one in the block that gives, the other in the block that adds, once for each block that gives. The
# adder leaves the flag at 0, for the next launch. The blocks are on different SMs, and may be in different clusters:
# which scope do the accesses need?
#
# - `part.flag`: a pointer to the giving warp's flag
# - `part.write()`: writes this lane's accumulators to global memory
# - `part.add(slice)`: loads one of `part.slices` slices of what the giver's lane of the same number wrote, and adds it.
#   `slice` is a Python number: loop over `cutlass.range_constexpr(part.slices)`
# - `cute.arch.store(pointer, Int32(1), sem=…, scope=…)`, `cute.arch.load(pointer, Int32, sem=…, scope=…)`: `sem` is
#   `"relaxed"`, `"release"` or `"acquire"`; `scope` is `"cta"`, `"cluster"` or `"gpu"`
# - `cute.arch.make_warp_uniform(x)`: lane 0's value for every lane, so that a `while` loop ends for all lanes at once


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
check("15.4", hand_over)

# %% [markdown]
# ## The levers, measured
#
# A **lever** changes the schedule, not what is computed, up to rounding. Three more need no code of yours. *Zigzag K*:
# every other tile walks K backwards, so that a block first asks for what it loaded last. *Polling*: a warp tests an
# mbarrier in a loop, instead of a wait that may suspend it. *Tile order*: bands of columns instead of rows, every other
# one backwards.
#
# Count first, in K tiles of one SM:
#
# | | 2048 | 4096 | 8192 |
# |---|---|---|---|
# | time of all its waves | 32 | 4 · 64 = 256 | 16 · 128 = 2,048 |
# | gaps between two tiles | none | 3 | 15 |
# | idle in the last wave, on average | 1.0 | 7.8 | 62.1 |
#
# Suppose that first bytes take 2 K tiles, an epilogue 0.3, and a hand-over of stream-K 10. **Predict** at each size:
# which lever gains most, and where does stream-K lose?
#
# *plain* is notebook 14's kernel. Each row adds one lever to its parent, the nearest row above with one dot
# fewer. A cell has the speed as a fraction of cuBLAS's, its spread, and the gain over the parent unless it is within
# the noise. The last two rows are for page 16.

# %%
show_levers()

# %% [markdown]
# - **Persistent blocks** gain 3.0% at 4096 and 1.0% at 8192. The count gives 6 of 256 K tiles, 2.3%, and 30 of 2,048,
#   1.5%. Roles alone gain nothing; they make this possible.
# - **Multicast** gains nothing. A block of a 2×1 cluster asks L2 for 32 KiB in each step, instead of 48, but L2 is not
#   the limit at this tile.
# - **Deferred stores** gain nothing measurable: an epilogue is short beside 32 to 128 K tiles.
# - **Stream-K** gains at 8192, where an SM is idle for six times a hand-over. At 2048 and 4096 the hand-over takes
#   longer than the gap.
#
# Where a tile has 4 K tiles, the epilogue is not short:

# %%
show_levers("hopper_short")

# %% [markdown]
# There **deferred stores** gain 8 and 4%.
#
# ## The last wave, at any size
#
# This function counts the gap that stream-K closes. An SM has time for ⌈waves⌉ tiles and on average computes `waves` of
# them:


# %%
def gap(config, m, n, k):
    """An SM's idle time in the last wave, on average: in K tiles, and as a share of the whole time."""
    if config.transposed:
        m, n = n, m
    (tile_m, tile_n, tile_k), (cluster_m, cluster_n) = config.tile, config.cluster
    clusters = ceil(m / (tile_m * cluster_m)) * ceil(n / (tile_n * cluster_n))
    waves = clusters / Sm().at_once(cluster_m * cluster_n)
    idle = ceil(waves) - waves
    return idle * ceil(k / tile_k), idle / ceil(waves)


# %%
for size in (4096, 8192):
    steps, share = gap(HopperConfig(), size, size, size)
    print(f"{size}³: an SM is idle for {steps:.1f} K tiles, {share:.1%} of the time")

# %% [markdown]
# For page 16's chooser, 825 pairs of kernels were timed. The two of a pair differ only in stream-K; all have more than
# one wave. The next cell sorts the pairs by their gap into six groups. **Predict:** in which of them does stream-K win
# more than half of the pairs?

# %%
from statistics import median

measured = [(*gap(config, *shape), gain) for config, shape, gain in stream_k_pairs()]
for least, most in (0, 0.05), (0.05, 1):
    for few, many in (0, 8), (8, 20), (20, 10_000):
        gains = [gain for steps, share, gain in measured if few <= steps < many and least <= share < most]
        won = f"gains at {sum(gain > 0 for gain in gains):2} of {len(gains):3}, median {median(gains):+.1%}"
        print(f"idle for {least:.0%} to {most:.0%} of the time, {few} to {many:,} K tiles: {won}")

# %% [markdown]
# A gap under 8 K tiles is too short at nearly nine in ten pairs: the hand-over costs more, whatever K is. A gap of 20
# or more pays at 84 of 87 pairs if it is 5% or more of the time. At 8192³ it is 3%, so little can be won.
#
# ## Your functions in one kernel
#
# `Parts` are the slots of the kernel. The course fills those that you do not name: the multicast, and notebook 14's
# store through shared memory.
#
# **Exercise 15.5** (about 3 lines). Complete `my_gemm(m, n, k)`, your kernel: a rule that chooses its levers from
# counts. `HopperConfig` takes `tile`, by default (128, 256, 64), which stays; `cluster`, (M, N), by default (1, 1);
# `persistent`, by default True; and `defer_stores`, `zigzag`, `polls` and `stream_k`, by default False.
#
# You lose a point if a lever is wrong at one of the check's nine shapes, most of which are not in the tables:
#
# - Where a block has more than one tile, it must be persistent.
# - Where a tile has 4 K tiles, it must defer its stores.
# - Stream-K must be on where it gains at nearly all of the pairs above, and off where it gains at nearly none.
#
# The check simulates your functions together in three configurations: deferred stores with clusters and with stream-K,
# and page 16's split-K. A Hopper GPU times 4096³, where the last point takes 98% of the course's speed.


# %%
def my_gemm(m, n, k):
    parts = Parts(
        produce=produce_tiles,
        consume=consume_tiles,
        free=free_stage,
        give=give_part,
        add=add_part,
    )
    ### BEGIN SOLUTION (about 3 lines)
    levers = {"cluster": (2, 1), "defer_stores": True, "zigzag": True, "polls": True}
    steps, share = gap(HopperConfig(**levers), m, n, k)
    config = HopperConfig(**levers, stream_k=steps > 20 and share > 0.02)
    ### END SOLUTION
    return config, parts


# %%
check("15.5", my_gemm)

# %%
show_ladder("14", "15")

# %% [markdown]
# *gain* compares the µs with the row above. Relative to cuBLAS, your kernel gains about 4% on notebook 14's. On the
# H200 it is 1.4% ahead of cuBLAS, about twice the spread; on the H100 0.8%, about the spread.
#
# ## What to remember
#
# - A warp that only loads runs ahead by as many stages as the ring has, also from one tile into the next.
# - A warp may overwrite memory only when it knows that the last reader is done. `empty` says so of a stage, on any SM
#   of the cluster; a flag, released and acquired, says so between clusters.
# - Before you use a lever, count its gap beside the whole, and what closing it costs.
# - Compare a gain with its spread, and only within one session: between two, ratios can move by more.
#
# ## Test yourself
#
# <details><summary>1. A consumer arrives at <code>empty</code> right after <code>commit_group</code>. What can go
# wrong, and do more stages help?</summary>
#
# The wgmma may still read the stage when the producer's next bytes land in it: wrong results, now and then. More stages
# make that rarer. Only `wait_group` rules it out.
#
# </details>
#
# <details><summary>2. With 3 stages, is a new pipeline state for each tile right if a tile has 6 K tiles? And
# 9?</summary>
#
# With 6, two whole rounds, it is. After 9 the stage fits, and the phase does not.
#
# </details>
#
# <details><summary>3. Lane 0 alone polls the flag with acquire loads, and then all lanes add without a
# <code>sync_warp</code>. What is wrong?</summary>
#
# Only lane 0's reads come after the giver's writes. No rule orders the other lanes' reads, even if they are executed
# later.
#
# </details>

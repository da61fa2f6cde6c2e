# ---
# jupyter:
#   tutorlib:
#     minutes: 180
#     appendix: 65
#     summary: The parts of a persistent GEMM, each predicted and measured, until it picks its own configuration.
# ---

# %% [markdown]
# # 14 · Beat cuBLAS
#
# Notebook 13's kernel runs at 1.01, 0.975 and 1.00 of cuBLAS's speed at 2048³, 4096³ and 8192³, and at 0.58 to 0.75 at
# squares that do not fill an H200 with tiles of 128×256. This page brings 4096 to 1.01 and 8192 to 1.03 by scheduling:
# which warp loads, which multiplies, which tiles run together, and which warps store while others compute. At 2048
# scheduling gains nothing. The larger gain is the choice of a configuration: with it the course's chooser brings the
# other squares to 1.0 or more on an H200.
#
# You meet nine **levers**, changes of the schedule that leave the arithmetic as it is. You write the kernel's parts one
# by one, and at the end a function that picks a configuration for any shape.
#
# | | exercises, in this order | minutes |
# |---|---|---|
# | two roles, and their registers | 14.1, 14.2, 14.13 | 35 |
# | persistent blocks, and their epilogue | 14.7, 14.14, 14.15 | 40 |
# | bytes, and clusters that share them | 14.4, 14.5, 14.16 | 35 |
# | the last wave, and the levers measured | 14.17 | 35 |
# | a configuration for any shape; your kernel | 14.10, 14.12, 14.18 | 35 |
#
# Each row ends with a section: a good place to stop.
#
# Times are taken in turns with PyTorch's cuBLAS, on normally distributed inputs. **Cool** means rounds of a few
# milliseconds between which the GPU rests.
#
# > **After this page you can** give warps roles and registers, keep blocks busy from the first tile to the last, share
# > loads in a cluster, hand accumulators from one block to another, estimate a configuration's time from counts, and
# > choose one for a shape that has never been timed.
# >
# > **It takes** about 180 minutes, on any machine, and its appendix about 65 more. Without a Hopper GPU the kernels are
# > simulated; with one they are timed.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tutorlib import (
    WGMMA, Sm, TensorSpec, check, compare_on_gpu, compare_parts, compile_cute, device, hopper_gemm as course, l2,
    show_figure, show_ladder, show_levers, show_model, show_roles, show_source, show_sweep, show_work,
    tune_hopper,
)  # fmt: skip
from tutorlib.kernels.hopper import (
    ConfigError, HopperConfig, Loads, Parts, RoleSteps, gemm_kernel, load_steps, make_specialized, multiply_steps,
    multiply_tiles, specialized_kernel,
)  # fmt: skip

# %% [markdown]
# ## Where the time goes
#
# The drawing shows one SM computing three tiles of C, one after the other, in the manner of notebook 13. Two warpgroups
# share each tile, and one of their warps also issues the loads. An SM holds one block at a time, as its stages fill
# shared memory, so no second block computes in the gaps.
#
# Each color is one tile of C. Orange marks a warpgroup (`wg`) in its epilogue, rounding and storing. The rows `load`
# and `store` are TMA's copies, `mma` the tensor cores, hatched while they are idle. A *tick* is the drawing's unit of
# time; measured times follow below.

# %%
show_roles("plain")

# %% [markdown]
# Each tile has two gaps. The first multiplication waits for the tile's first bytes, because its block has only just
# started; in a block that stays, the warp that issues the loads was still busy with the previous epilogue. After the
# last multiplication comes the tile's own epilogue, and meanwhile nothing multiplies.
#
# The first gap closes if the block stays for the next tile *and* another warp issues the loads. The next drawing shows
# that. Its title, *cooperative*, is CUTLASS's
# [word](https://docs.nvidia.com/cutlass/media/docs/cpp/efficient_gemm.html) for two warpgroups that share each tile.
# The drawing shows a tile's loads as late as they may come, three ticks before its multiplication.

# %%
show_roles("cooperative")

# %% [markdown]
# ## Two roles
#
# So one more warpgroup joins the block, the **producer**, one of whose warps issues all loads. The other warpgroups are
# the **consumers**: they multiply and never load. Notebook 13's ring connects the two, with an mbarrier `full` and an
# mbarrier `empty` for each stage.
#
# | | producer | consumers |
# |---|---|---|
# | waits for | `empty[stage]`: all have read it | `full[stage]`: the bytes have landed |
# | then | announces bytes, issues the TMA loads | fence, wgmma, commit |
# | arrives at | `full[stage]`, where TMA counts the bytes | `empty[stage]`, once the wgmma has *read* the stage |
#
# The producer runs ahead of the consumers by up to as many K tiles as the ring has stages.
#
# Each role runs its loop once for every tile of C. Its argument, `steps`, has:
#
# - `steps.k_tiles`, `steps.stages`, `steps.stage_bytes`
# - `steps.full + s`, `steps.empty + s`: the mbarriers of stage `s`. A phase of `full` completes with one arrival and
#   the bytes that it announces; a phase of `empty` with one arrival from *each consumer warp*, `steps.consumers` in
#   all.
# - `steps.load(k_tile, s)` issues the copies of A's and B's tile; `full[s]` counts their bytes.
# - `steps.multiply(s, first)` issues the wgmmas of a stage and, unlike notebook 13's, neither fences nor commits.
#   `first` says whether to discard the old accumulators; it must be a Python `True` or `False`.
#
# `make_pipeline_state(PipelineUserType.Producer, stages)` counts for you: `.index`, `.phase`, `.advance()`, `.clone()`.
# A producer's phase starts at 1, so its first wait finds every stage empty. A consumer's state is made with
# `PipelineUserType.Consumer`; its phase starts at 0.
#
# **Exercise 14.1** (about 7 lines). Write `produce(steps)`. All lanes of one warp run it. One lane arrives (`with
# cute.arch.elect_one():`); `steps.load` elects a lane by itself. The calls are those of notebook 13's main loop:
# `mbarrier_wait`, `mbarrier_arrive_and_expect_tx`. As there, the loop over K tiles is `cutlass.range(…, unroll=1)`.


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
# The consumers' loop has one trap. After `commit_group` a multiplication has been *issued*; only after `wait_group` do
# you know that it has read its stage. All consumers use the same four tensor cores of the SM, whose queue runs empty if
# every warpgroup waits for its group before it issues the next. So issue the next group while one is in flight, and
# then free the stage of the *earlier* one.
#
# **Exercise 14.2** (about 20 lines). Write `consume(steps)`, which every consumer warp runs.
#
# - One lane of each warp arrives at `empty` once for every K tile, and never before the wgmmas that read the stage are
#   known to be complete. The arrival after the last K tile is optional here; the kernel of *Persistent blocks* needs
#   it.
# - When `consume` returns, no wgmma may be in flight, because the epilogue rounds the accumulators next.
#
# The check runs your loop beside a producer, with 2, 3 and 4 stages, and assumes the worst timing that the mbarriers
# allow.


# %%
from cutlass.cute.nvgpu import cpasync, warpgroup


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
# This is the kernel around the two loops. Its last line, `divide_roles`, sends all consumer warps to `multiply_tiles`,
# in which a block takes one tile after another, and one warp of the producer to this loop:
#
# ```python
# def load_tiles(tiles, produce):
#     for number in cutlass.range(tiles.walk.count, unroll=1):
#         produce(tiles.steps(number))
#         cute.arch.barrier(barrier_id=STAGES_READ, number_of_threads=tiles.threads)
# ```
#
# Each tile has mbarriers of its own, so that your loops can count from 0. They do not protect the previous tile's
# stages, so the producer waits at the named barrier `STAGES_READ` until the consumers have returned from `consume`. The
# kernel that you build from here on keeps one ring for all tiles and needs no such barrier.

# %%
show_source(multiply_tiles, specialized_kernel)

# %% [markdown]
# **Predict:** with tiles of 128×128, half as large, how much slower is the kernel? There is room for more stages then,
# and there are more tiles, so that one tile's epilogue can overlap another's loads.

# %%
large, small = (make_specialized(HopperConfig((128, n, 64)), load_steps, multiply_steps) for n in (256, 128))
SQUARE = [TensorSpec((4096, 4096), "bf16")] * 3
compiled = compile_cute(large, SQUARE, "sm_90a")
print(compiled)
compare_on_gpu({"128×256": large, "128×128": small}, [2048, 4096], needs=WGMMA)

# %% [markdown]
# The smaller tile is 5% slower at both sizes. The section *Bytes per step* counts the bytes it moves.
#
# ## Registers move
#
# Look again at the line about registers: 384 threads with 168 each. A consumer thread holds 128 accumulators, and 64
# more registers once it also holds them rounded to bf16: more than 168. The producer's threads only count stages. But a
# block starts with the same number for every thread.
#
# The instruction `setmaxnreg` changes that. One warpgroup returns registers to the block's pool
# (`setmaxregister_decrease`), and another takes them (`setmaxregister_increase`), waiting until the pool has enough.

# %%
print(*(line.strip() for line in compiled.ptx.splitlines() if "setmaxnreg" in line), sep="\n")

# %% [markdown]
# The rules: an SM has 65,536 registers. A block has *w* consumer warpgroups and one producer warpgroup. Each thread
# starts with 65,536 divided by the number of threads, rounded down to a multiple of 8; the sum over all threads is the
# pool. `setmaxnreg` takes multiples of 8, and at least 24. The producer keeps what it needs, and the consumers divide
# the rest.
#
# The cell prints pairs, a producer thread's registers and a consumer thread's. Here the producer needs 24, as above.

# %%
for warpgroups in (2, 3):
    for need in (24, 40, 56):
        print(f"{warpgroups} multiply, the producer needs {need}: {course.register_split(warpgroups, need)}")

# %% [markdown]
# The appendix *Registers, counted* has this arithmetic as an exercise.
#
# From here on you write the parts of one kernel, the one that the rest of the page measures. It has a slot for each
# part. `check` puts your function into its slot, fills the others with the course's, and simulates the kernel on a GPU
# with two SMs, so that a block has several tiles even of a small C.
#
# **Exercise 14.13** (about 7 lines). Write `take_roles(me, consumers, registers, produce, consume)`, which every thread
# of the block runs.
#
# - `me.group` is the number of its warpgroup in the block, `me.warp` that of its warp in the warpgroup.
# - Warpgroups 0 to `consumers` − 1 multiply; warpgroup `consumers` is the producer.
# - `registers` is the pair from above: (producer's, consumers').
#
# Move the registers, then let one warp call `produce()` and every consumer warp `consume()`. The instruction,
# `cute.arch.setmaxregister_decrease(n)` or `…_increase(n)`, must be executed by all four warps of a warpgroup.
# **Predict** before you run the check: which of the two instructions, if you leave it out, makes the kernel hang?


# %%
@cute.jit
def take_roles(
    me,
    consumers: cutlass.Constexpr,
    registers: cutlass.Constexpr,
    produce: cutlass.Constexpr,
    consume: cutlass.Constexpr,
):
    ### BEGIN SOLUTION (about 7 lines)
    if me.group == consumers:
        cute.arch.setmaxregister_decrease(registers[0])
        if me.warp == 0:
            produce()
    else:
        cute.arch.setmaxregister_increase(registers[1])
        consume()
    ### END SOLUTION


# %%
check("14.13", take_roles)

# %% [markdown]
# It is the producer's `setmaxregister_decrease`: without it the consumers wait forever for registers that no warp
# returns. Without the consumers' `setmaxregister_increase` the result is still right, but the compiler spills the
# values that find no register to local memory. The small tiles of the simulation do not spill, so the check counts the
# instruction.
#
# ## Persistent blocks
#
# To close the gaps between tiles, a block needs a *next* tile. So the kernel launches only as many blocks as fit on the
# GPU, and each computes tile after tile. Such blocks are called **persistent**.
#
# The order of the tiles is now the kernel's: down bands of `group` rows, as in notebook 11. Each block's tiles follow
# from its number, so the producer and the consumers each compute them and need not communicate.
#
# `walk` lists a block's tiles, (M, N). Its arguments are the block, the cluster's extent, the number of clusters at a
# time, the clusters down and across C, and the rows of clusters in a band. In a cluster of 2×1, which the section
# *Clusters* explains, two blocks compute tiles one below the other.

# %%
for block in (0, 1, 2, 131):
    print(f"block {block:3} at 4096³, clusters of 2×1: {course.walk(block, (2, 1), 66, (16, 16), 8)}")

# %% [markdown]
# C is 256 pairs of tiles, and of the 66 clusters number 0 takes the pairs 0, 66, 132 and 198. As 66 = 8 · 8 + 2, pair
# 66 is in the first band, ninth column, third from the top: tile (4, 8) for block 0. Block 131 has three tiles, as
# there is no pair 263.
#
# The producer's loop is now inside a loop over tiles of C, and the ring does not know where a tile ends. If a tile has
# 5 K tiles and the ring 3 stages, the second tile begins at stage 2, in the ring's second round. A new pipeline state
# for each tile would wait for the wrong phase of the wrong stage. So the state belongs before both loops.
#
# **Exercise 14.7** (about 7 lines). Write `produce_tiles(tiles, loads)` for the producer warp.
#
# - `tiles.items()` is the number of tiles of C that this block computes, at least 1, so loop over
#   `cutlass.range(tiles.items(), unroll=1)`. `item = tiles.take(number)` is one of them: `item.tile` is its place (M,
#   N), and `item.k_tiles` the number of its steps along K.
# - `item.k_tile(step)` is the K tile that a step needs. That is not always `step`: a block may have to begin in the
#   middle of K.
# - `loads.stages`, and `loads.issue(tile, k_tile, stage, phase)`: the body of your loop in `produce`, except `advance`.
# - `loads.finish(state)`, after the last tile: waits until all stages have been read. In a cluster, other blocks arrive
#   at this block's mbarriers, so it must not end before they have.


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
check("14.7", produce_tiles)

# %% [markdown]
# The course's part here is `loads.issue`. You know its lines from `produce`:

# %%
show_source(Loads)

# %% [markdown]
# ## The other gap: the epilogue
#
# Rounding 128×256 accumulators and storing them takes time, and meanwhile both warpgroups leave the tensor cores idle.
# Unlike notebook 13's, this epilogue has shared memory of its own beside the stages, so the warps need not wait for
# each other.
#
# There are two ways to close this gap. **Ping-pong**: each warpgroup has a tile of its own, and one multiplies while
# the other stores. **Deferred stores**: a thread rounds its 128 accumulators to 64 registers of bf16 at once, issues
# the next tile's first wgmmas, and only then stores, while they run. That is what the extra registers are for.

# %%
show_roles("cooperative", "deferred stores", "ping-pong")

# %% [markdown]
# In the drawing ping-pong wins, with tiles of half the size. One warpgroup holds all accumulators of a tile, and for
# 128×256 they would be 256 in each thread, more than the 240 registers above. The kernel's tiles are 128×192, three
# quarters, and leave more SMs idle at the end, as the section *Waves* counts. **Predict** which of the two ways gains
# more, before you look at the table in *The levers, measured*.
#
# Deferred stores keep the large tile. Their loop handles two tiles at a time: the one that is being multiplied, and the
# previous one, already rounded, which waits in registers until it is stored.
#
# **Exercise 14.14** (about 19 lines). Write `consume_tiles(tiles, multiply, out, defer)`, which every consumer warp
# runs. `tiles` is what `produce_tiles` gets. The steps of your `consume` are two calls now:
#
# - `multiply.step(state, first)`: wait for `full`, fence, issue the wgmmas, commit. `first` is a Python `True` or
#   `False`.
# - `multiply.retire(pending, state)`: `wait_group(pending)`, then arrive at `empty` of that state's stage.
# - `multiply.stages`, for the pipeline state, which goes on from tile to tile.
#
# The epilogue of tile `number` is one call or two: `out.round_and_store(number)`, or `out.round(number)` and later
# `out.store(number)`. When the last tile has been stored, `out.drain()` waits until TMA has read the block's shared
# memory.
#
# `defer` is known at compile time, so `if cutlass.const_expr(defer):` leaves no branch in the kernel. If it is False,
# round and store each tile at once. If it is True, round it at once, and store it when the next tile's first step has
# been issued. As in `consume`, one step is in flight while the next one is issued.


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
check("14.14", consume_tiles)

# %% [markdown]
# ### The store itself
#
# A warp owns 16 of every 64 rows of its warpgroup's part of the tile. It stores them in pieces of 16 rows × 64 columns,
# each through a buffer in shared memory: `stmatrix` writes the buffer, and TMA copies it to C. There are fewer buffers
# than pieces, and the previous tile's copies may still be in flight when the next tile's pieces come. So before a
# buffer is written again, TMA must have *read* it; it need not have written C. For bulk copies that is
#
# > `cute.arch.cp_async_bulk_wait_group(n, read=True)`: returns when all but the newest *n* of this thread's groups have
# > been read. `cute.arch.cp_async_bulk_commit_group()` closes a group.
#
# One lane, always the same, issues all copies of a warp, so only its wait means anything. And TMA is another **proxy**:
# it sees what threads wrote to shared memory only after a `cute.arch.fence_proxy("async.shared", space="cta")` by each
# lane that wrote. `cute.arch.sync_warp()` synchronizes the lanes of a warp.
#
# **Exercise 14.15** (about 12 lines). Write `store_pieces(out)`, which each consumer warp runs for a rounded tile.
# `out.pieces` and `out.buffers` are Python numbers, so the loop is `cutlass.range_constexpr`. `out.write(piece,
# buffer)` is the `stmatrix`, `out.copy(piece, buffer)` issues the copy and elects the lane by itself. Within a tile,
# keep as many copies in flight as the buffers allow; before its first piece you may wait for all copies of the previous
# tile.


# %%
@cute.jit
def store_pieces(out):
    ### BEGIN SOLUTION (about 12 lines)
    for piece in cutlass.range_constexpr(out.pieces):
        buffer = piece % out.buffers
        if cutlass.const_expr(piece == 0):
            cute.arch.cp_async_bulk_wait_group(0, read=True)
            cute.arch.sync_warp()
        elif cutlass.const_expr(piece >= out.buffers):
            cute.arch.cp_async_bulk_wait_group(out.buffers - 1, read=True)
            cute.arch.sync_warp()
        out.write(piece, buffer)
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_warp()
        out.copy(piece, buffer)
        cute.arch.cp_async_bulk_commit_group()
    ### END SOLUTION


# %%
check("14.15", store_pieces)

# %% [markdown]
# ## Bytes per step
#
# A step along K moves the bytes of one K tile along several paths, each with a bandwidth of its own. The tensor cores
# of an SM perform 4,096 operations per cycle at the datasheet's rate, so a step of 128×256×64 takes them 1,024 cycles.
# Do the other paths keep up?
#
# **Shared memory** moves 128 bytes per cycle. TMA writes both tiles into it. For every 64 rows of A's tile, wgmma then
# reads these rows once and *all* of B's tile: two warpgroups with 64 rows each read B twice.
#
# **L2** supplies A's and B's tile. In a **cluster** of *m*×*n* blocks, the blocks of one row want the same tile of A:
# each loads one *n*-th of it and multicasts that slice to all *n*. The same holds for B along a column. Each block
# still receives whole tiles in its own shared memory, but L2 sends fewer bytes.
#
# **Exercise 14.4** (about 4 lines). Write `step_bytes(tile, cluster)` → (bytes that shared memory moves, bytes that L2
# sends) for one block in one step along K, in bf16. `tile` is (M, N, K), `cluster` is (M, N) in blocks.


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
# Read the first line. At the tensor cores' full rate a tile of 128×256 takes *all* of shared memory's 128 bytes per
# cycle, and 48 bytes per cycle from L2, for each of 132 SMs at once. A tile of 256×128 has the same area and needs 144.
# Smaller tiles need more bandwidth on both paths, which is a price of ping-pong.
#
# With 160 bytes instead of 128, 128×128 should be a quarter slower than 128×256, and in *Two roles* it was 5% slower.
# The rank is right; the limit is too strict.
#
# ## Clusters
#
# **Predict** what a cluster of 2×1 brings over none: L2 sends a third less. The answer is in *The levers, measured*.
#
# Blocks of a cluster have a **rank** that runs along M first: block (*m*, *n*) has rank *m* + *n* · cluster[0]. TMA's
# multicast takes a mask in which bit *r* is set if the block of rank *r* receives. The copy lands at the same offset in
# the shared memory of each receiver, and the mbarrier at the same offset there counts its bytes. So each block
# announces the bytes of both *whole* tiles, and gets them from several blocks.
#
# The cell counts rows within the tile. Blocks 0 and 1 have different tiles of A, blocks 0 and 2 the same.

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
# `cpasync.tma_partition(tma, place, layout, s, g)` cuts the slice: `layout` says how many blocks share the tile
# (`cute.make_layout(n)` for *n*), `place` which of them this one is, and both tensors have the tile as their first
# mode. It returns (target, source), the slice in shared memory and in global memory.
#
# **Exercise 14.5** (about 12 lines). Write `load_shared(operand, row, k_tile, stage, full)`, which the producer warp
# calls for A and for B in each step.
#
# - `operand.g[None, None, row, k_tile]` is the tile in global memory (`row` counts tiles, along M for A and along N for
#   B), and `operand.s[None, None, stage]` its place in shared memory; `cute.group_modes(…, 0, 2)` makes one mode of the
#   two that are left.
# - `operand.mode` is 0 for A, whose tile the blocks with the same *m* share, and 1 for B, whose tile those with the
#   same *n* share. It is a Python number. `operand.cluster` is the cluster's extent, two Python numbers, and
#   `operand.block` this block's (*m*, *n*), two numbers that only the running kernel knows.
# - `operand.tma` is the copy atom. `operand.copy(source, target, full, mask)` is `cute.copy` with `tma_bar_ptr=full`
#   and `mcast_mask=mask`.


# %%
@cute.jit
def load_shared(operand, row, k_tile, stage, full):
    ### BEGIN SOLUTION (about 12 lines)
    mode, block, cluster = operand.mode, operand.block, operand.cluster
    target, source = cpasync.tma_partition(
        operand.tma,
        block[1 - mode],
        cute.make_layout(cluster[1 - mode]),
        cute.group_modes(operand.s[None, None, stage], 0, 2),
        cute.group_modes(operand.g[None, None, row, k_tile], 0, 2),
    )
    if cutlass.const_expr(mode == 0):
        mask = sum(1 << n * cluster[0] for n in range(cluster[1])) << block[0]
    else:
        mask = ((1 << cluster[0]) - 1) << block[1] * cluster[0]
    operand.copy(source, target, full, mask)
    ### END SOLUTION


# %%
check("14.5", load_shared)

# %% [markdown]
# Multicast has two prices. First, a stage of this block holds slices that other blocks loaded, and their stages hold
# slices that this block loaded. So before a producer overwrites its slices, *all* blocks that receive them must have
# read them, and `empty` of a stage waits for arrivals from other SMs: one from each consumer warp of each block in this
# block's row and column of the cluster. Together with this block they are cluster[0] + cluster[1] − 1 blocks. The
# kernel initializes `empty` with the number of their consumer warps; the arrivals are yours.
#
# Second, the blocks of a cluster must start together, in one GPC (graphics processing cluster), a group of SMs. The
# section *Waves* counts what that costs.
#
# **Exercise 14.16** (about 4 lines). Write `free_stage(ring, stage)`, which each consumer warp calls when it has read a
# stage.
#
# - `cute.arch.mbarrier_arrive(pointer, rank)` arrives at the mbarrier with this pointer's offset in the block of that
#   rank. `ring.empty + stage` is the mbarrier; `ring.block` and `ring.cluster` are what `operand` has.
# - A warp has 32 lanes and at most 8 blocks to tell, so no loop is needed: let each lane decide whether it speaks to a
#   block. `cute.arch.lane_idx()` is the lane.
# - `ring.first + r` is the rank of the cluster's block number *r*. `ring.first` is 0 except with split-K, where one
#   cluster of the hardware holds several such clusters, one for each part of K.


# %%
@cute.jit
def free_stage(ring, stage):
    ### BEGIN SOLUTION (about 4 lines)
    lane = cute.arch.lane_idx()
    m, n = lane % ring.cluster[0], lane // ring.cluster[0]
    if n < ring.cluster[1] and (m == ring.block[0] or n == ring.block[1]):
        cute.arch.mbarrier_arrive(ring.empty + stage, ring.first + lane)
    ### END SOLUTION


# %%
check("14.16", free_stage)

# %% [markdown]
# ## Waves
#
# There are 132 SMs, and 2048×2048 is 128 tiles of 128×256: nearly a full **wave**, a set of tiles that run at the same
# time. How do other sizes fit, and how do clusters? The appendix *Waves, counted* has the arithmetic as an exercise.

# %%
import pandas

rows = {}
for size in (1024, 2048, 3072, 4096, 8192):
    for tile in [(128, 256, 64), (128, 192, 64), (256, 192, 64)]:
        waves, last = course.count_waves(size, size, tile, (2, 1), 66)
        area = tile[0] * tile[1]
        rows.setdefault(f"{size}", {})[f"{tile[0]}×{tile[1]}"] = (
            f"waves: {waves}, clusters in the last: {last}, at best {size * size / (waves * 132 * area):.0%}"
        )
pandas.DataFrame.from_dict(rows, orient="index")

# %% [markdown]
# The percentage is the largest share of the time in which the tensor cores can do useful work. At 2048 a tile of
# 128×192 has lost a third before it begins.
#
# An H200's GPCs have unequal numbers of SMs, and a cluster must fit into one of them. So of clusters with four blocks a
# GPU may hold fewer than 132 / 4 = 33. **Predict:** at 2048, 128 tiles are 32 clusters of 2×2. What happens on a GPU
# that holds 31? The cell prints the waves, and the clusters in the last one.

# %%
for at_once in (33, 32, 31):
    print(f"{at_once} clusters of 2×2 at a time: {course.count_waves(2048, 2048, (128, 256, 64), (2, 2), at_once)}")
if reason := device.why_not(WGMMA):
    print(f"how many this GPU holds: {reason}")
else:
    from tutorlib.kernels.hopper.launch import max_clusters

    print(f"this GPU holds {max_clusters(2)} clusters of two blocks, {max_clusters(4)} of four")

# %% [markdown]
# The course's H200 holds 30 clusters of four, so at 2048 clusters of 2×2 need a second wave.
#
# ### The order of tiles again
#
# wgmma leaves less time for a fetch from L2 than notebook 11's arithmetic, so the order of fetches may matter more.
#
# - `zigzag`: K runs backwards in every other tile, so that a block first asks for what it loaded last.
# - *Tile order* is `raster="m"` and `snake=True`: the bands consist of columns instead of rows, and every other band
#   runs backwards.
# - *Polling* is `polls=True`: a waiting warp asks its mbarrier again and again and never sleeps.
#
# ## The last wave: stream-K
#
# 4096 has 512 tiles of 128×256 for 132 SMs: 3.88 waves, which take as long as 4. In the last one, 16 SMs are idle.
# **[Stream-K](https://arxiv.org/abs/2301.03598)** lays the K tiles of all tiles end to end and cuts that line into
# equal shares, one for each cluster. Where a cut goes through a tile, one cluster passes its accumulators to another,
# which adds them. The appendix *Shares, counted* has the arithmetic as an exercise.
#
# The drawing has a row for each cluster, with a color for each tile and a cell for each K tile. A cluster computes its
# share from the last tile to the first, so the part that it gives away comes first. An arrow leads from there to the
# end of the tile, where another cluster adds it.

# %%
show_work({"whole tiles": course.whole_tiles, "stream-K": course.stream_k}, clusters=4, tiles=6, k_tiles=6)

# %% [markdown]
# In this example it takes a quarter less time. It is not free: the fp32 accumulators of a 128×256 tile are 128 KiB,
# written to L2 by one block and read back by another. The kernel cuts only the tiles of the last wave, and those of one
# wave more where the last one has few. **Predict:** at which of 2048, 4096, 8192 is it worth that?
#
# ### The hand-over
#
# The block that has the last K tiles of a tile adds the other blocks' accumulators and stores the tile. The others
# write theirs to global memory. In the drawing cluster 0 has written its part of tile 1 after 3 K tiles, and cluster 1
# needs it after 9.
#
# Two blocks share no barrier, so a **flag** in global memory tells the adding block that the giving block has written
# its accumulators: each warp has a flag, zero at first. In [PTX's memory
# model](https://docs.nvidia.com/cuda/parallel-thread-execution/#memory-consistency-model) two rules make that safe:
#
# - A store with **release** semantics comes after everything that the thread did before, and what the other lanes of
#   the warp did before a `sync_warp`.
# - A load with **acquire** semantics comes before everything that the thread does afterwards, and before what the other
#   lanes do after a `sync_warp`.
#
# Both need the scope of the GPU, since the blocks are on different SMs:
#
# > `cute.arch.store(part.flag, Int32(1), sem="release", scope="gpu")` and
# > `cute.arch.load(part.flag, Int32, sem="acquire", scope="gpu")`
#
# **Exercise 14.17** (about 12 lines in both). Write `give_part(part)` and `add_part(part)`, which all lanes of a
# consumer warp run, the one in the block that gives, the other in the block that adds, once for each block that gives
# it a part.
#
# - `part.flag` is the giving warp's flag. `part.write()` writes this thread's accumulators to global memory, where the
#   adder's thread of the same number finds them.
# - `part.add(slice)` loads one of the `part.slices` slices of them and adds it to this thread's accumulators.
#   `part.slices` is a Python number, so that loop is `cutlass.range_constexpr`.
# - The adder polls the flag, `while given == 0:`, with all lanes. `cute.arch.make_warp_uniform(x)` gives each of them
#   lane 0's value, and the compiler knows that they agree. So the lanes leave the loop together, and a lane whose own
#   load was too early may be among them.
# - At the end the adder sets the flag to 0 again, for the next launch; one lane is enough, and so is `sem="relaxed"`.
#
# The simulator knows both rules, and reports a sum that is right only by luck.


# %%
from cutlass import Int32


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
check("14.17", hand_over)

# %% [markdown]
# ### Few tiles, long K
#
# Where C has fewer tiles than the GPU has SMs, cut K: **split-K**, the switch `split_k=4`. Four blocks of one cluster
# compute a quarter of a tile's K each (the appendix *Split-K in a cluster*).
#
# ## The levers, measured
#
# **Predict** the gain of each lever, in percent, at 2048, 4096 and 8192: roles alone, persistent, deferred stores,
# multicast, zigzag, polling, tile order, stream-K. How to read the table:
#
# - **Numbers** are speeds as fractions of cuBLAS's. **Rows** with a + add one lever to a row above: the nearest with a
#   dot less, or *plain*. The percentage is the gain over that row.
# - **Names**: *plain* is notebook 13's kernel, with a block for each tile. *Multicast* is a cluster of 2×1. The tile
#   is 128×256 unless a row names another. The last two rows are persistent and have multicast; 256×192 has zigzag and
#   polling as well.

# %%
show_levers()

# %% [markdown]
# Multicast, deferred stores and stream-K are added in two places each, since of two levers that close the same gap the
# second brings less.
#
# How good was your list? Gains are in percent, those beyond the spread in bold.
#
# | lever | what it saves | 2048 | 4096 | 8192 |
# |---|---|---|---|---|
# | roles alone | nothing: they make the others possible | −0.9 | −0.1 | +0.2 |
# | persistent | the wait for a tile's first bytes, in every wave but the first | +0.5 | **+3.0** | **+1.0** |
# | deferred stores | the gap of an epilogue between two tiles | −0.4 | +0.1 to +0.6 | +0.1 |
# | multicast | a third of L2's bytes | −0.1 to −0.2 | −0.2 to +0.3 | −0.2 to −0.4 |
# | zigzag | bytes from device memory | +0.2 | +0.4 | **+0.7** |
# | polling | waking up | −0.6 | +0.2 | +0.2 |
# | tile order | bytes from device memory | −0.6 | 0.0 | +0.1 |
# | stream-K | idle SMs in the last wave, 3% of the time at 4096 | **−15 to −16** | **−1.3** | **+1.0 to +1.2** |
#
# **At 2048 no row beats *plain*.** There is one wave, so nothing that overlaps with a *next* tile can help, and
# stream-K cuts tiles that fit into it. Stream-K pays at 8192 only: at 4096 its partial sums cost no less, and that is
# eight times as much of the time.
#
# **Other tiles** trade waves for cycles. 256×192 with stream-K is the fastest row at 8192 and the slowest at 2048.
# Clusters of 2×2 have no row: 30 of them occupy 120 SMs, so their waves are 2, 5 and 18 instead of 1, 4 and 16.
#
# <details><summary>Ping-pong, counted beside <em>multicast</em>, which has the same clusters</summary>
#
# | | 2048 | 4096 | 8192 |
# |---|---|---|---|
# | 128×256: waves × cycles of a K tile | 1 × 1,024 | 4 × 1,024 | 16 × 1,024 |
# | 128×192, ping-pong | 2 × 768 | 6 × 768 | 21 × 768 |
# | so it should take | 1.50 times as long | 1.13 | 0.98 |
# | it takes, by the ratios in the table | 1.31 | 1.11 | 1.00 |
#
# At 2048 the start, which both pay, dilutes the loss. At 8192 the waves are in ping-pong's favor and its K tiles are
# not. *Bytes per step* has a possible cause.
#
# </details>
#
# Multicast is the surprise: L2 sends a third less, and the time does not change. Perhaps blocks that ask for the same
# lines at the same moment share one L2 access even without it.
#
# ### Neighbors
#
# This section tests that guess; you may skip to the rule at its end. Nsight Compute lists a unit in front of L2, the
# *L2 Request Coalescer*, that merges reads of one line. Suppose that it merges those of SMs in one **GPC**, and that
# consecutive blocks start there. Then they should compute tiles in few rows and few columns.
#
# In 512×1280×8192 with tiles of 64×80, all 8×16 tiles run at once, so the width of the bands changes nothing but which
# blocks are neighbors. How many of them one such unit serves is not documented. In a step 8 neighbors request 144 KiB,
# and 16, about as many as a GPC has SMs, 288. How much of it is different?

# %%
from functools import cache, partial

# %%
for band in (1, 2, 4, 8):
    line = f"bands of {band}:"
    for count in (8, 16):
        neighbors = l2.waves((8, 16), partial(l2.grouped, group=band), count)[0]
        rows, columns = (len({tile[mode] for tile in neighbors}) for mode in (0, 1))
        different = (rows * 64 + columns * 80) * 128 // 1024
        line += f"   {count} neighbors in {rows}×{columns:<2} {different:3} KiB"
    print(line)

# %% [markdown]
# **Predict** the order of these four.

# %%
show_sweep("gemm_bands")

# %% [markdown]
# Bands of 1 are last in every column, by more than the spreads. Bands of 4 are first at K = 4096 and 8192; at 2048 they
# cannot be told from bands of 2 and 8. So which blocks are neighbors matters, at 8192 by a factor of 1.6 to 1.7. That
# *shared reads* are the reason remains a guess: the counts fit bands of 1 and 4 only; 2 and 8 are about level.
#
# If the guess is right, multicast has nothing left to save. **The rule:** where blocks without clusters compute all
# tiles at once and the bands come out even, the course's chooser sets `group=4`. Where there are more waves it keeps 8,
# since narrow bands read A from device memory more often.
#
# ## Choosing a configuration
#
# No configuration is the fastest at every shape. Much of what decides can be counted:
#
# > time ≈ start + rounds · (K tiles · step + epilogue) + cost of sharing tiles
#
# - A **step** takes as long as the slower of tensor cores and shared memory. L2's bytes overlap with both, but now and
#   then a warp waits for them, so they add a little, in proportion.
# - **Rounds** are waves if tiles stay whole. With stream-K they are the tiles (or groups of tiles, one for each
#   cluster) over the clusters that run at a time, not rounded, but at least 4 / (number of K tiles), since no part of a
#   tile is shorter than 4 K tiles.
# - With split-K a round has fewer K tiles and a longer epilogue.
# - No kernel is faster than device memory can deliver A and B and take C.
#
# The constants have to be measured. For an H200 they are:

# %%
print(Sm())

# %% [markdown]
# `flops` and `smem_bytes` are per cycle of an SM, `store`, `share` and `exchange` are cycles, `start` is in µs, `clock`
# in cycles per µs, and `hbm_bytes` in bytes per µs for the whole GPU. `l2_bytes` is the number of bytes from L2 that
# make a step one cycle longer.
#
# **All but `sms` and `smem_bytes` are fitted together to times of kernels.** None of these is a measurement of what its
# name says.
#
# **Exercise 14.10** (about 18 lines). Write `cost(config, m, n, k, sm)`, in µs:
#
# - Where `config.transposed`, A and B have changed places: exchange M and N as well.
# - A step's cycles: `2 · tile M · tile N · tile K` operations over `sm.flops`, or shared memory's bytes over
#   `sm.smem_bytes` if that is more; plus L2's bytes over `sm.l2_bytes`. Your `step_bytes` returns both, for
#   `config.tile` and `config.cluster`.
# - For each of its tiles a cluster has `config.split_k` blocks, and each of them takes an equal share of the tile's K,
#   rounded up to whole K tiles. `sm.at_once(blocks)` clusters of `blocks` blocks run at a time.
# - Count groups of `cluster[0]` × `cluster[1]` tiles, rounded up along each side; rounds are their number over the
#   clusters that run at a time, as described above.
# - Each round ends with an epilogue of `sm.store` cycles, and with split-K `sm.exchange` more, both for a tile of
#   128×256: multiply by the tile's area over that area.
# - Stream-K adds `sm.share` times the same ratio of areas, once. Where a tile is cut into several parts (rounds < 1),
#   it adds that for each part: 1 / rounds times.
# - Add `sm.start` µs to the larger of cycles / `sm.clock` and `2 · (M K + N K + M N)` bytes / `sm.hbm_bytes`.


# %%
from math import ceil


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
# How accurate is a formula with ten constants? The table has the levers' measured times, and the formula's result as a
# multiple of each. Switches that are not in the formula do not change its result.

# %%
show_model("hopper_levers", lambda config, m, n, k: course.gemm_time(config, m, n, k, Sm()))

# %% [markdown]
# **The constants** were fitted together, so none of them alone is what its name says: the fit puts into the step what
# a lower clock and the epilogues take.
#
# **The formula** is within about 5% at 4096 and 8192, and up to 10% too high at 2048. It is wrong about multicast: it
# charges for L2's bytes, so it promises a gain of 3 to 5%, and the measurement shows none. And it is too hard on small
# tiles: two steps of 128×128 take 2 · (640 + 109) = 1,498 cycles, 21% more than one of 128×256, and *Two roles*
# measured 5%. So `choose` will avoid tiles that it should not.
#
# The next cell counts what the tensor cores alone need at 1,980 MHz:

# %%
for size in (2048, 4096):
    waves, _ = course.count_waves(size, size, (128, 256, 64), (2, 1), 66)
    cycles = waves * size // 64 * 1024
    print(f"{size}: {waves} waves of {size // 64} K tiles, {cycles:,} cycles: {cycles / 1980:.1f} µs")

# %% [markdown]
# At 2048³ that is 16.5 of 27.0 µs. A single wave has nothing to overlap its start and its end with, and cuBLAS pays for
# them too: the best row reaches 1.011, within its spread of ±1.6%. At 4096³ it is 132.4 of 174.8 µs, and the
# best row reaches 1.014, ±0.5%. At 8192³, with stream-K, they reach 1.03 with tiles of 128×256, and 1.04 with 256×192.
#
# Now choose for every shape. The space consists of tiles, clusters, the ways to cut tiles and K, and `transposed=True`,
# which exchanges A and B, so that the kernel computes Cᵀ. `HopperConfig` states the rules that some combinations break.

# %%
from collections import Counter
from itertools import product

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

# %% [markdown]
# Most of the refused ones need more registers than a thread can have. The rest use split-K, and the stages have no room
# for the partial sums of the other blocks.
#
# **Exercise 14.12** (about 6 lines). Write `choose(m, n, k)`, which returns a `HopperConfig` for any shape, from your
# `cost` and `SPACE`. Times that agree to 0.1 µs count as equal, as where device memory is the limit: among these take
# the one that asks L2 for the fewest bytes, those of a step times the tiles.
#
# You may add rules of your own, but no list of sizes. One that the formula lacks and the course's chooser has is the
# rule of *Neighbors*: `dataclasses.replace(config, group=4)`.
#
# Each check also draws shapes at random, and refuses a choice that the course's model of the time expects to be far
# from the best. A Hopper GPU times five fixed shapes, none of them a square, and the one at which you do worst beside
# cuBLAS counts: for the last two points your ratio there must reach 85 and 93% of the course's. Without a GPU, the
# model judges your choice at these five, too.


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
# ## Your kernel
#
# Now put it together. `Parts` has a slot for each of your functions, and this is the kernel with the slots. The
# course's remaining lines allocate shared memory, initialize mbarriers, and make the objects that your parts get as
# parameters. What belongs to ping-pong and `fusion` is for switches that `SPACE` does not use.

# %%
show_source(gemm_kernel)

# %% [markdown]
# **Exercise 14.18** (about 11 lines). Write `my_gemm(m, n, k)`, which returns (configuration, parts) for a shape: your
# choice, and `Parts` with your eight functions. The slots are `roles`, `produce` and `consume` (the functions for all
# tiles), `store`, `load`, `free`, and `give` and `add`.
#
# The check simulates your parts together in three configurations: clusters with deferred stores, stream-K with deferred
# stores, and split-K. With a Hopper GPU it times your kernel at 4096³, in your configuration, for which you get the
# last point at 98% of the speed of the course's solution.


# %%
def my_gemm(m, n, k):
    ### BEGIN SOLUTION (about 11 lines)
    parts = Parts(
        roles=take_roles,
        produce=produce_tiles,
        consume=consume_tiles,
        store=store_pieces,
        load=load_shared,
        free=free_stage,
        give=give_part,
        add=add_part,
    )
    return choose(m, n, k), parts
    ### END SOLUTION


# %%
check("14.18", my_gemm)

# %% [markdown]
# **Predict** the difference between your parts and the course's, in the same configuration. On a Hopper GPU the next
# cell measures it:

# %%
from contextlib import suppress

with suppress(NotImplementedError):  # until you have written it
    compare_parts(my_gemm, [(2048,) * 3, (4096,) * 3, (8192,) * 3, (320, 8192, 4096), (768, 1280, 16384)])

# %% [markdown]
# Parts that issue the same instructions in the same order should differ by no more than the spread. The first number of
# a line is how far your `choose` gets: from 0.995 to 1.047 of cuBLAS.
#
# Last comes the entry point that all kernels of the ladder share, `gemm(a, b, c)`. It compiles the kernel once for each
# configuration and remembers its choice for each shape. The second cell prints your choice for five shapes, with the
# formula's time, and tests `gemm` at a sixth.


# %%
@cache
def launch(m, n, k):
    from tutorlib.kernels.hopper.launch import launcher

    config, parts = my_gemm(m, n, k)
    return launcher(config, m, n, k, parts=parts)


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
# An error of up to 0.5 is bf16's own: the largest of these results are beyond 128, where neighboring bf16 numbers are 1
# apart.
#
# A model can fit its own data well and fail elsewhere. The course's own chooser (`tutorlib/kernels/hopper/choose.py`)
# has a finer model of the same kind. It was fitted to measured times, among them those of the forty random shapes of
# seed 2026, but none of seed 1971; `tutor sweep gemm_any` times the chooser at both sets. **Predict** how much worse it
# is at the shapes that it has not seen.

# %%
show_figure("gemm_any")

# %% [markdown]
# Each point is one shape. On the H100, the median is 1.037 of cuBLAS on the shapes of the fit and 1.021 on the unseen
# ones, on the H200 1.034 and 1.023. It is slower than cuBLAS at 12 or 13 of 40, and at 17, at some of them by less
# than 1%. At the marked shapes it loses 15% on the H100 and 22% on the H200. Whether another configuration would do
# better there was not measured.
#
# `tutor sweep gemm_models` times the same chooser on the weights of three language models (of the 70B model on an
# eighth, as if eight GPUs shared it), with few tokens, as when a model writes, and with many, as when it reads. With 8
# and 16 tokens the chooser exchanges A and B, so that the tokens are a wgmma's N.

# %%
show_figure("gemm_models")

# %% [markdown]
# Below 512 tokens the median is 1.13 of cuBLAS on the H100 and 1.10 on the H200, where the pairs of one shape spread by
# 3%. From 512 tokens on it is 1.02 and 1.01, with spreads below 1%. With 8 tokens both kernels must read all of B from
# device memory, so a gain there means that cuBLAS does not reach its bandwidth.
#
# All of these weights were timed for the fit, but on an H100 only; on the H200, in the lower row, they are new to it.
#
# ## The ladder, to its end
#
# The table has the timed exercises of notebooks 13 and 14, each measured by its check. The row of `choose`, this page's
# function, shows the shape at which it did worst: on both GPUs it is behind cuBLAS there. *Gain* compares a time with
# that of the last row above it at the same size. The kernel of `consume` is persistent already, so its gain is not that
# of the roles alone.
#
# The picture after it has nine sizes. Its upper row repeats notebooks 09 to 12; look at the lower row, WGMMA.
# **Predict** for its right panel: at which sizes do the kernels that have one configuration for all sizes fall far
# below cuBLAS? On a Hopper GPU `tutor sweep gemm_rungs --resume` adds what it lacks.

# %%
show_ladder("13", "14")

# %%
show_figure("gemm_ladder")

# %% [markdown]
# They do up to 1536, and again at 3072. The small squares have fewer tiles of 128×256 than the GPU has SMs, and at 3072
# the third wave has 12 clusters where 66 fit (*Waves*). *Chosen*, the course's chooser, has no such dip on the H200: at
# all nine sizes it is at least level with cuBLAS. On an H100 it has one, the 0.87 at 3072. So at five of the nine sizes
# the choice of a configuration brings more than all levers of the schedule together.
#
# ## What to remember
#
# - One ring serves all tiles of a persistent block: its state goes on from tile to tile, for the producer and for the
#   consumers. A warp may overwrite memory only when it knows that the last reader is done: a stage by `empty`, on any
#   SM of the cluster; a store buffer by its bulk group. Another block's accumulators are there when a flag, released
#   and acquired, says so.
# - The tensor cores are never faster than the slowest path that feeds them, never busier than the schedule lets them
#   be, and their clock falls when they are busy. Count before you tune, then add up what you counted.
# - Compare a gain with its spread before you believe it. Of nine levers in the table, three gain more than that, and
#   none of them at every size.
# - A lever that gains at one size may cost at another: to choose, you need a rule that knows both.
#
# ## Test yourself
#
# <details><summary>1. A consumer arrives at <code>empty</code> right after <code>commit_group</code>. What can go
# wrong, and do more stages help?</summary>
#
# The wgmma has been issued and may still read the stage when the producer's next bytes land in it: wrong results, now
# and then. More stages make that rarer. Only `wait_group` rules it out.
#
# </details>
#
# <details><summary>2. 4096×4096 in tiles of 128×256, clusters of 2×1, 66 at a time. What can stream-K bring at
# best?</summary>
#
# 256 clusters are 3.88 waves, which take as long as 4: 3%, before the traffic of partial sums is paid for. In the table
# nothing of that is left: it costs 1.3%.
#
# </details>
#
# <details><summary>3. What does ping-pong with tiles of 128×192 pay for overlapping its epilogues?</summary>
#
# A step has three quarters of the arithmetic of one with 128×256, but five sixths of its bytes from L2. In every cycle
# L2 has to send 53 bytes instead of 48, and shared memory to move 139 instead of 128. And at 2048 and 4096 its tiles
# fill the waves less well: the tensor cores can do useful work for 65 and 86% of the time, where with 128×256 it is 97.
#
# </details>

# %% [markdown]
# ## Appendix: Registers, counted
#
# With three consumer warpgroups each consumer thread gets 160 registers, enough for the 128 accumulators of 64×256. Yet
# ptxas refuses: a wgmma must fit into the registers that a thread *starts* with, and with 512 threads that is 128.
#
# **Exercise 14.3** (about 4 lines). By the rules of *Registers move*, write `register_split(warpgroups, need)` →
# (producer, consumers), the registers of each thread afterwards: for the producer the `need` registers that its threads
# use, for the consumers as many as the pool has left. `warpgroups` is the number of consumer warpgroups, at least 2.


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

# %% [markdown]
# ## Appendix: Waves, counted
#
# **Exercise 14.6** (about 3 lines). Write `count_waves(m, n, tile, cluster, at_once)` → (waves, clusters in the last
# one), where the GPU holds `at_once` clusters at a time. A cluster works on `cluster[0]` × `cluster[1]` tiles.


# %%
def count_waves(m, n, tile, cluster, at_once):
    ### BEGIN SOLUTION (about 3 lines)
    clusters = ceil(m / (tile[0] * cluster[0])) * ceil(n / (tile[1] * cluster[1]))
    waves = ceil(clusters / at_once)
    return waves, clusters - (waves - 1) * at_once
    ### END SOLUTION


# %%
check("14.6", count_waves)

# %% [markdown]
# ## Appendix: Shares, counted
#
# **Exercise 14.8** (about 10 lines). Write `stream_k(cluster, clusters, tiles, k_tiles)`: the list of `(tile, first K
# tile, end)` that this cluster works on. All count from 0, and `end` is one past the last. Together the clusters must
# cover every K tile exactly once, their shares differ by at most one K tile, and a tile is cut only where a share ends.


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

# %% [markdown]
# ## Appendix: Split-K in a cluster
#
# At 768×1280×16384 there are 30 tiles of 128×256 for 132 SMs. Smaller tiles would occupy all SMs. But count the bytes
# they ask L2 for:

# %%
for tile in [(128, 256, 64), (128, 128, 64), (64, 128, 64), (64, 64, 64)]:
    tiles, (_, from_l2) = ceil(768 / tile[0]) * ceil(1280 / tile[1]), course.step_bytes(tile, (1, 1))
    print(f"{tile[0]:3}×{tile[1]:3}: {tiles:3} tiles, {tiles * from_l2 / 2**20:.1f} MiB from L2 for 64 of K")

# %% [markdown]
# The alternative is to keep the large tile and cut K, with the switch `split_k=4`. Four blocks compute a quarter of the
# tile's K each and form one cluster, so their partial sums need no detour through L2. Each block adds up one quarter of
# the tile: it sends its accumulators of the other three quarters to the blocks that own those, straight from registers
# into *their* shared memory (`st.async`), and an mbarrier there counts the bytes that arrive, as it does for TMA. Then
# each block stores the quarter of C that it owns.
#
# The partial sums arrive in the receiving block's stages, which are free once the block has read its last one. A second
# mbarrier protects them: a block arrives there when it is ready to receive. Without it, a block that sent earlier would
# overwrite a stage that a wgmma still reads.
#
# **Predict:** each block receives three quarters of 128 KiB. How long does that take, compared with its K tiles, if SMs
# exchange some 32 bytes per cycle, which is an assumption? And with a split-K factor of 8?

# %%
for parts in (1, 2, 4, 8):
    config, k_tiles = HopperConfig(persistent=False, split_k=parts), ceil(16384 / 64 / parts)
    print(
        f"split_k={parts}: {k_tiles:3} K tiles, {k_tiles * 1024:7,} cycles; is sent {config.given_bytes // 1024:3} KiB"
    )

# %% [markdown]
# With a factor of 4 each block receives 96 KiB: at 32 bytes per cycle 3,072 cycles, 5% of its 65,536. The 30 tiles are
# then 120 blocks, one wave. With 8 they are 240 blocks: two waves of half the length, so nothing is gained, and each
# pays 3,584 of 32,768 cycles, 11%, for the exchange.

# %% [markdown]
# ## Appendix: FP8, 320 rows
#
# Notebook 07 left off here: A has 320 rows, B is a weight matrix of 32576×7168, both e4m3. Its idea was to swap the two
# matrices: a wgmma always has 64 rows, but its columns may be any multiple of 8, so B's rows become the rows and A's
# 320 the columns. Here this is a switch, `transposed=True`: tiles of Cᵀ, 256×160 or 128×160, and 320 is 2 × 160, with
# no residue. A cluster of two shares B's tile. The cell below counts waves for tiles of C, so A's rows come first:

# %%
for at in [(128, 256), (64, 256), (160, 256), (160, 128)]:
    tile = (*at, 128)
    waves, last = course.count_waves(320, 32576, tile, (1, 1), 132)
    print(f"{at[0]:3}×{at[1]:3}: {waves} waves, at best {320 * 32576 / (waves * 132 * at[0] * at[1]):.0%}")

# %% [markdown]
# **Scales.** e4m3 has three bits of fraction and ends at 448, so a tensor in it comes with scales. The simplest
# contract is one scale for each matrix. [DeepGEMM](https://github.com/deepseek-ai/DeepGEMM)'s is finer: A has one for
# every 1×128 (a token, 128 of K), B one for every 128×128. With one scale each, the epilogue scales C once. With block
# scales every 128 of K has a scale of its own, so the tensor cores' result after 128 steps of K must be scaled and
# added to a second accumulator, by ordinary instructions: in a tile of 128×160 each thread has 80 accumulators and adds
# to each of them 56 times.
#
# Both need a reference that you can trust. The simplest one dequantizes and multiplies in fp32.
#
# **Exercise 14.9** (about 3 lines). Write `dequantize(x, scales, block)`, which returns `x` in fp32, scaled. `x` (rows,
# columns) is in e4m3, and each block of `block` = (rows, columns) elements shares one scale. `scales` has one row for
# each block down and one column for each block across. Blocks at the edge may be cut off.


# %%
def dequantize(x, scales, block):
    ### BEGIN SOLUTION (about 3 lines)
    rows, columns = x.shape
    spread = scales.repeat_interleave(block[0], 0).repeat_interleave(block[1], 1)
    return x.float() * spread[:rows, :columns]
    ### END SOLUTION


# %%
check("14.9", dequantize)

# %% [markdown]
# With it, quantize a matrix in which one number is large, and see what block scales are for. **Predict** the error of
# the other numbers, all around 1, if one is 30. And if one is 30,000? (e4m3 is a floating-point format. What does a
# scale cost it, and when?)

# %%
BLOCKS = {"one scale": (256, 512), "128×128": (128, 128), "1×128": (1, 128)}
torch.manual_seed(0)
exact = torch.randn(256, 512)
for outlier, (name, block) in product((30.0, 30_000.0), BLOCKS.items()):
    exact[3, 5] = outlier
    tiles = exact.unflatten(0, (-1, block[0])).unflatten(2, (-1, block[1]))  # (blocks, rows, blocks, columns)
    scales = tiles.abs().amax((1, 3)) / 448
    small = (tiles / scales[:, None, :, None]).flatten(2).flatten(0, 1).to(torch.float8_e4m3fn)
    off = (course.dequantize(small, scales, block) - exact).abs().median()
    print(f"{name:9}: {scales.numel():5} scales; beside {outlier:,.0f} the others are off by {off:.3f}")

# %% [markdown]
# A scale only shifts the exponent, so beside 30 the others keep their three bits, and the median error is about 0.01
# with any of the scales. Beside 30,000 it is three times as large with one scale: most others fall below e4m3's
# smallest exponent, where the steps no longer shrink with the number. With 128×128 that happens in the outlier's own
# block only, one of eight, so the median over the whole matrix hardly rises, and with 1×128 in one block of 1,024.
#
# The next table is measured at 320×32576×7168 with one scale for each matrix, beside cuBLASLt with the same scales and
# fast accumulation.

# %%
show_sweep("hopper_fp8")

# %% [markdown]
# With one scale no kernel here is ahead of cuBLASLt: the best takes 106.6 µs beside its 105.4. Two waves of 256×160 are
# 96% full, so the shape leaves little to win. The row *A stays in L2*, whose loads ask L2 to keep A's lines, has a
# ratio of 1.000, yet in µs it is no faster than the row above it. The cuBLASLt timed in turns with it was slower, and
# ±1.3% covers that.

# %% [markdown]
# ## Appendix: A tuner that says why
#
# Most of the space never needs to run. Some combinations break a rule, and a model predicts the time of the others. The
# tuner runs the few that are predicted to be fast, and says of every other configuration why it was not run. The model
# here is the course's; `lambda config, m, n, k: cost(config, m, n, k, Sm())` puts yours in its place.

# %%
square = [changes for changes in CHANGES if not changes["transposed"]]  # a square has nothing to exchange
table = tune_hopper(square, (8192, 8192, 8192), lambda config, m, n, k: course.gemm_time(config, m, n, k, Sm()))
table.round(1).head(12)

# %%
table.why.str.replace(r"[\d.]+", "…", regex=True).value_counts()

# %% [markdown]
# **Exercise 14.11** (about 3 lines). Write `fastest()`, which returns the `HopperConfig` that is fastest at 8192³ on
# your GPU. Use any switch, including those that the formula does not know: `raster`, `group`, `snake`, `zigzag`,
# `polls`. `help(HopperConfig)` explains them. The table above helps: on a Hopper GPU it has times.
# There the last two points take 98 and 99% of the course's ratio to cuBLAS. Without one, the course's model and
# the table of levers judge your choice, and tell large differences only.


# %%
def fastest():
    ### BEGIN SOLUTION (about 3 lines)
    order = {"zigzag": True, "polls": True}
    return HopperConfig(tile=(256, 192, 64), cluster=(2, 1), stream_k=True, **order)
    ### END SOLUTION


# %%
check("14.11", fastest)

# %% [markdown]
# On a Hopper GPU the rows that ran have times, and their order may differ from the model's by a few percent. A model
# need not be exact: it only has to leave out the configurations that are not worth a try. The list after the table
# counts the configurations by the reason why they were not run; its row without a reason counts those that were.
#
# The course's own chooser uses a finer model, which adds three things to your terms:
#
# - K's effect on L2. Where rows of A or B are no multiple of 128 bytes, a K tile's part of a row is in two lines, and
#   where they are no multiple of 32, it begins in mid-sector, so that one more sector has to be loaded.
# - Drift. Stream-K's blocks are at different places of K, so they share fewer of each other's L2 accesses, and round by
#   round all other blocks drift apart too.
# - Ping-pong's limit. It hides a tile's stores only while the other tile multiplies, which is short if K is small.
#
# [QuACK](https://github.com/Dao-AILab/quack)'s GEMM is written in the same DSL and tries its configurations at a shape
# until it has the fastest. Both were timed beside cuBLAS on an H200, at three squares. At
# 8192 the course's function is ahead of it; at 4096 and 2048 the two differ by less than the spread.

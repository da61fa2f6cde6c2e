# ---
# jupyter:
#   tutorlib:
#     minutes: 185
#     summary: Warps with roles, persistent blocks, clusters and stream-K, each written, then measured beside cuBLAS.
# ---

# %% [markdown]
# # 15 · Warp roles
#
# In notebook 14's kernel the tensor cores are idle at the start and at the end of each tile of C. This page closes
# these gaps and leaves the arithmetic as it is. At the end you put the eight functions of 15.4 to 15.10 together.
#
# > **After this page you can** give warps roles and registers, keep a block busy from its first tile to its last, share
# > loads in a cluster, hand accumulators from one block to another, and read from measurements which of these pays at a
# > given size.
# >
# > **It takes** about 185 minutes, on any machine; 15.5 is a good place for a break. Without a Hopper GPU the kernels
# > are simulated; with one they are timed.

# %%
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tutorlib import (
    TensorSpec, check, compile_cute, hopper_gemm as course, show_ladder, show_levers, show_multicast, show_roles,
    show_work,
)  # fmt: skip
from tutorlib.kernels.hopper import (
    HopperConfig, Parts, RoleSteps, load_steps, make_specialized, multiply_steps,
)  # fmt: skip

# %% [markdown]
# ## Two gaps in every tile
#
# The drawing shows one SM that computes three tiles of C as notebook 14 does. Each color is one tile. The rows `load`
# and `store` are TMA's copies, `wg 0` and `wg 1` the two warpgroups that share a tile, and `mma` the tensor cores,
# hatched while they are idle. Orange is the epilogue, in which a warpgroup rounds and stores.

# %%
show_roles("plain")

# %% [markdown]
# A tile's first multiplication waits for its first bytes, and during its epilogue nothing multiplies. The gaps are
# drawn as for a K of about 64; at 4096³ a tile multiplies 64 times as long. (A stage counts as free when its
# multiplication begins.)
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
# Each role is a loop over the K tiles of one tile of C. Its argument, `steps`, has:
#
# - `steps.k_tiles`, `steps.stages`, `steps.stage_bytes`: K tiles of this tile, stages of the ring, bytes of a stage
# - `steps.full + s`, `steps.empty + s`: the mbarriers of stage `s`. A phase of `full` completes with one arrival and
#   the bytes that it announces; a phase of `empty` with one arrival from each consumer warp
# - `steps.load(k_tile, s)`: issues the loads of A's and B's tile; it elects a lane by itself
# - `steps.multiply(s, first)`: issues the wgmmas of a stage; unlike notebook 14's it leaves fence and commit to you.
#   `first`, a Python `True` or `False`: discard the old accumulators
# - `make_pipeline_state(PipelineUserType.Producer, stages)`: a counter with `.index`, `.phase`, `.advance()` and
#   `.clone()`. A producer's phase starts at 1, so its first waits find every stage empty; a `Consumer`'s starts at 0
#
# A colleague's producer has two faults, and each of them hangs the kernel:
#
# ```python
# @cute.jit
# def produce(steps):
#     for k_tile in cutlass.range(steps.k_tiles, unroll=1):
#         stage, turn = k_tile % steps.stages, k_tile // steps.stages
#         cute.arch.mbarrier_wait(steps.empty + stage, turn % 2)
#         with cute.arch.elect_one():
#             cute.arch.mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)
#             steps.load(k_tile, stage)
# ```
#
# **Exercise 15.1** (about 7 lines). Find them, and write `produce(steps)`, which all lanes of one warp run. It keeps
# the ring as full as the consumers allow. Let a pipeline state count stages and phases.


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
check("15.1", produce)

# %% [markdown]
# This loop of the consumers is right, and slow:
#
# ```python
# @cute.jit
# def multiply_one(steps, state, first: cutlass.Constexpr):
#     cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
#     warpgroup.fence()
#     steps.multiply(state.index, first)
#     warpgroup.commit_group()
#     warpgroup.wait_group(0)
#     with cute.arch.elect_one():
#         cute.arch.mbarrier_arrive(steps.empty + state.index)
#
# @cute.jit
# def consume(steps):
#     state = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
#     multiply_one(steps, state, True)
#     state.advance()
#     for _ in cutlass.range(steps.k_tiles - 1, unroll=1):
#         multiply_one(steps, state, False)
#         state.advance()
# ```
#
# After `commit_group` the wgmmas have been *issued*. Once `wait_group(n)` has returned, at most *n* groups are in
# flight, and the older ones have read their stages. With `wait_group(0)` the queue of the tensor cores runs empty after
# every K tile.
#
# **Exercise 15.2** (about 20 lines). Write `consume(steps)` so that one group is in flight whenever the next one is
# issued. Each warp arrives once for each K tile, as soon as that K tile's stage is known to have been read and never
# earlier; for the last K tile the arrival is optional. When `consume` returns, no wgmma may be in flight. The check
# runs your loop with 2 stages, with 3, and with more stages than K tiles, and assumes the worst timing that the
# mbarriers allow.


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
check("15.2", consume)

# %% [markdown]
# With these two loops the kernel runs 4096³ at 0.99 of cuBLAS's speed on an H200, notebook 14's at 0.98. That is not
# the roles' gain: in this check's kernel a block also stays for several tiles, each with mbarriers of its own, so that
# your loops count from 0. Roles make the next step possible.
#
# ## Registers move

# %%
SQUARE = [TensorSpec((4096, 4096), "bf16")] * 3
compiled = compile_cute(make_specialized(HopperConfig(), load_steps, multiply_steps), SQUARE, "sm_90a")
print(compiled)
print(*(line.strip() for line in compiled.ptx.splitlines() if "setmaxnreg" in line), sep="\n")

# %% [markdown]
# The block's 384 threads start with 168 registers each. A consumer thread needs more: 128 for its accumulators, and 64
# while it also holds them rounded to bf16. A producer thread needs hardly any.
#
# `setmaxnreg` changes that. `cute.arch.setmaxregister_decrease(n)` returns registers of a warpgroup to the block's
# pool, and `cute.arch.setmaxregister_increase(n)` takes them from it, waiting until there are enough. All four warps of
# the warpgroup must execute the instruction.
#
# **Exercise 15.3** (about 4 lines). Where do the 168, the 24 and the 240 of the output come from? Write
# `register_split(warpgroups, need)` → (producer's, consumers'): the most registers that each thread of `warpgroups`
# consumer warpgroups can have, if the threads of the one producer warpgroup use `need`. A warpgroup has 128 threads. An
# SM has 65,536 registers; a launch and `setmaxnreg` give each thread a multiple of 8, `setmaxnreg` at least 24 and at
# most 256. The block never gets more than it was launched with.


# %%
def register_split(warpgroups, need):
    ### BEGIN SOLUTION (about 4 lines)
    start = 65_536 // (128 * (warpgroups + 1)) // 8 * 8
    producer = max(24, -(-need // 8) * 8)
    consumer = ((warpgroups + 1) * start - producer) // warpgroups // 8 * 8
    return producer, min(256, consumer)
    ### END SOLUTION


# %%
check("15.3", register_split)

# %% [markdown]
# From here on you write the parts of one kernel. `check` fills its other slots with the course's functions and
# simulates it on a GPU of two SMs, so that a block has several tiles.
#
# A colleague's version of the first part is wrong in both roles:
#
# ```python
# if me.group == consumers:
#     if me.warp == 0:
#         cute.arch.setmaxregister_decrease(registers[0])
#         produce()
# else:
#     consume()
#     cute.arch.setmaxregister_increase(registers[1])
# ```
#
# **Exercise 15.4** (about 7 lines). Diagnose it, and write `take_roles(me, consumers, registers, produce, consume)`,
# which every thread of the block runs. `me.group` is the number of its warpgroup in the block, `me.warp` that of its
# warp in the warpgroup. Warpgroups 0 to `consumers` − 1 are the consumers, warpgroup `consumers` is the producer.
# `registers` is the pair (producer's, consumers').
#
# **Predict** before you run the check: what happens if one of the two instructions is left out, or the other?


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
check("15.4", take_roles)

# %% [markdown]
# The colleague's producer returns registers in one warp of four; the consumers take theirs only after they have
# multiplied.
#
# Without the producer's the consumers wait forever for registers that no warp returns. Without the consumers' the
# result is right. 168 registers do for the accumulators, but not for the deferred stores below: there the compiler
# spills.
#
# ## Persistent blocks
#
# A block that stays for the next tile is **persistent**. The kernel launches only as many blocks as fit on the GPU.
# Which tiles each computes follows from its number, so producer and consumers need not communicate.
#
# From here on one ring serves all tiles of a block. A colleague makes a new state for each tile, as `produce` does. His
# kernel has four stages, and it is right at 2048³, 4096³ and 8192³. At 4160³ it hangs.
#
# **Exercise 15.5** (about 7 lines). For which K is it right? And with 3 stages and 5 K tiles in a tile, in which stage
# and with which producer phase must the second tile begin? Then write `produce_tiles(tiles, loads)` for the producer
# warp: it loads all K tiles of all tiles of the block, and between two tiles it waits for nothing but an empty stage.
#
# - `tiles.items()`: the number of tiles of C that this block computes, at least 1; loop over
#   `cutlass.range(tiles.items(), unroll=1)`
# - `item = tiles.take(number)`: one of them: `item.tile` is its place (M, N), `item.k_tiles` its number of steps along
#   K
# - `item.k_tile(step)`: the K tile of a step, which is not always `step`: a block may begin in the middle of K
# - `loads.stages`, `loads.issue(tile, k_tile, stage, phase)`: the body of your loop in `produce`, but for `advance`
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
check("15.5", produce_tiles)

# %% [markdown]
# A new state's stage 0 and phase 1 fit after an even number of whole rounds: with four stages, after a multiple of 8 K
# tiles, 512 of K. With 65, at 4160³, the second tile's loads begin in stage 0, its consumers in stage 1: sooner or
# later, perhaps after an overwrite, they wait for a fill that never comes. With 3 stages and 5 K tiles the second tile
# begins in stage 2 with phase 0. The state must live as long as the ring.
#
# ## The other gap: the epilogue
#
# There are two ways to multiply during an epilogue. **Ping-pong**: each warpgroup has a tile of its own, and one
# multiplies while the other stores. **Deferred stores**: the warpgroups share a tile. A thread rounds its 128
# accumulators to 64 registers at once, issues the next tile's first wgmmas, and stores while they run.
#
# This gap matters where K is short, or where the epilogue computes more (notebook 18):

# %%
show_roles("cooperative", "deferred stores", "ping-pong")

# %% [markdown]
# In the drawing ping-pong (the course's) wins, with tiles of half the size. A warpgroup with a tile of 128×256 to
# itself would need 256 accumulators in each thread, more than the 240 that `register_split(2, 24)` gives. So the
# kernel's ping-pong tiles are 128×192, and smaller tiles have their price.
#
# The consumers' loop over tiles is your `consume` with a tile around it, and with one state for all tiles:
#
# - `multiply.step(state, first)` waits for `full`, fences, issues the wgmmas and commits
# - `multiply.retire(pending, state)` is `wait_group(pending)` and the arrival at `empty` of that state's stage
# - `multiply.stages`; `tiles` as in 15.5
# - `out.round_and_store(number)` is the epilogue of a tile. `out.drain()`, once at the end, waits until TMA has read
#   the block's shared memory
#
# **Exercise 15.6** (about 19 lines). Write `consume_tiles(tiles, multiply, out, defer)`, which keeps one group in
# flight as in 15.2. If `defer` is False, each tile has its epilogue when it is complete. If it is True, every tile but
# the block's last is stored while the next tile's first wgmmas run. The epilogue is then two calls: `out.round(number)`
# frees the accumulators and keeps the rounded tile in registers; `out.store(number)` stores it. Where does each belong,
# and which tile is different? `defer` is known at compile time: `if cutlass.const_expr(defer):` leaves no branch in the
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
check("15.6", consume_tiles)

# %% [markdown]
# ### The store itself
#
# A warp stores its share of a rounded tile in pieces of 16 rows × 64 columns, each through a buffer in shared memory.
# There are fewer buffers than pieces, and the previous tile's copies may still be in flight. This version gives wrong
# results, and would be slow if it gave right ones:
#
# ```python
# for piece in cutlass.range_constexpr(out.pieces):
#     out.write(piece, piece % out.buffers)
#     out.copy(piece, piece % out.buffers)
#     cute.arch.cp_async_bulk_commit_group()
#     cute.arch.cp_async_bulk_wait_group(0)
# ```
#
# - `out.write(piece, buffer)`: the `stmatrix`, by which each lane writes to the buffer
# - `out.copy(piece, buffer)`: issues TMA's copy from the buffer to C, by one lane, always the same
# - `cute.arch.cp_async_bulk_commit_group()`: closes a group of *this thread's* bulk copies
# - `cute.arch.cp_async_bulk_wait_group(n, read=True)`: returns when, of *this thread's* groups, all but the newest *n*
#   have been read from shared memory; without `read`, when they have been written to C
# - `cute.arch.fence_proxy("async.shared", space="cta")`: a fence. TMA is another **proxy**, and sees what lanes wrote
#   to shared memory only if this fence comes between the writes and the copy
# - `cute.arch.sync_warp()`: orders the lanes of a warp
#
# **Exercise 15.7** (about 12 lines). Write `store_pieces(out)`, which each consumer warp runs. Find the pairs of
# accesses that nothing orders, and the two ways in which the wait is longer than a buffer needs. Keep as many copies in
# flight as the buffers allow; before a tile's first piece you may wait for all of the previous tile's. Each piece may
# take one fence and two `sync_warp`.


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
check("15.7", store_pieces)

# %% [markdown]
# Nothing ordered a piece's writes before its copy, or an earlier copy's read before the other lanes' writes. The wait
# was too long without `read`, and for all copies.
#
# ## Clusters
#
# While the tensor cores multiply a K tile, every SM asks L2 for the next tiles of A and B. In a **cluster** of *m*×*n*
# blocks, the blocks of one row need the same tile of A, and those of one column the same tile of B. Each of them can
# load a slice and send it to all that need it, by **multicast**. (Notebook 17's pairs need clusters, too.) A smaller
# tile asks for more in a cycle:

# %%
for rows, columns in [(128, 256), (128, 128)]:
    cycles = 2 * rows * columns * 64 // 4096  # of the tensor cores for a K tile, at the datasheet's rate
    for m, n in [(1, 1), (2, 1), (2, 2)]:
        _, from_l2 = course.step_bytes((rows, columns, 64), (m, n))
        asks = f"{from_l2 // 1024} KiB in {cycles} cycles, {from_l2 / cycles:.0f} bytes in a cycle"
        print(f"tiles of {rows}×{columns}, {m}×{n} blocks: each asks L2 for {asks}")

# %% [markdown]
# Block (*m*, *n*) of a cluster has the **rank** *m* + *n* · cluster[0]. In the picture each row is a block's stage, and
# the number in a slice is the rank of the block that loads it:

# %%
show_multicast((2, 2), (128, 256))

# %% [markdown]
# TMA takes a mask in which bit *r* is set if the block of rank *r* receives the slice. The slice lands at the same
# offset in the shared memory of each receiver, where the mbarrier at the same offset counts its bytes. So each block
# announces the bytes of two *whole* tiles, and gets them from several blocks.
#
# **Exercise 15.8** (about 6 lines). The producer warp calls `load_shared` for A and for B in each step. Complete it:
# `sharers` is the number of blocks that share this tile, `place` the number of this block among them, and `mask` has
# the bits of the blocks that receive its slice. `mode` is 0 for A and 1 for B; `cluster` is the cluster's extent. Both
# are known at compile time. `block` is this block's (*m*, *n*), which only the running kernel knows, so `mask` is a
# run-time integer. Python's `sum(… for … in …)` runs while the kernel is compiled.


# %%
@cute.jit
def load_shared(operand, row, k_tile, stage, full):
    mode, block, cluster = operand.mode, operand.block, operand.cluster
    ### BEGIN SOLUTION (about 6 lines)
    sharers, place = cluster[1 - mode], block[1 - mode]
    if cutlass.const_expr(mode == 0):
        mask = sum(1 << n * cluster[0] for n in range(cluster[1])) << block[0]
    else:
        mask = ((1 << cluster[0]) - 1) << block[1] * cluster[0]
    ### END SOLUTION
    target, source = cpasync.tma_partition(
        operand.tma,
        place,
        cute.make_layout(sharers),
        cute.group_modes(operand.s[None, None, stage], 0, 2),
        cute.group_modes(operand.g[None, None, row, k_tile], 0, 2),
    )
    operand.copy(source, target, full, mask)


# %%
check("15.8", load_shared)

# %% [markdown]
# Now a stage holds slices that other blocks loaded. Before a producer overwrites its slice, *every* block that received
# it must have read it, so `empty` needs arrivals from other SMs. The blocks of a cluster can access each other's shared
# memory, then called **distributed shared memory**: they start together, in one GPC (graphics processing cluster), a
# group of SMs. What orders their accesses must do so at **cluster scope**, wider than one block and narrower than the
# GPU.
#
# **Exercise 15.9** (about 4 lines). Write `free_stage(ring, stage)`, which all lanes of each consumer warp run when the
# warp has read a stage. A block's `empty` expects one arrival from each consumer warp of every block that reads a slice
# which this block loaded. Which blocks must the warp tell, and how many are they in a cluster of 2×2?
#
# - `cute.arch.mbarrier_arrive(pointer, rank)` arrives at the mbarrier with this pointer's offset in the block of that
#   rank. The pointer is `ring.empty + stage`.
# - `ring.block` and `ring.cluster` are what `block` and `cluster` were in 15.8. A cluster has at most 8 blocks, a warp
#   32 lanes, and `cute.arch.lane_idx()` is the lane.
# - With split-K, several such clusters are one cluster of the hardware, so add `ring.first` to a rank.


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
check("15.9", free_stage)

# %% [markdown]
# ## The last wave: stream-K
#
# 4096×4096 is 512 tiles of 128×256, for 132 SMs: 3.88 waves, which take as long as 4.
# **[Stream-K](https://arxiv.org/abs/2301.03598)** lays the K tiles of all tiles end to end and cuts that line into
# equal shares, one for each cluster. The drawing has a row for each cluster and a color for each tile. Where a cut goes
# through a tile, one cluster passes its accumulators to another, which adds them (the arrows). A cluster runs its share
# from the end backwards: it gives first, so that the adder need not wait.

# %%
show_work({"whole tiles": course.whole_tiles, "stream-K": course.stream_k}, clusters=4, tiles=6, k_tiles=6)

# %% [markdown]
# The fp32 accumulators of a tile of 128×256 are 128 KiB, written to L2 by one block and read back by another. So the
# kernel cuts only the tiles of the last wave, or of the last two if the last is less than half full.
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
# **Exercise 15.10** (about 12 lines in both). Write `give_part(part)` and `add_part(part)`. All 32 lanes of a consumer
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
check("15.10", hand_over)

# %% [markdown]
# ## The levers, measured
#
# A **lever** changes the schedule and not the result. Three more need no code of yours. *Zigzag K*: every other tile
# walks K backwards, so that a block first asks for what it loaded last, which L2 still holds. *Polling*: a warp tests
# an mbarrier in a loop, instead of a wait that may suspend it. *Tile order*: bands of columns instead of rows, every
# other one backwards.
#
# **Predict** at 4096: which lever gains most, and what does multicast bring, with a third fewer bytes from L2?
#
# Each row adds one lever to its parent, the row above it in the tree. *plain* is notebook 14's kernel. A number is the
# speed as a fraction of cuBLAS's, the percentage the gain over the parent. The tile is 128×256 unless a row names
# another, *multicast* is a cluster of 2×1, and the last two rows are persistent with multicast; 256×192 also has zigzag
# and polling.

# %%
show_levers()

# %% [markdown]
# - **Persistent blocks** gain most at 4096, 3.0%, and 1.0% at 8192. At 2048 there is one wave and no next tile, so no
#   lever helps.
# - **Stream-K** gains at 8192 only, up to 1.2%. At 4096 it saves at most 3%, and its hand-over costs more. At 2048 it
#   cuts tiles that already fit into one wave.
# - **Multicast and deferred stores** stay within the noise, wherever you add them: L2 is not what limits a tile of
#   128×256.
# - **Zigzag K** gains 0.7% at 8192, and elsewhere stays within the noise, as **polling and tile order** do at every
#   size.
# - **Other tiles** gain at one size and lose at another. The fastest row at 8192, 256×192 with stream-K, is the slowest
#   at 2048.
#
# Do they pay with other tiles, or a short K? **Predict** each pair (all are persistent; 256×192 as above):

# %%
show_levers("hopper_tiles")

# %%
show_levers("hopper_short")

# %% [markdown]
# **Deferred stores** pay where K is short: 4 and 8%. **Multicast** costs tiles of 128×128 some 3.5%, although they ask
# L2 for most; the cause is open. It gives 256×192 0.6% at 8192. **Ping-pong** gains 0.9 and 1.5% at 128×192.
#
# ## Your functions in one kernel
#
# The course's lines that call your functions:

# %%
from inspect import getsource

from tutorlib.kernels.hopper import epilogue, gemm, pipeline

for module in (pipeline, gemm, epilogue):
    print(*(line.strip() for line in getsource(module).splitlines() if "parts." in line), sep="\n")

# %% [markdown]
# **Exercise 15.11** (about 16 lines). Write `my_gemm(m, n, k)`, which returns (configuration, parts): your eight
# functions and your choice of levers. `Parts` takes them as `roles`, `produce` and `consume` (those for all tiles),
# `store`, `load`, `free`, `give` and `add`. The configuration is a `HopperConfig` with the levers that you want for
# this shape; it takes `tile`, `cluster`, `schedule` (`"cooperative"`, `"pingpong"`), `persistent`, `defer_stores`,
# `zigzag`, `polls` and `stream_k` (`print(HopperConfig())` shows the defaults). At 2048³, 4096³ and 8192³ you lose a
# point if your configuration is a row of the levers' table more than 1.5% slower than the best one, or if the course's
# model expects 1.8 times the best one's time. No row is near the best at all three: what decides?
#
# The check simulates your parts together in three configurations: deferred stores with clusters and with stream-K, and
# split-K. A Hopper GPU times your kernel at 4096³, where the last point takes 98% of the course's speed.


# %%
def my_gemm(m, n, k):
    ### BEGIN SOLUTION (about 16 lines)
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
    levers = {"cluster": (2, 1), "defer_stores": True, "zigzag": True, "polls": True}
    waves = m * n / (128 * 256 * 132)
    if waves > 8:  # a hand-over is short beside the whole, and the last wave's idle SMs are not
        levers["stream_k"] = True
    return HopperConfig(**levers), parts
    ### END SOLUTION


# %%
check("15.11", my_gemm)

# %% [markdown]
# The number of waves: stream-K loses at 1 and 4, and gains at 16.
#
# The timed exercises of notebooks 14 and 15, each measured by its check; *gain* compares with the row above.

# %%
show_ladder("14", "15")

# %% [markdown]
# ## What to remember
#
# - Give loading to a warp of its own. It runs ahead of the multiplication by as many stages as the ring has, also from
#   one tile into the next.
# - A warp may overwrite memory only when it knows that the last reader is done. `empty` says so of a stage, on any SM
#   of the cluster; a bulk group says so of a store buffer; a flag, released and acquired, says so between clusters.
# - Compare a gain with its spread before you believe it. Persistent blocks, zigzag K, stream-K, deferred stores and
#   ping-pong gain more than that, none of them everywhere.
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
# <details><summary>2. In a cluster of 2×2, which warps arrive at <code>empty</code> of block 0?</summary>
#
# The consumer warps of blocks 0, 1 and 2. Block 0 loads a slice of A for blocks 0 and 2, and a slice of B for blocks 0
# and 1. Each warp arrives once, also in block 0, which reads both.
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

# ---
# jupyter:
#   tutorlib:
#     minutes: 140
#     summary: Warps with roles, persistent blocks, clusters and stream-K, each written, then measured beside cuBLAS.
# ---

# %% [markdown]
# # 15 · Warp roles
#
# In notebook 14's kernel the tensor cores are idle at the start and at the end of each tile of C. This page closes
# these gaps and leaves the arithmetic as it is. At the end the functions that you write are one kernel.
#
# > **After this page you can** give warps roles and registers, keep a block busy from its first tile to its last, share
# > loads in a cluster, hand accumulators from one block to another, and read from measurements which of these pays at a
# > given size.
# >
# > **It takes** about 140 minutes, on any machine; after 15.4 is a good place for a break. Without a Hopper GPU the
# > kernels are simulated; with one they are timed.

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
#
# A tick is the time to multiply a K tile. Drawn are 8 K tiles for each tile of C and a ring of 4 stages; the first
# bytes take 3 ticks, the epilogue 3.

# %%
show_roles("plain")

# %% [markdown]
# A tile's first multiplication waits for its first bytes, and during its epilogue nothing multiplies. The drawing is
# not to scale: at 4096³ a tile has 64 K tiles. There, on an H200, closing the first gap gains 3% and closing the second
# almost nothing; where a tile has 4 K tiles, closing the second gains up to 8%. These last percents decide which side
# of cuBLAS a kernel is on.
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
# On an H200 this check's kernel runs 4096³ at 0.99 of cuBLAS's speed, notebook 14's at 0.98. In this kernel
# a block also computes several tiles, each with fresh mbarriers, so your loops may count from 0.
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
# `setmaxnreg` moves registers. `cute.arch.setmaxregister_decrease(n)` returns registers of a warpgroup to the block's
# pool; `cute.arch.setmaxregister_increase(n)` takes them from it, and waits until there are enough. All four warps must
# execute the instruction. Take one thread of each warpgroup: together they have 3 · 168 registers. The producer's
# thread keeps 24, the least allowed; that leaves 480 for the two consumers':
#
# ```python
# if me.group == consumers:  # the last warpgroup
#     cute.arch.setmaxregister_decrease(24)
#     if me.warp == 0:
#         produce()
# else:
#     cute.arch.setmaxregister_increase(240)
#     consume()
# ```
#
# **Predict:** what happens if the decrease is left out? And if the increase is?
#
# <details><summary>Answer</summary>
#
# Without the decrease the consumers wait forever. Without the increase the result is right. But where stores are
# deferred (below), 168 registers do not hold 128 accumulators and 64 rounded ones: the compiler spills 344 bytes.
#
# </details>
#
# ## Persistent blocks
#
# A block that stays for the next tile is **persistent**. The kernel launches only as many blocks as fit on the GPU, and
# a block's number says which tiles it computes. From here on you write the parts of this kernel; `check` fills the
# other slots and simulates it on a GPU of two SMs.
#
# One ring now serves all tiles of a block. A colleague's producer makes a new state for each tile, as `produce` does;
# his consumers carry theirs from tile to tile. With four stages his kernel is right at 2048³, 4096³ and 8192³. At
# 4160³ it hangs.
#
# **Exercise 15.3** (about 7 lines). For which K is it right? And with 3 stages and 5 K tiles in a tile, in which stage
# and with which producer phase must the second tile begin? Then write `produce_tiles(tiles, loads)` for the producer
# warp: it loads all K tiles of all tiles of the block, and between two tiles it waits for nothing but an empty stage.
#
# - `tiles.items()`: the number of tiles of C that this block computes, at least 1; loop over
#   `cutlass.range(tiles.items(), unroll=1)`
# - `item = tiles.take(number)`: one of them, with `item.tile`, its place (M, N), and `item.k_tiles`, its steps along K
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
check("15.3", produce_tiles)

# %% [markdown]
# A new state's stage 0 and phase 1 fit after an even number of whole rounds: with four stages, after a multiple of 8 K
# tiles, 512 of K. At 4160³ a tile has 65. The second tile's first load goes to stage 0 with phase 1, which counts as
# complete although K tile 64 there may be unread. Over two tiles stage 1 is filled 32 times and waited for 33 times:
# the last wait never ends. With 3 stages and 5 K tiles the second tile begins in stage 2 with phase 0.
#
# ## The other gap: the epilogue
#
# There are two ways to multiply during an epilogue. **Ping-pong**: each warpgroup has a tile of its own, and one
# multiplies while the other stores. It waits at a named barrier for its turn, and passes the turn on when it has issued
# its tile's last wgmmas. **Deferred stores**: the warpgroups share a tile. A thread rounds its 128
# accumulators to 64 registers at once, issues the next tile's first wgmmas, and stores while they run.
#
# This gap matters where K is short, or where the epilogue computes more (notebook 18):

# %%
show_roles("cooperative", "deferred stores", "ping-pong")

# %% [markdown]
# In the drawing ping-pong wins, with tiles of half the size. A warpgroup with a tile of 128×256 to itself would need
# 256 accumulators in each thread, more than its 240 registers. So the course's ping-pong has tiles of 128×192, three
# quarters of 128×256, and smaller tiles have their price. You write deferred stores.
#
# The consumers' loop over tiles is your `consume` with a tile around it, and with one state for all tiles:
#
# - `multiply.step(state, first)` waits for `full`, fences, issues the wgmmas and commits
# - `multiply.retire(pending, state)` is `wait_group(pending)` and the arrival at `empty` of that state's stage
# - `multiply.stages`; `tiles` as in 15.3
# - `out.round_and_store(number)` is the epilogue of a tile. `out.drain()`, once at the end, waits until TMA has read
#   the block's shared memory
#
# **Exercise 15.4** (about 19 lines). Write `consume_tiles(tiles, multiply, out, defer)`, which keeps one group in
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
check("15.4", consume_tiles)

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
# **Exercise 15.5** (about 12 lines). Write `store_pieces(out)`, which each consumer warp runs. Find the pairs of
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
check("15.5", store_pieces)

# %% [markdown]
# Nothing ordered a piece's writes before its copy, or an earlier copy's read before the other lanes' writes. It waited
# too long twice: without `read`, and for all copies.
#
# ## Clusters
#
# The blocks of a **cluster** start together, in one GPC (graphics processing cluster), a group of SMs. They can access
# each other's shared memory, then called **distributed shared memory**, and each other's mbarriers. Split-K (notebook
# 16) and Blackwell's pairs of SMs (notebook 17) need that. Here it serves to share loads: in a cluster of *m*×*n*
# blocks, those of one row need the same tile of A, and those of one column the same tile of B. Each loads a slice and
# sends it to all that need it, by **multicast**. Whether an H200 gets faster by it, you measure below.

# %%
for rows, columns in [(128, 256), (128, 128), (256, 192)]:
    cycles = 2 * rows * columns * 64 // 4096  # of the tensor cores for a K tile, at the datasheet's rate
    for m, n in [(1, 1), (2, 1)]:
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
# **Exercise 15.6** (about 6 lines). The producer warp calls `load_shared` for A and for B in each step. Complete it:
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
check("15.6", load_shared)

# %% [markdown]
# Now a stage holds slices that other blocks loaded. Before a producer overwrites its slice, *every* block that received
# it must have read it, so `empty` needs arrivals from other SMs: one from each consumer warp of each such block. What
# orders accesses between these blocks must do so at **cluster scope**, wider than a block and narrower than the GPU. A
# colleague lets each lane of a consumer warp tell one block:
#
# ```python
# lane = cute.arch.lane_idx()
# m, n = lane % ring.cluster[0], lane // ring.cluster[0]
# if n < ring.cluster[1]:
#     cute.arch.mbarrier_arrive(ring.empty + stage, ring.first + lane)
# ```
#
# `mbarrier_arrive(pointer, rank)` arrives at the mbarrier at this offset in the block of that rank. `ring.first` is the
# cluster's first rank: with split-K, one hardware cluster contains several of these.
#
# **Exercise 15.7** (about 2 lines). It is right in clusters of 2×1 and of 1×4, and in 2×2 stages are overwritten before
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
check("15.7", free_stage)

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
# **Exercise 15.8** (about 12 lines in both). Write `give_part(part)` and `add_part(part)`. All 32 lanes of a consumer
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
check("15.8", hand_over)

# %% [markdown]
# ## The levers, measured
#
# A **lever** changes the schedule, not what is computed, up to rounding. Three more need no code of yours. *Zigzag K*:
# every other tile walks K backwards, so that a block first asks for what it loaded last, which L2 still holds.
# *Polling*: a warp tests an mbarrier in a loop, instead of a wait that may suspend it. *Tile order*: bands of columns
# instead of rows, every other one backwards.
#
# **Predict** at 4096: which lever gains most? And what does *multicast* bring, with a third fewer bytes from L2?
#
# Dots show depth: a row adds one lever to its parent, the nearest row above with one dot fewer. *plain* is notebook
# 14's kernel. A number is the speed as a fraction of cuBLAS's, the percentage the gain over the parent. The tile is
# 128×256 unless a row names another, multicast a cluster of 2×1. The last two rows are persistent with multicast;
# 256×192 also has zigzag and polling.

# %%
show_levers()

# %% [markdown]
# - **Persistent blocks** gain most at 4096, 3.0%, and 1.0% at 8192. Roles alone gain nothing: they make these possible.
#   At 2048 there is one wave and no next tile, so no lever helps.
# - **Stream-K** gains at 8192 only, up to 1.2%. At 4096 it saves at most 3%, and its hand-over costs more. At 2048 it
#   cuts tiles that already fit into one wave.
# - **Multicast and deferred stores** stay within the noise, wherever you add them: beside 32 to 128 K tiles an
#   epilogue is short.
# - **Zigzag K** gains 0.7% at 8192. **Polling and tile order** stay within the noise.
# - **Other tiles** gain at one size at most. The fastest row at 8192, 256×192 with stream-K, is the slowest at 2048.
#
# Does multicast pay where a tile asks L2 for more bytes in a cycle, 64 with 128×128, or fewer, 37 with 256×192? And do
# deferred stores with 4 K tiles in a tile? **Predict** the signs. All rows are persistent.

# %%
show_levers("hopper_tiles")

# %%
show_levers("hopper_short")

# %% [markdown]
# **Deferred stores** pay where K is short: 8 and 4%. **Multicast** costs tiles of 128×128 some 3.5%, although they ask
# L2 for most, and gives 0.6% at 8192 to tiles of 256×192, which ask for least. The counted bytes do not predict the
# sign: only timing does. **Ping-pong** gains 0.9 and 1.5% at 128×192.
#
# ## Your functions in one kernel
#
# | slot | your function | exercise | run by | how often |
# |---|---|---|---|---|
# | `produce` | `produce_tiles` | 15.3 | the producer warp | once |
# | `load` | `load_shared` | 15.6 | the producer warp | for A and for B in each K tile |
# | `consume` | `consume_tiles` | 15.4 | each consumer warp | once |
# | `free` | `free_stage` | 15.7 | each consumer warp | each K tile |
# | `store` | `store_pieces` | 15.5 | each consumer warp | each tile |
# | `give`, `add` | `give_part`, `add_part` | 15.8 | each consumer warp | each part of a tile that stream-K cuts |
#
# **Exercise 15.9** (about 4 lines). Complete `my_gemm(m, n, k)`: choose the levers for a shape. No row of the table is
# near the best at all three sizes: what decides? `HopperConfig` takes
#
# - `tile`, (M, N, K), and `cluster`, (M, N), by default (128, 256, 64) and (1, 1)
# - `schedule`: `"cooperative"`, the default, or `"pingpong"`
# - `persistent`, by default True, and `defer_stores`, `zigzag`, `polls`, `stream_k`, by default False
#
# At 2048³, 4096³ and 8192³ you lose a point if your configuration is
#
# - a row of the first table more than 1.5% slower than the best one of that size, or
# - one that the course's model expects to take over 1.8 times the best one's time.
#
# The check simulates your functions together in three configurations: deferred stores with clusters and with stream-K,
# and split-K. A Hopper GPU times 4096³, where the last point takes 98% of the course's speed.


# %%
def my_gemm(m, n, k):
    parts = Parts(
        produce=produce_tiles,
        load=load_shared,
        consume=consume_tiles,
        free=free_stage,
        store=store_pieces,
        give=give_part,
        add=add_part,
    )
    ### BEGIN SOLUTION (about 4 lines)
    levers = {"cluster": (2, 1), "defer_stores": True, "zigzag": True, "polls": True}
    waves = m * n / (128 * 256 * 132)
    if waves > 8:  # a hand-over is short beside the whole, and the last wave's idle SMs are not
        levers["stream_k"] = True
    ### END SOLUTION
    return HopperConfig(**levers), parts


# %%
check("15.9", my_gemm)

# %% [markdown]
# The number of waves: stream-K loses 15% with 1, 1.3% with 4, and gains 1.0% with 16.
#
# The timed exercises of notebooks 14 and 15; *gain* compares with the row above:

# %%
show_ladder("14", "15")

# %% [markdown]
# In 15.2's kernel the producer waits at the end of each tile until its stages have been read. 15.4's has one ring for
# all tiles, and deferred stores: 3% faster. 15.9's solution adds multicast, zigzag K and polling: within the noise.
#
# ## What to remember
#
# - A warp that only loads runs ahead by as many stages as the ring has, also from one tile into the next.
# - A warp may overwrite memory only when it knows that the last reader is done. `empty` says so of a stage, on any SM
#   of the cluster; a bulk group says so of a store buffer; a flag, released and acquired, says so between clusters.
# - Compare a gain with its spread before you believe it. No lever gains more than that at every size.
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
# With 6, two whole rounds, it is. After 9 the stage fits, and the phase does not: the first wait returns at once, and
# the load overwrites a K tile that may be unread.
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

# ---
# jupyter:
#   tutorlib:
#     minutes: 190
#     appendix: 10
#     summary: TMA, mbarriers, WGMMA, and a Hopper GEMM of your own.
# ---

# %% [markdown]
# # 14 · A Hopper GEMM
#
# `mma.sync` takes its operands from registers, so threads must carry them there. Hopper's tensor cores read shared
# memory directly (WGMMA), and its Tensor Memory Accelerator (TMA) copies whole tiles there. Until the epilogue, the
# threads only decide *when*.
#
# The problem is notebook 10's: C = A · Bᵀ, `gemm(a, b, c)`, bf16, accumulated in fp32.
#
# > **After this page you can** lay out shared memory for TMA and WGMMA, issue wgmmas as a group, say which phase of an
# > mbarrier a warp waits for, keep a ring of stages full without overwriting one, store a tile by TMA, and write a
# > Hopper GEMM.
# >
# > **It takes** about 190 minutes, on any machine, and its appendix about 10 more; 14.5 is a good place for a break.
# > Without a Hopper GPU the kernel is simulated; with one it is also timed.

# %%
import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Float32, Int64
from cutlass.cute.nvgpu import cpasync, warpgroup

from tutorlib import (
    HOPPER_OPCODES, WGMMA, TensorSpec, Timeline, check, compare_on_gpu, compile_cute, explain, explore_mbarriers,
    grouped, hardware_of, show_figure, show_ladder, show_sm, show_source, show_swizzle, show_timeline, show_wgmma,
    story,
)  # fmt: skip
from tutorlib.kernels.hopper import (
    ALIGNMENT, BOX, STAGES, THREADS, TILE, Accumulators, BoxCopy, Steps, described, first as course, make_accumulators,
    make_wgmma, out_layout,
)  # fmt: skip

# %% [markdown]
# ## Who does what
#
# One block computes a 128×256 tile of C with two **warpgroups** of four warps each, which issue a WGMMA instruction
# together. Shared memory is a ring of buffers, **stages**, each for one K tile of A and of B. Follow a K tile by its
# numbers:

# %%
show_sm()

# %% [markdown]
# For a K tile, one thread issues two copies of 48 KiB in all, and each warpgroup four instructions, all asynchronous.
# Warp 0 waits for the arrivals of step 6 before it loads the stage again. Your job is in the yellow boxes: which warp
# may touch a stage, and when.
#
# ## TMA: a descriptor and a coordinate
#
# The host makes a TMA **descriptor** once, and all blocks use it. It holds:
#
# | field | for A (M, K) in bf16 | rule |
# |---|---|---|
# | address | of element (0, 0) | a multiple of 16 bytes |
# | sizes, strides | K, M; 2·K bytes between rows | rows begin at multiples of 16 bytes |
# | box | 64, 128 elements | at most 256 in each mode; elements outside the matrix are zeros |
# | swizzle | 128 bytes | a row of the box is at most this long |
#
# A load takes it, a coordinate, an address in shared memory and an mbarrier. CuTe's `make_tiled_tma_atom` returns the
# atom, which contains the descriptor, and a tensor of *coordinates*, from which `local_tile` selects those of a tile.
#
# ### One layout for TMA and WGMMA
#
# TMA writes a swizzled layout and WGMMA reads it. For bf16 with K contiguous it is notebook 10's: 8 rows of 128 bytes.
# Twice 8 rows, before and after the swizzle:

# %%
show_swizzle((3, 3, 3), "(16,64):(64,1)")

# %% [markdown]
# The picture counts elements. TMA and WGMMA swizzle byte addresses, so its Swizzle⟨3,3,3⟩ is Swizzle⟨3,4,3⟩ here.
#
# **Exercise 14.1** (about 2 lines). Write `ring_layout(rows, k, stages)`, the layout of all stages of an operand. Its
# shape is (rows, k, stages), and its swizzle fits the width of a row: `k` is 64, 32 or 16 bf16. At hand:
#
# - `warpgroup.make_smem_layout_atom(kind, BFloat16)` is 8 rows of one kind. `SmemLayoutAtomKind` has `K_SW128`,
#   `K_SW64` and `K_SW32`, whose numbers are the bytes of a row.
# - `cute.tile_to_shape(atom, shape, order)` repeats the atom, first along the mode that has 0 in `order`.


# %%
from cutlass.cute.nvgpu.warpgroup import SmemLayoutAtomKind


# %%
def ring_layout(rows, k, stages):
    ### BEGIN SOLUTION (about 2 lines)
    atom = warpgroup.make_smem_layout_atom(SmemLayoutAtomKind[f"K_SW{2 * k}"], BFloat16)
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))
    ### END SOLUTION


# %%
check("14.1", ring_layout)

# %% [markdown]
# With K = 4096, `ring_layout(128, 64, 4)`, A's coordinate tensor mA, and `local_tile(mA, (128, 64), (1, None))` are
#
# ```
# S<3,4,3> o 0 o ((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))
# tensor<(0,0) o (?,4096):(1@1,1@0)>
# tensor<(0,128) o (128,64,64):(1@1,1@0,64@0)>
# ```
#
# A stride n@0 moves the coordinate by n along K, n@1 by n along M, in the order of the descriptor: K tile 3 of the last
# begins at (192, 128).
# %% [markdown]
# ### The bytes that an mbarrier counts
#
# The thread that issues a load announces to an mbarrier how many bytes to expect (**expect-tx**). TMA subtracts the
# bytes that it has written, and at 0 all of them are there.
#
# **Predict.** A is 200×72. How much of the 128×64 box of tile (1, 1) is inside the matrix? TMA fills the rest with
# zeros. How many bytes does the mbarrier count?
#
# **Exercise 14.2** (about 4 lines). Write `tma_bytes(shape, tile, place)` for a bf16 matrix of this shape, a box of
# size `tile` and the tile's coordinates `place`, each a pair (rows, columns). Return (bytes read from the matrix, bytes
# counted on the mbarrier). TMA also loads a tile that is entirely outside the matrix.


# %%
def tma_bytes(shape, tile, place):
    ### BEGIN SOLUTION (about 4 lines)
    (rows, columns), (m, k) = tile, place
    down = max(0, min(rows, shape[0] - m * rows))
    across = max(0, min(columns, shape[1] - k * columns))
    return 2 * down * across, 2 * rows * columns
    ### END SOLUTION


# %%
check("14.2", tma_bytes)

# %% [markdown]
# The mbarrier counts the whole box, zeros included: 16,384 bytes in the prediction, of which TMA read 72 · 8 · 2 =
# 1,152 from the matrix. So the kernel needs no predicate. Columns beyond K arrive as zeros and add nothing; rows beyond
# M and N give results outside C, which TMA does not store.
#
# ### What one copy moves
#
# `cpasync.tma_partition(tma, block, blocks, s, g)` prepares both sides of the copies: mode 0 of each result is what one
# copy moves, and every other mode counts copies. A block without a cluster is block 0 of `cute.make_layout(1)`. Here
# `s` is (rows, K, stages) in shared memory, and `g` is (rows, K, K tiles) of the matrix. A colleague passes them as
# they are, and CuTe refuses the copy of `[None, k_tile]`, with "expects `coord` and shape of view are weakly
# congruent":
#
# ```python
# return cpasync.tma_partition(tma, 0, cute.make_layout(1), s, g)
# ```
#
# **Exercise 14.3** (about 2 lines). Write `boxes(tma, s, g)`, with which the load of a K tile into a stage is one copy:
# its two results have two modes each. What does mode 0 of `s` move now, and what should it? At hand:
# `cute.group_modes(tensor, begin, end)` makes one mode of the modes from `begin` up to, but not including, `end`.


# %%
def boxes(tma, s, g):
    ### BEGIN SOLUTION (about 2 lines)
    alone = cute.make_layout(1)  # no other block of a cluster shares the load
    return cpasync.tma_partition(tma, 0, alone, cute.group_modes(s, 0, 2), cute.group_modes(g, 0, 2))
    ### END SOLUTION


# %%
check("14.3", boxes)

# %% [markdown]
# Grouped, mode 0 is the whole box, and mode 1 counts stages.
#
# ## WGMMA: the operands stay in shared memory
#
# `wgmma.mma_async.m64n256k16` multiplies 64×16 by 16×256, and the 128 threads of a warpgroup issue it together. An
# operand is a **descriptor** of 64 bits: where the matrix begins in shared memory (0 in the picture above), how far
# apart its groups of 8 rows are (512 elements), and how it is swizzled. A K tile of 128×256×64 takes eight such
# instructions, four for each warpgroup. With `mma.sync` it would take:

# %%
bM, bN, bK = TILE
print(f"{bM // 16 * bN // 8 * bK // 16:,} mma.sync of 16×8×16, and an ldmatrix.x4 for each 16×16 that they read")

# %% [markdown]
# Only accumulators are in registers: a warpgroup's 64×256 take 128 of each thread. The TiledMma stacks the two
# warpgroups along M:

# %%
show_source(make_wgmma)

# %% [markdown]
# Notebook 10's registers for A, filled by `ldmatrix`:
#
# ```python
# math = tiled_mma.get_slice(thread)
# tCrA = tiled_mma.make_fragment_A(math.partition_A(sA)[None, None, None, 0])
# ```
#
# With this TiledMma the same function returns descriptors. What is the last index for, and do you still want it?
# **Predict** the shape of tCrA for a ring of four stages.
#
# **Exercise 14.4** (about 4 lines). Write `wgmma_fragments(tiled_mma, thread, sA, sB)`, which returns tCrA and tCrB,
# for every K block of every stage, and tCrC, the thread's accumulators for the block's tile. All 128 threads of a
# warpgroup pass the same `thread`, its first one. At hand: `tiled_mma.partition_shape_C((bM, bN))`, with `TILE`'s bM
# and bN, is the shape of a thread's accumulators, and `cute.make_rmem_tensor(shape, type)` makes registers.


# %%
def wgmma_fragments(tiled_mma, thread, sA, sB):
    ### BEGIN SOLUTION (about 4 lines)
    math = tiled_mma.get_slice(thread)
    tCrA = tiled_mma.make_fragment_A(math.partition_A(sA))
    tCrB = tiled_mma.make_fragment_B(math.partition_B(sB))
    return tCrA, tCrB, cute.make_rmem_tensor(tiled_mma.partition_shape_C((bM, bN)), Float32)
    ### END SOLUTION


# %%
check("14.4", wgmma_fragments)

# %% [markdown]
# tCrA is (1, 1, 4, 4): one wgmma's rows, four K blocks, four stages. The descriptor of another stage is an addition; so
# is that of the next K block, 32 bytes on.
#
# ### One K tile is one group
#
# A wgmma returns at once; the tensor cores read shared memory and write registers later. All four warps execute these
# calls:
#
# | call | effect |
# |---|---|
# | `warpgroup.fence()` | makes later wgmmas wait for the threads' own earlier accesses to the accumulators |
# | `cute.gemm(tiled_mma, D, A, B, C)` | issues D = A · Bᵀ + C for one K block; here D and C are both tCrC |
# | `tiled_mma.set(warpgroup.Field.ACCUMULATE, value)` | until the next `set`, each wgmma adds C (True) or ignores it |
# | `warpgroup.commit_group()` | makes the wgmmas since the last commit one group |
# | `warpgroup.wait_group(n)` | waits until at most the n newest groups are in flight |
#
# Until a group is done, no thread may touch its accumulators, **and none may overwrite the stage**, which is its
# operand.
#
# **Exercise 14.5** (about 6 lines). Write `multiply(tiled_mma, tCrA, tCrB, tCrC, adds)`, which issues the wgmmas of one
# stage as one group and returns while they are in flight. tCrA and tCrB are that stage's descriptors, (1, 1, K blocks),
# so K block k of A is `tCrA[None, None, k]`. `adds`, a run-time Boolean, is False for the first K tile of a tile of C,
# when nothing has set the accumulators yet. Which of the stage's wgmmas may ignore them?
#
# The budget: one fence and one commit for each stage, no wait, no barrier, and no instruction that sets registers to
# zero. `cutlass.range_constexpr(n)` unrolls the loop while the kernel is compiled. Take n from tCrA, `cute.size(tCrA,
# mode=[2])`: the check simulates K tiles of 32 columns, too.


# %%
@cute.jit
def multiply(tiled_mma, tCrA, tCrB, tCrC, adds):
    ### BEGIN SOLUTION (about 6 lines)
    warpgroup.fence()
    tiled_mma.set(warpgroup.Field.ACCUMULATE, adds)
    for k_block in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
        cute.gemm(tiled_mma, tCrC, tCrA[None, None, k_block], tCrB[None, None, k_block], tCrC)
        tiled_mma.set(warpgroup.Field.ACCUMULATE, True)
    warpgroup.commit_group()
    ### END SOLUTION


# %%
check("14.5", multiply)

# %% [markdown]
# ## mbarriers: who may touch a stage
#
# Each stage has two mbarriers, used again and again. One fill of a stage and its reads are a **round**. The warp that
# issues the loads is the **producer**, and every warp that reads a stage is a **consumer**. Each mbarrier answers a
# question of a round:
#
# - `full[s]`: have the bytes landed? Once in a round, one lane of the producer arrives and announces the bytes. TMA
#   counts them down.
# - `empty[s]`: have all warps read the stage? Once in a round, one lane of each warp arrives, after the warp's wgmmas
#   have read the stage.
#
# An **mbarrier** counts arrivals and bytes. When both reach 0, the phase is complete, and the next begins with the
# arrival count reset. `cute.arch.mbarrier_init(barrier, arrivals)` sets that count; a second thread that calls it later
# would reset a barrier in use.
#
# Threads and TMA access shared memory through different **proxies**, the generic and the async one. A write through one
# is not at once visible through the other.
#
# **Exercise 14.6** (about 6 lines). Write `init_barriers(full, empty, stages, warps, thread)`, which all threads of the
# block call. Stage s has the mbarriers `full + s` and `empty + s`; `warps` warps read a stage, and `thread` is the
# index of the calling thread. When the function returns, every thread and TMA may use all of the mbarriers. At hand:
#
# - `cute.arch.mbarrier_init_fence()` makes the mbarriers that *this thread* has initialized visible to TMA.
# - `cute.arch.sync_threads()`, once.
#


# %%
@cute.jit
def init_barriers(full, empty, stages: cutlass.Constexpr, warps: cutlass.Constexpr, thread):
    ### BEGIN SOLUTION (about 6 lines)
    if thread == 0:
        for stage in range(stages):
            cute.arch.mbarrier_init(full + stage, 1)
            cute.arch.mbarrier_init(empty + stage, warps)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    ### END SOLUTION


# %%
check("14.6", init_barriers)

# %% [markdown]
# ## One stage first
#
# The smallest loop uses a single stage. Every warp runs it, and one of them (`steps.loads_too`) also issues the loads.
# `steps.multiply` calls yours for a stage; its `first` is the opposite of your `adds`:

# %%
show_source(BoxCopy, Steps)

# %% [markdown]
# Every arrival counts, so it matters who executes a call (the first three are in `cute.arch`):
#
# | call | executed by | |
# |---|---|---|
# | `mbarrier_arrive_and_expect_tx(barrier, bytes)` | one lane: `with cute.arch.elect_one():` | announces the bytes |
# | `mbarrier_arrive(barrier)` | one lane | |
# | `mbarrier_wait(barrier, parity)` | the warp | returns once the latest phase of this **parity** is complete |
# | `steps.load(k_tile, stage)` | the warp | elects its lane by itself |
#
# The stage's `full` serves K tile after K tile: phase 0 is complete when K tile 0 is there, phase 1 when K tile 1 is. A
# wait names only the parity of a phase, its number modulo 2. On a fresh mbarrier parity 1 counts as complete.
#
# **Exercise 14.7** (about 3 and about 7 lines). Write `fill_stage(steps, k_tile, stage)`, which announces
# `steps.stage_bytes` on the stage's `full` and issues its loads. Then write `one_stage(steps)`, a loop over the K tiles
# that uses stage 0 alone. In place of `empty`, one `sync_threads` for each K tile can tell the producer that all warps
# have read the stage. Three questions decide the order:
#
# - Which parity does K tile k wait for?
# - When does a warp know that its own wgmmas have read the stage?
# - What must be over before the stage is loaded again?
#
# `for k_tile in cutlass.range(steps.k_tiles, unroll=1):` stays a loop in the compiled kernel.


# %%
def fill_stage(steps, k_tile, stage):
    ### BEGIN SOLUTION (about 3 lines)
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)
    steps.load(k_tile, stage)
    ### END SOLUTION


@cute.jit
def one_stage(steps: Steps):
    ### BEGIN SOLUTION (about 7 lines)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        if steps.loads_too:
            fill_stage(steps, k_tile, 0)
        cute.arch.mbarrier_wait(steps.full, k_tile % 2)
        steps.multiply(0, k_tile == 0)
        warpgroup.wait_group(0)
        cute.arch.sync_threads()
    ### END SOLUTION


# %%
check("14.7", one_stage)

# %% [markdown]
# The loop is right, and slow: memory and the tensor cores take turns, and the barrier stops all eight warps, not only
# the producer.
#
# ## The ring
#
# With several stages, loads run ahead. With an `empty` mbarrier for each, a warp that has read it arrives and goes on,
# and the producer alone waits. A stage is used again `stages` steps later, in its next phase.
#
# - The consumer waits for `full`: in round 0 for phase 0, in round 1 for phase 1, in round 2 for phase 2, parity 0.
# - The producer waits for `empty`: in round 1 for phase 0, which completes when the stage has been read once. In round
#   0 it must not wait: which parity is complete on a fresh mbarrier?
#
# **Exercise 14.8** (about 2 lines). Write `ring(step, stages, producer)`, which returns (index, phase): the stage of
# this step, and the parity to wait for, 0 or 1, for any number of stages. `producer` is True or False.


# %%
def ring(step, stages, producer):
    ### BEGIN SOLUTION (about 2 lines)
    turn, index = divmod(step, stages)
    return index, (turn + producer) % 2
    ### END SOLUTION


# %%
check("14.8", ring)

# %% [markdown]
# CuTe counts so: `make_pipeline_state(PipelineUserType.Consumer, stages)` has `.index`, `.phase`, `.advance()` and
# `.clone()`. One for `PipelineUserType.Producer` begins with phase 1.
#
# Play it. One warp loads (*loads*) and one multiplies (*math*: *done* waits for its wgmmas, *free* arrives at `empty`).
# Click a warp's row to issue its next instruction; TMA's transfers land when *you* click them. Play two correct rounds.
# Then break it with the menu: does it deadlock, or go on with wrong data?

# %%
explore_mbarriers(stages=2)

# %% [markdown]
# ## The main loop
#
# `one_stage` waits for a group right after its issue, so the tensor cores run dry in every step. The cure is to wait
# one step later: issue the group of K tile k, and only then wait for that of k − 1.
#
# **Exercise 14.9** (about 20 lines). Write `main_loop(steps)`:
#
# - **Start.** The loads of all stages are issued before any wait. If K has fewer tiles than there are stages, no load
#   is issued for the others (`cutlass.min(a, b)` works at run time).
# - **Steady state.** One group stays in flight while the warps update the mbarriers. Each warp arrives at a stage's
#   `empty` as soon as its own wgmmas have read that stage, at most once in a round. The warp that also loads then waits
#   for the arrivals of all warps and loads the stage's next K tile, if there is one. No other warp waits for `empty`.
# - **End.** The accumulators are complete.
#
# No barrier of the block is needed, and the loop stays a loop, in which a state and its clone may be assigned anew.
# When the wait of step k returns, which stage has been read, and which K tile comes into it next? For the producer's
# wait, compare `ring(k - 1 + stages, stages, True)` with `ring(k - 1, stages, False)` before you make a second state.
# The check simulates 3 and 4 stages.


# %%
from cutlass.pipeline import PipelineUserType, make_pipeline_state


# %%
@cute.jit
def main_loop(steps: Steps):
    ### BEGIN SOLUTION (about 20 lines)
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
            fill_stage(steps, k_tile, k_tile)
    state = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
    steps.multiply(state.index, True)
    for k_tile in cutlass.range(1, steps.k_tiles, unroll=1):
        before = state.clone()
        state.advance()
        cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
        steps.multiply(state.index, False)
        warpgroup.wait_group(1)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.empty + before.index)
        ahead = k_tile - 1 + steps.stages
        if steps.loads_too and ahead < steps.k_tiles:
            cute.arch.mbarrier_wait(steps.empty + before.index, before.phase)
            fill_stage(steps, ahead, before.index)
    warpgroup.wait_group(0)
    ### END SOLUTION


# %%
check("14.9", main_loop)

# %% [markdown]
# A missing arrival hangs one round later. A missing wait for `empty` hangs nothing: the kernel is right while all warps
# are fast.
#
# ### How many stages?
#
# In `one_stage` latency, transfer and multiplication add up. In `main_loop` the stage of K tile k − 1 is loaded again
# when the multiplication of k begins: the other stages cover latency and transfer. The timelines assume 4, 2 and 3
# ticks:

# %%
h200 = hardware_of("NVIDIA H200")
flops = 2 * bM * bN * bK
print(f"a K tile at the datasheet's rate: {flops / (h200.flops['bf16'] / h200.sms) * 1e9:.0f} ns")
print(f"a stage: {2 * (bM + bN) * bK // 1024} KiB, and a block can have 227")
show_timeline(*(Timeline(n, latency=4, transfer=2, compute=3, tiles=8, at_once=n == 1) for n in (1, 2, 3, 4)))

# %% [markdown]
# The drawing keeps the tensor cores busy 33% of the time with one stage, 50% with two. Three would do; but latency
# varies, so the course takes as many as fit, four of 48 KiB. **Predict** the speed of one stage and of two against
# four: does the number of K tiles matter? A Hopper GPU times your loops, each in a ring of two (`one_stage` uses one):

# %%
from dataclasses import replace

mine = course.Parts(multiply=multiply, barriers=init_barriers, main_loop=main_loop)
four = course.make_first_gemm(mine, stages=4)
for name, loop in (("1 stage", one_stage), ("2 stages", main_loop)):
    fewer = course.make_first_gemm(replace(mine, main_loop=loop), stages=2)
    compare_on_gpu({name: fewer, "4 stages": four}, sizes=(2048, 8192), needs=WGMMA)

# %% [markdown]
# On an H200 one stage has 0.45 to 0.47 of four stages' speed and two have 0.65, at 2048 as at 8192: the wait recurs in
# every step. 8192³ is 16 waves of 128 steps. With four stages a step takes 674 ns, not 560: open. With one it takes
# 1,509, so latency and transfer take at most 949. They alone should limit two stages, which take 1,042: the drawing is
# 10% off.
#
# ## The epilogue: stmatrix, and TMA again
#
# Now C's tile leaves through shared memory, and TMA stores it, edges included. `stmatrix` is `ldmatrix` backwards: it
# writes 8×8 blocks from the MMA's registers as rows in shared memory. The tile of C overwrites the stages. It is cut
# into boxes of 16 rows × 64 columns, so that each warp stores boxes of its own.

# %%
show_source(Accumulators, make_accumulators)

# %% [markdown]
# Here the two proxies meet again. A **fence** covers what its own lane has written. The whole warp calls `cute.copy`
# with a TMA atom, which elects the lane that issues. Only it need wait for a store: a group serves in place of an
# mbarrier.
#
# | in `cute.arch` | |
# |---|---|
# | `sync_threads()`, `sync_warp()` | all threads of the block, or of the warp, wait for each other |
# | `fence_proxy("async.shared", space="cta")` | makes this thread's writes to shared memory visible to TMA |
# | `cp_async_bulk_commit_group()` | makes this thread's bulk copies (TMA stores) since the last commit one group |
# | `cp_async_bulk_wait_group(n, read=True)` | waits until all but the n newest groups have *read* shared memory |
#
# **Exercise 14.10** (about 8 lines). Write `store_by_tma(acc)`. At hand are `acc.tCrC`, the accumulators, which
# `.load().to(BFloat16)` rounds; `acc.tRrC`, registers for the result in the same order, with a method `.store`;
# `acc.stmatrix`, a copy from `acc.tRrC` to `acc.tRsC`; and `acc.tma`, a copy from `acc.tSsC` to `acc.tSgC`. Three pairs
# of operations must be ordered. Before you write, name them:
#
# - Who may still be reading the memory that you are about to overwrite?
# - Who reads what you wrote, and through which proxy?
# - What must be over before the block ends?
#
# Use the narrowest call that orders each: one barrier of the block, and one fence for each box at most. Write and store
# each box once.


# %%
@cute.jit
def store_by_tma(acc: Accumulators):
    ### BEGIN SOLUTION (about 8 lines)
    acc.tRrC.store(acc.tCrC.load().to(BFloat16))
    cute.arch.sync_threads()
    cute.copy(acc.stmatrix, acc.tRrC, acc.tRsC)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    cute.copy(acc.tma, acc.tSsC, acc.tSgC)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)
    ### END SOLUTION


# %%
check("14.10", store_by_tma)

# %% [markdown]
# So each lane fences, the warp synchronizes, one lane issues.
#
# ## Your kernel
#
# `described` leaves the number of rows to run time, and `out_layout` is C's tile in shared memory.

# %%
show_source(described, out_layout)

# %% [markdown]
# **Exercise 14.11** (about 45 lines). Write the kernel and its host function `gemm(a, b, c)`, from an empty cell. Build
# it from your functions, `Steps` and `BoxCopy`; the course's kernels, and its versions of your functions, are not
# allowed. The check simulates it and counts:
#
# - one block of THREADS threads for each 128×256 tile of C; M is any number, N and K are multiples of 8;
# - TMA loads, wgmma with one group in flight, `stmatrix`, TMA stores;
# - two barriers of the block, at most a fence for each box of C, no load that brings nothing but zeros, no spills.
#
# A Hopper GPU times it at 4096³ beside cuBLAS. The pieces that are not yours:
#
# On the host:
#
# - `cpasync.make_tiled_tma_atom(op, matrix, layout, box)` → (atom, coordinates). `matrix` is a `described(…)`; `layout`
#   is that of one box in shared memory, for a ring `cute.select(ring, [0, 1])`. The op is
#   `cpasync.CopyBulkTensorTileG2SOp()` for a load, `cpasync.CopyBulkTensorTileS2GOp()` for a store. C's box is `BOX`,
#   with the layout `out_layout(*BOX)`.
# - `make_wgmma()` is the TiledMma.
# - `kernel(…).launch(grid=…, block=…)`, without `smem=`: the launch asks `SmemAllocator` for it.
#
# In the kernel:
#
# - Parameters are annotated: `cute.CopyAtom`, `cute.Tensor`, `cute.TiledMma`, `cute.ComposedLayout`,
#   `cutlass.Constexpr`.
# - `grouped(block, rows, columns)` → (m, n), the place of the block's tile among C's `rows` × `columns` tiles, in
#   notebook 12's order. Pass the two counts from the host as `cutlass.Constexpr`.
# - `cute.local_tile(mA, (bM, bK), (m, None))` is (bM, bK, K tiles) of the coordinates, a partial K tile included.
# - `memory = SmemAllocator()` has `memory.allocate_tensor(BFloat16, ring.outer, ALIGNMENT, ring.inner)` (`.inner` is
#   the swizzle) and, for n mbarriers, `memory.allocate_array(Int64, n)`. C's tile, with the layout `out_layout(bM,
#   bN)`, begins where sA does: `cute.make_tensor(cute.recast_ptr(sA.iterator, layout.inner, BFloat16), layout.outer)`.
# - `cute.arch.make_warp_uniform(x)` returns lane 0's x in every lane: so the compiler knows that the warp agrees. Your
#   `wgmma_fragments` wants the warpgroup's first thread.
# - `make_accumulators(tCrC, tiled_mma, thread, tma_c, sC, gC)` is what your epilogue takes.


# %%
from cutlass.memory import SmemAllocator


# %%
# a (M, K), b (N, K), c (M, N), row-major bf16. First the kernel:
### BEGIN SOLUTION (about 35 lines)
@cute.kernel
def hopper_kernel(
    tma_a: cute.CopyAtom,
    mA: cute.Tensor,
    tma_b: cute.CopyAtom,
    mB: cute.Tensor,
    tma_c: cute.CopyAtom,
    mC: cute.Tensor,
    tiled_mma: cute.TiledMma,
    layout_a: cute.ComposedLayout,
    layout_b: cute.ComposedLayout,
    layout_c: cute.ComposedLayout,
    tiles: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    warp, group = (cute.arch.make_warp_uniform(thread // size) for size in (32, 128))
    if warp == 0:
        for tma in (tma_a, tma_b, tma_c):
            cpasync.prefetch_descriptor(tma)  # in flight while the mbarriers are initialized
    m, n = grouped(block, *tiles)  # notebook 12: groups of 8 rows of tiles
    gA = cute.local_tile(mA, (bM, bK), (m, None))  # (bM, bK, K tiles)
    gB = cute.local_tile(mB, (bN, bK), (n, None))  # (bN, bK, K tiles)
    gC = cute.local_tile(mC, (bM, bN), (m, n))  # (bM, bN)

    memory = SmemAllocator()
    sA = memory.allocate_tensor(BFloat16, layout_a.outer, ALIGNMENT, layout_a.inner)  # (bM, bK, stages)
    sB = memory.allocate_tensor(BFloat16, layout_b.outer, ALIGNMENT, layout_b.inner)  # (bN, bK, stages)
    sC = cute.make_tensor(cute.recast_ptr(sA.iterator, layout_c.inner, BFloat16), layout_c.outer)  # over the stages
    full, empty = (memory.allocate_array(Int64, STAGES) for _ in range(2))
    init_barriers(full, empty, STAGES, THREADS // 32, thread)
    a = BoxCopy(tma_a, *boxes(tma_a, sA, gA))
    b = BoxCopy(tma_b, *boxes(tma_b, sB, gB))
    tCrA, tCrB, tCrC = wgmma_fragments(tiled_mma, group * 128, sA, sB)
    k_tiles = cute.size(gA, mode=[2])
    main_loop(Steps(k_tiles, full, empty, warp == 0, a, b, tiled_mma, tCrA, tCrB, tCrC, multiply))
    store_by_tma(make_accumulators(tCrC, tiled_mma, thread, tma_c, sC, gC))


### END SOLUTION


@cute.jit
def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    ### BEGIN SOLUTION (about 9 lines)
    load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
    layout_a, layout_b, layout_c = ring_layout(bM, bK, STAGES), ring_layout(bN, bK, STAGES), out_layout(bM, bN)
    tma_a, mA = cpasync.make_tiled_tma_atom(load, described(a), cute.select(layout_a, [0, 1]), (bM, bK))
    tma_b, mB = cpasync.make_tiled_tma_atom(load, described(b), cute.select(layout_b, [0, 1]), (bN, bK))
    tma_c, mC = cpasync.make_tiled_tma_atom(store, described(c), out_layout(*BOX), BOX)
    tiles = cute.ceil_div(c.shape[0], bM), cute.ceil_div(c.shape[1], bN)
    kernel = hopper_kernel(tma_a, mA, tma_b, mB, tma_c, mC, make_wgmma(), layout_a, layout_b, layout_c, tiles)
    kernel.launch(grid=(tiles[0] * tiles[1], 1, 1), block=(THREADS, 1, 1))
    ### END SOLUTION


# %%
check("14.11", gemm)

# %% [markdown]
# `explain` simulates one block with eight K tiles. T is the TMA load of a stage, M a group of wgmmas, p a wait for an
# mbarrier's phase, w a wait for wgmma groups; W is `stmatrix` and S the TMA store. *buffer 0* is C's tile; stages have
# no rows. **Predict**: how many T come before the first M, and how many M after the last T?

# %%
explain("14.11", gemm, shape=(128, 256, 512))

# %% [markdown]
# Four loads fill the ring, and after the last one it drains, with three M. In the lower picture, one `stmatrix`, the
# swizzle lets its 32 rows of 16 bytes fill all banks in each of four wavefronts.
#
# The compiled kernel; `wait` is an mbarrier's:

# %%
compiled = compile_cute(gemm, [TensorSpec((4096, 4096), "bf16")] * 3, "sm_90a")
print(compiled)
print(story(compiled.ptx, HOPPER_OPCODES))

# %% [markdown]
# ## Measured
#
# 14.9 is your main loop in the course's kernel; *gain* compares with the row above. In the figure, *14 plain* is a
# kernel like yours, *13 loads spread* notebook 13's fastest.

# %%
show_ladder("13.3", "14")

# %%
show_figure("gemm_ladder_14")

# %% [markdown]
# At 4096³ the new instructions make the kernel about 1.6 times as fast as 13.3's, and on an H200 1.5 times as fast as
# 13.4's; the share of each is not measured. It has 0.97 to 0.98 of cuBLAS's speed. At 1024 it has 0.58: 32 tiles occupy
# 32 of 132 SMs. It dips at 3072: 288 tiles of 128×256 on 132 SMs are 2.2 waves, and the third one has work for 24 SMs.
#
# Each block begins with an empty ring and ends with an epilogue, and in both the tensor cores are idle. No second block
# fills the gap, for want of shared memory. Notebook 15 mends that.
#
# ## What to remember
#
# - Every buffer raises two questions: *is the data there*, and *has it been read*? An mbarrier answers one of them; the
#   phase says for which round.
# - TMA and WGMMA must agree on one layout: boxes of swizzled rows.
# - A thread's own writes need a proxy fence before TMA may read them; TMA's writes need their mbarrier.
#
# ## Test yourself
#
# <details><summary>1. A ring has four stages. Which phase of which <code>full</code> barrier does the loop wait for at
# K tile 9?</summary>
#
# Tile 9 is in stage 1, so <code>full[1]</code>. It is the third tile there, after 1 and 5: round 2, parity 0.
#
# </details>
#
# <details><summary>2. Why is no fence needed between TMA's write and WGMMA's read?</summary>
#
# Both use the async proxy, and the mbarrier orders them. A proxy fence is for a thread's own writes, as in the
# epilogue.
#
# </details>
#
# <details><summary>3. A kernel announces half of the bytes that TMA brings. What can happen?</summary>
#
# The phase may complete when half of them are there, and WGMMA reads a tile that is partly the old one. So may the next
# phase, in which the other half counts.
#
# </details>

# %% [markdown]
# ## Appendix: Which thread holds which accumulator
#
# An epilogue with a bias has to know. The picture shows the first 64 columns of a warpgroup's 64×256 accumulators: each
# warp has 16 rows, and each 8×8 block is spread over its lanes as in every `mma`.

# %%
show_wgmma()

# %% [markdown]
# **Exercise 14.12** (about 4 lines). Write `holder(m, n)`: the thread of the warpgroup (0 … 127) and its register (0 …
# 127) that hold the accumulator at row m, column n of 64×256. Read it off the picture.


# %%
def holder(m, n):
    ### BEGIN SOLUTION (about 4 lines)
    warp, rest = divmod(m, 16)
    half, row = divmod(rest, 8)
    piece, column = divmod(n, 8)
    return 32 * warp + 4 * row + column // 2, 4 * piece + 2 * half + column % 2
    ### END SOLUTION


# %%
check("14.12", holder)

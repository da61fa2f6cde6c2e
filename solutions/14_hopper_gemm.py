# ---
# jupyter:
#   tutorlib:
#     minutes: 115
#     summary: TMA, mbarriers, WGMMA, a Hopper GEMM of your own, and where its time goes.
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
# > **After this page you can** issue wgmmas as a group, say which phase of an mbarrier a warp waits for, keep a ring of
# > stages full without overwriting one, store a tile by TMA, write a Hopper GEMM, and say where its time goes.
# >
# > **It takes** about 115 minutes, on any machine; after 14.2, at about 50, is a good place to stop. Without a Hopper
# > GPU the kernel is simulated; with one it is also timed.

# %%
import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Int64
from cutlass.cute.nvgpu import cpasync, warpgroup

from tutorlib import (
    WGMMA, Timeline, all_sweep_results, check, compare_on_gpu, explain, explore_mbarriers, grouped, show_ladder,
    show_sm, show_source, show_timeline,
)  # fmt: skip
from tutorlib.kernels.hopper.first import (
    ALIGNMENT, BOX, STAGES, THREADS, TILE, Accumulators, BoxCopy, Parts, Steps, boxes, described, fill_stage,
    init_barriers, make_accumulators, make_first_gemm, make_wgmma, out_layout, ring_layout, wgmma_fragments,
)  # fmt: skip

# %% [markdown]
# ## Who does what
#
# One block computes a 128×256 tile of C with two **warpgroups** of four warps each; the four warps of a warpgroup issue
# each WGMMA together. Shared memory is a ring of buffers, **stages**, each for one K tile of A and of B. Follow a K
# tile by its numbers:

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
# | box | 64, 128 elements | at most 256 in each mode |
# | swizzle | 128 bytes | a row of the box is at most this long |
#
# A load takes it, a coordinate, an address in shared memory and an mbarrier. CuTe's `make_tiled_tma_atom` returns the
# atom, which contains the descriptor, and a tensor of *coordinates*, which `local_tile` cuts into tiles.
#
# TMA writes a swizzled layout, and WGMMA reads it: notebook 10's, 8 rows of 128 bytes. `ring_layout(rows, 64, stages)`
# repeats these 8 rows down the tile and over the stages.
#
# **The bytes that an mbarrier counts.** The thread that issues a load announces to an mbarrier how many bytes to expect
# (**expect-tx**). TMA subtracts the bytes that it has written, and at 0 all of them are there. It writes whole boxes:
# where a box extends beyond the matrix, TMA reads nothing and writes zeros, which count. So the kernel needs no
# predicate. Columns beyond K add nothing; rows beyond M and N give results outside C, which TMA does not store.
#
# **What one copy moves.** `cpasync.tma_partition` prepares both sides of the copies. Mode 0 of each result is what
# *one* copy moves. So `boxes` first merges rows and K into one mode: A's ring (128, 64, 4) becomes ((128, 64), 4), one
# copy for each of four stages.

# %%
show_source(boxes)

# %% [markdown]
# ## WGMMA: the operands stay in shared memory
#
# `wgmma.mma_async.m64n256k16` multiplies 64×16 by 16×256, and the 128 threads of a warpgroup issue it together. An
# operand is a **descriptor** of 64 bits: where the matrix begins in shared memory, how far apart its groups of 8 rows
# are, and how it is swizzled. A K tile of 128×256×64 takes eight such instructions; `mma.sync` would take 1,024.
#
# Only accumulators are in registers: a warpgroup's 64×256 take 128 of each thread. The TiledMma stacks the two
# warpgroups along M. With it notebook 10's `make_fragment_A`, which made registers there, returns descriptors:

# %%
show_source(make_wgmma, wgmma_fragments)

# %% [markdown]
# tCrA is (1, 1, 4, 4): one descriptor, one wgmma along M, four K blocks, four stages. The descriptor of another stage
# or K block is an addition. All 128 threads of a warpgroup pass the same `thread`, its first one.
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
# Until a group is done, no thread may touch its accumulators, **and nothing may overwrite the stage that it reads**.
#
# A colleague's `multiply` issues the wgmmas of one stage:
#
# ```python
# def multiply(tiled_mma, tCrA, tCrB, tCrC, adds):
#     tiled_mma.set(warpgroup.Field.ACCUMULATE, adds)
#     for k_block in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
#         warpgroup.fence()
#         cute.gemm(tiled_mma, tCrC, tCrA[None, None, k_block], tCrB[None, None, k_block], tCrC)
#         warpgroup.commit_group()
#     warpgroup.wait_group(0)
# ```
#
# tCrA and tCrB are that stage's descriptors, (1, 1, K blocks). `adds`, a run-time Boolean, is False for the first K
# tile of a tile of C, when nothing has set the accumulators yet. `range_constexpr` unrolls the loop.
#
# **Exercise 14.1** (about 6 lines). Theirs makes C wrong in one way, and costs time in two. Write your own, which
# returns while its wgmmas are in flight, as *one* group. Which of them may ignore the accumulators? A stage may take
# one fence and one commit, no wait, no barrier, and no instruction that sets registers to zero.


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
check("14.1", multiply)

# %% [markdown]
# The colleague's `adds` holds for every K block: of the first K tile only the last block remains. With a group for each
# block, a loop that waits for all but one group leaves only one K block in flight. The wait leaves the tensor cores
# idle.
#
# ## mbarriers: who may touch a stage
#
# Each stage has two mbarriers. One fill of a stage and its reads are a **round**. The warp that issues the loads is the
# **producer**, and every warp that reads a stage is a **consumer**. Each mbarrier answers a question of a round:
#
# - `full[s]`: have the bytes landed? Once in a round, one lane of the producer arrives and announces the bytes. TMA
#   counts them down.
# - `empty[s]`: have all warps read the stage? Once in a round, one lane of each warp arrives, after the warp's wgmmas
#   have read the stage.
#
# An **mbarrier** counts arrivals and bytes. When both reach 0, the phase is complete, and the next begins with the
# arrival count reset. One thread sets that count:

# %%
show_source(init_barriers)

# %% [markdown]
# Threads and TMA access shared memory through different **proxies**, the generic and the async one. A write through one
# is not at once visible through the other. So the thread fences what it has initialized, before the others go on.
#
# A wait names only the **parity** of a phase, its number modulo 2. A wait for parity p returns as soon as the current
# phase no longer has parity p. So on a fresh mbarrier, in phase 0, a wait for 0 waits for phase 0 to complete, and a
# wait for 1 returns at once.
#
# ## One stage first
#
# The smallest loop uses a single stage. Every warp runs it, and one of them (`steps.loads_too`) also issues the loads.
# `steps.multiply(stage, first)` calls yours for a stage, with `adds` False where `first` is True:

# %%
show_source(BoxCopy, Steps, fill_stage)

# %% [markdown]
# Every arrival counts, so it matters who executes a call:
#
# | call | executed by | |
# |---|---|---|
# | `fill_stage(steps, k_tile, stage)` | the warp | elects a lane, which announces the bytes and loads |
# | `cute.arch.mbarrier_arrive(barrier)` | one lane: `with cute.arch.elect_one():` | |
# | `cute.arch.mbarrier_wait(barrier, parity)` | the warp | |
#
# **Exercise 14.2** (about 7 lines). Write `one_stage(steps)`, a loop over the K tiles that uses stage 0 alone. In place
# of `empty`, one `sync_threads` for each K tile can tell the producer that all warps have read the stage. Three
# questions decide the order:
#
# - Which parity does K tile k wait for?
# - When does a warp know that its own wgmmas have read the stage?
# - What must be over before the stage is loaded again?
#
# Write `for k_tile in cutlass.range(steps.k_tiles, unroll=1):`, which stays a loop in the compiled kernel.


# %%
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
check("14.2", one_stage)

# %% [markdown]
# The loop is slow: memory and the tensor cores take turns, and the barrier stops all eight warps.
#
# ## The ring
#
# With several stages, loads run ahead. Each stage has an `empty` mbarrier: a warp that has read the stage arrives there
# and goes on, and the producer alone waits. A stage is used again `stages` steps later, in its next phase.
#
# CuTe counts this: `make_pipeline_state(PipelineUserType.Consumer, stages)` has `.index`, the stage; `.phase`, the
# parity to wait for; `.advance()`, to the next step; and `.clone()`.
#
# Play it. One warp loads (*loads*) and one multiplies (*math*: *done* waits for its wgmmas, *free* arrives at `empty`).
# Click a warp's row to issue its next instruction; TMA's transfers land when *you* click them. Play two correct rounds.
# Then break it with the menu: does it deadlock, or go on with wrong data?

# %%
explore_mbarriers(stages=2)

# %% [markdown]
# ## The main loop
#
# `one_stage` waits for a group right after its issue, so the tensor cores run dry in every step. Wait one step later:
# issue the group of K tile k, and only then wait for that of k − 1.
#
# **Exercise 14.3** (about 12 lines). The start of `main_loop(steps)` is given: the loads of all stages, and K tile 0's
# group. Write the loop over the other K tiles, and its end:
#
# - One group stays in flight while the warps update the mbarriers. Each warp arrives at a stage's `empty` as soon as
#   its own wgmmas have read that stage, at most once in a round. Only the warp that also loads then waits for the
#   arrivals of all warps. It loads the stage's next K tile, if there is one.
# - At the end the accumulators are complete. There is no barrier of the block, and the loop is not unrolled.
#
# When the wait of step k returns, which stage has been read, and which K tile comes into it next? Which phase of
# `empty` do its readers complete?


# %%
from cutlass.pipeline import PipelineUserType, make_pipeline_state


# %%
@cute.jit
def main_loop(steps: Steps):
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
            fill_stage(steps, k_tile, k_tile)
    state = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
    steps.multiply(state.index, True)
    ### BEGIN SOLUTION (about 12 lines)
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
check("14.3", main_loop)

# %% [markdown]
# A missing arrival hangs the kernel one round later. A missing wait for `empty` hangs nothing, and results stay right
# until a warp falls behind.
#
# ### How many stages?
#
# In `one_stage` latency, transfer and multiplication add up. In `main_loop` the stage of K tile k − 1 is loaded again
# when the multiplication of k begins. The timelines assume 4, 2 and 3 ticks for latency, transfer and multiplication.
# (They are page 13's: here *barrier* means the wait for `empty`.)

# %%
show_timeline(*(Timeline(n, latency=4, transfer=2, compute=3, tiles=8, at_once=n == 1) for n in (1, 2, 3, 4)))

# %% [markdown]
# With S stages, S − 1 loads are in flight beside a multiplication. In this model a step takes as long as its wgmmas, or
# as a load divided by S − 1, whichever is longer. The eight wgmmas take at least 1,024 cycles. On an H200, a step of
# `one_stage` at 4096³ takes 2,733 cycles, so latency and transfer take at most 1,709. **Predict** a step with two,
# three and four stages:


# %%
def cycles_a_step(swept):
    """Kernel → cycles of a step: a K tile of 128×256×64 on one SM, in four waves of tiles at 4096³."""
    timed = {point.name: point.measurement for point in swept.points}
    return {name: found.median_us * found.counted_mhz / (4 * 4096 // TILE[2]) for name, found in timed.items()}


for swept in all_sweep_results("hopper_account"):
    cycles = cycles_a_step(swept)
    load = cycles["1 stage"] - 1024
    print(f"{swept.gpu}, 1 stage: {cycles['1 stage']:,.0f} cycles a step")
    for stages in (2, 3, 4):
        predicted = max(1024, load / (stages - 1))
        print(f"{stages} stages: predicted {predicted:,.0f}, measured {cycles[f'{stages} stages']:,.0f}")

# %% [markdown]
# Steps take 11 to 14% longer than predicted, and the fourth stage gains next to nothing, as predicted. These kernels do
# not test the division by S − 1: at S = 2 the divisor is 1, and from S = 3 the wgmmas are longer. A Hopper GPU times
# your loops, each in turns with cuBLAS; × compares their speeds relative to it. (*1 stage* uses one of two stages.)

# %%
for name, loop, stages in (("1 stage", one_stage, 2), ("2 stages", main_loop, 2), ("3 stages", main_loop, 3)):
    parts = [Parts(multiply=multiply, barriers=init_barriers, main_loop=each) for each in (loop, main_loop)]
    kernels = {name: make_first_gemm(parts[0], stages), "4 stages": make_first_gemm(parts[1], 4)}
    compare_on_gpu(kernels, sizes=(4096,), needs=WGMMA)

# %% [markdown]
# ## The epilogue: stmatrix, and TMA again
#
# Now C's tile leaves through shared memory, and TMA stores it, edges included. `stmatrix` is `ldmatrix` backwards: it
# writes 8×8 blocks from the MMA's registers as rows in shared memory. The tile of C overwrites the stages. It is cut
# into boxes of 16 rows × 64 columns, so that each warp stores boxes of its own.

# %%
show_source(Accumulators, make_accumulators)

# %% [markdown]
# A **fence** covers what its own lane has written. The whole warp calls `cute.copy` with a TMA atom, which elects the
# lane that issues. Only that lane waits for the store.
#
# | in `cute.arch` | |
# |---|---|
# | `sync_threads()`, `sync_warp()` | all threads of the block, or of the warp, wait for each other |
# | `fence_proxy("async.shared", space="cta")` | makes this thread's writes to shared memory visible to TMA |
# | `cp_async_bulk_commit_group()` | makes this thread's bulk copies (TMA stores) since the last commit one group |
# | `cp_async_bulk_wait_group(n, read=True)` | waits until all but the n newest groups have *read* shared memory |
#
# **Exercise 14.4** (about 8 lines). Write `store_by_tma(acc)`. At hand are `acc.tCrC`, the accumulators, which
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
check("14.4", store_by_tma)

# %% [markdown]
# So each lane fences, the warp synchronizes, one lane issues.
#
# ## Your kernel
#
# The host side and the block's shared memory are given: the ring of A and of B, C's tile over their stages, and the
# mbarriers.
#
# **Exercise 14.5** (about 16 lines). Write the kernel. Build it from your functions, `init_barriers`, `Steps`,
# `BoxCopy` and what this page has shown; the course's kernels and main loops are not allowed. The check simulates it
# and counts:
#
# - one block for each 128×256 tile of C; M is any number, N and K are multiples of 8;
# - TMA loads, wgmma with one group in flight, `stmatrix`, TMA stores;
# - two barriers of the block, at most a fence for each box of C, no load that brings nothing but zeros, no spills.
#
# A Hopper GPU times it at 4096³ beside cuBLAS. The pieces that are new:
#
# - `grouped(block, *tiles)` → (m, n): the place of the block's tile among C's tiles, in groups of 8 rows of tiles, so
#   that blocks that run together share tiles of A and B in L2.
# - `cute.local_tile(mA, (bM, bK), (m, None))` is (bM, bK, K tiles) of the coordinates, a partial K tile included.
# - `cute.arch.make_warp_uniform(x)` returns lane 0's x in every lane, so the compiler knows that the warp agrees.
# - `make_accumulators(tCrC, tiled_mma, thread, tma_c, sC, gC)` is what your epilogue takes; here `thread` is the
#   thread's own number. `wgmma_fragments` takes its warpgroup's first.


# %%
from cutlass.memory import SmemAllocator

bM, bN, bK = TILE


def shared_memory(layout_a, layout_b, layout_c):
    """sA (bM, bK, stages), sB (bN, bK, stages), sC (bM, bN) over both, and the mbarriers full and empty."""
    memory = SmemAllocator()
    sA = memory.allocate_tensor(BFloat16, layout_a.outer, ALIGNMENT, layout_a.inner)  # inner: the swizzle
    sB = memory.allocate_tensor(BFloat16, layout_b.outer, ALIGNMENT, layout_b.inner)
    sC = cute.make_tensor(cute.recast_ptr(sA.iterator, layout_c.inner, BFloat16), layout_c.outer)
    full, empty = (memory.allocate_array(Int64, STAGES) for _ in range(2))
    return sA, sB, sC, full, empty


# %%
@cute.kernel
def hopper_kernel(
    a: tuple[cute.CopyAtom, cute.Tensor],
    b: tuple[cute.CopyAtom, cute.Tensor],
    c: tuple[cute.CopyAtom, cute.Tensor],
    tiled_mma: cute.TiledMma,
    layouts: tuple[cute.ComposedLayout, ...],
    tiles: cutlass.Constexpr,
):
    (tma_a, mA), (tma_b, mB), (tma_c, mC) = a, b, c
    sA, sB, sC, full, empty = shared_memory(*layouts)
    ### BEGIN SOLUTION (about 16 lines)
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    warp, group = (cute.arch.make_warp_uniform(thread // size) for size in (32, 128))
    m, n = grouped(block, *tiles)
    gA = cute.local_tile(mA, (bM, bK), (m, None))  # (bM, bK, K tiles)
    gB = cute.local_tile(mB, (bN, bK), (n, None))  # (bN, bK, K tiles)
    gC = cute.local_tile(mC, (bM, bN), (m, n))  # (bM, bN)

    init_barriers(full, empty, STAGES, THREADS // 32, thread)
    copy_a = BoxCopy(tma_a, *boxes(tma_a, sA, gA))
    copy_b = BoxCopy(tma_b, *boxes(tma_b, sB, gB))
    tCrA, tCrB, tCrC = wgmma_fragments(tiled_mma, group * 128, sA, sB)
    k_tiles = cute.size(gA, mode=[2])
    main_loop(Steps(k_tiles, full, empty, warp == 0, copy_a, copy_b, tiled_mma, tCrA, tCrB, tCrC, multiply))
    store_by_tma(make_accumulators(tCrC, tiled_mma, thread, tma_c, sC, gC))
    ### END SOLUTION


@cute.jit
def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
    layouts = ring_layout(bM, bK, STAGES), ring_layout(bN, bK, STAGES), out_layout(bM, bN)
    tma_a = cpasync.make_tiled_tma_atom(load, described(a), cute.select(layouts[0], [0, 1]), (bM, bK))
    tma_b = cpasync.make_tiled_tma_atom(load, described(b), cute.select(layouts[1], [0, 1]), (bN, bK))
    tma_c = cpasync.make_tiled_tma_atom(store, described(c), out_layout(*BOX), BOX)
    tiles = cute.ceil_div(c.shape[0], bM), cute.ceil_div(c.shape[1], bN)
    kernel = hopper_kernel(tma_a, tma_b, tma_c, make_wgmma(), layouts, tiles)
    kernel.launch(grid=(tiles[0] * tiles[1], 1, 1), block=(THREADS, 1, 1))


# %%
check("14.5", gemm)

# %% [markdown]
# `explain` simulates one block with eight K tiles. T is the TMA load of a stage, M a group of wgmmas, W `stmatrix`, S
# the TMA store. a is an arrival at an mbarrier, p a wait for its phase, w a wait for groups, | the barrier. Each stage
# is a buffer, and shows the number of its K tile; 8 is C's tile. How many stages are read at a time, and what does a
# stage wait for between its last read and its next load?

# %%
explain("14.5", gemm, shape=(128, 256, 512), banks=False)

# %% [markdown]
# Two: the group of K tile k is issued before the wait for that of k − 1. A stage that has been read waits until *all*
# warps have arrived at its `empty`.
#
# ## Where the time goes
#
# Your main loop (14.3, in the course's kernel) and your kernel, beside 13.1's; *gain* compares with the row above:

# %%
show_ladder("13.1", "14")

# %% [markdown]
# At 4096³ your kernel has 0.97 of cuBLAS's speed on an H200, and takes less than two thirds of 13.1's time.
#
# The datasheet's 989 TFLOP/s are 132 SMs × 4,096 FLOP a cycle × 1,830 MHz. What lies between them and your kernel? Each
# row is a kernel at 4096³. *wgmma alone* loads one K tile and multiplies it in every step; *TMA alone* loads all K
# tiles and multiplies one; *mma.sync alone* multiplies what it has in registers.

# %%
for swept in all_sweep_results("hopper_account"):
    print(f"{swept.gpu:16}     µs   MHz  cycles a step")
    for point in swept.points:
        if point.name in ("4 stages", "wgmma alone", "TMA alone", "mma.sync alone"):
            found = point.measurement
            print(
                f"{point.name:16}{found.median_us:7.1f}{found.counted_mhz:6}{cycles_a_step(swept)[point.name]:12,.0f}"
            )

# %% [markdown]
# So the 773 TFLOP/s of your kernel in this table, *4 stages*, are 989, less four things:
#
# | | factor | leaves |
# |---|---|---|
# | the clock: 1,669 MHz under this load | 0.91 | 902 |
# | the last wave: 512 tiles are 3.88 waves | 0.97 | 875 |
# | each tile of C: *wgmma alone* takes 1,108 cycles a step, not 1,024 | 0.92 | 808 |
# | the loads: 1,160 cycles a step with them | 0.96 | 773 |
#
# The third is 84 · 64 = 5,400 cycles for each tile of C: the time before its first wgmma, its epilogue, and gaps
# between wgmmas. A second block on the SM could use them, but the registers forbid it: two blocks of 256 threads leave
# 128 to a thread, and the accumulators alone take 128. Notebook 15 fills this time. The fourth is small because TMA
# alone needs 847 cycles a step, fewer than 1,024.
#
# Most of the gain over 13.1's kernel is the instruction's: *mma.sync alone* takes 1,534 cycles a step, and *wgmma
# alone* 1,108.
#
# ## What to remember
#
# - Every buffer raises two questions: *is the data there*, and *has it been read*? An mbarrier answers one of them; the
#   phase says for which round.
# - A thread's own writes need a proxy fence before TMA may read them; TMA's writes need their mbarrier.
# - With S stages, S − 1 loads are in flight beside a multiplication. Once they cover a load, more stages gain nothing.
#
# Next: [notebook 15](15_warp_roles.ipynb) gives loading and multiplying to different warps, and fills the gap between
# two tiles of C.
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
# Both use the async proxy, and the mbarrier orders them.
#
# </details>
#
# <details><summary>3. A kernel announces half of the bytes that TMA brings. What can happen?</summary>
#
# The phase may complete when half of them are there, and WGMMA reads a tile that is partly the old one. The other half
# is then counted in the next phase, which may also complete too early.
#
# </details>

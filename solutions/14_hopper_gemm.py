# ---
# jupyter:
#   tutorlib:
#     minutes: 75
#     appendix: 12
#     summary: TMA, mbarriers, WGMMA, a Hopper GEMM of your own, and where its time goes.
# ---

# %% [markdown]
# # 14 · A Hopper GEMM
#
# `mma.sync` takes its operands from registers, so threads first load them into registers. Hopper's tensor cores read
# shared memory directly (WGMMA), and its Tensor Memory Accelerator (TMA) copies whole tiles there. Until the epilogue,
# the threads only decide *when*.
#
# The problem is notebook 10's: C = A · Bᵀ, `gemm(a, b, c)`, bf16, accumulated in fp32.
#
# > **After this page you can** issue wgmmas as a group, say which phase of an mbarrier a warp waits for, keep a ring of
# > stages full without overwriting one, store a tile by TMA, and, after the appendix, say where a Hopper GEMM's time
# > goes.
# >
# > **It takes** about 75 minutes, on any machine; its appendix about 12 more. Without a Hopper GPU the kernel is
# > simulated; with one it is also timed.

# %%
import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Int64
from cutlass.cute.nvgpu import cpasync, warpgroup

from tutorlib import (
    all_sweep_results, check, explore_mbarriers, grouped, show_ladder, show_sm, show_source,
)  # fmt: skip
from tutorlib.kernels.hopper.first import (
    ALIGNMENT, BOX, STAGES, THREADS, TILE, Accumulators, BoxCopy, Steps, boxes, described, fill_stage,
    make_accumulators, make_wgmma, one_stage, out_layout, ring_layout, wgmma_fragments,
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
# Copies and multiplications are asynchronous. Your job is in the yellow boxes: which warp may touch a stage, and when.
#
# ## TMA and WGMMA: descriptors
#
# The host makes a TMA **descriptor** of each matrix once: its address, sizes and strides, and the **box** that one copy
# moves, at most 256 elements in each mode. A load takes a descriptor, a coordinate, an address in shared memory and an
# mbarrier.
#
# The thread that issues a load announces to the mbarrier how many bytes to expect (**expect-tx**). TMA subtracts the
# bytes that it has written, and at 0 all of them are there. It writes whole boxes: where a box extends beyond the
# matrix, TMA reads nothing and writes zeros; these bytes count, too. So the kernel needs no predicate. Columns beyond K
# add nothing; rows beyond M and N give results outside C, which TMA does not store.
#
# TMA writes a swizzled layout, notebook 10's 8 rows of 128 bytes, and WGMMA reads it. `wgmma.mma_async.m64n256k16`
# multiplies 64×16 by 16×256. Its operands are descriptors, too, of a place in shared memory. A K tile of 128×256×64
# takes eight such instructions. Only accumulators are in registers: a warpgroup's 64×256 take 128 of each thread.
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
# returns while its wgmmas are in flight, as *one* group. A stage may take one fence and one commit, no wait, no
# barrier, and no instruction that sets registers to zero.


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
# The colleague's `adds` holds for every K block: in the first K tile, each K block overwrites the one before, and only
# the last remains. With one group per K block, a caller's `wait_group(1)` would keep one K block in flight, not one K
# tile. And the wait leaves the tensor cores idle.
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
# arrival count reset.
#
# A wait names only the **parity** of a phase, its number modulo 2. A wait for parity p returns as soon as the current
# phase no longer has parity p. So on a fresh mbarrier, in phase 0, a wait for 0 waits for phase 0 to complete, and a
# wait for 1 returns at once.
#
# The smallest loop uses a single stage. Every warp runs it, and one of them also loads:

# %%
show_source(fill_stage, one_stage)

# %% [markdown]
# In place of `empty`, a barrier of the block tells the producer that all warps have read the stage. The loop is slow:
# memory and the tensor cores take turns, and the barrier stops all eight warps.
#
# ## The ring
#
# With several stages, loads run ahead. A warp that has read a stage arrives at `empty` and goes on, and the producer
# alone waits. A stage is used again `stages` steps later.
#
# CuTe counts this: `make_pipeline_state(PipelineUserType.Consumer, stages)` has `.index`, the stage; `.phase`, 0 in the
# first round, 1 in the second, and so on in turns; `.advance()`, to the next step; and `.clone()`.
#
# In the explorer one warp loads (*loads*) and one multiplies (*math*: *done* waits for its wgmmas, *free* arrives at
# `empty`). Click a warp's row to issue its next instruction; TMA's transfers land when *you* click them. **Predict:**
# at K tile 2, which mbarrier and which parity does the math warp wait for? Play until that wait returns.

# %%
explore_mbarriers(stages=2)

# %% [markdown]
# It waits at `full[0]` for parity 1: K tile 0's bytes completed phase 0, and K tile 2's complete phase 1.
#
# ## The main loop
#
# `main_loop` waits for a group one step later than `one_stage`. Every warp runs it with its own `steps`:
#
# | | |
# |---|---|
# | `steps.k_tiles`, `steps.stages` | how many |
# | `steps.full`, `steps.empty` | the first mbarrier of each kind; add a stage |
# | `steps.loads_too` | True in the warp that also loads, the producer |
# | `steps.multiply(stage, first)` | calls your `multiply` for a stage, with `adds` False where `first` is True |
# | `fill_stage(steps, k_tile, stage)` | called by a warp: elects a lane, which announces the bytes, and loads |
# | `cute.arch.mbarrier_wait(barrier, parity)` | called by a warp |
# | `cute.arch.mbarrier_arrive(barrier)` | each lane that executes it arrives; `with cute.arch.elect_one():`, one |
#
# **Exercise 14.2** (about 7 lines). Complete each step of `main_loop(steps)`:
#
# - One group stays in flight while the warps update the mbarriers.
# - Each warp arrives at a stage's `empty` as soon as its own wgmmas have read that stage, at most once in a round.
# - The producer loads a K tile into a stage as soon as all warps have read the one before. Only the producer waits.
# - Each K tile is loaded once. There is no barrier of the block.


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
    for k_tile in cutlass.range(1, steps.k_tiles, unroll=1):
        before = state.clone()
        state.advance()
        cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
        steps.multiply(state.index, False)
        ### BEGIN SOLUTION (about 7 lines)
        warpgroup.wait_group(1)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.empty + before.index)
        ahead = k_tile - 1 + steps.stages
        if steps.loads_too and ahead < steps.k_tiles:
            cute.arch.mbarrier_wait(steps.empty + before.index, before.phase)
            fill_stage(steps, ahead, before.index)
        ### END SOLUTION
    warpgroup.wait_group(0)


# %%
check("14.2", main_loop)

# %% [markdown]
# A missing arrival hangs the kernel when the producer next waits for that stage. A missing wait for `empty` hangs
# nothing, and results stay right until a warp falls behind.
#
# ## The epilogue: stmatrix, and TMA again
#
# Now C's tile leaves through shared memory, where it takes the memory of the stages. `stmatrix` is `ldmatrix`
# backwards: it writes 8×8 blocks from the MMA's registers as rows. TMA stores boxes of 16 rows × 64 columns, and each
# warp writes and stores boxes of its own.
#
# A colleague's epilogue has all three copies, and orders none of them:
#
# ```python
# def store_by_tma(acc):
#     acc.tRrC.store(acc.tCrC.load().to(BFloat16))  # rounds the accumulators, in registers
#     cute.copy(acc.stmatrix, acc.tRrC, acc.tRsC)  # writes the warp's boxes
#     cute.copy(acc.tma, acc.tSsC, acc.tSgC)  # elects a lane, which issues the TMA stores of these boxes
# ```
#
# Threads and TMA access shared memory through different **proxies**, the generic and the async one. A write through one
# is not at once visible through the other.
#
# | in `cute.arch` | |
# |---|---|
# | `sync_threads()`, `sync_warp()` | all threads of the block, or of the warp, wait for each other |
# | `fence_proxy("async.shared", space="cta")` | makes what this thread has written to shared memory visible to TMA |
# | `cp_async_bulk_commit_group()` | makes this thread's bulk copies (TMA stores) since the last commit one group |
# | `cp_async_bulk_wait_group(n, read=True)` | waits until all but the n newest groups have *read* shared memory |
#
# **Exercise 14.3** (about 8 lines). Write `store_by_tma(acc)` with all that is missing. Nothing may be overwritten
# while it may still be read. TMA must find every element written. And the block may not end while TMA reads its memory,
# which another block may get. Use the narrowest call for each: one barrier of the block and one fence are enough.


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
check("14.3", store_by_tma)

# %% [markdown]
# Each lane fences what it has written, the warp synchronizes, one lane issues. And before all that, the block waits:
# the other warps' wgmmas may still be reading the stages.
#
# ## Your kernel
#
# The cells give the host side, shared memory, and the beginning of the kernel.
#
# **Exercise 14.4** (about 10 lines). Write the rest of the kernel: initialize `full` and `empty`, STAGES mbarriers
# each, run your main loop, store. `mA` is A as TMA takes it, (M, K). Import no kernel, main loop or initialization from
# the course. The check simulates your kernel and counts:
#
# - one block for each 128×256 tile of C; M is any number; N and K are multiples of 8, since TMA's strides are
#   multiples of 16 bytes;
# - TMA loads, wgmma with one group in flight, `stmatrix`, TMA stores;
# - two barriers of the block, at most a fence for each box of C, no load that brings nothing but zeros, no spills.
#
# A Hopper GPU times it at 4096³ beside cuBLAS. The pieces that are new:
#
# - `cute.arch.mbarrier_init(barrier, arrivals)`, executed by one thread, sets how many arrivals complete a phase.
# - `cute.arch.mbarrier_init_fence()` makes the mbarriers that this thread has initialized visible to TMA.
# - `Steps(k_tiles, full, empty, loads_too, copy_a, copy_b, tiled_mma, tCrA, tCrB, tCrC, multiply)` are a warp's steps.
# - `make_accumulators(tCrC, tiled_mma, thread, tma_c, sC, gC)` is what your epilogue takes.


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
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    warp, group = (cute.arch.make_warp_uniform(thread // size) for size in (32, 128))
    m, n = grouped(block, *tiles)  # in groups of 8 rows of tiles, which share tiles of A and B in L2
    gC = cute.local_tile(mC, (bM, bN), (m, n))
    copy_a = BoxCopy(tma_a, *boxes(tma_a, sA, cute.local_tile(mA, (bM, bK), (m, None))))
    copy_b = BoxCopy(tma_b, *boxes(tma_b, sB, cute.local_tile(mB, (bN, bK), (n, None))))
    tCrA, tCrB, tCrC = wgmma_fragments(tiled_mma, group * 128, sA, sB)
    ### BEGIN SOLUTION (about 10 lines)
    if thread == 0:
        for stage in range(STAGES):
            cute.arch.mbarrier_init(full + stage, 1)
            cute.arch.mbarrier_init(empty + stage, THREADS // 32)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    k_tiles = cute.ceil_div(mA.shape[1], bK)
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
check("14.4", gemm)

# %% [markdown]
# ## What to remember
#
# - Every buffer raises two questions: *is the data there*, and *has it been read*? An mbarrier answers one of them; the
#   phase says for which round.
# - A thread's own writes need a proxy fence before TMA may read them; TMA's writes need their mbarrier.
# - Stages keep loads in flight. Once they cover a load, more stages gain next to nothing.
#
# Next: [notebook 15](15_warp_roles.ipynb) gives loading and multiplying to different warps, and loads the next tile of
# C during this one's epilogue.
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

# %% [markdown]
# ## Appendix: where the time goes
#
# Your main loop in the course's kernel (14.2) and your own kernel (14.4), below 13.1's:

# %%
show_ladder("13.1", "14")

# %% [markdown]
# The datasheet's 989 TFLOP/s are 132 SMs × 4,096 FLOP a cycle × 1,830 MHz. So the eight wgmmas of a K tile take at
# least 1,024 cycles on an SM. Each row is a kernel at 4096³. *1 stage* is `one_stage`. *wgmma alone* loads one K tile
# and multiplies it in every step; *TMA alone* loads all K tiles and multiplies one; *mma.sync alone* multiplies what it
# has in registers.

# %%
for swept in all_sweep_results("hopper_account"):
    print(f"{swept.gpu:16}     µs   MHz  cycles a step")
    for point in swept.points:
        found = point.measurement
        cycles = found.median_us * found.counted_mhz / (4 * 4096 // TILE[2])  # four waves of tiles
        print(f"{point.name:16}{found.median_us:7.1f}{found.counted_mhz:6}{cycles:12,.0f}")

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
# The third is 84 · 64, about 5,400 cycles for each tile of C. It holds the launch, the wait for the first bytes, the
# epilogue, and gaps between wgmmas; the table does not separate them. A second block on the SM could use them, but the
# registers forbid it: two blocks of 256 threads leave 128 to a thread, and the accumulators alone take 128. Notebook
# 15's levers win back a part of this time.
#
# The fourth is small because *TMA alone* needs fewer than 1,024 cycles a step: its bandwidth is sufficient. Stages
# cover a load's *latency*: in a ring of n stages, a load has n − 1 steps to arrive. With two stages a step takes 1,902
# cycles, so one step is too short. With three it takes 1,168 and with four 1,160: a third step gains next to nothing.
#
# *mma.sync alone* takes 1,534 cycles a step. So even without copies, notebook 13's instruction reaches at most 1,024 /
# 1,534 = 0.67 of WGMMA's rate per cycle.

# ---
# jupyter:
#   tutorlib:
#     minutes: 160
#     appendix: 10
#     summary: TMA, mbarriers, WGMMA, and a Hopper GEMM of your own.
# ---

# %% [markdown]
# # 13 · A Hopper GEMM
#
# Notebook 12 tuned everything except the instruction. On a Hopper GPU `mma.sync` is the wrong one: it takes its
# operands from registers, so threads must carry them there first, and even on its own it stays below the datasheet's
# rate.
#
# Hopper's tensor cores read shared memory directly (WGMMA), and its Tensor Memory Accelerator (TMA) copies whole tiles
# there without the threads. Until the epilogue, the threads decide only *when*. At the end of this page your kernel
# fits in one cell and is made of your own functions: its layouts, mbarriers, wgmmas, main loop, epilogue and launch.
# The course adds a few lines that only describe tensors, and you read them. You time the kernel against cuBLAS.
#
# The problem is notebook 09's: C = A · Bᵀ, `gemm(a, b, c)`, bf16, accumulated in fp32.
#
# > **After this page you can** lay out shared memory for TMA and WGMMA, issue a K tile's wgmmas as one group,
# > initialize mbarriers and say which phase a warp waits for, keep a ring of stages full without overwriting one, store
# > a tile by TMA, and assemble and launch a Hopper GEMM from these parts.
# >
# > **It takes** about 160 minutes, on any machine, and its appendix about 10 more. Without a Hopper GPU the kernel is
# > simulated; with one it is also timed.

# %%
import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Float32, Int64
from cutlass.cute.nvgpu import cpasync, warpgroup

from tutorlib import (
    HOPPER_OPCODES, WGMMA, TensorSpec, Timeline, check, compare_on_gpu, compile_cute, explain, explore_mbarriers,
    grouped, hardware_of, show_figure, show_ladder, show_sm, show_source, show_timeline, show_wgmma, story,
)  # fmt: skip
from tutorlib.kernels.hopper import (
    ALIGNMENT, BOX, STAGES, THREADS, TILE, Accumulators, BoxCopy, Steps, described, first as course, make_accumulators,
    make_wgmma, out_layout,
)  # fmt: skip

# %% [markdown]
# ## Who does what
#
# One block computes a 128×256 tile of C with two **warpgroups** of four warps each; the warps of a warpgroup issue a
# WGMMA instruction together. Shared memory is a ring of buffers called **stages**, and each stage holds one K tile of A
# and of B. Follow a K tile by its numbers:

# %%
show_sm()

# %% [markdown]
# Compare this with notebook 12. There, steps 1 to 3 occupied every thread: addresses, predicates, 16 bytes at a time,
# and step 5 went through `ldmatrix` and registers. Here one thread issues two copies for 48 KiB, each warpgroup issues
# four instructions for its half of the arithmetic, and all of them are asynchronous. Your remaining job is in the
# yellow boxes: which warp may touch a stage, and when. But first, the layouts.
#
# ## TMA: a descriptor and a coordinate
#
# A TMA **descriptor** is 128 bytes. The host makes it once, and all blocks use the same one. It holds:
#
# | field | for A (M, K) in bf16 | rule |
# |---|---|---|
# | address | of element (0, 0) | a multiple of 16 bytes |
# | sizes | K, M | the contiguous mode first |
# | strides | 2·K bytes, between rows | multiples of 16 bytes; the contiguous mode's stride is implied |
# | box | 64, 128 elements | at most 256 in each mode |
# | swizzle | 128 bytes | a row of the box is at most this long |
# | fill | zeros | for elements of the box outside the matrix |
#
# A load then takes this descriptor, a coordinate, an address in shared memory and an mbarrier. The hardware does the
# rest, including the edges. That is why the host function's `make_tiled_tma_atom` returns two things: the atom, which
# contains the descriptor, and a tensor without data. The elements of that tensor are *coordinates*; `local_tile`
# selects from them the coordinates that a TMA load needs.
#
# ### Where TMA puts the rows
#
# TMA writes a swizzled layout and WGMMA reads it, so both must use the same one, and the hardware offers only a few.
# For bf16 with K contiguous it is notebook 09's: 8 rows of 128 bytes, Swizzle⟨3,3,3⟩ on element offsets. TMA and WGMMA
# swizzle byte addresses, so here it is Swizzle⟨3,4,3⟩: the 16-byte chunk that stays together has 4 bits of byte address
# or 3 bits of element offset. CuTe calls the layout `K_SW128`.
#
# All stages of an operand, its ring, are one layout whose last mode is the stage.
#
# **Exercise 13.1** (about 2 lines). Write `ring_layout(rows, k, stages)`, a layout of shape (rows, k, stages). `k` is
# 64, 32 or 16 bf16, so a row has 128, 64 or 32 bytes. `warpgroup.make_smem_layout_atom(kind, BFloat16)` makes the atom
# with such rows; `SmemLayoutAtomKind` has `K_SW128`, `K_SW64` and `K_SW32`. Repeat the atom down the rows and then over
# the stages with notebook 09's `cute.tile_to_shape(atom, shape, order)`. The check compares the place of every 16 bytes
# with the rule that the CUDA driver's manual gives for TMA.


# %%
from cutlass.cute.nvgpu.warpgroup import SmemLayoutAtomKind


# %%
def ring_layout(rows, k, stages):
    ### BEGIN SOLUTION (about 2 lines)
    atom = warpgroup.make_smem_layout_atom(SmemLayoutAtomKind[f"K_SW{2 * k}"], BFloat16)
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))
    ### END SOLUTION


# %%
check("13.1", ring_layout)

# %% [markdown]
# ### What the mbarrier counts
#
# The thread that issues a load announces to an mbarrier how many bytes to expect: this is **expect-tx**, and PTX calls
# the bytes transactions. TMA subtracts the bytes it has written to shared memory, and at 0 all of them are there. So
# the announced number must be exact to the byte, at the edges too.
#
# **Predict.** A is 200×72. Of the 128×64 box of tile (1, 1), 72 rows and 8 columns are inside the matrix; TMA fills the
# rest with zeros. How many bytes does the mbarrier count?
#
# **Exercise 13.2** (about 4 lines). Write `tma_bytes(shape, tile, place)` for a bf16 matrix of this shape, a box of
# size `tile` and the tile's coordinates `place`, each a pair (rows, columns). Return (bytes read from the matrix, bytes
# counted on the mbarrier). A tile may be entirely outside the matrix; TMA loads it all the same.


# %%
def tma_bytes(shape, tile, place):
    ### BEGIN SOLUTION (about 4 lines)
    (rows, columns), (m, k) = tile, place
    down = max(0, min(rows, shape[0] - m * rows))
    across = max(0, min(columns, shape[1] - k * columns))
    return 2 * down * across, 2 * rows * columns
    ### END SOLUTION


# %%
check("13.2", tma_bytes)

# %% [markdown]
# The mbarrier counts the whole box, zeros included: 16,384 bytes in the prediction, of which TMA read 1,152 from the
# matrix. So the kernel announces the same 2·(128 + 256)·64 bytes in every step and needs no predicate. Rows beyond M
# and N arrive as zeros, and TMA does not store results outside C; columns beyond K arrive as zeros and add nothing.
#
# ### The box as one mode
#
# As in notebook 05, `cpasync.tma_partition(tma, block, blocks, s, g)` cuts both sides into boxes, one for each copy.
# `block` and `blocks` are for clusters, whose blocks share a load; a block without a cluster is block 0 of
# `cute.make_layout(1)`. On both sides the box must be a single mode: `cute.group_modes(s, 0, 2)` is ((rows, K),
# stages).
#
# **Exercise 13.3** (about 2 lines). Write `boxes(tma, s, g)`: `s` is (rows, K, stages) in shared memory, `g` is (rows,
# K, K tiles) of the matrix. Return (box, stages) and (box, K tiles).


# %%
def boxes(tma, s, g):
    ### BEGIN SOLUTION (about 2 lines)
    alone = cute.make_layout(1)  # no other block of a cluster shares the load
    return cpasync.tma_partition(tma, 0, alone, cute.group_modes(s, 0, 2), cute.group_modes(g, 0, 2))
    ### END SOLUTION


# %%
check("13.3", boxes)

# %% [markdown]
# ## WGMMA: the operands stay in shared memory
#
# `wgmma.mma_async.m64n256k16` multiplies 64×16 by 16×256, and the 128 threads of a warpgroup issue it together. It
# takes its operands as two **descriptors** of 64 bits: where a matrix begins in shared memory, how far apart
# consecutive groups of 8 rows are, and how the data is swizzled. There is no `ldmatrix`, A and B need no registers, and
# you need not know which thread holds which of their elements.
#
# How much does that save? A K tile of 128×256×64 takes eight such instructions, four for each warpgroup. With
# `mma.sync` it would take:

# %%
bM, bN, bK = TILE
print(f"{bM // 16 * bN // 8 * bK // 16:,} mma.sync of 16×8×16, and an ldmatrix.x4 for each 16×16 that they read")

# %% [markdown]
# So eight instructions replace 1,024, and no `ldmatrix` is left. Only the accumulators are in registers: a warpgroup's
# 64×256 take 128 registers of each of its threads. (The appendix shows which thread holds which; `stmatrix` will know
# it for you.) The TiledMma stacks the two warpgroups along M, so that a tile has 128 rows:

# %%
show_source(make_wgmma)

# %% [markdown]
# **Exercise 13.5** (about 5 lines; 13.4 is in the appendix). Write `wgmma_fragments(tiled_mma, thread, sA, sB)`, which
# returns tCrA, tCrB and tCrC. `thread` is the first one of the warpgroup: all 128 threads use the same descriptors. As
# in notebook 09, this thread's slice of the TiledMma partitions sA and sB, and `make_fragment_A` and `_B` turn the
# partitions into the MMA's operands. Here these are descriptors instead of registers, with the shape (1, 1, K blocks,
# stages). tCrC is in registers: `cute.make_rmem_tensor(shape, Float32)` with the shape `tiled_mma.partition_shape_C((M,
# N))`. M and N are the tile's, `cute.size(sA, mode=[0])` and the same of sB; the check also tries another tile.


# %%
def wgmma_fragments(tiled_mma, thread, sA, sB):
    ### BEGIN SOLUTION (about 5 lines)
    math = tiled_mma.get_slice(thread)
    tCrA = tiled_mma.make_fragment_A(math.partition_A(sA))
    tCrB = tiled_mma.make_fragment_B(math.partition_B(sB))
    tile = (cute.size(sA, mode=[0]), cute.size(sB, mode=[0]))
    return tCrA, tCrB, cute.make_rmem_tensor(tiled_mma.partition_shape_C(tile), Float32)
    ### END SOLUTION


# %%
check("13.5", wgmma_fragments)

# %% [markdown]
# ### One K tile is one group
#
# A wgmma is asynchronous: the instruction returns at once, and the tensor cores read shared memory and write registers
# later. Three instructions, executed by all four warps, keep you out of the tensor cores' way.
#
# - `warpgroup.fence()`, before the first wgmma of a K tile, orders it after the threads' own accesses to the
#   accumulators.
# - `warpgroup.commit_group()`, after the wgmmas of a K tile, makes them one group.
# - `warpgroup.wait_group(n)` waits until at most the n newest groups are in flight. Before that no thread may touch the
#   accumulators, **and none may overwrite the stage**: it is an operand until its group is done.
#
# Between fence and commit come the wgmmas. `cute.gemm(tiled_mma, D, A, B, C)` issues D = A · Bᵀ + C; here D and C are
# both tCrC, and A and B are one K block, 16 columns, of the stage. A field of the TiledMma says whether C is added or
# ignored: `tiled_mma.set(warpgroup.Field.ACCUMULATE, value)` holds for every `cute.gemm` that follows, until the next
# `set`. The value may be known at run time only, since a wgmma takes it as a predicate. The first wgmma of a tile of C
# must ignore C, because nothing has set these registers yet. That is cheaper than setting 128 registers to zero.
#
# **Exercise 13.10** (about 6 lines; the numbers do not follow the page from here on). Write `multiply(tiled_mma,
# tCrA, tCrB, tCrC, adds)`, which issues the wgmmas of one stage as one group: fence, one `cute.gemm` for each K block,
# commit. tCrA and tCrB are that stage's descriptors, (1, 1, K blocks), so K block k of A is `tCrA[None, None, k]`.
# `adds` says whether the first wgmma adds to tCrC; all further ones do. `multiply` does not wait: the warps that touch
# the accumulators or the stage next have to.
#
# `cutlass.range_constexpr(n)` unrolls the loop while the kernel is compiled. Take n from tCrA and not from this page:
# the check also simulates K tiles of 32 columns.


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
check("13.10", multiply)

# %% [markdown]
# (Given all K blocks at once, `cute.gemm(tiled_mma, tCrC, tCrA, tCrB, tCrC)` runs the same loop by itself.)
#
# ## mbarriers: who may touch a stage
#
# Each stage is filled and read again and again; one fill and its reads are a **round**. In each round, a loop has two
# questions about the stage, so each stage has two mbarriers. `full[s]`: have the bytes landed? `empty[s]`: have all
# warps read it? The warp that issues the loads is the producer, and every warp that reads a stage is a consumer.
#
# An **mbarrier** is 8 bytes of shared memory with two counts, one of arrivals and one of bytes. When both reach 0, the
# phase is complete, the next phase begins, and the arrival count is reset.
#
# | | arrivals in a phase | bytes | who waits |
# |---|---|---|---|
# | full | 1: the producer, with `mbarrier_arrive_and_expect_tx` | those announced; TMA counts them down | all warps |
# | empty | 8: one from each warp | none | the producer alone, before it loads again |
#
# The arrival count is set once, by `cute.arch.mbarrier_init(barrier, arrivals)`, which one thread calls. (A second
# thread that calls it later would reset a barrier already in use.) Then both parties must get to see it:
#
# - *TMA*, which counts the bytes. Threads and TMA access shared memory through different **proxies**, the generic and
#   the async one, and a write through one is not automatically visible through the other. The thread that initialized
#   the mbarriers makes them visible with `cute.arch.mbarrier_init_fence()`.
# - *The other threads*: `cute.arch.sync_threads()` keeps each of them from waiting on an mbarrier that is not
#   initialized yet.
#
# **Exercise 13.11** (about 6 lines). Write `init_barriers(full, empty, stages, warps, thread)`. Stage s has the
# mbarriers `full + s` and `empty + s`; `warps` is the number of warps that read a stage, and `thread` the index of the
# thread that runs the function. All threads of the block call it. The check builds the course's kernel around it, looks
# for the fence, and simulates the kernel: every count that is wrong shows there as a hang or as an arrival too many. It
# also tries other numbers of stages and of warps.


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
check("13.11", init_barriers)

# %% [markdown]
# ## One stage first
#
# The smallest loop that is right uses a single stage. Every warp runs it, and one of them (`steps.loads_too`) also
# issues the loads. `steps` has these parts. Its `multiply` calls yours for a stage and takes `first`, the opposite of
# your `adds`:

# %%
show_source(BoxCopy, Steps)

# %% [markdown]
# Who does what:
#
# - The whole warp calls `cute.arch.mbarrier_wait(barrier, parity)`.
# - One lane calls `cute.arch.mbarrier_arrive(barrier)` or `mbarrier_arrive_and_expect_tx(barrier, bytes)`, so put them
#   under `with cute.arch.elect_one():`. Every arrival counts, and 32 would be 31 too many.
# - `steps.load` elects its lane by itself and goes outside `elect_one`.
#
# The stage's mbarrier serves K tile after K tile, one phase for each, so a wait must say which phase it means.
# `mbarrier_wait(barrier, parity)` returns when the phase of this parity is complete and the next one has begun: phase 0
# for K tile 0, phase 1 for K tile 1, phase 2, parity 0, for K tile 2. One bit suffices as long as no warp is two phases
# ahead.
#
# And nothing may be loaded into the stage before all eight warps have read it. A warp knows of its own wgmmas only;
# here a barrier of the block tells warp 0 about the others.
#
# **Exercise 13.12** (about 3 and about 7 lines). Write `fill_stage(steps, k_tile, stage)`: announce `steps.stage_bytes`
# on the stage's `full`, and load. Then `one_stage(steps)`, a loop that uses stage 0 alone. In each step, the warp that
# also loads fills the stage, all wait for `steps.full`, multiply (`first` is true for K tile 0), wait for their wgmmas,
# and meet at a barrier.
#
# Loops over K tiles are `cutlass.range(steps.k_tiles, unroll=1)`: they stay loops in the compiled kernel. The check
# compiles yours and runs it, on your GPU and on a simulator of its instructions, which also finds what is right by luck
# alone.


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
check("13.12", one_stage)

# %% [markdown]
# The loop is right, and slow in two ways. Memory and the tensor cores take turns, each idle while the other works. And
# in each step the barrier stops all eight warps, though only the one that loads must know that the stage is free.
#
# ## The ring
#
# With several stages, loads run ahead of the multiplications; and with an `empty` mbarrier for each stage, a warp that
# has read it arrives and goes on, while the producer alone waits. Now a stage comes round once in `stages` steps, and
# so does its phase.
#
# - The consumer waits for `full`: in round 0 for phase 0, in round 1 for phase 1, in round 2 for phase 2, parity 0.
# - The producer waits for `empty`: in round 1 for phase 0, which completes when the stage has been read once. In round
#   0 there is nothing to wait for: the phase *before* phase 0 has parity 1 and counts as complete.
#
# **Exercise 13.6** (about 2 lines). Write `ring(step, stages, producer)`, which returns (index, phase): the stage of
# this step, and the parity to wait for, 0 or 1, for any number of stages. `producer` is True or False.


# %%
def ring(step, stages, producer):
    ### BEGIN SOLUTION (about 2 lines)
    turn, index = divmod(step, stages)
    return index, (turn + producer) % 2
    ### END SOLUTION


# %%
check("13.6", ring)

# %% [markdown]
# CuTe has an object that counts this step by step, a `PipelineState`: `make_pipeline_state(PipelineUserType.Consumer,
# stages)` has `.index`, `.phase` and `.count`, `.advance()` and `.clone()`. One for `PipelineUserType.Producer` begins
# with phase 1. (CuTe's class `PipelineTmaAsync` wraps the mbarriers and takes such states: `producer_acquire` waits for
# `empty` and announces the bytes, `consumer_wait` waits for `full`, and `consumer_release` arrives at `empty`.)
#
# Play it. One warp loads (*loads*) and one multiplies (*math*: *done* waits for its wgmmas, *free* arrives at `empty`;
# *next* goes on to the next stage), so `empty` expects one arrival here and not eight. Click a warp's row to issue its
# next instruction; TMA's transfers land when *you* click them, in any order. First play two correct rounds. Then break
# it with the menu, and each time predict first: does it deadlock, or does it go on with wrong data? Which of the two
# would you rather debug?

# %%
explore_mbarriers(stages=2)

# %% [markdown]
# ## The main loop
#
# Again every warp runs the same loop, and warp 0 also loads. Only the order is new. Right after you issue the group of
# K tile k, that of k − 1 may still run; `wait_group(1)` waits for it and leaves k's in flight. *Then* the stage of k −
# 1 has been read: each warp arrives at its `empty`, with `mbarrier_arrive` by one lane, and the producer warp waits
# for all eight arrivals and issues the load of K tile k − 1 + stages, if there is one. So the tensor cores always have
# a group to work on while the warps update the mbarriers. Only the warp that loads waits for `empty`: the others
# overwrite nothing.
#
# That last wait needs no second state. By your `ring`, the producer of step k − 1 + stages waits for the same stage and
# parity as the consumer of step k − 1, and a `clone()` made before `advance()` still has both.
#
# **Exercise 13.7** (about 20 lines). Write `main_loop(steps)`:
#
# - the warp that also loads fills all stages, or as many as K has tiles if these are fewer (`cutlass.min`), without
#   waiting;
# - K tile 0: wait for full, `steps.multiply(stage, True)`;
# - each further K tile: the same with `multiply(stage, False)`, then `wait_group(1)`, the arrival and the next load;
# - `wait_group(0)`: the accumulators are complete.
#
# The check simulates your loop with 3 and 4 stages. No barrier of the block is needed.


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
check("13.7", main_loop)

# %% [markdown]
# Remove any line and check again. A missing arrival hangs one round later. A missing wait for empty hangs nothing: the
# kernel is right as long as every warp is fast enough.
#
# ### How many stages?
#
# From one load of a stage to the next, four things follow one another: memory's latency, the transfer, the
# multiplication, and the wait for all readers. As in notebook 10, the other stages must cover that time. Each of them
# covers the time of one multiplication, which the first line below computes from the datasheet's rate; the second line
# says how many stages fit. The timelines below assume 4, 2 and 3 ticks for latency, transfer and multiplication:

# %%
h200 = hardware_of("NVIDIA H200")
flops = 2 * bM * bN * bK
print(f"a K tile at the datasheet's rate: {flops / (h200.flops['bf16'] / h200.sms) * 1e9:.0f} ns")
print(f"a stage: {2 * (bM + bN) * bK // 1024} KiB, and a block can have 227")
show_timeline(*(Timeline(stages, latency=4, transfer=2, compute=3, tiles=8) for stages in (1, 2, 3, 4)))

# %% [markdown]
# With these ticks three stages are enough, and a fourth brings nothing. But memory is not that regular: its latency
# depends on the loads of all other blocks at the moment, and if a tile is late, the tensor cores are idle unless
# another one is already there. So use as many stages as fit: four of 48 KiB.
#
# **Predict** what one stage and two stages cost against four, at a size with few K tiles and at one with many. On a
# Hopper GPU the next cell measures it, with your two loops in the course's kernel:

# %%
from dataclasses import replace

mine = course.Parts(multiply=multiply, barriers=init_barriers, main_loop=main_loop)
four = course.make_first_gemm(mine, stages=4)
for name, loop in (("1 stage", one_stage), ("2 stages", main_loop)):
    fewer = course.make_first_gemm(replace(mine, main_loop=loop), stages=2)
    compare_on_gpu({name: fewer, "4 stages": four}, sizes=(2048, 8192), needs=WGMMA)

# %% [markdown]
# (One stage has less than half of four stages' speed, and two have about two thirds, at 2048 as at 8192: the wait
# recurs in every step, so the number of steps does not matter. The timelines, whose ticks are assumed, gave 33 and
# 67%. `one_stage` runs in a kernel with two stages and leaves the second one unused: the epilogue writes its
# tile of C over the stages, and one stage is too small for it.)
#
# ## The epilogue: stmatrix, and TMA again
#
# In notebook 09 the epilogue went straight from registers to C, because the detour through shared memory cost the
# threads a second pass. Now TMA makes the second pass, edges included.
#
# `stmatrix` is `ldmatrix` backwards: it writes 8×8 blocks from the MMA's registers as rows in shared memory. The tile
# of C overwrites the stages, which are no longer needed. It is cut into boxes of 16 rows × 64 columns, so that each
# warp has boxes of its own and issues their stores itself.

# %%
show_source(Accumulators, make_accumulators)

# %% [markdown]
# Between `stmatrix` and the TMA store the two proxies meet again: threads write, TMA reads. The thread that wrote makes
# its writes visible with `cute.arch.fence_proxy("async.shared", space="cta")`. ("async.global" does the same for global
# memory.)
#
# **Exercise 13.8** (about 8 lines). Write `store_by_tma(acc)`:
#
# 1. round: fill `acc.tRrC` with `acc.tCrC`, loaded and converted `.to(BFloat16)`;
# 2. wait for the other warpgroup, whose wgmmas may still read the memory that you are about to overwrite:
#    `cute.arch.sync_threads()`;
# 3. copy with `acc.stmatrix` from tRrC to tRsC, and make the result visible to TMA: each thread fences its own writes,
#    and then the warp synchronizes with `cute.arch.sync_warp()`;
# 4. `cute.copy(acc.tma, acc.tSsC, acc.tSgC)`, commit the bulk group, and wait until TMA has *read* shared memory. The
#    block must not end before that. (`cp_async_bulk_commit_group()` and `cp_async_bulk_wait_group(0, read=True)`, both
#    in `cute.arch`.)
#
# The check looks for these four steps in the compiled kernel, between the accumulators and C. Without a Hopper GPU it
# then runs the whole kernel on a simulator in which TMA and WGMMA complete as late as they may. One barrier of the
# block is enough.


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
check("13.8", store_by_tma)

# %% [markdown]
# ## Your kernel
#
# You have all the parts; what remains is to call them in the right order, and to launch. Two more short functions are
# the course's: `described` leaves the number of rows to run time, and `out_layout` is C's tile in shared memory.

# %%
show_source(described, out_layout)

# %% [markdown]
# In the kernel, `make_warp_uniform` tells the compiler something it cannot see: all lanes of a warp have the same
# `warp` and the same `group`. Everything derived from these, such as the descriptors and coordinates of loads, can then
# be in uniform registers, one for the whole warp, where wgmma and TMA read it. Without it the kernel is right, but
# extra instructions (R2UR) move the descriptors there before each wgmma.
#
# **Exercise 13.9** (about 9 and about 7 lines). First the middle of the kernel.
#
# - Initialize `full` and `empty`, STAGES mbarriers each. All THREADS // 32 warps read a stage.
# - Make `BoxCopy(tma, tXsX, tXgX)` for A and for B, from your `boxes`; tCrA, tCrB and tCrC from your `wgmma_fragments`,
#   for the warpgroup's first thread, `group * 128`.
# - Run your main loop on `Steps(k_tiles, full, empty, loads_too, a, b, tiled_mma, tCrA, tCrB, tCrC, multiply)`, where
#   warp 0 loads too. `k_tiles` is `cute.size(gA, mode=[2])`, which includes a partial last one. (One more would load
#   nothing but zeros: the result would still be right, and the kernel slower.)
# - Run your epilogue on `make_accumulators(tCrC, tiled_mma, thread, tma_c, sC, gC)`.
#
# Then the host function. `cpasync.make_tiled_tma_atom(op, matrix, layout, box)` returns (atom, coordinates):
#
# - for A: `load`, `described(a)`, the layout of *one* stage, which is `cute.select(layout_a, [0, 1])`, and (bM, bK);
#   likewise for B;
# - for C: `store`, `described(c)`, `out_layout(*BOX)`, `BOX`.
#
# `make_wgmma()` is the TiledMma, and `tiles` is the pair (tiles down, tiles across) of C. Launch one block for each
# tile, with THREADS threads, in a grid of one dimension: the kernel computes the tile from `block`. Pass no `smem=`:
# the launch asks `SmemAllocator` for it.
#
# The check runs it at sizes that no tile divides, and on a Hopper GPU times it at 4096³ beside cuBLAS.


# %%
from cutlass.memory import SmemAllocator


# %%
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
    m, n = grouped(block, *tiles)  # notebook 11: groups of 8 rows of tiles
    gA = cute.local_tile(mA, (bM, bK), (m, None))  # (bM, bK, K tiles)
    gB = cute.local_tile(mB, (bN, bK), (n, None))  # (bN, bK, K tiles)
    gC = cute.local_tile(mC, (bM, bN), (m, n))  # (bM, bN)

    memory = SmemAllocator()
    sA = memory.allocate_tensor(BFloat16, layout_a.outer, ALIGNMENT, layout_a.inner)  # (bM, bK, stages)
    sB = memory.allocate_tensor(BFloat16, layout_b.outer, ALIGNMENT, layout_b.inner)  # (bN, bK, stages)
    sC = cute.make_tensor(cute.recast_ptr(sA.iterator, layout_c.inner, BFloat16), layout_c.outer)  # over the stages
    full, empty = (memory.allocate_array(Int64, STAGES) for _ in range(2))
    ### BEGIN SOLUTION (about 9 lines)
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
    load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
    layout_a, layout_b, layout_c = ring_layout(bM, bK, STAGES), ring_layout(bN, bK, STAGES), out_layout(bM, bN)
    ### BEGIN SOLUTION (about 7 lines)
    tma_a, mA = cpasync.make_tiled_tma_atom(load, described(a), cute.select(layout_a, [0, 1]), (bM, bK))
    tma_b, mB = cpasync.make_tiled_tma_atom(load, described(b), cute.select(layout_b, [0, 1]), (bN, bK))
    tma_c, mC = cpasync.make_tiled_tma_atom(store, described(c), out_layout(*BOX), BOX)
    tiles = cute.ceil_div(c.shape[0], bM), cute.ceil_div(c.shape[1], bN)
    kernel = hopper_kernel(tma_a, mA, tma_b, mB, tma_c, mC, make_wgmma(), layout_a, layout_b, layout_c, tiles)
    kernel.launch(grid=(tiles[0] * tiles[1], 1, 1), block=(THREADS, 1, 1))
    ### END SOLUTION


# %%
check("13.9", gemm)

# %% [markdown]
# Now watch it run: `explain` simulates one block with eight K tiles. T is the TMA load of a stage, M a group of wgmmas,
# p a wait for an mbarrier's phase, w a wait for wgmma groups. At the end, W is `stmatrix` and S the TMA store. The row
# *buffer 0* is C's tile; what TMA and wgmma do to the stages is not drawn. Before you run the cell: how many T come
# before the first M, and how many M come after the last T?

# %%
explain("13.9", gemm, shape=(128, 256, 512))

# %% [markdown]
# Four loads fill the ring (each `a` in front of a T arrives at `full` and announces its bytes). Then the steady state
# repeats: all warps wait for `full`, issue wgmmas, wait for the group *before*, and arrive at `empty`; warp 0 waits for
# that stage to be empty and loads it again. After the last load the ring drains, with three M. While warp 0 loads, the
# others have already issued their wgmmas: the gaps in their row are gaps in *issuing*, and the tensor cores are busy
# meanwhile. (The lower picture is one `stmatrix`: thanks to the swizzle its 32 rows of 16 bytes fill all banks in each
# of four wavefronts.)
#
# ## What the compiler made of it
#
# Find the numbers 1 and 4 to 8 of this page's first picture (the hardware does 2 and 3 itself), and the instructions
# between two groups of wgmmas. `wait` is an mbarrier's.

# %%
compiled = compile_cute(gemm, [TensorSpec((4096, 4096), "bf16")] * 3, "sm_90a")
print(compiled)
print(story(compiled.ptx, HOPPER_OPCODES))

# %% [markdown]
# Between one K tile's last wgmma and the next one's first there are only a few instructions. The tensor cores do not
# wait for them, because a group is still in flight. In notebook 12's listing, a barrier of the block and eight
# `ldmatrix` come between two groups of `mma.sync`.
#
# ## Measured
#
# The table has a row for each timed exercise of notebooks 09, 12 and 13: 13.7 is your main loop in the course's kernel,
# 13.9 the kernel that is all yours. *gain* compares with the row above. The picture has every size that was swept. Its
# kernels have names of their own: *09 one buffer* is a kernel like 09.9's, *12 three stages* and *12 tuned* are like
# 12.1's and 12.3's, *12 loads spread* issues its loads later in each step, and *13 plain* is like yours. (On a Hopper
# GPU, `tutor sweep gemm_rungs --resume` and `tutor plots gemm_ladder_13` measure and draw it again.)

# %%
show_ladder("09", "12", "13")

# %%
show_figure("gemm_ladder_13")

# %% [markdown]
# On the course's GPUs the new instructions make the kernel about 1.6 times as fast as 12.4's: 0.97 to 0.98 of cuBLAS's
# speed at 4096³. (The row above 13.7 is 12.6, whose A is column-major, so the *gain* of 13.7 is larger.)
#
# The WGMMA curve dips at 3072. Count tiles of 128×256 as in notebook 11, with one block on each of 132 SMs: 288 tiles
# are 2.2 waves, so the third one has work for 24 SMs. At 1024 there are 32 tiles, which occupy a quarter of the SMs.
#
# Each block begins with an empty ring and ends with an epilogue, and in both the tensor cores are idle; no other block
# can fill the gap, since one block takes all of the SM's shared memory.
#
# So the instructions are no longer the limit; the schedule is. A warp that does nothing but load could run ahead into
# the next tile, and a block that stays could start that tile before it has stored this one. That is notebook 14.
#
# ## What to remember
#
# - Asynchronous hardware raises two questions about every buffer: *is the data there*, and *has it been read*? An
#   mbarrier answers one of them for one round; the phase says which round.
# - TMA and WGMMA must agree on one layout: boxes of swizzled rows. Most of a Hopper kernel's setup makes them agree.
# - A thread's own writes need a proxy fence before TMA may read them; TMA's writes need their mbarrier.
#
# ## Test yourself
#
# <details><summary>1. A ring has four stages. Which phase of which <code>full</code> barrier does the loop wait for at
# K tile 9?</summary>
#
# Tile 9 is in stage 1, so <code>full[1]</code>, and it is the third tile there, after 1 and 5: it is in round 2, and
# the parity to wait for is 2 mod 2 = 0.
#
# </details>
#
# <details><summary>2. Why is no fence needed between TMA's write and WGMMA's read?</summary>
#
# Both use the async proxy, and the mbarrier that the reader has waited for orders them. A proxy fence is for a thread's
# own writes, as in the epilogue: there the generic proxy writes and TMA reads.
#
# </details>
#
# <details><summary>3. A kernel announces half of the bytes that TMA brings. What can happen?</summary>
#
# The phase may complete when half of them are there, and WGMMA reads a tile that is partly the old one. The remaining
# bytes then count against the next round.
#
# </details>

# %% [markdown]
# ## Appendix: Which thread holds which accumulator
#
# The kernel never asks, because `stmatrix` and the TiledMma agree on it. An epilogue that works by row or by column has
# to: a bias, a scale, the row maximum of an attention. The picture shows the first 64 columns of a
# warpgroup's 64×256 accumulators: each warp has 16 rows, and each 8×8 block is spread over its lanes as in every `mma`.

# %%
show_wgmma()

# %% [markdown]
# **Exercise 13.4** (about 4 lines). Write `holder(m, n)`: the thread of the warpgroup (0 … 127) and its register (0 …
# 127) that hold the accumulator at row m, column n of 64×256. Read it off the picture: split m into the warp, the upper
# or lower 8 of its 16 rows, and the row among these 8; split n into 8×8 block and column.


# %%
def holder(m, n):
    ### BEGIN SOLUTION (about 4 lines)
    warp, rest = divmod(m, 16)
    half, row = divmod(rest, 8)
    piece, column = divmod(n, 8)
    return 32 * warp + 4 * row + column // 2, 4 * piece + 2 * half + column % 2
    ### END SOLUTION


# %%
check("13.4", holder)

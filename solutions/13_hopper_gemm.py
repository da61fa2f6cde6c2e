# ---
# jupyter:
#   tutorlib:
#     minutes: 150
#     summary: TMA, mbarriers, WGMMA. At its end stands a Hopper GEMM of your own.
# ---

# %% [markdown]
# # 13 · A Hopper GEMM
#
# Notebook 12's kernel is as good as its instructions. On a Hopper GPU they are the wrong ones: `mma.sync` takes its
# operands from registers, so threads have to carry them there, and it cannot reach the datasheet's rate.
#
# Hopper's tensor cores read shared memory themselves, and its memory unit copies whole tiles there by itself. The
# threads only decide *when*. You write a kernel that does nothing else, and at the end of this page it fits in one
# cell: the layouts, the loop, the epilogue and the launch are yours; the step that issues the wgmmas and the
# initialization of the barriers are the course's. It is timed against cuBLAS.
#
# The problem is that of notebook 09: C = A · Bᵀ, `gemm(a, b, c)`, bf16, accumulated in fp32.
#
# > **After this page you can** lay out shared memory for TMA and WGMMA, say what an mbarrier counts and which phase a
# > warp waits for, keep a ring of stages full without overwriting one, and write a Hopper GEMM from its layouts to its
# > launch.
# >
# > **It takes** about 150 minutes, on any machine, where the kernel is simulated; a Hopper GPU times it.

# %%

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Float32
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.cute.nvgpu.warpgroup import SmemLayoutAtomKind
from cutlass.memory import SmemAllocator
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tutorlib import check, explain
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.ptx import HOPPER_OPCODES, story
from tutorlib.compiling.spec import TensorSpec
from tutorlib.draw import show_sm, show_timeline, show_wgmma
from tutorlib.explorers.mbarriers import explore_mbarriers
from tutorlib.kernels.hopper import first as course
from tutorlib.kernels.hopper.first import described, make_accumulators, make_barriers, make_wgmma, out_layout
from tutorlib.kernels.hopper.first_share import ALIGNMENT, BOX, STAGES, THREADS, TILE, Accumulators, BoxCopy, Steps
from tutorlib.machine.features import WGMMA
from tutorlib.machine.hardware import hardware_of
from tutorlib.models.l2 import grouped
from tutorlib.models.pipeline import Timeline
from tutorlib.notebook.measured import show_figure, show_ladder
from tutorlib.notebook.source import show_source
from tutorlib.notebook.trials import compare_on_gpu

# %% [markdown]
# ## Who does what
#
# One block computes a tile of 128×256, with two **warpgroups**: four warps each that act as one. Follow a K tile by its
# numbers:

# %%
show_sm()

# %% [markdown]
# Compare with notebook 12. There, 1 to 3 took every thread's time: addresses, predicates, 16 bytes at a time. 5 was
# `ldmatrix` and registers. Now one thread gives two orders for 48 KiB, and each warpgroup gives four for its share
# of the arithmetic; all are asynchronous. So the whole art is in the yellow boxes: who may touch a stage, and since
# when. Before that, the layouts.
#
# ## TMA: a descriptor and a coordinate
#
# A TMA **descriptor** is 128 bytes, made on the host, the same for all blocks. It holds
#
# | | for A (M, K), bf16 | |
# |---|---|---|
# | address | a multiple of 16 bytes | |
# | sizes | K, M | the contiguous mode first |
# | strides | 2·K bytes, of the rows | multiples of 16 bytes; of the contiguous mode there is none to give |
# | box | 64, 128 | elements; at most 256 each |
# | swizzle | 128 bytes | the box's rows are at most this long |
# | fill | zeros | what a box has outside of the matrix |
#
# An order then is: this descriptor, a coordinate, an address in shared memory, an mbarrier. The hardware does
# everything else, edges included. That is why the host function calls `make_tiled_tma_atom` and gets two things back:
# the atom, with the descriptor in it, and a tensor that has no data at all. Its elements are *coordinates*, and
# `local_tile` of it gives what TMA wants to be told.
#
# ### Where it puts the rows
#
# TMA writes a swizzled layout, and WGMMA reads it, so both must be told the same one; there are few to choose from. For
# bf16 with K contiguous it is notebook 09's: 8 rows of 128 bytes, Swizzle⟨3,3,3⟩ in elements. Here it belongs to the
# *pointer* and counts bytes: Swizzle⟨3,4,3⟩, since 16 bytes are 4 bits and 8 elements are 3. CuTe calls it `K_SW128`.
#
# The pipeline's buffers are called **stages**; the ring of them is one layout with the stages as its last mode.
#
# **Exercise 13.1** (about 2 lines). Write `ring_layout(rows, k, stages)`: the atom of `k` bf16 in a row, where k is 64,
# 32 or 16, so 128, 64 or 32 bytes; repeated down the rows, then over the stages, with notebook 09's
# `cute.tile_to_shape(atom, shape, order)`. `warpgroup.make_smem_layout_atom(kind, BFloat16)` makes the atom, and
# `SmemLayoutAtomKind` has `K_SW128`, `K_SW64` and `K_SW32`. (You know how to make one without it, too.) The checker
# looks at where each 16 bytes go, and compares with what the driver's manual says of TMA.


# %%
def ring_layout(rows, k, stages):
    ### BEGIN SOLUTION (about 2 lines)
    atom = warpgroup.make_smem_layout_atom(SmemLayoutAtomKind[f"K_SW{2 * k}"], BFloat16)
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))
    ### END SOLUTION


# %%
check("13.1", ring_layout)

# %% [markdown]
# ### What it counts
#
# The thread that issues the copy tells an mbarrier how many bytes to expect. TMA subtracts what has arrived, and at 0
# they are all there. So the number must be right to the byte, at the edges too.
#
# **Predict.** A is 200×72, and the box of 128×64 at tile (1, 1) has 72 rows and 8 columns inside. How many bytes does
# the mbarrier see?
#
# **Exercise 13.2** (about 4 lines). Write `tma_bytes(shape, tile, place)` for a bf16 matrix of this shape, a box of
# `tile` and the tile's coordinates `place`, all pairs (rows, columns). Return (bytes read from the matrix, bytes
# counted on the mbarrier). A tile may be outside altogether: it is loaded all the same.


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
# So the kernel announces the same 2·(128 + 256)·64 bytes in every step, and has not a single predicate. Rows beyond M
# and N are zeros, and TMA does not store their results; columns beyond K are zeros that add nothing.
#
# ### The box as one mode
#
# `cpasync.tma_partition(tma, block, blocks, s, g)` cuts both sides into what one order moves, as in notebook 05.
# `block` of `blocks` is for clusters, whose blocks share a load; alone it is 0 of `cute.make_layout(1)`. The box must
# be one mode on both sides: `cute.group_modes(s, 0, 2)` is ((rows, K), stages).
#
# **Exercise 13.3** (about 2 lines). Write `boxes(tma, s, g)`: `s` is (rows, K, stages) in shared memory, `g` is
# (rows, K, K tiles) of the matrix. Return (box, stages) and (box, K tiles).


# %%
def boxes(tma, s, g):
    ### BEGIN SOLUTION (about 2 lines)
    alone = cute.make_layout(1)  # no other block of a cluster shares the load
    return cpasync.tma_partition(tma, 0, alone, cute.group_modes(s, 0, 2), cute.group_modes(g, 0, 2))
    ### END SOLUTION


# %%
check("13.3", boxes)

# %% [markdown]
# ## WGMMA: the operands stay where they are
#
# `wgmma.mma_async.m64n256k16` multiplies 64×16 by 16×256, and 128 threads give the order together. Its operands are
# two **descriptors** of 64 bits: where in shared memory a matrix begins, how far it is from 8 rows to the next 8, and
# how it is swizzled. No `ldmatrix`, no registers for A and B, and no thread that knows which element is whose.
#
# How much does that save? A K tile of 128×256×64 is eight such instructions, four for each warpgroup. With `mma.sync`:

# %%
bM, bN, bK = TILE
print(f"{bM // 16 * bN // 8 * bK // 16:,} mma.sync of 16×8×16, and an ldmatrix.x4 for each 16×16 that they read")

# %% [markdown]
# Only the accumulators are in registers, and those you must find, to round and to store them. A warpgroup's 64×256 are
# 128 of each thread. The picture shows the first 64 columns: each warp has 16 rows, and a piece of 8×8 is spread over
# its lanes as in every `mma`.

# %%
show_wgmma()

# %% [markdown]
# **Exercise 13.4** (about 4 lines). Write `holder(m, n)`: the thread of the warpgroup (0 … 127) and its register
# (0 … 127) that hold the sum at row m, column n of 64×256. Read it off the picture: take m apart into warp, half and
# row, and n into pieces and what is left.


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

# %% [markdown]
# The TiledMma puts one warpgroup above the other, so that a tile has 128 rows:

# %%
show_source(make_wgmma)

# %% [markdown]
# **Exercise 13.5** (about 5 lines). Write `wgmma_fragments(tiled_mma, thread, sA, sB)`, which returns tCrA, tCrB and
# tCrC. `thread` is the first one of the warpgroup. As in notebook 09: the slice of this thread partitions sA and sB,
# and `make_fragment_A` and `_B` make of these what the MMA takes. Here it is no registers but descriptors, of the
# shape (1, 1, K blocks, stages). tCrC are registers, `cute.make_rmem_tensor(shape, Float32)`, and
# `tiled_mma.partition_shape_C((M, N))` is their shape, where M and N are the tile's, `cute.size(sA, mode=[0])` and B's.


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
# ### Fence, commit, wait
#
# A wgmma is asynchronous: the instruction returns at once, and the tensor cores read shared memory and write registers
# when they come to it. Three orders of all four warps keep you out of their way.
#
# - `warpgroup.fence()` before the first one: what threads did with the registers is done.
# - `warpgroup.commit_group()` behind those of a K tile: they are one group now.
# - `warpgroup.wait_group(n)`: no more than the n newest groups are in flight. Before that no thread may touch the
#   accumulators, **and none may overwrite the stage**: it is an operand until its group is done.
#
# ## mbarriers: who may touch a stage, and since when
#
# A loop of several stages needs two answers for each of them, so each has two barriers. `full[s]`: the copy has
# arrived. `empty[s]`: all have read it. An **mbarrier** is 8 bytes of shared memory that count down, arrivals and
# bytes; when both are at 0 a phase is over, the next one begins, and the counts are back where they were.
#
# | | arrivals in a phase | bytes | who waits |
# |---|---|---|---|
# | full | 1: the producer, with `mbarrier_arrive_and_expect_tx` | those that it expects; TMA counts them | all warps |
# | empty | 8: one of each warp | none | the producer, before it loads again |
#
# A barrier serves round after round, so a wait must say which phase it means: `mbarrier_wait(barrier, parity)` returns
# when the phase of this parity is over and the next one runs. One bit is enough as long as no warp is two rounds ahead,
# and the barriers themselves see to that.
#
# - The consumer waits for `full`: in round 0 for phase 0, in round 1 for phase 1, in round 2 for phase 2, parity 0.
# - The producer waits for `empty`: in round 1 for phase 0, when the stage has been read once. In round 0 there is
#   nothing to wait for. The phase *before* phase 0 has parity 1, and it counts as over.
#
# **Exercise 13.6** (about 2 lines). Write `ring(step, stages, producer)`, which returns (index, phase): the stage of
# this step, and the parity to wait for, 0 or 1, however many stages there are. `producer` is True or False.


# %%
def ring(step, stages, producer):
    ### BEGIN SOLUTION (about 2 lines)
    turn, index = divmod(step, stages)
    return index, (turn + producer) % 2
    ### END SOLUTION


# %%
check("13.6", ring)

# %% [markdown]
# CuTe has an object that does this a step at a time, a `PipelineState`: `make_pipeline_state(PipelineUserType.Consumer,
# stages)` has `.index`, `.phase` and `.count`, `.advance()` and `.clone()`. One for `PipelineUserType.Producer` begins
# with phase 1. (CuTe's class `PipelineTmaAsync` is two such states and the barriers; `producer_acquire` is the wait for
# empty and the announcement, `consumer_wait` the wait for full, `consumer_release` the arrival.)
#
# Play it. One warp loads (*loads*) and one multiplies (*math*), so `empty` lacks one arrival here and not eight. Click
# the producer's row, and it gives its next order; TMA's transfers arrive when *you* click them, in any order; click the
# consumer's row for its side. First do two rounds that are right. Then break it with the menu, and before each,
# predict: does it deadlock, or does it go on with wrong data? Which of the two would you rather debug?

# %%
explore_mbarriers(stages=2)

# %% [markdown]
# ## The main loop
#
# Every warp runs the same loop, and one of them (`steps.loads_too`) has the loads as a second job. What the loop is
# made of:

# %%
show_source(BoxCopy, Steps)

# %% [markdown]
# Two things have to be known. First, who does what. The barriers' calls are those of `cute.arch`; stage s has the
# barriers `steps.full + s` and `steps.empty + s`:
#
# - `mbarrier_wait(barrier, parity)`, of the whole warp;
# - `mbarrier_arrive(barrier)` and `mbarrier_arrive_and_expect_tx(barrier, bytes)` of one lane, so below
#   `with cute.arch.elect_one():`. Arrivals are counted, and 32 would be 31 too many;
# - `steps.load` picks its lane by itself and stands outside of it.
#
# Then the order. Right after the wgmmas of K tile k were committed, those of k − 1 may still run; `wait_group(1)` waits
# for them and leaves k's in flight. *Then* the stage of k − 1 has been read: arrive on its `empty`, and the producer
# warp waits for all eight and issues the load of K tile k − 1 + stages, if there is one. So the tensor cores always
# have the next group in hand while the warps do the paperwork.
#
# That last wait needs no second state. By your `ring` the producer of step k − 1 + stages waits for the stage and the
# parity that the consumer of step k − 1 had, and a `clone()` from before `advance()` still has both.
#
# **Exercise 13.7** (about 3 and about 24 lines). Write `fill_stage(steps, k_tile, stage)`: announce
# `steps.stage_bytes` on the stage's `full`, and load. Then `main_loop(steps)`:
#
# - the warp that loads too fills as many stages as there are, or as K has tiles if these are fewer (`cutlass.min`),
#   without any wait;
# - K tile 0: wait for full, fence, `steps.multiply(stage, True)`, which forgets what was in the registers; commit;
# - each further one as above, with `multiply(stage, False)`;
# - `wait_group(0)`: the accumulators are complete.
#
# Loops over K tiles are `cutlass.range(…, unroll=1)`. Yours is rehearsed with 2, 3 and 4 stages: on the CPU, without
# data, every warp for itself, each as late as it may be. Then it is compiled, and run with data, on your GPU or else on
# a simulator of its instructions.


# %%
def fill_stage(steps, k_tile, stage):
    ### BEGIN SOLUTION (about 3 lines)
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)
    steps.load(k_tile, stage)
    ### END SOLUTION


@cute.jit
def main_loop(steps: Steps):
    ### BEGIN SOLUTION (about 24 lines)
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
            fill_stage(steps, k_tile, k_tile)
    state = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
    warpgroup.fence()
    steps.multiply(state.index, True)
    warpgroup.commit_group()
    for k_tile in cutlass.range(1, steps.k_tiles, unroll=1):
        before = state.clone()
        state.advance()
        cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
        warpgroup.fence()
        steps.multiply(state.index, False)
        warpgroup.commit_group()
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
# Take a line out, any line, and check again. A missing `expect_tx` hangs, a missing arrival hangs one round later. A
# missing wait for empty hangs nothing: the kernel is right as long as every warp is fast enough.
#
# ### How many stages?
#
# A stage's round is: wait for all readers, memory's latency, transfer, multiplication. The multiplication's time is
# easy to work out, and notebook 10's formula has the rest. The timelines below invent theirs, 4, 2 and 3 ticks:

# %%
h200 = hardware_of("NVIDIA H200")
flops = 2 * bM * bN * bK
print(f"a K tile at the datasheet's rate: {flops / (h200.flops['bf16'] / h200.sms) * 1e9:.0f} ns")
print(f"a stage: {2 * (bM + bN) * bK // 1024} KiB, and a block can have 227")
show_timeline(*(Timeline(stages, latency=4, transfer=2, compute=3, tiles=8) for stages in (2, 3, 4)))

# %% [markdown]
# With these ticks three stages are enough, and a fourth brings nothing. But memory is not so punctual: its latency
# changes with what all other blocks load just then, and a tile that comes late finds the tensor cores idle unless
# another one is already there. So one takes as many stages as fit.
#
# **Predict** what two stages cost against four, at a size with few K tiles and at one with many. On a Hopper GPU the
# next cell measures it, with the course's loop:

# %%
compare_on_gpu(
    {"2 stages": course.make_first_gemm(stages=2), "4 stages": course.make_first_gemm(stages=4)},
    sizes=(2048, 8192),
    needs=WGMMA,
)

# %% [markdown]
# (On the course's H200 two stages reach a little less than two thirds of four's speed, and at both sizes alike: what a
# K tile has to wait for it waits for every time, however many there are.)
#
# ## The epilogue: stmatrix, and TMA again
#
# In notebook 09 the results went straight from registers to C, because the detour through shared memory cost threads a
# second pass. Now the second pass is TMA's, and it brings the edges along.
#
# `stmatrix` is `ldmatrix` backwards: 8×8 pieces as the MMA has them become rows in shared memory. It overwrites the
# stages, which are no longer needed, in boxes of 16 rows × 64 columns, so that each warp has boxes of its own and
# issues their stores itself.

# %%
show_source(Accumulators, make_accumulators)

# %% [markdown]
# Between the two stands what is new here: threads and TMA reach shared memory by different ways, the generic and the
# async **proxy**, and what was written on the one need not be seen on the other.
# `cute.arch.fence_proxy("async.shared", space="cta")` of the thread that wrote makes it so; "async.global" would be for
# what lies in global memory.
#
# **Exercise 13.8** (about 8 lines). Write `store_by_tma(acc)`:
#
# 1. round: fill `acc.tRrC` with `acc.tCrC`, loaded and converted `.to(BFloat16)`;
# 2. wait for the other warpgroup, which may still multiply from where you will write: `cute.arch.sync_threads()`;
# 3. copy with `acc.stmatrix` from tRrC to tRsC, and let TMA see it; each thread fences what it wrote, and then the
#    warp meets: `cute.arch.sync_warp()`;
# 4. `cute.copy(acc.tma, acc.tSsC, acc.tSgC)`, commit the bulk group, and wait until it has been *read*. Before that
#    the block must not end. (`cp_async_bulk_commit_group()` and `cp_async_bulk_wait_group(0, read=True)`, both of
#    `cute.arch`)
#
# The checker reads the compiled kernel, and looks for these four between the accumulators and C. Without a Hopper GPU
# it then runs the whole kernel on a simulator, where TMA and WGMMA are as late as they may be.


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
# All its parts are there. What is missing is the order in which they meet, and the launch. Some plumbing, to be read
# once: one thread initializes the barriers, and no thread may wait on one that is not initialized yet; `described`
# leaves the number of rows to run time.

# %%
show_source(make_barriers, described, out_layout)

# %% [markdown]
# In the kernel, `make_warp_uniform` tells the compiler what it cannot see: all lanes of a warp have the same `warp` and
# the same `group`. All that follows from them, descriptors and coordinates of loads, then lives in registers that the
# warp has once, where wgmma and TMA look for it. Without it the kernel is right, and each wgmma is preceded by
# instructions (R2UR) that carry its descriptors over.
#
# **Exercise 13.9** (about 8 and about 7 lines). First the kernel's middle: `Steps(k_tiles, full, empty, loads_too, a,
# b, tiled_mma, tCrA, tCrB, tCrC)`, where a and b are `BoxCopy(tma, tXsX, tXgX)` of your `boxes`, and the last three
# come from your `wgmma_fragments`; the loop; the epilogue, whose accumulators `make_accumulators(tCrC, tiled_mma,
# thread, tma_c, sC, gC)` makes. `k_tiles` is `cute.size(gA, mode=[2])`: one too many loads nothing but zeros, and the
# result would be right all the same. Warp 0 loads too. A warpgroup's first thread is `group * 128`.
#
# Then the host function. `cpasync.make_tiled_tma_atom(op, matrix, layout, box)` returns (atom, coordinates): for A
# `load`, `described(a)`, the layout of *one* stage, which is `cute.select(layout_a, [0, 1])`, and (bM, bK); B likewise;
# for C `store`, `described(c)`, `out_layout(*BOX)`, `BOX`. `make_wgmma()` is the TiledMma, and `tiles` is the pair
# (tiles down, tiles across) of C. One block for each of them, THREADS threads.
#
# It is checked at sizes that nothing divides, and timed at 4096³ beside cuBLAS.


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
            cpasync.prefetch_descriptor(tma)  # on their way while the barriers are made
    m, n = grouped(block, *tiles)  # notebook 11: groups of 8 rows of tiles
    gA = cute.local_tile(mA, (bM, bK), (m, None))  # (bM, bK, K tiles)
    gB = cute.local_tile(mB, (bN, bK), (n, None))  # (bN, bK, K tiles)
    gC = cute.local_tile(mC, (bM, bN), (m, n))  # (bM, bN)

    memory = SmemAllocator()
    sA = memory.allocate_tensor(BFloat16, layout_a.outer, ALIGNMENT, layout_a.inner)  # (bM, bK, stages)
    sB = memory.allocate_tensor(BFloat16, layout_b.outer, ALIGNMENT, layout_b.inner)  # (bN, bK, stages)
    sC = cute.make_tensor(cute.recast_ptr(sA.iterator, layout_c.inner, BFloat16), layout_c.outer)  # over the stages
    full, empty = make_barriers(memory, STAGES, THREADS // 32, thread)
    ### BEGIN SOLUTION (about 8 lines)
    a = BoxCopy(tma_a, *boxes(tma_a, sA, gA))
    b = BoxCopy(tma_b, *boxes(tma_b, sB, gB))
    tCrA, tCrB, tCrC = wgmma_fragments(tiled_mma, group * 128, sA, sB)
    k_tiles = cute.size(gA, mode=[2])
    main_loop(Steps(k_tiles, full, empty, warp == 0, a, b, tiled_mma, tCrA, tCrB, tCrC))
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
# Now watch it run: `explain` simulates one block with eight K tiles. T is a TMA load, M a group of wgmmas, p a wait for
# an mbarrier's phase, w a wait for wgmma groups. Before you run the cell: how many T come before the first M, and how
# many M come after the last T?

# %%
explain("13.9", gemm, shape=(128, 256, 512))

# %% [markdown]
# Four loads fill the ring (each `a` in front of a T arrives at `full` and announces its bytes). Then the steady state
# repeats: all warps wait for `full`, issue wgmmas, wait for the group *before*, and arrive at `empty`; warp 0 waits for
# that stage to be empty and loads it again. After the last load the ring drains. While warp 0 loads, the others have
# already issued their wgmmas: the gaps in their row are gaps in *issuing*, and the tensor cores are busy meanwhile.
#
# ## What the compiler made of it
#
# The same with the course's parts. Find the numbers 1, 4, 5 and 6 of this page's first picture (2 and 3 are the
# hardware's own), and what stands between two groups of wgmmas. `wait` is an mbarrier's.

# %%
compiled = compile_cute(course.make_first_gemm(), [TensorSpec((4096, 4096), "bf16")] * 3, "sm_90a")
print(compiled)
print(story(compiled.ptx, HOPPER_OPCODES))

# %% [markdown]
# Between one K tile's last wgmma and the next one's first stand a handful of instructions, of which the tensor cores
# notice nothing: a group is still in flight. Compare the story with notebook 12's.
#
# ## Measured
#
# The table has what the solutions reached, the picture every size that its sweep has timed. Where this notebook's rung
# is missing there, `tutor sweep gemm_rungs --resume` on a Hopper GPU and `tutor plots gemm_ladder_13` add it.

# %%
show_ladder("09", "12", "13")

# %%
show_figure("gemm_ladder_13")

# %% [markdown]
# Where the WGMMA curve dips, count tiles of 128×256 as notebook 11 did, with one block on each of 132 SMs: 288 at
# 3072 are 2.2 waves, so the third one is nearly empty. At 1024 there are 32, for a quarter of the SMs.
#
# NVIDIA presented its Python DSL with two curves over K: a Hopper GEMM of 128×256×64 tiles at M = N = 8192 and at
# M = N = 2048, as a percentage of the arithmetic peak, beside the same in C++. Here they are, in fp16 as theirs, with a
# kernel that does what yours does (the plain one among notebook 14's), cuBLAS, NVIDIA's example, and the kernel with
# which notebook 14 will end.
#
# **Predict** before you look: what happens at small K, and is it worse at 8192 or at 2048?

# %%
show_figure("hopper_k")

# %% [markdown]
# Each block begins with an empty ring and ends with an epilogue, and meanwhile the tensor cores are idle; no other
# block is on the SM, since one block takes all of its shared memory. At 2048 there are 128 tiles, one for each SM, and
# each is a kernel's whole life: launch, first load, multiplication, store. With small K that is mostly the rest and
# hardly any multiplication, so the curve begins low, and all four kernels are hardly apart: a single tile has no
# neighbor that could fill its gaps. (What notebook 14's is ahead at small K it owes to smaller tiles: where an SM has
# two of them, one has a neighbor.) At 8192 there are 2,048 tiles, sixteen for each SM. The launch is shared by all of
# them; filling and emptying is paid sixteen times in a row, and there the kernels differ.
#
# So it is a matter of *who* does things and *when*, and no longer of instructions. A warp that does nothing but load
# could be ahead of the tile, and a block that stays could start the next tile before it has stored this one. That is
# notebook 14.
#
# ## What to remember
#
# - Asynchronous hardware needs two questions answered for every buffer, *is it there* and *has it been read*. An
#   mbarrier answers one of them for one round; the phase says which.
# - TMA and WGMMA know one layout each, and it is the same one: boxes of swizzled lines. Most of a Hopper kernel is
#   making both sides agree on it.
# - What a thread wrote itself needs a proxy fence before TMA may read it; what TMA wrote needs its mbarrier.
#
# ## Test yourself
#
# <details><summary>1. A ring has four stages. Which phase of which <code>full</code> barrier does the loop wait for at
# K tile 9?</summary>
#
# Tile 9 is in stage 1, so <code>full[1]</code>, and it is the third tile there, after 1 and 5: two rounds are over, so
# the round has number 2, and the parity to wait for is 2 mod 2 = 0.
#
# </details>
#
# <details><summary>2. Why is no fence needed between TMA's write and WGMMA's read?</summary>
#
# Both are on the async proxy, and the mbarrier that the reader has waited for orders them. A fence is for what threads
# wrote themselves, as in the epilogue: there the generic proxy writes and TMA reads.
#
# </details>
#
# <details><summary>3. A kernel announces half of the bytes that come. What can happen?</summary>
#
# The phase may be over when half of them are there, and WGMMA reads a tile that is partly the old one. The remaining
# bytes are then counted against the next round.
#
# </details>

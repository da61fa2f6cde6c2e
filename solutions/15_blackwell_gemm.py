# ---
# jupyter:
#   tutorlib:
#     minutes: 95
#     appendix: 30
#     summary: Tensor memory, one thread that multiplies, pairs of blocks, four-bit numbers. No Blackwell needed.
# ---

# %% [markdown]
# # 15 · A Blackwell GEMM
#
# Hopper's tensor cores read their operands from shared memory, but the accumulators stayed in registers: 128 of them
# in each of 256 threads, and it took all 128 threads of a warpgroup to issue a multiplication. What does a kernel look
# like when the accumulators leave the registers too, and *one* thread issues a multiplication?
#
# You write its three loops, first for one block, then for two blocks that multiply together. **This notebook's kernel
# has never run on a Blackwell GPU**, because none was available when the course was made. Instead, `check` rehearses
# the loops, compiles the kernel for two Blackwell architectures, inspects its instructions, and runs it in the
# simulator to check its results. On a Blackwell GPU it also runs and times the kernel itself, as in notebook 13.
#
# The problem is notebook 09's: C = A · Bᵀ, `gemm(a, b, c)`, bf16, accumulated in fp32.
#
# > **After this page you can** allocate tensor memory and say which warp may read which part of it, issue
# > multiplications from one thread and learn when they complete, hand accumulators from the tensor cores to the
# > epilogue, and let two blocks share a tile. The appendix quantizes to mxfp8 and nvfp4 by hand.
# >
# > **It takes** about 95 minutes, on any machine; its appendix about 30 more.

# %%
import random
from contextlib import suppress

import cutlass
import cutlass.cute as cute
import torch
from cutlass import BFloat16, Float32
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05
from cutlass.pipeline import PipelineUserType, make_pipeline_state
from IPython.display import display

from tutorlib import check
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.ptx import BLACKWELL_OPCODES, allocated_columns, story
from tutorlib.compiling.spec import TensorSpec
from tutorlib.draw import show_blackwell, show_pair, show_scaled, show_tensor_memory
from tutorlib.dsl.cute.instructions import fence_before
from tutorlib.kernels.blackwell.config import PAIR, BlackwellConfig
from tutorlib.kernels.blackwell.gemm import Crew, TileLoops, make_blackwell_gemm, make_umma
from tutorlib.kernels.blackwell.holding import Holding
from tutorlib.kernels.blackwell.steps import TileSteps
from tutorlib.machine.features import TCGEN05
from tutorlib.machine.hardware import hardware_of
from tutorlib.models import block_formats
from tutorlib.models import tensor_memory as course
from tutorlib.notebook.block_timeline import show_handover, show_roles
from tutorlib.notebook.source import show_source
from tutorlib.notebook.trials import compare_on_gpu

# %% [markdown]
# ## Who does what
#
# A block has six warps in three roles. Steps 1 to 6 follow a K tile through the block, steps 7 to 10 the accumulators
# of a tile of C:

# %%
show_blackwell()

# %% [markdown]
# | | Hopper, notebook 14 | Blackwell |
# |---|---|---|
# | multiply instruction | `wgmma`, issued by 128 threads together | `tcgen05.mma`, issued by one thread |
# | operands | shared memory, swizzled | shared memory, with the same swizzles |
# | accumulators | registers of the consumer warps | tensor memory, owned by no thread |
# | completion | `wait_group`, in the consumer warps | `tcgen05.commit`: an arrival at an mbarrier, for any warp |
# | epilogue | the same warps; to overlap: ping-pong, deferred stores | other warps, while the next tile is multiplied |
#
# TMA, the ring of stages and its swizzle stay: this kernel calls `ring_layout` and `boxes` from notebook 13. Two
# things are new: where the accumulators are, and how a warp learns that they are complete.
#
# Here are two tiles of C, of five K tiles each, on a time axis. The picture is computed: it is a rehearsal of the
# course's loops with a clock. To issue takes 1 tick, a load is in flight for 4, and the tensor cores need 2 for a K
# tile. The epilogue reads 64 columns in 1 tick and writes them in 1. (The durations are assumed; the dependences are
# the kernel's.) Tile 0 is blue and tile 1 red; a number is a K tile or, in the epilogue, a group of 64 columns. Find
# the tick at which tile 0's accumulators pass to the epilogue. What do the tensor cores do then?

# %%
show_roles()

# %% [markdown]
# The MMA warp issues four K tiles in four ticks and is then ahead of the tensor cores: issuing is not multiplying.
# Tile 0 is complete at tick 16. In that tick the epilogue begins to read it from one accumulator, and the tensor cores
# begin to fill the other. Every hatched cell is a wait at an mbarrier. In the exercises you write these waits, and the
# arrivals that end them.
#
# One thing gets harder on Blackwell: the tensor cores consume their operands faster. From the datasheets, the next
# cell computes how long one SM takes for a K tile of 128×256×64, and the rate at which A and B must then arrive:

# %%
for name in ("NVIDIA H200", "NVIDIA B200"):
    gpu = hardware_of(name)
    seconds = 2 * 128 * 256 * 64 / (gpu.flops["bf16"] / gpu.sms)
    print(f"{name}: {seconds * 1e9:.0f} ns, {2 * (128 + 256) * 64 / seconds / 1e9:.0f} GB/s into each of {gpu.sms} SMs")

# %% [markdown]
# The time halves, so each SM needs its operands at twice the rate, from an L2 that more SMs share. The second half of
# this page reduces the bytes, with pairs of blocks.
#
# ## Tensor memory
#
# Tensor memory is a matrix of 32-bit words in each SM, with 128 rows and 512 columns: 256 KiB, as much as the register
# file. PTX calls its rows **lanes**; they are not the lanes of a warp. A 128×256 tile of fp32 accumulators takes one
# lane for each row of C and one column for each column of C, so two of them fit.

# %%
show_tensor_memory(columns=256, accumulators=2)

# %% [markdown]
# The tensor cores write all lanes. A warp can read only 32 of them, starting at lane 32 · (warp number modulo 4). So
# it takes four warps to read a tile, and a warp's number determines its rows.
#
# No thread *owns* tensor memory. A block allocates columns while it runs, and their number must be a power of two and
# at least 32. If another block on the SM holds them, the allocation waits until they are freed.
#
# **Predict.** Three accumulators of 96 columns: how many columns does the block allocate?
#
# **Exercise 15.1** (about 4 lines). Write `tmem_columns(n, accumulators)`: the number of columns to allocate for this
# many 128×n accumulators side by side, or 0 if they do not fit.


# %%
def tmem_columns(n, accumulators):
    ### BEGIN SOLUTION (about 4 lines)
    needed = n * accumulators
    if needed > 512:
        return 0
    return max(32, 1 << (needed - 1).bit_length())
    ### END SOLUTION


# %%
check("15.1", tmem_columns)

# %% [markdown]
# Three accumulators of 96 columns need 288, so the block allocates 512.
#
# Where in tensor memory is a given element of C, and which warp can read it? A pair of blocks, which comes later on
# this page, has a tile of 256 rows: rows 0 to 127 are in block 0's tensor memory, rows 128 to 255 in block 1's.
#
# **Exercise 15.2** (about 3 lines). Write `sum_place(m, n, accumulator, columns)` → (block, warp, lane, column) of the
# element at row m, column n of an accumulator, where lane and column are those of tensor memory. Accumulators are
# `columns` wide and follow each other without gaps. The warp is one of that block's four epilogue warps, 0 to 3.


# %%
def sum_place(m, n, accumulator, columns):
    ### BEGIN SOLUTION (about 3 lines)
    block, lane = divmod(m, 128)
    warp = lane // 32
    return block, warp, lane, accumulator * columns + n
    ### END SOLUTION


# %%
check("15.2", sum_place)

# %% [markdown]
# ### Allocate and free
#
# All lanes of one warp call `cute.arch.alloc_tmem(columns, address)`, which writes the location of the first column to
# shared memory, at `address`. The other warps may read it there once they know that it has been written. When no warp
# uses the columns any more, one warp frees them with `cute.arch.dealloc_tmem(pointer, columns)`. PTX requires this of
# every kernel ([tcgen05.alloc,
# dealloc](https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-instructions-tcgen05-alloc-dealloc-relinquish-alloc-permit)):
# unlike shared memory, the columns are not freed when the block ends, and the next block on the SM waits for them.
#
# Your function gets this object:

# %%
show_source(Holding)

# %% [markdown]
# **Exercise 15.3** (about 7 lines). Write `hold(holding)`, which all six warps run. Warp 4 allocates
# `holding.columns`; every warp gets the pointer, `holding.pointer()`, and does its work, `holding.work(pointer)`; warp
# 4 frees the columns. Where do all warps need a barrier, `holding.meet()`?
#
# The check rehearses it first: on the CPU, without data, with the warps in several orders. Then it compiles the
# kernel for sm_100a and sm_103a, reads from the PTX how many columns it allocates, and simulates a small GEMM.


# %%
@cute.jit
def hold(holding: Holding):
    ### BEGIN SOLUTION (about 7 lines)
    if holding.warp == 4:
        cute.arch.alloc_tmem(holding.columns, holding.address)
    holding.meet()
    acc = holding.pointer()
    holding.work(acc)
    holding.meet()
    if holding.warp == 4:
        cute.arch.dealloc_tmem(acc, holding.columns)
    ### END SOLUTION


# %%
check("15.3", hold)

# %% [markdown]
# `holding.work` calls the method below. It makes a tensor of the allocated columns, and each warp runs the loop of its
# role. The three loops are yours to write:

# %%
show_source(Crew)

# %% [markdown]
# ## tcgen05.mma
#
# One bf16 instruction multiplies M × 16 by 16 × N and adds the product to M × N accumulators in tensor memory. The
# PTX ISA lists the shapes ([Matrix
# Shape](https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-matrix-shape), `.kind::f16`, dense):
#
# | `.cta_group` | M | N | accumulators |
# |---|---|---|---|
# | `::1`, one block | 64 | 8 to 256, in steps of 8 | in half of the lanes |
# | | 128 | 8 to 256, in steps of 8 | one lane for each row |
# | `::2`, a pair | 128 | 16 to 256, in steps of 16 | 64 rows in each block |
# | | 256 | 16 to 256, in steps of 16 | 128 rows in each block |
#
# For a pair, M counts the rows of both blocks, so each has 64 or 128. Does the DSL accept the same shapes? Ask it:


# %%
def accepted(m, group):
    """The N that the DSL takes for this M, as first, last and step."""
    found = []
    for n in range(1, 513):
        with suppress(Exception):
            smem = tcgen05.OperandSource.SMEM
            tcgen05.MmaF16BF16Op(BFloat16, Float32, (m, n, 16), group, smem, OperandMajorMode.K, OperandMajorMode.K)
            found.append(n)
    return f"{found[0]} to {found[-1]} in steps of {found[1] - found[0]}" if found else "none"


for group in (tcgen05.CtaGroup.ONE, tcgen05.CtaGroup.TWO):
    for m in (32, 64, 128, 256):
        print(f"{group!s:13} M = {m:3}: N {accepted(m, group)}")

# %% [markdown]
# CuTe describes the instruction by a TiledMma with one "thread". How much of the tile does that thread own?


# %%
@cute.jit
def who_owns_what():
    tiled_mma = make_umma(BlackwellConfig())
    print("threads:", tiled_mma.size)
    print("A:", tiled_mma.partition_shape_A((128, 64)), "  B:", tiled_mma.partition_shape_B((256, 64)))
    print("accumulators:", tiled_mma.partition_shape_C((128, 256)))


_ = cute.compile(who_owns_what, options="--gpu-arch sm_100a")

# %% [markdown]
# All of it, so there is nothing to partition among threads: `(128, 16)` is one instruction's A, and a K tile takes
# four. In PTX, the operands are the accumulators' address, two 64-bit descriptors as in notebook 13, a 32-bit
# descriptor of shape and types, four registers that mask the lanes not to be written (here none), and a predicate: add
# to the accumulators, or overwrite them? (`.collector::a::discard` is the default: the tensor cores need not keep A
# for the next instruction.)

# %%
alone = compile_cute(make_blackwell_gemm(), [TensorSpec((4096, 4096), "bf16")] * 3, "sm_100a")
print(*(line.strip()[:120] for line in alone.ptx.splitlines() if "tcgen05.mma" in line), sep="\n")

# %% [markdown]
# ### Commit
#
# The instruction returns at once. After it, `tcgen05.commit(barrier)` asks for one arrival at an mbarrier, to be made
# *when everything that this thread has issued so far is complete*. The thread itself goes on immediately. There is no
# `wait_group`: any warp that needs the result waits at the mbarrier.
#
# Two roles wait for multiplications to complete: the producer, before it overwrites the stage that they read, and the
# epilogue, before it reads the accumulators that they write. So the kernel has a ring of stages and a ring of
# accumulators, and every stage and every accumulator has two mbarriers:
#
# | mbarrier | one per | a phase ends with | waiting role |
# |---|---|---|---|
# | `full` | stage | 1 arrival and the bytes that it announces | MMA warp |
# | `empty` | stage | a commit | TMA warp |
# | `ready` | accumulator | a commit | epilogue |
# | `free` | accumulator | 4 arrivals, one from each epilogue warp | MMA warp |
#
# **Predict.** The MMA warp commits to `empty` right after it issues a stage's multiplications, and moves on to the
# next stage. In notebook 14 an `mbarrier_arrive` at that place was a bug. Why is a commit right?
#
# ## Three loops
#
# A block computes `steps.tiles` tiles of C, one after the other, and a tile takes `steps.k_tiles` K tiles. The rings
# do not start over at a new tile: index and phase carry on.

# %%
show_source(TileSteps)

# %% [markdown]
# **Exercise 15.4** (about 8 lines). Write `produce(steps)`, the TMA warp's loop: notebook 14's producer with a loop
# over tiles around it. As there, one lane announces `steps.stage_bytes` with `mbarrier_arrive_and_expect_tx`, under
# `elect_one`, and all lanes call `steps.load(number, k_tile, stage)`, where `number` is the tile's. Nothing in the
# loop marks the start of a new tile, and its only wait is for `empty`.


# %%
@cute.jit
def produce(steps: TileSteps):
    ### BEGIN SOLUTION (about 8 lines)
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for number in cutlass.range(steps.tiles, unroll=1):
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
            steps.load(number, k_tile, state.index)
            state.advance()
    ### END SOLUTION


# %%
check("15.4", produce)

# %% [markdown]
# The MMA warp connects the two rings. It consumes stages, and it *produces* accumulators: before it fills one, it
# waits until that accumulator is free. From this follows whether each of its two pipeline states is a consumer's or a
# producer's.
#
# **Exercise 15.5** (about 14 lines). Write `multiply(steps)`. `steps.multiply(stage, accumulator, first)` elects its
# thread itself; `first`, which may be a run-time value such as `k_tile == 0`, makes it overwrite the accumulator. One
# thread issues a commit, under `with cute.arch.elect_one():`. (A warp elects the same lane each time, so the thread
# that commits is the one that multiplied.) This warp never waits for its own multiplications.


# %%
@cute.jit
def multiply(steps: TileSteps):
    ### BEGIN SOLUTION (about 14 lines)
    stage = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    acc = make_pipeline_state(PipelineUserType.Producer, steps.accumulators)
    for _ in cutlass.range(steps.tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.free + acc.index, acc.phase)
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.full + stage.index, stage.phase)
            steps.multiply(stage.index, acc.index, k_tile == 0)
            with cute.arch.elect_one():
                tcgen05.commit(steps.empty + stage.index)
            stage.advance()
        with cute.arch.elect_one():
            tcgen05.commit(steps.ready + acc.index)
        acc.advance()
    ### END SOLUTION


# %%
check("15.5", multiply)

# %% [markdown]
# Remove the wait for `free` and check again; then put it back with the consumer's phase, and check once more. Which of
# the two errors could stay hidden on a GPU?
#
# <details><summary>Which one, and why?</summary>
#
# The missing wait. It is a race: the result is right as long as the epilogue happens to be faster than the tensor
# cores. The wrong phase hangs at the first tile, because it waits for an arrival that only a finished tile would
# bring.
#
# </details>
#
# ### The epilogue
#
# An epilogue warp reads its 32 lanes in parts of 64 columns, so that each thread holds 64 accumulators of one row.
# `tcgen05.ld` is asynchronous too: the registers are valid after `tcgen05.wait::ld`, which CuTe calls
# `cute.arch.fence_view_async_tmem_load()`. `steps.write(number, part)` then does what notebook 13's epilogue did:
# round, store into a swizzled box in shared memory, proxy fence, TMA store. Each warp has its own boxes.
#
# An mbarrier alone does not order accesses to tensor memory. PTX pairs each arrival and wait with a
# [tcgen05.fence](https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-special-sync-operations-fence):
#
# | | before the arrival | after the wait |
# |---|---|---|
# | `ready`, to the epilogue | none: `tcgen05.commit` includes it | `::after_thread_sync`, in `steps.read` |
# | `free`, to the MMA warp | **`::before_thread_sync`, in your loop** | `::after_thread_sync`, in `steps.multiply` |
#
# The fence in bold orders your reads before the arrival that lets the tensor cores overwrite the accumulator.
# `cute.arch` has no function for it, so the course provides `fence_before()`. PTX lists the whole sequence among its
# [canonical synchronization
# patterns](https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-memory-consistency-model-canonical-sync-patterns),
# under *Non-pipelined instructions, different thread*: `tcgen05.ld`, `tcgen05.wait::ld`,
# `tcgen05.fence::before_thread_sync`, arrive.
#
# When can the tensor cores have the accumulator back? Compare one accumulator with two, by the clock of the first
# picture, for three tiles of four K tiles:

# %%
show_handover(1, 2)

# %% [markdown]
# With one accumulator, the tensor cores are idle from the end of a tile until the epilogue has read its last part.
# They do not wait for that part to be written, because the accumulator is freed first. With two, they are never idle
# as long as a tile's epilogue takes no longer than the next tile's main loop; here both take 8 ticks.
#
# **Exercise 15.6** (about 11 lines). Write `store(steps)`, the loop of each of the four epilogue warps. Every tile
# has `steps.parts` parts, each with a `steps.read(accumulator, part)` and a `steps.write(number, part)`. One lane of
# each warp arrives at `free`, as early as it safely can. A branch in the loop is allowed: `if part == steps.parts -
# 1:`.


# %%
@cute.jit
def store(steps: TileSteps):
    ### BEGIN SOLUTION (about 11 lines)
    acc = make_pipeline_state(PipelineUserType.Consumer, steps.accumulators)
    for number in cutlass.range(steps.tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.ready + acc.index, acc.phase)
        for part in cutlass.range(steps.parts, unroll=1):
            steps.read(acc.index, part)
            cute.arch.fence_view_async_tmem_load()
            if part == steps.parts - 1:
                fence_before()
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive(steps.free + acc.index)
            steps.write(number, part)
        acc.advance()
    ### END SOLUTION


# %%
check("15.6", store)

# %% [markdown]
# The next cell puts your own loops on the time axis. If your epilogue freed its accumulator only after it has written
# the last part, would this picture change?

# %%
with suppress(NotImplementedError):  # until you have written all three
    display(show_roles(produce, multiply, store))

# %% [markdown]
# It would not: there are two tiles and two accumulators, so the MMA warp never waits for `free`. With one accumulator,
# the gap before each next tile would be one tick longer.
#
# Your four functions make a kernel. These are its instructions in program order, the TMA warp's first, then the MMA
# warp's, then the epilogue's:

# %%
with suppress(NotImplementedError):  # until you have written all four
    yours = make_blackwell_gemm(BlackwellConfig(), TileLoops(produce, multiply, store, hold))
    compiled = compile_cute(yours, [TensorSpec((4096, 4096), "bf16")] * 3, "sm_100a")
    print(compiled)
    print(f"tensor memory: {allocated_columns(compiled.ptx)} columns")
    print(story(compiled.ptx, BLACKWELL_OPCODES))

# %% [markdown]
# Compare this with notebook 13's listing. There is no `wgmma.fence` and no `wait_group`, no accumulator reaches a
# register before its tile is complete, and every loop has one job.
#
# The simulator caught a race in an earlier version of the course's own kernel. Each epilogue warp has two boxes, and
# it chose between them by the part's number alone. With one part per tile, it wrote every tile into the same box,
# which TMA might still be reading. (Look for the repair in `TileSteps.write`.)
#
# ## Two blocks, one tile
#
# For each K tile, a block loads 128 rows of A and 256 rows of B, and two blocks whose tiles are in the same columns of
# C load the same B. In notebook 14 the blocks of a cluster shared that load by multicast, but each of them still held
# *all* of B's tile in its own shared memory. Two blocks of a Blackwell cluster can form a **pair**: `tcgen05.mma` with
# `cta_group::2` reads the shared memory of both.

# %%
show_pair()

# %% [markdown]
# Each block loads its own rows of A and *half* of B. One thread of the first block issues a 256×256×16 multiplication,
# and both SMs' tensor cores execute it, each for its own rows of C. Each block loads fewer bytes for a K tile, so a
# stage is smaller and more stages fit.
#
# **Exercise 15.7** (about 3 lines). Write `ring_stages(n, pair, other)` → (bytes of a stage in one block, number of
# stages that fit), for a tile of n columns and K tiles of 64 in bf16. A block has 128 rows of A in either case; `pair`
# is True or False. A block can have 227 KiB of shared memory, of which `other` bytes are taken.


# %%
def ring_stages(n, pair, other):
    ### BEGIN SOLUTION (about 3 lines)
    rows = n // 2 if pair else n
    stage = (128 + rows) * 64 * 2
    return stage, (227 * 1024 - other) // stage
    ### END SOLUTION


# %%
check("15.7", ring_stages)

# %%
for pair in (False, True):
    bytes, stages = course.ring_stages(256, pair, 33 * 1024)
    print(f"{'a pair' if pair else 'alone'}: {bytes // 1024} KiB from L2 for each block and K tile, {stages} stages")

# %% [markdown]
# ### Who signals whom
#
# The first block of the pair **leads**: its MMA warp multiplies for both, so it alone waits for `full` and `free`, and
# it must signal the producers and epilogues of both blocks. The other block's MMA warp has nothing to do.
#
# | mbarrier | in which block | change |
# |---|---|---|
# | `full` | the leader | counts both blocks' bytes: the leader announces them, all loads report there |
# | `empty`, `ready` | both | one commit, with a mask, arrives in both |
# | `free` | the leader | 8 arrivals: from four epilogue warps in each block |
#
# You need three things in code. `steps.leads` is True in the leading block only. A commit takes a mask and the group:
# `tcgen05.commit(barrier, steps.both, tcgen05.CtaGroup.TWO)`. And an arrival can name the block whose mbarrier it
# means: `cute.arch.mbarrier_arrive(barrier, steps.leader)`. (`steps.stage_bytes` already counts both blocks' bytes,
# and the loads of `steps.load` report to the leader by themselves.)
#
# **Predict.** Block 1's producer must not overwrite its stage before the tensor cores of *both* SMs have read it.
# Which line ensures that?
#
# **Exercise 15.8** (about 9, 15 and 11 lines). Write `pair_produce`, `pair_multiply` and `pair_store`. The rehearsal
# and the simulator run both blocks; expect the symptom of an error in one block to appear in the other.


# %%
@cute.jit
def pair_produce(steps: TileSteps):
    ### BEGIN SOLUTION (about 9 lines)
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for number in cutlass.range(steps.tiles, unroll=1):
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
            if steps.leads:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
            steps.load(number, k_tile, state.index)
            state.advance()
    ### END SOLUTION


@cute.jit
def pair_multiply(steps: TileSteps):
    ### BEGIN SOLUTION (about 15 lines)
    if steps.leads:
        stage = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
        acc = make_pipeline_state(PipelineUserType.Producer, steps.accumulators)
        for _ in cutlass.range(steps.tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.free + acc.index, acc.phase)
            for k_tile in cutlass.range(steps.k_tiles, unroll=1):
                cute.arch.mbarrier_wait(steps.full + stage.index, stage.phase)
                steps.multiply(stage.index, acc.index, k_tile == 0)
                with cute.arch.elect_one():
                    tcgen05.commit(steps.empty + stage.index, steps.both, tcgen05.CtaGroup.TWO)
                stage.advance()
            with cute.arch.elect_one():
                tcgen05.commit(steps.ready + acc.index, steps.both, tcgen05.CtaGroup.TWO)
            acc.advance()
    ### END SOLUTION


@cute.jit
def pair_store(steps: TileSteps):
    ### BEGIN SOLUTION (about 11 lines)
    acc = make_pipeline_state(PipelineUserType.Consumer, steps.accumulators)
    for number in cutlass.range(steps.tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.ready + acc.index, acc.phase)
        for part in cutlass.range(steps.parts, unroll=1):
            steps.read(acc.index, part)
            cute.arch.fence_view_async_tmem_load()
            if part == steps.parts - 1:
                fence_before()
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive(steps.free + acc.index, steps.leader)
            steps.write(number, part)
        acc.advance()
    ### END SOLUTION


pair_loops = pair_produce, pair_multiply, pair_store

# %%
check("15.8", pair_loops)

# %% [markdown]
# ### And multicast
#
# Two pairs next to each other along N need the same rows of A. With `sharing=2`, a cluster has two pairs, and each
# block loads half of its rows of A and multicasts them to the block with the same rows in the other pair. So a block
# receives A from two producers, and a stage is empty when both leaders have committed. The next cell compiles this
# kernel for sm_103a and prints the instructions that concern other blocks, and the allocation. A single pair has
# nearly all of them; one is new. Which one?

# %%
shared = BlackwellConfig((256, 256, 64), pair=True, stages=6, sharing=2)
four_blocks = compile_cute(make_blackwell_gemm(shared), [TensorSpec((4096, 4096), "bf16")] * 3, "sm_103a")
print(four_blocks)
for line in four_blocks.ptx.splitlines():
    if any(name in line for name in ("multicast::cluster", "tcgen05.alloc", "mapa", "barrier.cluster")):
        print(line.split("[")[0].strip())

# %% [markdown]
# The load with `multicast::cluster` is new. (And in a single pair `mapa` takes the constant 0 for the leader's rank.)
#
# ## Speed
#
# None of these kernels has been timed. On a Blackwell GPU, the next cell times a block alone, a pair, and two pairs
# that share A:

# %%
kinds = {
    "a block": make_blackwell_gemm(),
    "a pair": make_blackwell_gemm(PAIR),
    "two pairs that share A": make_blackwell_gemm(shared),
}
for kind in ("a block", "two pairs that share A"):
    compare_on_gpu({kind: kinds[kind], "a pair": kinds["a pair"]}, sizes=(4096, 8192), needs=TCGEN05)

# %% [markdown]
# Tensor cores of this generation also multiply numbers of 8 and 4 bits with a scale for each block of 16 or 32, which
# they read from tensor memory. The appendix quantizes to these formats and measures their error.
#
# ## What to remember
#
# - No thread owns the accumulators, so one warp can multiply while others round. A second ring connects them: `ready`
#   and `free` do for accumulators what `full` and `empty` do for stages.
# - A commit turns the completion of issued work into an arrival. The thread that multiplies never waits for its own
#   multiplications.
# - An mbarrier alone does not order accesses to tensor memory: they need a `tcgen05.fence` before the arrival and
#   another after the wait. A commit includes the first.
# - A block allocates tensor memory and must free it; each warp can read a quarter of the lanes.
# - In a pair, one thread multiplies for two SMs, and its commits arrive in both.
#
# ## Test yourself
#
# <details><summary>1. The epilogue has five warps, numbered 0 to 4. Which lanes can the fifth one read, and does it
# help?</summary>
#
# 4 modulo 4 is 0, so it can read lanes 0 to 31, like warp 0. It could take half of warp 0's columns. That does not
# help: a tile is finished when its slowest warp is, and the other three have as much to do as before.
#
# </details>
#
# <details><summary>2. A tile of 128×192: how many accumulators fit, and how many columns does the block
# allocate?</summary>
#
# Two take 384 columns; three would take 576. An allocation is a power of two, so it is 512, and 128 of them are
# unused.
#
# </details>
#
# <details><summary>3. In a pair, the leader commits to <code>empty</code> without a mask. What happens?</summary>
#
# The commit arrives only at the leader's own mbarrier. Block 1's producer fills each of its stages once and then
# waits forever. So does every other warp in the end: the leader's <code>full</code> lacks half of its bytes.
#
# </details>

# %% [markdown]
# ## Appendix: Numbers with a shared scale
#
# In notebook 14's FP8 kernel each block of 128 along K had an fp32 scale, which threads applied between two groups of
# wgmmas. On Blackwell no thread holds the accumulators between two multiplications, so the tensor cores apply the
# scales themselves. Two of the formats they know are:
#
# | | element | scale | per | plus |
# |---|---|---|---|---|
# | **mxfp8** | e4m3, up to 448 | ue8m0: a power of two, 8 bits of exponent | 32 elements along K | |
# | **nvfp4** | e2m1: 0, ½, 1, 1½, 2, 3, 4, 6 | e4m3 | 16 elements along K | one fp32 for the tensor |
#
# So an element of mxfp8 takes 8¼ bits, one of nvfp4 4½. In PTX these are the kinds `mxf8f6f4` and `mxf4nvf4` of
# `tcgen05.mma` with `.block_scale`. Two more operands are addresses in tensor memory, where `tcgen05.cp` has copied
# the scales from shared memory. One instruction takes 32 bytes of K from each row: 32 elements of mxfp8, 64 of nvfp4.
#
# The picture has the first 16 of 32 random numbers, x. Below them, for each format: the stored element with its code
# in hex (e4m3, e2m1), and its value after scaling (mxfp8, nvfp4):

# %%
rng = random.Random(15)
numbers = [rng.gauss(0, 1) for _ in range(32)]
show_scaled(numbers, tensor_scale=0.05)

# %% [markdown]
# Compare the rows `mxfp8` and `nvfp4` with `x`, column by column. e4m3 has about the same *relative* error everywhere.
# e2m1 has eight magnitudes, so a number much smaller than the block's largest becomes 0.
#
# **Exercise 15.9** (about 6 lines). Write `quantise_mx(block)` → (exponent, elements) for a list of 32 numbers, as the
# OCP's MX specification defines it. The exponent is floor(log2 of the largest magnitude) − 8, where 8 is the exponent
# of e4m3's largest number; it is at least −127 and at most 127, and −127 if all are zero. The elements are a list of
# floats: each number divided by 2^exponent, clipped to ±448, and rounded to the nearest e4m3, ties to even. torch can
# round: `tensor.to(torch.float8_e4m3fn)`.


# %%
def quantise_mx(block):
    ### BEGIN SOLUTION (about 6 lines)
    numbers = torch.tensor(block, dtype=torch.float64)
    largest = numbers.abs().max()
    exponent = int(torch.frexp(largest).exponent) - 1 - 8 if largest > 0 else -127
    exponent = max(-127, min(127, exponent))
    elements = (numbers / 2.0**exponent).clamp(-448, 448).to(torch.float8_e4m3fn)
    return exponent, elements.tolist()
    ### END SOLUTION


# %%
check("15.9", quantise_mx)

# %% [markdown]
# A scale that must be a power of two is cheap and imprecise: scaled, the block's largest element is anywhere from 256
# to 512, and above 448 it is clipped. With only eight magnitudes, nvfp4 cannot afford that. Its scale is an e4m3,
# which maps the largest element to about 6. But e4m3 itself covers only 2⁻⁹ to 448, so one fp32 scale brings the whole
# tensor into that range.
#
# **Exercise 15.10** (about 8 lines). Write `quantise_nv(block, tensor_scale)` → (scale, elements) for 16 numbers. The
# scale is the largest magnitude / 6 / tensor_scale, rounded to the nearest e4m3, at most 448. The elements are a list
# of floats: each number divided by the *rounded* scale and by tensor_scale, rounded to the nearest e2m1, ties to the
# even code, at most 6. The codes 0 to 7 are the magnitudes in ascending order. If the scale is 0, all elements are 0.


# %%
def quantise_nv(block, tensor_scale):
    ### BEGIN SOLUTION (about 8 lines)
    magnitudes = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    wanted = torch.tensor(max(map(abs, block)) / 6 / tensor_scale, dtype=torch.float64)
    scale = wanted.clamp(max=448).to(torch.float8_e4m3fn).item()
    if scale == 0:
        return 0.0, [0.0] * len(block)

    def rounded(x):
        code = min(range(8), key=lambda code: (abs(magnitudes[code] - abs(x)), code % 2))
        return -magnitudes[code] if x < 0 else magnitudes[code]

    return scale, [rounded(x / (scale * tensor_scale)) for x in block]
    ### END SOLUTION


# %%
check("15.10", quantise_nv)

# %% [markdown]
# For each block along K, the tensor cores add up the products of the unscaled elements and multiply the sum by both
# scales, once.
#
# **Exercise 15.11** (about 4 lines). Write `scaled_dot(a, b)`, one element of C. `a` and `b` are lists of blocks
# (scale, elements), one a row of A and one of B; here a scale is the factor itself, not its exponent.


# %%
def scaled_dot(a, b):
    ### BEGIN SOLUTION (about 4 lines)
    total = 0.0
    for (scale_a, left), (scale_b, right) in zip(a, b, strict=True):
        total += scale_a * scale_b * sum(x * y for x, y in zip(left, right, strict=True))
    return total
    ### END SOLUTION


# %%
check("15.11", scaled_dot)

# %% [markdown]
# **Predict.** For dot products of 512 random numbers, what is each format's root-mean-square error, relative to the
# root-mean-square product? And if every 64th number of `a` is 20 times larger? And if all of `a` is 2¹² times smaller?


# %%
def in_blocks(row, form):
    """A row as (scale, elements), by the course's functions."""
    if form == "mxfp8":
        made = [block_formats.quantise_mx(row[at : at + 32]) for at in range(0, len(row), 32)]
        return [(2.0**exponent, elements) for exponent, elements in made]
    if form == "nvfp4":
        tensor_scale = max(map(abs, row)) / 6 / 448
        made = [block_formats.quantise_nv(row[at : at + 16], tensor_scale) for at in range(0, len(row), 16)]
        return [(scale * tensor_scale, elements) for scale, elements in made]
    return [(1.0, torch.tensor(row).to(form).tolist())]


def error_of(form, outliers=1, factor=1.0, rows=64, k=512):
    """The root-mean-square error of products of rows, over the root-mean-square product."""
    generator = torch.Generator().manual_seed(15)
    a, b = (torch.randn(rows, k, generator=generator, dtype=torch.float64) for _ in range(2))
    a[:, ::64] *= outliers
    a *= factor
    exact = (a * b).sum(1)
    got = [
        block_formats.scaled_dot(in_blocks(x, form), in_blocks(y, form))
        for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    return ((torch.tensor(got) - exact).square().mean() / exact.square().mean()).sqrt().item()


print(f"{'':20} {'random':>9} {'outliers':>9} {'random · 2^-12':>15}")
for form in (torch.bfloat16, torch.float8_e4m3fn, "mxfp8", "nvfp4"):
    print(f"{form!s:20} {error_of(form):9.2%} {error_of(form, outliers=20):9.2%} {error_of(form, factor=2**-12):15.2%}")

# %% [markdown]
# e4m3 without scales, the second line, has a smaller error than mxfp8 as long as the numbers are within its range, 2⁻⁹
# to 448. In the last column they are not, and almost nothing of the product is left, while the formats with scales do
# not change. A shared scale buys *range*, not precision.
#
# In the first two columns, mxfp8 loses to plain e4m3 because it clips. (Try an exponent larger by 1 wherever the
# largest element would be clipped: then the two do about equally well.) Outliers make that worse: each is nearly
# always the largest of its block, and products with outliers dominate the result. nvfp4 gains from them for the same
# reason, since its scale maps each block's largest to about 6, which e2m1 stores exactly.

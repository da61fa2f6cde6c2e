# ---
# jupyter:
#   tutorlib:
#     minutes: 160
#     appendix: 30
#     summary: Tensor memory, one thread that multiplies, six warps, pairs of blocks. Only a timing needs a Blackwell.
# ---

# %% [markdown]
# # 17 · A Blackwell GEMM
#
# On Hopper the accumulators are in registers, 128 in each of 256 threads, and it takes all 128 threads of a warpgroup
# to issue a multiplication. On Blackwell the accumulators leave the registers, and *one* thread issues it. Blackwell
# means B200 and B300 here: the RTX GPUs of that name have neither tensor memory nor tcgen05.
#
# You write such a kernel's parts, its three loops, and the kernel itself, for one block and then for two that multiply
# together. **This kernel has never run on a Blackwell GPU**, because none was available when the course was made:
# benefits are counted here, or measured by others. `check` compiles the kernel and simulates it; on a B200 it also runs
# it. The problem is notebook 10's: C = A · Bᵀ, `gemm(a, b, c)`, bf16, accumulated in fp32.
#
# > **After this page you can** allocate tensor memory and say which warp may read which part of it, issue
# > multiplications from one thread and let other warps wait for them, give six warps their roles in one kernel, and let
# > two blocks share a tile.
# >
# > **It takes** about 160 minutes, on any machine; its appendix about 30 more, on numbers with a
# > shared scale.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass import BFloat16, Boolean, Float32, Int32

from tutorlib import (
    BLACKWELL_OPCODES, TCGEN05, TensorSpec, allocated_columns, block_formats, check, compare_on_gpu, compile_cute,
    hardware_of, ring_stages, show_blackwell, show_block, show_handover, show_pair, show_scaled, show_tensor_memory,
    story,
)  # fmt: skip
from tutorlib.kernels.blackwell import (
    PAIR, SMS, BlackwellConfig, Parts, TileSteps, Tma, make_blackwell_gemm, make_block, make_t2r, tma_atoms,
)  # fmt: skip

# %% [markdown]
# ## Who does what
#
# A block has six warps in three roles. Steps 1 to 6 follow a K tile through the block, steps 7 to 10 the accumulators
# of a tile of C:

# %%
show_blackwell()

# %% [markdown]
# | | Hopper, notebook 15 | Blackwell |
# |---|---|---|
# | multiply instruction | `wgmma`, issued by 128 threads together | `tcgen05.mma`, issued by one thread |
# | operands | shared memory, swizzled | shared memory, with the same swizzles |
# | accumulators | registers of the consumer warps | tensor memory, owned by no thread |
# | completion | `wait_group`, in the consumer warps | `tcgen05.commit`: an arrival at an mbarrier, for any warp |
# | epilogue | the same warps; to overlap: ping-pong, deferred stores | other warps, while the next tile is multiplied |
#
# The next picture has two tiles of C, of five K tiles each, on a time axis. (Assumed ticks: 1 to issue, 4 for a load, 2
# to multiply a K tile, 1 to read or to write 64 columns.) Tile 0 is blue, tile 1 red; a number is a K tile or, in the
# epilogue, 64 columns. At which tick do tile 0's accumulators pass to the epilogue, and what do the tensor cores do
# then?

# %%
show_block()

# %% [markdown]
# At tick 16, when the epilogue begins to read tile 0 from one accumulator, the tensor cores begin to fill the other.
#
#
# Operands must arrive faster on Blackwell. From the datasheets, the time in which an SM multiplies a K tile of
# 128×256×64, and the rate at which A and B must arrive:

# %%
for name in ("NVIDIA H200", "NVIDIA B200"):
    gpu = hardware_of(name)
    seconds = 2 * 128 * 256 * 64 / (gpu.flops["bf16"] / gpu.sms)
    rate = 2 * (128 + 256) * 64 / seconds
    print(f"{name}: {seconds * 1e9:.0f} ns, {rate / 1e9:.0f} GB/s into each of {gpu.sms} SMs", end=", ")
    print(f"{rate * gpu.sms / 1e12:.1f} TB/s in all; pairs of blocks: {rate * gpu.sms / 1.5e12:.1f}")

# %% [markdown]
# The last number is for pairs of blocks: a third fewer bytes. An H200 has no pairs; its multicast saves as many and
# gains nothing (notebook 15). We have not measured whether a B200 needs them.
#
# ## Tensor memory
#
# Tensor memory is a matrix of 32-bit words in each SM, with 128 rows and 512 columns: 256 KiB, as much as the register
# file. PTX calls its rows **lanes**, which are not those of a warp. A 128×256 tile of fp32 accumulators takes a row for
# each row of C and a column for each column of C, so two of them fit.

# %%
show_tensor_memory(columns=256, accumulators=2)

# %% [markdown]
# The tensor cores write all lanes. A warp can read only 32 of them, starting at lane 32 · (warp number modulo 4). So
# four warps read a tile, and a warp's number determines its rows.
#
# No thread *owns* tensor memory. A block allocates columns while it runs, and their number must be a power of two and
# at least 32. If another block on the SM holds too many, the allocation waits until enough are free.
#
# **Predict.** Three accumulators of 96 columns: how many columns does the block allocate?
#
# **Exercise 17.1** (about 4 lines). Write `tmem_columns(n, accumulators)`: the number of columns to allocate for this
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
check("17.1", tmem_columns)

# %% [markdown]
# Three accumulators of 96 columns need 288, so the block allocates 512.
#
# **Exercise 17.2** (about 3 lines). Write `accumulator_place(m, n, accumulator, columns)` → (block, warp, lane, column)
# of the element at row m, column n of an accumulator, where lane and column are those of tensor memory. Accumulators
# are `columns` wide and follow each other without gaps. The warp is one of the block's four epilogue warps, 0 to 3. A
# pair of blocks, which comes later, has a tile of 256 rows: rows 128 to 255 are in block 1's tensor memory.


# %%
def accumulator_place(m, n, accumulator, columns):
    ### BEGIN SOLUTION (about 3 lines)
    block, lane = divmod(m, 128)
    warp = lane // 32
    return block, warp, lane, accumulator * columns + n
    ### END SOLUTION


# %%
check("17.2", accumulator_place)

# %% [markdown]
# ### Allocate and free
#
# | in `cute.arch` | executed by | |
# |---|---|---|
# | `alloc_tmem(columns, address)` | one warp | writes the first column's location to `address`, in shared memory |
# | `relinquish_tmem_alloc_permit()` | the same warp, if it allocates no more | lets the next block on the SM allocate |
# | `retrieve_tmem_ptr(Float32, 16, address)` | any warp | reads the location: a pointer to fp32, aligned to 16 bytes |
# | `dealloc_tmem(pointer, columns)` | one warp | frees the columns |
#
# PTX requires a kernel to free its tensor memory; otherwise the next block on the SM may wait for it forever.
#
# All six warps call a colleague's `allocate` before their work, and `release` after it:
#
# ```python
# def allocate(warp, columns, address):
#     if warp == 4:
#         cute.arch.alloc_tmem(columns, address)
#     acc = cute.arch.retrieve_tmem_ptr(Float32, 16, address)
#     cute.arch.sync_threads()
#     return acc
#
# def release(warp, columns, acc):
#     if warp == 4:
#         cute.arch.relinquish_tmem_alloc_permit()
#         cute.arch.dealloc_tmem(acc, columns)
#     cute.arch.sync_threads()
# ```
#
# **Exercise 17.3** (about 5 and 3 lines). Write your own. Theirs has three faults, and one of them costs time only: for
# each call, say which other warp or block it affects, and when. One barrier of the block is enough in each function.
# The check simulates a small GEMM around yours.


# %%
@cute.jit
def allocate(warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer):
    ### BEGIN SOLUTION (about 5 lines)
    if warp == 4:
        cute.arch.alloc_tmem(columns, address)
        cute.arch.relinquish_tmem_alloc_permit()
    cute.arch.sync_threads()
    return cute.arch.retrieve_tmem_ptr(Float32, 16, address)
    ### END SOLUTION


@cute.jit
def release(warp: Int32, columns: cutlass.Constexpr, acc: cute.Pointer):
    ### BEGIN SOLUTION (about 3 lines)
    cute.arch.sync_threads()
    if warp == 4:
        cute.arch.dealloc_tmem(acc, columns)
    ### END SOLUTION


tensor_memory = allocate, release

# %%
check("17.3", tensor_memory)

# %% [markdown]
# The colleague's warps read the address before the barrier, when warp 4 may not have written it. Warp 4 frees the
# columns before the barrier, when other warps may still read them. The late relinquish costs time only, of a second
# block on the SM.
#
# Your barrier in `allocate` has a second job: before it, one warp initializes the mbarriers.
#
# ## tcgen05.mma
#
# One bf16 instruction multiplies M × 16 by 16 × N and adds the product to M × N accumulators in tensor memory. M is 64
# or 128, in a pair of blocks 128 or 256, half of the rows in each; N is at most 256
# ([Matrix Shape](https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-matrix-shape)). In PTX, the operands
# are the accumulators' address, the descriptors of A and B, one of shape and types, four masks of lanes not to write,
# and a predicate: add to the accumulators, or overwrite them. `kind::f16` is for fp16 and bf16;
# `collector::a::discard`: A is not kept for reuse. A K tile of 64 takes four instructions:

# %%
alone = compile_cute(make_blackwell_gemm(), [TensorSpec((4096, 4096), "bf16")] * 3, "sm_100a")
print(*(line.strip()[:120] for line in alone.ptx.splitlines() if "tcgen05.mma" in line), sep="\n")

# %% [markdown]
# CuTe describes an instruction by an op, from which `cute.make_tiled_mma(op)` makes the TiledMma:
#
# ```python
# tcgen05.MmaF16BF16Op(type of A and B, type of the accumulators, (M, N, K), group, source of A, major of A, major of B)
# ```
#
# The group is `tcgen05.CtaGroup.ONE` or `.TWO`, for a block or a pair; the source is `tcgen05.OperandSource.SMEM`; A
# and B are K-major, `OperandMajorMode.K`. One instruction takes all of the tile's M and N, and 16 of its K. As on
# Hopper, `tiled_mma.set(tcgen05.Field.ACCUMULATE, adds)` sets the predicate of the multiplications that follow, and
# `cute.gemm(tiled_mma, acc, a, b, acc)` issues one. It elects its thread itself.
#
# **Exercise 17.4** (about 4 and 4 lines). Write `make_umma(tile, pair)`, where `tile` is (M, N, K) of the block or of
# the pair. Then write `issue(tiled_mma, acc, tCrA, tCrB, first)`, which multiplies one stage: one instruction for each
# K block; `tCrA` has four of them, or two if the K tile is 32. `acc` is one accumulator; `tCrA` and `tCrB` are the
# stage's descriptors, (1, 1, K blocks). `first`, a run-time Boolean, says that this is the first K tile of a tile of C
# (its opposite is `not first`). Which of the multiplications may overwrite the accumulator?

# %%
from contextlib import suppress

from cutlass.cute.nvgpu import OperandMajorMode, tcgen05


# %%
def make_umma(tile, pair):
    ### BEGIN SOLUTION (about 4 lines)
    group = tcgen05.CtaGroup.TWO if pair else tcgen05.CtaGroup.ONE
    smem, k_major = tcgen05.OperandSource.SMEM, OperandMajorMode.K
    op = tcgen05.MmaF16BF16Op(BFloat16, Float32, (tile[0], tile[1], 16), group, smem, k_major, k_major)
    return cute.make_tiled_mma(op)
    ### END SOLUTION


@cute.jit
def issue(tiled_mma: cute.TiledMma, acc: cute.Tensor, tCrA: cute.Tensor, tCrB: cute.Tensor, first: Boolean):
    ### BEGIN SOLUTION (about 4 lines)
    for k_block in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
        adds = True if k_block > 0 else Boolean(first) == Boolean(False)
        tiled_mma.set(tcgen05.Field.ACCUMULATE, adds)
        cute.gemm(tiled_mma, acc, tCrA[None, None, k_block], tCrB[None, None, k_block], acc)
    ### END SOLUTION


mma = make_umma, issue

# %%
check("17.4", mma)

# %% [markdown]
# Only K block 0 of a tile's first K tile overwrites: it clears what the last tile left.
#
# ### Commit
#
# The instruction returns at once. `tcgen05.commit(barrier)` asks for one arrival at an mbarrier, to be made *when
# everything that this thread has issued so far is complete*. The thread itself goes on. Any warp that needs the result
# waits at the mbarrier.
#
# Two roles wait for multiplications: the producer, before it overwrites the stage that they read, and the epilogue,
# before it reads the accumulators. So the kernel has a ring of stages and a ring of accumulators, with two mbarriers
# each:
#
# | mbarrier | one per | a phase ends with | waiting role |
# |---|---|---|---|
# | `full` | stage | 1 arrival and the bytes that it announces | MMA warp |
# | `empty` | stage | a commit | TMA warp |
# | `ready` | accumulator | a commit | epilogue |
# | `free` | accumulator | 4 arrivals, one from each epilogue warp | MMA warp |
#
# **Predict.** The MMA warp commits to `empty` right after it issues a stage's multiplications. In notebook 15 an
# `mbarrier_arrive` at that place was a bug. Why is a commit right?
#
# ## Three loops
#
# A block computes `steps.tiles` tiles of C, one after the other, and a tile takes `steps.k_tiles` K tiles. The rings do
# not start over at a new tile: index and phase carry on. Your loops need these of `steps`:
#
# | | |
# |---|---|
# | `full`, `empty`, `ready`, `free` | the first mbarrier of each kind; add a stage or an accumulator |
# | `tiles` | known at run time |
# | `k_tiles`, `stages`, `accumulators`, `parts` | known at compile time; `parts`: of an accumulator's columns |
# | `stage_bytes` | what a stage's loads bring |
#
# and its four steps:

# %%
from inspect import signature

for step in (TileSteps.load, TileSteps.multiply, TileSteps.read, TileSteps.write):
    print(f"{step.__name__}{signature(step)}: {step.__doc__}")

# %% [markdown]
# A colleague makes the producer's pipeline state anew for each tile of C, as in 15.3. With four stages and K = 512 it
# passes every test. **Predict:** what happens at K = 256, and what at K = 320?
#
# **Exercise 17.5** (about 11 lines). Write `produce(steps)`, the TMA warp's loop, for every K: the K tiles of all of
# the block's tiles go round the ring, each loaded as early as its stage allows, with one wait for each. `number` in
# `steps.load(number, k_tile, stage)` counts the block's own tiles from 0; the whole warp calls it, as in notebook 15.
# The block must not end while a commit to one of its mbarriers is in flight, and no load waits for the last ones. Which
# waits are missing, and what do you know of their phases?

# %%
from cutlass.pipeline import PipelineUserType, make_pipeline_state


# %%
@cute.jit
def produce(steps: TileSteps):
    ### BEGIN SOLUTION (about 11 lines)
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for number in cutlass.range(steps.tiles, unroll=1):
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
            steps.load(number, k_tile, state.index)
            state.advance()
    for _ in cutlass.range(steps.stages, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
        state.advance()
    ### END SOLUTION


# %%
check("17.5", produce)

# %% [markdown]
# The colleague's loop is right after an even number of rounds, where K is a multiple of 2 · 4 · 64 = 512. At K = 256,
# one round, the second tile's first waits pass at once, and stages are overwritten before they are read: a wrong
# result. At K = 320 a tile has five K tiles. In the second tile the loop waits until stage 1 is read for the second
# time, and the MMA warp until it is filled for the second time: a deadlock. At the end the state carries on, too: wait
# as for one more load into each stage.
#
# A commit to `empty` is right, because it arrives when the multiplications are complete. `mbarrier_arrive` would arrive
# at once, when they may still read the stage.
#
# The MMA warp connects the two rings: it consumes stages, and *produces* accumulators.
#
# **Exercise 17.6** (about 14 lines). Write `multiply(steps)`. The table says what this warp waits for and commits to.
# `steps.multiply(stage, accumulator, first)` calls your `issue` and elects its thread itself; `first` may be a run-time
# value. One thread issues a commit, under `with cute.arch.elect_one():`. (A warp elects the same lane each time, so the
# thread that commits is the one that multiplied.) This warp never waits for its own multiplications.


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
check("17.6", multiply)

# %% [markdown]
# The accumulators' state is a producer's: its first wait for `free` returns at once.
#
# ### The epilogue
#
# An epilogue warp reads its 32 lanes in parts of 64 columns, so each thread holds 64 accumulators of one row.
# `steps.read(accumulator, part)` issues that load, `tcgen05.ld`, which is asynchronous too: the registers are valid
# after `tcgen05.wait::ld`, which CuTe calls `cute.arch.fence_view_async_tmem_load()`. `steps.write(number, part)` is
# notebook 14's epilogue: round, store into a swizzled box in shared memory, proxy fence, TMA store; it also waits until
# a box may be overwritten.
#
# `free` tells the MMA warp that the reads are over. After `tcgen05.wait::ld`, which the whole warp executes, they are,
# in all 32 lanes. `mbarrier_arrive` is a *release*, and the wait for the mbarrier an *acquire*: together they order
# what was over before the arrival.
# (The [tcgen05.fence](https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-special-sync-operations-fence)
# that orders tcgen05 instructions after a wait is in `steps.read` and `steps.multiply`.)
#
# When can the tensor cores have the accumulator back? Compare one accumulator with two, for three tiles of four K
# tiles:

# %%
show_handover(1, 2)

# %% [markdown]
# With one accumulator, the tensor cores are idle in ticks 14 to 21: the epilogue reads tile 0's last part only in tick
# 20, and the MMA warp issues in 21. With two, they are never idle as long as a tile's epilogue takes no longer than the
# next tile's main loop.
#
# **Exercise 17.7** (about 11 lines). Write `store(steps)`, the loop of each of the four epilogue warps. Every tile has
# `steps.parts` parts, each with a `steps.read(accumulator, part)` and a `steps.write(number, part)`. One lane of each
# warp arrives at `free`, as early as it safely can. After which part, and before or after its write?


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
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive(steps.free + acc.index)
            steps.write(number, part)
        acc.advance()
    ### END SOLUTION


# %%
check("17.7", store)

# %% [markdown]
# After the last part is in registers, and before its write: a write needs no tensor memory.
#
# ## From loops to a kernel
#
# The four steps that your loops call are the course's, around your `issue`. `steps.read`'s copy, `32x32b.x64`, comes
# from `make_t2r`.
#
# ### The kernel, and its launch
#
# `make_block` is notebook 14's setup, with two rings in place of one: it allocates shared memory, initializes the
# mbarriers and cuts the matrices into boxes. It returns a block with `block.warp`, the warp's number; `block.address`,
# for `alloc_tmem`; and `block.steps_in(acc)`, your loops' steps, given the pointer that `allocate` returns.
#
# The kernel is persistent: block i computes the tiles i, i + blocks, i + 2 · blocks, … Its functions are collected in
# one object, `Parts(make_umma, issue, make_t2r, allocate, release, produce, multiply, store)`.
#
# **Exercise 17.8** (about 19 and 6 lines). Write a kernel of your own, `blackwell_kernel(a, b, c, tiled_mma, sizes,
# config, parts)`, and the host function that `make_gemm` returns.
#
# - Arguments: the first three are annotated `Tma`, `tiled_mma` is a `cute.TiledMma`, and the last three are
#   `cutlass.Constexpr` (so each shape compiles anew).
# - Kernel: it begins with `block = make_block(…)`, of these seven arguments, and allocates `config.columns` columns at
#   `block.address`. Take every function from `parts`: the kernel serves for a pair, too.
# - Roles: warp 5 loads, warp 4 multiplies, warps 0 to 3 store.
# - Launch: `tma_atoms(a, b, c, config)` returns the kernel's first three arguments. `sizes` is (tiles of C along M,
#   along N, K tiles, blocks); partial tiles count. Launch `sms` blocks of six warps, but never more than tiles. Pass no
#   `smem=`.
#
# Your `produce` waits for commits, your `release` for tensor memory. Which operation may still use the block's memory
# when it ends?


# %%
# blackwell_kernel(a, b, c, tiled_mma, sizes, config, parts)
### BEGIN SOLUTION (about 19 lines)
@cute.kernel
def blackwell_kernel(
    a: Tma,
    b: Tma,
    c: Tma,
    tiled_mma: cute.TiledMma,
    sizes: cutlass.Constexpr,
    config: cutlass.Constexpr,
    parts: cutlass.Constexpr,
):
    block = make_block(a, b, c, tiled_mma, sizes, config, parts)
    acc = parts.allocate(block.warp, config.columns, block.address)
    steps = block.steps_in(acc)
    if block.warp == 5:
        parts.produce(steps)
    if block.warp == 4:
        parts.multiply(steps)
    if block.warp < 4:
        parts.store(steps)
        cute.arch.cp_async_bulk_wait_group(0, read=True)
    parts.release(block.warp, config.columns, acc)


### END SOLUTION


alone_parts = Parts(make_umma, issue, make_t2r, allocate, release, produce, multiply, store)


def make_gemm(config, sms):
    @cute.jit
    def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        bM, bN, bK = config.tile
        tiled_mma = make_umma(config.tile, False)
        ### BEGIN SOLUTION (about 6 lines)
        tiles_m, tiles_n = cute.ceil_div(c.shape[0], bM), cute.ceil_div(c.shape[1], bN)
        k_tiles = cute.ceil_div(a.shape[1], bK)
        blocks = min(tiles_m * tiles_n, sms)
        sizes = tiles_m, tiles_n, k_tiles, blocks
        kernel = blackwell_kernel(*tma_atoms(a, b, c, config), tiled_mma, sizes, config, alone_parts)
        kernel.launch(grid=(blocks, 1, 1), block=(192, 1, 1))
        ### END SOLUTION

    return gemm


# %%
check("17.8", make_gemm)

# %% [markdown]
# TMA may still be reading the boxes of the last tile: the warps that stored them wait,
# `cp_async_bulk_wait_group(0, read=True)`. Here are your kernel's instructions in program order: the TMA warp's, the
# MMA warp's, the epilogue's. The solution waits for `empty`; ×3 for `empty` at the end, `free` and `full`; then for
# `ready`:

# %%
with suppress(NotImplementedError):  # until you have written all of it
    compiled = compile_cute(make_gemm(BlackwellConfig(), SMS), [TensorSpec((4096, 4096), "bf16")] * 3, "sm_100a")
    print(compiled)
    print(f"tensor memory: {allocated_columns(compiled.ptx)} columns")
    print(story(compiled.ptx, BLACKWELL_OPCODES))

# %% [markdown]
# ## Two blocks, one tile
#
# Two blocks whose tiles are in the same columns of C load the same B. In notebook 15 the blocks of a cluster shared
# that load by multicast, but each still held *all* of B's tile in its own shared memory. On Blackwell, two blocks of a
# cluster can form a **pair**: `tcgen05.mma` with `cta_group::2` reads the shared memory of both.

# %%
show_pair()

# %% [markdown]
# Each block loads its own rows of A and *half* of B. One thread issues a 256×256×16 multiplication, and both SMs'
# tensor cores execute it, each for its own rows of C. A stage is smaller, so more stages fit beside two boxes of C for
# each warp, 32 KiB, and 1 KiB for mbarriers and alignment:

# %%
for pair in (False, True):
    bytes, stages = ring_stages(256, pair, 33 * 1024)
    print(f"{'a pair' if pair else 'alone'}: {bytes // 1024} KiB from L2 for each block and K tile, {stages} stages")

# %% [markdown]
# ### Who signals whom
#
# The first block of the pair **leads**: its MMA warp multiplies for both, so it alone waits for `full` and `free`, and
# it must signal the producers and epilogues of both blocks.
#
# | mbarrier | in which block | a phase ends with |
# |---|---|---|
# | `full` | the leader | 1 arrival and both blocks' bytes: all loads report there |
# | `empty`, `ready` | both | a commit of the leader's |
# | `free` | the leader | 8 arrivals: from four epilogue warps in each block |
#
# At hand: `steps.leads`, True in the leading block only; `steps.stage_bytes`, both blocks' bytes; a commit with a mask,
# `tcgen05.commit(barrier, mask, tcgen05.CtaGroup.TWO)`, where `steps.both` is the mask of both blocks; and an arrival
# in another block, `cute.arch.mbarrier_arrive(barrier, steps.leader)`.
#
# **Predict.** Block 1's producer must not overwrite its stage before the tensor cores of *both* SMs have read it. Which
# line ensures that?
#
# **Exercise 17.9** (about 12, 15 and 11 lines). Copy your three loops, and change what the table demands, five lines in
# all: `pair_produce`, `pair_multiply` and `pair_store`. First say for each line: without it, which warp would wait
# forever, or not long enough? The last of seven points is for speed, with no target yet: a right answer gets it on a
# B200, elsewhere a –.


# %%
@cute.jit
def pair_produce(steps: TileSteps):
    ### BEGIN SOLUTION (about 12 lines)
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for number in cutlass.range(steps.tiles, unroll=1):
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
            if steps.leads:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
            steps.load(number, k_tile, state.index)
            state.advance()
    for _ in cutlass.range(steps.stages, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
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
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive(steps.free + acc.index, steps.leader)
            steps.write(number, part)
        acc.advance()
    ### END SOLUTION


pair_loops = pair_produce, pair_multiply, pair_store

# %%
check("17.9", pair_loops)

# %% [markdown]
# ### A pair's kernel
#
# The commit to `empty` protects block 1's stage. With the mask `steps.both` it arrives in both blocks when the
# multiplication is complete, and that runs on both SMs. Without the mask, block 1's producer fills each stage once and
# waits forever.
#
# Around your kernel, three things change:
#
# - **Tensor memory.** Each block of the pair has its own, and both allocate together: `alloc_tmem`,
#   `relinquish_tmem_alloc_permit` and `dealloc_tmem` take `is_two_cta=True`.
# - **The barriers.** `cute.arch.cluster_arrive()` and then `cute.arch.cluster_wait()` are a barrier of the whole
#   cluster.
# - **The launch.** The two blocks of a pair are a cluster, `cluster=(2, 1, 1)`, and have adjacent numbers in the grid.
#   The last of `sizes` counts clusters, and a cluster takes two SMs.
#
# **Exercise 17.10** (about 6, 4 and 6 lines). Write `pair_allocate`, `pair_release` and `make_pair_gemm`, where
# `config.tile` is the pair's, 256 rows. Which of your barriers no longer suffice? (`make_block` and `tma_atoms` read
# from `config` that a block loads half of B's rows.)


# %%
@cute.jit
def pair_allocate(warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer):
    ### BEGIN SOLUTION (about 6 lines)
    if warp == 4:
        cute.arch.alloc_tmem(columns, address, is_two_cta=True)
        cute.arch.relinquish_tmem_alloc_permit(is_two_cta=True)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    return cute.arch.retrieve_tmem_ptr(Float32, 16, address)
    ### END SOLUTION


@cute.jit
def pair_release(warp: Int32, columns: cutlass.Constexpr, acc: cute.Pointer):
    ### BEGIN SOLUTION (about 4 lines)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if warp == 4:
        cute.arch.dealloc_tmem(acc, columns, is_two_cta=True)
    ### END SOLUTION


pair_parts = Parts(make_umma, issue, make_t2r, pair_allocate, pair_release, *pair_loops)


def make_pair_gemm(config, sms):
    @cute.jit
    def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        bM, bN, bK = config.tile
        ### BEGIN SOLUTION (about 6 lines)
        tiles_m, tiles_n = cute.ceil_div(c.shape[0], bM), cute.ceil_div(c.shape[1], bN)
        clusters = min(tiles_m * tiles_n, sms // 2)
        sizes = tiles_m, tiles_n, cute.ceil_div(a.shape[1], bK), clusters
        tiled_mma = make_umma(config.tile, True)
        kernel = blackwell_kernel(*tma_atoms(a, b, c, config), tiled_mma, sizes, config, pair_parts)
        kernel.launch(grid=(2 * clusters, 1, 1), block=(192, 1, 1), cluster=(2, 1, 1))
        ### END SOLUTION

    return gemm


# %%
check("17.10", make_pair_gemm)

# %% [markdown]
# Neither does: the leader's multiplications write block 1's tensor memory, so both must have allocated; each arrives at
# mbarriers of the other, so neither may end first.
#
# ## Speed
#
# [JAX's guide](https://docs.jax.dev/en/latest/pallas/gpu/blackwell_matmul.html) measures a ladder of such kernels on
# Blackwell, in fp16, in percent of the tensor cores' peak:
#
# | a rung, each on top of the last | % of peak | here |
# |---|---|---|
# | one warpgroup for everything | 37.6 | |
# | warps with roles | 45.5 | 17.5 to 17.8 |
# | epilogue in parts, two buffers | 55.8 | 17.7 |
# | pairs | 59.4 | 17.9, 17.10 |
# | persistent | 61.5 | 17.8 |
# | a warpgroup for the epilogue | 63.4, as cuBLAS | 17.6, 17.7 |
# | tiles in blocks of the grid | 69.4, as CUTLASS | notebook 12 |
#
# JAX's order is not this page's: these are not your kernels' gains. There, the order of tiles, which this page leaves
# alone, brings more than pairs. On a B200 the next cell times your kernels.

# %%
with suppress(NotImplementedError):  # until you have written both
    kinds = {"a block": make_gemm(BlackwellConfig(), SMS), "a pair": make_pair_gemm(PAIR, SMS)}
    compare_on_gpu(kinds, sizes=(4096, 8192), needs=TCGEN05)

# %% [markdown]
# ## What to remember
#
# - No thread owns the accumulators, so one warp can multiply while others round. A second ring connects them: `ready`
#   and `free` are to accumulators what `full` and `empty` are to stages.
# - A commit turns the completion of issued work into an arrival.
# - A block allocates tensor memory and must free it; each warp can read a quarter of the lanes.
# - A block may end only after every operation on its memory or mbarriers: loads, stores, commits, and in a pair the
#   other block's arrivals.
#
# ## Test yourself
#
# <details><summary>1. The epilogue has five warps, numbered 0 to 4. Which lanes can the fifth one read, and does it
# help?</summary>
#
# Lanes 0 to 31, like warp 0. That does not help: the other three have as much to do as before.
#
# </details>
#
# <details><summary>2. A tile of 128×192: how many accumulators fit, and how many columns does the block
# allocate?</summary>
#
# Two: they take 384 columns, three would take 576. The block allocates 512, a power of two.
#
# </details>
#
# <details><summary>3. Blocks compute the tiles i, i + blocks, … Why may notebook 12's order be faster?</summary>
#
# Blocks that run together then compute a compact part of C, and load fewer different rows of A and B into L2.
#
# </details>

# %% [markdown]
# ## Appendix: Numbers with a shared scale
#
# Formats of 8 and 4 bits share a scale for each block of elements. On Hopper, an FP8 kernel's threads apply such scales
# between two groups of wgmmas. On Blackwell no thread holds the accumulators, so the tensor cores apply the scales. Two
# of the formats:
#
# | | element | scale | per | plus |
# |---|---|---|---|---|
# | **mxfp8** | e4m3, up to 448 | ue8m0: a power of two, 8 bits of exponent | 32 elements along K | |
# | **nvfp4** | e2m1: 0, ½, 1, 1½, 2, 3, 4, 6 | e4m3 | 16 elements along K | one fp32 for the tensor |
#
# For each block along K, the tensor cores add up the products of the unscaled elements and multiply the sum by both
# scales, once. In PTX these are the kinds `mxf8f6f4` and `mxf4nvf4` of `tcgen05.mma`.
#
# The picture has 16 of 32 random numbers, x, the stored elements with their codes in hex (e4m3, e2m1), and their values
# after scaling (mxfp8, nvfp4):

# %%
import random

rng = random.Random(15)
numbers = [rng.gauss(0, 1) for _ in range(32)]
show_scaled(numbers, tensor_scale=0.05)

# %% [markdown]
# e4m3 has about the same *relative* error everywhere. e2m1 has eight magnitudes, so a number much smaller than the
# block's largest becomes 0.
#
# **Exercise 17.11** (about 6 lines). Write `quantize_mx(block)` → (exponent, elements) for a list of 32 numbers, as the
# OCP's MX specification defines it. The exponent is floor(log2 of the largest magnitude) − 8, where 8 is the exponent
# of e4m3's largest number; it is at least −127 and at most 127, and −127 if all are zero. The elements are a list of
# floats: each number divided by 2^exponent, clipped to ±448, and rounded to the nearest e4m3, ties to even. torch can
# round: `tensor.to(torch.float8_e4m3fn)`.


# %%
def quantize_mx(block):
    ### BEGIN SOLUTION (about 6 lines)
    numbers = torch.tensor(block, dtype=torch.float64)
    largest = numbers.abs().max()
    exponent = int(torch.frexp(largest).exponent) - 1 - 8 if largest > 0 else -127
    exponent = max(-127, min(127, exponent))
    elements = (numbers / 2.0**exponent).clamp(-448, 448).to(torch.float8_e4m3fn)
    return exponent, elements.tolist()
    ### END SOLUTION


# %%
check("17.11", quantize_mx)

# %% [markdown]
# Scaled, a block's largest element is anywhere from 256 to 512, and above 448 it is clipped. With eight magnitudes,
# nvfp4 cannot afford that: its scale is an e4m3, which maps the largest element to about 6. e4m3 covers only 2⁻⁹ to
# 448, so one fp32 scale brings the tensor into that range.
#
# **Exercise 17.12** (about 8 lines). Write `quantize_nv(block, tensor_scale)` → (scale, elements) for 16 numbers. The
# scale is the largest magnitude / 6 / tensor_scale, rounded to the nearest e4m3, at most 448. The elements are a list
# of floats: each number divided by the *rounded* scale and by tensor_scale, rounded to the nearest e2m1 (in a tie, to
# the one with the even code), at most 6. The codes 0 to 7 are the magnitudes in ascending order. If the scale is 0, all
# elements are 0.


# %%
def quantize_nv(block, tensor_scale):
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
check("17.12", quantize_nv)

# %% [markdown]
# Compare the formats' errors: of dot products of 512 random numbers, with every 64th number of `a` 20 times larger, and
# with all of `a` 2¹² times smaller.


# %%
def in_blocks(row, form):
    """A row as (scale, elements), by the course's functions."""
    if form == "mxfp8":
        made = [block_formats.quantize_mx(row[at : at + 32]) for at in range(0, len(row), 32)]
        return [(2.0**exponent, elements) for exponent, elements in made]
    if form == "nvfp4":
        tensor_scale = max(map(abs, row)) / 6 / 448
        made = [block_formats.quantize_nv(row[at : at + 16], tensor_scale) for at in range(0, len(row), 16)]
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
# e4m3 without scales has a smaller error than mxfp8 within its range, 2⁻⁹ to 448. In the last column the numbers are
# outside, and almost nothing of the product is left, while the errors with scales stay the same. An mxfp8 scale buys
# *range*, not precision: what it clips above 448 costs some, most with outliers, their blocks' largest numbers. nvfp4
# has a smaller error with outliers: it maps them to about 6, a magnitude of e2m1.

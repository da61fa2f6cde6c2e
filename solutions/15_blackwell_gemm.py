# ---
# jupyter:
#   tutorlib:
#     minutes: 110
#     appendix: 30
#     summary: Tensor memory, one thread that multiplies, six warps, pairs of blocks. Only a timing needs a Blackwell.
# ---

# %% [markdown]
# # 15 · A Blackwell GEMM
#
# On Hopper the tensor cores read their operands from shared memory, but the accumulators are in registers, 128 in each
# of 256 threads, and it takes all 128 threads of a warpgroup to issue a multiplication. What does a kernel look like
# when the accumulators leave the registers too, and *one* thread issues a multiplication?
#
# First you place the accumulators in tensor memory. Then you write the loops of the kernel's three roles, the parts
# that they need, and the kernel made of both, for one block and then for two that multiply together. (The numbers of
# the exercises do not follow the page.) **This notebook's kernel has never run on a Blackwell GPU**, because none was
# available when the course was made. Instead, `check` compiles the kernel for two Blackwell architectures, inspects its
# instructions, and runs it in the simulator, which checks its results and looks for hazards. On a Blackwell GPU it also
# runs the kernel itself, as in notebook 13.
#
# The problem is notebook 09's: C = A · Bᵀ, `gemm(a, b, c)`, bf16, accumulated in fp32.
#
# > **After this page you can** allocate tensor memory and say which warp may read which part of it, make a TiledMma and
# > issue it from one thread, make other warps wait until multiplications are complete, copy accumulators out of tensor
# > memory, give six warps their roles in one kernel and launch it, and let two blocks share a tile. After the appendix,
# > you can also quantize to mxfp8 and nvfp4.
# >
# > **It takes** about 110 minutes, on any machine; its appendix about 30 more, on four-bit and eight-bit numbers with a
# > shared scale.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass import BFloat16, Boolean, Float32, Int32

from tutorlib import (
    BLACKWELL_OPCODES, TCGEN05, TensorSpec, allocated_columns, block_formats, check, compare_on_gpu, compile_cute,
    hardware_of, ring_stages, show_blackwell, show_block, show_handover, show_pair, show_scaled, show_source,
    show_tensor_memory, story,
)  # fmt: skip
from tutorlib.kernels.blackwell import (
    PAIR, SMS, BlackwellConfig, Block, Parts, TileSteps, Tma, await_empty, fence_before, make_blackwell_gemm,
    make_block, make_drain, tma_atoms,
)  # fmt: skip

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
# The next picture has two tiles of C, of five K tiles each, on a time axis. It is computed from what each role waits
# for in the course's loops. Issuing an instruction takes 1 tick, a load is in flight for 4, and the tensor cores need 2
# for a K tile. The epilogue reads 64 columns in 1 tick and writes them in 1. (The durations are assumed; the
# dependences are the kernel's.) Tile 0 is blue and tile 1 red; a number is a K tile or, in the epilogue, a group of 64
# columns. In a stage's row pale means that the bytes have landed, and dark that the tensor cores read them; in an
# epilogue warp's row dark is a read and pale a write. Find the tick at which tile 0's accumulators pass to the
# epilogue. What do the tensor cores do then?

# %%
show_block()

# %% [markdown]
# The MMA warp issues four K tiles in four ticks and is then ahead of the tensor cores: issuing is not multiplying.
# Tile 0 is complete at tick 16. In that tick the epilogue begins to read it from one accumulator, and the tensor cores
# begin to fill the other. Every hatched cell is a wait at an mbarrier. In the exercises you write these waits, and the
# arrivals that end them.
#
# One thing gets harder on Blackwell: the tensor cores consume their operands faster. From the datasheets, the next
# cell computes how long one SM takes to multiply a K tile of 128×256×64, and the rate at which A and B must arrive:

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
# at least 32. If another block on the SM holds too many, the allocation waits until enough are free.
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
# Three accumulators of 96 columns need 288, so the block allocates 512. (The kernel at the end calls neither this
# function nor the next one: its `config.columns` is this number, and the copy of 15.12 finds the place.)
#
# Where in tensor memory is a given element of C, and which warp can read it? A pair of blocks, which comes later on
# this page, has a tile of 256 rows: rows 0 to 127 are in block 0's tensor memory, rows 128 to 255 in block 1's.
#
# **Exercise 15.2** (about 3 lines). Write `accumulator_place(m, n, accumulator, columns)` → (block, warp, lane, column)
# of the element at row m, column n of an accumulator, where lane and column are those of tensor memory. Accumulators
# are `columns` wide and follow each other without gaps. The warp is one of that block's four epilogue warps, 0 to 3.


# %%
def accumulator_place(m, n, accumulator, columns):
    ### BEGIN SOLUTION (about 3 lines)
    block, lane = divmod(m, 128)
    warp = lane // 32
    return block, warp, lane, accumulator * columns + n
    ### END SOLUTION


# %%
check("15.2", accumulator_place)

# %% [markdown]
# ### Allocate and free
#
# All lanes of one warp call `cute.arch.alloc_tmem(columns, address)`, which writes the location of the first column to
# shared memory, at `address`. The block then gives up its right to allocate, so that the next block on the SM can:
# `cute.arch.relinquish_tmem_alloc_permit()`. The other warps may read the location once they know that it has been
# written: `cute.arch.retrieve_tmem_ptr(Float32, 16, address)` returns it as a pointer to fp32 that is aligned to 16
# bytes. When no warp uses the columns any longer, one warp frees them with `cute.arch.dealloc_tmem(pointer, columns)`.
# PTX requires this last step of every kernel ([tcgen05.alloc,
# dealloc](https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-instructions-tcgen05-alloc-dealloc-relinquish-alloc-permit)):
# unlike shared memory, tensor memory does not come free by itself when the block ends, and the next block on the SM may
# wait for it forever.
#
# **Exercise 15.3** (about 5 and 3 lines). All six warps of the block call both of your functions, `allocate` before
# their work and `release` after it. Warp 4 allocates, relinquishes and frees. `allocate` returns the pointer in every
# warp. Where do all warps need a barrier, `cute.arch.sync_threads()`?
#
# The check compiles a kernel around your functions for sm_100a and sm_103a, reads from the PTX how many columns it
# allocates and frees, and simulates a small GEMM.


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
check("15.3", tensor_memory)

# %% [markdown]
# Your barrier in `allocate` will do a second job in the kernel at the end of this page: one warp initializes the
# mbarriers, and no other warp may use them before.
#
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
# For a pair, M counts the rows of both blocks, so each has 64 or 128. Does the DSL accept the same shapes? Ask it,
# in a function compiled for sm_100a, since the answer depends on the target:


# %%
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05

# %%
from contextlib import suppress


def accepted(m, group):
    """The N that the DSL takes for this M, as first, last and step."""
    found = []
    for n in range(1, 513):
        with suppress(Exception):
            smem = tcgen05.OperandSource.SMEM
            tcgen05.MmaF16BF16Op(BFloat16, Float32, (m, n, 16), group, smem, OperandMajorMode.K, OperandMajorMode.K)
            found.append(n)
    return f"{found[0]} to {found[-1]} in steps of {found[1] - found[0]}" if found else "none"


def all_accepted():
    for group in (tcgen05.CtaGroup.ONE, tcgen05.CtaGroup.TWO):
        for m in (32, 64, 128, 256):
            print(f"{group!s:13} M = {m:3}: N {accepted(m, group)}")


@cute.jit
def for_blackwell():
    all_accepted()


_ = cute.compile(for_blackwell, options="--gpu-arch sm_100a")

# %% [markdown]
# The DSL takes the table's shapes and, of these M, no others.
#
# In PTX, the operands are the accumulators' address, the descriptors of A and B (64 bits each, as in notebook 13), a
# 32-bit descriptor of shape and types, four registers that mask lanes (here none), and a predicate that says whether to
# add to the accumulators or to overwrite them. (`.collector::a::discard` means that the tensor cores need not keep A
# for the next instruction.) A K tile of 64 takes four instructions:

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
# A block computes `steps.tiles` tiles of C, one after the other, and a tile takes `steps.k_tiles` K tiles. The rings do
# not start over at a new tile: index and phase carry on. Your loops need the four kinds of mbarriers, the numbers
# `tiles`, `k_tiles`, `stages`, `accumulators`, `stage_bytes` and `parts`, and the four steps at the end: `load`,
# `multiply`, `read` and `write`. The other fields serve these steps. (`leads`, `rank`, `both` and `leader` are for
# pairs of blocks. Skip them for now: without a pair, `leads` is True.)

# %%
show_source(TileSteps)

# %% [markdown]
# **Exercise 15.4** (about 8 lines). Write `produce(steps)`, the TMA warp's loop: notebook 14's producer with a loop
# over tiles around it. As there, one lane announces `steps.stage_bytes` with `mbarrier_arrive_and_expect_tx`, under
# `elect_one`, and all lanes call `steps.load(number, k_tile, stage)`, where `number` counts the block's own tiles from
# 0. Nothing in the loop marks the start of a new tile, and its only wait is for `empty`.


# %%
from cutlass.pipeline import PipelineUserType, make_pipeline_state


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
# (The prediction: `mbarrier_arrive` arrives at once, when the multiplications may still read the stage. A commit
# arrives when they are complete.)
#
# The MMA warp connects the two rings. It consumes stages, and it *produces* accumulators: before it fills one, it
# waits until that accumulator is free. Decide for each of its two pipeline states: is it a consumer's or a producer's?
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
# The state of the stages is a consumer's. That of the accumulators is a producer's, so its first wait for `free`
# returns at once.
#
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
# `steps.read(accumulator, part)` issues that load, `tcgen05.ld`, which is asynchronous too: the registers are valid
# after `tcgen05.wait::ld`, which CuTe calls `cute.arch.fence_view_async_tmem_load()`. `steps.write(number, part)` then
# does what notebook 13's epilogue did: round, store into a swizzled box in shared memory, proxy fence, TMA store. Each
# warp has its own boxes.
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
# `tcgen05.fence::before_thread_sync`, arrive. There the arrival is relaxed. `mbarrier_arrive` releases: it orders every
# read that is complete, and after `tcgen05.wait::ld` yours is. So the check accepts your loop without the fence, too.
#
# When can the tensor cores have the accumulator back? Compare one accumulator with two, in the same ticks, for three
# tiles of four K tiles:

# %%
show_handover(1, 2)

# %% [markdown]
# With one accumulator, the tensor cores are idle from tick 14, when tile 0 is complete, to tick 21: the epilogue reads
# the tile's last part only in tick 20. The MMA warp does not wait for that part to be written, because the accumulator
# is freed first: it issues tile 1's first multiplication in tick 21, and the tensor cores begin in tick 22. With two,
# the tensor cores are never idle as long as a tile's epilogue takes no longer than the next tile's main loop; here both
# take 8 ticks.
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
# If your epilogue freed its accumulator only after it had written the last part, would the picture of two accumulators
# change? It would not: the MMA warp never waits for `free` there. With one accumulator, the gap between tiles would be
# one tick longer.
#
# ## From loops to a kernel
#
# Your loops call four steps that the course provides. `steps.load` and `steps.write` are notebook 13's: a `cute.copy`
# by TMA, and the path from registers through a swizzled box to C. `steps.multiply` and `steps.read` are new, and so is
# the kernel around the loops. You write the core of both steps now, and then the kernel.
#
# ### The TiledMma
#
# CuTe describes an instruction by an op. You have seen its arguments in `accepted`: the type of A and B, the type of
# the accumulators, the instruction's shape (M, N, K), the `CtaGroup`, where A comes from (shared memory here; it may
# also be in tensor memory), and the mode in which A and B are contiguous (K here, for both). `cute.make_tiled_mma(op)`
# makes the TiledMma. On Hopper you also said how two warpgroups share a tile; here one instruction takes all of the
# tile's M and N, and 16 of its K.
#
# `steps.multiply(stage, accumulator, first)` orders tensor memory with the `::after_thread_sync` fence and then calls
# your `issue(tiled_mma, acc, tCrA, tCrB, first)`. Here `acc` is one accumulator, of shape ((128, N), 1, 1), and `tCrA`
# and `tCrB` are one stage's descriptors, of shape (1, 1, K blocks). `tiled_mma.set(tcgen05.Field.ACCUMULATE, adds)`
# sets the predicate of the multiplications that follow, and `adds` may be a run-time Boolean. `cute.gemm(tiled_mma,
# acc, a, b, acc)` issues one multiplication, and elects its thread itself.
#
# **Exercise 15.7** (about 4 and 4 lines). Write `make_umma(tile, pair)`, where `tile` is (M, N, K) of the block or of
# the pair, and `issue`, which issues one multiplication for each K block of tCrA. (The check also calls it for half of
# a K tile.) Which of the multiplications may overwrite the accumulator?


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
check("15.7", mma)

# %% [markdown]
# Only the first K block of a tile's first K tile overwrites the accumulator; `first` is about that one, and all others
# add.
#
# A TiledMma partitions a tile among its threads. Yours has one "thread" for each block. How much of the tile does it
# own?


# %%
@cute.jit
def who_owns_what():
    tiled_mma = make_umma((128, 256, 64), False)
    print("threads:", tiled_mma.size)
    print("A:", tiled_mma.partition_shape_A((128, 64)), "  B:", tiled_mma.partition_shape_B((256, 64)))
    print("accumulators:", tiled_mma.partition_shape_C((128, 256)))


with suppress(NotImplementedError):  # until you have written make_umma
    cute.compile(who_owns_what, options="--gpu-arch sm_100a")

# %% [markdown]
# All of it, so there is nothing to partition: `(128, 16)` is one instruction's A, and a K tile takes four.
#
# ### From tensor memory to registers
#
# `tcgen05.ld` has several shapes. With `32x32b.x64`, lane l of a warp reads 64 columns of its own row in tensor memory
# into 64 registers. CuTe's name is `tcgen05.Ld32x32bOp(tcgen05.Repetition.x64)`, from which `cute.make_copy_atom(op,
# Float32)` makes an atom. `tcgen05.make_tmem_copy(atom, tensor)` tiles it over the four epilogue warps, for a tensor of
# 128 rows and 64 columns in tensor memory. The result is a TiledCopy like those of notebook 05: `get_slice(thread)`,
# `partition_S` and `partition_D`.
#
# The accumulators are wider than 64 columns. `cute.flat_divide(acc, (128, 64))` cuts `acc`, which has the shape (128,
# N, accumulators), into parts; the result has the shape (128, 64, 1, parts, accumulators). (The 1 is the number of
# parts along M.)
#
# **Exercise 15.12** (about 7 lines). Write `make_t2r(acc, thread)`, where `thread` is 0 to 127. It returns three
# things:
#
# - `t2r`, the TiledCopy of one part;
# - `tTtC`, its source: what this thread reads of tensor memory, of shape (values, 1, 1, parts, accumulators);
# - `tTrC`, its target: `cute.make_rmem_tensor(shape, Float32)`, with the shape that `partition_D` gives a thread of any
#   128×64 tensor, for example of `cute.make_identity_tensor((128, 64))`.
#
# `steps.read(accumulator, part)` then is the `::after_thread_sync` fence and `cute.copy(t2r, tTtC[None, None, None,
# part, accumulator], tTrC)`.


# %%
def make_t2r(acc, thread):
    ### BEGIN SOLUTION (about 7 lines)
    parts = cute.flat_divide(acc, (128, 64))  # (128, 64, 1, parts, accumulators)
    atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), Float32)
    t2r = tcgen05.make_tmem_copy(atom, parts[None, None, 0, 0, 0])
    mine = t2r.get_slice(thread)
    tTtC = mine.partition_S(parts[None, None, 0, None, None])
    tTrC = cute.make_rmem_tensor(mine.partition_D(cute.make_identity_tensor((128, 64))).shape, Float32)
    return t2r, tTtC, tTrC
    ### END SOLUTION


# %%
check("15.12", make_t2r)

# %% [markdown]
# The course's `make_drain` continues from your three results. From `t2r` it derives the copy to shared memory, so that
# each thread stores the row that it holds, 16 bytes at a time, and it cuts the boxes of C for TMA:

# %%
show_source(make_drain)

# %% [markdown]
# ### The kernel, and its launch
#
# `make_block` is notebook 13's setup, with two rings in place of one: it allocates shared memory, initializes the
# mbarriers and cuts the matrices into boxes. `block.steps_in(acc)` adds the accumulators, which need the pointer that
# your `allocate` returns, and uses your `make_t2r`.

# %%
show_source(make_block, Block, await_empty)

# %% [markdown]
# A block must not end while an operation is in flight that uses its memory or its mbarriers. `release` takes care of
# tensor memory; two cases are left. The last commits arrive at `empty` mbarriers for which no loop waits, so the TMA
# warp calls `await_empty(steps)` after its loop. And TMA may still be reading the boxes of the last tile, so
# each epilogue warp ends with `cute.arch.cp_async_bulk_wait_group(0, read=True)`, as in notebook 13.
#
# The kernel is persistent: `TileWalk` gives block i the tiles i, i + blocks, i + 2 · blocks, … The parts are collected
# in one object, so that the kernel can serve for a pair of blocks too:

# %%
show_source(Parts)

# %% [markdown]
# **Exercise 15.13** (about 11 and 6 lines). Write the kernel: allocate `config.columns` columns at `block.address`,
# make the steps (`block.steps_in(acc)`), run the loop of each role and its wait (`block.warp` 5 loads, 4 multiplies, 0
# to 3 store), and release. Every function comes from `parts`. Then write `make_gemm`'s host function, which is called
# with cute.Tensors of static shape:
#
# - `sizes` is (tiles of C along M, along N, K tiles, blocks). Count partial tiles too. There are at most `sms` blocks,
#   and never more than tiles. (The page passes `SMS`, the 148 SMs of a B200.)
# - `tma_atoms(a, b, c, config)` returns the kernel's first three arguments, made as in 13.9.
# - Launch the blocks, each of six warps. Pass no `smem=`: the launch asks `SmemAllocator` for it.
#
# The check calls `make_gemm` with narrower tiles and with two or three SMs, and simulates the kernel. On a Blackwell
# GPU it runs it.


# %%
alone_parts = Parts(make_umma, issue, make_t2r, allocate, release, produce, multiply, store)


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
    ### BEGIN SOLUTION (about 11 lines)
    acc = parts.allocate(block.warp, config.columns, block.address)
    steps = block.steps_in(acc)
    if block.warp == 5:
        parts.produce(steps)
        await_empty(steps)
    if block.warp == 4:
        parts.multiply(steps)
    if block.warp < 4:
        parts.store(steps)
        cute.arch.cp_async_bulk_wait_group(0, read=True)
    parts.release(block.warp, config.columns, acc)
    ### END SOLUTION


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
check("15.13", make_gemm)

# %% [markdown]
# These are your kernel's instructions in program order, the TMA warp's first, then the MMA warp's, then the epilogue's:

# %%
with suppress(NotImplementedError):  # until you have written all of it
    compiled = compile_cute(make_gemm(BlackwellConfig(), SMS), [TensorSpec((4096, 4096), "bf16")] * 3, "sm_100a")
    print(compiled)
    print(f"tensor memory: {allocated_columns(compiled.ptx)} columns")
    print(story(compiled.ptx, BLACKWELL_OPCODES))

# %% [markdown]
# (The *wait ×3* are the TMA warp's in `await_empty` and the MMA warp's for `free` and `full`. This listing leaves out
# the initialization of the mbarriers and the barriers of the block.)
#
# Compare this with notebook 13's listing. There is no `wgmma.fence` and no `wait_group`, no accumulator reaches a
# register before its tile is complete, and every loop has one job.
#
# An earlier version of the course's own kernel had a race, which the simulator found. Each epilogue warp has two boxes,
# and it chose between them by the part's number alone. With one part per tile, it wrote every tile into the same box,
# which TMA might still be reading. The fix is a line of `TileSteps.write`: `buffer = (number * self.parts + part) %
# buffers`.
#
# ## Two blocks, one tile
#
# For each K tile, a block loads 128 rows of A and 256 rows of B, and two blocks whose tiles are in the same columns of
# C load the same B. In notebook 14 the blocks of a cluster shared that load by multicast, but each of them still held
# *all* of B's tile in its own shared memory. On Blackwell, two blocks of a cluster can form a **pair**: `tcgen05.mma`
# with `cta_group::2` reads the shared memory of both.

# %%
show_pair()

# %% [markdown]
# Each block loads its own rows of A and *half* of B. One thread of the first block issues a 256×256×16 multiplication,
# and both SMs' tensor cores execute it, each for its own rows of C. Each block loads fewer bytes for a K tile, so a
# stage is smaller and more stages fit. A block can have 227 KiB of shared memory; boxes of C and mbarriers take about
# 33 of them:

# %%
for pair in (False, True):
    bytes, stages = ring_stages(256, pair, 33 * 1024)
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
# Your code needs three things. `steps.leads` is True in the leading block only. A commit takes a mask and the group:
# `tcgen05.commit(barrier, steps.both, tcgen05.CtaGroup.TWO)`. And an arrival can name the block whose mbarrier it
# means: `cute.arch.mbarrier_arrive(barrier, steps.leader)`. (`steps.stage_bytes` already counts both blocks' bytes,
# and the loads that `steps.load` issues already report to the leader.)
#
# **Predict.** Block 1's producer must not overwrite its stage before the tensor cores of *both* SMs have read it.
# Which line ensures that?
#
# **Exercise 15.8** (about 9, 15 and 11 lines). Write `pair_produce`, `pair_multiply` and `pair_store`. The simulator
# runs both blocks. An error in one block often shows its symptom in the other. The last of the seven points is for
# speed, in the course's kernel for a pair: without a Blackwell GPU the check prints – instead of ✓ and says that your
# loops are right.


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
# ### A pair's kernel
#
# The line that protects block 1's stage is the commit to `empty`, with the mask `steps.both`: it arrives in both blocks
# when the multiplication is complete, and that runs on both SMs.
#
# The loops of a pair need a kernel for a pair. Three things change:
#
# - **Tensor memory.** Each block of the pair has its own, and both allocate together: `alloc_tmem`,
#   `relinquish_tmem_alloc_permit` and `dealloc_tmem` take `is_two_cta=True`. (PTX requires the same cta_group in all
#   tcgen05 instructions of a kernel.)
# - **The barriers.** `sync_threads` no longer suffices: the leader's multiplications write block 1's tensor memory, and
#   each block arrives at mbarriers of the other. So before the work all warps of *both* blocks must know that tensor
#   memory is allocated and the mbarriers are initialized, and no block may end while the other can still arrive there.
#   `cute.arch.cluster_arrive()` and then `cute.arch.cluster_wait()` are a barrier of the whole cluster and take its
#   place.
# - **The launch.** The two blocks of a pair are a cluster, `cluster=(2, 1, 1)`, and have adjacent numbers in the grid.
#   The last of `sizes` counts clusters, and a cluster takes two SMs.
#
# The kernel itself stays as it is. `make_block` and `tma_atoms` read from `config` that a block loads half of B's rows,
# and that the bytes of both blocks count at the leader's mbarrier (the `group` of the load):

# %%
show_source(tma_atoms)

# %% [markdown]
# **Exercise 15.14** (about 6, 4 and 6 lines). Write `pair_allocate`, `pair_release` and `make_pair_gemm`.


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
check("15.14", make_pair_gemm)

# %% [markdown]
# ## Speed
#
# These kernels have not been timed. On a Blackwell GPU, the next cell times yours: the kernel of single blocks beside
# that of pairs.

# %%
with suppress(NotImplementedError):  # until you have written both
    kinds = {"a block": make_gemm(BlackwellConfig(), SMS), "a pair": make_pair_gemm(PAIR, SMS)}
    compare_on_gpu(kinds, sizes=(4096, 8192), needs=TCGEN05)

# %% [markdown]
# ## What to remember
#
# - No thread owns the accumulators, so one warp can multiply while others round. A second ring connects them: `ready`
#   and `free` are to accumulators what `full` and `empty` are to stages.
# - A commit turns the completion of issued work into an arrival. The thread that multiplies never waits for its own
#   multiplications.
# - An mbarrier alone does not order accesses to tensor memory that are still in flight: they need a `tcgen05.fence`
#   before the arrival and another after the wait. A commit includes the first.
# - A block allocates tensor memory and must free it; each warp can read a quarter of the lanes.
# - A block may end only after every operation that uses its memory or its mbarriers: loads, stores, commits, and in a
#   pair the other block's arrivals.
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
# Two: they take 384 columns, and three would take 576. An allocation is a power of two, so the block allocates 512
# columns and leaves 128 unused.
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
# scales themselves. They support several formats; these are two of them:
#
# | | element | scale | per | plus |
# |---|---|---|---|---|
# | **mxfp8** | e4m3, up to 448 | ue8m0: a power of two, 8 bits of exponent | 32 elements along K | |
# | **nvfp4** | e2m1: 0, ½, 1, 1½, 2, 3, 4, 6 | e4m3 | 16 elements along K | one fp32 for the tensor |
#
# So an element of mxfp8 takes 8¼ bits, one of nvfp4 4½. In PTX these are the kinds `mxf8f6f4` and `mxf4nvf4` of
# `tcgen05.mma` with `.block_scale`. Two more operands are addresses in tensor memory, where `tcgen05.cp` has copied the
# scales from shared memory. (This appendix stops at the formats. The course's simulator has no `tcgen05.cp` and no
# scaled multiplication, so no kernel here uses them.) One instruction takes 32 bytes of K from each row: 32 elements of
# mxfp8, 64 of nvfp4.
#
# The picture has the first 16 of 32 random numbers, x. Below them, for each format: the stored element with its code
# in hex (e4m3, e2m1), and its value after scaling (mxfp8, nvfp4):

# %%
import random

rng = random.Random(15)
numbers = [rng.gauss(0, 1) for _ in range(32)]
show_scaled(numbers, tensor_scale=0.05)

# %% [markdown]
# Compare the rows `mxfp8` and `nvfp4` with `x`, column by column. e4m3 has about the same *relative* error everywhere.
# e2m1 has eight magnitudes, so a number much smaller than the block's largest becomes 0.
#
# **Exercise 15.9** (about 6 lines). Write `quantize_mx(block)` → (exponent, elements) for a list of 32 numbers, as the
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
check("15.9", quantize_mx)

# %% [markdown]
# A scale that must be a power of two is cheap and imprecise: scaled, the block's largest element is anywhere from 256
# to 512, and above 448 it is clipped. With only eight magnitudes, nvfp4 cannot afford that. Its scale is an e4m3,
# which maps the largest element to about 6. But e4m3 itself covers only 2⁻⁹ to 448, so one fp32 scale brings the whole
# tensor into that range.
#
# **Exercise 15.10** (about 8 lines). Write `quantize_nv(block, tensor_scale)` → (scale, elements) for 16 numbers. The
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
check("15.10", quantize_nv)

# %% [markdown]
# For each block along K, the tensor cores add up the products of the unscaled elements and multiply the sum by both
# scales, once.
#
# **Exercise 15.11** (about 4 lines). Write `scaled_dot(a, b)`, one element of C. `a` and `b` are lists of blocks
# (scale, elements), one list for a row of A and one for a row of B. A scale is the factor itself here, not its
# exponent.


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
# e4m3 without scales, the second line, has a smaller error than mxfp8 as long as the numbers are within its range, 2⁻⁹
# to 448. In the last column they are not, and almost nothing of the product is left, while the errors of the formats
# with scales stay the same. A shared scale buys *range*, not precision.
#
# In the first two columns, mxfp8 loses to plain e4m3 because it clips. (Try an exponent larger by 1 wherever the
# largest element would be clipped: then the two do about equally well.) Outliers make that worse: each is nearly
# always the largest of its block, and products with outliers dominate the result. That is why nvfp4 gains from
# them: its scale maps each block's largest element to about 6, which e2m1 stores exactly.

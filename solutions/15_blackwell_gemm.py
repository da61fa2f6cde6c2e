# ---
# jupyter:
#   tutorlib:
#     minutes: 120
#     summary: Tensor memory, one thread that multiplies, pairs of blocks, four-bit numbers. No Blackwell needed.
# ---

# %% [markdown]
# # 15 · A Blackwell GEMM
#
# Hopper's tensor cores read shared memory by themselves, and still the accumulators were in registers: 128 of them in
# each of 256 threads, which therefore had to be there, all together, for every instruction. What does a kernel look
# like when the accumulators are not in registers either, and *one* thread issues a multiplication?
#
# You write its three loops, for one block and then for two that multiply together. And you will do it without the GPU.
# **This notebook's kernel has not been run or timed on a Blackwell GPU**: none was at hand when it was made. Its loops
# are rehearsed, it is compiled for two such GPUs, its instructions are looked at, and they are simulated with data,
# result and all. Where there is such a GPU, it is run and graded like notebook 13's. Speeds on this page are published
# ones, and marked as such.
#
# The problem is that of notebook 09: C = A · Bᵀ, `gemm(a, b, c)`, bf16, accumulated in fp32.
#
# > **After this page you can** allocate tensor memory and say which warp may read what of it, order multiplications
# > from one thread and know when they are over, hand accumulators over between tensor cores and epilogue, let two
# > blocks share a tile, and quantise to mxfp8 and nvfp4 by hand.
# >
# > **It takes** about 120 minutes, on any machine.

# %%
import random
from contextlib import suppress

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import tcgen05
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tutorlib import check
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.ptx import BLACKWELL_OPCODES, allocated_columns, story
from tutorlib.compiling.spec import TensorSpec
from tutorlib.dsl.cute.instructions import fence_before
from tutorlib.draw import show_blackwell, show_handover, show_pair, show_scaled, show_tensor_memory
from tutorlib.kernels.blackwell.config import PAIR, BlackwellConfig
from tutorlib.kernels.blackwell.gemm import Crew, TileLoops, make_blackwell_gemm, make_umma
from tutorlib.kernels.blackwell.holding import Holding
from tutorlib.kernels.blackwell.steps import TileSteps
from tutorlib.machine.features import TCGEN05
from tutorlib.machine.hardware import hardware_of
from tutorlib.models import block_formats
from tutorlib.models import tensor_memory as course
from tutorlib.notebook.source import show_source
from tutorlib.notebook.trials import compare_on_gpu

# %% [markdown]
# ## Who does what
#
# Six warps, three roles. Follow a K tile from 1 to 6, and a tile's accumulators from 7 to 10:

# %%
show_blackwell()

# %% [markdown]
# | | Hopper, notebook 14 | here |
# |---|---|---|
# | the instruction to multiply | `wgmma`, 128 threads together | `tcgen05.mma`, one thread |
# | operands | shared memory, swizzled | shared memory, swizzled in the same way |
# | accumulators | registers of the consumer warps | tensor memory, owned by no thread |
# | "is it over?" | `wait_group`, in the consumer warps | `tcgen05.commit`: an arrival at an mbarrier, for any warp |
# | results | round, then the next tile | other warps round, while the next tile is multiplied |
#
# TMA, the ring and its swizzle stay as they were: `ring_layout` and `boxes` of notebook 13 are in this kernel. New are
# the place of the accumulators and the way to learn that they are complete.
#
# One thing gets harder. From the datasheets, what a K tile of 128×256×64 takes in the tensor cores of one SM, and
# how many bytes that asks of whatever feeds them:

# %%
for name in ("NVIDIA H200", "NVIDIA B200"):
    gpu = hardware_of(name)
    seconds = 2 * 128 * 256 * 64 / (gpu.flops["bf16"] / gpu.sms)
    print(f"{name}: {seconds * 1e9:.0f} ns, {2 * (128 + 256) * 64 / seconds / 1e9:.0f} GB/s into each of {gpu.sms} SMs")

# %% [markdown]
# ## Tensor memory
#
# Each SM has 128 **lanes** of 512 **columns** of 32 bits: 256 KiB, as much as all its registers. A 128×256 tile of fp32
# accumulators takes one lane for each row and one column for each column of C. So there is room for two of them.

# %%
show_tensor_memory(columns=256, accumulators=2)

# %% [markdown]
# Tensor cores write everywhere. Threads do not: a warp may read the 32 lanes from 32 · (its number modulo 4) on, and no
# others. It takes four warps to read a tile, and there is no choice which of them has which rows.
#
# And no thread *owns* tensor memory. A block asks for columns while it runs: a power of two of them, 32 or more. If
# another block on the SM holds them, it waits until they are given back.
#
# **Predict.** Three accumulators of 96 columns: how many columns does the block ask for?
#
# **Exercise 15.1** (about 4 lines). Write `tmem_columns(n, accumulators)`: the columns to allocate for so many
# accumulators of 128×n, which lie side by side. 0 where they do not fit.


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
# Where is a sum, and who can fetch it? In a pair of blocks, which comes later on this page, the tile has 256 rows:
# block 0 has the first 128 in its tensor memory, block 1 the others in its own.
#
# **Exercise 15.2** (about 3 lines). Write `sum_place(m, n, accumulator, columns)` → (block, warp, lane, column) of the
# sum at row m, column n. `columns` is how many an accumulator has; they follow each other. The warp is that of the
# epilogue, 0 to 3.


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
# ### Asking for it, and giving it back
#
# `cute.arch.alloc_tmem(columns, address)` is for one whole warp. It writes where the columns begin into shared memory,
# to `address`. The other warps read it there, once they know that it has been written. At the end a warp frees the
# columns with `cute.arch.dealloc_tmem(pointer, columns)`; by then no warp may still be using them. A block that forgets
# this ends, and the next one on its SM waits forever: it is the only memory of a block that outlives it.
#
# What you get:

# %%
show_source(Holding)

# %% [markdown]
# **Exercise 15.3** (about 7 lines). Write `hold(holding)`, which all six warps run: warp 4 allocates `holding.columns`;
# every warp takes the pointer, `holding.pointer()`, and works, `holding.work(pointer)`; warp 4 frees. Where must all of
# them `holding.meet()`?
#
# It is rehearsed: on the CPU, without data, each warp as late or as early as it may be. Then it is compiled for sm_100a
# and sm_103a, the checker reads how many columns are asked for, and a small GEMM is simulated with it.


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
# `holding.work` makes a view of the tensor memory and sends each warp into its role. This is what becomes of your
# loops:

# %%
show_source(Crew)

# %% [markdown]
# ## tcgen05.mma
#
# One instruction multiplies M × 16 by 16 × N, for bf16, and adds to M × N accumulators in tensor memory.
#
# | blocks | M | N | lanes of each block |
# |---|---|---|---|
# | 1 | 64 | 8 to 256, by 8 | half of them |
# | 1 | 128 | 16 to 256, by 16 | one for each row |
# | 2 | 128 | 32 to 256, by 32 | 64 rows in each block |
# | 2 | 256 | 32 to 256, by 32 | 128 rows in each block |
#
# (These are the shapes of `.kind::f16`, as PTX and the DSL have them. With 8-bit operands along K, N is 8 to 256 in
# steps of 8 for one block, and 16 to 256 in steps of 16 for two.)
#
# CuTe's object for it is a TiledMma of one "thread". What does that one own?


# %%
@cute.jit
def who_owns_what():
    tiled_mma = make_umma(BlackwellConfig())
    print("threads:", tiled_mma.size)
    print("A:", tiled_mma.partition_shape_A((128, 64)), "  B:", tiled_mma.partition_shape_B((256, 64)))
    print("accumulators:", tiled_mma.partition_shape_C((128, 256)))


_ = cute.compile(who_owns_what, options="--gpu-arch sm_100a")

# %% [markdown]
# All of it. There is nothing to partition among threads: `(128, 16)` is one instruction's A, and four of them are a
# K tile. In PTX the operands are two descriptors of 64 bits, as in notebook 13, then 32 bits that say which shapes and
# types, and a predicate: add to what is there, or forget it?

# %%
alone = compile_cute(make_blackwell_gemm(), [TensorSpec((4096, 4096), "bf16")] * 3, "sm_100a")
print(*(line.strip()[:120] for line in alone.ptx.splitlines() if "tcgen05.mma" in line), sep="\n")

# %% [markdown]
# ### Commit
#
# The instruction returns at once. `tcgen05.commit(barrier)` makes an mbarrier hear of the end: *one arrival, as soon as
# everything that this thread has issued so far is over*. It costs the thread nothing. There is no wait for
# multiplications at all: any warp that needs their result waits on the mbarrier.
#
# Two things want to know. The producer: has the stage been read? The epilogue: are the accumulators complete? So the
# kernel has a ring of stages with two mbarriers each, and a ring of accumulators with two each:
#
# | mbarrier | one for each | a phase ends with | who waits |
# |---|---|---|---|
# | `full` | stage | 1 arrival and the bytes that it announces | the MMA warp |
# | `empty` | stage | a commit | the TMA warp |
# | `ready` | accumulator | a commit | the epilogue |
# | `free` | accumulator | 4 arrivals, one of each epilogue warp | the MMA warp |
#
# **Predict.** The MMA warp commits to `empty` right behind its multiplications, and at once goes on to the next stage.
# In notebook 14, doing the same with `mbarrier_arrive` was the bug to look for. Why is it right here?
#
# ## Three loops
#
# All three run over `steps.tiles` tiles of C, one after the other, and over `steps.k_tiles` K tiles in each. Both rings
# just go on from tile to tile.

# %%
show_source(TileSteps)

# %% [markdown]
# **Exercise 15.4** (about 8 lines). Write `produce(steps)`, the TMA warp's loop. It is notebook 14's with a loop around
# it: `steps.load(number, k_tile, stage)` wants to know of which tile. Nothing in it tells that a new tile begins, and
# it waits for `empty` alone.


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
# The MMA warp stands between the two rings. For the stages it is the consumer. For the accumulators it is the
# *producer*: it fills them, and must wait until they are free. Who starts with which phase follows from that.
#
# **Exercise 15.5** (about 14 lines). Write `multiply(steps)`. `steps.multiply(stage, accumulator, first)` elects its
# thread itself; `first` may be something that only the running kernel knows, such as `k_tile == 0`. A commit is for
# one thread: `with cute.arch.elect_one():`. This warp never waits for its own multiplications.


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
# Take the wait for `free` out and check again; then put it in with the consumer's phase. Which of the two would a GPU
# show you?
#
# ### The epilogue
#
# A warp takes its 32 lanes in parts of 64 columns, so that a thread holds 64 numbers of one row. `tcgen05.ld` is
# asynchronous, too: the registers are there after `tcgen05.wait::ld`, in CuTe `cute.arch.fence_view_async_tmem_load()`.
# (What `steps.read` and `steps.multiply` begin with, a `tcgen05.fence::after_thread_sync`, says that the wait before
# them came first; for tensor memory an mbarrier alone does not.)
#
# The order in which a part leaves you know from notebook 13: rounded, into a swizzled box, a proxy fence, TMA. Each
# warp has boxes of its own. `steps.write(number, part)` does that.
#
# When may the next tile have the accumulator? Look at one accumulator, and at two:

# %%
show_handover(1, 2)

# %% [markdown]
# **Exercise 15.6** (about 10 lines). Write `store(steps)`, for each of the four epilogue warps: of each tile
# `steps.parts` parts, `steps.read(accumulator, part)` and `steps.write(number, part)`. One lane of each warp arrives at
# `free`, as early as it may. A branch in the loop is allowed: `if part == steps.parts - 1:`.


# %%
@cute.jit
def store(steps: TileSteps):
    ### BEGIN SOLUTION (about 10 lines)
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
# Your four parts make a kernel. What stands in it, in the order of its text:

# %%
with suppress(NotImplementedError):  # until you have written all four
    yours = make_blackwell_gemm(BlackwellConfig(), TileLoops(produce, multiply, store, hold))
    compiled = compile_cute(yours, [TensorSpec((4096, 4096), "bf16")] * 3, "sm_100a")
    print(compiled)
    print(f"tensor memory: {allocated_columns(compiled.ptx)} columns")
    print(story(compiled.ptx, BLACKWELL_OPCODES))

# %% [markdown]
# Compare with notebook 13's story. No wgmma.fence, no wait_group, no accumulators in registers before their tile is
# complete; and no loop does two things.
#
# What the simulator is for: it found a fault in the course's own kernel. A warp of the epilogue has two boxes, and the
# number of the part alone chose between them. Where a tile has one part that is the same box for every tile, and TMA
# may still be reading it.
#
# ## Two blocks, one tile
#
# A block loads 128 rows of A and 256 of B for each K tile, and two of its neighbors in a column of C load the same B.
# In notebook 14 a cluster shared that by multicast: each block still had *all* of B in its own shared memory. Here two
# blocks of a cluster can do better. They are a **pair**, and `tcgen05.mma` with `cta_group::2` reads the shared memory
# of both:

# %%
show_pair()

# %% [markdown]
# Each block loads its own rows of A and *half* of B. One thread of the first block gives the order, for 256×256×16,
# and both SMs' tensor cores carry it out, each for its own rows of C.
#
# What does that buy? Less to fetch for each K tile, and so less shared memory for a stage: more of them fit.
#
# **Exercise 15.7** (about 3 lines). Write `ring_stages(n, pair, other)` → (bytes of a stage in one block, stages that
# fit), for a tile of n columns and 64 of K in bf16; `pair` is True or False. A block can have 227 KiB of shared memory,
# of which `other` bytes are for something else.


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
# ### Who tells whom
#
# Four mbarriers and two blocks. Only the MMA warp of the block that leads must know that everything is there. Both
# blocks' producers and both epilogues must hear from it.
#
# | | whose | what changes |
# |---|---|---|
# | `full` | the leader's | counts the bytes of both blocks; the leader announces them; both blocks' TMA counts there |
# | `empty`, `ready` | each block's own | a commit with a mask arrives in both |
# | `free` | the leader's | 8 arrivals: four warps of each block |
#
# In code these are three changes. `steps.leads` is True in the first block. A commit takes the mask and the kind,
# `tcgen05.commit(barrier, steps.both, tcgen05.CtaGroup.TWO)`. And an arrival can name the block whose mbarrier it
# means: `cute.arch.mbarrier_arrive(barrier, steps.leader)`.
#
# **Predict.** Block 1's producer must not overwrite its stage before the tensor cores of *both* SMs have read it.
# Which line sees to that?
#
# **Exercise 15.8** (about 9, 15 and 10 lines). Write `pair_produce`, `pair_multiply` and `pair_store`. The rehearsal
# has both blocks, and so has the simulator; a line that is wrong in one of them is often found in the other.


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
    ### BEGIN SOLUTION (about 10 lines)
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
# Pairs that lie next to each other along N want the same rows of A. With `sharing=2` a cluster has two pairs, and each
# block loads half of its rows for both: notebook 14's multicast, on top. Its `full` then hears from two producers, and
# a stage is empty when both leaders have committed. The instructions that are new, in the kernel for sm_103a:

# %%
shared = BlackwellConfig((256, 256, 64), pair=True, stages=6, sharing=2)
four_blocks = compile_cute(make_blackwell_gemm(shared), [TensorSpec((4096, 4096), "bf16")] * 3, "sm_103a")
print(four_blocks)
for line in four_blocks.ptx.splitlines():
    if any(name in line for name in ("multicast::cluster", "tcgen05.alloc", "mapa", "barrier.cluster")):
        print(line.split("[")[0].strip())

# %% [markdown]
# ## Numbers with a shared scale
#
# Notebook 14's FP8 had fp32 scales for blocks of 128, multiplied in by threads between two groups of wgmmas. Here
# no thread comes between. So these tensor cores take the scales themselves, from tensor memory, and the formats are
# made for that:
#
# | | element | scale | of how many | and |
# |---|---|---|---|---|
# | **mxfp8** | e4m3, to 448 | ue8m0: a power of two, 8 bits of exponent | 32 along K | |
# | **nvfp4** | e2m1: 0, ½, 1, 1½, 2, 3, 4, 6 | e4m3 | 16 along K | an fp32 for the whole tensor |
#
# So an element of mxfp8 costs 8¼ bits, and one of nvfp4 4½. In PTX they are the kinds `mxf8f6f4` and `mxf4nvf4` of
# `tcgen05.mma`, with `block_scale`: two more operands, addresses in tensor memory, where the scales were copied from
# shared memory with `tcgen05.cp`. One instruction takes 32 bytes of K of each row: 32 elements of the first,
# 64 of the second.

# %%
dice = random.Random(15)
numbers = [dice.gauss(0, 1) for _ in range(32)]
show_scaled(numbers, tensor_scale=0.05)

# %% [markdown]
# Compare `mxfp8` and `nvfp4` with `x`, number by number: e4m3 keeps about the same *relative* error everywhere. e2m1
# has eight magnitudes, and what is small beside its neighbors becomes 0.
#
# **Exercise 15.9** (about 6 lines). Write `quantise_mx(block)` → (exponent, elements) for a list of 32 numbers, as the
# OCP's specification of MX has it. The exponent is floor(log2 of the largest magnitude), less 8, the exponent of e4m3's
# largest number; between -127 and 127, and -127 for zeros. The elements are a list of floats: each number divided by
# 2^exponent, rounded to the nearest e4m3, ties to even; what is beyond 448 becomes 448. torch can round:
# `tensor.to(torch.float8_e4m3fn)`.


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
# A scale that can only be a power of two is cheap and wasteful: the largest element lands anywhere between 256 and 512,
# and what is above 448 is cut off. nvfp4 cannot afford that, with eight magnitudes. Its scale is an e4m3 that maps the
# largest element to nearly 6. Because e4m3 itself reaches from 2⁻⁹ to 448 only, one fp32 brings the whole tensor into
# its range.
#
# **Exercise 15.10** (about 8 lines). Write `quantise_nv(block, tensor_scale)` → (scale, elements) for 16 numbers. The
# scale: the largest magnitude / 6 / tensor_scale, rounded to the nearest e4m3, 448 at most. The elements: each number
# divided by *that* scale and by tensor_scale, rounded to the nearest e2m1, ties to the even code, 6 at most. The codes
# 0 to 7 are the magnitudes in order. If the scale is 0, so are they.


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
# And what the tensor cores do with them: the products of two blocks are summed up as they are, and then the two scales
# are multiplied in, once for each block of K.
#
# **Exercise 15.11** (about 4 lines). Write `scaled_dot(a, b)`, one element of C: `a` and `b` are lists of blocks, each
# (scale, elements), with the scale as a plain factor.


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
# **Predict.** Rows of 512 random numbers, multiplied: how far from the exact product does each format land, as a part
# of the product's own spread? And if one number in 64 is twenty times larger than the others?


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
    """The root of the mean square error of products of rows, over that of the products."""
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
# The second line, e4m3 without scales, is even better than mxfp8 as long as the numbers are in e4m3's own range, 2⁻⁹
# to 448. In the last column they are not: it falls apart, and the formats with scales do not notice. A shared scale
# buys not precision but *range*. The outliers cost mxfp8 most: each is the largest of its block, and may be cut off.
#
# ## Speed
#
# Not measured here. On a GPU with tcgen05 the next cell times the three kinds beside each other:

# %%
kinds = {
    "a block": make_blackwell_gemm(),
    "a pair": make_blackwell_gemm(PAIR),
    "two pairs that share A": make_blackwell_gemm(shared),
}
for kind in ("a block", "two pairs that share A"):
    compare_on_gpu({kind: kinds[kind], "a pair": kinds["a pair"]}, sizes=(4096, 8192), needs=TCGEN05)

# %% [markdown]
# What others have published, neither measured nor checked here:
#
# | published | what | value |
# |---|---|---|
# | NVIDIA's talk on the CuTe DSL | FP16 GEMM at 8K on a B100, no cache: making the kernel's IR | 73,000 µs |
# | the same | compiling that IR | 241,500 µs |
# | a report on cuTile, on a Blackwell that it does not name | FP8 GEMM 320×32576×7168, first version | 130 µs |
# | the same | static persistent, and after trying all configurations | 87.5 µs, 80 µs |
# | the same | DeepGEMM at that shape, beside it | 77 µs |
#
# The lever between the third and the fourth line you know from notebook 07, and it is this page's loop over tiles:
# blocks that stay. The first two are notebook 17's subject.
#
# ## What to remember
#
# - Because no thread owns the accumulators, one warp can multiply while others round. What connects them is again a
#   ring, of accumulators this time: `ready` and `free` where stages have `full` and `empty`.
# - A commit is an arrival in the future. It replaces every wait in the thread that multiplies.
# - Tensor memory is asked for and given back, and each warp sees a quarter of it.
# - In a pair each question still has one answer; it only has to reach two blocks.
#
# ## Test yourself
#
# <details><summary>1. The epilogue has five warps, numbered 0 to 4. Which lanes can the fifth one read, and does it
# help?</summary>
#
# 4 modulo 4 is 0: lanes 0 to 31, as warp 0. It could take half of warp 0's columns; the other lanes' warps would have
# no such help.
#
# </details>
#
# <details><summary>2. A tile of 128×192: how many accumulators fit, and how many columns does the block ask
# for?</summary>
#
# Two take 384 columns, three would take 576. An allocation is a power of two: 512, of which 128 lie idle.
#
# </details>
#
# <details><summary>3. In a pair, the leader commits <code>empty</code> without a mask. What happens?</summary>
#
# Only its own mbarrier hears of it. Block 1's producer fills its stages once and waits for the second round forever,
# and then every warp waits: the leader's <code>full</code> lacks half of its bytes.
#
# </details>

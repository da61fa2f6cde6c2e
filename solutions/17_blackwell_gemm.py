# ---
# jupyter:
#   tutorlib:
#     minutes: 75
#     appendix: 16
#     summary: Tensor memory, one thread that multiplies, six warps, pairs of blocks. Never run on a Blackwell.
# ---

# %% [markdown]
# # 17 · A Blackwell GEMM
#
# On Hopper the accumulators are in registers, 128 in each of 256 threads, and all 128 threads of a warpgroup issue a
# multiplication together. On Blackwell the accumulators are in **tensor memory**, owned by no thread, and *one* thread
# issues a multiplication, `tcgen05.mma`. So other warps can run the epilogue while the next tile is multiplied, and no
# thread keeps a tile in registers. Blackwell means B200 here (sm_100): RTX GPUs of that name have neither tensor memory
# nor tcgen05.
#
# **No Blackwell GPU has run or timed this kernel**, because none was available when the course was made.
#
# - **Checked**: it compiles for sm_100a, without spills. Simulated, with edges in M, N and K, its C is right, and the
#   simulator finds no race, no missing wait for an mbarrier or for `tcgen05.ld`, and no deadlock.
# - **Not checked**: any speed, orders of the warps other than the simulated one, `fence::after`, and our reading of
#   PTX's manual, on which the simulator and each ✓ rest.
#
# `check` compiles and simulates your code; on a B200 it would also run it. The problem is notebook 10's: C = A · Bᵀ,
# `gemm(a, b, c)`, bf16, accumulated in fp32.
#
# > **After this page you can** allocate tensor memory and say which warp may read which part of it, let warps wait for
# > multiplications that one thread issued, say which fence orders two tcgen05 instructions, give six warps their roles
# > in one kernel, and, after the appendix, let two blocks share a tile.
# >
# > **It takes** about 75 minutes, on any machine; its appendix about 16 more.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32

from tutorlib import check, ring_stages, show_blackwell, show_findings, show_handover, show_pair
from tutorlib.kernels.blackwell import (
    PAIR, BlackwellConfig, Parts, TileSteps, Tma, band, course_parts, fence_before, issue, make_blackwell_gemm,
    make_block, make_t2r, make_umma, tma_atoms,
)  # fmt: skip

# %% [markdown]
# ## Who does what
#
# A block has six warps in three roles. Steps 1 to 6 follow a K tile through the block, steps 7 to 10 the accumulators
# of a tile of C:

# %%
show_blackwell()

# %% [markdown]
# ## Tensor memory
#
# Tensor memory is a matrix of 32-bit words in each SM, with 128 rows and 512 columns: 256 KiB, as much as the register
# file. PTX calls its rows **lanes**, which are not those of a warp. A 128×256 tile of fp32 accumulators takes a row for
# each row of C and a column for each column of C, so two of them fit.
#
# The tensor cores write all lanes. A warp can read only 32 of them, starting at lane 32 · (warp number modulo 4). So
# four warps read a tile, and a warp's number determines its rows.
#
# A block allocates columns while it runs: a power of two, at least 32. If another block on the SM holds too many, the
# allocation waits until enough are free. PTX requires a kernel to free what it allocated; otherwise the next block may
# wait forever.
#
# ### Allocate and free
#
# | in `cute.arch` | executed by | |
# |---|---|---|
# | `alloc_tmem(columns, address)` | one warp | writes the first column's location to `address`, in shared memory |
# | `relinquish_tmem_alloc_permit()` | the same warp, if it allocates no more | lets the next block on the SM allocate |
# | `retrieve_tmem_ptr(Float32, 16, address)` | any warp | reads the location: a pointer to fp32, aligned to 16 bytes |
# | `dealloc_tmem(pointer, columns)` | one warp | frees the columns |
#
# In a colleague's kernel all six warps call `allocate` before their work, and `release` after it:
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
# **Exercise 17.1** (about 5 and 3 lines). Write your own two functions. The colleague's have three faults; one of them
# only costs time. One barrier of the block is enough in each function. The check simulates a small GEMM around both.


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


tensor_memory = allocate, release  # keep this line: the check takes the pair

# %%
check("17.1", tensor_memory)

# %% [markdown]
# The colleague's warps read the address before the barrier, when warp 4 may not have written it. Warp 4 frees the
# columns before the barrier, when other warps may still read them. The late relinquish only delays another block, where
# one fits on the SM.
#
# ## tcgen05.mma
#
# One bf16 instruction multiplies M × 16 by 16 × N and adds the product to M × N accumulators in tensor memory. M is at
# most 128, in a pair of blocks 256, and N at most 256 ([Matrix
# Shape](https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-matrix-shape)). K is always 16, so a K tile of
# 64 takes four instructions. The operands are descriptors of shared memory, as on Hopper, and the accumulators an
# address in tensor memory. The first instruction of a tile overwrites what the last tile left there, instead of adding
# to it:
#
# ```python
# for k_block in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):  # tCrA, tCrB: descriptors, (1, 1, K blocks)
#     tiled_mma.set(tcgen05.Field.ACCUMULATE, k_block > 0 or not first)
#     cute.gemm(tiled_mma, acc, tCrA[None, None, k_block], tCrB[None, None, k_block], acc)
# ```
#
# ### Commit
#
# The instruction returns at once. `tcgen05.commit(barrier)` asks for one arrival at an mbarrier, to be made *when
# all multiplications that this thread has issued so far are complete*. The thread itself goes on.
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
# ## Three loops
#
# A block computes `steps.tiles` tiles of C, one after the other, and a tile takes `steps.k_tiles` K tiles. The rings do
# not start over at a new tile: index and phase carry on. Your loops use these members of `steps`:
#
# | | |
# |---|---|
# | `full`, `empty`, `ready`, `free` | the first mbarrier of each kind; add a stage or an accumulator |
# | `tiles` | known at run time |
# | `leads` | False only in the second block of a pair (appendix) |
# | `k_tiles`, `stages`, `accumulators`, `parts` | at compile time; an accumulator has `parts` parts of 64 columns |
# | `stage_bytes` | what a stage's loads bring |
#
# and four steps:
#
# | | |
# |---|---|
# | `load(number, k_tile, stage)` | start TMA's copies of a K tile of the number-th tile; their bytes count at `full` |
# | `multiply(stage, accumulator, first)` | issue a stage's four `tcgen05.mma`; `first`: overwrite the accumulator |
# | `read(accumulator, part)` | start `tcgen05.ld` of a part into registers |
# | `write(number, part)` | round the registers, and let TMA store them as a part of the number-th tile |
#
# The producer's main loop is notebook 15's, for several tiles, except that commits arrive at `empty`. A block must not
# end before they have arrived: its shared memory, mbarriers included, may belong to another block by then.
#
# **Exercise 17.2** (about 3 lines). Complete `produce(steps)`, the TMA warp's loop: it must return only after the last
# commit to each stage has arrived, for any K and any number of tiles.

# %%
from cutlass.cute.nvgpu import tcgen05
from cutlass.pipeline import PipelineUserType, make_pipeline_state


# %%
@cute.jit
def produce(steps: TileSteps):
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for number in cutlass.range(steps.tiles, unroll=1):
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
            if steps.leads:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
            steps.load(number, k_tile, state.index)
            state.advance()
    ### BEGIN SOLUTION (about 3 lines)
    for _ in cutlass.range(steps.stages, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
        state.advance()
    ### END SOLUTION


# %%
check("17.2", produce)

# %% [markdown]
# **Exercise 17.3** (about 14 lines). Write `multiply(steps)`, the MMA warp's loop. The table of mbarriers says what it
# waits for and commits to. `steps.multiply` elects its thread itself; its `first` may be a run-time value. One thread
# issues a commit, `tcgen05.commit(barrier)`, under `with cute.arch.elect_one():`. PTX promises that a warp elects the
# same thread every time, so it is the thread that multiplied. This warp never waits for its own multiplications.


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
check("17.3", multiply)

# %% [markdown]
# The accumulators' state is a producer's: its first wait for `free` returns at once. The commit to `empty` comes right
# after the issue. There an `mbarrier_arrive` would be a bug, since the multiplications may still read the stage.
#
# ### The epilogue
#
# An epilogue warp reads its 32 lanes in parts of 64 columns. `steps.read` is one `tcgen05.ld.32x32b.x64`: 32 lanes
# times 64 columns of 32 bits, so each thread gets 64 accumulators of one row of C, in 64 registers. The load is
# asynchronous, too: the registers are valid after `tcgen05.wait::ld`, which CuTe calls
# `cute.arch.fence_view_async_tmem_load()`. `steps.write` is notebook 14's epilogue, alternating between two boxes.
#
# Compare one accumulator with two, for three tiles of four K tiles. A color is a tile; a number is a K tile, in the
# epilogue's row a part:

# %%
show_handover(1, 2)

# %% [markdown]
# With one accumulator, the tensor cores are idle in ticks 14 to 21, since the epilogue reads tile 0's last part only in
# tick 20. With two, the model's tensor cores are never idle, as long as the loads keep up and an epilogue takes no
# longer than a main loop. (In ticks 9 to 12 of the lower chart, warp 4 waits at `full` for the next load.)
#
# ### What orders two tcgen05 instructions
#
# | first | then | ordered by |
# |---|---|---|
# | `tcgen05.mma` | `tcgen05.mma`, same thread, shape and accumulator | the order of issue |
# | `tcgen05.mma` | `tcgen05.ld`, of any warp | a commit, a wait for its mbarrier, `fence::after` |
# | `tcgen05.ld` | the use of its registers | `tcgen05.wait::ld` |
# | `tcgen05.ld` | `tcgen05.mma` into the same columns | `wait::ld`, an arrival, a wait for it, `fence::after` |
# | all of these | `tcgen05.dealloc` | each ends as above; then a barrier of the block |
#
# `fence::after` is `tcgen05.fence::after_thread_sync`: no tcgen05 instruction below it starts before the wait above it
# is over. PTX's [examples](https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-memory-consistency-model)
# have it after both waits: the epilogue's for `ready` and the MMA warp's for `free`. `steps.read` and `steps.multiply`
# begin with it, so your loops need none. The simulator would not notice if it were missing.
#
# The arrival must *release* what came before it, as CuTe's does by default. A relaxed arrival orders no other access:
# in PTX's example `tcgen05.fence::before_thread_sync`, `fence::before` for short, comes ahead of it and releases. By
# our reading of PTX neither replaces `wait::ld`, the only instruction that ends a `tcgen05.ld`. The whole warp executes
# it, and it covers the loads of every lane, so one lane may arrive for them.
#
# Here is the loop of an epilogue warp. One lane of each warp frees the accumulator as soon as its last part is in
# registers. The arrival goes to the `free` of block `steps.leader`; without a pair that is the warp's own block. A
# colleague tries variants: `waits=False` drops `wait::ld`, `relaxed=True` makes the arrival relaxed, and `fences=True`
# puts a `fence::before` ahead of it.


# %%
def make_store(waits=True, fences=False, relaxed=False):
    @cute.jit
    def store(steps: TileSteps):
        acc = make_pipeline_state(PipelineUserType.Consumer, steps.accumulators)
        for number in cutlass.range(steps.tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.ready + acc.index, acc.phase)
            for part in cutlass.range(steps.parts, unroll=1):
                steps.read(acc.index, part)
                if cutlass.const_expr(waits):
                    cute.arch.fence_view_async_tmem_load()
                if part == steps.parts - 1:
                    if cutlass.const_expr(fences):
                        fence_before()
                    with cute.arch.elect_one():
                        cute.arch.mbarrier_arrive(steps.free + acc.index, steps.leader, relaxed=relaxed)
                steps.write(number, part)
            acc.advance()

    return store


store = make_store()

# %% [markdown]
# **Predict** in which of four versions the MMA warp may overwrite accumulators that are still being read:

# %%
from dataclasses import replace

versions = {
    "wait::ld, arrive": (True, False, False),
    "wait::ld, arrive.relaxed": (True, False, True),
    "wait::ld, fence::before, arrive.relaxed": (True, True, True),
    "fence::before, arrive.relaxed": (False, True, True),
}
narrow, parts = BlackwellConfig(tile=(128, 64, 64)), course_parts()
kernels = {
    name: make_blackwell_gemm(narrow, replace(parts, store=make_store(*version)), 2)
    for name, version in versions.items()
}
matrices = [torch.ones(shape).bfloat16() for shape in ((129, 136), (264, 136), (129, 264))]
show_findings(kernels, *matrices, arch="sm_100a")

# %% [markdown]
# The second and the fourth. (`parts.issue` issues a stage's four `tcgen05.mma`.)
#
# ## The kernel
#
# `make_block` is notebook 14's setup, with two rings in place of one: it allocates shared memory and cuts the matrices
# into boxes. It returns a block with
#
# - `block.warp`, the warp's number; warp 5 loads, warp 4 multiplies, warps 0 to 3 store;
# - `block.address`, for `parts.allocate`;
# - `block.steps`, the steps before `allocate`: use them only to initialize the mbarriers;
# - `block.steps_in(acc)`, the steps for your loops, given the pointer that `allocate` returns.
#
# The kernel's functions are in one object: `parts.allocate`, `parts.release`, `parts.produce`, `parts.multiply` and
# `parts.store`.
#
# **Exercise 17.4** (about 12 lines). Write the rest of the kernel, using the functions in `parts`:
#
# - A block allocates `config.columns` columns.
# - One thread calls `init_mbarriers`. A phase of `free` ends after `arrivals` arrivals. No warp may use an mbarrier
#   before it is initialized.
# - The appendix runs the kernel in pairs of blocks. Both blocks of a pair call the same functions, and the epilogue
#   warps of `config.width` blocks (1 without a pair) arrive at `free`.
# - A block may end only when nothing uses its shared memory or its tensor memory any more. As in notebook 14,
#   `cute.arch.cp_async_bulk_wait_group(0, read=True)`, executed by all lanes of an epilogue warp, waits until TMA has
#   read the boxes that this warp stores.


# %%
def init_mbarriers(steps, config, arrivals):
    for stage in range(config.stages):
        cute.arch.mbarrier_init(steps.full + stage, 1)
        cute.arch.mbarrier_init(steps.empty + stage, 1)
    for number in range(config.accumulators):
        cute.arch.mbarrier_init(steps.ready + number, 1)
        cute.arch.mbarrier_init(steps.free + number, arrivals)
    cute.arch.mbarrier_init_fence()


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
    ### BEGIN SOLUTION (about 12 lines)
    if block.warp == 5:
        with cute.arch.elect_one():
            init_mbarriers(block.steps, config, 4 * config.width)
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


def make_gemm(config, sms, parts=alone_parts):
    @cute.jit
    def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        (bM, bN, bK), width = config.tile, config.width  # width: blocks of a cluster, 2 for a pair
        tiles_m, tiles_n = cute.ceil_div(c.shape[0], bM), cute.ceil_div(c.shape[1], bN)
        clusters = min(tiles_m * tiles_n, sms // width)  # persistent: never more than tiles
        height = band(config.tile, tiles_m, clusters)  # of the tiles' order in bands, notebook 12's
        sizes = tiles_m, tiles_n, cute.ceil_div(a.shape[1], bK), clusters, height
        tiled_mma = parts.make_umma(config.tile, config.pair)
        kernel = blackwell_kernel(*tma_atoms(a, b, c, config), tiled_mma, sizes, config, parts)
        kernel.launch(grid=(clusters * width, 1, 1), block=(192, 1, 1), cluster=(width, 1, 1))

    return gemm


# %%
check("17.4", make_gemm)

# %% [markdown]
# ## What to remember
#
# - No thread owns the accumulators, so one warp can multiply while others round. A second ring connects them: `ready`
#   and `free` are to accumulators what `full` and `empty` are to stages.
# - A commit turns the completion of issued work into an arrival.
# - A block allocates tensor memory and must free it; each warp can read a quarter of the lanes.
# - `wait::ld` ends loads of tensor memory. A release publishes what has finished; a fence after the wait holds back
#   what follows.
# - A block may end only after every operation on its memory or mbarriers: loads, stores and commits.
#
# Next: [notebook 18](18_epilogues.ipynb) puts a layer's bias, activation and residual into the epilogue.
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
# <details><summary>3. What if <code>init_mbarriers</code> is called after <code>allocate</code>?</summary>
#
# Another warp may use an mbarrier before it is initialized: the barrier in `allocate` is the only one before the loops.
#
# </details>

# %% [markdown]
# ## Appendix: two blocks, one tile
#
# Two blocks whose tiles are in the same columns of C load the same B. In notebook 15 the blocks of a cluster shared
# that load by multicast, but each still held *all* of B's tile in its own shared memory. On Blackwell, two blocks of a
# cluster can form a **pair**: `tcgen05.mma` with `cta_group::2` reads the shared memory of both.

# %%
show_pair()

# %% [markdown]
# Each block loads its own rows of A and *half* of B. One thread issues a 256×256×16 multiplication, and both SMs'
# tensor cores execute it, each for its own rows of C, which are in its own tensor memory.
#
# As with multicast, each block needs fewer bytes from L2; and a stage is smaller, so more stages fit beside two boxes
# of C for each warp, 32 KiB, and about 1 KiB for alignment and mbarriers:

# %%
for pair in (False, True):
    bytes, stages = ring_stages(256, pair, 33 * 1024)
    print(f"{'a pair' if pair else 'alone'}: {bytes // 1024} KiB from L2 for each block and K tile, {stages} stages")

# %% [markdown]
# ### Who signals whom
#
# The first block of the pair **leads**: its MMA warp multiplies for both. `full` and `free` are the leader's alone: the
# loads of both blocks report their bytes there, and the epilogue warps of both arrive there. (`steps.leader` in your
# epilogue is the leader's rank.) `empty` and `ready` are each block's own: its producer and its epilogue wait there.
#
# Your `produce` needs no change: the leader alone announces the bytes, and `steps.stage_bytes` are those of both
# blocks. Block 1's bytes may land first: the phase ends only after the leader's arrival.
#
# `tcgen05.commit(barrier, mask, tcgen05.CtaGroup.TWO)` arrives at this mbarrier in each block of the mask. `steps.both`
# is the mask of both blocks.
#
# **Exercise 17.5** (about 15 lines, three of them new). Copy your `multiply` and change it into `pair_multiply`, which
# both blocks' MMA warps call. No producer may overwrite a stage that either SM's tensor cores still read.


# %%
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


# %%
check("17.5", pair_multiply)

# %% [markdown]
# With the mask, the commit to `empty` arrives in both blocks when the multiplication, which runs on both SMs, is
# complete. That protects block 1's stage. Without the mask, block 1's producer would wait forever once its stages are
# full. Without the mask on `ready`, block 1's epilogue would wait forever.
#
# ### A pair's kernel
#
# Your kernel stays as it is. `course_parts(pair=True)` replaces the functions around your loops: multiplication is set
# up for 256 rows, and both blocks allocate together (`is_two_cta`). The barriers in `allocate` and `release` become
# barriers of the cluster: the leader's multiplications write block 1's tensor memory, so both must have allocated; and
# each block arrives at mbarriers of the other, so neither may end first.

# %%
from contextlib import suppress

pair_parts = replace(course_parts(pair=True), produce=produce, multiply=pair_multiply, store=store)
narrow_pair = replace(PAIR, tile=(256, 64, 64))
with suppress(NotImplementedError):  # until you have written all of it
    a, b = torch.randn(300, 136).bfloat16(), torch.randn(264, 136).bfloat16()
    c = torch.empty(300, 264, dtype=torch.bfloat16)
    show_findings({"a pair": make_gemm(narrow_pair, 4, pair_parts)}, a, b, c, arch="sm_100a")
    print(f"off by {float((c - a.float() @ b.float().mT).abs().max()):.2f} of {float(c.abs().max()):.0f}")

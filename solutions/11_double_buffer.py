# ---
# jupyter:
#   tutorlib:
#     minutes: 110
#     summary: The next tile travels while this one is multiplied; then the same again, in registers.
# ---

# %% [markdown]
# # 11 · Two buffers
#
# The GEMM of notebook 10 loads a tile, waits, computes, and loads the next one. While a block loads, it multiplies
# nothing; while it multiplies, none of its loads is in flight. This page gives shared memory a second buffer, so that
# the next tile arrives while this one is multiplied. Then it does the same one level closer to the tensor cores, with
# registers.
#
# > **After this page you can** predict the time of a pipeline from its parts, for one block on an SM and for two, write
# > a double-buffered loop and say which barriers it needs, fetch registers ahead across the end of a tile, and write a
# > pipelined kernel of your own.
# >
# > **It takes** about 110 minutes, on any machine, best in two sittings: stop after 11.2. A GPU from sm_80 on times
# > your loops.

# %%
from contextlib import suppress

import cutlass
import cutlass.cute as cute
import torch

from tutorlib import (
    TensorSpec, Timeline, all_sweep_results, check, compile_cute, counts, explain, explore_timeline, show_fetches,
    show_figure, show_ladder, show_timeline, story,
)  # fmt: skip
from tutorlib.kernels.ampere import GemmConfig, Steps, main_loops as course, make_gemm

# %% [markdown]
# ## The idea, in time
#
# The picture has a row for each buffer (*buf*) and one for the arithmetic (*math*). Dots are *latency*: the copy is
# issued and nothing has arrived. Gray is the *transfer*: the tile arrives. A color is a tile, pale while it waits.

# %%
show_timeline(*(Timeline(stages, latency=4, transfer=2, compute=3, tiles=6) for stages in (1, 2)))

# %% [markdown]
# With two buffers, the copy of tile 1 is issued at the start, and the copy of tile 2 as soon as tile 0 has been
# multiplied. Move the sliders: when does a third buffer help, and when does no number of buffers?

# %%
explore_timeline(stages=2, latency=4, transfer=2, compute=3)

# %% [markdown]
# ## When is a buffer free?
#
# Before the loop, the **prologue** issues the loads that need not wait. In the loop, a load may overwrite a buffer only
# after *all* threads of the block have read it, so a barrier must come between. There are two schedules:
#
# - **Two barriers a tile.** The first says that the tile has arrived. A second one, after the arithmetic, says that its
#   buffer is free, and the next load into it is issued at once. The pictures above show this schedule.
# - **One barrier a tile.** A thread that reaches the first barrier of step *k* has finished step *k* − 1. So the same
#   barrier says that the buffer of tile *k* − 1 is free, and the load of tile *k* + stages − 1 is issued there, before
#   tile *k* is multiplied.

# %%
show_timeline(*(Timeline(2, latency=4, transfer=2, compute=3, tiles=6, at_once=at_once) for at_once in (True, False)))

# %% [markdown]
# And the blocks of an SM take turns, as on page 10: each has buffers of its own, and they share the memory and the
# tensor cores.
#
# **Exercise 11.1** (about 4 lines). Write `period(blocks, stages, latency, transfer, compute, barriers)`: the ticks
# that an SM takes for one more tile in the long run. It runs `blocks` blocks, each with `stages` buffers and `barriers`
# barriers a tile, 2 or 1 (then there are at least two stages). The result need not be a whole number. Three things can
# be the slowest: the arithmetic, which does one tile at a time; the memory, which delivers one tile at a time; and the
# round of a buffer. Find that round in each picture: which event must come before a load is issued, which event needs
# the loaded tile, and how many tiles later is that?


# %%
def period(blocks, stages, latency, transfer, compute, barriers):
    ### BEGIN SOLUTION (about 4 lines)
    arrives = latency + transfer
    round_trip = (arrives + compute) / stages if barriers == 2 else arrives / (stages - 1)
    return float(max(compute, transfer, round_trip / blocks))
    ### END SOLUTION


# %%
check("11.1", period)

# %% [markdown]
# <details><summary>When are two buffers enough, and what does the second barrier gain?</summary>
#
# In one block with two barriers, two buffers are enough where (latency + transfer + compute) / 2 ≤ max(transfer,
# compute); with one barrier, where latency + transfer ≤ compute. In the example a tile takes 4.5 or 6 ticks. Where the
# arithmetic takes longer than latency + transfer, both schedules take *compute*, and the second barrier gains nothing.
#
# </details>
#
# ## Double buffering
#
# The buffers are the third mode of 10.3's layouts, the **stage**.
#
# **Exercise 11.2** (about 12 lines). Write the main loop for two buffers, `double_buffer(steps)`: tile *k* goes into
# buffer *k* % 2.
#
# - While tile *k* is multiplied, the load of another tile is in flight.
# - Every thread's copies of a tile have arrived before any thread reads it, and no buffer is overwritten while a thread
#   may still read it.
# - There are at most two barriers a tile. Either schedule earns full points.
# - K may have any number of tiles, also one. The loop over K tiles is not unrolled.
#
# The calls are those of 10.4; a group of copies may be empty. Inside a `@cute.jit` function, `if` works with a
# condition that is known only at run time.
#
# **Predict:** on a GPU the check times your loop at 4096³. In the pictures' ticks, what does `period` say of two blocks
# with one buffer each, and with two? How much faster than notebook 10's loop is yours?


# %%
@cute.jit
def double_buffer(steps: Steps):
    ### BEGIN SOLUTION (about 12 lines)
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    for k_tile in range(steps.k_tiles):
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        if k_tile + 1 < steps.k_tiles:
            steps.load(k_tile + 1, (k_tile + 1) % 2)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, k_tile % 2)
            steps.multiply(k_block)
    ### END SOLUTION


# %%
check("11.2", double_buffer)

# %%
show_ladder("10.7", "11.2")

# %% [markdown]
# One block with four K tiles, simulated. C issues copies, c commits them, w waits for them, R is ldmatrix, M the
# arithmetic, | a barrier. Find each C and its w: in notebook 10's loop they were neighbors; here, after tile 0, a
# tile's arithmetic lies between them.

# %%
a, b, c = torch.randn(128, 256).bfloat16(), torch.randn(128, 256).bfloat16(), torch.zeros(128, 128).bfloat16()
explain(make_gemm(GemmConfig(stages=2), double_buffer), a, b, c)

# %% [markdown]
# The pictures promise ×1.5, and the loop gains ×1.10. One reason is its fetches; the other, that real ticks differ.
#
# Here is a good place to stop.
#
# ## The same again, in registers
#
# Within a tile there is a smaller *load, wait, compute*: `ldmatrix` brings a K block's operands from shared memory, and
# the mma that needs them waits until they are there. So fetch K block *b* + 1, *then* multiply block *b*. The buffers
# are registers; `fetch(b, …)` fills those of block *b*. A label is tile.block, gray a tile's copies in flight, hatched
# a tick in which the tensor cores wait. Tile 0 has arrived before the picture begins; the thick line is the barrier
# after the wait for a tile. In the lower picture, no copy is in flight between that barrier and the next load:

# %%
show_fetches(tiles=3, k_blocks=4)

# %% [markdown]
# Look at the barrier in the lower picture: it is *inside* the arithmetic. A K block of the old tile is fetched and not
# yet multiplied, so when the barrier opens, the tensor cores have work at once. The 24 and 13 ticks are of one warp
# alone, whose fetch takes as long as its mma. On an SM the warps of several blocks take turns: expect about 7% on a
# GPU.
#
# Are there enough registers? Each of the four K blocks takes 32, and there are 128 accumulators: 256 in all, and a
# thread can have 255. But only two blocks are live at a time, the one that is multiplied and the one that is fetched.
#
# **Exercise 11.3** (about 21 lines). Write the loop of the lower picture, `register_pipeline(steps)`:
#
# - each K block is fetched once, while the K block before it is multiplied, also across the end of a tile. In the last
#   step, which has no next tile, one idle fetch does no harm, if its operands are never multiplied;
# - the next tile is in flight while this one is multiplied, as in 11.2;
# - one barrier before the loop and one a tile; the loop over K tiles is a plain `range`.
#
# Three questions lead to it. Which fetch needs the next tile, so where must the wait be? Why does that one barrier also
# say that the buffer of the old tile is free? What must have arrived before the loop begins? A tile's last K block is
# known at compile time: test for it with `if cutlass.const_expr(…)`.


# %%
@cute.jit
def register_pipeline(steps: Steps):
    ### BEGIN SOLUTION (about 21 lines)
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    read = 0
    for k_tile in range(steps.k_tiles):
        if k_tile + 1 < steps.k_tiles:
            steps.load(k_tile + 1, 1 - read)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 1 < steps.k_blocks):
                steps.fetch(k_block + 1, read)
            else:
                read = 1 - read
                cute.arch.cp_async_wait_group(0)
                cute.arch.sync_threads()
                steps.fetch(0, read)
            steps.multiply(k_block)
    ### END SOLUTION


# %%
check("11.3", register_pipeline)

# %% [markdown]
# Its one barrier comes after the last fetch from the old buffer and before that tile's last K block is multiplied. So
# it frees the buffer sooner than a second barrier would, although this loop issues the next load only after that K
# block. In the picture of your GEMM find the last R of a step, after the barrier and before the last M:

# %%
gemm = make_gemm(GemmConfig(stages=2), register_pipeline)
explain(gemm, a, b, c)

# %% [markdown]
# ## What the compiler made of it
#
# Here are notebook 10's loop, two buffers with two barriers, and the course's loop with both pipelines. In the last,
# find the wait and the barrier, and the group of mmas after them: where were its operands fetched?

# %%
SQUARE = [TensorSpec((4096, 4096), "bf16")] * 3
for name, kernel in {
    "one buffer": make_gemm(GemmConfig(), course.single_buffer),
    "two buffers": make_gemm(GemmConfig(stages=2), course.refilled_at_once),
    "two, with registers fetched ahead": make_gemm(GemmConfig(stages=2), course.multistage),
}.items():
    compiled = compile_cute(kernel, SQUARE)
    print(f"{name}: {compiled}\n{story(compiled.ptx)}\n{counts(compiled.ptx)}\n")

# %% [markdown]
# A barrier orders accesses to shared memory, so no compiler may move an `ldmatrix` ahead of it: only you can place that
# fetch among the mmas.
#
# ## The ladder so far

# %%
show_ladder("10.7", "11.2", "11.3")

# %%
show_figure("gemm_ladder_11")

# %% [markdown]
# ## Two blocks, measured
#
# Why ×1.10, and not ×1.5? An H200 has other ticks than the pictures. We measured them with main loops that do only some
# of a tile's parts, in µs that an SM takes for one more K tile: the time at K = 12,288 minus that at 4,096, per extra
# tile. So launch and epilogue, part of page 10's 0.44 µs, cancel.


# %%
def per_tile(swept, name, blocks):
    """The difference of two K, over that of their tiles: 192 and 64."""
    took = {p.measurement.shape: p.measurement.median_us for p in swept.of_kernel(name)}
    return (took[1408 * blocks, 1536, 12288] - took[1408 * blocks, 1536, 4096]) / 128 / blocks


for swept in all_sweep_results("gemm_parts"):
    for part in swept.names[:6]:
        print(f"{part:30} one block {per_tile(swept, part, 1):.2f}, two {per_tile(swept, part, 2):.2f}")

# %% [markdown]
# - *Fetched as needed* is 11.2's arithmetic, from shared memory that is never loaded again. A block has one warp for
#   each tensor core, and while that waits for a fetch, the core is idle. A second block fills most of these pauses;
#   fetching ahead fills nearly all.
# - With one load in flight and one block the time is latency + transfer; with three in flight, the transfer.
# - Copies and fetches meet in shared memory. A tile's copies write 256 wavefronts, by page 10's report: 0.15 µs at the
#   1.72 GHz that the SMs counted, during which no ldmatrix reads. So add them to the arithmetic.
#
# Notebook 10's loop counts as fetched ahead: in its machine code (`tutorlib.disassemble(compiled.cubin)`), 40 mmas
# follow the last fetch, in 11.2's 8. It takes 220 registers, 11.2 takes 168.
#
# **Predict:** which of the loops are limited by the round of a buffer, where a block is alone, and where two share an
# SM?

# %%
COPIES = 256 / 1720
NEEDED, AHEAD = "arithmetic, fetched as needed", "arithmetic, fetched ahead"
LOOPS = {  # stages, barriers, arithmetic
    "one buffer": (1, 2, AHEAD),
    "two buffers, two barriers": (2, 2, NEEDED),
    "two buffers, one barrier": (2, 1, NEEDED),
    "two buffers, fetched ahead": (2, 1, AHEAD),
    "three buffers, fetched ahead": (3, 1, AHEAD),
}

with suppress(NotImplementedError):  # until you have written period
    for swept in all_sweep_results("gemm_parts"):
        transfer = per_tile(swept, "loads, 3 in flight", 1)
        latency = per_tile(swept, "loads, 1 in flight", 1) - transfer
        for blocks in (1, 2):
            for loop, (stages, barriers, part) in LOOPS.items():
                computing, measured = per_tile(swept, part, blocks) + COPIES, per_tile(swept, loop, blocks)
                predicted = period(blocks, stages, latency, transfer, computing, barriers)
                print(f"{blocks} on an SM, {loop:28} predicted {predicted:.2f} µs, measured {measured:.2f}")

# %% [markdown]
# Nine of the ten predictions are 2 to 11% above the measurement: copies and fetches overlap a little. The round limits
# *one buffer* (alone, page 10 estimated 1.35 µs) and, for a lone block, *two buffers, fetched ahead*.
#
# - **A second block on an SM does what a second buffer does.** With one buffer each, two blocks share the round: 0.68
#   µs each by the model, hardly longer than the arithmetic, 0.60. 11.2's second buffer gains ×1.02 to ×1.06, since its
#   loop also loses the fetching ahead that the compiler made of page 10's. 11.3 has both: from 0.66 to 0.57 µs, ×1.16.
#   On the ladder that is ×1.17, and 11.2 gains more there, with *three* of its blocks on an SM.
# - **Where a block is alone**, 11.2 gains nothing from a second barrier: its arithmetic, with the copies' writes, takes
#   0.88 µs, longer than latency + transfer, 0.76. The two schedules take 0.84 and 0.85 µs.
# - One prediction is 22% too low: a lone block, *two buffers, fetched ahead*. It waits for a tile *before* it
#   multiplies the last K block of the tile before, and issues the next load *after* it. So its round also has the fetch
#   and the mma of a K block, 0.74 / 4 = 0.18 µs: 0.94 in all. A third buffer halves that round; notebook 13 adds it.
#
# What is left? Of the 0.57 µs, 0.45 are arithmetic; the copies' writes, 0.15, overlap a little. A larger tile has fewer
# of them: notebook 13.
#
# ## Your kernel
#
# A language model that writes one token multiplies each of its weights by a *vector*. No weight is reused, so the
# kernel is as good as its share of the memory's bandwidth. Shared memory serves one purpose: a cp.async in flight takes
# no registers.
#
# **Exercise 11.4** (about 16 lines). Write the kernel of `matvec(a, b, c)`: c = a · bᵀ, where a is (M, K), b (1, K) and
# c (M, 1), all row-major bf16; M and K are multiples of 64. It accumulates in fp32. The given lines let eight lanes
# share 128 bytes of a row: piece j of a row is `pieces[0, None, j]`, 8 elements, and `vector` is b in such pieces.
#
# - `a` goes through shared memory in 16-byte cp.async, with two buffers: while a tile is summed, the next one is in
#   flight, also in the last step but one.
# - Each element of `a` is copied once, and read from shared memory once, without a bank conflict.
# - **There is no barrier**, so no thread may read what another thread has copied.
#
# | at hand | |
# |---|---|
# | `cute.copy(atom, source, target)` | one cp.async of 16 bytes, of tensors of shape (8,) |
# | `SmemAllocator().allocate_tensor(type, layout, byte_alignment=128)` | shared memory |
# | `cute.arch.warp_reduction_sum(x, threads_in_group=n)` | the sum of x over each n neighboring lanes, in all of them |
# | `x.load().to(Float32)`, `y.reduce(cute.ReductionOp.ADD, 0.0, 0)` | all of x at once, converted; the sum of y |


# %%
from cutlass import BFloat16, Float32
from cutlass.cute.nvgpu.cpasync import CopyG2SOp, LoadCacheMode
from cutlass.memory import SmemAllocator


# %%
@cute.kernel
def matvec_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    row, lane = 16 * block + thread // 8, thread % 8
    pieces, vector = (cute.local_tile(x, (1, 8), (at, None)) for x, at in ((a, row), (b, 0)))  # (1, 8, K / 8)
    atom = cute.make_copy_atom(CopyG2SOp(cache_mode=LoadCacheMode.GLOBAL), BFloat16, num_bits_per_copy=128)
    ### BEGIN SOLUTION (about 16 lines)
    buffers = SmemAllocator().allocate_tensor(BFloat16, cute.make_layout((8, 128, 2)), byte_alignment=128)
    k_tiles = a.shape[1] // 64
    total = Float32(0.0)
    cute.copy(atom, pieces[0, None, lane], buffers[None, thread, 0])
    cute.arch.cp_async_commit_group()
    for k_tile in range(k_tiles):
        if k_tile + 1 < k_tiles:
            cute.copy(atom, pieces[0, None, 8 * (k_tile + 1) + lane], buffers[None, thread, (k_tile + 1) % 2])
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(1)  # this thread reads only what it has copied
        weights, x = buffers[None, thread, k_tile % 2], vector[0, None, 8 * k_tile + lane]
        products = weights.load().to(Float32) * x.load().to(Float32)
        total += products.reduce(cute.ReductionOp.ADD, 0.0, 0)
    total = cute.arch.warp_reduction_sum(total, threads_in_group=8)
    if lane == 0:
        c[row, 0] = total.to(BFloat16)
    ### END SOLUTION


@cute.jit
def matvec(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """a (M, K), b (1, K), c (M, 1), all row-major bf16."""
    matvec_kernel(a, b, c).launch(grid=(a.shape[0] // 16, 1, 1), block=(128, 1, 1))


# %%
check("11.4", matvec)

# %% [markdown]
# Where in this picture would 11.2 have its barriers?

# %%
explain("11.4", matvec, shape=(64, 1, 320))

# %% [markdown]
# Behind each w. A thread that reads only its own copies needs no barrier, neither for *the data has arrived* nor for
# *the buffer is free*. The GEMM needs both, because ldmatrix hands every thread the copies of others.
#
# On a GPU, here is its rate beside that of torch; the datasheet of an H200 has 4.8 TB/s:

# %%
from cutlass.cute.runtime import from_dlpack

if torch.cuda.is_available():
    weights, x = (torch.randn(rows, 8192, device="cuda").bfloat16() for rows in (16384, 1))
    y = torch.empty(16384, 1, device="cuda", dtype=torch.bfloat16)
    with suppress(NotImplementedError):  # until you have written matvec
        views = [from_dlpack(tensor, assumed_align=16) for tensor in (weights, x, y)]
        compiled = cute.compile(matvec, *views)
        for name, call in {"yours": lambda: compiled(*views), "torch": lambda: torch.mm(weights, x.mT, out=y)}.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            for n in range(120):
                if n == 20:
                    start.record()
                call()
            end.record()
            end.synchronize()
            rate = 100 * weights.nbytes / (start.elapsed_time(end) / 1000)
            print(f"{name}: {rate / 1e12:.2f} TB/s")
else:
    print("not run: no GPU here")

# %% [markdown]
# Your kernel reads weights at nearly torch's rate.
#
# ## What to remember
#
# - A second buffer turns *load, wait, compute* into *issue the next load, compute this tile*.
# - At best, a tile takes as long as the slowest of three: its arithmetic, its transfer, and its share of a buffer's
#   round, which all buffers of all blocks on the SM share.
# - The barrier that says *the data has arrived* also says *the buffer of the tile before is free*. A second barrier
#   only makes that buffer free earlier.
#
# ## Test yourself
#
# <details><summary>1. One block, latency 8, transfer 2, compute 3, two barriers a tile. From how many buffers on does
# one more bring nothing? And with one barrier?</summary>
#
# With two, a round is 13, and 13 / stages ≤ 3 from 5 stages on. With one, 10 / (stages − 1) ≤ 3 from 5 stages on, too.
#
# </details>
#
# <details><summary>2. A colleague moves the load of tile k + 1 to the end of the step, after the arithmetic. Is it
# safe? Does it help?</summary>
#
# Safe: the barrier of the step has freed the buffer. But no load is in flight while tile k is multiplied, so it is
# notebook 10's rhythm with twice the memory.
#
# </details>
#
# <details><summary>3. The course's loop commits a group in the last step, too, though that group is empty.
# Why?</summary>
#
# So that a wait means the same in every step. With `wait_group(0)` the empty group makes no difference; with more
# stages, where the newest groups may remain in flight, it does.
#
# </details>

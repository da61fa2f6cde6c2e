# ---
# jupyter:
#   tutorlib:
#     minutes: 100
#     summary: The next tile travels while this one is multiplied; then the same again, in registers.
# ---

# %% [markdown]
# # 11 · Two buffers
#
# The GEMM of notebook 10 loads a tile, waits, computes, and loads the next one. While a block loads, it multiplies
# nothing; while it multiplies, none of its loads is in flight. This page gives shared memory a second buffer, so that
# the next tile arrives while this one is multiplied. Then it does the same one level closer to the tensor cores, with
# registers. The first picture promises ×1.5, and an H200 gives ×1.11; the page measures most of the difference.
#
# > **After this page you can** predict the time of a pipeline from its parts, for one block on an SM and for several,
# > write a double-buffered loop and say which barriers it needs, fetch registers ahead across the end of a tile, and
# > write a pipelined kernel of your own.
# >
# > **It takes** about 100 minutes, on any machine. A GPU from sm_80 on times your loops.

# %%
from contextlib import suppress

import cutlass
import cutlass.cute as cute
import torch

from tutorlib import (
    TensorSpec, Timeline, all_sweep_results, check, compile_cute, disassemble, explore_timeline, show_fetches,
    show_ladder, show_timeline,
)  # fmt: skip
from tutorlib.kernels.ampere import GemmConfig, Steps, main_loops as course, make_gemm

# %% [markdown]
# ## The idea, in time
#
# The picture has a row for each buffer (*buf*) and one for the arithmetic (*math*). Dots: the copy is issued and
# nothing has arrived, because of the *latency* or because the memory is busy with another tile. Gray is the
# *transfer*: the tile arrives. A color is a tile, pale while it waits. As at the end of page 10, two blocks share an
# SM. Each has buffers of its own, and they take turns at the memory and the tensor cores. Above, each block has one
# buffer, and below, two:

# %%
show_timeline(*(Timeline(stages, latency=4, transfer=2, compute=3, tiles=8, blocks=2) for stages in (1, 2)))

# %% [markdown]
# With two buffers, a block issues its first two copies at the start, and its third as soon as its first tile has been
# multiplied. The SM then takes 3 ticks for a tile instead of 4.5: ×1.5. The sliders show a block that is alone:

# %%
explore_timeline(stages=2, latency=4, transfer=2, compute=3)

# %% [markdown]
# ## When is a buffer free?
#
# In the loop, a load may overwrite a buffer only after *all* threads of the block have read it, so a barrier must
# come between. There are two schedules. With **two barriers a tile** (upper picture), one says that the tile has
# arrived, and the other, after the arithmetic, that its buffer is free; the next load into it is issued at once. With
# **one barrier a tile** (lower picture), the load is issued behind the barrier that says that a tile has arrived. The
# **prologue**, before the loop, issues the loads of the first *stages* tiles with two barriers, and of *stages* − 1
# with one. Which buffer is free behind the one barrier, and why?

# %%
show_timeline(*(Timeline(2, latency=4, transfer=2, compute=3, tiles=6, at_once=at_once) for at_once in (True, False)))

# %% [markdown]
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
# <details><summary>Which buffer is free, and what does the second barrier gain?</summary>
#
# A thread that reaches the barrier of step *k* has finished step *k* − 1, so the buffer of tile *k* − 1 is free: tile
# *k* + stages − 1 goes there.
#
# In the example a tile takes 4.5 ticks with two barriers and 6 with one. Where the arithmetic takes longer than latency
# + transfer, both schedules take *compute*, and the second barrier gains nothing.
#
# </details>
#
# ## Double buffering
#
# The buffers are the third mode of notebook 10's `smem_layout`, the **stage**.
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
# The calls are those of 10.2; a group of copies may be empty. Inside a `@cute.jit` function, `if` works with a
# condition that is known only at run time. On a GPU the check times your loop at 4096³.


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

# %% [markdown]
# ## The same again, in registers
#
# Within a tile there is a smaller *load, wait, compute*: `ldmatrix` brings a K block's operands from shared memory, and
# the mma that needs them waits until they are there. So fetch K block *b* + 1, *then* multiply block *b*. The buffers
# are registers; `fetch(b, …)` fills those of block *b*. A label is tile.block, gray a tile's copies in flight, hatched
# a tick in which the tensor cores wait. Tile 0 has arrived before the picture begins; the thick line is the barrier
# after the wait for a tile. In the lower picture the next load is issued one tick after the barrier; until then no copy
# is in flight:

# %%
show_fetches(tiles=3, k_blocks=4)

# %% [markdown]
# Look at the barrier in the lower picture: it is *inside* the arithmetic. A K block of the old tile is fetched and not
# yet multiplied, so when the barrier opens, the tensor cores have work at once.
#
# **Exercise 11.3** (about 21 lines). Write the loop of the lower picture, `register_pipeline(steps)`:
#
# - each K block is fetched once, while the K block before it is multiplied, also across the end of a tile. In the last
#   step, which has no next tile, one idle fetch does no harm, if its operands are never multiplied;
# - the load of the next tile is issued when a step begins, before its first K block;
# - one barrier before the loop and one a tile; the loop over K tiles is a plain `range`.
#
# Three questions lead to it. Which fetch needs the next tile, so where must the wait be? Why does that one barrier
# also say that the buffer of the old tile is free? What must have arrived before the loop begins? A tile's last K
# block is known at compile time: test for it with `if cutlass.const_expr(…)`.


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
# A barrier orders accesses to shared memory, so no compiler may move an `ldmatrix` ahead of it: only you can place that
# fetch among the mmas.

# %%
show_ladder("10.4", "11.2", "11.3")

# %% [markdown]
# ## Why ×1.11, and not ×1.5?
#
# The first picture's ticks promised ×1.5. An H200 has other ticks. We measured them with main loops that do only some
# of a tile's parts, with as many blocks on an SM as fit, up to three. The numbers are clock cycles that an SM takes for
# one more K tile: the time at K = 12,288 minus that at 4,096, so that launch and epilogue cancel.


# %%
def cycles(swept, name, blocks):
    """Cycles for one more K tile, by the clock that the SMs counted; K has 192 tiles or 64."""
    took = {p.measurement.shape: p.measurement for p in swept.of_kernel(name)}
    long, short = (took[1408 * blocks, 1536, k] for k in (12288, 4096))
    return (long.median_us * long.counted_mhz - short.median_us * short.counted_mhz) / 128 / blocks


NEEDED, AHEAD = "arithmetic, fetched as needed", "arithmetic, fetched ahead"
PARTS = {"mma.sync alone": 3, NEEDED: 3, AHEAD: 2, "loads, 1 in flight": 3, "loads, 3 in flight": 2}  # blocks that fit
for swept in all_sweep_results("gemm_parts"):
    for part, fit in PARTS.items():
        print(f"{part:30}", *(f"{n} on an SM {cycles(swept, part, n):5,.0f}  " for n in range(1, fit + 1)))

# %% [markdown]
# - *mma.sync alone* multiplies the same registers again and again.
# - *Fetched as needed* is 11.2's arithmetic, from shared memory that is never loaded again. A block has one warp for
#   each tensor core, and while that waits for a fetch, the core is idle. Other blocks fill most of these pauses;
#   fetching ahead fills nearly all.
# - For one block, *1 in flight* is latency + transfer, and *3 in flight* the transfer.
#
# `period` treats these parts as if none slowed another down, so expect the loops to take longer. Which of the two
# arithmetic rows belongs to which loop? 11.3 fetches ahead by itself. For the others, count in the machine code the
# mmas that follow a tile's last ldmatrix: these already have their operands.

# %%
SQUARE = [TensorSpec((4096, 4096), "bf16")] * 3
with suppress(NotImplementedError):  # until you have written double_buffer
    for name, stages, loop in (("page 10's loop", 1, course.single_buffer), ("11.2", 2, double_buffer)):
        compiled = compile_cute(make_gemm(GemmConfig(stages=stages), loop), SQUARE, arch="sm_90")
        _, after = disassemble(compiled.cubin).rsplit("LDSM", 1)
        print(f"{name}: {compiled.registers} registers, {after.count('HMMA')} of 128 mmas after the last ldmatrix")

# %% [markdown]
# In page 10's loop the compiler fetches ahead: after the last ldmatrix more than a K block of 32 mmas is left. In
# 11.2's loop it does not; this page cannot say why. That saves registers: an SM's 65,536 are enough for two blocks of
# 128 threads of page 10's loop, and for three of 11.2's.
#
# **Predict:** which of the loops are limited by the round of a buffer, where a block is alone, and where several share
# an SM?

# %%
LOOPS = {  # stages, barriers, arithmetic, blocks that fit on an SM
    "one buffer": (1, 2, AHEAD, 2),
    "two buffers, one barrier": (2, 1, NEEDED, 3),
    "two buffers, fetched ahead": (2, 1, AHEAD, 2),
}

with suppress(NotImplementedError):  # until you have written period
    print(f"in the pictures' ticks: ×{period(2, 1, 4, 2, 3, 2) / period(2, 2, 4, 2, 3, 1):.2f}")
    for swept in all_sweep_results("gemm_parts"):
        transfer = cycles(swept, "loads, 3 in flight", 1)
        latency = cycles(swept, "loads, 1 in flight", 1) - transfer
        for loop, (stages, barriers, part, fit) in LOOPS.items():
            for blocks in range(1, fit + 1):
                predicted = period(blocks, stages, latency, transfer, cycles(swept, part, blocks), barriers)
                measured = cycles(swept, loop, blocks)
                gain = f"×{cycles(swept, 'one buffer', 2) / measured:.2f} of one buffer, 2 blocks" if blocks > 1 else ""
                took = f"predicted {predicted:5,.0f}, measured {measured:5,.0f}, {measured - predicted:3,.0f} more"
                print(f"{loop:26} {blocks} on an SM: {took}  {gain}")

# %% [markdown]
# In the pictures' ticks one barrier, too, gives ×1.5. By `period`, the round limits the loop with one buffer always,
# and those with two when their block is alone. So from ×1.5 to ×1.11:
#
# - **A second block does what a second buffer does.** Two blocks with one buffer each share the round: 1,055 cycles
#   by the model.
# - **11.3's round is longer than `period` says.** The loop waits for a tile *before* it multiplies the last K block
#   of the tile before, and issues the next load *after* it. So a K block's arithmetic is part of the round: 1,350 +
#   765 / 4 = 1,541 cycles. Issued right behind the barrier, the load would not wait for it. A block alone took 1,670,
#   more than 11.2's 1,445. Two blocks share the round: 770 cycles, slightly more than the arithmetic's 760. So a
#   second buffer should gain 1,055 / 770 = ×1.37.
# - **The parts slow each other down.** Two blocks of 11.3's loop took 961 cycles, 191 more than these 770. So the
#   loop gains ×1.18 of the possible ×1.37. The cause is open: the model leaves out shared memory, where copies and
#   fetches meet.
# - **11.2 fetches as needed**, so two blocks gain ×1.03. A third fills some of their pauses: ×1.09, and at 4096³ it
#   was ×1.11.
#
# The same record has two more loops. 11.2 with *two* barriers takes 1,426, 1,059 and 990 cycles with one, two and
# three blocks: 1 to 5% fewer. The model expects this only of a block alone. 11.3 with a *third* buffer, notebook 13's
# loop, takes 984 where a block is alone; with two blocks it gains next to nothing: 956.
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
# - A tile is 64 columns of the block's 16 rows. `a` goes through shared memory in 16-byte cp.async, with two buffers:
#   while a tile is summed, the next one is in flight.
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
# A thread that reads only its own copies needs no barrier, neither for *the data has arrived* nor for *the buffer is
# free*. The GEMM needs both, because ldmatrix hands every thread the copies of others.
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
# <details><summary>1. One block, latency 8, transfer 2, compute 3, two barriers a tile. Beyond how many buffers does
# another gain nothing? And with one barrier?</summary>
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
# So that a wait means the same in every step. With `wait_group(0)` that makes no difference; with more stages it does.
#
# </details>

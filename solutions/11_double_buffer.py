# ---
# jupyter:
#   tutorlib:
#     minutes: 74
#     summary: The next tile travels while this one is multiplied; then the same again, in registers.
# ---

# %% [markdown]
# # 11 · Two buffers
#
# The GEMM of notebook 10 loads a tile, waits, computes, and loads the next one. While a block loads, it multiplies
# nothing; while it multiplies, none of its loads is in flight. This page gives shared memory a second buffer, so that
# the next tile arrives while this one is multiplied. Then it does the same one level closer to the tensor cores, with
# registers. The first picture promises ×1.5. An H200 gives ×1.10, and ×1.16 with the registers; a model shows which
# limit remains.
#
# > **After this page you can** predict the time of a pipeline from its parts, for one block on an SM and for several,
# > write a double-buffered loop and say which barriers it needs, fetch registers ahead across the end of a tile, and
# > write a pipelined kernel without a barrier.
# >
# > **It takes** about 74 minutes, on any machine: 9 to read, 17 for cells and pictures, 48 for the exercises. A GPU
# > from sm_80 on times your loops.

# %%
from contextlib import suppress

import cutlass
import cutlass.cute as cute

from tutorlib import Timeline, check, show_fetches, show_ladder, show_limits, show_timeline
from tutorlib.kernels.ampere import Steps

# %% [markdown]
# ## The idea, in time
#
# The picture has a row for each buffer (*buf*) and one for the arithmetic (*math*). Dots: the copy is issued and
# nothing has arrived, because of the *latency* or because the memory is busy with another tile. Gray is the
# *transfer*: the tile arrives. Each tile has its color, paler while the tile waits in its buffer. As at the end of
# page 10, two blocks share an SM. Each block has its own buffers; the blocks take turns at the memory and the tensor
# cores. Above, each block has one buffer, and below, two:

# %%
show_timeline(*(Timeline(stages, latency=4, transfer=2, compute=3, tiles=8, blocks=2) for stages in (1, 2)))

# %% [markdown]
# With two buffers the SM takes 3 ticks for a tile instead of 4.5: ×1.5.
#
# ## When is a buffer free?
#
# A load may overwrite a buffer only after *all* threads of the block have read it, so a barrier must come between. With
# **two barriers a tile** (upper picture), one says that the tile has arrived. The other, after the arithmetic, says
# that its buffer is free, and the next load into it is issued at once. With **one barrier a tile** (lower picture), a
# load is issued after the barrier that says that a tile has arrived. One block alone is slower
# that way: 6 ticks a tile, not 4.5. By the next formula, two blocks on an SM reach 3 either way, so
# here the second barrier buys nothing:

# %%
show_timeline(*(Timeline(2, latency=4, transfer=2, compute=3, tiles=6, at_once=at_once) for at_once in (True, False)))

# %% [markdown]
# How many ticks does an SM take for one more tile in the long run? Three things can be the slowest: the arithmetic,
# which does one tile at a time; the memory, which delivers one tile at a time; and the **round** of the buffers. With
# two barriers, a buffer goes through latency, transfer and arithmetic before the next load into it, and in that time
# each of the SM's blocks computes as many tiles as it has buffers.
#
# **Exercise 11.1** (about 1 line). Complete `period`. With one barrier, how many ticks pass from a load's issue to the
# barrier for its tile, and how many tiles does the block compute meanwhile? A block has at least two buffers, `stages`.


# %%
def period(blocks, stages, latency, transfer, compute, barriers):
    """The ticks that an SM with this number of blocks takes for one more tile."""
    share = (latency + transfer + compute) / stages  # of the round, with two barriers
    if barriers == 1:
        ### BEGIN SOLUTION (about 1 line)
        share = (latency + transfer) / (stages - 1)
        ### END SOLUTION
    return float(max(compute, transfer, share / blocks))


# %%
check("11.1", period)

# %% [markdown]
# ## Double buffering
#
# The buffers are the third mode of notebook 10's `smem_layout`, the **stage**.
#
# **Exercise 11.2** (about 12 lines). Write the main loop for two buffers, `double_buffer(steps)`: tile *k* goes into
# buffer *k* % 2.
#
# - While tile *k* is multiplied, the load of another tile is in flight.
# - No thread reads a tile before all of it has arrived, and no load overwrites a buffer that a thread may still read.
# - There are at most two barriers a tile. Either schedule earns full points.
# - K may have any number of tiles, even one. The loop over K tiles is not unrolled.
#
# The calls are those of 10.2. Inside a `@cute.jit` function, `if` works with a condition that is known only at run
# time.


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
# a tick in which the tensor cores wait. The thick line is the barrier after the wait for a tile:

# %%
show_fetches(tiles=3, k_blocks=4)

# %% [markdown]
# In the lower picture the barrier is *inside* the arithmetic: when it opens, the tensor cores have work at once.
#
# **Exercise 11.3** (about 13 lines). Complete the loop of the lower picture, with tile *k* in buffer *k* % 2.
# The lines before the loop, its **prologue**, are given:
#
# - each K block is fetched once, while the K block before it is multiplied, also across the end of a tile. In the last
#   step, which has no next tile, one idle fetch does no harm, if its operands are never multiplied;
# - while a tile's K blocks are multiplied, the load of the next tile is in flight (issue it before or after the step's
#   first `fetch`);
# - one barrier a tile; the loop over K tiles is a plain `range`.
#
# Test for a tile's last K block with `if cutlass.const_expr(…)`.


# %%
@cute.jit
def register_pipeline(steps: Steps):
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    ### BEGIN SOLUTION (about 13 lines)
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
# Within a tile the compiler may move a fetch ahead. Across the barrier it may not: that fetch is yours to place.
#
# Each kernel is timed in turns with cuBLAS. *gain* compares these ratios, whose spread within a run is ±. 10.4's blocks
# run row by row, the others down C's columns. (The µs also hold what the GPU's clock did between the rows: on the H200
# cuBLAS took some 3% longer beside 10.4.) The next section compares the loops alone.

# %%
show_ladder("10.4", "11.2", "11.3")

# %% [markdown]
# ## Where the rest of ×1.5 goes
#
# On an H200 the parts have other lengths. Loops that do only one thing measure each, alone on an SM, in clock cycles
# for one more K tile:
#
# | part | the loop | cycles |
# |---|---|---|
# | load | loads a tile and waits for it | 1,356 |
# | transfer | keeps three loads in flight | 593 |
# | arithmetic | fetches and multiplies the same tile again and again | 770 |
#
# Beside copies the arithmetic takes longer, 962 cycles instead of 770 for 11.3 alone on an SM. A likely cause is shared
# memory, which serves both. So the next table's *arithmetic* is measured, too, with loops that copy but never wait for
# the copies. 10.2 has no such loop. With two blocks it is given 11.3's value, since the compiler fetches ahead there,
# too; with one block it is given 770, since no copy runs beside its arithmetic.
#
# The cell calls your `period` for 10.2 and 11.3 with one block on an SM and with two, which is all that their registers
# allow, and for 11.2 with three. 11.3 waits for a tile, multiplies one more K block, and then issues the next load, so
# its `latency` includes a quarter of the arithmetic. × compares a row with the last 10.2 row above it.

# %%
limits = None
with suppress(NotImplementedError):  # until you have written period
    limits = show_limits(period)
limits

# %% [markdown]
# `period`, the largest of a row's three limits, is within 5% of the measured cycles. Only the second and third row
# test the model: the first has one block and nothing overlaps, and in the last two `period` returns the measured
# arithmetic.
#
# In the first picture latency + transfer is twice the arithmetic, so a second buffer turns (6 + 3) / 2 ticks into 3:
# ×1.5. Here a load's 1,356 cycles are less than twice the arithmetic's 925: two blocks of 10.2 need (1,356 + 925) / 2 =
# 1,141 cycles for a tile. With a second buffer the arithmetic is the limit: 11.3's 925 cycles promise ×1.23, and ×1.17
# was measured. 11.2 fetches each K block only when it needs it. We do not know why the compiler moves 10.2's fetches
# and not these. Its 1,016 cycles promise ×1.12, and ×1.10 was measured.
#
# ## Your kernel
#
# A language model that writes one token multiplies each of its weight matrices by a *vector*. No weight is reused;
# shared memory is here only the place where cp.async puts its bytes.
#
# **Exercise 11.4** (about 8 lines). Complete the kernel of `matvec(a, b, c)`: c = a · bᵀ, where a is (M, K), b (1, K)
# and c (M, 1), all row-major bf16; M and K are multiples of 64. In the given lines eight lanes share 128 bytes of a
# row: piece j of a row is `pieces[0, None, j]`, 8 elements, and `vector` is b in such pieces. `buffers[None, t, i]` are
# thread t's 16 bytes in buffer i. You leave this lane's sum in `total`.
#
# - A tile is 64 columns of the block's 16 rows. `a` goes through shared memory in 16-byte cp.async, with two buffers.
#   While a thread waits for a tile, the copy of the next one is in flight.
# - Each element of `a` is copied once, and read from shared memory once.
# - **There is no barrier**, so no thread may read what another thread has copied.
#
# | | |
# |---|---|
# | `cute.copy(atom, source, target)` | one cp.async of 16 bytes, of tensors of shape (8,) |
# | `cute.arch.cp_async_commit_group()` | groups this thread's copies since the last; an empty one counts |
# | `dot(x, y)` | the sum of the products of two tensors of shape (8,), in fp32 |


# %%
from cutlass import BFloat16, Float32
from cutlass.cute.nvgpu.cpasync import CopyG2SOp, LoadCacheMode
from cutlass.memory import SmemAllocator


@cute.jit
def dot(x: cute.Tensor, y: cute.Tensor):
    return (x.load().to(Float32) * y.load().to(Float32)).reduce(cute.ReductionOp.ADD, 0.0, 0)


# %%
@cute.kernel
def matvec_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    row, lane = 16 * block + thread // 8, thread % 8
    pieces, vector = (cute.local_tile(x, (1, 8), (at, None)) for x, at in ((a, row), (b, 0)))  # (1, 8, K / 8)
    atom = cute.make_copy_atom(CopyG2SOp(cache_mode=LoadCacheMode.GLOBAL), BFloat16, num_bits_per_copy=128)
    k_tiles, total = a.shape[1] // 64, Float32(0.0)
    buffers = SmemAllocator().allocate_tensor(BFloat16, cute.make_layout((8, 128, 2)), byte_alignment=128)
    ### BEGIN SOLUTION (about 8 lines)
    cute.copy(atom, pieces[0, None, lane], buffers[None, thread, 0])
    cute.arch.cp_async_commit_group()
    for k_tile in range(k_tiles):
        if k_tile + 1 < k_tiles:
            cute.copy(atom, pieces[0, None, 8 * (k_tile + 1) + lane], buffers[None, thread, (k_tile + 1) % 2])
        cute.arch.cp_async_commit_group()  # in the last step an empty group, so that one group may stay in flight
        cute.arch.cp_async_wait_group(1)
        total += dot(buffers[None, thread, k_tile % 2], vector[0, None, 8 * k_tile + lane])
    ### END SOLUTION
    total = cute.arch.warp_reduction_sum(total, threads_in_group=8)  # over the eight lanes of a row
    if lane == 0:
        c[row, 0] = total.to(BFloat16)


@cute.jit
def matvec(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """a (M, K), b (1, K), c (M, 1), all row-major bf16."""
    matvec_kernel(a, b, c).launch(grid=(a.shape[0] // 16, 1, 1), block=(128, 1, 1))


# %%
check("11.4", matvec)

# %% [markdown]
# A thread that reads only its own copies needs no barrier. In the GEMM, ldmatrix hands each thread copies of others.
#
# ## What to remember
#
# - A second buffer turns *load, wait, compute* into *issue the next load, compute this tile*.
# - At best, a tile takes as long as the slowest of three: its arithmetic, its transfer, and its share of a buffer's
#   round. With n blocks on an SM, n times as many tiles fit in a round.
# - The barrier that says *the data has arrived* also says *the buffer of the tile before is free*.
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
# <details><summary>2. A colleague loads tile k + 1 after the arithmetic of tile k. Is it safe? Does it help?</summary>
#
# Safe: the step's barrier has freed the buffer. But no load is in flight while tile k is multiplied.
#
# </details>
#
# <details><summary>3. Notebook 13 gives 11.3's loop a third buffer. In the last table's run, two blocks on an SM then
# took 946 cycles for a tile, a block alone 987. Why does only the lone block gain much?</summary>
#
# With two buffers it took 1,676 cycles, limited by its round. A third halves its share of the round, and the arithmetic
# beside copies becomes the limit. Two blocks had nearly reached it before.
#
# </details>

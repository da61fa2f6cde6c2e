# ---
# jupyter:
#   tutorlib:
#     minutes: 72
#     summary: Copy kernels, from one element at a time to TMA, beside torch's own copy, and a transpose of your own.
# ---

# %% [markdown]
# # 05 · A copy at the speed of light
#
# Copying a matrix computes nothing, so its speed shows only how well you move data.
#
# A host function launches each kernel on two row-major matrices, `src` and `dst`. On an H200 the second rung has half
# the speed of torch's copy, the third almost all of it: it has more bytes in flight. Speeds count each byte twice, once
# read and once written.
#
# > **After this page you can** write coalesced copies, read a TiledCopy, and move data through shared memory, by TMA
# > and by cp.async, with each wait in its place and without bank conflicts.
# >
# > **It takes** about 72 minutes, on any machine; speed needs a GPU (sm_80), TMA a Hopper. Without one, the course's
# > own measurements are shown.
#
# Each thread block copies one tile, at first of 128×64 elements, with 128 threads.

# %%
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import CopyUniversalOp, cpasync
from cutlass.memory import SmemAllocator

from tutorlib import (
    all_sweep_results, check, hardware_of, show_mbarrier, show_sweep,
)  # fmt: skip

TILE = (128, 64)
THREADS = 128


def grid_for(tensor, tile=TILE):
    """One block for each tile, partly filled ones included."""
    return (cute.ceil_div(tensor.shape[1], tile[1]), cute.ceil_div(tensor.shape[0], tile[0]), 1)


# %% [markdown]
# ## Rungs 1 and 2: naive, coalesced
#
# In rung 1, thread *t* copies row *t* of the tile, from left to right. An access of its warp touches 32 elements that
# are a whole row apart in memory. So it requests 32 **sectors**, aligned pieces of 32 bytes, where 2 could hold its 64
# bytes. We do not time it: notebook 02's copy down columns, with 8 times the sectors that it needs, had 0.13 of torch's
# speed.
#
# **Exercise 05.1** (about 6 lines). Write rung 2, which touches only the sectors it needs: 2 for each access of a warp.
# It has the same threads and tile, and loads and stores only elements that exist. Its loop is over
# `cutlass.range(start, stop, step, unroll_full=True)`, which asks the compiler to unroll it: to repeat its body.


# %%
@cute.kernel
def coalesced_kernel(src: cute.Tensor, dst: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    rows, columns = src.shape
    ### BEGIN SOLUTION (about 6 lines)
    column = across * TILE[1] + thread % TILE[1]
    together = THREADS // TILE[1]  # rows that the block covers in one step
    for m in cutlass.range(0, TILE[0], together, unroll_full=True):
        row = down * TILE[0] + m + thread // TILE[1]
        if row < rows and column < columns:
            dst[row, column] = src[row, column]
    ### END SOLUTION


@cute.jit
def coalesced(src: cute.Tensor, dst: cute.Tensor):
    coalesced_kernel(src, dst).launch(grid=grid_for(src), block=(THREADS, 1, 1))


# %%
check("05.1", coalesced)

# %% [markdown]
# ## Bytes in flight
#
# Rung 2 touches no unnecessary sector, and still has only half the speed of torch's copy. Too few of its loads are in
# flight. The compiler may not move a load above the previous step's store, because for all it knows `dst` and `src`
# overlap. So at any time each of an SM's 2,048 threads waits for at most one element of 2 bytes, 4 KiB in all.
#
# By **Little's law**, bandwidth = bytes in flight / latency. To see it, change nothing but the bytes in flight: one
# block on each SM copies in steps, and in each step a thread issues four loads of 16 bytes and stores what they bring.
# So a step lasts one latency plus the time to issue its instructions. The cell lists blocks of 32 to 1,024 threads, and
# counts reads only. **Predict:** when the speed no longer grows, and you double the bytes in flight, what becomes of
# the latency?

# %%
for swept in all_sweep_results("copy_in_flight"):
    print(f"{swept.gpu}, {swept.date}: reads in flight on an SM; step; reads of all SMs")
    gpu, steps, rates = hardware_of(swept.gpu), [], []
    for point in swept.points:
        bytes_in_flight = gpu.sms * 1024 * int(point.name.removesuffix("KiB"))
        rows, columns = point.measurement.shape
        rates.append(rows * columns * 2 / point.measurement.median_us)  # in a µs; an element has 2 bytes
        steps.append(bytes_in_flight / rates[-1])  # µs
        print(f"{point.name:>6} {steps[-1]:6.2f} µs {rates[-1] / 1e6:6.2f} TB/s", "█" * round(rates[-1] / 5e4))
    needed = steps[0] * max(rates) / gpu.sms / 1024
    print(f"Little's law: at {steps[0]:.2f} µs, {max(rates) / 1e6:.2f} TB/s need {needed:.0f} KiB on each SM.")
    print(f"Datasheet: {gpu.bandwidth / 1e12:.1f} TB/s, reads and writes together.")

# %% [markdown]
# At first bandwidth grows with the bytes in flight. From the **knee**, here 24 KiB, this kernel gains next to nothing:
# twice the bytes take twice as long. Little's law above takes the first row's step, when memory is almost idle. Under
# load requests queue and steps grow, so the knee lies at three times Little's 8 KiB.
#
# Rung 2, with at most 4 KiB in flight, reads 1.07 TB/s, half of this kernel's most. So a load takes at most 0.51 µs: a
# step of the table has four loads, four stores and a loop in it, too.
#
# ## Rung 3: 128 bits at a time
#
# Rung 3 differs from rung 2 in four ways: each thread moves **vectors** of 8 bf16 elements, 16 bytes; it issues **all
# its loads before the first store**; the tile is 64×128; and 256 threads share it.
#
# In CuTe this is a `TiledCopy`: one copy instruction, wrapped as a **copy atom** and laid out over threads and values.
# One layout arranges the threads over the tile, as a matrix of thread numbers; the other arranges the elements that one
# thread takes at once. For bf16 and the tile of 64×128, a vector has 8 elements, and 16 threads side by side cover a
# row.
#
# - `mine = tiled.get_slice(thread)` is one thread's view. `mine.partition_S(t)` and `mine.partition_D(t)` give its part
#   of a source and of a destination, as a tensor of shape (vector, repetitions down, repetitions across).
# - `cute.make_fragment_like(part)` is a tensor in registers with room for each element of the part.
# - `cute.copy(tiled, from, to)` copies a thread's whole part.

# %%
WIDE = (64, 128)
WIDE_THREADS = 256


def tile_of_block(tensor, tile):
    """The tile that belongs to this thread block: the zipped divide of notebook 03, with one tile picked out."""
    across, down, _ = cute.arch.block_idx()
    return cute.local_tile(tensor, tile, (down, across))


def demand(divides, what):
    """Refuse a size that the kernel cannot do, while it is compiled."""
    if not divides:
        raise ValueError(what)


def vectors_along_rows(atom, vector, tile, threads):
    """A TiledCopy of `threads` threads over a tile: vectors along the row, then threads, then down."""
    per_row = tile[1] // vector  # threads side by side
    lay = cute.make_ordered_layout((threads // per_row, per_row), order=(1, 0))
    return cute.make_tiled_copy_tv(atom, lay, cute.make_ordered_layout((1, vector), order=(1, 0)))


@cute.kernel
def vectorized_kernel(src: cute.Tensor, dst: cute.Tensor, tiled: cute.TiledCopy):
    thread, _, _ = cute.arch.thread_idx()
    mine = tiled.get_slice(thread)
    from_src = mine.partition_S(tile_of_block(src, WIDE))  # (V, M, N)
    to_dst = mine.partition_D(tile_of_block(dst, WIDE))
    registers = cute.make_fragment_like(from_src)
    cute.copy(tiled, from_src, registers)  # all loads
    cute.copy(tiled, registers, to_dst)


@cute.jit
def vectorized(src: cute.Tensor, dst: cute.Tensor):
    rows, columns = src.shape
    demand(rows % WIDE[0] == 0 and columns % WIDE[1] == 0, f"{rows}×{columns} is not made of 64×128 tiles")
    atom = cute.make_copy_atom(CopyUniversalOp(), src.element_type, num_bits_per_copy=128)
    tiled = vectors_along_rows(atom, 128 // src.element_type.width, WIDE, WIDE_THREADS)
    vectorized_kernel(src, dst, tiled).launch(grid=grid_for(src, WIDE), block=(WIDE_THREADS, 1, 1))


# %% [markdown]
# Here are the four changes. A row with a + is rung 2 with the changes that it names. (Here rung 2, too, is a
# TiledCopy kernel without predicates.)

# %%
show_sweep("copy_rungs")

# %% [markdown]
# Either of the first two changes alone puts more bytes in flight than the knee's 24 KiB (2,048 threads with vectors: 32
# KiB), and reaches 0.9 of torch's copy. Both together, the tile and the threads gain 6 to 8 points more; bytes in
# flight are not all. Rung 3, the last row with a +, reads 2.10 TB/s and has 88% of the datasheet's bandwidth.
#
# ## Rung 4: TMA
#
# So far every byte went through registers, and each thread computed its own addresses. Hopper has an engine for tiles,
# the **Tensor Memory Accelerator**. One thread gives it a descriptor (the matrix's address and shape, and the tile's
# shape) and a tile's coordinate. TMA computes all addresses, fetches the tile into shared memory, and reports to an
# **mbarrier** how many bytes have arrived. An mbarrier is a counter in shared memory that threads can wait on. TMA
# stores tiles, too. It needs no predicates: a load fills elements outside the matrix with zeros, and a store skips
# them. Rows must begin at multiples of 16 bytes.
#
# An mbarrier counts two things: arrivals of threads, and bytes. When no arrival and no byte is pending, its **phase**
# completes, and the next begins with the full arrival count. A wait for a *parity* returns when the phase of this
# parity is over. A fresh mbarrier is in phase 0, so a wait for parity 1 returns at once. Here is one that
# expects 1 arrival, which announces 16 KiB:

# %%
show_mbarrier(1, [("arrive", 16384), ("bytes", 4096), ("bytes", 8192), ("bytes", 4096), ("arrive", 16384)])

# %% [markdown]
# `make_tiled_tma_atom` makes the descriptor. It returns a copy atom that holds it, and, in place of `src`, a tensor of
# *coordinates*, which `local_tile` cuts as it cuts memory. `cpasync.tma_partition` makes one mode of
# the shared tile and two of the matrix: the elements of a tile, and the tile's number.
#
# The pieces, not in order (without a prefix they are in `cute.arch`):
#
# | | |
# |---|---|
# | `cute.copy(load, from_src[None, n], to_tile, tma_bar_ptr=barrier)` | issues the load of tile n |
# | `cute.copy(store, from_tile, to_dst[None, n])` | issues the store of tile n |
# | `cp_async_bulk_commit_group()` | makes the stores that this thread issued so far a group |
# | `cp_async_bulk_wait_group(0, read=True)` | waits until TMA has *read* the tiles of all groups |
# | `mbarrier_wait(barrier, parity)` | a wait as above |
# | `mbarrier_arrive_and_expect_tx(barrier, bytes)` | an arrival that announces bytes |
# | `with elect_one():` | one thread of the warp executes this; the others skip it |
#
# The two copies elect a thread by themselves, always the same one: they are not called in `elect_one`. All threads may
# commit and wait; the others' groups are empty.
#
# **Exercise 05.2** (about 9 lines). A block of one warp takes three wide tiles, one below the other, from `src` to
# `dst`: tiles `first`, `first + 1` and `first + 2`. All three use the same buffer of 16 KiB; each takes one arrival,
# one load and one store. A tile that is partly or wholly outside `src` counts as 16 KiB, too. TMA works in the
# background: `dst` must be right however long each copy takes, and the block must not end, and give its shared memory
# away, while TMA still reads it.


# %%
TILES = 3  # of a block


def for_tma(atom, tile, matrix):
    """(the tile in shared memory, all tiles in this block's tile column of the matrix), as the TMA atom moves them."""
    across, _, _ = cute.arch.block_idx()
    stack = cute.local_tile(matrix, WIDE, (None, across))  # (64, 128, tiles down)
    alone = cute.make_layout(1)
    return cpasync.tma_partition(atom, 0, alone, cute.group_modes(tile, 0, 2), cute.group_modes(stack, 0, 2))


@cute.kernel
def tma_kernel(
    load: cute.CopyAtom,
    src: cute.Tensor,
    store: cute.CopyAtom,
    dst: cute.Tensor,
    tile_layout: cute.Layout,
    dtype: cutlass.Constexpr,
):
    _, down, _ = cute.arch.block_idx()
    first = down * TILES
    smem = SmemAllocator()
    tile = smem.allocate_tensor(dtype, tile_layout, byte_alignment=128)
    barrier = smem.allocate_array(cutlass.Int64, 1)
    to_tile, from_src = for_tma(load, tile, src)
    from_tile, to_dst = for_tma(store, tile, dst)
    tile_bytes = cute.size_in_bytes(dtype, tile_layout)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)  # one arrival
        cute.arch.mbarrier_init_fence()  # TMA sees it
    cute.arch.sync_warp()  # and so do the other threads
    ### BEGIN SOLUTION (about 9 lines)
    for n in cutlass.range(TILES, unroll_full=True):
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, tile_bytes)
        cute.copy(load, from_src[None, first + n], to_tile, tma_bar_ptr=barrier)
        cute.arch.mbarrier_wait(barrier, n % 2)
        cute.copy(store, from_tile, to_dst[None, first + n])
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)
    ### END SOLUTION


@cute.jit
def tma(src: cute.Tensor, dst: cute.Tensor):
    dtype = src.element_type
    demand(
        src.shape[1] * dtype.width % 128 == 0, f"rows of {src.shape[1]} elements do not begin at multiples of 16 bytes"
    )
    tile_layout = cute.make_layout(WIDE, stride=(WIDE[1], 1))
    load, tma_src = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), src, tile_layout, WIDE)
    store, tma_dst = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), dst, tile_layout, WIDE)
    grid = grid_for(src, (TILES * WIDE[0], WIDE[1]))
    tma_kernel(load, tma_src, store, tma_dst, tile_layout, dtype).launch(grid=grid, block=(32, 1, 1))


# %%
check("05.2", tma)

# %% [markdown]
# This copy is a few percent slower than rung 3, perhaps because its loads and stores take turns in one buffer. What TMA
# buys is not speed here: one thread moves a tile without registers or addresses of its own, and the others are free to
# compute (notebook 14).
#
# ## A transpose of your own
#
# `dst` is now (N, M), with dst[n, m] = src[m, n], in fp32. If each thread moves one word straight to `dst`, either the
# loads or the stores of its warp run down a column. Through shared memory, both run along rows. The transpose names the
# same shared memory by two layouts: one takes the coordinates of src's tile, (row, column), the other those of dst's.
#
# Stored by rows of 64, the tile is read down its columns, and every read has a 32-way bank conflict (notebook 04). But
# where an element lies in the tile is your choice, as long as writer and reader agree.
#
# `cp.async` (sm_80) copies 4, 8 or 16 bytes from global to shared memory: the thread issues it and goes on. `cute.copy`
# with an atom made from `cpasync.CopyG2SOp` issues one for each vector. `cute.arch.cp_async_commit_group()` makes the
# copies that this thread has issued so far a group, and `cute.arch.cp_async_wait_group(n)` waits until at most n of
# *this thread's* groups are still in flight.
#
# **Exercise 05.3** (about 11 lines). Complete `transpose_kernel`, for sizes that are multiples of 64. `load` copies
# words by cp.async from global to shared memory. `store` serves twice: from shared memory to registers, and from
# registers to global memory. Both cover a tile of 64×64 along its rows, with 256 threads. The kernel has no bank
# conflict, and passes one barrier, `cute.arch.sync_threads()`. At hand: `SmemAllocator().allocate_array(dtype, count)`
# is a pointer, `cute.make_tensor(pointer, layout)` a tensor there, `cute.make_swizzle(B, M, S)` a swizzle σ, and
# `cute.make_composed_layout(σ, 0, L)` is σ ∘ L.


# %%
TURN = 64
TURN_THREADS = 256


@cute.kernel
def transpose_kernel(src: cute.Tensor, dst: cute.Tensor, load: cute.TiledCopy, store: cute.TiledCopy):
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    loads, stores = load.get_slice(thread), store.get_slice(thread)
    from_src = loads.partition_S(cute.local_tile(src, (TURN, TURN), (down, across)))
    to_dst = stores.partition_D(cute.local_tile(dst, (TURN, TURN), (across, down)))
    registers = cute.make_fragment_like(to_dst)
    ### BEGIN SOLUTION (about 11 lines)
    swizzle = cute.make_swizzle(5, 0, 6)
    tile_layout = cute.make_composed_layout(swizzle, 0, cute.make_layout((TURN, TURN), stride=(TURN, 1)))
    turned_layout = cute.make_composed_layout(swizzle, 0, cute.make_layout((TURN, TURN), stride=(1, TURN)))
    smem = SmemAllocator().allocate_array(src.element_type, TURN * TURN)
    tile, turned = cute.make_tensor(smem, tile_layout), cute.make_tensor(smem, turned_layout)
    cute.copy(load, from_src, loads.partition_D(tile))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    cute.copy(store, stores.partition_S(turned), registers)
    cute.copy(store, registers, to_dst)
    ### END SOLUTION


@cute.jit
def transpose(src: cute.Tensor, dst: cute.Tensor):
    rows, columns = src.shape
    demand(rows % TURN == 0 and columns % TURN == 0, f"{rows}×{columns} is not made of {TURN}×{TURN} tiles")
    asynchronous = cute.make_copy_atom(cpasync.CopyG2SOp(), src.element_type, num_bits_per_copy=32)
    plain = cute.make_copy_atom(CopyUniversalOp(), src.element_type, num_bits_per_copy=32)
    load = vectors_along_rows(asynchronous, 1, (TURN, TURN), TURN_THREADS)
    store = vectors_along_rows(plain, 1, (TURN, TURN), TURN_THREADS)
    transpose_kernel(src, dst, load, store).launch(grid=grid_for(src, (TURN, TURN)), block=(TURN_THREADS, 1, 1))


# %%
check("05.3", transpose)

# %% [markdown]
# The baseline is torch's plain copy of as many bytes. Yours is the second row.

# %%
show_sweep("transposes").iloc[[0, 1, 2, -1]]

# %% [markdown]
# Without a swizzle, shared memory gains nothing: 0.404 of torch's copy, while the better transpose of notebook 02,
# whose loads run down the columns of global memory, has 0.407. The swizzle alone makes the kernel 2.3 times as fast.
# Yours, by cp.async, is a little slower than through registers. It pays where a warp computes while the copies are in
# flight (notebook 11).
#
# ## What to remember
#
# - Give neighboring threads neighboring elements.
# - Bandwidth grows with the bytes in flight up to a knee; beyond it only the latency grows. Pass it: wide accesses, all
#   loads before the first store.
# - A transpose gains nothing from shared memory until padding or a swizzle removes the bank conflicts.
# - cp.async and TMA fill shared memory in the background. Their waits cover different things: a thread's own copies, or
#   the bytes that were announced to an mbarrier.
#
# **Next:** [notebook 06](06_cutile_tiles.ipynb), where a compiler chooses threads, shared memory and swizzles for you.
#
# ## Test yourself
#
# <details><summary>1. A warp reads fp32 numbers with a stride of 2. What fraction of the sectors' bytes is
# used?</summary>
#
# Half: its 32 threads span 256 bytes, 8 sectors.
#
# </details>
#
# <details><summary>2. You double the bytes that rung 3 has in flight. Why does its speed hardly change?</summary>
#
# It is past the knee: memory bandwidth is the limit, and more bytes in flight only wait longer.
#
# </details>
#
# <details><summary>3. In the transpose, every thread waits for 0 groups. Why is the barrier needed, too?</summary>
#
# A thread waits only for its own copies. It then reads words that other threads copied.
#
# </details>

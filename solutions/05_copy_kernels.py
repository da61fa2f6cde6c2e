# ---
# jupyter:
#   tutorlib:
#     minutes: 110
#     summary: Seven copy kernels, from one element at a time to TMA, beside torch's own copy.
# ---

# %% [markdown]
# # 05 · A copy at the speed of light
#
# Copying a matrix computes nothing, so its speed shows only how well you move data. Every later kernel of this course
# is a copy with arithmetic in the middle; a GEMM that cannot fetch its tiles in time is slow, however fast its tensor
# cores.
#
# You climb a ladder of copy kernels. All have the same entry point, a host function `copy(src, dst)` for two row-major
# matrices, and each rung changes a few lines. Before each rung you predict its gain; at the end you compare with the
# measured speeds, beside those of `torch`'s own copy and the datasheet's bandwidth.
#
# > **After this page you can** count the sectors of a kernel's accesses, write a TiledCopy, move data through shared
# > memory by cp.async and by TMA with each wait and barrier in its place, and remove bank conflicts with a swizzle.
# >
# > **It takes** about 110 minutes, on any machine; speed needs a GPU (sm_80), the last rung a Hopper. Without one, the
# > course's own measurements are shown.
#
# *Bandwidth* on this page counts every byte twice: read once, written once.

# %%
import cutlass
import cutlass.cute as cute
from cutlass.memory import SmemAllocator
from tensor_layouts import Layout, Swizzle, compose
from tensor_layouts.analysis import segment_analysis

from tutorlib import (
    TensorSpec, Timeline, check, compile_cute, counters, explain, explore_tv, hardware_of, layout, show_banks,
    show_counts, show_figure, show_ladder, show_mbarrier, show_sweep, show_timeline, show_tv, wavefronts,
)  # fmt: skip

# %% [markdown]
# ## The cost of an access: sectors
#
# As notebook 04 counted, a warp's 32 threads execute one load together, and memory answers in **sectors**: 32 aligned
# bytes. A sector is moved as a whole or not at all. So the cost of a load is not the number of bytes that the warp
# requests, but the number of different sectors that contain them.
#
# Take 32 threads that read one bf16 number (2 bytes) each, from a matrix with rows of 4,096. Along a row, they read 64
# contiguous bytes. Down a column, they read the same number of bytes from 32 different rows.

# %%
along, down = Layout(32, 1), Layout(32, 4096)  # thread → offset, in elements
for name, warp in {"along a row": along, "down a column": down}.items():
    cost = segment_analysis(warp, element_bytes=2)
    print(
        f"{name:14} {cost['segments']:2} sectors, {cost['segment_efficiency']:4.0%} of the bytes moved were asked for"
    )

# %% [markdown]
# **Exercise 05.1** (about 4 lines). Write `sectors(offsets, element_bytes, vector)`: the number of sectors that one
# load of a warp touches. `offsets` holds, for each thread, the offset of the first element that it reads, counted in
# elements from an address that is a multiple of 32; `vector` is the number of consecutive elements that each thread
# reads. Threads may read the same element. An element may straddle the boundary between two sectors.


# %%
def sectors(offsets, element_bytes, vector=1):
    ### BEGIN SOLUTION (about 4 lines)
    touched = set()
    for offset in offsets:
        first, end = offset * element_bytes, (offset + vector) * element_bytes
        touched.update(range(first // 32, (end - 1) // 32 + 1))
    return len(touched)
    ### END SOLUTION


# %%
check("05.1", sectors)

# %% [markdown]
# ## The plumbing, once
#
# Every kernel below cuts both matrices into tiles and gives one tile to each thread block. That never changes, so the
# rungs share these functions. (They have no decorator: they are ordinary Python, executed during tracing.) We start
# with tiles of 128×64 elements and 128 threads.
#
# `cute.local_tile` is the ⊘ of notebook 02 with one tile picked out. Neighboring blocks take neighboring tiles of a
# row, so blocks that run at the same time read memory that is close together.

# %%
TILE = (128, 64)
THREADS = 128


def tile_of_block(tensor, tile=TILE):
    """The tile that belongs to this thread block."""
    across, down, _ = cute.arch.block_idx()
    return cute.local_tile(tensor, tile, (down, across))


def grid_for(tensor, tile=TILE):
    """One block for each tile, partly filled ones included."""
    return (cute.ceil_div(tensor.shape[1], tile[1]), cute.ceil_div(tensor.shape[0], tile[0]), 1)


def demand(divides, what):
    """Refuse a size that the kernel cannot do, while it is compiled."""
    if not divides:
        raise ValueError(what)


# %% [markdown]
# ## Rung 1: naive
#
# On a CPU you would give each thread a contiguous range of memory. Here that means: thread *t* copies row *t* of the
# tile, from left to right.
#
# The picture shows a miniature: 8 threads, a tile of 8×4. Each color is a thread; *V3* is the fourth element that it
# copies. All threads execute the same instruction at the same time, so look at one value, say *V0* everywhere: how far
# apart in memory are its eight elements?

# %%
show_tv("(8,4):(1,8)", (8, 4), "naive: a thread has a row")

# %% [markdown]
# **Predict.** In the real tile, 32 threads of a warp read 32 rows: the bad case from above. Sixteen elements share a
# sector, so the warp requests the same 32 sectors sixteen times in a row. If the L1 cache still holds them each time,
# little is lost; an SM with 2,048 threads has to hold this much:

# %%
print(f"{2048 * 32 // 1024} KiB of sectors, in {2048 * 128 // 1024} KiB of cache lines (128 bytes, one per thread)")

# %% [markdown]
# An SM of an H100 or H200 has 256 KiB for L1 and shared memory together (NVIDIA's Hopper whitepaper). It will be close,
# and for the stores no cache before the L2 helps. Write down a guess: what fraction of the bandwidth?
#
# First, the loop itself. `range(64)` in a kernel is a loop in the machine code, unless the compiler decides to unroll
# it. `cutlass.range(64, unroll_full=True)` repeats its body 64 times instead: no counter and no branch, and whatever
# depends on the loop variable becomes a constant in an address. Write your hot loops like that. (Unlike with
# `range_constexpr`, the compiler unrolls, not Python.) Which lines of the first listing are gone in the second?


# %%
@cute.kernel
def loop_kernel(a: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    for n in cutlass.range(4, unroll=1):
        a[n, thread] = 1.0


@cute.kernel
def unrolled_kernel(a: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    for n in cutlass.range(4, unroll_full=True):
        a[n, thread] = 1.0


@cute.jit
def loop(a: cute.Tensor):
    loop_kernel(a).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.jit
def unrolled(a: cute.Tensor):
    unrolled_kernel(a).launch(grid=(1, 1, 1), block=(32, 1, 1))


for name, host in {"loop": loop, "unrolled": unrolled}.items():
    print(f"{name}:\n{compile_cute(host, [TensorSpec((4, 32))]).body}")

# %% [markdown]
# **Exercise 05.2** (about 5 lines). Copy row `thread` of the tile, element by element, the loop fully unrolled. (A
# plain `range` is not enough: the compiler unrolls a part of it.) Blocks are numbered as in `tile_of_block`. Tiles at
# the edge are partly outside the matrix: load and store an element (`row`, `column`) only if it exists.


# %%
@cute.kernel
def naive_kernel(src: cute.Tensor, dst: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    rows, columns = src.shape
    ### BEGIN SOLUTION (about 5 lines)
    row = down * TILE[0] + thread
    for n in cutlass.range(TILE[1], unroll_full=True):
        column = across * TILE[1] + n
        if row < rows and column < columns:
            dst[row, column] = src[row, column]
    ### END SOLUTION


@cute.jit
def naive(src: cute.Tensor, dst: cute.Tensor):
    naive_kernel(src, dst).launch(grid=grid_for(src), block=(THREADS, 1, 1))


# %%
check("05.2", naive)

# %% [markdown]
# `explain` runs a kernel in the simulator and prints the cost of each line: here, of a tile of 128×64, in sectors. `!`
# marks an access that takes more sectors than its bytes need.

# %%
_ = explain("05.2", naive, shape=TILE)

# %% [markdown]
# ## Rung 2: coalesced
#
# The same loop, turned by 90 degrees: the threads run *along* the row. 64 of them cover one row of the tile, the other
# 64 the next; the loop walks down. At every step a warp now reads 64 contiguous bytes. In the miniature, 4 of 8 threads
# cover a row:

# %%
show_tv("((4,2),4):((8,1),2)", (8, 4), "coalesced: neighbors in a row are neighboring threads")

# %% [markdown]
# **Predict.** An access of a warp now takes 2 sectors instead of 32. How much faster is the copy than rung 1?
#
# **Exercise 05.3** (about 6 lines). Write it, unrolled and guarded like the first. `thread` picks a column and one of
# two rows; 64 steps cover the tile.


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
check("05.3", coalesced)

# %%
_ = explain("05.3", coalesced, shape=TILE)

# %% [markdown]
# Sixteen times fewer sectors, but the gain is not a factor of sixteen. Why? And which cost more, the loads or the
# stores? To find out, four more kernels load in one direction and store in the same or the other, with shared memory in
# between. The table has each kernel's speed as a fraction of torch's copy (notebook 04 explains *cool* and *pairs*).
# *Down* is the naive direction and *along* the coalesced one; the first two rows are the kernels that you wrote. The
# two sizes differ in the pitch: rows that begin 32 KiB apart, and 128 bytes more. Is the power of two to blame?

# %%
show_sweep("copy_naive")

# %% [markdown]
# The power of two is not to blame: the two columns agree. Stores cost more than loads. And the naive copy is about 23
# times slower than the coalesced one, while its sectors explain a factor of sixteen. (In the ladder below, with a
# matrix eight times as large, the factor is larger still.) The hardware's counters show where the rest comes from; each
# number is a multiple of the coalesced copy's: time, sectors that loads and stores touch, sectors that L2 delivered and
# received, bytes that device memory moved.

# %%
show_counts(
    "copy_naive",
    over="coalesced",
    loaded=counters.L1_LOADED,
    stored=counters.L1_STORED,
    from_L2=counters.L2_READ,
    to_L2=counters.L2_WRITTEN,
    memory=(counters.MEMORY_READ, counters.MEMORY_WRITTEN),
)

# %% [markdown]
# Follow the row *naive* from left to right. Loads and stores touch sixteen times the sectors, as counted by hand. L1
# hits are rare: nearly as many sectors come from L2. And device memory moves *more* than sixteen times the bytes, a
# factor close to that of the time. That fits an L2 into which every SM writes 2 bytes at a time: a thread returns to
# its sector only in its next step, after it has waited for another load, and by then L2 has evicted the sector. It goes
# out with 2 of its 32 bytes new, and has to come in again for the next 2.
#
# The kernels that go through shared memory issue all their loads at once, and then all their stores. They touch as many
# sectors, but return to each while L2 still has it: device memory moves hardly more than it must, and the remaining
# cost is that of the sectors themselves. Stores cost more than loads, because L1 serves some of the loads and none of
# the stores. (Why is the last row faster than rung 2? See rung 3.)
#
# **Keep this:** a cache repairs a bad access pattern as long as you return to a sector soon. When it fails, you pay for
# more than the sectors.
#
# Rung 2 moves no unnecessary byte. Is that the speed of light? Not yet, and the reason is not *where* the loads go but
# *how few* of them are in flight.
#
# A load takes several hundred nanoseconds. To keep the memory busy all that time, enough bytes must be in flight
# (Little's law: bytes in flight = bandwidth × latency). To read at half of the datasheet's bandwidth while it writes at
# the other half, every SM of an H200 must have this many bytes in flight:

# %%
h200 = hardware_of("NVIDIA H200")
for latency in (300, 600, 900):
    needed = h200.bandwidth / 2 * latency * 1e-9 / h200.sms
    print(f"at {latency} ns: {needed / 1024:4.1f} KiB")

# %% [markdown]
# And the loop above has this much: the compiler may not move a load above the previous step's store (for all it knows,
# `dst` and `src` overlap), so each thread waits for its one element of 2 bytes.

# %%
print(f"{2048 * 2 / 1024} KiB: an SM full of threads, with one bf16 element each")

# %% [markdown]
# ## Rung 3: 128 bits at a time
#
# Two changes lift that limit. Each thread moves **vectors** of 8 bf16 elements: 16 bytes, the widest access of an
# A100, H100 or H200 (Blackwell has one of 32). And it issues **all its loads before the first store**, so that a
# thread has several vectors in flight instead of one element.
#
# In CuTe this is a `TiledCopy`: one copy instruction (`CopyUniversalOp` with 128 bits), wrapped as a **copy atom** and
# laid out over threads and values. The miniature has vectors of 4 and two rows of threads:

# %%
show_tv("((4,2),(4,4)):((32,1),(8,2))", (8, 16), "vectorized: a thread has 4 neighbors at once, V0 to V3")

# %% [markdown]
# `make_tiled_copy_tv(atom, threads, values)` takes two layouts: `threads` arranges the threads over the tile, as a
# matrix of thread numbers, and `values` the elements that each takes at once. Then `get_slice(thread)` is one thread's
# view of the whole, and `partition_S` and `partition_D` give its part of the source and of the destination, as tensors
# of shape *(vector, repetitions down, repetitions across)*.
#
# Watch it on the host; shapes need no GPU:


# %%
from cutlass.cute.nvgpu import CopyUniversalOp, cpasync


# %%
@cute.jit
def look():
    atom = cute.make_copy_atom(CopyUniversalOp(), cutlass.BFloat16, num_bits_per_copy=64)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((2, 4), stride=(4, 1)), cute.make_layout((1, 4)))
    print("thread, value → place in the 2×16 that one step covers:", tiled.layout_src_tv_tiled)
    share = tiled.get_slice(5).partition_S(cute.make_rmem_tensor((8, 16), cutlass.BFloat16))
    print("one thread's share of an 8×16 tile:", share.layout)
    print("registers for that much:", cute.make_fragment_like(share).layout)


look()

# %% [markdown]
# The vector's own mode is a pair: `(4,1)` is four elements an access, and one access. Its stride of 8 comes from this
# tile, which `make_rmem_tensor` lays out column by column, `(8,16):(1,8)`. A partition asks for coordinates only, so
# any tile will do here; a 64-bit copy needs neighbors, as in a row-major tile, whose share is
# `((4,1),4,1):((1,0),32,0)`.
#
# `make_fragment_like(share)` is a tensor in registers with room for each element of the share, and no more: its strides
# are its own. A copy from memory to memory takes two lines, memory → registers and registers → memory:
# `cute.copy(tiled, from, to)` moves a thread's whole share. With `pred=mask` it skips the vectors whose entry in the
# mask is False.
#
# Try other threads and values, and click an element to see all elements of its thread. Which input gives the pictures
# of rung 1 and rung 2? (Their tile is `(8,4)`.)

# %%
explore_tv(threads="(2,4):(4,1)", values="(1,4):(4,1)", tile="(8,16)")

# %% [markdown]
# <details><summary>Which input gives the pictures of rungs 1 and 2?</summary>
#
# Rung 1: threads `(8,1):(1,8)`, values `(1,4):(4,1)`. Rung 2: threads `(2,4):(4,1)`, values `(1,1):(1,1)`; the other
# values of a thread are further steps down.
#
# </details>
#
# Sizes that are not multiples of the tile need predicates, one per vector. If the number of columns is a multiple of 8,
# a vector is inside or outside as a whole, and its address is a multiple of 16 bytes, as a 128-bit access requires. So
# the kernel demands that. `inside` computes the predicates: it compares the coordinates of the thread's vectors with
# the shape. A TiledCopy partitions a tensor of coordinates as it partitions data. (`inside` has no decorator either, so
# its `range` is Python's own: the loops are unrolled, and the mask stays in registers.)


# %%
def inside(coordinates, shape):
    """For each vector of a partition (V, M, N): whether it is inside the matrix. Booleans (1, M, N)."""
    _, down, across = coordinates.shape
    mask = cute.make_rmem_tensor((1, down, across), cutlass.Boolean)
    for m in range(down):
        for n in range(across):
            mask[0, m, n] = cute.elem_less(coordinates[0, m, n], shape)
    return mask


# %% [markdown]
# Two more things change, the tile's shape and the number of threads, so this rung is four changes in all. 128×64
# elements of bf16 are 128 rows of 128 bytes; 64×128 are as many bytes in rows of 256. Device memory is read in bursts
# from open pages, so longer row segments should touch fewer pages per block. With 256 threads instead of 128, each has
# half as much to fetch. Which of the four will matter? They are measured one by one below.

# %%
WIDE = (64, 128)
WIDE_THREADS = 256

# %% [markdown]
# **Predict.** How many bytes does each thread have in flight now? And how many does an SM have, with 8 blocks of 256
# threads (if the registers allow them all)? Compare with the KiB that Little's law asked for.
#
# **Exercise 05.4** (about 6 lines: 3 in the kernel, 3 in the host function). In the host function, make the two
# layouts, `threads` and `values`: vectors of `vector` elements along the row, enough neighboring threads side by side
# to fill the 128 columns, and the other threads in rows below them. (The check also compiles it for fp32, where
# `vector` is 4.) In the kernel, copy through registers: a fragment like your part of the source, all loads, then all
# stores, both with `pred=mask`.


# %%
@cute.kernel
def vectorized_kernel(src: cute.Tensor, dst: cute.Tensor, tiled: cute.TiledCopy):
    thread, _, _ = cute.arch.thread_idx()
    mine = tiled.get_slice(thread)
    mask = inside(mine.partition_S(tile_of_block(cute.make_identity_tensor(src.shape), WIDE)), src.shape)
    from_src = mine.partition_S(tile_of_block(src, WIDE))  # (V, M, N)
    to_dst = mine.partition_D(tile_of_block(dst, WIDE))
    ### BEGIN SOLUTION (about 3 lines)
    registers = cute.make_fragment_like(from_src)
    cute.copy(tiled, from_src, registers, pred=mask)
    cute.copy(tiled, registers, to_dst, pred=mask)
    ### END SOLUTION


@cute.jit
def vectorized(src: cute.Tensor, dst: cute.Tensor):
    vector = 128 // src.element_type.width
    demand(src.shape[1] % vector == 0, f"a row of {src.shape[1]} elements is not a multiple of {vector}")
    atom = cute.make_copy_atom(CopyUniversalOp(), src.element_type, num_bits_per_copy=128)
    ### BEGIN SOLUTION (about 3 lines)
    side_by_side = WIDE[1] // vector
    threads = cute.make_layout((WIDE_THREADS // side_by_side, side_by_side), stride=(side_by_side, 1))
    values = cute.make_layout((1, vector))
    ### END SOLUTION
    tiled = cute.make_tiled_copy_tv(atom, threads, values)
    vectorized_kernel(src, dst, tiled).launch(grid=grid_for(src, WIDE), block=(WIDE_THREADS, 1, 1))


# %%
check("05.4", vectorized)

# %% [markdown]
# The four changes: each row is rung 2 with the change in its name. *Both* means vectors, all loaded before the first
# store.

# %%
show_sweep("copy_rungs")

# %% [markdown]
# Loads first, or vectors: either alone brings nearly the whole gain. Both put more bytes in flight, and how they do it
# matters little. (They differ in registers: a thread's 64 elements take 64 of them when loaded one by one, and 32 as
# vectors, two to a register.) Combining the two, longer row segments, and more threads each add a little more.
#
# **Keep this:** a fast copy has wide accesses, neighboring elements in neighboring threads, and many loads in flight
# before any thread waits. The TiledCopy provides the first two; the order of your lines the third.

# %% [markdown]
# ## Rung 4: cp.async through shared memory
#
# So far every byte went through registers. `cp.async` (sm_80) copies 16 bytes from global to shared memory directly:
# the thread issues it and goes on. The GEMMs of notebooks 09 to 12 fetch their tiles this way, and a copy is the
# smallest place to learn its three steps:
#
# 1. issue: `cute.copy` with a copy atom made from `cpasync.CopyG2SOp`, once for each vector;
# 2. commit and wait: `cp_async_commit_group()` makes the copies issued so far a group, and `cp_async_wait_group(n)`
#    waits until at most n groups are still in flight, here 0. Both concern *this thread's* copies only;
# 3. synchronize: `sync_threads()`, so that every thread's copies have arrived before any thread reads an element that
#    another one fetched. (The functions of steps 2 and 3 are in `cute.arch`.)
#
# The tile is the 128×64 of Eric Schreiber's copy kernel in
# [Demystifying CuTe](https://schreibereric.substack.com/p/demystifying-cute-how-to-write-a).
#
# **Predict.** What does a copy gain from it? Count the bytes in flight: a tile of 128×64 bf16 is

# %%
tile_bytes = TILE[0] * TILE[1] * 2
print(f"{tile_bytes // 1024} KiB; an SM with {THREADS}-thread blocks up to 2,048 threads has {2048 // THREADS} of them")

# %% [markdown]
# The number of threads allows that many; the shared memory (notebook 04 has its size) has room for a few blocks fewer.
# That is still more than Little's law demands, but so was rung 3: 64 bytes a thread, up to 128 KiB an SM. And the data
# still has to go from shared memory through registers to `dst`. Write down your guess before you run the check.
#
# **Exercise 05.5** (about 7 lines). The tile arrives in shared memory, row-major as it is in `src`; then it goes
# through registers to `dst`. `load` and `store` partition the tile in the same way; only their copy atoms differ.
# Thread *t* stores the part that thread 127 − *t* fetched (`THREADS - 1 - thread`), as the threads of a GEMM use what
# others fetched.


# %%
def vectors_along_rows(atom, vector, tile, threads):
    """A TiledCopy of `threads` threads over a tile: vectors along the row, then threads, then down."""
    lanes = tile[1] // vector
    lay = cute.make_ordered_layout((threads // lanes, lanes), order=(1, 0))
    return cute.make_tiled_copy_tv(atom, lay, cute.make_ordered_layout((1, vector), order=(1, 0)))


# %%
@cute.kernel
def staged_kernel(src: cute.Tensor, dst: cute.Tensor, load: cute.TiledCopy, store: cute.TiledCopy):
    thread, _, _ = cute.arch.thread_idx()
    row_major = cute.make_layout(TILE, stride=(TILE[1], 1))
    tile = SmemAllocator().allocate_tensor(src.element_type, row_major, byte_alignment=128)
    loads, stores = load.get_slice(thread), store.get_slice(THREADS - 1 - thread)
    ### BEGIN SOLUTION (about 7 lines)
    cute.copy(load, loads.partition_S(tile_of_block(src)), loads.partition_D(tile))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    from_tile = stores.partition_S(tile)
    registers = cute.make_fragment_like(from_tile)
    cute.copy(store, from_tile, registers)
    cute.copy(store, registers, stores.partition_D(tile_of_block(dst)))
    ### END SOLUTION


@cute.jit
def staged(src: cute.Tensor, dst: cute.Tensor):
    rows, columns = src.shape
    demand(rows % TILE[0] == 0 and columns % TILE[1] == 0, f"{rows}×{columns} is not made of {TILE[0]}×{TILE[1]} tiles")
    dtype = src.element_type
    asynchronous = cute.make_copy_atom(
        cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL), dtype, num_bits_per_copy=128
    )
    plain = cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=128)
    vector = 128 // dtype.width
    load = vectors_along_rows(asynchronous, vector, TILE, THREADS)
    store = vectors_along_rows(plain, vector, TILE, THREADS)
    staged_kernel(src, dst, load, store).launch(grid=grid_for(src), block=(THREADS, 1, 1))


# %%
check("05.5", staged)

# %% [markdown]
# **Keep this:** issue, commit, wait, barrier. Between the issue and the wait, a thread can do other work while its
# copies are in flight. A copy kernel has no other work; a GEMM has. Below, as in notebooks 10 and 12, with one buffer
# (one *stage*) the arithmetic waits for every tile; with more, the next tiles are in flight meanwhile.

# %%
show_timeline(*(Timeline(stages, latency=4, transfer=2, compute=3, tiles=6) for stages in (1, 2, 3)))

# %% [markdown]
# ## Rung 5: a transpose
#
# `dst` is now (N, M), with dst[n, m] = src[m, n]. Without shared memory, either the loads or the stores run down a
# column: the naive rung again, for half of the traffic. The way out is to turn the data on the chip:
#
# read a tile along its rows → write it to shared memory → barrier → **read it from shared memory along its columns**
# → write it along the rows of `dst`.
#
# Both trips to device memory are coalesced. The kernel does not know the layout of the tile in shared memory:
# `tile_layout` gives the offset of its element (row, column), `turned_layout` that of (column, row). Two tensors,
# `tile` and `turned`, name the same memory. To transpose is to choose the second layout: no data moves for it.
#
# Elements are fp32, a tile has 64×64 of them, and each access of a thread is one element. In each step a warp writes 32
# consecutive elements of a row, as `mine.partition_D(tile)` partitions it; a thread then reads as many elements of
# `turned` as it wrote, but they are in other rows: **other threads wrote them**.

# %%
TURN = 64
TURN_THREADS = 256


def launch_transpose(src, dst, tile_layout, turned_layout):
    rows, columns = src.shape
    demand(rows % TURN == 0 and columns % TURN == 0, f"{rows}×{columns} is not made of {TURN}×{TURN} tiles")
    for lay in (tile_layout, turned_layout):
        demand(
            cute.cosize(lay) <= TURN * TURN,
            f"memory for {TURN * TURN} elements, and a layout that reaches {cute.cosize(lay)}",
        )
    atom = cute.make_copy_atom(CopyUniversalOp(), src.element_type, num_bits_per_copy=src.element_type.width)
    tiled = vectors_along_rows(atom, 1, (TURN, TURN), TURN_THREADS)
    transpose_kernel(src, dst, tiled, tile_layout, turned_layout).launch(
        grid=grid_for(src, (TURN, TURN)), block=(TURN_THREADS, 1, 1)
    )


# %% [markdown]
# **Exercise 05.6** (about 8 lines: 6 in the kernel, 2 in the host function). In the kernel, take the tile from
# `from_src` to `to_dst`: through registers into `tile`, and out of `turned` through registers again, with the
# synchronization that this needs. Before you check it, predict the result without synchronization. In the host
# function, make `tile_layout` row-major, and `turned_layout` such that its (column, row) is (row, column) of the tile.


# %%
@cute.kernel
def transpose_kernel(
    src: cute.Tensor,
    dst: cute.Tensor,
    tiled: cute.TiledCopy,
    tile_layout: cute.Layout | cute.ComposedLayout,
    turned_layout: cute.Layout | cute.ComposedLayout,
):
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    mine = tiled.get_slice(thread)
    memory = SmemAllocator().allocate_array(src.element_type, TURN * TURN)
    tile = cute.make_tensor(memory, tile_layout)
    turned = cute.make_tensor(memory, turned_layout)

    from_src = mine.partition_S(cute.local_tile(src, (TURN, TURN), (down, across)))
    to_dst = mine.partition_D(cute.local_tile(dst, (TURN, TURN), (across, down)))
    ### BEGIN SOLUTION (about 6 lines)
    registers = cute.make_fragment_like(from_src)
    cute.copy(tiled, from_src, registers)
    cute.copy(tiled, registers, mine.partition_D(tile))
    cute.arch.sync_threads()
    cute.copy(tiled, mine.partition_S(turned), registers)
    cute.copy(tiled, registers, to_dst)
    ### END SOLUTION


@cute.jit
def transpose(src: cute.Tensor, dst: cute.Tensor):
    ### BEGIN SOLUTION (about 2 lines)
    tile_layout = cute.make_layout((TURN, TURN), stride=(TURN, 1))
    turned_layout = cute.make_layout((TURN, TURN), stride=(1, TURN))
    ### END SOLUTION
    launch_transpose(src, dst, tile_layout, turned_layout)


# %%
check("05.6", transpose)

# %% [markdown]
# Without synchronization, a warp may read elements that another has not written yet: the result is wrong, or right by
# luck. A GPU reports neither; the simulator reports the missing barrier in both cases.
#
# The transpose is right, and it is slow. Where? Ask the simulator: it marks one line of the report, and the picture
# shows the 32 threads of one such access, each in the column of its bank.

# %%
explain("05.6", transpose, shape=(TURN, TURN))

# %% [markdown]
# Notebook 03 has the reason: 32 threads that read down a column of this tile need 32 different words of one bank, and a
# bank delivers one word per cycle. Here is a corner of the tile, with the bank of every element; the elements that a
# warp reads in one instruction are outlined.

# %%
corner = layout(f"(32,32):({TURN},1)")
column = [(row, 0) for row in range(32)]
show_banks(corner, access=column)

# %% [markdown]
# **Predict.** Shared memory delivers one wavefront per clock cycle. How many cycles does a tile need, and how many are
# available, if device memory delivers the datasheet's bandwidth? (Round numbers: an H200 at 2 GHz.)

# %%
instructions = TURN * TURN // 32
straight = instructions * 1
conflicted = instructions * wavefronts([corner(row, 0) for row in range(32)], element_bytes=4)
moved = 2 * TURN * TURN * 4  # bytes from and to device memory
print(f"write rows {straight} + read columns {conflicted} = {straight + conflicted} cycles in shared memory")
print(f"{moved / (h200.bandwidth / h200.sms) * 2e9:.0f} cycles in device memory")

# %% [markdown]
# ## Rung 6: swizzled
#
# The position of an element inside the tile is your choice, as long as writer and reader agree. Padding each row by one
# element would do; a **swizzle** needs no extra byte, and TMA and the tensor cores of the later notebooks expect one.
# Swizzle⟨B, M, S⟩ XORs B bits of the offset into the B bits that start at bit M; it takes them from S bits higher up.
#
# Read the offset of this tile as bits: offset = 64·row + column, so the column is bits 0 to 5 and the row bits 6 to
# 11. The bank of a 4-byte element is bits 0 to 4. With three bits of the row mixed in, eight rows get different banks,
# and four rows still share each of them:

# %%
show_banks(compose(Swizzle(3, 0, TURN.bit_length() - 1), corner), access=column)

# %% [markdown]
# Which B, M, S give all 32 rows of a column different banks? (`explore_swizzle` of notebook 03 is there to try.)
#
# **Exercise 05.7** (about 4 lines). The same two layouts, composed with a swizzle: `cute.make_swizzle(B, M, S)` makes
# one, and `cute.make_composed_layout(swizzle, 0, layout)` is swizzle ∘ layout. The kernel stays as it is.


# %%
@cute.jit
def transpose_swizzled(src: cute.Tensor, dst: cute.Tensor):
    ### BEGIN SOLUTION (about 4 lines)
    swizzle = cute.make_swizzle(5, 0, 6)
    tile_layout = cute.make_composed_layout(swizzle, 0, cute.make_layout((TURN, TURN), stride=(TURN, 1)))
    turned_layout = cute.make_composed_layout(swizzle, 0, cute.make_layout((TURN, TURN), stride=(1, TURN)))
    ### END SOLUTION
    launch_transpose(src, dst, tile_layout, turned_layout)


# %%
check("05.7", transpose_swizzled)

# %%
explain("05.7", transpose_swizzled, shape=(TURN, TURN))

# %% [markdown]
# The conflicts are gone, at a price: the kernel executes more instructions than the plain one, because each address now
# needs its XOR. The ladder below shows whether that matters.
#
# **Keep this:** the kernel did not change at all. Layouts are values; a better one replaces a worse one.

# %% [markdown]
# ## Rung 7: TMA
#
# Hopper has an engine for tiles, the **Tensor Memory Accelerator**. One thread gives it a descriptor (the matrix's
# address and shape, and the tile's shape) and a tile's coordinate; TMA computes all addresses, fetches the tile into
# shared memory, and reports the bytes that have arrived to an **mbarrier**, a counter in shared memory that threads can
# wait on. It stores a tile, too; you wait for a store by groups, as for cp.async. No registers, no address arithmetic,
# no predicates: elements outside the matrix are filled with zeros by a load and skipped by a store. Rows must begin at
# multiples of 16 bytes.
#
# An mbarrier counts two things: arrivals of threads, and bytes. Its **phase** completes when none of either is pending,
# and the arrival count starts over. A wait names the *parity* of a phase, and returns once the latest phase of that
# parity has completed. Here is one that expects 1 arrival, which announces 16 KiB:

# %%
show_mbarrier(1, [("arrive", 16384), ("bytes", 4096), ("bytes", 8192), ("bytes", 4096), ("arrive", 16384)])

# %% [markdown]
# On a fresh barrier `wait(1)` returns at once: the phase before the first one counts as odd, and as completed. Notebook
# 13 uses that.
#
# The steps, all in one warp (names without a prefix are in `cute.arch`):
#
# 1. One thread (`with elect_one():`) initializes the barrier for 1 arrival, makes that visible to TMA, and arrives,
#    announcing the number of bytes to expect: `mbarrier_init(barrier, 1)`, `mbarrier_init_fence()`,
#    `mbarrier_arrive_and_expect_tx(barrier, tile_bytes)`. These are the whole tile's bytes, at the edge too: the zeros
#    count.
# 2. `cute.copy(load, …, tma_bar_ptr=barrier)` issues the load. `cute.copy` of a TMA atom elects its one thread itself,
#    so it comes after the `with`.
# 3. `sync_warp()`: the other 31 threads must not wait on a barrier before it is initialized. Then all of them wait,
#    `mbarrier_wait(barrier, 0)`: the barrier's first phase, number 0, completes when the announced bytes have arrived.
# 4. `cute.copy(store, …)` issues the store; `cp_async_bulk_commit_group()` and `cp_async_bulk_wait_group(0, read=True)`
#    wait until TMA has read the tile. (Only the thread that issued the store has anything to wait for; the other 31
#    commit an empty group.) Until then the block must not end, because its shared memory would go to another block.
#
# No thread reads or writes the tile itself, so this kernel needs no fence between threads and TMA; notebook 13's
# epilogue will. `tma_partition` cuts both sides into the boxes that one TMA instruction moves; that plumbing is given.
# The tile is the wide one again.
#
# **Predict.** The threads now do next to nothing. Is the copy faster than rung 3?
#
# **Exercise 05.8** (about 10 lines). Steps 1 to 4.


# %%
def for_tma(atom, tile, matrix):
    """(the tile in shared memory, this block's tile of the matrix), as the TMA atom moves them."""
    return cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(tile, 0, 2), cute.group_modes(tile_of_block(matrix, WIDE), 0, 2)
    )


# %%
@cute.kernel
def tma_kernel(
    load: cute.CopyAtom,
    src: cute.Tensor,
    store: cute.CopyAtom,
    dst: cute.Tensor,
    tile_layout: cute.Layout,
    dtype: cutlass.Constexpr,
):
    memory = SmemAllocator()
    tile = memory.allocate_tensor(dtype, tile_layout, byte_alignment=128)
    barrier = memory.allocate_array(cutlass.Int64, 1)
    to_tile, from_src = for_tma(load, tile, src)
    from_tile, to_dst = for_tma(store, tile, dst)
    tile_bytes = cute.size_in_bytes(dtype, tile_layout)
    ### BEGIN SOLUTION (about 10 lines)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, tile_bytes)
    cute.copy(load, from_src, to_tile, tma_bar_ptr=barrier)
    cute.arch.sync_warp()
    cute.arch.mbarrier_wait(barrier, 0)
    cute.copy(store, from_tile, to_dst)
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
    tma_kernel(load, tma_src, store, tma_dst, tile_layout, dtype).launch(grid=grid_for(src, WIDE), block=(32, 1, 1))


# %%
check("05.8", tma)

# %% [markdown]
# **Keep this:** with TMA one thread moves a tile, and the hardware counts its bytes. An mbarrier counts arrivals and
# bytes; its phase completes when neither is pending. In notebook 13 a ring of them becomes a pipeline.
#
# ## The ladder, measured
#
# These are this notebook's solutions, each on 1 GiB, each timed in turns with torch's copy of as many bytes (`tutor
# evidence 05` adds your GPU). The last column is the gain over the last rung before it that does the same work: for
# TMA, that is cp.async.

# %%
show_ladder("05")

# %%
show_figure("copy_ladder")

# %% [markdown]
# Compare with what you wrote down.
#
# - **Coalesced → vectorized.** Exactly as many bytes cross the memory bus. What changed most is the number in flight.
# - **cp.async and TMA** are no faster than the vectorized copy (compare the column *beside*). Expect that: once enough
#   bytes are in flight, memory bandwidth is the limit, whichever instruction requests them. Both were made for kernels
#   whose threads have other work to do; the gain comes when they do it. And the few percent that cp.async lacks come
#   with its narrower tile: in rung 3's table the row *+ both*, vectors through registers with the same 128×64 tile and
#   128 threads, is no faster.
# - **The transposes** differ by a swizzle and nothing else. You predicted the slower one: on an H200, the cycles in
#   device memory over those in shared memory, 1802/4224 = 0.43, are an upper bound for its fraction of the datasheet's
#   bandwidth. Measured: about 1.7 of 4.8 TB/s, or 0.36. The better one is within a tenth of torch's copy: with one
#   wavefront per access, shared memory is no longer the bottleneck.
# - **The datasheet** stays out of reach for every copy: it counts the bits that the pins could carry in a second
#   without refreshing the memory cells and without turning the bus around between reads and writes. torch's copy is the
#   realistic speed of light, and you wrote a kernel within a percent of it.
#
# ## What to remember
#
# - Memory moves sectors of 32 bytes. Give neighboring threads neighboring elements of a row.
# - Then bytes in flight decide: wide accesses, and all loads before the first store.
# - cp.async: issue, commit, wait, barrier. The wait covers a thread's own copies, the barrier those of all threads.
# - Another thread's writes to shared memory are visible after a barrier, and not before.
# - Layouts are values: a transpose is a second layout, and a swizzled layout replaces the plain one.
# - TMA: one thread, a descriptor, an mbarrier that counts bytes.
#
# ## Test yourself
#
# <details><summary>1. A warp reads fp32 numbers with a stride of 2. How many sectors, and what fraction of their bytes
# is used?</summary>
#
# The 32 threads span 256 bytes: 8 sectors, half of whose bytes are used.
#
# </details>
#
# <details><summary>2. <code>cp_async_wait_group(0)</code> has returned. May a thread read an
# element of the tile that another thread fetched?</summary>
#
# No. The wait covers this thread's own copies. After the barrier that follows it, yes: every thread has waited for its
# own before it arrived there.
#
# </details>
#
# <details><summary>3. A tile of 32×32 fp32 numbers is stored by rows of 32. Which Swizzle⟨B, M, S⟩ lets a warp read a
# column without conflicts?</summary>
#
# offset = 32·row + column: the row begins at bit 5, the banks are bits 0 to 4. All five bits of the row must be mixed
# in, from 5 places higher: Swizzle⟨5, 0, 5⟩.
#
# </details>

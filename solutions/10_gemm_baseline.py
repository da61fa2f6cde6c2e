# ---
# jupyter:
#   tutorlib:
#     minutes: 100
#     summary: Fragments, ldmatrix and mma.sync; a GEMM part by part, and at the end one kernel that is all yours.
# ---

# %% [markdown]
# # 10 · A GEMM on tensor cores
#
# This page builds a GEMM, C = A · Bᵀ, which the pages after it make faster. A is (M, K), B is (N, K), C is (M, N), all
# row-major bf16, accumulated in fp32. The entry point is `gemm(a, b, c)`.
#
# You write its main loop, the order in which it takes C's columns, and at the end the kernel around them. On an H200 at
# 4096³ it reaches 395 TFLOP/s, about half of cuBLAS's speed; the page ends with a count that explains it.
#
# > **After this page you can** write a tensor-core GEMM in CuTe: cp.async with zeros at the edges, operands by
# > ldmatrix, mma.sync, a main loop whose barriers you can defend, and stores of whole sectors; and predict its time
# > from the number of blocks on an SM.
# >
# > **It takes** about 100 minutes, on any machine, best in two sittings: stop after 10.2. A GPU from sm_80 on gives the
# > speed.

# %%
from contextlib import suppress

import cutlass
import cutlass.cute as cute
import torch

from tutorlib import (
    TensorSpec, Timeline, all_sweep_results, check, compile_cute, explain, hardware_of, show_columns, show_figure,
    show_ladder, show_path, show_source, show_timeline, show_tv, show_tvs, show_warps,
)  # fmt: skip
from tutorlib.kernels.ampere import GemmConfig, Steps, main_loops as course, make_gemm, thread_share

# %% [markdown]
# ## Who computes what, and what it costs
#
# Each thread block computes one tile of C. It walks along K in steps; in each step it loads a tile of A and a tile of B
# and multiplies them. Blocks share nothing: the block to the right needs the same rows of A, and loads them again.
#
# For each index along K, a block with a tile of m×n performs 2·m·n operations on 2·(m+n) bytes: m·n/(m+n) operations
# per byte, its **arithmetic intensity**. With a tile of 128×128 that is 64. At the peak of mma.sync that this page
# measures, an H200 performs 130 operations in the time that a byte takes from its memory. So L2 must serve half of the
# loads; notebook 12 counts them. The tile is 64 long along K, as in Eric Schreiber's ladder of kernels ([Demystifying
# CuTe](https://schreibereric.substack.com/p/demystifying-cute-how-to-write-a)), which these pages follow: 64 elements
# of bf16 are 128 bytes, so a row of a tile is one cache line, and spans all 32 banks once.
#
# CuTe's names say where a tensor is: `g` for the block's tile in global memory, `s` for shared memory, `r` for
# registers. Read `tCrA` as a thread's part (`t`), divided for the multiplication (`C`), in registers (`r`), of A.
#
# A's tile goes from `gA` to `sA` by cp.async, from there to `tCrA` by ldmatrix, and mma.sync multiplies it into the
# accumulators, `tCrC`. Here are the first 16 rows of the tile before cp.async and after it. A cell is 16 bytes, which
# thread T copies; the outline is a K block, 16 elements along K:

# %%
show_path()

# %%
from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as mma

# %% [markdown]
# ## Fragments: which lane holds what
#
# `mma.sync.m16n8k16`, the **MMA atom** of this page, is an instruction of the **tensor cores**, the units of an SM that
# multiply matrices. It multiplies a 16×16 matrix A by a 16×8 matrix B and adds the product to a 16×8 matrix of
# accumulators. One warp executes it, and no lane (thread of the warp) holds a whole matrix: each has a **fragment** of
# it in registers, and the hardware specifies which elements.
#
# The assignment is a thread-value layout, as in notebook 03: (lane, value) → index of an element in the matrix, first
# mode fastest. Here is that of the accumulators:

# %%
show_tv(mma.c_layout, (16, 8), f"C of m16n8k16: {mma.c_layout}")

# %% [markdown]
# Read the strides from the picture; the index is row + 16·column. Lanes 0 to 3 are two columns apart: 2·16 = 32. Lane 4
# is one row down: 1. Value 1 is one column to the right: 16. Value 2 is 8 rows down: 8.
#
# In A, k numbers the columns, and the index is row + 16·k. Each lane holds eight values: two neighbors along k share a
# 32-bit register, and the four registers belong to the four quarters of the matrix. Check the strides against the
# picture:

# %%
show_tv(mma.a_layout, (16, 16), f"A of m16n8k16: {mma.a_layout}")

# %% [markdown]
# CuTe describes B as N×K: like A with half the rows, so four values to a lane.
#
# ## ldmatrix
#
# Ordinary loads need four instructions to fill A's fragment, 4 bytes per lane each; `ldmatrix` needs one. It loads 8×8
# matrices of 2-byte elements, whose rows are 16 contiguous bytes each. Eight lanes supply the addresses of the eight
# rows. The hardware then distributes every row to four lanes, two elements to each, regardless of which lane supplied
# the address:

# %%
show_tvs(
    {
        "addresses: each lane supplies that of one row": "(8,8):(1,8)",
        "values: each lane receives a quarter of a row": "((4,8),2):((16,1),8)",
    },
    (8, 8),
    largest=36,
)

# %% [markdown]
# With `.x4` it loads four matrices: lanes 0–7 supply the addresses of the rows of matrix 0, lanes 8–15 those of matrix
# 1, and so on. Each lane receives four registers, register j from matrix j. A quarter of A above looks like the right
# picture, so one `ldmatrix.x4` fills the fragments of a 16×16 tile, if each lane supplies the right address.
#
# **Exercise 10.1** (about 1 line). Write `ldmatrix_row(lane)`. This lane supplies the address of eight elements of a
# row of the 16×16 tile: return the (row, column) of the first. Register j must receive values 2j and 2j + 1 of A's
# fragment.


# %%
def ldmatrix_row(lane):
    ### BEGIN SOLUTION (about 1 line)
    return lane % 16, 8 * (lane // 16)
    ### END SOLUTION


# %%
check("10.1", ldmatrix_row)

# %% [markdown]
# ## Shared memory: one layout, two access patterns
#
# cp.async writes the tile of A with eight threads side by side along a row, 16 bytes each. `ldmatrix` reads eight
# *rows* at a time, 16 bytes of each. Row-major suits the writes, but is the worst layout for the reads. So the tile
# is stacked from atoms of 8 rows of 128 bytes under Swizzle⟨3,3,3⟩, which notebook 04 derives. `stages` counts buffers:
# one on this page, more in notebook 11.

# %%
from tutorlib.kernels.ampere.thread_share import make_copy_g2s, make_mma, make_operands, smem_layout

show_source(smem_layout)

# %% [markdown]
# What is the swizzle worth? Here is what the course's kernel costs, with a tile of 128×128×64 and four warps: first
# with this layout, then with a row-major one.


# %%
def row_major(rows, k, stages):
    return cute.make_layout((rows, k, stages), stride=(k, 1, rows * k))


a, b, c = (torch.randn(128, 128).bfloat16() for _ in range(3))
for smem in (smem_layout, row_major):
    picture = explain(make_gemm(GemmConfig(), course.single_buffer, smem=smem), a, b, c)

# %% [markdown]
# Compare the lines of `ldmatrix`: in the row-major tile, eight rows meet in four banks, and seven of eight wavefronts
# are conflicts. The swizzle's addresses cost a few instructions more.
#
# ## The main loop: load, wait, compute
#
# The loop calls three functions, each thread for its own share of the work:
#
# | | |
# |---|---|
# | `steps.load(k_tile, buffer)` | issues cp.async for this K tile of A and of B, and returns at once |
# | `steps.fetch(k_block, buffer)` | ldmatrix: the operands of a K block, from shared memory into registers |
# | `steps.multiply(k_block)` | mma.sync: adds their product to the accumulators |
# | `steps.k_tiles`, `steps.k_blocks` | the number of K tiles, and of K blocks in each |
# | `cute.arch.cp_async_commit_group()` | the copies that this thread has issued since the last commit become a group |
# | `cute.arch.cp_async_wait_group(n)` | waits until at most n of this thread's groups are in flight |
# | `cute.arch.sync_threads()` | the barrier of the block |
#
# With one buffer, loading and multiplying take turns:

# %%
show_timeline(Timeline(stages=1, latency=4, transfer=2, compute=3, tiles=5))

# %% [markdown]
# **Exercise 10.2** (about 9 lines). Write the loop, with buffer 0: it loads every K tile once, and fetches and
# multiplies each of its K blocks once. Two hazards must be excluded, with at most two barriers for each K tile. Before
# you write, name them: whose copies does a wait cover, and who may still be reading the buffer that the next load
# overwrites?
#
# A **K block** is 16 elements along K, what one MMA instruction takes. The loop over K tiles is a plain `range`, so
# that the code does not grow with K. The loop over K blocks is `cutlass.range_constexpr`, which unrolls it: a K block
# selects registers, and an instruction names its registers.
#
# The check simulates your loop. There a copy arrives when a thread waits for it, and no sooner.


# %%
@cute.jit
def single_buffer(steps: Steps):
    ### BEGIN SOLUTION (about 9 lines)
    for k_tile in range(steps.k_tiles):
        steps.load(k_tile, 0)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, 0)
            steps.multiply(k_block)
        cute.arch.sync_threads()
    ### END SOLUTION


# %%
check("10.2", single_buffer)

# %% [markdown]
# Your loop, simulated: C issues copies, c commits them, w waits, | is a barrier, R ldmatrix, M the arithmetic.

# %%
explain(make_gemm(GemmConfig(), single_buffer), a, b, c)

# %% [markdown]
# Here is a good place to stop.
#
# ## Load: zeros at the edges
#
# M, N and K need not be multiples of the tile. K must be a multiple of 8, so that each row starts at a multiple of 16
# bytes. A vector is then entirely inside the matrix or entirely outside, and one comparison decides.
#
# A cp.async has two sizes: the bytes that it writes, always 16, and the bytes that it *reads*, 16 or 0. Bytes that it
# does not read become zeros. `pred` sets the second size:

# %%
show_source(thread_share.load)

# %% [markdown]
# `path` is one operand's way into shared memory, for one thread. `path.places` has the coordinates of each vector's
# elements, and is `None` where tiles divide the matrix. `cute.elem_less` is true if the row *and* the column are
# smaller.
#
# **Predict:** a colleague writes `if cute.elem_less(…): cute.copy(…)`, without `pred`. It copies nothing from outside
# the matrix, and passes every test at 4096³. At a size that no tile divides, which elements of C may be wrong: those of
# the last rows and columns, or others?
#
# <details><summary>Which?</summary>
#
# All of them. Where nothing is copied, shared memory keeps what it had. Rows beyond M and N reach only accumulators
# that are never stored; but what is left along K is multiplied into *every* element of C. Zeros add nothing.
#
# </details>
#
# ## Multiply: who multiplies what
#
# A **tiled MMA** arranges warps over the tile, here 2×2, and says how much of the tile all warps cover before the
# pattern repeats: 32×32, and 16 along K. The course's `make_mma(config, dtype)` makes it; `config`, a `GemmConfig`,
# says how the work is divided. The left picture is one pattern, and C's tile of 128×128 repeats it (right). The numbers
# are warps, V is a thread's value.

# %%
pattern = "((4,8,2,2),((2,2),(1,2))):((64,1,16,256),((32,8),(0,512)))"  # (thread, value) → place in 32×32
show_warps(pattern, (32, 32), (128, 128))

# %% [markdown]
# In a pattern each warp has two atoms along N, because one `ldmatrix.x4` brings 16 rows of B, the operands of both. It
# fills a lane's registers with eight elements at a time, and an atom reads four of them. These are two views of the
# same registers, and `retile` makes the second. An `Operand` has `tCrX`, the MMA's view, `tXrX`, ldmatrix's view, the
# part of shared memory `tXsX`, and the copy between them, `s2r`:

# %%
show_source(make_operands)

# %% [markdown]
# ## Permute the view, not the data
#
# A lane has two neighboring accumulators, 4 bytes of bf16. A warp's store therefore writes 16 bytes in each of 8 rows,
# half a sector of 32 bytes, and takes four instructions where one store of 128 bits would do. The lane's next two
# accumulators *in this row* are in its warp's next atom, 16 columns further on. Here are 64 columns of one row of C, as
# the MMA distributes them (T64 is lane 0 of warp 2; a0 to a3 are a warp's atoms along the row):

# %%
show_columns(("value", "lane", "warp", "atom"))

# %% [markdown]
# The usual remedy exchanges data through shared memory or by shuffles. Another costs nothing. We may choose **which**
# columns of C, rows of B, a lane multiplies, as long as its results go to the same columns of C. So permute the rows of
# B, and store C under the same permutation. A permuted row of B is still a whole line of 128 bytes, so its copies touch
# the same sectors and banks as before.
#
# Write the MMA's column as digits, the fastest first: *value* (2 in a lane), *lane* (4 in a row), *warp* (the warps
# along N), *atom* (4 that become one vector) and *rest* (how often all of that repeats in the tile). The layout maps
# these digits to a column in memory.
#
# **Exercise 10.3** (about 2 lines). Write `columns(warps, tile_n)`: the layout, `cute.make_layout(shape, stride=…)`,
# of shape `(2, 4, warps, 4, tile_n // (32 * warps))`. Find the strides from two demands: a lane's values in four
# consecutive atoms are eight neighbors, and one store of all lanes writes whole sectors.


# %%
def columns(warps, tile_n):
    ### BEGIN SOLUTION (about 2 lines)
    shape = (2, 4, warps, 4, tile_n // (32 * warps))
    return cute.make_layout(shape, stride=(1, 8, 32, 2, 32 * warps))
    ### END SOLUTION


# %%
check("10.3", columns)

# %% [markdown]
# In the lower row of the picture, the columns are permuted. Compare `st.global` and the warp instructions of the two
# reports, without your columns and with them:

# %%
config = GemmConfig()
for order in (lambda config: cute.make_layout(config.tile[1]), lambda config: columns(config.warps[1], config.tile[1])):
    with suppress(NotImplementedError):  # until you have written columns
        picture = explain(make_gemm(config, course.single_buffer, columns=order), a, b, c)
show_columns(("value", "lane", "warp", "atom"), ("value", "atom", "lane", "warp"))

# %% [markdown]
# ## Your kernel
#
# **Exercise 10.4** (about 18 lines). Write the kernel of `gemm(a, b, c)` from your parts and the course's: one block
# for each tile. C is right at all sizes, also where no tile divides them (K and N are multiples of 8). At most two
# barriers for each K tile; cp.async of 16 bytes; no bank conflict; B's rows and C's columns in the order of your
# `columns`, so that stores fill whole sectors; nothing copied, fetched or stored twice; no spill. A GPU also times it
# at 4096³.
#
# The lines above your answer have a thread's slices of the copy and of the MMA, and `path`. You need
#
# - the block's tiles: `cute.local_tile(mA, (bM, bK), (m, None))`, where `None` keeps all tiles along K as a third mode,
#   and `cute.composition(gB, (order, None, None))` for the order of B's rows. For C's columns it is `(None, order)`;
# - coordinates, so that copies and stores know what is inside: `cute.make_identity_tensor(mA.shape)` is a tensor whose
#   element at (row, column) *is* (row, column). Which steps of the data do coordinates need, too?
# - shared memory: `sA = memory.allocate_tensor(dtype, smem_layout(bM, bK, config.stages), byte_alignment=128)`, and
#   B's;
# - accumulators: `math.partition_C(…)` of the permuted tile of C is `tCgC`, a thread's part of it; `tCrC =
#   tiled_mma.make_fragment_C(tCgC)` are its registers, and `tCrC.fill(0.0)` sets them;
# - operands: `rA, rB = make_operands(tiled_mma, thread, sA, sB)`;
# - your main loop, which takes `Steps(cute.size(gA, mode=[2]), a, b, rA, rB, tiled_mma, tCrC)`; a and b are the paths;
# - the epilogue: `store(Accumulators(tCrC, tCgC, coordinates, gC, mC.shape, config, math))`, with the coordinates of
#   `tCgC`, and gC as it is in memory. Where C's rows are aligned, it stores eight neighbors at once.


# %%
from cutlass.memory import SmemAllocator

from tutorlib.kernels.ampere import Accumulators, GlobalToShared, store


# %%
@cute.kernel
def ampere_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, config: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    bM, bN, bK = config.tile
    dtype = mA.element_type
    _, tiles_n = config.grid(*mC.shape)
    m, n = block // tiles_n, block % tiles_n  # row by row
    order = columns(config.warps[1], bN)
    memory = SmemAllocator()
    g2s, tiled_mma = make_copy_g2s(config, dtype), make_mma(config, dtype)
    copies, math = g2s.get_slice(thread), tiled_mma.get_slice(thread)

    def path(matrix, rows, g, s, c):
        """This thread's copies from tile g of a matrix to s; c: the coordinates of g, rows: the tile's height."""
        whole = matrix.shape[0] % rows == 0 and matrix.shape[1] % bK == 0
        places, limit = (None, None) if whole else (copies.partition_S(c), matrix.shape)
        return GlobalToShared(g2s, copies.partition_S(g), copies.partition_D(s), places, limit)

    ### BEGIN SOLUTION (about 18 lines)
    def tiles(a, b, c):
        tA = cute.local_tile(a, (bM, bK), (m, None))  # (bM, bK, k_tiles)
        tB = cute.composition(cute.local_tile(b, (bN, bK), (n, None)), (order, None, None))  # (bN, bK, k_tiles)
        return tA, tB, cute.local_tile(c, (bM, bN), (m, n))

    gA, gB, gC = tiles(mA, mB, mC)
    cA, cB, cC = tiles(*(cute.make_identity_tensor(matrix.shape) for matrix in (mA, mB, mC)))
    sA = memory.allocate_tensor(dtype, smem_layout(bM, bK, config.stages), byte_alignment=128)
    sB = memory.allocate_tensor(dtype, smem_layout(bN, bK, config.stages), byte_alignment=128)
    tCgC = math.partition_C(cute.composition(gC, (None, order)))
    tCcC = math.partition_C(cute.composition(cC, (None, order)))
    tCrC = tiled_mma.make_fragment_C(tCgC)
    tCrC.fill(0.0)
    a, b = path(mA, bM, gA, sA, cA), path(mB, bN, gB, sB, cB)
    rA, rB = make_operands(tiled_mma, thread, sA, sB)
    single_buffer(Steps(cute.size(gA, mode=[2]), a, b, rA, rB, tiled_mma, tCrC))
    store(Accumulators(tCrC, tCgC, tCcC, gC, mC.shape, config, math))
    ### END SOLUTION


@cute.jit
def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """a (M, K), b (N, K), c (M, N), all row-major bf16."""
    config = GemmConfig()
    tiles_m, tiles_n = config.grid(*c.shape)
    kernel = ampere_kernel(a, b, c, config)
    kernel.launch(grid=(tiles_m * tiles_n, 1, 1), block=(config.threads, 1, 1))


# %%
check("10.4", gemm)

# %% [markdown]
# The next pages use the course's `make_gemm(config, main_loop, order)`: the same kernel, with parts as arguments.
#
# ## The ladder so far
#
# Measured beside cuBLAS in the same run:

# %%
show_ladder("10")

# %%
show_figure("gemm_ladder_10")

# %% [markdown]
# On an **A100** cuBLAS uses mma.sync as well. On a **Hopper** GPU cuBLAS uses WGMMA, and mma.sync cannot keep up.
# Compare with the red dotted line: a kernel of mma.sync alone, always on the same registers, reached 623 TFLOP/s.
#
# ## Two blocks on an SM
#
# In the main loop's timeline the tensor cores work for a third of the time. Measured, the kernel reaches nearly two
# thirds of mma.sync's peak: 395 of 623 TFLOP/s. But the timeline shows one block. A thread of this kernel has 214
# registers, a block has 128 threads, and an SM has 65,536 registers: room for two blocks. While one waits for its tile,
# the other multiplies:

# %%
with suppress(NotImplementedError):  # until you have written gemm
    print(compile_cute(gemm, [TensorSpec((4096, 4096), "bf16")] * 3, arch="sm_90"))
show_timeline(*(Timeline(1, latency=4, transfer=2, compute=3, tiles=4 * blocks, blocks=blocks) for blocks in (1, 2)))

# %% [markdown]
# If that is so, two blocks on an SM take *hardly longer* than one: each still loads, waits and multiplies at its own
# pace. This can be tested. At 512³ and at 1024³ there are 16 and 64 tiles of C for 132 SMs, so each block is alone. The
# difference of the two times is that of 8 K tiles.
#
# **Predict** from these two measurements the time at 4096³: 1,024 tiles of C, 264 at a time, 64 K tiles in each.

# %%
for swept in all_sweep_results("gemm_rungs"):
    sms = hardware_of(swept.gpu).sms
    took = {p.measurement.shape[0]: p.measurement.median_us for p in swept.of_kernel("10 one buffer")}
    k_tile = (took[1024] - took[512]) / 8
    start = took[512] - 8 * k_tile
    mma = 2 * 128 * 128 * 64 / (623e6 / sms)
    print(f"{swept.gpu}: a block alone takes {k_tile:.2f} µs for a K tile, {mma:.2f} of them mma.sync at its peak")
    for size in sorted(took):
        rounds = -(-((size // 128) ** 2) // (2 * sms))
        predicted = start + rounds * size // 64 * k_tile
        print(f"{size:5}: {rounds:2} rounds, predicted {predicted:6.0f} µs, measured {took[size]:6.0f}")

# %% [markdown]
# Two measurements of blocks that are alone predict all others within 7%, most within 4%. The cleanest test is 2048³,
# one round of two blocks on most SMs: 51 µs where a lone block would take 48. So the second block is nearly free. An SM
# finishes two K tiles in 1.35 µs, and mma.sync at its peak takes 0.44 for each: the tensor cores are idle for a third
# of the time. The count also explains the figure's dip at 3072: its third round has 48 blocks, and takes as long as a
# full one.
#
# The next page measures that time's parts, and gives each block a second buffer.
#
# ## What to remember
#
# - Most parts of a GEMM are layouts: of shared memory, of threads and warps over a tile, of registers.
# - The same registers have two views: `cute.copy` fills ldmatrix's, `cute.gemm` takes the MMA's.
# - A barrier has two sides, *the data has arrived* and *the buffer is free*; a loop with one buffer needs both.
# - To bring data to another lane, first ask whether a permuted view would do.
# - Blocks on an SM take turns: while one waits, another computes. Ask how many fit before you explain a speed.
# - A predicated cp.async writes zeros where it reads nothing.
#
# ## Test yourself
#
# <details><summary>1. The tile becomes 128×256 with 2×4 warps. How many vectors does a thread copy for B in a K tile of
# 64, and how many registers do its accumulators take?</summary>
#
# 256 rows of 8 vectors among 256 threads: 8. Its accumulators: 128·256 / 256 = 128, as before; twice the tile, twice
# the threads.
#
# </details>
#
# <details><summary>2. Why can one <code>ldmatrix.x4</code> load A's fragment although a lane receives elements of rows
# whose addresses other lanes supplied?</summary>
#
# Because addresses and values have different layouts. A lane supplies the address of a whole row of 16 bytes, and the
# hardware distributes each row to four lanes. The layout of the values is the fragment's.
#
# </details>
#
# <details><summary>3. You leave out the second barrier. At which sizes is the result still right for certain?</summary>
#
# Where K is one tile: then no load overwrites data that a thread may still read. At all others it depends on how far
# apart the warps are, so it may pass every test and fail in production.
#
# </details>

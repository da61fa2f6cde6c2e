# ---
# jupyter:
#   tutorlib:
#     minutes: 120
#     summary: A GEMM from layouts, part by part, and at the end one kernel that is all yours.
# ---

# %% [markdown]
# # 09 · A GEMM on tensor cores
#
# C = A · Bᵀ, the kernel that the following notebooks make faster. A is (M, K), B is (N, K), C is (M, N), all row-major
# bf16, accumulated in fp32. The entry point is `gemm(a, b, c)`, here and in every notebook up to 14.
#
# You know all the parts: tiles (02), swizzles, `ldmatrix` and `mma` (03), cp.async and its waits (05). What is new is
# that they have to fit together, and that each of them is one layout. You write them one by one, each is checked by
# itself, and at the end they stand in one kernel, which is timed.
#
# > **After this page you can** write a tensor-core GEMM in CuTe from its parts: swizzled shared memory, who copies and
# > who multiplies what, ldmatrix for it, a main loop whose barriers you can defend, and stores that waste nothing.
# >
# > **It takes** about 120 minutes, on any machine; a GPU from sm_80 on for the speed.

# %%
from contextlib import suppress

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import warp
from cutlass.cute.nvgpu.cpasync import CopyG2SOp, LoadCacheMode
from cutlass.memory import SmemAllocator

from tutorlib import check, explain
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.ptx import counts, story
from tutorlib.compiling.spec import TensorSpec
from tutorlib.draw import show_banks, show_columns, show_timeline, show_tv, show_warps
from tutorlib.kernels.ampere import main_loops as course
from tutorlib.kernels.ampere.config import LINE, VECTOR, GemmConfig
from tutorlib.kernels.ampere.epilogues import store_elements, store_through_smem
from tutorlib.kernels.ampere.gemm import make_gemm
from tutorlib.kernels.ampere.operands import Operand
from tutorlib.kernels.ampere.thread_share import Accumulators, GlobalToShared, Steps
from tutorlib.machine.hardware import hardware_of
from tutorlib.models.pipeline import Timeline
from tutorlib.notebook.measured import show_figure, show_ladder
from tutorlib.notebook.source import show_source
from tutorlib.notebook.trials import compare_on_gpu

# %% [markdown]
# ## Who computes what, and what it costs
#
# Each thread block computes one tile of C. It walks along K in steps; in each step it needs a tile of A, the rows it
# is responsible for, and a tile of B, and multiplies them. Nobody else helps, and nobody remembers: the block to the
# right, which has the same rows of A, loads them again.
#
# **Exercise 09.1** (about 3 lines). Write `loaded_bytes(m, n, k, tile_m, tile_n)`: how many bytes of A and B all
# blocks together load, where nothing is shared between blocks. A tile that is partly outside counts as a whole one.


# %%
def loaded_bytes(m, n, k, tile_m, tile_n):
    ### BEGIN SOLUTION (about 3 lines)
    blocks = -(-m // tile_m) * -(-n // tile_n)
    return blocks * (tile_m + tile_n) * k * 2
    ### END SOLUTION


# %%
check("09.1", loaded_bytes)

# %% [markdown]
# A block does 2·m·n operations for 2·(m+n) bytes in each column of K: m·n/(m+n) operations for a byte. A GPU has such a
# number of its own, the operations that it can do while one byte arrives. Where the kernel's is lower, memory is the
# limit.

# %%
h200 = hardware_of("NVIDIA H200")
print(f"H200, from device memory: {h200.flops['bf16'] / h200.bandwidth:.0f} operations for a byte")
for m, n in [(16, 16), (64, 64), (128, 128), (128, 256)]:
    print(f"a tile of {m}×{n}: {m * n / (m + n):.0f}")

# %% [markdown]
# So no tile that fits would be enough, if all of it came from device memory. It doesn't: most loads find their data in
# L2, since some block beside has just read it. How well that works is notebook 11. The other half of the answer is
# **large tiles**: here 128×128 and 64 along K, as in Eric Schreiber's
# [GEMM ladder](https://schreibereric.substack.com/p/demystifying-cute-how-to-write-a), which these notebooks follow.
#
# Why 64 along K? 64 bf16 are 128 bytes: a row of a tile is one line of memory, and once through all 32 banks.
#
# ## Shared memory: one layout, two readers
#
# The tile of A is written by cp.async, eight threads side by side along a row, 16 bytes each; and it is read by
# `ldmatrix`, eight *rows* at a time, 16 bytes of each. Row-major serves the writer. For the reader it is the worst
# there is:

# %%
eight_rows = [(row, 0) for row in range(8)]
show_banks("(8,64):(64,1)", access=eight_rows, element_bytes=2, vector=8)

# %% [markdown]
# Notebook 03 had the cure, Swizzle⟨3,3,3⟩ on an atom of 8 rows of 64, stored by rows:
# `cute.make_composed_layout(cute.make_swizzle(B, M, S), 0, layout)`. For a whole buffer the atom is repeated down the
# rows, along K and over the *stages*, of which there is one today and more in notebook 10. `cute.tile_to_shape(atom,
# shape, order)` does it; with the order (0, 1, 2) the atoms go down the rows first.
#
# **Exercise 09.2** (about 4 lines). Write `smem_layout(rows, k, stages)`. The checker asks for k = 64 and for k = 32,
# where a row is 64 bytes and two rows share one turn through the banks: then the atom is 8×32, and the swizzle has one
# bit less to mix.


# %%
def smem_layout(rows, k, stages):
    ### BEGIN SOLUTION (about 4 lines)
    width = min(k, 64)
    swizzle = cute.make_swizzle(3 if width == 64 else 2, 3, 3)
    atom = cute.make_composed_layout(swizzle, 0, cute.make_layout((8, width), stride=(width, 1)))
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))
    ### END SOLUTION


# %%
check("09.2", smem_layout)

# %% [markdown]
# What is that worth? `explain` runs a kernel on the simulator, here and now, and tells what its accesses cost. First
# with your layout, then row-major. The kernel around it is the course's; you write it yourself below.


# %%
def row_major(rows, k, stages):
    return cute.make_layout((rows, k, stages), stride=(k, 1, rows * k))


a, b, c = (torch.randn(128, 128).bfloat16() for _ in range(3))
explain(make_gemm(GemmConfig(), course.single_buffer, smem=smem_layout), a, b, c)

# %%
explain(make_gemm(GemmConfig(), course.single_buffer, smem=row_major), a, b, c)

# %% [markdown]
# Look at the line of `ldmatrix`, and at the banks below. An `ldmatrix.x4` reads four times eight rows, and serves eight
# at a time: threads 0 to 7, then 8 to 15, and so on. Eight rows of one column meet in four banks, while the other 28
# stand idle. cp.async does not mind either way, since it writes along the rows.
#
# ## The main loop: load, wait, compute
#
# Before the parts, the order in which they work. One thread's share of a step has three words, and each of the next
# three sections makes one of them:
#
# - `steps.load(k_tile, buffer)`: cp.async for this K tile of A and of B, into that buffer; it returns at once;
# - `steps.fetch(k_block, buffer)`: ldmatrix, the operands of 16 along K into registers;
# - `steps.multiply(k_block)`: mma.sync, into the accumulators.
#
# There are `steps.k_tiles` K tiles and `steps.k_blocks` K blocks in each. With one buffer there is one possible order.
# The tile must have arrived before any thread reads it, and every thread must have read it before the next one
# overwrites it:

# %%
show_timeline(Timeline(stages=1, latency=4, transfer=2, compute=3, tiles=5))

# %% [markdown]
# **Exercise 09.3** (about 9 lines). Write it. For each K tile: load into buffer 0; commit the group, wait until no
# group is open, barrier; then for each K block fetch and multiply. The calls are those of notebook 05:
# `cute.arch.cp_async_commit_group()`, `cute.arch.cp_async_wait_group(0)` and `cute.arch.sync_threads()`. Something is
# still missing in this list: hold it against the sentence above the picture. Loops over K tiles are plain `range`, over
# K blocks `cutlass.range_constexpr`: a K block picks registers, whose numbers the compiler must know.
#
# Your loop is **rehearsed** before it is compiled: on the CPU, without data, by a machine that takes every liberty that
# your instructions leave it (a copy arrives when a thread waits for it and no sooner; the other warps are late until
# there is a barrier). A GPU shows a missing barrier now and then. The rehearsal shows it always.


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
check("09.3", single_buffer)

# %% [markdown]
# Take one of the two barriers out and check again; then the other. What the rehearsal says is what goes wrong.
#
# ## Load: who copies what
#
# How the work is cut up is one immutable object, known when the kernel is compiled:

# %%
config = GemmConfig()
print(config, "threads:", config.threads, "shared memory:", config.smem_bytes, "bytes")

# %% [markdown]
# A **TiledCopy** is an instruction (the *atom*) and a layout that says which thread has which of its pieces. The piece
# is 16 bytes, the most that cp.async takes: VECTOR = 8 elements. Eight threads side by side take a row of 64, the
# next eight the row below, and 128 threads 16 rows. The copy is repeated until the tile is done: eight times for 128.

# %%
show_tv("((8,8),1):((8,1),0)", (8, 8), "the first 8 rows of 64: a cell is a vector of 8 elements")

# %% [markdown]
# A warp's 32 vectors are then four whole lines of 128 bytes in global memory, and eight threads that follow each other
# fill all 32 banks in shared memory. Had the threads run down the rows first, each would touch a line of its own.
#
# cp.async may leave a copy of the line in L1 (`LoadCacheMode.ALWAYS`) or go past it (`GLOBAL`). The tile's home is
# shared memory, so L1 brings nothing, one should think. As published, on an A100, this ladder was faster with L1.
#
# **Exercise 09.4** (about 4 lines). Write `make_copy_g2s(config, dtype, cache)`, global to shared:
#
# - the atom: `cute.make_copy_atom(CopyG2SOp(cache_mode=cache), dtype, num_bits_per_copy=128)`;
# - the threads, `config.threads` of them: a layout (rows, threads of a row) with the right strides. A row of bK =
#   `config.tile[2]` elements is bK / VECTOR threads, up to a LINE of 64; the checker asks for 64 and for 32;
# - the values of a thread, a layout of shape (1, VECTOR);
# - `cute.make_tiled_copy_tv(atom, threads, values)` puts them together.


# %%
def make_copy_g2s(config, dtype, cache=LoadCacheMode.GLOBAL):
    ### BEGIN SOLUTION (about 4 lines)
    lanes = min(config.tile[2], LINE) // VECTOR
    atom = cute.make_copy_atom(CopyG2SOp(cache_mode=cache), dtype, num_bits_per_copy=128)
    threads = cute.make_layout((config.threads // lanes, lanes), stride=(lanes, 1))
    return cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, VECTOR)))
    ### END SOLUTION


# %%
check("09.4", make_copy_g2s)

# %% [markdown]
# With L1 or without? On a machine with a GPU this cell says it:

# %%
compare_on_gpu(
    {
        "past L1": make_gemm(config, course.single_buffer, g2s=make_copy_g2s),
        "through L1": make_gemm(
            config, course.single_buffer, g2s=lambda config, dtype: make_copy_g2s(config, dtype, LoadCacheMode.ALWAYS)
        ),
    },
    sizes=(4096,),
)

# %% [markdown]
# (The course's H200 is faster past L1.)
#
# A thread asks the TiledCopy for its share: `copies = g2s.get_slice(thread)`, then `copies.partition_S(gA)` of the
# source and `copies.partition_D(sA)` of the destination. Both have the modes (vector, rows, vectors of a row, …), so
# copying is one call. What remains is the edge. Matrices need not be made of whole tiles: then each vector is asked for
# its coordinates, fetched if it is inside and set to zero if it is not. Zeros along K add nothing to an accumulator;
# zeros in rows beyond M or N only reach accumulators that are never stored. Where the tiles fit, `places` is `None`,
# and no instruction is spent on the question: shapes are known when the kernel is compiled.
#
# This much is done for you. Read it: it is what `steps.load` does for each of A and B.

# %%
show_source(GlobalToShared)

# %% [markdown]
# ## Multiply: who multiplies what
#
# `mma.sync.m16n8k16` is one warp's work: 16×8 accumulators from 16×16 of A and 16×8 of B. Every lane (thread of a warp)
# has two neighbors in a row, *V0* and *V1*, and two more eight rows below. Keep this picture in mind; it decides how C
# can be written.

# %%
show_tv("((4,8),(2,2)):((32,1),(16,8))", (16, 8), "m16n8k16: who has which accumulators")

# %% [markdown]
# A **TiledMma** lays warps over the tile: here 2×2. And it lets each warp take *two* atoms along N before the next
# warp's turn comes round, since one `ldmatrix.x4` brings the operand B for two of them. So once over, four warps cover
# 32×32 (left); C's tile of 128×128 is that, 4×4 times (right). The numbers are warps.

# %%
show_warps("((4,8,2,2),((2,2),(1,2))):((64,1,16,256),((32,8),(0,512)))", (32, 32), (128, 128))

# %% [markdown]
# Read the left picture by columns: warp 0, warp 2, warp 0, warp 2. Between a warp's two atoms lie the other warp's 8
# columns. That is CuTe's default when the tile is larger than the warps: every warp once, then every warp again.
#
# **Exercise 09.5** (about 3 lines). Write `make_mma(config, dtype)`: `warp.MmaF16BF16Op(dtype, cutlass.Float32, (16, 8,
# 16))` is the instruction; `cute.make_tiled_mma(op, layout of the warps, permutation_mnk=what they cover)` lays it out.
# The warps, `config.warps`, are a layout of three modes, along M, N and K, numbered down M first as in the picture;
# along K there is one. The checker asks for 2×2 and for 2×4.


# %%
def make_mma(config, dtype):
    ### BEGIN SOLUTION (about 3 lines)
    m, n = config.warps
    op = warp.MmaF16BF16Op(dtype, cutlass.Float32, (16, 8, 16))
    return cute.make_tiled_mma(op, cute.make_layout((m, n, 1)), permutation_mnk=(16 * m, 16 * n, 16))
    ### END SOLUTION


# %%
check("09.5", make_mma)

# %% [markdown]
# ## Fetch: ldmatrix for this mma
#
# The TiledMma knows which elements of A a thread needs in registers; `ldmatrix` brings them, 16×16 at a time for a
# whole warp. Who holds what after one `ldmatrix.x4` on A is exactly what the mma reads:

# %%
show_tv("((4,8),(2,2,2)):((32,1),(16,8,128))", (16, 16), "16×16 of A after ldmatrix.x4: lane and register")

# %% [markdown]
# Two views of the same registers, then. The MMA's: (values of an atom, atoms, K blocks). The copy's: (what one
# ldmatrix fills, how many of them, K blocks). For A the two agree up to grouping. For B they do not: an atom of 8
# columns takes four elements of each lane, and one ldmatrix.x4 brings eight, the operands of two atoms. `retile` is the
# second view of the first one's registers; it copies nothing.
#
# Four things for each operand, and a name for each:

# %%
show_source(Operand)

# %% [markdown]
# There is one trap. `sA` is (M, K, buffers). Registers should hold one K tile's operands, not one for each buffer, so
# the partition that a fragment is made of has to lose its last mode: pick buffer 0, `[None, None, None, 0]`. Nothing is
# read there; a slice of a layout is a layout.
#
# **Exercise 09.6** (about 10 lines). Write `make_operands(tiled_mma, thread, sA, sB)`, which returns two Operands.
#
# 1. `math = tiled_mma.get_slice(thread)`: `math.partition_A(sA)` is what this thread's mmas need of it, and
#    `tiled_mma.make_fragment_A(…)` makes registers for that;
# 2. the atom: `cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), sA.element_type)`, and
#    `cute.make_tiled_copy_A(atom, tiled_mma)`: ldmatrix laid out as this MMA wants A;
# 3. of that copy's slice for the thread, `partition_S(sA)` and `retile(tCrA)`.


# %%
def make_operands(tiled_mma, thread, sA, sB):
    ### BEGIN SOLUTION (about 10 lines)
    math = tiled_mma.get_slice(thread)
    tCrA = tiled_mma.make_fragment_A(math.partition_A(sA)[None, None, None, 0])
    tCrB = tiled_mma.make_fragment_B(math.partition_B(sB)[None, None, None, 0])
    ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), sA.element_type)
    s2r_a = cute.make_tiled_copy_A(ldmatrix, tiled_mma)
    s2r_b = cute.make_tiled_copy_B(ldmatrix, tiled_mma)
    a, b = s2r_a.get_slice(thread), s2r_b.get_slice(thread)
    rA = Operand(tCrA, s2r_a, a.partition_S(sA), a.retile(tCrA))
    rB = Operand(tCrB, s2r_b, b.partition_S(sB), b.retile(tCrB))
    return rA, rB
    ### END SOLUTION


# %%
check("09.6", make_operands)

# %% [markdown]
# Look at what you have made. Compare B's two views of a K block: eight atoms of four elements, and four ldmatrix of
# eight, in the same registers.


# %%
@cute.jit
def look():
    tiled_mma = make_mma(config, cutlass.BFloat16)
    memory = cute.make_ptr(cutlass.BFloat16, 0, cute.AddressSpace.smem, assumed_align=128)
    tile = cute.make_tensor(memory, smem_layout(128, 64, 1))
    for name, operand in zip("AB", make_operands(tiled_mma, 0, tile, tile), strict=True):
        print(f"{name}: as the mma reads them    {operand.tCrX.layout}")
        print(f"   as ldmatrix fills them {operand.tXrX.layout}")


with suppress(NotImplementedError):  # until you have written make_operands
    look()

# %% [markdown]
# And with that the three words of the main loop are defined:

# %%
show_source(Steps)

# %% [markdown]
# ## Permute the view, not the data
#
# The results are in registers and belong in C. A lane has two neighbors, 4 bytes of bf16. So a store instruction of a
# warp writes 8 rows with 16 bytes in each, half a sector of 32, and it takes four such stores where one of 128 bits
# could do. The lane's *next* two accumulators are in its warp's next atom, 16 columns on, because 8 columns of the
# other warp are in between. The upper row of this picture is one row of C, 64 columns of it, as the MMA deals them out:

# %%
show_columns(("value", "lane", "warp", "atom"), ("value", "atom", "lane", "warp"))

# %% [markdown]
# The usual way out is to exchange data: through shared memory, or by shuffles between lanes. Here is one that costs
# nothing. **Which** columns of B a lane multiplies is our choice, as long as the results go to the same columns of C.
# So we give the MMA the columns of B in another order, such that four neighboring atoms of a lane mean eight
# neighboring columns in memory, which is the lower row; and we write C in that order. No instruction is added: it is
# the same tile under another layout, `cute.composition(gB, (columns, None, None))`.
#
# Take the column of the MMA apart into digits, the fastest first: *value* (2 in a lane), *lane* (4 in a row), *warp*
# (as many as there are across), *atom* (4 that become one vector), and *the remainder*. The layout that we want maps
# these digits to a column in memory, where value runs fastest, then atom, then lane, then warp, and the remainder comes
# last. Lanes before warps: a store of 16 bytes is half a sector, and its other half should be stored by the same
# instruction.
#
# **Exercise 09.7** (about 2 lines). Write `columns(warps, tile_n)`: the layout, `cute.make_layout(shape, stride=…)`, of
# shape `(2, 4, warps, 4, tile_n // (32 * warps))`, with the strides that do this.


# %%
def columns(warps, tile_n):
    ### BEGIN SOLUTION (about 2 lines)
    shape = (2, 4, warps, 4, tile_n // (32 * warps))
    return cute.make_layout(shape, stride=(1, 8, 32, 2, 32 * warps))
    ### END SOLUTION


# %%
check("09.7", columns)

# %% [markdown]
# B does not suffer. Its rows arrive in another order, but each is still a whole line of 128 bytes. What C gains, the
# simulator counts. Without, and with your columns; look at the line of `st.global`. (The pictures are those of above:
# before the stores nothing has changed.)

# %%
explain(make_gemm(config, course.single_buffer, columns=lambda config: cute.make_layout(config.tile[1])), a, b, c)

# %%
explain(
    make_gemm(config, course.single_buffer, columns=lambda config: columns(config.warps[1], config.tile[1])), a, b, c
)

# %% [markdown]
# ## The write-back
#
# What an epilogue gets, for one thread:

# %%
show_source(Accumulators)

# %% [markdown]
# `acc.rounded()` gives the accumulators in bf16, in registers of the shape ((2 columns, 2 rows), M atoms, (4 N atoms,
# the remainder)). With the permuted view, eight neighbors in C are `[(None, row), m, (None, n)]`: all values of a row
# in four atoms. `None` keeps a mode, a number picks from it.
#
# Three cases. If C is made of whole tiles, one `cute.autovec_copy` does it all, in the widest stores it finds. If not,
# but rows are aligned, eight neighbors are inside or outside together. And if rows start anywhere, no wide store is
# possible, and `store_elements` does it one by one.
#
# **Exercise 09.8** (about 2 lines). Write the second case, inside the loops. `cute.elem_less(place, shape)` is true
# where every coordinate is smaller. One question is enough for all eight: the place of the first one is
# `acc.coordinates[(0, row), m, (0, n)]`.


# %%
@cute.jit
def store(acc: Accumulators):
    registers = acc.rounded()
    if cutlass.const_expr(acc.whole):
        cute.autovec_copy(registers, acc.tCgC)
    else:
        (_, rows), atoms, (_, rest) = registers.shape
        for m in cutlass.range_constexpr(atoms):
            for row in cutlass.range_constexpr(rows):
                for n in cutlass.range_constexpr(rest):
                    eight = ((None, row), m, (None, n))
                    if cutlass.const_expr(not acc.aligned):
                        store_elements(registers[eight], acc.tCgC[eight], acc.coordinates[eight], acc.shape)
                    else:
                        ### BEGIN SOLUTION (about 2 lines)
                        if cute.elem_less(acc.coordinates[(0, row), m, (0, n)], acc.shape):
                            cute.autovec_copy(registers[eight], acc.tCgC[eight])
                        ### END SOLUTION


# %%
check("09.8", store)

# %% [markdown]
# ## Your kernel
#
# All the parts are there, and all are yours. What is missing is the place where they meet. Tensors are named by where
# they live: `mA` the matrix, `gA` the block's tile in global memory, `sA` in shared memory, `cA` the coordinates of
# gA's elements; `tCgC` is gC as partitioned for the MMA, `tCrC` its registers.
#
# **Exercise 09.9** (about 14 and about 4 lines). First the middle of the kernel:
#
# 1. `g2s`, the TiledCopy, and `copies`, its slice for this thread (`inside` uses that name). With both `a` and `b`:
#    `GlobalToShared(g2s, source, target, places, limit)` has the slice's parts of gA and of sA, and the pair that
#    `inside(mA, bM, cA)` gives;
# 2. `tiled_mma`, its slice `math`, `tCgC`, and the accumulators: `tCrC = tiled_mma.make_fragment_C(tCgC)`, filled with
#    0.0;
# 3. your operands; your `single_buffer` on `Steps(k_tiles, a, b, rA, rB, tiled_mma, tCrC)`, where `k_tiles` is
#    `cute.size(gA, mode=[2])`; your `store` on `Accumulators(tCrC, tCgC, coordinates, gC, mC.shape, config, math)`,
#    where the coordinates are `math`'s partition of cC.
#
# Then the host function: for a `GemmConfig()`, one block for each tile, `config.threads` threads. `config.grid(rows,
# columns)` gives how many tiles there are down and across; the kernel numbers its blocks in one dimension.
#
# It is checked at sizes that nothing divides, simulated where there is no GPU, and timed at 4096³ beside cuBLAS.


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

    gA = cute.local_tile(mA, (bM, bK), (m, None))  # (bM, bK, k_tiles)
    gB = cute.composition(cute.local_tile(mB, (bN, bK), (n, None)), (order, None, None))  # (bN, bK, k_tiles)
    gC = cute.composition(cute.local_tile(mC, (bM, bN), (m, n)), (None, order))  # (bM, bN)
    cA, cB, cC = (cute.make_identity_tensor(matrix.shape) for matrix in (mA, mB, mC))
    cA = cute.local_tile(cA, (bM, bK), (m, None))
    cB = cute.composition(cute.local_tile(cB, (bN, bK), (n, None)), (order, None, None))
    cC = cute.composition(cute.local_tile(cC, (bM, bN), (m, n)), (None, order))

    memory = SmemAllocator()
    sA = memory.allocate_tensor(dtype, smem_layout(bM, bK, config.stages), byte_alignment=128)
    sB = memory.allocate_tensor(dtype, smem_layout(bN, bK, config.stages), byte_alignment=128)

    def inside(matrix, rows, c):  # what has to be asked of each vector: nothing, where tiles are whole
        whole = matrix.shape[0] % rows == 0 and matrix.shape[1] % bK == 0
        return (None, None) if whole else (copies.partition_S(c), matrix.shape)

    ### BEGIN SOLUTION (about 14 lines)
    g2s = make_copy_g2s(config, dtype)
    copies = g2s.get_slice(thread)
    a = GlobalToShared(g2s, copies.partition_S(gA), copies.partition_D(sA), *inside(mA, bM, cA))
    b = GlobalToShared(g2s, copies.partition_S(gB), copies.partition_D(sB), *inside(mB, bN, cB))

    tiled_mma = make_mma(config, dtype)
    math = tiled_mma.get_slice(thread)
    tCgC = math.partition_C(gC)
    tCrC = tiled_mma.make_fragment_C(tCgC)
    tCrC.fill(0.0)

    rA, rB = make_operands(tiled_mma, thread, sA, sB)
    single_buffer(Steps(cute.size(gA, mode=[2]), a, b, rA, rB, tiled_mma, tCrC))
    store(Accumulators(tCrC, tCgC, math.partition_C(cC), gC, mC.shape, config, math))
    ### END SOLUTION


@cute.jit
def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    ### BEGIN SOLUTION (about 4 lines)
    config = GemmConfig()
    tiles_m, tiles_n = config.grid(*c.shape)
    kernel = ampere_kernel(a, b, c, config)
    kernel.launch(grid=(tiles_m * tiles_n, 1, 1), block=(config.threads, 1, 1))
    ### END SOLUTION


# %%
check("09.9", gemm)

# %% [markdown]
# Nothing of it is hidden: every line between `a, b, c` and the tensor cores is on this page, and the layouts are yours.
# The next two notebooks change a part each, a main loop or an order of blocks, and use the course's `make_gemm(config,
# main_loop, order)` around it: that is this kernel, with its parts as arguments.
#
# What did it do? Two K tiles, one block. C is cp.async, R ldmatrix, M mma, S a store.

# %%
explain(gemm, a, b, c)

# %% [markdown]
# ## What the compiler made of it
#
# Compiled for sm_80 (any machine can do that): how often each instruction stands in the PTX. The loop over K tiles is
# not unrolled; everything inside it is.

# %%
SQUARE = [TensorSpec((4096, 4096), "bf16")] * 3
with suppress(NotImplementedError):  # until you have written gemm
    compiled = compile_cute(gemm, SQUARE)
    print(compiled)
    print(counts(compiled.ptx))

# %% [markdown]
# Check the numbers by hand; this is how one reads a kernel. A tile of 128×64 is 1,024 vectors of 16 bytes, for 128
# threads: 8 for A, 8 for B. A warp has 64×64 of C, which is 4×8 mmas in each of four K blocks. `ldmatrix.x4` brings
# 16×16 elements: 4 for A and 4 for B in each K block. And the accumulators, 128 of each thread, are stored in vectors
# of eight.
#
# Their order tells more: all of cp.async, the wait, the barrier; ldmatrix and mma in turns, a K block at a time; the
# second barrier, where the loop closes; and the stores.

# %%
with suppress(NotImplementedError):
    print(story(compile_cute(gemm, SQUARE).ptx))

# %% [markdown]
# ## A detour, to see that it is one
#
# The textbook way to wide stores leads through shared memory: write the results there as the mma has them, barrier,
# read them back in rows, store rows. Schreiber tried it on an A100 and found it slower than storing directly, at 32
# bits each. Below is that epilogue with the permuted view in its favor (its stores to shared memory are 128 bits wide
# and swizzled). Global memory sees stores of the same width in both; what is left is the price of the round trip.

# %%
show_source(store_through_smem)

# %%
detour = compile_cute(make_gemm(GemmConfig(), course.single_buffer, epilogue=store_through_smem), SQUARE)
print(detour)
print(counts(detour.ptx))

# %% [markdown]
# **Predict** which one is faster, and by how much, at 2048 (few K tiles for each write-back) and at 8192. On a machine
# with a GPU this cell measures it, each in turns with cuBLAS:

# %%
compare_on_gpu(
    {
        "direct": make_gemm(GemmConfig(), course.single_buffer),
        "through shared memory": make_gemm(GemmConfig(), course.single_buffer, epilogue=store_through_smem),
    },
    sizes=(2048, 4096, 8192),
)

# %% [markdown]
# Were you near? (On the course's H200 direct is ahead at each size, by very little.) There is one write-back for each
# tile and a main loop along all of K, so the epilogue is a small part, and a smaller one the longer K is. What the
# detour takes for certain stands in the report: a barrier more, and twice the shared memory.
#
# ## The ladder so far
#
# Measured beside cuBLAS in the same run (`tutor evidence 09` on your GPU adds yours).

# %%
show_ladder("09")

# %%
show_figure("gemm_ladder_09")

# %% [markdown]
# Two readings of that number. (The dip at 3072 is a question for notebook 11.)
#
# On an **A100** cuBLAS uses the same instructions as this kernel, cp.async and mma.sync. There the published ladder
# starts at 101 % of cuBLAS at 2048³ and ends at 116 % (Schreiber's numbers, not measured here; he says that he chose
# the size that suits him).
#
# On a **Hopper** GPU cuBLAS uses WGMMA, which mma.sync cannot keep up with: it reads its operands from shared memory
# without passing through registers, and only it reaches the datasheet's rate. So these four notebooks stay well below
# cuBLAS there, whatever they do, and the fair comparison is with other kernels made of mma.sync. Notebook 13 changes
# the instructions.
#
# And what holds this kernel back on both? Look at the timeline: while tiles are in flight the tensor cores wait, and
# while they work nothing is in flight. Two blocks on one SM fill each other's gaps to some degree. The next notebook
# does it by plan.
#
# ## What to remember
#
# - Every part of a GEMM is a layout: of shared memory, of threads over a tile, of warps over an mma, of registers.
#   Change one and the others stay.
# - `get_slice(thread)`, then `partition`: a TiledCopy or a TiledMma cuts a tensor into a thread's share. `retile` gives
#   the same registers as another instruction names them.
# - A barrier has two sides, *data is there* and *buffer is free*; a loop with one buffer needs both.
# - To move data between lanes, first ask whether another order of the view would do.
#
# Next: a second buffer, so that the tensor cores need not wait for memory.
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
# <details><summary>2. Why may <code>permutation_mnk</code> say 16·n along N, when n warps have 8 columns
# each?</summary>
#
# It says what all warps cover together before the pattern repeats: two atoms for each warp. `ldmatrix.x4` brings 16×16
# elements, and B's operand for one atom is 16×8.
#
# </details>
#
# <details><summary>3. You leave out the second barrier. At which sizes is the result still right for certain?</summary>
#
# Where K is one tile: then nothing is ever loaded over data that a thread may still read. At all others it depends on
# how far the warps are apart, which is why it may pass every test and fail in production.
#
# </details>

# ---
# jupyter:
#   tutorlib:
#     minutes: 90
#     summary: A GEMM from layouts. Shared memory, main loop and write-back are yours.
# ---

# %% [markdown]
# # 09 · A GEMM on tensor cores
#
# C = A · Bᵀ, the kernel that the rest of this course makes faster. A is (M, K), B is (N, K), C is (M, N), all row-major
# bf16, and sums are kept in fp32. The entry point is `gemm(a, b, c)`, here and in every notebook up to 14.
#
# You know all the parts: tiles (02), swizzles, `ldmatrix` and `mma` (03), cp.async and its waits (05). What is new is
# that they have to fit together, and that each of them is one layout. Four parts are yours to write: how a tile lies
# in shared memory, the main loop, an order for the columns of C, and the write-back.

# %%
from inspect import getsource

import cutlass
import cutlass.cute as cute
from IPython.display import Code, display
from tensor_layouts import Layout

from tutorlib import check
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.ptx import counts, story
from tutorlib.compiling.spec import TensorSpec
from tutorlib.draw import show_banks, show_timeline, show_tv
from tutorlib.kernels.ampere import main_loops as course
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.epilogues import store_elements, store_through_smem
from tutorlib.kernels.ampere.gemm import gemm_kernel, make_gemm
from tutorlib.kernels.ampere.layouts import permuted
from tutorlib.kernels.ampere.thread_share import GlobalToShared, Steps, Sums, make_copy_g2s, make_mma
from tutorlib.machine.hardware import hardware_of
from tutorlib.models.pipeline import Timeline
from tutorlib.notebook.measured import show_figure, show_ladder
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
# L2, since some block beside has just read it. How well that works is notebook 11. Here the conclusion is the first
# half: **large tiles**, 128×128 and 64 along K, as in Eric Schreiber's
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
# Notebook 03 had the cure, Swizzle⟨3,3,3⟩ on an atom of 8 rows of 64. For a whole buffer the atom is repeated down the
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
# ## The plumbing, shown once
#
# What does not change in this notebook and the next three stands in `tutorlib/kernels/ampere/`, and here you read it.
# First the configuration, one immutable object:

# %%
display(Code(getsource(GemmConfig), language="python"))

# %% [markdown]
# Then who copies and who multiplies. cp.async goes past the L1 cache (`LoadCacheMode.GLOBAL`): the tile's home is
# shared memory, and a second copy of it in L1 only costs. As published, on an A100, the same ladder was faster with
# L1. Which is true on your GPU? Try it, it is one word.
#
# The TiledMma lays warps over the tile. One `mma.sync.m16n8k16` has 16×8 sums, and a warp takes two of them along N,
# because one `ldmatrix.x4` brings the operand B for both.

# %%
display(Code("\n\n".join(map(getsource, (make_copy_g2s, make_mma))), language="python"))

# %% [markdown]
# This is one mma's share of C: every lane (thread of a warp) has two neighbours in a row, *V0* and *V1*, and two more
# eight rows below. Keep this picture in mind; it decides how C can be written.

# %%
show_tv("((4,8),(2,2)):((32,1),(16,8))", (16, 8), "m16n8k16: who has which sums")

# %% [markdown]
# One operand's way into shared memory. Matrices need not be made of whole tiles: then each vector of 16 bytes is asked
# for its coordinates, fetched if it is inside and set to zero if it is not. Zeros along K add nothing to a sum; zeros
# in rows beyond M or N only reach sums that nobody stores. Where the tiles fit, `places` is `None`, and no instruction
# is spent on the question: shapes are known when the kernel is compiled.

# %%
display(Code(getsource(GlobalToShared), language="python"))

# %% [markdown]
# The three steps that a main loop consists of, for one thread:

# %%
display(Code(getsource(Steps), language="python"))

# %% [markdown]
# And the kernel. Tensors are named by where they live: `mA` the matrix, `gA` the block's tile in global memory, `sA` in
# shared memory; `tXrA` is A's registers (r) as partitioned for the copy X. Find the places where the parts that you
# write go in.

# %%
display(Code(getsource(gemm_kernel), language="python"))

# %% [markdown]
# ## The main loop: load, wait, compute
#
# With one buffer there is one possible order. The tile must have arrived before anybody reads it, and everybody must
# have read it before the next one overwrites it:

# %%
show_timeline(Timeline(stages=1, latency=4, transfer=2, compute=3, tiles=5))

# %% [markdown]
# **Exercise 09.3** (about 9 lines). Write it. For each K tile: `steps.load(k_tile, 0)`; commit the group, wait until
# no group is open, barrier; then for each K block `steps.fetch(k_block, 0)` and `steps.multiply(k_block)`. Loops over
# K tiles are plain `range`, over K blocks `cutlass.range_constexpr`: they pick registers, whose numbers must be known.
#
# Your loop is **rehearsed** before it is compiled: on the CPU, without data, by a machine that takes every liberty
# that your orders leave (a copy arrives when somebody waits for it and no sooner; the other warps are late until there
# is a barrier). A GPU shows a missing barrier now and then. The rehearsal shows it always.


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
# ## Permute the view, not the data
#
# The sums are in registers, and C wants them. Look at the picture of the mma again: a lane has two neighbours, 4 bytes
# of bf16. So a store instruction of a warp writes 8 rows with 16 bytes in each, half a sector of 32, and it takes four
# such stores where one of 128 bits could do. The lane's *next* two sums are in its warp's next atom, 16 columns on,
# because 8 columns of the other warp lie between.
#
# The usual way out is to exchange data: through shared memory, or by shuffles between lanes. Here is one that
# costs nothing. **Which** columns of B a lane multiplies is our choice, as long as the sums go to the same columns of
# C. So we give the MMA the columns of B in another order, such that four neighbouring atoms of a lane mean eight
# neighbouring columns in memory; and we write C in that order. No instruction is added: it is the same tile under
# another layout, which `cute.composition` puts on both.

# %%
display(Code(getsource(permuted), language="python"))

# %% [markdown]
# Take the column of the MMA apart into digits, the fastest first: *value* (2 in a lane), *lane* (4 in a row), *warp*
# (as many as lie across), *atom* (4 that become one vector), and *the rest*. The layout that we want sends these
# digits to a column in memory, where value runs fastest, then atom, then lane: eight neighbours for each lane.
#
# **Exercise 09.4** (about 2 lines). Write `columns(warps, tile_n)`: the layout of shape
# `(2, 4, warps, 4, tile_n // (32 * warps))`, with the strides that do this. The warps follow the lanes.


# %%
def columns(warps, tile_n):
    ### BEGIN SOLUTION (about 2 lines)
    shape = (2, 4, warps, 4, tile_n // (32 * warps))
    return Layout(shape, (1, 8, 32, 2, 32 * warps))
    ### END SOLUTION


# %%
check("09.4", columns)

# %% [markdown]
# B does not suffer. Its rows arrive in another order, but each is still a whole line of 128 bytes.
#
# ## The write-back
#
# `sums.rounded()` gives the sums in bf16, in registers of the shape ((2 columns, 2 rows), M atoms, (4 N atoms, the
# rest)). With the permuted view, eight neighbours in C are `[(None, row), m, (None, n)]`: all values of a row in four
# atoms. `None` keeps a mode, a number picks from it.
#
# Three cases. If C is made of whole tiles, one `cute.autovec_copy` does it all, in the widest stores it finds. If not,
# but rows are aligned, eight neighbours are inside or outside together. And if rows start anywhere, no wide store is
# possible, and `store_elements` does it one by one.
#
# **Exercise 09.5** (about 2 lines). Write the second case, inside the loops. `cute.elem_less(place, shape)` is true
# where every coordinate is smaller.


# %%
@cute.jit
def store(sums: Sums):
    registers = sums.rounded()
    if cutlass.const_expr(sums.whole):
        cute.autovec_copy(registers, sums.tCgC)
    else:
        (_, rows), atoms, (_, rest) = registers.shape
        for m in cutlass.range_constexpr(atoms):
            for row in cutlass.range_constexpr(rows):
                for n in cutlass.range_constexpr(rest):
                    eight = ((None, row), m, (None, n))
                    if cutlass.const_expr(not sums.aligned):
                        store_elements(registers[eight], sums.tCgC[eight], sums.coordinates[eight], sums.shape)
                    else:
                        ### BEGIN SOLUTION (about 2 lines)
                        if cute.elem_less(sums.coordinates[(0, row), m, (0, n)], sums.shape):
                            cute.autovec_copy(registers[eight], sums.tCgC[eight])
                        ### END SOLUTION


# %%
check("09.5", store)

# %% [markdown]
# That is the kernel. `make_gemm` puts your parts into it:

# %%
gemm = make_gemm(GemmConfig(), single_buffer, epilogue=store, smem=smem_layout)

# %% [markdown]
# ## What the compiler made of it
#
# The same with the course's parts, compiled for sm_80 (any machine can do that), and how often each instruction stands
# in the PTX. The loop over K tiles is not unrolled; everything inside it is.

# %%
SQUARE = [TensorSpec((4096, 4096), "bf16")] * 3
compiled = compile_cute(make_gemm(GemmConfig(), course.single_buffer), SQUARE)
print(compiled)
print(counts(compiled.ptx))

# %% [markdown]
# Check the numbers by hand; this is how one reads a kernel. A tile of 128×64 is 1,024 vectors of 16 bytes, for 128
# threads: 8 for A, 8 for B. A warp has 64×64 of C, which is 4×8 mmas in each of four K blocks. `ldmatrix.x4` brings
# 16×16 elements: 4 for A and 4 for B in each K block. And the sums, 128 of each thread, leave in vectors of eight.
#
# Their order tells the rest: all of cp.async, the wait, the barrier; ldmatrix and mma in turns, a K block at a time;
# the second barrier, where the loop closes; and the stores.

# %%
print(story(compiled.ptx))

# %% [markdown]
# ## A detour, to see that it is one
#
# The textbook way to wide stores leads through shared memory: write the sums there as the mma has them, barrier, read
# them back in rows, store rows. Schreiber tried it on an A100 and found it slower than storing directly, at 32 bits
# each. Below is that epilogue with the permuted view in its favour (its stores to shared memory are 128 bits wide and
# swizzled). Global memory sees stores of the same width in both; what is left is the price of the round trip.

# %%
display(Code(getsource(store_through_smem), language="python"))

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
# ## The ladder so far
#
# Measured beside cuBLAS in the same run (`tutor evidence 09` on your GPU adds yours).

# %%
show_ladder("09")

# %%
show_figure("gemm_ladder")

# %% [markdown]
# Two readings of that number.
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
# And what holds this kernel back on both? Look at the timeline: while tiles are under way the tensor cores wait, and
# while they work nothing is under way. Two blocks on one multiprocessor fill each other's gaps to some degree. The
# next notebook does it by plan.
#
# **Keep this:** every part of a GEMM is a layout: of shared memory, of threads over a tile, of warps over an mma.
# Change one and the rest stays. And a barrier has two sides, *data is there* and *buffer is free*; a loop needs both.

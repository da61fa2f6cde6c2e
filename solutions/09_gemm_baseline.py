# ---
# jupyter:
#   tutorlib:
#     minutes: 120
#     appendix: 10
#     summary: A GEMM from layouts, part by part, and at the end one kernel that is all yours.
# ---

# %% [markdown]
# # 09 · A GEMM on tensor cores
#
# This page builds a GEMM, C = A · Bᵀ, which the pages after it make faster. A is (M, K), B is (N, K), C is (M, N), all
# row-major bf16, accumulated in fp32. The entry point is `gemm(a, b, c)`, here and on every page up to 14.
#
# You know the parts: tiles (02), swizzles, `ldmatrix` and `mma` (03), cp.async and its waits (05). Most of them turn
# out to be layouts. You write them one at a time, each with a check of its own; then you put them into one kernel and
# time it. (Do the exercises in the order of the page: 09.10 follows 09.4, and 09.11 and 09.12 follow 09.6.)
#
# > **After this page you can** write a tensor-core GEMM in CuTe from its parts: swizzled shared memory, the threads
# > that copy and the warps that multiply, cp.async that fills in zeros at the edges, ldmatrix and mma.sync, a main loop
# > whose barriers you can defend, and stores that fill whole sectors.
# >
# > **It takes** about 120 minutes, on any machine, and its appendix about 10 more; a GPU from sm_80 on for the speed.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu.cpasync import CopyG2SOp, LoadCacheMode

from tutorlib import (
    TensorSpec, Timeline, check, compare_on_gpu, compile_cute, counts, explain, hardware_of, show_banks, show_columns,
    show_figure, show_ladder, show_source, show_timeline, show_tv, show_warps, story,
)  # fmt: skip
from tutorlib.kernels.ampere import (
    LINE, VECTOR, Accumulators, GemmConfig, GlobalToShared, Operand, Steps, main_loops as course, make_gemm,
    store_elements, store_through_smem,
)  # fmt: skip

# %% [markdown]
# ## Who computes what, and what it costs
#
# Each thread block computes one tile of C. It walks along K in steps; in each step it loads a tile of A and a tile of B
# and multiplies them. Blocks share nothing: the block to the right needs the same rows of A, and loads them again.
#
# **Exercise 09.1** (about 3 lines). Write `loaded_bytes(m, n, k, tile_m, tile_n)`: how many bytes of A and B, both
# bf16, all blocks together load. A tile of C that extends past the matrix counts as a whole one; `k` is not rounded up.


# %%
def loaded_bytes(m, n, k, tile_m, tile_n):
    ### BEGIN SOLUTION (about 3 lines)
    blocks = -(-m // tile_m) * -(-n // tile_n)
    return blocks * (tile_m + tile_n) * k * 2
    ### END SOLUTION


# %%
check("09.1", loaded_bytes)

# %% [markdown]
# For each index along K, a block with a tile of m×n performs 2·m·n operations on 2·(m+n) bytes: m·n/(m+n) operations
# per byte, its **arithmetic intensity**. The GPU has such a ratio, too: its peak operations per second divided by its
# memory bandwidth. A kernel whose intensity is below the GPU's ratio is limited by memory.

# %%
h200 = hardware_of("NVIDIA H200")
print(f"H200, from device memory: {h200.flops['bf16'] / h200.bandwidth:.0f} operations per byte")
for m, n in [(16, 16), (64, 64), (128, 128), (128, 256)]:
    print(f"a tile of {m}×{n}: {m * n / (m + n):.0f}")

# %% [markdown]
# If every load came from device memory, no tile that fits would be large enough: even 256×256, whose fp32 accumulators
# alone fill an SM's register file (65,536 registers), has an intensity of only 128. But most loads hit L2, because
# another block has just read the same tile; notebook 11 is about how often that happens. The rest is up to **large
# tiles**: here 128×128, and 64 along K, as in Eric Schreiber's ladder of kernels ([Demystifying
# CuTe](https://schreibereric.substack.com/p/demystifying-cute-how-to-write-a)), which these pages follow.
#
# Why 64 along K? 64 elements of bf16 are 128 bytes, so a row of a tile is one cache line, and it spans all 32 banks
# once.
#
# ## Shared memory: one layout, two access patterns
#
# cp.async writes the tile of A with eight threads side by side along a row, 16 bytes each. `ldmatrix` reads it eight
# *rows* at a time, 16 bytes of each. A row-major layout suits the writes. For the reads no layout is worse:

# %%
eight_rows = [(row, 0) for row in range(8)]
show_banks("(8,64):(64,1)", access=eight_rows, element_bytes=2, vector=8)

# %% [markdown]
# Notebook 03 had the remedy: Swizzle⟨3,3,3⟩ on 8 rows of 64, stored row by row,
# `cute.make_composed_layout(cute.make_swizzle(bits, base, shift), 0, layout)`. This is the buffer's `atom`, repeated
# down the rows, along K and over the *stages*: one stage on this page, more in notebook 10. `cute.tile_to_shape(atom,
# shape, order)` repeats it until it fills the shape, (rows, k, stages); with the order (0, 1, 2), down the rows first.
#
# **Exercise 09.2** (about 4 lines). Write `smem_layout(rows, k, stages)`, for k = 64 and for k = 32. With k = 32 a row
# is 64 bytes and two rows span the banks once: the `atom` is 8×32, and its swizzle has one bit less.


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
# What is the swizzle worth? `explain` runs a kernel on the simulator, on this machine, and counts the cost of its
# memory accesses: first with your layout, then with a row-major one. The kernel around the layout is the course's, and
# `GemmConfig()` gives it a tile of 128×128×64 and four warps; you write your own at the end of the page.


# %%
def row_major(rows, k, stages):
    return cute.make_layout((rows, k, stages), stride=(k, 1, rows * k))


a, b, c = (torch.randn(128, 128).bfloat16() for _ in range(3))
explain(make_gemm(GemmConfig(), course.single_buffer, smem=smem_layout), a, b, c)

# %%
explain(make_gemm(GemmConfig(), course.single_buffer, smem=row_major), a, b, c)

# %% [markdown]
# Look at the line of `ldmatrix`, and at the banks below it. An `ldmatrix.x4` reads four groups of eight rows, one group
# at a time: threads 0 to 7 hold the addresses of the first group, threads 8 to 15 those of the second, and so on. In
# the row-major tile the eight rows of a group meet in the same four banks, and the other 28 are idle. For cp.async the
# two layouts are equally good, since it writes along the rows. The swizzle costs a few more instructions, which compute
# addresses. (A line number counts from the top of the file or the cell where the quoted line is; here that is the
# course's source.)
#
# ## The main loop: load, wait, compute
#
# First the loop, then its parts. The loop makes three calls, and each thread makes them for its own share of the work.
# After the loop you write all three:
#
# - `steps.load(k_tile, buffer)` issues cp.async for this K tile of A and of B, into that buffer, and returns at once;
# - `steps.fetch(k_block, buffer)` is ldmatrix: it brings the operands of 16 along K from shared memory into registers;
# - `steps.multiply(k_block)` is mma.sync: it adds their product to the accumulators.
#
# There are `steps.k_tiles` K tiles, and `steps.k_blocks` K blocks in each. With one buffer only one order is possible.
# The tile must have arrived before any thread reads it, and every thread must have read it before the next tile
# overwrites it:

# %%
show_timeline(Timeline(stages=1, latency=4, transfer=2, compute=3, tiles=5))

# %% [markdown]
# **Exercise 09.3** (about 9 lines). Write the loop. For each K tile: load into buffer 0; commit the group, wait until
# no group is in flight, barrier; then for each K block fetch and multiply. The calls are those of notebook 05:
# `cute.arch.cp_async_commit_group()`, `cute.arch.cp_async_wait_group(0)` and `cute.arch.sync_threads()`. This list
# lacks one step: compare it with the last sentence above the picture. Loops over K tiles are plain `range`. Loops over
# K blocks are `cutlass.range_constexpr`, which unrolls them: a K block selects registers, and an instruction names its
# registers.
#
# The check runs your compiled loop in the simulator, which knows what your instructions guarantee: a copy arrives when
# a thread waits for it, and no sooner; two accesses without a barrier between them are a race, in whatever order they
# come. A GPU exposes a missing barrier now and then. The simulator always does.


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
# Remove one of the two barriers and check again; then the other. The message says which hazard each of them prevents.
#
# ## Load: who copies what
#
# One immutable object, known at compile time, describes how the work is divided:

# %%
config = GemmConfig()
print(config, "threads:", config.threads, "shared memory:", config.smem_bytes, "bytes")

# %% [markdown]
# A **TiledCopy** is a copy instruction (its `atom`) and a layout that assigns pieces of the tile to threads. A piece is
# 16 bytes, the widest cp.async: VECTOR = 8 elements. Eight threads side by side copy a row of 64, the next eight the
# row below, so 128 threads copy 16 rows, and a tile of 128 rows takes eight such copies.

# %%
show_tv("((8,8),1):((8,1),0)", (8, 8), "the first 8 rows of 64: a cell is a vector of 8 elements")

# %% [markdown]
# A warp's 32 vectors are then four whole lines of 128 bytes in global memory, and in shared memory every eight
# consecutive threads fill all 32 banks. If the threads ran down the rows first, each would touch a line of its own.
#
# cp.async can leave a copy of the line in L1 (`LoadCacheMode.ALWAYS`) or bypass L1 (`GLOBAL`). The kernel reads the
# data from shared memory, so a copy in L1 should be of no use. Yet the published ladder, on an A100, was faster with
# it. **Predict** which way a Hopper GPU prefers; you measure it after the exercise.
#
# **Exercise 09.4** (about 4 lines). Write `make_copy_g2s(config, dtype, cache)`, the copy from global to shared memory:
#
# - the copy instruction: `cute.make_copy_atom(CopyG2SOp(cache_mode=cache), dtype, num_bits_per_copy=128)`;
# - the threads, `config.threads` of them: a layout (rows, threads in a row) with the right strides. A row of bK =
#   `config.tile[2]` elements takes bK / VECTOR threads, for bK up to a LINE of 64; the check asks for 64 and for 32;
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
# With L1 or without? On a machine with a GPU this cell measures it, alternating with cuBLAS. (The ratio compares the
# kernels' speeds beside cuBLAS, which cancels most of a change of the clock between them, so it need not be the ratio
# of the times.)

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
# The course's H200 is 4% faster when cp.async bypasses L1, so the kernel does.
#
# A thread asks the TiledCopy for its share: `copies = g2s.get_slice(thread)`, then `copies.partition_S(gA)` of the
# source and `copies.partition_D(sA)` of the destination. Both have the modes (vector, rows, vectors of a row, …), so
# one `cute.copy(tiled_copy, source, target)` issues the thread's share of a tile.
#
# ## Load: the edges
#
# M, N and K need not be multiples of the tile, so the last tile of a row or column extends past the matrix. K must be a
# multiple of 8: a copy of 16 bytes starts at a multiple of 16, so each row must, too; otherwise CuTe refuses to compile
# the cp.async. A vector is then entirely inside the matrix or entirely outside, and one comparison decides.
#
# The comparison needs the vector's coordinates. `cute.make_identity_tensor(matrix.shape)` is a tensor whose element at
# (row, column) *is* (row, column), without any memory. Tiled and partitioned like the matrix, it tells a thread where
# each of its vectors is.
#
# `cute.copy` takes the results of the comparisons as a **predicate**, `pred=inside`: a tensor of booleans in registers,
# one for each vector, of shape (1, rows, vectors of a row). A cp.async has two sizes, the bytes that it writes and the
# bytes that it reads. CuTe sets the second to 16 where the predicate is true and to 0 where it is false. In the second
# case the instruction reads nothing and fills its 16 bytes of shared memory with zeros. That is what a GEMM needs at an
# edge: zeros along K add nothing to an accumulator, and zeros in rows beyond M or N reach only accumulators that are
# never stored. (With an `if` around the copy, shared memory would keep the values of an earlier tile.)
#
# This is one operand's path, for one thread. Shapes are known at compile time: where tiles divide the matrix, `places`
# is `None`, and nothing has to be compared.

# %%
show_source(GlobalToShared)

# %% [markdown]
# **Exercise 09.10** (about 10 lines). Write the method `load(path, k_tile, buffer)`, which the class takes in its last
# line; `path` is its `self`:
#
# 1. slice one K tile of `path.source` and one buffer of `path.target`; `None` keeps a mode, a number picks from it:
#    `path.source[None, None, None, k_tile]`;
# 2. where `path.places` is `None`, copy, and that is all;
# 3. otherwise make the predicate, `cute.make_rmem_tensor((1, rows, vectors), cutlass.Boolean)`, with the sizes
#    `cute.size(target, mode=[1])` and `mode=[2]`. Set each element to `cute.elem_less(place, path.limit)`, which is
#    true if the row *and* the column are smaller; the place of a vector is that of its first element,
#    `path.places[0, row, vector, k_tile]`. Python's `for` and `range` will do, because both sizes are known at compile
#    time;
# 4. copy with the predicate.
#
# The check puts it into a kernel with two buffers and simulates it at sizes that no tile divides.


# %%
def load(path, k_tile, buffer):
    ### BEGIN SOLUTION (about 10 lines)
    source, target = path.source[None, None, None, k_tile], path.target[None, None, None, buffer]
    if path.places is None:
        cute.copy(path.tiled_copy, source, target)
        return
    rows, vectors = cute.size(target, mode=[1]), cute.size(target, mode=[2])
    inside = cute.make_rmem_tensor((1, rows, vectors), cutlass.Boolean)
    for row in range(rows):
        for vector in range(vectors):
            inside[0, row, vector] = cute.elem_less(path.places[0, row, vector, k_tile], path.limit)
    cute.copy(path.tiled_copy, source, target, pred=inside)
    ### END SOLUTION


# %%
check("09.10", load)

# %% [markdown]
# In your kernel, `load` becomes the method of a class. Here the course's kernel uses that class, and this is its first
# cp.async in PTX. `selp` selects by a predicate: 16 or 0 by one coordinate, that number or 0 by the other. The last
# operand of cp.async is the number of bytes that it reads.


# %%
class MyCopies(GlobalToShared):
    load = load


# %%
from contextlib import suppress

ragged = [TensorSpec(shape, "bf16") for shape in ((129, 72), (200, 72), (129, 200))]
with suppress(NotImplementedError):  # until you have written load
    ptx = compile_cute(make_gemm(config, course.single_buffer, copies=MyCopies), ragged).ptx.splitlines()
    at = next(n for n, line in enumerate(ptx) if "cp.async" in line)
    print("\n".join(ptx[at - 2 : at + 1]))

# %% [markdown]
# ## Multiply: who multiplies what
#
# One warp executes `mma.sync.m16n8k16`, the **MMA atom** of this page: 16×8 accumulators, from 16×16 of A and 8×16 of
# B. Every lane (thread of a warp) holds two neighbors in a row, *V0* and *V1*, and two more eight rows below. Keep this
# picture in mind: it decides how C can be stored.

# %%
show_tv("((4,8),(2,2)):((32,1),(16,8))", (16, 8), "m16n8k16: who has which accumulators")

# %% [markdown]
# A **TiledMma** arranges warps over the tile, here 2×2, and `permutation_mnk` says how much of the tile all warps cover
# before the pattern repeats. Four warps with one atom of 16×8 each would cover 32×16. We ask for 32×32, *two* atoms
# along N for each warp, because one `ldmatrix.x4` brings B's operands for two. The left picture shows the 32×32; C's
# tile of 128×128 is 4×4 of them (right). The numbers are warps.

# %%
show_warps("((4,8,2,2),((2,2),(1,2))):((64,1,16,256),((32,8),(0,512)))", (32, 32), (128, 128))

# %% [markdown]
# Read a row of the left picture from left to right: warp 0, warp 2, warp 0, warp 2. A warp's two atoms are not
# neighbors: the other warp's 8 columns are between them. CuTe repeats the row of warps until it has covered the 32
# columns.
#
# **Exercise 09.5** (about 3 lines). Write `make_mma(config, dtype)`: `warp.MmaF16BF16Op(dtype, cutlass.Float32, (16, 8,
# 16))` is the instruction; `cute.make_tiled_mma(op, layout of the warps, permutation_mnk=(along M, N and K))` arranges
# it. The warps, `config.warps`, are a layout of three modes, along M, N and K, numbered down M first as in the picture;
# along K there is one. The check asks for 2×2 warps and for 2×4, each with two atoms along N.


# %%
from cutlass.cute.nvgpu import warp


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
# whole warp. After one `ldmatrix.x4` on A, each lane's registers hold exactly the elements that mma reads from them:

# %%
show_tv("((4,8),(2,2,2)):((32,1),(16,8,128))", (16, 16), "16×16 of A after ldmatrix.x4: lane and register")

# %% [markdown]
# So the same registers have two views. The MMA's is (values of an atom, atoms, K blocks); the copy's is (values that
# one ldmatrix fills, ldmatrix instructions, K blocks). For A the two agree up to grouping. For B they do not: an atom
# of 8 columns takes four elements from each lane, and one ldmatrix.x4 brings eight, the operands of two atoms. `retile`
# gives the copy's view of the MMA's registers; it copies nothing.
#
# An `Operand` has all that a thread needs of A or of B. Read its names letter by letter, as always in CuTe: *t*, then
# the partition (*C* is the MMA's, *X* the copy's), the memory (*r* registers, *s* shared memory), and the matrix; *X*
# stands for A or B. So `tCrX` is the MMA's view of the registers, and `tXrX` the copy's view of the same ones:

# %%
show_source(Operand)

# %% [markdown]
# There is one trap. `sA` is (M, K, buffers), but a thread needs registers for one K tile, and not for one in each
# buffer. So pick buffer 0 of the partition, `[None, None, None, 0]`, before you make its fragment, the registers. This
# reads nothing; a slice of a layout is a layout.
#
# **Exercise 09.6** (about 10 lines). Write `make_operands(tiled_mma, thread, sA, sB)`, which returns two Operands.
#
# 1. `math = tiled_mma.get_slice(thread)`: `math.partition_A(sA)` is the part of sA that this thread's mmas read, and
#    `tiled_mma.make_fragment_A(…)` makes registers for it;
# 2. the atom: `cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), sA.element_type)`, and
#    `cute.make_tiled_copy_A(atom, tiled_mma)`: ldmatrix laid out as this MMA reads A;
# 3. `partition_S(sA)` and `retile(tCrA)` of that copy's slice for the thread. For B, the same functions end in `_B`.


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
# Look at the result. Compare the two views of B for one K block: eight atoms of four elements, and four ldmatrix of
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
# One `cute.copy` with `s2r` now fetches an operand: it issues an ldmatrix for each 16×16 of the slice that you give it,
# from `tXsX`, in shared memory, to `tXrX`, the registers in the copy's own view. Both slices are of one K block:
# `fetch(k_block, …)` fills the registers of that K block alone, so each K block has registers of its own.
#
# **Exercise 09.11** (about 2 lines). Write `fetch(steps, k_block, buffer)` for both operands, `steps.rA` and
# `steps.rB`. The modes of `tXsX` are (8, ldmatrix instructions, K blocks, buffers); those of `tXrX` are the same
# without buffers.


# %%
def fetch(steps, k_block, buffer):
    ### BEGIN SOLUTION (about 2 lines)
    for r in (steps.rA, steps.rB):
        cute.copy(r.s2r, r.tXsX[None, None, k_block, buffer], r.tXrX[None, None, k_block])
    ### END SOLUTION


# %%
check("09.11", fetch)

# %% [markdown]
# `cute.gemm(tiled_mma, D, A, B, C)` computes D = A · B + C on a thread's registers. From a K block of A, (8, M atoms),
# and one of B, (4, N atoms), it issues an mma.sync for every pair of atoms: 4 × 8 of them here. It takes the operands
# in the MMA's own view.
#
# **Exercise 09.12** (about 2 lines). Write `multiply(steps, k_block)`, which adds the product of one K block to the
# accumulators, `steps.tCrC`.


# %%
def multiply(steps, k_block):
    ### BEGIN SOLUTION (about 2 lines)
    a, b = steps.rA.tCrX[None, None, k_block], steps.rB.tCrX[None, None, k_block]
    cute.gemm(steps.tiled_mma, steps.tCrC, a, b, steps.tCrC)
    ### END SOLUTION


# %%
check("09.12", multiply)

# %% [markdown]
# Load, fetch and multiply are complete. The main loop calls them as methods of a `Steps`, which holds a thread's share
# of everything, a `GlobalToShared` for each operand included:

# %%
show_source(Steps)

# %% [markdown]
# Yours has your methods:


# %%
class MySteps(Steps):
    fetch, multiply = fetch, multiply


# %% [markdown]
# ## Permute the view, not the data
#
# The accumulators are in registers and must reach C. A lane has two neighbors, 4 bytes of bf16. A warp's store
# therefore writes 16 bytes in each of 8 rows, half a sector of 32 bytes, and takes four instructions where one store of
# 128 bits would do. The lane's *next* two accumulators are in its warp's next atom, 16 columns further on, because the
# other warp's 8 columns are in between. The upper row of this picture is 64 columns of one row of C, as the MMA
# distributes them (T64 is lane 0 of warp 2; a0 to a3 are a warp's atoms along the row):

# %%
show_columns(("value", "lane", "warp", "atom"), ("value", "atom", "lane", "warp"))

# %% [markdown]
# The usual remedy is to exchange data, through shared memory or by shuffles between lanes. Another costs nothing. We
# may choose **which** columns of B a lane multiplies, as long as its results go to the same columns of C. So permute
# the columns that the MMA sees. Choose the permutation such that a lane's values in four consecutive atoms, two in
# each, are eight neighboring columns in memory: the lower row. Store C under the same permutation. That takes no
# instruction: it is the same tile under another layout, `cute.composition(gB, (columns, None, None))`.
#
# Write the MMA's column as digits, the fastest first: *value* (2 in a lane), *lane* (4 in a row), *warp* (the warps
# along N), *atom* (4 that become one vector) and *rest* (how often all of that repeats in the tile). The layout maps
# these digits to a column in memory, in which value runs fastest, then atom, then lane, then warp, then rest. Lanes
# come before warps because a store of 16 bytes is half a sector: the same instruction should store the other half.
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
# B loses nothing by it: its rows arrive in another order, but each is still a whole line of 128 bytes. The simulator
# counts the gain for C, first without your columns, then with them. Look at the line of `st.global`, and at the number
# of warp instructions: without your columns a thread stores 4 bytes at a time.

# %%
picture = explain(
    make_gemm(config, course.single_buffer, columns=lambda config: cute.make_layout(config.tile[1])), a, b, c
)

# %%
picture = explain(
    make_gemm(config, course.single_buffer, columns=lambda config: columns(config.warps[1], config.tile[1])), a, b, c
)

# %% [markdown]
# Half the sectors of C, in fewer instructions, and no data was exchanged: only two layouts changed, B's and C's.
#
# ## The write-back
#
# An **epilogue** turns accumulators into C. It gets this, for one thread:

# %%
show_source(Accumulators)

# %% [markdown]
# Under the permuted view, eight neighbors in C are `eight = ((None, row), m, (None, n))`: the two columns of a lane in
# four atoms. `acc.tCrC[eight]` are their accumulators, of shape (2, 4), `acc.tCgC[eight]` their places in C, and
# `acc.coordinates[(0, row), m, (0, n)]` is the (row, column) of the first of them.
#
# At the edges the argument is that of `load`. If N is a multiple of 8, the eight begin at a multiple of 8 columns and
# are inside C or outside *together*: one comparison, one store of 16 bytes. If it is not, a row of C may start at any
# multiple of 2 bytes; then no store of 16 bytes is possible, and each element is compared and stored by itself:

# %%
show_source(store_elements)

# %% [markdown]
# **Exercise 09.8** (about 6 lines). Write the body of the loops: round eight accumulators and store them.
#
# 1. Make registers for them, `cute.make_rmem_tensor((2, 4), …)`, of C's type, `acc.tCgC.element_type`. `x.load()` reads
#    the values of a register tensor, `.to(dtype)` converts them, and `y.store(values)` writes them into another:
#    `y.store(x.load().to(dtype))`.
# 2. Where `acc.aligned` is false (`cutlass.const_expr(…)`, it is known at compile time), call `store_elements`.
# 3. Otherwise, if the first of the eight is inside `acc.shape`, store all eight: `cute.autovec_copy(source, target)` is
#    as wide as alignment and contiguity allow.


# %%
@cute.jit
def store(acc: Accumulators):
    (_, rows), atoms, (_, rest) = acc.tCrC.shape
    for m in cutlass.range_constexpr(atoms):
        for row in cutlass.range_constexpr(rows):
            for n in cutlass.range_constexpr(rest):
                eight = ((None, row), m, (None, n))
                ### BEGIN SOLUTION (about 6 lines)
                rounded = cute.make_rmem_tensor((2, 4), acc.tCgC.element_type)
                rounded.store(acc.tCrC[eight].load().to(acc.tCgC.element_type))
                if cutlass.const_expr(not acc.aligned):
                    store_elements(rounded, acc.tCgC[eight], acc.coordinates[eight], acc.shape)
                elif cute.elem_less(acc.coordinates[(0, row), m, (0, n)], acc.shape):
                    cute.autovec_copy(rounded, acc.tCgC[eight])
                ### END SOLUTION


# %%
check("09.8", store)

# %% [markdown]
# ## Your kernel
#
# You have all the parts; now they meet in one kernel. Tensors are named by the memory they are in: `mA` is the matrix,
# `gA` the block's tile in global memory, `sA` its copy in shared memory, `cA` the coordinates of gA's elements; `tCgC`
# is gC as partitioned for the MMA, `tCrC` its registers.
#
# **Exercise 09.9** (about 14 and about 4 lines). First complete the kernel:
#
# 1. `g2s`, your TiledCopy, and `copies`, its slice for this thread (`inside` uses that name). Then `a`, a
#    `MyCopies(g2s, source, target, places, limit)`: the slice's partitions of gA and of sA, and the pair that
#    `inside(mA, bM, cA)` returns. Make `b` from B's tensors in the same way, with `inside(mB, bN, cB)`;
# 2. `tiled_mma`, its slice `math`, `tCgC`, and the accumulators: `tCrC = tiled_mma.make_fragment_C(tCgC)`, filled with
#    0.0;
# 3. your operands; your `single_buffer` on `MySteps(k_tiles, a, b, rA, rB, tiled_mma, tCrC)`, where `k_tiles` is
#    `cute.size(gA, mode=[2])`; your `store` on `Accumulators(tCrC, tCgC, coordinates, gC, mC.shape, config, math)`,
#    where the coordinates are `math`'s partition of cC.
#
# Then the host function, for a `GemmConfig()`: it launches one block for each tile, with `config.threads` threads.
# `config.grid(rows, columns)` returns the number of tiles down and across; the kernel numbers its blocks in one
# dimension.
#
# The check runs it at sizes that no tile divides (K stays a multiple of 8), on the simulator if there is no GPU. With a
# GPU it also times it at 4096³, beside cuBLAS.


# %%
from cutlass.memory import SmemAllocator


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

    def inside(matrix, rows, c):  # the places to compare, and with what; None where tiles are whole
        whole = matrix.shape[0] % rows == 0 and matrix.shape[1] % bK == 0
        return (None, None) if whole else (copies.partition_S(c), matrix.shape)

    ### BEGIN SOLUTION (about 14 lines)
    g2s = make_copy_g2s(config, dtype)
    copies = g2s.get_slice(thread)
    a = MyCopies(g2s, copies.partition_S(gA), copies.partition_D(sA), *inside(mA, bM, cA))
    b = MyCopies(g2s, copies.partition_S(gB), copies.partition_D(sB), *inside(mB, bN, cB))

    tiled_mma = make_mma(config, dtype)
    math = tiled_mma.get_slice(thread)
    tCgC = math.partition_C(gC)
    tCrC = tiled_mma.make_fragment_C(tCgC)
    tCrC.fill(0.0)

    rA, rB = make_operands(tiled_mma, thread, sA, sB)
    single_buffer(MySteps(cute.size(gA, mode=[2]), a, b, rA, rB, tiled_mma, tCrC))
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
# Everything that runs on the GPU is on this page, and most of it is yours. (The course's are the kernel's first half,
# which cuts the matrices into tiles, the containers `GlobalToShared`, `Operand`, `Steps` and `Accumulators`, and
# `store_elements`.) The next two pages change one part each, first the main loop, then the order of blocks. They use
# the course's `make_gemm(config, main_loop, order)`: the same kernel, with its parts as arguments.
#
# What did your kernel do? One block, two K tiles: C is cp.async, R ldmatrix, M mma, S a store.

# %%
explain(gemm, a, b, c)

# %% [markdown]
# ## What the compiler made of it
#
# Compiled for sm_80 (any machine can do that), the PTX has this many of each instruction. The loop over K tiles is not
# unrolled; everything inside it is.

# %%
SQUARE = [TensorSpec((4096, 4096), "bf16")] * 3
with suppress(NotImplementedError):  # until you have written gemm
    compiled = compile_cute(gemm, SQUARE)
    print(compiled)
    print(counts(compiled.ptx))

# %% [markdown]
# Check the numbers by hand; this is how to read a kernel. A tile of 128×64 is 1,024 vectors of 16 bytes, for 128
# threads: 8 for A, 8 for B. A warp has 64×64 of C, which is 4×8 mmas in each of four K blocks. `ldmatrix.x4` brings
# 16×16 elements: 4 for A and 4 for B in each K block. And each thread stores its 128 accumulators in vectors of eight.
#
# Their order tells more: all cp.async, the wait, the barrier; ldmatrix and mma in turns, a K block at a time; the
# second barrier, where the loop closes; and the stores.

# %%
with suppress(NotImplementedError):
    print(story(compile_cute(gemm, SQUARE).ptx))

# %% [markdown]
# ## The ladder so far
#
# Measured beside cuBLAS in the same run (`tutor evidence 09` on your GPU adds yours).

# %%
show_ladder("09")

# %%
show_figure("gemm_ladder_09")

# %% [markdown]
# At 4096³ that is about half of cuBLAS's speed. There are two ways to read this number. (The curve has a dip at 3072;
# notebook 11 explains it.)
#
# On an **A100** cuBLAS uses the same instructions as this kernel, cp.async and mma.sync. There the published ladder
# starts at 101% of cuBLAS at 2048³ and ends at 116% (Schreiber's numbers, not measured here; he says that he chose a
# size that favors his kernel).
#
# On a **Hopper** GPU cuBLAS uses WGMMA, which reads its operands from shared memory without passing them through
# registers. mma.sync cannot keep up: even with nothing to wait for, it ends at the red dotted line (623 TFLOP/s), which
# cuBLAS exceeds from 2048 on. So these four pages stay well below cuBLAS there, and the fair comparison is with other
# kernels made of mma.sync, such as NVIDIA's example in the figure. Notebook 13 changes the instructions.
#
# What limits this kernel on both? Look at the timeline: while tiles are in flight the tensor cores are idle, and while
# they work nothing is in flight. In the report for sm_80 one block takes 128·222 registers, more than a third of an
# SM's 65,536. So an SM holds two blocks (on Hopper, too), and they fill some of each other's gaps. The next page fills
# them by design.
#
# ## What to remember
#
# - Most parts of a GEMM are layouts: of shared memory, of threads and of warps over a tile, of registers. You can
#   change one and leave the others.
# - `get_slice(thread)`, then `partition`: a TiledCopy or a TiledMma cuts a tensor into a thread's share. `retile` gives
#   one instruction's view of another's registers: `cute.copy` fills ldmatrix's view, `cute.gemm` takes the MMA's.
# - A barrier has two sides, *the data has arrived* and *the buffer is free*; a loop with one buffer needs both.
# - To bring data to another lane, first ask whether a permuted view would do.
# - At an edge a vector is entirely inside or entirely outside: one comparison decides about a copy or a store of 16
#   bytes. A predicated cp.async writes zeros where it reads nothing.
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
# <details><summary>2. Why may <code>permutation_mnk</code> be 16·n along N, when n warps with an atom of 8 columns
# cover 8·n?</summary>
#
# It is the extent that all warps cover together before the pattern repeats, and CuTe repeats the warps to fill it: two
# atoms for each. `ldmatrix.x4` brings 16×16 elements, and B's operand for one atom is 8×16.
#
# </details>
#
# <details><summary>3. You leave out the second barrier. At which sizes is the result still right for certain?</summary>
#
# Where K is one tile: then no load overwrites data that a thread may still read. At all others it depends on how far
# apart the warps are, so it may pass every test and fail in production.
#
# </details>

# %% [markdown]
# ## Appendix: C through shared memory
#
# The textbook way to wide stores leads through shared memory: write the results there as the MMA holds them, barrier,
# read them back in rows, store rows. Schreiber tried it on an A100 and found it slower than storing directly, 32 bits
# at a time. Below is that epilogue with the advantage of the permuted view: its stores to shared memory are 128 bits
# wide, and swizzled. Both kernels store to global memory equally wide; they differ by the round trip alone.

# %%
show_source(store_through_smem)

# %%
detour = compile_cute(make_gemm(GemmConfig(), course.single_buffer, epilogue=store_through_smem), SQUARE)
print(detour)
print(counts(detour.ptx))

# %% [markdown]
# **Predict** which one is faster, and by how much, at 2048 (few K tiles for each write-back) and at 8192. On a machine
# with a GPU this cell measures both, alternating with cuBLAS:

# %%
compare_on_gpu(
    {
        "direct": make_gemm(GemmConfig(), course.single_buffer),
        "through shared memory": make_gemm(GemmConfig(), course.single_buffer, epilogue=store_through_smem),
    },
    sizes=(2048, 4096, 8192),
)

# %% [markdown]
# How close were you? On the course's H200 the direct stores are ahead by 2% at 2048 and by less than 1% above it, and
# all three differences are within the spread of the measurement: call it no difference. There is one write-back per
# tile and a main loop along all of K, so the epilogue is a small part, and smaller the longer K is. The cost that is
# certain is in the compiler's report: one more barrier and, as this epilogue is written, twice the shared memory. (It
# need not be twice. After the main loop the tiles of A and B are dead, and C's tile in bf16 is as large as both
# together.)

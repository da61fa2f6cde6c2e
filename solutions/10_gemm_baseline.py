# ---
# jupyter:
#   tutorlib:
#     minutes: 170
#     summary: Fragments, ldmatrix and mma.sync; a GEMM part by part, and at the end one kernel that is all yours.
# ---

# %% [markdown]
# # 10 · A GEMM on tensor cores
#
# This page builds a GEMM, C = A · Bᵀ, which the pages after it make faster. A is (M, K), B is (N, K), C is (M, N), all
# row-major bf16, accumulated in fp32. The entry point is `gemm(a, b, c)`.
#
# You write its parts one at a time, and at the end the kernel around them, from an empty cell: on an H200 at 4096³ the
# course's reaches 398 TFLOP/s, about half of cuBLAS's speed.
#
# > **After this page you can** write a tensor-core GEMM in CuTe: swizzled shared memory, cp.async with zeros at the
# > edges, operands by ldmatrix, mma.sync, a main loop whose barriers you can defend, and stores of whole sectors.
# >
# > **It takes** about 170 minutes, on any machine, best in two sittings: stop after 10.6. A GPU from sm_80 on gives the
# > speed.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu.cpasync import CopyG2SOp, LoadCacheMode

from tutorlib import (
    TensorSpec, Timeline, check, compile_cute, counts, explain, hardware_of, show_banks, show_columns, show_figure,
    show_ladder, show_source, show_timeline, show_tv, show_tvs, show_warps, story,
)  # fmt: skip
from tutorlib.kernels.ampere import (
    LINE, VECTOR, Accumulators, GemmConfig, GlobalToShared, Operand, Steps, main_loops as course, make_gemm,
    store_elements,
)  # fmt: skip

# %% [markdown]
# ## Who computes what, and what it costs
#
# Each thread block computes one tile of C. It walks along K in steps; in each step it loads a tile of A and a tile of B
# and multiplies them. Blocks share nothing: the block to the right needs the same rows of A, and loads them again.
#
# **Exercise 10.1** (about 3 lines). Write `loaded_bytes(m, n, k, tile_m, tile_n)`: how many bytes of A and B, both
# bf16, all blocks together load. A tile of C that extends past the matrix counts as a whole one; `k` is not rounded up.


# %%
def loaded_bytes(m, n, k, tile_m, tile_n):
    ### BEGIN SOLUTION (about 3 lines)
    blocks = -(-m // tile_m) * -(-n // tile_n)
    return blocks * (tile_m + tile_n) * k * 2
    ### END SOLUTION


# %%
check("10.1", loaded_bytes)

# %% [markdown]
# For each index along K, a block with a tile of m×n performs 2·m·n operations on 2·(m+n) bytes: m·n/(m+n) operations
# per byte, its **arithmetic intensity**. A kernel whose intensity is below the GPU's own ratio, its peak operations per
# second divided by its memory bandwidth, would be limited by device memory if every load came from there.

# %%
h200 = hardware_of("NVIDIA H200")
ratio = h200.flops["bf16"] / h200.bandwidth
print(f"H200, from device memory: {ratio:.0f} operations per byte")
for m, n in [(16, 16), (64, 64), (128, 128), (128, 256)]:
    intensity = m * n / (m + n)
    print(f"a tile of {m}×{n}: {intensity:.0f}; enough if L2 serves {1 - intensity / ratio:.0%} of the bytes")

# %% [markdown]
# Most loads do hit L2, because another block has just read the same tile (notebook 12). The rest is up to **large
# tiles**: here 128×128, and 64 along K, as in Eric Schreiber's ladder of kernels ([Demystifying
# CuTe](https://schreibereric.substack.com/p/demystifying-cute-how-to-write-a)), which these pages follow. 64 elements
# of bf16 are 128 bytes: a row of a tile is one cache line, and spans all 32 banks once.
#
# CuTe's names say where a tensor is: `g` for the block's tile in global memory, `s` for shared memory, `r` for
# registers. `tCrA` is one thread's part (`t`), divided as the multiplication (`C`) needs it, in registers (`r`), of A.
#
# Here is the map of the page: the way of A's tile, and the exercises that build it.
#
# | from | by | to | exercises |
# |---|---|---|---|
# | `gA`, global memory | cp.async | `sA`, shared memory | 10.4, 10.6 |
# | `sA` | ldmatrix | `tCrA`, registers | 10.3, 10.8, 10.9 |
# | `tCrA` and `tCrB` | mma.sync | `tCrC`, accumulators | 10.2, 10.7, 10.9 |
# | `tCrC` | rounding, stores | `tCgC`, global memory | 10.10, 10.11 |
#
# 10.5 is the loop around the first three, and 10.12 all of it.

# %%
from tensor_layouts import Layout, Swizzle, compose
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
# In A, k numbers the columns. Each lane holds eight values. Two neighbors along k share a 32-bit register, and the four
# registers belong to the four quarters of the matrix. In which order?

# %%
show_tv(mma.a_layout, (16, 16), title="A of m16n8k16: 32 lanes × 8 values")

# %% [markdown]
# **Exercise 10.2** (about 1 line). Write `a_fragment()`: A's TV layout, as a `Layout` from (lane, value) to row + 16·k.
# Its shape can be `((4,8),(2,2,2))`; you find the strides.


# %%
def a_fragment():
    ### BEGIN SOLUTION (about 1 line)
    return Layout(((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128)))
    ### END SOLUTION


# %%
check("10.2", a_fragment)

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
# **Exercise 10.3** (about 1 line). Write `ldmatrix_row(lane)`. This lane supplies the address of eight elements of a
# row of the 16×16 tile: return the (row, column) of the first. Register j must receive values 2j and 2j + 1 of A's
# fragment.


# %%
def ldmatrix_row(lane):
    ### BEGIN SOLUTION (about 1 line)
    return lane % 16, 8 * (lane // 16)
    ### END SOLUTION


# %%
check("10.3", ldmatrix_row)

# %% [markdown]
# ## Shared memory: one layout, two access patterns
#
# cp.async writes the tile of A with eight threads side by side along a row, 16 bytes each. `ldmatrix` reads eight
# *rows* at a time, 16 bytes of each. A row-major layout suits the writes. For the reads no layout is worse:

# %%
eight_rows = [(row, 0) for row in range(8)]
show_banks("(8,64):(64,1)", access=eight_rows, element_bytes=2, vector=8)

# %% [markdown]
# **Exercise 10.4** (about 4 lines). Write `smem_layout(rows, k, stages)`, for k = 64 and for k = 32: a layout of that
# shape in which neighbors along k are neighbors in memory, no two elements share a place, and neither access has a bank
# conflict. *Stages* are buffers, one on this page and more in notebook 11. At hand:
#
# | | |
# |---|---|
# | `cute.make_layout(shape, stride=…)` | a layout |
# | `cute.make_swizzle(b, m, s)` | Swizzle⟨B,M,S⟩, on offsets that count elements |
# | `cute.make_composed_layout(swizzle, 0, layout)` | swizzle ∘ layout |
# | `cute.tile_to_shape(atom, shape, (0, 1, 2))` | repeats an atom down the rows, then along k, then over the stages |


# %%
def smem_layout(rows, k, stages):
    ### BEGIN SOLUTION (about 4 lines)
    width = min(k, 64)
    swizzle = cute.make_swizzle(3 if width == 64 else 2, 3, 3)
    atom = cute.make_composed_layout(swizzle, 0, cute.make_layout((8, width), stride=(width, 1)))
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))
    ### END SOLUTION


# %%
check("10.4", smem_layout)

# %% [markdown]
# What is the swizzle worth? The costs of a kernel of the course's, with a tile of 128×128×64 and four warps, first with
# your layout, then with a row-major one:


# %%
def row_major(rows, k, stages):
    return cute.make_layout((rows, k, stages), stride=(k, 1, rows * k))


a, b, c = (torch.randn(128, 128).bfloat16() for _ in range(3))
picture = explain(make_gemm(GemmConfig(), course.single_buffer, smem=smem_layout), a, b, c)

# %%
picture = explain(make_gemm(GemmConfig(), course.single_buffer, smem=row_major), a, b, c)

# %% [markdown]
# Look at the line of `ldmatrix`: eight rows meet in four banks, as in the picture above.
#
# ## The main loop: load, wait, compute
#
# The loop calls three functions, which you write after it. Each thread calls them for its own share of the work:
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
# **Exercise 10.5** (about 9 lines). Write the loop, with buffer 0: it loads every K tile once, and fetches and
# multiplies each of its K blocks once. Two hazards must be excluded, with at most two barriers for each K tile. Before
# you write, name them: whose copies does a wait cover, and who may still be reading the buffer that the next load
# overwrites?
#
# A **K block** is 16 elements along K, what one MMA instruction takes. The loop over K tiles is a plain `range`, so
# that the code does not grow with K. The loop over K blocks is `cutlass.range_constexpr`, which unrolls it: a K block
# selects registers, and an instruction names its registers.
#
# The check simulates your loop. There a copy arrives when a thread waits for it, and no sooner, and two accesses
# without a barrier between them are a race.


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
check("10.5", single_buffer)

# %% [markdown]
# Your loop, simulated: C issues copies, c commits them, w waits, | is a barrier, R ldmatrix, M the arithmetic.

# %%
explain(make_gemm(GemmConfig(), single_buffer), a, b, c)

# %% [markdown]
# ## Load: who copies what
#
# An immutable object, known at compile time, describes how the work is divided:

# %%
config = GemmConfig()
print(config, "threads:", config.threads, "shared memory:", config.smem_bytes, "bytes")

# %% [markdown]
# The copy is a TiledCopy, as in notebook 05. A thread's piece is VECTOR = 8 elements, 16 bytes, the widest cp.async.
# Eight threads side by side copy a row of 64, so 128 threads copy 16 rows, whole lines of 128 bytes.
# `LoadCacheMode.GLOBAL` bypasses L1, since the kernel reads the data from shared memory only:


# %%
def make_copy_g2s(config, dtype):
    lanes = min(config.tile[2], LINE) // VECTOR  # threads side by side; LINE is 64 elements
    atom = cute.make_copy_atom(CopyG2SOp(cache_mode=LoadCacheMode.GLOBAL), dtype, num_bits_per_copy=128)
    threads = cute.make_layout((config.threads // lanes, lanes), stride=(lanes, 1))
    return cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, VECTOR)))


# %% [markdown]
# ## Load: the edges
#
# M, N and K need not be multiples of the tile. K must be a multiple of 8, so that each row starts at a multiple of 16
# bytes. A vector is then entirely inside the matrix or entirely outside, and one comparison decides.
#
# This class is one operand's path into shared memory, for one thread. Where tiles divide the matrix, `places` is
# `None`, and nothing has to be compared:

# %%
show_source(GlobalToShared)

# %% [markdown]
# A colleague has written `load`, the method that issues the copies of a K tile. `None` in an index keeps a mode.
# `places` has the coordinates of each vector's elements, from `cute.make_identity_tensor(matrix.shape)`, a tensor whose
# element at (row, column) *is* (row, column). `cute.elem_less` is true if the row *and* the column are smaller.
#
# It copies nothing from outside the matrix, and it passes every test at 4096³. **Predict** which elements of C are
# wrong at a size that no tile divides: those of the last rows and columns, or others?


# %%
@cute.jit
def load_inside(path, k_tile, buffer):
    source, target = path.source[None, None, None, k_tile], path.target[None, None, None, buffer]
    if cutlass.const_expr(path.places is None):
        cute.copy(path.tiled_copy, source, target)
    else:
        for row in cutlass.range_constexpr(cute.size(target, mode=[1])):
            for vector in cutlass.range_constexpr(cute.size(target, mode=[2])):
                if cute.elem_less(path.places[0, row, vector, k_tile], path.limit):
                    cute.copy(path.tiled_copy, source[None, row, vector], target[None, row, vector])


picture = explain("10.6", load_inside)

# %% [markdown]
# (Lines with `!`: rows of 136 and 72 elements do not all start at whole sectors.)
#
# **Exercise 10.6** (about 6 lines). Mend it without a branch around a copy, and without another store to shared memory:
# at the edges every thread issues as many cp.async as elsewhere. One more fact: a cp.async has two sizes, the bytes
# that it writes, always 16, and the bytes that it *reads*, 16 or 0; bytes that it does not read are zeros. In CuTe,
# `cute.copy(tiled_copy, source, target, pred=inside)` sets the second size. `inside` is a tensor of `cutlass.Boolean`
# in registers, `cute.make_rmem_tensor(shape, type)`, of shape (1, rows, vectors), like notebook 05's predicates.
# Without a decorator, Python's own `for` and `range` unroll the loops.


# %%
def load(path, k_tile, buffer):
    source, target = path.source[None, None, None, k_tile], path.target[None, None, None, buffer]
    if path.places is None:
        cute.copy(path.tiled_copy, source, target)
        return
    ### BEGIN SOLUTION (about 6 lines)
    rows, vectors = cute.size(target, mode=[1]), cute.size(target, mode=[2])
    inside = cute.make_rmem_tensor((1, rows, vectors), cutlass.Boolean)
    for row in range(rows):
        for vector in range(vectors):
            inside[0, row, vector] = cute.elem_less(path.places[0, row, vector, k_tile], path.limit)
    cute.copy(path.tiled_copy, source, target, pred=inside)
    ### END SOLUTION


# %%
check("10.6", load)

# %% [markdown]
# At the edges the colleague's shared memory kept what it had. Rows beyond M and N reach only accumulators that are
# never stored; but what is left along K is multiplied into *every* element of C. Zeros add nothing.


# %%
class MyCopies(GlobalToShared):
    load = load


# %% [markdown]
# ## Multiply: who multiplies what
#
# A **tiled MMA** arranges warps over the tile, here 2×2, and says how much of the tile all warps cover before the
# pattern repeats. The left picture is one pattern, and C's tile of 128×128 repeats it (right). The numbers are warps, V
# is a thread's value. CuTe lays the warps side by side, an atom each, and repeats them until the pattern is full:

# %%
pattern = "((4,8,2,2),((2,2),(1,2))):((64,1,16,256),((32,8),(0,512)))"  # (thread, value) → place in 32×32
show_warps(pattern, (32, 32), (128, 128))

# %% [markdown]
# **Exercise 10.7** (about 2 lines). Write `make_mma(config, dtype)`: this pattern for any `config.warps`, a pair (along
# M, along N), with one warp along K. `cute.make_tiled_mma(op, warps, permutation_mnk=(…, …, …))` takes a layout of the
# warps, of three modes, and the pattern's extent along M, N and K. How many atoms of C does each warp have in the
# left picture, and why not one?


# %%
from cutlass.cute.nvgpu import warp


# %%
def make_mma(config, dtype):
    op = warp.MmaF16BF16Op(dtype, cutlass.Float32, (16, 8, 16))
    ### BEGIN SOLUTION (about 2 lines)
    m, n = config.warps
    return cute.make_tiled_mma(op, cute.make_layout((m, n, 1)), permutation_mnk=(16 * m, 16 * n, 16))
    ### END SOLUTION


# %%
check("10.7", make_mma)

# %% [markdown]
# Two atoms along N for each warp: then the operands of both are 16 rows of B, which one `ldmatrix.x4` brings.
#
# ## Fetch: two views of the same registers
#
# The MMA reads a thread's registers as (values of an atom, atoms, K blocks). `ldmatrix` fills them as (values that one
# instruction brings, instructions, K blocks). An `Operand` has both views, `tCrX` and `tXrX`, the part of shared memory
# `tXsX`, and the copy between them; X stands for A or B:

# %%
show_source(Operand)

# %% [markdown]
# The functions that make them, for A; those for B end in `_B`:
#
# | | |
# |---|---|
# | `tiled_mma.get_slice(thread).partition_A(sA)` | the part of sA that this thread's MMAs read |
# | `tiled_mma.make_fragment_A(part)` | registers for such a part |
# | `warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=n)` | ldmatrix of n 8×8 matrices |
# | `cute.make_tiled_copy_A(atom, tiled_mma)` | the copy with which ldmatrix loads A for this MMA |
# | `copy.get_slice(thread).partition_S(sA)` | the part of sA whose addresses this thread supplies |
# | `copy.get_slice(thread).retile(registers)` | the copy's view of registers that exist |
#
# A colleague's version compiles:


# %%
def operands_apart(tiled_mma, thread, sA, sB):
    math = tiled_mma.get_slice(thread)
    tCrA = tiled_mma.make_fragment_A(math.partition_A(sA)[None, None, None, 0])  # registers for one buffer
    tCrB = tiled_mma.make_fragment_B(math.partition_B(sB)[None, None, None, 0])
    ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=2), sA.element_type)
    s2r_a = cute.make_tiled_copy_A(ldmatrix, tiled_mma)
    s2r_b = cute.make_tiled_copy_B(ldmatrix, tiled_mma)
    a, b = s2r_a.get_slice(thread), s2r_b.get_slice(thread)
    tXrA, tXrB = (cute.make_fragment_like(one[None, None, None, 0]) for one in (a.partition_S(sA), b.partition_S(sB)))
    rA = Operand(tCrA, s2r_a, a.partition_S(sA), tXrA)
    rB = Operand(tCrB, s2r_b, b.partition_S(sB), tXrB)
    return rA, rB


picture = explain("10.8", operands_apart)

# %% [markdown]
# **Exercise 10.8** (about 10 lines). Write `make_operands`, its mended twin. The report names one fault. The other
# costs time only: one ldmatrix for each 16×16 of A, and of B, is enough.


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
check("10.8", make_operands)

# %% [markdown]
# **Predict** both views of B for one K block. A thread has eight atoms of 8 columns; how many elements does it hold for
# each, and how many does one ldmatrix.x4 bring?


# %%
from contextlib import suppress


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
# For B, eight atoms of four elements are four ldmatrix of eight, in the same registers.
#
# **Exercise 10.9** (about 4 lines). Write `fetch(steps, k_block, buffer)`, which loads one K block of both operands,
# `steps.rA` and `steps.rB`, and `multiply(steps, k_block)`, which adds its product to the accumulators, `steps.tCrC`.
# Each K block has registers of its own. At hand:
#
# | | |
# |---|---|
# | `cute.copy(tiled_copy, source, target)` | an ldmatrix for each 16×16 of the slice that you give it |
# | `cute.gemm(tiled_mma, D, A, B, C)` | D = A · B + C: an mma.sync for every pair of an atom of A and an atom of B |


# %%
def fetch(steps, k_block, buffer):
    ### BEGIN SOLUTION (about 2 lines)
    for r in (steps.rA, steps.rB):
        cute.copy(r.s2r, r.tXsX[None, None, k_block, buffer], r.tXrX[None, None, k_block])
    ### END SOLUTION


def multiply(steps, k_block):
    ### BEGIN SOLUTION (about 2 lines)
    a, b = steps.rA.tCrX[None, None, k_block], steps.rB.tCrX[None, None, k_block]
    cute.gemm(steps.tiled_mma, steps.tCrC, a, b, steps.tCrC)
    ### END SOLUTION


fetch_and_multiply = fetch, multiply

# %%
check("10.9", fetch_and_multiply)

# %% [markdown]
# The main loop calls them as methods of a `Steps`, which holds a thread's share of everything. Yours has your methods:

# %%
show_source(Steps)


# %%
class MySteps(Steps):
    fetch, multiply = fetch, multiply


# %% [markdown]
# ## Permute the view, not the data
#
# A lane has two neighboring accumulators, 4 bytes of bf16. A warp's store therefore writes 16 bytes in each of 8 rows,
# half a sector of 32 bytes, and takes four instructions where one store of 128 bits would do. The lane's *next* two
# accumulators are in its warp's next atom, 16 columns further on. Here are 64 columns of one row of C, as the MMA
# distributes them (T64 is lane 0 of warp 2; a0 to a3 are a warp's atoms along the row):

# %%
show_columns(("value", "lane", "warp", "atom"))

# %% [markdown]
# The usual remedy exchanges data through shared memory or by shuffles. Another costs nothing. We may choose
# **which** columns of B a lane multiplies, as long as its results go to the same columns of C. So permute the columns
# that the MMA sees, and store C under the same permutation: `cute.composition(gB, (columns, None, None))`.
#
# Write the MMA's column as digits, the fastest first: *value* (2 in a lane), *lane* (4 in a row), *warp* (the warps
# along N), *atom* (4 that become one vector) and *rest* (how often all of that repeats in the tile). The layout maps
# these digits to a column in memory.
#
# **Exercise 10.10** (about 2 lines). Write `columns(warps, tile_n)`: the layout, `cute.make_layout(shape, stride=…)`,
# of shape `(2, 4, warps, 4, tile_n // (32 * warps))`. Find the strides from two demands: a lane's values in four
# consecutive atoms are eight neighbors, and one store of all lanes writes whole sectors.


# %%
def columns(warps, tile_n):
    ### BEGIN SOLUTION (about 2 lines)
    shape = (2, 4, warps, 4, tile_n // (32 * warps))
    return cute.make_layout(shape, stride=(1, 8, 32, 2, 32 * warps))
    ### END SOLUTION


# %%
check("10.10", columns)

# %%
show_columns(("value", "lane", "warp", "atom"), ("value", "atom", "lane", "warp"))

# %% [markdown]
# The lower row is the permuted one. Look at the line of `st.global`, and at the number of warp instructions, first
# without your columns, then with them:

# %%
picture = explain(
    make_gemm(config, course.single_buffer, columns=lambda config: cute.make_layout(config.tile[1])), a, b, c
)

# %%
picture = explain(
    make_gemm(config, course.single_buffer, columns=lambda config: columns(config.warps[1], config.tile[1])), a, b, c
)

# %% [markdown]
# Half the sectors of C, in fewer instructions: only two layouts changed.
#
# ## The write-back
#
# An **epilogue** turns accumulators into C. It gets an `Accumulators`, `acc`, for one thread:

# %%
show_source(Accumulators)

# %% [markdown]
# Under the permuted view, eight neighbors in C are `eight = ((None, row), m, (None, n))`: the two columns of a lane in
# four atoms. `acc.tCrC[eight]` are their accumulators, of shape (2, 4), and `acc.tCgC[eight]` their places in C.
#
# **Exercise 10.11** (about 4 lines). Store the eight, already rounded, inside C and nowhere else: where C's rows start
# at multiples of 16 bytes (`acc.aligned`), by one comparison and one store of 16 bytes. Where they do not,
# `store_elements(rounded, target, coordinates, shape)` compares and stores them one by one. At hand:
#
# | | |
# |---|---|
# | `cutlass.const_expr(condition)` | for an `if` that the compiler decides |
# | `cute.autovec_copy(source, target)` | a copy as wide as alignment and contiguity allow |


# %%
@cute.jit
def store(acc: Accumulators):
    (_, rows), atoms, (_, rest) = acc.tCrC.shape
    for m in cutlass.range_constexpr(atoms):
        for row in cutlass.range_constexpr(rows):
            for n in cutlass.range_constexpr(rest):
                eight = ((None, row), m, (None, n))
                rounded = cute.make_rmem_tensor((2, 4), acc.tCgC.element_type)
                rounded.store(acc.tCrC[eight].load().to(acc.tCgC.element_type))
                ### BEGIN SOLUTION (about 4 lines)
                if cutlass.const_expr(not acc.aligned):
                    store_elements(rounded, acc.tCgC[eight], acc.coordinates[eight], acc.shape)
                elif cute.elem_less(acc.coordinates[(0, row), m, (0, n)], acc.shape):
                    cute.autovec_copy(rounded, acc.tCgC[eight])
                ### END SOLUTION


# %%
check("10.11", store)

# %% [markdown]
# ## One tile's way
#
# Here are the first 16 rows of A's tile, on their way through your parts. Thread T copies one of these cells, V0. The
# outline is one K block:

# %%
vectors = Layout(((8, 16), 1), ((16, 1), 0))  # thread → 16 bytes of a row
moved = compose(Swizzle(3, 0, -4), vectors)  # S < 0: lower bits, the row's, XORed into upper ones
k_block = [(row, chunk) for row in range(16) for chunk in (0, 1)]
show_tvs(
    {
        "gA (128, 64, k_tiles), in global memory\nT copies a cell: 16 bytes, one cp.async": vectors,
        "sA (128, 64, 1), in shared memory, swizzled\na row of cells is all 32 banks": moved,
    },
    (16, 8),
    outlined=[k_block, [(row, chunk ^ row % 8) for row, chunk in k_block]],
    largest=30,
)

# %% [markdown]
# `ldmatrix` reads the outlined K block into the registers of a warp. Here V0 to V3 are a lane's four registers, of two
# elements each. The MMA adds its products to accumulators, and at the end each lane rounds its own and, under 10.10's
# permutation, stores them as vectors of eight neighbors in C:

# %%
show_tvs(
    {
        "tCrA (8, 4, 4), in registers of warp 0\na cell is a register, two elements": "((4,8),(2,2)):((16,1),(8,64))",
        "tCgC ((2, 2), 4, (4, 2)), in global memory\na cell is 16 bytes; hatched: other warps": "((4,8),2):((16,1),8)",
    },
    (16, 8),
    largest=30,
)

# %% [markdown]
# ## Your kernel, from an empty cell
#
# **Exercise 10.12** (about 45 lines). Write `gemm(a, b, c)`: a kernel of your parts, and its `@cute.jit` host function,
# which launches one block for each tile of a `GemmConfig()`. C is right at all sizes, also where no tile divides them
# (K and N are multiples of 8). At most two barriers for each K tile; cp.async of 16 bytes; no bank conflict; B's rows
# and C's columns in the order of your `columns`, so that stores fill whole sectors; nothing copied, fetched or stored
# twice; no spill.
#
# What a thread needs, for A; B and C are alike:
#
# - its block's tile: `cute.arch.block_idx()` is three numbers, `config.grid(*mC.shape)` the number of tiles down and
#   across, and `config.tile` is (bM, bN, bK);
# - `gA` (bM, bK, k_tiles): `cute.local_tile(mA, (bM, bK), (m, None))` cuts mA, and keeps all tiles along K;
# - permuted rows: `cute.composition(gB, (order, None, None))`; C's columns, `(None, order)`; cB and cC alike;
# - `cA`, the coordinates of gA: the same cut of `cute.make_identity_tensor(mA.shape)`;
# - `sA`: `SmemAllocator().allocate_tensor(dtype, layout, byte_alignment=128)`, with `config.stages` buffers. One
#   allocator serves both operands;
# - A's path: `MyCopies(g2s, source, target, places, limit)`. The thread's slice of your TiledCopy has
#   `partition_S(gA)`, `partition_D(sA)` and `partition_S(cA)`; the limit is `mA.shape`. Both places and limit are None
#   where the tile divides the matrix, along the rows and along K;
# - accumulators: `tCgC = math.partition_C(permuted)`, gC's permuted view, where `math` is the thread's slice of the
#   TiledMma, and `tiled_mma.make_fragment_C(tCgC)`, filled by `.fill(0.0)`;
# - for the main loop, `MySteps(k_tiles, a, b, rA, rB, tiled_mma, tCrC)`; the number of K tiles is `cute.size(gA,
#   mode=[2])`;
# - for the epilogue, `Accumulators(tCrC, tCgC, coordinates, gC, mC.shape, config, math)`, with gC in the order of
#   memory; `math` partitions cC's permuted view, too.
#
# The configuration is an argument of the kernel, `config: cutlass.Constexpr`. The host calls
# `kernel(…).launch(grid=(x, y, z), block=(threads, 1, 1))`. A GPU also times it at 4096³, beside cuBLAS.


# %%
from cutlass.memory import SmemAllocator


# %%
# gemm(a, b, c): a (M, K), b (N, K), c (M, N), all row-major bf16.
### BEGIN SOLUTION (about 40 lines)
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
    gC = cute.local_tile(mC, (bM, bN), (m, n))  # (bM, bN)
    cA, cB, cC = (cute.make_identity_tensor(matrix.shape) for matrix in (mA, mB, mC))
    cA = cute.local_tile(cA, (bM, bK), (m, None))
    cB = cute.composition(cute.local_tile(cB, (bN, bK), (n, None)), (order, None, None))
    cC = cute.composition(cute.local_tile(cC, (bM, bN), (m, n)), (None, order))

    memory = SmemAllocator()
    sA = memory.allocate_tensor(dtype, smem_layout(bM, bK, config.stages), byte_alignment=128)
    sB = memory.allocate_tensor(dtype, smem_layout(bN, bK, config.stages), byte_alignment=128)

    g2s = make_copy_g2s(config, dtype)
    copies = g2s.get_slice(thread)

    def inside(matrix, rows, c):  # the places to compare, and with what; None where tiles are whole
        whole = matrix.shape[0] % rows == 0 and matrix.shape[1] % bK == 0
        return (None, None) if whole else (copies.partition_S(c), matrix.shape)

    a = MyCopies(g2s, copies.partition_S(gA), copies.partition_D(sA), *inside(mA, bM, cA))
    b = MyCopies(g2s, copies.partition_S(gB), copies.partition_D(sB), *inside(mB, bN, cB))

    tiled_mma = make_mma(config, dtype)
    math = tiled_mma.get_slice(thread)
    tCgC = math.partition_C(cute.composition(gC, (None, order)))
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
check("10.12", gemm)

# %% [markdown]
# The next pages use the course's `make_gemm(config, main_loop, order)`: the same kernel, with parts as arguments.

# %% [markdown]
# ## What the compiler made of it
#
# The PTX has this many of each instruction. Everything inside the loop over K tiles is unrolled.

# %%
SQUARE = [TensorSpec((4096, 4096), "bf16")] * 3
with suppress(NotImplementedError):  # until you have written gemm
    compiled = compile_cute(gemm, SQUARE)
    print(compiled)
    print(counts(compiled.ptx))

# %% [markdown]
# A warp has 64×64 of C: 4×8 mmas in each of four K blocks. Here is the order:

# %%
with suppress(NotImplementedError):
    print(story(compile_cute(gemm, SQUARE).ptx))

# %% [markdown]
# ## The ladder so far
#
# Measured beside cuBLAS in the same run:

# %%
show_ladder("10")

# %%
show_figure("gemm_ladder_10")

# %% [markdown]
# Notebook 12 explains the dip at 3072. On an **A100** cuBLAS uses mma.sync as well; Schreiber's first kernel is
# published there at 101% of cuBLAS at 2048³. On a **Hopper** GPU cuBLAS uses WGMMA, which reads its operands from
# shared memory. mma.sync cannot keep up: a kernel of mma.sync alone, on registers that nothing fills anew, ends at the
# red dotted line (623 TFLOP/s, measured). There the fair comparison is with that line.
#
# Where do the 350 µs of an H200 go?

# %%
print(f"mma.sync alone: {2 * 4096**3 / 623e6:.0f} µs")
with suppress(NotImplementedError):
    loaded = loaded_bytes(4096, 4096, 4096, *config.tile[:2])
    print(f"all blocks load {loaded / 1e9:.2f} GB: in 350 µs {loaded / 350e6:.1f} TB/s; memory has 4.8")

# %% [markdown]
# So L2 serves part of the loads, and the tensor cores idle over a third of the time, probably awaiting loads. The
# next page lets the two overlap.
#
# ## What to remember
#
# - Most parts of a GEMM are layouts: of shared memory, of threads and warps over a tile, of registers.
# - The same registers have two views: `cute.copy` fills ldmatrix's, `cute.gemm` takes the MMA's.
# - A barrier has two sides, *the data has arrived* and *the buffer is free*; a loop with one buffer needs both.
# - To bring data to another lane, first ask whether a permuted view would do.
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

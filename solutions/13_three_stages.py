# ---
# jupyter:
#   tutorlib:
#     minutes: 75
#     appendix: 15
#     summary: A main loop for any number of stages, what a stage costs and where it pays, and a column-major A.
# ---

# %% [markdown]
# # 13 · Three stages, or more?
#
# With two buffers the next tile has to arrive while this one is multiplied, or the tensor cores stall. A third buffer
# keeps two tiles in flight, so each has twice the time.
#
# > **After this page you can** write a pipeline of any depth, say what a stage costs and where it pays, and bring a
# > column-major operand to the tensor cores.
# >
# > **It takes** about 75 minutes, on any machine: 8 to read, 24 for cells and pictures, 43 for the exercises;
# > its appendix about 15 more. A GPU times the kernels. The end of *Where a stage pays* is a good place to stop.

# %%
import cutlass
import cutlass.cute as cute
import torch

from tutorlib import (
    A100, H100, MEMORY_READ, TO_SMS, TensorSpec, Timeline, blocks_per_sm as fit, check, compile_cute, show_figure,
    show_periods, show_speeds, show_sweep, show_timeline, show_tvs, story,
)  # fmt: skip
from tutorlib.kernels.ampere import GemmConfig, Steps, main_loops as course, make_gemm

# %% [markdown]
# ## The idea, in time
#
# Here a load needs 7 ticks: 6 of latency and 1 of transfer. With `at_once=False` it is issued when a tile's arithmetic
# begins, as in notebook 11. Two buffers give a tile every 7 ticks, three every 3.5, and four every 3, the arithmetic's.

# %%
show_timeline(*(Timeline(n, latency=6, transfer=1, compute=3, tiles=8, at_once=False) for n in (2, 3, 4)))

# %% [markdown]
# ## Counting groups
#
# Tile *k* goes into buffer *k* % STAGES, and the loads run STAGES − 1 tiles ahead. The **prologue** issues the loads of
# tiles 0 … STAGES − 2. Step *k* issues the load of tile *k* + STAGES − 1, multiplies tile *k*, and before its last K
# block waits for tile *k* + 1. `cp_async_wait_group(n)` waits until at most the *n* newest groups are in flight. It
# counts groups, not tiles.
#
# With two stages this is notebook 11's loop:
#
# ```python
# steps.load(0, 0)
# cute.arch.cp_async_commit_group()
# cute.arch.cp_async_wait_group(0)
# cute.arch.sync_threads()
# steps.fetch(0, 0)
# for k_tile in range(steps.k_tiles):
#     if k_tile + 1 < steps.k_tiles:
#         steps.load(k_tile + 1, (k_tile + 1) % 2)
#         cute.arch.cp_async_commit_group()
#     for k_block in cutlass.range_constexpr(steps.k_blocks):
#         if cutlass.const_expr(k_block + 1 < steps.k_blocks):
#             steps.fetch(k_block + 1, k_tile % 2)
#         else:
#             cute.arch.cp_async_wait_group(0)
#             cute.arch.sync_threads()
#             steps.fetch(0, (k_tile + 1) % 2)
#         steps.multiply(k_block)
# ```
#
# **Exercise 13.1** (about 23 lines). Write `multistage(steps)` for any `steps.stages` from 2 on.
#
# - Step *k* issues its load before it multiplies its second K block.
# - Registers are fetched one K block ahead, and there is one barrier a tile. The loop is a plain `range`.
# - It is right for 2, 3, 4 and 5 stages, for two and four K blocks in a tile, and where K has fewer tiles than there
#   are stages. The simulator tries all of these; a GPU times three stages of 128×128×64.


# %%
@cute.jit
def multistage(steps: Steps):
    ### BEGIN SOLUTION (about 23 lines)
    for k_tile in cutlass.range_constexpr(steps.stages - 1):
        if cutlass.const_expr(k_tile < steps.k_tiles):
            steps.load(k_tile, k_tile)
        cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(steps.stages - 2)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    read, write = 0, steps.stages - 1
    for k_tile in range(steps.k_tiles):
        ahead = k_tile + steps.stages - 1
        if ahead < steps.k_tiles:
            steps.load(ahead, write)
        cute.arch.cp_async_commit_group()
        write = read
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 1 < steps.k_blocks):
                steps.fetch(k_block + 1, read)
            else:
                read = (read + 1) % steps.stages
                cute.arch.cp_async_wait_group(steps.stages - 2)
                cute.arch.sync_threads()
                steps.fetch(0, read)
            steps.multiply(k_block)
    ### END SOLUTION


# %%
check("13.1", multistage)

# %% [markdown]
# With three stages, `wait_group(1)` covers tile *k* + 1 only if *one* group was committed after it. So commit in every
# step, also where nothing is left to load: the group is then empty. The loop that [Schreiber
# prints](https://schreibereric.substack.com/p/demystifying-cute-how-to-write-a) commits inside the `if`. With six K
# tiles its step 4 commits nothing, and the wait lets the newest group, tile 5, stay in flight. The result is right only
# if that tile arrives in time.
#
# At 4096³ three stages of 128×128×64 are no faster than two (the figure below). Why, and where do stages pay?
#
# ## The cost of a stage
#
# A stage of 128×128×64 takes 32 KiB of shared memory. When a block needs too much, the SM holds one block fewer, and
# loses warps that could have worked while others wait.
#
# Four things limit the number of blocks: shared memory (each block also loses `sm.reserved` bytes to the system),
# registers, threads, and the number of blocks itself. An SM has `sm.partitions` partitions, each with its
# own scheduler and an equal part of the registers. A warp takes 32 times a thread's registers, rounded up to a multiple
# of `sm.register_unit`, from one partition. The warps of a block may be in any partition.

# %%
print(A100)
print(H100)

# %% [markdown]
# **Exercise 13.2** (about 5 lines). Write `blocks_per_sm(sm, smem_bytes, registers, threads)`: how many blocks one SM
# holds, if each block takes `smem_bytes` bytes of shared memory and has `threads` threads (a multiple of 32), with
# `registers` registers each.


# %%
def blocks_per_sm(sm, smem_bytes, registers, threads):
    ### BEGIN SOLUTION (about 5 lines)
    of_a_warp = -(-32 * registers // sm.register_unit) * sm.register_unit
    warps = sm.registers // sm.partitions // of_a_warp * sm.partitions
    by_shared = sm.shared // (smem_bytes + sm.reserved)
    return min(by_shared, warps // (threads // 32), sm.threads // threads, sm.blocks)
    ### END SOLUTION


# %%
check("13.2", blocks_per_sm)

# %% [markdown]
# The compiler reports the registers; the rest is arithmetic.

# %%
SQUARE = [TensorSpec((4096, 4096), "bf16")] * 3
CONFIGS = [
    GemmConfig((128, 128, 64), (2, 2), 2),
    GemmConfig((128, 128, 64), (2, 2), 3),
    GemmConfig((128, 128, 64), (2, 2), 4),
    GemmConfig((128, 128, 32), (2, 2), 4),
]
print("tile         warps  stages  registers  shared KiB  blocks per SM: A100  H100  warps per SM: A100  H100")
for config in CONFIGS:
    compiled = compile_cute(make_gemm(config, course.multistage), SQUARE)
    on = [fit(sm, config.smem_bytes, compiled.registers, config.threads) for sm in (A100, H100)]
    warps = [blocks * config.threads // 32 for blocks in on]
    print(
        f"{'×'.join(map(str, config.tile)):12} {config.warps!s:6} {config.stages:6} {compiled.registers:10}"
        f"{config.smem_bytes / 1024:12.0f} {on[0]:19} {on[1]:5} {warps[0]:19} {warps[1]:5}"
    )

# %% [markdown]
# With tiles of 128×128, registers allow two blocks. So on an H100, whose SMs are an H200's, a third stage of 128×128×64
# costs nothing; on an A100, with less shared memory, it costs a block. The fourth stage costs an H100 one, too.
#
# ## Where a stage pays
#
# **Predict**: will a third stage of 128×128×64 gain for a C of 1024×1024, whose 64 tiles leave half of the 132 SMs
# idle? The cell prints TFLOP/s:

# %%
show_speeds("gemm_depth")

# %% [markdown]
# The third stage of 128×128×64 gains 65%, from 130 to 214. By the datasheet, 64 SMs reach at most 480 with Hopper's
# instruction, so cuBLAS's 612 uses more of them.
#
# In the first column each of our blocks is alone on its SM. Notebook 11 measured the parts of a K tile of 64. A load
# takes 1,356 cycles, 593 of them transfer, and the arithmetic beside copies 962. After the wait the loop multiplies one
# of four K blocks, 240 cycles, and only then issues the next load. So with two stages a K tile takes 1,356 + 240
# cycles. With more stages, that time is divided by the tiles in flight, but never falls below the arithmetic's. A K
# tile of 32 has half the arithmetic and, we assume, half the transfer.


# %%
def period(block, k_blocks, ahead, delay):
    """Cycles for a K tile, with `ahead` in flight. block: of a K block's arithmetic; delay: of a load."""
    return max(k_blocks * block, (delay + block) / ahead)


show_periods(period)

# %% [markdown]
# *Measured*: from the first column's time, subtract 13,800 cycles for launch, prologue and epilogue, and divide by the
# number of K tiles. Notebook 11's three-buffer kernel gives the 13,800: its total, less 64 times its K tile. (Notebook
# 11 timed 132 blocks, not 64: 1,676 cycles with two stages, 987 with three.) For K tiles of 64 the count is within 8%.
# For those of 32 it is 11% high with two stages and 11% to 16% low with more. Adding the same cycles to every K tile
# cannot mend both, and we do not know the cause.
#
# In the second column K = 256 is only four K tiles of 64. Two stages load one of the four before the loop, three load
# two: the third gains 8% even beside another block. The fourth leaves one block on an SM where there were two.
#
# Now change the tile, at 4096³. Blocks run in raster order, except those of 64×64×64, which run in groups of 8 rows.
# Which rows gain from a third stage?

# %%
show_figure("gemm_stages")

# %% [markdown]
# With K = 32 the third stage gains 25% where two blocks share an SM, and 46% where one is alone. With K = 64 only the
# lone block of 128×256×64 gains much, 14%. The two small tiles gain 1% or nothing: with two stages their 6
# and 4 blocks already keep 6 and 4 tiles in flight. And 128×128×64, the row that we began with? Its two blocks took
# 973 cycles a K tile in notebook 11, where the arithmetic alone takes 925: a third stage had 5% to win.
#
# The framed box, four stages of 128×256×32, is `course.TUNED`, 3% faster than two stages of 128×128×64. cuBLAS is
# faster still, by Hopper's instructions (notebook 14).
#
# ## A column-major A
#
# So far K was contiguous in A. An image is stored as (channels, pixels), one channel after the other. A 1×1
# convolution multiplies each pixel's channels by a weight (out, in): C = Xᵀ · Wᵀ, and Xᵀ, (pixels, channels), has its
# *pixels* contiguous. Its layout is (M, K):(1, M). CuTe calls such an A **M-major**, and the one of the earlier pages
# **K-major**.
#
# Only A's way to the registers changes. Here is the K-major way, for K tiles of 32: layout of the buffers, tiled copy,
# ldmatrix.


# %%
from cutlass.cute.nvgpu import cpasync, warp


def k_major(config, dtype, mma):
    bM, _, bK = config.tile
    past_l1 = cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL)
    cp_async = cute.make_copy_atom(past_l1, dtype, num_bits_per_copy=128)
    threads, values = cute.make_layout((config.threads // 4, 4), stride=(4, 1)), cute.make_layout((1, 8))
    atom = cute.make_composed_layout(cute.make_swizzle(2, 3, 3), 0, cute.make_layout((8, 32), stride=(32, 1)))
    ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), dtype)
    smem = cute.tile_to_shape(atom, (bM, bK, config.stages), (0, 1, 2))
    return smem, cute.make_tiled_copy_tv(cp_async, threads, values), cute.make_tiled_copy_A(ldmatrix, mma)


# %% [markdown]
# A row of 16 bytes in shared memory will have eight *m* of one *k*, and `ldmatrix` would give each lane two m of one k
# in a register (left). But `mma` needs two neighbors along K in a register of A (notebook 10). The variant
# `ldmatrix.trans` exchanges rows and columns while it distributes: a lane gets two k of one m (right).

# %%
show_tvs(
    {
        "ldmatrix: two m of one k in a register": "((4,8),2):((2,8),1)",
        "ldmatrix.trans: two k of one m": "((4,8),2):((16,1),8)",
    },
    (8, 8),
    axes=("m", "k"),
)

# %% [markdown]
# **Exercise 13.3** (about 8 lines). Write `m_major(config, dtype, mma)`, the same for an M-major A. Every cp.async
# copies 16 bytes, each 128 contiguous bytes of A are copied by eight consecutive threads, and `ldmatrix`, which reads
# eight vectors at a time, has no bank conflict. The check runs it in the course's kernel with `course.TUNED` and the
# course's loop of 13.1. A GPU times that at 4096³ beside cuBLAS.


# %%
def m_major(config, dtype, mma):
    ### BEGIN SOLUTION (about 8 lines)
    bM, _, bK = config.tile
    past_l1 = cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL)
    cp_async = cute.make_copy_atom(past_l1, dtype, num_bits_per_copy=128)
    threads, values = cute.make_layout((8, config.threads // 8), stride=(1, 8)), cute.make_layout((8, 1))
    atom = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((64, 8), stride=(1, 64)))
    ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=True, num_matrices=4), dtype)
    smem = cute.tile_to_shape(atom, (bM, bK, config.stages), (0, 1, 2))
    return smem, cute.make_tiled_copy_tv(cp_async, threads, values), cute.make_tiled_copy_A(ldmatrix, mma)
    ### END SOLUTION


# %%
check("13.3", m_major)

# %% [markdown]
# Its instructions beside those for a K-major A, and the speeds of both for two lengths of a K tile:

# %%
for name, order, part in ("K-major", (1, 0), {}), ("M-major", (0, 1), {"a": m_major}):
    specs = TensorSpec((4096, 4096), "bf16", order), *SQUARE[1:]
    print(f"{name}: {story(compile_cute(make_gemm(course.TUNED, course.multistage, **part), specs).ptx)}")
show_sweep("gemm_majors", memory=MEMORY_READ, to_SMs=TO_SMS)

# %% [markdown]
# Both have the same instructions in the same order (`story` leaves out `.trans`), and read as many bytes. With K tiles
# of 32 the M-major A costs 6%, and we do not know why; with K tiles of 64 it costs nothing. So for such an A take
# 128×256×64 with three stages.
#
# ## What to remember
#
# - Commit in every step. Then `wait_group(STAGES − 2)` in step *k* always means: tile *k* + 1 has arrived.
# - Another buffer or another block fills a pause. The two compete for room on the SM.
# - Stages pay where the tiles in flight do not cover the latency: with tiles that are short along K, or with one block
#   on an SM (a small C, a large tile).
# - An M-major operand changes three things: the direction of a copy's vector, the swizzled atom, and `ldmatrix`, which
#   becomes `ldmatrix.trans`.
#
# Next: [notebook 14](14_hopper_gemm.ipynb) loads with TMA and multiplies with Hopper's own instruction.
#
# ## Test yourself
#
# <details><summary>1. Five stages, 3 K tiles. How many groups does the prologue commit, and which wait comes
# first?</summary>
#
# Four, one of them empty. Then `wait_group(3)`: of the four groups the oldest, tile 0, must have arrived.
#
# </details>
#
# <details><summary>2. A block of 256 threads has 226 registers a thread and 96 KiB of shared memory. How many fit on an
# H100's SM, and which limit is it?</summary>
#
# A warp takes 32 · 226 = 7,232 registers, rounded up to 7,424. A partition of 16,384 holds two such warps, the SM
# eight, and the block has eight: one block, by the registers. Shared memory would allow two.
#
# </details>
#
# <details><summary>3. You double the stages, and the kernel gets slower. Name two reasons that you can check without a
# GPU.</summary>
#
# One block fewer fits on an SM: use 13.2's formula. Or a thread needs more registers, and fewer warps fit or the kernel
# spills: the compiler reports both.
#
# </details>

# %% [markdown]
# ## Appendix: The same kernel in C++
#
# CuTe was a C++ library first; most code that uses it is C++.

# %%
from IPython.display import Code

from tutorlib import compile_cuda, simulate_cuda
from tutorlib.kernels.cpp import THREE_STAGES

# %% [markdown]
# ```text
#                   Python, without module names                     C++
# a known number    8                                                Int<8>{}
# a layout          make_layout((8, 64), stride=(64, 1))             make_layout(Shape<_8, _64>{}, Stride<_64, _1>{})
# swizzle           make_composed_layout(swizzle, 0, atom)           composition(swizzle, atom)
# repeat an atom    tile_to_shape(atom, (128, 64, 3), (0, 1, 2))     tile_to_shape(atom, Shape<_128, _64, _3>{})
# parameters        typed arguments, Constexpr                       template <class SmemLayoutA, …> __global__
# the block's tile  local_tile(mA, (128, 64), (m, None))             local_tile(mA, tiler, make_coord(m, _))
# pick from a mode  tAgA[None, None, None, k_tile]                   tAgA(_, _, _, k_tile)
# a thread's share  copy.get_slice(thread).partition_S(gA)           copy.get_slice(threadIdx.x).partition_S(gA)
# shared memory     SmemAllocator().allocate_tensor(…)               make_tensor(make_smem_ptr(p), layout)
# cp.async          CopyG2SOp(cache_mode=LoadCacheMode.GLOBAL)       SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>
# ldmatrix          LdMatrix8x8x16bOp(num_matrices=4)                SM75_U32x4_LDSM_N
# mma               MmaF16BF16Op(BFloat16, Float32, (16, 8, 16))     SM80_16x8x16_F32BF16BF16F32_TN
# ldmatrix for mma  make_tiled_copy_A(atom, tiled_mma)               make_tiled_copy_A(atom, tiled_mma)
# copy, multiply    copy(…), gemm(mma, d, a, b, c)                   copy(…), gemm(mma, a, b, c)
# commit, wait      cp_async_commit_group(), cp_async_wait_group(1)  cp_async_fence(), cp_async_wait<1>()
# barrier           sync_threads()                                   __syncthreads()
# unrolled loop     for k in cutlass.range_constexpr(4)              #pragma unroll, or CUTE_UNROLL
# known condition   if cutlass.const_expr(…)                         if constexpr (…)
# ```
#
# C++ with CuTe needs CUTLASS's headers, which this course does not install. So here is the kernel in plain CUDA C++,
# for tiles of 128×128×32 in three stages: `place` is the swizzle, and the loop is 13.1's, step by step. A warp has
# 64×64 of C in one piece, so `column` is 10.3's `columns(1, 128)`.

# %%
Code(THREE_STAGES.source, language="cpp")

# %% [markdown]
# nvcc compiles it. The cell prints the sequence of its instructions beside that of the Python twin, and its error at a
# small size, simulated:

# %%
twin = make_gemm(GemmConfig(THREE_STAGES.tile, (2, 2), THREE_STAGES.stages), course.multistage)
print("Python:", story(compile_cute(twin, SQUARE).ptx))
print("C++:   ", story(compile_cuda(THREE_STAGES.source)))
m, n, k = shape = (128, 128, 160)
a, b = (torch.randn(rows, k).bfloat16() for rows in (m, n))
c = torch.full((m, n), torch.nan).bfloat16()
launched = {"a": a, "b": b, "c": c, "m": m, "n": n, "k": k}
report = simulate_cuda(
    THREE_STAGES.source, THREE_STAGES.grid(shape), (THREE_STAGES.threads, 1, 1), launched, THREE_STAGES.smem_bytes
)
print("largest error:", (c.float() - a.float() @ b.float().mT).abs().max().item(), "findings:", len(report.findings))

# %% [markdown]
# The error is that of rounding C to bf16. Two things to watch:
#
# - `None` keeps a mode here. In NumPy an index `None` *adds* one.
# - In C++ a number in a layout is known at compile time because its *type* says so; in Python, because it is a Python
#   number.

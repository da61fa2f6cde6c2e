# ---
# jupyter:
#   tutorlib:
#     minutes: 130
#     appendix: 15
#     summary: A main loop for any number of stages, what a stage costs, and a kernel of your own for a column-major A.
# ---

# %% [markdown]
# # 13 · Three stages, or more?
#
# With two buffers the next tile has to arrive while this one is multiplied. If memory is slower, the tensor cores
# stall. A third buffer keeps two tiles in flight, so each has twice the time.
#
# > **After this page you can** write a pipeline of any depth, say what a stage costs and where it pays, rule out slow
# > configurations by arithmetic, and write a tensor-core GEMM for a column-major operand.
# >
# > **It takes** about 130 minutes, on any machine, 55 of them for the second half; its appendix about 15 more. A GPU
# > times the kernels.

# %%
from dataclasses import dataclass

import cutlass
import cutlass.cute as cute
import torch

from tutorlib import (
    A100, H100, TensorSpec, Timeline, blocks_per_sm as fit, check, compile_cute, explain, l2, show_beside, show_figure,
    show_ladder, show_source, show_speeds, show_timeline, show_tvs, story,
)  # fmt: skip
from tutorlib.kernels.ampere import GemmConfig, Steps, main_loops as course, make_gemm

# %% [markdown]
# ## The idea, in time
#
# A memory with a long latency, and two, three and four buffers with one barrier a tile. Follow tile 4 from its first
# dot to its use.

# %%
show_timeline(*(Timeline(n, latency=6, transfer=1, compute=3, tiles=8, at_once=False) for n in (2, 3, 4)))

# %% [markdown]
# ## Counting groups
#
# Tile *k* goes into buffer *k* % STAGES, and the loads run STAGES − 1 tiles ahead. The **prologue** issues the loads of
# tiles 0 … STAGES − 2. Step *k* issues and commits the loads of tile *k* + STAGES − 1, multiplies tile *k*, and before
# the last K block waits for tile *k* + 1, as in notebook 11.
#
# `cp_async_wait_group(n)` waits until at most the *n* newest groups are in flight. It counts groups, not tiles. How
# many may stay in flight at that wait? As many as were committed after the group of tile *k* + 1.
#
# Here is a step for three stages, with the commit where the listing in Schreiber's article has it. The results are
# right as long as the last tile happens to arrive in time:
#
# ```python
# for k_tile in range(k_tiles):
#     if k_tile + 2 < k_tiles:
#         load(k_tile + 2, (k_tile + 2) % 3)
#         cp_async_commit_group()
#     ...                                  # fetch and multiply all K blocks of tile k but the last
#     cp_async_wait_group(1)               # tile k + 1 must have arrived
#     sync_threads()
#     ...                                  # fetch block 0 of tile k + 1, multiply the last K block
# ```
#
# **Predict:** with six K tiles, which tile may it multiply before it has arrived?
#
# <details><summary>Which tile?</summary>
#
# The last one, tile 5. Step 4 loads nothing and commits nothing, so the newest group at its wait is tile 5 itself, and
# wait_group(1) lets it stay in flight.
#
# </details>
#
# **Exercise 13.1** (about 23 lines). Write `multistage(steps)` for any `steps.stages` from 2 on, with the calls of
# notebook 11.
#
# - From the second K block of a tile on, the loads of the STAGES − 1 next tiles are in flight, near the end of K as far
#   as tiles are left.
# - Registers are fetched one K block ahead, as in 11.3, and there is one barrier a tile. The loop is a plain `range`.
# - It is right for 2, 3, 4 and 5 stages, for two and four K blocks in a tile, and where K has fewer tiles than there
#   are stages. The simulator tries all of these.
#
# How many groups must have been committed before each wait, so that one number fits every step? Write yours before you
# read on; a variant follows.


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
# One group is committed in *every* step, also where nothing was left to load. Then the newest STAGES − 2 groups are
# always those after tile *k* + 1. In the PTX, the operand of `cp.async.wait_group` shows the depth:

# %%
SQUARE = [TensorSpec((4096, 4096), "bf16")] * 3
for stages in (2, 3, 4):
    compiled = compile_cute(make_gemm(GemmConfig((128, 128, 32), stages=stages), course.multistage), SQUARE)
    waits = [line.split()[-1].rstrip(";") for line in compiled.ptx.splitlines() if "cp.async.wait_group" in line]
    print(f"{stages} stages: wait_group {', '.join(waits)}; {compiled}")

# %% [markdown]
# A small block with three stages and eight K tiles, simulated. Find the prologue: two tiles (C) in two groups (c), one
# wait (w), the barrier (|) and the first fetch (R). Which steps load nothing, and do they commit a group? The last
# fetch, from tile 5 in buffer 2, is not used.

# %%
a, b = (torch.randn(64, 256).bfloat16() for _ in range(2))
c = torch.zeros(64, 64).bfloat16()
explain(make_gemm(GemmConfig((64, 64, 32), stages=3), course.multistage), a, b, c, banks=False)

# %% [markdown]
# The speed of this step, with three stages of 128×128×64, beside notebook 11's loop:

# %%
show_ladder("11.3", "13.1")

# %% [markdown]
# No gain. Why, and where do stages pay?
#
# ## The cost of a stage
#
# A stage of 128×128×64 takes 32 KiB of shared memory, and an SM has a fixed amount for all of its blocks together. When
# a block's share passes a threshold, the SM holds one block fewer, and loses warps that could have worked while others
# wait.
#
# Four things limit the number of blocks: shared memory (each block also loses `sm.reserved` bytes to the system);
# registers; the number of threads; and the number of blocks itself. An SM has `sm.partitions` partitions, each with its
# own scheduler and an equal part of the registers. A warp runs in one partition, which gives it 32 times the registers
# of a thread, rounded up to a multiple of the allocation unit, `sm.register_unit`. The warps of a block may be in any
# partition.

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
# Now the configurations. The compiler reports the registers; the rest is arithmetic. Which limit applies where?

# %%
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
# With tiles of 128×128, registers allow two blocks. So on an H100 a third stage of 128×128×64 costs nothing; on an
# A100, with less shared memory, it costs a block. The fourth stage costs an H100 one, too.
#
# ## Where a stage pays
#
# **Predict**, from this table and the purpose of a stage: what fills the pause while a block waits for its tile? At
# 4096³ the third stage of 128×128×64 gained nothing. Will it where C is 1024×1024 and has 64 tiles, and the GPU 132
# SMs? In TFLOP/s:

# %%
show_speeds("gemm_depth")

# %% [markdown]
# In the first column 64 tiles leave each block alone on its SM, and the third stage of 128×128×64 makes it 1.6 times as
# fast. (cuBLAS splits K there, notebook 08.) At 4096³ the *other block* on the SM fills the pause.
#
# In the second column K is only four tiles of 64. Two stages load one of the four before the loop, three load two: so
# the third pays a little even beside another block. The fourth costs a block: one runs on an SM where there were two. A
# tile of K = 32 is multiplied in half the time, so the same number of stages bridges half the latency, and the fourth
# pays.
#
# **A pause is filled by another tile of your own, or by another block.** They compete for the SM: the first costs
# buffers, the second registers, too.
#
# ## What arithmetic rules out
#
# Stages, tile and warps depend on each other: a larger tile needs fewer bytes for its arithmetic, more warps for its
# accumulators, and more shared memory for each stage. Here is the course's loop at 4096³. The second line in a box is
# warps × blocks on an SM.

# %%
show_figure("gemm_stages")

# %% [markdown]
# A configuration that spills is out. Five numbers rule out others, and all five are known before you measure:
#
# | | by | out below | for instance, and its TFLOP/s |
# |---|---|---|---|
# | KiB in flight on an SM while a tile is multiplied | 13.2, stages, tile | 48 | 128×256×32, 2 stages: 24, 324 |
# | K tiles in flight on an SM | 13.2, stages | 2 | 128×256×64, 2 stages: 1, 420 |
# | warps on an SM | 13.2 | 8 | 128×128×64, 4 stages: 4, 440 |
# | FLOP for each byte of shared-memory traffic | the tile and the warps | 20 | 128×64×64, 3 stages: 14, 391 |
# | `busy`, the share of time with useful work | 12.3 | 0.85 | 128×256 at 3072³: 0.73 |
#
# The traffic of a K tile: its elements are written once; then all warps along N read each row of A, and all warps along
# M each row of B. Tiles of 128×128 on 2×2 warps have 21 FLOP for each byte, those of 128×256 on 2×4 have 23.
#
# At 4096³ ten boxes pass. They are within 6% of each other, and each box that is ruled out is slower than all of them.
# That proves little, because the limits were read from these boxes. **Predict**, for two sizes that they were not
# read from: at 2048³ `busy` is 0.97 for both large tiles; at 3072³ 128×256 has 0.73, and 128×128 has 0.87. Which boxes
# are fastest?

# %%
show_speeds("gemm_unfitted")

# %% [markdown]
# At 2048³ the limits hold: the ten boxes that pass are the ten fastest. At 3072³ tiles of 128×256 fall to 0.85 of the
# fastest box, as `busy` says. But boxes that pass have 362 to 411 TFLOP/s, and four that are ruled out have 378 to 397.
# The fastest of these, 128×64×64, has only 14 FLOP for each byte, but a `busy` of 0.97. A limit on each number alone
# cannot see that one makes up for another. **Arithmetic rules out most that is slow; the fastest of the rest is found
# by measuring.**
#
# **Exercise 13.3** (about 4 lines). Write `tuned(rows, columns)`, which returns a `GemmConfig(tile, warps, stages)` for
# a C of this size on 132 SMs: one that no number rules out. Where any with at least 23 FLOP for each byte pass, return
# one of these. The check compiles what you return for 4096², for 3072² and for 2048×3072, and names the first number
# that rules it out. A GPU also times it at 4096³; the last point takes 98% of the course's speed.


# %%
def tuned(rows, columns):
    ### BEGIN SOLUTION (about 4 lines)
    wide, square = GemmConfig((128, 256, 32), (2, 4), 4), GemmConfig((128, 128, 64), (2, 2), 3)
    down, across = wide.grid(rows, columns)
    waves = down * across / 132
    return wide if waves / -(-waves // 1) >= 0.85 else square
    ### END SOLUTION


# %%
check("13.3", tuned)

# %%
show_ladder("13.1", "13.3")

# %% [markdown]
# ## Your rung: the same loads, in another place
#
# In 13.1 a step begins with all copies of a tile, inside an `if`. A branch ends a *basic block*, the unit in which a
# compiler schedules. Here is the loop without the `if`: where no tile is left, the last one is loaded again, into a
# buffer that is free, and no step reads it. **Predict**: does that make it faster?


# %%
def in_groups(block, rows, across):  # or yours of 12.1
    return l2.grouped(block, rows, across, 8 if rows > 32 else rows)


# %%
@cute.jit
def without_branch(steps: Steps):
    for k_tile in cutlass.range_constexpr(steps.stages - 1):
        if cutlass.const_expr(k_tile < steps.k_tiles):
            steps.load(k_tile, k_tile)
        cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(steps.stages - 2)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    read, write = 0, steps.stages - 1
    for k_tile in range(steps.k_tiles):
        steps.load(cutlass.min(k_tile + steps.stages - 1, steps.k_tiles - 1), write)
        cute.arch.cp_async_commit_group()
        write = read
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 1 == steps.k_blocks):
                read = (read + 1) % steps.stages
                cute.arch.cp_async_wait_group(steps.stages - 2)
                cute.arch.sync_threads()
            steps.fetch((k_block + 1) % steps.k_blocks, read)
            steps.multiply(k_block)
    cute.arch.cp_async_wait_group(0)


loops = {"13.1": course.multistage, "13.1 without its branch": without_branch, "13.4": course.loads_spread}
kernels = {name: make_gemm(course.TUNED, loop, in_groups) for name, loop in loops.items()}
for name in list(kernels)[:2]:
    print(f"{name}: {story(compile_cute(kernels[name], SQUARE).ptx)}")

# %% [markdown]
# It is 2% slower (the table below 13.4); `story` does not show why. It shows what delays both: 6 `cp.async` and 8
# `ldmatrix` come between the last mma of a tile and the first of the next. A warp issues in order, all fourteen before
# that mma.
#
# **Exercise 13.4** (about 25 lines, three of which move). Write `loads_moved(steps)`, this loop with the copies where
# the tensor cores have work in the meantime: in each step only `ldmatrix` comes before the first mma, all copies are
# issued before the barrier, and there is no branch among them. It is right where K has fewer tiles than there are
# stages. A GPU times it at 4096³, in the order of 12.1: the last point takes 97% of the course's speed.


# %%
@cute.jit
def loads_moved(steps: Steps):
    ### BEGIN SOLUTION (about 25 lines)
    for k_tile in cutlass.range_constexpr(steps.stages - 1):
        if cutlass.const_expr(k_tile < steps.k_tiles):
            steps.load(k_tile, k_tile)
        cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(steps.stages - 2)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    read, write = 0, steps.stages - 1
    for k_tile in range(steps.k_tiles):
        ahead = cutlass.min(k_tile + steps.stages - 1, steps.k_tiles - 1)
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 1 < steps.k_blocks):
                steps.fetch(k_block + 1, read)
            else:
                read = (read + 1) % steps.stages
                cute.arch.cp_async_wait_group(steps.stages - 2)
                cute.arch.sync_threads()
                steps.fetch(0, read)
            steps.multiply(k_block)
            if cutlass.const_expr(k_block == 0):
                steps.load(ahead, write)
                cute.arch.cp_async_commit_group()
                write = read
    cute.arch.cp_async_wait_group(0)
    ### END SOLUTION


@cute.jit
def my_gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    make_gemm(tuned(4096, 4096), loads_moved, in_groups)(a, b, c)


# %%
check("13.4", my_gemm)

# %%
show_ladder("13.3", "13.4")

# %%
show_beside(kernels, sizes=(4096, 8192))

# %% [markdown]
# Without its branch the loop loses 2%; from there, the place of the copies gains 6%. (The row *13.4* is the course's
# `loads_spread`, which equals your loop where a tile has two K blocks.)
#
# At 4096³ *13.4* takes 273 µs. The same work by mma.sync alone, on operands that stay in registers, takes 228 (notebook
# 14): the rest is `ldmatrix`, copies and barriers.
#
# In the figure *13 loads spread* is such a loop in tiles of 128×256×64 with three stages:

# %%
show_figure("gemm_ladder_13")

# %% [markdown]
# cuBLAS, with other instructions, exceeds the dotted line of mma.sync: notebook 14 has these. For a plain GEMM use
# cuBLAS: the fastest loop in the figure has 0.64 of its speed at 4096³, and 0.61 at 1024³. Write your own where the
# GEMM is not plain: the epilogue transforms C before it leaves the registers, two GEMMs share a tile (attention), or an
# operand has a form that no library takes. The second half of this page is such a GEMM. Here is a good place to stop.
#
# ## Second half: a column-major A
#
# So far K was contiguous in A. An image is stored as (channels, pixels), one channel after the other. A 1×1 convolution
# multiplies each pixel's channels by a weight (out, in): C = Xᵀ · Wᵀ, and Xᵀ, (pixels, channels), has its *pixels*
# contiguous. Its layout is (M, K):(1, M). CuTe calls such an A **M-major**, and the one of the earlier pages
# **K-major**.
#
# Transposing it in memory first would read and write all of A once more. Follow a tile from memory to the tensor cores,
# and find the three cells with a question mark:
#
# | | K-major A, as until here | M-major A |
# |---|---|---|
# | `gA`, (bM, bK, K tiles) | strides (K, 1, bK) | (1, M, bK · M) |
# | cp.async, 16 bytes | 8 neighbors along K: values (1, 8) | ? |
# | its threads | first along K, then down the rows | ? |
# | atom in shared memory | (8, 64):(64, 1), swizzled | ? |
# | ldmatrix | `transpose=False` | `transpose=True` |
# | registers, mma, accumulators, loop, order of blocks, C | | the same |
#
# `ldmatrix` reads eight vectors at a time. They begin at the same m, at eight *k*: which bank conflict does that make
# without a swizzle, and where have you seen it?
#
# A row of 16 bytes in shared memory now has eight *m* of one *k*, and `ldmatrix` would give each lane two m of one k in
# a register (next picture, left). But `mma` wants two neighbors along K in a register of A (notebook 10). The variant
# `ldmatrix.trans` exchanges rows and columns while it distributes: a lane gets two k of one m (right). The fragment is
# then exactly that of a K-major A.

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
# **Exercise 13.5** (about 3 lines). Write `m_major(threads)`, the three cells for a block of this many threads, a
# multiple of 64. Each is a layout as (shape, stride), two pairs, over (m, k):
#
# - `values`: the elements that one cp.async copies → 0 … 7;
# - `lanes`: (which vector along M, which k) → the thread that copies it;
# - `atom`: 64×8 elements → the offset in shared memory, before Swizzle⟨3,3,3⟩.
#
# The check wants each 128 contiguous bytes of A copied by eight consecutive threads, no copy of fewer than 16 bytes,
# and no bank conflict in `ldmatrix`.


# %%
def m_major(threads):
    ### BEGIN SOLUTION (about 3 lines)
    values, lanes = ((8, 1), (1, 0)), ((8, threads // 8), (1, 8))
    atom = (64, 8), (1, 64)
    return values, lanes, atom
    ### END SOLUTION


# %%
check("13.5", m_major)

# %% [markdown]
# ### Your kernel
#
# The plumbing is given: `Share` is what your main loop runs on, and page 10's functions make B's half: `make_operands`
# there has the calls for `ldmatrix` and `retile`.

# %%
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.memory import SmemAllocator

from tutorlib.kernels.ampere.thread_share import make_copy_g2s, make_mma, n_order, smem_layout

# %%
show_source(smem_layout, make_copy_g2s, make_mma, n_order)


# %%
@dataclass(frozen=True)
class Share:
    """One thread's paths, a (tiled copy, source, target) for A and one for B, and its registers.

    Sources and targets as notebook 10's: (vector, rows, vectors of a row, K tiles or buffers), and (8, instructions,
    K blocks, buffers) → (8, instructions, K blocks).
    """

    k_tiles: int
    stages: int
    k_blocks: int
    to_smem: tuple
    to_registers: tuple
    mma: cute.TiledMma
    tCrA: cute.Tensor
    tCrB: cute.Tensor
    tCrC: cute.Tensor

    def load(self, k_tile, buffer):
        for g2s, g, s in self.to_smem:
            cute.copy(g2s, g[None, None, None, k_tile], s[None, None, None, buffer])

    def fetch(self, k_block, buffer):
        for s2r, s, r in self.to_registers:
            cute.copy(s2r, s[None, None, k_block, buffer], r[None, None, k_block])

    def multiply(self, k_block):
        cute.gemm(self.mma, self.tCrC, self.tCrA[None, None, k_block], self.tCrB[None, None, k_block], self.tCrC)


# %% [markdown]
# **Exercise 13.6** (about 25 lines). Write the kernel: c = a · bᵀ in bf16, accumulated in fp32, where a is (M, K),
# M-major; b is (N, K) and c is (M, N), both row-major. Tiles divide the matrices, so no copy needs a predicate. It runs
# your 13.1 on a `Share`, with your 13.5 for A. The course's kernel and its `Steps`, `GlobalToShared`, `Operand` and
# `Accumulators` are not allowed. The check counts:
#
# - `cp.async` of 16 bytes, `ldmatrix` with `transpose=True` for A, whole sectors of C;
# - one barrier for each K tile;
# - no bank conflict, no spill, nothing fetched twice (but for the last step's idle fetch), nothing stored twice.
#
# The first lines make the tiles of B and C, with B's rows and C's columns in 10.3's order. So
# `cute.make_fragment_like(tCgC)` makes registers in bf16, in C's order of memory: round the accumulators into them,
# `.store(tCrC.load().to(…))`, and one `cute.autovec_copy` writes 16 bytes at a time. A GPU times your kernel at 4096³
# beside cuBLAS.


# %%
@cute.kernel
def m_major_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, config: cutlass.Constexpr):
    (bM, bN, bK), dtype = config.tile, mA.element_type
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    m, n = in_groups(block, *config.grid(*mC.shape))
    columns = n_order(config)
    gB = cute.composition(cute.local_tile(mB, (bN, bK), (n, None)), (columns, None, None))  # (bN, bK, k_tiles)
    gC = cute.composition(cute.local_tile(mC, (bM, bN), (m, n)), (None, columns))  # (bM, bN)
    memory = SmemAllocator()
    sB = memory.allocate_tensor(dtype, smem_layout(bN, bK, config.stages), byte_alignment=128)
    ### BEGIN SOLUTION (about 25 lines)
    gA = cute.local_tile(mA, (bM, bK), (m, None))  # (bM, bK, k_tiles)
    values, lanes, atom = (cute.make_layout(shape, stride=stride) for shape, stride in m_major(config.threads))
    swizzled = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, atom)
    layout_a = cute.tile_to_shape(swizzled, (bM, bK, config.stages), (0, 1, 2))
    sA = memory.allocate_tensor(dtype, layout_a, byte_alignment=128)

    past_l1 = cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL)
    g2s_a = cute.make_tiled_copy_tv(cute.make_copy_atom(past_l1, dtype, num_bits_per_copy=128), lanes, values)
    g2s_b = make_copy_g2s(config, dtype)
    a, b = g2s_a.get_slice(thread), g2s_b.get_slice(thread)
    to_smem = (g2s_a, a.partition_S(gA), a.partition_D(sA)), (g2s_b, b.partition_S(gB), b.partition_D(sB))

    mma = make_mma(config, dtype)
    math = mma.get_slice(thread)
    tCrA = mma.make_fragment_A(math.partition_A(sA)[None, None, None, 0])
    tCrB = mma.make_fragment_B(math.partition_B(sB)[None, None, None, 0])
    tCgC = math.partition_C(gC)
    tCrC = mma.make_fragment_C(tCgC)
    tCrC.fill(0.0)

    plain, trans = (cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose, 4), dtype) for transpose in (False, True))
    s2r_a, s2r_b = cute.make_tiled_copy_A(trans, mma), cute.make_tiled_copy_B(plain, mma)
    a, b = s2r_a.get_slice(thread), s2r_b.get_slice(thread)
    to_registers = (s2r_a, a.partition_S(sA), a.retile(tCrA)), (s2r_b, b.partition_S(sB), b.retile(tCrB))

    k_tiles = cute.size(gA, mode=[2])
    multistage(Share(k_tiles, config.stages, bK // 16, to_smem, to_registers, mma, tCrA, tCrB, tCrC))

    rounded = cute.make_fragment_like(tCgC)
    rounded.store(tCrC.load().to(dtype))
    cute.autovec_copy(rounded, tCgC)
    ### END SOLUTION


@cute.jit
def gemm_m_major(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    config = tuned(4096, 4096)
    rows, across = config.grid(*c.shape)
    m_major_kernel(a, b, c, config).launch(grid=(rows * across, 1, 1), block=(config.threads, 1, 1))


# %%
check("13.6", gemm_m_major)

# %%
show_ladder("13.3", "13.6")

# %% [markdown]
# It has 13.3's loop, tile and order, and 0.93 of its speed on an H200. Its accesses take no more than they need; the
# cause is open:

# %%
explain("13.6", gemm_m_major, shape=(128, 256, 256), banks=False)

# %% [markdown]
# With a GPU, here is the convolution of an image of 512 channels and 64×64 pixels, beside PyTorch's. A difference in
# bf16's last bit would be no error.

# %%
from contextlib import suppress

from cutlass.cute.runtime import from_dlpack

if torch.cuda.is_available():
    with suppress(NotImplementedError):
        image = torch.randn(512, 64 * 64, device="cuda").bfloat16()
        weight = torch.randn(256, 512, device="cuda").bfloat16() * 512**-0.5
        pixels = torch.empty(64 * 64, 256, device="cuda", dtype=torch.bfloat16)
        views = [from_dlpack(x, assumed_align=16) for x in (image.mT, weight, pixels)]  # 16 bytes, for the copies
        cute.compile(gemm_m_major, *views)(*views)
        conv = torch.nn.functional.conv2d(image.view(1, 512, 64, 64), weight.view(256, 512, 1, 1))
        print("largest difference:", (pixels.mT.view(256, 64, 64) - conv[0]).abs().max().item())
else:
    print("not run: no GPU here")

# %% [markdown]
# ## What to remember
#
# - One group is committed in every step. Then "all but the newest STAGES − 2" names the same tile each time.
# - A pause is filled by another buffer of yours or by another block. They compete for shared memory and registers.
# - Stages pay most where a block is alone on its SM (a small C, notebook 12's last wave, a large tile), and where a
#   tile is short along K.
# - Arithmetic rules configurations out; a measurement finds the fastest of the rest.
# - For an M-major A three things change: the vectors of the copy, the atom in shared memory, and `ldmatrix`, which
#   transposes.
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
# One block fewer fits on an SM: put the new shared memory into 13.2's formula. Or a thread needs more registers, as in
# 13.2's table, until fewer warps fit or the kernel spills: the compiler reports both.
#
# </details>

# %% [markdown]
# ## Appendix: The same kernel in C++
#
# CuTe was a C++ library first, and most of the code that you will read is written in it. Eric Schreiber ported his
# three-stage kernel to Python: at 2048³ on an A100 it takes 0.1155 ms, and 0.1158 in C++.

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
# Here is the kernel, without CuTe, for tiles of 128×128×32 in three stages: `place` is the swizzle, and the loop is
# 13.1's, line by line. A warp has 64×64 of C in one piece, so `column` is 10.3's `columns(1, 128)`.

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
# Both have the same copies, waits, barriers and products, and the error is that of rounding C to bf16. Three things to
# watch when you go from one to the other:
#
# - `None` keeps a mode here. In NumPy an index `None` *adds* one.
# - In C++ a number in a layout is known at compile time because its *type* says so; in Python, because it is a Python
#   number. `cp.async` of 16 bytes needs strides that are known at compile time; fragments in registers need shapes and
#   strides that are.
# - There is no C++ underneath. The DSL compiles the function's syntax tree through MLIR to PTX; ptxas assembles that
#   into a cubin, which holds the machine code, SASS.

# ---
# jupyter:
#   tutorlib:
#     minutes: 180
#     appendix: 20
#     summary: A main loop for any number of stages, what a stage costs, and a kernel of your own from an empty cell.
# ---

# %% [markdown]
# # 13 · Three stages, and how many more?
#
# With two buffers the next tile has as long to arrive as this one takes to multiply. If memory is slower, the tensor
# cores stall. A third buffer keeps two tiles in flight, so each has the time of two.
#
# > **After this page you can** write a pipeline of any depth, say what a stage costs and where it pays, tune a GEMM by
# > arithmetic before you measure, and write a tensor-core GEMM from an empty cell, also for a column-major operand.
# >
# > **It takes** about 180 minutes, on any machine; its appendix about 20 more. Break after 13.4: most of the rest is
# > 13.6. A GPU times the kernels.

# %%
from dataclasses import dataclass

import cutlass
import cutlass.cute as cute
import torch

from tutorlib import (
    A100, BY_ARCH, H100, TensorSpec, Timeline, all_sweep_results, blocks_per_sm as fit, by, check, compile_cute,
    explain, hardware_of, l2, show_beside, show_figure, show_ladder, show_speeds, show_timeline, show_tvs, story,
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
# tiles 0 … STAGES − 2. Step *k* issues that of tile *k* + STAGES − 1 and commits it, multiplies tile *k*, and before
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
# What must be true of the groups that were committed before each wait, so that one number fits every step?


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
# The warps of a small block with three stages and eight K tiles, simulated. Find the prologue: two tiles (C) in two
# groups (c), one wait (w), the barrier (|) and the first fetch (R). Which steps load nothing, and do they commit a
# group?

# %%
a, b = (torch.randn(64, 256).bfloat16() for _ in range(2))
c = torch.zeros(64, 64).bfloat16()
explain(make_gemm(GemmConfig((64, 64, 32), stages=3), course.multistage), a, b, c)

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
# With 64 tiles each block is alone on its SM, and the third stage pays. (cuBLAS has nearly three times the speed: 64
# tiles leave 68 SMs idle unless K is split, notebook 08.) At 4096³ the *other block* on the SM fills the pause. In the
# last column K is 256, four tiles of 64, so the start counts: before the loop three stages load half of them, two a
# quarter. The column shows the price, too: *four* stages are slower than three, because one block runs on an SM where
# there were two. A tile of K = 32 is multiplied in half the time, so the same number of stages bridges half the
# latency, and the fourth pays, too.
#
# **A pause is filled by another tile of your own, or by another block.** They compete for the SM: the first costs
# buffers, the second registers, too.
#
# ## The fastest configuration at one size
#
# Stages, tile and warps depend on each other. A larger tile needs fewer bytes for its arithmetic (10.1). A thread keeps
# its accumulators in registers, of which it has at most 255, so a larger tile needs more warps. A shorter step along K
# makes room for more stages, and costs more barriers. Five numbers are arithmetic:
#
# | | by | the five fastest at 4096³ have |
# |---|---|---|
# | FLOP for each byte of shared-memory traffic | the tile and the warps | 23 or more |
# | warps on an SM | 13.2 | 8 or more |
# | K tiles in flight on an SM while one is multiplied | 13.2, stages | 2 or more |
# | KiB in flight on an SM | the same, and the tile | 48 or more |
# | `busy` | 12.6 | 0.96 or more |
#
# The last column was read from the measurements below: beforehand you know only that each number can be too small, not
# how much is enough. The traffic of a K tile: its elements are written once; then all warps along N read each row of A,
# and all warps along M each row of B.
#
# **Exercise 13.3** (about 1 line). Write `tuned()`, which returns a `GemmConfig(tile, warps, stages)` that passes all
# five counts at 4096³ on an H100 or H200, and does not spill. All four of 13.2's table miss the same one, and one
# misses more: which? The check compiles your configuration with the course's loop and notebook 12's order of blocks,
# and names the first count that it misses. A GPU also times it: the last point takes 98% of the course's speed.


# %%
def tuned():
    ### BEGIN SOLUTION (about 1 line)
    return GemmConfig(tile=(128, 256, 32), warps=(2, 4), stages=4)
    ### END SOLUTION


# %%
check("13.3", tuned)

# %% [markdown]
# Here are the measurements at 4096³. The second line in a box is warps × blocks on an SM, and the red frame is the
# course's choice.

# %%
show_figure("gemm_stages")

# %% [markdown]
# A block of 128×256×32 is alone on its SM: a third stage makes it almost one and a half times as fast.
#
# The five numbers of each box; *all* marks a row that passes. At 4096³ the five fastest pass by construction, so test
# at 2048³. **Predict:** how many of the five fastest pass there?


# %%
LEAST = (23, 8, 2, 48, 0.96)


def five_numbers(swept, point):
    facts, (rows, columns, _) = point.facts, point.measurement.shape
    config = GemmConfig(facts["tile"], facts["warps"], facts["stages"])
    blocks = fit(BY_ARCH[swept.machine["arch"]], config.smem_bytes, facts["registers"], config.threads)
    (m, n, k), (down, across) = config.tile, config.warps
    in_flight = blocks * (config.stages - 1)
    tiles, sms = rows * columns // (m * n), hardware_of(swept.gpu).sms
    of_flop = m * n / (m * (1 + across) + n * (1 + down))
    of_sms = tiles / (-(-tiles // sms) * sms)
    return of_flop, blocks * config.threads // 32, in_flight, in_flight * (m + n) * k // 512, of_sms


for name, rows in (("gemm_stages", 23), ("gemm_unfitted", 10)):
    try:
        results = all_sweep_results(name)
    except LookupError as error:  # nobody has measured it
        print(f"{name}: {error}")
        continue
    for swept in results:
        best = sorted(swept.points, key=lambda point: -point.measurement.ratio)
        print(f"{swept.gpu}, {by(best[0].measurement.shape)}")
        print(f"{'':20}  speed  FLOP/byte  warps/SM  tiles  KiB  busy")
        for point in best[:rows]:
            numbers = five_numbers(swept, point)
            speed = point.measurement.ratio / best[0].measurement.ratio
            passes = all(has >= least for has, least in zip(numbers, LEAST, strict=True))
            shown = "{:11.0f}{:10}{:7}{:5}{:6.2f}".format(*numbers)
            print(f"{point.name:20}{speed:7.2f}{shown}{'  all' if passes else ''}")

# %% [markdown]
# Four of the five. That proves little: all ten rows are within 5%, and rows that fail, all by the first number, reach
# 0.98. **Counts rule configurations out; they do not find the fastest.**

# %%
show_ladder("13.1", "13.3")

# %% [markdown]
# ## Your rung: the same loads, in another place
#
# In 13.1 a step begins with all copies of a tile, inside an `if`. Two things may cost time: the place, and the branch,
# which ends a *basic block*, the unit in which a compiler schedules.
#
# **Exercise 13.4** (about 25 lines). Write `loads_moved(steps)`, 13.1's pipeline with another step:
#
# - A step issues its copies between two mmas: after its first K block's, and before the barrier.
# - No branch stands between them, and everything still works where K has fewer tiles than there are stages.
#
# Which tile may a step copy when none is left, into which buffer, and why does that do no harm?
#
# The configuration is yours (13.3), the order 12.4's. A GPU times it at 4096³: the last point takes 97% of the course's
# speed. **Predict**, for the table after it: which of the two changes gains more?


# %%
def in_groups(block, rows, across):  # or yours of 12.4
    return l2.grouped(block, rows, across, 8 if rows > 32 else rows)


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
    make_gemm(tuned(), loads_moved, in_groups)(a, b, c)


# %%
check("13.4", my_gemm)

# %%
show_ladder("13.3", "13.4")

# %% [markdown]
# Which of the two changes was it? Here is 13.1 with only its branch left out. A GPU times it between 13.1's loop and
# the course's `loads_spread`, which is your new loop where a tile has two K blocks:


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


loops = {"13.1": course.multistage, "13.1 without its branch": without_branch, "moved": course.loads_spread}
kernels = {name: make_gemm(course.TUNED, loop, in_groups) for name, loop in loops.items()}
for name, kernel in kernels.items():
    print(f"{name}: {story(compile_cute(kernel, SQUARE).ptx)}")
show_beside(kernels, sizes=(4096, 8192))

# %% [markdown]
# It is the place. Without its branch alone the loop is 2% slower; from there, moving the copies behind an mma gains 5
# to 6%.
#
# Your kernel beside cuBLAS:

# %%
show_beside({"yours": my_gemm}, sizes=(1024, 2048, 4096, 8192))

# %% [markdown]
# At 4096³ an H200 takes 276 µs; mma.sync alone would take 221 (10) / 0.97 (`busy`) = 228. The rest is open.
#
# In the figure *13 loads spread* is such a loop in tiles of 128×256×64 with three stages; it issues A's copies after
# the first K block, and B's after the second:

# %%
show_figure("gemm_ladder_13")

# %% [markdown]
# cuBLAS, with other instructions, exceeds the dotted line of mma.sync. From 512 to 1024, and at 3072, *three stages* is
# ahead of *tuned*, which was tuned at 4096: the tiles of *tuned* are twice as large, so fewer SMs have work. In the
# roofline every size is right of the ridge: if each byte is read once, memory limits none. mma.sync ends at 623, below
# the roof:

# %%
show_figure("roofline")

# %% [markdown]
# ## A GEMM that no cell fits: A column-major
#
# So far K was contiguous in A. Not every A is stored like that. An image is stored as (channels, pixels), one channel
# after the other. A 1×1 convolution multiplies each pixel's channels by a weight (out, in): C = Xᵀ · Wᵀ, and Xᵀ,
# (pixels, channels), has its *pixels* contiguous. Its layout is (M, K):(1, M). CuTe calls such an A **M-major**, and
# the one of the earlier pages **K-major**.
#
# Transposing it in memory first would read and write all of A once more. Follow a tile from memory to the tensor cores,
# and fill in the three cells with a question mark; 13.6 needs them:
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
# a register (next picture, left). But `mma` wants two neighbors along K in a register of A (10.2). The variant
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
# **Exercise 13.5** (about 1 line). The twin of 10.3, for an M-major tile of 16×16. With `ldmatrix.x4.trans` each lane
# supplies the address of eight neighbors along M. Lanes 8*j* to 8*j* + 7 serve matrix j, which fills register j;
# registers 0 to 3 of A's fragment begin at (m, k) = (0, 0), (8, 0), (0, 8) and (8, 8). Write `trans_row(lane)`: the
# (m, k) of the first of this lane's eight elements.


# %%
def trans_row(lane):
    ### BEGIN SOLUTION (about 1 line)
    return lane // 8 % 2 * 8, lane // 16 * 8 + lane % 8
    ### END SOLUTION


# %%
check("13.5", trans_row)

# %% [markdown]
# ## From an empty cell
#
# **Exercise 13.6** (about 80 lines). Write `gemm_m_major(a, b, c)`, a kernel and its `@cute.jit` host function, which
# computes c = a · bᵀ in bf16: a is (M, K), M-major; b is (N, K) and c is (M, N), both row-major. It accumulates in
# fp32. M is a multiple of 128, N of 256 and K of 64, so that tiles up to 128×256×64 divide the matrices and no copy
# needs a predicate.
#
# - Its tile of C is 128×128 or more, and it has three stages or more. The loop over K tiles is not unrolled.
# - `cp.async` of 16 bytes; `ldmatrix`, with `transpose=True` for A; `mma.sync`; whole sectors of C.
# - One barrier for each K tile, and the blocks in your `in_groups` order.
# - No bank conflict and no spill; but for the idle fetch of the last step, nothing is fetched from shared memory twice,
#   and nothing is stored twice.
#
# Yours to use: `multistage`, `in_groups`, `tuned`, and, copied here and changed for A, notebook 10's `smem_layout`,
# `make_copy_g2s`, `make_mma`, `make_operands` and `columns`. The course's kernel is not, nor are its `Steps`,
# `GlobalToShared`, `Operand` and `Accumulators`. Two things help:
#
# - Your `multistage` runs on any object that has `k_tiles`, `stages`, `k_blocks`, and the methods `load`, `fetch` and
#   `multiply`. Make it a `@dataclass(frozen=True)` whose fields hold the tensors.
# - `cute.make_fragment_like(tCgC)` makes registers in bf16, in C's order of memory. Round the accumulators into them,
#   `.store(tCrC.load().to(…))`; then one `cute.autovec_copy` writes 16 bytes at a time, if the MMA sees the columns in
#   10.10's order.
#
# The check says what is missing, and `explain("13.6", gemm_m_major)` shows what
# each line's accesses take. A GPU times your kernel at 4096³ beside cuBLAS.


# %%
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.nvgpu.cpasync import LoadCacheMode
from cutlass.memory import SmemAllocator


# %%
# gemm_m_major(a, b, c): a (M, K):(1, M), b (N, K):(K, 1), c (M, N):(N, 1), in bf16.
### BEGIN SOLUTION (about 75 lines)
def swizzled(atom, bits, tile):
    return cute.tile_to_shape(cute.make_composed_layout(cute.make_swizzle(bits, 3, 3), 0, atom), tile, (0, 1, 2))


@dataclass(frozen=True)
class Share:
    """One thread's paths, a (tiled copy, source, target) for A and one for B, and its registers."""

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


@cute.kernel
def m_major_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, config: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    (bM, bN, bK), (down, across), dtype = config.tile, config.warps, mA.element_type
    m, n = in_groups(block, *config.grid(*mC.shape))
    columns = cute.make_layout((2, 4, across, 4, bN // (32 * across)), stride=(1, 8, 32, 2, 32 * across))
    gA = cute.local_tile(mA, (bM, bK), (m, None))  # (bM, bK, k_tiles)
    gB = cute.composition(cute.local_tile(mB, (bN, bK), (n, None)), (columns, None, None))  # (bN, bK, k_tiles)
    gC = cute.composition(cute.local_tile(mC, (bM, bN), (m, n)), (None, columns))  # (bM, bN)

    width = min(bK, 64)
    layout_a = swizzled(cute.make_layout((64, 8)), 3, (bM, bK, config.stages))
    atom_b = cute.make_layout((8, width), stride=(width, 1))
    layout_b = swizzled(atom_b, 3 if width == 64 else 2, (bN, bK, config.stages))
    memory = SmemAllocator()
    sA = memory.allocate_tensor(dtype, layout_a, byte_alignment=128)
    sB = memory.allocate_tensor(dtype, layout_b, byte_alignment=128)

    cp_async = cute.make_copy_atom(cpasync.CopyG2SOp(cache_mode=LoadCacheMode.GLOBAL), dtype, num_bits_per_copy=128)
    along_m = cute.make_layout((8, config.threads // 8))
    along_k = cute.make_layout((config.threads * 8 // width, width // 8), stride=(width // 8, 1))
    g2s_a = cute.make_tiled_copy_tv(cp_async, along_m, cute.make_layout((8, 1)))
    g2s_b = cute.make_tiled_copy_tv(cp_async, along_k, cute.make_layout((1, 8)))
    a, b = g2s_a.get_slice(thread), g2s_b.get_slice(thread)
    to_smem = (g2s_a, a.partition_S(gA), a.partition_D(sA)), (g2s_b, b.partition_S(gB), b.partition_D(sB))

    op = warp.MmaF16BF16Op(dtype, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, cute.make_layout((down, across, 1)), permutation_mnk=(16 * down, 16 * across, 16))
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
    ### BEGIN SOLUTION (about 3 lines)
    config = tuned()
    rows, across = config.grid(*c.shape)
    m_major_kernel(a, b, c, config).launch(grid=(rows * across, 1, 1), block=(config.threads, 1, 1))
    ### END SOLUTION


# %%
check("13.6", gemm_m_major)

# %%
show_ladder("13.3", "13.6")

# %% [markdown]
# <details><summary>The three cells, and the conflict</summary>
#
# Values (8, 1), eight neighbors along M; threads first along M, then along K; the atom (64, 8):(1, 64), swizzled.
# Without a swizzle the eight vectors, 128 bytes apart, are in the same four banks: eight ways, as in 10.4.
#
# </details>
#
# The course's kernel has 13.3's loop, tile and order, and is 6 to 7% slower. Its accesses take no more than they need,
# so no count explains it: open.

# %%
explain("13.6", gemm_m_major, shape=(128, 256, 256))

# %% [markdown]
# On a machine with a GPU, here is the convolution: an image of 512 channels and 64×64 pixels, with PyTorch's own for
# comparison. Both round to bf16, so a difference in the last bit would be no error.

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
# ## When to use cuBLAS
#
# For a plain GEMM: always, at least until notebook 15. On an H200 yours has 0.63 of its speed at 4096³, 0.43 at 1024³.
# cuBLAS picks one of many kernels for the shape. Write your own where the GEMM is not plain: the epilogue transforms C
# before it leaves the registers, operands are in a form that no library takes, two GEMMs share a tile (attention). Or
# where the library picks badly for your shapes: measure.
#
# ## What to remember
#
# - One group is committed in every step. Then "all but the newest STAGES − 2" names the same tile each time.
# - A pause is filled by another buffer of yours or by another block. They compete for shared memory and registers.
# - Stages pay most where a block is alone on its SM (a small C, notebook 12's last wave, a large tile), and where a
#   tile is short along K.
# - Arithmetic finds candidates; a measurement, the fastest of them.
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
# 13.1's, line by line. A warp has 64×64 of C in one piece, so `column` is 10.10's `columns(1, 128)`.

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
#   number. `cp.async` of 16 bytes needs strides that are known, and so do fragments in registers.
# - There is no C++ underneath. The DSL compiles the function's syntax tree through MLIR to PTX; ptxas assembles that
#   into a cubin, which holds the machine code, SASS.

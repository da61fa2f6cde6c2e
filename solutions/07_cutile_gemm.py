# ---
# jupyter:
#   tutorlib:
#     minutes: 75
#     summary: A GEMM of eight lines, and the way from there to cuBLAS.
# ---

# %% [markdown]
# # 07 · A GEMM in cuTile, from eight lines to an autotuned kernel
#
# The first kernel you write on this page computes C = A·Bᵀ in eight lines. Four tools close the gap to cuBLAS: the
# order in which blocks take their tiles, the shape of a tile, hints, and a persistent grid. All GEMMs in this course
# have the same contract: A is (M, K) and B is (N, K), both row-major, C is (M, N), and accumulation is in fp32.
#
# You need no GPU: `check` interprets your kernels, and the compiler runs anywhere. The speeds in the tables are an
# H200's; on a GPU, `check` prints yours.
#
# > **After this page you can** write a GEMM in cuTile, order its blocks for L2, make the kernel persistent, search its
# > configurations, and find in the compiler's report why one is slow.
# >
# > **It takes** about 75 minutes, on any machine.

# %%
from functools import partial

import cuda.tile as ct
import torch

import tutorlib.kernels.cutile as tile_gemm
from tutorlib import (
    TMA, TensorSpec, Timeline, check, compile_cutile, device, grouped as strips, hardware_of, raster, serialized,
    show_block_order, show_figure, show_k_loop, show_sweep, show_tiles, show_timeline,
)  # fmt: skip
from tutorlib.kernels.cutile import Config, compiled

ZERO = ct.PaddingMode.ZERO
h200 = hardware_of("NVIDIA H200")

# %% [markdown]
# ## Rung 1: a block for each tile of C
#
# Tile (m, n) of C needs only row m of A's tiles and row n of B's. The block that owns it walks along K: it loads a tile
# of A and a tile of B, multiplies them, and accumulates. After the last step it stores the accumulator, once. The
# picture draws B transposed, so that B's row of tiles is a column; each color is one step. The last step reaches past
# the end of K, and its hatched part must count as zero.

# %%
show_k_loop()

# %% [markdown]
# **Exercise 07.1** (about 5 lines). Write the kernel: block (m, n) computes tile (m, n) of C. M, N and K need not be
# multiples of the tile's sides. Each element of a block's tiles is loaded once, C is stored once, and `ct.mma` itself
# adds to the accumulator (no `+` outside). Besides the functions of notebook 06 you need:
#
# | | |
# |---|---|
# | `ct.mma(x, y, total)` | x @ y + total, for tiles of shapes (tm, tk), (tk, tn) and (tm, tn) |
# | `ct.transpose(tile)` | moves no data here: tensor cores read a K-contiguous tile of B as it is |
# | `ct.cdiv(n, size)` | n / size, rounded up |
# | `tile.astype(dtype)` | the tile, converted |
# | `a.shape`, `c.dtype` | of an array, inside the kernel |
# | `ZERO` | the padding mode, defined above |


# %%
@ct.kernel
def gemm(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    ### BEGIN SOLUTION (about 5 lines)
    for k in range(ct.cdiv(a.shape[1], tk)):
        rows = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
        columns = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
        total = ct.mma(rows, ct.transpose(columns), total)
    ct.store(c, (m, n), total.astype(c.dtype))
    ### END SOLUTION


# %%
check("07.1", gemm)

# %% [markdown]
# The table has its speed as a fraction of cuBLAS's, for square bf16 matrices of three sizes. A measurement repeats a
# pair, the kernel and cuBLAS. Its **spread**, ±, is the distance from the median ratio to the quartiles of the pairs.
# A difference between two rows is noise if it is smaller than the sum of their two ±. Compare within one table: other
# sessions, such as that of `check`, differ by up to 4%.

# %%
show_sweep("tile_rungs")[:1]

# %% [markdown]
# ## Rung 2: blocks that run together share tiles
#
# Why does it lose so much at 8192? Count a block's operations per byte that it loads:

# %%
print(f"the tensor cores can do {h200.flops['bf16'] / h200.bandwidth:.0f} operations per byte that memory delivers")
for side in (64, 128, 256):
    operations, bytes_loaded = 2 * side * side, (side + side) * 2  # for one step along K, bf16
    print(f"{side:3}×{side:<3} tile: {operations / bytes_loaded:4.0f} operations per byte")

# %% [markdown]
# Even 256×256 has too few operations per byte, and its fp32 accumulators take 256 KiB, all of an SM's registers. But
# tiles can be shared: the blocks that own a row of C's tiles read the same tiles of A. If they do so at about the same
# time, memory sends a tile once, and L2 serves the other reads.
#
# An 8192×8192 C has 64×64 tiles of 128×128, and an H200 has 132 SMs. A block takes most of an SM's shared memory, so an
# SM runs one at a time. Blocks start in index order, and the first 132 form a **wave**. In rung 1's grid the row index
# runs fastest, so a wave covers slightly more than two columns of C's tiles: it reads **all** of A's tiles and three
# rows of B's.
#
# Now make the wave a rectangle, here in miniature: 16×16 tiles, 32 blocks in flight. Each color is a wave. The
# margins use green differently: it marks what the first wave reads, rows of A's tiles and rows of B's. (The picture
# again draws B's rows as columns.)

# %%
small, in_flight = (16, 16), 32
show_block_order(small, {"down the columns": raster, "strips of 4 rows": partial(strips, group=4)}, in_flight)

# %% [markdown]
# **Exercise 07.2** (about 3 lines). Write `grouped(block, rows, columns, group)`: return the tile (m, n) that the block
# computes when C has rows×columns tiles and blocks traverse strips of `group` rows, each strip column by column, as on
# the right. The last strip may have fewer rows. 07.3 calls this function inside a kernel, where the sizes are run-time
# values, so use only arithmetic and `min`.


# %%
def grouped(block, rows, columns, group):
    ### BEGIN SOLUTION (about 3 lines)
    strip, place = block // (group * columns), block % (group * columns)
    height = min(group, rows - strip * group)
    return strip * group + place % height, place // height
    ### END SOLUTION


# %%
check("07.2", grouped)

# %% [markdown]
# How high should a strip be? Count the rows of tiles that the first wave of 132 blocks reads; strips of 64 rows are
# rung 1's order. **Predict** the best height before you run the cell.

# %%
for group in (1, 4, 8, 16, 32, 64):
    wave = [strips(block, 64, 64, group) for block in range(h200.sms)]
    of_a, of_b = (len(set(side)) for side in zip(*wave, strict=True))
    print(f"{group:2} rows per strip: {of_a:2} rows of A's tiles and {of_b:2} of B's, {of_a + of_b} in all")

# %% [markdown]
# A wave of `group` rows is about 132 / group columns wide, and it reads the fewest tiles when it is nearly square.
# Heights of 8 and 16 tie here; this page uses strips of 8:

# %%
show_sweep("tile_rungs")[:2]

# %% [markdown]
# Only 8192 gains; the differences at 2048 and 4096 are noise. At 8192, A has 134 MB, far more than an H200's L2, of
# about 63 MB. At 4096 it has 34 MB, and L2 probably serves most reads in either order.
#
# ## Rung 3: the shape of a tile
#
# Larger tiles load less per operation. So 128×256 should beat 128×128. **Predict** its speed:

# %%
show_sweep("tile_rungs")[1:3].rename(lambda name: name.removesuffix(", spilled"))

# %% [markdown]
# The compiler's report shows why, and needs no GPU. `compiled` compiles this table's kernel, which is also rung 4's:

# %%
for tm, tn in [(64, 128), (128, 128), (128, 256), (256, 256)]:
    made = compiled(Config(tm, tn))
    print(
        f"{tm:3}×{tn:<3} {tm * tn // (4 * 32):4} accumulators for each of 128 threads, "
        f"{made.registers} registers, {made.stack_bytes:5,} bytes of stack"
    )

# %% [markdown]
# On Hopper the accumulators are registers of the **consumer warps**, 4 by default; 4 more warps load. A thread can
# address 255 registers. With 256 accumulators per thread, registers spill to the stack, which is in local memory.
# (1,792 bytes hold 448 registers, more than the 256 accumulators.) Apart from a smaller tile, two **hints** help.
# Hints change a kernel's speed, never its result.
#
# - **`num_worker_warps=8`**: twice the threads share the accumulator.
# - **`num_ctas=2`**: a cuTile block becomes a **cluster** of two CTAs on two SMs. (A CTA is CUDA's thread block.) They
#   work on one tile, and each holds half of the accumulator. When both need the same operand tile, one TMA load
#   delivers it to both (**multicast**).
#
# `kernel.replace_hints(num_worker_warps=8)` returns a copy of the kernel with this hint. 256×256 needs both hints:

# %%
for config in [Config(128, 256, num_worker_warps=8), Config(256, 256, num_ctas=2, num_worker_warps=8)]:
    print(f"{config}: {compiled(config).stack_bytes} bytes of stack")

# %% [markdown]
# ## Rung 4: a persistent kernel
#
# If C has more tiles than the GPU has SMs, an SM runs one block after another. Each new block starts with empty shared
# memory and waits for its first tiles; at the end its tensor cores idle during the **epilogue**, the store of its tile
# of C. A **persistent** kernel launches only as many blocks as can run at once, and each block computes tile after
# tile. The picture shows one SM, whose consumer warps are two groups (wg). Each color is a tile of C; the row *loads*
# shows only the first loads of each tile. Hatched, the tensor cores (mma) idle:

# %%
show_tiles("a thread block for each tile", "persistent", loads="A, B", stores="C")

# %% [markdown]
# Before a persistent block has stored one tile, it issues the first loads of the next, so the tensor cores idle only
# for the rest of the epilogue. Persistence does not shorten the last wave, which is rarely full.
#
# **Exercise 07.3** (about 9 lines). Write the kernel `persistent(a, b, c, tm, tn, tk, group)`, the last four known at
# compile time. It runs on a one-dimensional grid of any number of blocks, `ct.num_blocks(0)` inside the kernel. Tiles
# are numbered in the order of your `grouped`. Block i begins with tile i, and blocks that run together compute
# consecutive tiles. Each tile of C is computed once, with loads and `ct.mma` as in 07.1. A GPU times it at 4096³ with
# tiles of 128×128×64, one block for each SM.


# %%
@ct.kernel
def persistent(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int], group: ct.Constant[int]):
    ### BEGIN SOLUTION (about 9 lines)
    rows, columns = ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        m, n = grouped(tile, rows, columns, group)
        total = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.cdiv(a.shape[1], tk)):
            x = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
            y = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
            total = ct.mma(x, ct.transpose(y), total)
        ct.store(c, (m, n), total.astype(c.dtype))
    ### END SOLUTION


# %%
check("07.3", persistent)

# %% [markdown]
# The first row is not persistent; 256×256 has one block for each pair of SMs:

# %%
show_sweep("tile_rungs")[3:]

# %% [markdown]
# - **Eight warps** make 128×256 13 to 16 times as fast as the spilled kernel.
# - **Persistence** gains 4% at 4096 and 3% at 8192. At 2048 there are 128 tiles of 128×256, fewer than SMs, so no block
#   has a second tile, and the gain is noise.
# - **The best tile** depends on the size. 256×256 loads the least per operation and wins at 8192. At 2048 it makes
#   one tile for each pair of SMs, so no second tile hides the first loads, and 128×128 wins. At 4096, 256×256 and
#   128×128 tie.
#
# This is a good place to stop.
#
# ## Rung 5: search, then ask why
#
# You cannot know the best configuration for a shape in advance, but you can time them all. `exhaustive_search` does;
# here it gets three.

# %%
few = [Config(128, 128), Config(128, 256, num_worker_warps=8), Config(256, 256, num_ctas=2, num_worker_warps=8)]
if reason := device.why_not(TMA):
    print("not searched:", reason)
else:
    from cuda.tile.tune import exhaustive_search

    sms = torch.cuda.get_device_properties("cuda").multi_processor_count
    a, b, c = (torch.randn(4096, 4096, device="cuda").bfloat16() for _ in range(3))
    found = exhaustive_search(
        few,
        torch.cuda.current_stream(),
        grid_fn=lambda config: config.grid(c.shape, sms),
        kernel=tile_gemm.persistent,
        args_fn=lambda config: (a, b, c, *config.constants),
        hints_fn=lambda config: config.hints,
    )
    print("the best of three:", found.best.config)

# %% [markdown]
# The figure has the sides 64, 128 and 256 (without 64×64) and three depths, and gives the speed of each with its best
# hints, in TFLOP/s. The red frame marks the fastest. cuBLAS had 791 in that session.

# %%
show_figure("tile_heatmap")

# %% [markdown]
# Look for three cliffs. From a depth of 64 to 128, 128×256 and 256×256 lose more than a quarter of their speed. At a
# depth of 64, 64×128 and 128×64 have less than half of the speed of 128×128.
#
# Shared memory holds **stages**, each a buffer for one tile of A and one of B. With several, loads are in flight while
# the tensor cores multiply. In the picture, with one stage and with two, a number is a step along K:

# %%
show_timeline(*(Timeline(stages, latency=4, transfer=1, compute=2, tiles=6) for stages in (1, 2)))

# %% [markdown]
# `serialized` returns the reason that ptxas, the assembler, gives for issuing only one instruction of the tensor cores
# (wgmma) at a time. Run the cell, and name the cause of each cliff before you read on:

# %%
eight, pair = {"num_worker_warps": 8}, {"num_ctas": 2, "num_worker_warps": 8}
cliffs = [
    *(Config(128, 256, depth, **eight) for depth in (64, 128)),
    Config(128, 256, 128, **pair),
    *(Config(256, 256, depth, **pair) for depth in (64, 128)),
    *(Config(*tile, 64) for tile in [(128, 128), (64, 128), (128, 64)]),
]
for config in cliffs:
    made, stage = compiled(config), (config.tm // config.num_ctas + config.tn) * config.tk * 2 // 1024
    print(
        f"{config!s:28} {made.registers} registers, {made.stack_bytes:3} bytes of stack; "
        f"{made.smem_bytes // 1024} KiB, a stage has {stage}"
    )
    if reason := serialized(made.ptx):
        print("    one wgmma at a time:", reason)
made = compile_cutile(tile_gemm.plain, [TensorSpec((4096, 4096), "bf16")] * 3 + [64, 128, 64], "sm_90")
print("64×128×64, a block for each tile:", serialized(made.ptx) or "several wgmma at a time")

# %% [markdown]
# - **128×256×128** with one CTA spills, though it has 128 accumulators per thread, as at a depth of 64. The 168
#   registers are those at the launch; consumers later get 232 (notebook 08), so at this depth a thread must need more
#   than 104 registers beside its accumulators. Two CTAs spill nothing and are faster, the figure's 557 TFLOP/s, but
#   their 193 KiB hold only two stages.
# - **256×256×128** does not spill, but at most two of its stages fit, where a depth of 64 has three beside the 64 KiB
#   of C's tile. (In a pair, a CTA keeps half of A's tile and all of B's.) While the tensor cores read one of two
#   stages, loads can fill only the other.
# - **64×128×64** and **128×64×64** issue one wgmma at a time, so the tensor cores idle between two of them: no other
#   instruction may read the accumulators of a wgmma in flight, and here some do. The remark is due to persistence:
#   the last line, 07.1's kernel with a tile of 64×128, has none. It is probably not the only cause of the low speed:
#   these tiles load more, 43 operations per byte in place of 64, and 256×64, without the remark, has only 500
#   TFLOP/s.
#
# ## What to remember
#
# - A block owns a tile of C, walks along K and stores once. The accumulator is fp32 until the store.
# - The order of the blocks decides how often memory sends a tile. Strips make a wave nearly square, so it reads fewer
#   tiles.
# - A large stack in the compiler's report means that registers spill, as when the accumulators do not fit: use more
#   warps, more CTAs, or a smaller tile.
# - A persistent grid has as many blocks as can run at once.
#
# Next: [08](08_cutile_fp8.ipynb).
#
# ## Test yourself
#
# <details><summary>1. A tile of 256×128 in bf16, 4 warps, one CTA. How many accumulators does a thread hold, and what
# will the compiler report?</summary>
#
# 256·128 / 128 = 256. A thread can address 255 registers and needs some for other values, so the report shows a stack.
# With 8 warps each thread holds 128 accumulators, and the stack is gone.
#
# </details>
#
# <details><summary>2. C has 64×64 tiles and a wave 128 blocks. How many rows of tiles does it read in strips of
# 8?</summary>
#
# A wave is 8 tiles high and 16 wide: 24.
#
# </details>
#
# <details><summary>3. C has 140 tiles of 128×128, and the GPU 132 SMs. How much can a persistent grid gain, and what
# else would you try?</summary>
#
# 140 tiles are two waves, the second with 8 tiles: the SMs work 53% of the time, and a persistent grid changes
# nothing about that. Cut K in 3, as in notebook 08: 420 blocks are 4 waves of a third each, 1.33 in place of 2. Or
# take smaller tiles.
#
# </details>

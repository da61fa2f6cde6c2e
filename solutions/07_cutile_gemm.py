# ---
# jupyter:
#   tutorlib:
#     minutes: 75
#     appendix: 75
#     summary: A GEMM of eight lines, and the way from there to cuBLAS. Its appendix has fp32, FP8 and split-K.
# ---

# %% [markdown]
# # 07 · A GEMM in cuTile, from eight lines to an autotuned kernel
#
# The first kernel you write on this page computes C = A·Bᵀ in eight lines. The rest of the page closes the gap between
# those lines and cuBLAS with four tools: the order in which blocks take their tiles, the shape of a tile, a handful of
# hints, and a persistent grid. Each rung changes a few lines and keeps the contract: A is (M, K) and B is (N, K), both
# row-major, C is (M, N), and accumulation is in fp32.
#
# `check` interprets your kernels block by block, so a laptop can tell right from wrong; measuring their speed needs a
# GPU. The compiler needs none, so you can read its reports anywhere.
#
# > **After this page you can** write a GEMM in cuTile, order its blocks for L2, choose hints for its tile by the
# > compiler's report, make it persistent, and rule out configurations before you search.
# >
# > **It takes** about 75 minutes, on any machine; its appendix about 75 more. A GPU adds the speed.

# %%
from functools import partial

import cuda.tile as ct
import torch

import tutorlib.kernels.cutile as tile_gemm
from tutorlib import (
    SM_CLOCK, TENSOR_BUSY, TMA, TO_SMS, TensorSpec, check, compile_all, compile_cutile, device, explore_block_order,
    grouped as strips, hardware_of, raster, run_host, serialized, show_block_order, show_figure, show_k_loop,
    show_ladder, show_sweep,
)  # fmt: skip
from tutorlib.kernels.cutile import Config, compiled, slabs, tile_of_product

ZERO = ct.PaddingMode.ZERO
h200 = hardware_of("NVIDIA H200")

# %% [markdown]
# ## Rung 1: a block for each tile of C
#
# Tile (m, n) of C needs only row m of A's tiles and row n of B's. The block that owns it walks along K: load a tile of
# A, load a tile of B, multiply, accumulate. After the last step it stores the accumulator, once. The picture draws B
# transposed, so that B's row of tiles is a column; each color is one step, two tiles loaded together. The last step
# reaches past the end of K, and its hatched part must count as zero.

# %%
show_k_loop()

# %% [markdown]
# Why tiles at all? Count a block's operations per byte that it loads. **Predict** before you run the cell: an H200 can
# do 206 operations in the time in which its memory delivers one byte. How large must a square tile be before memory
# alone can feed the tensor cores?

# %%
print(f"the tensor cores can do {h200.flops['bf16'] / h200.bandwidth:.0f} operations per byte that memory delivers")
for side in (16, 32, 64, 128, 256):
    operations, bytes_loaded = 2 * side * side, (side + side) * 2  # for one step along K, bf16
    print(f"{side:3}×{side:<3} tile: {operations / bytes_loaded:4.0f} operations per byte")

# %% [markdown]
# A tile with sides of s does s/2 operations per byte, so not even 256×256 is enough; it would take about 412×412. The
# answer is sharing. In a 4096×4096 product, the 32 blocks that own a row of 128×128 tiles read the same row of A's
# tiles. If they read it at about the same time, memory sends it once, and L2 serves the other 31 reads. Rung 2 makes
# blocks that share tiles run at the same time.
#
# **Exercise 07.1** (about 5 lines). Write the kernel; block (m, n) computes tile (m, n) of C. `ct.mma(x, y, total)` is
# x @ y + total for tiles of shapes (tm, tk), (tk, tn) and (tm, tn). A tile of B is (tn, tk): `ct.transpose` it. The
# transpose moves no data here, because K is contiguous in both operands, and tensor cores read that order directly.
# (They read 16-bit operands in the other order as well; for 8-bit and 32-bit operands the compiler would have to
# rearrange the tile.) M, N and K need not be multiples of the tile's sides; `ZERO`, defined above, pads a load.


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
# The source names no threads, barriers, shared memory or addresses. Which instructions did the compiler choose? Here is
# the same kernel (`tile_gemm.plain`, so that the cell runs before you solve the exercise), compiled for three
# generations of tensor cores:

# %%
matrices = [TensorSpec((4096, 4096), "bf16")] * 3
of_interest = {"cp.async", "ldmatrix", "mma.sync", "cp.async.bulk.tensor", "mbarrier", "wgmma", "tcgen05"}
generations = ("sm_80", "sm_90", "sm_100")
for made in compile_all((tile_gemm.plain, [*matrices, 128, 128, 64], arch) for arch in generations):
    print(made, "\n   ", ", ".join(sorted(made.instructions & of_interest)))

# %% [markdown]
# On Ampere you get the pipeline that notebooks 09 to 12 build by hand: cp.async, ldmatrix, mma.sync. On Hopper,
# producer warps fill shared memory by TMA (`cp.async.bulk.tensor`) while consumer warps of the same block read it with
# WGMMA instructions (`wgmma`). On Blackwell, tcgen05 instructions drive the tensor cores, and the accumulators are in
# tensor memory instead of registers. Eight lines run on three architectures: that is cuTile's bargain. The compiler
# chooses the instructions; this page covers the choices that remain yours.
#
# **Keep this:** the block index picks a tile of C; the loop walks along K; the accumulator is fp32 until the store.

# %% [markdown]
# ## Rung 2: blocks that run together share tiles
#
# An 8192×8192 C has 64×64 tiles of 128×128, and an H200 has 132 SMs. One block takes most of an SM's shared memory,
# 197,784 bytes in the report above, so an SM runs one at a time. In practice blocks start in index order, and the first
# 132 form a **wave**. In rung 1's grid the row index runs fastest, so a wave covers slightly more than two columns of
# C's tiles: it reads **all** of A's tiles and three rows of B's.
#
# Now make the wave a rectangle. The picture shows both orders in miniature: 16×16 tiles, 32 blocks in flight. Each
# color is a wave; in the margins, green marks the rows of A's tiles and of B's (again columns in the picture) that the
# first wave reads. (The titles count them as "rows of A" and "columns of B".)

# %%
small, in_flight = (16, 16), 32
show_block_order(small, {"down the columns": raster, "strips of 4 rows": partial(strips, group=4)}, in_flight)

# %% [markdown]
# Both orders do the same work with the same blocks, but the first wave on the right reads 12 rows of tiles, and the one
# on the left 18. Down a column of a strip, the blocks share a tile of B and read different tiles of A; the next column
# of the strip reads those tiles of A again.
#
# **Exercise 07.2** (about 3 lines). Write `grouped(block, rows, columns, group)`: return the tile (m, n) that the block
# computes when C has rows×columns tiles and blocks traverse strips of `group` rows, each strip column by column. The
# last strip may have fewer rows. Exercise 07.4 calls your function in a kernel, with sizes known only at run time, so
# use only arithmetic and `min`.


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
# A wave of `group` rows is about 132 / group columns wide, and it reads the fewest tiles when it is nearly square: 8
# and 16 rows tie, at 25. This page uses 8; the ladder near its end shows the gain. Whether L2 still holds a tile when a
# later wave asks for it is another question. In notebook 11 you write the model of L2 that answers it, and compare it
# with a GPU's counters. The widget below has such a model. It gets half of the H200's L2, because that L2 has two
# halves, and both keep the tiles that SMs of both sides read. Its "groups of 8" are strips of 8 rows. Click a tile to
# see its wave:

# %%
explore_block_order(rows=32, columns=32, in_flight=h200.sms, l2_mb=h200.l2 // 2**21)

# %% [markdown]
# ## The shape of a tile
#
# Larger tiles load less per operation. So 128×256, the default of NVIDIA's own sample, should beat 128×128. On an H200
# it runs at 6 to 7% of cuBLAS's speed (the ladder below). The compiler's report, here for steps of 64 along K, shows
# why; look at the stack.

# %%
for tm, tn in [(64, 128), (128, 128), (128, 256), (256, 256)]:
    made = compiled(Config(tm, tn))
    print(f"{tm:3}×{tn:<3} {made.registers} registers, {made.stack_bytes:5,} bytes of stack for each thread")

# %% [markdown]
# The stack is in local memory, and this kernel declares nothing that would need one: a large stack means that registers
# were spilled. On Hopper those registers hold the accumulators, which the compiler distributes over the threads of the
# consumer warps, 4 warps by default. (The 256 threads in rung 1's report include 4 producer warps.)

# %%
for tm, tn in [(64, 128), (128, 128), (128, 256), (256, 256)]:
    print(f"{tm:3}×{tn:<3} {tm * tn // (4 * 32):4} accumulators for each of 128 threads")

# %% [markdown]
# A thread can address 255 registers. 128×128 leaves room for everything else; 128×256 does not, so accumulators spill
# to local memory, and the loop along K loads and stores them there. (On sm_100, where the accumulators are in tensor
# memory, the same tile needs no stack: try `compiled(Config(128, 256), "sm_100")`.) There are three ways out:
#
# - a smaller tile;
# - **`num_worker_warps=8`**: twice the threads share the accumulator;
# - **`num_ctas=2`**: a cuTile block becomes a **cluster** of two CTAs on two SMs. They work on one tile, and each holds
#   half of the accumulator. When both need the same operand tile, one TMA load delivers it to both (**multicast**),
#   which also saves loads.
#
# **Exercise 07.3** (about 5 lines). Write `hints(tm, tn)`: return a dict of `num_ctas` and `num_worker_warps` such that
# the bf16 GEMM with a (tm, tn) tile, with sides of 128 or 256 and steps of 32 along K, uses no stack on Hopper. Leave
# each thread at least 64 accumulators, and return `{}` for a tile that fits without hints. `check` asks the compiler.
# (Steps of 32 compile fastest; the same hints are right with the report's steps of 64.)


# %%
def hints(tm, tn):
    ### BEGIN SOLUTION (about 5 lines)
    if tm * tn <= 128 * 128:
        return {}
    if tm * tn <= 128 * 256:
        return {"num_worker_warps": 8}
    return {"num_ctas": 2, "num_worker_warps": 8}
    ### END SOLUTION


# %%
check("07.3", hints)

# %% [markdown]
# **Keep this:** before you time a kernel, read its report. A large stack in a GEMM means that the accumulator does not
# fit in registers. Until it fits, no other tuning matters.

# %% [markdown]
# ## Hints, and what they change
#
# Hints change a kernel's speed, never its result. There are two kinds.
#
# *On the kernel*: `num_ctas`, `occupancy` (the number of blocks that should share an SM) and `num_worker_warps`. A hint
# that helps on one GPU may hurt on another, so each accepts a `ct.ByTarget`:
# `@ct.kernel(num_ctas=ct.ByTarget(sm_100=2, default=1))`. `kernel.replace_hints(...)` returns a copy with other hints.
#
# *On a load*: `latency`, from 1 to 10, tells the compiler how heavy the memory traffic will be, and `allow_tma=False`
# forbids TMA. **Predict** before you run the cell: does a CTA use more or less shared memory with a higher `latency`,
# without TMA, and in a cluster of two?


# %%
@ct.kernel(num_ctas=ct.ByTarget(sm_90=2, default=1))
def hinted(a, b, c, latency: ct.Constant[int], tma: ct.Constant[bool]):
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((128, 128), ct.float32)
    for k in range(ct.cdiv(a.shape[1], 64)):
        rows = ct.load(a, (m, k), (128, 64), padding_mode=ZERO, latency=latency, allow_tma=tma)
        columns = ct.load(b, (n, k), (128, 64), padding_mode=ZERO, latency=latency, allow_tma=tma)
        total = ct.mma(rows, ct.transpose(columns), total)
    ct.store(c, (m, n), total.astype(c.dtype))


one_cta = hinted.replace_hints(num_ctas=1)
ways = {
    "latency 1": (one_cta, 1, True),
    "latency 5": (one_cta, 5, True),
    "latency 10": (one_cta, 10, True),
    "no TMA": (one_cta, 5, False),
    "two CTAs": (hinted, 5, True),
}
compiled_ways = compile_all((kernel, [*matrices, *values], "sm_90") for kernel, *values in ways.values())
for name, made in zip(ways, compiled_ways, strict=True):
    notes = [word for word in ("multicast", "ld.global") if word in made.ptx]
    print(f"{name:10} {made.smem_bytes // 1024:4} KiB of shared memory  {', '.join(notes)}")

# %% [markdown]
# With a higher `latency` the compiler reserves more shared memory, for a deeper pipeline with more tiles in flight.
# Without the hint it chooses the depth itself. Without TMA, the threads load the tiles themselves (`ld.global`), into
# about as much shared memory. In a cluster each CTA uses more, too (the report counts one CTA): it keeps half of A's
# tile, but all of B's, which a multicast load delivers to both. So its stages are smaller than those of a CTA that
# works alone, and the compiler uses the space for more of them.
#
# TMA has a requirement of its own: rows must begin at multiples of 16 bytes. With K = 4090, a row of bf16 is 8,180
# bytes long, and the requirement fails. Nothing in the source shows it:

# %%
odd = [TensorSpec((4096, 4090), "bf16")] * 2 + matrices[:1]
for name, specs in {"K = 4096": matrices, "K = 4090": odd}.items():
    made = compile_cutile(tile_gemm.plain, [*specs, 128, 128, 64], "sm_90")
    print(name, "loads by", "every thread" if "ld.global" in made.instructions else "TMA")

# %% [markdown]
# ## Rung 3: persistent
#
# If C has more tiles than the GPU has SMs, an SM runs one block after another. Each new block starts with empty shared
# memory and waits for its first tiles; at the end its tensor cores idle during the **epilogue**, the store of its tile
# of C. A **persistent** kernel launches only as many blocks as can run at once, and each block computes tile after
# tile. While it stores one tile, the loads of the next are in flight.
#
# Persistence hides the gaps between tiles. It does not hide the last wave, which is rarely full. **Predict** which size
# loses the most to it, 2048, 4096 or 8192:

# %%
for side in (2048, 4096, 8192):
    tiles = (side // 128) ** 2
    waves = tiles / h200.sms
    print(
        f"{side}: {tiles:5,} tiles are {waves:5.2f} waves, and the SMs work {waves / -(-waves // 1):4.0%} of the time"
    )

# %% [markdown]
# None of them: at each size the last wave happens to cost 3%. Before you go on, find a size below 2048 where it costs
# more than a third: change the tuple. (1536 is one: its 144 tiles need two waves, and the second has 12.) The bound is
# the same for one block per tile and for a persistent grid: with 7.76 waves to run, some SMs compute 8 tiles and the
# others 7, in any order. Only cutting the work into other pieces changes it.
#
# `tile_of_product(a, b, m, n, tm, tn, tk)` is the loop of exercise 07.1 as a function that returns the accumulator. A
# kernel may call ordinary functions; they need no decorator.
#
# **Exercise 07.4** (about 5 lines). Write the kernel. It runs on a one-dimensional grid, usually with fewer blocks than
# C has tiles; `ct.num_blocks(0)` is the number of blocks. Block i takes tiles i, i + blocks, i + 2·blocks …; map each
# index to (m, n) with your `grouped`.


# %%
@ct.kernel
def persistent(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int], group: ct.Constant[int]):
    ### BEGIN SOLUTION (about 5 lines)
    rows, columns = ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        m, n = grouped(tile, rows, columns, group)
        product = tile_of_product(a, b, m, n, tm, tn, tk)
        ct.store(c, (m, n), product.astype(c.dtype))
    ### END SOLUTION


# %%
check("07.4", persistent)

# %% [markdown]
# **Keep this:** a persistent grid counts workers, not tiles.
#
# The host picks the number of workers: one per SM, half as many when a tile takes two CTAs, and never more than C has
# tiles. The next cell is all the host code that the kernel needs (`tile_gemm.persistent` is the same kernel as yours).
# Look at how it computes the grid. The matrices are small, so that the kernel can be interpreted. The error that the
# cell prints comes from rounding C to bf16: between 32 and 64, consecutive bf16 numbers are 0.25 apart, so expect about
# half of that.


# %%
def persistent_gemm(a, b, c, tm=128, tn=128, tk=64, group=8, num_ctas=1):
    sms = torch.cuda.get_device_properties(a.device).multi_processor_count
    tiles = ct.cdiv(c.shape[0], tm) * ct.cdiv(c.shape[1], tn)
    blocks = min(sms // num_ctas, tiles)
    kernel = tile_gemm.persistent.replace_hints(num_ctas=num_ctas)
    ct.launch(torch.cuda.current_stream(), (blocks,), kernel, (a, b, c, tm, tn, tk, group))


place = "cuda" if torch.cuda.is_available() else "cpu"
a, b = torch.randn(300, 200, device=place).bfloat16(), torch.randn(500, 200, device=place).bfloat16()
c = torch.empty(300, 500, device=place, dtype=torch.bfloat16)
run_host(persistent_gemm, a, b, c)
print("largest error:", (c - a.float() @ b.float().mT).abs().max().item())

# %% [markdown]
# ## Searching the whole space
#
# Tile, depth, order, CTAs, occupancy, warps: you cannot know the best combination for a shape in advance, but you can
# try them all. `cuda.tile.tune.exhaustive_search` takes a kernel, a list of configurations, and three functions that
# map a configuration to its grid, its arguments and its hints. It compiles and times each configuration.
#
# A search takes time, and arithmetic rules out many configurations before the first is compiled.
#
# **Exercise 07.5** (about 4 lines). Write `fits(tm, tn, tk, element_bytes, num_ctas, warps, occupancy)`: True if
#
# - each thread has at most 128 accumulators: the tile is divided among num_ctas·warps·32 threads. If `occupancy` blocks
#   share an SM, they also share its registers, so the limit of 128 applies to their sum;
# - two stages (one in use, one in flight), each of a (tm, tk) and a (tn, tk) tile, fit into 227 KiB of shared memory.
#   Divide a stage evenly among the CTAs. That is optimistic (you saw that a CTA may keep all of B's tile), but `fits`
#   has only to rule out configurations that cannot work. `occupancy` blocks share the 227 KiB.


# %%
def fits(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    ### BEGIN SOLUTION (about 4 lines)
    accumulators = tm * tn / (num_ctas * warps * 32) * occupancy
    stage = (tm + tn) * tk * element_bytes / num_ctas
    return accumulators <= 128 and 2 * stage * occupancy <= 227 * 1024
    ### END SOLUTION


# %%
check("07.5", fits)

# %% [markdown]
# `tile_gemm.space()` combines 64, 128 and 256 for both sides of the tile, 32, 64 and 128 along K, four or eight warps,
# and one or two CTAs. Two more choices stay fixed, strips of 8 rows and an occupancy of 1. It drops the configurations
# that do not fit, and those that leave a thread fewer than 64 accumulators; that excludes every 64×64 tile.
# `tile_gemm.tune` hands configurations of the persistent kernel to `exhaustive_search`. Here it gets three of them;
# without a GPU the cell says so.

# %%
print(len(list(tile_gemm.space())), "of", 3 * 3 * 3 * 2 * 2, "configurations")
few = [Config(128, 128), Config(128, 256, num_worker_warps=8), Config(256, 256, num_ctas=2, num_worker_warps=8)]
if reason := device.why_not(TMA):
    print("not searched:", reason)
else:
    a, b, c = (torch.randn(4096, 4096, device="cuda").bfloat16() for _ in range(3))
    print("the best of three:", tile_gemm.tune(few, a, b, c).best.config)

# %% [markdown]
# A search finds a good configuration, not always the best: `exhaustive_search` takes the smallest mean of its own runs,
# and these three are close. On an H200 it has chosen 128×256, which both measurements at 4096 below have as the slowest
# of the three, within 3% of the fastest.
#
# `tutor sweep tile_space` times the whole space as carefully as `check` does, alternating each configuration with
# cuBLAS. `tutor plots tile_heatmap` draws the speed of the best hints for each tile and each depth along K:

# %%
show_figure("tile_heatmap")

# %% [markdown]
# Look for the cliffs. Tiles with a side of 64 load the most per operation, and none of them reaches the speed of
# 128×128. And 128×256 loses more than a quarter of its speed from a depth of 64 to 128: the hints that win at 64, eight
# warps on one CTA, are so slow at 128 that two CTAs beat them. `fits` accepts them at both depths, so ask the compiler:
# `print(compiled(Config(128, 256, 128, num_worker_warps=8)))` reports a stack. A search shows *that* a configuration is
# slow, the report shows *why*, and only the reason carries over to the next kernel. Not every difference is in the
# report: from a depth of 32 to 64, 256×128 gets slower and its mirror image faster, and neither has a stack.

# %% [markdown]
# ## The ladder, measured
#
# The rungs of this page in bf16, each alternating with cuBLAS, as fractions of its speed (`tutor sweep tile_rungs`).
# The **spread** of a measurement is the distance between the quartiles of its pairs,
# and the ± is half of it. A difference between two rows is noise if it is smaller than the sum of their two ±.
# **Predict** before you look: at which size does the order of the blocks gain the most, and which tile of the
# persistent kernel is fastest at 2048, which at 8192?

# %%
show_sweep("tile_rungs")

# %% [markdown]
# And the times that `check` measured for the exercises, the appendix included (`tutor evidence 07`). Fractions of
# cuBLAS's speed differ from one GPU to another, so compare times and fractions only within one GPU; each table names
# its own.

# %%
show_ladder("07")

# %% [markdown]
# Compare the first table with your predictions.
#
# - **The order of the blocks** gains at the largest size alone, where L2 holds the smallest part of A and B. At 2048
#   both fit in L2, so the order has nothing to save. The differences at 2048 and at 4096 are noise.
# - **The spilled tile** has the same source as its neighbors and another pair of numbers. Only the compiler's report
#   warns you before you run it.
# - **Persistence** hides a tile's first loads and its epilogue behind another tile's arithmetic, provided that a block
#   has another tile. At 2048 there are 128 tiles of 128×256, fewer than SMs, and the gain is noise.
# - **The best tile** depends on the size. 256×256 loads the least per operation and wins at 8192; at 4096 its lead over
#   128×128 is noise. At 2048 it makes one tile for each pair of SMs, so no second tile hides the first loads and the
#   epilogue, and 128×128 wins.
#
# The appendix goes beyond square bf16 matrices. Its three parts are independent of each other: fp32 through the tensor
# cores (10 minutes), FP8 with 320 rows (35), and a small C with a long K (30).
#
# ## What to remember
#
# - A block owns a tile of C, walks along K and stores once. The accumulator is fp32 until the store.
# - The order of the blocks decides how often memory sends a tile. Strips make a wave nearly square, so it reads fewer
#   tiles.
# - A large stack in the compiler's report means that the accumulators do not fit into registers: use more warps, more
#   CTAs, or a smaller tile.
# - `latency` sets the depth of the pipeline. TMA needs rows that begin at multiples of 16 bytes.
# - A persistent grid is a number of workers: one per SM, or half as many when a tile takes two CTAs.
#
# ## Test yourself
#
# <details><summary>1. A tile of 256×128 in bf16, 4 warps, one CTA. How many accumulators does a thread hold, and what
# will the compiler report?</summary>
#
# 256·128 / 128 = 256. A thread can address 255 registers and needs some for other values, so the report shows a stack:
# accumulators spill. With 8 warps each thread holds 128, and the stack is gone.
#
# </details>
#
# <details><summary>2. C is 8192×8192 and a wave has 128 blocks, tiles of 128×128. How many rows of tiles does a wave
# read down the columns, as in rung 1, and in strips of 8?</summary>
#
# Down the columns: 128 blocks are two columns of 64 tiles, so 64 rows of A's tiles and 2 of B's: 66. Strips of 8: a
# wave is 8 tiles high and 16 wide, so 8 and 16: 24.
#
# </details>
#
# <details><summary>3. C has 140 tiles of 128×128, and the GPU 132 SMs. How much can a persistent grid gain, and what
# else would you try?</summary>
#
# 140 tiles are two waves, the second with 8 tiles: the SMs work 53% of the time, and a persistent grid changes nothing
# about that. Smaller tiles divide the work more evenly: 280 tiles of 64×128 are three waves, and the SMs work 71% of
# the time. But the smaller tile is too slow for that to pay: in the heatmap it reaches about 60% of the speed of
# 128×128. Rather cut K, as the appendix does.
#
# </details>

# %% [markdown]
# ## Appendix: fp32 through the tensor cores
#
# Given fp32 matrices, the kernel is correct but slow: tensor cores do not multiply fp32, so the compiler leaves the
# arithmetic to the ordinary fp32 units. Tensor cores do have **tf32**: fp32's exponent, and 10 bits of fraction instead
# of 23. Cast the *tiles*: the matrices in memory stay fp32, and so does the accumulator. The cell compiles one product
# of two tiles both ways and searches the PTX for wgmma and for ordinary fp32 arithmetic:


# %%
@ct.kernel
def one_product(a, b, c, cast: ct.Constant[bool]):
    dtype = ct.tfloat32 if cast else ct.float32
    x, y = ct.load(a, (0, 0), (64, 32)).astype(dtype), ct.load(b, (0, 0), (64, 32)).astype(dtype)
    ct.store(c, (0, 0), ct.mma(x, ct.transpose(y), ct.zeros((64, 64), ct.float32)))


import re

single = [TensorSpec((4096, 4096), "fp32")] * 3
for name, cast in {"fp32": False, "tf32": True}.items():
    made = compile_cutile(one_product, [*single, cast], "sm_90")
    print(f"{name}:", ", ".join(sorted(set(re.findall(r"wgmma\.mma_async\S*|(?:add|mul|fma)\.rn\.f32", made.ptx)))))

# %% [markdown]
# **Exercise 07.6** (about 6 lines). Write the K loop of the persistent kernel: if A holds fp32 (`a.dtype ==
# ct.float32`, which is known at compile time), multiply in `ct.tfloat32`, otherwise in A's own dtype.


# %%
@ct.kernel
def gemm_tf32(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int], group: ct.Constant[int]):
    rows, columns = ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        m, n = grouped(tile, rows, columns, group)
        total = ct.zeros((tm, tn), ct.float32)
        ### BEGIN SOLUTION (about 6 lines)
        dtype = ct.tfloat32 if a.dtype == ct.float32 else a.dtype
        for k in range(ct.cdiv(a.shape[1], tk)):
            x = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO).astype(dtype)
            y = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO).astype(dtype)
            total = ct.mma(x, ct.transpose(y), total)
        ### END SOLUTION
        ct.store(c, (m, n), total.astype(c.dtype))


# %%
check("07.6", gemm_tf32)

# %% [markdown]
# How much accuracy do the 13 missing bits cost? Rounding an operand changes it by at most one part in 2¹¹. The relative
# error of a sum of K random products is about as large, not K times as large, because errors of opposite sign cancel.
# `check` allows this much and no more; with tiles in bf16, which has 7 bits of fraction, the kernel would fail.

# %% [markdown]
# ## Appendix: FP8, and a matrix with 320 rows
#
# In this GEMM, A has 320 rows, a realistic number of tokens in a language model's batch, and B is a 32576×7168 weight
# matrix, both in fp8 (e4m3, one byte per number). The shape is that of a tutorial on cuTile ("CuTile
# 学习—从 GEMM 开始", January 2026), which tunes it for Blackwell. On Hopper there are two obstacles: accumulation, and
# the sides of a tile, which are powers of two.
#
# **Accumulation.** Hopper's tensor cores accumulate fp8 products with about 14 bits (measured in DeepSeek-V3's
# technical report). So by default cuTile adds the result of each step along K to accumulators in ordinary fp32
# registers, and has to wait for the step to finish first. `ct.mma(..., use_fast_acc=True)`, **fast accumulation**,
# leaves all additions to the tensor cores, as cuBLASLt does when asked for speed. How many stages does the compiler
# make of each? Divide the shared memory by 32 KiB, the size of a stage:

# %%
skinny = [TensorSpec((320, 7168), "e4m3"), TensorSpec((32576, 7168), "e4m3"), TensorSpec((320, 32576), "bf16")]


@ct.kernel
def one_tile(a, b, c, fast: ct.Constant[bool]):
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((128, 128), ct.float32)
    for k in range(ct.cdiv(a.shape[1], 128)):
        rows = ct.load(a, (m, k), (128, 128), padding_mode=ZERO)
        columns = ct.load(b, (n, k), (128, 128), padding_mode=ZERO)
        total = ct.mma(rows, ct.transpose(columns), total, use_fast_acc=fast)
    ct.store(c, (m, n), total.astype(c.dtype))


for fast in (False, True):
    print(f"use_fast_acc={fast!s:5}", compile_cutile(one_tile, [*skinny, fast], "sm_90"))

# %% [markdown]
# Two stages without fast accumulation, six with it. (The small stack without it is probably due to the result of a
# step, which needs registers beside the accumulators.)
#
# **Powers of two.** 320 is not one. With tiles of 128 rows, a sixth of the work is padding. Tiles of 64 rows need no
# padding, but B, a hundred times larger than A, is loaded five times. The cell prints the bytes that each choice moves
# from L2 to the SMs, and the share of the time that padding and the partial last wave leave for useful work:

# %%
rows, columns, depth = 320, 32576, 7168
for tm, tn in [(64, 128), (64, 256), (128, 128), (128, 256), (320, 128)]:
    down, across = -(-rows // tm), -(-columns // tn)
    loaded = across * rows * depth + down * columns * depth  # rows outside A are not loaded
    waves = -(-down * across // h200.sms)
    busy = rows * columns / (waves * h200.sms * tm * tn)
    print(f"{tm:3}×{tn:<3} {loaded / 1e9:.2f} GB to the SMs, useful work at most {busy:4.0%} of the time")

# %% [markdown]
# No line beats the last one in either column: a block that keeps **all 320 rows**. No tile has 320 rows, but a block
# may have more than one accumulator. 320 is 256 + 64: two accumulators, two tiles of A, and one tile of B (a **slab**),
# loaded once and used twice.
#
# Do the accumulators fit? 320·128 of them over 8 warps are 160 per thread, more than the earlier limit of 128. They fit
# because the producer warps give up registers: each consumer thread gets 232 (`setmaxnreg` in the PTX). Which operand
# comes first? A wgmma takes 64 rows of its first operand per warpgroup of 4 warps, and up to 256 of its second. With
# **B** first, its 128 rows are 64 per warpgroup, and each of A's tiles, of 256 and of 64 rows, is the second operand of
# one instruction. The result is a tile of Cᵀ, which the epilogue transposes. (The measurements below include the other
# order.)
#
# `slabs` in `tutorlib/kernels/cutile.py` is this kernel with a few switches; look at it after you have solved the
# exercise. The cell compiles three variants. The last column comes from ptxas, the last compiler in the chain: does it
# allow several wgmma in flight?

# %%
switches = {  # run-time zero, latency of the small tiles and of the large one, stores by TMA
    "accumulators start from 0": (False, 0, 0, True),
    "… latency 3, 6": (False, 3, 6, True),
    "accumulators start from ct.bid(1)": (True, 0, 0, True),
}
wide = slabs.replace_hints(num_worker_warps=8)
compiled_slabs = compile_all((wide, [*skinny, 128, 128, *values], "sm_90") for values in switches.values())
for title, made in zip(switches, compiled_slabs, strict=True):
    verdict = f"one at a time: {reason}" if (reason := serialized(made.ptx)) else "several at a time"
    print(f"{title:26} {made.ptx.count('wgmma.mma_async'):3} wgmma, {made.stack_bytes:5,} bytes of stack, {verdict}")

# %% [markdown]
# Starting from 0 without hints, the compiler spills. With latency 3 and 6 it does not, but it emits each wgmma twice,
# and ptxas lacks the registers to keep several in flight. The zero is behind both. A wgmma can ignore the contents of
# its accumulator, and the compiler uses that in the first step, in place of registers full of zeros. Without hints a
# predicate tells the loop's wgmma which step is the first; with latency 3 and 6 the compiler peels the first step off
# the loop. Either way the PTX has a second set of registers for the accumulators, and a thread does not have another
# 160.
#
# So start from a **run-time zero**, one whose value the compiler cannot prove. The grid is one-dimensional, so
# `ct.bid(1)` is 0 in every block, but the compiler does not know that. It has to load this zero into the accumulators.
# Then the first step is like all others, one set of registers is enough, and nothing spills. The depth of the pipeline
# is a separate question, limited by shared memory.
#
# **Exercise 07.7** (about 8 lines). Write the kernel for 256 < M ≤ 320. It is persistent over B's tiles of `tn` rows.
# `ct.load(a, (4, k), (64, tk))` loads A's rows 256 to 319: an index counts tiles of the requested shape. At full size
# tn = tk = 128. Multiply with `use_fast_acc=True`; otherwise the kernel needs a second set of accumulators, and
# registers for it. Store with `allow_tma=False`: a TMA store goes through shared memory, 64 KiB for the tile of 256
# rows, which the loop needs for its stages. `check` compiles the kernel for Hopper and reads the report, as you can:
# `made = compile_cutile(gemm_fp8, [*skinny, 128, 128], "sm_90")` has no stack, and `serialized(made.ptx)` is None.


# %%
@ct.kernel(num_worker_warps=ct.ByTarget(sm_90=8))
def gemm_fp8(a, b, c, tn: ct.Constant[int], tk: ct.Constant[int]):
    zero = ct.bid(1)  # 0, unknown to the compiler
    for n in range(ct.bid(0), ct.cdiv(b.shape[0], tn), ct.num_blocks(0)):
        upper = ct.full((tn, 256), zero, ct.float32)  # of Cᵀ: for A's rows 0 to 255
        lower = ct.full((tn, 64), zero, ct.float32)  # for rows 256 to 319
        ### BEGIN SOLUTION (about 8 lines)
        for k in range(ct.cdiv(a.shape[1], tk)):
            slab = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
            first = ct.load(a, (0, k), (256, tk), padding_mode=ZERO)
            rest = ct.load(a, (4, k), (64, tk), padding_mode=ZERO)
            upper = ct.mma(slab, ct.transpose(first), upper, use_fast_acc=True)
            lower = ct.mma(slab, ct.transpose(rest), lower, use_fast_acc=True)
        ct.store(c, (0, n), ct.transpose(upper.astype(c.dtype)), allow_tma=False)
        ct.store(c, (4, n), ct.transpose(lower.astype(c.dtype)), allow_tma=False)
        ### END SOLUTION


# %%
check("07.7", gemm_fp8)

# %% [markdown]
# **Keep this:** a tile's sides are powers of two, but a block's share of C can have another size: give the block
# several accumulators, as long as its registers hold them. And when a kernel is slower than it should be, read the
# report of each compiler in the chain.
#
# How close does it get to cuBLASLt? These variants were timed at this size, each alternating with cuBLASLt, and
# profiled with Nsight Compute on an H200. An indented line changes *slabs of 128*, the kernel that starts
# from 0. All rows but the first use fast accumulation. *Latency 3, 6* are the hints on the loads of the small tiles and
# of the large one; *A first* has A as the first operand, so C needs no transpose; *latency 7, 7* also stores without
# TMA; *256 for 2 CTAs* uses slabs of 256 rows of B, half for each CTA. *busy* is the percentage of an SM's cycles in
# which its tensor cores work, *clock* the SM clock in Hz, *to_SMs* the bytes that arrive at the SMs, each copy of a
# multicast counted.

# %%
show_sweep("tile_fp8", busy=TENSOR_BUSY, clock=SM_CLOCK, to_SMs=TO_SMS)

# %% [markdown]
# Read down the *busy* column. Tiles of 128×256 keep the tensor cores busy, but a sixth of their work is padding. The
# slabs that start from 0 without hints spill, and are by far the slowest. With latency hints they no longer spill, but
# their wgmma wait for each other, and the tensor cores idle a quarter of the time. A run-time zero in place of the
# hints closes part of that gap. With it, a deeper pipeline closes most of the rest, whether it comes from latency hints
# or from stores that leave it the shared memory. After that, the order of the operands makes no difference that exceeds
# the spread.
#
# Then look at the clock. Among the slabs of 128 that do not spill, which all move the same bytes, it falls from 1.58 to
# about 1.5 GHz as the tensor cores get busier. At nearly the same *busy* it falls with the bytes: 64×128 moves twice as
# many as the slabs with *latency 3, 6*, and runs at an 8% lower clock. Both are signs of the power limit.

# %% [markdown]
# ## Appendix: split-K, for few tiles and a large K
#
# Until now C had enough tiles to occupy the SMs. Now let C be small and K long, as in the gradient of a layer's
# weights. A 512×512 C has 16 tiles of 128×128: 16 SMs walk along all of K while 116 idle. Smaller tiles would use more
# SMs, but load more per operation.
#
# There is a third mode to cut: **K**. One block takes the first steps along K, another the next, and so on, each with
# its own accumulator: **split-K**. In the picture three blocks, one color each, share a tile:

# %%
show_k_loop(rows=2, columns=2, steps=9, tile=(0, 1), parts=3)

# %% [markdown]
# Then the partial results have to be added, in one of two ways:
#
# - **a second pass**: each block stores its partial result separately, and a second kernel adds them. That costs a
#   launch, and parts · M · N · 4 bytes written and then read. The order of the additions is fixed, so the same input
#   gives the same bits;
# - **atomic additions** (`ct.atomic_add`) into one fp32 matrix. This needs no pass of additions, but one pass that
#   zeroes the matrix and one that rounds it to bf16. Blocks add in the order in which they finish, so the last bits
#   differ from run to run.
#
# **Predict**: how many parts are best for 512×512×16384? And for 2048×2048×2048, which has 256 tiles?
#
# **Exercise 07.8** (about 9 lines). Write the kernel. `parts` has the shape (S, M, N) and is fp32; the grid is (tiles
# of M, tiles of N, S). K has ct.cdiv(K, tk) steps, divided among the S parts in runs of equal length: `run =
# ct.cdiv(steps, S)`. Part s accumulates the steps from s·run up to, but not including, (s + 1)·run, and never past the
# last step: later parts may be shorter, and an empty part stores zeros.


# %%
@ct.kernel
def partial_products(a, b, parts, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    ### BEGIN SOLUTION (about 9 lines)
    m, n, part = ct.bid(0), ct.bid(1), ct.bid(2)
    steps = ct.cdiv(a.shape[1], tk)
    run = ct.cdiv(steps, parts.shape[0])
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(part * run, min(steps, part * run + run)):
        rows = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
        columns = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
        total = ct.mma(rows, ct.transpose(columns), total)
    ct.store(parts, (part, m, n), ct.reshape(total, (1, tm, tn)))
    ### END SOLUTION


# %%
check("07.8", partial_products)

# %% [markdown]
# The second pass needs nothing beyond notebook 06. Here it is:


# %%
@ct.kernel
def add_parts(parts, c, tm: ct.Constant[int], tn: ct.Constant[int]):
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for part in range(parts.shape[0]):
        total += ct.reshape(ct.load(parts, (part, m, n), (1, tm, tn)), (tm, tn))
    ct.store(c, (m, n), total.astype(c.dtype))


# %% [markdown]
# **Exercise 07.9** (about 10 lines). Write the host function `split_gemm(a, b, c)`: C = A·Bᵀ for any sizes, in tiles of
# 128×128 and steps of 64. It picks the largest number of parts S with tiles · S ≤ SMs, at least 1 and at most the
# number of steps; it allocates the partial results and launches both kernels. `persistent_gemm` in the main path shows
# how to get the number of SMs. Give the second pass smaller tiles: with 128×128 it would have only 16 blocks for a
# 512×512 C, and most SMs would be idle again.


# %%
def split_gemm(a, b, c):
    ### BEGIN SOLUTION (about 10 lines)
    tm, tn, tk = 128, 128, 64
    rows, columns, steps = ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn), ct.cdiv(a.shape[1], tk)
    sms = torch.cuda.get_device_properties(a.device).multi_processor_count
    splits = max(1, min(sms // (rows * columns), steps))
    parts = torch.empty(splits, *c.shape, device=a.device)
    stream = torch.cuda.current_stream()
    ct.launch(stream, (rows, columns, splits), partial_products, (a, b, parts, tm, tn, tk))
    small = 32, 64  # 128 blocks for a 512×512 C
    ct.launch(stream, tuple(map(ct.cdiv, c.shape, small)), add_parts, (parts, c, *small))
    ### END SOLUTION


# %%
check("07.9", split_gemm)

# %% [markdown]
# Was your prediction right? Count the blocks. For 512×512×16384, 8 parts are 128 blocks in one wave; 16 parts take two
# waves and write twice as much. At 2048×2048×2048 the 256 tiles keep the SMs busy as they are.
#
# **Keep this:** parallelism comes from the modes you cut. M and N give independent tiles; K gives partial results that
# must be added. With atomics, the order of the additions changes from run to run, and so do the last bits of the
# result; a second pass adds in a fixed order.

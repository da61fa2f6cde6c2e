# ---
# jupyter:
#   tutorlib:
#     minutes: 150
#     summary: A GEMM of eight lines, and what lies between it and cuBLAS. Then fp32, FP8 and a small C with a long K.
# ---

# %% [markdown]
# # 07 · A GEMM in cuTile, from eight lines to an autotuned kernel
#
# C = A·Bᵀ is where a GPU earns its money, and the kernel that you write first on this page has eight lines. This page
# is about the distance from those lines to cuBLAS: the order in which blocks take their tiles, the shape of a tile, and
# a handful of hints. Every rung changes a few lines and keeps the same contract: A is (M, K) and B is (N, K), both
# row-major, C is (M, N), accumulated in fp32.
#
# `check` interprets your kernels block by block, so a laptop tells right from wrong. A GPU adds what they are worth.
# What the compiler makes of them you can read anywhere: it needs no GPU either.
#
# > **After this page you can** write a GEMM in cuTile, choose its tile, order and hints by what the compiler reports,
# > launch it persistently, put several accumulators into one block, and cut K where C is small.
# >
# > **It takes** about 150 minutes, on any machine; a GPU adds the speed.

# %%
from functools import partial

import cuda.tile as ct
import torch

from tutorlib import check
from tutorlib.compiling.cutile import compile_all, compile_cutile
from tutorlib.compiling.ptxas import serialized
from tutorlib.compiling.spec import TensorSpec
from tutorlib.draw import show_block_order, show_k_loop
from tutorlib.explorers.block_order import explore_block_order
from tutorlib.kernels.cutile import gemm as tile_gemm
from tutorlib.kernels.cutile.fp8 import slabs
from tutorlib.kernels.cutile.gemm import Config, compiled, tile_of_product
from tutorlib.machine import device
from tutorlib.machine.features import TMA
from tutorlib.machine.hardware import hardware_of
from tutorlib.measuring.counters import SM_CLOCK, TENSOR_BUSY, TO_SMS
from tutorlib.models.l2 import grouped as strips
from tutorlib.models.l2 import raster, traffic
from tutorlib.notebook.measured import show_figure, show_ladder, show_sweep
from tutorlib.notebook.trials import run_host

ZERO = ct.PaddingMode.ZERO
h200 = hardware_of("NVIDIA H200")

# %% [markdown]
# ## Rung 1: a block for each tile of C
#
# Tile (m, n) of C needs row m of A's tiles and row n of B's, nothing else. So the block that owns it walks along K:
# load a tile of A, load a tile of B, multiply, add; at the end it stores the sum once. In the picture a color is a
# step: two tiles that are loaded together. The last step reaches beyond K; what is hatched there must count as zero.

# %%
show_k_loop()

# %% [markdown]
# Why tiles at all? Count what a block loads for each operation that it does. **Predict** before you run the cell: how
# large must a square tile be before an H200 could feed its tensor cores from memory alone?

# %%
print(f"the tensor cores want {h200.flops['bf16'] / h200.bandwidth:.0f} operations for each byte from memory")
for side in (16, 32, 64, 128, 256):
    operations, bytes_loaded = 2 * side * side, (side + side) * 2  # for one step along K, bf16
    print(f"{side:3}×{side:<3} tile: {operations / bytes_loaded:4.0f} operations for each byte")

# %% [markdown]
# Not even 256×256 is enough. What saves us is that blocks share. At 4096, the 32 blocks that own a row of 128×128 tiles
# read the same row of A. If they read it at about the same time, it comes from memory once and from L2 the other 31
# times. Rung 2 is about *the same time*.
#
# **Exercise 07.1** (about 5 lines). Write the kernel. `ct.mma(x, y, total)` is x @ y + total for tiles of shapes (tm,
# tk), (tk, tn) and (tm, tn). A tile of B is (tn, tk): `ct.transpose` it. That costs nothing here, for K is contiguous
# in it, and so tensor cores like both operands best. (In 16 bits they read the other order as well; in 8 and in 32 bits
# they do not, and a transpose has to move data.) K may be no multiple of tk.


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
# No thread, no barrier, no shared memory, no address. What did the compiler put in their place? This is the same
# kernel (`tile_gemm.plain`, so that the cell runs before you have solved the exercise), compiled for three
# generations of tensor cores:

# %%
matrices = [TensorSpec((4096, 4096), "bf16")] * 3
of_interest = {"cp.async", "ldmatrix", "mma.sync", "cp.async.bulk.tensor", "mbarrier", "wgmma", "tcgen05"}
generations = ("sm_80", "sm_90", "sm_100")
for made in compile_all((tile_gemm.plain, [*matrices, 128, 128, 64], arch) for arch in generations):
    print(made, "\n   ", ", ".join(sorted(made.instructions & of_interest)))

# %% [markdown]
# On Ampere it is the pipeline that notebooks 09 to 12 build by hand: cp.async, ldmatrix, mma.sync. On Hopper, TMA
# (`cp.async.bulk.tensor`) fills shared memory while wgmma empties it, in different warps of the same block. On
# Blackwell the accumulators are not even in registers any more. Eight lines, three machines: that is the bargain that
# cuTile offers. You give up control over *how*; this page is about the control that is left.
#
# **Keep this:** the block index picks a tile of C; the loop walks along K; the accumulator is fp32 until the store.

# %% [markdown]
# ## Rung 2: who runs at the same time
#
# C at 8192×8192 has 64×64 tiles of 128×128, and an H200 has 132 SMs. Blocks start in the order of their numbers; the
# first 132 make up a *wave*. With the grid of rung 1 the row index runs fastest, so a wave is two columns of C's tiles
# and a bit: it reads **all** of A and three rows of tiles of B.
#
# Now let the wave be a rectangle instead. Below are both orders in miniature, 16×16 tiles and 32 blocks in flight; the
# colors are waves, and green marks the tiles of A and B that the first one reads.

# %%
small, in_flight = (16, 16), 32
show_block_order(small, {"down the columns": raster, "strips of 4 rows": partial(strips, group=4)}, in_flight)

# %% [markdown]
# Same blocks, same work. (B is drawn transposed: a column in the picture is one of B's rows of tiles.) The right one
# reads 12 rows of tiles where the left one reads 18. In the first column of a strip, neighboring blocks read the same
# tile of B and different ones of A; in the next column, the tiles of A are those of the column before.
#
# **Exercise 07.2** (about 3 lines). Write `grouped(block, rows, columns, group)`: which tile (m, n) the block computes,
# if C has rows×columns tiles and blocks go through strips of `group` rows, each strip column by column. The last strip
# may be lower. Kernels will call your function with sizes that are known at run time only, so use arithmetic, `min`
# and nothing else.


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
# What is it worth? `traffic` runs a GEMM's tile loads through a model of L2, a cache that evicts the least recently
# used tile. (Half of the H200's L2, since its two halves may both keep a tile; and blocks that drift apart by an
# eighth: its docstring says why.) Which group is best? Say it before you run the cell.

# %%
size, tile, k_tile = 8192, 128, 64
grid, tile_bytes = (size // tile, size // tile), (tile * k_tile * 2, tile * k_tile * 2)
orders = {"columns": raster} | {f"{n} rows": partial(strips, group=n) for n in (1, 4, 8, 16, 32)}
for name, order in orders.items():
    seen = traffic(grid, order, size // k_tile, tile_bytes, h200.sms, h200.l2 // 2, drift=1 / 8)
    sent = f"{seen.fetched / 1e9:5.2f} GB, and {seen.least / 1e9:.2f} at least"
    print(f"{name:8} L2 has {seen.hit_rate:4.0%}; memory sends {sent}")

# %% [markdown]
# A wave of `group` rows is about 132 / group columns wide; it reads least when it is nearly square. That is why
# published kernels use 8 or 16, and the next one up or down costs little. Another GPU or another size wants another
# number. (It is a model: what the order is worth in time stands in the ladder at the end of the page.) Click a tile to
# see the wave that it belongs to:

# %%
explore_block_order(rows=32, columns=32, in_flight=h200.sms, l2_mb=h200.l2 // 2**21)

# %% [markdown]
# ## The shape of a tile
#
# Larger tiles load less for each operation. So 128×256 should beat 128×128, and it is what NVIDIA's own sample has as
# its default. On Hopper it is a catastrophe. The compiler will tell us why; look at the stack.

# %%
for tm, tn in [(64, 128), (128, 128), (128, 256), (256, 256)]:
    made = compiled(Config(tm, tn))
    print(f"{tm:3}×{tn:<3} {made.registers} registers, {made.stack_bytes:5,} bytes of stack for each thread")

# %% [markdown]
# A stack is local memory, and a kernel like this one needs none. It is there because something did not fit into
# registers. What? The accumulator: on Hopper it is spread over the registers of the warps that compute, 4 of them
# unless you say otherwise. (A report of 256 threads counts 4 more warps, which move data.)

# %%
for tm, tn in [(64, 128), (128, 128), (128, 256), (256, 256)]:
    print(f"{tm:3}×{tn:<3} {tm * tn // (4 * 32):4} accumulators for each of 128 threads")

# %% [markdown]
# A thread can address 255 registers. 128×128 leaves room for everything else; 128×256 does not, and so at every step
# along K accumulators travel to memory and back. (On sm_100 the accumulator has a memory of its own: the same kernel
# needs no stack there.) There are three ways out:
#
# - a smaller tile;
# - **`num_worker_warps=8`**: twice the threads share the accumulator;
# - **`num_ctas=2`**: two blocks on two SMs, a *cluster*, work on one tile, and each holds half of it. TMA delivers a
#   tile that both need to both at once (*multicast*), so they even save loads.
#
# **Exercise 07.3** (about 5 lines). Write `hints(tm, tn)`: a dict of `num_ctas` and `num_worker_warps` with which the
# bf16 GEMM with a (tm, tn) tile keeps nothing on its stack on Hopper, for tiles up to 256×256. A tile that fits without
# hints gets `{}`. `check` asks the compiler.


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
# **Keep this:** before you time a kernel, read its report. A large stack in a GEMM means that the accumulator did not
# fit, and nothing else that you tune will matter.

# %% [markdown]
# ## Hints, and what they change
#
# Hints never change a result. They stand in two places.
#
# *On the kernel*: `num_ctas`, `occupancy` (how many blocks should share an SM) and `num_worker_warps`. A hint that is
# good for one GPU may be useless on another, so each takes a `ct.ByTarget`: `@ct.kernel(num_ctas=ct.ByTarget(sm_100=2,
# default=1))`. `kernel.replace_hints(...)` gives you a copy with others.
#
# *On a load*: `latency`, from 1 to 10, says how heavy the traffic will be, and `allow_tma=False` forbids TMA. What do
# they do? Nothing that you have to believe: compile, and compare.


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
# Latency is the depth of the pipeline: how many tiles are in flight, and shared memory pays for it. Where you say
# nothing, the compiler guesses. Without TMA the threads fetch the tiles themselves, as before Hopper.
#
# TMA asks for something too: rows must begin at multiples of 16 bytes. K = 4090 breaks that, and there is nothing to
# be seen in the source:

# %%
odd = [TensorSpec((4096, 4090), "bf16")] * 2 + matrices[:1]
for name, specs in {"K = 4096": matrices, "K = 4090": odd}.items():
    made = compile_cutile(tile_gemm.plain, [*specs, 128, 128, 64], "sm_90")
    print(name, "loads by", "single threads" if "ld.global" in made.instructions else "TMA")

# %% [markdown]
# ## Rung 3: persistent
#
# With more tiles than SMs, blocks come and go. Each newcomer starts with empty shared memory and waits for its first
# tiles; each leaver stores its part of C while its tensor cores do nothing. A **persistent** kernel launches as many
# blocks as fit on the GPU, once, and lets each compute tile after tile. While one tile is stored, the loads of the next
# are in flight.

# %%
tiles = (4096 // 128) ** 2
print(f"{tiles} tiles on {h200.sms} SMs are {tiles / h200.sms:.2f} waves")

# %% [markdown]
# `tile_of_product(a, b, m, n, tm, tn, tk)` is the loop of exercise 07.1 in a function, and returns the accumulator: a
# kernel may call ordinary functions, and they need no decorator.
#
# **Exercise 07.4** (about 5 lines). Write the kernel. It runs on a grid of one dimension that has fewer blocks than C
# has tiles; `ct.num_blocks(0)` says how many. Let block i take tiles i, i + blocks, i + 2·blocks …, and pass each
# number through your `grouped`.


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
# **Keep this:** a grid is a number of workers, not a number of jobs.
#
# The host has to know how many workers there are. It asks for the number of SMs, starts no more blocks than C has
# tiles, and with two CTAs for a tile half as many. This is all that stands around the kernel (`tile_gemm.persistent` is
# the same kernel as yours). The matrices are small here, so that it can be interpreted; look at what is multiplied with
# what to get the grid. The error that the cell prints is the rounding of C: between 32 and 64, two numbers of bf16 that
# follow each other are 0.25 apart.


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
# Tile, depth, order, CTAs, occupancy, warps: the best combination for a shape cannot be known beforehand, but a
# computer has the patience to try them all. `cuda.tile.tune.exhaustive_search` takes a kernel, a list of configurations
# and three functions of one: its grid, its arguments, its hints. It compiles and times each.
#
# That takes its time, and many of them are hopeless for a reason you can state. So state it.
#
# **Exercise 07.5** (about 4 lines). Write `fits(tm, tn, tk, element_bytes, num_ctas, warps, occupancy)`: True if
#
# - each thread has at most 128 accumulators: the tile is spread over num_ctas·warps·32 threads. If `occupancy` blocks
#   share an SM, they share its registers too, so then it is 128 for all of them together;
# - two stages (one in use, one in flight) of a (tm, tk) and a (tn, tk) tile fit into 227 KiB of shared memory. Each CTA
#   holds its share of the tiles; `occupancy` blocks share the 227 KiB.


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
# `tile_gemm.space()` is the product of 64, 128 and 256 for both sides of the tile, 32, 64 and 128 along K, four or
# eight warps, one or two CTAs, without those that do not fit or leave a thread too little to do. `tile_gemm.tune` hands
# configurations of the persistent kernel to `exhaustive_search`. Here it gets three of them; without a GPU there is
# nothing to time.

# %%
print(len(list(tile_gemm.space())), "of", 3 * 3 * 3 * 2 * 2, "configurations")
few = [Config(128, 128), Config(128, 256, num_worker_warps=8), Config(256, 256, num_ctas=2, num_worker_warps=8)]
if reason := device.why_not(TMA):
    print("not searched:", reason)
else:
    a, b, c = (torch.randn(4096, 4096, device="cuda").bfloat16() for _ in range(3))
    print("the best of three:", tile_gemm.tune(few, a, b, c).best.config)

# %% [markdown]
# `tutor sweep tile_space` times the whole space in the same careful way as `check` does, each configuration in turns
# with cuBLAS, and `tutor plots tile_heatmap` draws for each tile and each depth the best that any hints gave.

# %%
show_figure("tile_heatmap")

# %% [markdown]
# Look for the cliffs. A search does not replace the reading of reports: it tells you *that* a point is bad, the report
# tells you *why*, and only the second is worth something for the next kernel.

# %% [markdown]
# ## fp32 through the tensor cores
#
# Give the kernel fp32 matrices and it is right, and slow: tensor cores have no fp32, so ct.mma falls back to ordinary
# multiplications. What they have is **tf32**: fp32's exponent, and 10 bits of fraction instead of 23. Cast the *tiles*,
# and neither memory nor the accumulator changes:

# %%
single = [TensorSpec((4096, 4096), "fp32")] * 3
made = compile_cutile(tile_gemm.plain, [*single, 64, 64, 32], "sm_90")
print("fp32 tiles:", "wgmma" if "wgmma" in made.instructions else "no tensor core instruction")

# %% [markdown]
# **Exercise 07.6** (about 6 lines). The persistent kernel once more, with its loop: if A holds fp32 (`a.dtype ==
# ct.float32`, which is known when the kernel is compiled), multiply in `ct.tfloat32`, else in A's own dtype.


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
# What do the 13 bits that are missing cost? Numbers are off by up to one part in 2¹¹, a sum of K random products by
# about that, and not by K times that: errors of either sign cancel. `check` allows this much and no more; tiles in bf16
# would fail.

# %% [markdown]
# ## FP8, and a matrix with 320 rows
#
# The last rung is not square: A has 320 rows, as many tokens as a language model may have in one batch, and B is a
# weight matrix of 32576×7168, in fp8 (e4m3, one byte for each number). A tutorial of January 2026, "CuTile学习—从 GEMM
# 开始", took this shape on a Blackwell GPU from 130 µs with NVIDIA's sample kernel over 87.5 µs with a persistent one
# to 80 µs by searching its space, beside 77 µs for DeepGEMM (as published there). On Hopper two things stand in the
# way.
#
# **Fast accumulation.** Hopper's tensor cores add fp8 products with about 14 bits (DeepSeek-V3's technical report found
# that out by measuring). So by default cuTile adds what each step along K gives to ordinary fp32 registers, and waits
# for the step to end before it can. `ct.mma(..., use_fast_acc=True)` leaves the accumulation to the tensor cores, which
# is what cuBLASLt does when it is asked for speed. Read the shared memory as the number of steps in flight:

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
# **Powers of two.** 320 is none. With tiles of 128 rows a sixth of the work is on padding. With tiles of 64 none is,
# but then B, which is a hundred times larger than A, is loaded five times over. Here is what each choice moves from
# L2 to the SMs, and how long its last block makes the others wait:

# %%
rows, columns, depth = 320, 32576, 7168
for tm, tn in [(64, 128), (64, 256), (128, 128), (128, 256), (320, 128)]:
    down, across = -(-rows // tm), -(-columns // tn)
    loaded = across * rows * depth + down * columns * depth  # what lies outside A is not loaded
    waves = -(-down * across // h200.sms)
    busy = rows * columns / (waves * h200.sms * tm * tn)
    print(
        f"{tm:3}×{tn:<3} {loaded / 1e9:.2f} GB to the SMs, tensor cores at useful work {busy:4.0%} of the time at most"
    )

# %% [markdown]
# The last line is the one to have: a block that keeps **all 320 rows**. No tile has 320 rows, but a block may have more
# than one accumulator. 320 is 256 + 64: two of them, two tiles of A, and one tile of B that is loaded once and used
# twice.
#
# Do the accumulators fit? 320·128 of them over 8 warps are 160 for each thread, more than the 128 of before. It works
# because the warps that only move data give their registers up: each computing thread gets 232 (`setmaxnreg` in the
# PTX). One more turn: an instruction of Hopper's tensor cores takes 64 rows of its first operand for each group of
# 4 warps, and up to 256 of its second. Let **B** be the first one: its 128 rows are 64 for each group, and A's 256 and
# 64 rows are one instruction each. What you get is a tile of Cᵀ, to be transposed on its way out.
#
# So much for the idea. The compilers have theirs. `slabs` in `tutorlib/kernels/cutile/fp8.py` is this kernel with a few
# switches (look at it later). Here is what becomes of three of them. The last column is ptxas, the last compiler in the
# row: does it let several wgmma run at a time?

# %%
switches = {  # open zero, latency of the small tiles and of the large one, stores by TMA
    "sums start from 0": (False, 0, 0, True),
    "… latency 3, 6": (False, 3, 6, True),
    "sums start from ct.bid(1)": (True, 0, 0, True),
}
wide = slabs.replace_hints(num_worker_warps=8)
compiled_slabs = compile_all((wide, [*skinny, 128, 128, *values], "sm_90") for values in switches.values())
for title, made in zip(switches, compiled_slabs, strict=True):
    verdict = f"one at a time: {reason}" if (reason := serialized(made.ptx)) else "several at a time"
    print(f"{title:26} {made.ptx.count('wgmma.mma_async'):3} wgmma, {made.stack_bytes:5,} bytes of stack, {verdict}")

# %% [markdown]
# Left alone, the compiler spills. With hints that keep it from fetching far ahead it does not. Instead it has each
# wgmma twice, and each waits until the one before is done, for want of registers. The twins come from the zero: a wgmma
# can be told to ignore what its accumulator holds, so the compiler takes the first step out of the loop and does it
# that way. The accumulators of the step outside and of the loop inside are different registers, and there are no 160 to
# spare.
#
# So give it a zero that it cannot know. The grid has one dimension, and `ct.bid(1)` is 0 in every block; to the
# compiler it is a number like any other. The accumulators start from registers that hold it, nothing leaves the loop,
# nothing is spilled. How far ahead the loads may run is another question, and shared memory decides it.
#
# **Exercise 07.7** (about 8 lines). Write the kernel for 256 < M ≤ 320. It is persistent over B's tiles of `tn` rows.
# `ct.load(a, (4, k), (64, tk))` are A's rows 256 to 319: an index counts tiles of the shape that you ask for. At full
# size tn = tk = 128. Multiply with `use_fast_acc=True`, or there is a second set of accumulators, for which there are
# no registers. Store with `allow_tma=False`: a store by TMA goes through shared memory, 64 KiB of it for the tile of
# 256 rows, and the loop has better use for it. `check` sees what that costs on a Hopper GPU alone. Anywhere else look
# at `made = compile_cutile(gemm_fp8, [*skinny, 128, 128], "sm_90")`: no stack, and `serialized(made.ptx)` is None.


# %%
@ct.kernel(num_worker_warps=ct.ByTarget(sm_90=8))
def gemm_fp8(a, b, c, tn: ct.Constant[int], tk: ct.Constant[int]):
    zero = ct.bid(1)  # which the compiler does not know
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
# **Keep this:** the language has tiles of powers of two; the algorithm need not. Several accumulators for one block are
# a tile of any shape, as long as the registers hold them once. And when a kernel that should be fast is not, ask each
# compiler in the row what it did.
#
# How far does it get? These were tried at this size, each in turns with cuBLASLt, and counted by Nsight Compute (`tutor
# sweep tile_fp8`). *Slow sums* is the variant without fast accumulation; *latency 3, 6* are the hints on the loads of
# the small tiles and of the large one; the *open zero* is ct.bid(1); *A first* has A as the first operand, and C need
# not be transposed; *256 for 2 CTAs* are slabs of 256 rows of B, half of them for each CTA. *Busy* is the percentage of
# an SM's cycles in which its tensor cores work, *clock* the SMs' cycles in a second, *to SMs* the bytes that come out
# of L2 or of a neighbor's load.

# %%
show_sweep("tile_fp8", busy=TENSOR_BUSY, clock=SM_CLOCK, to_SMs=TO_SMS)

# %% [markdown]
# Read down the column *busy*. Tiles of 128×256 are busy, but a sixth of what they do is padding. The slabs whose wgmma
# wait for each other idle for a good part of the time. The open zero closes a part of that gap; with loads that run
# ahead, or stores that leave them the room, most of it. Which operand comes first then hardly matters. And look at the
# clock: at its power limit the GPU takes cycles from those who move and multiply most in each.

# %% [markdown]
# ## Few tiles, large K: split-K
#
# All of this page was about matrices with more tiles than the GPU has SMs. Now let C be small and K long, as in the
# gradient of a layer's weights. C of 512×512 has 16 tiles of 128×128: 16 SMs work, 116 are idle, and each of these 16
# walks a long way alone. Smaller tiles would share the work out, but load more for each operation.
#
# There is a third mode to cut: **K**. A sum may be added up in parts: one block takes the first steps along K, another
# one the next, and so on, each with an accumulator of its own. Here three blocks share a tile, a color for each:

# %%
show_k_loop(rows=2, columns=2, steps=9, tile=(0, 1), parts=3)

# %% [markdown]
# Then the partial results have to be added. There are two ways:
#
# - **a second pass**: each block stores its part into memory of its own, and a second kernel adds them. That costs a
#   launch, and parts · M · N · 4 bytes written and read. The order of the additions is fixed, so the same input gives
#   the same bits;
# - **atomic additions** (`ct.atomic_add`) into one fp32 matrix that was zero before. No second kernel, but another pass
#   to make zeros, one to round to bf16, and the parts come in the order in which blocks end: the last bits differ from
#   run to run.
#
# **Predict**: how many parts are best for 512×512×16384? And for 2048×2048×2048, which has 256 tiles?
#
# **Exercise 07.8** (about 9 lines). Write `partial_products(a, b, parts, tm, tn, tk)`. `parts` has the shape (S, M, N)
# and is fp32; the grid is (tiles of M, tiles of N, S). K has ct.cdiv(K, tk) steps, and S parts share them in runs of
# equal length: `run = ct.cdiv(steps, S)`. Part s adds up the steps from s·run to (s + 1)·run; a later part may be
# shorter, or empty, and is zero then.


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
# The second pass is a kernel that you could write since notebook 06. Here it is:


# %%
@ct.kernel
def add_parts(parts, c, tm: ct.Constant[int], tn: ct.Constant[int]):
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for part in range(parts.shape[0]):
        total += ct.reshape(ct.load(parts, (part, m, n), (1, tm, tn)), (tm, tn))
    ct.store(c, (m, n), total.astype(c.dtype))


# %% [markdown]
# **Exercise 07.9** (about 9 lines). Write the host function `split_gemm(a, b, c)`: C = A·Bᵀ for any sizes, in tiles of
# 128×128 and steps of 64. Where C has too few tiles, it picks as many parts as bring the most blocks into one wave, one
# for each SM and no more (and one part where C has enough tiles); it makes room for them, and launches both kernels.
# `persistent_gemm` above shows how to ask for the number of SMs. No more parts than steps. The tiles of the second pass
# need not be those of the first.


# %%
def split_gemm(a, b, c):
    ### BEGIN SOLUTION (about 9 lines)
    tm, tn, tk = 128, 128, 64
    rows, columns, steps = ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn), ct.cdiv(a.shape[1], tk)
    sms = torch.cuda.get_device_properties(a.device).multi_processor_count
    splits = max(1, min(sms // (rows * columns), steps))
    parts = torch.empty(splits, *c.shape, device=a.device)
    stream = torch.cuda.current_stream()
    ct.launch(stream, (rows, columns, splits), partial_products, (a, b, parts, tm, tn, tk))
    ct.launch(stream, (rows, columns), add_parts, (parts, c, tm, tn))
    ### END SOLUTION


# %%
check("07.9", split_gemm)

# %% [markdown]
# And what is it worth? Both ways, with up to 16 parts, as fractions of cuBLAS's speed, which cuts K too where it thinks
# it pays (`tutor sweep tile_split_k`):

# %%
show_sweep("tile_split_k")

# %% [markdown]
# In the table the second pass adds in tiles of 32×64. In tiles of 128×128 it has only 16 blocks for 512×512, and most
# SMs are idle once more: if your `split_gemm` is slower than the row with its number of parts, try that.
#
# Was your prediction right? With one part, the table's first two rows say what the second pass costs when it has
# nothing to add. Then the gain grows with the parts, until the parts' own traffic, or a run of too few steps, takes it
# back. At 2048×2048×2048 there is nothing to gain: the SMs had work.
#
# **Keep this:** parallelism is where you cut. M and N give independent tiles; K gives partial results that have to be
# added.

# %% [markdown]
# ## The ladder, measured
#
# The rungs of this page in bf16, each in turns with cuBLAS, as fractions of its speed (`tutor sweep tile_rungs`, then
# `tutor plots tile_ladder`):

# %%
show_sweep("tile_rungs")

# %%
show_figure("tile_ladder")

# %% [markdown]
# And what `check` timed, each in the dtype that stands beside it (`tutor evidence 07`):

# %%
show_ladder("07")

# %% [markdown]
# Compare with your predictions.
#
# - **The order of the blocks** pays where A and B do not fit into L2 together, and most at the largest size. Where they
#   fit, as at 2048, it has nothing to save, and loses a little.
# - **The spilled tile** is the same source as its neighbors, with another pair of numbers. Nothing but the report
#   warns you.
# - **Persistence** hides the first loads and the last stores of a tile behind another tile's arithmetic. The fewer
#   steps a tile has along K, the more there is to hide, if a block has another tile: at 2048 there are 128 tiles of
#   128×256, fewer than SMs, and it gains least.
# - **Which tile is best** depends on the size: a large one loads less, a small one leaves fewer SMs idle in the last
#   wave. That is what the search is for.
#
# ## What to remember
#
# - A block owns a tile of C, walks along K and stores once. The accumulator is fp32 until the store.
# - The order of the blocks decides what is loaded twice. Strips make a wave nearly square.
# - A stack in the compiler's report means that the accumulator does not fit into registers: give it more threads, more
#   CTAs, or make the tile smaller.
# - A persistent grid is a number of workers: the SMs, or half as many where a tile takes two CTAs.
# - Several accumulators in one block make a tile that is no power of two. Several blocks for one tile cut K.
#
# ## Test yourself
#
# <details><summary>1. A tile of 256×128 in bf16, 4 warps, one CTA. How many accumulators has a thread, and what will
# the compiler's report say?</summary>
#
# 256·128 / 128 = 256. A thread can address 255 registers and needs some for other values, so most of a stack of more
# than a thousand bytes is accumulators. With 8 warps it is 128, and the stack is gone.
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
# <details><summary>3. A split-K GEMM gives other last bits every time it runs. Which of the two ways does it use, and
# what would make it give the same bits each time?</summary>
#
# Atomic additions: blocks add their partial results in the order in which they end, and addition in fp32 depends on the
# order. With a second pass that adds part 0, then part 1, and so on, the order is fixed.
#
# </details>

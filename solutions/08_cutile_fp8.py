# ---
# jupyter:
#   tutorlib:
#     minutes: 110
#     summary: GEMMs that are not square bf16, with fp32 through the tensor cores, split-K, and FP8 with 320 rows.
# ---

# %% [markdown]
# # 08 · FP8, tf32, split-K
#
# Notebook 07 multiplies large square matrices in bf16. Here are three GEMMs that its kernel does badly: matrices in
# fp32, which it multiplies without tensor cores; a small C with a long K, which leaves 116 of 132 SMs idle; and an A
# with 320 rows in FP8, for which its tile of 128×256 has 0.81 of cuBLASLt's speed on an H200, and your kernel 0.97.
#
# > **After this page you can** use the tensor cores for fp32, cut K where C has too few tiles, keep a block's
# > accumulators in registers when no power of two fits, and read the report of each compiler in the chain.
# >
# > **It takes** about 110 minutes, on any machine. A GPU adds the speed, a Hopper that of FP8.

# %%
import re
from collections import Counter

import cuda.tile as ct
import torch

from tutorlib import (
    SM_CLOCK, TENSOR_BUSY, TO_SMS, TensorSpec, check, compile_all, compile_cutile, grouped as strips, hardware_of,
    serialized, show_k_loop, show_ladder, show_sweep,
)  # fmt: skip

ZERO = ct.PaddingMode.ZERO
h200 = hardware_of("NVIDIA H200")

# %% [markdown]
# ## fp32 through the tensor cores
#
# Given fp32 matrices, the kernel of notebook 07 is correct, but tensor cores do not multiply fp32, so the compiler uses
# the ordinary fp32 units, and does not even fuse additions with multiplications. Tensor cores do have **tf32**: fp32's
# exponent, and 10 bits of fraction instead of 23. The cell compiles one product of two tiles both ways and counts each
# thread's arithmetic in the PTX:


# %%
@ct.kernel
def one_product(a, b, c, cast: ct.Constant[bool]):
    dtype = ct.tfloat32 if cast else ct.float32
    x, y = ct.load(a, (0, 0), (64, 32)).astype(dtype), ct.load(b, (0, 0), (64, 32)).astype(dtype)
    ct.store(c, (0, 0), ct.mma(x, ct.transpose(y), ct.zeros((64, 64), ct.float32)))


single = [TensorSpec((4096, 4096), "fp32")] * 3
for name, cast in {"fp32": False, "tf32": True}.items():
    made = compile_cutile(one_product, [*single, cast], "sm_90")
    counts = Counter(re.findall(r"wgmma\.mma_async\S*|(?:add|mul|fma)\.rn\.f32", made.ptx))
    print(f"{name}:", ", ".join(f"{count:,} {instruction}" for instruction, count in counts.items()))

# %% [markdown]
# **Exercise 08.1** (about 6 lines). Complete the persistent kernel (`strips` is the order of 07.2). Matrices in fp32
# are multiplied in tf32, those of any other dtype in their own. `a.dtype == ct.float32` is known when the kernel is
# compiled. The matrices in memory stay as they are, and so does the fp32 accumulator.


# %%
@ct.kernel
def gemm_tf32(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int], group: ct.Constant[int]):
    rows, columns = ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        m, n = strips(tile, rows, columns, group)
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
check("08.1", gemm_tf32)

# %% [markdown]
# How much accuracy do the 13 missing bits cost? Rounding an operand changes it by at most one part in 2¹¹, 4.9e-04.
# **Predict** the relative error of a sum of K such products, of `randn` numbers (mean 0) and of `rand` (0 to 1):


# %%
def to_tf32(x):
    """fp32 numbers, rounded to 10 bits of fraction."""
    return ((x.view(torch.int32) + 2**12) & -(2**13)).view(torch.float32)


for random in (torch.randn, torch.rand):
    for k in (64, 1024, 16384):
        a, b = random(256, k), random(256, k)
        exact = a.double() @ b.double().mT
        error = to_tf32(a).double() @ to_tf32(b).double().mT - exact
        print(f"{random.__name__:5} K = {k:6}: {error.norm() / exact.norm():.1e}")

# %% [markdown]
# Errors of opposite sign cancel, so their sum grows like √K. With a mean of 0 the result grows like √K, too, and the
# ratio stays. A sum of positive products grows like K, so the relative error falls. The speed:

# %%
show_ladder("08.1")

# %% [markdown]
# ## Split-K, for few tiles and a long K
#
# A 512×512 C, as in the gradient of a layer's weights, has 16 tiles of 128×128: 16 SMs walk along all of K while 116
# idle. Smaller tiles would use more SMs, but load more per operation. There is a third mode to cut: **K**. One block
# takes the first steps along K, another the next, and so on, each with its own accumulator: **split-K**. In the picture
# three blocks, one color each, share a tile:

# %%
show_k_loop(rows=2, columns=2, steps=9, tile=(0, 1), parts=3)

# %% [markdown]
# Then the partial results have to be added, in one of two ways:
#
# - **a second pass**: each block stores its partial result separately, and a second kernel adds them. That costs a
#   launch, and parts · M · N · 4 bytes written and then read. The same input always gives the same bits;
# - **atomic additions** (`ct.atomic_add`) into one fp32 matrix, in the order in which blocks finish, so the last bits
#   differ from run to run.
#
# **Exercise 08.2** (about 9 lines). Write the kernel of the first pass. `parts` has the shape (S, M, N) and is fp32;
# the grid is (tiles of M, tiles of N, S). The steps along K are divided into S runs of equal length, rounded up, so the
# last parts may be shorter, or empty: an empty part stores zeros. No step may lie outside K, and none may be loaded
# twice. `ct.reshape(tile, shape)` makes a tile of three modes.


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
check("08.2", partial_products)

# %% [markdown]
# The second pass needs nothing beyond notebook 06:


# %%
@ct.kernel
def add_parts(parts, c, tm: ct.Constant[int], tn: ct.Constant[int]):
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for part in range(parts.shape[0]):
        total += ct.reshape(ct.load(parts, (part, m, n), (1, tm, tn)), (tm, tn))
    ct.store(c, (m, n), total.astype(c.dtype))


# %% [markdown]
# **Exercise 08.3** (about 10 lines). Write the host function `split_gemm(a, b, c)`: C = A·Bᵀ for any sizes, in tiles of
# 128×128 and steps of 64, with each kernel launched once. Cut K into the largest number of parts for which
# parts × tiles ≤ SMs, at most one for each step, and at least one. For a small C, tiles of 128×128 would give the
# second pass too few blocks: choose one that gives about one per SM.
# `torch.cuda.get_device_properties(a.device).multi_processor_count` is the number of SMs.


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
check("08.3", split_gemm)

# %% [markdown]
# For 1 to 16 parts of 512×512×65536: the steps along K that an SM executes one after another, and the bytes of the
# partial results, written and read.

# %%
for parts in (1, 2, 4, 8, 16):
    waves = -(-16 * parts // h200.sms)
    print(f"{parts:2} parts: {waves * 1024 // parts:4} steps, {2 * parts * 512 * 512 * 4 / 1e6:5.1f} MB")

# %% [markdown]
# 8 parts need the fewest steps; 16 take two waves, no fewer steps, and twice the bytes. **Predict**: how much faster
# than 1 part are 8? The first row is notebook 07's kernel:

# %%
show_sweep("split_k")

# %% [markdown]
# *1 part* is the first row's work and a second pass, which costs about 5 µs. As counted, 8 parts are best: 64 µs in
# place of 308. cuBLAS still needs 17% less.
#
# ## FP8, and a matrix with 320 rows
#
# A is 320×7168 and B, the weights, 32576×7168, both in fp8 (e4m3, one byte per number). On Hopper there are two
# obstacles.
#
# **Accumulation.** Hopper's tensor cores accumulate fp8 products with about 14 bits (measured in DeepSeek-V3's
# technical report). So by default cuTile adds the result of each step along K to accumulators in ordinary fp32
# registers, and waits for the step to finish first. `ct.mma(..., use_fast_acc=True)`, **fast accumulation**, leaves all
# additions to the tensor cores, as cuBLASLt does when asked for speed. How many stages does the compiler make of each?
# A stage has 32 KiB, and so has the tile of C that waits for its store:

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
# One stage without fast accumulation, five with it. What accuracy does fast accumulation cost? The cell models it:
# after every 32 products, one wgmma's, it cuts the accumulator to 14 bits. Beside it: the errors of rounding A and B to
# e4m3, and C to bf16.


# %%
def cut(x, bits=14):
    fraction, exponent = torch.frexp(x)
    return torch.ldexp(torch.trunc(fraction * 2**bits), exponent - bits)


wide_a, wide_b = torch.randn(256, 7168), torch.randn(256, 7168)
a, b = (x.to(torch.float8_e4m3fn).float() for x in (wide_a, wide_b))
exact, total = a.double() @ b.double().mT, torch.zeros(256, 256)
for k in range(0, 7168, 32):
    total = cut(total + a[:, k : k + 32] @ b[:, k : k + 32].mT)
for name, result in {"14 bits": total, "A and B": wide_a @ wide_b.mT, "C": exact.bfloat16()}.items():
    print(f"{name:7} {(result - exact).norm() / exact.norm():.1e}")

# %% [markdown]
# Rounding A and B to e4m3 costs far more, so the check allows it.
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
# The last line loads the fewest bytes, and ties for the most useful work: a block that keeps **all 320 rows**.
# No tile has 320 rows, but a block may have more than one accumulator, and 320 is 256 + 64: two accumulators, two tiles
# of A, and one tile of B (a **slab**), loaded once and used twice. The first operand of `ct.mma` may be A or B: a wgmma
# takes 64 rows of its first operand per warpgroup of 4 warps, and up to 256 of its second. With B first, the result is
# a tile of Cᵀ.
#
# Do they fit? 320·128 accumulators over 8 warps are 160 per thread. Each of 384 threads starts with 168 registers. The
# 128 that load keep 32 and give 136, 68 for each consumer: 236, rounded down to a multiple of 8, are 232. But from
# `ct.zeros` such a kernel spills, or it issues one wgmma at a time (cuda-tile 1.7.0, tileiras 13.4). A wgmma can ignore
# what its accumulator held before, so the compiler makes the first step a special one, in place of registers full of
# zeros:
#
# | step along K | from `ct.zeros` | from a 0 that the compiler cannot see |
# |---|---|---|
# | 0 | writes set S of registers, reads no accumulator | reads and writes set T |
# | 1, 2, … | reads and writes set T | reads and writes set T |
# | registers | 160 + 160, more than 232 | 160 |
#
# **Exercise 08.4** (about 12 lines). From an empty cell: write the kernel `gemm_fp8(a, b, c, tn, tk)` for 256 < M ≤
# 320, with eight consumer warps on Hopper. It runs on a one-dimensional grid of any number of blocks, which share B's
# slabs of `tn` rows. All of B is loaded once, and A once per slab. `check` compiles it for Hopper at full size, with
# tn = tk = 128, and reads the report: no stack, several wgmma in flight, no store by TMA. You can read it, too:
# `made = compile_cutile(gemm_fp8, [*skinny, 128, 128], "sm_90")`, `serialized(made.ptx)`. At hand:
#
# | | |
# |---|---|
# | `ct.full(shape, value, ct.float32)` | a tile full of a value |
# | `ct.load(array, index, shape, …)` | an index counts tiles of *this* shape: which tile of 64 rows begins at 256? |
# | `ct.mma(…, use_fast_acc=True)` | without it, a second set of accumulators |
# | `ct.store(…, allow_tma=False)` | a store by TMA takes shared memory from the loop's stages |
#
# `ct.full` also takes a value that only the launch determines.


# %%
@ct.kernel(num_worker_warps=ct.ByTarget(sm_90=8))
def gemm_fp8(a, b, c, tn: ct.Constant[int], tk: ct.Constant[int]):
    ### BEGIN SOLUTION (about 12 lines)
    zero = ct.bid(1)  # 0, unknown to the compiler
    for n in range(ct.bid(0), ct.cdiv(b.shape[0], tn), ct.num_blocks(0)):
        upper = ct.full((tn, 256), zero, ct.float32)  # of Cᵀ: for A's rows 0 to 255
        lower = ct.full((tn, 64), zero, ct.float32)  # for rows 256 to 319
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
check("08.4", gemm_fp8)

# %% [markdown]
# The chain of compilers: cuTile makes Tile IR of your Python, tileiras makes PTX of it, and ptxas machine code. The
# stack is counted in the machine code; *several at a time* is a remark of ptxas. `slabs` is this kernel with a few
# switches:

# %%
from tutorlib.kernels.cutile import slabs

switches = {  # run-time zero, latency hints of A's tiles and of the slab (0: none), stores by TMA
    "accumulators start from 0": (False, 0, 0, True),
    "… latency 3, 6": (False, 3, 6, True),
    "… from a run-time zero": (True, 0, 0, True),
}
wide = slabs.replace_hints(num_worker_warps=8)
compiled_slabs = compile_all((wide, [*skinny, 128, 128, *values], "sm_90") for values in switches.values())
for title, made in zip(switches, compiled_slabs, strict=True):
    verdict = f"one at a time: {reason}" if (reason := serialized(made.ptx)) else "several at a time"
    print(f"{title:33} {made.ptx.count('wgmma.mma_async'):3} wgmma, {made.stack_bytes:5,} bytes of stack, {verdict}")

# %% [markdown]
# The first two rows have two sets: in the first, 160 selects in each step (`selp` in the PTX) choose the set; in the
# second, a first step of its own makes 16 wgmma of 8. A **run-time zero** is 0 in every block, but the compiler cannot
# prove it: it loads the zero into one set, every step is alike, and nothing spills.
#
# Variants, each timed in turn with cuBLASLt and profiled with Nsight Compute: an indented row changes *slabs of 128*,
# the kernel that starts from 0. *busy* is the percentage of an SM's cycles in which its tensor cores work, *clock* the
# SM clock, *to_SMs* the bytes that arrive at the SMs. *A first* makes A's tile the first operand of `ct.mma`; *256 for
# 2 CTAs* gives a cluster of two a slab of 256 rows.

# %%
show_sweep("tile_fp8", busy=TENSOR_BUSY, clock=SM_CLOCK, to_SMs=TO_SMS)[1:]

# %% [markdown]
# Read down the *busy* column. Tiles of 128×256 keep the tensor cores busy, but a sixth of their work is padding. Slabs
# that start from 0 spill: of their 2.37 GB, 1.55 are spilled accumulators, read back. With latency hints they no longer
# spill, but their wgmma wait for each other. A run-time zero closes part of that gap, and a deeper pipeline most of the
# rest, whether it comes from latency hints or from stores that leave it the shared memory.
#
# Among the slabs of 128 that do not spill, the clock falls as the tensor cores get busier: a sign of the power limit.
#
# ## What to remember
#
# - Cast *tiles* to tf32, not matrices: memory keeps fp32, and the tensor cores multiply.
# - Parallelism comes from the modes you cut. M and N give independent tiles; K gives partial results that must be
#   added.
# - A tile's sides are powers of two, but a block's share of C can have another size: give the block several
#   accumulators, as long as its registers hold them.
# - When a kernel is slower than it should be, read the report of each compiler in the chain.
#
# ## Test yourself
#
# <details><summary>1. Where does fp8 without <code>use_fast_acc</code> lose its time?</summary>
#
# After each step along K the warps wait for the tensor cores, and with one stage nothing is loaded meanwhile.
#
# </details>
#
# <details><summary>2. C has 40 tiles of 128×128, K has 64 steps, and the GPU 132 SMs. How many parts?</summary>
#
# 132 // 40 = 3: 120 blocks in one wave. Each part has ⌈64 / 3⌉ = 22 steps, the last 20.
#
# </details>
#
# <details><summary>3. A has 384 rows. Which tiles would a block keep, and do they fit?</summary>
#
# 256 + 128. 384·128 accumulators over 8 warps are 192 for each thread, of at most 232 registers: the compiler's report
# tells whether the other 40 are enough.
#
# </details>

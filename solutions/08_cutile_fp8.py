# ---
# jupyter:
#   tutorlib:
#     minutes: 83
#     summary: GEMMs that are not square bf16, with fp32 through the tensor cores, split-K, and FP8 with 320 rows.
# ---

# %% [markdown]
# # 08 · FP8, tf32, split-K
#
# Notebook 07 multiplies large square matrices in bf16. Here are three GEMMs that its kernel does badly: matrices in
# fp32, which it multiplies without tensor cores; a small C with a long K, which leaves 116 of 132 SMs idle; and an A
# with 320 rows in FP8, where its tiles reach 0.83 of cuBLASLt's speed on an H200, and yours 0.97.
#
# > **After this page you can** split fp32 numbers for the tensor cores and measure what accuracy is left, cut K where C
# > has too few tiles, keep a block's accumulators in registers when no power of two fits, and read the report of each
# > compiler in the chain.
# >
# > **It takes** about 83 minutes, in two sittings, on any machine. A GPU adds the speed, a Hopper that of FP8.

# %%
import re
from collections import Counter

import cuda.tile as ct
import torch

from tutorlib import (
    TENSOR_BUSY, TO_SMS, TensorSpec, check, compile_cutile, grouped as strips, hardware_of, run_host, serialized,
    show_k_loop, show_sweep,
)  # fmt: skip
from tutorlib.kernels import cutile

ZERO = ct.PaddingMode.ZERO
h200 = hardware_of("NVIDIA H200")

# %% [markdown]
# ## fp32 through the tensor cores
#
# Given fp32 matrices, the kernel of notebook 07 is correct, but the compiler uses the ordinary fp32 units. Tensor cores
# do have **tf32**: fp32's exponent, and 10 bits of fraction instead of 23. A cast of the tiles, not of the matrices, is
# enough. The cell compiles one product of two tiles both ways and counts each thread's arithmetic in the PTX:


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
# The cast rounds each operand by at most one part in 2¹¹, 4.9e-04. Products of tf32 numbers are exact.
#
# **Exercise 08.1** (about 6 lines). Complete the loop of `gemm_fp32`: C = A·Bᵀ, with products that lose no more than
# about 2⁻²², all of them on the tensor cores, in tf32. The budget: each step along K computes the product of two tiles
# at most three times. `x` and `y` are fp32 tiles, (tm, tk) and (tk, tn), and tiles take + and -. `ct.ByTarget` sets a
# hint for one architecture. Before you write: which part of an fp32 number does the cast to tf32 discard, can tf32 hold
# that part, and which of the products of parts is too small to matter?


# %%
@ct.kernel(num_worker_warps=ct.ByTarget(sm_90=8))
def gemm_fp32(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int], group: ct.Constant[int]):
    rows, columns = ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        m, n = strips(tile, rows, columns, group)
        total = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.cdiv(a.shape[1], tk)):
            x = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
            y = ct.transpose(ct.load(b, (n, k), (tn, tk), padding_mode=ZERO))
            ### BEGIN SOLUTION (about 6 lines)
            x_high, y_high = x.astype(ct.tfloat32), y.astype(ct.tfloat32)
            x_low = (x - x_high.astype(ct.float32)).astype(ct.tfloat32)
            y_low = (y - y_high.astype(ct.float32)).astype(ct.tfloat32)
            total = ct.mma(x_low, y_high, total)
            total = ct.mma(x_high, y_low, total)
            total = ct.mma(x_high, y_high, total)
            ### END SOLUTION
        ct.store(c, (m, n), total)


# %%
check("08.1", gemm_fp32)

# %% [markdown]
# **Predict** the relative error of the result with one product of tf32, with your three, and with fp32 units. The
# matrices are from `randn`, with K = 64 and with K = 1024:


# %%
def launched(kernel):
    def host(a, b, c):
        ct.launch(torch.cuda.current_stream(), (4,), kernel, (a, b, c, 64, 64, 32, 8))

    return host


place = "cuda" if torch.cuda.is_available() else "cpu"
for k in (64, 1024):
    a, b, c = (torch.randn(128, columns, device=place) for columns in (k, k, 128))
    exact = a.double() @ b.double().mT
    for name, kernel in {"one product": cutile.through_tf32, "three": gemm_fp32, "fp32": cutile.persistent}.items():
        run_host(launched(kernel), a, b, c)
        print(f"K = {k:4}, {name:11} {(c - exact).norm() / exact.norm():.1e}")

# %% [markdown]
# One product keeps three decimal digits at either K. With three, the cast no longer dominates: at K = 64, the error is
# 3.4 times that of fp32. But on a Hopper it grows 19 times to K = 1024, and fp32's by less than half. A likely reason:
# fp32 units round each sum, but tensor cores truncate toward zero, so their errors share a sign and add up. (Without a
# GPU the cell rounds.) For a long K, add the results of shorter runs in fp32 registers, as cuTile does with FP8 below.
# The speed at 4096³, beside cuBLAS's tf32:

# %%
show_sweep("tile_fp32")

# %% [markdown]
# Three products on tensor cores need 2.3 ms, 16% less than cuBLAS on the fp32 units. One product is 6.5 times as fast.
# For three, threads also load each tile, split it, and store its parts to shared memory. Notebook 07's kernel is 26
# times slower than cuBLAS: it multiplies and adds in separate instructions, as above.

# %% [markdown]
# ## Split-K, for few tiles and a long K
#
# A 512×512 C, as in the gradient of a layer's weights, has 16 tiles of 128×128: 16 SMs walk along all of K while 116
# idle. There is a third axis to cut: **K**. One block takes the first steps along K, another the next, and so on, each
# with its own accumulator: **split-K**. In the picture three blocks, one color each, share a tile:

# %%
show_k_loop(rows=2, columns=2, steps=9, tile=(0, 1), parts=3)

# %% [markdown]
# Then the partial results have to be added, in one of two ways:
#
# - **a second pass**: each block stores its partial result separately, and a second kernel adds them. That costs a
#   launch, and parts · M · N · 4 bytes written and then read. The same input always gives the same bits;
# - **atomic additions** (`ct.atomic_add`) into one fp32 matrix of zeros, in the order in which blocks finish, so the
#   last bits differ from run to run.
#
# **Exercise 08.2** (about 3 lines). Complete the kernel of the first pass: which steps does a block take? `parts` has
# the shape (S, M, N) and is fp32; the grid is (tiles of M, tiles of N, S). The steps along K are divided into S runs of
# equal length, rounded up, so the last parts may be shorter, or empty: an empty part stores zeros.


# %%
@ct.kernel
def partial_products(a, b, parts, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    m, n, part = ct.bid(0), ct.bid(1), ct.bid(2)
    total = ct.zeros((tm, tn), ct.float32)
    ### BEGIN SOLUTION (about 3 lines)
    steps = ct.cdiv(a.shape[1], tk)
    run = ct.cdiv(steps, parts.shape[0])
    first, last = part * run, min(steps, part * run + run)
    ### END SOLUTION
    for k in range(first, last):
        rows = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
        columns = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
        total = ct.mma(rows, ct.transpose(columns), total)
    ct.store(parts, (part, m, n), ct.reshape(total, (1, tm, tn)))


# %%
check("08.2", partial_products)

# %% [markdown]
# Take 512×512×65536, in steps of 64. With one part, a step takes 0.30 µs (measured). The cell prints two bounds for
# each number of parts: the time of the steps that an SM executes in turn, and the time to read A and B and to write and
# reread the partial results, at the 4.2 TB/s of notebook 05.

# %%
for parts in (1, 2, 4, 8, 16):
    waves = -(-16 * parts // h200.sms)
    steps = waves * 1024 // parts
    operands, partial = 2 * 512 * 65536 * 2, 2 * parts * 512 * 512 * 4
    print(
        f"{parts:2} parts: {steps:4} steps, {0.30 * steps:3.0f} µs; {operands / 1e6:.0f} + {partial / 1e6:4.1f} MB, "
        f"{(operands + partial) / 4.2e6:.0f} µs"
    )

# %% [markdown]
# **Predict** the best number of parts. The first row is notebook 07's kernel:

# %%
show_sweep("split_k")

# %% [markdown]
# 8 parts are best: 64 µs in place of 310, 4.9 times as fast, not 8 times. The time above the steps' bound grows, 9, 17
# and 25 µs with 2, 4 and 8 parts: probably due to the second launch, and to memory's time, which overlaps only in part.
#
# With 16 parts an SM also executes 128 steps, but in two waves. Twice the partial results explain only 4 µs of the 24
# more; the rest is unexplained. So start with the largest number of parts for which parts × tiles ≤ SMs, and time
# fewer. Atomic additions lose all of the gain. Their time includes filling a matrix with zeros and converting it to
# bf16.
#
# This is a good place to stop.
#
# ## FP8, and a matrix with 320 rows
#
# A is 320×7168 and B, the weights, 32576×7168, both in fp8 (e4m3, one byte per number).
#
# **Accumulation.** Hopper's tensor cores accumulate fp8 products with about 14 bits (measured in DeepSeek-V3's
# technical report). So by default cuTile adds the result of each step along K to accumulators in ordinary fp32
# registers. `ct.mma(..., use_fast_acc=True)`, **fast accumulation**, leaves all additions to the tensor cores. The
# cuBLASLt of this page is asked for it, too. How many stages does each get? A stage takes 32 KiB; the tile of C, kept
# for its store, another 32:

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
# One stage without fast accumulation, five with it. What accuracy does it cost? The cell cuts the accumulator to 14
# bits after each wgmma's 32 products, and prints the error beside that of rounding A and B to e4m3.


# %%
def cut(x, bits=14):
    fraction, exponent = torch.frexp(x)
    return torch.ldexp(torch.trunc(fraction * 2**bits), exponent - bits)


for random in (torch.randn, torch.rand):
    wide_a, wide_b = random(256, 7168), random(256, 7168)
    a, b = (x.to(torch.float8_e4m3fn).float() for x in (wide_a, wide_b))
    exact, total = a.double() @ b.double().mT, torch.zeros(256, 256)
    for k in range(0, 7168, 32):
        total = cut(total + a[:, k : k + 32] @ b[:, k : k + 32].mT)
    errors = [((result - exact).norm() / exact.norm()).item() for result in (total, wide_a @ wide_b.mT)]
    print(f"{random.__name__:5} 14 bits: {errors[0]:.1e}, A and B: {errors[1]:.1e}")

# %% [markdown]
# With a mean of 0, as in the check, rounding A and B costs far more, so fast accumulation is allowed. For the positive
# numbers of `rand` it is the other way round.
#
# **Powers of two.** 320 is not one. With tiles of 128 rows, a sixth of the work is padding. Tiles of 64 rows need none,
# but load B, a hundred times larger than A, five times. The cell prints the bytes that move from L2 to the SMs, and the
# share of the time that padding and the partial last wave leave for useful work:

# %%
rows, columns, depth = 320, 32576, 7168
for tm, tn in [(64, 128), (64, 256), (128, 128), (128, 256), (320, 128)]:
    down, across = -(-rows // tm), -(-columns // tn)
    loaded = across * rows * depth + down * columns * depth  # rows outside A are not loaded
    waves = -(-down * across // h200.sms)
    busy = rows * columns / (waves * h200.sms * tm * tn)
    print(f"{tm:3}×{tn:<3} {loaded / 1e9:.2f} GB to the SMs, useful work at most {busy:4.0%} of the time")

# %% [markdown]
# The cell omits padding, which moves, too: the last table counts 1.06 GB for 128×256. The last line has the fewest
# bytes: a block that keeps **all 320 rows**. No tile has 320, but a block may have more than one accumulator, and 320
# is 256 + 64: two accumulators, two tiles of A, and one tile of B (a **slab**), loaded once and used twice.
#
# The first operand of `ct.mma` may be A or B. Eight consumer warps are two **warpgroups**; each takes 64 rows of the
# first operand and up to 256 columns of the second. B's slab of 128 rows gives each warpgroup 64; A's tile of 64 rows
# would leave one idle. So we take B first: the result is a tile of Cᵀ.
#
# Do the accumulators fit? 320·128 over 8 warps are 160 per thread. At the launch each of 384 threads has 168 registers;
# later the threads that load keep 32 and the others get 232 (`setmaxnreg` in the PTX). `cutile.slabs` is this kernel.
# `0, 0, True` below mean: no latency hints, and stores by TMA.


# %%
def report(runtime_zero):
    """What the compilers make of `slabs`."""
    constants = [128, 128, runtime_zero, 0, 0, True]
    made = compile_cutile(cutile.slabs.replace_hints(num_worker_warps=8), [*skinny, *constants], "sm_90")
    verdict = f"one at a time: {reason}" if (reason := serialized(made.ptx)) else "several at a time"
    print(
        f"{made.ptx.count('wgmma.mma_async')} wgmma, {made.ptx.count('selp.b32')} selects, "
        f"{made.stack_bytes:,} bytes of stack, {verdict}"
    )


report(runtime_zero=False)

# %% [markdown]
# It spills. Two compilers share the work: tileiras compiles cuTile's Tile IR to PTX, and ptxas compiles the PTX to
# machine code. tileiras knows that the accumulators start from zero, and treats a slab's first step as a special one:
# in each step, about 160 selects (`selp`) choose between the accumulators and a second set of registers. Two sets are
# 160 + 160 registers, more than 232.
#
# **Exercise 08.3** (about 12 lines). From an empty cell: write the kernel `gemm_fp8(a, b, c, tn, tk)` for 256 < M ≤
# 320, with eight consumer warps on Hopper. It runs on a one-dimensional grid of any number of blocks, which share B's
# slabs of `tn` rows. All of B is loaded once, and A once per slab. `check` compiles it for Hopper at full size, with
# tn = tk = 128, and reads the report: no stack, several wgmma in flight, no store by TMA. At hand:
#
# | | |
# |---|---|
# | `ct.full(shape, value, ct.float32)` | a tile full of a value, which need not be a constant |
# | `ct.load(array, index, shape, …)` | an index counts tiles of *this* shape: which tile of 64 rows begins at 256? |
# | `ct.mma(…, use_fast_acc=True)` | without it, a second set of accumulators |
# | `ct.store(…, allow_tma=False)` | a store by TMA takes shared memory from the loop's stages |
#
# How do you hide from tileiras that the accumulators start from zero? Arithmetic such as `ct.bid(0) * 0` does not fool
# it; try values that only the launch decides. (cuda-tile 1.7.0, tileiras 13.4.) Your own kernel's report:
# `print(compile_cutile(gemm_fp8, [*skinny, 128, 128], "sm_90"))`.


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
check("08.3", gemm_fp8)

# %% [markdown]
# `zero = ct.bid(1)` is a **run-time zero**: the index along the second axis is 0 in a one-dimensional grid, but the
# kernel is compiled before the grid is known. With it, `slabs` treats every step alike, and nothing spills:

# %%
report(runtime_zero=True)

# %% [markdown]
# The table times the variants in turn with cuBLASLt. Each indented row is *slabs of 128*, which starts from 0, with the
# named changes. *Latency 3, 6* are `latency=` hints, which ask for a deeper pipeline: 6 on the load of A's 256 rows, 3
# on the other two. *busy* is the percentage of an SM's cycles in which its tensor cores work, *to_SMs* the bytes that
# arrive at the SMs. Both were counted under Nsight Compute, at other clocks.

# %%
show_sweep("tile_fp8", busy=TENSOR_BUSY, to_SMs=TO_SMS).iloc[[1, 2, 3, 6, 7, 8, -1]]

# %% [markdown]
# Tiles of 128×256 keep the tensor cores busy, but a sixth of their work is padding. Tiles of 64×256 pad no rows;
# they load 1.47 GB, and reach 0.83. Slabs that start from 0 load 2.37 GB, 1.55 GB more than without spills. A run-time
# zero removes the spills, and the kernel reaches 0.88. A deeper pipeline brings it to 0.97, whether it comes from
# latency hints or from stores that leave it the shared memory.
#
# ## What to remember
#
# - Cast *tiles* to tf32, not matrices. Three products of tf32 tiles lose almost nothing in the cast; for a long K the
#   additions are the larger error.
# - A block's share of C need not be a power of two: give the block several accumulators.
# - When a kernel is slower than it should be, read the report of each compiler in the chain.
#
# Next: [09](09_tile_cpp.ipynb) or, without C++, [10](10_gemm_baseline.ipynb).
#
# ## Test yourself
#
# <details><summary>1. Why does a fourth product of tf32 tiles gain nothing?</summary>
#
# One product's error above is 2.9e-04, about 2.1e-04 for each cast. So the two low parts' product is about 4e-08 of the
# whole, less than fp32's error, 1.1e-07.
#
# </details>
#
# <details><summary>2. C has 40 tiles of 128×128, K has 64 steps, and the GPU 132 SMs. How many parts?</summary>
#
# 132 // 40 = 3, of at most ⌈64 / 3⌉ = 22 steps.
#
# </details>
#
# <details><summary>3. A has 384 rows. Which tiles would a block keep? Do they fit?</summary>
#
# 256 + 128. 384·128 accumulators over 8 warps are 192 for each thread, of at most 232 registers. Ask the compiler.
#
# </details>

# ---
# jupyter:
#   tutorlib:
#     minutes: 74
#     summary: GEMMs that are not square bf16, with fp32 through the tensor cores, split-K, and FP8 with 320 rows.
# ---

# %% [markdown]
# # 08 · FP8, tf32, split-K
#
# Notebook 07 multiplies large square matrices in bf16. Here are three GEMMs that its kernel does badly: matrices in
# fp32, which it multiplies without tensor cores; a small C with a long K, which leaves 116 of 132 SMs idle; and an A
# with 320 rows in FP8, where powers of two reach about 0.8 of cuBLASLt's speed on an H200, and yours over 0.95.
#
# > **After this page you can** split fp32 numbers for the tensor cores and measure what accuracy is left, cut K where C
# > has too few tiles, keep a block's accumulators in registers when no power of two fits, and read the report of each
# > compiler in the chain.
# >
# > **It takes** about 74 minutes, in two sittings, on any machine.

# %%
import cuda.tile as ct
import torch

from tutorlib import (
    TO_SMS, TensorSpec, all_sweep_results, check, compile_cutile, grouped as strips, hardware_of, run_host, show_k_loop,
    show_source, show_sweep,
)  # fmt: skip
from tutorlib.kernels import cutile

ZERO = ct.PaddingMode.ZERO
h200 = hardware_of("NVIDIA H200")

# %% [markdown]
# ## fp32 through the tensor cores
#
# Given fp32 matrices, the kernel of notebook 07 is correct, but the compiler uses the ordinary fp32 units. Tensor cores
# do have **tf32**: fp32's exponent, and 10 bits of fraction instead of 23. The matrices can stay in fp32: after
# `x.astype(ct.tfloat32)` for one tile, and the same for the other, `ct.mma` takes the tensor cores.
#
# The cast rounds each operand by at most one part in 2¹¹, 4.9e-04. Products of tf32 numbers are exact.
#
# **Exercise 08.1** (about 6 lines). Complete the loop of `gemm_fp32`: C = A·Bᵀ for fp32 matrices, all products on the
# tensor cores, in tf32. Each product may lose about 2⁻²² of its size; the additions may lose more. The budget: in each
# step along K, `ct.mma` multiplies at most three times. `x` and `y` are fp32 tiles, (tm, tk) and (tk, tn), and fp32
# tiles can be added and subtracted; `astype(ct.float32)` converts a tf32 tile back. (`ct.ByTarget` sets a hint for one
# architecture.)


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
# **Predict** the relative error with one product of tf32, with your three, and with fp32 units, at both K:


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
# One product keeps three decimal digits at either K. With three, on an H200, the error was about 3.5 times that of fp32
# at K = 64, and almost 50 times at K = 1024. (Without a GPU you see neither: the simulator's sums are not the tensor
# cores'.) The error grows with K, so the additions dominate, not the cast. A likely reason: tensor cores truncate a sum
# where fp32 units round it. Each truncation brings the sum nearer to 0, so errors add up. The speed at 4096³, beside
# cuBLAS's tf32:

# %%
show_sweep("tile_fp32").iloc[1:]

# %% [markdown]
# Three products on tensor cores need 2.3 ms, 16% less than cuBLAS on the fp32 units. That is 2.2 times as long as three
# single products: threads must load, split and store each tile, and tiles are half as wide. Their shares are not known.
#
# ## Split-K, for few tiles and a long K
#
# A 512×512 C has 16 tiles of 128×128: 16 SMs walk along all of K while 116 idle. There is a third axis to cut: **K**.
# In **split-K**, several blocks, each with its own accumulator, share a tile, here three, one color each:

# %%
show_k_loop(rows=2, columns=2, steps=9, tile=(0, 1), parts=3)

# %% [markdown]
# Then the partial results are added, in one of two ways:
#
# - **a second pass**: each block stores its partial result, and the kernel below adds them. That costs a launch, and
#   parts · M · N · 4 bytes written and then read. The same input always gives the same bits;
# - **atomic additions** (`ct.atomic_add`) into one fp32 matrix of zeros, in the order in which blocks finish, so the
#   last bits differ from run to run.

# %%
show_source(cutile.add_parts)

# %% [markdown]
# **Exercise 08.2** (about 3 lines). Complete the kernel of the first pass: which steps does a block take? `parts` has
# the shape (S, M, N) and is fp32; the grid is (tiles of M, tiles of N, S). The steps along K are divided into S runs of
# equal length, rounded up. S may be any number.


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
# **Predict** the best number of parts for 512×512×65536 on 132 SMs, in tiles of 128×128 and 1,024 steps of 64 along K.
# The first row is notebook 07's kernel:

# %%
show_sweep("split_k")

# %% [markdown]
# Each launch alone. *zeros* clears the fp32 matrix, *atomic* multiplies and adds, *convert* rounds the sums to bf16:

# %%
for swept in all_sweep_results("split_k"):
    for point in swept.points[1:]:
        print(point.name, *(f"{name.removesuffix('_us')} {us:.1f} µs" for name, us in point.facts.items()), sep=", ")

# %% [markdown]
# 8 parts are best: 4.9 times as fast as 1 part, not 8 times. Their first pass takes 53.0 µs, about as long as cuBLAS's
# whole GEMM. The second pass takes 11.2 µs, about the gap to cuBLAS. Up to 8 parts it takes about 4 µs, and 0.9 µs for
# each part.
#
# With 16 parts an SM still executes 128 steps, but as two blocks, one after the other: the first pass takes 8 µs longer
# than with 8. The second takes 15 µs longer, twice what 0.9 µs a part gives; the cause is unknown. So start with the
# largest number for which parts × tiles ≤ SMs, and time fewer.
#
# By default, atomic additions lose all of the gain. They are `acq_rel`: each of a thread's 128 additions also orders
# the memory accesses around it. Sums need no order: with `memory_order=ct.MemoryOrder.RELAXED` the kernel takes 70 µs
# in place of 305, still more than both passes together.
#
# This is a good place to stop.
#
# ## FP8, and a matrix with 320 rows
#
# A is 320×7168 and B, the weights, 32576×7168, both in fp8 (e4m3, one byte per number).
#
# **Accumulation.** Hopper's tensor cores accumulate fp8 products with about 14 bits (measured in DeepSeek-V3's
# technical report). So by default cuTile adds the result of each step along K to accumulators in ordinary fp32
# registers. `ct.mma(..., use_fast_acc=True)`, **fast accumulation**, leaves all additions to the tensor cores, as this
# page's cuBLASLt does. The table has two tiles with both settings on an H200: the time with a bf16 C; the error of an
# fp32 C relative to the exact product of the fp8 matrices, for `randn` and for `rand`; a thread's stack; a block's
# shared memory. **Predict:** for which of `randn` and `rand`, numbers between 0 and 1, may you use fast accumulation?

# %%
for swept in all_sweep_results("fp8_accumulation"):
    print(f"{swept.gpu}, {swept.date}; errors of randn and of rand, stack, shared memory")
    for point in swept.points[:4]:
        found, us = point.facts, point.measurement.median_us
        print(
            f"{point.name:39} {us:6.1f} µs  {found['randn']:.1e}  {found['rand']:.1e}  "
            f"{found['stack_bytes']:2} bytes  {found['smem_bytes']:7,} bytes"
        )
    print(f"A and B rounded to fp8 {found['randn, A and B rounded']:35.1e}  {found['rand, A and B rounded']:.1e}")

# %% [markdown]
# With 128 numbers along K, a stage of 128×128 takes 32 KiB, and the bf16 tile of C, kept for its store, another 32.
# Without fast accumulation a thread needs two sets of 128 accumulators, more than its 255 registers: the report shows a
# stack, and shared memory for only one stage. With fast accumulation there are five stages, and the kernel takes 164 µs
# in place of 403. At 64×128 two sets of 64 fit, and both settings take nearly the same time.
#
# For `randn`, with a mean of 0, fast accumulation costs a twentieth of rounding A and B (the last line), so it is
# allowed in the check. For the positive numbers of `rand` it loses 12% of the result: probably because the sum grows,
# and each addition cuts off what is below its last bit.
#
# **Scales.** e4m3 ends at 448, so fp8 matrices in use come with fp32 scales (this page's do not). With one scale for a
# matrix, or for each of its rows, the epilogue scales C once. With one scale for every 128 numbers of a row, no factor
# is common to all steps: each step's partial sum must be scaled before it is added. So it has to come to fp32 registers
# anyway, as without fast accumulation, and the two sets of accumulators must fit.
#
# **Powers of two.** 320 is not one. With tiles of 128 rows, a sixth of the work is padding. Tiles of 64 rows need none,
# but load B, a hundred times larger than A, five times. The cell prints the bytes that move from L2 to the SMs, padding
# included, and the largest possible share of useful work, given padding and the partial last wave:

# %%
rows, columns, depth = 320, 32576, 7168
for tm, tn in [(64, 256), (128, 256), (320, 128)]:
    down, across = -(-rows // tm), -(-columns // tn)
    loaded = down * across * (tm + tn) * depth
    waves = -(-down * across // h200.sms)
    busy = rows * columns / (waves * h200.sms * tm * tn)
    print(f"{tm:3}×{tn:<3} {loaded / 1e9:.2f} GB to the SMs, useful work at most {busy:4.0%} of the time")

# %% [markdown]
# The last line has the fewest bytes: a block that keeps **all 320 rows**. A block may have more than one accumulator,
# and 320 is 256 + 64: two accumulators, two tiles of A, and one tile of B (a **slab**), loaded once and used twice.
#
# Either A's tile or B's may be the first operand of `ct.mma`. Eight consumer warps are two **warpgroups**; each takes
# 64 rows of the first operand and up to 256 columns of the second. B's slab has 128 rows, but A's second tile only 64.
# So we take B first: the result is a tile of Cᵀ.
#
# Do the accumulators fit? 320·128 over 8 warps are 160 per thread. At the launch each of 384 threads has 168 registers;
# later the threads that load keep 32 and the others get 232 (`setmaxnreg` in the PTX). `cutile.slabs` is this kernel:

# %%
skinny = [TensorSpec((320, 7168), "e4m3"), TensorSpec((32576, 7168), "e4m3"), TensorSpec((320, 32576), "bf16")]
slabs, tiles = cutile.slabs.replace_hints(num_worker_warps=8), (128, 128)
how = False, 0, 0, True  # accumulators start from a constant 0; two latency hints, 0: none; stores by TMA
made = compile_cutile(slabs, [*skinny, *tiles, *how], "sm_90")
print(made)
print(made.ptx.count("wgmma.mma_async"), "wgmma,", made.ptx.count("selp.b32"), "selects")

# %% [markdown]
# It spills. Two compilers share the work: tileiras compiles cuTile's Tile IR to PTX, and ptxas the PTX to machine code.
# tileiras knows that the accumulators start from zero. The PTX has about as many selects (`selp`) as a thread has
# accumulators, enough to choose between these and a second set. Two sets are 160 + 160 registers, more than 232.
#
# **Exercise 08.3** (about 12 lines). From an empty cell: write the kernel `gemm_fp8(a, b, c, tn, tk)` for 256 < M ≤
# 320, with eight consumer warps on Hopper. It runs on a one-dimensional grid of any number of blocks, which share B's
# slabs of `tn` rows. All of B is loaded once, and A once per slab. `check` compiles it for Hopper at full size, with
# tn = tk = 128, and reads the report: no stack, several wgmma in flight, no store by TMA. At hand:
#
# | | |
# |---|---|
# | `ct.full(shape, value, ct.float32)` | an fp32 tile filled with `value`, which may be known only at run time |
# | `ct.mma(…, use_fast_acc=True)` | without it, a second set of accumulators |
# | `ct.store(…, allow_tma=False)` | a store by TMA takes shared memory from the loop's stages |
#
# How do you hide from tileiras that the accumulators start from zero? It sees through `ct.bid(0) * 0`, but when it
# compiles, it does not know the grid. (cuda-tile 1.7.0, tileiras 13.4.)
#
# To see your own kernel's report: `print(compile_cutile(gemm_fp8, [*skinny, 128, 128], "sm_90"))`.


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
# `ct.bid(1)` is a **run-time zero**: 0 in a one-dimensional grid, which the compiler does not know. `slabs` with it:

# %%
made = compile_cutile(slabs, [*skinny, *tiles, True, *how[1:]], "sm_90")
print(f"{made}\n{made.ptx.count('selp.b32')} selects")

# %% [markdown]
# The selects came with the known zero, and the stack with the selects.
#
# The table times variants in turn with cuBLASLt. Each indented row is *slabs of 128* with the named changes. `latency=`
# hints ask for a deeper pipeline: *latency 3, 6* is 6 for A's tile of 256 rows, and 3 for the other two. *to_SMs* are
# the bytes that arrive at the SMs, counted by Nsight Compute.

# %%
show_sweep("tile_fp8", to_SMs=TO_SMS)

# %% [markdown]
# Tiles of 64×256 pad no rows, but load 1.8 times as much. Slabs that start from 0 spill; their bytes presumably include
# spilled registers. With a run-time zero, slabs load what was computed above. A deeper pipeline makes them about a
# tenth faster, by latency hints or by stores that leave it the shared memory. cuBLASLt loads more, and is slightly
# faster.
#
# ## What to remember
#
# - Three products of tf32 tiles lose almost nothing in the cast; for a long K the additions are the larger error.
# - Split K where C has too few tiles, and time the second pass, too.
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
# <details><summary>2. C has 40 tiles of 128×128, and the GPU 132 SMs. How many parts?</summary>
#
# At most 132 // 40 = 3.
#
# </details>
#
# <details><summary>3. A has 384 rows, 256 + 128. Do the accumulators fit?</summary>
#
# 384·128 over 8 warps are 192 for each thread, of at most 232 registers. With a run-time zero one set is enough. In
# `gemm_fp8`, write 128 for 64 and tile 2 for tile 4: the report shows no stack.
#
# </details>

# ---
# jupyter:
#   tutorlib:
#     minutes: 75
#     appendix: 25
#     summary: Softmax and two GEMMs in one kernel, causal, grouped, for one query; the appendix has the backward pass.
# ---

# %% [markdown]
# # 19 · Attention in tiles
#
# Attention computes O = softmax(Q Kᵀ · scale) V, where scale is usually 1/√d for rows of d numbers. You have both
# halves: the GEMM of notebook 07 and the softmax of notebook 06. Three launches, a GEMM, a softmax and another GEMM,
# would give the right result. On this page you write one kernel that does it all and never stores the scores Q Kᵀ:
# FlashAttention ([Dao et al., 2022](https://arxiv.org/abs/2205.14135)). Then you skip the work that a causal mask makes
# unnecessary, let heads share K and V, and turn to the case of a single query.
#
# > **After this page you can** write an attention kernel in cuTile that never stores its scores, masks only the tiles
# > that need a mask, skips the tiles that no query sees, shares K and V among heads, and starts its longest rows first;
# > and combine partial results whose keys were split among blocks. After the appendix, you can compute a gradient of
# > attention without storing its weights.
# >
# > **It takes** about 75 minutes, on any machine; its appendix about 25 more.

# %%
import math
import re

import cuda.tile as ct
import torch

from tutorlib import (
    TensorSpec, all_sweep_results, check, compare_attention, compile_cutile, disassemble, hardware_of, run,
    show_key_tiles, show_source, show_sweep,
)  # fmt: skip
from tutorlib.kernels.attention import forward_by_tiles, tiles

ZERO, NEG_INF = ct.PaddingMode.ZERO, ct.PaddingMode.NEG_INF
LOG2_E = math.log2(math.e)
h200 = hardware_of("NVIDIA H200")

# %% [markdown]
# **Predict** before you run the cell: how large is S = Q Kᵀ for a sequence of 16,384 tokens with 16 heads whose rows
# have d = 128 numbers, and how large are Q, K, V and O together?

# %%
tokens, heads, d = 16384, 16, 128
print(f"S: {heads * tokens**2 * 2 / 1e9:.1f} GB in bf16; Q, K, V and O: {4 * heads * tokens * d * 2 / 1e9:.2f} GB")

# %% [markdown]
# With three kernels, the first would write S, the second would read it and write P, and the third would read P: four
# passes over 8.6 GB. In the kernel of this page, a block computes a tile of S, uses it and discards it. Only Q, K, V
# and O go through memory.
#
# Each query is a row of Q, and its output is a weighted average of the rows of V. Rows do not depend on each other, so
# a block takes `tm` queries and walks along the keys, `tn` at a time. The obstacle is the softmax: its maximum and its
# sum are known only after the last key. In notebook 06 you removed that obstacle for a softmax; here you remove it for
# an average.

# %% [markdown]
# ## An average with weights that are not final
#
# Let m be the maximum of a row's scores so far, and keep two sums relative to it: the **total** Σ exp(sₙ - m) and the
# accumulator Σ exp(sₙ - m)·vₙ. Suppose that the next tile raises the maximum to m′. For every term of both sums
#
# exp(sₙ - m′) = exp(sₙ - m) · exp(m - m′)
#
# so the **factor** exp(m - m′) corrects a whole sum at once, and the new tile's terms are computed with m′. Before the
# first tile, m is -∞ and both sums are 0; the first factor is then 0, as are the sums that it multiplies. After the
# last tile, the accumulator divided by the total is the average, for any order and width of the tiles: up to rounding,
# both sums are those of a single pass with the final maximum.
#
# One thing differs from notebook 06. GPUs have an instruction for 2ˣ (`ex2` in PTX) and none for eˣ. Attention
# multiplies its scores by a scale anyway, so put log2(e) into the scale: then scores and maximum are exponents of two,
# and the factor is 2^(m - m′). **Predict** how many floating-point instructions an exponential takes with `ct.exp`,
# with `ct.exp2`, and with `ct.exp2(…, flush_to_zero=True)`, which replaces subnormal numbers (below 2⁻¹²⁶) with 0.


# %%
@ct.kernel
def exponentials(x, y, base_two: ct.Constant[bool], flush: ct.Constant[bool]):
    i = ct.bid(0)
    tile = ct.load(x, (i,), (128,))
    ct.store(y, (i,), ct.exp2(tile, flush_to_zero=flush) if base_two else ct.exp(tile))


vector = TensorSpec((4096,))
for name, *how in [("exp", False, False), ("exp2", True, False), ("exp2, flushed", True, True)]:
    made = compile_cutile(exponentials, [vector, vector, *how], "sm_90")
    in_ptx = re.findall(r"(\w[\w.]*\.f32)\s+%r", made.ptx)
    in_sass = re.findall(r"\b(?:FMUL(?!\.RZ)|FFMA|FADD|FSETP|FSEL|MUFU\.EX2)\b", disassemble(made.cubin))
    print(f"{name:14} {len(in_sass)} in machine code; PTX: {' '.join(in_ptx)}")

# %% [markdown]
# To preserve subnormal results, ptxas surrounds `ex2` with a comparison, a select and two multiplications. Flushed, an
# exponential is one instruction. `ct.exp` takes more: it splits x · log2(e) into an integer and a rest, and multiplies
# two powers of 2 at the end. A weight below 2⁻¹²⁶ does not matter next to the largest one, which is 1. (The count
# leaves out `FMUL.RZ`, with which each of these kernels computes an index.)
#
# **Exercise 19.1** (about 4 lines). Write `online_step(s, largest, total)`, the step that the attention kernels of this
# page share. `@ct.function` marks a function that only kernels call. s is a tile of scores (tm, tn), already multiplied
# by log2(e); largest and total are columns (tm, 1). Return the tile's weights p = 2^(s - new maximum), the factor for
# everything that came before, the new maximum and the new total. The kernel below it is given: for each row of s it
# averages the numbers v with the row's softmax as weights, and it loads each score once. `check` counts the
# instructions of both exponentials.


# %%
@ct.function
def online_step(s, largest, total):
    ### BEGIN SOLUTION (about 4 lines)
    new = ct.maximum(largest, ct.max(s, 1, keepdims=True))
    p = ct.exp2(s - new, flush_to_zero=True)
    factor = ct.exp2(largest - new, flush_to_zero=True)
    return p, factor, new, total * factor + ct.sum(p, 1, keepdims=True)
    ### END SOLUTION


@ct.kernel
def soft_average(s, v, o, tm: ct.Constant[int], tn: ct.Constant[int]):
    i = ct.bid(0)
    largest = ct.full((tm, 1), -math.inf, ct.float32)
    total = ct.zeros((tm, 1), ct.float32)
    acc = ct.zeros((tm, 1), ct.float32)
    for j in range(ct.cdiv(s.shape[1], tn)):
        part = ct.load(s, (i, j), (tm, tn), padding_mode=NEG_INF) * LOG2_E
        p, factor, largest, total = online_step(part, largest, total)
        values = ct.load(v, (j,), (tn,), padding_mode=ZERO)
        acc = acc * factor + ct.sum(p * values[None, :], 1, keepdims=True)
    ct.store(o, (i,), ct.reshape(acc / total, (tm,)))


# %%
check("19.1", soft_average)

# %% [markdown]
# Now test the claim about the tiles' width. The cell gives your kernel scores from a wide range, sorted so that the
# maximum grows in every tile, and compares its result with one pass in fp64. Then let `online_step` use and return a
# factor of 1, and run the cell of 19.1 and this one again: which widths still give the right result, and why? Put your
# factor back before you go on.

# %%
torch.manual_seed(0)
scores = torch.sort(20 * torch.randn(8, 200), dim=1).values
values = torch.randn(200)
exact = scores.double().softmax(1) @ values.double()
for tn in (4, 16, 64, 256):
    average = torch.empty(8)
    run(soft_average, (1,), (scores, values, average, 8, tn))
    print(f"tiles of {tn:3}: largest error {(average - exact).abs().max():.1e}")

# %% [markdown]
# With a factor of 1 only the tile of 256 is right: it holds the whole row, so there is nothing to correct.
#
# ## Why maximum and total are fp32
#
# The tensor cores multiply bf16. Could the total be bf16, too? The cell computes a row's total in tiles of 64 scores
# and rounds it after each tile. **Predict** the relative error that bf16 makes in rows of 256, of 4,096 and of 65,536
# scores:


# %%
def total_of(scores, dtype, tn=64):
    largest, total = torch.tensor(-math.inf), torch.tensor(0.0)
    for part in scores.split(tn):
        new = torch.maximum(largest, part.max())
        total = (total * torch.exp2(largest - new) + torch.exp2(part - new).sum()).to(dtype).float()
        largest = new
    return total * torch.exp2(largest - scores.max())


for n in (256, 4096, 65536):
    row = torch.randn(n, generator=torch.Generator().manual_seed(n))
    exact = torch.exp2((row - row.max()).double()).sum()
    errors = [abs(total_of(row, dtype) / exact - 1) for dtype in (torch.float32, torch.bfloat16)]
    print(f"{n:6} keys: relative error {errors[0]:.0e} in fp32, {errors[1]:.0e} in bf16")

# %% [markdown]
# bf16 has 8 significant bits: in the two shorter rows the error is that of about one rounding. But once the total is
# several hundred times as large as a tile's contribution, adding the tile no longer changes it, and the output, divided
# by that total, is too large. No error message tells you. The accumulator is fp32 for the same reason. The maximum
# would tolerate rounding, as long as both sums use the rounded one, which then cancels; but it is a single number per
# row, like the total, so fp32 costs little. The weights p may be rounded to bf16 for the tensor cores: each enters a
# sum only once, so their errors do not accumulate, and partly cancel.
#
# ## Two GEMMs in one kernel
#
# Replace the numbers v with rows of V, and the given scores with Q Kᵀ, and you have attention. In each step, a block
#
# 1. loads a tile of K, (tn, d), and multiplies: S = Q Kᵀ, a tile (tm, tn), times the scale;
# 2. calls `online_step`;
# 3. loads a tile of V, (tn, d), and accumulates: acc · factor + P V, a tile (tm, d).
#
# The tile of Q is loaded once, before the loop. The tensor cores multiply bf16, so P is rounded to V's dtype; all else
# stays fp32 until the result is stored.
#
# **Exercise 19.2** (about 8 lines). Write the loop and the store of `attend`, for one head without a mask. q and o are
# (queries, d), k and v (keys, d), all bf16; tm divides the number of queries and tn that of the keys. `scale` includes
# log2(e). `ct.mma(x, y, acc)` is x @ y + acc; its third operand may be `acc * factor`. (`ct.matmul` and `@` return
# their operands' dtype: scores in bf16.) `check` counts the tensor cores' products, the roundings to bf16 and, in this
# kernel and those that follow, the instructions of the exponentials, as in 19.1.


# %%
@ct.kernel
def attend(q, k, v, o, scale: float, tm: ct.Constant[int], tn: ct.Constant[int], d: ct.Constant[int]):
    m = ct.bid(0)
    queries = ct.load(q, (m, 0), (tm, d))
    largest = ct.full((tm, 1), -math.inf, ct.float32)
    total = ct.zeros((tm, 1), ct.float32)
    acc = ct.zeros((tm, d), ct.float32)
    ### BEGIN SOLUTION (about 8 lines)
    for n in range(k.shape[0] // tn):
        k_tile = ct.load(k, (n, 0), (tn, d))
        s = ct.mma(queries, ct.transpose(k_tile), ct.zeros((tm, tn), ct.float32)) * scale
        p, factor, largest, total = online_step(s, largest, total)
        v_tile = ct.load(v, (n, 0), (tn, d))
        acc = ct.mma(p.astype(v.dtype), v_tile, acc * factor)
    ct.store(o, (m, 0), (acc / total).astype(o.dtype))
    ### END SOLUTION


# %%
check("19.2", attend)

# %% [markdown]
# Every block reads all of K and V, so a larger `tm` means fewer reads, as in a GEMM. **Predict** the number of
# operations per byte that an SM loads, for tiles of 16, 64 and 128 queries. Why does `tn` not matter?

# %%
print(f"the tensor cores can do {h200.flops['bf16'] / h200.bandwidth:.0f} operations per byte that memory delivers")
for tm in (16, 64, 128):
    operations, bytes_loaded = 2 * 2 * tm * d, 2 * d * 2  # for each key: two products, a row of K and one of V
    print(f"{tm:3} queries: {operations / bytes_loaded:3.0f} operations per byte of K and V")
print(f"K and V of one head: {2 * 2 * tokens * d / 1e6:.1f} MB")

# %% [markdown]
# A tile of keys serves `tm` queries, whatever its width. Even with 128 queries, memory alone could not deliver K and V
# fast enough: 128 is less than 206. It does not have to. The 16,384 queries of a head are 128 such blocks, fewer than
# an H200 has SMs, so all of them read the same 8.4 MB at about the same time, and L2 serves most of the reads.
#
# **Keep this:** Q stays, K and V stream past, and one factor per row keeps the accumulator consistent.
#
# ## Masks, and tiles that need none
#
# In a causal model, query i sees keys 0 … i. A **mask** sets the other scores to -∞, so that their weights are 0. If
# you cut S into tiles, there are three kinds: tiles that every query of the block sees whole, tiles that need a mask,
# and tiles that no query sees. In the picture, a row is one block's queries and a column one tile of keys. There are
# 320 queries and only 250 keys, so the last tile of keys is incomplete.

# %%
show_key_tiles(320, 250, 64, 32)

# %% [markdown]
# A mask costs a comparison and a select for each score. They take issue slots in which the warps would otherwise issue
# exponentials and sums. So the kernel has two loops: one without masks, then one with masks for the few tiles at the
# diagonal and at the end of K. It never visits the white tiles, which are nearly half of a long square S.
#
# **Exercise 19.3** (about 2 lines). Write `key_tiles(m, tm, tn, keys)` for block m: return two numbers, how many tiles
# of keys, from the first on, need no mask, and how many tiles the block visits in all. A tile that extends past the
# last key needs a mask. There may be fewer keys than queries, and a tile may have one row. Undecorated, it can be
# called by your kernels and by `check` on the host, so use only arithmetic, `min` and `ct.cdiv`.


# %%
def key_tiles(m, tm, tn, keys):
    ### BEGIN SOLUTION (about 2 lines)
    whole, visited = min(m * tm + 1, keys) // tn, min((m + 1) * tm, keys)
    return whole, ct.cdiv(visited, tn)
    ### END SOLUTION


# %%
check("19.3", key_tiles)

# %% [markdown]
# Notebook 06's caution about -∞ - (-∞) applies here: if all scores of a row are -∞ in the *first* tile that a block
# visits, `online_step` computes NaN. That cannot happen with this mask, because key 0 is in the first tile and every
# query sees it. From then on `largest` is finite, and a tile whose scores are all -∞ in a row changes nothing there.
#
# **Exercise 19.4** (about 9 lines). Write the second loop of `causal`, over the tiles that need a mask; the first one
# is your `attend`'s. Now the numbers of queries and keys need not be multiples of the tile. `ct.where(seen, s,
# -math.inf)` masks; `ct.arange(tn, dtype=ct.int32)` is 0 … tn - 1. Pad the loads: an undetermined number in V may be
# NaN, and 0 · NaN is NaN, so weight 0 does not remove it. `check` counts the tiles that you load, multiply and mask.


# %%
@ct.kernel
def causal(q, k, v, o, scale: float, tm: ct.Constant[int], tn: ct.Constant[int], d: ct.Constant[int]):
    m = ct.bid(0)
    keys = k.shape[0]
    unmasked, end = key_tiles(m, tm, tn, keys)
    queries = ct.load(q, (m, 0), (tm, d), padding_mode=ZERO)
    largest = ct.full((tm, 1), -math.inf, ct.float32)
    total = ct.zeros((tm, 1), ct.float32)
    acc = ct.zeros((tm, d), ct.float32)
    for n in range(unmasked):
        k_tile = ct.load(k, (n, 0), (tn, d))
        s = ct.mma(queries, ct.transpose(k_tile), ct.zeros((tm, tn), ct.float32)) * scale
        p, factor, largest, total = online_step(s, largest, total)
        v_tile = ct.load(v, (n, 0), (tn, d))
        acc = ct.mma(p.astype(v.dtype), v_tile, acc * factor)
    ### BEGIN SOLUTION (about 9 lines)
    row = m * tm + ct.arange(tm, dtype=ct.int32)[:, None]
    for n in range(unmasked, end):
        k_tile = ct.load(k, (n, 0), (tn, d), padding_mode=ZERO)
        s = ct.mma(queries, ct.transpose(k_tile), ct.zeros((tm, tn), ct.float32)) * scale
        column = n * tn + ct.arange(tn, dtype=ct.int32)[None, :]
        seen = (column < keys) & (column <= row)
        p, factor, largest, total = online_step(ct.where(seen, s, -math.inf), largest, total)
        v_tile = ct.load(v, (n, 0), (tn, d), padding_mode=ZERO)
        acc = ct.mma(p.astype(v.dtype), v_tile, acc * factor)
    ### END SOLUTION
    ct.store(o, (m, 0), (acc / total).astype(o.dtype))


# %%
check("19.4", causal)

# %% [markdown]
# **Keep this:** a block's first query determines which tiles need no mask; its last one, where the loop ends.
#
# ## Heads that share keys, and the longest rows first
#
# A model has many heads and a batch of sequences: q and o are (batch, heads, queries, d), and every head of every
# sequence is a problem of its own. In **grouped-query attention** (GQA), a group of heads shares one head of K and V:
# k and v are (batch, kv_heads, keys, d), and head h uses the head h // group of them. The arithmetic stays the same; K
# and V, which a server keeps in memory for every token, shrink by the factor `group`.
#
# Causal blocks differ in length: the last one visits all keys, the first one only a tile or two. In practice, blocks
# start in the order of their index, x fastest. If the longest start last, most SMs are idle while they finish. The cell
# schedules one head's blocks on four SMs, each block on the SM that is free first. **Predict** the difference:


# %%
def makespan(work, sms=4):
    free = [0] * sms
    for length in work:
        free[free.index(min(free))] += length
    return max(free)


lengths = [2 * (m + 1) for m in range(16)]  # tiles of keys visited by block m of 16, tm = 2 tn
print(f"the work of four SMs, shared evenly: {sum(lengths) / 4:.0f} tiles each")
print(f"shortest first: {makespan(lengths)} tiles, longest first: {makespan(lengths[::-1])}")

# %% [markdown]
# Longest first, the short blocks fill the gaps at the end, and the four SMs share the work evenly.
#
# **Exercise 19.5** (about 30 lines). Write the kernel `attention`: your `causal` with a batch, heads and groups, and
# with the longest rows of each head first. The grid is (blocks of queries, heads, batch), so `ct.num_blocks(0)` is the
# number of blocks of queries. A tile of k has four sizes here, (1, 1, tn, d), and `ct.reshape` makes it (tn, d); a
# store needs the four sizes again. `check` looks at the order of the blocks, and counts tiles as in 19.4.


# %%
@ct.kernel
def attention(
    q,
    k,
    v,
    o,
    scale: float,
    group: ct.Constant[int],
    tm: ct.Constant[int],
    tn: ct.Constant[int],
    d: ct.Constant[int],
):
    ### BEGIN SOLUTION (about 30 lines)
    m, head, batch = ct.num_blocks(0) - 1 - ct.bid(0), ct.bid(1), ct.bid(2)
    kv_head, keys = head // group, k.shape[2]
    unmasked, end = key_tiles(m, tm, tn, keys)
    queries = ct.reshape(ct.load(q, (batch, head, m, 0), (1, 1, tm, d), padding_mode=ZERO), (tm, d))
    largest = ct.full((tm, 1), -math.inf, ct.float32)
    total = ct.zeros((tm, 1), ct.float32)
    acc = ct.zeros((tm, d), ct.float32)
    for n in range(unmasked):
        k_tile = ct.reshape(ct.load(k, (batch, kv_head, n, 0), (1, 1, tn, d)), (tn, d))
        s = ct.mma(queries, ct.transpose(k_tile), ct.zeros((tm, tn), ct.float32)) * scale
        p, factor, largest, total = online_step(s, largest, total)
        v_tile = ct.reshape(ct.load(v, (batch, kv_head, n, 0), (1, 1, tn, d)), (tn, d))
        acc = ct.mma(p.astype(v.dtype), v_tile, acc * factor)
    row = m * tm + ct.arange(tm, dtype=ct.int32)[:, None]
    for n in range(unmasked, end):
        k_tile = ct.reshape(ct.load(k, (batch, kv_head, n, 0), (1, 1, tn, d), padding_mode=ZERO), (tn, d))
        s = ct.mma(queries, ct.transpose(k_tile), ct.zeros((tm, tn), ct.float32)) * scale
        column = n * tn + ct.arange(tn, dtype=ct.int32)[None, :]
        seen = (column < keys) & (column <= row)
        p, factor, largest, total = online_step(ct.where(seen, s, -math.inf), largest, total)
        v_tile = ct.reshape(ct.load(v, (batch, kv_head, n, 0), (1, 1, tn, d), padding_mode=ZERO), (tn, d))
        acc = ct.mma(p.astype(v.dtype), v_tile, acc * factor)
    ct.store(o, (batch, head, m, 0), ct.reshape(acc / total, (1, 1, tm, d)).astype(o.dtype))
    ### END SOLUTION


# %%
check("19.5", attention)

# %% [markdown]
# The course's kernel, `tile_forward`, is yours with a constant `causal`, so that one source serves attention without a
# causal mask, and a second output: the **log-sum-exp** of each row, largest + log2(total), from which the backward pass
# (in the appendix) computes the weights again. The order of its work is different: it issues the scores of the next
# tile *before* the softmax of this one. The two do not depend on each other, so the compiler can overlap the
# exponentials with the tensor cores' work. The last tile has no next one, so it comes after the loops, and always with
# a mask.
#
# `tile_forward`, whose hint asks for two warpgroups (8 warps), only calls `forward_tile`; a second kernel will call
# that, too. `forward_tile` calls four functions. `load_rows` loads a tile of a head, with zeros past its end, and
# reshapes it, and `scores` multiplies Q by a tile of K. `scaled_step` is `online_step` with the scale inside: the
# maximum is taken before scaling, so that a score costs one fused multiply-add. `share(total)` is 1 / total, and 0 for
# a row that sees no key.

# %%
show_source(tiles.forward_tile, tiles.tile_forward)

# %% [markdown]
# ### Tiles and hints
#
# What is left is the tuning of notebook 07: the tile, and the hints with which it is compiled. With 128 queries, 128
# keys and d = 128, S and O alone are 256 accumulators for each thread of 4 warps, and 128 for each of 8. **Predict**
# how many bytes of a thread's registers spill with either:

# %%
shape = (1, 16, 4096, 128)
tensors = [TensorSpec(shape, "bf16")] * 4 + [TensorSpec(shape[:3])]
for warps in (4, 8):
    kernel = tiles.tile_forward.replace_hints(num_worker_warps=warps)
    made = compile_cutile(kernel, [*tensors, 0.1, 1, False, 128, 128, 128], "sm_90")
    print(f"{warps} warps: {made.registers} registers, {made.stack_bytes} bytes on the stack")

# %% [markdown]
# A thread can have 255 registers at most, so with 4 warps it spills. A tile that needs fewer leaves room for a second
# block on the SM (`occupancy=2`), whose multiplications can run during the first one's exponentials. A cluster of two
# CTAs (`num_ctas=2`) computes one tile together, with the registers of both.
#
# The table has the speed of the causal kernel with 4,096 tokens, as a fraction of the speed of torch's attention on
# cuDNN. A shape is batch × heads × heads of K and V × queries × keys × d. Rows with "two on an SM" have `occupancy=2`
# and 4 warps for each CTA, the others 8 warps unless they say 4. **Predict** which tile is the fastest for d = 128, and
# which for d = 64, where each exponential serves half as many products.

# %%
show_sweep("attention_tuning")

# %% [markdown]
# The first row shows what spills cost: it is by far the slowest. The tile of 64×128, two on an SM, wins for both d.
# Each thread has as many accumulators as with 128×128 and 8 warps, but the SM has a second block to turn to. Its lead
# over that tile is larger for d = 64, where an exponential has fewer products to hide behind. With half as many keys in
# a tile, 64×64, hardly anything is left of the lead.
#
# A block of 64 queries reads K and V for half as many queries as one of 128 does, but mostly from L2, and here the
# second block outweighs that. A cluster gains nothing over single blocks whose threads have equally many accumulators:
# 256×128 in a cluster is about level with 128×128 and 8 warps, and 128×128 in a cluster, two on an SM, is slower than
# 64×128, two on an SM.
#
# What does the early issue of the next scores bring? On a machine with a GPU, the next cell times your kernel, in the
# tile and with the hints that won, beside `tile_forward`. (With a causal mask, TFLOP/s count only the scores that a
# query sees, about half of S.) **Predict** the difference.


# %%
from contextlib import suppress

fast = attention.replace_hints(num_worker_warps=4, occupancy=2)


def yours(q, k, v, o):
    (batch, heads, queries, d), kv_heads = q.shape, k.shape[1]
    sizes = heads // kv_heads, 64, 128, d
    grid = (ct.cdiv(queries, 64), heads, batch)
    ct.launch(torch.cuda.current_stream(), grid, fast, (q, k, v, o, LOG2_E / math.sqrt(d), *sizes))


def the_courses(q, k, v, o):
    log_sum_exp = torch.empty(q.shape[:3], device=q.device)
    forward_by_tiles(o, log_sum_exp, q, k, v, 1 / math.sqrt(q.shape[3]), True)


with suppress(ct.TileError):  # until you have written it
    for shape in ((4, 16, 16, 4096, 4096, 128), (4, 32, 32, 4096, 4096, 64)):
        compare_attention({"your attention": yours, "tile_forward": the_courses}, shape)

# %% [markdown]
# Your kernel, a few dozen lines, has about 87% of cuDNN's speed, and `tile_forward` is 8% faster with d = 128 and 13%
# with d = 64. Two changes separate them, the early issue and the scale inside `scaled_step`, and this cell cannot tell
# which brings what. That the gain is larger with d = 64 fits both: there, an exponential serves fewer products.
#
# The next two tables have other lengths, first without a causal mask. In each row, the sequences of the batch have
# 16,384 tokens together. The cuTile kernel has the tile that won above, except for d = 64 without a mask: there it is
# 128×128 in a cluster of two, two on an SM. (Tried without a mask, the two were nearly level for d = 64, so little
# depends on this choice.) **Predict** how the speed of the cuTile kernel, relative to cuDNN's, depends on the length of
# the sequences, and on whether eight heads share K and V (16×2 heads against 16×16). The CuTe kernel is the subject of
# notebook 20.

# %%
show_sweep("attention_full")

# %%
show_sweep("attention_causal")

# %% [markdown]
# Relative to cuDNN, the cuTile kernel is furthest behind at 1,024 tokens and best at 16,384, with the mask and without,
# for either d. With the mask and d = 64, it is level with cuDNN at 8,192 tokens and faster at 16,384. Sharing K and V
# changes its ratio little: most at 1,024 tokens, by 2 or 3%. The tables do not say why the kernel is furthest behind at
# short sequences.
#
# Multiplications and exponentials are done by different units, and a fast kernel keeps both busy at the same time. In
# cuTile the order of your source, the tile and the hints give the compiler the chance, and the compiler decides. In
# notebook 20 you decide.
#
# **Keep this:** in a causal grid, blocks start in the order of their index, so give the first indices the most work.
#
# ## Decoding: one query, many keys
#
# When a model generates text, each step has one new query per sequence, and K and V of all tokens so far. The query
# belongs to the last of them, so it sees all keys, and no causal mask is needed. A tile of scores has few rows: the
# `group` query heads that share a head of K and V, padded to 16, the rows of an `mma.sync` (a wgmma has 64).
# **Predict**: what limits the kernel, the tensor cores or memory?

# %%
batch, kv_heads, group, keys, d = 4, 8, 8, 16384, 128
operations = 2 * 2 * batch * kv_heads * group * keys * d
bytes_read = 2 * 2 * batch * kv_heads * keys * d
print(f"{operations / bytes_read:.0f} operations per byte")
print(f"tensor cores: {operations / h200.flops['bf16'] * 1e6:6.1f} µs at least")
print(f"memory:       {bytes_read / h200.bandwidth * 1e6:6.1f} µs at least")
print(f"blocks, if each has one sequence and one head of K and V: {batch * kv_heads}, for {h200.sms} SMs")

# %% [markdown]
# Memory is the limit, by far. But most SMs have no block, so too few loads are in flight to use its bandwidth. Only one
# dimension is left to divide, the keys. **Split** them: each block computes attention over its own range of keys, as if
# there were no others, and a second kernel combines the parts.
#
# To combine them, it must know the weight of each part. Part s has the maximum mₛ and the total tₛ, so its denominator
# is tₛ·2^mₛ. That number may overflow, but its logarithm does not: the log-sum-exp lseₛ = mₛ + log2(tₛ). Let Oₛ be the
# output of part s, already divided by tₛ. The whole row's output is
#
# O = Σₛ 2^lseₛ · Oₛ / Σₛ 2^lseₛ
#
# and, as in every softmax, you subtract the largest lse before you exponentiate.
#
# **Exercise 19.6** (about 6 lines). Write the kernel `combine(parts, lse, o, splits, d)`. The array `parts` of the Oₛ
# is (number of parts, rows, d), lse (number of parts, rows), o (rows, d), all fp32; block i combines row i. `splits` is
# the smallest power of two that is at least the number of parts: choose the padding so that parts that do not exist
# have weight 0. `check` looks at the size of the tiles that you load.


# %%
@ct.kernel
def combine(parts, lse, o, splits: ct.Constant[int], d: ct.Constant[int]):
    row = ct.bid(0)
    ### BEGIN SOLUTION (about 6 lines)
    logs = ct.load(lse, (0, row), (splits, 1), padding_mode=NEG_INF)
    weights = ct.exp2(logs - ct.max(logs), flush_to_zero=True)
    part = ct.reshape(ct.load(parts, (0, row, 0), (splits, 1, d), padding_mode=ZERO), (splits, d))
    average = ct.sum(part * weights, 0, keepdims=True) / ct.sum(weights)
    ct.store(o, (row, 0), average)
    ### END SOLUTION


# %%
check("19.6", combine)

# %% [markdown]
# The first kernel contains nothing new: your loop over a range of keys, with the group's heads as rows (q is viewed as
# (batch, kv_heads, group, d)) and a mask for the end of K, and the `scaled_step` and `scores` that `forward_tile`
# calls. One loop is enough here: it masks every tile, since a tile has few scores and the kernel waits for memory. It
# stores each part in fp32, and its lse. Its tile has 16 rows, but the store writes only `group` of them, since the
# others are outside `parts`. In your `combine` the parts come first; in the course's they come after the batch and the
# head of K and V, and before the rows.

# %%
show_source(tiles.scaled_step, tiles.scores, tiles.decode_parts)

# %% [markdown]
# How many splits? Enough to occupy all SMs, but not many more: blocks that wait for an SM have no loads in flight, and
# each part is written and read again, in fp32. **Predict** how much traffic the parts add, with enough splits for two
# blocks on each SM:

# %%
splits = -(-2 * h200.sms // (batch * kv_heads))
parts_moved = 2 * batch * kv_heads * splits * group * d * 4  # written once, read once
print(f"{splits} splits: {batch * kv_heads * splits} blocks, {parts_moved / bytes_read:.1%} more bytes than K and V")

# %% [markdown]
# So the parts add little traffic. (The course's kernel rounds the number of splits down, so that all blocks are on an
# SM at once.) But they need a second kernel, and its launch and its blocks take microseconds in which hardly a byte is
# loaded. Keep its blocks few: the course's kernel combines up to four rows in each block. And split only if you must:
# where the batch alone fills the SMs, K stays whole, there is nothing to combine, and the first kernel stores O itself.
#
# The table has speeds as a fraction of the speed of torch's fastest backend. Shapes are written as above, with one
# query, and all rows read the same number of bytes of K and V. Each column has its own limit for the blocks on an SM:
# the keys are split into as many parts as it allows, and the kernel is compiled for that many, by its `occupancy` hint.
# **Predict**: is one block for each SM enough, and do four gain anything over two?

# %%
show_sweep("decode")

# %% [markdown]
# One block for each SM is nearly enough. On the H100 it is within 2% of torch's fastest backend, and at least level
# with two in all rows but one. On the H200 it leads by up to 4% where the batch has fewer than 512 heads of K and V;
# with more, two are 4 to 6% faster. Its lead is not only a matter of splitting: in 32×64×8×1×4096×128, whose 32 × 8
# heads of K and V stay whole in both columns, it is 1 to 2% ahead.
#
# Four are much slower, and the parts are not the reason: where the batch has 512 heads of K and V or more, no column
# splits them, and four are as slow there. What differs is the hint. Compiled for four blocks, a thread has a quarter of
# the registers that it has for one, and spills. (To see it, compile `tiles.decode_parts` as you compiled
# `tile_forward`, for `occupancy=4`, with a tile of 128 keys and d = 128.)
#
# If different kernels, as torch's backend and the first two columns here, take nearly the same time, suspect a common
# limit. **Predict** the fraction of the memory's bandwidth that one block for each SM reaches.

# %%
for decode in all_sweep_results("decode"):
    peak = hardware_of(decode.gpu).bandwidth
    shares = [1e9 * point.measurement.gbps / peak for point in decode.of_kernel("1 block per SM")]
    print(f"{decode.gpu}: {min(shares):.0%} to {max(shares):.0%} of the datasheet's bandwidth")

# %% [markdown]
# Notebook 05's best copy reached 89% on either GPU. So decoding is nearly as fast as device memory can be read: the
# softmax and both multiplications are hidden behind its loads.
#
# ## What to remember
#
# - Attention never stores S: Q stays in the block, K and V stream past it.
# - When the maximum grows, one factor per row corrects the total and the accumulator. Both are fp32.
# - With log2(e) in the scale, `exp2`, flushed, takes one instruction for each exponential.
# - Write two loops: tiles without a mask, then the few with one. Do not visit tiles that no query sees.
# - Start the longest causal blocks first. Heads of a group read the same K and V.
# - Decoding is limited by memory: split the keys, and combine the parts by their log-sum-exp.
#
# ## Test yourself
#
# <details><summary>1. All scores of a row are equal, and there are n keys. What are largest, total and lse at the end,
# to base 2?</summary>
#
# With s the score times log2(e): largest is s, each weight is 1, so total is n, and lse is s + log2(n).
#
# </details>
#
# <details><summary>2. With tiles of 128 queries and 64 keys, how many tiles of keys does causal block 5 visit, and how
# many of them with a mask? There are many keys.</summary>
#
# Its queries are 640 … 767. It visits 768 / 64 = 12 tiles; the first 641 // 64 = 10 need no mask, so 2 are masked.
#
# </details>
#
# <details><summary>3. A part of a split has only keys that are masked. Which total and lse does it have, and what must
# the kernel that computes it avoid?</summary>
#
# Its total is 0 and its lse is -∞, so its weight in the combination is 0. But with largest = -∞, s - largest is
# -∞ - (-∞), NaN. So the kernel must skip the part, or use 0 in place of a maximum of -∞; and it must not divide by the
# total.
#
# </details>

# %% [markdown]
# ## Appendix: backward
#
# Training needs the gradients of a loss with respect to Q, K and V, given dO, its gradient with respect to O. Write
# the forward pass as three steps, and go back through them (∘ multiplies element by element):
#
# | forward | backward |
# |---|---|
# | O = P V | dV = Pᵀ dO, dP = dO Vᵀ |
# | P = softmax(S), by rows | dS = P ∘ (dP - δ), δᵢ = Σⱼ Pᵢⱼ dPᵢⱼ |
# | S = scale · Q Kᵀ | dQ = scale · dS K, dK = scale · dSᵀ Q |
#
# δ is one number per row, and seems to need a whole row of dP. It does not: Σⱼ Pᵢⱼ dPᵢⱼ = Σⱼ Pᵢⱼ (dOᵢ · Vⱼ) = dOᵢ · Oᵢ,
# a dot product of two rows of d numbers. And P no longer needs an online softmax: the forward pass's log-sum-exp gives
# Pᵢⱼ = 2^(Sᵢⱼ·log2(e) - lseᵢ) in one step. Is the table right? Compare it with torch's automatic differentiation, in
# fp64:

# %%
from torch.nn.functional import scaled_dot_product_attention

torch.manual_seed(0)
q, k, v = (torch.randn(1, 1, 40, 16, dtype=torch.float64, requires_grad=True) for _ in range(3))
o = scaled_dot_product_attention(q, k, v)
do, scale = torch.randn_like(o), 16**-0.5
p = (q @ k.mT * scale).softmax(-1)
delta = (do * o).sum(-1, keepdim=True)
ds = p * (do @ v.mT - delta)
by_hand = {"dQ": scale * ds @ k, "dK": scale * ds.mT @ q, "dV": p.mT @ do}
for (name, mine), exact in zip(by_hand.items(), torch.autograd.grad(o, (q, k, v), do), strict=True):
    print(f"{name}: largest difference {(mine - exact).abs().max():.0e}")

# %% [markdown]
# A block that owns queries can accumulate dQ, and a block that owns keys can accumulate dK and dV. One kernel for all
# three would need atomic additions, whose order, and with it the rounding of the sums, changes from run to run. The
# course has one kernel for each owner, after a short one that computes δ from O and dO: both compute S and dP, but the
# results are the same in every run.
#
# **Exercise 19.7** (about 12 lines). Write the kernel `grad_q` for one head without a mask, in sizes that the tiles
# divide: q, do and dq are (queries, d), k and v (keys, d), bf16; lse (to base 2, of the scores times log2(e)) and delta
# are (queries,), fp32. `scale` is that of the scores, *without* log2(e). Of the tiles in between, only dS is rounded to
# bf16, for its product. `check` counts the instructions of the exponentials, as in 19.1.


# %%
@ct.kernel
def grad_q(q, k, v, do, lse, delta, dq, scale: float, tm: ct.Constant[int], tn: ct.Constant[int], d: ct.Constant[int]):
    m = ct.bid(0)
    q_tile, do_tile = ct.load(q, (m, 0), (tm, d)), ct.load(do, (m, 0), (tm, d))
    ### BEGIN SOLUTION (about 12 lines)
    logs, shared = ct.load(lse, (m,), (tm,))[:, None], ct.load(delta, (m,), (tm,))[:, None]
    zeros = ct.zeros((tm, tn), ct.float32)
    acc = ct.zeros((tm, d), ct.float32)
    for n in range(k.shape[0] // tn):
        k_tile, v_tile = ct.load(k, (n, 0), (tn, d)), ct.load(v, (n, 0), (tn, d))
        s = ct.mma(q_tile, ct.transpose(k_tile), zeros) * (scale * LOG2_E)
        p = ct.exp2(s - logs, flush_to_zero=True)
        dp = ct.mma(do_tile, ct.transpose(v_tile), zeros)
        ds = p * (dp - shared)
        acc = ct.mma(ds.astype(k.dtype), k_tile, acc)
    ct.store(dq, (m, 0), (acc * scale).astype(dq.dtype))
    ### END SOLUTION


# %%
check("19.7", grad_q)

# %% [markdown]
# The other kernel owns keys and walks along the queries, over all heads of the group. It computes Sᵀ = K Qᵀ instead of
# S, because Pᵀ and dSᵀ are the left operands of its products: no tile that it computes has to be transposed. With a
# causal mask, a block begins at the first queries that see its keys. `load_logs` and `load_deltas` load a tile of lse
# and of δ.

# %%
show_source(tiles.keys_step, tiles.backward_keys)

# %% [markdown]
# These kernels compute seven products: S and dP twice, dV, dK and dQ once. With atomic additions, five would do. If
# they kept the tensor cores as busy as a kernel with five, they would reach 5/7 of its speed, 0.71. The table has their
# speed as a fraction of the speed of torch's fastest backward pass; TFLOP/s count five products, not seven. **Predict**
# whether it is above or below 0.71.

# %%
show_sweep("attention_backward")

# %% [markdown]
# Most are above, all with d = 64 among them. In those rows, if torch's pass computes five products, these kernels keep
# the tensor cores busier than it does. Where eight heads share K and V, the ratio is lower in all causal rows, and
# without a mask for sequences of 4,096 tokens or more. A block that owns keys walks over the queries of all eight heads
# there, and an eighth as many such blocks are harder to share evenly among the SMs. The table does not show whether
# that is the reason.

# ---
# jupyter:
#   tutorlib:
#     minutes: 70
#     appendix: 8
#     summary: Softmax and two GEMMs in one kernel, causal, grouped, for one query; the appendix has the backward pass.
# ---

# %% [markdown]
# # 22 · Attention in tiles
#
# Attention computes O = softmax(Q Kᵀ · scale) V, where scale is usually 1/√d for rows of d numbers. Three launches, a
# GEMM, a softmax and another GEMM, would give the right result. On this page you write one kernel that does it all and
# never stores the scores S = Q Kᵀ: FlashAttention ([Dao et al., 2022](https://arxiv.org/abs/2205.14135)), with the
# loops of FlashAttention-2 ([Dao, 2023](https://arxiv.org/abs/2307.08691)).
#
# > **After this page you can** write an attention kernel in cuTile that never stores its scores, masks only the tiles
# > that need a mask, skips the tiles that no query sees, shares K and V among heads, and starts its longest rows first;
# > and split the keys of one query among blocks.
# >
# > **It takes** about 70 minutes, on any machine; its appendix about 8 more.

# %%
import math

import cuda.tile as ct
import torch

from tutorlib import (
    all_sweep_results, check, compare_attention, hardware_of, show_attention_loop, show_key_tiles, show_sweep,
)  # fmt: skip

ZERO, NEG_INF = ct.PaddingMode.ZERO, ct.PaddingMode.NEG_INF
LOG2_E = math.log2(math.e)
Int = ct.Constant[int]
h200 = hardware_of("NVIDIA H200")

# %% [markdown]
# For 4,096 tokens, 4 sequences and 16 heads of d = 128, Q, K, V and O together have 0.27 GB, and S 2.1 GB in bf16. In
# three launches, memory moves S four times. **Predict** the speed of three launches of torch, and of one kernel in
# cuTile, as a fraction of that of torch's attention on cuDNN. A shape is batch × heads × heads of K and V × queries ×
# keys × d:

# %%
show_sweep("attention_fusing")

# %% [markdown]
# One kernel is five times as fast as three launches with d = 128, and almost eight times with d = 64. Its blocks
# compute a tile of S, use it and discard it. Only Q, K, V and O go through memory.
#
# Each query is a row of Q, and its output is a weighted average of the rows of V. Rows do not depend on each other, so
# a block takes `tm` queries and walks along the keys, `tn` at a time. The obstacle is the softmax: its maximum and its
# sum are known only after the last key. Notebook 06 removed that obstacle for a softmax; here you remove it for an
# average.
#
# ## An average with weights that are not final
#
# GPUs have an instruction for 2ˣ (`ex2` in PTX) and none for eˣ. Attention multiplies its scores by a scale anyway, so
# put log2(e) into it: then a weight is 2^(s - m), where m is the maximum of the row's scores so far. Keep two
# sums relative to m: the **total** Σ 2^(sₙ - m) and the accumulator Σ 2^(sₙ - m)·vₙ. Suppose that the next tile raises
# the maximum to m′. For every term of both sums
#
# 2^(sₙ - m′) = 2^(sₙ - m) · 2^(m - m′)
#
# so the **factor** 2^(m - m′) corrects a whole sum at once. Before the first tile, m is -∞ and both sums are 0. After
# the last tile, the accumulator divided by the total is the average, for any order and width of the tiles. Here is one
# block's loop, with the scores of one of its queries and one column of V. Q stays; a tile of K and a tile of V, two
# keys each, pass in each step. A red frame marks the steps whose factor rescales total and accumulator; the first
# step's factor multiplies zeros.

# %%
show_attention_loop([(1, 3), (2, 0), (5, 4), (4, 1), (6, 6)], [(2, 4), (1, 0), (3, 5), (8, 2), (1, 3)])

# %% [markdown]
# So this is the step that all kernels of this page share. s is a tile of scores (tm, tn), already multiplied by
# log2(e); largest and total are columns (tm, 1). It returns the tile's weights, the factor for everything that came
# before, the new maximum and the new total. With `flush_to_zero=True`, which replaces numbers below 2⁻¹²⁶ with 0, an
# exponential is one instruction, `ex2`. (`@ct.function` marks a function that only kernels call.)


# %%
@ct.function
def online_step(s, largest, total):
    new = ct.maximum(largest, ct.max(s, 1, keepdims=True))
    p = ct.exp2(s - new, flush_to_zero=True)
    factor = ct.exp2(largest - new, flush_to_zero=True)
    return p, factor, new, total * factor + ct.sum(p, 1, keepdims=True)


# %% [markdown]
# Total and accumulator are fp32. The weights p may be rounded to bf16 for the tensor cores: each enters a sum only
# once, so their errors do not accumulate.
#
# ## Two GEMMs in one kernel
#
# Replace the numbers v with rows of V, and the given scores with Q Kᵀ, and you have attention. The tile of Q is loaded
# once; each step takes a tile of K and a tile of V, (tn, d) both, and makes two products: the scores, (tm, tn), and P
# V, (tm, d), which joins the accumulator.
#
# **Exercise 22.1** (about 8 lines). Write the loop and the store of `attend`, for one head without a mask. q and o are
# (queries, d), k and v (keys, d), all bf16; tm divides the number of queries and tn that of the keys. `scale` includes
# log2(e). Only P, for the tensor cores, and the result are rounded to bf16. `ct.mma(x, y, acc)` is x @ y + acc in fp32
# (`ct.matmul` and `@` return their operands' dtype); `ct.transpose(tile)`; `tile.astype(v.dtype)`. `check` counts the
# tensor cores' products, the roundings to bf16 and the instructions of the exponentials, here and in the kernels that
# follow.


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
check("22.1", attend)

# %% [markdown]
# ## Masks, and tiles that need none
#
# In a causal model, query i sees keys 0 … i. A **mask** sets the other scores to -∞, so that their weights are 0. If
# you cut S into tiles, there are three kinds: tiles that every query of the block sees whole, tiles that need a mask,
# and tiles that no query sees. In the picture, a row is one block's queries and a column one tile of keys. There are
# 320 queries and only 250 keys, so the last tile of keys is incomplete.

# %%
show_key_tiles(320, 250, 64, 32)

# %% [markdown]
# A mask costs a comparison and a select for each score. So the kernel has two loops: one without masks, then one with
# masks for the few tiles at the diagonal and at the end of K. It never visits the white tiles, which are nearly half of
# a long square S.
#
# **Exercise 22.2** (about 2 lines). Write `key_tiles(m, tm, tn, keys)` for block m. It returns the number of leading
# tiles of keys that need no mask, and the number of tiles that the block visits. A tile that extends past the last key
# needs a mask. There may be fewer keys than queries. Your kernels and `check` call the function, so use only
# arithmetic, `min` and `ct.cdiv`.


# %%
def key_tiles(m, tm, tn, keys):
    ### BEGIN SOLUTION (about 2 lines)
    whole, visited = min(m * tm + 1, keys) // tn, min((m + 1) * tm, keys)
    return whole, ct.cdiv(visited, tn)
    ### END SOLUTION


# %%
check("22.2", key_tiles)

# %% [markdown]
# In the *first* tile that a block visits, no row has only scores of -∞: key 0 is there, and every query sees it.
# So `largest` is finite from then on, and a tile whose scores are all -∞ in a row changes nothing there.
#
# ## Heads that share keys, and the longest rows first
#
# A model has many heads and a batch of sequences: q and o are (batch, heads, queries, d). In **grouped-query
# attention** (GQA, [Ainslie et al., 2023](https://arxiv.org/abs/2305.13245)), a group of heads shares one head of K and
# V: k and v are (batch, kv_heads, keys, d), and head h uses the head h // group of them. K and V, which a server keeps
# in memory for every token, shrink by the factor `group`.
#
# Causal blocks differ in length: the last one visits all keys, the first one only a tile or two. Notebook 12 measured
# that blocks start in the order of their index, x fastest. If the longest start last, most SMs are idle while they
# finish.
#
# All arrays have four modes now. This function loads tile n (rows, d) of a head, with zeros past its last row. Why
# zeros, if the mask gives these keys a weight of 0 anyway?


# %%
@ct.function
def rows_of(x, batch, head, n, rows: Int, d: Int):
    return ct.reshape(ct.load(x, (batch, head, n, 0), (1, 1, rows, d), padding_mode=ZERO), (rows, d))


# %% [markdown]
# ## Your kernel
#
# **Exercise 22.3** (about 25 lines). From an empty cell, write the kernel `attention(q, k, v, o, scale: float, group:
# Int, tm: Int, tn: Int, d: Int)`: causal, with a batch, heads and groups, for any number of queries and of keys. The
# grid is (blocks of queries, heads, batch), and the longest rows start first. `check` counts the tiles that you load,
# multiply and mask, and looks at the order of the blocks. At hand: `ct.arange(tn, dtype=ct.int32)`, the numbers from 0
# on, of which `[:, None]` and `[None, :]` make columns and rows; `ct.where(condition, s, -math.inf)`, a mask;
# `ct.reshape(tile, (1, 1, tm, d))`, the tile as `ct.store` wants it for an array of four modes.


# %%
# attention(q, k, v, o, scale, group, tm, tn, d)
### BEGIN SOLUTION (about 25 lines)
@ct.kernel
def attention(q, k, v, o, scale: float, group: Int, tm: Int, tn: Int, d: Int):
    m, head, batch = ct.num_blocks(0) - 1 - ct.bid(0), ct.bid(1), ct.bid(2)
    keys, kv_head = k.shape[2], head // group
    unmasked, end = key_tiles(m, tm, tn, keys)
    queries = rows_of(q, batch, head, m, tm, d)
    largest = ct.full((tm, 1), -math.inf, ct.float32)
    total = ct.zeros((tm, 1), ct.float32)
    acc = ct.zeros((tm, d), ct.float32)
    for n in range(unmasked):
        k_tile = rows_of(k, batch, kv_head, n, tn, d)
        s = ct.mma(queries, ct.transpose(k_tile), ct.zeros((tm, tn), ct.float32)) * scale
        p, factor, largest, total = online_step(s, largest, total)
        acc = ct.mma(p.astype(v.dtype), rows_of(v, batch, kv_head, n, tn, d), acc * factor)
    row = m * tm + ct.arange(tm, dtype=ct.int32)[:, None]
    for n in range(unmasked, end):
        k_tile = rows_of(k, batch, kv_head, n, tn, d)
        s = ct.mma(queries, ct.transpose(k_tile), ct.zeros((tm, tn), ct.float32)) * scale
        column = n * tn + ct.arange(tn, dtype=ct.int32)[None, :]
        seen = (column < keys) & (column <= row)
        p, factor, largest, total = online_step(ct.where(seen, s, -math.inf), largest, total)
        acc = ct.mma(p.astype(v.dtype), rows_of(v, batch, kv_head, n, tn, d), acc * factor)
    ct.store(o, (batch, head, m, 0), ct.reshape(acc / total, (1, 1, tm, d)).astype(o.dtype))


### END SOLUTION


# %%
check("22.3", attention)

# %% [markdown]
# A weight of 0 keeps nothing out: 0 · NaN is NaN, so V needs its padding. K's padding never reaches the result, because
# `ct.where` replaces those scores.
#
# What is left is the tuning of notebook 07: the tile and the hints.
#
# A tile that needs fewer registers leaves room for a second block on the SM (`occupancy=2`), whose multiplications can
# run during the first one's exponentials. Here is the course's causal kernel, which also issues the scores of the next
# tile *before* the softmax of this one, by the queries × keys of its tile:

# %%
show_sweep("attention_tuning").iloc[[1, 4, 5]]

# %% [markdown]
# 64×128 wins. Each thread has as many accumulators as with 128×128 and 8 warps, but the SM has a second block to turn
# to. On a machine with a GPU, the next cell times your kernel with these hints. (TFLOP/s count only the scores that a
# query sees.)


# %%
from contextlib import suppress


def yours(q, k, v, o):
    (batch, heads, queries, d), kv_heads = q.shape, k.shape[1]
    sizes = heads // kv_heads, 64, 128, d
    grid = (ct.cdiv(queries, 64), heads, batch)
    ct.launch(torch.cuda.current_stream(), grid, fast, (q, k, v, o, LOG2_E / math.sqrt(d), *sizes))


with suppress(NameError):  # until you have written it
    fast = attention.replace_hints(num_worker_warps=4, occupancy=2)
    for shape in ((4, 16, 16, 4096, 4096, 128), (4, 32, 32, 4096, 4096, 64)):
        compare_attention({"your attention": yours}, shape)

# %% [markdown]
# On the course's H200 the kernel has about 87% of cuDNN's speed. This is a good place to stop.
#
# ## Decoding: one query, many keys
#
# When a model generates text, each step has one new query per sequence, and K and V of all tokens so far. The query
# sees all keys, so no causal mask is needed. A tile of scores has few rows: the `group` query heads that share a head
# of K and V, padded to the 16 rows of an `mma.sync`. **Predict:** what limits the kernel, the tensor cores or memory?

# %%
batch, kv_heads, group, keys, d = 8, 8, 8, 16384, 128
operations = 2 * 2 * batch * kv_heads * group * keys * d
bytes_read = 2 * 2 * batch * kv_heads * keys * d
print(f"{operations / bytes_read:.0f} operations per byte")
print(f"tensor cores: {operations / h200.flops['bf16'] * 1e6:6.1f} µs at least")
print(f"memory:       {bytes_read / h200.bandwidth * 1e6:6.1f} µs at least")
print(f"blocks, if each has one sequence and one head of K and V: {batch * kv_heads}, for {h200.sms} SMs")

# %% [markdown]
# Memory is the limit, by far. But most SMs have no block, so too few loads are in flight to use its bandwidth. Only one
# dimension is left to divide, the keys. **Split** them ([Flash-Decoding](https://pytorch.org/blog/flash-decoding/),
# 2023): each block computes attention over its own range of keys, as if there were no others, and a second kernel
# combines the parts.
#
# To combine them, it must know the weight of each part. Part s has the maximum mₛ and the total tₛ, so its denominator
# is tₛ·2^mₛ. That number may overflow, but its logarithm does not: the **log-sum-exp** lseₛ = mₛ + log2(tₛ). Let Oₛ be
# the output of part s, already divided by tₛ. The whole row's output is
#
# O = Σₛ 2^lseₛ · Oₛ / Σₛ 2^lseₛ
#
# and, as in every softmax, you subtract the largest lse before you exponentiate. In `combine`, a block computes a row.
# `splits` is the smallest power of two that is at least the number of parts; padding gives the others weight 0.


# %%
@ct.kernel
def combine(parts, lse, o, splits: Int, d: Int):
    row = ct.bid(0)
    logs = ct.load(lse, (0, row), (splits, 1), padding_mode=NEG_INF)
    weights = ct.exp2(logs - ct.max(logs), flush_to_zero=True)
    part = ct.reshape(ct.load(parts, (0, row, 0), (splits, 1, d), padding_mode=ZERO), (splits, d))
    average = ct.sum(part * weights, 0, keepdims=True) / ct.sum(weights)
    ct.store(o, (row, 0), average.astype(o.dtype))


# %% [markdown]
# Into how many parts should the keys be cut? Blocks that wait for an SM have no loads in flight, so all blocks should
# fit on the SMs at once: round down. But how many on each SM? **Predict:** which is fastest? All shapes read 537 MB of
# K and V, as above. Times are in µs, and ± is the spread of their ratios to torch's fastest backend.

# %%
(decoding,) = (swept for swept in all_sweep_results("decode") if swept.gpu == "NVIDIA H200")
plans = ("1 block per SM", "2 blocks per SM", "4 blocks per SM")
print(f"{decoding.gpu}, {decoding.date}; shape", *plans, "torch's fastest", sep=", ")
for shape in decoding.shapes:
    if shape[0] * shape[2] <= h200.sms:
        found = {point.name: point.measurement for point in decoding.at(shape)}
        times = [f"{found[plan].median_us:6.1f} ±{found[plan].spread / 2:.1%}" for plan in plans]
        print("×".join(map(str, shape)).ljust(23), *times, f"{found[plans[0]].baseline_us:6.1f}", sep="  ")

# %% [markdown]
# One block on each SM is fastest at five of six shapes, by up to 2%, and four are slowest. 130 µs for these bytes are
# 86% of the datasheet's bandwidth.
#
# **Exercise 22.4** (about 3 lines). Complete the decoding, for any number of keys. `decode_parts` walks over `run`
# tiles of keys from `split * run` on, as far as there are keys. Compute `part` (ROWS, d), its output divided by its
# total, and `logs` (ROWS, 1), its log-sum-exp, with `ct.log2`, as `combine` needs them. In `decode`, choose `splits`:
# the largest number for which all blocks run at once, one on each SM, but at most one for each tile of keys, and at
# least one. `check` calls `decode` for GPUs with few SMs.


# %%
ROWS, TN = 16, 64


@ct.kernel
def decode_parts(q, k, v, parts, lse, scale: float, run: Int, d: Int):
    split, kv_head, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    sequence = batch * ct.num_blocks(1) + kv_head
    queries, keys = rows_of(q, batch, kv_head, 0, ROWS, d), k.shape[2]
    largest = ct.full((ROWS, 1), -math.inf, ct.float32)
    total = ct.zeros((ROWS, 1), ct.float32)
    acc = ct.zeros((ROWS, d), ct.float32)
    for n in range(split * run, min(ct.cdiv(keys, TN), split * run + run)):
        k_tile = rows_of(k, batch, kv_head, n, TN, d)
        s = ct.mma(queries, ct.transpose(k_tile), ct.zeros((ROWS, TN), ct.float32)) * scale
        column = n * TN + ct.arange(TN, dtype=ct.int32)[None, :]
        p, factor, largest, total = online_step(ct.where(column < keys, s, -math.inf), largest, total)
        acc = ct.mma(p.astype(v.dtype), rows_of(v, batch, kv_head, n, TN, d), acc * factor)
    ### BEGIN SOLUTION (about 2 lines)
    part = acc * ct.where(total == 0.0, 0.0, 1 / total)
    logs = largest + ct.log2(total)
    ### END SOLUTION
    ct.store(parts, (split, sequence, 0, 0), ct.reshape(part, (1, 1, ROWS, d)))
    ct.store(lse, (split, sequence, 0), ct.reshape(logs, (1, 1, ROWS)))


def decode(q, k, v, o):
    (batch, heads, _, d), (kv_heads, keys) = q.shape, k.shape[1:3]
    group, tiles_of_keys = heads // kv_heads, ct.cdiv(keys, TN)
    sms = torch.cuda.get_device_properties(q.device).multi_processor_count
    ### BEGIN SOLUTION (about 1 line)
    splits = max(1, min(sms // (batch * kv_heads), tiles_of_keys))
    ### END SOLUTION
    parts = torch.empty(splits, batch * kv_heads, group, d, device=q.device)
    lse = torch.empty(splits, batch * kv_heads, group, device=q.device)
    rows, run, scale = q.view(batch, kv_heads, group, d), ct.cdiv(tiles_of_keys, splits), LOG2_E / math.sqrt(d)
    stream = torch.cuda.current_stream()
    ct.launch(stream, (splits, kv_heads, batch), decode_parts, (rows, k, v, parts, lse, scale, run, d))
    every = parts.view(splits, batch * heads, d), lse.view(splits, batch * heads), o.view(batch * heads, d)
    ct.launch(stream, (batch * heads,), combine, (*every, 1 << (splits - 1).bit_length(), d))


# %%
check("22.4", decode)

# %% [markdown]
# ## What to remember
#
# - Attention never stores S: Q stays in the block, K and V stream past it.
# - When the maximum grows, one factor per row corrects the total and the accumulator. Both are fp32.
# - Write two loops: tiles without a mask, then the few with one. Do not visit tiles that no query sees.
# - Start the longest causal blocks first. Heads of a group read the same K and V.
# - Decoding is limited by memory: split the keys, and combine the parts by their log-sum-exp.
#
# ## Test yourself
#
# <details><summary>1. All scores of a row are equal, and there are n keys. What is its lse, to base 2?</summary>
#
# With s the score times log2(e): largest is s, each weight is 1, so total is n, and lse is s + log2(n).
#
# </details>
#
# <details><summary>2. Which of <code>tm</code> and <code>tn</code> decides how often K and V are read?</summary>
#
# tm: every block reads all of K and V (that its queries see), so twice the queries of a block halve the reads. A tile
# of keys serves tm queries, whatever its width.
#
# </details>
#
# <details><summary>3. A prompt arrives in chunks: there are more keys than queries, and the last query sees the last
# key. What changes in <code>key_tiles</code>?</summary>
#
# Query i sees keys 0 … i + keys - queries, so both ends grow by keys - queries. (PyTorch's <code>is_causal</code>, like
# this page, aligns the first query with the first key; FlashAttention aligns the last ones.)
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
# Pᵢⱼ = 2^(Sᵢⱼ·log2(e) - lseᵢ) in one step. Here is the table beside torch's automatic differentiation, in fp64:

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
# A block that owns queries can accumulate dQ, and a block that owns keys can accumulate dK and dV. With one kernel for
# each owner both compute S and dP, seven products in place of five. One kernel for all three needs atomic additions,
# whose order, and with it the rounding of the sums, changes from run to run. That is the course's kernel for Hopper, in
# CuTe. Its speed on the course's H200, as a fraction of that of torch's fastest backward pass:

# %%
for backward in all_sweep_results("attention_backward"):
    for name in backward.names:
        for group in (1, 8):
            found = [point.measurement for point in backward.of_kernel(name)]
            ratios = [each.ratio for each in found if each.shape[1] == group * each.shape[2]]
            print(f"{name}, {group} head{'s' * (group > 1)} to one of K and V: {min(ratios):.2f} to {max(ratios):.2f}")

# %% [markdown]
# It is ahead at every shape.

"""Attention in cuTile: O = softmax(Q Kᵀ · scale) V, forward, backward, and for one query at a time.

Q, O are (batch, heads, queries, d), K and V (batch, kv_heads, keys, d); `group` query heads share a head of K and V.
The softmax is online (Milakov and Gimelshein, arXiv 1805.02867): scores are multiples of log2(e), so exp is exp2;
lse (batch, heads, queries) is the base-2 logarithm of each row's denominator, which the backward pass needs.
Causal: query i sees keys 0 … i.
"""

import math
from typing import TypeAlias

import cuda.tile as ct

Int: TypeAlias = ct.Constant[int]  # known when a kernel is compiled
Bool: TypeAlias = ct.Constant[bool]
ZERO = ct.PaddingMode.ZERO
LOG2_E = math.log2(math.e)

ROWS = 16  # of a decoding tile: the fewest that a tensor core multiplies


@ct.function
def online_step(s, largest, total):
    """(p, factor, largest, total) after the scores s (tm, tn): p = exp2(s - largest), factor for what came before."""
    return scaled_step(s, 1.0, largest, total)


@ct.function
def scaled_step(s, scale, largest, total):
    """`online_step` of s * scale, scale > 0: one fused multiply-add for a score. A row of -inf alone has p = 0."""
    new = ct.maximum(largest, ct.max(s, 1, keepdims=True) * scale)
    base = ct.where(new == -math.inf, 0.0, new)
    p = ct.exp2(s * scale - base, flush_to_zero=True)
    factor = ct.exp2(largest - base, flush_to_zero=True)
    return p, factor, new, total * factor + ct.sum(p, 1, keepdims=True)


@ct.function
def load_rows(x, batch, head, n, rows: Int, d: Int):
    """Tile n (rows, d) of a head of x; zeros beyond the last row."""
    return ct.reshape(ct.load(x, (batch, head, n, 0), (1, 1, rows, d), padding_mode=ZERO), (rows, d))


@ct.function
def scores(q_tile, k, batch, head, n, tm: Int, tn: Int, d: Int):
    """Q Kᵀ (tm, tn) of tile n of the keys."""
    return ct.mma(q_tile, ct.transpose(load_rows(k, batch, head, n, tn, d)), ct.zeros((tm, tn), ct.float32))


@ct.function
def share(total):
    """1 / total; 0 where no key has a weight."""
    return ct.where(total == 0.0, 0.0, 1 / total)


TWO_WARPGROUPS = ct.ByTarget(sm_80=8, sm_90=8)  # of workers: the accumulators of one alone spill


@ct.function
def forward_tile(q, k, v, o, lse, scale, batch, head, m, group: Int, causal: Bool, tm: Int, tn: Int, d: Int):
    """Rows m * tm … of a head. scale: of the scores, times log2(e).

    The scores of a tile are issued before the softmax of the tile before it, which the compiler puts under them.
    """
    kv_head, keys = head // group, k.shape[2]
    last = ct.cdiv(min(keys, (m + 1) * tm) if causal else keys, tn) - 1
    unmasked = min((m * tm + 1) // tn, last) if causal else last
    q_tile = load_rows(q, batch, head, m, tm, d)
    largest = ct.full((tm, 1), -math.inf, ct.float32)
    total = ct.zeros((tm, 1), ct.float32)
    acc = ct.zeros((tm, d), ct.float32)
    row = m * tm + ct.arange(tm, dtype=ct.int32)[:, None]
    s = scores(q_tile, k, batch, kv_head, 0, tm, tn, d)
    for n in range(unmasked):
        ahead = scores(q_tile, k, batch, kv_head, n + 1, tm, tn, d)
        p, factor, largest, total = scaled_step(s, scale, largest, total)
        acc = ct.mma(p.astype(v.dtype), load_rows(v, batch, kv_head, n, tn, d), acc * factor)
        s = ahead
    for n in range(unmasked, last):  # causal alone
        ahead = scores(q_tile, k, batch, kv_head, n + 1, tm, tn, d)
        column = n * tn + ct.arange(tn, dtype=ct.int32)[None, :]
        p, factor, largest, total = scaled_step(ct.where(column <= row, s, -math.inf), scale, largest, total)
        acc = ct.mma(p.astype(v.dtype), load_rows(v, batch, kv_head, n, tn, d), acc * factor)
        s = ahead
    column = last * tn + ct.arange(tn, dtype=ct.int32)[None, :]
    seen = (column < keys) & (column <= row) if causal else column < keys
    p, factor, largest, total = scaled_step(ct.where(seen, s, -math.inf), scale, largest, total)
    acc = ct.mma(p.astype(v.dtype), load_rows(v, batch, kv_head, last, tn, d), acc * factor)
    ct.store(o, (batch, head, m, 0), ct.reshape(acc * share(total), (1, 1, tm, d)).astype(o.dtype))
    ct.store(lse, (batch, head, m), ct.reshape(largest + ct.log2(total), (1, 1, tm)))


@ct.kernel(num_worker_warps=TWO_WARPGROUPS)
def tile_forward(q, k, v, o, lse, scale: float, group: Int, causal: Bool, tm: Int, tn: Int, d: Int):
    """A block for tm queries of a head."""
    m = ct.num_blocks(0) - 1 - ct.bid(0) if causal else ct.bid(0)  # the longest rows first
    forward_tile(q, k, v, o, lse, scale, ct.bid(2), ct.bid(1), m, group, causal, tm, tn, d)


@ct.kernel
def decode_parts(q, k, v, parts, lse, scale: float, group: Int, run: Int, tn: Int, d: Int):
    """One query for each sequence: the `group` heads of a head of K and V are the rows of a tile, padded to 16.

    A block has `run` tiles of tn keys. parts (batch, kv_heads, splits, group, d), fp32, or O where there is one split,
    and lse (batch, kv_heads, splits, group), fp32: its softmax over these keys alone.
    """
    batch, kv_head, split = ct.bid(2), ct.bid(1), ct.bid(0)
    q_tile = load_rows(q, batch, kv_head, 0, ROWS, d)
    keys = k.shape[2]
    largest = ct.full((ROWS, 1), -math.inf, ct.float32)
    total = ct.zeros((ROWS, 1), ct.float32)
    acc = ct.zeros((ROWS, d), ct.float32)
    for n in range(split * run, min(ct.cdiv(keys, tn), split * run + run)):
        s = scores(q_tile, k, batch, kv_head, n, ROWS, tn, d)
        column = n * tn + ct.arange(tn, dtype=ct.int32)[None, :]
        p, factor, largest, total = scaled_step(ct.where(column < keys, s, -math.inf), scale, largest, total)
        acc = ct.mma(p.astype(v.dtype), load_rows(v, batch, kv_head, n, tn, d), acc * factor)
    part = ct.reshape(acc * share(total), (1, 1, 1, ROWS, d)).astype(parts.dtype)
    ct.store(parts, (batch, kv_head, split, 0, 0), part)
    ct.store(lse, (batch, kv_head, split, 0), ct.reshape(largest + ct.log2(total), (1, 1, 1, ROWS)))


@ct.kernel
def decode_add(parts, logs, o, lse, splits: Int, rows: Int, d: Int):
    """O and lse of some rows from their parts (batch, heads, splits, rows, d) and those parts' lse, logs.

    splits: a power of two, at least all.
    """
    batch, head, m = ct.bid(2), ct.bid(1), ct.bid(0)
    log = ct.load(logs, (batch, head, 0, m), (1, 1, splits, rows), padding_mode=ct.PaddingMode.NEG_INF)
    log = ct.reshape(log, (splits, rows, 1))
    top = ct.max(log, 0, keepdims=True)
    weights = ct.exp2(log - ct.where(top == -math.inf, 0.0, top), flush_to_zero=True)
    total = ct.sum(weights, 0, keepdims=True)
    part = ct.load(parts, (batch, head, 0, m, 0), (1, 1, splits, rows, d), padding_mode=ZERO).astype(ct.float32)
    sum = ct.sum(ct.reshape(part, (splits, rows, d)) * weights, 0, keepdims=True) * share(total)
    ct.store(o, (batch, head, m, 0), ct.reshape(sum, (1, 1, rows, d)).astype(o.dtype))
    ct.store(lse, (batch, head, m), ct.reshape(top + ct.log2(total), (1, 1, rows)))


@ct.kernel
def prepare_rows(o, do, lse, logs, delta, dq, tm: Int, d: Int):
    """For the Hopper kernel: delta (batch, heads, queries) = Σ_d O · dO, the term that all of a row's dS share; logs:
    lse, but +inf past the end and for a row of -inf alone; 0 in dq (batch, heads, queries, d), fp32."""
    m, head, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    out = ct.load(o, (batch, head, m, 0), (1, 1, tm, d), padding_mode=ZERO).astype(ct.float32)
    slope = ct.load(do, (batch, head, m, 0), (1, 1, tm, d), padding_mode=ZERO).astype(ct.float32)
    ct.store(delta, (batch, head, m), ct.sum(out * slope, 3))
    log = ct.load(lse, (batch, head, m), (1, 1, tm), padding_mode=ct.PaddingMode.NEG_INF)
    ct.store(logs, (batch, head, m), ct.where(log == -math.inf, math.inf, log))
    ct.store(dq, (batch, head, m, 0), ct.zeros((1, 1, tm, d), ct.float32))


@ct.kernel
def round_queries(scratch, dq, scale: float, tm: Int, d: Int):
    """dQ from the accumulators that the Hopper kernel has added up.

    A tile of scratch: (warpgroups along M, along N, 4 warps, columns / 8, 2 rows, 2 columns, 8 rows, 4 lanes).
    """
    m, head, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    down, across = tm // 64, 128 // tm
    acc = ct.load(scratch, (batch, head, m, 0), (1, 1, tm * d // 32, 32))
    acc = ct.reshape(acc, (down, across, 4, d // across // 8, 2, 2, 8, 4))
    acc = ct.permute(acc, (0, 2, 4, 6, 1, 3, 7, 5))
    ct.store(dq, (batch, head, m, 0), (ct.reshape(acc, (1, 1, tm, d)) * scale).astype(dq.dtype))

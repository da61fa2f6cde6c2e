"""Attention in cuTile: O = softmax(Q Kᵀ · scale) V, forward, backward, and for one query at a time.

Q, O are (batch, heads, queries, d), K and V (batch, kv_heads, keys, d); `group` query heads share a head of K and V.
The softmax is online (Milakov and Gimelshein, arXiv 1805.02867): scores are multiples of log2(e), so exp is exp2;
lse (batch, heads, queries) is the base-2 logarithm of each row's denominator, which the backward pass needs.
Causal: query i sees keys 0 … i.
"""

import math
from typing import TYPE_CHECKING

import cuda.tile as ct

if TYPE_CHECKING:
    pass

ZERO = ct.PaddingMode.ZERO
LOG2_E = math.log2(math.e)

ROWS = 16  # of a decoding tile: the fewest that a tensor core multiplies


@ct.function
def online_step(s, largest, total):
    """(p, factor, largest, total) after the scores s (tm, tn): p = exp2(s - largest), factor for what came before."""
    new = ct.maximum(largest, ct.max(s, 1, keepdims=True))
    p = ct.exp2(s - new, flush_to_zero=True)
    factor = ct.exp2(largest - new, flush_to_zero=True)
    return p, factor, new, total * factor + ct.sum(p, 1, keepdims=True)


@ct.kernel
def tile_forward(
    q,
    k,
    v,
    o,
    lse,
    scale: float,
    group: ct.Constant[int],
    causal: ct.Constant[bool],
    tm: ct.Constant[int],
    tn: ct.Constant[int],
    d: ct.Constant[int],
):
    """A block for tm queries of a head. scale: of the scores, times log2(e)."""
    m = ct.num_blocks(0) - 1 - ct.bid(0) if causal else ct.bid(0)  # the longest rows first
    batch, head = ct.bid(2), ct.bid(1)
    kv_head = head // group
    queries = ct.reshape(ct.load(q, (batch, head, m, 0), (1, 1, tm, d), padding_mode=ZERO), (tm, d))
    keys = k.shape[2]
    end = min(ct.cdiv(keys, tn), ct.cdiv((m + 1) * tm, tn)) if causal else ct.cdiv(keys, tn)
    unmasked = min(m * tm // tn, keys // tn) if causal else keys // tn
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
        seen = (column < keys) & (column <= row) if causal else column < keys
        p, factor, largest, total = online_step(ct.where(seen, s, -math.inf), largest, total)
        v_tile = ct.reshape(ct.load(v, (batch, kv_head, n, 0), (1, 1, tn, d), padding_mode=ZERO), (tn, d))
        acc = ct.mma(p.astype(v.dtype), v_tile, acc * factor)
    ct.store(o, (batch, head, m, 0), ct.reshape(acc / total, (1, 1, tm, d)).astype(o.dtype))
    ct.store(lse, (batch, head, m), ct.reshape(largest + ct.log2(total), (1, 1, tm)))


@ct.kernel
def decode_parts(
    q,
    k,
    v,
    parts,
    lse,
    scale: float,
    group: ct.Constant[int],
    run: ct.Constant[int],
    tn: ct.Constant[int],
    d: ct.Constant[int],
):
    """One query for each sequence: the `group` heads of a head of K and V are the rows of a tile, padded to 16.

    A block has `run` tiles of tn keys. parts (batch, kv_heads, splits, group, d) and lse (batch, kv_heads, splits,
    group), fp32: its softmax over these keys alone.
    """
    batch, kv_head, split = ct.bid(2), ct.bid(1), ct.bid(0)
    queries = ct.reshape(ct.load(q, (batch, kv_head, 0, 0), (1, 1, ROWS, d), padding_mode=ZERO), (ROWS, d))
    keys = k.shape[2]
    largest = ct.full((ROWS, 1), -math.inf, ct.float32)
    total = ct.zeros((ROWS, 1), ct.float32)
    acc = ct.zeros((ROWS, d), ct.float32)
    for n in range(split * run, min(ct.cdiv(keys, tn), split * run + run)):
        k_tile = ct.reshape(ct.load(k, (batch, kv_head, n, 0), (1, 1, tn, d), padding_mode=ZERO), (tn, d))
        s = ct.mma(queries, ct.transpose(k_tile), ct.zeros((ROWS, tn), ct.float32)) * scale
        column = n * tn + ct.arange(tn, dtype=ct.int32)[None, :]
        p, factor, largest, total = online_step(ct.where(column < keys, s, -math.inf), largest, total)
        v_tile = ct.reshape(ct.load(v, (batch, kv_head, n, 0), (1, 1, tn, d), padding_mode=ZERO), (tn, d))
        acc = ct.mma(p.astype(v.dtype), v_tile, acc * factor)
    ct.store(parts, (batch, kv_head, split, 0, 0), ct.reshape(acc / total, (1, 1, 1, ROWS, d)))
    ct.store(lse, (batch, kv_head, split, 0), ct.reshape(largest + ct.log2(total), (1, 1, 1, ROWS)))


@ct.kernel
def decode_add(parts, lse, o, splits: ct.Constant[int], rows: ct.Constant[int], d: ct.Constant[int]):
    """O of a row: its parts, weighted by their shares of the denominator. splits: a power of two, at least all."""
    batch, kv_head, row = ct.bid(2), ct.bid(1), ct.bid(0)
    logs = ct.reshape(
        ct.load(lse, (batch, kv_head, 0, row), (1, 1, splits, 1), padding_mode=ct.PaddingMode.NEG_INF), (splits, 1)
    )
    weights = ct.exp2(logs - ct.max(logs, 0, keepdims=True), flush_to_zero=True)
    part = ct.reshape(ct.load(parts, (batch, kv_head, 0, row, 0), (1, 1, splits, 1, d), padding_mode=ZERO), (splits, d))
    sum = ct.sum(part * weights, 0, keepdims=True) / ct.sum(weights, 0, keepdims=True)
    ct.store(o, (batch, kv_head, row, 0), ct.reshape(sum, (1, 1, 1, d)).astype(o.dtype))


@ct.kernel
def delta_rows(o, do, delta, tm: ct.Constant[int], d: ct.Constant[int]):
    """delta (batch, heads, queries) = Σ_d O · dO: the softmax's term that all of a row's dS share."""
    m, head, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    out = ct.load(o, (batch, head, m, 0), (1, 1, tm, d), padding_mode=ZERO).astype(ct.float32)
    slope = ct.load(do, (batch, head, m, 0), (1, 1, tm, d), padding_mode=ZERO).astype(ct.float32)
    ct.store(delta, (batch, head, m), ct.sum(out * slope, 3))


@ct.kernel
def backward_keys(
    q,
    k,
    v,
    do,
    lse,
    delta,
    dk,
    dv,
    scale: float,
    group: ct.Constant[int],
    causal: ct.Constant[bool],
    tm: ct.Constant[int],
    tn: ct.Constant[int],
    d: ct.Constant[int],
):
    """dK and dV of tn keys of a head of K and V: over all its query heads, and all their queries that see the keys.

    Scores are transposed, (tn, tm), so that Pᵀ and dSᵀ are A operands as they are. scale: of the scores.
    """
    n, kv_head, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    k_tile = ct.reshape(ct.load(k, (batch, kv_head, n, 0), (1, 1, tn, d), padding_mode=ZERO), (tn, d))
    v_tile = ct.reshape(ct.load(v, (batch, kv_head, n, 0), (1, 1, tn, d), padding_mode=ZERO), (tn, d))
    keys, queries = k.shape[2], q.shape[2]
    k_acc, v_acc = ct.zeros((tn, d), ct.float32), ct.zeros((tn, d), ct.float32)
    column = n * tn + ct.arange(tn, dtype=ct.int32)[:, None]
    first = n * tn // tm if causal else 0
    for member in range(group):
        head = kv_head * group + member
        for m in range(first, ct.cdiv(queries, tm)):
            q_tile = ct.reshape(ct.load(q, (batch, head, m, 0), (1, 1, tm, d), padding_mode=ZERO), (tm, d))
            do_tile = ct.reshape(ct.load(do, (batch, head, m, 0), (1, 1, tm, d), padding_mode=ZERO), (tm, d))
            logs = ct.reshape(ct.load(lse, (batch, head, m), (1, 1, tm), padding_mode=ZERO), (1, tm))
            shared = ct.reshape(ct.load(delta, (batch, head, m), (1, 1, tm), padding_mode=ZERO), (1, tm))
            s = ct.mma(k_tile, ct.transpose(q_tile), ct.zeros((tn, tm), ct.float32)) * (scale * LOG2_E)
            row = m * tm + ct.arange(tm, dtype=ct.int32)[None, :]
            seen = (column < keys) & (row < queries)
            if causal:
                seen = seen & (column <= row)
            p = ct.where(seen, ct.exp2(s - logs, flush_to_zero=True), 0.0)
            v_acc = ct.mma(p.astype(do.dtype), do_tile, v_acc)
            dp = ct.mma(v_tile, ct.transpose(do_tile), ct.zeros((tn, tm), ct.float32))
            ds = p * (dp - shared)
            k_acc = ct.mma(ds.astype(q.dtype), q_tile, k_acc)
    ct.store(dk, (batch, kv_head, n, 0), ct.reshape(k_acc * scale, (1, 1, tn, d)).astype(dk.dtype))
    ct.store(dv, (batch, kv_head, n, 0), ct.reshape(v_acc, (1, 1, tn, d)).astype(dv.dtype))


@ct.kernel
def backward_queries(
    q,
    k,
    v,
    do,
    lse,
    delta,
    dq,
    scale: float,
    group: ct.Constant[int],
    causal: ct.Constant[bool],
    tm: ct.Constant[int],
    tn: ct.Constant[int],
    d: ct.Constant[int],
):
    """dQ of tm queries of a head."""
    m, head, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    kv_head = head // group
    q_tile = ct.reshape(ct.load(q, (batch, head, m, 0), (1, 1, tm, d), padding_mode=ZERO), (tm, d))
    do_tile = ct.reshape(ct.load(do, (batch, head, m, 0), (1, 1, tm, d), padding_mode=ZERO), (tm, d))
    logs = ct.reshape(ct.load(lse, (batch, head, m), (1, 1, tm), padding_mode=ZERO), (tm, 1))
    shared = ct.reshape(ct.load(delta, (batch, head, m), (1, 1, tm), padding_mode=ZERO), (tm, 1))
    keys = k.shape[2]
    end = min(ct.cdiv(keys, tn), ct.cdiv((m + 1) * tm, tn)) if causal else ct.cdiv(keys, tn)
    row = m * tm + ct.arange(tm, dtype=ct.int32)[:, None]
    acc = ct.zeros((tm, d), ct.float32)
    for n in range(end):
        k_tile = ct.reshape(ct.load(k, (batch, kv_head, n, 0), (1, 1, tn, d), padding_mode=ZERO), (tn, d))
        v_tile = ct.reshape(ct.load(v, (batch, kv_head, n, 0), (1, 1, tn, d), padding_mode=ZERO), (tn, d))
        s = ct.mma(q_tile, ct.transpose(k_tile), ct.zeros((tm, tn), ct.float32)) * (scale * LOG2_E)
        column = n * tn + ct.arange(tn, dtype=ct.int32)[None, :]
        seen = (column < keys) & (column <= row) if causal else column < keys
        p = ct.where(seen, ct.exp2(s - logs, flush_to_zero=True), 0.0)
        dp = ct.mma(do_tile, ct.transpose(v_tile), ct.zeros((tm, tn), ct.float32))
        acc = ct.mma((p * (dp - shared)).astype(k.dtype), k_tile, acc)
    ct.store(dq, (batch, head, m, 0), ct.reshape(acc * scale, (1, 1, tm, d)).astype(dq.dtype))

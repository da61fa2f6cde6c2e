"""A GEMM whose K is split among blocks, for matrices with fewer tiles than the GPU has SMs."""

from typing import TYPE_CHECKING

import cuda.tile as ct

if TYPE_CHECKING:
    from torch import Tensor

ZERO = ct.PaddingMode.ZERO
TILE = (128, 128, 64)  # of C, and the step along K


@ct.kernel
def partial_products(a, b, parts, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """parts (S, M, N): part s is the product over the s-th of S equal runs of steps along K, (M, K)·(N, K)ᵀ."""
    m, n, part = ct.bid(0), ct.bid(1), ct.bid(2)
    steps = ct.cdiv(a.shape[1], tk)
    run = ct.cdiv(steps, parts.shape[0])
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(part * run, min(steps, part * run + run)):
        rows = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
        columns = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
        total = ct.mma(rows, ct.transpose(columns), total)
    ct.store(parts, (part, m, n), ct.reshape(total, (1, tm, tn)))


@ct.kernel
def add_parts(parts, c, tm: ct.Constant[int], tn: ct.Constant[int]):
    """c (M, N) = the sum of parts (S, M, N), in the order of S, so that it is the same every time."""
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for part in range(parts.shape[0]):
        total += ct.reshape(ct.load(parts, (part, m, n), (1, tm, tn)), (tm, tn))
    ct.store(c, (m, n), total.astype(c.dtype))


@ct.kernel
def added_at_once(
    a, b, sums, splits: ct.Constant[int], tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]
):
    """sums (M, N) += A·Bᵀ; the blocks of a tile add their parts by atomic additions, in whatever order they end."""
    m, n, part = ct.bid(0), ct.bid(1), ct.bid(2)
    steps = ct.cdiv(a.shape[1], tk)
    run = ct.cdiv(steps, splits)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(part * run, min(steps, part * run + run)):
        rows = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
        columns = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
        total = ct.mma(rows, ct.transpose(columns), total)
    down, across = ct.arange(tm, dtype=ct.int32), ct.arange(tn, dtype=ct.int32)
    ct.atomic_add(
        sums, ((m * tm + down)[:, None], (n * tn + across)[None, :]), total, memory_order=ct.MemoryOrder.RELAXED
    )


def in_two_passes(a: "Tensor", b: "Tensor", c: "Tensor", splits: int) -> None:
    """C (M, N) = A (M, K) · Bᵀ: the parts into memory of their own, then their sums into C."""
    import torch

    (m, n), (tm, tn, tk), stream = c.shape, TILE, torch.cuda.current_stream()
    parts = torch.empty(splits, m, n, device=a.device)
    ct.launch(stream, (-(-m // tm), -(-n // tn), splits), partial_products, (a, b, parts, tm, tn, tk))
    ct.launch(stream, (-(-m // 32), -(-n // 64), 1), add_parts, (parts, c, 32, 64))


def by_atomics(a: "Tensor", b: "Tensor", c: "Tensor", splits: int) -> None:
    """C (M, N) = A (M, K) · Bᵀ: the parts are added in fp32 as they come, then C is a copy of the sums."""
    import torch

    (m, n), (tm, tn, tk) = c.shape, TILE
    sums = torch.zeros(m, n, device=a.device)
    grid = (-(-m // tm), -(-n // tn), splits)
    ct.launch(torch.cuda.current_stream(), grid, added_at_once, (a, b, sums, splits, tm, tn, tk))
    c.copy_(sums)

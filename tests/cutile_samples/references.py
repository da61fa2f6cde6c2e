"""What torch gives for attention, and the number of a matrix's tiles."""

import math

import torch
from torch import Tensor
from torch.nn import functional


def tiles(size: int, tile: int) -> int:
    return -(-size // tile)


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    keep: Tensor | None = None,
    sinks: Tensor | None = None,
    cap: float = math.inf,
) -> tuple[Tensor, Tensor]:
    """softmax(scale · q kᵀ) v in fp32, and the base-2 logarithm of its denominator.

    q: (batch, heads, queries, d); k, v: (batch, groups of heads, keys, d).
    keep: (queries, keys), True where a query may look. sinks: (heads,), logits of a key that has no value.
    cap: the logits' bound, by tanh.
    """
    group = q.shape[1] // k.shape[1]
    k, v = (t.float().repeat_interleave(group, 1) for t in (k, v))
    scores = q.float() @ k.mT * scale
    if cap < math.inf:
        scores = cap * (scores / cap).tanh()
    if keep is not None:
        scores = scores.masked_fill(~keep, -torch.inf)
    if sinks is not None:
        column = sinks.float().reshape(1, -1, 1, 1).expand(*scores.shape[:-1], 1)
        scores, v = torch.cat([scores, column], -1), functional.pad(v, (0, 0, 0, 1))
    return scores.softmax(-1) @ v, scores.logsumexp(-1) / math.log(2)


def causal(queries: int, keys: int, window: int | None = None) -> Tensor:
    """True where the key is not after the query and less than `window` before it; the first of both are aligned."""
    before = torch.arange(queries)[:, None] - torch.arange(keys)
    return (before >= 0) & (before < (keys if window is None else window))

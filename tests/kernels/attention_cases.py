"""What attention has to get right beside random inputs: by cuTile's interpreter, by the simulator, and on a GPU."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tutorlib.kernels.attention.operator import scores

Forward = Callable[[Tensor, Tensor, Tensor, float, bool], tuple[Tensor, Tensor]]  # q, k, v, scale, causal → o, lse
CLOSE: dict[str, Any] = {"rtol": 2**-7, "atol": 2**-7}
D = 64


def exact(q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> tuple[Tensor, Tensor]:
    """(o, lse to base 2) in fp64, from the rounded inputs; 0 in a row of -inf alone, as FlashAttention has it."""
    s = scores(q.double(), k.double(), scale, causal)
    o = s.softmax(-1) @ v.double().repeat_interleave(q.shape[1] // v.shape[1], 1)
    unseen = (s == -torch.inf).all(-1, keepdim=True)
    return torch.where(unseen, 0.0, o), (s.logsumexp(-1) / torch.log(torch.tensor(2.0))).where(
        ~unseen[..., 0], -torch.inf
    )


def equals_exact(forward: Forward, q: Tensor, k: Tensor, v: Tensor, causal: bool) -> None:
    o, lse = forward(q, k, v, D**-0.5, causal)
    want, logs = exact(q, k, v, D**-0.5, causal)
    torch.testing.assert_close(o.double(), want, **CLOSE)
    torch.testing.assert_close(lse.double(), logs, rtol=1e-5, atol=1e-4)


def normal(*shape: int, device: str = "cpu") -> Tensor:
    return torch.randn(*shape, generator=torch.Generator(device).manual_seed(sum(shape)), device=device).bfloat16()


def packed(batch: int, tokens: int, heads: int = 2, device: str = "cpu") -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v as slices of one layer's output (batch, tokens, 3, heads, D)."""
    return normal(batch, tokens, 3, heads, D, device=device).permute(2, 0, 3, 1, 4).unbind(0)


def any_length(forward: Forward, causal: bool, device: str, tokens: int) -> None:
    equals_exact(forward, *packed(1, tokens, device=device), causal)


def masked_rows(forward: Forward, causal: bool, device: str, tokens: int) -> None:
    """Of head 0 every third key is -inf to all queries, and all keys are to query 3."""
    q, k, v = packed(1, tokens, device=device)
    q, k = q.abs() + 0.1, -k.abs() - 0.1
    k[0, 0, ::3, 0] = -torch.inf
    q[0, 0, 3] = torch.inf
    equals_exact(forward, q, k, v, causal)


def large_scores(forward: Forward, causal: bool, device: str, tokens: int) -> None:
    """Scores up to some hundreds, of which fp32 has no power of two."""
    q, k, v = packed(1, tokens, device=device)
    equals_exact(forward, 100 * q, k, v, causal)


def nan_stays(forward: Forward, causal: bool, device: str, tokens: int) -> None:
    """In its batch and head, and from its query on."""
    q, k, v = packed(2, tokens, device=device)
    k = k.clone()
    k[1, 0, 2, 1] = torch.nan
    o, _ = forward(q, k, v, D**-0.5, causal)
    assert o[1, 0, 2:].isnan().all()
    o[1, 0] = 0
    assert not o.isnan().any()


def same_twice(forward: Forward, causal: bool, device: str, tokens: int) -> None:
    operands = packed(2, tokens, device=device)
    for one, other in zip(*(forward(*operands, D**-0.5, causal) for _ in "12"), strict=True):
        assert torch.equal(one, other)


CHECKS = [masked_rows, large_scores, nan_stays, same_twice]


def losses_of_an_encoder(device: str, dtype: torch.dtype) -> list[float]:
    """Three training steps of torch's own layer, of four heads of 64, by whatever computes its attention."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(4 * D, 4, 512, dropout=0, batch_first=True, device=device, dtype=dtype)
    x = torch.randn(2, 130, 4 * D).to(device, dtype)
    optimizer, losses = torch.optim.SGD(layer.parameters(), lr=0.1), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = (layer(x) - 1).float().square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses

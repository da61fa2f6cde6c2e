"""The MLP of a Llama layer: plain, and with gate and up as one GEMM whose epilogue is gated."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import silu

from tutorlib.kernels.fused.linear import linear, multiply

PIECE = 8  # rows of gate's and of up's weights in turn, which a Hopper thread then holds together
LLAMA_8B = (4096, 14336)  # hidden, features of Llama 3 8B


class LlamaMLP(nn.Module):
    """y = down(silu(gate(x)) · up(x)); x (…, hidden), as the models of this family have it."""

    def __init__(self, hidden: int, features: int, **kinds: Any) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(hidden, features, bias=False, **kinds)
        self.up_proj = nn.Linear(hidden, features, bias=False, **kinds)
        self.down_proj = nn.Linear(features, hidden, bias=False, **kinds)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(silu(self.gate_proj(x)) * self.up_proj(x))


def interleave(gate: Tensor, up: Tensor, width: int = PIECE) -> Tensor:
    """(2F, K): `width` rows of gate (F, K) and of up in turn. width divides F."""
    pieces = [weight.unflatten(0, (-1, width)) for weight in (gate, up)]  # (F / width, width, K)
    return torch.stack(pieces, 1).flatten(0, 2)


def separate(gate_up: Tensor, width: int = PIECE) -> tuple[Tensor, Tensor]:
    """gate and up of what `interleave` made, along the first mode; views."""
    gate, up = gate_up.unflatten(0, (-1, 2, width)).unbind(1)
    return gate.flatten(0, 1), up.flatten(0, 1)


@torch.library.custom_op("tutorlib::swiglu", mutates_args=())
def swiglu_linear(x: Tensor, gate_up: Tensor) -> Tensor:
    """silu(gate(x)) · up(x) (…, F) of x (…, K), where gate_up (2F, K) is interleaved by PIECE; rounded once.

    Without a GPU torch computes it, sums and activation in fp32.
    """
    rows = x.reshape(-1, x.shape[-1]).contiguous()
    if x.is_cuda:
        from tutorlib.kernels.fused.hopper import linear_swiglu

        result = linear_swiglu(rows, gate_up)
    else:
        wide = torch.promote_types(x.dtype, torch.float32)
        gate, up = separate(multiply(rows.to(wide), gate_up.to(wide)).mT)
        result = (silu(gate) * up).mT.to(x.dtype).contiguous()
    return result.view(*x.shape[:-1], -1)


@swiglu_linear.register_fake
def swiglu_fake(x: Tensor, gate_up: Tensor) -> Tensor:
    return x.new_empty(*x.shape[:-1], gate_up.shape[0] // 2)


class FusedMLP(nn.Module):
    """A LlamaMLP's forward for inference: two GEMMs, the first of them gated."""

    def __init__(self, plain: LlamaMLP) -> None:
        super().__init__()
        self.register_buffer("gate_up", interleave(plain.gate_proj.weight.detach(), plain.up_proj.weight.detach()))
        self.register_buffer("down", plain.down_proj.weight.detach())

    def forward(self, x: Tensor) -> Tensor:
        return linear(swiglu_linear(x, self.gate_up), self.down)

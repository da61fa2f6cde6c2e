"""The MLP of a Llama layer: plain, and with gate and up as one GEMM whose epilogue is gated."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import silu

from tutorlib.kernels.fused.linear import dgrad, leave_to_torch, linear, multiply, other_autocast, wgrad, why_torch

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

    Where the kernel cannot run, torch computes it: on the CPU in fp32, on a GPU in x's dtype.
    """
    rows = x.detach().reshape(-1, x.shape[-1]).contiguous()
    why = fusing_problem(rows, gate_up.detach()) if x.is_cuda else "there is no GPU"
    if not why:
        from tutorlib.kernels.fused.hopper import linear_swiglu

        with torch.cuda.device(x.device):
            result = linear_swiglu(rows, gate_up.detach())
    elif x.is_cuda:
        leave_to_torch(rows, gate_up, why)
        result = swiglu_of(rows @ gate_up.mT)
    else:
        wide = torch.promote_types(x.dtype, torch.float32)
        result = swiglu_of(multiply(rows.to(wide), gate_up.to(wide))).to(x.dtype)
    return result.view(*x.shape[:-1], gate_up.shape[0] // 2)


def fusing_problem(rows: Tensor, gate_up: Tensor) -> str:
    """Why the gated kernel cannot take these matrices on a GPU; "" where it can."""
    if rows.dtype != torch.bfloat16 or not gate_up.is_contiguous() or not len(rows):
        return "the gated epilogue is compiled for bf16 with contiguous rows"
    return why_torch(rows, gate_up)


def split_gate_up(gate_up: Tensor) -> tuple[Tensor, Tensor]:
    """gate and up (…, F) of a product (…, 2F) with interleaved weights."""
    gate, up = gate_up.unflatten(-1, (-1, 2, PIECE)).unbind(-2)
    return gate.flatten(-2), up.flatten(-2)


def swiglu_of(gate_up: Tensor) -> Tensor:
    gate, up = split_gate_up(gate_up)
    return silu(gate) * up


@swiglu_linear.register_fake
def swiglu_fake(x: Tensor, gate_up: Tensor) -> Tensor:
    return x.new_empty(*x.shape[:-1], gate_up.shape[0] // 2)


def save_swiglu_inputs(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def swiglu_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
    x, gate_up = ctx.saved_tensors
    both = before_gate(grad, x, gate_up)
    wants_x, wants_weights = ctx.needs_input_grad
    return dgrad(both, gate_up) if wants_x else None, wgrad(both, x) if wants_weights else None


def before_gate(grad: Tensor, x: Tensor, gate_up: Tensor) -> Tensor:
    """∂L/∂(x · gate_upᵀ) (…, 2F), interleaved, of grad = ∂L/∂(silu(gate) · up) (…, F).

    gate and up are multiplied again, in place of being kept: 4F bytes less for each row of bf16.
    """
    wide = torch.promote_types(x.dtype, torch.float32)
    gate, up = (half.to(wide) for half in split_gate_up(linear(x, gate_up)))
    grad, sigmoid = grad.to(wide), gate.sigmoid()
    grads = grad * up * sigmoid * (1 + gate * (1 - sigmoid)), grad * gate * sigmoid
    pieces = [one.unflatten(-1, (-1, PIECE)) for one in grads]
    return torch.stack(pieces, -2).flatten(-3).to(x.dtype)


swiglu_linear.register_autograd(swiglu_backward, setup_context=save_swiglu_inputs)
for device in ("cpu", "cuda"):
    swiglu_linear.register_autocast(device, torch.bfloat16)


class FusedMLP(nn.Module):
    """A LlamaMLP as two GEMMs, the first of them gated; its parameters are gate_up, interleaved, and down."""

    def __init__(self, plain: LlamaMLP) -> None:
        super().__init__()
        self.gate_up = nn.Parameter(interleave(plain.gate_proj.weight.detach(), plain.up_proj.weight.detach()))
        self.down = nn.Parameter(plain.down_proj.weight.detach())

    def forward(self, x: Tensor) -> Tensor:
        if other_autocast(x):
            return functional.linear(swiglu_of(functional.linear(x, self.gate_up)), self.down)
        return linear(swiglu_linear(x, self.gate_up), self.down)

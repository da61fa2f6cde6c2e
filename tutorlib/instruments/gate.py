"""Notebook 19's gate in training: ∂L/∂both as one Triton kernel, and autograd around it. Importing it needs Triton."""

from typing import Any

import torch
import triton
from torch import Tensor
from torch.nn.functional import silu
from triton import language as tl

from tutorlib.kernels.layers import PIECE, dgrad, linear, swiglu_linear, wgrad

BLOCK = 128  # pieces


@triton.jit
def kernel(grad, both, out, pieces, PIECE: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """out: gradients of gate and up, in turns as both has them. Every access has 16 bytes."""
    piece = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)[:, None]
    lane, inside = tl.arange(0, PIECE)[None, :], piece < pieces
    gate = tl.load(both + piece * 2 * PIECE + lane, inside).to(tl.float32)
    up = tl.load(both + piece * 2 * PIECE + PIECE + lane, inside).to(tl.float32)
    above = tl.load(grad + piece * PIECE + lane, inside).to(tl.float32)
    s = tl.sigmoid(gate)
    tl.store(out + piece * 2 * PIECE + lane, (above * up * s * (1 + gate * (1 - s))).to(tl.bfloat16), inside)
    tl.store(out + piece * 2 * PIECE + PIECE + lane, (above * gate * s).to(tl.bfloat16), inside)


def by_triton(grad: Tensor, both: Tensor, out: Tensor) -> None:
    """out = ∂L/∂both (T, 2F), from grad (T, F), of the gated product; bf16, contiguous."""
    pieces = grad.numel() // PIECE
    kernel[(triton.cdiv(pieces, BLOCK),)](grad, both, out, pieces, PIECE=PIECE, BLOCK=BLOCK)


@torch.compile(dynamic=False)
def activation(both: Tensor) -> Tensor:
    """silu(gate) · up (T, F)."""
    gate, up = both.float().unflatten(-1, (-1, 2, PIECE)).unbind(-2)
    return (silu(gate) * up).flatten(-2).to(both.dtype)


class Gated(torch.autograd.Function):
    """The gated product of x (T, H) and gate_up (2F, H). keeps: both = x · gate_upᵀ, or computes it again backward."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, gate_up: Tensor, keeps: bool) -> Tensor:
        kept = [linear(x, gate_up)] if keeps else []
        ctx.save_for_backward(x, gate_up, *kept)
        return activation(*kept) if keeps else swiglu_linear(x, gate_up)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        x, gate_up, *kept = ctx.saved_tensors
        both = kept[0] if kept else linear(x, gate_up)
        by_triton(grad, both, of_both := torch.empty_like(both))
        return dgrad(of_both, gate_up), wgrad(of_both, x), None

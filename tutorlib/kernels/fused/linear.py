"""nn.Linear on notebook 14's GEMM, as an operator that torch knows: compiled, differentiated, cast, captured."""

from typing import Any

import torch
from torch import Tensor, nn


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """A (M, K) · Bᵀ with B (N, K): sums in fp32 or better, rounded once.

    On a GPU notebook 14's kernel, with what it says of other GPUs and dtypes. It takes transposed views as they are;
    what lies in memory in yet another way, as a part of a wider matrix does, goes to cuBLAS. On the CPU torch's product
    in fp32 (of fp64 in fp64), which has the same contract: the kernel's result differs by the order of its sums alone.
    """
    if a.is_cuda:
        from tutorlib.kernels.hopper.launch import gemm

        return gemm(a.detach(), b.detach()) if follow(a) and follow(b) else a @ b.mT
    wide = torch.promote_types(a.dtype, torch.float32)
    return (a.to(wide) @ b.to(wide).mT).to(a.dtype)


def follow(matrix: Tensor) -> bool:
    """Whether its rows, or its columns, follow one another."""
    return matrix.is_contiguous() or matrix.mT.is_contiguous()


@torch.library.custom_op("tutorlib::linear", mutates_args=())
def linear(x: Tensor, weight: Tensor) -> Tensor:
    """x (…, in) · weightᵀ, where weight is (out, in)."""
    rows = x if x.ndim == 2 else x.reshape(-1, x.shape[-1])  # a view of a single column keeps its strides
    return multiply(rows, weight).view(*x.shape[:-1], weight.shape[0])


@linear.register_fake
def linear_fake(x: Tensor, weight: Tensor) -> Tensor:
    """A tensor like the result, without data."""
    return x.new_empty(*x.shape[:-1], weight.shape[0])


def dgrad(grad: Tensor, weight: Tensor) -> Tensor:
    """∂/∂x: grad (…, out) · weight, whose sums run over out, so that weightᵀ (in, out) is the B of a GEMM."""
    return linear(grad, weight.mT)


def wgrad(grad: Tensor, x: Tensor) -> Tensor:
    """∂/∂weight: gradᵀ · x (out, in), whose sums run over all rows, so that both are transposed."""
    return linear(grad.flatten(0, -2).mT, x.flatten(0, -2).mT)


def remember(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def linear_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
    x, weight = ctx.saved_tensors
    wants_x, wants_weight = ctx.needs_input_grad
    return dgrad(grad, weight) if wants_x else None, wgrad(grad, x) if wants_weight else None


linear.register_autograd(linear_backward, setup_context=remember)
for device in ("cpu", "cuda"):
    linear.register_autocast(device, torch.bfloat16)


class KernelLinear(nn.Linear):
    """nn.Linear, the same parameters, on the operator."""

    def forward(self, x: Tensor) -> Tensor:
        product = linear(x, self.weight)
        return product if self.bias is None else product + self.bias


def use_kernels(module: nn.Module) -> nn.Module:
    """The module itself, with every nn.Linear below it a KernelLinear that has its parameters."""
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            swapped = KernelLinear(child.in_features, child.out_features, child.bias is not None, device="meta")
            swapped.weight, swapped.bias = child.weight, child.bias
            module.add_module(name, swapped.train(child.training))
        else:
            use_kernels(child)
    return module

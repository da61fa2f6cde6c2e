"""The reader's epilogues of page 16 as functions of torch tensors.

In bf16 a kernel computes them: on a Hopper GPU notebook 14's, on the CPU notebook 09's, simulated. Other dtypes, and
sizes that the kernel cannot take, are computed by torch.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.fused.ampere import Fusion, make_fused, make_gated
from tutorlib.kernels.fused.hopper import BIAS_GELU, SWIGLU, launch_fused, of_halves
from tutorlib.kernels.fused.linear import leave_to_torch, why_torch
from tutorlib.kernels.fused.mlp import fusing_problem, interleave, separate, swiglu_of
from tutorlib.simulate.ptx.languages.cute import simulate_host
from tutorlib.simulate.ptx.languages.cute_lines import compile_with_lines

GATED_STEP = 32  # columns that a warp of notebook 09's kernel steps by along N: the width of its pieces of gate and up


def with_epilogue(op: Callable[[Any, Any], Any]) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """A function GELU(a · bᵀ + bias) of a (M, K), b (N, K) and bias (N,) → (M, N), in which `op` is bias and GELU."""
    simulated, on_hopper = Simulated(make_fused(Fusion(op))), replace(BIAS_GELU, op=op)

    def kernel(a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
        a, b, bias = (one.detach().contiguous() for one in (a, b, bias))
        why = why_torch(a, b, bias) if a.is_cuda else not_simulated(a)
        if why:
            return by_torch(a, b, why, lambda: functional.gelu(functional.linear(a, b, bias), approximate="tanh"))
        c = a.new_empty(len(a), len(b))
        if a.is_cuda:
            with torch.cuda.device(a.device):
                launch_fused(on_hopper, a, b, bias, c)
        else:
            simulated(a, b, bias, c)
        return c

    return kernel


def with_gate(gated: Callable[[Any], Any]) -> Callable[[Tensor, Tensor], Tensor]:
    """A function silu(gate) · up of a (M, K) and gate_up (2F, K), interleaved by 8 → (M, F), in which `gated` gates."""
    simulated, on_hopper = Simulated(make_gated(gated)), replace(SWIGLU, op=of_halves(gated))

    def kernel(a: Tensor, gate_up: Tensor) -> Tensor:
        a, gate_up = a.detach().contiguous(), gate_up.detach().contiguous()
        features = len(gate_up) // 2
        why = fusing_problem(a, gate_up) if a.is_cuda else not_simulated(a, features % GATED_STEP)
        if why:
            return by_torch(a, gate_up, why, lambda: swiglu_of(a @ gate_up.mT))
        c = a.new_empty(len(a), features)
        if a.is_cuda:
            with torch.cuda.device(a.device):
                launch_fused(on_hopper, a, gate_up, None, c)
        else:
            simulated(a, interleave(*separate(gate_up), width=GATED_STEP), c)
        return c

    return kernel


def by_torch(a: Tensor, b: Tensor, why: str, compute: Callable[[], Tensor]) -> Tensor:
    if a.is_cuda:
        leave_to_torch(a, b, why)
    return compute()


def not_simulated(a: Tensor, left_over: int = 0) -> str:
    """Why the simulated kernel cannot take this matrix of activations; "" where it can."""
    if a.dtype != torch.bfloat16 or not a.numel():
        return "the kernel is compiled for bf16"
    return f"{left_over} features are left over by its tiles" if left_over else ""


class Simulated:
    """A host function of matrices and vectors in ordinary memory, compiled once for each shape."""

    def __init__(self, host: Callable[..., None]) -> None:
        self.compiled = cache(lambda *specs: compile_with_lines(host, specs, "sm_80"))

    def __call__(self, *tensors: Tensor) -> None:
        named = {f"argument {n}": tensor for n, tensor in enumerate(tensors)}
        simulate_host(self.compiled(*map(TensorSpec.like, tensors)), named)

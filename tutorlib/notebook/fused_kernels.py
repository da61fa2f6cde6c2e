"""The names of page 18, and the reader's epilogues as functions of torch tensors, with their speed.

In bf16 a kernel computes them: on a Hopper GPU notebook 15's, on the CPU notebook 10's, simulated. Other dtypes, and
sizes that the kernel cannot take, are computed by torch.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from statistics import median
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.ampere.fused import (
    CONFIG,
    Fusion,
    bias_gelu,
    gated,
    make_elementwise,
    make_fused,
    make_gated,
)
from tutorlib.kernels.ampere.gemm import make_gemm
from tutorlib.kernels.ampere.main_loops import single_buffer
from tutorlib.kernels.ampere.thread_share import Accumulators
from tutorlib.kernels.hopper.fused import BIAS_GELU, SWIGLU, launch_fused, of_halves
from tutorlib.kernels.layers import (
    LLAMA_8B,
    PIECE,
    KernelLinear,
    LlamaMLP,
    fusing_problem,
    interleave,
    leave_to_torch,
    linear,
    separate,
    swiglu_of,
    why_torch,
)
from tutorlib.machine import device
from tutorlib.machine.features import WGMMA
from tutorlib.measuring.launchers import HostLauncher
from tutorlib.measuring.timing import paired
from tutorlib.measuring.trusted import measure
from tutorlib.notebook.measured import show_ratio
from tutorlib.problems.fused import linear_gelu, linear_swiglu
from tutorlib.simulate.ptx.languages.cute import compile_with_lines, simulate_host

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = [  # what the page imports
    "CONFIG",
    "Accumulators",
    "Fusion",
    "KernelLinear",
    "LlamaMLP",
    "linear",
    "make_elementwise",
    "make_gemm",
    "show_fused_speeds",
    "show_layer_speeds",
    "single_buffer",
    "with_epilogue",
    "with_gate",
]
TIMED = (4096, 14336, 4096)  # M, N, K: 4,096 tokens of Llama 3 8B's gate
GATED_STEP = 32  # columns that a warp of notebook 10's kernel steps by along N: the width of its pieces of gate and up


def with_epilogue(op: Callable[[Any, Any], Any] = bias_gelu) -> Callable[..., Tensor]:
    """GELU(a · bᵀ + bias) of (a, b, bias): (M, K), (N, K) and (N,) → (M, N), where `op` is bias and GELU.

    A fourth argument is where a kernel puts the result.
    """
    simulated, on_hopper = Simulated(make_fused(Fusion(op))), replace(BIAS_GELU, op=op)

    def kernel(a: Tensor, b: Tensor, bias: Tensor, out: Tensor | None = None) -> Tensor:
        a, b, bias = (x.detach().contiguous() for x in (a, b, bias))
        why = why_torch(a, b, bias) if a.is_cuda else not_simulated(a)
        if why:
            if a.is_cuda:
                leave_to_torch(a, b, why)
            return functional.gelu(functional.linear(a, b, bias), approximate="tanh")
        c = a.new_empty(len(a), len(b)) if out is None else out
        if a.is_cuda:
            with torch.cuda.device(a.device):
                launch_fused(on_hopper, a, b, bias, c)
        else:
            simulated(a, b, bias, c)
        return c

    return kernel


def with_gate(activate: Callable[[Any], Any] = gated) -> Callable[..., Tensor]:
    """silu(gate) · up of (a, gate_up): (M, K) and (2F, K), interleaved by 8 → (M, F), where `activate` gates.

    A third argument is where a kernel puts the result.
    """
    simulated, on_hopper = Simulated(make_gated(activate)), replace(SWIGLU, op=of_halves(activate))

    def kernel(a: Tensor, gate_up: Tensor, out: Tensor | None = None) -> Tensor:
        a, gate_up = a.detach().contiguous(), gate_up.detach().contiguous()
        features = len(gate_up) // 2
        why = fusing_problem(a, gate_up) if a.is_cuda else not_simulated(a, features % GATED_STEP)
        if why:
            if a.is_cuda:
                leave_to_torch(a, gate_up, why)
            return swiglu_of(a @ gate_up.mT)
        c = a.new_empty(len(a), features) if out is None else out
        if a.is_cuda:
            with torch.cuda.device(a.device):
                launch_fused(on_hopper, a, gate_up, None, c)
        else:
            simulated(a, interleave(*separate(gate_up), width=GATED_STEP), c)
        return c

    return kernel


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


def show_fused_speeds(gelu_kernel: Callable[..., Any], gate_kernel: Callable[..., Any]) -> "DataFrame | None":
    """The reader's two kernels, timed on this machine's Hopper GPU beside the course's."""
    import pandas

    if reason := device.why_not(WGMMA):
        print(f"not timed: {reason}")
        return None
    rows = {}
    for name, kernel, problem, course in (
        ("bias + GELU", gelu_kernel, linear_gelu(), lambda c, a, b, bias: launch_fused(BIAS_GELU, a, b, bias, c)),
        ("SwiGLU", gate_kernel, linear_swiglu(PIECE), lambda c, a, gate_up: launch_fused(SWIGLU, a, gate_up, None, c)),
    ):
        beside = replace(problem, baseline=course, baseline_name="the course's")
        measured = measure(beside, HostLauncher(kernel), TIMED)
        rows[name] = {"your µs": f"{measured.median_us:,.1f}", "beside the course's": show_ratio(measured)}
    table = pandas.DataFrame.from_dict(rows, orient="index")
    return pandas.concat({device.need_gpu().name: table}, axis="columns")


def show_layer_speeds(make: Callable[[LlamaMLP], torch.nn.Module]) -> None:
    """The reader's MLP of Llama 3 8B, made of a plain one, timed beside that in turn on this machine's Hopper GPU."""
    if reason := device.why_not(WGMMA):
        print(f"not timed: {reason}")
        return
    with torch.device("cuda"):
        plain = LlamaMLP(*LLAMA_8B, dtype=torch.bfloat16)
        x = torch.randn(TIMED[0], LLAMA_8B[0], dtype=torch.bfloat16).requires_grad_()
    modules = make(plain), plain

    def forward(module: torch.nn.Module) -> None:
        with torch.no_grad():
            module(x)

    def trained(module: torch.nn.Module) -> None:
        y = module(x)
        torch.autograd.grad(y, [x, *module.parameters()], y.detach())

    def nothing() -> None:
        pass

    for name, call in ("forward", forward), ("forward and backward", trained):
        mine, torchs = ([partial(call, module)] for module in modules)
        times = paired(mine, torchs, nothing, nothing, nothing, pairs=12)
        us, torchs_us = median(times.kernel), median(times.baseline)
        print(f"{name}: {us:,.0f} µs, torch {torchs_us:,.0f}: {torchs_us / us:.3f} × as fast")

"""The sweeps of notebook 16, on GPUs that have WGMMA. Together they take about 120 s of an H200."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import silu

from tutorlib.instruments.sweeps.hopper import changed
from tutorlib.instruments.sweeps.mlp import mlp
from tutorlib.instruments.sweeps.sweep import Candidate, Sweep
from tutorlib.kernels.fused.hopper import ADD, BIAS_GELU, PIECE, SWIGLU, choose_fused, launch_fused, linear_swiglu
from tutorlib.kernels.fused.linear import linear
from tutorlib.kernels.fused.mlp import LLAMA_8B
from tutorlib.kernels.hopper.choose import choose
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.fusion import Fusion
from tutorlib.kernels.hopper.launch import gemm
from tutorlib.machine import device
from tutorlib.machine.features import WGMMA
from tutorlib.measuring.launchers import HostLauncher
from tutorlib.problems.fused import by_torch_compile, linear_add, linear_gelu
from tutorlib.problems.fused import linear_swiglu as swiglu_problem
from tutorlib.problems.problem import Problem, Shape

HIDDEN, FEATURES = LLAMA_8B
PAIRS = 12  # a reference takes twenty times as long as what it checks
PINGPONG = HopperConfig((128, 192, 64), "pingpong", cluster=(2, 1), zigzag=True, polls=True)
SHARED = replace(PINGPONG, stream_k=True)
ALONE = HopperConfig((128, 144, 64), "pingpong", stream_k=True, zigzag=True, polls=True)
COOPERATIVE = HopperConfig(cluster=(2, 1), defer_stores=True, stream_k=True, zigzag=True, polls=True)


def beside_plain(problem: Problem) -> Problem:
    """The same beside notebook 14's GEMM of the same A and B, which rounds and nothing else."""

    def baseline(c: Tensor, a: Tensor, b: Tensor, *others: Tensor) -> None:
        gemm(a, b, c if c.shape[1] == b.shape[0] else c.new_empty(a.shape[0], b.shape[0]))

    return replace(problem, baseline=baseline, baseline_name="the plain GEMM")


def fused(name: str, fusion: Fusion, problem: Problem, config: HopperConfig | None = None) -> Candidate:
    """The kernel with this configuration, or with the chosen one. Points have it, and the plain GEMM's."""

    def host(a: Tensor, b: Tensor, *others: Tensor) -> None:
        *operand, c = others
        launch_fused(fusion, a, b, operand[0] if operand else None, c, config)

    def configs(shape: Shape) -> dict[str, Any]:
        m, n, k = shape
        sms = device.need_gpu().sms
        chosen = config or choose_fused(m, n, k, sms, fusion)
        return {"config": changed(chosen), "plain_config": changed(choose(m, n, k, sms))}

    return Candidate(name, HostLauncher(host), needs=WGMMA, problem=problem, inspect=configs)


def fused_epilogues() -> Sweep:
    """Each epilogue beside the plain GEMM, so that the ratio is what it costs; and beside torch's way."""
    gelu, add, gated = linear_gelu(), linear_add(), swiglu_problem(PIECE)
    candidates = (
        fused("bias + GELU", BIAS_GELU, beside_plain(gelu)),
        fused("bias + GELU, cooperative", BIAS_GELU, beside_plain(gelu), COOPERATIVE),
        fused("bias + GELU, ping-pong", BIAS_GELU, beside_plain(gelu), PINGPONG),
        fused("residual", ADD, beside_plain(add)),
        fused("residual, cooperative", ADD, beside_plain(add), COOPERATIVE),
        fused("residual, ping-pong, no clusters", ADD, beside_plain(add), ALONE),  # what the model alone would choose
        fused("SwiGLU", SWIGLU, beside_plain(gated)),
        fused("SwiGLU, ping-pong, stream-K", SWIGLU, beside_plain(gated), SHARED),
        fused("bias + GELU beside torch.compile", BIAS_GELU, gelu),
        fused("residual beside cuBLAS with beta = 1", ADD, add),
        fused("SwiGLU beside torch", SWIGLU, gated),
    )
    shapes = ((4096, FEATURES, HIDDEN), (8192, 8192, 8192))
    return Sweep(gelu, candidates, shapes, pairs=PAIRS, seconds=60)


# The MLP --------------------------------------------------------------------------------------------------------


def with_linear(x: Tensor, gate: Tensor, up: Tensor, down: Tensor, y: Tensor) -> None:
    """Every nn.Linear on the course's kernel, the rest torch's."""
    gemm(silu(linear(x, gate)) * linear(x, up), down, y)


def two_gemms(x: Tensor, gate_up: Tensor, down: Tensor, y: Tensor) -> None:
    """Gate, up and the activation in one kernel."""
    gemm(linear_swiglu(x, gate_up), down, y)


def gated_by_torch(x: Tensor, gate: Tensor, up: Tensor) -> Tensor:
    return silu(x @ gate.mT) * (x @ up.mT)


def by_compiler(x: Tensor, gate: Tensor, up: Tensor, down: Tensor, y: Tensor) -> None:
    """torch.compile, but for the last GEMM, which it would call as it is."""
    torch.mm(by_torch_compile(gated_by_torch)(x, gate, up), down.mT, out=y)


def tokens(*counts: int) -> tuple[Shape, ...]:
    return tuple((count, HIDDEN, 2 * FEATURES) for count in counts)


def mlp_forward() -> Sweep:
    """A Llama 3 8B MLP beside torch's."""
    separate = mlp()
    candidates = (
        Candidate("two GEMMs, the first gated", HostLauncher(two_gemms), needs=WGMMA, problem=mlp(PIECE)),
        Candidate("nn.Linear swapped", HostLauncher(with_linear), needs=WGMMA, problem=separate),
        Candidate("torch.compile", HostLauncher(by_compiler), needs=WGMMA, problem=separate),
    )
    return Sweep(separate, candidates, tokens(4096, 8192, 2048), pairs=PAIRS, seconds=25)

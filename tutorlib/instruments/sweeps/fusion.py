"""The sweeps of notebook 16, on GPUs that have WGMMA. Together they take about 120 s of an H200."""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import silu

from tutorlib.instruments.sweeps.hopper import changed
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
from tutorlib.problems.bounds import UNIT_ROUNDOFF, accumulation
from tutorlib.problems.fused import STEEPEST, by_torch_compile, linear_add, linear_gelu
from tutorlib.problems.fused import linear_swiglu as swiglu_problem
from tutorlib.problems.problem import Operand, Problem, Shape

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


# T tokens, H hidden, F features; x (T, H), gate and up (F, H), down (H, F), all bf16. Shapes are (T, H, 2F), since
# gate and up may be one matrix (2F, H).
BF16 = UNIT_ROUNDOFF["bf16"]
X = Operand("x", "TH", "bf16")
DOWN = Operand("down", "HG", "bf16", variance="G", blocks=(1, 2))
GATE, UP = (Operand(name, "GH", "bf16", variance="H", blocks=(2, 1)) for name in ("gate", "up"))


def forward_flops(shape: Shape) -> int:
    """Three GEMMs."""
    return 3 * math.prod(shape)


def mlp(width: int | None = None) -> Problem:
    """y (T, H) = (silu(x·gateᵀ) · (x·upᵀ)) · downᵀ.

    width: gate and up are one matrix gate_up (2F, H) with so many rows of each in turn; None: they are two.
    The baseline is torch's, one operator after the other; of an interleaved matrix it takes the two halves, which is
    the same work in another order.

    What lies between the GEMMs is rounded to bf16: gate, up, silu(gate) and the product at most. With u of bf16 the
    product h is off by 3u·|h| + 1.13·u·|gate·up|, an error of either sign, so that F of them add up as √F does; six
    standard deviations are allowed.
    """
    weights = (Operand("gate_up", "GH", "bf16", variance="H"),) if width else (GATE, UP)

    def gate_and_up(parts: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        if not width:
            return parts[0], parts[1]
        gate, up = parts[0].unflatten(0, (-1, 2, width)).unbind(1)
        return gate.flatten(0, 1), up.flatten(0, 1)

    def reference(x: Tensor, *parts: Tensor) -> Tensor:
        gate, up = (x @ weight.mT for weight in gate_and_up(parts))
        return (silu(gate) * up) @ parts[-1].mT

    def bound(result: Tensor, inputs: tuple[Tensor, ...], out: Any) -> Tensor:
        x, *parts, down = inputs
        gate, up = (x @ weight.mT for weight in gate_and_up(tuple(parts)))
        h = silu(gate) * up
        off = BF16 * (3 * h.abs() + STEEPEST * (gate * up).abs())
        return accumulation(result, (h, down), out) + 6 * (off.square() @ down.square().mT).sqrt()

    def baseline(y: Tensor, x: Tensor, *parts: Tensor) -> None:
        gate, up = (x @ weight.mT for weight in (parts[0].chunk(2) if width else parts[:2]))
        torch.mm(silu(gate) * up, parts[-1].mT, out=y)

    return Problem(
        name=f"mlp_{width}" if width else "mlp",
        dims="THG",
        inputs=(X, *weights, DOWN),
        output=Operand("y", "TH", "bf16"),
        reference=reference,
        bound=bound,
        baseline=baseline,
        baseline_name="torch",
        flops=forward_flops,
    )


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

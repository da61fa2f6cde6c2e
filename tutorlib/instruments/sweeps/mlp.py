"""The MLP of a Llama layer: what notebook 16 makes of its kernels.

T tokens, H hidden, F features; x (T, H), gate and up (F, H), down (H, F), all bf16. Shapes are (T, H, 2F), since gate
and up may be one matrix (2F, H).
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import silu

from tutorlib.problems.bounds import UNIT_ROUNDOFF, accumulation
from tutorlib.problems.fused import STEEPEST
from tutorlib.problems.problem import Operand, Problem, Shape

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

"""The MLP of a Llama layer, forward and backward: what notebook 16 makes of its kernels.

T tokens, H hidden, F features; x (T, H), gate and up (F, H), down (H, F), all bf16. Shapes are (T, H, 2F), since gate
and up may be one matrix (2F, H).
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear, silu

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


def mlp_gradient() -> Problem:
    """dx (T, H), the gradient of `mlp`'s x where y's is grad (T, H): forward and backward, those of the weights too.

    The baseline is torch's autograd. With D = grad·down and the slope s' of SiLU, dx = (D·up·s'(gate))·gate_weight +
    (D·silu(gate))·up_weight. Gate and up are rounded, D is, and so is what is multiplied with it: each factor of
    the one is off by 5·1.13·u·|D·up| + u/2·|D·up·gate| at most, where SiLU's second derivative is 1/2 at most; of the
    other by 4·u·|D·silu(gate)| + 1.13·u·|D·gate|. As in `mlp`, six standard deviations of their sums are allowed,
    and u for each part of dx and for the whole.
    """

    def pieces(inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """gate, up, silu(gate), its slope, D."""
        x, gate_weight, up_weight, down, grad = inputs
        gate, up = x @ gate_weight.mT, x @ up_weight.mT
        sigmoid = gate.sigmoid()
        return gate, up, silu(gate), sigmoid * (1 + gate * (1 - sigmoid)), grad @ down

    def reference(*inputs: Tensor) -> Tensor:
        _, up, activated, slope, d = pieces(inputs)
        return (d * up * slope) @ inputs[1] + (d * activated) @ inputs[2]

    def bound(result: Tensor, inputs: tuple[Tensor, ...], out: Any) -> Tensor:
        gate, up, activated, slope, d = pieces(inputs)
        of_gate = BF16 * (d * up).abs() * (5 * STEEPEST + gate.abs() / 2)
        of_up = BF16 * d.abs() * (4 * activated.abs() + STEEPEST * gate.abs())
        parts = ((d * up * slope) @ inputs[1]).abs() + ((d * activated) @ inputs[2]).abs()
        spread = of_gate.square() @ inputs[1].square() + of_up.square() @ inputs[2].square()
        return BF16 * (parts + result.abs()) + 6 * spread.sqrt()

    def baseline(dx: Tensor, *inputs: Tensor) -> None:
        step(linear, dx, *inputs)

    return Problem(
        name="mlp_gradient",
        dims="THG",
        inputs=(X, GATE, UP, DOWN, Operand("grad", "TH", "bf16")),
        output=Operand("dx", "TH", "bf16"),
        reference=reference,
        bound=bound,
        baseline=baseline,
        baseline_name="torch",
        flops=lambda shape: 3 * forward_flops(shape),
    )


def activated(gate: Tensor, up: Tensor) -> Tensor:
    return silu(gate) * up


def step(linear: Any, dx: Tensor, *inputs: Tensor, activated: Any = activated) -> None:
    """Forward and backward of the MLP with this linear(x, weight), through torch's autograd; x's gradient into dx.

    inputs: x, gate, up, down, grad. activated(gate, up): what lies between the GEMMs.
    """
    *tensors, grad = inputs
    x, gate, up, down = leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    y = linear(activated(linear(x, gate), linear(x, up)), down)
    dx.copy_(torch.autograd.grad(y, leaves, grad)[0])

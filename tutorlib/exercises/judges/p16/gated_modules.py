"""Describes the module that an answer to 16.14 makes of a plain MLP. Runs in the answer's process."""

from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.served import Served
from tutorlib.failure import FailureKind, Flaw

if TYPE_CHECKING:
    from torch import Tensor

PIECE = 8  # rows, as the operator has it


class GatedFlaw(FailureKind):
    """Errors of a module with a gated operator."""

    NO_MODULE = "no module"
    CALLS = "calls of the operator"
    PARAMETERS = "other parameters"
    ROWS = "rows of gate_up"
    DOWN = "another down"
    RESULT = "another result"
    GRADIENTS = "no gradient"


def product(factor: float, x: "Tensor", gate_up: "Tensor") -> "Tensor":
    """(…, F): gate · up of what is interleaved by PIECE, with a factor; shapes are those of the gated operator."""
    both = (x @ gate_up.mT).unflatten(-1, (-1, 2, PIECE))
    return factor * both.prod(-2).flatten(-2)


def gated_module(answer: Served, weights: "tuple[Tensor, ...]", x: "Tensor", factor: float) -> dict[str, Any]:
    """weights: of the plain MLP's gate, up and down.

    parameters: of the module, by name; given: for each call of the operator, the name of the parameter that it got, or
    "". down: whether down's weight is still a parameter; trained: whether all of them and x get gradients.
    """
    import torch

    from tutorlib.kernels.layers import LlamaMLP

    plain = LlamaMLP(*reversed(weights[0].shape), dtype=weights[0].dtype)
    with torch.no_grad():
        for layer, value in zip((plain.gate_proj, plain.up_proj, plain.down_proj), weights, strict=True):
            layer.weight.copy_(value)
    given, down = [], plain.down_proj.weight

    def gated_linear(x: "Tensor", gate_up: "Tensor") -> "Tensor":
        given.append(gate_up)
        return product(factor, x, gate_up)

    module = answer(plain, gated_linear)
    if not isinstance(module, torch.nn.Module):
        what = f"it makes a {type(module).__name__}, which is not an nn.Module."
        raise WrongKind(Flaw(what, GatedFlaw.NO_MODULE))
    x = x.clone().requires_grad_()
    result = module(x)
    if result.requires_grad:
        result.sum().backward()
    parameters = dict(module.named_parameters())
    return {
        "parameters": {name: one.detach() for name, one in parameters.items()},
        "given": ["".join(name for name, one in parameters.items() if one is mine) for mine in given],
        "down": any(one is down for one in parameters.values()),
        "trained": all(one.grad is not None for one in (x, *parameters.values())),
        "result": result.detach(),
    }

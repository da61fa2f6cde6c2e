"""Describes a module that an answer makes of a plain MLP. Runs in the answer's process."""

from typing import TYPE_CHECKING, Any

from tutorlib.checking.served import Served
from tutorlib.exercises.n16_fusion.judge.held_memory import allocations, held_besides

if TYPE_CHECKING:
    from torch import Tensor


def told_of_gated(
    answer: Served, weights: "tuple[Tensor, Tensor, Tensor]", x: "Tensor", gated_linear: Any
) -> dict[str, Any]:
    """The module's parameters, other tensors and result. Raises what the answer raises.

    weights: of the plain MLP's gate, up and down. gated_linear: x, gate_up → a tensor.
    """
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef

    from tutorlib.kernels.fused.mlp import LlamaMLP

    (features, hidden), dtype = weights[0].shape, weights[0].dtype
    plain = LlamaMLP(hidden, features, dtype=dtype)
    with torch.no_grad():
        for layer, value in zip((plain.gate_proj, plain.up_proj, plain.down_proj), weights, strict=True):
            layer.weight.copy_(value)
    given = []

    def called(x: "Tensor", gate_up: "Tensor") -> "Tensor":
        given.append(gate_up)
        return gated_linear(x.detach(), gate_up.detach())

    down_calls = []
    plain.down_proj.register_forward_hook(lambda *_: down_calls.append(1))
    with allocations() as allocated:
        module = answer(plain, called)
    if not isinstance(module, torch.nn.Module):
        return {"instead": type(module).__name__}
    down = plain.down_proj.weight
    allocated += [StorageWeakRef(one.weight.untyped_storage()) for one in (plain.gate_proj, plain.up_proj)]
    del plain
    kept = held_besides(allocated, module.parameters())
    y = module(x)
    parameters = dict(module.named_parameters())
    return {
        "parameters": {name: one.detach() for name, one in parameters.items()},
        "trained": all(one.requires_grad for one in parameters.values()),
        "kept": kept,
        "down_calls": len(down_calls),
        "down": any(one is down for one in parameters.values()),
        "given": ["".join(name for name, one in parameters.items() if one is mine) for mine in given],
        "result": y.detach(),
        "trains_down": y.requires_grad,
    }

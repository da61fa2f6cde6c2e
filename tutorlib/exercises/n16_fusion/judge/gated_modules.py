"""Describes a module that an answer makes of a plain MLP. Runs in the answer's process."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tutorlib.checking.served import Served
from tutorlib.exercises.n16_fusion.judge.copies import copies, uncounted
from tutorlib.exercises.n16_fusion.judge.held_memory import allocations, held_besides

if TYPE_CHECKING:
    from torch import Tensor


def told_of_gated(
    answer: Served, weights: "tuple[Tensor, Tensor, Tensor]", x: "Tensor", gated_linear: Any
) -> dict[str, Any]:
    """The module's parameters, other tensors and results for x and x[0]; and what it does besides.

    weights: of the plain MLP's gate, up and down. gated_linear: x, gate_up → a tensor. Raises what the answer raises.
    """
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef

    from tutorlib.kernels.fused.mlp import LlamaMLP

    (features, hidden), dtype = weights[0].shape, weights[0].dtype
    plain = LlamaMLP(hidden, features, dtype=dtype)
    layers = [plain.gate_proj, plain.up_proj, plain.down_proj]
    with torch.no_grad():
        for layer, value in zip(layers, weights, strict=True):
            layer.weight.copy_(value)
    given, multiply = [], uncounted(gated_linear)

    def called(x: "Tensor", gate_up: "Tensor") -> "Tensor":
        given.append(gate_up)
        return multiply(x.detach(), gate_up.detach()) + 0 * (x.sum() + gate_up.sum())  # with gradients for both

    before, intact = plain(x).detach(), False
    with allocations() as allocated:
        module = answer(plain, called)
    if not isinstance(module, torch.nn.Module):
        return {"instead": type(module).__name__}
    with suppress(Exception):  # of a layer that is gone
        intact = plain(x).equal(before)
    down_calls, down = [], layers[2].weight
    layers[2].register_forward_hook(lambda *_: down_calls.append(1))
    allocated += [StorageWeakRef(one.weight.untyped_storage()) for one in layers[:2]]
    del plain, layers
    kept = held_besides(allocated, module.parameters())
    x = x.clone().requires_grad_()
    with copies() as copied:
        y = module(x)
    y.sum().backward()
    parameters = dict(module.named_parameters())
    told = {
        "parameters": {name: one.detach() for name, one in parameters.items()},
        "trained": all(one.grad is not None for one in (x, *parameters.values())),
        "kept": kept,
        "down_calls": len(down_calls),
        "down": any(one is down for one in parameters.values()),
        "given": ["".join(name for name, one in parameters.items() if one is mine) for mine in given],
        "result": y.detach(),
        "copied": sum(copied),
        "intact": intact,
    }
    elsewhere = set()
    with suppress(Exception):
        elsewhere = {one.device.type for one in answer(LlamaMLP(16, 24, device="meta"), called).parameters()}
    return told | {"second": module(x[0]).detach(), "follows": elsewhere == {"meta"}}

"""Describes a torch model after an answer has swapped its layers. Runs where the answer is."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

from tutorlib.checking.served import Served

if TYPE_CHECKING:
    from torch import Tensor, nn

Recipe = tuple[Any, ...]  # a module: its kind, and its sizes or its children


@dataclass(frozen=True)
class Model:
    recipe: Recipe
    dtype: str = "float32"
    trained: bool = True
    training: bool = True


def build(model: Model) -> "nn.Module":
    import torch

    made = built_from(model.recipe).to(getattr(torch, model.dtype))
    return made.requires_grad_(model.trained).train(model.training)


def built_from(recipe: Recipe) -> "nn.Module":
    from torch import nn

    from tutorlib.kernels.fused.mlp import LlamaMLP

    match recipe:
        case "Sequential", *children:
            return nn.Sequential(*map(built_from, children))
        case "Linear", width, out, bias:
            return nn.Linear(width, out, bias)
        case "Subclass", width, out:
            return nn.modules.linear.NonDynamicallyQuantizableLinear(width, out)
        case "LlamaMLP", width, features:
            return LlamaMLP(width, features)
        case "LayerNorm", width:
            return nn.LayerNorm(width)
    return nn.GELU()


def class_of(module: "nn.Module") -> str:
    """Its class by name; "another …" if its module has no such class."""
    import sys

    kind = type(module)
    found = vars(sys.modules.get(kind.__module__, object)).get(kind.__name__)
    return f"{kind.__module__}.{kind.__name__}" if found is kind else f"another {kind.__name__}"


@contextmanager
def products_by(multiply: Callable[..., "Tensor"]) -> Iterator[None]:
    """Kernels on the CPU compute with this meanwhile."""
    from tutorlib.kernels.fused import linear

    def with_bias(a: "Tensor", b: "Tensor", bias: "Tensor | None" = None) -> "Tensor":
        return multiply(a, b) if bias is None else multiply(a, b) + bias

    with mock.patch.object(linear, "multiply", with_bias):
        yield


def told_of_swapped(
    answer: Served, model: Model, held: Mapping[str, "Tensor"], x: "Tensor", multiply: Any, compiled: bool
) -> dict[str, Any]:
    """Describes a model with these parameters after the answer, and its result for x. Raises what the answer raises.

    modules: path → kind and whether it is in training. parameters: path → its path before. sizes: whether each layer's
    in_features and out_features are its weight's.
    """
    import torch

    made = build(model)
    before = dict(made.named_parameters())
    with torch.no_grad():
        for path, value in held.items():
            before[path].copy_(value)
    got = answer(made)
    if got is not made:
        return {"instead": type(got).__name__}
    now = dict(made.named_parameters())
    with products_by(lambda a, b: multiply(a.detach(), b.detach())):
        result = made(x).detach()
    return {
        "modules": {path: (class_of(module), module.training) for path, module in made.named_modules()},
        "parameters": {
            path: next((old for old, one in before.items() if one is now[path]), "") for path in sorted(now)
        },
        "sizes": all(
            tuple(layer.weight.shape) == (layer.out_features, layer.in_features)
            for layer in made.modules()
            if isinstance(layer, torch.nn.Linear)
        ),
        "trained": all(one.requires_grad is model.trained for one in now.values()),
        "result": result,
        "breaks": torch._dynamo.explain(made)(x).graph_break_count if compiled else 0,
    }

"""16.10: modules whose linear layers become the course's. A record describes a model.

A model's products have a random factor, which shows the layers that have become kernels.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any
from unittest import mock

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.records import Record, as_the_course
from tutorlib.checking.served import Served
from tutorlib.failure import FailureKind, Flaw

if TYPE_CHECKING:
    from torch import Tensor, nn

WIDTH = 16  # of what goes in


class SwapFlaw(FailureKind):
    RETURNS = "returns something else"


# In the answer's process ----------------------------------------------------------------------------------------------


NAMES = ("an MLP", "layers in layers", "a bias", "another dtype", "frozen, in eval", "a subclass, which stays")


def build(name: str, rng: Random) -> "nn.Module":
    """The model of this name, for inputs of WIDTH."""
    from torch import nn

    from tutorlib.kernels.layers import LlamaMLP

    if name == "layers in layers":
        return nested(rng, 2)
    if name == "a bias":  # and layers without
        biases = [True, False, *(rng.random() < 0.5 for _ in range(rng.randint(0, 2)))]
        layers = [layer for bias in biases for layer in (nn.Linear(WIDTH, WIDTH, bias), nn.GELU())]
        return nn.Sequential(nn.Sequential(*layers))
    if name == "a subclass, which stays":
        kind = nn.modules.linear.NonDynamicallyQuantizableLinear
        layers = [nn.Linear(WIDTH, WIDTH), *(kind(WIDTH, WIDTH) for _ in range(rng.randint(1, 3)))]
        return nn.Sequential(nn.Sequential(*rng.sample(layers, len(layers))))
    mlp = LlamaMLP(WIDTH, 8 * rng.randint(2, 9))
    if name == "another dtype":
        return nn.Sequential(mlp.double())
    return nn.Sequential(mlp.requires_grad_(False).eval()).eval() if name == "frozen, in eval" else mlp


def nested(rng: Random, depth: int) -> "nn.Module":
    """Layers in layers."""
    from torch import nn

    inner = nested(rng, depth - 1) if depth else nn.Linear(WIDTH, WIDTH)
    layers = [nn.LayerNorm(WIDTH), nn.Sequential(inner), *(nn.Linear(WIDTH, WIDTH) for _ in range(rng.randint(0, 2)))]
    return nn.Sequential(*rng.sample(layers, len(layers)))


def class_of(module: "nn.Module") -> str:
    """Its class by name; "another …" if its module has no such class."""
    import sys

    kind = type(module)
    found = vars(sys.modules.get(kind.__module__, object)).get(kind.__name__)
    return kind.__name__ if found is kind else f"another {kind.__name__}"


@contextmanager
def products_times(factor: float) -> Iterator[None]:
    """Kernels on the CPU compute with this factor meanwhile."""
    from tutorlib.kernels import layers

    def multiply(a: "Tensor", b: "Tensor", bias: "Tensor | None" = None) -> "Tensor":
        return factor * (a @ b.mT) + (0 if bias is None else bias)

    with mock.patch.object(layers, "multiply", multiply):
        yield


def swapped_model(answer: Served, name: str, seed: int, factor: float) -> Record:
    """Runs where the answer is. seed: of the model's sizes and parameters.

    Of each module its class, mode and whether its weight has its sizes; of each parameter the name of the one that it
    was, and whether it is trained; and the result for some x.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = build(name, Random(seed))
    before = dict(made.named_parameters())
    got = answer(made)
    if got is not made:
        what = f"it returns {type(got).__name__}; it should return the module itself, changed."
        raise WrongKind(Flaw(what, SwapFlaw.RETURNS))
    layers = {path: layer for path, layer in made.named_modules() if isinstance(layer, torch.nn.Linear)}
    x = torch.linspace(-1.0, 1.0, 3 * WIDTH, dtype=next(made.parameters()).dtype).view(3, WIDTH)
    with products_times(factor):
        result = made(x).detach()
    return {
        "class": {path: class_of(one) for path, one in made.named_modules()},
        "training mode": {path: one.training for path, one in made.named_modules()},
        "parameter": {
            path: next((old for old, same in before.items() if same is one), "another tensor")
            for path, one in made.named_parameters()
        },
        "in_features and out_features": {
            path: tuple(layer.weight.shape) == (layer.out_features, layer.in_features) or "not its weight's"
            for path, layer in layers.items()
        },
        "requires_grad": {path: one.requires_grad for path, one in made.named_parameters()},
        "result": result,
    }


def drawn(name: str, rng: Random) -> tuple:
    return name, rng.getrandbits(32), rng.uniform(0.5, 2.0)


def use_kernels() -> Any:
    from tutorlib.kernels.layers import use_kernels

    return use_kernels


SWAPPED = tuple(as_the_course(name, swapped_model, partial(drawn, name), use_kernels) for name in NAMES)

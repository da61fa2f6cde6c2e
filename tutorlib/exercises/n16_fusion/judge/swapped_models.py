"""16.10: modules whose linear layers become the course's. A record of a model is compared with the course's own.

A recipe of plain values says what the model is. Its products have a random factor, which shows the layers that have
become kernels.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.scenario import judged_by_record
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case
from tutorlib.failure import FailureKind, Flaw

if TYPE_CHECKING:
    from torch import Tensor, nn

WIDTH = 16  # of what goes in
Recipe = tuple[Any, ...]  # a module: its kind, and its sizes or its children
LINEAR = ("Linear", WIDTH, WIDTH)


class Model(NamedTuple):
    recipe: Recipe
    dtype: str = "float32"
    trained: bool = True
    training: bool = True


class SwapFlaw(FailureKind):
    """Errors in a model whose layers were swapped. CLASS: of a module [got]."""

    RETURNS = "returns something else"
    CLASS = "class of a module"
    MODE = "mode of a module"
    PARAMETERS = "names of parameters"
    TENSOR = "another tensor"
    SIZES = "sizes of a layer"


# In the answer's process ----------------------------------------------------------------------------------------------


def built(recipe: Recipe) -> "nn.Module":
    from torch import nn

    from tutorlib.kernels.fused.mlp import LlamaMLP

    kinds: dict[str, Callable[..., nn.Module]] = {
        "Sequential": lambda *children: nn.Sequential(*map(built, children)),
        "Subclass": nn.modules.linear.NonDynamicallyQuantizableLinear,
        "LlamaMLP": LlamaMLP,
        **{kind.__name__: kind for kind in (nn.Linear, nn.LayerNorm, nn.GELU)},
    }
    kind, *rest = recipe
    return kinds[kind](*rest)


def class_of(module: "nn.Module") -> str:
    """Its class by name; "another …" if its module has no such class."""
    import sys

    kind = type(module)
    found = vars(sys.modules.get(kind.__module__, object)).get(kind.__name__)
    return kind.__name__ if found is kind else f"another {kind.__name__}"


@contextmanager
def products_times(factor: float) -> Iterator[None]:
    """Kernels on the CPU compute with this factor meanwhile."""
    from tutorlib.kernels.fused import linear

    def multiply(a: "Tensor", b: "Tensor", bias: "Tensor | None" = None) -> "Tensor":
        return factor * (a @ b.mT) + (0 if bias is None else bias)

    with mock.patch.object(linear, "multiply", multiply):
        yield


def swapped_model(answer: Served, model: tuple, seed: int, x: "Tensor", factor: float) -> dict[str, Any]:
    """Runs where the answer is. seed: of the model's parameters.

    classes, modes: of each module, by path; parameters: path → its path before; trained: those with requires_grad;
    sizes: whether each layer's in_features and out_features are its weight's; result: for x.
    """
    import torch

    recipe, dtype, trained, training = model
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = built(recipe).to(getattr(torch, dtype)).requires_grad_(trained).train(training)
    before = dict(made.named_parameters())
    got = answer(made)
    if got is not made:
        what = f"it returns {type(got).__name__}; it should return the module itself, changed."
        raise WrongKind(Flaw(what, SwapFlaw.RETURNS))
    layers = [layer for layer in made.modules() if isinstance(layer, torch.nn.Linear)]
    with products_times(factor):
        result = made(x).detach()
    return {
        "classes": {path: class_of(one) for path, one in made.named_modules()},
        "modes": {path: one.training for path, one in made.named_modules()},
        "parameters": {
            path: next((old for old, same in before.items() if same is one), "")
            for path, one in made.named_parameters()
        },
        "trained": {path: one.requires_grad for path, one in made.named_parameters()},
        "sizes": all(tuple(layer.weight.shape) == (layer.out_features, layer.in_features) for layer in layers),
        "result": result,
    }


# In the judge's process -----------------------------------------------------------------------------------------------


def nested(rng: Random, depth: int = 2) -> Recipe:
    """Layers in layers, WIDTH wide."""
    inner = nested(rng, depth - 1) if depth else LINEAR
    children = [("LayerNorm", WIDTH), ("Sequential", inner), *[LINEAR] * rng.randint(0, 2)]
    return ("Sequential", *rng.sample(children, len(children)))


def biased(rng: Random) -> Recipe:
    """Layers with a bias and without."""
    biases = [True, False, *(rng.random() < 0.5 for _ in range(rng.randint(0, 2)))]
    return ("Sequential", *(one for bias in biases for one in ((*LINEAR, bias), ("GELU",))))


def mlp(rng: Random) -> Recipe:
    return ("LlamaMLP", WIDTH, 8 * rng.randint(2, 9))


def beside_subclass(rng: Random) -> Recipe:
    """An nn.Linear among subclasses that stay."""
    layers = [LINEAR, *[("Subclass", WIDTH, WIDTH)] * rng.randint(1, 3)]
    return ("Sequential", *rng.sample(layers, len(layers)))


MODELS: dict[str, Callable[[Random], Model]] = {
    "an MLP": lambda rng: Model(mlp(rng)),
    "layers in layers": lambda rng: Model(nested(rng)),
    "a bias": lambda rng: Model(("Sequential", biased(rng))),
    "another dtype": lambda rng: Model(("Sequential", mlp(rng)), "float64"),
    "frozen, in eval": lambda rng: Model(("Sequential", mlp(rng)), trained=False, training=False),
    "a subclass, which stays": lambda rng: Model(("Sequential", beside_subclass(rng))),
}


def swapped(name: str) -> Case:
    """A case that is right when only the class of the nn.Linear layers has changed."""

    def draw(rng: Random) -> tuple:
        import torch

        model = MODELS[name](rng)
        x = torch.linspace(-1.0, 1.0, 3 * WIDTH, dtype=getattr(torch, model.dtype)).view(3, WIDTH)
        return tuple(model), rng.getrandbits(32), x, rng.uniform(0.5, 2.0)

    return judged_by_record(name, swapped_model, draw, unlike)


def unlike(got: dict[str, Any], *given: Any) -> str:
    """How a model differs from the course's, or ""."""
    from tutorlib.kernels.fused.linear import use_kernels

    want = swapped_model(Served(use_kernels), *given)
    for path, kind in want["classes"].items():
        if (mine := got["classes"].get(path)) != kind:
            return Flaw(f"{path or 'the module'} is {mine} and should be {kind}.", SwapFlaw.CLASS(got=str(mine)))
        if got["modes"][path] is not want["modes"][path]:
            return Flaw(
                f"{path} was in {'training' if want['modes'][path] else 'eval'} mode and no longer is.", SwapFlaw.MODE
            )
    if got["parameters"].keys() != want["parameters"].keys():
        names = ", ".join(want["parameters"]), ", ".join(got["parameters"])
        return Flaw(f"its parameters were {names[0]} and are now {names[1]}.", SwapFlaw.PARAMETERS)
    for path, old in got["parameters"].items():
        if old != path:
            what = f"{path} is another tensor now: an optimizer that holds the old one trains nothing."
            return Flaw(what, SwapFlaw.TENSOR)
    if not got["sizes"]:
        return Flaw("a layer's in_features and out_features are not those of its weight.", SwapFlaw.SIZES)
    if got["trained"] != want["trained"]:
        return "it changes requires_grad of some parameters."
    same = got["result"].shape == want["result"].shape and got["result"].allclose(want["result"], rtol=1e-4, atol=1e-5)
    return "" if same else "its result has changed."

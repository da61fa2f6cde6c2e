"""16.10: modules whose linear layers become the course's.

The model is built in the answer's process, from a recipe of plain values, and described in plain values afterwards. Its
result is computed with the judge's own products, which shows the layers that have become kernels.
"""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from tutorlib.checking.graded_run import rng_of_run
from tutorlib.checking.randomness import fresh_rng
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case, attempt
from tutorlib.exercises.n16_fusion.judge.swapped_models import (
    Model,
    Recipe,
    build,
    class_of,
    products_by,
    told_of_swapped,
)
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.wrong import Wrong

if TYPE_CHECKING:
    from torch import Tensor

WIDTH = 16  # of what goes in


def nested(rng: Random, depth: int = 2) -> Recipe:
    """Layers in layers, WIDTH wide."""
    inner = nested(rng, depth - 1) if depth else ("Linear", WIDTH, WIDTH, True)
    children = [("LayerNorm", WIDTH), ("Sequential", inner), *[("Linear", WIDTH, WIDTH, True)] * rng.randint(0, 2)]
    return ("Sequential", *rng.sample(children, len(children)))


def biased(rng: Random) -> Recipe:
    """Layers with a bias and without."""
    biases = [True, False, *(rng.random() < 0.5 for _ in range(rng.randint(0, 2)))]
    rng.shuffle(biases)
    return ("Sequential", *(one for bias in biases for one in (("Linear", WIDTH, WIDTH, bias), ("GELU",))))


def mlp(rng: Random) -> Recipe:
    return ("LlamaMLP", WIDTH, 8 * rng.randint(2, 9))


def beside_subclass(rng: Random) -> Recipe:
    """An nn.Linear among subclasses that stay."""
    layers = [("Linear", WIDTH, WIDTH, True), *[("Subclass", WIDTH, WIDTH)] * rng.randint(1, 3)]
    return ("Sequential", *rng.sample(layers, len(layers)))


MODELS: dict[str, Callable[[Random], Model]] = {
    "an MLP": lambda rng: Model(mlp(rng)),
    "layers in layers": lambda rng: Model(nested(rng)),
    "a bias": lambda rng: Model(("Sequential", biased(rng))),
    "another dtype": lambda rng: Model(("Sequential", mlp(rng)), "float64"),
    "frozen, in eval": lambda rng: Model(("Sequential", mlp(rng)), trained=False, training=False),
    "a subclass, which stays": lambda rng: Model(("Sequential", beside_subclass(rng))),
}


def swapped(name: str, compiled: bool = False) -> Case:
    """A case that is right when only the class of the nn.Linear layers has changed.

    compiled: torch.compile is to find no graph break either.
    """

    def judge(answer: Served) -> Wrong | None:
        return wrong_swap(answer, MODELS[name](rng_of_run(16)), compiled)

    return Case(name, judge)


class SwapFlaw(FailureKind):
    """Errors in a model whose layers were swapped. CLASS: of a module [got]."""

    RETURNS = "returns something else"
    CLASS = "class of a module"
    MODE = "mode of a module"
    PARAMETERS = "names of parameters"
    TENSOR = "another tensor"
    SIZES = "sizes of a layer"


def wrong_swap(answer: Served, model: Model, compiled: bool) -> Wrong | None:
    import torch

    from tutorlib.kernels.fused.linear import KernelLinear, use_kernels

    rng = fresh_rng()
    torch.manual_seed(rng.getrandbits(32))
    mine = build(model)
    held = {path: parameter.detach() for path, parameter in mine.named_parameters()}
    modules = {path: (class_of(module), module.training) for path, module in mine.named_modules()}
    x = torch.randn(3, WIDTH, dtype=getattr(torch, model.dtype))
    factor = rng.uniform(0.5, 2.0)

    def multiply(a: "Tensor", b: "Tensor") -> "Tensor":
        """Scaled by a random factor, so that the result shows whether its products are the judge's."""
        return factor * (a @ b.mT)

    given = (model, held, x, multiply, compiled)
    told, wrong = attempt(answer.through(told_of_swapped), given)
    if wrong is not None:
        return Wrong(f"it raised {wrong.what.partition(' raised ')[2]}")
    if "instead" in told:
        return Wrong(
            Flaw(f"it returns {told['instead']}; it should return the module itself, changed.", SwapFlaw.RETURNS)
        )
    kernel = class_of(KernelLinear(1, 1))
    for path, (kind, training) in told["modules"].items():
        was, mode = modules.get(path, (None, None))
        want = kernel if was == "torch.nn.modules.linear.Linear" else was
        if kind != want:
            return Wrong(
                Flaw(
                    f"{path or 'the module'} is a {short(kind)} and should be a {want and short(want)}.",
                    SwapFlaw.CLASS(got=short(kind)),
                )
            )
        if training is not mode:
            return Wrong(Flaw(f"{path} was in {'training' if mode else 'eval'} mode and no longer is.", SwapFlaw.MODE))
    if told["parameters"].keys() != held.keys() or told["modules"].keys() != modules.keys():
        return Wrong(
            Flaw(
                f"its parameters were {', '.join(held)} and are now {', '.join(told['parameters'])}.",
                SwapFlaw.PARAMETERS,
            )
        )
    for path, old in told["parameters"].items():
        if old != path:
            return Wrong(
                Flaw(
                    f"{path} is another tensor now: an optimizer that holds the old one trains nothing.",
                    SwapFlaw.TENSOR,
                )
            )
    if not told["sizes"]:
        return Wrong(Flaw("a layer's in_features and out_features are not those of its weight.", SwapFlaw.SIZES))
    if not told["trained"]:
        return Wrong("it changes requires_grad of some parameters.")
    with products_by(multiply):
        expected = use_kernels(mine)(x).detach()
    got = told["result"]
    if got.shape != expected.shape or not torch.allclose(got, expected, rtol=1e-4, atol=1e-5):
        return Wrong("its result has changed.")
    if told["breaks"]:
        return Wrong(f"torch.compile breaks its graph {told['breaks']} times.")
    return None


def short(kind: str) -> str:
    return kind.rpartition(".")[2]

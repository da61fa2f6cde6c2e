"""16.8 and 16.12: the gradients of a linear layer, and of one with GELU, made of GEMMs."""

from math import prod
from typing import TYPE_CHECKING, Any

from tutorlib.checking.drawn import Drawn
from tutorlib.checking.exercise import Answer
from tutorlib.checking.randomness import fresh_rng, more_for_points
from tutorlib.checking.scenario import without_call
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case, attempt
from tutorlib.failure import FailureKind, Flaw
from tutorlib.models.hopper_gemm import RowGemm
from tutorlib.problems.differences import Wrong, count

if TYPE_CHECKING:
    from torch import Tensor

Shape = tuple[int, ...]
NUMBERS = {2: "two", 3: "three"}


def draw(*shapes: Shape, seed: int = 0, dtype: str = "float64") -> "tuple[Tensor, ...]":
    import torch

    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(shape, generator=generator, dtype=getattr(torch, dtype)) for shape in shapes)


class GradientFlaw(FailureKind):
    """Errors of gradients, or of how they were computed. VALUE: of whose [name], "nan" if it is none."""

    NO_PAIR = "no two tensors"
    SHAPE = "shape of a gradient"
    DTYPE = "dtype of a gradient"
    TRANSPOSED = "transposed gradient"
    GEMMS = "number of GEMMs"
    VALUE = "value of a gradient"


NAMES = ("x", "weight", "bias")


def wanted(grad: "Tensor", *leaves: "Tensor", factor: float = 1.0) -> "tuple[Tensor, ...]":
    """autograd's gradients of a linear layer, or with a bias of GELU of it; `factor` is on all products."""
    import torch

    x, weight, *bias = (one.detach().requires_grad_() for one in leaves)
    y = factor * (x @ weight.mT)
    y = torch.nn.functional.gelu(y + bias[0], approximate="tanh") if bias else y
    return torch.autograd.grad(y, (x, weight, *bias), grad)


def shapes_of(x: Shape, weight: Shape, biased: bool) -> tuple[Shape, ...]:
    """Those of the result's gradient, x, weight, and perhaps the bias."""
    return ((*x[:-1], weight[0]), x, weight, *([weight[:1]] if biased else []))


def gradients(x: Shape, weight: Shape, biased: bool = False, scale: float = 1.0, made_by_gemm: bool = False) -> Case:
    """A case that is right when all gradients are autograd's, by products of gemm as large as the forward one.

    The exercise's calls go through `with_gemm`. biased: of GELU of the layer with a bias. scale: of x.
    made_by_gemm: gemm's results have a random factor, which the gradients have only if they are made of these. For
    points it also tries other numbers.
    """

    def given(seed: int) -> "tuple[Tensor, ...]":
        grad, first, *others = draw(*shapes_of(x, weight, biased), seed=seed)
        return grad, scale * first, *others

    def judge(answer: Answer) -> Wrong | None:
        tried = given(0), *more_for_points(lambda rng: given(rng.getrandbits(32)), 1)
        factor = fresh_rng().uniform(0.3, 0.7) if made_by_gemm else 1.0
        return next(filter(None, (wrong_gradients(answer, factor, *one) for one in tried)), None)

    name = f"x {x}, weight {weight}{', large numbers' if scale > 1 else ''}"
    return Case(
        "gemm's results in all of them" if made_by_gemm else name,
        judge,
        Drawn(lambda seed: [(1.0, *given(seed))], 0),
    )


def with_gemm(answer: Served, factor: float, *tensors: "Tensor") -> "tuple[Any, list[int]]":
    """The answer's gradients, by products of a gemm with this factor; and M·N·K of each product."""
    gemm = RowGemm(factor)
    return answer(*tensors, gemm), gemm.done


def wrong_gradients(answer: Answer, factor: float, grad: "Tensor", *leaves: "Tensor") -> Wrong | None:
    record, wrong = attempt(answer, (factor, grad, *leaves))
    if wrong is not None:
        return without_call(wrong)
    got, done = record
    names = NAMES[: len(leaves)]
    if not (isinstance(got, tuple | list) and len(got) == len(leaves)):
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        what = f"it should return {NUMBERS[len(leaves)]} tensors, the gradients of {listed}."
        return Wrong(Flaw(what, GradientFlaw.NO_PAIR))
    for name, mine, want in zip(names, got, wanted(grad, *leaves, factor=factor), strict=True):
        if said := unlike(mine, want, name):
            follows = "" if factor == 1.0 else "when gemm's results have a factor, the gradients do not follow it: "
            return Wrong(f"{follows}the gradient of {name} " + said + ".")
    products = [prod(leaves[0].shape[:-1]) * leaves[1].numel()] * (len(leaves) if len(leaves) > 2 else 2)
    if done != products:
        each = f"it should compute {NUMBERS[len(products)]} products, each as large as the forward one"
        return Wrong(Flaw(f"gemm was called {count(len(done), 'time')}; {each}.", GradientFlaw.GEMMS))
    return None


def unlike(mine: Any, want: "Tensor", name: str) -> str:
    """How a gradient differs from autograd's, or ""."""
    import torch

    if not isinstance(mine, torch.Tensor):
        return "is not a tensor"
    if mine.shape != want.shape:
        shapes = f"has the shape {tuple(mine.shape)}, and {name} has {tuple(want.shape)}"
        return Flaw(shapes, GradientFlaw.SHAPE)
    if mine.dtype != want.dtype:
        dtypes = (str(one.dtype).removeprefix("torch.") for one in (mine, want))
        return Flaw(f"is {' and should be '.join(dtypes)}", GradientFlaw.DTYPE)
    if want.ndim > 1 and mine.mT.shape == want.shape and torch.allclose(mine.mT, want):
        return "" if torch.allclose(mine, want) else Flaw("is transposed", GradientFlaw.TRANSPOSED)
    if mine.isnan().any():
        return Flaw("has NaN", GradientFlaw.VALUE(name="nan"))
    if torch.allclose(mine, want):
        return ""
    return Flaw(f"is off by {float((mine - want).abs().max()):.3g}", GradientFlaw.VALUE(name=name))


def is_close(got: "Tensor", wanted: "Tensor") -> bool:
    return (got.shape, got.dtype) == (wanted.shape, wanted.dtype) and got.allclose(wanted)

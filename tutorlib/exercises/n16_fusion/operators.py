"""16.8 and 16.12: the gradients of a linear layer, and of one with GELU, made of GEMMs."""

from math import prod
from typing import TYPE_CHECKING, Any

from tutorlib.checking.drawn import Drawn
from tutorlib.checking.exercise import Answer
from tutorlib.checking.randomness import fresh_rng
from tutorlib.checking.values import Case, attempt, law
from tutorlib.failure import FailureKind, Flaw
from tutorlib.models.row_gemm import RowGemm
from tutorlib.problems.wrong import Wrong, count

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


def gradients(x: Shape, weight: Shape, biased: bool = False, scale: float = 1.0) -> Case:
    """A case that is right when all gradients are autograd's.

    biased: of GELU of the layer with a bias. scale: of x.
    """

    def holds(got: Any, grad: "Tensor", *given: Any) -> str | None:
        import torch

        *leaves, _ = given
        names = NAMES[: len(leaves)]
        if not (isinstance(got, tuple | list) and len(got) == len(leaves)):
            listed = f"{', '.join(names[:-1])} and {names[-1]}"
            number = NUMBERS[len(leaves)]
            return Flaw(f"it should return {number} tensors, the gradients of {listed}", GradientFlaw.NO_PAIR)
        for name, mine, want in zip(names, got, wanted(grad, *leaves), strict=True):
            if not isinstance(mine, torch.Tensor):
                return f"the gradient of {name} is not a tensor"
            if mine.shape != want.shape:
                shapes = f"has the shape {tuple(mine.shape)}, and {name} has {tuple(want.shape)}"
                return Flaw(f"the gradient of {name} {shapes}", GradientFlaw.SHAPE)
            if want.ndim > 1 and mine.mT.shape == want.shape and torch.allclose(mine.mT, want):
                return Flaw(f"the gradient of {name} is transposed", GradientFlaw.TRANSPOSED)
            if mine.isnan().any():
                return Flaw(f"the gradient of {name} has NaN", GradientFlaw.VALUE(name="nan"))
            if not torch.allclose(mine, want):
                off = f"the gradient of {name} is off by {float((mine - want).abs().max()):.3g}"
                return Flaw(off, GradientFlaw.VALUE(name=name))
        return None

    name = f"x {x}, weight {weight}{', large numbers' if scale > 1 else ''}"

    def drawn(seed: int) -> list[tuple]:
        grad, first, *others = draw(*shapes_of(x, weight, biased), seed=seed)
        return [(grad, scale * first, *others, RowGemm())]

    calls = Drawn(drawn, 0)

    def judge(answer: Answer) -> Wrong | None:  # makes the law here, which draws: the list of exercises needs no torch
        return law(name, calls, holds).judge(answer)

    return Case(name, judge, calls)


def counted(name: str, x: Shape, weight: Shape, biased: bool = False) -> Case:
    """A case that is right when gemm computes all products, each as large as the forward one.

    Once, gemm's results are scaled by a random factor, and the gradients must follow.
    """

    def judge(answer: Answer) -> Wrong | None:
        rng = fresh_rng()
        gemm, factor = RowGemm(), rng.uniform(0.3, 0.7)
        grad, *leaves = draw(*shapes_of(x, weight, biased), seed=rng.getrandbits(32))
        _, wrong = attempt(answer, (grad, *leaves, gemm))
        products = 3 if biased else 2
        if wrong is None and gemm.done != [prod(x[:-1]) * weight[0] * weight[1]] * products:
            times = count(len(gemm.done), "time")
            each = f"it should compute {NUMBERS[products]} products, each as large as the forward one"
            return Wrong(Flaw(f"gemm was called {times}; {each}.", GradientFlaw.GEMMS))
        scaled, again = attempt(answer, (grad, *leaves, lambda a, b: factor * gemm(a, b)))
        if wrong or again:
            return wrong or again
        if are_tensors(scaled) and all(map(is_close, scaled, wanted(grad, *leaves, factor=factor))):
            return None
        return Wrong(f"gemm was called {NUMBERS[products]} times, but the gradients are not its results.")

    return Case(name, judge)


def are_tensors(got: Any) -> bool:
    import torch

    return isinstance(got, tuple | list) and all(isinstance(one, torch.Tensor) for one in got)


def is_close(got: "Tensor", wanted: "Tensor") -> bool:
    return got.shape == wanted.shape and got.allclose(wanted)

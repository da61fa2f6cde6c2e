"""16.8: a linear layer's gradients, made of GEMMs."""

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


def draw(*shapes: Shape, seed: int = 0, dtype: str = "float64") -> "tuple[Tensor, ...]":
    import torch

    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(shape, generator=generator, dtype=getattr(torch, dtype)) for shape in shapes)


class GradientFlaw(FailureKind):
    """Errors of gradients, or of how they were computed."""

    NO_PAIR = "no two tensors"
    SHAPE = "shape of a gradient"
    TRANSPOSED = "transposed gradient"
    GEMMS = "number of GEMMs"


def gradients(x: Shape, weight: Shape) -> Case:
    """A case that is right when both gradients are autograd's, by two calls of gemm."""

    def holds(got: Any, grad: "Tensor", x: "Tensor", weight: "Tensor", gemm: Any) -> str | None:
        import torch

        leaves = [tensor.detach().requires_grad_() for tensor in (x, weight)]
        wanted = torch.autograd.grad(torch.nn.functional.linear(*leaves), leaves, grad)
        if not (isinstance(got, tuple | list) and len(got) == 2):
            return Flaw("it should return two tensors, the gradients of x and of weight", GradientFlaw.NO_PAIR)
        for name, mine, want in zip(("x", "weight"), got, wanted, strict=True):
            if not isinstance(mine, torch.Tensor):
                return f"the gradient of {name} is not a tensor"
            if mine.shape != want.shape:
                shapes = f"has the shape {tuple(mine.shape)}, and {name} has {tuple(want.shape)}"
                return Flaw(f"the gradient of {name} {shapes}", GradientFlaw.SHAPE)
            if mine.mT.shape == want.shape and torch.allclose(mine.mT, want):
                return Flaw(f"the gradient of {name} is transposed", GradientFlaw.TRANSPOSED)
            if not torch.allclose(mine, want):
                return f"the gradient of {name} is off by {float((mine - want).abs().max()):.3g}"
        return None

    name = f"x {x}, weight {weight}"

    calls = Drawn(lambda seed: [(*draw((*x[:-1], weight[0]), x, weight, seed=seed), RowGemm())], 0)

    def judge(answer: Answer) -> Wrong | None:  # makes the law here, which draws: the list of exercises needs no torch
        return law(name, calls, holds).judge(answer)

    return Case(name, judge, calls)


def counted(name: str, x: Shape, weight: Shape) -> Case:
    """A case that is right when gemm computes both products, each as large as the forward one.

    Once, gemm's results are scaled by a random factor, and the gradients must be, too.
    """

    def judge(answer: Answer) -> Wrong | None:
        rng = fresh_rng()
        gemm, factor = RowGemm(), float(rng.randint(3, 2**20))
        given = draw((*x[:-1], weight[0]), x, weight, seed=rng.getrandbits(32))
        got, wrong = attempt(answer, (*given, gemm))
        if wrong is None and gemm.done != [prod(x[:-1]) * weight[0] * weight[1]] * 2:
            times = count(len(gemm.done), "time")
            what = f"gemm was called {times}; it should compute two products, each as large as the forward one."
            return Wrong(Flaw(what, GradientFlaw.GEMMS))
        larger, again = attempt(answer, (*given, lambda a, b: factor * gemm(a, b)))
        if wrong or again:
            return wrong or again
        if are_tensors(got) and are_tensors(larger) and all(map(is_close, larger, (factor * one for one in got))):
            return None
        return Wrong("gemm was called twice, but the gradients are not its results.")

    return Case(name, judge)


def are_tensors(got: Any) -> bool:
    import torch

    return isinstance(got, tuple | list) and all(isinstance(one, torch.Tensor) for one in got)


def is_close(got: "Tensor", wanted: "Tensor") -> bool:
    return got.shape == wanted.shape and got.allclose(wanted)

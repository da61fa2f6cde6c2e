"""Exercises of notebook 19: layers of torch on the course's kernels."""

from functools import partial
from pkgutil import resolve_name
from random import Random
from typing import TYPE_CHECKING, Any

from tutorlib.checking.library_use import of_course
from tutorlib.checking.scenario import Record, as_the_course, recorded
from tutorlib.checking.values import Case
from tutorlib.exercises.judges import p19 as judge
from tutorlib.exercises.values import case_exercise
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from torch import Tensor

KERNELS, LAYER = "tutorlib.kernels", "layers"


def by_autograd(grad: "Tensor", *leaves_and_gemm: Any) -> "tuple[Tensor, ...]":
    """The gradients of a linear layer; gemm's factor is on all products."""
    import torch

    *leaves, gemm = leaves_and_gemm
    x, weight = (one.detach().requires_grad_() for one in leaves)
    gemm.done += [x.numel() * len(weight)] * 2
    return torch.autograd.grad(gemm.factor * (x @ weight.mT), (x, weight), grad)


def differentiates(x: Shape, weight: Shape) -> Case:
    def draw(rng: Random) -> tuple:
        return rng.uniform(0.3, 0.7), *judge.draw_tensors(rng, (*x[:-1], weight[0]), x, weight)

    return as_the_course(f"x {x}, weight {weight}", judge.gradients, draw, lambda: by_autograd)


def swaps(name: str) -> Case:
    def draw(rng: Random) -> tuple:
        return name, rng.getrandbits(32), rng.uniform(0.5, 2.0)

    return as_the_course(name, judge.swapped_model, draw, partial(resolve_name, f"{KERNELS}.{LAYER}:use_kernels"))


def registers(caller: str) -> Case:
    """caller: of the operator."""

    def draw(rng: Random) -> tuple:
        *rows, k, n = (rng.randint(2, 9) for _ in range(rng.randint(3, 4)))
        *given, grad = judge.draw_tensors(rng, (*rows, k), (n, k), (n,), (*rows, n))
        return caller, rng.uniform(0.5, 2.0), rng.uniform(2.0, 3.0), given, grad

    def expected(caller: str, factor: float, scale: float, given: "list[Tensor]", grad: "Tensor") -> Record:
        result = judge.forward_of(factor, *given)
        names = ("gradient of x", "gradient of weight", "gradient of bias")
        record: dict[str, Record] = {
            "eager mode": {"result": result},
            "tensors without data": {"shape": tuple(result.shape), "calls of forward": 0},
            "backward()": dict(zip(names, judge.backward_of(scale, grad, *given[:2]), strict=True)),
            "autocast": {"dtype of the result": "torch.bfloat16", "rule for CUDA devices": "one"},
        }
        return {"error": ""} | record[caller]

    return recorded(caller, judge.registered, draw, expected)


def rounds(dtype: str) -> Case:
    """The gate's gradient in this dtype has the error of one rounding."""

    def draw(rng: Random) -> tuple:
        import torch

        return tuple(one.to(getattr(torch, dtype)) for one in judge.draw_tensors(rng, (64, 32), (64, 64)))

    return recorded(dtype, judge.rounded_gate, draw, lambda *given: {"result": dtype, "error": "of one rounding"})


def gradient_of_gate(grad: "Tensor", both: "Tensor") -> "Tensor":
    import torch

    leaf = both.detach().requires_grad_()
    gate, up = leaf.unflatten(-1, (-1, 2, judge.PIECE)).unbind(-2)
    return torch.autograd.grad((torch.nn.functional.silu(gate) * up).flatten(-2), leaf, grad)[0]


def gates(*rows: int) -> Case:
    """rows: the leading modes."""

    def draw(rng: Random) -> tuple:
        features = judge.PIECE * rng.randint(2, 6)
        return tuple(judge.draw_tensors(rng, (*rows, features), (*rows, 2 * features)))

    return as_the_course(f"rows {rows}", judge.gradient_of_gate, draw, lambda: gradient_of_gate)


EXERCISES = (
    case_exercise(
        ("19.1", "linear_backward", 3),
        differentiates((6, 4), (3, 4)),
        differentiates((2, 5, 8), (8, 8)),
        differentiates((2, 3, 4, 5), (7, 5)),
        differentiates((2, 5, 8), (4, 8)),
    ),
    case_exercise(("19.4", "use_kernels", 3), *map(swaps, judge.MODELS), library=of_course(LAYER, "use_kernels")),
    case_exercise(("19.3", "register", 4), *map(registers, judge.CALLERS)),
    case_exercise(
        ("19.2", "gate_gradient", 3),
        gates(6),
        gates(2, 3),
        rounds("bfloat16"),
        rounds("float64"),
        library=of_course(LAYER, "gate_gradient", "before_gate"),
    ),
)

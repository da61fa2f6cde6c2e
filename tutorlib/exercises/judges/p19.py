"""How answers of page 19 are judged: kernels around an epilogue's functions, and scenarios around layers of torch."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any
from unittest import mock

from tutorlib.checking.answer import Served
from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.scenario import Record, raised
from tutorlib.failure import FailureKind, Flaw
from tutorlib.models.hopper_gemm import RowGemm
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from torch import Tensor, nn


class LayerFlaw(FailureKind):
    """An answer that returns nothing that could be tried."""

    NO_OPERATOR = "no operator"
    RETURNS = "returns something else"


def gradients(answer: Served, factor: float, *tensors: "Tensor") -> Record:
    """19.1: the gradients that an answer makes by a gemm with this factor, and M·N·K of each product.

    tensors: the result's gradient, x and weight. The answer gets the first two with columns contiguous.
    """
    import torch

    gemm = RowGemm(factor)
    turned = [one.movedim(-1, 0).contiguous().movedim(0, -1) for one in tensors[:2]]
    got = answer(*turned, *tensors[2:], gemm)
    if not isinstance(got, tuple | list) or [isinstance(one, torch.Tensor) for one in got] != [True] * 2:
        return {"the result": repr(got)[:200]}
    parts = dict(zip(("the gradient of x", "the gradient of weight"), got, strict=True))
    return {"the result": "a tuple of 2 tensors", "M·N·K of its products": gemm.done, **parts}


ROUNDED = {"bfloat16": 0.0024, "float64": 1e-12}  # relative error: of a computation in bf16 it is 1.25 times as large


def rounded(got: Any, exact: "Tensor", dtype: str) -> Record:
    import torch

    if not isinstance(got, torch.Tensor) or got.shape != exact.shape:
        return {"result": repr(got)[:200]}
    off = float((got.double() - exact).norm() / exact.norm())
    error = "of one rounding" if off < ROUNDED[dtype] else f"{off:.2g} of the gradient"
    return {"result": str(got.dtype).removeprefix("torch."), "error": error}


def gradient_of_gate(answer: Served, grad: "Tensor", both: "Tensor") -> Record:
    """19.2"""
    return {"result": answer(grad, both), "result for 2 · grad": answer(2 * grad, both)}


def rounded_gate(answer: Served, grad: "Tensor", both: "Tensor") -> Record:
    """19.2: its error in a dtype."""
    from tutorlib.kernels.layers import gate_gradient

    dtype = str(grad.dtype).removeprefix("torch.")
    return rounded(answer(grad, both), gate_gradient(grad.double(), both.double()), dtype)


WIDTH = 16  # of what goes into a model
MODELS = "one layer", "layers in layers", "one layer twice", "a subclass, which stays"


def model(name: str) -> "nn.Module":
    """The model of this name, with random parameters, for inputs of WIDTH."""
    from torch import nn

    def layer(kind: Any = nn.Linear, **options: Any) -> nn.Linear:
        return kind(WIDTH, WIDTH, **options)

    twice, subclass = layer(), layer(nn.modules.linear.NonDynamicallyQuantizableLinear)
    deep = nn.Sequential(nn.LayerNorm(WIDTH), nn.Sequential(nn.Sequential(layer()), layer()))
    shared = nn.Sequential(twice, nn.GELU(), layer(bias=False), twice)
    made = layer(), nn.Sequential(layer(), deep), nn.Sequential(shared), nn.Sequential(nn.Sequential(subclass, layer()))
    return dict(zip(MODELS, made, strict=True))[name]


@contextmanager
def products_times(factor: float) -> Iterator[None]:
    """Kernels on the CPU compute with this factor meanwhile, which shows the layers that run on them."""
    from tutorlib.kernels import layers

    def multiply(a: "Tensor", b: "Tensor", bias: "Tensor | None" = None) -> "Tensor":
        return factor * (a @ b.mT) + (0 if bias is None else bias)

    with mock.patch.object(layers, "multiply", multiply):
        yield


def class_of(module: "nn.Module") -> str:
    """Its class by name; "another …" if its module has no such class."""
    import sys

    kind = type(module)
    found = vars(sys.modules.get(kind.__module__, object)).get(kind.__name__)
    return kind.__name__ if found is kind else f"another {kind.__name__}"


def swapped_model(answer: Served, name: str, seed: int, factor: float) -> Record:
    """19.4: a model whose linear layers the answer has changed. seed: of its parameters.

    Of each module its class, and whether it is the object that it was; the names of its parameters; a result.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = model(name)
    before, parameters = dict(made.named_modules(remove_duplicate=False)), dict(made.named_parameters())
    got = answer(made)
    if got is not made:
        what = f"it returns {type(got).__name__}; it should return the module itself, changed."
        raise WrongKind(Flaw(what, LayerFlaw.RETURNS))
    modules = dict(made.named_modules(remove_duplicate=False))
    x = torch.linspace(-1.0, 1.0, 3 * WIDTH, dtype=next(made.parameters()).dtype).view(3, WIDTH)
    with products_times(factor):
        result = made(x).detach()
    return {
        "class": {path: class_of(one) for path, one in modules.items()},
        "object": {path: "the same" if before.get(path) is one else "another" for path, one in modules.items()},
        "parameter": {path: same is parameters.get(path) for path, same in made.named_parameters()},
        "result": result,
    }


OPERATORS = count()  # each has a name of its own


def forward_of(factor: float, x: "Tensor", weight: "Tensor", bias: "Tensor") -> "Tensor":
    import torch

    with torch.autocast("cpu", enabled=False):
        return factor * (x @ weight.mT + bias)


def backward_of(scale: float, grad: "Tensor", x: "Tensor", weight: "Tensor") -> "tuple[Tensor, ...]":
    """No derivative of `forward_of`: so gradients show that it was called."""
    rows = grad.flatten(0, -2)
    return scale * (grad @ weight), scale * (rows.mT @ x.flatten(0, -2)), scale * rows.sum(0)


def registered(
    answer: Served, caller: str, factor: float, scale: float, given: "list[Tensor]", grad: "Tensor"
) -> Record:
    """19.3: what one of CALLERS gets of the operator that an answer registers, or the error."""
    import torch
    from torch import Tensor

    called: list[int] = []

    def forward(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        called.append(1)
        return forward_of(factor, x.detach(), weight.detach(), bias.detach())

    def fake(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return x.new_empty(*x.shape[:-1], weight.shape[0])

    def backward(grad: Tensor, x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
        return backward_of(scale, grad, x, weight)

    name = f"judge16::linear{next(OPERATORS)}"
    operator = answer(name, forward, fake, backward)
    overload = getattr(operator, "_opoverload", operator)  # of a CustomOpDef
    if isinstance(overload, torch._ops.OpOverloadPacket):
        overload = overload.default
    if not isinstance(overload, torch._ops.OpOverload) or overload._schema.name != name:
        what = f"it should make the operator {name} and return it; it returns {operator!r}."
        raise WrongKind(Flaw(what, LayerFlaw.NO_OPERATOR))
    try:
        record = CALLERS[caller](operator, given, grad)
    except Exception as error:
        return {"error": Flaw(f"{caller}: ") + raised("the operator", error) + "."}
    for_cuda = torch._C._dispatch_has_kernel_for_dispatch_key(name, "AutocastCUDA")
    return {"error": "", **record, "calls of forward": len(called), "rule for CUDA devices": "one" if for_cuda else ""}


def eager(operator: Any, given: "list[Tensor]", grad: "Tensor") -> Record:
    return {"result": operator(*given).detach()}


def faked(operator: Any, given: "list[Tensor]", grad: "Tensor") -> Record:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        result = operator(*map(mode.from_tensor, given))
    return {"shape": tuple(result.shape)}


def differentiated(operator: Any, given: "list[Tensor]", grad: "Tensor") -> Record:
    import torch

    leaves = [one.clone().requires_grad_() for one in given]
    made = torch.autograd.grad(operator(*leaves), leaves, grad)
    return {f"gradient of {name}": one for name, one in zip(("x", "weight", "bias"), made, strict=True)}


def cast(operator: Any, given: "list[Tensor]", grad: "Tensor") -> Record:
    import torch

    with torch.autocast("cpu", torch.bfloat16):
        return {"dtype of the result": str(operator(*(one.float() for one in given)).dtype)}


CALLERS = {"eager mode": eager, "tensors without data": faked, "backward()": differentiated, "autocast": cast}
PIECE = 8  # elements of gate and of up in turn, as the operator has them


def draw_tensors(rng: Random, *shapes: Shape) -> "list[Tensor]":
    import torch

    generator = torch.Generator().manual_seed(rng.getrandbits(32))
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]

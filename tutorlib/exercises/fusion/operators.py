"""16.8 to 16.10: a linear layer's gradients, its fake, and modules that have it."""

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

from tutorlib.checking.chance import fresh_dice
from tutorlib.checking.exercise import Answer
from tutorlib.checking.values import Case, Drawn, attempt, law
from tutorlib.models.row_gemm import RowGemm
from tutorlib.problems.wrong import Wrong, count

if TYPE_CHECKING:
    from torch import Tensor, nn

Shape = tuple[int, ...]


def draw(*shapes: Shape, seed: int = 0, dtype: str = "float64") -> "tuple[Tensor, ...]":
    import torch

    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(shape, generator=generator, dtype=getattr(torch, dtype)) for shape in shapes)


# 16.8 linear_backward -------------------------------------------------------------------------------------------


def gradients(x: Shape, weight: Shape) -> Case:
    """A case that is right when both gradients are autograd's, by two calls of gemm."""

    def holds(got: Any, grad: "Tensor", x: "Tensor", weight: "Tensor", gemm: Any) -> str | None:
        import torch

        leaves = [tensor.detach().requires_grad_() for tensor in (x, weight)]
        wanted = torch.autograd.grad(torch.nn.functional.linear(*leaves), leaves, grad)
        if not (isinstance(got, tuple | list) and len(got) == 2):
            return "two tensors are wanted, the gradients of x and of weight"
        for name, mine, want in zip(("x", "weight"), got, wanted, strict=True):
            if not isinstance(mine, torch.Tensor):
                return f"the gradient of {name} is no tensor"
            if mine.shape != want.shape:
                return f"the gradient of {name} has the shape {tuple(mine.shape)}, and {name} has {tuple(want.shape)}"
            if mine.mT.shape == want.shape and torch.allclose(mine.mT, want):
                return f"the gradient of {name} is transposed"
            if not torch.allclose(mine, want):
                return f"the gradient of {name} is off by {float((mine - want).abs().max()):.3g}"
        return None

    name = f"x {x}, weight {weight}"

    def judge(answer: Answer) -> Wrong | None:  # draws here: whoever only looks at the exercises needs no torch
        def calls(seed: int) -> list[tuple]:
            return [(*draw((*x[:-1], weight[0]), x, weight, seed=seed), RowGemm())]

        return law(name, Drawn(calls, 0), holds).judge(answer)

    return Case(name, judge)


def counted(name: str, x: Shape, weight: Shape) -> Case:
    """A case that is right when it is gemm that multiplies: twice, with as much to do as forward.

    What gemm gives is made larger by a factor that nobody foresees, and what is returned must be, too.
    """

    def judge(answer: Answer) -> Wrong | None:
        gemm, factor = RowGemm(), float(fresh_dice().randint(3, 2**20))
        given = draw((*x[:-1], weight[0]), x, weight)
        got, wrong = attempt(answer, (*given, gemm))
        if wrong is None and gemm.done != [prod(x[:-1]) * weight[0] * weight[1]] * 2:
            times = count(len(gemm.done), "time")
            return Wrong(f"gemm was called {times}; two GEMMs as large as the forward one are all there is to do.")
        larger, again = attempt(answer, (*given, lambda a, b: factor * gemm(a, b)))
        if wrong or again:
            return wrong or again
        if are_tensors(got) and are_tensors(larger) and all(map(is_close, larger, (factor * one for one in got))):
            return None
        return Wrong("gemm was called twice, but what is returned is not what it gave.")

    return Case(name, judge)


def are_tensors(got: Any) -> bool:
    import torch

    return isinstance(got, tuple | list) and all(isinstance(one, torch.Tensor) for one in got)


def is_close(got: "Tensor", wanted: "Tensor") -> bool:
    return got.shape == wanted.shape and got.allclose(wanted)


# 16.9 linear_fake -----------------------------------------------------------------------------------------------


def faked(name: str, x: Shape, weight: Shape, dtype: str = "float32", device: str = "cpu") -> Case:
    """A case that is right when the answer says what the result is like, from tensors that have no data."""

    def judge(answer: Answer) -> Wrong | None:
        import torch
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode() as mode:
            fakes = [torch.empty(shape, dtype=getattr(torch, dtype), device=device) for shape in (x, weight)]
            got, wrong = attempt(answer, tuple(fakes))
            if wrong is not None:
                return wrong
            what = f"x {x} and weight {weight}, {dtype} on {device}: "
            if not isinstance(got, torch.Tensor):
                return Wrong(f"{what}it gives {got!r}, and no tensor.")
            if getattr(got, "fake_mode", None) is not mode:
                return Wrong(f"{what}it gives a tensor with data. Where nothing is computed, nothing is to be stored.")
            like = (tuple(got.shape), got.dtype, got.device)
            want = ((*x[:-1], weight[0]), fakes[0].dtype, fakes[0].device)
            if like != want:
                return Wrong(f"{what}it gives {show_like(*like)}; the result is {show_like(*want)}.")
            if not got.is_contiguous():
                return Wrong(f"{what}it gives strides {got.stride()}; the operator's result is contiguous.")
            if any(got is fake or got._base is fake for fake in fakes):
                return Wrong(f"{what}it gives one of its inputs back; the result is a tensor of its own.")
        return None

    return Case(name, judge)


def show_like(shape: Shape, dtype: Any, device: Any) -> str:
    return f"{shape}, {str(dtype).removeprefix('torch.')} on {device}"


def symbolic(name: str) -> Case:
    """A case that is right when sizes may be unknown: torch.compile asks with symbols for numbers."""

    def judge(answer: Answer) -> Wrong | None:
        import torch
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        env = ShapeEnv()
        mode = FakeTensorMode(shape_env=env)
        x, weight = (mode.from_tensor(torch.empty(shape), static_shapes=False) for shape in ((5, 7, 11), (13, 11)))
        with mode:
            got, wrong = attempt(answer, (x, weight))
        if wrong is not None:
            return wrong
        if env.guards:
            return Wrong(f"it asks for a size's value ({env.guards[0].expr}); torch.compile then compiles for each.")
        if not isinstance(got, torch.Tensor):
            return Wrong(f"it gives {got!r}, and no tensor.")
        if tuple(got.shape) != (*x.shape[:-1], weight.shape[0]):
            return Wrong(f"of x {tuple(x.shape)} and weight {tuple(weight.shape)} it makes {tuple(got.shape)}.")
        return None

    return Case(name, judge)


# 16.10 use_kernels ----------------------------------------------------------------------------------------------


def models() -> "dict[str, Callable[[], nn.Module]]":
    from torch import nn

    from tutorlib.kernels.fused.mlp import LlamaMLP

    return {
        "an MLP": lambda: LlamaMLP(16, 48),
        "layers in layers": lambda: nn.Sequential(
            nn.LayerNorm(16), nn.ModuleList([nn.Sequential(nn.Linear(16, 8))])[0]
        ),
        "a bias": lambda: nn.Sequential(nn.Linear(16, 24), nn.GELU(), nn.Linear(24, 16, bias=False)),
        "another dtype": lambda: LlamaMLP(16, 32).double(),
        "frozen, in eval": lambda: LlamaMLP(16, 32).requires_grad_(False).eval(),
        "a subclass, which stays": lambda: nn.Sequential(nn.modules.linear.NonDynamicallyQuantizableLinear(16, 16)),
    }


def swapped(name: str, compiled: bool = False) -> Case:
    """A case that is right when only the nn.Linear have changed, and nothing that they hold.

    compiled: torch.compile is to find no graph break either.
    """

    def judge(answer: Answer) -> Wrong | None:
        import torch
        from torch import nn

        from tutorlib.kernels.fused.linear import KernelLinear

        torch.manual_seed(0)
        model = models()[name]()
        kinds = {path: type(module) for path, module in model.named_modules()}
        held = dict(model.named_parameters())
        modes = {path: module.training for path, module in model.named_modules()}
        x = torch.randn(3, 16, dtype=next(iter(held.values())).dtype)
        expected = model(x)
        got, wrong = attempt(answer, (model,))
        if wrong is not None:
            return wrong
        if got is not model:
            return Wrong(f"it returns {type(got).__name__}; the module itself is wanted, changed.")
        for path, module in model.named_modules():
            want = KernelLinear if kinds.get(path) is nn.Linear else kinds.get(path)
            if type(module) is not want:
                return Wrong(f"{path or 'the module'} is a {type(module).__name__}, not a {want and want.__name__}.")
            if module.training is not modes[path]:
                return Wrong(f"{path} was in {'training' if modes[path] else 'eval'} mode, and is no more.")
        now = dict(model.named_parameters())
        if now.keys() != held.keys():
            return Wrong(f"its parameters were {', '.join(held)} and are {', '.join(now)}.")
        for path, parameter in held.items():
            if now[path] is not parameter:
                return Wrong(f"{path} is another tensor now: an optimiser that has the old one trains nothing.")
        if not torch.allclose(model(x), expected, rtol=1e-4, atol=1e-5):
            return Wrong("its result has changed.")
        if compiled and (breaks := torch._dynamo.explain(model)(x).graph_break_count):
            return Wrong(f"torch.compile breaks its graph {breaks} times.")
        return None

    return Case(name, judge)

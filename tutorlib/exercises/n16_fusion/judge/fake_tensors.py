"""Describes the tensor that an answer makes from tensors without data. Runs in the answer's process."""

from dataclasses import dataclass
from random import Random
from typing import Any

from tutorlib.checking.served import Served
from tutorlib.problems.problem import Shape

Told = dict[str, Any]


@dataclass(frozen=True)
class Given:
    """Two tensors without data: x (…, in) and weight (out, in)."""

    x: Shape
    weight: Shape
    dtype: str = "float32"
    device: str = "cpu"

    def drawn_anew(self, rng: Random) -> "Given":
        """Other sizes, equal where these are equal; and perhaps another dtype, unless it is fp32."""
        known = sorted({*self.x, *self.weight})
        size = dict(zip(known, rng.sample(range(2, 400), len(known)), strict=True))
        dtype = self.dtype if self.dtype == "float32" else rng.choice(("float16", "bfloat16", "float64"))
        x, weight = (tuple(size[n] for n in shape) for shape in (self.x, self.weight))
        return Given(x, weight, dtype, self.device)


def told_of_fake(answer: Served, given: Given) -> Told:
    """The answer's tensor for two tensors without data. Raises what the answer raises."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        dtype = getattr(torch, given.dtype)
        fakes = [torch.empty(shape, dtype=dtype, device=given.device) for shape in (given.x, given.weight)]
        got, computing = watched(answer, *fakes)
        if not isinstance(got, torch.Tensor):
            return {"value": repr(got)[:200]}
        return {
            "shape": [*map(int, got.shape)],
            "dtype": str(got.dtype).removeprefix("torch."),
            "device": str(got.device),
            "strides": [*map(int, got.stride())],
            "computing": computing,
            "data": getattr(got, "fake_mode", None) is not mode,
            "input": any(got is fake or got._base is fake for fake in fakes),
        }


def watched(answer: Served, *fakes: Any) -> tuple[Any, str]:
    """The answer's result, and the first of its operators that computes, "" if none does."""
    from torch.utils._python_dispatch import TorchDispatchMode

    computing: list[str] = []

    class Recorded(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            makes = func.overloadpacket.__name__.removeprefix("new_").startswith(("empty", "zeros", "ones", "full"))
            if not (makes or func.is_view or func.namespace == "prim"):
                computing.append(str(func.overloadpacket))
            return func(*args, **(kwargs or {}))

    with Recorded():
        return answer(*fakes), next(iter(computing), "")


def told_of_symbols(answer: Served, x: Shape, weight: Shape) -> Told:
    """The answer's tensor for tensors whose sizes are symbols. Raises what the answer raises."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    fakes = [mode.from_tensor(torch.empty(shape), static_shapes=False) for shape in (x, weight)]
    with mode:
        got, computing = watched(answer, *fakes)
    asked = str(env.guards[0].expr) if env.guards else ""
    told: Told = {"asked": asked, "computing": computing, "given": [*map(size_texts, fakes)]}
    return told | ({"shape": size_texts(got)} if isinstance(got, torch.Tensor) else {"value": repr(got)[:200]})


def size_texts(tensor: Any) -> list[str]:
    return [str(size) for size in tensor.shape]

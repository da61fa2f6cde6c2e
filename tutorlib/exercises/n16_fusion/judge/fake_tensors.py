"""Describes the tensor that an answer makes of tensors without data. Runs where the answer is."""

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
        """With other sizes, of which those are equal that were, and where it is no fp32 maybe another dtype."""
        known = sorted({*self.x, *self.weight})
        size = dict(zip(known, rng.sample(range(2, 400), len(known)), strict=True))
        dtype = self.dtype if self.dtype == "float32" else rng.choice(("float16", "bfloat16", "float64"))
        x, weight = (tuple(size[n] for n in shape) for shape in (self.x, self.weight))
        return Given(x, weight, dtype, self.device)


def told_of_fake(answer: Served, given: Given) -> Told:
    """What the answer makes of tensors that have no data. Raises what the answer raises."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        dtype = getattr(torch, given.dtype)
        fakes = [torch.empty(shape, dtype=dtype, device=given.device) for shape in (given.x, given.weight)]
        got = answer(*fakes)
        if not isinstance(got, torch.Tensor):
            return {"value": repr(got)[:200]}
        return {
            "shape": [*map(int, got.shape)],
            "dtype": str(got.dtype).removeprefix("torch."),
            "device": str(got.device),
            "strides": [*map(int, got.stride())],
            "data": getattr(got, "fake_mode", None) is not mode,
            "input": any(got is fake or got._base is fake for fake in fakes),
        }


def told_of_symbols(answer: Served, x: Shape, weight: Shape) -> Told:
    """What the answer makes of tensors whose sizes are symbols. Raises what the answer raises."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    fakes = [mode.from_tensor(torch.empty(shape), static_shapes=False) for shape in (x, weight)]
    with mode:
        got = answer(*fakes)
    told: Told = {"asked": str(env.guards[0].expr) if env.guards else "", "given": [*map(size_texts, fakes)]}
    return told | ({"shape": size_texts(got)} if isinstance(got, torch.Tensor) else {"value": repr(got)[:200]})


def size_texts(tensor: Any) -> list[str]:
    return [str(size) for size in tensor.shape]

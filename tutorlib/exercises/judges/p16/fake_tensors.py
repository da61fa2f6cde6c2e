"""16.9: a record says what the answer makes of tensors without data."""

from random import Random
from typing import Any

from tutorlib.checking.records import Record, as_the_course
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case
from tutorlib.problems.problem import Shape


def fake_result(answer: Served, x: Shape, weight: Shape, dtype: str, device: str, symbols: bool) -> Record:
    """Runs where the answer is. The tensor that it makes for two tensors without data. symbols: whether sizes are such.

    operator: its first one that computes; question: the first comparison of a size.
    """
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv
    from torch.utils._python_dispatch import TorchDispatchMode

    computing: list[str] = []

    class Recorded(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            makes = func.overloadpacket.__name__.removeprefix("new_").startswith(("empty", "zeros", "ones", "full"))
            if not (makes or func.is_view or func.namespace == "prim"):
                computing.append(str(func.overloadpacket))
            return func(*args, **(kwargs or {}))

    env = ShapeEnv() if symbols else None
    mode = FakeTensorMode(shape_env=env)
    fakes: list[torch.Tensor] = []
    if symbols:
        fakes += [mode.from_tensor(torch.empty(shape), static_shapes=False) for shape in (x, weight)]
    with mode:
        if not symbols:
            fakes = [torch.empty(shape, dtype=getattr(torch, dtype), device=device) for shape in (x, weight)]
        with Recorded():
            got = answer(*fakes)
    if not isinstance(got, torch.Tensor):
        return {"result": repr(got)[:200]}
    return {
        "result": "a tensor",
        "data": "" if getattr(got, "fake_mode", None) is mode else "its own",
        "operator that computes": next(iter(computing), ""),
        "question about a size": str(env.guards[0].expr) if env and env.guards else "",
        "shape": [*map(str, got.shape)],
        "dtype and device": f"{str(got.dtype).removeprefix('torch.')} on {got.device}",
        "strides": [*map(str, got.stride())],
        "memory": "an input's" if any(got is fake or got._base is fake for fake in fakes) else "its own",
    }


def faked(name: str, rank: int, dtype: str = "float32", device: str = "cpu", symbols: bool = False) -> Case:
    """A case that is right when the answer makes a tensor like the result from tensors without data. rank: of x."""

    def draw(rng: Random) -> tuple:
        out, *x = rng.sample(range(3, 40), rank + 1)
        return tuple(x), (out, x[-1]), dtype, device, symbols

    return as_the_course(name, fake_result, draw, linear_fake)


def linear_fake() -> Any:
    from tutorlib.kernels.layers import linear_fake

    return linear_fake


FAKED = (
    faked("a matrix", 2),
    faked("a batch of them, bf16", 4, "bfloat16"),
    faked("on another device", 2, device="meta"),
    faked("sizes that are unknown", 3, symbols=True),
)

"""16.9: the shape, dtype and device of a linear layer's result, without its data.

A record says what the answer makes of tensors without data, and is compared with that of the course's own fake.
"""

from random import Random
from typing import Any

from tutorlib.checking.scenario import judged_by_record
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.problem import Shape


class FakeFlaw(FailureKind):
    """Errors of a fake."""

    NO_TENSOR = "no tensor"
    SHAPE = "not like the result"
    STRIDES = "strides"
    ASKS = "asks for a size"
    COMPUTES = "computes"


def fake_result(answer: Served, x: Shape, weight: Shape, dtype: str, device: str, symbols: bool) -> dict[str, Any]:
    """Runs where the answer is. The tensor that it makes for two tensors without data. symbols: whether sizes are such.

    computing: its first operator that computes; asked: the first comparison of a size; new: whether it is no input.
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
        return {"value": repr(got)[:200]}
    return {
        "shape": [*map(str, got.shape)],
        "like": f"{str(got.dtype).removeprefix('torch.')} on {got.device}",
        "strides": [*map(str, got.stride())],
        "computing": next(iter(computing), ""),
        "asked": str(env.guards[0].expr) if env and env.guards else "",
        "data": getattr(got, "fake_mode", None) is not mode,
        "new": not any(got is fake or got._base is fake for fake in fakes),
    }


def faked(name: str, rank: int, dtype: str = "float32", device: str = "cpu", symbols: bool = False) -> Case:
    """A case that is right when the answer makes a tensor like the result from tensors without data. rank: of x."""

    def draw(rng: Random) -> tuple:
        out, *x = rng.sample(range(3, 40), rank + 1)
        return tuple(x), (out, x[-1]), dtype, device, symbols

    return judged_by_record(name, fake_result, draw, unlike)


def unlike(got: dict[str, Any], *given: Any) -> str:
    """How a fake differs from the course's, or ""."""
    from tutorlib.kernels.fused.linear import linear_fake

    want = fake_result(Served(linear_fake), *given)
    if "value" in got:
        return Flaw(f"it returns {got['value']}, which is no tensor.", FakeFlaw.NO_TENSOR)
    if got["data"]:
        return "it returns a tensor with data. A fake's inputs have none, and neither has its result."
    if got["computing"]:
        return Flaw(f"it computes, by {got['computing']}. A fake only describes the result.", FakeFlaw.COMPUTES)
    if got["asked"]:
        what = f"it asks for a size's value ({got['asked']}), so torch.compile recompiles for each size."
        return Flaw(what, FakeFlaw.ASKS)
    if (got["shape"], got["like"]) != (want["shape"], want["like"]):
        shown = [f"({', '.join(one['shape'])}), {one['like']}" for one in (got, want)]
        return Flaw(
            f"of x {given[0]} and weight {given[1]} it returns {shown[0]}; the result is {shown[1]}.", FakeFlaw.SHAPE
        )
    if got["strides"] != want["strides"]:
        what = f"its strides are ({', '.join(got['strides'])}); the operator's result is contiguous."
        return Flaw(what, FakeFlaw.STRIDES)
    return "" if got["new"] else Flaw("it returns one of its inputs, or a view of it.", FakeFlaw.SHAPE)


FAKED = (
    faked("a matrix", 2),
    faked("a batch of them, bf16", 4, "bfloat16"),
    faked("on another device", 2, device="meta"),
    faked("sizes that are unknown", 3, symbols=True),
)

"""Records the launches of host code as plain data; nothing runs, and the tensors hold no data.

Another process can carry it out, on memory of its own.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import cuda.tile as ct
import torch

from tutorlib.compiling.cutile import exported
from tutorlib.compiling.spec import TensorSpec
from tutorlib.dsl.cutile.kernels import opt_level
from tutorlib.simulate.cutile.launching import SMS, launches_to
from tutorlib.simulate.cutile.signature import Parameter, array_constraint, constraint, parameters

ALIGNED = 16  # bytes of which a tensor's address is a multiple, as those that torch makes


def recorded_launches(
    host: Callable[..., None], tensors: Sequence[torch.Tensor], arch: str, sms: int = SMS
) -> dict[str, Any]:
    """Call a host function with these tensors, whose values do not matter.

    launches: of each the kernel's Tile IR for an architecture, the grid and the arguments. A tensor among them is
    ("tensor", which memory, first byte, dtype, shape, strides), a number ("number", it) or, where it is a constant in
    the code, ("constant", it). memories: what each holds that is none of the tensors', which come first, or None.
    Raises CompileFailed, and what the host function and ct.launch raise.
    """
    kept: list[torch.UntypedStorage] = [tensor.untyped_storage() for tensor in tensors]
    memories: list[bytes | None] = [None] * len(kept)
    launches: list[dict[str, Any]] = []

    def told(parameter: Parameter, arg: Any) -> tuple[Any, ...]:
        if not isinstance(arg, torch.Tensor):
            return ("constant" if parameter.constant else "number", arg)
        storage = arg.untyped_storage()
        start = storage.data_ptr()
        if all(one.data_ptr() != start for one in kept):
            kept.append(storage)
            memories.append(ctypes.string_at(start, storage.nbytes()))
        which = next(n for n, one in enumerate(kept) if one.data_ptr() == start)
        dtype = str(arg.dtype).removeprefix("torch.")
        return "tensor", which, arg.data_ptr() - start, dtype, tuple(arg.shape), tuple(arg.stride())

    def take(kernel: ct.kernel, grid: tuple[int, ...], args: tuple[Any, ...], current: bool) -> None:
        named = parameters(kernel)
        types = [typed(parameter, arg) for parameter, arg in zip(named, args, strict=True)]
        launches.append(
            {
                "tile_ir": exported(kernel, types, arch, "tileir_bytecode"),
                "opt_level": opt_level(kernel, arch),
                "grid": tuple(grid),
                "args": [told(parameter, arg) for parameter, arg in zip(named, args, strict=True)],
            }
        )

    with launches_to(take, sms):
        host(*tensors)
    return {"launches": launches, "memories": memories}


def typed(parameter: Parameter, arg: Any) -> Any:
    """The argument's type for the compiler: what ct.launch would find."""
    if isinstance(arg, torch.Tensor):
        plain = arg.is_contiguous() and arg.data_ptr() % ALIGNED == 0
        return TensorSpec.like(arg).constraint() if plain else array_constraint(parameter.array, arg)
    return constraint(parameter, arg)

"""Parameters: how cuTile types a kernel's arguments, and its compiler's word on the kernel for them."""

import inspect
import typing
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import cuda.tile as ct
from cuda.tile.compilation import (
    ArrayConstraint,
    CallingConvention,
    ConstantConstraint,
    KernelSignature,
    ListConstraint,
    ScalarConstraint,
    TupleConstraint,
    export_kernel,
)
from torch import Tensor

from tutorlib.dsl.failure import Fail, Flaw
from tutorlib.dsl.functions import function_of
from tutorlib.simulate.cutile.dtypes import FROM_TORCH


class Parameter(typing.NamedTuple):
    """name, and what its annotation says: constant (ct.Constant) or not, index and scalar dtypes.

    items: the annotations of a tuple's elements, () where it has none of its own for them.
    """

    name: str
    constant: bool
    array: ct.ArrayAnnotation
    integer: ct.DType
    items: tuple[Any, ...] = ()

    def item(self, n: int) -> "Parameter":
        """The n-th element of a list or a tuple. A tuple of the wrong length is left to the compiler to refuse."""
        name = f"{self.name}[{n}]"
        if self.constant or not self.items:
            return self._replace(name=name)
        return described(name, self.items[0] if ... in self.items else self.items[min(n, len(self.items) - 1)])


def parameters(kernel: ct.kernel) -> list[Parameter]:
    function = function_of(kernel)
    hints = typing.get_type_hints(function, include_extras=True)
    return [described(name, hints.get(name)) for name in inspect.signature(function).parameters]


def described(name: str, hint: Any) -> Parameter:
    constant, array, integer = False, ct.ArrayAnnotation(), ct.int32
    for note in getattr(hint, "__metadata__", ()):
        constant |= isinstance(note, ct.ConstantAnnotation)
        if isinstance(note, ct.ArrayAnnotation):
            array = note
        if isinstance(note, ct.ListAnnotation):
            array = note.element
        integer = ct.int64 if note in ct.ScalarInt64.__metadata__ else integer
    items = typing.get_args(hint) if typing.get_origin(hint) is tuple else ()
    return Parameter(name, constant, array, integer, items)


# What was compiled, and is not compiled again: a kernel, for arguments of these types, and for which GPU.
Accepted = list[tuple[ct.kernel, KernelSignature, str]]


def refuse(kernel: ct.kernel, args: Sequence[Any], arch: str, accepted: Accepted) -> None:
    """Raise cuda.tile.TileError where cuTile's compiler refuses the kernel for these arguments; else note it.

    Types, shapes and syntax are judged on the way to Tile IR; no machine code is made.
    """
    constraints = [constraint(p, arg) for p, arg in zip(parameters(kernel), args, strict=True)]
    signature = KernelSignature(constraints, CallingConvention.cutile_python_v2())
    if (kernel, signature, arch) not in accepted:
        export_kernel(kernel, [signature], BytesIO(), gpu_code=arch, output_format="tileir_bytecode")
        accepted.append((kernel, signature, arch))


def constraint(parameter: Parameter, arg: Any) -> Any:
    """ct.launch's assumptions about the argument, except its alignment."""
    if isinstance(arg, tuple):
        return TupleConstraint([constraint(parameter.item(n), item) for n, item in enumerate(arg)])
    if parameter.constant:
        return ConstantConstraint(arg)
    if isinstance(arg, Tensor):
        return array_constraint(parameter.array, arg)
    if isinstance(arg, list):
        element = array_constraint(parameter.array, arg[0])
        return ListConstraint(element, alias_groups=(), elements_may_alias=False)
    if isinstance(arg, bool | float):
        return ScalarConstraint(ct.bool_ if isinstance(arg, bool) else ct.float32)
    if isinstance(arg, int):
        return ScalarConstraint(parameter.integer)
    return ConstantConstraint(arg)


def array_constraint(annotation: ct.ArrayAnnotation, tensor: Tensor) -> ArrayConstraint:
    n = tensor.ndim
    static = {axis % n for axis in annotation.static_shape_dims}
    given = {axis % n for axis in annotation.static_stride_dims}
    strides = tuple(s if (axis in given if given else s == 1) else None for axis, s in enumerate(tensor.stride()))
    return ArrayConstraint(
        FROM_TORCH[tensor.dtype],
        n,
        index_dtype=annotation.index_dtype,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=strides,
        shape_constant=tuple(size if axis in static else None for axis, size in enumerate(tensor.shape)),
    )


def refuse_launch(stream: Any, grid: Any, kernel: Any, args: Any, handles: Sequence[int] = (0,)) -> None:
    """Raises TypeError or ValueError where ct.launch, or the driver below it, refuses. handles: of streams."""
    if not (hasattr(stream, "cuda_stream") or (type(stream) is int and stream in handles)):
        given = stream if stream is None or isinstance(stream, int) else f"a {type(stream).__name__}"
        raise TypeError(f"ct.launch wants a stream first, torch.cuda.current_stream(), not {given}")
    if not isinstance(grid, tuple):
        what = f"the grid should be a tuple, such as (4,) or (4, 2); it is {grid!r}"
        raise TypeError(Flaw(what, Fail.NOT_LAUNCHED(grid="no tuple")))
    if not 1 <= len(grid) <= 3:
        raise ValueError(f"a grid has one to three sizes, not {len(grid)}")
    if wrong := next((size for size in grid if not isinstance(size, int)), None):
        raise TypeError(f"the sizes of a grid are Python integers; {wrong!r} is a {type(wrong).__name__}")
    if min(grid) < 1:
        raise ValueError(Flaw(f"a grid of {grid} has no blocks", Fail.NOT_LAUNCHED(grid="empty")))
    if not isinstance(kernel, ct.kernel):
        raise TypeError(f"{getattr(kernel, '__name__', kernel)!s} is not a @ct.kernel")
    if not isinstance(args, tuple):
        raise TypeError(f"the kernel's arguments should be a tuple, not a {type(args).__name__}")
    wanted = [parameter.name for parameter in parameters(kernel)]
    if len(args) != len(wanted):
        raise TypeError(f"the kernel takes {len(wanted)} arguments, {', '.join(wanted)}; it is given {len(args)}")

"""Interpreting a launch: how cuTile types the arguments, its compiler's word on the kernel for them, and whether the
result depends on elements of tiles that lie outside of their array, which are undetermined.
"""

import inspect
import linecache
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any, NamedTuple, get_args, get_type_hints

import cuda.tile as ct
import torch
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

from tutorlib.dsl.failure import Fail, Flaw, failures_in
from tutorlib.dsl.functions import function_of
from tutorlib.simulate.cutile.arrays import Array
from tutorlib.simulate.cutile.dtypes import FROM_TORCH, STORAGE, Number, category, poison
from tutorlib.simulate.cutile.language import Language, Rebinder
from tutorlib.simulate.cutile.launch import Endless, Load, Padding, TileLaunch
from tutorlib.simulate.cutile.tile import scalar
from tutorlib.simulate.ptx.findings import Finding, NotSimulated
from tutorlib.simulate.ptx.report import Report
from tutorlib.simulate.tensors import one_thread


class Parameter(NamedTuple):
    """constant: whether its annotation is ct.Constant, or it is an element of one that is."""

    name: str
    constant: bool

    def item(self, n: int) -> "Parameter":
        """The n-th element of a list or a tuple."""
        return self._replace(name=f"{self.name}[{n}]")


def parameters(kernel: ct.kernel) -> list[Parameter]:
    """Raises NotSimulated for other annotations than ct.Constant of a whole parameter."""
    hints = get_type_hints(function_of(kernel), include_extras=True)
    found = {name: hints.get(name) for name in inspect.signature(function_of(kernel)).parameters}
    notes = {name: getattr(hint, "__metadata__", ()) for name, hint in found.items()}
    for name, hint in found.items():
        known = all(isinstance(note, ct.ConstantAnnotation) for note in notes[name])
        if not known or any(hasattr(element, "__metadata__") for element in get_args(hint)):
            raise NotSimulated(f"the annotation of {name}")
    return [Parameter(name, bool(notes[name])) for name in found]


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
        return array_constraint(arg)
    if isinstance(arg, list):
        element = array_constraint(arg[0])
        return ListConstraint(element, alias_groups=(), elements_may_alias=False)
    dtype = dtype_of_scalar(arg)
    return ScalarConstraint(dtype) if dtype else ConstantConstraint(arg)


def dtype_of_scalar(arg: Any) -> ct.DType | None:
    """ct.launch's for a number that is passed at run time; None for another value."""
    dtypes = ((bool, ct.bool_), (int, ct.int32), (float, ct.float32))
    return next((dtype for kind, dtype in dtypes if isinstance(arg, kind)), None)


def array_constraint(tensor: Tensor) -> ArrayConstraint:
    return ArrayConstraint(
        FROM_TORCH[tensor.dtype],
        tensor.ndim,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=tuple(1 if stride == 1 else None for stride in tensor.stride()),
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


Results = dict[str, Tensor]


def largest(dtype: ct.DType) -> Number:
    return torch.finfo(STORAGE[dtype]).max if category(dtype) == 2 else True if dtype == ct.bool_ else 1


def smallest(dtype: ct.DType) -> Number:
    return torch.finfo(STORAGE[dtype]).min if category(dtype) == 2 else False if dtype == ct.bool_ else 0


def uses(
    launch: TileLaunch, arrays: Sequence[Array], again: Callable[[Padding, Sequence[int]], None]
) -> Iterator[Finding]:
    """A finding for each load that left elements undetermined on which what the launch stored depends.

    again: repeats some blocks of the launch, with other numbers in the place of these elements than NaN, or the
    implausible ones that integers had. What stays the same, whichever these are, is independent of them.
    """
    blocks = launch.padding_blocks if launch.independent else set(range(launch.blocks))
    of_blocks = torch.tensor(sorted(blocks))
    stored = [array for array in arrays if array.name in launch.before]
    where = {array.name: torch.isin(launch.histories.writers(array.history), of_blocks) for array in stored}
    results = lambda: {array.name: array.data.clone() for array in stored}  # noqa: E731
    first = results()

    def repeated(padding: Padding) -> Results:
        for array in stored:
            array.data.copy_(launch.before[array.name])
        with suppress(Exception):  # such as an assertion of the kernel's own: nothing more is stored
            again(padding, sorted(blocks))
        return results()

    def changed(some: Results, others: Results) -> str:
        """The first array of which they differ, or ""."""
        return next((a.name for a in stored if (a.differ(some[a.name], others[a.name]) & where[a.name]).any()), "")

    if any(changed(first, repeated(dict.fromkeys(launch.padded, number))) for number in (largest, smallest)):
        determined: dict[Load, Callable[[ct.DType], Number]] = dict.fromkeys(launch.padded, lambda dtype: 0)
        plain = repeated(determined)
        for load, finding in launch.padded.items():
            tried = (repeated(determined | {load: number}) for number in (poison, largest, smallest))
            if what := next(filter(None, (changed(plain, one) for one in tried)), ""):
                message = f"{finding.message}, and it changes {what}"
                yield replace(finding, message=Flaw(message, *failures_in([finding.message])))
    for array in stored:
        array.data.copy_(first[array.name])


ARCH = "sm_90"  # whose compiler a kernel must pass


@dataclass(frozen=True)
class TileReport(Report):
    """As for a launch of PTX; storers have the shape of their tensor. Places are lines of the kernel's file.

    loaded: by the parameter's name, the elements that all blocks together loaded, the padding left out. largest: the
    elements of the largest tile that one loaded, with its padding. scattered: the parameters of which it loaded or
    stored single elements. factors: the dtypes that ct.mma multiplied, such as "bfloat16". products: of elements, those
    that it computed in all blocks, padding included. selected: the steps, from one ct.mma to the next, in which
    ct.where chose among the columns of a tile.
    """

    loaded: Mapping[str, int] = field(default_factory=dict)
    largest: Mapping[str, int] = field(default_factory=dict)
    scattered: frozenset[str] = frozenset()
    factors: frozenset[str] = frozenset()
    products: int = 0
    selected: int = 0


def run(
    kernel: ct.kernel,
    grid: Sequence[int],
    args: Sequence[Any],
    arch: str = ARCH,
    accepted: Accepted | None = None,
) -> TileReport:
    """Run a kernel over a grid of up to three sizes; tensors among the arguments are read and written in place.

    Blocks run one after another in the order of their index, x fastest. An operation gives what a GPU's gives up
    to rounding; values that cuTile leaves undetermined are NaN, or an implausible number.

    accepted: what earlier runs compiled, if no kernel has changed since.
    Raises cuda.tile.TileError where cuTile's compiler refuses the kernel for `arch`, NotSimulated where the
    interpreter lacks an operation, and what the kernel itself raises.
    """
    if not isinstance(kernel, ct.kernel):
        raise TypeError(f"{getattr(kernel, '__name__', kernel)!s} is not a @ct.kernel")
    refuse(kernel, args, arch, [] if accepted is None else accepted)
    x, y, z = *grid, *(1,) * (3 - len(grid))
    launch = TileLaunch((x, y, z), function_of(kernel).__code__.co_filename)
    linecache.checkcache(launch.file)

    def again(padding: Padding, blocks: Sequence[int]) -> None:
        interpret(kernel, args, TileLaunch(launch.grid, launch.file, padding, silent=True), blocks)

    with one_thread():
        arrays = interpret(kernel, args, launch, range(launch.blocks))
        findings = [*launch.findings()]
        if launch.padded:
            findings += uses(launch, arrays, again)
    storers = {a.name: launch.histories.writers(a.history).numpy() for a in arrays}
    return TileReport(
        tuple(findings),
        (),
        launch.blocks,
        (),
        repeats=launch.findings(repeats=True),
        storers=storers,
        kernel=function_of(kernel).__name__,
        loaded=dict(launch.loaded),
        largest=dict(launch.largest),
        scattered=frozenset(launch.scattered),
        factors=frozenset(launch.factors),
        products=launch.products,
        selected=len(launch.selected),
    )


def interpret(kernel: ct.kernel, args: Sequence[Any], launch: TileLaunch, blocks: Sequence[int]) -> list[Array]:
    """Run some blocks of a launch. Gives the arrays among the arguments."""
    arrays: list[Array] = []
    values = [value(p, arg, launch, arrays) for p, arg in zip(parameters(kernel), args, strict=True)]
    body = Rebinder(Language(launch)).function(function_of(kernel))
    with suppress(Endless):
        try:
            launch.run(lambda: body(*values), blocks)
        except RuntimeError as error:
            if "can only be called from device code" in str(error):  # the real cuTile's own words
                raise NotSimulated("a class whose methods call cuda.tile") from error
            raise
    return arrays


def value(parameter: Parameter, arg: Any, launch: TileLaunch, arrays: list[Array]) -> Any:
    """An argument as the kernel sees it; arrays are noted in `arrays`."""
    if parameter.constant:
        return arg
    if isinstance(arg, Tensor):
        arrays.append(Array.of(parameter.name, arg, launch))
        return arrays[-1]
    if isinstance(arg, list | tuple):
        return type(arg)(value(parameter.item(n), item, launch, arrays) for n, item in enumerate(arg))
    dtype = dtype_of_scalar(arg)
    return scalar(arg, dtype) if dtype else arg

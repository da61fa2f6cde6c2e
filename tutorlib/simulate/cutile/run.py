"""Interpreting a launch: how cuTile types the arguments, its compiler's word on the kernel for them, and whether the
result depends on elements of tiles that lie outside of their array, which are undetermined.
"""

import inspect
import linecache
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from typing import Any, get_args, get_type_hints

import cuda.tile as ct
import torch
from cuda.tile import compilation
from torch import Tensor

from tutorlib.compiling.dsls import export
from tutorlib.compiling.spec import array_constraint
from tutorlib.dsl.failure import Fail, Flaw, failures_in
from tutorlib.dsl.functions import function_of
from tutorlib.simulate.cutile.arrays import Array
from tutorlib.simulate.cutile.dtypes import STORAGE, Number, category, poison
from tutorlib.simulate.cutile.language import Language, Rebinder
from tutorlib.simulate.cutile.launch import Endless, Load, Padding, TileLaunch
from tutorlib.simulate.cutile.tile import scalar
from tutorlib.simulate.ptx.findings import Finding, NotSimulated
from tutorlib.simulate.ptx.report import Report
from tutorlib.simulate.tensors import one_thread


def parameters(kernel: ct.kernel) -> dict[str, bool]:
    """The names of a kernel's parameters, and whether each is a ct.Constant.

    Raises NotSimulated for other annotations than ct.Constant of a whole parameter.
    """
    hints = get_type_hints(function_of(kernel), include_extras=True)
    found = {name: hints.get(name) for name in inspect.signature(function_of(kernel)).parameters}
    notes = {name: getattr(hint, "__metadata__", ()) for name, hint in found.items()}
    for name, hint in found.items():
        known = all(isinstance(note, ct.ConstantAnnotation) for note in notes[name])
        if not known or any(hasattr(element, "__metadata__") for element in get_args(hint)):
            raise NotSimulated(f"the annotation of {name}")
    return {name: bool(notes[name]) for name in found}


def constraint(constant: bool, arg: Any, align: int = 1) -> Any:
    """ct.launch's assumptions about the argument. align: bytes that divide a tensor's address."""
    if isinstance(arg, tuple):
        return compilation.TupleConstraint([constraint(constant, item, align) for item in arg])
    if constant:
        return compilation.ConstantConstraint(arg)
    if isinstance(arg, Tensor):
        return array_constraint(str(arg.dtype).removeprefix("torch."), arg.shape, arg.stride(), align)
    if isinstance(arg, list):
        return compilation.ListConstraint(constraint(constant, arg[0]), alias_groups=(), elements_may_alias=False)
    dtype = dtype_of_scalar(arg)
    return compilation.ScalarConstraint(dtype) if dtype else compilation.ConstantConstraint(arg)


def dtype_of_scalar(arg: Any) -> ct.DType | None:
    """ct.launch's for a number that is passed at run time; None for another value."""
    dtypes = ((bool, ct.bool_), (int, ct.int32), (float, ct.float32))
    return next((dtype for kind, dtype in dtypes if isinstance(arg, kind)), None)


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
    wanted = parameters(kernel)
    if len(args) != len(wanted):
        raise TypeError(f"the kernel takes {len(wanted)} arguments, {', '.join(wanted)}; it is given {len(args)}")


Results = dict[str, Tensor]


def largest(dtype: ct.DType) -> Number:
    return torch.finfo(STORAGE[dtype]).max if category(dtype) == 2 else 1


def smallest(dtype: ct.DType) -> Number:
    return torch.finfo(STORAGE[dtype]).min if category(dtype) == 2 else 0


def uses(launch: TileLaunch, arrays: Sequence[Array], again: Callable[[Padding], None]) -> Iterator[Finding]:
    """A finding for each load that left elements undetermined on which what the launch stored depends.

    again: repeats the launch, with other numbers in the place of these elements than NaN, or the implausible ones that
    integers had. What stays the same, whichever these are, is independent of them.
    """
    stored = [array for array in arrays if array.name in launch.before]
    results = lambda: {array.name: array.data.clone() for array in stored}  # noqa: E731
    first = results()

    def repeated(padding: Padding) -> Results:
        for array in stored:
            array.data.copy_(launch.before[array.name])
        with suppress(Exception):  # such as an assertion of the kernel's own: nothing more is stored
            again(padding)
        return results()

    def changed(some: Results, others: Results) -> str:
        """The first array of which they differ, or ""."""
        return next((a.name for a in stored if a.differ(some[a.name], others[a.name]).any()), "")

    if any(changed(first, repeated(dict.fromkeys(launch.padded, number))) for number in (largest, smallest)):
        determined: dict[Load, Callable[[ct.DType], Number]] = dict.fromkeys(launch.padded, lambda dtype: 0)
        plain = repeated(determined)
        for load, finding in launch.padded.items():
            tried = (repeated(determined | {load: number}) for number in (poison, largest, smallest))
            if name := next(filter(None, (changed(plain, other) for other in tried)), ""):
                message = f"{finding.message}, and it changes {name}"
                yield replace(finding, message=Flaw(message, *failures_in([finding.message])))
    for array in stored:
        array.data.copy_(first[array.name])


ARCH = "sm_90"  # whose compiler a kernel must pass


@dataclass(frozen=True)
class TileReport(Report):
    """As for a launch of PTX; storers have the shape of their tensor. Places are lines of the kernel's file.

    loaded: by the parameter's name, the elements that all blocks together loaded, the padding left out. largest: the
    elements of the largest tile that a block loaded, with its padding. scattered: the parameters of which it loaded or
    stored single elements. factors: the dtypes that ct.mma multiplied, such as "bfloat16". products: of elements, those
    that it computed in all blocks, padding included. current: whether it was launched in torch's current stream.
    """

    loaded: Mapping[str, int] = field(default_factory=dict)
    largest: Mapping[str, int] = field(default_factory=dict)
    scattered: frozenset[str] = frozenset()
    factors: frozenset[str] = frozenset()
    products: int = 0
    current: bool = True


def run(kernel: ct.kernel, grid: Sequence[int], args: Sequence[Any], arch: str = ARCH) -> TileReport:
    """Run a kernel over a grid of up to three sizes; tensors among the arguments are read and written in place.

    Blocks run one after another in the order of their index, x fastest. An operation gives what a GPU's gives up
    to rounding; values that cuTile leaves undetermined are NaN, or an implausible number.

    Raises TileError where cuTile's compiler refuses the kernel for `arch`, NotSimulated where the interpreter lacks
    an operation, and what the kernel itself raises.
    """
    if not isinstance(kernel, ct.kernel):
        raise TypeError(f"{getattr(kernel, '__name__', kernel)!s} is not a @ct.kernel")
    constraints = [constraint(*each) for each in zip(parameters(kernel).values(), args, strict=True)]
    export(kernel, constraints, arch, "tileir_bytecode")  # for types, shapes and syntax: no machine code is made
    x, y, z = *grid, *(1,) * (3 - len(grid))
    launch = TileLaunch((x, y, z), function_of(kernel).__code__.co_filename)
    linecache.checkcache(launch.file)

    def again(padding: Padding) -> None:
        with redirect_stdout(None):
            interpret(kernel, args, TileLaunch(launch.grid, launch.file, padding))

    with one_thread():
        try:
            arrays = interpret(kernel, args, launch)
        except NotSimulated as error:
            error.found = launch.findings()
            raise
        findings = [*launch.findings()]
        if launch.padded:
            findings += uses(launch, arrays, again)
    storers = {a.name: launch.histories.writers(a.history).numpy() for a in arrays}
    told: dict[str, Any] = {"repeats": launch.findings(repeats=True), "storers": storers, "products": launch.products}
    told |= {name: dict(getattr(launch, name)) for name in ("loaded", "largest")}
    told |= {name: frozenset(getattr(launch, name)) for name in ("scattered", "factors")}
    return TileReport(tuple(findings), (), launch.blocks, (), kernel=function_of(kernel).__name__, **told)


def interpret(kernel: ct.kernel, args: Sequence[Any], launch: TileLaunch) -> list[Array]:
    """Run the blocks of a launch. Gives the arrays among the arguments."""
    arrays: list[Array] = []
    each = zip(parameters(kernel).items(), args, strict=True)
    values = [value(name, constant, arg, launch, arrays) for (name, constant), arg in each]
    body = Rebinder(Language(launch)).function(function_of(kernel))
    with suppress(Endless):
        try:
            launch.run(lambda: body(*values))
        except RuntimeError as error:
            if "can only be called from device code" in str(error):  # the real cuTile's own words
                raise NotSimulated("a class whose methods call cuda.tile") from error
            raise
    return arrays


def value(name: str, constant: bool, arg: Any, launch: TileLaunch, arrays: list[Array]) -> Any:
    """An argument as the kernel sees it; arrays are noted in `arrays`."""
    if constant:
        return arg
    if isinstance(arg, Tensor):
        arrays.append(Array.of(name, arg, launch))
        return arrays[-1]
    if isinstance(arg, list | tuple):
        return type(arg)(value(f"{name}[{n}]", constant, item, launch, arrays) for n, item in enumerate(arg))
    dtype = dtype_of_scalar(arg)
    return scalar(arg, dtype) if dtype else arg

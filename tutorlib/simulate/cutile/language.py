"""`ct` during interpretation, and the kernel's function with that in place of `cuda.tile`.

The interpreter puts its own `ct` into a copy of the function's globals. cuTile's DispatchMode would intercept its
functions too, but it is private and may go with any release; and a loop's `range`, a builtin `min` of two tiles or
a tile's operators never pass through it, so those had to be replaced either way.
"""

import builtins
import inspect
import operator
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import reduce
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import cuda.tile as ct
import torch

from tutorlib.simulate.cutile import arrays, ops, tile
from tutorlib.simulate.cutile.dtypes import DTypeName, dtype_of
from tutorlib.simulate.cutile.launch import TileLaunch
from tutorlib.simulate.cutile.tile import Tile, common, scalar, tile_of
from tutorlib.simulate.ptx.findings import NotSimulated


def own(module: ModuleType) -> dict[str, Callable]:
    """A module's functions that are named as cuTile's are."""
    return {name: value for name in ct.__all__ if isinstance(value := vars(module).get(name), FunctionType)}


def by_method(name: str) -> Callable:
    return lambda x, /, *args, **options: getattr(tile_of(x), name)(*args, **options)


METHODS = {name: by_method(name) for name in ("reshape", "permute", "transpose", "extract")}
FUNCTIONS = own(arrays) | arrays.ATOMICS | own(ops) | ops.FUNCTIONS | tile.FUNCTIONS | METHODS


class Language:
    """`ct` for one launch: cuTile's functions as this package has them, its dtypes and enums as they are."""

    def __init__(self, launch: TileLaunch) -> None:
        def mma(x: Tile, y: Tile, /, acc: Tile, *, use_fast_acc: bool = False) -> Tile:
            launch.factors.update((x.dtype.name, y.dtype.name))
            launch.products += x.data.numel() * y.shape[-1]
            return ops.mma(x, y, acc, use_fast_acc=use_fast_acc)

        self._functions = FUNCTIONS | {
            "bid": lambda axis: scalar(launch.block[int(axis)]),
            "num_blocks": lambda axis: scalar(launch.grid[int(axis)]),
            "mma": mma,
            "static_eval": lambda expr, /: expr,
            "static_assert": assert_,
            "static_exception": ct.static_exception,
            "ensure_constant": lambda value, /: value,
            "assert_": assert_,
            "print": builtins.print,
            "grid_dependency_control_wait": lambda: None,
            "grid_dependency_control_launch_dependents": lambda: None,
        }

    def __getattr__(self, name: str) -> Any:
        if name in self._functions:
            return self._functions[name]
        value = getattr(ct, name)
        if isinstance(value, FunctionType):
            raise NotSimulated(f"ct.{name}")
        return DTypeName(value, ops.astype) if isinstance(value, ct.DType) else value


def assert_(condition: Any, /, message: str | None = None) -> None:
    """ct.assert_ and ct.static_assert, whose condition is no tile."""
    if not (condition.data.all() if isinstance(condition, Tile) else condition):
        raise AssertionError(message or "an assertion of the kernel's")


class Range:
    """A loop's range: its variable is a scalar known at run time only."""

    def __init__(self, *bounds: Tile | int) -> None:
        self.dtype = reduce(lambda dtype, bound: common(scalar(0, dtype), bound), bounds, ct.int32)
        self.numbers = range(*map(operator.index, bounds))

    def __iter__(self) -> Iterator[Tile]:
        return (scalar(n, self.dtype) for n in self.numbers)


def of_tiles(elementwise: Callable, builtin: Callable) -> Callable:
    """A builtin that takes tiles too."""
    return lambda *args: elementwise(*args) if any(isinstance(arg, Tile) for arg in args) else builtin(*args)


BUILTINS = vars(builtins) | {
    "range": Range,
    "min": of_tiles(tile.minimum, min),
    "max": of_tiles(tile.maximum, max),
    "float": of_tiles(lambda x: x.astype(ct.float32), float),
    "int": of_tiles(lambda x: x.astype(ct.int32), int),
    "bool": of_tiles(lambda x: x.astype(ct.bool_), bool),
}


class Rebinder:
    """Copies functions so that they find `language` where they say `ct`, and so do the functions they call.

    Methods of the reader's own classes stay as they are: from them a cuTile function cannot be called.
    """

    def __init__(self, language: Language) -> None:
        self.language = language
        self.done: dict[FunctionType, FunctionType] = {}

    def rebind(self, value: Any) -> Any:
        """The value to find in place of this one."""
        if value is ct:
            return self.language
        if isinstance(value, ModuleType):
            return Rebound(self, value)
        if type(value) is dict:
            return {key: self.rebind(item) for key, item in value.items()}
        if type(value) in (list, tuple):
            return type(value)(map(self.rebind, value))
        if isinstance(value, torch.dtype) or (isinstance(value, type) and value.__module__ == "numpy"):
            with suppress(NotSimulated):
                return DTypeName(dtype_of(value), ops.astype)  # which converts when called: torch.float32(x)
        if isinstance(value, FunctionType | type | ct.DType):  # perhaps from cuda.tile import load, float32
            name = value.name if isinstance(value, ct.DType) else value.__name__
            if vars(ct).get(name) is value:
                return getattr(self.language, name)
        return self.function(value) if isinstance(value, FunctionType) else value

    def function(self, function: FunctionType) -> FunctionType:
        """Of what @ct.function decorates, the reader's function; other decorators stay."""
        function = inspect.unwrap(function, stop=lambda f: "cuda.tile." not in f.__globals__.get("__name__", ""))
        if function in self.done:
            return self.done[function]
        scope = {"__builtins__": BUILTINS, "__name__": function.__module__}
        cells = tuple(CellType() for _ in function.__closure__ or ())
        copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells or None)
        copy.__kwdefaults__ = function.__kwdefaults__
        self.done[function] = copy
        for name in names(function.__code__) & function.__globals__.keys():
            scope[name] = self.rebind(function.__globals__[name])
        for cell, original in zip(cells, function.__closure__ or (), strict=True):
            cell.cell_contents = self.rebind(original.cell_contents)
        return copy


class Rebound:
    """A module whose functions are copied as they are used."""

    def __init__(self, rebinder: Rebinder, module: ModuleType) -> None:
        self._rebinder, self._module = rebinder, module

    def __getattr__(self, name: str) -> Any:
        return self._rebinder.rebind(getattr(self._module, name))


def names(code: CodeType) -> set[str]:
    """Every global name that a function may look up, in nested functions too."""
    nested = (const for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*map(names, nested))

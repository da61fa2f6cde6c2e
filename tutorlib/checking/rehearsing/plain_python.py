"""Functions for the CuTe DSL as the plain Python that they are written in."""

import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any, NamedTuple
from unittest import mock

from tutorlib.compiling.errors import is_readers

HERE = str(Path(__file__).parent)


class Hazard(Exception):
    """The orders allow a wrong result. The message says which, for the reader."""


class CallSite(NamedTuple):
    """Where an order stands."""

    file: str
    number: int

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.number).strip()
        if not is_readers(self.file):
            return f"the course's `{text}`"
        return f"line {self.number}, `{text}`" if text else f"line {self.number}"


def calling_line(frame: FrameType | None = None) -> CallSite:
    """The line of the main loop, or of a helper it calls, that gives the order which is being carried out.

    frame: of another thread, which runs the loop.
    """
    frame = frame or sys._getframe(1)
    while frame is not None and is_machinery(frame.f_code.co_filename):
        frame = frame.f_back
    return CallSite(frame.f_code.co_filename, frame.f_lineno) if frame else CallSite("", 0)


def is_machinery(file: str) -> bool:
    """Whether a file is of this folder, of the DSL or of Python's with-statements."""
    return file.startswith(HERE) or "/nvidia_cutlass_dsl/" in file or "contextlib" in file


def as_written(function: Any) -> Callable[..., Any]:
    """The plain Python function under @cute.jit; compiling it once has put another body into it."""
    plain = getattr(function, "__wrapped__", function)
    code = getattr(plain, "_original_code", plain.__code__)
    rewritten = FunctionType(code, plain.__globals__, plain.__name__, plain.__defaults__, plain.__closure__)
    rewritten.__kwdefaults__ = plain.__kwdefaults__
    return rewritten


def plain_loops() -> dict[str, Any]:
    """What takes the place of the DSL's own loops and conditions, by their names in `cutlass`."""
    return {
        "range": lambda *args, **hints: range(*args),
        "range_constexpr": range,
        "const_expr": lambda value: value,
    }


@contextmanager
def instead_of(modules: list[tuple[Any, dict[str, Any]]], *functions: Any) -> Iterator[None]:
    """Names of modules stand for something else, also where the functions' own modules have imported them by name."""
    new = {id(getattr(module, name)): value for module, names in modules for name, value in names.items()}
    with ExitStack() as stack:
        for module, names in modules:
            stack.enter_context(mock.patch.multiple(module, **names))
        for function in functions:
            scope = as_written(function).__globals__
            found = {name: value for name, value in scope.items() if id(value) in new}
            scope.update({name: new[id(value)] for name, value in found.items()})
            stack.callback(scope.update, found)
        yield

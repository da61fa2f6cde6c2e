"""Runs the CuTe DSL's functions as plain Python, with other objects under some names."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import CodeType, FunctionType
from typing import Any
from unittest import mock


def code_as_written(function: FunctionType) -> CodeType:
    """The code of a function under @cute.jit; compiling it once has put another body into it."""
    code: CodeType = getattr(function, "_original_code", function.__code__)
    return code


def as_written(function: Any) -> Callable[..., Any]:
    """The plain Python function under @cute.jit, before the DSL compiled it."""
    plain = getattr(function, "__wrapped__", function)
    rewritten = FunctionType(
        code_as_written(plain), plain.__globals__, plain.__name__, plain.__defaults__, plain.__closure__
    )
    rewritten.__kwdefaults__ = plain.__kwdefaults__
    return rewritten


def plain_loops() -> dict[str, Any]:
    """Plain replacements for the DSL's loops and conditions, by their names in `cutlass`."""
    return {
        "range": lambda *args, **hints: range(*args),
        "range_constexpr": range,
        "const_expr": lambda value: value,
    }


@contextmanager
def instead_of(modules: list[tuple[Any, dict[str, Any]]], *functions: Any) -> Iterator[None]:
    """Replaces names of modules in the block, also in the functions' own modules that have imported them."""
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

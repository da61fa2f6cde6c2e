"""The arguments of host functions: their names, and the streams that are filled in."""

import inspect
from collections.abc import Sequence
from typing import Any


def parameter_names(function: Any, count: int) -> list[str]:
    """Of the first `count` arguments; a stream is none of them."""
    named = [parameter.name for parameter in parameters_of(function) if not is_stream(parameter)]
    return [named[n] if n < len(named) else f"argument {n}" for n in range(count)]


def with_streams(function: Any, arguments: Sequence[Any], stream: Any) -> list[Any]:
    """The arguments, and `stream` wherever the function takes one. Raises ValueError if they do not fit."""
    left, bound = list(arguments), []
    for parameter in parameters_of(function):
        if is_stream(parameter):
            bound.append(stream)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            bound, left = bound + left, []
        elif left:
            bound.append(left.pop(0))
        else:
            break
    try:
        inspect.signature(function).bind(*bound, *left)
    except TypeError as error:
        takes = ", ".join(parameter.name for parameter in parameters_of(function) if not is_stream(parameter))
        raise ValueError(f"{function_name(function)} takes {takes or 'nothing'}: {error}") from None
    return bound


def parameters_of(function: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def is_stream(parameter: inspect.Parameter) -> bool:
    return parameter.name == "stream" or "CUstream" in str(parameter.annotation)


def function_name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)

"""The arguments of host functions: their names, and the streams that are filled in."""

import inspect
from collections.abc import Sequence
from typing import Any

from tutorlib.dsl.cutile.kernels import inside_of_kernel


def parameter_names(function: Any, count: int) -> list[str]:
    """Of the first `count` arguments; a stream is none of them."""
    named = [parameter.name for parameter in parameters_of(function) if not is_stream(parameter)]
    return [named[n] if n < len(named) else f"argument {n}" for n in range(count)]


def with_streams(function: Any, arguments: Sequence[Any], stream: Any) -> dict[str, Any]:
    """The arguments by the names of their parameters, in order, with `stream` wherever the function takes one.

    Those of a *parameter have its name and a number. Raises ValueError if they do not fit.
    """
    left, bound = list(arguments), dict[str, Any]()
    for parameter in parameters_of(function):
        if is_stream(parameter):
            bound[parameter.name] = stream
        elif parameter.kind is parameter.VAR_POSITIONAL:
            bound |= {f"{parameter.name}[{n}]": argument for n, argument in enumerate(left)}
            left = []
        elif left:
            bound[parameter.name] = left.pop(0)
        else:
            break
    try:
        inspect.signature(inside_of_kernel(function)).bind(*bound.values(), *left)
    except TypeError as error:
        takes = ", ".join(parameter.name for parameter in parameters_of(function) if not is_stream(parameter))
        raise ValueError(f"{function_name(function)} takes {takes or 'nothing'}: {error}") from None
    return bound


def parameters_of(function: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(inside_of_kernel(function)).parameters.values())


def is_stream(parameter: inspect.Parameter) -> bool:
    return parameter.name == "stream" or "CUstream" in str(parameter.annotation)


def function_name(function: Any) -> str:
    return getattr(inside_of_kernel(function), "__name__", type(function).__name__)

"""The attributes of a @ct.kernel, and ct.launch replaced: host code runs where there is no GPU."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any
from unittest import mock


def function_of(kernel: Any) -> FunctionType:
    """The Python function under @ct.kernel. cuTile has no public name for it."""
    function: FunctionType = kernel._pyfunc
    return function


def inside_of_kernel(value: Any) -> Any:
    """The function of a @ct.kernel; any other value unchanged. It does not import cuTile."""
    if any(str(kind.__module__).startswith("cuda.tile") for kind in type(value).__mro__):
        return getattr(value, "_pyfunc", value)
    return value


def opt_level(kernel: Any, arch: str) -> int:
    """At which level cuTile optimises a kernel for an architecture, "sm_90"."""
    level: int = kernel._compiler_options.opt_level_for_target(arch)
    return level


@contextmanager
def launched_by(launch: Callable[..., None]) -> Iterator[None]:
    """Meanwhile ct.launch is this function."""
    import cuda.tile as ct

    with mock.patch.object(ct, "launch", launch):
        yield

"""Targets in Python, called where the stand-in GPU is: CuTe host functions, cuTile kernels, and any other function."""

from collections.abc import Callable, Sequence
from typing import Any

from tutorlib.dsl.cute.functions import constant_parameters, says_it_is_jit, says_it_is_kernel
from tutorlib.dsl.cutile.kernels import function_of
from tutorlib.simulate.signatures import function_name, with_streams


def is_cute(target: Any) -> bool:
    """Whether it is a @cute.jit function, or an object whose call is one. Raises TypeError for a @cute.kernel."""
    if says_it_is_kernel(target):
        raise TypeError(f"{function_name(target)} is a @cute.kernel: simulate the @cute.jit function that launches it")
    return says_it_is_jit(target) or says_it_is_jit(vars(type(target)).get("__call__"))


def is_tile_kernel(target: Any) -> bool:
    return type(target).__module__.startswith("cuda.tile")


def call_cute(host: Any, arguments: Sequence[Any], dynamic: bool) -> None:
    """Raises ValueError if it takes other arguments, and CompileFailed."""
    import torch
    from cuda.bindings import driver
    from cutlass import cute

    from tutorlib.compiling.cute import with_reader_line
    from tutorlib.simulate.ptx.languages.cute_memory import cute_tensor

    taken = {
        name: cute_tensor(argument, dynamic) if isinstance(argument, torch.Tensor) else argument
        for name, argument in with_streams(host, arguments, driver.CUstream(0)).items()
    }
    compiled = with_reader_line(lambda more: cute.compile(host, *taken.values()))
    constant = constant_parameters(compiled)
    compiled(*(argument for name, argument in taken.items() if name not in constant))


def call_tile_kernel(kernel: Any, arguments: Sequence[Any], grid: Sequence[int]) -> None:
    """Raises ValueError without a grid or with other arguments than the kernel's, and CompileFailed."""
    import cuda.tile as ct
    import torch

    function = function_of(kernel)
    if not grid:
        raise ValueError(f"{function_name(function)} is a kernel: it needs a grid")
    taken = with_streams(function, arguments, None)
    ct.launch(torch.cuda.current_stream(), tuple(grid), kernel, tuple(taken.values()))


def call_function(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """What it returns. Raises ValueError if it takes other arguments, and what it raises itself."""
    import torch

    return function(*with_streams(function, arguments, torch.cuda.current_stream()).values())

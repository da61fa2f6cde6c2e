"""Targets in Python, called where the stand-in GPU is: CuTe host functions, cuTile kernels, and any other function."""

from collections.abc import Mapping, Sequence
from typing import Any

from tutorlib.dsl.cute.functions import constant_parameters, says_it_is_jit, says_it_is_kernel
from tutorlib.simulate.ptx.report import Report
from tutorlib.simulate.signatures import function_name, with_streams


def simulate_python(
    kernel: Any, named: Mapping[str, Any], arch: str, grid: Sequence[int], dynamic: bool, traced: bool
) -> tuple[list[Report], dict[str, Any]]:
    """A report of each launch that it makes, and the tensors that it returns. The keywords are those of `simulate`."""
    import torch

    from tutorlib.simulate.stand_in.enter import stand_in
    from tutorlib.simulate.stand_in.gpu import StandInGpu
    from tutorlib.simulate.threads import one_thread

    launches: list[Report] = []
    gpu = StandInGpu(arch, launches.append, traced)
    for name, argument in named.items():
        if isinstance(argument, torch.Tensor):
            gpu.hold(argument, name)
    arguments, returned = list(named.values()), None
    with one_thread(), stand_in(lambda: gpu):
        if is_cute(kernel):
            call_cute(kernel, arguments, dynamic)
        elif is_tile_kernel(kernel):
            call_tile_kernel(kernel, arguments, grid)
        else:
            returned = kernel(*with_streams(kernel, arguments, torch.cuda.current_stream()).values())
    several = {"result": returned} if isinstance(returned, torch.Tensor) else {}
    if isinstance(returned, tuple | list):
        several = {f"result {n}": value for n, value in enumerate(returned) if isinstance(value, torch.Tensor)}
    return launches, several


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

    if not grid:
        raise ValueError(f"{function_name(kernel)} is a kernel: it needs a grid")
    taken = with_streams(kernel, arguments, None)
    ct.launch(torch.cuda.current_stream(), tuple(grid), kernel, tuple(taken.values()))

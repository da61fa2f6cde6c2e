"""The entry for kernels of every language, in sources and in Python."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tutorlib.dsl.functions import function_of, is_jit, is_kernel
from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.languages.cuda import simulate_cuda
from tutorlib.simulate.ptx.report import Report as LaunchReport
from tutorlib.simulate.report import Report, stops


def simulate(
    kernel: Any,
    *arguments: Any,
    arch: str = "80",
    grid: Sequence[int] = (),
    block: Sequence[int] = (),
    cluster: Sequence[int] = (),
    smem: int = 0,
    entry: str = "",
) -> Report:
    """Run a kernel on this machine's CPU; it reads and writes the tensors in place, as on a GPU.

        simulate(host, a, b, c)                                 # a @cute.jit function, or an object whose call is one
        simulate(launch, a, b)                                  # a Python function that launches cuTile or CuTe kernels
        simulate(kernel, a, b, c, 128, grid=(4,))               # a @ct.kernel
        simulate(Path("scale.ptx"), x, y, 1024, grid=(8,))      # PTX, Triton's for example
        simulate(Path("scale.cu"), x, y, 1024, grid=(8,), block=(128,))

    arguments: of the kernel or host function, in order: torch tensors in ordinary memory and numbers. Where a function
        takes a CUDA stream, it is filled in.
    arch: the compute capability to compile for, "80", "90a" or "100a"; PTX has its own.
    grid: blocks along x, y and z, for a kernel that no host function launches. block: threads of a block of PTX or CUDA
        C++; (): as many as the kernel declares; cluster: the same of a cluster's blocks. smem: bytes of dynamic shared
        memory of these. entry: a part of the kernel's name, where a source has several.
    kernel: of sources, a Path to a file, or the text.
    Raises ValueError if the arguments do not fit the kernel, or no GPU takes the launch; TypeError for something that
    is no kernel; CompileFailed, or the DSL's own error; and NotImplementedError where the simulator lacks what the
    kernel uses, unless it has found something until then: `Report.wrong` says it.
    """
    if not (callable(kernel) or isinstance(kernel, str | Path)):
        raise TypeError(f"{kernel!r} is no kernel, host function or source")
    for number, argument in enumerate(arguments):
        if str(device := getattr(argument, "device", "cpu")) != "cpu":
            raise ValueError(f"argument {number} is on {device}; the simulator takes tensors on the CPU")
    named = dict(zip(argument_names(kernel, len(arguments), entry), arguments, strict=True))
    returned, launches = None, list[LaunchReport]()
    try:
        if isinstance(kernel, str | Path):
            launches.append(simulate_cuda(kernel, grid, block, named, smem, entry, f"sm_{arch}", cluster=cluster))
        else:
            returned = simulate_python(kernel, named, arch, grid, launches.append)
    except NotSimulated as error:
        if not error.found:
            raise
        launches = launches or [LaunchReport(error.found, (), 0, (), kernel=entry, stopped=str(error))]
    if not launches:
        raise ValueError(f"{getattr(kernel, '__name__', type(kernel).__name__)} launches no kernel")
    return Report(arch, tuple(launches), returned, (*stops(launches),))


def argument_names(kernel: Any, count: int, entry: str = "") -> list[str]:
    """What findings call the arguments."""
    if isinstance(kernel, str | Path):
        text = kernel if isinstance(kernel, str) else kernel.read_text(encoding="utf-8", errors="replace")
        named = cpp_parameters(text, entry)
        named = named if len(named) == count else []
    else:
        named = [parameter.name for parameter in parameters_of(kernel) if not is_stream(parameter)]
    return [named[n] if n < len(named) else f"argument {n}" for n in range(count)]


def cpp_parameters(source: str, entry: str) -> list[str]:
    """The names of the parameters of a kernel in C++; [] where the source has none. entry: a part of its name."""
    name = re.escape(re.sub(r"<.*|.*::", "", entry))
    found = re.search(rf"__(?:tile_)?global__[^;{{]*?\b(?!__)\w*{name}\w*\s*\(([^)]*)\)", source)
    parameters = re.split(r",(?![^<]*>)", found[1]) if found else []
    return [words[-1] for parameter in parameters if (words := re.findall(r"\w+", re.sub(r"\[.*", "", parameter)))]


def simulate_python(
    kernel: Any, named: Mapping[str, Any], arch: str, grid: Sequence[int], took: Callable[[LaunchReport], None]
) -> Any:
    """What it returns. took: called with the report of each launch that it makes. As `simulate` otherwise."""
    import torch
    from cuda.bindings.driver import CUstream

    from tutorlib.simulate.ptx.languages.cute import cute_tensor
    from tutorlib.simulate.stand_in.gpu import StandInGpu
    from tutorlib.simulate.stand_in.script import stand_in
    from tutorlib.simulate.tensors import one_thread

    gpu = StandInGpu(arch, took)
    for name, argument in named.items():
        if isinstance(argument, torch.Tensor):
            gpu.hold(argument, name)
    with one_thread(), stand_in(lambda: gpu):
        if is_kernel(kernel):
            raise TypeError(f"{kernel.__name__} is a @cute.kernel: simulate the @cute.jit function that launches it")
        if is_jit(kernel) or is_jit(vars(type(kernel)).get("__call__")):
            tensors = [cute_tensor(arg) if isinstance(arg, torch.Tensor) else arg for arg in named.values()]
            return kernel(*with_streams(kernel, tensors, CUstream(0)))
        if type(kernel).__module__.startswith("cuda.tile"):
            import cuda.tile as ct

            return ct.launch(torch.cuda.current_stream(), tuple(grid), kernel, tuple(named.values()))
        return kernel(*with_streams(kernel, [*named.values()], torch.cuda.current_stream()))


def with_streams(function: Any, arguments: list[Any], stream: Any) -> list[Any]:
    """The arguments, with `stream` wherever the function takes a stream."""
    taken = list(arguments)
    for place, parameter in enumerate(parameters_of(function)):
        if is_stream(parameter) and place <= len(taken):
            taken.insert(place, stream)
    return taken


def parameters_of(function: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(function_of(function)).parameters.values())


def is_stream(parameter: inspect.Parameter) -> bool:
    return parameter.name == "stream" or "CUstream" in str(parameter.annotation)

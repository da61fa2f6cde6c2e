"""cuTile kernels, alone and as a Python function launches them: interpreted tile by tile."""

import linecache
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from tutorlib.compiling.errors import compile_failure
from tutorlib.dsl.cutile.kernels import function_of
from tutorlib.failure import Hazard
from tutorlib.simulate.ptx.findings import Finding, SourceLine
from tutorlib.simulate.ptx.report import Report as LaunchReport
from tutorlib.simulate.signatures import function_name, with_streams


class SeemsOnGpu(TorchFunctionMode):
    """Tensors say that they are on a GPU, which host functions insist on."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        is_asked = getattr(func, "__self__", None) is torch.Tensor.is_cuda  # the property, whose __get__ is called
        return True if is_asked else func(*args, **(kwargs or {}))


def is_tile_kernel(kernel: Any) -> bool:
    return type(kernel).__module__.startswith("cuda.tile")


def simulate_function(
    function: Callable[..., Any], arguments: Sequence[Any], arch: str
) -> tuple[list[LaunchReport], Any]:
    """The launches of a Python function, and what it returns.

    Raises ValueError if it takes other arguments or launches nothing, CompileFailed, and what it raises itself.
    """
    from tutorlib.simulate.cutile.launching import STREAM, interpreted

    taken = with_streams(function, arguments, STREAM)
    with refusals(), interpreted(arch=tile_arch(arch)) as launched, SeemsOnGpu():
        returned = function(*taken.values())
    if not launched:
        raise ValueError(f"{function_name(function)} launches no cuTile kernel")
    return [launch_report(one.kernel, one.report) for one in launched], returned


def simulate_tile_kernel(kernel: Any, arguments: Sequence[Any], grid: Sequence[int], arch: str) -> LaunchReport:
    """Raises ValueError without a grid or with other arguments than the kernel's, and CompileFailed."""
    from tutorlib.simulate.cutile.run import run

    function = function_of(kernel)
    if not grid:
        raise ValueError(f"{function_name(function)} is a kernel: it needs a grid")
    taken = with_streams(function, arguments, None)
    with refusals():
        report = run(kernel, grid, list(taken.values()), tile_arch(arch))
    return launch_report(kernel, report)


@contextmanager
def refusals() -> Iterator[None]:
    """What cuTile's compiler refuses raises CompileFailed."""
    from cuda.tile import TileError

    try:
        yield
    except TileError as error:
        raise compile_failure(error, error.message.strip()) from error


def tile_arch(arch: str) -> str:
    """cuTile's name of a compute capability: "sm_90" of "90a"."""
    return f"sm_{arch.rstrip('af')}"


def launch_report(kernel: Any, report: Any) -> LaunchReport:
    """An interpreted launch's report (`cutile.Report`) in the form of a simulated one's."""
    file = function_of(kernel).__code__.co_filename

    def finding(seen: Any) -> Finding:
        place = SourceLine(file, seen.line, linecache.getline(file, seen.line).strip()) if seen.line else None
        return Finding(Hazard(seen.kind), seen.message, place, 0, 1)

    return LaunchReport(
        findings=tuple(map(finding, report.findings)),
        accesses=(),
        blocks=report.blocks,
        issued=(),
        repeats=tuple(map(finding, report.repeats)),
    )

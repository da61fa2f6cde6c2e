"""cuTile kernels, alone and as a Python function launches them: interpreted tile by tile."""

import linecache
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from tutorlib.dsl.cutile.kernels import function_of
from tutorlib.failure import Hazard
from tutorlib.simulate.ptx.findings import Finding, SourceLine
from tutorlib.simulate.ptx.report import Report as LaunchReport
from tutorlib.simulate.signatures import function_name, with_streams


class SeemsOnGpu(TorchFunctionMode):
    """Tensors say that they are on a GPU, which host functions insist on."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return True if func == torch.Tensor.is_cuda.__get__ else func(*args, **(kwargs or {}))


def is_tile_kernel(kernel: Any) -> bool:
    return type(kernel).__module__.startswith("cuda.tile")


def simulate_function(
    function: Callable[..., Any], arguments: Sequence[Any], arch: str
) -> tuple[list[LaunchReport], Any]:
    """The launches of a Python function, and what it returns.

    Raises ValueError if it takes other arguments or launches nothing, cuda.tile.TileError, and what it raises itself.
    """
    from tutorlib.simulate.cutile.launching import STREAM, interpreted

    taken = with_streams(function, arguments, STREAM)
    with interpreted(arch=tile_arch(arch)) as launched, SeemsOnGpu():
        returned = function(*taken.values())
    if not launched:
        raise ValueError(f"{function_name(function)} launches no cuTile kernel")
    return [launch_report(one.kernel, one.report) for one in launched], returned


def simulate_tile_kernel(kernel: Any, arguments: Sequence[Any], grid: Sequence[int], arch: str) -> LaunchReport:
    """Raises ValueError without a grid or with other arguments than the kernel's, and cuda.tile.TileError."""
    from tutorlib.simulate.cutile.run import run

    function = function_of(kernel)
    if not grid:
        raise ValueError(f"{function_name(function)} is a kernel: it needs a grid")
    return launch_report(
        kernel, run(kernel, grid, list(with_streams(function, arguments, None).values()), tile_arch(arch))
    )


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

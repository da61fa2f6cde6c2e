"""cuTile kernels, which are interpreted tile by tile."""

import linecache
from collections.abc import Sequence
from typing import Any

from tutorlib.compiling.cutile import refusals
from tutorlib.dsl.cutile.kernels import function_of
from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.findings import Finding, SourceLine
from tutorlib.simulate.ptx.report import Report as LaunchReport
from tutorlib.simulate.signatures import function_name, with_streams


def is_tile_kernel(kernel: Any) -> bool:
    return type(kernel).__module__.startswith("cuda.tile")


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

"""cuTile: a launch is interpreted, tile by tile."""

import linecache
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tutorlib.compiling.cutile import refusals
from tutorlib.dsl.cutile.kernels import function_of
from tutorlib.dsl.cutile.launch import launched_by
from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.cutile.launching import refuse_launch
from tutorlib.simulate.cutile.run import run
from tutorlib.simulate.ptx.findings import Finding, SourceLine
from tutorlib.simulate.ptx.report import Report
from tutorlib.simulate.quotes import quoted
from tutorlib.simulate.stand_in.gpu import StandInGpu


@contextmanager
def cutile_on(gpu: StandInGpu) -> Iterator[None]:
    def launch(stream: Any, grid: Any, kernel: Any, args: Any, /, **options: Any) -> None:
        refuse_launch(stream, grid, kernel, args)
        gpu.run_other_work()
        gpu.take(function_of(kernel).__name__, lambda: interpreted_launch(kernel, grid, args, gpu.arch))

    with launched_by(launch):
        yield


def interpreted_launch(kernel: Any, grid: tuple[int, ...], args: tuple[Any, ...], arch: str) -> Report:
    """The report of a launch. Raises CompileFailed, and what `cutile.run` raises."""
    file = function_of(kernel).__code__.co_filename
    linecache.checkcache(file)

    def finding(seen: Any) -> Finding:
        place = SourceLine(file, seen.line, quoted(file, seen.line)) if seen.line else None
        return Finding(Hazard(seen.kind), seen.message, place, 0, 1)

    with refusals():
        report = run(kernel, grid, args, f"sm_{arch.rstrip('af')}")
    findings, repeats = (tuple(map(finding, some)) for some in (report.findings, report.repeats))
    return Report(findings, (), report.blocks, (), repeats=repeats)

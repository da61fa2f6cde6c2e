"""cuTile: a launch is interpreted, tile by tile."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tutorlib.compiling.cutile import refusals
from tutorlib.dsl.cutile.kernels import function_of, launched_by
from tutorlib.simulate.cutile.run import TileReport, run
from tutorlib.simulate.cutile.signature import refuse_launch
from tutorlib.simulate.stand_in.gpu import StandInGpu


@contextmanager
def cutile_on(gpu: StandInGpu) -> Iterator[None]:
    def launch(stream: Any, grid: Any, kernel: Any, args: Any, /, **options: Any) -> None:
        def interpreted() -> TileReport:
            with refusals():
                return run(kernel, grid, args, f"sm_{gpu.arch.rstrip('af')}")

        refuse_launch(stream, grid, kernel, args)
        gpu.run_other_work()
        gpu.take(function_of(kernel).__name__, interpreted)

    with launched_by(launch):
        yield

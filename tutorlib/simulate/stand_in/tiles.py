"""cuTile, taken over in a block: launches are interpreted, tile by tile, and their reports kept or given to the GPU."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import cuda.tile as ct
import torch
from cuda.tile import tune

from tutorlib.compiling.dsls import refusals
from tutorlib.dsl.functions import function_of
from tutorlib.simulate.cutile.run import TileReport, refuse_launch, run
from tutorlib.simulate.stand_in.gpu import StandInGpu
from tutorlib.simulate.stand_in.torch_cuda import CURRENT, torch_on

SMS = 3  # SMs of the GPU that host code is told of: few, so that small matrices have more tiles
Take = Callable[[ct.kernel, tuple[int, ...], tuple[Any, ...], bool], None]  # kernel, grid, arguments, in current stream


@contextmanager
def taken_over(take: Take) -> Iterator[None]:
    """In the block, ct.launch passes its arguments to `take`. It raises TypeError and ValueError as cuTile's does."""

    def launch(stream: Any, grid: Any, kernel: Any, args: Any, /, **options: Any) -> None:
        refuse_launch(stream, grid, kernel, args, handles=(0, CURRENT.cuda_stream))
        with torch._C.DisableTorchFunction():
            take(kernel, grid, args, stream in (CURRENT, CURRENT.cuda_stream))

    with mock.patch.object(ct, "launch", launch):
        yield


@contextmanager
def cutile_on(gpu: StandInGpu) -> Iterator[None]:
    """Launches go to the GPU; cuTile's autotuner takes the first configuration."""

    def take(kernel: ct.kernel, grid: tuple[int, ...], args: tuple[Any, ...], current: bool) -> None:
        gpu.run_other_work()
        with refusals():
            gpu.take(function_of(kernel).__name__, lambda: run(kernel, grid, args, f"sm_{gpu.arch.rstrip('af')}"))

    def first_of(search_space: Sequence[Any], *args: Any, **options: Any) -> tune.TuningResult:
        best = tune.Measurement(config=search_space[0], mean_us=1.0, num_samples=1, error_margin_us=0.0)
        return tune.TuningResult(best=best, successes=(best,), failures=())

    with taken_over(take), mock.patch.object(tune, "exhaustive_search", first_of):
        yield


@contextmanager
def launches_to(take: Take, sms: int = SMS) -> Iterator[None]:
    """The same where nothing else takes torch over: there seems to be a GPU with `sms` SMs."""
    with torch_on(StandInGpu("90", lambda report: None, sms)), taken_over(take):
        yield


@contextmanager
def launches_interpreted() -> Iterator[list[TileReport]]:
    """In the block ct.launch interprets, for a GPU of SMS SMs; the reports so far. A launch raises as `cutile.run`."""
    reports: list[TileReport] = []

    def take(kernel: ct.kernel, grid: tuple[int, ...], args: tuple[Any, ...], current: bool) -> None:
        reports.append(replace(run(kernel, grid, args), current=current))

    with launches_to(take):
        yield reports

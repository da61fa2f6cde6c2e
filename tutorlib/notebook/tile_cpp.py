"""Tile C++ kernels beside each other in a notebook: what the compiler made of them, their speed, their counters."""

import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

from tutorlib.checking.cpp import INSPECTED, CppExercise
from tutorlib.compiling.cpp import compile_cpp
from tutorlib.compiling.driver import LaunchGrid
from tutorlib.exercises import find
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC
from tutorlib.measuring.counters import NoCounters, count
from tutorlib.measuring.launchers import CppLauncher
from tutorlib.measuring.measure import measure
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Work


def race(problem: Problem, shape: Shape, sources: dict[str, tuple[str, Callable[[Shape], LaunchGrid]]]) -> None:
    """Print what the compiler made of each source for Hopper; with a GPU, also its speed beside the baseline's.

    sources: title → source and grid. Raises CompileFailed, WrongWhenTimed and KernelFault.
    """
    reason = device.why_not(MMA_SYNC)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda pair: compile_cpp(pair[0], INSPECTED), sources.values()))
    for title, (source, grid) in sources.items():
        compiled = compile_cpp(source, INSPECTED)
        tma = "   TMA" if "cp.async.bulk.tensor" in compiled.instructions else "no TMA"
        line = (
            f"{title:28} {compiled.threads} threads, {compiled.registers:3} registers, "
            f"{compiled.stack_bytes:5,} bytes of stack, {tma}"
        )
        if not reason:
            measured = measure(problem, CppLauncher(source, grid), shape)
            line += f"  {measured.median_us:8.1f} µs, {measured.ratio:.2f} of {measured.baseline}"
        print(line)
    if reason:
        print(f"their speed: not run: {reason}")


COUNTED = {  # title → metric
    "threads": "launch__block_size",  # of a block
    "µs": "gpu__time_duration.sum",
    "% of peak": "sm__throughput.avg.pct_of_peak_sustained_elapsed",  # of the SMs' busiest part
    "stalled": "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",  # warps that wait for memory
}


def profile(sources: dict[str, tuple[str, str]]) -> None:
    """Print what Nsight Compute counts of each source, launched as an exercise launches its answer to time it.

    sources: title → the exercise's id and the source. Where nothing can be counted, a line says why.
    """
    if reason := device.why_not(MMA_SYNC):
        print(f"not counted: {reason}")
        return
    with tempfile.TemporaryDirectory() as folder:
        pairs = []
        for n, (id, source) in enumerate(sources.values()):
            file = Path(folder) / f"{n}.cu"
            file.write_text(source, encoding="utf-8")
            pairs += [id, str(file)]
        try:
            counted = count([sys.executable, "-m", __name__, *pairs], tuple(COUNTED.values()), "gemm")
        except NoCounters as error:
            print(f"not counted: {error}")
            return
    print(f"{'':28}{''.join(f'{name:>12}' for name in COUNTED)}")
    for title, found in zip(sources, counted, strict=True):
        values = dict(zip(COUNTED, found.values(), strict=True))
        values["µs"] /= 1000
        print(f"{title:28}{''.join(f'{value:12,.1f}' for value in values.values())}")


def launch_each(arguments: Sequence[str]) -> None:
    """Launch sources once each, for a profiler to watch: an exercise's id and a file, and so on in turns."""
    import torch

    for id, file in zip(arguments[::2], arguments[1::2], strict=True):
        exercise = cast(CppExercise, find(id))
        work = Work(exercise.problem, exercise.sizes[-1])
        exercise.launcher(Path(file).read_text(encoding="utf-8")).on(work)()
        torch.cuda.synchronize()


if __name__ == "__main__":
    launch_each(sys.argv[1:])

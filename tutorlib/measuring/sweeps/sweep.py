"""What a sweep is, and how it is measured and counted."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tutorlib.measuring import counters
from tutorlib.measuring.measure import measure
from tutorlib.measuring.results import Point
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Call, Launcher, Work, new_generator


@dataclass(frozen=True)
class Candidate:
    """A kernel of a sweep.

    name: in the figure's legend. smem_bytes: shared memory of a block; 0 where the compiler sees to it that it fits.
    facts: what else a figure must know of it, as JSON has it.
    """

    name: str
    launcher: Launcher
    smem_bytes: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Sweep:
    """Kernels that solve the same problem, and the shapes at which they are timed beside its baseline.

    shapes: the most telling first, in case there is no time for all.
    counters: what ncu counts of the baseline and of each kernel at the first shape, where there is an ncu that may.
    """

    problem: Problem
    candidates: tuple[Candidate, ...]
    shapes: tuple[Shape, ...]
    counters: tuple[str, ...] = ()


def measure_all(sweep: Sweep) -> Iterator[Point]:
    """Every candidate that this GPU has the shared memory for, at every shape, one after the other.

    Raises WrongWhenTimed and KernelFault: a sweep of kernels that fail is none.
    """
    import torch

    limits = torch.cuda.get_device_properties(torch.cuda.current_device())
    room = limits.shared_memory_per_block_optin  # type: ignore[attr-defined]  # not in torch's stubs
    for shape in sweep.shapes:
        for candidate in sweep.candidates:
            if candidate.smem_bytes <= room:
                yield Point(candidate.name, measure(sweep.problem, candidate.launcher, shape), candidate.facts)


def count_all(name: str, sweep: Sweep) -> dict[str, dict[str, float]]:
    """The counters of the baseline and of each kernel of the sweep with this name.

    {} where none are asked for, none come, or a baseline is more than one launch.
    """
    if not sweep.counters:
        return {}
    names = [sweep.problem.baseline_name, *(candidate.name for candidate in sweep.candidates)]
    command = [sys.executable, "-m", "tutorlib.measuring.sweeps", name]
    try:
        launches = counters.count(command, sweep.counters, marked=True)
    except counters.NoCounters:
        return {}
    return dict(zip(names, launches, strict=True)) if len(launches) == len(names) else {}


def launch_for_profiler(sweep: Sweep) -> None:
    """Call the baseline and each kernel of a sweep at its first shape, the second call of each for ncu to look at."""
    import torch

    work = Work(sweep.problem, sweep.shapes[0])
    work.refill(new_generator())
    calls: list[Call] = [partial(sweep.problem.baseline, work.output.tensor, *work.inputs)]
    calls += [candidate.launcher.on(work) for candidate in sweep.candidates]
    for call in calls:
        call()
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    for call in calls:
        call()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()

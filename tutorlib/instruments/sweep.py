"""How a sweep is measured and counted: many kernels at many sizes, each timed beside its problem's baseline.

python -m tutorlib.instruments.sweep MODULE FUNCTION ARGUMENT … calls a function in a process of its own.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC, Feature
from tutorlib.measuring import counters, timing
from tutorlib.measuring.results import Failure, Point
from tutorlib.measuring.timing import WrongWhenTimed, measure
from tutorlib.paths import ROOT
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Call, KernelFault, Launcher, Work, call_in_order, context_broken, new_generator

LARGE_FLOP = 2**38  # twice 4096³
PAIRS_IF_LARGE = 16  # at most: there times scatter by 0.3 %, and looking at an output takes longer than timing it


@dataclass(frozen=True)
class Candidate:
    """A kernel of a sweep.

    name: in the figure's legend. smem_bytes: shared memory of a block; 0 where the compiler sees to it that it fits.
    facts: what else a figure must know of it, as JSON has it. needs: what a GPU must have to run it.
    problem: what it solves, where that is not the sweep's.
    inspect: takes a shape at which it was timed and looks closer: more facts of that point.
    """

    name: str
    launcher: Launcher
    smem_bytes: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
    needs: Feature = MMA_SYNC
    problem: Problem | None = None
    inspect: Callable[[Shape], dict[str, Any]] | None = None


@dataclass(frozen=True)
class Sweep:
    """Kernels that solve the same problem, and the shapes at which they are timed beside its baseline.

    shapes: the most telling first, in case there is no time for all.
    counters: what ncu counts of the baseline and of each kernel at the first shape, where there is an ncu that may.
    pairs: as `measure` takes them.
    seconds: no measurement begins later, where the user says nothing else.
    facts: of the sweep as a whole, as JSON has them; look: finds out more of them on the GPU at hand.
    """

    problem: Problem
    candidates: tuple[Candidate, ...]
    shapes: tuple[Shape, ...]
    counters: tuple[str, ...] = ()
    pairs: int = timing.PAIRS
    seconds: float = 3600
    facts: dict[str, Any] = field(default_factory=dict)
    look: Callable[[], dict[str, Any]] | None = None


def measure_all(sweep: Sweep, known: Collection[tuple[str, Shape]] = ()) -> Iterator[Point | Failure]:
    """Every candidate that this GPU can run, at every shape, one after the other, but for those that are known.

    One that fails is a Failure, and the others go on; after one that breaks the CUDA context (Failure.fatal) none can.
    """
    for shape in sweep.shapes:
        for candidate in sweep.candidates:
            if (candidate.name, shape) not in known and fits(candidate):
                found = measure_one(sweep, candidate, shape)
                yield found
                if isinstance(found, Failure) and found.fatal:
                    return


def fits(candidate: Candidate) -> bool:
    """Whether this GPU has its instructions and its shared memory."""
    import torch

    limits = torch.cuda.get_device_properties(torch.cuda.current_device())
    room = limits.shared_memory_per_block_optin  # type: ignore[attr-defined]  # not in torch's stubs
    return candidate.smem_bytes <= room and device.why_not(candidate.needs) is None


def measure_one(sweep: Sweep, candidate: Candidate, shape: Shape) -> Point | Failure:
    """One candidate at one shape: called once under a time limit, in case it hangs, then timed, then looked at."""
    problem = candidate.problem or sweep.problem
    pairs = min(sweep.pairs, PAIRS_IF_LARGE) if sweep.problem.flops(shape) >= LARGE_FLOP else sweep.pairs
    try:
        call_once(problem, candidate.launcher, shape)
        measured = measure(problem, candidate.launcher, shape, pairs)
        more = candidate.inspect(shape) if candidate.inspect else {}
        return Point(candidate.name, measured, candidate.facts | more)
    except (WrongWhenTimed, KernelFault) as error:
        says = str(error)
    except Exception as error:  # a compiler's, or a rule that the configuration breaks at this shape
        says = f"{type(error).__name__}: {error}".splitlines()[0]
    return Failure(candidate.name, shape, says, fatal=context_broken())


def call_once(problem: Problem, launcher: Launcher, shape: Shape) -> None:
    """So that a kernel that hangs is found out before it is timed, where nothing would end it. Raises KernelFault."""
    work = Work(problem, shape)
    call_in_order(launcher.on(work), work.output)


def count_all(name: str, sweep: Sweep) -> dict[str, dict[str, float]]:
    """The counters of the baseline and of each kernel of the sweep with this name.

    A baseline that launches no kernel (torch's copy_ has the driver copy) has none. {} where none are asked for, none
    come, or a baseline is more than one launch.
    """
    if not sweep.counters:
        return {}
    names = [sweep.problem.baseline_name, *(candidate.name for candidate in sweep.candidates)]
    try:
        launches = counters.count(command_of(launch_for_profiler, name), sweep.counters, marked=True)
    except counters.NoCounters:
        return {}
    if len(launches) == len(sweep.candidates):
        names = names[1:]
    return dict(zip(names, launches, strict=True)) if len(launches) == len(names) else {}


def launch_for_profiler(name: str) -> None:
    """Call the baseline and each kernel of a sweep at its first shape, the second call of each for ncu to look at."""
    sweep = import_module("tutorlib.instruments.table").SWEEPS[name]()
    work = Work(sweep.problem, sweep.shapes[0])
    work.refill(new_generator())
    calls: list[Call] = [partial(sweep.problem.baseline, work.output.tensor, *work.inputs)]
    calls += [candidate.launcher.on(work) for candidate in sweep.candidates]
    counters.launch_marked(calls)


# Processes ------------------------------------------------------------------------------------------------------------


class Failed(Exception):
    """A measurement is not possible here, or its process ended with an error. One line."""


def command_of(function: Callable[..., Any], *arguments: str) -> list[str]:
    """The command that calls a function of a module, and prints its result as JSON."""
    return [sys.executable, "-m", __spec__.name, function.__module__, function.__name__, *arguments]


def in_a_process(function: Callable[..., Any], *arguments: str) -> Any:
    """The function's result in a new process. Raises Failed."""
    command = command_of(function, *arguments)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{function.__name__}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    module, name, *arguments = sys.argv[1:]
    print(json.dumps(getattr(import_module(module), name)(*arguments)))

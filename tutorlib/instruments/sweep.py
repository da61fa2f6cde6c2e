"""How a sweep is measured and counted: many kernels at many sizes, each timed beside its problem's baseline."""

import sys
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import torch

from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC, Feature
from tutorlib.measuring import counters, timing
from tutorlib.measuring.results import Failure, Point
from tutorlib.measuring.timing import WrongWhenTimed
from tutorlib.measuring.trusted import measure
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import KernelFault, Launcher, Work, call_in_order, context_broken

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
    pairs, in_a_row: as `measure` takes them.
    seconds: no measurement begins later, where the user says nothing else.
    facts: of the sweep as a whole, as JSON has them; look: finds out more of them on the GPU at hand.
    """

    problem: Problem
    candidates: tuple[Candidate, ...]
    shapes: tuple[Shape, ...]
    counters: tuple[str, ...] = ()
    pairs: int = timing.PAIRS
    in_a_row: bool = False
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
    limits = torch.cuda.get_device_properties(torch.cuda.current_device())
    room = limits.shared_memory_per_block_optin  # type: ignore[attr-defined]  # not in torch's stubs
    return candidate.smem_bytes <= room and device.why_not(candidate.needs) is None


def measure_one(sweep: Sweep, candidate: Candidate, shape: Shape) -> Point | Failure:
    """One candidate at one shape: called once under a time limit, in case it hangs, then timed, then looked at."""
    problem = candidate.problem or sweep.problem
    pairs = min(sweep.pairs, PAIRS_IF_LARGE) if sweep.problem.flops(shape) >= LARGE_FLOP else sweep.pairs
    try:
        call_once(problem, candidate.launcher, shape)
        measured = measure(problem, candidate.launcher, shape, pairs, sweep.in_a_row)
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
    code = f"from tutorlib.instruments.table import launch_for_profiler; launch_for_profiler({name!r})"
    try:
        launches = counters.count([sys.executable, "-c", code], sweep.counters, marked=True)
    except counters.NoCounters:
        return {}
    if len(launches) == len(sweep.candidates):
        names = names[1:]
    return dict(zip(names, launches, strict=True)) if len(launches) == len(names) else {}


class Failed(Exception):
    """A measurement is not possible here, or its process ended with an error. One line."""


def in_a_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """The function's result in a new process, which has compiled nothing yet. Raises Failed."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        try:
            return pool.submit(function, *arguments).result()
        except Exception as error:
            raise Failed(f"{function.__name__}: {type(error).__name__}: {error}".splitlines()[0]) from error

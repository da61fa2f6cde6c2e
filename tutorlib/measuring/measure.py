"""Measurements: a kernel's launcher timed beside the problem's baseline, every timed output checked."""

from functools import partial

from tutorlib.machine import device, turns
from tutorlib.measuring import bench
from tutorlib.measuring.measurement import Measurement, summarise
from tutorlib.problems.differences import find_difference
from tutorlib.problems.fault import KernelFault, fault
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Launcher, Work, new_generator

ATTEMPTS = 3  # at a measurement that is not too noisy


class WrongWhenTimed(Exception):
    """A timed call gave a wrong result; the message describes it."""


def measure(problem: Problem, launcher: Launcher, shape: Shape, pairs: int = bench.PAIRS) -> Measurement:
    """The kernel's time at a shape beside the baseline's, on the GPU at hand; a noisy measurement is taken again.

    It may still be noisy then: see `Measurement.noisy`. At least `pairs` pairs are timed, in rounds of a few ms between
    which the GPU rests while outputs are checked. Raises WrongWhenTimed if a timed call's output is wrong or an input
    was changed, and KernelFault.
    """
    with turns.own_turn():
        for _ in range(ATTEMPTS):
            measured = measure_once(problem, launcher, shape, pairs)
            if not measured.noisy:
                break
    return measured


def measure_once(problem: Problem, launcher: Launcher, shape: Shape, pairs: int = bench.PAIRS) -> Measurement:
    """As `measure`, whatever the noise."""
    try:
        sets = bench.buffer_sets(problem.bytes(shape), device.need_gpu().l2)
        works = [Work(problem, shape) for _ in range(sets)]
        other_outputs = [work.output.tensor.clone() for work in works]  # the baseline has its own
        sums: list[tuple[int, ...]] = []

        def refresh() -> None:
            for work in works:
                work.refill(new_generator())
            sums[:] = [work.checksums() for work in works]

        def spoil() -> None:
            for work in works:
                work.output.poison()

        def verify() -> None:
            for work, before in zip(works, sums, strict=True):
                if work.checksums() != before:
                    raise WrongWhenTimed("the kernel changed an input.")
                left = work.output.as_it_is()
                if wrong := find_difference(problem.output.name, *left.seen, *work.expected()):
                    raise WrongWhenTimed(wrong.what)

        kernels = [launcher.on(work) for work in works]
        baselines = [
            partial(problem.baseline, output, *work.inputs) for output, work in zip(other_outputs, works, strict=True)
        ]
        return summarise(bench.paired(kernels, baselines, refresh, spoil, verify, pairs), problem, shape)
    except (WrongWhenTimed, KernelFault):
        raise
    except Exception as error:
        raise fault(error) from error

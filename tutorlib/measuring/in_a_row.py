"""Measurements of calls that follow one another, as in a model: graphs of them, beside graphs of the baseline's."""

from dataclasses import replace

from tutorlib.machine import device
from tutorlib.machine.device import Clocks, clocks
from tutorlib.measuring.timing import PAIRS, Measurement, Times, WrongWhenTimed, buffer_sets, summarise
from tutorlib.problems.differences import find_difference
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Launcher, Work, new_generator

REGIME = "in a row"


def measure_in_a_row(problem: Problem, launcher: Launcher, shape: Shape, pairs: int = PAIRS) -> Measurement:
    """The time of a call among others, beside the baseline's; a pair is two graphs, one after the other.

    Every call has tensors that L2 does not hold. The GPU rests after each pair, and outputs are checked after the last.
    Raises WrongWhenTimed where one is wrong, or an input was changed.
    """
    from tutorlib.kernels.hopper import tune

    works = [Work(problem, shape) for _ in range(buffer_sets(problem.bytes(shape), device.need_gpu().l2))]
    for work in works:
        work.refill(new_generator())
    sums = [work.checksums() for work in works]
    sets = [(work, work.output.tensor.clone()) for work in works]  # the baseline has its own outputs
    sampled: list[Clocks | None] = []

    def spoil() -> None:
        for work in works:
            work.output.poison()

    kernel, baseline = tune.in_a_row(
        [lambda work, _: launcher.on(work)(), lambda work, out: problem.baseline(out, *work.inputs)],
        sets,
        pairs,
        ready=spoil,
        meanwhile=lambda: sampled.append(clocks()),
    )
    for work, before in zip(works, sums, strict=True):
        if work.checksums() != before:
            raise WrongWhenTimed("the kernel changed an input.")
        if wrong := find_difference(problem.output.name, *work.output.seen, *work.expected()):
            raise WrongWhenTimed(wrong.what)
    known = tuple(each for each in sampled if each is not None)
    return replace(summarise(Times(tuple(kernel), tuple(baseline), known), problem, shape), regime=REGIME)

"""Calls of cuTile kernels that the process of the answer interpreted: what the judge makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tutorlib.checking.evidence import Calls, Interpreted, used
from tutorlib.checking.randomness import fresh_generator
from tutorlib.compiling.errors import CompileFailed
from tutorlib.problems.differences import BY_LUCK, Wrong, WrongResult, find_difference, input_changed
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Output, Snapshot
from tutorlib.simulate.tensors import one_thread

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.simulate.cutile import TileReport
    from tutorlib.simulate.ptx import Finding

PADDING = (
    "It is right where the part of a tile outside its array happens to be 0. That part is undetermined "
    "until the load has a padding_mode."
)


def calls_of(problem: Problem, shape: Shape) -> Calls:
    """The tensors of the calls that are interpreted: identity and ramp, then random inputs; a poisoned output each."""
    drawn = (problem.pattern(shape, "cpu"), problem.random(shape, fresh_generator()))
    return tuple((*inputs, poisoned(problem, shape).tensor) for inputs in drawn)


def poisoned(problem: Problem, shape: Shape) -> Output:
    return Output(problem.output, problem.shape_of(problem.output, shape), "cpu")


@dataclass(frozen=True)
class Interpretation:
    """What the judge finds at one size: a fault or None; and the last call."""

    wrong: Wrong | None
    last: Interpreted

    @property
    def reports(self) -> "tuple[TileReport, ...]":
        return self.last.reports

    @property
    def repeated(self) -> str:
        """Elements stored more than once, as a sentence, or ""."""
        return next((noticed_as(finding) + "." for report in self.reports for finding in report.repeats), "")


@one_thread()
def judged(
    problem: Problem, shape: Shape, calls: Calls, found: Any, mistakes: Sequence[WrongResult] = ()
) -> Interpretation:
    """The fault of the calls that were interpreted. A mistake is named if it explains the errors with all inputs.

    found: what the evidence has. Raises CompileFailed and NotSimulated.
    """
    first: Wrong | None = None
    likely = list(mistakes)
    interpreted = used(found, tuple)
    for (*inputs, _), one in zip(calls, interpreted, strict=True):
        expected = problem.expected(tuple(inputs), shape)
        if wrong := fault_of_call(problem, shape, used(one, Interpreted), expected):
            seen = result_in(problem, shape, one.output)
            likely = [each for each in likely if seen and each.explains(problem, tuple(inputs), seen.seen, expected[1])]
            first = first or wrong
    if first and likely:
        first = Wrong(first.what, likely[0].says)
    return Interpretation(first, interpreted[-1])


def fault_of_call(problem: Problem, shape: Shape, one: Interpreted, expected: "tuple[Tensor, Tensor]") -> Wrong | None:
    """What is wrong with a call: its result, its inputs, or what the interpreter noticed."""
    if one.raised:
        return Wrong(one.raised)
    if one.changed:
        return input_changed(problem.inputs[one.changed[0]].name)
    found = difference(problem, shape, one.output, expected)
    noticed = next((noticed_as(finding) for report in one.reports for finding in report.findings), None)
    if found is None:
        return Wrong(BY_LUCK + noticed + ".") if noticed else None
    if one.zeroed is not None and not difference(problem, shape, one.zeroed, expected):
        return Wrong(found.what, PADDING)
    return Wrong(found.what, "Noticed while it ran: " + noticed + "." if noticed else found.mistake)


def difference(
    problem: Problem, shape: Shape, output: "Tensor | None", expected: "tuple[Tensor, Tensor]"
) -> Wrong | None:
    seen = result_in(problem, shape, output)
    if seen is None:
        raise CompileFailed(f"{problem.output.name} cannot be read")
    return find_difference(problem.output.name, *seen.seen, *expected)


def result_in(problem: Problem, shape: Shape, output: "Tensor | None") -> Snapshot | None:
    """An output that came from another process; None where it is none."""
    kept = poisoned(problem, shape)
    if type(output) is not type(kept.tensor) or (output.shape, output.dtype) != (kept.tensor.shape, kept.tensor.dtype):
        return None
    kept.tensor.copy_(output)
    return kept.as_it_is()


def noticed_as(finding: "Finding") -> str:
    return finding.message + (f" (line {finding.place.line})" if finding.place else "")

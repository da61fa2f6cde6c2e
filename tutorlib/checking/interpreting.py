"""cuTile launches interpreted at one size and looked at from all sides: result, inputs, what was noticed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import is_placeholder
from tutorlib.compiling.errors import CompileFailed, compile_failure
from tutorlib.problems.differences import find_difference
from tutorlib.problems.output import Output
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.wrong import Wrong

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.simulate.cutile import Finding, Report

PADDING = (
    "It is right where the part of a tile outside its array happens to be 0. That part is undetermined "
    "until the load has a padding_mode."
)

# Takes the problem's tensors, the output last, and options of simulate.cutile.run; launches, gives a report for each.
Launches = Callable[..., "Sequence[Report]"]


@dataclass(frozen=True)
class WrongResult:
    """A wrong result that an answer may have, to be recognised by its values.

    result: takes the inputs in float64, and gives what a kernel with this mistake computes, exactly.
    """

    says: str
    result: Callable[..., "Tensor"]


@dataclass(frozen=True)
class Interpretation:
    """What was found at one size: a fault or None, and the reports of the last launches."""

    wrong: Wrong | None
    reports: "tuple[Report, ...]" = ()

    @property
    def repeated(self) -> str:
        """What is stored more than once, as a sentence; "" where nothing is."""
        return next((f"{sentence(finding)}." for report in self.reports for finding in report.repeats), "")


def interpret(problem: Problem, shape: Shape, launches: Launches, mistakes: Sequence[WrongResult] = ()) -> Interpretation:
    """Identity and ramp, then random inputs; the first fault. A mistake is named where it explains all wrong results.

    Raises CompileFailed, NotSimulated and the placeholder's NotImplementedError.
    """
    import torch

    generator = torch.Generator()
    generator.seed()
    first: Wrong | None = None
    likely = list(mistakes)
    reports: tuple[Report, ...] = ()
    for inputs in (problem.pattern(shape, "cpu"), problem.random(shape, generator)):
        once = Once(problem, shape, inputs, launches)
        wrong, reports = once.judged()
        if wrong:
            likely = [mistake for mistake in likely if once.looks_like(mistake)]
            first = first or wrong
    if first and likely:
        first = Wrong(first.what, likely[0].says)
    return Interpretation(first, reports)


class Once:
    """One call on these inputs."""

    def __init__(self, problem: Problem, shape: Shape, inputs: "tuple[Tensor, ...]", launches: Launches) -> None:
        self.problem, self.shape, self.inputs, self.launches = problem, shape, inputs, launches
        self.output = Output(problem.output, problem.shape_of(problem.output, shape), "cpu")
        self.expected = problem.expected(inputs, shape)

    def judged(self) -> "tuple[Wrong | None, tuple[Report, ...]]":
        """The result, the inputs and what the interpreter noticed."""
        kept = [x.clone() for x in self.inputs]
        try:
            reports = self.launch()
        except (CompileFailed, Wrongly):
            raise
        except Exception as error:
            if isinstance(error, NotImplementedError) and (is_placeholder(error) or is_not_simulated(error)):
                raise
            return Wrong(f"while it ran: {type(error).__name__}: {error}"), ()
        for op, before, after in zip(self.problem.inputs, kept, self.inputs, strict=True):
            if not before.equal(after):
                return Wrong(f"the kernel changed its input {op.name}."), reports
        noticed = [sentence(finding) for report in reports for finding in report.findings if finding.kind != "unwritten"]
        self.seen = self.output.as_it_is().seen
        found = find_difference(self.problem.output.name, *self.seen, *self.expected)
        if found is None:
            return (Wrong(f"the result is right by luck: {noticed[0]}.") if noticed else None), reports
        self.output.poison()
        self.launch(undetermined=lambda dtype: 0)
        if not find_difference(self.problem.output.name, *self.output.as_it_is().seen, *self.expected):
            return Wrong(found.what, PADDING), reports
        return Wrong(found.what, f"Noticed while it ran: {noticed[0]}." if noticed else found.mistake), reports

    def launch(self, **options: Any) -> "tuple[Report, ...]":
        import cuda.tile as ct

        try:
            return tuple(self.launches(*self.inputs, self.output.tensor, **options))
        except ct.TileError as error:
            raise compile_failure(error, error.message.strip()) from error

"""cuTile launches interpreted at one size: their result, their inputs, and the findings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tutorlib.checking.randomness import fresh_generator
from tutorlib.compiling.cutile import refusals
from tutorlib.compiling.errors import CompileFailed
from tutorlib.failure import Fail, Flaw, failures_in
from tutorlib.problems.differences import find_difference
from tutorlib.problems.output import Output
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.wrong import BY_LUCK, Wrong, input_changed
from tutorlib.problems.wrong_result import WrongResult
from tutorlib.simulate.threads import one_thread

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.simulate.cutile import TileReport
    from tutorlib.simulate.ptx import Finding

PADDING = (
    "It is right where the part of a tile outside its array happens to be 0. That part is undetermined "
    "until the load has a padding_mode."
)

# Takes the problem's tensors, the output last, and options of simulate.cutile.run; gives a report for each launch.
Launches = Callable[..., "Sequence[TileReport]"]


@dataclass(frozen=True)
class Interpretation:
    """The findings at one size: a fault or None, and the reports of the last launches."""

    wrong: Wrong | None
    reports: "tuple[TileReport, ...]" = ()

    @property
    def repeated(self) -> str:
        """Elements stored more than once, as a sentence, or ""."""
        return next((noticed_as(finding) + "." for report in self.reports for finding in report.repeats), "")


@one_thread()
def interpret(
    problem: Problem, shape: Shape, launches: Launches, mistakes: Sequence[WrongResult] = ()
) -> Interpretation:
    """Identity and ramp, then random inputs. A mistake is named if it explains the errors with both.

    Raises CompileFailed, NotSimulated and the placeholder's NotImplementedError.
    """

    generator = fresh_generator()
    first: Wrong | None = None
    likely = list(mistakes)
    reports: tuple[TileReport, ...] = ()
    for inputs in (problem.pattern(shape, "cpu"), problem.random(shape, generator)):
        call = Interpreted(problem, shape, inputs, launches)
        if wrong := call.fault():
            likely = [mistake for mistake in likely if call.shows(mistake)]
            first = first or wrong
        reports = call.reports
    if first and likely:
        first = Wrong(first.what, likely[0].says)
    return Interpretation(first, reports)


class Interpreted:
    """The launches on these inputs, into the checker's own output.

    reports: of the launches so far; seen: the output's values and the mask of unwritten ones, after the first.
    """

    def __init__(self, problem: Problem, shape: Shape, inputs: "tuple[Tensor, ...]", launches: Launches) -> None:
        self.problem, self.inputs, self.launches = problem, inputs, launches
        self.output = Output(problem.output, problem.shape_of(problem.output, shape), "cpu")
        self.expected = problem.expected(inputs, shape)
        self.reports: tuple[TileReport, ...] = ()
        self.seen: tuple[Tensor, Tensor] | None = None

    def fault(self) -> Wrong | None:
        """A fault of the result, of the inputs, or among the interpreter's findings; unwritten elements show as NaN."""
        kept = [x.clone() for x in self.inputs]
        try:
            self.launch()
        except (CompileFailed, NotImplementedError):
            raise
        except Exception as error:
            name = type(error).__name__
            told = (Fail.RAISED(error=name), *failures_in(error.args))
            return Wrong(Flaw(f"while it ran: {name}: {error}", *told))
        for op, before, after in zip(self.problem.inputs, kept, self.inputs, strict=True):
            if not before.equal(after):
                return input_changed(op.name)
        self.seen = self.output.snapshot().seen
        found = self.difference()
        noticed = next((noticed_as(finding) for report in self.reports for finding in report.findings), None)
        if found is None:
            return Wrong(BY_LUCK + noticed + ".") if noticed else None
        self.output.poison()
        self.launch(undetermined=lambda dtype: 0)
        if not self.difference():
            return Wrong(found.what, PADDING)
        return Wrong(found.what, "Noticed while it ran: " + noticed + "." if noticed else found.mistake)

    def launch(self, **options: Any) -> None:
        with refusals():
            self.reports = tuple(self.launches(*self.inputs, self.output.tensor, **options))

    def difference(self) -> Wrong | None:
        return find_difference(self.problem.output.name, *self.output.as_it_is().seen, *self.expected)

    def shows(self, mistake: WrongResult) -> bool:
        """Whether the first result is what this mistake gives, within the error that is allowed to it."""
        seen = self.seen
        return seen is not None and mistake.explains(self.problem, self.inputs, seen, self.expected[1])


def noticed_as(finding: "Finding") -> str:
    return finding.message + (f" (line {finding.place.line})" if finding.place else "")

"""Exercises, and how answers to them are graded."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self, final

from tutorlib.checking.answer import Answer, Served, WrongKind, is_placeholder
from tutorlib.compiling.errors import CompileFailed, ToolMissing
from tutorlib.failure import Fail, Fault, Flaw, failures_in, remedy
from tutorlib.machine import device
from tutorlib.machine.features import Feature
from tutorlib.measuring.timing import Measurement
from tutorlib.problems.differences import count
from tutorlib.problems.work import KernelFault

Status = Literal["passed", "partial", "failed", "not_run", "error", "timeout"]

MARKS: dict[Status, str] = {"passed": "✓", "not_run": "–"}  # all others: ✗


@dataclass(frozen=True)
class Verdict:
    """An exercise's judgment of an answer.

    points: any number; `Exercise.grade` rounds it down to a half. lines: for the reader; not those of a passed check.
        Those that are a Flaw choose the remedy.
    status: None if it follows from the points.
    explained: whether the lines name the cause, so that no remedy is needed.
    """

    points: float
    lines: tuple[str, ...] = ()
    status: Status | None = None
    measurement: Measurement | None = None
    explained: bool = False


def wrong(*lines: str) -> Verdict:
    """A verdict of no points, with its reasons."""
    return Verdict(0, lines)


def not_run(why: str, points: float = 0) -> Verdict:
    """A verdict that this machine cannot reach."""
    return Verdict(points, (why,), "not_run")


NOT_WRITTEN = wrong(Flaw("not written yet", Fail.NOT_WRITTEN))


@dataclass(frozen=True)
class Outcome:
    """The result of grading one exercise. A failure's `message`, of several lines, is a Flaw.

    measurement: as Measurement.as_json has it. remedy: a hint for what went wrong, for `check` and the reports to a
    class. explained: whether the message names the cause, so that `check` shows no remedy.
    """

    id: str
    title: str
    status: Status
    points: float
    max_points: int
    message: str
    measurement: dict[str, Any] | None = None
    remedy: str = ""
    explained: bool = False

    def as_json(self) -> dict[str, Any]:
        everything = asdict(self)
        del everything["remedy"], everything["explained"]
        return everything


@dataclass(frozen=True, kw_only=True)
class Exercise(ABC):
    """An exercise of the course. Its kinds override `judge`; `grade_served` is the same for all.

    id: "03.1", the third exercise of notebook 03.
    points: whole.
    hints: from a nudge to nearly the answer. `hint` shows them one by one; `check` does not, since it cannot know
        whether they concern the failure.
    remedies: a kind of failure, with the fields that it must have → the hint for it; the first that covers one is
        taken. `check` shows it from the second failure on, unless the message names the cause, and `hint` shows it
        before all others.
    needs: the feature of a GPU that runs it; None if any machine grades it.
    """

    id: str
    title: str
    points: int
    hints: tuple[str, ...] = ()
    remedies: Mapping[Fault, str] = field(default_factory=dict)
    needs: Feature | None = None

    @classmethod
    def of(cls, head: tuple[str, str, int], **settings: Any) -> Self:
        """An exercise of this kind. head: id, title, points."""
        id, title, points = head
        return cls(id=id, title=title, points=points, **settings)

    @property
    def passed_line(self) -> str:
        """The line that `check` prints for a right answer, the same every time."""
        return f"✓ {self.id} {self.title}: {count(self.points, 'point')}"

    @property
    def points_anywhere(self) -> float:
        """The points that a machine without a GPU can give."""
        return 0 if self.needs else self.points

    @property
    def points_here(self) -> float:
        """The points that this machine can give."""
        return self.points_anywhere if self.needs and device.why_not(self.needs) else self.points

    @abstractmethod
    def judge(self, served: Served) -> Verdict:
        """The verdict on the answer. It may raise whatever `grade_served` handles."""

    @final
    def grade(self, answer: Answer) -> Outcome:
        """The outcome of an answer in this process."""
        return self.grade_served(Served(answer))

    @final
    def grade_served(self, served: Served) -> Outcome:
        """The answer's outcome, also for faults outside of the answer's own logic.

        These are: a placeholder, an answer of the wrong kind, a refused compilation, a kernel that crashes or hangs, a
        missing package or tool, an answer that takes all memory.
        """
        try:
            verdict = self.judge(served)
        except NotImplementedError as error:
            verdict = NOT_WRITTEN if is_placeholder(error) else wrong(f"NotImplementedError: {error}")
        except WrongKind as error:
            told, *more = error.args
            verdict = wrong(told if failures_in((told,)) else Flaw(told, Fail.WRONG_KIND), *more)
        except CompileFailed as error:
            verdict = wrong(Flaw("it does not compile.", Fail.DOES_NOT_COMPILE), *error.lines)
        except MemoryError:
            verdict = wrong("it ran out of memory: does it make something without an end?")
        except KernelFault as error:
            verdict = Verdict(0, error.args, error.status)
        except ToolMissing as error:
            verdict = not_run(f"not run: {error}")
        except ModuleNotFoundError as error:
            verdict = not_run(f"not run: the package {error.name} is missing")
        return self.outcome_of(verdict)

    def outcome_of(self, verdict: Verdict) -> Outcome:
        """The verdict with its points rounded, its status and its first line."""
        points = int(2 * verdict.points) / 2
        earned: Status = "passed" if points == self.points else "partial" if points else "failed"
        status = verdict.status or earned
        measured = verdict.measurement.as_json() if verdict.measurement else None
        if status == "passed":
            return self.outcome(status, points, "\n  ".join((self.passed_line, *verdict.lines)), measurement=measured)
        message = f"{MARKS.get(status, '✗')} {self.id} {self.title}: " + "\n  ".join(verdict.lines)
        if status == "not_run":
            return self.outcome(status, points, message, measurement=measured)
        told = Flaw(message, *failures_in(verdict.lines))
        more = {"measurement": measured, "remedy": remedy(self.remedies, told), "explained": verdict.explained}
        return self.outcome(status, points, told, **more)

    def outcome(self, status: Status, points: float, message: str, **others: Any) -> Outcome:
        """An outcome of this exercise. others: further fields."""
        return Outcome(self.id, self.title, status, points, self.points, message, **others)

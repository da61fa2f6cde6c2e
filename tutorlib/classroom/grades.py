"""The grades of a class: what the gradebook has, with no points for what nobody handed in."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from tutorlib.classroom.gradebook import Submission
from tutorlib.classroom.handed_in import HandedIn
from tutorlib.classroom.task import Judged
from tutorlib.exercises import of_notebook
from tutorlib.paths import notebook_names

MISSING = "not handed in"


@dataclass(frozen=True)
class Grade:
    """One student's grade: an outcome for every exercise of every notebook that was asked for, in the course's order.

    missing: notebooks that the student did not hand in.
    """

    student: HandedIn
    submission: Submission
    judged: tuple[Judged, ...]
    missing: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.student.student

    @property
    def notes(self) -> tuple[str, ...]:
        return self.submission.graded.notes

    @cached_property
    def points(self) -> float:
        return sum(one.outcome.points for one in self.judged)

    @cached_property
    def max_points(self) -> float:
        return sum(one.counts for one in self.judged)

    def of_notebook(self, name: str) -> list[Judged]:
        return [one for one in self.judged if one.outcome.id[:2] == name[:2]]


@dataclass(frozen=True)
class Classroom:
    """The grades of all students, by name. notebooks: those that were asked for. stray: lines about files of nobody."""

    grades: tuple[Grade, ...]
    notebooks: tuple[str, ...]
    stray: tuple[str, ...] = ()

    @property
    def exercises(self) -> list[str]:
        """Ids, in the course's order."""
        return [exercise.id for name in self.notebooks for exercise in of_notebook(name)]

    @property
    def failed(self) -> list[Grade]:
        """Those whose grading came to no end."""
        return [grade for grade in self.grades if grade.submission.graded.failed]


def grades_of(
    students: Iterable[HandedIn],
    submissions: Mapping[str, Submission],
    wanted: tuple[str, ...] | None,
    stray: Iterable[str] = (),
) -> Classroom:
    """The grades of these students, whose submissions are in the gradebook.

    wanted: the notebooks that were asked for; None: each that anybody handed in.
    """
    there = [(student, submissions[student.student]) for student in students]
    handed_in = {name for _, submission in there for name, _ in submission.graded.notebooks}
    notebooks = tuple(name for name in notebook_names() if name in (handed_in if wanted is None else wanted))
    counted = counts_of(submission for _, submission in there)
    grades = tuple(grade_of(student, submission, notebooks, counted) for student, submission in there)
    return Classroom(grades, notebooks, tuple(stray))


def counts_of(submissions: Iterable[Submission]) -> dict[str, float]:
    """Exercise → how many points it could give, as most submissions have it."""
    seen: dict[str, Counter[float]] = {}
    for submission in submissions:
        for one in submission.graded.judged:
            seen.setdefault(one.outcome.id, Counter())[one.counts] += 1
    return {id: most.most_common(1)[0][0] for id, most in seen.items()}


def grade_of(
    student: HandedIn, submission: Submission, notebooks: Iterable[str], counted: Mapping[str, float]
) -> Grade:
    """A student's grade. counted: exercise → what it counts where it is missing."""
    found = {one.outcome.id: one for one in submission.graded.judged}
    judged, missing = [], []
    for name in notebooks:
        exercises = of_notebook(name)
        if not any(exercise.id in found for exercise in exercises):
            missing.append(name)
        for exercise in exercises:
            nothing = Judged(exercise.outcome("failed", 0, MISSING), counted.get(exercise.id, exercise.points_here))
            judged.append(found.get(exercise.id, nothing))
    return Grade(student, submission, tuple(judged), tuple(missing))

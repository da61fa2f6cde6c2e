"""The grades of a class: the grader's verdicts, late penalties and the instructor's corrections."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from tutorlib.classroom.adjustments import Adjustments, Correction, LateNotebook, corrected, late_notebooks
from tutorlib.classroom.gradebook import Graded, Judged, Submission
from tutorlib.classroom.roster import Enrolled
from tutorlib.exercises import of_notebook
from tutorlib.paths import notebook_names

MISSING = "not handed in"
NOTHING = "handed in nothing"
NOT_GRADABLE = "handed in no notebook that can be graded"


@dataclass(frozen=True)
class MarkedExercise(Judged):
    """One exercise of a grade: what the grader says of it, and the instructor's corrections in their order."""

    corrections: tuple[Correction, ...] = ()

    @property
    def raw_points(self) -> float:
        return self.outcome.points

    @property
    def points(self) -> float:
        return corrected(self.outcome.points, self.corrections)


@dataclass(frozen=True)
class Grade:
    """One student's grade: an outcome for every exercise of every notebook that was asked for, in the course's order.

    missing: notebooks that the student did not hand in. late: the notebooks that came late. unknown_time: those that
    were due, and nothing says when they came.

    The points are the grader's with the corrections, less what lateness costs; `raw_points` are the grader's alone.
    """

    enrolled: Enrolled
    submission: Submission
    judged: tuple[MarkedExercise, ...]
    missing: tuple[str, ...]
    late: tuple[LateNotebook, ...] = ()
    unknown_time: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.enrolled.name

    @property
    def notes(self) -> tuple[str, ...]:
        return self.submission.graded.notes

    @property
    def failed(self) -> str:
        """Why the grading did not finish, or "". The points of such a grade mean nothing."""
        return self.submission.graded.failed

    @property
    def reason(self) -> str:
        """Why there was nothing to grade, or ""."""
        if self.submission.graded.notebooks or self.failed:
            return ""
        return NOT_GRADABLE if self.enrolled.student.uploads else NOTHING

    def without_answers(self) -> "Grade":
        return replace(self, submission=replace(self.submission, graded=replace(self.submission.graded, answers=())))

    @cached_property
    def raw_points(self) -> float:
        return sum(verdict.raw_points for verdict in self.judged)

    @cached_property
    def points(self) -> float:
        return sum(self.points_of(name) for name in self.notebooks)

    @cached_property
    def max_points(self) -> float:
        return sum(verdict.counts for verdict in self.judged)

    @property
    def penalty(self) -> float:
        """The points that lateness costs."""
        return sum(late.penalty for late in self.late)

    @property
    def notebooks(self) -> tuple[str, ...]:
        """The notebooks that were asked for."""
        numbers = {verdict.outcome.id[:2] for verdict in self.judged}
        return tuple(name for name in notebook_names() if name[:2] in numbers)

    def of_notebook(self, name: str) -> list[MarkedExercise]:
        return [verdict for verdict in self.judged if verdict.outcome.id[:2] == name[:2]]

    def max_points_of(self, notebook: str) -> float:
        return sum(verdict.counts for verdict in self.of_notebook(notebook))

    def points_of(self, notebook: str) -> float:
        """A notebook's points with its corrections, less what its lateness costs."""
        points = sum(verdict.points for verdict in self.of_notebook(notebook))
        return points - sum(late.penalty for late in self.late if late.notebook == notebook)

    @property
    def remarks(self) -> list[str]:
        """Lines that explain the points: nothing handed in, lateness, corrections."""
        lines = [self.reason] if self.reason else [f"not graded: {self.failed}"] if self.failed else []
        corrections = (f"{verdict.outcome.id} {each.text}" for verdict in self.judged for each in verdict.corrections)
        return [*lines, *(late.text for late in self.late), *corrections]


@dataclass(frozen=True)
class Classroom:
    """The grades of all students, by name. notebooks: those assigned. stray: lines about files without owner."""

    grades: tuple[Grade, ...]
    notebooks: tuple[str, ...]
    stray: tuple[str, ...] = ()

    @property
    def exercises(self) -> list[str]:
        """Ids, in the course's order."""
        return [exercise.id for name in self.notebooks for exercise in of_notebook(name)]

    @property
    def graded(self) -> list[Grade]:
        return [grade for grade in self.grades if not grade.failed]

    @property
    def failed(self) -> list[Grade]:
        """The students whose grading did not finish."""
        return [grade for grade in self.grades if grade.failed]


def grades_of(
    students: Iterable[Enrolled],
    submissions: Mapping[str, Submission],
    wanted: tuple[str, ...] | None,
    stray: Iterable[str] = (),
    adjustments: Adjustments | None = None,
) -> Classroom:
    """The grades of these students. submissions: of those who handed in something, from the gradebook.

    wanted: the notebooks that were asked for; None: all that were handed in.
    """
    nothing = Submission("", "", None, None, "", Graded())
    there = [(student, submissions.get(student.student.student, nothing)) for student in students]
    handed_in = {name for _, submission in there for name, _ in submission.graded.notebooks}
    notebooks = tuple(name for name in notebook_names() if name in (handed_in if wanted is None else wanted))
    counted = {verdict.outcome.id: verdict.counts for _, submission in there for verdict in submission.graded.judged}
    adjustments = adjustments or Adjustments()
    grades = tuple(grade_of(student, submission, notebooks, counted, adjustments) for student, submission in there)
    classroom = Classroom(grades, notebooks)
    return replace(classroom, stray=(*stray, *remarks(classroom, adjustments)))


def grade_of(
    enrolled: Enrolled,
    submission: Submission,
    notebooks: Iterable[str],
    counted: Mapping[str, float],
    adjustments: Adjustments,
) -> Grade:
    """A student's grade. counted: exercise → what it counts where it is missing. Raises CannotGrade."""
    found = {verdict.outcome.id: verdict for verdict in submission.graded.judged}
    corrections = adjustments.corrections.get(enrolled.student.student, {})
    judged, missing = [], []
    for name in notebooks:
        exercises = of_notebook(name)
        if not any(exercise.id in found for exercise in exercises):
            missing.append(name)
        for exercise in exercises:
            nothing = Judged(exercise.outcome("failed", 0, MISSING), counted.get(exercise.id, exercise.points_here))
            verdict = found.get(exercise.id, nothing)
            judged.append(MarkedExercise(verdict.outcome, verdict.counts, corrections.get(exercise.id, ())))
    grade = Grade(enrolled, submission, tuple(judged), tuple(missing))
    files = {name: file for name, file in submission.graded.notebooks if name in grade.notebooks}
    points = {name: (grade.points_of(name), grade.max_points_of(name)) for name in files}
    late, unknown = late_notebooks(adjustments.rules, enrolled, files, points)
    return replace(grade, late=late, unknown_time=unknown)


def remarks(classroom: Classroom, adjustments: Adjustments) -> Iterator[str]:
    """Lines about corrections and times that could not be used."""
    for of_student in adjustments.corrections.values():
        for id in of_student.keys() - set(classroom.exercises):
            for correction in of_student[id]:
                yield f"{correction.place}: {id} was not asked for; this correction is not applied."
    if unknown := [grade.name for grade in classroom.grades if grade.unknown_time]:
        yield (
            f"When these handed in is unknown, and they count as on time: {', '.join(unknown)}. Use Moodle's "
            "grading worksheet as the roster, or add the column `handed in` to your roster."
        )

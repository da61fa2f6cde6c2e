"""The grades of a class: the grader's verdicts, late penalties and the instructor's corrections."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from tutorlib.classroom.corrections import TOTAL, Correction, all_texts, corrected
from tutorlib.classroom.gradebook import Submission
from tutorlib.classroom.handed_in import HandedIn, System
from tutorlib.classroom.late_rules import LateNotebook, Rules, hand_in_time, late_notebooks, of_one_download
from tutorlib.classroom.roster import Enrolled, Listed
from tutorlib.classroom.task import Graded, Judged
from tutorlib.exercises import of_notebook
from tutorlib.paths import notebook_names

MISSING = "not handed in"
NOTHING = "handed in nothing"
NO_NOTEBOOK = "handed in no notebook"
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

    name: unique in the class. missing: notebooks that the student did not hand in. listed: the student's line of the
    roster. late: the notebooks that came late. unknown_time: those that were due, and nothing says when they came.
    total_corrections: those on the sum of all points.

    The points are the grader's, with the corrections of exercises, less what lateness costs, with the corrections of
    the total; `raw_points` are the grader's alone.
    """

    student: HandedIn
    submission: Submission
    judged: tuple[MarkedExercise, ...]
    missing: tuple[str, ...]
    name: str
    listed: Listed | None = None
    late: tuple[LateNotebook, ...] = ()
    unknown_time: tuple[str, ...] = ()
    total_corrections: tuple[Correction, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        return self.submission.graded.notes

    @property
    def id(self) -> str:
        """The student's in Moodle or Canvas, or on the roster."""
        return self.listed.id if self.listed and self.listed.id else self.student.id

    @property
    def system(self) -> System:
        """Moodle or Canvas, by the hand-in or the roster."""
        return self.student.system or (self.listed.system if self.listed else "")

    @property
    def full_name(self) -> str:
        """As Moodle or Canvas has it; two students may have the same."""
        return self.listed.name if self.listed else self.name

    @property
    def email(self) -> str:
        return self.listed.email if self.listed else ""

    @property
    def failed(self) -> str:
        """Why the grading did not come to its end, or "". Such a grade is none: its points say nothing."""
        return self.submission.graded.failed

    @property
    def reason(self) -> str:
        """Why there was nothing to grade, or ""."""
        if self.submission.graded.notebooks or self.failed:
            return ""
        if not self.student.arrivals:
            return NOTHING
        return NOT_GRADABLE if self.student.notebooks else NO_NOTEBOOK

    @cached_property
    def raw_points(self) -> float:
        return sum(one.raw_points for one in self.judged)

    @cached_property
    def points(self) -> float:
        return corrected(sum(self.points_of(name) for name in self.notebooks), self.total_corrections)

    @cached_property
    def max_points(self) -> float:
        return sum(one.counts for one in self.judged)

    @property
    def penalty(self) -> float:
        """The points that lateness costs."""
        return sum(one.penalty for one in self.late)

    @property
    def total_change(self) -> float:
        """The points that the corrections of the total add."""
        return self.points - sum(self.points_of(name) for name in self.notebooks)

    @property
    def corrections(self) -> dict[str, tuple[Correction, ...]]:
        """Exercise ("" for the total) → the corrections of it."""
        found = {one.outcome.id: one.corrections for one in self.judged if one.corrections}
        return found | ({TOTAL: self.total_corrections} if self.total_corrections else {})

    @property
    def notebooks(self) -> tuple[str, ...]:
        """Those that were asked for."""
        numbers = {one.outcome.id[:2] for one in self.judged}
        return tuple(name for name in notebook_names() if name[:2] in numbers)

    def of_notebook(self, name: str) -> list[MarkedExercise]:
        return [one for one in self.judged if one.outcome.id[:2] == name[:2]]

    def raw_points_of(self, notebook: str) -> float:
        return sum(one.raw_points for one in self.of_notebook(notebook))

    def max_points_of(self, notebook: str) -> float:
        return sum(one.counts for one in self.of_notebook(notebook))

    def points_of(self, notebook: str) -> float:
        """A notebook's points with its corrections, less what its lateness costs."""
        points = sum(one.points for one in self.of_notebook(notebook))
        return points - self.penalty_of(notebook)

    def penalty_of(self, notebook: str) -> float:
        return sum(one.penalty for one in self.late if one.notebook == notebook)

    @property
    def remarks(self) -> list[str]:
        """What the points alone do not tell, in lines: nothing handed in, lateness, corrections."""
        lines = [self.reason] if self.reason else [f"not graded: {self.failed}"] if self.failed else []
        return [*lines, *(one.text for one in self.late), *all_texts(self.corrections)]


@dataclass(frozen=True)
class Classroom:
    """The grades of all students, by name. notebooks: the assigned ones. stray: lines about files without owner."""

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
        """Those whose grading came to no end."""
        return [grade for grade in self.grades if grade.failed]


@dataclass(frozen=True)
class Adjustments:
    """What comes on top of the grader's verdicts. corrections: student → exercise ("" for the total) → corrections."""

    rules: Rules = field(default_factory=Rules)
    corrections: Mapping[str, Mapping[str, tuple[Correction, ...]]] = field(default_factory=dict)


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
    there = [(one, submissions.get(one.student.student) or nothing_from(one.student)) for one in students]
    handed_in = {name for _, submission in there for name, _ in submission.graded.notebooks}
    notebooks = tuple(name for name in notebook_names() if name in (handed_in if wanted is None else wanted))
    counted = counts_of(submission for _, submission in there)
    adjusted = Adjusting(adjustments or Adjustments(), of_one_download(one.student for one, _ in there))
    grades = tuple(adjusted.grade(one, submission, notebooks, counted) for one, submission in there)
    return Classroom(grades, notebooks, tuple(stray))


def nothing_from(student: HandedIn) -> Submission:
    """The submission of a student who made none."""
    return Submission(student.student, "", None, None, "", Graded())


def counts_of(submissions: Iterable[Submission]) -> dict[str, float]:
    """Exercise → how many points it could give, as most submissions have it."""
    seen: dict[str, Counter[float]] = {}
    for submission in submissions:
        for one in submission.graded.judged:
            seen.setdefault(one.outcome.id, Counter())[one.counts] += 1
    return {id: most.most_common(1)[0][0] for id, most in seen.items()}


@dataclass(frozen=True)
class Adjusting:
    """Makes grades. one_download: whether the times in Moodle's zip tell nothing."""

    adjustments: Adjustments
    one_download: bool

    def grade(
        self, enrolled: Enrolled, submission: Submission, notebooks: Iterable[str], counted: Mapping[str, float]
    ) -> Grade:
        """A student's grade. counted: exercise → what it counts where it is missing."""
        student = enrolled.student
        found = {one.outcome.id: one for one in submission.graded.judged}
        corrections = self.adjustments.corrections.get(student.student, {})
        judged, missing = [], []
        for name in notebooks:
            exercises = of_notebook(name)
            if not any(exercise.id in found for exercise in exercises):
                missing.append(name)
            for exercise in exercises:
                nothing = Judged(exercise.outcome("failed", 0, MISSING), counted.get(exercise.id, exercise.points_here))
                one = found.get(exercise.id, nothing)
                judged.append(MarkedExercise(one.outcome, one.counts, corrections.get(exercise.id, ())))
        name, listed, total = enrolled.name, enrolled.listed, corrections.get(TOTAL, ())
        grade = Grade(student, submission, tuple(judged), tuple(missing), name, listed, total_corrections=total)
        return self.with_lateness(grade, enrolled)

    def with_lateness(self, grade: Grade, enrolled: Enrolled) -> Grade:
        """The grade less what lateness costs; no notebook loses more points than it has."""
        rules = self.adjustments.rules
        there = {name: file for name, file in grade.submission.graded.notebooks if name in grade.notebooks}
        known = {name: hand_in_time(enrolled, file, rules, self.one_download) for name, file in there.items()}
        handed_in = {name: time for name, time in known.items() if time}
        points = {name: (grade.points_of(name), grade.max_points_of(name)) for name in there}
        unknown = tuple(name for name, time in known.items() if not time and rules.due_of(name, enrolled))
        late = late_notebooks(rules, enrolled, handed_in, points)
        return replace(grade, late=late, unknown_time=unknown)

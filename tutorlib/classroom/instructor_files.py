"""The instructor's files in the folder of the results: roster.csv, rules.toml and corrections*.csv.

Every run reads those that are there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

from tutorlib.classroom.corrections import Correction, read_corrections
from tutorlib.classroom.grades import Adjustments, Classroom
from tutorlib.classroom.handed_in import HandedIn
from tutorlib.classroom.late_rules import Rules, read_rules, time_in
from tutorlib.classroom.roster import Directory, Enrolled, directory, enrolled, read_roster
from tutorlib.exercises import of_notebook
from tutorlib.paths import notebook_names


@dataclass(frozen=True)
class Prepared:
    """A class before it is graded. directory: its students by id and name. lines: what an instructor must hear of."""

    students: list[Enrolled]
    directory: Directory[Enrolled]
    adjustments: Adjustments
    lines: list[str]


def prepared(students: list[HandedIn], folder: Path) -> Prepared:
    """The class by its roster, and what comes on top of its points. Raises CannotGrade."""
    roster, rules = folder / "roster.csv", folder / "rules.toml"
    class_, lines = enrolled(students, read_roster(roster) if roster.exists() else ())
    late = read_rules(rules) if rules.exists() else Rules()
    for student in class_:
        late.due_of(student)  # to hear of a bad extension before anything is graded
    called = directory({student: student.keys for student in class_})
    corrections: dict[str, dict[str, tuple[Correction, ...]]] = {}
    exercises = [exercise.id for name in notebook_names() for exercise in of_notebook(name)]
    for file in sorted(folder.glob("corrections*.csv")):
        lines += read_corrections(file, called, exercises, corrections)
    return Prepared(class_, called, Adjustments(late, corrections), lines)


def remarks(classroom: Classroom, adjustments: Adjustments) -> Iterator[str]:
    """Lines about corrections and times that could not be used."""
    graded = set(classroom.exercises)
    for of_student in adjustments.corrections.values():
        for id in of_student.keys() - graded:
            yield from (
                f"{correction.place}: {id} was not asked for; this correction is not applied."
                for correction in of_student[id]
            )
    if unknown := [grade.name for grade in classroom.grades if grade.unknown_time]:
        yield (
            f"When these handed in is unknown, and they count as on time: {', '.join(unknown)}. Use Moodle's "
            "grading worksheet as the roster, or add the column `handed in` to your roster."
        )
    listed = [grade.enrolled.listed for grade in classroom.grades if adjustments.rules.due]
    for student in [
        student for student in listed if len(student.handed_in) > 1 and not time_in(student.handed_in, UTC)
    ][:1]:
        yield f"{student.place}: {student.handed_in!r} is no time in English; export the worksheet in English."

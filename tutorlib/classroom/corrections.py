"""The instructor's corrections: points and comments by hand, which apply in every run."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tutorlib.classroom import CannotGrade
from tutorlib.classroom.roster import Directory, Enrolled, find_in
from tutorlib.classroom.tables import read_csv

COLUMNS = {
    "id": ("id", "student"),
    "name": ("name", "student", "id"),
    **{name: (name,) for name in ("exercise", "points", "comment", "by")},
}
POINTS = re.compile(r"[+-]?\d+(\.\d+)?")


@dataclass(frozen=True)
class Correction:
    """Points that an instructor gave by hand to an answer of an exercise.

    points: that count in place of the grader's, or, where `added`, that are added to them; None: a comment alone.
    """

    exercise: str
    points: float | None
    added: bool
    comment: str = ""
    by: str = ""
    place: str = ""

    @property
    def text(self) -> str:
        """ "+1: a good idea (JD)"."""
        points = "" if self.points is None else f"{self.points:+g}" if self.added else f"set to {self.points:g}"
        said = ": ".join(filter(None, (points, self.comment)))
        return f"{said} ({self.by})" if self.by else said


def corrected(points: float, corrections: Iterable[Correction]) -> float:
    """The points with these corrections on top, in their order; never below 0."""
    for correction in corrections:
        if correction.points is not None:
            points = points + correction.points if correction.added else correction.points
    return max(points, 0.0)


def read_corrections(
    path: Path,
    students: Directory[Enrolled],
    exercises: Iterable[str],
    found: dict[str, dict[str, tuple[Correction, ...]]],
) -> list[str]:
    """Add a CSV file's corrections to `found`: student → exercise → corrections.

    Its columns: id or name, exercise, points, comment, by. exercises: those that there are. Returns a line for each
    correction whose student or exercise there is not. Raises CannotGrade.
    """
    columns, rows = read_csv(path, COLUMNS)
    if not {"id", "name", "student"} & columns or not {"points", "comment"} & columns:
        needed = "id (or name), exercise, points, comment, by"
        raise CannotGrade(f"{path.name}: its columns are {', '.join(sorted(columns))}; needed: {needed}.")
    exercises = set(exercises)
    lines = []
    for row in rows:
        correction = read_row(row)
        id = correction.exercise
        student = find_in(students, row["id"], row["name"])
        if isinstance(student, str):
            lines.append(f"{correction.place}: {student}; this correction is not applied.")
        elif id not in exercises:
            lines.append(f"{correction.place}: there is no exercise {id}; this correction is not applied.")
        else:
            if id[:1] != "0" and f"{id}0" in exercises:
                lines.append(f"{correction.place}: this corrects {id}; write {id}0 if a spreadsheet dropped the zero.")
            of_student = found.setdefault(student.student.student, {})
            of_student[id] = (*of_student.get(id, ()), correction)
    return lines


def read_row(row: dict[str, str]) -> Correction:
    """The correction in a row. Raises CannotGrade."""
    place, id = row["place"], row["exercise"]
    written = row["points"].replace(",", ".").replace("\N{MINUS SIGN}", "-")
    if written and not POINTS.fullmatch(written):
        raise CannotGrade(f"{place}: {row['points']!r} are no points; write 2, +1 or -0.5.")
    if not (written or row["comment"]):
        raise CannotGrade(f"{place}: neither points nor a comment.")
    if not re.fullmatch(r"\d\d\.\d+", id):
        raise CannotGrade(f"{place}: {id!r} is no exercise; write 02.1, as text.")
    points = float(written) if written else None
    return Correction(id, points, written[:1] in ("+", "-"), row["comment"], row["by"], place)

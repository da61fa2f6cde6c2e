"""The instructor's corrections: points and comments by hand, which apply in every run."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tutorlib.classroom.roster import Directory, Enrolled
from tutorlib.classroom.tables import BadTable, TableRow, rows_of
from tutorlib.exercises import UnknownExercise, find

WHO = {"id", "name", "student"}
TOTAL = ""  # the exercise of a correction on the sum


@dataclass(frozen=True)
class Correction:
    """Points that an instructor gave by hand. exercise: its id, or "" for the total.

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
    for one in corrections:
        if one.points is not None:
            points = points + one.points if one.added else one.points
    return max(points, 0.0)


def read_corrections(
    text: str,
    file: str,
    directory: Directory[Enrolled],
    exercises: Iterable[str],
    found: dict[str, dict[str, tuple[Correction, ...]]],
) -> list[str]:
    """Add a CSV text's corrections to `found`: student → exercise ("" for the total) → corrections.

    Its columns: id or name, exercise, points or delta, comment, by. exercises: those that there are. Returns a line for
    each correction whose student or exercise there is not. Raises BadTable.
    """
    columns, rows = rows_of(text, file)
    if not WHO & set(columns) or not {"points", "delta", "comment"} & set(columns):
        needed = "id (or name), exercise, points (or delta), comment, by"
        raise BadTable(f"{file}: its columns are {', '.join(columns)}; needed: {needed}.")
    exercises = set(exercises)
    lines = []
    for row in rows:
        correction = read_row(row)
        student = directory.find(row.first("id", "student"), row.first("name", "student", "id"))
        if isinstance(student, str):
            lines.append(f"{row.place}: {student}; this correction is not applied.")
        elif correction.exercise and correction.exercise not in exercises:
            lines.append(f"{row.place}: there is no exercise {correction.exercise}; this correction is not applied.")
        else:
            if correction.exercise[:1] not in ("", "0") and exists(f"{correction.exercise}0"):
                id = correction.exercise
                lines.append(
                    f"{row.place}: this corrects {id}; if it was {id}0 before a spreadsheet dropped the zero, mend it."
                )
            of_student = found.setdefault(student.student.student, {})
            of_student[correction.exercise] = (*of_student.get(correction.exercise, ()), correction)
    return lines


def read_row(row: TableRow) -> Correction:
    points, added = points_in(row, "points")
    delta, _ = points_in(row, "delta")
    if points is not None and delta is not None:
        raise BadTable(f"{row.place}: both points and delta; keep one of them.")
    if delta is not None:
        points, added = delta, True
    if points is None and not row["comment"]:
        raise BadTable(f"{row.place}: neither points nor a comment.")
    return Correction(exercise_in(row), points, added, row["comment"], row["by"], row.place)


def points_in(row: TableRow, column: str) -> tuple[float | None, bool]:
    """The number there, with a decimal point or comma, and whether it has a sign; None where there is none."""
    said = row[column].replace(",", ".").replace("\N{MINUS SIGN}", "-")
    if not said:
        return None, False
    try:
        number = float(said)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadTable(f"{row.place}: {row[column]!r} are no points; write 2, +1 or -0.5.")
    return number, said[0] in "+-"


def exercise_in(row: TableRow) -> str:
    """An exercise's id, also one that a spreadsheet took for a number: 2.1 for 02.1. Raises BadTable."""
    said = row["exercise"].replace(",", ".")
    if not said:
        return TOTAL
    if not (parts := re.fullmatch(r"(\d{1,2})\.(\d{1,2})", said)):
        raise BadTable(f"{row.place}: {row['exercise']!r} is no exercise; write 02.1, or nothing for the total.")
    id = f"{parts[1].zfill(2)}.{parts[2]}"
    if id != said and exists(f"{id}0"):
        raise BadTable(f"{row.place}: {said} is {id} or {id}0, since a spreadsheet drops zeros; write {id} or {id}0.")
    return id


def exists(id: str) -> bool:
    try:
        find(id)
    except UnknownExercise:
        return False
    return True


def all_texts(corrections: Mapping[str, Iterable[Correction]]) -> list[str]:
    """A line for each: "02.1 set to 2: …"."""
    return [f"{id or 'total'} {one.text}" for id, ones in corrections.items() for one in ones]

"""Grades as CSV files: all that is known, and as Moodle and Canvas take them."""

import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from tutorlib.classroom.grades import Classroom, Grade
from tutorlib.classroom.tables import as_csv

LONGEST_STEM = 40  # letters of a file's name


def write_all(classroom: Classroom, out: Path) -> list[Path]:
    """Write every export. A file is there as a whole, or as it was before. Raises OSError.

    Of a student who is not graded the cells are empty.
    """
    tables = {
        "grades.csv": grades_table(classroom),
        "moodle.csv": moodle_table(classroom),
        "canvas.csv": canvas_table(classroom),
    }
    for name, rows in tables.items():
        write_whole(out / name, as_csv(rows).encode("utf-8", "replace"))
    return [out / name for name in tables]


def write_whole(path: Path, content: bytes) -> None:
    """Write a file: as a whole, or not at all. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def report_name(name: str) -> str:
    """A student's name for files: what of it can be in one, and some digits of its hash, which tell two apart."""
    plain = re.sub(r"[^\w ,()-]", "_", name)[:LONGEST_STEM].strip()
    return f"{plain}-{sha256(name.encode()).hexdigest()[:8]}"


def graded_row(grade: Grade, row: dict[str, Any]) -> dict[str, Any]:
    """The row; without its numbers where the student is not graded."""
    return {key: "" if grade.failed and isinstance(value, float | int) else value for key, value in row.items()}


def grades_table(classroom: Classroom) -> Iterator[dict[str, Any]]:
    """A row for each student: the points, with those of the grader alone beside them, then a column for each exercise.

    penalty: for lateness. remarks: nothing handed in, lateness and corrections, in words.
    """
    for grade in classroom.grades:
        row = {
            "student": grade.name,
            "id": grade.enrolled.listed.id,
            "email": grade.enrolled.listed.email,
            "points": grade.points,
            "max_points": grade.max_points,
            "raw_points": grade.raw_points,
            "penalty": grade.penalty,
            "remarks": "; ".join(grade.remarks),
        }
        yield graded_row(grade, row | {verdict.outcome.id: verdict.points for verdict in grade.judged})


def moodle_table(classroom: Classroom) -> Iterator[dict[str, Any]]:
    """Moodle's grading worksheet: what it finds a student by, and what it takes up."""
    for grade in classroom.grades:
        listed = grade.enrolled.listed
        row = {
            "Identifier": f"Participant {listed.id}" if listed.system == "moodle" and listed.id else grade.name,
            "Full name": listed.name,
            "Email address": listed.email,
            "Grade": grade.points,
            "Maximum Grade": grade.max_points,
            "Feedback comments": feedback(grade),
        }
        yield graded_row(grade, row)


def canvas_table(classroom: Classroom) -> Iterator[dict[str, Any]]:
    """Canvas's gradebook: a column for each notebook, and its row of the points that are possible."""
    first = classroom.grades[0]
    head = {"Student": "    Points Possible", "ID": "", "SIS User ID": "", "SIS Login ID": "", "Section": ""}
    possible = {name: first.max_points_of(name) for name in classroom.notebooks}
    yield head | possible
    for grade in classroom.grades:
        listed = grade.enrolled.listed
        row = {
            "Student": listed.name,
            "ID": listed.id if listed.system == "canvas" else "",
            "SIS User ID": listed.number,
            "SIS Login ID": listed.login,
            "Section": listed.section,
        }
        points = {name: grade.points_of(name) for name in classroom.notebooks}
        yield graded_row(grade, row | points)


def feedback(grade: Grade) -> str:
    """A line for each exercise that lost points, each notebook that was late, each correction."""
    lost = [
        verdict for verdict in grade.judged if verdict.points < verdict.counts and not (grade.reason or grade.failed)
    ]
    lines = [
        f"{verdict.outcome.id} {verdict.outcome.title}: {verdict.points:g} of {verdict.counts:g}" for verdict in lost
    ]
    return "\n".join([*grade.remarks, *lines, *grade.notes])

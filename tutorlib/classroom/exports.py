"""Grades in the formats of other systems: CSV files, Gradescope's results.json, JUnit XML."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from tutorlib.classroom.grades import Classroom, Grade
from tutorlib.classroom.handed_in import System
from tutorlib.classroom.roster import Listed
from tutorlib.classroom.tables import as_csv
from tutorlib.grading.junit import junit

CORRECTION = "correction"  # the notebook's name in rows and columns for corrections of the total
LONGEST_STEM = 80  # bytes of a file's name
HASHED = re.compile("-[0-9a-f]{8}$")  # how a file's name ends that is not just the student's


def write_all(classroom: Classroom, out: Path) -> list[Path]:
    """Write every export. A file is there as a whole, or as it was before. Raises OSError.

    Of a student who is not graded the cells are empty, and there is no file.
    """
    tables = {
        "grades.csv": grades_table(classroom),
        "nbgrader.csv": nbgrader_table(classroom),
        "moodle.csv": moodle_table(classroom),
        "canvas.csv": canvas_table(classroom),
    }
    files = {out / name: as_csv(rows) for name, rows in tables.items()}
    stems = file_stems(grade.name for grade in classroom.grades)
    for grade in classroom.failed:
        (out / "gradescope" / stems[grade.name] / "results.json").unlink(missing_ok=True)  # of an earlier run
    for grade in classroom.graded:
        results = json.dumps(gradescope(grade), ensure_ascii=False, indent=1)
        files[out / "gradescope" / stems[grade.name] / "results.json"] = results + "\n"
    suites = (
        (one.name, one.submission.graded.seconds, [each.outcome for each in one.judged]) for one in classroom.graded
    )
    files[out / "junit.xml"] = junit(suites)
    for path, text in files.items():
        write_whole(path, text)
    return list(files)


def write_whole(path: Path, text: str) -> None:
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8", errors="replace", newline="")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write a file that takes its place at the end of the block, as a whole. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def file_stems(names: Iterable[str]) -> dict[str, str]:
    """Student → a name for files: the student's where that can be one, else like it, with a few digits of a hash."""
    names = list(names)
    plain = {name: re.sub(r"[^\w .,()-]", "_", name).strip(" .") for name in names}
    short = {name: stem.encode()[:LONGEST_STEM].decode(errors="ignore") for name, stem in plain.items()}
    spelled = [stem.casefold() for stem in short.values()]
    return {
        name: stem
        if stem == name and spelled.count(stem.casefold()) == 1 and not HASHED.search(stem.casefold())
        else f"{stem}-{sha256(name.encode()).hexdigest()[:8]}"
        for name, stem in short.items()
    }


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
            "id": grade.id,
            "email": grade.email,
            "points": grade.points,
            "max_points": grade.max_points,
            "raw_points": grade.raw_points,
            "penalty": grade.penalty,
            "remarks": "; ".join(grade.remarks),
        }
        yield graded_row(grade, row | {one.outcome.id: one.points for one in grade.judged})


def nbgrader_table(classroom: Classroom) -> Iterator[dict[str, Any]]:
    """A row for each student and notebook, with the columns that `nbgrader export` has and that are known here."""
    for name in classroom.notebooks:
        for grade in classroom.grades:
            late = next((one for one in grade.late if one.notebook == name), None)
            row = {
                "duedate": str(late.due) if late else "",
                "timestamp": "" if name in grade.missing else grade.submission.utc,
                "raw_score": grade.raw_points_of(name),
                "late_submission_penalty": grade.penalty_of(name),
                "score": grade.points_of(name),
                "max_score": grade.max_points_of(name),
            }
            yield graded_row(grade, nbgrader_row(grade, name) | row)
    for grade in classroom.graded:
        if grade.total_corrections:
            yield nbgrader_row(grade, CORRECTION) | {"score": grade.total_change}


def nbgrader_row(grade: Grade, assignment: str) -> dict[str, Any]:
    who = {"student_id": grade.id or grade.name, "last_name": "", "first_name": grade.name, "email": grade.email}
    points = dict.fromkeys(("raw_score", "late_submission_penalty", "score", "max_score"), 0.0)
    return {"assignment": assignment, "duedate": "", "timestamp": "", **who, **points}


def moodle_table(classroom: Classroom) -> Iterator[dict[str, Any]]:
    """Moodle's grading worksheet: what it finds a student by, and what it takes up."""
    for grade in in_system(classroom, "moodle"):
        row = {
            "Identifier": f"Participant {grade.id}" if grade.system == "moodle" and grade.id else grade.name,
            "Full name": grade.full_name,
            "Email address": grade.email,
            "Grade": grade.points,
            "Maximum Grade": grade.max_points,
            "Feedback comments": feedback(grade),
        }
        yield graded_row(grade, row)


def in_system(classroom: Classroom, system: System) -> list[Grade]:
    """The grades to give back to Moodle or Canvas: of a class that is in both, those of its students alone."""
    both = {"moodle", "canvas"} <= {grade.system for grade in classroom.grades}
    return [grade for grade in classroom.grades if not both or grade.system in (system, "")]


def canvas_table(classroom: Classroom) -> Iterator[dict[str, Any]]:
    """Canvas's gradebook: a column for each notebook, and its row of the points that are possible.

    Corrections of the total have a column of their own, where there are any.
    """
    first = classroom.grades[0]
    corrected = any(grade.total_corrections for grade in classroom.grades)
    head = {"Student": "    Points Possible", "ID": "", "SIS User ID": "", "SIS Login ID": "", "Section": ""}
    possible = {name: first.max_points_of(name) for name in classroom.notebooks}
    yield head | possible | ({CORRECTION: 0.0} if corrected else {})
    for grade in in_system(classroom, "canvas"):
        listed = grade.listed or Listed(grade.name)
        row = {
            "Student": grade.full_name,
            "ID": grade.id if grade.system == "canvas" else "",
            "SIS User ID": listed.number,
            "SIS Login ID": listed.login,
            "Section": listed.section,
        }
        points = {name: grade.points_of(name) for name in classroom.notebooks}
        yield graded_row(grade, row | points | ({CORRECTION: grade.total_change} if corrected else {}))


def feedback(grade: Grade) -> str:
    """A line for each exercise that lost points, each notebook that was late, each correction."""
    lost = [one for one in grade.judged if one.points < one.counts and not (grade.reason or grade.failed)]
    lines = [f"{one.outcome.id} {one.outcome.title}: {one.points:g} of {one.counts:g}" for one in lost]
    return "\n".join([*grade.remarks, *lines, *grade.notes])


def gradescope(grade: Grade) -> dict[str, Any]:
    """results.json as Gradescope's autograder reads it."""
    states = {"passed": "passed", "partial": "failed", "not_run": "passed"}
    return {
        "score": grade.points,
        "execution_time": round(grade.submission.graded.seconds),
        "output": "\n".join([*grade.remarks, *grade.notes]),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            {
                "number": one.outcome.id,
                "name": f"{one.outcome.id} {one.outcome.title}",
                "score": one.points,
                "max_score": one.counts,
                "status": states.get(one.outcome.status, "failed"),
                "output": "\n".join(filter(None, [one.outcome.message, *(each.text for each in one.corrections)])),
                "output_format": "text",
            }
            for one in grade.judged
        ],
    }

"""Grades as CSV files: all that is known, and as Moodle and Canvas take them; and zips that return the reports.

Moodle finds a student by the number in the folder's name, `Full Name_4711_assignsubmission_file_`, and keeps what is
behind it as the file's name (mod/assign/feedback/file/importziplib.php, is_valid_filename_for_import). Canvas finds one
by the first two numbers of a file's name, the student's and that of one of the uploads, `name_123_4567_…`
(app/models/abstract_assignment.rb, infer_comment_context_from_filename).
"""

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tutorlib.classroom.files import as_csv, report_name, write_whole
from tutorlib.classroom.grades import Classroom, Grade
from tutorlib.classroom.hand_ins import CANVAS, MOODLE, System, legible

REPORT = "report.html"  # always the same, so that Moodle replaces an earlier one
SYSTEMS: tuple[System, ...] = ("moodle", "canvas")


def write_all(classroom: Classroom, out: Path) -> list[Path]:
    """Write every export. A file is there as a whole, or as it was before. Raises OSError."""
    head = {"Student": "    Points Possible", "ID": "", "SIS User ID": "", "SIS Login ID": "", "Section": ""}
    possible = {name: classroom.grades[0].max_points_of(name) for name in classroom.notebooks}
    tables = {
        "grades.csv": rows_of(classroom, grades_row),
        "moodle.csv": rows_of(classroom, moodle_row),
        "canvas.csv": [head | possible, *rows_of(classroom, canvas_row)],
    }
    for name, rows in tables.items():
        write_whole(out / name, as_csv(rows).encode("utf-8", "replace"))
    return [out / name for name in tables]


def rows_of(classroom: Classroom, row: Callable[[Grade], dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each student; without its numbers where the student is not graded."""
    return [
        {key: "" if grade.failed and isinstance(value, float | int) else value for key, value in row(grade).items()}
        for grade in classroom.grades
    ]


def grades_row(grade: Grade) -> dict[str, Any]:
    """The points, with those of the grader alone beside them, then each exercise's.

    penalty: for lateness. remarks: nothing handed in, lateness and corrections, in words.
    """
    return {
        "student": grade.name,
        "id": grade.enrolled.listed.id,
        "email": grade.enrolled.listed.email,
        "points": grade.points,
        "max_points": grade.max_points,
        "raw_points": grade.raw_points,
        "penalty": grade.penalty,
        "remarks": "; ".join(grade.remarks),
        **{verdict.outcome.id: verdict.points for verdict in grade.judged},
    }


def moodle_row(grade: Grade) -> dict[str, Any]:
    """Moodle's grading worksheet: what it finds a student by, and what it takes up."""
    listed = grade.enrolled.listed
    return {
        "Identifier": f"Participant {listed.id}" if listed.system == "moodle" and listed.id else grade.name,
        "Full name": listed.name,
        "Email address": listed.email,
        "Grade": grade.points,
        "Maximum Grade": grade.max_points,
        "Feedback comments": feedback(grade),
    }


def canvas_row(grade: Grade) -> dict[str, Any]:
    """Canvas's gradebook: a column for each notebook."""
    listed = grade.enrolled.listed
    return {
        "Student": listed.name,
        "ID": listed.id if listed.system == "canvas" else "",
        "SIS User ID": listed.number,
        "SIS Login ID": listed.login,
        "Section": listed.section,
        **{name: grade.points_of(name) for name in grade.notebooks},
    }


def feedback(grade: Grade) -> str:
    """A line for each exercise that lost points, each notebook that was late, each correction."""
    lines = [
        f"{verdict.outcome.id} {verdict.outcome.title}: {verdict.points:g} of {verdict.counts:g}"
        for verdict in grade.judged
        if verdict.points < verdict.counts and not (grade.reason or grade.failed)
    ]
    return "\n".join([*grade.remarks, *lines, *grade.notes])


def write_feedback(classroom: Classroom, out: Path) -> list[Path]:
    """Write OUT/feedback-moodle.zip and OUT/feedback-canvas.zip, each where the class has students there.

    The reports are in OUT. Students whom the system cannot identify are left out. Raises OSError.
    """
    written = []
    for system in SYSTEMS:
        path = out / f"feedback-{system}.zip"
        names = {place: grade for grade in classroom.graded if (place := name_in_zip(grade, system))}
        if not names:
            path.unlink(missing_ok=True)  # of a class that had some
            continue
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for place, grade in names.items():
                archive.writestr(place, (out / "students" / f"{report_name(grade.name)}.html").read_bytes())
        write_whole(path, packed.getvalue())
        written.append(path)
    return written


def name_in_zip(grade: Grade, system: System) -> str:
    """The name that a student's report has in the zip of this system; "" where it can have none."""
    listed, uploads = grade.enrolled.listed, grade.enrolled.student.uploads
    if listed.system != system:
        return ""
    download = legible(uploads[-1].path.name if uploads else "").replace("\\", " ")  # a folder's end to some tools
    if found := (MOODLE if system == "moodle" else CANVAS).fullmatch(download):
        return f"{download[: found.start('file')]}{'/' if system == 'moodle' else ''}{REPORT}"
    if system == "moodle" and listed.id:  # by the roster, or by an empty folder
        name = re.sub(r"[_/\\]", " ", legible(listed.name))  # Moodle splits at the first of these
        return f"{name}_{listed.id}_assignsubmission_file_/{REPORT}"
    return ""

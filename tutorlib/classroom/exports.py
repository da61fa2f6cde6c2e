"""Grades as other systems want them: CSV files, Gradescope's results.json, JUnit's XML."""

import csv
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tutorlib.checking.exercise import Outcome
from tutorlib.classroom.grades import Classroom, Grade

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would calculate what begins so
LONGEST_STEM = 80  # bytes of a file's name
HASHED = re.compile("-[0-9a-f]{8}$")  # how a file's name ends that is not just the student's
UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 cannot hold


def write_all(classroom: Classroom, out: Path) -> list[Path]:
    """Write every export. A file is there as a whole, or as it was before. Raises OSError."""
    tables = {
        "grades.csv": grades_table(classroom),
        "nbgrader.csv": nbgrader_table(classroom),
        "moodle.csv": moodle_table(classroom),
        "canvas.csv": canvas_table(classroom),
    }
    files = {out / name: as_csv(rows) for name, rows in tables.items()}
    stems = file_stems(grade.name for grade in classroom.grades)
    for grade in classroom.grades:
        results = json.dumps(gradescope(grade), ensure_ascii=False, indent=1)
        files[out / "gradescope" / stems[grade.name] / "results.json"] = results + "\n"
    files[out / "junit.xml"] = junit(classroom)
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
    plain = {name: re.sub(r"[^\w .()-]", "_", name).strip(" .") for name in names}
    short = {name: stem.encode()[:LONGEST_STEM].decode(errors="ignore") for name, stem in plain.items()}
    spelled = [stem.casefold() for stem in short.values()]
    return {
        name: stem
        if stem == name and spelled.count(stem.casefold()) == 1 and not HASHED.search(stem.casefold())
        else f"{stem}-{sha256(name.encode()).hexdigest()[:8]}"
        for name, stem in short.items()
    }


def as_csv(rows: Iterable[dict[str, Any]]) -> str:
    """A table as CSV, in which no text is a formula to a spreadsheet, also to one that splits lines at semicolons."""
    import pandas as pd

    safe = [{key: harmless(value) for key, value in row.items()} for row in rows]
    return pd.DataFrame(safe, dtype=object).to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)


def harmless(value: Any) -> Any:
    """Text with an apostrophe before what a spreadsheet would calculate; whole numbers without a point."""
    if not isinstance(value, str):
        return int(value) if isinstance(value, float) and value.is_integer() else value
    return f"'{value}" if value.startswith(FORMULA) else value


def grades_table(classroom: Classroom) -> Iterator[dict[str, Any]]:
    """A row for each student: student, points, max_points, then a column for each exercise."""
    for grade in classroom.grades:
        yield {
            "student": grade.name,
            "points": grade.points,
            "max_points": grade.max_points,
            **{one.outcome.id: one.outcome.points for one in grade.judged},
        }


def nbgrader_table(classroom: Classroom) -> Iterator[dict[str, Any]]:
    """A row for each student and notebook, with the columns that `nbgrader export` has and that are known here."""
    for name in classroom.notebooks:
        for grade in classroom.grades:
            judged = grade.of_notebook(name)
            yield {
                "assignment": name,
                "duedate": "",
                "timestamp": "" if name in grade.missing else grade.submission.utc,
                "student_id": grade.student.id or grade.name,
                "last_name": "",
                "first_name": grade.name,
                "email": "",
                "raw_score": sum(one.outcome.points for one in judged),
                "late_submission_penalty": 0.0,
                "score": sum(one.outcome.points for one in judged),
                "max_score": sum(one.counts for one in judged),
            }


def moodle_table(classroom: Classroom) -> Iterator[dict[str, Any]]:
    """Moodle's grading worksheet: what it finds a student by, and what it takes up."""
    for grade in classroom.grades:
        yield {
            "Identifier": f"Participant {grade.student.id}" if grade.student.system == "moodle" else grade.name,
            "Full name": grade.name,
            "Grade": grade.points,
            "Maximum Grade": grade.max_points,
            "Feedback comments": feedback(grade),
        }


def canvas_table(classroom: Classroom) -> Iterator[dict[str, Any]]:
    """Canvas's gradebook: a column for each notebook, and its row of the points that are possible."""
    first = classroom.grades[0]
    head = {"Student": "    Points Possible", "ID": "", "SIS User ID": "", "SIS Login ID": "", "Section": ""}
    yield head | {name: sum(one.counts for one in first.of_notebook(name)) for name in classroom.notebooks}
    for grade in classroom.grades:
        row = dict.fromkeys(head, "") | {"Student": grade.name}
        if grade.student.system == "canvas":
            row["ID"] = grade.student.id
        points = {name: sum(one.outcome.points for one in grade.of_notebook(name)) for name in classroom.notebooks}
        yield row | points


def feedback(grade: Grade) -> str:
    """A line for each exercise that lost points."""
    lost = [one for one in grade.judged if one.outcome.points < one.counts]
    lines = [f"{one.outcome.id} {one.outcome.title}: {one.outcome.points:g} of {one.counts:g}" for one in lost]
    return "\n".join([*lines, *grade.notes])


def gradescope(grade: Grade) -> dict[str, Any]:
    """results.json as Gradescope's autograder reads it."""
    states = {"passed": "passed", "partial": "failed", "not_run": "passed"}
    return {
        "score": grade.points,
        "execution_time": round(grade.submission.graded.seconds),
        "output": "\n".join(grade.notes),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            {
                "number": one.outcome.id,
                "name": f"{one.outcome.id} {one.outcome.title}",
                "score": one.outcome.points,
                "max_score": one.counts,
                "status": states.get(one.outcome.status, "failed"),
                "output": one.outcome.message,
                "output_format": "text",
            }
            for one in grade.judged
        ],
    }


def junit(classroom: Classroom) -> str:
    """A test suite for each student, a test case for each exercise."""
    suites = ElementTree.Element("testsuites")
    for grade in classroom.grades:
        outcomes = [one.outcome for one in grade.judged]
        kinds = [junit_kind(outcome) for outcome in outcomes]
        attributes = {
            "name": printable(grade.name),
            "tests": str(len(outcomes)),
            "failures": str(kinds.count("failure")),
            "errors": str(kinds.count("error")),
            "skipped": str(kinds.count("skipped")),
            "time": f"{grade.submission.graded.seconds:.3f}",
        }
        suite = ElementTree.SubElement(suites, "testsuite", attributes)
        for outcome, kind in zip(outcomes, kinds, strict=True):
            case = ElementTree.SubElement(
                suite, "testcase", classname=outcome.id[:2], name=printable(f"{outcome.id} {outcome.title}")
            )
            if kind:
                said = printable(outcome.message)
                ElementTree.SubElement(case, kind, message=said.partition("\n")[0]).text = said
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def junit_kind(outcome: Outcome) -> str:
    """What JUnit calls it; "" for a passed one."""
    kinds = {"passed": "", "not_run": "skipped", "error": "error", "timeout": "error"}
    return kinds.get(outcome.status, "failure")


def printable(text: str) -> str:
    return UNPRINTABLE.sub("?", text)

"""An instructor's week with Moodle and with Canvas; the gradebook; the workflow that grades on push."""

import csv
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import yaml
from typer.testing import CliRunner

from tests.classroom.test_hand_ins import zip_of
from tutorlib.checking.exercise import Outcome
from tutorlib.classroom import CannotGrade, class_command
from tutorlib.classroom.files import report_name
from tutorlib.classroom.gradebook import Gradebook, Graded, Judged, Submission
from tutorlib.classroom.hand_ins import files_of
from tutorlib.cli import app
from tutorlib.exercises import of_notebook
from tutorlib.grading import sandbox
from tutorlib.paths import ROOT

WORKSHEET = "\ufeff" + (
    "Identifier,Full name,ID number,Email address,Status,Grade,Maximum grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments\r\n"
    "Participant 4711,Ann Lee,2201,ann@uni.example,Submitted for grading,,10.00,Yes,"
    '"Friday, 20 November 2026, 6:00 PM",-,\r\n'
    "Participant 4712,Zoë van Dam,2202,zoe@uni.example,Submitted for grading - 1 day 15 hours late,,10.00,Yes,"
    '"Sunday, 22 November 2026, 2:14 PM",-,\r\n'
    "Participant 4713,Bob Word,2203,bob@uni.example,Submitted for grading,,10.00,Yes,"
    '"Friday, 20 November 2026, 6:00 PM",-,\r\n'
    "Participant 4714,=Eve(),2204,eve@uni.example,No submission,,10.00,Yes,-,-,\r\n"
    "Participant 4715,Cy Locked,2205,cy@uni.example,Submitted for grading,,10.00,Yes,"
    '"Friday, 20 November 2026, 6:00 PM",-,\r\n'
)
GRADEBOOK = (
    'Student,ID,SIS User ID,SIS Login ID,Section,"Homework 1 (901234)"\n'
    '"    Points Possible",,,,,10.0\n'
    '"Liddell, Alice",123,30000001,al123,CS-1,\n'
    '"van Dam, Zoë",124,30000002,zvd,CS-1,\n'
    '"Nobody, Nic",125,30000003,nn,CS-2,\n'
    '"Student, Test",999,,,CS-1,\n'
)
RULES = "due = 2026-11-20T23:59:00+01:00\npenalty = 25\n"
CORRECTIONS = """id,name,exercise,points,comment,by
4711,,00.1,1,copied from the page,JD
,Zoë van Dam,00.1,+0.5,a good idea,
4713,,00.1,1,"a talk, instead",JD
4799,,00.1,2,who?,
4711,,07.1,2,not asked for,
"""


@pytest.fixture
def grader(monkeypatch):
    """In place of grading: 2 of 2 points for 00.1 where 00_start was handed in. Lists the submissions."""
    graded = []
    (exercise,) = of_notebook("00_start")
    right = Judged(exercise.outcome("passed", 2, ""), 2.0)

    def grade_new(run, book, console):  # but for a student whose name says so
        known = book.submissions()
        todo = [one for one in run.students if one.student not in known]
        for one in todo:
            files = files_of(one)
            failed = "ended the grader: no memory" * one.student.startswith("unlucky")
            notebooks = tuple(("00_start", label) for label, _ in files.notebooks[:1])
            found = Graded((right,) * len(notebooks), notebooks, files.notes, 1.0, failed)
            book.put(Submission(one.student, "", run.wanted, 7, "2026-11-23T00:00:00+00:00", found))
            graded.append(one.student)

    monkeypatch.setattr(class_command, "grade_new", grade_new)
    monkeypatch.setattr(class_command.sandbox, "why_open", lambda: "")
    return graded


def moodle(folder: Path) -> None:
    """What Moodle gives for a class, unpacked."""
    members = {
        "Ann Lee_4711/00_start.ipynb": b"{}",
        "Zoë van Dam_4712/work.zip": zip_of({"00_start.ipynb": b"{}"}),
        "Bob Word_4713/answers.docx": b"PK word",
        "Cy Locked_4715/work.zip": zip_of({f"{n}.ipynb": b"{}" for n in range(16)})[:-60],
        "Dan Unlisted_4790/00_start.ipynb": b"{}",
    }
    for member, content in members.items():
        path = folder / member.replace("/", "_assignsubmission_file_/")
        path.parent.mkdir(parents=True)
        path.write_bytes(content)


def hand_in_start(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "00_start.ipynb").write_text("{}")


def tutor(*args: object) -> SimpleNamespace:
    done = CliRunner().invoke(app, ["class", *map(str, args)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return SimpleNamespace(code=done.exit_code, said=done.stderr.splitlines(), results=done.stdout)


def rows(path: Path, key: str) -> dict[str, dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return {row[key]: row for row in csv.DictReader(file)}


def page_of(out: Path, student: str) -> str:
    return (out / "students" / f"{report_name(student)}.html").read_text(encoding="utf-8").replace("&#39;", "'")


@pytest.fixture
def with_moodle(tmp_path, grader):
    moodle(tmp_path / "in")
    out = tmp_path / "out"
    out.mkdir()
    (out / "roster.csv").write_text(WORKSHEET, encoding="utf-8", newline="")
    (out / "rules.toml").write_text(RULES, encoding="utf-8")
    (out / "corrections.csv").write_text(CORRECTIONS, encoding="utf-8")
    return tmp_path / "in", out, grader


LATE = (
    "00 is 2 days late, −1 point: handed in 2026-11-22 14:14 UTC+01:00 (by Moodle's worksheet), "
    "due 2026-11-20 23:59 UTC+01:00"
)
POINTS = {"Ann Lee": 1, "Zoë van Dam": 1.5, "Bob Word": 1, "=Eve()": 0, "Cy Locked": 0, "Dan Unlisted": 2}


class TestMoodle:
    def test_the_command_says_what_an_instructor_must_hear(self, with_moodle):
        folder, out, _ = with_moodle
        done = tutor(folder, "00", "--out", out)
        assert done.code == 0
        assert [line for line in done.said if not line.startswith("graded ")] == [
            "Dan Unlisted: not on the roster (no student is called Dan Unlisted). The hand-in is graded all the same.",
            "corrections.csv, line 5: no student is called 4799; this correction is not applied.",
            "corrections.csv, line 6: 07.1 was not asked for; this correction is not applied.",
            "When these handed in is unknown, and they count as on time: Dan Unlisted. Use Moodle's grading "
            "worksheet as the roster, or add the column `handed in` to your roster.",
            "Bob Word: not taken along: Bob Word_4713_assignsubmission_file_/answers.docx. The grader takes notebooks.",
            "Cy Locked: Cy Locked_4715_assignsubmission_file_/work.zip: damaged, or not a zip.",
        ]
        assert done.results.startswith(f"6 students: {out}/index.html, ")

    def test_every_table_has_every_student_with_the_final_points(self, with_moodle):
        folder, out, _ = with_moodle
        tutor(folder, "00", "--out", out)
        grades = rows(out / "grades.csv", "student")
        assert {name.removeprefix("'"): float(row["points"]) for name, row in grades.items()} == POINTS
        assert {row["max_points"] for row in grades.values()} == {"2"}
        zoe, ann, eve = grades["Zoë van Dam"], grades["Ann Lee"], grades["'=Eve()"]
        assert (zoe["raw_points"], zoe["penalty"], zoe["00.1"]) == ("2", "1", "2.5")
        assert zoe["remarks"] == f"{LATE}; 00.1 +0.5: a good idea"
        assert (ann["id"], ann["email"], ann["raw_points"]) == ("4711", "ann@uni.example", "2")
        assert ann["remarks"] == "00.1 set to 1: copied from the page (JD)"
        assert (eve["points"], eve["remarks"]) == ("0", "handed in nothing")
        assert grades["Bob Word"]["remarks"] == (
            "handed in no notebook that can be graded; 00.1 set to 1: a talk, instead (JD)"
        )
        moodle = rows(out / "moodle.csv", "Identifier")
        assert {id: (row["Full name"], float(row["Grade"])) for id, row in moodle.items()} == {
            "Participant 4711": ("Ann Lee", 1),
            "Participant 4712": ("Zoë van Dam", 1.5),
            "Participant 4713": ("Bob Word", 1),
            "Participant 4714": ("'=Eve()", 0),
            "Participant 4715": ("Cy Locked", 0),
            "Participant 4790": ("Dan Unlisted", 2),
        }
        assert moodle["Participant 4714"]["Feedback comments"] == "handed in nothing"

    def test_pages_show_what_was_changed_and_why(self, with_moodle):
        folder, out, _ = with_moodle
        tutor(folder, "00", "--out", out)
        assert "<del>2</del> 1 / 2" in page_of(out, "Ann Lee")
        assert "Correction, set to 1: copied from the page (JD)" in page_of(out, "Ann Lee")
        assert LATE in page_of(out, "Zoë van Dam")
        assert "Nothing was graded: handed in nothing." in page_of(out, "=Eve()")
        index = (out / "index.html").read_text(encoding="utf-8")
        assert "handed in nothing" in index
        assert "4799; this correction is not applied" in index

    def test_a_bad_file_grades_nothing(self, with_moodle):
        folder, out, graded = with_moodle
        (out / "corrections.csv").write_text("id,exercise,points\n4711,00.1,much\n")
        done = tutor(folder, "00", "--out", out)
        assert (done.code, done.said) == (2, ["corrections.csv, line 2: 'much' are no points; write 2, +1 or -0.5."])
        assert graded == []
        (out / "corrections.csv").unlink()
        (out / "roster.csv").write_text("id,extension\n4711,Sunday\n")
        done = tutor(folder, "00", "--out", out)
        assert (done.code, done.said) == (2, ["roster.csv, line 2: 'Sunday' is no time; write 2026-11-27 23:59."])
        assert graded == []


def test_canvas(tmp_path, grader):
    """Its gradebook's names and ids come back in canvas.csv; its mark says late and not how late."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    out.mkdir()
    for name in ("liddellalice_123_10_00_start.ipynb", "vandamzoe_LATE_124_11_00_start-1.ipynb"):
        (folder / name).write_text("{}")
    (out / "roster.csv").write_text(GRADEBOOK, encoding="utf-16")
    (out / "rules.toml").write_text(RULES)
    (out / "corrections.csv").write_text("id;exercise;points;comment\n125;00.1;+1,5;oral exäm\n", encoding="cp1252")
    done = tutor(folder, "00", "--out", out)
    assert [line for line in done.said if not line.startswith("graded ")] == [
        "van Dam, Zoë: vandamzoe_LATE_124_11_00_start-1.ipynb: handed in late."
    ]
    with (out / "canvas.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [
            ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "00_start"],
            ["    Points Possible", "", "", "", "", "2"],
            ["Liddell, Alice", "123", "30000001", "al123", "CS-1", "2"],
            ["Nobody, Nic", "125", "30000003", "nn", "CS-2", "1.5"],
            ["van Dam, Zoë", "124", "30000002", "zvd", "CS-1", "1.5"],
        ]
    grades = rows(out / "grades.csv", "student")
    assert grades["Nobody, Nic"]["remarks"] == "handed in nothing; 00.1 +1.5: oral exäm"
    assert "00 is 1 day late, −0.5 points: no time is known (by Canvas's mark)" in grades["van Dam, Zoë"]["remarks"]


def test_who_is_not_graded_has_no_zeros(tmp_path, grader):
    folder, out = tmp_path / "in", tmp_path / "out"
    hand_in_start(folder, "ann", "unlucky_7_assignsubmission_file_")
    done = tutor(folder, "00", "--out", out)
    assert (done.code, done.said[-1]) == (
        1, "unlucky: ended the grader: no memory. Exported without a grade; run this again to grade it again.",
    )  # fmt: skip
    for name, key, columns in (
        ("grades", "student", ("points", "max_points", "raw_points", "penalty", "00.1")),
        ("moodle", "Full name", ("Grade",)),
        ("canvas", "Student", ("00_start",)),
    ):
        table = rows(out / f"{name}.csv", key)
        assert [table["unlucky"][column] for column in columns] == [""] * len(columns), name
        assert table["ann"][columns[0]] == "2"
    assert not (out / "feedback-moodle.zip").exists()
    assert "Not graded: ended the grader" in page_of(out, "unlucky")
    assert "median 100 %" in (out / "index.html").read_text()


def test_a_comment_is_beside_the_answer_in_the_next_run(tmp_path, grader):
    folder, out = tmp_path / "in", tmp_path / "out"
    hand_in_start(folder, "ann")
    tutor(folder, "00", "--out", out)
    book = Gradebook(out / "gradebook")
    one = book.submissions()["ann"]
    book.put(replace(one, graded=replace(one.graded, answers=(("00.1", "x = 1"),))))
    (out / "corrections.csv").write_text("name,exercise,comment,by\nann,00.1,why not zip?,JD\n")
    tutor(folder, "00", "--out", out)
    for page in (page_of(out, "ann"), (out / "exercise" / "00.1.html").read_text()):
        (beside,) = re.findall('<div class="beside">(.*?)</div></div>', page, re.DOTALL)
        assert '<pre class="code">' in beside
        assert "Comment: why not zip? (JD)" in beside


# The gradebook -------------------------------------------------------------------------------------------------------

MEASURED = {"shape": [4096, 4096, 4096], "ratio": 0.97}


def submission(student: str, points: float = 2.0, message: str = "right") -> Submission:
    outcomes = [Outcome(f"00.{k}", "title", "passed", points, 3, message, MEASURED) for k in (1, 2, 10)]
    graded = Graded(
        tuple(Judged(one, 3.0) for one in outcomes),
        (("00_start", "a.ipynb"),),
        ("a note",),
        1.5,
        "",
        (("00.1", "def answer():\n    return '\x00\u202e'"), ("00.2", "")),
    )
    return Submission(student, "hash", ("00_start",), 2**47, "2026-01-01T00:00:00+00:00", graded)


def test_what_was_put_is_read_back(tmp_path):
    book = Gradebook(tmp_path / "gradebook")
    one = submission("=cmd() ünï?")
    for put in (one, submission("other"), replace(one, seed=None, wanted=None)):
        book.put(put)
    (book.folder / "of_another_version.json").write_text('{"student": "old", "wanted": null}')
    assert book.submissions() == {"=cmd() ünï?": replace(one, seed=None, wanted=None), "other": submission("other")}


def test_a_disk_that_takes_nothing_is_one_line(tmp_path):
    (tmp_path / "gradebook").touch()
    with pytest.raises(CannotGrade, match="Run the same command again") as error:
        Gradebook(tmp_path / "gradebook").put(submission("ann"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "wanted", "seed", "enough"),
    [
        ("hash", ("00_start",), None, True),
        ("hash", ("00_start",), 2**47, True),
        ("hash", (), None, True),
        ("other", ("00_start",), None, False),
        ("hash", ("00_start", "01_layouts"), None, False),
        ("hash", None, None, False),
        ("hash", ("00_start",), 3, False),
    ],
)
def test_who_need_not_be_graded_again(content, wanted, seed, enough):
    one = submission("s")
    assert one.answers(content, wanted, seed) is enough
    assert not replace(one, graded=replace(one.graded, failed="ended")).answers(content, wanted, seed)


# The workflow that grades on push: its shell steps, executed as a runner would ---------------------------------------

STEPS = yaml.safe_load((ROOT / "docs" / "classroom" / "grade.yml").read_text())["jobs"]["grade"]["steps"]
RIGHT = "def ceil_div(n, tile):\n    return -(-n // tile)"
WRONG = "def ceil_div(n, tile):\n    return '<b>|`no`|</b>\\n::error::x'"


@pytest.mark.parametrize(("answer", "failed", "state"), [(RIGHT, [], "passed"), (WRONG, ["Grade"], "failed")])
def test_a_push_is_graded(tmp_path, answer, failed, state):
    workspace, bin, summary = tmp_path / "workspace", tmp_path / "bin", tmp_path / "summary.md"
    bin.mkdir()
    (workspace / "student" / "notebooks").mkdir(parents=True)
    (workspace / "course").symlink_to(ROOT)
    notebook = nbformat.read(ROOT / "notebooks" / "00_start.ipynb", as_version=4)
    next(cell for cell in notebook.cells if cell.id == "answer-00-1").source = answer
    nbformat.write(notebook, workspace / "student" / "notebooks" / "00_start.ipynb")
    commands = {
        "sudo": f'echo "$@" >> {tmp_path}/sudo',
        "python": f'exec {sys.executable} "$@"',
        "tutor": f'exec {sys.executable} -m tutorlib "$@"{" --no-sandbox" if sandbox.why_open() else ""}',
    }
    for name, text in commands.items():
        (bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (bin / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{bin}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    environment |= {"COURSE_INSTALLED": "yes", "GITHUB_STEP_SUMMARY": str(summary)}
    status = {}
    for step in (step for step in STEPS if "run" in step):
        env = environment | {name: str(value) for name, value in step.get("env", {}).items()}
        status[step["name"]] = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=workspace, env=env).returncode
    assert [name for name, code in status.items() if code] == failed
    assert re.search(rf"00\.1 .*ceil_div .*{state}", summary.read_text())
    scores = json.loads((workspace / "results" / "scores.json").read_text())
    assert scores["points"] == (0 if failed else 2)
    assert "apt-get install -qq bubblewrap" in (tmp_path / "sudo").read_text()

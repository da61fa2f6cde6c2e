"""An instructor's week with Moodle and with Canvas: roster, lateness, corrections, and every file that tells of them.

Grading is replaced by one that gives 2 of 2 points for each notebook; only `test_with_the_grader` grades.
"""

import csv
import json
import random
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from tests.classroom.a_class import hand_in, points_in
from tests.classroom.test_handed_in import locked, zip_of
from tests.trial_course import make_course
from tutorlib.classroom import class_command
from tutorlib.classroom.gradebook import Submission, open_gradebook
from tutorlib.classroom.task import Graded, Judged
from tutorlib.cli import app
from tutorlib.exercises import of_notebook

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
RULES = """
time_zone = "Europe/Berlin"
due = 2026-11-20T23:59:00
penalty = "25%"
"""
CORRECTIONS = """id,name,exercise,points,comment,by
4711,,00.1,1,copied from the page,JD
,Zoë van Dam,00.1,+0.5,a good idea,
4713,,,1,"a talk, instead",JD
4799,,00.1,2,who?,
4711,,07.1,2,not asked for,
"""


@pytest.fixture
def grader(monkeypatch):
    """In place of grading: 2 of 2 points for 00.1 where 00_start was handed in. Counts the submissions."""
    graded = []
    (exercise,) = of_notebook("00_start")
    right = Judged(exercise.outcome("passed", 2, ""), 2.0)

    def grade_new(run, book, started, done):  # but for a student whose name says so
        book.forget(run.again)
        known = book.submissions()
        todo = [one for one in run.students if one.student not in known]
        started(len(todo))
        for one in todo:
            there = [entry.label for entry in one.notebooks]
            failed = "ended the grader: no memory" * one.student.startswith("unlucky")
            notebooks = (("00_start", there[0]),) if there else ()
            found = Graded((right,) * bool(there), notebooks, tuple(one.notes), 1.0, failed)
            book.put(Submission(one.student, "", run.wanted, 7, "2026-11-23T00:00:00+00:00", found))
            graded.append(one.student)
            done(one.student)

    monkeypatch.setattr(class_command, "grade_new", grade_new)
    monkeypatch.setattr(class_command.sandbox, "why_open", lambda: "")
    return graded


def moodle(folder: Path) -> None:
    """The zip that Moodle gives for a class: the time of each file is that of the download."""
    name = "{}_{}_assignsubmission_file_/{}".format
    members = {
        name("Ann Lee", 4711, "00_start.ipynb"): b"{}",
        name("Zoë van Dam", 4712, "work.zip"): zip_of({"00_start.ipynb": b"{}"}),
        name("Bob Word", 4713, "answers.docx"): b"PK word",
        name("Cy Locked", 4715, "work.zip"): locked(zip_of({f"{n}.ipynb": b"{}" for n in range(16)})),
        name("Dan Unlisted", 4790, "00_start.ipynb"): b"{}",
    }
    folder.mkdir()
    with zipfile.ZipFile(folder / "CS-Homework 1-99.zip", "w") as archive:
        for member, content in members.items():
            archive.writestr(zipfile.ZipInfo(member, (2026, 11, 23, 9, 0, 0)), content)


def tutor(*args: object) -> SimpleNamespace:
    done = CliRunner().invoke(app, ["class", *map(str, args)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return SimpleNamespace(code=done.exit_code, said=done.stderr.splitlines(), table=done.stdout)


def rows(path: Path, key: str) -> dict[str, dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return {row[key]: row for row in csv.DictReader(file)}


@pytest.fixture
def with_moodle(tmp_path, grader):
    moodle(tmp_path / "in")
    (tmp_path / "roster.csv").write_text(WORKSHEET, encoding="utf-8", newline="")
    (tmp_path / "rules.toml").write_text(RULES, encoding="utf-8")
    (tmp_path / "corrections.csv").write_text(CORRECTIONS, encoding="utf-8")
    files = [
        f"--{kind.partition('.')[0]}={tmp_path / kind}" for kind in ("roster.csv", "rules.toml", "corrections.csv")
    ]
    return tmp_path / "in", tmp_path / "out", files, grader


LATE = "00 is 2 days late, −1 point: handed in 2026-11-22 14:14 CET (by Moodle's worksheet), due 2026-11-20 23:59 CET"
POINTS = {"Ann Lee": 1, "Zoë van Dam": 1.5, "Bob Word": 1, "=Eve()": 0, "Cy Locked": 0, "Dan Unlisted": 2}


class TestMoodle:
    def test_the_command_says_what_an_instructor_must_hear(self, with_moodle):
        folder, out, files, _ = with_moodle
        done = tutor(folder, "00", "--out", out, *files)
        zipped = "CS-Homework 1-99.zip"
        assert done.code == 0
        assert [line for line in done.said if not line.startswith("graded ")] == [
            "Dan Unlisted: not on the roster (no student is called Dan Unlisted). The hand-in is graded all the same.",
            "corrections.csv, line 5: no student is called 4799; this correction is not applied.",
            "corrections.csv, line 6: 07.1 was not asked for; this correction is not applied.",
            "When these handed in is unknown, and they count as on time: Dan Unlisted. The files in Moodle's zip have "
            "the time of its download, and Canvas's mark ignores the roster's extensions: give Moodle's grading "
            "worksheet as --roster, or add the column `handed in` to it.",
            "Bob Word: There is no notebook in this hand-in, only answers.docx.",
            f"Cy Locked: {zipped}/Cy Locked_4715_assignsubmission_file_/work.zip/0.ipynb and 15 more in this zip: "
            "locked with a password; ask for it without one.",
        ]
        assert "handed in nothing" in done.table
        assert "6 students" in done.table

    def test_every_table_has_every_student_with_the_final_points(self, with_moodle):
        folder, out, files, _ = with_moodle
        tutor(folder, "00", "--out", out, *files)
        grades = rows(out / "grades.csv", "student")
        assert {name.removeprefix("'"): float(row["points"]) for name, row in grades.items()} == POINTS
        assert {row["max_points"] for row in grades.values()} == {"2"}
        zoe, ann, eve = grades["Zoë van Dam"], grades["Ann Lee"], grades["'=Eve()"]
        assert (zoe["raw_points"], zoe["penalty"], zoe["00.1"]) == ("2", "1", "2.5")
        assert zoe["remarks"] == f"{LATE}; 00.1 +0.5: a good idea"
        assert (ann["id"], ann["email"], ann["raw_points"]) == ("4711", "ann@uni.example", "2")
        assert ann["remarks"] == "00.1 set to 1: copied from the page (JD)"
        assert (eve["points"], eve["remarks"]) == ("0", "handed in nothing")
        assert grades["Bob Word"]["remarks"] == "handed in no notebook; total set to 1: a talk, instead (JD)"
        assert grades["Cy Locked"]["remarks"] == "handed in no notebook"

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
        with (out / "nbgrader.csv").open(newline="", encoding="utf-8") as file:
            nbgrader = {(row["assignment"], row["student_id"]): row for row in csv.DictReader(file)}
        row = nbgrader["00_start", "4712"]
        assert (row["raw_score"], row["late_submission_penalty"], row["score"]) == ("2", "1", "1.5")
        assert (nbgrader["correction", "4713"]["score"], len(nbgrader)) == ("1", 7)
        scores = {path.parent.name: json.loads(path.read_text())["score"] for path in out.glob("gradescope/*/*.json")}
        assert sorted(scores.values()) == sorted(POINTS.values())

    def test_pages_show_what_was_changed_and_why(self, with_moodle):
        folder, out, files, _ = with_moodle
        tutor(folder, "00", "--out", out, *files)
        ann = (out / "students" / "Ann Lee.html").read_text(encoding="utf-8")
        assert "<del>2</del> 1 / 2" in ann
        assert "Correction, set to 1: copied from the page (JD)" in ann
        assert LATE in (out / "students" / "Zoë van Dam.html").read_text(encoding="utf-8").replace("&#39;", "'")
        (eve,) = (out / "students").glob("*Eve*.html")
        assert "Nothing was graded: handed in nothing." in eve.read_text(encoding="utf-8")
        assert "What to look at next" not in eve.read_text(encoding="utf-8")
        index = (out / "index.html").read_text(encoding="utf-8")
        assert "handed in nothing" in index
        assert "4799; this correction is not applied" in index

    def test_what_was_given_counts_in_later_runs_and_survives_a_regrade(self, with_moodle):
        folder, out, files, graded = with_moodle
        tutor(folder, "00", "--out", out, *files)
        before = (out / "grades.csv").read_text(encoding="utf-8")
        assert len(graded) == 5
        done = tutor(folder, "00", "--out", out, "--regrade", "4711", "--regrade", "Zoë van Dam")
        assert graded[5:] == ["Ann Lee", "Zoë van Dam"]
        assert (out / "grades.csv").read_text(encoding="utf-8") == before
        assert (
            "Used again, as in an earlier run: --roster roster.csv, --rules rules.toml, --corrections corrections.csv. "
            "With `none` in place of the file it is not."
        ) in done.said
        tutor(folder, "00", "--out", out, "--corrections", "none", "--rules", "none")
        assert {row["points"] for row in rows(out / "grades.csv", "student").values()} == {"0", "2"}
        done = tutor(folder, "00", "--out", out)
        assert {row["penalty"] for row in rows(out / "grades.csv", "student").values()} == {"0"}
        assert not [line for line in done.said if "corrections.csv" in line]

    def test_a_bad_file_grades_nothing_and_keeps_what_was_given(self, with_moodle, tmp_path):
        folder, out, files, graded = with_moodle
        tutor(folder, "00", "--out", out, *files)
        before = (out / "grades.csv").read_text(encoding="utf-8")
        (tmp_path / "bad.csv").write_text("id,exercise,points\n4711,00.1,much\n")
        (tmp_path / "other.csv").write_text("id,name\n1,Other\n")
        done = tutor(
            folder, "00", "--out", out, "--corrections", tmp_path / "bad.csv", "--roster", tmp_path / "other.csv"
        )
        assert (done.code, done.said) == (2, ["bad.csv, line 2: 'much' are no points; write 2, +1 or -0.5."])
        assert tutor(folder, "00", "--out", out).code == 0
        assert (out / "grades.csv").read_text(encoding="utf-8") == before
        assert len(graded) == 5

    def test_without_the_worksheet_s_times_the_download_s_make_nobody_late(self, with_moodle):
        folder, out, (_, rules, _), _ = with_moodle
        done = tutor(folder, "00", "--out", out, rules)
        assert {row["penalty"] for row in rows(out / "grades.csv", "student").values()} == {"0"}
        (line,) = [line for line in done.said if "unknown" in line]
        assert line.startswith("When these handed in is unknown, and they count as on time: Ann Lee, Dan Unlisted, Zoë")

    def test_an_extension_is_a_later_deadline_for_one_student(self, with_moodle, tmp_path):
        folder, out, files, graded = with_moodle
        head, *students = WORKSHEET.splitlines()
        extended = [f"{head},Extension", *(f"{row},{'2026-11-22 14:00' * ('4712' in row)}" for row in students)]
        (tmp_path / "roster.csv").write_text("\n".join(extended), encoding="utf-8")
        tutor(folder, "00", "--out", out, *files)
        assert rows(out / "grades.csv", "student")["Zoë van Dam"]["remarks"].startswith(
            "00 is 1 day late, −0.5 points: handed in 2026-11-22 14:14 CET (by Moodle's worksheet), due 2026-11-22 14"
        )
        (tmp_path / "roster.csv").write_text("\n".join(extended).replace(" 14:00", ""), encoding="utf-8")  # that day
        tutor(folder, "00", "--out", out, *files)
        assert rows(out / "grades.csv", "student")["Zoë van Dam"]["penalty"] == "0"
        (tmp_path / "roster.csv").write_text("\n".join(extended).replace("2026-11-22 14", "Sunday"), encoding="utf-8")
        done = tutor(folder, "00", "--out", tmp_path / "new", *files)
        assert (done.code, done.said) == (2, ["roster.csv, line 3: 'Sunday:00' is no time; write 2026-11-27 23:59."])
        assert len(graded) == 5

    def test_times_that_the_roster_has_come_first(self, with_moodle, tmp_path):
        folder, out, (_, rules, _), _ = with_moodle
        (tmp_path / "roster.csv").write_text("id,handed in\n4711,2026-11-21T12:00:00Z\n4712,2026-11-20T12:00\n")
        tutor(folder, "00", "--out", out, rules, f"--roster={tmp_path / 'roster.csv'}")
        grades = rows(out / "grades.csv", "id")
        assert {id: row["penalty"] for id, row in grades.items() if row["penalty"] != "0"} == {"4711": "0.5"}


def test_canvas(tmp_path, grader):
    """Its gradebook's names and ids come back in canvas.csv; its mark says late and not how late."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for name in ("liddellalice_123_10_00_start.ipynb", "vandamzoe_LATE_124_11_00_start-1.ipynb"):
        (folder / name).write_text("{}")
    (tmp_path / "roster.csv").write_text(GRADEBOOK, encoding="utf-16")
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "c.csv").write_text("id;exercise;delta;comment\n125;;1,5;oral exam\n", encoding="cp1252")
    files = [f"--roster={tmp_path / 'roster.csv'}", f"--rules={tmp_path / 'rules.toml'}"]
    done = tutor(folder, "00", "--out", out, *files, "--corrections", tmp_path / "c.csv")
    assert [line for line in done.said if not line.startswith("graded ")] == [
        "van Dam, Zoë: vandamzoe_LATE_124_11_00_start-1.ipynb: handed in late."
    ]
    with (out / "canvas.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [
            ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "00_start", "correction"],
            ["    Points Possible", "", "", "", "", "2", "0"],
            ["Liddell, Alice", "123", "30000001", "al123", "CS-1", "2", "0"],
            ["Nobody, Nic", "125", "30000003", "nn", "CS-2", "0", "1.5"],
            ["van Dam, Zoë", "124", "30000002", "zvd", "CS-1", "1.5", "0"],
        ]
    grades = rows(out / "grades.csv", "student")
    assert grades["Nobody, Nic"]["remarks"] == "handed in nothing; total +1.5: oral exam"
    assert "00 is 1 day late, −0.5 points: no time is known (by Canvas's mark)" in grades["van Dam, Zoë"]["remarks"]
    assert [path.name for path in sorted((out / "students").iterdir())] == [
        *("Liddell, Alice.html", "Nobody, Nic.html", "van Dam, Zoë.html")
    ]


def test_a_class_in_moodle_and_in_canvas_comes_back_to_each(tmp_path, grader):
    folder, out = tmp_path / "in", tmp_path / "out"
    moodle(folder)
    (folder / "submissions.zip").write_bytes(zip_of({"liddellalice_123_10_00_start.ipynb": b"{}"}))
    (tmp_path / "m.csv").write_text(WORKSHEET, encoding="utf-8", newline="")
    (tmp_path / "c.csv").write_text(GRADEBOOK, encoding="utf-8")
    tutor(folder, "00", "--out", out, "--roster", tmp_path / "m.csv", "--roster", tmp_path / "c.csv")
    assert len(rows(out / "grades.csv", "student")) == 9
    assert list(rows(out / "canvas.csv", "ID")) == ["", "123", "125", "124"]
    assert sorted(rows(out / "moodle.csv", "Identifier")) == [
        *(f"Participant {id}" for id in (4711, 4712, 4713, 4714, 4715, 4790))
    ]


def test_the_time_of_a_student_s_own_zip_is_when_it_came(tmp_path, grader):
    """And not when the notebook in it was saved, or what a clock of the student's said."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    with zipfile.ZipFile(folder / "ann.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("00_start.ipynb", (1999, 1, 1, 0, 0, 0)), b"{}")
    (tmp_path / "rules.toml").write_text("due = 2020-01-01T00:00:00Z\npenalty = 0.5\ncap = 1.5\n")
    tutor(folder, "00", "--out", out, "--rules", tmp_path / "rules.toml")
    (row,) = rows(out / "grades.csv", "student").values()
    assert (row["raw_points"], row["points"]) == ("2", "0.5")
    assert "(by the file's time)" in row["remarks"]
    (tmp_path / "c.csv").write_text("name,exercise,points\nann,00.1,1\n")
    tutor(folder, "00", "--out", out, "--corrections", tmp_path / "c.csv")
    (row,) = rows(out / "nbgrader.csv", "student_id").values()
    assert (row["raw_score"], row["late_submission_penalty"], row["score"]) == ("2", "1", "0")  # not less than nothing


def test_who_is_not_graded_has_no_zeros_and_holds_the_exports_back(tmp_path, grader):
    folder, out = tmp_path / "in", tmp_path / "out"
    for name in ("ann", "unlucky_7_assignsubmission_file_"):
        (folder / name).mkdir(parents=True)
        (folder / name / "00_start.ipynb").write_text("{}")
    (tmp_path / "c.csv").write_text("name,exercise,points\nunlucky,,+1\n")
    done = tutor(folder, "00", "--out", out, "--corrections", tmp_path / "c.csv")
    assert done.code == 1
    assert done.said[-2:] == [
        "unlucky: ended the grader: no memory. Run this again to grade it again.",
        "Nothing is exported, since these are not graded: unlucky. --partial exports the others' grades.",
    ]
    assert {path.name for path in out.iterdir() if not path.name.startswith((".", "gradebook"))} == {
        *("exercise", "index.html", "similar.csv", "similar.html", "students")
    }
    done = tutor(folder, "00", "--out", out, "--partial")
    assert (done.code, done.said[-1]) == (1, "Exported without a grade: unlucky.")
    for name, key, columns in (
        ("grades", "student", ("points", "max_points", "raw_points", "penalty", "00.1")),
        ("moodle", "Full name", ("Grade",)),
        ("canvas", "Student", ("00_start", "correction")),
        ("nbgrader", "first_name", ("score", "late_submission_penalty", "raw_score")),
    ):
        table = rows(out / f"{name}.csv", key)
        assert [table["unlucky"][column] for column in columns] == [""] * len(columns), name
        assert table["ann"][columns[0]] == "2"
    assert [path.name for path in (out / "gradescope").iterdir()] == ["ann"]
    assert not (out / "feedback-moodle.zip").exists()
    assert "Not graded: ended the grader" in (out / "students" / "unlucky.html").read_text()
    assert "median 100 %" in (out / "index.html").read_text()


def test_a_comment_is_beside_the_answer_in_the_next_run(tmp_path, grader):
    folder, out = tmp_path / "in", tmp_path / "out"
    (folder / "ann").mkdir(parents=True)
    (folder / "ann" / "00_start.ipynb").write_text("{}")
    tutor(folder, "00", "--out", out)
    with open_gradebook(out / "gradebook.sqlite") as book:
        one = book.submissions()["ann"]
        book.put(replace(one, graded=replace(one.graded, answers=(("00.1", "x = 1"),))))
    (tmp_path / "c.csv").write_text("name,exercise,comment,by\nann,00.1,why not zip?,JD\n")
    tutor(folder, "00", "--out", out, "--corrections", tmp_path / "c.csv")
    for page in (out / "students" / "ann.html", out / "exercise" / "00.1.html"):
        (beside,) = re.findall('<div class="beside">(.*?)</div></div>', page.read_text(), re.DOTALL)
        assert '<pre class="code">' in beside
        assert "Comment: why not zip? (JD)" in beside


def test_who_has_gone_from_the_folder_has_handed_in_nothing(tmp_path, grader):
    folder, out = tmp_path / "in", tmp_path / "out"
    for name in ("ann", "bob"):
        (folder / name).mkdir(parents=True)
        (folder / name / "00_start.ipynb").write_text("{}")
    (tmp_path / "r.csv").write_text("name\nann\nbob\n")
    tutor(folder, "00", "--out", out, "--roster", tmp_path / "r.csv")
    (folder / "bob" / "00_start.ipynb").unlink()
    (folder / "bob").rmdir()
    done = tutor(folder, "00", "--out", out)
    grades = rows(out / "grades.csv", "student")
    assert [(row["points"], row["remarks"]) for row in grades.values()] == [("2", ""), ("0", "handed in nothing")]
    assert "In the gradebook, and not in the folder any more: bob." in done.said


def test_corrections_of_several_assistants(tmp_path, grader):
    folder, out = tmp_path / "in", tmp_path / "out"
    (folder / "ann").mkdir(parents=True)
    (folder / "ann" / "00_start.ipynb").write_text("{}")
    (tmp_path / "a.csv").write_text("name,exercise,points,by\nann,00.1,1,A\n")
    (tmp_path / "b.csv").write_text("name,exercise,points,by\nann,00.1,+0.5,B\nann,,+1,B\n")
    tutor(folder, "00", "--out", out, "--corrections", tmp_path / "a.csv", "--corrections", tmp_path / "b.csv")
    for _ in range(2):  # the gradebook keeps both
        (row,) = rows(out / "grades.csv", "student").values()
        assert (row["points"], row["remarks"]) == ("2.5", "00.1 set to 1 (A); 00.1 +0.5 (B); total +1 (B)")
        tutor(folder, "00", "--out", out)


def test_with_the_grader(tmp_path):
    """A class as it comes: a roster, a late one, a corrected one, a Word file, and one who handed in nothing."""
    course = make_course(tmp_path / "course", {90: 2})
    folder, out = tmp_path / "in", tmp_path / "out"
    due = hand_in(course, folder, "Ann Lee_4711_assignsubmission_file_", {90: 2}, random.Random(3))
    (folder / "Bob Word_4713_assignsubmission_file_").mkdir()
    (folder / "Bob Word_4713_assignsubmission_file_" / "answers.docx").write_bytes(b"PK word")
    (tmp_path / "roster.csv").write_text(WORKSHEET, encoding="utf-8", newline="")
    (tmp_path / "c.csv").write_text("id,exercise,points,comment\n4711,90.1,+1,well put\n")
    files = ("--roster", tmp_path / "roster.csv", "--corrections", tmp_path / "c.csv")
    done = course.tutor("class", folder, "--out", out, *files)
    assert done.returncode == 0, done.stderr
    assert "graded 2 of 2 submissions in " in done.stderr
    assert points_in(out) == {"Ann Lee": due}
    grades = rows(out / "grades.csv", "student")
    assert {name: float(row["points"]) for name, row in grades.items()} == {
        "Ann Lee": sum(due.values()) + 1,
        **dict.fromkeys(("Bob Word", "Cy Locked", "Zoë van Dam", "'=Eve()"), 0.0),
    }
    assert grades["Bob Word"]["remarks"] == "handed in no notebook"

"""`tutor class` over a class of the trial course: points, broken files, what is graded again, and files for others."""

import csv
import fcntl
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.classroom.a_class import RIGHT, hand_in, left_running, points_in, start
from tests.trial_course import Course, make_course
from tutorlib.classroom.files import report_name
from tutorlib.cli import app
from tutorlib.paths import ROOT

SIZES = {90: 3, 91: 2}
HOSTILE = "=cmd()|' C calc'!A0"


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return make_course(tmp_path_factory.mktemp("course"), SIZES)


@pytest.fixture(scope="module")
def graded(course, tmp_path_factory):
    """A class with broken files among good ones: its folder, OUT, the points that are due, what was said."""
    root = tmp_path_factory.mktemp("class")
    folder, out, rng = root / "hand-ins", root / "out", random.Random(14)
    due = {"Zoë, van\u00a0Dam": hand_in(course, folder, "Zoë, van\u00a0Dam", SIZES, rng)}
    due[HOSTILE] = hand_in(course, folder, HOSTILE, {90: 3}, rng)
    due["late"] = hand_in(course, folder, "late_7_assignsubmission_file_", {90: 3}, rng)
    copy = folder / "late_7_assignsubmission_file_" / "90_trial-Copy1.ipynb"
    shutil.copy(course.root / "notebooks" / "90_trial.ipynb", copy)
    os.utime(copy, (2e9, 2e9))  # newer, and nothing is written in it
    broken = folder / "broken"
    broken.mkdir()
    (broken / "90_trial.ipynb").write_text("{")
    (broken / "91_trial.ipynb").write_text(json.dumps({"cells": [{"cell_type": "code", "source": 3}]}))
    os.mkfifo(broken / "92.ipynb")
    (folder / "nobody").mkdir()
    due["old \\xe9"] = hand_in(course, folder, "old \udce9", {90: 3}, rng)  # a name in one byte a letter
    (folder / "stray.xlsx").touch()
    done = course.tutor("class", folder, "--out", out, "--seed", 5)
    assert done.returncode == 0, done.stderr
    names = {"Zoë, van\u00a0Dam": "Zoë, van Dam"}
    return folder, out, {names.get(student, student): points for student, points in due.items()}, done


def test_points_are_those_that_are_due(graded):
    _, out, due, _ = graded
    assert points_in(out) == due


def test_each_broken_file_has_a_line_and_costs_itself(graded):
    done = graded[3]
    lines = "\n".join(sorted(done.stderr.splitlines()))
    for file, says in (
        ("stray.xlsx", "neither a notebook nor a zip; left out."),
        ("broken/90_trial.ipynb", "not a notebook that Jupyter can open."),
        ("broken/91_trial.ipynb", "not a notebook of this course: it has no answer cells."),
        ("broken/92.ipynb", "neither a file nor a folder."),
        ("late_7_assignsubmission_file_/90_trial-Copy1.ipynb", "newer than 90_trial.ipynb, and nothing is written"),
    ):
        assert any(file in line and says in line for line in lines.splitlines()), lines
    assert "Traceback" not in lines


def test_grades_csv(graded):
    _, out, due, _ = graded
    with (out / "grades.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    exercises = [f"{number}.{k}" for number, count in SIZES.items() for k in range(1, count + 1)]
    about = ["student", "id", "email", "points", "max_points", "raw_points", "penalty", "remarks"]
    assert list(rows[0]) == [*about, *exercises]
    assert {row["student"]: row["remarks"] for row in rows if row["remarks"]} == {
        "broken": "handed in no notebook that can be graded",
        "nobody": "handed in nothing",
    }
    assert [row["student"] for row in rows] == sorted(
        (f"'{HOSTILE}", "Zoë, van Dam", "broken", "late", "nobody", "old \\xe9"),
        key=lambda name: name.removeprefix("'"),
    )
    for row in rows:
        points = due.get(row["student"].removeprefix("'"), {})
        assert {id: float(row[id]) for id in exercises} == dict.fromkeys(exercises, 0.0) | points
        assert (float(row["points"]), float(row["max_points"])) == (sum(points.values()), 10)


def test_the_answers_are_kept_and_go_back_with_the_report(graded, course):
    _, out, due, _ = graded
    with closing(sqlite3.connect(out / "gradebook.sqlite")) as db:
        kept = dict(db.execute("select exercise, text from answers where student = 'late'"))
    assert kept.keys() == due["late"].keys()
    assert all(text.startswith("def answer(n):\n    return n") for text in kept.values())
    with zipfile.ZipFile(out / "feedback-moodle.zip") as archive:
        assert archive.namelist() == ["late_7_assignsubmission_file_/report.html"]
        page = archive.read(archive.namelist()[0]).decode()
    assert page == (out / "students" / f"{report_name('late')}.html").read_text()
    assert page.count('class="code"') == len(kept)
    assert not (out / "feedback-canvas.zip").exists()
    assert "No pair of students stands out" in (out / "similar.html").read_text()


def test_run_again_it_grades_what_changed_alone(graded, course):
    folder, out, due, _ = graded
    before = utc(out)
    course.submit(folder / HOSTILE, 90, {k: RIGHT.format(k=k) for k in (1, 2, 3)})
    (folder / "new").mkdir()
    course.submit(folder / "new", 91, {1: RIGHT.format(k=1)})
    shutil.rmtree(folder / "nobody")
    done = course.tutor("class", folder, "--out", out, "--seed", 5)
    assert done.returncode == 0, done.stderr
    assert points_in(out) == due | {
        HOSTILE: {"90.1": 2, "90.2": 2, "90.3": 2},
        "new": {"91.1": 2, "91.2": 0},
    }
    after = utc(out)
    assert {student for student in before if before[student] != after[student]} == {HOSTILE}
    assert "In the gradebook, and not in the folder any more: nobody." in done.stderr


def utc(out: Path) -> dict[str, str]:
    with closing(sqlite3.connect(out / "gradebook.sqlite")) as db:
        return dict(db.execute("select student, utc || graded from submissions"))


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("gone",), "gone: no folder."),
        (("solutions", "77"), "There is no notebook 77; there are 00_start, "),
        (("figures/data", "--regrade", "me"), "--regrade me: no student is called me."),
        (("figures/data", "--ray", "local"), "--ray needs Ray: pip install '.[ray]'"),
        (("README.md",), "README.md: no folder. Unpack the zip of a class"),
    ],
)
def test_what_cannot_be_graded_is_one_line(tmp_path, monkeypatch, args, says):
    monkeypatch.chdir(ROOT)
    monkeypatch.setitem(sys.modules, "ray", None)
    done = CliRunner().invoke(app, ["class", *args, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_one_run_at_a_time(tmp_path):
    with (tmp_path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = CliRunner().invoke(app, ["class", str(ROOT / "notebooks"), "--out", str(tmp_path)])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "another `tutor class` is at work there" in done.stderr


# Takes SIGTERM for itself as Ray does, and makes another exception of what a signal raises.
RAY = """
import atexit, os, signal, sys, time
class exceptions:
    RayError = RayTaskError = ZeroDivisionError
def init(*_, **__):
    if "STARTING" in os.environ:
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(number))
        wait(())
    signal.signal(signal.SIGTERM, lambda *_: os.abort())
def cluster_resources(): return {"CPU": 1}
def remote(**_): return lambda work: type("", (), {"remote": lambda task: task})
def shutdown():
    atexit.register(os.abort)  # its threads, which nobody waits for
    print("shut down", flush=True)
def wait(running):
    print("at work", flush=True)
    try:
        time.sleep(600)
    except BaseException as error:
        if "STARTING" in os.environ: raise
        raise SystemError("a result with an exception set") from error
"""


RAYS = ("--ray", "local")


@pytest.mark.parametrize(
    ("number", "ray", "told"),
    [
        (signal.SIGTERM, RAYS, {}),
        (signal.SIGTERM, RAYS, {"STARTING": "1"}),
        (signal.SIGINT, RAYS, {}),
        (signal.SIGTERM, (), {}),
    ],
)
def test_a_signal_ends_it_with_one_line_and_leaves_nothing(course, tmp_path, number, ray, told):
    due = {"ann": hand_in(course, tmp_path / "class", "ann", {90: 1}, random.Random(1))}
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "ray.py").write_text(RAY)
    path = f"{course.root}{os.pathsep}{tmp_path / 'path'}"
    with start(course, tmp_path / "class", "--out", tmp_path / "out", *ray, PYTHONPATH=path, **told) as grader:
        if ray:
            assert grader.stdout.readline() == "at work\n"
        else:
            wait_for((tmp_path / "out" / "gradebook.sqlite").exists)
        os.killpg(grader.pid, number) if number == signal.SIGINT else grader.send_signal(number)
        said, errors = grader.communicate(timeout=60)
    assert (said, grader.returncode) == ("shut down\n" if ray else "", 128 + number), errors
    assert errors == "Ended. What was graded is in the gradebook; run this again, and it goes on.\n"
    assert left_running(course) == []
    assert course.tutor("class", tmp_path / "class", "--out", tmp_path / "out").returncode == 0
    assert points_in(tmp_path / "out")["ann"].items() >= due["ann"].items()


def wait_for(there: Callable[[], bool]) -> None:
    while not there():
        time.sleep(0.02)

"""`tutor class` over classes of the trial course: points, broken files, what is graded again, bombs and attacks."""

import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from tests import strangers as bombs
from tests.classroom.test_hand_ins import zip_of
from tests.honest import PLAIN
from tests.strangers import (
    FULL,
    KINDS,
    HandIn,
    answered,
    cheats,
    contents,
    in_outer_sandbox,
    of_cheats,
    saved,
    strangers_course,
    why_no_outer_sandbox,
)
from tests.trial_course import Course, make_course
from tutorlib.classroom import hand_ins as reading
from tutorlib.classroom.class_run import content_hash
from tutorlib.classroom.files import report_name
from tutorlib.classroom.gradebook import Gradebook, Graded
from tutorlib.classroom.hand_ins import UNPACKING, Files, files_of, handed_in
from tutorlib.cli import app
from tutorlib.paths import ROOT

RIGHT = "def answer(n):\n    return n + {k}"
POINTS_OF = {  # an answer to exercise k, and its points
    RIGHT: 2,
    "def answer(n):\n    return n + {k} if n < 10 else 0": 1,
    "def answer(n):\n    return n - {k}": 0,
    "def answer(n):\n    return n +": 0,
}


def hand_in(course: Course, folder: Path, student: str, sizes: dict[int, int], rng: random.Random) -> dict[str, float]:
    """A student's notebooks, number → how many exercises, each answered at random; points by exercise."""
    points = {}
    (folder / student).mkdir(parents=True)
    for number, count in sizes.items():
        chosen = {k: rng.choice(list(POINTS_OF)) for k in range(1, count + 1)}
        course.submit(folder / student, number, {k: text.format(k=k) for k, text in chosen.items()})
        points |= {f"{number}.{k}": float(POINTS_OF[text]) for k, text in chosen.items()}
    return points


def points_in(out: Path) -> dict[str, dict[str, float]]:
    """Student → exercise → points, as the gradebook has them."""
    return {
        student: {one.outcome.id: one.outcome.points for one in submission.graded.judged}
        for student, submission in Gradebook(out / "gradebook").submissions().items()
        if submission.graded.judged
    }


def start(course: Course, *args: object, **env: str) -> subprocess.Popen:
    """`tutor class` of this course, in a session of its own."""
    command = [sys.executable, "-m", "tutorlib", "class", *map(str, args)]
    return subprocess.Popen(
        command,
        cwd=course.root,
        env={**os.environ, "PYTHONPATH": str(course.root), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def left_running(course: Course, looks: int = 300) -> list[list[str]]:
    """The processes that still work for this course each time one looks: they may take a while to end."""
    for _ in range(looks):
        if not (found := list(of_course(course))):
            break
        time.sleep(0.1)
    return found


def of_course(course: Course):
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        try:
            ours = process.info["status"] != psutil.STATUS_ZOMBIE and str(course.root) in (
                process.environ().get("PYTHONPATH", "").split(os.pathsep)
            )
        except psutil.Error:
            continue
        if ours and process.pid != os.getpid():
            yield process.info["cmdline"]


# `tutor class` over a class of the trial course: points, broken files, what is graded again, and files for others ----

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
    kept = dict(Gradebook(out / "gradebook").submissions()["late"].graded.answers)
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


def utc(out: Path) -> dict[str, tuple[str, Graded]]:
    found = Gradebook(out / "gradebook").submissions()
    return {student: (submission.utc, submission.graded) for student, submission in found.items()}


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("gone",), "gone: no folder."),
        (("solutions", "77"), "There is no notebook 77; there are 00_start, "),
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


# Hand-ins that make their readers compute or allocate without end ----------------------------------------------------

BOMB = bombs.in_a_function(bombs.compiled_twice_each())
LITTLE = replace(UNPACKING, computing_s=1, memory=2**26)


@pytest.fixture(scope="module")
def small_course(tmp_path_factory) -> Course:
    return make_course(tmp_path_factory.mktemp("course"), {90: 2})


@pytest.fixture(scope="module")
def hand_ins(small_course, tmp_path_factory) -> Path:
    """A class in which more students hand in bombs than are graded at a time."""
    folder = tmp_path_factory.mktemp("class")
    for student, text in {"ann": RIGHT, "bob": BOMB, "cyd": BOMB, "dan": BOMB, "zoe": RIGHT}.items():
        (folder / student).mkdir()
        small_course.submit(folder / student, 90, {1: text.replace("{k}", "1"), 2: RIGHT.format(k=2)})
    (folder / "eve.zip").write_bytes(bombs.swelling(zipfile.ZIP_BZIP2))
    return folder


def test_they_cost_themselves(small_course, hand_ins, tmp_path):
    done = small_course.tutor("class", hand_ins, "--out", tmp_path, "--workers", 2)
    assert done.returncode == 0, done.stderr
    half, full = {"90.1": 0.0, "90.2": 2.0}, {"90.1": 2.0, "90.2": 2.0}
    assert points_in(tmp_path) == {"ann": full, "bob": half, "cyd": half, "dan": half, "zoe": full}
    assert "eve: eve.zip/00_start.ipynb: larger than 32 MB." in done.stderr


def forked(grader: psutil.Popen, below: int) -> bool:
    """Whether the command has so many generations below it: 1 is a reader or a judge, 2 a page's process."""
    found = [grader]
    for _ in range(below):
        found = [child for one in found for child in children(one)]
    return bool(found)


def children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children()
    except psutil.Error:
        return []


@pytest.mark.parametrize(("number", "below"), [(signal.SIGKILL, 1), (signal.SIGTERM, 2), (signal.SIGINT, 2)])
def test_a_class_of_bombs_is_ended_at_any_moment(small_course, hand_ins, tmp_path, number, below):
    """While hand-ins are unpacked, while they are read, while they are judged: nothing of it is left."""
    with start(small_course, hand_ins, "--out", tmp_path, "--workers", 2) as grader:
        while not forked(psutil.Process(grader.pid), below):
            assert grader.poll() is None
            time.sleep(0.02)
        time.sleep(0.5)
        grader.send_signal(number)
        grader.communicate(timeout=300)
    assert left_running(small_course) == []


def test_what_has_too_much_in_it_has_a_line_and_the_neighbor_is_read(tmp_path, monkeypatch):
    large = bytes(31 * 2**20)  # what a fork of this process has free already does not count: not so much in one piece
    (tmp_path / "eve.zip").write_bytes(zip_of({f"{n}.ipynb": large for n in range(12)}))
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "00_start.ipynb").write_text("{}")
    monkeypatch.setattr(reading, "UNPACKING", replace(UNPACKING, memory=2**27))
    ann, eve = (files_of(one) for one in handed_in(tmp_path)[0])
    assert eve.notes == ("None of the files is read: reading them needs more than 0.125 GB of memory.",)
    assert (ann.notebooks, ann.notes) == ((("ann/00_start.ipynb", b"{}"),), ())
    assert content_hash(eve, "") not in (content_hash(eve, "another version"), content_hash(Files(), ""))


# Cheats among honest students ----------------------------------------------------------------------------------------

TIMEOUT = 10  # seconds for a cell
EVERY = 12  # cheats between two honest students
SAMPLE = ("forging/equal_to_everything", "harming/deleted_neighbors", "reading/hints")
LONG = bool(os.environ.get("TUTORLIB_LONG"))
STOPPED_BY = {cheat.name: cheat.stopped_by for kind in KINDS for cheat in cheats(kind)}
CHEATS = [cheat for cheat in of_cheats() if LONG or cheat.name.removeprefix("cheats/") in SAMPLE]


def a_class() -> dict[str, HandIn | None]:
    """Student → the cheat that is handed in, None for an honest one's right answers. Graded in this order."""
    students: dict[str, HandIn | None] = {"0000 honest": None}
    for n, cheat in enumerate(CHEATS, 1):
        students[f"{n:04} {cheat.name.replace('/', ' ')}"] = cheat
        if n % EVERY == 0:
            students[f"{n:04}+ honest"] = None
    return students | {"9999 honest": None}


STUDENTS = a_class()


@pytest.fixture(scope="module")
def out(tmp_path_factory) -> Path:
    """The class graded. Neither course nor hand-ins are changed, no file is left, and no process."""
    if why_no_outer_sandbox():
        pytest.skip("needs the right to build an outer sandbox")
    root = tmp_path_factory.mktemp("attacked")
    course = strangers_course(root / "course")
    folder, temporary, left = root / "hand-ins", root / "tmp", root / "left"
    temporary.mkdir()
    page = course.student(60)
    for student, cheat in STUDENTS.items():
        (folder / student).mkdir(parents=True)
        if cheat:
            cheat.write(page, folder / student)
        else:
            saved(answered(page, PLAIN, PLAIN), folder / student)
    before = contents(course.root), contents(folder)
    outer = partial(in_outer_sandbox, left=left)
    args = ("class", folder, "60", "--out", root / "out", "--timeout", TIMEOUT)
    done = course.tutor(*args, around=outer, limit_s=7200, TMPDIR=str(temporary))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert not left.read_text().split()
    assert not list(temporary.iterdir())
    assert (contents(course.root), contents(folder)) == before
    return root / "out"


@pytest.fixture(scope="module")
def attacked(out) -> dict[str, dict[str, float]]:
    """Student → exercise → points."""
    return points_in(out)


@pytest.fixture(scope="module")
def told(out) -> dict[str, str]:
    """Student → what is said of the first answer."""
    found = Gradebook(out / "gradebook").submissions()
    judged = {student: submission.graded.judged for student, submission in found.items()}
    return {student: one.outcome.message for student, all in judged.items() for one in all if one.outcome.id == "60.1"}


@pytest.mark.parametrize("student", STUDENTS)
def test_everybody_in_the_class_gets_what_they_deserve(attacked, student):
    cheat = STUDENTS[student]
    deserved = cheat.deserves if cheat else FULL
    assert tuple(attacked[student].values()) == deserved


@pytest.mark.parametrize("student", [student for student, cheat in STUDENTS.items() if cheat])
def test_no_attack_fails_of_itself(told, student):
    """Its cell runs to its end, or is stopped by what the sandbox hides."""
    fails = re.match(r"your cell fails: (\w+)", told[student])
    stopped_by = STOPPED_BY[STUDENTS[student].name.removeprefix("cheats/")]
    assert not fails or fails[1] == stopped_by, told[student]

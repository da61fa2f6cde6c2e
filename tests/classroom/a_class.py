"""Classes of the trial course: students with right and wrong answers, and the points that they must get."""

import os
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import psutil

from tests.trial_course import Course

RIGHT = "def answer(n):\n    return n + {k}"
KINDS = {  # an answer to exercise k, and its points
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
        chosen = {k: rng.choice(list(KINDS)) for k in range(1, count + 1)}
        course.submit(folder / student, number, {k: text.format(k=k) for k, text in chosen.items()})
        points |= {f"{number}.{k}": float(KINDS[text]) for k, text in chosen.items()}
    return points


def points_in(out: Path) -> dict[str, dict[str, float]]:
    """Student → exercise → points, as the gradebook has them."""
    found: dict[str, dict[str, float]] = {}
    with closing(sqlite3.connect(out / "gradebook.sqlite")) as db:
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
        assert db.execute("pragma foreign_key_check").fetchall() == []
        for student, exercise, points in db.execute("select student, exercise, points from outcomes"):
            found.setdefault(student, {})[exercise] = points
    return found


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

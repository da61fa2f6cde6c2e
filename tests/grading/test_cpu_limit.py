"""A judge's own work without an end costs the exercise it is about, and nothing else."""

import json
import signal
import subprocess
import sys

from tests.trial_course import make_course

EXERCISES = """
import re

from tutorlib.checking.values import ValueExercise, law


def agrees(got, n):
    while got == "forever":
        pass
    if got == "in C":
        re.match("(a+)+$", "a" * 60 + "b")
    return None if got == n else "no"


EXERCISES = tuple(
    ValueExercise(
        id=f"{number}.{{k}}", title="answer", points=2, hints=("Do.", "Do it.", "n"),
        cases=(law("right", [(n,) for n in range(3)], agrees),),
    )
    for k in range(1, {count} + 1)
)
"""
EXERCISE = """
# %%
def answer_{k}(n):
    ### BEGIN SOLUTION (about 1 line)
    return n
    ### END SOLUTION


# %%
check("{number}.{k}", answer_{k})
"""
TIMEOUT = 60  # seconds of real time that a cell may take, however busy the machine is
COMPUTING = 3  # seconds that judging may compute


def test_judging_that_never_ends_costs_its_exercise_alone(tmp_path):
    course = make_course(tmp_path / "course", {90: 3}, EXERCISES, EXERCISE)
    judge = course.root / "tutorlib" / "grading" / "judge_process.py"
    judge.write_text(judge.read_text().replace("LIMITS = 1.5", f"LIMITS = {COMPUTING / TIMEOUT}"))
    right, endless = "def answer_{}(n):\n    return n", "def answer_{}(n):\n    return 'forever'"
    answers = {k: text.format(k) for k, text in ((1, right), (2, endless), (3, right))}
    path = course.submit(tmp_path, 90, answers)
    graded = course.tutor("grade", path, "--timeout", TIMEOUT, "--format", "json")
    found = {one["id"]: one for one in json.loads(graded.stdout)["exercises"]}
    assert [(one["status"], one["points"]) for one in found.values()] == [("passed", 2), ("timeout", 0), ("passed", 2)]
    assert found["90.2"]["message"] == f"judging it had no end after {COMPUTING} seconds of computing"


def test_judging_that_never_ends_in_c_code_costs_its_exercise_alone(tmp_path):
    course = make_course(tmp_path / "course", {90: 2}, EXERCISES, EXERCISE)
    answers = {1: "def answer_1(n):\n    return 'in C'", 2: "def answer_2(n):\n    return n"}
    graded = course.tutor("grade", course.submit(tmp_path, 90, answers), "--timeout", 4, "--format", "json")
    found = [(one["status"], one["points"], one["message"]) for one in json.loads(graded.stdout)["exercises"]]
    assert found[0] == ("timeout", 0, "judging it had no end after 6 seconds of computing")
    assert found[1][:2] == ("passed", 2)


REGEX = """
from tutorlib.grading.judge_process import limited_computing
from tutorlib.simulate.ptx.parse import parse_ptx

with limited_computing(1.0):
    parse_ptx("\\n" * 2**20)
"""


def test_the_system_ends_a_judge_that_reads_ptx_without_end():
    """A megabyte of empty lines takes a regular expression hours."""
    done = subprocess.run([sys.executable, "-c", REGEX], timeout=600, check=False)
    assert done.returncode == -signal.SIGXCPU

"""A judge's own work without an end costs the exercise it is about, and nothing else."""

import json
import signal
import subprocess
import sys
import threading

from tests.trial_course import make_course
from tutorlib.grading import cpu_limit
from tutorlib.grading.cpu_limit import computed, ended_after

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
SPIN = "import time\nwhile time.process_time() < 20: pass"
TIMEOUT = 60  # seconds of real time that a cell may take, however busy the machine is
COMPUTING = 3  # seconds that judging may compute


def test_judging_that_never_ends_costs_its_exercise_alone(tmp_path):
    course = make_course(tmp_path / "course", {90: 3}, EXERCISES, EXERCISE)
    limits = course.root / "tutorlib" / "grading" / "cpu_limit.py"
    limits.write_text(f"{limits.read_text()}\n\nLIMITS = {COMPUTING / TIMEOUT}\n")
    right, endless = "def answer_{}(n):\n    return n", "def answer_{}(n):\n    return 'forever'"
    answers = {k: text.format(k) for k, text in ((1, right), (2, endless), (3, right))}
    path = course.submit(tmp_path, 90, answers)
    graded = course.tutor("grade", path, "--timeout", TIMEOUT, "--format", "json")
    found = {one["id"]: one for one in json.loads(graded.stdout)["exercises"]}
    assert [(one["status"], one["points"]) for one in found.values()] == [("passed", 2), ("timeout", 0), ("passed", 2)]
    assert found["90.2"]["message"] == f"judging it had no end after {COMPUTING} seconds of computing"


def test_judging_that_never_ends_in_c_code_costs_its_exercise_alone(tmp_path):
    """No thread of the judge's runs meanwhile: the system ends its process."""
    course = make_course(tmp_path / "course", {90: 2}, EXERCISES, EXERCISE)
    answers = {1: "def answer_1(n):\n    return 'in C'", 2: "def answer_2(n):\n    return n"}
    graded = course.tutor("grade", course.submit(tmp_path, 90, answers), "--timeout", 4, "--format", "json")
    found = [(one["status"], one["points"], one["message"]) for one in json.loads(graded.stdout)["exercises"]]
    assert found[0] == ("timeout", 0, "judging it had no end after 6 seconds of computing")
    assert found[1][:2] == ("passed", 2)


REGEX = """
from tutorlib.grading.cpu_limit import ended_after
from tutorlib.simulate.ptx.parse import parse_ptx

with ended_after(1.0, None, lambda: None):
    parse_ptx("\\n" * 2**20)
"""


def test_the_system_ends_a_judge_that_reads_ptx_without_end():
    """A megabyte of empty lines takes a regular expression hours; a thread that would end it never runs."""
    done = subprocess.run([sys.executable, "-c", REGEX], timeout=600, check=False)
    assert done.returncode == -signal.SIGXCPU


def test_what_a_child_computes_counts_and_what_the_kernel_does_not(monkeypatch):
    monkeypatch.setattr(cpu_limit, "GRACE_S", 3600)  # the system would end pytest's own process
    with subprocess.Popen([sys.executable, "-c", SPIN]) as child:
        try:
            ended = threading.Event()
            with ended_after(1.0, child.pid, ended.set):
                assert not ended.wait(3)
            before = computed(child.pid)
            with ended_after(1.0, None, ended.set):
                assert ended.wait(600)
            assert computed(None) > before + 1
        finally:
            child.kill()

"""Grading kernels: one that breaks the CUDA context costs its exercise alone, for the others run in a fresh process."""

import json

import pytest

from tests.trial_course import make_course

EXERCISES = """
from tutorlib.checking.exercise import Exercise, Verdict
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC

device.why_not = lambda feature: None  # as if a GPU were here

broken = False  # as a CUDA context is: for the rest of the process


class OnGpu(Exercise):
    def judge(self, answer):
        global broken
        says = answer(0)
        if broken or says in ("error", "timeout"):
            said = "the context is broken" if broken else f"it gave {says}"
            status, broken = "error" if broken else says, True
            return Verdict(0, (said,), status)
        return Verdict(self.points)


EXERCISES = tuple(OnGpu(id=f"90.{k}", title="answer", points=2, needs=MMA_SYNC) for k in range(1, 5))
"""


@pytest.mark.long
def test_a_broken_context_costs_its_exercise_alone(tmp_path):
    course = make_course(tmp_path / "course", {90: 4})
    (course.root / "tutorlib" / "exercises" / "p90.py").write_text(EXERCISES)
    kernel = "def answer(n):\n    return {!r}"
    answers = {k: kernel.format(says) for k, says in enumerate(("right", "error", "timeout", "right"), 1)}
    path = course.submit(tmp_path, 90, answers)
    graded = course.tutor("grade", path, "--format", "json")
    outcomes = json.loads(graded.stdout)["exercises"]
    assert [(o["status"], o["points"], o["message"]) for o in outcomes] == [
        ("passed", 2, "2 points"),
        ("error", 0, "it gave error"),
        ("timeout", 0, "it gave timeout"),
        ("passed", 2, "2 points"),
    ]

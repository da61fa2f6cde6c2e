"""From what was seen of an exercise's cells to its outcome."""

from tutorlib.checking.values import ValueExercise
from tutorlib.grading.grading_run import verdict
from tutorlib.problems.work import RESTART

PASSED = {"passed": True, "raised": ""}


def test_what_the_judge_found_outside_is_the_verdict():
    exercise = ValueExercise(id="90.1", title="answer", points=2, cases=())
    found = exercise.outcome("partial", 1, "✗ 90.1 answer: 1 of 2 cases right")
    outcome = verdict(exercise, PASSED, {**PASSED, "outcome": found.as_json()})
    assert (outcome.status, outcome.points, outcome.message) == ("partial", 1, "1 of 2 cases right")


def test_a_report_tells_nobody_to_restart_a_kernel():
    exercise = ValueExercise(id="90.1", title="answer", points=2, cases=())
    found = exercise.outcome("error", 0, f"it crashed. {RESTART}\n  Simulated at 128: …")
    outcome = verdict(exercise, PASSED, {**PASSED, "outcome": found.as_json()})
    assert outcome.message == "it crashed.\n  Simulated at 128: …"

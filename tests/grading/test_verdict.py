"""From what the judge found to what is reported."""

from tutorlib.checking.values import ValueExercise
from tutorlib.grading.judge_process import as_reported
from tutorlib.problems.fault import RESTART


def test_a_report_has_no_title_and_tells_nobody_to_restart_a_kernel():
    exercise = ValueExercise(id="90.1", title="answer", points=2, cases=())
    found = exercise.outcome("partial", 1, f"✗ 90.1 answer: it crashed. {RESTART}\n  Simulated at 128: …")
    outcome = as_reported(found)
    assert (outcome.status, outcome.points) == ("partial", 1)
    assert outcome.message == "it crashed.\n  Simulated at 128: …"

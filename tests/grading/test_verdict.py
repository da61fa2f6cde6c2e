"""From what was seen of an exercise's cells to its outcome."""

import pytest

from tutorlib.checking.values import ValueExercise
from tutorlib.grading.verdict import verdict

PASSED = {"passed": True, "raised": ""}
RECORD = {"id": "90.1", "status": "passed", "points": 2, "message": "✓ 90.1 answer: 2 points"}


@pytest.mark.parametrize(
    ("record", "seen", "status", "points"),
    [
        ({}, {}, "passed", 2),
        ({"points": 1}, {}, "error", 0),
        ({"points": 50}, {}, "error", 0),
        ({"points": float("nan")}, {}, "failed", 0),
        ({"status": "partial", "points": 1}, {"raised": "CheckFailed: …"}, "partial", 1),
        ({"status": "partial", "points": 1}, {}, "error", 0),
        ({"status": "failed", "points": 0}, {"raised": "CheckFailed: …"}, "failed", 0),
        ({"status": "not_run", "points": 0}, {}, "failed", 0),
        ({"status": "not_run", "points": 0}, {"excused": False}, "failed", 0),
        ({"status": "not_run", "points": 0}, {"excused": True}, "not_run", 0),
        ({"status": "not_run", "points": 1}, {"excused": True}, "not_run", 1),
        ({"status": "not_run", "points": 50}, {"excused": True}, "not_run", 2),
        ({"status": "not_run", "points": float("nan")}, {"excused": True}, "not_run", 0),
        ({"status": "superb"}, {}, "failed", 0),
    ],
)
def test_a_record_counts_as_far_as_it_is_well_formed(record, seen, status, points):
    exercise = ValueExercise(id="90.1", title="answer", points=2, cases=())
    outcome = verdict(exercise, PASSED, {**PASSED, "record": RECORD | record, **seen})
    assert (outcome.status, outcome.points) == (status, points)


def test_what_the_judge_found_outside_is_the_verdict():
    exercise = ValueExercise(id="90.1", title="answer", points=2, cases=())
    found = exercise.outcome("partial", 1, "✗ 90.1 answer: 1 of 2 cases right")
    outcome = verdict(exercise, PASSED, {**PASSED, "record": RECORD, "outcome": found.as_json()})
    assert (outcome.status, outcome.points, outcome.message) == ("partial", 1, "1 of 2 cases right")

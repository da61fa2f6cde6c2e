"""From what was seen of an exercise's cells to its outcome: record, nbval and judge must agree."""

import pytest

from tutorlib.checking.values import ValueExercise
from tutorlib.grading.verdict import verdict

PASSED = {"passed": True, "raised": ""}
RECORD = {"id": "90.1", "status": "passed", "points": 2, "message": "✓ 90.1 answer: 2 points"}


@pytest.mark.parametrize(
    ("record", "seen", "status", "points"),
    [
        ({}, {"judged": 2}, "passed", 2),
        ({}, {"judged": 1}, "failed", 0),
        ({}, {"judged": 2, "passed": False}, "failed", 0),
        ({"points": 1}, {"judged": 2}, "failed", 0),
        ({"points": 50}, {"judged": 2}, "failed", 0),
        ({"points": float("nan")}, {"judged": 2}, "failed", 0),
        ({"status": "partial", "points": 1}, {"judged": 1, "raised": "CheckFailed: …"}, "partial", 1),
        ({"status": "partial", "points": 1}, {"judged": 1}, "error", 0),
        ({"status": "partial", "points": 1.5}, {"judged": 1, "raised": "CheckFailed: …"}, "failed", 0),
        ({"status": "failed", "points": 0}, {"raised": "CheckFailed: …"}, "failed", 0),
        ({"status": "not_run", "points": 0}, {}, "failed", 0),
        ({"status": "not_run", "points": 0}, {"excused": False}, "failed", 0),
        ({"status": "not_run", "points": 0}, {"excused": True}, "not_run", 0),
        ({"status": "not_run", "points": 1}, {"excused": True}, "not_run", 1),
        ({"status": "not_run", "points": 50}, {"excused": True}, "not_run", 2),
        ({"status": "not_run", "points": float("nan")}, {"excused": True}, "not_run", 0),
        ({}, {}, "passed", 2),
        ({"status": "superb"}, {"judged": 2}, "failed", 0),
    ],
)
def test_points_need_record_nbval_and_judge(record, seen, status, points):
    exercise = ValueExercise(id="90.1", title="answer", points=2, cases=())
    outcome = verdict(exercise, PASSED, {**PASSED, "record": RECORD | record, **seen})
    assert (outcome.status, outcome.points) == (status, points)

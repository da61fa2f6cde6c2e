"""From what was seen of an exercise's cells to its outcome."""

import pytest

from tutorlib.checking.values import ValueExercise
from tutorlib.grading.verdict import verdict, well_formed
from tutorlib.measuring.results import all_results
from tutorlib.problems.fault import RESTART

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


MEASURED = {
    **{"shape": [512, 512, 512], "dtype": "bf16", "median_us": 9.0, "lower_us": 8.0, "upper_us": 10.0, "n": 50},
    **{"baseline": "cuBLAS", "baseline_us": 9.0, "ratio": 1.0, "spread": 0.01, "tflops": 30.0, "regime": "cool"},
}


@pytest.mark.parametrize(
    "forged",
    [
        *({"ratio": value} for value in (None, "<script>", [], float("nan"), float("inf"), -1, True, 10**400)),
        *({"shape": value} for value in (None, 3, ["x"], [[1]], [0], {})),
        *({"throttled": 3}, {"throttled": [{}]}, {"clock_mhz": "fast"}, {"dtype": "x" * 10**6}, {"regime": None}),
        *({"tflops": None}, {"gbps": 4.0}, {"n": 1.5}, {"spread": "small"}),
    ],
    ids=str,
)
def test_a_forged_measurement_reaches_no_report(forged):
    assert well_formed(MEASURED) == MEASURED | {"shape": (512, 512, 512), "throttled": ()}
    assert well_formed(MEASURED | forged) is None
    assert well_formed({**MEASURED, "more": forged}) == well_formed(MEASURED)


@pytest.mark.parametrize("told", [None, 3, [], {}, "shape"])
def test_what_is_no_measurement_reaches_no_report(told):
    assert well_formed(told) is None


def test_every_measurement_of_the_course_is_well_formed():
    found = [one for result in all_results() for told in result.exercises.values() for one in told.measurements]
    assert [one for one in found if well_formed(one.as_json()) is None] == []


def test_what_the_judge_found_outside_is_the_verdict():
    exercise = ValueExercise(id="90.1", title="answer", points=2, cases=())
    found = exercise.outcome("partial", 1, "✗ 90.1 answer: 1 of 2 cases right")
    outcome = verdict(exercise, PASSED, {**PASSED, "record": RECORD, "outcome": found.as_json()})
    assert (outcome.status, outcome.points, outcome.message) == ("partial", 1, "1 of 2 cases right")


def test_a_report_tells_nobody_to_restart_a_kernel():
    exercise = ValueExercise(id="90.1", title="answer", points=2, cases=())
    found = exercise.outcome("error", 0, f"it crashed. {RESTART}\n  Simulated at 128: …")
    outcome = verdict(exercise, PASSED, {**PASSED, "outcome": found.as_json()})
    assert outcome.message == "it crashed.\n  Simulated at 128: …"

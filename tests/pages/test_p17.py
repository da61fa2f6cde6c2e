"""Points for a launch's cost."""

from dataclasses import replace

import pytest

from tests.checking.elsewhere import answer_to
from tutorlib.checking.answer import Served
from tutorlib.exercises import find


@pytest.mark.parametrize(("ours", "points"), [(4.0, 5), (5.0, 5), (8.2, 4), (20.0, 4), (45.0, 3)])
def test_points_follow_what_a_launch_costs_beside_torchs(ours, points):
    verdict = find("17.5").by_cost(ours, 5.0)
    assert verdict.points == points
    assert f"costs the host {ours:.1f} µs" in " ".join(verdict.lines)


@pytest.mark.parametrize(("what", "points"), [("", 4), ("y is not right.", 0)])
def test_a_wrong_result_on_a_gpu_earns_nothing_however_fast(what, points, monkeypatch):
    monkeypatch.setattr("tutorlib.machine.device.why_not", lambda feature: "")
    exercise = replace(find("17.9"), timed=lambda answer: (what, 1.0, 5.0))
    verdict = exercise.judge(Served(answer_to("17.9")))
    assert verdict.points == points
    assert what in " ".join(verdict.lines)


@pytest.mark.parametrize("id", ["17.5", "17.6"])
def test_what_is_no_function_is_told_so(id):
    assert "is not a function" in find(id).grade(3).message

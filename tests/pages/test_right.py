"""Unusual answers that are right get full points: see table.py."""

import pytest

from tests.pages.answers import RIGHT
from tests.pages.table import by_name
from tutorlib.exercises import find


@pytest.mark.parametrize("answer", by_name(RIGHT))
def test_an_unusual_right_answer_has_all_the_points_that_this_machine_can_give(answer):
    exercise = find(answer.exercise)
    outcome = exercise.grade(answer.function)
    assert outcome.status in ("passed", "not_run"), outcome.message
    assert outcome.points == exercise.points_here, outcome.message

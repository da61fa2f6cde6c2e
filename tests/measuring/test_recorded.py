"""Measurements taken before, in place of new ones."""

import pytest

from tests.stand_ins import MACHINE, copied
from tutorlib.measuring import results
from tutorlib.measuring.recorded import RECORDED, recorded
from tutorlib.measuring.results import Result, Results


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A file that has the measurement of exercise 05.2, and of no other."""
    monkeypatch.setattr(results, "DATA", tmp_path)
    exercises = {"05.1": Result("passed", 3, 3), "05.2": Result("passed", 2, 2, (copied(0.95),))}
    monkeypatch.setenv(RECORDED, str(Results(MACHINE, "2026-11-20", {}, exercises).write()))


def test_without_the_variable_nothing_is_recorded(monkeypatch):
    monkeypatch.delenv(RECORDED, raising=False)
    assert recorded("05.2", (16384, 16384)) is None


@pytest.mark.usefixtures("kept")
def test_a_measurement_is_found_by_exercise_and_shape():
    assert recorded("05.2", (16384, 16384)) == copied(0.95)
    assert recorded("05.2", (8192, 8192)) is None
    assert recorded("05.1", (16384, 16384)) is None
    assert recorded("05.3", (16384, 16384)) is None

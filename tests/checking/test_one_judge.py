"""`check` and the grader give an answer the same points with the same words: one judge has it, here and over a line."""

import pytest

from tests.checking.elsewhere import answer_to, graded_for_points
from tests.grading.test_wire import judged_from_afar
from tests.pages.answers import WRONG
from tutorlib.checking.served import Served
from tutorlib.exercises import find, of_notebook
from tutorlib.paths import notebook_names

KEEPS = ("KeptByAll",)  # these meet the second judge with what the first one left them
IDS = [exercise.id for name in notebook_names() for exercise in of_notebook(name)]


@pytest.fixture(autouse=True)
def seed(monkeypatch):
    """One for all that is drawn, as in a grading run."""
    monkeypatch.setattr("tutorlib.checking.randomness._fixed", 26)


def assert_judged_alike(id, answer):
    """Both times for points, and so with the same drawn calls."""
    here, there = graded_for_points(id, Served(answer)), judged_from_afar(find(id), answer, 600.0)
    assert there == here


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("id", IDS)
def test_a_solution_is_judged_alike(id):
    assert_judged_alike(id, answer_to(id))


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("id", [id for id in IDS if WRONG.get(id)])
def test_a_wrong_answer_is_judged_alike(id):
    assert_judged_alike(id, next(one.function for one in WRONG[id] if one.text not in KEEPS))

"""`check` and the grader give an answer the same points with the same words: one judge has it, here and over a line."""

import threading

import pytest

from tests.checking.elsewhere import answer_to, graded_for_points
from tests.pages.answers import WRONG
from tutorlib.checking.exercise import Outcome
from tutorlib.checking.served import Served
from tutorlib.exercises import find, of_notebook
from tutorlib.grading import remote_judge, sandboxed_kernel
from tutorlib.paths import notebook_names

KEEPS = ("KeptByAll",)  # these meet the second judge with what the first one left them
IDS = [exercise.id for name in notebook_names() for exercise in of_notebook(name)]


def over_a_line(tmp_path, id, answer) -> Outcome:
    door = tmp_path / "judge.sock"

    def start():
        threading.Thread(target=sandboxed_kernel.serve, args=(str(door), answer), daemon=True).start()

    return remote_judge.judge(find(id), door, start, 600.0, name=getattr(answer, "__name__", "answer"))


@pytest.fixture(autouse=True)
def seed(monkeypatch):
    """One for all that is drawn, as in a grading run."""
    monkeypatch.setattr("tutorlib.checking.randomness._fixed", 26)


def assert_judged_alike(tmp_path, id, answer):
    """Both times for points, and so with the same drawn calls."""
    here, there = graded_for_points(id, Served(answer)), over_a_line(tmp_path, id, answer)
    assert there == here


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("id", IDS)
def test_a_solution_is_judged_alike(tmp_path, id):
    assert_judged_alike(tmp_path, id, answer_to(id))


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("id", [id for id in IDS if WRONG.get(id)])
def test_a_wrong_answer_is_judged_alike(tmp_path, id):
    assert_judged_alike(tmp_path, id, next(one for one in WRONG[id] if one.__name__ not in KEEPS))

"""Notebook 14: its answers, and unusual ones, on a GPU."""

import pytest

from tests.pages.answers import RIGHT
from tests.pages.table import by_name
from tutorlib.checking.answer import Served
from tutorlib.checking.running import find_fault
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find

OWN = [(id, answer) for id, answer in load_answers("14_hopper_gemm").items() if find(id).needs]
UNUSUAL = {id: answers for id, answers in RIGHT.items() if id[:2] == "14" and find(id).needs}


@pytest.mark.gpu("90a")
@pytest.mark.parametrize(("id", "answer"), OWN)
def test_the_pages_own_parts_are_right_on_a_gpu(id, answer):
    assert find(id).grade(answer).status == "passed"


@pytest.mark.gpu("90a")
@pytest.mark.parametrize("answer", by_name(UNUSUAL))
def test_unusual_parts_give_a_right_c(answer):
    exercise = find(answer.exercise)
    launcher = exercise.launcher(exercise.evidence(Served(answer.function)))
    assert [find_fault(exercise.problem, launcher, shape) for shape in exercise.shapes] == [None] * len(exercise.shapes)

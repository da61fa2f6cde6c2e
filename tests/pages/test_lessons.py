"""No exercise gives all of its points to an answer without the one thing that it teaches: see lesson.py of a page."""

import pytest

from tests.pages.answers import modules
from tests.pages.brief import refuted
from tutorlib.exercises import find, of_notebook
from tutorlib.paths import notebook_names

pytestmark = pytest.mark.usefixtures("no_gpu")  # a kernel that faults breaks CUDA's context for all later tests

LESSONS = {id: lesson for module in modules("lesson") for id, lesson in module.LESSONS.items()}
PAGES = {id[:2] for id in LESSONS}


@pytest.mark.parametrize("name", [name for name in notebook_names() if name[:2] in PAGES])
def test_every_exercise_of_a_page_has_one(name):
    assert {id for id in LESSONS if id[:2] == name[:2]} == {exercise.id for exercise in of_notebook(name)}


@pytest.mark.parametrize(
    ("id", "answer"),
    [pytest.param(id, answer, id=f"{id}-{answer.__name__}") for id in LESSONS for answer in LESSONS[id].without],
)
def test_an_answer_without_it_loses_points(id, answer):
    outcome = refuted(id, answer, ())
    assert outcome.status in ("failed", "partial", "timeout")
    assert outcome.points < find(id).points_anywhere  # what the solution has on a machine without a GPU


@pytest.mark.parametrize("id", LESSONS)
def test_there_is_such_an_answer(id):
    assert LESSONS[id].teaches
    assert LESSONS[id].without

"""Wrong answers get less than full points, for the failures that they are listed with: see table.py."""

import pytest

from tests.pages.answers import RIGHT, TEACHES, WRONG, found, refuted
from tests.pages.table import by_name
from tutorlib.exercises import find, of_notebook
from tutorlib.paths import notebook_names

pytestmark = pytest.mark.usefixtures("no_gpu")  # a kernel that faults breaks CUDA's context for all later tests


@pytest.mark.parametrize("answer", by_name(WRONG))
def test_a_wrong_answer_fails(answer):
    outcome = refuted(answer)
    assert outcome.status in ("failed", "partial", "timeout")  # a deadlock
    assert outcome.points < outcome.max_points
    if answer.lesson:
        assert outcome.points < find(answer.exercise).points_anywhere  # of the solution, on a machine without a GPU
    assert found(outcome) >= answer.kinds


LACKS_AN_ANSWER = pytest.mark.xfail(reason="no listed answer shows one of its remedies", strict=True)
UNSHOWN = {"18.4", "23.1", "23.2"}


@pytest.mark.long  # by itself it grades all wrong answers of its exercise
@pytest.mark.parametrize(
    "id", [pytest.param(id, marks=LACKS_AN_ANSWER if id in UNSHOWN else ()) for id in WRONG if find(id).remedies]
)
def test_each_remedy_is_shown_for_one_of_the_wrong_answers(id):
    """None waits for words that no message has."""
    outcomes = map(refuted, WRONG[id])
    assert set(find(id).remedies.values()) <= {outcome.remedy for outcome in outcomes if not outcome.explained}


@pytest.mark.parametrize("name", notebook_names())
def test_every_exercise_teaches_one_thing_and_has_an_answer_without_it_and_unusual_right_ones(name):
    for exercise in of_notebook(name):
        assert TEACHES[exercise.id], exercise.id
        assert any(answer.lesson for answer in WRONG[exercise.id]), exercise.id
        assert RIGHT[exercise.id], exercise.id


def test_every_answer_belongs_to_an_exercise():
    ids = {exercise.id for name in notebook_names() for exercise in of_notebook(name)}
    assert WRONG.keys() | RIGHT.keys() | TEACHES.keys() <= ids

"""Wrong answers get less than full points, and the words they need: wrong*.py of a page's room lists them."""

from collections import Counter

import pytest

from tests.pages import kinds
from tests.pages.answers import WHEN_RUN, WRONG
from tests.pages.brief import in_brief, in_full, refuted
from tests.pages.table import by_name
from tutorlib.exercises import find, of_notebook
from tutorlib.paths import notebook_names

pytestmark = pytest.mark.usefixtures("no_gpu")  # a kernel that faults breaks CUDA's context for all later tests

KINDS = kinds.read()
ALL = {id: (*WRONG.get(id, ()), *WHEN_RUN.get(id, ())) for id in {**WRONG, **WHEN_RUN}}


@pytest.mark.parametrize(("id", "answer"), by_name(WRONG) + by_name(WHEN_RUN))
def test_a_wrong_answer_fails(id, answer):
    outcome = refuted(id, answer, getattr(answer, "says", ()))
    assert answer.__doc__, "say what is wrong with it"
    assert outcome.status in ("failed", "partial", "timeout")  # a deadlock
    assert outcome.points < outcome.max_points
    for words in getattr(answer, "says", ()):
        assert words in outcome.message
    assert kinds.found(outcome) >= set(KINDS[id][answer.__name__]) > set()


@pytest.mark.parametrize("id", [id for id in ALL if find(id).remedies])
def test_each_remedy_is_shown_for_one_of_the_wrong_answers(id):
    """None waits for words that no message has."""
    waiting = set(find(id).remedies.values())
    for grade in (in_brief, in_full):
        for answer in ALL[id]:
            if waiting:
                outcome = grade(id, answer)
                waiting -= {outcome.remedy} if not outcome.explained else set()
    assert not waiting


@pytest.mark.parametrize("name", notebook_names())
def test_every_exercise_has_a_wrong_answer_of_its_own(name):
    listed = Counter(answer for answers in (*WRONG.values(), *WHEN_RUN.values()) for answer in answers)
    for exercise in of_notebook(name):
        answers = [*WRONG.get(exercise.id, ()), *WHEN_RUN.get(exercise.id, ())]
        assert any(listed[answer] == 1 for answer in answers), exercise.id


def test_every_wrong_answer_belongs_to_an_exercise():
    ids = {exercise.id for name in notebook_names() for exercise in of_notebook(name)}
    assert WRONG.keys() | WHEN_RUN.keys() <= ids

"""Wrong answers get less than full points: tests/wrong/nNN_name.py lists them by exercise."""

from importlib import import_module
from pkgutil import iter_modules

import pytest

import tests.wrong
from tutorlib.exercises import find

WRONG = [
    pytest.param(id, answer, id=f"{id}-{answer.__name__}")
    for info in iter_modules(tests.wrong.__path__)
    if info.name.startswith("n")
    for id, answers in import_module(f"tests.wrong.{info.name}").WRONG.items()
    for answer in answers
]


@pytest.mark.parametrize(("id", "answer"), WRONG)
def test_a_wrong_answer_fails(id, answer):
    outcome = find(id).grade(answer)
    assert answer.__doc__, "say what is wrong with it"
    assert outcome.status in ("failed", "partial")
    assert outcome.points < outcome.max_points


def test_there_are_enough_of_them():
    assert len(WRONG) >= 20

"""Unusual answers that are right get full points: tests/right/nNN_name.py lists them by exercise, as RIGHT."""

import os
from importlib import import_module
from pkgutil import iter_modules

import pytest

import tests.right
from tests.wrong.brief import shortened
from tests.wrong.table import by_name
from tutorlib.exercises import find

MODULES = [
    import_module(f"tests.right.{info.name}") for info in iter_modules(tests.right.__path__) if info.name[0] == "n"
]
RIGHT = {id: answers for module in MODULES for id, answers in module.RIGHT.items()}


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("id", "answer"), by_name(RIGHT))
def test_an_unusual_right_answer_has_all_the_points_that_this_machine_can_give(id, answer):
    exercise = find(id) if os.environ.get("TUTORLIB_LONG") else shortened(find(id))
    outcome = exercise.grade(answer)
    assert answer.__doc__, "say what is unusual about it"
    assert outcome.status in ("passed", "not_run"), outcome.message
    assert outcome.points == exercise.points_here, outcome.message

"""Unusual answers that are right get full points, see table.py, whatever kind of number or sequence they return."""

from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from typing import Any

import numpy as np
import pytest
import torch

from tests.checking.elsewhere import answer_to
from tests.pages.answers import RIGHT
from tests.pages.table import by_name
from tutorlib.checking.values import ValueExercise
from tutorlib.exercises import find, of_notebook
from tutorlib.paths import notebook_names


@pytest.mark.parametrize("answer", by_name(RIGHT))
def test_an_unusual_right_answer_has_all_the_points_that_this_machine_can_give(answer):
    exercise = find(answer.exercise)
    outcome = exercise.grade(answer.function)
    assert outcome.status in ("passed", "not_run"), outcome.message
    assert outcome.points == exercise.points_here, outcome.message


# Lists, whole floats, NumPy's numbers, torch's -----------------------------------------------------------------------

VALUES = [one.id for name in notebook_names() for one in of_notebook(name) if isinstance(one, ValueExercise)]
OTHERS = ("20.1",)  # returns the key of a dictionary, where a list is none and 2.0 another than 2


def numbers(convert: Callable[[int], Any]) -> Callable[[Any], Any]:
    """Every integer in a value."""

    def deep(value: Any) -> Any:
        if type(value) is int:
            return convert(value)
        return type(value)(map(deep, value)) if type(value) in (tuple, list) else value

    return deep


def lists(value: Any) -> Any:
    return [lists(part) for part in value] if type(value) in (tuple, list) else value


def tuples(value: Any) -> Any:
    return tuple(map(tuples, value)) if type(value) in (tuple, list) else value


KINDS = {
    "lists": lists,
    "tuples": tuples,
    "floats": numbers(lambda n: float(n) if abs(n) < 2**53 else n),
    "NumPy's integers": numbers(np.int64),
    "tensors": numbers(torch.tensor),
    "fractions": numbers(Fraction),
}


def returning(convert: Callable[[Any], Any], answer: Callable) -> Callable:
    @wraps(answer)
    def call(*args: Any) -> Any:
        return convert(answer(*args))

    return call


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("id", [id for id in VALUES if id not in OTHERS])
def test_a_right_answer_is_right_in_other_types(id, kind):
    exercise = find(id)
    outcome = exercise.grade(returning(KINDS[kind], answer_to(id)))
    assert outcome.points == exercise.points_here, outcome.message

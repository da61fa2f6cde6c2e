"""How many wrong and unusual right answers the exercises of a page are tried with, at least.

A page joins with a line in HELD. Whoever adds an exercise to it has to write its answers down, too.
"""

import pytest

from tests.right.test_right import RIGHT
from tests.wrong.test_wrong import WHEN_RUN, WRONG
from tutorlib.exercises import find, of_notebook

LEAST_RIGHT = 3
# Page → the least number of wrong answers for each of its exercises, or one number for all.
HELD: dict[str, int | dict[str, int]] = {
    "00_start": 13,
    "01_layouts": {
        **{"01.1": 12, "01.2": 13, "01.3": 12, "01.4": 12, "01.5": 11, "01.6": 12, "01.7": 13, "01.8": 13},
        "01.9": 10,
    },
    "02_layout_algebra": {
        **{"02.1": 17, "02.2": 17, "02.3": 14, "02.4": 17, "02.5": 15, "02.6": 16, "02.7": 15, "02.8": 16},
        **{"02.9": 10, "02.10": 10, "02.11": 10, "02.12": 10},
    },
    "03_swizzles": {
        **{"03.1": 14, "03.2": 14, "03.3": 16, "03.4": 14, "03.5": 13, "03.6": 12, "03.7": 14, "03.8": 13},
    },
    "09_gemm_baseline": {
        **{"09.1": 12, "09.2": 12, "09.3": 16, "09.4": 13, "09.5": 13, "09.6": 17, "09.7": 14, "09.8": 14, "09.9": 12}
    },
    "10_double_buffer": {"10.1": 12, "10.2": 17, "10.3": 17},
    "11_grid_swizzle": 13,
    "12_three_stages": 12,
}


def held() -> list:
    return [
        pytest.param(exercise.id, least if isinstance(least, int) else least[exercise.id], id=exercise.id)
        for page, least in HELD.items()
        for exercise in of_notebook(page)
    ]


@pytest.mark.parametrize(("id", "least"), held())
def test_an_exercise_is_tried_with_many_wrong_and_some_unusual_right_answers(id, least):
    wrong = [*WRONG.get(id, ()), *WHEN_RUN.get(id, ())]
    assert len({answer.__name__ for answer in wrong}) >= least
    assert len({answer.__name__ for answer in RIGHT.get(id, ())}) >= LEAST_RIGHT


@pytest.mark.parametrize(("id", "least"), held())
def test_a_remedy_is_shown_for_one_of_the_wrong_answers(id, least):
    """None waits for words that no message has."""
    exercise = find(id)
    shown = {exercise.grade(answer).remedy for answer in WRONG.get(id, ())} if exercise.remedies else set()
    assert {remedy.says for remedy in exercise.remedies} <= shown

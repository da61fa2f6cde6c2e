"""How many wrong and unusual right answers the exercises of a page are tried with, at least.

A page joins with a line in HELD. Whoever adds an exercise to it has to write its answers down, too.
"""

import pytest

from tests.pages.answers import RIGHT, WHEN_RUN, WRONG
from tutorlib.exercises import of_notebook

LEAST_RIGHT = 3
# Page → the least number of wrong answers for each of its exercises, or one number for all.
HELD: dict[str, int | dict[str, int]] = {
    "00_start": 13,
    "01_layouts": {
        **{"01.1": 12, "01.2": 13, "01.3": 12, "01.4": 12, "01.5": 11, "01.6": 12, "01.7": 12, "01.8": 13},
        "01.9": 10,
    },
    "02_layout_algebra": {
        **{"02.1": 17, "02.2": 18, "02.3": 14, "02.4": 17, "02.5": 15, "02.6": 16, "02.7": 15, "02.8": 16},
        **{"02.9": 10, "02.10": 10, "02.11": 10, "02.12": 10},
    },
    "03_swizzles": {
        **{"03.1": 14, "03.2": 16, "03.3": 16, "03.4": 14, "03.5": 13, "03.6": 12, "03.7": 14, "03.8": 13},
    },
    "04_first_kernels": 16,
    "05_copy_kernels": 17,
    "06_cutile_tiles": {"06.1": 15, "06.2": 12, "06.3": 12, "06.4": 13, "06.5": 13, "06.6": 10, "06.7": 14},
    "07_cutile_gemm": {
        **{"07.1": 17, "07.2": 15, "07.3": 14, "07.4": 15, "07.5": 16, "07.6": 13, "07.7": 13},
        **{"07.8": 10, "07.9": 10},
    },
    "08_tile_cpp": {"08.1": 22, "08.2": 19, "08.3": 16, "08.4": 15, "08.5": 15, "08.6": 10},
    "09_gemm_baseline": {
        **{"09.1": 13, "09.2": 14, "09.3": 18, "09.4": 13, "09.5": 13, "09.6": 17, "09.7": 14, "09.8": 17, "09.9": 17},
        **{"09.10": 17, "09.11": 14, "09.12": 13},
    },
    "10_double_buffer": {"10.1": 14, "10.2": 17, "10.3": 17},
    "11_grid_swizzle": 14,
    "12_three_stages": 12,
    "13_hopper_gemm": {
        **{"13.1": 24, "13.2": 14, "13.3": 16, "13.4": 14, "13.5": 20, "13.6": 16, "13.7": 60, "13.8": 31, "13.9": 44},
        **{"13.10": 18, "13.11": 24, "13.12": 26},
    },
    "14_beat_cublas": 14,
    "15_blackwell_gemm": 13,
    "16_fusion": 10,
    "17_compile_once": {
        "17.3": 18,
        **{f"17.{n}": 10 for n in range(1, 11) if n != 3},
        "17.11": 21,
        "17.12": 19,
        "17.13": 12,
    },
    "19_attention_tiles": {**{f"19.{n}": 13 for n in range(1, 8)}, "19.3": 12},
    "20_attention_hopper": {
        **{"20.1": 11, "20.2": 11, "20.3": 14, "20.4": 15, "20.5": 12, "20.6": 15, "20.7": 21, "20.8": 12},
        "20.9": 11,
    },
    "18_bug_hunt": {f"18.{n}": 4 if n % 2 else 5 for n in range(1, 31)},  # diagnoses, and fixes
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

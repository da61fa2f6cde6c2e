"""Notebooks 09 to 12: the course's own parts are right, and no answers; wrong parts that only a GPU can tell."""

import pytest

from tests.pages.answers import WRONG
from tests.pages.change import derive
from tests.pages.table import by_name
from tutorlib.exercises import find
from tutorlib.exercises.p11 import footprint
from tutorlib.kernels import ladder
from tutorlib.kernels.ampere import gemm, main_loops, thread_share

TIMES = 3
OWN = [
    ("09.2", thread_share.smem_layout),
    ("09.3", main_loops.single_buffer),
    ("09.4", thread_share.make_copy_g2s),
    ("09.5", thread_share.make_mma),
    ("09.6", thread_share.make_operands),
    ("09.8", gemm.store),
    ("10.3", main_loops.multistage),
    ("11.4", ladder.in_eights),
    ("12.1", main_loops.multistage),
]


def copied(part):
    """The same text in a file of its own, as somebody else would have written it."""
    return derive(part, part.__name__, "The course's own.")


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(("id", "part"), OWN)
def test_the_text_of_the_courses_own_parts_is_right_where_there_is_no_gpu(id, part):
    outcome = find(id).grade(copied(part))
    assert outcome.status in ("passed", "not_run"), outcome.message
    assert outcome.points == find(id).correctness_points


@pytest.mark.gpu("80")
@pytest.mark.parametrize(("id", "part"), OWN)
def test_the_text_of_the_courses_own_parts_is_right(id, part):
    assert find(id).grade(copied(part)).status == "passed"


@pytest.mark.parametrize(("id", "part"), OWN)
def test_the_courses_own_parts_are_no_answers(id, part):
    outcome = find(id).grade(part)
    assert (outcome.status, outcome.points) == ("failed", 0)
    assert "which does what you are asked to write" in outcome.message


def test_a_square_wave_has_the_smallest_footprint():
    tiles = [(m, n) for m in range(64) for n in range(64)]
    assert footprint([tile for tile in tiles if tile[0] < 8 and tile[1] < 8]) == 16
    assert footprint([tile for tile in tiles if tile[0] < 4 and tile[1] < 16]) == 20


@pytest.mark.gpu("80")
@pytest.mark.parametrize("answer", by_name({"09.9": WRONG["09.9"]}))
def test_a_wrong_part_fails_every_time(answer):
    exercise = find("09.9")
    assert all(exercise.grade(answer.function).points < exercise.points for _ in range(TIMES))

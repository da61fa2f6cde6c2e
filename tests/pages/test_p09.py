"""Notebooks 09 to 12: the course's own parts are right, and no answers; counts of loops, columns and layouts."""

from dataclasses import replace

import pytest
from cutlass import cute
from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as MMA

from tests.pages.answers import WRONG
from tests.pages.table import base_of, by_name, solved
from tutorlib.checking.answer import Served
from tutorlib.checking.facts import fetched_ahead
from tutorlib.checking.running import find_simulated_fault
from tutorlib.exercises import find
from tutorlib.exercises.judges.cute_host import seen_as_layout
from tutorlib.exercises.p09 import mma_column
from tutorlib.exercises.p11 import footprint
from tutorlib.kernels import ladder
from tutorlib.kernels.ampere import gemm, main_loops, thread_share
from tutorlib.kernels.ampere.main_loops import multistage, single_buffer

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
    return base_of(part)([], part.__name__)


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


@pytest.mark.parametrize(
    ("loop", "share"), [(single_buffer, 0), (solved("10.2"), 0), (solved("10.3"), 1), (multistage, 1)]
)
def test_the_share_of_mma_that_was_fetched_ahead(loop, share):
    exercise = replace(find("10.3"), library={})  # the course's own loops are among them
    simulator = exercise.simulator(exercise.evidence(Served(loop)))
    find_simulated_fault(exercise.problem, simulator, exercise.size_counted, patterned=False)
    (report,) = simulator.reports
    assert fetched_ahead(report) == share


def test_the_page_counts_the_columns_of_an_mma_as_the_hardware_does():
    lanes = {(lane, value): MMA.c_layout(lane, value) // 16 for lane in range(4) for value in range(2)}
    assert lanes == {(lane, value): mma_column(value, lane, 0, 0, 1) for lane, value in lanes}


def test_a_layout_of_cute_s_is_seen_as_one_of_tensor_layouts():
    seen = seen_as_layout(lambda n: cute.make_layout((n, (2, 3)), stride=(6, (3, 1))))
    assert (seen(4).shape, seen(4).stride) == ((4, (2, 3)), (6, (3, 1)))


def test_an_answers_own_error_comes_out_of_the_trace():
    def fails():
        raise LookupError("its own")

    with pytest.raises(LookupError, match="its own"):
        seen_as_layout(fails)()

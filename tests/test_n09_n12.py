"""Notebooks 09 to 12: the solutions are what the course's GEMM does; wrong kernels that only a GPU can tell."""

import pytest

from tests.wrong.n09_gemm_baseline import WRONG_ON_GPU
from tutorlib import gemm, l2
from tutorlib.device import why_not
from tutorlib.exercises import find
from tutorlib.exercises.n11_grid_swizzle import GRIDS, all_blocks, footprint
from tutorlib.launch import Launcher

CASES = [
    pytest.param(id, answer, id=f"{id}-{answer.__name__}") for id, answers in WRONG_ON_GPU.items() for answer in answers
]
TIMES = 20
SHAPES = ((256, 256, 256), (1024, 1024, 64), (127, 65, 64))  # whole tiles first: some parts take no others


@pytest.mark.parametrize(
    ("id", "answer"),
    [
        ("09.2", gemm.smem_layout),
        ("09.3", gemm.single_buffer),
        ("09.5", gemm.store),
        ("10.3", gemm.multistage),
        ("11.4", gemm.in_eights),
        ("12.1", gemm.multistage),
    ],
)
def test_the_course_s_own_parts_are_right_answers(id, answer):
    outcome = find(id).grade(answer)
    if why_not("80"):
        assert outcome.status == "not_run"
        assert "compiled for sm_80 and sm_90a" in outcome.message
    else:
        assert outcome.status == "passed"


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("group", [1, 4, 8])
def test_the_kernel_s_groups_are_the_model_s(grid, group):
    assert all_blocks(gemm.grouped, *grid, group) == l2.blocks(grid, lambda b, m, n: l2.grouped(b, m, n, group))


def test_a_square_wave_has_the_smallest_footprint():
    tiles = [(m, n) for m in range(64) for n in range(64)]
    assert footprint([tile for tile in tiles if tile[0] < 8 and tile[1] < 8]) == 16
    assert footprint([tile for tile in tiles if tile[0] < 4 and tile[1] < 16]) == 20


@pytest.mark.parametrize(("id", "answer"), CASES)
def test_wrong_parts_compile_so_that_only_a_run_tells(id, answer):
    if why_not("80"):
        assert find(id).grade(answer).status == "not_run"


@pytest.mark.skipif(why_not("80") is not None, reason=f"{why_not('80')}")
@pytest.mark.parametrize(("id", "answer"), CASES)
def test_a_wrong_part_fails_every_time(id, answer):
    exercise = find(id)
    launcher = Launcher(exercise.build(answer), {shape: exercise.specs(shape) for shape in SHAPES}, False)
    for _ in range(TIMES):
        assert any(exercise.judge(launcher, shape) for shape in SHAPES)

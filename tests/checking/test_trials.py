"""What once passed on a machine without a GPU, since nothing ran it there: each fails now, with words that help."""

from functools import cache

import pytest
from cutlass import cute

from tutorlib.course.answers import load_answers
from tutorlib.exercises import find, rooms

pytestmark = pytest.mark.usefixtures("no_gpu")


@cute.kernel
def nothing(out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    if thread < 0:
        out[0] = out[0]


@cute.jit
def empty_of_two(src: cute.Tensor, dst: cute.Tensor):
    nothing(dst).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.jit
def empty_of_three(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    nothing(c).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cache
def solution(id):
    return load_answers(next(name for name in rooms() if name[:2] == id[:2]))[id]


@pytest.mark.parametrize(
    ("id", "empty", "name"),
    [
        ("04.4", empty_of_three, "c[0]"),
        ("04.5", empty_of_three, "c[0]"),
        ("05.2", empty_of_two, "dst[0, 0]"),
        ("05.3", empty_of_two, "dst[0, 0]"),
    ],
)
def test_an_empty_kernel_writes_nothing(id, empty, name):
    outcome = find(id).grade(empty)
    assert (outcome.status, outcome.points) == ("failed", 0)
    assert f"{name} is still NaN: the kernel never wrote it" in outcome.message


@pytest.mark.parametrize("id", ["05.4", "05.5", "05.6", "05.7"])
def test_an_empty_kernel_lacks_what_the_exercise_is_about(id):
    outcome = find(id).grade(empty_of_two)
    assert (outcome.status, outcome.points) == ("failed", 0)
    assert "without " in outcome.message


@pytest.mark.parametrize("id", ["04.4", "04.5", "05.2", "05.7", "08.1", "10.2", "12.1"])
def test_a_right_answer_has_its_points_for_right_results(id):
    exercise = find(id)
    outcome = exercise.grade(solution(id))
    assert outcome.points == exercise.points_anywhere > 0

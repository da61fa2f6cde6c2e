"""Kernels judged from another process on a GPU: only what it traced crosses, and what is launched is made here."""

import cutlass
import pytest
from cutlass import cute

from tests.checking.elsewhere import answer_to
from tests.gpu_kernels import COPY, THREADS, blocks, plain_kernel, thread_index
from tests.grading.test_remote_answers import Liar, judged
from tutorlib.checking.answer import Served
from tutorlib.exercises import find

pytestmark = pytest.mark.gpu("80")

UNTIMED = ("04.4", "04.5", "04.8", "06.1", "06.5", "08.2", "09.8", "18.2", "18.4", "18.22")
TIMED = ("05.4", "07.4", "08.4", "09.9")
HOPPER = ("13.9", "14.2", "14.11")


@pytest.mark.parametrize("id", UNTIMED)
def test_a_right_kernel_has_the_points_that_check_gives(id):
    answer = answer_to(id)
    far, near = judged(id, answer), find(id).grade(answer)
    assert (far.status, far.points) == (near.status, near.points) == ("passed", find(id).points), far.message


@pytest.mark.parametrize(
    "id",
    [
        *TIMED,
        pytest.param("05.8", marks=pytest.mark.gpu("90")),
        *(pytest.param(id, marks=pytest.mark.gpu("90a")) for id in HOPPER),
    ],
)
def test_the_time_taken_outside_is_the_one_taken_inside(id):
    answer = answer_to(id)
    far, near = judged(id, answer), find(id).grade(answer)
    assert far.status == near.status, (far.message, near.message)
    assert far.measurement["ratio"] == pytest.approx(near.measurement["ratio"], rel=0.05)


@pytest.mark.parametrize(("id", "other"), [("04.5", "04.4"), ("05.5", "05.4"), ("06.3", "06.1"), ("09.9", "10.2")])
def test_another_exercises_kernel_has_no_full_points_whatever_its_process_says(id, other):
    assert judged(id, answer_to(other), Liar).points < find(id).points


def test_a_wrong_kernel_hears_what_check_says():
    answer = answer_to("04.4")  # has no predicate
    far, near = judged("04.5", answer), find("04.5").grade(answer)
    assert (far.status, far.points) == (near.status, near.points)
    head = "✗ 04.5 vector_add of any size: it could not be launched: "  # how, the driver says, or the DSL
    assert far.message.startswith(head)
    assert near.message.startswith(head)


@cute.kernel
def clear_kernel(dst: cute.Tensor, size: cutlass.Int32):
    i = thread_index()
    if i < size:
        dst[i // dst.shape[1], i % dst.shape[1]] = 0.0


@cute.jit
def clears_and_copies(src: cute.Tensor, dst: cute.Tensor):
    size = cute.size(dst)
    clear_kernel(dst, size).launch(grid=(blocks(size), 1, 1), block=(THREADS, 1, 1))
    plain_kernel(src, dst, size).launch(grid=(blocks(size), 1, 1), block=(THREADS, 1, 1))


@cute.jit
def copies_and_clears(src: cute.Tensor, dst: cute.Tensor):
    size = cute.size(dst)
    plain_kernel(src, dst, size).launch(grid=(blocks(size), 1, 1), block=(THREADS, 1, 1))
    clear_kernel(dst, size).launch(grid=(blocks(size), 1, 1), block=(THREADS, 1, 1))


@pytest.mark.parametrize(("host", "points"), [(clears_and_copies, COPY.points), (copies_and_clears, 0)])
def test_all_that_a_host_function_launches_runs_in_order(host, points):
    assert COPY.run(COPY.evidence(Served(host))).points == points

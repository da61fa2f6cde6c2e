"""The checker on a GPU: right kernels pass, wrong ones fail, and launches from the sandbox are judged outside."""

import json
import subprocess
import sys
from dataclasses import replace

import cutlass
import pytest
from cutlass import cute

from tests.checking.elsewhere import answer_to
from tests.gpu.right_kernels import RIGHT, one_thread_per_element
from tests.gpu_kernels import COPY, FATAL, THREADS, WRONG, blocks, plain_kernel, thread_index
from tests.grading.test_remote_answers import Liar, judged
from tests.pages.answers import named
from tutorlib.checking.answer import Served
from tutorlib.exercises import find
from tutorlib.machine import device
from tutorlib.measuring import timing
from tutorlib.paths import ROOT
from tutorlib.problems.work import RESTART

pytestmark = pytest.mark.gpu("80")

TIMED = replace(COPY, bench_shape=(8192, 8192))


def by_name(cases):
    return [pytest.param(*case, id=case[1].__name__) for case in cases]


@pytest.mark.parametrize(("exercise", "kernel"), by_name(RIGHT))
def test_a_right_kernel_passes(exercise, kernel):
    outcome = exercise.grade(kernel)
    assert outcome.message == exercise.passed_line
    assert (outcome.status, outcome.points) == ("passed", exercise.points)


@pytest.mark.parametrize(("exercise", "kernel", "says"), by_name(WRONG))
def test_a_wrong_kernel_fails_and_hears_why(exercise, kernel, says):
    outcome = exercise.grade(kernel)
    assert outcome.status in ("failed", "partial")
    assert says in outcome.message
    assert COPY.grade(one_thread_per_element).status == "passed"  # the context survived


@pytest.mark.parametrize(("exercise", "kernel", "status", "says"), by_name(FATAL))
def test_a_fatal_kernel_gets_one_line_and_so_do_later_checks(exercise, kernel, status, says):
    (first, message), (second, later) = in_a_child(kernel.__name__)
    assert (first, second) == (status, "error")
    assert says in message
    assert RESTART in message
    assert later == f"✗ {exercise.id} {exercise.title}: {RESTART}"
    assert "\n" not in later
    assert [line for line in message.splitlines()[1:] if not line.startswith("  Simulated: ")] == []


def test_a_full_gpu_is_said_and_survived():
    (first, message), (second, _) = in_a_child("out_of_memory")
    assert (first, second) == ("error", "passed")
    assert "the GPU has too little free memory" in message


def in_a_child(name):
    command = [sys.executable, "-m", "tests.gpu.child", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(lines) == 2, done.stderr[-2000:]
    return lines


class TestTiming:
    def test_a_measurement_is_taken_believable_and_the_same_the_next_time(self):
        first, second = (TIMED.grade(one_thread_per_element) for _ in range(2))
        print(first.message)
        assert first.message.startswith(TIMED.passed_line + "\n  8192×8192 fp32, cool: ")
        assert (first.status, first.points) == ("passed", TIMED.points)
        assert first.measurement["n"] >= timing.PAIRS
        assert 0.1 < first.measurement["ratio"] < 1.5
        assert second.measurement["ratio"] == pytest.approx(first.measurement["ratio"], rel=0.02)

    def test_torch_against_itself_has_ratio_one_and_repeats(self):
        import torch

        tensors = [torch.randn(2, 16384, 8192, device="cuda") for _ in range(2)]

        def copies():
            return [lambda t=t: t[1].copy_(t[0]) for t in tensors]

        def nothing():
            pass

        ratios = []
        for _ in range(2):
            times = timing.paired(copies(), copies(), nothing, nothing, nothing)
            problem, shape = COPY.problem, (16384, 8192)
            measured = timing.summarise(times, problem, shape)
            print(measured)
            ratios.append(measured.ratio)
            assert measured.noisy is None
            assert timing.impossible(measured, problem, device.gpu().hardware) is None
        assert ratios == pytest.approx([1, 1], abs=0.02)

    def test_clocks_are_read(self):
        assert device.clocks().sm_mhz > 0


UNTIMED = ("02.1", "02.2", "02.4", "06.1", "06.3", "09.1", "10.2", "21.2", "21.4")
WITH_TIMES = ("05.1", "07.3", "09.2", "10.4")
HOPPER = ("14.4", "15.2", "16.2")


@pytest.mark.parametrize("id", UNTIMED)
def test_a_right_kernel_has_the_points_that_check_gives(id):
    answer = answer_to(id)
    far, near = judged(id, answer), find(id).grade(answer)
    assert (far.status, far.points) == (near.status, near.points) == ("passed", find(id).points), far.message


@pytest.mark.parametrize(
    "id",
    [
        *WITH_TIMES,
        pytest.param("05.2", marks=pytest.mark.gpu("90")),
        *(pytest.param(id, marks=pytest.mark.gpu("90a")) for id in HOPPER),
    ],
)
def test_the_time_taken_outside_is_the_one_taken_inside(id):
    answer = answer_to(id)
    far, near = judged(id, answer), find(id).grade(answer)
    assert far.status == near.status, (far.message, near.message)
    assert far.measurement["ratio"] == pytest.approx(near.measurement["ratio"], rel=0.05)


@pytest.mark.parametrize(("id", "other"), [("06.2", "06.1"), ("10.4", "11.2")])
def test_another_exercises_kernel_has_no_full_points_whatever_its_process_says(id, other):
    assert judged(id, answer_to(other), Liar).points < find(id).points


def test_a_wrong_kernel_hears_what_check_says():
    answer = named("02.1", "cute.ceil_div(cute.size(c), THREADS) → cute.size(c) // THREADS").function
    far, near = judged("02.1", answer), find("02.1").grade(answer)
    assert (far.status, far.points) == (near.status, near.points)
    head = "✗ 02.1 vector_add: it could not be launched: "  # how, the driver says, or the DSL
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

"""The checker on a GPU: kernels that must fail, each with its own message, and unusual ones that must pass."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from tests.gpu.right_kernels import RIGHT, one_thread_per_element
from tests.gpu_kernels import COPY, FATAL, WRONG
from tutorlib.machine import clocks, device
from tutorlib.measuring import bench, measurement
from tutorlib.paths import ROOT
from tutorlib.problems.fault import RESTART

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
    assert all(line.startswith("  Simulated at ") for line in message.splitlines()[1:])


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
        assert first.measurement["n"] >= bench.PAIRS
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
            times = bench.paired(copies(), copies(), nothing, nothing, nothing)
            problem, shape = COPY.problem, (16384, 8192)
            measured = measurement.summarise(times, problem, shape)
            print(measured)
            ratios.append(measured.ratio)
            assert measured.noisy is None
            assert measurement.impossible(measured, problem, device.gpu().hardware) is None
        assert ratios == pytest.approx([1, 1], abs=0.02)

    def test_clocks_are_read(self):
        assert clocks.clocks().sm_mhz > 0

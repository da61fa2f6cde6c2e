"""The verdict on a kernel: its sizes, its speed, its tiers, on made-up measurements."""

from dataclasses import replace

import pytest

from tests.gpu_kernels import COPY
from tests.stand_ins import H200, copied
from tutorlib.machine import device
from tutorlib.measuring import results
from tutorlib.measuring.timing import WrongWhenTimed
from tutorlib.problems.differences import Wrong

SHAPE = (16384, 16384)
TIMED = replace(COPY, points=5, bench_shape=SHAPE, tiers=(0.7, 0.9))


@pytest.mark.parametrize(
    ("measured", "target", "status", "points", "says"),
    [
        (copied(0.95), 1.0, "passed", 5, "✓ 99.1 copy: 5 points"),
        (copied(0.80), 1.0, "partial", 4, "at 0.800 of torch copy_'s speed; the next point needs 0.900"),
        (copied(0.5), 0.9, "partial", 3, ""),
        (copied(0.8), 0.85, "passed", 5, ""),  # tiers are fractions of the target
        (copied(0.01), None, "passed", 5, ""),
        (copied(0.5, spread=0.06), 1.0, "partial", 3, "too noisy to grade its speed, run it again"),
        (copied(0.5, throttled=("heat",)), 1.0, "partial", 3, "too noisy to grade its speed, run it again"),
        (copied(2.0, median_us=100.0), 1.0, "failed", 0, "is impossible: by its datasheet this GPU needs 43"),
    ],
)
def test_the_verdict_on_a_speed(measured, target, status, points, says):
    outcome = TIMED.outcome_of(TIMED.verdict(measured, target, H200))
    assert (outcome.status, outcome.points) == (status, points)
    assert says in outcome.message
    assert not measured.noisy or "the next point" not in outcome.message


def test_an_unknown_gpu_refuses_no_time():
    verdict = TIMED.verdict(copied(2.0, median_us=1.0), 1.0, replace(H200, name="NVIDIA Z9000"))
    assert TIMED.outcome_of(verdict).status == "passed"


class TestTime:
    """The kernel was right at every size; what is said of its time."""

    @pytest.fixture
    def timed(self, monkeypatch):
        """The outcome where measuring gives this measurement, or raises this error."""

        def grade(measured, target=1.0):
            def measure(problem, launcher, shape):
                if isinstance(measured, Exception):
                    raise measured
                return measured

            monkeypatch.setattr(device, "gpu", lambda: H200)
            monkeypatch.setattr(results, "target_ratio", lambda arch, id: target)
            monkeypatch.setattr("tutorlib.checking.kernel.measure", measure)
            return TIMED.outcome_of(TIMED.time(None))

        return grade

    @pytest.mark.parametrize(
        ("target", "ends"),
        [(1.0, "0.950 of torch copy_'s speed"), (None, "speed. Not graded: there is no target for sm_90")],
    )
    def test_the_speed_is_shown_below_the_line(self, timed, target, ends):
        outcome = timed(copied(0.95), target)
        line, speed = outcome.message.splitlines()
        assert line == TIMED.passed_line
        assert speed.startswith("  16384×16384 fp32, cool: 500.0 µs")
        assert speed.endswith(ends)
        assert outcome.measurement["ratio"] == 0.95

    def test_a_slow_kernel_keeps_its_measurement(self, timed):
        outcome = timed(copied(0.5))
        assert (outcome.status, outcome.points) == ("partial", 3)
        assert outcome.measurement["ratio"] == 0.5

    def test_a_result_that_is_wrong_while_it_is_timed_gets_no_points(self, timed):
        outcome = timed(WrongWhenTimed("dst[0, 0] is still NaN"))
        assert (outcome.status, outcome.points) == ("failed", 0)
        assert "right when checked, wrong while it was timed: dst[0, 0] is still NaN" in outcome.message


def test_wrong_sizes_share_the_points_of_correctness():
    outcome = TIMED.outcome_of(TIMED.wrong_at({(192, 320): Wrong("off.")}, TIMED.shapes))
    assert (outcome.status, outcome.points) == ("partial", 2)
    assert outcome.message.splitlines() == ["✗ 99.1 copy: 2 of 3 sizes right", "  192×320: off."]


@pytest.mark.parametrize(
    ("wrong", "whole", "says"),
    [
        ([1, 2], (), "right at 256×256, where all sizes agree: is"),
        ([1, 2], (0,), "right at 256×256, where all sizes agree and tiles divide them"),
        ([2], (0, 1), "right at 256×256 and 192×320, where tiles divide them"),
        ([1], (0, 1), ""),
        ([0, 1, 2], (0, 1), ""),
    ],
)
def test_the_sizes_that_are_right_tell_something(wrong, whole, says):
    sizes = TIMED.shapes
    exercise = replace(TIMED, whole=tuple(sizes[n] for n in whole))
    suspicion = exercise.suspicion([sizes[n] for n in wrong], sizes)
    assert (says in suspicion) if says else not suspicion

"""Measuring without a GPU: every timed call is looked at, and a noisy measurement is taken again."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from tests.stand_ins import H200, OnTorch, copied, led_in
from tutorlib.machine import device
from tutorlib.measuring import bench
from tutorlib.measuring import measure as measuring
from tutorlib.measuring.measure import ATTEMPTS, WrongWhenTimed, measure
from tutorlib.problems.catalogue import copy
from tutorlib.problems.fault import KernelFault

COPY = copy("fp32")


@pytest.fixture
def small_cache(on_cpu, monkeypatch):
    """A GPU whose L2 is small, so that few sets of tensors are rotated; its calls are torch's."""
    monkeypatch.setattr(device, "gpu", lambda: replace(H200, l2=2**15))
    monkeypatch.setattr(bench, "paired", led_in)
    monkeypatch.setattr("tutorlib.problems.fault.context_broken", lambda: False)


@pytest.mark.usefixtures("small_cache")
class TestEveryTimedCall:
    def test_a_right_kernel_has_a_measurement(self):
        measured = measure(COPY, OnTorch(lambda src, dst: dst.copy_(src)), (64, 96))
        assert (measured.ratio, measured.shape, measured.dtype) == (1, (64, 96), "fp32")
        assert measured.baseline == "torch copy_"

    @pytest.mark.parametrize(
        ("kernel", "says"),
        [
            (lambda src, dst: dst[:-1].copy_(src[:-1]), "dst[63, 0] is still NaN"),
            (lambda src, dst: (src.zero_(), dst.zero_()), "the kernel changed an input"),
        ],
    )
    def test_what_it_leaves_is_looked_at(self, kernel, says):
        with pytest.raises(WrongWhenTimed, match=re.escape(says)):
            measure(COPY, OnTorch(kernel), (64, 96))

    def test_what_the_lead_in_wrote_is_no_result_of_a_timed_call(self):
        calls = Counter()

        def every_other_time(src, dst):
            calls[dst.data_ptr()] += 1
            if calls[dst.data_ptr()] % 2:
                dst.copy_(src)

        with pytest.raises(WrongWhenTimed, match="still NaN"):
            measure(COPY, OnTorch(every_other_time), (64, 96))

    def test_what_torch_raises_is_a_fault(self):
        def refused(src, dst):
            raise RuntimeError("too many resources requested for launch")

        with pytest.raises(KernelFault, match="a block asks for more registers"):
            measure(COPY, OnTorch(refused), (64, 96))


class TestNoise:
    @pytest.fixture
    def taken(self, monkeypatch):
        """Makes measuring give these measurements, one after the other; a list of those that were taken."""

        def give(*measurements):
            waiting, taken = list(measurements), []

            def measure_once(problem, launcher, shape, pairs):
                taken.append(waiting.pop(0))
                return taken[-1]

            monkeypatch.setattr(measuring, "measure_once", measure_once)
            return taken

        return give

    def test_a_noisy_measurement_is_taken_again(self, taken):
        noisy, good = copied(0.5, spread=0.3), copied(0.95)
        found = taken(noisy, good)
        assert measure(COPY, None, (64, 96)) is good
        assert found == [noisy, good]

    def test_one_that_stays_noisy_is_given_as_it_is(self, taken):
        found = taken(*(copied(0.5, spread=0.3) for _ in range(ATTEMPTS)))
        assert measure(COPY, None, (64, 96)).noisy
        assert len(found) == ATTEMPTS

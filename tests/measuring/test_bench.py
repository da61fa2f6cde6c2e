"""Timing without a GPU: the order of calls, and which of them count."""

import pytest
import torch

from tutorlib.machine.clocks import Clocks
from tutorlib.measuring import bench
from tutorlib.measuring.bench import Pace, buffer_sets, paired


def nothing():
    pass


class FakeGpu:
    """Stands in for torch.cuda: calls take the time they say and are written down."""

    def __init__(self):
        self.now = 0.0
        self.log = []

    def call(self, name, us):
        def run():
            self.log.append(name)
            self.now += us

        return run

    def event(self, enable_timing):
        gpu = self

        class Event:
            def record(self):
                self.at = gpu.now

            def elapsed_time(self, other):
                return (other.at - self.at) / 1000

        return Event()


@pytest.fixture
def fake(monkeypatch):
    gpu = FakeGpu()
    monkeypatch.setattr(torch.cuda, "Event", gpu.event)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: gpu.log.append("sleep"))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(bench, "warm_up", lambda kernels, baselines: Pace(1e-4, 2e-3))
    monkeypatch.setattr(bench, "clocks", lambda: Clocks(1980, ()))
    return gpu


class TestPaired:
    def test_each_call_has_its_own_time(self, fake):
        kernels = [fake.call(f"A{n}", 10 + n) for n in range(4)]
        baselines = [fake.call(f"B{n}", 20 + n) for n in range(4)]
        times = paired(kernels, baselines, nothing, nothing, nothing, pairs=8)
        assert times.kernel == pytest.approx([10, 11, 12, 13] * 2)
        assert times.baseline == pytest.approx([22, 23, 20, 21] * 2)

    def test_a_and_b_alternate_on_sets_far_apart_and_take_turns_in_going_first(self, fake):
        kernels = [fake.call(f"A{n}", 1) for n in range(4)]
        baselines = [fake.call(f"B{n}", 1) for n in range(4)]
        paired(kernels, baselines, *(fake.call(name, 0) for name in ("refresh", "spoil", "verify")), pairs=8)
        first, second = (round.split("spoil")[1] for round in " ".join(fake.log).split("verify")[:2])
        assert first.split()[1:] == ["A0", "B2", "A1", "B3", "A2", "B0", "A3", "B1"]
        assert second.split()[1:] == ["B2", "A0", "B3", "A1", "B0", "A2", "B1", "A3"]

    def test_the_same_work_leads_in_what_it_wrote_is_spoilt_and_then_the_baseline_runs(self, fake, monkeypatch):
        monkeypatch.setattr(bench, "warm_up", lambda kernels, baselines: Pace(1e-4, bench.LEAD_IN_S / 1.5))
        calls = (fake.call(name, 3 if name in "AB" else 1000) for name in ("A", "B", "refresh", "spoil", "verify"))
        kernel, baseline, *others = calls
        times = paired([kernel], [baseline], *others, pairs=1)
        assert fake.log == ["refresh", "sleep", "A", "B", "A", "B", "spoil", "B", "A", "B", "verify"]
        assert (times.kernel, times.baseline) == ((3,), (3,))


@pytest.mark.parametrize(
    ("bytes", "l2", "sets"), [(2**31, 60 * 2**20, 1), (96 * 2**20, 50 * 2**20, 2), (2**20, 2**20, 3)]
)
def test_three_times_the_l2_passes_before_a_set_is_used_again(bytes, l2, sets):
    assert buffer_sets(bytes, l2) == sets
    assert sets * bytes >= 3 * l2


class TestPace:
    """On a clock that goes on when a call or the GPU takes time, and at no other moment."""

    @pytest.fixture
    def now(self, monkeypatch):
        clock = [0.0]
        monkeypatch.setattr(bench.time, "perf_counter", lambda: clock[0])
        return clock

    def test_a_first_call_that_compiles_is_no_measure_of_it(self, now, monkeypatch):
        calls = []

        def compiles_first():
            now[0] += 1e-3 if calls else 60
            calls.append(True)

        def wait():
            now[0] += 5e-3

        monkeypatch.setattr(torch.cuda, "synchronize", wait)
        assert bench.warm_up([compiles_first], [nothing]) == pytest.approx((3e-3, 6e-3))
        assert len(calls) > bench.WARM_UP_S / 6e-3

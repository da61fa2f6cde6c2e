"""Timing without a GPU: the order of calls, the arithmetic on times, and what is refused."""

import time

import pytest
import torch

from tutorlib import bench
from tutorlib.bench import Pace, Times, buffer_sets, floor_us, impossible, paired, summarise
from tutorlib.device import GPU, HARDWARE, Clocks
from tutorlib.problem import copy, gemm

H200 = GPU("NVIDIA H200", "90", 132, 60 * 2**20, 140 * 2**30, "580.0")
GIB = (16384, 16384)  # fp32: 1 GiB read, 1 GiB written


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

    def test_a_first_call_that_compiles_is_no_measure_of_the_pace(self, monkeypatch):
        monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
        compiled = []

        def compiles_first():
            if not compiled:
                time.sleep(0.3)
                compiled.append(True)

        pace = bench.warm_up([compiles_first], [nothing])
        assert pace.queueing_s < pace.pair_s * 3 + 1e-3 < 0.01

    def test_at_least_so_many_pairs(self, fake):
        times = paired([fake.call("A", 1)], [fake.call("B", 1)], nothing, nothing, nothing)
        assert len(times.kernel) == len(times.baseline) == bench.PAIRS

    def test_a_wrong_output_ends_it(self, fake):
        def verify():
            raise ValueError("wrong")

        with pytest.raises(ValueError, match="wrong"):
            paired([fake.call("A", 1)], [fake.call("B", 1)], nothing, nothing, verify)


@pytest.mark.parametrize(
    ("bytes", "l2", "sets"), [(2**31, 60 * 2**20, 1), (96 * 2**20, 50 * 2**20, 2), (2**20, 2**20, 3)]
)
def test_three_times_the_l2_passes_before_a_set_is_used_again(bytes, l2, sets):
    assert buffer_sets(bytes, l2) == sets
    assert sets * bytes >= 3 * l2


class TestSummary:
    def test_medians_quartiles_and_the_ratio_of_pairs(self):
        times = Times((100.0, 200.0, 300.0, 400.0, 500.0), (90.0, 180.0, 270.0, 360.0, 450.0), (Clocks(1980, ()),))
        m = summarise(times, copy("fp32"), GIB, H200, {})
        assert (m.lower_us, m.median_us, m.upper_us, m.baseline_us) == (200, 300, 400, 270)
        assert m.ratio == pytest.approx(0.9)
        assert m.spread == pytest.approx(0, abs=1e-9)  # a drift that both share is no noise
        assert m.n == 5
        assert m.clock_mhz == 1980
        assert m.noisy is None

    def test_rates(self):
        times = Times((500.0,) * 4, (500.0,) * 4)
        m = summarise(times, copy("fp32"), GIB, H200, {})
        assert (m.gbps, m.tflops, m.clock_mhz) == (pytest.approx(2**31 / 500 / 1e3, abs=0.1), None, None)
        m = summarise(times, gemm("bf16"), (4096, 4096, 4096), H200, {})
        assert (m.gbps, m.tflops) == (None, pytest.approx(2 * 4096**3 / 500e-6 / 1e12, abs=0.01))

    def test_spread_and_heat_are_noise_and_the_text_says_so(self):
        spread = summarise(Times((100.0, 110.0, 120.0, 130.0), (100.0,) * 4), copy("fp32"), GIB, H200, {})
        assert "the times spread by" in spread.noisy
        assert "Too noisy" in str(spread)
        hot = summarise(Times((500.0,) * 4, (500.0,) * 4, (Clocks(900, ("heat",)),)), copy("fp32"), GIB, H200, {})
        assert hot.noisy == "the GPU slowed down (heat)"

    def test_text(self):
        m = summarise(Times((500.0,) * 4, (490.0,) * 4), copy("fp32"), GIB, H200, {})
        assert (
            str(m)
            == repr(m)
            == ("16384×16384 fp32: 500.0 µs (500.0 to 500.0), 4,295 GB/s, 0.980 of torch copy_'s speed")
        )


class TestRoofline:
    def test_a_copy_is_bound_by_bandwidth(self):
        bytes_from_memory = 2**31 - 60 * 2**20
        assert floor_us(copy("fp32"), GIB, HARDWARE["NVIDIA H200"]) == pytest.approx(bytes_from_memory / 4.8e12 * 1e6)

    def test_a_large_gemm_is_bound_by_arithmetic(self):
        assert floor_us(gemm("bf16"), (8192,) * 3, HARDWARE["NVIDIA H200"]) == pytest.approx(2 * 8192**3 / 989e12 * 1e6)

    @pytest.mark.parametrize(("us", "refused"), [(300.0, True), (440.0, False), (505.0, False)])
    def test_a_time_below_it_is_refused(self, us, refused):
        m = summarise(Times((us,) * 4, (500.0,) * 4), copy("fp32"), GIB, H200, {})
        assert bool(impossible(m, copy("fp32"), HARDWARE["NVIDIA H200"])) == refused
        assert impossible(m, copy("fp32"), None) is None

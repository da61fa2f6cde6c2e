"""Timing without a GPU: rounds and pairs, what a measurement says, every timed call looked at."""

import re
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import groupby
from types import SimpleNamespace

import pytest
import torch

from tests.stand_ins import H200, OnTorch, copied, led_in
from tutorlib.kernels.hopper import tune
from tutorlib.machine import device
from tutorlib.machine.device import Clocks
from tutorlib.machine.features import HARDWARE
from tutorlib.measuring import timing
from tutorlib.measuring.timing import (
    Measurement,
    Pace,
    Times,
    WrongWhenTimed,
    buffer_sets,
    floor_us,
    impossible,
    measure_once,
    paired,
    rate,
    summarise,
)
from tutorlib.problems.catalogue import copy, gemm, gemm_fp8
from tutorlib.problems.work import KernelFault


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
    monkeypatch.setattr(timing, "warm_up", lambda kernels, baselines: Pace(1e-4, 2e-3))
    monkeypatch.setattr(timing, "clocks", lambda: Clocks(1980, ()))
    sm = SimpleNamespace(start=gpu.call("start", 50), stop=gpu.call("stop", 50), mhz=lambda: 640.0)
    monkeypatch.setattr(timing, "sm_clock", lambda: sm)
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
        first, second = (round.split("start")[1] for round in " ".join(fake.log).split("stop")[:2])
        assert first.split()[1:] == ["A0", "B2", "A1", "B3", "A2", "B0", "A3", "B1"]
        assert second.split()[1:] == ["B2", "A0", "B3", "A1", "B0", "A2", "B1", "A3"]

    def test_the_same_work_leads_in_what_it_wrote_is_spoilt_and_then_the_baseline_runs(self, fake, monkeypatch):
        monkeypatch.setattr(timing, "warm_up", lambda kernels, baselines: Pace(1e-4, timing.LEAD_IN_S / 1.5))
        calls = (fake.call(name, 3 if name in "AB" else 1000) for name in ("A", "B", "refresh", "spoil", "verify"))
        kernel, baseline, *others = calls
        times = paired([kernel], [baseline], *others, pairs=1)
        led_in = ["A", "B", "A", "B", "spoil"]
        assert fake.log == ["refresh", "sleep", *led_in, "start", "B", "A", "B", "stop", "verify"]
        assert (times.kernel, times.baseline) == ((3,), (3,))
        assert times.counted_mhz == (640.0,)


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
        monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])
        return clock

    def test_a_first_call_that_compiles_is_no_measure_of_it(self, now, monkeypatch):
        calls = []

        def compiles_first():
            now[0] += 1e-3 if calls else 60
            calls.append(True)

        def wait():
            now[0] += 5e-3

        monkeypatch.setattr(torch.cuda, "synchronize", wait)
        assert timing.warm_up([compiles_first], [nothing]) == pytest.approx((3e-3, 6e-3))
        assert len(calls) > timing.WARM_UP_S / 6e-3


GIB = (16384, 16384)  # fp32: 1 GiB read, 1 GiB written


class TestSummary:
    def test_medians_quartiles_and_the_ratio_of_pairs(self):
        times = Times(
            (100.0, 200.0, 300.0, 400.0, 500.0), (90.0, 180.0, 270.0, 360.0, 450.0), (Clocks(1980, ()),), (640.4,)
        )
        m = summarise(times, copy("fp32"), GIB)
        assert (m.lower_us, m.median_us, m.upper_us, m.baseline_us) == (200, 300, 400, 270)
        assert m.ratio == pytest.approx(0.9)
        assert m.spread == pytest.approx(0, abs=1e-9)  # a drift that both share is no noise
        assert m.n == 5
        assert (m.clock_mhz, m.counted_mhz) == (1980, 640)
        assert m.noisy is None

    def test_rates(self):
        times = Times((500.0,) * 4, (500.0,) * 4)
        m = summarise(times, copy("fp32"), GIB)
        assert (m.gbps, m.tflops, m.clock_mhz) == (pytest.approx(2**31 / 500 / 1e3, abs=0.1), None, None)
        assert m.counted_mhz is None
        m = summarise(times, gemm("bf16"), (4096, 4096, 4096))
        assert (m.gbps, m.tflops) == (None, pytest.approx(2 * 4096**3 / 500e-6 / 1e12, abs=0.01))

    def test_spread_and_heat_are_noise_and_the_text_says_so(self):
        spread = summarise(Times((100.0, 110.0, 120.0, 130.0), (100.0,) * 4), copy("fp32"), GIB)
        assert "the times spread by" in spread.noisy
        assert "Too noisy" in str(spread)
        hot = summarise(Times((500.0,) * 4, (500.0,) * 4, (Clocks(900, ("heat",)),)), copy("fp32"), GIB)
        assert hot.noisy == "the GPU slowed down (heat)"

    def test_text(self):
        m = summarise(Times((500.0,) * 4, (490.0,) * 4), copy("fp32"), GIB)
        assert (
            str(m)
            == repr(m)
            == ("16384×16384 fp32, cool: 500.0 µs (500.0 to 500.0), 4.29 TB/s, 0.980 of torch copy_'s speed")
        )


class TestRoofline:
    @pytest.mark.parametrize(("us", "refused"), [(300.0, True), (440.0, False), (505.0, False)])
    def test_a_time_below_it_is_refused(self, us, refused):
        m = summarise(Times((us,) * 4, (500.0,) * 4), copy("fp32"), GIB)
        assert bool(impossible(m, copy("fp32"), HARDWARE["NVIDIA H200"])) == refused
        assert impossible(m, copy("fp32"), None) is None

    def test_a_gemm_of_fp8_has_the_roof_of_fp8(self):
        h200, shape = HARDWARE["NVIDIA H200"], (8192,) * 3
        assert floor_us(gemm_fp8(), shape, h200) == pytest.approx(2 * 8192**3 / 1979e12 * 1e6)
        assert summarise(Times((900.0,) * 4, (900.0,) * 4), gemm_fp8(), shape).dtype == "e4m3"


class TestAsJson:
    def test_it_is_read_back_the_same(self):
        measured = copied(0.95, throttled=("heat",))
        assert Measurement.from_json(measured.as_json()) == measured

    def test_what_is_not_known_is_left_out(self):
        assert {"gbps", "tflops"} & copied(0.95).as_json().keys() == {"gbps"}

    def test_a_file_that_lacks_a_field_is_refused(self):
        cut = {key: value for key, value in copied(0.95).as_json().items() if key != "ratio"}
        with pytest.raises(TypeError, match="ratio"):
            Measurement.from_json(cut)


@pytest.mark.parametrize(
    ("tflops", "gbps", "text"),
    [(769.4, None, "769 TFLOP/s"), (1234.0, None, "1,234 TFLOP/s"), (None, 4294.9, "4.29 TB/s")],
)
def test_a_rate_is_written_in_one_way(tflops, gbps, text):
    assert rate(tflops, gbps) == text


COPY = copy("fp32")


def replayed(calls, sets, rounds, ready, watched):
    """Stands in for tune.in_a_row: each call on each set, before and after `ready`; the kernel takes 2 µs of 3."""
    for warm in (True, False):
        with watched():
            for call in calls:
                for each in sets:
                    call(*each)
        if warm:
            ready()
    return [[us] * rounds for us in (2.0, 3.0)]


@pytest.fixture
def noted():
    """What the clocks and the host were asked for, and what a test adds."""
    return []


@pytest.fixture
def small_cache(on_cpu, noted, monkeypatch):
    """A GPU whose L2 is small, so that few sets of tensors are rotated; its calls are torch's."""
    monkeypatch.setattr(device, "gpu", lambda: replace(H200, l2=2**15))
    monkeypatch.setattr(timing, "paired", led_in)
    monkeypatch.setattr(tune, "in_a_row", replayed)
    monkeypatch.setattr(timing, "clocks", lambda: noted.append("clocks") or Clocks(1980, ()))
    sm = SimpleNamespace(**{name: partial(noted.append, name) for name in ("start", "stop")})
    sm.mhz = lambda: noted.append("mhz") or 1755.4
    monkeypatch.setattr(timing, "sm_clock", lambda: sm)
    monkeypatch.setattr(torch.cuda, "synchronize", partial(noted.append, "wait"))
    monkeypatch.setattr("tutorlib.problems.work.context_broken", lambda: False)


@pytest.mark.usefixtures("small_cache")
def test_in_a_row_the_sms_count_while_a_round_runs(noted):
    kernel = OnTorch(lambda src, dst: (noted.append("call"), dst.copy_(src)))
    measured = measure_once(COPY, kernel, (64, 96), in_a_row=True)
    assert (measured.clock_mhz, measured.counted_mhz) == (1980, 1755)
    assert [name for name, _ in groupby(noted)] == ["start", "call", "stop", "clocks", "wait", "mhz"] * 2


@pytest.mark.usefixtures("small_cache")
@pytest.mark.parametrize("in_a_row", [False, True])
class TestEveryTimedCall:
    def test_a_right_kernel_has_a_measurement(self, in_a_row):
        measured = measure_once(COPY, OnTorch(lambda src, dst: dst.copy_(src)), (64, 96), 4, in_a_row)
        assert (measured.ratio, measured.shape, measured.dtype) == (1.5 if in_a_row else 1, (64, 96), "fp32")
        assert (measured.regime, measured.n) == ("in a row" if in_a_row else "cool", 4)
        assert measured.baseline == "torch copy_"

    @pytest.mark.parametrize(
        ("kernel", "says"),
        [
            (lambda src, dst: dst[:-1].copy_(src[:-1]), "dst[63, 0] is still NaN"),
            (lambda src, dst: (src.zero_(), dst.zero_()), "the kernel changed an input"),
        ],
    )
    def test_what_it_leaves_is_looked_at(self, kernel, says, in_a_row):
        with pytest.raises(WrongWhenTimed, match=re.escape(says)):
            measure_once(COPY, OnTorch(kernel), (64, 96), in_a_row=in_a_row)

    def test_what_the_lead_in_wrote_is_no_result_of_a_timed_call(self, in_a_row):
        calls = Counter()

        def every_other_time(src, dst):
            calls[dst.data_ptr()] += 1
            if calls[dst.data_ptr()] % 2:
                dst.copy_(src)

        with pytest.raises(WrongWhenTimed, match="still NaN"):
            measure_once(COPY, OnTorch(every_other_time), (64, 96), in_a_row=in_a_row)

    def test_what_torch_raises_is_a_fault(self, in_a_row):
        def refused(src, dst):
            raise RuntimeError("too many resources requested for launch")

        with pytest.raises(KernelFault, match="a block asks for more registers"):
            measure_once(COPY, OnTorch(refused), (64, 96), in_a_row=in_a_row)

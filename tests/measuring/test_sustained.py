"""Sustained timing without a GPU: who runs when, whose time it is, and when it would be the host's."""

import pytest
import torch

from tutorlib.machine.clocks import Clocks
from tutorlib.machine.power import Reading
from tutorlib.measuring import bench, sustained
from tutorlib.measuring.bench import Pace
from tutorlib.measuring.sustained import HostBound, back_to_back

PAIR_S = 3e-3


class FakeGpu:
    """Stands in for torch.cuda and the host's clock: a call takes the host and the GPU what it says, side by side."""

    def __init__(self):
        self.host = self.gpu = 0.0  # seconds
        self.log = []

    def call(self, name, us, host_us=1.0):
        def run():
            self.log.append(name)
            self.host += host_us * 1e-6
            self.gpu = max(self.gpu, self.host) + us * 1e-6

        return run

    def event(self, enable_timing):
        fake = self

        class Event:
            def record(self):
                self.at = fake.gpu

            def query(self):
                return self.at <= fake.host

            def synchronize(self):
                fake.host = max(fake.host, self.at)

            def elapsed_time(self, other):
                return (other.at - self.at) * 1e3

        return Event()


@pytest.fixture
def fake(monkeypatch):
    gpu = FakeGpu()

    class Meter:
        """Reads 700 W at 1500 MHz."""

        def __enter__(self):
            self.readings = [Reading(n, Clocks(1500, (), True), 700.0 * n) for n in range(4)]
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(torch.cuda, "Event", gpu.event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: setattr(gpu, "host", max(gpu.host, gpu.gpu)))
    monkeypatch.setattr(sustained.time, "perf_counter", lambda: gpu.host)
    monkeypatch.setattr(bench, "warm_up", lambda kernels, baselines: Pace(1e-4, PAIR_S))
    monkeypatch.setattr(sustained, "Meter", Meter)
    return gpu


def measured(fake, kernel_us=1000, baseline_us=2000, sets=2):
    kernels = [fake.call(f"A{n}", kernel_us) for n in range(sets)]
    baselines = [fake.call(f"B{n}", baseline_us) for n in range(sets)]
    others = [fake.call(name, 0) for name in ("refresh", "spoil", "verify")]
    return sustained.sustained(kernels, baselines, *others)


class TestSustained:
    def test_each_has_its_own_time_in_turn_and_alone(self, fake):
        times, kernel, baseline = measured(fake)
        assert times.kernel == pytest.approx([1000] * len(times.kernel), abs=0.01)
        assert times.baseline == pytest.approx([2000] * len(times.kernel), abs=0.01)
        assert (kernel.us, baseline.us) == (pytest.approx(1000, abs=0.01), pytest.approx(2000, abs=0.01))

    def test_each_alone_has_its_clock_power_and_energy(self, fake):
        _, kernel, baseline = measured(fake)
        assert (kernel.clock_mhz, kernel.watts, kernel.power_limited) == (1500, 700, True)
        assert (kernel.joules, baseline.joules) == (pytest.approx(0.7, abs=1e-4), pytest.approx(1.4, abs=1e-4))

    def test_inputs_are_drawn_once_and_outputs_looked_at_once_at_the_end(self, fake):
        measured(fake)
        assert [fake.log.count(name) for name in ("refresh", "spoil", "verify")] == [1, 1, 1]
        assert (fake.log[0], fake.log[-1]) == ("refresh", "verify")

    def test_in_turn_the_two_alternate_on_sets_far_apart_and_every_spoilt_output_is_written_again(self, fake):
        times, *_ = measured(fake, sets=3)
        spoilt = fake.log.index("spoil")
        assert fake.log[spoilt + 1 : spoilt + 9] == ["A0", "B1", "A0", "B1", "A1", "B2", "A2", "B0"]
        assert len(times.kernel) >= 3

    def test_alone_nothing_runs_between_its_calls_and_sets_rotate(self, fake):
        measured(fake)
        alone = "".join(name[0] for name in fake.log[fake.log.index("spoil") :] if name[0] in "AB").split("BA")[-1]
        assert alone.lstrip("A").strip("B") == ""  # in turn, then only A, then only B
        assert alone.count("A") >= (sustained.SETTLE_S + sustained.ALONE_S) / 1e-3
        assert fake.log[-4:-1] in (["B0", "B1", "B0"], ["B1", "B0", "B1"])

    def test_clocks_settle_before_anything_counts(self, fake):
        measured(fake)
        assert fake.log.index("spoil") - 1 >= sustained.SETTLE_S / (PAIR_S / 2) * 0.9


class TestTheHost:
    def test_a_launch_slower_than_its_kernel_is_refused(self, fake):
        endless = iter(lambda: fake.call("A", us=20, host_us=41), None)
        with pytest.raises(HostBound, match="the host takes longer to launch this kernel"):
            back_to_back(endless, seconds=0.5, chunk=500)

    def test_one_that_is_faster_is_not_and_no_more_than_three_chunks_wait(self, fake):
        behind = []

        def call():
            fake.call("A", us=20, host_us=5)()
            behind.append(fake.gpu - fake.host)

        assert back_to_back(iter(lambda: call, None), seconds=0.5, chunk=500) == pytest.approx(20, rel=0.01)
        assert max(behind) <= 3 * 500 * 20e-6

"""Measurements that are taken again or refused; every record of figures/data beside the others of the same work."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.stand_ins import MACHINE, copied, multiplied
from tutorlib.machine import device
from tutorlib.measuring import results, trusted
from tutorlib.measuring.results import Point, Result, Results, SweepResults, known_sweeps, recorded_on
from tutorlib.measuring.sm_clock import SMS, SOURCE, SmClock
from tutorlib.measuring.timing import Measurement, measure_once
from tutorlib.measuring.trusted import ATTEMPTS, REST_S, beside_records, measure
from tutorlib.paths import DATA, SOLUTIONS, SWEEPS
from tutorlib.problems.catalogue import softmax
from tutorlib.simulate.ptx.languages.cuda import simulate_cuda

CUBE = (8192,) * 3
# A record of exercise 12.1, taken while the H200's power was capped to a third; the driver reported its usual clock.
CAPPED = Measurement(
    CUBE, "bf16", 4821.696, 4812.256, 4828.664, "cuBLAS", 3909.328, 0.8103, 0.0064, 40, 1980, tflops=228.03
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Records in a folder of their own, on an H200."""
    monkeypatch.setattr(results, "DATA", tmp_path)
    monkeypatch.setattr(results, "SWEEPS", tmp_path / "sweeps")
    monkeypatch.setattr(device, "this_machine", lambda: MACHINE)


@pytest.fixture
def taken(folder, monkeypatch):
    """Makes measuring give these measurements, one after the other; a list of them, and of the rests between."""

    def give(*measurements):
        waiting, log = list(measurements), []

        def measure_once(problem, launcher, shape, pairs, in_a_row):
            log.append(waiting.pop(0))
            return log[-1]

        monkeypatch.setattr(trusted, "measure_once", measure_once)
        monkeypatch.setattr(trusted.time, "sleep", lambda seconds: log.append(seconds) if seconds else None)
        return log

    return give


def record(*measurements, machine=MACHINE):
    points = tuple(Point(str(number), each) for number, each in enumerate(measurements))
    SweepResults(machine, "2026-11-20", True, points).write("gemm_any")


def test_a_problem_without_a_baseline_is_not_timed():
    """What it would be timed beside is a call that does nothing: a ratio of 0.007 was recorded of a softmax."""
    with pytest.raises(ValueError, match="softmax has no baseline"):
        measure_once(replace(softmax("fp32"), baseline_name=""), None, (8, 8))


class TestMeasure:
    def test_in_a_row_if_asked(self, monkeypatch):
        monkeypatch.setattr(trusted, "measure_once", lambda *all: copied(0.95, regime="in a row" if all[-1] else ""))
        assert measure(None, None, (64, 96), in_a_row=True).regime == "in a row"

    def test_a_noisy_measurement_is_taken_again(self, taken):
        noisy, good = copied(0.5, spread=0.3), copied(0.95)
        found = taken(noisy, good)
        assert measure(None, None, (64, 96)) == good
        assert found == [noisy, good]

    def test_one_that_stays_noisy_is_given_as_it_is(self, taken):
        found = taken(*(copied(0.5, spread=0.3) for _ in range(ATTEMPTS)))
        assert measure(None, None, (64, 96)).noisy
        assert len(found) == ATTEMPTS

    def test_one_whose_baseline_is_off_is_taken_again_after_a_rest(self, taken):
        record(usual := multiplied(CUBE, 480))
        found = taken(CAPPED, usual)
        assert measure(None, None, CUBE).off is None
        assert found == [CAPPED, REST_S, usual]

    def test_one_whose_baseline_stays_off_says_so(self, taken):
        record(multiplied(CUBE, 480))
        found = taken(*[CAPPED] * ATTEMPTS)
        refused = measure(None, None, CUBE)
        assert found.count(CAPPED) == ATTEMPTS
        assert refused.noisy == refused.off == "cuBLAS took 3,909.3 µs, elsewhere 1,374.4 µs for the same work"


@pytest.mark.usefixtures("folder")
class TestRecords:
    """What is the same work, on the same machine."""

    @pytest.mark.parametrize(
        "changed",
        [
            {"regime": "sustained"},
            {"dtype": "fp16"},
            {"baseline": "cuBLASLt"},
            {"shape": (4096, 8192, 16384)},
            {"tflops": CAPPED.tflops / 2},  # as of a causal product, which has half the FLOP
        ],
    )
    def test_other_work_is_not_compared(self, changed):
        record(multiplied(CUBE, 480))
        assert beside_records(CAPPED).off
        assert beside_records(replace(CAPPED, **changed)).usual_us is None

    @pytest.mark.parametrize(
        "changed", [{"gpu": "NVIDIA H100"}, {"driver": "590.0"}, {"packages": {"torch": "2.14.0"}}]
    )
    def test_another_gpu_driver_or_torch_is_not_compared(self, monkeypatch, changed):
        record(multiplied(CUBE, 480))
        monkeypatch.setattr(device, "this_machine", lambda: MACHINE | changed)
        assert beside_records(CAPPED).usual_us is None

    def test_the_median_of_sweeps_and_exercises(self):
        record(multiplied(CUBE, 480, 700), multiplied(CUBE, 480, 790))
        graded = Result("passed", 3, 3, (multiplied(CUBE, 480, 800),))
        Results(MACHINE, "2026-11-20", {}, {"12.1": graded}).write()
        assert beside_records(CAPPED).usual_us == multiplied(CUBE, 480, 790).baseline_us


def machines():
    """Of every file of figures/data, each once."""
    files = [json.loads(path.read_text()) for path in (*DATA.glob("*.json"), *SWEEPS.glob("*.json"))]
    return {str(data["machine"]): data["machine"] for data in files}.values()


def off(records):
    """The records whose baselines contradict the others."""
    return [
        record
        for number, record in enumerate(records)
        if beside_records(record, [*records[:number], *records[number + 1 :]]).off
    ]


@pytest.mark.parametrize("machine", machines(), ids=lambda machine: machine["gpu"])
def test_every_record_has_a_baseline_and_agrees_with_the_others_of_the_same_work(machine):
    assert recorded_on(machine)
    assert [record.shape for record in recorded_on(machine) if not record.baseline] == []
    assert off(recorded_on(machine)) == []


def test_a_record_of_a_capped_gpu_is_found():
    h200 = next(machine for machine in machines() if machine["gpu"] == "NVIDIA H200")
    assert off([*recorded_on(h200), CAPPED]) == [CAPPED]


def test_no_column_of_a_table_in_a_page_is_mostly_noise():
    """A sentence about such a column would rest on measurements that the table marks as unreliable."""
    shown = set(
        re.findall(r'show_(?:sweep|speeds|levers|costs)\("(\w+)"', "".join(map(Path.read_text, SOLUTIONS.glob("*.py"))))
    )
    noise = {
        (name, shape)
        for name in shown
        for swept in known_sweeps(name)
        for shape in swept.shapes
        if 2 * sum(bool(point.measurement.noisy) for point in swept.at(shape)) > len(swept.at(shape))
    }
    assert shown
    assert not noise


class TestSmClock:
    def test_each_sm_notes_its_cycles_and_the_time(self):
        stamps = np.full((5, 2), 2**40, np.uint64)
        report = simulate_cuda(SOURCE, (4,), (1,), {"stamps": stamps})
        assert report.findings == ()
        assert (stamps[:4] < 2**40).all()

    def test_cycles_per_microsecond_of_the_sms_that_noted_both(self, monkeypatch):
        monkeypatch.setattr(SmClock, "__init__", lambda self: None)
        clock = SmClock()
        clock.stamps = torch.zeros(2, SMS, 2, dtype=torch.int64)
        clock.stamps[0, :3] = torch.tensor([[7, 1000], [2**40, 1000], [9, 1000]])
        clock.stamps[1, :2] = torch.tensor([[7 + 1_300_000, 1_001_000], [2**40 + 1_300_000, 1_001_000]])
        assert clock.mhz() == pytest.approx(1300)

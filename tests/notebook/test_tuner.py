"""The tuner's table: each configuration, and why it was not timed."""

from dataclasses import replace

import pytest

from tests.stand_ins import MACHINE, copied
from tutorlib.machine import device
from tutorlib.measuring.results import NoData, Point, SweepResults
from tutorlib.models.hopper_gemm import gemm_time
from tutorlib.models.work import Sm
from tutorlib.notebook import measured as measured_module
from tutorlib.notebook import tuner

SHAPE = (4096, 4096, 4096)
SPACE = [{"tile": (m, n, 64)} for m, n in ((64, 64), (128, 256), (256, 256), (128, 128), (256, 128))]


def estimate(config, m, n, k):
    return gemm_time(config, m, n, k, Sm())


@pytest.mark.usefixtures("no_gpu")
def test_every_configuration_has_its_reason():
    table = tuner.tune_hopper(SPACE, SHAPE, estimate)
    why = {row.tile[:2]: row.why for row in table.itertuples()}
    assert len(table) == len(SPACE)
    assert list(table.estimate) == sorted(table.estimate)
    assert why[128, 256] == why[256, 128] == "not timed: no GPU here"
    assert why[64, 64].startswith("the model expects")
    assert why[256, 256].startswith("registers: 256 for results")


def test_the_promising_ones_are_timed(monkeypatch):
    timed = []

    def measure(problem, launcher, shape):
        timed.append(launcher.config.tile)
        return copied(1.01, median_us=170.0)

    monkeypatch.setattr(device, "why_not", lambda feature: None)
    monkeypatch.setattr(tuner, "measure", measure)
    table = tuner.tune_hopper(SPACE, SHAPE, estimate, most=1)
    assert timed == [(128, 256, 64)]
    assert table.ratio[0] == "1.010 ±0.5%"
    assert table.why[0] == ""
    assert table.why[1] == "1 other should be faster"


def test_a_model_beside_a_sweep(monkeypatch, capsys):
    config = {"cluster": [2, 1], "polls": True}
    measured = replace(copied(1.0, median_us=100.0), shape=SHAPE)
    points = (Point("plain", measured, {"config": {}, "levers": []}),)
    points += (Point("with clusters", measured, {"config": config, "levers": ["multicast"]}),)
    swept = SweepResults(MACHINE, "2026-11-21", True, points)
    monkeypatch.setattr(measured_module, "all_sweep_results", lambda name: [swept])
    table = tuner.show_model("hopper_levers", lambda config, m, n, k: 103.0 if config.cluster == (2, 1) else 0.0)
    assert list(table.index) == ["plain", "+ multicast"]
    assert table.iloc[1, 0] == "100.0 µs, ×1.03"

    def nothing(name):
        raise NoData("not measured yet")

    monkeypatch.setattr(measured_module, "all_sweep_results", nothing)
    assert tuner.show_model("hopper_levers", estimate) is None
    assert capsys.readouterr().out == "hopper_levers: not measured yet\n"


CYCLES = {"clock_mhz": 1000, "first SEE_FULL": 3000, "per K tile": 1100, "epilogue": 2000, "block": 300_000}


def test_the_lines_add_up():
    large = replace(copied(1.0, median_us=290.0), shape=(4096, 4096, 4096))
    small = replace(copied(1.0, median_us=50.0), shape=(2048, 2048, 2048), clock_mhz=2000)
    traced = Point("cooperative", large, {"cycles": CYCLES, "stamped_us": 304.0})
    head, inside, driver, *lines = tuner.budget(traced, Point("persistent", small, {}))
    assert head.split()[-2:] == ["4096³", "2048³"]
    assert (inside.split()[-1], driver.split()[-1]) == ("1,000", "2,000")
    columns = [[float(line.split()[at].replace(",", "")) for line in lines] for at in (-2, -1)]
    assert columns[0] == [262.1, 19.5, 8.0, 3.0, 4.0, 7.4, 304.0]
    assert columns[1][:2] == [16.4, 1.2]
    for *parts, measured in columns:
        assert sum(parts) == pytest.approx(measured, abs=0.3)

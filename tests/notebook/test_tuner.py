"""The tuner's table: each configuration, and why it was not timed."""

import pytest

from tests.stand_ins import copied
from tutorlib.machine import device
from tutorlib.models.hopper_gemm import Sm, gemm_time
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

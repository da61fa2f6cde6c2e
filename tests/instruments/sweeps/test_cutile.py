"""The sweeps of notebook 07: how their kernels are launched."""

import pytest

from tests.stand_ins import H200
from tutorlib.instruments.sweeps import make_sweep
from tutorlib.machine import device
from tutorlib.measuring.launchers import CutileLauncher


@pytest.fixture
def h200(monkeypatch):
    monkeypatch.setattr(device, "gpu", lambda: H200)


def test_the_first_rung_has_a_block_for_each_tile():
    launcher = make_sweep("tile_rungs").candidates[0].launcher
    assert isinstance(launcher, CutileLauncher)
    assert launcher.grid((256, 384, 128)) == (2, 3, 1)
    assert launcher.constants((256, 384, 128)) == (128, 128, 64)


@pytest.mark.usefixtures("h200")
def test_a_persistent_rung_has_as_many_blocks_as_run_at_once():
    launcher = make_sweep("tile_rungs").candidates[-1].launcher
    assert launcher.grid((8192, 8192, 8192)) == (132, 1, 1)
    assert launcher.grid((128, 256, 128)) == (2, 1, 1)


@pytest.mark.usefixtures("h200")
def test_the_ways_to_do_320_rows_fill_every_multiprocessor():
    blocks = {candidate.launcher.grid((320, 32576, 7168))[0] for candidate in make_sweep("tile_fp8").candidates}
    assert blocks == {66, 132, 264}

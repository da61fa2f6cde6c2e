"""Targets: what the solutions reached, by architecture."""

import pytest

from tutorlib.measuring import targets

MACHINE = {"gpu": "NVIDIA H200", "driver": "580"}


@pytest.fixture
def nothing_calibrated(tmp_path, monkeypatch):
    monkeypatch.setattr(targets, "FILE", tmp_path / "targets.json")
    targets.load.cache_clear()
    yield
    targets.load.cache_clear()


@pytest.mark.usefixtures("nothing_calibrated")
def test_targets_are_kept_by_architecture():
    assert targets.target("sm_90", "05.3") is None
    targets.save("sm_90", MACHINE, "2026-11-20", {"05.3": 0.99, "05.4": 0.5})
    targets.save("sm_80", MACHINE, "2026-11-20", {"05.3": 0.9})
    targets.save("sm_90", MACHINE, "2026-11-21", {"05.4": 0.6})
    assert [targets.target("sm_90", "05.3"), targets.target("sm_90", "05.4")] == [0.99, 0.6]
    assert targets.target("sm_80", "05.3") == 0.9

"""Which turn on the GPU a cell gets while a submission's notebooks are graded side by side."""

import fcntl

import pytest

from tests.machine.test_machine import is_free
from tutorlib.grading.judge_process import PageCell, turn_of
from tutorlib.machine import device


@pytest.mark.parametrize(
    ("role", "others", "timed"),
    [
        ({}, True, False),  # the course's own cells
        ({"role": "added"}, True, False),
        ({"role": "answer", "exercise": "07.7"}, True, False),
        ({"role": "check", "exercise": "05.3"}, True, True),  # the judge takes its turns itself
    ],
)
def test_a_cells_turn(tmp_path, monkeypatch, role, others, timed):
    monkeypatch.setenv(device.TURNS, str(tmp_path))
    (tmp_path / "gpu").touch()
    with turn_of(PageCell("a-cell", "", **role)):
        assert is_free(tmp_path / "gpu", fcntl.LOCK_SH) == others
        assert is_free(tmp_path / "gpu", fcntl.LOCK_EX) == timed

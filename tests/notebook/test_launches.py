"""Tables of what compiling and launching cost."""

import pytest

from tutorlib.compiling.spec import TensorSpec
from tutorlib.instruments.launches import DONE, LATER, READY, TORCH
from tutorlib.kernels.copies import CopyConfig, make_copy
from tutorlib.notebook import launches as page

FOUND = {
    "machine": {"gpu": "NVIDIA X"},
    "date": "2026-01-01",
    LATER: {"kept": 4.0, "graph": 0.12, TORCH: 5.0},
    DONE: {"kept": 6.0, "graph": 1.25, TORCH: 7.0},
    READY: {"compiled and saved": 300_000.0, "loaded": 70_000.0},
}


@pytest.fixture
def recorded(monkeypatch):
    monkeypatch.setattr(page, "records", lambda name: [FOUND])


def test_later_calls_beside_torch(recorded):
    table = page.show_later_calls()["NVIDIA X, 2026-01-01"]
    assert table.loc["graph"].to_dict() == {"host": "0.12 µs", f"of {TORCH}": "×0.02", "until done": "1.2 µs"}


def test_a_new_process(recorded, capsys):
    page.show_new_processes()
    assert capsys.readouterr().out == "NVIDIA X, 2026-01-01: compiled and saved 300 ms, loaded 70 ms\n"


def test_without_records_a_line_says_what_to_run(monkeypatch, capsys):
    monkeypatch.setattr(page, "records", lambda name: [])
    assert page.show_later_calls() is None
    page.show_new_processes()
    assert capsys.readouterr().out.count("`tutor sweep launches`") == 2


def test_stages_are_printed(capsys):
    fake = TensorSpec((256, 256), "bf16").fake
    page.show_stages("copy", make_copy(CopyConfig()), fake(), fake(), arch="sm_80")
    line = capsys.readouterr().out
    assert line.startswith("copy: tracing ")
    assert "machine code " in line
    assert "host code" not in line

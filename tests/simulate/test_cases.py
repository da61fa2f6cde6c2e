"""Hazards of public bug reports in kernels of a few lines, through `tutor simulate`: each beside its right form."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tutorlib.cli import app

CASES = Path(__file__).parent / "cases"
X, OUT = "--arg 32:fp32", "--arg 32:fp32:out"
PAIR, PAIR_OUT = "--arg 64:fp32", "--arg 64:fp32:out"
GLOBAL = f"--arch 90 --grid 1 --block 32 {X} {OUT} {OUT}"
CLUSTER = f"--arch 90 --grid 2 --block 32 {PAIR} {PAIR_OUT}"
IN_CLUSTER = f"--arch 90a {PAIR} {PAIR_OUT} {PAIR_OUT}"


@pytest.mark.parametrize(
    ("target", "options", "kinds", "line"),
    [
        ("kernels.cu::through_global<true>", GLOBAL, set(), ""),
        ("kernels.cu::through_global<false>", GLOBAL, {"race"}, "y[threadIdx.x] = tmp"),
        ("kernels.cu::through_neighbor<true>", CLUSTER, set(), ""),
        ("kernels.cu::through_neighbor<false>", CLUSTER, {"race"}, "y[at] ="),
        ("hosts.py::InCluster(True)", IN_CLUSTER, set(), ""),
        ("hosts.py::InCluster(False)", IN_CLUSTER, {"overlap"}, "tmp["),
        ("hosts.py::Dependent(True)", f"--arch 90a {X} {OUT} {OUT}", set(), ""),
        ("hosts.py::Dependent(False)", f"--arch 90a {X} {OUT} {OUT}", {"race"}, "y[t] = tmp[t]"),
        ("hosts.py::Named(True)", f"{PAIR} {PAIR_OUT}", set(), ""),
        ("hosts.py::Named(False)", f"{PAIR} {PAIR_OUT}", {"deadlock"}, "cute.arch.barrier"),
        ("hosts.py::Arrival(True)", f"--arch 90a {X} {OUT}", set(), ""),
        ("hosts.py::Arrival(False)", f"--arch 90a {X} {OUT}", {"race"}, "y[t - THREADS] = tile"),
        ("hosts.py::Arrival(True, waits=False)", f"--arch 90a {X} {OUT}", {"race"}, "y[t - THREADS] = tile"),
        ("tiles.py::waits_for(0)", f"--grid 1 --arg 1:int32:zeros {OUT}", set(), ""),
        ("tiles.py::waits_for(9)", f"--grid 1 --arg 1:int32:zeros {OUT}", {"endless"}, "while ct.atomic_cas"),
    ],
)
def test_a_hazard_is_found_by_its_line_and_its_right_form_is_clean(monkeypatch, target, options, kinds, line):
    monkeypatch.chdir(CASES)
    done = CliRunner().invoke(app, ["simulate", target, *options.split(), "--format", "json"])
    assert done.stderr == ""
    said = json.loads(done.stdout)
    assert {finding["kind"] for finding in said["findings"]} == kinds
    assert done.exit_code == bool(said["findings"] or said["wrong"])
    assert kinds or not said["wrong"]
    if kinds:
        assert line in said["findings"][0]["text"]

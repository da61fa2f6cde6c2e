"""Launches packed for a GPU, and what is made of its results: the GPU itself is played."""

import base64
import json
from dataclasses import asdict

import numpy as np
import pytest

from tests.outside import gpu_runs
from tests.outside.beside_gpu import COUNTERS, beside
from tests.outside.faults import mutants_of
from tests.outside.packed import digest, distance
from tests.outside.packing import with_counts
from tests.outside.test_coverage import kept_launch
from tutorlib.simulate.kept import KeptLaunch

CASE = "Elsewhere: kernel"
REPORT = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at k+0x3a0 in /home/me/kernel.cu:21
=========     and Read access at k+0x410 in /home/me/kernel.cu:25 [16 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    return with_counts(kept_launch(tmp_path_factory.mktemp("kept"))[0], CASE)


def test_a_packed_launch_is_read_as_it_was_written(packed, tmp_path):
    packed.write(tmp_path / "one.launch")
    again = KeptLaunch.read(tmp_path / "one.launch")
    assert json.dumps(asdict(again)) == json.dumps(asdict(packed))
    (memory,) = packed.memory
    assert (memory.name, memory.width, memory.floats) == ("out", 4, False)
    assert not memory.piece.bytes.any()
    assert np.frombuffer(after(memory), np.int32).tolist() == [n ^ 32 for n in range(64)]
    assert (packed.counts["shared ld"], packed.counts["global st"], packed.counts["issued st.global"]) == (2, 8, 2)


def after(memory):
    return base64.b64decode(memory.after)


def test_how_far_a_gpu_is_from_the_simulator(packed):
    (memory,) = packed.memory
    assert distance(packed, [after(memory)])["differ"] == 0
    other = np.frombuffer(after(memory), np.int32).copy()
    other[3] += 5
    found = distance(packed, [other.tobytes()])
    assert (found["elements"], found["differ"], found["steps"]) == (64, 1, 5)
    assert digest([other.tobytes()]) != digest([after(memory)])


def test_all_that_a_gpu_is_asked(packed, tmp_path, monkeypatch):
    """Its mutants are those of planted_faults.json; one hangs, one tool reports the others."""
    folder = tmp_path / "packed"
    folder.mkdir()
    packed.write(folder / "one.launch")
    mutants = list(mutants_of(packed.ptx, "k", 3))

    def run_within(command, seconds):
        if "--tool" in command:
            return (REPORT if "racecheck" in command and "one_" in command[-1] else CLEAN), False
        changed = "one_" in command[-1]
        found = {"elements": 64, "differ": changed, "steps": 0, "digests": ["0", "1"] if changed else ["0"]}
        return json.dumps(found), "_0" in command[-1]

    monkeypatch.setattr(gpu_runs, "FAULTS_DATA", tmp_path / "planted.json")
    gpu_runs.FAULTS_DATA.write_text(json.dumps({CASE: []}))
    monkeypatch.setattr(gpu_runs, "run_within", run_within)
    monkeypatch.setattr(gpu_runs, "find_program", lambda: "echo")
    monkeypatch.setattr(gpu_runs, "this_machine", lambda: {"gpu": "NVIDIA H100"})
    monkeypatch.setattr(gpu_runs, "sweep_file", lambda gpu, name: tmp_path / f"{name}.json")
    monkeypatch.setattr(gpu_runs, "countable", lambda metrics: [COUNTERS["wavefronts of ld.shared"][1]])
    monkeypatch.setattr(gpu_runs.counters, "count", lambda command, metrics: [dict.fromkeys(metrics, 2.0)])
    gpu_runs.main(str(folder))
    data = json.loads((tmp_path / "outside.json").read_text())
    assert [row["statement"] for row in data["mutants"]] == [" ".join(found[0].split()) for _, found, _ in mutants]
    assert data["mutants"][0]["error"] == "hung"
    race = data["mutants"][1]["tools"]["racecheck"]
    assert (race["errors"], race["line"], race["first"].split()[-1]) == (1, True, "kernel.cu:21")
    (original,) = data["kernels"]
    assert (original["differ"], original["tools"]["memcheck"]["errors"]) == (0, 0)
    assert data["counted"][0]["simulated"] == packed.counts
    said = {"changed": True, "findings": ["race"]}
    faults = {CASE: [{name: row[name] for name in ("fault", "line", "statement")} | said for row in data["mutants"]]}
    text = "\n".join(beside(data, faults))
    assert "| a barrier removed | 1 | 1 | 1 | 0 | 0 | 1 | 0 | 1 | 0 | 0 |" in text
    assert "1 left the\nsame bits" in text
    assert "| wavefronts of ld.shared | 1 | 1 | 2 | 2 |" in text

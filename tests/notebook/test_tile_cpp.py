"""Tile C++ kernels beside each other on a page: a race, what Nsight Compute counts, launches for it to watch."""

from dataclasses import replace

import pytest
import torch

from tests.stand_ins import H200, copied
from tests.wrong.n08_tile_cpp import ADD, FIRST, PROMISING
from tutorlib.exercises import find
from tutorlib.kernels.cpp.grids import blocks_of
from tutorlib.kernels.cpp.vector_add import in_tiles
from tutorlib.machine import device
from tutorlib.notebook import tile_cpp
from tutorlib.notebook.tile_cpp import launch_each, profile, race
from tutorlib.problems.catalogue import vector_add

RACE = {"tiles of 64": (in_tiles(64), blocks_of(64))}


@pytest.fixture
def h200(monkeypatch):
    monkeypatch.setattr(device, "gpu", lambda: H200)


@pytest.mark.usefixtures("h200")
def test_a_race_says_how_fast(monkeypatch, capsys):
    monkeypatch.setattr(tile_cpp, "measure", lambda problem, launcher, shape: copied(0.9))
    race(vector_add("fp32"), (2**20,), RACE)
    title, _, speed = capsys.readouterr().out.rstrip().partition("128 threads")
    assert title.rstrip() == "tiles of 64"
    assert speed.endswith("500.0 µs, 0.90 of torch copy_")


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_it_says_so(capsys):
    race(vector_add("fp32"), (2**20,), RACE)
    assert "their speed: not run: no GPU here" in capsys.readouterr().out
    profile({"": ("08.1", ADD)})
    assert capsys.readouterr().out == "not counted: no GPU here\n"


@pytest.mark.usefixtures("h200")
def test_what_nsight_compute_counts_is_a_table(monkeypatch, capsys):
    def count(command, metrics, kernel):
        assert command[1:4] == ["-m", "tutorlib.notebook.tile_cpp", "08.4"]
        return [dict(zip(metrics, (128, 3_665_000, 12.34, 30.1), strict=True))]

    monkeypatch.setattr(tile_cpp, "count", count)
    profile({"nothing promised": ("08.4", FIRST)})
    title, row = capsys.readouterr().out.splitlines()
    assert title.split() == ["threads", "µs", "%", "of", "peak", "stalled"]
    assert row.split() == ["nothing", "promised", "128.0", "3,665.0", "12.3", "30.1"]


def test_a_launch_for_a_profiler(cpp_on_torch, monkeypatch, tmp_path):
    launches = cpp_on_torch(lambda *args: None)
    monkeypatch.setattr(tile_cpp, "find", lambda id: replace(find(id), bench_shape=(256, 128, 64)))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    (tmp_path / "gemm.cu").write_text(PROMISING)
    launch_each(["08.4", str(tmp_path / "gemm.cu"), "08.5", str(tmp_path / "gemm.cu")])
    assert launches == [("sm_90", (2, 1), (256, 128, 64)), ("sm_90", (132,), (256, 128, 64))]

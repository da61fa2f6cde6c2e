"""Tile C++ on a page: kernels beside each other, a program that is left behind, launches for a profiler to watch."""

import subprocess
from dataclasses import replace

import pytest
import torch

from tests.pages.p08 import ADD, HOST, PROMISING
from tutorlib.checking.cuda_host.program import command
from tutorlib.compiling.nvcc import nvcc_command
from tutorlib.exercises import find
from tutorlib.kernels.cpp.gemm import PROMISES, WAYS
from tutorlib.kernels.cpp.program import in_tiles
from tutorlib.measuring.results import all_sweep_results
from tutorlib.notebook import tile_cpp
from tutorlib.notebook.tile_cpp import launch_each, race, write_program


def test_a_race_is_what_the_compiler_says_beside_what_was_measured():
    table = race({"tiles of 64": in_tiles(64)}, "cpp_vectors")
    assert table.columns[0] == ("compiled for sm_90", "registers")
    assert table.loc["tiles of 64", ("compiled for sm_90", "stack")] == "0"
    (h200,) = (swept for swept in all_sweep_results("cpp_vectors") if swept.gpu == "NVIDIA H200")
    measured = table.loc["tiles of 64"].droplevel(0)["µs"]
    assert measured == f"{h200.of_kernel('tiles of 64')[0].measurement.median_us:,.1f}"


@pytest.mark.parametrize(("sweep", "named"), [("cpp_promises", PROMISES), ("cpp_ways", WAYS)])
def test_each_row_of_a_page_was_measured(sweep, named):
    for swept in all_sweep_results(sweep):
        assert set(swept.names) == set(named)


def test_tile_cpp_reaches_cublas_at_one_size_on_an_h200():
    swept = next(swept for swept in all_sweep_results("cpp_ways") if swept.gpu == "NVIDIA H200")
    assert max(point.measurement.ratio for point in swept.points) >= 1


def test_the_program_is_built_by_the_line_that_is_printed(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    write_program("vector_add.cu", lambda: ADD, lambda: HOST)
    line = capsys.readouterr().out.splitlines()[1].split()
    assert line == command("vector_add.cu", "vector_add", "sm_90")
    subprocess.run([*nvcc_command(), *line[1:]], check=True, timeout=300)
    assert (tmp_path / "vector_add").exists()


def test_there_is_no_program_before_both_are_written(monkeypatch, tmp_path, capsys):
    def unwritten():
        raise NotImplementedError("Exercise 08.6")

    monkeypatch.chdir(tmp_path)
    write_program("vector_add.cu", lambda: ADD, unwritten)
    assert capsys.readouterr().out == "no vector_add.cu yet: Exercise 08.6 is not written\n"
    assert not list(tmp_path.iterdir())


def test_a_launch_for_a_profiler(cpp_on_torch, monkeypatch, tmp_path):
    launches = cpp_on_torch(lambda *args: None)
    monkeypatch.setattr(tile_cpp, "find", lambda id: replace(find(id), bench_shape=(256, 128, 64)))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    (tmp_path / "gemm.cu").write_text(PROMISING)
    launch_each(["08.4", str(tmp_path / "gemm.cu"), "08.5", str(tmp_path / "gemm.cu")])
    assert launches == [("sm_90", (2, 1), (256, 128, 64)), ("sm_90", (132,), (256, 128, 64))]

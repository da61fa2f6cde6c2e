"""Tile C++ on a page: kernels beside each other, a program that is left behind, launches for a profiler to watch."""

import subprocess

from tests.pages.p08 import ADD, HOST
from tutorlib.checking.cuda_host import command
from tutorlib.compiling.programs import nvcc_command
from tutorlib.kernels.cpp import in_tiles
from tutorlib.measuring.results import all_sweep_results
from tutorlib.notebook.tile_cpp import race, write_program


def test_a_race_is_what_the_compiler_says_beside_what_was_measured():
    table = race({"tiles of 64": in_tiles(64)}, "cpp_vectors")
    assert table.columns[0] == ("compiled for sm_90", "registers")
    assert table.loc["tiles of 64", ("compiled for sm_90", "stack")] == "0"
    (h200,) = (swept for swept in all_sweep_results("cpp_vectors") if swept.gpu == "NVIDIA H200")
    measured = table.loc["tiles of 64"].droplevel(0)["µs"]
    assert measured == f"{h200.of_kernel('tiles of 64')[0].measurement.median_us:,.1f}"


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

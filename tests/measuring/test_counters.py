"""Reading what ncu prints."""

import os
import stat

import pytest

from tutorlib.measuring.counters import NoCounters, count

PRINTED = """\
==PROF== Connected to process 17
"ID","Kernel Name","conflicts.sum","dram.sum"
"","","","byte"
"0","gemm_kernel","0","5,770,606,592"
"1","gemm_kernel","29,589,504","17"
"""


@pytest.fixture
def ncu(tmp_path, monkeypatch):
    """Puts an ncu on the path that prints a text, its arguments on stderr, and exits with a status."""

    def install(text, status=0):
        program = tmp_path / "ncu"
        program.write_text(f"#!/bin/sh\necho \"$@\" > {tmp_path}/arguments\ncat <<'END'\n{text}\nEND\nexit {status}\n")
        program.chmod(program.stat().st_mode | stat.S_IEXEC)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        return tmp_path / "arguments"

    return install


def test_a_row_for_each_launch(ncu):
    arguments = ncu(PRINTED)
    assert count(["python", "-m", "x"], ["conflicts.sum", "dram.sum"], "gemm") == [
        {"conflicts.sum": 0, "dram.sum": 5770606592},
        {"conflicts.sum": 29589504, "dram.sum": 17},
    ]
    said = arguments.read_text()
    assert "--metrics=conflicts.sum,dram.sum" in said
    assert said.endswith("--kernel-name=regex:gemm python -m x\n")


def test_only_what_is_marked_is_counted_where_that_is_asked_for(ncu):
    arguments = ncu(PRINTED)
    count(["x"], ["dram.sum"])
    assert "--profile-from-start" not in arguments.read_text()
    count(["x"], ["dram.sum"], marked=True)
    assert "--profile-from-start=off" in arguments.read_text()


def test_a_counter_that_the_gpu_lacks(ncu):
    ncu(PRINTED)
    with pytest.raises(NoCounters, match="does not count other"):
        count(["x"], ["conflicts.sum", "other"])


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", 1, "ERR_NVGPUCTRPERM"),
        ("==WARNING== No kernels were profiled.", 0, "No kernels were profiled"),
        ("==PROF== Connected", 0, "no kernel named 'gemm' was launched"),
    ],
)
def test_nothing_was_counted(ncu, text, status, says):
    ncu(text, status)
    with pytest.raises(NoCounters, match=says):
        count(["x"], ["conflicts.sum"], "gemm")


def test_without_ncu(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NoCounters, match="not on the path"):
        count(["x"], ["conflicts.sum"])

"""compute-sanitizer's verdicts: what is read from its output, how a run that hangs or is refused is told, the table."""

import json
import subprocess

import pytest

from tutorlib.compiling.errors import ToolMissing
from tutorlib.measuring import sanitizing
from tutorlib.notebook import hunt

MEMCHECK = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at sgemm+0x210 in kernel.cu:13
=========     by thread (12,7,0) in block (0,2,0)
=========
========= ERROR SUMMARY: 8 errors
"""
RACECHECK = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at rms_norm+0x3a0 in kernel.cu:21
=========     and Read access at rms_norm+0x410 in kernel.cu:25 [16 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
SILENT = "========= COMPUTE-SANITIZER\n42\n========= ERROR SUMMARY: 0 errors\n"


@pytest.mark.parametrize(
    ("output", "errors", "first"),
    [
        (MEMCHECK, 8, "Invalid __global__ read of size 4 bytes"),
        (RACECHECK, 1, "Error: Race reported between Write access at rms_norm+0x3a0 in kernel.cu:21"),
        (SILENT, 0, ""),
    ],
)
def test_a_verdict_is_read(output, errors, first):
    assert sanitizing.read_verdict(output) == {"ended": "finished", "errors": errors, "first": first}


def test_no_summary_is_no_verdict():
    assert sanitizing.read_verdict("Killed\n")["ended"] == "it printed no summary"


@pytest.fixture
def run(monkeypatch):
    """Makes every run of the tool end like this."""

    def end(returncode=0, stdout="", hangs=False):
        def fake(command, **options):
            assert command[:3] == ["compute-sanitizer", "--tool", "synccheck"]
            assert options["env"]["PYTORCH_NO_CUDA_MEMORY_CACHING"] == "1"
            if hangs:
                raise subprocess.TimeoutExpired(command, options["timeout"], output=stdout.encode())
            return subprocess.CompletedProcess(command, returncode, stdout, "")

        monkeypatch.setattr(subprocess, "run", fake)
        return sanitizing.sanitize("compute-sanitizer", "synccheck", "largest")

    return end


def test_how_a_run_ends(run):
    assert run(stdout=SILENT)["ended"] == "finished"
    assert run(returncode=sanitizing.REFUSED)["ended"] == "it does not compile"
    assert run(hangs=True, stdout=SILENT)["ended"].startswith("it hung")


def test_without_the_tool_it_says_where_it_comes_from(monkeypatch):
    monkeypatch.setattr(sanitizing.shutil, "which", lambda name, path: None)
    with pytest.raises(ToolMissing, match="CUDA toolkit"):
        sanitizing.find_program()


def test_an_unknown_bug_is_refused():
    with pytest.raises(SystemExit, match="no bug is called rms"):
        sanitizing.run_command(["rms"])


def test_the_table(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sanitizing, "SWEEPS", tmp_path)
    assert hunt.show_verdicts() is None
    assert "Not recorded yet" in capsys.readouterr().out
    heard = {"memcheck": sanitizing.read_verdict(MEMCHECK), "racecheck": sanitizing.read_verdict(SILENT)}
    hung = {"synccheck": {"ended": "it hung: stopped after 120 s", "errors": 0, "first": ""}}
    data = {"machine": {"gpu": "NVIDIA H200"}, "date": "2026-11-21", "verdicts": {"sgemm": heard | hung}}
    (tmp_path / "h200_sanitizer.json").write_text(json.dumps(data))
    table = hunt.show_verdicts()
    assert list(table.index) == ["sgemm"]
    assert list(table.loc["sgemm"]) == [
        "8: Invalid __global__ read of size 4 bytes", "nothing", "it hung: stopped after 120 s", "not recorded",
    ]  # fmt: skip

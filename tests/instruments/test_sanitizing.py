"""compute-sanitizer's verdicts: what is read from its output, how a run that hangs or is refused is told, the table."""

import json
import sys

import pytest

from tutorlib.compiling.errors import ToolMissing
from tutorlib.instruments import sanitizing
from tutorlib.measuring import recorded
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
    ("output", "ended", "errors", "first"),
    [
        (MEMCHECK, "finished", 8, "Invalid __global__ read of size 4 bytes"),
        (RACECHECK, "finished", 1, "Error: Race reported between Write access at rms_norm+0x3a0 in kernel.cu:21"),
        (SILENT, "finished", 0, ""),
        ("Killed\n", "it printed no summary", 0, ""),
    ],
)
def test_a_verdict_is_read(output, ended, errors, first):
    assert sanitizing.read_verdict(output) == {"ended": ended, "errors": errors, "first": first}


TOOL = """\
import sys, time
print({output!r}, flush=True)
time.sleep({seconds})
"""


def sanitized(tmp_path, output, seconds=0.0):
    """The verdict of a tool that prints this and goes on for so long."""
    program = tmp_path / "compute-sanitizer"
    program.write_text(f"#!{sys.executable}\n{TOOL.format(output=output, seconds=seconds)}")
    program.chmod(0o755)
    return sanitizing.sanitize(str(program), "synccheck", "largest")


def test_how_a_run_ends(tmp_path, monkeypatch):
    assert sanitized(tmp_path, SILENT)["ended"] == "finished"
    assert sanitized(tmp_path, f"{sanitizing.REFUSED}: line 3")["ended"] == "it does not compile"
    monkeypatch.setattr(sanitizing, "TIME_LIMIT_S", 1)
    assert sanitized(tmp_path, MEMCHECK, seconds=60)["ended"] == "it hung: stopped after 1 s"


def test_without_the_tool_it_says_where_it_comes_from(monkeypatch):
    monkeypatch.setattr(sanitizing.shutil, "which", lambda name, path: None)
    with pytest.raises(ToolMissing, match="CUDA toolkit"):
        sanitizing.find_program()


def test_the_table(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(recorded, "SWEEPS", tmp_path)
    assert hunt.show_verdicts() is None
    assert "Not recorded yet" in capsys.readouterr().out
    heard = {"memcheck": sanitizing.read_verdict(MEMCHECK), "racecheck": sanitizing.read_verdict(SILENT)}
    hung = {"synccheck": {"ended": "it hung: stopped after 120 s", "errors": 0, "first": ""}}
    machine = {"gpu": "NVIDIA H200"}
    tool = "Version 2025.3.1.0 (build 1)"
    data = {"machine": machine, "date": "2026-11-21", "compute_sanitizer": tool, "verdicts": {"sgemm": heard | hung}}
    (tmp_path / "h200_sanitizer.json").write_text(json.dumps(data))
    table = hunt.show_verdicts()
    assert list(table.index) == [("NVIDIA H200, 2026-11-21, compute-sanitizer 2025.3.1.0", "sgemm")]
    assert list(table.iloc[0]) == [
        "8: Invalid __global__ read of size 4 bytes", "nothing", "it hung: stopped after 120 s", "not recorded",
    ]  # fmt: skip

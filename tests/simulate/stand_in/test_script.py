"""`tutor simulate -- COMMAND`."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tutorlib.cli import app
from tutorlib.paths import ROOT
from tutorlib.simulate import command
from tutorlib.simulate.ptx.report import Report as LaunchReport
from tutorlib.simulate.stand_in.script import ScriptRun

SCRIPT = Path(__file__).with_name("script.py").relative_to(ROOT)
LINES = (ROOT / SCRIPT).read_text().splitlines()


@pytest.fixture(autouse=True)
def folder(monkeypatch):
    monkeypatch.chdir(ROOT)


def line_of(text):
    return next(n for n, line in enumerate(LINES, 1) if text in line)


def tutor(*words):
    return CliRunner().invoke(app, ["simulate", *words])


def in_script(*words, options=()):
    return tutor("--arch", "90a", *options, "--", sys.executable, str(SCRIPT), *words)


def test_every_launch_of_a_script_is_simulated():
    done = in_script("right", "ffi", "double")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "sm_90a: 4 launches, no finding"
    at = f"{SCRIPT}:{line_of('    shift(from_dlpack')}"
    assert f"shift_kernel, launched at {at}: 1 block, 9 warp instructions" in done.stdout
    assert f"double, launched at {SCRIPT}:{line_of('ct.launch')}: 1 block" in done.stdout


def test_findings_by_launch_in_json(tmp_path):
    done = in_script("outside", options=("--format", "json"))
    assert done.exit_code == 1
    said = json.loads(done.stdout)
    assert [launch["kernel"] for launch in said["launches"]] == ["shift_kernel"] * 2
    assert [finding["launch"] for finding in said["findings"]] == [0, 1]
    assert "stores y[32], which lies outside y of shape (32,)" in said["findings"][0]["message"]
    assert [one["line"] for one in said["findings"][0]["called_from"]] == [line_of("shift_kernel(x, y, by).launch")]
    assert said["wrong"] == [f"{sys.executable} {SCRIPT} outside ends with status 1"]  # y[0] is not written
    known = tmp_path / "findings.json"
    known.write_text(done.stdout)
    again = in_script("outside", options=("--baseline", str(known)))
    assert "2 known findings" in again.stdout
    assert "✗ outside" not in again.stdout


def test_a_launch_that_could_not_be_simulated_is_no_success(monkeypatch):
    """Although the script went on."""
    stopped = LaunchReport((), (), 0, (), kernel="k", stopped="brkpt is not simulated: this kernel needs a GPU")
    monkeypatch.setattr(command, "run_script", lambda *args, **options: ScriptRun((stopped,), 0))
    done = tutor("--", "python", "script.py")
    assert done.exit_code == 1
    assert "k: brkpt is not simulated: this kernel needs a GPU\n✗ 1 launch could not be simulated" in done.stdout


def test_pytest_is_a_command_and_tests_are_named():
    done = tutor("--", "pytest", "-q", "-p", "no:cacheprovider", str(SCRIPT), "-k", "double")
    assert done.exit_code == 0
    assert "::test_double: 1 block" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("no_such_command",), "no_such_command"),
        (("python", "-c", "print(1)"), "python -c 'print(1)' launches no kernel"),
        (("python", "-c", "raise SystemExit(3)"), "ends with status 3 and launches no kernel"),
        (("python", "-c", "import os; os.kill(os.getpid(), 11)"), "crashes: Segmentation fault and launches no kernel"),
    ],
)
def test_what_launches_nothing_ends_with_2(words, says):
    done = tutor("--", *words)
    assert done.exit_code == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1

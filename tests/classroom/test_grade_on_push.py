"""The workflow that grades on push: its shell steps, executed as a runner would, without GitHub."""

import json
import os
import re
import subprocess
import sys

import nbformat
import pytest
import yaml

from tutorlib.grading import sandbox
from tutorlib.paths import ROOT

STEPS = yaml.safe_load((ROOT / "docs" / "classroom" / "grade.yml").read_text())["jobs"]["grade"]["steps"]
RIGHT = "def ceil_div(n, tile):\n    return -(-n // tile)"
WRONG = "def ceil_div(n, tile):\n    return '<b>|`no`|</b>\\n::error::x'"


@pytest.mark.parametrize(("answer", "failed", "state"), [(RIGHT, [], "passed"), (WRONG, ["Grade"], "failed")])
def test_a_push_is_graded(tmp_path, answer, failed, state):
    workspace, bin, summary = tmp_path / "workspace", tmp_path / "bin", tmp_path / "summary.md"
    bin.mkdir()
    (workspace / "student" / "notebooks").mkdir(parents=True)
    (workspace / "course").symlink_to(ROOT)
    notebook = nbformat.read(ROOT / "notebooks" / "00_start.ipynb", as_version=4)
    next(cell for cell in notebook.cells if cell.id == "answer-00-1").source = answer
    nbformat.write(notebook, workspace / "student" / "notebooks" / "00_start.ipynb")
    commands = {
        "sudo": f'echo "$@" >> {tmp_path}/sudo',
        "python": f'exec {sys.executable} "$@"',
        "tutor": f'exec {sys.executable} -m tutorlib "$@"{" --no-sandbox" if sandbox.why_open() else ""}',
    }
    for name, text in commands.items():
        (bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (bin / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{bin}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    environment |= {"COURSE_INSTALLED": "yes", "GITHUB_STEP_SUMMARY": str(summary)}
    status = {}
    for step in (step for step in STEPS if "run" in step):
        env = environment | {name: str(value) for name, value in step.get("env", {}).items()}
        status[step["name"]] = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=workspace, env=env).returncode
    assert [name for name, code in status.items() if code] == failed
    assert re.search(rf"00\.1 .*ceil_div .*{state}", summary.read_text())
    scores = json.loads((workspace / "results" / "scores.json").read_text())
    assert scores["points"] == (0 if failed else 2)
    assert "apt-get install -qq bubblewrap" in (tmp_path / "sudo").read_text()

"""Grading on a GPU: a kernel that crashes or never ends costs its exercise alone."""

import json
import subprocess
import sys

import nbformat
import pytest

from tutorlib.course.build import solved_notebook
from tutorlib.course.source import parse
from tutorlib.grading import sandbox
from tutorlib.paths import ROOT, SOLUTIONS

pytestmark = pytest.mark.gpu("80")

RIGHT = "    c[i] = a[i] + b[i]\n"
CRASHES = "    c[i + 2**44] = a[i] + b[i]\n"
NEVER_ENDS = """    turns = cutlass.Int64(0)
    while turns < (1 << 62):
        c[i] = a[i] + b[i] + turns.to(cutlass.Float32)
        turns += 1
"""


@pytest.mark.parametrize(("line", "status"), [(CRASHES, "error"), (NEVER_ENDS, "timeout")], ids=["crash", "hang"])
def test_what_breaks_the_context_costs_its_exercise_alone(tmp_path, line, status):
    notebook = solved_notebook(parse(SOLUTIONS / "04_first_kernels.py"))
    (answer,) = [cell for cell in notebook.cells if cell.id == "answer-04-4"]
    assert RIGHT in answer.source
    answer.source = answer.source.replace(RIGHT, line)
    nbformat.write(notebook, tmp_path / "mine.ipynb")
    command = [sys.executable, "-m", "tutorlib", "grade", str(tmp_path / "mine.ipynb"), "--format", "json"]
    command += ["--no-sandbox"] if sandbox.why_open() else []
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    outcomes = {outcome["id"]: outcome for outcome in json.loads(done.stdout)["exercises"]}
    assert outcomes["04.4"]["status"] == status, outcomes["04.4"]["message"]
    assert outcomes["04.4"]["points"] == 0
    assert {outcome["status"] for id, outcome in outcomes.items() if id != "04.4"} == {"passed"}

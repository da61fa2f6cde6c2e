"""A grading run over one notebook full of bad answers: each costs its exercise alone."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import psutil
import pytest
from nbformat import v4
from typer.testing import CliRunner

from tests.trial_course import Course, cell, make_course
from tutorlib.cli import app
from tutorlib.grading import all_notebooks, grading_run, sandbox
from tutorlib.grading.all_notebooks import grade
from tutorlib.grading.grading_run import Limits, judge_environment, page_environment
from tutorlib.grading.submission import read_submission
from tutorlib.measuring.results import RECORDED
from tutorlib.paths import SOLUTIONS

TIMEOUT = 10  # seconds for a cell: two of these answers run into it

# exercise k of the trial course asks for n + k
ANSWERS = {
    1: "def answer(n):\n    return n + 1",
    2: "def answer(n):\n    while True:\n        pass",
    3: "def answer(n):\n    return n + 3 if n < 10 else n",
    4: "import os\n\n\ndef answer(n):\n    os._exit(0)",
    5: "def answer(n):\n    for _ in range(1000):\n        print('x' * 10**5)\n    return n + 5",
    6: "def answer(n):\n    return n + 6\n  return n",
    7: "def answer(n):\n    exit()",
    8: "import ctypes\n\n\ndef answer(n):\n    ctypes.string_at(0)",
    9: "def answer(n):\n    print(n)\n    return n + 9",
    10: "import time\n\nwhile True:\n    try:\n        time.sleep(60)\n    except KeyboardInterrupt:\n        pass",
    11: "def answer(n):\n    bytearray(2**40)",
    12: "def answer(n):\n    return n + 12\n\n\nanswer('text')",
    13: "import subprocess\n\nsubprocess.Popen(['sleep', '3141'], start_new_session=True)\n\n\n"
    "def answer(n):\n    return n + 13",
    15: "def answer(n):\n    return n + 15",
    16: "def answer(n):\n    return n + 16",
    14: "from IPython.display import display\n\n\ndef answer(n):\n"
    "    display({'text/plain': 'x' * 10**8}, raw=True)\n    return n + 14",
    17: "%%time\ndef answer(n):\n    return n + 17",
}  # 18 stays unwritten


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return make_course(tmp_path_factory.mktemp("course"), {90: 18})


@pytest.fixture(scope="module")
def batch(course, tmp_path_factory):
    """The scores of one notebook full of bad answers, by exercise k, and what the run left behind."""
    folder = tmp_path_factory.mktemp("submission")
    path = course.submit(folder, 90, ANSWERS)
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.remove(cell(notebook, "answer-90-15"))
    notebook.cells.append(v4.new_code_cell(ANSWERS[16], metadata=cell(notebook, "answer-90-16").metadata))
    notebook.cells.insert(0, v4.new_code_cell("raise SystemExit('a cell of my own')"))
    notebook.metadata = {}
    nbformat.write(notebook, path)
    path = path.rename(folder / "my work (2).ipynb")
    temporary = tmp_path_factory.mktemp("tmp")
    before = files(course.root)
    graded = course.tutor(
        "grade", path, "--timeout", TIMEOUT, "--format", "json", "--out", folder / "kept", TMPDIR=str(temporary)
    )
    assert graded.returncode == 1, graded.stderr
    assert files(course.root) == before
    assert not list(temporary.iterdir())
    scores = json.loads(graded.stdout)
    assert json.loads((folder / "kept" / "scores.json").read_text()) == scores
    (suite,) = ElementTree.parse(folder / "kept" / "90_trial.xml").getroot()
    assert (suite.get("tests"), suite.get("errors")) == ("18", "4")
    return {int(outcome["id"][3:]): outcome for outcome in scores["exercises"]}


def files(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if "__pycache__" not in path.parts}


@pytest.mark.parametrize(
    ("k", "status", "points", "message"),
    [
        (1, "passed", 2, "2 points"),
        (2, "timeout", 0, f"no result after {TIMEOUT} seconds"),
        (3, "partial", 1, "1 of 2 cases right"),
        (4, "error", 0, "it ended the notebook's process (exit code 0)"),
        (5, "passed", 2, "2 points"),
        (6, "failed", 0, "your cell fails: IndentationError"),
        (7, "failed", 0, "it ends the notebook: SystemExit"),
        (8, "error", 0, "it ended the notebook's process (SIGSEGV)"),
        (9, "passed", 2, "2 points"),
        (10, "timeout", 0, f"no result after {TIMEOUT} seconds"),
        (11, "failed", 0, "ran out of memory (line 2 of your answer)"),
        (12, "failed", 0, "your cell fails: TypeError"),
        (13, "passed", 2, "2 points"),
        (14, "passed", 2, "2 points"),
        (15, "failed", 0, "0 of 2 cases right"),  # its cell is deleted, and another defines an answer
        (16, "passed", 2, "2 points"),
        (17, "passed", 2, "2 points"),
        (18, "failed", 0, "not written yet"),
    ],
)
def test_a_bad_answer_costs_its_exercise_alone(batch, k, status, points, message):
    assert (batch[k]["status"], batch[k]["points"]) == (status, points), batch[k]["message"]
    assert message in batch[k]["message"]


def test_no_process_is_left(batch):
    assert not [process for process in psutil.process_iter(["cmdline"]) if "3141" in (process.info["cmdline"] or ())]


def test_a_notebook_that_cannot_be_graded_costs_itself_alone(tmp_path, monkeypatch):
    """A kernel that cannot start, and a page that the grader stumbles over, each before one that is well."""
    for number in ("00_start", "01_layouts", "02_layout_algebra"):
        shutil.copy(SOLUTIONS / f"{number}.ipynb", tmp_path)
    start, put_together = grading_run.start_judge, all_notebooks.merged_page

    def no_process(settings, *rest):
        return start(replace(settings, command=["false"]) if "00.1" in settings.wanted else settings, *rest)

    def stumbles(name, *rest):
        if name.startswith("02"):
            raise RecursionError("too deep")
        return put_together(name, *rest)

    monkeypatch.setattr(grading_run, "start_judge", no_process)
    monkeypatch.setattr(all_notebooks, "merged_page", stumbles)
    args = ["grade", str(tmp_path), "--out", str(tmp_path / "out"), *(["--no-sandbox"] if sandbox.why_open() else [])]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 1
    assert (
        "00_start could not be graded: 00_start could not be run: no process of its own could be started"
        in result.stderr
    )
    assert "02_layout_algebra could not be graded: RecursionError: too deep" in result.stderr
    assert "could not be graded" in result.stdout
    statuses = {}
    for one in json.loads((tmp_path / "out" / "scores.json").read_text())["exercises"]:
        statuses.setdefault(one["id"][:2], set()).add(one["status"])
    assert statuses == {"00": {"error"}, "01": {"passed"}, "02": {"error"}}


def test_cells_of_ones_own_that_take_too_long_are_left_out(tmp_path, monkeypatch):
    """All of them: the answers are judged in a second run."""
    runs, run_once = [], grading_run.run

    def counted(*args):
        runs.append(args)
        return run_once(*args)

    monkeypatch.setattr(grading_run, "run", counted)
    monkeypatch.setattr(grading_run, "ADDED", 0)
    notebook = nbformat.read(SOLUTIONS / "00_start.ipynb", as_version=4)
    notebook.cells.insert(0, v4.new_code_cell("late = True"))
    nbformat.write(notebook, tmp_path / "00_start.ipynb")
    scores = grade(read_submission([tmp_path]), Limits(), sandboxed=not sandbox.why_open())
    assert [one.status for one in scores.outcomes] == ["passed"]
    assert len(runs) == 2


def test_a_machine_without_memory_is_no_fault_of_the_answers(tmp_path):
    shutil.copy(SOLUTIONS / "00_start.ipynb", tmp_path)
    scores = grade(read_submission([tmp_path]), Limits(memory=2**20), sandboxed=False)
    assert [(one.status, one.points) for one in scores.outcomes] == [("error", 0)]
    assert "00_start could not be run: " in scores.broken["00_start"]


def test_what_evidence_recorded_is_not_passed_on(monkeypatch):
    monkeypatch.setenv(RECORDED, "h200.json")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--maxfail=1")
    monkeypatch.setenv("OTHER", "kept")
    passed_on = judge_environment()
    assert not {RECORDED, "PYTEST_ADDOPTS"} & passed_on.keys()
    assert passed_on["OTHER"] == "kept"


def test_packages_on_pythonpath_are_found_and_nothing_in_the_folder_is(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", str(tmp_path), "packages"]))
    found = page_environment(tmp_path, ())["PYTHONPATH"].split(os.pathsep)
    assert found[1:] == [str(tmp_path), os.path.abspath("packages")]

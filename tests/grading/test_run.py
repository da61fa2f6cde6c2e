"""A grading run over one notebook full of bad answers, each of which costs its exercise alone; and the scores."""

import asyncio
import fcntl
import io
import json
import mmap
import os
import shutil
import signal
import subprocess
import sys
from contextvars import Context
from pathlib import Path

import nbformat
import psutil
import pytest
import torch
from jupyter_core.utils import run_sync
from nbformat import v4
from rich.console import Console
from typer.testing import CliRunner

from tests.machine.test_machine import is_free
from tests.trial_course import Course, cell, make_course
from tutorlib.checking.values import ValueExercise
from tutorlib.classroom.gradebook import Graded, Judged, Submission
from tutorlib.classroom.grades import grades_of
from tutorlib.classroom.hand_ins import HandedIn
from tutorlib.classroom.roster import enrolled
from tutorlib.cli import app
from tutorlib.exercises import find, of_notebook
from tutorlib.grading import grade as grading
from tutorlib.grading import judge_process, sandbox
from tutorlib.grading.grade import grade
from tutorlib.grading.judge_process import (
    PageCell,
    PageRun,
    Settings,
    as_reported,
    judge_environment,
    page_environment,
    start_judge,
    turn_of,
)
from tutorlib.grading.scores import Scores, points_possible, progress
from tutorlib.grading.submission import read_submission
from tutorlib.machine import device
from tutorlib.measuring.results import RECORDED
from tutorlib.paths import NOTEBOOKS, SOLUTIONS
from tutorlib.problems.work import RESTART

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
    for number in ("00_start", "01_layouts", "03_layout_algebra"):
        shutil.copy(SOLUTIONS / f"{number}.ipynb", tmp_path)
    command, put_together = judge_process.page_command, grading.merged_page

    def no_process(run):
        return ["false"] if "00.1" in run.wanted else command(run)

    def stumbles(submitted):
        if submitted.name.startswith("03"):
            raise RecursionError("too deep")
        return put_together(submitted)

    monkeypatch.setattr(judge_process, "page_command", no_process)
    monkeypatch.setattr(grading, "merged_page", stumbles)
    args = ["grade", str(tmp_path), "--out", str(tmp_path / "out"), *(["--no-sandbox"] if sandbox.why_open() else [])]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 1
    assert (
        "00_start could not be graded: 00_start could not be run: no process of its own could be started"
        in result.stderr
    )
    assert "03_layout_algebra could not be graded: RecursionError: too deep" in result.stderr
    assert "could not be graded" in result.stdout
    statuses = {}
    for one in json.loads((tmp_path / "out" / "scores.json").read_text())["exercises"]:
        statuses.setdefault(one["id"][:2], set()).add(one["status"])
    assert statuses == {"00": {"error"}, "01": {"passed"}, "03": {"error"}}


def test_cells_of_ones_own_that_take_too_long_are_left_out(tmp_path, monkeypatch):
    """The answers are judged in a second run."""
    runs, run_once = [], grading.run

    def counted(*args):
        runs.append(args)
        return run_once(*args)

    monkeypatch.setattr(grading, "run", counted)
    monkeypatch.setattr(judge_process, "ADDED", 0)
    notebook = nbformat.read(SOLUTIONS / "00_start.ipynb", as_version=4)
    notebook.cells.insert(0, v4.new_code_cell("late = True"))
    nbformat.write(notebook, tmp_path / "00_start.ipynb")
    scores = grade(read_submission([tmp_path]), Settings(sandboxed=not sandbox.why_open()))
    assert [one.status for one in scores.outcomes] == ["passed"]
    assert len(runs) == 2


def test_a_machine_without_memory_is_no_fault_of_the_answers(tmp_path):
    shutil.copy(SOLUTIONS / "00_start.ipynb", tmp_path)
    scores = grade(read_submission([tmp_path]), Settings(memory=2**20, sandboxed=False))
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
    found = page_environment(PageRun((), (), Settings(), tmp_path))["PYTHONPATH"].split(os.pathsep)
    assert found[1:] == [str(tmp_path), os.path.abspath("packages")]


# Kernels: a broken CUDA context costs its exercise alone -------------------------------------------------------------

ON_GPU = """
from tutorlib.checking.exercise import Exercise, Verdict
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC

device.why_not = lambda feature: None  # as if a GPU were here

broken = False  # as a CUDA context is: for the rest of the process


class OnGpu(Exercise):
    def judge(self, answer):
        global broken
        says = answer(0)
        if broken or says in ("error", "timeout"):
            said = "the context is broken" if broken else f"it gave {says}"
            status, broken = "error" if broken else says, True
            return Verdict(0, (said,), status)
        return Verdict(self.points)


EXERCISES = tuple(OnGpu(id=f"90.{k}", title="answer", points=2, needs=MMA_SYNC) for k in range(1, 5))
"""


@pytest.mark.long
def test_a_broken_context_costs_its_exercise_alone(tmp_path):
    course = make_course(tmp_path / "course", {90: 4})
    (course.root / "tutorlib" / "exercises" / "p90.py").write_text(ON_GPU)
    kernel = "def answer(n):\n    return {!r}"
    answers = {k: kernel.format(says) for k, says in enumerate(("right", "error", "timeout", "right"), 1)}
    path = course.submit(tmp_path, 90, answers)
    graded = course.tutor("grade", path, "--format", "json")
    outcomes = json.loads(graded.stdout)["exercises"]
    assert [(o["status"], o["points"], o["message"]) for o in outcomes] == [
        ("passed", 2, "2 points"),
        ("error", 0, "it gave error"),
        ("timeout", 0, "it gave timeout"),
        ("passed", 2, "2 points"),
    ]


# Turns on the GPU ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "others", "timed"),
    [
        ({}, True, False),  # the course's own cells
        ({"role": "added"}, True, False),
        ({"role": "answer", "exercise": "08.3"}, True, False),
        ({"role": "check", "exercise": "05.1"}, True, True),  # the judge takes its turns itself
    ],
)
def test_a_cells_turn(tmp_path, monkeypatch, role, others, timed):
    monkeypatch.setenv(device.TURNS, str(tmp_path))
    (tmp_path / "gpu").touch()
    with turn_of(PageCell("a-cell", "", **role)):
        assert is_free(tmp_path / "gpu", fcntl.LOCK_SH) == others
        assert is_free(tmp_path / "gpu", fcntl.LOCK_EX) == timed


def test_a_cell_that_takes_times_does_not_wait_for_its_own_turn(tmp_path):
    notebook = nbformat.read(SOLUTIONS / "00_start.ipynb", as_version=4)
    timing = "from tutorlib.machine import device\nwith device.own_turn():\n    done = True"
    notebook.cells.insert(0, v4.new_code_cell(timing))
    next(cell for cell in notebook.cells if cell.source.startswith("def ceil_div")).source += "\n\nassert done"
    nbformat.write(notebook, tmp_path / "00_start.ipynb")
    settings = Settings(seconds=20, sandboxed=False, variables={device.TURNS: str(tmp_path)})
    assert [one.status for one in grade(read_submission([tmp_path]), settings).outcomes] == ["passed"]


# Messages ------------------------------------------------------------------------------------------------------------


def test_a_report_has_no_title_and_tells_nobody_to_restart_a_kernel():
    exercise = ValueExercise(id="90.1", title="answer", points=2, cases=())
    found = exercise.outcome("partial", 1, f"✗ 90.1 answer: it crashed. {RESTART}\n  Simulated at 128: …")
    outcome = as_reported(found)
    assert (outcome.status, outcome.points) == ("partial", 1)
    assert outcome.message == "it crashed.\n  Simulated at 128: …"


# A judge's own work without an end -----------------------------------------------------------------------------------

ENDLESS = """
import re

from tutorlib.checking.values import ValueExercise, law


def agrees(got, n):
    while got == "forever":
        pass
    if got == "in C":
        re.match("(a+)+$", "a" * 60 + "b")
    return None if got == n else "no"


EXERCISES = tuple(
    ValueExercise(
        id=f"{number}.{{k}}", title="answer", points=2, hints=("Do.", "Do it.", "n"),
        cases=(law("right", [(n,) for n in range(3)], agrees),),
    )
    for k in range(1, {count} + 1)
)
"""
ENDLESS_CELL = """
# %%
def answer_{k}(n):
    ### BEGIN SOLUTION (about 1 line)
    return n
    ### END SOLUTION


# %%
check("{number}.{k}", answer_{k})
"""
BUSY_TIMEOUT = 60  # seconds of real time that a cell may take, however busy the machine is
COMPUTING = 3  # seconds that judging may compute


def test_judging_that_never_ends_costs_its_exercise_alone(tmp_path):
    course = make_course(tmp_path / "course", {90: 3}, ENDLESS, ENDLESS_CELL)
    judge = course.root / "tutorlib" / "grading" / "judge_process.py"
    judge.write_text(judge.read_text().replace("LIMITS = 1.5", f"LIMITS = {COMPUTING / BUSY_TIMEOUT}"))
    right, endless = "def answer_{}(n):\n    return n", "def answer_{}(n):\n    return 'forever'"
    answers = {k: text.format(k) for k, text in ((1, right), (2, endless), (3, right))}
    path = course.submit(tmp_path, 90, answers)
    graded = course.tutor("grade", path, "--timeout", BUSY_TIMEOUT, "--format", "json")
    found = {one["id"]: one for one in json.loads(graded.stdout)["exercises"]}
    assert [(one["status"], one["points"]) for one in found.values()] == [("passed", 2), ("timeout", 0), ("passed", 2)]
    assert found["90.2"]["message"] == f"judging it had no end after {COMPUTING} seconds of computing"


def test_judging_that_never_ends_in_c_code_costs_its_exercise_alone(tmp_path):
    course = make_course(tmp_path / "course", {90: 2}, ENDLESS, ENDLESS_CELL)
    answers = {1: "def answer_1(n):\n    return 'in C'", 2: "def answer_2(n):\n    return n"}
    graded = course.tutor("grade", course.submit(tmp_path, 90, answers), "--timeout", 4, "--format", "json")
    found = [(one["status"], one["points"], one["message"]) for one in json.loads(graded.stdout)["exercises"]]
    assert found[0] == ("timeout", 0, "judging it had no end after 6 seconds of computing")
    assert found[1][:2] == ("passed", 2)


REGEX = """
from tutorlib.grading.judge_process import limited_computing
from tutorlib.simulate.ptx.parse import parse_ptx

with limited_computing(1.0):
    parse_ptx("\\n" * 2**20)
"""


def test_the_system_ends_a_judge_that_reads_ptx_without_end():
    """A megabyte of empty lines takes a regular expression hours."""
    done = subprocess.run([sys.executable, "-c", REGEX], timeout=600, check=False)
    assert done.returncode == -signal.SIGXCPU


# The judge's process -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loaded", [True, False])
def test_where_cudas_driver_is_loaded_the_judge_starts_in_a_new_python(tmp_path, monkeypatch, loaded):
    monkeypatch.setattr(judge_process, "main", lambda *_: print("of the parent"))
    library = tmp_path / ("libcuda.so.1" if loaded else "libcudart.so.13")
    library.write_bytes(bytes(mmap.PAGESIZE))
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
        code, printed = judge_in(tmp_path)
    assert (printed == "of the parent\n") is not loaded
    assert (code == 1 and "the notebook's process is gone" in printed) is loaded, printed


def test_a_process_that_is_shown_no_gpu_does_not_load_the_driver(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: pytest.fail("torch was asked"))
    assert device.gpu.__wrapped__() is None


def test_the_parents_event_loop_is_not_the_forks(tmp_path, monkeypatch):
    async def wait():
        await asyncio.sleep(0)

    def waits_as_in_a_new_process(*_):
        run_sync(wait)()
        asyncio.get_event_loop().run_until_complete(wait())

    def loop_and_fork():
        run_sync(wait)()
        code, printed = judge_in(tmp_path)
        asyncio.get_event_loop().close()
        return code, printed

    monkeypatch.setattr(judge_process, "main", waits_as_in_a_new_process)
    policy = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(None)
    try:
        code, printed = Context().run(loop_and_fork)
    finally:
        asyncio.set_event_loop_policy(policy)
    assert code == 0, printed


def judge_in(folder):
    """The exit code of a judge whose page cannot start, and what it printed."""
    process, reports = start_judge(
        PageRun([], [], Settings(sandboxed=False, variables={"PYTHONHOME": "/nowhere"}), folder)
    )
    with reports:
        process.join()
    return process.exitcode, (folder / "log").read_text()


# Scores --------------------------------------------------------------------------------------------------------------

GRADE = ["grade", "--no-sandbox"] if sandbox.why_open() else ["grade"]


def test_unsolved_notebooks_have_no_points():
    result = CliRunner().invoke(app, [*GRADE, str(NOTEBOOKS), "--format", "json"])
    assert result.stdout, (result.stderr, result.exception)
    scores = json.loads(result.stdout)
    assert result.exit_code == 1
    assert scores["points"] == 0
    assert scores["exercises"]
    assert {(one["status"], one["message"]) for one in scores["exercises"]} == {("failed", "not written yet")}


def test_what_was_not_timed_counts_as_far_as_it_is_right():
    exercise = find("01.1")
    scores = Scores((exercise.outcome("passed", 3, ""), exercise.outcome("not_run", 2, "speed not run")))
    assert (scores.points, scores.max_points, scores.full) == (5, 5, True)


@pytest.mark.parametrize("name", ["01_layouts", "05_copy_kernels", "14_hopper_gemm"])
def test_the_total_is_a_class_s(name):
    """Also of wrong answers to exercises that this machine cannot time, or not run."""
    wrong = [exercise.outcome("failed", 0, "wrong") for exercise in of_notebook(name)]
    submission = Submission("ann", "", None, 1, "", Graded(tuple(Judged(one, points_possible(one)) for one in wrong)))
    (grade,) = grades_of(enrolled([HandedIn("ann", "", "")], [])[0], {"ann": submission}, (name,)).grades
    (missing,) = grades_of(enrolled([HandedIn("bob", "", "")], [])[0], {}, (name,)).grades
    assert Scores(tuple(wrong)).max_points == grade.max_points == missing.max_points


def test_what_was_not_run_counts_in_neither_sum():
    exercise = find("01.1")
    scores = Scores((exercise.outcome("passed", 3, ""), exercise.outcome("not_run", 0, "no GPU here")))
    assert (scores.points, scores.max_points, scores.full) == (3, 3, True)
    assert "1 not run" in [column.footer for column in scores.table().columns]


# Progress ------------------------------------------------------------------------------------------------------------


def test_a_pipe_gets_a_line_at_the_end():
    file = io.StringIO()
    with progress(Console(file=file), "submissions", 3) as done:
        done("ann")
        assert file.getvalue() == ""
    assert file.getvalue() == "graded 3 submissions in 0 s\n"


def test_a_terminal_gets_a_bar_with_the_time_left_and_keeps_nothing():
    file = io.StringIO()
    with progress(Console(file=file, force_terminal=True, width=100), "notebooks", 2) as done:
        done("00_start")
    text = file.getvalue()
    assert "grading notebooks" in text
    assert "1/2" in text
    assert "graded" not in text

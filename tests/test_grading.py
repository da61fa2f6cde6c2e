"""Grading: bad submissions, bad answers and cheats. Graded runs are few, each of many answers."""

import json
import os
import pickle
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import nbformat
import numpy as np
import psutil
import pytest
import torch
from nbformat import v4
from tensor_layouts import Layout
from typer.testing import CliRunner

from tests.trial_course import Course, cell, make_course
from tutorlib.cli import app
from tutorlib.course import NOTEBOOKS, ROOT
from tutorlib.exercise import Case, Exercise, Wrong, equals, law
from tutorlib.exercises import of_notebook
from tutorlib.grading import GradingFailed, Limits, grade, remote
from tutorlib.grading.graft import graft
from tutorlib.grading.scores import Scores
from tutorlib.grading.submission import read_submission
from tutorlib.grading.verdict import verdict

CHEATS = sorted((Path(__file__).parent / "cheats").glob("*.py"))
TIMEOUT = 5

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
    10: "while True:\n    try:\n        pass\n    except KeyboardInterrupt:\n        pass",
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
    cheats = {60 + n: 2 for n in range(len(CHEATS))}
    return make_course(tmp_path_factory.mktemp("course"), {**cheats, 90: 18})


# ------------------------------------------------------------------------------------------------ bad answers


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
    start = time.monotonic()
    graded = course.tutor(
        "grade", path, "--timeout", TIMEOUT, "--format", "json", "--out", folder / "kept", TMPDIR=str(temporary)
    )
    assert graded.returncode == 1, graded.stderr
    assert files(course.root) == before
    assert not list(temporary.iterdir())
    assert time.monotonic() - start < 100
    scores = json.loads(graded.stdout)
    assert json.loads((folder / "kept" / "scores.json").read_text()) == scores
    assert (folder / "kept" / "90_trial.xml").read_text().startswith("<?xml")
    return {int(outcome["id"][3:]): outcome for outcome in scores["exercises"]}


def files(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if "__pycache__" not in path.parts}


@pytest.mark.xdist_group("grading bad answers")
@pytest.mark.parametrize(
    ("k", "status", "points", "message"),
    [
        (1, "passed", 2, "2 points"),
        (2, "timeout", 0, f"no result after {TIMEOUT} seconds"),
        (3, "partial", 1, "1 of 2 cases right"),
        (4, "error", 0, "it ended the notebook's process (exit code 0)"),
        (5, "failed", 0, "it prints more than 64 kB (line 3 of your answer)"),
        (6, "failed", 0, "IndentationError in line 3 of your answer"),
        (7, "error", 0, "check came to no verdict: SystemExit"),
        (8, "error", 0, "it ended the notebook's process (SIGSEGV)"),
        (9, "passed", 2, "2 points"),
        (10, "timeout", 0, f"no result after {TIMEOUT} seconds"),
        (11, "failed", 0, "raised MemoryError"),
        (12, "failed", 0, "your cell fails: TypeError"),
        (13, "passed", 2, "2 points"),
        (14, "failed", 0, "it displays more than 16 MB (line 5 of your answer)"),
        (15, "failed", 0, "answer cell deleted"),
        (16, "failed", 0, "there are 2 answer cells for 90.16: keep one"),
        (17, "passed", 2, "2 points"),
        (18, "failed", 0, "not written yet"),
    ],
)
def test_a_bad_answer_costs_its_exercise_alone(batch, k, status, points, message):
    assert (batch[k]["status"], batch[k]["points"]) == (status, points), batch[k]["message"]
    assert message in batch[k]["message"]


@pytest.mark.xdist_group("grading bad answers")
def test_no_process_is_left(batch):
    assert not [process for process in psutil.process_iter(["cmdline"]) if "3141" in (process.info["cmdline"] or ())]


@pytest.mark.xdist_group("grading cheats")
def test_grading_agrees_with_plain_nbval(course, tmp_path):
    answers = {1: ANSWERS[1], 3: ANSWERS[3], 14: "def answer(n):\n    return nobody(n)", 18: ANSWERS[17] + " + 1"}
    path = course.submit(tmp_path, 90, answers)
    plain = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--nbval-lax", "--color=no", path],
        env={**os.environ, "PYTHONPATH": str(course.root)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    failed = {int(n) for n in re.findall(r"^FAILED .*::Cell (\d+)", plain.stdout, re.MULTILINE)}
    scores = json.loads(course.tutor("grade", path, "--format", "json").stdout)
    passed = [outcome["status"] == "passed" for outcome in scores["exercises"]]
    assert sum(passed) == 2
    # cells: the import, then an answer and its check for each exercise
    assert failed == {2 * k for k, ok in enumerate(passed, 1) if not ok}


# ------------------------------------------------------------------------------------------------ cheats


@pytest.fixture(scope="module")
def cheated(course, tmp_path_factory):
    """Cheat → its outcomes: the cheat as answer 1, a plainly wrong answer after it as answer 2."""
    folder = tmp_path_factory.mktemp("cheats")
    for n, cheat in enumerate(CHEATS):
        course.submit(folder, 60 + n, {1: cheat.read_text(), 2: "def answer(n):\n    return -1"})
        path = folder / f"{60 + n}_trial.ipynb"
        notebook = nbformat.read(path, as_version=4)
        for one in notebook.cells:
            one.metadata["tags"] = ["nbval-skip", "raises-exception"]
        nbformat.write(notebook, path)
    temporary = tmp_path_factory.mktemp("tmp")
    graded = course.tutor("grade", folder, "--timeout", TIMEOUT, "--format", "json", TMPDIR=str(temporary))
    assert graded.returncode == 1, graded.stderr
    assert not list(temporary.iterdir())
    scores = json.loads(graded.stdout)
    assert scores["max_points"] == 4 * len(CHEATS)
    found = {cheat.stem: [] for cheat in CHEATS}
    for outcome in scores["exercises"]:
        found[CHEATS[int(outcome["id"][:2]) - 60].stem].append(outcome)
    return found


@pytest.mark.xdist_group("grading cheats")
@pytest.mark.parametrize("cheat", [cheat.stem for cheat in CHEATS])
def test_a_cheat_gets_no_points(cheated, cheat):
    assert [outcome["points"] for outcome in cheated[cheat]] == [0, 0], cheated[cheat]
    assert {outcome["status"] for outcome in cheated[cheat]} <= {"failed", "error"}


# ------------------------------------------------------------------------------------------------ bad submissions


def tutor_grade(*paths: Path):
    return CliRunner().invoke(app, ["grade", *map(str, paths)])


def notebook_of(*cells) -> str:
    return nbformat.writes(v4.new_notebook(cells=list(cells)))


def without_marks(text: str) -> str:
    notebook = nbformat.reads(text, as_version=4)
    for one in notebook.cells:
        one.metadata, one.id = {}, one.id.replace("answer", "cell")
    return nbformat.writes(notebook)


def with_another_answer(text: str) -> str:
    other = v4.new_code_cell("", metadata={"tutorlib": {"exercise": "01.1", "role": "answer"}})
    return notebook_of(*nbformat.reads(text, as_version=4).cells, other)


START = (NOTEBOOKS / "00_start.ipynb").read_text()


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("answers.py", "print()", "not a notebook; its name should end in .ipynb"),
        ("cut.ipynb", START[:700], "its JSON ends early or is damaged"),
        ("empty.ipynb", "", "its JSON ends early or is damaged"),
        ("picture.ipynb", "\udcff\udcfe", "its JSON ends early or is damaged"),
        ("list.ipynb", "[1, 2]", "there are no notebook cells in it"),
        ("object.ipynb", '{"cells": 3, "nbformat": 4}', "there are no notebook cells in it"),
        ("cells.ipynb", '{"cells": [{}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "no notebook cells"),
        ("other.ipynb", notebook_of(v4.new_code_cell("1 + 1")), "it has no answer cells"),
        ("no-ids.ipynb", without_marks(START), "it has no answer cells"),
        ("later.ipynb", START.replace("00.1", "77.1"), "answers notebook 77, which this course does not have"),
        ("two.ipynb", with_another_answer(START), "holds answers to several notebooks, 00 and 01"),
    ],
)
def test_a_bad_file_is_one_clear_line(tmp_path, name, text, says):
    path = tmp_path / name
    path.write_bytes(text.encode(errors="surrogateescape"))
    result = tutor_grade(path)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert str(path) in result.stderr
    assert says in result.stderr


@pytest.mark.parametrize(
    ("name", "says"), [("gone.ipynb", "there is no such file."), ("", "there is no notebook in this folder.")]
)
def test_a_missing_file_and_an_empty_folder(tmp_path, name, says):
    result = tutor_grade(tmp_path / name)
    assert (result.exit_code, result.stderr) == (2, f"{tmp_path / name}: {says}\n")


def test_a_notebook_handed_in_twice_is_refused_and_one_named_twice_is_not(tmp_path):
    for name in ("a.ipynb", "b.ipynb"):
        (tmp_path / name).write_text(START)
    result = tutor_grade(tmp_path)
    assert result.exit_code == 2
    assert "a.ipynb answers 00_start too; hand in one of them" in result.stderr
    assert len(read_submission([tmp_path / "a.ipynb", tmp_path / "a.ipynb"])) == 1


def test_a_folder_may_hold_other_notebooks(tmp_path):
    (tmp_path / "a.ipynb").write_text(notebook_of(v4.new_code_cell("1 + 1")))
    (tmp_path / "b.ipynb").write_text(START)
    assert [one.name for one in read_submission([tmp_path])] == ["00_start"]


def test_answers_are_found_by_id_where_the_metadata_is_gone(tmp_path):
    notebook = nbformat.reads(START, as_version=4)
    for one in notebook.cells:
        one.metadata = {}
    (tmp_path / "a.ipynb").write_text(nbformat.writes(notebook))
    assert read_submission([tmp_path])[0].answers.keys() == {"00.1"}


def test_an_answer_left_out_says_so_where_a_later_one_calls_it(tmp_path):
    (tmp_path / "a.ipynb").write_text(START.replace("raise NotImplementedError", "raise NotImplemented Error"))
    grafted = graft(read_submission([tmp_path])[0])
    assert "SyntaxError in line 3 of your answer" in grafted.left_out["00.1"]
    names = {}
    exec(cell(grafted.notebook(), "answer-00-1").source, names)
    with pytest.raises(RuntimeError, match=r"exercise 00\.1 is missing: SyntaxError in line 3"):
        names["ceil_div"](3, 2)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    result = CliRunner().invoke(app, ["grade", str(NOTEBOOKS / "00_start.ipynb"), "--out", str(tmp_path / "file")])
    assert (result.exit_code, result.stderr) == (2, f"{tmp_path / 'file'}: cannot be made: File exists\n")


def test_a_machine_that_cannot_run_a_notebook_is_no_fault_of_the_answers(tmp_path):
    (tmp_path / "a.ipynb").write_text(START.replace("raise NotImplementedError", "return 3 #"))
    with pytest.raises(GradingFailed, match="00_start could not be run: it ended the grading run"):
        grade(read_submission([tmp_path]), Limits(memory=2**20))


# ------------------------------------------------------------------------------------------------ scores


def test_unsolved_notebooks_have_no_points():
    result = CliRunner().invoke(app, ["grade", str(NOTEBOOKS), "--format", "json"])
    scores = json.loads(result.stdout)
    assert result.exit_code == 1
    assert scores["points"] == 0
    assert scores["exercises"]
    assert {(one["status"], one["message"]) for one in scores["exercises"]} == {("failed", "not written yet")}


def test_half_of_the_answers_give_their_points(tmp_path):
    """01_layouts with every other exercise solved; the table of the same."""
    notebook = nbformat.read(NOTEBOOKS / "01_layouts.ipynb", as_version=4)
    solved = nbformat.read(ROOT / "solutions" / "01_layouts.ipynb", as_version=4)
    wanted = {}
    for exercise in of_notebook("01_layouts"):
        id = f"answer-{exercise.id.replace('.', '-')}"
        if int(exercise.id[3:]) % 2:
            cell(notebook, id).source = cell(solved, id).source
        wanted[exercise.id] = exercise.points if int(exercise.id[3:]) % 2 else 0
    nbformat.write(notebook, tmp_path / "a.ipynb")
    result = CliRunner().invoke(app, ["grade", str(tmp_path), "--format", "json"])
    scores = json.loads(result.stdout)
    assert result.exit_code == 1
    assert {one["id"]: one["points"] for one in scores["exercises"]} == wanted
    assert scores["points"] == sum(wanted.values())
    assert scores["max_points"] == sum(exercise.points for exercise in of_notebook("01_layouts"))
    assert set(scores["exercises"][0]) == {"id", "title", "points", "max_points", "status", "message", "measurement"}


def test_what_was_not_run_counts_in_neither_sum():
    exercise = Exercise("90.1", "gemm", 3, ())
    scores = Scores((exercise.outcome("passed", 3, ""), exercise.outcome("not_run", 0, "no GPU here")))
    assert (scores.points, scores.max_points, scores.full) == (3, 3, True)
    assert "1 not run" in [column.footer for column in scores.table().columns]


PASSED = {"passed": True, "raised": ""}
RECORD = {"id": "90.1", "status": "passed", "points": 2, "message": "✓ 90.1 answer: 2 points"}


@pytest.mark.parametrize(
    ("record", "seen", "status", "points"),
    [
        ({}, {"judged": 2}, "passed", 2),
        ({}, {"judged": 1}, "failed", 0),
        ({}, {"judged": 2, "passed": False}, "failed", 0),
        ({"points": 1}, {"judged": 2}, "failed", 0),
        ({"points": 50}, {"judged": 2}, "failed", 0),
        ({"points": float("nan")}, {"judged": 2}, "failed", 0),
        ({"status": "partial", "points": 1}, {"judged": 1, "raised": "CheckFailed: …"}, "partial", 1),
        ({"status": "partial", "points": 1}, {"judged": 1}, "error", 0),
        ({"status": "partial", "points": 1.5}, {"judged": 1, "raised": "CheckFailed: …"}, "failed", 0),
        ({"status": "failed", "points": 0}, {"raised": "CheckFailed: …"}, "failed", 0),
        ({"status": "not_run", "points": 0}, {}, "failed", 0),
        ({"status": "not_run", "points": 0}, {"excused": False}, "failed", 0),
        ({"status": "not_run", "points": 0}, {"excused": True}, "not_run", 0),
        ({}, {}, "passed", 2),
        ({"status": "superb"}, {"judged": 2}, "failed", 0),
    ],
)
def test_points_need_record_nbval_and_judge(record, seen, status, points):
    exercise = Exercise("90.1", "answer", 2, ())
    outcome = verdict(exercise, PASSED, {**PASSED, "record": RECORD | record, **seen})
    assert (outcome.status, outcome.points) == (status, points)


# ------------------------------------------------------------------------------------------------ the judge outside


def judge_in_a_thread(tmp_path, exercise, answer, seconds=5.0):
    """Judge an answer that another thread serves."""
    door = tmp_path / "judge.sock"

    def start():
        threading.Thread(target=remote.serve, args=(str(door), answer), daemon=True).start()

    return remote.judge(exercise, door, start, seconds)


def exercise_of(*cases) -> Exercise:
    return Exercise("90.1", "answer", len(cases), cases)


VALUES = [3, 2.5, "text", (1, (2, 3)), [None, True], {"a": 1}, np.int64(3), Layout((4, 3), (3, 1))]
BASE = np.arange(60, dtype=np.float32).reshape(6, 10)
VIEWS = [BASE, BASE.T, BASE[::2, 3:], BASE[::-1], np.broadcast_to(BASE[0], (4, 10))]


def test_values_cross_to_the_judge_and_back(tmp_path):
    cases = [equals(str(value), [(value,)], lambda value: value) for value in VALUES]
    outcome = judge_in_a_thread(tmp_path, exercise_of(*cases), lambda value: value)
    assert outcome.status == "passed", outcome.message


def test_views_keep_their_strides(tmp_path):
    def holds(got, view):
        array, strides = got
        return None if strides == view.strides and np.array_equal(array, view) else "another view"

    case = law("views", [(view,) for view in VIEWS], holds)
    outcome = judge_in_a_thread(tmp_path, exercise_of(case), lambda view: (view, view.strides))
    assert outcome.status == "passed", outcome.message


def test_a_returned_function_is_called_where_it_lives(tmp_path):
    case = law("a function", [(3,)], lambda got, n: None if got(4) == n + 4 else "wrong")
    assert judge_in_a_thread(tmp_path, exercise_of(case), lambda n: lambda m: n + m).status == "passed"
    assert judge_in_a_thread(tmp_path, exercise_of(case), lambda n: lambda m: n - m).status == "failed"


def test_exceptions_cross_by_name(tmp_path):
    def holds_back(answer):
        try:
            answer(3)
        except ZeroDivisionError as error:
            return None if str(error) == "division by zero" else Wrong("another text")
        return Wrong("no exception")

    case = Case("raises", holds_back)
    assert judge_in_a_thread(tmp_path, exercise_of(case), lambda n: n / 0).status == "passed"
    assert judge_in_a_thread(tmp_path, exercise_of(case), lambda n: n).status == "failed"


class Stranger:
    def __eq__(self, other):
        return True


@pytest.mark.parametrize("value", [Stranger(), threading.Lock(), int, np.array([Stranger()])])
def test_other_values_equal_nothing(tmp_path, value):
    case = equals("3", [()], lambda: 3)
    assert judge_in_a_thread(tmp_path, exercise_of(case), lambda: value).status == "failed"


class Poison:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("call", [(os.mkdir, ("poisoned",)), (exec, ("import os; os.mkdir('poisoned')",))])
def test_a_reply_runs_no_code(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(pickle.dumps(Poison(str, ("a",)))) == "a"
    monkeypatch.setattr(remote, "packed", lambda result, functions: pickle.dumps(("returned", Poison(*call))))
    case = equals("3", [()], lambda: 3)
    assert judge_in_a_thread(tmp_path, exercise_of(case), lambda: 3).status == "failed"
    assert not (tmp_path / "poisoned").exists()


def test_the_judge_does_not_wait_for_ever(tmp_path):
    never = threading.Event()
    case = equals("3", [()], lambda: 3)
    with pytest.raises(remote.Lost, match="no result in time"):
        judge_in_a_thread(tmp_path, exercise_of(case), lambda: never.wait(), seconds=0.2)


def test_what_cannot_cross_is_said_so(tmp_path):
    looks_inside = Case("looks inside", lambda answer: answer.kind)
    takes_a_tensor = law("a tensor", [(torch.zeros(3),)], lambda got, tensor: None)
    takes_a_lambda = law("a lambda", [(lambda: 3,)], lambda got, function: None)
    for case in (looks_inside, takes_a_tensor, takes_a_lambda):
        with pytest.raises(remote.CannotCross):
            judge_in_a_thread(tmp_path, exercise_of(case), lambda value: value)


@pytest.mark.parametrize("returned", [Stranger(), lambda: 3])
def test_only_the_exercise_decides_what_cannot_cross(tmp_path, returned):
    """A judge that shows, looks into, or passes on what was returned: none of it may end the judging."""

    def passes_on(answer):
        return None if answer(answer(3)) == 3 else Wrong("no")

    cases = [
        equals("shown", [(3,)], lambda n: n),
        law("looked into", [(3,)], lambda got, n: None if got.kind else "no"),
        law("unpacked", [(3,)], lambda got, n: None if [*got] else "no"),
        Case("passed on", passes_on),
    ]
    for case in cases:
        assert judge_in_a_thread(tmp_path, exercise_of(case), lambda n: returned).status == "failed"

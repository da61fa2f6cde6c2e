"""Reading a submission: which files are notebooks of the course, and the worst case of reading a student's bytes."""

import faulthandler
import json
import os
import re
import selectors
import signal
import time
from dataclasses import replace
from pathlib import Path

import nbformat
import psutil
import pytest
from nbformat import v4
from typer.testing import CliRunner

from tests import strangers as bombs
from tutorlib.cli import app
from tutorlib.grading import limited_process, merged_page, submission
from tutorlib.grading.limited_process import Allowance, Exceeded
from tutorlib.grading.submission import (
    BadSubmission,
    CodeCell,
    Submitted,
    read_notebook,
    read_submission,
)
from tutorlib.paths import NOTEBOOKS


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
        ("work.zip", "PK", "its name should end in .ipynb. (`tutor class` takes zips.)"),
        ("cut.ipynb", START[:700], "not a notebook that Jupyter can open"),
        ("empty.ipynb", "", "not a notebook that Jupyter can open"),
        ("picture.ipynb", "\udcff\udcfe", "not a notebook that Jupyter can open"),
        ("long.ipynb", notebook_of(v4.new_code_cell("#" * 2**22)), "have 4,194,304 characters; 2,097,152 are read"),
        ("list.ipynb", "[1, 2]", "not a notebook that Jupyter can open"),
        ("object.ipynb", '{"cells": 3, "nbformat": 4}', "not a notebook that Jupyter can open"),
        ("other.ipynb", notebook_of(v4.new_code_cell("1 + 1")), "it has no answer cells"),
        ("no-checks.ipynb", without_marks(START).replace("check", "chuck"), "it has no answer cells"),
        ("later.ipynb", START.replace("00.", "77."), "answers notebook 77, which this course does not have"),
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
    ("name", "says"),
    [("gone.ipynb", "cannot be read: No such file or directory."), ("", "there is no notebook in this folder.")],
)
def test_a_missing_file_and_an_empty_folder(tmp_path, name, says):
    result = tutor_grade(tmp_path / name)
    assert (result.exit_code, result.stderr) == (2, f"{tmp_path / name}: {says}\n")


def test_a_notebook_named_twice_is_one_and_of_two_for_one_page_the_newer_counts(tmp_path):
    older, newer = tmp_path / "b.ipynb", tmp_path / "a.ipynb"
    for at, path in enumerate((older, newer)):
        path.write_text(START)
        os.utime(path, (at, at))
    lines: list[str] = []
    assert [submitted.path for submitted in read_submission([newer, older, newer], lines.append)] == [newer]
    assert lines == [f"{older}: left out, because a.ipynb answers 00_start too and is newer."]


WRITTEN = START.replace('raise NotImplementedError(\\"Exercise 00.1\\")', "return 3")


@pytest.mark.parametrize(
    ("older", "newer", "says"),
    [
        (WRITTEN, WRITTEN, "older.ipynb: left out, because newer.ipynb answers 00_start too and is newer."),
        (WRITTEN, START, "newer.ipynb: left out: it is newer than older.ipynb, and nothing is written in it."),
    ],
)
def test_of_two_in_a_folder_the_newer_counts_where_anything_is_written_in_it(tmp_path, older, newer, says):
    (tmp_path / "older.ipynb").write_text(older)
    (tmp_path / "newer.ipynb").write_text(newer)
    os.utime(tmp_path / "older.ipynb", (1, 1))
    lines = []
    (submitted,) = read_submission([tmp_path], lines.append)
    assert lines == [f"{tmp_path}/{says}"]
    assert submitted.path.stem not in says.split(":")[0]


def beside_a_good_one(folder: Path) -> None:
    """What folders hold that come back from students."""
    (folder / "Untitled.ipynb").write_text(notebook_of(v4.new_code_cell("1 + 1")))
    (folder / "cut.ipynb").write_text(START[:700])
    (folder / "._00_start.ipynb").write_bytes(b"\0\5\26\7")
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".ipynb_checkpoints" / "00_start-checkpoint.ipynb").write_text(START)
    (folder / "folder.ipynb").mkdir()
    (folder / "gone.ipynb").symlink_to("nowhere")
    os.mkfifo(folder / "pipe.ipynb")


def test_a_broken_file_costs_itself_and_has_a_line(tmp_path):
    (tmp_path / "mine.IPYNB").write_text(WRITTEN)
    beside_a_good_one(tmp_path)
    lines = []
    (submitted,) = read_submission([tmp_path], lines.append)
    assert (submitted.path.name, submitted.name) == ("mine.IPYNB", "00_start")
    assert sorted(Path(line.split(":")[0]).name for line in lines) == [
        *("Untitled.ipynb", "cut.ipynb", "gone.ipynb", "pipe.ipynb")
    ]


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    result = CliRunner().invoke(app, ["grade", str(NOTEBOOKS / "00_start.ipynb"), "--out", str(tmp_path / "file")])
    assert (result.exit_code, result.stderr) == (2, f"{tmp_path / 'file'}: cannot be created: File exists\n")


def test_a_page_whose_only_answer_cell_is_gone_is_known_by_its_check(tmp_path):
    data = json.loads(WRITTEN)
    data["cells"] = [cell for cell in data["cells"] if cell["metadata"].get("tutorlib", {}).get("role") != "answer"]
    (tmp_path / "00_start.ipynb").write_text(json.dumps(data))
    result = CliRunner().invoke(app, ["grade", str(tmp_path / "00_start.ipynb"), "--format", "json"])
    assert result.exit_code == 1, result.stderr
    assert "its answer cell was deleted" in json.loads(result.stdout)["exercises"][0]["message"]


# Work on a student's bytes, with limits ------------------------------------------------------------------------------

LITTLE = Allowance(computing_s=1, memory=2**28, patience_s=60)


def spin():
    re.match("(a+)+$", "a" * 60 + "b")


def allocate():
    return len(bytearray(2**30))


def crash():
    faulthandler.disable()  # pytest's
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.mark.parametrize(
    ("work", "says"),
    [
        (spin, "needs more than 1 s of computing"),
        (allocate, "needs more than 0.25 GB of memory"),
        (crash, "crashes its reader (SIGSEGV)"),
        (lambda: os._exit(3), "crashes its reader (exit status 3)"),
        (lambda: 1 / 0, "makes its reader fail: ZeroDivisionError"),
    ],
)
def test_work_ends_with_its_process_alone(work, says):
    children = psutil.Process().children()
    with pytest.raises(Exceeded) as raised:
        limited_process.in_child(LITTLE, work)
    assert says in str(raised.value)
    assert psutil.Process().children() == children


def test_work_that_waits_for_something_ends_too():
    with pytest.raises(Exceeded, match="cannot be read in time"):
        limited_process.in_child(replace(LITTLE, patience_s=0.1), time.sleep, 600)


def test_work_gives_records_and_raises_the_course_s_exceptions():
    cell = CodeCell("a", "90.1", "x")
    assert limited_process.in_child(LITTLE, lambda: {"a": (cell, b"1", {2}, Path("x"))}) == {
        "a": (cell, b"1", {2}, Path("x"))
    }
    with pytest.raises(BadSubmission, match="No such file"):
        limited_process.in_child(LITTLE, submission.content_of, Path("/nowhere.ipynb"))


def test_a_waiting_parent_hears_a_signal_and_leaves_no_child():
    class Heard(Exception):
        """What the handler raises. (`selectors` takes an InterruptedError for a wait that found nothing.)"""

    def hear(number, frame):
        if frame.f_code.co_filename == selectors.__file__:  # it waits; an exception raised during os.fork is lost
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise Heard

    before = signal.signal(signal.SIGALRM, hear)
    children = psutil.Process().children()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
        with pytest.raises(Heard):
            limited_process.in_child(replace(LITTLE, computing_s=60), spin)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert psutil.Process().children() == children


# Files ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def little(monkeypatch):
    """Less than what is allowed, so that these tests take seconds: the worst cases would take hours of either."""
    monkeypatch.setattr(submission, "READING", LITTLE)
    monkeypatch.setattr(merged_page, "SORTING", LITTLE)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (bombs.lists_in_lists(), "it needs more than"),
        (b"[" * 2**24, "not a notebook"),
        (b'{"cells": [], "n": ' + b"9" * 2**24 + b"}", "not a notebook"),
        (b"\xff\xfe" * 2**23, "not a notebook"),
    ],
    ids=["lists", "deep", "digits", "letters"],
)
def test_a_file_s_worst_case_costs_the_file(little, content, says):
    with pytest.raises(BadSubmission, match=re.escape(says)) as raised:
        read_notebook(Path("a.ipynb"), content)
    assert str(raised.value).count("\n") == 0


def test_a_larger_file_is_not_read(tmp_path):
    with (tmp_path / "a.ipynb").open("wb") as file:
        file.truncate(submission.LARGEST_NOTEBOOK + 1)
    with pytest.raises(BadSubmission, match=r"larger than 32 MB. Clear its outputs and save it."):
        read_notebook(tmp_path / "a.ipynb")


# Cells ---------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("little")
def test_cells_that_are_read_without_end_cost_their_notebook(monkeypatch):
    def spin_in_c(text):
        re.match("(a+)+$", "a" * 60 + "b")

    monkeypatch.setattr(merged_page, "names_of", spin_in_c)
    found = merged_page.merged_page(Submitted(Path("a.ipynb"), "00_start", (CodeCell("a", "00.1", "x = 1"),)))
    assert found.answers == {}
    assert "this notebook cannot be read: it needs more than 1 s of computing" in found.left_out["00.1"]


def test_honest_pages_are_far_from_their_limits():
    content = json.dumps(v4.new_notebook(cells=[v4.new_code_cell("x = 1\n" * 300_000)])).encode()
    with pytest.raises(BadSubmission, match="it has no answer cells"):
        read_notebook(Path("a.ipynb"), content)
    long = "\n".join(f"x{n} = [{n}, {n}]" for n in range(50_000))
    submitted = Submitted(Path("a.ipynb"), "00_start", (CodeCell("a", "00.1", long),))
    assert merged_page.merged_page(submitted).answers == {"00.1": long}

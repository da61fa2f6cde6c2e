"""Each place where a student's bytes are read, with its worst case: it ends, and says why."""

import faulthandler
import io
import json
import os
import pickle
import re
import selectors
import signal
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from nbformat import v4

from tests import bombs
from tutorlib.grading import limited_process, merged_page, submission
from tutorlib.grading.limited_process import Allowance, Exceeded, Records
from tutorlib.grading.submission import (
    BadSubmission,
    CodeCell,
    Submitted,
    read_notebook,
    read_submission,
)
from tutorlib.paths import NOTEBOOKS

LITTLE = Allowance(computing_s=1, memory=2**28, patience_s=60)
START = (NOTEBOOKS / "00_start.ipynb").read_text()


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
        (lambda: bytes(2**22), "has more in it than is read"),
        (lambda: os.system, "makes its reader fail: UnpicklingError"),
    ],
)
def test_work_ends_with_its_process_alone(work, says):
    children = psutil.Process().children()
    with pytest.raises(Exceeded) as raised:
        limited_process.in_child(replace(LITTLE, size=2**20), work)
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
    with pytest.raises(BadSubmission, match="there is no such file"):
        limited_process.in_child(LITTLE, submission.content_of, Path("/nowhere.ipynb"))


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


@pytest.mark.parametrize("value", [Evil(), os.system, print, submission.read_notebook, Exception("x")])
def test_nothing_but_records_comes_back(value):
    with pytest.raises(pickle.UnpicklingError):
        Records(io.BytesIO(pickle.dumps(value))).load()


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


def test_after_a_few_such_files_no_other_is_read(little, tmp_path):
    bomb = bombs.lists_in_lists()
    for n in range(submission.MOST_EXCEEDED + 2):
        (tmp_path / f"{n}.ipynb").write_bytes(bomb)
        os.utime(tmp_path / f"{n}.ipynb", (n + 2, n + 2))
    (tmp_path / "good.ipynb").write_text(START)
    os.utime(tmp_path / "good.ipynb", (1, 1))
    lines = []
    (submitted,) = read_submission([tmp_path], lines.append)
    assert submitted.path.name == "good.ipynb"
    assert sum("it needs more than" in line for line in lines) == submission.MOST_EXCEEDED
    assert sum("not read, since 3 other files" in line for line in lines) == 2


# Cells ---------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("little")
def test_cells_that_are_read_without_end_cost_their_notebook(monkeypatch):
    def spin_in_c(text):
        re.match("(a+)+$", "a" * 60 + "b")

    monkeypatch.setattr(merged_page, "names_of", spin_in_c)
    found = merged_page.student_code(Submitted(Path("a.ipynb"), "00_start", (CodeCell("a", "00.1", "x = 1"),)))
    assert found.answers == {}
    assert "this notebook cannot be read: it needs more than 1 s of computing" in found.unusable["00.1"]


def test_honest_pages_are_far_from_their_limits():
    content = json.dumps(v4.new_notebook(cells=[v4.new_code_cell("x = 1\n" * 300_000)])).encode()
    with pytest.raises(BadSubmission, match="it has no answer cells"):
        read_notebook(Path("a.ipynb"), content)
    long = "\n".join(f"x{n} = [{n}, {n}]" for n in range(50_000))
    submitted = Submitted(Path("a.ipynb"), "00_start", (CodeCell("a", "00.1", long),))
    assert merged_page.student_code(submitted).answers == {"00.1": long}

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
from tests.grading.test_cells import CHECKS, IMPORT, ONE, SECOND, answer, other, pristine
from tutorlib.grading import limited_process, sorted_cells, submission
from tutorlib.grading.limited_process import Allowance, Exceeded, Records, about
from tutorlib.grading.sorted_cells import sorted_within_limits
from tutorlib.grading.submission import BadSubmission, CodeCell, read_content, read_notebook, read_submission
from tutorlib.paths import NOTEBOOKS

LITTLE = Allowance(computing_s=1, memory=2**28, patience_s=60)
START = (NOTEBOOKS / "00_start.ipynb").read_text()


def spin():
    about("spinning")
    re.match("(a+)+$", "a" * 60 + "b")


def allocate():
    return len(bytearray(2**30))


def crash():
    about("crashing")
    faulthandler.disable()  # pytest's
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.mark.parametrize(
    ("work", "says", "of"),
    [
        (spin, "needs more than 1 s of computing", "spinning"),
        (allocate, "needs more than 0.25 GB of memory", None),
        (crash, "crashes its reader (SIGSEGV)", "crashing"),
        (lambda: os._exit(3), "crashes its reader (exit status 3)", None),
        (lambda: 1 / 0, "makes its reader fail: ZeroDivisionError", None),
        (lambda: bytes(2**22), "has more in it than is read", None),
        (lambda: os.system, "makes its reader fail: UnpicklingError", None),
    ],
)
def test_work_ends_with_its_process_alone(work, says, of):
    children = psutil.Process().children()
    with pytest.raises(Exceeded) as raised:
        limited_process.in_child(replace(LITTLE, size=2**20), work)
    assert says in str(raised.value)
    assert raised.value.about == of
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
    monkeypatch.setattr(sorted_cells, "SORTING", LITTLE)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (bombs.without_marks_and_with_checks(pristine()).encode(), "it needs more than 1 s of computing"),
        (bombs.lists_in_lists(), "it needs more than"),
        (b"[" * 2**24, "not a notebook"),
        (b'{"cells": [], "n": ' + b"9" * 2**24 + b"}", "not a notebook"),
        (b"\xff\xfe" * 2**23, "not a notebook"),
    ],
    ids=["checks", "lists", "deep", "digits", "letters"],
)
def test_a_file_s_worst_case_costs_the_file(little, content, says):
    with pytest.raises(BadSubmission, match=re.escape(says)) as raised:
        read_content(Path("a.ipynb"), content)
    assert str(raised.value).count("\n") == 0


def test_a_larger_file_is_not_read(tmp_path):
    with (tmp_path / "a.ipynb").open("wb") as file:
        file.truncate(submission.LARGEST_NOTEBOOK + 1)
    with pytest.raises(BadSubmission, match=r"larger than 32 MB. Clear its outputs and save it."):
        read_notebook(tmp_path / "a.ipynb")


def test_after_a_few_such_files_no_other_is_read(little, tmp_path):
    bomb = bombs.without_marks_and_with_checks(pristine())
    for n in range(submission.MOST_EXCEEDED + 2):
        (tmp_path / f"{n}.ipynb").write_text(bomb)
        os.utime(tmp_path / f"{n}.ipynb", (n + 2, n + 2))
    (tmp_path / "good.ipynb").write_text(START)
    os.utime(tmp_path / "good.ipynb", (1, 1))
    lines = []
    (submitted,) = read_submission([tmp_path], lines.append)
    assert submitted.path.name == "good.ipynb"
    assert sum("1 s of computing" in line for line in lines) == submission.MOST_EXCEEDED
    assert sum("not read, since 3 other files" in line for line in lines) == 2


# Cells ---------------------------------------------------------------------------------------------------------------

COMPILED = bombs.compiled_twice_each()
SLOW = "needs more than"


def sort(*others):
    return sorted_within_limits([IMPORT, *others, CHECKS[0], SECOND, CHECKS[1]], pristine())


@pytest.mark.parametrize("text", [COMPILED, f"{ONE}\n{COMPILED}", bombs.in_a_function(COMPILED)])
def test_an_answer_that_is_compiled_without_end_costs_its_exercise_alone(little, text):
    found = sort(answer(text))
    assert re.search(r"needs more than|nested too deep, or too long, for Python's parser", found.unusable["90.1"])
    assert found.answers == {"90.2": SECOND.source}


@pytest.fixture
def slow_parser(monkeypatch):
    """A parser that never ends at one word, in C code. Which texts do that depends on Python's version."""

    def parse(text, *args, **kwargs):
        if "bomb" in text:
            spin_in_c()
        return real(text, *args, **kwargs)

    real = sorted_cells.ast.parse
    monkeypatch.setattr(sorted_cells.ast, "parse", parse)


def spin_in_c():
    re.match("(a+)+$", "a" * 60 + "b")


@pytest.mark.parametrize(
    ("others", "answers", "added"),
    [
        ([answer("bomb")], ["90.2"], []),
        ([answer(ONE), answer("bomb", "again")], ["90.2"], []),
        ([answer(ONE), other("bomb")], ["90.1", "90.2"], []),
        ([other("bomb"), answer(ONE), other("x = 1")], ["90.1", "90.2"], ["x = 1"]),
        ([CodeCell("import", "", "import bomb"), answer(ONE)], ["90.1", "90.2"], []),
        ([answer(f'{ONE}\ncheck("90.1", f1)\nbomb')], ["90.2"], []),
    ],
)
def test_a_cell_that_is_parsed_without_end_costs_itself(little, slow_parser, others, answers, added):
    found = sort(*others)
    assert [*found.answers] == answers
    assert [text for texts in found.added.values() for text in texts] == added
    assert all(
        "your answer cannot be read: it needs more than 1 s of computing" in why for why in found.unusable.values()
    )


def test_a_page_full_of_them_ends(little, slow_parser, monkeypatch):
    monkeypatch.setattr(sorted_cells, "MOST_REFUSED", 2)
    found = sort(answer(ONE), *(other(f"bomb + {n}") for n in range(50)))
    assert found.unusable.keys() == {"90.1", "90.2"}
    assert all("this notebook cannot be read: it needs" in why for why in found.unusable.values())


def test_long_names_in_an_error_of_python_s_are_cut(little):
    name = "x" * 5000
    found = sort(answer(f"def f1(n):\n    {name} = 1\n    global {name}"))
    assert len(found.unusable["90.1"]) < 1000


def test_honest_pages_are_far_from_their_limits():
    content = json.dumps(v4.new_notebook(cells=[v4.new_code_cell("x = 1\n" * 300_000)])).encode()
    with pytest.raises(BadSubmission, match="it has no answer cells"):
        read_content(Path("a.ipynb"), content)
    long = "\n".join(f"x{n} = [{n}, {n}]" for n in range(50_000))
    assert sort(answer(f"{long}\n{ONE}")).answers.keys() == {"90.1", "90.2"}

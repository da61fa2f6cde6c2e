"""Hand-ins that make their readers compute or allocate without end: the others are graded, and the command can be ended
at any moment.
"""

import os
import re
import resource
import signal
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests import bombs
from tests.classroom.a_class import RIGHT, left_running, points_in, start
from tests.classroom.test_handed_in import zip_of
from tests.trial_course import Course, make_course
from tutorlib.classroom import hand_in_files, reports, similar_answers
from tutorlib.classroom.class_run import content_hash
from tutorlib.classroom.gradebook import Submission
from tutorlib.classroom.grades import Grade, grades_of
from tutorlib.classroom.hand_in_files import UNPACKING, Files, files_of
from tutorlib.classroom.handed_in import HandedIn, handed_in
from tutorlib.classroom.roster import enrolled
from tutorlib.classroom.task import Graded

BOMB = bombs.in_a_function(bombs.compiled_twice_each())
LITTLE = replace(UNPACKING, computing_s=1, memory=2**26)


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return make_course(tmp_path_factory.mktemp("course"), {90: 2})


@pytest.fixture(scope="module")
def hand_ins(course, tmp_path_factory) -> Path:
    """A class in which more students hand in bombs than there are workers."""
    folder = tmp_path_factory.mktemp("class")
    for student, text in {"ann": RIGHT, "bob": BOMB, "cyd": BOMB, "dan": BOMB, "zoe": RIGHT}.items():
        (folder / student).mkdir()
        course.submit(folder / student, 90, {1: text.replace("{k}", "1"), 2: RIGHT.format(k=2)})
    (folder / "eve.zip").write_bytes(bombs.swelling(zipfile.ZIP_BZIP2))
    (folder / "fay.zip").write_bytes(bombs.swelling(zipfile.ZIP_LZMA))
    return folder


def test_they_cost_themselves(course, hand_ins, tmp_path):
    done = course.tutor("class", hand_ins, "--out", tmp_path, "--workers", 2)
    assert done.returncode == 0, done.stderr
    half, full = {"90.1": 0.0, "90.2": 2.0}, {"90.1": 2.0, "90.2": 2.0}
    assert points_in(tmp_path) == {"ann": full, "bob": half, "cyd": half, "dan": half, "zoe": full}
    for zipped in ("eve: eve.zip", "fay: fay.zip"):
        assert f"{zipped}/00_start.ipynb: packed in an unusual way; ask for an ordinary zip." in done.stderr


def forked(grader: psutil.Popen, below: int) -> bool:
    """Whether the command has so many generations below it: 2 are a fork server and a worker, 3 a reader or pytest."""
    found = [grader]
    for _ in range(below):
        found = [child for one in found for child in children(one)]
    return bool(found)


def children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children()
    except psutil.Error:
        return []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("below", [1, 2, 3])
def test_a_class_of_bombs_is_ended_at_any_moment(course, hand_ins, tmp_path, number, below):
    """While hand-ins are unpacked, while workers start, while they read: nothing of it is left."""
    with start(course, hand_ins, "--out", tmp_path, "--workers", 2) as grader:
        while not forked(psutil.Process(grader.pid), below):
            assert grader.poll() is None
            time.sleep(0.02)
        time.sleep(0.5)
        grader.send_signal(number)
        said, errors = grader.communicate(timeout=60)
    assert left_running(course) == []
    if number != signal.SIGKILL and grader.returncode:  # on a busy machine all may be graded before the signal comes
        assert (grader.returncode, said) == (128 + number, "")
        assert errors == "Ended. What was graded is in the gradebook; run this again, and it goes on.\n"


# Each place where the command itself would read -----------------------------------------------------------------------


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED])
def test_what_swells_does_so_in_another_process(tmp_path, monkeypatch, packing):
    monkeypatch.setattr(hand_in_files, "UNPACKING", LITTLE)
    (tmp_path / "eve.zip").write_bytes(bombs.swelling(packing))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ((eve,), _) = handed_in(tmp_path)
    files = files_of(eve)
    assert files.notebooks == ()
    assert re.fullmatch(r"eve\.zip/00_start\.ipynb: (packed in an unusual way.*|larger than 32 MB.)", files.notes[0])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 2**16  # kB


def test_what_has_too_much_in_it_has_a_line_and_the_neighbor_is_read(tmp_path, monkeypatch):
    (tmp_path / "eve.zip").write_bytes(zip_of({f"{n}.ipynb": bytes(2**16) for n in range(40)}))
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "00_start.ipynb").write_text("{}")
    monkeypatch.setattr(hand_in_files, "UNPACKING", replace(UNPACKING, size=2**20))
    ann, eve = (files_of(one) for one in handed_in(tmp_path)[0])
    assert eve.notes == ("None of the files is read: reading them has more in it than is read.",)
    assert (ann.notebooks, ann.notes) == ((("ann/00_start.ipynb", b"{}"),), ())
    assert content_hash(eve, "") not in (content_hash(eve, "another version"), content_hash(Files(), ""))


def test_an_answer_that_keeps_the_lexer_busy_costs_its_own_lines(monkeypatch):
    def lexed(text):
        while text == "bomb":
            pass
        return {text: {1}}

    monkeypatch.setattr(similar_answers, "statements", lexed)
    monkeypatch.setattr(similar_answers, "LEXING", replace(similar_answers.LEXING, computing_s=1))
    assert similar_answers.statements_of(["bomb", "a = 1"]) == {"": {"": {1}}, "a = 1": {"a = 1": {1}}, "bomb": {}}


def test_a_page_whose_answers_cannot_be_highlighted_has_none():
    here = os.getpid()

    def page(grades):
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"answers: {len(grades[0].submission.graded.answers)}"

    assert reports.page_in_child(page, [graded_once()]) == "answers: 0"


def graded_once() -> Grade:
    submission = Submission("ann", "", None, None, "", Graded(answers=(("00.1", "bomb"),)))
    students, _ = enrolled([HandedIn("ann", "", "")], [])
    (grade,) = grades_of(students, {"ann": submission}, ("00_start",)).grades
    return grade

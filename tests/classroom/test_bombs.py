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
from tests.classroom.test_handed_in import notes, zip_of
from tests.trial_course import Course, make_course
from tutorlib.classroom import class_run, reports, similar_answers
from tutorlib.classroom import handed_in as handed_in_module
from tutorlib.classroom.gradebook import Submission
from tutorlib.classroom.grades import Grade, grades_of
from tutorlib.classroom.hand_in_files import UNPACKING
from tutorlib.classroom.handed_in import HandedIn, handed_in
from tutorlib.classroom.roster import enrolled
from tutorlib.classroom.task import Graded, times_of
from tutorlib.grading.submission import Submitted

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
    assert re.search(r"eve: eve\.zip/00_start\.ipynb: (cannot be unpacked|larger than 32 MB)", done.stderr)
    assert re.search(r"fay: fay\.zip/00_start\.ipynb: (cannot be unpacked|larger than 32 MB)", done.stderr)


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


@pytest.fixture
def little(monkeypatch):
    for module in (handed_in_module, class_run):
        monkeypatch.setattr(module, "UNPACKING", LITTLE)


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED])
def test_what_swells_does_so_in_another_process(tmp_path, little, packing):
    (tmp_path / "eve.zip").write_bytes(bombs.swelling(packing))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ((eve,), _) = handed_in(tmp_path)
    files = class_run.files_of(eve, "")
    assert files.read == ()
    assert re.search(
        r"eve\.zip/00_start\.ipynb: (cannot be unpacked: it needs more memory|larger than 32 MB)", files.notes[0]
    )
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 2**16  # kB


def long_list(files: int = 60_000) -> bytes:
    return zip_of({f".git/{n}": b"" for n in range(files)} | {"00_start.ipynb": b"{}"})


def test_what_has_too_much_in_it_has_a_line_and_the_neighbor_is_read(tmp_path, little, monkeypatch):
    content = long_list()
    for name in ("eve.zip", "joe.zip"):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "joe.zip").rename(tmp_path / "Joe_7_assignsubmission_file_work.zip")
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "00_start.ipynb").write_text("{}")
    monkeypatch.setattr(class_run, "UNPACKING", UNPACKING)
    monkeypatch.setattr(handed_in_module, "UNPACKING", replace(UNPACKING, size=1))
    students, stray = handed_in(tmp_path)
    assert stray == []
    assert {one.student: len(one.notebooks) for one in students} == {"Joe": 0, "ann": 1, "eve": 0}
    lines = notes(tmp_path)
    assert len(lines) == 2
    assert all(re.search("unpacking (it|them) has more in it than is read", line) for line in lines), lines
    assert [class_run.files_of(one, "").read for one in students if one.student == "ann"] == [
        (("ann/00_start.ipynb", b"{}"),)
    ]


def test_files_that_cannot_be_read_have_a_hash_of_their_own(tmp_path, monkeypatch):
    (tmp_path / "eve").mkdir()
    (tmp_path / "eve" / "00_start.ipynb").write_text("{}")
    ((eve,), _) = handed_in(tmp_path)
    monkeypatch.setattr(class_run, "UNPACKING", replace(LITTLE, size=1))
    files = class_run.files_of(eve, "")
    assert files.notes == ("None of the files is read: unpacking them has more in it than is read.",)
    assert files.content == class_run.files_of(eve, "").content != class_run.files_of(eve, "another version").content


def test_tries_are_looked_for_in_another_process():
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    submitted = Submitted(Path("a.ipynb"), "00_start", ())
    assert times_of({submitted: bombs.lists_in_lists()}, 0.0) == ()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 2**16  # kB


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

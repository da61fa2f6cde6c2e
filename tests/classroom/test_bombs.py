"""Hand-ins that make their readers compute or allocate without end: the others are graded, and the command can be ended
at any moment.
"""

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
from tutorlib.classroom import hand_ins as reading
from tutorlib.classroom.class_run import content_hash
from tutorlib.classroom.hand_ins import UNPACKING, Files, files_of, handed_in

BOMB = bombs.in_a_function(bombs.compiled_twice_each())
LITTLE = replace(UNPACKING, computing_s=1, memory=2**26)


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return make_course(tmp_path_factory.mktemp("course"), {90: 2})


@pytest.fixture(scope="module")
def hand_ins(course, tmp_path_factory) -> Path:
    """A class in which more students hand in bombs than are graded at a time."""
    folder = tmp_path_factory.mktemp("class")
    for student, text in {"ann": RIGHT, "bob": BOMB, "cyd": BOMB, "dan": BOMB, "zoe": RIGHT}.items():
        (folder / student).mkdir()
        course.submit(folder / student, 90, {1: text.replace("{k}", "1"), 2: RIGHT.format(k=2)})
    (folder / "eve.zip").write_bytes(bombs.swelling(zipfile.ZIP_BZIP2))
    return folder


def test_they_cost_themselves(course, hand_ins, tmp_path):
    done = course.tutor("class", hand_ins, "--out", tmp_path, "--workers", 2)
    assert done.returncode == 0, done.stderr
    half, full = {"90.1": 0.0, "90.2": 2.0}, {"90.1": 2.0, "90.2": 2.0}
    assert points_in(tmp_path) == {"ann": full, "bob": half, "cyd": half, "dan": half, "zoe": full}
    assert "eve: eve.zip/00_start.ipynb: larger than 32 MB." in done.stderr


def forked(grader: psutil.Popen, below: int) -> bool:
    """Whether the command has so many generations below it: 1 is a reader or a judge, 2 a page's process."""
    found = [grader]
    for _ in range(below):
        found = [child for one in found for child in children(one)]
    return bool(found)


def children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children()
    except psutil.Error:
        return []


@pytest.mark.parametrize(("number", "below"), [(signal.SIGKILL, 1), (signal.SIGTERM, 2)])
def test_a_class_of_bombs_is_ended_at_any_moment(course, hand_ins, tmp_path, number, below):
    """While hand-ins are unpacked, while they are read, while they are judged: nothing of it is left."""
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


def test_what_has_too_much_in_it_has_a_line_and_the_neighbor_is_read(tmp_path, monkeypatch):
    (tmp_path / "eve.zip").write_bytes(zip_of({f"{n}.ipynb": bytes(2**16) for n in range(40)}))
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "00_start.ipynb").write_text("{}")
    monkeypatch.setattr(reading, "UNPACKING", replace(UNPACKING, size=2**20))
    ann, eve = (files_of(one) for one in handed_in(tmp_path)[0])
    assert eve.notes == ("None of the files is read: reading them has more in it than is read.",)
    assert (ann.notebooks, ann.notes) == ((("ann/00_start.ipynb", b"{}"),), ())
    assert content_hash(eve, "") not in (content_hash(eve, "another version"), content_hash(Files(), ""))

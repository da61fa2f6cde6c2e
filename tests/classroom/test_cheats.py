"""The table of cheats against `tutor class`: in one class with honest students graded before, beside and after them.

Everybody hands in page 60. A few cheats of different kinds stand for all of them unless TUTORLIB_LONG is set.
"""

import os
import re
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests import outer_sandbox
from tests.classroom.a_class import points_in
from tests.honest.answers import PLAIN
from tests.strangers import FULL, KINDS, HandIn, answered, cheats, contents, of_cheats, saved, strangers_course

TIMEOUT = 10  # seconds for a cell
EVERY = 12  # cheats between two honest students
SAMPLE = ("forging/forged_record", "harming/deleted_neighbors", "reading/hints")
LONG = bool(os.environ.get("TUTORLIB_LONG"))
STOPPED_BY = {cheat.name: cheat.stopped_by for kind in KINDS for cheat in cheats(kind)}
CHEATS = [cheat for cheat in of_cheats() if LONG or cheat.name.removeprefix("cheats/") in SAMPLE]

pytestmark = pytest.mark.skipif(bool(outer_sandbox.why_not()), reason="needs the right to build an outer sandbox")


def a_class() -> dict[str, HandIn | None]:
    """Student → the cheat that is handed in, None for an honest one's right answers. Graded in this order."""
    students: dict[str, HandIn | None] = {"0000 honest": None}
    for n, cheat in enumerate(CHEATS, 1):
        students[f"{n:04} {cheat.name.replace('/', ' ')}"] = cheat
        if n % EVERY == 0:
            students[f"{n:04}+ honest"] = None
    return students | {"9999 honest": None}


STUDENTS = a_class()


@pytest.fixture(scope="module")
def out(tmp_path_factory) -> Path:
    """The class graded. Neither course nor hand-ins are changed, no file is left, and no process."""
    root = tmp_path_factory.mktemp("attacked")
    course = strangers_course(root / "course")
    folder, temporary, left = root / "hand-ins", root / "tmp", root / "left"
    temporary.mkdir()
    page = course.student(60)
    for student, cheat in STUDENTS.items():
        (folder / student).mkdir(parents=True)
        if cheat:
            cheat.write(page, folder / student)
        else:
            saved(answered(page, PLAIN, PLAIN), folder / student)
    before = contents(course.root), contents(folder)
    outer = partial(outer_sandbox.within, left=left)
    args = ("class", folder, "60", "--out", root / "out", "--timeout", TIMEOUT)
    done = course.tutor(*args, around=outer, limit_s=7200, TMPDIR=str(temporary))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert not left.read_text().split()
    assert not list(temporary.iterdir())
    assert (contents(course.root), contents(folder)) == before
    return root / "out"


@pytest.fixture(scope="module")
def graded(out) -> dict[str, dict[str, float]]:
    """Student → exercise → points."""
    return points_in(out)


@pytest.fixture(scope="module")
def told(out) -> dict[str, str]:
    """Student → what is said of the first answer."""
    with closing(sqlite3.connect(out / "gradebook.sqlite")) as db:
        return dict(db.execute("select student, message from outcomes where exercise = '60.1'"))


@pytest.mark.parametrize("student", STUDENTS)
def test_everybody_in_the_class_gets_what_they_deserve(graded, student):
    cheat = STUDENTS[student]
    deserved = cheat.deserves if cheat else FULL
    assert tuple(graded[student].values()) == deserved


@pytest.mark.parametrize("student", [student for student, cheat in STUDENTS.items() if cheat])
def test_no_attack_fails_of_itself(told, student):
    """Its cell runs to its end, or is stopped by what the sandbox hides."""
    fails = re.match(r"your cell fails: (\w+)", told[student])
    stopped_by = STOPPED_BY[STUDENTS[student].name.removeprefix("cheats/")]
    assert not fails or fails[1] == stopped_by, told[student]

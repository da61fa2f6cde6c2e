"""A disk that runs full: the gradebook is whole each time, and with room again the end is an undisturbed run's."""

import random
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests import outer_sandbox
from tests.classroom.a_class import hand_in, points_in
from tests.trial_course import Course, make_course

SIZES = {90: 3}
STUDENTS = 3
SCRIPT = """
full=$1 kept=$2 size=$3; shift 3
mount -t tmpfs -o size=$size tmpfs "$full" || exit 126
"$@"; status=$?
cp -a "$full/." "$kept" || exit 126
exit $status
"""

pytestmark = pytest.mark.skipif(bool(outer_sandbox.why_not()), reason="needs the right to mount a small disk")


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return make_course(tmp_path_factory.mktemp("course"), SIZES)


def on_a_small_disk(folder: Path, size: str, kept: Path) -> Callable[[list[str]], list[str]]:
    """Runs a command while a folder is a disk of this size; what is there in the end stays in `kept`."""
    apart = ("unshare", "--user", "--map-root-user", "--mount")
    return lambda command: [*apart, "sh", "-c", SCRIPT, "sh", str(folder), str(kept), size, *command]


def graded_in(out: Path) -> dict[str, dict[str, float]]:
    """Student → exercise → points, of those whose grading came to its end. The disk may have been full at once."""
    if not (out / "gradebook.sqlite").exists():
        return {}
    with closing(sqlite3.connect(out / "gradebook.sqlite")) as db:
        if not db.execute("select name from sqlite_master where name = 'notes'").fetchall():  # the last table
            return {}
        unfinished = {student for (student,) in db.execute("select student from submissions where failed != ''")}
    return {student: points for student, points in points_in(out).items() if student not in unfinished}


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder whose name is short enough for the grader's sockets."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.parametrize(
    ("place", "size"),
    [
        ("out", "112k"),
        *(pytest.param("out", size, marks=pytest.mark.long) for size in ("4k", "16k", "80k", "144k")),
        *(pytest.param("scratch", size, marks=pytest.mark.long) for size in ("4k", "24k", "32k")),
    ],
)
def test_the_gradebook_is_whole_on_a_full_disk(course, tmp_path, scratch, place, size):
    rng = random.Random(f"{place} {size}")
    due = {f"s{n}": hand_in(course, tmp_path / "class", f"s{n}", SIZES, rng) for n in range(STUDENTS)}
    kept, out = tmp_path / "kept", tmp_path / "out"
    for folder in (kept, out):
        folder.mkdir()
    small = on_a_small_disk(out if place == "out" else scratch, size, kept)
    done = course.tutor("class", tmp_path / "class", "--out", out, around=small, TMPDIR=str(scratch))
    assert done.returncode in (1, 2), done.stderr
    assert "Traceback" not in done.stderr
    out = kept if place == "out" else out
    so_far = graded_in(out)
    assert so_far == {student: due[student] for student in so_far}
    done = course.tutor("class", tmp_path / "class", "--out", out)
    assert done.returncode == 0, done.stderr
    assert points_in(out) == due

"""A disk that runs full: the gradebook is whole each time, and with room again the end is an undisturbed run's."""

import random
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import outer_sandbox
from tests.classroom.a_class import RIGHT, hand_in, points_in
from tests.trial_course import Course, make_course
from tutorlib.classroom import task
from tutorlib.classroom.task import Settings, Task, check_room, grade_task
from tutorlib.grading import sandbox

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
        if not db.execute("pragma user_version").fetchone()[0]:
            return {}
        failed = "select student from submissions where json_extract(graded, '$.failed') != ''"
        unfinished = {student for (student,) in db.execute(failed)}
    return {student: points for student, points in points_in(out).items() if student not in unfinished}


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder whose name is short enough for the grader's sockets."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def test_a_full_temporary_folder_is_one_line(course, tmp_path, scratch):
    hand_in(course, tmp_path / "class", "ann", SIZES, random.Random(1))
    small = on_a_small_disk(scratch, "64k", tmp_path)
    done = course.tutor("class", tmp_path / "class", "--out", tmp_path / "out", around=small, TMPDIR=str(scratch))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f"{scratch}: less than 64 MB are free; let TMPDIR name a folder on a disk with more room.\n")
    assert not (tmp_path / "out").exists()


FILLS = """
kept = []
for n in range(400):
    kept.append(open(f"file-{n}", "wb"))
    os.unlink(kept[-1].name)
    kept[-1].write(bytes(2**24))
"""


@pytest.mark.skipif(bool(sandbox.why_open()), reason="needs bubblewrap")
def test_who_fills_a_disk_costs_the_class_nothing(course, tmp_path, scratch):
    """Files that no folder names, on a disk of 200 MB: they are in the sandbox's memory, and no one else's."""
    due = {f"s{n}": hand_in(course, tmp_path / "class", f"s{n}", SIZES, random.Random(n)) for n in range(4)}
    (tmp_path / "class" / "filler").mkdir()
    course.submit(tmp_path / "class" / "filler", 90, {1: f"import os\n{FILLS}", 2: RIGHT.format(k=2)})
    small = on_a_small_disk(scratch, "200m", tmp_path / "kept")
    (tmp_path / "kept").mkdir()
    done = course.tutor("class", tmp_path / "class", "--out", tmp_path / "out", around=small, TMPDIR=str(scratch))
    assert done.returncode == 0, done.stderr
    points = points_in(tmp_path / "out")
    assert points == due | {"filler": {"90.1": 0, "90.2": 2, "90.3": 0}}


def test_what_was_graded_while_the_disk_became_full_does_not_count(monkeypatch):
    room = iter([2**40, 0])
    monkeypatch.setattr(task.shutil, "disk_usage", lambda _: SimpleNamespace(free=next(room)))
    check_room()
    with pytest.raises(OSError, match="less than 64 MB are free"):
        grade_task(Task("ann", (), None, Settings()))


@pytest.mark.parametrize(
    "size", ["64k", *(pytest.param(size, marks=pytest.mark.long) for size in ("4k", "16k", "48k", "80k"))]
)
def test_the_gradebook_is_whole_on_a_full_disk(course, tmp_path, scratch, size):
    rng = random.Random(size)
    due = {f"s{n}": hand_in(course, tmp_path / "class", f"s{n}", SIZES, rng) for n in range(STUDENTS)}
    kept, out = tmp_path / "kept", tmp_path / "out"
    for folder in (kept, out):
        folder.mkdir()
    small = on_a_small_disk(out, size, kept)
    done = course.tutor("class", tmp_path / "class", "--out", out, around=small, TMPDIR=str(scratch))
    assert done.returncode in (1, 2), done.stderr
    assert "Traceback" not in done.stderr
    so_far = graded_in(kept)
    assert so_far == {student: due[student] for student in so_far}
    done = course.tutor("class", tmp_path / "class", "--out", kept)
    assert done.returncode == 0, done.stderr
    assert points_in(kept) == due

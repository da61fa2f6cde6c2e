"""Python files that a class hands in beside its notebooks."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.classroom.a_class import points_in
from tests.classroom.test_handed_in import zip_of
from tests.trial_course import Course, make_course

ANSWERS = {1: "from helpers import one\n\n\ndef answer(n):\n    return n + one"}
HELPERS = "one = 1\n"


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return make_course(tmp_path_factory.mktemp("course"), {90: 1})


def notes(out: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    with closing(sqlite3.connect(out / "gradebook.sqlite")) as db:
        for student, line in db.execute("select student, line from notes"):
            found.setdefault(student, []).append(line)
    return found


def graded_at(out: Path) -> dict[str, str]:
    with closing(sqlite3.connect(out / "gradebook.sqlite")) as db:
        return dict(db.execute("select student, utc from submissions"))


def test_they_are_taken_along_from_folders_zips_and_downloads(course, tmp_path):
    notebook = course.submit(tmp_path, 90, ANSWERS)
    folder = tmp_path / "class"
    places = {
        "ann": ("ann/90_trial.ipynb", "ann/helpers.py"),
        "Bob": ("Bob_7_assignsubmission_file_/90_trial.ipynb", "Bob_7_assignsubmission_file_/helpers.py"),
        "cy": ("cy_12_34_90_trial.ipynb", "cy_12_35_helpers-1.py"),
        "none": ("none/90_trial.ipynb", "none/helper.py"),
        "apart": ("apart/a/90_trial.ipynb", "apart/b/helpers.py"),
    }
    for one, module in places.values():
        for name, source in ((one, notebook.read_bytes()), (module, HELPERS.encode())):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(source)
    (folder / "ann" / "data.csv").touch()
    members = {"w/90_trial.ipynb": notebook.read_bytes(), "w/helpers.py": HELPERS.encode(), "w/torch.py": b"1 / 0"}
    (folder / "dan.zip").write_bytes(zip_of(members))
    out = tmp_path / "out"
    done = course.tutor("class", folder, "--out", out)
    assert done.returncode == 0, done.stderr
    points = {student: of["90.1"] for student, of in points_in(out).items()}
    assert points == {"ann": 2, "Bob": 2, "cy": 2, "dan": 2, "none": 0, "apart": 0}
    assert notes(out) == {
        "ann": [
            "not taken along: ann/data.csv. The grader takes notebooks, and Python files beside a notebook, 20 at most "
            "of 256 kB each."
        ]
    }
    before = graded_at(out)
    (folder / "ann" / "helpers.py").write_text("one = 2\n")
    shutil.copy(folder / "ann" / "helpers.py", folder / "none")
    assert course.tutor("class", folder, "--out", out).returncode == 0
    assert {student: of["90.1"] for student, of in points_in(out).items()} == points | {"ann": 0, "none": 0}
    after = graded_at(out)
    assert {student for student in before if before[student] != after[student]} == {"ann", "none"}

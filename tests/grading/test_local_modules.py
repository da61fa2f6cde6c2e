"""Python files beside a notebook: its cells can import them, and no other process does."""

import json
from pathlib import Path

import pytest

from tests.trial_course import Course, make_course
from tutorlib.grading import local_modules
from tutorlib.grading.local_modules import below, modules_beside, writing

HELPERS = "from pkg.inner import one\n\n\ndef plus(n, k):\n    return n + k * one\n"
ANSWERS = {
    1: "def answer(n):\n    from helpers import plus\n    return plus(n, 1)",
    2: "import helpers\n\n\ndef answer(n):\n    return helpers.plus(n, 2)",
    3: "import json\n\n\ndef answer(n):\n    return json.loads(json.dumps(n)) + 3",
    4: "from helpers_2 import nothing\n\n\ndef answer(n):\n    return n + 4",
}
HOSTILE = "raise SystemExit('a module of the student was imported')\n"


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return make_course(tmp_path_factory.mktemp("course"), {90: 4, 91: 1})


def submission(course: Course, folder: Path) -> Path:
    """A folder with a notebook, its modules, names of the course's and of libraries, and a table."""
    (folder / "pkg").mkdir(parents=True)
    course.submit(folder, 90, ANSWERS)
    course.submit(folder, 91, {1: "def answer(n):\n    return n + 1"})
    (folder / "helpers.py").write_text(HELPERS)
    (folder / "pkg" / "inner.py").write_text("one = 1\n")
    for name in ("json", "torch", "tutorlib", "numpy", "pytest", "nbval", "conftest", "sitecustomize", "usercustomize"):
        (folder / f"{name}.py").write_text(HOSTILE)
    (folder / "data.csv").write_text("1,2\n")
    (folder / "90_trial.py").write_text("# jupytext's\n")
    return folder


@pytest.mark.parametrize("sandboxed", ["--sandbox", "--no-sandbox"])
def test_a_folder_s_modules_go_with_its_notebooks(course, tmp_path, sandboxed):
    done = course.tutor("grade", submission(course, tmp_path / "work"), "--format", "json", sandboxed)
    outcomes = json.loads(done.stdout)["exercises"]
    assert [one["points"] for one in outcomes] == [2, 2, 2, 0, 2], outcomes
    assert "No module named 'helpers_2'" in outcomes[3]["message"]
    line, *progress = done.stderr.splitlines()
    assert not [more for more in progress if not more.startswith("graded ")]
    assert line.startswith(
        f"{tmp_path / 'work'}: not taken along: data.csv. The grader takes notebooks, and Python files"
    )


def test_a_notebook_that_is_named_goes_alone(course, tmp_path):
    folder = submission(course, tmp_path / "work")
    done = course.tutor("grade", folder / "90_trial.ipynb", "--format", "json")
    outcomes = json.loads(done.stdout)["exercises"]
    assert [one["points"] for one in outcomes] == [0, 0, 2, 0]
    assert "No module named 'helpers'" in outcomes[1]["message"]


def test_what_is_too_much_is_said(tmp_path):
    notebook = tmp_path / "week" / "00_start.ipynb"
    (tmp_path / "week" / ".hidden").mkdir(parents=True)
    for n in range(local_modules.MOST_MODULES + 2):
        (tmp_path / "week" / f"m{n:02}.py").touch()
    (tmp_path / "week" / "m00.py").write_bytes(b"#" * (local_modules.LARGEST_MODULE + 1))
    (tmp_path / "week" / ".hidden" / "x.py").touch()
    (tmp_path / "week" / "link.py").symlink_to("/etc/passwd")
    (tmp_path / "above.py").touch()
    lines = []
    found = modules_beside([notebook], tmp_path, lines.append)
    assert [name for name, _ in found[notebook]] == [f"m{n:02}.py" for n in range(1, local_modules.MOST_MODULES + 1)]
    (line,) = lines
    assert "not taken along: above.py, week/m00.py, week/m21.py." in line


def test_of_a_class_s_files_those_below_the_notebook():
    modules = (("eve.zip/a/x.py", b"1"), ("eve.zip/a/b/y.py", b"2"), ("eve.zip/z.py", b"3"), ("eve.zip/a/x.py", b"4"))
    assert below(Path("eve.zip/a/00_start.ipynb"), modules) == (("x.py", b"4"), ("b/y.py", b"2"))


def test_the_cell_that_writes_them_leaves_no_name_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(writing((("a.py", b"\xff\x00'\\"), ("p/q/b.py", b"x = 1\n"))), names)
    assert names.keys() == {"__builtins__"}
    assert (tmp_path / "a.py").read_bytes() == b"\xff\x00'\\"
    assert (tmp_path / "p" / "q" / "b.py").read_bytes() == b"x = 1\n"

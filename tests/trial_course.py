"""A course of its own for tests: tiny exercises, registered in this process or in a copy of tutorlib with notebooks.

Every exercise asks for `answer(n)`, which returns n + k in exercise k: one case of small numbers and one of large.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from tutorlib import exercises
from tutorlib.grading import sandbox
from tutorlib.paths import ROOT

EXERCISES = """
from tutorlib.checking.values import ValueExercise, equals
from tutorlib.failure import Fail


def exercise(k):
    cases = tuple(equals(name, [(n,) for n in calls], lambda n: n + k) for name, calls in CALLS.items())
    hints = ("Add.", "Add a number.", f"n + {{k}}")
    remedies = {{Fail.CASE(name="large"): "Large numbers add alike."}}
    return ValueExercise(
        id=f"{number}.{{k}}", title="answer", points=2, cases=cases, hints=hints, remedies=remedies
    )


CALLS = {{"small": range(3), "large": (2**70, 10**9)}}
EXERCISES = tuple(exercise(k) for k in range(1, {count} + 1))
"""
START = "# %%\nfrom tutorlib import check\n"
EXERCISE = """
# %%
def answer(n):
    ### BEGIN SOLUTION (about 1 line)
    return n + {k}
    ### END SOLUTION


# %%
check("{number}.{k}", answer)
"""


@contextmanager
def registered(folder: Path, modules: dict[str, str]) -> Iterator[None]:
    """While open, the registry of this process has these modules of exercises, name → text, not the course's."""
    folder.mkdir()
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exercises, "__path__", [str(folder)])
        forget_exercises()
        try:
            yield
        finally:
            for name in modules:
                sys.modules.pop(f"{exercises.__name__}.{name}", None)
    forget_exercises()


def forget_exercises() -> None:
    for cached in (exercises.pages, exercises.of_notebook, exercises.find):
        cached.cache_clear()


@dataclass(frozen=True)
class Course:
    """A copy of tutorlib with solutions and notebooks of its own."""

    root: Path

    def tutor(
        self, *args: object, around: Callable = list, limit_s: float = 1200, **env: str
    ) -> subprocess.CompletedProcess:
        """`tutor` of this course, as a command. around: takes the command, gives another one that runs it."""
        if args[0] in ("grade", "class") and sandbox.why_open():
            args = (*args, "--no-sandbox")
        env = {**os.environ, "PYTHONPATH": str(self.root), **env}
        command = [sys.executable, "-m", "tutorlib", *map(str, args)]
        return subprocess.run(around(command), cwd=self.root, env=env, capture_output=True, text=True, timeout=limit_s)

    def student(self, number: int) -> NotebookNode:
        return nbformat.read(self.root / "notebooks" / f"{number}_trial.ipynb", as_version=4)

    def submit(self, folder: Path, number: int, answers: dict[int, str]) -> Path:
        """Write the students' notebook with these answers, exercise k → text of its cell, into a folder."""
        notebook = self.student(number)
        for k, text in answers.items():
            cell(notebook, f"answer-{number}-{k}").source = text
        path = folder / f"{number}_trial.ipynb"
        nbformat.write(notebook, path)
        return path


def make_course(root: Path, sizes: dict[int, int], exercises: str = EXERCISES, exercise: str = EXERCISE) -> Course:
    """A course with a notebook for each of `sizes`: number → how many exercises.

    exercises, exercise: the texts of a module of exercises, and of an answer's cell and its check.
    """
    package = root / "tutorlib"
    shutil.copytree(ROOT / "tutorlib", package, ignore=shutil.ignore_patterns("__pycache__", "p[0-9][0-9].py"))
    (root / "solutions").mkdir()
    (root / "notebooks").mkdir()
    (root / "docs").mkdir()
    for name in ("README.md", "docs/results.md"):
        (root / name).write_text("<!-- begin table -->\n<!-- end table -->\n")
    shutil.copy(ROOT / "pyproject.toml", root)
    for number, count in sizes.items():
        module = package / "exercises" / f"p{number}.py"
        module.write_text(exercises.format(number=number, count=count), encoding="utf-8")
        cells = [exercise.format(number=number, k=k) for k in range(1, count + 1)]
        (root / "solutions" / f"{number}_trial.py").write_text(START + "".join(cells))
    course = Course(root)
    built = course.tutor("build")
    assert built.returncode == 0, built.stderr
    return course


def cell(notebook: NotebookNode, id: str) -> NotebookNode:
    return next(cell for cell in notebook.cells if cell.id == id)

"""A course of its own for the tests of grading: a copy of tutorlib with notebooks of tiny exercises.

Every exercise asks for `answer(n)`, which returns n + k in exercise k: one case of small numbers and one of large.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tutorlib.course import ROOT

EXERCISES = """
from tutorlib.exercise import Exercise, equals


def exercise(k):
    cases = [equals(name, [(n,) for n in calls], lambda n: n + k) for name, calls in CALLS.items()]
    return Exercise(id=f"{number}.{{k}}", title="answer", points=2, cases=tuple(cases))


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


@dataclass(frozen=True)
class Course:
    root: Path

    def tutor(self, *args: object, **env: str) -> subprocess.CompletedProcess:
        """`tutor` of this course, as a command."""
        env = {**os.environ, "PYTHONPATH": str(self.root), **env}
        command = [sys.executable, "-m", "tutorlib", *map(str, args)]
        return subprocess.run(command, cwd=self.root, env=env, capture_output=True, text=True, timeout=300)

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


def make_course(root: Path, sizes: dict[int, int]) -> Course:
    """A course with a notebook for each of `sizes`: number → how many exercises."""
    package = root / "tutorlib"
    shutil.copytree(ROOT / "tutorlib", package, ignore=shutil.ignore_patterns("__pycache__", "n[0-9][0-9]_*"))
    (root / "solutions").mkdir()
    (root / "notebooks").mkdir()
    for number, count in sizes.items():
        (package / "exercises" / f"n{number}_trial.py").write_text(EXERCISES.format(number=number, count=count))
        cells = [EXERCISE.format(number=number, k=k) for k in range(1, count + 1)]
        (root / "solutions" / f"{number}_trial.py").write_text(START + "".join(cells))
    course = Course(root)
    built = course.tutor("build")
    assert built.returncode == 0, built.stderr
    return course


def cell(notebook: NotebookNode, id: str) -> NotebookNode:
    return next(cell for cell in notebook.cells if cell.id == id)

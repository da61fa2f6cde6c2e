"""Cheats get no points: tests/cheats/*.py, each as the first answer of a notebook of its own, graded in one run."""

import json
from pathlib import Path

import nbformat
import pytest

from tests.trial_course import Course, make_course

CHEATS = sorted((Path(__file__).parents[1] / "cheats").glob("*.py"))
TIMEOUT = 10  # seconds for a cell


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return make_course(tmp_path_factory.mktemp("course"), {60 + n: 2 for n in range(len(CHEATS))})


@pytest.fixture(scope="module")
def cheated(course, tmp_path_factory):
    """Cheat → its outcomes: the cheat as answer 1, a plainly wrong answer after it as answer 2."""
    folder = tmp_path_factory.mktemp("cheats")
    for n, cheat in enumerate(CHEATS):
        course.submit(folder, 60 + n, {1: cheat.read_text(), 2: "def answer(n):\n    return -1"})
        path = folder / f"{60 + n}_trial.ipynb"
        notebook = nbformat.read(path, as_version=4)
        for one in notebook.cells:
            one.metadata["tags"] = ["nbval-skip", "raises-exception"]
        nbformat.write(notebook, path)
    temporary = tmp_path_factory.mktemp("tmp")
    graded = course.tutor("grade", folder, "--timeout", TIMEOUT, "--format", "json", TMPDIR=str(temporary))
    assert graded.returncode == 1, graded.stderr
    assert not list(temporary.iterdir())
    scores = json.loads(graded.stdout)
    assert scores["max_points"] == 4 * len(CHEATS)
    found = {cheat.stem: [] for cheat in CHEATS}
    for outcome in scores["exercises"]:
        found[CHEATS[int(outcome["id"][:2]) - 60].stem].append(outcome)
    return found


@pytest.mark.parametrize("cheat", [cheat.stem for cheat in CHEATS])
def test_a_cheat_gets_no_points(cheated, cheat):
    assert [outcome["points"] for outcome in cheated[cheat]] == [0, 0], cheated[cheat]
    assert {outcome["status"] for outcome in cheated[cheat]} <= {"failed", "error"}

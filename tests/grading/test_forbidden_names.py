"""Answers that name what their exercise forbids are refused while they are graded, and nothing else is."""

import json
from pathlib import Path
from textwrap import dedent

import nbformat
import pytest

from tests.trial_course import Course, cell
from tutorlib.checking.randomness import judging_for_points
from tutorlib.checking.values import Drawn, law
from tutorlib.grading import sandbox
from tutorlib.paths import NOTEBOOKS, ROOT

needs_bubblewrap = pytest.mark.skipif(bool(sandbox.why_open()), reason="needs bubblewrap")

# Exercise → how it names the function, and the answer's cell. Each gives a right result.
NAMING = {
    "02.2": (
        "in torch",
        """
        from torch.distributed import _pycute as theirs

        def compose(a, b):
            made = theirs.composition(theirs.Layout(a.shape, a.stride), theirs.Layout(b.shape, b.stride))
            return Layout(made.shape, made.stride)
        """,
    ),
    "02.4": (
        "in a string",
        """
        def complement(layout, bound):
            return getattr(tl, "complement")(layout, bound)
        """,
    ),
}


def graded(folder: Path, answers: dict[str, str]) -> dict[str, dict]:
    """Exercise → its outcome, of a page's notebook with these answers."""
    (path,) = {one for id in answers for one in NOTEBOOKS.glob(f"{id[:2]}_*.ipynb")}
    notebook = nbformat.read(path, as_version=4)
    for id, text in answers.items():
        cell(notebook, f"answer-{id.replace('.', '-')}").source = dedent(text)
    nbformat.write(notebook, folder / path.name)
    done = Course(ROOT).tutor("grade", folder / path.name, "--timeout", 30, "--format", "json")
    assert done.stdout, done.stderr
    return {one["id"]: one for one in json.loads(done.stdout)["exercises"]}


@pytest.fixture(scope="module")
def named(tmp_path_factory) -> dict[str, dict]:
    return graded(tmp_path_factory.mktemp("named"), {id: text for id, (_, text) in NAMING.items()})


@needs_bubblewrap
@pytest.mark.parametrize("id", [pytest.param(id, id=f"{id} {how}") for id, (how, _) in NAMING.items()])
def test_a_forbidden_function_gives_no_points(named, id):
    assert named[id]["points"] == 0, named[id]
    assert "which does what you are asked to write" in named[id]["message"]


HONEST = {
    "02.3": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)

        def transposing(rows, columns):
            return pool.submit(tl.compose, Layout(rows * columns, 1), Layout((columns, rows), (rows, 1))).result()
        """,
    "02.5": """
        def logical_divide(layout, tile):
            try:
                tl.compose(Layout((4, 6), (1, 10)), Layout(5, 3))
            except tl.LayoutError:
                return tl.compose(layout, Layout(tile, tl.complement(tile, size(layout))))
        """,
}


@needs_bubblewrap
def test_what_an_exercise_does_not_forbid_works(tmp_path):
    outcomes = graded(tmp_path, HONEST)
    assert {id: outcomes[id]["status"] for id in HONEST} == dict.fromkeys(HONEST, "passed"), outcomes


def test_what_one_exercise_is_asked_does_not_tell_what_another_will_be():
    """Two laws that draw by the same function get other calls while an answer is graded."""
    seen: list[list[int]] = []
    for seed in (1, 2):
        calls: list[int] = []
        drawn = Drawn(lambda rng: [(rng,)], seed)
        with judging_for_points():
            law("drawn", drawn, lambda got, rng: None).judge(calls.append)
        seen.append(calls)
    assert [one[0] for one in seen] == [1, 2]
    assert seen[0][1] != seen[1][1]

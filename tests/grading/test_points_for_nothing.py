"""No points for an answer that does not work on what it is given, nor for one that names what its exercise forbids."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import dedent
from traceback import extract_tb

import nbformat
import numpy as np
import pytest
from tensor_layouts import Layout

from tests.checking.elsewhere import Unwatched, answer_to, graded_for_points
from tests.pages.answers import made_when_used
from tests.trial_course import Course, cell
from tutorlib.checking.randomness import judging_for_points
from tutorlib.checking.values import Drawn, ValueExercise, law
from tutorlib.exercises import find, of_notebook
from tutorlib.exercises.judges.cute_host import layout_returned
from tutorlib.grading import sandbox
from tutorlib.layouts.oracle import from_cute
from tutorlib.paths import NOTEBOOKS, ROOT, notebook_names

EXERCISES = [exercise for name in notebook_names() for exercise in of_notebook(name)]
CALLED = [exercise.id for exercise in EXERCISES if isinstance(exercise, ValueExercise)]
TABLES_ARE_ANSWERS = {
    "01.3": "the page shows three pictures, and each has a name",
    "04.2": "there are few lengths of rows and sizes of elements and vectors",
    "10.1": "a warp has 32 lanes",
}
MANY_SECONDS = ("10.3",)


def each(ids: Iterable[str]) -> list:
    """Parameters of a test."""
    return [pytest.param(id, marks=pytest.mark.long if id in MANY_SECONDS else ()) for id in ids]


@pytest.fixture(autouse=True)
def seed(monkeypatch):
    """One for all that is drawn, as in a grading run."""
    monkeypatch.setattr("tutorlib.checking.randomness._fixed", 4711)


def seen(value):
    """What a table can know a value by. A long tensor's repr is cut."""
    if hasattr(value, "stride") and hasattr(value, "dtype"):
        return f"{value.dtype} {tuple(value.shape)}:{value.stride()} {value}"
    return f"[{', '.join(map(seen, value))}]" if isinstance(value, list | tuple) else repr(value)


def makes_cute_layouts(id: str) -> bool:
    exercise = find(id)
    return isinstance(exercise, ValueExercise) and exercise.through is layout_returned


def recorded(id: str) -> dict[str, object]:
    """What the course's answer gives for the calls of a check in a notebook."""
    answer, table = answer_to(id), {}

    def noted(*args):
        key = seen(args)
        got = answer(*args)
        table.setdefault(key, from_cute(got) if makes_cute_layouts(id) else got)
        return got

    exercise = find(id)
    assert exercise.grade_served(Unwatched(noted)).points == exercise.points_here
    return table


def from_table(id: str, table: dict[str, object], otherwise: Callable[[], object]) -> Callable[..., object]:
    made = as_cute if makes_cute_layouts(id) else lambda value: value
    return lambda *args: made(table[seen(args)] if seen(args) in table else otherwise())


def as_cute(value):
    from cutlass import cute

    return cute.make_layout(value.shape, stride=value.stride) if isinstance(value, Layout) else value


def refuse():
    raise ValueError("not in the table")


@pytest.mark.parametrize("id", each(CALLED))
def test_a_table_of_the_known_calls_is_no_answer(id):
    """Whatever it gives for any other call: nothing, an error, or what it gives most often."""
    table = recorded(id)
    often = [by_text for by_text, _ in Counter(map(repr, table.values())).most_common(3)]
    values = {text: next(value for value in table.values() if repr(value) == text) for text in often}
    others = {"nothing": lambda: None, "an error": refuse}
    others |= {text: lambda value=value: value for text, value in values.items()}
    points = {
        name: graded_for_points(id, Unwatched(from_table(id, table, other))).points for name, other in others.items()
    }
    assert set(points.values()) == {find(id).points if id in TABLES_ARE_ANSWERS else 0}, points


FEW = {repr(value): value for value in (None, 1, "", (), {})}  # for an answer that becomes part of a kernel
CONSTANTS = FEW | {
    **{repr(value): value for value in (0, -1, 2, 32, True, False, [], 0.0, 1.0, (0, 0), [()])},
    "1:0": Layout(1, 0),
    "zeros": np.zeros((2, 2)),
}
BLIND = {
    "first argument": lambda *args: args[0],
    "second argument": lambda *args: args[1],
    "last argument": lambda *args: args[-1],
    "all arguments": lambda *args: args,
    "first of the first": lambda *args: args[0][0],
    "zeros like the first": lambda *args: np.zeros_like(args[0]),
    "an error": lambda *args: refuse(),
}


def first_given(id: str) -> list[object]:
    """What the course's answer gives when it is called first."""
    return list(recorded(id).values())[:1] if id in CALLED else []


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("id", each(exercise.id for exercise in EXERCISES))
def test_an_answer_that_does_not_look_has_no_points(id):
    """It gives one value for all calls, or an argument as it is.

    One that is called is judged as in a notebook, too, with other calls than as graded.
    """
    constants = CONSTANTS if id in CALLED else FEW
    answers = {name: (lambda *args, value=value: value) for name, value in constants.items()} | BLIND
    answers |= {f"first: {value!r}"[:60]: (lambda *args, value=value: value) for value in first_given(id)}
    judges = (checked, graded) if id in CALLED else (graded,)
    with made_when_used():
        points = {name: [judge(id, answer) for judge in judges] for name, answer in answers.items()}
    assert {name: each for name, each in points.items() if any(each)} == {}


def checked(id, answer):
    try:
        return find(id).grade(answer).points
    except Exception as error:
        if extract_tb(error.__traceback__)[-1].filename != __file__:
            raise
        return 0  # the answer's own error, when it is called to make a kernel: the reader sees its line


def graded(id, answer):
    try:
        return graded_for_points(id, Unwatched(answer)).points
    except Exception:  # as `remote_judge.judge` has it
        return 0


# Forbidden functions -------------------------------------------------------------------------------------------------

needs_bubblewrap = pytest.mark.skipif(bool(sandbox.why_open()), reason="needs bubblewrap")

# Exercise → how it names the function, and the answer's cell. Each gives a right result.
NAMING = {
    "03.2": (
        "by another name",
        """
        from tensor_layouts import compose as theirs

        def compose(a, b):
            return theirs(a, b)
        """,
    ),
    "03.3": (
        "in a string",
        """
        def layout_tv(threads, values):
            (inverse,) = getattr(__import__("tutorlib"), "ask")([("right_inverse", tl.raked_product(threads, values))])
            return tl.compose(inverse, Layout((size(threads), size(values))))
        """,
    ),
}


def graded_page(folder: Path, answers: dict[str, str]) -> dict[str, dict]:
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
    return graded_page(tmp_path_factory.mktemp("named"), {id: text for id, (_, text) in NAMING.items()})


@needs_bubblewrap
@pytest.mark.parametrize("id", [pytest.param(id, id=f"{id} {how}") for id, (how, _) in NAMING.items()])
def test_a_forbidden_function_gives_no_points(named, id):
    assert named[id]["points"] == 0, named[id]
    assert "which does what you are asked to write" in named[id]["message"]


HONEST = {
    "03.1": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)

        def transposing(rows, columns):
            return pool.submit(tl.compose, Layout(rows * columns, 1), Layout((columns, rows), (rows, 1))).result()
        """,
    "03.3": """
        def layout_tv(threads, values):
            try:
                tl.compose(Layout((4, 6), (1, 10)), Layout(5, 3))
            except tl.LayoutError:
                inverse = tl.right_inverse(tl.raked_product(threads, values))
                return tl.compose(inverse, Layout((size(threads), size(values))))
        """,
}


@needs_bubblewrap
def test_what_an_exercise_does_not_forbid_works(tmp_path):
    outcomes = graded_page(tmp_path, HONEST)
    assert {id: outcomes[id]["status"] for id in HONEST} == dict.fromkeys(HONEST, "passed"), outcomes


def test_what_one_exercise_is_asked_does_not_tell_what_another_will_be():
    """Two laws that draw by the same function get other calls while an answer is graded."""
    seen: list[list[int]] = []
    for name in ("one", "another"):
        calls: list[int] = []
        drawn = Drawn([(1,)], lambda rng: [(rng.random(),)])
        with judging_for_points():
            law(name, drawn, lambda got, drawn: None).judge(calls.append)
        seen.append(calls)
    assert [one[0] for one in seen] == [1, 1]
    assert seen[0][1] != seen[1][1]

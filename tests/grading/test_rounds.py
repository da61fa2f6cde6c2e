"""No sandbox holds the solution of an exercise that is judged in it."""

import ast
import subprocess
import sys

import pytest

from tutorlib.checking.values import ValueExercise
from tutorlib.exercises import find, of_notebook
from tutorlib.grading import sandbox
from tutorlib.grading.rounds import (
    GONE,
    functions_and_classes,
    redacted,
    redacted_modules,
    rounds_of,
    solutions_of,
)
from tutorlib.paths import ROOT, notebook_names

PAGES = notebook_names()
SOURCE = '''
"""A module."""
import functools

def plain(x):
    """How it is done."""
    return [
        x,
    ]

def short(x): return x

class Cache:
    def __init__(self, key):
        self.key = key

    @property
    def size(self):
        return 3

@functools.cache
def other():
    def inner():
        return 1
    return inner
'''


def kernels_on(page: str) -> bool:
    return not all(isinstance(one, ValueExercise) for one in of_notebook(page))


@pytest.mark.parametrize("page", PAGES)
def test_each_exercise_of_a_page_is_judged_once_and_lacks_its_own_solutions(page):
    rounds = rounds_of(page)
    judged = [id for round in rounds for id in round.exercises]
    assert sorted(judged) == sorted(one.id for one in of_notebook(page))
    for round in rounds:
        for id in round.exercises:
            assert set(solutions_of(find(id))) <= round.lacks or not kernels_on(page)


@pytest.mark.parametrize("page", PAGES)
def test_every_solution_is_found_in_its_module_and_loses_its_body(page, tmp_path):
    for n, round in enumerate(rounds_of(page)):
        folder = tmp_path / str(n)
        folder.mkdir()
        copies = redacted_modules(round.lacks, folder)
        assert len(copies) == len({module for module, _ in round.lacks})
        for original, copy in copies.items():
            before, after = original.read_text(), copy.read_text()
            assert GONE in after
            assert before.count("\n") == after.count("\n")
            compile(after, str(copy), "exec")


@pytest.mark.parametrize("page", PAGES)
def test_no_function_of_the_package_that_bears_an_exercises_name_solves_it(page):
    """As far as a function that any machine can call: what the library of an exercise forgets is found by its name."""
    visible = {
        name: module
        for folder in ("models", "layouts", "compiling", "problems")
        for path in sorted((ROOT / "tutorlib" / folder).glob("*.py"))
        for name, _ in functions_and_classes(ast.parse(path.read_text()).body)
        for module in [f"tutorlib.{folder}.{path.stem}"]
    }
    other_things = {("tutorlib.layouts.matrix", "coordinate"), ("tutorlib.layouts.notation", "layout_of")}
    for exercise in of_notebook(page):
        if isinstance(exercise, ValueExercise) and (module := visible.get(exercise.title)):
            known = {(module, name.removesuffix(".__init__")) for module, name in solutions_of(exercise)}
            assert (module, exercise.title) in known | other_things, exercise.id


def test_what_is_redacted_only_raises_and_everything_else_stays_where_it_was():
    after = redacted(SOURCE, ["plain", "short", "Cache.__init__", "other"])
    assert "How it is done" not in after
    assert "return x" not in after
    assert "self.key = key" not in after
    assert "return 3" not in after
    assert "inner" not in after
    names = [name for name, _ in functions_and_classes(ast.parse(after).body)]
    assert names == ["plain", "short", "Cache", "Cache.__init__", "Cache.size", "other"]
    space: dict = {}
    exec(compile(after, "redacted", "exec"), space)
    for call in (lambda: space["plain"](1), lambda: space["short"](1), lambda: space["Cache"](1), space["other"]):
        with pytest.raises(NotImplementedError, match="own solution is not here"):
            call()
    assert redacted(SOURCE, ["Cache.size"]).splitlines()[14:16] == SOURCE.splitlines()[14:16]


def test_a_solution_that_is_not_there_is_an_error_of_the_courses():
    with pytest.raises(LookupError, match=r"no function is called Cache\.gone"):
        redacted(SOURCE, ["Cache.gone", "plain"])


@pytest.mark.skipif(bool(sandbox.why_open()), reason="needs bubblewrap")
def test_inside_there_is_no_exercise_and_no_solution_not_even_compiled(tmp_path):
    (round,) = (one for one in rounds_of("10_double_buffer") if "10.2" in one.exercises)
    look = f"""
import pathlib, tutorlib.exercises
package = pathlib.Path({str(ROOT / "tutorlib")!r})
room = package / "exercises"
print(sorted({{path.name for path in [*room.glob("*.py"), *room.glob("n*/*")]}}))
texts = {{path.name: path.read_text() for path in package.rglob("*.py")}}
print([name for name, text in texts.items() if "cp_async_wait_group" in text and "multistage" in text])
for path in package.glob("kernels/ampere/__pycache__/main_loops.*.pyc"):
    try:
        print(b"cp_async_wait_group" in path.read_bytes())
    except OSError:
        print(False)
"""
    replaced = round.replaced(tmp_path / "redacted")
    command = sandbox.sandboxed_command(
        [sys.executable, "-c", look], tmp_path / "scratch", {"PYTHONPATH": str(ROOT)}, replaced
    )
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[0] == "['__init__.py', 'judge']"
    assert "main_loops.py" not in said[1]
    assert "True" not in said[2:]

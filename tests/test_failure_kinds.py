"""Every kind of failure that a hint names is raised somewhere, and every case that one names is a case."""

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from tutorlib.checking.exercise import Exercise
from tutorlib.dsl.refusals import RefusalKind, advice_tables
from tutorlib.exercises import find, of_notebook
from tutorlib.failure import Fail, FailureKind, Fault
from tutorlib.paths import ROOT, notebook_names

HINTED = [one.id for name in notebook_names() for one in of_notebook(name) if one.remedies]


def kinds() -> dict[str, FailureKind]:
    """By value. Two families may share one: then it is the same kind."""
    families = [FailureKind]
    for family in families:
        families += family.__subclasses__()
    return {f"{family.__name__}.{kind.name}": kind for family in families for kind in family}


def uses(tree: ast.AST) -> Iterator[str]:
    """Names such as "Fail.CASE" in a file's code, but for those that hints name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Attribute):
            yield ast.unparse(node)
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "Remedy"):
            yield from uses(node)


@cache
def raised() -> frozenset[str]:
    files = [file for file in (ROOT / "tutorlib").rglob("*.py") if file.name != "remedies.py"]
    used = {use for file in files for use in uses(ast.parse(file.read_text(encoding="utf-8")))}
    advised = {RefusalKind(kind).name for table in advice_tables().values() for _, _, *kinds in table for kind in kinds}
    return frozenset(used | {f"RefusalKind.{name}" for name in advised})


def named(exercise: Exercise) -> list[Fault]:
    whens = [when for one in exercise.remedies for when in (one.when if isinstance(one.when, tuple) else (one.when,))]
    return [when() if isinstance(when, FailureKind) else when for when in whens]


def test_kinds_of_one_family_differ():
    for family in FailureKind.__subclasses__():
        assert len(family) == len(family.__members__), family


@pytest.mark.parametrize("id", HINTED)
def test_a_kind_that_a_hint_names_is_raised(id):
    members = {kind.value: name for name, kind in kinds().items()}
    for fault in named(find(id)):
        assert members[fault.kind] in raised()


@pytest.mark.parametrize("id", HINTED)
def test_a_case_that_a_hint_names_is_one(id):
    exercise = find(id)
    cases = {one[0] if isinstance(one, tuple) else one.name for one in getattr(exercise, "cases", ())}
    shapes = {"×".join(map(str, shape)) for shape in getattr(exercise, "sizes", ())}
    for fault in named(exercise):
        fields = dict(fault.fields)
        if fault.kind == Fail.CASE:
            assert fields["name"] in cases
        if fault.kind == Fail.SIZE:
            assert fields["shape"] in shapes


def test_two_families_share_no_kind():
    values = [kind.value for kind in kinds().values()]
    assert sorted(values) == sorted(set(values))

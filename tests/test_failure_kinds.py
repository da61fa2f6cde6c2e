"""Every kind of failure that a hint names is raised somewhere, with fields of such names; every case is a case."""

import ast
import re
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tutorlib.dsl.refusals import RefusalKind, advice_tables
from tutorlib.exercises import find, of_notebook, words
from tutorlib.failure import Fail, FailureKind, Fault
from tutorlib.paths import ROOT, notebook_names

EXERCISES = {one.id: one for name in notebook_names() for one in of_notebook(name)}
FILES = sorted(Path(words.__file__).parent.glob("*.toml"))
TABLE = re.compile(r'\["([\d. ]+)"(?:\.(\w+))?\]')
ROW = re.compile(r'"(.+?)" = ')


class Row(NamedTuple):
    """A row of remedies, and where it is: "05.toml:24"."""

    place: str
    exercises: list[str]
    when: list[Fault]


def rows(file: Path) -> list[Row]:
    ids, found = [], []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if table := TABLE.match(line):
            ids = table[1].split()
        elif row := ROW.match(line):
            found.append(Row(f"{file.name}:{number}", ids, [*words.faults(row[1])]))
    assert len(found) == sum(len(table.get("remedies", ())) for table in tables(file).values())
    return found


def tables(file: Path) -> dict[str, dict]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def families() -> list[type[FailureKind]]:
    found = [FailureKind]
    for family in found:
        found += family.__subclasses__()
    return found


KINDS = {kind.value: kind for family in families() for kind in family}  # two families may share one: it is the same


@cache
def raised() -> dict[str, set[str]]:
    """Kinds that the code names, and their families → names that are passed where one of them is: of fields, too."""
    found = defaultdict(set)
    for file in (ROOT / "tutorlib").rglob("*.py"):
        nodes = [*ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
        passed = {node.arg for node in nodes if isinstance(node, ast.keyword)}
        passed |= {
            key.value for node in nodes if isinstance(node, ast.Dict) for key in node.keys if hasattr(key, "value")
        }
        for node in nodes:
            if isinstance(node, ast.Attribute | ast.Name):
                found[ast.unparse(node)] |= passed
    for table in advice_tables().values():
        for _, _, *kinds in table:
            found |= {f"RefusalKind.{RefusalKind(kind).name}": set() for kind in kinds}
    return found


def fault_of(fault: Fault) -> str:
    """What is wrong with a row that names this, or ""."""
    if (kind := KINDS.get(fault.kind)) is None or f"{type(kind).__name__}.{kind.name}" not in raised():
        return f"no {fault.kind!r} is raised"
    fields = {name for name, _ in fault.fields} - raised()[type(kind).__name__]
    return f"{fault.kind!r} has no {', '.join(fields)}" if fields else ""


def test_kinds_of_one_family_differ():
    for family in FailureKind.__subclasses__():
        assert len(family) == len(family.__members__), family


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_kind_that_a_hint_names_is_raised_with_these_fields(file):
    told = [f"{row.place}: {wrong}" for row in rows(file) for fault in row.when if (wrong := fault_of(fault))]
    assert told == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_case_that_a_hint_names_is_one(file):
    for row in rows(file):
        for exercise in map(EXERCISES.__getitem__, row.exercises):
            cases = {one[0] if isinstance(one, tuple) else one.name for one in getattr(exercise, "cases", ())}
            shapes = {"×".join(map(str, shape)) for shape in getattr(exercise, "sizes", ())}
            for fault in row.when:
                fields = dict(fault.fields)
                if fault.kind == Fail.CASE:
                    assert fields["name"] in cases, row.place
                if fault.kind == Fail.SIZE:
                    assert fields["shape"] in shapes, row.place


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_earlier_row_takes_all_failures_of_a_later_one(file):
    before = defaultdict(list)
    for row in rows(file):
        for id in row.exercises:
            assert not [when for when in row.when for one in before[id] if one.covers(when)], row.place
            before[id] += row.when


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_words_belong_to_exercises_of_their_page(file):
    for ids, table in tables(file).items():
        assert {find(id).id[:2] for id in ids.split()} == {file.stem}
        assert table.keys() <= {"hints", "remedies", "mistakes"}


def test_a_mistake_has_words_and_words_have_a_mistake():
    said, made = defaultdict(set), defaultdict(set)
    for file in FILES:
        for ids, table in tables(file).items():
            for id in ids.split():
                said[id] |= table.get("mistakes", {}).keys()
    for file in (ROOT / "tutorlib/exercises").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("mistakes", "wrong_results"):
                made[node.args[0].value] |= {keyword.arg for keyword in node.keywords}
    assert {id: names for id, names in said.items() if names} == made


def test_two_families_share_no_kind():
    values = [kind.value for family in families() for kind in family]
    assert sorted(values) == sorted(set(values))

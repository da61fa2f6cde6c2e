"""Failures: a sentence knows which it tells of; every kind that a hint names is raised somewhere, with such fields."""

import ast
import re
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tutorlib.dsl.refusals import advice_tables
from tutorlib.exercises import of_notebook, words
from tutorlib.failure import Fail, FailureKind, Fault, Flaw, failures_in
from tutorlib.paths import ROOT, notebook_names


def test_a_failure_covers_those_of_its_kind_that_agree_with_its_fields():
    got = Fail.CASE(name="rank 4", number=1)
    assert Fail.CASE().covers(got)
    assert Fail.CASE(name="rank 4").covers(got)
    assert not Fail.CASE(name="rank 3").covers(got)
    assert not Fail.GIVES(name="rank 4").covers(got)


def test_what_is_put_before_or_after_a_flaw_joins_it():
    flaw = "one: " + (Flaw("it is a list", Fail.GIVES(type="list")) + Flaw(", and raises", Fail.RAISED) + ".")
    assert flaw == "one: it is a list, and raises."
    assert flaw.failures == (Fail.GIVES(type="list"), Fail.RAISED())


def test_a_plain_sentence_tells_of_no_failure():
    assert failures_in(("not written yet",)) == ()


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
    return found


def fault_of(fault: Fault) -> str:
    """What is wrong with a row that names this, or ""."""
    if not fault.fields and any(fault.kind in row[2:] for table in advice_tables().values() for row in table):
        return ""
    if (kind := KINDS.get(fault.kind)) is None or f"{type(kind).__name__}.{kind.name}" not in raised():
        return f"no {fault.kind!r} is raised"
    fields = {name for name, _ in fault.fields} - raised()[type(kind).__name__]
    return f"{fault.kind!r} has no {', '.join(fields)}" if fields else ""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_kind_that_a_hint_names_is_raised_with_these_fields(file):
    told = [f"{row.place}: {wrong}" for row in rows(file) for fault in row.when if (wrong := fault_of(fault))]
    assert told == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_earlier_row_takes_all_failures_of_a_later_one(file):
    before = defaultdict(list)
    for row in rows(file):
        for id in row.exercises:
            assert not [when for when in row.when for one in before[id] if one.covers(when)], row.place
            before[id] += row.when


def test_a_mistake_has_words_and_words_have_a_mistake():
    said, made = defaultdict(set), defaultdict(set)
    for file in FILES:
        for ids, table in tables(file).items():
            for id in ids.split():
                said[id] |= table.get("mistakes", {}).keys()
    for file in (ROOT / "tutorlib/exercises").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name in ("mistakes", "wrong_results"):
                made[node.args[0].value] |= {keyword.arg for keyword in node.keywords}
            if name == "value_exercise":
                known = [keyword.value for keyword in node.keywords if keyword.arg == "mistakes"]
                made[node.args[0].elts[0].value] |= {key.value for table in known for key in table.keys}
    assert {id: names for id, names in said.items() if names} == {id: names for id, names in made.items() if names}


def test_two_families_share_no_kind():
    values = [kind.value for family in families() for kind in family]
    assert sorted(values) == sorted(set(values))

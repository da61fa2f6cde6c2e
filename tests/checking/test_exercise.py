"""Exercises: what becomes of a verdict; the kinds of failure that messages tell of."""

import ast
import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.stand_ins import copied
from tutorlib.checking.exercise import Answer, Exercise, Verdict, WrongKind, not_run
from tutorlib.compiling.errors import CompileFailed, ToolMissing
from tutorlib.dsl.refusals import advice_tables
from tutorlib.exercises import of_notebook, words
from tutorlib.failure import Fail, FailureKind, Fault, Flaw, failures_in, faults
from tutorlib.paths import ROOT, notebook_names
from tutorlib.problems.work import KernelFault


@dataclass(frozen=True, kw_only=True)
class Judged(Exercise):
    """Its answer is a function that gives the verdict, or raises."""

    def judge(self, answer: Answer) -> Verdict:
        return answer()


THREE = Judged(id="99.1", title="three", points=3)


def raising(error):
    def judge():
        raise error

    return judge


@pytest.mark.parametrize(
    ("points", "status", "earned"),
    [(3, "passed", 3), (2.99, "partial", 2.5), (1.5, "partial", 1.5), (0.49, "failed", 0), (0, "failed", 0)],
)
def test_points_are_rounded_down_to_a_half_and_say_the_status(points, status, earned):
    outcome = THREE.grade(lambda: Verdict(points))
    assert (outcome.status, outcome.points, outcome.max_points) == (status, earned, 3)


def test_a_passed_exercise_says_its_line_and_any_other_what_the_verdict_says():
    assert THREE.grade(lambda: Verdict(3)).message == THREE.passed_line == "✓ 99.1 three: 3 points"
    assert THREE.grade(lambda: Verdict(3, ("fast",))).message == "✓ 99.1 three: 3 points\n  fast"
    assert THREE.grade(lambda: Verdict(1, ("1 of 3 right", "the rest"))).message == (
        "✗ 99.1 three: 1 of 3 right\n  the rest"
    )
    assert THREE.grade(lambda: not_run("no GPU here")).message == "– 99.1 three: no GPU here"


def test_what_was_not_run_may_have_points_for_what_was():
    outcome = THREE.grade(lambda: not_run("speed not run", points=2))
    assert (outcome.status, outcome.points) == ("not_run", 2)


def test_a_measurement_goes_along_as_json():
    outcome = THREE.grade(lambda: Verdict(3, measurement=copied(0.95)))
    assert outcome.measurement == copied(0.95).as_json()
    assert THREE.grade(lambda: Verdict(3)).measurement is None


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (NotImplementedError("Exercise 99.1"), "failed", "✗ 99.1 three: not written yet"),
        (NotImplementedError("complex numbers"), "failed", "✗ 99.1 three: NotImplementedError: complex numbers"),
        (WrongKind("3 is not a function."), "failed", "✗ 99.1 three: 3 is not a function."),
        (CompileFailed("line 3, `x`: no"), "failed", "✗ 99.1 three: it does not compile.\n  line 3, `x`: no"),
        (KernelFault("it crashed."), "error", "✗ 99.1 three: it crashed."),
        (KernelFault("still running", "timeout"), "timeout", "✗ 99.1 three: still running"),
        (ToolMissing("there is no gcc here"), "not_run", "– 99.1 three: not run: there is no gcc here"),
        (
            ModuleNotFoundError("No module named 'cutlass'", name="cutlass"),
            "not_run",
            "– 99.1 three: not run: the package cutlass is missing",
        ),
    ],
    ids=lambda part: type(part).__name__ if isinstance(part, Exception) else None,
)
def test_a_fault_that_is_not_the_answers_own_logic_becomes_an_outcome(error, status, says):
    outcome = THREE.grade(raising(error))
    assert (outcome.status, outcome.points, outcome.message) == (status, 0, says)


def test_a_fault_of_the_course_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        THREE.grade(raising(ZeroDivisionError()))


@pytest.mark.parametrize("name", notebook_names())
def test_every_exercise_is_graded_by_the_template(name):
    for exercise in of_notebook(name):
        assert type(exercise).grade is Exercise.grade


def test_an_exercise_without_a_judgement_cannot_be_made():
    with pytest.raises(TypeError, match="abstract"):
        Exercise(id="99.1", title="three", points=3)


def test_a_remedy_is_chosen_by_the_kind_of_failure_and_not_by_its_words():
    remedies = {Fail.CASE(name="large"): "Large numbers add alike.", Fail.CASE(): "Add."}
    exercise = replace(THREE, remedies=remedies)
    large, small = (Flaw(words, Fail.CASE(name=words)) for words in ("large", "small"))
    assert exercise.grade(lambda: Verdict(0, ("0 of 2", "large"))).remedy == ""
    assert exercise.grade(lambda: Verdict(0, ("0 of 2", large))).remedy == "Large numbers add alike."
    assert exercise.grade(lambda: Verdict(0, ("0 of 2", small))).remedy == "Add."


# Failures: every kind that a hint names is raised somewhere, with such fields ----------------------------------------


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
            found.append(Row(f"{file.name}:{number}", ids, [*faults(row[1])]))
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
            if name == "mistakes":
                made[node.args[0].value] |= {keyword.arg for keyword in node.keywords}
            if name == "value_exercise":
                known = [keyword.value for keyword in node.keywords if keyword.arg == "mistakes"]
                made[node.args[0].elts[0].value] |= {key.value for table in known for key in table.keys}
    assert {id: names for id, names in said.items() if names} == {id: names for id, names in made.items() if names}


def test_two_families_share_no_kind():
    values = [kind.value for family in families() for kind in family]
    assert sorted(values) == sorted(set(values))

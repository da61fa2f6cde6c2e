"""Cheats gain no points and harm no other submission: tests/cheats/, against `tutor grade`."""

import ast
import builtins
import importlib
import json
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.honest import PLAIN
from tests.strangers import (
    FULL,
    KINDS,
    HandIn,
    cheats,
    contents,
    in_outer_sandbox,
    of_cheats,
    strangers_course,
    together,
    why_no_outer_sandbox,
)
from tests.trial_course import Course
from tutorlib.notebook import check

TIMEOUT = 10  # seconds for a cell
VICTIM = 61
GROUPS = {63: "reading", 64: "forging"}
if not os.environ.get("TUTORLIB_LONG"):
    GROUPS = {63: "reading"}
ENDS_ITS_RUN = ("exit_zero", "killed_grader")  # of forging, and costs a run of its own


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    if why_no_outer_sandbox():
        pytest.skip("needs the right to build an outer sandbox")
    sizes = {number: len(grouped(kind)) + 1 for number, kind in GROUPS.items()}
    return strangers_course(tmp_path_factory.mktemp("course"), {VICTIM: 2, **sizes})


def grouped(kind: str) -> list:
    found = [cheat for cheat in cheats(kind) if cheat.name.partition("/")[2] not in ENDS_ITS_RUN]
    return found if os.environ.get("TUTORLIB_LONG") else found[::3]


def graded(course: Course, submission: Path, folder: Path) -> tuple[dict[str, dict], float]:
    """Exercise → its outcome, and the most points to be had, of a submission that is graded behind an outer sandbox.

    Neither the course nor the submission is changed, no file is left, and no process.
    """
    temporary, left = folder / "tmp", folder / "left"
    temporary.mkdir()
    before = contents(course.root), contents(submission)
    outer = partial(in_outer_sandbox, left=left)
    done = course.tutor(
        "grade", submission, "--timeout", TIMEOUT, "--format", "json", around=outer, TMPDIR=str(temporary)
    )
    assert done.stdout, done.stderr
    assert not left.read_text().split()
    assert not list(temporary.iterdir())
    assert (contents(course.root), contents(submission)) == before
    scores = json.loads(done.stdout)
    return {outcome["id"]: outcome for outcome in scores["exercises"]}, scores["max_points"]


def hand_in_victim(course: Course, folder: Path) -> None:
    course.submit(folder, VICTIM, {1: PLAIN, 2: PLAIN})


def points_of(outcomes: dict[str, dict], number: int) -> list[float]:
    return [outcome["points"] for id, outcome in outcomes.items() if id.startswith(f"{number}.")]


@pytest.fixture(scope="module")
def all_together(course, tmp_path_factory) -> dict[str, dict]:
    """Exercise → its outcome: a page for each group, with tags that tell nbval to skip, and the victim's."""
    folder = tmp_path_factory.mktemp("together")
    submission = folder / "submission"
    submission.mkdir()
    hand_in_victim(course, submission)
    for number, kind in GROUPS.items():
        page = course.student(number)
        for one in page.cells:
            one.metadata["tags"] = ["nbval-skip", "raises-exception"]
        together(number, page, [*(cheat.text for cheat in grouped(kind)), PLAIN], submission)
    outcomes, most = graded(course, submission, folder)
    assert most == 2 * len(outcomes)
    return outcomes


@pytest.mark.parametrize(
    ("id", "cheat"),
    [
        pytest.param(f"{number}.{k}", cheat, id=cheat.name)
        for number, kind in GROUPS.items()
        for k, cheat in enumerate(grouped(kind), 1)
    ],
)
def test_a_cheat_among_others_gets_what_it_deserves(all_together, id, cheat):
    assert all_together[id]["points"] == cheat.deserves, all_together[id]["message"]


@pytest.mark.parametrize("kind", [kind for kind in GROUPS.values() if kind != "forging"])
def test_who_answers_right_on_the_same_page_loses_nothing(all_together, kind):
    (number,) = (number for number in GROUPS if GROUPS[number] == kind)
    last = all_together[f"{number}.{len(grouped(kind)) + 1}"]
    assert last["points"] == 2, last["message"]


def test_the_page_beside_them_loses_nothing(all_together):
    assert points_of(all_together, VICTIM) == [*FULL]


ENDING = [one for one in of_cheats() if one.name.endswith(ENDS_ITS_RUN)]


@pytest.mark.long  # the class of tests/classroom/test_class.py has all cheats, each on a page of its own
@pytest.mark.parametrize("cheat", ENDING, ids=lambda cheat: cheat.name)
def test_a_cheat_that_ends_its_run_gets_what_it_deserves_and_harms_nobody(course, cheat: HandIn, tmp_path):
    submission = tmp_path / "submission"
    submission.mkdir()
    cheat.write(course.student(60), submission)
    hand_in_victim(course, submission)
    outcomes, most = graded(course, submission, tmp_path)
    assert points_of(outcomes, 60) == [*cheat.deserves], [outcome["message"] for outcome in outcomes.values()]
    assert points_of(outcomes, VICTIM) == [*FULL]
    assert most == 8


# Each attack is one: what it imports, patches and asks for exists, so that it gets to its point ----------------------

CHEATS = [cheat for kind in KINDS for cheat in cheats(kind)]
VARIABLES = {check.JUDGED_OUTSIDE}
OF_THE_TRIAL = "tutorlib.exercises.p60"  # is there where cheats are graded


def imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Any]]:
    """Each name that a statement binds, and what it is. Raises ImportError, AttributeError."""
    if isinstance(node, ast.ImportFrom):
        module = importlib.import_module(node.module or "")
        for alias in node.names:
            if not hasattr(module, alias.name):
                importlib.import_module(f"{node.module}.{alias.name}")
            yield alias.asname or alias.name, getattr(module, alias.name)
        return
    for alias in node.names:
        module, first = importlib.import_module(alias.name), alias.name.partition(".")[0]
        yield (alias.asname, module) if alias.asname else (first, importlib.import_module(first))


def amiss(text: str) -> list[str]:
    """What of the modules and classes that a text imports is not there."""
    tree, names, found = ast.parse(text), {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            try:
                names |= dict(imported(node))
            except (ImportError, AttributeError) as error:
                found.append(str(error))

    def value_of(node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return names.get(node.id)
        if isinstance(node, ast.Attribute):
            return getattr(value_of(node.value), node.attr, None)
        return None

    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(whose := value_of(node.value), ModuleType | type):
            hides = isinstance(node.ctx, ast.Store) and hasattr(builtins, node.attr)  # a module's `type`, say
            if not (hasattr(whose, node.attr) or hides):
                found.append(f"{whose.__name__} has no {node.attr}")
    told = set(re.findall(r"TUTORLIB_\w+", text)) - VARIABLES
    return found + [f"no variable is called {name}" for name in sorted(told)]


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)
def test_what_an_attack_reaches_for_is_there(cheat):
    assert [line for line in amiss(cheat.text) if OF_THE_TRIAL not in line] == []


def test_a_name_that_is_gone_is_seen():
    gone = "from tutorlib.grading import remote_judge as judge\njudge.sealed = lambda: judge.pickle.dumps(0)"
    assert amiss(gone) == ["tutorlib.grading.remote_judge has no sealed", "tutorlib.grading.remote_judge has no pickle"]
    assert amiss("from tutorlib import nobody")
    assert amiss("import os\nos.environ['TUTORLIB_RESULT']") == ["no variable is called TUTORLIB_RESULT"]
    assert amiss("from tutorlib.checking import values\nvalues.type = None") == []

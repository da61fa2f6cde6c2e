"""Cheats get what they deserve and harm nobody: tests/cheats/, against `tutor grade`.

Answers that leave their process as it is stand together on one page; with TUTORLIB_LONG=1 each cheat is handed in by
itself, and a page of somebody honest is graded before, beside and after it.
"""

import json
import os
from functools import partial
from pathlib import Path

import pytest

from tests import outer_sandbox
from tests.honest.answers import PLAIN
from tests.strangers import FULL, HandIn, cheats, contents, of_cheats, strangers_course, together
from tests.trial_course import Course

TIMEOUT = 10  # seconds for a cell
VICTIM = 61
GROUPS = {63: "reading", 64: "forging"}
if not os.environ.get("TUTORLIB_LONG"):
    GROUPS = {63: "reading"}
ENDS_ITS_RUN = ("exit_zero", "killed_grader")  # of forging, and costs a run of its own

pytestmark = pytest.mark.skipif(bool(outer_sandbox.why_not()), reason="needs the right to build an outer sandbox")


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
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
    outer = partial(outer_sandbox.within, left=left)
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


@pytest.mark.long
@pytest.mark.parametrize("cheat", of_cheats(), ids=lambda cheat: cheat.name)
def test_a_cheat_by_itself_gets_what_it_deserves_and_harms_nobody(course, cheat: HandIn, tmp_path):
    submission = tmp_path / "submission"
    submission.mkdir()
    cheat.write(course.student(60), submission)
    hand_in_victim(course, submission)
    outcomes, most = graded(course, submission, tmp_path)
    assert points_of(outcomes, 60) == [*cheat.deserves], [outcome["message"] for outcome in outcomes.values()]
    assert points_of(outcomes, VICTIM) == [*FULL]
    assert most == 8


@pytest.mark.long
def test_whoever_is_graded_after_all_of_them_loses_nothing(course, tmp_path):
    submission = tmp_path / "submission"
    submission.mkdir()
    hand_in_victim(course, submission)
    outcomes, _ = graded(course, submission, tmp_path)
    assert points_of(outcomes, VICTIM) == [*FULL]

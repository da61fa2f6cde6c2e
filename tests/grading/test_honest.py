"""Honest oddities have full points: tests/honest/, against `tutor grade`.

Those of an answer's cell stand together on one page; with TUTORLIB_LONG=1 each is handed in by itself.
"""

import json

import pytest

from tests.honest.answers import ANSWERS
from tests.strangers import FULL, HandIn, of_the_honest, strangers_course, together
from tests.trial_course import Course

TOGETHER = 62


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return strangers_course(tmp_path_factory.mktemp("course"), {TOGETHER: len(ANSWERS)})


@pytest.fixture(scope="module")
def all_together(course, tmp_path_factory) -> dict[str, dict]:
    """Exercise → its outcome: the odd answers on one page."""
    path = together(TOGETHER, course.student(TOGETHER), [*ANSWERS.values()], tmp_path_factory.mktemp("together"))
    done = course.tutor("grade", path, "--format", "json")
    assert done.stdout, done.stderr
    return {outcome["id"]: outcome for outcome in json.loads(done.stdout)["exercises"]}


@pytest.mark.parametrize(("k", "name"), enumerate(ANSWERS, 1), ids=str)
def test_an_odd_answer_among_others_has_full_points(all_together, k, name):
    outcome = all_together[f"{TOGETHER}.{k}"]
    assert outcome["points"] == 2, f"{name}: {outcome['message']}"


@pytest.mark.long
@pytest.mark.parametrize("odd", of_the_honest(), ids=lambda odd: odd.name)
def test_an_oddity_by_itself_has_full_points(course, odd: HandIn, tmp_path):
    done = course.tutor("grade", odd.write(course.student(60), tmp_path), "--format", "json")
    assert done.stdout, done.stderr
    outcomes = json.loads(done.stdout)["exercises"]
    assert [outcome["points"] for outcome in outcomes] == [*FULL], [outcome["message"] for outcome in outcomes]

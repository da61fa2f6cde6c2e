"""Honest oddities have full points: tests/honest/, against `tutor grade`.

A quarter of those of an answer's cell stand together on one page, and of all others it is seen whether both answers are
found; with TUTORLIB_LONG=1 each is handed in by itself.
"""

import json
import os
import subprocess
import sys

import pytest

from tests.honest.answers import ANSWERS
from tests.strangers import FULL, HandIn, of_the_honest, strangers_course, together
from tests.trial_course import Course

TOGETHER = 62
# Others feel these
ALONE = ("files", "files that nobody may read", "another temporary folder", "a flat stack", "%env and %cd")
SHARED = {name: answer for name, answer in ANSWERS.items() if name not in ALONE}
if not os.environ.get("TUTORLIB_LONG"):
    SHARED = dict([*SHARED.items()][::4])
AROUND = [odd for odd in of_the_honest() if not odd.name.startswith("honest/answers/")]
READ = """
import json, sys, warnings
from pathlib import Path
from tutorlib.grading.merged_page import merged_page, student_code
from tutorlib.grading.submission import BadSubmission, read_submission

for path in sys.argv[1:]:
    try:
        (submitted,) = read_submission([Path(path)])
        grafted = merged_page(submitted.name, student_code(submitted))
        print(json.dumps([sorted(grafted.answers), grafted.left_out]))
    except BadSubmission as error:
        print(json.dumps([[], str(error)]))
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return strangers_course(tmp_path_factory.mktemp("course"), {TOGETHER: len(SHARED)})


@pytest.fixture(scope="module")
def all_together(course, tmp_path_factory) -> dict[str, dict]:
    """Exercise → its outcome: the odd answers on one page."""
    path = together(TOGETHER, course.student(TOGETHER), [*SHARED.values()], tmp_path_factory.mktemp("together"))
    done = course.tutor("grade", path, "--format", "json")
    assert done.stdout, done.stderr
    return {outcome["id"]: outcome for outcome in json.loads(done.stdout)["exercises"]}


@pytest.mark.parametrize(("k", "name"), list(enumerate(SHARED, 1)), ids=str)
def test_an_odd_answer_among_others_has_full_points(all_together, k, name):
    outcome = all_together[f"{TOGETHER}.{k}"]
    assert outcome["points"] == 2, f"{name}: {outcome['message']}"


@pytest.fixture(scope="module")
def read(course, tmp_path_factory) -> dict[str, list]:
    """Oddity → the exercises whose answers are found, and what is said of the others."""
    folders = [tmp_path_factory.mktemp("odd") for _ in AROUND]
    files = [odd.write(course.student(60), folder) for odd, folder in zip(AROUND, folders, strict=True)]
    command = [sys.executable, "-P", "-W", "ignore", "-c", READ, *map(str, files)]
    env = {**os.environ, "PYTHONPATH": str(course.root)}
    done = subprocess.run(command, cwd=course.root, env=env, capture_output=True, text=True, check=True)
    return dict(zip([odd.name for odd in AROUND], map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("name", [odd.name for odd in AROUND])
def test_both_answers_are_found_on_an_odd_page(read, name):
    found, of_the_others = read[name]
    assert found == ["60.1", "60.2"], of_the_others


@pytest.mark.long
@pytest.mark.parametrize("odd", of_the_honest(), ids=lambda odd: odd.name)
def test_an_oddity_by_itself_has_full_points(course, odd: HandIn, tmp_path):
    done = course.tutor("grade", odd.write(course.student(60), tmp_path), "--format", "json")
    assert done.stdout, done.stderr
    outcomes = json.loads(done.stdout)["exercises"]
    assert [outcome["points"] for outcome in outcomes] == [*FULL], [outcome["message"] for outcome in outcomes]

"""The scores of a submission: sums, the table, the exit status."""

import json

import pytest
from typer.testing import CliRunner

from tutorlib.classroom.gradebook import Graded, Judged, Submission
from tutorlib.classroom.grades import grades_of
from tutorlib.classroom.hand_ins import HandedIn
from tutorlib.classroom.roster import enrolled
from tutorlib.cli import app
from tutorlib.exercises import find, of_notebook
from tutorlib.grading import sandbox
from tutorlib.grading.scores import Scores, points_possible
from tutorlib.paths import NOTEBOOKS

GRADE = ["grade", "--no-sandbox"] if sandbox.why_open() else ["grade"]


def test_unsolved_notebooks_have_no_points():
    result = CliRunner().invoke(app, [*GRADE, str(NOTEBOOKS), "--format", "json"])
    assert result.stdout, (result.stderr, result.exception)
    scores = json.loads(result.stdout)
    assert result.exit_code == 1
    assert scores["points"] == 0
    assert scores["exercises"]
    assert {(one["status"], one["message"]) for one in scores["exercises"]} == {("failed", "not written yet")}


def test_what_was_not_timed_counts_as_far_as_it_is_right():
    exercise = find("01.2")
    scores = Scores((exercise.outcome("passed", 3, ""), exercise.outcome("not_run", 2, "speed not run")))
    assert (scores.points, scores.max_points, scores.full) == (5, 5, True)


@pytest.mark.parametrize("name", ["01_layouts", "05_copy_kernels", "13_hopper_gemm"])
def test_the_total_is_a_class_s(name):
    """Also of wrong answers to exercises that this machine cannot time, or not run."""
    wrong = [exercise.outcome("failed", 0, "wrong") for exercise in of_notebook(name)]
    submission = Submission("ann", "", None, 1, "", Graded(tuple(Judged(one, points_possible(one)) for one in wrong)))
    (grade,) = grades_of(enrolled([HandedIn("ann", "", "")], [])[0], {"ann": submission}, (name,)).grades
    (missing,) = grades_of(enrolled([HandedIn("bob", "", "")], [])[0], {}, (name,)).grades
    assert Scores(tuple(wrong)).max_points == grade.max_points == missing.max_points


def test_what_was_not_run_counts_in_neither_sum():
    exercise = find("01.2")
    scores = Scores((exercise.outcome("passed", 3, ""), exercise.outcome("not_run", 0, "no GPU here")))
    assert (scores.points, scores.max_points, scores.full) == (3, 3, True)
    assert "1 not run" in [column.footer for column in scores.table().columns]

"""The record of a student's checks: its contents, checks without a record, and what is next."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tests.trial_course import make_course
from tutorlib import CheckFailed, check
from tutorlib.checking.exercise import Outcome
from tutorlib.cli import app
from tutorlib.notebook import standing
from tutorlib.notebook.standing import (
    PROGRESS,
    Course,
    Head,
    Standing,
    attempts,
    best,
    course_of,
    record,
)

EXERCISES = ("90.1", "90.2", "90.3")


@pytest.fixture
def file(tmp_path, monkeypatch):
    """The record of this test."""
    monkeypatch.setattr(standing, "_complained", False)
    path = tmp_path / "data" / "progress.jsonl"
    monkeypatch.setenv(PROGRESS, str(path))
    return path


def attempt(id="90.1", status="passed", points=2.0, max_points=2):
    record(Outcome(id, "answer", status, points, max_points, ""))


class TestTheRecord:
    def test_a_check_is_recorded_and_its_answer_is_not(self, file, trial):
        check("90.1", lambda n: n + 1)
        with pytest.raises(CheckFailed):
            check("90.2", lambda n: "a secret")
        first, second = attempts()
        assert (first.exercise, first.status, first.points, first.max_points) == ("90.1", "passed", 2, 2)
        assert (second.exercise, second.status, second.points) == ("90.2", "failed", 0)
        assert first.utc.endswith("+00:00")
        assert "secret" not in file.read_text()

    def test_the_best_attempt_counts_and_among_equals_the_last(self, file):
        for status, points in (("failed", 0), ("partial", 1), ("passed", 2), ("failed", 0), ("partial", 1.5)):
            attempt(status=status, points=points)
        attempt("90.2", "not_run", 0)
        attempt("90.2", "failed", 0)
        assert len(attempts()) == 7
        assert (best()["90.1"].status, best()["90.1"].points) == ("passed", 2)
        assert best()["90.2"].status == "failed"

    def test_a_line_that_was_cut_off_is_skipped(self, file):
        attempt()
        file.write_bytes(file.read_bytes() + b'{"exercise": "90.2"\n\xff\n')
        attempt("90.3")
        assert best().keys() == {"90.1", "90.3"}

    def test_checks_by_tests_and_nbval_are_not_recorded(self, file, monkeypatch):
        monkeypatch.setenv(PROGRESS, "")
        assert standing.file() is None
        monkeypatch.delenv(PROGRESS)
        assert "PYTEST_VERSION" in os.environ  # a kernel that nbval starts inherits it
        assert standing.file() is None
        monkeypatch.delenv("PYTEST_VERSION")
        assert standing.file() == standing.platformdirs.user_data_path("tutorlib") / "progress.jsonl"

    def test_if_it_cannot_be_written_a_check_says_so_once_and_goes_on(self, file, trial, capsys):
        file.mkdir(parents=True)
        for _ in range(2):
            check("90.1", lambda n: n + 1)
        said = capsys.readouterr()
        assert said.out == 2 * "✓ 90.1 answer: 2 points\n"
        assert said.err == f"Your points are not recorded: {file}: Is a directory.\n"
        assert best() == {}
        assert capsys.readouterr().err == f"Your points cannot be read: {file}: Is a directory.\n"


@pytest.mark.usefixtures("file", "trial")
class TestStanding:
    def standing(self):
        return course_of(best(), [Head("90_trial", "90 · A trial")]).notebooks[0]

    def states(self):
        return [self.standing().state(exercise) for exercise in self.standing().exercises]

    def test_states_and_points(self):
        assert self.states() == ["open"] * 3
        attempt("90.1", points=5, max_points=5)  # it has 2 points today
        attempt("90.2", "partial", 1)
        attempt("90.3", "timeout", 0)
        assert self.states() == ["passed", "partial", "failed"]
        assert (self.standing().points, self.standing().max_points) == (3, 6)
        assert self.standing().next.id == "90.2"

    def test_the_command_shows_the_table_without_the_summaries(self):
        shown = CliRunner().invoke(app, ["progress"]).stdout
        assert "00 · Start here" in shown
        assert "How an exercise" not in shown

    def test_what_was_not_run_is_neither_passed_nor_failed_and_waits(self):
        for id in EXERCISES:
            attempt(id, "not_run", 1)
        assert self.states() == ["not_run"] * 3
        assert self.standing().next is None

    def test_what_is_next_follows_the_last_attempt(self):
        def course():
            return Course(tuple(Standing(Head(name, name), self.standing().exercises, best()) for name in ("a", "b")))

        assert course().next[1].id == "90.1"
        for id in EXERCISES:
            attempt(id)
        assert course().next is None


@pytest.mark.xdist_group("progress")
def test_grading_and_executing_solutions_give_nobody_points(tmp_path):
    """In a copy of the course, where kernels run; as a student would, without pytest's mark on the environment."""
    course = make_course(tmp_path / "course", {90: 1})
    kept = {"PYTEST_VERSION", PROGRESS}
    env = {name: value for name, value in os.environ.items() if name not in kept}
    env |= {"PYTHONPATH": str(course.root), "XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path)}
    for command in (["build", "--run"], ["grade", "--format", "json"]):
        done = subprocess.run(
            [sys.executable, "-m", "tutorlib", *command], cwd=course.root, env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["points"] == 2
    assert list(tmp_path.rglob("progress.jsonl")) == []
    code = "from tutorlib import check; check('90.1', lambda n: n + 1)"
    subprocess.run([sys.executable, "-c", code], cwd=course.root, env=env, check=True)
    assert len(list(tmp_path.rglob("progress.jsonl"))) == 1

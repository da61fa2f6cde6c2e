"""The record of a person's checks: what it keeps, what it never does to a check, and `tutor progress`."""

import json
import os
import sqlite3
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tests.trial_course import make_course
from tutorlib import CheckFailed, check, cli
from tutorlib.checking.exercise import Outcome
from tutorlib.notebook import progress
from tutorlib.notebook.check import RESULTS
from tutorlib.notebook.progress import PROGRESS, NoRecord, best, forget, record
from tutorlib.notebook.standing import Course, Head, Standing, course_of, heads

EXERCISES = ("90.1", "90.2", "90.3")


@pytest.fixture
def file(tmp_path, monkeypatch):
    """The record of this test."""
    monkeypatch.delenv(RESULTS, raising=False)
    monkeypatch.setattr(progress, "_complained", False)
    path = tmp_path / "data" / "progress.sqlite"
    monkeypatch.setenv(PROGRESS, str(path))
    return path


def attempt(id="90.1", status="passed", points=2.0, max_points=2):
    record(Outcome(id, "answer", status, points, max_points, ""))


def rows(file):
    with sqlite3.connect(file) as db:
        return db.execute("select * from attempts").fetchall()


class TestWhatIsKept:
    def test_a_check_is_recorded_and_its_answer_is_not(self, file, trial):
        check("90.1", lambda n: n + 1)
        with pytest.raises(CheckFailed):
            check("90.2", lambda n: "a secret")
        (_, *first), (_, *second) = rows(file)
        assert first[:4] == ["90.1", "passed", 2, 2]
        assert second[:4] == ["90.2", "failed", 0, 2]
        assert first[4].endswith("+00:00")
        assert b"secret" not in file.read_bytes()

    def test_a_later_worse_attempt_takes_nothing_away(self, file):
        for status, points in (("failed", 0), ("partial", 1), ("passed", 2), ("failed", 0), ("partial", 1.5)):
            attempt(status=status, points=points)
        assert len(rows(file)) == 5
        assert (best()["90.1"].status, best()["90.1"].points) == ("passed", 2)

    def test_among_equals_the_last_attempt_is_the_best(self, file):
        attempt(status="not_run", points=0)
        attempt(status="failed", points=0)
        assert best()["90.1"].status == "failed"

    def test_nothing_is_made_by_reading(self, file):
        assert best() == {}
        assert forget() == 0
        assert not file.parent.exists()

    def test_one_notebook_or_all_are_forgotten(self, file):
        for id in (*EXERCISES, "91.1", "09.1"):
            attempt(id)
        assert forget("90") == 3
        assert best().keys() == {"91.1", "09.1"}
        assert forget() == 2
        assert best() == {}

    def test_two_processes_write_at_once(self, file):
        attempt("91.1")
        code = "from tests.notebook.test_progress import attempt; [attempt() for _ in range(20)]"
        writers = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
        assert [writer.wait() for writer in writers] == [0, 0]
        assert len(rows(file)) == 41


class TestWhoseAttemptsCount:
    def test_none_of_a_test_nor_of_nbval(self, monkeypatch):
        monkeypatch.delenv(PROGRESS, raising=False)
        assert "PYTEST_VERSION" in os.environ  # a kernel that nbval starts inherits it
        assert progress.file() is None
        attempt()

    def test_those_of_a_person(self, monkeypatch):
        monkeypatch.delenv(PROGRESS, raising=False)
        monkeypatch.delenv("PYTEST_VERSION")
        assert progress.file() == progress.platformdirs.user_data_path("tutorlib") / "progress.sqlite"

    def test_none_of_a_grader(self, file, tmp_path, monkeypatch, trial):
        monkeypatch.setenv(RESULTS, str(tmp_path / "results.jsonl"))
        check("90.1", lambda n: n + 1)
        assert not file.exists()

    def test_none_where_no_record_is_wanted(self, monkeypatch):
        monkeypatch.setenv(PROGRESS, "")
        assert progress.file() is None


class TestARecordThatCannotBeKept:
    def refuses(self, file, capsys, says):
        """A check goes on, and says once why its points are not recorded."""
        for _ in range(2):
            check("90.1", lambda n: n + 1)
        said = capsys.readouterr()
        assert said.out == 2 * "✓ 90.1 answer: 2 points\n"
        assert said.err.startswith(f"Your points are not recorded: {file}: {says}")
        assert said.err.count("\n") == 1

    def test_damaged(self, file, trial, capsys):
        file.parent.mkdir()
        file.write_bytes(b"not a database" * 100)
        self.refuses(file, capsys, "file is not a database")
        with pytest.raises(NoRecord, match="file is not a database"):
            best()
        with pytest.raises(NoRecord):
            forget("90")
        forget()
        check("90.1", lambda n: n + 1)
        assert best()["90.1"].points == 2

    def test_locked(self, file, trial, capsys, monkeypatch):
        attempt()
        monkeypatch.setattr(progress, "TIMEOUT_S", 0.01)
        with sqlite3.connect(file) as other:
            other.execute("begin exclusive")
            self.refuses(file, capsys, "database is locked")
        other.close()

    def test_unwritable(self, file, trial, capsys):
        file.parent.write_text("a file where the folder should be")
        self.refuses(file, capsys, "")

    def test_no_file_at_all(self, file, trial, capsys):
        file.mkdir(parents=True)
        self.refuses(file, capsys, "unable to open database file")

    def test_of_a_newer_version(self, file, trial, capsys):
        attempt()
        with sqlite3.connect(file) as db:
            db.execute("pragma user_version = 99")
        self.refuses(file, capsys, "written by a newer version of the course")


@pytest.mark.usefixtures("file", "trial")
class TestStanding:
    def standing(self):
        return course_of(best(), [Head("90_trial", "90 · A trial")]).notebooks[0]

    def states(self):
        return [self.standing().state(exercise) for exercise in self.standing().exercises]

    def test_states_and_points(self):
        assert self.states() == ["open"] * 3
        attempt("90.1")
        attempt("90.2", "partial", 1)
        attempt("90.3", "timeout", 0)
        assert self.states() == ["passed", "partial", "failed"]
        assert (self.standing().points, self.standing().max_points) == (3, 6)
        assert self.standing().left == "next: 90.2 answer"

    def test_what_was_not_run_is_neither_passed_nor_failed_and_waits(self):
        for id in EXERCISES:
            attempt(id, "not_run", 1)
        assert self.states() == ["not_run"] * 3
        assert self.standing().points == 3
        assert self.standing().left == "done, but 3 not run"

    def test_an_exercise_that_has_fewer_points_today_gives_no_more_than_those(self):
        attempt(points=5, max_points=5)
        assert self.standing().points == 2

    def test_what_is_next_follows_the_last_attempt(self):
        def course():
            return Course(tuple(Standing(Head(name, name), self.standing().exercises, best()) for name in ("a", "b")))

        assert course().next[1].id == "90.1"
        for id in EXERCISES:
            attempt(id)
        assert course().next is None

    def test_without_a_contents_page_notebooks_go_by_their_names(self, monkeypatch, tmp_path):
        monkeypatch.setattr("tutorlib.notebook.standing.NOTEBOOKS", tmp_path)
        assert heads() == (Head("90_trial", "90_trial"),)
        (tmp_path / "contents.ipynb").write_text('{"metadata": {"tutorlib": {"notebooks": [{"title": "?"}]}}}')
        assert heads() == (Head("90_trial", "90_trial"),)


class TestTheCommand:
    def tutor(self, *args, input=None):
        return CliRunner().invoke(cli.app, ["progress", *args], input=input)

    def test_it_prints_points_states_and_what_is_next(self, file):
        attempt("01.1")
        attempt("01.3", "partial", 1)
        done = self.tutor("01")
        assert done.exit_code == 0
        row = next(line for line in done.output.splitlines() if line.startswith(" 01"))
        assert "3 / 22" in row
        assert "✓·◐·····" in row
        assert "next: 01.2 compact_strides" in row
        assert "tutor progress --reset" in done.output

    def test_it_asks_before_it_forgets(self, file):
        attempt("01.1")
        attempt("02.1")
        assert self.tutor("--reset", input="n\n").exit_code == 1
        assert len(best()) == 2
        assert "Deleted: 1 check of notebook 01." in self.tutor("--reset", "01", input="y\n").output
        assert best().keys() == {"02.1"}
        assert "Deleted: 1 check of every notebook." in self.tutor("--reset", "--yes").output
        assert best() == {}

    def test_a_record_that_cannot_be_read_is_one_line(self, file):
        file.parent.mkdir()
        file.write_bytes(b"not a database" * 100)
        done = self.tutor()
        assert done.exit_code == 1
        assert len(done.output.splitlines()) == 1
        assert "file is not a database. `tutor progress --reset` starts a new record." in done.output
        assert self.tutor("--reset", "--yes").exit_code == 0
        assert self.tutor().exit_code == 0

    def test_a_notebook_that_does_not_exist_is_one_line(self, file):
        done = self.tutor("99")
        assert done.exit_code == 2
        assert "There is no notebook 99" in done.output


@pytest.mark.xdist_group("progress")
def test_grading_and_executing_solutions_give_nobody_points(tmp_path):
    """In a copy of the course, where kernels run; as a person would, without pytest's mark on the environment."""
    course = make_course(tmp_path / "course", {90: 1})
    kept = {"PYTEST_VERSION", PROGRESS, RESULTS}
    env = {name: value for name, value in os.environ.items() if name not in kept}
    env |= {"PYTHONPATH": str(course.root), "XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path)}
    for command in (["build", "--run"], ["grade", "--format", "json"]):
        done = subprocess.run(
            [sys.executable, "-m", "tutorlib", *command], cwd=course.root, env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["points"] == 2
    assert list(tmp_path.rglob("progress.sqlite")) == []
    code = "from tutorlib import check; check('90.1', lambda n: n + 1)"
    subprocess.run([sys.executable, "-c", code], cwd=course.root, env=env, check=True)
    assert len(list(tmp_path.rglob("progress.sqlite"))) == 1

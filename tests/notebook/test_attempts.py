"""What a check leaves in the notebook: the tries at its exercise, few, in text, and shown by nobody."""

import json
import sqlite3
import subprocess
import sys
from types import SimpleNamespace

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutorlib import CheckFailed, check
from tutorlib.checking.exercise import Outcome
from tutorlib.course.build import solved_notebook, text_of
from tutorlib.course.execute import environment
from tutorlib.course.source import parse
from tutorlib.notebook import progress
from tutorlib.notebook.attempts import MOST, is_left, leave, text_of_tries, tries_in
from tutorlib.notebook.check import RESULTS
from tutorlib.notebook.progress import PROGRESS, Tried
from tutorlib.paths import NOTEBOOKS, SOLUTIONS, notebook_names

TRIES = st.lists(st.builds(Tried, st.integers(10**8, 10**10 - 1), st.booleans()), min_size=1, max_size=60)


@pytest.fixture
def file(tmp_path, monkeypatch):
    """The record of this test."""
    monkeypatch.delenv(RESULTS, raising=False)
    monkeypatch.setattr(progress, "_complained", False)
    monkeypatch.setenv(PROGRESS, str(tmp_path / "progress.sqlite"))
    return tmp_path / "progress.sqlite"


@pytest.fixture
def left(monkeypatch):
    """What this process's notebook, made up, was given to publish."""
    published = []
    pub = SimpleNamespace(publish=lambda data, metadata: published.append({"data": data, "metadata": metadata}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(display_pub=pub)))
    return published


class TestWhatIsLeft:
    def test_every_check_leaves_all_tries_at_its_exercise(self, file, trial, left):
        for right in (False, True):
            check("90.2", lambda n: n + 2)
            if right:
                check("90.1", lambda n: n + 1)
            else:
                with pytest.raises(CheckFailed):
                    check("90.1", lambda n: n)
        assert [one["metadata"]["tutorlib"]["exercise"] for one in left] == ["90.2", "90.1", "90.2", "90.1"]
        assert all(map(is_left, left))
        tries = [tries_in(one["metadata"]["tutorlib"]["tries"]) for one in left]
        assert [[one.right for one in each] for each in tries] == [[True], [False], [True, True], [False, True]]

    @pytest.mark.parametrize(
        ("status", "points", "right"),
        [("passed", 2, True), ("partial", 1, False), ("not_run", 1, True), ("not_run", 0, False), ("error", 0, False)],
    )
    def test_right_is_what_this_machine_finds_nothing_wrong_with(self, file, left, status, points, right):
        progress.record(Outcome("90.1", "answer", status, points, 2, ""))
        leave("90.1")
        assert [one.right for one in tries_in(left[0]["metadata"]["tutorlib"]["tries"])] == [right]

    def test_nothing_where_no_record_is_kept(self, file, trial, left, tmp_path, monkeypatch):
        monkeypatch.setenv(RESULTS, str(tmp_path / "results.jsonl"))  # a grader's, or evidence's
        check("90.1", lambda n: n + 1)
        monkeypatch.delenv(RESULTS)
        monkeypatch.setenv(PROGRESS, "")
        check("90.1", lambda n: n + 1)
        monkeypatch.delenv(PROGRESS)  # PYTEST_VERSION is set, as for nbval's kernels
        check("90.1", lambda n: n + 1)
        assert left == []

    def test_a_record_that_cannot_be_read_breaks_no_check(self, file, trial, left, capsys):
        file.write_bytes(b"not a database" * 100)
        check("90.1", lambda n: n + 1)
        assert left == []
        said = capsys.readouterr()
        assert said.out == "✓ 90.1 answer: 2 points\n"
        assert said.err.count("\n") == 1

    def test_a_try_without_a_date_is_left_out(self, file, left):
        for _ in range(2):
            progress.record(Outcome("90.1", "answer", "passed", 2, 2, ""))
        with sqlite3.connect(file) as db:
            db.execute("update attempts set utc = 'yesterday' where id = 1")
        leave("90.1")
        assert len(tries_in(left[0]["metadata"]["tutorlib"]["tries"])) == 1

    def test_a_script_needs_no_ipython(self, file):
        code = (
            "import sys; from tutorlib.notebook.attempts import leave; leave('90.1'); print('IPython' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


class TestText:
    @given(TRIES)
    def test_few_tries_come_back_and_many_are_thinned(self, tries):
        text = text_of_tries(tries)
        assert len(text) <= 11 * 2 * MOST
        back = tries_in(text)
        first = next((one for one in tries if one.right), None)
        assert next((one for one in back if one.right), None) == first
        assert (back[0], back[-1]) == (tries[0], tries[-1])
        assert [one for one in tries if one in back] == back or len(set(tries)) < len(tries)
        if len(tries) <= MOST:
            assert back == tries

    @pytest.mark.parametrize(
        "text",
        [
            *("", "1", "+", "1767268800", "1767268800+ ", "1767268800+\n", "x1767268800+", "-1767268800+", "NaN+"),
            *("١٧٦٧٢٦٨٨٠٠+", "17672688001+", "1767268800+" * (2 * MOST + 1), "1767268800+" * 10**6),
            *(None, True, 1767268800, float("nan"), ["1767268800+"], {"1767268800+": 1}, b"1767268800+"),
        ],
    )
    def test_garbage_is_no_try(self, text):
        assert tries_in(text) == []


class TestInANotebook:
    def test_a_person_s_notebook_has_it_and_a_built_solution_has_not(self, file, tmp_path):
        """Executed by a kernel as JupyterLab starts one: with a record, and without pytest's mark."""
        from nbclient import NotebookClient

        cells = parse(SOLUTIONS / "00_start.py")
        notebook = solved_notebook(cells)
        with pytest.MonkeyPatch.context() as patch, environment(**{PROGRESS: str(file)}):
            patch.delenv("PYTEST_VERSION")
            NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
        outputs = next(cell for cell in notebook.cells if cell.id == "check-00-1").outputs
        assert [is_left(output) for output in outputs] == [True, False]
        (one,) = tries_in(outputs[0].metadata.tutorlib.tries)
        assert one.right
        assert len(json.dumps(outputs[0], indent=1)) < 400
        rebuilt = text_of(solved_notebook(cells, nbformat.from_dict(notebook)))
        assert '"tries"' in text_of(notebook)
        assert '"tries"' not in rebuilt
        handed_in = tmp_path / "00_start.ipynb"
        handed_in.write_text(text_of(notebook), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval-lax", "--rootdir", tmp_path]
        done = subprocess.run([*command, handed_in], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout

    def test_no_notebook_of_the_course_has_it(self):
        for folder in (SOLUTIONS, NOTEBOOKS):
            for name in notebook_names():
                read = nbformat.read(folder / f"{name}.ipynb", as_version=4)
                code = [cell for cell in read.cells if cell.cell_type == "code"]
                assert not [output for cell in code for output in cell.outputs if is_left(output)]

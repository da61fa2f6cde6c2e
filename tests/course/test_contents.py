"""The contents page: its heads, its table before and after it ran, and what an unrun check shows."""

import json
from html.parser import HTMLParser

import nbformat
import pytest
from nbconvert import HTMLExporter, MarkdownExporter
from nbformat import v4

from tests.trial_course import make_course
from tutorlib.checking.exercise import Outcome
from tutorlib.course import contents as building
from tutorlib.course.build import mark_unrun, student_notebook
from tutorlib.course.source import BuildError, parse
from tutorlib.exercises import of_notebook
from tutorlib.notebook import contents
from tutorlib.notebook.progress import PROGRESS, record
from tutorlib.notebook.standing import Head
from tutorlib.paths import NOTEBOOKS, SOLUTIONS, notebook_names

HEAD = """\
# ---
# jupyter:
#   tutorlib:
#     minutes: 45
#     summary: One sentence.
# ---

# %% [markdown]
# # 90 · A trial
"""
PAGE = """\
# %% [markdown]
# # Contents

# %%
from tutorlib.notebook.contents import show_contents

show_contents()
"""


class TestHeads:
    def read(self, folder, text):
        source = folder / "90_trial.py"
        source.write_text(text, encoding="utf-8")
        return building.read_head(source)

    def test_a_head(self, tmp_path):
        assert self.read(tmp_path, HEAD) == Head("90_trial", "90 · A trial", "One sentence.", 45)

    @pytest.mark.parametrize(
        ("old", "new", "line", "says"),
        [
            ("#     minutes: 45\n", "", 1, '"minutes: 45"'),
            ("45", "soon", 1, '"minutes: 45"'),
            ("45", "0", 1, '"minutes: 45"'),
            ("#     summary: One sentence.\n", "", 1, '"summary: …"'),
            ("One sentence.", "3", 1, '"summary: …"'),
            ("One sentence.", "", 1, '"summary: …"'),
            ("# # 90 · A trial", "# A trial", 1, 'title, "# 90 · …"'),
            ("One sentence.", "One: sentence.", 5, "not YAML"),
        ],
    )
    def test_every_fault_names_its_line(self, tmp_path, old, new, line, says):
        assert old in HEAD
        with pytest.raises(BuildError) as error:
            self.read(tmp_path, HEAD.replace(old, new, 1))
        assert str(error.value).startswith(f"{tmp_path / '90_trial.py'}:{line}: ")
        assert says in str(error.value)


class TestThePage:
    def test_it_is_what_its_sources_say(self):
        for path, text in building.build().items():
            assert path.read_text(encoding="utf-8") == text, "run `tutor build`"

    def test_before_it_ran_it_shows_the_course_and_nobodys_points(self):
        (page,) = building.build().values()
        call = nbformat.reads(page, as_version=4).cells[-1]
        table = call.outputs[0]["data"]["text/markdown"]
        for name in notebook_names():
            assert f"]({name}.ipynb)<br>" in table
            assert (NOTEBOOKS / f"{name}.ipynb").exists()
        total = sum(exercise.points for name in notebook_names() for exercise in of_notebook(name))
        assert f"| **{total}** |" in table
        assert "point" not in table.replace("Points |", "")

    def test_tutor_build_writes_it_and_says_what_is_missing(self, tmp_path):
        course = make_course(tmp_path / "course", {90: 1})
        (course.root / "solutions" / "contents.py").write_text(PAGE, encoding="utf-8")
        refused = course.tutor("build")
        assert refused.returncode == 1
        assert all("90_trial.py:1: " in line for line in refused.stderr.splitlines())
        source = course.root / "solutions" / "90_trial.py"
        source.write_text(HEAD + "\n" + source.read_text(encoding="utf-8"), encoding="utf-8")
        assert course.tutor("build").returncode == 0
        assert course.tutor("build", "--check").returncode == 0
        page = json.loads((course.root / "notebooks" / "contents.ipynb").read_text(encoding="utf-8"))
        assert page["metadata"]["tutorlib"]["notebooks"][0]["minutes"] == 45
        source.write_text(source.read_text(encoding="utf-8").replace("45", "50"), encoding="utf-8")
        stale = course.tutor("build", "--check")
        assert stale.returncode == 1
        assert "contents.ipynb: stale" in stale.stderr


class Links(HTMLParser):
    """The addresses that a page links to; fails where its tags do not match."""

    def __init__(self, page):
        super().__init__()
        self.open, self.links = [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        if tag != "br":
            self.open.append(tag)
        self.links += [value for name, value in attributes if name == "href"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """A function that gives what `show_contents` shows: the HTML and the text."""
    monkeypatch.setenv(PROGRESS, str(tmp_path / "progress.jsonl"))
    displayed = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: displayed.append(data))

    def show():
        contents.show_contents()
        return displayed[-1]["text/html"], displayed[-1]["text/plain"]

    return show


class TestWhatItShows:
    def test_every_notebook_is_linked(self, shown, no_gpu):
        html, plain = shown()
        assert set(Links(html).links) == {f"{name}.ipynb" for name in notebook_names()}
        assert "<p>Next: <strong>00.1 ceil_div</strong> in " in html
        assert "This machine: no GPU here." in plain
        assert "`tutor progress --reset`" in plain
        assert "<code>tutor progress --reset</code>" in html

    def test_points_and_states(self, shown, no_gpu):
        for id, status, got in (("01.1", "passed", 2), ("01.2", "partial", 1), ("04.4", "not_run", 0)):
            record(Outcome(id, "", status, got, 3, ""))
        html, _ = shown()
        assert f"3 / {sum(one.points for one in of_notebook('01_layouts'))}" in html
        assert '<i class="passed" style="flex-grow: 2" title="01.1 offset: passed, 2 of 2 points"></i>' in html
        for words in ("passed", "partly right", "not run here"):
            assert f'"></i>{words}' in html  # the key to the colors
        assert "not right yet" not in html


class TestAnUnrunCheck:
    def test_a_reader_sees_that_it_has_not_run(self):
        notebook = mark_unrun(student_notebook(parse(SOLUTIONS / "00_start.py")))
        marked = next(cell for cell in notebook.cells if cell.id == "check-00-1")
        html, _ = HTMLExporter().from_notebook_node(v4.new_notebook(cells=[marked]))
        assert "data:image/png" in html
        assert "✓" not in html
        text, _ = MarkdownExporter().from_notebook_node(v4.new_notebook(cells=[marked]))
        assert "✓" not in text

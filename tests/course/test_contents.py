"""The pages that are made of all notebooks: the contents page, README, the glossary; and the form of each page."""

import ast
import json
import re
import tomllib
from collections import Counter
from dataclasses import replace
from itertools import chain

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from nbconvert import HTMLExporter, MarkdownExporter
from nbconvert.filters import add_anchor
from nbformat import v4
from packaging.specifiers import SpecifierSet

from tests.pages.answers import named
from tests.stand_ins import MACHINE, copied
from tests.trial_course import make_course
from tutorlib.checking.exercise import Outcome
from tutorlib.course import build, contents
from tutorlib.course.build import mark_unrun, student_notebook
from tutorlib.course.contents import read_head
from tutorlib.course.glossary import GLOSSARY, TERMS, anchor, glossary_page, link_terms, prose, section
from tutorlib.course.measure_solutions import code_sha256
from tutorlib.course.source import BuildError, SourceCell, parse, read
from tutorlib.exercises import find, of_notebook
from tutorlib.measuring.results import Result, Results
from tutorlib.notebook.course_table import show_contents
from tutorlib.notebook.standing import PROGRESS, Head, record
from tutorlib.paths import NOTEBOOKS, ROOT, SOLUTIONS, notebook_names

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
from tutorlib.notebook.course_table import show_contents

show_contents()
"""


class TestHeads:
    def read(self, folder, text):
        source = folder / "90_trial.py"
        source.write_text(text, encoding="utf-8")
        return contents.read_head(source)

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
            ("# # 90 · A trial", "# A trial", 1, 'title "# 90 · …"'),
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
        for path, text in contents.build().items():
            assert path.read_text(encoding="utf-8") == text, "run `tutor build`"

    def test_before_it_ran_it_shows_the_course_and_nobodys_points(self):
        page = contents.build()[NOTEBOOKS / "contents.ipynb"]
        (output,) = chain.from_iterable(cell.get("outputs", ()) for cell in nbformat.reads(page, as_version=4).cells)
        table = output["data"]["text/markdown"]
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


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """A function that gives the Markdown that `show_contents` shows."""
    monkeypatch.setenv(PROGRESS, str(tmp_path / "progress.jsonl"))
    displayed = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: displayed.append(data))

    def show():
        show_contents()
        return displayed[-1]["text/markdown"]

    return show


class TestWhatItShows:
    def test_every_notebook_is_linked(self, shown, no_gpu):
        text = shown()
        assert re.findall(r"\]\((\w+\.ipynb)\)", text) == [f"{name}.ipynb" for name in notebook_names()]
        assert text.startswith("Next: **00.1 ceil_div** in ")
        assert "This machine: no GPU here." in text
        assert "progress.jsonl`: delete this file" in text

    def test_points_and_states(self, shown, no_gpu):
        for id, status, got in (("01.1", "passed", 3), ("01.2", "partial", 1), ("02.1", "not_run", 0)):
            record(Outcome(id, "", status, got, 3, ""))
        text = shown()
        assert f"| 4 / {sum(one.points for one in of_notebook('01_layouts'))} | ✓◐··· |" in text
        assert "◐ partly right" in text


class TestAnUnrunCheck:
    def test_a_reader_sees_that_it_has_not_run(self):
        notebook = mark_unrun(student_notebook(parse(SOLUTIONS / "00_start.py")))
        marked = next(cell for cell in notebook.cells if cell.id == "check-00-1")
        html, _ = HTMLExporter().from_notebook_node(v4.new_notebook(cells=[marked]))
        assert "data:image/png" in html
        assert "✓" not in html
        text, _ = MarkdownExporter().from_notebook_node(v4.new_notebook(cells=[marked]))
        assert "✓" not in text


# README --------------------------------------------------------------------------------------------------------------

LADDER = [exercise for exercise in of_notebook("05_copy_kernels") if exercise.needs]
POINTS = sum(exercise.points for exercise in LADDER)


@pytest.fixture
def reached():
    """Notebook 05 on an H200."""
    exercises = {one.id: Result("passed", one.points, one.points, (copied(0.98, median_us=511.3),)) for one in LADDER}
    pages = {"05_copy_kernels": code_sha256("05_copy_kernels")}
    return Results(MACHINE, "2026-11-20", pages, exercises)


def test_its_picture_says_what_the_check_says():
    """Its text for those who do not see it is the message of 05.3 without its barrier."""
    message = find("05.3").grade(named("05.3", "- sync_threads()").function).message
    (shown,) = re.findall(r"!\[([^\]]*)\]\(figures/race.png\)", contents.README.read_text(encoding="utf-8"))

    def words(text):
        return re.sub(r"line \d+|\.(?= |$)", "", " ".join(text.split()))

    assert words(message) in words(shown)


def test_its_badges_are_true():
    text = contents.README.read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    first, last = re.search(r"!\[Python 3\.(\d+) to 3\.(\d+)\]", text).groups()
    pythons = [minor for minor in range(30) if SpecifierSet(project["requires-python"]).contains(f"3.{minor}")]
    assert pythons == list(range(int(first), int(last) + 1))
    assert f"badge/python-3.{first}%20to%203.{last}-" in text
    assert f"[![license: {project['license']}](https://img.shields.io/badge/license-{project['license']}-" in text
    for workflow in re.findall(r"actions/workflows/(\w+\.yml)", text):
        assert (ROOT / ".github" / "workflows" / workflow).exists()


def test_its_links_lead_to_files():
    for path in (contents.README, *(ROOT / "docs").glob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            assert link.startswith("../../actions/") or (path.parent / link).exists(), f"{path.name}: {link}"


def row(name, *results):
    return next(row for row in contents.results_table(results).splitlines() if name in row)


def test_a_measured_notebook(reached):
    best = LADDER[0].title
    assert row("05_copy", reached).endswith(
        f"| {POINTS} of {POINTS} points; {best}: 4.20 TB/s, 0.980 ±0.5% of torch copy_ |"
    )


def test_a_notebook_that_needs_no_gpu_and_one_that_never_ran(reached):
    assert row("00_start", reached).endswith("| all | – |")
    assert row("06_cutile", reached).endswith("| all | not run |")


def test_code_that_changed_since_with_the_points_that_the_page_had_then(reached):
    first, *_ = LADDER
    fewer = {first.id: reached.exercises[first.id]}
    old = replace(reached, notebooks={"05_copy_kernels": "another"}, exercises=fewer)
    assert f"| {first.points} of {first.points} points; " in row("05_copy", old)
    assert row("05_copy", old).endswith("; *changed since* |")


# The glossary --------------------------------------------------------------------------------------------------------

TO_GLOSSARY = re.compile(rf"\({GLOSSARY}\.ipynb#([^)]+)\)")


def headings(page):
    """Their anchors."""
    text = "\n\n".join(cell.source for cell in page.cells if cell.cell_type == "markdown")
    return {anchor(piece.lstrip("# ")) for piece, is_prose in prose(text) if not is_prose and piece.startswith("#")}


def linked(*texts):
    return [cell.source for cell in link_terms(v4.new_notebook(cells=list(map(v4.new_markdown_cell, texts)))).cells]


def test_a_term_is_defined_once():
    forms = Counter(form.lower() for term in TERMS for form in (term.name, *term.also))
    assert [form for form, n in forms.items() if n > 1] == []


def test_a_definition_is_a_sentence():
    assert [term.name for term in TERMS if not re.fullmatch(r"[\w.⊘∘].{15,130}\.", term.says)] == []


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_its_page_uses_it(term):
    (source,) = SOLUTIONS.glob(f"{term.page}_*.py")
    assert section(term, read(source))


def test_every_link_of_the_glossary_leads_to_a_section():
    pages = {name: headings(read(SOLUTIONS / f"{name}.py")) for name in notebook_names()}
    links = re.findall(r"\((\w+)\.ipynb#([^)]+)\)", "\n".join(cell.source for cell in glossary_page(SOLUTIONS).cells))
    assert len(links) == len(TERMS)
    assert [(page, to) for page, to in links if to not in pages[page]] == []


@pytest.fixture(scope="module")
def terms():
    return headings(glossary_page(SOLUTIONS))


@pytest.mark.parametrize("name", notebook_names())
def test_every_link_of_a_page_leads_to_a_term(name, terms):
    page = link_terms(build.student_notebook(parse(SOLUTIONS / f"{name}.py")))
    links = TO_GLOSSARY.findall("\n".join(cell.source for cell in page.cells))
    assert set(links) <= terms
    assert len(set(links)) == len(links)


@pytest.mark.parametrize("heading", ["K block", "2 · `mma` and 2³¹", "shape : stride", "Which B, M and S?"])
def test_an_anchor_is_the_one_that_nbconvert_makes(heading):
    html = re.sub("`(.*?)`", r"<code>\1</code>", heading)
    assert f'id="{anchor(heading)}"' in add_anchor(f"<h2>{html}</h2>").replace("&amp;", "&")


def test_the_first_use_is_linked():
    first, second = linked("Tiles of a tile.", "A **bank conflict** of a bank.")
    assert first == "[Tiles](glossary.ipynb#tile) of a tile."
    assert second == "A **[bank conflict](glossary.ipynb#bank-conflict)** of a [bank](glossary.ipynb#bank)."


@pytest.mark.parametrize(
    "text",
    [
        "## A tile",
        "`tile`, ``a tile`` and $tile$, $$tile$$",
        "```python\ntile = 1\n```",
        "> ```\n> tile\n> ```",
        "    a tile",
        "[a tile](02.ipynb) and ![tile](tile.png)",
        "<details><summary>A tile?</summary>",
        "<b>tile\ntile</b>",
        "https://x.org/tile",
        "K-tiles, tile.py, tiled",
    ],
)
def test_what_is_no_prose_stays(text):
    assert linked(text) == [text]


# The form of each page -----------------------------------------------------------------------------------------------

PAGES = notebook_names()
CAN, TAKES = "> **After this page you can** ", "> **It takes** about "
APPENDIX = "## Appendix: "  # so each section after the main path begins
QUESTION = re.compile(r"<details><summary>(\d)\. .+?</summary>\n\n.+?\n\n</details>", re.DOTALL)


def parts(page: str) -> tuple[list[SourceCell], list[SourceCell]]:
    """A page's cells: its main path and its appendix."""
    cells = parse(SOLUTIONS / f"{page}.py")
    first = next((at for at, cell in enumerate(cells) if cell.text.startswith(APPENDIX)), len(cells))
    return cells[:first], cells[first:]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_with_what_it_teaches_and_takes(page):
    source = SOLUTIONS / f"{page}.py"
    first = parse(source)[0].text
    assert CAN in first
    assert f"{TAKES}{read_head(source).minutes} minutes, " in first


@pytest.mark.parametrize("page", PAGES)
def test_a_page_closes_with_what_to_remember_and_three_questions(page):
    last = parts(page)[0][-1].text
    assert last.index("## What to remember\n\n") < last.index("## Test yourself\n\n")
    assert QUESTION.findall(last) == ["1", "2", "3"]
    assert not re.search("<summary>[^<]*`", last), "in HTML write <code>"
    assert last.endswith("</details>")


@pytest.mark.parametrize("page", PAGES)
def test_an_appendix_has_its_time_in_the_head_and_on_the_page(page):
    main, appendix = parts(page)
    head = read_head(SOLUTIONS / f"{page}.py")
    assert bool(head.appendix) == bool(appendix)
    if appendix:
        assert f"its appendix about {head.appendix} more" in main[0].text


def imports(cell: SourceCell) -> list[ast.Import | ast.ImportFrom]:
    code = TransformerManager().transform_cell(cell.solved)
    return [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import | ast.ImportFrom)]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_begins_with_at_most_six_imports(page):
    """From the course, it imports from tutorlib, and its own kernel's names from one module."""
    head = imports(next(cell for cell in parts(page)[0] if cell.kind == "code"))
    assert len(head) <= 6
    assert sum(node.module.startswith("tutorlib") for node in head if isinstance(node, ast.ImportFrom)) <= 2


@pytest.mark.parametrize("page", PAGES)
def test_every_import_of_a_page_works(page):
    for cell in parse(SOLUTIONS / f"{page}.py"):
        if cell.kind == "code":
            exec(compile(ast.Module(list(imports(cell)), []), page, "exec"), {})


def words(page: str) -> int:
    """Words of a page's prose, without listings and pictures."""
    prose = "\n".join(cell.text for cell in parse(SOLUTIONS / f"{page}.py") if cell.kind == "markdown")
    return len(re.findall(r"\S*\w\S*", re.sub(r"```.*?```|!\[[^\]]*\]\([^)]*\)", "", prose, flags=re.S)))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_read_and_solved_in_one_sitting(page):
    assert words(page) <= 4000
    assert len(of_notebook(page)) <= 12
    assert (SOLUTIONS / f"{page}.py").read_text(encoding="utf-8").count("**Predict") <= 4


def test_the_course_is_at_most_65_000_words():
    assert sum(map(words, PAGES)) <= 65_000

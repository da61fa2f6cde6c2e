"""The glossary: terms defined once and used where they are said to be taught, and links that lead somewhere."""

import re
from collections import Counter

import pytest
from nbconvert.filters import add_anchor
from nbformat import v4

from tutorlib.course import build
from tutorlib.course.glossary import GLOSSARY, TERMS, anchor, glossary_page, link_terms, prose, section
from tutorlib.course.source import parse, read
from tutorlib.paths import SOLUTIONS, notebook_names

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

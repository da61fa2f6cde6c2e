"""The site: what its pages show, and where their links lead."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag

import pytest
from nbformat import v4

from tests.site.conftest import served
from tutorlib.course.source import parse
from tutorlib.paths import ROOT, SOLUTIONS, notebook_names
from tutorlib.site.pages import HIDDEN, explorer_data, notebook_links, redact

PACKAGE = ROOT / "tutorlib"
LOADED = {"script": "src", "img": "src", "source": "src", "iframe": "src", "link": "href"}  # by a browser, at once
EXPLORERS = {  # page → how many explorers it has
    "01_layouts": 1, "03_layout_algebra": 2, "04_swizzles": 1, "06_cutile_tiles": 1,
    "11_double_buffer": 1, "14_hopper_gemm": 1,
}  # fmt: skip


class Page(HTMLParser):
    """What a page has: ids, links, addresses that it loads, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found["id"]} if "id" in found else set()
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if found.get(LOADED.get(tag, "")) and found.get("rel") not in ("next", "prev"):
            self.loads.append(found[LOADED[tag]])

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


@pytest.fixture(scope="session")
def pages(site) -> dict[str, Page]:
    """File name → page."""
    return {path.name: Page(path.read_text(encoding="utf-8")) for path in sorted(site.glob("*.html"))}


def test_no_link_leads_nowhere(site, pages):
    broken = []
    for name, page in pages.items():
        for link in page.links:
            target, fragment = urldefrag(link)
            if re.match(r"\w+:", target):
                continue
            file = unquote(target) or name
            if not (site / file).exists():
                broken.append(f"{name}: {link}")
            elif fragment and file in pages and unquote(fragment) not in pages[file].ids:
                broken.append(f"{name}: {link}: no such anchor")
    assert broken == []


def test_a_page_loads_nothing_from_elsewhere(site, pages):
    loads = [f"{name}: {address}" for name, page in pages.items() for address in page.loads]
    assert [line for line in loads if re.search(r": (\w+:)?//", line)] == []
    styles = "\n".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"@import[^;]*//|url\([\"']?(?:https?:)?//[^)]*", styles) == []


# Answers --------------------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """With single blanks."""
    return " ".join(text.split())


def code_lines(text: str) -> Iterator[str]:
    """Lines of code without comments."""
    for line in text.split("\n"):
        if code := plain(line.split("#")[0]):
            yield code


def answers() -> dict[str, list[str]]:
    """Exercise → the lines of its answer that are long enough to tell and that a student is not given.

    Given are the text of the notebooks, prose included, and the library, which pages show.
    """
    cells = [cell for name in notebook_names() for cell in parse(SOLUTIONS / f"{name}.py")]
    library = [path for path in PACKAGE.rglob("*.py") if "exercises" not in path.parts]
    texts = [*(cell.unsolved for cell in cells), *(path.read_text(encoding="utf-8") for path in library)]
    given = plain("\n".join(texts).replace("`", ""))
    found: dict[str, list[str]] = {}
    for cell in cells:
        for region in cell.regions:
            lines = code_lines("\n".join(cell.answer(region)))
            found.setdefault(cell.exercise, []).extend(line for line in lines if len(line) > 16 and line not in given)
    return {id: lines for id, lines in found.items() if lines}


def test_no_answer_is_in_the_site(site, pages):
    texts = {name: plain(page.text) for name, page in pages.items()}
    texts["searchindex.js"] = (site / "searchindex.js").read_text(encoding="utf-8")
    found = answers()
    assert len(found) > 60
    told = [
        (id, name, line)
        for id, lines in found.items()
        for line in lines
        for name, text in texts.items()
        if line in text
    ]
    assert told == []


# In the browser -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def address(site) -> Iterator[str]:
    with served(site) as found:
        yield found


@pytest.fixture
def tab(browser, address):
    """A page of the browser that fails the test for a console error, a missing file or a request to another host."""
    opened = browser.new_page()
    complaints: list[str] = []
    opened.on("request", lambda request: complaints.append(request.url) if address not in request.url else None)
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("requestfailed", lambda request: complaints.append(request.url))
    yield opened
    opened.close()
    assert complaints == []


@pytest.mark.browser
def test_every_page_loads_and_fits_a_narrow_screen(tab, address, pages):
    """Its explorers are alive, and nothing but a box of its own scrolls sideways."""
    tab.set_viewport_size({"width": 390, "height": 800})
    wide = {}
    for name in pages:
        tab.goto(f"{address}/{name}")
        explorers = EXPLORERS.get(name.removesuffix(".html"), 0)
        assert tab.locator(".explorer").count() == tab.locator(".explorer.live svg").first.count() * explorers
        room, needed = tab.evaluate("[document.documentElement.clientWidth, document.documentElement.scrollWidth]")
        wide |= {name: needed} if needed > room else {}
    assert wide == {}


@pytest.mark.browser
def test_an_explorer_answers_a_click_and_a_new_layout(tab, address):
    from playwright.sync_api import expect

    tab.goto(f"{address}/01_layouts.html")
    explorer = tab.locator(".explorer")
    expect(explorer.locator(".answer")).to_have_text("size 32, cosize 32. Click a cell.")
    expect(tab.locator(".output:has(.explorer) ~ img")).to_be_hidden()
    explorer.locator("[data-row='2'][data-column='3']").click()
    expect(explorer.locator(".mark")).to_have_count(4)
    expect(explorer.locator(".answer")).to_contain_text("offset 0·1 + 1·16 + 3·2 + 0·8 = 22")
    explorer.get_by_role("textbox").fill("(4,3")
    expect(explorer.locator(".problem")).to_have_text("The shape (4,3 lacks a ).")
    explorer.get_by_role("textbox").fill("(4,3)")
    expect(explorer.locator(".problem")).to_be_empty()
    assert explorer.locator(".cell text").all_text_contents() == [
        str(row + 4 * n) for row in range(4) for n in range(3)
    ]


# Sources of the site -------------------------------------------------------------------------------------------------


def test_links_of_notebooks_have_githubs_anchors():
    text = (
        "[a](glossary.ipynb#Bank-conflict) [b](07_x.ipynb#07-%C2%B7-A-GEMM,-fast) [c](contents.ipynb) [d](https://x.y)"
    )
    assert notebook_links(text) == (
        "[a](glossary.ipynb#bank-conflict) [b](07_x.ipynb#07--a-gemm-fast) [c](index.md) [d](https://x.y)"
    )


class TestExplorers:
    def test_an_explorer_has_its_inputs_with_the_calls_values(self):
        above = ["from tutorlib import explore_mbarriers", "first = 2\nsecond = first + 1"]
        found = explorer_data("explore_mbarriers(stages=second)", above)
        assert found["kind"] == "mbarriers"
        assert found["inputs"][0] == {"kind": "range", "name": "stages", "value": 3, "min": 1, "max": 4, "step": 1}


def test_a_line_of_an_answer_is_taken_out_of_text_and_html():
    line = "y = x < limit and x"
    outputs = [
        v4.new_output("stream", text=f"line 3, `{line}`\n"),
        v4.new_output("display_data", {"text/html": "<td>y = x &lt; limit and x</td>", "image/png": "AA=="}),
    ]
    for output in outputs:
        redact(output, [line])
    assert outputs[0].text == f"line 3, `{HIDDEN}`\n"
    assert outputs[1].data == {"text/html": f"<td>{HIDDEN}</td>", "image/png": "AA=="}

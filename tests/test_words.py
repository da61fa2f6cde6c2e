"""Words of the house that once stood for terms of the field. They stay out of what readers see."""

import re

import pytest

from tutorlib.paths import ROOT, SOLUTIONS

TERMS = {  # private word → the field's term
    "under way": "in flight",
    "on its way into": "in flight",
    "sends? for": "issues the load of",
    "dice": "random inputs",
    "dearer": "costs more",
    "roads?": "bandwidth, traffic",
    "looks? on": "is idle",
    "stamps": "timestamps",
    "for ever": "forever",
    "per cent": "percent",
    "behind the wall": "in the sandbox",
    "somebody": "a thread, a warp, a colleague",
    "everybody": "every thread",
    "anybody": "a thread",
    "multiprocessors": "SMs",
    "a thread's sums": "a thread's accumulators",
    "hangs? over": "extends past",
}
PAGES = sorted(SOLUTIONS.glob("[0-9][0-9]_*.py"))
FILES = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
CODE = sorted((ROOT / "tutorlib").rglob("*.py"))
CORE = (
    *("checking", "compiling", "dsl", "instruments", "kernels", "layouts", "machine", "measuring", "models"),
    *("problems", "simulate"),
)
GONE_FROM_CODE = ("under way", "dice", "dearer", "for ever", "per cent", "multiprocessors")


def prose(path):
    """Markdown; of a page its Markdown cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    cells = re.split(r"^# %%", text, flags=re.MULTILINE)
    return "\n".join(cell for cell in cells if cell.startswith(" [markdown]"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_readers_meet_the_fields_terms(path):
    text = " ".join(prose(path).replace("\n#", "\n").split())
    assert {word: term for word, term in TERMS.items() if re.search(rf"\b(?:{word})\b", text)} == {}


@pytest.mark.parametrize("word", GONE_FROM_CODE)
def test_code_messages_and_docstrings_do_too(word):
    found = [path.name for path in CODE if re.search(rf"\b{word}\b", path.read_text(encoding="utf-8"))]
    assert found == [], TERMS[word]


@pytest.mark.parametrize("folder", CORE)
def test_the_core_names_its_actors(folder):
    """A thread, the grader, a student: never a pronoun in their place."""
    vague = re.compile(r"\b(nobody|somebody|anybody|everybody|whoever|whomever)\b", re.IGNORECASE)
    found = {
        path.name: words
        for path in CODE
        if path.is_relative_to(ROOT / "tutorlib" / folder)
        if (words := vague.findall(path.read_text(encoding="utf-8")))
    }
    assert found == {}

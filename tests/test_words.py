"""Private words that once stood for terms of the field. They stay out of the pages, the messages and the code."""

import re

import pytest

from tutorlib.paths import ROOT, SOLUTIONS

TERMS = {  # private word → the field's term
    "under way": "in flight",
    "on its way into": "in flight",
    "sends? for": "issues the load of",
    "sent for": "issued the load of",
    "gives? (?:an )?orders?": "issues an instruction",
    "dice": "random inputs",
    "dearer": "costs more",
    "roads?": "bandwidth, traffic",
    "looks? on": "is idle",
    '(?<!")stamps': "timestamps",  # it is a key of result files
    "for ever": "forever",
    "per cent": "percent",
    "(?:behind|outside) the wall": "in the sandbox, on the host",
    "somebody|whoever": "a thread, a warp, a student",
    "everybody": "every thread",
    "anybody": "a thread",
    "multiprocessors": "SMs",
    "a (?:thread|warp|tile)'s sums": "accumulators",
    "hangs? over": "extends past",
    "(?:parts|pieces) of K": "slices of K",
    "the rest of the tiles?": "the residue, the edge tile",
    "besides": "in addition to",
    "who comes": "which thread accesses it",
    "wants? an? (?:NVIDIA )?GPU": "needs a GPU",
    "is read here as": "is treated as",
    "hands? over": "passes",
}
PAGES = sorted(SOLUTIONS.glob("[0-9][0-9]_*.py"))
FILES = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = [ROOT / "tutorlib" / name for name in ("notebook", "course", "figures", "draw", "explorers")]
REWRITTEN = [
    *(ROOT / "tutorlib" / "cli.py", *(path for folder in FOLDERS for path in sorted(folder.rglob("*.py")))),
    *sorted((ROOT / "tutorlib" / "exercises" / "words").glob("*.toml")),
]
GONE_FROM_THESE = {
    **TERMS,
    "nobody": "no student, no thread",
    "mend(?:s|ed)?": "fix, repair, correct",
    "so many": "n",
    "thriftier": "saves energy",
    "lie": "is, is contiguous",
    "behaviour|colours?|grey|labelled|modelled|neighbours?": "its American spelling",
}
IMPORT = re.compile(r"\s*(?:from|import)\s")


def prose(path):
    """Markdown; of a page its Markdown cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    cells = re.split(r"^# %%", text, flags=re.MULTILINE)
    return "\n".join(cell for cell in cells if cell.startswith(" [markdown]"))


def private_words(text, terms):
    """Those that a text has, with the term to write instead."""
    return {word: term for word, term in terms.items() if re.search(rf"\b(?:{word})\b", text)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_readers_meet_the_fields_terms(path):
    text = " ".join(prose(path).replace("\n#", "\n").split())
    assert private_words(text, TERMS) == {}


def test_code_that_was_rewritten_stays_so():
    texts = {path: path.read_text(encoding="utf-8").splitlines() for path in REWRITTEN}
    text = {path: "\n".join(line for line in lines if not IMPORT.match(line)) for path, lines in texts.items()}
    assert {path.name: found for path in REWRITTEN if (found := private_words(text[path], GONE_FROM_THESE))} == {}

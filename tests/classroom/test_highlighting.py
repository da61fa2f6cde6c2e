"""A student's code on a page: every character is seen, none is markup, and its length has a limit."""

import html
import re
import unicodedata
from pathlib import Path

import pytest

from tutorlib.classroom.report_pages import MOST_MARKUP, highlighted, visible
from tutorlib.classroom.task import LONGEST_ANSWER, MOST_ANSWERS, answer_texts
from tutorlib.grading.submission import CodeCell, Submitted

MARKUP = "</pre><script>alert(1)</script>\n'</details>' & \"<img src=x onerror=alert(2)>\"\n"
HOSTILE = MARKUP + "#\x1b[31m\x00\u202egnp.exe\u2028x\r\ny"
LONG = ("x = 1\n" * 2**19, "y" * 2**21, "&" * 2**21, "@" * 2**21, '"' * 2**21, "\u202e" * 2**21, "f'{" * 2**20)


def text_of(markup: str) -> str:
    """What a reader sees of it."""
    return html.unescape(re.sub("<[^>]*>", "", markup))


def test_hostile_code_is_text_and_nothing_of_it_hides():
    shown = highlighted(HOSTILE)
    assert set(re.findall("<[^>]*>", shown)) <= {"</span>", *re.findall('<span class="[a-z0-9]+">', shown)}
    seen = text_of(shown)
    assert "</pre><script>alert(1)</script>" in seen
    assert "#‹U+001B›[31m‹U+0000›‹U+202E›gnp.exe‹U+2028›x\ny" in seen
    assert not [c for c in shown if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl")]


@pytest.mark.parametrize("text", LONG, ids=lambda text: ascii(text[:3]))
def test_two_million_characters_are_a_page_of_some_hundred_thousand(text):
    shown = highlighted(text)
    assert len(shown) <= MOST_MARKUP * LONGEST_ANSWER + 100
    assert text_of(shown).rstrip("\n") == visible(text).rstrip("\n")


def test_code_is_highlighted_and_lines_are_marked():
    shown = highlighted("\n\ndef f():\n    return 1\n", {4})
    assert '<span class="k">def</span>' in shown
    (marked,) = re.findall('<span class="hll">(.*?)\n</span>', shown, re.DOTALL)
    assert text_of(marked) == "    return 1"


def submitted(*cells: tuple[str, str]) -> Submitted:
    return Submitted(Path("x"), "00_start", tuple(CodeCell(str(n), id, text) for n, (id, text) in enumerate(cells)))


def test_the_text_of_an_answer_is_that_of_its_cells():
    stub = 'raise NotImplementedError("Exercise 00.1")'
    one = submitted(("00.1", stub), ("", "x"), ("00.1", "def f():"), ("00.1", "    return 1"), ("00.1", "def f():"))
    assert list(answer_texts([one])) == [("00.1", "def f():\n    return 1")]
    assert list(answer_texts([submitted(("00.1", stub), ("00.2", "\ud800 ü"))])) == [("00.1", stub), ("00.2", "? ü")]


def test_what_is_kept_of_answers_has_a_limit():
    kept = dict(answer_texts([submitted(*((f"00.{n}", "x" * 2**21) for n in range(100)))]))
    assert {len(text) for text in kept.values()} == {LONGEST_ANSWER, 0}
    assert sum(map(len, kept.values())) == MOST_ANSWERS

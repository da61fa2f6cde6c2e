"""Renders the reports' templates, with all values escaped and code highlighted, and names outcomes."""

import re
import unicodedata
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from tutorlib.checking.exercise import Status
from tutorlib.classroom.exports import report_name
from tutorlib.classroom.grades import MISSING
from tutorlib.classroom.task import LONGEST_ANSWER, Judged
from tutorlib.notebook.contents import WORDS as STATES

TEMPLATES = Path(__file__).with_name("templates")
StateShown = Status | Literal["unwritten"]
WORDS: dict[StateShown, str] = {
    "passed": STATES["passed"],
    "not_run": STATES["not_run"],
    "partial": STATES["partial"],
    "failed": STATES["failed"],
    "error": "ended its notebook",
    "timeout": "out of time",
    "unwritten": "not written",
}
MOST_MARKUP = 10  # bytes of HTML for a character; code has 6 or 7, and text that is made of signs alone has more
INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # controls, and marks that turn a line around

NOT_WRITTEN = ("not written yet", MISSING)


def render(template: str, **values: Any) -> str:
    """A page. Everything that it is told is escaped, but for what `highlighted` has made of a student's code."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["points"] = lambda number: f"{number:g}"
    environment.filters |= {"highlighted": highlighted, "report_name": report_name}
    environment.globals |= {
        "WORDS": WORDS,
        "state_of": state_of,
        "verdict_text": verdict_text,
        "LONGEST_ANSWER": LONGEST_ANSWER,
    }
    return environment.get_template(template).render(values)


def verdict_text(verdict: Judged) -> str:
    """An outcome's text beside its state; for a right answer, without the line that has its points."""
    state, message = state_of(verdict), verdict.outcome.message
    return "" if state == "unwritten" else message.partition("\n")[2] if state == "passed" else message


def state_of(verdict: Judged) -> StateShown:
    """The state that a page shows for an outcome: an answer that is still to be written is no mistake."""
    return "unwritten" if verdict.outcome.message in NOT_WRITTEN else verdict.outcome.status


def visible(text: str) -> str:
    """The text with a sign such as ‹U+202E› for each character that hides, or that changes how others are seen."""
    text = re.sub("\r\n?", "\n", text[:LONGEST_ANSWER])
    seen = (f"‹U+{ord(c):04X}›" if c not in "\n\t" and unicodedata.category(c) in INVISIBLE else c for c in text)
    return "".join(seen)[:LONGEST_ANSWER]


def highlighted(text: str, marked: Collection[int] = ()) -> Markup:
    """Code as HTML, for a <pre>: its first LONGEST_ANSWER characters. marked: numbers of lines, from 1."""
    shown = visible(text)
    html = highlight(shown, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True, hl_lines=sorted(marked)))
    return Markup(html) if len(html) <= MOST_MARKUP * len(shown) + 100 else escape(shown)

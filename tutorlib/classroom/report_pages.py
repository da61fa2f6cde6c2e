"""Renders the reports' templates, with all values escaped, and names outcomes."""

from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tutorlib.checking.exercise import Status
from tutorlib.classroom.exports import report_name
from tutorlib.classroom.grades import MISSING
from tutorlib.classroom.highlighting import highlighted
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


def verdict_text(one: Judged) -> str:
    """What a page says of an outcome beside its state: of a right answer, what follows the line with its points."""
    state, message = state_of(one), one.outcome.message
    return "" if state == "unwritten" else message.partition("\n")[2] if state == "passed" else message


def state_of(one: Judged) -> StateShown:
    """The state that a page shows for an outcome: an answer that is still to be written is no mistake."""
    return "unwritten" if one.outcome.message in NOT_WRITTEN else one.outcome.status

"""The scores of a submission, as JSON, as a table and as JUnit XML."""

import os
import platform
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from xml.etree import ElementTree

from rich.table import Table
from rich.text import Text

from tutorlib.checking.exercise import Outcome
from tutorlib.exercises import find
from tutorlib.machine import device

STYLES = {
    "passed": "green",
    "partial": "yellow",
    "failed": "red",
    "error": "red",
    "timeout": "red",
    "not_run": "blue",
}

UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 cannot hold
KINDS = {"passed": "", "not_run": "skipped", "error": "error", "timeout": "error"}  # JUnit's words; else "failure"


@dataclass(frozen=True)
class Scores:
    """Outcomes in the course's order. The sums are of what counts on this machine, as for a class (`points_possible`).

    seed: of the inputs that were drawn. broken: notebook → why the grader failed at it; its exercises have no points
    and the status "error".
    """

    outcomes: tuple[Outcome, ...]
    seed: int | None = None
    broken: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def ran(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.status != "not_run")

    @property
    def points(self) -> float:
        return sum(outcome.points for outcome in self.outcomes)

    @property
    def max_points(self) -> float:
        return sum(map(points_possible, self.outcomes))

    @property
    def full(self) -> bool:
        return all(outcome.status == "passed" for outcome in self.ran)

    def as_json(self) -> dict[str, Any]:
        return {
            "machine": machine(),
            "seed": self.seed,
            "points": self.points,
            "max_points": self.max_points,
            "exercises": [outcome.as_json() for outcome in self.outcomes],
        }

    def table(self) -> Table:
        """A row for each exercise, a line between notebooks, the sum below."""
        not_run = len(self.outcomes) - len(self.ran)
        table = Table(show_footer=True)
        table.add_column("", footer="")
        table.add_column("Exercise", footer=f"{not_run} not run" if not_run else "")
        table.add_column("Points", f"{self.points:g} / {self.max_points:g}", justify="right", no_wrap=True)
        table.add_column("Result", no_wrap=True)
        table.add_column("", max_width=100)
        for n, outcome in enumerate(self.outcomes):
            following = self.outcomes[n + 1 : n + 2]
            table.add_row(
                outcome.id,
                outcome.title,
                f"{outcome.points:g} / {points_possible(outcome):g}",
                Text(outcome.status.replace("_", " "), STYLES[outcome.status]),
                Text(outcome.message.partition("\n")[2] if outcome.status == "passed" else outcome.message),
                end_section=any(other.id[:2] != outcome.id[:2] for other in following),
            )
        return table


def points_possible(outcome: Outcome) -> float:
    """How many points the exercise could give here: of one that was not run, those that it gave all the same."""
    return outcome.points if outcome.status == "not_run" else find(outcome.id).points_here


def machine() -> dict[str, Any]:
    """The machine on which this was graded."""
    here = {"platform": platform.platform(), "python": platform.python_version(), "cores": os.cpu_count()}
    return here | device.this_machine()


def junit(suites: Iterable[tuple[str, float | None, Iterable[Outcome]]]) -> str:
    """A test suite for each name, seconds (None: not known) and outcomes; in it a test case for each exercise."""
    root = ElementTree.Element("testsuites")
    for name, seconds, outcomes in suites:
        kinds = [(outcome, KINDS.get(outcome.status, "failure")) for outcome in outcomes]
        number = Counter(kind for _, kind in kinds)
        totals = {"failures": number["failure"], "errors": number["error"], "skipped": number["skipped"]}
        numbers = {key: str(n) for key, n in ({"tests": len(kinds)} | totals).items()}
        time = {} if seconds is None else {"time": f"{seconds:.3f}"}
        suite = ElementTree.SubElement(root, "testsuite", {"name": printable(name), **numbers, **time})
        for outcome, kind in kinds:
            title = printable(f"{outcome.id} {outcome.title}")
            case = ElementTree.SubElement(suite, "testcase", classname=outcome.id[:2], name=title)
            if kind:
                message = printable(outcome.message)
                ElementTree.SubElement(case, kind, message=message.partition("\n")[0]).text = message
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def printable(text: str) -> str:
    return UNPRINTABLE.sub("?", text)

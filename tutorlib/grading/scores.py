"""The scores of a submission, as JSON and as a table; and the progress of a run that makes them."""

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress
from rich.table import Table
from rich.text import Text

from tutorlib.checking.exercise import Outcome
from tutorlib.exercises import find
from tutorlib.machine import device

STYLES = {"passed": "green", "partial": "yellow", "not_run": "blue"}  # the others are red


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
            "machine": {
                **{"platform": platform.platform(), "python": platform.python_version(), "cores": os.cpu_count()},
                **device.this_machine(),
            },
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
                Text(outcome.status.replace("_", " "), STYLES.get(outcome.status, "red")),
                Text(outcome.message.partition("\n")[2] if outcome.status == "passed" else outcome.message),
                end_section=any(other.id[:2] != outcome.id[:2] for other in following),
            )
        return table


def points_possible(outcome: Outcome) -> float:
    """How many points the exercise could give here: of one that was not run, those that it gave all the same."""
    return outcome.points if outcome.status == "not_run" else find(outcome.id).points_here


@contextmanager
def progress(console: Console, what: str, total: int) -> Iterator[Callable[..., None]]:
    """Shows how much of a run is done: on a terminal a bar with the time left, which leaves nothing behind; in a file
    or a pipe a line at the end.

    what: the pieces of work, in the plural. Yields a function to call when one is done.
    """
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    start = time.monotonic()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"grading {what}", total=total)
        yield lambda *_: bar.advance(task)
    if not console.is_terminal:
        console.print(f"graded {total} {what} in {time.monotonic() - start:.0f} s", markup=False)

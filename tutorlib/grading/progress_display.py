"""Progress of a long run: a bar with the time left on a terminal, and an occasional line in a file or a pipe."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

BETWEEN_S = 10.0  # seconds between two lines, at least


class Shown(Protocol):
    """The progress reports of a run."""

    def started(self, total: int) -> None:
        """So many pieces of work are to be done."""

    def done(self, piece: str) -> None:
        """This piece is done."""


@dataclass
class Bar:
    """On a terminal. It leaves nothing behind."""

    bar: Progress
    what: str

    def started(self, total: int) -> None:
        self.task = self.bar.add_task(f"grading {self.what}", total=total)

    def done(self, piece: str) -> None:
        self.bar.advance(self.task)


@dataclass
class Lines:
    """In a file or a pipe: at most one line in BETWEEN_S, and one at the end."""

    say: Callable[[str], None]
    what: str
    clock: Callable[[], float] = time.monotonic
    total: int = 0
    count: int = 0
    start: float = 0.0
    said: float = field(default=0.0, init=False)

    def started(self, total: int) -> None:
        self.total, self.start = total, self.clock()
        self.said = self.start

    def done(self, piece: str) -> None:
        self.count += 1
        now = self.clock()
        spent = now - self.start
        if self.count == self.total:
            self.say(f"graded {self.total} of {self.total} {self.what} in {elapsed(spent)}")
        elif now - self.said >= BETWEEN_S:
            self.said = now
            left = elapsed(spent / self.count * (self.total - self.count))
            self.say(f"graded {self.count} of {self.total} {self.what}, about {left} left")


@contextmanager
def progress(console: Console, what: str) -> Iterator[Shown]:
    """Shows progress on this console while it is open. what: the pieces of work, in the plural."""
    if not console.is_terminal:
        yield Lines(lambda line: console.print(line, markup=False), what)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    estimate = (TextColumn("left:"), TimeRemainingColumn())
    with Progress(*columns, *estimate, console=console, transient=True) as bar:
        yield Bar(bar, what)


def elapsed(seconds: float) -> str:
    """ "3 min 05 s"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole // 60 % 60:02} min"

"""What each exercise teaches, and answers that leave it out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.pages.answers import WHEN_RUN, WRONG


@dataclass(frozen=True)
class Lesson:
    """teaches: the one thing, in a phrase. without: answers that do without it; none gets all points."""

    teaches: str
    without: tuple[Callable[..., Any], ...]


def named(id: str, *names: str) -> tuple[Callable[..., Any], ...]:
    """Answers that the page's tables of wrong ones list."""
    found = {answer.__name__: answer for answer in (*WRONG.get(id, ()), *WHEN_RUN.get(id, ()))}
    return tuple(found[name] for name in names)

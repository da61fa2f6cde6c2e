"""What each exercise teaches, and answers that leave it out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Lesson:
    """teaches: the one thing, in a phrase. without: answers that do without it; none gets all points."""

    teaches: str
    without: tuple[Callable[..., Any], ...]

"""One change to a kernel."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """what: the change in words. line: of the source that was changed, from 1. source: all of it, changed."""

    what: str
    line: int
    source: str

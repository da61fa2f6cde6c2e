"""Calls that random numbers make: an answer is tried on inputs that it cannot have been written for."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random


@dataclass(frozen=True)
class Drawn:
    """Calls of which some are drawn. The grader draws others as well, so that no table of known calls is an answer.

    draw: takes a seed, returns argument tuples.
    seed: of the drawn calls that every check tries; None if it tries `known` alone.
    known: calls that every check tries first.
    """

    draw: Callable[[int], Iterable[tuple]]
    seed: int | None = None
    known: Iterable[tuple] = ()

    def __iter__(self) -> Iterator[tuple]:
        """The calls that every check tries."""
        return chain(self.known, () if self.seed is None else self.draw(self.seed))


def beside(known: Sequence[tuple], draw: Callable[[Random], tuple], n: int = 8) -> Drawn:
    """The known calls; the grader tries n more, which `draw` makes one by one of random numbers."""

    def others(seed: int) -> list[tuple]:
        rng = Random(seed)
        return [draw(rng) for _ in range(n)]

    return Drawn(others, known=known)

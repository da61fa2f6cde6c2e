"""Random calls: inputs that an answer cannot have been written for."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random


@dataclass(frozen=True)
class Drawn:
    """Calls, some of them random. The grader draws more, so that a table of the known calls earns nothing.

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
    """The known calls; the grader tries n more, each made by `draw`."""

    def others(seed: int) -> list[tuple]:
        rng = Random(seed)
        return [draw(rng) for _ in range(n)]

    return Drawn(others, known=known)

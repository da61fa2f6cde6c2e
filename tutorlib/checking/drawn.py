"""Random calls: inputs that an answer cannot have been written for."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import Any


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


def stretched(known: Sequence[tuple]) -> Drawn:
    """The known calls, whose first argument is a layout; the grader tries some with its strides multiplied."""

    def draw(rng: Random) -> tuple:
        layout, *others = rng.choice(known)
        return scaled(layout, rng.randint(2, 50)), *others

    return beside(known, draw, 3)


def scaled(layout: Any, factor: int) -> Any:
    """The layout with its strides multiplied."""

    def strides(stride: int | tuple) -> int | tuple:
        return tuple(map(strides, stride)) if isinstance(stride, tuple) else factor * stride

    return type(layout)(layout.shape, strides(layout.stride))

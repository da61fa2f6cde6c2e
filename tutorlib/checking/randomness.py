"""Random inputs, and whether a judge's run is for points.

`check` in a notebook tries the same calls every time, so that readers can reproduce them; a run for points also tries
inputs drawn at random. A grading run fixes their seed, keeps it secret until the run is over, and then names it, so
that the inputs can be drawn again.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from torch import Generator

T = TypeVar("T")
_fixed: int | None = None
_for_points = ContextVar("for_points", default=False)
for_points = _for_points.get


def fix_seed(seed: int) -> None:
    """Use this seed for all random inputs of this process."""
    global _fixed
    _fixed = seed


def new_seed() -> int:
    return secrets.randbits(48)


def fresh_rng(draw: str = "") -> Random:
    """A separate generator for each `draw`."""
    return Random(f"{new_seed() if _fixed is None else _fixed} {draw}")


def fresh_generator(device: str = "cpu") -> "Generator":
    """One of torch's."""
    import torch

    return torch.Generator(device).manual_seed(new_seed() if _fixed is None else _fixed)


@contextmanager
def judging_for_points() -> Iterator[None]:
    before = _for_points.set(True)
    try:
        yield
    finally:
        _for_points.reset(before)


def more_for_points(draw: Callable[[Random], T], n: int) -> list[T]:
    """In a run for points n values that `draw` makes of a fresh generator; none in another run."""
    rng = fresh_rng()
    return [draw(rng) for _ in range(n)] if for_points() else []


def rng_of_run(seed: int) -> Random:
    """In a run for points a fresh generator; in another run, one with this seed."""
    return fresh_rng() if for_points() else Random(seed)


@dataclass(frozen=True)
class Drawn:
    """Calls that every check tries, and a function that draws others, so that a table of the known earns nothing."""

    known: Sequence[tuple]
    draw: Callable[[Random], Iterable[tuple]]

    def __iter__(self) -> Iterator[tuple]:
        return iter(self.known)


def beside(known: Iterable[tuple], draw: Callable[[Random], tuple], n: int = 8) -> Drawn:
    """The known calls; the grader tries n more, each made by `draw`."""
    return Drawn([*known], lambda rng: [draw(rng) for _ in range(n)])

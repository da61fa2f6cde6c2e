"""Whether a judge's run is for points. `check` in a notebook is not: it tries the same calls every time, so that
readers can reproduce them. A run for points also tries inputs drawn at random.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from random import Random
from typing import TypeVar

from tutorlib.checking.randomness import fresh_rng

T = TypeVar("T")
_for_points = ContextVar("for_points", default=False)


@contextmanager
def judging_for_points() -> Iterator[None]:
    before = _for_points.set(True)
    try:
        yield
    finally:
        _for_points.reset(before)


def for_points() -> bool:
    return _for_points.get()


def more_for_points(draw: Callable[[Random], T], n: int) -> list[T]:
    """In a run for points n values that `draw` makes of a fresh generator; none in another run."""
    rng = fresh_rng()
    return [draw(rng) for _ in range(n)] if for_points() else []


def rng_of_run(seed: int) -> Random:
    """In a run for points a fresh generator; in another run, one with this seed."""
    return fresh_rng() if for_points() else Random(seed)

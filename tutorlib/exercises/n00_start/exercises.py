"""Exercises of notebook 00: how the course works."""

from random import Random

from tutorlib.checking.library_use import InModule
from tutorlib.checking.randomness import Drawn
from tutorlib.checking.values import ValueExercise, equals
from tutorlib.exercises.words import mistakes


def ceil_div(n: int, tile: int) -> int:
    return -(-n // tile)


TILES = mistakes(
    "00.1",
    one_more=lambda n, tile: n // tile + 1,
    floor=lambda n, tile: n // tile,
    nearest=lambda n, tile: (n + tile // 2) // tile,
)


def some(seed: int, most: int) -> list[tuple[int, int]]:
    """Sizes up to `most`, and tiles."""
    rng = Random(seed)
    return [(rng.randrange(1, most), rng.choice((3, 8, 48, 64, 128))) for _ in range(20)]


def divided(seed: int) -> list[tuple[int, int]]:
    return [(128, 64), (64, 64), (4096, 128), (0, 64), (7, 1), *((n * tile, tile) for n, tile in some(seed, 99))]


def partly_filled(seed: int) -> list[tuple[int, int]]:
    known = [(130, 64), (127, 128), (1, 8), (100, 64)]
    return [*known, *((n, tile) for n, tile in some(seed, 5000) if n % tile)]


def past_floats(seed: int) -> list[tuple[int, int]]:
    return [(2**60 + 1, 2), (2**60, 3), *((2**60 + n, tile) for n, tile in some(seed, 5000))]


EXERCISES = (
    ValueExercise(
        id="00.1",
        title="ceil_div",
        points=2,
        library={"cute.ceil_div": InModule("cutlass.cute", "ceil_div"), "ct.cdiv": InModule("cuda.tile", "cdiv")},
        cases=(
            equals("the tile divides n", Drawn(divided, 0), ceil_div, TILES),
            equals("a last tile partly filled", Drawn(partly_filled, 0), ceil_div, TILES),
            equals("sizes past 2**53, where floats round", Drawn(past_floats, 0), ceil_div),
        ),
    ),
)

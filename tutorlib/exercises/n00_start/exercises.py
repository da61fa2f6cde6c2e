"""Exercises of notebook 00: how the course works."""

from random import Random

from tutorlib.checking.drawn import Drawn
from tutorlib.checking.exercise import Remedy
from tutorlib.checking.library_use import InModule
from tutorlib.checking.values import Mistake, ValueExercise, equals
from tutorlib.failure import Fail


def ceil_div(n: int, tile: int) -> int:
    return -(-n // tile)


FLOOR = Mistake("The last, partly filled tile is missing: // rounds down.", lambda n, tile: n // tile)
ONE_MORE = Mistake("One tile too many where the tile divides n exactly.", lambda n, tile: n // tile + 1)
NEAREST = Mistake(
    "That rounds to the nearest: a last tile less than half full is left out. Round up.",
    lambda n, tile: (n + tile // 2) // tile,
)
TILES = (ONE_MORE, FLOOR, NEAREST)


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
        hints=(
            "How many tiles does n // tile count, and when is that one short?",
            "Adding tile - 1 before dividing lifts every partly filled tile over the edge, and no full one.",
            "(n + tile - 1) // tile",
        ),
        remedies=(
            Remedy(
                Fail.CASE(name="sizes past 2**53, where floats round"),
                "A float keeps 53 bits. Use //, which stays with integers.",
            ),
            Remedy(
                Fail.GIVES(type="float"),
                "/ gives a float, and rounding it afterwards gives a float or an inexact integer. // gives an integer.",
            ),
        ),
    ),
)

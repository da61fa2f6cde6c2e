"""Exercises of notebook 00: how the course works."""

from random import Random

from tutorlib.exercises.values import drawn, value_exercise

TILES = (3, 8, 48, 64, 128)


def divided(rng: Random) -> tuple[int, int]:
    tile = rng.choice(TILES)
    return rng.randrange(99) * tile, tile


def partly_filled(rng: Random) -> tuple[int, int]:
    tile = rng.choice(TILES)
    return rng.randrange(99) * tile + rng.randrange(1, tile), tile


EXERCISES = (
    value_exercise(
        ("00.1", "ceil_div", 2),
        lambda n, tile: -(-n // tile),
        {
            "the tile divides n": drawn(0, divided, 20, [(128, 64), (64, 64), (4096, 128), (0, 64), (7, 1)]),
            "a last tile partly filled": drawn(0, partly_filled, 20, [(130, 64), (127, 128), (1, 8), (100, 64)]),
            "sizes past 2**53, where floats round": drawn(
                0, lambda rng: (2**60 + rng.randrange(5000), rng.choice(TILES)), 20, [(2**60 + 1, 2), (2**60, 3)]
            ),
        },
        mistakes={
            "one_more": lambda n, tile: n // tile + 1,
            "floor": lambda n, tile: n // tile,
            "nearest": lambda n, tile: (n + tile // 2) // tile,
        },
        library={"cute.ceil_div": "cutlass.cute:ceil_div", "ct.cdiv": "cuda.tile:cdiv"},
    ),
)

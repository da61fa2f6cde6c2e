"""11.6: the share of the time in which a GPU's tensor cores can work, from the number of blocks on each SM."""

from collections.abc import Callable
from math import ceil, isclose
from random import Random
from typing import Any

from tutorlib.exercises.words import mistakes

Pair = tuple[int, int]


def count_tiles(m: int, n: int, tile: Pair) -> int:
    return ceil(m / tile[0]) * ceil(n / tile[1])


def share(m: int, n: int, tile: Pair, places: float) -> float:
    """Of the work that could be done in the time of `places` whole tiles, the part that C takes."""
    return m * n / (places * tile[0] * tile[1])


def busy(m: int, n: int, tile: Pair, sms: int) -> float:
    return share(m, n, tile, ceil(count_tiles(m, n, tile) / sms) * sms)


def nearly_busy(got: Any, m: int, n: int, tile: Pair, sms: int) -> str | None:
    want = busy(m, n, tile, sms)
    if type(got) not in (int, float):
        return f"it should be a number, {want:.7g}"
    if got > 1 + 1e-6:
        return "a share of the time is at most 1"
    return None if isclose(got, want, rel_tol=1e-6) else f"it should give {want:.7g}"


def two_at_a_time(m: int, n: int, tile: Pair, sms: int) -> float:
    return share(m, n, tile, ceil(count_tiles(m, n, tile) / (2 * sms)) * 2 * sms)


def all_tiles_useful(m: int, n: int, tile: Pair, sms: int) -> float:
    tiles = count_tiles(m, n, tile)
    return tiles / (ceil(tiles / sms) * sms)


def whole_tiles(m: int, n: int, tile: Pair, sms: int) -> float:
    tiles = max(1, m // tile[0] * (n // tile[1]))
    return share(m, n, tile, ceil(tiles / sms) * sms)


def by_area(m: int, n: int, tile: Pair, sms: int) -> float:
    return share(m, n, tile, ceil(m * n / (tile[0] * tile[1]) / sms) * sms)


BUSY = mistakes(
    "11.6",
    whole_last_wave=two_at_a_time,
    partial_tiles_count=all_tiles_useful,
    rounded_down=whole_tiles,
    area_of_c=by_area,
    idle_share=lambda m, n, tile, sms: 1 - busy(m, n, tile, sms),
)

LARGE = [(size, size, (128, 128), 132) for size in (2560, 2816, 2944, 3072, 3584)] + [
    (4096, 4096, (128, 256), 132),
    (2048, 8192, (64, 128), 108),
    (3072, 1536, (128, 192), 114),
]
ON_EDGES = [
    (2945, 3000, (128, 128), 132),
    (129, 20_000, (128, 64), 108),
    (5000, 100, (128, 128), 7),
    (1000, 1000, (64, 256), 16),
]
SMALL = [(129, 257, (128, 128), 132), (1, 1, (128, 256), 108), (500, 300, (128, 64), 30), (256, 256, (128, 128), 4)]


def some_product(whole: bool, most: int = 6000) -> Callable[[Random], tuple]:
    """Calls with a random C, of whole tiles or of any size."""

    def draw(rng: Random) -> tuple:
        tile = rng.choice((64, 128)), rng.choice((64, 128, 256))
        m, n = (rng.randint(1, most) for _ in tile)
        if whole:
            m, n = (ceil(size / side) * side for size, side in zip((m, n), tile, strict=True))
        return m, n, tile, rng.randint(2, 148)

    return draw

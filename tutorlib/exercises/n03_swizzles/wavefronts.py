"""03.1 and 03.2: the cost of an access, and padding."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from math import ceil
from random import Random

from tutorlib.checking.drawn import beside
from tutorlib.checking.values import equals
from tutorlib.exercises.words import mistakes
from tutorlib.models import banks

# 03.1 wavefronts ------------------------------------------------------------------------------------------------


def wavefronts(addresses: list[int], width: int) -> int:
    return banks.wavefronts(addresses, element_bytes=1, vector=width)


def phases(addresses: list[int], width: int) -> list[list[int]]:
    """The lanes that go through together: 32 of them, 16 at 8 bytes, 8 at 16 bytes."""
    together = min(banks.WARP, banks.WAVEFRONT // width)
    return [addresses[first : first + together] for first in range(0, len(addresses), together)]


def most_lanes(addresses: list[int]) -> int:
    return max(Counter(banks.bank(address, 1) for address in addresses).values())


COUNTING = mistakes(
    "03.1",
    lanes_counted=lambda addresses, width: sum(map(most_lanes, phases(addresses, width))),
    all_at_once=lambda addresses, width: banks.ways(addresses, 1, width),
    slowest_group=lambda addresses, width: max(wavefronts(phase, width) for phase in phases(addresses, width)),
    byte_banks=lambda addresses, width: sum(
        max(Counter(address % banks.BANKS for address in set(phase)).values()) for phase in phases(addresses, width)
    ),
)


def warp(address: Callable[[int], int], lanes: int = banks.WARP) -> list[int]:
    return [address(lane) for lane in range(lanes)]


def random_warp(width: int, rng: Random, within: int = 4096) -> list[int]:
    """32 aligned addresses below `within`."""
    return warp(lambda _: rng.randrange(within // width) * width)


def strided(width: int, lanes: int = banks.WARP) -> Callable[[Random], tuple]:
    """Calls with lanes that are one step apart, of any number of vectors."""

    def draw(rng: Random) -> tuple:
        start, step = (width * rng.randint(0, 40) for _ in range(2))
        return warp(lambda lane: start + step * lane, lanes), width

    return draw


def scattered(width: int) -> Callable[[Random], tuple]:
    return lambda rng: (random_warp(width, rng), width)


def few_words(rng: Random) -> tuple:
    """A call with lanes that share words."""
    return random_warp(2, rng, within=rng.choice((64, 128, 512, 2048))), 2


WAVEFRONTS = (
    (
        "32 words in 32 banks",
        beside(
            [(warp(lambda t: 4 * t), 4), (warp(lambda t: 132 * t), 4), (warp(lambda t: 124 - 4 * t), 4)], strided(4)
        ),
    ),
    (
        "words that share a bank",
        beside([(warp(lambda t: 8 * t), 4), (warp(lambda t: 128 * t), 4), (warp(lambda t: 144 * t), 4)], strided(4)),
    ),
    (
        "lanes that want the same word",
        beside(
            [
                (warp(lambda t: 64), 4),
                (warp(lambda t: 2 * t), 2),
                (warp(lambda t: t // 16 * 128), 4),
                (random_warp(4, Random(1)), 4),
            ],
            few_words,
        ),
    ),
    (
        "8 bytes for each lane",
        beside(
            [
                (warp(lambda t: 8 * t), 8),
                (warp(lambda t: t % 16 * 8), 8),
                (warp(lambda t: t * (128 if t < 16 else 8)), 8),
                (random_warp(8, Random(2)), 8),
            ],
            scattered(8),
        ),
    ),
    (
        "16 bytes for each lane",
        beside(
            [
                (warp(lambda t: 16 * t), 16),
                (warp(lambda t: t % 8 * 16), 16),
                (warp(lambda t: 128 * t + t // 4 * 16), 16),
                (warp(lambda t: 128 * t + t % 8 * 16), 16),
                (random_warp(16, Random(3)), 16),
            ],
            scattered(16),
        ),
    ),
    (
        "the eight rows of one ldmatrix matrix",
        beside(
            [(warp(lambda t: 128 * t, 8), 16), (warp(lambda t: 144 * t, 8), 16), (warp(lambda t: 64 * t, 8), 16)],
            strided(16, lanes=8),
        ),
    ),
)

# 03.2 padded_stride ---------------------------------------------------------------------------------------------


def padded_stride(columns: int, element_bytes: int, vector_bytes: int) -> int:
    vectors = ceil(columns * element_bytes / vector_bytes)
    return (vectors | 1) * vector_bytes // element_bytes


def padded(element: tuple[int, ...], vector: tuple[int, ...], whole: bool = True) -> Callable[[Random], tuple]:
    """Calls of `padded_stride` with elements and vectors of these bytes. whole: rows are a number of whole vectors."""

    def draw(rng: Random) -> tuple:
        element_bytes, vector_bytes = rng.choice(element), rng.choice(vector)
        each = vector_bytes // element_bytes
        return each * rng.randint(2, 40) - (0 if whole else rng.randint(1, each - 1)), element_bytes, vector_bytes

    return draw


PADDING = mistakes(
    "03.2",
    no_padding=lambda columns, element_bytes, vector_bytes: columns,
    always_one_vector=lambda columns, element_bytes, vector_bytes: (
        (ceil(columns * element_bytes / vector_bytes) + 1) * vector_bytes // element_bytes
    ),
    one_element=lambda columns, element_bytes, vector_bytes: columns + 1,
)

padding = partial(equals, wanted=padded_stride, mistakes=PADDING)

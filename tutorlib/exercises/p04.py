"""Exercises of notebook 04: banks, padding and swizzles.

Swizzles and layouts are tensor_layouts'; wavefronts are counted by `models.memory`. Tests compare them with the real
CuTe DSL.
"""

from collections.abc import Callable
from random import Random

from tensor_layouts import ComposedLayout, Layout, Swizzle, compose

from tutorlib.checking.randomness import beside
from tutorlib.checking.values import same
from tutorlib.exercises.values import Draw, value_exercise
from tutorlib.failure import FailureKind, Flaw
from tutorlib.models import memory

TILE = Layout((128, (128, 1 << 13)), (128, (1, 1 << 14)))  # fp8 atoms (8,128):(128,1): a stack of 16, then the next
SWIZZLED_TILE = compose(Swizzle(3, 4, 3), TILE)
LANES = range(32)

# 04.1 and 04.2: the cost of an access, and padding --------------------------------------------------------------------


def wavefronts(addresses: list[int], width: int) -> int:
    return memory.wavefronts(addresses, element_bytes=1, vector=width)


def phases(addresses: list[int], width: int) -> list[list[int]]:
    """The lanes that go through together: 32 of them, 16 at 8 bytes, 8 at 16 bytes."""
    together = min(memory.WARP, memory.WAVEFRONT // width)
    return [addresses[first : first + together] for first in range(0, len(addresses), together)]


def warps(width: int, *addresses: Callable[[int], int], lanes: int = memory.WARP) -> list[tuple[list[int], int]]:
    """Calls with the address of each lane."""
    return [([address(lane) for lane in range(lanes)], width) for address in addresses]


def scattered(width: int, *within: int) -> Draw:
    """Calls with 32 aligned addresses below one of `within`."""

    def draw(rng: Random) -> tuple:
        places = rng.choice(within or (4096,)) // width
        return [rng.randrange(places) * width for _ in LANES], width

    return draw


def strided(width: int, lanes: int = memory.WARP) -> Draw:
    """Calls with lanes that are one step apart, of any number of vectors."""

    def draw(rng: Random) -> tuple:
        start, step = (width * rng.randint(0, 40) for _ in range(2))
        return [start + step * lane for lane in range(lanes)], width

    return draw


COSTS = (
    value_exercise(
        ("04.1", "wavefronts", 4),
        wavefronts,
        {
            "32 words in 32 banks": beside(
                warps(4, lambda t: 4 * t, lambda t: 132 * t, lambda t: 124 - 4 * t), strided(4)
            ),
            "words that share a bank": beside(
                warps(4, lambda t: 8 * t, lambda t: 128 * t, lambda t: 144 * t), strided(4)
            ),
            "lanes that want the same word": beside(
                [*warps(4, lambda t: 64, lambda t: t // 16 * 128), *warps(2, lambda t: 2 * t), scattered(4)(Random(1))],
                scattered(2, 64, 128, 512, 2048),
            ),
            "8 bytes for each lane": beside(
                [
                    *warps(8, lambda t: 8 * t, lambda t: t % 16 * 8, lambda t: t * (128 if t < 16 else 8)),
                    scattered(8)(Random(2)),
                ],
                scattered(8),
            ),
            "16 bytes for each lane": beside(
                [
                    *warps(16, lambda t: 16 * t, lambda t: t % 8 * 16),
                    *warps(16, lambda t: 128 * t + t // 4 * 16, lambda t: 128 * t + t % 8 * 16),
                    scattered(16)(Random(3)),
                ],
                scattered(16),
            ),
            "the eight rows of one ldmatrix matrix": beside(
                warps(16, lambda t: 128 * t, lambda t: 144 * t, lambda t: 64 * t, lanes=8), strided(16, lanes=8)
            ),
        },
        mistakes={
            "all_at_once": lambda addresses, width: memory.ways(addresses, 1, width),
            "slowest_group": lambda addresses, width: max(
                wavefronts(phase, width) for phase in phases(addresses, width)
            ),
        },
        library={"memory.wavefronts": memory.wavefronts, "memory.ways": memory.ways},
    ),
)

# 04.2 and 04.3: swizzles ----------------------------------------------------------------------------------------------


def log2(power_of_two: int) -> int:
    return power_of_two.bit_length() - 1


class SwizzleFlaw(FailureKind):
    """Errors in a choice of (B, M, S)."""

    OVERLAP = "groups of bits overlap"
    TEARS = "vectors torn apart"
    WAVEFRONTS = "several wavefronts"


def swizzle_flaw(got: object, row_bytes: int, element_bytes: int, vector_bytes: int) -> str | None:
    """The fault of a (B, M, S) on rows of `row_bytes`, read by vectors; None if it is the right one."""
    width, vector = memory.WAVEFRONT, vector_bytes // element_bytes  # vector, row: in elements
    b, s = log2(min(row_bytes, width) // vector_bytes), log2(max(row_bytes, width) // vector_bytes)
    if same(got, (b, log2(vector), s)):
        return None
    if not isinstance(got, tuple) or [type(n) for n in got] != [int] * 3 or not all(0 <= n <= 16 for n in got):
        return "it should be a tuple (B, M, S) of three small whole numbers"
    if got[2] < got[0]:
        return Flaw(f"S = {got[2]} is less than B = {got[0]}, so the two groups of bits overlap", SwizzleFlaw.OVERLAP)
    mixed, row, lanes = Swizzle(*got), row_bytes // element_bytes, width // vector_bytes
    starts = range(0, lanes * row, vector)
    if any(mixed(start + n) != mixed(start) + n for start in starts for n in range(vector)):
        return Flaw(f"it tears {vector_bytes}-byte vectors apart", SwizzleFlaw.TEARS)
    for first in range(0, row, vector):
        down = [mixed(first + row * n) for n in range(lanes)]
        if (cost := memory.wavefronts(down, element_bytes, vector)) > 1:
            says = f"{lanes} vectors down a column then take {cost} wavefronts"
            return Flaw(says, SwizzleFlaw.WAVEFRONTS)
    return f"it works with more bits than are needed: B = {b} is enough"


def tile_offset(row: int, column: int) -> int:
    return SWIZZLED_TILE(row, column)


def anywhere(rng: Random) -> tuple[int, int]:
    """In a tile with more columns than a table holds."""
    return rng.randrange(128), rng.randrange(1 << 20)


SWIZZLES = (
    value_exercise(
        ("04.2", "choose_swizzle", 4),
        None,
        {
            "16-byte vectors, rows of 32 to 128 bytes": [
                (row, size, 16) for row in (128, 64, 32) for size in (2, 4, 1)
            ],
            "16-byte vectors, longer rows": [(row, size, 16) for row in (256, 512, 1024) for size in (2, 4)],
            "4- and 8-byte vectors": [(128, 4, 4), (256, 4, 4), (64, 2, 4), (256, 2, 8), (64, 4, 8)],
        },
        holds=swizzle_flaw,
        mistakes={
            "always_3_3_3": lambda row_bytes, element_bytes, vector_bytes: (3, 3, 3),
            "in_bytes": lambda row_bytes, element_bytes, vector_bytes: (
                log2(min(row_bytes, 128) // vector_bytes),
                log2(vector_bytes),
                log2(max(row_bytes, 128) // vector_bytes),
            ),
        },
    ),
    value_exercise(
        ("04.3", "tile_offset", 3),
        tile_offset,
        {
            "the atom": beside([(row, column) for row in range(8) for column in range(128)], anywhere),
            "rows further down": beside(
                [(row, row % 7 * 18) for row in range(8, 128)], lambda rng: (rng.randrange(128), 40)
            ),
            "columns further right": beside([(row, 128 + 9 * row) for row in range(0, 128, 3)], anywhere),
        },
        mistakes={
            "no_swizzle": TILE,
            "whole_row": lambda row, column: TILE(row, 0) + (row ^ column // 16) * 16 + column % 16,
            "one_stack": lambda row, column: tile_offset(row, column % 128),
            "long_rows": lambda row, column: row * 256 + column // 128 * 128 + tile_offset(row, column % 128) % 128,
            "of_bf16": compose(Swizzle(3, 3, 3), Layout((128, (64, 1 << 14)), (64, (1, 8192)))),
        },
        library={
            "the swizzled layout": ComposedLayout.__call__,
            "a Layout": Layout.__call__,
            "a Swizzle": Swizzle.__call__,
        },
    ),
)

EXERCISES = (*COSTS, *SWIZZLES)

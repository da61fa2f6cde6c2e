"""03.3 to 03.5: swizzles."""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from tensor_layouts import Layout, Swizzle, compose

from tutorlib.checking.values import equals, same
from tutorlib.exercises.words import mistakes
from tutorlib.failure import FailureKind, Flaw
from tutorlib.models import banks

CHUNK = 16  # bytes: the most that one lane moves, and a row of one of ldmatrix's matrices

# 03.3 swizzle ---------------------------------------------------------------------------------------------------


def swizzle(b: int, m: int, s: int, offset: int) -> int:
    return Swizzle(b, m, s)(offset)


def bits(b: int, start: int, offset: int) -> int:
    """The b bits of the offset from bit `start` on."""
    return offset >> start & (1 << b) - 1


SWIZZLING = mistakes(
    "03.3",
    identity=lambda b, m, s, offset: offset,
    replaced=lambda b, m, s, offset: offset & ~(((1 << b) - 1) << m) | bits(b, m + s, offset) << m,
    own_bits=lambda b, m, s, offset: offset ^ bits(b, m, offset) << m,
    lower_group_alone=lambda b, m, s, offset: (bits(b, m, offset) ^ bits(b, m + s, offset)) << m,
    groups_swapped=lambda b, m, s, offset: (
        offset & ~(((1 << b) - 1) << m | ((1 << b) - 1) << (m + s))
        | bits(b, m + s, offset) << m
        | bits(b, m, offset) << (m + s)
    ),
    wrong_way=lambda b, m, s, offset: offset ^ bits(b, m, offset) << (m + s),
    b_and_s_exchanged=lambda b, m, s, offset: swizzle(s, m, b, offset),
    from_bit_s=lambda b, m, s, offset: offset ^ bits(b, s, offset) << m,
    at_bit_0=lambda b, m, s, offset: offset ^ bits(b, m + s, offset),
    added=lambda b, m, s, offset: offset + (bits(b, m + s, offset) << m),
    all_upper_bits=lambda b, m, s, offset: offset ^ offset >> (m + s) << m,
)
swizzling = partial(equals, wanted=swizzle, mistakes=SWIZZLING)


def period(b: int, m: int, s: int) -> list[tuple[int, int, int, int]]:
    """Calls for every offset up to where the swizzle repeats itself."""
    return [(b, m, s, offset) for offset in range(1 << (b + m + s))]


def swizzled(b: Sequence[int], m: Sequence[int], s: Sequence[int]) -> Callable[[Random], tuple]:
    """Calls of `swizzle` with some of these ⟨B,M,S⟩, at offsets anywhere."""
    return lambda rng: (rng.choice(b), rng.choice(m), rng.choice(s), rng.randrange(2**20))


# 03.4 choose_swizzle --------------------------------------------------------------------------------------------


def log2(power_of_two: int) -> int:
    return power_of_two.bit_length() - 1


def choose_swizzle(row_bytes: int, element_bytes: int) -> tuple[int, int, int]:
    return log2(row_bytes // CHUNK), log2(CHUNK // element_bytes), log2(banks.WAVEFRONT // CHUNK)


class SwizzleFlaw(FailureKind):
    """Errors in a choice of (B, M, S)."""

    OVERLAP = "groups of bits overlap"
    TEARS = "chunks torn apart"
    WAVEFRONTS = "several wavefronts"


def swizzle_flaw(got: object, row_bytes: int, element_bytes: int) -> str | None:
    """The fault of a (B, M, S) on eight rows of `row_bytes`; None if it is the right one."""
    want = choose_swizzle(row_bytes, element_bytes)
    if same(got, want):
        return None
    if not isinstance(got, tuple) or [type(n) for n in got] != [int] * 3 or not all(0 <= n <= 16 for n in got):
        return "it should be a tuple (B, M, S) of three small whole numbers"
    b, m, s = got
    if s < b:
        return Flaw(f"S = {s} is less than B = {b}, so the two groups of bits overlap", SwizzleFlaw.OVERLAP)
    chunk, row = CHUNK // element_bytes, row_bytes // element_bytes  # in elements
    starts = range(0, 8 * row, chunk)
    if any(swizzle(b, m, s, start + n) != swizzle(b, m, s, start) + n for start in starts for n in range(chunk)):
        return Flaw("it tears 16-byte chunks apart", SwizzleFlaw.TEARS)
    for first in range(0, row, chunk):
        down = [swizzle(b, m, s, first + row * n) for n in range(8)]
        if (cost := banks.wavefronts(down, element_bytes, chunk)) > 1:
            return Flaw(f"eight chunks down a column then take {cost} wavefronts", SwizzleFlaw.WAVEFRONTS)
    return f"it works with more bits than are needed: B = {want[0]} is enough"


CHOICES = mistakes(
    "03.4",
    always_3_3_3=lambda row_bytes, element_bytes: (3, 3, 3),
    in_bytes=lambda row_bytes, element_bytes: (log2(row_bytes // CHUNK), log2(CHUNK), 3),
    b_and_s_exchanged=lambda row_bytes, element_bytes: (3, log2(CHUNK // element_bytes), log2(row_bytes // CHUNK)),
)

# 03.5 tile_offset -----------------------------------------------------------------------------------------------


TILE = Layout(((8, 16), (8, 8)), ((8, 512), (1, 64)))  # 16 atoms (8,(8,8)):(8,(1,64)), one below the other

SWIZZLED_TILE = compose(Swizzle(3, 3, 3), TILE)


def tile_offset(row: int, column: int) -> int:
    return SWIZZLED_TILE(row, column)


def anywhere(rng: Random) -> tuple[int, int]:
    """In the tile."""
    return rng.randrange(128), rng.randrange(64)


OFFSETS = mistakes(
    "03.5",
    no_swizzle=TILE,
    chunk_moved=lambda row, column: row // 8 * 512 + (column // 8 ^ row % 8) * 64 + row % 8 * 8 + column % 8,
    element_moved=lambda row, column: row // 8 * 512 + column // 8 * 64 + row % 8 * 8 + (column % 8 ^ column // 8),
    row_alone=lambda row, column: row // 8 * 512 + column // 8 * 64 + (row ^ column // 8) * 8 + column % 8,
    row_and_atom_alone=lambda row, column: column // 8 * 64 + (row ^ column // 8) * 8 + column % 8,
    one_atom=lambda row, column: tile_offset(row % 8, column),
    atom_by_rows=lambda row, column: swizzle(3, 3, 3, row * 64 + column),
)
placing = partial(equals, wanted=tile_offset, mistakes=OFFSETS)

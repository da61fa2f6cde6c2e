"""03.3 to 03.5: swizzles."""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from tensor_layouts import Layout, Swizzle, compose

from tutorlib.checking.values import Mistake, equals, same
from tutorlib.failure import FailureKind, Flaw
from tutorlib.models import banks

CHUNK = 16  # bytes: the most that one lane moves, and a row of one of ldmatrix's matrices

# 03.3 swizzle ---------------------------------------------------------------------------------------------------


def swizzle(b: int, m: int, s: int, offset: int) -> int:
    return Swizzle(b, m, s)(offset)


def bits(b: int, start: int, offset: int) -> int:
    """The b bits of the offset from bit `start` on."""
    return offset >> start & (1 << b) - 1


SWIZZLING = (
    Mistake("Nothing moved: this is the identity.", lambda b, m, s, offset: offset),
    Mistake(
        "The upper group is put in the place of the lower one. It has to be XORed into it.",
        lambda b, m, s, offset: offset & ~(((1 << b) - 1) << m) | bits(b, m + s, offset) << m,
    ),
    Mistake(
        "That XORs the lower group with its own bits, or clears it. The bits come from M + S on.",
        lambda b, m, s, offset: offset ^ bits(b, m, offset) << m,
    ),
    Mistake(
        "Only the lower group is left: XOR into the whole offset, so that all its other bits stay.",
        lambda b, m, s, offset: (bits(b, m, offset) ^ bits(b, m + s, offset)) << m,
    ),
    Mistake(
        "That swaps the two groups. The upper one stays as it is; only the lower one changes.",
        lambda b, m, s, offset: (
            offset & ~(((1 << b) - 1) << m | ((1 << b) - 1) << (m + s))
            | bits(b, m + s, offset) << m
            | bits(b, m, offset) << (m + s)
        ),
    ),
    Mistake(
        "That goes the wrong way: the upper bits are XORed into the lower ones, so they are shifted right.",
        lambda b, m, s, offset: offset ^ bits(b, m, offset) << (m + s),
    ),
    Mistake(
        "B and S are exchanged: B is how many bits, S how far apart the two groups are.",
        lambda b, m, s, offset: swizzle(s, m, b, offset),
    ),
    Mistake(
        "The upper bits are read from bit S on; they start at bit M + S.",
        lambda b, m, s, offset: offset ^ bits(b, s, offset) << m,
    ),
    Mistake(
        "The result lands at bit 0; the lower group starts at bit M.",
        lambda b, m, s, offset: offset ^ bits(b, m + s, offset),
    ),
    Mistake(
        "That adds where it should XOR: a carry runs into the bits above.",
        lambda b, m, s, offset: offset + (bits(b, m + s, offset) << m),
    ),
    Mistake(
        "Only B bits take part; you XOR all bits above bit M + S.",
        lambda b, m, s, offset: offset ^ offset >> (m + s) << m,
    ),
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

    NO_TUPLE = "no three numbers"
    OVERLAP = "groups of bits overlap"
    TEARS = "chunks torn apart"
    WAVEFRONTS = "several wavefronts"


def swizzle_flaw(got: object, row_bytes: int, element_bytes: int) -> str | None:
    """The fault of a (B, M, S) on eight rows of `row_bytes`; None if it is the right one."""
    want = choose_swizzle(row_bytes, element_bytes)
    if same(got, want):
        return None
    if not isinstance(got, tuple) or [type(n) for n in got] != [int] * 3 or not all(0 <= n <= 16 for n in got):
        return Flaw("it should be a tuple (B, M, S) of three small whole numbers", SwizzleFlaw.NO_TUPLE)
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


CHOICES = (
    Mistake(
        "⟨3,3,3⟩ is for 128-byte rows of a 2-byte type. Which of the three depends on the row, which on the type?",
        lambda row_bytes, element_bytes: (3, 3, 3),
    ),
    Mistake(
        "M counts the bits of an offset in elements, and you gave those of an offset in bytes.",
        lambda row_bytes, element_bytes: (log2(row_bytes // CHUNK), log2(CHUNK), 3),
    ),
    Mistake(
        "B and S are exchanged.",
        lambda row_bytes, element_bytes: (3, log2(CHUNK // element_bytes), log2(row_bytes // CHUNK)),
    ),
)

# 03.5 tile_offset -----------------------------------------------------------------------------------------------


TILE = Layout(((8, 16), (8, 8)), ((8, 512), (1, 64)))  # 16 atoms (8,(8,8)):(8,(1,64)), one below the other

SWIZZLED_TILE = compose(Swizzle(3, 3, 3), TILE)


def tile_offset(row: int, column: int) -> int:
    return SWIZZLED_TILE(row, column)


def anywhere(rng: Random) -> tuple[int, int]:
    """In the tile."""
    return rng.randrange(128), rng.randrange(64)


OFFSETS = (
    Mistake("The swizzle is missing: that is the plain layout of the atom, repeated every 8 rows.", TILE),
    Mistake(
        "The other group of bits is XORed: the chunk moves, to chunk ^ row. In this atom the *row* moves inside its "
        "column of chunks, to row ^ chunk.",
        lambda row, column: row // 8 * 512 + (column // 8 ^ row % 8) * 64 + row % 8 * 8 + column % 8,
    ),
    Mistake(
        "The place inside the chunk is XORed. M = 3: the three lowest bits, the element, never move.",
        lambda row, column: row // 8 * 512 + column // 8 * 64 + row % 8 * 8 + (column % 8 ^ column // 8),
    ),
    Mistake(
        "Only the row inside the atom is XORed: row % 8.",
        lambda row, column: row // 8 * 512 + column // 8 * 64 + (row ^ column // 8) * 8 + column % 8,
    ),
    Mistake(
        "Only the row inside the atom is XORed, row % 8; each atom before this one adds 512.",
        lambda row, column: column // 8 * 64 + (row ^ column // 8) * 8 + column % 8,
    ),
    Mistake(
        "Every 8 rows a new atom begins, 512 elements after the one before.",
        lambda row, column: tile_offset(row % 8, column),
    ),
    Mistake(
        "You start from an atom stored by rows, (8,64):(64,1). In this one a row is 8 elements on, and a chunk 64.",
        lambda row, column: swizzle(3, 3, 3, row * 64 + column),
    ),
)
placing = partial(equals, wanted=tile_offset, mistakes=OFFSETS)

"""Exercises of notebook 03: banks, padding, swizzles and thread-value layouts.

Swizzles, layouts and the fragments of mma are tensor_layouts'; wavefronts are counted by tutorlib.banks. Tests compare
them with the real CuTe DSL and with the formulas of the PTX ISA.
"""

from collections import Counter
from collections.abc import Callable
from math import ceil
from random import Random
from typing import Any

from tensor_layouts import ComposedLayout, Layout, Swizzle, compose, is_layout, rank, size
from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as MMA

from tutorlib.checking.exercise import Remedy
from tutorlib.checking.leaning import InModule, Itself
from tutorlib.checking.values import Case, Mistake, ValueExercise, equals, law, same
from tutorlib.models import banks

CHUNK = 16  # bytes: what one lane moves at most, and a row of one of ldmatrix's matrices

# 03.1 wavefronts ------------------------------------------------------------------------------------------------


def wavefronts(addresses: list[int], width: int) -> int:
    return banks.wavefronts(addresses, element_bytes=1, vector=width)


def phases(addresses: list[int], width: int) -> list[list[int]]:
    """The lanes that go through together: 32 of them, 16 at 8 bytes, 8 at 16 bytes."""
    together = min(banks.WARP, banks.WAVEFRONT // width)
    return [addresses[first : first + together] for first in range(0, len(addresses), together)]


def most_lanes(addresses: list[int]) -> int:
    return max(Counter(banks.bank(address, 1) for address in addresses).values())


COUNTING = (
    Mistake(
        "You count lanes. Lanes that want the same word share one read of it: count different words.",
        lambda addresses, width: sum(map(most_lanes, phases(addresses, width))),
    ),
    Mistake(
        "You send all lanes through at once. 8-byte accesses go by 16 lanes and 16-byte accesses by 8, one group after "
        "the other; a word that two groups want is read twice.",
        lambda addresses, width: banks.ways(addresses, 1, width),
    ),
    Mistake(
        "That is the slowest group of lanes alone. The groups follow each other, so their wavefronts add up.",
        lambda addresses, width: max(wavefronts(phase, width) for phase in phases(addresses, width)),
    ),
    Mistake(
        "A bank is 4 bytes wide: divide the address by 4 before you take it modulo 32.",
        lambda addresses, width: sum(
            max(Counter(address % banks.BANKS for address in set(phase)).values()) for phase in phases(addresses, width)
        ),
    ),
)


def warp(address: Callable[[int], int], lanes: int = banks.WARP) -> list[int]:
    return [address(lane) for lane in range(lanes)]


def random_warp(width: int, seed: int) -> list[int]:
    """32 aligned addresses within 4 KiB."""
    dice = Random(seed)
    return warp(lambda _: dice.randrange(4096 // width) * width)


WAVEFRONTS = (
    (
        "32 words in 32 banks",
        [(warp(lambda t: 4 * t), 4), (warp(lambda t: 132 * t), 4), (warp(lambda t: 124 - 4 * t), 4)],
    ),
    (
        "words that share a bank",
        [(warp(lambda t: 8 * t), 4), (warp(lambda t: 128 * t), 4), (warp(lambda t: 144 * t), 4)],
    ),
    (
        "lanes that want the same word",
        [
            (warp(lambda t: 64), 4),
            (warp(lambda t: 2 * t), 2),
            (warp(lambda t: t // 16 * 128), 4),
            (random_warp(4, 1), 4),
        ],
    ),
    (
        "8 bytes for each lane",
        [
            (warp(lambda t: 8 * t), 8),
            (warp(lambda t: t % 16 * 8), 8),
            (warp(lambda t: t * (128 if t < 16 else 8)), 8),
            (random_warp(8, 2), 8),
        ],
    ),
    (
        "16 bytes for each lane",
        [
            (warp(lambda t: 16 * t), 16),
            (warp(lambda t: t % 8 * 16), 16),
            (warp(lambda t: 128 * t + t // 4 * 16), 16),
            (warp(lambda t: 128 * t + t % 8 * 16), 16),
            (random_warp(16, 3), 16),
        ],
    ),
    (
        "the eight rows of one ldmatrix matrix",
        [(warp(lambda t: 128 * t, 8), 16), (warp(lambda t: 144 * t, 8), 16), (warp(lambda t: 64 * t, 8), 16)],
    ),
)

# 03.2 padded_stride ---------------------------------------------------------------------------------------------


def padded_stride(columns: int, element_bytes: int, vector_bytes: int) -> int:
    vectors = ceil(columns * element_bytes / vector_bytes)
    return (vectors | 1) * vector_bytes // element_bytes


PADDING = (
    Mistake(
        "No padding: the rows are aligned, and the vectors of a column meet in a few banks.",
        lambda columns, element_bytes, vector_bytes: columns,
    ),
    Mistake(
        "One vector more helps where their number was even. An odd one was free of conflicts already.",
        lambda columns, element_bytes, vector_bytes: (
            (ceil(columns * element_bytes / vector_bytes) + 1) * vector_bytes // element_bytes
        ),
    ),
    Mistake(
        "One element more spreads single words. Vectors need aligned rows: make the stride a whole number of them.",
        lambda columns, element_bytes, vector_bytes: columns + 1,
    ),
)

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
        "Only B bits take part; you XOR all that stand above bit M + S.",
        lambda b, m, s, offset: offset ^ offset >> (m + s) << m,
    ),
)


def period(b: int, m: int, s: int) -> list[tuple[int, int, int, int]]:
    """Calls for every offset up to where the swizzle repeats itself."""
    return [(b, m, s, offset) for offset in range(1 << (b + m + s))]


# 03.4 choose_swizzle --------------------------------------------------------------------------------------------


def log2(power_of_two: int) -> int:
    return power_of_two.bit_length() - 1


def choose_swizzle(row_bytes: int, element_bytes: int) -> tuple[int, int, int]:
    return log2(row_bytes // CHUNK), log2(CHUNK // element_bytes), log2(banks.WAVEFRONT // CHUNK)


def swizzle_flaw(got: object, row_bytes: int, element_bytes: int) -> str | None:
    """What a chosen (B, M, S) does wrong to eight rows of `row_bytes`; None where it is the right one."""
    want = choose_swizzle(row_bytes, element_bytes)
    if same(got, want):
        return None
    if not isinstance(got, tuple) or [type(n) for n in got] != [int] * 3 or not all(0 <= n <= 16 for n in got):
        return "it should be a tuple (B, M, S) of three small whole numbers"
    b, m, s = got
    if s < b:
        return f"S = {s} is less than B = {b}, so the two groups of bits overlap"
    chunk, row = CHUNK // element_bytes, row_bytes // element_bytes  # in elements
    starts = range(0, 8 * row, chunk)
    if any(swizzle(b, m, s, start + n) != swizzle(b, m, s, start) + n for start in starts for n in range(chunk)):
        return "it tears 16-byte chunks apart"
    for first in range(0, row, chunk):
        down = [swizzle(b, m, s, first + row * n) for n in range(8)]
        if (cost := banks.wavefronts(down, element_bytes, chunk)) > 1:
            return f"eight chunks down a column then take {cost} wavefronts"
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


OFFSETS = (
    Mistake("The swizzle is missing: that is the atom's layout alone, once for every 8 rows.", TILE),
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

# 03.6 c_coordinate ----------------------------------------------------------------------------------------------


def c_coordinate(lane: int, value: int) -> tuple[int, int]:
    column, row = divmod(MMA.c_layout(lane, value), 16)
    return row, column


def of_atom(layout: str) -> InModule:
    """Where a layout of MMA stands."""
    return InModule("tensor_layouts.atoms_nv", f"SM80_16x8x16_F32BF16BF16F32_TN.{layout}")


C_FRAGMENTS = (
    Mistake("Row and column are exchanged.", lambda lane, value: c_coordinate(lane, value)[::-1]),
    Mistake(
        "That is the index row + 16 · column, not the pair.",
        lambda lane, value: MMA.c_layout(lane, value),
    ),
    Mistake(
        "A lane's two neighbouring values are columns 2 · (lane % 4) and the next: its columns are two wide.",
        lambda lane, value: (lane // 4 + value // 2 * 8, lane % 4 + value % 2),
    ),
    Mistake(
        "Values 2 and 3 are 8 rows below values 0 and 1, not one.",
        lambda lane, value: (lane // 4 + value // 2, lane % 4 * 2 + value % 2),
    ),
    Mistake(
        "Values 1 and 2 are exchanged: value 1 is beside value 0, value 2 is 8 rows below.",
        lambda lane, value: c_coordinate(lane, (0, 2, 1, 3)[value]),
    ),
    Mistake(
        "Four lanes share a row, not eight: their two values each make its 8 columns.",
        lambda lane, value: (lane // 8 + value // 2 * 8, lane % 8),
    ),
)

# 03.7 a_fragment ------------------------------------------------------------------------------------------------


def a_fragment() -> Layout:
    return MMA.a_layout


def fragment_flaw(got: Any, pairs: list[tuple[int, int]]) -> str | None:
    """What a layout gets wrong about A's fragment at some (lane, value); None where it is right."""
    if not is_layout(got):
        return "it should be a Layout"
    if rank(got) != 2 or (size(got.shape[0]), size(got.shape[1])) != (32, 8):
        return "it should have two modes, of 32 lanes and of 8 values"
    for lane, value in pairs:
        k, row = divmod(got(lane, value), 16)
        want_k, want_row = divmod(MMA.a_layout(lane, value), 16)
        if (row, k) != (want_row, want_k):
            return f"lane {lane}, value {value} should be row {want_row}, k {want_k}, and is row {row}, k {k}"
    return None


A_FRAGMENTS = (
    Mistake(
        "Your index runs along the rows, 16·row + k; here it runs down the columns, row + 16·k.",
        lambda: Layout(((4, 8), (2, 2, 2)), ((2, 16), (1, 128, 8))),
    ),
    Mistake(
        "The second and third bit of the value are exchanged: value 2 is 8 rows down, value 4 is 8 along k.",
        lambda: Layout(((4, 8), (2, 2, 2)), ((32, 1), (16, 128, 8))),
    ),
    Mistake(
        "Lanes run along k first, four of them, and then down the rows.",
        lambda: Layout(((8, 4), (2, 2, 2)), ((1, 32), (16, 8, 128))),
    ),
)


def fragment_case(name: str, pairs: list[tuple[int, int]]) -> Case:
    return law(name, [()], lambda got: fragment_flaw(got, pairs), A_FRAGMENTS)


# 03.8 ldmatrix_row ----------------------------------------------------------------------------------------------


def ldmatrix_row(lane: int) -> tuple[int, int]:
    return lane % 16, lane // 16 * 8


LDMATRIX = (
    Mistake(
        "Matrices 1 and 2 are exchanged: register 1 of A's fragment is 8 rows down, register 2 is 8 along k.",
        lambda lane: (lane % 8 + lane // 16 * 8, lane // 8 % 2 * 8),
    ),
    Mistake(
        "Lanes 16 to 31 walk down the rows once more: eight lanes serve one matrix, and there are four.",
        lambda lane: (lane % 16, 0),
    ),
    Mistake(
        "The column counts elements: the second pair of matrices starts at 8.", lambda lane: (lane % 16, lane // 16)
    ),
    Mistake("Row and column are exchanged.", lambda lane: (lane // 16 * 8, lane % 16)),
    Mistake(
        "That is what the lane receives. The address it gives is that of a whole row of 8 elements.",
        lambda lane: (lane // 4, lane % 4 * 2),
    ),
    Mistake(
        "Two lanes on one row of the tile would alternate between matrices; eight lanes in turn serve one matrix.",
        lambda lane: (lane // 2, lane % 2 * 8),
    ),
)

# ----------------------------------------------------------------------------------------------------------------

EXERCISES = (
    ValueExercise(
        id="03.1",
        title="wavefronts",
        points=4,
        library={"banks.wavefronts": banks.wavefronts, "banks.ways": banks.ways},
        cases=tuple(equals(name, calls, wavefronts, COUNTING) for name, calls in WAVEFRONTS),
        remedies=(
            Remedy(
                "32 words in 32 banks", "word = address // 4, bank = word % 32; then the most words that one bank has."
            ),
            Remedy(
                "words that share a bank",
                "The cost is the largest number of different words that one bank has to give.",
            ),
            Remedy(
                "lanes that want the same word",
                "Different words count: put them into a set before you count banks.",
            ),
            Remedy(
                "8 bytes for each lane",
                "Sixteen lanes go through together, one half after the other, and the halves add up.",
            ),
        ),
        hints=(
            "For one group of lanes: collect the different words, then see which bank holds most of them.",
            "A group has 128 // width lanes, at most 32: what the banks hold side by side.",
            "For aligned accesses each lane's first word is enough: two vectors start in the same bank or share none.",
        ),
    ),
    ValueExercise(
        id="03.2",
        title="padded_stride",
        points=3,
        cases=(
            equals("fp32, word by word", [(32, 4, 4), (64, 4, 4), (128, 4, 4)], padded_stride, PADDING),
            equals("16-byte vectors", [(64, 2, 16), (48, 2, 16), (32, 4, 16), (128, 1, 16)], padded_stride, PADDING),
            equals("4- and 8-byte vectors", [(64, 2, 4), (32, 4, 8), (24, 2, 8)], padded_stride, PADDING),
            equals("an odd number of vectors", [(33, 4, 4), (72, 2, 16), (31, 4, 4)], padded_stride, PADDING),
            equals("rows that end inside a vector", [(30, 4, 16), (60, 2, 16), (65, 2, 16)], padded_stride, PADDING),
        ),
        remedies=(
            Remedy(".0: it should give", "Stay with integers: // in place of /."),
            Remedy("rows that end inside a vector", "The number of vectors is rounded up: -(-bytes // vector_bytes)."),
            Remedy(
                "word by word",
                "Count the stride in vectors: a whole number keeps rows aligned, an odd one moves the banks.",
            ),
        ),
        hints=(
            "Count the stride in vectors. With which strides do the vectors of a column visit every place once?",
            "The banks hold a power of two of vectors side by side: an odd stride visits each, an even one does not.",
            "Round up to whole vectors, add one where their number is even, and give the result in elements.",
        ),
    ),
    ValueExercise(
        id="03.3",
        title="swizzle",
        points=3,
        library={"a Swizzle": Swizzle.__call__, "a swizzled layout": ComposedLayout.__call__},
        cases=(
            equals("all of one period of ⟨3,3,3⟩", period(3, 3, 3), swizzle, SWIZZLING),
            equals("fewer bits", period(2, 3, 3) + period(1, 4, 3), swizzle, SWIZZLING),
            equals("groups further apart", period(2, 1, 4) + period(1, 2, 5), swizzle, SWIZZLING),
            equals(
                "offsets past one period, and B = 0",
                [(3, 3, 3, 512 * 5 + 73), (2, 4, 3, 123457), (3, 4, 3, 2**20 - 1), (0, 3, 3, 200)],
                swizzle,
                SWIZZLING,
            ),
        ),
        remedies=(
            Remedy(
                "all of one period",
                "Take it apart: the group Y is (offset >> (M + S)) & mask. Where does it go back in?",
            ),
            Remedy(
                ("fewer bits", "groups further apart"),
                "The mask has B bits, 2**B - 1, and the lower group starts at bit M.",
            ),
        ),
        hints=(
            "Three steps: bring the upper bits down to bit 0, keep B of them, put them back at bit M. Then XOR.",
            "offset >> (M + S) brings them down; & (2**B - 1), or % 2**B, keeps B of them.",
            "offset ^ (upper << M), where upper are those B bits",
        ),
    ),
    ValueExercise(
        id="03.4",
        title="choose_swizzle",
        points=3,
        cases=tuple(
            law(f"rows of {row} bytes, of bf16, fp32 and fp8", [(row, 2), (row, 4), (row, 1)], swizzle_flaw, CHOICES)
            for row in (128, 64, 32)
        ),
        remedies=(
            Remedy("it tears 16-byte chunks apart", "M protects a chunk: 2**M elements are 16 bytes."),
            Remedy(
                "wavefronts",
                "Numbers of bits: B of the chunks in a row, M of the elements in a chunk, S of the chunks in 128 bytes",
            ),
            Remedy("is less than B", "B counts chunks of a row, not elements: row_bytes // 16."),
            Remedy("it should be a tuple", "Return B, M, S."),
        ),
        hints=(
            "M protects the 16 bytes that one lane moves: how many elements are they?",
            "B is how many bits number the 16-byte chunks of a row. There is nothing else to XOR into.",
            "128 bytes are 8 chunks, so rows come back to the same banks after 8 chunks: that distance is S.",
        ),
    ),
    ValueExercise(
        id="03.5",
        title="tile_offset",
        points=3,
        library={"the swizzled layout": ComposedLayout.__call__, "a Swizzle": Swizzle.__call__},
        cases=(
            equals("row 0", [(0, column) for column in range(64)], tile_offset, OFFSETS),
            equals("the atom", [(row, column) for row in range(8) for column in range(64)], tile_offset, OFFSETS),
            equals(
                "one element of every chunk of the tile",
                [(row, 8 * chunk + row % 8) for row in range(128) for chunk in range(8)],
                tile_offset,
                OFFSETS,
            ),
        ),
        remedies=(
            Remedy("row 0:", "In row 0 nothing is XORed but the chunk: place = 0 ^ chunk, and a place is 8 elements."),
            Remedy("the atom:", "place = r ^ chunk, an exclusive or: two places of a column never meet."),
        ),
        hints=(
            "Split the row into (which atom, row inside it) and the column into (which chunk, element inside it).",
            "Without the swizzle the offset is 512·atom + 64·chunk + 8·row + element. Which of its bits are XORed?",
            "Bits 3 to 5 hold the row inside the atom, bits 6 to 8 the chunk: row becomes row ^ chunk.",
        ),
    ),
    ValueExercise(
        id="03.6",
        title="c_coordinate",
        points=2,
        library={"mma.c_layout": "c_layout", "mma's c_layout": Itself(MMA.c_layout, of_atom("c_layout"))},
        cases=tuple(
            equals(f"value {value} of every lane", [(lane, value) for lane in range(32)], c_coordinate, C_FRAGMENTS)
            for value in range(4)
        ),
        remedies=(
            Remedy("and is a list", "Return row, column: a tuple."),
            Remedy("value 1 of", "Value 1 is beside value 0, in the next column."),
            Remedy("value 2 of", "Values 2 and 3 are 8 rows below values 0 and 1."),
        ),
        hints=(
            "Follow lanes 0, 1, 2, 3, 4 in the picture: along the row, and then?",
            "Four lanes with two values each fill a row of 8. The other two values are 8 rows further down.",
        ),
    ),
    ValueExercise(
        id="03.7",
        title="a_fragment",
        points=3,
        library={"mma.a_layout": "a_layout", "mma's a_layout": Itself(MMA.a_layout, of_atom("a_layout"))},
        cases=(
            fragment_case("the first value of every lane", [(lane, 0) for lane in range(32)]),
            fragment_case("the values of lane 0", [(0, value) for value in range(8)]),
            fragment_case("all of it", [(lane, value) for lane in range(32) for value in range(8)]),
        ),
        remedies=(
            Remedy("two modes", "One mode of 32 lanes, (4, 8), and one of 8 values, (2, 2, 2)."),
            Remedy(
                "value 0 should be",
                "Four lanes go along k, two elements each; then the next row: strides (32, 1).",
            ),
            Remedy(
                "the values of lane 0",
                "Follow lane 0 in the picture: V1 beside V0, V2 8 rows down, V4 8 columns on.",
            ),
        ),
        hints=(
            "Lanes have the shape (4, 8) and values (2, 2, 2). What is left is one stride for each.",
            "In the index row + 16·k a step down is 1 and a step along k is 16.",
            "The next of four lanes is two elements along k: stride 32. Value 1 is one element along k, value 2 is 8 "
            "rows down, value 4 is 8 elements along k.",
        ),
    ),
    ValueExercise(
        id="03.8",
        title="ldmatrix_row",
        points=2,
        cases=(
            equals("matrix 0, lanes 0 to 7", [(lane,) for lane in range(8)], ldmatrix_row, LDMATRIX),
            equals("matrix 1, lanes 8 to 15", [(lane,) for lane in range(8, 16)], ldmatrix_row, LDMATRIX),
            equals("matrices 2 and 3, lanes 16 to 31", [(lane,) for lane in range(16, 32)], ldmatrix_row, LDMATRIX),
        ),
        remedies=(
            Remedy("and is a list", "Return row, column: a tuple."),
            Remedy("matrix 1, lanes 8", "Matrix 1 fills register 1, values 2 and 3: where in A are they?"),
            Remedy("matrices 2 and 3", "Matrices 2 and 3 are 8 elements further along k."),
        ),
        hints=(
            "Which matrix does a lane serve, and which of its 8 rows?",
            "Matrix j fills register j, which holds values 2j and 2j + 1. Where in A are values 2 and 3?",
            "Lanes 0 to 15 walk down all 16 rows at k = 0, lanes 16 to 31 once more at k = 8.",
        ),
    ),
)

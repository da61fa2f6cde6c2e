"""Exercises of notebook 03: banks, padding, swizzles and thread-value layouts.

Swizzles, layouts and the fragments of mma are tensor_layouts'; wavefronts are counted by tutorlib.banks. Tests compare
them with the real CuTe DSL and with the formulas of the PTX ISA.
"""

from tensor_layouts import ComposedLayout, Layout, Swizzle

from tutorlib.checking.drawn import beside
from tutorlib.checking.exercise import Remedy
from tutorlib.checking.values import ValueExercise, equals, law
from tutorlib.exercises.n03_swizzles.fragments import (
    C_FRAGMENTS,
    LDMATRIX,
    FragmentFlaw,
    c_coordinate,
    fragment_case,
    ldmatrix_row,
    of_atom,
)
from tutorlib.exercises.n03_swizzles.mixing import (
    CHOICES,
    SwizzleFlaw,
    anywhere,
    period,
    placing,
    swizzle_flaw,
    swizzled,
    swizzling,
)
from tutorlib.exercises.n03_swizzles.wavefronts import COUNTING, WAVEFRONTS, padded, padding, wavefronts
from tutorlib.failure import Fail
from tutorlib.models import banks

EXERCISES = (
    ValueExercise(
        id="03.1",
        title="wavefronts",
        points=4,
        library={"banks.wavefronts": banks.wavefronts, "banks.ways": banks.ways},
        cases=tuple(equals(name, calls, wavefronts, COUNTING) for name, calls in WAVEFRONTS),
        remedies=(
            Remedy(
                Fail.CASE(name="32 words in 32 banks"),
                "word = address // 4, bank = word % 32; then the most words that one bank has.",
            ),
            Remedy(
                Fail.CASE(name="words that share a bank"),
                "The cost is the largest number of different words in one bank.",
            ),
            Remedy(
                Fail.CASE(name="lanes that want the same word"),
                "Different words count: put them into a set before you count banks.",
            ),
            Remedy(
                Fail.CASE(name="8 bytes for each lane"),
                "The hardware serves sixteen lanes at a time, and the wavefronts of the two halves add up.",
            ),
        ),
        hints=(
            "For one group of lanes: collect the different words, then see which bank holds most of them.",
            "A group has 128 // width lanes, at most 32: all banks together deliver 128 bytes.",
            "For aligned accesses each lane's first word is enough: two vectors start in the same bank or share none.",
        ),
    ),
    ValueExercise(
        id="03.2",
        title="padded_stride",
        points=3,
        cases=(
            padding("fp32, word by word", beside([(32, 4, 4), (64, 4, 4), (128, 4, 4)], padded((4,), (4,)))),
            padding(
                "16-byte vectors",
                beside([(64, 2, 16), (48, 2, 16), (32, 4, 16), (128, 1, 16)], padded((1, 2, 4), (16,))),
            ),
            padding("4- and 8-byte vectors", beside([(64, 2, 4), (32, 4, 8), (24, 2, 8)], padded((2, 4), (4, 8)))),
            padding("an odd number of vectors", beside([(33, 4, 4), (72, 2, 16), (31, 4, 4)], padded((2, 4), (4, 16)))),
            padding(
                "rows that end inside a vector",
                beside([(30, 4, 16), (60, 2, 16), (65, 2, 16)], padded((2, 4), (16,), whole=False)),
            ),
        ),
        remedies=(
            Remedy(
                Fail.CASE(name="rows that end inside a vector"),
                "The number of vectors is rounded up: -(-bytes // vector_bytes).",
            ),
            Remedy(
                Fail.CASE(name="fp32, word by word"),
                "Count the stride in vectors: a whole number keeps rows aligned, an odd one moves the banks.",
            ),
        ),
        hints=(
            "Count the stride in vectors. With which strides do the vectors of a column use each group of banks once?",
            "The banks hold 2, 4 or 8 … vectors, a power of two: an odd stride reaches each position, an even "
            "one does not.",
            "Round up to whole vectors, add one if their number is even, and return the stride in elements.",
        ),
    ),
    ValueExercise(
        id="03.3",
        title="swizzle",
        points=3,
        library={"a Swizzle": Swizzle.__call__, "a swizzled layout": ComposedLayout.__call__},
        cases=(
            swizzling("all of one period of ⟨3,3,3⟩", beside(period(3, 3, 3), swizzled((3,), (3,), (3,)))),
            swizzling("fewer bits", beside(period(2, 3, 3) + period(1, 4, 3), swizzled((1, 2), (3, 4, 5), (3,)))),
            swizzling(
                "groups further apart",
                beside(period(2, 1, 4) + period(1, 2, 5), swizzled((1, 2), (1, 2, 3), (4, 5, 6))),
            ),
            swizzling(
                "offsets past one period, and B = 0",
                beside(
                    [(3, 3, 3, 512 * 5 + 73), (2, 4, 3, 123457), (3, 4, 3, 2**20 - 1), (0, 3, 3, 200)],
                    swizzled((0, 1, 2, 3), range(6), (3, 4)),
                ),
            ),
        ),
        remedies=(
            Remedy(
                Fail.CASE(name="all of one period of ⟨3,3,3⟩"),
                "Step by step: the group Y is (offset >> (M + S)) & mask. At which bit is it XORed in?",
            ),
            Remedy(
                (Fail.CASE(name="fewer bits"), Fail.CASE(name="groups further apart")),
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
            Remedy(SwizzleFlaw.TEARS, "M keeps a chunk together: 2**M elements are 16 bytes."),
            Remedy(
                SwizzleFlaw.WAVEFRONTS,
                "Numbers of bits: B of the chunks in a row, M of the elements in a chunk, S of the chunks in 128 bytes",
            ),
            Remedy(SwizzleFlaw.OVERLAP, "B counts chunks of a row, not elements: row_bytes // 16."),
        ),
        hints=(
            "M keeps together the 16 bytes that one lane moves: how many elements are they?",
            "B is the number of bits that number the 16-byte chunks of a row: only those may change.",
            "128 bytes are 8 chunks, so after 8 chunks the banks repeat: S is the number of bits in that distance.",
        ),
    ),
    ValueExercise(
        id="03.5",
        title="tile_offset",
        points=3,
        library={
            "the swizzled layout": ComposedLayout.__call__,
            "a Layout": Layout.__call__,
            "a Swizzle": Swizzle.__call__,
        },
        cases=(
            placing(
                "row 0",
                beside([(0, column) for column in range(64)], lambda rng: (8 * rng.randrange(16), rng.randrange(64))),
            ),
            placing("the atom", beside([(row, column) for row in range(8) for column in range(64)], anywhere)),
            placing(
                "one element of every chunk of the tile",
                beside([(row, 8 * chunk + row % 8) for row in range(128) for chunk in range(8)], anywhere),
            ),
        ),
        remedies=(
            Remedy(
                Fail.CASE(name="row 0"),
                "In row 0, place = 0 ^ chunk, and a place has 8 elements.",
            ),
            Remedy(
                Fail.CASE(name="the atom"),
                "place = r ^ chunk, an exclusive or: the eight rows of a chunk get eight places.",
            ),
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
        library={"mma.c_layout": "c_layout", "mma's c_layout": of_atom("c_layout")},
        cases=tuple(
            equals(f"value {value} of every lane", [(lane, value) for lane in range(32)], c_coordinate, C_FRAGMENTS)
            for value in range(4)
        ),
        remedies=(
            Remedy(Fail.CASE(name="value 1 of every lane"), "Value 1 is beside value 0, in the next column."),
            Remedy(Fail.CASE(name="value 2 of every lane"), "Values 2 and 3 are 8 rows below values 0 and 1."),
        ),
        hints=(
            "Follow lanes 0, 1, 2, 3, 4 in the picture: along the row, and then where?",
            "Four lanes with two values each fill a row of 8. The other two values are 8 rows further down.",
        ),
    ),
    ValueExercise(
        id="03.7",
        title="a_fragment",
        points=3,
        library={"mma.a_layout": "a_layout", "mma's a_layout": of_atom("a_layout")},
        cases=(
            fragment_case("the first value of every lane", [(lane, 0) for lane in range(32)]),
            fragment_case("the values of lane 0", [(0, value) for value in range(8)]),
            fragment_case("all of it", [(lane, value) for lane in range(32) for value in range(8)]),
        ),
        remedies=(
            Remedy(FragmentFlaw.MODES, "One mode of 32 lanes, (4, 8), and one of 8 values, (2, 2, 2)."),
            Remedy(
                FragmentFlaw.ELEMENT(value=0),
                "Four lanes are side by side along k, two elements each; then comes the next row: strides (32, 1).",
            ),
            Remedy(
                Fail.CASE(name="the values of lane 0"),
                "Follow lane 0 in the picture: V1 beside V0, V2 8 rows down, V4 8 columns on.",
            ),
        ),
        hints=(
            "Lanes have the shape (4, 8) and values (2, 2, 2). Find one stride for each extent.",
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
            Remedy(
                Fail.CASE(name="matrix 1, lanes 8 to 15"),
                "Matrix 1 fills register 1, values 2 and 3: where in A are they?",
            ),
            Remedy(
                Fail.CASE(name="matrices 2 and 3, lanes 16 to 31"),
                "Matrices 2 and 3 are 8 elements further along k.",
            ),
        ),
        hints=(
            "Which matrix does a lane serve, and which of its 8 rows?",
            "Matrix j fills register j, which holds values 2j and 2j + 1. Where in A are values 2 and 3?",
            "Lanes 0 to 15 walk down all 16 rows at k = 0, lanes 16 to 31 once more at k = 8.",
        ),
    ),
)

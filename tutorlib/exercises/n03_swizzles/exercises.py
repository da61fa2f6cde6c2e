"""Exercises of notebook 03: banks, padding, swizzles and thread-value layouts.

Swizzles, layouts and the fragments of mma are tensor_layouts'; wavefronts are counted by tutorlib.banks. Tests compare
them with the real CuTe DSL and with the formulas of the PTX ISA.
"""

from tensor_layouts import ComposedLayout, Layout, Swizzle

from tutorlib.checking.drawn import beside
from tutorlib.checking.values import ValueExercise, equals, law
from tutorlib.exercises.n03_swizzles.fragments import (
    C_FRAGMENTS,
    LDMATRIX,
    c_coordinate,
    fragment_case,
    ldmatrix_row,
    of_atom,
)
from tutorlib.exercises.n03_swizzles.mixing import (
    CHOICES,
    anywhere,
    period,
    placing,
    swizzle_flaw,
    swizzled,
    swizzling,
)
from tutorlib.exercises.n03_swizzles.wavefronts import COUNTING, WAVEFRONTS, padded, padding, wavefronts
from tutorlib.models import banks

EXERCISES = (
    ValueExercise(
        id="03.1",
        title="wavefronts",
        points=4,
        library={"banks.wavefronts": banks.wavefronts, "banks.ways": banks.ways},
        cases=tuple(equals(name, calls, wavefronts, COUNTING) for name, calls in WAVEFRONTS),
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
    ),
    ValueExercise(
        id="03.4",
        title="choose_swizzle",
        points=3,
        cases=tuple(
            law(f"rows of {row} bytes, of bf16, fp32 and fp8", [(row, 2), (row, 4), (row, 1)], swizzle_flaw, CHOICES)
            for row in (128, 64, 32)
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
    ),
)

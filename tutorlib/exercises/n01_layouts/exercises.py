"""Exercises of notebook 01: a layout is a function from coordinates to offsets.

Offsets, coordinates, size and cosize come from tensor_layouts; arrays from NumPy, whose strides are its own.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import tensor_layouts as tl
from tensor_layouts import Layout, size

from tutorlib.checking.drawn import Drawn, beside, stretched
from tutorlib.checking.values import ValueExercise, equals, law
from tutorlib.exercises.n01_layouts.arrays import (
    VIEWING,
    VIEWS,
    describes,
    flat_call,
    flat_calls,
    nested_call,
    nested_cases,
    peeling,
    views,
)
from tutorlib.exercises.n01_layouts.functions import (
    COORDINATES,
    NO_TABLE,
    STRIDES,
    compact,
    coordinate,
    coordinate_calls,
    in_a_matrix,
    in_one_mode,
    of_rank_4,
    offset_calls,
    offset_in_rows,
    offset_of_one_mode,
    placing,
    random_shapes,
)
from tutorlib.exercises.n01_layouts.sizes import (
    DIRECTIONS,
    SLICES,
    TENSOR,
    at_the_edge,
    both_ways,
    broadcast,
    far_apart,
    fits_int32,
    fitting,
    is_slice,
    matrix_in_memory,
    reaching,
    rows_of_matrix,
    slicing,
)
from tutorlib.layouts.notation import calls
from tutorlib.layouts.unnamed import PICTURES

# 01.6 which layout draws this picture? --------------------------------------------------------------------------


def draws(got: Layout, name: str) -> str | None:
    """The same number in every cell; how the modes are nested is free."""
    offsets = PICTURES[name]
    if not isinstance(got, Layout):
        return "it should be a Layout"
    rows, columns = len(offsets), len(offsets[0])
    try:
        sizes = tuple(size(mode) for mode in got.shape)
    except TypeError:
        return "it should have two modes, rows and columns"
    if sizes != (rows, columns):
        return f"the picture has {rows} rows and {columns} columns, yours {' × '.join(map(str, sizes))}"
    for row, column in product(range(rows), range(columns)):
        if got(row, column) != offsets[row][column]:
            return f"row {row}, column {column} shows {offsets[row][column]}, yours has {got(row, column)} there"
    return None


EXERCISES = (
    ValueExercise(
        id="01.1",
        title="offset",
        points=2,
        library={
            "tl.crd2idx": tl.crd2idx,
            "tl.crd2offset": tl.crd2offset,
            "tl.inner_product": tl.inner_product,
            "a Layout": Layout.__call__,
            **TENSOR,
        },
        cases=(
            placing("(4,3):(3,1)", beside([((2, 1), (3, 1)), ((3, 2), (3, 1))], offset_in_rows)),
            placing("one mode", beside([((5,), (4,)), ((0,), (7,))], offset_of_one_mode)),
            placing("random coordinates", Drawn(offset_calls, 11)),
        ),
    ),
    ValueExercise(
        id="01.2",
        title="compact_strides",
        points=3,
        library={
            "np.empty": np.empty,
            "np.zeros": np.zeros,
            "np.ones": np.ones,
            "Layout(shape)": Layout.__init__,
            "tl.compute_row_major_strides": tl.compute_row_major_strides,
            "tl.compute_col_major_strides": tl.compute_col_major_strides,
            "tl.prefix_product": tl.prefix_product,
            "tl.suffix_product": tl.suffix_product,
            "tl.crd2flat": tl.crd2flat,
            "tl.crd2idx": tl.crd2idx,
            ".strides": "strides",
            ".stride": "stride",
        },
        cases=(
            equals(
                "row-major, as NumPy stores it",
                Drawn(lambda seed: [((4, 3), "row"), *((shape, "row") for shape in random_shapes(seed))], 21),
                compact,
                STRIDES,
            ),
            equals(
                "column-major, as CuTe stores it",
                Drawn(lambda seed: [((4, 3), "column"), *((shape, "column") for shape in random_shapes(seed))], 22),
                compact,
                STRIDES,
            ),
            equals(
                "rank 4", beside([((2, 3, 4, 5), "row"), ((2, 3, 4, 5), "column")], of_rank_4), compact, STRIDES[:1]
            ),
        ),
    ),
    ValueExercise(
        id="01.3",
        title="coordinate",
        points=2,
        library={
            "tl.idx2crd": tl.idx2crd,
            "tl.crd2crd": tl.crd2crd,
            "tl.iter_layout": "iter_layout",
            "a Layout": Layout.__call__,
            "unravel_index": "unravel_index",
        },
        cases=(
            equals("(4,3)", beside([(n, (4, 3)) for n in range(12)], in_a_matrix), coordinate, COORDINATES),
            equals("one mode", beside([(5, (8,)), (0, (3,))], in_one_mode), coordinate),
            equals("random shapes", Drawn(coordinate_calls, 31, NO_TABLE), coordinate, COORDINATES),
        ),
    ),
    ValueExercise(
        id="01.4",
        title="layout_of",
        points=2,
        library={".stride": "stride"},
        cases=tuple(law(name, views(name), describes, VIEWING) for name in VIEWS),
    ),
    ValueExercise(
        id="01.5",
        title="offset_at",
        points=3,
        library={
            "tl.crd2offset": tl.crd2offset,
            "tl.crd2idx": tl.crd2idx,
            "tl.idx2crd": tl.idx2crd,
            "a Layout": Layout.__call__,
            **TENSOR,
        },
        cases=(
            peeling("flat shapes", beside([(n, (4, 3), (3, 1)) for n in range(12)], flat_call)),
            peeling("a nested mode", beside([(n, (4, (2, 3)), (2, (1, 8))) for n in range(24)], nested_call)),
            peeling("random nested shapes", Drawn(lambda seed: flat_calls(nested_cases(seed, depth=5), seed + 1), 51)),
        ),
    ),
    ValueExercise(
        id="01.6", title="picture", points=3, cases=tuple(law(f"picture {name}", [(name,)], draws) for name in PICTURES)
    ),
    ValueExercise(
        id="01.7",
        title="cosize",
        points=2,
        library={"tl.cosize": tl.cosize},
        cases=(
            reaching("no gaps", beside([((4, 3), (3, 1)), ((8,), (1,))], matrix_in_memory(gaps=False))),
            reaching("padding and holes", beside([((4, 3), (8, 1)), ((4, 3), (2, 10))], matrix_in_memory(gaps=True))),
            reaching("stride 0", beside([((4, 3), (0, 1)), ((5,), (0,))], broadcast)),
            reaching("random nested shapes", Drawn(nested_cases, 71)),
        ),
    ),
    ValueExercise(
        id="01.8",
        title="fits_int32",
        points=2,
        cases=(
            fitting("small and large", beside([((4, 3), (3, 1)), ((2**16, 2**16), (2**16, 1))], rows_of_matrix)),
            fitting(
                "each stride fits, the offset may not",
                beside([((40000, 50000), (50000, 1)), ((70000, 70000), (70000, 1))], rows_of_matrix),
            ),
            fitting(
                "few elements, far apart",
                beside(
                    [((2, 2), (2**30, 1)), ((2, 2), (2**31, 1)), ((2, 2), (1, 2**31)), ((3,), (2**30,))], far_apart(1)
                ),
            ),
            fitting(
                "each mode fits, their sum may not",
                beside(
                    [
                        ((2, 2), (2**30 + 5, 2**30 + 5)),
                        ((2, 2, 2), (2**30, 2**29, 2**29)),
                        ((2, 2), (2**30, 2**30 - 1)),
                    ],
                    far_apart(2),
                ),
            ),
            fitting(
                "at the edge", beside([((2**31,), (1,)), ((2**31 + 1,), (1,)), ((2, 2**30), (2**30, 1))], at_the_edge)
            ),
            equals(
                "modes that run backward",
                beside(
                    [
                        ((2,), (-(2**31),)),
                        ((2,), (-(2**31) - 1,)),
                        ((2, 2), (-(2**31), 2**31 - 1)),
                        ((2, 2), (-(2**30), 2**31)),
                        ((2, 2), (-(2**31) - 7, 2**31 - 1)),
                        ((2, 2), (-(2**30) - 5, -(2**30) - 5)),
                        ((2, 2), (-(2**30) - 5, 2**30 + 5)),
                        ((3, 4), (-1, 3)),
                    ],
                    both_ways,
                ),
                fits_int32,
                DIRECTIONS,
            ),
        ),
    ),
    ValueExercise(
        id="01.9",
        title="sliced",
        points=3,
        library=SLICES,
        cases=(
            slicing(
                "a row, a column",
                stretched(
                    calls(
                        "(4,5):(5,1) (2,None)", "(4,5):(5,1) (None,1)", "(4,5):(1,4) (3,None)", "(4,5):(8,1) (0,None)"
                    )
                ),
            ),
            slicing(
                "three modes",
                stretched(
                    calls(
                        "(4,6,8):(48,8,1) (None,5,None)",
                        "(4,6,8):(48,8,1) (3,None,7)",
                        "(4,6,8):(1,4,24) (None,None,2)",
                    )
                ),
            ),
            slicing(
                "nested modes",
                stretched(
                    calls(
                        "((2,2),(4,2)):((1,16),(2,8)) (3,None)",
                        "((2,2),(4,2)):((1,16),(2,8)) (None,5)",
                        "((4,4),(2,4)):((8,32),(1,128)) (None,6)",
                        "((2,2),3,(2,4)):((1,16),128,(2,32)) (None,1,None)",
                        "(3,(2,(2,4))):(64,(1,(8,16))) (1,None)",
                    )
                ),
            ),
            law("everything free", stretched(calls("(4,5):(5,1) (None,None)", "(3,2):(0,7) (None,None)")), is_slice),
        ),
    ),
)

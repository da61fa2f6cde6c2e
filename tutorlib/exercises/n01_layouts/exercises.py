"""Exercises of notebook 01: a layout is a function from coordinates to offsets.

Offsets, coordinates, size and cosize come from tensor_layouts; arrays from NumPy, whose strides are its own.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import tensor_layouts as tl
from tensor_layouts import Layout, size

from tutorlib.checking.drawn import Drawn, beside, stretched
from tutorlib.checking.exercise import Remedy
from tutorlib.checking.values import ValueExercise, equals, law
from tutorlib.exercises.n01_layouts.arrays import (
    FRESH,
    IN_BYTES,
    VIEWS,
    ViewFlaw,
    describes,
    flat_call,
    flat_calls,
    nested_call,
    nested_cases,
    peeling,
    views,
)
from tutorlib.exercises.n01_layouts.functions import (
    NO_TABLE,
    NUMPY_ORDER,
    OTHER_ORDER,
    OWN_EXTENT,
    UNDIVIDED,
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
from tutorlib.failure import Fail
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
        remedies=(
            Remedy(
                Fail.RAISED(error="IndexError"),
                "Tuples may have any length: iterate over coord and stride together.",
            ),
        ),
        hints=(
            "The same sum as ptr[row * stride + col], with one product for each mode.",
            "zip(coord, stride) pairs them; sum() adds the products.",
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
                [OTHER_ORDER, OWN_EXTENT],
            ),
            equals(
                "column-major, as CuTe stores it",
                Drawn(lambda seed: [((4, 3), "column"), *((shape, "column") for shape in random_shapes(seed))], 22),
                compact,
                [OTHER_ORDER, OWN_EXTENT],
            ),
            equals(
                "rank 4", beside([((2, 3, 4, 5), "row"), ((2, 3, 4, 5), "column")], of_rank_4), compact, [OTHER_ORDER]
            ),
        ),
        remedies=(
            Remedy(
                Fail.RAISED(error="IndexError"),
                "The shape may have any number of modes, one among them: loop over it.",
            ),
        ),
        hints=(
            "The contiguous mode has stride 1. How far apart are two neighbors of the next mode?",
            "Walk the modes from the fastest to the slowest and keep a running product of their extents.",
            'For "row" do the same on the reversed shape, then reverse the strides.',
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
            equals(
                "(4,3)", beside([(n, (4, 3)) for n in range(12)], in_a_matrix), coordinate, [NUMPY_ORDER, UNDIVIDED]
            ),
            equals("one mode", beside([(5, (8,)), (0, (3,))], in_one_mode), coordinate),
            equals("random shapes", Drawn(coordinate_calls, 31, NO_TABLE), coordinate, [NUMPY_ORDER, UNDIVIDED]),
        ),
        hints=(
            "index % shape[0] is the first coordinate. What is left of the index for the other modes?",
            "divmod(index, extent) gives both, mode by mode from the left.",
        ),
    ),
    ValueExercise(
        id="01.4",
        title="layout_of",
        points=2,
        library={".stride": "stride"},
        cases=tuple(law(name, views(name), describes, [IN_BYTES, FRESH]) for name in VIEWS),
        remedies=(
            Remedy(ViewFlaw.SHAPE, "array.shape, whatever its rank."),
            Remedy(Fail.RAISED(error="TypeError"), "A Layout takes Python's integers: int(…) makes one of NumPy's."),
            Remedy(Fail.CASE(name="backwards"), "In a view that runs backward the stride is negative: keep it."),
            Remedy(Fail.CASE(name="a broadcast row"), "A stride of 0 is a valid stride: keep it."),
            Remedy(
                ViewFlaw.PLACE(dtype="int64"),
                "The size of an element differs from array to array: array.itemsize has it in bytes.",
            ),
        ),
        hints=("array.strides and array.itemsize are all you need.", "strides // itemsize, mode by mode."),
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
        remedies=(
            Remedy(
                Fail.RAISED(error="TypeError"),
                "A mode may be a tuple itself, and so on: the function calls itself.",
            ),
        ),
        hints=(
            "A nested mode is a layout of its own: let the function call itself.",
            "For tuples, go through the modes from the left: each takes index % its size and leaves index // its size.",
            "For two integers, the offset is index * stride.",
        ),
    ),
    ValueExercise(
        id="01.6",
        title="picture",
        points=3,
        cases=tuple(law(f"picture {name}", [(name,)], draws) for name in PICTURES),
        remedies=(
            Remedy(
                Fail.CASE(name="picture B"),
                "In a row of B the numbers go 0, 1, then jump to 8: a mode (inner, outer).",
            ),
            Remedy(
                Fail.CASE(name="picture C"),
                "In C both modes are nested. The first row tells the columns' strides, the first column the rows'.",
            ),
        ),
        hints=(
            "The stride of a mode is the number one cell further minus the number here.",
            "Where a row's numbers go up by 1, then jump, then go up by 1, the column mode is nested: (inner, outer).",
            "C: rows advance by 1, then jump to 4; columns advance by 2, then jump to 8.",
        ),
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
        remedies=(Remedy(Fail.RAISED(error="TypeError"), "Shapes and strides may be nested: flatten both first."),),
        hints=(
            "Which coordinate has the largest offset, when no stride is negative?",
            "The last one of every mode: sum (extent - 1) * stride over the flattened modes, plus 1.",
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
        hints=(
            "int32 holds values from -2**31 to 2**31 - 1. Which two values have to fit?",
            "The largest offset and the smallest one; not the strides one by one, and not the size.",
            "A mode adds (extent - 1) * stride to the largest offset where that is positive, else to the smallest one.",
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
                    [
                        (Layout((4, 5), (5, 1)), (2, None)),
                        (Layout((4, 5), (5, 1)), (None, 1)),
                        (Layout((4, 5), (1, 4)), (3, None)),
                        (Layout((4, 5), (8, 1)), (0, None)),
                    ]
                ),
            ),
            slicing(
                "three modes",
                stretched(
                    [
                        (Layout((4, 6, 8), (48, 8, 1)), (None, 5, None)),
                        (Layout((4, 6, 8), (48, 8, 1)), (3, None, 7)),
                        (Layout((4, 6, 8), (1, 4, 24)), (None, None, 2)),
                    ]
                ),
            ),
            slicing(
                "nested modes",
                stretched(
                    [
                        (Layout(((2, 2), (4, 2)), ((1, 16), (2, 8))), (3, None)),
                        (Layout(((2, 2), (4, 2)), ((1, 16), (2, 8))), (None, 5)),
                        (Layout(((4, 4), (2, 4)), ((8, 32), (1, 128))), (None, 6)),
                        (Layout(((2, 2), 3, (2, 4)), ((1, 16), 128, (2, 32))), (None, 1, None)),
                        (Layout((3, (2, (2, 4))), (64, (1, (8, 16)))), (1, None)),
                    ]
                ),
            ),
            law(
                "everything free",
                stretched([(Layout((4, 5), (5, 1)), (None, None)), (Layout((3, 2), (0, 7)), (None, None))]),
                is_slice,
            ),
        ),
        hints=(
            "Take the layout apart into modes. Which number does a fixed mode add to the offset? What remains "
            "of a free one?",
            "mode(layout, n) is a layout: called with the fixed coordinate, it returns the mode's part of the offset.",
            "The offset is the sum of mode(layout, n)(coord[n]) over the fixed modes, Layout(*free) the slice.",
        ),
        remedies=(
            Remedy(
                Fail.RAISED(error="TypeError"),
                "Don't multiply by a stride: call the mode with its coordinate, nested or not.",
            ),
        ),
    ),
)

"""Exercises of notebook 01: a layout is a function from coordinates to offsets.

Offsets, coordinates, size and cosize come from tensor_layouts; arrays from NumPy, whose strides are its own.
"""

from __future__ import annotations

import random
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from tensor_layouts import Layout, cosize, crd2offset, flatten, idx2crd, size

from tutorlib.checking.values import Mistake, ValueExercise, equals, law

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INT32_MAX = 2**31 - 1


def random_shapes(seed: int, n: int = 40, rank: int = 3, largest: int = 7) -> list[tuple[int, ...]]:
    dice = random.Random(seed)
    return [tuple(dice.randint(1, largest) for _ in range(dice.randint(1, rank))) for _ in range(n)]


def random_nested(dice: random.Random, depth: int = 2) -> tuple[tuple, tuple]:
    """A shape and a stride of the same nesting, rank 2 at the top."""

    def mode(depth: int) -> tuple:
        if depth == 0 or dice.random() < 0.4:
            return dice.randint(1, 4), dice.choice((0, 1, 1, 2, 3, 4, 8, 16))
        shapes, strides = zip(*(mode(depth - 1) for _ in range(2)), strict=True)
        return shapes, strides

    shapes, strides = zip(*(mode(depth) for _ in range(2)), strict=True)
    return shapes, strides


def nested_cases(seed: int, n: int = 40) -> list[tuple[tuple, tuple]]:
    dice = random.Random(seed)
    return [random_nested(dice) for _ in range(n)]


# 01.1 offset ----------------------------------------------------------------------------------------------------


def offset(coord: tuple[int, ...], stride: tuple[int, ...]) -> int:
    return sum(c * d for c, d in zip(coord, stride, strict=True))


SWAPPED = Mistake(
    "That is the offset with the coordinate's modes in reverse: pair mode 0 with stride 0.",
    lambda coord, stride: offset(coord[::-1], stride),
)
FROM_ONE = Mistake(
    "Coordinates start at 0, so nothing is added for the first element.",
    lambda coord, stride: offset(coord, stride) + 1,
)


def offset_calls(seed: int) -> list[tuple]:
    dice = random.Random(seed)
    return [
        (tuple(dice.randrange(extent) for extent in shape), tuple(dice.randint(0, 64) for _ in shape))
        for shape in random_shapes(seed, largest=9)
    ]


# 01.2 compact strides -------------------------------------------------------------------------------------------


def compact(shape: tuple[int, ...], order: str) -> tuple[int, ...]:
    """NumPy's own strides, in elements: "row" is its C order, "column" its F order."""
    return np.empty(shape, dtype=np.int8, order="C" if order == "row" else "F").strides


OTHER_ORDER = Mistake(
    'These are the strides of the other order: "row" makes the last mode contiguous, "column" the first.',
    lambda shape, order: compact(shape, "column" if order == "row" else "row"),
)
OWN_EXTENT = Mistake(
    "A mode's stride is the product of the extents that vary faster than it; its own extent is not among them.",
    lambda shape, order: tuple(d * s for d, s in zip(compact(shape, order), shape, strict=True)),
)


# 01.3 index → coordinate ----------------------------------------------------------------------------------------


def coordinate(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(idx2crd(index, shape)) if len(shape) > 1 else (index,)


NUMPY_ORDER = Mistake(
    "That is NumPy's order, last mode fastest. CuTe counts the first mode fastest.",
    lambda index, shape: tuple(int(c) for c in np.unravel_index(index, shape)),
)


def coordinate_calls(seed: int) -> list[tuple]:
    dice = random.Random(seed)
    return [(dice.randrange(prod(shape)), shape) for shape in random_shapes(seed)]


# 01.4 a NumPy view as a layout ----------------------------------------------------------------------------------


def views() -> dict[str, list[np.ndarray]]:
    base = np.arange(24 * 30, dtype=np.float32).reshape(24, 30)
    cube = np.arange(4 * 6 * 10, dtype=np.int64).reshape(4, 6, 10)
    return {
        "a whole array": [base, cube],
        "a transposed one": [base.T, cube.transpose(2, 0, 1)],
        "slices with steps": [base[2:10, 5:], base[::3, ::5], cube[1:, ::2, 3:7]],
        "a broadcast row": [np.broadcast_to(base[0], (5, 30))],
    }


def describes(got: Layout, array: np.ndarray) -> str | None:
    """The law: element c of the view lies offset(c) elements after its first one."""
    if not isinstance(got, Layout):
        return "it should be a Layout"
    if tuple(np.atleast_1d(got.shape)) != array.shape:
        return f"its shape should be {array.shape}"
    first = array.__array_interface__["data"][0]
    for coord in product(*(range(0, extent, max(1, extent - 1)) for extent in array.shape)):
        wanted = array[tuple(slice(c, c + 1) for c in coord)].__array_interface__["data"][0] - first
        if got(*coord) * array.itemsize != wanted:
            return f"element {coord} lies {wanted // array.itemsize} elements after the first, not {got(*coord)}"
    return None


IN_BYTES = Mistake(
    "NumPy's strides count bytes; a layout counts elements.", lambda array: Layout(array.shape, array.strides)
)
FRESH = Mistake(
    "That is the layout a fresh array of this shape would have. Ask this view for its strides.",
    lambda array: Layout(array.shape, compact(array.shape, "row")),
)


# 01.5 nested shapes ---------------------------------------------------------------------------------------------


def offset_at(index: int, shape: tuple, stride: tuple) -> int:
    return crd2offset(index, shape, stride)


def flat_calls(cases: list[tuple[tuple, tuple]], seed: int) -> list[tuple]:
    dice = random.Random(seed)
    return [(dice.randrange(size(case[0])), *case) for case in cases]


LAST_FIRST = Mistake(
    "You peel off the last mode first. The first mode varies fastest, inside a nested mode too.",
    lambda index, shape, stride: last_mode_fastest(index, shape, stride),
)


def last_mode_fastest(index: int, shape: tuple, stride: tuple) -> int:
    total = 0
    for extent, step in reversed(list(zip(flatten(shape), flatten(stride), strict=True))):
        total += index % extent * step
        index //= extent
    return total


# 01.6 which layout draws this picture? --------------------------------------------------------------------------

PICTURES = {
    "A": Layout((4, 6), (8, 1)),
    "B": Layout((4, (2, 3)), (2, (1, 8))),
    "C": Layout(((2, 2), (2, 2)), ((1, 4), (2, 8))),
}
"""What notebook 01 draws without naming it."""


def show_pictures() -> Figure:
    """The pictures A, B and C: offsets alone, nothing that tells how the modes are nested."""
    from tutorlib.draw.grid import CellGrid, figure
    from tutorlib.draw.palette import ramp

    grids = []
    for name, drawn in PICTURES.items():
        rows, columns = (range(size(mode)) for mode in drawn.shape)
        offsets = [[drawn(row, column) for column in columns] for row in rows]
        colours = [[ramp(offset, 0, cosize(drawn) - 1) for offset in row] for row in offsets]
        grids.append(CellGrid(name, [[str(offset) for offset in row] for row in offsets], colours))
    return figure(grids)


def draws(got: Layout, name: str) -> str | None:
    """The same number in every cell; how the modes are nested is free."""
    wanted = PICTURES[name]
    if not isinstance(got, Layout):
        return "it should be a Layout"
    rows, columns = (size(mode) for mode in wanted.shape)
    try:
        sizes = tuple(size(mode) for mode in got.shape)
    except TypeError:
        return "it should have two modes, rows and columns"
    if sizes != (rows, columns):
        return f"the picture has {rows} rows and {columns} columns, yours {' × '.join(map(str, sizes))}"
    for row, column in product(range(rows), range(columns)):
        if got(row, column) != wanted(row, column):
            return f"row {row}, column {column} shows {wanted(row, column)}, yours has {got(row, column)} there"
    return None


# 01.7 cosize ----------------------------------------------------------------------------------------------------


def span(shape: tuple, stride: tuple) -> int:
    return cosize(Layout(shape, stride))


SIZE = Mistake(
    "That is the size, how many coordinates there are. With a gap or a stride of 0 the memory reached differs.",
    lambda shape, stride: size(shape),
)
LAST_OFFSET = Mistake(
    "That is the largest offset. Offsets start at 0, so the memory has one element more.",
    lambda shape, stride: span(shape, stride) - 1,
)


# 01.8 past int32 ------------------------------------------------------------------------------------------------


def fits_int32(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    return span(shape, stride) - 1 <= INT32_MAX


STRIDES_ONLY = Mistake(
    "Every stride may fit while the offset, a sum of coordinate times stride, does not.",
    lambda shape, stride: all(d <= INT32_MAX for d in stride),
)
SIZE_ONLY = Mistake(
    "The size says how many elements there are, not how far apart: a slice of a large tensor is small and far-flung.",
    lambda shape, stride: prod(shape) - 1 <= INT32_MAX,
)

EXERCISES = (
    ValueExercise(
        id="01.1",
        title="offset",
        points=2,
        cases=(
            equals("(4,3):(3,1)", [((2, 1), (3, 1)), ((3, 2), (3, 1))], offset, [SWAPPED, FROM_ONE]),
            equals("one mode", [((5,), (4,)), ((0,), (7,))], offset, [FROM_ONE]),
            equals("random coordinates", offset_calls(11), offset, [SWAPPED, FROM_ONE]),
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
        cases=(
            equals(
                "row-major, as NumPy stores it",
                [((4, 3), "row"), *((shape, "row") for shape in random_shapes(21))],
                compact,
                [OTHER_ORDER, OWN_EXTENT],
            ),
            equals(
                "column-major, as CuTe stores it",
                [((4, 3), "column"), *((shape, "column") for shape in random_shapes(22))],
                compact,
                [OTHER_ORDER, OWN_EXTENT],
            ),
            equals("rank 4", [((2, 3, 4, 5), "row"), ((2, 3, 4, 5), "column")], compact, [OTHER_ORDER]),
        ),
        hints=(
            "The contiguous mode has stride 1. How far apart are two neighbours of the next mode?",
            "Walk the modes from the fastest to the slowest and keep a running product of their extents.",
            'For "row" do the same on the reversed shape, then reverse the strides.',
        ),
    ),
    ValueExercise(
        id="01.3",
        title="coordinate",
        points=2,
        cases=(
            equals("(4,3)", [(n, (4, 3)) for n in range(12)], coordinate, [NUMPY_ORDER]),
            equals("one mode", [(5, (8,))], coordinate),
            equals("random shapes", coordinate_calls(31), coordinate, [NUMPY_ORDER]),
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
        cases=tuple(
            law(name, [(array,) for array in arrays], describes, [IN_BYTES, FRESH]) for name, arrays in views().items()
        ),
        hints=("array.strides and array.itemsize are all you need.", "strides // itemsize, mode by mode."),
    ),
    ValueExercise(
        id="01.5",
        title="offset_at",
        points=3,
        cases=(
            equals("flat shapes", [(n, (4, 3), (3, 1)) for n in range(12)], offset_at, [LAST_FIRST]),
            equals("a nested mode", [(n, (4, (2, 3)), (2, (1, 8))) for n in range(24)], offset_at, [LAST_FIRST]),
            equals("random nested shapes", flat_calls(nested_cases(51), 52), offset_at, [LAST_FIRST]),
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
        cases=(
            equals("no gaps", [((4, 3), (3, 1)), ((8,), (1,))], span, [LAST_OFFSET]),
            equals("padding and holes", [((4, 3), (8, 1)), ((4, 3), (2, 10))], span, [SIZE, LAST_OFFSET]),
            equals("stride 0", [((4, 3), (0, 1)), ((5,), (0,))], span, [SIZE, LAST_OFFSET]),
            equals("random nested shapes", nested_cases(71), span, [SIZE, LAST_OFFSET]),
        ),
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
            equals("small and large", [((4, 3), (3, 1)), ((2**16, 2**16), (2**16, 1))], fits_int32, [STRIDES_ONLY]),
            equals(
                "each stride fits, the offset may not",
                [((40000, 50000), (50000, 1)), ((70000, 70000), (70000, 1))],
                fits_int32,
                [STRIDES_ONLY],
            ),
            equals(
                "few elements, far apart",
                [((2, 2), (2**30, 1)), ((2, 2), (2**31, 1)), ((3,), (2**30,))],
                fits_int32,
                [SIZE_ONLY],
            ),
            equals("at the edge", [((2**31,), (1,)), ((2**31 + 1,), (1,)), ((2, 2**30), (2**30, 1))], fits_int32),
        ),
        hints=(
            "int32 holds values up to 2**31 - 1. Which value has to fit?",
            "The largest offset, which is cosize - 1; not the strides one by one, and not the size.",
        ),
    ),
)

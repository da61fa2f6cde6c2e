"""Exercises of notebook 01: a layout is a function from coordinates to offsets.

Offsets, coordinates, size and cosize come from tensor_layouts; arrays from NumPy, whose strides are its own.
"""

from __future__ import annotations

import random
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import tensor_layouts as tl
from tensor_layouts import Layout, cosize, crd2offset, flatten, idx2crd, mode, rank, size

from tutorlib.checking.exercise import Remedy
from tutorlib.checking.values import Drawn, Mistake, ValueExercise, equals, law

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
TO_ZERO = Mistake(
    "Coordinates start at 0 already: nothing is taken off them.",
    lambda coord, stride: offset(tuple(c - 1 for c in coord), stride),
)
OFFSETS = (SWAPPED, FROM_ONE, TO_ZERO)


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


UNDIVIDED = Mistake(
    "Every mode takes its remainder, but the index has to be divided by the extents that come before the mode.",
    lambda index, shape: tuple(index % extent for extent in shape),
)
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
        "backwards": [base[::-1], cube[:, ::-2, ::-1]],
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


UNDIVIDED_OFFSET = Mistake(
    "Every mode takes its remainder, but the index has to be divided by the sizes of the modes before it.",
    lambda index, shape, stride: sum(
        index % extent * step for extent, step in zip(flatten(shape), flatten(stride), strict=True)
    ),
)
LAST_FIRST = Mistake(
    "You peel off the last mode first. The first mode varies fastest, inside a nested mode too.",
    lambda index, shape, stride: last_mode_fastest(index, shape, stride),
)


PEELING = (LAST_FIRST, UNDIVIDED_OFFSET)


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
PAST_THE_END = Mistake(
    "The last coordinate of a mode is its extent - 1, so the largest offset has (extent - 1) * stride of each mode.",
    lambda shape, stride: 1 + sum(extent * step for extent, step in zip(flatten(shape), flatten(stride), strict=True)),
)
LAST_OFFSET = Mistake(
    "That is the largest offset. Offsets start at 0, so the memory has one element more.",
    lambda shape, stride: span(shape, stride) - 1,
)


REACHES = (SIZE, LAST_OFFSET, PAST_THE_END)

# 01.8 past int32 ------------------------------------------------------------------------------------------------


def fits_int32(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    return span(shape, stride) - 1 <= INT32_MAX


STRIDES_ONLY = Mistake(
    "Every stride may fit while the offset, a sum of coordinate times stride, does not.",
    lambda shape, stride: all(d <= INT32_MAX for d in stride),
)
TERMS_ONLY = Mistake(
    "Each mode may fit while their sum does not. The modes add up to the offset.",
    lambda shape, stride: max((s - 1) * d for s, d in zip(shape, stride, strict=True)) <= INT32_MAX,
)
SIZE_ONLY = Mistake(
    "The size says how many elements there are, not how far apart: a slice of a large tensor is small and far-flung.",
    lambda shape, stride: prod(shape) - 1 <= INT32_MAX,
)

# 01.9 a slice ---------------------------------------------------------------------------------------------------

Coord = tuple[int | None, ...]


def is_slice(got: Any, layout: Layout, coord: Coord) -> str | None:
    """The law: the slice's offset, and its layout at c, are the layout at coord with c in the free modes."""
    match got:
        case (int(offset), Layout() as free):
            pass
        case _:
            return "it should be a pair: the offset where the slice begins, and the Layout of its free modes"
    extents = tuple(size(mode(layout, n)) for n, at in enumerate(coord) if at is None)
    have = (size(free),) if len(extents) == 1 else tuple(size(mode(free, n)) for n in range(rank(free)))
    if have != extents:
        return f"the free modes have {' × '.join(map(str, extents))} elements, and yours {' × '.join(map(str, have))}"
    for at in product(*map(range, extents)):
        rest = iter(at)
        whole = tuple(next(rest) if fixed is None else fixed for fixed in coord)
        if offset + free(*at) != (want := layout(*whole)):
            return f"its element {at[0] if len(at) == 1 else at} is {whole} of the layout, at {want}; yours says " + (
                f"{offset} + {free(*at)}"
            )
    return None


def sliced(layout: Layout, coord: Coord) -> tuple[int, Layout]:
    modes = [mode(layout, n) for n in range(rank(layout))]
    free = [kept for kept, at in zip(modes, coord, strict=True) if at is None]
    return layout(*(at or 0 for at in coord)), free[0] if len(free) == 1 else Layout(*free)


def turned(coord: Coord) -> Coord:
    """Fixed where it was free, and free where it was fixed; as it is where nothing is fixed."""
    return tuple(None if at is not None else 0 for at in coord) if any(at is not None for at in coord) else coord


def flat_index(layout: Layout, coord: Coord) -> int:
    """The index, not the offset, of where a slice begins."""
    return tl.crd2flat(tuple(at or 0 for at in coord), layout.shape)


SLICING = (
    Mistake(
        "The offset is missing: fixing a coordinate moves the pointer by coordinate times stride.",
        lambda layout, coord: (0, sliced(layout, coord)[1]),
    ),
    Mistake(
        "That is the index where the slice begins. The pointer moves by the offset, which has the strides in it.",
        lambda layout, coord: (flat_index(layout, coord), sliced(layout, coord)[1]),
    ),
    Mistake(
        "You kept the modes that are fixed. The free ones, where the coordinate is None, make the slice.",
        lambda layout, coord: (sliced(layout, coord)[0], sliced(layout, turned(coord))[1]),
    ),
    Mistake(
        "The free mode runs over its own extent with its own stride; a fresh layout of stride 1 has lost the stride.",
        lambda layout, coord: (sliced(layout, coord)[0], Layout(sliced(layout, coord)[1].shape)),
    ),
)

LIMITS = (STRIDES_ONLY, TERMS_ONLY, SIZE_ONLY)

TENSOR = {"a Tensor": tl.Tensor.__call__, "tl.Tensor's slices": tl.Tensor.__getitem__}

EXERCISES = (
    ValueExercise(
        id="01.1",
        title="offset",
        points=2,
        library={"tl.crd2offset": tl.crd2offset, "a Layout": Layout.__call__, **TENSOR},
        cases=(
            equals("(4,3):(3,1)", [((2, 1), (3, 1)), ((3, 2), (3, 1))], offset, OFFSETS),
            equals("one mode", [((5,), (4,)), ((0,), (7,))], offset, OFFSETS),
            equals("random coordinates", Drawn(offset_calls, 11), offset, OFFSETS),
        ),
        remedies=(Remedy("IndexError", "Tuples may have any length: go through coord and stride together."),),
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
            equals("rank 4", [((2, 3, 4, 5), "row"), ((2, 3, 4, 5), "column")], compact, [OTHER_ORDER]),
        ),
        remedies=(
            Remedy("and is a list", "tuple(...) makes one of the list at the end."),
            Remedy("IndexError", "The shape may have any number of modes, one among them: loop over it."),
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
        library={"tl.idx2crd": tl.idx2crd},
        cases=(
            equals("(4,3)", [(n, (4, 3)) for n in range(12)], coordinate, [NUMPY_ORDER, UNDIVIDED]),
            equals("one mode", [(5, (8,)), (0, (3,))], coordinate),
            equals("random shapes", Drawn(coordinate_calls, 31), coordinate, [NUMPY_ORDER, UNDIVIDED]),
        ),
        remedies=(Remedy("and is a list", "tuple(...) makes one of the list at the end."),),
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
        remedies=(
            Remedy("its shape should be", "array.shape, whatever its rank."),
            Remedy("stride must be int", "A Layout takes Python's integers: int(…) makes one of NumPy's."),
            Remedy("backwards", "Down a view that runs backwards the stride is negative: leave it."),
            Remedy("a broadcast row", "A stride of 0 is one like any other: leave it."),
            Remedy("int64", "How many bytes an element has differs from array to array: array.itemsize says it."),
        ),
        hints=("array.strides and array.itemsize are all you need.", "strides // itemsize, mode by mode."),
    ),
    ValueExercise(
        id="01.5",
        title="offset_at",
        points=3,
        library={"tl.crd2offset": tl.crd2offset, "tl.crd2idx": tl.crd2idx, "a Layout": Layout.__call__, **TENSOR},
        cases=(
            equals("flat shapes", [(n, (4, 3), (3, 1)) for n in range(12)], offset_at, PEELING),
            equals(
                "a nested mode",
                [(n, (4, (2, 3)), (2, (1, 8))) for n in range(24)],
                offset_at,
                PEELING,
            ),
            equals(
                "random nested shapes",
                Drawn(lambda seed: flat_calls(nested_cases(seed), seed + 1), 51),
                offset_at,
                PEELING,
            ),
        ),
        remedies=(
            Remedy(
                ("'tuple'", "TypeError"),
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
                "picture B:",
                "In a row of B the numbers go 0, 1, then jump to 8: a mode (inner, outer).",
            ),
            Remedy(
                "picture C:",
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
            equals("no gaps", [((4, 3), (3, 1)), ((8,), (1,))], span, REACHES),
            equals("padding and holes", [((4, 3), (8, 1)), ((4, 3), (2, 10))], span, REACHES),
            equals("stride 0", [((4, 3), (0, 1)), ((5,), (0,))], span, REACHES),
            equals("random nested shapes", Drawn(nested_cases, 71), span, REACHES),
        ),
        remedies=(Remedy("TypeError", "Shapes and strides may be nested: flatten both first."),),
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
            equals("small and large", [((4, 3), (3, 1)), ((2**16, 2**16), (2**16, 1))], fits_int32, LIMITS),
            equals(
                "each stride fits, the offset may not",
                [((40000, 50000), (50000, 1)), ((70000, 70000), (70000, 1))],
                fits_int32,
                LIMITS,
            ),
            equals(
                "few elements, far apart",
                [((2, 2), (2**30, 1)), ((2, 2), (2**31, 1)), ((2, 2), (1, 2**31)), ((3,), (2**30,))],
                fits_int32,
                LIMITS,
            ),
            equals(
                "each mode fits, their sum may not",
                [((2, 2), (2**30 + 5, 2**30 + 5)), ((2, 2, 2), (2**30, 2**29, 2**29)), ((2, 2), (2**30, 2**30 - 1))],
                fits_int32,
                LIMITS,
            ),
            equals(
                "at the edge", [((2**31,), (1,)), ((2**31 + 1,), (1,)), ((2, 2**30), (2**30, 1))], fits_int32, LIMITS
            ),
        ),
        hints=(
            "int32 holds values up to 2**31 - 1. Which value has to fit?",
            "The largest offset, which is cosize - 1; not the strides one by one, and not the size.",
        ),
    ),
    ValueExercise(
        id="01.9",
        title="sliced",
        points=3,
        library={"tl.slice_and_offset": tl.slice_and_offset, "tl.Tensor's slices": tl.Tensor.__getitem__},
        cases=(
            law(
                "a row, a column",
                [
                    (Layout((4, 5), (5, 1)), (2, None)),
                    (Layout((4, 5), (5, 1)), (None, 1)),
                    (Layout((4, 5), (1, 4)), (3, None)),
                    (Layout((4, 5), (8, 1)), (0, None)),
                ],
                is_slice,
                SLICING,
            ),
            law(
                "three modes",
                [
                    (Layout((4, 6, 8), (48, 8, 1)), (None, 5, None)),
                    (Layout((4, 6, 8), (48, 8, 1)), (3, None, 7)),
                    (Layout((4, 6, 8), (1, 4, 24)), (None, None, 2)),
                ],
                is_slice,
                SLICING,
            ),
            law(
                "nested modes",
                [
                    (Layout(((2, 2), (4, 2)), ((1, 16), (2, 8))), (3, None)),
                    (Layout(((2, 2), (4, 2)), ((1, 16), (2, 8))), (None, 5)),
                    (Layout(((4, 4), (2, 4)), ((8, 32), (1, 128))), (None, 6)),
                ],
                is_slice,
                SLICING,
            ),
            law(
                "everything free",
                [(Layout((4, 5), (5, 1)), (None, None)), (Layout((3, 2), (0, 7)), (None, None))],
                is_slice,
            ),
        ),
        hints=(
            "Take the modes apart. What does a fixed one add to the offset, and what does a free one keep?",
            "mode(layout, n) is a layout: call it with the number, and you have what the mode adds.",
            "The offset is the sum of mode(layout, n)(coord[n]) over the fixed modes, Layout(*free) the slice.",
        ),
        remedies=(
            Remedy("nested modes", "Don't multiply by a stride: call the mode with its coordinate, nested or not."),
        ),
    ),
)

"""Exercises of notebook 01: a layout is a function from coordinates to offsets.

Offsets, coordinates, size and cosize come from tensor_layouts; arrays from NumPy, whose strides are its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import product
from math import prod
from random import Random
from typing import Any

import numpy as np
import tensor_layouts as tl
from tensor_layouts import Layout, cosize, crd2offset, flatten, idx2crd, mode, rank, size

from tutorlib.checking.randomness import Drawn, beside, stretched
from tutorlib.checking.values import ValueExercise, equals, law
from tutorlib.exercises.words import mistakes
from tutorlib.failure import FailureKind, Flaw
from tutorlib.layouts.matrix import PICTURES
from tutorlib.layouts.notation import calls

# 01.1 to 01.3: a layout as a function.


def random_shapes(seed: int, rank: int = 3, largest: int = 7) -> list[tuple[int, ...]]:
    rng = random.Random(seed)
    return [tuple(rng.randint(1, largest) for _ in range(rng.randint(1, rank))) for _ in range(40)]


# 01.1 offset ----------------------------------------------------------------------------------------------------


def offset(coord: tuple[int, ...], stride: tuple[int, ...]) -> int:
    return sum(c * d for c, d in zip(coord, stride, strict=True))


PLACING = mistakes(
    "01.1",
    swapped=lambda coord, stride: offset(coord[::-1], stride),
    from_one=lambda coord, stride: offset(coord, stride) + 1,
    to_zero=lambda coord, stride: offset(tuple(c - 1 for c in coord), stride),
)

placing = partial(equals, wanted=offset, mistakes=PLACING)


def offset_calls(seed: int) -> list[tuple]:
    rng = random.Random(seed)
    return [
        (tuple(rng.randrange(extent) for extent in shape), tuple(rng.randint(-16, 64) for _ in shape))
        for shape in random_shapes(seed, rank=5, largest=9)
    ]


def offset_in_rows(rng: random.Random) -> tuple:
    """In the (4,3):(3,1) of which the first case is."""
    return (rng.randrange(4), rng.randrange(3)), (3, 1)


def offset_of_one_mode(rng: random.Random) -> tuple:
    return (rng.randrange(100),), (rng.randint(1, 100),)


# 01.2 compact strides -------------------------------------------------------------------------------------------


def compact(shape: tuple[int, ...], order: str) -> tuple[int, ...]:
    """NumPy's own strides, in elements: "row" is its C order, "column" its F order."""
    return np.empty(shape, dtype=np.int8, order="C" if order == "row" else "F").strides


STRIDES = mistakes(
    "01.2",
    other_order=lambda shape, order: compact(shape, "column" if order == "row" else "row"),
    own_extent=lambda shape, order: tuple(d * s for d, s in zip(compact(shape, order), shape, strict=True)),
)


def of_rank_4(rng: random.Random) -> tuple:
    return tuple(rng.randint(2, 7) for _ in range(4)), rng.choice(("row", "column"))


# 01.3 index → coordinate ----------------------------------------------------------------------------------------


def coordinate(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(idx2crd(index, shape)) if len(shape) > 1 else (index,)


COORDINATES = mistakes(
    "01.3",
    numpy_order=lambda index, shape: tuple(int(c) for c in np.unravel_index(index, shape)),
    undivided=lambda index, shape: tuple(index % extent for extent in shape),
)


NO_TABLE = [(2**61 + 7, (4, 2**60))]  # more coordinates than any memory has room for


def coordinate_calls(seed: int) -> list[tuple]:
    rng = random.Random(seed)
    return [(rng.randrange(prod(shape)), shape) for shape in random_shapes(seed)]


def in_a_matrix(rng: random.Random) -> tuple:
    shape = rng.randint(2, 9), rng.randint(2, 9)
    return rng.randrange(prod(shape)), shape


def in_one_mode(rng: random.Random) -> tuple:
    extent = rng.randint(1, 99)
    return rng.randrange(extent), (extent,)


# 01.4 and 01.5: NumPy views, and nested shapes.


def random_nested(rng: random.Random, depth: int = 2) -> tuple[tuple, tuple]:
    """A shape and a stride of the same nesting, rank 2 at the top."""

    def mode(depth: int) -> tuple:
        if depth == 0 or rng.random() < 0.4:
            return rng.randint(1, 4), rng.choice((0, 1, 1, 2, 3, 4, 8, 16))
        shapes, strides = zip(*(mode(depth - 1) for _ in range(2)), strict=True)
        return shapes, strides

    shapes, strides = zip(*(mode(depth) for _ in range(2)), strict=True)
    return shapes, strides


def nested_cases(seed: int, depth: int = 2) -> list[tuple[tuple, tuple]]:
    rng = random.Random(seed)
    return [random_nested(rng, depth) for _ in range(40)]


# 01.4 a NumPy view as a layout ----------------------------------------------------------------------------------

VIEWS: dict[str, list[Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {  # of a matrix, and of a block of three modes
    "a whole array": [lambda base, cube: base, lambda base, cube: cube],
    "a transposed one": [lambda base, cube: base.T, lambda base, cube: cube.transpose(2, 0, 1)],
    "slices with steps": [
        lambda base, cube: base[2:10, 5:],
        lambda base, cube: base[::3, ::5],
        lambda base, cube: cube[1:, ::2, 3:7],
    ],
    "a broadcast row": [lambda base, cube: np.broadcast_to(base[0], (5, base.shape[1]))],
    "backwards": [lambda base, cube: base[::-1], lambda base, cube: cube[:, ::-2, ::-1]],
}


def views(name: str) -> Drawn:
    """Calls with the views of this kind; the grader takes them of arrays of other sizes and dtypes as well."""

    def calls(shape: tuple[int, ...], three: tuple[int, ...], *dtypes: str) -> list[tuple]:
        base, cube = (
            np.arange(prod(n)).astype(dtype).reshape(n) for n, dtype in zip((shape, three), dtypes, strict=True)
        )
        return [(view(base, cube),) for view in VIEWS[name]]

    def draw(seed: int) -> list[tuple]:
        rng = random.Random(seed)
        three = tuple(rng.randint(least, 11) for least in (3, 4, 8))
        return calls((rng.randint(12, 40), rng.randint(12, 40)), three, *rng.sample(("i1", "f2", "f4", "f8"), 2))

    return Drawn(draw, known=calls((24, 30), (4, 6, 10), "f4", "i8"))


class ViewFlaw(FailureKind):
    """Errors in a view's layout: its shape, the offsets of its elements [dtype: of the array]."""

    SHAPE = "a view's shape"
    PLACE = "a view's place"


def describes(got: Layout, array: np.ndarray) -> str | None:
    """The law: element c of the view is offset(c) elements after its first one."""
    if not isinstance(got, Layout):
        return "it should be a Layout"
    if (got.shape if isinstance(got.shape, tuple) else (got.shape,)) != array.shape:
        return Flaw(f"its shape should be {array.shape}", ViewFlaw.SHAPE)
    first = array.__array_interface__["data"][0]
    for coord in product(*(range(0, extent, max(1, extent - 1)) for extent in array.shape)):
        wanted = array[tuple(slice(c, c + 1) for c in coord)].__array_interface__["data"][0] - first
        if got(*coord) * array.itemsize != wanted:
            apart = f"{wanted // array.itemsize} elements after the first, not {got(*coord)}"
            return Flaw(f"element {coord} lies {apart}", ViewFlaw.PLACE(dtype=array.dtype))
    return None


VIEWING = mistakes(
    "01.4",
    in_bytes=lambda array: Layout(array.shape, array.strides),
    fresh=lambda array: Layout(array.shape, compact(array.shape, "row")),
)

# 01.5 nested shapes ---------------------------------------------------------------------------------------------


def flat_calls(cases: list[tuple[tuple, tuple]], seed: int) -> list[tuple]:
    rng = random.Random(seed)
    return [(rng.randrange(size(case[0])), *case) for case in cases]


def flat_call(rng: random.Random) -> tuple:
    shape = rng.randint(2, 9), rng.randint(2, 9)
    return rng.randrange(prod(shape)), shape, (rng.randint(1, 20), rng.randint(1, 20))


def nested_call(rng: random.Random) -> tuple:
    extents, strides = ([rng.randint(2, 9) for _ in range(3)] for _ in range(2))
    shape, stride = ((first, tuple(others)) for first, *others in (extents, strides))
    return rng.randrange(prod(extents)), shape, stride


PEELING = mistakes(
    "01.5",
    undivided_offset=lambda index, shape, stride: sum(
        index % extent * step for extent, step in zip(flatten(shape), flatten(stride), strict=True)
    ),
)

peeling = partial(equals, wanted=crd2offset, mistakes=PEELING)


# 01.7 to 01.9: cosize, 32 bits, slices.

INT32_MAX = 2**31 - 1

# 01.7 cosize ----------------------------------------------------------------------------------------------------


def span(shape: tuple, stride: tuple) -> int:
    return cosize(Layout(shape, stride))


REACHING = mistakes(
    "01.7",
    size=lambda shape, stride: size(shape),
    last_offset=lambda shape, stride: span(shape, stride) - 1,
    past_the_end=lambda shape, stride: (
        1 + sum(extent * step for extent, step in zip(flatten(shape), flatten(stride), strict=True))
    ),
)

reaching = partial(equals, wanted=span, mistakes=REACHING)


def matrix_in_memory(gaps: bool) -> Callable[[Random], tuple]:
    """Calls of `span` with a matrix by rows. gaps: between its rows, and between its elements."""

    def draw(rng: Random) -> tuple:
        rows, columns = rng.randint(2, 20), rng.randint(2, 20)
        step = rng.randint(2, 5) if gaps else 1
        return (rows, columns), (columns * step + (rng.randint(1, 9) if gaps else 0), step)

    return draw


def broadcast(rng: Random) -> tuple:
    return (rng.randint(2, 9), rng.randint(2, 9)), rng.choice(((0, 1), (rng.randint(1, 9), 0)))


# 01.8 past int32 ------------------------------------------------------------------------------------------------


def fits_int32(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    terms = [(extent - 1) * step for extent, step in zip(shape, stride, strict=True)]
    largest, smallest = sum(max(term, 0) for term in terms), sum(min(term, 0) for term in terms)
    return smallest >= -INT32_MAX - 1 and largest <= INT32_MAX


def both_ways(rng: Random) -> tuple:
    """Calls with a mode that runs backward and one that runs forward, each near the end of its range."""
    back, ahead = rng.randint(2**31 - 2**20, 2**31 + 2**20), rng.randint(2**31 - 2**20, 2**31 + 2**20)
    return (2, 2), (-back, ahead)


def rows_of_matrix(rng: Random) -> tuple:
    """Calls of `fits_int32` with a matrix of up to 2^34 elements, by rows."""
    rows, columns = round(2 ** rng.uniform(1, 17)), round(2 ** rng.uniform(14, 17))
    return (rows, columns), (columns, 1)


def far_apart(modes: int) -> Callable[[Random], tuple]:
    """Calls with few elements, whose largest offset is about 2^31: less or more, each as likely."""

    def draw(rng: Random) -> tuple:
        least = 2**30 if modes == 1 else 2**31 // modes - 2**27
        strides = [rng.randint(least, least + 2**28 if modes > 1 else 2**32) for _ in range(modes)]
        return (2,) * (modes + 1), (*strides, 1)

    return draw


def at_the_edge(rng: Random) -> tuple:
    """Calls with as many elements as int32 has offsets, one less, or one or two more."""
    more = rng.randint(-1, 2)
    stride = rng.randint(1, 2**30)
    return rng.choice((((2**31 + more,), (1,)), ((2, 2**31 - stride + more), (stride, 1))))


FITTING = mistakes(
    "01.8",
    strides_only=lambda shape, stride: all(d <= INT32_MAX for d in stride),
    terms_only=lambda shape, stride: max((s - 1) * d for s, d in zip(shape, stride, strict=True)) <= INT32_MAX,
    size_only=lambda shape, stride: prod(shape) - 1 <= INT32_MAX,
    cosize=lambda shape, stride: span(shape, stride) <= INT32_MAX,
    symmetric=lambda shape, stride: fits_int32(shape, stride) and fits_int32(shape, tuple(-d for d in stride)),
    magnitudes=lambda shape, stride: span(shape, stride) - 1 <= INT32_MAX,  # cosize adds up magnitudes
    forward_only=lambda shape, stride: (
        sum(max((s - 1) * d, 0) for s, d in zip(shape, stride, strict=True)) <= INT32_MAX
    ),
    last_only=lambda shape, stride: (
        -INT32_MAX - 1 <= sum((s - 1) * d for s, d in zip(shape, stride, strict=True)) <= INT32_MAX
    ),
)

DIRECTIONS = FITTING[3:]
fitting = partial(equals, wanted=fits_int32, mistakes=FITTING)

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
    kept = tl.unwrap(tuple(mode(layout, n).shape for n, at in enumerate(coord) if at is None))
    if tl.unwrap(free.shape) != kept:
        return f"the free modes have the shape {kept}, and yours {free.shape}: each keeps its own, brackets included"
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


SLICING = mistakes(
    "01.9",
    offset_missing=lambda layout, coord: (0, sliced(layout, coord)[1]),
    stride_lost=lambda layout, coord: (sliced(layout, coord)[0], Layout(sliced(layout, coord)[1].shape)),
)
slicing = partial(law, holds=is_slice, mistakes=SLICING)

SLICES = {
    "tl.slice_and_offset": tl.slice_and_offset,
    "tl.slice_modes": tl.slice_modes,  # by a Layout called with None, too
    "tl.Tensor's slices": tl.Tensor.__getitem__,
}
TENSOR = {"a Tensor": tl.Tensor.__call__, "tl.iter_layout": "iter_layout", **SLICES}


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


striding = partial(equals, wanted=compact, mistakes=STRIDES)
indexing = partial(equals, wanted=coordinate, mistakes=COORDINATES)

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
            striding(
                "row-major, as NumPy stores it",
                Drawn(lambda seed: [((4, 3), "row"), *((shape, "row") for shape in random_shapes(seed))], 21),
            ),
            striding(
                "column-major, as CuTe stores it",
                Drawn(lambda seed: [((4, 3), "column"), *((shape, "column") for shape in random_shapes(seed))], 22),
            ),
            striding("rank 4", beside([((2, 3, 4, 5), "row"), ((2, 3, 4, 5), "column")], of_rank_4)),
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
            indexing("(4,3)", beside([(n, (4, 3)) for n in range(12)], in_a_matrix)),
            indexing("one mode", beside([(5, (8,)), (0, (3,))], in_one_mode)),
            indexing("random shapes", Drawn(coordinate_calls, 31, NO_TABLE)),
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

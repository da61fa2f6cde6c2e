"""Exercises of notebook 01: a layout is a function from coordinates to offsets.

Offsets, coordinates, size and cosize come from tensor_layouts; arrays from NumPy, whose strides are its own.
"""

from collections.abc import Callable
from math import prod
from random import Random

import numpy as np
import tensor_layouts as tl
from tensor_layouts import Layout, cosize, crd2offset, flatten, idx2crd, mode, rank, size

from tutorlib.checking.randomness import Drawn, beside
from tutorlib.exercises.layout_laws import offset_and_layout, same_function, scaled
from tutorlib.exercises.values import Draw, drawn, of_tl, value_exercise
from tutorlib.failure import FailureKind, Flaw
from tutorlib.layouts.matrix import PICTURES

INT32_MAX = 2**31 - 1

# References -----------------------------------------------------------------------------------------------------------


def offset(coord: tuple[int, ...], stride: tuple[int, ...]) -> int:
    return sum(c * d for c, d in zip(coord, stride, strict=True))


def compact(shape: tuple[int, ...], order: str) -> tuple[int, ...]:
    """NumPy's own strides, in elements: "row" is its C order, "column" its F order."""
    return np.empty(shape, dtype=np.int8, order="C" if order == "row" else "F").strides


def coordinate(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(idx2crd(index, shape)) if len(shape) > 1 else (index,)


def span(shape: tuple, stride: tuple) -> int:
    return cosize(Layout(shape, stride))


def furthest(shape: tuple[int, ...], stride: tuple[int, ...], direction: int = 1) -> int:
    """The largest offset; with direction -1 the smallest, without its sign."""
    return sum(max(0, direction * (extent - 1) * step) for extent, step in zip(shape, stride, strict=True))


def fits_int32(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    return furthest(shape, stride) <= INT32_MAX and furthest(shape, stride, -1) <= INT32_MAX + 1


def sliced(layout: Layout, coord: tuple[int | None, ...]) -> tuple[int, Layout]:
    free = [mode(layout, n) for n in range(rank(layout)) if coord[n] is None]
    return layout(*(at or 0 for at in coord)), free[0] if len(free) == 1 else Layout(*free)


def cells(name: str) -> list[int]:
    """The numbers in a picture's cells, column after column."""
    return [number for column in zip(*PICTURES[name], strict=True) for number in column]


class ViewFlaw(FailureKind):
    """Errors in a view's layout: its shape, the offsets of its elements [dtype: of the array]."""

    SHAPE = "a view's shape"
    PLACE = "a view's place"


def describes(got: Layout, array: np.ndarray) -> str | None:
    """The law: a step along a mode is as many elements as NumPy's stride has bytes of them."""
    if not isinstance(got, Layout):
        return "it should be a Layout"
    if (got.shape if isinstance(got.shape, tuple) else (got.shape,)) != array.shape:
        return Flaw(f"its shape should be {array.shape}", ViewFlaw.SHAPE)
    for n, step in enumerate(array.strides):
        mine = mode(got, n).stride
        if array.shape[n] > 1 and mine * array.itemsize != step:
            what = f"along its mode {n} elements are {step // array.itemsize} apart, not {mine}"
            return Flaw(what, ViewFlaw.PLACE(dtype=array.dtype))
    return None


# Calls ----------------------------------------------------------------------------------------------------------------


def random_shape(rng: Random, rank: int = 3, largest: int = 7) -> tuple[int, ...]:
    return tuple(rng.randint(1, largest) for _ in range(rng.randint(1, rank)))


def placed(rng: Random) -> tuple:
    shape = random_shape(rng, rank=5, largest=9)
    return tuple(map(rng.randrange, shape)), tuple(rng.randint(-16, 64) for _ in shape)


def indexed(shape: Callable[[Random], tuple]) -> Draw:
    """Calls with an index into a shape."""

    def draw(rng: Random) -> tuple:
        extents = shape(rng)
        return rng.randrange(prod(extents)), extents

    return draw


def random_nested(rng: Random, depth: int = 2) -> tuple[tuple, tuple]:
    """A shape and a stride of the same nesting, rank 2 at the top."""

    def mode(depth: int) -> tuple:
        if depth == 0 or rng.random() < 0.4:
            return rng.randint(1, 4), rng.choice((0, 1, 1, 2, 3, 4, 8, 16))
        shapes, strides = zip(*(mode(depth - 1) for _ in range(2)), strict=True)
        return shapes, strides

    shapes, strides = zip(*(mode(depth) for _ in range(2)), strict=True)
    return shapes, strides


def deep(rng: Random) -> tuple:
    shape, stride = random_nested(rng, depth=5)
    return rng.randrange(size(shape)), shape, stride


def flat(rng: Random) -> tuple:
    shape = rng.randint(2, 9), rng.randint(2, 9)
    return rng.randrange(prod(shape)), shape, (rng.randint(1, 20), rng.randint(1, 20))


def with_a_nested_mode(rng: Random) -> tuple:
    extents, strides = ([rng.randint(2, 9) for _ in range(3)] for _ in range(2))
    shape, stride = ((first, tuple(others)) for first, *others in (extents, strides))
    return rng.randrange(prod(extents)), shape, stride


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

    def calls(two: tuple[int, ...], three: tuple[int, ...], *dtypes: str) -> list[tuple]:
        arrays = [np.zeros(shape, dtype) for shape, dtype in zip((two, three), dtypes, strict=True)]
        return [(view(*arrays),) for view in VIEWS[name]]

    def draw(rng: Random) -> list[tuple]:
        three = tuple(rng.randint(least, 11) for least in (3, 4, 8))
        return calls((rng.randint(12, 40), rng.randint(12, 40)), three, *rng.sample(("i1", "f2", "f4", "f8"), 2))

    return Drawn(calls((24, 30), (4, 6, 10), "f4", "i8"), draw)


def with_gaps(rng: Random) -> tuple:
    """Calls of `span` with a matrix by rows, with gaps between its rows and between its elements."""
    rows, columns, step = rng.randint(2, 20), rng.randint(2, 20), rng.randint(2, 5)
    return (rows, columns), (columns * step + rng.randint(1, 9), step)


def backward(rng: Random) -> tuple:
    """Calls of `span` with one mode that runs backward and one that runs forward."""
    return (rng.randint(2, 9), rng.randint(2, 9)), (-rng.randint(1, 20), rng.randint(1, 9))


def rows_of_matrix(rng: Random) -> tuple:
    """Calls of `fits_int32` with a matrix of up to 2^34 elements, by rows."""
    rows, columns = round(2 ** rng.uniform(1, 17)), round(2 ** rng.uniform(14, 17))
    return (rows, columns), (columns, 1)


def far_apart(modes: int) -> Draw:
    """Calls with few elements, whose largest offset is about 2^31: less or more, each as likely."""
    middle = 2**31 // modes
    return lambda rng: ((2,) * (modes + 1), (*(rng.randint(middle - 2**27, middle + 2**27) for _ in range(modes)), 1))


def at_the_edge(rng: Random) -> tuple:
    """Calls with as many elements as int32 has offsets, one less, or one or two more."""
    more = rng.randint(-1, 2)
    stride = rng.randint(1, 2**30)
    return rng.choice((((2**31 + more,), (1,)), ((2, 2**31 - stride + more), (stride, 1))))


def both_ways(rng: Random) -> tuple:
    """Calls with a mode that runs backward and one that runs forward, each near the end of its range."""
    back, ahead = rng.randint(2**31 - 2**20, 2**31 + 2**20), rng.randint(2**31 - 2**20, 2**31 + 2**20)
    return (2, 2), (-back, ahead)


SLICES = {**of_tl("slice_and_offset", "slice_modes"), "tl.Tensor's slices": tl.Tensor.__getitem__}  # Layouts, too
CALLED = {"a Layout": Layout.__call__, "a Tensor": tl.Tensor.__call__, "tl.iter_layout": "iter_layout", **SLICES}
FAR = ((2, 2), (2**30, 1)), ((2, 2), (2**31, 1)), ((2, 2), (1, 2**31)), ((3,), (2**30,))
SUMS = ((2, 2), (2**30 + 5, 2**30 + 5)), ((2, 2, 2), (2**30, 2**29, 2**29)), ((2, 2), (2**30, 2**30 - 1))
BACKWARD = [
    *(((2,), (-(2**31),)), ((2,), (-(2**31) - 1,)), ((2, 2), (-(2**31), 2**31 - 1)), ((2, 2), (-(2**30), 2**31))),
    *(((2, 2), (-(2**31) - 7, 2**31 - 1)), ((2, 2), (-(2**30) - 5, -(2**30) - 5))),
    *(((2, 2), (-(2**30) - 5, 2**30 + 5)), ((3, 4), (-1, 3))),
]
EXERCISES = (
    value_exercise(
        ("01.1", "offset", 2),
        offset,
        {
            "(4,3):(3,1)": beside(
                [((2, 1), (3, 1)), ((3, 2), (3, 1))], lambda rng: ((rng.randrange(4), rng.randrange(3)), (3, 1))
            ),
            "one mode": beside(
                [((5,), (4,)), ((0,), (7,))], lambda rng: ((rng.randrange(100),), (rng.randint(1, 100),))
            ),
            "random coordinates": drawn(11, placed, 40),
        },
        mistakes={
            "swapped": lambda coord, stride: offset(coord[::-1], stride),
            "from_one": lambda coord, stride: offset(coord, stride) + 1,
            "to_zero": lambda coord, stride: offset(tuple(c - 1 for c in coord), stride),
        },
        library={**of_tl("crd2idx", "crd2offset", "inner_product"), **CALLED},
    ),
    value_exercise(
        ("01.2", "compact_strides", 3),
        compact,
        {
            "row-major, as NumPy stores it": drawn(21, lambda rng: (random_shape(rng), "row"), 40, [((4, 3), "row")]),
            "column-major, as CuTe stores it": drawn(
                22, lambda rng: (random_shape(rng), "column"), 40, [((4, 3), "column")]
            ),
            "rank 4": beside(
                [((2, 3, 4, 5), "row"), ((2, 3, 4, 5), "column")],
                lambda rng: (tuple(rng.randint(2, 7) for _ in range(4)), rng.choice(("row", "column"))),
            ),
        },
        mistakes={
            "other_order": lambda shape, order: compact(shape, "column" if order == "row" else "row"),
            "own_extent": lambda shape, order: tuple(map(int.__mul__, compact(shape, order), shape)),
        },
        library={
            **{"np.empty": np.empty, "np.zeros": np.zeros, "np.ones": np.ones, "Layout(shape)": Layout.__init__},
            **of_tl("compute_row_major_strides", "compute_col_major_strides", "prefix_product", "suffix_product"),
            **of_tl("crd2flat", "crd2idx"),
            **{".strides": "strides", ".stride": "stride"},
        },
    ),
    value_exercise(
        ("01.3", "coordinate", 2),
        coordinate,
        {
            "(4,3)": beside(
                [(n, (4, 3)) for n in range(12)], indexed(lambda rng: (rng.randint(2, 9), rng.randint(2, 9)))
            ),
            "one mode": beside([(5, (8,)), (0, (3,))], indexed(lambda rng: (rng.randint(1, 99),))),
            # and more coordinates than any memory has room for
            "random shapes": drawn(31, indexed(random_shape), 40, [(2**61 + 7, (4, 2**60))]),
        },
        mistakes={
            "numpy_order": lambda index, shape: tuple(int(c) for c in np.unravel_index(index, shape)),
            "undivided": lambda index, shape: tuple(index % extent for extent in shape),
        },
        library={
            **of_tl("idx2crd", "crd2crd"),
            **{"tl.iter_layout": "iter_layout", "a Layout": Layout.__call__, "unravel_index": "unravel_index"},
        },
    ),
    value_exercise(
        ("01.4", "layout_of", 2),
        None,
        {name: views(name) for name in VIEWS},
        holds=describes,
        mistakes={
            "in_bytes": lambda array: Layout(array.shape, array.strides),
            "fresh": lambda array: Layout(array.shape, compact(array.shape, "row")),
        },
        library={".stride": "stride"},
    ),
    value_exercise(
        ("01.5", "offset_at", 3),
        crd2offset,
        {
            "flat shapes": beside([(n, (4, 3), (3, 1)) for n in range(12)], flat),
            "a nested mode": beside([(n, (4, (2, 3)), (2, (1, 8))) for n in range(24)], with_a_nested_mode),
            "random nested shapes": drawn(51, deep, 40),
        },
        mistakes={
            "undivided_offset": lambda index, shape, stride: sum(
                index % extent * step for extent, step in zip(flatten(shape), flatten(stride), strict=True)
            )
        },
        library={**of_tl("crd2offset", "crd2idx", "idx2crd"), **CALLED},
    ),
    value_exercise(
        ("01.6", "picture", 3),
        None,
        {f"picture {name}": [(name,)] for name in PICTURES},
        holds=same_function(cells, lambda want, name: (len(PICTURES[name]), len(PICTURES[name][0]))),
    ),
    value_exercise(
        ("01.7", "cosize", 2),
        span,
        {
            "padding and holes": beside([((4, 3), (3, 1)), ((4, 3), (8, 1)), ((4, 3), (2, 10))], with_gaps),
            "stride 0": beside(
                [((4, 3), (0, 1)), ((5,), (0,))],
                lambda rng: ((rng.randint(2, 9), rng.randint(2, 9)), rng.choice(((0, 1), (rng.randint(1, 9), 0)))),
            ),
            "modes that run backward": beside([((8,), (-1,)), ((4, 3), (-3, 1)), ((4, 3), (3, -1))], backward),
            "random nested shapes": drawn(71, random_nested, 40),
        },
        mistakes={
            "size": lambda shape, stride: size(shape),
            "largest": lambda shape, stride: 1 + furthest(flatten(shape), flatten(stride)),
            "last_offset": lambda shape, stride: span(shape, stride) - 1,
            "past_the_end": lambda shape, stride: 1 + sum(map(int.__mul__, flatten(shape), flatten(stride))),
        },
        library=of_tl("cosize"),
    ),
    value_exercise(
        ("01.8", "fits_int32", 2),
        fits_int32,
        {
            "small and large": beside([((4, 3), (3, 1)), ((2**16, 2**16), (2**16, 1))], rows_of_matrix),
            "each stride fits, the offset may not": beside(
                [((40000, 50000), (50000, 1)), ((70000, 70000), (70000, 1))], rows_of_matrix
            ),
            "few elements, far apart": beside(FAR, far_apart(1)),
            "each mode fits, their sum may not": beside(SUMS, far_apart(2)),
            "at the edge": beside([((2**31,), (1,)), ((2**31 + 1,), (1,)), ((2, 2**30), (2**30, 1))], at_the_edge),
            "modes that run backward": beside(BACKWARD, both_ways),
        },
        mistakes={
            "strides_only": lambda shape, stride: all(d <= INT32_MAX for d in stride),
            "terms_only": lambda shape, stride: all((s - 1) * d <= INT32_MAX for s, d in zip(shape, stride)),  # noqa: B905
            "size_only": lambda shape, stride: prod(shape) - 1 <= INT32_MAX,
            "magnitudes": lambda shape, stride: span(shape, stride) - 1 <= INT32_MAX,  # cosize adds up magnitudes
            "forward_only": lambda shape, stride: furthest(shape, stride) <= INT32_MAX,
        },
    ),
    value_exercise(
        ("01.9", "sliced", 3),
        None,
        {
            "a row, a column": scaled("(4,5):(5,1) (2,None)", "(4,5):(5,1) (None,1)", "(4,5):(1,4) (3,None)"),
            "three modes": scaled(
                "(4,6,8):(48,8,1) (None,5,None)", "(4,6,8):(48,8,1) (3,None,7)", "(4,6,8):(1,4,24) (None,None,2)"
            ),
            "nested modes": scaled(
                "((2,2),(4,2)):((1,16),(2,8)) (3,None)",
                "((2,2),(4,2)):((1,16),(2,8)) (None,5)",
                "((4,4),(2,4)):((8,32),(1,128)) (None,6)",
                "((2,2),3,(2,4)):((1,16),128,(2,32)) (None,1,None)",
                "(3,(2,(2,4))):(64,(1,(8,16))) (1,None)",
            ),
            "everything free": scaled("(4,5):(5,1) (None,None)", "(3,2):(0,7) (None,None)"),
        },
        holds=offset_and_layout(sliced),
        mistakes={
            "offset_missing": lambda layout, coord: (0, sliced(layout, coord)[1]),
            "stride_lost": lambda layout, coord: (sliced(layout, coord)[0], Layout(sliced(layout, coord)[1].shape)),
        },
        library=SLICES,
    ),
)

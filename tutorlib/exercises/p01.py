"""Exercises of notebook 01: a layout is a function from coordinates to offsets.

Offsets, coordinates, size and cosize come from tensor_layouts; arrays from NumPy, whose strides are its own.
"""

from collections.abc import Callable
from math import prod
from random import Random

import numpy as np
import tensor_layouts as tl
from tensor_layouts import Layout, crd2offset, flatten, size

from tutorlib.checking.randomness import Drawn, beside
from tutorlib.exercises.layout_laws import by_mode, same_function
from tutorlib.exercises.values import drawn, of_tl, value_exercise
from tutorlib.layouts.matrix import PICTURES

# References -----------------------------------------------------------------------------------------------------------


def compact(shape: tuple[int, ...], order: str) -> tuple[int, ...]:
    """NumPy's own strides, in elements: "row" is its C order, "column" its F order."""
    return np.empty(shape, dtype=np.int8, order="C" if order == "row" else "F").strides


def described(what: str, m: int, n: int) -> Layout:
    """Views of a row-major matrix, and one that is stored in 2×4 tiles; see the page."""
    match what:
        case "diagonal":
            return Layout(m, n + 1)
        case "windows":
            return Layout((m, n - 3, 4), (n, 1, 1))
        case _:
            return tiled(m, n, (4, 8), (1, 4 * m))


def tiled(m: int, n: int, *strides: tuple[int, int]) -> Layout:
    return Layout(((2, m // 2), (4, n // 4)), strides)


def instead(other: Callable[[int, int], Layout], *, what: str) -> Callable[[str, int, int], Layout]:
    """`described` with another layout for one of its descriptions."""
    return lambda asked, m, n: other(m, n) if asked == what else described(asked, m, n)


def offset_range(shape: tuple[int, ...], stride: tuple[int, ...]) -> tuple[int, int]:
    """Each mode reaches one extreme at one of its ends."""
    ends = [(extent - 1) * step for extent, step in zip(shape, stride, strict=True)]
    return sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)


def cells(name: str) -> list[int]:
    """The numbers in a picture's cells, column after column."""
    return [number for column in zip(*PICTURES[name], strict=True) for number in column]


# Calls ----------------------------------------------------------------------------------------------------------------


def random_shape(rng: Random, rank: int = 3, largest: int = 7) -> tuple[int, ...]:
    return tuple(rng.randint(1, largest) for _ in range(rng.randint(1, rank)))


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


def small_matrix(what: str) -> Drawn:
    """Calls of `described`, with sizes that every description allows."""
    draw = lambda rng: (what, 2 * rng.randint(2, 8), 4 * rng.randint(4, 12))  # noqa: E731
    return beside([(what, 4, 8), (what, 6, 12)], draw, 3)


def with_gaps(rng: Random) -> tuple:
    """A matrix by rows, with gaps between its rows and between its elements."""
    rows, columns, step = rng.randint(2, 20), rng.randint(2, 20), rng.randint(2, 5)
    return (rows, columns), (columns * step + rng.randint(1, 9), step)


def modes_of(rng: Random, *strides: int) -> tuple:
    """Modes with these strides, and with others to both sides of 0, in any order."""
    steps = rng.sample(each := [*strides, rng.randint(-40, -1), rng.randint(1, 40)], len(each))
    return tuple(rng.randint(2, 9) for _ in steps), tuple(steps)


def large(rng: Random) -> tuple:
    """A matrix by rows or backward, with more elements than anybody can list."""
    rows, columns = round(2 ** rng.uniform(14, 20)), round(2 ** rng.uniform(14, 20))
    return (rows, columns), (rng.choice((-columns, columns)), 1)


SLICES = {**of_tl("slice_and_offset", "slice_modes"), "tl.Tensor's slices": tl.Tensor.__getitem__}  # Layouts, too
CALLED = {"a Layout": Layout.__call__, "a Tensor": tl.Tensor.__call__, "tl.iter_layout": "iter_layout", **SLICES}
EXERCISES = (
    value_exercise(
        ("01.1", "compact_strides", 3),
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
        ("01.2", "offset_at", 3),
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
        ("01.3", "picture", 3),
        None,
        {f"picture {name}": [(name,)] for name in PICTURES},
        holds=same_function(cells, lambda want, name: (len(PICTURES[name]), len(PICTURES[name][0]))),
    ),
    value_exercise(
        ("01.4", "described", 3),
        None,
        {what: small_matrix(what) for what in ("diagonal", "windows", "tiles")},
        holds=same_function(described, lambda want, what, m, n: m if what == "diagonal" else by_mode(want)),
        mistakes={
            "along_a_row": instead(lambda m, n: Layout(m, n), what="diagonal"),
            "columns_inside": instead(lambda m, n: tiled(m, n, (1, 8), (2, 4 * m)), what="tiles"),
            "rows_of_tiles": instead(lambda m, n: tiled(m, n, (4, 2 * n), (1, 8)), what="tiles"),
            "not_contiguous": instead(lambda m, n: tiled(m, n, (n, 2 * n), (1, 4)), what="tiles"),
        },
    ),
    value_exercise(
        ("01.5", "offset_range", 4),
        offset_range,
        {
            "a matrix with gaps": beside([((4, 3), (3, 1)), ((4, 3), (8, 1)), ((5,), (2,))], with_gaps),
            "a mode that runs backward": beside(
                [((8,), (-1,)), ((4, 3), (-5, 1)), ((4, 3), (3, -1)), ((2, 3), (-4, -7))], modes_of
            ),
            "strides of 0": beside(
                [((4, 3), (0, 1)), ((5,), (0,)), ((2, 3, 4), (-3, 0, 1))], lambda rng: modes_of(rng, 0)
            ),
            "too large to try": beside([((70000, 70000), (70000, 1)), ((2**31, 2), (-1, 2**40))], large),
        },
        mistakes={
            "ends": lambda shape, stride: (0, sum((extent - 1) * step for extent, step in zip(shape, stride))),  # noqa: B905
            "magnitudes": lambda shape, stride: (0, sum((e - 1) * abs(d) for e, d in zip(shape, stride))),  # noqa: B905
            "past_the_end": lambda shape, stride: offset_range(tuple(extent + 1 for extent in shape), stride),
            "one_mode": lambda shape, stride: (
                min(0, *((e - 1) * d for e, d in zip(shape, stride))),  # noqa: B905
                max(0, *((e - 1) * d for e, d in zip(shape, stride))),  # noqa: B905
            ),
        },
    ),
)

"""Exercises of notebook 03: the layout algebra.

Every operator is compared, as a function, with tensor_layouts', on known layouts and on those that a seed draws. Tests
compare both with the real CuTe DSL.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, size

from tutorlib.checking.exercise import Answer
from tutorlib.checking.randomness import Drawn, beside
from tutorlib.exercises.layout_laws import (
    alike,
    by_mode,
    composable,
    its_own,
    offsets,
    refuses,
    same_function,
    scaled,
    stretched,
    two_matrices,
)
from tutorlib.exercises.values import drawn, of_tl, value_exercise
from tutorlib.layouts.views import TiledCopyView, tiled_copy_view

OPERATORS = (  # in the page's order: each may be written with those before it, and many of the later ones call it
    *("coalesce", "compose", "complement", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide"),
    *("logical_product", "zipped_product", "tiled_product", "flat_product", "blocked_product", "raked_product"),
    *("right_inverse", "left_inverse", "max_common_layout", "max_common_vector"),
)
# CuTe, and the algebra as torch has it: no answer may ask them.
ELSEWHERE: dict[str, Any] = {name: name for name in ("ask", "oracle", "cutlass", "_pycute")}


def from_here_on(operator: str) -> dict[str, Answer]:
    """The library of the exercise that asks for this operator: it and the later ones."""
    return of_tl(*OPERATORS[OPERATORS.index(operator) :]) | ELSEWHERE


# References -----------------------------------------------------------------------------------------------------------


def composed(a: Layout, b: Layout) -> list[int]:
    """A(B(i)) for every index i of B. Past A's end its last mode continues, as in CuTe."""
    *modes, (_, last) = zip(flatten((a.shape,)), flatten((a.stride,)), strict=True)

    def offset_at(index: int) -> int:
        total = 0
        for extent, stride in modes:
            index, at = divmod(index, extent)
            total += at * stride
        return total + index * last

    return list(map(offset_at, offsets(b)))


def threads_and_values(threads: Layout, values: Layout, tile: Layout | None = None) -> Layout:
    """make_layout_tv. tile: thread and value of an element, as one number; without it the raked product."""
    inverse = tl.right_inverse(tile or tl.raked_product(threads, values))
    return tl.compose(inverse, Layout((size(threads), size(values))))


def loads(
    matrix: Layout, tile: tuple[int, int], block: tuple[int, int], threads: Layout, values: Layout, thread: int
) -> list[int]:
    """The offsets of the elements of a thread that the matrix has."""
    tv, found = threads_and_values(threads, values), []
    for value in range(size(values)):
        index = tv(thread, value)
        row, column = block[0] * tile[0] + index % tile[0], block[1] * tile[1] + index // tile[0]
        if row < size(mode(matrix, 0)) and column < size(mode(matrix, 1)):
            found.append(matrix(row, column))
    return found


def swapped(layout: Layout) -> Layout:
    return Layout(mode(layout, 1), mode(layout, 0))


def across_the_edge(known: Layout, block: tuple[int, int], threads: Sequence[int]) -> Drawn:
    """Calls of `loads` for this matrix, and for others of up to 2 × 2 tiles, stored as it is."""

    def draw(rng: Random) -> tuple:
        rows, columns, pad = rng.randint(9, 15), rng.randint(17, 31), rng.randint(0, 3)
        strides = (columns + pad, 1) if known.stride[1] == 1 else (1, rows + pad)
        return Layout((rows, columns), strides), (8, 16), block, *BY_ROWS, rng.randrange(32)

    return beside([(known, (8, 16), block, *BY_ROWS, thread) for thread in threads], draw, 12)


def row_or_column(rng: Random) -> tuple[int, int]:
    n = rng.randint(2, 40)
    return (1, n) if rng.random() < 0.5 else (n, 1)


BY_ROWS = Layout((8, 4), (4, 1)), Layout((1, 4), (4, 1))  # the threads and values of the page's pictures
WHOLE, RAGGED, PADDED = Layout((16, 32), (32, 1)), Layout((10, 26), (26, 1)), Layout((10, 26), (1, 12))

# 03.1 and 03.2 --------------------------------------------------------------------------------------------------------

FUNCTIONS = (
    value_exercise(
        ("03.2", "compose", 4),
        None,
        {
            "B stays inside A's first mode": scaled(
                "8:3 4:2", "(8,4):(4,1) 4:2", "(6,4):(4,1) 2:4", "20:2 (5,4):(4,1)"
            ),
            "B runs through several modes of A": scaled(
                *("(4,8):(8,1) 8:1", "(6,4):(4,1) 12:2", "(4,6):(1,4) 5:3", "(2,3,4):(12,4,1) (4,6):(6,1)"),
                *("(8,4):(4,1) (4,8):(8,1)", "(6,2):(8,2) (4,3):(3,1)", "(10,2):(16,4) (5,4):(1,5)"),
            ),
            "B goes on past A's end": scaled("8:3 16:1", "(4,8):(8,1) 64:1", "(4,8):(8,1) 16:4", "(4,2):(3,100) 2:16"),
            "B steps over whole modes of A": scaled("(4,8):(8,1) 4:4", "(4,8):(8,1) 4:8", "(2,2,4):(1,100,10) 2:8"),
            "stride 0 and extent 1": scaled("(4,8):(8,1) (3,4):(0,1)", "(4,8):(8,1) (4,1):(1,5)"),
            "random layouts": drawn(22, composable),
        },
        refuses(
            "no layout is the answer",
            "B's steps do not go evenly into A's modes",
            "(4,6):(1,10) 5:3",
            "(4,6):(1,10) 3:2",
            "(6,2):(8,2) 3:4",
            "(4,3):(1,8) 6:1",
            valid=composable,
        ),
        holds=same_function(composed, lambda want, a, b: b.shape),
        mistakes={"b_itself": lambda a, b: b, "b_of_a": lambda a, b: tl.compose(b, a) if a != b else None},
        library=from_here_on("compose"),
    ),
    value_exercise(
        ("03.1", "transposing", 2),
        None,
        {
            "4 rows": beside([(4, 8)], lambda rng: (4, rng.randint(5, 40)), 3),
            "more rows than columns": beside([(6, 3), (16, 2)], lambda rng: (rng.randint(9, 40), 8), 3),
            "one row, one column": beside([(1, 8), (8, 1)], row_or_column, 3),
            "any size": beside([(5, 7)], lambda rng: (rng.randint(2, 20), rng.randint(2, 20)), 3),
        },
        holds=same_function(lambda rows, columns: Layout((columns, rows), (rows, 1)), its_own),
        mistakes={
            "reshaped": lambda rows, columns: Layout((columns, rows), (1, columns)),
            "rows_for_columns": lambda rows, columns: Layout((columns, rows), (columns, 1)),
            "turned_shape_only": lambda rows, columns: Layout((columns, rows), (1, rows)),
        },
        library=ELSEWHERE,
    ),
)

# 03.3 and 03.4: thread-value layouts ----------------------------------------------------------------------------------

PRODUCTS = (
    value_exercise(
        ("03.4", "loads", 4),
        loads,
        {
            "tiles that are whole": stretched([(WHOLE, (8, 16), (n % 2, n // 2), *BY_ROWS, 17) for n in range(4)]),
            "a tile across the right edge": across_the_edge(RAGGED, (0, 1), (17, 18, 19)),
            "a tile across the lower edge": across_the_edge(RAGGED, (1, 0), (17, 0, 8)),
            "stored by columns, padded": across_the_edge(PADDED, (1, 1), (0, 4, 8)),
        },
        mistakes={
            "by_offset": lambda matrix, *others: [
                offset for offset in loads(Layout((2**9, 2**9), matrix.stride), *others) if offset < cosize(matrix)
            ],
            "all": lambda matrix, *others: loads(Layout((2**9, 2**9), matrix.stride), *others),
        },
        library=ELSEWHERE,
    ),
    value_exercise(
        ("03.3", "layout_tv", 3),
        None,
        {
            "vectors along a row": alike("(8,4):(4,1) (1,4):(4,1)", "(8,16):(16,1) (1,8):(8,1)"),
            "small matrices": alike("(2,3):(3,1) (2,2):(2,1)", "(4,8):(1,4) (2,2):(1,2)", "(4,8):(8,1) (4,2):(1,4)"),
            "one value each, one thread": alike("(4,8):(8,1) (1,1):(1,1)", "(1,1):(1,1) (4,2):(2,1)"),
            "random matrices": drawn(212, two_matrices),
        },
        holds=same_function(threads_and_values, by_mode),
        mistakes={
            "blocked": lambda threads, values: threads_and_values(threads, values, tl.blocked_product(threads, values)),
            "modes_swapped": lambda threads, values: swapped(threads_and_values(threads, values)),
        },
        library={"tiled_copy_view": tiled_copy_view, "TiledCopyView.layout": TiledCopyView.layout} | ELSEWHERE,
    ),
)
EXERCISES = (*FUNCTIONS, *PRODUCTS)

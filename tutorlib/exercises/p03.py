"""Exercises of notebook 03: the layout algebra.

Every operator is compared, as a function, with tensor_layouts', on known layouts and on those that a seed draws. Tests
compare both with the real CuTe DSL.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

import tensor_layouts as tl
from tensor_layouts import Layout, flatten, mode, size

from tutorlib.checking.exercise import Answer
from tutorlib.checking.randomness import beside
from tutorlib.exercises.layout_laws import (
    alike,
    by_mode,
    composable,
    its_own,
    offset_and_layout,
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


def by_ones(tiler: Sequence[int]) -> tuple[Layout, ...]:
    """A tiler of plain numbers as CuTe takes it."""
    return tuple(Layout(extent, 1) for extent in tiler)


def tiles_of(layout: Layout, tile: Sequence[int]) -> Layout:
    return tl.zipped_divide(layout, by_ones(tile))


def block_tile(layout: Layout, tile: tuple[int, int], block: tuple[int, int]) -> tuple[int, Layout]:
    """start + R(i, j) == A(block · tile + (i, j)), for the pair (start, R), where R has the shape `tile`.

    What local_tile gives a thread block in the GEMM tutorial of the CuTe docs (0x_gemm_tutorial.md).
    """
    tiles = tiles_of(layout, tile)
    return tiles(((0, 0), block)), mode(tiles, 0)


def thread_tile(
    matrix: Layout, tile: tuple[int, int], block: tuple[int, int], threads: Layout, values: Layout
) -> tuple[int, Layout]:
    """start + R(t, v) is the offset of the element that thread t of the block has as its value v."""
    start, inside = block_tile(matrix, tile, block)
    return start, tl.compose(inside, threads_and_values(threads, values))


def threads_and_values(threads: Layout, values: Layout, tile: Layout | None = None) -> Layout:
    """make_layout_tv. tile: thread and value of an element, as one number; without it the raked product."""
    inverse = tl.right_inverse(tile or tl.raked_product(threads, values))
    return tl.compose(inverse, Layout((size(threads), size(values))))


def swapped(layout: Layout) -> Layout:
    return Layout(mode(layout, 1), mode(layout, 0))


def row_or_column(rng: Random) -> tuple[int, int]:
    n = rng.randint(2, 40)
    return (1, n) if rng.random() < 0.5 else (n, 1)


BY_ROWS = Layout((8, 4), (4, 1)), Layout((1, 4), (4, 1))  # the threads and values of the page's pictures

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
        ("03.4", "thread_tile", 4),
        None,
        {
            "every block of a 16×32 matrix": stretched(
                [(Layout((16, 32), (32, 1)), (8, 16), (n % 2, n // 2), *BY_ROWS) for n in range(4)]
            ),
            "other threads, padded rows": scaled(
                "(16,32):(40,1) (8,16) (1,0) (8,4):(1,8) (1,4):(4,1)",
                "(640,512):(1,640) (4,4) (31,2) (2,4):(1,2) (2,1):(1,2)",
            ),
            "a matrix stored in blocks": scaled(
                "((2,4),(2,4)):((1,16),(2,4)) (4,4) (1,1) (4,2):(2,1) (1,2):(2,1)",
                "((4,4),(4,2)):((1,32),(4,16)) (8,4) (0,1) (8,1):(1,8) (1,4):(4,1)",
                "((4,2),(4,2)):((1,32),(4,16)) (2,2) (2,1) (2,1):(1,2) (1,2):(2,1)",
            ),
        },
        holds=offset_and_layout(thread_tile, by_mode),
        mistakes={
            "in_the_tile": lambda matrix, tile, block, *both: (
                block_tile(matrix, tile, block)[0],
                threads_and_values(*both),
            ),
            "block_turned": lambda matrix, tile, block, *both: thread_tile(matrix, tile, block[::-1], *both),
            "coordinate_in_the_tile": lambda matrix, tile, block, *both: (
                tiles_of(matrix, tile)((block, (0, 0))),
                thread_tile(matrix, tile, block, *both)[1],
            ),
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

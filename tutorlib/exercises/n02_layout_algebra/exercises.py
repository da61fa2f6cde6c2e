"""Exercises of notebook 02: the layout algebra.

Every operator is compared, as a function, with tensor_layouts' and with the real CuTe DSL's, on known layouts and on
those that a seed draws.
"""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, size

from tutorlib.checking.exercise import Answer
from tutorlib.checking.randomness import Drawn, beside, stretched
from tutorlib.checking.values import Case, Mistake, ValueExercise, equals, law
from tutorlib.exercises.n02_layout_algebra.laws import (
    any_shape,
    by_cute,
    by_halves,
    by_mode,
    coalesced,
    composed,
    is_block_tile,
    is_right_inverse,
    refuses,
    same_function,
)
from tutorlib.exercises.n02_layout_algebra.random_layouts import (
    alike,
    block_and_grid,
    composable,
    drawn,
    layout_and_bound,
    one_layout,
    two_matrices,
    two_ways_to_store,
)
from tutorlib.exercises.words import mistakes
from tutorlib.layouts.notation import calls
from tutorlib.layouts.tiled_copy import TiledCopyView, tiled_copy_view

OPERATORS = (  # in the page's order: each may be written with those before it, and many of the later ones call it
    *("coalesce", "compose", "complement", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide"),
    *("logical_product", "zipped_product", "tiled_product", "flat_product", "blocked_product", "raked_product"),
    *("right_inverse", "left_inverse", "max_common_layout", "max_common_vector"),
)
# CuTe, which judges the answers, and the algebra as torch has it: no answer may ask them.
ELSEWHERE: dict[str, Any] = {name: name for name in ("ask", "oracle", "cutlass", "_pycute")}
algebra_exercise = partial(ValueExercise, library=ELSEWHERE)


def of_tl(*operators: str) -> dict[str, Answer]:
    """The library of an exercise: these operators of tensor_layouts."""
    return {f"tl.{name}": getattr(tl, name) for name in operators} | ELSEWHERE


def from_here_on(operator: str) -> dict[str, Answer]:
    """The library of the exercise that asks for this operator: it and the later ones."""
    return of_tl(*OPERATORS[OPERATORS.index(operator) :])


def swapped(layout: Layout) -> Layout:
    return Layout(mode(layout, 1), mode(layout, 0))


def by_ones(tiler: Sequence[int]) -> tuple[Layout, ...]:
    """A tiler of plain numbers as CuTe takes it."""
    return tuple(Layout(extent, 1) for extent in tiler)


# 02.1 to 02.4 -----------------------------------------------------------------------------------------------------

COALESCE = mistakes(
    "02.1",
    always_merged=lambda layout: Layout(size(layout), flatten(layout.stride)[0]),
    merged_from_the_right=lambda layout: tl.coalesce(Layout(flatten(layout.shape)[::-1], flatten(layout.stride)[::-1])),
)
COMPOSE = mistakes(
    "02.2",
    b_itself=lambda a, b: b,
    b_of_a=lambda a, b: tl.compose(b, a) if a != b else None,
)
TRANSPOSE = mistakes(
    "02.3",
    reshaped=lambda rows, columns: Layout((columns, rows), (1, columns)),
    rows_for_columns=lambda rows, columns: Layout((columns, rows), (columns, 1)),
    turned_shape_only=lambda rows, columns: Layout((columns, rows), (1, rows)),
)
COMPLEMENT = mistakes(
    "02.4",
    up_to_the_last_offset=lambda layout, bound: tl.complement(layout, cosize(layout)),
    after_the_last_offset=lambda layout, bound: Layout(-(-bound // cosize(layout)), cosize(layout)),
    size_apart=lambda layout, bound: Layout(-(-bound // size(layout)), size(layout)),
)

coalescing = partial(law, holds=coalesced(tl.coalesce), mistakes=COALESCE)
composition = partial(law, holds=same_function(composed, lambda want, a, b: b.shape), mistakes=COMPOSE)
transposition = partial(
    law,
    holds=same_function(lambda rows, columns: Layout((columns, rows), (rows, 1)), lambda want, *args: want.shape),
    mistakes=TRANSPOSE,
)
complementing = partial(law, holds=same_function(tl.complement), mistakes=COMPLEMENT)


COALESCED = beside(calls("(2,(1,6)):(1,(6,2))", "((2,2),(4,2)):((1,16),(2,8))"), one_layout, 4)


def one_row_or_column(rng: Random) -> tuple[int, int]:
    n = rng.randint(2, 40)
    return (1, n) if rng.random() < 0.5 else (n, 1)


def same_as_cute(
    operation: str, tried: Drawn, known: tuple[Mistake, ...], shape: Callable[..., Any] = any_shape
) -> Case:
    """The last case of an exercise: the same function as what CuTe's operation of this name gives."""
    return law("the same as CuTe", tried, same_function(by_cute(operation, tried), shape), known)


FUNCTIONS = (
    algebra_exercise(
        id="02.1",
        title="coalesce",
        points=3,
        library=from_here_on("coalesce"),
        cases=(
            coalescing(
                "modes that continue each other become one",
                alike(calls("(4,8):(1,4)", "(2,(2,3)):(5,(10,20))", "(3,5):(0,0)")),
            ),
            coalescing(
                "modes that do not stay apart", alike(calls("(4,8):(8,1)", "(4,8):(1,8)", "(4,(2,3)):(6,(1,2))"))
            ),
            coalescing(
                "modes of extent 1 go", alike(calls("(2,1,6):(1,7,2)", "(1,(1,4)):(9,(1,2))", "(1,1):(3,5)", "1:7"))
            ),
            coalescing("random layouts", drawn(21, one_layout)),
            law("the same as CuTe", COALESCED, coalesced(by_cute("coalesce", COALESCED)), COALESCE),
        ),
    ),
    algebra_exercise(
        id="02.2",
        title="compose",
        points=4,
        library=from_here_on("compose"),
        cases=(
            composition(
                "B stays inside A's first mode",
                stretched(calls("8:3 4:2", "(8,4):(4,1) 4:2", "(6,4):(4,1) 2:4", "20:2 (5,4):(4,1)")),
            ),
            composition(
                "B runs through several modes of A",
                stretched(
                    calls("(4,8):(8,1) 8:1", "(6,4):(4,1) 12:2", "(4,6):(1,4) 5:3", "(2,3,4):(12,4,1) (4,6):(6,1)")
                ),
            ),
            composition(
                "B goes on past A's end",
                stretched(calls("8:3 16:1", "(4,8):(8,1) 64:1", "(4,8):(8,1) 16:4", "(4,2):(3,100) 2:16")),
            ),
            composition(
                "B steps over whole modes of A",
                stretched(calls("(4,8):(8,1) 4:4", "(4,8):(8,1) 4:8", "(2,2,4):(1,100,10) 2:8")),
            ),
            composition(
                "stride 0 and extent 1", stretched(calls("(4,8):(8,1) (3,4):(0,1)", "(4,8):(8,1) (4,1):(1,5)"))
            ),
            composition("random layouts", drawn(22, composable)),
            refuses(
                "no layout is the answer",
                calls("(4,6):(1,10) 5:3", "(4,6):(1,10) 3:2", "(6,2):(8,2) 3:4", "(4,3):(1,8) 6:1"),
                "B's steps do not go evenly into A's modes",
                composable,
            ),
            same_as_cute(
                "composition",
                beside(
                    calls(
                        "(8,4):(4,1) (4,8):(8,1)",
                        "(6,2):(8,2) (4,3):(3,1)",
                        "(10,2):(16,4) (5,4):(1,5)",
                        "((2,2),(4,2)):((1,16),(2,8)) ((2,2),4):((4,1),8)",
                        "8:3 16:1",
                    ),
                    composable,
                    4,
                ),
                COMPOSE,
            ),
        ),
    ),
    algebra_exercise(
        id="02.3",
        title="transposing",
        points=2,
        cases=(
            transposition("4 rows", beside([(4, 8)], lambda rng: (4, rng.randint(5, 40)), 3)),
            transposition("more rows than columns", beside([(6, 3), (16, 2)], lambda rng: (rng.randint(9, 40), 8), 3)),
            transposition("one row, one column", beside([(1, 8), (8, 1)], one_row_or_column, 3)),
            transposition("any size", beside([(5, 7)], lambda rng: (rng.randint(2, 20), rng.randint(2, 20)), 3)),
        ),
    ),
    algebra_exercise(
        id="02.4",
        title="complement",
        points=3,
        library=from_here_on("complement"),
        cases=(
            complementing("holes after the layout", alike(calls("4:1 24", "(4,2):(1,4) 8"))),
            complementing("holes inside it too", alike(calls("4:2 24", "(2,2):(1,6) 24", "3:5 15"))),
            complementing("modes in any order, nested", alike(calls("(2,2):(8,2) 32", "(2,(2,3)):(6,(1,24)) 144"))),
            complementing(
                "extent 1 and stride 0 reach nothing new", alike(calls("(4,3):(1,0) 24", "(1,4):(5,2) 16", "1:0 6"))
            ),
            complementing("a bound that is no multiple", alike(calls("4:1 10", "4:2 17", "(2,2):(1,4) 9"))),
            complementing("random layouts", drawn(24, layout_and_bound)),
            refuses(
                "no layout is the answer",
                calls("(4,2):(2,3) 24", "(2,2):(2,3) 12", "(2,2):(6,2) 24"),
                "the modes get in each other's way",
                layout_and_bound,
            ),
            same_as_cute(
                "complement",
                beside(calls("4:2 24", "(2,2):(8,2) 32", "(2,(2,3)):(6,(1,24)) 144"), layout_and_bound, 1),
                COMPLEMENT,
            ),
        ),
    ),
)

# 02.5 to 02.7: division into tiles --------------------------------------------------------------------------------

DIVIDE = mistakes(
    "02.5",
    modes_swapped=lambda layout, tile: swapped(tl.logical_divide(layout, tile)),
    cosize_of_the_layout=lambda layout, tile: tl.compose(layout, Layout(tile, tl.complement(tile, cosize(layout)))),
    indices=lambda layout, tile: Layout(tile, tl.complement(tile, size(layout))),
)
ZIP = mistakes(
    "02.6",
    mode_by_mode=lambda layout, tiler: tl.logical_divide(layout, by_ones(tiler)),
    halves_swapped=lambda layout, tiler: swapped(tl.zipped_divide(layout, by_ones(tiler))),
    plain_numbers=tl.zipped_divide,
)


def tiles_of(layout: Layout, tile: tuple[int, int]) -> Layout:
    return tl.zipped_divide(layout, by_ones(tile))


BLOCK = mistakes(
    "02.7",
    coordinate_in_the_tile=lambda layout, tile, block: (
        tiles_of(layout, tile)((block, (0, 0))),
        mode(tiles_of(layout, tile), 0),
    ),
    block_turned=lambda layout, tile, block: (
        tiles_of(layout, tile)(((0, 0), block[::-1])),
        mode(tiles_of(layout, tile), 0),
    ),
)

division = partial(law, holds=same_function(tl.logical_divide, by_mode), mistakes=DIVIDE)
zipping = partial(law, holds=same_function(tiles_of, by_halves), mistakes=ZIP)
block_tiling = partial(law, holds=is_block_tile, mistakes=BLOCK)
DIVISIONS = ("zipped_divide", "tiled_divide", "flat_divide")
MATRIX = Layout((16, 8), (8, 1))
BLOCKED = calls("(16,8):(8,1) (4,4)", "(4,6,8):(48,8,1) (2,3,4)", "((4,2),(4,2)):((1,32),(4,16)) (2,2)")

DIVIDING = (
    algebra_exercise(
        id="02.5",
        title="logical_divide",
        points=2,
        library=of_tl("logical_divide", *DIVISIONS),
        cases=(
            division("a contiguous tile", stretched(calls("24:3 4:1", "(4,8):(8,1) 8:1"))),
            division("a tile of every third, every eighth", stretched(calls("24:2 4:3", "(4,8):(8,1) 4:8"))),
            division("random layouts", drawn(25, composable)),
            division("a last tile that sticks out", stretched(calls("10:1 4:1", "17:1 5:1"))),
            same_as_cute(
                "logical_divide",
                beside(calls("24:3 4:1", "(4,8):(8,1) 4:8", "10:1 4:1", "(4,2,3):(2,1,8) 4:2"), composable, 1),
                DIVIDE,
                by_mode,
            ),
        ),
    ),
    algebra_exercise(
        id="02.6",
        title="zipped_divide",
        points=3,
        library=of_tl("hier_unzip", *DIVISIONS),
        cases=(
            zipping("a matrix", stretched(calls("(16,8):(8,1) (4,4)", "(16,8):(1,16) (8,2)", "(12,10):(10,1) (3,5)"))),
            zipping("three modes", stretched(calls("(4,6,8):(48,8,1) (2,3,4)"))),
            zipping(
                "modes that are nested",
                stretched(
                    calls(
                        "((2,2),(4,2)):((1,16),(2,8)) (2,4)",
                        "((4,2),(4,2)):((1,32),(4,16)) (2,2)",
                        "(8,(2,4)):(8,(1,2)) (4,4)",
                    )
                ),
            ),
            zipping("tiles that stick out", stretched(calls("(10,8):(8,1) (4,3)"))),
            same_as_cute("zipped_divide", stretched([*BLOCKED, *calls("(10,8):(8,1) (4,3)")]), ZIP, by_halves),
        ),
    ),
    algebra_exercise(
        id="02.7",
        title="block_tile",
        points=2,
        cases=(
            block_tiling(
                "every block of the 16×8",
                stretched([(MATRIX, (4, 4), (row, column)) for row in range(4) for column in range(2)]),
            ),
            block_tiling(
                "tiles that are not square", stretched(calls("(16,8):(1,16) (8,2) (1,3)", "(16,8):(8,1) (2,8) (5,0)"))
            ),
            block_tiling(
                "a matrix stored in blocks",
                stretched(
                    calls(
                        "((2,4),(2,4)):((1,16),(2,4)) (2,4) (3,1)",
                        "((4,4),(4,2)):((1,32),(4,16)) (2,2) (3,2)",
                        "((4,2),(4,2)):((1,32),(4,16)) (2,2) (2,1)",
                        "((4,2),(4,2)):((1,32),(4,16)) (8,2) (0,3)",
                    )
                ),
            ),
            block_tiling(
                "a large matrix",
                stretched(calls("(4096,4096):(4096,1) (32,8) (127,3)", "(640,512):(520,1) (32,16) (2,31)")),
            ),
        ),
    ),
)

# 02.8 to 02.12: products, inverses, thread-value layouts ----------------------------------------------------------

PRODUCT = mistakes(
    "02.8",
    size_apart=lambda block, grid: Layout(block, times(grid, size(block))),
    cosize_apart=lambda block, grid: Layout(block, times(grid, cosize(block))),
    grid_own_offsets=Layout,
    in_order=lambda block, grid: Layout(block, tl.complement(block, size(block) * size(grid))),
    modes_swapped=lambda block, grid: swapped(tl.logical_product(block, grid)),
)
BLOCKED_PRODUCT = mistakes("02.9", raked=tl.raked_product, not_paired=tl.logical_product)
INVERSE = mistakes(
    "02.10",
    stride_and_shape_swapped=lambda layout: Layout(layout.stride, layout.shape),
    holes=tl.left_inverse,
    one_mode=lambda layout: mode(tl.right_inverse(layout), 0),
    itself=tl.coalesce,
)
VECTOR = mistakes(
    "02.11",
    each_by_itself=lambda a, b: min(size(tl.right_inverse(a)), size(tl.right_inverse(b))),
    any_stride=lambda a, b: flatten((tl.coalesce(tl.compose(b, tl.right_inverse(a))).shape,))[0],
    a_alone=lambda a, b: size(tl.right_inverse(a)),
    b_alone=lambda a, b: size(tl.right_inverse(b)),
)
THREAD_VALUE = mistakes(
    "02.12",
    blocked=lambda threads, values: threads_and_values(threads, values, tl.blocked_product(threads, values)),
    modes_swapped=lambda threads, values: swapped(threads_and_values(threads, values)),
    threads_inside=lambda threads, values: threads_and_values(threads, values, tl.raked_product(values, threads)),
)


def times(layout: Layout, factor: int) -> Layout:
    return Layout(layout.shape, tl.transform_tuple(layout.stride, lambda step: step * factor))


def paired(block: Layout, grid: Layout) -> Layout:
    """The blocked product: rows with rows, columns with columns."""
    inside, copies = (mode(tl.logical_product(block, grid), half) for half in range(2))
    return Layout(*(Layout(mode(inside, n), mode(copies, n)) for n in range(2)))


def threads_and_values(threads: Layout, values: Layout, tile: Layout | None = None) -> Layout:
    """make_layout_tv. tile: thread and value of an element, as one number; without it the raked product."""
    inverse = tl.right_inverse(tile or tl.raked_product(threads, values))
    return tl.compose(inverse, Layout((size(threads), size(values))))


repetition = partial(law, holds=same_function(tl.logical_product, by_mode), mistakes=PRODUCT)
blocking = partial(law, holds=same_function(paired, by_mode), mistakes=BLOCKED_PRODUCT)
inversion = partial(law, holds=is_right_inverse, mistakes=INVERSE)
together = partial(equals, wanted=tl.max_common_vector, mistakes=VECTOR)
sharing = partial(law, holds=same_function(threads_and_values, by_mode), mistakes=THREAD_VALUE)

PRODUCTS = (
    algebra_exercise(
        id="02.8",
        title="logical_product",
        points=3,
        library=of_tl(*(name for name in OPERATORS if name.endswith("_product"))),
        cases=(
            repetition("copies of a row", alike(calls("4:1 6:1", "5:1 (2,3):(3,1)"))),
            repetition("a block with holes", alike(calls("(2,2):(4,1) 6:1", "4:2 4:1"))),
            repetition("copies in another order", alike(calls("(2,2):(1,2) (3,4):(4,1)", "(2,2):(4,1) (4,2):(2,1)"))),
            repetition("a grid with holes", alike(calls("4:2 2:2", "4:1 2:3", "2:4 (2,2):(1,4)"))),
            repetition("random layouts", drawn(28, block_and_grid)),
            same_as_cute(
                "logical_product",
                beside(
                    calls("4:1 6:1", "(2,2):(4,1) (4,2):(2,1)", "(2,5):(5,1) (3,4):(1,3)", "4:2 2:2"), block_and_grid, 1
                ),
                PRODUCT,
                by_mode,
            ),
        ),
    ),
    algebra_exercise(
        id="02.9",
        title="blocked_product",
        points=2,
        library=of_tl("blocked_product"),
        cases=(
            blocking(
                "blocks side by side",
                alike(calls("(2,2):(1,2) (2,3):(3,1)", "(4,2):(2,1) (2,2):(1,2)", "(1,4):(4,1) (8,4):(4,1)")),
            ),
            blocking("a block with holes", alike(calls("(2,2):(4,1) (2,3):(1,2)", "(2,2):(2,8) (2,2):(2,1)"))),
            blocking("random matrices", drawn(29, two_matrices)),
            same_as_cute(
                "blocked_product",
                beside(
                    calls("(2,2):(1,2) (2,3):(3,1)", "(2,2):(4,1) (2,4):(1,2)", "(2,5):(5,1) (3,4):(1,3)"),
                    two_matrices,
                    1,
                ),
                BLOCKED_PRODUCT,
                by_mode,
            ),
        ),
    ),
    algebra_exercise(
        id="02.10",
        title="right_inverse",
        points=3,
        library=from_here_on("right_inverse"),
        cases=(
            inversion("compact layouts", alike(calls("(4,8):(8,1)", "(4,8):(1,4)", "(2,3,4):(4,8,1)", "8:1"))),
            inversion("nested ones", alike(calls("((2,2),(4,2)):((1,16),(2,8))", "(4,(2,3)):(2,(1,8))"))),
            inversion("memory with holes", alike(calls("(4,8):(16,1)", "(4,3):(1,8)", "(2,4,2):(1,2,16)"))),
            inversion("modes of extent 1", alike(calls("(1,4):(0,1)", "(4,1,8):(1,2,4)", "1:3"))),
            inversion("nothing at offset 1", alike(calls("4:2", "(4,4):(16,4)", "(2,4):(8,2)"))),
            inversion("random layouts", drawn(210, one_layout)),
            same_as_cute(
                "right_inverse",
                beside(calls("(4,8):(8,1)", "(4,8):(16,1)", "((2,2),(4,2)):((1,16),(2,8))"), one_layout, 4),
                INVERSE,
            ),
        ),
    ),
    algebra_exercise(
        id="02.11",
        title="common_vector",
        points=2,
        library=of_tl("max_common_vector", "max_common_layout"),
        cases=(
            together(
                "the same order",
                beside(
                    calls("(4,8):(8,1) (4,8):(8,1)", "(8,4):(1,8) (8,4):(1,16)", "64:1 (8,8):(1,8)"),
                    two_ways_to_store,
                    3,
                ),
            ),
            together(
                "rows, padded or in blocks",
                beside(
                    calls("(4,8):(8,1) (4,8):(16,1)", "(4,8):(16,1) (4,8):(8,1)", "(4,8):(8,1) (4,(4,2)):(4,(1,16))"),
                    two_ways_to_store,
                    3,
                ),
            ),
            together(
                "another order",
                beside(
                    calls(
                        "(4,8):(8,1) (4,8):(1,4)",
                        "(4,8):(1,4) (4,8):(8,1)",
                        "((2,2),(4,2)):((1,16),(2,8)) (4,8):(1,4)",
                    ),
                    two_ways_to_store,
                    3,
                ),
            ),
            together(
                "nothing side by side",
                beside(calls("64:2 64:2", "(4,4):(8,2) (4,4):(4,1)"), partial(two_ways_to_store, apart=2), 3),
            ),
            together("random layouts", drawn(211, two_ways_to_store)),
        ),
    ),
    algebra_exercise(
        id="02.12",
        title="layout_tv",
        points=3,
        library={"tiled_copy_view": tiled_copy_view, "TiledCopyView.layout": TiledCopyView.layout} | ELSEWHERE,
        cases=(
            sharing("vectors along a row", alike(calls("(8,4):(4,1) (1,4):(4,1)", "(8,16):(16,1) (1,8):(8,1)"))),
            sharing(
                "small matrices",
                alike(calls("(2,3):(3,1) (2,2):(2,1)", "(4,8):(1,4) (2,2):(1,2)", "(4,8):(8,1) (4,2):(1,4)")),
            ),
            sharing("one value each, one thread", alike(calls("(4,8):(8,1) (1,1):(1,1)", "(1,1):(1,1) (4,2):(2,1)"))),
            sharing("random matrices", drawn(212, two_matrices)),
        ),
    ),
)
EXERCISES = (*FUNCTIONS, *DIVIDING, *PRODUCTS)

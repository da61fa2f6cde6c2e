"""Exercises of notebook 02: the layout algebra.

Every operator is checked by its defining law on layouts that a seed draws, and against the real CuTe DSL as a
function: see tutorlib.exercises.algebra.
"""

from dataclasses import replace
from functools import partial

import tensor_layouts as tl
from tensor_layouts import Layout

from tutorlib.checking.exercise import Remedy
from tutorlib.checking.values import ValueExercise, equals, law
from tutorlib.exercises.algebra import laws, mistakes
from tutorlib.exercises.algebra.cases import agrees_with_cute, refuses
from tutorlib.exercises.algebra.random_layouts import (
    block_and_grid,
    composable,
    drawn,
    layout_and_bound,
    one_layout,
    two_matrices,
    two_ways_to_store,
)
from tutorlib.layouts.oracle import ask
from tutorlib.layouts.tiled_copy import tiled_copy_view

# 02.1 coalesce ---------------------------------------------------------------------------------------------------

coalescing = partial(law, holds=laws.is_coalesced, mistakes=mistakes.COALESCE)

COALESCE = ValueExercise(
    id="02.1",
    title="coalesce",
    points=3,
    library={"tl.coalesce": tl.coalesce},
    cases=(
        coalescing(
            "modes that continue each other become one",
            [(Layout((4, 8), (1, 4)),), (Layout((2, (2, 3)), (5, (10, 20))),), (Layout((3, 5), (0, 0)),)],
        ),
        coalescing(
            "modes that do not stay apart",
            [(Layout((4, 8), (8, 1)),), (Layout((4, 8), (1, 8)),), (Layout((4, (2, 3)), (6, (1, 2))),)],
        ),
        coalescing(
            "modes of extent 1 go",
            [
                (Layout((2, 1, 6), (1, 7, 2)),),
                (Layout((1, (1, 4)), (9, (1, 2))),),
                (Layout((1, 1), (3, 5)),),
                (Layout(1, 7),),
            ],
        ),
        coalescing("random layouts", drawn(21, one_layout)),
        agrees_with_cute(
            "coalesce",
            [(Layout((2, (1, 6)), (1, (6, 2))),), (Layout(((2, 2), (4, 2)), ((1, 16), (2, 8))),)],
            mistakes.COALESCE,
            as_written=True,
        ),
    ),
    remedies=(
        Remedy("could be one", "Compare with the last mode that you kept, after what was merged into it."),
        Remedy(("brackets", "nested"), "Layout(32, 1) for one mode; Layout((4, 2), (1, 8)) for several, flat."),
    ),
    hints=(
        "Walk over the flat modes from the left and keep a list of those you have; compare with the last one in it.",
        "Skip extent 1. If the new stride is extent · stride of the last kept mode, multiply that mode's extent.",
        "Three ends to tie up: no mode left is Layout(1, 0), one is Layout(4, 1), more are Layout((4, 2), (1, 8)).",
    ),
)

# 02.2 compose ----------------------------------------------------------------------------------------------------

composition = partial(law, holds=laws.is_composition, mistakes=mistakes.COMPOSE)

COMPOSE = ValueExercise(
    id="02.2",
    title="compose",
    points=4,
    library={"tl.compose": tl.compose},
    cases=(
        composition(
            "B stays inside A's first mode",
            [
                (Layout(8, 3), Layout(4, 2)),
                (Layout((8, 4), (4, 1)), Layout(4, 2)),
                (Layout((6, 4), (4, 1)), Layout(2, 4)),
                (Layout(20, 2), Layout((5, 4), (4, 1))),
            ],
        ),
        composition(
            "B runs through several modes of A",
            [
                (Layout((4, 8), (8, 1)), Layout(8, 1)),
                (Layout((6, 4), (4, 1)), Layout(12, 2)),
                (Layout((4, 6), (1, 4)), Layout(5, 3)),
                (Layout((2, 3, 4), (12, 4, 1)), Layout((4, 6), (6, 1))),
            ],
        ),
        composition(
            "B goes on past A's end",
            [
                (Layout(8, 3), Layout(16, 1)),
                (Layout((4, 8), (8, 1)), Layout(64, 1)),
                (Layout((4, 8), (8, 1)), Layout(16, 4)),
                (Layout((4, 2), (3, 100)), Layout(2, 16)),
            ],
        ),
        composition(
            "B steps over whole modes of A",
            [
                (Layout((4, 8), (8, 1)), Layout(4, 4)),
                (Layout((4, 8), (8, 1)), Layout(4, 8)),
                (Layout((2, 2, 4), (1, 100, 10)), Layout(2, 8)),
            ],
        ),
        composition(
            "stride 0 and extent 1",
            [(Layout((4, 8), (8, 1)), Layout((3, 4), (0, 1))), (Layout((4, 8), (8, 1)), Layout((4, 1), (1, 5)))],
        ),
        composition("random layouts", drawn(22, composable)),
        refuses(
            "no layout is the answer",
            [
                (Layout((4, 6), (1, 10)), Layout(5, 3)),
                (Layout((4, 6), (1, 10)), Layout(3, 2)),
                (Layout((6, 2), (8, 2)), Layout(3, 4)),
                (Layout((4, 3), (1, 8)), Layout(6, 1)),
            ],
            "B's steps do not go evenly into A's modes",
        ),
        agrees_with_cute(
            "composition",
            [
                (Layout((8, 4), (4, 1)), Layout((4, 8), (8, 1))),
                (Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))),
                (Layout((10, 2), (16, 4)), Layout((5, 4), (1, 5))),
                (Layout(((2, 2), (4, 2)), ((1, 16), (2, 8))), Layout(((2, 2), 4), ((4, 1), 8))),
                (Layout(8, 3), Layout(16, 1)),
            ],
            mistakes.COMPOSE,
        ),
    ),
    remedies=(
        Remedy(
            "raise ValueError", "Both divisions must come out even: extent by step, and left by what the mode takes."
        ),
        Remedy("past A's end", "Don't step over the last mode, and don't cut it off at its extent."),
        Remedy(
            "several modes of A",
            "Over a whole mode step becomes step // extent; in a filled mode it becomes 1, and left is left // take.",
        ),
    ),
    hints=(
        "Walk over the modes of coalesce(A), the first one first, and keep two numbers: how many elements of B are "
        "left to place, and by how many elements of the present mode B steps.",
        "In a mode of extent s: if the step is a multiple of s, B jumps over the mode, and in the next one its step is "
        "step // s. If s is a multiple of the step, the mode holds s // step of B's elements; then the step is 1.",
        "In the last mode there is nowhere else to go: all that is left is placed there. Where B's elements all lie in "
        "one mode, (left - 1) * step < s, nothing has to divide anything.",
    ),
)

# 02.3 transposed -------------------------------------------------------------------------------------------------

transposition = partial(law, holds=laws.is_transpose, mistakes=mistakes.TRANSPOSE)

TRANSPOSED = ValueExercise(
    id="02.3",
    title="transposed",
    points=2,
    cases=(
        transposition("a row-major matrix", [(Layout((4, 8), (8, 1)),)]),
        transposition("a column-major matrix", [(Layout((6, 3), (1, 6)),)]),
        transposition("rows padded to 12", [(Layout((4, 8), (12, 1)),)]),
        transposition(
            "a matrix stored in blocks",
            [(Layout(((2, 2), (4, 2)), ((1, 16), (2, 8))),), (Layout((4, (2, 4)), (2, (1, 8))),)],
        ),
    ),
    remedies=(Remedy("should be a matrix", "The shape of B is (columns, rows): what the transpose is indexed by."),),
    hints=(
        "The transpose is layout ∘ B. B takes (column, row) and gives the *index* of (row, column) in the matrix.",
        "Indices run down the columns: (row, column) has the index row + column * rows.",
        "So B has the shape (columns, rows) and the stride (rows, 1).",
    ),
)

# 02.4 complement -------------------------------------------------------------------------------------------------

complementing = partial(law, holds=laws.is_complement, mistakes=mistakes.COMPLEMENT)

COMPLEMENT = ValueExercise(
    id="02.4",
    title="complement",
    points=3,
    library={"tl.complement": tl.complement},
    cases=(
        complementing("holes after the layout", [(Layout(4, 1), 24), (Layout((4, 2), (1, 4)), 8)]),
        complementing("holes inside it too", [(Layout(4, 2), 24), (Layout((2, 2), (1, 6)), 24), (Layout(3, 5), 15)]),
        complementing(
            "modes in any order, nested", [(Layout((2, 2), (8, 2)), 32), (Layout((2, (2, 3)), (6, (1, 24))), 144)]
        ),
        complementing(
            "extent 1 and stride 0 reach nothing new",
            [(Layout((4, 3), (1, 0)), 24), (Layout((1, 4), (5, 2)), 16), (Layout(1, 0), 6)],
        ),
        complementing(
            "a bound that is no multiple", [(Layout(4, 1), 10), (Layout(4, 2), 17), (Layout((2, 2), (1, 4)), 9)]
        ),
        complementing("random layouts", drawn(24, layout_and_bound)),
        refuses(
            "no layout is the answer",
            [(Layout((4, 2), (2, 3)), 24), (Layout((2, 2), (2, 3)), 12), (Layout((2, 2), (6, 2)), 24)],
            "the modes get in each other's way",
        ),
        agrees_with_cute(
            "complement",
            [(Layout(4, 2), 24), (Layout((2, 2), (8, 2)), 32), (Layout((2, (2, 3)), (6, (1, 24))), 144)],
            mistakes.COMPLEMENT,
        ),
    ),
    remedies=(
        Remedy("raise ValueError", "After sorting, each stride has to be a multiple of what is filled so far."),
        Remedy(
            ("by zero", "extent 1 and stride 0"),
            "A mode of stride 0 reaches nothing new, and can't be divided by: leave it out with extent 1.",
        ),
        Remedy("modes in any order", "Fill the smallest gap first: sort by stride."),
        Remedy(
            "two copies",
            "A gap of d // reach copies, reach apart, comes before the mode; after it reach is extent · d.",
        ),
    ),
    hints=(
        "Sort the modes by stride and go through them; keep `reach`, the first offset that is not filled yet (1 at the "
        "start). A mode whose stride is larger than reach leaves a gap.",
        "The gap before a mode of stride d takes d // reach copies, reach apart: a mode (d // reach):reach of the "
        "answer. After it everything up to extent * d is filled.",
        "At the end ceil(bound / reach) copies, reach apart. Drop what has extent 1, or let tl.coalesce do it.",
    ),
)

# 02.5 logical_divide ---------------------------------------------------------------------------------------------

division = partial(law, holds=laws.is_division, mistakes=mistakes.DIVIDE)

LOGICAL_DIVIDE = ValueExercise(
    id="02.5",
    title="logical_divide",
    points=2,
    library={
        "tl.logical_divide": tl.logical_divide,
        "tl.zipped_divide": tl.zipped_divide,
        "tl.tiled_divide": tl.tiled_divide,
        "tl.flat_divide": tl.flat_divide,
    },
    cases=(
        division("a contiguous tile", [(Layout(24, 3), Layout(4, 1)), (Layout((4, 8), (8, 1)), Layout(8, 1))]),
        division(
            "a tile of every third, every eighth",
            [(Layout(24, 2), Layout(4, 3)), (Layout((4, 8), (8, 1)), Layout(4, 8))],
        ),
        division("random layouts", drawn(25, composable)),
        division("a last tile that sticks out", [(Layout(10, 1), Layout(4, 1))]),
        agrees_with_cute(
            "logical_divide",
            [
                (Layout(24, 3), Layout(4, 1)),
                (Layout((4, 8), (8, 1)), Layout(4, 8)),
                (Layout(10, 1), Layout(4, 1)),
                (Layout((4, 2, 3), (2, 1, 8)), Layout(4, 2)),
            ],
            mistakes.DIVIDE,
        ),
    ),
    remedies=(Remedy("sticks out", "The complement rounds up by itself: leave it to it."),),
    hints=(
        "The tile says which indices belong to tile 0. Which layout says where the other tiles begin?",
        "The complement of the tile in the layout's indices. Together they name every index once: Layout(tile, rest).",
        "tl.compose(layout, Layout(tile, tl.complement(tile, …))): how many indices has the layout?",
    ),
)

# 02.6 zipped_divide ----------------------------------------------------------------------------------------------

zipping = partial(law, holds=laws.is_zipped, mistakes=mistakes.ZIP)

ZIPPED_DIVIDE = ValueExercise(
    id="02.6",
    title="zipped_divide",
    points=3,
    library={
        "tl.zipped_divide": tl.zipped_divide,
        "tl.tiled_divide": tl.tiled_divide,
        "tl.flat_divide": tl.flat_divide,
    },
    cases=(
        zipping(
            "a matrix",
            [
                (Layout((16, 8), (8, 1)), (4, 4)),
                (Layout((16, 8), (1, 16)), (8, 2)),
                (Layout((12, 10), (10, 1)), (3, 5)),
            ],
        ),
        zipping("three modes", [(Layout((4, 6, 8), (48, 8, 1)), (2, 3, 4))]),
        zipping(
            "modes that are nested",
            [
                (Layout(((2, 2), (4, 2)), ((1, 16), (2, 8))), (2, 4)),
                (Layout(((4, 2), (4, 2)), ((1, 32), (4, 16))), (2, 2)),
                (Layout((8, (2, 4)), (8, (1, 2))), (4, 4)),
            ],
        ),
        zipping("tiles that stick out", [(Layout((10, 8), (8, 1)), (4, 3))]),
        agrees_with_cute(
            "zipped_divide",
            [
                (Layout((16, 8), (8, 1)), (4, 4)),
                (Layout((4, 6, 8), (48, 8, 1)), (2, 3, 4)),
                (Layout(((4, 2), (4, 2)), ((1, 32), (4, 16))), (2, 2)),
                (Layout((10, 8), (8, 1)), (4, 3)),
            ],
            mistakes.ZIP,
        ),
    ),
    remedies=(Remedy("three modes", "Loop over the tiler: a matrix is only one case."),),
    hints=(
        "First divide mode by mode: tl.logical_divide(mode(layout, 0), Layout(4, 1)), and so on. Each has two modes.",
        "Then gather: mode 0 of each result makes the tile, mode 1 of each makes the grid of tiles.",
        "Layout(a, b) bundles layouts as modes, and Layout(*parts) any number of them.",
    ),
)

# 02.7 block_tile -------------------------------------------------------------------------------------------------

block_tiling = partial(law, holds=laws.is_block_tile, mistakes=mistakes.BLOCK)

MATRIX = Layout((16, 8), (8, 1))

BLOCK_TILE = ValueExercise(
    id="02.7",
    title="block_tile",
    points=2,
    cases=(
        block_tiling(
            "every block of the 16×8", [(MATRIX, (4, 4), (row, column)) for row in range(4) for column in range(2)]
        ),
        block_tiling(
            "tiles that are not square", [(Layout((16, 8), (1, 16)), (8, 2), (1, 3)), (MATRIX, (2, 8), (5, 0))]
        ),
        block_tiling(
            "a matrix stored in blocks",
            [
                (Layout(((2, 4), (2, 4)), ((1, 16), (2, 4))), (2, 4), (3, 1)),
                (Layout(((4, 4), (4, 2)), ((1, 32), (4, 16))), (2, 2), (3, 2)),
                (Layout(((4, 2), (4, 2)), ((1, 32), (4, 16))), (2, 2), (2, 1)),
            ],
        ),
        block_tiling(
            "a large matrix",
            [(Layout((4096, 4096), (4096, 1)), (32, 8), (127, 3)), (Layout((640, 512), (520, 1)), (32, 16), (2, 31))],
        ),
    ),
    remedies=(Remedy("should be a pair", "Return two things: tiles(((0, 0), block)), and the layout inside."),),
    hints=(
        "tl.zipped_divide(layout, (Layout(4, 1), Layout(4, 1))) has the tile in mode 0, the grid of tiles in mode 1.",
        "Call it with element (0, 0) of the tile and this block: tiles(((0, 0), block)).",
    ),
)

# 02.8 logical_product --------------------------------------------------------------------------------------------

repetition = partial(law, holds=laws.is_product, mistakes=mistakes.PRODUCT)

PRODUCTS = ("logical_product", "zipped_product", "tiled_product", "flat_product", "blocked_product", "raked_product")

LOGICAL_PRODUCT = ValueExercise(
    id="02.8",
    title="logical_product",
    points=3,
    library={**{f"tl.{name}": getattr(tl, name) for name in PRODUCTS}},
    cases=(
        repetition("copies of a row", [(Layout(4, 1), Layout(6, 1)), (Layout(5, 1), Layout((2, 3), (3, 1)))]),
        repetition("a block with holes", [(Layout((2, 2), (4, 1)), Layout(6, 1)), (Layout(4, 2), Layout(4, 1))]),
        repetition(
            "copies in another order",
            [(Layout((2, 2), (1, 2)), Layout((3, 4), (4, 1))), (Layout((2, 2), (4, 1)), Layout((4, 2), (2, 1)))],
        ),
        repetition(
            "a grid with holes",
            [(Layout(4, 2), Layout(2, 2)), (Layout(4, 1), Layout(2, 3)), (Layout(2, 4), Layout((2, 2), (1, 4)))],
        ),
        repetition("random layouts", drawn(28, block_and_grid)),
        agrees_with_cute(
            "logical_product",
            [
                (Layout(4, 1), Layout(6, 1)),
                (Layout((2, 2), (4, 1)), Layout((4, 2), (2, 1))),
                (Layout((2, 5), (5, 1)), Layout((3, 4), (1, 3))),
                (Layout(4, 2), Layout(2, 2)),
            ],
            mistakes.PRODUCT,
        ),
    ),
    remedies=(
        Remedy("first mode should be the block", "The block itself is mode 0, as it stands."),
        Remedy("copies can begin at", "The complement lists where copies can begin; compose it with the grid."),
    ),
    hints=(
        "Where may a copy begin? The complement of the block lists the places, in ascending order.",
        "The grid numbers those places: mode 1 is complement(block, …) ∘ grid.",
        "The grid asks for places up to cosize(grid), each with room for a block: size(block) * cosize(grid) in all.",
    ),
)

# 02.9 blocked_product --------------------------------------------------------------------------------------------

blocking = partial(law, holds=laws.is_blocked, mistakes=mistakes.BLOCKED)

BLOCKED_PRODUCT = ValueExercise(
    id="02.9",
    title="blocked_product",
    points=2,
    library={"tl.blocked_product": tl.blocked_product, "tl.raked_product": tl.raked_product},
    cases=(
        blocking(
            "blocks side by side",
            [
                (Layout((2, 2), (1, 2)), Layout((2, 3), (3, 1))),
                (Layout((4, 2), (2, 1)), Layout((2, 2), (1, 2))),
                (Layout((1, 4), (4, 1)), Layout((8, 4), (4, 1))),
            ],
        ),
        blocking(
            "a block with holes",
            [(Layout((2, 2), (4, 1)), Layout((2, 3), (1, 2))), (Layout((2, 2), (2, 8)), Layout((2, 2), (2, 1)))],
        ),
        blocking("random matrices", drawn(29, two_matrices)),
        agrees_with_cute(
            "blocked_product",
            [
                (Layout((2, 2), (1, 2)), Layout((2, 3), (3, 1))),
                (Layout((2, 2), (4, 1)), Layout((2, 4), (1, 2))),
                (Layout((2, 5), (5, 1)), Layout((3, 4), (1, 3))),
            ],
            mistakes.BLOCKED,
        ),
    ),
    remedies=(
        Remedy("should be a matrix", "The result has two modes, rows and columns: Layout(rows, columns)."),
        Remedy("of copy", "In each mode the block's part comes first: Layout(block's rows, copies' rows)."),
    ),
    hints=(
        "The logical product has the modes ((rows, columns) of the block, (rows, columns) of the copies).",
        "Which two of these four are the rows of the result? The first of the two runs faster.",
        "Layout(Layout(block's rows, copies' rows), Layout(block's columns, copies' columns))",
    ),
)

# 02.10 right_inverse ---------------------------------------------------------------------------------------------

inversion = partial(law, holds=laws.is_right_inverse, mistakes=mistakes.INVERSE)

RIGHT_INVERSE = ValueExercise(
    id="02.10",
    title="right_inverse",
    points=3,
    library={"tl.right_inverse": tl.right_inverse, "tl.left_inverse": tl.left_inverse},
    cases=(
        inversion(
            "compact layouts",
            [(Layout((4, 8), (8, 1)),), (Layout((4, 8), (1, 4)),), (Layout((2, 3, 4), (4, 8, 1)),), (Layout(8, 1),)],
        ),
        inversion("nested ones", [(Layout(((2, 2), (4, 2)), ((1, 16), (2, 8))),), (Layout((4, (2, 3)), (2, (1, 8))),)]),
        inversion(
            "memory with holes",
            [(Layout((4, 8), (16, 1)),), (Layout((4, 3), (1, 8)),), (Layout((2, 4, 2), (1, 2, 16)),)],
        ),
        inversion("modes of extent 1", [(Layout((1, 4), (0, 1)),), (Layout((4, 1, 8), (1, 2, 4)),), (Layout(1, 3),)]),
        inversion("nothing at offset 1", [(Layout(4, 2),), (Layout((4, 4), (16, 4)),), (Layout((2, 4), (8, 2)),)]),
        inversion("random layouts", drawn(210, one_layout)),
        agrees_with_cute(
            "right_inverse",
            [(Layout((4, 8), (8, 1)),), (Layout((4, 8), (16, 1)),), (Layout(((2, 2), (4, 2)), ((1, 16), (2, 8))),)],
            mistakes.INVERSE,
        ),
    ),
    remedies=(
        Remedy(
            "modes of extent 1",
            "A mode of extent 1 moves nothing, whatever its stride: leave it out before sorting.",
        ),
        Remedy("it ends at offset", "Don't stop early: after a mode is kept, reach is multiplied by its extent."),
        Remedy("memory with holes", "Stop at the first stride that is not what is reached so far."),
        Remedy(
            "where the layout has",
            "A kept mode's stride is its distance as indices: the product of the extents before it.",
        ),
    ),
    hints=(
        "List (stride, extent, distance as indices) of every flat mode. Which of them lies at offsets 0, 1, 2 …?",
        "After sorting by stride the kept modes have strides 1, then extent · stride of the one before, and so on.",
        "The answer's modes are (extent, distance as indices) of the kept ones, in that order.",
    ),
)

# 02.11 common_vector ---------------------------------------------------------------------------------------------

together = partial(equals, wanted=tl.max_common_vector, mistakes=mistakes.VECTOR)

COMMON_VECTOR = ValueExercise(
    id="02.11",
    title="common_vector",
    points=2,
    library={"tl.max_common_vector": tl.max_common_vector, "tl.max_common_layout": tl.max_common_layout},
    cases=(
        together(
            "the same order",
            [
                (Layout((4, 8), (8, 1)), Layout((4, 8), (8, 1))),
                (Layout((8, 4), (1, 8)), Layout((8, 4), (1, 16))),
                (Layout(64, 1), Layout((8, 8), (1, 8))),
            ],
        ),
        together(
            "rows, padded or in blocks",
            [
                (Layout((4, 8), (8, 1)), Layout((4, 8), (16, 1))),
                (Layout((4, 8), (16, 1)), Layout((4, 8), (8, 1))),
                (Layout((4, 8), (8, 1)), Layout((4, (4, 2)), (4, (1, 16)))),
            ],
        ),
        together(
            "another order",
            [
                (Layout((4, 8), (8, 1)), Layout((4, 8), (1, 4))),
                (Layout((4, 8), (1, 4)), Layout((4, 8), (8, 1))),
                (Layout(((2, 2), (4, 2)), ((1, 16), (2, 8))), Layout((4, 8), (1, 4))),
            ],
        ),
        together(
            "nothing side by side", [(Layout(64, 2), Layout(64, 2)), (Layout((4, 4), (8, 2)), Layout((4, 4), (4, 1)))]
        ),
        together("random layouts", drawn(211, two_ways_to_store)),
    ),
    remedies=(Remedy("another order", "Both sides have 32 elements in one piece, but not the same ones."),),
    hints=(
        "The right inverse of A lists A's indices in the order of its memory. Where does B put these?",
        "Coalesce b ∘ right_inverse(a), and look at its first mode.",
        "If the first mode is n:1 the answer is n, else 1. flatten((x.shape,))[0] is the first extent of any layout.",
    ),
)

# 02.12 layout_tv -------------------------------------------------------------------------------------------------

sharing = partial(law, holds=laws.is_thread_value, mistakes=mistakes.THREAD_VALUE)

LAYOUT_TV = ValueExercise(
    id="02.12",
    title="layout_tv",
    points=3,
    library={"tiled_copy_view": tiled_copy_view},
    cases=(
        sharing(
            "vectors along a row",
            [(Layout((8, 4), (4, 1)), Layout((1, 4), (4, 1))), (Layout((8, 16), (16, 1)), Layout((1, 8), (8, 1)))],
        ),
        sharing(
            "small matrices",
            [
                (Layout((2, 3), (3, 1)), Layout((2, 2), (2, 1))),
                (Layout((4, 8), (1, 4)), Layout((2, 2), (1, 2))),
                (Layout((4, 8), (8, 1)), Layout((4, 2), (1, 4))),
            ],
        ),
        sharing(
            "one value each, one thread",
            [(Layout((4, 8), (8, 1)), Layout((1, 1), (1, 1))), (Layout((1, 1), (1, 1)), Layout((4, 2), (2, 1)))],
        ),
        sharing("random matrices", drawn(212, two_matrices)),
    ),
    remedies=(
        Remedy("it should have two modes", "Compose the inverse with Layout((size(threads), size(values)))."),
        Remedy("of the tile, index", "In the raked product the values run first in each mode, so they stand together."),
    ),
    hints=(
        "tl.raked_product(threads, values) has at each (row, column) the number thread + size(threads) · value.",
        "Its right inverse leads from that number to the index in the tile.",
        "Take the number apart into (thread, value) by composing with Layout((size(threads), size(values))).",
    ),
)

# The page has CuTe to ask, and that is the judge: no answer may.
EXERCISES = tuple(
    replace(exercise, library={**exercise.library, "ask": ask})
    for exercise in (
        COALESCE,
        COMPOSE,
        TRANSPOSED,
        COMPLEMENT,
        LOGICAL_DIVIDE,
        ZIPPED_DIVIDE,
        BLOCK_TILE,
        LOGICAL_PRODUCT,
        BLOCKED_PRODUCT,
        RIGHT_INVERSE,
        COMMON_VECTOR,
        LAYOUT_TV,
    )
)

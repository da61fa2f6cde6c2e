"""Exercises 02.8 to 02.12: products, inverses, thread-value layouts."""

from functools import partial

import tensor_layouts as tl

from tutorlib.checking.values import ValueExercise, equals, law
from tutorlib.exercises.n02_layout_algebra import laws, mistakes
from tutorlib.exercises.n02_layout_algebra.cases import agrees_with_cute, from_here_on
from tutorlib.exercises.n02_layout_algebra.random_layouts import (
    a_few_beside,
    apart,
    block_and_grid,
    block_with_holes,
    compact,
    copies_of_a_row,
    drawn,
    grid_with_holes,
    nothing_side_by_side,
    one_layout,
    one_value,
    two_matrices,
    two_ways_to_store,
    with_ones,
)
from tutorlib.layouts.notation import calls
from tutorlib.layouts.tiled_copy import TiledCopyView, tiled_copy_view

# 02.8 logical_product --------------------------------------------------------------------------------------------


repetition = partial(law, holds=laws.is_product, mistakes=mistakes.PRODUCT)

PRODUCTS = ("logical_product", "zipped_product", "tiled_product", "flat_product", "blocked_product", "raked_product")

LOGICAL_PRODUCT = ValueExercise(
    id="02.8",
    title="logical_product",
    points=3,
    library={f"tl.{name}": getattr(tl, name) for name in PRODUCTS},
    cases=(
        repetition("copies of a row", a_few_beside(calls("4:1 6:1", "5:1 (2,3):(3,1)"), copies_of_a_row)),
        repetition("a block with holes", a_few_beside(calls("(2,2):(4,1) 6:1", "4:2 4:1"), block_and_grid)),
        repetition(
            "copies in another order",
            a_few_beside(calls("(2,2):(1,2) (3,4):(4,1)", "(2,2):(4,1) (4,2):(2,1)"), block_and_grid),
        ),
        repetition("a grid with holes", a_few_beside(calls("4:2 2:2", "4:1 2:3", "2:4 (2,2):(1,4)"), grid_with_holes)),
        repetition("random layouts", drawn(28, block_and_grid)),
        agrees_with_cute(
            "logical_product",
            a_few_beside(
                calls("4:1 6:1", "(2,2):(4,1) (4,2):(2,1)", "(2,5):(5,1) (3,4):(1,3)", "4:2 2:2"), block_and_grid, n=1
            ),
            mistakes.PRODUCT,
        ),
    ),
)

# 02.9 blocked_product --------------------------------------------------------------------------------------------


blocking = partial(law, holds=laws.is_blocked, mistakes=mistakes.BLOCKED)

BLOCKED_PRODUCT = ValueExercise(
    id="02.9",
    title="blocked_product",
    points=2,
    library={"tl.blocked_product": tl.blocked_product},
    cases=(
        blocking(
            "blocks side by side",
            a_few_beside(
                calls("(2,2):(1,2) (2,3):(3,1)", "(4,2):(2,1) (2,2):(1,2)", "(1,4):(4,1) (8,4):(4,1)"), two_matrices
            ),
        ),
        blocking(
            "a block with holes",
            a_few_beside(calls("(2,2):(4,1) (2,3):(1,2)", "(2,2):(2,8) (2,2):(2,1)"), block_with_holes),
        ),
        blocking("random matrices", drawn(29, two_matrices)),
        agrees_with_cute(
            "blocked_product",
            a_few_beside(
                calls("(2,2):(1,2) (2,3):(3,1)", "(2,2):(4,1) (2,4):(1,2)", "(2,5):(5,1) (3,4):(1,3)"),
                two_matrices,
                n=1,
            ),
            mistakes.BLOCKED,
        ),
    ),
)

# 02.10 right_inverse ---------------------------------------------------------------------------------------------


inversion = partial(law, holds=laws.is_right_inverse, mistakes=mistakes.INVERSE)

RIGHT_INVERSE = ValueExercise(
    id="02.10",
    title="right_inverse",
    points=3,
    library=from_here_on("right_inverse"),
    cases=(
        inversion(
            "compact layouts", a_few_beside(calls("(4,8):(8,1)", "(4,8):(1,4)", "(2,3,4):(4,8,1)", "8:1"), compact)
        ),
        inversion("nested ones", a_few_beside(calls("((2,2),(4,2)):((1,16),(2,8))", "(4,(2,3)):(2,(1,8))"), compact)),
        inversion(
            "memory with holes", a_few_beside(calls("(4,8):(16,1)", "(4,3):(1,8)", "(2,4,2):(1,2,16)"), one_layout)
        ),
        inversion("modes of extent 1", a_few_beside(calls("(1,4):(0,1)", "(4,1,8):(1,2,4)", "1:3"), with_ones)),
        inversion("nothing at offset 1", a_few_beside(calls("4:2", "(4,4):(16,4)", "(2,4):(8,2)"), apart)),
        inversion("random layouts", drawn(210, one_layout)),
        agrees_with_cute(
            "right_inverse",
            a_few_beside(calls("(4,8):(8,1)", "(4,8):(16,1)", "((2,2),(4,2)):((1,16),(2,8))"), one_layout, n=4),
            mistakes.INVERSE,
        ),
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
            a_few_beside(
                calls("(4,8):(8,1) (4,8):(8,1)", "(8,4):(1,8) (8,4):(1,16)", "64:1 (8,8):(1,8)"), two_ways_to_store
            ),
        ),
        together(
            "rows, padded or in blocks",
            a_few_beside(
                calls("(4,8):(8,1) (4,8):(16,1)", "(4,8):(16,1) (4,8):(8,1)", "(4,8):(8,1) (4,(4,2)):(4,(1,16))"),
                two_ways_to_store,
            ),
        ),
        together(
            "another order",
            a_few_beside(
                calls("(4,8):(8,1) (4,8):(1,4)", "(4,8):(1,4) (4,8):(8,1)", "((2,2),(4,2)):((1,16),(2,8)) (4,8):(1,4)"),
                two_ways_to_store,
            ),
        ),
        together(
            "nothing side by side", a_few_beside(calls("64:2 64:2", "(4,4):(8,2) (4,4):(4,1)"), nothing_side_by_side)
        ),
        together("random layouts", drawn(211, two_ways_to_store)),
    ),
)

# 02.12 layout_tv -------------------------------------------------------------------------------------------------


sharing = partial(law, holds=laws.is_thread_value, mistakes=mistakes.THREAD_VALUE)

LAYOUT_TV = ValueExercise(
    id="02.12",
    title="layout_tv",
    points=3,
    library={"tiled_copy_view": tiled_copy_view, "TiledCopyView.layout": TiledCopyView.layout},
    cases=(
        sharing(
            "vectors along a row",
            a_few_beside(calls("(8,4):(4,1) (1,4):(4,1)", "(8,16):(16,1) (1,8):(8,1)"), two_matrices),
        ),
        sharing(
            "small matrices",
            a_few_beside(
                calls("(2,3):(3,1) (2,2):(2,1)", "(4,8):(1,4) (2,2):(1,2)", "(4,8):(8,1) (4,2):(1,4)"), two_matrices
            ),
        ),
        sharing(
            "one value each, one thread",
            a_few_beside(calls("(4,8):(8,1) (1,1):(1,1)", "(1,1):(1,1) (4,2):(2,1)"), one_value),
        ),
        sharing("random matrices", drawn(212, two_matrices)),
    ),
)

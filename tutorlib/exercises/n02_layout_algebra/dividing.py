"""Exercises 02.5 to 02.7: division into tiles."""

from functools import partial

import tensor_layouts as tl
from tensor_layouts import Layout

from tutorlib.checking.drawn import stretched
from tutorlib.checking.values import ValueExercise, law
from tutorlib.exercises.n02_layout_algebra import laws, mistakes
from tutorlib.exercises.n02_layout_algebra.cases import agrees_with_cute
from tutorlib.exercises.n02_layout_algebra.random_layouts import a_few_beside, composable, drawn, sticking_out
from tutorlib.layouts.notation import calls

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
        division("a contiguous tile", stretched(calls("24:3 4:1", "(4,8):(8,1) 8:1"))),
        division("a tile of every third, every eighth", stretched(calls("24:2 4:3", "(4,8):(8,1) 4:8"))),
        division("random layouts", drawn(25, composable)),
        division("a last tile that sticks out", a_few_beside(calls("10:1 4:1"), sticking_out)),
        agrees_with_cute(
            "logical_divide",
            a_few_beside(calls("24:3 4:1", "(4,8):(8,1) 4:8", "10:1 4:1", "(4,2,3):(2,1,8) 4:2"), composable, n=1),
            mistakes.DIVIDE,
        ),
    ),
)

# 02.6 zipped_divide ----------------------------------------------------------------------------------------------


zipping = partial(law, holds=laws.is_zipped, mistakes=mistakes.ZIP)

ZIPPED_DIVIDE = ValueExercise(
    id="02.6",
    title="zipped_divide",
    points=3,
    library={
        "tl.hier_unzip": tl.hier_unzip,
        "tl.zipped_divide": tl.zipped_divide,
        "tl.tiled_divide": tl.tiled_divide,
        "tl.flat_divide": tl.flat_divide,
    },
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
        agrees_with_cute(
            "zipped_divide",
            stretched(
                calls(
                    "(16,8):(8,1) (4,4)",
                    "(4,6,8):(48,8,1) (2,3,4)",
                    "((4,2),(4,2)):((1,32),(4,16)) (2,2)",
                    "(10,8):(8,1) (4,3)",
                )
            ),
            mistakes.ZIP,
        ),
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
            "every block of the 16×8",
            stretched([(MATRIX, (4, 4), (row, column)) for row in range(4) for column in range(2)]),
        ),
        block_tiling(
            "tiles that are not square",
            stretched([(Layout((16, 8), (1, 16)), (8, 2), (1, 3)), (MATRIX, (2, 8), (5, 0))]),
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
)

"""Exercises of notebook 02: the layout algebra.

Every operator is checked by its defining law on layouts that a seed draws, and against the real CuTe DSL as a
function: see tutorlib.exercises.algebra.
"""

from dataclasses import replace

from tutorlib.exercises.n02_layout_algebra.composing import COALESCE, COMPLEMENT, COMPOSE, TRANSPOSING
from tutorlib.exercises.n02_layout_algebra.dividing import BLOCK_TILE, LOGICAL_DIVIDE, ZIPPED_DIVIDE
from tutorlib.exercises.n02_layout_algebra.multiplying import (
    BLOCKED_PRODUCT,
    COMMON_VECTOR,
    LAYOUT_TV,
    LOGICAL_PRODUCT,
    RIGHT_INVERSE,
)

# CuTe, which judges the answers, and the algebra as torch has it: no answer may ask them.
ELSEWHERE = {name: name for name in ("ask", "oracle", "cutlass", "_pycute")}

EXERCISES = tuple(
    replace(exercise, library={**exercise.library, **ELSEWHERE})
    for exercise in (
        COALESCE,
        COMPOSE,
        TRANSPOSING,
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

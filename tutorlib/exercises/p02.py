"""Exercises of notebook 02: first kernels."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import NOTHING_SHARED, at_most, blocks, busy, issued, lean, stored_once, warps
from tutorlib.checking.randomness import beside
from tutorlib.exercises.values import value_exercise
from tutorlib.failure import Fail, Flaw
from tutorlib.problems.catalogue import one_rounding, vector_add
from tutorlib.problems.problem import Operand, Problem, Shape

if TYPE_CHECKING:
    from torch import Tensor


# 02.4: how often CuTe compiles a function -----------------------------------------------------------------------------

ShapeAndStride = tuple[tuple[int, ...], tuple[int, ...]]
ROWS = [((n, n + 3), (n + 3, 1)) for n in (4, 8, 16)]
COLUMNS = [((n, n + 3), (1, n)) for n in (4, 8)]
PADDED = [((4, 7), (8, 1)), ((4, 7), (16, 1))]
VECTORS = [((n,), (1,)) for n in (3, 5, 3, 100, 5)]
CUBES = [((2, 3, 4), (12, 4, 1)), ((2, 3, 4), (1, 2, 6)), ((2, 3, 4), (3, 1, 6))]


def compilations(layouts: list[ShapeAndStride], dynamic: bool) -> int:
    return len({(len(shape), stride.index(1)) for shape, stride in layouts} if dynamic else set(layouts))


def layouts_of_calls(rng: Random) -> list[ShapeAndStride]:
    """The layouts of some matrices, vectors and blocks of three modes, many of them alike."""

    def one() -> ShapeAndStride:
        shape = tuple(rng.choice((4, 8, 12)) for _ in range(rng.choice((1, 2, 2, 3))))
        stride, step = [0] * len(shape), 1
        for mode in rng.sample(range(len(shape)), len(shape)):
            stride[mode], step = step, step * shape[mode] * rng.choice((1, 1, 2))
        return shape, tuple(stride)

    kinds = [one() for _ in range(rng.randint(3, 9))]
    return [rng.choice(kinds) for _ in range(rng.randint(6, 20))]


COUNTING = value_exercise(
    ("02.4", "compilations_for", 2),
    compilations,
    {
        "static layouts": beside(
            [(VECTORS, False), (ROWS + COLUMNS + ROWS, False), (PADDED, False), (CUBES, False)],
            lambda rng: (layouts_of_calls(rng), False),
        ),
        "dynamic layouts": beside(
            [(VECTORS, True), (ROWS + COLUMNS + ROWS, True), (PADDED, True), (CUBES + VECTORS, True)],
            lambda rng: (layouts_of_calls(rng), True),
        ),
    },
    mistakes={
        "one_for_all": lambda layouts, dynamic: 1 if dynamic else len(set(layouts)),
        "one_per_rank": lambda layouts, dynamic: len({len(s) for s, _ in layouts}) if dynamic else len(set(layouts)),
        "static": lambda layouts, dynamic: len(set(layouts)),
        "calls_each": lambda layouts, dynamic: len(layouts),
        "by_shape": lambda layouts, dynamic: compilations(layouts, True) if dynamic else len({s for s, _ in layouts}),
        "dynamic": lambda layouts, dynamic: compilations(layouts, True),
    },
)

# 02.1 to 02.6: kernels ------------------------------------------------------------------------------------------------


def fp32_problem(
    name: str, dims: str, inputs: tuple[Operand, ...], output: tuple[str, str], reference: Callable[..., "Tensor"]
) -> Problem:
    """A problem of fp32 tensors whose results are rounded once. output: its name and modes."""
    return Problem(name, dims, inputs, Operand(*output, "fp32"), reference, one_rounding)


LEAKY_RELU = fp32_problem(  # y = x where x > 0, else x / 8
    "leaky_relu", "N", (Operand("x", "N", "fp32"),), ("y", "N"), lambda x: x.where(x > 0, x / 8)
)
ADD_BIAS = fp32_problem(  # y = x + bias in every row
    "add_bias", "MN", (Operand("x", "MN", "fp32"), Operand("bias", "N", "fp32")), ("y", "MN"), lambda x, bias: x + bias
)
ADD_BIAS_COLUMNS = replace(
    ADD_BIAS,
    name="add_bias_columns",
    inputs=(replace(ADD_BIAS.inputs[0], column_major=True), ADD_BIAS.inputs[1]),
    output=replace(ADD_BIAS.output, column_major=True),
)
ROW_MAX = Problem(  # exact, in whatever order
    name="row_max",
    dims="MN",
    inputs=(Operand("x", "MN", "fp32", scale=1e6, pattern="masked"),),
    output=Operand("maxima", "M", "fp32"),
    reference=lambda x: x.amax(-1),
    bound=None,
)
ARITHMETIC = "add.f32|sub.f32|mul.f32|fma.rn.f32"


def in_blocks_of_8_by_32(shape: Shape, storers: np.ndarray) -> str | None:
    """A sentence about blocks that do not have 8 rows and 32 columns each, or None. storers: (M, N)."""
    (rows, columns), (height, width) = shape, (8, 32)
    tiles = storers.reshape(rows // height, height, columns // width, width)
    first = tiles[:, 0, :, 0]
    if (tiles == first[:, None, :, None]).all() and len(set(first.flat)) == first.size:
        return None
    what = "a block of 32×8 threads owns 8 rows of 32 columns; the blocks of this launch store others."
    return Flaw(what, Fail.TOO_FEW(instruction="block"))


ELEMENTWISE = (  # of 64×64; there may be blocks beyond the matrix
    blocks >= 8,
    warps >= 128,
    busy >= 0.6,
    NOTHING_SHARED,
    *at_most({"st.global": 128, "ld.global": 256, ARITHMETIC: 128, "": 6500}),
)
kernel_exercise = partial(CuteExercise.of, shared_rules=(lean("ld.global", "st.global"), stored_once))
EXERCISES = (
    COUNTING,
    kernel_exercise(
        ("02.1", "vector_add", 5),
        problem=vector_add("fp32"),
        shapes=((1,), (128,), (1000,), (100_003,)),
        simulated_shapes=((1,), (128,), (904,), (30_003,)),
        counted=(904,),
        rules=(  # of 32 warps, the last 3 have no element
            blocks >= 4,
            busy >= 0.9,
            blocks <= 8,
            NOTHING_SHARED,
            *at_most({"st.global": 29, "ld.global": 58, ARITHMETIC: 29, "": 1200}),
        ),
        rules_at={(128,): (blocks <= 1,)},
        dynamic=True,
    ),
    kernel_exercise(
        ("02.5", "leaky_relu, four elements a thread", 4),
        problem=LEAKY_RELU,
        shapes=((4,), (2048,), (4 * 12_347,)),
        counted=(2048,),
        rules=(
            blocks >= 2,
            busy >= 1.0,
            blocks <= 4,
            NOTHING_SHARED,
            *at_most({"ld.global": 16, "st.global": 16, "": 900}),
        ),
        dynamic=True,
        divisible=4,
        requires=("ld.global.v4", "st.global.v4"),
    ),
    kernel_exercise(
        ("02.2", "add_bias, in two directions", 3),
        problem=ADD_BIAS,
        shapes=((64, 64), (5, 100), (33, 7), (1, 2)),
        rules=ELEMENTWISE,
        rules_at={(5, 100): (issued("st.global") <= 20,)},  # of 32 warps, 12 are below the last row
        dynamic=True,
        order=in_blocks_of_8_by_32,
    ),
    kernel_exercise(
        ("02.3", "add_bias, column-major", 2),
        problem=ADD_BIAS_COLUMNS,
        shapes=((64, 64), (100, 5), (7, 33)),
        rules=ELEMENTWISE,
        rules_at={(100, 5): (issued("st.global") <= 20,)},
        dynamic=True,
    ),
    kernel_exercise(
        ("02.6", "row_max, a reduction", 4),
        problem=ROW_MAX,
        shapes=((4, 6), (5, 1000), (7, 129), (40, 1)),
        counted=(5, 1000),
        shared_rules=(lean("ld.global", "ld.shared", "st.shared"), stored_once),
        rules=(  # without a tree, one thread's 128 reads take 640 ld.shared, or 160 and more of all else
            blocks >= 5,
            busy >= 1.0,
            blocks <= 5,
            *at_most({"st.global": 5, "ld.global": 240, "ld.shared": 255, "bar.sync": 160, "": 4500}),
        ),
        dynamic=True,
        requires=("st.shared", "ld.shared", "bar.sync"),
    ),
)

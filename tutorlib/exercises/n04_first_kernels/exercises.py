"""Exercises of notebook 04: first kernels.

Functions that launch nothing run on the CPU, so 04.1 to 04.3 are graded everywhere, by the real CuTe. Their tensors
hold small integers: every result is exact in fp32, in whatever order it is computed.
"""

from typing import TYPE_CHECKING

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.drawn import beside
from tutorlib.checking.values import ValueExercise, equals
from tutorlib.checking.work_limits import NOTHING_SHARED, WorkLimits
from tutorlib.exercises.n04_first_kernels.host_functions import (
    ALPHA,
    COLUMNS,
    COUNTS,
    CUBES,
    FINE,
    PADDED,
    ROWS,
    VECTORS,
    axpy,
    axpy_mistakes,
    by_horner,
    compilations,
    layouts_of_calls,
    on_cpu,
    polynomial_case,
    some_alpha,
    stored_once,
)
from tutorlib.failure import Fail, Flaw
from tutorlib.problems.bounds import one_rounding
from tutorlib.problems.catalogue import vector_add
from tutorlib.problems.problem import Operand, Problem, Shape

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

# 04.6 leaky_relu ------------------------------------------------------------------------------------------------


def leaky_relu() -> Problem:
    """y = x where x > 0, else x / 8, both (N,). The baseline is torch's leaky_relu."""

    def reference(x: "Tensor") -> "Tensor":
        return x.where(x > 0, x / 8)

    def baseline(y: "Tensor", x: "Tensor") -> None:
        import torch

        torch.ops.aten.leaky_relu.out(x, 0.125, out=y)

    return Problem(
        name="leaky_relu",
        dims="N",
        inputs=(Operand("x", "N", "fp32"),),
        output=Operand("y", "N", "fp32"),
        reference=reference,
        bound=one_rounding,
        baseline=baseline,
        baseline_name="torch leaky_relu",
    )


# 04.7 add_bias --------------------------------------------------------------------------------------------------


def add_bias() -> Problem:
    """y (M, N) = x (M, N) + bias (N,) in every row."""

    def baseline(y: "Tensor", x: "Tensor", bias: "Tensor") -> None:
        import torch

        torch.add(x, bias, out=y)

    return Problem(
        name="add_bias",
        dims="MN",
        inputs=(Operand("x", "MN", "fp32"), Operand("bias", "N", "fp32")),
        output=Operand("y", "MN", "fp32"),
        reference=lambda x, bias: x + bias,
        bound=one_rounding,
        baseline=baseline,
        baseline_name="torch add",
    )


def in_blocks_of_8_by_32(shape: Shape, storers: "np.ndarray") -> str | None:
    """A sentence about blocks that do not have 8 rows and 32 columns each, or None. storers: (M, N)."""
    (rows, columns), (height, width) = shape, (8, 32)
    tiles = storers.reshape(rows // height, height, columns // width, width)
    first = tiles[:, 0, :, 0]
    if (tiles == first[:, None, :, None]).all() and len(set(first.flat)) == first.size:
        return None
    what = "a block of 32×8 threads owns 8 rows of 32 columns; the blocks of this launch store others."
    return Flaw(what, Fail.TOO_FEW(instruction="block"))


# 04.8 row_max ---------------------------------------------------------------------------------------------------


def row_max() -> Problem:
    """maxima (M,) of the rows of x (M, N). Exact, in whatever order."""

    def baseline(maxima: "Tensor", x: "Tensor") -> None:
        import torch

        torch.amax(x, -1, out=maxima)

    return Problem(
        name="row_max",
        dims="MN",
        inputs=(Operand("x", "MN", "fp32", scale=1e6, pattern="masked"),),
        output=Operand("maxima", "M", "fp32"),
        reference=lambda x: x.amax(-1),
        bound=None,
        baseline=baseline,
        baseline_name="torch amax",
    )


ARITHMETIC = "add.f32|sub.f32|mul.f32|fma.rn.f32"

EXERCISES = (
    ValueExercise(
        id="04.1",
        title="axpy",
        points=2,
        cases=(
            on_cpu("a static layout", (ALPHA, (6,)), some_alpha, axpy, axpy_mistakes, dynamic=False),
            stored_once(
                "dynamic layouts of three sizes",
                on_cpu("values", (FINE, (1, 5, 8)), some_alpha, axpy, axpy_mistakes),
            ),
        ),
    ),
    ValueExercise(
        id="04.2",
        title="polynomial",
        points=2,
        cases=(
            polynomial_case("a line", (2.0, -3.0)),
            polynomial_case("a cubic", (FINE, 0.0, -1.0, 2.0)),
            polynomial_case("a constant", (7.0,)),
            by_horner((3.0, 1.0, 4.0, 1.0, 5.0, 9.0)),
        ),
    ),
    ValueExercise(
        id="04.3",
        title="compilations_for",
        points=2,
        cases=(
            equals(
                "static layouts",
                beside(
                    [(VECTORS, False), (ROWS + COLUMNS + ROWS, False), (PADDED, False), (CUBES, False)],
                    lambda rng: (layouts_of_calls(rng), False),
                ),
                compilations,
                COUNTS[3:],
            ),
            equals(
                "dynamic layouts",
                beside(
                    [(VECTORS, True), (ROWS + COLUMNS + ROWS, True), (PADDED, True), (CUBES + VECTORS, True)],
                    lambda rng: (layouts_of_calls(rng), True),
                ),
                compilations,
                COUNTS[:4],
            ),
        ),
    ),
    CuteExercise(
        id="04.4",
        title="vector_add",
        points=3,
        problem=vector_add("fp32"),
        shapes=((128,), (4096,), (128 * 1001,)),
        simulated_shapes=((128,), (4096,), (128 * 250,)),  # where each block adds all, the work grows with the square
        counted=(4096,),
        lean=("ld.global", "st.global"),
        once=True,
        limits=WorkLimits(
            blocks=8,
            most_blocks=32,
            busy=1.0,
            at_most=(("st.global", 128), ("ld.global", 256), (ARITHMETIC, 128), NOTHING_SHARED, ("", 3072)),
        ),
    ),
    CuteExercise(
        id="04.5",
        title="vector_add of any size",
        points=4,
        problem=vector_add("fp32"),
        shapes=((1,), (127,), (1000,), (100_003,)),
        simulated_shapes=((1,), (127,), (904,), (30_003,)),
        counted=(904,),
        lean=("ld.global", "st.global"),
        once=True,
        limits=WorkLimits(  # of 32 warps, the last 3 have no element
            blocks=4,
            most_blocks=8,
            busy=0.9,
            at_most=(("st.global", 29), ("ld.global", 58), (ARITHMETIC, 29), NOTHING_SHARED, ("", 1200)),
        ),
        dynamic=True,
    ),
    CuteExercise(
        id="04.6",
        title="leaky_relu, four elements a thread",
        points=4,
        problem=leaky_relu(),
        shapes=((4,), (2048,), (4 * 12_347,)),
        counted=(2048,),
        lean=("ld.global", "st.global"),
        once=True,
        limits=WorkLimits(
            blocks=2,
            most_blocks=4,
            busy=1.0,
            at_most=(("ld.global", 16), ("st.global", 16), NOTHING_SHARED, ("", 900)),
        ),
        dynamic=True,
        divisible=4,
        requires=("ld.global.v4", "st.global.v4"),
    ),
    CuteExercise(
        id="04.7",
        title="add_bias, in two directions",
        points=3,
        problem=add_bias(),
        shapes=((64, 64), (5, 100), (33, 7), (1, 2)),
        whole=((64, 64),),
        lean=("ld.global", "st.global"),
        once=True,
        limits=WorkLimits(
            blocks=8,
            warps=128,
            busy=0.6,  # there may be blocks beyond the matrix
            at_most=(("st.global", 128), ("ld.global", 256), (ARITHMETIC, 128), NOTHING_SHARED, ("", 6500)),
        ),
        limits_at={(5, 100): WorkLimits(at_most=(("st.global", 20),))},  # of 32 warps, 12 are below the last row
        dynamic=True,
        order=in_blocks_of_8_by_32,
    ),
    CuteExercise(
        id="04.8",
        title="row_max, a reduction",
        points=4,
        problem=row_max(),
        shapes=((4, 6), (5, 1000), (7, 129), (40, 1)),
        counted=(5, 1000),
        lean=("ld.global", "ld.shared", "st.shared"),
        once=True,
        limits=WorkLimits(  # without a tree, one thread's 128 reads take 640 ld.shared, or 160 and more of all else
            blocks=5,
            most_blocks=5,
            busy=1.0,
            at_most=(("st.global", 5), ("ld.global", 240), ("ld.shared", 255), ("bar.sync", 160), ("", 4500)),
        ),
        dynamic=True,
        requires=("st.shared", "ld.shared", "bar.sync"),
    ),
)

"""Exercises of notebook 02: first kernels."""

from functools import partial

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import NOTHING_SHARED, at_most, blocks, busy, issued, lean, stored_once, warps
from tutorlib.problems.catalogue import one_rounding, vector_add
from tutorlib.problems.problem import Operand, Problem

LEAKY_RELU = Problem(  # y = x where x > 0, else x / 8
    "leaky_relu",
    "N",
    (Operand("x", "N", "fp32"),),
    Operand("y", "N", "fp32"),
    lambda x: x.where(x > 0, x / 8),
    one_rounding,
)
ADD_BIAS = Problem(  # y = x + bias in every row
    "add_bias",
    "MN",
    (Operand("x", "MN", "fp32", column_major=True), Operand("bias", "N", "fp32")),
    Operand("y", "MN", "fp32", column_major=True),
    lambda x, bias: x + bias,
    one_rounding,
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

kernel_exercise = partial(CuteExercise.of, shared_rules=(lean("ld.global", "st.global"), stored_once))
EXERCISES = (
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
        ("02.2", "add_bias, column-major", 4),
        problem=ADD_BIAS,
        shapes=((64, 64), (100, 5), (7, 33)),
        rules=(  # of 64×64; there may be blocks beyond the matrix
            blocks >= 8,
            warps >= 128,
            busy >= 0.6,
            NOTHING_SHARED,
            *at_most({"st.global": 128, "ld.global": 256, ARITHMETIC: 128, "": 6500}),
        ),
        rules_at={(100, 5): (issued("st.global") <= 20,)},
        dynamic=True,
    ),
    kernel_exercise(
        ("02.3", "leaky_relu, four elements a thread", 4),
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
        ("02.4", "row_max, a reduction", 4),
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

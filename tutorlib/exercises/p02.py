"""Exercises of notebook 02: first kernels.

Functions that launch nothing run on the CPU, so 02.5 to 02.6 are graded everywhere, by the real CuTe. Their tensors
hold small integers: every result is exact in fp32, in whatever order it is computed.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from tutorlib.checking.answer import Served
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import NOTHING_SHARED, at_most, blocks, busy, issued, lean, stored_once, warps
from tutorlib.checking.randomness import beside, more_for_points
from tutorlib.checking.values import Case
from tutorlib.compiling.errors import CompileFailed
from tutorlib.exercises.judges.cute_host import call_on_vectors
from tutorlib.exercises.values import case_exercise, value_exercise
from tutorlib.failure import Fail, FailureKind, Flaw
from tutorlib.problems.catalogue import one_rounding, vector_add
from tutorlib.problems.differences import Wrong, count
from tutorlib.problems.problem import Operand, Problem, Shape

if TYPE_CHECKING:
    from torch import Tensor


# 02.5 and 02.4: functions that CuTe compiles for the host -------------------------------------------------------------

Formula = Callable[[Any, np.ndarray, np.ndarray], Any]  # the argument before x, x, y before the call → y after it
MARGIN = 4  # elements on either side of x and y that must stay as they are
ALPHA, FINE = 2.5, 4096.25  # FINE times a small number is exact in fp32, and not in fp16, bf16 or tf32


class VectorFlaw(FailureKind):
    """Faults in the vector that a function writes."""

    OUTSIDE = "written outside"
    ELEMENT = "wrong element"
    CHANGED = "x is changed"


def on_cpu(
    name: str, lead: Any, sizes: tuple[int, ...], draw: Callable[[Random], Any], formula: Formula, dynamic: bool = True
) -> Case:
    """A case that is right when answer(lead, x, y) leaves formula(lead, x, y) in y, for vectors of each size.

    draw: makes the grader's lead, for vectors of other numbers. dynamic: the layouts are dynamic, so that one
    compilation serves all sizes.
    """

    def known(n: int) -> np.ndarray:
        return np.array([np.arange(n) % 5 - 2, np.arange(n) % 3], np.float32)

    def another(rng: Random) -> tuple[Any, np.ndarray]:
        n = rng.randint(2, 40)
        return draw(rng), np.array([[rng.randint(-9, 9) for _ in range(n)] for _ in "xy"], np.float32)

    def judge(answer: Served) -> Wrong | None:
        for first, vectors in [(lead, known(n)) for n in sizes] + more_for_points(another, 2):
            before = np.pad(vectors, ((0, 0), (MARGIN, MARGIN)), constant_values=99)
            try:
                after = answer.ask(call_on_vectors, first, before, MARGIN, dynamic)
            except CompileFailed as failed:
                message, *words = failed.lines
                return Wrong(f"{answer.__name__} does not compile: {message}", *words)
            want = before.copy()
            want[1, MARGIN:-MARGIN] = formula(first, *vectors)
            if flaw := vector_flaw(name, f"{answer.__name__}({first}, x, y)", after, want, vectors):
                return Wrong(flaw)
        return None

    return Case(name, judge)


def vector_flaw(case: str, call: str, after: Any, want: np.ndarray, vectors: np.ndarray) -> str:
    """The fault in x and y after a call, with the margins around them; "" if there is none. vectors: before it."""
    n = vectors.shape[1]
    if after is None:
        what = f"{call} crashes, or never ends: does it stay within x and y, which have {count(n, 'element')}?"
        return Flaw(what, VectorFlaw.OUTSIDE)
    got = np.asarray(after)
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{call} gives y back as something else."
    wrong = got != want
    changed, wrongly = (np.flatnonzero(row) for row in wrong[:, MARGIN:-MARGIN])
    if wrong.sum() > changed.size + wrongly.size:
        return Flaw(f"{call} writes outside y, which has {count(n, 'element')}.", VectorFlaw.OUTSIDE)
    if wrongly.size:
        at = wrongly[0]
        (x, y), is_, should = vectors[:, at], got[1, MARGIN + at], want[1, MARGIN + at]
        what = f"y[{at}] should be {should:g} and is {is_:g}; x[{at}] is {x:g}, and y[{at}] was {y:g}."
        return Flaw(f"{call} with {count(n, 'element')}: {what}", VectorFlaw.ELEMENT(case=case))
    if changed.size:
        at = changed[0]
        what = f"{call} changes x, its input: x[{at}] was {vectors[0, at]:g} and is {got[0, MARGIN + at]:g}."
        return Flaw(what, VectorFlaw.CHANGED)
    return ""


def some_alpha(rng: Random) -> float:
    return rng.choice((-3.5, -1.5, 0.5, 3.0, 4.5))


def axpy(alpha: float, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return alpha * x + y


def polynomial(name: str, *coefficients: float) -> Case:
    def draw(rng: Random) -> tuple[float, ...]:
        return tuple(float(rng.choice((-4, -2, -1, 1, 2, 3, 6))) for _ in coefficients)

    def formula(coefficients: tuple[float, ...], x: np.ndarray, y: np.ndarray) -> Any:
        return sum(c * x**power for power, c in enumerate(coefficients))

    return on_cpu(name, coefficients, (5, 3), draw, formula)


ON_THE_HOST = (
    case_exercise(
        ("02.5", "axpy", 2),
        on_cpu("a static layout", ALPHA, (6,), some_alpha, axpy, dynamic=False),
        on_cpu("dynamic layouts of three sizes", FINE, (1, 5, 8), some_alpha, axpy),
    ),
    case_exercise(
        ("02.4", "polynomial", 2),
        polynomial("a line", 2.0, -3.0),
        polynomial("a cubic", FINE, 0.0, -1.0, 2.0),
        polynomial("a constant", 7.0),
        polynomial("six coefficients", 3.0, 1.0, 4.0, 1.0, 5.0, 9.0),
    ),
)

# 02.6: how often CuTe compiles a function -----------------------------------------------------------------------------

ShapeAndStride = tuple[tuple[int, ...], tuple[int, ...]]
ROWS = [((n, n + 3), (n + 3, 1)) for n in (4, 8, 16)]
COLUMNS = [((n, n + 3), (1, n)) for n in (4, 8)]
PADDED = [((4, 7), (8, 1)), ((4, 7), (16, 1))]
VECTORS = [((n,), (1,)) for n in (3, 5, 3, 100, 5)]
CUBES = [((2, 3, 4), (12, 4, 1)), ((2, 3, 4), (1, 2, 6)), ((2, 3, 4), (3, 1, 6))]


def compilations(layouts: list[ShapeAndStride], dynamic: bool) -> int:
    if dynamic:
        return len({(len(shape), stride.index(1)) for shape, stride in layouts})
    return len(set(layouts))


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
    ("02.6", "compilations_for", 2),
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

# 02.1 to 02.8: kernels ------------------------------------------------------------------------------------------------


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


kernel_exercise = partial(CuteExercise.of, shared_rules=(lean("ld.global", "st.global"), stored_once))
EXERCISES = (
    *ON_THE_HOST,
    COUNTING,
    kernel_exercise(
        ("02.1", "vector_add", 3),
        problem=vector_add("fp32"),
        shapes=((128,), (4096,), (128 * 1001,)),
        simulated_shapes=((128,), (4096,), (128 * 50,)),  # where each block adds all, the work grows with the square
        counted=(4096,),
        rules=(
            blocks >= 8,
            busy >= 1.0,
            blocks <= 32,
            *at_most({"st.global": 128, "ld.global": 256, ARITHMETIC: 128}),
            NOTHING_SHARED,
            issued("") <= 3072,
        ),
    ),
    kernel_exercise(
        ("02.2", "vector_add of any size", 4),
        problem=vector_add("fp32"),
        shapes=((1,), (128,), (1000,), (100_003,)),
        simulated_shapes=((1,), (128,), (904,), (30_003,)),
        counted=(904,),
        rules=(
            # of 32 warps, the last 3 have no element
            blocks >= 4,
            busy >= 0.9,
            blocks <= 8,
            *at_most({"st.global": 29, "ld.global": 58, ARITHMETIC: 29}),
            NOTHING_SHARED,
            issued("") <= 1200,
        ),
        rules_at={(128,): (blocks <= 1,)},
        dynamic=True,
    ),
    kernel_exercise(
        ("02.7", "leaky_relu, four elements a thread", 4),
        problem=LEAKY_RELU,
        shapes=((4,), (2048,), (4 * 12_347,)),
        counted=(2048,),
        rules=(
            blocks >= 2,
            busy >= 1.0,
            blocks <= 4,
            issued("ld.global") <= 16,
            issued("st.global") <= 16,
            NOTHING_SHARED,
            issued("") <= 900,
        ),
        dynamic=True,
        divisible=4,
        requires=("ld.global.v4", "st.global.v4"),
    ),
    kernel_exercise(
        ("02.3", "add_bias, in two directions", 3),
        problem=ADD_BIAS,
        shapes=((64, 64), (5, 100), (33, 7), (1, 2)),
        rules=(
            # there may be blocks beyond the matrix
            blocks >= 8,
            warps >= 128,
            busy >= 0.6,
            *at_most({"st.global": 128, "ld.global": 256, ARITHMETIC: 128}),
            NOTHING_SHARED,
            issued("") <= 6500,
        ),
        rules_at={(5, 100): (issued("st.global") <= 20,)},  # of 32 warps, 12 are below the last row
        dynamic=True,
        order=in_blocks_of_8_by_32,
    ),
    kernel_exercise(
        ("02.8", "row_max, a reduction", 4),
        problem=ROW_MAX,
        shapes=((4, 6), (5, 1000), (7, 129), (40, 1)),
        counted=(5, 1000),
        shared_rules=(lean("ld.global", "ld.shared", "st.shared"), stored_once),
        rules=(
            # without a tree, one thread's 128 reads take 640 ld.shared, or 160 and more of all else
            blocks >= 5,
            busy >= 1.0,
            blocks <= 5,
            *at_most({"st.global": 5, "ld.global": 240, "ld.shared": 255, "bar.sync": 160, "": 4500}),
        ),
        dynamic=True,
        requires=("st.shared", "ld.shared", "bar.sync"),
    ),
)

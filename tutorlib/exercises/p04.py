"""Exercises of notebook 04: first kernels.

Functions that launch nothing run on the CPU, so 04.1 to 04.3 are graded everywhere, by the real CuTe. Their tensors
hold small integers: every result is exact in fp32, in whatever order it is computed.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.drawn import beside
from tutorlib.checking.exercise import Unwritten, is_placeholder
from tutorlib.checking.facts import NOTHING_SHARED, at_most, blocks, busy, issued, warps
from tutorlib.checking.randomness import more_for_points
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case, ValueExercise, equals
from tutorlib.compiling.errors import CompileFailed
from tutorlib.exercises.judges.p04 import Work, call_on_vectors, work_each
from tutorlib.exercises.words import mistakes
from tutorlib.failure import Fail, FailureKind, Flaw
from tutorlib.problems.bounds import one_rounding
from tutorlib.problems.catalogue import vector_add
from tutorlib.problems.problem import Operand, Problem, Shape
from tutorlib.problems.wrong import Wrong, count

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


# 04.1 to 04.3: functions that CuTe compiles for the host, and how often it compiles them.

Formula = Callable[["Tensor", "Tensor"], "Tensor"]  # x and y before the call → y after it
FormulaOf = Callable[[Any], Formula]  # of the arguments before x and y
MARGIN = 4  # elements on either side of y that must not be written


class VectorFlaw(FailureKind):
    """Faults in the vector that a function writes."""

    OUTSIDE = "written outside"
    ELEMENT = "wrong element"
    POWERS = "not by Horner's rule"
    STORED_AGAIN = "an element is stored again"
    CHANGED = "x is changed"


def on_cpu(
    name: str,
    known: tuple[Any, tuple[int, ...]],
    draw: Callable[[Random], Any],
    formula: FormulaOf,
    dynamic: bool = True,
) -> Case:
    """A case that is right when answer(lead, x, y) leaves formula(lead)(x, y) in y, for vectors of each size.

    known: lead, and the sizes. draw: makes the grader's lead, for vectors of other numbers.
    dynamic: the layouts are dynamic, so that one compilation serves all sizes.
    """

    def another(rng: Random) -> "tuple[Any, tuple[Tensor, Tensor]]":
        return draw(rng), vectors(rng.randint(2, 40), rng)

    def judge(answer: Served) -> Wrong | None:
        lead, sizes = known
        tried = [(lead, vectors(n)) for n in sizes] + more_for_points(another, 2)
        return next((wrong for one in tried if (wrong := call_and_compare(answer, *one))), None)

    def call_and_compare(answer: Served, lead: Any, given: "tuple[Tensor, Tensor]") -> Wrong | None:
        import torch

        x, y = given
        n = len(x)
        before = torch.full((n + 2 * MARGIN,), 99.0)
        before[MARGIN : MARGIN + n] = y
        try:
            told = answer.ask(call_on_vectors, lead, x.numpy(), before.numpy(), MARGIN, dynamic)
        except CompileFailed as failed:
            message, *words = failed.lines
            return Wrong(f"{answer.__name__} does not compile: {message}", *words)
        except NotImplementedError as error:
            if is_placeholder(error):
                raise Unwritten from None
            return Wrong(f"{answer.__name__} raised NotImplementedError: {error}.")
        if told is None:
            size = count(n, "element")
            what = f"{answer.__name__} crashes, or never ends: does it stay within x and y, which have {size}?"
            return Wrong(Flaw(what, VectorFlaw.OUTSIDE))
        x_left, left = map(np.asarray, told)
        if left.shape != before.shape or x_left.shape != x.shape or {x_left.dtype, left.dtype} != {np.dtype("f4")}:
            return Wrong(f"{answer.__name__} gives y back as something else.")
        memory = torch.from_numpy(left)
        old, y = before[MARGIN : MARGIN + n], memory[MARGIN : MARGIN + n]
        outside = before.clone()
        outside[MARGIN : MARGIN + n] = y
        if not memory.equal(outside):
            what = f"{answer.__name__} writes outside y, which has {count(n, 'element')}."
            return Wrong(Flaw(what, VectorFlaw.OUTSIDE))
        wrong = find_wrong_element(answer, lead, x, old, y)
        if not wrong and (changed := np.flatnonzero(x_left != x.numpy())).size:
            at = changed[0]
            what = f"{answer.__name__} changes x, its input: x[{at}] was {x[at]:g} and is {x_left[at]:g}."
            return Wrong(Flaw(what, VectorFlaw.CHANGED))
        return wrong

    def find_wrong_element(answer: Served, lead: Any, x: "Tensor", old: "Tensor", y: "Tensor") -> Wrong | None:
        want = formula(lead)(x, old)
        if y.equal(want):
            return None
        at = int((y != want).nonzero()[0])
        what = (
            f"{answer.__name__}({lead}, x, y) with {len(x)} elements: y[{at}] should be {want[at]:g} and is {y[at]:g}; "
            f"x[{at}] is {x[at]:g}, and y[{at}] was {old[at]:g}."
        )
        return Wrong(Flaw(what, VectorFlaw.ELEMENT(case=name)))

    return Case(name, judge)


def vectors(n: int, rng: Random | None = None) -> "tuple[Tensor, Tensor]":
    """x and y of n small whole numbers; without a random generator, the same ones in every check."""
    import torch

    if rng is None:
        return torch.arange(n, dtype=torch.float32) % 5 - 2, torch.arange(n, dtype=torch.float32) % 3
    x, y = (torch.tensor([float(rng.randint(-9, 9)) for _ in range(n)]) for _ in range(2))
    return x, y


def counted(name: str, values: Case, lead: Any, fault: Callable[[str, Work], Wrong | None]) -> Case:
    """A case that is right when the values are, and the work for each element is.

    fault: takes the answer's name and that work, finds something wrong with it, or None.
    """

    def judge(answer: Served) -> Wrong | None:
        if wrong := values.judge(answer):
            return wrong
        try:
            work = Work(*answer.ask(work_each, lead))
        except CompileFailed as failed:
            return Wrong(f"called in a kernel, {answer.__name__} does not compile: {failed.lines[0]}")
        return fault(answer.__name__, work)

    return Case(name, judge)


# 04.1 axpy ------------------------------------------------------------------------------------------------------

ALPHA, FINE = 2.5, 4096.25  # FINE times a small number is exact in fp32, and not in fp16, bf16 or tf32


def axpy(alpha: float) -> Formula:
    return lambda x, y: alpha * x + y


def some_alpha(rng: Random) -> float:
    return rng.choice((-3.5, -1.5, 0.5, 3.0, 4.5))


def stored_once(name: str, values: Case) -> Case:
    """A case that is right when the values are, and each element of y is stored once."""

    def fault(answer: str, work: Work) -> Wrong | None:
        if work.stores <= 1:
            return None
        what = f"{answer} stores each element of y {work.stores:g} times; once is enough."
        return Wrong(Flaw(what, VectorFlaw.STORED_AGAIN), "Compute the whole of y[i] before you store it.")

    return counted(name, values, ALPHA, fault)


# 04.2 polynomial ------------------------------------------------------------------------------------------------


def polynomial(coefficients: tuple[float, ...]) -> Formula:
    return lambda x, y: sum((c * x**power for power, c in enumerate(coefficients)), x.new_zeros(()))


def polynomial_case(name: str, coefficients: tuple[float, ...]) -> Case:
    def draw(rng: Random) -> tuple[float, ...]:
        return tuple(float(rng.choice((-4, -2, -1, 1, 2, 3, 6))) for _ in coefficients)

    return on_cpu(name, (coefficients, (5, 3)), draw, polynomial)


def by_horner(coefficients: tuple[float, ...]) -> Case:
    """A case that is right when the values are, and an element takes at most a multiplication for each coefficient."""

    def fault(answer: str, work: Work) -> Wrong | None:
        if work.multiplications <= len(coefficients):
            return None
        what = (
            f"{answer} takes {work.multiplications:g} multiplications for each element where there are "
            f"{len(coefficients)} coefficients; Horner's rule takes {len(coefficients) - 1}."
        )
        return Wrong(
            Flaw(what, VectorFlaw.POWERS),
            "Start with the last coefficient. For each one before it: multiply by x[i], then add it. No power of x is "
            "computed.",
        )

    return counted("by Horner's rule", polynomial_case("values", coefficients), coefficients, fault)


# 04.3 compilations ----------------------------------------------------------------------------------------------

ShapeAndStride = tuple[tuple[int, ...], tuple[int, ...]]


def compilations(layouts: list[ShapeAndStride], dynamic: bool) -> int:
    if dynamic:
        return len({(len(shape), stride.index(1)) for shape, stride in layouts})
    return len(set(layouts))


ROWS = [((n, n + 3), (n + 3, 1)) for n in (4, 8, 16)]
COLUMNS = [((n, n + 3), (1, n)) for n in (4, 8)]
PADDED = [((4, 7), (8, 1)), ((4, 7), (16, 1))]
VECTORS = [((n,), (1,)) for n in (3, 5, 3, 100, 5)]
CUBES = [((2, 3, 4), (12, 4, 1)), ((2, 3, 4), (1, 2, 6)), ((2, 3, 4), (3, 1, 6))]


def layouts_of_calls(rng: Random) -> list[ShapeAndStride]:
    """The layouts of some matrices, vectors and blocks of three modes, many of them alike."""

    def one() -> ShapeAndStride:
        shape = tuple(rng.choice((4, 8, 12)) for _ in range(rng.choice((1, 2, 2, 3))))
        order = rng.sample(range(len(shape)), len(shape))
        stride, step = [0] * len(shape), 1
        for mode in order:
            stride[mode], step = step, step * shape[mode] * rng.choice((1, 1, 2))
        return shape, tuple(stride)

    kinds = [one() for _ in range(rng.randint(3, 9))]
    return [rng.choice(kinds) for _ in range(rng.randint(6, 20))]


COUNTS = mistakes(
    "04.3",
    one_for_all=lambda layouts, dynamic: 1 if dynamic else len(set(layouts)),
    one_per_rank=lambda layouts, dynamic: len({len(s) for s, _ in layouts}) if dynamic else len(set(layouts)),
    static=lambda layouts, dynamic: len(set(layouts)),
    calls_each=lambda layouts, dynamic: len(layouts),
    by_shape=lambda layouts, dynamic: compilations(layouts, True) if dynamic else len({shape for shape, _ in layouts}),
    dynamic=lambda layouts, dynamic: compilations(layouts, True),
)


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

compiling = partial(equals, wanted=compilations, mistakes=COUNTS)

EXERCISES = (
    ValueExercise(
        id="04.1",
        title="axpy",
        points=2,
        cases=(
            on_cpu("a static layout", (ALPHA, (6,)), some_alpha, axpy, dynamic=False),
            stored_once(
                "dynamic layouts of three sizes",
                on_cpu("values", (FINE, (1, 5, 8)), some_alpha, axpy),
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
            compiling(
                "static layouts",
                beside(
                    [(VECTORS, False), (ROWS + COLUMNS + ROWS, False), (PADDED, False), (CUBES, False)],
                    lambda rng: (layouts_of_calls(rng), False),
                ),
            ),
            compiling(
                "dynamic layouts",
                beside(
                    [(VECTORS, True), (ROWS + COLUMNS + ROWS, True), (PADDED, True), (CUBES + VECTORS, True)],
                    lambda rng: (layouts_of_calls(rng), True),
                ),
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
        rules=(
            blocks >= 8,
            busy >= 1.0,
            blocks <= 32,
            *at_most({"st.global": 128, "ld.global": 256, ARITHMETIC: 128}),
            NOTHING_SHARED,
            issued("") <= 3072,
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
        rules=(
            # of 32 warps, the last 3 have no element
            blocks >= 4,
            busy >= 0.9,
            blocks <= 8,
            *at_most({"st.global": 29, "ld.global": 58, ARITHMETIC: 29}),
            NOTHING_SHARED,
            issued("") <= 1200,
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
    CuteExercise(
        id="04.7",
        title="add_bias, in two directions",
        points=3,
        problem=add_bias(),
        shapes=((64, 64), (5, 100), (33, 7), (1, 2)),
        whole=((64, 64),),
        lean=("ld.global", "st.global"),
        once=True,
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
    CuteExercise(
        id="04.8",
        title="row_max, a reduction",
        points=4,
        problem=row_max(),
        shapes=((4, 6), (5, 1000), (7, 129), (40, 1)),
        counted=(5, 1000),
        lean=("ld.global", "ld.shared", "st.shared"),
        once=True,
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

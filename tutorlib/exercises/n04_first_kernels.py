"""Exercises of notebook 04: first kernels.

Functions that launch nothing run on the CPU, so 04.1 to 04.3 are graded everywhere, by the real CuTe. Their tensors
hold small integers: every result is exact in fp32, in whatever order it is computed.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.exercise import Answer, Unwritten, is_placeholder
from tutorlib.checking.leaning import Elsewhere
from tutorlib.checking.traced import call_on_vectors
from tutorlib.checking.values import Case, Mistake, ValueExercise, equals
from tutorlib.compiling.errors import CompileFailed
from tutorlib.exercises.remedies.first_kernels import FIRST_KERNEL_REMEDIES
from tutorlib.problems.bounds import one_rounding
from tutorlib.problems.catalogue import vector_add
from tutorlib.problems.problem import Operand, Problem
from tutorlib.problems.wrong import Wrong

if TYPE_CHECKING:
    from torch import Tensor

Formula = Callable[["Tensor", "Tensor"], "Tensor"]  # x and y before the call → y after it
MARGIN = 4  # elements on either side of y that nobody may write


def on_cpu(
    name: str, lead: Any, formula: Formula, sizes: Iterable[int], mistakes: dict[str, Formula], dynamic: bool = True
) -> Case:
    """A case that is right when answer(lead, x, y) leaves formula(x, y) in y, for vectors of each size.

    dynamic: the layouts are dynamic, so that one compilation serves all sizes.
    mistakes: what to say where y comes out as another formula has it.
    """
    sizes = tuple(sizes)

    def judge(answer: Answer) -> Wrong | None:
        if not isinstance(answer, Elsewhere) and getattr(answer, "_decorator_kind", None) != "jit":
            return Wrong(f"{getattr(answer, '__name__', answer)} is not a @cute.jit function.")
        return next((wrong for n in sizes if (wrong := call_and_compare(answer, lead, n))), None)

    def call_and_compare(answer: Answer, lead: Any, n: int) -> Wrong | None:
        import torch

        x = torch.arange(n, dtype=torch.float32) % 5 - 2
        before = torch.full((n + 2 * MARGIN,), 99.0)
        before[MARGIN : MARGIN + n] = torch.arange(n) % 3
        try:
            left = call_on_vectors(answer, lead, x.numpy(), before.numpy(), MARGIN, dynamic)
        except CompileFailed as failed:
            message, *words = failed.lines
            return Wrong(f"{answer.__name__} does not compile: {message}", *words)
        except NotImplementedError as error:
            if is_placeholder(error):
                raise Unwritten from None
            return Wrong(f"{answer.__name__} raised NotImplementedError: {error}.")
        if left.shape != before.shape or left.dtype != np.float32:
            return Wrong(f"{answer.__name__} gives y back as something else.")
        memory = torch.from_numpy(left)
        old, y = before[MARGIN : MARGIN + n], memory[MARGIN : MARGIN + n]
        outside = before.clone()
        outside[MARGIN : MARGIN + n] = y
        if not memory.equal(outside):
            return Wrong(f"{answer.__name__} writes outside y, which has {n} elements.")
        return find_wrong_element(answer, lead, x, old, y)

    def find_wrong_element(answer: Answer, lead: Any, x: "Tensor", old: "Tensor", y: "Tensor") -> Wrong | None:
        want = formula(x, old)
        if y.equal(want):
            return None
        at = int((y != want).nonzero()[0])
        what = (
            f"{answer.__name__}({lead}, x, y) with {len(x)} elements: y[{at}] should be {want[at]:g} and is {y[at]:g}; "
            f"x[{at}] is {x[at]:g}, and y[{at}] was {old[at]:g}."
        )
        return Wrong(what, next((says for says, wrong in mistakes.items() if y.equal(wrong(x, old))), ""))

    return Case(name, judge)


# 04.1 axpy ------------------------------------------------------------------------------------------------------

ALPHA = 2.5
AXPY_MISTAKES: dict[str, Formula] = {
    "y is as it was: was anything written?": lambda x, y: y,
    "That is alpha·x; what y held before is to be added.": lambda x, y: ALPHA * x,
    "That is x + y without alpha.": lambda x, y: x + y,
    "alpha multiplies x alone, not the sum.": lambda x, y: ALPHA * (x + y),
    "The last element is left out: range(n) ends before n.": lambda x, y: ALPHA * x * up_to(len(x) - 1, x) + y,
    "The first element is left out.": lambda x, y: ALPHA * x * (1 - up_to(1, x)) + y,
}


def up_to(n: int, x: "Tensor") -> "Tensor":
    """Ones for the first n elements of x, then zeros."""
    import torch

    return (torch.arange(len(x)) < n).float()


# 04.2 polynomial ------------------------------------------------------------------------------------------------


def polynomial(coefficients: tuple[float, ...]) -> Formula:
    return lambda x, y: sum((c * x**power for power, c in enumerate(coefficients)), x.new_zeros(()))


def polynomial_case(name: str, coefficients: tuple[float, ...]) -> Case:
    mistakes: dict[str, Formula] = {
        "y is as it was: was anything written?": lambda x, y: y,
        "The coefficients come lowest first: coefficients[0] is the constant.": polynomial(coefficients[::-1]),
        "The last coefficient is left out.": polynomial(coefficients[:-1] or (0.0,)),
        "The constant is left out.": polynomial((0.0, *coefficients[1:])),
        "One step is missing: multiply by x once more and add the constant.": polynomial(coefficients[1:] or (0.0,)),
        "That is the right polynomial, added to what y held before.": lambda x, y: y + polynomial(coefficients)(x, y),
    }
    return on_cpu(name, coefficients, polynomial(coefficients), [5, 3], mistakes)


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

CALLS_EACH = Mistake("A layout that was met before is not compiled again.", lambda layouts, dynamic: len(layouts))
ONE_FOR_ALL = Mistake(
    "Even a dynamic layout keeps its rank, and which of its modes has the stride 1.",
    lambda layouts, dynamic: 1 if dynamic else len(set(layouts)),
)
ONE_PER_RANK = Mistake(
    "Even a dynamic layout keeps which of its modes has the stride 1.",
    lambda layouts, dynamic: len({len(s) for s, _ in layouts}) if dynamic else len(set(layouts)),
)
BY_SHAPE = Mistake(
    "The same shape with other strides is another static layout.",
    lambda layouts, dynamic: compilations(layouts, True) if dynamic else len({shape for shape, _ in layouts}),
)
STATIC = Mistake("That is the count for static layouts.", lambda layouts, dynamic: len(set(layouts)))
DYNAMIC = Mistake("That is the count for dynamic layouts.", lambda layouts, dynamic: compilations(layouts, True))

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


# 04.8 row_max ---------------------------------------------------------------------------------------------------


def row_max() -> Problem:
    """maxima (M,) of the rows of x (M, N). Exact, in whatever order."""

    def baseline(maxima: "Tensor", x: "Tensor") -> None:
        import torch

        torch.amax(x, -1, out=maxima)

    return Problem(
        name="row_max",
        dims="MN",
        inputs=(Operand("x", "MN", "fp32", pattern="identity"),),
        output=Operand("maxima", "M", "fp32"),
        reference=lambda x: x.amax(-1),
        bound=None,
        baseline=baseline,
        baseline_name="torch amax",
    )


EXERCISES = (
    ValueExercise(
        id="04.1",
        title="axpy",
        points=2,
        cases=(
            on_cpu("a static layout", ALPHA, lambda x, y: ALPHA * x + y, [6], AXPY_MISTAKES, dynamic=False),
            on_cpu("dynamic layouts of three sizes", ALPHA, lambda x, y: ALPHA * x + y, [1, 5, 8], AXPY_MISTAKES),
        ),
        hints=(
            "How many elements are there? cute.size(x) says it, also where only the run knows.",
            "A loop over range(cute.size(x)), whose one line reads and writes y[i].",
        ),
        remedies=FIRST_KERNEL_REMEDIES["04.1"],
    ),
    ValueExercise(
        id="04.2",
        title="polynomial",
        points=2,
        cases=(
            polynomial_case("a line", (2.0, -3.0)),
            polynomial_case("a cubic", (5.0, 0.0, -1.0, 2.0)),
            polynomial_case("a constant", (7.0,)),
        ),
        hints=(
            "Two loops: over the elements, which only the run counts, and over the coefficients, which the compiler "
            "has in its hands.",
            "A Python tuple has no element number ?: the loop over coefficients must be range_constexpr.",
            "Horner: start with the last coefficient, then for each one before it, multiply by x[i] and add.",
        ),
        remedies=FIRST_KERNEL_REMEDIES["04.2"],
    ),
    ValueExercise(
        id="04.3",
        title="compilations_for",
        points=2,
        cases=(
            equals(
                "static layouts",
                [(VECTORS, False), (ROWS + COLUMNS + ROWS, False), (PADDED, False), (CUBES, False)],
                compilations,
                [CALLS_EACH, BY_SHAPE, DYNAMIC],
            ),
            equals(
                "dynamic layouts",
                [(VECTORS, True), (ROWS + COLUMNS + ROWS, True), (PADDED, True), (CUBES + VECTORS, True)],
                compilations,
                [ONE_FOR_ALL, ONE_PER_RANK, STATIC, CALLS_EACH],
            ),
        ),
        hints=(
            "What does the type of a tensor say in the two cases above? As many types, as many compilations.",
            "For a dynamic layout two things are left in the type: the rank, and where the stride 1 stands.",
            "len({…}) counts different things: put the layouts in it, or (rank, stride.index(1)).",
        ),
        remedies=FIRST_KERNEL_REMEDIES["04.3"],
    ),
    CuteExercise(
        id="04.4",
        title="vector_add",
        points=3,
        problem=vector_add("fp32"),
        shapes=((128,), (4096,), (128 * 1001,)),
        hints=(
            "Which element is this thread's? Its block stands block · 128 elements in.",
            "grid is a number of blocks: as many as there are pieces of 128 elements.",
        ),
        remedies=FIRST_KERNEL_REMEDIES["04.4"],
    ),
    CuteExercise(
        id="04.5",
        title="vector_add of any size",
        points=4,
        problem=vector_add("fp32"),
        shapes=((1,), (127,), (1000,), (100_003,)),
        dynamic=True,
        hints=(
            "Two changes: one more block for the rest, and the threads of that block that have no element.",
            "cute.ceil_div(n, 128) rounds up.",
            "if i < cute.size(c): around the line that computes. Nothing else goes inside.",
        ),
        remedies=FIRST_KERNEL_REMEDIES["04.5"],
    ),
    CuteExercise(
        id="04.6",
        title="leaky_relu, four elements a thread",
        points=4,
        problem=leaky_relu(),
        shapes=((4,), (2048,), (4 * 12_347,)),
        dynamic=True,
        divisible=4,
        requires=("ld.global.v4", "st.global.v4"),
        hints=(
            "cute.local_tile(x, (4,), (i,)) is piece i of four elements; it is a tensor, and load() reads it whole.",
            "Only whole pieces exist: the guard asks whether piece i begins before the end.",
            "cute.where(v > 0, v, v * 0.125) picks for each element.",
        ),
        remedies=FIRST_KERNEL_REMEDIES["04.6"],
    ),
    CuteExercise(
        id="04.7",
        title="add_bias, in two directions",
        points=3,
        problem=add_bias(),
        shapes=((64, 64), (5, 100), (33, 7), (1, 2)),
        whole=((64, 64),),
        dynamic=True,
        hints=(
            "Which row and which column? Each is block · (threads of a block in this direction) + thread.",
            "The grid counts columns first: (blocks across, blocks down, 1), each rounded up.",
            "if m < x.shape[0] and n < x.shape[1]: around the one line that computes.",
        ),
        remedies=FIRST_KERNEL_REMEDIES["04.7"],
    ),
    CuteExercise(
        id="04.8",
        title="row_max, a reduction",
        points=4,
        problem=row_max(),
        shapes=((4, 6), (5, 1000), (7, 129), (40, 1)),
        dynamic=True,
        requires=("st.shared", "ld.shared", "bar.sync"),
        hints=(
            "First alone, then together: a loop over the thread's own elements, then its number into shared memory.",
            "The smallest of all numbers is -cutlass.Float32.inf: a thread without an element starts, and ends, there.",
            "for step in cutlass.range_constexpr(1, 8): half = THREADS >> step. The barrier stands in the loop, after "
            "the `if thread < half`.",
            "Thread 0 writes partial[0] to maxima[row], after the loop.",
        ),
        remedies=FIRST_KERNEL_REMEDIES["04.8"],
    ),
)

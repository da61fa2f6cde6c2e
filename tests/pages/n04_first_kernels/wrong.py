"""Wrong answers to notebook 04.

WRONG: those that any machine can tell, by what they do on the CPU, by not compiling or by the loads they lack.
WRONG_WHEN_RUN: kernels that compile well and compute something else: a GPU tells, or the simulator.
"""

import cutlass
from cutlass import cute

from tests.pages.change import derive, swap
from tests.pages.changed import right_answers
from tests.pages.n04_first_kernels import first_functions, vector_kernels
from tests.pages.table import answer


def not_jitted(alpha, x, y):
    """Is torch's own, on the CPU."""
    y += alpha * x


@cute.jit
def lines_only(coefficients: cutlass.Constexpr, x: cute.Tensor, y: cute.Tensor):
    """Knows two coefficients."""
    for i in range(cute.size(x)):
        y[i] = coefficients[0] + coefficients[1] * x[i]


# 04.3 -----------------------------------------------------------------------------------------------------------


def once_at_all(layouts, dynamic):
    """Believes that dynamic layouts are all alike."""
    return 1 if dynamic else len(set(layouts))


def once_a_rank(layouts, dynamic):
    """Forgets where the stride 1 stands."""
    return len({len(shape) for shape, _ in layouts}) if dynamic else len(set(layouts))


def once_a_shape(layouts, dynamic):
    """Forgets the strides of static layouts."""
    return len({(len(s), d.index(1)) for s, d in layouts} if dynamic else {s for s, _ in layouts})


def ignores_dynamic(layouts, dynamic):
    """Counts static layouts in either case."""
    return len(set(layouts))


# 04.4 -----------------------------------------------------------------------------------------------------------


@cute.jit
def launches_nothing(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """Forgets to launch."""


# Functions and kernels ------------------------------------------------------------------------------------------

RIGHT = right_answers("04_first_kernels")
AXPY, POLYNOMIAL, ADD, ADD_ANY, LEAKY = (RIGHT[f"04.{n}"] for n in (1, 2, 4, 5, 6))
LOOP = "cutlass.range_constexpr(len(coefficients) - 2, -1, -1)"
GUARDED = "    if i < cute.size(c):\n        c[i]"
PIECE = """\
    if 4 * i < cute.size(x):
        four = cute.local_tile(x, (4,), (i,)).load()
        leaked = cute.where(four > 0, four, four * 0.125)
        cute.local_tile(y, (4,), (i,)).store(leaked)"""
ONE = """\
    if i < cute.size(x):
        y[i] = x[i] if x[i] > 0 else x[i] * 0.125"""
APART = """\
    for value in cutlass.range_constexpr(4):
        n = (i // THREADS * 4 + value) * THREADS + i % THREADS
        if n < cute.size(x):
            y[n] = x[n] if x[n] > 0 else x[n] * 0.125"""

one_element = derive(LEAKY, "leaky_scalar", "", swap(PIECE, ONE), within="leaky_relu_kernel")

WRONG = {
    "04.1": [
        derive(AXPY, "overwrites", "Forgets what y held.", swap(" + y[i]", "")),
        derive(AXPY, "scales_the_sum", "Multiplies y too.", swap("alpha * x[i] + y[i]", "alpha * (x[i] + y[i])")),
        derive(AXPY, "leaves_the_last", "Ends one element early.", swap("size(x)", "size(x) - 1")),
        derive(AXPY, "one_too_many", "Writes past the end.", swap("size(x)", "size(y) + 1"), swap("* x[i]", "* x[0]")),
        derive(AXPY, "one_past", "Reads and writes one element past the end.", swap("size(x)", "size(x) + 1")),
        derive(AXPY, "a_hundred", "A hundred elements, whatever there are.", swap("cute.size(x)", "100")),
        derive(AXPY, "ten_million", "Far past the end, where memory ends.", swap("cute.size(x)", "10_000_000")),
        derive(AXPY, "six_elements", "Right for six elements only.", swap("cute.size(x)", "6")),
        derive(AXPY, "unrolled", "Compiles for static layouts only.", swap("range(", "cutlass.range_constexpr(")),
        not_jitted,
    ],
    "04.2": [
        derive(
            POLYNOMIAL,
            "backwards",
            "Takes the coefficients highest first.",
            swap("coefficients[-1]", "coefficients[0]"),
            swap(LOOP, "cutlass.range_constexpr(1, len(coefficients))"),
        ),
        derive(POLYNOMIAL, "no_constant", "Stops before the constant.", swap("- 2, -1, -1", "- 2, 0, -1")),
        derive(
            POLYNOMIAL,
            "run_time_loop",
            "Asks a Python tuple for an element that only the run knows.",
            swap("coefficients[-1]", "cutlass.Float32(0.0)"),
            swap(LOOP, "range(len(coefficients))"),
        ),
        lines_only,
    ],
    "04.3": [
        answer("once_a_call", "Counts calls.", lambda layouts, dynamic: len(layouts)),
        once_at_all,
        once_a_rank,
        once_a_shape,
        ignores_dynamic,
    ],
    "04.4": [
        launches_nothing,
        derive(
            ADD,
            "calls_without_launch",
            "Names the kernel and does not launch it.",
            swap(".launch(grid=(cute.size(c) // THREADS, 1, 1), block=(THREADS, 1, 1))", ""),
        ),
        derive(
            ADD,
            "old_names",
            "Uses names from old articles.",
            swap("my_element()", "cute.thread_idx().x"),
            within="add_kernel",
        ),
    ],
    "04.5": [
        derive(
            ADD_ANY,
            "returns_early",
            "Leaves the kernel early, as one would in C++.",
            swap(GUARDED, "    if i >= cute.size(c):\n        return\n    c[i]"),
            within="add_any_kernel",
        )
    ],
    "04.6": [
        derive(one_element, "leaky_scalar", "Right, with one element a thread.", swap("4 * THREADS", "THREADS")),
        derive(
            LEAKY,
            "leaky_strided",
            "Gives each thread four elements that do not lie together.",
            swap(PIECE, APART),
            within="leaky_relu_kernel",
        ),
    ],
}

WRONG_WHEN_RUN = {
    "04.4": [
        derive(ADD, "one_block", "Launches a single block.", swap("cute.size(c) // THREADS", "1")),
        derive(ADD, "empty", "Does nothing.", swap("c[i] = a[i] + b[i]", "pass"), within="add_kernel"),
        derive(ADD, "difference", "Subtracts.", swap("a[i] + b[i]", "a[i] - b[i]"), within="add_kernel"),
        derive(ADD, "twice_a", "Forgets b.", swap("a[i] + b[i]", "a[i] + a[i]"), within="add_kernel"),
        derive(ADD, "into_a", "Writes over its input.", swap("c[i] =", "a[i] = c[i] ="), within="add_kernel"),
        derive(ADD, "next_door", "Reads one element on.", swap("b[i]", "b[i + 1]"), within="add_kernel"),
        derive(
            ADD,
            "every_block_the_same",
            "Forgets which block it is.",
            swap("my_element()", "cute.arch.thread_idx()[0]"),
            within="add_kernel",
        ),
    ],
    "04.5": [
        derive(ADD_ANY, "empty_too", "Does nothing.", swap("c[i] = a[i] + b[i]", "pass"), within="add_any_kernel"),
        derive(
            ADD_ANY,
            "one_past_the_end",
            "Guards with <=.",
            swap("i < cute.size(c)", "i <= cute.size(c)"),
            within="add_any_kernel",
        ),
        derive(
            ADD_ANY,
            "guards_the_store",
            "Reads first and asks then.",
            swap(GUARDED, "    total = a[i] + b[i]\n    if i < cute.size(c):\n        c[i]"),
            swap("c[i] = a[i] + b[i]", "c[i] = total"),
            within="add_any_kernel",
        ),
        derive(
            ADD_ANY,
            "guards_128",
            "Guards with the size of a block.",
            swap("i < cute.size(c)", "i < THREADS"),
            within="add_any_kernel",
        ),
        derive(
            ADD_ANY,
            "unguarded",
            "Rounds the grid up and guards nothing.",
            swap(GUARDED, "    c[i]"),
            within="add_any_kernel",
        ),
        derive(
            ADD_ANY,
            "rounds_down",
            "Guards well, and leaves the rest to nobody.",
            swap("cute.ceil_div(cute.size(c), THREADS)", "cute.size(c) // THREADS"),
        ),
        derive(
            ADD_ANY,
            "off_by_one",
            "Guards one element too many.",
            swap("i < cute.size(c)", "i < cute.size(c) - 1"),
            within="add_any_kernel",
        ),
    ],
    "04.6": [
        derive(
            LEAKY, "relu", "Does not leak.", swap("four * 0.125", "cute.full_like(four, 0)"), within="leaky_relu_kernel"
        ),
        derive(LEAKY, "blocks_of_one", "Counts a thread as one element.", swap("4 * THREADS", "16 * THREADS")),
        derive(
            LEAKY,
            "all_leak",
            "Leaks everywhere.",
            swap("four > 0, four,", "four > 0, four * 0.125,"),
            within="leaky_relu_kernel",
        ),
        derive(LEAKY, "swapped", "Leaks on the wrong side.", swap("four > 0", "four < 0"), within="leaky_relu_kernel"),
        derive(
            LEAKY,
            "guards_pieces",
            "Compares a piece's number with a number of elements.",
            swap("4 * i < cute.size(x)", "i < cute.size(x)"),
            within="leaky_relu_kernel",
        ),
        derive(
            LEAKY,
            "unguarded_leaky",
            "Guards nothing.",
            swap(PIECE, "\n".join(line[4:] for line in PIECE.split("\n")[1:])),
            within="leaky_relu_kernel",
        ),
    ],
}

for exercise, more in {**first_functions.MORE, **vector_kernels.MORE}.items():
    WRONG_WHEN_RUN[exercise] = [*WRONG_WHEN_RUN.get(exercise, ()), *more]

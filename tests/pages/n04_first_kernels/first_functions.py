"""More wrong answers to notebook 04: functions of the host, and compilations."""

from itertools import groupby

from tests.pages.change import swap
from tests.pages.n04_first_kernels.first_kernels import axpy, polynomial
from tests.pages.table import answer


def per_key(key):
    """Counts what differs by this key of (shape, stride, dynamic)."""
    return lambda layouts, dynamic: len({key(shape, stride, dynamic) for shape, stride in layouts})


def right_key(shape, stride, dynamic):
    return (len(shape), stride.index(1)) if dynamic else (shape, stride)


AXPY = "alpha * x[i] + y[i]"
LOOP = "for i in range(cute.size(x))"
HORNER = "value = value * x[i] + coefficients[power]"


MORE = {
    "04.1": [
        axpy(
            "begins_with_the_second",
            "Leaves out element 0.",
            swap("range(cute", "range(1, cute"),
            words=("first element is left out",),
        ),
        axpy("every_other", "Steps by two.", swap("range(cute.size(x))", "range(0, cute.size(x), 2)")),
        axpy(
            "rounds_the_product",
            "alpha·x as an fp16.",
            swap("alpha * x[i]", "(alpha * x[i]).to(cutlass.Float16).to(cutlass.Float32)"),
        ),
        axpy("subtracts_y", "alpha·x - y.", swap("+ y[i]", "- y[i]")),
        axpy("adds_alpha", "Adds where it should multiply.", swap("alpha * x", "alpha + x")),
        axpy("squares_alpha", "Multiplies twice.", swap("alpha * x", "alpha * alpha * x")),
        axpy("writes_into_x", "Leaves y as it was.", swap("y[i] =", "x[i] ="), words=("was anything written",)),
        axpy("reads_backwards", "x from its end.", swap("x[i] +", "x[cute.size(x) - 1 - i] +")),
        axpy("adds_the_first_y", "y[0] everywhere.", swap("+ y[i]", "+ y[0]")),
        axpy(
            "computes_with_tensors",
            "As in NumPy.",
            swap(LOOP, "if True"),
            swap(f"y[i] = {AXPY}", "y = y + alpha * x"),
            words=("A cute.Tensor is a pointer and a layout", "The compiler's words: TypeError"),
        ),
        axpy("asks_for_the_length", "Python's len.", swap("cute.size(x)", "len(x)"), words=("`cute.size(x)`",)),
        axpy("truncates_alpha", "alpha as an integer.", swap("alpha * x", "cutlass.Int32(alpha) * x")),
        axpy(
            "by_halves",
            "Adds half of it, then the other half.",
            swap(f"y[i] = {AXPY}", f"y[i] = 0.5 * {AXPY}\n    {LOOP}:\n        y[i] = 0.5 * {AXPY}"),
            words=("stores each element of y 2 times",),
        ),
        axpy(
            "scales_x",
            "Multiplies in x's own memory.",
            swap(f"y[i] = {AXPY}", "x[i] = alpha * x[i]\n        y[i] = x[i] + y[i]"),
            words=("changes x, its input",),
        ),
        axpy("adds_x_twice", "2·x in place of alpha·x.", swap("alpha * x[i]", "x[i] + x[i]")),
    ],
    "04.2": [
        polynomial(
            "counts_the_last_twice", "The loop begins with the last coefficient again.", swap("- 2, -1", "- 1, -1")
        ),
        polynomial(
            "adds_before_it_multiplies", "(value + c)·x.", swap(HORNER, "value = (value + coefficients[power]) * x[i]")
        ),
        polynomial(
            "adds_to_y",
            "y is not overwritten.",
            swap("y[i] = value", "y[i] = y[i] + value"),
            words=("added to the old value of y",),
        ),
        polynomial("sums_the_coefficients", "Without x.", swap("value * x[i] +", "value +")),
        polynomial("knows_the_first_x", "x[0] everywhere.", swap("value * x[i]", "value * x[0]")),
        polynomial("all_but_the_last_element", "Ends early.", swap("cute.size(x)", "cute.size(x) - 1")),
        polynomial("five_elements", "Right for five.", swap("cute.size(x)", "5")),
        polynomial("keeps_the_last", "Each step forgets the sum.", swap("value * x[i] + ", "x[i] * ")),
        polynomial("the_constant_alone", "Does not loop.", swap(HORNER, "value = coefficients[0]")),
        polynomial("subtracts", "Signs.", swap("* x[i] +", "* x[i] -")),
        polynomial(
            "into_x", "Leaves y as it was.", swap("y[i] = value", "x[i] = value"), words=("was anything written",)
        ),
        polynomial(
            "all_of_it_twice",
            "Goes over the elements twice.",
            swap(LOOP, f"for again in range(2):\n      {LOOP}"),
            words=("takes 10 multiplications",),
        ),
        polynomial(
            "powers_in_fp64",
            "A power of x for each coefficient, in fp64.",
            swap("value = coefficients[-1]", "value = cutlass.Float64(coefficients[0])"),
            swap(
                "cutlass.range_constexpr(len(coefficients) - 2, -1, -1)",
                "cutlass.range_constexpr(1, len(coefficients))",
            ),
            swap(
                HORNER,
                "power_of_x = cutlass.Float64(1)\n"
                "            for again in cutlass.range_constexpr(power):\n"
                "                power_of_x = power_of_x * cutlass.Float64(x[i])\n"
                "            value = value + coefficients[power] * power_of_x",
            ),
            swap("y[i] = value", "y[i] = cutlass.Float32(value)"),
            words=("multiplications for each element",),
        ),
        polynomial(
            "rounds_to_fp16",
            "The value as an fp16 after each step.",
            swap("value = coefficients[-1]", "value = cutlass.Float32(coefficients[-1])"),
            swap(HORNER, f"value = ({HORNER.partition(' = ')[2]}).to(cutlass.Float16).to(cutlass.Float32)"),
        ),
        polynomial("doubles_x", "2·x in place of x.", swap("value * x[i]", "value * (x[i] + x[i])")),
    ],
    "04.3": [
        answer(
            "by_the_place_of_1",
            "Dynamic layouts of different ranks are one.",
            per_key(lambda s, d, dynamic: d.index(1) if dynamic else (s, d)),
        ),
        answer(
            "by_strides",
            "Static layouts without their shapes.",
            per_key(lambda s, d, dynamic: right_key(s, d, 1) if dynamic else d),
        ),
        answer(
            "by_size",
            "Static layouts of as many elements are one.",
            per_key(lambda s, d, dynamic: right_key(s, d, 1) if dynamic else (len(s), sum(s))),
        ),
        answer(
            "by_sorted_shape",
            "Rows and columns are one.",
            per_key(lambda s, d, dynamic: right_key(s, d, 1) if dynamic else tuple(sorted(s))),
        ),
        answer(
            "the_other_way_round",
            "Takes dynamic for static.",
            per_key(lambda s, d, dynamic: right_key(s, d, not dynamic)),
        ),
        answer(
            "always_dynamic",
            "All layouts as dynamic ones.",
            per_key(lambda s, d, dynamic: right_key(s, d, True)),
            "count for dynamic layouts",
        ),
        answer(
            "counts_neighbors",
            "Only the layout just before is remembered.",
            lambda layouts, dynamic: len([k for k, _ in groupby(layouts, lambda pair: right_key(*pair, dynamic))]),
        ),
        answer(
            "one_more",
            "And one for the function itself.",
            lambda layouts, dynamic: per_key(right_key)(layouts, dynamic) + 1,
        ),
        answer(
            "the_set_itself",
            "Returns which, not how many.",
            lambda layouts, dynamic: {right_key(*pair, dynamic) for pair in layouts},
        ),
        answer(
            "by_the_longest_stride",
            "Looks for the slowest mode.",
            per_key(lambda s, d, dynamic: (len(s), d.index(max(d))) if dynamic else (s, d)),
        ),
        answer(
            "by_shape_and_place",
            "A dynamic layout with its sizes.",
            per_key(lambda s, d, dynamic: (s, d.index(1)) if dynamic else (s, d)),
        ),
    ],
}

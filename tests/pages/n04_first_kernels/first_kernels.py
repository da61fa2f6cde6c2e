"""What the wrong and right answers to notebook 04 are derived from: its host functions and its kernels."""

from functools import partial

from tests.pages.change import derive
from tests.pages.changed import right_answers

SOLVED = right_answers("04_first_kernels")
KERNELS = ("add_kernel", "add_any_kernel", "leaky_relu_kernel", "add_bias_kernel", "row_max_kernel")

axpy, polynomial = (partial(derive, SOLVED[id]) for id in ("04.1", "04.2"))
add, add_any, leaky_relu, add_bias, row_max = (
    partial(derive, SOLVED[f"04.{n}"], within=kernel) for n, kernel in enumerate(KERNELS, 4)
)

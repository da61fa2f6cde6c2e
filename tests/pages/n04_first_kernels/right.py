"""Unusual right answers to notebook 04."""

import numpy as np

from tests.pages.change import derive, swap
from tests.pages.n04_first_kernels.first_kernels import (
    SOLVED,
    add,
    add_any,
    add_bias,
    axpy,
    leaky_relu,
    polynomial,
    row_max,
)
from tests.pages.table import answer

GUARDED = "    if i < cute.size(c):\n        c[i] = a[i] + b[i]"
TREE = "    for step in cutlass.range_constexpr(1, THREADS.bit_length()):\n        half = THREADS >> step"

RIGHT = {
    "04.1": [
        axpy(
            "from_the_end",
            "Goes backwards.",
            swap("y[i] = alpha * x[i] + y[i]", "k = cute.size(x) - 1 - i\n        y[k] = y[k] + alpha * x[k]"),
        ),
        axpy(
            "counts_y",
            "cute.size of the other one, and names for the parts.",
            swap("cute.size(x)", "cute.size(y)"),
            swap("y[i] = alpha * x[i] + y[i]", "scaled = x[i] * alpha\n        y[i] += scaled"),
        ),
        axpy("by_the_shape", "x.shape[0], cutlass.range.", swap("range(cute.size(x))", "cutlass.range(x.shape[0])")),
        axpy(
            "in_a_while_loop",
            "A loop that counts by itself.",
            swap("for i in range(cute.size(x)):", "i = 0\n    while i < cute.size(x):"),
            swap("+ y[i]", "+ y[i]\n        i += 1"),
        ),
    ],
    "04.2": [
        polynomial(
            "counts_from_the_end",
            "Horner with indices from the end.",
            swap(
                "cutlass.range_constexpr(len(coefficients) - 2, -1, -1)",
                "cutlass.range_constexpr(2, len(coefficients) + 1)",
            ),
            swap("coefficients[power]", "coefficients[-power]"),
        ),
        polynomial(
            "over_the_reversed",
            "Loops over the coefficients themselves.",
            swap("value = coefficients[-1]", "value = cutlass.Float32(0)"),
            swap("for power in cutlass.range_constexpr(len(coefficients) - 2, -1, -1)", "for c in coefficients[::-1]"),
            swap("coefficients[power]", "c"),
        ),
        polynomial(
            "powers_outside",
            "The loops exchanged: y is the accumulator.",
            swap(
                "    for i in range(cute.size(x)):\n        value = coefficients[-1]\n        for power in cutlass.range_constexpr(len(coefficients) - 2, -1, -1):\n"
                "            value = value * x[i] + coefficients[power]\n        y[i] = value",
                "    for i in range(cute.size(x)):\n        y[i] = cutlass.Float32(coefficients[-1])\n"
                "    for power in cutlass.range_constexpr(len(coefficients) - 2, -1, -1):\n"
                "        for i in range(cute.size(x)):\n            y[i] = y[i] * x[i] + coefficients[power]",
            ),
        ),
    ],
    "04.3": [
        answer(
            "with_a_dict",
            "Keeps a dictionary, as the DSL does.",
            lambda layouts, dynamic: len({((len(s), d.index(1)) if dynamic else (s, d)): None for s, d in layouts}),
        ),
        answer(
            "by_counting",
            "Goes through the list once and remembers.",
            lambda layouts, dynamic: count_new(layouts, dynamic),
        ),
        answer(
            "numpy_s_number",
            "np.unique's integer.",
            lambda layouts, dynamic: np.int64(
                len({str((len(s), d.index(1)) if dynamic else (s, d)) for s, d in layouts})
            ),
        ),
        answer(
            "where_one_stands",
            "A mask of strides that are 1.",
            lambda layouts, dynamic: len({tuple(step == 1 for step in d) if dynamic else (s, d) for s, d in layouts}),
        ),
    ],
    "04.4": [
        add(
            "without_the_helper",
            "Its own index.",
            swap(
                "i = my_element()",
                "thread, _, _ = cute.arch.thread_idx()\n    block, _, _ = cute.arch.block_idx()\n    i = thread + block * THREADS",
            ),
        ),
        add(
            "through_tiles",
            "local_tile, then the thread's element.",
            swap("i = my_element()", "thread, _, _ = cute.arch.thread_idx()\n    block, _, _ = cute.arch.block_idx()"),
            swap(
                "c[i] = a[i] + b[i]",
                "cute.local_tile(c, (THREADS,), (block,))[thread] = (\n        cute.local_tile(a, (THREADS,), (block,))[thread] + cute.local_tile(b, (THREADS,), (block,))[thread]\n    )",
            ),
        ),
        derive(
            SOLVED["04.4"],
            "rounds_up",
            "Rounds up what is whole.",
            swap("cute.size(c) // THREADS", "(cute.size(a) + THREADS - 1) // THREADS"),
        ),
        add(
            "guarded",
            "With a predicate.",
            swap("c[i] = a[i] + b[i]", "if i < cute.size(c):\n        c[i] = b[i] + a[i]"),
        ),
    ],
    "04.5": [
        derive(
            SOLVED["04.5"],
            "one_block_too_many",
            "The last block has nothing to do.",
            swap("cute.ceil_div(cute.size(c), THREADS)", "cute.size(c) // THREADS + 1"),
        ),
        add_any(
            "guard_turned_round",
            "size > i, and parts with names.",
            swap(
                GUARDED,
                "    n = c.shape[0]\n    if n > i:\n        left, right = a[i], b[i]\n        c[i] = left + right",
            ),
        ),
        add_any(
            "by_elem_less",
            "A coordinate against a shape.",
            swap("if i < cute.size(c)", "if cute.elem_less((i,), c.shape)"),
        ),
        add_any(
            "a_loop_of_blocks",
            "Each thread goes on by the whole grid.",
            swap(
                GUARDED,
                "    blocks, _, _ = cute.arch.grid_dim()\n    for k in range(i, cute.size(c), blocks * THREADS):\n        c[k] = a[k] + b[k]",
            ),
        ),
    ],
    "04.6": [
        leaky_relu(
            "by_the_maximum",
            "max(x, x/8) is the same.",
            swap("cute.where(four > 0, four, four * 0.125)", "cute.where(four > four * 0.125, four, four / 8.0)"),
        ),
        leaky_relu(
            "through_registers",
            "A fragment, and autovec_copy.",
            swap(
                "four = cute.local_tile(x, (4,), (i,)).load()",
                "mine = cute.make_rmem_tensor((4,), x.element_type)\n        cute.autovec_copy(cute.local_tile(x, (4,), (i,)), mine)\n        four = mine.load()",
            ),
        ),
        leaky_relu(
            "whole_pieces", "Asks by the number of pieces.", swap("if 4 * i < cute.size(x)", "if i < cute.size(x) // 4")
        ),
        derive(
            SOLVED["04.6"],
            "rounds_up_twice",
            "ceil_div of ceil_div.",
            swap("cute.ceil_div(cute.size(x), 4 * THREADS)", "cute.ceil_div(cute.ceil_div(cute.size(x), 4), THREADS)"),
        ),
    ],
    "04.7": [
        add_bias(
            "two_branches",
            "One if in another.",
            swap(
                "    if m < x.shape[0] and n < x.shape[1]:\n        y[m, n]",
                "    if m < x.shape[0]:\n        if n < x.shape[1]:\n            y[m, n]",
            ),
        ),
        add_bias(
            "by_elem_less_2d",
            "A coordinate against the shape.",
            swap("if m < x.shape[0] and n < x.shape[1]", "if cute.elem_less((m, n), y.shape)"),
        ),
        add_bias(
            "through_a_tile",
            "local_tile, and the thread's place in it.",
            swap(
                "    y[m, n] = x[m, n]",
                "    there = (block_down, block_across)\n        cute.local_tile(y, (8, 32), there)[down, across] = cute.local_tile(x, (8, 32), there)[down, across]",
            ),
        ),
        derive(
            SOLVED["04.7"],
            "more_than_enough",
            "A block more in each direction.",
            swap("cute.ceil_div(columns, BLOCK[0])", "columns // BLOCK[0] + 1"),
        ),
    ],
    "04.8": [
        row_max(
            "the_other_half_of_the_tree",
            "Neighbors first: strides 1, 2, 4, …",
            swap(
                TREE,
                "    for step in cutlass.range_constexpr(1, THREADS.bit_length()):\n        half = 1 << (step - 1)",
            ),
            swap("if thread < half:", "if thread % (2 * half) == 0:"),
        ),
        row_max(
            "by_branches",
            "if for max, and a barrier by its other name.",
            swap("largest = max(largest, x[row, n])", "if x[row, n] > largest:\n            largest = x[row, n]"),
            swap(
                "    partial[thread] = largest\n    cute.arch.sync_threads()",
                "    partial[thread] = largest\n    cute.arch.barrier()",
            ),
        ),
        row_max(
            "two_trees",
            "Warps first, by shuffles.",
            swap(
                "    partial[thread] = largest\n",
                "    largest = cute.arch.warp_reduction_max(largest)\n    partial[thread] = largest\n",
            ),
        ),
    ],
}


def count_new(layouts, dynamic):
    met, compiled = [], 0
    for shape, stride in layouts:
        key = [len(shape), stride.index(1)] if dynamic else [shape, stride]
        if key in met:
            continue
        met.append(key)
        compiled += 1
    return compiled

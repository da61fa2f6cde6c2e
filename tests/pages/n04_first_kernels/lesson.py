"""The one thing each exercise of page 04 teaches, and answers without it."""

from tests.pages.change import derive, swap
from tests.pages.lesson import Lesson, named
from tests.pages.n04_first_kernels.first_kernels import SOLVED, add, add_bias, polynomial, row_max

by_powers = polynomial(
    "by_powers",
    "A power of x for each coefficient.",
    swap("value = coefficients[-1]", "value = coefficients[0]"),
    swap("cutlass.range_constexpr(len(coefficients) - 2, -1, -1)", "cutlass.range_constexpr(1, len(coefficients))"),
    swap("value = value * x[i] + coefficients[power]", "value = value + coefficients[power] * x[i] ** power"),
)
all_by_each_thread = add(
    "all_by_each_thread",
    "Each thread computes every element.",
    swap("i = my_element()\n    c[i] = a[i] + b[i]", "for i in range(cute.size(c)):\n        c[i] = a[i] + b[i]"),
)
every_32nd = add(
    "every_32nd",
    "Neighboring threads are 32 elements apart.",
    swap("i = my_element()", "i = my_element()\n    i = i // 4096 * 4096 + i % 128 * 32 + i // 128 % 32"),
)
down_the_rows = add_bias(
    "down_the_rows",
    "x runs down the rows: a warp touches 32 of them.",
    swap("across, down, _ = cute.arch.thread_idx()", "down, across, _ = cute.arch.thread_idx()"),
    swap("m = block_down * BLOCK[1] + down", "m = block_down * BLOCK[0] + down"),
    swap("n = block_across * BLOCK[0] + across", "n = block_across * BLOCK[1] + across"),
)
contiguous_pieces = row_max(
    "contiguous_pieces",
    "Each thread has a piece of the row: the warp's loads are far apart.",
    swap(
        "for n in range(thread, x.shape[1], THREADS):",
        "each = cute.ceil_div(x.shape[1], THREADS)\n"
        "    for n in range(thread * each, cutlass.min(thread * each + each, x.shape[1])):",
    ),
)
from_minus_10_000 = row_max(
    "from_minus_10_000",
    "Starts from a number that rows may be below.",
    swap("-cutlass.Float32.inf", "cutlass.Float32(-1e4)"),
)

idle_blocks = derive(
    SOLVED["04.5"],
    "idle_blocks",
    "Three times as many blocks as cover the vector.",
    swap("cute.ceil_div(cute.size(c), THREADS)", "3 * cute.ceil_div(cute.size(c), THREADS)"),
)
a_block_for_128 = derive(
    SOLVED["04.6"],
    "a_block_for_128",
    "A block for each 128 elements, where its threads have room for 512.",
    swap("4 * THREADS)", "THREADS)"),
)
two_barriers_a_step = row_max(
    "two_barriers_a_step",
    "A needless barrier in each step of the tree.",
    swap(
        "            partial[thread] = max(partial[thread], partial[thread + half])\n        cute.arch.sync_threads()",
        "            partial[thread] = max(partial[thread], partial[thread + half])\n        cute.arch.sync_threads()\n"
        "        cute.arch.sync_threads()",
    ),
)

LESSONS = {
    "04.1": Lesson(
        "a loop over as many elements as there are",
        named("04.1", "six_elements", "one_past", "a_hundred", "by_halves", "scales_x"),
    ),
    "04.2": Lesson(
        "Horner's rule, unrolled while compiling",
        (by_powers, *named("04.2", "run_time_loop", "all_of_it_twice", "powers_in_fp64")),
    ),
    "04.3": Lesson("the type of a tensor decides on a compilation", named("04.3", "once_a_call", "once_a_rank")),
    "04.4": Lesson(
        "one element for each thread, by block and thread",
        (
            all_by_each_thread,
            every_32nd,
            *named("04.4", "every_block_adds_all", "in_two_stores", "half_of_the_threads", "needless_barrier"),
        ),
    ),
    "04.5": Lesson(
        "a predicate before every access",
        (
            idle_blocks,
            *named("04.5", "half_of_the_threads", "guards_the_store", "unguarded", "clamps_both", "two_workers"),
        ),
    ),
    "04.6": Lesson(
        "one 16-byte access for four elements",
        (a_block_for_128, *named("04.6", "leaky_scalar", "leaky_strided", "leaks_in_memory")),
    ),
    "04.7": Lesson(
        "coalesced access: x runs along the contiguous mode",
        (down_the_rows, *named("04.7", "a_launch_of_one_direction", "clamps_the_row", "blocks_of_one_warp")),
    ),
    "04.8": Lesson(
        "a coalesced loop, then a tree in shared memory",
        (
            contiguous_pieces,
            from_minus_10_000,
            two_barriers_a_step,
            *named("04.8", "thread_0_alone", "no_tree", "looks_twice", "no_barrier_in_the_tree", "starts_from_a_float"),
        ),
    ),
}

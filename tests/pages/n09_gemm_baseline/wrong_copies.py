"""Wrong answers to notebook 09: bytes, shared memory, the first loop, and who copies what."""

from functools import partial

from cutlass import cute
from cutlass.cute.nvgpu import cpasync

from tests.pages.change import derive, move_last, swap, without, without_first, without_last
from tests.pages.table import answer
from tutorlib.kernels.ampere.layouts import smem_layout
from tutorlib.kernels.ampere.main_loops import single_buffer
from tutorlib.kernels.ampere.thread_share import make_copy_g2s


def blocks(m, n, tile_m, tile_n):
    return -(-m // tile_m) * -(-n // tile_n)


BYTES = [
    answer("each_matrix_once", "Shares what blocks load.", lambda m, n, k, tm, tn: 2 * k * (m + n), "each matrix once"),
    answer(
        "whole_tiles_only",
        "Forgets the tiles that are partly outside.",
        lambda m, n, k, tm, tn: (m // tm) * (n // tn) * (tm + tn) * k * 2,
        "round the number of blocks up",
    ),
    answer("elements", "Counts elements.", lambda m, n, k, tm, tn: blocks(m, n, tm, tn) * (tm + tn) * k, "2 bytes"),
    answer(
        "sides_exchanged",
        "Divides M by the tile's N.",
        lambda m, n, k, tm, tn: blocks(m, n, tn, tm) * (tm + tn) * k * 2,
    ),
    answer(
        "a_product_of_sides",
        "A tile of C for rows of A and B.",
        lambda m, n, k, tm, tn: blocks(m, n, tm, tn) * tm * tn * k * 2,
        "their sum, not their product",
    ),
    answer(
        "fp32",
        "4 bytes an element.",
        lambda m, n, k, tm, tn: blocks(m, n, tm, tn) * (tm + tn) * k * 4,
        "bf16 has 2 bytes",
    ),
    answer("one_block", "One block's loads.", lambda m, n, k, tm, tn: (tm + tn) * k * 2, "one block's"),
    answer("a_alone", "A, and not B.", lambda m, n, k, tm, tn: blocks(m, n, tm, tn) * tm * k * 2, "B's rows, too"),
    answer(
        "a_block_too_many",
        "n // tile + 1.",
        lambda m, n, k, tm, tn: (m // tm + 1) * (n // tn + 1) * (tm + tn) * k * 2,
        "one tile too many",
    ),
    answer(
        "c_as_well",
        "C's bytes, too.",
        lambda m, n, k, tm, tn: blocks(m, n, tm, tn) * (tm + tn) * k * 2 + 2 * m * n,
        "C is written, not loaded",
    ),
    answer(
        "one_row_of_blocks",
        "B once for all rows of blocks.",
        lambda m, n, k, tm, tn: 2 * k * (blocks(m, n, tm, tn) * tm + -(-n // tn) * tn),
    ),
    answer(
        "sides_of_the_other",
        "A's rows by the tile's N.",
        lambda m, n, k, tm, tn: 2 * k * (-(-m // tm) * tn + -(-n // tn) * tm),
    ),
    answer("what_is_inside", "Rows inside alone.", lambda m, n, k, tm, tn: 2 * k * (-(-n // tn) * m + -(-m // tm) * n)),
]


def one_stage(rows, k, stages):
    """All stages in one place."""
    return cute.make_layout((rows, k, stages), stride=(k, 1, 0))


def padded(rows, k, stages):
    """Padding in place of a swizzle: no conflicts, and more memory than was given."""
    return cute.make_layout((rows, k, stages), stride=(k + 8, 1, rows * (k + 8)))


def columns_first(rows, k, stages):
    """M-contiguous: a vector of 8 along K is eight places apart."""
    return cute.make_layout((rows, k, stages), stride=(1, rows, rows * k))


SWIZZLE = "make_swizzle(3 if width == 64 else 2, 3, 3)"


layout_like = partial(derive, smem_layout)
LAYOUTS = [
    layout_like("row_major", "No swizzle: ldmatrix meets itself.", swap(SWIZZLE, "make_swizzle(0, 3, 3)")),
    layout_like("one_bit_short", "Half of what it should mix.", swap(SWIZZLE, "make_swizzle(2, 3, 3)")),
    layout_like("vectors_torn", "Mixes bits inside a vector.", swap(SWIZZLE, "make_swizzle(3, 0, 6)")),
    layout_like("bits_too_high", "Mixes rows with rows.", swap(SWIZZLE, "make_swizzle(3, 6, 3)")),
    layout_like(
        "narrow_rows_half_mixed",
        "One bit short where a row has 64 bytes.",
        swap(SWIZZLE, "make_swizzle(3 if width == 64 else 1, 3, 3)"),
    ),
    layout_like("too_far_apart", "XORs rows 16 apart.", swap(SWIZZLE, "make_swizzle(3, 3, 4)")),
    layout_like("counts_bytes", "As if it were bytes.", swap(SWIZZLE, "make_swizzle(3, 4, 3)")),
    layout_like("stages_inside", "Stages run fastest.", swap("(0, 1, 2))", "(1, 2, 0))")),
    layout_like("one_stage_only", "One, whatever is asked.", swap("atom, (rows, k, stages)", "atom, (rows, k, 1)")),
    layout_like("atom_of_6_rows", "An atom that does not divide the rows.", swap("((8, width)", "((6, width)")),
    layout_like("shape_exchanged", "K down, rows across.", swap("atom, (rows, k, stages)", "atom, (k, rows, stages)")),
    one_stage,
    padded,
    columns_first,
]


loop = partial(derive, single_buffer)
LOOPS = [
    loop(
        "no_barrier_after_the_wait",
        "Each thread waits for its own copies and reads those of all threads.",
        without_first("sync_threads()"),
    ),
    loop(
        "no_barrier_before_the_load",
        "A fast warp overwrites what a slow one still reads.",
        without_last("sync_threads()"),
    ),
    loop(
        "waits_for_all_but_one",
        "wait_group off by one: the only group may be open.",
        swap("wait_group(0)", "wait_group(1)"),
    ),
    loop("never_commits", "No groups to wait for.", without("commit_group()")),
    loop("never_waits", "A barrier is no wait.", without("wait_group(0)")),
    loop("drops_the_last_tile", "One K tile short.", swap("(steps.k_tiles)", "(steps.k_tiles - 1)")),
    loop("always_the_first_tile", "The K tile's index is not advanced.", swap("load(k_tile, 0)", "load(0, 0)")),
    loop(
        "one_k_block_short", "Leaves out the last 16 of each K tile.", swap("(steps.k_blocks)", "(steps.k_blocks - 1)")
    ),
    loop("four_k_blocks", "Counts on K tiles of 64.", swap("(steps.k_blocks)", "(4)")),
    loop("not_compiled", "No @cute.jit.", without("@cute.jit")),
    loop("a_twice", "Loads A and forgets B.", swap("steps.load(k_tile, 0)", "steps.a.load(k_tile, 0)")),
    loop(
        "b_of_the_tile_before",
        "A and B are of different K tiles.",
        swap(
            "steps.load(k_tile, 0)", "steps.a.load(k_tile, 0)\n        if k_tile == 0:\n            steps.b.load(0, 0)"
        ),
    ),
    loop("commits_last", "The wait comes before the commit.", move_last("commit_group()", after="wait_group(0)")),
    loop(
        "fetches_one_block_on",
        "The next block's operands.",
        swap("steps.fetch(k_block, 0)", "steps.fetch((k_block + 1) % steps.k_blocks, 0)"),
    ),
    loop("unrolled", "The compiler writes every K tile out.", swap("in range(", "in cutlass.range_constexpr(")),
    loop(
        "a_third_barrier",
        "Safe, with a barrier more than necessary.",
        swap(
            "            steps.multiply(k_block)",
            "            steps.multiply(k_block)\n        cute.arch.sync_threads()",
        ),
    ),
    loop(
        "fetches_again",
        "Safe, and fetches each K block once more after its multiplication.",
        swap(
            "            steps.multiply(k_block)",
            "            steps.multiply(k_block)\n            steps.fetch(k_block, 0)",
        ),
    ),
    loop(
        "loads_again",
        "Safe, and loads each K tile once more when it is done.",
        swap(
            "            steps.multiply(k_block)\n        cute.arch.sync_threads()",
            "            steps.multiply(k_block)\n        cute.arch.sync_threads()\n        steps.load(k_tile, 0)\n"
            "        cute.arch.cp_async_commit_group()\n        cute.arch.cp_async_wait_group(0)",
        ),
    ),
    loop(
        "multiplies_before_it_fetches",
        "The operands of the block before.",
        swap(
            "            steps.fetch(k_block, 0)\n            steps.multiply(k_block)",
            "            steps.multiply(k_block)\n            steps.fetch(k_block, 0)",
        ),
    ),
    loop(
        "first_warp_alone",
        "Only a warp comes to the barrier.",
        swap(
            "        cute.arch.cp_async_wait_group(0)\n        cute.arch.sync_threads()",
            "        cute.arch.cp_async_wait_group(0)\n        if cute.arch.thread_idx()[0] < 32:\n            cute.arch.sync_threads()",
        ),
    ),
    loop(
        "half_the_threads_load",
        "Each thread has a part of the tile to copy.",
        swap(
            "        steps.load(k_tile, 0)",
            "        if cute.arch.thread_idx()[0] < 64:\n            steps.load(k_tile, 0)",
        ),
    ),
]


copies = partial(derive, make_copy_g2s)
THREADS = "cute.make_layout((config.threads // lanes, lanes), stride=(lanes, 1))"


def atom_alone(config, dtype):
    """The instruction without its threads."""
    return cute.make_copy_atom(cpasync.CopyG2SOp(), dtype, num_bits_per_copy=128)


COPIES = [
    copies(
        "down_the_rows",
        "Threads run down: each touches a line of its own.",
        swap(THREADS, "cute.make_layout((config.threads // lanes, lanes))"),
    ),
    copies(
        "always_eight_lanes", "Rows of 64, also where they have 32.", swap("min(config.tile[2], LINE) // VECTOR", "8")
    ),
    copies(
        "elements_for_vectors",
        "As many threads as a row has elements.",
        swap("min(config.tile[2], LINE) // VECTOR", "config.tile[2]"),
    ),
    copies("four_elements", "64 bits a copy.", swap("=128)", "=64)"), swap("(1, VECTOR)", "(1, 4)")),
    copies("values_down", "A thread's 8 values are 8 rows.", swap("(1, VECTOR)", "(VECTOR, 1)")),
    copies("half_the_threads", "64 threads, whatever the block has.", swap("config.threads // lanes", "64 // lanes")),
    copies("always_128_threads", "Right for one configuration.", swap("config.threads // lanes", "128 // lanes")),
    copies(
        "always_through_l1",
        "Does not ask for what it is given.",
        swap("cache_mode=cache", "cache_mode=LoadCacheMode.ALWAYS"),
    ),
    copies("past_l1_by_default", "Leaves the cache mode out.", swap("cache_mode=cache", "")),
    copies("all_in_one_place", "A stride of 0: threads copy the same.", swap("stride=(lanes, 1)", "stride=(0, 1)")),
    copies(
        "two_lanes_a_row",
        "Whole sectors, and bank conflicts in shared memory.",
        swap("min(config.tile[2], LINE) // VECTOR", "2"),
    ),
    copies(
        "lanes_swapped",
        "Rows for lanes.",
        swap(THREADS, "cute.make_layout((lanes, config.threads // lanes), stride=(config.threads // lanes, 1))"),
    ),
    copies(
        "shape_alone_swapped",
        "Rows for lanes, and the strides of before: several threads in one place.",
        swap("(config.threads // lanes, lanes), stride", "(lanes, config.threads // lanes), stride"),
    ),
    copies("no_jit_needed_none", "Returns nothing.", swap("    return cute", "    cute")),
    copies("ordinary_loads", "Through registers.", swap("CopyG2SOp(cache_mode=cache)", "cute.nvgpu.CopyUniversalOp()")),
    atom_alone,
]


WRONG = {"09.1": BYTES, "09.2": LAYOUTS, "09.3": LOOPS, "09.4": COPIES}

"""Wrong answers to notebook 15: tensor memory, and the ring's stages."""

from tests.pages.change import swap, without, without_first, without_last
from tests.pages.n15_blackwell_gemm.blackwell_loops import wrong
from tests.pages.table import answer
from tutorlib.kernels.blackwell.holding import hold
from tutorlib.models.tensor_memory import ring_stages, accumulator_place, tmem_columns


def rounded_each(n, accumulators):
    """Each accumulator a power of two by itself."""
    each = tmem_columns(n, 1)
    return each * accumulators if each * accumulators <= 512 else 0


HOLD = [
    wrong(
        hold,
        "everybody_allocates",
        "All six warps allocate.",
        swap(
            "    if holding.warp == MMA_WARP:\n        cute.arch.alloc_tmem(holding.columns, holding.address, holding.pair)\n"
            "        cute.arch.relinquish_tmem_alloc_permit(holding.pair)\n",
            "    cute.arch.alloc_tmem(holding.columns, holding.address, holding.pair)\n",
        ),
        "allocates, too",
    ),
    wrong(hold, "no_meeting_before", "The address may not be there.", without_first("holding.meet()"), "cannot know"),
    wrong(hold, "no_meeting_after", "Freed while others work.", without_last("holding.meet()"), "may still be at work"),
    wrong(
        hold,
        "never_frees_memory",
        "The next block waits forever.",
        swap(
            "    if holding.warp == MMA_WARP:\n        cute.arch.dealloc_tmem(acc, holding.columns, holding.pair)",
            "    pass",
        ),
        "no warp frees the columns",
    ),
    wrong(
        hold,
        "half_the_columns",
        "Too few columns.",
        swap("alloc_tmem(holding.columns,", "alloc_tmem(holding.columns // 2,"),
        "256 columns are too few",
    ),
    wrong(
        hold,
        "another_number",
        "Frees fewer than it has.",
        swap("dealloc_tmem(acc, holding.columns,", "dealloc_tmem(acc, 256,"),
        "frees 256 columns of 512",
    ),
    wrong(
        hold,
        "three_hundred",
        "No power of two.",
        swap("alloc_tmem(holding.columns,", "alloc_tmem(300,"),
        "a power of two",
    ),
    wrong(
        hold,
        "one_lane",
        "One lane allocates.",
        swap("        cute.arch.alloc_tmem", "        with cute.arch.elect_one():\n            cute.arch.alloc_tmem"),
        "for a whole warp",
    ),
    wrong(
        hold,
        "meets_in_a_branch",
        "The others never come.",
        swap("    holding.meet()\n    acc", "        holding.meet()\n    acc"),
    ),
    wrong(
        hold,
        "five_workers",
        "The warp that allocates does not work.",
        swap("    holding.work(acc)", "    if holding.warp != MMA_WARP:\n        holding.work(acc)"),
        "every warp calls holding.work",
    ),
    wrong(
        hold,
        "all_there_are",
        "512, which this kernel's accumulators take by chance.",
        swap("alloc_tmem(holding.columns,", "alloc_tmem(512,"),
        swap("dealloc_tmem(acc, holding.columns,", "dealloc_tmem(acc, 512,"),
        "512 columns are too many: the accumulators take 256",
    ),
    wrong(
        hold,
        "of_a_pair",
        "The kind of allocation that both blocks of a pair make.",
        swap("holding.address, holding.pair)", "holding.address, True)"),
        "this block is alone",
    ),
    wrong(
        hold,
        "frees_as_a_pair",
        "Allocated for one block, freed for two.",
        swap("dealloc_tmem(acc, holding.columns, holding.pair)", "dealloc_tmem(acc, holding.columns, True)"),
        "this block is alone",
    ),
    wrong(
        hold,
        "everybody_frees",
        "All six warps free.",
        swap(
            "    if holding.warp == MMA_WARP:\n        cute.arch.dealloc_tmem",
            "    if True:\n        cute.arch.dealloc_tmem",
        ),
        "frees, too",
    ),
    wrong(
        hold,
        "gives_up_first",
        "No right to allocate any more.",
        swap(
            "        cute.arch.alloc_tmem(holding.columns, holding.address, holding.pair)\n"
            "        cute.arch.relinquish_tmem_alloc_permit(holding.pair)\n",
            "        cute.arch.relinquish_tmem_alloc_permit(holding.pair)\n"
            "        cute.arch.alloc_tmem(holding.columns, holding.address, holding.pair)\n",
        ),
        "gave up its right",
    ),
    wrong(hold, "nobody_works", "The work is forgotten.", without("holding.work("), "every warp calls holding.work"),
    wrong(
        hold,
        "pointer_too_early",
        "The address is read before the meeting.",
        swap("    holding.meet()\n    acc = holding.pointer()\n", "    acc = holding.pointer()\n    holding.meet()\n"),
        "cannot know",
    ),
    wrong(
        hold,
        "one_more_meets",
        "Warp 4 meets once more than the others.",
        swap("        cute.arch.dealloc_tmem", "        holding.meet()\n        cute.arch.dealloc_tmem"),
        "deadlock",
    ),
    wrong(
        hold,
        "works_in_the_address",
        "The address in shared memory for that in tensor memory.",
        swap("acc = holding.pointer()", "acc = holding.address"),
    ),
    wrong(
        hold,
        "warp_of_another_role",
        "A warp that is not there frees.",
        swap(
            "    if holding.warp == MMA_WARP:\n        cute.arch.dealloc_tmem",
            "    if holding.warp == 6:\n        cute.arch.dealloc_tmem",
        ),
        "no warp frees the columns",
    ),
]

WRONG = {
    "15.1": [
        rounded_each,
        answer("as_many_as_needed", "No power of two.", lambda n, a: n * a if n * a <= 512 else 0, "a power of two"),
        answer("below_32", "Fewer than 32.", lambda n, a: 0 if n * a > 512 else 1 << (n * a - 1).bit_length(), "32 columns"),
        answer("beyond_512", "More than there are.", lambda n, a: max(32, 1 << (n * a - 1).bit_length())),
        answer("at_most_512", "512 for what does not fit.", lambda n, a: min(512, max(32, 1 << (n * a - 1).bit_length()))),
        answer("next_power", "The power above, even of a power.", lambda n, a: tmem_columns(n * a + 1, 1)),
        answer("in_bytes", "Bytes for columns.", lambda n, a: tmem_columns(4 * n, a)),
        answer("at_least_32_each", "The least for each accumulator.", lambda n, a: tmem_columns(max(32, n), a)),
        answer("multiples_of_32", "Each accumulator in whole allocations.", lambda n, a: tmem_columns(-(-n // 32) * 32, a)),
        answer("all_512", "All columns, always.", lambda n, a: 512 if n * a <= 512 else 0),
        answer("not_512", "512 columns do not fit.", lambda n, a: tmem_columns(n, a) if n * a < 512 else 0),
        answer("one_for_each_lane", "Lanes for columns.", lambda n, a: tmem_columns(128, a)),
        answer("halves", "Two accumulators in a column, as if they were bf16.", lambda n, a: tmem_columns(-(-n // 2), a)),
        answer("none", "None for what does not fit.", lambda n, a: tmem_columns(n, a) or None),
    ],
    "15.2": [
        answer("row_for_lane", "The row of the pair.", lambda m, n, a, c: (*accumulator_place(m, n, a, c)[:2], m, a * c + n)),
        answer("eight_warps", "Warps through both blocks.", lambda m, n, a, c: (m // 128, m // 32, m % 128, a * c + n)),
        answer("first_accumulator", "Always the first.", lambda m, n, a, c: accumulator_place(m, n, 0, c)),
        answer("rows_dealt_out", "Every fourth row.", lambda m, n, a, c: (m // 128, m % 4, m % 128, a * c + n)),
        answer("every_other_row", "Blocks take turns.", lambda m, n, a, c: (m % 2, m // 64, m // 2, a * c + n)),
        answer("lane_of_warp", "The lane in its warp.", lambda m, n, a, c: (m // 128, m % 128 // 32, m % 32, a * c + n)),
        answer("one_of_two", "There are only two accumulators.", lambda m, n, a, c: (*accumulator_place(m, n, 0, c)[:3], n + (c if a else 0))),
        answer("columns_of_256", "An accumulator has 256 columns, always.", lambda m, n, a, c: accumulator_place(m, n, a, 256)),
        answer("interleaved", "Accumulators take turns in the columns.", lambda m, n, a, c: (*accumulator_place(m, n, a, c)[:3], 2 * n + a)),
        answer("column_first", "Lane and column exchanged.", lambda m, n, a, c: (*accumulator_place(m, n, a, c)[:2], *accumulator_place(m, n, a, c)[:1:-1])),
        answer("block_by_column", "The pair shares the columns, not the rows.", lambda m, n, a, c: (n // 128, m // 32 % 4, m % 128, a * c + n % 128)),
        answer("without_block", "Three numbers for four.", lambda m, n, a, c: accumulator_place(m, n, a, c)[1:]),
        answer("warps_of_the_kernel", "Warps 0 to 3 follow those that load and multiply.",
               lambda m, n, a, c: (m // 128, m % 128 // 32 + 2, m % 128, a * c + n)),
    ],
    "15.3": HOLD,
    "15.7": [
        answer("all_of_b", "Each block loads all of B.", lambda n, p, o: ring_stages(n, False, o), "half of B's rows"),
        answer("halves_of_both", "Half of A, too.", lambda n, p, o: ring_stages(n - 64 if p else n, p, o)),
        answer("in_elements", "Elements for bytes.", lambda n, p, o: (ring_stages(n, p, o)[0] // 2, ring_stages(n, p, o)[1])),
        answer("no_rest", "All of shared memory.", lambda n, p, o: ring_stages(n, p, 0)),
        answer("rounded_to_more", "A stage too many.", lambda n, p, o: (ring_stages(n, p, o)[0], ring_stages(n, p, o)[1] + 1)),
        answer("exchanged", "Stages first.", lambda n, p, o: ring_stages(n, p, o)[::-1], "The order is"),
        answer("all_rows_of_a", "A pair's 256 rows of A in each block.",
               lambda n, p, o: (2 * ring_stages(n, p, o)[0], (227 * 1024 - o) // (2 * ring_stages(n, p, o)[0])) if p else ring_stages(n, p, o)),
        answer("a_twice", "256 rows of A in a pair.",
               lambda n, p, o: ((128 + 128 * p + n // (1 + p)) * 128, (227 * 1024 - o) // ((128 + 128 * p + n // (1 + p)) * 128))),
        answer("fp32", "Four bytes for bf16's two.", lambda n, p, o: (2 * ring_stages(n, p, o)[0], (227 * 1024 - o) // (2 * ring_stages(n, p, o)[0]))),
        answer("of_the_sm", "228 KiB, of which 1 is not a block's.",
               lambda n, p, o: (ring_stages(n, p, o)[0], (228 * 1024 - o) // ring_stages(n, p, o)[0]), "the SM's 228 KiB include"),
        answer("thousands", "KB of 1,000 bytes.", lambda n, p, o: (ring_stages(n, p, o)[0], (227_000 - o) // ring_stages(n, p, o)[0])),
        answer("true_division", "Stages with a fraction.", lambda n, p, o: (ring_stages(n, p, o)[0], (227 * 1024 - o) / ring_stages(n, p, o)[0])),
        answer("of_both", "What both blocks load.", lambda n, p, o: ((1 + p) * ring_stages(n, p, o)[0], ring_stages(n, p, o)[1])),
    ],
}  # fmt: skip

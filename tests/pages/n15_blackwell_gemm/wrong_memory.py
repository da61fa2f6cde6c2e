"""Wrong answers to notebook 15: tensor memory."""

from tests.pages.change import derive, swap, without
from tests.pages.n15_blackwell_gemm.blackwell_loops import several
from tests.pages.table import answer
from tutorlib.kernels.blackwell.parts import allocate, release
from tutorlib.models.tensor_memory import accumulator_place, tmem_columns


def rounded_each(n, accumulators):
    """Each accumulator a power of two by itself."""
    each = tmem_columns(n, 1)
    return each * accumulators if each * accumulators <= 512 else 0


ALLOC = "        cute.arch.alloc_tmem(columns, address)\n"
GIVE_UP = "        cute.arch.relinquish_tmem_alloc_permit()\n"
FREE = "        cute.arch.dealloc_tmem(acc, columns)"
BARRIER = "cute.arch.sync_threads()"


def memory(name, what, *words, allocates=(), frees=()):
    """The course's two functions with these changes."""
    functions = (
        derive(allocate, f"{name}_allocate", what, *allocates) if allocates else allocate,
        derive(release, f"{name}_release", what, *frees) if frees else release,
    )
    return several(name, what, *words, functions=functions)


MEMORY = [
    memory(
        "all_warps_allocate",
        "All six warps allocate.",
        "allocates, too",
        allocates=[swap("if warp == MMA_WARP:", "if True:")],
    ),
    memory("no_barrier_before", "The address may not be there.", "cannot know", allocates=[without(BARRIER)]),
    memory("no_barrier_after", "Freed while others work.", "may still be at work", frees=[without(BARRIER)]),
    memory(
        "never_frees_memory",
        "The next block waits forever.",
        "no warp frees the columns",
        frees=[swap(FREE, "        pass")],
    ),
    memory("never_relinquishes", "Keeps its right to allocate.", "keeps its right", allocates=[swap(GIVE_UP, "")]),
    memory(
        "half_the_columns",
        "Too few columns.",
        "256 columns are too few",
        allocates=[swap("alloc_tmem(columns,", "alloc_tmem(columns // 2,")],
    ),
    memory(
        "another_number",
        "Frees fewer than it has.",
        "frees 256 columns of 512",
        frees=[swap("acc, columns", "acc, 256")],
    ),
    memory(
        "three_hundred",
        "No power of two.",
        "a power of two",
        allocates=[swap("alloc_tmem(columns,", "alloc_tmem(300,")],
    ),
    memory(
        "one_lane",
        "One lane allocates.",
        "for a whole warp",
        allocates=[swap(ALLOC, "        with cute.arch.elect_one():\n    " + ALLOC)],
    ),
    memory(
        "one_lane_frees",
        "One lane frees.",
        "for a whole warp",
        frees=[swap(FREE, "        with cute.arch.elect_one():\n    " + FREE)],
    ),
    memory(
        "barrier_in_a_branch",
        "The other warps never reach it.",
        allocates=[swap(f"    {BARRIER}", f"        {BARRIER}")],
    ),
    memory(
        "all_there_are",
        "512, which this kernel's accumulators take by chance.",
        "512 columns are too many: the accumulators take 256",
        allocates=[swap("alloc_tmem(columns,", "alloc_tmem(512,")],
        frees=[swap("acc, columns", "acc, 512")],
    ),
    memory(
        "of_a_pair",
        "The kind of allocation that both blocks of a pair make.",
        "this block is alone",
        allocates=[swap("columns, address)\n", "columns, address, True)\n")],
    ),
    memory(
        "frees_as_a_pair",
        "Allocated for one block, freed for two.",
        "this block is alone",
        frees=[swap("dealloc_tmem(acc, columns)", "dealloc_tmem(acc, columns, is_two_cta=True)")],
    ),
    memory("all_warps_free", "All six warps free.", "frees, too", frees=[swap("if warp == MMA_WARP:", "if True:")]),
    memory(
        "gives_up_first",
        "It no longer has the right to allocate.",
        "gave up its right",
        allocates=[swap(ALLOC + GIVE_UP, GIVE_UP + ALLOC)],
    ),
    memory(
        "pointer_too_early",
        "The address is read before the barrier.",
        "cannot know",
        allocates=[
            swap(f"    {BARRIER}\n", ""),
            swap("    return cute.arch.retrieve", "    acc = cute.arch.retrieve"),
            lambda lines: [*lines, f"    {BARRIER}", "    return acc"],
        ],
    ),
    memory(
        "an_extra_barrier",
        "Warp 4 waits at one more barrier than the others.",
        "deadlock",
        frees=[swap(FREE, f"        {BARRIER}\n" + FREE)],
    ),
    memory(
        "works_in_the_address",
        "The address in shared memory for that in tensor memory.",
        "the pointer that retrieve_tmem_ptr returns",
        allocates=[swap("return cute.arch.retrieve_tmem_ptr(Float32, TMEM_ALIGNMENT, address)", "return address")],
    ),
    memory(
        "returns_nothing",
        "No pointer.",
        "the pointer that retrieve_tmem_ptr returns",
        allocates=[without("return cute.arch.retrieve")],
    ),
    memory(
        "frees_at_once",
        "The warp that allocates also frees, before any work.",
        "before it has worked",
        allocates=[
            swap("    return cute.arch.retrieve", "    acc = cute.arch.retrieve"),
            lambda lines: [
                *lines,
                "    if warp == MMA_WARP:",
                "        cute.arch.dealloc_tmem(acc, columns)",
                "    return acc",
            ],
        ],
        frees=[swap(FREE, "        pass")],
    ),
    memory(
        "relinquishes_last",
        "Keeps its right to allocate until it frees.",
        "keeps its right to allocate while it works",
        allocates=[swap(GIVE_UP, "")],
        frees=[swap(FREE, GIVE_UP + FREE)],
    ),
    memory(
        "all_warps_relinquish",
        "Once is enough.",
        "12 tcgen05.relinquish_alloc_permit",
        allocates=[swap(GIVE_UP, ""), swap(f"    {BARRIER}", f"    {BARRIER}\n{GIVE_UP.strip(chr(10))[4:]}")],
    ),
    memory(
        "barriers_everywhere",
        "Four barriers where one is needed.",
        "60 bar.sync",
        allocates=[swap(f"    {BARRIER}", "\n".join([f"    {BARRIER}"] * 4))],
    ),
    memory(
        "column_0",
        "Takes for granted that the allocation begins at column 0.",
        "which are not allocated",
        allocates=[
            swap(
                "cute.arch.retrieve_tmem_ptr(Float32, TMEM_ALIGNMENT, address)",
                "cute.make_ptr(Float32, 0, cute.AddressSpace.tmem, assumed_align=16)",
            )
        ],
    ),
    memory(
        "warp_of_another_role",
        "A warp that is not there frees.",
        "no warp frees the columns",
        frees=[swap("== MMA_WARP", "== 6")],
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
    "15.3": MEMORY,
}  # fmt: skip

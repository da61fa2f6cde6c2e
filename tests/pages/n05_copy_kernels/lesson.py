"""The one thing each exercise of page 05 teaches, and answers without it."""

from tests.pages.change import derive, swap
from tests.pages.changed import right_answers
from tests.pages.lesson import Lesson, named

RIGHT = right_answers("05_copy_kernels")
ISSUE = "    cute.copy(load, loads.partition_S(tile_of_block(src)), loads.partition_D(tile))\n"


def looped(id, name, within):
    return derive(RIGHT[id], name, "A loop of the machine code.", swap("unroll_full=True", "unroll=1"), within=within)


waits_after_each_issue = derive(
    RIGHT["05.5"],
    "waits_after_each_issue",
    "Issues row after row of vectors, and waits for each.",
    swap(
        ISSUE,
        "    mine, here = loads.partition_S(tile_of_block(src)), loads.partition_D(tile)\n"
        "    for m in cutlass.range_constexpr(cute.size(mine, mode=[1])):\n"
        "        cute.copy(load, mine[None, m, None], here[None, m, None])\n"
        "        cute.arch.cp_async_commit_group()\n"
        "        cute.arch.cp_async_wait_group(0)\n",
    ),
    within="staged_kernel",
)

LESSONS = {
    "05.1": Lesson(
        "memory bills sectors of 32 bytes, whole",
        named("05.1", "one_sector_each", "bytes_over_32", "first_and_last_sector"),
    ),
    "05.2": Lesson(
        "a thread copies its row, unrolled",
        (
            looped("05.2", "naive_loop", "naive_kernel"),
            *named("05.2", "a_plain_loop", "half_of_the_threads", "clamped_rows"),
        ),
    ),
    "05.3": Lesson(
        "neighboring threads take neighboring columns, unrolled",
        (
            looped("05.3", "coalesced_loop", "coalesced_kernel"),
            *named("05.3", "down_the_columns", "a_plain_loop_down", "half_of_the_threads"),
        ),
    ),
    "05.4": Lesson(
        "16 bytes an access, all loads before the first store",
        named(
            "05.4",
            "loads_twice",
            "one_element_vectors",
            "straight_through",
            "vectors_down_a_column",
            "threads_down_first",
        ),
    ),
    "05.5": Lesson(
        "all copies in flight, then commit, wait, barrier",
        (
            waits_after_each_issue,
            *named("05.5", "fetches_twice", "through_registers", "never_waits", "no_barrier_after_it"),
        ),
    ),
    "05.6": Lesson(
        "a transpose through shared memory, a barrier between",
        named("05.6", "through_registers", "no_barrier", "two_barriers"),
    ),
    "05.7": Lesson("a swizzle without bank conflicts", named("05.7", "no_swizzle", "four_bits", "three_bits")),
    "05.8": Lesson(
        "TMA: expect the bytes, wait for the phase, then store",
        named("05.8", "through_registers", "does_not_wait", "announces_nothing", "leaves_before_it_is_stored"),
    ),
}

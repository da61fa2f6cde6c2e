"""The one thing each exercise of page 09 teaches, and answers without it."""

from tests.pages.lesson import Lesson, named

LESSONS = {
    "09.1": Lesson(
        "tiles are loaded again for each block across", named("09.1", "each_matrix_once", "one_block", "a_alone")
    ),
    "09.2": Lesson("a swizzled atom tiled to the tile", named("09.2", "row_major", "vectors_torn", "one_bit_short")),
    "09.3": Lesson(
        "load, wait, barrier, multiply, barrier",
        named(
            "09.3",
            *("no_barrier_after_the_wait", "no_barrier_before_the_load", "never_waits"),
            *("fetches_again", "loads_again"),
        ),
    ),
    "09.4": Lesson(
        "16-byte vectors along the contiguous mode", named("09.4", "down_the_rows", "four_elements", "ordinary_loads")
    ),
    "09.5": Lesson(
        "warps and repetitions of an atom make the tile",
        named("09.5", "one_atom_each", "one_warp", "half_an_instruction"),
    ),
    "09.6": Lesson("fragments retiled for ldmatrix", named("09.6", "not_retiled", "ordinary_loads")),
    "09.7": Lesson(
        "a permutation that makes a thread's columns contiguous", named("09.7", "unchanged", "half_sectors")
    ),
    "09.8": Lesson(
        "round, compare once, store eight neighbors at once",
        named("09.8", "unrounded", "unguarded", "one_by_one", "pair_by_pair", "stored_twice"),
    ),
    "09.9": Lesson(
        "the parts in one kernel",
        named(
            "09.9",
            "no_swizzle",
            "four_bytes_a_store",
            "half_sectors",
            "stored_twice",
            "a_barrier_each_k_block",
            "every_element_a_k_tile",
            "the_course_s_loop",
            "the_course_s_steps",
            "the_course_s_copies",
        ),
    ),
    "09.10": Lesson(
        "a predicate for each vector, and zeros where it is false",
        named(
            "09.10",
            "unguarded",
            "rows_alone",
            "columns_alone",
            "skips_what_is_outside",
            "stores_zeros",
            "waits_at_once",
        ),
    ),
    "09.11": Lesson(
        "ldmatrix by cute.copy, between views that fit",
        named("09.11", "the_mma_s_view", "one_set_of_registers", "without_ldmatrix", "the_course_s_fetch"),
    ),
    "09.12": Lesson(
        "cute.gemm on a K block adds to the accumulators",
        named("09.12", "adds_to_zeros", "adds_by_itself", "ldmatrix_s_views", "the_course_s_multiply"),
    ),
}

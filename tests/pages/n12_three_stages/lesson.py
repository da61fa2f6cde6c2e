"""The one thing each exercise of page 12 teaches, and answers without it."""

from tests.pages.lesson import Lesson, named

LESSONS = {
    "12.1": Lesson(
        "stages - 1 tiles in flight, counted in groups",
        named("12.1", "waits_for_all", "two_buffers_only", "fetches_again", "unrehearsed"),
    ),
    "12.2": Lesson(
        "the smallest of four limits, registers by partition of the SM",
        named("12.2", "forgets_what_is_reserved", "one_register_file", "registers_one_by_one"),
    ),
    "12.3": Lesson(
        "a configuration with enough arithmetic, warps and bytes in flight",
        named(
            "12.3", "page_10_s", "many_warps", "one_block_of_four_warps", "one_tile_ahead", "too_little_ahead", "spills"
        ),
    ),
    "12.4": Lesson(
        "the reader's loop, order and configuration in one kernel",
        named(
            "12.4",
            "same_threads_and_bytes",
            "default_order",
            "kept_in_raster_order",
            "loop_of_the_course",
            "a_needless_barrier",
            "launched_twice_by_the_host",
        ),
    ),
    "12.5": Lesson("a row of 16 bytes is one k", named("12.5", "as_03_8", "matrices_exchanged")),
    "12.6": Lesson(
        "a whole kernel for a column-major A: vectors along M, ldmatrix.trans, three stages, no conflict, a host function",
        named(
            "12.6",
            "no_trans",
            "a_not_swizzled",
            "threads_along_k",
            "two_stages",
            "a_needless_barrier",
            "order_of_its_own",
            "compiles_each_time",
            "shares_of_the_course",
            "small_tiles_of_c",
            "every_product_twice",
            "fetches_again",
            "b_through_registers",
            "order_not_used",
            "written_by_torch",
        ),
    ),
}

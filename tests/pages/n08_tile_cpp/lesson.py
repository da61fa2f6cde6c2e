"""The one thing each exercise of page 08 teaches, and answers without it."""

from tests.pages.lesson import Lesson, named

LESSONS = {
    "08.1": Lesson(
        "a tile kernel in C++, on views of memory",
        named("08.1", "threads", "simt", "no_view", "loads_unmasked", "all_in_every_block"),
    ),
    "08.2": Lesson(
        "one accumulator tile, edges masked, rounded once",
        named("08.2", "elementwise", "sums_in_bf16", "a_unmasked", "stores_in_the_loop", "promises"),
    ),
    "08.3": Lesson(
        "TMA needs rows at multiples of 16 bytes", named("08.3", "in_elements", "everything", "always_bf16")
    ),
    "08.4": Lesson(
        "restrict, alignment and divisibility are promised in the source",
        named("08.4", "silent", "pointers_only", "sizes_only", "aliased", "c_unrestricted", "promises_too_much"),
    ),
    "08.5": Lesson(
        "persistent blocks in strips, with promises",
        named("08.5", "unpromised", "aliased", "column_by_column", "row_by_row"),
    ),
    "08.6": Lesson(
        "allocate, copy, launch, copy back",
        named(
            "08.6",
            *("loop", "one_size_for_all", "never_asks", "asks_in_vain", "keeps_memory", "leaves_at_an_error"),
            *("copied_twice", "back_twice", "gives_up", "ready_for_no_elements"),
        ),
    ),
}

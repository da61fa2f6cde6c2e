"""The one thing each exercise of page 01 teaches, and answers without it."""

from tests.pages.lesson import Lesson, named

LESSONS = {
    "01.1": Lesson(
        "an offset is the sum of coordinate times stride", named("01.1", "modes_reversed", "added", "last_mode")
    ),
    "01.2": Lesson(
        "strides are products of the sizes before", named("01.2", "always_rows", "orders_swapped", "ends_with_the_size")
    ),
    "01.3": Lesson(
        "an index becomes a coordinate by remainder and division, first mode fastest",
        named("01.3", "last_mode_fastest", "never_divided"),
    ),
    "01.4": Lesson(
        "a tensor's shape and strides are a layout, in elements",
        named("01.4", "as_if_fresh", "byte_strides", "no_broadcast"),
    ),
    "01.5": Lesson(
        "nested modes take coordinates and indices",
        named("01.5", "only_flat", "not_nested", "inner_turned", "two_levels"),
    ),
    "01.6": Lesson("a layout read from its drawing", named("01.6", "compact_a", "b_unnested", "c_by_rows")),
    "01.7": Lesson(
        "the memory that a layout reaches, not its number of elements",
        named("01.7", "number_of_coordinates", "largest_offset", "size_plus"),
    ),
    "01.8": Lesson("offsets that outgrow 32 bits", named("01.8", "size_alone", "strides_alone", "net_offset")),
    "01.9": Lesson(
        "a slice moves the pointer and drops modes", named("01.9", "pointer_stays", "layout_alone", "zero_kept")
    ),
}

"""The one thing each exercise of page 11 teaches, and answers without it."""

from tests.pages.lesson import Lesson, named

LESSONS = {
    "11.1": Lesson(
        "a wave reads the union of its rows and columns", named("11.1", "tiles_of_c", "bounding_box", "each_for_itself")
    ),
    "11.2": Lesson(
        "an order is a permutation of the tiles", named("11.2", "exactly_twice", "once_for_each_block", "inside_only")
    ),
    "11.3": Lesson(
        "the group with the smallest footprint", named("11.3", "always_eight", "square_wave", "whole_waves_alone")
    ),
    "11.4": Lesson(
        "the order in the kernel, in integers of the DSL",
        named(
            "11.4",
            "no_groups",
            "groups_where_8_divides",
            "groups_on_grids_it_knows",
            "visits_twice",
            "last_group_too_high",
        ),
    ),
    "11.5": Lesson(
        "what L2 still holds decides on the traffic",
        named("11.5", "a_fresh_l2_for_each_wave", "never_evicts", "by_lru_cache", "first_in_first_out"),
    ),
    "11.6": Lesson(
        "the SM with the most blocks decides on the time", named("11.6", "no_quantization", "two_at_a_time", "an_h200")
    ),
}

"""The one thing each exercise of page 14 teaches, and answers without it."""

from tests.pages.lesson import Lesson, named

LESSONS = {
    "14.1": Lesson(
        "the producer waits for empty, expects, loads",
        named("14.1", "does_not_wait_for_empty", "expects_nothing", "waits_for_all_stages"),
    ),
    "14.2": Lesson(
        "a consumer frees the stage before, one group in flight",
        named("14.2", "frees_nothing", "frees_before_the_last_wait", "no_wait_group_in_the_loop", "waits_for_all"),
    ),
    "14.3": Lesson(
        "registers of one file divided by roles", named("14.3", "as_at_the_start", "any_number", "without_the_producer")
    ),
    "14.4": Lesson(
        "bytes of shared memory in a step, multicast counted",
        named("14.4", "no_multicast", "b_read_once", "only_wgmma"),
    ),
    "14.5": Lesson(
        "a slice for each CTA, and the mask of those that get it",
        named("14.5", "not_to_itself", "all_of_it", "to_everybody"),
    ),
    "14.6": Lesson("waves, clusters whole", named("14.6", "remainder", "half_a_cluster", "by_area")),
    "14.7": Lesson(
        "persistent clusters that walk the tiles in bands",
        named("14.7", "one_tile_each", "every_block_for_itself", "row_by_row"),
    ),
    "14.8": Lesson(
        "the last wave's K divided among the SMs", named("14.8", "whole_tiles", "splits_every_tile", "rest_to_the_last")
    ),
    "14.9": Lesson("a scale for each block", named("14.9", "divides", "first_scale", "rounds_on_the_way")),
    "14.10": Lesson(
        "the slowest resource of a step, the waves, the fixed costs",
        named("14.10", "arithmetic_alone", "no_start", "memory_is_free"),
    ),
    "14.11": Lesson(
        "the configuration that a model of time picks", named("14.11", "small_tiles", "raster_k", "by_chance")
    ),
    "14.12": Lesson(
        "a choice for every shape, without a table of shapes",
        named("14.12", "the_best_of_4096", "sides_exchanged", "by_a_list", "columns_first"),
    ),
}

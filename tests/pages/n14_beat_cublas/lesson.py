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
        "a slice for each block, and the mask of those that get it",
        named("14.5", "only_itself", "all_of_it", "to_everybody", "no_multicast"),
    ),
    "14.6": Lesson("waves, clusters whole", named("14.6", "remainder", "half_a_cluster", "by_area")),
    "14.7": Lesson(
        "a persistent producer carries the ring's state from tile to tile",
        named("14.7", "a_state_for_each_tile", "drains_each_tile", "one_tile", "the_same_tile"),
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
        "the configuration that a model of time picks",
        named("14.11", "small_tiles", "no_lever", "a_cluster_alone", "raster_k", "by_chance"),
    ),
    "14.12": Lesson(
        "a choice for every shape, without a table of shapes",
        named(
            "14.12",
            "the_best_of_4096",
            "two_rules",
            "never_exchanged",
            "sides_exchanged",
            "for_one_k",
            "by_a_list",
            "columns_first",
        ),
    ),
    "14.13": Lesson(
        "registers move from the producer's warpgroup to the consumers",
        named("14.13", "nothing_moves", "nothing_is_taken", "takes_them_afterwards", "one_warp_returns"),
    ),
    "14.14": Lesson(
        "a tile is stored while the next one is multiplied",
        named(
            "14.14",
            "never_deferred",
            "stores_before_the_step",
            "stores_at_the_end",
            "drains_each_tile",
            "one_at_a_time",
        ),
    ),
    "14.15": Lesson(
        "buffers are written again once TMA has read them, and several copies are in flight",
        named("14.15", "no_wait", "not_before_the_first", "no_fence", "one_at_a_time"),
    ),
    "14.16": Lesson(
        "an arrival at `empty` of every block whose slices were read",
        named("14.16", "only_here", "one_lane", "nothing"),
    ),
    "14.17": Lesson(
        "write, release the flag; acquire the flag, add",
        named("14.17", "flag_before_it_writes", "no_release", "no_wait", "no_acquire", "never_cleared"),
    ),
    "14.18": Lesson(
        "a kernel made of the reader's parts, in the configuration that they choose",
        named("14.18", "the_courses_parts", "one_of_the_courses", "one_configuration"),
    ),
}

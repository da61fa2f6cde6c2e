"""The one thing each exercise of page 15 teaches, and answers without it."""

from tests.pages.lesson import Lesson, named

LESSONS = {
    "15.1": Lesson("tensor memory in powers of two", named("15.1", "as_many_as_needed", "below_32", "beyond_512")),
    "15.2": Lesson("lane and column of an accumulator", named("15.2", "rows_dealt_out", "row_for_lane")),
    "15.3": Lesson(
        "one warp allocates and frees, and all warps synchronize",
        named(
            "15.3",
            "never_frees_memory",
            "all_warps_allocate",
            "no_barrier_after",
            "never_relinquishes",
            "relinquishes_last",
        ),
    ),
    "15.4": Lesson(
        "the producer's phase goes on over tiles",
        named("15.4", "overwrites", "begins_anew", "consumers_phase", "lane_0_waits_for_its_load"),
    ),
    "15.5": Lesson(
        "one thread issues, commit arrives, two accumulators in turn",
        named("15.5", "one_accumulator", "arrives_at_once", "drains_each_tile", "commits_a_stage_late"),
    ),
    "15.6": Lesson(
        "the epilogue frees an accumulator after its load",
        named("15.6", "never_frees", "frees_first", "no_wait_for_load", "lane_0_without_a_fence"),
    ),
    "15.7": Lesson(
        "one instruction for M and N, four for K; only the first may overwrite",
        named("15.7", "one_k_block", "never_adds", "always_adds", "one_block_of_a_pair"),
    ),
    "15.8": Lesson(
        "the pair's leader issues for both",
        named("15.8", "both_multiply", "both_announce", "released_too_early", "mask_of_the_first_pair"),
    ),
    "15.9": Lesson(
        "a power-of-two scale for 32 elements", named("15.9", "unbounded", "saturates_never", "scale_itself")
    ),
    "15.10": Lesson(
        "a scale for 16, and one for the tensor", named("15.10", "no_tensor_scale", "exact_scale", "power_of_two")
    ),
    "15.11": Lesson("scales multiply the sum of a block", named("15.11", "no_scales", "one_scale", "scale_squared")),
    "15.12": Lesson(
        "four warps read a part of 64 columns",
        named("15.12", "eight_columns", "no_slice", "first_part_only", "source_as_target"),
    ),
    "15.13": Lesson(
        "a kernel of three roles, and what must end before a block does",
        named(
            "15.13", "no_release", "no_await_empty", "no_wait_for_stores", "one_block_for_each_tile", "its_own_loops"
        ),
    ),
    "15.14": Lesson(
        "a cluster of two that allocates and synchronizes together",
        named("15.14", "barriers_of_a_block", "allocates_alone", "no_cluster"),
    ),
}

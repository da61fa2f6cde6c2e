"""The one thing each exercise of page 13 teaches, and answers without it."""

from tests.pages.lesson import Lesson, named

LESSONS = {
    "13.1": Lesson(
        "the swizzle that TMA and wgmma share, stages last",
        named("13.1", "not_swizzled", "always_128_bytes", "one_stage_only"),
    ),
    "13.2": Lesson(
        "a box counts its bytes, those outside the matrix too", named("13.2", "counts_what_is_inside", "reads_all")
    ),
    "13.3": Lesson(
        "both sides cut for TMA, modes grouped", named("13.3", "ungrouped", "not_partitioned", "first_stage_alone")
    ),
    "13.4": Lesson(
        "which thread of a warpgroup holds an accumulator", named("13.4", "a_thread_for_each_row", "register_first")
    ),
    "13.5": Lesson(
        "operands are descriptors, accumulators are registers",
        named("13.5", "shared_memory_itself", "no_sums", "a_tile_in_numbers"),
    ),
    "13.6": Lesson(
        "stage and phase of a step", named("13.6", "turns_every_step", "never_wraps", "free_in_the_first_round")
    ),
    "13.7": Lesson(
        "full and empty barriers, one wgmma group in flight",
        named(
            "13.7",
            "does_not_wait_for_full",
            "never_frees",
            "never_waits_in_the_loop",
            "all_warps_wait_for_empty",
            "frees_its_last_stage_early",
            "meets_at_the_end",
        ),
    ),
    "13.8": Lesson(
        "stmatrix, proxy fence, barrier, TMA store",
        named("13.8", "vectors", "no_proxy_fence", "no_barrier", "the_block_for_the_warp"),
    ),
    "13.10": Lesson(
        "one group of all K blocks, the first of which may discard; it does not wait",
        named("13.10", "no_fence", "no_commit", "blocks_do_not_add", "four_k_blocks", "waits"),
    ),
    "13.11": Lesson(
        "one thread, both counts, the fence, and the barrier after it",
        named("13.11", "all_threads", "empty_for_one", "init_unfenced", "fence_by_another_thread", "no_meeting"),
    ),
    "13.12": Lesson(
        "a phase for each K tile; a stage is free when all warps have read it",
        named(
            "13.12",
            "always_phase_0",
            "announces_nothing",
            "announces_on_stage_0",
            "no_meeting_of_all",
            "leaves_one_in_flight",
        ),
    ),
    "13.9": Lesson(
        "the parts in one kernel",
        named("13.9", "mma_sync", "ordinary_stores", "one_warpgroup", "unfenced", "needless_barrier"),
    ),
}

"""The one thing each exercise of page 20 teaches, and answers without it."""

from tests.pages.lesson import Lesson, named

LESSONS = {
    "20.1": Lesson(
        "accumulators are, in order, the elements of the A operand", named("20.1", "next_columns_first", "one_block")
    ),
    "20.2": Lesson(
        "two layouts of the same registers",
        named("20.2", "neighbors_are_rows", "rows_last", "the_first_block", "copied_operand"),
    ),
    "20.3": Lesson(
        "an operand in registers is fenced, and its group committed", named("20.3", "no_fence", "no_commit", "waits")
    ),
    "20.4": Lesson(
        "a running maximum, and what was summed rescaled when it grows",
        named(
            "20.4", "no_rescaling", "factor_of_one", "forgets_the_maximum", "own_maximum", "sums_each_time", "unguarded"
        ),
    ),
    "20.5": Lesson("which blocks exist, and which need the mask", named("20.5", "all_blocks", "masks_all", "one_mask")),
    "20.6": Lesson(
        "two rings, K one block ahead of V",
        named("20.6", "one_state", "k_of_the_same_block", "all_k_first", "v_before_k"),
    ),
    "20.7": Lesson(
        "softmax under P V: wait for the older group, free what each group has read",
        named("20.7", "one_group_at_a_time", "waits_before_the_softmax", "v_freed_early", "no_rescaling")
        + named("20.7", "masks_everywhere", "takes_no_turn", "frees_k_last")
        + named("20.7", "keeps_its_turn_to_the_end", "a_turn_for_s_alone"),
    ),
    "20.8": Lesson(
        "one waits, the other arrives, at a barrier for each turn",
        named("20.8", "waits_too", "nothing", "never_waits", "half_the_threads"),
    ),
    "20.9": Lesson(
        "a kernel of one's own parts",
        named("20.9", "the_courses_step", "no_overlap", "no_turns", "exchanged_turns", "turn_to_the_end")
        + named("20.9", "copied_operand_9", "in_e"),
    ),
}

"""The one thing each exercise of page 10 teaches, and answers without it."""

from tests.pages.lesson import Lesson, named

LESSONS = {
    "10.1": Lesson(
        "a step takes what its slowest resource takes",
        named("10.1", "all_three_added", "the_fastest", "endless_buffers"),
    ),
    "10.2": Lesson(
        "the next tile in flight while this one is multiplied",
        named(
            "10.2",
            "one_buffer_for_both",
            "waits_at_once",
            "loads_behind_the_arithmetic",
            "loads_before_the_last_block",
            "waits_in_the_middle",
            "a_alone_ahead",
            "fetches_again",
            "notebook_09_s",
            "unrehearsed",
        ),
    ),
    "10.3": Lesson(
        "the next K block's fragments fetched before they are needed",
        named(
            "10.3",
            "not_ahead",
            "fetches_again",
            "fetches_afterwards",
            "all_four_at_once",
            "too_early_and_again",
            "notebook_09_s",
            "a_barrier_at_the_top",
            "unrehearsed",
        ),
    ),
}

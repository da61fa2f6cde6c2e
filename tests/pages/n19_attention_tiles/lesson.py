"""The one thing each exercise of page 19 teaches, and answers without it."""

from tests.pages.change import derive, swap
from tests.pages.lesson import Lesson, named
from tests.pages.n19_attention_tiles.attention_tiles import RIGHT

loads_scores_twice = derive(
    RIGHT["19.1"],
    "loads_scores_twice",
    "Loads each tile of scores a second time.",
    swap(
        "online_step(part,", "online_step(ct.load(s, (i, j), (tm, tn), padding_mode=NEG_INF) * (LOG2_E / 2) + part / 2,"
    ),
)

LESSONS = {
    "19.1": Lesson(
        "one pass: total and accumulator are rescaled when the maximum grows, by one exponential instruction each",
        (
            loads_scores_twice,
            *named("19.1", "never_rescaled", "maximum_of_the_tile", "total_in_bf16", "not_flushed", "through_exp"),
        ),
    ),
    "19.2": Lesson(
        "two GEMMs by tensor cores in one loop, the accumulator rescaled",
        named("19.2", "not_rescaled", "on_cuda_cores", "one_tile_of_all_keys", "acc_in_bf16", "through_exp_2"),
    ),
    "19.3": Lesson("tiles without a mask, and tiles that are skipped", named("19.3", "masks_everywhere", "visits_all")),
    "19.4": Lesson(
        "masks only where they are needed, no tile that no query sees",
        named("19.4", "masks_everywhere", "masks_one_more", "visits_all", "undetermined_v", "masks_with_a_number"),
    ),
    "19.5": Lesson(
        "heads that share K and V, the longest rows first",
        named("19.5", "shortest_first", "a_head_each", "visits_all", "masks_one_more_5"),
    ),
    "19.6": Lesson(
        "parts combined by their log-sum-exp",
        named("19.6", "mean", "no_maximum", "padded_with_zero", "maximum_at_least", "through_exp_6", "padded_to_128"),
    ),
    "19.7": Lesson(
        "dQ from lse and delta, without a softmax",
        named("19.7", "no_delta", "unnormalized", "a_softmax_again", "through_exp_7"),
    ),
}

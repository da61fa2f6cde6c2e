"""The one thing each exercise of page 06 teaches, and answers without it."""

from tests.pages.change import derive, swap
from tests.pages.changed import right_answers
from tests.pages.lesson import Lesson, named

RIGHT = right_answers("06_cutile_tiles")
PADDED = "padding_mode=ct.PaddingMode"


def loads_twice(id, *changes):
    return derive(RIGHT[id], "loads_twice", "Loads each tile a second time.", *changes)


a_second_row = loads_twice("06.5", swap("ct.max(row)", f"ct.max(ct.load(x, (i, 0), (1, tile), {PADDED}.NEG_INF))"))
a_second_tile = loads_twice(
    "06.4",
    swap("ct.sum(tile.astype(ct.float32), 1)", "ct.sum(tile.astype(ct.float32) * 0.5, 1)"),
    swap(
        "    ct.store(sums",
        f"    for j in range(ct.num_tiles(x, 1, (tm, tn))):\n"
        f"        tile = ct.load(x, (i, j), (tm, tn), {PADDED}.ZERO)\n"
        "        total += ct.sum(tile.astype(ct.float32) * 0.5, 1)\n"
        "    ct.store(sums",
    ),
)

LESSONS = {
    "06.1": Lesson(
        "indices count tiles, not elements",
        named(
            "06.1",
            *("index_in_elements", "first_tile_only", "tiles_of_128", "block_0_alone", "all_tiles_in_each_block"),
            "element_by_element",
        ),
    ),
    "06.2": Lesson(
        "shapes are broadcast from the right",
        named("06.2", "joined_at_the_left", "never_refuses", "by_lengths", "by_lengths_of_views", "by_strides"),
    ),
    "06.3": Lesson(
        "a row's scale broadcast over its tile",
        named(
            "06.3",
            *("scales_columns", "by_elements", "row_after_row", "a_scale_for_each_element"),
            *("one_row_at_a_time", "diagonal_matrix"),
        ),
    ),
    "06.4": Lesson(
        "padding that does not count, accumulators in fp32",
        (
            a_second_tile,
            *named(
                "06.4",
                "by_atomics",
                "in_fp64",
                "sums_the_padding",
                "tiles_summed_in_bf16",
                "floors_the_number_of_tiles",
                "a_tile_for_all",
            ),
        ),
    ),
    "06.5": Lesson(
        "softmax in one tile, the maximum subtracted",
        (
            a_second_row,
            *named(
                "06.5",
                "first_element",
                "capped_maximum",
                "fp64_for_the_maximum",
                "overflows",
                "padded_with_zeros",
                "undetermined",
                "no_negative_maximum",
            ),
        ),
    ),
    "06.6": Lesson(
        "the host chooses tile and grid and launches",
        named(
            "06.6",
            *("exact_width", "always_4096", "torch_does_it", "launched_twice", "row_by_row", "padded_copy"),
            *("default_stream", "stream_0", "torch_afterwards", "clone", "one_block", "gives_up", "up_to_256"),
        ),
    ),
    "06.7": Lesson(
        "an online softmax: the sum is rescaled, the row loaded twice",
        named(
            "06.7",
            "first_tiles_maximum",
            "fp64_for_the_maximum",
            "a_tile_for_every_row",
            "three_passes",
            "never_rescaled",
            "each_tiles_own_maximum",
            "no_maximum",
        ),
    ),
}

"""The one thing each exercise of page 02 teaches, and answers without it."""

from tests.pages.lesson import Lesson, named

LESSONS = {
    "02.1": Lesson(
        "merging modes that continue each other",
        named("02.1", "unchanged", "everything_merged", "merged_once", "by_composing"),
    ),
    "02.2": Lesson(
        "composition, and when it does not exist", named("02.2", "left_contiguous", "nothing_refused", "step_forgotten")
    ),
    "02.3": Lesson("a transpose lists indices in another order", named("02.3", "shape_turned", "reshaped")),
    "02.4": Lesson(
        "the layout of what is left out", named("02.4", "cosize_forgotten", "never_raises", "not_sorted", "which_tile")
    ),
    "02.5": Lesson(
        "division: inside the tile, which tile", named("02.5", "modes_swapped", "complement_forgotten", "not_composed")
    ),
    "02.6": Lesson("division mode by mode, tiles gathered", named("02.6", "not_zipped", "grid_first", "tile_counts")),
    "02.7": Lesson(
        "a block's tile by division and slice",
        named("02.7", "block_as_element", "grid_returned", "fresh_tile", "two_strides"),
    ),
    "02.8": Lesson(
        "product: a layout repeated by another", named("02.8", "copies_on_top", "copies_by_size", "grid_forgotten")
    ),
    "02.9": Lesson("tiles side by side, block by block", named("02.9", "raked", "not_paired", "inside_twice")),
    "02.10": Lesson(
        "an inverse as far as there is one", named("02.10", "own_stride", "goes_on", "one_mode", "common_with_itself")
    ),
    "02.11": Lesson(
        "the widest vector that both sides have in one piece", named("02.11", "any_stride", "one_side", "no_inverse")
    ),
    "02.12": Lesson(
        "threads and values to elements, by an inverse", named("02.12", "not_inverted", "blocked", "values_first")
    ),
}

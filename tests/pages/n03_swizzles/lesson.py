"""The one thing each exercise of page 03 teaches, and answers without it."""

from tests.pages.lesson import Lesson, named

LESSONS = {
    "03.1": Lesson(
        "wavefronts: different words of one bank", named("03.1", "counts_lanes", "whole_warp_at_once", "banks_of_bytes")
    ),
    "03.2": Lesson(
        "padding by a vector shifts the banks of each row", named("03.2", "never", "always_one_more", "in_vectors")
    ),
    "03.3": Lesson(
        "upper bits of an offset XORed onto lower ones", named("03.3", "identity", "without_a_mask", "adds")
    ),
    "03.4": Lesson(
        "B, M, S from the row, the vector and the banks", named("03.4", "always_333", "chosen_in_bytes", "m_of_element")
    ),
    "03.5": Lesson("a tile of swizzled atoms", named("03.5", "no_swizzle", "one_atom", "row_major_atom")),
    "03.6": Lesson("which lane holds which accumulator", named("03.6", "transposed", "values_down_first")),
    "03.7": Lesson("an operand's fragment as a layout", named("03.7", "fragment_by_rows", "fragment_of_b", "all_zero")),
    "03.8": Lesson(
        "each lane of ldmatrix gives a row's address",
        named("03.8", "what_it_receives", "first_matrix_only", "matrices_k_first"),
    ),
}

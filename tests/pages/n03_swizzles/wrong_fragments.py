"""Wrong answers to notebook 03: fragments and ldmatrix."""

from tensor_layouts import Layout
from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as MMA

from tests.pages.n03_swizzles.swizzles import change, fragment
from tests.pages.table import answer

A_LAYOUT = MMA.a_layout
C_LAYOUT = MMA.c_layout


def transposed(lane, value):
    """Row and column exchanged."""
    return lane % 4 * 2 + value % 2, lane // 4 + value // 2 * 8


def values_down_first(lane, value):
    """Values 1 and 2 exchanged."""
    return lane // 4 + value % 2 * 8, lane % 4 * 2 + value // 2


def fragment_k_first():
    """Registers 1 and 2 exchanged."""
    return Layout(((4, 8), (2, 2, 2)), ((32, 1), (16, 128, 8)))


def fragment_of_b():
    """Half of the values are missing."""
    return Layout(((4, 8), (2, 2)), ((32, 1), (16, 128)))


def matrices_k_first(lane):
    """The order that B's fragments want."""
    return lane % 8 + lane // 16 * 8, lane // 8 % 2 * 8


def what_it_receives(lane):
    """The element that a lane gets, not the row whose address it gives."""
    return lane // 4, lane % 4 * 2


in_c = change("03.6")
in_fragment = change("03.7")
in_row = change("03.8")


WRONG = {
    "03.6": [
        transposed,
        values_down_first,
        answer(
            "kept_in_a_name",
            "the atom's, from another cell",
            lambda lane, value: C_LAYOUT(lane, value),
            "mma's c_layout",
        ),
        answer(
            "spelled_out", "the atom's, by name", lambda lane, value: vars(MMA)["c_layout"](lane, value), "mma.c_layout"
        ),
        answer(
            "library",
            "asks mma",
            lambda lane, value: divmod(MMA.c_layout(lane, value), 16)[::-1],
            "which does what you are asked to write",
        ),
        in_c("turned", "(column, row)", "return row, column", "return column, row", "Row and column are exchanged"),
        in_c("index", "the index", "return row, column", "return row + 16 * column", "it should give (0, 0)"),
        in_c(
            "values_turned",
            "values 1 and 2 exchanged",
            "8 * (value // 2)\n    column = 2 * (lane % 4) + value % 2",
            "8 * (value % 2)\n    column = 2 * (lane % 4) + value // 2",
            "Values 1 and 2 are exchanged",
        ),
        in_c(
            "eight_lanes",
            "eight lanes in a row",
            "lane // 4 + 8 * (value // 2)\n    column = 2 * (lane % 4) + value % 2",
            "lane // 8 + 8 * (value // 2)\n    column = lane % 8",
            "Four lanes share a row, not eight",
        ),
        in_c("one_wide", "columns one wide", "2 * (lane % 4)", "lane % 4", "its columns are two wide"),
        in_c(
            "next_row",
            "values 2 and 3 one row below",
            "8 * (value // 2)",
            "value // 2",
            "8 rows below values 0 and 1, not one",
        ),
        in_c(
            "lanes_down",
            "lanes down the column",
            "lane // 4 + 8 * (value // 2)\n    column = 2 * (lane % 4)",
            "lane % 8 + 8 * (value // 2)\n    column = 2 * (lane // 8)",
            "it should give",
        ),
        in_c(
            "no_value",
            "the first value's place",
            "2 * (lane % 4) + value % 2",
            "2 * (lane % 4)",
            "value 1 of every lane",
        ),
        in_c("rows_of_16", "16 rows a half", "8 * (value // 2)", "16 * (value // 2)", "value 2 of every lane"),
        in_c("modulo_8", "modulo 8", "lane % 4", "lane % 8", "it should give"),
        in_c("floats", "divides with /", "lane // 4", "lane / 4", "it should give"),
    ],
    "03.7": [
        answer("fragment_by_rows", "Index 16·row + k.", lambda: Layout(((4, 8), (2, 2, 2)), ((2, 16), (1, 128, 8)))),
        fragment_k_first,
        fragment_of_b,
        answer("not_a_layout", "The strides alone.", lambda: ((32, 1), (16, 8, 128))),
        answer(
            "kept_in_a_name",
            "the atom's, from another cell",
            lambda: A_LAYOUT,
            "which does what you are asked to write",
        ),
        answer("library", "gives mma's", lambda: MMA.a_layout, "which does what you are asked to write"),
        in_fragment(
            "by_rows",
            "16 · row + k",
            "((32, 1), (16, 8, 128))",
            "((2, 16), (1, 128, 8))",
            "Your index runs along the rows",
        ),
        in_fragment(
            "values_turned",
            "registers 1 and 2 exchanged",
            "(16, 8, 128)",
            "(16, 128, 8)",
            "The second and third bit of the value are exchanged",
        ),
        in_fragment(
            "lanes_down",
            "eight lanes down first",
            "((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128))",
            "((8, 4), (2, 2, 2)), ((1, 32), (16, 8, 128))",
            "Lanes run along k first",
        ),
        in_fragment(
            "one_along_k", "the next lane one along k", "(32, 1)", "(16, 1)", "lane 1, value 0 should be row 0, k 2"
        ),
        in_fragment("rows_for_k", "values down the rows first", "(16, 8, 128)", "(8, 16, 128)", "the values of lane 0"),
        in_fragment("k_of_64", "four along k", "128", "64", "value 4 should be row 0, k 8"),
        in_fragment(
            "of_c",
            "C's fragment",
            "(2, 2, 2)), ((32, 1), (16, 8, 128))",
            "(2, 2)), ((32, 1), (16, 8))",
            "of 32 lanes and of 8 values",
        ),
        in_fragment(
            "turned",
            "(value, lane)",
            "((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128))",
            "((2, 2, 2), (4, 8)), ((16, 8, 128), (32, 1))",
            "of 32 lanes and of 8 values",
        ),
        in_fragment("all_zero", "every value the same", "(16, 8, 128)", "(0, 0, 0)", "the values of lane 0"),
        in_fragment(
            "of_tf32", "four columns wide", "((32, 1), (16, 8, 128))", "((16, 1), (64, 8, 128))", "lane 1, value 0"
        ),
        in_fragment(
            "flat",
            "one mode",
            "Layout(((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128)))",
            "Layout(256)",
            "it should have two modes",
        ),
        answer("text_of_it", "text", lambda: str(fragment()), "it should be a Layout"),
    ],
    "03.8": [
        matrices_k_first,
        what_it_receives,
        answer("first_matrix_only", "All four matrices from the same rows.", lambda lane: (lane % 8, 0)),
        in_row(
            "turned",
            "(column, row)",
            "lane % 16, 8 * (lane // 16)",
            "(8 * (lane // 16), lane % 16)",
            "Row and column are exchanged",
        ),
        in_row("one_chunk", "the second column of matrices forgotten", "8 * (lane // 16)", "0", "and there are four"),
        in_row(
            "unscaled", "matrices 1 apart", "8 * (lane // 16)", "lane // 16", "the second pair of matrices starts at 8"
        ),
        in_row(
            "k_first",
            "B's order",
            "lane % 16, 8 * (lane // 16)",
            "lane % 8 + 8 * (lane // 16), 8 * (lane // 8 % 2)",
            "Matrices 1 and 2 are exchanged",
        ),
        in_row(
            "pairs",
            "two lanes on a row",
            "lane % 16, 8 * (lane // 16)",
            "lane // 2, 8 * (lane % 2)",
            "Two lanes on one row",
        ),
        in_row(
            "receives",
            "what it receives",
            "lane % 16, 8 * (lane // 16)",
            "lane // 4, 2 * (lane % 4)",
            "That is the element that the lane receives",
        ),
        in_row("first_matrix", "matrix 0 for all", "lane % 16, 8 * (lane // 16)", "lane % 8, 0", "matrix 1"),
        in_row("all_rows", "32 rows", "lane % 16,", "lane,", "matrices 2 and 3"),
        in_row("sixteen_wide", "16 columns on", "8 * (lane", "16 * (lane", "matrices 2 and 3"),
        in_row("down_by_eight", "rows of eight", "lane % 16,", "lane % 8,", "matrix 1, lanes 8 to 15"),
        in_row(
            "offset_of_it",
            "an offset",
            "lane % 16, 8 * (lane // 16)",
            "16 * (lane % 16) + 8 * (lane // 16)",
            "it should give (0, 0)",
        ),
    ],
}

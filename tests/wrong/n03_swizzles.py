"""Wrong answers to notebook 03."""

from functools import partial

from tensor_layouts import Layout, Swizzle, compose
from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as MMA

from tests.wrong.solved import changed, solution
from tests.wrong.table import answer
from tutorlib.models import banks

A_LAYOUT, C_LAYOUT = MMA.a_layout, MMA.c_layout
NAMES = {"Layout": Layout, "banks": banks, "mma": MMA}


def counts_lanes(addresses, width):
    """Counts a broadcast as a conflict."""
    banks = [address // 4 % 32 for address in addresses]
    return max(banks.count(bank) for bank in banks)


def whole_warp_at_once(addresses, width):
    """Right for 4 bytes a lane; knows no halves and quarters."""
    words = {address // 4 + n for address in addresses for n in range(max(1, width // 4))}
    banks = [word % 32 for word in words]
    return max(banks.count(bank) for bank in banks)


def banks_of_bytes(addresses, width):
    """Takes a bank to be one byte wide."""
    banks = [address % 32 for address in set(addresses)]
    return max(banks.count(bank) for bank in banks)


def always_best(addresses, width):
    """What an access without conflicts costs."""
    return max(1, len(addresses) * width // 128)


def one_element(columns, element_bytes, vector_bytes):
    """32 → 33 for everything: breaks the alignment of vectors."""
    return columns + 1


def one_vector(columns, element_bytes, vector_bytes):
    """Pads rows that had no conflict."""
    return columns + vector_bytes // element_bytes


def rounded_up(columns, element_bytes, vector_bytes):
    """Aligned, and still in few banks."""
    vectors = -(-columns * element_bytes // vector_bytes)
    return vectors * vector_bytes // element_bytes


def in_bytes(columns, element_bytes, vector_bytes):
    """The right stride, in bytes."""
    return (-(-columns * element_bytes // vector_bytes) | 1) * vector_bytes


def identity(b, m, s, offset):
    """Moves nothing."""
    return offset


def lower_into_upper(b, m, s, offset):
    """Shifts the wrong way."""
    return offset ^ (offset >> m & 2**b - 1) << (m + s)


def b_and_s_exchanged(b, m, s, offset):
    """Right where B equals S, as in ⟨3,3,3⟩."""
    return offset ^ (offset >> (m + b) & 2**s - 1) << m


def adds(b, m, s, offset):
    """Carries where it should XOR."""
    return offset + ((offset >> (m + s) & 2**b - 1) << m)


def without_a_mask(b, m, s, offset):
    """Right within one period only."""
    return offset ^ offset >> (m + s) << m


def swaps_the_groups(b, m, s, offset):
    """Exchanges the two groups of bits: a permutation, and its own inverse, and no swizzle."""
    upper, lower = offset >> (m + s) & 2**b - 1, offset >> m & 2**b - 1
    return offset ^ (upper ^ lower) << m ^ (upper ^ lower) << (m + s)


def always_333(row_bytes, element_bytes):
    """The swizzle of 128-byte rows of bf16, for everything."""
    return 3, 3, 3


def chosen_in_bytes(row_bytes, element_bytes):
    """M of byte offsets."""
    return {32: 1, 64: 2, 128: 3}[row_bytes], 4, 3


def s_from_the_row(row_bytes, element_bytes):
    """XORs the bits just above the row, which leaves rows that collide in the same order."""
    b = {32: 1, 64: 2, 128: 3}[row_bytes]
    return b, {1: 4, 2: 3, 4: 2}[element_bytes], b


def too_many_bits(row_bytes, element_bytes):
    """No conflicts, with three bits where fewer do; repeats after twice or four times as many rows."""
    return 3, {1: 4, 2: 3, 4: 2}[element_bytes], 3


def tile_without_a_swizzle(row, column):
    """The atom's layout alone."""
    return row // 8 * 512 + column // 8 * 64 + row % 8 * 8 + column % 8


def row_major_atom(row, column):
    """Swizzles (8,64):(64,1) in place of (8,(8,8)):(8,(1,64))."""
    return row * 64 + (row % 8 ^ column // 8) * 8 + column % 8


def one_atom(row, column):
    """Right in the first 8 rows."""
    return column // 8 * 64 + (row % 8 ^ column // 8) * 8 + column % 8


def transposed(lane, value):
    """Row and column exchanged."""
    return lane % 4 * 2 + value % 2, lane // 4 + value // 2 * 8


def values_down_first(lane, value):
    """Values 1 and 2 exchanged."""
    return lane // 4 + value % 2 * 8, lane % 4 * 2 + value // 2


def fragment_by_rows():
    """Index 16·row + k."""
    return Layout(((4, 8), (2, 2, 2)), ((2, 16), (1, 128, 8)))


def fragment_k_first():
    """Registers 1 and 2 exchanged."""
    return Layout(((4, 8), (2, 2, 2)), ((32, 1), (16, 128, 8)))


def fragment_of_b():
    """Half of the values are missing."""
    return Layout(((4, 8), (2, 2)), ((32, 1), (16, 128)))


def not_a_layout():
    """The strides alone."""
    return ((32, 1), (16, 8, 128))


def matrices_k_first(lane):
    """The order that B's fragments want."""
    return lane % 8 + lane // 16 * 8, lane // 8 % 2 * 8


def what_it_receives(lane):
    """The element that a lane gets, not the row whose address it gives."""
    return lane // 4, lane % 4 * 2


def first_matrix_only(lane):
    """All four matrices from the same rows."""
    return lane % 8, 0


def change(id):
    return partial(changed, id, NAMES)


in_wavefronts, in_padding, in_swizzle, in_choice = map(change, ("03.1", "03.2", "03.3", "03.4"))
in_offset, in_c, in_fragment, in_row = map(change, ("03.5", "03.6", "03.7", "03.8"))
padded, chosen, fragment = (solution(id, NAMES) for id in ("03.2", "03.4", "03.7"))
TILE = compose(Swizzle(3, 3, 3), Layout(((8, 16), (8, 8)), ((8, 512), (1, 64))))

MORE = {
    "03.1": [
        answer("library", "has banks count", lambda a, w: banks.wavefronts(a, 1, w), "it calls banks.wavefronts"),
        in_wavefronts(
            "lanes",
            "counts lanes",
            "{address // 4 for address in addresses[first : first + together]}",
            "[address // 4 for address in addresses[first : first + together]]",
            "You count lanes",
        ),
        in_wavefronts(
            "all_at_once", "all lanes together", "min(32, 128 // width)", "32", "You send all lanes through at once"
        ),
        in_wavefronts(
            "slowest",
            "the slowest group",
            "total += max(used.count(bank) for bank in used)",
            "total = max(total, max(used.count(bank) for bank in used))",
            "the slowest group of lanes alone",
        ),
        in_wavefronts(
            "banks_of_bytes", "banks of one byte", "address // 4 for", "address for", "A bank is 4 bytes wide"
        ),
        in_wavefronts("banks_of_8", "banks of 8 bytes", "address // 4 for", "address // 8 for", "it should give"),
        in_wavefronts("sixteen_banks", "16 banks", "word % 32", "word % 16", "it should give 1"),
        in_wavefronts("last_group", "the last group alone", "total += max", "total = max", "it should give"),
        in_wavefronts(
            "different_banks",
            "counts banks",
            "max(used.count(bank) for bank in used)",
            "len(set(used))",
            "it should give 1",
        ),
        in_wavefronts(
            "words", "counts words", "max(used.count(bank) for bank in used)", "len(used)", "it should give 1"
        ),
        in_wavefronts(
            "groups_by_lanes", "quarters whatever the width", "min(32, 128 // width)", "8", "it should give 1"
        ),
        in_wavefronts("no_limit", "64 lanes at 2 bytes are all", "128 // width", "64 // width", "it should give 1"),
        in_wavefronts(
            "strided_groups",
            "every fourth lane in a group",
            "addresses[first : first + together]",
            "addresses[first // together :: -(-len(addresses) // together)]",
            "it should give",
        ),
        answer("ideal", "what is needed at least", lambda a, w: -(-len(a) * w // 128), "it should give"),
    ],
    "03.2": [
        in_padding(
            "always_one_more",
            "pads odd ones too",
            "if vectors % 2 == 0:\n        vectors += 1",
            "vectors += 1",
            "An odd one was free of conflicts already",
        ),
        in_padding("never", "only aligned", "vectors += 1", "pass", "it should give"),
        in_padding("odd_turned", "pads the odd ones", "vectors % 2 == 0", "vectors % 2 == 1", "it should give"),
        in_padding(
            "in_vectors",
            "counts vectors",
            "return vectors * vector_bytes // element_bytes",
            "return vectors",
            "it should give",
        ),
        in_padding(
            "rounded_down",
            "drops what does not fill a vector",
            "-(-columns * element_bytes // vector_bytes)",
            "columns * element_bytes // vector_bytes",
            "rows that end inside a vector",
        ),
        in_padding("in_bytes", "bytes", "* vector_bytes // element_bytes", "* vector_bytes", "it should give 33"),
        in_padding("two_more", "two vectors", "vectors += 1", "vectors += 2", "it should give"),
        in_padding(
            "elements_for_bytes",
            "forgets the element's size",
            "-columns * element_bytes // vector_bytes",
            "-columns // vector_bytes",
            "it should give 33",
        ),
        answer(
            "multiple_of_32_plus_1", "the next odd multiple", lambda c, e, v: -(-c // 32) * 32 + 1, "it should give"
        ),
        answer("eight", "always 8 more, as for bf16", lambda c, e, v: c + 8, "it should give 33"),
        answer("a_float", "right, as a float", lambda c, e, v: float(padded(c, e, v)), "33.0: it should give 33"),
        answer("power", "the next power of two", lambda c, e, v: 1 << c.bit_length(), "it should give 33"),
        answer("as_is", "no padding", lambda c, e, v: c, "No padding"),
    ],
    "03.3": [
        answer(
            "composed",
            "asks a swizzled layout",
            lambda b, m, s, offset: compose(Swizzle(b, m, s), Layout(2**30, 1))(offset),
            "it calls a swizzled layout",
        ),
        answer("library", "calls a Swizzle", lambda b, m, s, o: Swizzle(b, m, s)(o), "it calls a Swizzle"),
        in_swizzle(
            "replaced",
            "Y in the place of Z",
            "offset ^ (upper << m)",
            "offset & ~((2**b - 1) << m) | (upper << m)",
            "in the place of the lower one",
        ),
        in_swizzle("no_mask", "all bits above", " & (2**b - 1)", "", "Only B bits take part"),
        in_swizzle("mask_of_m", "as many bits as M", "(2**b - 1)", "(2**m - 1)", "it should give"),
        in_swizzle("mask_one_short", "2**b is no mask", "(2**b - 1)", "2**b", "it should give"),
        in_swizzle("from_s", "forgets M on the way down", "(m + s)", "s", "The upper bits are read from bit S on"),
        in_swizzle("to_zero", "forgets M on the way up", "(upper << m)", "upper", "The result lands at bit 0"),
        in_swizzle("up_again", "back where it came from", "(upper << m)", "(upper << (m + s))", "it should give"),
        in_swizzle("ored", "OR for XOR", "offset ^", "offset |", "it should give"),
        in_swizzle("added", "+ for XOR", "offset ^", "offset +", "a carry runs into the bits above"),
        in_swizzle(
            "only_z",
            "Z ⊕ Y alone",
            "offset ^ (upper << m)",
            "((offset >> m & (2**b - 1)) ^ upper) << m",
            "Only the lower group is left",
        ),
        in_swizzle("upper_alone", "gives the bits", "offset ^ (upper << m)", "upper", "it should give"),
        in_swizzle("cleared", "Z ⊕ Z", "(offset >> (m + s))", "(offset >> m)", "The bits come from M + S on"),
        in_swizzle("modulo_of_b", "modulo B", "& (2**b - 1)", "% max(b, 1)", "it should give"),
    ],
    "03.4": [
        answer("a_list", "a list", lambda r, e: list(chosen(r, e)), "it should be a tuple (B, M, S)"),
        in_choice(
            "b_of_elements",
            "B counts elements",
            "log2(row_bytes // 16), log2(16",
            "log2(row_bytes // element_bytes), log2(16",
            "S = 3 is less than B",
        ),
        in_choice(
            "m_of_bytes", "M in bytes", "log2(16 // element_bytes)", "log2(16)", "you gave those of an offset in bytes"
        ),
        in_choice(
            "m_of_element",
            "M of the element's size",
            "log2(16 // element_bytes)",
            "log2(element_bytes)",
            "it tears 16-byte chunks apart",
        ),
        in_choice("s_of_bytes", "S in bytes", "log2(128 // 16)", "log2(128)", "wavefronts"),
        in_choice("s_from_row", "S of the row", "log2(128 // 16)", "log2(row_bytes // 16)", "wavefronts"),
        in_choice(
            "turned",
            "(S, M, B)",
            "log2(row_bytes // 16), log2(16 // element_bytes), log2(128 // 16)",
            "log2(128 // 16), log2(16 // element_bytes), log2(row_bytes // 16)",
            "B and S are exchanged",
        ),
        in_choice(
            "m_first",
            "(M, B, S)",
            "log2(row_bytes // 16), log2(16 // element_bytes)",
            "log2(16 // element_bytes), log2(row_bytes // 16)",
            "rows of",
        ),
        in_choice("counts", "numbers, not bits", "return n.bit_length() - 1", "return n", "rows of"),
        in_choice("bit_length", "one bit too many", "n.bit_length() - 1", "n.bit_length()", "rows of"),
        in_choice(
            "always_three",
            "three bits for all",
            "log2(row_bytes // 16),",
            "3,",
            "it works with more bits than are needed",
        ),
        in_choice("none", "no swizzle", "log2(row_bytes // 16),", "0,", "wavefronts"),
        in_choice(
            "smaller_chunk",
            "chunks of 8 bytes",
            "log2(16 // element_bytes)",
            "log2(8 // element_bytes)",
            "it tears 16-byte chunks apart",
        ),
    ],
    "03.5": [
        answer(
            "library",
            "calls the composed layout",
            lambda row, column: TILE(row, column),
            "it calls the swizzled layout",
        ),
        in_offset("no_swizzle", "the atom alone", "r ^ chunk", "r", "The swizzle is missing"),
        in_offset(
            "row_of_tile", "the tile's row XORed", "r ^ chunk", "row ^ chunk", "Only the row inside the atom is XORed"
        ),
        in_offset("one_atom", "the first 8 rows", "512 * which_atom + ", "", "Every 8 rows a new atom begins"),
        in_offset(
            "atoms_of_64",
            "atoms 64 apart",
            "512 * which_atom",
            "64 * which_atom",
            "one element of every chunk of the tile",
        ),
        in_offset(
            "chunk_moves",
            "the chunk moves",
            "512 * which_atom + 64 * chunk + 8 * place",
            "512 * which_atom + 64 * (chunk ^ r) + 8 * r",
            "The other group of bits is XORed",
        ),
        in_offset(
            "element_moves",
            "the element moves",
            "8 * place + element",
            "8 * r + (element ^ chunk)",
            "The place inside the chunk is XORed",
        ),
        in_offset(
            "by_rows",
            "an atom stored by rows",
            "64 * chunk + 8 * place",
            "64 * r + 8 * place",
            "You start from an atom stored by rows",
        ),
        in_offset("added", "+ for XOR", "r ^ chunk", "r + chunk", "it should give"),
        in_offset("added_mod_8", "a rotation for XOR", "r ^ chunk", "(r + chunk) % 8", "it should give"),
        in_offset("ored", "OR for XOR", "r ^ chunk", "r | chunk", "it should give"),
        answer("in_bytes", "in bytes", lambda row, column: 2 * solution("03.5", NAMES)(row, column), "it should give"),
        in_offset("chunks_of_4", "chunks of 4", "divmod(column, 8)", "divmod(column, 4)", "it should give"),
        in_offset("both_turned", "row for column", "divmod(row, 8)", "divmod(column, 8)", "it should give"),
    ],
    "03.6": [
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
            "it uses mma.c_layout",
        ),
        in_c(
            "a_list",
            "a list",
            "return row, column",
            "return [row, column]",
            "it should be a tuple, (0, 0), and is a list",
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
        answer("kept_in_a_name", "the atom's, from another cell", lambda: A_LAYOUT, "it uses mma's a_layout"),
        answer("library", "gives mma's", lambda: MMA.a_layout, "it uses mma.a_layout"),
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
        in_row(
            "a_list",
            "a list",
            "lane % 16, 8 * (lane // 16)",
            "[lane % 16, 8 * (lane // 16)]",
            "it should be a tuple, (0, 0), and is a list",
        ),
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
            "That is what the lane receives",
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


WRONG = {
    "03.1": [counts_lanes, whole_warp_at_once, banks_of_bytes, always_best],
    "03.2": [one_element, one_vector, rounded_up, in_bytes],
    "03.3": [identity, lower_into_upper, b_and_s_exchanged, adds, without_a_mask, swaps_the_groups],
    "03.4": [always_333, chosen_in_bytes, s_from_the_row, too_many_bits],
    "03.5": [tile_without_a_swizzle, row_major_atom, one_atom],
    "03.6": [transposed, values_down_first],
    "03.7": [fragment_by_rows, fragment_k_first, fragment_of_b, not_a_layout],
    "03.8": [matrices_k_first, what_it_receives, first_matrix_only],
}
WRONG = {id: [*answers, *MORE[id]] for id, answers in WRONG.items()}

"""Wrong answers to notebook 03: swizzles."""

from tensor_layouts import Layout, Swizzle, compose

from tests.pages.n03_swizzles.swizzles import NAMES, change
from tests.pages.solved import solution
from tests.pages.table import answer, says


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


@says("which does what you are asked to write")
def plain_by_layout(row, column):
    """Has a Layout compute all but the XOR."""
    offset = Layout(((8, 16), (8, 8)), ((8, 512), (1, 64)))(row, column)
    return offset ^ (offset >> 6 & 7) << 3


def one_atom(row, column):
    """Right in the first 8 rows."""
    return column // 8 * 64 + (row % 8 ^ column // 8) * 8 + column % 8


in_swizzle = change("03.3")
in_choice = change("03.4")
in_offset = change("03.5")
TILE = compose(Swizzle(3, 3, 3), Layout(((8, 16), (8, 8)), ((8, 512), (1, 64))))


WRONG = {
    "03.3": [
        answer("identity", "Moves nothing.", lambda b, m, s, offset: offset),
        lower_into_upper,
        b_and_s_exchanged,
        adds,
        without_a_mask,
        swaps_the_groups,
        answer(
            "composed",
            "asks a swizzled layout",
            lambda b, m, s, offset: compose(Swizzle(b, m, s), Layout(2**30, 1))(offset),
            "which does what you are asked to write",
        ),
        answer(
            "library",
            "calls a Swizzle",
            lambda b, m, s, o: Swizzle(b, m, s)(o),
            "which does what you are asked to write",
        ),
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
        always_333,
        chosen_in_bytes,
        s_from_the_row,
        too_many_bits,
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
        tile_without_a_swizzle,
        row_major_atom,
        one_atom,
        answer(
            "library",
            "calls the composed layout",
            lambda row, column: TILE(row, column),
            "which does what you are asked to write",
        ),
        plain_by_layout,
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
        answer("in_bytes", "in bytes", lambda row, column: 2 * solution("03.5", NAMES)(row, column)),
        in_offset("chunks_of_4", "chunks of 4", "divmod(column, 8)", "divmod(column, 4)", "it should give"),
        in_offset("both_turned", "row for column", "divmod(row, 8)", "divmod(column, 8)", "it should give"),
    ],
}

"""Wrong answers to notebook 03."""

from tensor_layouts import Layout


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

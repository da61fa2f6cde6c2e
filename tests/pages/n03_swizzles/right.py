"""Unusual right answers to notebook 03."""

from collections import Counter, defaultdict

import numpy as np
from tensor_layouts import Layout

from tests.pages.solved import solution
from tests.pages.table import answer

NAMES = {"Layout": Layout}


def by_sets(addresses, width):
    """Words by bank, in sets, group after group."""
    total, group = 0, min(32, 128 // width)
    for start in range(0, len(addresses), group):
        words = defaultdict(set)
        for address in addresses[start : start + group]:
            words[address // 4 % 32].add(address // 128)
        total += max(map(len, words.values()))
    return total


def by_every_word(addresses, width):
    """Counts all the words of each lane, not the first alone."""
    total, group = 0, {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}[width]
    while addresses:
        now, addresses = addresses[:group], addresses[group:]
        words = {byte // 4 for address in now for byte in range(address, address + width)}
        total += Counter(word % 32 for word in words).most_common(1)[0][1]
    return total


def by_numpy(addresses, width):
    """np.unique and np.bincount: np.int64."""
    group = min(32, 128 // width)
    parts = [np.unique(np.array(addresses[n : n + group]) // 4) for n in range(0, len(addresses), group)]
    return sum(np.bincount(words % 32).max() for words in parts)


def searched(columns, element_bytes, vector_bytes):
    """Tries strides upwards until one works."""
    stride = columns
    while stride * element_bytes % vector_bytes or stride * element_bytes // vector_bytes % 2 == 0:
        stride += 1
    return stride


def stepped_by_bits(b, m, s, offset):
    """One bit after the other."""
    for bit in range(b):
        if offset >> (m + s + bit) & 1:
            offset ^= 1 << (m + bit)
    return offset


def counted_in_table(row_bytes, element_bytes):
    """A table."""
    return {128: 3, 64: 2, 32: 1}[row_bytes], {1: 4, 2: 3, 4: 2}[element_bytes], 3


def by_own_swizzle(row, column):
    """The reader's own swizzle of 03.3."""
    plain = row // 8 * 512 + row % 8 * 8 + column // 8 * 64 + column % 8
    return stepped_by_bits(3, 3, 3, plain)


def by_own_layout(lane, value):
    """A TV layout of its own."""
    column, row = divmod(Layout(((4, 8), (2, 2)), ((32, 1), (16, 8)))(lane, value), 16)
    return row, column


RIGHT = {
    "03.1": [by_sets, by_every_word, by_numpy],
    "03.2": [
        searched,
        answer("ored", "the lowest bit set", lambda c, e, v: (-(-c * e // v) | 1) * v // e),
        answer("in_numpy", "np.int64", lambda c, e, v: np.int64(solution("03.2", NAMES)(c, e, v))),
    ],
    "03.3": [
        stepped_by_bits,
        answer("masked_in_place", "no shift to bit 0", lambda b, m, s, o: o ^ (o & (2**b - 1) << (m + s)) >> s),
        answer("by_modulo", "% and //", lambda b, m, s, o: o ^ (o // 2 ** (m + s) % 2**b * 2**m)),
        answer(
            "in_numpy", "np.int64", lambda b, m, s, o: np.bitwise_xor(np.int64(o), (o >> (m + s) & (1 << b) - 1) << m)
        ),
    ],
    "03.4": [
        counted_in_table,
        answer("in_numpy", "np.log2 made whole", lambda r, e: tuple(np.log2([r // 16, 16 // e, 8]).astype(int))),
        answer("an_array", "an array", lambda r, e: np.array(counted_in_table(r, e))),
    ],
    "03.5": [
        by_own_swizzle,
        answer("by_divisions", "// and %", lambda r, c: r // 8 * 512 + c // 8 * 64 + (r % 8 ^ c // 8 % 8) * 8 + c % 8),
        answer("in_bits", "shifts", lambda r, c: (r >> 3) << 9 | (c >> 3) << 6 | ((r ^ c >> 3) & 7) << 3 | c & 7),
    ],
    "03.6": [
        by_own_layout,
        answer("by_divmod", "divmod twice", lambda lane, value: (lane // 4 + value // 2 * 8, lane % 4 * 2 + value % 2)),
        answer(
            "in_numpy",
            "np.divmod",
            lambda lane, value: np.divmod(lane, 4) * np.array([1, 2]) + np.divmod(value, 2) * np.array([8, 1]),
        ),
    ],
    "03.7": [
        answer("split", "more modes", lambda: Layout(((2, 2, 8), (2, 2, 2)), ((32, 64, 1), (16, 8, 128)))),
        answer("bundled", "lanes and values", lambda: Layout(Layout((4, 8), (32, 1)), Layout((2, 2, 2), (16, 8, 128)))),
        answer("rows_split", "eight rows as 2×4", lambda: Layout(((4, 2, 4), (2, 2, 2)), ((32, 1, 2), (16, 8, 128)))),
    ],
    "03.8": [
        answer("by_divmod", "turned round", lambda lane: (divmod(lane, 16)[1], divmod(lane, 16)[0] * 8)),
        answer("by_matrix", "which matrix, which row", lambda lane: (lane // 8 % 2 * 8 + lane % 8, lane // 8 // 2 * 8)),
        answer("in_bits", "bits", lambda lane: (lane & 15, (lane & 16) >> 1)),
        answer("an_array", "an array", lambda lane: np.array([lane % 16, lane // 16 * 8])),
    ],
}

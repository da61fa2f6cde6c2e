"""Page 03: answers that are whole functions, and what rows of p03.txt are made of."""

from collections import Counter, defaultdict

import numpy as np
from tensor_layouts import Layout, Swizzle, compose
from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as MMA

from tests.pages.table import right, solved, wrong
from tutorlib.models import banks

padded, chosen, fragment = (solved(id) for id in ("03.2", "03.4", "03.7"))


@right("03.1")
def by_sets(addresses, width):
    """Words by bank, in sets, group after group."""
    total, group = 0, min(32, 128 // width)
    for start in range(0, len(addresses), group):
        words = defaultdict(set)
        for address in addresses[start : start + group]:
            words[address // 4 % 32].add(address // 128)
        total += max(map(len, words.values()))
    return total


@right("03.1")
def by_every_word(addresses, width):
    """Counts all the words of each lane, not the first alone."""
    total, group = 0, {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}[width]
    while addresses:
        now, addresses = addresses[:group], addresses[group:]
        words = {byte // 4 for address in now for byte in range(address, address + width)}
        total += Counter(word % 32 for word in words).most_common(1)[0][1]
    return total


@right("03.1")
def by_numpy(addresses, width):
    """np.unique and np.bincount: np.int64."""
    group = min(32, 128 // width)
    parts = [np.unique(np.array(addresses[n : n + group]) // 4) for n in range(0, len(addresses), group)]
    return sum(np.bincount(words % 32).max() for words in parts)


@right("03.2")
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


@right("03.5")
def by_own_swizzle(row, column):
    """The reader's own swizzle of 03.3."""
    plain = row // 8 * 512 + row % 8 * 8 + column // 8 * 64 + column % 8
    return stepped_by_bits(3, 3, 3, plain)


@right("03.6")
def by_own_layout(lane, value):
    """A TV layout of its own."""
    column, row = divmod(Layout(((4, 8), (2, 2)), ((32, 1), (16, 8)))(lane, value), 16)
    return row, column


TILE = compose(Swizzle(3, 3, 3), Layout(((8, 16), (8, 8)), ((8, 512), (1, 64))))


@wrong("03.1", "gives", lesson=True)
def counts_lanes(addresses, width):
    """Counts a broadcast as a conflict."""
    used = [address // 4 % 32 for address in addresses]
    return max(used.count(bank) for bank in used)


A_LAYOUT = MMA.a_layout
C_LAYOUT = MMA.c_layout

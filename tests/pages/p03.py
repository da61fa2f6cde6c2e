"""Page 03: answers that are whole functions, and what rows of p03.txt are made of."""

from collections import Counter, defaultdict

import numpy as np
from tensor_layouts import Layout, Swizzle, compose
from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as MMA

from tests.pages.table import right, solved, wrong
from tutorlib.models import memory

padded, chosen, fragment = (solved(id) for id in ("03.2", "03.4", "03.7"))


@right("03.1")
def by_numpy(addresses, width):
    """np.unique and np.bincount: np.int64."""
    group = min(32, 128 // width)
    parts = [np.unique(np.array(addresses[n : n + group]) // 4) for n in range(0, len(addresses), group)]
    return sum(np.bincount(words % 32).max() for words in parts)


def counted_in_table(row_bytes, element_bytes):
    """A table."""
    return {128: 3, 64: 2, 32: 1}[row_bytes], {1: 4, 2: 3, 4: 2}[element_bytes], 3


TILE = compose(Swizzle(3, 3, 3), Layout(((8, 16), (8, 8)), ((8, 512), (1, 64))))


@wrong("03.1", "gives", lesson=True)
def counts_lanes(addresses, width):
    """Counts a broadcast as a conflict."""
    used = [address // 4 % 32 for address in addresses]
    return max(used.count(bank) for bank in used)


A_LAYOUT = MMA.a_layout
C_LAYOUT = MMA.c_layout

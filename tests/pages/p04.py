"""Page 04: answers that are whole functions, and what rows of p04.txt are made of."""

from collections import Counter, defaultdict

import numpy as np
from tensor_layouts import Layout, Swizzle, compose

from tests.pages.table import right, wrong
from tutorlib.models import memory


@right("04.1")
def by_numpy(addresses, width):
    """np.unique and np.bincount: np.int64."""
    group = min(32, 128 // width)
    parts = [np.unique(np.array(addresses[n : n + group]) // 4) for n in range(0, len(addresses), group)]
    return sum(np.bincount(words % 32).max() for words in parts)


def from_bits(row_bytes, element_bytes, vector_bytes):
    """Lengths in bits, without a logarithm."""
    short, long = sorted((row_bytes, 128))
    return [
        (of // by).bit_length() - 1
        for of, by in ((short, vector_bytes), (vector_bytes, element_bytes), (long, vector_bytes))
    ]


def choose_swizzle_for_chunks(row_bytes, element_bytes):
    """As if each vector had 16 bytes."""
    return tuple(from_bits(row_bytes, element_bytes, 16))


TILE = compose(Swizzle(3, 4, 3), Layout((128, (128, 1)), (128, (1, 16384))))
TABLE = [[TILE(row, column) for column in range(128)] for row in range(128)]  # of the page's own tile


@wrong("04.1", "gives", lesson=True)
def counts_lanes(addresses, width):
    """Counts a broadcast as a conflict."""
    used = [address // 4 % 32 for address in addresses]
    return max(used.count(bank) for bank in used)

"""Page 05: answers that are whole functions, and what rows of p05.txt are made of."""

import numpy as np

from tests.pages.table import right, solved, wrong


def spans(offsets, element_bytes, vector, size):
    """The aligned pieces of `size` bytes that are touched."""
    starts = [(o * element_bytes, (o + vector) * element_bytes - 1) for o in offsets]
    return {n for first, last in starts for n in range(first // size, last // size + 1)}


@right("05.1")
def with_numpy(offsets, element_bytes, vector=1):
    """np.unique's size, of all bytes of all threads."""
    starts = np.asarray(offsets)[:, None] * element_bytes
    return np.unique((starts + np.arange(vector * element_bytes)) // 32).size


@wrong("05.1", "gives", lesson=True)
def first_and_last_sector(offsets, element_bytes, vector=1):
    """Forgets the sectors between a wide vector's ends."""
    ends = [(o * element_bytes, (o + vector) * element_bytes - 1) for o in offsets]
    return len({byte // 32 for pair in ends for byte in pair})

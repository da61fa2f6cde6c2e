"""Page 07: answers that are whole functions, and what rows of p07.txt are made of."""

import cuda.tile as ct
import numpy as np

from tests.pages.table import right, wrong


@right("07.2")
def by_divmod(block, rows, columns, group):
    """divmod, and a conditional in place of min."""
    strip, place = divmod(block, group * columns)
    height = group if (strip + 1) * group <= rows else rows - strip * group
    column, row = divmod(place, height)
    return strip * group + row, column


@right("07.2")
def upwards(block, rows, columns, group):
    """Goes up each column of a strip, not down."""
    m, n = by_divmod(block, rows, columns, group)
    first = m // group * group
    return first + min(first + group, rows) - 1 - m, n


@right("07.3")
def by_numpy(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """NumPy's truth value, and the 255 registers that a thread can address."""
    registers = min(255, 65536 // (occupancy * (warps + 4) * 32))
    use = np.array([tm * tn / (num_ctas * warps * 32), 2 * occupancy * (tm + tn) * tk * element_bytes / num_ctas])
    return np.all(use <= (registers - 1, 227 * 1024))


@wrong("07.3", "gives", lesson=True)
def one_stage(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Asks for room for a single stage."""
    room = occupancy * (tm + tn) * tk * element_bytes <= num_ctas * 227 * 1024
    return room and tm * tn * occupancy * (warps + 4) < num_ctas * warps * 65536


@wrong("07.3", "gives")
def half_of_a_thread(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """At most 128 accumulators for a thread, divided among the blocks on an SM."""
    room = 2 * occupancy * (tm + tn) * tk * element_bytes <= num_ctas * 227 * 1024
    return room and tm * tn * occupancy <= num_ctas * warps * 32 * 128

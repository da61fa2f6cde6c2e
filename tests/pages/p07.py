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

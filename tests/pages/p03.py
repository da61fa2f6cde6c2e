"""Page 03: answers that are whole functions, and what rows of p03.txt are made of."""

import numpy as np
import tensor_layouts as tl
from tensor_layouts import Layout, mode, size

from tests.pages.table import right, solved
from tutorlib.layouts.views import tiled_copy_view


@right("03.1")
def in_brackets(rows, columns):
    """Each mode as a layout, and the columns in two parts where that is possible."""
    across = Layout((2, columns // 2), (rows, 2 * rows)) if columns % 2 == 0 else Layout(columns, rows)
    return Layout(across, Layout(rows, 1))


@right("03.3")
def by_left_inverse(threads, values):
    """The left inverse, which is the same of a compact layout."""
    inverse = tl.left_inverse(tl.raked_product(threads, values))
    return Layout(*(tl.compose(inverse, part) for part in (Layout(size(threads)), Layout(size(values), size(threads)))))


@right("03.4")
def by_remainders(matrix, tile, block, threads, values, thread):
    """The place in the tile by division, instead of layouts of rows and columns."""
    found = []
    for value in range(size(values)):
        index = tiled_copy_view(threads, values, tile).layout(thread, value)
        row, column = block[0] * tile[0] + index % tile[0], block[1] * tile[1] + index // tile[0]
        if row < size(mode(matrix, 0)) and column < size(mode(matrix, 1)):
            found.append(matrix(row, column))
    return found


composed = solved("03.2")
shared = solved("03.3")

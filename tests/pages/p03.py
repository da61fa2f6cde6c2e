"""Page 03: answers that are whole functions, and what rows of p03.txt are made of."""

import itertools
from math import prod

import numpy as np
import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tests.pages.table import right, solved, wrong
from tutorlib.layouts.oracle import ask
from tutorlib.layouts.views import tiled_copy_view


def bundled(modes):
    """A layout of single modes; 1:0 of none."""
    return Layout(*zip(*modes, strict=True)) if len(modes) > 1 else Layout(*(modes or [(1, 0)])[0])


@right("03.2")
def from_offsets(layout):
    """Reads all offsets and finds how often the ones so far repeat."""
    offsets, modes, done = [layout(n) for n in range(size(layout))], [], 1
    while done < len(offsets):
        step, extent = offsets[done], 1
        while extent * done < len(offsets) and offsets[extent * done] == extent * step:
            extent += 1
        modes.append((extent, step))
        done *= extent
    return bundled(modes)


@right("03.1")
def in_brackets(rows, columns):
    """Each mode as a layout, and the columns in two parts where that is possible."""
    across = Layout((2, columns // 2), (rows, 2 * rows)) if columns % 2 == 0 else Layout(columns, rows)
    return Layout(across, Layout(rows, 1))


@right("03.5")
def by_transposing(layout, tiler):
    """zip() turns the parts round."""
    divided = [tl.logical_divide(mode(layout, n), Layout(t, 1)) for n, t in enumerate(tiler)]
    halves = zip(*((mode(part, 0), mode(part, 1)) for part in divided), strict=True)
    return Layout(*(Layout(*half) for half in halves))


@right("03.7")
def by_left_inverse(threads, values):
    """The left inverse, which is the same of a compact layout."""
    inverse = tl.left_inverse(tl.raked_product(threads, values))
    return Layout(*(tl.compose(inverse, part) for part in (Layout(size(threads)), Layout(size(values), size(threads)))))


composed, inverse = solved("03.3"), solved("03.6")


@wrong("03.5", "gives")
def matrices_only(layout, tiler):
    """Looks at the first two modes."""
    parts = [tl.logical_divide(mode(layout, n), tiler[n]) for n in (0, 1)]
    return Layout(*(Layout(*(mode(part, half) for part in parts)) for half in (0, 1)))


shared = solved("03.7")

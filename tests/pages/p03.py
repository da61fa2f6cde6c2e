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


@right("03.6")
def by_transposing(layout, tiler):
    """zip() turns the parts round."""
    divided = [tl.logical_divide(mode(layout, n), Layout(t, 1)) for n, t in enumerate(tiler)]
    halves = zip(*((mode(part, 0), mode(part, 1)) for part in divided), strict=True)
    return Layout(*(Layout(*half) for half in halves))


@right("03.7")
def tiled(layout, tile, block):
    """The tiled divide."""
    tiles = tl.tiled_divide(layout, tuple(Layout(t, 1) for t in tile))
    return np.int64(tiles(0, *block)), mode(tiles, 0)


@right("03.10")
def counted(a, b):
    """Counts offsets at which both have the same index."""
    where = {a(i): i for i in range(size(a))}
    both = {b(i): i for i in range(size(b))}
    n = 0
    while n in where and where[n] == both.get(n):
        n += 1
    return max(1, n)


@right("03.11")
def by_left_inverse(threads, values):
    """The left inverse, which is the same of a compact layout."""
    inverse = tl.left_inverse(tl.raked_product(threads, values))
    return Layout(*(tl.compose(inverse, part) for part in (Layout(size(threads)), Layout(size(values), size(threads)))))


@right("03.8")
def from_the_raked(block, grid):
    """Rakes, and exchanges what each mode is made of."""
    raked = tl.raked_product(block, grid)
    return Layout(*(tuple(pair[::-1] for pair in modes) for modes in (raked.shape, raked.stride)))


composed, inverse = solved("03.3"), solved("03.9")


@wrong("03.6", "gives")
def matrices_only(layout, tiler):
    """Looks at the first two modes."""
    parts = [tl.logical_divide(mode(layout, n), tiler[n]) for n in (0, 1)]
    return Layout(*(Layout(*(mode(part, half) for part in parts)) for half in (0, 1)))


@wrong("03.7", "gives", lesson=True)
def block_as_element(layout, tile, block):
    """Uses the block's coordinate inside the tile."""
    tiles = tl.zipped_divide(layout, tile)
    return tiles((block, (0, 0))), mode(tiles, 0)


shared = solved("03.11")

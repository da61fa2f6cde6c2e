"""Page 02: answers that are whole functions, and what rows of p02.txt are made of."""

import itertools
from math import prod

import numpy as np
import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tests.pages.table import right, solved, wrong
from tutorlib.layouts.oracle import ask
from tutorlib.layouts.tiled_copy import tiled_copy_view


def modes_of(layout):
    return list(zip(flatten((layout.shape,)), flatten((layout.stride,)), strict=True))


def bundled(modes):
    """A layout of single modes; 1:0 of none."""
    return Layout(*zip(*modes, strict=True)) if len(modes) > 1 else Layout(*(modes or [(1, 0)])[0])


@right("02.1")
def from_the_right(layout):
    """Merges from the end, each mode into the one on its left."""
    kept = []
    for extent, stride in reversed([kind for kind in modes_of(layout) if kind[0] != 1]):
        if kept and kept[0][1] == extent * stride:
            kept[0] = (extent * kept[0][0], stride)
        else:
            kept.insert(0, (extent, stride))
    return bundled(kept)


@right("02.1")
def by_recursion(layout):
    """Merges one pair and calls itself."""
    modes = [kind for kind in modes_of(layout) if kind[0] > 1]
    for n, ((s, d), (t, e)) in enumerate(itertools.pairwise(modes)):
        if e == s * d:
            return by_recursion(bundled([*modes[:n], (s * t, d), *modes[n + 2 :]]))
    return bundled(modes)


@right("02.1")
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


@right("02.2")
def in_a_helper(a, b):
    """The modes of A as a list that shrinks."""
    if isinstance(b.shape, tuple):
        return Layout(*(in_a_helper(a, mode(b, n)) for n in range(rank(b))))

    def place(left, step, modes):
        extent, stride = modes[0]
        if left == 1 or step == 0:
            return []
        if len(modes) == 1:
            return [(left, step * stride)]
        if not step % extent:
            return place(left, step // extent, modes[1:])
        if (left - 1) * step < extent:
            return [(left, step * stride)]
        if extent % step or left % (extent // step):
            raise ValueError
        return [(extent // step, step * stride), *place(left // (extent // step), 1, modes[1:])]

    return (
        Layout(b.shape, 0)
        if b.shape == 1 or b.stride == 0
        else bundled(place(b.shape, b.stride, modes_of(tl.coalesce(a))))
    )


@right("02.3")
def mode_by_mode(rows, columns):
    """The modes of the identity, exchanged."""
    identity = Layout((rows, columns))
    return Layout(mode(identity, 1), mode(identity, 0))


@right("02.3")
def in_brackets(rows, columns):
    """Each mode as a layout, and the columns in two parts where that is possible."""
    across = Layout((2, columns // 2), (rows, 2 * rows)) if columns % 2 == 0 else Layout(columns, rows)
    return Layout(across, Layout(rows, 1))


@right("02.4")
def rounded_by_adding(layout, bound):
    """Checks first, fills in a second loop, rounds up by adding."""
    modes = sorted((d, s) for s, d in modes_of(layout) if s > 1 and d)
    reaches = [1, *(s * d for d, s in modes)]
    if any(d % reach for (d, _), reach in zip(modes, reaches, strict=False)):
        raise ValueError
    gaps = [(d // reach, reach) for (d, _), reach in zip(modes, reaches, strict=False)]
    gaps.append(((bound + reaches[-1] - 1) // reaches[-1], reaches[-1]))
    return bundled([gap for gap in gaps if gap[0] > 1])


@right("02.4")
def recursive_complement(layout, bound, reach=1):
    """Fills the gap under the smallest stride and calls itself with the rest."""
    modes = sorted((d, s) for s, d in modes_of(layout) if s > 1 and d)
    if not modes:
        return tl.coalesce(Layout(max(1, -(-bound // reach)), reach))
    (d, s), *rest = modes
    if d % reach:
        raise ValueError
    after = recursive_complement(bundled([(n, step) for step, n in rest]), bound, s * d)
    return tl.coalesce(Layout(Layout(d // reach, reach), after))


@right("02.4")
def not_coalesced(layout, bound):
    """Leaves modes of extent 1 in it."""
    gaps, reach = [], 1
    for d, s in sorted((d, s) for s, d in modes_of(layout) if s > 1 and d > 0):
        if d % reach:
            raise ValueError
        gaps.append((d // reach, reach))
        reach = s * d
    return bundled([*gaps, (-(-bound // reach), reach)])


@right("02.5")
def by_product(layout, tile):
    """(tile, starts) as a logical product of the tile and a row of tiles."""
    starts = tl.complement(tile, size(layout))
    return tl.compose(
        layout, tl.logical_product(tile, Layout(size(starts))) if size(starts) > 1 else Layout(tile, starts)
    )


@right("02.5")
def a_lambda_inside(layout, tile):
    """Early return for a tile of everything."""
    take = lambda picked: tl.compose(layout, picked)  # noqa: E731
    if size(tile) == size(layout) and tile == Layout(size(layout), 1):
        return Layout(take(tile), Layout(1, 0))
    return take(Layout(tile, tl.complement(tile, size(layout))))


@right("02.6")
def by_compositions(layout, tiler):
    """Composes instead of dividing."""
    parts = [mode(layout, n) for n in range(rank(layout))]
    tiles = [Layout(tile, 1) for tile in tiler]
    rests = [tl.complement(tile, size(part)) for tile, part in zip(tiles, parts, strict=True)]
    inside = Layout(*map(tl.compose, parts, tiles))
    return Layout(inside, Layout(*map(tl.compose, parts, rests)))


@right("02.6")
def by_transposing(layout, tiler):
    """zip() turns the parts round."""
    divided = [tl.logical_divide(mode(layout, n), Layout(t, 1)) for n, t in enumerate(tiler)]
    halves = zip(*((mode(part, 0), mode(part, 1)) for part in divided), strict=True)
    return Layout(*(Layout(*half) for half in halves))


@right("02.6")
def divided_at_once(layout, tiler):
    """One logical_divide by layouts, then gathered."""
    both = tl.logical_divide(layout, tuple(Layout(t, 1) for t in tiler))
    return Layout(*(Layout(*(mode(mode(both, n), half) for n in range(rank(both)))) for half in (0, 1)))


@right("02.7")
def from_coordinates(layout, tile, block):
    """Asks the matrix where the tile begins."""
    start = layout(*(b * t for b, t in zip(block, tile, strict=True)))
    return start, tl.compose(layout, tuple(Layout(t, 1) for t in tile))


@right("02.7")
def sliced(layout, tile, block):
    """A Tensor's slice."""
    piece = tl.Tensor(tl.zipped_divide(layout, tuple(Layout(t, 1) for t in tile)))[None, block]
    return piece.offset, piece.layout


@right("02.7")
def tiled(layout, tile, block):
    """The tiled divide."""
    tiles = tl.tiled_divide(layout, tuple(Layout(t, 1) for t in tile))
    return np.int64(tiles(0, *block)), mode(tiles, 0)


@right("02.8")
def copy_by_copy(block, grid):
    """The grid's modes one by one."""
    places = tl.complement(block, size(block) * cosize(grid))
    return Layout(
        block,
        Layout(*(tl.compose(places, mode(grid, n)) for n in range(rank(grid))))
        if rank(grid) > 1
        else tl.compose(places, grid),
    )


@right("02.8")
def divided_back(block, grid):
    """The second mode of a division of all the room by the block."""
    room = Layout(size(block) * max(cosize(grid), cosize(block)) * 2)
    return Layout(block, tl.compose(mode(tl.logical_divide(room, block), 1), grid))


@right("02.9")
def by_shapes(block, grid):
    """Pairs shapes and strides."""
    product = tl.logical_product(block, grid)
    return Layout(tuple(zip(*product.shape, strict=True)), tuple(zip(*product.stride, strict=True)))


@right("02.9")
def from_complement(block, grid):
    """From the complement, without the product."""
    places = tl.compose(tl.complement(block, size(block) * cosize(grid)), grid)
    return Layout(*(Layout(mode(block, n), mode(places, n)) for n in (0, 1)))


@right("02.10")
def dictionary(layout):
    """Looks modes up by the stride that must come next."""
    found, apart = {}, 1
    for extent, stride in modes_of(layout):
        if extent > 1:
            found[stride] = (extent, apart)
        apart *= extent
    kept, reach = [], 1
    while reach in found:
        kept.append(found.pop(reach))
        reach *= kept[-1][0]
    return tl.coalesce(bundled(kept))


@right("02.10")
def passes_over(layout):
    """Goes on after a hole, where nothing can fit any more."""
    extents = flatten((layout.shape,))
    kinds = [(d, s, prod(extents[:n])) for n, (s, d) in enumerate(modes_of(layout)) if s > 1]
    kept, reach = [], 1
    for d, s, apart in sorted(kinds):
        if d == reach:
            kept.append((s, apart))
            reach *= s
    return bundled(kept)


@right("02.11")
def counted(a, b):
    """Counts offsets at which both have the same index."""
    where = {a(i): i for i in range(size(a))}
    both = {b(i): i for i in range(size(b))}
    n = 0
    while n in where and where[n] == both.get(n):
        n += 1
    return max(1, n)


@right("02.11")
def from_bs_side(a, b):
    """A ∘ B's inverse: the same by symmetry."""
    steps = tl.coalesce(tl.compose(a, tl.right_inverse(b)))
    first = steps if rank(steps) == 1 else mode(steps, 0)
    return int(first.shape) if first.stride == 1 else 1


@right("02.12")
def with_shape(threads, values):
    """Layout of counts with strides written out."""
    t, v = size(threads), size(values)
    return tl.compose(tl.right_inverse(tl.raked_product(threads, values)), Layout((t, v), (1, t)))


@right("02.12")
def from_inverses(threads, values):
    """Each side's own inverse, put into the tile by hand."""
    vr, vc = (size(mode(values, n)) for n in (0, 1))
    rows = vr * size(mode(threads, 0))
    place_t = (
        tl.compose(Layout((size(mode(threads, 0)), size(mode(threads, 1))), (vr, vc * rows)), tl.right_inverse(threads))
        if size(threads) > 1
        else Layout(1, 0)
    )
    place_v = tl.compose(Layout((vr, vc), (1, rows)), tl.right_inverse(values)) if size(values) > 1 else Layout(1, 0)
    return Layout(place_t, place_v)


@right("02.12")
def by_left_inverse(threads, values):
    """The left inverse, which is the same of a compact layout."""
    inverse = tl.left_inverse(tl.raked_product(threads, values))
    return Layout(*(tl.compose(inverse, part) for part in (Layout(size(threads)), Layout(size(values), size(threads)))))


@right("02.9")
def from_the_raked(block, grid):
    """Rakes, and exchanges what each mode is made of."""
    raked = tl.raked_product(block, grid)
    return Layout(*(tuple(pair[::-1] for pair in modes) for modes in (raked.shape, raked.stride)))


composed, complemented, inverse = solved("02.2"), solved("02.4"), solved("02.10")


@wrong("02.6", "gives")
def matrices_only(layout, tiler):
    """Looks at the first two modes."""
    parts = [tl.logical_divide(mode(layout, n), tiler[n]) for n in (0, 1)]
    return Layout(*(Layout(*(mode(part, half) for part in parts)) for half in (0, 1)))


@wrong("02.7", "gives", lesson=True)
def block_as_element(layout, tile, block):
    """Uses the block's coordinate inside the tile."""
    tiles = tl.zipped_divide(layout, tile)
    return tiles((block, (0, 0))), mode(tiles, 0)


shared = solved("02.12")

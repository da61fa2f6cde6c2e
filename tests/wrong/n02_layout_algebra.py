"""Wrong answers to notebook 02."""

import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, rank, size


def modes_of(layout):
    """[(extent, stride), …] of the flat layout."""
    return list(zip(flatten(layout.shape), flatten(layout.stride), strict=True))


def from_modes(modes):
    """The layout of [(extent, stride), …]."""
    return Layout(*zip(*modes, strict=True)) if len(modes) > 1 else Layout(*(modes or [(1, 0)])[0])


# 02.1 ------------------------------------------------------------------------------------------------------------


def unchanged(layout):
    """The same function, and nothing is coalesced."""
    return layout


def only_flattened(layout):
    """Takes the brackets away and merges nothing."""
    return flatten(layout)


def everything_merged(layout):
    """One mode, whatever the strides: merges what is not contiguous."""
    return Layout(size(layout), flatten(layout.stride)[0])


def ones_kept(layout):
    """Forgets that modes of extent 1 can go."""
    modes = []
    for extent, stride in modes_of(layout):
        if modes and stride == modes[-1][0] * modes[-1][1]:
            modes[-1] = (modes[-1][0] * extent, modes[-1][1])
        else:
            modes.append((extent, stride))
    return from_modes(modes)


def sorted_first(layout):
    """Sorts by stride before merging: the same offsets in another order."""
    return tl.coalesce(from_modes(sorted(modes_of(layout), key=lambda mode: mode[1])))


def merged_by_cosize(layout):
    """Compares the stride with the cosize of the mode before, not with extent times stride."""
    modes = []
    for extent, stride in modes_of(layout):
        if extent == 1:
            continue
        if modes and stride == (modes[-1][0] - 1) * modes[-1][1] + 1:
            modes[-1] = (modes[-1][0] * extent, modes[-1][1])
        else:
            modes.append((extent, stride))
    return from_modes(modes)


def merged_once(layout):
    """Merges neighbours in pairs only."""
    modes, rest = [], [mode for mode in modes_of(layout) if mode[0] > 1]
    while rest:
        extent, stride = rest.pop(0)
        if rest and rest[0][1] == extent * stride:
            extent *= rest.pop(0)[0]
        modes.append((extent, stride))
    return from_modes(modes)


# 02.2 ------------------------------------------------------------------------------------------------------------


def left_contiguous(a, b):
    """Right only when the left side is contiguous."""
    return b


def left_one_mode(a, b):
    """Right only when the left side coalesces to one mode."""
    return Layout(b.shape, tl.transform_tuple(b.stride, lambda step: step * flatten(a.stride)[0]))


def b_after_a(a, b):
    """Composes the other way round."""
    return tl.compose(b, a)


def nothing_refused(a, b):
    """Puts together an answer also where there is none."""
    try:
        return tl.compose(a, b)
    except ValueError:
        return left_one_mode(a, b)


def b_flattened(a, b):
    """The right function, without B's modes: a coordinate of B is no longer one of the result's."""
    return tl.coalesce(tl.compose(a, b))


def a_not_coalesced(a, b):
    """Looks at A's last mode only where B is larger than A's first."""
    stride = flatten(a.stride)[0] if size(b) <= flatten(a.shape)[0] else flatten(a.stride)[-1]
    return Layout(b.shape, tl.transform_tuple(b.stride, lambda step: step * stride))


def a_cut_to_size(a, b):
    """Ignores B's strides: the first size(B) elements of A."""
    return tl.compose(a, Layout(b.shape))


# 02.3 ------------------------------------------------------------------------------------------------------------


def shape_turned(layout):
    """Turns the shape round, not the stride."""
    return Layout(layout.shape[::-1], layout.stride)


def reshaped(layout):
    """Reads in the old order under the new shape."""
    rows, columns = (size(mode(layout, n)) for n in (0, 1))
    return tl.compose(layout, Layout((columns, rows)))


def always_compact(layout):
    """Right for a compact row-major matrix only: forgets padding and other orders."""
    rows, columns = (size(mode(layout, n)) for n in (0, 1))
    return Layout((columns, rows), (1, columns))


def column_stride_taken_for_row_stride(layout):
    """Steps by the number of columns."""
    rows, columns = (size(mode(layout, n)) for n in (0, 1))
    return tl.compose(layout, Layout((columns, rows), (columns, 1)))


# 02.4 ------------------------------------------------------------------------------------------------------------


def cosize_forgotten(layout, bound):
    """Fills the holes up to the layout's own cosize and forgets the bound."""
    return tl.complement(layout, cosize(layout))


def after_the_layout(layout, bound):
    """Forgets the holes inside the layout."""
    return Layout(-(-bound // cosize(layout)), cosize(layout))


def apart_by_size(layout, bound):
    """Copies size(layout) apart: they meet where the layout has holes."""
    return Layout(-(-bound // size(layout)), size(layout))


def rounded_down(layout, bound):
    """Forgets the last, partly needed copy."""
    gaps, reach = [], 1
    for stride, extent in sorted((stride, extent) for extent, stride in modes_of(layout) if extent > 1 and stride > 0):
        if stride % reach:
            raise ValueError
        gaps.append((stride // reach, reach))
        reach = extent * stride
    return tl.coalesce(from_modes([*gaps, (max(bound // reach, 1), reach)]))


def not_sorted(layout, bound):
    """Takes the modes as they come."""
    gaps, reach = [], 1
    for extent, stride in modes_of(layout):
        if extent > 1 and stride > 0:
            gaps.append((max(stride // reach, 1), reach))
            reach = extent * stride
    return tl.coalesce(from_modes([*gaps, (-(-bound // reach), reach)]))


def never_refused(layout, bound):
    """Answers also where the modes get in each other's way, as CuTe does."""
    return tl.complement(layout, bound)


def broadcast_counted(layout, bound):
    """Takes a mode of stride 0 for one that fills something."""
    gaps, reach = [], 1
    for stride, extent in sorted((stride, extent) for extent, stride in modes_of(layout)):
        if stride % reach:
            raise ValueError
        gaps.append((max(stride // reach, 1), reach))
        reach = max(reach, extent * max(stride, 1))
    return tl.coalesce(from_modes([*gaps, (-(-bound // reach), reach)]))


# 02.5 ------------------------------------------------------------------------------------------------------------


def modes_swapped(layout, tile):
    """Which tile first, inside the tile second."""
    return tl.compose(layout, Layout(tl.complement(tile, size(layout)), tile))


def bound_by_cosize(layout, tile):
    """Counts places in memory where indices are meant."""
    return tl.compose(layout, Layout(tile, tl.complement(tile, cosize(layout))))


def not_composed(layout, tile):
    """Stops at the indices."""
    return Layout(tile, tl.complement(tile, size(layout)))


def tile_taken_as_contiguous(layout, tile):
    """Uses the tile's size and forgets its stride."""
    return tl.logical_divide(layout, size(tile))


def complement_forgotten(layout, tile):
    """Only tile 0."""
    return Layout(tl.compose(layout, tile), Layout(1, 0))


# 02.6 ------------------------------------------------------------------------------------------------------------


def not_zipped(layout, tiler):
    """Mode by mode, without gathering."""
    return tl.logical_divide(layout, tuple(tiler))


def grid_first(layout, tiler):
    """The grid of tiles first, the tile second."""
    zipped = tl.zipped_divide(layout, tuple(tiler))
    return Layout(mode(zipped, 1), mode(zipped, 0))


def grid_strides_unscaled(layout, tiler):
    """The next tile begins one element further."""
    counts = tuple(-(-size(mode(layout, n)) // tile) for n, tile in enumerate(tiler))
    return Layout((tuple(tiler), counts), (layout.stride, layout.stride))


def last_tile_dropped(layout, tiler):
    """Rounds the number of tiles down."""
    zipped = tl.zipped_divide(layout, tuple(tiler))
    counts = [size(mode(layout, n)) // tile for n, tile in enumerate(tiler)]
    return Layout(mode(zipped, 0), tl.compose(mode(zipped, 1), tuple(counts)))


def matrices_only(layout, tiler):
    """Looks at the first two modes."""
    parts = [tl.logical_divide(mode(layout, n), tiler[n]) for n in (0, 1)]
    return Layout(*(Layout(*(mode(part, half) for part in parts)) for half in (0, 1)))


def plain_numbers(layout, tiler):
    """Divides the first part of a nested mode only, as tensor_layouts does by a plain number."""
    parts = [tl.logical_divide(mode(layout, n), tile) for n, tile in enumerate(tiler)]
    return Layout(*(Layout(*(mode(part, half) for part in parts)) for half in (0, 1)))


# 02.7 ------------------------------------------------------------------------------------------------------------


def block_as_element(layout, tile, block):
    """Uses the block's coordinate inside the tile."""
    tiles = tl.zipped_divide(layout, tile)
    return tiles((block, (0, 0))), mode(tiles, 0)


def grid_returned(layout, tile, block):
    """Gives the layout of the grid."""
    tiles = tl.zipped_divide(layout, tile)
    return tiles(((0, 0), block)), mode(tiles, 1)


def block_turned(layout, tile, block):
    """Takes the block as (tile column, tile row)."""
    tiles = tl.zipped_divide(layout, tile)
    return tiles(((0, 0), block[::-1])), mode(tiles, 0)


def every_block_the_first(layout, tile, block):
    """Forgets where the tile begins."""
    return 0, mode(tl.zipped_divide(layout, tile), 0)


def offset_as_if_row_major(layout, tile, block):
    """Works the offset out as for a compact row-major matrix."""
    start = block[0] * tile[0] * size(mode(layout, 1)) + block[1] * tile[1]
    return start, mode(tl.zipped_divide(layout, tile), 0)


# 02.8 ------------------------------------------------------------------------------------------------------------


def copies_by_size(block, grid):
    """Replicates size(block) apart: wrong where the block has holes."""
    return Layout(block, Layout(grid.shape, tl.transform_tuple(grid.stride, lambda step: step * size(block))))


def copies_by_cosize(block, grid):
    """Replicates cosize(block) apart and leaves the block's holes empty."""
    return Layout(block, Layout(grid.shape, tl.transform_tuple(grid.stride, lambda step: step * cosize(block))))


def copies_on_top(block, grid):
    """Puts the copies at the grid's own offsets."""
    return Layout(block, grid)


def copies_in_order(block, grid):
    """Ignores the grid's strides."""
    return Layout(block, tl.complement(block, size(block) * size(grid)))


def copies_first(block, grid):
    """Which copy first, inside the block second."""
    product = tl.logical_product(block, grid)
    return Layout(mode(product, 1), mode(product, 0))


def first_mode_repeated(block, grid):
    """Repeats the block's first mode only."""
    first = mode(block, 0) if rank(block) > 1 else block
    return tl.logical_product(first, grid)


WRONG = {
    "02.1": [
        unchanged,
        only_flattened,
        everything_merged,
        ones_kept,
        sorted_first,
        merged_by_cosize,
        merged_once,
    ],
    "02.2": [
        left_contiguous,
        left_one_mode,
        b_after_a,
        nothing_refused,
        b_flattened,
        a_not_coalesced,
        a_cut_to_size,
    ],
    "02.3": [shape_turned, reshaped, always_compact, column_stride_taken_for_row_stride],
    "02.4": [
        cosize_forgotten,
        after_the_layout,
        apart_by_size,
        rounded_down,
        not_sorted,
        never_refused,
        broadcast_counted,
    ],
    "02.5": [modes_swapped, bound_by_cosize, not_composed, tile_taken_as_contiguous, complement_forgotten],
    "02.6": [not_zipped, grid_first, grid_strides_unscaled, last_tile_dropped, matrices_only, plain_numbers],
    "02.7": [block_as_element, grid_returned, block_turned, every_block_the_first, offset_as_if_row_major],
    "02.8": [copies_by_size, copies_by_cosize, copies_on_top, copies_in_order, copies_first, first_mode_repeated],
}

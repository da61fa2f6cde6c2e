"""Wrong answers to notebook 02."""

from functools import partial

import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tests.wrong.solved import changed, solution
from tests.wrong.table import answer
from tutorlib.layouts.oracle import ask
from tutorlib.layouts.tiled_copy import tiled_copy_view

NAMES = {"tl": tl, "Layout": Layout, "cosize": cosize, "flatten": flatten, "mode": mode, "rank": rank, "size": size}


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


def change(id):
    return partial(changed, id, NAMES)


def right(id):
    return solution(id, NAMES)


coalesced, composed, complemented = right("02.1"), right("02.2"), right("02.4")
divided, zipped, tiled, multiplied = right("02.5"), right("02.6"), right("02.7"), right("02.8")
of_blocks, inverse, together, shared = right("02.9"), right("02.10"), right("02.11"), right("02.12")
in_coalesce, in_compose, in_transposed, in_complement = map(change, ("02.1", "02.2", "02.3", "02.4"))
in_divide, in_zip, in_tile, in_product = map(change, ("02.5", "02.6", "02.7", "02.8"))
in_blocked, in_inverse, in_vector, in_tv = map(change, ("02.9", "02.10", "02.11", "02.12"))


def shape_and_stride(layout):
    """A pair in place of a Layout."""
    return layout.shape, layout.stride


MORE = {
    "02.1": [
        in_coalesce("one_one", "Layout(1, 1) where nothing is left", "[(1, 0)]", "[(1, 1)]", "Layout(1, 0)"),
        in_coalesce(
            "always_brackets",
            "one mode as a tuple of one",
            "if len(modes) < 2:\n        return Layout(*(modes or [(1, 0)])[0])\n    return Layout",
            "return Layout",
            "stands without brackets",
        ),
        in_coalesce(
            "holes_closed",
            "a multiple will do",
            "stride == modes[-1][0] * modes[-1][1]",
            "stride % (modes[-1][0] * modes[-1][1] or 1) == 0",
            "leaves a hole",
        ),
        in_coalesce(
            "extent_alone",
            "forgets the stride of the mode before",
            "modes[-1][0] * modes[-1][1]:",
            "modes[-1][0]:",
            "could be one",
        ),
        in_coalesce(
            "stride_taken",
            "the merged mode has the second's stride",
            "(modes[-1][0] * extent, modes[-1][1])",
            "(modes[-1][0] * extent, stride)",
            "it sends index",
        ),
        in_coalesce(
            "extents_added",
            "adds extents",
            "modes[-1][0] * extent,",
            "modes[-1][0] + extent,",
            "elements and should have",
        ),
        in_coalesce(
            "only_top",
            "does not flatten",
            "flatten(layout.shape), flatten(layout.stride)",
            "(layout.shape,) if isinstance(layout.shape, int) else layout.shape, (layout.stride,) if isinstance(layout.shape, int) else layout.stride",
            "still nested",
        ),
        in_coalesce(
            "stride_one_dropped",
            "drops modes of stride 1",
            "if extent == 1:",
            "if stride == 1:",
            "elements and should have",
        ),
        in_coalesce(
            "zero_dropped",
            "drops modes of stride 0",
            "if extent == 1:",
            "if extent == 1 or stride == 0:",
            "elements and should have",
        ),
        answer(
            "from_the_right",
            "merges as if the last mode were the fastest",
            lambda layout: tl.coalesce(Layout(flatten((layout.shape,))[::-1], flatten((layout.stride,))[::-1])),
            "it calls tl.coalesce",
        ),
        answer("library", "has tensor_layouts do it", tl.coalesce, "it calls tl.coalesce"),
        answer("a_pair", "no Layout", lambda layout: shape_and_stride(coalesced(layout)), "it should be a Layout"),
    ],
    "02.2": [
        answer("library", "has tensor_layouts do it", lambda a, b: tl.compose(a, b), "it calls tl.compose"),
        in_compose(
            "left_not_divided",
            "forgets to take off what is placed",
            "left, step = left // take, 1",
            "step = 1",
            "elements and should have B's",
        ),
        in_compose(
            "step_kept",
            "goes on with the old step",
            "left, step = left // take, 1",
            "left = left // take",
            "B runs through several modes",
        ),
        in_compose(
            "step_not_divided", "steps over a mode with the step as it was", "step //= extent\n", "pass\n", "R(1) is"
        ),
        in_compose("stride_forgotten", "forgets A's strides", "(take, step * stride)", "(take, step)", "R(1) is"),
        in_compose("step_forgotten", "forgets B's step", "(take, step * stride)", "(take, stride)", "R(1) is"),
        in_compose(
            "last_step_forgotten", "forgets B's step in the last mode", "(left, step * last)", "(left, last)", "R(1) is"
        ),
        in_compose(
            "stops_at_the_end",
            "lets B step over the last mode too",
            "*modes, (_, last) = zip(flatten(a.shape), flatten(a.stride), strict=True)",
            "modes = list(zip(flatten((a.shape,)), flatten((a.stride,)), strict=True)); last = modes[-1][1]",
            "B goes on past A's end",
        ),
        in_compose(
            "never_ends_early",
            "no rule for what lies in one mode",
            "(left - 1) * step < extent",
            "False",
            "B stays inside",
        ),
        in_compose(
            "never_raises",
            "guesses where it does not go evenly",
            'raise ValueError(f"{left}:{step} does not go evenly into {extent}:{stride}")',
            "take = max(1, extent // step)",
            "raise ValueError",
        ),
        in_compose(
            "only_extent_checked",
            "looks at one of two divisions",
            " and left % (extent // step) == 0",
            "",
            "raise ValueError",
        ),
        in_compose(
            "only_left_checked",
            "looks at the other one",
            "extent % step == 0 and left % (extent // step) == 0",
            "left % max(1, extent // step) == 0",
            "raise ValueError",
        ),
        in_compose(
            "not_coalesced",
            "takes A as it is written",
            "a = tl.coalesce(a)\n",
            "a = Layout(flatten((a.shape,)), flatten((a.stride,)))\n",
            "raised ValueError",
        ),
        in_compose("type_error", "raises another kind", "raise ValueError", "raise TypeError", "raised TypeError"),
        in_compose(
            "none_for_none",
            "None where there is none",
            'raise ValueError(f"{left}:{step} does not go evenly into {extent}:{stride}")',
            "return None",
            "so it should raise ValueError",
        ),
        in_compose(
            "modes_turned",
            "the result's modes turned round",
            "zip(*taken, strict=True)",
            "zip(*taken[::-1], strict=True)",
            "R(",
        ),
        in_compose(
            "b_after_a_by_hand",
            "B ∘ A",
            "a = tl.coalesce(a)\n",
            "a, (left, step) = tl.coalesce(b), (size(a), flatten((a.stride,))[0])\n",
            "elements and should have",
        ),
    ],
    "02.3": [
        in_transposed(
            "rows_first",
            "B's shape is (rows, columns)",
            "Layout((columns, rows), (rows, 1))",
            "Layout((rows, columns), (columns, 1))",
            "it should be a matrix of",
        ),
        in_transposed(
            "identity",
            "B is the identity",
            "Layout((columns, rows), (rows, 1))",
            "Layout((rows, columns), (1, rows))",
            "it should be a matrix of",
        ),
        in_transposed("cosize_for_rows", "counts memory", "(rows, 1)", "(cosize(mode(layout, 0)), 1)", "LayoutError"),
        in_transposed(
            "stride_of_layout",
            "takes a stride of the layout",
            "(rows, 1)",
            "(flatten((layout.stride,))[0], 1)",
            "it sends",
        ),
        in_transposed(
            "other_way_round",
            "B ∘ layout",
            "tl.compose(layout, Layout((columns, rows), (rows, 1)))",
            "tl.compose(Layout((columns, rows), (rows, 1)), layout)",
            "it",
        ),
        in_transposed(
            "only_b",
            "B alone",
            "tl.compose(layout, Layout((columns, rows), (rows, 1)))",
            "Layout((columns, rows), (rows, 1))",
            "the matrix has",
        ),
        in_transposed("all_one", "both strides 1", "(rows, 1)", "(1, 1)", "it sends"),
        in_transposed("off_by_one", "one row too few", "(rows, 1)", "(rows - 1, 1)", "LayoutError"),
        in_transposed(
            "flat_strides",
            "turns flat modes round",
            "tl.compose(layout, Layout((columns, rows), (rows, 1)))",
            "Layout(flatten(layout.shape)[::-1], flatten(layout.stride)[::-1])",
            "a matrix stored in blocks",
        ),
        answer("untouched", "gives the matrix back", lambda layout: layout, "it should be a matrix of 8×4"),
        in_transposed(
            "a_pair",
            "no Layout",
            "return tl.compose(layout, Layout((columns, rows), (rows, 1)))",
            "return (columns, rows), (rows, 1)",
            "it should be a Layout",
        ),
    ],
    "02.4": [
        answer("library", "has tensor_layouts do it", tl.complement, "it calls tl.complement"),
        in_complement(
            "bound_ignored",
            "ends with the layout",
            "gaps.append((-(-bound // reach), reach))",
            "pass",
            "no copy of the layout reaches",
        ),
        in_complement(
            "floor",
            "rounds down at the end",
            "-(-bound // reach)",
            "max(1, bound // reach)",
            "a bound that is no multiple",
        ),
        in_complement(
            "unsorted",
            "takes modes as they stand",
            "sorted((stride, extent) for stride, extent in modes if extent > 1 and stride > 0)",
            "((stride, extent) for stride, extent in modes if extent > 1 and stride > 0)",
            "raised ValueError",
        ),
        in_complement(
            "by_extent",
            "sorts by extent",
            "sorted((stride, extent) for stride, extent in modes if extent > 1 and stride > 0)",
            "((d, n) for n, d in sorted((n, d) for d, n in modes if n > 1 and d > 0))",
            "raised ValueError",
        ),
        in_complement(
            "ones_counted",
            "counts modes of extent 1",
            "extent > 1 and stride > 0",
            "stride > 0",
            "extent 1 and stride 0",
        ),
        in_complement(
            "zeros_counted",
            "counts modes of stride 0",
            "extent > 1 and stride > 0",
            "extent > 1",
            "extent 1 and stride 0",
        ),
        in_complement("never_raises", "does not look", "if stride % reach:", "if False:", "raise ValueError"),
        in_complement(
            "reach_forgotten",
            "copies one apart",
            "(stride // reach, reach)",
            "(stride // reach, 1)",
            "two copies of the layout meet",
        ),
        in_complement(
            "stride_for_gap",
            "the gap as wide as the stride",
            "(stride // reach, reach)",
            "(stride, reach)",
            "elements, and",
        ),
        in_complement(
            "reach_of_extent",
            "forgets the stride in what is reached",
            "reach = extent * stride",
            "reach = extent",
            "are what fills",
        ),
        in_complement(
            "reach_last",
            "the last offset for the first free one",
            "reach = extent * stride",
            "reach = (extent - 1) * stride + 1",
            "it",
        ),
        in_complement(
            "from_zero", "the layout itself among the copies", "gaps, reach = [], 1", "gaps, reach = [], 2", ""
        ),
        in_complement("one_more", "one copy too many", "-(-bound // reach)", "bound // reach + 1", "elements, and"),
    ],
    "02.5": [
        answer(
            "library", "has tensor_layouts do it", lambda a, b: tl.logical_divide(a, b), "it calls tl.logical_divide"
        ),
        answer(
            "zipped_library",
            "has tensor_layouts zip it",
            lambda a, b: tl.zipped_divide(a, b),
            "it calls tl.zipped_divide",
        ),
        in_divide(
            "tile_size", "as many tiles as the tile has elements", "size(layout))", "size(tile))", "its modes have"
        ),
        in_divide(
            "tile_cosize", "only as much as a tile spans", "size(layout))", "cosize(tile))", "as much as one tile spans"
        ),
        in_divide(
            "memory_counted", "counts places in memory", "size(layout))", "cosize(layout))", "counts places in memory"
        ),
        in_divide(
            "complement_of_layout",
            "the complement of the other one",
            "tl.complement(tile, size(layout))",
            "tl.complement(layout, cosize(layout) * 4)",
            "it",
        ),
        in_divide("turned", "which tile first", "Layout(tile, starts)", "Layout(starts, tile)", "modes are swapped"),
        in_divide(
            "indices",
            "stops at the indices",
            "tl.compose(layout, Layout(tile, starts))",
            "Layout(tile, starts)",
            "Those are indices",
        ),
        in_divide("only_starts", "where tiles begin", "Layout(tile, starts)", "starts", "inside the tile, which tile"),
        in_divide(
            "other_way",
            "(tile, starts) ∘ layout",
            "tl.compose(layout, Layout(tile, starts))",
            "tl.compose(Layout(tile, starts), layout)",
            "it",
        ),
        in_divide(
            "by_size",
            "tiles one after the other",
            "tl.complement(tile, size(layout))",
            "Layout(-(-size(layout) // size(tile)), size(tile))",
            "every third",
        ),
        in_divide(
            "floor",
            "drops the last tile",
            "tl.complement(tile, size(layout))",
            "tl.complement(tile, size(layout) // cosize(tile) * cosize(tile))",
            "sticks out",
        ),
        in_divide(
            "contiguous",
            "a contiguous tile",
            "Layout(tile, starts))",
            "Layout(size(tile), starts))",
            "raised TypeError",
        ),
    ],
    "02.6": [
        answer(
            "library",
            "has tensor_layouts do it",
            lambda a, t: tl.zipped_divide(a, tuple(Layout(n, 1) for n in t)),
            "it calls tl.zipped_divide",
        ),
        answer(
            "tiled_library",
            "has tensor_layouts tile it",
            lambda a, t: tl.tiled_divide(a, t),
            "it calls tl.tiled_divide",
        ),
        in_zip(
            "halves_turned",
            "the grid first",
            "Layout(inside, outside)",
            "Layout(outside, inside)",
            "halves are swapped",
        ),
        in_zip(
            "twice_inside", "the inside twice", "(mode(part, 1) for part", "(mode(part, 0) for part", "its shape is"
        ),
        in_zip("not_gathered", "mode by mode", "Layout(inside, outside)", "Layout(*parts)", "Gather the insides"),
        in_zip(
            "one_tile_for_all",
            "the first tile for every mode",
            "Layout(tile, 1)",
            "Layout(tiler[0], 1)",
            "its shape is",
        ),
        in_zip("strided_tile", "a tile with a stride", "Layout(tile, 1)", "Layout(tile, 2)", "of tile"),
        in_zip(
            "tile_counts",
            "tile counts for tile sizes",
            "Layout(tile, 1)",
            "Layout(-(-size(mode(layout, n)) // tile), 1)",
            "its shape is",
        ),
        in_zip("turned_tiler", "the tiler turned round", "enumerate(tiler)", "enumerate(tiler[::-1])", "its shape is"),
        in_zip("first_mode", "cuts the rows alone", "enumerate(tiler)]", "enumerate(tiler[:1])]", "its shape"),
        in_zip(
            "tiled",
            "tiled, not zipped",
            "Layout(inside, outside)",
            "Layout(inside, *(mode(part, 1) for part in parts))",
            "its shape",
        ),
        in_zip(
            "flat",
            "flat",
            "Layout(inside, outside)",
            "Layout(*(mode(part, n) for n in (0, 1) for part in parts))",
            "its shape",
        ),
        in_zip("numbers", "plain numbers", "Layout(tile, 1)", "tile", "divides only the first part"),
    ],
    "02.7": [
        in_tile(
            "numbers",
            "plain numbers",
            "Layout(extent, 1) for extent",
            "extent for extent",
            "divides only the first part",
        ),
        in_tile(
            "no_start",
            "the tile alone",
            "return tiles(((0, 0), block)), mode(tiles, 0)",
            "return mode(tiles, 0)",
            "it should be a pair",
        ),
        in_tile(
            "turned_pair",
            "the layout first",
            "return tiles(((0, 0), block)), mode(tiles, 0)",
            "return mode(tiles, 0), tiles(((0, 0), block))",
            "it should be a pair",
        ),
        in_tile(
            "inside",
            "the block inside the tile",
            "((0, 0), block)",
            "(block, (0, 0))",
            "block is a coordinate among the tiles",
        ),
        in_tile("grid", "the grid", "mode(tiles, 0)", "mode(tiles, 1)", "layout of the grid"),
        in_tile(
            "columns_first",
            "(column, row)",
            "((0, 0), block)",
            "((0, 0), block[::-1])",
            "you have used it the other way round",
        ),
        in_tile("by_row", "the first block of the row", "((0, 0), block)", "((0, 0), (block[0], 0))", "of the matrix"),
        in_tile(
            "last_element",
            "the tile's last element",
            "((0, 0), block)",
            "((tile[0] - 1, tile[1] - 1), block)",
            "of the matrix",
        ),
        in_tile("next_block", "one block on", "((0, 0), block)", "((0, 0), (block[0], block[1] + 1))", "of the matrix"),
        in_tile(
            "element_coordinate",
            "the element, not its offset",
            "tiles(((0, 0), block))",
            "(block[0] * tile[0], block[1] * tile[1])",
            "it should be a pair",
        ),
        in_tile("fresh_tile", "a tile stored by itself", "mode(tiles, 0)", "Layout(tile)", "of the matrix"),
        in_tile(
            "flat_block",
            "the block as one number, by rows",
            "((0, 0), block)",
            "(0, block[0] * size(mode(mode(tiles, 1), 1)) + block[1])",
            "of the matrix",
        ),
        in_tile(
            "turned_tile",
            "the tile's extents turned round",
            "for extent in tile)",
            "for extent in tile[::-1])",
            "the tile's shape should be",
        ),
    ],
    "02.8": [
        answer(
            "library", "has tensor_layouts do it", lambda a, b: tl.logical_product(a, b), "it calls tl.logical_product"
        ),
        answer(
            "blocked_library",
            "has tensor_layouts block it",
            lambda a, b: tl.blocked_product(a, b),
            "it calls tl.blocked_product",
        ),
        in_product(
            "too_short",
            "room for as many copies as the grid has elements",
            "cosize(grid)",
            "size(grid)",
            "The complement is too short for this grid",
        ),
        in_product("grid_forgotten", "copies in order", "tl.compose(places, grid)", "places", "copies can begin at"),
        in_product("on_top", "the grid's own offsets", "tl.compose(places, grid)", "grid", "says where the places are"),
        in_product(
            "turned",
            "which copy first",
            "Layout(block, tl.compose(places, grid))",
            "Layout(tl.compose(places, grid), block)",
            "modes are swapped",
        ),
        in_product("other_way", "grid ∘ places", "tl.compose(places, grid)", "tl.compose(grid, places)", ""),
        in_product(
            "complement_of_grid",
            "the complement of the other one",
            "tl.complement(block, size(block) * cosize(grid))",
            "tl.complement(grid, size(block) * cosize(grid))",
            "",
        ),
        in_product(
            "size_of_block",
            "no room for the copies",
            "size(block) * cosize(grid)",
            "cosize(block)",
            "copies can begin at",
        ),
        in_product(
            "grid_alone", "room for the grid alone", "size(block) * cosize(grid)", "cosize(grid)", "copies can begin at"
        ),
        in_product("first_copy", "copy 0 alone", "tl.compose(places, grid)", "Layout(1, 0)", "copies can begin at"),
        in_product(
            "composed_block",
            "the block through the places",
            "Layout(block, tl",
            "Layout(tl.compose(places, Layout(size(block))), tl",
            "first mode should be the block",
        ),
        in_product(
            "not_bundled",
            "a pair",
            "Layout(block, tl.compose(places, grid))",
            "(block, tl.compose(places, grid))",
            "it should be a Layout",
        ),
    ],
    "02.9": [
        answer(
            "library", "has tensor_layouts do it", lambda a, b: tl.blocked_product(a, b), "it calls tl.blocked_product"
        ),
        answer(
            "raked_library", "has tensor_layouts rake", lambda a, b: tl.raked_product(a, b), "it calls tl.raked_product"
        ),
        in_blocked(
            "raked",
            "the copies first",
            "mode(inside, n), mode(copies, n)",
            "mode(copies, n), mode(inside, n)",
            "That is the raked product",
        ),
        in_blocked(
            "not_paired",
            "the logical product",
            "Layout(*(Layout(mode(inside, n), mode(copies, n)) for n in range(2)))",
            "product",
            "Pair rows with rows",
        ),
        in_blocked("crossed", "rows with columns", "mode(copies, n)) for", "mode(copies, 1 - n)) for", ""),
        in_blocked(
            "inside_twice",
            "the block twice",
            "mode(copies, n)) for",
            "mode(inside, n)) for",
            "it should be a matrix of",
        ),
        in_blocked("rows_only", "rows alone", "for n in range(2)", "for n in range(1)", "it should be a matrix of"),
        in_blocked(
            "columns_first", "columns for rows", "for n in range(2)", "for n in (1, 0)", "it should be a matrix of"
        ),
        in_blocked(
            "flat",
            "four modes",
            "Layout(*(Layout(mode(inside, n), mode(copies, n)) for n in range(2)))",
            "Layout(*(mode(half, n) for n in range(2) for half in (inside, copies)))",
            "it should be a matrix of",
        ),
        in_blocked(
            "grid_itself", "the grid's own strides", "mode(copies, n)) for", "mode(grid, n)) for", "on top of the block"
        ),
        in_blocked(
            "grid_by_size",
            "the grid times the block's size",
            "mode(copies, n)) for",
            "Layout(size(mode(grid, n)), size(block) * flatten((mode(grid, n).stride,))[0])) for",
            "a block with holes",
        ),
        in_blocked(
            "exchanged",
            "the product of the other two",
            "tl.logical_product(block, grid)",
            "tl.logical_product(grid, block)",
            "",
        ),
        in_blocked(
            "a_tuple",
            "no Layout",
            "Layout(*(Layout(mode(inside, n), mode(copies, n)) for n in range(2)))",
            "tuple(Layout(mode(inside, n), mode(copies, n)) for n in range(2))",
            "it should be a Layout",
        ),
    ],
    "02.10": [
        answer("asks_cute", "asks CuTe", lambda layout: ask([("right_inverse", layout)])[0], "it calls ask"),
        answer("library", "has tensor_layouts do it", tl.right_inverse, "it calls tl.right_inverse"),
        answer(
            "left_library", "has tensor_layouts invert it from the left", tl.left_inverse, "it calls tl.left_inverse"
        ),
        answer(
            "shape_for_stride", "shape and stride exchanged", lambda layout: Layout(layout.stride, layout.shape), ""
        ),
        in_inverse(
            "goes_on", "goes over holes", "if stride != reach:\n            break", "if False:\n            break", ""
        ),
        in_inverse("ones_counted", "counts modes of extent 1", " if kind[1] > 1", "", ""),
        in_inverse(
            "own_stride",
            "the layout's stride for the index distance",
            "kept.append((extent, apart))",
            "kept.append((extent, stride))",
            "where the layout has",
        ),
        in_inverse(
            "apart_too_far",
            "the distance has its own extent in it",
            "modes.append((stride, extent, apart))\n        apart *= extent",
            "apart *= extent\n        modes.append((stride, extent, apart))",
            "",
        ),
        in_inverse("apart_added", "adds extents", "apart *= extent", "apart += extent", ""),
        in_inverse("reach_is_extent", "reach is the last extent", "reach *= extent", "reach = extent", ""),
        in_inverse("one_mode", "the mode of stride 1 alone", "reach *= extent", "break", "it ends at offset"),
        in_inverse(
            "from_the_right",
            "indices with the last mode fastest",
            "strict=True):\n        modes",
            "strict=True) if False else reversed(list(zip(flatten((layout.shape,)), flatten((layout.stride,)), strict=True))):\n        modes",
            "",
        ),
    ],
    "02.11": [
        answer(
            "library",
            "has tensor_layouts do it",
            lambda a, b: tl.max_common_vector(a, b),
            "it calls tl.max_common_vector",
        ),
        in_vector(
            "any_stride",
            "the first extent whatever its stride",
            "extent if stride == 1 else 1",
            "extent",
            "only n:1 keeps n elements together",
        ),
        in_vector("nothing", "0 where not even two stay together", "else 1", "else 0", "it should give 1"),
        in_vector(
            "not_coalesced",
            "the first mode as it is written",
            "tl.coalesce(tl.compose(b, tl.right_inverse(a)))",
            "tl.compose(b, tl.right_inverse(a))",
            "",
        ),
        in_vector("one_side", "A's side", "tl.compose(b, tl.right_inverse(a))", "tl.right_inverse(a)", ""),
        in_vector("no_inverse", "b ∘ a", "tl.right_inverse(a)", "a", ""),
        in_vector("b_alone", "B as it stands", "tl.compose(b, tl.right_inverse(a))", "b", ""),
        in_vector(
            "a_after_b_inverse",
            "B's inverse, and no A",
            "tl.compose(b, tl.right_inverse(a))",
            "tl.right_inverse(b)",
            "",
        ),
        in_vector(
            "last_mode", "the last extent", "[0], flatten((steps.stride,))[0]", "[-1], flatten((steps.stride,))[-1]", ""
        ),
        in_vector("all_of_it", "the size", "return extent if stride == 1 else 1", "return size(steps)", ""),
        in_vector("in_bytes", "bytes of bf16", "return extent if", "return 2 * extent if", ""),
        answer(
            "both_contiguous",
            "each by itself",
            lambda a, b: min(size(tl.right_inverse(a)), size(tl.right_inverse(b))),
            "put other elements side by side",
        ),
        answer("never_more_than_8", "16 bytes of bf16", lambda a, b: min(8, together(a, b)), "it should give 32"),
        answer("always_one", "one element", lambda a, b: 1, "it should give 32"),
    ],
    "02.12": [
        in_tv("blocked", "blocks, not rakes", "tl.raked_product", "tl.blocked_product", "That is the blocked product"),
        in_tv("exchanged", "values for threads", "(threads, values))\n", "(values, threads))\n", ""),
        in_tv(
            "not_inverted",
            "the product itself",
            "tl.right_inverse(tl.raked_product(threads, values))",
            "tl.raked_product(threads, values)",
            "",
        ),
        in_tv(
            "one_mode",
            "not taken apart",
            "return tl.compose(inverse, Layout((size(threads), size(values))))",
            "return inverse",
            "it should have two modes",
        ),
        in_tv(
            "values_first",
            "(value, thread)",
            "return tl.compose(inverse, Layout((size(threads), size(values))))",
            "tv = tl.compose(inverse, Layout((size(threads), size(values))))\n    return Layout(mode(tv, 1), mode(tv, 0))",
            "modes are swapped",
        ),
        in_tv(
            "counts_turned",
            "as many threads as values",
            "(size(threads), size(values))",
            "(size(values), size(threads))",
            "it should have two modes",
        ),
        in_tv("flat_product", "the logical product", "tl.raked_product", "tl.logical_product", ""),
        in_tv(
            "row_numbers",
            "counts the tile by rows",
            "return tl.compose(inverse,",
            "return tl.compose(Layout((threads.shape[0] * values.shape[0], size(mode(threads, 1)) * size(mode(values, 1))), (size(mode(threads, 1)) * size(mode(values, 1)), 1)),",
            "",
        ),
        in_tv(
            "values_alone",
            "each thread the values of thread 0",
            "Layout((size(threads), size(values)))",
            "Layout((size(threads), size(values)), (0, size(threads)))",
            "of the tile, index",
        ),
        in_tv(
            "fastest_values",
            "t · values + v",
            "Layout((size(threads), size(values)))",
            "Layout((size(threads), size(values)), (size(values), 1))",
            "",
        ),
        in_tv("left", "threads alone", "tl.raked_product(threads, values)", "threads", ""),
        answer(
            "the_pages_view",
            "what the page draws with",
            lambda t, v: tiled_copy_view(t, v, tuple(a * b for a, b in zip(t.shape, v.shape, strict=True))).layout,
            "it calls tiled_copy_view",
        ),
        answer("a_pair", "CuTe's pair with the tile", lambda t, v: ((1, 1), shared(t, v)), "it should be a Layout"),
        answer("threads_for_tv", "threads and values side by side", lambda t, v: Layout(t, v), ""),
    ],
}


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
    **{id: [] for id in ("02.9", "02.10", "02.11", "02.12")},
}
WRONG = {id: [*answers, *MORE[id]] for id, answers in WRONG.items()}

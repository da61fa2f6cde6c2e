"""Wrong answers to notebook 02: division into tiles."""

import tensor_layouts as tl
from tensor_layouts import Layout, cosize, mode, size

from tests.pages.n02_layout_algebra.algebra import change, right
from tests.pages.table import answer, says


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
    return right("02.5")(layout, Layout(size(tile), 1))


def complement_forgotten(layout, tile):
    """Only tile 0."""
    return Layout(tl.compose(layout, tile), Layout(1, 0))


def not_zipped(layout, tiler):
    """Mode by mode, without gathering."""
    return tl.logical_divide(layout, tuple(tiler))


def grid_first(layout, tiler):
    """The grid of tiles first, the tile second."""
    zipped = right("02.6")(layout, tiler)
    return Layout(mode(zipped, 1), mode(zipped, 0))


def grid_strides_unscaled(layout, tiler):
    """The next tile begins one element further."""
    counts = tuple(-(-size(mode(layout, n)) // tile) for n, tile in enumerate(tiler))
    return Layout((tuple(tiler), counts), (layout.stride, layout.stride))


def last_tile_dropped(layout, tiler):
    """Rounds the number of tiles down."""
    zipped = right("02.6")(layout, tiler)
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


@says("element (4, 0) of the tile")
def two_strides(layout, tile, block):
    """Takes the first step in each mode for its stride, though the mode may be nested."""
    start = layout(*(b * t for b, t in zip(block, tile, strict=True)))
    return start, Layout(tile, (layout(1, 0), layout(0, 1)))


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


zipped = right("02.6")
in_divide = change("02.5")
in_zip = change("02.6")
in_tile = change("02.7")


WRONG = {
    "02.5": [
        modes_swapped,
        bound_by_cosize,
        not_composed,
        tile_taken_as_contiguous,
        complement_forgotten,
        answer(
            "library",
            "has tensor_layouts do it",
            lambda a, b: tl.logical_divide(a, b),
            "which does what you are asked to write",
        ),
        answer(
            "zipped_library",
            "has tensor_layouts zip it",
            lambda a, b: tl.zipped_divide(a, b),
            "which does what you are asked to write",
        ),
        in_divide(
            "tile_size", "as many tiles as the tile has elements", "size(layout))", "size(tile))", "its modes have"
        ),
        in_divide(
            "tile_cosize", "only as much as a tile spans", "size(layout))", "cosize(tile))", "the span of one tile"
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
        not_zipped,
        grid_first,
        grid_strides_unscaled,
        last_tile_dropped,
        matrices_only,
        plain_numbers,
        answer(
            "library",
            "has tensor_layouts do it",
            lambda a, t: tl.zipped_divide(a, tuple(Layout(n, 1) for n in t)),
            "which does what you are asked to write",
        ),
        answer(
            "tiled_library",
            "has tensor_layouts tile it",
            lambda a, t: tl.tiled_divide(a, t),
            "which does what you are asked to write",
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
        block_as_element,
        two_strides,
        grid_returned,
        block_turned,
        every_block_the_first,
        offset_as_if_row_major,
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
}

"""Wrong answers to notebook 11. Any machine tells them, by trying all blocks."""

from collections import Counter

import cutlass

from tutorlib import l2

# 11.1 -----------------------------------------------------------------------------------------------------------


def each_for_itself(tiles):
    """Nobody shares."""
    return 2 * len(tiles)


def tiles_of_c(tiles):
    """Counts tiles of C."""
    return len(set(tiles))


def rows_and_columns_mixed(tiles):
    """One set for both."""
    return len({x for tile in tiles for x in tile})


def rows_alone(tiles):
    """Forgets B."""
    return len({m for m, _ in tiles})


# 11.2 -----------------------------------------------------------------------------------------------------------


def exchanged(order, rows, columns):
    """Returns the lists the other way round."""
    taken = Counter(order(block, rows, columns) for block in range(rows * columns))
    never = [(m, n) for m in range(rows) for n in range(columns) if (m, n) not in taken]
    return sorted(tile for tile, times in taken.items() if times > 1), never


def one_block_short(order, rows, columns):
    """Leaves out the last block."""
    taken = Counter(order(block, rows, columns) for block in range(rows * columns - 1))
    never = [(m, n) for m in range(rows) for n in range(columns) if (m, n) not in taken]
    return never, sorted(tile for tile, times in taken.items() if times > 1)


def inside_only(order, rows, columns):
    """Forgets tiles outside of the grid."""
    taken = Counter(order(block, rows, columns) for block in range(rows * columns))
    tiles = [(m, n) for m in range(rows) for n in range(columns)]
    return [tile for tile in tiles if not taken[tile]], [tile for tile in tiles if taken[tile] > 1]


def counts_only(order, rows, columns):
    """Numbers in place of tiles."""
    never, often = inside_only(order, rows, columns)
    return len(never), len(often)


# 11.3 -----------------------------------------------------------------------------------------------------------


def raster(block, rows, columns, group):
    """No groups."""
    return block % rows, block // rows


def last_group_full(block, rows, columns, group):
    """The last group has rows that do not exist."""
    return block // (group * columns) * group + block % group, block % (group * columns) // group


def across_first(block, rows, columns, group):
    """Across first, then down."""
    place = block % (group * columns)
    return block // (group * columns) * group + place // columns, place % columns


def as_published(block, rows, columns, group):
    """Computes tiles twice where the group does not divide the rows."""
    return l2.as_published(block, rows, columns, group)


def exchanged_tile(block, rows, columns, group):
    """A and B swapped: (n, m)."""
    return l2.grouped(block, rows, columns, group)[::-1]


# 11.4 -----------------------------------------------------------------------------------------------------------


def no_groups(block, rows, columns):
    """Right, and no better than raster order."""
    return l2.raster(block, rows, columns)


def visits_twice(block, rows, columns):
    """The published remapping."""
    return l2.as_published(block, rows, columns)


def swapped(block, rows, columns):
    """A and B swapped."""
    span = 8 * columns
    first = block // span * 8
    height = cutlass.min(rows - first, 8)
    return block % span // height, first + block % span % height


def one_big_tile(block, rows, columns):
    """Every block computes the same tile."""
    return 0 * block, 0 * block


def pythons_min(block, rows, columns):
    """Right with plain numbers; in a kernel, min cannot compare what is not known yet."""
    return l2.grouped(block, rows, columns, 8)


WRONG = {
    "11.1": [each_for_itself, tiles_of_c, rows_and_columns_mixed, rows_alone],
    "11.2": [exchanged, one_block_short, inside_only, counts_only],
    "11.3": [raster, last_group_full, across_first, as_published, exchanged_tile],
    "11.4": [no_groups, visits_twice, swapped, one_big_tile, pythons_min],
}

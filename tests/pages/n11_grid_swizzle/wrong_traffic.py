"""Wrong answers to notebook 11: what a wave reads, which tiles are visited."""

from collections import Counter

import numpy as np

from tests.pages.table import answer, says
from tutorlib.exercises.n11_grid_swizzle import traffic
from tutorlib.models import l2

SHARED = "Blocks in one row share their tile of A"


@says(SHARED)
def each_for_itself(tiles):
    """Shares nothing."""
    return 2 * len(tiles)


@says("Those are tiles of C.")
def tiles_of_c(tiles):
    """Counts tiles of C."""
    return len(set(tiles))


@says("different tiles: count them separately")
def rows_and_columns_mixed(tiles):
    """One set for both."""
    return len({x for tile in tiles for x in tile})


FOOTPRINTS = [
    each_for_itself,
    tiles_of_c,
    rows_and_columns_mixed,
    answer("rows_alone", "Forgets B.", lambda tiles: len({m for m, _ in tiles}), "B is read, too"),
    answer("columns_alone", "Forgets A.", lambda tiles: len({n for _, n in tiles}), "A is read, too"),
    answer(
        "bounding_box",
        "All rows and columns between the first and the last.",
        lambda tiles: sum(max(mode) - min(mode) + 1 for mode in zip(*tiles, strict=True)),
        "need not be neighbors",
    ),
    answer("product", "Rows times columns.", lambda tiles: len({m for m, _ in tiles}) * len({n for _, n in tiles})),
    answer(
        "from_zero", "Counts from tile 0 on.", lambda tiles: max(m for m, _ in tiles) + max(n for _, n in tiles) + 2
    ),
    answer(
        "one_too_many", "Adds a tile of C.", lambda tiles: len({m for m, _ in tiles}) + len({n for _, n in tiles}) + 1
    ),
    answer(
        "both_numbers",
        "A pair in place of the sum.",
        lambda tiles: (len({m for m, _ in tiles}), len({n for _, n in tiles})),
    ),
    answer(
        "lists",
        "Counts each row as often as it comes.",
        lambda tiles: len([m for m, _ in tiles]) + len({n for _, n in tiles}),
    ),
    answer(
        "tiles_and_rows",
        "Each block its own tile of B, and rows of A shared.",
        lambda tiles: len({m for m, _ in tiles}) + len(set(tiles)),
    ),
    answer("a_sum", "Adds the numbers up.", lambda tiles: sum({m for m, _ in tiles}) + sum({n for _, n in tiles})),
    answer("a_square", "As if every wave were a square.", lambda tiles: round(2 * len(set(tiles)) ** 0.5)),
]


def counted(order, rows, columns):
    return Counter(order(block, rows, columns) for block in range(rows * columns))


def grid_of(rows, columns):
    return [(m, n) for m in range(rows) for n in range(columns)]


def never_of(taken, rows, columns):
    return [tile for tile in grid_of(rows, columns) if tile not in taken]


@says("in the other order")
def exchanged(order, rows, columns):
    """Returns the lists the other way round."""
    taken = counted(order, rows, columns)
    return sorted(tile for tile, times in taken.items() if times > 1), never_of(taken, rows, columns)


def one_block_short(order, rows, columns):
    """Leaves out the last block."""
    taken = Counter(order(block, rows, columns) for block in range(rows * columns - 1))
    return never_of(taken, rows, columns), sorted(tile for tile, times in taken.items() if times > 1)


@says("A tile outside the grid that one block computes")
def all_tiles_outside(order, rows, columns):
    """Counts a tile outside of the grid as computed too often."""
    times = Counter(order(block, rows, columns) for block in range(rows * columns))
    missing = [(m, n) for m in range(rows) for n in range(columns) if (m, n) not in times]
    return missing, sorted({tile for tile, n in times.items() if n > 1} | {*times} - {*grid_of(rows, columns)})


@says("Several blocks may compute the same tile outside the grid")
def inside_only(order, rows, columns):
    """Forgets tiles outside of the grid."""
    taken = counted(order, rows, columns)
    return never_of(taken, rows, columns), [tile for tile in grid_of(rows, columns) if taken[tile] > 1]


@says("should be a list of tiles")
def counts_only(order, rows, columns):
    """Numbers in place of tiles."""
    never, often = inside_only(order, rows, columns)
    return len(never), len(often)


@says("which has no order")
def sets(order, rows, columns):
    """Sets, which have no order."""
    taken = counted(order, rows, columns)
    return set(never_of(taken, rows, columns)), {tile for tile, times in taken.items() if times > 1}


@says("not sorted")
def unsorted(order, rows, columns):
    """In the order in which they come, from behind."""
    taken = counted(order, rows, columns)
    return never_of(taken, rows, columns)[::-1], sorted((t for t, times in taken.items() if times > 1), reverse=True)


@says("more than once")
def once_for_each_block(order, rows, columns):
    """A tile for each block that computes it."""
    taken = counted(order, rows, columns)
    often = sorted(tile for tile, times in taken.items() for _ in range(times) if times > 1)
    return never_of(taken, rows, columns), often


@says("should be two lists")
def one_list(order, rows, columns):
    """The first list alone."""
    return never_of(counted(order, rows, columns), rows, columns)


def columns_first(order, rows, columns):
    """Tiles as (n, m)."""
    taken = counted(order, rows, columns)
    return (
        sorted((n, m) for m, n in never_of(taken, rows, columns)),
        sorted((n, m) for (m, n), times in taken.items() if times > 1),
    )


def exactly_twice(order, rows, columns):
    """Forgets tiles that three blocks compute."""
    taken = counted(order, rows, columns)
    return never_of(taken, rows, columns), sorted(tile for tile, times in taken.items() if times == 2)


def sizes_exchanged(order, rows, columns):
    """Asks the order for a grid of columns × rows."""
    taken = Counter(order(block, columns, rows) for block in range(rows * columns))
    return never_of(taken, rows, columns), sorted(tile for tile, times in taken.items() if times > 1)


def with_blocks(order, rows, columns):
    """Tiles with their number of blocks."""
    taken = counted(order, rows, columns)
    return never_of(taken, rows, columns), sorted((tile, times) for tile, times in taken.items() if times > 1)


@says("above_the_grid", "its first list lacks (2, 0)")
def wraps_around(order, rows, columns):
    """Counts in an array of NumPy, where row -1 is the last."""
    table, below = np.zeros((rows, columns), int), Counter()
    for m, n in (order(block, rows, columns) for block in range(rows * columns)):
        if m < rows and n < columns:
            table[m, n] += 1
        else:
            below[m, n] += 1
    often = [*zip(*np.nonzero(table > 1), strict=True), *(tile for tile, times in below.items() if times > 1)]
    return sorted(zip(*np.nonzero(table == 0), strict=True)), sorted(often)


@says("calls l2.coverage, which does what you are asked to write")
def by_the_library(order, rows, columns):
    """Leans on l2.coverage."""
    takers = l2.coverage((rows, columns), order)
    return sorted(t for t, b in takers.items() if not b), sorted(t for t, b in takers.items() if len(b) > 1)


@says("it calls tutorlib.exercises.n11_grid_swizzle.traffic.visits, which belongs to the checks")
def by_the_checks(order, rows, columns):
    """Asks the checks' own function."""
    return traffic.visits(order, rows, columns)


VISITS = [
    exchanged,
    one_block_short,
    inside_only,
    all_tiles_outside,
    counts_only,
    sets,
    unsorted,
    once_for_each_block,
    one_list,
    columns_first,
    exactly_twice,
    sizes_exchanged,
    with_blocks,
    wraps_around,
    by_the_library,
    by_the_checks,
]


WRONG = {
    "11.1": FOOTPRINTS,
    "11.2": VISITS,
}

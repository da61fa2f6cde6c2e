"""Wrong answers to notebook 11. Any machine tells them, by trying all blocks."""

from collections import Counter
from functools import partial

import cutlass

from tutorlib.models import l2

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


def heights(rows):
    return [2**n for n in range(rows.bit_length()) if 2**n < rows] + [rows]


def tiles_read(rows, columns, in_flight, group):
    waves = l2.waves((rows, columns), partial(l2.grouped, group=group), in_flight)
    return [len({m for m, _ in wave}) + len({n for _, n in wave}) for wave in waves]


def always_eight(rows, columns, in_flight):
    """The height of cuTile's and Triton's samples, whatever C is."""
    return min(8, rows)


def square_wave(rows, columns, in_flight):
    """Makes the wave a square, and forgets where waves begin."""
    return min(heights(rows), key=lambda group: abs(group - in_flight**0.5))


def first_wave_alone(rows, columns, in_flight):
    """Looks at one wave."""
    return min(heights(rows), key=lambda group: tiles_read(rows, columns, in_flight, group)[0])


def largest_of_equals(rows, columns, in_flight):
    """Takes the last of those that are equally good."""
    return min(reversed(heights(rows)), key=lambda group: sum(tiles_read(rows, columns, in_flight, group)))


def powers_of_two_alone(rows, columns, in_flight):
    """Leaves out raster order, a group of all rows."""
    powers = [2**n for n in range(max(1, rows.bit_length())) if 2**n <= rows]
    return min(powers, key=lambda group: sum(tiles_read(rows, columns, in_flight, group)))


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
    strip, place = block // (8 * columns), block % (8 * columns)
    height = min(8, rows - strip * 8)
    return strip * 8 + place % height, place // height


WRONG = {
    "11.1": [each_for_itself, tiles_of_c, rows_and_columns_mixed, rows_alone],
    "11.2": [exchanged, one_block_short, inside_only, counts_only],
    "11.3": [always_eight, square_wave, first_wave_alone, largest_of_equals, powers_of_two_alone],
    "11.4": [no_groups, visits_twice, swapped, one_big_tile, pythons_min],
}

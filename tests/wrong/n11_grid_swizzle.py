"""Wrong answers to notebook 11. Any machine tells them, by trying all blocks."""

from collections import Counter
from functools import partial

import cutlass
from cutlass import cute

from tests.wrong.table import answer, says
from tutorlib.exercises import n11_grid_swizzle
from tutorlib.kernels import ladder
from tutorlib.models import l2

# 11.1 -----------------------------------------------------------------------------------------------------------

SHARED = "Blocks in one row share their tile of A"


@says(SHARED)
def each_for_itself(tiles):
    """Nobody shares."""
    return 2 * len(tiles)


@says("Those are tiles of C.")
def tiles_of_c(tiles):
    """Counts tiles of C."""
    return len(set(tiles))


@says("different tiles: count them apart")
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
        lambda tiles: max(m for m, _ in tiles) - min(m for m, _ in tiles) + 1 + len({n for _, n in tiles}),
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
    answer("a_sum", "Adds the numbers up.", lambda tiles: sum({m for m, _ in tiles}) + sum({n for _, n in tiles})),
    answer("a_square", "As if every wave were a square.", lambda tiles: round(2 * len(set(tiles)) ** 0.5)),
]

# 11.2 -----------------------------------------------------------------------------------------------------------


def counted(order, rows, columns):
    return Counter(order(block, rows, columns) for block in range(rows * columns))


def grid_of(rows, columns):
    return [(m, n) for m in range(rows) for n in range(columns)]


def never_of(taken, rows, columns):
    return [tile for tile in grid_of(rows, columns) if tile not in taken]


@says("the other way round")
def exchanged(order, rows, columns):
    """Returns the lists the other way round."""
    taken = counted(order, rows, columns)
    return sorted(tile for tile, times in taken.items() if times > 1), never_of(taken, rows, columns)


def one_block_short(order, rows, columns):
    """Leaves out the last block."""
    taken = Counter(order(block, rows, columns) for block in range(rows * columns - 1))
    return never_of(taken, rows, columns), sorted(tile for tile, times in taken.items() if times > 1)


@says("Blocks can land outside of the grid, too")
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


@says("calls l2.coverage, which does what you are asked to write")
def by_the_library(order, rows, columns):
    """Leans on l2.coverage."""
    takers = l2.coverage((rows, columns), order)
    return sorted(t for t, b in takers.items() if not b), sorted(t for t, b in takers.items() if len(b) > 1)


@says("it calls tutorlib.exercises.n11_grid_swizzle.visits, which belongs to the checks")
def by_the_checks(order, rows, columns):
    """Asks the checks' own function."""
    return n11_grid_swizzle.visits(order, rows, columns)


VISITS = [exchanged, one_block_short, inside_only, counts_only, sets, unsorted, once_for_each_block, one_list]
VISITS += [columns_first, exactly_twice, sizes_exchanged, with_blocks, by_the_library, by_the_checks]

# 11.3 -----------------------------------------------------------------------------------------------------------


def heights(rows):
    return [2**n for n in range(rows.bit_length()) if 2**n < rows] + [rows]


def tiles_read(rows, columns, in_flight, group):
    waves = l2.waves((rows, columns), partial(l2.grouped, group=group), in_flight)
    return [len({m for m, _ in wave}) + len({n for _, n in wave}) for wave in waves]


def all_read(rows, columns, in_flight):
    return lambda group: sum(tiles_read(rows, columns, in_flight, group))


def always_eight(rows, columns, in_flight):
    """The height of cuTile's and Triton's samples, whatever C is."""
    return min(8, rows)


@says("A wave that is a square would read least. But")
def square_wave(rows, columns, in_flight):
    """Makes the wave a square, and forgets where waves begin."""
    return min(heights(rows), key=lambda group: abs(group - in_flight**0.5))


@says("add up all of them")
def first_wave_alone(rows, columns, in_flight):
    """Looks at one wave."""
    return min(heights(rows), key=lambda group: tiles_read(rows, columns, in_flight, group)[0])


@says("take the smallest")
def largest_of_equals(rows, columns, in_flight):
    """Takes the last of those that are equally good."""
    return min(reversed(heights(rows)), key=all_read(rows, columns, in_flight))


def powers_of_two_alone(rows, columns, in_flight):
    """Leaves out raster order, a group of all rows."""
    powers = [2**n for n in range(max(1, rows.bit_length())) if 2**n <= rows]
    return min(powers, key=all_read(rows, columns, in_flight))


@says("reads the most")
def the_worst(rows, columns, in_flight):
    """max in place of min."""
    return max(heights(rows), key=all_read(rows, columns, in_flight))


def any_height(rows, columns, in_flight):
    """Heights that were not asked for."""
    return min(range(1, rows + 1), key=all_read(rows, columns, in_flight))


def the_last_wave(rows, columns, in_flight):
    """Looks at the last wave."""
    return min(heights(rows), key=lambda group: tiles_read(rows, columns, in_flight, group)[-1])


def the_worst_wave(rows, columns, in_flight):
    """Looks at the largest wave."""
    return min(heights(rows), key=lambda group: max(tiles_read(rows, columns, in_flight, group)))


def rows_and_columns_exchanged(rows, columns, in_flight):
    """Asks for waves of the transposed grid."""
    return min(heights(rows), key=all_read(columns, rows, in_flight))


def rows_left_out(rows, columns, in_flight):
    """Powers of two below the rows, and not the rows themselves."""
    return min(heights(rows)[:-1] or [1], key=all_read(rows, columns, in_flight))


def only_a(rows, columns, in_flight):
    """Counts the rows that a wave reads, not the columns."""
    waves = partial(l2.waves, (rows, columns))
    return min(
        heights(rows),
        key=lambda group: sum(len({m for m, _ in w}) for w in waves(partial(l2.grouped, group=group), in_flight)),
    )


def what_it_reads(rows, columns, in_flight):
    """The number of tiles in place of the height."""
    return min(map(all_read(rows, columns, in_flight), heights(rows)))


def groups_of_one_way(rows, columns, in_flight):
    """The height as a float."""
    return float(min(heights(rows), key=all_read(rows, columns, in_flight)))


@says("The last wave is not full, and it reads, too")
def whole_waves_alone(rows, columns, in_flight):
    """Leaves the last wave out."""

    def read(group):
        waves = l2.waves((rows, columns), partial(l2.grouped, group=group), in_flight)
        return sum(len({m for m, _ in wave}) + len({n for _, n in wave}) for wave in waves if len(wave) == in_flight)

    return min(heights(rows), key=read)


BEST = [always_eight, square_wave, first_wave_alone, largest_of_equals, powers_of_two_alone, the_worst, any_height]
BEST += [the_last_wave, the_worst_wave, rows_and_columns_exchanged, rows_left_out, only_a, what_it_reads]
BEST += [groups_of_one_way, whole_waves_alone]

# 11.4 -----------------------------------------------------------------------------------------------------------

AT_RUN_TIME = "In the kernel the block's number is known at run time only"


@says("raster order reads 69, and it can be far fewer")
def no_groups(block, rows, columns):
    """Right, and no better than raster order."""
    return l2.raster(block, rows, columns)


@says("both compute", "Nobody computes")
def visits_twice(block, rows, columns):
    """As published: the fall-back computes tiles again."""
    outer, inner = block // 8, block % 8
    strips = -(-rows // 8)
    row = outer % strips * 8 + inner
    inside = cutlass.Int32(row < rows)
    m, n = l2.raster(block, rows, columns)
    return inside * row + (1 - inside) * m, inside * (outer // strips) + (1 - inside) * n


@says("right with its two numbers exchanged")
def swapped(block, rows, columns):
    """(n, m)."""
    m, n = l2.grouped(block, rows, columns)
    return n, m


@says("every block computes (0, 0)")
def one_big_tile(block, rows, columns):
    """Every block computes the same tile."""
    return 0 * block, 0 * block


@says(AT_RUN_TIME)
def pythons_min(block, rows, columns):
    """In a kernel, Python's min cannot compare what is not known yet."""
    strip, place = block // (8 * columns), block % (8 * columns)
    height = min(8, rows - strip * 8)
    return strip * 8 + place % height, place // height


@says(AT_RUN_TIME)
def pythons_divmod(block, rows, columns):
    """Python's divmod."""
    strip, place = divmod(block, 8 * columns)
    return strip * 8 + place % 8, place // 8


@says(AT_RUN_TIME)
def pythons_if(block, rows, columns):
    """An if, in a plain function."""
    if block < 8:
        return block % rows, block // rows
    return l2.raster(block, rows, columns)


@says(AT_RUN_TIME)
def a_table(block, rows, columns):
    """Looks the tile up in a list."""
    return [l2.grouped(n, rows, columns) for n in range(rows * columns)][block]


@says("lies outside. Nobody computes")
def last_group_too_high(block, rows, columns):
    """Every group has 8 rows."""
    strip, place = block // (8 * columns), block % (8 * columns)
    return strip * 8 + place % 8, place // 8


@says("it returns Int32; a tile is two numbers")
def one_number(block, rows, columns):
    """The block's number."""
    return block


@says("it returns NoneType")
def nothing(block, rows, columns):
    """No return."""
    l2.grouped(block, rows, columns)


@says("it can be far fewer")
def groups_of_one(block, rows, columns):
    """Groups that are one row high."""
    return l2.grouped(block, rows, columns, 1)


@says("right with its two numbers exchanged")
def rows_for_columns(block, rows, columns):
    """The grid the other way round."""
    return l2.grouped(block, columns, rows)


@says("both compute")
def remainder_forgotten(block, rows, columns):
    """All groups on top of each other."""
    place = block % (8 * columns)
    return place % min(8, rows), place // min(8, rows)


@cute.jit
def a_jit_function_that_is_wrong(block, rows, columns):
    """A branch that a kernel can take, and the wrong height in it."""
    height = 8
    strip, place = block // (8 * columns), block % (8 * columns)
    if rows - strip * 8 < 8:
        height = 4
    return strip * 8 + place % height, place // height


@says("it calls in_eights")
def by_the_course(block, rows, columns):
    """The course's order, by another name."""
    return ladder.in_eights(block, rows, columns)


ORDERS = [no_groups, visits_twice, swapped, one_big_tile, pythons_min, pythons_divmod, pythons_if, a_table]
ORDERS += [last_group_too_high, one_number, nothing, groups_of_one, rows_for_columns, remainder_forgotten]
ORDERS += [a_jit_function_that_is_wrong, by_the_course]

WRONG = {"11.1": FOOTPRINTS, "11.2": VISITS, "11.3": BEST, "11.4": ORDERS}

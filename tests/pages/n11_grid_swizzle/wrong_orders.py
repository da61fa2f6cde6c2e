"""Wrong answers to notebook 11: the height of a group, and the order of blocks."""

from functools import partial

import cutlass
from cutlass import cute

from tests.pages.table import says
from tutorlib.kernels import ladder
from tutorlib.models import l2


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


@says("A square wave would read least. But")
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


def up_to_sixteen(rows, columns, in_flight):
    """Tries a list of heights that ends too early."""
    return min([n for n in (1, 2, 4, 8, 16) if n < rows] + [rows], key=all_read(rows, columns, in_flight))


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


@says("The last wave is not full, and it reads, too")
def whole_waves_alone(rows, columns, in_flight):
    """Leaves the last wave out."""

    def read(group):
        waves = l2.waves((rows, columns), partial(l2.grouped, group=group), in_flight)
        return sum(len({m for m, _ in wave}) + len({n for _, n in wave}) for wave in waves if len(wave) == in_flight)

    return min(heights(rows), key=read)


AT_RUN_TIME = "In the kernel the block's number is known at run time only"


@says("raster order reads 69, and groups of 8 read 41")
def no_groups(block, rows, columns):
    """Right, and no better than raster order."""
    return l2.raster(block, rows, columns)


@says("both compute", "No block computes")
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


@says("is outside the grid. No block computes")
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


@says("blocks of 64×64 tiles read 72", "groups of 8 read 41")
def groups_of_four(block, rows, columns):
    """Groups that are too low for 264 blocks."""
    return l2.grouped(block, rows, columns, 4)


@says("the first 264 blocks of")
def groups_where_8_divides(block, rows, columns):
    """Raster order where 8 does not divide the rows."""
    return l2.grouped(block, rows, columns, 8 if rows % 8 == 0 else rows)


@says("the first 264 blocks of")
def groups_at_8192_alone(block, rows, columns):
    """Groups for the size that is timed."""
    return l2.grouped(block, rows, columns, 8 if rows == 64 else rows)


@says("the first 264 blocks of")
def groups_on_grids_it_knows(block, rows, columns):
    """Groups on a list of grids, raster order on any other."""
    return l2.grouped(block, rows, columns, 8 if (rows, columns) in ((64, 64), (61, 67)) else rows)


@says("groups of 8 read 41")
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


ORDERS = [
    no_groups,
    visits_twice,
    swapped,
    one_big_tile,
    pythons_min,
    pythons_divmod,
    pythons_if,
    a_table,
    last_group_too_high,
    one_number,
    nothing,
    groups_of_one,
    groups_of_four,
    groups_where_8_divides,
    groups_at_8192_alone,
    groups_on_grids_it_knows,
    rows_for_columns,
    remainder_forgotten,
    a_jit_function_that_is_wrong,
    by_the_course,
]
BEST = [
    always_eight,
    square_wave,
    first_wave_alone,
    largest_of_equals,
    powers_of_two_alone,
    up_to_sixteen,
    the_worst,
    any_height,
    the_last_wave,
    the_worst_wave,
    rows_and_columns_exchanged,
    rows_left_out,
    only_a,
    what_it_reads,
    whole_waves_alone,
]


WRONG = {
    "11.3": BEST,
    "11.4": ORDERS,
}

"""Page 12: answers that are whole functions, and what rows of p12.txt are made of."""

from collections import Counter, OrderedDict
from fractions import Fraction
from functools import partial
from itertools import chain, pairwise, product
from math import ceil

import cutlass
import numpy as np

from tests.pages.change import copy_of
from tests.pages.table import right, wrong
from tutorlib.exercises import p12 as traffic
from tutorlib.kernels import ladder
from tutorlib.models import l2

own = copy_of(l2)


@right("12.1")
def a_list_of_two(order, rows, columns):
    """A list of two lists."""
    taken = Counter(order(block, rows, columns) for block in range(rows * columns))
    missing = [(m, n) for m in range(rows) for n in range(columns) if (m, n) not in taken]
    twice = sorted(tile for tile, times in taken.items() if times > 1)
    return [missing, twice]


@right("12.2")
def strips_of_columns(block, rows, columns):
    """Groups of columns in place of rows."""
    n, m = own.grouped(block, columns, rows, 8)
    return m, n


@right("12.3")
def a_list_by_age(waves, steps, room):
    """A list, oldest first, which is cut to the room."""
    held, fetched = [], 0
    for wave, k in product(waves, range(steps)):
        for tile in chain.from_iterable((("A", m, k), ("B", n, k)) for m, n in wave):
            fetched += tile not in held
            held = ([x for x in held if x != tile] + [tile])[-room:]
    return fetched


@right("12.4")
def exactly(m, n, tile, sms):
    """A fraction."""
    most = -(-(-(-m // tile[0]) * -(-n // tile[1])) // sms)
    return Fraction(m * n, most * sms * tile[0] * tile[1])


def loads(waves, steps):
    for wave in waves:
        for step in range(steps):
            for m, n in wave:
                yield from (("A", m, step), ("B", n, step))


def replay(tiles, room, evict_first=True, refresh=True):
    """Misses of a cache; the variants of a wrong one."""
    held, fetched = OrderedDict(), 0
    for tile in tiles:
        fetched += tile not in held
        if refresh or tile not in held:
            held[tile] = True
            held.move_to_end(tile)
        if len(held) > room:
            held.popitem(last=not evict_first)
    return fetched


def tiles(m, n, tile):
    return ceil(m / tile[0]) * ceil(n / tile[1])


def useful(m, n, tile, places):
    return m * n / (places * tile[0] * tile[1])


@wrong("12.2", "a tile outside", lesson=True)
def last_group_too_high(block, rows, columns):
    """Every group has 8 rows."""
    strip, place = block // (8 * columns), block % (8 * columns)
    return strip * 8 + place % 8, place // 8


@wrong("12.2", "a tile computed twice")
def remainder_forgotten(block, rows, columns):
    """All groups on top of each other."""
    place = block % (8 * columns)
    return place % min(8, rows), place // min(8, rows)


def counted(order, rows, columns):
    return Counter(order(block, rows, columns) for block in range(rows * columns))


def grid_of(rows, columns):
    return [(m, n) for m in range(rows) for n in range(columns)]


def never_of(taken, rows, columns):
    return [tile for tile in grid_of(rows, columns) if tile not in taken]


@wrong("12.1", "gives", lesson=True)
def inside_only(order, rows, columns):
    """Forgets tiles outside of the grid."""
    taken = counted(order, rows, columns)
    return never_of(taken, rows, columns), [tile for tile in grid_of(rows, columns) if taken[tile] > 1]


@wrong("12.1", "gives")
def unsorted(order, rows, columns):
    """In the order in which they come, from behind."""
    taken = counted(order, rows, columns)
    return never_of(taken, rows, columns)[::-1], sorted((t for t, times in taken.items() if times > 1), reverse=True)


@wrong("12.1", "gives", lesson=True)
def once_for_each_block(order, rows, columns):
    """A tile for each block that computes it."""
    taken = counted(order, rows, columns)
    often = sorted(tile for tile, times in taken.items() for _ in range(times) if times > 1)
    return never_of(taken, rows, columns), often


@wrong("12.1", "gives", lesson=True)
def exactly_twice(order, rows, columns):
    """Forgets tiles that three blocks compute."""
    taken = counted(order, rows, columns)
    return never_of(taken, rows, columns), sorted(tile for tile, times in taken.items() if times == 2)

"""Page 12: answers that are whole functions, and what rows of p12.txt are made of."""

from collections import OrderedDict
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
def columns_that_turn_back(block, rows, columns):
    """Groups of columns in place of rows, every second one from its last row to its first."""
    n, m = own.grouped(block, columns, rows, 16)
    return m + block // (16 * rows) % 2 * (rows - 1 - 2 * m), n


@right("12.2")
def a_list_by_age(waves, steps, room):
    """A list, oldest first, which is cut to the room."""
    held, fetched = [], 0
    for wave, k in product(waves, range(steps)):
        for tile in chain.from_iterable((("A", m, k), ("B", n, k)) for m, n in wave):
            fetched += tile not in held
            held = ([x for x in held if x != tile] + [tile])[-room:]
    return fetched


@right("12.3")
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


@wrong("12.1", "a tile outside", lesson=True)
def last_group_too_high(block, rows, columns):
    """Every group has 8 rows."""
    strip, place = block // (8 * columns), block % (8 * columns)
    return strip * 8 + place % 8, place // 8


@wrong("12.1", "a tile computed twice")
def remainder_forgotten(block, rows, columns):
    """All groups on top of each other."""
    place = block % (8 * columns)
    return place % min(8, rows), place // min(8, rows)

"""Unusual right answers to notebook 11."""

from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import chain, pairwise, product

import cutlass
import numpy as np
from cutlass import cute

from tests.pages.table import answer
from tutorlib.models import l2

# 11.1 -----------------------------------------------------------------------------------------------------------


def by_numpy(tiles):
    """np.unique of each column, added as int64."""
    rows, columns = np.array(tiles).T
    return np.int64(np.unique(rows).size) + np.int64(np.unique(columns).size)


def one_set_of_names(tiles):
    """("A", m) and ("B", n) in one set."""
    return len({name for m, n in tiles for name in (("A", m), ("B", n))})


# 11.2 -----------------------------------------------------------------------------------------------------------


def a_list_of_two(order, rows, columns):
    """A list of two lists."""
    taken = Counter(order(block, rows, columns) for block in range(rows * columns))
    missing = [(m, n) for m in range(rows) for n in range(columns) if (m, n) not in taken]
    twice = sorted(tile for tile, times in taken.items() if times > 1)
    return [missing, twice]


def tuples_of_lists(order, rows, columns):
    """Tuples for lists, lists for tiles."""
    missing, twice = a_list_of_two(order, rows, columns)
    return tuple(map(list, missing)), tuple(map(list, twice))


def by_a_table(order, rows, columns):
    """Counts in an array of NumPy, and elsewhere what falls outside of it."""
    table, outside = np.zeros((rows, columns), int), Counter()
    for block in range(rows * columns):
        m, n = order(block, rows, columns)
        if 0 <= m < rows and n < columns:
            table[m, n] += 1
        else:
            outside[m, n] += 1
    often = list(zip(*np.nonzero(table > 1), strict=True)) + [tile for tile, times in outside.items() if times > 1]
    return sorted(zip(*np.nonzero(table == 0), strict=True)), sorted(often)


def neighbors_in_a_sorted_list(order, rows, columns):
    """Compares neighbors in the sorted list of all tiles."""
    tiles = sorted(order(block, rows, columns) for block in range(rows * columns))
    missing = set(product(range(rows), range(columns))) - {*tiles}
    return sorted(missing), sorted({x for x, y in pairwise(tiles) if x == y})


# 11.3 -----------------------------------------------------------------------------------------------------------


def in_a_loop(rows, columns, in_flight):
    """Keeps the best so far, from small to large, and returns early for one row."""
    if rows == 1:
        return 1
    best, least, height = rows, None, 1
    while True:
        order = partial(l2.grouped, group=min(height, rows))
        reads = sum(one_set_of_names(wave) for wave in l2.waves((rows, columns), order, in_flight))
        if least is None or reads < least:
            best, least = min(height, rows), reads
        if height >= rows:
            return best
        height *= 2


def sorted_pairs(rows, columns, in_flight):
    """The smallest pair of (reads, height), with NumPy's integers."""
    heights = [n for n in (1 << np.arange(12)) if n < rows] + [rows]

    def reads(height):
        tiles = [l2.grouped(block, rows, columns, int(height)) for block in range(rows * columns)]
        return sum(one_set_of_names(tiles[at : at + in_flight]) for at in range(0, len(tiles), in_flight))

    return sorted((reads(height), height) for height in heights)[0][1]


def by_dictionary(rows, columns, in_flight):
    """min over a dictionary, which keeps the order of its keys."""
    found = {}
    for height in [2**n for n in range(20) if 2**n < rows] + [rows]:
        waves = l2.waves((rows, columns), lambda block, m, n, height=height: l2.grouped(block, m, n, height), in_flight)
        found[height] = sum(len({m for m, _ in wave}) + len({n for _, n in wave}) for wave in waves)
    return min(found, key=found.get)


# 11.4 -----------------------------------------------------------------------------------------------------------


@cute.jit
def a_jit_function(block, rows, columns):
    """@cute.jit, with an if over what is known at run time."""
    strip, place = block // (8 * columns), block % (8 * columns)
    height = 8
    if rows - strip * 8 < 8:
        height = rows - strip * 8
    return strip * 8 + place % height, place // height


def cutlass_min(block, rows, columns):
    """cutlass.min, and a list for a tuple."""
    strip, place = block // (8 * columns), block % (8 * columns)
    height = cutlass.min(8, rows - strip * 8)
    return [strip * 8 + place % height, place // height]


def strips_of_columns(block, rows, columns):
    """Groups of columns in place of rows."""
    n, m = l2.grouped(block, columns, rows, 8)
    return m, n


def by_what_is_best(block, rows, columns):
    """Looks for the group while it is compiled, where rows and columns are plain numbers."""
    return l2.grouped(block, rows, columns, by_dictionary(rows, columns, 264))


# 11.5 -----------------------------------------------------------------------------------------------------------


def a_list_by_age(waves, steps, room):
    """A list, oldest first, which is cut to the room."""
    held, fetched = [], 0
    for wave, k in product(waves, range(steps)):
        for tile in chain.from_iterable((("A", m, k), ("B", n, k)) for m, n in wave):
            fetched += tile not in held
            held = ([x for x in held if x != tile] + [tile])[-room:]
    return fetched


def a_plain_dict(waves, steps, room):
    """A dict keeps the order in which keys came: a use takes the key out and puts it in again."""
    held, fetched = {}, 0
    for tile in (x for wave in waves for k in range(steps) for m, n in wave for x in ((0, m, k), (1, n, k))):
        if tile in held:
            del held[tile]
        else:
            fetched += 1
            if len(held) == room:
                del held[next(iter(held))]
        held[tile] = None
    return fetched


def by_last_uses(waves, steps, room):
    """Remembers when each tile was used, and looks for the oldest; NumPy's integers."""
    last, now, fetched = {}, 0, np.int64(0)
    for wave in waves:
        for k in range(steps):
            for tile in ((which, pair[which], k) for pair in wave for which in (0, 1)):
                if tile not in last:
                    fetched += 1
                    if len(last) >= room:
                        del last[min(last, key=last.get)]
                last[tile] = now = now + 1
    return fetched


# 11.6 -----------------------------------------------------------------------------------------------------------


def exactly(m, n, tile, sms):
    """A fraction."""
    most = -(-(-(-m // tile[0]) * -(-n // tile[1])) // sms)
    return Fraction(m * n, most * sms * tile[0] * tile[1])


def by_dealing(m, n, tile, sms):
    """Deals tiles to the SMs, one after the other."""
    blocks = [0] * sms
    for at in range(len(range(0, m, tile[0])) * len(range(0, n, tile[1]))):
        blocks[at % sms] += 1
    return m / tile[0] * n / tile[1] / max(blocks) / sms


def by_waves(m, n, tile, sms):
    """Whole waves, and one more if tiles are left; NumPy's float."""
    waves, left = divmod(np.ceil(m / tile[0]) * np.ceil(n / tile[1]), sms)
    return np.float64(m * n) / ((waves + (left > 0)) * sms * np.prod(tile))


RIGHT = {
    "11.1": [
        by_numpy,
        one_set_of_names,
        answer("by_maps", "map and zip", lambda tiles: sum(map(len, map(set, zip(*tiles, strict=True))))),
    ],
    "11.2": [a_list_of_two, tuples_of_lists, by_a_table, neighbors_in_a_sorted_list],
    "11.3": [in_a_loop, sorted_pairs, by_dictionary],
    "11.4": [a_jit_function, cutlass_min, strips_of_columns, by_what_is_best],
    "11.5": [a_list_by_age, a_plain_dict, by_last_uses],
    "11.6": [exactly, by_dealing, by_waves],
}

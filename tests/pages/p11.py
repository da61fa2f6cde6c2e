"""Page 11: answers that are whole functions, and what rows of p11.txt are made of."""

from collections import Counter, OrderedDict
from fractions import Fraction
from functools import partial
from itertools import chain, pairwise, product
from math import ceil

import cutlass
import numpy as np

from tests.pages.table import right, wrong
from tutorlib.exercises.n11_grid_swizzle import exercises as traffic
from tutorlib.kernels import ladder
from tutorlib.models import l2


@right("11.1")
def by_numpy(tiles):
    """np.unique of each column, added as int64."""
    rows, columns = np.array(tiles).T
    return np.int64(np.unique(rows).size) + np.int64(np.unique(columns).size)


def one_set_of_names(tiles):
    """("A", m) and ("B", n) in one set."""
    return len({name for m, n in tiles for name in (("A", m), ("B", n))})


@right("11.2")
def a_list_of_two(order, rows, columns):
    """A list of two lists."""
    taken = Counter(order(block, rows, columns) for block in range(rows * columns))
    missing = [(m, n) for m in range(rows) for n in range(columns) if (m, n) not in taken]
    twice = sorted(tile for tile, times in taken.items() if times > 1)
    return [missing, twice]


@right("11.2")
def tuples_of_lists(order, rows, columns):
    """Tuples for lists, lists for tiles."""
    missing, twice = a_list_of_two(order, rows, columns)
    return tuple(map(list, missing)), tuple(map(list, twice))


@right("11.2")
def neighbors_in_a_sorted_list(order, rows, columns):
    """Compares neighbors in the sorted list of all tiles."""
    tiles = sorted(order(block, rows, columns) for block in range(rows * columns))
    missing = set(product(range(rows), range(columns))) - {*tiles}
    return sorted(missing), sorted({x for x, y in pairwise(tiles) if x == y})


@right("11.3")
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


@right("11.3")
def sorted_pairs(rows, columns, in_flight):
    """The smallest pair of (reads, height), with NumPy's integers."""
    heights = [n for n in (1 << np.arange(12)) if n < rows] + [rows]

    def reads(height):
        tiles = [l2.grouped(block, rows, columns, int(height)) for block in range(rows * columns)]
        return sum(one_set_of_names(tiles[at : at + in_flight]) for at in range(0, len(tiles), in_flight))

    return sorted((reads(height), height) for height in heights)[0][1]


@right("11.3")
def by_dictionary(rows, columns, in_flight):
    """min over a dictionary, which keeps the order of its keys."""
    found = {}
    for height in [2**n for n in range(20) if 2**n < rows] + [rows]:
        waves = l2.waves((rows, columns), lambda block, m, n, height=height: l2.grouped(block, m, n, height), in_flight)
        found[height] = sum(len({m for m, _ in wave}) + len({n for _, n in wave}) for wave in waves)
    return min(found, key=found.get)


@right("11.4")
def cutlass_min(block, rows, columns):
    """cutlass.min, and a list for a tuple."""
    strip, place = block // (8 * columns), block % (8 * columns)
    height = cutlass.min(8, rows - strip * 8)
    return [strip * 8 + place % height, place // height]


@right("11.4")
def strips_of_columns(block, rows, columns):
    """Groups of columns in place of rows."""
    n, m = l2.grouped(block, columns, rows, 8)
    return m, n


@right("11.5")
def a_list_by_age(waves, steps, room):
    """A list, oldest first, which is cut to the room."""
    held, fetched = [], 0
    for wave, k in product(waves, range(steps)):
        for tile in chain.from_iterable((("A", m, k), ("B", n, k)) for m, n in wave):
            fetched += tile not in held
            held = ([x for x in held if x != tile] + [tile])[-room:]
    return fetched


@right("11.5")
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


@right("11.5")
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


@right("11.6")
def exactly(m, n, tile, sms):
    """A fraction."""
    most = -(-(-(-m // tile[0]) * -(-n // tile[1])) // sms)
    return Fraction(m * n, most * sms * tile[0] * tile[1])


@right("11.6")
def by_dealing(m, n, tile, sms):
    """Deals tiles to the SMs, one after the other."""
    blocks = [0] * sms
    for at in range(len(range(0, m, tile[0])) * len(range(0, n, tile[1]))):
        blocks[at % sms] += 1
    return m / tile[0] * n / tile[1] / max(blocks) / sms


@right("11.6")
def by_waves(m, n, tile, sms):
    """Whole waves, and one more if tiles are left; NumPy's float."""
    waves, left = divmod(np.ceil(m / tile[0]) * np.ceil(n / tile[1]), sms)
    return np.float64(m * n) / ((waves + (left > 0)) * sms * np.prod(tile))


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


@wrong("11.5", "library")
def by_the_course(waves, steps, room):
    """The course's cache."""
    cache = l2.Lru(room)
    return sum(cache.load(tile, 1) for tile in loads(waves, steps))


def tiles(m, n, tile):
    return ceil(m / tile[0]) * ceil(n / tile[1])


def useful(m, n, tile, places):
    return m * n / (places * tile[0] * tile[1])


def heights(rows):
    return [2**n for n in range(rows.bit_length()) if 2**n < rows] + [rows]


def tiles_read(rows, columns, in_flight, group):
    waves = l2.waves((rows, columns), partial(l2.grouped, group=group), in_flight)
    return [len({m for m, _ in wave}) + len({n for _, n in wave}) for wave in waves]


def all_read(rows, columns, in_flight):
    return lambda group: sum(tiles_read(rows, columns, in_flight, group))


@wrong("11.4", "a tile outside", lesson=True)
def last_group_too_high(block, rows, columns):
    """Every group has 8 rows."""
    strip, place = block // (8 * columns), block % (8 * columns)
    return strip * 8 + place % 8, place // 8


@wrong("11.4", "a tile computed twice")
def remainder_forgotten(block, rows, columns):
    """All groups on top of each other."""
    place = block % (8 * columns)
    return place % min(8, rows), place // min(8, rows)


SHARED = "Blocks in one row share their tile of A"


def counted(order, rows, columns):
    return Counter(order(block, rows, columns) for block in range(rows * columns))


def grid_of(rows, columns):
    return [(m, n) for m in range(rows) for n in range(columns)]


def never_of(taken, rows, columns):
    return [tile for tile in grid_of(rows, columns) if tile not in taken]


@wrong("11.2", "gives", lesson=True)
def inside_only(order, rows, columns):
    """Forgets tiles outside of the grid."""
    taken = counted(order, rows, columns)
    return never_of(taken, rows, columns), [tile for tile in grid_of(rows, columns) if taken[tile] > 1]


@wrong("11.2", "gives, not sorted")
def unsorted(order, rows, columns):
    """In the order in which they come, from behind."""
    taken = counted(order, rows, columns)
    return never_of(taken, rows, columns)[::-1], sorted((t for t, times in taken.items() if times > 1), reverse=True)


@wrong("11.2", "a tile repeats, gives", lesson=True)
def once_for_each_block(order, rows, columns):
    """A tile for each block that computes it."""
    taken = counted(order, rows, columns)
    often = sorted(tile for tile, times in taken.items() for _ in range(times) if times > 1)
    return never_of(taken, rows, columns), often


@wrong("11.2", "gives", lesson=True)
def exactly_twice(order, rows, columns):
    """Forgets tiles that three blocks compute."""
    taken = counted(order, rows, columns)
    return never_of(taken, rows, columns), sorted(tile for tile, times in taken.items() if times == 2)

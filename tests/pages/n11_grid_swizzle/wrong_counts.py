"""Wrong answers to notebook 11: the tiles that memory sends, and the share of time in which SMs work."""

from collections import OrderedDict
from functools import lru_cache
from math import ceil, floor

from tests.pages.table import answer, says
from tutorlib.models import l2

# 11.5 tiles_fetched ---------------------------------------------------------------------------------------------


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


@says("A hit is a use, too")
def first_in_first_out(waves, steps, room):
    """Evicts what was loaded first."""
    return replay(loads(waves, steps), room, refresh=False)


def evicts_the_newest(waves, steps, room):
    """popitem() without last=False."""
    return replay(loads(waves, steps), room, evict_first=False)


@says("empty L2")
def a_fresh_l2_for_each_wave(waves, steps, room):
    """The cache is made inside the loop over waves."""
    return sum(replay(loads([wave], steps), room) for wave in waves)


def a_fresh_l2_in_each_step(waves, steps, room):
    """Footprints, added up: nothing stays from one step to the next."""
    return sum(steps * (len({m for m, _ in wave}) + len({n for _, n in wave})) for wave in waves)


@says("L2 is not that large")
def never_evicts(waves, steps, room):
    """Each tile comes once."""
    return len(set(loads(waves, steps)))


@says("the step belongs to a tile's name")
def without_the_step(waves, steps, room):
    """All of K is one tile."""
    return replay(((name, at) for name, at, _ in loads(waves, steps)), room)


@says("the matrix belongs to a tile's name")
def without_the_matrix(waves, steps, room):
    """A's tiles and B's have the same names."""
    return replay(((at, step) for _, at, step in loads(waves, steps)), room)


@says("run at the same time")
def block_after_block(waves, steps, room):
    """Each block walks along K by itself."""
    return replay(loads([[tile] for wave in waves for tile in wave], steps), room)


@says("Those are the hits")
def hits(waves, steps, room):
    """Counts what L2 serves."""
    return sum(1 for _ in loads(waves, steps)) - replay(loads(waves, steps), room)


@says("share L2")
def room_for_each(waves, steps, room):
    """A cache for A and one for B."""
    return sum(replay((tile for tile in loads(waves, steps) if tile[0] == name), room) for name in "AB")


def one_tile_less(waves, steps, room):
    """Evicts when it is full, before it is more than full."""
    return replay(loads(waves, steps), room - 1)


def one_tile_more(waves, steps, room):
    """room + 1."""
    return replay(loads(waves, steps), room + 1)


def all_loads(waves, steps, room):
    """No L2 at all."""
    return sum(1 for _ in loads(waves, steps))


def only_b(waves, steps, room):
    """Forgets A."""
    return replay((tile for tile in loads(waves, steps) if tile[0] == "B"), room)


def all_of_a_first(waves, steps, room):
    """In each step all blocks load A before one loads B."""
    order = (
        tile
        for wave in waves
        for step in range(steps)
        for tile in [("A", m, step) for m, _ in wave] + [("B", n, step) for _, n in wave]
    )
    return replay(order, room)


def steps_outside(waves, steps, room):
    """All waves make a step before one makes the next."""
    return replay(loads([[tile for wave in waves for tile in wave]], steps), room)


def the_rate(waves, steps, room):
    """A hit rate in place of the tiles."""
    return 1 - replay(loads(waves, steps), room) / all_loads(waves, steps, room)


@says("it calls l2.Lru, which does what you are asked to write")
def by_the_course(waves, steps, room):
    """The course's cache."""
    cache = l2.Lru(room)
    return sum(cache.load(tile, 1) for tile in loads(waves, steps))


@says("calls functools.lru_cache")
def by_lru_cache(waves, steps, room):
    """Python's own LRU cache counts the misses."""
    load = lru_cache(maxsize=room)(lambda *tile: None)
    for tile in loads(waves, steps):
        load(*tile)
    return load.cache_info().misses


FETCHED = [
    first_in_first_out,
    evicts_the_newest,
    a_fresh_l2_for_each_wave,
    a_fresh_l2_in_each_step,
    never_evicts,
    without_the_step,
    without_the_matrix,
    block_after_block,
    hits,
    room_for_each,
    one_tile_less,
    one_tile_more,
    all_loads,
    only_b,
    all_of_a_first,
    steps_outside,
    the_rate,
    by_the_course,
    by_lru_cache,
]

# 11.6 busy ------------------------------------------------------------------------------------------------------


def tiles(m, n, tile):
    return ceil(m / tile[0]) * ceil(n / tile[1])


def useful(m, n, tile, places):
    return m * n / (places * tile[0] * tile[1])


BUSY = [
    answer(
        "two_at_a_time",
        "A last wave of half of the places is counted as a whole one.",
        lambda m, n, tile, sms: useful(m, n, tile, 2 * sms * ceil(tiles(m, n, tile) / (2 * sms))),
        "count the blocks that an SM gets",
    ),
    answer(
        "partial_tiles_in_full",
        "What is outside C counts as work.",
        lambda m, n, tile, sms: tiles(m, n, tile) / (sms * ceil(tiles(m, n, tile) / sms)),
        "C has m * n elements",
    ),
    answer(
        "whole_tiles_alone",
        "Rounds the number of tiles down.",
        lambda m, n, tile, sms: useful(m, n, tile, sms * ceil(max(1, m // tile[0] * (n // tile[1])) / sms)),
        "round the number of tiles up",
    ),
    answer(
        "tiles_by_area",
        "Divides the areas.",
        lambda m, n, tile, sms: useful(m, n, tile, sms * ceil(m * n / (tile[0] * tile[1]) / sms)),
        "Round up along M and along N",
    ),
    answer(
        "one_side_rounded",
        "Rounds up along M alone.",
        lambda m, n, tile, sms: useful(m, n, tile, sms * ceil(ceil(m / tile[0]) * n / tile[1] / sms)),
    ),
    answer(
        "idle",
        "The rest of the time.",
        lambda m, n, tile, sms: 1 - useful(m, n, tile, sms * ceil(tiles(m, n, tile) / sms)),
        "in which they idle",
    ),
    answer(
        "inverse",
        "Time over work.",
        lambda m, n, tile, sms: sms * ceil(tiles(m, n, tile) / sms) * tile[0] * tile[1] / (m * n),
        "a share of the time is at most 1",
    ),
    answer(
        "percent",
        "A number of percent.",
        lambda m, n, tile, sms: 100 * useful(m, n, tile, sms * ceil(tiles(m, n, tile) / sms)),
    ),
    answer(
        "no_quantization",
        "As if the last wave were cut into equal parts.",
        lambda m, n, tile, sms: useful(m, n, tile, max(sms, tiles(m, n, tile))),
    ),
    answer(
        "waves_rounded_down",
        "Forgets the last wave.",
        lambda m, n, tile, sms: useful(m, n, tile, sms * max(1, floor(tiles(m, n, tile) / sms))),
    ),
    answer(
        "waves_rounded",
        "To the nearest wave.",
        lambda m, n, tile, sms: useful(m, n, tile, sms * max(1, round(tiles(m, n, tile) / sms))),
    ),
    answer(
        "one_wave_more",
        "tiles // sms + 1.",
        lambda m, n, tile, sms: useful(m, n, tile, sms * (tiles(m, n, tile) // sms + 1)),
    ),
    answer(
        "sides_exchanged",
        "The tile's sides at the wrong sides of C.",
        lambda m, n, tile, sms: useful(m, n, tile, sms * ceil(tiles(n, m, tile) / sms)),
    ),
    answer(
        "idle_sms_left_out",
        "Counts only SMs that have a tile.",
        lambda m, n, tile, sms: useful(m, n, tile, min(sms, tiles(m, n, tile)) * ceil(tiles(m, n, tile) / sms)),
    ),
    answer("an_h200", "132 SMs.", lambda m, n, tile, sms: useful(m, n, tile, 132 * ceil(tiles(m, n, tile) / 132))),
    answer(
        "this_tile_alone",
        "128×128.",
        lambda m, n, tile, sms: useful(m, n, (128, 128), sms * ceil(tiles(m, n, (128, 128)) / sms)),
    ),
]

WRONG = {"11.5": FETCHED, "11.6": BUSY}

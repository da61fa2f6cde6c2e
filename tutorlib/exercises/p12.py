"""Exercises of notebook 12: in which order blocks visit the tiles of C."""

from collections.abc import Hashable, Iterable, Iterator
from functools import partial
from itertools import product
from math import ceil
from random import Random

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import blocks, stored_once
from tutorlib.checking.library_use import of_course
from tutorlib.checking.randomness import beside
from tutorlib.exercises.judges.p12 import BlockOrder
from tutorlib.exercises.values import Draw, near, value_exercise
from tutorlib.models import l2
from tutorlib.models.l2 import Order, Tile
from tutorlib.problems.catalogue import accumulation, gemm
from tutorlib.problems.problem import Operand, Problem

GRIDS = ((16, 12), (8, 8), (11, 5), (5, 11), (1, 7), (7, 1), (45, 9), (64, 64), (30, 17))  # 12.1

# 12.2: the traffic that L2 lets pass ----------------------------------------------------------------------------------

Waves = list[list[Tile]]


def loads(waves: Waves, steps: int) -> Iterator[tuple[str, int, int]]:
    """The tiles that the blocks load, in lockstep."""
    for wave, step in product(waves, range(steps)):
        for m, n in wave:
            yield "A", m, step
            yield "B", n, step


def misses(tiles: Iterable[Hashable], room: int) -> int:
    """The loads that an LRU cache of `room` tiles does not serve."""
    cache = l2.Lru(room)
    return sum(cache.load(tile, 1) for tile in tiles)


def tiles_fetched(waves: Waves, steps: int, room: int) -> int:
    return misses(loads(waves, steps), room)


def replayed(room: int) -> list[tuple[Waves, int, int]]:
    orders: tuple[Order, ...] = (l2.raster, partial(l2.grouped, group=2), partial(l2.grouped, group=4))
    grids = ((8, 8), 16, 4), ((12, 5), 24, 3), ((3, 10), 7, 5)
    return [(l2.waves(grid, order, n), steps, room) for (grid, n, steps), order in product(grids, orders)]


def some_replay(room: int) -> Draw:
    def draw(rng: Random) -> tuple:
        grid = rng.randint(3, 12), rng.randint(3, 12)
        order = partial(l2.grouped, group=rng.randint(1, 6))
        return l2.waves(grid, order, rng.randint(6, 30)), rng.randint(3, 6), rng.randint(room * 3 // 4, room)

    return draw


FETCHING = value_exercise(
    ("12.2", "tiles_fetched", 3),
    tiles_fetched,
    {
        "room for all": beside(replayed(500), some_replay(500)),
        "room for a wave": beside(replayed(40), some_replay(40)),
        "room for a few steps": beside(replayed(16), some_replay(16)),
    },
    mistakes={
        "hits": lambda waves, steps, room: 2 * steps * sum(map(len, waves)) - tiles_fetched(waves, steps, room),
        "cold_waves": lambda waves, steps, room: sum(tiles_fetched([wave], steps, room) for wave in waves),
        "no_eviction": lambda waves, steps, room: len(set(loads(waves, steps))),
        "no_step": lambda waves, steps, room: misses((tile[:2] for tile in loads(waves, steps)), room),
        "one_block_at_a_time": lambda waves, *more: tiles_fetched([[tile] for wave in waves for tile in wave], *more),
    },
    library={"l2.traffic": l2.traffic},
)

# 12.3: the share of the time in which a GPU's tensor cores can work ---------------------------------------------------


def busy(m: int, n: int, tile: tuple[int, int], sms: int) -> float:
    """Of the work that could be done in the time of whole waves of tiles, the part that C takes."""
    tiles = ceil(m / tile[0]) * ceil(n / tile[1])
    return m * n / (ceil(tiles / sms) * sms * tile[0] * tile[1])


def some_product(whole: bool, most: int = 6000) -> Draw:
    """Calls with a random C, of whole tiles or of any size."""

    def draw(rng: Random) -> tuple:
        tile = rng.choice((64, 128)), rng.choice((64, 128, 256))
        m, n = (rng.randint(1, most) for _ in tile)
        if whole:
            m, n = (ceil(size / side) * side for size, side in zip((m, n), tile, strict=True))
        return m, n, tile, rng.randint(2, 148)

    return draw


LARGE = [
    *((size, size, (128, 128), 132) for size in (2560, 2816, 2944, 3072, 3584)),
    *((4096, 4096, (128, 256), 132), (2048, 8192, (64, 128), 108), (3072, 1536, (128, 192), 114)),
]
ON_EDGES = [
    *((2945, 3000, (128, 128), 132), (129, 20_000, (128, 64), 108)),
    *((5000, 100, (128, 128), 7), (1000, 1000, (64, 256), 16)),
]
SMALL = [(129, 257, (128, 128), 132), (1, 1, (128, 256), 108), (500, 300, (128, 64), 30), (256, 256, (128, 128), 4)]
BUSY = value_exercise(
    ("12.3", "busy", 2),
    None,
    {
        "whole tiles": beside(LARGE, some_product(whole=True)),
        "partial tiles": beside(ON_EDGES, some_product(whole=False)),
        "fewer tiles than SMs": beside(SMALL, some_product(whole=False, most=300)),
    },
    holds=near(busy),
    mistakes={"idle_share": lambda m, n, tile, sms: 1 - busy(m, n, tile, sms)},
)

# 12.4: C = A · Aᵀ, which is symmetric

GRAM = Problem(
    name="gram",
    dims="MK",
    inputs=(Operand("a", "MK", "fp32", variance="K"),),
    output=Operand("c", "MM", "fp32"),
    reference=lambda a: a @ a.mT,
    bound=lambda result, inputs, out: accumulation(result, (*inputs, *inputs), out),
)

EXERCISES = (
    CuteExercise.of(
        ("12.1", "an order that reads less", 4),
        part=BlockOrder(settings={"stages": 2}, grids=GRIDS),
        problem=gemm("bf16"),
        shapes=((1024, 1024, 64), (1400, 600, 64), (129, 2100, 72)),  # grids of 8×8, 11×5 and 2×17 tiles
        simulated_shapes=((640, 264, 72),),  # 5×3 tiles: which block does which was tried before
        bench_shape=(8192, 8192, 8192),
        tiers=(0.9,),
        requires=("cp.async", "ldmatrix", "mma.sync"),
        library=of_course("ampere.gemm", "in_eights") | {"l2.grouped": l2.grouped},
    ),
    FETCHING,
    BUSY,
    CuteExercise.of(
        ("12.4", "one half of a symmetric matrix", 5),
        problem=GRAM,
        shapes=((1024, 64), (80, 24), (16, 8)),
        simulated_shapes=((96, 8), (80, 24)),  # an even and an odd number of tiles along a side
        shared_rules=(stored_once,),
        rules_at={(96, 8): (blocks <= 21,), (80, 24): (blocks <= 15,)},
    ),
)

"""Exercises of notebook 11: in which order blocks visit the tiles of C."""

from functools import lru_cache

from tutorlib.checking.ampere import AMPERE_TIMED
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.drawn import Drawn, beside
from tutorlib.checking.library_use import InModule
from tutorlib.checking.values import ValueExercise, equals, law
from tutorlib.exercises.n11_grid_swizzle.judge.block_order import BlockOrder
from tutorlib.exercises.n11_grid_swizzle.last_wave import BUSY, LARGE, ON_EDGES, SMALL, nearly_busy, some_product
from tutorlib.exercises.n11_grid_swizzle.traffic import (
    ABOVE,
    BEST,
    BEYOND,
    CONFUSED,
    FETCHED,
    LEAVES,
    PUBLISHED,
    RAGGED,
    READING,
    RIGHT_ORDERS,
    SQUARES,
    STUCK,
    TALL_AND_WIDE,
    VISITS,
    best_group,
    footprint,
    replayed,
    scattered,
    some_grid,
    some_order,
    some_replay,
    some_wave,
    tiles_fetched,
    two_lists,
    waves,
)
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.models import l2
from tutorlib.problems.catalogue import gemm

BENCH = (8192, 8192, 8192)
SHAPES = ((1024, 1024, 64), (1400, 600, 64), (129, 2100, 72))  # grids of 8×8, 11×5 and 2×17 tiles
GRIDS = ((16, 12), (8, 8), (11, 5), (5, 11), (1, 7), (7, 1), (40, 9), (64, 64), (30, 17))

# 11.4 order -----------------------------------------------------------------------------------------------------


EXERCISES = (
    ValueExercise(
        id="11.1",
        title="footprint",
        points=2,
        cases=(
            equals("waves of real orders", beside(waves(), some_wave), footprint, READING),
            equals("any tiles", Drawn(scattered, 1), footprint, READING),
        ),
    ),
    ValueExercise(
        id="11.2",
        title="visits",
        points=2,
        cases=(
            law(
                "right orders",
                beside([(o, *grid) for o in RIGHT_ORDERS for grid in GRIDS[:4]], some_order(beyond=0, twice=2)),
                two_lists,
                VISITS,
            ),
            law(
                "wrong orders",
                beside(
                    [(o, *grid) for o in (PUBLISHED, CONFUSED, STUCK) for grid in ((12, 16), (9, 4), (3, 3))],
                    some_order(beyond=0, twice=3),
                ),
                two_lists,
                VISITS,
            ),
            law(
                "tiles outside of the grid",
                beside(
                    [(LEAVES, 5, 3), (LEAVES, 3, 7), (BEYOND, 4, 3), (BEYOND, 2, 6), (ABOVE, 3, 4)],
                    some_order(beyond=2, twice=3),
                ),
                two_lists,
                VISITS,
            ),
        ),
        library={"l2.coverage": l2.coverage},
    ),
    ValueExercise(
        id="11.3",
        title="best_group",
        points=4,
        cases=(
            equals("square grids", beside(SQUARES, some_grid(square=True), n=3), best_group, BEST),
            equals("grids that nothing divides", beside(RAGGED, some_grid(), n=3), best_group, BEST),
            equals("tall ones and wide ones", beside(TALL_AND_WIDE, some_grid(), n=3), best_group, BEST),
            equals(
                "an H200 at 8192", beside([(64, 64, 264), (64, 64, 132)], some_grid(least=40), n=3), best_group, BEST
            ),
        ),
    ),
    CuteExercise(
        id="11.4",
        title="blocks in groups",
        points=3,
        archs=AMPERE_TIMED,
        part=BlockOrder(config=GemmConfig(stages=2), grids=GRIDS),
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=((640, 264, 72),),  # 5×3 tiles: which block does which was tried before
        bench_shape=BENCH,
        tiers=(0.9,),
        requires=("cp.async", "ldmatrix", "mma.sync"),
        library={"in_eights": InModule("tutorlib.kernels.ladder", "in_eights")},
    ),
    ValueExercise(
        id="11.5",
        title="tiles_fetched",
        points=3,
        cases=(
            equals("room for all", beside(replayed(500), some_replay(500)), tiles_fetched, FETCHED),
            equals("room for a wave", beside(replayed(40), some_replay(40)), tiles_fetched, FETCHED),
            equals("room for a few steps", beside(replayed(16), some_replay(16)), tiles_fetched, FETCHED),
        ),
        library={"l2.traffic": l2.traffic, "l2.Lru": l2.Lru.load, "functools.lru_cache": lru_cache},
    ),
    ValueExercise(
        id="11.6",
        title="busy",
        points=2,
        cases=(
            law("whole tiles", beside(LARGE, some_product(whole=True)), nearly_busy, BUSY),
            law("partial tiles", beside(ON_EDGES, some_product(whole=False)), nearly_busy, BUSY),
            law("fewer tiles than SMs", beside(SMALL, some_product(whole=False, most=300)), nearly_busy, BUSY),
        ),
    ),
)

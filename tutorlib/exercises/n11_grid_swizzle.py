"""Exercises of notebook 11: in which order blocks visit the tiles of C."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from tutorlib.checking.drawn import Drawn, beside
from tutorlib.checking.exercise import Answer, Remedy, Verdict, WrongKind, wrong
from tutorlib.checking.first_parts import first_cause
from tutorlib.checking.leaning import InModule
from tutorlib.checking.part import Part, PartExercise
from tutorlib.checking.values import ValueExercise, equals, law
from tutorlib.compiling.errors import CompileFailed
from tutorlib.exercises.grid_orders.traffic import (
    BEST,
    BEYOND,
    CONFUSED,
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
    scattered,
    some_grid,
    some_order,
    some_wave,
    two_lists,
    waves,
)
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.models import l2
from tutorlib.models.l2 import Order, Tile
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.wrong import count

BENCH = (8192, 8192, 8192)
SHAPES = ((1024, 1024, 64), (1400, 600, 64), (129, 2100, 72))  # grids of 8×8, 11×5 and 2×17 tiles
GRIDS = ((16, 12), (8, 8), (11, 5), (5, 11), (1, 7), (7, 1), (40, 9), (64, 64), (30, 17))
IN_FLIGHT = 264  # blocks on 132 multiprocessors, two on each

# 11.4 order -----------------------------------------------------------------------------------------------------


class NotATile(Exception):
    """An order that does not return a tile. The message says what it returns."""


def in_a_kernel(order: Order, rows: int, columns: int) -> list[Tile]:
    """The tile of every block, where the block's number is known at run time only, as in a kernel: compiled and run.

    Raises CompileFailed, from NotATile where what it returns is none.
    """
    import torch
    from cutlass import cute
    from cutlass.cute.runtime import from_dlpack

    from tutorlib.compiling.cute import call_host

    def tile_of(block: Any) -> tuple[Any, Any]:
        tile = order(block, rows, columns)
        if isinstance(tile, cute.Tensor) or not hasattr(tile, "__len__") or len(tile) != 2:
            raise NotATile(f"it returns {type(tile).__name__}; a tile is two numbers, (m, n).")
        return tile[0], tile[1]

    @cute.jit
    def host(places: cute.Tensor) -> None:
        for block in range(rows * columns):
            m, n = tile_of(block)
            places[block, 0], places[block, 1] = m, n

    places = torch.full((rows * columns, 2), -1, dtype=torch.int32)
    call_host(host, from_dlpack(places))
    return [(m, n) for m, n in places.tolist()]


AT_RUN_TIME = (
    "In the kernel the block's number is known at run time only, and Python's if, min, divmod and int() want a number "
    "at once. Arithmetic (//, %, *), cutlass.min, or @cute.jit over the function, which makes a branch of an if."
)


@dataclass(frozen=True, kw_only=True)
class OrderExercise(PartExercise):
    """A function (block, rows, columns) → tile: tried on whole grids as a kernel would, then used in one."""

    part: Part = "order"

    def examine_alone(self, answer: Answer) -> Verdict | None:
        if not callable(answer):
            raise WrongKind(f"{answer!r} is not a function.")
        try:
            for rows, columns in GRIDS:
                if flaw := find_flaw(in_a_kernel(answer, rows, columns), rows, columns):
                    return wrong(f"of {rows}×{columns} tiles, {flaw}")
            first = in_a_kernel(answer, 64, 64)[:IN_FLIGHT]
        except CompileFailed as failed:
            if refused := first_cause(failed, NotATile):
                return wrong(str(refused))
            return wrong("with a block that is known at run time only, CuTe refuses it.", AT_RUN_TIME, str(failed))
        in_raster = footprint(l2.waves((64, 64), l2.raster, IN_FLIGHT)[0])
        if footprint(first) > 0.75 * in_raster:
            return wrong(
                f"the first {IN_FLIGHT} blocks of 64×64 tiles read {footprint(first)} rows and columns of tiles; "
                f"raster order reads {in_raster}, and it can be far fewer."
            )
        return None


def find_flaw(tiles: list[Tile], rows: int, columns: int) -> str:
    """What is wrong with an order, by the tile of each block, or ""."""
    inside = {(m, n) for m in range(rows) for n in range(columns)}
    if set(tiles) == inside:
        return ""
    if {(n, m) for m, n in tiles} == inside:
        return "its answer is right with its two numbers exchanged: a tile is (m, n), the row of tiles first."
    if len(set(tiles)) == 1:
        return f"every block computes {tiles[0]}."
    if outside := [(block, tile) for block, tile in enumerate(tiles) if tile not in inside]:
        block, tile = outside[0]
        return f"block {block} computes {tile}, which lies outside. " + unvisited(inside - set(tiles))
    takers = Counter(tiles)
    twice = next(tile for tile in tiles if takers[tile] > 1)
    first, second = [block for block, tile in enumerate(tiles) if tile == twice][:2]
    return f"blocks {first} and {second} both compute {twice}. " + unvisited(inside - set(tiles))


def unvisited(tiles: set[Tile]) -> str:
    some = f"{min(tiles)}" + (f" and {count(len(tiles) - 1, 'other')}" if len(tiles) > 1 else "")
    return f"Nobody computes {some}."


EXERCISES = (
    ValueExercise(
        id="11.1",
        title="footprint",
        points=2,
        cases=(
            equals("waves of real orders", beside(waves(), some_wave), footprint, READING),
            equals("any tiles", Drawn(scattered, 1), footprint, READING),
        ),
        hints=("A set of the m's, and a set of the n's.",),
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
                beside([(LEAVES, 5, 3), (LEAVES, 3, 7), (BEYOND, 4, 3), (BEYOND, 2, 6)], some_order(beyond=2, twice=3)),
                two_lists,
                VISITS,
            ),
        ),
        library={"l2.coverage": l2.coverage},
        remedies=(
            Remedy("not sorted", "sorted(…) of tuples goes by m, and by n where m is the same."),
            Remedy("more than once", "A tile counts once, however many blocks compute it: a dict or a set of tiles."),
        ),
        hints=(
            "Count for every block the tile that it computes (collections.Counter).",
            "Go through all tiles of the grid for the first list; for the second, through what you counted.",
        ),
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
        hints=(
            "l2.waves(grid, order, in_flight) lists the tiles of every wave, and your footprint says what one reads.",
            "order is partial(l2.grouped, group=height); add the footprints of all its waves up.",
            "min(heights, key=…) returns the first of those that are equally good: go from small to large.",
        ),
    ),
    OrderExercise(
        id="11.4",
        title="blocks in groups",
        points=3,
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=((640, 264, 72),),  # 5×3 tiles: which block does which was tried before
        bench_shape=BENCH,
        tiers=(0.9,),
        config=GemmConfig(stages=2),
        requires=("cp.async", "ldmatrix", "mma.sync"),
        library={"in_eights": InModule("tutorlib.kernels.ladder", "in_eights")},
        hints=(
            "return l2.grouped(block, rows, columns, 8) is nearly all. `rows` and `columns` are plain numbers, so the "
            "group may depend on them. The sweep below timed several.",
            "An order of your own has to do with arithmetic alone: the block is known at run time only.",
        ),
        remedies=(
            Remedy(
                "lies outside",
                "The last group is lower where `group` does not divide the rows: l2.grouped shows one way to say so.",
            ),
            Remedy("it can be far fewer", "Down a few rows, next column, down again: until the group is done."),
        ),
    ),
)

"""Exercises of notebook 11: in which order blocks visit the tiles of C."""

from dataclasses import dataclass
from functools import partial
from itertools import product
from random import Random

from tutorlib.checking.exercise import Answer, Verdict, wrong
from tutorlib.checking.part import Part, PartExercise
from tutorlib.checking.values import Mistake, ValueExercise, equals
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.models import l2
from tutorlib.models.l2 import Order, Tile
from tutorlib.problems.catalogue import gemm

BENCH = (8192, 8192, 8192)
SHAPES = ((1024, 1024, 64), (1400, 600, 64), (129, 2100, 72))  # grids of 8×8, 11×5 and 2×17 tiles
GRIDS = ((8, 8), (16, 12), (11, 5), (5, 11), (1, 7), (7, 1), (64, 64), (30, 17))
IN_FLIGHT = 264  # blocks on 132 multiprocessors, two on each

# 11.1 footprint -------------------------------------------------------------------------------------------------


def footprint(tiles: list[Tile]) -> int:
    return len({m for m, _ in tiles}) + len({n for _, n in tiles})


TILES = Mistake(
    "You count what the blocks read, each for itself. Blocks in one row share their tile of A, blocks in one column "
    "theirs of B.",
    lambda tiles: 2 * len(tiles),
)
OF_C = Mistake("Those are tiles of C. Each takes a tile of A and one of B.", lambda tiles: len(set(tiles)))
MIXED = Mistake(
    "Row 3 of A's tiles and column 3 of B's are different tiles: count them apart.",
    lambda tiles: len({x for tile in tiles for x in tile}),
)


def waves() -> list[tuple[list[Tile]]]:
    orders: tuple[Order, ...] = (l2.raster, partial(l2.grouped, group=4), partial(l2.grouped, group=8))
    return [
        (l2.waves(grid, order, n)[0],)
        for grid, order, n in product(((16, 16), (64, 64), (12, 5)), orders, (1, 24, 132))
    ]


def scattered(seed: int, n: int = 20) -> list[tuple[list[Tile]]]:
    dice = Random(seed)
    return [([(dice.randrange(9), dice.randrange(9)) for _ in range(dice.randrange(1, 30))],) for _ in range(n)]


# 11.2 visits ----------------------------------------------------------------------------------------------------


def visits(order: Order, rows: int, columns: int) -> tuple[list[Tile], list[Tile]]:
    takers = l2.coverage((rows, columns), order)
    return (
        sorted(tile for tile, blocks in takers.items() if not blocks),
        sorted(tile for tile, blocks in takers.items() if len(blocks) > 1),
    )


@dataclass(frozen=True)
class Named:
    """An order of blocks with a name, for messages."""

    name: str
    order: Order

    def __call__(self, block: int, rows: int, columns: int) -> Tile:
        return self.order(block, rows, columns)

    def __repr__(self) -> str:
        return self.name


def transposed(block: int, rows: int, columns: int) -> Tile:
    return block // rows, block % rows


RIGHT_ORDERS = tuple(Named(name, order) for name, order in l2.ORDERS.items())
PUBLISHED = Named("as_published", l2.as_published)
CONFUSED = Named("rows_and_columns_exchanged", lambda block, rows, columns: (block // rows % rows, block % columns))
STUCK = Named("always_the_first", lambda block, rows, columns: (0, 0))
BEYOND = Named("below_the_grid", lambda block, rows, columns: (rows + block // 2, 0))
LEAVES = Named("transposed", transposed)

EXCHANGED = Mistake(
    "You return them the other way round: first the tiles that nobody computes.",
    lambda order, rows, columns: visits(order, rows, columns)[::-1],
)

# 11.3 best_group -------------------------------------------------------------------------------------------------


def heights(rows: int) -> list[int]:
    """The powers of two below `rows`, and `rows` itself."""
    return [2**n for n in range(rows.bit_length()) if 2**n < rows] + [rows]


def tiles_read(rows: int, columns: int, in_flight: int, group: int) -> int:
    """What all waves together read, each tile once for each wave that needs it."""
    return sum(map(footprint, l2.waves((rows, columns), partial(l2.grouped, group=group), in_flight)))


def best_group(rows: int, columns: int, in_flight: int) -> int:
    return min(heights(rows), key=lambda group: tiles_read(rows, columns, in_flight, group))


def by_first_wave(rows: int, columns: int, in_flight: int) -> int:
    def first(group: int) -> int:
        return footprint(l2.waves((rows, columns), partial(l2.grouped, group=group), in_flight)[0])

    return min(heights(rows), key=first)


def square_wave(rows: int, columns: int, in_flight: int) -> int:
    return min(heights(rows), key=lambda group: abs(group - in_flight**0.5))


BEST = (
    Mistake(
        "A wave that is a square would read least. But waves begin and end in the middle of a group, and C has "
        "edges: count what they really read.",
        square_wave,
    ),
    Mistake(
        "That is best for the first wave. The others do not begin at a corner of C: add up all of them.",
        by_first_wave,
    ),
    Mistake(
        "Of heights that read the same, take the smallest.",
        lambda rows, columns, in_flight: min(
            reversed(heights(rows)), key=lambda group: tiles_read(rows, columns, in_flight, group)
        ),
    ),
    Mistake(
        "That height reads the most.",
        lambda rows, columns, in_flight: max(
            heights(rows), key=lambda group: tiles_read(rows, columns, in_flight, group)
        ),
    ),
)
SQUARES = [(16, 16, 32), (32, 32, 264), (12, 12, 12), (24, 24, 64)]
RAGGED = [(30, 17, 24), (7, 9, 8), (20, 20, 108), (5, 40, 32)]
TALL_AND_WIDE = [(64, 16, 132), (16, 64, 132), (40, 5, 32), (3, 50, 24), (1, 40, 8)]

# 11.4 order -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class OrderExercise(PartExercise):
    """A function (block, rows, columns) → tile: tried with plain numbers, then used in the kernel."""

    part: Part = "order"

    def examine_alone(self, answer: Answer) -> Verdict | None:
        try:
            for rows, columns in GRIDS:
                never, often = visits(answer, rows, columns)
                if never or often:
                    return wrong(
                        f"of {rows}×{columns} tiles, {len(never)} are never computed and {len(often)} more than once."
                    )
            first = l2.waves((64, 64), answer, IN_FLIGHT)[0]
        except NotImplementedError:
            raise
        except Exception as error:
            return wrong(f"with plain numbers it raises {type(error).__name__}: {error}")
        in_raster = footprint(l2.waves((64, 64), l2.raster, IN_FLIGHT)[0])
        if footprint(first) > 0.75 * in_raster:
            return wrong(
                f"the first {IN_FLIGHT} blocks of 64×64 tiles read {footprint(first)} rows and columns of tiles; "
                f"raster order reads {in_raster}, and it can be far fewer."
            )
        return None


EXERCISES = (
    ValueExercise(
        id="11.1",
        title="footprint",
        points=2,
        cases=(
            equals("waves of real orders", waves(), footprint, (TILES, OF_C, MIXED)),
            equals("any tiles", scattered(1), footprint, (TILES, OF_C, MIXED)),
        ),
        hints=("A set of the m's, and a set of the n's.",),
    ),
    ValueExercise(
        id="11.2",
        title="visits",
        points=2,
        cases=(
            equals("right orders", [(o, *grid) for o in RIGHT_ORDERS for grid in GRIDS[:4]], visits, (EXCHANGED,)),
            equals(
                "wrong orders",
                [(o, *grid) for o in (PUBLISHED, CONFUSED, STUCK) for grid in ((12, 16), (9, 4), (3, 3))],
                visits,
                (EXCHANGED,),
            ),
            equals("tiles outside of the grid", [(LEAVES, 5, 3), (LEAVES, 3, 7), (BEYOND, 4, 3)], visits, (EXCHANGED,)),
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
            equals("square grids", SQUARES, best_group, BEST),
            equals("grids that nothing divides", RAGGED, best_group, BEST),
            equals("tall ones and wide ones", TALL_AND_WIDE, best_group, BEST),
            equals("an H200 at 8192", [(64, 64, 264), (64, 64, 132)], best_group, BEST),
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
        bench_shape=BENCH,
        tiers=(0.9,),
        config=GemmConfig(stages=2),
        requires=("cp.async", "ldmatrix", "mma.sync"),
        hints=(
            "return l2.grouped(block, rows, columns, 8) is nearly all. `rows` and `columns` are plain numbers, so the "
            "group may depend on them. The sweep below timed several.",
            "An order of your own has to do with arithmetic alone: the block is known at run time only.",
        ),
    ),
)

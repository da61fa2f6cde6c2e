"""Exercises of notebook 11: in which order blocks visit the tiles of C."""

from dataclasses import dataclass
from functools import partial
from itertools import product
from random import Random
from typing import Any

from tutorlib.checking.block_order import OrderExercise
from tutorlib.checking.exercise import Remedy
from tutorlib.checking.leaning import InModule
from tutorlib.checking.values import Mistake, ValueExercise, equals, law
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.models import l2
from tutorlib.models.l2 import Order, Tile
from tutorlib.problems.catalogue import gemm

BENCH = (8192, 8192, 8192)
SHAPES = ((1024, 1024, 64), (1400, 600, 64), (129, 2100, 72))  # grids of 8×8, 11×5 and 2×17 tiles
GRIDS = ((16, 12), (8, 8), (11, 5), (5, 11), (1, 7), (7, 1), (40, 9), (64, 64), (30, 17))

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
B_FORGOTTEN = Mistake("B is read, too: its columns of tiles.", lambda tiles: len({m for m, _ in tiles}))
A_FORGOTTEN = Mistake("A is read, too: its rows of tiles.", lambda tiles: len({n for _, n in tiles}))
READING = (TILES, OF_C, MIXED, B_FORGOTTEN, A_FORGOTTEN)


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


def inside_alone(order: Order, rows: int, columns: int) -> tuple[list[Tile], list[Tile]]:
    never, often = visits(order, rows, columns)
    return never, [(m, n) for m, n in often if m < rows and n < columns]


INSIDE = Mistake(
    "Blocks can land outside of the grid, too, and several on the same tile there: go through what they compute, not "
    "through the tiles of the grid.",
    inside_alone,
)


VISITS = (EXCHANGED, INSIDE)


def two_lists(got: Any, order: Order, rows: int, columns: int) -> str | None:
    """What is wrong with the two lists of tiles, or None. A list of two, or tuples for lists, are as good."""
    if not isinstance(got, tuple | list) or len(got) != 2:
        return "it should be two lists"
    for which, mine, want in zip(("first", "second"), got, visits(order, rows, columns), strict=True):
        if isinstance(mine, set | frozenset | dict):
            return f"its {which} part is a {type(mine).__name__}, which has no order: sorted(…) makes a list of it"
        if not isinstance(mine, tuple | list):
            return f"its {which} part should be a list of tiles (m, n)"
        tiles = [tuple(tile) if isinstance(tile, tuple | list) else tile for tile in mine]
        if tiles != want:
            return compare_tiles(which, tiles, want)
    return None


def compare_tiles(which: str, tiles: list[Any], want: list[Tile]) -> str:
    """How a list of tiles differs from the right one."""
    if missing := [tile for tile in want if tile not in tiles]:
        return f"its {which} list lacks {missing[0]}" + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
    if extra := [tile for tile in tiles if tile not in want]:
        return f"{extra[0]} does not belong into its {which} list"
    if len(tiles) > len(want):
        return f"its {which} list has a tile more than once"
    return f"its {which} list has the right tiles, but it is not sorted"


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


def by_full_waves(rows: int, columns: int, in_flight: int) -> int:
    def full(group: int) -> int:
        waves = l2.waves((rows, columns), partial(l2.grouped, group=group), in_flight)
        return sum(footprint(wave) for wave in waves if len(wave) == in_flight)

    return min(heights(rows), key=full)


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
    Mistake("The last wave is not full, and it reads, too: add it up.", by_full_waves),
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
SQUARES = [(16, 16, 32), (32, 32, 264), (12, 12, 12), (24, 24, 64), (8, 8, 32)]
RAGGED = [(30, 17, 24), (7, 9, 8), (20, 20, 108), (5, 40, 32), (13, 20, 24), (20, 46, 132)]
TALL_AND_WIDE = [(64, 16, 132), (16, 64, 132), (40, 5, 32), (3, 50, 24), (1, 40, 8)]

# 11.4 order -----------------------------------------------------------------------------------------------------


EXERCISES = (
    ValueExercise(
        id="11.1",
        title="footprint",
        points=2,
        cases=(
            equals("waves of real orders", waves(), footprint, READING),
            equals("any tiles", scattered(1), footprint, READING),
        ),
        hints=("A set of the m's, and a set of the n's.",),
    ),
    ValueExercise(
        id="11.2",
        title="visits",
        points=2,
        cases=(
            law("right orders", [(o, *grid) for o in RIGHT_ORDERS for grid in GRIDS[:4]], two_lists, VISITS),
            law(
                "wrong orders",
                [(o, *grid) for o in (PUBLISHED, CONFUSED, STUCK) for grid in ((12, 16), (9, 4), (3, 3))],
                two_lists,
                VISITS,
            ),
            law(
                "tiles outside of the grid",
                [(LEAVES, 5, 3), (LEAVES, 3, 7), (BEYOND, 4, 3), (BEYOND, 2, 6)],
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
        simulated_shapes=((640, 264, 72),),  # 5×3 tiles: which block does which was tried before
        bench_shape=BENCH,
        tiers=(0.9,),
        config=GemmConfig(stages=2),
        grids=GRIDS,
        footprint=footprint,
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

"""Exercises of notebook 11: in which order blocks visit the tiles of C."""

from dataclasses import dataclass
from functools import partial
from itertools import product
from random import Random

from tutorlib import l2
from tutorlib.exercise import Answer, Exercise, Mistake, Outcome, equals, is_placeholder, law
from tutorlib.l2 import Order, Tile
from tutorlib.parts import PartExercise
from tutorlib.problem import gemm

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
    orders = (l2.raster, partial(l2.grouped, group=4), partial(l2.grouped, group=8))
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

# 11.3 grouped ---------------------------------------------------------------------------------------------------


def not_in_groups(got: list[Tile], rows: int, columns: int, group: int) -> str | None:
    """What is wrong with an order of blocks, given the tiles of all blocks."""
    wanted = [(m, n) for m in range(rows) for n in range(columns)]
    if missing := sorted(set(wanted) - set(got)):
        return f"nobody computes tile {missing[0]}"
    for first in range(0, rows, group):
        height = min(group, rows - first)
        start = first * columns
        for place, tile in enumerate(got[start : start + height * columns]):
            if tile != (want := (first + place % height, place // height)):
                return f"block {start + place} should compute tile {want}, and computes {tile}"
    return None


def all_blocks(answer: Answer, rows: int, columns: int, group: int) -> list[Tile]:
    return [tuple(answer(block, rows, columns, group)) for block in range(rows * columns)]


def in_groups(cases: list[tuple[int, int, int]], name: str):
    """A case of `law` about the answer's whole list of tiles."""
    inner = law(name, cases, not_in_groups, GROUPING)

    def judge(answer: Answer):
        def tiles(rows: int, columns: int, group: int) -> list[Tile]:
            return all_blocks(answer, rows, columns, group)

        tiles.__name__ = f"{getattr(answer, '__name__', 'your answer')} for all blocks of "
        return inner.judge(tiles)

    return type(inner)(name, judge)


def last_group_full(block: int, rows: int, columns: int, group: int) -> Tile:
    first = block // (group * columns) * group
    return first + block % group, block % (group * columns) // group


GROUPING = (
    Mistake(
        "In the last group, where `group` does not divide the rows, there are fewer rows: count with those.",
        lambda rows, columns, group: all_blocks(last_group_full, rows, columns, group),
    ),
    Mistake(
        "Down first, then across: neighbouring blocks share a column of B.",
        lambda rows, columns, group: all_blocks(
            lambda b, r, c, g: (b // (g * c) * g + b % (g * c) // c, b % c), rows, columns, group
        ),
    ),
    Mistake(
        "That is raster order: the groups do not end after `group` rows.",
        lambda rows, columns, group: all_blocks(lambda b, r, c, g: l2.raster(b, r, c), rows, columns, group),
    ),
)

# 11.4 order -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class OrderExercise(PartExercise):
    """A function (block, rows, columns) → tile: tried with plain numbers, then used in the kernel."""

    def grade(self, answer: Answer) -> Outcome:
        try:
            for rows, columns in GRIDS:
                never, often = visits(answer, rows, columns)
                if never or often:
                    return self.failed(
                        f"of {rows}×{columns} tiles, {len(never)} are never computed and {len(often)} more than once."
                    )
            first = l2.waves((64, 64), answer, IN_FLIGHT)[0]
        except NotImplementedError as error:
            return self.failed("not written yet" if is_placeholder(error) else str(error))
        except Exception as error:
            return self.failed(f"with plain numbers it raises {type(error).__name__}: {error}")
        plain = footprint(l2.waves((64, 64), l2.raster, IN_FLIGHT)[0])
        if footprint(first) > 0.75 * plain:
            return self.failed(
                f"the first {IN_FLIGHT} blocks of 64×64 tiles read {footprint(first)} rows and columns of tiles; "
                f"raster order reads {plain}, and it can be far fewer."
            )
        return super().grade(answer)


def with_order(answer: Answer) -> Answer:
    from tutorlib.gemm import GemmConfig, make_gemm, multistage

    return make_gemm(GemmConfig(stages=2), multistage, order=answer)


EXERCISES = (
    Exercise(
        id="11.1",
        title="footprint",
        points=2,
        cases=(
            equals("waves of real orders", waves(), footprint, (TILES, OF_C, MIXED)),
            equals("any tiles", scattered(1), footprint, (TILES, OF_C, MIXED)),
        ),
        hints=("A set of the m's, and a set of the n's.",),
    ),
    Exercise(
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
    Exercise(
        id="11.3",
        title="grouped",
        points=4,
        cases=(
            in_groups([(8, 8, 4), (16, 12, 8), (64, 5, 16), (6, 7, 1)], "groups that divide the rows"),
            in_groups([(11, 5, 4), (30, 17, 8), (9, 3, 8), (5, 6, 3)], "a smaller last group"),
            in_groups([(3, 5, 8), (1, 7, 4), (7, 1, 8)], "fewer rows than a group"),
        ),
        hints=(
            "A whole group has group * columns blocks. Which group is it, and where in the group is the block?",
            "The group's first row is that number times `group`; it has min(rows - first, group) rows.",
            "In the group: down first, so the place modulo these rows is the row, and the quotient is the column.",
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
        build=with_order,
        requires=("cp.async", "ldmatrix", "mma.sync"),
        hints=(
            "return grouped(block, rows, columns, 8) is nearly all. `rows` and `columns` are plain numbers: the group "
            "may depend on them. The sweep below timed several.",
            "The block is known at run time only: cutlass.min takes that, Python's min does not.",
        ),
    ),
)

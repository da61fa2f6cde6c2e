"""Exercises of notebook 07: the ladder of cuTile GEMMs.

Kernels are interpreted on small matrices whose sizes are partly no multiples of the tile; a GPU times them beside
cuBLAS too.
"""

import math
from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from tutorlib.checking.cutile import CutileExercise
from tutorlib.checking.exercise import Answer
from tutorlib.checking.facts import issued
from tutorlib.checking.library_use import of_course
from tutorlib.checking.randomness import more_for_points
from tutorlib.checking.values import Case, attempt, plain, show_call
from tutorlib.exercises.values import case_exercise
from tutorlib.failure import Fail, Flaw
from tutorlib.machine import device
from tutorlib.models.l2 import grouped
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.differences import Wrong
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    import numpy as np


# The sizes at which GEMMs are tried, and the tile of C that a block computes.

WHOLE = ((64, 64, 64), (128, 96, 48))  # multiples of the tile
SMALL = (*WHOLE, (136, 72, 40), (65, 97, 49))  # the last: one more than multiples of the tile
BENCH = (4096, 4096, 4096)
BENCH_FP8 = (320, 32576, 7168)


def tiles(shape: Shape, tm: int, tn: int) -> tuple[int, int]:
    return -(-shape[0] // tm), -(-shape[1] // tn)


def blocks_at_once(shape: Shape, most: int) -> tuple[int]:
    """The grid of a persistent kernel: one block for each SM; for small matrices so few that one of them has more to do
    than the others."""
    gpu = device.gpu()
    return (min(most, gpu.sms) if gpu and shape in (BENCH, BENCH_FP8) else max(1, min(most - 1, 3)),)


# 07.1 and 07.3: the tile of C that a block computes -------------------------------------------------------------------


def plain_tile(shape: Shape) -> tuple[int, int, int]:
    """tm, tn and tk: different sizes, so that one in another's place shows."""
    return (128, 128, 64) if shape == BENCH else (64, 32, STEP)


def factor_tiles(shape: Shape) -> dict[int, int]:
    """The elements of a tile of A and of one of B, (tm, tk) and (tn, tk)."""
    tm, tn, tk = plain_tile(shape)
    return {0: tm * tk, 1: tn * tk}


def loads_of_tiles(shape: Shape) -> dict[int, int]:
    """The elements of A and of B that all blocks load, if each tile of C takes its rows of both once."""
    m, n, k = shape[-3:]
    rows, columns = tiles((m, n), *plain_tile(shape)[:2])
    return {0: columns * m * k, 1: rows * n * k}


def products_of_tiles(shape: Shape) -> int:
    """The products that all steps of all tiles of C take, padding included."""
    return padded(shape[-3:], plain_tile(shape))


def padded(sizes: Shape, sides: Shape) -> int:
    """The product of the sizes, each rounded up to a multiple of its side."""
    return math.prod(-(-size // side) * side for size, side in zip(sizes, sides, strict=True))


def group_of(shape: Shape) -> int:
    """Rows of tiles in a strip."""
    return 8 if shape == BENCH else 2


def persistent_blocks(shape: Shape) -> tuple[int]:
    return blocks_at_once(shape, math.prod(tiles(shape, *plain_tile(shape)[:2])))


STEP = 16  # along K

COURSE_GEMMS = of_course("cutile", "plain", "persistent", "slabs", "tile_of_product")


# 07.2 and 07.3: blocks in strips --------------------------------------------------------------------------------------

Grid = tuple[int, int, int]  # rows, columns, group
GRIDS: list[Grid] = [(8, 6, 4), (16, 3, 8), (4, 4, 1)]  # the group divides the rows
RAGGED_GRIDS: list[Grid] = [(10, 6, 4), (7, 5, 3), (3, 9, 8), (1, 1, 8)]


def whole(rng: Random) -> Grid:
    rows, columns, group = ragged(rng)
    return rows * group, columns, group


def ragged(rng: Random) -> Grid:
    """A grid whose last strip may be lower."""
    return rng.randint(2, 12), rng.randint(2, 9), rng.randint(2, 5)


def strip_after_strip(name: str, grids: list[Grid], draw: Callable[[Random], Grid]) -> Case:
    """A case that is right when consecutive blocks take the tiles of a strip column by column, every tile once.

    In which order the tiles of one column of a strip come is left to the answer. The grader also draws grids.
    """

    def judge(answer: Answer) -> Wrong | None:
        for grid in (*grids, *more_for_points(draw, 2)):
            order: list[tuple[int, int]] = []
            for block in range(grid[0] * grid[1]):
                got, wrong = attempt(answer, (block, *grid))
                if wrong is not None:
                    return wrong
                got = plain(got)
                if broken := misplaced(got, order, block, *grid):
                    return Wrong(f"{show_call(answer, (block, *grid))} gives {got!r}: {broken}.")
                order.append(got)
        return None

    return Case(name, judge, [(block, *grid) for grid in grids for block in range(grid[0] * grid[1])])


def misplaced(got: object, before: list[tuple[int, int]], block: int, rows: int, columns: int, group: int) -> str:
    """The fault in the tile of a block, whose predecessors took those `before`; "" where it is right."""
    if not (isinstance(got, tuple) and len(got) == 2 and all(type(n) is int for n in got)):
        return "it should give a tuple of two integers, the row and the column of a tile"
    m, n = got
    if not (0 <= m < rows and 0 <= n < columns):
        return f"C has {rows}×{columns} tiles"
    if got in before:
        return f"block {before.index(got)} has that tile already"
    first, column = block // (group * columns) * group, grouped(block, rows, columns, group)[1]
    last = min(first + group, rows) - 1
    if not first <= m <= last:
        return f"block {block} belongs to the strip of rows {first} to {last}"
    return "" if n == column else f"block {block} belongs to column {column} of its strip"


def in_strips(shape: Shape, writers: "np.ndarray") -> str | None:
    """A tile of 07.3 that another block computed than the order of 07.2 says, as a sentence, or None.

    In which order the tiles of one column of a strip come is left to the answer.
    """
    tm, tn, _ = plain_tile(shape)
    (rows, columns), blocks = tiles(shape, tm, tn), persistent_blocks(shape)[0]
    by_tile = writers[::tm, ::tn].tolist()
    due: dict[tuple[int, int], list[int]] = {}
    for tile in range(rows * columns):
        m, n = grouped(tile, rows, columns, group_of(shape))
        due.setdefault((m // group_of(shape), n), []).append(tile % blocks)
    for (strip, n), wanted in due.items():
        heights = range(strip * group_of(shape), min(rows, (strip + 1) * group_of(shape)))
        got = [by_tile[m][n] for m in heights]
        if sorted(got) != sorted(wanted):
            what = (
                f"C has {rows}×{columns} tiles, and in strips of {group_of(shape)} rows the tiles "
                f"{', '.join(str((m, n)) for m in heights)} are for block {' and '.join(map(str, wanted))}; "
                f"yours gives them to block {' and '.join(map(str, got))}."
            )
            return Flaw(what, Fail.SLOW)
    return None


# The ladder -------------------------------------------------------------------------------------------------------

# 432 mma of 16×8×16 are all the work at 136×72×40, in tiles of 64×32 and steps of 16.
BY_TENSOR_CORES = issued("add.rn.f32") <= 0  # accumulators start from C, not from 0 at each step
ON_TENSOR_CORES = (BY_TENSOR_CORES, issued("mma.sync") >= 216)

tiled_gemm = partial(
    CutileExercise.of,
    shapes=SMALL,
    simulated_shapes=SMALL[2:3],
    tiled=True,
    tiles=factor_tiles,
    loads=loads_of_tiles,
    products=products_of_tiles,
    bench_shape=BENCH,
    problem=gemm("bf16"),
    factors="bfloat16",
    rules=ON_TENSOR_CORES,
    library=COURSE_GEMMS,
)
EXERCISES = (
    tiled_gemm(("07.1", "gemm", 4), grid=lambda shape: tiles(shape, *plain_tile(shape)[:2]), constants=plain_tile),
    case_exercise(
        ("07.2", "grouped", 3),
        strip_after_strip("whole strips", GRIDS, whole),
        strip_after_strip("a lower last strip", RAGGED_GRIDS, ragged),
        library={"l2.grouped": grouped},
    ),
    tiled_gemm(
        ("07.3", "persistent gemm", 5),
        tiers=(0.7, 0.9),
        order=in_strips,
        grid=persistent_blocks,
        constants=lambda shape: (*plain_tile(shape), group_of(shape)),
    ),
)

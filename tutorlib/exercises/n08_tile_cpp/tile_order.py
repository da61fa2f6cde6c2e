"""08.5: the order in which persistent blocks take the tiles of C, from the block that stored each element."""

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np

from tutorlib.failure import FailureKind, Flaw
from tutorlib.kernels.cpp.grids import persistent_grid
from tutorlib.models.l2 import grouped, raster
from tutorlib.problems.problem import Shape

Order = Callable[[int, int, int], tuple[int, int]]  # a block's number, rows and columns of tiles → the tile
SIDES = (32, 64, 128, 256)  # of a tile
HEIGHTS = range(2, 17)  # of a strip, in tiles: 8 is asked for, and others share tiles of A and B as well


class OrderFlaw(FailureKind):
    NO_STRIPS = "no strips"


def rotated(block: int, rows: int, columns: int, group: int) -> tuple[int, int]:
    """Strips as cuTile's samples have them: in a last strip that is lower they may begin below its first row."""
    first = block // (group * columns) * group
    height = min(rows - first, group)
    return first + block % height, block % (group * columns) // height


def across(block: int, rows: int, columns: int) -> tuple[int, int]:
    return block // columns, block % columns


def not_in_strips(shape: Shape, storers: np.ndarray) -> str | None:
    """Why the blocks do not take the tiles in strips, as a sentence; None where they do. storers: (M, N)."""
    plain = {"column by column, each over all rows of C": raster, "row by row, each over all columns of C": across}
    for tile in product(SIDES, SIDES):
        rows = -(-shape[0] // tile[0])
        heights = (height for height in HEIGHTS if height < rows)
        if any(takes(storers, tile, partial(of, group=height)) for height in heights for of in (grouped, rotated)):
            return None
    tiles = list(product(SIDES, SIDES))
    how = next((way for way, order in plain.items() if any(takes(storers, tile, order) for tile in tiles)), "")
    what = f"it takes the tiles of C {how}" if how else "it takes the tiles of C in another order than asked for"
    why = "In strips of 8 rows of tiles, blocks that run together share tiles of A and of B."
    return Flaw(f"{what}. {why}", OrderFlaw.NO_STRIPS)


def takes(storers: np.ndarray, tile: tuple[int, int], order: Order) -> bool:
    """Whether these are the storers of persistent blocks that take tiles of this size in this order."""
    shape = storers.shape
    rows, columns = (-(-length // side) for length, side in zip(shape, tile, strict=True))
    (blocks,) = persistent_grid((*shape, 0))
    by_tile = np.empty((rows, columns), storers.dtype)
    for number in range(rows * columns):
        by_tile[order(number, rows, columns)] = number % blocks
    wanted = by_tile.repeat(tile[0], 0).repeat(tile[1], 1)[: shape[0], : shape[1]]
    return bool(np.array_equal(storers, wanted))

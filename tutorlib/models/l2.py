"""Which block computes which tile of C, and the L2 traffic of that order: a GEMM's tile loads through an LRU cache."""

import heapq
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial

TileGrid = tuple[int, int]  # tiles of C along M and along N
Tile = tuple[int, int]  # (m, n): reads row m of A's tiles and row n of B's
Order = Callable[[int, int, int], Tile]  # block, rows, columns → its tile; blocks start in the order of their numbers

STEPS = 32  # along K: a finer walk changes next to nothing


def raster(block: int, rows: int, columns: int) -> Tile:
    """Down one column of tiles after the other, as blockIdx.x runs fastest in a launch of (tiles of M, tiles of N)."""
    return block % rows, block // rows


def grouped(block: int, rows: int, columns: int, group: int = 8) -> Tile:
    """Strips of `group` rows of tiles, each strip column by column; the last strip has the remaining rows.

    The order of cuTile's and Triton's matmul samples, up to a rotation of the rows in a last strip that is lower.
    Arithmetic alone, so that kernels call it too: in cuTile all of it may be known at run time only, in CuTe the block.
    """
    group = min(group, rows)
    strip, place = block // (group * columns), block % (group * columns)
    lower = strip // (rows // group)  # 1 in a last strip of fewer rows, else 0
    height = group - lower * (group - rows % group)
    return strip * group + place % height, place // height


ORDERS: dict[str, Order] = {"raster": raster, **{f"groups of {n}": partial(grouped, group=n) for n in (2, 4, 8, 16)}}


def blocks(grid: TileGrid, order: Order) -> list[Tile]:
    """The tile of every block, in the order in which they start."""
    return [order(block, *grid) for block in range(grid[0] * grid[1])]


def coverage(grid: TileGrid, order: Order) -> dict[Tile, list[int]]:
    """The blocks that compute each tile of the grid: one each, where the order is right."""
    takers: dict[Tile, list[int]] = {(m, n): [] for m in range(grid[0]) for n in range(grid[1])}
    for block, tile in enumerate(blocks(grid, order)):
        takers.setdefault(tile, []).append(block)
    return takers


def waves(grid: TileGrid, order: Order, in_flight: int) -> list[list[Tile]]:
    """The tiles that are computed at the same time, `in_flight` of them, wave after wave."""
    tiles = blocks(grid, order)
    return [tiles[start : start + in_flight] for start in range(0, len(tiles), in_flight)]


@dataclass(frozen=True)
class Traffic:
    """Bytes of A and B: asked for by the blocks, fetched from memory since L2 did not have them, least possible."""

    requested: int
    fetched: int
    least: int


def traffic(
    grid: TileGrid, order: Order, k_tiles: int, tile_bytes: tuple[int, int], in_flight: int, l2: int, drift: float = 0.0
) -> Traffic:
    """L2 traffic of a GEMM whose blocks run `in_flight` at a time.

    k_tiles: tiles along K. tile_bytes: of one tile of A (bM × bK) and one of B (bN × bK). in_flight: SMs × blocks on
    each. l2: bytes. drift: how far apart, as a fraction, the paces of the slowest and the fastest block are.

    The model: a block starts as soon as there is room, and walks along K; in each step it asks for a tile of A and one
    of B. Who asks first brings a tile in, later ones hit until L2, a fully associative cache, drops it as the one whose
    last use is longest ago. Without drift the blocks run in waves, those of a wave in lockstep.
    What it leaves out: L2 has sets, and C passes through it too. On a data-center GPU it has two halves, both of which
    keep what SMs of both sides read: with half of its bytes, groups of 4 and 8 come near to what an H200's counters say
    (figures/data/sweeps/h200_gemm_orders.json); raster order depends on the drift. K is walked in STEPS steps at most.
    """
    tiles, steps = blocks(grid, order), min(k_tiles, STEPS)
    a_bytes, b_bytes = (bytes * k_tiles // steps for bytes in tile_bytes)
    cache, fetched = Lru(l2), 0
    for block, step in zip(*timetable(len(tiles), steps, in_flight, drift), strict=True):
        m, n = tiles[block]
        fetched += cache.load(2 * m * steps + step, a_bytes) + cache.load((2 * n + 1) * steps + step, b_bytes)
    requested = len(tiles) * steps * (a_bytes + b_bytes)
    return Traffic(requested, fetched, steps * (grid[0] * a_bytes + grid[1] * b_bytes))


def timetable(blocks: int, steps: int, in_flight: int, drift: float) -> tuple[list[int], list[int]]:
    """Which block makes which of its steps, in the order in which they happen; the same for every call."""
    import numpy as np

    pace = 1 + drift * (np.random.default_rng(0).random(blocks) - 0.5)  # the time of a block's step
    start, free = np.empty(blocks), [0.0] * in_flight
    for block in range(blocks):
        start[block] = free[0]
        heapq.heapreplace(free, free[0] + steps * pace[block])
    times = start[:, None] + pace[:, None] * np.arange(steps)
    which, step = np.divmod(np.argsort(times, axis=None, kind="stable"), steps)
    return which.tolist(), step.tolist()


class Lru:
    """A cache of `room` bytes that evicts the least recently used entry."""

    def __init__(self, room: int) -> None:
        self.room, self.used = room, 0
        self.tiles: OrderedDict[Hashable, int] = OrderedDict()  # bytes of each, the last used at the end

    def load(self, tile: Hashable, bytes: int) -> int:
        """Use a tile. Returns the bytes that memory has to send: 0 where the tile is there."""
        if tile in self.tiles:
            self.tiles.move_to_end(tile)
            return 0
        self.tiles[tile] = bytes
        self.used += bytes
        while self.used > self.room:
            self.used -= self.tiles.popitem(last=False)[1]
        return bytes

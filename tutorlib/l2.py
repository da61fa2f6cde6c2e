"""Which block computes which tile of C, and what that order makes of L2: a GEMM's tile loads through an LRU cache."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

Grid = tuple[int, int]  # tiles of C along M and along N
Tile = tuple[int, int]  # (m, n): reads row m of A's tiles and row n of B's
Order = Callable[[int, int, int], Tile]  # block, rows, columns → its tile; blocks start in the order of their numbers


def raster(block: int, rows: int, columns: int) -> Tile:
    """Down one column of tiles after the other, as blockIdx.x runs fastest in a launch of (tiles of M, tiles of N)."""
    return block % rows, block // rows


def grouped(block: int, rows: int, columns: int, group: int = 8) -> Tile:
    """Strips of `group` rows of tiles, each strip column by column; the last strip has the rows that are left.

    The order of cuTile's and Triton's matmul samples, up to a rotation of the rows in a last strip that is lower.
    """
    strip, place = divmod(block, group * columns)
    first = strip * group
    height = min(rows - first, group)
    return first + place % height, place // height


def as_published(block: int, rows: int, columns: int, factor: int = 8) -> Tile:
    """The remapping that E. Schreiber's "Demystifying CuTe" prints.

    Where `factor` divides the rows, this is `raster`: outer % strips * factor + inner is block % rows again.
    Elsewhere the blocks beyond the last row fall back to their raster tile, so some tiles are computed twice and
    others never. `coverage` shows both.
    """
    if rows < factor:
        return raster(block, rows, columns)
    outer, inner = divmod(block, factor)
    strips = -(-rows // factor)
    row = outer % strips * factor + inner
    return (row, outer // strips) if row < rows else raster(block, rows, columns)


def blocks(grid: Grid, order: Order) -> list[Tile]:
    """The tile of every block, in the order in which they start."""
    return [order(block, *grid) for block in range(grid[0] * grid[1])]


def coverage(grid: Grid, order: Order) -> dict[Tile, list[int]]:
    """The blocks that compute each tile of the grid: one each, where the order is right."""
    takers: dict[Tile, list[int]] = {(m, n): [] for m in range(grid[0]) for n in range(grid[1])}
    for block, tile in enumerate(blocks(grid, order)):
        takers.setdefault(tile, []).append(block)
    return takers


def waves(grid: Grid, order: Order, in_flight: int) -> list[list[Tile]]:
    """The tiles that are computed at the same time, `in_flight` of them, wave after wave."""
    tiles = blocks(grid, order)
    return [tiles[start : start + in_flight] for start in range(0, len(tiles), in_flight)]


@dataclass(frozen=True)
class Traffic:
    """Bytes of A and B: asked for by the blocks, fetched from memory since L2 did not have them, least possible."""

    requested: int
    fetched: int
    least: int

    @property
    def hit_rate(self) -> float:
        """The fraction of the requested bytes that L2 had."""
        return 1 - self.fetched / self.requested


def traffic(grid: Grid, order: Order, k_tiles: int, tile_bytes: tuple[int, int], in_flight: int, l2: int) -> Traffic:
    """What L2 sees of a GEMM whose blocks run `in_flight` at a time.

    k_tiles: tiles along K. tile_bytes: of one tile of A (bM × bK) and one of B (bN × bK). in_flight: SMs × blocks on
    each. l2: bytes.

    The model: blocks start in waves, and those of a wave walk along K in lockstep. In each step every block asks for
    one tile of A and one of B; the first to ask for a tile brings it in, the others hit. L2 is fully associative and
    drops the tile that was used longest ago.
    What it leaves out: a block starts when another ends, and blocks drift apart; L2 has sets and, on data-centre GPUs,
    two halves that may both keep a line (half the bytes is the other extreme); C passes through it too. So it compares
    orders; what a kernel does, a profiler says.
    """
    cache = Lru(l2)
    requested = fetched = 0
    for wave in waves(grid, order, in_flight):
        rows, columns = {m for m, _ in wave}, {n for _, n in wave}
        panels = [(2 * m, tile_bytes[0]) for m in sorted(rows)] + [(2 * n + 1, tile_bytes[1]) for n in sorted(columns)]
        requested += len(wave) * sum(tile_bytes) * k_tiles
        for k in range(k_tiles):
            for panel, bytes in panels:
                fetched += cache.load(panel * k_tiles + k, bytes)
    least = k_tiles * sum(count * bytes for count, bytes in zip(grid, tile_bytes, strict=True))
    return Traffic(requested, fetched, least)


class Lru:
    """A cache of `room` bytes that drops what was used longest ago."""

    def __init__(self, room: int) -> None:
        self.room, self.used = room, 0
        self.tiles: OrderedDict[int, int] = OrderedDict()  # bytes of each, the last used at the end

    def load(self, tile: int, bytes: int) -> int:
        """Use a tile. Returns the bytes that memory has to send: 0 where the tile is there."""
        if tile in self.tiles:
            self.tiles.move_to_end(tile)
            return 0
        self.tiles[tile] = bytes
        self.used += bytes
        while self.used > self.room:
            self.used -= self.tiles.popitem(last=False)[1]
        return bytes

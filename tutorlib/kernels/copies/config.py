"""How a copy kernel goes about it, as one value."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CopyConfig:
    """A copy through registers: a block has a tile of both matrices, in row-major order.

    tile: rows, columns. threads: of a block; they lie along a row, then down. vector: elements of an access, in a row.
    loads_first: whether a thread issues all its loads before its first store, or one after the other.
    down: threads lie down a column, each with a row of the tile.
    """

    tile: tuple[int, int] = (128, 64)
    threads: int = 128
    vector: int = 8
    loads_first: bool = True
    down: bool = False

    @property
    def side_by_side(self) -> int:
        """Threads along a row of the tile."""
        return 1 if self.down else min(self.tile[1] // self.vector, self.threads)

    @property
    def shares(self) -> int:
        """Vectors of a thread."""
        return self.tile[0] * self.tile[1] // (self.vector * self.threads)

"""Which tiles of C a persistent cluster computes."""

from dataclasses import dataclass
from typing import Any

from cutlass import Int32

from tutorlib.models.l2 import grouped

GROUP = 8  # rows of tiles in a band


@dataclass(frozen=True)
class TileWalk:
    """Which of C's tiles (tiles_m × tiles_n) a cluster computes: every `clusters`-th, in groups of rows."""

    tiles_m: int
    tiles_n: int
    clusters: int
    cluster: Int32
    group: int = GROUP

    @property
    def count(self) -> Int32:
        return (self.tiles_m * self.tiles_n - self.cluster + self.clusters - 1) // self.clusters

    def tile(self, number: Any) -> tuple[Any, Any]:
        """(M, N) of the number-th."""
        return grouped(self.cluster + number * self.clusters, self.tiles_m, self.tiles_n, self.group)

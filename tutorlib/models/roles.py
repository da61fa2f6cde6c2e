"""The timeline of a Hopper GEMM's block in ticks: its loads, its two warpgroups, its stores, its tensor cores."""

from dataclasses import dataclass
from typing import Literal

Roles = Literal["plain", "cooperative", "deferred stores", "ping-pong"]
ROWS = ("load", "wg 0", "wg 1", "store", "mma")


@dataclass(frozen=True)
class Span:
    """From tick `begin` to tick `end` one of ROWS is busy with a tile; rounds: with its results."""

    row: str
    begin: int
    end: int
    tile: int
    rounds: bool = False


@dataclass(frozen=True)
class Cartoon:
    """A few tiles through one block.

    ahead: ticks from the first load of a tile to its first multiplication. multiply: of a tile, with all tensor
    cores. results: to round a tile's accumulators and hand them to TMA. tiles: as large as two warpgroups share; in
    ping-pong each is two smaller ones.
    plain: every warp does everything, so a tile's loads begin when the last one's results are out. cooperative: a
    producer loads the next tile meanwhile. deferred: the accumulators are rounded in one tick, and stored under the
    next tile's multiplication. ping-pong: while one warpgroup is busy with its results, the other multiplies.
    """

    roles: Roles
    tiles: int = 3
    ahead: int = 3
    multiply: int = 8
    results: int = 3

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(self.pingpong() if self.roles == "ping-pong" else self.shared())

    def shared(self) -> list[Span]:
        """Both warpgroups work on one tile."""
        spans, begin = [], self.ahead
        for tile in range(self.tiles):
            end = begin + self.multiply
            pause = 1 if self.roles == "deferred stores" else self.results
            late = end if self.roles == "deferred stores" else end - 1
            spans += [
                Span("load", begin - self.ahead, end - self.ahead, tile),
                *(Span(row, begin, end, tile) for row in ("wg 0", "wg 1", "mma")),
                *(Span(row, end, end + pause, tile, rounds=True) for row in ("wg 0", "wg 1")),
                Span("store", late + 1, end + self.results, tile),
            ]
            begin = end + pause + (self.ahead if self.roles == "plain" else 0)
        return spans

    def pingpong(self) -> list[Span]:
        """Each warpgroup has every other one of twice as many tiles, half as large."""
        spans, half = [], self.multiply // 2
        for tile in range(2 * self.tiles):
            begin = self.ahead + tile * half
            end, row = begin + half, ("wg 0", "wg 1")[tile % 2]
            spans += [
                Span("load", begin - self.ahead, end - self.ahead, tile),
                Span(row, begin, end, tile),
                Span("mma", begin, end, tile),
                Span(row, end, end + self.results, tile, rounds=True),
                Span("store", end, end + self.results, tile),
            ]
        return spans

    @property
    def total(self) -> int:
        """Ticks until the last results are out."""
        return max(span.end for span in self.spans)

    @property
    def busy(self) -> float:
        """The fraction of that time in which the tensor cores multiply."""
        return sum(span.end - span.begin for span in self.spans if span.row == "mma") / self.total

"""The cost of each instruction's memory accesses, counted from the addresses of every warp.

Addresses are kept as they come and counted many at a time.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tutorlib.simulate.ptx.costs import lines, sectors, wavefronts_of_warps
from tutorlib.simulate.ptx.geometry import WARP

Space = Literal["shared", "global"]
AT_ONCE = 2**15  # warps' addresses that are kept before they are counted

NO_ACCESS = np.int64(-1)


@dataclass
class Tally:
    """An instruction's accesses to one space: `warps` accesses of a warp each, that took `taken` and needed `needed`.

    Counted in wavefronts in shared memory, in 32-byte sectors in global memory. lines: cache lines that they touched,
    in global memory.
    """

    warps: int = 0
    taken: int = 0
    needed: int = 0
    worst: int = 0
    lines: int = 0


@dataclass
class AccessLog:
    """The accesses so far.

    tallies: by instruction and space. kept: (warps, 32) addresses, NO_ACCESS for lanes that take no part.
    latest: addresses and width of the last instruction, for a trace.
    """

    tallies: dict[tuple[int, Space], Tally] = field(default_factory=dict)
    kept: dict[tuple[int, Space, int], list[np.ndarray]] = field(default_factory=dict)
    waiting: int = 0
    latest: dict[Space, tuple[np.ndarray, int]] = field(default_factory=dict)

    def note(self, site: int, space: Space, width: int, addresses: np.ndarray) -> None:
        """addresses: (lanes,), in bytes. width: bytes of each access."""
        rows = addresses.reshape(-1, WARP)
        self.latest[space] = addresses, width
        self.kept.setdefault((site, space, width), []).append(rows)
        self.waiting += len(rows)
        if self.waiting > AT_ONCE:
            self.count()

    def count(self) -> None:
        """Count what is kept."""
        for (site, space, width), rows in self.kept.items():
            tally = self.tallies.setdefault((site, space), Tally())
            addresses = np.concatenate(rows)
            addresses = addresses[(addresses != NO_ACCESS).any(1)]
            if not len(addresses):
                continue
            taken, needed = COST[space](addresses, width)
            tally.warps += len(addresses)
            tally.taken += int(taken.sum())
            tally.needed += int(needed.sum())
            tally.worst = max(tally.worst, int((taken - needed).max()))
            tally.lines += int(lines(addresses).sum()) if space == "global" else 0
        self.kept.clear()
        self.waiting = 0

    def __iter__(self) -> Iterator[tuple[tuple[int, Space], Tally]]:
        self.count()
        return iter(sorted(self.tallies.items()))


COST: dict[Space, Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]] = {
    "shared": wavefronts_of_warps,
    "global": sectors,
}

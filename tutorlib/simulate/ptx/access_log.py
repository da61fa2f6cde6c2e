"""The cost of each instruction's memory accesses, counted from the addresses of every warp.

Shared memory has 32 banks of 4 bytes. A wavefront serves each bank once, and threads that want the same word share it.
Threads that move 8 or 16 bytes each are served by halves and quarters of the warp; so are ldmatrix's rows, whose
addresses come from eight lanes for each matrix. Of global memory aligned sectors of 32 bytes come whole or not.

Addresses are kept as they come and counted many at a time: (accesses, 32) in bytes, negative for lanes that take no
part; multiples of `width`, the bytes of each.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tutorlib.simulate.ptx.geometry import WARP

BANKS, WORD = 32, 4  # of shared memory, on every GPU since compute capability 5.0; bytes in a bank's word
WAVEFRONT = BANKS * WORD  # bytes that one wavefront can deliver
OUT = np.int64(2**40)  # the word of a lane that takes no part; above all others
SECTOR = 32  # bytes
LINE = 128  # bytes of a cache line, four sectors


def wavefronts_of_warps(addresses: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Wavefronts that each access takes, and how many it would take without a conflict."""
    together = min(WARP, WAVEFRONT // width)
    parts = addresses.reshape(-1, together)  # (accesses · parts, lanes)
    steps = np.arange(0, width, WORD)
    words = (parts[:, :, None] + steps) // WORD
    words = np.where(parts[:, :, None] < 0, OUT, words).reshape(len(parts), -1)
    ways = most_in_a_bank(words)
    served = (parts >= 0).any(1)
    count = len(addresses)
    return ways.reshape(count, -1).sum(1), served.reshape(count, -1).sum(1)


def most_in_a_bank(words: np.ndarray) -> np.ndarray:
    """For each row of words: the most different ones that lie in one bank."""
    words = np.sort(words, axis=1)
    different = np.ones(words.shape, bool)
    different[:, 1:] = words[:, 1:] != words[:, :-1]
    different &= words < OUT
    place = np.arange(len(words))[:, None] * BANKS + words % BANKS
    counts = np.bincount(place[different], minlength=len(words) * BANKS)
    return counts.reshape(-1, BANKS).max(1)


def sectors(addresses: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Sectors that each access moves, and the fewest that could hold as many different bytes."""
    moved = different(addresses // SECTOR, addresses >= 0)
    asked = different(addresses, addresses >= 0) * width
    return moved, -(-asked // SECTOR)


def lines(addresses: np.ndarray) -> np.ndarray:
    """Cache lines that each access touches."""
    return different(addresses // LINE, addresses >= 0)


def different(numbers: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """How many different numbers each row has among those that count."""
    ordered = np.sort(np.where(counted, numbers, -1), axis=1)
    steps = (ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    return steps.sum(1) + (ordered[:, 0] >= 0)


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

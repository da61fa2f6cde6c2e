"""What is kept of memory beside its bytes: who wrote each piece of it last, and when.

Every access is compared with those before it by their clocks (`clocks`), so that a fault shows whatever order the
simulator happens to run threads in (Flanagan and Freund, FastTrack, PLDI 2009).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tutorlib.simulate.ptx.clocks import LaneClocks
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.memory.access import LaneAccess

NEVER = 0  # in place of a thread's component of the clocks: that of a whole warp, which writes nothing
PLAIN, STRONG, ATOMIC = range(3)


class Shadow:
    """piece: bytes that are watched together, the fewest that an access of the kernel has.

    writer: of each piece, the component that wrote it last; written: its count. strength: of that operation: atomics do
    not race with each other, nor do strong ones of one block.
    """

    def __init__(self, count: int, piece: int, clocks: LaneClocks) -> None:
        self.piece, self.clocks = piece, clocks
        self.writer = np.zeros(count, np.int16)
        self.written = np.zeros(count, np.int32)
        self.write_site = np.zeros(count, np.int32)
        self.strength = np.zeros(count, np.int8)

    def restart(self) -> None:
        """Make ready for another batch."""
        self.writer.fill(NEVER)
        self.written.fill(0)
        self.write_site.fill(-1)
        self.strength.fill(PLAIN)

    def after_unordered_write(self, touched: "Touched") -> np.ndarray:
        """For each piece whether another thread wrote it last, and nothing orders that before this access."""
        writers, lanes = self.writer[touched.pieces], touched.lanes
        return np.asarray(
            (self.written[touched.pieces] > self.clocks.over(lanes, writers)) & (writers != self.clocks.own[lanes])
        )

    def note_write(self, touched: "Touched", strength: int = PLAIN) -> None:
        pieces, lanes = touched.pieces, touched.lanes
        self.writer[pieces] = self.clocks.own[lanes]
        self.written[pieces] = self.clocks.now[touched.warps]
        self.write_site[pieces] = touched.access.site
        self.strength[pieces] = strength

    def spread(self, access: LaneAccess, first: np.ndarray) -> "Touched":
        """first: the piece in which each access begins."""
        many = max(access.width // self.piece, 1)
        if many == 1:
            return Touched(access, 1, first, access.lanes)
        pieces = (first[:, None] + np.arange(many)).reshape(-1)
        return Touched(access, many, pieces, np.repeat(access.lanes, many))


@dataclass(frozen=True)
class Touched:
    """Accesses by their pieces: number and lane of each, (accesses · many,). many: pieces of one access."""

    access: LaneAccess
    many: int
    pieces: np.ndarray
    lanes: np.ndarray

    @cached_property
    def warps(self) -> np.ndarray:
        """Of the batch."""
        return self.lanes // WARP

    def by_piece(self, by_access: np.ndarray) -> np.ndarray:
        return np.repeat(by_access, self.many)

    def any_piece(self, by_piece: np.ndarray) -> np.ndarray:
        return np.asarray(by_piece.reshape(-1, self.many).any(1))

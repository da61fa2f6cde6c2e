"""What is kept of memory beside its bytes: who wrote each piece of it last, who has read it since, and when.

Every access is compared with those before it by their clocks (`clocks`), so that a fault shows whatever order the
simulator happens to run threads in (Flanagan and Freund, FastTrack, PLDI 2009).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.memory.access import LaneAccess
from tutorlib.simulate.ptx.unit import Running, Unit

NEVER = 0  # in place of a thread's component of the clocks: that of a whole warp, which writes nothing
PLAIN, STRONG, ATOMIC = range(3)


class Shadow(Unit):
    """count: of pieces. piece: bytes that are watched together, the fewest that an access of the kernel has. readers:
    of how many the last reads of a piece are kept; warps: how many of those are warps.

    writer: of each piece, the component that wrote it last; written: its count. strength: of that operation: atomics do
    not race with each other, nor do strong ones of one block.
    read: (pieces, readers), the count of each reader's last read. read_by: (pieces, warps), a bit for each thread of a
    warp that has read since the warp was in step.
    """

    def __init__(self, running: Running, count: int, piece: int, readers: int, warps: int) -> None:
        self.piece = piece
        self.writer = np.zeros(count, np.int16)
        self.written, self.write_site = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self.strength = np.zeros(count, np.int8)
        self.read, self.read_site = np.zeros((count, readers), np.int32), np.zeros((count, readers), np.int32)
        self.read_by = np.zeros((count, warps), np.uint32)
        super().__init__(running)

    def restart(self) -> None:
        self.writer.fill(NEVER)
        self.written.fill(0)
        self.write_site.fill(-1)
        self.strength.fill(PLAIN)
        self.read.fill(0)

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

    def note_read_by(
        self,
        lanes: np.ndarray,
        site: int,
        at: np.ndarray,
        mask_at: np.ndarray,
        again: np.ndarray,
        last: np.ndarray | None = None,
    ) -> None:
        """Threads read a piece each. at, mask_at: where `read` and `read_by` have their warps' reads. again: whether
        the read kept there is one of the same warp; last: whether this one is to be kept there, None: all are."""
        read, read_by, warps = self.read.reshape(-1), self.read_by.reshape(-1), lanes // WARP
        bits = self.clocks.bit[lanes]
        if again.any():
            again = again & (read[at] > self.clocks.over(lanes, self.clocks.of_warp[warps]))
            bits = np.where(again, read_by[mask_at], 0) | bits
        read[at], read_by[mask_at] = self.clocks.now[warps], bits
        self.read_site.reshape(-1)[at] = site
        lost = read_by[mask_at] != bits
        if last is not None:
            lost &= last
        if lost.any():  # several threads of a warp read one piece
            np.bitwise_or.at(read_by, mask_at[lost], bits[lost])

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

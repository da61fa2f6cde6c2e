"""Counts of a launch on which no finding depends: repeated work, idle threads, work while copies are in flight."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tutorlib.simulate.ptx.ir import Kernel
from tutorlib.simulate.ptx.meetings import Running
from tutorlib.simulate.ptx.memory import Access, AsyncCopies, Listener, Touched


@dataclass(frozen=True)
class Work:
    """busy: how many warps loaded from global memory, or stored to it.
    reread: of what warps read from shared memory, the share that the same warp had read since it was written.
    overlap: of the reads of shared memory, the share that went on while a cp.async or a bulk copy was in flight.
    ahead: the most that cp.async was copying for a block during such a read, in units of what it copies from one
        barrier to the next: 1 with two stages, 2 with three, and somewhat more where K is short.
    """

    busy: int = 0
    reread: float = 0.0
    overlap: float = 0.0
    ahead: float = 0.0


class KernelWork(Listener):
    """Makes a `Work` of each launch: `with listening(KernelWork)`.

    reads: pieces of shared memory that warps have read; reread: those of them that the same warp had read since they
    were written. while_copying: threads' reads since the first copy was issued; overlapped: those of them while a
    cp.async was in flight, or a bulk copy that the reader has not waited for. most_at_read: the most bytes of cp.async
    in flight during a read. bulk_phases: of each mbarrier, the latest that bulk copies fill.
    busy: (blocks, warps), which warps have loaded from global memory or stored to it.
    """

    def __init__(self, running: Running, copies: AsyncCopies, piece: int, pieces: int) -> None:
        super().__init__(running, copies, piece, pieces)
        geometry, clocks = self.geometry, running.clocks
        self.clocks = clocks
        self.bulk_phases = np.zeros((geometry.batch, clocks.agents.mbarriers), np.int32)
        self.busy = np.zeros((geometry.blocks, geometry.warps), bool)
        self.bulk = False  # whether there was a bulk copy
        self.reads = self.reread = self.while_copying = self.overlapped = self.most_at_read = 0

    def restart(self) -> None:
        self.bulk_phases.fill(0)

    def on_bulk_load(self, slot: int, mbarrier: int, phase: int, starts: np.ndarray) -> None:
        self.bulk = True
        self.bulk_phases[slot, mbarrier] = max(phase, self.bulk_phases[slot, mbarrier])

    def on_shared_read(self, access: Access, again: np.ndarray) -> None:
        self.reads += len(again)
        self.reread += int(np.count_nonzero(again))
        if self.copies.bytes or self.bulk:
            self.while_copying += len(access.lanes)
            self.overlapped += len(access.lanes) if self.copies.bytes_in_flight else self.beside_bulk(access)
            self.most_at_read = max(self.most_at_read, self.copies.bytes_in_flight)

    def beside_bulk(self, access: Access) -> int:
        """How many of these reads are by a thread that has not waited for all bulk copies into its block."""
        if not self.bulk_phases.any():
            return 0
        first = self.clocks.base[access.slots] + self.clocks.agents.readers
        known = self.clocks.over(access.lanes[:, None], first[:, None] + np.arange(self.bulk_phases.shape[1]))
        return int((self.bulk_phases[access.slots] > known).any(1).sum())

    def on_load(self, touched: Touched, owners: np.ndarray) -> None:
        self.busy[owners - 1, touched.warps % self.geometry.warps] = True

    def on_store(self, touched: Touched, owners: np.ndarray, again: np.ndarray) -> None:
        self.busy[owners - 1, touched.warps % self.geometry.warps] = True

    def result(self, kernel: Kernel, runs: Sequence[int]) -> Work:
        meetings = sum(times for one, times in zip(kernel.instructions, runs, strict=True) if one.parts[0] == "bar")
        tile = self.copies.bytes * self.geometry.warps / max(meetings, 1)  # from one barrier of a block to the next
        return Work(
            int(self.busy.sum()),
            self.reread / max(self.reads, 1),
            self.overlapped / max(self.while_copying, 1),
            self.most_at_read / min(self.geometry.batch, self.geometry.blocks) / max(tile, 1),
        )

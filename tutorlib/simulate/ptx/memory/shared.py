"""Shared memory of the blocks that run together, one row of bytes for each; and cp.async, copies into it from global
memory that arrive as late as they may (PTX ISA, 9.7.9.25).

A thread's copies since its last commit form a group; waiting for all but the newest N groups makes the older ones
arrive. Here the bytes are taken when the copy is issued and put into shared memory when its thread has waited, or an
mbarrier has counted them (`CountedCopies`), and never if neither happens.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tutorlib.simulate.ptx.findings import TooManyRecords
from tutorlib.simulate.ptx.memory.access import SharedAccess

POISON = 0xEB  # bytes never written: as bf16 a huge negative number, which no sum hides
ROW_ALIGNMENT = 1024


class SharedMemory:
    """size: bytes that a block has, static and dynamic. stride: bytes from a block's row to the next."""

    def __init__(self, blocks: int, size: int) -> None:
        self.size = size
        self.stride = -(-max(size, 1) // ROW_ALIGNMENT) * ROW_ALIGNMENT
        self.bytes = np.empty(blocks * self.stride, np.uint8)
        self.arriving = np.empty(blocks * self.stride, np.uint8)  # what was last on its way to each byte
        self.clear()

    def clear(self) -> None:
        self.bytes.fill(POISON)

    def rows(self, element: int, count: int) -> np.ndarray:
        """All of it as rows of `count` unsigned numbers of `element` bytes each."""
        return self.bytes.view(f"u{element}").reshape(-1, count)

    def arriving_rows(self, element: int, count: int) -> np.ndarray:
        return self.arriving.view(f"u{element}").reshape(-1, count)


MOST_IN_FLIGHT = 2**28  # bytes


@dataclass
class Copy:
    """One instruction's copies that have not arrived.

    group: for each lane, how many groups it had committed before this one. data: (lanes, bytes).
    number: of the instruction, among all that were issued.
    """

    access: SharedAccess
    group: np.ndarray
    data: np.ndarray
    number: int

    def part(self, which: np.ndarray) -> "Copy":
        return Copy(self.access.only(which), self.group[which], self.data[which], self.number)


class AsyncCopies:
    """committed: how many groups each lane has committed. issued: how many instructions.

    bytes: all that were issued; bytes_in_flight: now.
    """

    def __init__(self, lanes: int, shared: SharedMemory) -> None:
        self.committed = np.zeros(lanes, np.int32)
        self.shared = shared
        self.in_flight: list[Copy] = []
        self.issued = 0
        self.bytes = self.bytes_in_flight = 0

    def restart(self) -> None:
        self.committed.fill(0)
        self.in_flight.clear()
        self.bytes_in_flight = 0

    def issue(self, access: SharedAccess, data: np.ndarray) -> None:
        self.issued += 1
        self.in_flight.append(Copy(access, self.committed[access.lanes], data, self.issued))
        self.bytes += data.size
        self.bytes_in_flight += data.size
        if self.bytes_in_flight > MOST_IN_FLIGHT:
            raise TooManyRecords(
                f"cp.async has {self.bytes_in_flight:,} bytes in flight that no thread has waited for: choose a size "
                "with fewer steps"
            )

    def issued_by(self, lanes: np.ndarray) -> list[SharedAccess]:
        """These lanes' copies that are in flight."""
        chosen = np.zeros(len(self.committed), bool)
        chosen[lanes] = True
        return [copy.part(which).access for copy in self.in_flight if (which := chosen[copy.access.lanes]).any()]

    def commit(self, lanes: np.ndarray | slice) -> None:
        self.committed[lanes] += 1

    def wait(self, lanes: np.ndarray | slice, open_groups: int) -> list[SharedAccess]:
        """These lanes' groups arrive, but for the newest `open_groups`. Gives the copies that arrived."""
        limit = np.full(len(self.committed), -1, np.int32)
        limit[lanes] = self.committed[lanes] - open_groups
        return self.arrive(lambda copy: copy.group < limit[copy.access.lanes])

    def wait_all(self, lanes: np.ndarray | slice) -> list[SharedAccess]:
        """All of these lanes' copies arrive, committed or not."""
        return self.finish(lanes, self.issued)

    def finish(self, lanes: np.ndarray | slice, issued: int) -> list[SharedAccess]:
        """These lanes' copies among the first `issued` arrive. Gives them."""
        chosen = np.zeros(len(self.committed), bool)
        chosen[lanes] = True
        return self.arrive(lambda copy: chosen[copy.access.lanes] & (copy.number <= issued))

    def arrive(self, which: Callable[[Copy], np.ndarray]) -> list[SharedAccess]:
        """Copies arrive in the order in which they were issued. which: of a copy's lanes do, as booleans."""
        left, arrived = [], []
        for copy in self.in_flight:
            ready = which(copy)
            if not ready.any():
                left.append(copy)
                continue
            if not ready.all():
                left.append(copy.part(~ready))
                copy = copy.part(ready)
            width, starts = copy.access.width, copy.access.slots * self.shared.stride + copy.access.starts
            self.shared.rows(1, width)[starts // width] = copy.data
            arrived.append(copy.access)
            self.bytes_in_flight -= copy.data.size
        self.in_flight = left
        return arrived

"""An instruction's access to a state space: it checks the addresses, reads or writes, and tells the shadows.

A port is made for an instruction; `count` numbers of `element` bytes go through it for each lane. Addresses are given
for all lanes, or one for all of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tutorlib.dsl.failure import Fault, Hazard
from tutorlib.simulate.ptx.flow import written
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.global_shadow import GlobalShadow
from tutorlib.simulate.ptx.memory import NO_SLOTS, PEER_BITS, POISON, Access, rows_of
from tutorlib.simulate.ptx.opcode_facts import facts_of
from tutorlib.simulate.ptx.operation import Operation
from tutorlib.simulate.ptx.report import NO_ACCESS, Space
from tutorlib.simulate.ptx.shadow import SharedShadow
from tutorlib.simulate.ptx.state import State, Where, as_index, of_warps

Lanes = np.ndarray | slice
Located = tuple[np.ndarray, np.ndarray, np.ndarray | None]


@dataclass(frozen=True)
class Port(ABC):
    """does: what the instruction does to memory, "loads" or "stores", for messages. space: if accesses are logged."""

    space: ClassVar[Space | None] = None
    op: Operation
    element: int
    count: int
    does: str

    @property
    def state(self) -> State:
        return self.op.state

    @property
    def width(self) -> int:
        """Bytes of each lane's access."""
        return self.element * self.count

    @property
    @abstractmethod
    def rows(self) -> np.ndarray:
        """The memory, (rows, count)."""

    @abstractmethod
    def locate(self, lanes: Lanes, given: np.ndarray) -> Located:
        """Where these addresses lie: places; in shared memory, the slots of their blocks; which are good, None where
        all are. Bad ones are findings."""

    @property
    def shadow(self) -> GlobalShadow | SharedShadow | None:
        """The record of the memory's accesses."""
        return None

    def row_of(self, access: Access) -> np.ndarray:
        """For each of an access's lanes, its row of the memory."""
        return np.asarray(access.starts // self.width)

    def on_read(self, access: Access) -> np.ndarray | None:
        """Compare a read with what went before: the lanes that read poison, since a copy may still be in flight."""
        return None

    def put(self, access: Access, data: np.ndarray) -> None:
        if shadow := self.shadow:
            differs = self.differing(access, data)
            shadow.before_write(access, differs)
        self.rows[self.row_of(access)] = data
        if shadow:
            shadow.after_write(access, differs)

    def differing(self, access: Access, data: np.ndarray) -> Callable[[], np.ndarray]:
        """Asked later: for each of an access's lanes, whether the memory then differs from its data."""
        rows, at = self.rows, self.row_of(access)
        return lambda: np.asarray((rows[at] != data).any(1))

    def reach(self, where: Where, addresses: np.ndarray) -> tuple[Lanes, Access, np.ndarray | None]:
        """The lanes that run; the access of those whose addresses are good; and which are, None where all are."""
        lanes = some = as_index(where)
        starts, slots, good = self.locate(lanes, self.op.spread(addresses)[lanes])
        if good is not None:
            some, starts, slots = self.numbered(lanes)[good], starts[good], slots[good] if slots.size else slots
        if self.space:
            spread = starts
            if not isinstance(some, slice):
                spread = np.full(self.state.geometry.lanes, NO_ACCESS)
                spread[some] = starts
            self.state.log.note(self.op.site, self.space, self.width, spread)
        return lanes, Access(self.op.site, self.numbered(some), starts, self.width, slots), good

    def read(self, where: Where, addresses: np.ndarray) -> tuple[Lanes, np.ndarray]:
        """The lanes, and what each of them reads, (lanes, count). A bad address reads poison."""
        lanes, access, good = self.reach(where, addresses)
        early = self.on_read(access)
        found = self.rows[self.row_of(access)].view(f"u{self.element}")
        if early is not None:
            found.view(np.uint8)[early] = POISON
        if good is None:
            return lanes, found
        data = np.full((len(good), self.width), POISON, np.uint8).view(found.dtype)
        data[good] = found
        return lanes, data

    def write(self, where: Where, addresses: np.ndarray, data: np.ndarray) -> None:
        """data: (lanes that run, count). Nothing is written to a bad address."""
        _, access, good = self.reach(where, addresses)
        self.put(access, data if good is None else data[good])

    def numbered(self, lanes: Lanes) -> np.ndarray:
        return np.arange(self.state.geometry.lanes) if isinstance(lanes, slice) else lanes

    def outside(self, start: int) -> tuple[Fault, str]:
        """Of an access beyond the memory: its finding, and what that says of it."""
        raise NotImplementedError

    def at(self, start: int) -> str:
        """Where an access begins."""
        raise NotImplementedError

    def sift(self, lanes: Lanes, starts: np.ndarray, inside: np.ndarray) -> np.ndarray | None:
        """Which addresses are good, None where all are; findings for the others. inside: which lie in the memory."""
        straight = starts % self.width == 0
        for good in (inside, straight | ~inside):
            if good.all():
                continue
            first = int((~good).argmax())
            start, who = int(starts[first]), self.state.geometry.show_thread(int(self.numbered(lanes)[first]))
            fault, what = Hazard.MISALIGNED(does=self.does), f"{self.width} bytes at {self.at(start)}"
            if good is inside:
                fault, what = self.outside(start)
            else:
                what += f", whose address is no multiple of {self.width}"
            self.op.notice(fault, f"{who} {self.does} {what}", int((~good).sum()))
        good = inside & straight
        return None if good.all() else good


@dataclass(frozen=True)
class GlobalPort(Port):
    """Places are addresses counted from the arena's first byte."""

    space = "global"

    @property
    def rows(self) -> np.ndarray:
        return rows_of(self.state.arena.bytes, self.element, self.count)

    def locate(self, lanes: Lanes, given: np.ndarray) -> Located:
        arena, width = self.state.arena, self.width
        places = (given - np.uint64(arena.address)).astype(np.int64)
        aligned = width == 1 or not (places & (width - 1)).any()
        if not len(places) or (aligned and arena.holds(int(places.min()), int(places.max()) + width)):
            return places, NO_SLOTS, None
        return places, NO_SLOTS, self.sift(lanes, places, arena.inside(places, width))

    def outside(self, start: int) -> tuple[Fault, str]:
        nearest = self.state.arena.nearest(start)
        if nearest is None:
            return Hazard.OUTSIDE(), f"{self.width} bytes at an address that belongs to no tensor"
        extent = f"shape {nearest.shape}" if nearest.width else f"{nearest.size} bytes"
        what = f"{self.at(start)}, which lies outside {nearest.name} of {extent}"
        return Hazard.OUTSIDE(tensor=nearest.name), what

    def at(self, start: int) -> str:
        return self.state.arena.show(start) or "an address"

    @property
    def shadow(self) -> GlobalShadow:
        return self.state.overlaps

    def on_read(self, access: Access) -> None:
        self.shadow.on_read(access)


@dataclass(frozen=True)
class SharedPort(Port):
    """Places are addresses in a block's shared memory; slots say of which block of the batch."""

    space = "shared"

    @property
    def shadow(self) -> SharedShadow:
        return self.state.races

    @property
    def rows(self) -> np.ndarray:
        return rows_of(self.state.shared.bytes, self.element, self.count)

    def locate(self, lanes: Lanes, given: np.ndarray) -> Located:
        starts, slots = given.astype(np.int64), self.state.slot[lanes]
        width, size, cluster = self.width, self.state.shared.size, self.state.geometry.cluster_size
        if not len(starts):
            return starts, slots, None
        if cluster > 1 and starts.max() >= 1 << PEER_BITS:
            rank = starts >> PEER_BITS
            named = (rank > 0) & (rank <= cluster)
            slots = np.where(named, slots - slots % cluster + rank - 1, slots)
            starts = np.where(named, starts & (1 << PEER_BITS) - 1, starts)
        if (width == 1 or not (starts & (width - 1)).any()) and starts.max() + width <= size:
            return starts, slots, None
        return starts, slots, self.sift(lanes, starts, starts + width <= size)

    def outside(self, start: int) -> tuple[Fault, str]:
        what = f"{self.at(start)}, of which the block has {self.state.shared.size:,}"
        return Hazard.OUTSIDE(tensor="shared memory"), what

    def at(self, start: int) -> str:
        """A 32-bit address as a distance from the memory's beginning."""
        return f"byte {start - 2**32 if start >= 2**31 else start:,} of shared memory"

    def row_of(self, access: Access) -> np.ndarray:
        return np.asarray((access.slots * self.state.shared.stride + access.starts) // self.width)

    def on_read(self, access: Access) -> np.ndarray | None:
        """Bytes never written taint the lanes that read them; where lanes read for others of their warp, as in
        ldmatrix, the whole warp."""
        undefined = self.state.undefined
        unwritten, early = self.shadow.on_read(access)
        if unwritten is None:
            return early
        at, reaches = int(unwritten.argmax()), self.state.geometry.flags(access.lanes[unwritten])
        if facts_of(self.op.instruction).of_warp:
            reaches = np.repeat(of_warps(reaches).any(1), WARP)
        names, who = written(self.op.instruction), self.state.geometry.show_thread(int(access.lanes[at]))
        if not undefined.read_back(names, reaches, int(self.shadow.write_site[self.shadow.first(access)[at]])):
            says = self.state.findings.never_written(who, int(access.starts[at]))
            undefined.note(Hazard.UNWRITTEN, self.op.site, names, reaches, says)
        return early

    def put(self, access: Access, data: np.ndarray) -> None:
        undefined = self.state.undefined
        super().put(access, data)
        if undefined.storing is not None:
            self.shadow.unwrite(access.only(undefined.storing[access.lanes]))
            undefined.storing = None


@dataclass(frozen=True)
class LocalPort(Port):
    """A thread's own memory, what the compiler could not keep in registers: a value read that was never set is
    followed, as it is there. name: of a parameter of a function that is called, whose memory that is instead."""

    name: str = ""

    @property
    def memory(self) -> np.ndarray:
        """(lanes, bytes)"""
        return self.state.call_space[self.name] if self.name else self.state.local

    @property
    def rows(self) -> np.ndarray:
        return rows_of(self.memory.reshape(-1), self.element, self.count)

    def locate(self, lanes: Lanes, given: np.ndarray) -> Located:
        room, at = self.memory.shape[1], given.astype(np.int64)
        if len(at) and (at.max() + self.width > room or (at % self.width).any()):
            at = np.clip(at, 0, room - self.width) // self.width * self.width
            self.op.notice(Hazard.OUTSIDE, f"a thread {self.does} outside its {room} bytes of local memory")
        return at, NO_SLOTS, None

    def row_of(self, access: Access) -> np.ndarray:
        return np.asarray((access.lanes * self.memory.shape[1] + access.starts) // self.width)

    def on_read(self, access: Access) -> None:
        if self.name:
            return
        known = self.state.local_set.reshape(-1, self.count, self.element)[self.row_of(access)].all(2)  # (lanes, count)
        for name, good in zip(written(self.op.instruction), known.T, strict=True):
            if not good.all():
                lanes = access.lanes[~good]
                says = f"{self.state.geometry.show_thread(int(lanes[0]))} reads a variable that was never set"
                self.state.undefined.note(Hazard.UNSET, self.op.site, [name], self.state.geometry.flags(lanes), says)

    def put(self, access: Access, data: np.ndarray) -> None:
        super().put(access, data)
        if not self.name:
            self.state.local_set.reshape(-1, self.width)[self.row_of(access)] = True


@dataclass(frozen=True)
class ParameterPort(Port):
    """The kernel's parameters, the same for every thread. They cannot be written."""

    @property
    def rows(self) -> np.ndarray:
        return np.lib.stride_tricks.sliding_window_view(self.state.parameters, self.width)

    def locate(self, lanes: Lanes, given: np.ndarray) -> Located:
        return given.astype(np.int64), NO_SLOTS, None

    def row_of(self, access: Access) -> np.ndarray:
        return access.starts

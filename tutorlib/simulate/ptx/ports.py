"""How one instruction gets at a state space: which addresses are good, what is read, what is written, who looks on.

A port is made for an instruction; `count` numbers of `element` bytes go through it for each lane. Addresses are given
for all lanes, or one for all of them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from tutorlib.dsl.failure import Fault, Flaw, Hazard
from tutorlib.simulate.ptx.access_log import NO_ACCESS, Space
from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.memory.access import GlobalAccess, SharedAccess
from tutorlib.simulate.ptx.memory.windows import PEER_BITS
from tutorlib.simulate.ptx.state import State, Where, as_index, of_warps
from tutorlib.simulate.ptx.uses import written

Lanes = np.ndarray | slice


@dataclass(frozen=True)
class Port(ABC):
    """does: what the instruction does to memory, "loads" or "stores", for messages."""

    space: ClassVar[Space]
    state: State
    instruction: Instruction
    site: int
    element: int
    count: int
    does: str

    @property
    def width(self) -> int:
        """Bytes of each lane's access."""
        return self.element * self.count

    @abstractmethod
    def read(self, where: Where, addresses: np.ndarray) -> tuple[Lanes, np.ndarray]:
        """The lanes, and what each of them reads, (lanes, count). A bad address reads poison."""

    @abstractmethod
    def write(self, where: Where, addresses: np.ndarray, data: np.ndarray) -> None:
        """data: (lanes that run, count). Nothing is written to a bad address."""

    def starts(self, where: Where, addresses: np.ndarray) -> tuple[Lanes, np.ndarray]:
        """The lanes that run, and the first address of each."""
        lanes = as_index(where)
        return lanes, np.broadcast_to(addresses, self.state.geometry.lanes)[lanes]

    def numbered(self, lanes: Lanes) -> np.ndarray:
        return np.arange(self.state.geometry.lanes) if isinstance(lanes, slice) else lanes

    def log(self, lanes: Lanes, places: np.ndarray) -> None:
        if isinstance(lanes, slice):
            spread = places
        else:
            spread = np.full(self.state.geometry.lanes, NO_ACCESS)
            spread[lanes] = places
        self.state.watch.log.note(self.site, self.space, self.width, spread)

    def first_bad(self, lanes: Lanes, good: np.ndarray) -> tuple[int, str]:
        """The first lane with a bad address: its place among the lanes, and who that is."""
        at = int((~good).argmax())
        return at, self.state.geometry.show_thread(int(self.numbered(lanes)[at]))


@dataclass(frozen=True)
class GlobalPort(Port):
    """Places are addresses counted from the arena's first byte."""

    space = "global"

    def admit(self, where: Where, addresses: np.ndarray) -> tuple[Lanes, np.ndarray, np.ndarray | None]:
        """The lanes, their places, and which of them are good; None where all are."""
        arena, width = self.state.arena, self.width
        lanes, given = self.starts(where, addresses)
        places = (given - np.uint64(arena.address)).astype(np.int64)
        if not len(places):
            return lanes, places, None
        aligned = width == 1 or not (places & (width - 1)).any()
        if aligned and arena.holds(int(places.min()), int(places.max()) + width):
            return lanes, places, None
        inside = arena.inside(places, width)
        straight = places % width == 0
        if not inside.all():
            self.report_outside(lanes, places, inside)
        if not (straight | ~inside).all():
            self.report_misaligned(lanes, places, straight | ~inside)
        good = inside & straight
        return lanes, places, None if good.all() else good

    def report_outside(self, lanes: Lanes, places: np.ndarray, good: np.ndarray) -> None:
        at, who = self.first_bad(lanes, good)
        arena, place = self.state.arena, int(places[at])
        nearest = arena.nearest(place)

        def message() -> str:
            if nearest is None:
                return f"{who} {self.does} {self.width} bytes at an address that belongs to no tensor"
            where = nearest.element(place - nearest.start)
            extent = f"shape {nearest.shape}" if nearest.width else f"{nearest.size} bytes"
            what = f"{who} {self.does} {where}, which lies outside {nearest.name} of {extent}"
            return Flaw(what, Hazard.OUTSIDE(tensor=nearest.name))

        self.state.watch.findings.notice(Hazard.OUTSIDE, self.site, message, int((~good).sum()))

    def report_misaligned(self, lanes: Lanes, places: np.ndarray, good: np.ndarray) -> None:
        at, who = self.first_bad(lanes, good)
        place = int(places[at])
        nearest = self.state.arena.nearest(place)
        name = nearest.element(place - nearest.start) if nearest else "an address"
        self.state.watch.findings.notice(
            Hazard.MISALIGNED(does=self.does),
            self.site,
            lambda: f"{who} {self.does} {self.width} bytes at {name}, whose address is no multiple of {self.width}",
            int((~good).sum()),
        )

    def access(self, lanes: Lanes, places: np.ndarray) -> GlobalAccess:
        return GlobalAccess(self.site, self.numbered(lanes), places, self.width, self.instruction)

    def read(self, where: Where, addresses: np.ndarray) -> tuple[Lanes, np.ndarray]:
        lanes, places, good = self.admit(where, addresses)
        watch = self.state.watch
        if good is None:
            self.log(lanes, places)
        else:
            places = np.where(good, places, 0)
            self.log(self.numbered(lanes)[good], places[good])
        some = lanes if good is None else self.numbered(lanes)[good]
        watch.overlaps.on_load(self.access(some, places if good is None else places[good]))
        return lanes, self.state.arena.rows(self.element, self.count)[places // self.width]

    def write(self, where: Where, addresses: np.ndarray, data: np.ndarray) -> None:
        lanes, places, good = self.admit(where, addresses)
        if good is not None:
            lanes, places, data = self.numbered(lanes)[good], places[good], data[good]
        self.log(lanes, places)
        rows = self.state.arena.rows(self.element, self.count)
        rows_at = places // self.width
        overlaps = self.state.watch.overlaps

        def differs() -> np.ndarray:
            return (rows[rows_at] != data).any(1)

        access = self.access(lanes, places)
        overlaps.before_store(access, differs)
        rows[rows_at] = data
        overlaps.after_store(access, differs)


@dataclass(frozen=True)
class SharedPort(Port):
    """Places are bytes of all blocks' shared memory: the row of a lane's block and the address in it."""

    space = "shared"

    def admit(self, where: Where, addresses: np.ndarray) -> tuple[Lanes, np.ndarray, np.ndarray | None]:
        """As GlobalPort.admit, with addresses in place of places. Raises NotSimulated for another block's memory."""
        lanes, slots, starts, good = self.find(where, addresses)
        if slots is not self.state.slot and (slots != self.state.slot[lanes]).any():
            raise NotSimulated(f"{self.instruction} of another block's shared memory", self.instruction.line)
        return lanes, starts, good

    def find(self, where: Where, addresses: np.ndarray) -> tuple[Lanes, np.ndarray, np.ndarray, np.ndarray | None]:
        """The lanes; for each the slot of the block whose memory its address lies in, and the address there; and which
        of them are good, None where all are."""
        lanes, given = self.starts(where, addresses)
        starts, slots = given.astype(np.int64), self.state.slot[lanes]
        width, size, cluster = self.width, self.state.shared.size, self.state.geometry.cluster_size
        if not len(starts):
            return lanes, slots, starts, None
        if cluster > 1 and starts.max() >= 1 << PEER_BITS:
            rank = starts >> PEER_BITS
            named = (rank > 0) & (rank <= cluster)
            slots = np.where(named, slots - slots % cluster + rank - 1, slots)
            starts = np.where(named, starts & (1 << PEER_BITS) - 1, starts)
        if (width == 1 or not (starts & (width - 1)).any()) and starts.max() + width <= size:
            return lanes, slots, starts, None
        inside = starts + width <= size
        straight = starts % width == 0
        for kind, good in (("outside", inside), ("misaligned", straight | ~inside)):
            if not good.all():
                at, who = self.first_bad(lanes, good)
                self.report(kind, who, int(starts[at]), int((~good).sum()))
        good = inside & straight
        return lanes, slots, starts, None if good.all() else good

    def report(self, kind: str, who: str, start: int, count: int) -> None:
        signed = start - 2**32 if start >= 2**31 else start
        if kind == "outside":
            hazard: Fault = Hazard.OUTSIDE(tensor="shared memory")
            what = f"byte {signed:,} of shared memory, of which the block has {self.state.shared.size:,}"
        else:
            hazard = Hazard.MISALIGNED(does=self.does)
            what = f"{self.width} bytes of shared memory at byte {signed:,}, no multiple of {self.width}"
        self.state.watch.findings.notice(hazard, self.site, lambda: f"{who} {self.does} {what}", count)

    def access(self, lanes: Lanes, starts: np.ndarray, slots: np.ndarray | None = None) -> SharedAccess:
        """slots: of the blocks whose memory it is; None: each lane's own."""
        slots = self.state.slot[lanes] if slots is None else slots
        return SharedAccess(self.site, self.numbered(lanes), starts, self.width, slots)

    def read(self, where: Where, addresses: np.ndarray) -> tuple[Lanes, np.ndarray]:
        lanes, slots, starts, good = self.find(where, addresses)
        if good is None:
            self.log(lanes, starts)
            self.look(lanes, self.access(lanes, starts, slots))
            return lanes, self.rows[self.row_of(slots, starts)]
        some = self.numbered(lanes)[good]
        self.log(some, starts[good])
        self.look(some, self.access(some, starts[good], slots[good]))
        data = np.full((len(starts), self.count), 0xEB, f"u{self.element}")
        data[good] = self.rows[self.row_of(slots[good], starts[good])]
        return lanes, data

    def row_of(self, slots: np.ndarray, starts: np.ndarray) -> np.ndarray:
        return np.asarray((slots * self.state.shared.stride + starts) // self.width)

    def look(self, lanes: Lanes, access: SharedAccess) -> None:
        """Compare a read with all that went before. Bytes never written taint the lanes that read them; where
        lanes read for others of their warp, as in ldmatrix, the whole warp."""
        unwritten = self.state.watch.races.on_read(access)
        if unwritten is None:
            return
        at, who = self.first_bad(lanes, ~unwritten)
        reaches = np.zeros(self.state.geometry.lanes, bool)
        reaches[self.numbered(lanes)[unwritten]] = True
        if self.instruction.parts[0] == "ldmatrix":
            reaches = np.repeat(of_warps(reaches).any(1), WARP)
        start = int(access.starts[at])
        undefined = self.state.watch.undefined
        stored_at = self.state.watch.races.written_at(access, at)
        if undefined.read_back(written(self.instruction), reaches, stored_at):
            return
        undefined.note(
            Hazard.UNWRITTEN,
            self.site,
            written(self.instruction),
            reaches,
            lambda: self.state.watch.findings.never_written(who, start),
        )

    def write(self, where: Where, addresses: np.ndarray, data: np.ndarray) -> None:
        lanes, slots, starts, good = self.find(where, addresses)
        if good is not None:
            lanes, slots, starts, data = self.numbered(lanes)[good], slots[good], starts[good], data[good]
        self.log(lanes, starts)
        access = self.access(lanes, starts, slots)
        rows, rows_at = self.rows, self.row_of(slots, starts)

        def differs() -> np.ndarray:
            return (rows[rows_at] != data).any(1)

        def other_than_flight() -> np.ndarray:
            return (self.state.shared.arriving_rows(self.element, self.count)[rows_at] != data).any(1)

        self.state.watch.races.before_write(access, differs, other_than_flight)
        rows[rows_at] = data
        self.state.watch.races.after_write(access, differs)
        undefined = self.state.watch.undefined
        if undefined.storing is not None:
            some = undefined.storing[self.numbered(lanes)]
            self.state.watch.races.unwrite(self.access(self.numbered(lanes)[some], starts[some], slots[some]))
            undefined.storing = None

    @property
    def rows(self) -> np.ndarray:
        return self.state.shared.rows(self.element, self.count)


@dataclass(frozen=True)
class LocalPort(Port):
    """A thread's own memory: what the compiler could not keep in registers. A value read from it that was never set is
    followed, as it is in registers."""

    def places(self, lanes: Lanes, starts: np.ndarray) -> np.ndarray:
        stride = self.state.local.shape[1]
        at = starts.astype(np.int64)
        if len(at) and (at.max() + self.width > stride or (at % self.width).any()):
            at = np.clip(at, 0, stride - self.width) // self.width * self.width
            self.state.watch.findings.notice(
                Hazard.OUTSIDE, self.site, lambda: f"a thread {self.does} outside its {stride} bytes of local memory"
            )
        return (self.numbered(lanes) * stride + at) // self.width

    @property
    def rows(self) -> np.ndarray:
        return self.state.local.reshape(-1).view(f"u{self.element}").reshape(-1, self.count)

    @property
    def known(self) -> np.ndarray:
        """Which bytes of each row have been set."""
        return self.state.local_set.reshape(-1, self.width)

    def read(self, where: Where, addresses: np.ndarray) -> tuple[Lanes, np.ndarray]:
        lanes, starts = self.starts(where, addresses)
        at = self.places(lanes, starts)
        if not (known := self.known[at]).all():
            self.look(lanes, known.reshape(-1, self.count, self.element).all(2))
        return lanes, self.rows[at]

    def look(self, lanes: Lanes, known: np.ndarray) -> None:
        """known: (lanes, count)."""
        for name, good in zip(written(self.instruction), known.T, strict=True):
            if not good.all():
                reaches = np.zeros(self.state.geometry.lanes, bool)
                reaches[self.numbered(lanes)[~good]] = True
                message = f"{self.first_bad(lanes, good)[1]} reads a variable that was never set"
                self.state.watch.undefined.note(Hazard.UNSET, self.site, [name], reaches, partial(str, message))

    def write(self, where: Where, addresses: np.ndarray, data: np.ndarray) -> None:
        lanes, starts = self.starts(where, addresses)
        at = self.places(lanes, starts)
        self.rows[at] = data
        self.known[at] = True


@dataclass(frozen=True)
class ParameterPort(Port):
    """The kernel's parameters, the same for every thread."""

    def read(self, where: Where, addresses: np.ndarray) -> tuple[Lanes, np.ndarray]:
        lanes, starts = self.starts(where, addresses)
        steps = np.arange(self.width)
        raw = np.ascontiguousarray(self.state.parameters[starts.astype(np.int64)[:, None] + steps])
        return lanes, raw.view(f"u{self.element}")

    def write(self, where: Where, addresses: np.ndarray, data: np.ndarray) -> None:
        raise TypeError("parameters cannot be written")

"""Shared memory used by two threads, one of them to write, with nothing between that orders them.

For each piece of shared memory the last write is kept, and for each warp its last read since; every access is compared
with those by their clocks, so that a fault shows whatever order the simulator happens to run warps in (Flanagan and
Freund, FastTrack, PLDI 2009). A cp.async writes when its thread has waited for its group; in between the piece is in
flight. So is what TMA writes, or a cp.async that an mbarrier counts, until a thread waits for that mbarrier; wgmma and
TMA read from when they are told to until they are waited for, and must not before a proxy fence has made visible what
threads wrote (PTX ISA, 8.10).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tutorlib.dsl.failure import Fault, Hazard
from tutorlib.simulate.ptx.clocks import Agents, WarpClocks
from tutorlib.simulate.ptx.findings import Findings, never_written
from tutorlib.simulate.ptx.geometry import WARP, WARPGROUP, Geometry
from tutorlib.simulate.ptx.memory.access import Agent, Carrier, SharedAccess
from tutorlib.simulate.ptx.memory.async_copies import AsyncCopies

NEVER, SEVERAL, NO_THREAD = -1, -2, -3  # in place of a thread
NOT_IN_FLIGHT = -1
BY_MBARRIER = -1  # in place of a group of cp.async
UNFENCED = np.int32(2**31 - 1)  # later than any step of a warp


def record_bytes(size: int, piece: int, agents: Agents) -> int:
    """What SharedRaces keeps of a block with `size` bytes of shared memory."""
    return pieces_of(size, piece) * (27 + 10 * agents.readers)


def pieces_of(size: int, piece: int) -> int:
    return -(-size // piece) + 1


class SharedRaces:
    """piece: bytes that are watched together, the fewest that an access of the kernel has.

    Everything about a piece is kept by slot * pieces + piece. show: a site as "line 12, `…`".
    reads: pieces that warps have read; reread: those of them that the same warp had read since they were written.
    """

    def __init__(
        self,
        geometry: Geometry,
        size: int,
        piece: int,
        clocks: WarpClocks,
        copies: AsyncCopies,
        findings: Findings,
        show: Callable[[int], str],
    ) -> None:
        self.geometry, self.piece, self.clocks, self.copies = geometry, piece, clocks, copies
        self.findings, self.show = findings, show
        self.pieces = pieces_of(size, piece)
        count = geometry.batch * self.pieces
        self.writer = np.empty(count, np.int16)
        self.written = np.empty(count, np.int32)  # the writer's clock
        self.write_site = np.empty(count, np.int32)
        self.atomically = np.empty(count, bool)  # that write was an atomic
        self.flight = np.empty(count, np.int32)  # the site of a cp.async that may still be in flight
        self.flight_thread = np.empty(count, np.int16)
        self.flight_group = np.empty(count, np.int32)  # how many groups its thread had committed before
        readers = clocks.agents.readers
        self.reader = np.empty((count, readers), np.int16)
        self.read = np.empty(
            (count, readers), np.int32
        )  # the clock of each warp's last read, and of each other agent's
        self.read_site = np.empty((count, readers), np.int32)
        self.has_proxies = readers > geometry.warps
        self.fence = np.empty(count if self.has_proxies else 0, np.int32)  # the fencing warp's clock, or UNFENCED
        self.fencer = np.zeros(count if self.has_proxies else 0, np.int16)  # that warp
        self.at_fence = np.zeros_like(clocks.known if self.has_proxies else 0)  # what each warp knew at its last fence
        self.carriers: dict[int, Carrier] = {}  # what brings bytes that an mbarrier counts, by the site
        self.reads = self.reread = 0
        self.bulk_phases = np.zeros((geometry.batch, clocks.agents.mbarriers), np.int32)  # the latest that copies fill
        self.restart()

    def restart(self) -> None:
        """Make ready for another batch."""
        self.writer.fill(NEVER)
        self.written.fill(0)
        self.write_site.fill(-1)
        self.atomically.fill(False)
        self.flight.fill(NOT_IN_FLIGHT)
        self.reader.fill(NEVER)
        self.read.fill(0)
        self.fence.fill(0)
        self.at_fence.fill(0)
        self.bulk_phases.fill(0)

    # accesses ---------------------------------------------------------------------------------------------------

    def on_read(self, access: SharedAccess) -> np.ndarray | None:
        """For each lane whether it reads bytes never written; None where none does.

        Of reads by another block no record is kept: that they are over no write asks.
        """
        self.copies.on_read(len(access.starts), self.beside_bulk(access))
        touched = self.spread(access)
        unwritten = self.compare_read_with_write(touched)
        if access.by is None:
            self.note_read(touched)
        return touched.any_piece(unwritten) if unwritten.any() else None

    def on_proxy_read(self, access: SharedAccess, reader: np.ndarray, numbers: np.ndarray) -> None:
        """TMA or the tensor cores are told to read: from now on, until it is known that as many of this agent's
        operations are over. reader: its component of the clocks, numbers: of the operation, both for each access."""
        touched = self.spread(access)
        pieces, reader, numbers = touched.pieces, touched.by_piece(reader), touched.by_piece(numbers)
        unwritten = self.compare_read_with_write(touched)
        if unwritten.any():
            start = int(access.starts[int(unwritten.argmax()) // touched.many])
            self.report(Hazard.UNWRITTEN(), touched, unwritten, None, lambda at: never_written(self.who(at), start))
        self.compare_with_fence(touched)
        self.read[pieces, reader] = numbers
        self.reader[pieces, reader] = NO_THREAD
        self.read_site[pieces, reader] = access.site

    def compare_read_with_write(self, touched: "Touched") -> np.ndarray:
        """For each piece whether it was never written."""
        in_flight = self.flight[touched.pieces] != NOT_IN_FLIGHT
        if in_flight.any():
            self.report_flight(touched, in_flight, "reads")
        unordered = self.after_unordered_write(touched) & ~in_flight
        if unordered.any():
            self.report_unordered_read(touched, unordered)
        return (self.writer[touched.pieces] == NEVER) & ~in_flight

    def after_unordered_write(self, touched: "Touched") -> np.ndarray:
        """For each piece whether another thread wrote it last, and nothing orders that before this access."""
        writers, by = self.writer[touched.pieces], touched.by
        return (
            (self.written[touched.pieces] > self.clocks.over(by, touched.warps, touched.slots, writers // WARP))
            & ((writers != touched.threads) | (by != touched.slots))
            & (writers != NEVER)
        )

    def compare_with_fence(self, touched: "Touched") -> None:
        pieces, slots, warps = touched.pieces, touched.slots, touched.warps
        fences, fencers = self.fence[pieces], self.fencer[pieces]
        missing = (fences == UNFENCED) | (
            (fencers != warps) & (fences > self.clocks.over(slots, warps, slots, fencers))
        )
        missing &= (self.writer[pieces] != NEVER) & (self.flight[pieces] == NOT_IN_FLIGHT)
        if missing.any():
            known = self.at_fence[slots, warps, self.clocks.base[slots] + self.writer[pieces] // WARP]
            missing &= self.written[pieces] > known
        if missing.any():
            site = int(self.write_site[pieces[int(missing.argmax())]])
            self.report(
                Hazard.PROXY(), touched, missing, site,
                lambda at: f"{self.who(at)} may read what was in shared memory before {self.show(site)}, since no "
                "proxy fence lies between",
            )  # fmt: skip

    def on_fence(self, slots: np.ndarray, warps: np.ndarray, lanes: np.ndarray) -> None:
        """A proxy fence of these warps, (n,). lanes: booleans, which of their threads run it."""
        if not self.has_proxies:
            return
        self.at_fence[slots, warps] = self.clocks.known[slots, warps]
        pieces = np.flatnonzero(self.fence == UNFENCED)
        of, writers = pieces // self.pieces, self.writer[pieces].astype(np.int64)
        last = self.geometry.warps * WARP - 1  # thread
        own = (writers <= last) & lanes[self.lane(of, np.minimum(writers, last))]
        self.fence_by(pieces[own], of[own], writers[own] // WARP)
        for slot, warp in zip(slots, warps, strict=True):  # what others wrote and this warp knows of
            here = (of == slot) & ~own
            if here.any():
                known = self.clocks.known[slot, warp, self.clocks.base[slot] + writers[here] // WARP]
                seen = pieces[here][self.written[pieces[here]] <= known]
                self.fence_by(seen, np.full(len(seen), slot), np.full(len(seen), warp))

    def fence_by(self, pieces: np.ndarray, slots: np.ndarray, warps: np.ndarray) -> None:
        self.fence[pieces] = self.clocks.now[slots, warps]
        self.fencer[pieces] = warps

    def note_read(self, touched: "Touched") -> None:
        pieces, threads, warps = touched.pieces, touched.threads, touched.warps
        now = self.clocks.now[touched.slots, warps]
        before = self.read[pieces, warps]
        self.reads += len(before)
        self.reread += int(np.count_nonzero(before))
        another = (before == now) & (self.reader[pieces, warps] != threads)
        self.read[pieces, warps] = now
        self.reader[pieces, warps] = threads
        another |= self.reader[pieces, warps] != threads
        self.reader[pieces[another], warps[another]] = SEVERAL
        self.read_site[pieces, warps] = touched.access.site

    def before_write(
        self, access: SharedAccess, changes: Callable[[], np.ndarray], other_than_flight: Callable[[], np.ndarray]
    ) -> None:
        """For each lane, asked only where it matters: whether its bytes differ from what is there, and from what a
        cp.async is about to put there."""
        touched = self.spread(access)
        self.compare_with_flight(touched, "writes to", other_than_flight)
        self.compare_with_write(touched, changes)
        self.compare_with_reads(touched)
        self.note_write(touched)

    def after_write(self, access: SharedAccess, lost: Callable[[], np.ndarray]) -> None:
        """lost: for each lane, whether other bytes than its own are there now."""
        touched = self.spread(access)
        writers = self.writer[touched.pieces]
        twice = writers != touched.threads
        if twice.any():
            twice &= touched.by_piece(lost())
        if twice.any():
            self.report(
                Hazard.RACE(earlier="store"), touched, twice, "twice",
                lambda at: f"{self.who(at)} and thread {writers[at.piece]} store different values to one "
                f"place (byte {access.starts[at.access]})",
            )  # fmt: skip

    def unwrite(self, access: SharedAccess) -> None:
        """What was just written is undefined."""
        self.writer[self.spread(access).pieces] = NEVER

    def written_at(self, access: SharedAccess, number: int) -> int:
        """The site of the last write to where one of these accesses begins, -1 for none."""
        piece = access.slots[number] * self.pieces + access.starts[number] // self.piece
        return int(self.write_site[piece])

    def on_issue(self, access: SharedAccess, other_than_flight: Callable[[], np.ndarray]) -> None:
        """A cp.async begins: from now on, until it is waited for, its bytes may arrive."""
        touched = self.spread(access)
        self.compare_with_flight(touched, "copies to", other_than_flight)
        self.take_off(touched, self.copies.committed[self.lane(touched.slots, touched.threads)])

    def on_arrival(self, access: SharedAccess) -> None:
        """Its thread has waited: now the bytes count as written by it."""
        touched = self.spread(access)
        self.flight[touched.pieces] = NOT_IN_FLIGHT
        self.note_write(touched)

    def on_counting(self, access: SharedAccess) -> None:
        """From now on an mbarrier counts the arrival of these bytes of a cp.async."""
        self.carriers[access.site] = "cp.async"
        self.flight_group[self.spread(access).pieces] = BY_MBARRIER

    def on_tma_issue(self, access: SharedAccess, carrier: Carrier = "TMA") -> None:
        """TMA, or an st.async, is told to write: from now on, until its mbarrier has counted the bytes, it may."""
        self.carriers[access.site] = carrier
        touched = self.spread(access)
        self.compare_with_flight(touched, "writes to")
        self.take_off(touched, BY_MBARRIER)
        again = np.ones(len(touched.pieces), bool)
        again[np.unique(touched.pieces, return_index=True)[1]] = False
        if again.any():  # blocks of one cluster, or threads of one block, to one place at once
            self.report_flight(touched, again, "writes to")

    def take_off(self, touched: "Touched", group: np.ndarray | int) -> None:
        """The bytes are in flight from now on. group: which wait covers them."""
        self.compare_with_write(touched)
        self.compare_with_reads(touched)
        self.flight[touched.pieces] = touched.access.site
        self.flight_thread[touched.pieces] = touched.threads
        self.flight_group[touched.pieces] = group

    def on_bulk(self, slot: int, mbarrier: int, phase: int) -> None:
        """A bulk copy into a block's shared memory is issued, whose bytes this phase of an mbarrier counts."""
        self.copies.issued = True
        self.bulk_phases[slot, mbarrier] = max(phase, self.bulk_phases[slot, mbarrier])

    def beside_bulk(self, access: SharedAccess) -> int:
        """How many of these reads are by a warp that has not waited for all bulk copies into its block."""
        if not self.bulk_phases.any():
            return 0
        slots, first = access.slots, self.clocks.base[access.slots] + self.clocks.agents.readers
        columns = first[:, None] + np.arange(self.bulk_phases.shape[1])
        known = self.clocks.known[slots[:, None], (access.threads // WARP)[:, None], columns]
        return int((self.bulk_phases[slots] > known).any(1).sum())

    def on_tma_arrival(self, access: SharedAccess, component: int, phase: int) -> None:
        """The bytes are there: written by the mbarrier with this component of the clocks, in this phase of it."""
        pieces = self.spread(access).pieces
        self.flight[pieces] = NOT_IN_FLIGHT
        self.writer[pieces] = component * WARP
        self.written[pieces] = phase
        self.write_site[pieces] = access.site
        self.atomically[pieces] = False
        self.read[pieces] = 0
        self.reader[pieces] = NEVER
        if self.has_proxies:
            by_threads = self.carriers.get(access.site) == "cp.async"  # TMA and tensor cores need a fence for these
            self.fence[pieces] = UNFENCED if by_threads else 0

    def on_atomic(self, access: SharedAccess) -> None:
        """Atomics do not race with each other, but with everything else. Of another block's no record is kept."""
        touched = self.spread(access)
        plain = ~self.atomically[touched.pieces]
        self.compare_with_write(touched, lambda: touched.any_piece(plain))
        self.compare_with_reads(touched)
        if access.by is None:
            self.note_write(touched)
            self.atomically[touched.pieces] = True

    # comparing --------------------------------------------------------------------------------------------------

    def compare_with_flight(
        self, touched: "Touched", does: str, other_than_flight: Callable[[], np.ndarray] | None = None
    ) -> None:
        in_flight = self.flight[touched.pieces] != NOT_IN_FLIGHT
        if other_than_flight and in_flight.any():
            in_flight &= touched.by_piece(other_than_flight())
        if in_flight.any():
            self.report_flight(touched, in_flight, does)

    def compare_with_write(self, touched: "Touched", changes: Callable[[], np.ndarray] | None = None) -> None:
        """changes: for each access whether it changes anything; None where all do."""
        unordered = self.after_unordered_write(touched)
        if changes and unordered.any():
            unordered &= touched.by_piece(changes())
        if unordered.any():
            pieces = touched.pieces
            site = int(self.write_site[pieces[int(unordered.argmax())]])
            self.report(
                Hazard.RACE(earlier="write"), touched, unordered, site,
                lambda at: f"{self.who(at)} overwrites what {self.writer_at(pieces[at.piece])} wrote at "
                f"{self.show(site)}, with no barrier between",
            )  # fmt: skip

    def compare_with_reads(self, touched: "Touched") -> None:
        pieces, slots, warps, by = touched.pieces, touched.slots, touched.warps, touched.by
        unordered = self.read[pieces] > self.clocks.over_readers(by, warps, slots)  # (n, readers)
        if not unordered.any():
            return
        own = np.arange(len(pieces))
        unordered[own, warps] &= (self.reader[pieces, warps] != touched.threads) | (by != slots)
        if not unordered.any():
            return
        rows = unordered.any(1)
        first = int(rows.argmax())
        other = int(unordered[first].argmax())
        site = int(self.read_site[pieces[first], other])
        self.report(
            Hazard.RACE(earlier="read"), touched, rows, site,
            lambda at: f"{self.who(at)} overwrites what {self.clocks.agents.show(other)} may still be reading at "
            f"{self.show(site)}: no barrier lies between",
        )  # fmt: skip

    def note_write(self, touched: "Touched") -> None:
        pieces = touched.pieces
        self.writer[pieces] = touched.threads
        self.written[pieces] = self.clocks.now[touched.slots, touched.warps]
        self.write_site[pieces] = touched.access.site
        self.atomically[pieces] = False
        self.read[pieces] = 0
        self.reader[pieces] = NEVER
        if self.has_proxies:
            self.fence[pieces] = UNFENCED

    def spread(self, access: SharedAccess) -> "Touched":
        base = access.slots * self.pieces + access.starts // self.piece
        many = max(access.width // self.piece, 1)
        if many == 1:
            return Touched(access, 1, base, access.slots, access.threads)
        pieces = (base[:, None] + np.arange(many)).reshape(-1)
        return Touched(access, many, pieces, np.repeat(access.slots, many), np.repeat(access.threads, many))

    def lane(self, slots: np.ndarray, threads: np.ndarray | int) -> np.ndarray:
        return slots * self.geometry.warps * WARP + threads

    # reporting --------------------------------------------------------------------------------------------------

    def report(
        self, hazard: Fault, touched: "Touched", where: np.ndarray, apart: object, message: "Callable[[Example], str]"
    ) -> None:
        at, access, many = int(where.argmax()), touched.access, touched.many
        example = Example(at, at // many, int(touched.threads[at]), int(touched.by[at]), access.agent)
        count = len(np.unique(np.flatnonzero(where) // many))
        self.findings.notice(hazard.and_by(access.agent), access.site, lambda: message(example), count, apart)

    def report_flight(self, touched: "Touched", where: np.ndarray, does: str) -> None:
        at = int(where.argmax())
        piece = touched.pieces[at]
        site, copier = int(self.flight[piece]), int(self.flight_thread[piece])
        if self.flight_group[piece] == BY_MBARRIER:
            carrier = "the TMA copy issued" if self.carriers[site] == "TMA" else f"the {self.carriers[site]}"
            self.report(
                Hazard.UNWAITED(lacks="mbarrier", does=does, of=self.carriers[site]), touched, where, site,
                lambda at: f"{self.who(at)} {does} shared memory into which {carrier} at {self.show(site)} may "
                "still be copying: its mbarrier has not been waited for",
            )  # fmt: skip
            return
        by = "it" if copier == touched.threads[at] else f"thread {copier}"
        committed = self.copies.committed[self.lane(touched.slots[at], copier)] > self.flight_group[piece]
        why = "no wait has covered its group" if committed else "it is in no committed group, so no wait covers it"
        self.report(
            Hazard.UNWAITED(lacks="wait" if committed else "commit", does=does), touched, where, site,
            lambda at: f"{self.who(at)} {does} shared memory into which the cp.async that {by} issued at "
            f"{self.show(site)} may still be copying: {why}",
        )  # fmt: skip

    def report_unordered_read(self, touched: "Touched", where: np.ndarray) -> None:
        piece = touched.pieces[int(where.argmax())]
        site, writer = int(self.write_site[piece]), self.writer_at(piece)
        waited = writer in ("TMA", "st.async", "cp.async")
        why = "without having waited for its mbarrier" if waited else "with no barrier between"
        self.report(
            Hazard.RACE(earlier="mbarrier" if waited else "write"), touched, where, site,
            lambda at: f"{self.who(at)} reads what {writer} wrote at {self.show(site)}, {why}",
        )  # fmt: skip

    def writer_at(self, piece: int) -> str:
        """The last writer of a piece."""
        writer = int(self.writer[piece])
        if writer < self.geometry.warps * WARP:
            return f"thread {writer}"
        return self.carriers.get(int(self.write_site[piece]), "TMA")

    def who(self, at: "Example") -> str:
        block = f"block {self.geometry.show_slot(at.slot)}"
        if at.agent in ("tcgen05", "tcgen05.cp"):
            return f"the {'tcgen05.mma' if at.agent == 'tcgen05' else at.agent} of warp {at.thread // WARP} of {block}"
        if at.agent == "wgmma":
            return f"the wgmma of warpgroup {at.thread // (WARPGROUP * WARP)} of {block}"
        return f"thread {at.thread} of {block}" if at.agent == "thread" else f"TMA, for thread {at.thread} of {block},"


@dataclass(frozen=True)
class Touched:
    """Accesses by their pieces: number, slot and thread of each, (accesses · many,). many: pieces of one access."""

    access: SharedAccess
    many: int
    pieces: np.ndarray
    slots: np.ndarray
    threads: np.ndarray

    @property
    def warps(self) -> np.ndarray:
        return self.threads // WARP

    @property
    def by(self) -> np.ndarray:
        """The block of the thread that acts, for each piece."""
        return self.slots if self.access.by is None else self.by_piece(self.access.by)

    def by_piece(self, by_access: np.ndarray) -> np.ndarray:
        return np.repeat(by_access, self.many)

    def any_piece(self, by_piece: np.ndarray) -> np.ndarray:
        return np.asarray(by_piece.reshape(len(self.access.starts), -1).any(1))


@dataclass(frozen=True)
class Example:
    """The first occurrence of a fault. piece: its place among the pieces; access: among the accesses.

    thread, slot: that access, or that TMA and the tensor cores access for.
    """

    piece: int
    access: int
    thread: int
    slot: int
    agent: Agent

"""Shared memory used by two threads, one of them to write, with nothing between that orders them.

For each piece of shared memory the last write is kept, and for each warp the last reads since. A cp.async writes when
its thread has waited for its group; in between the piece is in flight. So is what TMA writes, or a cp.async that an
mbarrier counts, until a thread waits for that mbarrier; wgmma and TMA read from when they are told to until they are
waited for, and must not before a proxy fence has made visible what threads wrote (PTX ISA, 8.10).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tutorlib.dsl.failure import Fault, Hazard
from tutorlib.simulate.ptx.clocks import Agents, LaneClocks, Rows, copy_rows
from tutorlib.simulate.ptx.findings import Findings
from tutorlib.simulate.ptx.geometry import WARP, WARPGROUP, Geometry
from tutorlib.simulate.ptx.memory.access import Agent, Carrier, SharedAccess
from tutorlib.simulate.ptx.memory.async_copies import AsyncCopies
from tutorlib.simulate.ptx.shadow import ATOMIC, NEVER, PLAIN, Shadow, Touched
from tutorlib.simulate.ptx.work import WorkCounts

NOT_IN_FLIGHT = -1
BY_MBARRIER = -1  # in place of a group of cp.async
UNFENCED = np.int32(2**31 - 1)  # later than any step of a warp


def record_bytes(size: int, piece: int, agents: Agents) -> int:
    """What SharedShadow keeps of a block with `size` bytes of shared memory."""
    return pieces_of(size, piece) * (29 + 8 * agents.readers + 4 * agents.warps)


def pieces_of(size: int, piece: int) -> int:
    return -(-size // piece) + 1


class SharedShadow(Shadow):
    """Everything about a piece is kept by slot * pieces + piece. show: a site as "line 12, `…`".

    read: the count of the last read of each warp and each other agent; read_by: a bit for each thread of the warp that
    has read since the warp was in step. visits: of each block, the counts at which threads of others last accessed it.
    """

    def __init__(
        self,
        geometry: Geometry,
        size: int,
        piece: int,
        clocks: LaneClocks,
        copies: AsyncCopies,
        findings: Findings,
        show: Callable[[int], str],
        work: WorkCounts,
    ) -> None:
        self.geometry, self.copies, self.findings, self.show = geometry, copies, findings, show
        self.work = work
        self.pieces = pieces_of(size, piece)
        count, readers = geometry.batch * self.pieces, clocks.agents.readers
        super().__init__(count, piece, clocks)
        self.flight = np.empty(count, np.int32)  # the site of a cp.async that may still be in flight
        self.flight_lane = np.empty(count, np.int32)
        self.flight_group = np.empty(count, np.int32)  # how many groups its thread had committed before
        self.read = np.empty((count, readers), np.int32)
        self.read_by = np.empty((count, geometry.warps), np.uint32)
        self.read_site = np.empty((count, readers), np.int32)
        self.has_proxies = readers > geometry.warps
        self.fence = np.empty(count if self.has_proxies else 0, np.int32)  # the fencing warp's count, or UNFENCED
        self.fencer = np.zeros(count if self.has_proxies else 0, np.int16)  # the component of a thread
        self.at_fence: Rows | None = None  # what each thread knew at its last proxy fence
        self.carriers: dict[int, Carrier] = {}  # what brings bytes that an mbarrier counts, by the site
        self.visit_site = 0
        self.visits = np.zeros((geometry.batch, clocks.width if geometry.cluster_size > 1 else 0), np.int32)
        self.restart()

    def restart(self) -> None:
        """Make ready for another batch."""
        super().restart()
        self.flight.fill(NOT_IN_FLIGHT)
        self.read.fill(0)
        self.fence.fill(0)
        if self.at_fence:
            self.at_fence.restart()
        self.visits.fill(0)

    # reads ------------------------------------------------------------------------------------------------------

    def on_read(self, access: SharedAccess) -> np.ndarray | None:
        """For each lane whether it reads bytes never written; None where none does.

        Of reads by another block no record is kept: that they are over no write asks.
        """
        touched = self.touched(access)
        unwritten = self.compare_read_with_write(touched)
        self.note_visit(access)
        self.note_read(access, touched)
        return touched.any_piece(unwritten) if unwritten.any() else None

    def on_proxy_read(self, access: SharedAccess, reader: np.ndarray, numbers: np.ndarray) -> None:
        """TMA or the tensor cores are told to read: from now on, until it is known that as many of this agent's
        operations are over. reader: its component of the clocks, numbers: of the operation, both for each access."""
        touched = self.touched(access)
        pieces, reader, numbers = touched.pieces, touched.by_piece(reader), touched.by_piece(numbers)
        unwritten = self.compare_read_with_write(touched)
        if unwritten.any():
            start = int(access.starts[int(unwritten.argmax()) // touched.many])
            self.report(
                Hazard.UNWRITTEN(),
                touched,
                unwritten,
                None,
                lambda at: self.findings.never_written(self.who(at), start),
            )
        self.compare_with_fence(touched)
        self.read[pieces, reader] = numbers
        self.read_site[pieces, reader] = access.site

    def compare_read_with_write(self, touched: Touched) -> np.ndarray:
        """For each piece whether it was never written."""
        in_flight = self.flight[touched.pieces] != NOT_IN_FLIGHT
        if in_flight.any():
            self.report_flight(touched, in_flight, "reads")
        unordered = self.after_unordered_write(touched) & ~in_flight
        if unordered.any():
            self.report_unordered_read(touched, unordered)
        return (self.writer[touched.pieces] == NEVER) & ~in_flight

    def note_read(self, access: SharedAccess, touched: Touched) -> None:
        pieces, lanes = touched.pieces, touched.lanes
        if self.geometry.cluster_size > 1:
            own = np.flatnonzero(self.slot_of(pieces) == self.slots_of(lanes))
            pieces, lanes = pieces[own], lanes[own]
        of_batch = lanes // WARP
        warps, bits = of_batch % self.geometry.warps, self.clocks.bit[lanes]
        read, read_by = self.read.reshape(-1), self.read_by.reshape(-1)
        at, mask_at = pieces * self.read.shape[1] + warps, pieces * self.read_by.shape[1] + warps
        before = read[at]
        again = int(np.count_nonzero(before))
        self.work.on_shared_read(access, len(before), again)
        if again:
            more = before > self.clocks.over(lanes, self.clocks.of_warp[of_batch])
            bits = np.where(more, read_by[mask_at], 0) | bits
        read[at] = self.clocks.now[of_batch]
        read_by[mask_at] = bits
        lost = read_by[mask_at] != bits
        if lost.any():  # several threads of a warp read one piece
            np.bitwise_or.at(read_by, mask_at[lost], bits[lost])
        self.read_site.reshape(-1)[at] = touched.access.site

    # writes -----------------------------------------------------------------------------------------------------

    def before_write(
        self, access: SharedAccess, changes: Callable[[], np.ndarray], other_than_flight: Callable[[], np.ndarray]
    ) -> None:
        """For each lane, asked only where it matters: whether its bytes differ from what is there, and from what a
        cp.async is about to put there."""
        touched = self.touched(access)
        self.note_visit(access)
        self.compare_with_flight(touched, "writes to", other_than_flight)
        self.compare_with_write(touched, changes)
        self.compare_with_reads(touched)
        self.note_write(touched)

    def after_write(self, access: SharedAccess, lost: Callable[[], np.ndarray]) -> None:
        """lost: for each lane, whether other bytes than its own are there now."""
        touched = self.touched(access)
        writers = self.writer[touched.pieces]
        twice = writers != self.clocks.own[touched.lanes]
        if twice.any():
            twice &= touched.by_piece(lost())
        if twice.any():
            self.report(
                Hazard.RACE(earlier="store"), touched, twice, "twice",
                lambda at: f"{self.who(at)} and {self.writer_at(touched.pieces[at.piece])} store different values to "
                f"one place (byte {access.starts[at.access]})",
            )  # fmt: skip

    def unwrite(self, access: SharedAccess) -> None:
        """What was just written is undefined."""
        self.writer[self.touched(access).pieces] = NEVER

    def written_at(self, access: SharedAccess, number: int) -> int:
        """The site of the last write to where one of these accesses begins, -1 for none."""
        piece = access.slots[number] * self.pieces + access.starts[number] // self.piece
        return int(self.write_site[piece])

    def on_atomic(self, access: SharedAccess) -> None:
        """Atomics do not race with each other, but with everything else. Of another block's no record is kept."""
        touched = self.touched(access)
        plain = self.strength[touched.pieces] != ATOMIC
        self.compare_with_write(touched, lambda: touched.any_piece(plain))
        self.compare_with_reads(touched)
        if (access.slots == self.slots_of(access.lanes)).all():
            self.note_write(touched, ATOMIC)

    def note_write(self, touched: Touched, strength: int = PLAIN) -> None:
        super().note_write(touched, strength)
        self.read[touched.pieces] = 0
        if self.has_proxies:
            self.fence[touched.pieces] = UNFENCED

    # copies in flight -------------------------------------------------------------------------------------------

    def on_issue(self, access: SharedAccess, other_than_flight: Callable[[], np.ndarray]) -> None:
        """A cp.async begins: from now on, until it is waited for, its bytes may arrive."""
        touched = self.touched(access)
        self.compare_with_flight(touched, "copies to", other_than_flight)
        self.take_off(touched, self.copies.committed[touched.lanes])

    def on_arrival(self, access: SharedAccess) -> None:
        """Its thread has waited: now the bytes count as written by it."""
        touched = self.touched(access)
        self.flight[touched.pieces] = NOT_IN_FLIGHT
        self.note_write(touched)

    def on_counting(self, access: SharedAccess) -> None:
        """From now on an mbarrier counts the arrival of these bytes of a cp.async."""
        self.carriers[access.site] = "cp.async"
        self.flight_group[self.touched(access).pieces] = BY_MBARRIER

    def on_tma_issue(self, access: SharedAccess, carrier: Carrier = "TMA") -> None:
        """TMA, or an st.async, is told to write: from now on, until its mbarrier has counted the bytes, it may."""
        self.carriers[access.site] = carrier
        touched = self.touched(access)
        self.compare_with_flight(touched, "writes to")
        self.take_off(touched, BY_MBARRIER)
        again = np.ones(len(touched.pieces), bool)
        again[np.unique(touched.pieces, return_index=True)[1]] = False
        if again.any():  # blocks of one cluster, or threads of one block, to one place at once
            self.report_flight(touched, again, "writes to")

    def take_off(self, touched: Touched, group: np.ndarray | int) -> None:
        """The bytes are in flight from now on. group: which wait covers them."""
        self.compare_with_write(touched)
        self.compare_with_reads(touched)
        self.flight[touched.pieces] = touched.access.site
        self.flight_lane[touched.pieces] = touched.lanes
        self.flight_group[touched.pieces] = group

    def on_tma_arrival(self, access: SharedAccess, component: int, phase: int) -> None:
        """The bytes are there: written by the mbarrier with this component of its block, in this phase of it."""
        pieces = self.touched(access).pieces
        self.flight[pieces] = NOT_IN_FLIGHT
        self.writer[pieces] = self.clocks.base[access.slots[0]] + component
        self.written[pieces] = phase
        self.write_site[pieces] = access.site
        self.strength[pieces] = PLAIN
        self.read[pieces] = 0
        if self.has_proxies:
            by_threads = self.carriers.get(access.site) == "cp.async"  # TMA and tensor cores need a fence for these
            self.fence[pieces] = UNFENCED if by_threads else 0

    # proxy fences -----------------------------------------------------------------------------------------------

    def compare_with_fence(self, touched: Touched) -> None:
        pieces, lanes, own = touched.pieces, touched.lanes, self.clocks.own[touched.lanes]
        fences, fencers = self.fence[pieces], self.fencer[pieces]
        missing = (fences == UNFENCED) | ((fencers != own) & (fences > self.clocks.over(lanes, fencers)))
        missing &= (self.writer[pieces] != NEVER) & (self.flight[pieces] == NOT_IN_FLIGHT)
        if missing.any() and self.at_fence:
            missing &= self.written[pieces] > self.at_fence.values[self.at_fence.row[lanes], self.writer[pieces]]
        if missing.any():
            site = int(self.write_site[pieces[int(missing.argmax())]])
            self.report(
                Hazard.PROXY(), touched, missing, site,
                lambda at: f"{self.who(at)} may read what was in shared memory before {self.show(site)}, since no "
                "proxy fence lies between",
            )  # fmt: skip

    def on_fence(self, lanes: np.ndarray) -> None:
        """A proxy fence of these threads: of what they wrote, and of what others wrote and these know of."""
        if not self.has_proxies:
            return
        self.at_fence = self.at_fence or Rows(self.geometry.lanes, self.clocks.width)
        copy_rows(self.clocks.known, self.at_fence, lanes, self.clocks.parts(lanes))
        pieces = np.flatnonzero(self.fence == UNFENCED)
        slots, writers = self.slot_of(pieces), self.writer[pieces]
        fences = np.zeros(self.geometry.lanes + 1, bool)
        fences[lanes] = True
        writing = self.clocks.lanes_of(slots, writers)
        own = fences[writing]
        self.fence_by(pieces[own], writing[own])
        pieces, slots, writers = pieces[~own], slots[~own], writers[~own]
        rows, first = np.unique(self.clocks.known.row[lanes], return_index=True)
        for row, lane in zip(rows, lanes[first], strict=True) if len(pieces) else ():
            here = slots == lane // (self.geometry.warps * WARP)
            seen = here & (self.written[pieces] <= self.clocks.known.values[row, writers])
            self.fence_by(pieces[seen], np.full(int(seen.sum()), lane))

    def fence_by(self, pieces: np.ndarray, lanes: np.ndarray) -> None:
        self.fence[pieces] = self.clocks.now[lanes // WARP]
        self.fencer[pieces] = self.clocks.own[lanes]

    # comparing --------------------------------------------------------------------------------------------------

    def compare_with_flight(
        self, touched: Touched, does: str, other_than_flight: Callable[[], np.ndarray] | None = None
    ) -> None:
        in_flight = self.flight[touched.pieces] != NOT_IN_FLIGHT
        if other_than_flight and in_flight.any():
            in_flight &= touched.by_piece(other_than_flight())
        if in_flight.any():
            self.report_flight(touched, in_flight, does)

    def compare_with_write(self, touched: Touched, changes: Callable[[], np.ndarray] | None = None) -> None:
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

    def compare_with_reads(self, touched: Touched) -> None:
        pieces, lanes = touched.pieces, touched.lanes
        slots = self.slot_of(pieces)
        unordered = self.read[pieces] > self.clocks.over_readers(lanes, slots)  # (n, readers)
        if not unordered.any():
            return
        which, readers = (unordered[:, : self.geometry.warps]).nonzero()
        alone = self.read_by[pieces[which], readers] == self.clocks.bit[lanes[which]]
        alone &= self.clocks.of_warp[lanes[which] // WARP] == self.clocks.base[slots[which]] + readers
        unordered[which[alone], readers[alone]] = False  # its own
        which, readers = which[~alone], readers[~alone]
        if len(which):
            at, masks = pieces[which], self.read_by[pieces[which], readers]
            of_warps = self.clocks.base[slots[which]] + readers
            missing = self.clocks.misses_one(lanes[which], of_warps, masks, self.read[at, readers])
            unordered[which[~missing], readers[~missing]] = False
        rows = unordered.any(1)
        if not rows.any():
            return
        first = int(rows.argmax())
        other = int(unordered[first].argmax())
        site = int(self.read_site[pieces[first], other])
        self.report(
            Hazard.RACE(earlier="read"), touched, rows, site,
            lambda at: f"{self.who(at)} overwrites what {self.clocks.agents.show(other)} may still be reading at "
            f"{self.show(site)}: no barrier lies between",
        )  # fmt: skip

    def touched(self, access: SharedAccess) -> Touched:
        return self.spread(access, access.slots * self.pieces + access.starts // self.piece)

    def slot_of(self, pieces: np.ndarray) -> np.ndarray:
        return np.asarray(pieces // self.pieces)

    def note_visit(self, access: SharedAccess) -> None:
        if self.geometry.cluster_size > 1:
            visits = access.slots != self.slots_of(access.lanes)
            lanes = access.lanes[visits]
            self.visits[access.slots[visits], self.clocks.own[lanes]] = self.clocks.now[lanes // WARP]
            self.visit_site = access.site if len(lanes) else self.visit_site

    def leave(self, slot: int) -> None:
        """All threads of a block have ended. Others of its cluster must have left its shared memory alone by then."""
        rows = self.clocks.known.row[slot * self.geometry.warps * WARP :][: self.geometry.warps * WARP]
        late = self.visits[slot] > self.clocks.known.values[np.unique(rows)].max(0)
        if late.any():
            (lane,) = self.clocks.lanes_of(np.array([slot]), np.flatnonzero(late)[:1]).tolist()
            who, block = self.geometry.show_thread(lane), self.geometry.show_slot(slot)
            says = f"{who} may access shared memory of block {block} when that has ended: it must wait for that"
            self.findings.notice(Hazard.UNWAITED(lacks="end"), self.visit_site, lambda: says, int(late.sum()), "end")

    def slots_of(self, lanes: np.ndarray) -> np.ndarray:
        return np.asarray(lanes // (self.geometry.warps * WARP))

    # reporting --------------------------------------------------------------------------------------------------

    def report(
        self, hazard: Fault, touched: Touched, where: np.ndarray, apart: object, message: "Callable[[Example], str]"
    ) -> None:
        at, many = int(where.argmax()), touched.many
        agent: Agent = getattr(touched.access, "agent", "thread")
        example = Example(at, at // many, int(touched.lanes[at]), agent)
        count = len(np.unique(np.flatnonzero(where) // many))
        memory = self.findings.in_memory(int(touched.access.starts[example.access]))
        self.findings.notice(hazard.and_by(agent), touched.access.site, lambda: message(example) + memory, count, apart)

    def report_flight(self, touched: Touched, where: np.ndarray, does: str) -> None:
        at = int(where.argmax())
        piece = touched.pieces[at]
        site, copier = int(self.flight[piece]), int(self.flight_lane[piece])
        if self.flight_group[piece] == BY_MBARRIER:
            carrier = "the TMA copy issued" if self.carriers[site] == "TMA" else f"the {self.carriers[site]}"
            self.report(
                Hazard.UNWAITED(lacks="mbarrier", does=does, of=self.carriers[site]), touched, where, site,
                lambda at: f"{self.who(at)} {does} shared memory into which {carrier} at {self.show(site)} may "
                "still be copying: its mbarrier has not been waited for",
            )  # fmt: skip
            return
        by = "it" if copier == touched.lanes[at] else f"thread {copier % (self.geometry.warps * WARP)}"
        committed = self.copies.committed[copier] > self.flight_group[piece]
        why = "no wait has covered its group" if committed else "it is in no committed group, so no wait covers it"
        self.report(
            Hazard.UNWAITED(lacks="wait" if committed else "commit", does=does), touched, where, site,
            lambda at: f"{self.who(at)} {does} shared memory into which the cp.async that {by} issued at "
            f"{self.show(site)} may still be copying: {why}",
        )  # fmt: skip

    def report_unordered_read(self, touched: Touched, where: np.ndarray) -> None:
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
        slot = np.array([piece // self.pieces])
        (lane,) = self.clocks.lanes_of(slot, self.writer[piece : piece + 1]).tolist()
        if lane < 0:
            return self.carriers.get(int(self.write_site[piece]), "TMA")
        other, thread = divmod(lane, self.geometry.warps * WARP)
        return f"thread {thread}" + ("" if other == slot[0] else f" of block {self.geometry.show_slot(other)}")

    def who(self, at: "Example") -> str:
        slot, thread = divmod(at.lane, self.geometry.warps * WARP)
        block = f"block {self.geometry.show_slot(slot)}"
        if at.agent in ("tcgen05", "tcgen05.cp"):
            return f"the {'tcgen05.mma' if at.agent == 'tcgen05' else at.agent} of warp {thread // WARP} of {block}"
        if at.agent == "wgmma":
            return f"the wgmma of warpgroup {thread // (WARPGROUP * WARP)} of {block}"
        return f"thread {thread} of {block}" if at.agent == "thread" else f"TMA, for thread {thread} of {block},"


@dataclass(frozen=True)
class Example:
    """The first occurrence of a fault. piece: its place among the pieces; access: among the accesses.

    lane: whose thread accesses, or that TMA and the tensor cores access for.
    """

    piece: int
    access: int
    lane: int
    agent: Agent

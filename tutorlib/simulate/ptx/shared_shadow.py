"""Shared memory used by two threads, one of them to write, with nothing between that orders them.

A cp.async writes when its thread has waited for its group; in between the piece is in flight. So is what TMA writes, or
a cp.async that an mbarrier counts, until a thread waits for that mbarrier; wgmma and TMA read from when they are told
to until they are waited for, and must not before a proxy fence has made visible what threads wrote (PTX ISA, 8.10).
"""

from collections.abc import Callable

import numpy as np

from tutorlib.dsl.failure import Fault, Hazard
from tutorlib.simulate.ptx.clocks import Agents, Rows, copy_rows
from tutorlib.simulate.ptx.geometry import WARP, WARPGROUP
from tutorlib.simulate.ptx.listener import Listener
from tutorlib.simulate.ptx.memory.access import Agent, Carrier, SharedAccess
from tutorlib.simulate.ptx.memory.shared import AsyncCopies
from tutorlib.simulate.ptx.shadow import ATOMIC, NEVER, PLAIN, Shadow, Touched
from tutorlib.simulate.ptx.unit import Running

NOT_IN_FLIGHT = -1
BY_MBARRIER = -1  # in place of a group of cp.async
UNFENCED = np.int32(2**31 - 1)  # later than any step of a warp


def record_bytes(size: int, piece: int, agents: Agents) -> int:
    """What SharedShadow keeps of a block with `size` bytes of shared memory."""
    return pieces_of(size, piece) * (29 + 8 * agents.readers + 4 * agents.warps)


def pieces_of(size: int, piece: int) -> int:
    return -(-size // piece) + 1


class SharedShadow(Shadow):
    """Everything about a piece is kept by slot * pieces + piece.

    flight: the site of a copy that may still be in flight; flight_lane: of whom; flight_group: how many groups that
    thread had committed before. fence: the count of the warp whose thread `fencer`, a component, ran a proxy fence, or
    UNFENCED. at_fence: what each thread knew at its last proxy fence. carriers: what brings bytes that an mbarrier
    counts, by the site. visits: of each block, the counts at which threads of others last accessed it.
    """

    def __init__(self, running: Running, size: int, piece: int, copies: AsyncCopies, listener: Listener) -> None:
        agents, batch = running.clocks.agents, running.geometry.batch
        self.copies, self.listener = copies, listener
        self.pieces = pieces_of(size, piece)
        self.apart = running.geometry.cluster_size > 1  # whether lanes get at other blocks' memory
        count = batch * self.pieces
        self.flight, self.flight_lane, self.flight_group = (np.empty(count, np.int32) for _ in range(3))
        self.has_proxies = agents.readers > agents.warps
        self.fence = np.empty(count if self.has_proxies else 0, np.int32)
        self.fencer = np.zeros(count if self.has_proxies else 0, np.int16)
        self.at_fence: Rows | None = None
        self.carriers: dict[int, Carrier] = {}
        self.visit_site = 0
        self.visits = np.zeros((batch, running.clocks.width if self.apart else 0), np.int32)
        super().__init__(running, count, piece, agents.readers, agents.warps)

    def restart(self) -> None:
        super().restart()
        self.flight.fill(NOT_IN_FLIGHT)
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
            who = self.who(touched, unwritten)
            self.report(Hazard.UNWRITTEN(), touched, unwritten, None, self.findings.never_written(who, start))
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
            site, writer = self.last_write(touched, unordered)
            waited = writer in ("TMA", "st.async", "cp.async")
            why = "without having waited for its mbarrier" if waited else "with no barrier between"
            says = f"{self.who(touched, unordered)} reads what {writer} wrote at {self.show(site)}, {why}"
            earlier = "mbarrier" if waited else "write"
            self.report(Hazard.RACE(earlier=earlier), touched, unordered, site, says)
        return (self.writer[touched.pieces] == NEVER) & ~in_flight

    def note_read(self, access: SharedAccess, touched: Touched) -> None:
        pieces, lanes = touched.pieces, touched.lanes
        if self.apart:
            own = np.flatnonzero(pieces // self.pieces == lanes // self.geometry.of_block)
            pieces, lanes = pieces[own], lanes[own]
        warps = lanes // WARP % self.geometry.warps
        at, mask_at = pieces * self.read.shape[1] + warps, pieces * self.read_by.shape[1] + warps
        again = self.read.reshape(-1)[at] > 0
        self.listener.on_shared_read(access, again)
        self.note_read_by(lanes, access.site, at, mask_at, again)

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
        twice = self.writer[touched.pieces] != self.clocks.own[touched.lanes]
        if twice.any() and (twice := twice & touched.by_piece(lost())).any():
            _, writer = self.last_write(touched, twice)
            says = f"{self.who(touched, twice)} and {writer} store different values to one place (byte "
            says += f"{access.starts[int(twice.argmax()) // touched.many]})"
            self.report(Hazard.RACE(earlier="store"), touched, twice, "twice", says)

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
        if (access.slots == access.lanes // self.geometry.of_block).all():
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
        touched = self.touched(access)
        self.note_write(touched)
        self.flight[touched.pieces] = NOT_IN_FLIGHT
        self.writer[touched.pieces] = self.clocks.base[access.slots[0]] + component
        self.written[touched.pieces] = phase
        if self.has_proxies and self.carriers.get(access.site) != "cp.async":  # what is there as threads wrote it
            self.fence[touched.pieces] = 0

    # proxy fences -----------------------------------------------------------------------------------------------

    def compare_with_fence(self, touched: Touched) -> None:
        pieces, lanes, own = touched.pieces, touched.lanes, self.clocks.own[touched.lanes]
        fences, fencers = self.fence[pieces], self.fencer[pieces]
        missing = (fences == UNFENCED) | ((fencers != own) & (fences > self.clocks.over(lanes, fencers)))
        missing &= (self.writer[pieces] != NEVER) & (self.flight[pieces] == NOT_IN_FLIGHT)
        if missing.any() and self.at_fence:
            missing &= self.written[pieces] > self.at_fence.values[self.at_fence.row[lanes], self.writer[pieces]]
        if missing.any():
            site, _ = self.last_write(touched, missing)
            says = f"{self.who(touched, missing)} may read what was in shared memory before {self.show(site)}, since "
            self.report(Hazard.PROXY(), touched, missing, site, says + "no proxy fence lies between")

    def on_fence(self, lanes: np.ndarray) -> None:
        """A proxy fence of these threads: of what they wrote, and of what others wrote and these know of."""
        if not self.has_proxies:
            return
        self.at_fence = self.at_fence or Rows(self.geometry.lanes, self.clocks.width)
        copy_rows(self.clocks.known, self.at_fence, lanes, self.clocks.parts(lanes))
        pieces = np.flatnonzero(self.fence == UNFENCED)
        slots, writers = pieces // self.pieces, self.writer[pieces]
        fences = np.zeros(self.geometry.lanes + 1, bool)
        fences[lanes] = True
        writing = self.clocks.lanes_of(slots, writers)
        own = fences[writing]
        self.fence_by(pieces[own], writing[own])
        pieces, slots, writers = pieces[~own], slots[~own], writers[~own]
        rows, first = np.unique(self.clocks.known.row[lanes], return_index=True)
        for row, lane in zip(rows, lanes[first], strict=True) if len(pieces) else ():
            here = slots == lane // self.geometry.of_block
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
            site, writer = self.last_write(touched, unordered)
            says = f"{self.who(touched, unordered)} overwrites what {writer} wrote at {self.show(site)}, with no "
            self.report(Hazard.RACE(earlier="write"), touched, unordered, site, says + "barrier between")

    def compare_with_reads(self, touched: Touched) -> None:
        pieces, lanes = touched.pieces, touched.lanes
        slots = pieces // self.pieces
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
        if rows.any():
            first = int(rows.argmax())
            other = int(unordered[first].argmax())
            site = int(self.read_site[pieces[first], other])
            says = f"{self.who(touched, rows)} overwrites what {self.clocks.agents.show(other)} may still be reading "
            says += f"at {self.show(site)}: no barrier lies between"
            self.report(Hazard.RACE(earlier="read"), touched, rows, site, says)

    def touched(self, access: SharedAccess) -> Touched:
        return self.spread(access, access.slots * self.pieces + access.starts // self.piece)

    # clusters ---------------------------------------------------------------------------------------------------

    def note_visit(self, access: SharedAccess) -> None:
        if self.apart:
            visits = access.slots != access.lanes // self.geometry.of_block
            lanes = access.lanes[visits]
            self.visits[access.slots[visits], self.clocks.own[lanes]] = self.clocks.now[lanes // WARP]
            self.visit_site = access.site if len(lanes) else self.visit_site

    def leave(self, slot: int) -> None:
        """All threads of a block have ended. Others of its cluster must have left its shared memory alone by then."""
        rows = self.clocks.known.row[slot * self.geometry.of_block :][: self.geometry.of_block]
        late = self.visits[slot] > self.clocks.known.values[np.unique(rows)].max(0)
        if late.any():
            (lane,) = self.clocks.lanes_of(np.array([slot]), np.flatnonzero(late)[:1]).tolist()
            who, block = self.geometry.show_thread(lane), self.geometry.show_slot(slot)
            says = f"{who} may access shared memory of block {block} when that has ended: it must wait for that"
            self.notice(Hazard.UNWAITED(lacks="end"), self.visit_site, says, int(late.sum()), "end")

    # reporting --------------------------------------------------------------------------------------------------

    def report(self, hazard: Fault, touched: Touched, where: np.ndarray, apart: object, says: str) -> None:
        """says: of the first of these pieces."""
        accesses = np.unique(np.flatnonzero(where) // touched.many)
        memory = self.findings.in_memory(int(touched.access.starts[accesses[0]]))
        self.notice(hazard.and_by(agent_of(touched)), touched.access.site, says + memory, len(accesses), apart)

    def report_flight(self, touched: Touched, where: np.ndarray, does: str) -> None:
        at = int(where.argmax())
        piece = touched.pieces[at]
        site, copier = int(self.flight[piece]), int(self.flight_lane[piece])
        if self.flight_group[piece] == BY_MBARRIER:
            of, why = self.carriers[site], "its mbarrier has not been waited for"
            copy = "the TMA copy issued" if of == "TMA" else f"the {of}"
            hazard = Hazard.UNWAITED(lacks="mbarrier", does=does, of=of)
        else:
            by = "it" if copier == touched.lanes[at] else f"thread {copier % self.geometry.of_block}"
            copy, committed = f"the cp.async that {by} issued", self.copies.committed[copier] > self.flight_group[piece]
            why = "no wait has covered its group" if committed else "it is in no committed group, so no wait covers it"
            hazard = Hazard.UNWAITED(lacks="wait" if committed else "commit", does=does)
        says = f"{self.who(touched, where)} {does} shared memory into which {copy} at {self.show(site)} may still be "
        self.report(hazard, touched, where, site, says + f"copying: {why}")

    def last_write(self, touched: Touched, where: np.ndarray) -> tuple[int, str]:
        """Where the first of these pieces was written last, and who did."""
        at = int(where.argmax())
        piece = int(touched.pieces[at])
        site = int(self.write_site[piece])
        (lane,) = self.clocks.lanes_of(np.array([piece // self.pieces]), self.writer[piece : piece + 1]).tolist()
        if lane < 0:
            return site, self.carriers.get(site, "TMA")
        slot, thread = divmod(lane, self.geometry.of_block)
        near = slot == touched.lanes[at] // self.geometry.of_block
        return site, f"thread {thread}" + ("" if near else f" of block {self.geometry.show_slot(slot)}")

    def who(self, touched: Touched, where: np.ndarray) -> str:
        """Who accesses the first of these pieces: a thread, or what does it for one."""
        lane, agent = int(touched.lanes[int(where.argmax())]), agent_of(touched)
        slot, thread = divmod(lane, self.geometry.of_block)
        block = f"block {self.geometry.show_slot(slot)}"
        if agent in ("tcgen05", "tcgen05.cp"):
            return f"the {'tcgen05.mma' if agent == 'tcgen05' else agent} of warp {thread // WARP} of {block}"
        if agent == "wgmma":
            return f"the wgmma of warpgroup {thread // (WARPGROUP * WARP)} of {block}"
        return f"thread {thread} of {block}" if agent == "thread" else f"TMA, for thread {thread} of {block},"


def agent_of(touched: Touched) -> Agent:
    return getattr(touched.access, "agent", "thread")

"""Shadow memory: for each piece of memory its last writer, the readers since, and the clocks of both.

Every access is compared with those before it by their clocks (`clocks`), so that a fault shows whatever order the
simulator happens to run threads in (Flanagan and Freund, FastTrack, PLDI 2009). A unit that works beside the threads
has components of its own: a copy that an mbarrier counts is a write of that mbarrier's phase, which a thread knows of
when it has waited for it; a cp.async is a write of its thread at a count that comes with its wait.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tutorlib.dsl.failure import Fault, Hazard
from tutorlib.simulate.ptx.flags import Flags, is_strong
from tutorlib.simulate.ptx.geometry import WARP, WARPGROUP
from tutorlib.simulate.ptx.meetings import Running, Unit
from tutorlib.simulate.ptx.memory import Access, AsyncCopies, Carrier, Listener, Touched
from tutorlib.simulate.ptx.types import Array

NEVER = 0  # in place of a thread's component of the clocks: that of a whole warp, which writes nothing
UNAWAITED = np.int32(2**31 - 1)  # in place of a count: later than all that threads know, for what is not over
PLAIN, STRONG, ATOMIC = range(3)
Asked = Callable[[], np.ndarray]  # what is looked at only where it matters: for each access a boolean


class Shadow(Unit):
    """count: of pieces. piece: bytes that are watched together, the fewest that an access of the kernel has. readers:
    of how many the last reads of a piece are kept; warps: how many of those are warps.

    writer: of each piece, the component that wrote it last; written: its count. strength: of that operation: atomics do
    not race with each other, nor do strong ones of one block.
    read: (pieces, readers), the count of each reader's last read. read_by: (pieces, warps), a bit for each thread of a
    warp that has read since the warp was in step.
    strong: the sites of strong operations, which flags are made of.
    """

    def __init__(self, running: Running, count: int, piece: int, readers: int, warps: int) -> None:
        self.piece, self.flags, self.instructions = piece, Flags(running.clocks), running.findings.kernel.instructions
        self.strong = {site for site, one in enumerate(self.instructions) if is_strong(one)}
        self.writer, self.written, self.write_site = np.zeros((3, count), np.int32)
        self.strength = np.zeros(count, np.int8)
        self.read, self.read_site = np.zeros((2, count, readers), np.int32)
        self.read_by = np.zeros((count, warps), np.uint32)
        super().__init__(running)

    def restart(self) -> None:
        self.writer.fill(NEVER)
        self.written.fill(0)
        self.write_site.fill(-1)
        self.strength.fill(PLAIN)
        self.read.fill(0)

    def first(self, access: Access) -> np.ndarray:
        """The piece in which each access begins."""
        raise NotImplementedError

    def touched(self, access: Access) -> Touched:
        many, first = max(access.width // self.piece, 1), self.first(access)
        if many == 1:
            return Touched(access, 1, first, access.lanes)
        pieces = (first[:, None] + np.arange(many)).reshape(-1)
        return Touched(access, many, pieces, np.repeat(access.lanes, many))

    def on_flags(self, access: Access) -> None:
        """A strong access may be one of flags."""
        if access.site in self.strong:
            self.flags.on_access(access.lanes, self.first(access), self.instructions[access.site])

    def after_unordered_write(self, touched: Touched) -> np.ndarray:
        """For each piece whether nothing orders the last write before this access: that of another thread, or of what
        works for this one."""
        writers, written, lanes = self.writer[touched.pieces], self.written[touched.pieces], touched.lanes
        apart = (writers != self.clocks.own[lanes]) | (written == UNAWAITED)
        return np.asarray((written > self.clocks.over(lanes, writers)) & apart)

    def note_write(self, touched: Touched, strength: int = PLAIN) -> None:
        pieces, lanes = touched.pieces, touched.lanes
        self.writer[pieces] = self.clocks.own[lanes]
        self.written[pieces] = self.clocks.now[lanes]
        self.write_site[pieces] = touched.access.site
        self.strength[pieces] = strength
        self.read[pieces] = 0

    def note_read_by(self, lanes: Array, site: int, at: Array, mask_at: Array, again: Array, last: Array) -> None:
        """Threads read a piece each. at, mask_at: where `read` and `read_by` have their warps' reads. again: whether
        the read kept there is one of the same warp; last: whether this one is to be kept there."""
        read, read_by = self.read.reshape(-1), self.read_by.reshape(-1)
        bits = self.clocks.bit[lanes]
        if again.any():
            again = again & (read[at] > self.clocks.over(lanes, self.clocks.of_warp[lanes // WARP]))
            bits = np.where(again, read_by[mask_at], 0) | bits
        read[at], read_by[mask_at] = self.clocks.now[lanes], bits
        self.read_site.reshape(-1)[at] = site
        lost = (read_by[mask_at] != bits) & last
        if lost.any():  # several threads of a warp read one piece
            np.bitwise_or.at(read_by, mask_at[lost], bits[lost])

    def writer_lane(self, touched: Touched, at: int) -> int:
        """The lane that wrote a piece last, -1 where that was no thread."""
        slots = touched.lanes[[at]] // self.geometry.of_block
        return int(self.clocks.lanes_of(slots, self.writer[touched.pieces[[at]]])[0])

    def writer_of(self, touched: Touched, at: int) -> str:
        """The thread that wrote a piece last, with its block where that is another one's."""
        slot, thread = divmod(self.writer_lane(touched, at), self.geometry.of_block)
        near = slot == touched.lanes[at] // self.geometry.of_block
        return f"thread {thread}" + ("" if near else f" of block {self.geometry.show_slot(slot)}")


class SharedShadow(Shadow):
    """Shared memory used by two threads, one of them to write, with nothing between that orders them.

    cp.async and TMA write from when they are told to until a thread has waited for their group, or for the mbarrier
    that counts them. wgmma and TMA read from when they are told to until they are waited for, and must not before a
    proxy fence has made visible what threads wrote (PTX ISA, 8.10).

    Everything about a piece is kept by slot * pieces + piece. carriers: what brings bytes that an mbarrier counts, by
    the site. visits: of each block, the counts at which threads of others last accessed it.
    """

    def __init__(self, running: Running, size: int, piece: int, copies: AsyncCopies, listener: Listener) -> None:
        agents, batch = running.clocks.agents, running.geometry.batch
        self.copies, self.listener = copies, listener
        self.pieces = -(-size // piece) + 1  # of a block
        self.apart = running.geometry.cluster_size > 1  # whether lanes get at other blocks' memory
        self.carriers: dict[int, Carrier] = {}
        self.visit_site = 0
        self.visits = np.zeros((batch, running.clocks.width if self.apart else 0), np.int32)
        super().__init__(running, batch * self.pieces, piece, agents.readers, agents.warps)

    def restart(self) -> None:
        super().restart()
        self.flags.told.clear()
        self.visits.fill(0)

    def first(self, access: Access) -> np.ndarray:
        return access.slots * self.pieces + access.starts // self.piece

    # reads ------------------------------------------------------------------------------------------------------

    def on_read(self, access: Access) -> tuple[np.ndarray | None, np.ndarray | None]:
        """For each lane whether it reads bytes never written, and whether bytes that may not be there yet; None where
        none does.

        Of reads by another block no record is kept: that they are over no write asks.
        """
        touched, strong = self.touched(access), access.site in self.strong
        self.on_flags(access)
        early = self.compare_with_write(touched, "reads", self.plain(touched) if strong else None)
        self.note_visit(access)
        if not strong:
            self.note_read(access, touched)
        unwritten = self.writer[touched.pieces] == NEVER
        each = (touched.any_piece(which) if which.any() else None for which in (unwritten, early))
        return tuple(each)  # type: ignore[return-value]

    def on_proxy_read(self, access: Access, reader: np.ndarray, numbers: np.ndarray) -> None:
        """TMA or the tensor cores are told to read: from now on, until it is known that as many of this agent's
        operations are over. reader: its component of the clocks, numbers: of the operation, both for each access."""
        self.listener.on_proxy_read(access)
        touched = self.touched(access)
        pieces, lanes = touched.pieces, touched.lanes
        writers = self.writer[pieces]
        self.compare_with_write(touched, "reads")
        if (unwritten := writers == NEVER).any():
            start = int(access.starts[int(unwritten.argmax()) // touched.many])
            who = self.who(touched, unwritten)
            self.report(Hazard.UNWRITTEN(), touched, unwritten, None, self.findings.never_written(who, start))
        by_threads = [site for site, carrier in self.carriers.items() if carrier == "cp.async"]
        unseen = self.plainly_written(touched) | np.isin(self.write_site[pieces], by_threads)
        unseen &= (self.written[pieces] > self.clocks.shown(lanes, writers)) & (self.written[pieces] != UNAWAITED)
        if unseen.any():
            site = int(self.write_site[pieces[int(unseen.argmax())]])
            says = f"{self.who(touched, unseen)} may read what was in shared memory before {self.show(site)}, since "
            self.report(Hazard.PROXY(), touched, unseen, site, says + "no proxy fence lies between")
        reader, numbers = touched.by_piece(reader), touched.by_piece(numbers)
        self.read[pieces, reader] = numbers
        self.read_site[pieces, reader] = access.site

    def note_read(self, access: Access, touched: Touched) -> None:
        pieces, lanes = touched.pieces, touched.lanes
        if self.apart:
            own = np.flatnonzero(pieces // self.pieces == lanes // self.geometry.of_block)
            pieces, lanes = pieces[own], lanes[own]
        warps = lanes // WARP % self.geometry.warps
        at, mask_at = pieces * self.read.shape[1] + warps, pieces * self.read_by.shape[1] + warps
        again = self.read.reshape(-1)[at] > 0
        self.listener.on_shared_read(access, again)
        self.note_read_by(lanes, access.site, at, mask_at, again, np.ones((), bool))

    # writes -----------------------------------------------------------------------------------------------------

    def before_write(self, access: Access, changes: Asked) -> None:
        """changes: for each lane whether its bytes differ from what is there."""
        touched, strong = self.touched(access), access.site in self.strong
        self.note_visit(access)
        self.compare_with_write(touched, "writes to", self.plain(touched) if strong else changes)
        self.compare_with_reads(touched)
        self.note_write(touched, STRONG if strong else PLAIN)
        self.on_flags(access)

    def after_write(self, access: Access, lost: Asked) -> None:
        """lost: for each lane, whether other bytes than its own are there now."""
        touched = self.touched(access)
        twice = self.writer[touched.pieces] != self.clocks.own[touched.lanes]
        if twice.any() and (twice := twice & touched.by_piece(lost())).any():
            at = int(twice.argmax())
            says = f"{self.who(touched, twice)} and {self.writer_of(touched, at)} store different values to one place "
            says += f"(byte {access.starts[at // touched.many]})"
            self.report(Hazard.RACE(earlier="store"), touched, twice, "twice", says)

    def unwrite(self, access: Access) -> None:
        """What was just written is undefined."""
        pieces = self.touched(access).pieces
        self.writer[pieces] = self.written[pieces] = NEVER

    def on_atomic(self, access: Access) -> None:
        """Atomics do not race with each other, but with everything else. Of another block's no record is kept."""
        self.on_flags(access)
        touched = self.touched(access)
        self.compare_with_write(touched, "writes to", self.plain(touched))
        self.compare_with_reads(touched)
        if (access.slots == access.lanes // self.geometry.of_block).all():
            self.note_write(touched, ATOMIC)

    # copies in flight -------------------------------------------------------------------------------------------

    def on_copy(self, access: Access, changes: Asked) -> None:
        """A cp.async begins: it is over when its thread waits for it."""
        touched = self.touched(access)
        self.compare_with_write(touched, "copies to", changes)
        self.compare_with_reads(touched)
        self.note_write(touched)
        self.written[touched.pieces] = UNAWAITED

    def on_bulk_copy(self, access: Access, carrier: Carrier, components: np.ndarray) -> None:
        """TMA, or an st.async, is told to write. components: the mbarrier that counts the bytes, for each access."""
        touched = self.touched(access)
        self.compare_with_write(touched, "writes to")
        self.compare_with_reads(touched)
        self.note_write(touched)
        self.note_counted(access, carrier, components)
        again = np.ones(len(touched.pieces), bool)
        again[np.unique(touched.pieces, return_index=True)[1]] = False
        if again.any():  # blocks of one cluster, or threads of one block, to one place at once
            self.report_write(touched, again, "writes to")

    def note_counted(self, access: Access, carrier: Carrier, components: np.ndarray) -> None:
        """From now on mbarriers count these bytes."""
        touched = self.touched(access)
        self.carriers[access.site] = carrier
        self.writer[touched.pieces], self.written[touched.pieces] = touched.by_piece(components), UNAWAITED

    def on_arrival(self, access: Access, component: int, phase: int) -> None:
        """These bytes are there when this phase of their mbarrier is over."""
        pieces = self.touched(access).pieces
        self.written[pieces[(self.writer[pieces] == component) & (self.written[pieces] == UNAWAITED)]] = phase

    # comparing --------------------------------------------------------------------------------------------------

    def compare_with_write(self, touched: Touched, does: str, changes: Asked | None = None) -> np.ndarray:
        """For each piece whether it is used while a copy into it may be in flight. changes: for each access whether it
        changes anything; None where all do."""
        unordered = self.after_unordered_write(touched)
        if changes and unordered.any():
            unordered &= touched.by_piece(changes())
        if not unordered.any():
            return unordered
        plain = self.plainly_written(touched)
        for some in (unordered & ~plain, unordered & plain):
            if some.any():
                self.report_write(touched, some, does)
        return np.asarray(unordered & ~plain)

    def plain(self, touched: Touched) -> Asked:
        """For each access whether it may race with the last write: two strong ones do not, volatile ones at flags."""
        at, volatile = self.first(touched.access), "volatile" in self.instructions[touched.access.site].parts
        return lambda: touched.any_piece(self.strength[touched.pieces] == PLAIN) | volatile & ~self.flags.are_flags(at)

    def plainly_written(self, touched: Touched) -> np.ndarray:
        """For each piece whether a thread wrote it, so that a barrier is what orders that."""
        agents, pieces = self.clocks.agents, touched.pieces
        by_threads = self.writer[pieces] % agents.width >= agents.first_thread
        return np.asarray(by_threads & (self.written[pieces] != UNAWAITED))

    def compare_with_reads(self, touched: Touched) -> None:
        pieces, lanes = touched.pieces, touched.lanes
        slots = pieces // self.pieces
        unordered = self.read[pieces] > self.clocks.over_readers(lanes, slots)  # (n, readers)
        if not unordered.any():
            return
        which, readers = (unordered[:, : self.geometry.warps]).nonzero()  # those of warps, by their threads
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
            lacks = "no barrier lies between" if other < self.clocks.agents.warps else "no wait for that lies between"
            says += f"at {self.show(site)}: {lacks}"
            self.report(Hazard.RACE(earlier="read"), touched, rows, site, says)

    # clusters ---------------------------------------------------------------------------------------------------

    def note_visit(self, access: Access) -> None:
        if self.apart:
            visits = access.slots != access.lanes // self.geometry.of_block
            lanes = access.lanes[visits]
            self.visits[access.slots[visits], self.clocks.own[lanes]] = self.clocks.now[lanes]
            self.visit_site = access.site if len(lanes) else self.visit_site

    def leave(self, slot: int) -> None:
        """All threads of a block have ended. Others of its cluster must have left its shared memory alone by then."""
        if self.apart and (late := self.visits[slot] > self.clocks.known_in(slot)).any():
            (lane,) = self.clocks.lanes_of(np.array([slot]), np.flatnonzero(late)[:1]).tolist()
            who, block = self.geometry.show_thread(lane), self.geometry.show_slot(slot)
            says = f"{who} may access shared memory of block {block} when that has ended: it must wait for that"
            self.notice(Hazard.UNWAITED(lacks="end"), self.visit_site, says, int(late.sum()), "end")

    # reporting --------------------------------------------------------------------------------------------------

    def report(self, hazard: Fault, touched: Touched, where: np.ndarray, apart: object, says: str) -> None:
        """says: of the first of these pieces."""
        accesses = np.unique(np.flatnonzero(where) // touched.many)
        memory = self.findings.in_memory(int(touched.access.starts[accesses[0]]))
        hazard = replace(hazard, fields=hazard.fields | {("by", touched.access.agent)})
        self.notice(hazard, touched.access.site, says + memory, len(accesses), apart)

    def report_write(self, touched: Touched, where: np.ndarray, does: str) -> None:
        """These pieces are accessed while what was written there last may not be over."""
        at = int(where.argmax())
        who, site = self.who(touched, where), int(self.write_site[touched.pieces[at]])
        if self.plainly_written(touched)[at]:
            what = f"{'reads' if does == 'reads' else 'overwrites'} what {self.writer_of(touched, at)} wrote"
            says = f"{who} {what} at {self.show(site)}, with no barrier between"
            self.report(Hazard.RACE(earlier="write"), touched, where, site, says)
            return
        if (copier := self.writer_lane(touched, at)) < 0:
            carrier = self.carriers.get(site, "TMA")
            copy = "the TMA copy issued" if carrier == "TMA" else f"the {carrier}"
            why = "its mbarrier has not been waited for"
            hazard = Hazard.UNWAITED(lacks="mbarrier", does=does, of=carrier)
        else:
            committed = self.copies.is_committed(site, copier)
            copy = f"the cp.async that {'it' if copier == touched.lanes[at] else self.writer_of(touched, at)} issued"
            why = "no wait has covered its group" if committed else "it is in no committed group, so no wait covers it"
            hazard = Hazard.UNWAITED(lacks="wait" if committed else "commit", does=does)
        says = f"{who} {does} shared memory into which {copy} at {self.show(site)} may still be copying: {why}"
        self.report(hazard, touched, where, site, says)

    def who(self, touched: Touched, where: np.ndarray) -> str:
        """Who accesses the first of these pieces: a thread, or what does it for one."""
        lane, agent = int(touched.lanes[int(where.argmax())]), touched.access.agent
        slot, thread = divmod(lane, self.geometry.of_block)
        block = f"block {self.geometry.show_slot(slot)}"
        if agent in ("tcgen05", "tcgen05.cp"):
            return f"the {'tcgen05.mma' if agent == 'tcgen05' else agent} of warp {thread // WARP} of {block}"
        if agent == "wgmma":
            return f"the wgmma of warpgroup {thread // (WARPGROUP * WARP)} of {block}"
        return f"thread {thread} of {block}" if agent == "thread" else f"TMA, for thread {thread} of {block},"

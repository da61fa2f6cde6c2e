"""tcgen05: tensor memory, and tensor cores that one thread tells to multiply, or to copy (PTX ISA, 9.7.16).

The results of a multiplication (tcgen05.mma) or a copy out of shared memory (tcgen05.cp) are there at once; mbarriers
hear of them, by the commits that follow, when nothing else can happen. Until a thread has waited for such an mbarrier
it cannot know the results. Reads of earlier results must be known to the thread that issues. What a warp has waited for
(tcgen05.wait), its barriers and arrivals order as they do the rest that it did, without a tcgen05.fence (PTX ISA,
9.7.16.6.3).
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.clocks import Seen
from tutorlib.simulate.ptx.descriptors import COLUMNS, LANES, QUARTER, STRIPS, UNIT, Fragment, column_of, strips_of
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.mbarriers import Mbarriers, MbarrierState
from tutorlib.simulate.ptx.meetings import Running
from tutorlib.simulate.ptx.memory import Access
from tutorlib.simulate.ptx.shadow import NEVER, UNAWAITED, Shadow, SharedShadow
from tutorlib.simulate.ptx.types import Array

POISON = np.float32(np.nan)  # in columns never written
OF_BLOCK = STRIPS * COLUMNS
COLUMNS_OF = Hazard.OUTSIDE(tensor="tensor memory")
UNCOMMITTED = Hazard.UNWAITED(lacks="commit", by="tcgen05")
NO_COMMIT = "it has waited for no mbarrier to which that was committed"
TensorUnit = Literal["tcgen05.mma", "tcgen05.cp"]


class TensorMemory(Shadow):
    """A piece is a strip of a block's: slot * OF_BLOCK + strip. Its readers are the block's warps and, last, the tensor
    cores, which count what is issued; it is written by these, or by a warp, in the name of its first thread.

    values: what it holds, (slots, lanes, columns). issued: multiplications and copies into each block's; by_lane: lane
    → slot → the number of its last. copies: the sites of tcgen05.cp. open: of each warp in the batch, by whether they
    store, the pieces of its tcgen05.ld and .st that it has not waited for.
    commits: of each tcgen05.commit, its site, the mbarriers that hear when what its lane issued before is over, and
    that with what the thread knew, in whose order the multiplications come.
    allocated: slot → start → (columns, site). relinquished: the slots that allocate no more. used: whether the kernel
    has any of it.
    """

    def __init__(self, running: Running, races: SharedShadow, mbarriers: Mbarriers, used: bool) -> None:
        self.races, self.mbarriers = races, mbarriers
        agents, batch = running.clocks.agents, running.geometry.batch if used else 0
        self.cores, self.first_thread = int(agents.tensor_cores(np.array(0))), agents.first_thread
        self.values = np.empty((batch, LANES, COLUMNS), np.float32)
        self.copies: set[int] = set()
        super().__init__(running, batch * OF_BLOCK, 1, agents.warps + 1, 0)

    def restart(self) -> None:
        super().restart()
        self.values.fill(POISON)
        self.issued = np.zeros(self.geometry.batch, np.int32)
        self.by_lane: dict[int, dict[int, int]] = {}
        self.commits: list[tuple[int, Sequence[MbarrierState], Seen]] = []
        self.open: dict[tuple[int, bool], list[np.ndarray]] = {}
        self.allocated: dict[int, dict[int, tuple[int, int]]] = {}
        self.relinquished: set[int] = set()

    def who(self, slot: int, warp: int) -> str:
        return self.geometry.show_warp(slot * self.geometry.warps + warp)

    # room ---------------------------------------------------------------------------------------------------------

    def allocate(self, site: int, warp: int, columns: int) -> int:
        """First of the last `columns` free columns: column 0 is no safe guess. 0 and a finding if none are free."""
        slot, who = warp // self.geometry.warps, self.geometry.show_warp(warp)
        if columns not in (32, 64, 128, 256, 512):
            self.notice(COLUMNS_OF, site, f"{who} allocates {columns} columns: a power of two, 32 to 512, can be")
            return 0
        if slot in self.relinquished:
            self.notice(COLUMNS_OF, site, f"{who} allocates, and its block has given up its right to allocate")
        taken = self.taken(slot)
        for start in reversed(range(0, COLUMNS, columns)):
            if not taken[start : start + columns].any():
                self.allocated.setdefault(slot, {})[start] = columns, site
                return start
        self.notice(Hazard.DEADLOCK, site, f"{who} waits forever: {columns} columns of tensor memory are not left")
        return 0

    def free(self, site: int, warp: int, start: int, columns: int) -> None:
        slot, who = warp // self.geometry.warps, self.geometry.show_warp(warp)
        mine = self.allocated.get(slot, {})
        if start not in mine or mine[start][0] != columns:
            self.notice(COLUMNS_OF, site, f"{who} frees {columns} columns from {start} on, not what was allocated")
            return
        pieces = slot * OF_BLOCK + strips_of(start, columns)
        if (late := self.may_read(pieces, self.lane_of(warp), slot)).any():
            says = f"{who} frees tensor memory that {self.who(slot, int(late.argmax()))} may still be reading: no "
            self.notice(Hazard.RACE, site, says + "barrier lies between")
        del mine[start]

    def relinquish(self, warps: np.ndarray) -> None:
        """The blocks of these warps allocate no more."""
        self.relinquished.update((warps // self.geometry.warps).tolist())

    def taken(self, slot: int) -> np.ndarray:
        """Which columns of a block are allocated."""
        taken = np.zeros(COLUMNS, bool)
        for start, (count, _) in self.allocated.get(slot, {}).items():
            taken[start : start + count] = True
        return taken

    def holds(self, site: int, slot: int, strips: np.ndarray, by: str) -> bool:
        """Whether these strips are allocated, and a finding where not. by: who uses them."""
        if int(strips.max()) < OF_BLOCK and self.taken(slot)[strips // STRIPS].all():
            return True
        says = f"{by} uses columns {strips.min() // STRIPS} to {strips.max() // STRIPS} of tensor memory, which are not"
        self.notice(COLUMNS_OF, site, says + " allocated")
        return False

    # multiplying and copying -----------------------------------------------------------------------------------------

    def issue(
        self, site: int, lane: int, slots: Sequence[int], into: Fragment, units: Array, uses: Array, by: TensorUnit
    ) -> bool:
        """A thread tells the tensor cores of these blocks to fill a part of each one's tensor memory. units: of each
        block's shared memory, the addresses of the 16 bytes each that they will read. uses: the strips of tensor memory
        that A and scales are read from. False where that cannot be, which is a finding."""
        who, number = self.geometry.show_warp(lane // WARP), int(self.issued[list(slots)].max()) + 1
        for slot in slots:
            if not self.holds(site, slot, np.union1d(into.strips, uses), who):
                return False
            filled, used = slot * OF_BLOCK + into.strips, slot * OF_BLOCK + uses
            if (late := self.may_read(filled, lane, slot)).any():
                reader, what = int(late.argmax()), "what" if by == "tcgen05.cp" else "accumulators that"
                says = f"{who} lets {by} write over {what} {self.who(slot, reader)} may still be reading: no "
                ended = (self.read[filled, reader] < UNAWAITED).all()
                lacks = "release and acquire, or fences, lie between" if ended else "tcgen05.wait::ld has ended that"
                self.notice(Hazard.RACE, site, says + lacks)
            self.look_for_stores(site, lane, slot, np.union1d(filled, used), f"lets {by} use tensor memory")
            if (self.writer[used] == NEVER).any():
                self.notice(Hazard.UNWRITTEN, site, f"{who} lets {by} read tensor memory that nothing has filled")
            self.issued[slot] = number
            self.read[used, -1] = number
            self.writer[filled], self.written[filled] = self.clocks.base[slot] + self.cores, number
            self.write_site[filled] = site
            self.by_lane.setdefault(lane, {})[slot] = number
            lanes, blocks, agent = np.full(units.size, lane), np.full(units.size, slot), by.removesuffix(".mma")
            access = Access(site, lanes, units.reshape(-1), UNIT, blocks, agent)  # type: ignore[arg-type]
            self.races.on_proxy_read(access, np.full(units.size, self.cores), np.full(units.size, number))
        if by == "tcgen05.cp":
            self.copies.add(site)
        return True

    def over(self, lane: int, slot: int) -> np.ndarray:
        """How many steps of each of a block's warps a thread knows of. tcgen05.ld, .st and their waits are a whole
        warp's, so that one of its threads tells of them all."""
        clocks, warps = self.clocks, self.geometry.warps
        known = clocks.known(lane)[clocks.base[slot] :][: clocks.agents.width]
        return np.maximum(known[:warps], known[self.first_thread :].reshape(warps, WARP).max(1))

    def may_read(self, pieces: np.ndarray, lane: int, slot: int) -> np.ndarray:
        """Which other warps of a block may still be reading some of these pieces, as far as a thread knows."""
        late = np.asarray((self.read[pieces, :-1] > self.over(lane, slot)).any(0))
        own, warp = divmod(lane // WARP, self.geometry.warps)
        late[warp] &= slot != own
        return late

    def lane_of(self, warp: int) -> int:
        """The thread of a warp that knows least."""
        return int(self.clocks.least(warp * WARP + np.arange(WARP)[None])[0])

    def look_for_stores(self, site: int, lane: int, slot: int, pieces: np.ndarray, does: str) -> None:
        """A finding if a block's warps may still be storing to these pieces, which a lane uses."""
        threads = self.writer[pieces] - self.clocks.base[slot] - self.first_thread
        pieces, warps = pieces[threads >= 0], threads[threads >= 0] // WARP
        stored, own = self.written[pieces], warps + slot * self.geometry.warps == lane // WARP
        late = np.where(own, stored == UNAWAITED, stored > self.over(lane, slot)[warps])
        if not late.any():
            return
        who, other = self.geometry.show_warp(lane // WARP), int(warps[late].min())
        if slot * self.geometry.warps + other == lane // WARP:
            says = f"{who} {does} to which its tcgen05.st may still be storing: no tcgen05.wait::st lies between"
            self.notice(Hazard.UNWAITED(by="tcgen05"), site, says)
        else:
            says = f"{who} {does} to which {self.who(slot, other)} may still be storing: no barrier lies between"
            self.notice(Hazard.RACE, site, says)

    def commit(self, site: int, lane: int, mbarriers: Sequence[MbarrierState]) -> None:
        vector = self.clocks.values[self.clocks.row[lane]].copy()
        for slot, number in self.by_lane.get(lane, {}).items():
            vector[self.clocks.base[slot] + self.cores] = number
        self.commits.append((site, mbarriers, Seen(vector)))

    def deliver(self) -> bool:
        """Carry out the last commit. Whether there was any. The others follow when nothing else can happen: no order is
        promised among arrivals at different mbarriers."""
        if not self.commits:
            return False
        site, mbarriers, seen = self.commits.pop()
        for mbarrier in mbarriers:
            if self.mbarriers.ended[mbarrier.place[0]]:
                says = "a commit may arrive at an mbarrier of a block that has ended: no thread waits for it"
                self.notice(Hazard.UNWAITED(lacks="end", by="tcgen05"), site, says)
            else:
                self.mbarriers.arrive_later(site, mbarrier, seen)
        return True

    # the warps' own accesses ----------------------------------------------------------------------------------------

    def access(
        self, site: int, warp: int, addresses: Array, registers: Sequence[Array], where: Fragment, stores: bool
    ) -> None:
        """A warp, by its number in the batch, begins to read, or to store its part of these registers of all lanes.
        addresses: its threads', one for all. where: its threads' registers lie from there on.

        Registers and memory hold the numbers at once, since compilers compute with them before the wait. That the
        access is over only the wait tells. A warp that names other lanes than its own gets at its own.
        """
        slot, number = divmod(warp, self.geometry.warps)
        lane, column = column_of(int(addresses[0]))
        own, who, apart = number % 4 * QUARTER, self.geometry.show_warp(warp), not (addresses == addresses[0]).all()
        wrong = ""
        if apart:
            wrong = f"names another address in each thread; tcgen05.{'st' if stores else 'ld'} takes one for the warp"
        elif lane < own or lane + where.lanes.max() >= own + QUARTER:
            wrong = f"{'stores to' if stores else 'reads'} lanes from {lane} on; its own begin at {own}"
            lane = own + min(lane % QUARTER, QUARTER - 1 - int(where.lanes.max()))
        if wrong:
            self.notice(Hazard.OUTSIDE(tensor="lanes"), site, f"{who} {wrong}")
        there = where.at(lane, column)
        if apart or not self.holds(site, slot, there.strips, who):
            return
        knows_least, pieces = self.lane_of(warp), slot * OF_BLOCK + there.strips
        self.look_for_work(site, knows_least, pieces, stores)
        self.open.setdefault((warp, stores), []).append(pieces)
        held, mine = self.values[slot].view(np.uint32), slice(warp * WARP, (warp + 1) * WARP)
        if stores:
            self.writer[pieces], self.written[pieces] = self.clocks.own[warp * WARP], UNAWAITED
            for at, register in enumerate(registers):
                held[there.lanes[:, at], there.columns[:, at]] = register[mine]
            return
        self.look_for_stores(site, knows_least, slot, pieces, "reads tensor memory")
        self.read[pieces, number] = UNAWAITED
        if (self.writer[pieces] == NEVER).any():
            says = "reads tensor memory to which no tcgen05.mma has been issued yet"
            self.notice(Hazard.UNWRITTEN, site, f"{who} {says}")
        for at, register in enumerate(registers):
            register[mine] = held[there.lanes[:, at], there.columns[:, at]]

    def look_for_work(self, site: int, lane: int, pieces: np.ndarray, stores: bool) -> None:
        """A finding if multiplications or copies may still use pieces that a lane's warp reads or stores to."""
        who, cores = self.geometry.show_warp(lane // WARP), self.clocks.base[pieces[0] // OF_BLOCK] + self.cores
        over = self.clocks.over(np.array([lane]), cores)
        unknown = (self.writer[pieces] == cores) & (self.written[pieces] > over)
        if unknown.any():
            told = int(self.write_site[pieces[unknown.argmax()]])
            does, copies = "stores over" if stores else "reads", told in self.copies
            what, adds = ("what", "copying") if copies else ("accumulators that", "adding to")
            says = f"{who} {does} {what} the {'tcgen05.cp' if copies else 'tcgen05.mma'} at {self.show(told)} may "
            self.notice(UNCOMMITTED, site, says + f"still be {adds}: {NO_COMMIT}", apart=told)
        elif stores and (self.read[pieces, -1] > over).any():
            says = f"{who} stores over an A that a tcgen05.mma may still be reading: {NO_COMMIT}"
            self.notice(UNCOMMITTED, site, says)

    def wait(self, warps: np.ndarray, stores: bool) -> None:
        """These warps' loads are over, or their stores."""
        for warp in warps.tolist():
            now, own = self.clocks.now[warp * WARP], self.clocks.own[warp * WARP]
            for pieces in self.open.pop((warp, stores), []):
                if stores:
                    self.written[pieces[self.writer[pieces] == own]] = now
                else:
                    self.read[pieces, warp % self.geometry.warps] = now

    def leave(self, slot: int) -> None:
        """All threads of a block have ended."""
        for start, (columns, site) in self.allocated.get(slot, {}).items():
            says = f"block {self.geometry.show_slot(slot)} ends with {columns} columns of tensor memory that were "
            says += "never freed: the next block on its SM waits for them forever"
            self.notice(Hazard.UNWAITED(lacks="free", by="tcgen05"), site, says, apart=start)

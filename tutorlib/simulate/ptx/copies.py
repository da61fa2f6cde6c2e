"""TMA: copies between global and shared memory that an mbarrier or a bulk group tracks (PTX ISA, 9.7.9.25).
Stores into another block's shared memory (st.async) arrive like them.

A copy into shared memory arrives when no thread can go on without it, all those in flight together. A copy out of
shared memory reads it when its thread waits for its group, or when its block ends.

cp.async.mbarrier.arrive (9.7.13.15): the system arrives on an mbarrier, for each thread that runs the instruction, once
all cp.async that the thread issued before it have written their bytes. Here that is as late as possible: when no thread
can go on without it, or after a test of the mbarrier has failed. Such an arrival publishes those bytes, and nothing
else that its thread did.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.descriptors import UNIT
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.mbarriers import Mbarriers, MbarrierState
from tutorlib.simulate.ptx.meetings import Unit
from tutorlib.simulate.ptx.memory import Access, Agent, Carrier, Groups, InFlight, SharedMemory, rows_of
from tutorlib.simulate.ptx.shadow import SharedShadow

Keep = Callable[[np.ndarray], None]


@dataclass(frozen=True)
class BulkLoad:
    """One copy into one block's shared memory.

    lane: whose thread told TMA to. slot: the block. starts: addresses of its units there, (units,). data: their bytes,
    (units, width). mbarrier: counts them, or None where there is none. carrier: what brings them.
    """

    site: int
    lane: int
    slot: int
    starts: np.ndarray
    data: np.ndarray
    mbarrier: MbarrierState | None
    carrier: Carrier = "TMA"


@dataclass(frozen=True)
class BulkStore:
    """One copy out of shared memory, as `BulkLoad`. keep: takes the bytes. number: among the stores of its warp."""

    site: int
    starts: np.ndarray
    keep: Keep
    number: int


@dataclass(frozen=True)
class CopyArrival:
    """A cp.async.mbarrier.arrive to come: an arrival for each of these lanes. issued: how many cp.async instructions
    the batch had issued before it."""

    site: int
    mbarrier: MbarrierState
    lanes: np.ndarray
    issued: int


@dataclass
class BulkCopies(Unit):
    """loads, arrivals: that have not happened. stores: that have not been waited for; told: how many each warp had."""

    shared: SharedMemory
    races: SharedShadow
    mbarriers: Mbarriers

    def restart(self) -> None:
        self.loads: list[BulkLoad] = []
        self.arrivals: list[CopyArrival] = []
        self.stores = Groups[BulkStore](self.geometry.lanes)
        self.told = np.zeros(self.geometry.batch * self.geometry.warps, np.int32)
        self.slot = self.geometry.slot()

    # into shared memory -------------------------------------------------------------------------------------------

    def load(self, copies: list[BulkLoad]) -> None:
        """Copies of one instruction begin."""
        if not copies:
            return
        carrier, width, counts = copies[0].carrier, copies[0].data.shape[1], [len(copy.starts) for copy in copies]
        agent: Agent = "TMA" if carrier == "TMA" else "thread"
        each = [(copy.lane, copy.slot, self.mbarriers.component(copy.mbarrier, copy.slot)) for copy in copies]
        lanes, slots, components = np.repeat(each, counts, axis=0).T
        access = Access(copies[0].site, lanes, np.concatenate([copy.starts for copy in copies]), width, slots, agent)
        self.races.on_bulk_copy(access, carrier, components)
        for copy in copies:
            if copy.mbarrier is not None:
                phase = copy.mbarrier.phase + 1
                self.races.listener.on_bulk_load(copy.slot, copy.mbarrier.number, phase, copy.starts)
        self.loads += copies

    def count_async(self, site: int, mbarrier: MbarrierState, lanes: np.ndarray, counts_more: bool) -> None:
        """cp.async.mbarrier.arrive of these lanes. counts_more: without .noinc the phase expects one arrival more for
        each lane, which is the one to come."""
        copies, component = self.races.copies, self.mbarriers.component(mbarrier, mbarrier.place[0])
        mbarrier.pending += counts_more * len(lanes)
        for access in copies.issued_by(lanes):
            self.races.note_counted(access, "cp.async", np.full(len(access.lanes), component))
        self.arrivals.append(CopyArrival(site, mbarrier, lanes, copies.groups.issued))

    def deliver(self) -> bool:
        """All copies into shared memory arrive. Whether there were any."""
        arriving, self.loads = self.loads, []
        for copy in arriving:
            if self.mbarriers.ended[copy.slot]:
                says = f"{copy.carrier} may write to shared memory of block {self.geometry.show_slot(copy.slot)}, "
                says += "which has ended: no thread waits for it"
                self.notice(Hazard.UNWAITED(lacks="end", by=copy.carrier), copy.site, says)
            elif copy.mbarrier is not None:
                slots, lanes = (np.full(len(copy.starts), n) for n in (copy.slot, copy.lane))
                width = copy.data.shape[1]
                places = (copy.slot * self.shared.stride + copy.starts) // width
                rows_of(self.shared.bytes, 1, width)[places] = copy.data
                access = Access(copy.site, lanes, copy.starts, width, slots)
                component = self.mbarriers.component(copy.mbarrier, copy.slot)
                self.races.on_arrival(access, component, copy.mbarrier.phase + 1)
                self.races.listener.on_bulk_arrival(copy.slot, copy.mbarrier.number, copy.mbarrier.phase + 1)
                copy.mbarrier.covers.add(copy.slot)
                self.mbarriers.complete(copy.site, copy.mbarrier, copy.data.size, copy.lane)
        return bool(arriving)

    def deliver_async(self, mbarrier: MbarrierState | None = None) -> bool:
        """cp.async's arrivals on this mbarrier, or on all, happen. Whether there were any."""
        arriving = [one for one in self.arrivals if mbarrier is None or mbarrier is one.mbarrier]
        self.arrivals = [one for one in self.arrivals if not (mbarrier is None or mbarrier is one.mbarrier)]
        for one in arriving:
            component = self.mbarriers.component(one.mbarrier, one.mbarrier.place[0])
            for access in self.races.copies.finish(one.lanes, one.issued):
                self.races.on_arrival(access, component, one.mbarrier.phase + 1)
            self.mbarriers.arrive_later(one.site, one.mbarrier, self.clocks.nothing(), len(one.lanes))
        return bool(arriving)

    # out of shared memory -----------------------------------------------------------------------------------------

    def store(self, site: int, copies: list[tuple[int, np.ndarray, Keep]]) -> None:
        """TMA is told to make copies of one instruction: (lane, starts, what takes the bytes) each."""
        if not copies:
            return
        counts, numbers = [len(starts) for _, starts, _ in copies], []
        for lane, starts, keep in copies:
            self.told[lane // WARP] += 1
            numbers.append(int(self.told[lane // WARP]))
            self.stores.issue(BulkStore(site, starts, keep, numbers[-1]), np.array([lane]))
        lanes = np.repeat([lane for lane, _, _ in copies], counts)
        starts = np.concatenate([starts for _, starts, _ in copies])
        access = Access(site, lanes, starts, UNIT, self.slot[lanes], agent="TMA")
        self.races.on_proxy_read(access, self.reader(lanes), np.repeat(numbers, counts))

    def reader(self, lanes: np.ndarray) -> np.ndarray:
        """Their blocks' component of TMA, which reads for these lanes."""
        return self.clocks.agents.tma(lanes // WARP % self.geometry.warps)

    def wait(self, lanes: np.ndarray, open_groups: int) -> None:
        """These lanes' groups have been read, but for the newest `open_groups`."""
        for one in self.stores.wait(lanes, open_groups):  # in the order of their numbers
            self.read(one)
            components = self.clocks.base[self.slot[one.lanes]] + self.reader(one.lanes)
            self.clocks.learn(one.lanes, components, one.what.number)

    def read(self, store: InFlight[BulkStore]) -> None:
        row = int(self.slot[store.lanes[0]]) * self.shared.stride
        store.what.keep(rows_of(self.shared.bytes, 1, UNIT)[(row + store.what.starts) // UNIT])

    def leave(self, lanes: np.ndarray) -> None:
        """These lanes' threads end. What they told TMA to store and did not wait for may still be read."""
        for one in self.stores.end(lambda one: np.isin(one.lanes, lanes)):
            committed = self.stores.committed[one.lanes[0]] > one.groups[0]
            why = "no thread waits for it to finish" if committed else "it is in no group that could be waited for"
            says = f"{self.geometry.show_thread(int(one.lanes[0]))} ends while a TMA store may still be reading shared "
            self.notice(Hazard.UNWAITED(lacks="stored"), one.what.site, f"{says}memory: {why}")
            self.read(one)

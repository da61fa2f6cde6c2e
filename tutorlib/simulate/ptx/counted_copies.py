"""cp.async whose arrival an mbarrier counts: cp.async.mbarrier.arrive (PTX ISA, 9.7.13.15).

The system arrives on the mbarrier, for each thread that runs the instruction, once all cp.async that the thread issued
before it have written their bytes. Here that is as late as possible: when no thread can go on without it, or after a
test of the mbarrier has failed. Such an arrival publishes those bytes, and nothing else that its thread did.
"""

from dataclasses import dataclass

import numpy as np

from tutorlib.simulate.ptx.mbarriers import Mbarriers, MbarrierState
from tutorlib.simulate.ptx.shared_shadow import SharedShadow
from tutorlib.simulate.ptx.unit import Unit


@dataclass(frozen=True)
class CopyArrival:
    """The pending effect of one instruction: an arrival for each of these lanes.

    issued: how many cp.async instructions the batch had issued before it.
    """

    site: int
    mbarrier: MbarrierState
    lanes: np.ndarray
    issued: int


@dataclass
class CountedCopies(Unit):
    races: SharedShadow
    mbarriers: Mbarriers

    def restart(self) -> None:
        self.to_come: list[CopyArrival] = []

    def count(self, site: int, mbarrier: MbarrierState, lanes: np.ndarray, counts_more: bool) -> None:
        """counts_more: without .noinc the phase expects one arrival more for each lane, which is the one to come."""
        copies = self.races.copies
        mbarrier.pending += counts_more * len(lanes)
        for access in copies.issued_by(lanes):
            self.races.on_counting(access)
        self.to_come.append(CopyArrival(site, mbarrier, lanes, copies.issued))

    def deliver(self, mbarrier: MbarrierState | None = None) -> bool:
        """Arrivals on this mbarrier, or on all, happen. Whether there were any."""
        arriving = [one for one in self.to_come if mbarrier is None or mbarrier is one.mbarrier]
        self.to_come = [one for one in self.to_come if not (mbarrier is None or mbarrier is one.mbarrier)]
        for one in arriving:
            component = self.clocks.agents.readers + one.mbarrier.number
            for access in self.races.copies.finish(one.lanes, one.issued):
                self.races.on_tma_arrival(access, component, one.mbarrier.phase + 1)
            self.mbarriers.arrive_later(one.site, one.mbarrier, self.clocks.nothing(), len(one.lanes))
        return bool(arriving)

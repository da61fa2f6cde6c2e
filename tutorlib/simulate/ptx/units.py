"""The units that work beside a block's threads, or that threads wait at."""

from dataclasses import dataclass

import numpy as np

from tutorlib.simulate.ptx.bulk_copies import BulkCopies
from tutorlib.simulate.ptx.cluster_barriers import ClusterBarriers
from tutorlib.simulate.ptx.counted_copies import CountedCopies
from tutorlib.simulate.ptx.geometry import WARP, Geometry
from tutorlib.simulate.ptx.mbarriers import Mbarriers
from tutorlib.simulate.ptx.memory.shared import SharedMemory
from tutorlib.simulate.ptx.register_pool import RegisterPool
from tutorlib.simulate.ptx.tensor_memory import TensorMemory
from tutorlib.simulate.ptx.warpgroups import Warpgroups
from tutorlib.simulate.ptx.watch import Watch


@dataclass(frozen=True)
class Units:
    mbarriers: Mbarriers
    bulk: BulkCopies
    counted: CountedCopies
    warpgroups: Warpgroups
    clusters: ClusterBarriers
    registers: RegisterPool
    tensor: TensorMemory

    @property
    def meetings(self) -> "tuple[RegisterPool, Mbarriers, Warpgroups, ClusterBarriers]":
        """The places at which threads wait, in the order in which a deadlock is told: the nearest to the cause first. A
        warp that lacks registers arrives at no mbarrier.
        """
        return self.registers, self.mbarriers, self.warpgroups, self.clusters

    def restart(self) -> None:
        """Make ready for another batch."""
        for unit in (*self.meetings, self.bulk, self.counted, self.tensor):
            unit.restart()

    def leave(self, lanes: np.ndarray, alive: np.ndarray) -> None:
        """These lanes' threads have just ended. alive: (lanes,), those that have not."""
        self.bulk.leave(lanes)
        self.clusters.leave(lanes)
        if self.bulk.geometry.cluster_size > 1:
            for slot in self.ended(lanes, alive):
                self.bulk.races.leave(slot)
        if self.mbarriers.made:
            for slot in self.ended(lanes, alive):
                self.mbarriers.leave(slot)
                self.tensor.leave(slot)

    def ended(self, lanes: np.ndarray, alive: np.ndarray) -> list[int]:
        """The blocks of these lanes that have no living thread left."""
        of_block = self.bulk.geometry.warps * WARP
        slots = np.unique(lanes // of_block)
        return slots[~alive.reshape(-1, of_block)[slots].any(1)].tolist()


def make_units(geometry: Geometry, shared: SharedMemory, watch: Watch, blocks_per_sm: int) -> Units:
    """blocks_per_sm: that an SM is to hold."""
    registers = RegisterPool(watch.findings, geometry, blocks_per_sm)
    mbarriers = Mbarriers(watch.findings, geometry, watch.clocks, watch.show)
    return Units(
        mbarriers,
        BulkCopies(geometry, shared, watch.races, mbarriers, watch.findings),
        CountedCopies(geometry, watch.races, mbarriers),
        Warpgroups(watch.findings, geometry, watch.races, registers, watch.show),
        ClusterBarriers(watch.findings, geometry, watch.clocks),
        registers,
        TensorMemory(geometry, watch.races, mbarriers, watch.findings, watch.show),
    )

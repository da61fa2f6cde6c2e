"""The units that work beside a block's threads, or that threads wait at. barrier.cluster is here: all threads of a
cluster's blocks arrive, and later wait for each other (PTX ISA, 9.7.13.4).
"""

from dataclasses import dataclass

import numpy as np

from tutorlib.simulate.ptx.clocks import CLUSTER, Seen
from tutorlib.simulate.ptx.copies import BulkCopies
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Kernel
from tutorlib.simulate.ptx.mbarriers import Mbarriers
from tutorlib.simulate.ptx.memory import SharedMemory
from tutorlib.simulate.ptx.shadow import SharedShadow
from tutorlib.simulate.ptx.tensor_memory import TensorMemory
from tutorlib.simulate.ptx.unit import Meeting, Running, Waiting
from tutorlib.simulate.ptx.warpgroups import RegisterPool, Warpgroups


class ClusterBarriers(Meeting[Waiting]):
    """arrived, ended: threads of each cluster. passed: how often its barrier was. turn: which passing each lane waits
    for. seen: what those know who have arrived; over: what they knew when the barrier was passed."""

    def restart(self) -> None:
        super().restart()
        of_cluster = self.geometry.of_block * self.geometry.cluster_size
        self.cluster = np.arange(self.geometry.lanes) // of_cluster
        clusters = self.geometry.batch // self.geometry.cluster_size
        self.arrived, self.passed, self.ended = np.zeros((3, clusters), np.int64)
        self.turn = np.zeros(self.geometry.lanes, np.int64)
        self.seen: dict[int, Seen] = {}
        self.over: dict[int, Seen] = {}

    def arrive(self, lanes: np.ndarray, relaxed: bool) -> None:
        clusters = self.cluster[lanes]
        self.turn[lanes] = self.passed[clusters] + 1
        np.add.at(self.arrived, clusters, 1)
        for cluster in np.unique(clusters).tolist():
            some = lanes[clusters == cluster]
            seen = self.clocks.relaxed(some, CLUSTER) if relaxed else self.clocks.release(some)
            self.seen[cluster] = self.seen[cluster] | seen if cluster in self.seen else seen
        self.settle()

    def settle(self) -> None:
        """Whether all threads of a cluster that have not ended have arrived."""
        wanted = self.geometry.threads * self.geometry.cluster_size - self.ended
        complete = (self.arrived > 0) & (self.arrived >= wanted)
        self.passed[complete] += 1
        self.arrived[complete] = 0
        for cluster in np.flatnonzero(complete).tolist():
            self.over[cluster] = self.seen.pop(cluster)

    def wait(self, site: int, lanes: np.ndarray, then: int | None) -> np.ndarray:
        """Those of these lanes that may go on; the others wait."""
        return self.come(Waiting(site, lanes, then))

    def serve(self, group: Waiting) -> list[Waiting]:
        passes = self.passed[self.cluster[group.lanes]] >= self.turn[group.lanes]
        free = group.some(passes)
        for one in free:
            clusters = self.cluster[one.lanes]
            for cluster in np.unique(clusters).tolist():
                if cluster in self.over:
                    self.clocks.acquire(one.lanes[clusters == cluster], self.over[cluster])
        self.waiting += group.some(~passes)
        return free

    def leave(self, lanes: np.ndarray) -> None:
        np.add.at(self.ended, self.cluster[lanes], 1)
        self.settle()

    def lacking(self, group: Waiting) -> str:
        who = self.geometry.show_warp(int(group.lanes[0]) // WARP)
        return f"{who} waits forever for its cluster: some threads of its blocks never arrive at the cluster's barrier"


@dataclass(frozen=True)
class Units:
    mbarriers: Mbarriers
    bulk: BulkCopies
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
        for unit in (*self.meetings, self.bulk, self.tensor):
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
        of_block = self.bulk.geometry.of_block
        slots = np.unique(lanes // of_block)
        return slots[~alive.reshape(-1, of_block)[slots].any(1)].tolist()


def make_units(running: Running, shared: SharedMemory, races: SharedShadow, kernel: Kernel) -> Units:
    registers, mbarriers = RegisterPool(running, kernel.blocks_per_sm), Mbarriers(running)
    has_tensor_memory = any(one.parts[0] == "tcgen05" for one in kernel.instructions)
    return Units(
        mbarriers,
        BulkCopies(running, shared, races, mbarriers),
        Warpgroups(running, races, registers),
        ClusterBarriers(running),
        registers,
        TensorMemory(running, races, mbarriers, has_tensor_memory),
    )

"""barrier.cluster: all threads of a cluster's blocks arrive, and later wait for each other (PTX ISA, 9.7.13.4)."""

import numpy as np

from tutorlib.simulate.ptx.clocks import CLUSTER, Seen
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.unit import Meeting, Waiting


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

"""barrier.cluster: all threads of a cluster's blocks arrive, and later wait for each other (PTX ISA, 9.7.13.4)."""

from dataclasses import dataclass, field

import numpy as np

from tutorlib.failure import Hazard
from tutorlib.simulate.ptx.clocks import WarpClocks
from tutorlib.simulate.ptx.findings import Findings
from tutorlib.simulate.ptx.geometry import WARP, Geometry


@dataclass(frozen=True)
class WaitingForCluster:
    """Lanes that wait for the threads of their clusters."""

    site: int
    lanes: np.ndarray
    then: int | None


@dataclass
class ClusterBarriers:
    """arrived: threads of each cluster. passed: how often its barrier was. first: the place of the batch's first block.

    Relaxed arrivals order as much as others here: what stands before them is a fence of mbarriers just made.
    """

    geometry: Geometry
    clocks: WarpClocks
    findings: Findings
    waiting: list[WaitingForCluster] = field(default_factory=list)
    first: int = 0

    def __post_init__(self) -> None:
        clusters = self.geometry.batch // self.geometry.cluster_size
        lanes = np.arange(self.geometry.lanes)
        self.cluster = lanes // (self.geometry.warps * WARP * self.geometry.cluster_size)
        self.arrived, self.passed = np.zeros(clusters, np.int64), np.zeros(clusters, np.int64)
        self.seen = np.zeros((clusters, self.clocks.width), np.int32)  # what those know who have arrived
        self.over = np.zeros_like(self.seen)  # what they knew when the barrier was passed
        self.turn = np.zeros(self.geometry.lanes, np.int64)  # which passing each lane waits for
        self.ended = np.zeros(clusters, np.int64)  # threads

    def restart(self, first: int) -> None:
        self.first = first
        self.waiting.clear()
        for array in (self.arrived, self.passed, self.seen, self.over, self.turn, self.ended):
            array.fill(0)

    def arrive(self, lanes: np.ndarray) -> None:
        clusters = self.cluster[lanes]
        self.turn[lanes] = self.passed[clusters] + 1
        np.add.at(self.arrived, clusters, 1)
        warps = np.unique(lanes // WARP)
        slots, numbers = warps // self.geometry.warps, warps % self.geometry.warps
        np.maximum.at(self.seen, slots // self.geometry.cluster_size, self.clocks.release(slots, numbers))
        self.settle()

    def settle(self) -> None:
        """Whether all threads of a cluster that have not ended have arrived."""
        wanted = self.geometry.threads * self.geometry.cluster_size - self.ended
        complete = (self.arrived > 0) & (self.arrived >= wanted)
        self.passed[complete] += 1
        self.arrived[complete] = 0
        self.over[complete] = self.seen[complete]

    def wait(self, site: int, lanes: np.ndarray, then: int | None) -> np.ndarray:
        """Those of these lanes that may go on; the others wait."""
        passes = self.passed[self.cluster[lanes]] >= self.turn[lanes]
        self.pass_by(lanes[passes])
        if not passes.all():
            self.waiting.append(WaitingForCluster(site, lanes[~passes], then))
        return np.asarray(lanes[passes])

    def pass_by(self, lanes: np.ndarray) -> None:
        if len(lanes):
            warps = np.unique(lanes // WARP)
            slots, numbers = warps // self.geometry.warps, warps % self.geometry.warps
            self.clocks.acquire(slots, numbers, self.over[slots // self.geometry.cluster_size])

    def open(self) -> list[WaitingForCluster]:
        """The lanes that may go on now, which wait no longer."""
        free, left = [], []
        for group in self.waiting:
            passes = self.passed[self.cluster[group.lanes]] >= self.turn[group.lanes]
            if passes.any():
                free.append(WaitingForCluster(group.site, group.lanes[passes], group.then))
                self.pass_by(group.lanes[passes])
            if not passes.all():
                left.append(WaitingForCluster(group.site, group.lanes[~passes], group.then))
        self.waiting = left
        return free

    def leave(self, lanes: np.ndarray) -> None:
        np.add.at(self.ended, self.cluster[lanes], 1)
        self.settle()

    def report_deadlock(self) -> None:
        """No warp runs any longer, and these still wait."""
        for group in self.waiting:
            slot, warp = divmod(int(group.lanes[0]) // WARP, self.geometry.warps)
            block = self.geometry.show_block(self.first + slot)
            self.findings.notice(
                Hazard.DEADLOCK,
                group.site,
                lambda warp=warp, block=block: (  # type: ignore[misc]
                    f"warp {warp} of block {block} waits forever for its cluster: some threads of its blocks never "
                    "arrive at the cluster's barrier"
                ),
                len(group.lanes),
            )

"""Which of a block's accesses to memory happen before which: vector clocks, a component for each agent.

A barrier, or an arrival on one and the wait for it, orders what stands before it in one warp and behind it in another
(PTX ISA, 9.7.13: what the memory consistency model calls synchronizing). Each warp counts its own such steps; an access
carries the count of its moment. Threads of one warp are ordered by the same count, since only bar.warp.sync and the
block's barriers order them: shfl and vote promise nothing about memory (PTX ISA, 9.7.9).

What works beside the threads is an agent of its own (`Agents`): its operations are counted, and a warp that waits for
them learns how many are over.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Agents:
    """The agents that use a block's shared memory, each with a component of the clocks: first its warps, then TMA's
    reads for each warp, the tensor cores for each warpgroup, and TMA's writes for each mbarrier.

    stores: whether TMA reads. warpgroups: whose tensor cores read. mbarriers: as many as there may be.
    """

    warps: int
    stores: bool = False
    warpgroups: int = 0
    mbarriers: int = 0

    @property
    def readers(self) -> int:
        return self.warps * (1 + self.stores) + self.warpgroups

    @property
    def width(self) -> int:
        return self.readers + self.mbarriers

    def tma(self, warps: np.ndarray) -> np.ndarray:
        return self.warps + warps

    def tensor_cores(self, warpgroups: np.ndarray) -> np.ndarray:
        return self.readers - self.warpgroups + warpgroups

    def show(self, reader: int) -> str:
        """ "warp 3", "TMA"."""
        if reader < self.warps:
            return f"warp {reader}"
        first = self.readers - self.warpgroups
        return "TMA" if reader < first else f"the wgmma of warpgroup {reader - first}"


class WarpClocks:
    """now: (blocks, warps), the count of each warp. known: (blocks, warps, components), whose steps are over.

    An access that warp v made at count c is over for warp w when c <= known[block, w, v]. On the diagonal stands the
    count of the last step that all threads of the warp took together: what came since is not ordered among them.
    cluster: blocks that may order one another's accesses; a warp knows of the components of all of them, those of the
    block with rank 0 first. base: where a block's own begin. fenced: what each warp knew at its last fence, which is
    all that a relaxed arrival releases.
    """

    def __init__(self, blocks: int, agents: Agents, cluster: int = 1) -> None:
        self.agents, self.cluster = agents, cluster
        self.width = agents.width * cluster
        self.now = np.empty((blocks, agents.warps), np.int32)
        self.known, self.fenced = (np.empty((blocks, agents.warps, self.width), np.int32) for _ in range(2))
        self.base = np.arange(blocks) % cluster * agents.width
        self.restart()

    def restart(self) -> None:
        self.now.fill(1)
        self.known.fill(0)
        self.fenced.fill(0)

    def release(self, slots: np.ndarray, warps: np.ndarray, whole: bool = True) -> np.ndarray:
        """These warps' clocks, (n, components), their own steps up to now included. They begin a new step.

        whole: whether all threads of a warp do this together, which orders their own accesses, too.
        """
        seen = self.known[slots, warps]
        seen[np.arange(len(slots)), self.base[slots] + warps] = self.now[slots, warps]
        if whole:
            self.known[slots, warps, self.base[slots] + warps] = self.now[slots, warps]
        self.now[slots, warps] += 1
        return seen

    def fence(self, slots: np.ndarray, warps: np.ndarray) -> None:
        self.fenced[slots, warps] = self.release(slots, warps, whole=False)

    def acquire(self, slots: np.ndarray, warps: np.ndarray, seen: np.ndarray) -> None:
        """These warps learn what others knew when they released. seen: (n, components)."""
        self.known[slots, warps] = np.maximum(self.known[slots, warps], seen)

    def learn(
        self, slots: np.ndarray, warps: np.ndarray, of: np.ndarray, agents: np.ndarray, counts: np.ndarray
    ) -> None:
        """These warps learn that this many of an agent's operations, in the blocks `of`, have completed."""
        at = slots, warps, self.base[of] + agents
        self.known[at] = np.maximum(self.known[at], counts)

    def meet(self, slots: np.ndarray) -> None:
        """A barrier of all warps of these blocks: each learns what all did."""
        seen = self.known[slots].max(1)
        own = self.base[slots][:, None] + np.arange(self.agents.warps)
        np.put_along_axis(seen, own, self.now[slots], 1)
        self.known[slots] = seen[:, None, :]
        self.now[slots] += 1

    def over(self, slots: np.ndarray, warps: np.ndarray, of: np.ndarray, agents: np.ndarray) -> np.ndarray:
        """For each of these warps: how many steps of an agent of the block `of` are over."""
        return np.asarray(self.known[slots, warps, self.base[of] + agents])

    def over_readers(self, slots: np.ndarray, warps: np.ndarray, of: np.ndarray) -> np.ndarray:
        """The same for all that read, (n, readers)."""
        if self.cluster == 1:
            return np.asarray(self.known[slots, warps, : self.agents.readers])
        columns = self.base[of][:, None] + np.arange(self.agents.readers)
        return np.asarray(self.known[slots[:, None], warps[:, None], columns])

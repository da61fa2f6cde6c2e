"""Which of a block's accesses to memory happen before which: vector clocks, a component for each warp.

A barrier, or an arrival on one and the wait for it, orders what stands before it in one warp and behind it in another
(PTX ISA, 9.7.13: what the memory consistency model calls synchronizing). Each warp counts its own such steps; an access
carries the count of its moment. Threads of one warp are ordered by the same count, since only bar.warp.sync and the
block's barriers order them: shfl and vote promise nothing about memory (PTX ISA, 9.7.9).
"""

import numpy as np


class WarpClocks:
    """now: (blocks, warps), the count of each warp. known: (blocks, warps, warps), whose steps up to where are over.

    An access that warp v made at count c is over for warp w when c <= known[block, w, v]. On the diagonal stands
    now - 1: a warp's own accesses since its last step are not ordered among its threads.
    """

    def __init__(self, blocks: int, warps: int) -> None:
        self.now = np.empty((blocks, warps), np.int32)
        self.known = np.empty((blocks, warps, warps), np.int32)
        self.restart()

    def restart(self) -> None:
        self.now.fill(1)
        self.known.fill(0)

    def release(self, slots: np.ndarray, warps: np.ndarray) -> np.ndarray:
        """What these warps know, (n, warps), their own steps up to now included. They begin a new step."""
        seen = self.known[slots, warps]
        seen[np.arange(len(slots)), warps] = self.now[slots, warps]
        self.known[slots, warps, warps] = self.now[slots, warps]
        self.now[slots, warps] += 1
        return seen

    def acquire(self, slots: np.ndarray, warps: np.ndarray, seen: np.ndarray) -> None:
        """These warps learn what others knew when they released. seen: (n, warps)."""
        self.known[slots, warps] = np.maximum(self.known[slots, warps], seen)

    def meet(self, slots: np.ndarray) -> None:
        """A barrier of all warps of these blocks: each learns what all did."""
        self.known[slots] = self.now[slots][:, None, :]
        self.now[slots] += 1

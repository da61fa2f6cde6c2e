"""One instruction's accesses to shared memory."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tutorlib.simulate.ptx.ir import Instruction

Agent = Literal["thread", "wgmma", "tcgen05", "tcgen05.cp", "TMA"]  # who does it, for the threads that ask for it
Carrier = Literal["TMA", "st.async", "cp.async", "clusterlaunchcontrol"]  # what brings bytes that an mbarrier counts


@dataclass(frozen=True)
class SharedAccess:
    """One instruction's access to shared memory, by its active lanes.

    slots: the block in the batch whose memory it is. threads: each one's thread in the block. starts: addresses.
    width: bytes of each. by: the thread's block, where that is another one of the cluster.
    """

    site: int
    slots: np.ndarray
    threads: np.ndarray
    starts: np.ndarray
    width: int
    by: np.ndarray | None = None
    agent: Agent = "thread"


@dataclass(frozen=True)
class GlobalAccess:
    """An instruction's accesses of `width` bytes at these places in the arena, each by a warp of a block, (n,)."""

    site: int
    instruction: Instruction
    blocks: np.ndarray
    warps: np.ndarray
    places: np.ndarray
    width: int

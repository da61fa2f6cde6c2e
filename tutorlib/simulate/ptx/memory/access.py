"""One instruction's accesses to memory, and generic addresses (PTX ISA, 6.4.1.1).

Global addresses are those of the host, below 2^47; each other space has a window above. In the window of a cluster's
shared memory the block of rank r begins at (r + 1) << PEER_BITS, and each block's own also at 0.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tutorlib.simulate.ptx.ir import Instruction

SHARED = 1 << 56
LOCAL = 1 << 57
PARAM = 1 << 58
WINDOW = {"shared": SHARED, "local": LOCAL, "param": PARAM}
PEER_BITS = 24


Agent = Literal["thread", "wgmma", "tcgen05", "tcgen05.cp", "TMA"]  # who does it, for the threads that ask for it
Carrier = Literal["TMA", "st.async", "cp.async", "clusterlaunchcontrol"]  # what brings bytes that an mbarrier counts


@dataclass(frozen=True)
class LaneAccess:
    """One instruction's access to memory, by its active lanes, (n,): `width` bytes each at these starts."""

    site: int
    lanes: np.ndarray
    starts: np.ndarray
    width: int


@dataclass(frozen=True)
class SharedAccess(LaneAccess):
    """starts: addresses. slots: the block in the batch whose memory it is."""

    slots: np.ndarray
    agent: Agent = "thread"

    def only(self, which: np.ndarray) -> "SharedAccess":
        return replace(self, lanes=self.lanes[which], starts=self.starts[which], slots=self.slots[which])


@dataclass(frozen=True)
class GlobalAccess(LaneAccess):
    """starts: places in the arena."""

    instruction: Instruction

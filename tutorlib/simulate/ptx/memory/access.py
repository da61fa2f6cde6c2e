"""One instruction's accesses to memory."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tutorlib.simulate.ptx.ir import Instruction

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

"""The instructions of the first block's warps, in order: for pictures."""

from dataclasses import dataclass, field

import numpy as np

from tutorlib.simulate.ptx.access_log import NO_ACCESS, AccessLog
from tutorlib.simulate.ptx.facts import Doing, doing
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Instruction

MOST_EVENTS = 2**14  # far more than a picture shows


@dataclass(frozen=True)
class BlockEvent:
    """An instruction as some warps ran it together.

    warps: their numbers. open_groups: of a wait, how many groups may stay open.
    addresses: in shared memory, (threads of the block,), NO_ACCESS for threads that took no part; () where there are
        none. width: bytes of each.
    """

    site: int
    does: Doing
    warps: tuple[int, ...]
    addresses: np.ndarray
    width: int
    open_groups: int = 0


@dataclass
class BlockTrace:
    """warps: of the block. shared_bytes: of the block. events: the first MOST_EVENTS."""

    warps: int
    shared_bytes: int
    events: list[BlockEvent] = field(default_factory=list)

    def note(self, site: int, instruction: Instruction, lanes: np.ndarray, log: AccessLog) -> None:
        """lanes: of the whole batch, that have just run the instruction. log: has their addresses."""
        does = doing(instruction)
        first = lanes[: self.warps * WARP]
        running = first.reshape(-1, WARP).any(1)
        if does is None or not running.any() or len(self.events) == MOST_EVENTS:
            return
        addresses, width = log.latest.get("shared", (np.empty(0, np.int64), 0))
        if len(addresses):
            addresses = np.where(first, addresses[: len(first)], NO_ACCESS)
        still_open = getattr(instruction.operands[0], "text", "0") if does == "wait" and instruction.operands else "0"
        warps = tuple(int(n) for n in np.flatnonzero(running))
        self.events.append(BlockEvent(site, does, warps, addresses, width, int(still_open, 0)))

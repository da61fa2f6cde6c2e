"""setmaxnreg: warps give registers back to their block's pool, and take more from it (PTX ISA, 9.7.19.5)."""

from dataclasses import dataclass

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.unit import Meeting, Waiting

OF_A_MULTIPROCESSOR = 65_536
MOST = 255  # of a thread


@dataclass(frozen=True)
class WaitingForRegisters(Waiting):
    """Lanes of whole warps that wait for this many registers each."""

    count: int


@dataclass
class RegisterPool(Meeting[WaitingForRegisters]):
    """blocks: that an SM is to hold. held: registers of a thread of each warp."""

    blocks: int

    def restart(self) -> None:
        super().restart()
        self.start = min(OF_A_MULTIPROCESSOR // (self.geometry.of_block * self.blocks) // 8 * 8, MOST)
        self.held = np.full((self.geometry.batch, self.geometry.warps), self.start)

    def give(self, lanes: np.ndarray, count: int) -> None:
        """setmaxnreg.dec"""
        slots, warps = self.geometry.warps_of(lanes)
        self.held[slots, warps] = np.minimum(self.held[slots, warps], count)

    def take(self, site: int, lanes: np.ndarray, count: int, then: int | None) -> np.ndarray:
        """setmaxnreg.inc: those of these lanes for which there are enough; the others wait."""
        return self.come(WaitingForRegisters(site, lanes, then, count))

    def serve(self, group: WaitingForRegisters) -> list[WaitingForRegisters]:
        """Block by block: those who get what they ask for, all of a block together."""
        free = []
        of = group.lanes // self.geometry.of_block
        for slot in np.unique(of):
            part = group.only(of == slot)
            _, warps = self.geometry.warps_of(part.lanes)
            after = self.held[slot].copy()
            after[warps] = group.count
            if after.sum() <= self.start * self.geometry.warps:
                self.held[slot] = after
                free.append(part)
            else:
                self.waiting.append(part)
        return free

    def need(self, site: int, slots: np.ndarray, warps: np.ndarray, count: int) -> None:
        """An instruction reserves this many registers of a thread for its results."""
        held = self.held[slots, warps]
        if (few := held < count).any():
            at = int(few.argmax())
            who = self.geometry.show_warp(int(slots[at] * self.geometry.warps + warps[at]))
            says = f"{who} keeps {count} accumulators in a thread's registers, of which setmaxnreg has left it "
            self.notice(Hazard.REGISTERS, site, says + str(held[at]), int(few.sum()))

    def lacking(self, group: WaitingForRegisters) -> str:
        warp = int(group.lanes[0]) // WARP
        rest = self.start * self.geometry.warps - int(self.held[warp // self.geometry.warps].sum())
        return (
            f"{self.geometry.show_warp(warp)} waits forever for {group.count} registers a thread: the block began with "
            f"{self.start} for each of its threads, and {rest * WARP:,} are free"
        )

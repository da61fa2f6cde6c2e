"""setmaxnreg: warps give registers back to their block's pool, and take more from it (PTX ISA, 9.7.19.5)."""

from dataclasses import dataclass, field

import numpy as np

from tutorlib.failure import Hazard
from tutorlib.simulate.ptx.findings import Findings
from tutorlib.simulate.ptx.geometry import WARP, Geometry

OF_A_MULTIPROCESSOR = 65_536
MOST = 255  # of a thread


@dataclass(frozen=True)
class WaitingForRegisters:
    """Lanes of whole warps that wait for this many registers each."""

    site: int
    lanes: np.ndarray
    count: int
    then: int | None


@dataclass
class RegisterPool:
    """blocks: that an SM is to hold. held: registers of a thread of each warp. first: the batch's place."""

    geometry: Geometry
    findings: Findings
    blocks: int
    waiting: list[WaitingForRegisters] = field(default_factory=list)
    first: int = 0

    def __post_init__(self) -> None:
        self.start = min(OF_A_MULTIPROCESSOR // (self.geometry.warps * WARP * self.blocks) // 8 * 8, MOST)
        self.held = np.full((self.geometry.batch, self.geometry.warps), self.start)

    def restart(self, first: int) -> None:
        self.first = first
        self.waiting.clear()
        self.held.fill(self.start)

    def give(self, lanes: np.ndarray, count: int) -> None:
        """setmaxnreg.dec"""
        slots, warps = self.warps_of(lanes)
        self.held[slots, warps] = np.minimum(self.held[slots, warps], count)

    def take(self, site: int, lanes: np.ndarray, count: int, then: int | None) -> np.ndarray:
        """setmaxnreg.inc: those of these lanes for which there are enough; the others wait."""
        group = WaitingForRegisters(site, lanes, count, then)
        return np.concatenate([lanes[:0], *(free.lanes for free in self.serve(group))])

    def serve(self, group: WaitingForRegisters) -> list[WaitingForRegisters]:
        """Block by block: those who get what they ask for, all of a block together."""
        free = []
        of = group.lanes // (self.geometry.warps * WARP)
        for slot in np.unique(of):
            lanes = group.lanes[of == slot]
            _, warps = self.warps_of(lanes)
            after = self.held[slot].copy()
            after[warps] = group.count
            part = WaitingForRegisters(group.site, lanes, group.count, group.then)
            if after.sum() <= self.start * self.geometry.warps:
                self.held[slot] = after
                free.append(part)
            else:
                self.waiting.append(part)
        return free

    def open(self) -> list[WaitingForRegisters]:
        """The lanes that may go on now, which wait no longer."""
        waiting, self.waiting = self.waiting, []
        return [free for group in waiting for free in self.serve(group)]

    def warps_of(self, lanes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        numbers = np.unique(lanes // WARP)
        return numbers // self.geometry.warps, numbers % self.geometry.warps

    def need(self, site: int, slots: np.ndarray, warps: np.ndarray, count: int) -> None:
        """An instruction reserves this many registers of a thread for its results."""
        held = self.held[slots, warps]
        if (held < count).any():
            at = int((held < count).argmax())
            block = self.geometry.show_block(self.first + int(slots[at]))
            self.findings.notice(
                Hazard.REGISTERS,
                site,
                lambda: (
                    f"warp {warps[at]} of block {block} keeps {count} accumulators in a thread's registers, of which "
                    f"setmaxnreg has left it {held[at]}"
                ),
                int((held < count).sum()),
            )

    def report_deadlock(self) -> None:
        """No warp runs any longer, and these still wait."""
        for group in self.waiting:
            slots, warps = self.warps_of(group.lanes)
            slot, whole = int(slots[0]), self.start * self.geometry.warps
            block, rest = self.geometry.show_block(self.first + slot), whole - int(self.held[slot].sum())
            self.findings.notice(
                Hazard.DEADLOCK,
                group.site,
                lambda warp=int(warps[0]), block=block, group=group, rest=rest: (  # type: ignore[misc]
                    f"warp {warp} of block {block} waits forever for {group.count} registers a thread: the block "
                    f"began with {self.start} for each of its threads, and {rest * WARP:,} are free"
                ),
                len(group.lanes),
            )

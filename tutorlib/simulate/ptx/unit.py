"""What every part of the simulator that follows a batch's threads needs to see, how it says what is wrong, and the
places at which lanes wait for others."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np

from tutorlib.dsl.failure import Fault, Hazard
from tutorlib.simulate.ptx.clocks import LaneClocks
from tutorlib.simulate.ptx.findings import Findings
from tutorlib.simulate.ptx.geometry import Geometry


@dataclass(frozen=True)
class Running:
    """A launch that runs. show: a site as "line 12, `…`"."""

    geometry: Geometry
    clocks: LaneClocks
    findings: Findings
    show: Callable[[int], str]


@dataclass
class Unit:
    """Works beside the threads, or follows what they do. Its records are of one batch."""

    running: Running

    def __post_init__(self) -> None:
        self.geometry, self.clocks = self.running.geometry, self.running.clocks
        self.findings, self.show = self.running.findings, self.running.show
        self.restart()

    def restart(self) -> None:
        """Make ready for another batch."""

    def notice(self, fault: Fault | Hazard, site: int, says: str, count: int = 1, apart: object = None) -> None:
        """says: one sentence. count, apart: as in `Findings`."""
        self.findings.notice(fault, site, lambda: says, count, apart)


@dataclass(frozen=True)
class Waiting:
    """then: the block of the program where they go on; None where it ends."""

    site: int
    lanes: np.ndarray
    then: int | None

    def only(self, which: np.ndarray) -> Self:
        return replace(self, lanes=self.lanes[which])

    def some(self, which: np.ndarray) -> list[Self]:
        """Only these of the lanes, if there are any."""
        return [self.only(which)] if which.any() else []


Waiters = TypeVar("Waiters", bound=Waiting)


class Meeting(Unit, ABC, Generic[Waiters]):
    """A place at which threads wait for others. waiting: in the order of their arrival. hazard: waiting forever."""

    hazard: ClassVar[Hazard] = Hazard.DEADLOCK
    waiting: list[Waiters]

    def restart(self) -> None:
        self.waiting = []

    @abstractmethod
    def serve(self, group: Waiters) -> list[Waiters]:
        """Those of a group that may go on; the others are left waiting."""

    def open(self) -> Sequence[Waiters]:
        """Those who wait no longer."""
        waiting, self.waiting = self.waiting, []
        return [free for group in waiting for free in self.serve(group)]

    def come(self, group: Waiters) -> np.ndarray:
        """The lanes of a group that comes that may go on; the others wait."""
        return np.concatenate([group.lanes[:0], *(free.lanes for free in self.serve(group))])

    @abstractmethod
    def lacking(self, group: Waiters) -> str:
        """Why a group waits forever: a sentence."""

    def report_deadlock(self) -> None:
        """No warp runs any longer, and these still wait."""
        for group in self.waiting:
            self.notice(self.hazard, group.site, self.lacking(group), len(group.lanes))

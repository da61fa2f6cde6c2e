"""Lanes that wait at an instruction for something that others do, and the places at which they do."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.unit import Unit


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

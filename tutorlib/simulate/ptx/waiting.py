"""Lanes that wait at an instruction for something that others do."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np


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

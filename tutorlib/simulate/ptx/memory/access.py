"""One instruction's accesses to shared memory."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SharedAccess:
    """What the lanes that take part in one instruction do to shared memory.

    slots, threads: each one's block in the batch and thread in the block. starts: addresses. width: bytes of each.
    """

    site: int
    slots: np.ndarray
    threads: np.ndarray
    starts: np.ndarray
    width: int

"""12.4: the order of the blocks in the reader's whole kernel."""

from typing import TYPE_CHECKING

from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    import numpy as np


class WholeFlaw(FailureKind):
    """What a kernel that gives the right result has left out."""

    RASTER = "blocks in raster order"


def down_the_group(shape: Shape, storers: "np.ndarray") -> str | None:
    """Up to 32 rows of tiles are one group: block 1 has the tile below that of block 0."""
    if (storers == 1).any() and not (storers[:, 0] == 1).any():
        return Flaw(
            "block 1 computes the tile to the right of block 0's: that is raster order. By `in_groups` it computes the "
            "one below.",
            WholeFlaw.RASTER,
        )
    return None

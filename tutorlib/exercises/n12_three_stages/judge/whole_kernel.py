"""12.4: the reader's whole kernel. Its parts were looked at where they were written; here, whether they are in it."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tutorlib.checking.part import Part
from tutorlib.compiling.compiled import Compiled
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    import numpy as np


class WholeFlaw(FailureKind):
    """What a kernel that gives the right result has left out."""

    NO_OVERLAP = "no copies in flight"
    RASTER = "blocks in raster order"


@dataclass(frozen=True, kw_only=True)
class WholeKernel(Part):
    """A GEMM whose loop keeps groups of copies in flight while it multiplies."""

    def lacks(self, compiled: Compiled) -> str:
        allowed = [int(groups) for groups in re.findall(r"cp\.async\.wait_group\s+(\d+)", compiled.ptx)]
        if max(allowed, default=0) > 0:
            return ""
        what = (
            "it compiles, but every wait is cp.async.wait_group 0: no group of copies is in flight while a tile is "
            "multiplied. With three stages or more, `multistage` leaves stages - 2 open."
        )
        return Flaw(what, WholeFlaw.NO_OVERLAP)


def down_the_group(shape: Shape, storers: "np.ndarray") -> str | None:
    """Up to 32 rows of tiles are one group: block 1 has the tile below that of block 0."""
    if (storers == 1).any() and not (storers[:, 0] == 1).any():
        return Flaw(
            "block 1 computes the tile to the right of block 0's: that is raster order. By `in_groups` it computes the "
            "one below.",
            WholeFlaw.RASTER,
        )
    return None

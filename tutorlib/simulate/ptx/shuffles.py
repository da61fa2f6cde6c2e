"""The lane that each lane of a warp takes its value from in a shfl (PTX ISA, 9.7.9.6)."""

import numpy as np

from tutorlib.simulate.ptx.geometry import WARP

LANES = np.arange(WARP)


def source_lanes(mode: str, by: np.ndarray, limits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lanes, and whether each lies in its segment; those that do not give a lane's own value.

    mode: "up", "down", "bfly" or "idx". by, limits: the instruction's b and c, of shapes that broadcast with (…, 32).
    """
    by, last, segment = by & 31, limits & 31, limits >> 8 & 31
    highest = (LANES & segment) | (last & ~segment)
    source = {"up": LANES - by, "down": LANES + by, "bfly": LANES ^ by, "idx": (LANES & segment) | (by & ~segment)}[
        mode
    ]
    inside = source >= highest if mode == "up" else source <= highest
    return np.where(inside, source, LANES) % WARP, inside

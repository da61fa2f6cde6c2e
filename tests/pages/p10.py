"""Page 10: answers that are whole functions, and what rows of p10.txt are made of."""

import math

import cutlass
import numpy as np
from cutlass import cute
from tensor_layouts import Layout

from tests.pages.table import right


@right("10.3")
@cute.jit
def compiled(warps: cutlass.Constexpr, tile_n: cutlass.Constexpr):
    """A @cute.jit function."""
    rest = math.prod((tile_n,)) // (32 * warps)
    return cute.make_layout((2, 4, warps, 4, rest), stride=(1, 8, 32, 2, 32 * warps))


def strides(of_modes):
    """An answer to 10.3 with these strides of the number of warps."""
    return lambda warps, tile_n: cute.make_layout((2, 4, warps, 4, tile_n // (32 * warps)), stride=of_modes(warps))

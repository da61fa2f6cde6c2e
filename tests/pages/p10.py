"""Page 10: answers that are whole functions, and what rows of p10.txt are made of."""

import math

import cutlass
import numpy as np
from cutlass import Float32, cute
from cutlass.cute.nvgpu import warp
from tensor_layouts import Layout

from tests.pages.table import right


@right("10.3")
def whole_tile_at_once(rows, k, stages):
    """No atom: the swizzle over the row-major buffers."""
    rows_of_128_bytes = cute.make_layout((rows, k, stages), stride=(k, 1, rows * k))
    return cute.make_composed_layout(cute.make_swizzle(3 if k == 64 else 2, 3, 3), 0, rows_of_128_bytes)


@right("10.5")
def warps_across_first(config, dtype):
    """Warps numbered along N."""
    m, n = config.warps
    op = warp.MmaF16BF16Op(ab_dtype=dtype, acc_dtype=Float32, shape_mnk=(16, 8, 16))
    return cute.make_tiled_mma(op, cute.make_layout((m, n, 1), stride=(n, 1, 0)), (m * 16, n * 16, 16))


@right("10.6")
@cute.jit
def compiled(warps: cutlass.Constexpr, tile_n: cutlass.Constexpr):
    """A @cute.jit function."""
    rest = math.prod((tile_n,)) // (32 * warps)
    return cute.make_layout((2, 4, warps, 4, rest), stride=(1, 8, 32, 2, 32 * warps))


def blocks(m, n, tile_m, tile_n):
    return -(-m // tile_m) * -(-n // tile_n)


def strides(of_modes):
    """An answer to 10.6 with these strides of the number of warps."""
    return lambda warps, tile_n: cute.make_layout((2, 4, warps, 4, tile_n // (32 * warps)), stride=of_modes(warps))

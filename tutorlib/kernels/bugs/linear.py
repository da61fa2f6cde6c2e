"""y = x · wᵀ + bias in bf16, the forward pass of a linear layer: x (M, K), w (N, K), bias (N), y (M, N)."""

from typing import Any

import cuda.tile as ct

ZERO = ct.PaddingMode.ZERO


@ct.kernel
def linear(x: Any, w: Any, bias: Any, y: Any, T: ct.Constant[int], GROUP: ct.Constant[int]) -> None:
    # GROUP rows of tiles at a time, so that L2 still has their part of x when the next column begins
    rows, columns = ct.num_tiles(y, 0, (T, T)), ct.num_tiles(y, 1, (T, T))
    group, place = ct.bid(0) // (GROUP * columns), ct.bid(0) % (GROUP * columns)
    height = min(rows - group * GROUP, GROUP)
    row, column = group * GROUP + place % height, place // height

    sums = ct.zeros((T, T), ct.float32)
    for step in range(ct.num_tiles(x, 1, (T, T))):
        tile_x = ct.load(x, (row, step), (T, T), padding_mode=ZERO)
        tile_w = ct.load(w, (column, step), (T, T), padding_mode=ZERO)
        sums = ct.mma(tile_x, tile_w, sums)

    tile_bias = ct.load(bias, (column,), (T,), padding_mode=ZERO)
    sums = sums + ct.reshape(tile_bias, (1, T)).astype(ct.float32)
    ct.store(y, (row, column), sums.astype(y.dtype))

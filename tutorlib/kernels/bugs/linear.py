"""y = x · wᵀ in bf16, the forward pass of a linear layer: x (M, K), w (N, K), y (M, N)."""

from typing import Any

import cuda.tile as ct

ZERO = ct.PaddingMode.ZERO


@ct.kernel
def linear(x: Any, w: Any, y: Any, T: ct.Constant[int]) -> None:
    row, column = ct.bid(0), ct.bid(1)
    sums = ct.zeros((T, T), ct.float32)
    for step in range(ct.num_tiles(x, 1, (T, T))):
        tile_x = ct.load(x, (row, step), (T, T), padding_mode=ZERO)
        tile_w = ct.load(w, (column, step), (T, T), padding_mode=ZERO)
        sums = ct.mma(tile_x, tile_w, sums)
    ct.store(y, (row, column), sums.astype(y.dtype))

"""c = a · bᵀ in fp32, for the solver: a (M, K), b (N, K), c (M, N)."""

from typing import Any

import cuda.tile as ct

ZERO = ct.PaddingMode.ZERO


@ct.kernel
def matmul_fp32(a: Any, b: Any, c: Any, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]) -> None:
    row, column = ct.bid(0), ct.bid(1)
    sums = ct.zeros((TM, TN), ct.float32)
    for step in range(ct.num_tiles(a, 1, (TM, TK))):
        tile_a = ct.load(a, (row, step), (TM, TK), padding_mode=ZERO).astype(ct.tfloat32)
        tile_b = ct.load(b, (column, step), (TN, TK), padding_mode=ZERO).astype(ct.tfloat32)
        sums = ct.mma(tile_a, ct.transpose(tile_b), sums)
    ct.store(c, (row, column), sums)

"""What the wrong and right answers to notebook 05 are derived from: its kernels, and what they change there."""

from functools import partial

from tests.pages.change import derive
from tests.pages.changed import right_answers

SOLVED = right_answers("05_copy_kernels")
KERNELS = ("naive_kernel", "coalesced_kernel", "vectorized_kernel", "staged_kernel", "transpose_kernel")

naive, coalesced, vectorized, staged, transposed = (
    partial(derive, SOLVED[f"05.{n}"], within=kernel) for n, kernel in enumerate(KERNELS, 2)
)
swizzled = partial(derive, SOLVED["05.7"])
by_tma = partial(derive, SOLVED["05.8"], within="tma_kernel")
BOTH = "if row < rows and column < columns"
MOVE = "dst[row, column] = src[row, column]"
ISSUE = "    cute.copy(load, loads.partition_S(tile_of_block(src)), loads.partition_D(tile))\n"
OUT = "cute.copy(store, registers, stores.partition_D(tile_of_block(dst)))"
INTO_TILE = "cute.copy(tiled, registers, mine.partition_D(tile))"
FROM_TURNED = "cute.copy(tiled, mine.partition_S(turned), registers)"

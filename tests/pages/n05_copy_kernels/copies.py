"""What the wrong and right answers to notebook 05 change in its kernels."""

from tests.pages.changed import Changed

PAGE = Changed(
    "05_copy_kernels",
    {
        "05.2": "naive_kernel",
        "05.3": "coalesced_kernel",
        "05.4": "vectorized_kernel",
        "05.5": "staged_kernel",
        "05.6": "transpose_kernel",
        "05.8": "tma_kernel",
    },
)
host = PAGE.host
kernel = PAGE.kernel
BOTH = "if row < rows and column < columns"
MOVE = "dst[row, column] = src[row, column]"
ISSUE = "    cute.copy(load, loads.partition_S(tile_of_block(src)), loads.partition_D(tile))\n"
OUT = "cute.copy(store, registers, stores.partition_D(tile_of_block(dst)))"
INTO_TILE = "cute.copy(tiled, registers, mine.partition_D(tile))"
FROM_TURNED = "cute.copy(tiled, mine.partition_S(turned), registers)"

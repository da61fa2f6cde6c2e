"""Transposes of fp32 matrices: straight, or through a tile of shared memory that lies there naively, padded, swizzled.

Each thread moves single elements, 64×64 to a tile: a warp writes half a row of the tile and reads half a column.
"""

from collections.abc import Callable
from typing import Any

import cutlass
from cutlass import cute
from cutlass.memory import SmemAllocator

TILE = 64
THREADS = 256
TURNS = TILE * TILE // THREADS  # elements of a thread


@cute.kernel
def transpose_kernel(src: cute.Tensor, dst: cute.Tensor, layout: cutlass.Constexpr, words: cutlass.Constexpr) -> None:
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    memory = SmemAllocator().allocate_array(src.element_type, words)
    tile = cute.make_tensor(memory, layout())  # (row, column)
    gS = cute.local_tile(src, (TILE, TILE), (down, across))
    gD = cute.local_tile(dst, (TILE, TILE), (across, down))
    for turn in cutlass.range_constexpr(TURNS):
        row, column = (turn * THREADS + thread) // TILE, thread % TILE
        tile[row, column] = gS[row, column]
    cute.arch.sync_threads()
    for turn in cutlass.range_constexpr(TURNS):
        row, column = (turn * THREADS + thread) // TILE, thread % TILE
        gD[row, column] = tile[column, row]


@cute.kernel
def straight_kernel(src: cute.Tensor, dst: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    gS = cute.local_tile(src, (TILE, TILE), (down, across))
    gD = cute.local_tile(dst, (TILE, TILE), (across, down))
    for turn in cutlass.range_constexpr(TURNS):
        row, column = (turn * THREADS + thread) // TILE, thread % TILE
        gD[column, row] = gS[row, column]


def make_transpose(layout: Callable[[], Any], words: int = TILE * TILE) -> Callable[..., None]:
    """The host function transpose(src, dst), for (M, N) and (N, M) of whole tiles.

    layout: makes the tile's layout in shared memory. words: how many elements that layout reaches over.
    """

    @cute.jit
    def transpose(src: cute.Tensor, dst: cute.Tensor) -> None:
        transpose_kernel(src, dst, layout, words).launch(grid=grid_for(src.shape), block=(THREADS, 1, 1))

    return transpose


@cute.jit
def straight(src: cute.Tensor, dst: cute.Tensor) -> None:
    """Without shared memory: reads along rows, writes down columns."""
    straight_kernel(src, dst).launch(grid=grid_for(src.shape), block=(THREADS, 1, 1))


def grid_for(shape: Any) -> tuple[int, int, int]:
    """Raises ValueError, while it is compiled, where the matrix is not made of whole tiles."""
    rows, columns = shape
    if rows % TILE or columns % TILE:
        raise ValueError(f"{rows}×{columns} is not made of {TILE}×{TILE} tiles")
    return columns // TILE, rows // TILE, 1


def naive_tile() -> cute.Layout:
    return cute.make_layout((TILE, TILE), stride=(TILE, 1))


def padded_tile() -> cute.Layout:
    return cute.make_layout((TILE, TILE), stride=(TILE + 1, 1))


def swizzled_tile() -> cute.ComposedLayout:
    return cute.make_composed_layout(cute.make_swizzle(5, 0, 6), 0, naive_tile())


TRANSPOSES = {
    "straight transpose": straight,
    "naive transpose": make_transpose(naive_tile),
    "padded transpose": make_transpose(padded_tile, TILE * (TILE + 1)),
    "swizzled transpose": make_transpose(swizzled_tile),
}

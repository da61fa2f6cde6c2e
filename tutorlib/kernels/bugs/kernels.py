"""Broken kernels in Python. Each section, from its line `# %% name` on, is a source of its own: see `Bug.source`."""

# %% linear
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


# %% scale_rows
"""y = 2 · x for large tensors: x and y (M, N), N a multiple of 4. A thread moves 16 bytes at a time."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

THREADS, VECTOR = 64, 4


@cute.kernel
def scale_rows_kernel(x: cute.Tensor, y: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    wide = cute.make_copy_atom(CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    gX = cute.local_tile(x, (1, VECTOR), (row, None))  # (1, VECTOR, N / VECTOR)
    gY = cute.local_tile(y, (1, VECTOR), (row, None))
    mine = cute.make_rmem_tensor(VECTOR, cutlass.Float32)
    for vector in cutlass.range(t, x.shape[1] // VECTOR, THREADS):
        cute.copy(wide, gX[0, None, vector], mine)
        mine.store(mine.load() * 2.0)
        cute.copy(wide, mine, gY[0, None, vector])


@cute.jit
def scale_rows(x: cute.Tensor, y: cute.Tensor) -> None:
    pitch = cutlass.Int64(x.shape[1])  # a row can begin beyond 2^31 elements
    layout = cute.make_layout(x.shape, stride=(pitch, 1))
    scale_rows_kernel(cute.make_tensor(x.iterator, layout), cute.make_tensor(y.iterator, layout)).launch(
        grid=(x.shape[0], 1, 1), block=(THREADS, 1, 1)
    )


# %% stream
"""y = 2 · x by TMA: x and y (M, N) in fp32, M a multiple of 16, N of 64. Blocks of one warp, each a column of tiles."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync
from cutlass.memory import SmemAllocator

TILE, STAGES, THREADS = (16, 64), 2, 32


@cute.kernel
def stream_kernel(load: cute.CopyAtom, x: cute.Tensor, y: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    across, _, _ = cute.arch.block_idx()
    memory = SmemAllocator()
    layout = cute.make_layout((*TILE, STAGES), stride=(TILE[1], 1, TILE[0] * TILE[1]))
    ring = memory.allocate_tensor(cutlass.Float32, layout, byte_alignment=128)
    full = memory.allocate_array(cutlass.Int64, STAGES)
    gX = cute.local_tile(x, TILE, (None, across))  # (16, 64, tiles)
    gY = cute.local_tile(y, TILE, (None, across))
    to_ring, from_x = cpasync.tma_partition(
        load, 0, cute.make_layout(1), cute.group_modes(ring, 0, 2), cute.group_modes(gX, 0, 2)
    )
    tiles = cute.size(gX, mode=[2])
    stage_bytes = cute.size_in_bytes(cutlass.Float32, layout) // STAGES

    with cute.arch.elect_one():
        for stage in cutlass.range_constexpr(STAGES):
            cute.arch.mbarrier_init(full + stage, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_warp()

    for tile in cutlass.range_constexpr(STAGES):
        if tile < tiles:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full + tile, stage_bytes)
            cute.copy(load, from_x[None, tile], to_ring[None, tile], tma_bar_ptr=full + tile)

    for tile in cutlass.range(tiles, unroll=1):
        stage = tile % STAGES
        cute.arch.mbarrier_wait(full + stage, tile % 2)
        for i in cutlass.range(t, TILE[0] * TILE[1], THREADS):
            row, column = i // TILE[1], i % TILE[1]
            gY[row, column, tile] = ring[row, column, stage] * 2.0
        cute.arch.sync_warp()
        if tile + STAGES < tiles:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full + stage, stage_bytes)
            cute.copy(load, from_x[None, tile + STAGES], to_ring[None, stage], tma_bar_ptr=full + stage)


@cute.jit
def stream(x: cute.Tensor, y: cute.Tensor) -> None:
    box = cute.make_layout(TILE, stride=(TILE[1], 1))
    load, tma_x = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, box, TILE)
    stream_kernel(load, tma_x, y).launch(grid=(x.shape[1] // TILE[1], 1, 1), block=(THREADS, 1, 1))

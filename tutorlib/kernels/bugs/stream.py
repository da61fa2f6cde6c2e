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

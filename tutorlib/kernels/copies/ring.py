"""A copy by TMA that keeps several tiles in flight in each block: notebook 05's rung 7 with a ring of stages."""

from collections.abc import Callable
from dataclasses import dataclass

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync
from cutlass.memory import SmemAllocator

EVICT_FIRST = 0x12F0000000000000  # createpolicy's fractional L2::evict_first, as CUTLASS has it


@dataclass(frozen=True)
class RingConfig:
    """tile: rows, columns of a stage. stages: of a block's ring, 2 at least. blocks: launched; each goes on to the
    tile that lies so many further. evict_first: whether L2 is told that nothing of it will be needed again.
    """

    blocks: int
    tile: tuple[int, int] = (64, 128)
    stages: int = 4
    evict_first: bool = False

    def smem_bytes(self, element_bytes: int) -> int:
        return self.stages * (self.tile[0] * self.tile[1] * element_bytes + 8)


def tma_hint(config: RingConfig) -> dict[str, cutlass.Int64]:
    """A TMA copy's configuration."""
    return {"cache_policy": cutlass.Int64(EVICT_FIRST)} if config.evict_first else {}


@cute.jit
def fetch(
    i: cutlass.Int32,
    load: cute.CopyAtom,
    from_src: cute.Tensor,
    to_ring: cute.Tensor,
    full: cute.Pointer,
    first: cutlass.Int32,
    stage_bytes: cutlass.Constexpr,
    config: cutlass.Constexpr,
) -> None:
    """Issue the load of this block's i-th tile into its stage."""
    tile, stage = first + i * config.blocks, i % config.stages
    across = cute.size(from_src, mode=[2])
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(full + stage, stage_bytes)
    place = from_src[None, tile // across, tile % across]
    cute.copy(load, place, to_ring[None, stage], tma_bar_ptr=full + stage, **tma_hint(config))


@cute.kernel
def ring_kernel(
    load: cute.CopyAtom,
    src: cute.Tensor,
    store: cute.CopyAtom,
    dst: cute.Tensor,
    ring_layout: cute.Layout,
    dtype: cutlass.Constexpr,
    config: cutlass.Constexpr,
) -> None:
    """One warp. The stage of tile i is i % stages; its phase flips each time that the ring has gone round."""
    first, _, _ = cute.arch.block_idx()
    memory = SmemAllocator()
    ring = memory.allocate_tensor(dtype, ring_layout, byte_alignment=128)  # (rows, columns, stages)
    full = memory.allocate_array(cutlass.Int64, config.stages)

    def partition(atom: cute.CopyAtom, matrix: cute.Tensor) -> tuple[cute.Tensor, cute.Tensor]:
        """The ring (TMA, stages) and the matrix (TMA, down, across)."""
        tiles = cute.local_tile(matrix, config.tile, (None, None))  # (rows, columns, down, across)
        return cpasync.tma_partition(
            atom, 0, cute.make_layout(1), cute.group_modes(ring, 0, 2), cute.group_modes(tiles, 0, 2)
        )

    to_ring, from_src = partition(load, src)
    from_ring, to_dst = partition(store, dst)
    across = cute.size(from_src, mode=[2])
    tiles = cute.size(from_src, mode=[1]) * across
    mine = (tiles - first + config.blocks - 1) // config.blocks
    stage_bytes = cute.size_in_bytes(dtype, ring_layout) // config.stages
    with cute.arch.elect_one():
        for stage in cutlass.range_constexpr(config.stages):
            cute.arch.mbarrier_init(full + stage, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_warp()
    for i in cutlass.range_constexpr(config.stages - 1):
        if i < mine:
            fetch(i, load, from_src, to_ring, full, first, stage_bytes, config)
    for i in cutlass.range(mine, unroll=1):
        tile, stage = first + i * config.blocks, i % config.stages
        cute.arch.mbarrier_wait(full + stage, (i // config.stages) % 2)
        cute.copy(store, from_ring[None, stage], to_dst[None, tile // across, tile % across], **tma_hint(config))
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(1, read=True)  # the store of tile i - 1 has left its stage
        if i + config.stages - 1 < mine:
            fetch(i + config.stages - 1, load, from_src, to_ring, full, first, stage_bytes, config)
    cute.arch.cp_async_bulk_wait_group(0, read=True)


def make_ring_copy(config: RingConfig) -> Callable[..., None]:
    """The host function copy(src, dst), for row-major matrices whose rows begin at multiples of 16 bytes."""

    @cute.jit
    def copy(src: cute.Tensor, dst: cute.Tensor) -> None:
        dtype, tile = src.element_type, config.tile
        tile_layout = cute.make_layout(tile, stride=(tile[1], 1))
        ring_layout = cute.make_layout((*tile, config.stages), stride=(tile[1], 1, tile[0] * tile[1]))
        load, tma_src = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), src, tile_layout, tile)
        store, tma_dst = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), dst, tile_layout, tile)
        ring_kernel(load, tma_src, store, tma_dst, ring_layout, dtype, config).launch(
            grid=(config.blocks, 1, 1), block=(32, 1, 1)
        )

    return copy

"""A copy one element at a time whose loads and stores each run down a column or along a row: which of them is dear?

Where they differ, the tile is turned in shared memory, in padded rows that no access has bank conflicts with.
"""

from collections.abc import Callable
from typing import Literal

from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp
from cutlass.memory import SmemAllocator

Direction = Literal["down", "along"]  # how the threads of a warp lie in the matrix

TILE = (128, 64)
THREADS = 128
PITCH = TILE[1] + 2  # elements from row to row in shared memory: 33 words of bf16


def one_each(direction: Direction, atom: cute.CopyAtom) -> cute.TiledCopy:
    """An element a thread, the threads in this direction."""
    shape = (THREADS, 1) if direction == "down" else (THREADS // TILE[1], TILE[1])
    return cute.make_tiled_copy_tv(atom, cute.make_ordered_layout(shape, order=(1, 0)), cute.make_layout((1, 1)))


@cute.kernel
def directed_kernel(src: cute.Tensor, dst: cute.Tensor, load: cute.TiledCopy, store: cute.TiledCopy) -> None:
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    padded = cute.make_layout(TILE, stride=(PITCH, 1))
    tile = SmemAllocator().allocate_tensor(src.element_type, padded, byte_alignment=128)
    loads, stores = load.get_slice(thread), store.get_slice(thread)
    from_src = loads.partition_S(cute.local_tile(src, TILE, (down, across)))
    fetched = cute.make_fragment_like(from_src)
    cute.copy(load, from_src, fetched)
    cute.copy(load, fetched, loads.partition_D(tile))
    cute.arch.sync_threads()
    from_tile = stores.partition_S(tile)
    leaving = cute.make_fragment_like(from_tile)
    cute.copy(store, from_tile, leaving)
    cute.copy(store, leaving, stores.partition_D(cute.local_tile(dst, TILE, (down, across))))


def make_directed_copy(loads: Direction, stores: Direction) -> Callable[..., None]:
    """The host function copy(src, dst), for row-major bf16 matrices that are made of 128×64 tiles."""

    @cute.jit
    def copy(src: cute.Tensor, dst: cute.Tensor) -> None:
        atom = cute.make_copy_atom(CopyUniversalOp(), src.element_type, num_bits_per_copy=src.element_type.width)
        rows, columns = cute.size(src, mode=[0]), cute.size(src, mode=[1])
        grid = (columns // TILE[1], rows // TILE[0], 1)
        directed_kernel(src, dst, one_each(loads, atom), one_each(stores, atom)).launch(
            grid=grid, block=(THREADS, 1, 1)
        )

    return copy

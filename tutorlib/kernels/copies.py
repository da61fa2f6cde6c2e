"""Copy kernels with one thing changed at a time, which notebook 05's sweeps compare."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp
from cutlass.memory import SmemAllocator


@dataclass(frozen=True)
class CopyConfig:
    """A copy through registers: a block has a tile of both matrices, in row-major order.

    tile: rows, columns. threads: of a block; they lie along a row, then down. vector: elements of an access, in a row.
    loads_first: whether a thread issues all its loads before its first store, or one after the other.
    down: threads lie down a column, each with a row of the tile.
    """

    tile: tuple[int, int] = (128, 64)
    threads: int = 128
    vector: int = 8
    loads_first: bool = True
    down: bool = False

    @property
    def side_by_side(self) -> int:
        """Threads along a row of the tile."""
        return 1 if self.down else min(self.tile[1] // self.vector, self.threads)

    @property
    def shares(self) -> int:
        """Vectors of a thread."""
        return self.tile[0] * self.tile[1] // (self.vector * self.threads)


@cute.kernel
def copy_kernel(src: cute.Tensor, dst: cute.Tensor, tiled: cute.TiledCopy, config: cutlass.Constexpr) -> None:
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    from_src = tiled.get_slice(thread).partition_S(cute.local_tile(src, config.tile, (down, across)))  # (V, M, N)
    to_dst = tiled.get_slice(thread).partition_D(cute.local_tile(dst, config.tile, (down, across)))
    registers = cute.make_fragment_like(from_src)
    if cutlass.const_expr(config.loads_first):
        cute.copy(tiled, from_src, registers)
        cute.copy(tiled, registers, to_dst)
    else:
        for m in cutlass.range(cute.size(from_src, mode=[1]), unroll_full=True):
            for n in cutlass.range(cute.size(from_src, mode=[2]), unroll_full=True):
                cute.copy(tiled, from_src[None, m, n], registers[None, m, n])
                cute.copy(tiled, registers[None, m, n], to_dst[None, m, n])


def make_copy(config: CopyConfig) -> Callable[..., None]:
    """The host function copy(src, dst), for row-major matrices that are made of whole tiles."""

    @cute.jit
    def copy(src: cute.Tensor, dst: cute.Tensor) -> None:
        lanes = config.side_by_side
        threads = cute.make_ordered_layout((config.threads // lanes, lanes), order=(1, 0))
        values = cute.make_ordered_layout((1, config.vector), order=(1, 0))
        bits = config.vector * src.element_type.width
        atom = cute.make_copy_atom(CopyUniversalOp(), src.element_type, num_bits_per_copy=bits)
        tiled = cute.make_tiled_copy_tv(atom, threads, values)
        rows, columns = cute.size(src, mode=[0]), cute.size(src, mode=[1])
        grid = (columns // config.tile[1], rows // config.tile[0], 1)
        copy_kernel(src, dst, tiled, config).launch(grid=grid, block=(config.threads, 1, 1))

    return copy


# Loads and stores that each run down a column or along a row: which of them is expensive? --------------------------

Direction = Literal["down", "along"]  # how the threads of a warp lie in the matrix

TILE = (128, 64)
THREADS = 128
PITCH = TILE[1] + 2  # elements from row to row in shared memory: 33 words of bf16, so no bank conflicts


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

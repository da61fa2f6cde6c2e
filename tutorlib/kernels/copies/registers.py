"""A copy through registers, as a CopyConfig says: notebook 05's rungs 2 and 3 and all that lies between them."""

from collections.abc import Callable

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import (
    CacheEvictionPriority,
    CopyG2ROp,
    CopyR2GOp,
    CopyUniversalOp,
    LoadCacheMode,
    StoreCacheMode,
)

from tutorlib.kernels.copies.config import CopyConfig, Hint


def load_atom(dtype: type[cutlass.Numeric], bits: int, hint: Hint) -> cute.CopyAtom:
    match hint:
        case "no L1":
            return cute.make_copy_atom(
                CopyG2ROp(), dtype, num_bits_per_copy=bits, l1c_evict_priority=CacheEvictionPriority.NO_ALLOCATE
            )
        case "streaming":
            return cute.make_copy_atom(
                CopyG2ROp(), dtype, num_bits_per_copy=bits, load_cache_mode=LoadCacheMode.STREAMING
            )
    return cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=bits)


def store_atom(dtype: type[cutlass.Numeric], bits: int, hint: Hint) -> cute.CopyAtom:
    match hint:
        case "no L1":
            return cute.make_copy_atom(
                CopyR2GOp(), dtype, num_bits_per_copy=bits, l1c_evict_priority=CacheEvictionPriority.NO_ALLOCATE
            )
        case "streaming":
            return cute.make_copy_atom(
                CopyR2GOp(), dtype, num_bits_per_copy=bits, store_cache_mode=StoreCacheMode.STREAMING
            )
    return cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=bits)


@cute.kernel
def copy_kernel(
    src: cute.Tensor, dst: cute.Tensor, load: cute.TiledCopy, store: cute.TiledCopy, config: cutlass.Constexpr
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    from_src = load.get_slice(thread).partition_S(cute.local_tile(src, config.tile, (down, across)))  # (V, M, N)
    to_dst = store.get_slice(thread).partition_D(cute.local_tile(dst, config.tile, (down, across)))
    registers = cute.make_fragment_like(from_src)
    if cutlass.const_expr(config.loads_first):
        cute.copy(load, from_src, registers)
        cute.copy(store, registers, to_dst)
    else:
        for m in cutlass.range(cute.size(from_src, mode=[1]), unroll_full=True):
            for n in cutlass.range(cute.size(from_src, mode=[2]), unroll_full=True):
                cute.copy(load, from_src[None, m, n], registers[None, m, n])
                cute.copy(store, registers[None, m, n], to_dst[None, m, n])


def make_copy(config: CopyConfig) -> Callable[..., None]:
    """The host function copy(src, dst), for row-major matrices that are made of whole tiles."""

    @cute.jit
    def copy(src: cute.Tensor, dst: cute.Tensor) -> None:
        bits = config.vector * src.element_type.width
        lanes = config.side_by_side
        threads = cute.make_ordered_layout((config.threads // lanes, lanes), order=(1, 0))
        values = cute.make_ordered_layout((1, config.vector), order=(1, 0))
        load = cute.make_tiled_copy_tv(load_atom(src.element_type, bits, config.loads), threads, values)
        store = cute.make_tiled_copy_tv(store_atom(src.element_type, bits, config.stores), threads, values)
        rows, columns = cute.size(src, mode=[0]), cute.size(src, mode=[1])
        grid = (columns // config.tile[1], rows // config.tile[0], 1)
        copy_kernel(src, dst, load, store, config).launch(grid=grid, block=(config.threads, 1, 1))

    return copy

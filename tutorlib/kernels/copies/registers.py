"""A copy through registers, as a CopyConfig says: notebook 05's rungs 2 and 3 and all that lies between them."""

from collections.abc import Callable
from functools import partial
from typing import Any

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


def hinted_atom(dtype: type[cutlass.Numeric], bits: int, op: Any, hint: Hint, **streaming: Any) -> cute.CopyAtom:
    """op: what takes a hint. streaming: the argument that says "streaming" to it."""
    if not hint:
        return cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=bits)
    told = {"l1c_evict_priority": CacheEvictionPriority.NO_ALLOCATE} if hint == "no L1" else streaming
    return cute.make_copy_atom(op, dtype, num_bits_per_copy=bits, **told)


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
        atom = partial(hinted_atom, src.element_type, bits)
        loads = atom(CopyG2ROp(), config.loads, load_cache_mode=LoadCacheMode.STREAMING)
        stores = atom(CopyR2GOp(), config.stores, store_cache_mode=StoreCacheMode.STREAMING)
        load = cute.make_tiled_copy_tv(loads, threads, values)
        store = cute.make_tiled_copy_tv(stores, threads, values)
        rows, columns = cute.size(src, mode=[0]), cute.size(src, mode=[1])
        grid = (columns // config.tile[1], rows // config.tile[0], 1)
        copy_kernel(src, dst, load, store, config).launch(grid=grid, block=(config.threads, 1, 1))

    return copy

"""A copy through registers, as a CopyConfig says: notebook 05's rungs 2 and 3 and all that lies between them."""

from collections.abc import Callable

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from tutorlib.kernels.copies.config import CopyConfig


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

"""Notebook 04's copy: an element a thread, the threads of a warp along a row (coalesced) or down a column."""

from collections.abc import Callable

from cutlass import Constexpr, const_expr, cute

BLOCK = (32, 8, 1)  # threads in x, y, z; a warp has one y


@cute.kernel
def element_kernel(src: cute.Tensor, dst: cute.Tensor, along_rows: Constexpr) -> None:
    thread_x, thread_y, _ = cute.arch.thread_idx()
    block_x, block_y, _ = cute.arch.block_idx()
    i, j = block_y * BLOCK[1] + thread_y, block_x * BLOCK[0] + thread_x
    m, n = (i, j) if const_expr(along_rows) else (j, i)
    dst[m, n] = src[m, n]


def make_element_copy(along_rows: bool) -> Callable[..., None]:
    """The host function copy(src, dst), for row-major matrices whose rows and columns are multiples of 32."""

    @cute.jit
    def copy(src: cute.Tensor, dst: cute.Tensor) -> None:
        rows, columns = cute.size(src, mode=[0]), cute.size(src, mode=[1])
        slow, fast = (rows, columns) if const_expr(along_rows) else (columns, rows)
        element_kernel(src, dst, along_rows).launch(grid=(fast // BLOCK[0], slow // BLOCK[1], 1), block=BLOCK)

    return copy

"""Two kernels in a row, y = max(x, 0) · w: the second may start before the first has ended (notebook 20)."""

from typing import Any

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def positive_kernel(x: Any, y: Any) -> None:
    """A thread has a column."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    cute.arch.griddepcontrol_launch_dependents()
    column = block * THREADS + thread
    for row in cutlass.range_constexpr(x.shape[0]):
        y[row, column] = cute.arch.fmax(x[row, column], 0.0)


def launch_pair(x: Any, w: Any, y: Any, scale_kernel: Any, pdl: bool = True, **stream: Any) -> None:
    """scale_kernel: multiplies y by w. stream: of that name, if it is not the default one."""
    size = {"grid": (x.shape[1] // THREADS, 1, 1), "block": (THREADS, 1, 1)}
    positive_kernel(x, y).launch(**size, **stream)
    scale_kernel(w, y).launch(**size, **stream, use_pdl=pdl)

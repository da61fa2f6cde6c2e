"""Instructions that the CuTe DSL has no function for."""

from cutlass._mlir.dialects import nvvm


def fence_before() -> None:
    """tcgen05.fence::before_thread_sync: accesses to tensor memory above it precede an arrival or barrier below it."""
    nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.BEFORE_THREAD_SYNC)


def fence_after() -> None:
    """tcgen05.fence::after_thread_sync: accesses to tensor memory below it follow a wait or barrier above it."""
    nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.AFTER_THREAD_SYNC)

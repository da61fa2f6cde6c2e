"""Instructions that the CuTe DSL has no function for."""

from cutlass._mlir.dialects import nvvm


def fence_after() -> None:
    """tcgen05.fence::after_thread_sync: what follows touches tensor memory only after the wait before it."""
    nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.AFTER_THREAD_SYNC)

"""For callers who count what a kernel does beyond what findings need: `with listening(Counts): simulate(…)`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from tutorlib.simulate.ptx.ir import Kernel
from tutorlib.simulate.ptx.memory import AsyncCopies, SharedAccess, Touched
from tutorlib.simulate.ptx.unit import Running


class Listener:
    """Hears of one launch. piece, pieces: bytes of global memory that are watched together, and how many there are.

    again: of each piece, whether the same warp has read it since it was written, or the same block stored it last.
    owners: the number + 1 of each piece's block that accesses it.
    """

    def __init__(self, running: Running, copies: AsyncCopies, piece: int, pieces: int) -> None:
        pass

    def restart(self) -> None:
        """Another batch of blocks begins."""

    def on_shared_read(self, access: SharedAccess, again: np.ndarray) -> None:
        pass

    def on_load(self, touched: Touched, owners: np.ndarray) -> None:
        pass

    def on_store(self, touched: Touched, owners: np.ndarray, again: np.ndarray) -> None:
        pass

    def on_bulk_load(self, slot: int, mbarrier: int, phase: int) -> None:
        """Bytes for a block's shared memory, which this phase of an mbarrier counts."""

    def fields(self, kernel: Kernel, runs: Sequence[int], registers: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Of the report. runs: by how many warps each instruction was issued. registers: by name, after the launch."""
        return {}


MakeListener = Callable[[Running, AsyncCopies, int, int], Listener]
MAKE: ContextVar[MakeListener] = ContextVar("listener", default=Listener)


@contextmanager
def listening(make: MakeListener) -> Iterator[None]:
    """One listener for each launch that is simulated meanwhile."""
    token = MAKE.set(make)
    try:
        yield
    finally:
        MAKE.reset(token)

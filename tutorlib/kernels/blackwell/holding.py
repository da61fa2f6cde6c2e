"""A block's tensor memory, allocated and freed around the roles' work."""

from dataclasses import dataclass
from typing import Any

import cutlass
from cutlass import Float32, Int32, cute

from tutorlib.kernels.blackwell.config import MMA_WARP, BlackwellConfig

TMEM_ALIGNMENT = 16  # bytes; an allocation begins at a column


@cute.jit
def meet(config: cutlass.Constexpr) -> None:
    """A barrier for all threads of the block, or of the cluster."""
    if cutlass.const_expr(config.blocks > 1):
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
    else:
        cute.arch.sync_threads()


@dataclass(frozen=True)
class Holding:
    """A block's tensor memory, as one of its warps sees it.

    warp: its number, 0 to 5. columns: to allocate. address: 4 bytes of shared memory that alloc_tmem writes.
    crew: runs the roles, given a pointer to the accumulators.
    """

    config: BlackwellConfig
    warp: Int32
    address: cute.Pointer
    crew: Any

    @property
    def columns(self) -> int:
        return self.config.columns

    @property
    def pair(self) -> bool:
        """Whether two blocks allocate together, each in its own tensor memory."""
        return self.config.pair

    def meet(self) -> None:
        """Wait for all warps of the block, of both blocks in a pair."""
        meet(self.config)

    def pointer(self) -> cute.Pointer:
        """The first column's address, as alloc_tmem wrote it."""
        return cute.arch.retrieve_tmem_ptr(Float32, TMEM_ALIGNMENT, self.address)

    def work(self, acc: cute.Pointer) -> None:
        """All tiles of this block, in the role that this warp has."""
        self.crew.work(acc)


@cute.jit
def hold(holding: Holding) -> None:
    """One warp allocates before the work, and frees after it."""
    if holding.warp == MMA_WARP:
        cute.arch.alloc_tmem(holding.columns, holding.address, holding.pair)
        cute.arch.relinquish_tmem_alloc_permit(holding.pair)
    holding.meet()
    acc = holding.pointer()
    holding.work(acc)
    holding.meet()
    if holding.warp == MMA_WARP:
        cute.arch.dealloc_tmem(acc, holding.columns, holding.pair)

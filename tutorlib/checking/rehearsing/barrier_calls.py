"""`cute.arch`'s functions on mbarriers, as a rehearsed loop calls them."""

from dataclasses import dataclass, replace
from typing import Any

from tutorlib.checking.rehearsing.call_site import calling_line, existing
from tutorlib.checking.rehearsing.mbarrier import MBarrier


@dataclass(frozen=True)
class BarrierPointer:
    """A pointer to one kind of mbarriers, `full + stage`: to those of one block of a cluster.

    everywhere: those of each block. of: what there is one for, as words after their number.
    """

    everywhere: list[list[MBarrier]]
    block: int = 0
    of: str = ""
    offset: int = 0

    def __add__(self, at: Any) -> "BarrierPointer":
        return replace(self, offset=self.offset + int(at))

    def in_block(self, block: int) -> MBarrier:
        mine = self.everywhere[block]
        said = f"{calling_line()}: {mine[0].kind} + {self.offset}"
        return mine[existing(self.offset, len(mine), said, f"{len(mine)}{self.of}")]

    @property
    def here(self) -> MBarrier:
        return self.in_block(self.block)


class MBarrierCalls:
    """Methods with the parameters of `cute.arch`'s functions; they end in five instructions of the machine."""

    def arrive(self, barrier: MBarrier, times: Any = 1, expected: Any = None) -> None:
        """expected: bytes that each thread announces, or None."""
        raise NotImplementedError

    def expect(self, barrier: MBarrier, number: Any) -> None:
        raise NotImplementedError

    def wait(self, barrier: MBarrier, phase: Any) -> None:
        raise NotImplementedError

    def try_wait(self, barrier: MBarrier, phase: Any) -> bool:
        raise NotImplementedError

    def pointed_at(self, pointer: BarrierPointer, peer: Any) -> MBarrier:
        """peer: a block of the cluster, by its rank; None: one's own."""
        return pointer.here if peer is None else pointer.in_block(int(peer))

    def mbarrier_arrive(
        self, mbar_ptr: Any, peer_cta_rank_in_cluster: Any = None, arrive_count: Any = 1, **hints: Any
    ) -> None:
        self.arrive(self.pointed_at(mbar_ptr, peer_cta_rank_in_cluster), arrive_count)

    def mbarrier_arrive_and_expect_tx(
        self, mbar_ptr: Any, bytes: Any, peer_cta_rank_in_cluster: Any = None, *hints: Any, **more_hints: Any
    ) -> None:
        self.arrive(self.pointed_at(mbar_ptr, peer_cta_rank_in_cluster), expected=bytes)

    def mbarrier_expect_tx(self, mbar_ptr: Any, bytes: Any, peer_cta_rank_in_cluster: Any = None, **hints: Any) -> None:
        self.expect(self.pointed_at(mbar_ptr, peer_cta_rank_in_cluster), bytes)

    def mbarrier_wait(self, mbar_ptr: BarrierPointer, phase: Any) -> None:
        self.wait(mbar_ptr.here, phase)

    def mbarrier_try_wait(self, mbar_ptr: BarrierPointer, phase: Any) -> bool:
        return self.try_wait(mbar_ptr.here, phase)

    def mbarrier_conditional_try_wait(self, cond: Any, mbar_ptr: BarrierPointer, phase: Any) -> bool:
        return not cond or self.mbarrier_try_wait(mbar_ptr, phase)

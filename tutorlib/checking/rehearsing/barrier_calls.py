"""What a loop calls of `cute.arch` to have mbarriers, while it is rehearsed."""

from collections.abc import Callable
from typing import Any, Protocol

from tutorlib.checking.rehearsing.mbarrier import MBarrier


class BarrierPointer(Protocol):
    """A pointer to an mbarrier, as a loop has it."""

    @property
    def here(self) -> MBarrier:
        """Where it points to, in the block of who has it."""


class PlayWithBarriers(Protocol):
    """What calls to mbarriers ask of a play, besides `Play`'s own."""

    def arrive(self, barrier: MBarrier, count: Any = 1, expected: Any = 0) -> None: ...

    def expect(self, barrier: MBarrier, bytes: Any) -> None: ...

    def wait(self, barrier: MBarrier, phase: Any) -> None: ...

    def try_wait(self, barrier: MBarrier, phase: Any) -> bool: ...

    def elect_one(self) -> Any: ...


def mbarrier_calls(play: PlayWithBarriers, in_block: Callable[[Any, Any], MBarrier]) -> dict[str, Callable[..., Any]]:
    """What takes the place of `cute.arch`'s functions that a loop over mbarriers calls, by their names.

    in_block: the barrier that a pointer names in a block of the cluster, by its rank; None: in one's own.
    """

    def arrive(mbar_ptr: Any, peer_cta_rank_in_cluster: Any = None, arrive_count: Any = 1, **hints: Any) -> None:
        play.arrive(in_block(mbar_ptr, peer_cta_rank_in_cluster), arrive_count)

    def arrive_and_expect(
        mbar_ptr: Any, bytes: Any, peer_cta_rank_in_cluster: Any = None, *hints: Any, **more_hints: Any
    ) -> None:
        play.arrive(in_block(mbar_ptr, peer_cta_rank_in_cluster), expected=bytes)

    def expect(mbar_ptr: Any, bytes: Any, peer_cta_rank_in_cluster: Any = None, **hints: Any) -> None:
        play.expect(in_block(mbar_ptr, peer_cta_rank_in_cluster), bytes)

    def wait(mbar_ptr: BarrierPointer, phase: Any) -> None:
        play.wait(mbar_ptr.here, phase)

    def try_wait(mbar_ptr: BarrierPointer, phase: Any) -> bool:
        return play.try_wait(mbar_ptr.here, phase)

    def conditional_try_wait(cond: Any, mbar_ptr: BarrierPointer, phase: Any) -> bool:
        return not cond or try_wait(mbar_ptr, phase)

    def nothing(*args: Any, **hints: Any) -> None:
        pass

    return {
        "mbarrier_wait": wait,
        "mbarrier_try_wait": try_wait,
        "mbarrier_test_wait": try_wait,
        "mbarrier_conditional_try_wait": conditional_try_wait,
        "mbarrier_arrive": arrive,
        "mbarrier_arrive_and_expect_tx": arrive_and_expect,
        "mbarrier_expect_tx": expect,
        "elect_one": play.elect_one,
        "sync_warp": nothing,
        "make_warp_uniform": lambda value: value,
    }

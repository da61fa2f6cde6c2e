"""What the blocks of a traced Hopper kernel wrote down, made small enough to keep."""

from typing import TYPE_CHECKING, Any

from tutorlib.kernels.hopper.timeline import Did, read, summary

if TYPE_CHECKING:
    from torch import Tensor

BLOCKS = 16  # of the first ones, whose medians stand for all
ITEM = 1  # the second tile of a block: all stages are in use by then


def cycles_of(events: "Tensor") -> dict[str, int]:
    """Medians in SM cycles: of a K tile, a wait for a full stage, an epilogue, …; and the clock in MHz.

    events: (blocks, roles, EVENTS, 4) on the GPU, as `timeline.read` takes them.
    """
    return {name: round(value) for name, value in summary(read(events[:BLOCKS].cpu())).items()}


def block_of(events: "Tensor", k_tiles: int, producer: bool) -> dict[str, list[list[Any]]]:
    """What the first block did around the end of its second tile, for about so many K tiles' time.

    Role → [what, K tile or item, SM cycles since the first of all], in order. producer: the last role only loads.
    """
    found = read(events[:1].cpu())
    end = next(event for event in found if event.did == Did.STORE and event.number == ITEM)
    reach = k_tiles / 2 * cycles_of(events[:1])["per K tile"]
    near = [event for event in found if abs(since(end.clock, event.clock)) <= reach]
    first = min((since(end.clock, event.clock) for event in near), default=0)
    last_role = events.shape[1] - 1
    return {
        "producer" if producer and role == last_role else f"warpgroup {role}": [
            [event.did.name, event.number, since(end.clock, event.clock) - first]
            for event in near
            if event.role == role
        ]
        for role in range(last_role + 1)
    }


def since(start: int, now: int) -> int:
    """Cycles from one reading of a 32-bit clock to another, which may also be the earlier one."""
    return (now - start + 2**31) % 2**32 - 2**31

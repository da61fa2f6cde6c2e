"""Timestamps of a traced Hopper kernel's blocks, reduced for a file."""

from typing import Any

from torch import Tensor

from tutorlib.kernels.hopper.timeline import Did, read, summary

BLOCKS = 16  # of the first ones, whose medians stand for all
UNDER_WAY = 4  # stamps before a window that tell what was going on when it began
ITEM = 1  # the second tile of a block: all stages are in use by then


def cycles_of(events: Tensor) -> dict[str, int]:
    """Medians in SM cycles: of a K tile, a wait for a full stage, an epilogue, …; and the clock in MHz.

    events: (blocks, roles, EVENTS, 4) on the GPU, as `timeline.read` takes them.
    """
    return {name: round(value) for name, value in summary(read(events[:BLOCKS].cpu())).items()}


def block_of(events: Tensor, window: int, producer: bool) -> dict[str, list[list[Any]]]:
    """The first block's events in a window of `window` SM cycles around the end of its second tile.

    Role → [what, K tile or item, SM cycles since the window's begin], in order, with the last stamps before the window
    and the first after it. producer: the last role only loads.
    """
    found = read(events[:1].cpu())
    end = next(event for event in found if event.did == Did.STORE and event.number == ITEM)
    begin = end.clock - window // 2
    last_role = events.shape[1] - 1
    kept: dict[str, list[list[Any]]] = {}
    for role in range(last_role + 1):
        rows = [(event.did.name, event.number, since(begin, event.clock)) for event in found if event.role == role]
        inside = [n for n, row in enumerate(rows) if 0 <= row[2] <= window]
        name = "producer" if producer and role == last_role else f"warpgroup {role}"
        kept[name] = [list(row) for row in rows[max(0, inside[0] - UNDER_WAY) : inside[-1] + 2]] if inside else []
    return kept


def since(start: int, now: int) -> int:
    """Cycles from one reading of a 32-bit clock to another, which may also be the earlier one."""
    return (now - start + 2**31) % 2**32 - 2**31

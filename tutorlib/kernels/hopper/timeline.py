"""When each role of each block did what: stamps from inside the kernel, and what they add up to."""

from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

import cutlass
from cutlass import Int32, cute
from cutlass.memory import SmemAllocator

EVENTS = 1_024  # that each role of a block can write down; later ones are lost


class Did(IntEnum):
    """An event that has just happened."""

    START = 0  # the block has set itself up
    ISSUE_LOAD = 1  # the stage was empty, its load is in flight
    SEE_FULL = 2  # the stage had arrived
    ISSUE_MMA = 3  # its multiplication is in flight
    RETIRE_MMA = 4  # the one before it is done
    STORE = 5  # the item's results are in flight, or given to another block


@dataclass(frozen=True)
class Trace:
    """One role's pen.

    events: (4, EVENTS, roles, blocks) in global memory: what, K tile or item, SM clock, nanoseconds. None: no trace.
    counts: (roles,) in shared memory. writes: this warp writes for its role.
    """

    events: cute.Tensor | None
    counts: cute.Tensor | None
    role: Int32
    block: Int32
    writes: cutlass.Boolean

    @cute.jit
    def stamp(self, did: cutlass.Constexpr, number: Int32) -> None:
        if cutlass.const_expr(self.events is not None):
            if self.writes:
                with cute.arch.elect_one():
                    count = self.counts[self.role]
                    if count < EVENTS:
                        event = self.events[None, count, self.role, self.block]
                        event[0], event[1] = Int32(did), Int32(number)
                        event[2], event[3] = cute.arch.clock(), cute.arch.globaltimer_lo()
                        self.counts[self.role] = count + 1


@cute.jit
def make_trace(events: cute.Tensor | None, memory: SmemAllocator, me: Any, config: cutlass.Constexpr) -> Trace:
    """`events` is flat. The pens are ready after the block's next barrier."""
    writes = me.warp == 0
    if cutlass.const_expr(not config.trace):
        return Trace(None, None, me.group, Int32(0), writes)
    roles, blocks = config.mma_warpgroups + config.specialized, me.clusters * config.cluster_size
    layout = cute.make_ordered_layout((4, EVENTS, roles, blocks), (0, 1, 2, 3))
    counts = memory.allocate_tensor(Int32, cute.make_layout(roles))
    if me.thread == 0:
        counts[me.group] = 0
    block = me.cluster * config.cluster_size + me.rank
    return Trace(cute.make_tensor(events.iterator, layout), counts, me.group, block, writes)


class Event(NamedTuple):
    block: int
    role: int
    did: Did
    number: int
    clock: int
    nanoseconds: int


def read(buffer) -> list[Event]:
    """The events in an int32 tensor (blocks, roles, EVENTS, 4) on the CPU, filled with -1 before the launch."""
    blocks, roles, _, _ = buffer.shape
    found = []
    for block in range(blocks):
        for role in range(roles):
            rows = buffer[block, role]
            for did, number, clock, nanoseconds in rows[rows[:, 0] >= 0].tolist():
                found.append(Event(block, role, Did(did), number, clock & 0xFFFFFFFF, nanoseconds & 0xFFFFFFFF))
    return found


def summary(events: list[Event]) -> dict[str, float]:
    """Medians over the blocks, in SM cycles but for `clock_mhz`."""
    by_block: dict[int, list[Event]] = {}
    for event in events:
        by_block.setdefault(event.block, []).append(event)
    numbers: dict[str, list[float]] = {}
    for block in by_block.values():
        start = next(event for event in block if event.did == Did.START)
        end = max(block, key=lambda event: (event.nanoseconds - start.nanoseconds) % 2**32)
        cycles, time = (end.clock - start.clock) % 2**32, (end.nanoseconds - start.nanoseconds) % 2**32
        if time:
            numbers.setdefault("clock_mhz", []).append(1e3 * cycles / time)
        first = {did: next((e for e in block if e.did == did), None) for did in Did}
        for did in (Did.ISSUE_LOAD, Did.SEE_FULL):
            if first[did]:
                numbers.setdefault(f"first {did.name}", []).append((first[did].clock - start.clock) % 2**32)
        for role in {event.role for event in block}:
            mine = [event for event in block if event.role == role]
            full = [e for e in mine if e.did == Did.SEE_FULL]
            numbers.setdefault("per K tile", []).extend((b.clock - a.clock) % 2**32 for a, b in pairwise(full))
            for a, b in pairwise(mine):
                if b.did == Did.STORE:
                    numbers.setdefault("epilogue", []).append((b.clock - a.clock) % 2**32)
                if b.did == Did.SEE_FULL:
                    numbers.setdefault("wait for full", []).append((b.clock - a.clock) % 2**32)
        numbers.setdefault("block", []).append(cycles)
    return {name: median(values) for name, values in numbers.items() if values}

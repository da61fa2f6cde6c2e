"""Which accesses of blocks to one element are ordered, and which race (Tile IR's memory model, which is PTX's).

Two blocks' accesses race if at least one of them writes, one of them is weak, and no release by the first block that
the second one has acquired lies between them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

import cuda.tile as ct
import torch
from torch import Tensor

NEVER = 0  # the number of the history without accesses
Known = dict[int, int]  # by block: how many of its epochs, each of which ends with a release, are over

ACQUIRES = (ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.ACQ_REL)
RELEASES = (ct.MemoryOrder.RELEASE, ct.MemoryOrder.ACQ_REL)
WITHIN = (ct.MemoryScope.BLOCK, ct.MemoryScope.CLUSTER)  # scopes that need not have two blocks in them


@dataclass
class Block:
    """A block that runs. known: the accesses of others that are ordered before all that it does from now on.

    polls: how often it has loaded the same elements since the `changes`-th change of memory.
    """

    number: int
    epoch: int = 0
    known: Known = field(default_factory=dict)
    changes: int = -1
    polls: dict[object, int] = field(default_factory=dict)


class How(NamedTuple):
    """How an instruction accesses elements. strong: two strong accesses to one element never race."""

    reads: bool
    writes: bool
    strong: bool = False
    acquires: bool = False
    releases: bool = False

    @classmethod
    def of(cls, reads: bool, writes: bool, memory_order: Any, memory_scope: Any, **hints: Any) -> "How":
        """hints: of the instruction, which decide nothing here: latency, allow_tma."""
        strong = memory_order != ct.MemoryOrder.WEAK and memory_scope not in WITHIN
        return cls(reads, writes, strong, strong and memory_order in ACQUIRES, strong and memory_order in RELEASES)

    @property
    def verb(self) -> str:
        return "loads" if not self.writes else "updates" if self.strong else "stores"


LOAD, STORE = How(reads=True, writes=False), How(reads=False, writes=True)


class Access(NamedTuple):
    """One of an element's accesses since its last weak store, which is the first of them.

    before: the number of the history that it continues. written: the number of the latest one that ends with a write.
    released: what a block learns that acquires the element next.
    """

    before: int
    block: int
    epoch: int
    how: How
    written: int = NEVER
    released: Known | None = None


class Histories:
    """The histories of all elements, by number: elements that were accessed alike share one."""

    def __init__(self) -> None:
        self.latest = [Access(NEVER, -1, 0, LOAD)]
        self.numbers: dict[Access, int] = {}

    def conflict(self, number: int, me: Block, how: How) -> Access | None:
        """An access in this history that races with one of this block's: a write, or else a read."""
        steps = self.writes(number), self.steps(number) if how.writes else ()
        return next((one for some in steps for one in some if races(one, me, how)), None)

    def writes(self, number: int) -> Iterator[Access]:
        while (number := self.latest[number].written) != NEVER:
            yield self.latest[number]
            number = self.latest[number].before

    def steps(self, number: int) -> Iterator[Access]:
        while number != NEVER:
            yield self.latest[number]
            number = self.latest[number].before

    def acquired(self, numbers: Iterable[int], known: Known) -> Known:
        """What a block knows that has acquired elements with these histories."""
        return reduce(joined, filter(None, (self.latest[number].released for number in numbers)), known)

    def continued(self, number: int, me: Block, how: How) -> int:
        """The history that continues this one with an access of this block's."""
        last = self.latest[number]
        if not how.strong and how.writes:
            number, last = NEVER, self.latest[NEVER]
        one = Access(number, me.number, me.epoch, how)
        if one[1:4] == last[1:4]:
            return number
        if one not in self.numbers:
            released = last.released if how.reads else None  # an update leaves the release before it in force
            if how.releases:
                released = joined(me.known | {me.number: me.epoch + 1}, released or {})
            self.numbers[one] = len(self.latest)
            written = self.numbers[one] if how.writes else last.written
            self.latest.append(one._replace(written=written, released=released))
        return self.numbers[one]

    def writer(self, number: int) -> int:
        """The number of the block that wrote last, -1 if none did."""
        return self.latest[self.latest[number].written].block

    def writers(self, history: Tensor) -> Tensor:
        by_number = torch.tensor(list(map(self.writer, range(len(self.latest)))), dtype=torch.int32)
        return by_number.index_select(0, history.reshape(-1)).reshape(history.shape)


def races(one: Access, me: Block, how: How) -> bool:
    return one.block != me.number and one.epoch >= me.known.get(one.block, 0) and not (one.how.strong and how.strong)


def joined(one: Known, other: Known) -> Known:
    return {block: max(one.get(block, 0), other.get(block, 0)) for block in one.keys() | other.keys()}

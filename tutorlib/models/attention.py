"""Timelines in ticks: an attention block's softmax and tensor cores, and an SM's tiles of queries."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Schedule = Literal["together", "ping-pong", "together, overlap", "ping-pong, overlap"]


@dataclass(frozen=True)
class GroupSpan:
    """From tick `begin` to tick `end`, by a warpgroup: "softmax", "S" or "P" (P V) of a block of keys; of a tile of
    queries the "load", until its first data are there, the "steps" and the "store" of O.
    """

    kind: str
    group: int
    number: int
    begin: int
    end: int


@dataclass(frozen=True)
class AttentionCartoon:
    """blocks: of keys. multiply: ticks of one warpgroup's S or P V on all tensor cores. softmax: of one block.

    together: both warpgroups issue at once, and the tensor cores serve them alternately, so that both wait for twice
    as long. ping-pong: one waits until the other's wgmmas are done. overlap: S of a block is issued before P V of the
    block before.
    """

    schedule: Schedule
    blocks: int = 3
    multiply: int = 2
    softmax: int = 5

    @property
    def spans(self) -> tuple[GroupSpan, ...]:
        if "ping-pong" in self.schedule:
            return tuple(self.served(2, self.multiply))
        one = tuple(self.served(1, 2 * self.multiply))
        return (*one, *(GroupSpan(x.kind, 1, x.number, x.begin, x.end) for x in one if x.kind == "softmax"))

    @property
    def total(self) -> int:
        return max(span.end for span in self.spans)

    def order(self) -> list[tuple[str, int]]:
        """A warpgroup's wgmma groups as it issues them."""
        pairs = [[("P", n - 1), ("S", n)] if n else [("S", n)] for n in range(self.blocks)]
        if "overlap" in self.schedule:
            pairs = [pair[::-1] for pair in pairs]
        return [*(one for pair in pairs for one in pair), ("P", self.blocks - 1)]

    def served(self, groups: int, ticks: int) -> Iterator[GroupSpan]:
        """The tensor cores take the group of wgmmas that is ready first."""
        waiting, ready, free = [self.order() for _ in range(groups)], [0] * groups, 0
        while any(waiting):
            group = min((one for one in range(groups) if waiting[one]), key=lambda one: (ready[one], one))
            kind, block = waiting[group].pop(0)
            begin = max(free, ready[group])
            free = end = begin + ticks
            yield GroupSpan(kind, group, block, begin, end)
            if kind == "S":
                softmax = end + self.softmax
                yield GroupSpan("softmax", group, block, end, softmax)
                if "overlap" in self.schedule and block:  # P V of the block before is already issued
                    _, before = waiting[group].pop(0)
                    yield GroupSpan("P", group, before, end, end + ticks)
                    free = end + ticks
                ready[group] = softmax
            else:
                ready[group] = end


Blocks = Literal["a block for each tile", "persistent"]


@dataclass(frozen=True)
class SmCartoon:
    """start: ticks until a block has set up its mbarriers. load: from a tile's first load to its data.

    steps, store: of one warpgroup. delay: of warpgroup 1 behind warpgroup 0. stages: of the ring of K, each of a tick:
    a persistent block loads the next tile's K this long before it has computed with this tile's last.
    """

    blocks: Blocks
    tiles: int = 3
    start: int = 1
    load: int = 2
    steps: int = 6
    store: int = 2
    delay: int = 1
    stages: int = 2

    @property
    def spans(self) -> Iterator[GroupSpan]:
        free, computed = [0, 0], 0
        for tile in range(self.tiles):
            begin = max(free) + self.start
            if self.blocks == "persistent" and tile:
                begin = computed - self.stages
            ready = begin + self.load
            yield GroupSpan("load", 0, tile, begin, ready)
            for group in range(2):
                first = max(ready + group * self.delay, free[group])
                computed = first + self.steps
                free[group] = computed + self.store
                yield GroupSpan("steps", group, tile, first, computed)
                yield GroupSpan("store", group, tile, computed, free[group])

    @property
    def total(self) -> int:
        return max(span.end for span in self.spans)

"""One launch, whose blocks run one after another, and the hazards that the interpreter finds and a GPU hides.

Two blocks' accesses race if at least one of them writes, one of them is weak, and no release by the first block that
the second one has acquired lies between them (Tile IR's memory model, which is PTX's).
"""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from math import prod
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import cuda.tile as ct
import torch
from torch import Tensor

from tutorlib.dsl.failure import Flaw, Hazard
from tutorlib.simulate.cutile.dtypes import Number, poison
from tutorlib.simulate.ptx.findings import Finding, NotSimulated, SourceLine, quoted
from tutorlib.simulate.ptx.geometry import coordinates, in_grid

NEVER = 0  # the number of the history without accesses
Known = dict[int, int]  # by block: how many of its epochs, each of which ends with a release, are over

ACQUIRES = (ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.ACQ_REL)
RELEASES = (ct.MemoryOrder.RELEASE, ct.MemoryOrder.ACQ_REL)
WITHIN = (ct.MemoryScope.BLOCK, ct.MemoryScope.CLUSTER)  # scopes that need not have two blocks in them


@dataclass
class Running:
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

    before: the number of the history that it continues. written: of the latest history that ends with a write.
    released: what a block learns that acquires the element next.
    """

    before: int
    block: int
    epoch: int
    how: How
    written: int = NEVER
    released: Known | None = None


class Histories:
    """The histories of all elements, by number: elements that were accessed alike share a history."""

    def __init__(self) -> None:
        self.latest = [Access(NEVER, -1, 0, LOAD)]
        self.numbers: dict[Access, int] = {}

    def conflict(self, number: int, me: Running, how: How) -> Access | None:
        """An access in this history that races with this block's: a write, or else a read."""
        steps = self.writes(number), self.steps(number) if how.writes else ()
        return next((other for some in steps for other in some if races(other, me, how)), None)

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

    def continued(self, number: int, me: Running, how: How) -> int:
        """The history that continues this one with an access of this block's."""
        last = self.latest[number]
        if not how.strong and how.writes:
            number, last = NEVER, self.latest[NEVER]
        access = Access(number, me.number, me.epoch, how)
        if access[1:4] == last[1:4]:
            return number
        if access not in self.numbers:
            released = last.released if how.reads else None  # an update leaves the release before it in force
            if how.releases:
                released = joined(me.known | {me.number: me.epoch + 1}, released or {})
            self.numbers[access] = len(self.latest)
            written = self.numbers[access] if how.writes else last.written
            self.latest.append(access._replace(written=written, released=released))
        return self.numbers[access]

    def writer(self, number: int) -> int:
        """The number of the block that wrote last, -1 if none did."""
        return self.latest[self.latest[number].written].block

    def writers(self, history: Tensor) -> Tensor:
        by_number = torch.tensor(list(map(self.writer, range(len(self.latest)))), dtype=torch.int32)
        return by_number.index_select(0, history.reshape(-1)).reshape(history.shape)


def races(other: Access, me: Running, how: How) -> bool:
    unordered = other.epoch >= me.known.get(other.block, 0)
    return other.block != me.number and unordered and not (other.how.strong and how.strong)


def joined(first: Known, second: Known) -> Known:
    return {block: max(first.get(block, 0), second.get(block, 0)) for block in first.keys() | second.keys()}


Block = tuple[int, ...]
Load = tuple[str, int]  # an array and a line
Padding = Mapping[Load, Callable[[ct.DType], Number]]

STRONG_POLL = 10  # a load by a memory order counts as so many
HOPELESS = 10_000  # loads of the same elements, nothing having changed: the block itself will change nothing

PACKAGES = (str(Path(__file__).parent), "/torch/")


class Endless(Exception):
    """A block never ends, which is a finding."""


@dataclass
class TileLaunch:
    """The state of one launch: which block runs now and what has been noticed so far.

    file: of the kernel.
    padding: by load, what stands where cuTile leaves a value undetermined, if not `poison`.
    running: the block that runs.
    changes: how often a block changed an element's value.
    padded: the loads that left elements undetermined, as findings.
    before: copies of the arguments that are stored to, made before that.
    loaded: of each array, how many elements were loaded. largest: the elements of the largest tile of it.
    scattered: the arrays of which a block loaded or stored single elements.
    factors: the dtypes of the tiles that ct.mma multiplied. products: the products of elements in all its calls.
    """

    grid: tuple[int, int, int]
    file: str
    padding: Padding = field(default_factory=dict)
    running: Running = field(default_factory=lambda: Running(0))
    histories: Histories = field(default_factory=Histories)
    changes: int = 0
    padded: dict[Load, Finding] = field(default_factory=dict)
    before: dict[str, Tensor] = field(default_factory=dict)
    seen: dict[tuple[str, str, int], Finding] = field(default_factory=dict)
    loaded: Counter[str] = field(default_factory=Counter)
    largest: Counter[str] = field(default_factory=Counter)
    scattered: set[str] = field(default_factory=set)
    factors: set[str] = field(default_factory=set)
    products: int = 0

    def run(self, body: Callable[[], None]) -> None:
        """Run the blocks, x fastest. Raises what they raise."""
        with torch.no_grad():
            for number in range(self.blocks):
                self.running = Running(number)
                body()

    @property
    def block(self) -> Block:
        return coordinates(self.running.number, self.grid)

    @property
    def blocks(self) -> int:
        return prod(self.grid)

    def poll(self, array: str, elements: object, place: object, strong: bool) -> None:
        """The running block loads elements, perhaps again and again. Raises Endless, or NotSimulated if a later block
        may change them.
        """
        me = self.running
        if me.changes != self.changes:
            me.changes, me.polls = self.changes, {}
        me.polls[place] = me.polls.get(place, 0) + (STRONG_POLL if strong else 1)
        if me.polls[place] > HOPELESS:
            if me.number < self.blocks - 1:
                at = f"at line {readers_line()}"
                raise NotSimulated(f"block {self.show(me.number)}, which waits for a later one {at},")
            self.notice("endless", array, f"loads {elements} forever: no block changes it any more")
            raise Endless

    def padding_of(self, array: str, dtype: ct.DType, what: str) -> Number:
        """What stands for the elements outside of an array in a tile that a block loads without a padding mode."""
        line = readers_line()
        if (array, line) not in self.padded:
            self.padded[array, line] = self.finding("unset", array, what, line)
        return self.padding.get((array, line), poison)(dtype)

    def count_load(self, array: str, elements: int, tile: int) -> None:
        """A tile was loaded, with so many elements of the array; gathered elements count, too."""
        self.loaded[array] += elements
        self.largest[array] = max(self.largest[array], tile)

    def show(self, number: int) -> str:
        return in_grid(number, self.grid)

    def notice(self, kind: str, array: str, message: str) -> None:
        """Keep the first of each kind by array and line."""
        line = readers_line()
        if (kind, array, line) not in self.seen:
            self.seen[kind, array, line] = self.finding(kind, array, message, line)

    def finding(self, kind: str, array: str, message: str, line: int) -> Finding:
        message = f"block {self.show(self.running.number)} {message}"
        place = SourceLine(self.file, line, quoted(self.file, line)) if line else None
        return Finding(Hazard(kind), Flaw(message, Hazard(kind)(tensor=array)), place, 0, 1)

    def findings(self, *, repeats: bool = False) -> tuple[Finding, ...]:
        """Repeats, or all the others."""
        return tuple(finding for finding in self.seen.values() if (finding.kind == Hazard.REPEAT) == repeats)


def readers_line() -> int:
    """The line of the innermost frame that is not the interpreter's."""
    frame: FrameType | None = inspect.currentframe()
    while frame is not None and any(package in frame.f_code.co_filename for package in PACKAGES):
        frame = frame.f_back
    return frame.f_lineno if frame else 0

"""The sixteen barriers of a block: who has arrived, and when all may go on (PTX ISA, 9.7.13.1).

A thread that has ended is no longer waited for, as on GPUs since sm_70. That a barrier was passed in this way, or that
threads met in it which came from different barriers, is a finding all the same: the same barrier, run by all threads,
is what __syncthreads and sync_threads ask for.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.clocks import Seen
from tutorlib.simulate.ptx.meetings import Meeting, Waiting, by_key

if TYPE_CHECKING:
    from tutorlib.simulate.ptx.operation import Operation

BARRIERS = 16
Key = tuple[int, int]  # a block in the batch, and the number of one of its barriers


@dataclass(frozen=True)
class BarrierInstruction:
    """bar.sync, bar.red, bar.arrive and their new names (barrier.cta.…).

    number: of the barrier. expected: threads that it waits for; 0 for all of the block. Both for all lanes, or one for
    all of them. reduce: of bar.red, gives lanes the reduction of a predicate over all that met.
    """

    site: int
    number: np.ndarray
    expected: np.ndarray
    reduce: Callable[[np.ndarray, np.ndarray], None] | None = None

    @classmethod
    def of(cls, op: "Operation") -> "BarrierInstruction":
        red = "red" in op.parts  # its first operand is the result, its last one the predicate
        expected = op.source(1 + red, "u32") if len(op.operands) > 1 + 2 * red else np.zeros(1, np.uint32)
        return cls(op.site, op.source(int(red), "u32"), expected, reduction(op) if red else None)


def reduction(op: "Operation") -> Callable[[np.ndarray, np.ndarray], None]:
    over: Any = {"popc": np.sum, "and": np.all, "or": np.any}[op.one_of("popc and or")]
    to, holds = op.target(0, "u32" if over is np.sum else "pred"), op.predicate(len(op.operands) - 1)

    def reduce(lanes: np.ndarray, met: np.ndarray) -> None:
        to[lanes] = over(np.broadcast_to(holds(), len(to))[met])

    return reduce


@dataclass(frozen=True)
class LetThrough:
    """How a barrier was passed last. waited: the lanes that waited, each with its count. early: the lanes that come too
    early the next time unless they know of that."""

    early: np.ndarray
    waited: np.ndarray
    then: np.ndarray


class BlockBarriers(Meeting[Waiting]):
    """The barriers of all blocks of the batch, each by its block and number; a group waits by these and by the threads
    that it expects.

    arrived: the lanes that came without waiting (bar.arrive), as often as they came, and what they knew.
    let_through: how each was passed last, where some had only arrived.
    """

    hazard = Hazard.BARRIER

    def restart(self) -> None:
        super().restart()
        self.slot, self.thread = self.geometry.slot(), self.geometry.thread()
        self.arrived: dict[Key, tuple[np.ndarray, Seen]] = {}
        self.reduces: dict[int, Callable[[np.ndarray, np.ndarray], None] | None] = {}  # by site
        self.let_through: dict[Key, LetThrough] = {}

    def arrive(self, by: BarrierInstruction, lanes: np.ndarray) -> np.ndarray:
        """bar.arrive: count these lanes, which go on."""
        for (slot, number, _), which in self.keyed(by, lanes).items():
            some, at = lanes[which], (slot, number)
            before, knew = self.arrived.get(at, (lanes[:0], self.clocks.nothing()))
            self.tell_early(by.site, at, np.union1d(np.intersect1d(some, before), self.unaware(at, some)))
            self.arrived[at] = np.append(before, some), knew | self.clocks.release(some)
        return lanes

    def wait(self, by: BarrierInstruction, lanes: np.ndarray, then: int | None) -> np.ndarray:
        """These lanes arrive. All may go on at once if all threads of their blocks are among them, else none."""
        plain = by.expected.size == 1 and by.expected[0] == 0 and not by.reduce
        self.reduces[by.site] = by.reduce
        if plain and not self.waiting and not self.arrived:
            slots, counts = np.unique(self.slot[lanes], return_counts=True)
            if (counts == self.geometry.threads).all():
                self.clocks.meet_by(slots[:, None] * self.geometry.warps + np.arange(self.geometry.warps))
                return lanes
        for key, which in self.keyed(by, lanes).items():
            at = key[0], key[1]
            self.tell_early(by.site, at, self.unaware(at, lanes[which]))
            self.waiting.append(Waiting(by.site, lanes[which], then, key))
        return lanes[:0]

    def keyed(self, by: BarrierInstruction, lanes: np.ndarray) -> dict[tuple[int, ...], np.ndarray]:
        """The block, the barrier and what it expects of each of these lanes. A barrier that does not exist is noticed,
        and another takes its place."""
        number, expected = (np.broadcast_to(each, len(self.slot))[lanes] for each in (by.number, by.expected))
        if len(beyond := lanes[number >= BARRIERS]):
            says = f"{self.span(beyond)} name barrier {number.max()}, and a block has the barriers 0 to {BARRIERS - 1}"
            self.notice(Hazard.OUTSIDE(tensor="barriers"), by.site, says, len(beyond))
        return by_key(self.slot[lanes], number % BARRIERS, expected)

    def unaware(self, key: Key, lanes: np.ndarray) -> np.ndarray:
        """Those of these lanes that may come before a barrier was passed last, since they cannot know that it was: that
        they can learn from any that waited in it."""
        if key not in self.let_through:
            return lanes[:0]
        last = self.let_through[key]
        early = np.intersect1d(lanes, last.early)
        knows = (self.clocks.over(early[:, None], self.clocks.own[last.waited]) >= last.then).any(1)
        return early[~knows]

    def tell_early(self, site: int, key: Key, early: np.ndarray) -> None:
        """A finding for lanes that may come to a barrier before it opens for those who wait in it."""
        if len(early):
            says = f"in block {self.geometry.show_slot(key[0])} {self.span(early)} may come to barrier {key[1]} too "
            says += "early: before it has let through those who wait in it, so that it counts them in place of others, "
            self.notice(Hazard.DEADLOCK, site, says + "who wait forever: a deadlock", len(early))

    def open(self) -> list[Waiting]:
        """Of each barrier at which all have arrived those whom it lets go on."""
        free: list[Waiting] = []
        while ready := self.complete():
            for key in ready:
                free += self.open_one(*key)
        return free

    def complete(self) -> list[Key]:
        """The barriers at which all have arrived: as many as those expect who wait there, or all of the block that have
        not ended."""
        came, expected = Counter[Key](), Counter[Key]()
        living = self.clocks.alive.reshape(self.geometry.batch, -1).sum(1).tolist()
        for group in self.waiting:
            slot, number, count = group.key
            came[slot, number] += len(group.lanes)
            expected[slot, number] = max(expected[slot, number], count or living[slot])
        none = np.empty(0), None
        return [key for key, count in expected.items() if came[key] + len(self.arrived.get(key, none)[0]) >= count]

    def open_one(self, slot: int, number: int) -> list[Waiting]:
        """As many as the barrier expects, where it says how many: who comes later waits for the next."""
        here = [one for one in self.waiting if one.key[:2] == (slot, number)]
        self.waiting = [one for one in self.waiting if one.key[:2] != (slot, number)]
        arrived, knew = self.arrived.pop((slot, number), (np.empty(0, np.int64), None))
        if (room := max(one.key[2] for one in here) - len(arrived)) > 0:
            ends = np.cumsum([len(one.lanes) for one in here])
            parts = [(one, max(room - end + len(one.lanes), 0)) for one, end in zip(here, ends.tolist(), strict=True)]
            self.waiting += [replace(one, lanes=one.lanes[count:]) for one, count in parts if count < len(one.lanes)]
            here = [replace(one, lanes=one.lanes[:count]) for one, count in parts if count]
        lanes = np.concatenate([one.lanes for one in here])
        waited = np.sort(lanes)
        self.let_through.pop((slot, number), None)
        both = np.intersect1d(arrived, waited)
        if len(both) < len(np.union1d(arrived, waited)):
            self.tell_early(here[0].site, (slot, number), both)  # counted in place of others
        self.clocks.meet(waited, knew)
        if len(arrived):  # where all are counted twice, any other thread of the block would be in place of one
            block = np.arange(self.geometry.of_block) + slot * self.geometry.of_block
            early = np.setdiff1d(block if len(both) == len(waited) else arrived, waited)
            self.let_through[slot, number] = LetThrough(early, waited, self.clocks.now[waited])
        for one in here:
            if reduce := self.reduces[one.site]:
                reduce(one.lanes, lanes)
        if not any(one.key[2] for one in here):
            self.look_at(slot, here, lanes)
        return here

    def look_at(self, slot: int, groups: list[Waiting], lanes: np.ndarray) -> None:
        """Whether the barrier was run by all threads of the block, and in one place."""
        first, *others = groups
        other = next((group for group in others if group.site != first.site), None)
        absent = np.setdiff1d(np.arange(self.geometry.threads), self.thread[lanes])
        if other:
            says = f"{self.span(first.lanes)} wait in this barrier while {self.span(other.lanes)} wait in the one at "
            says, count = says + self.show(other.site), len(lanes)
        elif len(absent):
            says, count = f"{span(absent)} never reach this barrier, where the others wait for them", len(absent)
        else:
            return
        says = f"in block {self.geometry.show_slot(slot)} {says}: a barrier in a branch that only some threads take is "
        self.notice(Hazard.BARRIER, first.site, says + "a deadlock", count)

    def lacking(self, group: Waiting) -> str:
        says = f"in block {self.geometry.show_slot(group.key[0])} {self.span(group.lanes)} wait in this barrier "
        return says + "forever, since the others never reach it: a deadlock"

    def span(self, lanes: np.ndarray) -> str:
        return span(self.thread[lanes])


def span(threads: np.ndarray) -> str:
    """ "threads 64 to 127", "thread 0", "32 threads (0, 2, 4, …)"."""
    ordered = np.unique(threads)
    if len(ordered) == 1:
        return f"thread {ordered[0]}"
    if ordered[-1] - ordered[0] + 1 == len(ordered):
        return f"threads {ordered[0]} to {ordered[-1]}"
    return f"{len(ordered)} threads ({', '.join(map(str, ordered[:3]))}, …)"

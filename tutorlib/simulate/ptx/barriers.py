"""The sixteen barriers of a block: who has arrived, and when all may go on (PTX ISA, 9.7.13.1).

A thread that has ended is no longer waited for, as on GPUs since sm_70. That a barrier was passed in this way, or that
threads met in it which came from different barriers, is a finding all the same: the same barrier, run by all threads,
is what __syncthreads and sync_threads ask for.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.clocks import Seen
from tutorlib.simulate.ptx.operation import Operation
from tutorlib.simulate.ptx.state import State
from tutorlib.simulate.ptx.unit import Meeting, Waiting

BARRIERS = 16


@dataclass(frozen=True)
class Reduction:
    """bar.red's reduction of all threads' predicates. holds: the predicate now; to: the register of the result."""

    name: str
    holds: Callable[[], np.ndarray]
    to: np.ndarray

    def give(self, lanes: np.ndarray, all_lanes: np.ndarray) -> None:
        """To these lanes the result over all."""
        predicates = np.broadcast_to(self.holds(), len(self.to))[all_lanes]
        self.to[lanes] = {"popc": predicates.sum(), "and": predicates.all(), "or": predicates.any()}[self.name]


@dataclass(frozen=True)
class BarrierInstruction:
    """bar.sync, bar.red, bar.arrive and their new names (barrier.cta.…).

    number: of the barrier. expected: threads that it waits for; 0 for all of the block. Both for all lanes, or one for
    all of them.
    """

    site: int
    number: np.ndarray
    expected: np.ndarray
    reduction: Reduction | None

    @classmethod
    def of(cls, op: Operation) -> "BarrierInstruction":
        operands, reduction = op.operands, None
        if "red" in op.parts:
            name = op.parts[-2]
            op.need(name in ("popc", "and", "or"))
            to = op.target(0, "u32" if name == "popc" else "pred")
            reduction, operands = Reduction(name, op.predicate(operands[-1]), to), operands[1:-1]
        expected = op.source(operands[1], "u32") if len(operands) > 1 else np.zeros(1, np.uint32)
        return cls(op.site, op.source(operands[0], "u32"), expected, reduction)


@dataclass(frozen=True)
class WaitingInBarrier(Waiting):
    """Lanes that wait in a barrier, each with its number and the threads expected."""

    number: np.ndarray
    expected: np.ndarray
    reduction: Reduction | None

    def only(self, which: np.ndarray) -> Self:
        return replace(super().only(which), number=self.number[which], expected=self.expected[which])


@dataclass(frozen=True)
class LetThrough:
    """How a barrier was passed last. waited: the lanes that waited, each with its count. early: the lanes that come too
    early the next time unless they know of that."""

    early: np.ndarray
    waited: np.ndarray
    then: np.ndarray


@dataclass
class BlockBarriers(Meeting[WaitingInBarrier]):
    """The barriers of all blocks of the batch, each by its block and number.

    arrived: the lanes that came without waiting (bar.arrive), as often as they came, and what they knew.
    let_through: how each was passed last, where some had only arrived.
    """

    hazard = Hazard.BARRIER

    state: State

    def restart(self) -> None:
        super().restart()
        self.arrived: dict[tuple[int, int], tuple[np.ndarray, Seen]] = {}
        self.let_through: dict[tuple[int, int], LetThrough] = {}

    def arrive(self, by: BarrierInstruction, lanes: np.ndarray) -> np.ndarray:
        """bar.arrive: count these lanes, which go on."""
        slots, numbers = self.state.slot[lanes], self.numbers(by, lanes)
        for slot, number in np.unique(np.column_stack([slots, numbers]), axis=0).tolist():
            some = lanes[(slots == slot) & (numbers == number)]
            before, knew = self.arrived.get((slot, number), (lanes[:0], self.clocks.nothing()))
            early = np.union1d(np.intersect1d(some, before), self.unaware((slot, number), some))
            self.tell_early(by.site, (slot, number), early)
            self.arrived[slot, number] = np.append(before, some), knew | self.clocks.release(some)
        return lanes

    def wait(self, by: BarrierInstruction, lanes: np.ndarray, then: int | None) -> np.ndarray:
        """These lanes arrive. All may go on at once if all threads of their blocks are among them, else none."""
        plain = by.expected.size == 1 and by.expected[0] == 0 and not by.reduction
        if plain and not self.waiting and self.are_whole_blocks(lanes):
            self.clocks.meet_by_block(np.unique(self.state.slot[lanes]))
            return lanes
        number, expected = self.numbers(by, lanes), values_of(by.expected, lanes)
        for key in self.let_through:
            here = lanes[(self.state.slot[lanes] == key[0]) & (number == key[1])]
            self.tell_early(by.site, key, self.unaware(key, here))
        return self.come(WaitingInBarrier(by.site, lanes, then, number, expected, by.reduction))

    def unaware(self, key: tuple[int, int], lanes: np.ndarray) -> np.ndarray:
        """Those of these lanes that may come before a barrier was passed last, since they cannot know that it was: that
        they can learn from any that waited in it."""
        if key not in self.let_through:
            return lanes[:0]
        last = self.let_through[key]
        early = np.intersect1d(lanes, last.early)
        knows = (self.clocks.over(early[:, None], self.clocks.own[last.waited]) >= last.then).any(1)
        return early[~knows]

    def tell_early(self, site: int, key: tuple[int, int], early: np.ndarray) -> None:
        """A finding for lanes that may come to a barrier before it opens for those who wait in it."""
        if len(early):
            says = f"in block {self.geometry.show_slot(key[0])} {self.span(early)} may come to barrier {key[1]} too "
            says += "early: before it has let through those who wait in it, so that it counts them in place of others, "
            self.notice(Hazard.DEADLOCK, site, says + "who wait forever: a deadlock", len(early))

    def numbers(self, by: BarrierInstruction, lanes: np.ndarray) -> np.ndarray:
        """The barrier of each of these lanes. One that does not exist is noticed, and another takes its place."""
        numbers = values_of(by.number, lanes)
        if len(beyond := lanes[numbers >= BARRIERS]):
            says = f"{self.span(beyond)} name barrier {numbers.max()}, and a block has the barriers 0 to {BARRIERS - 1}"
            self.notice(Hazard.OUTSIDE(tensor="barriers"), by.site, says, len(beyond))
        return numbers % BARRIERS

    def are_whole_blocks(self, lanes: np.ndarray) -> bool:
        counts = np.bincount(self.state.slot[lanes], minlength=self.geometry.batch)
        return not self.arrived and bool(np.isin(counts, (0, self.geometry.threads)).all())

    def serve(self, group: WaitingInBarrier) -> list[WaitingInBarrier]:
        self.waiting.append(group)
        return []

    def open(self) -> list[WaitingInBarrier]:
        """Of each barrier at which all have arrived those whom it lets go on."""
        free: list[WaitingInBarrier] = []
        while ready := self.complete():
            for slot, number in ready:
                free += self.open_one(slot, number)
        return free

    def open_one(self, slot: int, number: int) -> list[WaitingInBarrier]:
        """As many as the barrier expects, where it says how many: who comes later waits for the next."""
        here, left = [], []
        for group in self.waiting:
            meets = (self.state.slot[group.lanes] == slot) & (group.number == number)
            here += group.some(meets)
            left += group.some(~meets)
        arrived, knew = self.arrived.pop((slot, number), (np.empty(0, np.int64), None))
        if (room := max(int(group.expected.max()) for group in here) - len(arrived)) > 0:
            here, later = first_lanes(here, room)
            left += later
        self.waiting = left
        lanes = np.concatenate([group.lanes for group in here])
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
        for group in here:
            if group.reduction:
                group.reduction.give(group.lanes, lanes)
        if not any(group.expected.any() for group in here):
            self.look_at(slot, here, lanes)
        return here

    def complete(self) -> list[tuple[int, int]]:
        """The barriers, (slot, number), at which all have arrived."""
        arrived, expected = np.zeros((2, self.geometry.batch, BARRIERS), np.int64)
        for key, (lanes, _) in self.arrived.items():
            arrived[key] = len(lanes)
        living = self.state.alive.reshape(self.geometry.batch, -1).sum(1)
        for group in self.waiting:
            at = self.state.slot[group.lanes], group.number
            np.add.at(arrived, at, 1)
            np.maximum.at(expected, at, np.where(group.expected, group.expected, living[at[0]]))
        return [(int(slot), int(number)) for slot, number in np.argwhere((expected > 0) & (arrived >= expected))]

    def look_at(self, slot: int, groups: list[WaitingInBarrier], lanes: np.ndarray) -> None:
        """Whether the barrier was run by all threads of the block, and in one place."""
        first, *others = groups
        other = next((group for group in others if group.site != first.site), None)
        absent = np.setdiff1d(np.arange(self.geometry.threads), self.state.thread[lanes])
        why = "a barrier in a branch that only some threads take is a deadlock"
        if other:
            says = f"{self.span(first.lanes)} wait in this barrier while {self.span(other.lanes)} wait in the one at "
            self.tell(first.site, slot, says + f"{self.show(other.site)}: {why}", len(lanes))
        elif len(absent):
            says = f"{span(absent)} never reach this barrier, where the others wait for them: {why}"
            self.tell(first.site, slot, says, len(absent))

    def lacking(self, group: WaitingInBarrier) -> str:
        slot = int(self.state.slot[group.lanes[0]])
        here = group.lanes[self.state.slot[group.lanes] == slot]
        says = f"in block {self.geometry.show_slot(slot)} {self.span(here)} wait in this barrier forever, since "
        return says + "the others never reach it: a deadlock"

    def tell(self, site: int, slot: int, says: str, count: int) -> None:
        self.notice(Hazard.BARRIER, site, f"in block {self.geometry.show_slot(slot)} {says}", count)

    def span(self, lanes: np.ndarray) -> str:
        return span(self.state.thread[lanes])


def first_lanes(groups: list[WaitingInBarrier], number: int) -> tuple[list[WaitingInBarrier], list[WaitingInBarrier]]:
    """So many lanes of these groups, one group after the other, and the rest."""
    taken: list[WaitingInBarrier] = []
    rest: list[WaitingInBarrier] = []
    for group in groups:
        first = np.arange(len(group.lanes)) < number - sum(len(part.lanes) for part in taken)
        taken += group.some(first)
        rest += group.some(~first)
    return taken, rest


def values_of(values: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    """An operand's value for each of these lanes."""
    return (values[lanes] if values.size > 1 else np.broadcast_to(values, len(lanes))).astype(np.int64)


def span(threads: np.ndarray) -> str:
    """ "threads 64 to 127", "thread 0", "32 threads (0, 2, 4, …)"."""
    ordered = np.unique(threads)
    if len(ordered) == 1:
        return f"thread {ordered[0]}"
    if ordered[-1] - ordered[0] + 1 == len(ordered):
        return f"threads {ordered[0]} to {ordered[-1]}"
    return f"{len(ordered)} threads ({', '.join(map(str, ordered[:3]))}, …)"

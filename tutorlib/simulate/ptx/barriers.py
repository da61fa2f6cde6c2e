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
from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Instruction, Operand
from tutorlib.simulate.ptx.state import State
from tutorlib.simulate.ptx.waiting import Meeting, Waiting

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
    def of(cls, instruction: Instruction, site: int, state: State) -> "BarrierInstruction":
        def value(operand: Operand) -> np.ndarray:
            return state.source(operand, "u32", instruction)

        operands, parts, reduction = instruction.operands, instruction.parts, None
        if "red" in parts:
            name = parts[-2]
            if name not in ("popc", "and", "or"):
                raise NotSimulated(str(instruction), instruction.line)
            to = state.target(operands[0], "u32" if name == "popc" else "pred", instruction)
            reduction = Reduction(name, state.predicate(operands[-1], instruction), to)
            operands = operands[1:-1]
        expected = value(operands[1]) if len(operands) > 1 else np.zeros(1, np.uint32)
        return cls(site, value(operands[0]), expected, reduction)


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
    """How a barrier was passed last. arrived: the lanes that only arrived; waited: the others, each with its count."""

    arrived: np.ndarray
    waited: np.ndarray
    then: np.ndarray


@dataclass
class BlockBarriers(Meeting[WaitingInBarrier]):
    """The barriers of all blocks of the batch."""

    hazard = Hazard.BARRIER

    state: State

    def __post_init__(self) -> None:
        shape = (self.state.geometry.batch, BARRIERS)
        self.passed_by = np.zeros(shape, np.int64)  # threads that arrived without waiting (bar.arrive)
        self.seen: dict[tuple[int, int], Seen] = {}  # what those knew
        self.arrived: dict[tuple[int, int], np.ndarray] = {}  # those lanes
        self.let_through: dict[tuple[int, int], LetThrough] = {}

    def restart(self) -> None:
        self.waiting.clear()
        self.passed_by.fill(0)
        self.seen.clear()
        self.arrived.clear()
        self.let_through.clear()

    def arrive(self, by: BarrierInstruction, lanes: np.ndarray) -> np.ndarray:
        """bar.arrive: count these lanes, which go on."""
        numbers = self.numbers(by, lanes)
        np.add.at(self.passed_by, (self.state.slot[lanes], numbers), 1)
        for slot, number in np.unique(np.column_stack([self.state.slot[lanes], numbers]), axis=0).tolist():
            at = (self.state.slot[lanes] == slot) & (numbers == number)
            self.look_for_early(by.site, (slot, number), lanes[at])
            self.arrived[slot, number] = np.append(self.arrived.get((slot, number), lanes[:0]), lanes[at])
            seen = self.state.watch.clocks.release(lanes[at])
            self.seen[slot, number] = self.seen[slot, number] | seen if (slot, number) in self.seen else seen
        return lanes

    def wait(self, by: BarrierInstruction, lanes: np.ndarray, then: int | None) -> np.ndarray:
        """These lanes arrive. All may go on at once if all threads of their blocks are among them, else none."""
        if not self.waiting and by.expected.size == 1 and by.expected[0] == 0 and self.are_whole_blocks(lanes):
            self.state.watch.clocks.meet_by_block(np.unique(self.state.slot[lanes]))
            if by.reduction:
                self.reduce_by_block(by.reduction, lanes)
            return lanes
        number, expected = self.numbers(by, lanes), values_of(by.expected, lanes)
        for key in {*self.arrived, *self.let_through}:
            self.look_for_early(by.site, key, lanes[(self.state.slot[lanes] == key[0]) & (number == key[1])])
        self.waiting.append(WaitingInBarrier(by.site, lanes, then, number, expected, by.reduction))
        return lanes[:0]

    def look_for_early(self, site: int, key: tuple[int, int], lanes: np.ndarray) -> None:
        """A finding where these lanes have arrived at a barrier, gone on, and may come again before it has let those
        through that wait in it. Whether it has they can know from one of those."""
        early = np.intersect1d(lanes, self.arrived.get(key, lanes[:0]))
        if key in self.let_through:
            last, clocks = self.let_through[key], self.state.watch.clocks
            again = np.intersect1d(lanes, last.arrived)
            knows = (clocks.over(again[:, None], clocks.own[last.waited]) >= last.then).any(1)
            early = np.union1d(early, again[~knows])
        if len(early):
            block, who = self.state.geometry.show_slot(key[0]), self.span(early)
            says = (
                f"in block {block} {who} may come to barrier {key[1]} again before it has let through those who wait "
            )
            says += "in it, so that it counts them twice: others then wait forever, a deadlock"
            self.state.watch.findings.notice(Hazard.DEADLOCK, site, lambda: says, len(early))

    def numbers(self, by: BarrierInstruction, lanes: np.ndarray) -> np.ndarray:
        """The barrier of each of these lanes. One that does not exist is noticed, and another takes its place."""
        numbers = values_of(by.number, lanes)
        if len(beyond := lanes[numbers >= BARRIERS]):
            what = f"{self.span(beyond)} name barrier {numbers.max()}, and a block has the barriers 0 to {BARRIERS - 1}"
            self.state.watch.findings.notice(Hazard.OUTSIDE(tensor="barriers"), by.site, lambda: what, len(beyond))
        return numbers % BARRIERS

    def are_whole_blocks(self, lanes: np.ndarray) -> bool:
        counts = np.bincount(self.state.slot[lanes], minlength=self.state.geometry.batch)
        return bool(np.isin(counts, (0, self.state.geometry.threads)).all()) and not self.passed_by.any()

    def reduce_by_block(self, reduction: Reduction, lanes: np.ndarray) -> None:
        for slot in np.unique(self.state.slot[lanes]):
            here = lanes[self.state.slot[lanes] == slot]
            reduction.give(here, here)

    def open(self) -> list[WaitingInBarrier]:
        """The lanes that may go on now, which wait no longer."""
        free: list[WaitingInBarrier] = []
        while ready := self.complete():
            for slot, number in ready:
                free += self.open_one(slot, number)
        return free

    def open_one(self, slot: int, number: int) -> list[WaitingInBarrier]:
        """Those whom the barrier lets go on: as many as it expects, where it says how many, and who comes later waits
        for the next."""
        here, left = [], []
        for group in self.waiting:
            meets = (self.state.slot[group.lanes] == slot) & (group.number == number)
            here += group.some(meets)
            left += group.some(~meets)
        room = max(int(group.expected.max()) for group in here) - int(self.passed_by[slot, number])
        if room > 0:
            here, later = first_lanes(here, room)
            left += later
        self.waiting = left
        self.pass_through(slot, number, here)
        return here

    def complete(self) -> list[tuple[int, int]]:
        """The barriers, (slot, number), at which all have arrived."""
        arrived, expected = self.passed_by.copy(), np.zeros_like(self.passed_by)
        living = self.state.alive.reshape(self.state.geometry.batch, -1).sum(1)
        for group in self.waiting:
            slots = self.state.slot[group.lanes]
            np.add.at(arrived, (slots, group.number), 1)
            np.maximum.at(expected, (slots, group.number), np.where(group.expected, group.expected, living[slots]))
        return [(int(slot), int(number)) for slot, number in np.argwhere((expected > 0) & (arrived >= expected))]

    def pass_through(self, slot: int, number: int, groups: list[WaitingInBarrier]) -> None:
        """All of them learn what each of them, and those that only arrived, knew."""
        lanes = np.concatenate([group.lanes for group in groups])
        clocks, waited = self.state.watch.clocks, np.sort(lanes)
        clocks.meet(waited, self.seen.pop((slot, number), None))
        arrived = self.arrived.pop((slot, number), lanes[:0])
        self.let_through.pop((slot, number), None)
        if len(arrived):
            self.let_through[slot, number] = LetThrough(arrived, waited, clocks.now[waited // WARP])
        self.passed_by[slot, number] = 0
        for group in groups:
            if group.reduction:
                group.reduction.give(group.lanes, lanes)
        if not any(group.expected.any() for group in groups):
            self.look_at(slot, groups, lanes)

    def look_at(self, slot: int, groups: list[WaitingInBarrier], lanes: np.ndarray) -> None:
        """Whether the barrier was run by all threads of the block, and in one place."""
        first, *others = groups
        other = next((group for group in others if group.site != first.site), None)
        absent = np.setdiff1d(np.arange(self.state.geometry.threads), self.state.thread[lanes])
        if other:
            self.notice(
                first, slot, len(lanes),
                f"{self.span(first.lanes)} wait in this barrier while {self.span(other.lanes)} wait in the one "
                f"at {self.state.watch.show(other.site)}: a barrier in a branch that only some "
                "threads take is a deadlock",
            )  # fmt: skip
        elif len(absent):
            self.notice(
                first, slot, len(absent),
                f"{span(absent)} never reach this barrier, where the others wait for them: a barrier in a branch that "
                "only some threads take is a deadlock",
            )  # fmt: skip

    def lacking(self, group: WaitingInBarrier) -> str:
        slot = int(self.state.slot[group.lanes[0]])
        here = group.lanes[self.state.slot[group.lanes] == slot]
        says = f"in block {self.state.geometry.show_slot(slot)} {self.span(here)} wait in this barrier forever, since "
        return says + "the others never reach it: a deadlock"

    def notice(self, group: WaitingInBarrier, slot: int, count: int, what: str) -> None:
        block = self.state.geometry.show_slot(slot)
        self.state.watch.findings.notice(Hazard.BARRIER, group.site, lambda: f"in block {block} {what}", count)

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

"""Which threads run next.

A cohort is all threads, of whatever warp and block, that stand before the same block of the program. It runs until its
threads part at a branch, wait in a barrier or end. Cohorts that come to stand at one place become one. Of several that
are ready the one that stands earliest in flow.execution_order runs, unless it goes round in a loop that only others
can end. Where an instruction gathers a warp, lanes wait for the others of their warp. Only when no cohort can run does
TMA do what it was told to: as late as it may. A cohort that only polls a flag cannot go on either.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.barriers import BarrierInstruction
from tutorlib.simulate.ptx.flags import STRONG
from tutorlib.simulate.ptx.flow import BasicBlock, comes_back, execution_order
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.meetings import Waiting
from tutorlib.simulate.ptx.opcode_facts import facts_of
from tutorlib.simulate.ptx.opcodes import decode, unless_reached
from tutorlib.simulate.ptx.opcodes.synchronization import waits_for_phase
from tutorlib.simulate.ptx.opcodes.wgmma import multiplication
from tutorlib.simulate.ptx.operation import Operation
from tutorlib.simulate.ptx.state import State, Step, Where, of_warps

LIMIT = 300_000  # instructions that the warps which go together may execute, one after another
POLLS = 100  # of a flag in global memory, with no effect of any thread in between, after which TMA has its turn
HOPELESS = 1000  # such polls by the only cohort that can run, while TMA has nothing to do
PATIENCE = 1000  # blocks of the program that a cohort runs while others are ready, before one of those has a turn


class Stopped(Exception):
    """The launch is given up: why the kernel does not end, "" where its warps issue more instructions than the caller
    pays for, and the instruction at which it is."""


@dataclass
class Cohort:
    """lanes: booleans. block: of the program. turns: how often it ran while others were ready."""

    lanes: np.ndarray
    block: int
    turns: int = 0


After = Callable[[Cohort], list[Cohort]]
Come = Callable[[np.ndarray], np.ndarray]  # lanes arrive at an instruction: those that may go on; the others wait


class Scheduler:
    """order: in which the basic blocks that are ready run. steps: of each, where what ends it does nothing yet.

    runs: for each basic block, the number of warps that ran it, over all batches. budget: the instructions that all
    warps of all batches may issue. time: the instructions that a batch has run, one cohort after the other.
    """

    def __init__(self, state: State, budget: float) -> None:
        self.instructions, self.blocks, self.state = state.kernel.instructions, state.blocks, state
        self.budget = budget
        self.runs = np.zeros(len(self.blocks), np.int64)
        self.time = self.polled = 0
        self.order = execution_order([block.successors for block in self.blocks])
        ends = [(Operation(self.instructions[one.end - 1], one.end - 1, state), one) for one in self.blocks]
        # First: a wgmma says what steps must watch.
        self.after: list[After] = [unless_reached(op, partial(self.end_of, op, block)) for op, block in ends]
        self.steps = [self.steps_of(block) for block in self.blocks]
        self.gathers = [facts_of(self.instructions[block.start]).gathers for block in self.blocks]
        inside = [self.instructions[block.start : block.end] for block in self.blocks]
        self.has_effect = [any(facts_of(one).effect for one in block) for block in inside]
        self.polls = [any(one.parts[0] == "ld" and STRONG & set(one.parts) for one in block) for block in inside]

    def steps_of(self, block: BasicBlock) -> list[Step]:
        self.state.factors = {}
        inside = enumerate(self.instructions[block.start : block.end], block.start)
        idle: Step = lambda where: None  # noqa: E731
        return [idle if facts_of(one).ends else decode(one, site, self.state) for site, one in inside]

    def run_all(self) -> None:
        """Run all batches, up to one that does not end, which is a finding, or where the budget is used up."""
        state = self.state
        try:
            while state.upcoming < state.geometry.blocks:
                state.enter(state.upcoming)
                self.run()
        except Stopped as stopped:
            why, site = stopped.args
            if why:
                state.findings.notice(Hazard.ENDLESS, site, why)

    def run(self) -> None:
        """Run the batch that the state has entered. Raises Stopped."""
        self.time = 0
        ready = [Cohort(self.state.alive.copy(), 0)]
        while self.blocks and (self.some_can_run(ready) or self.go_on(ready)):
            cohort = self.pick(ready)
            self.run_block(cohort)
            for following in self.after[cohort.block](cohort):
                join(ready, following)
            self.release(ready)
            self.end_polling(cohort.block, ready)
        for unit in self.state.units:  # nearest to the cause first: a warp that lacks registers arrives at no mbarrier
            unit.report_deadlock()

    def deliver(self) -> bool:
        """Let TMA or the tensor cores proceed. Whether they had anything to do."""
        bulk, tensor = self.state.bulk, self.state.tensor
        return bool(bulk.deliver() or tensor.deliver() or bulk.deliver_async())

    def end_polling(self, block: int, ready: list[Cohort]) -> None:
        """A cohort has run this block. Raises Stopped if the only one polls, and nothing can change what it reads."""
        if self.has_effect[block]:
            self.polled = 0
        self.polled += self.polls[block]
        if self.polled > POLLS:
            if self.deliver():
                self.polled = 0
                self.release(ready)
            elif self.polled > HOPELESS and len(ready) == 1:
                raise Stopped("it polls memory that no running thread will change", self.blocks[block].start)

    def go_on(self, ready: list[Cohort]) -> bool:
        """No cohort can run: let TMA and tensor cores proceed, then timed waits end. Whether any can run then."""
        while not self.some_can_run(ready) and self.deliver():
            self.release(ready)
        if not self.some_can_run(ready):
            self.free(self.state.mbarriers.give_up(), ready)
        return bool(ready)

    def some_can_run(self, ready: list[Cohort]) -> bool:
        return any(self.may_run(cohort, ready).any() for cohort in ready)

    def may_run(self, cohort: Cohort, ready: list[Cohort]) -> np.ndarray:
        """The lanes of a cohort that may go on. Where a warp gathers, they wait for others of it that an mbarrier holds
        up, or that are on their way, unless these poll for what does not come."""
        if not self.gathers[cohort.block]:
            return cohort.lanes
        absent = [group.lanes for group in self.state.mbarriers.waiting]
        if self.polled <= HOPELESS:
            absent += [np.flatnonzero(other.lanes) for other in ready if not self.gathers[other.block]]
        lanes = cohort.lanes.copy()
        for others in absent:
            of_warps(lanes)[others // WARP] = False
        return lanes

    def pick(self, ready: list[Cohort]) -> Cohort:
        if len(ready) == 1 and not self.state.mbarriers.waiting:
            return ready.pop()
        keys = [(not self.may_run(one, ready).any(), one.turns // PATIENCE, self.order[one.block]) for one in ready]
        best = keys.index(min(keys))
        lanes, cohort = self.may_run(ready[best], ready), ready.pop(best)
        cohort.turns += 1
        if lanes.any() and (left := cohort.lanes & ~lanes).any():
            ready.append(Cohort(left, cohort.block, cohort.turns))
            cohort.lanes = lanes
        return cohort

    def run_block(self, cohort: Cohort) -> None:
        block = self.blocks[cohort.block]
        self.state.set_time(self.time)
        where: Where = True if cohort.lanes.all() else cohort.lanes
        for number, step in enumerate(self.steps[cohort.block], block.start):
            if self.state.undefined.held:
                active = self.active(number, cohort)
                self.state.undefined.before(number, self.instructions[number], cohort.lanes, active)
            step(where)
            if self.state.listener.follows:
                active, latest = self.active(number, cohort), self.state.log.latest
                self.state.listener.on_instruction(number, self.instructions[number], active, latest)
        warps = len(cohort.lanes) // WARP if where is True else int(of_warps(cohort.lanes).any(1).sum())
        self.runs[cohort.block] += warps
        self.time += block.end - block.start
        self.budget -= warps * (block.end - block.start)
        if self.budget < 0:
            raise Stopped("", block.start)
        if self.time > LIMIT:
            raise Stopped(f"it still runs after {LIMIT:,} instructions: does a loop never end?", block.start)

    def active(self, site: int, cohort: Cohort) -> np.ndarray:
        """The lanes for which an instruction's predicate holds."""
        instruction = self.instructions[site]
        if instruction.guard is None:
            return cohort.lanes
        holds = self.state.storage(instruction.guard)
        return np.asarray(cohort.lanes & (~holds if instruction.negated else holds))

    def release(self, ready: list[Cohort]) -> None:
        """Cohorts that waited at a place where all have arrived become ready."""
        for place in self.state.meetings:
            if place.waiting:
                self.free(place.open(), ready)

    def free(self, groups: Sequence[Waiting], ready: list[Cohort]) -> None:
        for group in groups:
            if group.then is None:
                self.state.end(group.lanes)
                continue
            join(ready, Cohort(self.state.geometry.flags(group.lanes), group.then))

    # what becomes of a cohort at the end of a block -----------------------------------------------------------------

    def end_of(self, op: Operation, block: BasicBlock) -> After:
        site, then, state = op.site, block.following, self.state
        match facts_of(op.instruction).ends:
            case "branch" | "leave":
                return self.part(site, block.target, then, lambda lanes: lanes)
            case "barrier":
                by = BarrierInstruction.of(op)
                return self.part(site, then, then, lambda lanes: state.barriers.wait(by, lanes, then))
            case "arrival":
                by = BarrierInstruction.of(op)
                return self.part(site, then, then, lambda lanes: state.barriers.arrive(by, lanes))
            case "phase":
                retries, groups = comes_back(self.blocks, self.instructions, block), waits_for_phase(op, then)
                return self.part(site, then, then, lambda lanes: state.mbarriers.wait(lanes, groups(lanes), retries))
            case "warpgroup":
                multiply = multiplication(op)
                return self.part(site, then, then, lambda lanes: multiply(state.together.wait(site, lanes, then)))
            case "cluster":
                return self.part(site, then, then, lambda lanes: state.clusters.wait(site, lanes, then))
        return lambda cohort: self.moved(cohort, cohort.lanes, then)

    def part(self, site: int, target: int | None, following: int | None, come: Come) -> After:
        """Those for which the predicate of an instruction holds come to it; who may go on goes to the target. The
        others go to what follows."""

        def go(cohort: Cohort) -> list[Cohort]:
            comes = self.active(site, cohort)
            after = self.moved(cohort, cohort.lanes & ~comes, following)
            if comes.any():
                after += self.moved(cohort, self.state.geometry.flags(come(np.flatnonzero(comes))), target)
            return after

        return go

    def moved(self, cohort: Cohort, lanes: np.ndarray, block: int | None) -> list[Cohort]:
        """These lanes of a cohort, standing before another block of the program; where there is none they end."""
        if not lanes.any():
            return []
        if block is None:
            self.state.end(np.flatnonzero(lanes))
            return []
        return [Cohort(lanes, block, cohort.turns)]


def join(ready: list[Cohort], cohort: Cohort) -> None:
    """Make a cohort ready, together with one that stands at the same place."""
    for other in ready:
        if other.block == cohort.block:
            other.lanes = other.lanes | cohort.lanes
            other.turns = min(other.turns, cohort.turns)
            return
    ready.append(cohort)

"""The machine on which functions of a kernel are rehearsed: warps that issue instructions, TMA loads and mbarriers.

It has no data. Each instruction is judged by what its warps can know, not by what has happened: they know that a tile
has landed, or has been read, if they waited for a phase of an mbarrier that completes only afterwards.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, Self

from tutorlib.checking.plain_python import as_written
from tutorlib.checking.rehearsing.barrier_calls import BarrierPointer, MBarrierCalls
from tutorlib.checking.rehearsing.call_site import NOWHERE, CallSite, calling_line
from tutorlib.checking.rehearsing.coroutines import Actor, Turns
from tutorlib.checking.rehearsing.instruction_sets import InstructionSet, without_compiler
from tutorlib.checking.rehearsing.interleavings import Interleaving
from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.one_lane import LANES, OneLane, PerThread
from tutorlib.checking.rehearsing.unsafe import LoopFlaw, Unsafe
from tutorlib.problems.wrong import count

PARTS = (16_384, 32_768)  # bytes of A's and of B's tile: 128×64 and 256×64 of bf16
SMALLER_PARTS = (16_384, 24_576)  # 192×64 of B
MOST_INSTRUCTIONS = 20_000  # a loop that issues more does not end
MOST_TRIES = 1_000  # of a try_wait, with nothing changed meanwhile

Fact = tuple[Any, ...]


@dataclass(eq=False)
class Load:
    """A K tile of a tile of C, loaded into a block's stage.

    turn: the number of earlier loads into this stage. landed: parts. read_by: its multiplication, if one reads all of
    it.
    """

    k_tile: int
    stage: int
    turn: int
    block: int = 0
    tile: int = 0
    landed: int = 0
    read_by: Any = None


def landed(load: Load, part: int) -> Fact:
    return "landed", load, part


@dataclass(frozen=True)
class Wait:
    """A finished wait for a phase of an mbarrier. complete: phases at its end. at_once: it did not block."""

    line: CallSite
    parity: int
    complete: int
    at_once: bool


class HeldUp(NamedTuple):
    """Where a thread waits, and for what; for which phase of which mbarrier, if it is one."""

    line: CallSite = NOWHERE
    what: str = ""
    barrier: MBarrier | None = None
    phase: int = 0


@dataclass(eq=False)
class Warps(Actor):
    """Warps that run one function in step. role: their rank in interleavings. block: their block in the cluster.
    first: the number of the first of them in the block.

    knows: events that they can rely on. in_elect_one, branches: where one lane of each warp runs.
    waits: the last one for each mbarrier, by name; passed: their number.
    held_up: the line at which they wait, and for what.
    """

    function: Callable[..., None]
    name: str
    role: Any
    warps: int = 1
    block: int = 0
    first: int = 0
    knows: set[Fact] = field(default_factory=set, init=False)
    in_elect_one: bool = field(default=False, init=False)
    branches: list[OneLane] = field(default_factory=list, init=False)
    waits: dict[str, Wait] = field(default_factory=dict, init=False)
    passed: dict[str, int] = field(default_factory=dict, init=False)
    held_up: HeldUp = field(default=HeldUp(), init=False)

    @property
    def elected(self) -> bool:
        """Whether one lane of each warp executes the current instruction."""
        self.branches = [one for one in self.branches if one.running]
        return self.in_elect_one or bool(self.branches)

    @property
    def lanes(self) -> int:
        """Threads that execute the current instruction."""
        return self.warps if self.elected else self.warps * LANES


class RehearsedSteps(SimpleNamespace):
    """Stands in for the kernel's steps: the same attributes and methods, without data."""


@dataclass(eq=False, kw_only=True)
class RehearsalMachine(MBarrierCalls):
    """A block, or the blocks of a cluster, and their state.

    barriers: by kind and block. sent: loads, by block and stage. flying: operations in flight, the oldest first.
    changes: a count of all events. present: warps that have arrived at the block's barrier. repeated: where warps
    waited for a phase a second time, or None.
    """

    instruction_set: ClassVar[InstructionSet]

    warps: list[Any]
    interleaving: Interleaving
    k_tiles: int = 0
    stages: int = 0
    blocks: int = 1
    barriers: dict[str, list[list[MBarrier]]] = field(init=False)
    sent: list[list[list[Load]]] = field(init=False)
    flying: list[Any] = field(default_factory=list, init=False)
    changes: int = field(default=0, init=False)
    fruitless: int = field(default=0, init=False)
    present: list[Warps] = field(default_factory=list, init=False)
    meetings: int = field(default=0, init=False)
    repeated: CallSite | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.turns = Turns(self.interleaving.choose, self.let_land, self.give_up)
        self.sent = [[[] for _ in range(self.stages)] for _ in range(self.blocks)]
        self.barriers = {
            kind: [
                [MBarrier(f"{kind}[{at}]{self.of_block(block)}", arrivals, kind, at, block) for at in range(number)]
                for block in range(self.blocks)
            ]
            for kind, (number, arrivals) in self.barrier_kinds().items()
        }

    # What each GPU generation adds ------------------------------------------------------------------------------------

    def barrier_kinds(self) -> dict[str, tuple[int, int]]:
        """For each kind the number of mbarriers in a block, and the arrivals that each awaits."""
        return {}

    def steps(self, warps: Any) -> Any:
        """The argument of these warps' function."""
        raise NotImplementedError

    def give_up(self) -> None:
        """A deadlock. Raises Unsafe."""
        raise NotImplementedError

    def finish(self) -> None:
        """Raises Unsafe if a part of the result is missing, or still in flight."""
        raise NotImplementedError

    def check_arrival(self, me: Any, line: CallSite, barrier: MBarrier) -> None:
        """Raises Unsafe where these warps must not arrive there."""

    def check_announcement(self, me: Any, line: CallSite) -> None:
        """Raises Unsafe where these warps must not announce bytes."""

    def too_many_arrivals(self, me: Any, line: CallSite, barrier: MBarrier) -> str:
        """The message about an arrival beyond those that a phase awaits."""
        raise NotImplementedError

    # Running ----------------------------------------------------------------------------------------------------

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The answer's, whose names of the DSL are replaced."""
        return tuple(warps.function for warps in self.warps)

    def run(self) -> Self:
        """Raises Unsafe, and what the functions themselves raise."""
        for warps in self.warps:
            warps.plays = partial(as_written(warps.function), self.steps(warps))
        with without_compiler(self, self.instruction_set, *self.functions):
            self.turns.play(self.warps)
            self.finish()
        return self

    @property
    def me(self) -> Any:
        """The warps that issue the instruction."""
        return self.turns.running

    def issue(self, ready: Callable[[], bool] = lambda: True, patient: bool = False) -> tuple[Any, CallSite]:
        """Let other warps go first; return the warps that issue an instruction, once they are ready, and its line."""
        self.turns.wait(ready, patient)
        if self.interleaving.landing == "some" and self.interleaving.some():
            self.let_land()
        line = calling_line()
        if self.turns.issued > MOST_INSTRUCTIONS:
            raise Unsafe(f"{line}: the loop does not end.", LoopFlaw.ENDLESS)
        return self.me, line

    @contextmanager
    def elect_one(self) -> Iterator[None]:
        me = self.me
        outer, me.in_elect_one = me.in_elect_one, True
        try:
            yield
        finally:
            me.in_elect_one = outer

    @property
    def most_unrolled(self) -> int:
        """Steps that the compiler may unroll: loops over stages and parts of a tile are as short, not those along K."""
        return self.stages + 1

    def unrolling(self, *args: Any) -> range:
        steps = range(*map(int, args))
        if len(steps) > self.most_unrolled:
            what = (
                f"{calling_line()}: the compiler unrolls range_constexpr, here for {len(steps)} steps with "
                f"{count(self.k_tiles, 'K tile')}. With K = 4096 that is 64 times the code, and minutes of compiling. "
                "A loop over K tiles is cutlass.range(…, unroll=1)."
            )
            raise Unsafe(what, LoopFlaw.UNROLLED)
        return steps

    def of_each_thread(self, number: Callable[[int], int]) -> PerThread:
        first = LANES * self.me.first
        return PerThread(self.me, tuple(map(number, range(first, first + LANES * self.me.warps))))

    def thread_idx(self) -> tuple[PerThread, int, int]:
        return self.of_each_thread(int), 0, 0

    def lane_idx(self) -> PerThread:
        return self.of_each_thread(lambda thread: thread % LANES)

    def warp_idx(self) -> PerThread:
        return self.of_each_thread(lambda thread: thread // LANES)

    def meet(self) -> None:
        """The block's barrier: afterwards every thread knows what any of them knew."""
        me, number = self.me, self.meetings
        self.present.append(me)
        me.held_up = HeldUp(calling_line(), "all threads of the block, at a barrier")
        if len(self.present) == len(self.warps):
            known = set[Fact]().union(*(warps.knows for warps in self.warps))
            for warps in self.warps:
                warps.knows |= known
            self.present.clear()
            self.meetings += 1
            self.changes += 1
        self.issue(lambda: self.meetings > number)

    # Loads ------------------------------------------------------------------------------------------------------

    @property
    def part_bytes(self) -> tuple[int, int]:
        """Bytes of A's and B's parts of a load, in a pair half of B. They vary, so that a literal in place of
        stage_bytes fails."""
        of_a, of_b = SMALLER_PARTS if self.stages in (1, 3) else PARTS
        return of_a, of_b // self.blocks

    @property
    def stage_bytes(self) -> int:
        """The bytes that full[stage] counts, of all blocks."""
        return sum(self.part_bytes) * self.blocks

    def loads(self, block: int = 0) -> list[Load]:
        """All loads into a block's stages."""
        return [load for stage in self.sent[block] for load in stage]

    def newest(self, stage: int, block: int = 0) -> Load | None:
        """The latest load into a stage."""
        return self.sent[block][stage][-1] if self.sent[block][stage] else None

    def refuse_elected(self, me: Any, line: CallSite, copy: str = "a TMA copy") -> None:
        if me.elected:
            what = f"{line}: {copy} elects its thread itself; inside elect_one() it can wait forever."
            raise Unsafe(what, LoopFlaw.ELECTED)

    def send(self, load: Load) -> None:
        self.sent[load.block][load.stage].append(load)
        self.begin(load)

    def begin(self, event: Any) -> None:
        """Start an operation that hardware completes by itself."""
        self.flying.append(event)
        self.changes += 1
        while self.interleaving.landing == "early" and self.let_land():
            pass

    def let_land(self) -> bool:
        """Land the next part of the oldest operation in flight. False if there is none."""
        if not self.flying:
            return False
        commits = [event for event in self.flying if not isinstance(event, Load)]
        event = commits[0] if commits and self.interleaving.last_first else self.flying[0]
        if isinstance(event, Load):
            self.land(event)
        else:
            self.flying.remove(event)
            event.arrive()
        self.changes += 1
        return True

    def land(self, load: Load) -> None:
        part = load.landed
        load.landed += 1
        if load.landed == len(self.part_bytes):
            self.flying.remove(load)
        # A pair's bytes are counted by the leader's mbarrier.
        self.barriers["full"][0][load.stage].land(self.part_bytes[part], landed(load, part))

    def has_landed(self, load: Load) -> bool:
        """Whether the running warps know that it has landed."""
        return all(landed(load, part) in self.me.knows for part in range(len(self.part_bytes)))

    # MBarriers --------------------------------------------------------------------------------------------------

    def of_block(self, block: int) -> str:
        """ " of block 1", where there are two."""
        return f" of block {block}" if self.blocks > 1 else ""

    def pointers(self, block: int = 0, of: str = "") -> dict[str, BarrierPointer]:
        """By kind, as a block's functions have them."""
        return {kind: BarrierPointer(everywhere, block, of) for kind, everywhere in self.barriers.items()}

    def all_barriers(self) -> list[MBarrier]:
        return [barrier for everywhere in self.barriers.values() for mine in everywhere for barrier in mine]

    def wait(self, barrier: MBarrier, phase: Any) -> None:
        at_once = self.begin_wait(barrier, phase)
        self.issue(lambda: barrier.passes(int(phase)))
        self.end_wait(barrier, phase, at_once)

    def try_wait(self, barrier: MBarrier, phase: Any) -> bool:
        """Let other warps go first; false if the phase is not complete then."""
        changes, at_once = self.changes, self.begin_wait(barrier, phase)
        self.issue(lambda: barrier.passes(int(phase)) or self.changes > changes, patient=True)
        if barrier.passes(int(phase)):
            self.end_wait(barrier, phase, at_once)
            return True
        self.fruitless = self.fruitless + 1 if self.changes == changes else 0
        if self.fruitless > MOST_TRIES:
            self.give_up()
        return False

    def begin_wait(self, barrier: MBarrier, phase: Any) -> bool:
        """Whether it passes without blocking."""
        me, line = self.me, calling_line()
        if int(phase) not in (0, 1):
            raise Unsafe(f"{line}: phase {phase}: a wait is for a parity, 0 or 1.", LoopFlaw.PARITY)
        me.held_up = HeldUp(line, f"phase {phase} of {barrier.name}", barrier, int(phase))
        return barrier.passes(int(phase))

    def end_wait(self, barrier: MBarrier, phase: Any, at_once: bool) -> None:
        me, before = self.me, self.me.waits.get(barrier.name)
        me.waits[barrier.name] = now = Wait(calling_line(), int(phase), barrier.complete, at_once)
        if before and before.complete == now.complete and before.parity == now.parity:
            self.repeated = self.repeated or now.line
        me.passed[barrier.name] = me.passed.get(barrier.name, 0) + 1
        me.knows |= barrier.published
        self.changes += 1

    def arrive(self, barrier: MBarrier, times: Any = 1, expected: Any = None) -> None:
        """Arrive with one thread after the other. expected: bytes for each, or None."""
        me, line = self.issue()
        if expected is not None:
            self.check_announcement(me, line)
        self.check_arrival(me, line, barrier)
        for _ in range(me.lanes):
            if int(times) > barrier.pending:
                raise Unsafe(self.too_many_arrivals(me, line, barrier))
            barrier.expect(int(expected or 0))
            barrier.arrive(me.name, int(times), me.knows, line)
        self.changes += 1

    def refuse_all_lanes(self, me: Any, line: CallSite, barrier: MBarrier, who: str = "") -> None:
        """Raises Unsafe if all lanes arrive and elect_one() is missing."""
        if not me.elected and me.lanes > barrier.awaited:
            what = (
                f"{line}: {barrier.name} awaits {count(barrier.awaited, 'arrival')} in a phase, and all {LANES} lanes "
                f"of a warp arrive{who}: inside elect_one() it is one of each warp."
            )
            raise Unsafe(what, LoopFlaw.ALL_LANES)

    def expect(self, barrier: MBarrier, number: Any) -> None:
        me, line = self.issue()
        self.check_announcement(me, line)
        barrier.expect(me.lanes * int(number))
        self.changes += 1

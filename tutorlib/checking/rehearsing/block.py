"""A thread block without data: stages, their mbarriers, TMA loads and the warpgroups that multiply.

Every order is judged by what the warp that gives it can know, not by what happened to be the case: a warp knows that
a tile has landed, or that a warpgroup has read it, where it waited for a phase of an mbarrier that this had to precede.
"""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.plain import CallSite, Hazard, calling_line
from tutorlib.checking.rehearsing.turns import Actor, Turns
from tutorlib.problems.wrong import count

LANES = 32
PARTS = (16_384, 32_768)  # bytes of A's and of B's tile: 128×64 and 256×64 of bf16
STAGE_BYTES = sum(PARTS)
MOST_ORDERS = 20_000  # a loop that gives more does not end
MOST_TRIES = 1_000  # of a try_wait, with nothing changed meanwhile


@dataclass(eq=False)
class Load:
    """A K tile on its way into a stage. turn: how many were sent to this stage before. landed: parts."""

    k_tile: int
    stage: int
    turn: int
    line: CallSite
    landed: int = 0


@dataclass
class Multiplication:
    """The wgmmas of one K tile, as some warps have issued them."""

    load: Load
    first: bool
    line: CallSite


@dataclass
class Wait:
    """The last wait of some warps for a barrier. turn: which one, from 0. complete: phases that were, when it passed.

    at_once: it was not held up.
    """

    line: CallSite
    parity: int
    turn: int
    complete: int
    at_once: bool


@dataclass(eq=False)
class Warps(Actor):
    """Warps that run one function in step. group: of their warpgroup that multiplies, or None.

    knows: events they can rely on: (load, part) has landed, (load, group) has been read.
    groups: for each commit, how many multiplications were issued before it. retired: how many are known to be done.
    """

    name: str = ""
    warps: int = 1
    group: int | None = None
    loads: bool = False
    knows: set[Any] = field(default_factory=set)
    elected: bool = False
    fenced: bool = False
    issued: list[Multiplication] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    retired: int = 0
    waits: dict[str, Wait] = field(default_factory=dict)
    waits_for: str = ""
    overlapped: bool = True  # something was under way when it last waited for a full stage
    arrived: dict[str, tuple[CallSite, list[Load]]] = field(
        default_factory=dict
    )  # the last time, and what it still read

    @property
    def lanes(self) -> int:
        return self.warps if self.elected else self.warps * LANES


Order = Callable[[list[Warps]], Warps]
Landing = Literal["late", "early", "some"]


@dataclass(eq=False)
class Block:
    """What the loops' orders do. The patched functions of the DSL and the steps' methods end here.

    landing: of loads: when nobody can go on without, as soon as they are sent, or now and then.
    depth: for each K tile, the fewest stages that lay idle while it was multiplied.
    alone: K tiles for which a warpgroup waited with no wgmma under way.
    """

    k_tiles: int
    stages: int
    warps: list[Warps]
    choose: Order
    landing: Landing = "late"
    some: Callable[[], bool] = lambda: False
    full: list[MBarrier] = field(init=False)
    empty: list[MBarrier] = field(init=False)
    sent: list[list[Load]] = field(init=False)  # to each stage
    flying: list[Load] = field(default_factory=list)
    done: dict[int, int] = field(init=False)  # warpgroup → multiplications that are over
    idle: dict[int, int] = field(default_factory=dict)
    alone: set[int] = field(default_factory=set)
    at_barrier: list[Warps] = field(default_factory=list)
    barriers: int = 0
    changes: int = 0
    fruitless: int = 0

    def __post_init__(self) -> None:
        self.full = [MBarrier(f"full[{stage}]", 1) for stage in range(self.stages)]
        self.empty = [MBarrier(f"empty[{stage}]", self.consumers) for stage in range(self.stages)]
        self.sent = [[] for _ in range(self.stages)]
        self.done = {warps.group: 0 for warps in self.warps if warps.group is not None}
        self.turns = Turns(self.choose, self.let_land, self.explain_deadlock)

    @property
    def consumers(self) -> int:
        """Warps that multiply."""
        return sum(warps.warps for warps in self.warps if warps.group is not None)

    @property
    def me(self) -> Warps:
        """Who gives the order."""
        me: Warps = self.turns.running
        return me

    def order(self, ready: Callable[[], bool] = lambda: True, patient: bool = False) -> None:
        """Others may go first; then, when it is ready, the running warps' order is carried out."""
        self.turns.wait(ready, patient)
        if self.landing == "some" and self.some():
            self.let_land()
        if self.turns.orders > MOST_ORDERS:
            raise Hazard(f"{calling_line()}: the loop does not end.")

    def number(self, stage: Any, order: str) -> int:
        if not 0 <= int(stage) < self.stages:
            raise Hazard(f"{calling_line()}: {order}: of {self.stages} stages, 0 to {self.stages - 1} exist.")
        return int(stage)

    # Loads ------------------------------------------------------------------------------------------------------

    def load(self, k_tile: Any, stage: Any) -> None:
        self.order()
        me, line, order = self.me, calling_line(), f"load({k_tile}, {stage})"
        tile, at = int(k_tile), self.number(stage, order)
        if not me.loads:
            raise Hazard(f"{line}: {me.name} loads, too: all would load. Only where steps.loads_too.")
        if me.elected:
            raise Hazard(f"{line}: a TMA copy elects its thread itself; inside elect_one() it can wait for ever.")
        if not 0 <= tile < self.k_tiles:
            raise Hazard(f"{line}: {order}: of {count(self.k_tiles, 'K tile')}, 0 to {self.k_tiles - 1} exist.")
        if twice := [load for loads in self.sent for load in loads if load.k_tile == tile]:
            raise Hazard(f"{line}: K tile {tile} is loaded twice, into stages {twice[0].stage} and {at}.")
        for group in self.done if self.sent[at] else ():
            if (self.sent[at][-1], group) not in me.knows:
                raise Hazard(self.why_not_free(line, tile, self.sent[at][-1], group))
        load = Load(tile, at, len(self.sent[at]), line)
        self.sent[at].append(load)
        self.flying.append(load)
        self.changes += 1
        if self.landing == "early":
            while self.let_land():
                pass

    def let_land(self) -> bool:
        """The next part of the load that is longest under way. False where none is."""
        if not self.flying:
            return False
        load = self.flying[0]
        part = load.landed
        load.landed += 1
        if load.landed == len(PARTS):
            self.flying.remove(load)
        self.full[load.stage].land(PARTS[part], (load, part))
        self.changes += 1
        return True

    def why_not_free(self, line: CallSite, tile: int, old: Load, group: int) -> str:
        """Why the stage of an old load must not be overwritten yet, as far as a warpgroup is concerned."""
        me, barrier, stage = self.me, self.empty[old.stage], old.stage
        over = f"{line}: K tile {tile} overwrites K tile {old.k_tile} in stage {stage}"
        for warps in self.warps:
            if warps.group == group and barrier.name in warps.arrived:
                released, reading = warps.arrived[barrier.name]
                if old in reading:
                    return (
                        f"{released}: {warps.name} frees stage {stage} while its wgmmas of K tile {old.k_tile} may "
                        f"still read it, and K tile {tile} overwrites it. First a wait_group that leaves fewer "
                        "under way."
                    )
        under_way = any(warps.group == group and self.is_reading(warps, old) for warps in self.warps)
        has_read = self.has_read(group, old)
        state = "has read" if has_read else "may still read" if under_way else "has not multiplied"
        who = f"warpgroup {group}" if len(self.done) > 1 else "the warpgroup"
        wait = me.waits.get(barrier.name)
        if wait is None:
            return (
                f"{over}, which {who} {state}{' by chance' if has_read else ''}: no wait for {barrier.name} before it."
            )
        if wait.complete <= old.turn:
            return (
                f"{over}, which {who} {state}{' by chance' if has_read else ''}: the last wait for {barrier.name} "
                f"({wait.line}) was for phase {wait.parity}, which let it pass {self.why_passed(barrier, wait)}. "
                f"K tile {old.k_tile} is read when phase {old.turn % 2} is complete."
            )
        return (
            f"{over}, which {who} {state}: phase {old.turn % 2} of {barrier.name} was complete too early, after "
            f"{barrier.completed_by(old.turn)}; it must have {self.consumers}, one of each warp that reads the stage."
        )

    def is_reading(self, warps: Warps, load: Load) -> bool:
        return any(multiplication.load is load for multiplication in warps.issued[warps.retired :])

    def has_read(self, group: int, load: Load) -> bool:
        first = next(warps for warps in self.warps if warps.group == group)
        return any(multiplication.load is load for multiplication in first.issued[: self.done[group]])

    def why_passed(self, barrier: MBarrier, wait: Wait) -> str:
        if wait.complete == 0:
            return "at once: a fresh mbarrier counts phase 1 as complete"
        return (
            f"as soon as the phase {wait.parity} before was complete"
            if not wait.at_once
            else (f"at once: the phase {wait.parity} before had been complete")
        )

    # Multiplications --------------------------------------------------------------------------------------------

    def fence(self) -> None:
        self.order()
        self.me.fenced = True

    def multiply(self, stage: Any, first: Any) -> None:
        self.order()
        me, line = self.me, calling_line()
        at = self.number(stage, f"multiply({stage}, {first})")
        if me.group is None:
            raise Hazard(f"{line}: {me.name} has no sums: it loads, and others multiply.")
        if me.elected:
            raise Hazard(f"{line}: wgmma needs all threads of a warpgroup; inside elect_one() there is one.")
        if not me.fenced:
            raise Hazard(
                f"{line}: no warpgroup.fence() before the first wgmma: nothing orders it after what wrote its "
                "registers."
            )
        if not self.sent[at] or any((self.sent[at][-1], part) not in me.knows for part in range(len(PARTS))):
            raise Hazard(self.why_not_there(line, at))
        load = self.sent[at][-1]
        if any(earlier.load is load for earlier in me.issued):
            raise Hazard(f"{line}: K tile {load.k_tile} in stage {at} is multiplied twice{self.after_wait(at)}.")
        self.check_first(line, bool(first), load)
        me.issued.append(Multiplication(load, bool(first), line))
        self.check_together(line)
        if len(me.issued) > 1 and not me.overlapped:
            self.alone.add(load.k_tile)
        self.changes += 1
        self.measure(load)

    def why_not_there(self, line: CallSite, stage: int) -> str:
        """Why a stage cannot be multiplied yet."""
        barrier, wait = self.full[stage], self.me.waits.get(f"full[{stage}]")
        load = self.sent[stage][-1] if self.sent[stage] else None
        if load is None:
            what = f"{line}: reads stage {stage}, into which nothing has been loaded yet"
        else:
            what = f"{line}: reads stage {stage}, where K tile {load.k_tile} may not have landed yet"
        if wait is None:
            return f"{what}: no wait for {barrier.name} before it."
        turn = load.turn if load else 0
        if wait.complete > turn:
            return (
                f"{what}: phase {turn % 2} of {barrier.name} was complete too early, after "
                f"{barrier.completed_by(turn)}; a load brings {STAGE_BYTES:,} bytes, and "
                "expect_tx must say so before or as the one arrival comes."
            )
        return (
            f"{what}: the last wait for {barrier.name} ({wait.line}) was for phase {wait.parity}, which let it pass "
            f"{self.why_passed(barrier, wait)}. Load number {turn} into a stage completes phase {turn % 2}."
        )

    def after_wait(self, stage: int) -> str:
        wait = self.me.waits.get(f"full[{stage}]")
        if wait is None:
            return ""
        return (
            f": the wait for phase {wait.parity} of full[{stage}] ({wait.line}) passed at once" if wait.at_once else ""
        )

    def check_first(self, line: CallSite, first: bool, load: Load) -> None:
        me = self.me
        if first and me.issued:
            lost = ", ".join(str(earlier.load.k_tile) for earlier in me.issued)
            raise Hazard(f"{line}: `first` at K tile {load.k_tile} forgets the sums of K tile {lost}.")
        if not first and not me.issued:
            raise Hazard(
                f"{line}: the first multiplication, of K tile {load.k_tile}, adds to old sums: it needs `first`."
            )

    def check_together(self, line: CallSite) -> None:
        """The warps of a warpgroup issue the same wgmmas."""
        me = self.me
        number = len(me.issued) - 1
        for other in self.warps:
            if other.group == me.group and len(other.issued) > number:
                mine, theirs = me.issued[number], other.issued[number]
                if (mine.load, mine.first) != (theirs.load, theirs.first):
                    raise Hazard(
                        f"{line}: {me.name} multiplies K tile {mine.load.k_tile} where {other.name} multiplies K tile "
                        f"{theirs.load.k_tile}: all warps of a warpgroup must issue the same wgmma."
                    )

    def commit(self) -> None:
        self.order()
        self.me.groups.append(len(self.me.issued))

    def retire(self, pending: Any) -> None:
        """wait_group: all but the newest `pending` groups are over, once the whole warpgroup has issued them."""
        me = self.me
        groups = me.groups[: max(0, len(me.groups) - int(pending))]
        until = max(me.retired, groups[-1] if groups else 0)
        if me.group is not None and me.issued:
            self.measure(me.issued[max(until - 1, 0)].load)
        others = [other for other in self.warps if other.group == me.group and other is not me]
        me.waits_for = (
            f"{calling_line()}: {me.name} waits for wgmmas that the other warps of its warpgroup have not issued"
        )
        self.order(lambda: all(len(other.issued) >= until for other in others))
        for multiplication in me.issued[me.retired : until]:
            me.knows.add((multiplication.load, me.group))
        me.retired = until
        if me.group is not None:
            self.done[me.group] = max(self.done[me.group], until)
        self.changes += 1

    def measure(self, load: Load) -> None:
        """How many stages lie idle while a K tile is multiplied."""
        sent, over = sum(map(len, self.sent)), min(self.done.values())
        idle = min(self.stages, self.k_tiles - over) - (sent - over)
        self.idle[load.k_tile] = min(idle, self.idle.get(load.k_tile, idle))

    # Barriers ---------------------------------------------------------------------------------------------------

    def wait(self, barrier: MBarrier, phase: Any) -> None:
        self.check_parity(phase)
        me, parity = self.me, int(phase)
        at_once = barrier.passes(parity)
        me.waits_for = f"{calling_line()}: {me.name} waits for phase {parity} of {barrier.name}"
        if barrier in self.full:
            me.overlapped = len(me.issued) > me.retired
        self.order(lambda: barrier.passes(parity))
        self.passed(barrier, parity, at_once)

    def try_wait(self, barrier: MBarrier, phase: Any) -> bool:
        self.check_parity(phase)
        me, parity, changes = self.me, int(phase), self.changes
        at_once = barrier.passes(parity)
        me.waits_for = f"{calling_line()}: {me.name} tries to see phase {parity} of {barrier.name} complete"
        if barrier in self.full:
            me.overlapped = len(me.issued) > me.retired
        self.order(lambda: barrier.passes(parity) or self.changes > changes, patient=True)
        if barrier.passes(parity):
            self.passed(barrier, parity, at_once)
            return True
        self.fruitless = self.fruitless + 1 if self.changes == changes else 0
        if self.fruitless > MOST_TRIES:
            self.explain_deadlock()
        return False

    def passed(self, barrier: MBarrier, parity: int, at_once: bool) -> None:
        me = self.me
        earlier = me.waits.get(barrier.name)
        turn = earlier.turn + 1 if earlier else 0
        me.waits[barrier.name] = Wait(calling_line(), parity, turn, barrier.complete, at_once)
        me.knows |= barrier.published
        self.changes += 1

    def check_parity(self, phase: Any) -> None:
        if int(phase) not in (0, 1):
            raise Hazard(f"{calling_line()}: phase {phase}: a wait is for a parity, 0 or 1.")

    def arrive(self, barrier: MBarrier, times: Any = 1, expected: Any = None) -> None:
        """expected: bytes for each arriving thread, or None."""
        self.order()
        me, line = self.me, calling_line()
        number = me.lanes * int(times)
        if expected is not None:
            barrier.expect(me.lanes * int(expected))
        if number > barrier.pending:
            raise Hazard(self.why_too_many(line, barrier, number))
        load = self.sent[self.stage_of(barrier)]
        unread = [m.load for m in me.issued[me.retired :] if load and m.load is load[-1]]
        me.arrived[barrier.name] = line, unread
        barrier.arrive(me.name, number, me.knows)
        self.changes += 1

    def expect(self, barrier: MBarrier, number: Any) -> None:
        self.order()
        barrier.expect(self.me.lanes * int(number))
        self.changes += 1

    def stage_of(self, barrier: MBarrier) -> int:
        return (self.full if barrier in self.full else self.empty).index(barrier)

    def why_too_many(self, line: CallSite, barrier: MBarrier, number: int) -> str:
        me = self.me
        awaited = f"{barrier.name} awaits {count(barrier.awaited, 'arrival')} in a phase"
        if not me.elected and number > barrier.awaited:
            return (
                f"{line}: {awaited}, and all {LANES} lanes of each warp arrive, {number} of {me.name}: "
                "with cute.arch.elect_one() it is one of each warp."
            )
        has = barrier.awaited - barrier.pending
        return f"{line}: {awaited}, has had {has} and gets {number} more of {me.name}: its phases end too early."

    @contextmanager
    def elect_one(self) -> Any:
        me = self.me
        outer, me.elected = me.elected, True
        try:
            yield
        finally:
            me.elected = outer

    def sync_threads(self) -> None:
        """The block's barrier: everybody knows what anybody knew."""
        me = self.me
        number = self.barriers
        self.at_barrier.append(me)
        me.waits_for = f"{calling_line()}: {me.name} waits at the barrier for all threads of the block"
        if len(self.at_barrier) == len(self.warps):
            known = set().union(*(warps.knows for warps in self.warps))
            for warps in self.warps:
                warps.knows |= known
            self.at_barrier.clear()
            self.barriers += 1
            self.changes += 1
        self.order(lambda: self.barriers > number)

    # The end ----------------------------------------------------------------------------------------------------

    def explain_deadlock(self) -> None:
        """Raises Hazard: who waits for what, and what would complete it."""
        lines = []
        for warps in self.warps:
            if not warps.done:
                lines.append(warps.waits_for + self.what_it_lacks(warps))
        raise Hazard("it waits for ever. " + " ".join(f"{line[0].upper()}{line[1:]}." for line in lines))

    def what_it_lacks(self, warps: Warps) -> str:
        for barrier in (*self.full, *self.empty):
            if warps.waits_for.endswith((f" of {barrier.name}", f" of {barrier.name} complete")):
                ends = "" if barrier.complete < 2 else f" (phases have been complete {barrier.complete} times)"
                return f", which lacks {barrier.lacks()}{ends}"
        return ""

    def finish(self) -> None:
        """Raises Hazard where a part of the product is missing, or not there yet."""
        for warps in self.warps:
            if warps.group is None:
                continue
            if left := warps.issued[warps.retired :]:
                committed = warps.groups[-1] if warps.groups else 0
                why = "wait_group(0) is missing" if len(warps.issued) <= committed else "no commit_group() covers them"
                raise Hazard(
                    f"{left[0].line}: the loop ends while the wgmmas of K tile {left[0].load.k_tile} may be "
                    f"under way: {why}."
                )
            seen = {multiplication.load.k_tile for multiplication in warps.issued}
            if missing := sorted(set(range(self.k_tiles)) - seen):
                raise Hazard(
                    f"K tile {missing[0]} is never multiplied by {warps.name}; "
                    f"{count(self.k_tiles, 'tile')} are to be summed."
                )

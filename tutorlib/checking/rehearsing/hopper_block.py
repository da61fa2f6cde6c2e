"""A thread block without data: stages, their mbarriers, TMA loads and the warpgroups that multiply.

Every order is judged by what the warps that give it can know, not by what happened to be the case: they know that a
tile has landed, or that a warpgroup has read it, where they waited for a phase of an mbarrier that this had to precede.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tutorlib.checking.rehearsing import hazard_messages
from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.participants import (
    Load,
    Multiplication,
    Release,
    Situation,
    Warps,
    has_read,
    landed,
    who,
)
from tutorlib.checking.rehearsing.plain_python import CallSite, Hazard, calling_line
from tutorlib.checking.rehearsing.rehearsal import Landing, Order, Play
from tutorlib.problems.wrong import count


@dataclass(eq=False)
class Block(Situation, Play):
    """What the loops' orders do. The patched functions of the DSL and the steps' methods end here.

    landing: of loads: when nobody can go on without, as soon as they are sent, or now and then, as `some` says.
    idle: for each K tile and those who multiply it, the fewest stages that lay idle meanwhile.
    alone: K tiles whose wgmma was issued when all before it were over.
    """

    choose: Order
    landing: Landing = "late"
    some: Callable[[], bool] = lambda: False
    idle: dict[tuple[int, str], int] = field(default_factory=dict)
    alone: set[int] = field(default_factory=set)
    at_barrier: list[Warps] = field(default_factory=list)
    barriers: int = 0
    changes: int = 0
    fruitless: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.begin()

    def number(self, stage: Any, line: CallSite, order: str) -> int:
        if not 0 <= int(stage) < self.stages:
            raise Hazard(f"{line}: {order}: of {self.stages} stages, 0 to {self.stages - 1} exist.")
        return int(stage)

    # Loads ------------------------------------------------------------------------------------------------------

    def load(self, k_tile: Any, stage: Any) -> None:
        me, line = self.order()
        tile, at = int(k_tile), self.number(stage, line, f"load({k_tile}, {stage})")
        self.check_loader(line)
        if me.elected:
            raise Hazard(f"{line}: a TMA copy elects its thread itself; inside elect_one() it can wait for ever.")
        if not 0 <= tile < self.k_tiles:
            raise Hazard(
                f"{line}: load({tile}, {at}): of {count(self.k_tiles, 'K tile')}, 0 to {self.k_tiles - 1} exist."
            )
        if twice := [load for loads in self.sent for load in loads if load.k_tile == tile]:
            raise Hazard(f"{line}: K tile {tile} is loaded twice, into stage {twice[0].stage} and stage {at}.")
        self.check_free(line, at, f"K tile {tile} overwrites")
        load = Load(tile, at, len(self.sent[at]))
        self.sent[at].append(load)
        self.flying.append(load)
        self.changes += 1
        while self.landing == "early" and self.let_land():
            pass

    def let_land(self) -> bool:
        """The next part of the load that is longest under way. False where none is."""
        if not self.flying:
            return False
        load = self.flying[0]
        part = load.landed
        load.landed += 1
        if load.landed == len(self.parts):
            self.flying.remove(load)
        self.full[load.stage].land(self.parts[part], landed(load, part))
        self.changes += 1
        return True

    def check_loader(self, line: CallSite) -> None:
        if not self.me.loads:
            raise Hazard(f"{line}: {who([self.me], 'load')}, too; only the warp with steps.loads_too may.")

    def check_free(self, line: CallSite, stage: int, overwrites: str) -> None:
        """Everybody has read what lies in a stage, and the running warps know."""
        if not self.sent[stage]:
            return
        old = self.sent[stage][-1]
        for group in self.done:
            if has_read(group, old) not in self.me.knows:
                raise Hazard(hazard_messages.why_not_free(self, self.me, line, overwrites, old, group))

    # Multiplications --------------------------------------------------------------------------------------------

    def fence(self) -> None:
        me, _ = self.order()
        me.fenced = True

    def multiply(self, stage: Any, first: Any) -> None:
        me, line = self.order()
        at = self.number(stage, line, f"multiply({stage}, {first})")
        if me.group is None:
            raise Hazard(f"{line}: {me.name} has no sums: it loads, and others multiply.")
        if me.elected:
            raise Hazard(f"{line}: wgmma needs all threads of a warpgroup; inside elect_one() there is one of a warp.")
        if not me.fenced:
            raise Hazard(
                f"{line}: no warpgroup.fence() before the first wgmma, to order it after what wrote its registers."
            )
        if not self.sent[at] or any(landed(self.sent[at][-1], part) not in me.knows for part in range(len(self.parts))):
            raise Hazard(hazard_messages.why_not_there(self, me, line, at))
        load = self.sent[at][-1]
        if me.has_multiplied(load):
            raise Hazard(hazard_messages.why_twice(me, line, load))
        if bool(first) != (not me.issued):
            raise Hazard(hazard_messages.why_not_first(me, line, load))
        if me.issued and me.retired == len(me.issued):
            self.alone.add(load.k_tile)
        me.issued.append(Multiplication(load, bool(first), line))
        self.check_together(line)
        self.changes += 1
        self.measure(load)

    def check_together(self, line: CallSite) -> None:
        """The warps of a warpgroup issue the same wgmmas."""
        me = self.me
        number, mine = len(me.issued) - 1, me.issued[-1].load
        for other in self.warps:
            if other.group == me.group and len(other.issued) > number and other.issued[number].load is not mine:
                raise Hazard(
                    f"{line}: a wgmma of K tile {mine.k_tile} of {me.name}, where {other.name} had one of K tile "
                    f"{other.issued[number].load.k_tile}: all warps of a warpgroup must issue the same."
                )

    def commit(self) -> None:
        me, _ = self.order()
        me.groups.append(len(me.issued))

    def retire(self, pending: Any) -> None:
        """wait_group: all but the newest `pending` groups are over, once the whole warpgroup has issued them."""
        me = self.me
        groups = me.groups[: max(0, len(me.groups) - int(pending))]
        until = max(me.retired, groups[-1] if groups else 0)
        if until > me.retired:
            self.measure(me.issued[until - 1].load)
        others = [other for other in self.warps if other.group == me.group and other is not me]
        me.held_up = calling_line(), "wgmmas that the other warps of the warpgroup have not issued", ""
        self.order(lambda: all(len(other.issued) >= until for other in others))
        if me.group is not None:
            me.knows |= {has_read(me.group, multiplication.load) for multiplication in me.issued[me.retired : until]}
            self.done[me.group] = max(self.done[me.group], until)
        me.retired = until
        self.changes += 1

    def measure(self, load: Load) -> None:
        """How many stages lie idle while a K tile is multiplied."""
        sent, over = sum(map(len, self.sent)), min(self.done.values())
        idle = min(self.stages, self.k_tiles - over) - (sent - over)
        key = load.k_tile, self.me.name
        self.idle[key] = min(idle, self.idle.get(key, idle))

    # Barriers ---------------------------------------------------------------------------------------------------

    def arrive(self, barrier: MBarrier, times: Any = 1, expected: Any = None) -> None:
        """One thread after the other. expected: bytes for each, or None."""
        me, line = self.order()
        if expected is not None:
            self.check_loader(line)
        if not me.elected and me.lanes > barrier.awaited:
            raise Hazard(hazard_messages.why_not_all_lanes(me, line, barrier))
        if barrier in self.full and not me.loads:
            raise Hazard(f"{line}: {who([me], 'arrive')} at {barrier.name}, which is for loads: `empty` frees a stage.")
        if barrier in self.empty:
            loads = self.sent[self.empty.index(barrier)]
            reading = loads[-1] if loads and me.is_reading(loads[-1]) else None
            me.releases[barrier.name] = Release(line, reading)
        for _ in range(me.lanes):
            if int(times) > barrier.pending:
                if barrier in self.full:
                    self.check_free(line, self.full.index(barrier), "the next load would overwrite")
                raise Hazard(
                    f"{line}: {me.name} arrives too often at {barrier.name}, whose phase lacks {barrier.lacks()}."
                )
            barrier.expect(int(expected or 0))
            barrier.arrive(me.name, int(times), me.knows, line)
        self.changes += 1

    def expect(self, barrier: MBarrier, number: Any) -> None:
        me, line = self.order()
        self.check_loader(line)
        barrier.expect(me.lanes * int(number))
        self.changes += 1

    def sync_threads(self) -> None:
        """The block's barrier: everybody knows what anybody knew."""
        me, number = self.me, self.barriers
        self.at_barrier.append(me)
        me.held_up = calling_line(), "all threads of the block, at a barrier", ""
        if len(self.at_barrier) == len(self.warps):
            known = set().union(*(warps.knows for warps in self.warps))
            for warps in self.warps:
                warps.knows |= known
            self.at_barrier.clear()
            self.barriers += 1
            self.changes += 1
        self.order(lambda: self.barriers > number)

    # The end ----------------------------------------------------------------------------------------------------

    def give_up(self) -> None:
        """Nobody can go on."""
        raise Hazard(hazard_messages.deadlock(self))

    def finish(self) -> None:
        """Raises Hazard where a part of the product is missing, or not there yet."""
        if unfinished := hazard_messages.unfinished(self):
            raise Hazard(unfinished)

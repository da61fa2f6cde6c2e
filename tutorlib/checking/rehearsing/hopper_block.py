"""Hopper's main loops over mbarriers, rehearsed: TMA loads, and wgmmas in groups that each warpgroup waits for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tutorlib.checking.rehearsing import hopper_messages as messages
from tutorlib.checking.rehearsing.barrier_calls import BarrierPointer
from tutorlib.checking.rehearsing.call_site import CallSite, calling_line, existing
from tutorlib.checking.rehearsing.hazard_messages import who
from tutorlib.checking.rehearsing.hopper_warps import HopperScene, Multiplication, Release, WarpgroupWarps, has_read
from tutorlib.checking.rehearsing.instruction_sets import HOPPER
from tutorlib.checking.rehearsing.interleavings import interleavings
from tutorlib.checking.rehearsing.machine import HeldUp, Load, RehearsedSteps
from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.unsafe import LoopFlaw, Unsafe
from tutorlib.failure import Flaw
from tutorlib.problems.wrong import count


def one_function(main_loop: Callable[..., None]) -> tuple[WarpgroupWarps, ...]:
    """Two warpgroups that multiply; the first one's first warp also loads."""
    return (
        WarpgroupWarps(main_loop, "warp 0 of warpgroup 0", 0, 1, group=0, loads=True),
        WarpgroupWarps(main_loop, "warps 1 to 3 of warpgroup 0", 1, 3, first=1, group=0),
        WarpgroupWarps(main_loop, "warpgroup 1", 2, 4, first=4, group=1),
    )


def specialized(produce: Callable[..., None], consume: Callable[..., None]) -> tuple[WarpgroupWarps, ...]:
    """A warp that loads, two warpgroups that multiply."""
    return (
        WarpgroupWarps(produce, "the producer", 0, first=8, loads=True),
        WarpgroupWarps(consume, "warpgroup 0", 1, 4, group=0),
        WarpgroupWarps(consume, "warpgroup 1", 2, 4, first=4, group=1),
    )


def rehearse_roles(roles: Sequence[WarpgroupWarps], k_tiles: int, stages: int, grouped: bool = False) -> "HopperBlock":
    """Run loops side by side in many interleavings. Returns the block of the first one, in which the producer leads.

    grouped: whether `multiply` fences and commits by itself.
    Raises Unsafe, and what the loops themselves raise.
    """
    blocks = [
        HopperBlock(
            warps=[replace(warps) for warps in roles],
            interleaving=interleaving,
            k_tiles=k_tiles,
            stages=stages,
            grouped=grouped,
        ).run()
        for interleaving in interleavings([warps.role for warps in roles])
    ]
    return blocks[0]


def hopper_steps(block: Any, loads_too: bool) -> RehearsedSteps:
    """The attributes of a Hopper kernel's Steps, on a block."""
    return RehearsedSteps(
        k_tiles=block.k_tiles,
        stages=block.stages,
        stage_bytes=block.stage_bytes,
        consumers=block.consumers,
        loads_too=loads_too,
        load=block.load,
        multiply=block.multiply,
        **block.pointers(of=" stages" if block.stages > 1 else " stage"),
    )


@dataclass(eq=False, kw_only=True)
class HopperBlock(HopperScene):
    """A thread block, its stages and the warpgroups that multiply.

    idle: for each K tile and the warps that multiply it, the fewest stages idle meanwhile.
    alone: K tiles whose wgmma was issued when all before it were over.
    needless: waits for `empty` of warps that do not load.
    grouped: as in `rehearse_roles`.
    """

    instruction_set = HOPPER

    grouped: bool = False
    idle: dict[tuple[int, str], int] = field(default_factory=dict, init=False)
    alone: set[int] = field(default_factory=set, init=False)
    needless: set[CallSite] = field(default_factory=set, init=False)

    def steps(self, warps: WarpgroupWarps) -> RehearsedSteps:
        steps = hopper_steps(self, warps.loads)
        if self.grouped:
            steps.multiply = self.multiply_group
        return steps

    def number(self, stage: Any, said: str) -> int:
        return existing(stage, self.stages, said, count(self.stages, "stage"))

    # Loads ------------------------------------------------------------------------------------------------------

    def load(self, k_tile: Any, stage: Any) -> None:
        me, line = self.issue()
        tile, at = int(k_tile), self.number(stage, f"{line}: load({k_tile}, {stage})")
        self.check_announcement(me, line)
        self.refuse_elected(me, line)
        existing(tile, self.k_tiles, f"{line}: load({tile}, {at})", count(self.k_tiles, "K tile"))
        if twice := [load for load in self.loads() if load.k_tile == tile]:
            raise Unsafe(
                f"{line}: K tile {tile} is loaded twice, into stage {twice[0].stage} and stage {at}.",
                LoopFlaw.LOADED_TWICE,
            )
        self.check_free(line, at, f"K tile {tile} overwrites")
        self.send(Load(tile, at, len(self.sent[0][at])))

    def check_announcement(self, me: WarpgroupWarps, line: CallSite) -> None:
        if not me.loads:
            raise Unsafe(
                f"{line}: {who([me.name], 'load')}, too; only the warp with steps.loads_too may.", LoopFlaw.ROLE
            )

    def check_free(self, line: CallSite, stage: int, overwrites: str) -> None:
        """Raises Unsafe unless all warpgroups have read the stage, and the running warps know that."""
        if old := self.newest(stage):
            for group in self.done:
                if has_read(group, old) not in self.me.knows:
                    raise Unsafe(messages.why_not_free(self, self.me, line, overwrites, old, group))

    # Multiplications --------------------------------------------------------------------------------------------

    def fence(self) -> None:
        me, _ = self.issue()
        me.fenced = True

    def multiply(self, stage: Any, first: Any) -> None:
        me, line = self.issue()
        at = self.number(stage, f"{line}: multiply({stage}, {first})")
        if me.group is None:
            raise Unsafe(f"{line}: {me.name} has no accumulators: a producer only loads.", LoopFlaw.ROLE)
        if me.elected:
            what = f"{line}: wgmma needs all threads of a warpgroup; inside elect_one() there is one of a warp."
            raise Unsafe(what, LoopFlaw.ELECTED)
        if not me.fenced:
            raise Unsafe(
                f"{line}: no warpgroup.fence() before the first wgmma, to order it after what wrote its registers.",
                LoopFlaw.FENCE,
            )
        load = self.newest(at)
        if load is None or not self.has_landed(load):
            raise Unsafe(messages.why_not_there(self, me, line, at, load))
        if me.has_multiplied(load):
            raise Unsafe(messages.why_twice(me, line, load))
        if bool(first) != (not me.issued):
            raise Unsafe(messages.why_not_first(me, line, load))
        if me.issued and me.retired == len(me.issued):
            self.alone.add(load.k_tile)
        me.issued.append(Multiplication(load, line))
        self.check_together(me, line)
        self.changes += 1
        self.measure(load)

    def multiply_group(self, stage: Any, first: Any) -> None:
        self.fence()
        self.multiply(stage, first)
        self.commit()

    def check_together(self, me: WarpgroupWarps, line: CallSite) -> None:
        """The warps of a warpgroup issue the same wgmmas."""
        number, mine = len(me.issued) - 1, me.issued[-1].load
        for other in self.warps:
            if other.group == me.group and len(other.issued) > number and other.issued[number].load is not mine:
                raise Unsafe(
                    f"{line}: a wgmma of K tile {mine.k_tile} of {me.name}, where {other.name} had one of K tile "
                    f"{other.issued[number].load.k_tile}: all warps of a warpgroup must issue the same."
                )

    def commit(self) -> None:
        me, _ = self.issue()
        me.groups.append(len(me.issued))

    def retire(self, group: Any) -> None:
        """wait_group: all but the newest `group` groups are over, once the whole warpgroup has issued them."""
        me = self.me
        groups = me.groups[: max(0, len(me.groups) - int(group))]
        until = max(me.retired, groups[-1] if groups else 0)
        if until > me.retired:
            self.measure(me.issued[until - 1].load)
        others = [other for other in self.warps if other.group == me.group and other is not me]
        me.held_up = HeldUp(calling_line(), "wgmmas that the other warps of the warpgroup have not issued")
        self.issue(lambda: all(len(other.issued) >= until for other in others))
        if me.group is not None:
            me.knows |= {has_read(me.group, multiplication.load) for multiplication in me.issued[me.retired : until]}
            self.done[me.group] = max(self.done[me.group], until)
        me.retired = until
        self.changes += 1

    def measure(self, load: Load) -> None:
        """How many stages are idle while a K tile is multiplied."""
        sent, over = len(self.loads()), min(self.done.values())
        idle = min(self.stages, self.k_tiles - over) - (sent - over)
        key = load.k_tile, self.me.name
        self.idle[key] = min(idle, self.idle.get(key, idle))

    # MBarriers --------------------------------------------------------------------------------------------------

    def end_wait(self, barrier: MBarrier, phase: Any, at_once: bool) -> None:
        super().end_wait(barrier, phase, at_once)
        if barrier.kind == "empty" and not self.me.loads:
            self.needless.add(calling_line())

    def mbarrier_arrive(self, mbar_ptr: Any, *where: Any, relaxed: Any = False, **hints: Any) -> None:
        if relaxed and mbar_ptr.here.kind == "empty":
            raise Unsafe(
                f"{calling_line()}: a relaxed arrival does not release what came before it: the stage may be "
                "overwritten while wgmmas still read it.",
                LoopFlaw.OVERWRITTEN(what="being read"),
            )
        super().mbarrier_arrive(mbar_ptr, *where, **hints)

    def pointed_at(self, pointer: BarrierPointer, peer: Any) -> MBarrier:
        if peer is not None:
            raise ValueError("an arrival in another block of the cluster")
        return pointer.here

    def check_arrival(self, me: WarpgroupWarps, line: CallSite, barrier: MBarrier) -> None:
        self.refuse_all_lanes(me, line, barrier, f", {me.lanes} threads of {me.name}")
        if barrier.kind == "full" and not me.loads:
            raise Unsafe(
                f"{line}: {who([me.name], 'arrive')} at {barrier.name}, which is for loads: `empty` frees a stage.",
                LoopFlaw.ROLE,
            )
        if barrier.kind == "empty":
            load = self.newest(barrier.at)
            me.releases[barrier.name] = Release(line, load if load and me.is_reading(load) else None)

    def too_many_arrivals(self, me: WarpgroupWarps, line: CallSite, barrier: MBarrier) -> str:
        if barrier.kind == "full":
            self.check_free(line, barrier.at, "the next load would overwrite")
        what = f"{line}: {me.name} arrives too often at {barrier.name}, whose phase lacks {barrier.lacks()}."
        return Flaw(what, LoopFlaw.TOO_OFTEN(barrier=barrier.kind))

    # The end ----------------------------------------------------------------------------------------------------

    def give_up(self) -> None:
        raise Unsafe(messages.deadlock_of_block(self))

    def finish(self) -> None:
        if unfinished := messages.unfinished(self):
            raise Unsafe(unfinished)

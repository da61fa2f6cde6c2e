"""The machine on which the Blackwell kernel's loops are rehearsed: TMA, tensor cores and tensor memory without data.

An order is judged by what those who give it can know, as in `hopper_block`: that bytes have landed, that
multiplications are over, that sums have been taken out, they know where they waited for a phase of an mbarrier that
this had to precede.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tutorlib.checking.rehearsing import blackwell_hazard_messages as messages
from tutorlib.checking.rehearsing.blackwell_participants import (
    Committed,
    RoleWarps,
    TileLoad,
    TileProduct,
    TileRole,
    TileScene,
    Use,
    arrived,
    over,
    taken,
)
from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.participants import LANES
from tutorlib.checking.rehearsing.plain_python import CallSite, Hazard, calling_line
from tutorlib.checking.rehearsing.rehearsal import Landing, Order, Play
from tutorlib.problems.wrong import count

PARTS = 2  # a load's: of A and of B
OWN_WORK: dict[TileRole, tuple[str, ...]] = {"produce": ("full",), "multiply": ("empty", "ready")}  # who waits is idle


@dataclass(eq=False)
class TensorBlock(TileScene, Play):
    """What the loops' orders do. The patched functions of the DSL and the steps' methods end here.

    last_first: whether, of what hardware has to do, commits go before loads that are older.
    sent_first: loads of block 0 before the first multiplication. begun_first: accumulators in use before the first
    sums were read. freed_late: whether an accumulator was freed after its last part was written. dawdled: where a role
    went on only after what it had ordered itself was over, or None.
    """

    choose: Order
    landing: Landing = "late"
    some: Callable[[], bool] = lambda: False
    last_first: bool = False
    changes: int = 0
    fruitless: int = 0
    sent_first: int = 0
    begun_first: int = 0
    freed_late: bool = False
    dawdled: CallSite | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.begin()

    def demand(self, role: TileRole, what: str, line: CallSite) -> None:
        if self.me.role != role:
            raise Hazard(f"{line}: {self.me.name} {what}, which is another role's.")

    def begin_wait(self, barrier: MBarrier, phase: Any) -> bool:
        if self.kind_of(barrier) in OWN_WORK.get(self.me.role, ()):
            self.me.waited_for_own = calling_line()
        return super().begin_wait(barrier, phase)

    def number(self, at: Any, most: int, line: CallSite, kind: str) -> int:
        if not 0 <= int(at) < most:
            raise Hazard(f"{line}: {kind} {int(at)}: of {most}, 0 to {most - 1} exist.")
        return int(at)

    # Loads ------------------------------------------------------------------------------------------------------

    def load(self, number: Any, k_tile: Any, stage: Any) -> None:
        me, line = self.order()
        self.demand("produce", "loads", line)
        at = self.number(stage, self.stages, line, "stage")
        tile, k = self.number(number, self.tiles, line, "tile"), self.number(k_tile, self.k_tiles, line, "K tile")
        if me.elected:
            raise Hazard(f"{line}: a TMA copy elects its thread itself; inside elect_one() it can wait for ever.")
        if any(load.number == tile and load.k_tile == k for loads in self.sent[me.block] for load in loads):
            raise Hazard(f"{line}: K tile {k} of tile {tile} is loaded twice.")
        before = self.sent[me.block][at]
        if before and (before[-1].read_by is None or over(before[-1].read_by) not in me.knows):
            raise Hazard(messages.overwritten_stage(self, me, line, before[-1], f"K tile {k} of tile {tile}"))
        self.dawdled = self.dawdled or me.waited_for_own
        load = TileLoad(me.block, tile, k, at, len(before))
        before.append(load)
        self.flying.append(load)
        self.changes += 1
        self.hurry()

    def hurry(self) -> None:
        while self.landing == "early" and self.let_land():
            pass

    def let_land(self) -> bool:
        if not self.flying:
            return False
        commits = [event for event in self.flying if isinstance(event, Committed)]
        event = commits[0] if commits and self.last_first else self.flying[0]
        if isinstance(event, Committed):
            self.flying.remove(event)
            for barrier in event.barriers:
                self.come(barrier, event)
        else:
            part = event.landed
            event.landed += 1
            if event.landed == PARTS:
                self.flying.remove(event)
            self.full[0][event.stage].land(self.part_bytes[part], arrived(event, part))  # a pair's are the leader's
        self.changes += 1
        return True

    def come(self, barrier: MBarrier, event: Committed) -> None:
        """A commit's arrival."""
        if not barrier.pending:
            raise Hazard(f"{event.line}: the commit arrives too often at {barrier.name}.")
        barrier.arrive("the tensor cores", 1, {over(product) for product in event.products}, event.line)

    # Multiplications --------------------------------------------------------------------------------------------

    def multiply(self, stage: Any, accumulator: Any, first: Any) -> None:
        me, line = self.order()
        self.demand("multiply", "multiplies", line)
        at = self.number(stage, self.stages, line, "stage")
        into = self.number(accumulator, self.accumulators, line, "accumulator")
        if me.block:
            raise Hazard(
                f"{line}: the MMA warp of block 1 issues, too. One thread of the pair's first block, which `leads`, "
                "multiplies for both."
            )
        if me.elected:
            raise Hazard(f"{line}: steps.multiply elects its thread itself; inside elect_one() it can wait for ever.")
        loads = [self.newest(block, at, me, line) for block in range(self.blocks)]
        use = self.use_for(into, bool(first), loads[0], me, line)
        self.dawdled = self.dawdled or me.waited_for_own
        product = TileProduct(loads[0].k_tile, use, line, loads)
        self.sent_first = self.sent_first or sum(map(len, self.sent[0]))
        for load in loads:
            load.read_by = product
        use.products.append(product)
        self.issued.append(product)
        self.changes += 1

    def newest(self, block: int, stage: int, me: RoleWarps, line: CallSite) -> TileLoad:
        """What was loaded last into a block's stage, if it is known to be there. Raises Hazard."""
        load = self.sent[block][stage][-1] if self.sent[block][stage] else None
        if load is None or any(arrived(load, part) not in me.knows for part in range(PARTS)):
            raise Hazard(messages.not_there(self, me, line, block, stage, load))
        if load.read_by:
            raise Hazard(messages.multiplied_twice(self, me, line, load))
        return load

    def use_for(self, accumulator: int, first: bool, load: TileLoad, me: RoleWarps, line: CallSite) -> Use:
        """The accumulator's use that this K tile is added to. Raises Hazard."""
        uses = self.uses[accumulator]
        now = uses[-1] if uses else None
        if not first:
            if now is None:
                raise Hazard(f"{line}: the first multiplication into accumulator {accumulator} needs `first`.")
            if now.number != load.number:
                raise Hazard(
                    f"{line}: K tile {load.k_tile} of tile {load.number} is added to the sums of tile {now.number}, in "
                    f"accumulator {accumulator}: the first K tile of each tile needs `first`."
                )
            return now
        if any(use.number == load.number for others in self.uses for use in others):
            raise Hazard(f"{line}: `first` at K tile {load.k_tile} of tile {load.number} forgets what was summed up.")
        if now:
            for warps in self.storing:
                for part in range(self.parts):
                    if taken(warps, now, part) not in me.knows:
                        raise Hazard(messages.overwritten_sums(self, me, line, now, warps, part, load.number))
        uses.append(Use(load.number, accumulator, len(uses)))
        return uses[-1]

    def commit(self, barriers: list[MBarrier], group: int) -> None:
        me, line = self.order()
        self.demand("multiply", "commits", line)
        if not me.elected:
            raise Hazard(
                f"{line}: all {LANES} lanes commit, and {barriers[0].name} gets {LANES} arrivals: inside elect_one()."
            )
        if group != self.blocks:
            raise Hazard(
                f"{line}: the multiplications are of {count(self.blocks, 'block')}, tcgen05.CtaGroup."
                f"{('ONE', 'TWO')[self.blocks - 1]}, and a commit of the other kind does not track them."
            )
        if me.block:
            raise Hazard(f"{line}: block 1 has issued nothing that it could commit.")
        self.flying.append(Committed(list(self.issued), barriers, line))
        self.changes += 1
        self.hurry()

    # Sums -------------------------------------------------------------------------------------------------------

    def read(self, accumulator: Any, part: Any) -> None:
        me, line = self.order()
        self.demand("store", "reads sums", line)
        at = self.number(accumulator, self.accumulators, line, "accumulator")
        which = self.number(part, self.parts, line, "part")
        if me.elected:
            raise Hazard(f"{line}: tcgen05.ld is for all lanes of a warp; inside elect_one() there is one.")
        use = self.uses[at][-1] if self.uses[at] else None
        if use is None or len(use.products) < self.k_tiles or any(over(each) not in me.knows for each in use.products):
            raise Hazard(messages.not_summed(self, me, line, at, use))
        if me.registers and (me.registers[0].number, me.registers[1]) not in me.stored:
            raise Hazard(f"{line}: the registers still hold {messages.part_of(*me.registers)}, which is not written.")
        me.registers, me.awaited, me.read_at = (use, which), False, line
        self.begun_first = self.begun_first or sum(map(len, self.uses))
        self.changes += 1

    def await_read(self) -> None:
        me, _ = self.order()
        if me.registers:
            me.awaited = True
            me.knows.add(taken(me, *me.registers))
            self.changes += 1

    def write(self, number: Any, part: Any) -> None:
        me, line = self.order()
        self.demand("store", "writes", line)
        tile, which = int(number), int(part)
        if me.elected:
            raise Hazard(f"{line}: steps.write is for all lanes of a warp; inside elect_one() there is one.")
        if me.registers is None:
            raise Hazard(f"{line}: nothing has been read that could be written.")
        if not me.awaited:
            raise Hazard(
                f"{line}: uses the registers of the tcgen05.ld at {me.read_at}, which may still be under way: "
                "fence_view_async_tmem_load() waits for it."
            )
        use, held = me.registers
        if (use.number, held) != (tile, which):
            raise Hazard(f"{line}: writes {messages.part_of(use, held)} as part {which} of tile {tile}.")
        if (tile, which) in me.stored:
            raise Hazard(f"{line}: {messages.part_of(use, held)} is written twice.")
        me.stored.add((tile, which))
        self.changes += 1

    # Barriers ---------------------------------------------------------------------------------------------------

    def arrive(self, barrier: MBarrier, times: Any = 1, expected: Any = None) -> None:
        """One thread after the other. expected: bytes for each, or None."""
        me, line = self.order()
        if not me.elected and me.lanes > barrier.awaited:
            raise Hazard(
                f"{line}: {barrier.name} awaits {count(barrier.awaited, 'arrival')} in a phase, and all {LANES} lanes "
                "of a warp arrive: inside elect_one() it is one of each warp."
            )
        kind = self.kind_of(barrier)
        if kind in ("full", "free"):
            self.demand("produce" if kind == "full" else "store", f"arrives at {barrier.name}", line)
        if kind == "free":
            at = self.at(barrier)
            use = self.uses[at][-1] if self.uses[at] else None
            me.freed[at] = use, line
            self.freed_late |= use is not None and {(use.number, part) for part in range(self.parts)} <= me.stored
        elif kind == "full" and self.blocks > 1 and barrier not in self.full[0]:
            raise Hazard(
                f"{line}: announces bytes at {barrier.name}, where none arrive: in a pair both blocks' bytes count "
                "for the leader's, and it alone announces them."
            )
        elif kind in ("empty", "ready"):
            raise Hazard(
                f"{line}: {me.name} arrives at {barrier.name} at once; it is for tcgen05.commit, which arrives when "
                "the multiplications are over."
            )
        for _ in range(me.lanes):
            if int(times) > barrier.pending:
                self.explain_arrival(barrier, me, line)
                raise Hazard(f"{line}: {me.name} arrives too often at {barrier.name}, which lacks {barrier.lacks()}.")
            barrier.expect(int(expected or 0))
            barrier.arrive(me.name, int(times), me.knows, line)
        self.changes += 1

    def explain_arrival(self, barrier: MBarrier, me: RoleWarps, line: CallSite) -> None:
        """Raises Hazard where an announcement too many comes from a stage that is not free."""
        if self.kind_of(barrier) == "full":
            loads = self.sent[me.block][self.at(barrier)]
            if loads and (loads[-1].read_by is None or over(loads[-1].read_by) not in me.knows):
                raise Hazard(messages.overwritten_stage(self, me, line, loads[-1], "the next load"))

    def expect(self, barrier: MBarrier, number: Any) -> None:
        me, _ = self.order()
        barrier.expect(me.lanes * int(number))
        self.changes += 1

    def kind_of(self, barrier: MBarrier) -> str:
        return barrier.name.split("[")[0]

    def at(self, barrier: MBarrier) -> int:
        return int(barrier.name.split("[")[1].split("]")[0])

    # The end ----------------------------------------------------------------------------------------------------

    def give_up(self) -> None:
        raise Hazard(messages.stuck_tiles(self))

    def finish(self) -> None:
        """Raises Hazard where a part of the product is missing."""
        while self.let_land():
            pass
        for tile in range(self.tiles):
            for k in range(self.k_tiles):
                if not any(each.use.number == tile and each.k_tile == k for each in self.issued):
                    raise Hazard(f"K tile {k} of tile {tile} is never multiplied.")
            for warps in self.storing:
                for part in range(self.parts):
                    if (tile, part) not in warps.stored:
                        raise Hazard(f"part {part} of tile {tile} is never written by {warps.name}.")

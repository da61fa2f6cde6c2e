"""The Blackwell kernel's three loops, rehearsed: TMA, tensor cores whose commits arrive at mbarriers, tensor memory."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tutorlib.checking.rehearsing.barrier_calls import BarrierPointer
from tutorlib.checking.rehearsing.call_site import CallSite, calling_line, existing
from tutorlib.checking.rehearsing.instruction_sets import BLACKWELL
from tutorlib.checking.rehearsing.interleavings import interleavings
from tutorlib.checking.rehearsing.machine import LANES, Load, RehearsedSteps
from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.unsafe import LoopFlaw, Unsafe
from tutorlib.exercises.n15_blackwell_gemm.judge import blackwell_messages as messages
from tutorlib.exercises.n15_blackwell_gemm.judge.blackwell_warps import (
    STORERS,
    BlackwellScene,
    Commit,
    RoleWarps,
    TileProduct,
    TileRole,
    Use,
    over,
    taken,
)
from tutorlib.failure import Flaw
from tutorlib.problems.wrong import count

ROLES: tuple[TileRole, ...] = ("produce", "multiply", "store")
OWN_WORK: dict[TileRole, tuple[str, ...]] = {
    "produce": ("full",),
    "multiply": ("empty", "ready"),
}  # a role that waits for these is idle
Loop = Callable[..., None]


@dataclass(frozen=True)
class Extent:
    """How much is rehearsed. parts: of each accumulator. first: the rank of the first block in its cluster."""

    tiles: int
    k_tiles: int
    stages: int
    accumulators: int
    parts: int
    blocks: int = 1
    first: int = 0

    def in_words(self) -> str:
        """ "2 tiles of 3 K tiles, 2 stages, 1 accumulator of 4 parts"."""
        acc = f"{count(self.accumulators, 'accumulator')} of {count(self.parts, 'part')}"
        place = f", blocks {self.first} and {self.first + 1} of a cluster" if self.first else ""
        tiles = f"{count(self.tiles, 'tile')} of {count(self.k_tiles, 'K tile')}"
        return f"{tiles}, {count(self.stages, 'stage')}, {acc}{place}"


def rehearse_tiles(loops: dict[TileRole, Loop], size: Extent) -> list["BlackwellBlock"]:
    """Run the loops side by side in many orders. Returns the block after each.

    Raises Unsafe, and what the loops themselves raise.
    """
    return [
        BlackwellBlock(warps=warps_of(loops, size.blocks), interleaving=interleaving, **vars(size)).run()
        for interleaving in interleavings(ROLES, has_commits=True)
    ]


def warps_of(loops: dict[TileRole, Loop], blocks: int) -> list[RoleWarps]:
    """In each block a warp that loads, one that multiplies, and four that store, in two groups."""
    players: list[tuple[TileRole, str, int, int]] = [  # with the first warp's number, and how many they are
        ("produce", "the TMA warp", 5, 1),
        ("multiply", "the MMA warp", 4, 1),
        ("store", "epilogue warp 0", 0, 1),
        ("store", "epilogue warps 1 to 3", 1, STORERS - 1),
    ]
    return [
        RoleWarps(loops[role], name + (f" of block {block}" if blocks > 1 else ""), role, warps, block, first)
        for block in range(blocks)
        for role, name, first, warps in players
    ]


@dataclass(eq=False, kw_only=True)
class BlackwellBlock(BlackwellScene):
    """One block, or a pair.

    first: the rank of block 0 in the cluster. sent_first: loads of block 0 before the first multiplication.
    begun_first: accumulators in use before the first accumulators were read. freed_late: whether an accumulator was
    freed after its last part was written. The others are places, or None: dawdled: where a role waited for the
    completion of its own work before it went on; committed_late: where a commit to a stage came after another stage's
    multiplication; in_vain: where a block arrived at a `free` that no warp waits for.
    """

    instruction_set = BLACKWELL

    first: int = 0
    sent_first: int = field(default=0, init=False)
    begun_first: int = field(default=0, init=False)
    freed_late: bool = field(default=False, init=False)
    committed_late: CallSite | None = field(default=None, init=False)
    in_vain: CallSite | None = field(default=None, init=False)
    dawdled: CallSite | None = field(default=None, init=False)

    @property
    def most_unrolled(self) -> int:
        return max(super().most_unrolled, self.parts, self.accumulators)

    def steps(self, warps: RoleWarps) -> RehearsedSteps:
        """The attributes of the kernel's TileSteps."""
        all_blocks = ((1 << self.blocks) - 1) << self.first
        return RehearsedSteps(
            config=RehearsedSteps(
                pair=self.blocks > 1,
                stages=self.stages,
                accumulators=self.accumulators,
                width=self.blocks,
                blocks=self.blocks,
            ),
            tiles=self.tiles,
            k_tiles=self.k_tiles,
            stages=self.stages,
            accumulators=self.accumulators,
            parts=self.parts,
            stage_bytes=self.stage_bytes,
            leads=warps.block == 0,
            leader=self.first,
            both=all_blocks,
            whole_cluster=all_blocks,
            load=self.load,
            multiply=self.multiply,
            read=self.read,
            write=self.write,
            **self.pointers(warps.block),
        )

    def demand(self, role: TileRole, what: str, line: CallSite) -> None:
        if self.me.role != role:
            raise Unsafe(f"{line}: {self.me.name} {what}, which is another role's.", LoopFlaw.ROLE)

    def begin_wait(self, barrier: MBarrier, phase: Any) -> bool:
        if barrier.kind in OWN_WORK.get(self.me.role, ()):
            self.me.waited_for_own = calling_line()
        return super().begin_wait(barrier, phase)

    def number(self, at: Any, most: int, line: CallSite, kind: str) -> int:
        return existing(at, most, f"{line}: {kind} {int(at)}")

    # Loads ------------------------------------------------------------------------------------------------------

    def load(self, number: Any, k_tile: Any, stage: Any) -> None:
        me, line = self.issue()
        self.demand("produce", "loads", line)
        at = self.number(stage, self.stages, line, "stage")
        tile, k = self.number(number, self.tiles, line, "tile"), self.number(k_tile, self.k_tiles, line, "K tile")
        self.refuse_elected(me, line)
        if any(load.tile == tile and load.k_tile == k for load in self.loads(me.block)):
            raise Unsafe(f"{line}: K tile {k} of tile {tile} is loaded twice.", LoopFlaw.LOADED_TWICE)
        self.check_free(me, line, at, f"K tile {k} of tile {tile}")
        self.dawdled = self.dawdled or me.waited_for_own
        self.send(Load(k, at, len(self.sent[me.block][at]), me.block, tile))

    def check_free(self, me: RoleWarps, line: CallSite, stage: int, new: str) -> None:
        """The tensor cores have read a stage, and the running warps know."""
        old = self.newest(stage, me.block)
        if old and (old.read_by is None or over(old.read_by) not in me.knows):
            raise Unsafe(messages.overwritten_stage(self, me, line, old, new))

    # Multiplications --------------------------------------------------------------------------------------------

    def multiply(self, stage: Any, accumulator: Any, first: Any) -> None:
        me, line = self.issue()
        self.demand("multiply", "multiplies", line)
        at = self.number(stage, self.stages, line, "stage")
        into = self.number(accumulator, self.accumulators, line, "accumulator")
        if me.block:
            raise Unsafe(
                f"{line}: the MMA warp of block 1 issues, too. One thread of the pair's leading "
                "block multiplies for both.",
                LoopFlaw.LEADER,
            )
        self.refuse_elected(me, line, "steps.multiply")
        loads = [self.landed_in(block, at, me, line) for block in range(self.blocks)]
        use = self.use_for(into, bool(first), loads[0], me, line)
        self.dawdled = self.dawdled or me.waited_for_own
        product = TileProduct(loads[0].k_tile, use, line, loads)
        self.sent_first = self.sent_first or len(self.loads())
        for load in loads:
            load.read_by = product
        use.products.append(product)
        self.issued.append(product)
        self.changes += 1

    def landed_in(self, block: int, stage: int, me: RoleWarps, line: CallSite) -> Load:
        """What was loaded last into a block's stage, if it is known to be there. Raises Unsafe."""
        load = self.newest(stage, block)
        if load is None or not self.has_landed(load):
            raise Unsafe(messages.not_there(self, me, line, block, stage, load))
        if load.read_by:
            raise Unsafe(messages.multiplied_twice(self, me, line, load))
        return load

    def use_for(self, accumulator: int, first: bool, load: Load, me: RoleWarps, line: CallSite) -> Use:
        """The accumulator's use that this K tile is added to. Raises Unsafe."""
        uses = self.uses[accumulator]
        now = uses[-1] if uses else None
        if not first:
            if now is None:
                what = f"{line}: the first multiplication into accumulator {accumulator} needs `first`."
                raise Unsafe(what, LoopFlaw.FIRST(given="never"))
            if now.tile != load.tile:
                raise Unsafe(
                    f"{line}: K tile {load.k_tile} of tile {load.tile} is added to tile {now.tile}'s accumulators, in "
                    f"accumulator {accumulator}: the first K tile of each tile needs `first`.",
                    LoopFlaw.FIRST(given="never"),
                )
            return now
        if any(use.tile == load.tile for others in self.uses for use in others):
            what = f"{line}: `first` at K tile {load.k_tile} of tile {load.tile} overwrites the tile's earlier K tiles."
            raise Unsafe(what, LoopFlaw.FIRST(given="again"))
        if now:
            for warps in self.storing:
                for part in range(self.parts):
                    if taken(warps, now, part) not in me.knows:
                        raise Unsafe(messages.overwritten_acc(self, me, line, now, warps, part, load.tile))
        uses.append(Use(load.tile, accumulator, len(uses)))
        return uses[-1]

    def tcgen05_commit(self, mbar_ptr: BarrierPointer, mask: Any = None, cta_group: Any = None) -> None:
        """mask: the blocks whose mbarriers it arrives at; None: one's own."""
        from cutlass.cute.nvgpu.tcgen05 import CtaGroup

        ranks = [self.first + mbar_ptr.block] if mask is None else [at for at in range(16) if int(mask) >> at & 1]
        blocks = [self.block_of(rank, "the mask", "steps.both") for rank in ranks]
        self.commit([mbar_ptr.in_block(block) for block in blocks], 2 if cta_group == CtaGroup.TWO else 1)

    def pointed_at(self, pointer: BarrierPointer, peer: Any) -> MBarrier:
        return pointer.here if peer is None else pointer.in_block(self.block_of(int(peer), "it", "steps.leader"))

    def block_of(self, rank: int, it: str, right: str) -> int:
        """The number here of the block with this rank. Raises Unsafe for a block of another pair."""
        if rank - self.first in range(self.blocks):
            return rank - self.first
        here = " and ".join(str(self.first + block) for block in range(self.blocks))
        what = f"{calling_line()}: {it} names block {rank} of the cluster, and here the pair is blocks {here}: {right}."
        raise Unsafe(what, LoopFlaw.OUT_OF_RANGE)

    def commit(self, barriers: list[MBarrier], group: int) -> None:
        me, line = self.issue()
        self.demand("multiply", "commits", line)
        if not me.elected:
            what = (
                f"{line}: all {LANES} lanes commit, and {barriers[0].name} gets {LANES} arrivals: inside elect_one()."
            )
            raise Unsafe(what, LoopFlaw.ALL_LANES)
        if group != self.blocks:
            raise Unsafe(
                f"{line}: the multiplications are of {count(self.blocks, 'block')}, tcgen05.CtaGroup."
                f"{('ONE', 'TWO')[self.blocks - 1]}, and a commit of the other kind does not track them.",
                LoopFlaw.COMMIT,
            )
        if me.block:
            raise Unsafe(f"{line}: block 1 commits, and has issued nothing.")
        if barriers[0].kind == "empty" and self.issued and self.issued[-1].loads[0].stage != barriers[0].at:
            self.committed_late = self.committed_late or line
        self.begin(Commit(list(self.issued), barriers, line))

    # Accumulators -----------------------------------------------------------------------------------------------

    def read(self, accumulator: Any, part: Any) -> None:
        me, line = self.issue()
        self.demand("store", "reads accumulators", line)
        at = self.number(accumulator, self.accumulators, line, "accumulator")
        which = self.number(part, self.parts, line, "part")
        if me.elected:
            raise Unsafe(
                f"{line}: tcgen05.ld is for all lanes of a warp; inside elect_one() there is one.", LoopFlaw.ELECTED
            )
        use = self.uses[at][-1] if self.uses[at] else None
        if use is None or len(use.products) < self.k_tiles or any(over(each) not in me.knows for each in use.products):
            raise Unsafe(messages.not_summed(self, me, line, at, use))
        if me.registers and (me.registers[0].tile, me.registers[1]) not in me.stored:
            raise Unsafe(f"{line}: the registers still hold {messages.part_of(*me.registers)}, which is not written.")
        me.registers, me.awaited, me.read_at = (use, which), False, line
        self.begun_first = self.begun_first or sum(map(len, self.uses))
        self.changes += 1

    def await_read(self) -> None:
        me, _ = self.issue()
        if me.registers:
            me.awaited = True
            me.unfenced.add(taken(me, *me.registers))
            self.changes += 1

    def fence_before(self) -> None:
        me, _ = self.issue()
        me.knows |= me.unfenced
        me.unfenced.clear()
        self.changes += 1

    def write(self, number: Any, part: Any) -> None:
        me, line = self.issue()
        self.demand("store", "writes", line)
        tile, which = int(number), int(part)
        if me.elected:
            raise Unsafe(
                f"{line}: steps.write is for all lanes of a warp; inside elect_one() there is one.", LoopFlaw.ELECTED
            )
        if me.registers is None:
            raise Unsafe(f"{line}: writes, and nothing has been read.")
        if not me.awaited:
            raise Unsafe(
                f"{line}: uses the registers of the tcgen05.ld at {me.read_at}, which may still be in flight: "
                "fence_view_async_tmem_load() waits for it.",
                LoopFlaw.NOT_READ,
            )
        use, held = me.registers
        if (use.tile, held) != (tile, which):
            what = f"{line}: writes {messages.part_of(use, held)} as part {which} of tile {tile}."
            raise Unsafe(what, LoopFlaw.WRITTEN_AS(part=which, tile=tile))
        if (tile, which) in me.stored:
            raise Unsafe(f"{line}: {messages.part_of(use, held)} is written twice.")
        me.stored.add((tile, which))
        self.changes += 1

    # Barriers ---------------------------------------------------------------------------------------------------

    def check_arrival(self, me: RoleWarps, line: CallSite, barrier: MBarrier) -> None:
        self.refuse_all_lanes(me, line, barrier)
        match barrier.kind:
            case "full":
                self.demand("produce", f"arrives at {barrier.name}", line)
                if barrier.block:
                    raise Unsafe(
                        f"{line}: announces bytes at {barrier.name}, where none arrive: in a pair both blocks' bytes "
                        "count for the leader's, and it alone announces them.",
                        LoopFlaw.LEADER,
                    )
            case "free":
                self.demand("store", f"arrives at {barrier.name}", line)
                if me.unfenced:
                    raise Unsafe(
                        f"{line}: arrives at {barrier.name}, and nothing orders the tcgen05.ld at {me.read_at} before "
                        "it: fence_before() between its wait and the arrival.",
                        LoopFlaw.FENCE,
                    )
                if barrier.block:
                    self.in_vain = self.in_vain or line
                use = self.uses[barrier.at][-1] if self.uses[barrier.at] else None
                me.freed[barrier.at] = use, line
                self.freed_late |= use is not None and {(use.tile, part) for part in range(self.parts)} <= me.stored
            case _:
                raise Unsafe(
                    f"{line}: {me.name} arrives at {barrier.name} at once; it is for tcgen05.commit, which arrives "
                    "when the multiplications are over.",
                    LoopFlaw.AT_ONCE,
                )

    def too_many_arrivals(self, me: RoleWarps, line: CallSite, barrier: MBarrier) -> str:
        if barrier.kind == "full":
            self.check_free(me, line, barrier.at, "the next load")
        what = f"{line}: {me.name} arrives too often at {barrier.name}, which lacks {barrier.lacks()}."
        return Flaw(what, LoopFlaw.TOO_OFTEN(barrier=barrier.kind))

    # The end ----------------------------------------------------------------------------------------------------

    def give_up(self) -> None:
        raise Unsafe(messages.stuck_tiles(self))

    def finish(self) -> None:
        """Raises Unsafe where a part of the product is missing."""
        while self.let_land():
            pass
        for tile in range(self.tiles):
            for k in range(self.k_tiles):
                if not any(each.use.tile == tile and each.k_tile == k for each in self.issued):
                    raise Unsafe(f"K tile {k} of tile {tile} is never multiplied.", LoopFlaw.MISSING)
            for warps in self.storing:
                for part in range(self.parts):
                    if (tile, part) not in warps.stored:
                        what = f"part {part} of tile {tile} is never written by {warps.name}."
                        raise Unsafe(what, LoopFlaw.UNWRITTEN)

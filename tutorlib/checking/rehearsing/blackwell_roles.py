"""Rehearses the Blackwell kernel's three loops: runs them on the CPU, side by side, one warp being as late as another.

The functions are the reader's own, undecorated; `cute.arch`, `tcgen05` and `cutlass` are patched while they run.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Any

from tutorlib.checking.rehearsing.barrier_calls import mbarrier_calls
from tutorlib.checking.rehearsing.blackwell_block import TensorBlock
from tutorlib.checking.rehearsing.blackwell_participants import RoleWarps, TileRole
from tutorlib.checking.rehearsing.hopper_roles import now_and_then
from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.pipeline_state import call_helper
from tutorlib.checking.rehearsing.plain_python import Hazard, calling_line
from tutorlib.checking.rehearsing.rehearsal import Landing, Order
from tutorlib.dsl.cute.functions import calls_of_helpers
from tutorlib.dsl.cute.plain_python import as_written, instead_of, plain_loops
from tutorlib.dsl.cute.plain_state import PLAIN_STATE

THROWS = range(3)
OTHER_FENCES = {"fence_view_async_tmem_store": lambda: None}  # of tcgen05.st, which no role has
Loop = Callable[..., None]


@dataclass(frozen=True)
class Extent:
    """How much is rehearsed. parts: of each accumulator."""

    tiles: int
    k_tiles: int
    stages: int
    accumulators: int
    parts: int
    blocks: int = 1


@dataclass(frozen=True)
class RoleBarriers:
    """A pointer to one kind of mbarriers, here and in the other block. block: whose it points to."""

    everywhere: list[list[MBarrier]]
    block: int
    offset: int = 0

    def __add__(self, at: Any) -> "RoleBarriers":
        return RoleBarriers(self.everywhere, self.block, self.offset + int(at))

    def of(self, block: int) -> MBarrier:
        mine = self.everywhere[block]
        if not 0 <= self.offset < len(mine):
            name = mine[0].name.split("[")[0]
            raise Hazard(f"{calling_line()}: {name} + {self.offset}: of {len(mine)}, 0 to {len(mine) - 1} exist.")
        return mine[self.offset]

    @property
    def here(self) -> MBarrier:
        return self.of(self.block)


@dataclass(frozen=True)
class RehearsedConfig:
    """What loops ask of the kernel's configuration."""

    pair: bool
    stages: int
    accumulators: int

    @property
    def width(self) -> int:
        return 1 + self.pair

    blocks = width


@dataclass(frozen=True)
class RehearsedTiles:
    """What a loop gets in place of the kernel's TileSteps: the same attributes and methods, without data."""

    block: TensorBlock
    rank: int

    @property
    def config(self) -> RehearsedConfig:
        return RehearsedConfig(self.block.blocks > 1, self.block.stages, self.block.accumulators)

    @property
    def tiles(self) -> int:
        return self.block.tiles

    @property
    def k_tiles(self) -> int:
        return self.block.k_tiles

    @property
    def stages(self) -> int:
        return self.block.stages

    @property
    def accumulators(self) -> int:
        return self.block.accumulators

    @property
    def parts(self) -> int:
        return self.block.parts

    @property
    def stage_bytes(self) -> int:
        return self.block.stage_bytes

    @property
    def leads(self) -> bool:
        return self.rank == 0

    @property
    def leader(self) -> int:
        return 0

    @property
    def both(self) -> int:
        return (1 << self.block.blocks) - 1

    everyone = both

    @property
    def full(self) -> RoleBarriers:
        return RoleBarriers(self.block.full, self.rank)

    @property
    def empty(self) -> RoleBarriers:
        return RoleBarriers(self.block.empty, self.rank)

    @property
    def ready(self) -> RoleBarriers:
        return RoleBarriers(self.block.ready, self.rank)

    @property
    def free(self) -> RoleBarriers:
        return RoleBarriers(self.block.free, self.rank)

    def load(self, number: Any, k_tile: Any, stage: Any) -> None:
        self.block.load(number, k_tile, stage)

    def multiply(self, stage: Any, accumulator: Any, first: Any) -> None:
        self.block.multiply(stage, accumulator, first)

    def read(self, accumulator: Any, part: Any) -> None:
        self.block.read(accumulator, part)

    def write(self, number: Any, part: Any) -> None:
        self.block.write(number, part)


def tensor_stand_ins(block: TensorBlock, notes: list[str]) -> list[tuple[Any, dict[str, Any]]]:
    """What takes the place of the DSL's synchronisation, by module. notes: as in `hopper_roles.stand_ins`."""
    import cutlass
    from cutlass import cute
    from cutlass.cute.nvgpu import tcgen05
    from cutlass.pipeline import PipelineState

    def at_home(barrier: RoleBarriers, peer: Any) -> MBarrier:
        return barrier.here if peer is None else barrier.of(int(peer))

    def commit(mbar_ptr: RoleBarriers, mask: Any = None, cta_group: Any = tcgen05.CtaGroup.ONE) -> None:
        ranks = [mbar_ptr.block] if mask is None else [at for at in range(16) if int(mask) >> at & 1]
        if outside := [rank for rank in ranks if rank >= block.blocks]:
            raise Hazard(f"{calling_line()}: the mask names block {outside[0]}, and there is none.")
        block.commit([mbar_ptr.of(rank) for rank in ranks], 2 if cta_group == tcgen05.CtaGroup.TWO else 1)

    arch = {**mbarrier_calls(block, at_home), "fence_view_async_tmem_load": block.await_read, **OTHER_FENCES}
    return [
        (cute.arch, arch),
        (tcgen05, {"commit": commit}),
        (cutlass, plain_loops()),
        (PipelineState, PLAIN_STATE),
        calls_of_helpers(partial(call_helper, notes)),
    ]


def company(loops: dict[TileRole, Loop], blocks: int) -> list[RoleWarps]:
    """Who runs what: in each block a warp that loads, one that multiplies, and four that store, in two groups."""
    cast = []
    for block in range(blocks):
        of = f" of block {block}" if blocks > 1 else ""
        players: list[tuple[TileRole, str, int]] = [
            ("produce", f"the TMA warp{of}", 1),
            ("multiply", f"the MMA warp{of}", 1),
            ("store", f"epilogue warp 0{of}", 1),
            ("store", f"epilogue warps 1 to 3{of}", 3),
        ]
        cast += [
            RoleWarps(plays=lambda: None, role=role, block=block, name=name, warps=warps)
            for role, name, warps in players
        ]
    return cast


@dataclass(frozen=True)
class TensorInterleaving:
    """Who goes first, and when hardware does what it was told."""

    choose: Order
    landing: Landing
    some: Callable[[], bool] = lambda: False
    last_first: bool = False


def tensor_interleavings() -> list[TensorInterleaving]:
    """The first one is the producers first."""

    def by_rank(ranks: tuple[TileRole, ...], back: bool = False) -> Order:
        return partial(min, key=lambda warps: (ranks.index(warps.role), -warps.block if back else warps.block))

    names: tuple[TileRole, ...] = ("produce", "multiply", "store")
    roles = list(permutations(names))
    fixed = [TensorInterleaving(by_rank(rank), "late") for rank in roles]
    fixed += [TensorInterleaving(by_rank(rank, back=True), "late", last_first=True) for rank in (roles[0], roles[-1])]
    fixed += [TensorInterleaving(by_rank(rank), "early") for rank in (roles[0], roles[-1])]
    for seed in THROWS:
        dice = random.Random(seed)
        fixed.append(TensorInterleaving(dice.choice, "some", partial(now_and_then, dice), bool(seed % 2)))
    return fixed


def rehearse_tiles(loops: dict[TileRole, Loop], size: Extent) -> list[TensorBlock]:
    """Run the loops side by side in many orders. Returns what they made of each.

    Raises Hazard, and what the loops themselves raise.
    """
    return [rehearse_tiles_once(loops, size, order) for order in tensor_interleavings()]


def rehearse_tiles_once(loops: dict[TileRole, Loop], size: Extent, order: TensorInterleaving) -> TensorBlock:
    cast = company(loops, size.blocks)
    block = TensorBlock(
        size.tiles, size.k_tiles, size.stages, size.accumulators, size.parts, size.blocks, cast,
        order.choose, order.landing, order.some, order.last_first,
    )  # fmt: skip
    for warps in cast:
        warps.plays = partial(as_written(loops[warps.role]), RehearsedTiles(block, warps.block))
    notes: list[str] = []
    try:
        with instead_of(tensor_stand_ins(block, notes), *loops.values()):
            block.turns.play(cast)
        block.finish()
    except Hazard as hazard:
        raise Hazard("\n".join((str(hazard), *dict.fromkeys(notes)))) from None
    return block


def in_words(size: Extent, say: Callable[[int, str], str]) -> str:
    """ "2 tiles of 3 K tiles, 2 stages, 1 accumulator of 4 parts"."""
    sums = f"{say(size.accumulators, 'accumulator')} of {say(size.parts, 'part')}"
    return f"{say(size.tiles, 'tile')} of {say(size.k_tiles, 'K tile')}, {say(size.stages, 'stage')}, {sums}"

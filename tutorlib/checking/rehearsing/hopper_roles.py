"""Main loops over mbarriers, rehearsed: who runs which, and in which orders they are tried."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Any

from tutorlib.checking.rehearsing.barrier_calls import mbarrier_calls
from tutorlib.checking.rehearsing.hopper_block import Block
from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.participants import Warps
from tutorlib.checking.rehearsing.pipeline_state import call_helper
from tutorlib.checking.rehearsing.plain_python import Hazard, calling_line
from tutorlib.checking.rehearsing.rehearsal import Landing, Order
from tutorlib.dsl.cute.functions import calls_of_helpers
from tutorlib.dsl.cute.plain_python import as_written, instead_of, plain_loops
from tutorlib.dsl.cute.plain_state import PLAIN_STATE

SEEDS = range(3)


@dataclass(frozen=True)
class LoopRole:
    """Warps that run a function. group: their warpgroup, where it multiplies."""

    name: str
    loop: Callable[..., None]
    warps: int
    group: int | None = None
    loads: bool = False


def one_function(main_loop: Callable[..., None]) -> tuple[LoopRole, ...]:
    """Two warpgroups that multiply; the first one's first warp also loads."""
    return (
        LoopRole("warp 0 of warpgroup 0", main_loop, 1, 0, True),
        LoopRole("warps 1 to 3 of warpgroup 0", main_loop, 3, 0),
        LoopRole("warpgroup 1", main_loop, 4, 1),
    )


def specialised(produce: Callable[..., None], consume: Callable[..., None]) -> tuple[LoopRole, ...]:
    """A warp that loads, two warpgroups that multiply."""
    return (
        LoopRole("the producer", produce, 1, None, True),
        LoopRole("warpgroup 0", consume, 4, 0),
        LoopRole("warpgroup 1", consume, 4, 1),
    )


@dataclass(frozen=True)
class Barriers:
    """A pointer to mbarriers in shared memory: `full + stage` points to one of them."""

    all: list[MBarrier]
    offset: int = 0

    def __add__(self, stage: Any) -> "Barriers":
        return Barriers(self.all, self.offset + int(stage))

    @property
    def here(self) -> MBarrier:
        name = self.all[0].name.split("[")[0]
        if not 0 <= self.offset < len(self.all):
            raise Hazard(
                f"{calling_line()}: {name} + {self.offset}: of {len(self.all)} stages, 0 to {len(self.all) - 1} exist."
            )
        return self.all[self.offset]


@dataclass(frozen=True)
class RehearsedSteps:
    """What a main loop gets in place of the kernel's steps: the same attributes and methods, without data."""

    block: Block
    loads_too: bool

    @property
    def k_tiles(self) -> int:
        return self.block.k_tiles

    @property
    def stages(self) -> int:
        return self.block.stages

    @property
    def stage_bytes(self) -> int:
        return self.block.stage_bytes

    @property
    def consumers(self) -> int:
        return self.block.consumers

    @property
    def full(self) -> Barriers:
        return Barriers(self.block.full)

    @property
    def empty(self) -> Barriers:
        return Barriers(self.block.empty)

    def load(self, k_tile: Any, stage: Any) -> None:
        self.block.load(k_tile, stage)

    def multiply(self, stage: Any, first: Any) -> None:
        self.block.multiply(stage, first)


def stand_ins(block: Block, notes: list[str]) -> list[tuple[Any, dict[str, Any]]]:
    """What takes the place of the DSL's synchronisation, by module.

    notes: gets what a hazard may come from that the orders do not show.
    """
    import cutlass
    from cutlass import cute
    from cutlass.cute.nvgpu import warpgroup
    from cutlass.pipeline import PipelineState

    def at_home(barrier: Barriers, peer: Any) -> MBarrier:
        if peer is not None:
            raise ValueError("an arrival in another block of the cluster")
        return barrier.here

    arch = {
        **mbarrier_calls(block, at_home),
        "sync_threads": block.sync_threads,
        "barrier": block.sync_threads,
    }
    groups: dict[str, Any] = {
        "fence": block.fence,
        "commit_group": block.commit,
        "wait_group": lambda group: block.retire(group),
    }
    return [
        (cute.arch, arch),
        (warpgroup, groups),
        (cutlass, plain_loops()),
        (PipelineState, PLAIN_STATE),
        calls_of_helpers(partial(call_helper, notes)),
    ]


@dataclass(frozen=True)
class Interleaving:
    """Who goes first, and when loads land."""

    choose: Order
    landing: Landing
    some: Callable[[], bool] = lambda: False


def interleavings(roles: Sequence[LoopRole]) -> list[Interleaving]:
    """The first one is the producer first."""

    def by_rank(ranks: tuple[int, ...]) -> Order:
        names = [roles[rank].name for rank in ranks]
        return partial(min, key=lambda warps: names.index(warps.name))

    ranks = list(permutations(range(len(roles))))
    fixed = [Interleaving(by_rank(rank), "late") for rank in ranks]
    fixed += [Interleaving(by_rank(rank), "early") for rank in (ranks[0], ranks[-1])]
    rolled = []
    for seed in SEEDS:
        dice = random.Random(seed)
        rolled.append(Interleaving(dice.choice, "some", partial(now_and_then, dice)))
    return fixed + rolled


def now_and_then(dice: random.Random) -> bool:
    return dice.random() < 0.2


def rehearse_roles(roles: Sequence[LoopRole], k_tiles: int, stages: int) -> Block:
    """Run loops side by side in many orders. Returns what the first order, the producer's, made of it.

    Raises Hazard, and what the loops themselves raise.
    """
    blocks = [rehearse_once(roles, k_tiles, stages, order) for order in interleavings(roles)]
    return blocks[0]


def rehearse_once(roles: Sequence[LoopRole], k_tiles: int, stages: int, order: Interleaving) -> Block:
    cast = [
        Warps(plays=lambda: None, name=role.name, warps=role.warps, group=role.group, loads=role.loads)
        for role in roles
    ]
    block = Block(k_tiles, stages, cast, order.choose, order.landing, order.some)
    for warps, role in zip(cast, roles, strict=True):
        warps.plays = partial(as_written(role.loop), RehearsedSteps(block, role.loads))
    notes: list[str] = []
    try:
        with instead_of(stand_ins(block, notes), *(role.loop for role in roles)):
            block.turns.play(cast)
        block.finish()
    except Hazard as hazard:
        raise Hazard("\n".join((str(hazard), *dict.fromkeys(notes)))) from None
    return block

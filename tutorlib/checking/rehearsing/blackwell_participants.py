"""Who takes part in a rehearsal of the Blackwell kernel's loops: the roles of a block or a pair, what they know."""

from dataclasses import dataclass, field
from typing import Any, Literal

from tutorlib.checking.rehearsing.coroutines import Actor
from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.participants import LANES, PARTS, SMALLER_PARTS, Wait
from tutorlib.checking.rehearsing.plain_python import CallSite

TileRole = Literal["produce", "multiply", "store"]
STORERS = 4  # warps of a block that store
NOWHERE = CallSite("", 0)


@dataclass(eq=False)
class TileLoad:
    """A block's share of a K tile on its way. turn: how many came into this stage before. landed: parts.

    read_by: the multiplication of it.
    """

    block: int
    number: int
    k_tile: int
    stage: int
    turn: int
    landed: int = 0
    read_by: "TileProduct | None" = None


@dataclass(eq=False)
class Use:
    """An accumulator's use for a tile. turn: how many uses it had before. products: in the order of their issue."""

    number: int
    accumulator: int
    turn: int
    products: list["TileProduct"] = field(default_factory=list)


@dataclass(eq=False)
class TileProduct:
    """A stage's tcgen05.mma, as issued."""

    k_tile: int
    use: Use
    line: CallSite
    loads: list[TileLoad]


@dataclass(eq=False)
class Committed:
    """A commit under way: the products before it, and the mbarriers that it arrives at when those are over."""

    products: list[TileProduct]
    barriers: list[MBarrier]
    line: CallSite


TileEvent = tuple[Any, ...]


def over(product: TileProduct) -> TileEvent:
    return "over", product


def arrived(load: TileLoad, part: int) -> TileEvent:
    return "arrived", load, part


def taken(warps: "RoleWarps", use: Use, part: int) -> TileEvent:
    """These warps have a part of the sums in their registers."""
    return "taken", warps, use, part


@dataclass(eq=False)
class RoleWarps(Actor):
    """Warps of one role, in step. knows: events that they can rely on.

    registers: the part of a use that they hold, or None; awaited: whether a wait has covered the tcgen05.ld.
    freed: the use that each accumulator held when they arrived on its `free`, and where.
    waited_for_own: where they waited for the end of what they had ordered themselves, or None.
    waits, passed, held_up: as in `participants.Warps`.
    """

    role: TileRole = "produce"
    block: int = 0
    name: str = ""
    warps: int = 1
    knows: set[TileEvent] = field(default_factory=set)
    elected: bool = False
    registers: tuple[Use, int] | None = None
    awaited: bool = False
    read_at: CallSite = NOWHERE
    stored: set[tuple[int, int]] = field(default_factory=set)
    freed: dict[int, tuple[Use | None, CallSite]] = field(default_factory=dict)
    waited_for_own: CallSite | None = None
    waits: dict[str, Wait] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=dict)
    held_up: tuple[CallSite, str, str] = (NOWHERE, "", "")

    @property
    def lanes(self) -> int:
        """Threads that carry out what they are told now."""
        return self.warps if self.elected else self.warps * LANES


@dataclass(eq=False)
class TileScene:
    """One block, or a pair, and what has happened so far.

    Of each block: full, empty, of the stages; ready, free, of the accumulators. sent: loads into each stage, by block.
    uses: of each accumulator. flying: loads and commits that hardware has not carried out, the oldest first.
    """

    tiles: int
    k_tiles: int
    stages: int
    accumulators: int
    parts: int
    blocks: int
    warps: list[RoleWarps]
    full: list[list[MBarrier]] = field(init=False)
    empty: list[list[MBarrier]] = field(init=False)
    ready: list[list[MBarrier]] = field(init=False)
    free: list[list[MBarrier]] = field(init=False)
    sent: list[list[list[TileLoad]]] = field(init=False)
    uses: list[list[Use]] = field(init=False)
    flying: list[TileLoad | Committed] = field(default_factory=list, init=False)
    issued: list[TileProduct] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        def barriers(name: str, number: int, arrivals: int) -> list[list[MBarrier]]:
            return [
                [MBarrier(f"{name}[{at}]{self.of_block(block)}", arrivals) for at in range(number)]
                for block in range(self.blocks)
            ]

        self.full = barriers("full", self.stages, 1)
        self.empty = barriers("empty", self.stages, 1)
        self.ready = barriers("ready", self.accumulators, 1)
        self.free = barriers("free", self.accumulators, STORERS * self.blocks)
        self.sent = [[[] for _ in range(self.stages)] for _ in range(self.blocks)]
        self.uses = [[] for _ in range(self.accumulators)]

    def of_block(self, block: int) -> str:
        """ " of block 1", where there are two."""
        return f" of block {block}" if self.blocks > 1 else ""

    @property
    def part_bytes(self) -> tuple[int, ...]:
        """Of each part of a block's load, in a pair with half of B: not always the same, as in `participants`."""
        of_a, of_b = SMALLER_PARTS if self.stages == 3 else PARTS
        return of_a, of_b // self.blocks

    @property
    def stage_bytes(self) -> int:
        """What full[stage] counts: of all blocks."""
        return sum(self.part_bytes) * self.blocks

    @property
    def storing(self) -> list[RoleWarps]:
        return [warps for warps in self.warps if warps.role == "store"]

    def every(self) -> list[MBarrier]:
        kinds = (self.full, self.empty, self.ready, self.free)
        return [barrier for kind in kinds for mine in kind for barrier in mine]

"""Warps of a Blackwell block: what each role has issued, holds and has written."""

from dataclasses import dataclass, field
from typing import Literal

from tutorlib.checking.rehearsing.call_site import NOWHERE, CallSite
from tutorlib.checking.rehearsing.machine import Fact, Load, RehearsalMachine, Warps
from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.unsafe import Unsafe

TileRole = Literal["produce", "multiply", "store"]
STORERS = 4  # warps of a block that store


@dataclass(eq=False)
class Use:
    """An accumulator's use for a tile. turn: how many uses it had before. products: in the order of their issue."""

    tile: int
    accumulator: int
    turn: int
    products: list["TileProduct"] = field(default_factory=list)


@dataclass(eq=False)
class TileProduct:
    """A stage's tcgen05.mma, as issued."""

    k_tile: int
    use: Use
    line: CallSite
    loads: list[Load]


@dataclass(eq=False)
class Commit:
    """A commit in flight: the products before it, and the mbarriers that it arrives at when those are over."""

    products: list[TileProduct]
    barriers: list[MBarrier]
    line: CallSite

    def arrive(self) -> None:
        for barrier in self.barriers:
            if not barrier.pending:
                raise Unsafe(f"{self.line}: the commit arrives too often at {barrier.name}.")
            barrier.arrive("the tensor cores", 1, {over(product) for product in self.products}, self.line)


def over(product: TileProduct) -> Fact:
    return "over", product


def taken(warps: "RoleWarps", use: Use, part: int) -> Fact:
    """These warps have a part of the accumulators in their registers."""
    return "taken", warps, use, part


@dataclass(eq=False)
class RoleWarps(Warps):
    """registers: the part of a use that they hold, or None; awaited: whether a wait has covered the tcgen05.ld.

    unfenced: what such waits covered since the last tcgen05.fence::before_thread_sync; no arrival is ordered after it.

    freed: the use that each accumulator held when they arrived on its `free`, and where.
    waited_for_own: where they waited for the completion of their own work, or None.
    """

    registers: tuple[Use, int] | None = field(default=None, init=False)
    awaited: bool = field(default=False, init=False)
    unfenced: set[Fact] = field(default_factory=set, init=False)
    read_at: CallSite = field(default=NOWHERE, init=False)
    stored: set[tuple[int, int]] = field(default_factory=set, init=False)
    freed: dict[int, tuple[Use | None, CallSite]] = field(default_factory=dict, init=False)
    waited_for_own: CallSite | None = field(default=None, init=False)


@dataclass(eq=False, kw_only=True)
class BlackwellScene(RehearsalMachine):
    """Warps of one block, or of a pair. parts: of each accumulator. uses: of each accumulator. issued: products."""

    tiles: int
    accumulators: int
    parts: int
    uses: list[list[Use]] = field(init=False)
    issued: list[TileProduct] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.uses = [[] for _ in range(self.accumulators)]

    def barrier_kinds(self) -> dict[str, tuple[int, int]]:
        stages, accumulators = self.stages, self.accumulators
        free = accumulators, STORERS * self.blocks
        return {"full": (stages, 1), "empty": (stages, 1), "ready": (accumulators, 1), "free": free}

    @property
    def storing(self) -> list[RoleWarps]:
        return [warps for warps in self.warps if warps.role == "store"]

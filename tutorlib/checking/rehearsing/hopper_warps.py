"""Warps of a Hopper block: their wgmmas, the commit groups, and the stages that they free."""

from dataclasses import dataclass, field

from tutorlib.checking.rehearsing.call_site import CallSite
from tutorlib.checking.rehearsing.machine import Fact, Load, RehearsalMachine, Warps

WARPS = 4  # of a warpgroup


def has_read(group: int, load: Load) -> Fact:
    """The warpgroup's wgmmas of that tile are over."""
    return "read", load, group


@dataclass(frozen=True)
class Multiplication:
    """The wgmmas of one K tile, as some warps have issued them."""

    load: Load
    line: CallSite


@dataclass(frozen=True)
class Release:
    """An arrival on an `empty` mbarrier. reading: the load that these warps' wgmmas might still read then."""

    line: CallSite
    reading: Load | None


@dataclass(eq=False)
class WarpgroupWarps(Warps):
    """group: of their warpgroup that multiplies, or None. loads: whether they may.

    issued: multiplications; groups: their number at each commit; retired: the number known to be over.
    releases: the last one of each stage.
    """

    group: int | None = None
    loads: bool = False
    fenced: bool = field(default=False, init=False)
    issued: list[Multiplication] = field(default_factory=list, init=False)
    groups: list[int] = field(default_factory=list, init=False)
    retired: int = field(default=0, init=False)
    releases: dict[str, Release] = field(default_factory=dict, init=False)

    def is_reading(self, load: Load) -> bool:
        return any(multiplication.load is load for multiplication in self.issued[self.retired :])

    def has_multiplied(self, load: Load) -> bool:
        return any(multiplication.load is load for multiplication in self.issued)


@dataclass(eq=False, kw_only=True)
class HopperScene(RehearsalMachine):
    """A thread block, its stages and the warpgroups that multiply.

    done: for each warpgroup, the number of finished multiplications.
    """

    done: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.done = {warps.group: 0 for warps in self.warps if warps.group is not None}

    @property
    def consumers(self) -> int:
        """Warps that multiply."""
        return sum(warps.warps for warps in self.warps if warps.group is not None)

    def barrier_kinds(self) -> dict[str, tuple[int, int]]:
        return {"full": (self.stages, 1), "empty": (self.stages, self.consumers)}

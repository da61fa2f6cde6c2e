"""Who takes part in a rehearsal, and what they know."""

from dataclasses import dataclass, field

from tutorlib.checking.rehearsing.coroutines import Actor
from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.plain_python import CallSite

LANES = 32
WARPS = 4  # of a warpgroup
PARTS = (16_384, 32_768)  # bytes of A's and of B's tile: 128×64 and 256×64 of bf16
SMALLER_PARTS = (16_384, 24_576)  # 192×64 of B


@dataclass(eq=False)
class Load:
    """A K tile on its way into a stage. turn: how many were sent to this stage before. landed: parts."""

    k_tile: int
    stage: int
    turn: int
    landed: int = 0


Fact = tuple[str, Load, int]


def landed(load: Load, part: int) -> Fact:
    return "landed", load, part


def has_read(group: int, load: Load) -> Fact:
    """The warpgroup's wgmmas of that tile are over."""
    return "read", load, group


@dataclass(frozen=True)
class Multiplication:
    """The wgmmas of one K tile, as some warps have issued them."""

    load: Load
    first: bool
    line: CallSite


@dataclass(frozen=True)
class Wait:
    """A wait for a phase of an mbarrier that is over. complete: phases that were, then. at_once: nothing held it up."""

    line: CallSite
    parity: int
    complete: int
    at_once: bool


@dataclass(frozen=True)
class Release:
    """An arrival on an `empty` mbarrier. reading: the load that these warps' wgmmas might still read then."""

    line: CallSite
    reading: Load | None


@dataclass(eq=False)
class Warps(Actor):
    """Warps that run one function in step. group: of their warpgroup that multiplies, or None.

    knows: events that they can rely on.
    issued: multiplications; groups: how many there were at each commit; retired: how many are known to be over.
    waits: the last one for each mbarrier. releases: the last one of each stage.
    held_up: where they wait, for what, by the name of the mbarrier where it is one.
    """

    name: str = ""
    warps: int = 1
    group: int | None = None
    loads: bool = False
    knows: set[Fact] = field(default_factory=set)
    elected: bool = False
    fenced: bool = False
    issued: list[Multiplication] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    retired: int = 0
    waits: dict[str, Wait] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=dict)
    releases: dict[str, Release] = field(default_factory=dict)
    held_up: tuple[CallSite, str, str] = (CallSite("", 0), "", "")

    @property
    def lanes(self) -> int:
        """Threads that carry out what they are told now."""
        return self.warps if self.elected else self.warps * LANES

    def is_reading(self, load: Load) -> bool:
        return any(multiplication.load is load for multiplication in self.issued[self.retired :])

    def has_multiplied(self, load: Load) -> bool:
        return any(multiplication.load is load for multiplication in self.issued)


@dataclass(eq=False)
class Situation:
    """A thread block and what its warps have done so far.

    full, empty: the stages' mbarriers. sent: the loads into each stage. flying: loads that have not landed.
    done: for each warpgroup, how many multiplications are over.
    """

    k_tiles: int
    stages: int
    warps: list[Warps]
    full: list[MBarrier] = field(init=False)
    empty: list[MBarrier] = field(init=False)
    sent: list[list[Load]] = field(init=False)
    flying: list[Load] = field(default_factory=list, init=False)
    done: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.full = [MBarrier(f"full[{stage}]", 1) for stage in range(self.stages)]
        self.empty = [MBarrier(f"empty[{stage}]", self.consumers) for stage in range(self.stages)]
        self.sent = [[] for _ in range(self.stages)]
        self.done = {warps.group: 0 for warps in self.warps if warps.group is not None}

    @property
    def parts(self) -> tuple[int, int]:
        """Bytes of A's and of B's tile: not always the same, so that a number in stage_bytes' place is found out."""
        return SMALLER_PARTS if self.stages == 3 else PARTS

    @property
    def stage_bytes(self) -> int:
        return sum(self.parts)

    @property
    def consumers(self) -> int:
        """Warps that multiply."""
        return sum(warps.warps for warps in self.warps if warps.group is not None)


def named(several: list[Warps]) -> str:
    """ "the producer and warpgroup 1"; a warpgroup that is all there goes by its own name."""
    found: list[str] = []
    for warps in several:
        together = sum(other.warps for other in several if other.group == warps.group)
        found.append(f"warpgroup {warps.group}" if warps.group is not None and together == WARPS else warps.name)
    return " and ".join(dict.fromkeys(found))


def who(several: list[Warps], verb: str) -> str:
    """A sentence's subject and verb: "warp 0 waits", "warp 0 and warps 1 to 3 wait"."""
    subject = named(several)
    plural = " and " in subject or subject.startswith("warps ")
    return f"{subject} {verb}{'' if plural else 's'}"

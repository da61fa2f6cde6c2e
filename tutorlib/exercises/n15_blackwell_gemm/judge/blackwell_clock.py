"""The Blackwell kernel's three loops, rehearsed with a clock: when each warp issues, waits, reads and writes.

Time is a fact like any other: a warp that arrives at an mbarrier publishes when, and one that waits learns it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tutorlib.checking.rehearsing.interleavings import Interleaving, by_rank
from tutorlib.checking.rehearsing.machine import Load
from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.exercises.n15_blackwell_gemm.judge.blackwell_block import ROLES, BlackwellBlock, Extent, Loop, warps_of
from tutorlib.exercises.n15_blackwell_gemm.judge.blackwell_warps import STORERS, Commit, RoleWarps, TileRole
from tutorlib.models.block_timeline import TENSOR_CORES, BlockSpan, BlockTimeline, Does

TMA_ROW, MMA_ROW = "warp 5: TMA", "warp 4: MMA"
EPILOGUE_ROWS = tuple(f"warp {warp}: epilogue" for warp in range(STORERS))


@dataclass(frozen=True)
class Pace:
    """Ticks. issue: of a warp, for a K tile. latency: from the issue of a load to its last byte.

    multiply: of the tensor cores, for a K tile. read, write: of a warp, for a part of its accumulators.
    """

    issue: int = 1
    latency: int = 4
    multiply: int = 2
    read: int = 1
    write: int = 1


def time_tiles(loops: dict[TileRole, Loop], size: Extent, pace: Pace = Pace()) -> BlockTimeline:
    """When one block does what. Raises Unsafe, and what the loops themselves raise."""
    block = TimedBlock(
        warps=warps_of(loops, size.blocks), interleaving=Interleaving(by_rank(ROLES)), pace=pace, **vars(size)
    )
    block.run()
    stages = tuple(f"stage {stage}" for stage in range(size.stages))
    rows = (TMA_ROW, *stages, MMA_ROW, TENSOR_CORES, *EPILOGUE_ROWS)
    return BlockTimeline(rows, tuple(block.spans), size.accumulators)


@dataclass(frozen=True)
class TimedCommit:
    """A commit that arrives at a time."""

    arrive_then: Callable[[], None]
    barriers: list[MBarrier]
    at: int

    def arrive(self) -> None:
        for barrier in self.barriers:
            barrier.gathered.add(("at", self.at))
        self.arrive_then()


@dataclass(eq=False, kw_only=True)
class TimedBlock(BlackwellBlock):
    """lands: when the last byte of each load is there. done: when the tensor cores have finished what was issued."""

    pace: Pace
    spans: list[BlockSpan] = field(default_factory=list, init=False)
    lands: dict[Load, int] = field(default_factory=dict, init=False)
    done: int = field(default=0, init=False)

    @property
    def now(self) -> int:
        """The running warps' time."""
        return max((fact[1] for fact in self.me.knows if fact[0] == "at"), default=0)

    def spend(self, ticks: int, tile: int, part: int, does: Does = "works") -> int:
        """The time then."""
        begin = self.now
        self.me.knows.add(("at", begin + ticks))
        self.spans += [BlockSpan(row, begin, begin + ticks, tile, part, does) for row in rows_of(self.me)]
        return begin + ticks

    def begin(self, event: Any) -> None:
        if isinstance(event, Load):
            issued = self.spend(self.pace.issue, event.tile, event.k_tile)
            self.lands[event] = issued + self.pace.latency
            row = f"stage {event.stage}"
            self.spans.append(BlockSpan(row, issued, self.lands[event], event.tile, event.k_tile, "in flight"))
        if isinstance(event, Commit):
            event = TimedCommit(event.arrive, event.barriers, max(self.now, self.done))
        super().begin(event)

    def land(self, load: Load) -> None:
        self.barriers["full"][0][load.stage].gathered.add(("at", self.lands[load]))
        super().land(load)

    def multiply(self, stage: Any, accumulator: Any, first: Any) -> None:
        super().multiply(stage, accumulator, first)
        product = self.issued[-1]
        tile, k_tile = product.use.tile, product.k_tile
        begin = max(self.spend(self.pace.issue, tile, k_tile), self.done)
        self.done = begin + self.pace.multiply
        row = f"stage {int(stage)}"
        self.spans += [
            BlockSpan(row, self.lands[product.loads[0]], begin, tile, k_tile, "landed"),
            BlockSpan(row, begin, self.done, tile, k_tile),
            BlockSpan(TENSOR_CORES, begin, self.done, tile, k_tile),
        ]

    def read(self, accumulator: Any, part: Any) -> None:
        super().read(accumulator, part)
        self.spend(self.pace.read, self.me.registers[0].tile, int(part))

    def write(self, number: Any, part: Any) -> None:
        super().write(number, part)
        self.spend(self.pace.write, int(number), int(part), "landed")

    def end_wait(self, barrier: MBarrier, phase: Any, at_once: bool) -> None:
        began = self.now
        super().end_wait(barrier, phase, at_once)
        self.spans += [BlockSpan(row, began, self.now, 0, 0, "waits") for row in rows_of(self.me) if self.now > began]


def rows_of(me: RoleWarps) -> tuple[str, ...]:
    match me.role:
        case "produce":
            return (TMA_ROW,)
        case "multiply":
            return (MMA_ROW,)
    return EPILOGUE_ROWS[:1] if me.warps == 1 else EPILOGUE_ROWS[1:]

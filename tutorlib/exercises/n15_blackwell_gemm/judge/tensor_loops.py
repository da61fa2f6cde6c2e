"""Judges the loops of the Blackwell kernel, and the function that allocates and frees its tensor memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from tutorlib.checking.cute import require_jit
from tutorlib.checking.exercise import Answer, Verdict, WrongKind
from tutorlib.checking.part import HostFunction, Part
from tutorlib.checking.rehearsed import first_weakness
from tutorlib.checking.rehearsing.unsafe import LoopFlaw
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.ptx import allocated_columns
from tutorlib.exercises.n15_blackwell_gemm.judge.blackwell_block import BlackwellBlock, Extent, Loop, rehearse_tiles
from tutorlib.exercises.n15_blackwell_gemm.judge.tensor_memory import rehearse_holding
from tutorlib.failure import Flaw
from tutorlib.problems.wrong import count

if TYPE_CHECKING:
    from tutorlib.kernels.blackwell.config import BlackwellConfig
    from tutorlib.kernels.blackwell.gemm import TileLoops

ROLES = ("produce", "multiply", "store")
EXTENTS = (  # tiles, K tiles, stages, accumulators, parts
    *((1, 1, 2, 1, 2), (1, 5, 2, 1, 4), (3, 1, 2, 2, 2), (3, 3, 2, 2, 3)),
    *((4, 4, 3, 2, 2), (5, 2, 4, 1, 1), (5, 3, 3, 2, 4)),
)


def narrower(config: "BlackwellConfig") -> "BlackwellConfig":
    """With half of the columns."""
    bM, bN, bK = config.tile
    return replace(config, tile=(bM, bN // 2, bK))


@dataclass(frozen=True, kw_only=True)
class BlackwellPart(Part):
    """A part of notebook 15's kernel: rehearsed, then compiled for Blackwell's data-center GPUs and inspected.

    pair: whether two blocks work on a tile together.
    """

    pair: bool = False

    @property
    def config(self) -> "BlackwellConfig":
        from tutorlib.kernels.blackwell.config import PAIR, BlackwellConfig

        return PAIR if self.pair else BlackwellConfig()

    def host(self, answer: Answer) -> HostFunction:
        from tutorlib.kernels.blackwell.gemm import SMS, make_blackwell_gemm

        return make_blackwell_gemm(self.config, self.parts(answer), SMS)

    def simulated_host(self, answer: Answer) -> HostFunction:
        """Tiles half as wide, and two SMs, so that a small C is several tiles for each block."""
        from tutorlib.kernels.blackwell.gemm import make_blackwell_gemm

        return make_blackwell_gemm(narrower(self.config), self.parts(answer), 2)

    def parts(self, answer: Answer) -> "TileLoops":
        """The kernel's, the answer among them. Raises WrongKind."""
        raise NotImplementedError

    def lacks(self, compiled: Compiled) -> str:
        if (got := allocated_columns(compiled.ptx)) == [self.config.columns]:
            return ""
        said = " and ".join(map(str, got)) or "no"
        return f"it allocates {said} columns of tensor memory; its accumulators take {self.config.columns}."

    @property
    def settled(self) -> bool:
        """The loops issue a GEMM."""
        return True


@dataclass(frozen=True, kw_only=True)
class RoleLoops(BlackwellPart):
    """One of the three roles' loops beside the course's other two; or all three, for a pair of blocks."""

    loop: Literal["produce", "multiply", "store", "all"]

    def loops(self, answer: Any) -> dict[str, Loop]:
        """By role. Raises WrongKind."""
        from tutorlib.kernels.blackwell.gemm import TileLoops

        course = TileLoops()
        loops: dict[str, Loop] = {role: getattr(course, role) for role in ROLES}
        if self.loop != "all":
            loops[self.loop] = answer
        elif isinstance(answer, tuple | list) and len(answer) == len(ROLES):
            loops = dict(zip(ROLES, answer, strict=True))
        else:
            raise WrongKind(f"{answer!r} is not three functions, (produce, multiply, store).")
        for role in ROLES:
            require_jit(loops[role])
        return loops

    def parts(self, answer: Answer) -> "TileLoops":
        from tutorlib.kernels.blackwell.gemm import TileLoops

        return TileLoops(**self.loops(answer))

    def look(self, answer: Answer, points: float) -> Verdict | None:
        loops, blocks = self.loops(answer), 1 + self.pair
        extents = [Extent(*numbers, blocks) for numbers in EXTENTS]
        return first_weakness(
            ((extent.in_words(), partial(self.rehearse, loops, extent)) for extent in extents),
            safe=points / 2,
        )

    def rehearse(self, loops: dict[Any, Loop], extent: Extent) -> str:
        played = rehearse_tiles(loops, extent)
        return self.find_idleness(played, extent)

    def find_idleness(self, played: Sequence[BlackwellBlock], extent: Extent) -> str:
        """How right loops waste time, or "": judged where every load and commit lands at once."""
        eager = next(block for block in played if block.interleaving.landing == "early")
        ahead, most = eager.sent_first, min(extent.stages, extent.tiles * extent.k_tiles)
        if self.loop in ("produce", "all") and ahead < most:
            what = f"it is safe, but only {ahead} of {most} stages are filled before the first has been read."
            return Flaw(what, LoopFlaw.IDLE)
        if eager.dawdled:
            return Flaw(
                f"it is safe, but {eager.dawdled} waits for what the same warp has issued, and issues nothing "
                "meanwhile. Leave that wait to the role that needs the result.",
                LoopFlaw.IDLE,
            )
        begun, could = eager.begun_first, min(extent.accumulators, extent.tiles)
        if self.loop in ("multiply", "all") and begun < could:
            return Flaw(
                f"it is safe, but only {begun} of {count(extent.accumulators, 'accumulator')} is in use before the "
                "epilogue reads: the tensor cores wait for the epilogue, and need not.",
                LoopFlaw.IDLE,
            )
        if self.loop in ("store", "all") and any(block.freed_late for block in played):
            return Flaw(
                "it is safe, but an accumulator is freed after its last part was written. Its values are in "
                "registers after the last wait, so the tensor cores could start the next tile then.",
                LoopFlaw.FREED_LATE,
            )
        return ""


@dataclass(frozen=True, kw_only=True)
class Holding(BlackwellPart):
    """Allocates, lets all warps work, frees."""

    def parts(self, answer: Answer) -> "TileLoops":
        from tutorlib.kernels.blackwell.gemm import TileLoops

        require_jit(answer)
        return TileLoops(hold=answer)

    def look(self, answer: Answer, points: float) -> Verdict | None:
        require_jit(answer)

        def rehearsal(columns: int) -> str:
            rehearse_holding(answer, columns)
            return ""

        several = (self.config.columns, narrower(self.config).columns)
        return first_weakness(
            (f"the six warps of a block and {columns} columns", partial(rehearsal, columns)) for columns in several
        )

"""Answers that are a Hopper GEMM's main loop over mbarriers, or one of its warp roles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from tutorlib.checking.cute import require_jit
from tutorlib.checking.exercise import Answer, Verdict, WrongKind
from tutorlib.checking.part import BY_NAME, HostFunction, Inside
from tutorlib.checking.rehearsed import first_weakness, waits_again
from tutorlib.checking.rehearsing.hopper_block import HopperBlock, one_function, rehearse_roles, specialized
from tutorlib.checking.rehearsing.hopper_messages import freed_again, last_freed_early
from tutorlib.checking.rehearsing.hopper_warps import WarpgroupWarps
from tutorlib.checking.rehearsing.unsafe import LoopFlaw
from tutorlib.failure import Flaw
from tutorlib.problems.wrong import count

Loops = Literal["main", "produce", "consume", "both"]


@dataclass(frozen=True, kw_only=True)
class HopperLoops(Inside):
    """Rehearsed on the CPU, where every hazard shows, before they are compiled and run.

    loops: "main" is one function that every warp runs; "produce" or "consume" one of two, "both" the pair of them.
    other: if the answer is one of two, returns the course's function for the other role.
    stages: the numbers of stages that it must work with.
    deep: whether all stages must be in use while tiles remain to be loaded.
    overlapped: whether a wgmma must be in flight when the next one is issued.
    grouped: whether `steps.multiply` issues a whole group, its fence and commit included.
    """

    loops: Loops
    other: Callable[[], Callable[..., None]] | None = field(default=None, metadata=BY_NAME)
    stages: tuple[int, ...] = (2, 3, 4)
    deep: bool = True
    overlapped: bool = False
    grouped: bool = False

    def host(self, answer: Answer) -> HostFunction:
        self.roles(answer)
        return self.build(answer)

    def roles(self, answer: Any) -> Sequence[WarpgroupWarps]:
        """The warps and their functions. Raises WrongKind."""
        if self.loops == "both":
            if not isinstance(answer, tuple | list) or len(answer) != 2:
                raise WrongKind(f"{answer!r} is not a pair of functions, (produce, consume).")
            loops = list(answer)
        else:
            loops = [answer]
        for loop in loops:
            require_jit(loop)
        match self.loops:
            case "main":
                return one_function(answer)
            case "both":
                return specialized(*loops)
        assert self.other is not None, "no loop for the other role"
        return specialized(answer, self.other()) if self.loops == "produce" else specialized(self.other(), answer)

    def look(self, answer: Answer, points: float) -> Verdict | None:
        roles = self.roles(answer)
        return first_weakness(
            (
                (
                    f"{count(k_tiles, 'K tile')}, {count(stages, 'stage')}",
                    partial(self.rehearse, roles, k_tiles, stages),
                )
                for stages in self.stages
                for k_tiles in k_tiles_to_try(stages)
            ),
            safe=points / 2,
        )

    @property
    def settled(self) -> bool:
        """The rehearsal has shown that the loops compute a GEMM."""
        return True

    def rehearse(self, roles: Sequence[WarpgroupWarps], k_tiles: int, stages: int) -> str:
        return self.find_weakness(rehearse_roles(roles, k_tiles, stages, self.grouped))

    def find_weakness(self, block: HopperBlock) -> str:
        """The weakness of right loops, or ""."""
        for (tile, _), idle in sorted(block.idle.items()):
            if self.deep and idle > 0:
                return Flaw(
                    f"it is safe, but while K tile {tile} is multiplied, {idle} of {block.stages} stages are idle: "
                    "no load into them is in flight.",
                    LoopFlaw.IDLE,
                )
        if freed := last_freed_early(block) or freed_again(block):
            return freed
        if block.needless:
            return Flaw(
                f"it is safe, but {min(map(str, block.needless))}: warps that load nothing wait for `empty`, so each "
                "stands still until all others have read the stage. Only the warp that overwrites a stage must know "
                "that it has been read.",
                LoopFlaw.BARRIERS,
            )
        if again := waits_again(block):
            return again
        if self.overlapped and block.alone:
            return Flaw(
                f"it is safe, but before the wgmma of K tile {min(block.alone)} is issued, all others are over: "
                "the tensor cores have nothing to do meanwhile. wait_group(1), after it, leaves one.",
                LoopFlaw.IDLE,
            )
        return ""


def k_tiles_to_try(stages: int) -> list[int]:
    """Fewer than stages, as many, and enough for every stage's parity to repeat."""
    return sorted({1, max(stages - 1, 1), stages, stages + 1, 2 * stages + 1, 3 * stages + 2})

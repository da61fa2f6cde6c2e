"""Notebook 17's kernel, compiled for Blackwell's data-center GPUs, around an answer that is one of its parts."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import Answer
from tutorlib.checking.facts import LaunchReports, issued_as
from tutorlib.checking.part import Filled, HostFunction, Part, need_callable, require_jit
from tutorlib.compiling.compiled import Compiled, allocated_columns
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from tutorlib.kernels.blackwell.config import BlackwellConfig


FEW_SMS = {"sms": 2}  # of the simulated GPU, so that a small C is several tiles for each block
PAIRED = (257, 136, 72)  # where a whole kernel serves for a pair: four tiles


class PartFlaw(FailureKind):
    """What is wrong with a part of the kernel around its loops."""

    COLUMNS = "columns"
    RELINQUISHED_LATE = "relinquished late"


def config_of(pair: bool, **settings: Any) -> "BlackwellConfig":
    """pair: whether two blocks work on a tile together."""
    from tutorlib.kernels.blackwell.config import PAIR, BlackwellConfig

    return replace(PAIR if pair else BlackwellConfig(), **settings)


def blackwell(filled: Filled, pair: bool = False, sms: int | None = None, **settings: Any) -> HostFunction:
    """The kernel with the answer's parts. sms: of the GPU, if it is not a whole one."""
    from tutorlib.kernels.blackwell.gemm import SMS, course_parts, make_blackwell_gemm

    return make_blackwell_gemm(config_of(pair, **settings), replace(course_parts(pair), **filled), sms or SMS)


def other_columns(pair: bool) -> Callable[[Compiled], str]:
    """Finds a kernel that allocates, or frees, another number of columns than its configuration takes."""

    def found(compiled: Compiled) -> str:
        wanted = config_of(pair).columns
        for does, opcode in (("allocates", "alloc"), ("frees", "dealloc")):
            if (got := allocated_columns(compiled.ptx, opcode)) != [wanted]:
                said = " and ".join(map(str, got)) or "no"
                what = f"it {does} {said} columns of tensor memory; its accumulators take {wanted}."
                return Flaw(what, PartFlaw.COLUMNS)
        return ""

    return found


def relinquished_late(reports: LaunchReports) -> str | None:
    """That a block keeps others from allocating while it multiplies, or None."""
    first = next((one.opcode for one in issued_as(reports, "tcgen05.relinquish|tcgen05.mma")), "")
    what = "the next block on the SM cannot allocate before this one has multiplied: relinquish in `allocate`."
    return Flaw(what, PartFlaw.RELINQUISHED_LATE) if first.startswith("tcgen05.mma") else None


@dataclass(frozen=True, kw_only=True)
class WholeKernel(Part):
    """A function that takes a configuration and a number of SMs and makes the host function."""

    def host(self, answer: Answer, simulated: Shape = ()) -> HostFunction:
        """Simulated: narrow tiles, other rings, and the SMs of two blocks, so that a number in figures is found out."""
        from tutorlib.kernels.blackwell.gemm import SMS, course_parts

        config, sms = config_of(pair=False), SMS
        if simulated == PAIRED:
            pair = config_of(pair=True, tile=(256, 64, 64), stages=3, accumulators=3)
            return require_jit(need_callable(answer)(pair, FEW_SMS["sms"], course_parts(pair=True)))
        if simulated:
            bM, bN, bK = config.tile
            config, sms = replace(config, tile=(bM, bN // 2, bK), stages=3), FEW_SMS["sms"]
        return require_jit(need_callable(answer)(config, sms))

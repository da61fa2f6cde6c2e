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


K_BLOCKS = 4  # multiplications of a K tile of 64
WARPS = 6
FEW_SMS = {"sms": 2}  # of the simulated GPU, so that a small C is several tiles for each block


class PartFlaw(FailureKind):
    """What is wrong with a part of the kernel around its loops."""

    THREADS = "threads of a block"
    COLUMNS = "columns"
    FREED_LATE = "freed late"
    RELINQUISHED_LATE = "relinquished late"


def config_of(pair: bool, **settings: Any) -> "BlackwellConfig":
    """pair: whether two blocks work on a tile together."""
    from tutorlib.kernels.blackwell.config import PAIR, BlackwellConfig

    return replace(PAIR if pair else BlackwellConfig(), **settings)


def blackwell(
    filled: Filled, pair: bool = False, sms: int | None = None, halves: bool = False, **settings: Any
) -> HostFunction:
    """The kernel with the answer's parts. sms: of the GPU, if it is not a whole one.

    halves: whether `issue` gets half of a K tile's K blocks at a time, so that their number in figures is found out.
    """
    from tutorlib.kernels.blackwell.gemm import SMS, course_parts, make_blackwell_gemm

    if halves:
        filled = filled | {"issue": in_halves(filled["issue"])}
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


def other_threads(compiled: Compiled) -> str:
    """That the blocks have not six warps, or ""."""
    if compiled.threads == (wanted := 32 * WARPS):
        return ""
    return Flaw(f"its blocks have {compiled.threads} threads; six warps are {wanted}.", PartFlaw.THREADS)


def freed_late(reports: LaunchReports) -> str | None:
    """That an accumulator stays taken while its last part, which is in registers, is written, or None."""
    opcodes = [one.opcode for one in issued_as(reports, "")]
    last = max((place for place, opcode in enumerate(opcodes) if opcode.startswith("tcgen05.wait::ld")), default=0)
    after = (opcode for opcode in opcodes[last:] if opcode.startswith(("mbarrier.arrive", "st.shared")))
    if next(after, "").startswith("mbarrier.arrive"):
        return None
    return Flaw(
        "an accumulator is freed after its last part was written. Its values are in registers after the last wait, "
        "so the tensor cores could start the next tile then.",
        PartFlaw.FREED_LATE,
    )


def relinquished_late(reports: LaunchReports) -> str | None:
    """That a block keeps others from allocating while it multiplies, or None."""
    first = next((one.opcode for one in issued_as(reports, "tcgen05.relinquish|tcgen05.mma")), "")
    what = "the next block on the SM cannot allocate before this one has multiplied: relinquish in `allocate`."
    return Flaw(what, PartFlaw.RELINQUISHED_LATE) if first.startswith("tcgen05.mma") else None


def in_halves(issue: Callable[..., None]) -> Callable[..., None]:
    """`issue` for the first half of the K blocks, and again for the second."""
    from cutlass import Boolean, cute

    require_jit(issue)

    @cute.jit
    def issue_twice(
        tiled_mma: cute.TiledMma, acc: cute.Tensor, tCrA: cute.Tensor, tCrB: cute.Tensor, first: Boolean
    ) -> None:
        (a0, b0), (a1, b1) = (
            [cute.local_tile(whole, (1, 1, K_BLOCKS // 2), (0, 0, half)) for whole in (tCrA, tCrB)] for half in (0, 1)
        )
        issue(tiled_mma, acc, a0, b0, first)
        issue(tiled_mma, acc, a1, b1, Boolean(False))

    return issue_twice


@dataclass(frozen=True, kw_only=True)
class WholeKernel(Part):
    """A function that takes a configuration and a number of SMs and makes the host function."""

    def host(self, answer: Answer, simulated: Shape = ()) -> HostFunction:
        """Simulated: narrow tiles, and the SMs of two blocks; for a K with a partial tile, still narrower ones, and of
        three: so that a tile or SMs in figures are found out.
        """
        from tutorlib.kernels.blackwell.gemm import SMS

        config, sms = config_of(pair=False), SMS
        if simulated:
            bM, bN, bK = config.tile
            part, sms = (4, 3) if simulated[-1] % bK else (2, 2)
            config = replace(config, tile=(bM, bN // part, bK))
        return require_jit(need_callable(answer)(config, sms))

"""Limits on a kernel's work: the instructions that its warps issue, counted by the simulator."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import TYPE_CHECKING

from tutorlib.failure import Fail, Flaw, failures_in

if TYPE_CHECKING:
    from tutorlib.simulate.ptx.report import Issued, Report


FAR = 8  # times what is enough
NOTHING_SHARED = ("bar.sync|st.shared", 0)  # a limit, for threads that compute alone


@dataclass(frozen=True, kw_only=True)
class WorkLimits:
    """Counts over all launches of a kernel at one of its exercise's simulated sizes.

    at_most, at_least: (the beginning of an opcode, the number of times that warps issue it); "" is every instruction,
        "bar.sync" every barrier of a block, "mma" the tensor cores' work, "tanh|ex2" both of these together.
        `tests/pages/test_limits.py` holds each number to at most four times what the solution issues, or at least
        half of it.
    unrolled: (an opcode, the most often that warps may issue any single instruction of it): once for each warp where
        the instruction is in no loop.
    looped: (an opcode, how often one of its instructions must be issued, at least, for each warp of the launch): above
        1 where all warps issue it in a loop that grows with the problem, and must not be unrolled.
    lines: (an opcode, the most cache lines, of 128 bytes, that a warp's access may touch on average).
    in_step: (an opcode, another): the first may not be issued more often than the second, such as "bar.sync" than
        "cp.async.commit_group" in a pipeline that needs one barrier for each step along K.
    blocks, warps: the fewest that may share the work. busy: of its warps, the least share that must load from global
        memory or store to it; the others idle. most_blocks: where set, the most that may be launched.
    budget: the number of instructions, of all warps, after which a CuTe kernel's simulation stops; a right kernel takes
        a small part of it. Without it a loop that is far too long is simulated to its end, for minutes.
    overlap: of what is read from shared memory, the least share that is read while a copy is in flight.
    ahead: how many tiles a block's cp.async must be copying while a thread reads shared memory, at least once: above 1
        for three stages or more.
    groups: of wgmma, how many groups some wait must leave in flight: 1 where the tensor cores must not run dry.
    fetched: of mma.sync, the least share whose operands were fetched before the K block in front of it was multiplied.
    reread: of what warps read from shared memory, the largest share that the same warp may have read since it was
        written. A loop that fetches registers ahead may fetch a K block or two too many.
    reloaded: of what blocks load from global memory, the largest share that the same block may have loaded before. A
        loop without a branch loads the last tile again.
    restored: whether a block may store where it has stored before.
    distinct: whether no two fp32 instructions may compute the same numbers.
    """

    at_most: tuple[tuple[str, int], ...] = ()
    at_least: tuple[tuple[str, int], ...] = ()
    unrolled: tuple[tuple[str, int], ...] = ()
    looped: tuple[tuple[str, float], ...] = ()
    lines: tuple[tuple[str, int], ...] = ()
    in_step: tuple[tuple[str, str], ...] = ()
    blocks: int = 1
    warps: int = 0
    busy: float = 0.0
    most_blocks: int | None = None
    budget: float = inf
    overlap: float = 0.0
    ahead: float = 0.0
    groups: int = 0
    fetched: float = 0.0
    reread: float = 1.0
    reloaded: float = 1.0
    restored: bool = True
    distinct: bool = False

    def stopped(self, reports: "Sequence[Report]") -> bool:
        """Whether the launches used up the budget."""
        return count_issued(reports, "") > self.budget

    def exceeded(self, reports: "Sequence[Report]") -> str | None:
        """The first limit that these launches break, as a sentence, or None."""
        if self.stopped(reports):
            what = (
                "every block does far more work than its tile takes: the simulation was stopped after "
                f"{count_issued(reports, ''):,} instructions{busiest(reports, '')}."
            )
            return Flaw(what, Fail.TOO_MANY(instruction="", share="all"))
        blocks = sum(report.blocks for report in reports)
        if blocks < self.blocks:
            what = f"{blocks:,} of {self.blocks:,} blocks do all of the work, and most SMs are idle."
            return Flaw(what, Fail.TOO_FEW_BLOCKS)
        warps, busy = sum(report.warps for report in reports), sum(report.busy for report in reports)
        if warps < self.warps:
            what = f"{warps:,} warps do all of the work; a kernel that does as asked has {self.warps:,}."
            return Flaw(what, Fail.TOO_FEW(instruction="warp"))
        if busy < self.busy * warps:
            what = f"{busy:,} of its {warps:,} warps do all of the work, and the others idle."
            return Flaw(what, Fail.TOO_FEW(instruction="warp"))
        if self.most_blocks and blocks > self.most_blocks:
            what = f"it launches {blocks:,} blocks, of which {self.most_blocks:,} would be enough."
            return Flaw(what, Fail.TOO_MANY(instruction="block"))
        for opcode, most in self.at_most:
            if (issued := count_issued(reports, opcode)) > most:
                what = f"its warps issue {issued:,} {name(opcode)}; {most:,} are enough{busiest(reports, opcode)}."
                if not opcode and issued > FAR * most:
                    what = f"every thread does far more than its share: {what}"
                    return Flaw(what, Fail.TOO_MANY(instruction=opcode, share="all"))
                return Flaw(what, Fail.TOO_MANY(instruction=opcode))
        if (again := max((report.reloaded for report in reports), default=0.0)) > self.reloaded:
            what = f"{again:.0%} of what its blocks load they have loaded before."
            return Flaw(what, Fail.TOO_MANY(instruction="load"))
        if not self.restored and (again := sum(report.restored for report in reports)):
            what = f"its blocks store {again:,} bytes that they have stored before."
            return Flaw(what, Fail.TOO_MANY(instruction="store"))
        if (reread := max((report.reread for report in reports), default=0.0)) > self.reread:
            what = (
                f"{reread:.0%} of what its warps read from shared memory they have read before: fetch each K block once"
                f"{busiest(reports, 'ldmatrix|ld.shared')}."
            )
            return Flaw(what, Fail.TOO_MANY(instruction="ldmatrix"))
        if self.distinct and (twice := next((found for one in reports if (found := one.computed_twice)), ())):
            where = " and ".join(dict.fromkeys(map(str, twice)))
            what = f"two instructions compute the same numbers, up to rounding, and one is enough: {where}."
            return Flaw(what, Fail.TOO_MANY(instruction="f32"))
        for opcode, most in self.unrolled:
            if looped := next((one for one in issued_as(reports, opcode) if one.warps > most), None):
                what = (
                    f"{looped}: the loop around it is not unrolled: warps issue one {looped.opcode} "
                    f"{looped.warps:,} times, and {most:,} are enough."
                )
                return Flaw(what, Fail.TOO_MANY(instruction=opcode))
        for opcode, share in self.looped:
            if max((one.warps for one in issued_as(reports, opcode)), default=0) < share * warps:
                what = (
                    f"a warp issues no {opcode} more than once: the loop around them is unrolled, and the code grows "
                    "with the problem. Make it a plain range."
                )
                return Flaw(what, Fail.TOO_MANY(instruction="code"))
        for opcode, most in self.lines:
            accesses = (one for report in reports for one in report.accesses if one.opcode.startswith(opcode))
            if far := next((one for one in accesses if one.lines > most * one.warps), None):
                what = (
                    f"{far.place or 'it'}: a warp's {far.opcode} touches {far.lines / far.warps:.3g} lines of 128 "
                    f"bytes where {most} would do: its threads are too far apart in memory."
                )
                return Flaw(what, Fail.WASTE(space="lines"))
        for opcode, other in self.in_step:
            if (issued := count_issued(reports, opcode)) > (enough := count_issued(reports, other)):
                what = (
                    f"its warps issue {issued:,} {name(opcode)} and {enough:,} of {other}; one of each in a step is "
                    f"enough{busiest(reports, opcode)}."
                )
                return Flaw(what, Fail.TOO_MANY(instruction=opcode))
        if (ahead := max((report.ahead for report in reports), default=0.0)) < self.ahead:
            tiles = ceil(self.ahead)
            what = (
                f"while its warps read a tile, copies of at most {ahead:.1f} tiles are in flight; with {tiles + 1} "
                f"stages {tiles} can be. Issue copies STAGES - 1 tiles ahead, and let the newest STAGES - 2 groups "
                "stay in flight at each wait."
            )
            return Flaw(what, Fail.NO_OVERLAP(of="stages"))
        if (overlap := max((report.overlap for report in reports), default=0.0)) < self.overlap:
            what = (
                f"{overlap:.0%} of its reads of shared memory go on while a copy is in flight; a working pipeline "
                f"has {self.overlap:.0%} or more: issue the next stage's copies before you compute with this one, and "
                "wait for the older group alone."
            )
            return Flaw(what, Fail.NO_OVERLAP)
        waits = (one.operands for one in issued_as(reports, "wgmma.wait_group"))
        if max((int(getattr(left[0], "text", "0"), 0) for left in waits if left), default=0) < self.groups:
            what = (
                "it waits for every wgmma group before it issues the next, so the tensor cores run dry: wait_group(1), "
                "after the next one's commit, leaves it in flight."
            )
            return Flaw(what, Fail.NO_OVERLAP(of="wgmma"))
        if (fetched := max((report.fetched_ahead for report in reports), default=0.0)) < self.fetched:
            what = (
                f"{1 - fetched:.0%} of its mma.sync wait for the ldmatrix right before them: fetch the next K block, "
                "and then multiply the one that was fetched before it."
            )
            return Flaw(what, Fail.NO_OVERLAP(of="registers"))
        for opcode, least in self.at_least:
            if (issued := count_issued(reports, opcode)) < least:
                what = f"its warps issue {issued:,} {name(opcode)}; a kernel that does as asked issues {least:,}."
                return Flaw(what, Fail.TOO_FEW(instruction=opcode))
        return None


def far_too_many(exceeded: str) -> bool:
    """Whether a limit is exceeded so far that every thread seems to do all of the work."""
    return any(map(Fail.TOO_MANY(share="all").covers, failures_in([exceeded])))


def count_issued(reports: "Sequence[Report]", opcode: str) -> int:
    """The number of instructions issued whose opcode begins so."""
    return sum(one.warps for one in issued_as(reports, opcode))


def issued_as(reports: "Sequence[Report]", opcode: str) -> "Iterator[Issued]":
    """Those whose opcode begins so; of several, with | between them, with any of them."""
    beginnings = tuple(opcode.split("|"))
    return (one for report in reports for one in report.issued if one.opcode.startswith(beginnings))


def name(opcode: str) -> str:
    return f"{opcode.replace('|', '/')} instructions" if opcode else "instructions"


def busiest(reports: "Sequence[Report]", opcode: str) -> str:
    """The source line that issues most of them, as the end of a sentence; "" where none does, or no line was kept."""
    lines: dict[str, int] = {}
    for one in (one for one in issued_as(reports, opcode) if one.place):
        lines[str(one.place)] = lines.get(str(one.place), 0) + one.warps
    line = max(lines, key=lambda line: lines[line], default="")
    return f" (most of them at {line})" if line and 2 * lines[line] > count_issued(reports, opcode) else ""

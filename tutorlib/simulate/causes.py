"""A launch's findings by what causes them: one lost wait is reported at many places, and one of them comes first."""

from collections.abc import Sequence
from dataclasses import dataclass

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.findings import Finding

# The threads' progress itself is wrong: whatever the kernel does from then on may follow from it.
PROGRESS = {Hazard.BARRIER, Hazard.MBARRIER, Hazard.DIVERGENT, Hazard.DEADLOCK, Hazard.ENDLESS}
UNORDERED = {Hazard.UNWAITED, Hazard.RACE, Hazard.PROXY}  # one wait or barrier orders many accesses


@dataclass(frozen=True)
class Cause:
    """A finding, and those that follow from it, in the order in which they were seen."""

    finding: Finding
    follow: tuple[Finding, ...] = ()


def causes(findings: Sequence[Finding]) -> list[Cause]:
    """Findings that share a line of the source, or lack an order of the same kind, have one cause: the first seen."""
    groups: list[list[Finding]] = []
    for finding in findings:
        related = [group for group in groups if any(are_related(finding, other) for other in group)]
        groups = [group for group in groups if group not in related]
        groups.append([*(one for group in related for one in group), finding])
    ordered = sorted(
        (sorted(group, key=findings.index) for group in groups), key=lambda group: findings.index(group[0])
    )
    return [Cause(first, tuple(others)) for first, *others in ordered]


def are_related(one: Finding, other: Finding) -> bool:
    kinds = {one.kind, other.kind}
    return bool(
        kinds & PROGRESS
        or (len(kinds) == 1 and kinds <= UNORDERED)
        or lines_of_accesses(one) & lines_of_accesses(other)
    )


def lines_of_accesses(finding: Finding) -> set[tuple[str, int]]:
    """Of its accesses, in the source, or in the PTX where that is all there is."""
    if finding.place is None:
        return {("", finding.ptx_line)} if finding.ptx_line else set()
    return {(place.file, place.line) for place in (finding.place, finding.other) if place}

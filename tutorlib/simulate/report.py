"""The results of a simulation: findings by their causes, counts and outputs, as text, as JSON, and in SARIF 2.1.0, the
format in which GitHub's code scanning takes results.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tutorlib.compiling.errors import shortened
from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.findings import Finding, SourceLine
from tutorlib.simulate.ptx.report import Report as LaunchReport

# The threads' progress itself is wrong: whatever the kernel does from then on may follow from it.
PROGRESS = {Hazard.BARRIER, Hazard.MBARRIER, Hazard.DIVERGENT, Hazard.DEADLOCK, Hazard.ENDLESS}
UNORDERED = {Hazard.UNWAITED, Hazard.RACE, Hazard.PROXY}  # one wait or barrier orders many accesses


def causes(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Groups of findings with one cause, which is the first seen of each group.

    They share a line of the source, or lack an order of the same kind, or follow when threads do not progress.
    """
    groups: list[list[Finding]] = []
    for finding in findings:
        related = [group for group in groups if any(are_related(finding, other) for other in group)]
        joined = [finding, *(one for group in related for one in group)]
        groups = [*(group for group in groups if group not in related), sorted(joined, key=findings.index)]
    return sorted(groups, key=lambda group: findings.index(group[0]))


def are_related(one: Finding, other: Finding) -> bool:
    kinds = {one.kind, other.kind}
    unordered = len(kinds) == 1 and kinds <= UNORDERED
    return bool(kinds & PROGRESS or unordered or lines_of_accesses(one) & lines_of_accesses(other))


def lines_of_accesses(finding: Finding) -> set[tuple[str, int]]:
    """Of its accesses, in the source, or in the PTX where that is all there is."""
    if finding.place is None:
        return {("", finding.ptx_line)} if finding.ptx_line else set()
    return {(place.file, place.line) for place in (finding.place, finding.other) if place}


UNITS = {"shared": "wavefronts", "global": "sectors"}
WIDEST = 96  # letters of a source line


@dataclass(frozen=True)
class Report:
    """What a kernel's launches did.

    arch: the compute capability that they were compiled for, "80" or "90a".
    launches: a report for each, in order. returned: by the Python function that was simulated.
    wrong: sentences about how a command ended. known: how many findings were left out by `without`.
    """

    arch: str
    launches: tuple[LaunchReport, ...]
    returned: Any = field(default=None, repr=False)
    wrong: tuple[str, ...] = ()
    known: int = 0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that is wrong with the launches, in the order in which it was seen. () for a clean run."""
        return tuple(finding for launch in self.launches for finding in launch.findings)

    @property
    def counts(self) -> dict[str, int]:
        """Sums over the launches.

        "blocks"; "instructions" that warps issued; "sectors" of 32 bytes that accesses to global memory took, and
        "sectors needed"; "wavefronts" of shared memory, and "wavefronts needed". A cuTile launch, whose tiles are
        interpreted, has blocks alone.
        """
        sums = Counter(blocks=0, instructions=0)
        for launch in self.launches:
            sums.update(blocks=launch.blocks, instructions=launch.instructions)
            for space, unit in UNITS.items():
                taken, needed = launch.total(space)
                sums.update({unit: taken, f"{unit} needed": needed})
        return dict(sums)

    def raise_for_findings(self) -> None:
        """Raises AssertionError with the report's text if there are findings."""
        if self.findings:
            raise AssertionError(str(self))

    def without(self, known: Collection[str]) -> "Report":
        """The report but for findings with these fingerprints."""

        def others(launch: LaunchReport) -> tuple[Finding, ...]:
            return tuple(one for one in launch.findings if fingerprint(one, launch.kernel) not in known)

        left = tuple(replace(launch, findings=others(launch)) for launch in self.launches)
        found = len(self.findings) - sum(len(launch.findings) for launch in left)
        return replace(self, launches=left, known=self.known + found)

    def to_json(self) -> str:
        found = [finding for n, launch in enumerate(self.launches) for finding in findings_data(launch, n)]
        names = "kernel", "launched_at", "test", "blocks", "instructions", "stopped"
        launches = [{name: getattr(one, name) for name in names} for one in self.launches]
        data = {"arch": self.arch, "launches": launches, "counts": self.counts, "findings": found}
        return json.dumps(data | {"wrong": self.wrong, "known": self.known}, indent=2, default=vars)

    def to_sarif(self) -> str:
        """In SARIF: each cause as a result; the findings that follow from it as its related locations."""
        results: dict[str, dict[str, Any]] = {}
        for launch in self.launches:
            for first, *others in causes(launch.findings):
                result = sarif_result(first, others, launch)
                results.setdefault(result["partialFingerprints"]["finding/v1"], result)
        rules = [{"id": kind} for kind in sorted({result["ruleId"] for result in results.values()})]
        run = {"tool": {"driver": {"name": "tutor simulate", "rules": rules}}, "results": list(results.values())}
        return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)

    def __str__(self) -> str:
        """What is wrong with each launch, then the accesses that cost more than they must; launches alike are one."""
        found = number_of(len(self.findings), "finding") if self.findings else "no finding"
        lines = [f"sm_{self.arch}: {number_of(len(self.launches), 'launch', 'launches')}, {found}"]
        costs: list[str] = []
        for launch, times in alike_launches(self.launches):
            lines += launch_lines(launch, times)
            dear = [f"! {repeat}" for repeat in launch.repeats]
            dear += [line for line in cost_lines(launch) if line.startswith("!")]
            costs += [launch_name(launch), *dear] if dear and len(self.launches) > 1 else dear
        lines += [f"  {number_of(self.known, 'known finding')}"] if self.known else []
        return "\n".join([*lines, *(f"✗ {one}" for one in self.wrong), *costs])


def number_of(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def stops(launches: Sequence[LaunchReport]) -> list[str]:
    """A sentence about the launches that were not simulated to their end, if there are any."""
    stopped = sum(bool(launch.stopped) for launch in launches)
    return [f"{number_of(stopped, 'launch', 'launches')} could not be simulated"] if stopped else []


def alike_launches(launches: Sequence[LaunchReport]) -> list[tuple[LaunchReport, int]]:
    """Launches of one kernel, from one line and with one result: the first of them, and how many they are."""
    alike: dict[tuple[object, ...], list[LaunchReport]] = {}
    for launch in launches:
        found = tuple(fingerprint(one, "") for one in launch.findings)
        seen = launch.kernel, str(launch.launched_at), launch.blocks, found, launch.printed, launch.stopped
        alike.setdefault(seen, []).append(launch)
    return [(same[0], len(same)) for same in alike.values()]


def launch_lines(launch: LaunchReport, times: int) -> Iterator[str]:
    """A launch in lines: its name and size, what it printed, its findings by their causes."""
    several = f" ({times:,} launches)" if times > 1 else ""
    stopped = f"not simulated to its end: {launch.stopped}" if launch.findings else launch.stopped
    yield f"{launch_name(launch)}: {stopped if launch.stopped else launch_size(launch)}{several}"
    yield from launch.printed
    for first, *others in causes(launch.findings):
        yield f"✗ {first.kind}: {first.message}"
        if where := where_of(first):
            frames = first.place.called_from if first.place else ()
            called = "".join(f", called from {near(file)}:{line}" for file, line in frames)
            yield f"    {where}{f': {first.place.text}' if first.place else ''}{called}"
        if others:
            follow = "finding that follows" if len(others) == 1 else "findings that follow"
            yield f"    and {len(others)} {follow}: {brief(others)}"


def where_of(finding: Finding) -> str:
    """The place as editors link it, "gemm.py:12"; "" if the finding has none."""
    if finding.place:
        return link(finding.place)
    return f"line {finding.ptx_line} of the PTX" if finding.ptx_line else ""


def brief(findings: Sequence[Finding]) -> str:
    """The places of findings by their kinds: "unwaited at gemm.py:12, 40, deadlock at gemm.py:50"."""
    lines: dict[tuple[str, str], dict[str, None]] = {}
    for one in findings:
        file, _, line = (where_of(one) or "the end").rpartition(":")
        lines.setdefault((one.kind, file), {})[line] = None
    return ", ".join(f"{kind} at {file + ':' if file else ''}{', '.join(at)}" for (kind, file), at in lines.items())


def launch_name(launch: LaunchReport) -> str:
    """Its kernel, the line that launched it, and the test that did."""
    at = f", launched at {link(launch.launched_at)}" if launch.launched_at else ""
    return f"{launch.kernel or 'kernel'}{at}{f' in {launch.test}' if launch.test else ''}"


def launch_size(launch: LaunchReport) -> str:
    blocks = number_of(launch.blocks, "block")
    return f"{blocks}, {launch.instructions:,} warp instructions" if launch.issued else blocks


def link(place: SourceLine) -> str:
    return f"{near(place.file)}:{place.line}"


def near(file: str) -> str:
    """A file's path, relative to the working directory where it lies below it."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def cost_lines(launch: LaunchReport) -> list[str]:
    """The accesses of each source line by one opcode, "ld.shared" or "ldmatrix", to one space: their cost over the
    launch, marked if it is more than necessary."""
    taken, needed = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
    for access in launch.accesses:
        key = str(access.place or "lines without debug information"), access.name, access.space
        taken[key] += access.taken
        needed[key] += access.needed
    return [
        f"{'!' if cost > needed[place, opcode, space] else ' '} {opcode:9} {cost:>9,} {UNITS[space]:10} "
        f"of {needed[place, opcode, space]:,} needed: {shortened(place, WIDEST)}"
        for (place, opcode, space), cost in taken.items()
    ]


def fingerprint(finding: Finding, kernel: str) -> str:
    """What stays of a finding when lines are added above it: its kernel, kind, file and quoted lines."""
    places = [f"{Path(place.file).name} {place.text}" for place in (finding.place, finding.other) if place]
    known = [kernel, finding.kind, *(places or [re.sub(r"\d[\d,]*", "#", str(finding.message))])]
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]


def findings_data(launch: LaunchReport, number: int) -> Iterator[dict[str, Any]]:
    """By causes; "follows": of a cause's other findings, its fingerprint."""
    for group in causes(launch.findings):
        first, *others = [fingerprint(finding, launch.kernel) for finding in group]
        for finding, mark, follows in zip(group, (first, *others), (None, *[first] * len(others)), strict=True):
            yield vars(finding) | {"launch": number, "fingerprint": mark, "follows": follows}


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_result(first: Finding, others: Sequence[Finding], launch: LaunchReport) -> dict[str, Any]:
    place = first.place or launch.launched_at
    related = [(first.other, "the other access"), *((one.place, str(one.message)) for one in others)]
    return {
        "ruleId": first.kind.value,
        "level": "error",
        "message": {"text": str(first)},
        "locations": [location(place)] if place else [],
        "relatedLocations": [location(at) | {"message": {"text": text}} for at, text in related if at],
        "partialFingerprints": {"finding/v1": fingerprint(first, launch.kernel)},
    }


def location(place: SourceLine) -> dict[str, Any]:
    """Its file relative to the working directory, where it lies below it, as GitHub wants paths."""
    path = Path(near(place.file))
    uri = path.as_uri() if path.is_absolute() else path.as_posix()
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": place.line}}}

"""The results of a simulation: findings, counts and outputs, as text and as JSON."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tutorlib.simulate.ptx.findings import Finding, SourceLine
from tutorlib.simulate.ptx.report import Report as LaunchReport

if TYPE_CHECKING:
    from torch import Tensor

UNITS = {"shared": "wavefronts", "global": "sectors"}
WIDEST = 96  # letters of a source line


@dataclass(frozen=True)
class Report:
    """What a kernel's launches did.

    arch: the compute capability that they were compiled for, "80" or "90a".
    launches: a report for each, in order. outputs: the tensors that the launches changed, by the names of the
        arguments; of a Python function that returns tensors, these: "result", or "result 0" and so on.
    A picture of the first block of each launch: `tutorlib.draw.simulated.picture_of(report.launches)`, after a
    simulation with traced=True.
    """

    arch: str
    launches: tuple[LaunchReport, ...]
    outputs: "Mapping[str, Tensor]" = field(repr=False)

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

    def to_json(self) -> str:
        """The report as a JSON object; its outputs as shapes and dtypes."""
        return json.dumps(self.as_data(), indent=2)

    def as_data(self) -> dict[str, Any]:
        """The object of `to_json`."""
        return {
            "arch": self.arch,
            "launches": len(self.launches),
            "counts": self.counts,
            "findings": [finding_data(finding) for finding in self.findings],
            "accesses": [access_data(*one) for launch in self.launches for one in costs(launch)],
            "outputs": {
                name: {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}
                for name, tensor in self.outputs.items()
            },
        }

    def __str__(self) -> str:
        found = len(self.findings)
        launches = f"{len(self.launches)} launch{'' if len(self.launches) == 1 else 'es'}"
        said = "no finding" if not found else f"{found} finding{'' if found == 1 else 's'}"
        lines = (line for launch in self.launches for line in launch_lines(launch))
        return "\n".join([f"sm_{self.arch}: {launches}, {said}", *lines])


def launch_lines(launch: LaunchReport) -> Iterator[str]:
    """A launch in lines: its size, its findings, the accesses that cost more than they must."""
    yield launch_size(launch)
    yield from launch.printed
    for finding in launch.findings:
        yield f"✗ {finding.kind}: {finding.message}"
        if finding.place:
            yield f"    {line_links(finding.place)}"
        elif finding.ptx_line:
            yield f"    line {finding.ptx_line} of the PTX"
    yield from (f"! {repeat}" for repeat in launch.repeats)
    yield from (line for line in cost_lines(launch) if line.startswith("!"))


def launch_size(launch: LaunchReport) -> str:
    blocks = f"{launch.blocks:,} block{'s' if launch.blocks != 1 else ''}"
    return f"{blocks}, {launch.instructions:,} warp instructions" if launch.issued else blocks


def line_links(place: SourceLine) -> str:
    """The place as editors link it, and the lines that led there: "gemm.py:12: x = y, called from gemm.py:40"."""
    callers = "".join(f", called from {near(file)}:{line}" for file, line in place.called_from)
    return f"{near(place.file)}:{place.line}: {place.text}{callers}"


def near(file: str) -> str:
    """A file's path, relative to the working directory where it lies below it."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def cost_lines(launch: LaunchReport) -> list[str]:
    """The cost of the accesses of each source line over the launch, marked if it is more than necessary."""
    return [
        f"{'!' if taken > needed else ' '} {opcode:9} {taken:>9,} {UNITS[space]:10} of {needed:,} needed: "
        + cut(str(place or "lines without debug information"))
        for place, opcode, space, taken, needed in costs(launch)
    ]


Cost = tuple[SourceLine | None, str, str, int, int]  # line, opcode, space, taken, needed


def costs(launch: LaunchReport) -> list[Cost]:
    """The accesses of each source line by one opcode to one space, summed over the launch."""
    sums: dict[tuple[str, str, str], Cost] = {}
    for access in launch.accesses:
        opcode = short(access.opcode)
        key = str(access.place), opcode, access.space
        place, _, _, taken, needed = sums.get(key, (access.place, opcode, access.space, 0, 0))
        sums[key] = place, opcode, access.space, taken + access.taken, needed + access.needed
    return list(sums.values())


def short(opcode: str) -> str:
    """ "ld.shared.v4.b32" as "ld.shared", "cp.async.cg.shared.global" as "cp.async"."""
    return ".".join(opcode.split(".")[: 1 if opcode.startswith("ldmatrix") else 2])


def cut(line: str) -> str:
    return line if len(line) <= WIDEST else f"{line[: WIDEST - 1]}…"


def finding_data(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind.value,
        "message": str(finding.message),
        **place_data(finding.place),
        "ptx_line": finding.ptx_line or None,
        "threads": finding.count,
    }


def access_data(place: SourceLine | None, opcode: str, space: str, taken: int, needed: int) -> dict[str, Any]:
    return {"opcode": opcode, "unit": UNITS[space], "taken": taken, "needed": needed, **place_data(place)}


def place_data(place: SourceLine | None) -> dict[str, Any]:
    if place is None:
        return {"file": None, "line": None, "text": None, "called_from": []}
    called_from: Sequence[tuple[str, int]] = place.called_from
    return {
        "file": place.file,
        "line": place.line,
        "text": place.text,
        "called_from": [{"file": file, "line": line} for file, line in called_from],
    }

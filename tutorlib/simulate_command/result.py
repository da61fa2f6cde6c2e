"""The results of `tutor simulate`, as text, JSON, SARIF, and a picture."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tutorlib.simulate.arguments import BadInput, one_line
from tutorlib.simulate.report import Report, number_of, to_sarif

PICTURES = (".svg", ".png")
Format = Literal["text", "json", "sarif"]


@dataclass(frozen=True)
class CommandResult:
    """wrong: sentences about the outputs, or about how the command ended. reference: what the outputs were compared
    with, or "". known: of the findings, those that the baseline has, which are not in the report.
    """

    report: Report
    wrong: tuple[str, ...] = ()
    reference: str = ""
    known: int = 0

    @property
    def failed(self) -> bool:
        return bool(self.report.findings or self.wrong)

    def after(self, baseline: Path | None) -> "CommandResult":
        """Without the findings of a baseline, a report in JSON. Raises BadInput if it is none."""
        if baseline is None:
            return self
        try:
            known = {one["fingerprint"] for one in json.loads(baseline.read_text(encoding="utf-8"))["findings"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(f"--baseline {baseline}: no report that --format json wrote ({one_line(error)})") from None
        report = self.report.without(known)
        return replace(self, report=report, known=len(self.report.findings) - len(report.findings))

    def formatted(self, format: Format) -> str:
        if format == "sarif":
            return to_sarif(self.report)
        if format == "json":
            extra = {"reference": self.reference, "wrong": list(self.wrong), "known": self.known}
            return json.dumps(self.report.as_data() | extra, indent=2)
        equal = [f"✓ equal to {self.reference}"] if self.reference and not self.wrong else []
        known = [f"  {number_of(self.known, 'known finding')}"] if self.known else []
        verdict = [*self.report.verdict_lines(), *known, *(f"✗ {one}" for one in self.wrong), *equal]
        return "\n".join([*verdict, *self.report.cost_lines()])


def together(results: Sequence[CommandResult]) -> CommandResult:
    """The results of several targets as one."""
    first, *others = results
    if not others:
        return first
    launches = tuple(launch for one in results for launch in one.report.launches)
    report = Report(", ".join(dict.fromkeys(one.report.arch for one in results)), launches, {})
    return replace(first, report=report, wrong=tuple(wrong for one in results for wrong in one.wrong))


def check_picture(file: Path | None) -> None:
    if file and file.suffix not in PICTURES:
        raise BadInput(f"--picture {file}: name a file that ends in {' or '.join(PICTURES)}")


def save_picture(report: Report, file: Path) -> None:
    """The first block of each launch. Raises BadInput."""
    try:
        from tutorlib.draw.simulated import picture_of
    except ModuleNotFoundError as error:
        raise BadInput(f"--picture: the simulator alone draws none, for it lacks {error.name}") from None
    drawn = picture_of(report.launches)
    if drawn is None:
        raise BadInput("--picture: cuTile's kernels are interpreted tile by tile, which gives no picture")
    try:
        drawn.savefig(file)
    except OSError as error:
        raise BadInput(f"--picture {file}: {error.strerror}") from None

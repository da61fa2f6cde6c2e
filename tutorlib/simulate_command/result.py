"""The results of `tutor simulate`, as text, JSON and SARIF."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tutorlib.simulate.arguments import BadInput, one_line
from tutorlib.simulate.report import Report, number_of, to_sarif

Format = Literal["text", "json", "sarif"]


@dataclass(frozen=True)
class CommandResult:
    """wrong: sentences about unwritten outputs, or about how the command ended. known: how many findings the baseline
    has, which are not in the report.
    """

    report: Report
    wrong: tuple[str, ...] = ()
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
            extra = {"wrong": list(self.wrong), "known": self.known}
            return json.dumps(self.report.as_data() | extra, indent=2)
        known = [f"  {number_of(self.known, 'known finding')}"] if self.known else []
        verdict = [*self.report.verdict_lines(), *known, *(f"✗ {one}" for one in self.wrong)]
        return "\n".join([*verdict, *self.report.cost_lines()])


def together(results: Sequence[CommandResult]) -> CommandResult:
    """The results of several targets as one."""
    first, *others = results
    if not others:
        return first
    launches = tuple(launch for one in results for launch in one.report.launches)
    report = Report(", ".join(dict.fromkeys(one.report.arch for one in results)), launches, {})
    return replace(first, report=report, wrong=tuple(wrong for one in results for wrong in one.wrong))

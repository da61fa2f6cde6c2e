"""`tutor simulate`: a script as it is, or a kernel of a file on random tensors and its outputs against a reference."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tutorlib.simulate.bad_input import BadInput, one_line, parse_arch
from tutorlib.simulate.child import Crashed, in_own_process, signal_name
from tutorlib.simulate.report import Report, number_of
from tutorlib.simulate.sarif import to_sarif
from tutorlib.simulate.stand_in.script import run_script

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


def simulate_command(
    command: Sequence[str], arch: str, format: Format, picture: Path | None, keep: Path | None, exact: bool = False
) -> CommandResult:
    """A script, pytest or another command, unchanged. Its output goes to stderr where stdout is for data.

    Raises BadInput if it launches nothing.
    """
    check_picture(picture)
    try:
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
        run = run_script(command, parse_arch(arch), bool(picture), format != "text", keep, exact)
    except OSError as error:
        raise BadInput(f"{error.filename or command[0]}: {error.strerror}") from None
    crash = signal_name(run.status)
    ended = f"crashes: {crash}" if crash else f"ends with status {run.status}" if run.status else ""
    said = shlex.join(command)
    if not run.launches:
        raise BadInput(f"{said} {ended or 'launches no kernel'}" + (" and launches no kernel" if ended else ""))
    stopped = sum(bool(launch.stopped) for launch in run.launches)
    wrong = [f"{number_of(stopped, 'launch', 'launches')} could not be simulated"] if stopped else []
    wrong += [f"{said} {ended}"] if ended else []
    done = CommandResult(Report(parse_arch(arch), run.launches, {}), tuple(wrong))
    if picture:
        save_picture(done.report, picture)
    return done


def simulate_alone(target: str, format: Format, baseline: Path | None, **options: Any) -> tuple[str, bool]:
    """`simulate_target` in a process of its own: its text, and whether it failed. Raises BadInput."""

    def task() -> tuple[str, bool]:
        from tutorlib.simulate_command.target import simulate_target

        done = simulate_target(target, **options).after(baseline)
        return done.formatted(format), done.failed

    try:
        return in_own_process(task)
    except Crashed as error:
        raise BadInput(f"{target} crashes while it is simulated: {error}") from None


def check_picture(file: Path | None) -> None:
    if file and file.suffix not in PICTURES:
        raise BadInput(f"--picture {file}: name a file that ends in {' or '.join(PICTURES)}")


def save_picture(report: Report, file: Path) -> None:
    """The first block of each launch. Raises BadInput."""
    from tutorlib.draw.simulated import picture_of

    drawn = picture_of(report.launches)
    if drawn is None:
        raise BadInput("--picture: cuTile's kernels are interpreted tile by tile, which gives no picture")
    try:
        drawn.savefig(file)
    except OSError as error:
        raise BadInput(f"--picture {file}: {error.strerror}") from None

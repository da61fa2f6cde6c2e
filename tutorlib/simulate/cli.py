"""`tutor simulate`, a part of the course's command line, and the whole of the one in the simulator's own wheel."""

import json
import re
import shlex
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from tutorlib.simulate.report import Report


class BadInput(ValueError):
    """Something on the command line is wrong. One line, which says what to write instead."""


def simulate(
    command: Annotated[list[str], typer.Argument(help="A script or test, as it is: python test.py.", metavar="-- COMMAND")],
    arch: Annotated[str, typer.Option(help="Compute capability to compile for: 80, 90a, 100a.")] = "80",
    format: Annotated[Literal["text", "json", "sarif"], typer.Option(help="Format of the report.")] = "text",
    baseline: Annotated[
        Path | None, typer.Option(help="A report in JSON: its findings are known, and do not fail.")
    ] = None,
) -> None:
    """Run a script or test without a GPU: every kernel launch is simulated, and its hazards are reported by line.

    tutor simulate --arch 90a -- python test.py

    Exit status 0: nothing found; 1: findings, or a command that fails; 2: nothing was simulated.
    """
    try:
        report = simulate_script(command, parse_arch(arch), quiet=format != "text")
        if baseline:
            report = report.without(read_baseline(baseline))
    except BadInput as error:
        typer.secho(str(error), fg="red", err=True)
        raise typer.Exit(2) from None
    typer.echo({"text": report.__str__, "json": report.to_json, "sarif": report.to_sarif}[format]())
    raise typer.Exit(1 if report.findings or report.wrong else 0)


def simulate_script(command: Sequence[str], arch: str, quiet: bool) -> "Report":
    """Run a script, pytest or another command, unchanged. quiet: its output goes to stderr.

    Raises BadInput if it launches nothing.
    """
    from tutorlib.simulate.report import Report, number_of
    from tutorlib.simulate.stand_in.script import run_script

    try:
        launches, status = run_script(command, arch, quiet)
    except OSError as error:
        raise BadInput(f"{error.filename or command[0]}: {error.strerror}") from None
    crash = signal_name(status)
    ended = f"crashes: {crash}" if crash else f"ends with status {status}" if status else ""
    said = shlex.join(command)
    if not launches:
        raise BadInput(f"{said} {f'{ended} and ' if ended else ''}launches no kernel{lacks_letter(arch)}")
    stopped = sum(bool(launch.stopped) for launch in launches)
    wrong = [f"{number_of(stopped, 'launch', 'launches')} could not be simulated"] if stopped else []
    wrong += [f"{said} {ended}"] if ended else []
    return Report(arch, launches, wrong=tuple(wrong))


def parse_arch(text: str) -> str:
    """ "90a", or "sm_90a". Raises BadInput."""
    arch = text.removeprefix("sm_")
    if not re.fullmatch(r"\d{2,3}[af]?", arch):
        raise BadInput(f"--arch {text}: a compute capability is 80 (Ampere), 90a (Hopper) or 100a (Blackwell)")
    return arch


def lacks_letter(arch: str) -> str:
    """A hint, of an architecture that leaves out the instructions that only its GPU has: wgmma, tcgen05."""
    return f" (--arch {arch}a has more instructions)" if arch.isdigit() and int(arch) >= 90 else ""


def read_baseline(file: Path) -> set[str]:
    """The fingerprints of the findings of a report in JSON. Raises BadInput if it is none."""
    try:
        return {one["fingerprint"] for one in json.loads(file.read_text(encoding="utf-8"))["findings"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"--baseline {file}: no report that --format json wrote ({error!r})") from None


def signal_name(status: int) -> str:
    """Of a process's exit status: the signal that ended it, also as a shell tells it; "" if none did."""
    number = -status if status < 0 else status - 128
    return signal.strsignal(number) or "" if number in set(signal.Signals) else ""


def add_to(app: typer.Typer) -> None:
    app.command(context_settings={"allow_interspersed_args": False})(simulate)


app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.callback()(lambda: None)  # so that `simulate` is named, though it is the only command
add_to(app)

"""`tutor simulate`: an unchanged command, or a target in a process of its own."""

import multiprocessing
import shlex
import signal
import sys
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from pathlib import Path
from typing import Any

from tutorlib.simulate.arguments import BadInput, lacks_letter, parse_arch
from tutorlib.simulate.report import Report, number_of
from tutorlib.simulate.stand_in.script import run_script
from tutorlib.simulate_command.result import CommandResult, Format, together
from tutorlib.simulate_command.target import simulate_target


def simulate_script(command: Sequence[str], arch: str, format: Format, keep: Path | None) -> CommandResult:
    """A script, pytest or another command, unchanged. Its output goes to stderr where stdout is for data.

    Raises BadInput if it launches nothing.
    """
    try:
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
        run = run_script(command, parse_arch(arch), format != "text", keep)
    except OSError as error:
        raise BadInput(f"{error.filename or command[0]}: {error.strerror}") from None
    crash = signal_name(run.status)
    ended = f"crashes: {crash}" if crash else f"ends with status {run.status}" if run.status else ""
    said = shlex.join(command)
    if not run.launches:
        nothing = f"{ended} and launches no kernel{lacks_letter(arch)}" if ended else "launches no kernel"
        raise BadInput(f"{said} {nothing}")
    stopped = sum(bool(launch.stopped) for launch in run.launches)
    wrong = [f"{number_of(stopped, 'launch', 'launches')} could not be simulated"] if stopped else []
    wrong += [f"{said} {ended}"] if ended else []
    return CommandResult(Report(parse_arch(arch), run.launches, {}), tuple(wrong))


def simulate_alone(targets: Sequence[str], format: Format, baseline: Path | None, **options: Any) -> tuple[str, bool]:
    """`simulate_target` of each in a process of their own: the text, and whether any failed. Raises BadInput."""
    try:
        with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as process:
            return process.submit(simulated_text, targets, format, baseline, options).result()
    except BrokenProcessPool:
        raise BadInput(f"{' '.join(targets)} crashes while it is simulated") from None


def simulated_text(
    targets: Sequence[str], format: Format, baseline: Path | None, options: dict[str, Any]
) -> tuple[str, bool]:
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)  # a forked process lacks the threads of the pool that its parent has
    done = together([simulate_target(one, **options) for one in targets]).after(baseline)
    return done.formatted(format), done.failed


def signal_name(status: int) -> str:
    """Of a process's exit status: the signal that ended it, also as a shell tells it; "" if none did."""
    number = -status if status < 0 else status - 128
    return signal.strsignal(number) or "" if number in set(signal.Signals) else ""

"""`tutor simulate`: an unchanged command, or a kernel of a file on random tensors, in a process of its own."""

import multiprocessing
import shlex
import signal
import sys
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from tutorlib.compiling.errors import CompileFailed, ToolMissing
from tutorlib.simulate.arguments import (
    BadInput,
    lacks_letter,
    load_target,
    one_line,
    parse_arch,
    parse_argument,
    parse_sizes,
)
from tutorlib.simulate.poison import is_poison
from tutorlib.simulate.report import Report, number_of
from tutorlib.simulate.stand_in.script import run_script
from tutorlib.simulate.tool import argument_names, simulate
from tutorlib.simulate_command.result import CommandResult, Format, together


def simulate_script(command: Sequence[str], arch: str, format: Format) -> CommandResult:
    """A script, pytest or another command, unchanged. Its output goes to stderr where stdout is for data.

    Raises BadInput if it launches nothing.
    """
    try:
        run = run_script(command, parse_arch(arch), format != "text")
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


def simulate_target(
    target: str, arguments: Sequence[str], arch: str, grid: str, block: str, cluster: str, smem: int, seed: int
) -> CommandResult:
    """Everything as the command line has it. Raises BadInput if nothing was simulated."""
    generator = np.random.default_rng(seed)
    given = [parse_argument(text, generator) for text in arguments]
    launch: dict[str, Any] = {
        "arch": parse_arch(arch),
        "grid": parse_sizes("--grid", grid),
        "block": parse_sizes("--block", block),
        "cluster": parse_sizes("--cluster", cluster),
    }
    kernel, entry = load_target(target)
    try:
        values = [one.value if isinstance(kernel, Path) else one.for_torch for one in given]
        report = simulate(kernel, *values, **launch, smem=smem, entry=entry)
        names = argument_names(kernel, len(given), entry)
    except CompileFailed as error:
        raise BadInput(
            f"{target} does not compile for sm_{arch}{lacks_letter(launch['arch'])}: {' '.join(error.lines)}"
        ) from error
    except (ValueError, TypeError, NotImplementedError, ModuleNotFoundError, ToolMissing) as error:
        raise BadInput(f"{target}: {error}") from error
    except Exception as error:  # of cuTile's compiler, and of the user's own code
        raise BadInput(f"{target} raises {one_line(error)}") from error
    masks = {name: is_poison(one.value) for name, one in zip(names, given, strict=True) if one.is_output}
    unwritten = (
        f"{name}: {int(mask.sum()):,} of {number_of(mask.size, 'element')} are never written"
        for name, mask in masks.items()
        if mask.any()
    )
    return CommandResult(report, tuple(unwritten))


def signal_name(status: int) -> str:
    """Of a process's exit status: the signal that ended it, also as a shell tells it; "" if none did."""
    number = -status if status < 0 else status - 128
    return signal.strsignal(number) or "" if number in set(signal.Signals) else ""

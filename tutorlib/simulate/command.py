"""`tutor simulate -- COMMAND`: an unchanged command, whose launches are simulated."""

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tutorlib.compiling.errors import without_colours
from tutorlib.simulate.stand_in.script import run_script

if TYPE_CHECKING:
    from tutorlib.simulate.report import Report


class BadInput(ValueError):
    """Something on the command line is wrong. One line, which says what to write instead."""


def parse_arch(text: str) -> str:
    """ "90a", or "sm_90a". Raises BadInput."""
    arch = text.removeprefix("sm_")
    if not re.fullmatch(r"\d{2,3}[af]?", arch):
        raise BadInput(f"--arch {text}: a compute capability is 80 (Ampere), 90a (Hopper) or 100a (Blackwell)")
    return arch


def one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {without_colours(str(error))}".split())


def simulate_script(command: Sequence[str], arch: str, quiet: bool) -> "Report":
    """Run a script, pytest or another command, unchanged. quiet: its output goes to stderr.

    Raises BadInput if it launches nothing.
    """
    try:
        launches, status = run_script(command, arch, quiet)
    except OSError as error:
        raise BadInput(f"{error.filename or command[0]}: {error.strerror}") from None
    from tutorlib.simulate.report import Report, stops

    said, ended = shlex.join(command), f"ends with status {status}" if status else ""
    if not launches:
        raise BadInput(f"{said} {f'{ended} and ' if ended else ''}launches no kernel")
    return Report(arch, launches, wrong=(*stops(launches), *([f"{said} {ended}"] if ended else [])))


def read_baseline(file: Path) -> set[str]:
    """The fingerprints of the findings of a report in JSON. Raises BadInput if it is none."""
    try:
        return {finding["fingerprint"] for finding in json.loads(file.read_text(encoding="utf-8"))["findings"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"--baseline {file}: no report that --format json wrote ({one_line(error)})") from None

"""compute-sanitizer: its tools on a command, and what they report."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from typing import Any

from tutorlib.compiling.errors import ToolMissing
from tutorlib.paths import ROOT

OPTIONS = {"memcheck": ("--report-api-errors", "no")}  # drivers are asked for functions that they lack: no fault
LINE = re.compile(r"(?m)^========= ?(.*)$")
COUNT = re.compile(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)")
BESIDE = ("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "LEAK SUMMARY", "Target application", "Error: No")


def run_within(command: Sequence[str], seconds: float) -> tuple[str, bool]:
    """What a command prints, and whether it had to be stopped after so many seconds, with the processes it started."""
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as running:
        try:
            return running.communicate(timeout=seconds)[0], False
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            return running.communicate()[0], True


def read_verdict(output: str) -> dict[str, Any]:
    """A tool's output. Its end is "finished" only with a summary."""
    said = [line.strip() for line in LINE.findall(output)]
    first = next((line for line in said if line and not line.startswith(BESIDE)), "")
    counts = COUNT.findall(output)
    return {
        "ended": "finished" if counts else "it printed no summary",
        "errors": int(counts[-1]) if counts else 0,
        "first": first if counts and int(counts[-1]) else "",
    }


def find_program() -> str:
    """compute-sanitizer's path. Raises ToolMissing."""
    homes = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    places = os.pathsep.join([os.environ.get("PATH", ""), *(f"{home}/bin" for home in homes if home)])
    program = shutil.which("compute-sanitizer", path=places)
    if program is None:
        raise ToolMissing("compute-sanitizer is not on the path: it comes with the CUDA toolkit")
    return program

"""Others' kernels, run by the command that users have.

python -m tests.outside.runs [PATTERN]    the cases whose names match: one line of JSON for each

A case is right if its program ends without an error: each compares its result with torch's. docs/coverage.md has what
came of them all.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tutorlib.compiling.errors import without_colours
from tutorlib.paths import ROOT

PYTHON = sys.executable
SECONDS = 240  # of one case


@dataclass(frozen=True)
class Source:
    """Others' kernels. variable: the environment variable that names a checkout of the repository."""

    name: str
    repository: str
    variable: str

    @property
    def checkout(self) -> Path:
        return Path(os.environ[self.variable]).resolve()

    @property
    def is_here(self) -> bool:
        return self.variable in os.environ


@dataclass(frozen=True)
class Case:
    """One kernel on small inputs.

    command: what `tutor simulate --` runs; it fails with an AssertionError where the result is not torch's. target:
    "sm_90a", for which it is compiled. folders: from which it imports.
    """

    source: Source
    name: str
    target: str
    command: tuple[str, ...]
    folders: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.source.name}: {self.name}"


@dataclass
class Outcome:
    """What came of a case.

    outcome: "right", "wrong" (not torch's result) or "stops". why: of the last two. findings: sentences, each with its
    line.
    """

    case: str
    target: str
    outcome: str
    why: str = ""
    launches: int = 0
    instructions: int = 0
    findings: list[str] = field(default_factory=list)
    seconds: float = 0.0


def all_cases() -> Iterator[Case]:
    """Of the sources that are here."""
    from tests.outside import programs, quack_kernels, triton_tutorials

    yield from programs.cases()
    for module in (quack_kernels, triton_tutorials):
        if module.SOURCE.is_here:
            yield from module.cases()


def run(case: Case) -> Outcome:
    started = time.monotonic()
    outcome = judged(case, *simulated(case))
    outcome.seconds = round(time.monotonic() - started, 1)
    return outcome


def simulated(case: Case) -> tuple[dict[str, Any], str]:
    """The report of `tutor simulate`, {} if there is none, and what it and the case print."""
    options = ["--arch", case.target.removeprefix("sm_"), "--format", "json"]
    command = [PYTHON, "-m", "tutorlib", "simulate", *options, "--", *case.command]
    folders = os.pathsep.join([*case.folders, str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": folders}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {}, f"not done in {SECONDS:.0f} s"
    return json.loads(done.stdout) if done.stdout.startswith("{") else {}, done.stderr


def judged(case: Case, report: dict[str, Any], printed: str) -> Outcome:
    outcome = Outcome(str(case), case.target, "right")
    if not report:
        outcome.outcome, outcome.why = "stops", last_line(printed)
        return outcome
    launches = report["launches"]
    outcome.launches, outcome.instructions = len(launches), sum(launch["instructions"] for launch in launches)
    outcome.findings = list(dict.fromkeys(sentence(finding) for finding in report["findings"]))
    if stopped := next(filter(None, (launch["stopped"] for launch in launches)), ""):
        outcome.outcome, outcome.why = "stops", stopped.replace(": this kernel needs a GPU", "")
    elif report["wrong"]:
        outcome.why = last_line(printed)
        outcome.outcome = "wrong" if re.search(r"(?m)^(E +)?AssertionError", printed) else "stops"
    return outcome


def sentence(finding: dict[str, Any]) -> str:
    place = finding["place"]
    at = f"line {place['line']}, `{place['text']}`" if place else f"line {finding['ptx_line']} of the PTX"
    return f"{finding['kind']}: {finding['message']} ({at})"


def last_line(printed: str) -> str:
    """What an exception says, else what is printed last, but for how the command ended."""
    lines = [line for line in without_colours(printed).splitlines() if line.strip() and PYTHON not in line]
    return next(
        (line for line in reversed(lines) if re.match(r"[\w.]*(error|exception|exit)\b", line, re.I)),
        "".join(lines[-1:]),
    )


if __name__ == "__main__":
    for case in all_cases():
        if re.search("".join(sys.argv[1:]), str(case)):
            print(json.dumps(asdict(run(case))), flush=True)

"""Running cases by the command that users have."""

import json
import os
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.outside.opcodes import opcodes_of
from tests.outside.table import PYTHON, Case
from tutorlib.compiling.errors import without_colours
from tutorlib.paths import ROOT
from tutorlib.simulate.kept import ENDING, KeptLaunch
from tutorlib.simulate.ptx.parse import parse_ptx

SECONDS = 240  # of one case


@dataclass
class Outcome:
    """What came of a case.

    outcome: "right", "wrong" (not torch's result) or "stops". why: of the last two. findings: sentences, each with its
    line. opcodes: whether the simulator knows them, by target.
    """

    source: str
    kernel: str
    target: str
    outcome: str
    why: str = ""
    launches: int = 0
    instructions: int = 0
    findings: list[str] = field(default_factory=list)
    seconds: float = 0.0
    opcodes: dict[str, dict[str, bool]] = field(default_factory=dict)


def run(case: Case) -> Outcome:
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        outcome = judged(case, *simulated(case, Path(folder)))
        opcodes: dict[str, bool] = {}
        for launch in kept_in(Path(folder)):
            for opcode, known in opcodes_of(parse_ptx(launch.ptx)).items():
                opcodes[opcode] = opcodes.get(opcode, True) and known
    outcome.seconds = round(time.monotonic() - started, 1)
    outcome.opcodes = {case.target: opcodes} if opcodes else {}
    return outcome


def simulated(case: Case, keep: Path) -> tuple[dict[str, Any], str]:
    """The report of `tutor simulate`, {} if there is none, and what it and the case print. keep: for the launches."""
    options = ["--arch", case.target.removeprefix("sm_"), "--format", "json", "--keep", str(keep)]
    command = [PYTHON, "-m", "tutorlib", "simulate", *options, "--", *case.command]
    folders = os.pathsep.join([*case.folders, str(ROOT), os.environ.get("PYTHONPATH", "")])
    try:
        done = subprocess.run(
            command, env=os.environ | {"PYTHONPATH": folders}, capture_output=True, text=True, timeout=SECONDS, cwd=keep
        )
    except subprocess.TimeoutExpired:
        return {}, f"not done in {SECONDS:.0f} s"
    return json.loads(done.stdout) if done.stdout.startswith("{") else {}, done.stderr


def judged(case: Case, report: dict[str, Any], printed: str) -> Outcome:
    outcome = Outcome(case.source.name, case.name, case.target, "right")
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
    at = f"line {finding['line']}, `{finding['text']}`" if finding["line"] else f"line {finding['ptx_line']} of the PTX"
    return f"{finding['kind']}: {finding['message']} ({at})"


def last_line(printed: str) -> str:
    """What an exception says, else what is printed last, but for how the command ended."""
    lines = [line for line in without_colours(printed).splitlines() if line.strip() and PYTHON not in line]
    return next(
        (line for line in reversed(lines) if re.match(r"[\w.]*(error|exception|exit)\b", line, re.I)),
        "".join(lines[-1:]),
    )


def kept_in(folder: Path) -> list[KeptLaunch]:
    return [KeptLaunch.read(file) for file in sorted(folder.glob(f"*{ENDING}"))]

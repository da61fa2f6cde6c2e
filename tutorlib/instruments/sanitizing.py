"""compute-sanitizer's reports on the broken kernels of notebook 18: `tutor sweep sanitizer`.

It needs a GPU, and compute-sanitizer of the CUDA toolkit. Every tool runs every bug in a process of its own, some
minutes for all, at the shape that its report is about. The verdicts go to figures/data/sweeps/GPU_sanitizer.json.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

from tutorlib.compiling.errors import CompileFailed, ToolMissing
from tutorlib.instruments.processes import command_of
from tutorlib.kernels.bugs.catalogue import BUGS
from tutorlib.machine import device
from tutorlib.machine.versions import this_machine
from tutorlib.measuring.bug_launchers import launcher_of
from tutorlib.measuring.recorded import SANITIZER, TOOLS
from tutorlib.measuring.results import sweep_file, write_json
from tutorlib.paths import ROOT
from tutorlib.problems.work import Work

OPTIONS = {"memcheck": ("--report-api-errors", "no")}  # drivers are asked for functions that they lack: no fault
TIME_LIMIT_S = 90
REFUSED = "it is not launched, since it does not compile"
TOGETHER = 4  # runs at a time: most of a run is imports
LINE = re.compile(r"(?m)^========= ?(.*)$")
COUNT = re.compile(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)")
BESIDE = ("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "LEAK SUMMARY", "Target application", "Error: No")


def launch_once(name: str) -> None:
    """One call of the broken kernel on the GPU, at the shape that its report is about, on random inputs.

    Prints REFUSED where it does not compile.
    """
    import torch

    bug = BUGS[name]
    work = Work(bug.problem, bug.wrong_at)
    work.refill(torch.Generator(work.output.tensor.device).manual_seed(0))
    try:
        call = launcher_of(bug, bug.source).on(work)
    except CompileFailed as error:
        print(f"{REFUSED}: {error}")
        return
    call()
    torch.cuda.synchronize()


def sanitize(program: str, tool: str, name: str) -> dict[str, Any]:
    """One tool's verdict on one bug, as JSON has it: how the run ended, how many errors, the first of them."""
    launch = command_of(launch_once, name)
    environment = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}  # else all tensors are one allocation
    output, hung = run_within([program, "--tool", tool, *OPTIONS.get(tool, ()), *launch], TIME_LIMIT_S, environment)
    if hung:
        return read_verdict(output) | {"ended": f"it hung: stopped after {TIME_LIMIT_S} s"}
    if REFUSED in output:
        return {"ended": "it does not compile", "errors": 0, "first": ""}
    return read_verdict(output)


def run_within(
    command: Sequence[str], seconds: float, environment: Mapping[str, str] | None = None
) -> tuple[str, bool]:
    """What a command prints, and whether it had to be stopped after so many seconds, with the processes it started."""
    with subprocess.Popen(
        command, cwd=ROOT, env=os.environ | (environment or {}), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    ) as running:  # fmt: skip
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


def record() -> Path:
    """Every tool on every bug, into this GPU's file. Raises ToolMissing."""
    program, gpu = find_program(), device.need_gpu()
    verdicts: dict[str, dict[str, Any]] = {name: {} for name, bug in BUGS.items() if not device.why_not(bug.needs)}
    runs = [(tool, name) for name in verdicts for tool in TOOLS]
    with ThreadPoolExecutor(TOGETHER) as pool:
        for (tool, name), verdict in zip(runs, pool.map(lambda run: sanitize(program, *run), runs), strict=True):
            verdicts[name][tool] = verdict
            print(f"{name} {tool}: {verdict}", flush=True)
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    data = {"machine": this_machine(), "date": date.today().isoformat(), "compute_sanitizer": version.splitlines()[-1]}
    return write_json(sweep_file(gpu.name, SANITIZER), data | {"verdicts": verdicts})

"""Others' kernels, and the faults planted in them, on a GPU: its results, its counters and compute-sanitizer's reports.

python -m tests.outside.gpu_runs FOLDER    FOLDER: what `python -m tests.outside pack FOLDER` wrote

It needs a GPU, ptxas of the package nvidia-cuda-nvcc, and of the CUDA toolkit compute-sanitizer and ncu. What it finds
goes to figures/data/sweeps/GPU_outside.json; `python -m tests.outside page` makes tables of that.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from tests.outside.beside_gpu import COUNTERS, HUNG, NAME
from tests.outside.coverage import FAULTS_DATA
from tests.outside.faults import EACH, mutants_of
from tests.outside.sanitizer import OPTIONS, find_program, read_verdict, run_within
from tutorlib.compiling.outside import packaged_program
from tutorlib.machine.device import this_machine
from tutorlib.measuring import counters
from tutorlib.measuring.results import TOOLS, sweep_file, write_json
from tutorlib.simulate.kept import ENDING, KeptLaunch

RUNS = 200  # of each kernel and mutant without a tool
ALONE_S, TOOL_S = 60, 60  # after which these, and one launch under a tool, are stopped
HUNG_S = 25  # the same for a tool where the launch alone did not end
LINE_NUMBER = re.compile(r"\+0x[0-9a-f]+ in \S+:\d+")  # "at kernel+0x20 in file.py:12"
APPROXIMATE = re.compile(r"\b\w+\.(?:approx|full)\b")


@dataclass(frozen=True, eq=False)
class Program:
    """A packed launch with machine code in a file: the kernel's own, or a mutant's, whose fault is then named."""

    file: Path
    packed: KeptLaunch
    cubin: Path
    ptx: str
    fault: dict[str, Any] = field(default_factory=dict)

    @property
    def named(self) -> dict[str, Any]:
        approximate = {} if self.fault else {"approximate": sorted(set(APPROXIMATE.findall(self.ptx)))}
        return {"case": self.packed.label, "kernel": self.packed.kernel, **self.fault, **approximate}

    def command(self, times: int = 1) -> list[str]:
        return [sys.executable, "-m", "tests.outside.packed", str(times), str(self.file), str(self.cubin)]


def programs_of(file: Path, planted: Iterable[str], folder: Path) -> list[Program]:
    """The kernel, then its mutants if its case is among the planted ones."""
    packed = KeptLaunch.read(file)
    stem = file.name.partition(".")[0]
    programs = [Program(file, packed, folder / f"{stem}.cubin", packed.ptx)]
    for number, (fault, found, text) in enumerate(
        mutants_of(packed.ptx, packed.kernel, EACH) if packed.label in planted else ()
    ):
        line = packed.ptx.count("\n", 0, found.start()) + 1
        named = {"fault": fault, "line": line, "statement": " ".join(found[0].split())}
        programs.append(Program(file, packed, folder / f"{stem}_{number}.cubin", text, named))
    return programs


def assemble(program: Program) -> str:
    """Writes its machine code, with line numbers. Returns ptxas's complaint, if it has one."""
    arch = "sm_90a" if ".target sm_90a" in program.ptx else "sm_90"
    source = program.cubin.with_suffix(".ptx")
    source.write_text(program.ptx, encoding="utf-8")
    ptxas = packaged_program("nvidia-cuda-nvcc", "ptxas")
    command = [ptxas, "--generate-line-info", "--gpu-name", arch, "--output-file", program.cubin, source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else " ".join(done.stderr.split())[:240]


def run_alone(program: Program) -> dict[str, Any]:
    """What came of the launches without a tool: the distance from the simulator's result, or an error."""
    if refused := assemble(program):
        return {"error": refused}
    output, hung = run_within(program.command(RUNS), ALONE_S)
    return {"error": HUNG} if hung else last_json(output)


def last_json(output: str) -> dict[str, Any]:
    lines = output.splitlines()
    try:
        return json.loads(lines[-1])  # type: ignore[no-any-return]
    except (IndexError, ValueError):
        return {"error": " ".join(lines[-1:])[:240] or "it printed nothing"}


def run_under(sanitizer: str, tool: str, program: Program, seconds: float) -> dict[str, Any]:
    """A tool's verdict. line: whether what it reports names a line of the source."""
    output, hung = run_within([sanitizer, "--tool", tool, *OPTIONS.get(tool, ()), *program.command()], seconds)
    verdict = read_verdict(output)
    first = re.sub(r"/\S*/", "", verdict["first"])
    verdict |= {"first": first, "line": bool(verdict["errors"] and LINE_NUMBER.search(output))}
    return verdict | ({"ended": HUNG} if hung else {})


def run_all(groups: Sequence[Sequence[Program]], sanitizer: str) -> list[dict[str, Any]]:
    """Each program alone, and under the tools those kernels that have mutants, and these. groups: as `programs_of`."""
    programs = [program for group in groups for program in group]
    with ThreadPoolExecutor(max(os.cpu_count() or 1, 4)) as pool:
        alone = dict(zip(programs, pool.map(run_alone, programs), strict=True))
        print(f"{len(programs)} programs ran", flush=True)
        runs = [
            (program, tool)
            for group in groups if len(group) > 1
            for program in group if program.cubin.exists()
            for tool in TOOLS
        ]  # fmt: skip
        runs.sort(key=lambda run: hangs(alone[run[0]]))  # those that hang take time from the others
        verdicts = pool.map(
            lambda run: run_under(sanitizer, run[1], run[0], HUNG_S if hangs(alone[run[0]]) else TOOL_S), runs
        )
        tools: dict[Program, dict[str, Any]] = {program: {} for program in programs}
        for (program, tool), verdict in zip(runs, verdicts, strict=True):
            tools[program][tool] = verdict
    return [program.named | alone[program] | {"tools": tools[program]} for program in programs]


def hangs(result: dict[str, Any]) -> bool:
    return result.get("error") == HUNG


def countable(metrics: Sequence[str]) -> list[str]:
    """Those of them that ncu can count on this GPU. Raises FileNotFoundError where there is no ncu."""
    listed = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True, check=False).stdout
    names = {line.split()[0] for line in listed.splitlines() if line.split()}
    return [metric for metric in metrics if metric.partition(".")[0] in names]


def count_all(programs: Sequence[Program]) -> dict[str, Any]:
    """ncu's counters of each launch beside the simulator's counts, or why there are none."""
    command = [sys.executable, "-m", "tests.outside.packed", "1"]
    command += [str(path) for program in programs for path in (program.file, program.cubin)]
    try:
        found = counters.count(command, countable([counter for _, counter in COUNTERS.values()]))
    except (counters.NoCounters, FileNotFoundError, subprocess.TimeoutExpired) as error:
        return {"counted": [], "uncounted": str(error)[:240]}
    if len(found) != len(programs):
        return {"counted": [], "uncounted": f"ncu saw {len(found)} launches of {len(programs)}"}
    counted = [
        {**program.named, "gpu": on_gpu, "simulated": program.packed.counts}
        for program, on_gpu in zip(programs, found, strict=True)
    ]
    return {"counted": counted, "uncounted": ""}


def main(folder: str) -> None:
    sanitizer, here = find_program(), this_machine()
    version = subprocess.run([sanitizer, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    planted = json.loads(FAULTS_DATA.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        files = sorted(Path(folder).resolve().glob(f"*{ENDING}"))
        groups = [programs_of(file, planted, Path(scratch)) for file in files]
        rows = run_all(groups, sanitizer)
        kernels = [row for row in rows if "fault" not in row]
        data = {
            "machine": here,
            "date": date.today().isoformat(),
            "runs": RUNS,
            "compute_sanitizer": version.splitlines()[-1],
            "kernels": kernels,
            "mutants": [row for row in rows if "fault" in row],
        }
        file = sweep_file(here["gpu"], NAME)
        write_json(file, data | {"counted": [], "uncounted": "ncu did not come to an end"})
        ran = [group[0] for group, row in zip(groups, kernels, strict=True) if "error" not in row]
        print(write_json(file, data | count_all(ran)))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""How often each wrong Hopper kernel is caught: python -m tests.gpu.hopper_wrong writes sweeps/GPU_hopper_wrong.json.

Each kernel runs in a process of its own, which can crash or hang. All of them compile at the same time; a lock lets one
at a time onto the GPU.
"""

import fcntl
import json
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from tests.kernels.hopper.wrong_kernels import WRONG, WrongKernel, launcher
from tutorlib.machine.versions import this_machine
from tutorlib.measuring.results import sweep_file, write_json
from tutorlib.paths import ROOT
from tutorlib.problems import work
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.differences import find_difference
from tutorlib.problems.fault import KernelFault
from tutorlib.problems.work import Work, call_in_order, new_generator

NAME = "hopper_wrong"
RUNS = 20
SHAPE = (4096, 4096, 4096)  # four tiles or so for each block of a persistent kernel, 64 K tiles
HANGS_AFTER_S = 2.0
GIVEN_UP_AFTER_S = 60  # with the time that the others take on the GPU
RIGHT = "the right kernel"
KERNELS = {RIGHT: WrongKernel("nothing", "gemm:gemm_kernel", lambda lines: lines), **WRONG}


def run(name: str, lock: Path) -> dict[str, Any]:
    """runs: how many began. failed: how many of them gave a wrong result, hung or crashed; after the last two kinds
    there is no next one. says: of the first that failed.
    """
    import torch

    work.TIME_LIMIT_S = HANGS_AFTER_S
    torch.cuda.synchronize()  # makes the context, in which clusters are counted
    launch = launcher(KERNELS[name], *SHAPE)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        problem = gemm("bf16")
        tensors = Work(problem, SHAPE)
        generator = new_generator()
        runs, failed, says = 0, 0, ""
        for runs in range(1, RUNS + 1):
            tensors.refill(generator)
            torch.cuda.synchronize()
            try:
                left = call_in_order(lambda: launch(*tensors.tensors), tensors.output)
            except KernelFault as fault:
                return {"runs": runs, "failed": failed + 1, "says": says or str(fault), "ended": fault.status}
            wrong = find_difference("c", *left.seen, *tensors.expected())
            failed += wrong is not None
            says = says or (wrong.what if wrong else "")
        return {"runs": runs, "failed": failed, "says": says, "ended": "ran"}


def child(name: str, lock: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", __spec__.name, name, str(lock)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def outcome(process: "subprocess.Popen[str]") -> dict[str, Any]:
    """What the child printed, or how it died."""
    try:
        said, complained = process.communicate(timeout=GIVEN_UP_AFTER_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return {"runs": 1, "failed": 1, "says": "", "ended": "killed"}
    lines = [line for line in said.splitlines() if line.startswith("{")]
    if lines:
        found: dict[str, Any] = json.loads(lines[-1])
        return found
    return {"runs": 1, "failed": 1, "says": (complained.strip().splitlines() or [""])[-1], "ended": "died"}


def main() -> None:
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder) / "gpu"
        children = {name: child(name, lock) for name in KERNELS}
        for name, process in children.items():
            found[name] = outcome(process)
            print(name, found[name], flush=True)
            here = {"machine": this_machine(), "date": date.today().isoformat(), "shape": SHAPE, "kernels": found}
            write_json(sweep_file(here["machine"]["gpu"], NAME), here)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(run(sys.argv[1], Path(sys.argv[2]))), flush=True)
        sys.stdout.flush()
        import os

        os._exit(0)  # an endless kernel would hold up an orderly end
    main()

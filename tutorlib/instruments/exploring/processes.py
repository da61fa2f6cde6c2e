"""Processes that compile side by side and take the GPU in turns."""

import fcntl
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tutorlib.instruments.exploring.bench import Bench
from tutorlib.instruments.sweeps.hopper import changed
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.problems.problem import Shape

STUCK = 15.0  # seconds; no turn on the GPU takes as long


class Share(NamedTuple):
    """A process's work: for each shape its configurations, as JSON has them."""

    shape: Shape
    settings: list[dict[str, Any]]


def shares(points: Sequence[tuple[Shape, HopperConfig]], processes: int) -> list[list[Share]]:
    """Each process's part: a configuration is one process's alone, and the configurations are dealt out evenly."""
    owner = {config: number % processes for number, config in enumerate(dict.fromkeys(config for _, config in points))}
    parts: list[dict[Shape, list[dict[str, Any]]]] = [defaultdict(list) for _ in range(processes)]
    for shape, config in points:
        parts[owner[config]][shape].append(changed(config))
    return [[Share(shape, settings) for shape, settings in part.items()] for part in parts]


class Worker:
    """Its folder has files of one name for each process: job, the shares; done, how many of them; out, the results;
    holds, since when it has the GPU."""

    def __init__(self, folder: Path, number: int) -> None:
        self.job, self.done, self.out, self.holds = (
            folder / f"{kind}{number}" for kind in ("job", "done", "out", "holds")
        )
        self.lock = folder / "lock"

    def work(self, until: float, make_bench: Callable[[], Any] = Bench) -> None:
        """Compile and time share after share until that time; what went wrong with a share is a line of its own."""
        from tutorlib.kernels.hopper.launch import compile_gemm

        shared = [Share(tuple(shape), settings) for shape, settings in json.loads(self.job.read_text())]
        bench = None
        for number in range(int(self.done.read_text()) if self.done.exists() else 0, len(shared)):
            shape, settings = shared[number]
            if time.time() > until:
                return
            configs = [HopperConfig.from_json(one) for one in settings]
            for config in configs:
                compile_gemm(config)
            with self.lock.open("w") as lock, self.out.open("a") as out:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self.holds.write_text(str(time.time()))
                self.done.write_text(str(number + 1))
                bench = bench or make_bench()
                for found in bench.measure(shape, configs):
                    print(json.dumps(found), file=out, flush=True)
                self.holds.unlink()

    def is_stuck(self) -> bool:
        try:
            return time.time() - float(self.holds.read_text()) > STUCK
        except (FileNotFoundError, ValueError):
            return False


def explore(points: Sequence[tuple[Shape, HopperConfig]], out: Path, seconds: float, processes: int) -> None:
    """Writes the results of those of these points that fit in `seconds`."""
    until = time.time() + seconds
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workers = [Worker(folder, number) for number in range(processes)]
        for worker, part in zip(workers, shares(points, processes), strict=True):
            worker.job.write_text(json.dumps(part))
        running = {worker: begin(folder, number, until) for number, worker in enumerate(workers)}
        while running and time.time() < until + STUCK:
            time.sleep(0.5)
            for number, worker in enumerate(workers):
                if worker in running and running[worker].poll() is None and worker.is_stuck():
                    running[worker].kill()
                    running[worker].wait()
                    worker.holds.unlink(missing_ok=True)
                if worker in running and running[worker].poll() is not None:
                    failed = running.pop(worker).returncode
                    if failed and time.time() < until:
                        running[worker] = begin(folder, number, until)
            out.write_text("".join(worker.out.read_text() for worker in workers if worker.out.exists()))
        for process in running.values():
            process.kill()


def begin(folder: Path, number: int, until: float) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-m", __package__, str(folder), str(number), str(until)])

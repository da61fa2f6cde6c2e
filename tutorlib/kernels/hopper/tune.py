"""gemm(…, tuned=True): a shape's first call times the chooser's best dozen, and the user's cache keeps the winner.

Beside near ties the model does not know which is fastest. A process of its own compiles the nominees, all at once:
`python -m tutorlib.kernels.hopper.tune` reads a list of configurations a line, and answers each with a line.
"""

import atexit
import hashlib
import json
import multiprocessing
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import cache
from importlib import metadata
from itertools import cycle, pairwise
from math import ceil
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any, NamedTuple

import platformdirs
import torch
from rich.progress import track

from tutorlib.kernels.compiled_once import load_or_compile
from tutorlib.kernels.hopper.choose import ranked
from tutorlib.kernels.hopper.config import BYTES, HopperConfig, Majors
from tutorlib.kernels.hopper.launch import compile_gemm, launcher, max_clusters

DOZEN = 12
ROUNDS = 9  # in which every nominee is timed once; its median counts
TIE = 1.01  # times the least time: among those up to it the first nominee wins; medians may be off by as much
L2_TIMES = 3  # bytes of L2 that pass before a matrix is read again
LEAST_US = 150.0  # of a nominee's part of a round
LEAD_IN_US = 2000.0  # of the same work, before a round
PROCESSES = 16  # that compile, at most
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "e4m3": torch.float8_e4m3fn}


class Problem(NamedTuple):
    """What a winner is kept for. majors: of A and B."""

    m: int
    n: int
    k: int
    dtype: str = "bf16"
    majors: Majors = ("k", "k")

    def __str__(self) -> str:
        return "x".join(map(str, self[:3])) + "-" + "-".join((self.dtype, *self.majors))


def nominees(problem: Problem, sms: int) -> tuple[HopperConfig, ...]:
    """Those that should be fastest, in their order. Raises ShapeError."""
    return ranked(*problem[:3], sms, *problem[3:])[:DOZEN]


# Compilation ----------------------------------------------------------------------------------------------------------


def folder() -> Path:
    """Of the user's cache: of what this version compiled and measured on this GPU."""
    sources = b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))
    version = hashlib.sha256(sources + metadata.version("nvidia-cutlass-dsl").encode()).hexdigest()[:12]
    gpu = torch.cuda.get_device_name().replace(" ", "_")
    return platformdirs.user_cache_path("tutorlib") / f"{gpu}-{version}"


def settings(config: HopperConfig) -> dict[str, Any]:
    """Those that are not the default."""
    default = asdict(HopperConfig())
    return {name: value for name, value in asdict(config).items() if value != default[name]}


def name_of(config: HopperConfig) -> str:
    return "gemm_" + hashlib.sha256(json.dumps(settings(config)).encode()).hexdigest()[:16]


def compile_into(where: str, of: dict[str, Any]) -> None:
    """Save the kernel of these settings in a folder, unless it is there."""
    loaded(HopperConfig(**of), Path(where))


@cache
def compiler() -> subprocess.Popen[str]:
    """It ends with this process."""
    command = [sys.executable, "-m", "tutorlib.kernels.hopper.tune"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(process.communicate)
    return process


def compile_all(configs: Iterable[HopperConfig], where: Path) -> None:
    """Save their kernels, by as many processes as there are cores. Raises RuntimeError if one does not compile."""
    missing = [config for config in dict.fromkeys(configs) if not (where / f"{name_of(config)}.o").exists()]
    if missing:
        process = compiler()
        print(json.dumps([str(where), [*map(settings, missing)]]), file=process.stdin, flush=True)
        if (answer := process.stdout.readline().strip()) != "done":
            raise RuntimeError(answer or "the process that compiles has ended")


def serve() -> None:
    with multiprocessing.get_context("fork").Pool(min(PROCESSES, os.cpu_count() or 1)) as pool:
        for line in sys.stdin:
            where, wanted = json.loads(line)
            try:
                pool.starmap(compile_into, [(where, of) for of in wanted], chunksize=1)
                print("done", flush=True)
            except Exception as error:
                print(f"{type(error).__name__}: {error}".splitlines()[0], flush=True)


def loaded(config: HopperConfig, where: Path) -> Callable[..., None]:
    """Its kernel, from the folder; compiled, and saved there, where it is not."""
    return load_or_compile(where, name_of(config), lambda: compile_gemm(config))


# Time -----------------------------------------------------------------------------------------------------------------


@cache
def side_stream() -> torch.cuda.Stream:
    """On which nominees are captured."""
    return torch.cuda.Stream()


def matrices(problem: Problem) -> list[tuple[torch.Tensor, ...]]:
    """Random A and B, and room for C, as often as it takes for none to be found in L2."""
    m, n, k, dtype, majors = problem

    def filled(rows: int, major: str) -> torch.Tensor:
        shape = (rows, k) if major == "k" else (k, rows)
        made = torch.randn(shape, device="cuda", dtype=torch.bfloat16).to(DTYPES[dtype])
        return made if major == "k" else made.mT

    bytes_ = (m + n) * k * BYTES[dtype] + m * n * 2
    sets = -(-L2_TIMES * torch.cuda.get_device_properties().L2_cache_size // bytes_) + 1
    out = torch.float16 if dtype == "fp16" else torch.bfloat16
    return [
        (filled(m, majors[0]), filled(n, majors[1]), torch.empty(m, n, dtype=out, device="cuda")) for _ in range(sets)
    ]


def times(calls: Sequence[Callable[..., Any]], sets: Sequence[tuple[Any, ...]], rounds: int = ROUNDS) -> list[float]:
    """The median µs of each in rounds: see `in_a_row`."""
    return [*map(median, in_a_row(calls, sets, rounds))]


def in_a_row(
    calls: Sequence[Callable[..., Any]],
    sets: Sequence[tuple[Any, ...]],
    rounds: int,
    ready: Callable[[], Any] = lambda: None,
    watched: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> list[list[float]]:
    """µs of each call(*set) in each of some rounds in which all take turns; the GPU rests between the rounds.

    A call is captured often enough, on one set of tensors after the other, so that the host's time does not count.
    The GPU gets warmer in a round, so that the same place in all of them would favor a call: places are drawn, and
    every other round is the reverse of the one before. The host waits for nothing within one.
    ready: called after a round that warms up and does not count. watched: entered and left around what is timed of a
    round, while it is queued.
    """
    stream, graphs = side_stream(), []
    for call in calls:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream):
            call(*sets[0])  # makes what is made once
            us = us_of(call, sets)
            repeated = len(sets) * ceil(LEAST_US / us / len(sets))
            with torch.cuda.graph(graph, stream=stream):
                for n in range(repeated):
                    call(*sets[n % len(sets)])
        graphs.append((graph, repeated, us))
    taken: list[list[float]] = [[] for _ in graphs]
    draw, order = random.Random(rounds), [*range(len(graphs))]
    for turn in range(rounds + 1):
        start = perf_counter()
        if turn % 2:
            order.reverse()
        else:
            draw.shuffle(order)
        led_in = 0.0
        for n in cycle(order[::-1]):  # not timed: what comes first after a rest takes longer
            graph, repeated, us = graphs[n]
            graph.replay()
            led_in += us * repeated
            if led_in > LEAD_IN_US:
                break
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(len(order) + 1)]
        with watched():
            marks[0].record()
            for n, mark in zip(order, marks[1:], strict=True):
                graphs[n][0].replay()
                mark.record()
        marks[-1].synchronize()
        if turn:
            for n, (before, after) in zip(order, pairwise(marks), strict=True):
                taken[n].append(before.elapsed_time(after) * 1e3 / graphs[n][1])
        else:
            ready()
        sleep(perf_counter() - start)
    return taken


def us_of(call: Callable[..., Any], sets: Sequence[tuple[Any, ...]]) -> float:
    """About so many of a call."""
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    before.record()
    for each in sets[:4]:
        call(*each)
    after.record()
    after.synchronize()
    return before.elapsed_time(after) * 1e3 / len(sets[:4])


def time_all(configs: Sequence[HopperConfig], problem: Problem, where: Path) -> list[float]:
    """µs of each."""
    with torch.cuda.stream(side_stream()):
        calls = [launcher(config, *problem[:3], compiled=loaded(config, where)) for config in configs]
    return times(calls, matrices(problem))


# Winners --------------------------------------------------------------------------------------------------------------


@cache
def winner(problem: Problem) -> HopperConfig:
    """The fastest of the nominees on the GPU at hand, timed at the first call on this machine. Raises ShapeError."""
    where, sms = folder(), max_clusters(1)
    file = where / f"{problem}.json"
    if not file.exists():
        configs = nominees(problem, sms)
        if torch.cuda.is_current_stream_capturing():
            raise ValueError("tuned=True while a graph is captured, when nothing can be timed: call gemm before it")
        compile_all(configs, where)
        us = time_all(configs, problem, where)
        fastest = next(config for config, taken in zip(configs, us, strict=True) if taken <= TIE * min(us))
        half = file.with_suffix(f".{os.getpid()}")
        half.write_text(json.dumps(settings(fastest)), encoding="utf-8")
        half.replace(file)
    return HopperConfig(**json.loads(file.read_text(encoding="utf-8")))


def launch(problem: Problem) -> Callable[..., None]:
    """launch(a, b, c) of the winner, on today's stream. Raises ShapeError."""
    config = winner(problem)
    return launcher(config, *problem[:3], compiled=loaded(config, folder()))


def tune(problems: Iterable[Problem | tuple[int, int, int]]) -> None:
    """Find the winners of many problems, with a bar: all nominees are compiled together. Raises ShapeError."""
    wanted = [Problem(*problem) for problem in problems]
    compile_all((config for problem in wanted for config in nominees(problem, max_clusters(1))), folder())
    for problem in track(wanted, "Tuning"):
        winner(problem)


if __name__ == "__main__":
    serve()

"""How long the course takes to answer, beside the limits that it sets itself: `make bench`.

Seconds depend on the machine and on what else it does, so no test compares them and nobody's green light depends on
this table. What must be fast is counted in the tests.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path

import nbformat
import torch
from nbclient import NotebookClient
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tests.explorers.clicks import EXPLORERS, click
from tests.simulate.cutile.test_memory import gemm
from tutorlib.checking.values import ValueExercise
from tutorlib.compiling.spec import TensorSpec
from tutorlib.course.answers import load_answers
from tutorlib.course.execute import environment
from tutorlib.exercises import find, of_notebook
from tutorlib.exercises.n14_beat_cublas.judge import compile_config, simulate_config
from tutorlib.grading import sandbox
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.gemm import make_gemm
from tutorlib.kernels.ampere.main_loops import multistage
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.layouts.notation import layout
from tutorlib.layouts.oracle import ask
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC
from tutorlib.models.l2 import raster, traffic
from tutorlib.notebook.progress import PROGRESS
from tutorlib.paths import ROOT, SOLUTIONS, notebook_names
from tutorlib.simulate.cutile import run
from tutorlib.simulate.ptx import Report
from tutorlib.simulate.ptx.languages.cute_host import simulate_host
from tutorlib.simulate.ptx.languages.cute_lines import Traced, compile_with_lines

TIMES = 5  # of which the median counts
TURNS = 3
SETUP = "Set-up: `rm -r .venv && time make .venv/.ready`; the limit is 5 minutes with the packages in pip's cache."


@dataclass(frozen=True)
class Row:
    """What was timed, its limit and its median, in seconds."""

    what: str
    limit: float
    seconds: float

    @property
    def verdict(self) -> Text:
        if self.seconds <= self.limit:
            return Text("within the limit", "green")
        return Text(f"{self.seconds / self.limit:.1f} times the limit", "red")


def timed(call: Callable[[], object], times: int = TIMES) -> float:
    """The median of some calls, in seconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def timed_inside(code: str) -> float:
    """How long a new Python takes for this code, its own start not counted."""
    clock = f"import time; start = time.perf_counter(); {code}; print(time.perf_counter() - start)"
    done = subprocess.run([sys.executable, "-c", clock], cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def slowest(what: str, limit: float, calls: dict[str, Callable[[], object]]) -> Row:
    """The row of the call that takes longest; each is made once before, for what is imported and compiled once."""
    taken = {}
    for name, call in calls.items():
        call()
        taken[name] = timed(call)
    name = max(taken, key=lambda name: taken[name])
    return Row(f"{what}: {name}" + (f", the slowest of {len(taken)}" if len(taken) > 1 else ""), limit, taken[name])


def checks() -> dict[str, Callable[[], object]]:
    """The check of every exercise that needs no GPU, with its solution."""
    found = {}
    for name in notebook_names():
        answers = load_answers(name)
        for exercise in of_notebook(name):
            if isinstance(exercise, ValueExercise):
                found[exercise.id] = partial(exercise.grade, answers[exercise.id])
    return found


def clicks() -> dict[str, Callable[[], object]]:
    """A click on every explorer, at 32 by 32 cells where it takes a layout."""
    return {name: partial(click, make(), 0, 1, 2) for name, make in EXPLORERS.items()}


def interpret() -> None:
    a, b, c = torch.randn(300, 200).bfloat16(), torch.randn(260, 200).bfloat16(), torch.zeros(300, 260)
    run(gemm, (5, 5), (a, b, c, 64, 64, 64))


@dataclass(frozen=True)
class Simulated(ABC):
    """A GEMM of so many blocks, each with a 128×128 tile of C, and K tiles; simulated once to compile it."""

    blocks: int
    k_tiles: int

    @abstractmethod
    def simulate(self, tensors: dict[str, torch.Tensor]) -> list[Report]: ...

    def call(self) -> Report:
        n, k = 128 * self.blocks, 64 * self.k_tiles
        a, b, c = torch.randn(128, k).bfloat16(), torch.randn(n, k).bfloat16(), torch.zeros(128, n).bfloat16()
        (report,) = self.simulate({"a": a, "b": b, "c": c})
        return report

    def row(self) -> tuple[str, ...]:
        """Blocks, K tiles, instructions of warps, thousands of these a second, and the most memory, in MiB."""
        report = self.call()
        seconds = timed(self.call, 3)
        tracemalloc.start()
        self.call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        count = report.instructions
        return f"{self.blocks}", f"{self.k_tiles}", f"{count:,}", f"{count / seconds / 1000:.0f}", f"{peak / 2**20:.0f}"


class SimulatedAmpere(Simulated):
    """Notebook 12's, in three stages."""

    def simulate(self, tensors: dict[str, torch.Tensor]) -> list[Report]:
        return simulate_host(self.compiled, tensors)

    @cached_property
    def compiled(self) -> Traced:
        n, k = 128 * self.blocks, 64 * self.k_tiles
        specs = [TensorSpec(shape, "bf16") for shape in ((128, k), (n, k), (128, n))]
        return compile_with_lines(make_gemm(GemmConfig(stages=3), multistage), specs)


class SimulatedHopper(Simulated):
    """Notebook 14's: a warpgroup that has TMA load, two that multiply by wgmma. Compiled once for all sizes."""

    def simulate(self, tensors: dict[str, torch.Tensor]) -> list[Report]:
        return simulate_config(self.compiled(), tensors, clusters=self.blocks)

    @staticmethod
    @cache
    def compiled() -> Traced:
        return compile_config(HopperConfig(tile=(128, 128, 64)))


def simulator(title: str, kind: type[Simulated]) -> Table:
    """How the simulator's speed and memory grow with blocks and with K tiles."""
    table = Table(title=f"The simulator: a bf16 GEMM of 128×128 tiles, {title}")
    for name in ("blocks", "K tiles", "instructions of warps", "thousands a second", "MiB at most"):
        table.add_column(name, justify="right")
    for blocks, k_tiles in ((1, 4), (4, 4), (16, 4), (32, 4), (4, 16), (4, 64)):
        table.add_row(*kind(blocks, k_tiles).row())
    return table


SLOW = ("12.6", "14.11", "14.12", "14.18", "15.13", "20.9")


def cpu_seconds() -> float:
    """Of this process and of the compilers that it has called."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def slow_checks() -> Table:
    """The checks that take longest, with their solutions: of the processor, since compilers have other cores."""
    table = Table(title="The slowest checks; the limit is 10 s")
    for name in ("exercise", "seconds of the processor", "MiB of the process so far"):
        table.add_column(name, justify="right")
    answers = {id: one for name in notebook_names() for id, one in load_answers(name).items() if id in SLOW}
    for id, answer in answers.items():
        start = cpu_seconds()
        find(id).grade(answer)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        table.add_row(id, f"{cpu_seconds() - start:.1f}", f"{most:,}")
    return table


def grade_first_notebook() -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tutorlib", "grade", SOLUTIONS / "00_start.ipynb", "--out", Path(folder)]
        subprocess.run(command, cwd=ROOT, capture_output=True, check=True)


STUDENTS, AT_ONCE = 6, 2
PAGES = ("00_start", "01_layouts", "02_layout_algebra", "03_swizzles")  # whose answers are only called


def grade_class(*options: str) -> None:
    """`tutor class` on some students who handed in the solutions of PAGES."""
    with tempfile.TemporaryDirectory() as folder:
        for student in range(STUDENTS):
            handed_in = Path(folder) / "class" / f"student {student}"
            handed_in.mkdir(parents=True)
            for name in PAGES:
                shutil.copy(SOLUTIONS / f"{name}.ipynb", handed_in)
        command = [sys.executable, "-m", "tutorlib", "class", Path(folder) / "class", "--out", Path(folder) / "out"]
        subprocess.run([*command, "--workers", str(AT_ONCE), *options], cwd=ROOT, capture_output=True, check=True)


def execute_class() -> None:
    """The same notebooks, each executed by nbclient and nothing else, as many at once."""

    def execute(name: str) -> None:
        NotebookClient(nbformat.read(SOLUTIONS / f"{name}.ipynb", as_version=4)).execute()

    with environment(**{PROGRESS: ""}), ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(execute, PAGES * STUDENTS))


def in_turns(**calls: Callable[[], object]) -> dict[str, list[float]]:
    """Seconds of each call, TURNS times, taken in turns, so that a machine's moods meet all of them."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(TURNS):
        for name, call in calls.items():
            taken[name].append(timed(call, 1))
    return taken


def classes() -> Table:
    """What a class costs: how many submissions a minute, and what the grader adds to the notebooks themselves."""
    seconds = in_turns(open=partial(grade_class, "--no-sandbox"), sandboxed=grade_class, bare=execute_class)
    a_minute = statistics.median(60 * STUDENTS / one for one in seconds["sandboxed"])
    table = Table(title=f"tutor class: {STUDENTS} submissions of 00 to 03, {AT_ONCE} at once, with its own start")
    for name in ("what", "goal", "median of the pairs"):
        table.add_column(name, justify="left" if name == "what" else "right")
    table.add_row("submissions a minute", "at least 10", f"{a_minute:.1f}")
    for what, other in (("sandboxed : not", "open"), ("sandboxed : bare nbclient", "bare")):
        pairs = zip(seconds["sandboxed"], seconds[other], strict=True)
        table.add_row(what, "at most 1.2", f"{statistics.median(ours / theirs for ours, theirs in pairs):.2f}")
    return table


FIRST_COMPILE = """
from tutorlib.compiling.spec import TensorSpec
from tutorlib.course.answers import load_answers
from tutorlib.course.execute import environment
from tutorlib.exercises import find
find("09.3").grade(load_answers("09_gemm_baseline")["09.3"])
"""


def rows() -> Iterator[Row]:
    yield Row("import tutorlib", 0.5, statistics.median(timed_inside("import tutorlib") for _ in range(TIMES)))
    yield slowest("a check without a GPU", 0.2, checks())
    yield slowest("a click on an explorer", 0.2, clicks())
    h200 = {"k_tiles": 128, "tile_bytes": (16384, 16384), "in_flight": 264, "l2": 30 * 2**20, "drift": 0.125}
    yield Row("the model of L2, 64×64 tiles", 0.2, timed(lambda: traffic((64, 64), raster, **h200)))
    questions = [("logical_divide", layout(f"({m},64):(64,1)"), (4, 8)) for m in range(8, 408, 8)]
    yield slowest("CuTe's layout algebra", 0.2, {"fifty questions": lambda: ask(questions)})
    yield slowest("the interpreter", 1, {"a GEMM of 25 tiles of C": interpret})
    for kind, what in ((SimulatedAmpere, "cp.async and mma.sync"), (SimulatedHopper, "TMA and wgmma")):
        yield slowest("the simulator", 1, {f"a GEMM of 4 blocks and 4 K tiles by {what}": kind(4, 4).call})
    first = f"exec({FIRST_COMPILE!r})"
    yield Row("a first check that compiles a CuTe kernel", 10, timed_inside(first))
    exercise, answer = find("09.3"), load_answers("09_gemm_baseline")["09.3"]
    yield slowest("a later one", 3, {"09.3": lambda: exercise.grade(answer)})
    yield Row("tutor grade solutions/00_start.ipynb", 10, timed(grade_first_notebook, 3))


def main() -> None:
    table = Table(title="Seconds, beside the limits")
    for name in ("what", "limit", "median", ""):
        table.add_column(name, justify="right" if name in ("limit", "median") else "left")
    for row in rows():
        table.add_row(row.what, f"{row.limit:g}", f"{row.seconds:.3f}", row.verdict)
    console = Console()
    console.print(table)
    console.print(simulator("cp.async in three stages and mma.sync", SimulatedAmpere))
    console.print(simulator("TMA and wgmma", SimulatedHopper))
    console.print(slow_checks())
    console.print(sandbox.why_open() or classes())
    console.print(SETUP)
    if reason := device.why_not(MMA_SYNC):
        console.print(f"Kernels were simulated, and none was timed: {reason}.")


if __name__ == "__main__":
    main()

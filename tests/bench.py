"""The seconds of operations that must feel immediate, beside their limits: `make bench`.

Seconds depend on the machine and on its load, so no test compares them.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial

import torch
from rich.console import Console
from rich.table import Table

from tutorlib.checking.values import ValueExercise
from tutorlib.compiling.spec import TensorSpec
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find, of_notebook
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.gemm import make_gemm
from tutorlib.kernels.ampere.main_loops import multistage
from tutorlib.layouts.notation import layout
from tutorlib.layouts.oracle import ask
from tutorlib.paths import ROOT, SOLUTIONS, notebook_names
from tutorlib.simulate.ptx.languages.cute import compile_with_lines, simulate_host

TIMES = 5  # of which the median counts
SLOW = ("13.3", "16.2", "15.4", "17.4", "23.3")
Row = tuple[str, float, float]  # operation, limit and median in seconds


def timed(call: Callable[[], object], times: int = TIMES) -> float:
    """The median of some calls, in seconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def slowest(operation: str, limit: float, calls: dict[str, Callable[[], object]]) -> Row:
    """The row of the call that takes longest; each is made once before, to import and compile."""
    taken = {}
    for name, call in calls.items():
        call()
        taken[name] = timed(call)
    name = max(taken, key=lambda name: taken[name])
    return f"{operation}: {name}", limit, taken[name]


def python(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, check=False)


def simulate(blocks: int = 4, k_tiles: int = 4) -> Callable[[], object]:
    """A GEMM of 128×128×64 tiles by cp.async in three stages and mma.sync, compiled."""
    n, k = 128 * blocks, 64 * k_tiles
    shapes = {"a": (128, k), "b": (n, k), "c": (128, n)}
    tensors = {name: torch.randn(shape).bfloat16() for name, shape in shapes.items()}
    specs = [TensorSpec(tuple(tensor.shape), "bf16") for tensor in tensors.values()]
    return partial(simulate_host, compile_with_lines(make_gemm(GemmConfig(stages=3), multistage), specs), tensors)


def rows() -> Iterator[Row]:
    yield "import tutorlib", 0.5, timed(partial(python, "-c", "import tutorlib"))
    answers = {id: answer for name in notebook_names() for id, answer in load_answers(name).items()}
    values = [one for name in notebook_names() for one in of_notebook(name) if isinstance(one, ValueExercise)]
    yield slowest("a check without a GPU", 0.2, {one.id: partial(one.grade, answers[one.id]) for one in values})
    questions = [("logical_divide", layout(f"({m},64):(64,1)"), (4, 8)) for m in range(8, 408, 8)]
    yield slowest("CuTe's layout algebra", 0.2, {"fifty questions": partial(ask, questions)})
    yield slowest("the simulator", 1, {"a GEMM of 4 blocks and 4 K tiles": simulate()})
    yield slowest("a check that compiles", 3, {"10.2": partial(find("10.2").grade, answers["10.2"])})
    for id in SLOW:
        yield f"a slow check: {id}", 10, timed(partial(find(id).grade, answers[id]), 1)
    with tempfile.TemporaryDirectory() as out:
        grade = partial(python, "-m", "tutorlib", "grade", str(SOLUTIONS / "00_start.ipynb"), "--out", out)
        yield "tutor grade solutions/00_start.ipynb", 10, timed(grade, 3)


def main() -> None:
    table = Table("operation", "limit", "median")
    for operation, limit, seconds in rows():
        style = "red" if seconds > limit else None
        table.add_row(operation, f"{limit:g} s", f"{seconds:.3f} s", style=style)
    Console().print(table)


if __name__ == "__main__":
    main()

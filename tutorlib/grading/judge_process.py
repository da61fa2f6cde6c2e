"""The judge's process: runs a page in a process of its own cell by cell, judges its answers, and reports to the grader.

No student's code runs here. It is a fork of the grader, which has imported what it needs already: a new Python takes
seconds, and starts where CUDA's driver forbids a fork. It ends where a cell hangs or ends the page's process; the
grader then starts another one.

Reports are JSON lines on a pipe: {"cell": ID} before a cell runs, {"outcome": …} of an answer, and where the run must
end, {"ended": [status, why]}.
"""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import Context
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import ceil
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tutorlib.checking.exercise import Outcome
from tutorlib.checking.randomness import fix_seed
from tutorlib.compiling.programs import OVER_MEMORY, in_gb, sandbox_compilers
from tutorlib.exercises import find
from tutorlib.grading import sandbox
from tutorlib.grading.limited_process import adopt_orphans, die_with, limit, settle_fork
from tutorlib.grading.remote_judge import Late, Lost, RemotePage, judge
from tutorlib.grading.submission import CHECK
from tutorlib.grading.supervisor import within_own_limit
from tutorlib.machine import device
from tutorlib.measuring.results import RECORDED
from tutorlib.notebook.check import JUDGED_OUTSIDE
from tutorlib.paths import ROOT
from tutorlib.problems.work import RESTART

LONGEST_MESSAGE = 4000  # characters
ADDED = 10  # time limits of one cell that the cells which a student added may take together
LIMITS = 1.5  # time limits of one cell that judging may compute: of 60 s. Solutions take 12 s at most
STARTING_S = 60.0
ENDING_S = 5.0  # for a process whose line broke, and which may be ending
PAGE = "from tutorlib.grading.page_process import main; main()"
HOME = {"HOME": str(Path.home())}  # the judge's compilers keep what they made there


@dataclass(frozen=True)
class Settings:
    """How submissions are graded.

    seconds: for a cell, and again for judging its answer. sandboxed: whether students' processes run in sandboxes.
    seed: of the inputs that the judge draws; None: a secret seed, which the scores name.
    memory: bytes that one process may allocate, and that those of a notebook in its sandbox may use together.
    variables: of the environment, in place of this process's own.
    """

    seconds: float = 60.0
    sandboxed: bool = True
    seed: int | None = None
    memory: int = sandbox.MEMORY
    variables: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class PageCell:
    """A code cell. role: "answer", "check" or "added"; "" of the page's own."""

    id: str
    source: str
    role: str = ""
    exercise: str = ""


@dataclass(frozen=True)
class PageRun:
    """The grader's request: cells to run, and the exercises to judge. folder: where everything is written that the run
    writes; what the judge prints in its `log`.
    """

    cells: Sequence[PageCell]
    wanted: Collection[str]
    settings: Settings
    folder: Path


def start_judge(run: PageRun) -> tuple[BaseProcess, Connection]:
    """A judge's process at work, and the pipe of its reports."""
    maps = Path("/proc/self/maps")  # with CUDA's driver loaded, if only to look for a GPU, a fork crashes in it
    has_driver = maps.exists() and "/libcuda.so" in maps.read_text(errors="replace")
    context: SpawnContext | ForkContext = get_context("spawn") if has_driver else get_context("fork")
    reports, pipe = context.Pipe(duplex=False)
    process = context.Process(target=begin, args=(run, pipe, os.getpid()))
    process.start()
    pipe.close()
    return process, reports


def begin(run: PageRun, pipe: Connection, parent: int) -> None:
    """In the judge's process: what it has of its parent is undone, and `main` runs in the run's folder."""
    settle_fork(parent, os.open(run.folder / "log", os.O_WRONLY | os.O_CREAT), pipe.fileno())
    sys.path[:] = [os.path.abspath(path) for path in sys.path]  # nothing is imported from the folder
    sys.dont_write_bytecode = True
    environment = judge_environment() | page_environment(run) | HOME | dict(run.settings.variables)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # TMPDIR is another one now
    os.chdir(run.folder)
    Context().run(main, run, pipe)  # jupyter_core keeps an event loop in the parent's


def judge_environment() -> dict[str, str]:
    """This process's environment without what its own notebook and evidence are told."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", RECORDED, "JPY_"))}


def page_environment(run: PageRun) -> dict[str, str]:
    """The own variables of the page's process: it writes to its scratch folder."""
    return {
        **dict.fromkeys(("HOME", "TMPDIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR"), str(run.folder)),
        JUDGED_OUTSIDE: " ".join(run.wanted),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",  # as in a notebook
        "PYTHONPATH": os.pathsep.join((str(ROOT), *sandbox.on_path())),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def main(run: PageRun, pipe: Connection) -> None:
    """Run the page, or as much of it as its process lets it. Then the grader ends this process and all below it."""
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, sandbox.LARGEST_FILE)
    limit(resource.RLIMIT_DATA, run.settings.memory)
    adopt_orphans()
    fix_seed(run.settings.seed or 0)
    if run.settings.sandboxed:
        sandbox_compilers(sandbox.sandboxed_compiler)

    def report(**seen: Any) -> None:
        os.write(pipe.fileno(), (json.dumps(seen) + "\n").encode())

    try:
        process, page = start_page(page_command(run))
    except (Lost, OSError):
        report(ended=("error", "no process of its own could be started"))
        raise
    try:
        run_cells(page, run, report)
    except Late:
        report(ended=("timeout", f"no result after {run.settings.seconds:g} seconds"))
    except Lost as error:
        report(ended=("error", last_words(process, run.settings.memory) or str(error)))
    pipe.close()
    signal.pause()


# The page's process --------------------------------------------------------------------------------------------------


def page_command(run: PageRun) -> list[str]:
    """The command that starts the page's process, in a sandbox where the settings say so."""
    command = [sys.executable, "-P", "-c", PAGE]
    return sandbox.sandboxed_command(command, run.folder, page_environment(run)) if run.settings.sandboxed else command


def start_page(command: Sequence[str]) -> tuple[subprocess.Popen, RemotePage]:
    """The page's process, whose standard input is the line to it. Raises Lost, OSError where it does not start."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            command,
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=partial(die_with, os.getpid()),
        )
    page = RemotePage(Connection(ours.detach()))
    page.run("", STARTING_S)
    return process, page


def last_words(process: subprocess.Popen, memory: int) -> str:
    """The message about a page's process that has ended, or is about to; "" where it goes on."""
    try:
        code = process.wait(ENDING_S)
    except subprocess.TimeoutExpired:
        return ""
    number = -code if code < 0 else code - 128  # bubblewrap gives a signal as 128 and its number
    how = signal.Signals(number).name if number in set(signal.Signals) else f"exit code {code}"
    if code == OVER_MEMORY:
        how = f"its processes used more than {in_gb(within_own_limit(memory, resource.RLIMIT_DATA))} of memory together"
    return f"it ended the notebook's process ({how})"


# Cells and answers ---------------------------------------------------------------------------------------------------


def run_cells(page: RemotePage, run: PageRun, report: Callable[..., None]) -> None:
    """Run the cells, and report the outcome of each answer when the cell runs that checks it. Raises Late, Lost."""
    failed: dict[str, str] = {}  # exercise → what its answer's cell raised, or ""
    seconds = run.settings.seconds
    left = ADDED * seconds  # for added cells
    for cell in run.cells:
        report(cell=cell.id)
        with turn_of(cell):
            began = time.monotonic()
            passed, raised = page.run(cell.source, min(seconds, left) if cell.role == "added" else seconds)
            if cell.role == "added":
                left -= time.monotonic() - began
            if cell.role == "answer":
                failed[cell.exercise] = "" if passed else f"your cell fails: {tidy(raised)}"
            elif cell.role == "check" and cell.exercise in run.wanted and cell.exercise in failed:
                outcome = judged(page, cell, failed[cell.exercise], seconds)
                on_gpu = find(outcome.id).needs
                if outcome.status in ("error", "timeout") and on_gpu and not device.why_not(on_gpu):
                    return report(ended=(outcome.status, outcome.message))  # nothing runs here after it
                report(outcome=asdict(outcome))


def judged(page: RemotePage, check: PageCell, failed: str, seconds: float) -> Outcome:
    """The outcome of the answer that this cell checks. failed: why its own cell did not run to its end, or ""."""
    exercise = find(check.exercise)
    if failed:
        return exercise.outcome("failed", 0, failed)
    (_, name), *_ = CHECK.findall(check.source)
    with limited_computing(LIMITS * seconds):
        return as_reported(judge(exercise, page, name, seconds))


@contextmanager
def limited_computing(seconds: float) -> Iterator[None]:
    """While its block runs, SIGXCPU ends this process once it has computed for `seconds`.

    It is the limit of the judge's own work: reading PTX, simulating it, comparing results; C code, such as a regular
    expression, hears nothing else. It is processor time, since a busy machine takes longer for the same work, and
    waiting for a turn on the GPU takes none. Compilers have limits of their own, and all of a cell the grader's.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = [ceil(time.process_time() + seconds), *(own for own in (soft, hard) if own != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_CPU, (min(most), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def no_end(seconds: float) -> str:
    """The message about an answer that `limited_computing` ended. seconds: the time limit of a cell."""
    return f"judging it had no end after {LIMITS * seconds:g} seconds of computing"


def turn_of(cell: PageCell) -> Any:
    """The turn on the GPU of what a cell's own process does with it. Judging takes its own, out here."""
    return nullcontext() if cell.role == "check" else device.shared_turn()


def as_reported(outcome: Outcome) -> Outcome:
    """An outcome whose message lacks the id and title in front, which the table shows anyway.

    Nor does it say that the kernel must be restarted: the grader has done that.
    """
    message = outcome.message
    for mark in "✓✗–":
        message = message.removeprefix(f"{mark} {outcome.id} {outcome.title}: ")
    return replace(outcome, message=tidy(message.replace(f" {RESTART}", "")))


def tidy(text: str) -> str:
    """Without terminal codes, cut at LONGEST_MESSAGE characters."""
    return "".join(c for c in text if c.isprintable() or c == "\n")[:LONGEST_MESSAGE].strip()

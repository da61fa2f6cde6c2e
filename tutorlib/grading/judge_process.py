"""The judge's process: runs a page in a process of its own cell by cell, judges its answers, and reports to the grader.

No student's code runs here. It is a fork of the grader, which has imported what it needs already: a new Python takes
seconds, and starts where CUDA's driver forbids a fork. It ends where a cell hangs or ends the page's process; the
grader then starts another one.

Reports are JSON lines on a pipe: {"cell": ID} before a cell runs, {"outcome": …} of an answer, and where the run must
end, {"ended": [status, why]}.
"""

import ast
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from contextvars import Context
from dataclasses import asdict, dataclass, replace
from math import ceil
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psutil

from tutorlib.checking.exercise import Exercise, Outcome, Status
from tutorlib.checking.randomness import fix_seed
from tutorlib.compiling.programs import sandbox_compilers
from tutorlib.exercises import find
from tutorlib.grading.limited_process import adopt_orphans, limit, settle_fork
from tutorlib.grading.remote_judge import Late, Lost, RemotePage, judge
from tutorlib.grading.sandbox import LARGEST_FILE, sandboxed_compiler
from tutorlib.grading.supervisor import within_own_limit
from tutorlib.machine import device
from tutorlib.problems.work import RESTART

LONGEST_MESSAGE = 4000  # characters
LIMITS = 1.5  # time limits of one cell that judging may compute: of 60 s. Solutions take 12 s at most


@dataclass(frozen=True)
class PageCell:
    """A code cell. role: "answer", "check" or "added"; "" of the page's own."""

    id: str
    source: str
    role: str = ""
    exercise: str = ""


@dataclass(frozen=True)
class JudgeSettings:
    """The grader's request to this process.

    command: starts the page's process. wanted: the exercises to judge. seconds: a cell's time limit.
    seed: of what the judge draws. memory: bytes that a process may allocate. folder: where everything is written that
    the run writes; what the judge prints in its `log`. environment: this process's variables.
    """

    cells: list[PageCell]
    command: list[str]
    wanted: list[str]
    seconds: float
    seed: int
    memory: int
    sandboxed: bool
    folder: Path
    environment: Mapping[str, str]


def start_judge(settings: JudgeSettings) -> tuple[BaseProcess, Connection]:
    """A judge's process at work, and the pipe of its reports."""
    context: SpawnContext | ForkContext = get_context("spawn") if has_driver() else get_context("fork")
    reports, pipe = context.Pipe(duplex=False)
    process = context.Process(target=begin, args=(settings, pipe, os.getpid()))
    process.start()
    pipe.close()
    return process, reports


def has_driver() -> bool:
    """Whether CUDA's driver is loaded here, if only to look for a GPU: a fork then crashes in it."""
    maps = Path("/proc/self/maps")
    return maps.exists() and "/libcuda.so" in maps.read_text(errors="replace")


def begin(settings: JudgeSettings, pipe: Connection, parent: int) -> None:
    """In the judge's process: what it has of its parent is undone, and `main` runs in the settings' folder."""
    settle_fork(parent, os.open(settings.folder / "log", os.O_WRONLY | os.O_CREAT), pipe.fileno())
    sys.path[:] = [os.path.abspath(path) for path in sys.path]  # nothing is imported from the folder
    sys.dont_write_bytecode = True
    os.environ.clear()
    os.environ.update(settings.environment)
    tempfile.tempdir = None  # TMPDIR is another one now
    os.chdir(settings.folder)
    Context().run(main, settings, pipe)  # jupyter_core keeps an event loop in the parent's


def main(settings: JudgeSettings, pipe: Connection) -> None:
    """Run the page, or as much of it as its process lets it. Nothing that was started is left."""
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, LARGEST_FILE)
    limit(resource.RLIMIT_DATA, settings.memory)
    adopt_orphans()
    fix_seed(settings.seed)
    if settings.sandboxed:
        sandbox_compilers(sandboxed_compiler)
    JudgedPage(settings, pipe).run()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()


class Ended(Exception):
    """The run must end: nothing runs in the page's process after this."""

    def __init__(self, status: Status, why: str) -> None:
        super().__init__(status, why)


class JudgedPage:
    """A page while its cells run and its answers are judged."""

    def __init__(self, settings: JudgeSettings, pipe: Connection) -> None:
        self.settings, self.pipe = settings, pipe
        self.failed: dict[str, str] = {}  # exercise → what its answer's cell raised, or ""

    def report(self, **seen: Any) -> None:
        os.write(self.pipe.fileno(), (json.dumps(seen) + "\n").encode())

    def run(self) -> None:
        memory = within_own_limit(self.settings.memory, resource.RLIMIT_DATA)
        try:
            self.page = RemotePage(self.settings.command, os.environ, Path.cwd(), memory)
        except (Lost, OSError):
            self.report(ended=("error", "no process of its own could be started"))
            raise
        try:
            for cell in self.settings.cells:
                self.report(cell=cell.id)
                with self.deadlines(), turn_of(cell):
                    self.run_cell(cell)
        except Ended as end:
            self.report(ended=end.args)
        self.pipe.close()

    @contextmanager
    def deadlines(self) -> Iterator[None]:
        """Raises Ended where the page's process hangs or ends."""
        try:
            yield
        except Late:
            raise Ended("timeout", f"no result after {self.settings.seconds:g} seconds") from None
        except Lost as error:
            raise Ended("error", self.page.last_words() or str(error)) from None

    def run_cell(self, cell: PageCell) -> None:
        """Run a cell; report the outcome of the answer that it checks. Raises Ended, Lost."""
        passed, raised = self.page.run(cell.source, self.settings.seconds)
        if not self.page.is_alive():
            raise Ended("error", "it ended the notebook's process")
        if cell.role == "answer":
            self.failed[cell.exercise] = "" if passed else f"your cell fails: {tidy(raised)}"
        elif cell.role == "check" and cell.exercise in self.settings.wanted and cell.exercise in self.failed:
            exercise = find(cell.exercise)
            if why := self.failed[cell.exercise]:
                self.report(outcome=asdict(exercise.outcome("failed", 0, why)))
            else:
                self.report(outcome=asdict(self.judged(cell, exercise)))

    def judged(self, cell: PageCell, exercise: Exercise) -> Outcome:
        """The score of the answer in the page's process, judged in this one. Raises Ended, Lost."""
        name = ast.parse(cell.source).body[0].value.args[1].id  # type: ignore[attr-defined]  # check("02.5", name)
        with limited_computing(LIMITS * self.settings.seconds):
            outcome = as_reported(judge(exercise, self.page.end, name, self.settings.seconds))
        if outcome.status in ("error", "timeout") and not lacks_gpu(exercise):  # nothing runs here after it
            raise Ended(outcome.status, outcome.message)
        return outcome


@contextmanager
def limited_computing(seconds: float) -> Iterator[None]:
    """While its block runs, SIGXCPU ends this process once it has computed for `seconds`.

    It is the limit of the judge's own work: reading PTX, simulating it, comparing results; C code, such as a regular
    expression, hears nothing else. It is processor time, since a busy machine takes longer for the same work, and
    waiting for a turn on the GPU takes none. Compilers have limits of their own, and all of a cell the grader's.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = [ceil(time.process_time() + seconds), *(one for one in (soft, hard) if one != resource.RLIM_INFINITY)]
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


def lacks_gpu(exercise: Exercise) -> bool:
    """Whether this machine cannot run a kernel exercise, or it needs no GPU."""
    return not exercise.needs or bool(device.why_not(exercise.needs))


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

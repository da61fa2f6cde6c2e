"""Grades the notebooks of a submission side by side. A notebook that the grader fails at costs no other."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from tutorlib.checking.exercise import Outcome, Status
from tutorlib.checking.randomness import new_seed
from tutorlib.course.source import BuildError
from tutorlib.exercises import find, of_notebook
from tutorlib.grading import sandbox
from tutorlib.grading.judge_process import JudgeSettings, PageCell, no_end, start_judge
from tutorlib.grading.merged_page import MergedPage, merged_page, student_code
from tutorlib.grading.scores import Scores
from tutorlib.grading.submission import Submitted
from tutorlib.machine.device import TURNS, gpu
from tutorlib.measuring.results import RECORDED
from tutorlib.notebook.check import JUDGED_OUTSIDE
from tutorlib.paths import ROOT

ATTEMPTS = 2  # at a notebook: a process may fail to start on a machine that has too much to do
ON_GPU = 8  # notebooks at a time, at most, that share a GPU's memory
SLACK_S = 300.0  # beyond twice the cell's time limit: starting the process, waiting for output, the judge's own work
LARGEST_LINE = 2**20  # bytes of one report
ADDED = 10  # time limits of one cell that the cells which a student added may take together
PAGE = "from tutorlib.grading.page_process import main; main()"
HOME = {"HOME": str(Path.home())}  # the judge's compilers keep what they made there


class GradingFailed(Exception):
    """The course or this machine is at fault, not an answer. The message is one line."""


@dataclass(frozen=True)
class Settings:
    """How submissions are graded.

    seconds: for a cell, and again for judging its answer. sandboxed: whether students' processes run in sandboxes.
    seed: of the inputs that the judge draws; None: a secret one, which the scores name.
    memory: bytes that one process may allocate, and that those of a notebook in its sandbox may use together.
    variables: of the environment, in place of this process's own.
    """

    seconds: float = 60.0
    sandboxed: bool = True
    seed: int | None = None
    memory: int = sandbox.MEMORY
    variables: Mapping[str, str] = field(default_factory=dict, hash=False)


def grade(
    submission: Iterable[Submitted], settings: Settings, graded: Callable[[str], None] = lambda name: None
) -> Scores:
    """Grade the notebooks of a submission side by side. graded: called with each notebook's name when it is done.

    Raises GradingFailed where there can be no sandbox, BuildError where the course itself is broken, OSError.
    """
    if settings.sandboxed and (why := sandbox.why_open()):
        raise GradingFailed(f"{why}, or grade students' code without a sandbox: --no-sandbox.")
    return asyncio.run(grade_submission(submission, settings, at_a_time(), graded))


def at_a_time() -> int:
    """How many sandboxes: one on each core; with a GPU on half of them, as judging takes cores beside the kernel's."""
    cores = os.cpu_count() or 1
    return max(1, min(cores // 2, ON_GPU)) if gpu() else cores


async def grade_submission(
    submission: Iterable[Submitted],
    settings: Settings,
    workers: int,
    graded: Callable[[str], None] = lambda name: None,
) -> Scores:
    """As `grade`, with `workers` notebooks at a time. On a GPU they take turns, and each has it alone for its times.

    The longest pages begin first, so that no core is left with one of them at the end.
    """
    settings = replace(settings, seed=new_seed() if settings.seed is None else settings.seed)
    submission = list(submission)
    free = asyncio.Semaphore(workers)
    if any(map(work, submission)):
        import torch  # noqa: F401  once: those who judge kernels are forked from this process
    with TemporaryDirectory(prefix="tutor-turns-") if gpu() else nullcontext() as turns:
        if turns:
            settings = replace(settings, variables={**settings.variables, TURNS: turns})

        async def told(submitted: Submitted) -> tuple[list[Outcome], str]:
            async with free:
                found = await grade_notebook(submitted, settings)
            graded(submitted.name)
            return found

        begun = {one.name: asyncio.create_task(told(one)) for one in sorted(submission, key=work, reverse=True)}
        await asyncio.gather(*begun.values())
    results = {one.name: begun[one.name].result() for one in submission}
    return Scores(
        tuple(outcome for outcomes, _ in results.values() for outcome in outcomes),
        settings.seed,
        {name: broken for name, (_, broken) in results.items() if broken},
    )


def work(submitted: Submitted) -> int:
    """Which of two pages takes longer to grade: the one with more points for what must be compiled."""
    return sum(exercise.points for exercise in of_notebook(submitted.name) if exercise.needs)


async def grade_notebook(submitted: Submitted, settings: Settings) -> tuple[list[Outcome], str]:
    """The outcomes of a notebook, and why the grader failed at it, or "". Raises BuildError, OSError."""
    exercises, why = of_notebook(submitted.name), ""
    code = student_code(submitted)
    for _ in range(ATTEMPTS):
        try:
            page = merged_page(submitted.name, code)
            outcomes = await grade_page(page, settings)
            return [outcomes[exercise.id] for exercise in exercises], ""
        except GradingFailed as error:
            why = str(error)
        except (BuildError, OSError):
            raise
        except Exception as error:  # a page that the grader itself stumbles over
            why = f"{type(error).__name__}: {error}"
    return [one.outcome("error", 0, f"could not be graded: {why}") for one in exercises], why


async def grade_page(page: MergedPage, settings: Settings) -> dict[str, Outcome]:
    """The outcomes of a page's exercises, by their ids.

    An answer that hangs or ends its process is left out, and the others go on in a fresh one. Raises GradingFailed.
    """
    outcomes: dict[str, Outcome] = {}
    while wanted := page.answers.keys() - outcomes.keys():
        ended = await run(page, wanted, settings, outcomes)
        if ended is not None:
            outcomes.setdefault(ended.id, ended)
            page.leave_out(ended.id, ended.message)
    for id, why in page.left_out.items():
        outcomes.setdefault(id, find(id).outcome("failed", 0, why))
    return outcomes


async def run(
    page: MergedPage, wanted: Collection[str], settings: Settings, outcomes: dict[str, Outcome]
) -> Outcome | None:
    """One run; adds to `outcomes` each verdict it comes to on the exercises that are wanted.

    Returns the outcome of the answer that ended the run before its time; None where the notebook came to its end, or a
    cell ended it that the next run is without: one that the student added (all of them, where they take too long).
    """
    cells = {cell.id: cell for cell in page.cells()}
    running = added = ""  # the exercise whose answer ran last, and the student's own cell that runs
    began = 0.0
    end: tuple[Status, str] | None = None
    with TemporaryDirectory(prefix="tutor-grade-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        try:
            async with judge_at_work([*cells.values()], sorted(wanted), settings, folder) as (judge, reports):
                while line := await asyncio.wait_for(reports.readline(), 2 * settings.seconds + SLACK_S):
                    if added:
                        page.added_s += time.monotonic() - began
                        if page.added_s > ADDED * settings.seconds:
                            page.leave_out_added()
                            return None
                    match json.loads(line):
                        case {"cell": id}:
                            began, cell = time.monotonic(), cells[id]
                            added = id if cell.role == "added" else ""
                            running = cell.exercise if cell.exercise in page.answers else running
                        case {"outcome": found}:
                            outcomes[found["id"]] = Outcome(**found)
                        case {"ended": [status, why]}:
                            end = status, why
        except TimeoutError:
            end = "timeout", "no end of it, and it could not be interrupted"
        if end is None and outcomes.keys() >= set(wanted):
            return None
        if added:
            page.leave_out_added(added)
            return None
        status, why = end or ended_itself(judge.exitcode, settings)
        if not running:
            log = (folder / "log").read_text(errors="replace").split("\n")
            raise GradingFailed(f"{page.name} could not be run: {why}. {' '.join(log[-3:])}")
    return find(running).outcome(status, 0, why)


def ended_itself(code: int | None, settings: Settings) -> tuple[Status, str]:
    """Status and message if the judge's process ended without a report: the system may have ended it."""
    if code == -signal.SIGXCPU:
        return "timeout", no_end(settings.seconds)
    return "error", "it ended the grading run"


@asynccontextmanager
async def judge_at_work(
    cells: list[PageCell], wanted: list[str], settings: Settings, folder: Path
) -> AsyncIterator[tuple[BaseProcess, asyncio.StreamReader]]:
    """A judge's process at work on these cells, and its reports. At exit it has ended, and no process of it is left.

    wanted: the exercises that are to be judged. folder: where everything is written that the run writes.
    """
    own = page_environment(folder, wanted)
    command = [sys.executable, "-P", "-c", PAGE]
    if settings.sandboxed:
        command = sandbox.sandboxed_command(command, folder, own)
    limits = settings.seconds, settings.seed or 0, settings.memory, settings.sandboxed
    environment = judge_environment() | own | HOME | dict(settings.variables)
    process, pipe = start_judge(JudgeSettings(cells, command, wanted, *limits, folder, environment))
    reports = asyncio.StreamReader(limit=LARGEST_LINE)
    protocol = asyncio.StreamReaderProtocol(reports)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, pipe)
    try:
        yield process, reports
    finally:
        transport.close()
        kill_all(process)


def page_environment(folder: Path, wanted: Iterable[str]) -> dict[str, str]:
    """The own variables of the page's process: it writes to its scratch folder."""
    return {
        **dict.fromkeys(("HOME", "TMPDIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR"), str(folder)),
        JUDGED_OUTSIDE: " ".join(wanted),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",  # as in a notebook
        "PYTHONPATH": os.pathsep.join((str(ROOT), *sandbox.on_path())),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def judge_environment() -> dict[str, str]:
    """This process's environment without what its own notebook and evidence are told."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", RECORDED, "JPY_"))}


def kill_all(judge: BaseProcess) -> None:
    """Kill a judge's process and all below it. bubblewrap ends what is in a sandbox; without one, the judge has adopted
    the processes that lost their parent.
    """
    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(judge.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                process.kill()
    judge.kill()
    judge.join()

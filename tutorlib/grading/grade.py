"""Grades the notebooks of a submission side by side. A notebook that the grader fails at costs no other."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from tutorlib.checking.exercise import Outcome, Status
from tutorlib.checking.randomness import new_seed
from tutorlib.course.source import BuildError
from tutorlib.exercises import find, of_notebook
from tutorlib.grading import sandbox
from tutorlib.grading.judge_process import PageRun, Settings, no_end, start_judge
from tutorlib.grading.merged_page import MergedPage, merged_page
from tutorlib.grading.scores import Scores
from tutorlib.grading.submission import Submitted
from tutorlib.machine.device import TURNS, gpu

ATTEMPTS = 2  # at a notebook: a process may fail to start on a machine that has too much to do
ON_GPU = 8  # notebooks at a time, at most, that share a GPU's memory
SLACK_S = 300.0  # beyond twice the cell's time limit: starting the process, waiting for output, the judge's own work
LARGEST_LINE = 2**20  # bytes of one report


class GradingFailed(Exception):
    """The course or this machine is at fault, not an answer. The message is one line."""


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
    submission: Iterable[Submitted], settings: Settings, workers: int, graded: Callable[[str], None] = lambda name: None
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

        begun = {page.name: asyncio.create_task(told(page)) for page in sorted(submission, key=work, reverse=True)}
        await asyncio.gather(*begun.values())
    results = {page.name: begun[page.name].result() for page in submission}
    broken = {name: why for name, (_, why) in results.items() if why}
    return Scores(tuple(outcome for outcomes, _ in results.values() for outcome in outcomes), settings.seed, broken)


def work(submitted: Submitted) -> int:
    """Which of two pages takes longer to grade: the one with more points for what must be compiled."""
    return sum(exercise.points for exercise in of_notebook(submitted.name) if exercise.needs)


async def grade_notebook(submitted: Submitted, settings: Settings) -> tuple[list[Outcome], str]:
    """The outcomes of a notebook, and why the grader failed at it, or "". Raises BuildError, OSError."""
    exercises, why = of_notebook(submitted.name), ""
    for _ in range(ATTEMPTS):
        try:
            outcomes = await grade_page(merged_page(submitted), settings)
            return [outcomes[exercise.id] for exercise in exercises], ""
        except GradingFailed as error:
            why = str(error)
        except (BuildError, OSError):
            raise
        except Exception as error:  # a page that the grader itself stumbles over
            why = f"{type(error).__name__}: {error}"
    return [exercise.outcome("error", 0, f"could not be graded: {why}") for exercise in exercises], why


async def grade_page(page: MergedPage, settings: Settings) -> dict[str, Outcome]:
    """The outcomes of a page's exercises, by their ids.

    An answer that hangs or ends its process is left out, and the others go on in a fresh one. Raises GradingFailed.
    """
    outcomes: dict[str, Outcome] = {}
    while wanted := page.answers.keys() - outcomes.keys():
        await run(page, wanted, settings, outcomes)
    for id, why in page.left_out.items():
        outcomes.setdefault(id, find(id).outcome("failed", 0, why))
    return outcomes


async def run(page: MergedPage, wanted: Collection[str], settings: Settings, outcomes: dict[str, Outcome]) -> None:
    """One run; adds to `outcomes` each verdict it comes to on the exercises that are wanted.

    Where an answer or a cell that the student added ends the run before its time, the next one is without it.
    """
    cells = {cell.id: cell for cell in page.cells()}
    running = added = ""  # the exercise whose answer ran last, and the student's own cell that runs
    end: tuple[Status, str] | None = None
    with TemporaryDirectory(prefix="tutor-grade-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        try:
            async with judge_at_work(PageRun([*cells.values()], sorted(wanted), settings, folder)) as (judge, reports):
                while line := await asyncio.wait_for(reports.readline(), 2 * settings.seconds + SLACK_S):
                    match json.loads(line):
                        case {"cell": id}:
                            cell = cells[id]
                            added = id if cell.role == "added" else ""
                            running = cell.exercise if cell.exercise in page.answers else running
                        case {"outcome": found}:
                            outcomes[found["id"]] = Outcome(**found)
                        case {"ended": [status, why]}:
                            end = status, why
        except TimeoutError:
            end = "timeout", "no end of it, and it could not be interrupted"
        if end is None and outcomes.keys() >= set(wanted):
            return
        if added:
            return page.leave_out_added(added)
        status, why = end or ("error", "it ended the grading run")
        if end is None and judge.exitcode == -signal.SIGXCPU:  # the system ended it
            status, why = "timeout", no_end(settings.seconds)
        if not running:
            log = (folder / "log").read_text(errors="replace").split("\n")
            raise GradingFailed(f"{page.name} could not be run: {why}. {' '.join(log[-3:])}")
    outcomes.setdefault(running, find(running).outcome(status, 0, why))
    page.leave_out(running, why)


@asynccontextmanager
async def judge_at_work(wanted: PageRun) -> AsyncIterator[tuple[BaseProcess, asyncio.StreamReader]]:
    """A judge's process at work, and its reports. At exit it has ended, and no process below it is left.

    bubblewrap ends what is in a sandbox; without a sandbox, the judge has adopted the processes that lost their parent.
    """
    judge, pipe = start_judge(wanted)
    reports = asyncio.StreamReader(limit=LARGEST_LINE)
    protocol = asyncio.StreamReaderProtocol(reports)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, pipe)
    try:
        yield judge, reports
    finally:
        transport.close()
        with suppress(psutil.NoSuchProcess):
            for process in psutil.Process(judge.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        judge.kill()
        judge.join()

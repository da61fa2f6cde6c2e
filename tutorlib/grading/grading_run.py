"""Runs a merged page in a judge's process, and again without each answer that ends it."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
from nbformat import NotebookNode

from tutorlib.checking.exercise import Exercise, Outcome, Status
from tutorlib.exercises import find
from tutorlib.grading.cpu_limit import no_end
from tutorlib.grading.forked_judge import start_judge
from tutorlib.grading.judge_process import JudgeSettings, PageCell, as_reported, tidy
from tutorlib.grading.merged_page import MergedPage
from tutorlib.grading.sandbox import MEMORY, on_path, sandboxed_command
from tutorlib.grading.scratch import scratch_folder
from tutorlib.machine.device import TURNS
from tutorlib.measuring.results import RECORDED
from tutorlib.notebook.check import JUDGED_OUTSIDE
from tutorlib.paths import ROOT

SLACK_S = 300.0  # beyond twice the cell's time limit: starting the process, waiting for output, the judge's own work
LARGEST_LINE = 2**20  # bytes of one report
ADDED = 10  # time limits of one cell that the cells which a student added may take together
PAGE = "from tutorlib.grading.page_process import main; main()"
HOME = {"HOME": str(Path.home())}  # the judge's compilers keep what they made there


class GradingFailed(Exception):
    """The course or this machine is at fault, not an answer. The message is one line."""


@dataclass(frozen=True)
class Limits:
    """seconds: for a cell, and again for judging its answer. memory: bytes that one process may allocate, and that
    those of a notebook in its sandbox may use together.

    seed: of the inputs that the judge draws. turns: the folder of the turns on the GPU that the submission's notebooks
    take; None where each has it to itself.
    """

    seconds: float = 60.0
    memory: int = MEMORY
    seed: int = 0
    turns: Path | None = None


async def grade_page(
    page: MergedPage, exercises: Sequence[str], limits: Limits, sandboxed: bool = True
) -> dict[str, Outcome]:
    """The outcomes of a page's exercises, by their ids.

    An answer that hangs or ends its process is left out, and the others go on in a fresh one. Raises GradingFailed.
    """
    outcomes: dict[str, Outcome] = {}
    while wanted := [id for id in exercises if id in page.answers and id not in outcomes]:
        ended = await run(page, wanted, limits, outcomes, sandboxed)
        if ended is not None:
            outcomes.setdefault(ended.id, ended)
            page.leave_out(ended.id, ended.message)
    for id, why in page.left_out.items():
        outcomes.setdefault(id, find(id).outcome("failed", 0, why))
    return {id: outcomes[id] for id in exercises}


async def run(
    page: MergedPage,
    wanted: Collection[str],
    limits: Limits,
    outcomes: dict[str, Outcome],
    sandboxed: bool,
) -> Outcome | None:
    """One run; adds to `outcomes` each verdict it comes to on the exercises that are wanted.

    Returns the outcome of the answer that ended the run before its time; None where the notebook came to its end, or a
    cell ended it that the next run is without: one that the student added (all of them, where they take too long).
    """
    running = ""  # the exercise whose answer ran last
    added = ""  # the student's own cell that runs
    end: tuple[Status, str] | None = None
    answer: dict[str, Any] = {}
    with scratch_folder() as folder:
        try:
            async with judge_child(page, folder, wanted, limits, sandboxed) as pipe:
                while line := await asyncio.wait_for(pipe.readline(), 2 * limits.seconds + SLACK_S):
                    report = json.loads(line)
                    exercise = report["exercise"]
                    if report["event"] == "start":
                        began = time.monotonic()
                        added = report["cell"] if report["role"] == "added" else ""
                        running = exercise if exercise in page.answers else running
                    elif report["end"]:
                        end = tuple(report["end"])
                    elif report["role"] == "added":
                        page.added_s += time.monotonic() - began
                        if page.added_s > ADDED * limits.seconds:
                            page.leave_out_added()
                            return None
                    elif report["role"] == "answer":
                        answer = report
                    elif report["role"] == "check" and exercise in wanted:
                        outcomes[exercise] = verdict(find(exercise), answer, report)
        except TimeoutError:
            end = "timeout", "no end of it, and it could not be interrupted"
        if end is None and outcomes.keys() >= set(wanted):
            return None
        if added:
            page.leave_out_added(added)
            return None
        status, what = end or ended_itself(pipe, limits)
        if not running:
            log = (folder / "log").read_text(errors="replace").split("\n")
            raise GradingFailed(f"{page.name} could not be run: {what}. {' '.join(log[-3:])}")
    return find(running).outcome(status, 0, what)


def verdict(exercise: Exercise, answer: dict[str, Any], check: dict[str, Any]) -> Outcome:
    """The outcome of an exercise whose two cells ran to their end.

    answer, check: what the plugin saw: `passed`, `raised`, and for the check cell `outcome`, what the judge found.
    """
    if not answer["passed"]:
        return exercise.outcome("failed", 0, f"your cell fails: {tidy(answer['raised'])}")
    outcome = Outcome(**check["outcome"])
    return replace(outcome, message=as_reported(exercise, outcome.message))


class Reports(asyncio.StreamReader):
    """The lines of a judge's process. status: how it ended, as `os.wait` tells, once it is gone."""

    status = 0


def ended_itself(reports: Reports, limits: Limits) -> tuple[Status, str]:
    """Status and message if the judge's process ended without a report: the system may have ended it (`cpu_limit`)."""
    if os.WIFSIGNALED(reports.status) and os.WTERMSIG(reports.status) == signal.SIGXCPU:
        return "timeout", no_end(limits.seconds)
    return "error", "it ended the grading run"


@asynccontextmanager
async def judge_child(
    page: MergedPage, folder: Path, wanted: Collection[str], limits: Limits, sandboxed: bool
) -> AsyncIterator[Reports]:
    """A judge's process at work on a page: yields the pipe of its reports. At exit no process of it is left.

    folder: where everything is written that the run writes. wanted: the exercises that are to be judged.
    """
    own = page_environment(folder, wanted)
    command = [sys.executable, "-P", "-c", PAGE]
    if sandboxed:
        command = sandboxed_command(command, folder, own)
    read, write = os.pipe()
    cells = [page_cell(cell) for cell in page.cells()]
    settings = JudgeSettings(cells, command, [*wanted], limits.seconds, limits.seed, limits.memory, sandboxed, write)
    with (folder / "log").open("wb") as log:
        turns = {TURNS: str(limits.turns)} if limits.turns else {}
        pid = start_judge(settings, folder, judge_environment() | own | HOME | turns, log.fileno())
    os.close(write)
    pipe = Reports(limit=LARGEST_LINE)
    protocol = asyncio.StreamReaderProtocol(pipe)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(read, "rb"))
    try:
        yield pipe
    finally:
        transport.close()
        kill_all(pid)
        pipe.status = os.waitpid(pid, 0)[1]


def page_cell(cell: NotebookNode) -> PageCell:
    """A code cell as the judge's process runs it. One that a student added may raise what it likes."""
    role = cell.metadata.get("tutorlib", {})
    may_raise = not role and "raises-exception" in cell.metadata.get("tags", ())
    return PageCell(cell.id, cell.source, role.get("role", ""), role.get("exercise", ""), may_raise)


def page_environment(folder: Path, wanted: Iterable[str]) -> dict[str, str]:
    """The own variables of the page's process: it writes to its scratch folder."""
    return {
        **dict.fromkeys(("HOME", "TMPDIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR"), str(folder)),
        JUDGED_OUTSIDE: " ".join(wanted),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",  # as in a notebook
        "PYTHONPATH": os.pathsep.join((str(ROOT), *on_path())),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def judge_environment() -> dict[str, str]:
    """This process's environment without what its own notebook and evidence are told."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", RECORDED, "JPY_"))}


def kill_all(pid: int) -> None:
    """Kill a judge's process and all below it. bubblewrap ends what is in a sandbox; without one, the judge has adopted
    the processes that lost their parent.
    """
    for process in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    os.kill(pid, signal.SIGKILL)  # it is there, if only as a zombie, until it is waited for

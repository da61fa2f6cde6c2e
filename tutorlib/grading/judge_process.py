"""The judge's process: runs a page in a process of its own cell by cell, judges its answers, and reports to the grader.

No student's code runs here. It ends where a cell hangs or ends the page's process; the grader then starts another one.
Reports are JSON lines on a pipe: one when a cell starts, one when it ends.
"""

import ast
import json
import os
import resource
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from tutorlib.checking.cuda_host import sandbox_programs
from tutorlib.checking.exercise import Exercise, Outcome
from tutorlib.checking.randomness import fix_seed
from tutorlib.compiling.outside import sandbox_compilers
from tutorlib.exercises import find
from tutorlib.grading.cpu_limit import LIMITS, ended_after, no_end
from tutorlib.grading.limited_process import limit
from tutorlib.grading.remote_judge import RemotePage, judge
from tutorlib.grading.sandbox import LARGEST_FILE, sandboxed_compiler, sandboxed_program
from tutorlib.grading.supervisor import within_own_limit
from tutorlib.grading.transport import Late, Lost
from tutorlib.machine import device, turns
from tutorlib.machine.lineage import adopt_orphans
from tutorlib.problems.fault import RESTART

LONGEST_MESSAGE = 4000  # characters


@dataclass(frozen=True)
class PageCell:
    """A code cell. role: "answer", "check" or "added"; "" of the page's own. may_raise: whether it is marked so."""

    id: str
    source: str
    role: str = ""
    exercise: str = ""
    may_raise: bool = False


@dataclass(frozen=True)
class JudgeSettings:
    """The grader's request to this process.

    command: starts the page's process. wanted: the exercises to judge. seconds: a cell's time limit.
    seed: of what the judge draws. memory: bytes that a process may allocate. pipe: the file descriptor to report to.
    """

    cells: list[PageCell]
    command: list[str]
    wanted: list[str]
    seconds: float
    seed: int
    memory: int
    sandboxed: bool
    pipe: int

    def dumps(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> "JudgeSettings":
        data = json.loads(text)
        return cls(**data | {"cells": [PageCell(**one) for one in data["cells"]]})


def main(settings: JudgeSettings) -> None:
    """Run the page, or as much of it as its process lets it. Nothing that was started is left."""
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, LARGEST_FILE)
    limit(resource.RLIMIT_DATA, settings.memory)
    adopt_orphans()
    fix_seed(settings.seed)
    if settings.sandboxed:
        sandbox_compilers(sandboxed_compiler)
        sandbox_programs(sandboxed_program)
    JudgedPage(settings).run()
    kill_children()


def kill_children() -> None:
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()


class JudgedPage:
    """A page while its cells run and its answers are judged."""

    def __init__(self, settings: JudgeSettings) -> None:
        self.settings, self.seconds = settings, settings.seconds
        os.set_inheritable(settings.pipe, False)
        self.pipe = os.fdopen(settings.pipe, "w", encoding="utf-8")
        self.ran: dict[str, bool] = {}  # exercise → whether its answer's cell ran to its end

    def report(self, event: str, cell: PageCell, **seen: Any) -> None:
        line = {"event": event, "role": cell.role, "exercise": cell.exercise, "cell": cell.id, **seen}
        self.pipe.write(json.dumps(line) + "\n")
        self.pipe.flush()

    def run(self) -> None:
        memory = within_own_limit(self.settings.memory, resource.RLIMIT_DATA)
        try:
            self.page = RemotePage(self.settings.command, os.environ, Path.cwd(), memory)
        except (Lost, OSError):
            self.report("end", PageCell("", ""), end=("error", "no process of its own could be started"))
            raise
        for cell in self.settings.cells:
            self.report("start", cell)
            with turn_of(cell):
                seen = self.seen_of(cell)
            self.report("end", cell, **seen)
            if seen["end"]:
                break
        self.pipe.close()

    def seen_of(self, cell: PageCell) -> dict[str, Any]:
        """How a cell went: `passed`, what it `raised`, the `outcome` of the answer it checks, what `end`s the run."""
        seen: dict[str, Any] = {"passed": False, "raised": "", "end": None}
        try:
            passed, raised = self.page.run(cell.source, self.seconds)
        except Late:
            return seen | {"end": ("timeout", f"no result after {self.seconds:g} seconds")}
        except Lost as error:
            return seen | {"end": ("error", self.page.last_words() or str(error))}
        seen |= {"passed": passed or cell.may_raise, "raised": tidy(raised)}
        if not self.page.is_alive():
            seen["end"] = "error", "it ended the notebook's process"
        elif cell.role == "answer":
            self.ran[cell.exercise] = seen["passed"]
        elif cell.role == "check" and cell.exercise in self.settings.wanted and self.ran.get(cell.exercise):
            seen |= self.judged(cell, find(cell.exercise))
        return seen

    def judged(self, cell: PageCell, exercise: Exercise) -> dict[str, Any]:
        """The `outcome` of an answer, or what `end`s the run."""
        try:
            outcome = self.judge(cell, exercise)
        except Late:
            return {"end": ("timeout", f"no result after {self.seconds:g} seconds")}
        except Lost as error:
            return {"end": ("error", self.page.last_words() or str(error))}
        seen: dict[str, Any] = {"outcome": asdict(replace(outcome, message=tidy(outcome.message)))}
        if outcome.status in ("error", "timeout") and not lacks_gpu(exercise):  # nothing runs here after it
            seen["end"] = outcome.status, as_reported(exercise, outcome.message)
        return seen

    def judge(self, cell: PageCell, exercise: Exercise) -> Outcome:
        """The score of the answer in the page's process, judged in this one."""
        name = ast.parse(cell.source).body[0].value.args[1].id  # type: ignore[attr-defined]  # check("02.5", name)
        with ended_after(LIMITS * self.seconds, self.page.process.pid, partial(self.give_up, cell)):
            return judge(exercise, self.page.end, name, self.seconds)

    def give_up(self, cell: PageCell) -> None:
        """End this process, which judges without end; the grader goes on in a fresh one."""
        self.report("end", cell, end=("timeout", no_end(self.seconds)), passed=False, raised="")
        kill_children()
        os._exit(1)


def turn_of(cell: PageCell) -> Any:
    """The turn on the GPU of what a cell's own process does with it. Judging takes its own, out here."""
    return nullcontext() if cell.role == "check" else turns.shared_turn()


def lacks_gpu(exercise: Exercise) -> bool:
    """Whether this machine cannot run a kernel exercise, or it needs no GPU."""
    return not exercise.needs or bool(device.why_not(exercise.needs))


def as_reported(exercise: Exercise, message: str) -> str:
    """A message of `check` without the id and title in front, which the table shows anyway.

    Nor does it say that the kernel must be restarted: the grader has done that.
    """
    for mark in "✓✗–":
        message = message.removeprefix(f"{mark} {exercise.id} {exercise.title}: ")
    return tidy(message.replace(f" {RESTART}", ""))


def tidy(text: str) -> str:
    """Without terminal codes, cut at LONGEST_MESSAGE characters."""
    return "".join(c for c in text if c.isprintable() or c == "\n")[:LONGEST_MESSAGE].strip()

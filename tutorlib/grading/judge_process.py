"""The judge's process: runs a page in a kernel cell by cell, judges its answers, and reports to the grader.

No student's code runs here. The process speaks to the kernel through its shell channel alone: it reads the replies to
what it sends, and nothing that a cell prints or displays. It ends where a cell hangs or ends its kernel; the grader
then starts another one. Reports are JSON lines on a pipe: one when a cell starts, one when it ends.
"""

import ast
import json
import os
import resource
import signal
import subprocess
import time
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from queue import Empty
from typing import Any

import psutil
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from tutorlib.checking.cuda_host.program_run import sandbox_programs
from tutorlib.checking.exercise import Exercise, Outcome
from tutorlib.checking.randomness import fix_seed
from tutorlib.compiling.outside import OVER_DISK, OVER_MEMORY, in_gb, sandbox_compilers
from tutorlib.exercises import find
from tutorlib.grading.cpu_limit import LIMITS, ended_after, no_end
from tutorlib.grading.library_process import SOCKET, LibraryProcess, page_of, served
from tutorlib.grading.remote_judge import judge
from tutorlib.grading.sandbox import LARGEST_FILE, sandboxed_compiler, sandboxed_program
from tutorlib.grading.transport import Late, Lost
from tutorlib.grading.verdict import as_reported, tidy
from tutorlib.machine import device, turns
from tutorlib.machine.lineage import adopt_orphans

KERNEL = "tutorlib"  # the kernelspec that the grader has written
POLL_S = 0.25
STARTING_S = 60.0
ENDING_S = 5.0  # for a kernel whose connection broke, and which may be ending
MOST_RECEIVED = 2**26  # characters of all that a kernel sends while one cell runs


class KernelDied(Exception):
    """The kernel's process has ended, or sends what is no reply."""


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

    sockets: the folder that the kernel shares with it. wanted: the exercises to judge. seconds: a cell's time limit.
    seed: of what the judge draws. memory: bytes that a process may allocate. pipe: the file descriptor to report to.
    """

    cells: list[PageCell]
    sockets: str
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
    """Run the page, or as much of it as its kernel lets it. Nothing that was started is left."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_DATA, (settings.memory, settings.memory))
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


class PageKernel:
    """The kernel's process and its shell channel, whose sockets are files in the folder of the connection file."""

    def __init__(self, sockets: Path, memory: int) -> None:
        self.memory, self.received = memory, 0
        manager = KernelManager(kernel_name=KERNEL, transport="ipc", connection_file=str(sockets / "kernel.json"))
        manager.start_kernel(stderr=subprocess.DEVNULL)
        assert manager.provisioner
        self.process: subprocess.Popen[bytes] = manager.provisioner.process  # type: ignore[attr-defined]
        self.client: BlockingKernelClient = manager.client()
        self.client.start_channels(iopub=False, stdin=False, hb=False, control=False)
        self.reply(self.client.kernel_info(), STARTING_S)

    def send(self, code: str) -> str:
        """Have the kernel run the code; the request's id."""
        self.received = 0
        return self.client.execute(code, store_history=False, allow_stdin=False, stop_on_error=False)

    def reply(self, request: str, seconds: float) -> dict[str, Any]:
        """The kernel's reply to a request. Raises TimeoutError, KernelDied."""
        end = time.monotonic() + seconds
        while True:
            alive = self.is_alive()
            try:
                message = self.client.get_shell_msg(timeout=max(0.0, min(POLL_S, end - time.monotonic())))
                self.received += characters(message)
                if message["parent_header"].get("msg_id") == request and self.received <= MOST_RECEIVED:
                    return dict(message["content"])
            except Empty:
                if not alive:
                    raise KernelDied(self.ending()) from None
                if time.monotonic() >= end:
                    raise TimeoutError from None
            except Exception as error:
                raise KernelDied(f"(it sends what is no message: {type(error).__name__})") from None
            if self.received > MOST_RECEIVED:
                raise KernelDied("(it sends more than the grader reads)")

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def last_words(self) -> str:
        """The message about a kernel that has ended, or is about to; "" about one that has not."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(ENDING_S)
        return "" if self.is_alive() else f"it ended the notebook's process {self.ending()}".rstrip()

    def ending(self) -> str:
        """How the process ended, "(exit code 0)" or "(SIGSEGV)". bubblewrap gives a signal as 128 and its number."""
        code = self.process.poll()
        if code is None:
            return ""
        if code == OVER_MEMORY:
            return f"(its processes used more than {in_gb(self.memory)} of memory together)"
        if code == OVER_DISK:
            return "(it fills a folder that is not its own)"
        number = -code if code < 0 else code - 128
        return f"({signal.Signals(number).name})" if number in set(signal.Signals) else f"(exit code {code})"


def characters(content: Any) -> int:
    """The lengths of all texts and bytes in a message, and one for everything else."""
    if isinstance(content, dict):
        return sum(map(characters, (*content, *content.values())))
    if isinstance(content, list):
        return sum(map(characters, content))
    return len(content) if isinstance(content, str | bytes | memoryview) else 1


class JudgedPage:
    """A page while its cells run and its answers are judged."""

    def __init__(self, settings: JudgeSettings) -> None:
        self.settings, self.seconds, self.sockets = settings, settings.seconds, Path(settings.sockets)
        os.set_inheritable(settings.pipe, False)
        self.pipe = os.fdopen(settings.pipe, "w", encoding="utf-8")
        self.ran: dict[str, bool] = {}  # exercise → whether its answer's cell ran to its end

    def report(self, event: str, cell: PageCell, **seen: Any) -> None:
        line = {"event": event, "role": cell.role, "exercise": cell.exercise, "cell": cell.id, **seen}
        self.pipe.write(json.dumps(line) + "\n")
        self.pipe.flush()

    def run(self) -> None:
        self.library = self.library_process()
        try:
            self.kernel = PageKernel(self.sockets, self.settings.memory)
        except Exception:
            self.report("end", PageCell("", ""), end=("error", "no kernel could be started"))
            raise
        for cell in self.settings.cells:
            self.report("start", cell)
            with turn_of(cell):
                seen = self.seen_of(cell)
            self.report("end", cell, **seen)
            if seen["end"]:
                break
        self.pipe.close()

    def library_process(self) -> LibraryProcess | None:
        """The process that has what the page's library forbids, where the kernel is in a sandbox and has not."""
        if not self.settings.sandboxed or not served(page := page_of(self.settings.wanted)):
            return None
        return LibraryProcess(self.sockets / SOCKET, page, self.seconds)

    def seen_of(self, cell: PageCell) -> dict[str, Any]:
        """How a cell went: `passed`, what it `raised`, the `outcome` of the answer it checks, what `end`s the run."""
        seen: dict[str, Any] = {"passed": False, "raised": "", "end": None}
        try:
            reply = self.kernel.reply(self.kernel.send(cell.source), self.seconds)
        except TimeoutError:
            return seen | {"end": ("timeout", f"no result after {self.seconds:g} seconds")}
        except KernelDied as error:
            return seen | {"end": ("error", f"it ended the notebook's process {error}".rstrip())}
        seen["passed"] = reply.get("status") == "ok" or cell.may_raise
        if reply.get("status") == "error":
            seen["raised"] = tidy(f"{reply.get('ename')}: {reply.get('evalue')}")
        if not self.kernel.is_alive():
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
            return {"end": ("error", self.kernel.last_words() or str(error))}
        seen: dict[str, Any] = {"outcome": asdict(replace(outcome, message=tidy(outcome.message)))}
        if outcome.status in ("error", "timeout") and not lacks_gpu(exercise):  # nothing runs here after it
            seen["end"] = outcome.status, as_reported(exercise, outcome.message)
        return seen

    def judge(self, cell: PageCell, exercise: Exercise) -> Outcome:
        """The score of the answer in the kernel, judged in this process."""
        address = self.sockets / "judge.sock"
        name = ast.parse(cell.source).body[0].value.args[1].id  # type: ignore[attr-defined]  # check("02.5", name)
        answer = f"globals().get({name!r})"
        serve = f"__import__('tutorlib.grading.sandboxed_kernel', fromlist=['serve']).serve({str(address)!r}, {answer})"
        with ended_after(LIMITS * self.seconds, self.kernel.process.pid, partial(self.give_up, cell)):
            return judge(exercise, address, partial(self.kernel.send, serve), self.seconds, self.library, name)

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

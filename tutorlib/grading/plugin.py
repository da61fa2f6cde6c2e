"""pytest plugin of a grading run: tells the grader, as JSON lines on a pipe, what nbval saw of each exercise's cells.

It runs in pytest's process, where no student's code runs. To nbval it adds: a kernel that is noticed when it dies, an
end of the run when a cell hangs or kills (the grader goes on in a fresh kernel), a look at the reply's own status,
the judgement of each answer from out here, and limits.
"""

import ast
import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from queue import Empty
from typing import Any

import nbval.plugin
import psutil
import pytest
from jupyter_client.manager import KernelManager
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell

from tutorlib.checking.exercise import Exercise, Outcome
from tutorlib.checking.randomness import fix_seed
from tutorlib.compiling.outside import OVER_DISK, OVER_MEMORY, in_gb, wall_in
from tutorlib.exercises import find
from tutorlib.grading.cpu_limit import LIMITS, ended_after, no_end
from tutorlib.grading.library import SOCKET, LibraryProcess, page_of, served
from tutorlib.grading.remote_judge import judge
from tutorlib.grading.sandbox import LARGEST_FILE, program_walled, walled_compiler
from tutorlib.grading.transport import Late, Lost
from tutorlib.grading.verdict import as_reported, tidy
from tutorlib.machine import device, turns
from tutorlib.machine.lineage import adopt_orphans
from tutorlib.simulate.cuda_host.program_run import put_behind

POLL_S = 0.25
PATIENCE_S = 5.0  # with a kernel whose connection broke, and which may be ending
LARGEST_TEXT = 2**25  # characters of one text in a message
MOST_HEARD = 2**26  # characters of all that a kernel says of one cell


class KernelDied(Exception):
    """The kernel's process has ended."""


class WatchedKernel(RunningKernel):
    """nbval's kernel, spoken to through sockets that are files, in the folder of its connection file.

    Its death is noticed at once, and it keeps the status of the last cell's reply.
    """

    door: Path  # where those files lie, and the judge's own
    memory: int  # bytes that its processes may use together
    status = ""
    heard = 0  # characters, since a cell was last sent

    def __init__(self, kernel_name: str, cwd: str | None = None, startup_timeout: float = 60) -> None:
        self.km = KernelManager(
            kernel_name=kernel_name, transport="ipc", connection_file=str(self.door / "kernel.json")
        )
        self.km.start_kernel(stderr=subprocess.DEVNULL, cwd=cwd)
        self.kc = self.km.client()
        self.kc.start_channels()
        self.kc.wait_for_ready(timeout=startup_timeout)
        self._ensure_iopub_up()

    def execute_cell_input(self, cell_input: str, allow_stdin: bool | None = None) -> str:
        self.heard = 0
        return super().execute_cell_input(cell_input, allow_stdin)

    def get_message(self, stream: str, timeout: float | None = None) -> dict:
        """Raises queue.Empty after `timeout` seconds, KernelDied when there is nobody left to wait for.

        So does a kernel end that sends what is no message, or more than anybody reads.
        """
        end = time.monotonic() + (float("inf") if timeout is None else timeout)
        receive = {"iopub": self.kc.get_iopub_msg, "shell": self.kc.get_shell_msg}[stream]  # nbval's own logs them all
        while True:
            if self.heard > MOST_HEARD:
                raise KernelDied("(it prints more than the grader reads)")
            alive = self.is_alive()
            try:
                message = receive(timeout=max(0.0, min(POLL_S, end - time.monotonic())))
                if message["msg_type"] == "execute_reply":
                    self.status = str(message["content"]["status"])
                self.heard += characters(message)
                if self.heard <= MOST_HEARD:
                    return clean(message)
            except Empty:
                if not alive:
                    raise KernelDied(self.ending()) from None
                if time.monotonic() >= end:
                    raise
            except Exception as error:
                raise KernelDied(f"(it sends what is no message: {type(error).__name__})") from None

    def last_words(self) -> str:
        """What is said of a kernel that has ended, or is about to; "" of one that has not."""
        end = time.monotonic() + PATIENCE_S
        while self.is_alive() and time.monotonic() < end:
            time.sleep(POLL_S)
        return "" if self.is_alive() else f"it ended the notebook's process {self.ending()}".rstrip()

    @property
    def process(self) -> subprocess.Popen | None:
        return getattr(self.km.provisioner, "process", None)

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process else None

    def ending(self) -> str:
        """How the process ended, "(exit code 0)" or "(SIGSEGV)". bubblewrap gives a signal as 128 and its number."""
        code = self.process.poll() if self.process else None
        if code is None:
            return ""
        if code == OVER_MEMORY:
            return f"(its processes used more than {in_gb(self.memory)} of memory together)"
        if code == OVER_DISK:
            return "(it fills a folder that is not its own)"
        number = -code if code < 0 else code - 128
        return f"({signal.Signals(number).name})" if number in set(signal.Signals) else f"(exit code {code})"


def clean(content: Any) -> Any:
    """A message's parts with what no file can hold taken out of their texts, and the longest of them cut."""
    if isinstance(content, dict):
        return {clean(name): clean(value) for name, value in content.items()}
    if isinstance(content, list):
        return [clean(value) for value in content]
    if isinstance(content, str):
        return content[:LARGEST_TEXT].encode(errors="replace").decode()
    return content


def characters(content: Any) -> int:
    """Of all texts and bytes in a message, and one for everything else."""
    if isinstance(content, dict):
        return sum(map(characters, (*content, *content.values())))
    if isinstance(content, list):
        return sum(map(characters, content))
    return len(content) if isinstance(content, str | bytes | memoryview) else 1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tutor-pipe", type=int, help="file descriptor to report to")
    parser.addoption("--tutor-door", type=Path, help="folder that the kernel and this process share")
    parser.addoption("--tutor-judge", default="", help="ids of the exercises that are to be judged")
    parser.addoption("--tutor-seed", type=int, default=0, help="seed of what the judge draws")
    parser.addoption("--tutor-walled", action="store_true", help="whether what strangers wrote is walled in")
    parser.addoption("--tutor-memory", type=int, help="bytes that a process of the run may allocate")


def pytest_configure(config: pytest.Config) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_DATA, (config.option.tutor_memory, config.option.tutor_memory))
    adopt_orphans()
    nbval.plugin.RunningKernel = WatchedKernel
    WatchedKernel.door, WatchedKernel.memory = config.option.tutor_door, config.option.tutor_memory
    fix_seed(config.option.tutor_seed)
    if config.option.tutor_walled:
        wall_in(walled_compiler)
        put_behind(program_walled)
    config.pluginmanager.register(Witness(config), "tutor-witness")


class Witness:
    """Reports two lines for each cell: that it starts, and what was seen."""

    def __init__(self, config: pytest.Config) -> None:
        os.set_inheritable(config.option.tutor_pipe, False)
        self.pipe = os.fdopen(config.option.tutor_pipe, "w", encoding="utf-8")
        self.timeout = config.option.nbval_cell_timeout
        self.wanted = frozenset(config.option.tutor_judge.split(","))
        self.ran: dict[str, bool] = {}  # exercise → whether its answer's cell ran to its end
        self.library = library_of(config)

    def report(self, event: str, item: IPyNbCell, **seen: Any) -> None:
        role = item.cell.metadata.get("tutorlib", {})
        line = {
            "event": event,
            "role": role.get("role"),
            "exercise": role.get("exercise"),
            "cell": item.cell.id,
            **seen,
        }
        self.pipe.write(json.dumps(line) + "\n")
        self.pipe.flush()

    def pytest_collection_modifyitems(self, items: list[IPyNbCell]) -> None:
        for item in items:
            role = item.cell.metadata.get("tutorlib", {}).get("role")
            if role in ("answer", "added"):
                item.options.clear()  # a comment such as NBVAL_SKIP in a student's cell is only a comment
                item.options["check_exception"] = role == "added"  # it may raise

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: IPyNbCell) -> Iterator[None]:
        self.report("start", item)
        with turn_of(item):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: IPyNbCell, call: pytest.CallInfo
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Of a check pytest's own report tells the verdict."""
        outcome = None
        if call.when == "call" or (call.when == "setup" and call.excinfo):
            outcome = self.look(item, call)
        report = yield
        if outcome:
            wrong = outcome.status not in ("passed", "not_run")
            report.outcome, report.longrepr = ("failed", tidy(outcome.message)) if wrong else ("passed", None)
        return report

    def look(self, item: IPyNbCell, call: pytest.CallInfo) -> Outcome | None:
        """Report how a cell went, and end the run where its kernel cannot go on; what an answer judged out here got."""
        role = item.cell.metadata.get("tutorlib", {})
        end = ending(item, call)
        seen: dict[str, Any] = {
            # a cell of the course may raise on purpose, and be marked so
            "passed": not call.excinfo and (not role or item.parent.kernel.status == "ok"),
            "raised": raised(item),
        }
        if role.get("role") == "answer":
            self.ran[role["exercise"]] = seen["passed"]
        elif role.get("role") == "check" and role["exercise"] in self.wanted and not end:
            end = self.look_at_check(item, find(role["exercise"]), seen)
        if end:
            item.session.shouldstop = "the kernel cannot go on"
        self.report("end", item, end=end, **seen)
        return Outcome(**seen["outcome"]) if "outcome" in seen else None

    def look_at_check(self, item: IPyNbCell, exercise: Exercise, seen: dict[str, Any]) -> tuple[str, str] | None:
        """Judge the answer, into `seen`; what ends the run, or None."""
        if not self.ran.get(exercise.id):
            return None
        try:
            outcome = self.judge(item, exercise)
        except Late:
            return "timeout", f"no result after {self.timeout:g} seconds"
        except Lost as error:
            return "error", item.parent.kernel.last_words() or str(error)
        seen["outcome"] = asdict(replace(outcome, message=tidy(outcome.message)))
        if outcome.status in ("error", "timeout") and not lacks_gpu(exercise):  # nothing runs here after it
            return outcome.status, as_reported(exercise, outcome.message)
        return None

    def judge(self, item: IPyNbCell, exercise: Exercise) -> Outcome:
        """What the answer in the kernel gets when it is judged out here."""
        door = item.parent.kernel.door / "judge.sock"
        name = ast.parse(item.cell.source).body[0].value.args[1].id  # the cell is check("02.5", name)
        answer = f"globals().get({name!r})"
        serve = f"__import__('tutorlib.grading.sandboxed_kernel', fromlist=['serve']).serve({str(door)!r}, {answer})"
        kernel = item.parent.kernel
        start = partial(kernel.execute_cell_input, serve, allow_stdin=False)
        with ended_after(LIMITS * self.timeout, kernel.pid, partial(self.give_up, item)):
            return judge(exercise, door, start, self.timeout, self.library, name)

    def give_up(self, item: IPyNbCell) -> None:
        """End this process, which judges without end; the grader goes on in a fresh one."""
        self.report("end", item, end=("timeout", no_end(self.timeout)), passed=False, raised="")
        os._exit(1)

    def pytest_unconfigure(self) -> None:
        """Whatever the notebook left running ends with it."""
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.pipe.close()  # the grader then kills this one, too: a kernel that never ends would hold up an orderly end


def library_of(config: pytest.Config) -> LibraryProcess | None:
    """The process that has what the page's library forbids, where the kernel is walled in and has not."""
    page = page_of(config.option.tutor_judge.split(","))
    if not config.option.tutor_walled or not served(page):
        return None
    return LibraryProcess(config.option.tutor_door / SOCKET, page, config.option.nbval_cell_timeout)


def turn_of(item: IPyNbCell) -> AbstractContextManager[None]:
    """The turn on the GPU of what a cell's own process does with it. Judging takes its own, out here."""
    judges = item.cell.metadata.get("tutorlib", {}).get("role") == "check"
    return nullcontext() if judges else turns.shared_turn()


def lacks_gpu(exercise: Exercise) -> bool:
    """Whether this machine cannot run a kernel exercise, or it needs no GPU."""
    return not exercise.needs or bool(device.why_not(exercise.needs))


def ending(item: IPyNbCell, call: pytest.CallInfo) -> tuple[str, str] | None:
    """("timeout" or "error", what happened) where this cell ended or blocked its kernel, else None."""
    if item.parent.timed_out:
        return "timeout", f"no result after {item.config.option.nbval_cell_timeout:g} seconds"
    if call.excinfo and call.excinfo.errisinstance(KernelDied):
        return "error", f"it ended the notebook's process {call.excinfo.value}".rstrip()
    if item.parent.kernel is None:
        return "error", "no kernel could be started"
    if not item.parent.kernel.is_alive():
        return "error", "it ended the notebook's process"
    return None


def raised(item: IPyNbCell) -> str:
    """The exception that ended the cell, "NameError: name 'x' is not defined", or ""."""
    errors = [output for output in item.test_outputs or () if output.output_type == "error"]
    return tidy(f"{errors[-1].ename}: {errors[-1].evalue}") if errors else ""

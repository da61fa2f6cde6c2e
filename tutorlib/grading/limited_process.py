"""Work on bytes that a student made, in a child process with limits on processor time, memory and elapsed time.

C code, such as Python's compiler, `json` or `bz2`, hears no signal and no thread while it runs: only the end of its
process ends it. So a fork of this process, which takes milliseconds and dies with its parent, works on the student's
bytes. This process waits for it, and can be interrupted at any time.
"""

import asyncio
import ctypes
import gc
import os
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import ParamSpec, TypeVar

from tutorlib.grading.supervisor import within_own_limit

P = ParamSpec("P")
T = TypeVar("T")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>
NO_MEMORY = 99  # exit status of a child without memory


@dataclass(frozen=True)
class Allowance:
    """The limits of one piece of work.

    computing_s: seconds of the child's computing. memory: bytes that it may allocate.
    patience_s: seconds that may pass, on a busy machine too; only work that waits for something needs so many.
    """

    computing_s: float = 10.0
    memory: int = 2**30
    patience_s: float = 120.0


class Exceeded(Exception):
    """The work exceeded its limits or crashed. One line, to be said of a text or a file: "needs more than …"."""


def in_child(allowance: Allowance, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`work(...)`, done in a fork of this process.

    Raises what `work` raises where that is an exception of the course's, and Exceeded.
    """
    fork = get_context("fork")
    ours, theirs = fork.Pipe(duplex=False)
    child = fork.Process(target=do_and_send, args=(os.getpid(), theirs, allowance, partial(work, *args, **kwargs)))
    child.start()
    theirs.close()
    try:
        with ours:
            if not ours.poll(allowance.patience_s):
                raise Exceeded("cannot be read in time")
            returned, result = ours.recv()
    except EOFError:  # it ended without a result
        child.join()
        raise Exceeded(why_ended(child.exitcode or 0, allowance)) from None
    finally:
        child.kill()
        child.join()
    if not returned:
        raise result
    return result


def do_and_send(parent: int, pipe: Connection, allowance: Allowance, work: Callable[[], object]) -> None:
    """In the child: do the work within its limits, and send whether it returned, and what it returned or raised."""
    settle_fork(parent, os.open(os.devnull, os.O_RDWR), pipe.fileno())
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_CPU, ceil(allowance.computing_s))
    limit(resource.RLIMIT_DATA, allocated() + allowance.memory)
    try:
        result = True, work()
    except MemoryError:
        os._exit(NO_MEMORY)
    except Exception as error:
        of_course = type(error).__module__.startswith("tutorlib.")
        result = False, error if of_course else Exceeded(f"makes its reader fail: {type(error).__name__}")
    try:
        pipe.send(result)
    except MemoryError:
        os._exit(NO_MEMORY)


def settle_fork(parent: int, output: int, kept: int) -> None:
    """Undo what a fork of `parent` inherits and a new process would not have. It dies with its parent.

    output: the file descriptor to which it prints. kept: another that stays open.
    """
    die_with(parent)
    gc.freeze()  # a collection would copy what the parent holds, and close files whose numbers are others' by then
    signal.set_wakeup_fd(-1)  # an event loop of the parent's listens there
    asyncio.set_event_loop_policy(None)  # nor is its loop this process's
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)  # a fork lacks the threads of its parent's pool, and would wait for them
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.closerange(3, kept)  # also locks and pipes, which count as the parent's as long as any process has them open
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  open until the process ends
    sys.stderr = open(2, "w", closefd=False, buffering=1)  # noqa: SIM115


def die_with(parent: int) -> None:
    """Linux kills this process as soon as `parent`, the process that started it, has ended, however that ends.

    A program that this process becomes by exec keeps that. On other systems nothing happens.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the call
            os._exit(1)


def adopt_orphans() -> None:
    """Processes below this one that lose their parent become its children. On other systems nothing happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def limit(kind: int, most: int) -> None:
    """Lower a limit of this process, and of those that it starts; a lower limit stays."""
    resource.setrlimit(kind, (within_own_limit(most, kind), resource.getrlimit(kind)[1]))


def allocated() -> int:
    """Bytes of memory that count against RLIMIT_DATA so far: this process's, which the child inherits."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    except OSError:
        return 0


def why_ended(code: int, allowance: Allowance) -> str:
    """Why a child ended without a result. code: its exit status, or less the signal that ended it."""
    if code == -signal.SIGXCPU:
        return f"needs more than {allowance.computing_s:g} s of computing"
    if code == NO_MEMORY:
        return f"needs more than {allowance.memory / 2**30:g} GB of memory"
    return f"crashes its reader ({signal.Signals(-code).name if code < 0 else f'exit status {code}'})"

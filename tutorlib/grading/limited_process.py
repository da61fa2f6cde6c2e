"""Work on bytes that a student made, in a child process with limits on processor time, memory and elapsed time.

C code, such as Python's compiler, `json` or `bz2`, hears no signal and no thread while it runs: only the end of its
process ends it. So a fork of this process, which takes milliseconds and dies with its parent, works on the student's
bytes. This process waits for it, can be interrupted at any time, and takes back a pickle that may contain only
plain values and the course's own records.
"""

import asyncio
import ctypes
import gc
import io
import os
import pickle
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from math import ceil
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
PLAIN = {
    *(("builtins", name) for name in ("frozenset", "list", "set")),
    *(("collections", "defaultdict"), ("pathlib", "PosixPath"), ("zipfile", "ZipInfo")),
}
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>
NO_MEMORY = 99  # exit status of a child without memory


@dataclass(frozen=True)
class Allowance:
    """The limits of one piece of work.

    computing_s: seconds of the child's computing. memory: bytes that it may allocate. size: bytes of its result.
    patience_s: seconds that may pass, on a busy machine too; only work that waits for something needs so many.
    """

    computing_s: float = 10.0
    memory: int = 2**30
    size: int = 2**27
    patience_s: float = 120.0


class Exceeded(Exception):
    """The work exceeded its limits or crashed. One line, to be said of a text or a file: "needs more than …"."""


def in_child(allowance: Allowance, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`work(...)`, done in a fork of this process. It returns plain values, records and exceptions of the course.

    Raises what `work` raises where that is one of the course's exceptions, and Exceeded.
    """
    parent, why = os.getpid(), ""
    ours, theirs = Pipe(duplex=False)
    if not (pid := os.fork()):
        do_and_send(parent, theirs, allowance, lambda: work(*args, **kwargs))
    theirs.close()
    content = b""
    try:
        with ours:
            if ours.poll(allowance.patience_s):
                content = ours.recv_bytes(allowance.size)
            else:
                why = "cannot be read in time"
    except EOFError:
        pass  # it ended without a result
    except OSError as error:  # or it ended in the middle of it
        why = "has more in it than is read" if error.args == ("bad message length",) else ""
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
    if content:
        try:
            kind, result = Records(io.BytesIO(content)).load()
        except Exception as error:  # what is no record
            raise Exceeded(f"makes its reader fail: {type(error).__name__}") from None
        if kind == "raised":
            raise result
        return result
    raise Exceeded(why or why_ended(status, allowance))


def do_and_send(parent: int, pipe: Connection, allowance: Allowance, work: Callable[[], object]) -> NoReturn:
    """In the child: do the work within its limits, and send what comes of it."""
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        settle_fork(parent, nothing, pipe.fileno())
        limit(resource.RLIMIT_CORE, 0)
        limit(resource.RLIMIT_CPU, ceil(allowance.computing_s))
        limit(resource.RLIMIT_DATA, allocated() + allowance.memory)
        try:
            result = ("returned", work())
        except MemoryError:
            os._exit(NO_MEMORY)
        except Exception as error:
            if not from_course(type(error).__module__):
                error = Exceeded(f"makes its reader fail: {type(error).__name__}")
            result = ("raised", error)
        pipe.send_bytes(pickle.dumps(result))
    except MemoryError:
        os._exit(NO_MEMORY)
    finally:
        os._exit(1)


def settle_fork(parent: int, output: int, kept: int) -> None:
    """Undo what a fork of `parent` inherits and a new process would not have. It dies with its parent.

    output: the file descriptor to which it prints. kept: the one of the others that stays open.
    """
    die_with(parent)
    gc.freeze()  # a collection would copy what the parent holds, and close files whose numbers are others' by then
    signal.set_wakeup_fd(-1)  # an event loop of the parent's listens there
    asyncio.set_event_loop_policy(None)  # nor is its loop this one's
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


def limit(what: int, most: int) -> None:
    """Lower a limit of this process, and of those that it starts; one that is lower stays."""
    hard = resource.getrlimit(what)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, hard))


def allocated() -> int:
    """Bytes of memory that count against RLIMIT_DATA so far: this process's, which the child inherits."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    except OSError:
        return 0


def why_ended(status: int, allowance: Allowance) -> str:
    """Why a child ended without a result."""
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGXCPU:
        return f"needs more than {allowance.computing_s:g} s of computing"
    if code == NO_MEMORY:
        return f"needs more than {allowance.memory / 2**30:g} GB of memory"
    return f"crashes its reader ({signal.Signals(-code).name if code < 0 else f'exit status {code}'})"


class Records(pickle.Unpickler):
    """Takes plain values, and the dataclasses and exceptions of the course."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in PLAIN:
            return super().find_class(module, name)
        if from_course(module):
            found = super().find_class(module, name)
            if isinstance(found, type) and (is_dataclass(found) or issubclass(found, Exception)):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no record")


def from_course(module: str) -> bool:
    return module.partition(".")[0] == __name__.partition(".")[0]

"""Work on bytes that a student made, in a child process with limits on processor time, memory and elapsed time.

C code, such as Python's compiler, `json` or `bz2`, hears no signal and no thread while it runs: only the end of its
process ends it. So a fork of this process, which takes milliseconds and dies with its parent, works on the student's
bytes. This process waits for it, can be interrupted at any time, and takes back a pickle that may contain only
plain values and the course's own records.
"""

import gc
import io
import os
import pickle
import resource
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from math import ceil
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

from tutorlib.machine.lineage import die_with

P = ParamSpec("P")
T = TypeVar("T")
PLAIN = {
    *(("builtins", name) for name in ("frozenset", "list", "set")),
    *(("collections", "defaultdict"), ("pathlib", "PosixPath"), ("zipfile", "ZipInfo")),
}


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
    """The work exceeded its limits or crashed. The message is one line; `about` names the part that was being read."""

    def __init__(self, why: str, about: Any = None) -> None:
        super().__init__(why, about)
        self.about = about

    def __str__(self) -> str:
        return str(self.args[0])


_parent: Connection | None = None  # of a child


def about(what: Any) -> None:
    """Tell the parent which part of the work begins, so that it knows at which one the child ended."""
    if _parent is not None:
        send_message(_parent, ("about", what))


def in_child(allowance: Allowance, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`work(...)`, done in a fork of this process. It returns plain values, records and exceptions of the course.

    Raises what `work` raises where that is one of the course's exceptions, and Exceeded.
    """
    parent, last, refused = os.getpid(), None, ""
    ours, theirs = Pipe(duplex=False)
    if not (pid := os.fork()):
        child(parent, theirs, allowance, lambda: work(*args, **kwargs))
    theirs.close()
    until, room = time.monotonic() + allowance.patience_s, allowance.size
    try:
        while True:
            if not ours.poll(max(0.0, until - time.monotonic())):
                refused = "cannot be read in time"
                break
            try:
                content = ours.recv_bytes(room)
            except EOFError:
                break
            except OSError as error:  # or the child ended in the middle of it
                refused = "has more in it than is read" if error.args == ("bad message length",) else ""
                break
            room -= len(content)
            try:
                message = Records(io.BytesIO(content)).load()
            except Exception as error:  # what is no record
                refused = f"makes its reader fail: {type(error).__name__}"
                break
            match message:
                case ["about", last]:
                    pass
                case ["returned", value]:
                    return value
                case ["raised", error]:
                    raise error
                case _:
                    break
    finally:
        ours.close()
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
    raise Exceeded(refused or why_ended(status, allowance), last)


def child(parent: int, pipe: Connection, allowance: Allowance, work: Callable[[], object]) -> NoReturn:
    """In the child: do the work within its limits, and send what comes of it."""
    global _parent
    try:
        die_with(parent)
        signal.set_wakeup_fd(-1)  # an event loop of the parent's listens there
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGXCPU):
            signal.signal(number, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        gc.freeze()  # a collection would copy what the parent holds
        limit(resource.RLIMIT_CORE, 0)
        limit(resource.RLIMIT_CPU, ceil(allowance.computing_s))
        limit(resource.RLIMIT_DATA, allocated() + allowance.memory)
        _parent = pipe
        try:
            result = ("returned", work())
        except MemoryError:
            os._exit(NO_MEMORY)
        except Exception as error:
            if not from_course(type(error).__module__):
                error = Exceeded(f"makes its reader fail: {type(error).__name__}")
            result = ("raised", error)
        send_message(pipe, result)
    except MemoryError:
        os._exit(NO_MEMORY)
    finally:
        os._exit(1)


NO_MEMORY = 99  # exit status of a child without memory


def limit(what: int, most: int) -> None:
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
    """Why a child ended without a result, to be said of a text or a file: "needs more than …"."""
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGXCPU:
        return f"needs more than {allowance.computing_s:g} s of computing"
    if code == NO_MEMORY:
        return f"needs more than {allowance.memory / 2**30:g} GB of memory"
    return f"crashes its reader ({signal.Signals(-code).name if code < 0 else f'exit status {code}'})"


def send_message(pipe: Connection, message: Any) -> None:
    pipe.send_bytes(pickle.dumps(message))


class Records(pickle.Unpickler):
    """Takes plain values, and the dataclasses, enumerations' members and exceptions of the course."""

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

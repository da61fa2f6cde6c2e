"""A run of a C++ program, on the GPU at hand or on the stand-in of this folder."""

import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tutorlib.checking.cuda_host import NOTICED
from tutorlib.checking.cuda_host.gpu import AddingGpu
from tutorlib.compiling.programs import OVER_MEMORY
from tutorlib.failure import Fail, Flaw

TIME_LIMIT_S = 15  # for a run; a right one takes up to a second, and more on a busy machine
MOST_PRINTED = 2**22  # bytes
CRASHED = Flaw("it crashes: host code can neither read nor write memory of the GPU's", Fail.CRASHED)


@dataclass(frozen=True)
class ProgramRun:
    """wrong: with how it ended, as a clause; "" for nothing. printed: to stdout. noticed: by the runtime library,
    first and later.

    said: by the program itself, to stderr.
    """

    wrong: str = ""
    printed: bytes = b""
    noticed: str = ""
    said: str = ""
    endless: bool = False
    later: tuple[str, ...] = ()


CommandFor = Callable[[Path], AbstractContextManager[list[str]]]


@contextmanager
def without_sandbox(program: Path) -> Iterator[list[str]]:
    yield [str(program)]


command_for: CommandFor = without_sandbox


def sandbox_programs(sandbox: CommandFor) -> None:
    """From now on the programs of other processes' answers run where this says.

    sandbox: takes a program, gives the command that runs it, as long as it is entered.
    """
    global command_for
    command_for = sandbox


def run_of(command: list[str], gpu: AddingGpu | None, limit_s: float = TIME_LIMIT_S) -> ProgramRun:
    """A run of the program, whose stdin is a line to this GPU."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        try:
            with line_to(gpu) as line:
                done = subprocess.run(command, stdin=line, stdout=out, stderr=error, timeout=limit_s, check=False)
        except subprocess.TimeoutExpired:
            return ProgramRun(f"it does not end within {limit_s:g} s", endless=True)
        printed, said = (read_all(file) for file in (out, error))
    lines = said.decode(errors="replace").splitlines()
    noticed, *others = [line.removeprefix(NOTICED) for line in lines if line.startswith(NOTICED)] or [""]
    status = done.returncode
    if status == OVER_MEMORY:
        return ProgramRun("it uses more memory than a program may")
    if status < 0 or status > 128:  # of a signal; bubblewrap tells it so
        return ProgramRun(noticed or CRASHED)
    own = "\n".join(line for line in lines if not line.startswith(NOTICED))
    return ProgramRun(
        f"it ends with status {status}" if status else "", printed, noticed, said=own, later=tuple(others)
    )


@contextmanager
def line_to(gpu: AddingGpu | None) -> Iterator[int]:
    """The program's end of a line to the GPU, which serves it meanwhile."""
    if gpu is None:
        yield subprocess.DEVNULL
        return
    mine, theirs = socket.socketpair()
    thread = threading.Thread(target=serve_quietly, args=(gpu, mine), daemon=True)
    thread.start()
    try:
        with theirs:
            yield theirs.fileno()
    finally:
        with suppress(OSError):  # it may have hung up
            mine.shutdown(socket.SHUT_RDWR)
        thread.join()


def serve_quietly(gpu: AddingGpu, line: socket.socket) -> None:
    with suppress(OSError):  # the program ended in the middle of a launch
        gpu.serve(line)


def read_all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read(MOST_PRINTED)

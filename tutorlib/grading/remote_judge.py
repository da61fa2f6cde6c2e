"""Judges an answer from another process, so that nothing it does to its own process can give it points.

The answer stays in the page's process (`page_process`), to which the judge speaks over a line: it calls a service by
its name, and waits for the reply. It holds a `RemoteAnswer`, as every judge holds a `Served`. What crosses is plain
data: see `wire`. A value that cannot cross equals nothing.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tutorlib.checking.answer import AnswerQuestion, Served
from tutorlib.checking.exercise import Exercise, Outcome
from tutorlib.checking.randomness import judging_for_points
from tutorlib.compiling.programs import OVER_MEMORY, in_gb
from tutorlib.grading.limited_process import die_with
from tutorlib.grading.wire import LARGEST, RETURNED, SENT, CannotCross, Opaque, Reader, Writer, exception

STARTING_S = 60.0
ENDING_S = 5.0  # for a process whose line broke, and which may be ending
SHORTEST_S = 1e-6  # 0 would set no alarm


class Lost(BaseException):
    """The other side gives no reply: it hangs or is gone. Not an Exception, or a case would take it for an answer's."""


class Late(Lost):
    """There was no reply before the deadline."""


class JudgesEnd:
    """The judge's end of the line.

    seconds: for which the other end may keep this one waiting, all its replies together. It is an alarm signal's, which
    ends half-sent messages, too: the judge is its process's main thread.
    """

    def __init__(self, line: Connection, seconds: float) -> None:
        self.line, self.seconds = line, seconds

    def call(self, service: str, *args: Any, **named: Any) -> Any:
        """Raises what the service raises, by its name, and Lost. Arguments that cannot cross are a TypeError."""
        try:
            message = Writer(SENT).message([service, args, named])
        except CannotCross as error:
            raise TypeError(f"the answer cannot be called with {error}") from None
        try:
            with self.waiting():
                self.line.send_bytes(message)
                reply = self.line.recv_bytes(LARGEST)
        except (OSError, EOFError):
            raise Lost("the notebook's process is gone") from None
        try:
            match Reader(RETURNED).value(reply):
                case ["returned", value]:
                    return value
                case ["raised", str() as name, str() as text, str() as words, str() as place]:
                    raised = exception(name, text, words)
                    if place:
                        raised.add_note(place)
                case _:
                    raise Lost("it broke the connection to the judge")
        except CannotCross as error:
            return Opaque(str(error))
        raise raised

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Only waiting counts against the limit, not what is done between. Raises Late."""
        since = time.monotonic()
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, max(self.seconds, SHORTEST_S))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.seconds -= time.monotonic() - since


def ring(*_: object) -> None:
    raise Late("it gave no result in time")


class RemotePage:
    """The page's process, as the judge holds it.

    command: starts it, in this folder; its standard input is the line. memory: bytes that it may use, for the message
    about a process that used more. Raises Lost where it does not start.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path, memory: int) -> None:
        self.memory = memory
        ours, theirs = socket.socketpair()
        nowhere = subprocess.DEVNULL
        with theirs:
            self.process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=nowhere,
                stderr=nowhere,
                env=environment,
                cwd=folder,
                preexec_fn=partial(die_with, os.getpid()),
            )
        self.end = JudgesEnd(Connection(ours.detach()), STARTING_S)
        self.run("", STARTING_S)

    def run(self, source: str, seconds: float) -> tuple[bool, str]:
        """Whether a cell ran to its end, and what it raised. Raises Late, Lost."""
        self.end.seconds = seconds
        try:
            match self.end.call("run", source):
                case [bool() as passed, str() as raised]:
                    return passed, raised
        except Exception as error:  # that is no reply of `run`
            raise Lost(f"it sends what is no reply: {type(error).__name__}") from None
        raise Lost("it sends what is no reply")

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def last_words(self) -> str:
        """The message about a process that has ended, or is about to; "" about one that has not."""
        try:
            code = self.process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            return ""
        number = -code if code < 0 else code - 128  # bubblewrap gives a signal as 128 and its number
        how = signal.Signals(number).name if number in set(signal.Signals) else f"exit code {code}"
        if code == OVER_MEMORY:
            how = f"its processes used more than {in_gb(self.memory)} of memory together"
        return f"it ended the notebook's process ({how})"


def judge(exercise: Exercise, end: JudgesEnd, name: str, seconds: float) -> Outcome:
    """Grade the answer of this name, which the other end serves.

    seconds: for which it may keep the judge waiting, all its replies together. Raises Late, Lost.
    """
    end.seconds = seconds
    try:
        end.call("hold", name)
        with judging_for_points():
            return exercise.grade_served(RemoteAnswer(end, name))
    except Exception as error:  # a case that stumbles over what the answer returned
        return exercise.outcome("failed", 0, f"{type(error).__name__}: {error}")


class RemoteAnswer(Served):
    """The answer under judgment, in the page's process. name: by which messages call it."""

    def __init__(self, end: JudgesEnd, name: str) -> None:
        self.end, self.__name__ = end, name

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.end.call("answer", *args, **named)

    def ask(self, question: AnswerQuestion, *args: Any) -> Any:
        return self.end.call("ask", question, *args)

    def where(self, error: BaseException) -> str:
        return "".join(getattr(error, "__notes__", ()))

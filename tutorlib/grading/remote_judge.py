"""Judges an answer from another process, so that nothing it does to its own process can give it points.

The answer stays in the page's process (`page_process`), to which the judge speaks over a line: it calls a service by
its name, and waits for the reply. It holds a `RemoteAnswer`, as every judge holds a `Served`. What crosses is plain
data: see `wire`. A value that cannot cross equals nothing.
"""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from tutorlib.checking.answer import AnswerQuestion, Served
from tutorlib.checking.exercise import Exercise, Outcome
from tutorlib.checking.randomness import judging_for_points
from tutorlib.grading.wire import LARGEST, REPLIES, REQUESTS, CannotCross, Opaque, exception


class Lost(BaseException):
    """The other side gives no reply: it hangs or is gone. Not an Exception, or a case would take it for an answer's."""


class Late(Lost):
    """There was no reply before the deadline."""


class RemotePage:
    """The page's process, at the other end of a line.

    seconds: for which it may keep the judge waiting, all its replies together. It is an alarm signal's, which ends
    half-sent messages, too: the judge is its process's main thread.
    """

    def __init__(self, line: Connection) -> None:
        self.line, self.seconds = line, 0.0

    def run(self, source: str, seconds: float) -> tuple[bool, str]:
        """Whether a cell ran to its end, and what it raised. Raises Late, Lost."""
        self.seconds = seconds
        try:
            match self.call("run", source):
                case [bool() as passed, str() as raised]:
                    return passed, raised
        except Exception as error:  # that is no reply of `run`
            raise Lost(f"it sends what is no reply: {type(error).__name__}") from None
        raise Lost("it sends what is no reply")

    def call(self, service: str, *args: Any, **named: Any) -> Any:
        """Raises what the service raises, by its name, and Lost. Arguments that cannot cross are a TypeError."""
        try:
            message = REQUESTS.message([service, args, named])
        except CannotCross as error:
            raise TypeError(f"the answer cannot be called with {error}") from None
        try:
            with self.waiting():
                self.line.send_bytes(message)
                reply = self.line.recv_bytes(LARGEST)
        except (OSError, EOFError):
            raise Lost("the notebook's process is gone") from None
        try:
            match REPLIES.value(reply):
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
        signal.setitimer(signal.ITIMER_REAL, max(self.seconds, 1e-6))  # 0 would set no alarm
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.seconds -= time.monotonic() - since


def ring(*_: object) -> None:
    raise Late("it gave no result in time")


def judge(exercise: Exercise, page: RemotePage, name: str, seconds: float) -> Outcome:
    """Grade the answer of this name, which may take `seconds` for all its replies together. Raises Late, Lost."""
    page.seconds = seconds
    try:
        page.call("hold", name)
        with judging_for_points():
            return exercise.grade_served(RemoteAnswer(page, name))
    except Exception as error:  # a case that stumbles over what the answer returned
        return exercise.outcome("failed", 0, f"{type(error).__name__}: {error}")


class RemoteAnswer(Served):
    """The answer under judgment, in the page's process. name: by which messages call it."""

    def __init__(self, page: RemotePage, name: str) -> None:
        self.page, self.__name__ = page, name

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.page.call("answer", *args, **named)

    def ask(self, question: AnswerQuestion, *args: Any) -> Any:
        return self.page.call("ask", question, *args)

    def where(self, error: BaseException) -> str:
        return "".join(getattr(error, "__notes__", ()))

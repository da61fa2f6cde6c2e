"""The line between the judge and the process of an answer: the judge calls services by their names, one at a time."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from tutorlib.grading.wire import (
    LARGEST,
    RETURNED,
    SENT,
    CannotCross,
    Opaque,
    Reader,
    Writer,
    exception,
    parts_of_error,
)

GONE = "the notebook's process is gone"
SHORTEST_S = 1e-6  # 0 would set no alarm


class Lost(BaseException):
    """The other side gives no reply: it hangs or is gone. Not an Exception, or a case would take it for an answer's."""


class Late(Lost):
    """There was no reply before the deadline."""


@dataclass
class JudgesEnd:
    """seconds: for which the other end may keep this one waiting, all its replies together; None for no limit. It is an
    alarm signal's, which ends half-sent messages, too: this end works in its process's main thread.
    """

    line: Connection
    seconds: float | None = None

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
            raise Lost(GONE) from None
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
        if self.seconds is None:
            yield
            return
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


@dataclass
class AnswersEnd:
    """services: by name. place_of: says of an exception where in the answer it comes from, "" for nothing."""

    line: Connection
    services: dict[str, Callable[..., Any]] = field(default_factory=dict)
    place_of: Callable[[Exception], str] = lambda error: ""

    def next_call(self) -> tuple[str, tuple, dict[str, Any]] | None:
        """The service that the judge calls next, and its arguments; None where it has hung up."""
        try:
            service, args, named = Reader(SENT).value(self.line.recv_bytes(LARGEST))
        except (OSError, EOFError):
            return None
        return service, args, named

    def answer(self, service: str, args: tuple, named: dict[str, Any]) -> None:
        """Call the service, and send what it returns or raises."""
        try:
            result = self.services[service](*args, **named)
        except Exception as error:
            self.send(["raised", *parts_of_error(error), self.place_of(error)])
        else:
            self.give(result)

    def give(self, result: Any) -> None:
        """Send the result of a call."""
        try:
            self.send(["returned", result])
        except (CannotCross, ValueError, RuntimeError) as error:  # too large, or it changes while it is written
            self.send(["returned", Opaque(type(error).__name__)])

    def send(self, reply: list[Any]) -> None:
        self.line.send_bytes(Writer(RETURNED, lenient=True).message(reply))

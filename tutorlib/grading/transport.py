"""A connection over which two processes call each other's functions."""

import builtins
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from tensor_layouts.layouts import LayoutError, UnsupportedComposedLayoutError

from tutorlib.checking.exercise import Unwritten, WrongKind
from tutorlib.compiling.errors import CompileFailed, shortened
from tutorlib.failure import Flaw
from tutorlib.grading.wire import LARGEST, RECORDS, CannotCross, Opaque, Reader, Writer

GONE = "the notebook's process is gone"
SHORTEST_S = 1e-6  # 0 would set no alarm
LONGEST_WORDS = 4000  # characters of an exception's text
OURS: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (CompileFailed, Unwritten, WrongKind, LayoutError, UnsupportedComposedLayoutError)
}


class Lost(BaseException):
    """The other side gives no reply: it hangs or is gone. Not an Exception, or a case would take it for an answer's."""


class Late(Lost):
    """There was no reply before the deadline."""


class RemoteFunction:
    """A function that lives at the other end."""

    def __init__(self, endpoint: "Endpoint", number: int | str) -> None:
        self.endpoint, self.number = endpoint, number
        self.__name__ = "answer"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.endpoint.call(self.number, args, kwargs)


class Endpoint:
    """One end of a connection.

    kept: functions that the other end may call by their numbers. named: such that it may call by their names.
    lenient: whether a result that cannot cross goes as Opaque; arguments that cannot are a TypeError at the caller's.
    seconds: for which the other end may keep this one waiting, all its replies together; None for no limit. It is an
    alarm signal's, which ends half-sent messages, too: an end with a limit works in its process's main thread.
    locate: says of an exception where it comes from, "" for nothing; it goes as a note of the exception's.
    sends, takes: the modules whose dataclasses this end sends, and those of which it makes what it is sent.
    """

    def __init__(
        self,
        connection: Connection,
        named: dict[str, Callable[..., Any]] | None = None,
        seconds: float | None = None,
        locate: Callable[[Exception], str] = lambda error: "",
        sends: tuple[str, ...] = RECORDS,
        takes: tuple[str, ...] = RECORDS,
    ) -> None:
        self.connection, self.named, self.seconds, self.locate = connection, named or {}, seconds, locate
        self.kept: list[Callable[..., Any]] = []
        self.reader = Reader(
            lambda number: RemoteFunction(self, int(number)), lambda number: self.kept[int(number)], takes
        )
        self.sends = sends

    def writer(self, lenient: bool = False) -> Writer:
        return Writer(self.handle, lenient, self.sends)

    def handle(self, function: Any) -> tuple[str, int]:
        if isinstance(function, RemoteFunction) and function.endpoint is self and isinstance(function.number, int):
            return "yours", function.number
        if not any(function is one for one in self.kept):
            self.kept.append(function)
        return "mine", next(n for n, one in enumerate(self.kept) if one is function)

    def call(self, number: int | str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Raises what the function raises, by its name, and Lost."""
        try:
            message = self.writer().message(["call", number, args, kwargs])
        except CannotCross as error:
            raise TypeError(f"the answer cannot be called with {error}") from None
        self.send(message)
        while True:
            match self.receive():
                case ["call", asked, tuple() as asked_args, dict() as asked_kwargs]:
                    self.answer(asked, asked_args, asked_kwargs)
                case ["returned", value]:
                    return value
                case ["raised", str() as name, str() as text, str() as words, str() as note]:
                    raised = exception(name, text, words)
                    if note:
                        raised.add_note(note)
                    raise raised
                case _:
                    raise Lost("it broke the connection to the judge")

    def next_call(self) -> tuple[int | str, tuple, dict[str, Any]] | None:
        """The function that the other end calls next, and its arguments; None where it has hung up."""
        while True:
            try:
                message = self.receive()
            except Lost:
                return None
            match message:
                case ["call", (int() | str()) as number, tuple() as args, dict() as kwargs]:
                    return number, args, kwargs

    def answer(self, number: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        """Call the function, and send what it returns or raises."""
        try:
            function = self.named[number] if isinstance(number, str) else self.kept[int(number)]
            result = function(*args, **kwargs)
        except Exception as error:
            words = error.original if isinstance(error, CompileFailed) else ""
            texts = (words_of(error), words, self.locate(error))
            told = ["raised", known_name(error), *(shortened(text, LONGEST_WORDS) for text in texts)]
            self.send(self.writer(lenient=True).message(told))
        else:
            self.give(result)

    def give(self, result: Any) -> None:
        """Send the result of a call."""
        try:
            message = self.writer(lenient=True).message(["returned", result])
        except (CannotCross, ValueError, RuntimeError) as error:  # too large, or it changes while it is written
            message = self.writer(lenient=True).message(["returned", Opaque(type(error).__name__)])
        self.send(message)

    def send(self, message: bytes) -> None:
        try:
            with self.waiting():
                self.connection.send_bytes(message)
        except OSError:
            raise Lost(GONE) from None

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

    def receive(self) -> Any:
        try:
            with self.waiting():
                message = self.connection.recv_bytes(LARGEST)
        except (OSError, EOFError):
            raise Lost(GONE) from None
        try:
            return self.reader.value(message)
        except CannotCross as error:
            return ["returned", Opaque(str(error))]


def ring(*_: object) -> None:
    raise Late("it gave no result in time")


def words_of(error: Exception) -> str:
    try:
        return error.args[0] if [type(arg) for arg in error.args] == [Flaw] else str(error)
    except Exception:  # the reader's own class
        return ""


def known_name(error: Exception) -> str:
    """ "ValueError" of an exception of some library that is one: what the other end can raise in its place."""
    return next(
        kind.__name__
        for kind in type(error).__mro__
        if kind.__module__ == "builtins" or OURS.get(kind.__name__) is kind
    )


def exception(name: str, text: str, words: str) -> Exception:
    """An exception that the other end raised; RuntimeError where its kind is not known here.

    That a package is missing is for this end to say.
    """
    if name == CompileFailed.__name__:
        return CompileFailed(text, original=words)
    kind = OURS.get(name) or getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)) or issubclass(kind, ModuleNotFoundError):
        return RuntimeError(text)
    try:
        return kind(text)
    except TypeError:  # UnicodeDecodeError wants more
        return RuntimeError(text)

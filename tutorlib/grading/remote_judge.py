"""Judges an answer from another process, so that nothing it does to its own process can give it points.

The answer stays in the notebook's kernel, which serves it on a socket; the judge outside holds a `RemoteAnswer`, as
every judge holds a `Served`. What crosses is plain data: see `wire`. A value that cannot cross equals nothing.
"""

import errno
import os
import socket
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tutorlib.checking.exercise import Exercise, Outcome, wrong
from tutorlib.checking.graded_run import judging_for_points
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.library_use import Library, as_told, used_library
from tutorlib.checking.served import AnswerQuestion, Served
from tutorlib.grading.library_process import LibraryProcess, served_key
from tutorlib.grading.sent_exercise import sent_form
from tutorlib.grading.transport import Endpoint, Lost, RemoteFunction
from tutorlib.grading.watchdog import watching
from tutorlib.grading.wire import EXERCISES

CONNECT_S = 10.0
LOOK_S = 0.25


class RemoteAnswer(RemoteFunction, Served):
    """The answer under judgement: function 0 of the kernel.

    name: by which messages call it. refused: keys of functions that the library process refuses.
    """

    def __init__(self, endpoint: Endpoint, name: str, refused: Collection[str] = ()) -> None:
        RemoteFunction.__init__(self, endpoint, 0)
        self.__name__, self.refused = name, refused

    def watch(self, library: Library | None) -> None:
        told = [one for one in as_told(library or {}) if served_key(one) not in self.refused]
        self.endpoint.call("watch", (told if told or not self.refused else None,), {})

    def take(self, exercise: KernelExercise) -> None:
        self.endpoint.call("take", sent_form(exercise), {})

    def ask(self, question: AnswerQuestion, *args: Any) -> Any:
        return self.endpoint.call("ask", (question.__module__, question.__qualname__, *args), {})

    def where(self, error: BaseException) -> str:
        return "".join(getattr(error, "__notes__", ()))


def judge(
    exercise: Exercise,
    address: Path,
    start: Callable[[], object],
    seconds: float,
    library: LibraryProcess | None = None,
    name: str = "answer",
) -> Outcome:
    """Grade the answer that a kernel serves at a socket.

    start: makes the kernel call `sandboxed_kernel.serve(address, answer)`.
    seconds: for which it may keep the judge waiting, all its replies together.
    library: the process that has the page's library. name: the answer's, on its page. Raises Lost.
    """
    with socket.socket(socket.AF_UNIX) as listener:
        mask = os.umask(0)  # the kernel may be another user's; the folder around the listener lets in no third one
        try:
            listener.bind(str(address))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise Lost("the path of the judge's socket is taken") from None
        finally:
            os.umask(mask)
        listener.listen(1)
        listener.settimeout(CONNECT_S)
        try:
            start()
            connected, _ = listener.accept()
        except TimeoutError:
            raise Lost("the kernel did not answer the judge") from None
        finally:
            with suppress(OSError):  # the kernel may have been there
                address.unlink()
    with connected, Connection(connected.dup().detach()) as connection:
        endpoint = Endpoint(connection, seconds=seconds, sends=EXERCISES)
        refused: list[str] = []
        with looked_after(endpoint, connected), library.forbidding(exercise, refused) if library else nullcontext():
            try:
                answer = RemoteAnswer(endpoint, name, library.served if library else ())
                with judging_for_points():
                    outcome = exercise.grade_served(answer)
                outcome = replace(outcome, message=outcome.message + str(endpoint.call("dropped", (), {})))
            except Exception as error:  # a case that stumbles over what the answer returned
                outcome = exercise.outcome("failed", 0, f"{type(error).__name__}: {error}")
    return exercise.outcome_of(wrong(str(used_library(f"calls {refused[0]}")))) if refused else outcome


@contextmanager
def looked_after(endpoint: Endpoint, connected: socket.socket) -> Iterator[None]:
    """Meanwhile hang up where the other endpoint sends half a message, or reads none, for longer than it may."""

    def done() -> str:
        if why := endpoint.overdue():
            endpoint.why_lost = why
            with suppress(OSError):  # it has hung up itself
                connected.shutdown(socket.SHUT_RDWR)
        return why

    with watching(done, LOOK_S):
        yield

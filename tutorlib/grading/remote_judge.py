"""Judging an answer from another process, so that nothing it does to its own process can give it points.

The answer stays in the notebook's kernel, which serves calls on a socket; the judge outside holds a `RemoteAnswer` in
its place. What crosses is plain data: see `wire`. A value that cannot cross equals nothing.
"""

import errno
import os
import socket
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tutorlib.checking.exercise import Exercise, Outcome, wrong
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.library_use import Elsewhere, Library, as_told, leaning
from tutorlib.grading.library import LibraryProcess, served_key
from tutorlib.grading.sent_exercise import sent_form
from tutorlib.grading.transport import End, Far, Lost
from tutorlib.grading.watchdog import watching
from tutorlib.grading.wire import EXERCISES

CONNECT_S = 10.0
LOOK_S = 0.25


class RemoteAnswer(Far, Elsewhere):
    """The answer under judgement: function 0 of the kernel. served: keys of functions that are refused elsewhere."""

    def __init__(self, line: End, served: Collection[str] = ()) -> None:
        super().__init__(line, 0)
        self.served = served

    def watch(self, library: Library) -> None:
        told = [one for one in as_told(library) if served_key(one) not in self.served]
        self.ask("watch", told if told or not self.served else None)

    def ask(self, service: str, *args: Any) -> Any:
        return self.line.call(service, args, {})


def judge(
    exercise: Exercise,
    address: Path,
    start: Callable[[], object],
    seconds: float,
    library: LibraryProcess | None = None,
) -> Outcome:
    """Grade the answer that a kernel serves at a socket.

    start: makes the kernel call `sandboxed_kernel.serve(address, answer)`.
    seconds: for which it may keep the judge waiting, all its replies together.
    library: the process that has the page's library. Raises Lost.
    """
    with socket.socket(socket.AF_UNIX) as door:
        mask = os.umask(0)  # the kernel may be another user's; the folder around the door lets in no third one
        try:
            door.bind(str(address))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise Lost("something stands where the judge opens its door") from None
        finally:
            os.umask(mask)
        door.listen(1)
        door.settimeout(CONNECT_S)
        try:
            start()
            line, _ = door.accept()
        except TimeoutError:
            raise Lost("the kernel did not answer the judge") from None
        finally:
            with suppress(OSError):  # the kernel may have been there
                address.unlink()
    with line, Connection(line.dup().detach()) as connection:
        end = End(connection, seconds=seconds, sends=EXERCISES)
        refused: list[str] = []
        with looked_after(end, line), library.forbidding(exercise, refused) if library else nullcontext():
            try:
                answer = RemoteAnswer(end, library.served if library else ())
                if isinstance(exercise, KernelExercise):
                    answer.ask("take", *sent_form(exercise))
                outcome = exercise.grade(answer)
            except Exception as error:  # a case that stumbles over what the answer returned
                outcome = exercise.outcome("failed", 0, f"{type(error).__name__}: {error}")
    return exercise.outcome_of(wrong(str(leaning(f"calls {refused[0]}")))) if refused else outcome


@contextmanager
def looked_after(end: End, line: socket.socket) -> Iterator[None]:
    """Meanwhile hang up where the other end sends half a message, or reads none, for longer than it may."""

    def done() -> str:
        if why := end.overdue():
            end.why_lost = why
            with suppress(OSError):  # it has hung up itself
                line.shutdown(socket.SHUT_RDWR)
        return why

    with watching(done, LOOK_S):
        yield

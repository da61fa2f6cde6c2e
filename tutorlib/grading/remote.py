"""Judging an answer from another process, so that nothing it does to its own process can give it points.

The answer stays in the notebook's kernel, which serves calls on a socket; the judge outside holds a `RemoteAnswer` in
its place. What crosses is plain data: see `wire`. A value that cannot cross equals nothing.
"""

import errno
import socket
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tutorlib.checking.exercise import Exercise, Outcome
from tutorlib.checking.leaning import Elsewhere, Library, as_told
from tutorlib.grading.line import End, Far, Lost

CONNECT_S = 10.0


class RemoteAnswer(Far, Elsewhere):
    """The answer under judgement: function 0 of the kernel."""

    def __init__(self, line: End) -> None:
        super().__init__(line, 0)

    def watch(self, library: Library) -> None:
        self.ask("watch", as_told(library))

    def ask(self, service: str, *args: Any) -> Any:
        return self.line.call(service, args, {})


def judge(exercise: Exercise, address: Path, start: Callable[[], None], seconds: float) -> Outcome:
    """Grade the answer that a kernel serves at a socket.

    start: makes the kernel call `inside.serve(address, answer)`.
    seconds: for which it may keep the judge waiting, all its replies together. Raises Lost.
    """
    with socket.socket(socket.AF_UNIX) as door:
        try:
            door.bind(str(address))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise Lost("something stands where the judge opens its door") from None
        door.listen(1)
        door.settimeout(CONNECT_S)
        try:
            start()
            line, _ = door.accept()
        except TimeoutError:
            raise Lost("the kernel did not answer the judge") from None
        finally:
            address.unlink(missing_ok=True)  # the kernel may have been there
    with Connection(line.detach()) as connection:
        try:
            return exercise.grade(RemoteAnswer(End(connection, seconds=seconds)))
        except Exception as error:  # a case that stumbles over what the answer returned
            return exercise.outcome("failed", 0, f"{type(error).__name__}: {error}")

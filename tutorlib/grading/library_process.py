"""Runs the library functions that a page's exercises forbid, outside the student's process.

In the sandbox each of them is a stub (`library_copies`) that asks the library process, which this module starts, by the
function's name and with plain data. The library process has the real functions. It refuses those that the exercise
under judgement forbids, no matter which thread or process of the student asks: the sandbox holds no code to copy.
"""

import os
import signal
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib import import_module
from inspect import isfunction
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection, wait
from operator import attrgetter
from pathlib import Path
from typing import Any

from tutorlib.checking.exercise import Exercise
from tutorlib.checking.library_use import as_told, used_library
from tutorlib.checking.values import ValueExercise
from tutorlib.exercises import of_notebook, rooms
from tutorlib.grading.transport import Endpoint, Lost
from tutorlib.machine.lineage import die_with

SOCKET = "library.sock"  # in the folder that the student's process shares with the judge
PACKAGES = ("tensor_layouts.", "tutorlib.layouts.", "tutorlib.models.")  # their functions take and return plain data
LOCAL = ("Layout.__init__", "Tensor.__call__", "Tensor.__getitem__")  # served functions do their arithmetic
ALGEBRA = "tensor_layouts.layouts.algebra"
KEPT = (  # of the algebra: they look at shapes and coordinates, or put modes in another order
    *("size", "rank", "depth", "mode", "iter_layout", "append", "prepend", "replace", "group", "flatten", "unflatten"),
    *("sort", "idx2crd", "crd2flat", "crd2offset", "crd2idx", "crd2crd", "slice_modes", "dice_modes", "safe_div"),
    "hier_unzip",
)
MOST_CONNECTIONS = 256  # each of the student's threads has one
SLACK_S = 5.0  # beyond the time limit of one call: then the process counts as hung
SENT_S = 1.0  # for the rest of a question whose first byte has arrived, and for taking the reply


def served_key(told: tuple[str, ...]) -> str:
    """The function, "module:name", that a part of a library names (`library_use.as_told`); "" where none is served."""
    if told[1] != "function" or not told[2].startswith(PACKAGES) or told[3] in LOCAL:
        return ""
    return ":".join(told[2:])


@cache
def served(notebook: str) -> Mapping[str, Callable[..., Any]]:
    """The functions that a page's kernel asks for, by their keys: those that an exercise forbids, and the algebra that
    is built on them. Only a page whose answers are all called has any.
    """
    exercises = [one for one in of_notebook(notebook) if isinstance(one, ValueExercise)]
    if len(exercises) < len(of_notebook(notebook)):
        return {}
    keys = {served_key(told) for one in exercises for told in as_told(one.library)} - {""}
    if any(one.startswith("tensor_layouts.") for one in keys):
        algebra = import_module(ALGEBRA)
        public = (name for name in algebra.__all__ if isfunction(getattr(algebra, name)))
        keys |= {f"{ALGEBRA}:{name}" for name in public if name not in KEPT}
    return {one: function(one) for one in sorted(keys)}


def function(key: str) -> Callable[..., Any]:
    module, _, name = key.partition(":")
    found = attrgetter(name)(import_module(module))
    return getattr(found, "fget", found)  # of a property


def page_of(ids: Iterable[str]) -> str:
    """The notebook of exercises, all of one page."""
    number = next(iter(ids))[:2]
    return next((name for name in rooms() if name[:2] == number), "")


class LibraryProcess:
    """The judge's handle of the process that runs a page's served functions.

    The judge forks it, so it has the judge's memory limit. address: the socket at which the sandbox asks. seconds: the
    time limit of one call.
    """

    def __init__(self, address: Path, notebook: str, seconds: float) -> None:
        self.address, self.notebook, self.seconds = address, notebook, seconds
        self.served = served(notebook).keys()
        self.start()

    def start(self) -> None:
        """Raises OSError where the student's process has put something in the socket's place."""
        self.judge, theirs = Pipe()
        self.address.unlink(missing_ok=True)
        with socket.socket(
            socket.AF_UNIX
        ) as listener:  # closed here, so that no client waits for a process that crashed
            listener.bind(str(self.address))
            self.address.chmod(0o666)  # the sandbox may be another user's; the folder admits no third one
            listener.listen(64)
            told = (listener, self.notebook, self.seconds, theirs, self.judge)
            self.process = get_context("fork").Process(target=serve_library, args=told, daemon=True)
            self.process.start()
        theirs.close()

    @contextmanager
    def forbidding(self, exercise: Exercise, refused: list[str]) -> Iterator[None]:
        """Refuse the functions that the exercise forbids while the block runs.

        refused: a list to which the refused calls are added at exit, as the reader writes them. Raises Lost.
        """
        forbidden = {served_key(told): told[0] for told in as_told(getattr(exercise, "library", {}))}
        try:
            try:
                self.tell(forbidden)
            except OSError:  # a call crashed it
                self.start()
                self.tell(forbidden)
        except OSError as error:
            raise Lost(f"the page's library is gone: {error}") from None
        try:
            yield
        finally:
            with suppress(OSError):
                refused += self.tell({})

    def tell(self, forbidden: Mapping[str, str]) -> list[str]:
        """Refuse these from now on; the calls refused so far. Raises OSError if the process has ended or hangs."""
        self.judge.send(forbidden)
        if not self.judge.poll(self.seconds + SLACK_S):
            self.process.kill()
            raise TimeoutError
        try:
            return self.judge.recv()
        except EOFError:
            raise ConnectionResetError from None


def serve_library(
    listener: socket.socket,
    notebook: str,
    seconds: float,
    judge: Connection,
    inherited: Connection,
) -> None:
    """Answer the student's processes, one call at a time, until the judge hangs up."""
    inherited.close()  # a copy of the judge's end: while it is open, the judge never hangs up
    die_with(os.getppid())
    forbidden: dict[str, str] = {}
    refused: list[str] = []

    def call(key: str, *args: Any, **kwargs: Any) -> Any:
        if key in forbidden:
            refused.append(forbidden[key])
            raise used_library(f"calls {forbidden[key]}")
        return served(notebook)[key](*args, **kwargs)

    named: dict[str, Callable[..., Any]] = {key: partial(call, key) for key in served(notebook)}
    endpoints: dict[Connection, Endpoint] = {}
    while True:
        ready = wait([judge, listener, *endpoints])
        if judge in ready:  # before a call that arrives at the same time
            try:
                forbidden = judge.recv()
            except EOFError:
                return
            judge.send(refused)
            refused = []
        elif listener in ready:
            connection = Connection(listener.accept()[0].detach())
            endpoints[connection] = Endpoint(connection, named)
            if len(endpoints) > MOST_CONNECTIONS:
                hang_up(endpoints, next(iter(endpoints)))
        else:
            connection = next(one for one in endpoints if one in ready)
            endpoints[connection].seconds = SENT_S
            try:
                with interrupted_after(seconds):
                    there = endpoints[connection].serve_once()
            except Exception:  # a student's process may send anything
                there = False
            if not there:
                hang_up(endpoints, connection)


def hang_up(endpoints: dict[Connection, Endpoint], connection: Connection) -> None:
    del endpoints[connection]
    connection.close()


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Raises TimeoutError in the block after `seconds`. Works in a process's main thread only."""

    def late(*_: object) -> None:
        raise TimeoutError(f"the library gave no result after {seconds:g} s of computing")

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)

"""The library functions of a page that some exercise of it forbids: they run outside the student's process.

In the sandbox each of them is a stub (`redaction`) that asks the process which this module starts, by its name and with
plain data. That process has the real functions. It refuses those which the exercise under judgement forbids, whichever
thread or process of the student's asks, and under whatever name; code that is not in the sandbox cannot be copied there.
"""

import ctypes
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
from tutorlib.checking.leaning import as_told, leaning
from tutorlib.checking.values import ValueExercise
from tutorlib.exercises import modules, of_notebook
from tutorlib.grading.line import End

SOCKET = "library.sock"  # in the folder that the student's process shares with the judge
PACKAGES = ("tensor_layouts.", "tutorlib.layouts.", "tutorlib.models.")  # their functions take and return plain data
LOCAL = ("Layout.__init__", "Tensor.__call__", "Tensor.__getitem__")  # all that these compute, served functions do
ALGEBRA = "tensor_layouts.layouts.algebra"
KEPT = (  # of the algebra: they look at shapes and coordinates, or put modes in another order
    *("size", "rank", "depth", "mode", "iter_layout", "append", "prepend", "replace", "group", "flatten", "unflatten"),
    *("sort", "idx2crd", "crd2flat", "crd2offset", "crd2idx", "crd2crd", "slice_modes", "dice_modes", "safe_div"),
    "hier_unzip",
)
MOST_LINES = 256  # each of a student's threads has one
SENT_S = 1.0  # for which the judge's side waits for the rest of a question
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def key(told: tuple[str, ...]) -> str:
    """The function, "module:name", that a part of a library names (`leaning.as_told`); "" where none is served."""
    if told[1] != "function" or not told[2].startswith(PACKAGES) or told[3] in LOCAL:
        return ""
    return ":".join(told[2:])


@cache
def served(notebook: str) -> Mapping[str, Callable[..., Any]]:
    """The functions that a page's process asks for, by their keys: those that an exercise forbids, and with them the
    algebra that is made of them. Only a page whose answers are all called has any.
    """
    exercises = of_notebook(notebook)
    if not all(isinstance(one, ValueExercise) for one in exercises):
        return {}
    keys = {key(told) for one in exercises for told in as_told(one.library)} - {""}
    if any(one.startswith("tensor_layouts.") for one in keys):
        algebra = import_module(ALGEBRA)
        public = (name for name in algebra.__all__ if isfunction(getattr(algebra, name)))
        keys |= {f"{ALGEBRA}:{name}" for name in public if name not in KEPT}
    return {one: function(one) for one in sorted(keys)}


def function(key: str) -> Callable[..., Any]:
    module, _, name = key.partition(":")
    found = attrgetter(name)(import_module(module))
    return found.fget if isinstance(found, property) else found


def page_of(ids: Iterable[str]) -> str:
    """The notebook of exercises, all of one page."""
    number = next(iter(ids))[:2]
    return next((name for name in modules() if name[:2] == number), "")


class LibraryProcess:
    """The process that has a page's served functions, as the judge knows it.

    It is forked from the judge and has the judge's limit of memory. address: the socket at which it is asked. seconds:
    for which one call may compute.
    """

    def __init__(self, address: Path, notebook: str, seconds: float) -> None:
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(address))
        self.listener.listen(64)
        self.served = served(notebook).keys()
        self.serve = partial(serve, self.listener, notebook, seconds)
        self.start()

    def start(self) -> None:
        self.judge, theirs = Pipe()
        get_context("fork").Process(target=self.serve, args=(theirs, self.judge), daemon=True).start()
        theirs.close()

    @contextmanager
    def forbidding(self, exercise: Exercise) -> Iterator[list[str]]:
        """Meanwhile the functions are refused that the exercise forbids. At exit the list names those that were asked
        for all the same, as the reader writes them.
        """
        forbidden = {key(told): told[0] for told in as_told(getattr(exercise, "library", {}))}
        refused: list[str] = []
        try:
            self.tell(forbidden)
        except OSError:  # a call ended it
            self.start()
            self.tell(forbidden)
        try:
            yield refused
        finally:
            with suppress(OSError):
                refused += self.tell({})

    def tell(self, forbidden: Mapping[str, str]) -> list[str]:
        """What was refused so far; from now on these are. Raises OSError where the process has ended."""
        try:
            self.judge.send(forbidden)
            return self.judge.recv()
        except EOFError:
            raise ConnectionResetError from None


def serve(
    listener: socket.socket,
    notebook: str,
    seconds: float,
    judge: Connection,
    inherited: Connection,
) -> None:
    """Answer the student's processes, one call after the other, until the judge hangs up."""
    inherited.close()  # or the judge would never seem to
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    forbidden: dict[str, str] = {}
    refused: list[str] = []

    def call(key: str, *args: Any, **kwargs: Any) -> Any:
        if key in forbidden:
            refused.append(forbidden[key])
            raise leaning(f"calls {forbidden[key]}")
        return served(notebook)[key](*args, **kwargs)

    named = {key: partial(call, key) for key in served(notebook)}
    lines: dict[Connection, End] = {}
    while True:
        ready = wait([judge, listener, *lines])
        if judge in ready:  # before any call that comes at the same time
            try:
                forbidden = judge.recv()
            except EOFError:
                return
            judge.send(refused)
            refused = []
        elif listener in ready:
            line = Connection(listener.accept()[0].detach())
            lines[line] = End(line, named)
            if len(lines) > MOST_LINES:
                hang_up(lines, next(iter(lines)))
        else:
            line = next(one for one in lines if one in ready)
            lines[line].seconds = SENT_S
            try:
                with limited(seconds):
                    there = lines[line].serve_once()
            except Exception:  # a student's process may send anything
                there = False
            if not there:
                hang_up(lines, line)


def hang_up(lines: dict[Connection, End], line: Connection) -> None:
    del lines[line]
    line.close()


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises TimeoutError in the block once it took so many seconds. For a process's main thread."""

    def late(*_: object) -> None:
        raise TimeoutError(f"the library gave no result after {seconds:g} s of computing")

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)

"""The page's process, in the sandbox: runs the cells that the judge sends, and serves the answers.

The judge speaks to it through its standard input, a line that nothing else holds. The student's code can change this
code while it runs. Nothing that it sends gives points by itself.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing.connection import Connection
from typing import Any

from ipykernel.compiler import XCachingCompiler
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from tutorlib.checking.answer import Served
from tutorlib.grading.wire import LARGEST, REPLIES, REQUESTS, CannotCross, Opaque, parts_of_error
from tutorlib.machine.device import TURNS
from tutorlib.notebook.check import Printed


class PageShell(InteractiveShell):
    """A notebook's shell that shows nothing of what it prints, displays or raises."""

    compiler_class = XCachingCompiler  # names a cell's file as a notebook does

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:
        """`run` returns the exception."""

    def showsyntaxerror(self, *args: Any, **kwargs: Any) -> None:
        """As above."""

    def enable_gui(self, gui: Any = None) -> None:
        """There is no screen, and `%matplotlib inline` needs none."""


class Answers:
    """The answers of a page, of which the judge calls one at a time. names: the page's, with their values."""

    kind = Served

    def __init__(self, line: Connection, names: Mapping[str, Any]) -> None:
        self.line, self.names = line, names
        self.served, self.printed = self.kind(None), Printed()

    def next_call(self) -> tuple[str, tuple, dict[str, Any]] | None:
        """The service that the judge calls next, and its arguments; None where it has hung up."""
        try:
            service, args, named = REQUESTS.value(self.line.recv_bytes(LARGEST))
        except (OSError, EOFError):
            return None
        return service, args, named

    def answer(self, service: str, args: tuple, named: dict[str, Any]) -> None:
        """Call the service, and send what it returns or raises."""
        services: dict[str, Callable[..., Any]] = {"hold": self.hold, "answer": self.served, "ask": self.served.ask}
        try:
            result = services[service](*args, **named)
        except Exception as error:
            self.send("raised", *parts_of_error(error), self.served.where(error))
        else:
            self.send("returned", result)

    def hold(self, name: str) -> None:
        """The answer of this name is judged next."""
        if name not in self.names:
            raise NameError(f"your notebook does not define {name}")
        self.served, self.printed = self.kind(self.names[name]), Printed()

    def send(self, *reply: Any) -> None:
        try:
            message = REPLIES.message([*reply])
        except (CannotCross, ValueError, RuntimeError) as error:  # too large, or it changes while it is written
            message = REPLIES.message(["returned", Opaque(type(error).__name__)])
        self.line.send_bytes(message)


async def serve(answers: Answers, shell: InteractiveShell) -> None:
    """Carry out what the judge asks, until it hangs up. Between two requests nothing else of the page runs."""
    while call := answers.next_call():
        match call:
            case "run", (str() as source,), _:
                answers.send("returned", await run(shell, source))
            case _:
                with redirect_stdout(answers.printed), redirect_stderr(answers.printed):
                    answers.answer(*call)


async def run(shell: InteractiveShell, source: str) -> tuple[bool, str]:
    """Whether a cell ran to its end, and what it raised: "ValueError: no"."""
    try:
        ran = await shell.run_cell_async(source, transformed_cell=shell.transform_cell(source))
        error = ran.error_before_exec or ran.error_in_exec
    except BaseException as raised:  # a syntax error of a magic, or a student's patch of the shell
        error = raised
    shell.events.trigger("post_execute")  # closes the figures of a cell
    return error is None, f"{type(error).__name__}: {error}" if error else ""


def main() -> None:
    os.environ.pop(TURNS, None)  # the judge has the GPU's turn while a cell runs: the cell would wait for it forever
    line = Connection(os.dup(0))  # which no child process inherits
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.path.append("")  # as in any notebook, a cell may write a module; last: it hides none
    shell = PageShell.instance(config=Config(HistoryManager={"enabled": False}))
    shell.run_line_magic("load_ext", "storemagic")  # as in a notebook
    shell.user_ns |= dict.fromkeys(("exit", "quit"), sys.exit)  # IPython's own do nothing here
    asyncio.run(serve(Answers(line, shell.user_ns), shell))

"""The student's side of the wall: an answer is served to the judge outside, who calls it and asks things about it.

This runs where the student's code can change it. Nothing that it says gives points by itself.
"""

import socket
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from tutorlib.checking.exercise import Answer, WrongKind
from tutorlib.checking.leaning import from_words, on_its_own, refuse_leaning
from tutorlib.checking.traced import call_on_vectors, seen_as_layout
from tutorlib.checking.values import where
from tutorlib.grading.line import End
from tutorlib.notebook.check import Printed


class Served:
    """An answer and what may be asked of it, beside calls: each public method, by its name."""

    def __init__(self, answer: Answer) -> None:
        self.answer = self.called = answer

    def call(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.called(*args, **kwargs)
        except SystemExit:
            raise RuntimeError("it ends the notebook: SystemExit") from None

    def watch(self, library: list[Any]) -> None:
        """From now on calls raise WrongKind that lean on one of these."""
        if not callable(self.answer):
            raise WrongKind(f"{self.answer!r} is not a function.")
        if "_decorator_kind" in getattr(self.answer, "__dict__", ()):  # CuTe's @jit: a compiler reads it
            refuse_leaning(self.answer, from_words(library))
        else:
            self.called = on_its_own(self.answer, from_words(library))

    def layout(self, *args: Any) -> Any:
        """The CuTe layout that the answer makes, as one of tensor_layouts."""
        return seen_as_layout(self.called)(*args)

    def vectors(self, *args: Any) -> Any:
        return call_on_vectors(self.answer, *args)


SERVICES = ("watch", "layout", "vectors")


def serve(address: str, answer: Answer) -> None:
    """Carry out what the judge asks, until it hangs up. What the answer prints is not shown."""
    served = Served(answer)
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        connection = Connection(line.detach())
    services = {name: quietly(getattr(served, name)) for name in SERVICES}
    end = End(connection, services, locate=partial(where, answer))
    end.kept.append(quietly(served.call))
    end.serve()


def quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with what it prints kept from the page. Raises TooMuchOutput."""

    def call(*args: Any, **kwargs: Any) -> Any:
        printed = Printed()
        with redirect_stdout(printed), redirect_stderr(printed):
            return function(*args, **kwargs)

    return call

"""Serves an answer from inside the sandbox to the judge outside, which calls it, watches it and asks about it.

The student's code can change this code while it runs. Nothing that it sends gives points by itself.
"""

from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from tutorlib.checking.exercise import Answer
from tutorlib.checking.library_use import from_words
from tutorlib.checking.served import Served
from tutorlib.grading.library_client import connected
from tutorlib.grading.transport import Endpoint
from tutorlib.grading.wire import EXERCISES, judges_own
from tutorlib.notebook.check import Printed


def serve(address: str, answer: Answer, kind: type[Served] = Served) -> None:
    """Carry out what the judge asks, until it hangs up. What the answer prints is not shown."""
    served = kind(answer)

    def watch(told: list[Any] | None) -> None:
        served.watch(None if told is None else from_words(told))

    def ask(module: str, name: str, *args: Any) -> Any:
        return served.ask(judges_own(module, name), *args)

    def take(*sent: Any) -> None:
        """The exercise that the judge asks about next, as `sent_exercise.sent_form` has it."""
        from tutorlib.grading.sent_exercise import rebuilt

        served.take(rebuilt(*sent))

    printed = Printed()

    def dropped() -> str:
        """A line about what the answer printed beyond the limit, or ""."""
        return printed.dropped

    services = {service.__name__: quietly(service, printed) for service in (ask, dropped, take, watch)}
    end = Endpoint(connected(address), services, locate=served.where, takes=EXERCISES)
    end.kept.append(quietly(served, printed))
    end.serve()


def quietly(function: Callable[..., Any], printed: Printed) -> Callable[..., Any]:
    """The function, with what it prints kept from the page."""

    def call(*args: Any, **kwargs: Any) -> Any:
        with redirect_stdout(printed), redirect_stderr(printed):
            return function(*args, **kwargs)

    return call

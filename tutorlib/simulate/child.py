"""A task in a process of its own, so that code which crashes takes only that process with it."""

import multiprocessing
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

T = TypeVar("T")


class Crashed(Exception):
    """The process died. The message is the signal's name, "Segmentation fault", or its exit status."""


def in_own_process(task: Callable[[], T]) -> T:
    """What the task returns, in a forked process: what this one has imported it has, too.

    Raises what the task raises, if that can be pickled, and Crashed.
    """
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=send_result, args=(task, there))
    process.start()
    there.close()
    try:
        result, error = here.recv()
    except EOFError:
        process.join()
        raise Crashed(signal_name(process.exitcode or 0) or f"exit status {process.exitcode}") from None
    process.join()
    if error is not None:
        raise error
    return result


def send_result(task: Callable[[], Any], to: Connection) -> None:
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)  # a forked process lacks the threads of the pool that its parent has
    try:
        result: tuple[Any, Exception | None] = task(), None
    except Exception as error:
        result = None, error
    to.send(result)


def signal_name(status: int) -> str:
    """Of a process's exit status: the signal that ended it, also as a shell tells it; "" if none did."""
    number = -status if status < 0 else status - 128
    return signal.strsignal(number) or "" if number in set(signal.Signals) else ""

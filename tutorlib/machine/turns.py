"""Turns on a GPU that several processes judge kernels with: results are looked at side by side, times taken alone.

The processes share a folder, which an environment variable names; without one, no process waits. A process that
dies gives its turn back.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

TURNS = "TUTORLIB_TURNS"


def shared_turn() -> AbstractContextManager[None]:
    """A turn that others have too, as long as they take no times."""
    return turn(fcntl.LOCK_SH)


def own_turn() -> AbstractContextManager[None]:
    """A turn that no other process shares."""
    return turn(fcntl.LOCK_EX)


@contextmanager
def turn(kind: int) -> Iterator[None]:
    """First come, first served: a process that wants to be alone is not overtaken by later ones."""
    folder = os.environ.get(TURNS)
    if folder is None:
        yield
        return
    with Path(folder, "queue").open("a") as queue, Path(folder, "gpu").open("a") as gpu:
        fcntl.flock(queue, fcntl.LOCK_EX)
        fcntl.flock(gpu, kind)
        queue.close()
        yield

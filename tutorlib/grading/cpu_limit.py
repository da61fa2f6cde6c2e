"""The limit on the processor time that judging one answer may take.

The student's process has a limit of its own. This one is for the judge's work: simulating a kernel, compiling it,
comparing results. It is in processor time and not in elapsed time: a busy machine takes longer for the same work, and
waiting for a turn on the GPU takes no processor time.
"""

import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import ceil

import psutil

LIMITS = (
    1.5  # time limits of one cell that judging may compute: of 60 s. Solutions of 05 and 12 to 18 take 12 s at most
)
LOOK_S = 2.0  # between looks, which take some milliseconds
GRACE_S = 5.0  # of computing, after which the system ends this process: no thread runs beside C code such as a regex


@contextmanager
def ended_after(seconds: float, excluded: int | None, end: Callable[[], object]) -> Iterator[None]:
    """While its block runs, call `end` once this process and its descendants have used `seconds` of CPU time.

    excluded: the id of a child that is not counted, nor what is below it. end: called on another thread; the one that
    judges may be anywhere, and nothing but the end of the process ends that.
    """
    until = computed(excluded) + seconds

    def done() -> bool:
        if over := computed(excluded) > until:
            end()
        return over

    with limited_by_the_system(seconds + GRACE_S), watching(done, LOOK_S):
        yield


@contextmanager
def limited_by_the_system(seconds: float) -> Iterator[None]:
    """While its block runs, SIGXCPU ends this process once it has used `seconds` of CPU time."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = [ceil(time.process_time() + seconds), *(one for one in (soft, hard) if one != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_CPU, (min(most), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def no_end(seconds: float) -> str:
    """The message about an answer that this limit ended. seconds: the time limit of a cell."""
    return f"judging it had no end after {LIMITS * seconds:g} seconds of computing"


def computed(excluded: int | None) -> float:
    """Seconds of computing, of this process and of those that it started and waited for, or still has."""
    process = psutil.Process()
    total = sum(process.cpu_times()[:4])
    for child in process.children():
        with suppress(psutil.NoSuchProcess):
            if child.pid != excluded:
                total += sum(sum(one.cpu_times()[:4]) for one in (child, *child.children(recursive=True)))
    return total


@contextmanager
def watching(done: Callable[[], object], every_s: float) -> Iterator[None]:
    """While the block runs, call `done` on another thread every `every_s` seconds, until it returns something true."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(every_s) and not done():
            pass

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()

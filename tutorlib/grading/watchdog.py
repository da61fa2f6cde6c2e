"""A thread that looks now and then whether something is as it should be."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def watching(done: Callable[[], object], every_s: float) -> Iterator[None]:
    """While its block runs, call `done` on another thread every so many seconds, until it says something true."""
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

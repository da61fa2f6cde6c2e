"""A thread that checks a condition periodically."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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

"""ct.launch replaced: host code runs where there is no GPU."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock


@contextmanager
def launched_by(launch: Callable[..., None]) -> Iterator[None]:
    """Meanwhile ct.launch is this function."""
    import cuda.tile as ct

    with mock.patch.object(ct, "launch", launch):
        yield
